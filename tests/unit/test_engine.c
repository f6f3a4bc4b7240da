// Unit tests of the e-graph engine: interning, unions, congruence, reading, failures.
// SPDX-License-Identifier: Apache-2.0
#include "tests/testing.h"

#include "egraph/engine_internal.h"

enum { OP_A, OP_F, OP_G, OP_COUNT };

typedef struct fixture {
  test_heap heap;
  eg_engine *engine;
} fixture;

static int set_up(void **state) {
  static fixture f;
  f = (fixture){0};
  egraph_allocator alloc = test_heap_allocator(&f.heap);
  eg_engine_options options = {.record = true};
  assert_ok(eg_engine_create(&alloc, &options, &f.engine));
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  eg_engine_destroy(f->engine);
  return f->heap.live_bytes == 0 && f->heap.live_blocks == 0 ? 0 : -1;
}

static eg_engine *engine_of(void **state) { return ((fixture *)*state)->engine; }

static eg_class add(eg_engine *e, uint32_t op, uint32_t payload, uint32_t arity,
                    const eg_class *children) {
  eg_term term = {.op = op, .payload = payload, .arity = arity, .children = children};
  eg_class class = EG_CLASS_NONE;
  assert_ok(eg_engine_add(e, &term, EG_REASON_SEED, &class));
  return class;
}
static eg_class leaf(eg_engine *e, uint32_t payload) {
  return add(e, OP_A, payload, 0, NULL);
}
static eg_class f1(eg_engine *e, eg_class x) { return add(e, OP_F, 0, 1, &x); }
static eg_class g2(eg_engine *e, eg_class x, eg_class y) {
  return add(e, OP_G, 0, 2, (eg_class[]){x, y});
}
/// The node whose adding made a class; before that loses a union.
static eg_node founder(const eg_engine *e, eg_class class) {
  eg_node n = eg_engine_first_node(e);
  while (eg_engine_class_word(e, n.id) != class.id)
    n = eg_engine_next_node(e, n);
  return n;
}
static bool unite(eg_engine *e, eg_class a, eg_class b) {
  bool changed = false;
  assert_ok(eg_engine_unite(e, a, b, 7, &changed));
  return changed;
}
static void rebuild(eg_engine *e) {
  assert_ok(eg_engine_rebuild(e));
  assert_true(eg_engine_is_clean(e));
  assert_ok(eg_engine_check(e));
}
static bool same(const eg_engine *e, eg_class a, eg_class b) {
  return eg_class_same(eg_engine_find(e, a), eg_engine_find(e, b));
}

// ---- adding ---------------------------------------------------------------------------

static void an_empty_engine_is_clean_and_has_nothing(void **state) {
  eg_engine *e = engine_of(state);
  rebuild(e);
  assert_int_equal(eg_engine_first(e).id, EG_CLASS_NONE.id);
  assert_int_equal(eg_engine_node_count(e), 0);
  assert_int_equal(eg_engine_class_count(e), 0);
  assert_int_equal(eg_engine_first_node(e).id, EG_NODE_NONE.id);
}

static void equal_terms_are_interned_once(void **state) {
  eg_engine *e = engine_of(state);
  eg_class a = leaf(e, 1), b = leaf(e, 2);
  assert_true(eg_class_same(a, leaf(e, 1)));
  assert_false(eg_class_same(a, b));
  assert_true(eg_class_same(f1(e, a), f1(e, a)));
  assert_false(eg_class_same(g2(e, a, b), g2(e, b, a)));
  assert_int_equal(eg_engine_node_count(e), 5);
  assert_int_equal(eg_engine_class_limit(e), 5);
  rebuild(e);
}

static void one_operator_may_have_several_arities(void **state) {
  eg_engine *e = engine_of(state);
  eg_class a = leaf(e, 1), children[3] = {a, a, a};
  for (uint32_t arity = 0; arity <= 3; arity++)
    add(e, OP_F, 0, arity, children);
  assert_int_equal(eg_engine_node_count(e), 5);
  rebuild(e);
  const eg_node_list *nodes = &e->ops.data[OP_F].nodes;
  assert_int_equal(nodes->len, 4);
  for (uint32_t i = 0; i < nodes->len; i++)
    assert_int_equal(eg_engine_head(e, eg_node_list_data(nodes)[i])->arity, i);
  rebuild(e);
}

static void the_reason_of_the_first_add_is_kept(void **state) {
  eg_engine *e = engine_of(state);
  eg_term term = {.op = OP_A, .payload = 5};
  eg_class class;
  assert_ok(eg_engine_add(e, &term, 3, &class));
  assert_ok(eg_engine_add(e, &term, 4, &class));
  assert_int_equal(eg_engine_node_reason(e, founder(e, class)), 3);
}

static void a_term_may_borrow_the_children_of_a_stored_one(void **state) {
  eg_engine *e = engine_of(state);
  eg_class a = leaf(e, 1), b = leaf(e, 2);
  eg_node node = founder(e, g2(e, a, b));
  for (uint32_t i = 1; i < 200; i++) {
    eg_term term = eg_engine_term(e, node);
    term.payload = i;
    eg_class class;
    assert_ok(eg_engine_add(e, &term, 0, &class));
    node = founder(e, class);
    assert_int_equal(eg_engine_term(e, node).children[1].id, b.id);
  }
  rebuild(e);
}

static void bad_terms_are_refused(void **state) {
  eg_engine *e = engine_of(state);
  eg_class absent = {77}, out = {5};
  eg_term big = {.op = EG_ENGINE_MAX_OP + 1u};
  eg_term dangling = {.op = OP_F, .arity = 1, .children = &absent};
  bool changed;
  assert_fails(eg_engine_add(e, &big, 0, &out), EGRAPH_E_ARGUMENT, "operator number");
  assert_fails(eg_engine_add(e, &dangling, 0, &out), EGRAPH_E_ARGUMENT, "class 77");
  assert_fails(eg_engine_unite(e, leaf(e, 1), absent, 0, &changed), EGRAPH_E_ARGUMENT,
               "77");
  assert_false(eg_engine_find_term(e, &dangling, &out));
  assert_int_equal(out.id, 5);
  assert_int_equal(eg_engine_node_count(e), 1);
}

static void find_term_sees_through_unions(void **state) {
  eg_engine *e = engine_of(state);
  eg_class a = leaf(e, 1), b = leaf(e, 2), fa = f1(e, a), out = {9};
  eg_term fb = {.op = OP_F, .arity = 1, .children = &b};
  assert_false(eg_engine_find_term(e, &fb, &out));
  assert_int_equal(out.id, 9);
  unite(e, a, b);
  rebuild(e);
  assert_true(eg_engine_find_term(e, &fb, &out));
  assert_true(same(e, out, fa));
}

// ---- uniting and rebuilding -----------------------------------------------------------

static void a_union_is_reported_and_logged_once(void **state) {
  eg_engine *e = engine_of(state);
  eg_class a = leaf(e, 1), b = leaf(e, 2);
  assert_true(unite(e, b, a));
  assert_false(unite(e, a, b));
  assert_false(eg_engine_is_clean(e));
  assert_int_equal(eg_engine_class_count(e), 1);
  assert_int_equal(e->unions.len, 1);
  eg_union made = e->unions.data[0];
  assert_int_equal(made.a.id, b.id);
  assert_int_equal(made.b.id, a.id);
  assert_int_equal(made.reason, 7);
  rebuild(e);
  assert_int_equal(eg_engine_node_count(e), 2);
}

static void the_older_of_equal_classes_survives(void **state) {
  eg_engine *e = engine_of(state);
  eg_class a = leaf(e, 1), b = leaf(e, 2);
  unite(e, b, a);
  assert_int_equal(eg_engine_find(e, b).id, a.id);
  rebuild(e);
}

static void rebuild_merges_congruent_parents(void **state) {
  eg_engine *e = engine_of(state);
  eg_class a = leaf(e, 1), b = leaf(e, 2), fa = f1(e, a), fb = f1(e, b);
  eg_class ffa = f1(e, fa), ffb = f1(e, fb);
  eg_node older = founder(e, fa), younger = founder(e, fb);
  unite(e, a, b);
  assert_false(same(e, fa, fb));
  rebuild(e);
  assert_true(same(e, fa, fb));
  assert_true(same(e, ffa, ffb));
  assert_int_equal(eg_engine_node_count(e), 4);
  assert_int_equal(eg_engine_class_count(e), 3);
  assert_true(!eg_engine_is_dead(e, older.id));
  assert_true(eg_engine_is_dead(e, younger.id));
  assert_int_equal(e->unions.len, 3);
  assert_int_equal(e->unions.data[1].reason, EG_REASON_CONGRUENCE);
}

static void rebuild_handles_a_cycle(void **state) {
  eg_engine *e = engine_of(state);
  eg_class a = leaf(e, 1), fa = f1(e, a), ffa = f1(e, fa);
  unite(e, a, fa);
  rebuild(e);
  assert_true(same(e, a, ffa));
  assert_int_equal(eg_engine_class_count(e), 1);
  assert_int_equal(eg_engine_node_count(e), 2);
}

static void a_node_that_names_a_class_twice_is_repaired(void **state) {
  eg_engine *e = engine_of(state);
  eg_class a = leaf(e, 1), b = leaf(e, 2);
  eg_class ab = g2(e, a, b), ba = g2(e, b, a), aa = g2(e, a, a);
  unite(e, a, b);
  rebuild(e);
  assert_true(same(e, ab, ba) && same(e, ab, aa));
  assert_int_equal(eg_engine_node_count(e), 3);
}

static void a_term_added_between_union_and_rebuild_is_merged(void **state) {
  eg_engine *e = engine_of(state);
  eg_class a = leaf(e, 1), b = leaf(e, 2), fb = f1(e, b);
  eg_node older = founder(e, fb);
  unite(e, a, b);
  eg_class fa = f1(e, a); // f(b) still stands under its stale key
  rebuild(e);
  assert_true(same(e, fa, fb));
  assert_int_equal(eg_engine_node_count(e), 3);
  assert_true(!eg_engine_is_dead(e, older.id));
}

static void a_long_chain_collapses_in_one_rebuild(void **state) {
  enum { LENGTH = 2000 };
  eg_engine *e = engine_of(state);
  eg_class a = leaf(e, 1), b = leaf(e, 2), x = a, y = b;
  for (int i = 0; i < LENGTH; i++) {
    x = f1(e, x);
    y = f1(e, y);
  }
  unite(e, a, b);
  rebuild(e);
  assert_true(same(e, x, y));
  assert_int_equal(eg_engine_class_count(e), LENGTH + 1);
}

static void one_rebuild_per_union_gives_the_same_as_one_for_all(void **state) {
  enum { WIDTH = 40 };
  eg_engine *e = engine_of(state);
  eg_class x[WIDTH];
  for (uint32_t i = 0; i < WIDTH; i++)
    x[i] = leaf(e, i);
  for (uint32_t i = 0; i < WIDTH; i++) {
    f1(e, x[i]);
    g2(e, x[i], x[(i + 1) % WIDTH]);
  }
  for (uint32_t i = 1; i < WIDTH; i++) {
    unite(e, x[i], x[0]);
    rebuild(e);
  }
  assert_int_equal(eg_engine_class_count(e), 3);
  assert_int_equal(eg_engine_node_count(e), WIDTH + 2);
}

// ---- reading --------------------------------------------------------------------------

static void classes_list_their_nodes_oldest_first(void **state) {
  eg_engine *e = engine_of(state);
  eg_class x[5];
  eg_node nodes_of[5];
  for (uint32_t i = 0; i < 5; i++) {
    x[i] = leaf(e, i);
    nodes_of[i] = founder(e, x[i]);
  }
  unite(e, x[4], x[2]);
  unite(e, x[0], x[3]);
  unite(e, x[4], x[0]);
  rebuild(e);
  uint32_t count;
  const eg_node *nodes = eg_engine_class_nodes(e, x[4], &count);
  static const uint32_t expected[] = {0, 2, 3, 4}; // of nodes_of
  assert_int_equal(count, 4);
  for (uint32_t i = 0; i < 4; i++) {
    assert_int_equal(nodes[i].id, nodes_of[expected[i]].id);
    assert_true(same(e, eg_engine_class_of(e, nodes[i]), x[0]));
  }
  nodes = eg_engine_class_nodes(e, x[1], &count);
  assert_int_equal(count, 1);
  assert_int_equal(nodes[0].id, nodes_of[1].id);
}

static void canonical_classes_are_iterated_in_increasing_order(void **state) {
  eg_engine *e = engine_of(state);
  for (uint32_t i = 0; i < 10; i++)
    leaf(e, i);
  for (uint32_t i = 0; i < 10; i += 2)
    unite(e, (eg_class){i}, (eg_class){i + 1});
  rebuild(e);
  uint32_t count = 0;
  for (eg_class c = eg_engine_first(e); c.id != EG_CLASS_NONE.id;
       c = eg_engine_next(e, c))
    assert_int_equal(c.id, 2 * count++);
  assert_int_equal(count, eg_engine_class_count(e));
}

static void operators_list_only_live_nodes(void **state) {
  eg_engine *e = engine_of(state);
  eg_class x[4];
  eg_node uses[4];
  for (uint32_t i = 0; i < 4; i++)
    x[i] = leaf(e, i);
  for (uint32_t i = 0; i < 4; i++)
    uses[i] = founder(e, f1(e, x[i]));
  unite(e, x[1], x[3]);
  rebuild(e);
  const eg_node_list *nodes = &e->ops.data[OP_F].nodes;
  assert_int_equal(nodes->len, 3);
  for (uint32_t i = 0; i < 3; i++)
    assert_int_equal(eg_node_list_data(nodes)[i], uses[i].id);
}

static void parents_name_every_live_use_with_its_position(void **state) {
  eg_engine *e = engine_of(state);
  eg_class a = leaf(e, 1), b = leaf(e, 2), c = leaf(e, 3);
  eg_class gab = g2(e, a, b), gcc = g2(e, c, c), fa = f1(e, a), fb = f1(e, b);
  eg_node n_gab = founder(e, gab), n_fa = founder(e, fa), n_fb = founder(e, fb),
          n_gcc = founder(e, gcc);
  unite(e, a, b); // f(b) dies
  rebuild(e);
  uint32_t uses[3] = {0}, count = 0;
  for (eg_parent p = eg_engine_parents(e, b); p.node.id != EG_NODE_NONE.id;
       p = eg_engine_next_parent(e, p)) {
    count++;
    assert_true(p.node.id == n_gab.id || p.node.id == n_fa.id);
    if (p.node.id == n_gab.id) uses[p.position]++;
  }
  assert_int_equal(count, 3);
  assert_int_equal(uses[0], 1);
  assert_int_equal(uses[1], 1);
  assert_true(eg_engine_is_dead(e, n_fb.id));
  eg_parent p = eg_engine_parents(e, c);
  assert_int_equal(p.node.id, n_gcc.id);
  assert_int_equal(eg_engine_parents(e, gcc).node.id, EG_NODE_NONE.id);
}

static void bytes_are_what_the_allocator_gave(void **state) {
  fixture *f = *state;
  for (uint32_t i = 0; i < 300; i++)
    f1(f->engine, leaf(f->engine, i));
  for (uint32_t i = 1; i < 300; i++)
    unite(f->engine, (eg_class){0}, (eg_class){i});
  rebuild(f->engine);
  assert_int_equal(eg_engine_bytes(f->engine), f->heap.live_bytes);
}

// ---- Graphviz -------------------------------------------------------------------------

static egraph_status spell(void *user, const eg_term *term, eg_text *out) {
  (void)user;
  static const char *const names[] = {"a\"\\\n<", "f", "g{}|"};
  return eg_text_append(out, names[term->op]);
}

static void dot_output_is_escaped_and_complete(void **state) {
  fixture *f = *state;
  eg_engine *e = f->engine;
  eg_class a = leaf(e, 1), fa = f1(e, a);
  unite(e, a, fa);
  g2(e, a, a);
  rebuild(e);
  eg_text text;
  eg_text_init(&text, test_heap_allocator(&f->heap));
  assert_ok(eg_engine_dot(e, spell, NULL, &text));
  assert_string_equal(
      eg_text_of(&text),
      "digraph egraph {\n  compound=true; clusterrank=local;\n"
      "  node [shape=box,style=rounded,fontname=\"Helvetica\"];\n"
      "  subgraph cluster_0 {\n    label=\"0\"; style=\"rounded,dashed\";\n"
      "    n0 [label=\"a\\\"\\\\\\n<\"];\n    n3 [label=\"f\"];\n  }\n"
      "  subgraph cluster_2 {\n    label=\"2\"; style=\"rounded,dashed\";\n"
      "    n8 [label=\"g{}|\"];\n  }\n"
      "  n3 -> n0 [];\n"
      "  n8 -> n0 [lhead=cluster_0,label=\"0\"];\n"
      "  n8 -> n0 [lhead=cluster_0,label=\"1\"];\n}\n");
  eg_text_deinit(&text);
}

// ---- the checker ----------------------------------------------------------------------

/// Breaks one word, expects the checker to say so, and mends it.
static void assert_noticed(eg_engine *e, uint32_t *word, uint32_t broken,
                           const char *part) {
  uint32_t kept = *word;
  assert_ok(eg_engine_check(e));
  *word = broken;
  assert_fails(eg_engine_check(e), EGRAPH_E_INTERNAL, part);
  *word = kept;
  assert_ok(eg_engine_check(e));
}

static void the_checker_notices_every_kind_of_damage(void **state) {
  eg_engine *e = engine_of(state);
  eg_class a = leaf(e, 1), b = leaf(e, 2), c = leaf(e, 3);
  eg_class fa = f1(e, a), fb = f1(e, b), gab = g2(e, a, b);
  uint32_t n_a = founder(e, a).id, n_b = founder(e, b).id, n_fa = founder(e, fa).id,
           n_fb = founder(e, fb).id, n_gab = founder(e, gab).id;
  unite(e, a, c);
  rebuild(e);
  eg_engine_start_epoch(e); // what is fresh would be noticed first
  uint32_t *words = e->nodes.data, *head = &e->heads.data[words[n_fa] & EG_HEAD_MASK].op;
  assert_noticed(e, &e->up.data[b.id], fa.id, "counted");
  assert_noticed(e, &e->class_count, 9, "counted");
  assert_noticed(e, head, 800, "operator");
  assert_noticed(e, &words[n_fa], 1, "no head");
  assert_noticed(e, &words[n_fa + EG_CLASS_WORD], 900, "is in class 900");
  assert_noticed(e, &words[n_fb + EG_FIRST_CHILD], 900, "child 0");
  assert_noticed(e, &words[n_fb + EG_FIRST_CHILD], a.id, "hash-cons");
  assert_noticed(e, &words[n_fb], words[n_fb] | EG_DEAD_BIT, "hash-cons");
  assert_noticed(e, &words[n_fb], words[n_fb] | EG_FRESH_BIT, "fresh");
  assert_noticed(e, &e->table.len, 3, "hash-cons");
  assert_noticed(e, &e->members.data[e->classes.data[a.id].begin], n_b, "lists node");
  assert_noticed(e, &words[n_fb + EG_CLASS_WORD], a.id, "of class");
  assert_noticed(e, &e->classes.data[b.id].begin, n_a, "lists node");
  assert_noticed(e, &e->ops.data[OP_F].nodes.many[0], n_gab, "operator 1 lists");
  assert_noticed(e, &e->classes.data[a.id].parents, EG_NONE, "parents listed");
  uint32_t word = e->classes.data[a.id].parents;
  assert_noticed(e, eg_engine_link(e, eg_engine_node_of_word(e, word), word), word,
                 "does not end");
}

// ---- failing allocations --------------------------------------------------------------

static egraph_status grow_step(eg_engine *e, eg_rng *rng) {
  uint32_t limit = eg_engine_class_limit(e);
  uint32_t arity = limit == 0 ? 0 : (uint32_t)eg_rng_below(rng, 3);
  eg_class children[2], class;
  for (uint32_t i = 0; i < arity; i++)
    children[i].id = (uint32_t)eg_rng_below(rng, limit);
  eg_term term = {.op = arity,
                  .payload = (uint32_t)eg_rng_below(rng, 4),
                  .arity = arity,
                  .children = children};
  return eg_engine_add(e, &term, 0, &class);
}

static egraph_status shrink_step(eg_engine *e, eg_rng *rng) {
  uint32_t limit = eg_engine_class_limit(e);
  bool changed;
  eg_class a = {(uint32_t)eg_rng_below(rng, limit)};
  eg_class b = {(uint32_t)eg_rng_below(rng, limit)};
  return eg_engine_unite(e, a, b, 0, &changed);
}

static egraph_status random_life(eg_engine *e) {
  eg_rng rng = {42};
  for (int i = 0; i < 60; i++)
    EG_TRY(grow_step(e, &rng));
  for (int i = 0; i < 10; i++) {
    EG_TRY(shrink_step(e, &rng));
    EG_TRY(eg_engine_rebuild(e));
  }
  return EGRAPH_OK;
}

static egraph_status live_and_die(egraph_allocator alloc, void *user) {
  (void)user;
  eg_engine *e;
  EG_TRY(eg_engine_create(&alloc, NULL, &e));
  egraph_status status = random_life(e);
  assert_ok(eg_engine_check(e)); // whatever failed
  eg_engine_destroy(e);
  return status;
}

static void every_failing_allocation_leaves_a_checkable_engine(void **state) {
  (void)state;
  test_every_allocation_failing(live_and_die, NULL);
}

static void retry_once(test_heap *heap, size_t fail_at, uint32_t *nodes,
                       uint32_t *classes, bool *out_failed) {
  egraph_allocator alloc = test_heap_allocator(heap);
  eg_engine *e;
  eg_rng rng = {42};
  heap->fail_at = 0;
  assert_ok(eg_engine_create(&alloc, NULL, &e));
  heap->requests = 0;
  heap->fail_at = fail_at;
  *out_failed = false;
  for (int i = 0; i < 80; i++) {
    eg_rng before = rng;
    egraph_status status = i < 60 ? grow_step(e, &rng) : shrink_step(e, &rng);
    if (status != EGRAPH_OK) { // memory is back: the same again
      heap->fail_at = 0;
      *out_failed = true;
      assert_ok(eg_engine_check(e));
      rng = before;
      assert_ok(i < 60 ? grow_step(e, &rng) : shrink_step(e, &rng));
    }
    if (i % 5 != 0) continue;
    if (eg_engine_rebuild(e) == EGRAPH_OK) continue;
    heap->fail_at = 0;
    *out_failed = true;
    assert_ok(eg_engine_check(e));
    assert_ok(eg_engine_rebuild(e));
  }
  heap->fail_at = 0;
  rebuild(e);
  *nodes = eg_engine_node_count(e);
  *classes = eg_engine_class_count(e);
  eg_engine_destroy(e);
}

static void a_failed_step_can_be_repeated(void **state) {
  (void)state;
  test_heap heap = {0};
  uint32_t nodes, classes, got_nodes, got_classes;
  bool failed;
  retry_once(&heap, 0, &nodes, &classes, &failed);
  assert_in_range(classes, 2, 60);
  for (size_t n = 1;; n++) {
    retry_once(&heap, n, &got_nodes, &got_classes, &failed);
    assert_int_equal(got_nodes, nodes);
    assert_int_equal(got_classes, classes);
    assert_int_equal(heap.live_bytes, 0);
    if (!failed) return;
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(an_empty_engine_is_clean_and_has_nothing),
      TEST(equal_terms_are_interned_once),
      TEST(one_operator_may_have_several_arities),
      TEST(the_reason_of_the_first_add_is_kept),
      TEST(a_term_may_borrow_the_children_of_a_stored_one),
      TEST(bad_terms_are_refused),
      TEST(find_term_sees_through_unions),
      TEST(a_union_is_reported_and_logged_once),
      TEST(the_older_of_equal_classes_survives),
      TEST(rebuild_merges_congruent_parents),
      TEST(rebuild_handles_a_cycle),
      TEST(a_node_that_names_a_class_twice_is_repaired),
      TEST(a_term_added_between_union_and_rebuild_is_merged),
      TEST(a_long_chain_collapses_in_one_rebuild),
      TEST(one_rebuild_per_union_gives_the_same_as_one_for_all),
      TEST(classes_list_their_nodes_oldest_first),
      TEST(canonical_classes_are_iterated_in_increasing_order),
      TEST(operators_list_only_live_nodes),
      TEST(parents_name_every_live_use_with_its_position),
      TEST(bytes_are_what_the_allocator_gave),
      TEST(dot_output_is_escaped_and_complete),
      TEST(the_checker_notices_every_kind_of_damage),
      cmocka_unit_test(every_failing_allocation_leaves_a_checkable_engine),
      cmocka_unit_test(a_failed_step_can_be_repeated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
