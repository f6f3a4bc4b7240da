// Unit tests of pattern compilation and matching.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/test_engine_symbolic.h"

typedef struct fixture {
  test_heap heap;
  sym_world world;
} fixture;

static int set_up(void **state) {
  static fixture f;
  f.heap = (test_heap){0};
  sym_init(&f.world, test_heap_allocator(&f.heap));
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  sym_deinit(&f->world);
  return f->heap.live_bytes == 0 ? 0 : -1;
}

static sym_world *world_of(void **state) { return &((fixture *)*state)->world; }

/// Number of matches of a pattern, given by its roots.
static size_t count(sym_world *w, const char *roots) {
  eg_sexpr file = sym_parse(w, roots);
  return sym_search(w, sym_rule_of(w, "pattern", file.children, file.count));
}

/// Class number `index` of match `match` of the last pattern: variables, then roots.
static eg_class matched(const sym_world *w, size_t match, size_t index) {
  const sym_rule *rule = w->rules[w->rule_count - 1];
  return (eg_class){
      rule->matches.data[match * (rule->var_count + rule->root_count) + index]};
}

static void unite(sym_world *w, eg_class a, eg_class b) {
  bool changed;
  assert_ok(eg_engine_unite(w->engine, a, b, 0, &changed));
  assert_ok(eg_engine_rebuild(w->engine));
}

static void a_pattern_binds_variables_and_root(void **state) {
  sym_world *w = world_of(state);
  eg_class a = sym_add(w, "a"), gb = sym_add(w, "(g b)"),
           root = sym_add(w, "(f a (g b))");
  sym_add(w, "(f a b)");
  assert_int_equal(count(w, "(f ?x (g ?y))"), 1);
  assert_int_equal(matched(w, 0, 0).id, a.id);
  assert_int_equal(matched(w, 0, 1).id, sym_add(w, "b").id);
  assert_int_equal(matched(w, 0, 2).id, root.id);
  assert_int_equal(count(w, "(f ?x ?y)"), 2);
  assert_int_equal(count(w, "(f a ?y)"), 2);
  assert_int_equal(matched(w, 0, 0).id + matched(w, 1, 0).id, gb.id + sym_add(w, "b").id);
  assert_int_equal(count(w, "(f ?x)"), 0); // another arity
}

static void a_repeated_variable_must_be_one_class(void **state) {
  sym_world *w = world_of(state);
  eg_class a = sym_add(w, "a"), b = sym_add(w, "b");
  sym_add(w, "(f a b)(f a a)(h (g a) b)");
  assert_int_equal(count(w, "(f ?x ?x)"), 1);
  assert_int_equal(count(w, "(h (g ?x) ?x)"), 0);
  unite(w, a, b);
  assert_int_equal(count(w, "(f ?x ?x)"), 1); // (f a b) and (f a a) are one node now
  assert_int_equal(count(w, "(h (g ?x) ?x)"), 1);
}

static void every_node_of_a_class_is_tried(void **state) {
  sym_world *w = world_of(state);
  unite(w, sym_add(w, "(g a)"), sym_add(w, "(g b)"));
  unite(w, sym_add(w, "(g a)"), sym_add(w, "(h c)"));
  sym_add(w, "(f (g a))");
  assert_int_equal(count(w, "(f (g ?x))"), 2);
  assert_int_equal(count(w, "(f (h ?x))"), 1);
}

static void ground_terms_are_looked_up(void **state) {
  sym_world *w = world_of(state);
  sym_add(w, "(f (g a) b)(f (g b) a)(f b (g a))");
  assert_int_equal(count(w, "(f (g a) ?x)"), 1);
  assert_int_equal(count(w, "(f ?x (g a))"), 1);
  assert_int_equal(count(w, "(f (g a) b)"), 1);
  assert_int_equal(count(w, "(f (g a) a)"), 0);
  assert_int_equal(count(w, "(g a)"), 1);
  assert_int_equal(count(w, "(g zero)"), 0);
  assert_int_equal(count(w, "(f (g zero) ?x)"), 0);
}

static void a_hub_does_not_hide_matches(void **state) {
  sym_world *w = world_of(state);
  sym_add(w, "(p a)(q a)(r a)(s a)(t a)(f a b)(f c a)");
  assert_int_equal(count(w, "(f a ?x)"), 1);
  assert_int_equal(count(w, "(f ?x a)"), 1);
}

static void a_lone_variable_matches_every_class(void **state) {
  sym_world *w = world_of(state);
  sym_add(w, "(f a b)");
  assert_int_equal(count(w, "?x"), 3);
  unite(w, sym_add(w, "a"), sym_add(w, "b"));
  assert_int_equal(count(w, "?x"), 2);
  assert_int_equal(count(w, "?x (f ?x ?x)"), 1);
  assert_int_equal(count(w, "?x (f ?y ?y)"), 2);
}

static void several_roots_are_joined_on_shared_variables(void **state) {
  sym_world *w = world_of(state);
  sym_add(w, "(f a b)(f a c)(f d c)");
  assert_int_equal(count(w, "(f ?x ?y) (f ?x ?z)"), 5);
  assert_int_equal(count(w, "(f ?x ?y) (f ?z ?y)"), 5);
  assert_int_equal(count(w, "(f ?x ?y) (f ?z ?u)"), 9); // nothing shared: the product
  assert_int_equal(count(w, "(f ?x ?y) (f ?y ?z)"), 0);
  sym_add(w, "(h (g (g d)) c)");
  assert_int_equal(count(w, "(f ?x ?y) (h (g (g ?x)) ?y)"), 1);
  assert_int_equal(count(w, "(f ?x ?y) (h (g (g ?x)) ?z)"), 1);
  assert_int_equal(count(w, "(f ?x ?y) (g (g ?x)) (h ?z ?y)"), 1);
}

// ---- by hand: guards, payloads, shared terms ------------------------------------------

typedef struct collected {
  size_t count;
  uint32_t nodes[8];
  size_t stop_after;
  egraph_status result;
} collected;

static bool is_even(void *user, uint32_t guard, uint32_t op, uint32_t payload) {
  (void)user, (void)op;
  assert_int_equal(guard, 3);
  return payload % 2 == 0;
}

static egraph_status collect(void *user, const eg_match *match, bool *stop) {
  collected *c = user;
  if (c->count < 8) c->nodes[c->count] = match->nodes[0].id;
  *stop = ++c->count == c->stop_after;
  return c->result;
}

static eg_matcher *compile(sym_world *w, const eg_pattern *pattern) {
  eg_matcher *program = NULL;
  assert_ok(eg_matcher_create(&w->alloc, pattern, &program));
  return program;
}

static void add_leaves(sym_world *w) {
  for (uint32_t i = 0; i < 6; i++) {
    eg_term term = {.op = 9, .payload = i};
    eg_class class;
    assert_ok(eg_engine_add(w->engine, &term, 0, &class));
  }
  assert_ok(eg_engine_rebuild(w->engine));
}

static void guards_decide_on_payloads_and_nodes_are_reported(void **state) {
  sym_world *w = world_of(state);
  add_leaves(w);
  const uint32_t root = 0;
  eg_pattern_term term = {.kind = EG_PATTERN_NODE, .op = 9, .guard = 3};
  eg_pattern pattern = {.terms = &term, .term_count = 1, .roots = &root, .root_count = 1};
  eg_matcher *program = compile(w, &pattern);
  term.op = 77; // the program has its own copy
  collected c = {0};
  eg_search search = {.accept = is_even, .on_match = collect, .user = &c};
  assert_ok(eg_matcher_search(program, w->engine, &search));
  assert_int_equal(c.count, 3);
  for (uint32_t i = 0; i < 3; i++)
    assert_int_equal(eg_engine_term(w->engine, (eg_node){c.nodes[i]}).payload, 2 * i);
  search.accept = NULL;
  assert_fails(eg_matcher_search(program, w->engine, &search), EGRAPH_E_ARGUMENT,
               "accept");
  eg_matcher_destroy(program);
}

static void an_exact_payload_is_looked_up_and_guarded(void **state) {
  sym_world *w = world_of(state);
  add_leaves(w);
  const uint32_t root = 0;
  eg_pattern_term term = {
      .kind = EG_PATTERN_NODE, .op = 9, .guard = 3, .exact = true, .payload = 4};
  eg_pattern pattern = {.terms = &term, .term_count = 1, .roots = &root, .root_count = 1};
  for (uint32_t payload = 4; payload <= 6; payload++) {
    term.payload = payload;
    eg_matcher *program = compile(w, &pattern);
    collected c = {0};
    eg_search search = {.accept = is_even, .on_match = collect, .user = &c};
    assert_ok(eg_matcher_search(program, w->engine, &search));
    assert_int_equal(c.count, payload == 4); // 5 is odd, 6 is absent
    eg_matcher_destroy(program);
  }
}

static void a_shared_term_is_one_class(void **state) {
  sym_world *w = world_of(state);
  sym_add(w, "(f (g a) (g a))(f (g a) (g b))");
  uint32_t f = sym_intern(w, "f"), g = sym_intern(w, "g");
  const uint32_t root = 0, children[] = {1, 1, 2};
  const eg_pattern_term terms[] = {
      {.kind = EG_PATTERN_NODE, .op = f, .guard = EG_PATTERN_ANY_PAYLOAD, .arity = 2},
      {.kind = EG_PATTERN_NODE,
       .op = g,
       .guard = EG_PATTERN_ANY_PAYLOAD,
       .arity = 1,
       .children = 2},
      {.kind = EG_PATTERN_VAR, .var = 0}};
  eg_pattern pattern = {.terms = terms,
                        .term_count = 3,
                        .children = children,
                        .child_count = 3,
                        .roots = &root,
                        .root_count = 1,
                        .var_count = 1};
  eg_matcher *program = compile(w, &pattern);
  collected c = {0};
  eg_search search = {.on_match = collect, .user = &c};
  assert_ok(eg_matcher_search(program, w->engine, &search));
  assert_int_equal(c.count, 1);
  eg_matcher_destroy(program);
}

static void a_search_can_be_stopped_and_can_fail(void **state) {
  sym_world *w = world_of(state);
  add_leaves(w);
  const uint32_t root = 0;
  eg_pattern_term term = {
      .kind = EG_PATTERN_NODE, .op = 9, .guard = EG_PATTERN_ANY_PAYLOAD};
  eg_pattern pattern = {.terms = &term, .term_count = 1, .roots = &root, .root_count = 1};
  eg_matcher *program = compile(w, &pattern);
  collected c = {.stop_after = 2};
  eg_search search = {.on_match = collect, .user = &c};
  assert_ok(eg_matcher_search(program, w->engine, &search));
  assert_int_equal(c.count, 2);
  c = (collected){.result = EGRAPH_E_CANCELLED};
  assert_int_equal(eg_matcher_search(program, w->engine, &search), EGRAPH_E_CANCELLED);
  assert_int_equal(c.count, 1);
  bool changed;
  assert_ok(eg_engine_unite(w->engine, (eg_class){0}, (eg_class){1}, 0, &changed));
  assert_fails(eg_matcher_search(program, w->engine, &search), EGRAPH_E_ARGUMENT,
               "dirty");
  eg_matcher_destroy(program);
}

static void a_search_can_be_paused_anywhere(void **state) {
  sym_world *w = world_of(state);
  sym_add(w, "(f a a)");
  for (uint32_t i = 0; i < 30; i++) {
    eg_term leaf = {.op = 99, .payload = i};
    eg_class class;
    assert_ok(eg_engine_add(w->engine, &leaf, 0, &class));
  }
  assert_ok(eg_engine_rebuild(w->engine));
  eg_sexpr file = sym_parse(w, "?x ?y (f ?z ?z)"); // 32 * 32 matches
  sym_rule *rule = sym_rule_of(w, "product", file.children, file.count);
  collected c = {.stop_after = 100};
  eg_search search = {.on_match = collect, .user = &c};
  eg_cursor *cursor;
  eg_parts parts;
  eg_parts_init(&parts, w->alloc);
  assert_ok(eg_matcher_split(rule->program, w->engine, &search, UINT32_MAX, &parts));
  assert_int_equal(parts.len, 1);
  assert_ok(eg_cursor_create(w->alloc, rule->program, w->engine, &search, parts.data[0],
                             &cursor));
  bool done;
  assert_ok(eg_cursor_run(cursor, UINT64_MAX, &done));
  assert_false(done);
  assert_int_equal(c.count, 100);
  uint32_t turns = 0;
  for (; !done; turns++)
    assert_ok(eg_cursor_run(cursor, 7, &done));
  assert_int_equal(c.count, 32 * 32);
  assert_in_range(turns, (1024 - 100) / 7, 1024);
  eg_cursor_destroy(cursor);
  eg_parts_deinit(&parts);
}

static void malformed_patterns_are_refused(void **state) {
  sym_world *w = world_of(state);
  eg_matcher *program = NULL;
  uint32_t root = 0, children[] = {0};
  eg_pattern_term term = {
      .kind = EG_PATTERN_NODE, .op = 1, .guard = EG_PATTERN_ANY_PAYLOAD, .arity = 1};
  eg_pattern pattern = {.terms = &term,
                        .term_count = 1,
                        .children = children,
                        .child_count = 1,
                        .roots = &root,
                        .root_count = 0};
#define REFUSED(part)                                                                    \
  assert_fails(eg_matcher_create(&w->alloc, &pattern, &program), EGRAPH_E_ARGUMENT, part)
  REFUSED("needs a root");
  pattern.root_count = 1;
  REFUSED("below itself");
  root = 1;
  REFUSED("pattern root 0: term 1");
  root = 0;
  children[0] = 5;
  REFUSED("pattern child 0: term 5");
  term.arity = 2;
  REFUSED("beyond the end");
  term = (eg_pattern_term){.kind = EG_PATTERN_VAR, .var = 0};
  REFUSED("variable 0 of 0");
  assert_null(program);
#undef REFUSED
}

static void a_variable_that_occurs_nowhere_is_none(void **state) {
  sym_world *w = world_of(state);
  add_leaves(w);
  const uint32_t root = 0;
  const eg_pattern_term terms[] = {
      {.kind = EG_PATTERN_NODE, .op = 9, .guard = EG_PATTERN_ANY_PAYLOAD},
      {.kind = EG_PATTERN_NODE, .op = 99}}; // not reachable
  eg_pattern pattern = {
      .terms = terms, .term_count = 2, .roots = &root, .root_count = 1, .var_count = 1};
  sym_rule rule = {.var_count = 1, .root_count = 1};
  eg_u32s_init(&rule.matches, w->alloc);
  rule.program = compile(w, &pattern);
  assert_int_equal(sym_search(w, &rule), 6);
  assert_int_equal(rule.matches.data[0], EG_CLASS_NONE.id);
  eg_matcher_destroy(rule.program);
  eg_u32s_deinit(&rule.matches);
}

// ---- failing allocations --------------------------------------------------------------

static egraph_status compile_and_search(egraph_allocator alloc, void *user) {
  sym_world *w = user;
  const sym_rule *rule = w->rules[0];
  eg_pattern pattern = {.terms = rule->terms,
                        .term_count = rule->term_count,
                        .children = rule->children,
                        .child_count = rule->child_count,
                        .roots = rule->lhs,
                        .root_count = rule->root_count,
                        .var_count = rule->var_count};
  eg_matcher *program;
  EG_TRY(eg_matcher_create(&alloc, &pattern, &program));
  collected c = {0};
  eg_search search = {.on_match = collect, .user = &c};
  egraph_status status = eg_matcher_search(program, w->engine, &search);
  if (status == EGRAPH_OK) assert_int_equal(c.count, 2);
  eg_matcher_destroy(program);
  return status;
}

static void every_failing_allocation_is_survived(void **state) {
  sym_world *w = world_of(state);
  sym_add(w, "(f a (g b))(f a b)");
  sym_rules(w, "(rule (f ?x (g ?y)) (f ?x ?z))");
  test_every_allocation_failing(compile_and_search, w);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_pattern_binds_variables_and_root),
      TEST(a_repeated_variable_must_be_one_class),
      TEST(every_node_of_a_class_is_tried),
      TEST(ground_terms_are_looked_up),
      TEST(a_hub_does_not_hide_matches),
      TEST(a_lone_variable_matches_every_class),
      TEST(several_roots_are_joined_on_shared_variables),
      TEST(guards_decide_on_payloads_and_nodes_are_reported),
      TEST(an_exact_payload_is_looked_up_and_guarded),
      TEST(a_shared_term_is_one_class),
      TEST(a_search_can_be_stopped_and_can_fail),
      TEST(a_search_can_be_paused_anywhere),
      TEST(malformed_patterns_are_refused),
      TEST(a_variable_that_occurs_nowhere_is_none),
      TEST(every_failing_allocation_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
