// Pruning against a naive fixpoint over the list of nodes.
// SPDX-License-Identifier: Apache-2.0
#include "tests/testing.h"

#include "egraph/engine.h"
#include "tests/unit/engine_steps.h"

static eg_engine *create(egraph_allocator alloc, bool analysis, bool record) {
  eg_engine *e;
  eg_engine_options options = {.analysis = analysis ? &step_sizes : NULL,
                               .record = record};
  assert_ok(eg_engine_create(&alloc, &options, &e));
  return e;
}

static eg_class add(eg_engine *e, uint32_t op, uint32_t arity, const eg_class *children) {
  eg_class class;
  eg_term term = {.op = op, .arity = arity, .children = children};
  assert_ok(eg_engine_add(e, &term, 0, &class));
  return class;
}

// ---- the oracle -----------------------------------------------------------------------

typedef struct wish {
  uint64_t seed;
  uint32_t percent;
} wish;

static bool is_wanted(void *user, const eg_engine *engine, eg_node node) {
  const wish *w = user;
  (void)engine;
  return eg_hash_combine(w->seed, node.id) % 100 < w->percent;
}

static bool has_node(const eg_engine *e, const bool *kept, uint32_t class) {
  uint32_t count;
  const eg_node *nodes = eg_engine_class_nodes(e, (eg_class){class}, &count);
  for (uint32_t i = 0; i < count; i++)
    if (kept[nodes[i].id]) return true;
  return false;
}

static bool can_stay(const eg_engine *e, const bool *kept, eg_node node) {
  eg_term term = eg_engine_term(e, node);
  for (uint32_t i = 0; i < term.arity; i++)
    if (!has_node(e, kept, term.children[i].id)) return false;
  return true;
}

#define EACH_NODE(e, n)                                                                  \
  eg_node n = eg_engine_first_node(e);                                                   \
  n.id != EG_NODE_NONE.id;                                                               \
  n = eg_engine_next_node(e, n)

static void keep_naively(const eg_engine *e, wish *w, bool *kept) {
  for (EACH_NODE(e, n))
    kept[n.id] = is_wanted(w, e, n);
  for (bool changed = true; changed;) {
    changed = false;
    for (EACH_NODE(e, n))
      if (kept[n.id] && !can_stay(e, kept, n)) {
        kept[n.id] = false;
        changed = true;
      }
  }
}

/// `after` is `before` less what is not kept.
static void compare(const eg_engine *before, const bool *kept, const eg_u32s *map,
                    const eg_engine *after) {
  uint32_t nodes = 0, last = 0;
  for (EACH_NODE(before, n)) {
    uint32_t id = map->data[n.id];
    assert_int_equal(id != EG_NODE_NONE.id, kept[n.id]);
    if (!kept[n.id]) continue;
    eg_node moved = {id};
    eg_term a = eg_engine_term(before, n), b = eg_engine_term(after, moved);
    assert_true(nodes++ == 0 || id > last);
    last = id;
    assert_int_equal(a.op, b.op);
    assert_int_equal(a.payload, b.payload);
    assert_int_equal(a.arity, b.arity);
    assert_memory_equal(a.children, b.children, a.arity * sizeof *a.children);
    assert_int_equal(eg_engine_class_of(before, n).id,
                     eg_engine_class_of(after, moved).id);
    assert_int_equal(eg_engine_is_fresh(before, n.id), eg_engine_is_fresh(after, id));
    if (before->record)
      assert_int_equal(eg_engine_node_reason(before, n),
                       eg_engine_node_reason(after, moved));
  }
  assert_int_equal(nodes, eg_engine_node_count(after));
  assert_int_equal(eg_engine_class_limit(before), eg_engine_class_limit(after));
  uint32_t classes = 0;
  for (uint32_t c = 0; c < eg_engine_class_limit(before); c++) {
    eg_class class = {c}, root = eg_engine_find(before, class);
    assert_int_equal(root.id, eg_engine_find(after, class).id);
    bool stays = has_node(before, kept, root.id);
    assert_int_equal(stays, eg_engine_has_class(after, class));
    classes += stays && root.id == c;
  }
  assert_int_equal(classes, eg_engine_class_count(after));
}

/// Goes on without the classes that were dropped.
static void go_on(eg_engine *e, eg_rng *rng) {
  eg_class known[64], last = EG_CLASS_NONE;
  uint32_t count = 0;
  for (eg_class c = eg_engine_first(e); c.id != EG_CLASS_NONE.id && count < 32;
       c = eg_engine_next(e, c))
    known[count++] = c;
  if (count == 0) known[count++] = add(e, 0, 0, NULL);
  for (int i = 0; i < 40; i++) {
    eg_class children[] = {known[eg_rng_below(rng, count)],
                           known[eg_rng_below(rng, count)]};
    last = add(e, (uint32_t)eg_rng_below(rng, STEP_OPS), 2, children);
    bool changed;
    if (i % 8 == 0) assert_ok(eg_engine_unite(e, last, children[0], 0, &changed));
    if (count < 64) known[count++] = last;
  }
  assert_ok(eg_engine_check(e));
  assert_ok(eg_engine_rebuild(e));
  assert_ok(eg_engine_check(e));
}

static void run_round(uint64_t seed, egraph_allocator alloc) {
  static bool kept[8192];
  eg_rng rng = {seed};
  bool analysis = eg_rng_below(&rng, 2) == 0, record = eg_rng_below(&rng, 2) == 0;
  eg_engine *e = create(alloc, analysis, record), *before;
  eg_u32s map;
  eg_u32s_init(&map, alloc);
  steps_random(e, &rng, eg_rng_below(&rng, 300));
  assert_ok(eg_engine_rebuild(e));
  assert_ok(eg_engine_clone(e, &before));
  assert_true(eg_engine_node_limit(e) < 8192);
  wish w = {eg_rng_next(&rng), (uint32_t)eg_rng_below(&rng, 120)};
  keep_naively(e, &w, kept);
  assert_ok(eg_engine_prune(e, is_wanted, &w, &map));
  assert_ok(eg_engine_check(e));
  compare(before, kept, &map, e);
  go_on(e, &rng);
  eg_u32s_deinit(&map);
  eg_engine_destroy(e);
  eg_engine_destroy(before);
}

static void random_prunings_agree_with_the_naive_fixpoint(void **state) {
  (void)state;
  run_rounds(run_round);
}

// ---- by hand --------------------------------------------------------------------------

static bool is_no_leaf_7(void *user, const eg_engine *engine, eg_node node) {
  (void)user;
  return eg_engine_term(engine, node).op != 7;
}

static void a_class_without_nodes_takes_its_parents_along(void **state) {
  (void)state;
  eg_engine *e = create(eg_allocator_heap(), false, true);
  bool changed;
  eg_class a = add(e, 7, 0, NULL), b = add(e, 8, 0, NULL);
  eg_class fa = add(e, 1, 1, &a), fb = add(e, 1, 1, &b), gfa = add(e, 2, 1, &fa);
  eg_class hb = add(e, 3, 1, &b);
  assert_ok(eg_engine_unite(e, gfa, hb, 0, &changed));
  assert_ok(eg_engine_rebuild(e));
  assert_ok(eg_engine_prune(e, is_no_leaf_7, NULL, NULL));
  assert_ok(eg_engine_check(e));
  assert_int_equal(eg_engine_node_count(e), 3); // b, f(b), h(b)
  assert_false(eg_engine_has_class(e, a));
  assert_false(eg_engine_has_class(e, fa));
  assert_true(eg_engine_has_class(e, gfa)); // it is h(b) too
  assert_false(eg_engine_has_class(e, (eg_class){99}));
  for (eg_class c = eg_engine_first(e); c.id != EG_CLASS_NONE.id;
       c = eg_engine_next(e, c))
    assert_true(eg_engine_has_class(e, c));
  assert_fails(eg_engine_unite(e, fa, fb, 0, &changed), EGRAPH_E_ARGUMENT, "pruned");
  assert_ok(eg_engine_check(e));
  // A term that went can come back, as another class.
  assert_int_not_equal(add(e, 7, 0, NULL).id, a.id);
  assert_ok(eg_engine_rebuild(e));
  assert_ok(eg_engine_check(e));
  eg_engine_destroy(e);
}

static void the_dead_vanish_and_pushed_states_stay(void **state) {
  (void)state;
  eg_rng rng = {test_seed(5)};
  eg_engine *e = create(eg_allocator_heap(), true, true), *before;
  steps_random(e, &rng, 400);
  add(e, 99, 0, NULL);
  assert_fails(eg_engine_prune(e, NULL, NULL, NULL), EGRAPH_E_ARGUMENT, "dirty");
  assert_ok(eg_engine_rebuild(e));
  assert_ok(eg_engine_push(e));
  assert_ok(eg_engine_clone(e, &before));
  assert_true(e->child_words > 0);
  assert_ok(eg_engine_prune(e, NULL, NULL, NULL));
  assert_int_equal(eg_engine_node_count(e), eg_engine_node_count(before));
  assert_true(eg_engine_node_limit(e) < eg_engine_node_limit(before));
  assert_int_equal(e->swept_words + e->dead_words, 0);
  assert_ok(eg_engine_check(e));
  assert_int_equal(pushed_states(e), 1);
  assert_ok(eg_engine_pop(e));
  assert_same_state(e, before);
  eg_engine_destroy(before);
  eg_engine_destroy(e);
}

static egraph_status build_and_prune(egraph_allocator alloc, void *user) {
  eg_engine *e;
  eg_engine_options options = {.analysis = &step_sizes, .record = true};
  (void)user;
  EG_TRY(eg_engine_create(&alloc, &options, &e));
  eg_rng rng = {7};
  egraph_status status = EGRAPH_OK;
  for (int i = 0; i < 60 && status == EGRAPH_OK; i++)
    status = step_random(e, &rng);
  if (status == EGRAPH_OK) status = eg_engine_rebuild(e);
  uint32_t nodes = eg_engine_node_count(e);
  wish w = {3, 80};
  if (status == EGRAPH_OK) {
    status = eg_engine_prune(e, is_wanted, &w, NULL);
    if (status != EGRAPH_OK) assert_int_equal(eg_engine_node_count(e), nodes);
  }
  if (status == EGRAPH_OK) status = eg_engine_check(e);
  eg_engine_destroy(e);
  return status;
}

static void a_pruning_that_fails_removes_nothing(void **state) {
  (void)state;
  test_every_allocation_failing(build_and_prune, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_prunings_agree_with_the_naive_fixpoint),
      cmocka_unit_test(a_class_without_nodes_takes_its_parents_along),
      cmocka_unit_test(the_dead_vanish_and_pushed_states_stay),
      cmocka_unit_test(a_pruning_that_fails_removes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
