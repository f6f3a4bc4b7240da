// Public functions of e-graphs of plain terms.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "tests/unit/api_kit.h"

#define HEAD "(egraph-rules 1 symbolic)\n"

static const char sums[] =
    HEAD "(rule comm-add (lhs (+ ?a ?b)) (rhs (+ ?b ?a)))\n"
         "(rule assoc-add (lhs (+ ?a (+ ?b ?c))) (rhs (+ (+ ?a ?b) ?c)))\n";

static egraph_terms *create(const api_kit *kit) {
  egraph_terms *terms;
  assert_ok(egraph_terms_create(&kit->alloc, &terms));
  return terms;
}

static egraph_class add(egraph_terms *terms, const char *text) {
  egraph_class class;
  assert_ok(egraph_terms_add(terms, "t", text, &class));
  return class;
}

static egraph_symbol symbol(egraph_terms *terms, const char *text) {
  egraph_symbol number;
  assert_ok(egraph_terms_symbol(terms, text, &number));
  return number;
}

static egraph_class node(egraph_terms *terms, egraph_symbol head,
                         const egraph_class *children, uint32_t count) {
  egraph_class class;
  assert_ok(egraph_terms_add_node(terms, head, children, count, &class));
  return class;
}

static void assert_smallest(const api_kit *kit, const egraph_terms *terms,
                            egraph_class class, const char *expected, uint64_t nodes) {
  char *text;
  uint64_t size;
  assert_ok(egraph_terms_smallest(&kit->alloc, terms, class, &text, &size));
  assert_string_equal(text, expected);
  assert_int_equal(size, nodes);
  egraph_string_free(&kit->alloc, text);
}

// ---- the smallest of several -----------------------------------------------------

enum { FOLDS = 21, ROOTS = FOLDS + 1 }; // (f x x), nested so often, is too large to write

typedef struct smallest_list {
  char text[ROOTS][64]; // its beginning
  uint64_t size[ROOTS];
  bool is_written[ROOTS];
  size_t count;
} smallest_list;

static void note_smallest(void *user, size_t index, const char *text, uint64_t size) {
  smallest_list *list = user;
  assert_int_equal(index, list->count++);
  list->size[index] = size;
  list->is_written[index] = text != NULL;
  (void)snprintf(list->text[index], sizeof *list->text, "%s", text != NULL ? text : "");
}

static egraph_terms *fold_terms(const egraph_allocator *alloc, egraph_class *roots) {
  egraph_terms *terms;
  assert_ok(egraph_terms_create(alloc, &terms));
  egraph_symbol f = symbol(terms, "f");
  roots[0] = add(terms, "a");
  for (uint32_t i = 1; i < ROOTS; i++)
    roots[i] = node(terms, f, (egraph_class[]){roots[i - 1], roots[i - 1]}, 2);
  egraph_class longer = add(terms, "(g (g a))");
  assert_ok(egraph_terms_unite(terms, longer, roots[1], NULL));
  assert_ok(egraph_terms_rebuild(terms));
  return terms;
}

static void several_smallest_are_those_of_each(void **state) {
  api_kit *kit = *state;
  egraph_class roots[ROOTS];
  egraph_terms *terms = fold_terms(&kit->alloc, roots);
  smallest_list all = {.count = 0};
  assert_ok(
      egraph_terms_smallest_each(&kit->alloc, terms, roots, ROOTS, note_smallest, &all));
  assert_int_equal(all.count, ROOTS);
  for (size_t i = 0; i < ROOTS; i++) {
    char *text = NULL;
    uint64_t size;
    assert_int_equal(all.size[i], (UINT64_C(2) << i) - 1);
    egraph_status status =
        egraph_terms_smallest(&kit->alloc, terms, roots[i], &text, &size);
    assert_int_equal(status == EGRAPH_OK, all.is_written[i]);
    assert_int_equal(all.is_written[i], i < 20);
    if (status != EGRAPH_OK) continue;
    assert_int_equal(size, all.size[i]);
    assert_memory_equal(text, all.text[i], strlen(all.text[i]));
    egraph_string_free(&kit->alloc, text);
  }
  assert_string_equal(all.text[2], "(f (f a a) (f a a))");
  egraph_class none = {77};
  assert_fails(egraph_terms_smallest_each(NULL, terms, &none, 1, note_smallest, &all),
               EGRAPH_E_ARGUMENT, "no class 77");
  assert_ok(egraph_terms_smallest_each(NULL, terms, NULL, 0, note_smallest, &all));
  assert_int_equal(all.count, ROOTS);
  egraph_terms_destroy(terms);
}

static size_t requests_of(api_kit *kit, const egraph_terms *terms,
                          const egraph_class *roots, size_t count) {
  smallest_list list = {.count = 0};
  size_t before = kit->heap.requests;
  assert_ok(
      egraph_terms_smallest_each(&kit->alloc, terms, roots, count, note_smallest, &list));
  return kit->heap.requests - before;
}

/// As many classes as there is room for ask for little more memory than one of them does:
/// a stack for each text, and no second table of sizes.
static void sizes_are_computed_once_for_all(void **state) {
  api_kit *kit = *state;
  egraph_class roots[ROOTS], same[ROOTS];
  egraph_terms *terms = fold_terms(&kit->alloc, roots);
  for (size_t i = 0; i < ROOTS; i++)
    same[i] = roots[2];
  size_t one = requests_of(kit, terms, same, 1);
  assert_true(one > 3);
  assert_true(requests_of(kit, terms, same, ROOTS) < one + 2 * (ROOTS - 1));
  egraph_terms_destroy(terms);
}

static egraph_status all_smallest(egraph_allocator alloc, void *user) {
  egraph_class roots[ROOTS];
  egraph_terms *terms = fold_terms(NULL, roots);
  smallest_list list = {.count = 0};
  (void)user;
  egraph_status status =
      egraph_terms_smallest_each(&alloc, terms, roots, ROOTS, note_smallest, &list);
  egraph_terms_destroy(terms);
  return status;
}

static void every_allocation_of_several_may_fail(void **state) {
  (void)state;
  test_every_allocation_failing(all_smallest, NULL);
}

// ---- nodes -----------------------------------------------------------------------

static void text_and_nodes_make_the_same_terms(void **state) {
  egraph_terms *terms = create(*state);
  egraph_class read = add(terms, "(f (g a) b)");
  egraph_symbol f = symbol(terms, "f"), g = symbol(terms, "g"), a = symbol(terms, "a"),
                b = symbol(terms, "b");
  assert_int_equal(symbol(terms, "f").id, f.id);
  egraph_class ga = node(terms, a, NULL, 0), at_b = node(terms, b, NULL, 0), found;
  ga = node(terms, g, &ga, 1);
  egraph_class children[] = {ga, at_b};
  assert_true(egraph_terms_find_node(terms, f, children, 2, &found));
  assert_int_equal(found.id, read.id);
  assert_int_equal(node(terms, f, children, 2).id, read.id);
  assert_false(egraph_terms_find_node(terms, g, children, 2, &found));
  assert_true(egraph_terms_find_node(terms, f, children, 2, NULL));
  egraph_terms_info info = egraph_terms_info_of(terms);
  assert_int_equal(info.nodes, 4);
  assert_int_equal(info.classes, 4);
  assert_true(info.bytes > 0);
  egraph_terms_destroy(terms);
  egraph_terms_destroy(NULL);
}

static void symbols_get_numbers_without_nodes(void **state) {
  egraph_terms *terms = create(*state);
  char text[16];
  for (uint32_t i = 0; i < 300; i++) {
    (void)snprintf(text, sizeof text, "s%u", i);
    uint32_t number = symbol(terms, text).id;
    assert_int_equal(symbol(terms, text).id, number);
    if (i % 7 == 0) (void)add(terms, text);
  }
  assert_int_equal(egraph_terms_info_of(terms).nodes, 43);
  egraph_symbol number = {7};
  static const char *const bad[] = {"",  "?x",    "a b", "(a)", "a)",
                                    "[", "\"q\"", "a;b", "a\n"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_fails(egraph_terms_symbol(terms, bad[i], &number), EGRAPH_E_ARGUMENT,
                 "no symbol");
  assert_int_equal(number.id, 7);
  (void)symbol(terms, "?");
  egraph_terms_destroy(terms);
}

static void unions_follow_congruence(void **state) {
  api_kit *kit = *state;
  egraph_terms *terms = create(kit);
  egraph_class fa = add(terms, "(f (f (f a)))"), fb = add(terms, "(f (f (f b)))");
  egraph_class a = add(terms, "a"), b = add(terms, "b");
  bool changed = false;
  assert_false(egraph_terms_are_equal(terms, fa, fb));
  assert_ok(egraph_terms_unite(terms, a, b, &changed));
  assert_true(changed);
  char *text = NULL;
  uint64_t count;
  assert_fails(egraph_terms_smallest(NULL, terms, a, &text, NULL), EGRAPH_E_ARGUMENT,
               "egraph_terms_rebuild");
  assert_fails(egraph_terms_dot(NULL, terms, &text), EGRAPH_E_ARGUMENT, "rebuild");
  assert_fails(egraph_terms_search(terms, "(f ?x)", NULL, NULL, &count),
               EGRAPH_E_ARGUMENT, "rebuild");
  assert_null(text);
  assert_ok(egraph_terms_rebuild(terms));
  assert_true(egraph_terms_are_equal(terms, fa, fb));
  assert_int_equal(egraph_terms_find(terms, fa).id, egraph_terms_find(terms, fb).id);
  assert_ok(egraph_terms_unite(terms, fa, fb, &changed));
  assert_false(changed);
  assert_ok(egraph_terms_unite(terms, fa, fb, NULL));
  assert_int_equal(egraph_terms_info_of(terms).classes, 4);
  assert_int_equal(egraph_terms_info_of(terms).nodes, 5);
  assert_smallest(kit, terms, fa, "(f (f (f a)))", 4);
  assert_ok(egraph_terms_check(terms));
  egraph_terms_destroy(terms);
}

static void what_is_unknown_is_refused(void **state) {
  egraph_terms *terms = create(*state);
  egraph_class a = add(terms, "a"), none = {77}, out = {5};
  egraph_symbol f = symbol(terms, "f"), nothing = {99};
  char *text = NULL;
  assert_fails(egraph_terms_add_node(terms, nothing, NULL, 0, &out), EGRAPH_E_ARGUMENT,
               "no symbol number 99");
  assert_fails(egraph_terms_add_node(terms, f, &none, 1, &out), EGRAPH_E_ARGUMENT, "77");
  assert_fails(egraph_terms_unite(terms, a, none, NULL), EGRAPH_E_ARGUMENT, "77");
  assert_fails(egraph_terms_smallest(NULL, terms, none, &text, NULL), EGRAPH_E_ARGUMENT,
               "no class 77");
  assert_false(egraph_terms_find_node(terms, f, &none, 1, &out));
  assert_false(egraph_terms_find_node(terms, nothing, &a, 1, &out));
  assert_int_equal(egraph_terms_find(terms, none).id, 77);
  assert_false(egraph_terms_are_equal(terms, a, none));
  assert_int_equal(out.id, 5);
  egraph_terms_destroy(terms);
}

static void many_nodes_are_added_like_one_by_one(void **state) {
  enum { COUNT = 150 }; // more than two batches
  egraph_terms *terms = create(*state);
  egraph_symbol f = symbol(terms, "f"), leaf = symbol(terms, "x"), none = {99};
  egraph_class x, sides[3 * COUNT], many[COUNT], again[COUNT];
  assert_ok(egraph_terms_add_nodes(terms, leaf, 0, NULL, 1, &x));
  for (uint32_t arity = 1; arity <= 3; arity++) {
    for (uint32_t i = 0; i < arity * COUNT; i++)
      sides[i] = i == 0 || i % 7 == 0 ? x : many[(i - 1) % COUNT];
    if (arity == 1)
      for (uint32_t i = 0; i < COUNT; i++)
        sides[i] = x;
    assert_ok(egraph_terms_add_nodes(terms, f, arity, sides, COUNT, many));
    for (uint32_t i = 0; i < COUNT; i++)
      assert_int_equal(node(terms, f, sides + i * arity, arity).id, many[i].id);
    assert_ok(egraph_terms_add_nodes(terms, f, arity, sides, COUNT, again));
    assert_memory_equal(many, again, sizeof many);
  }
  assert_fails(egraph_terms_add_nodes(terms, none, 1, &x, 1, many), EGRAPH_E_ARGUMENT,
               "symbol");
  sides[1].id = 1000000;
  assert_fails(egraph_terms_add_nodes(terms, f, 1, sides, 2, many), EGRAPH_E_ARGUMENT,
               "class 1000000");
  assert_ok(egraph_terms_rebuild(terms));
  assert_ok(egraph_terms_check(terms));
  egraph_terms_destroy(terms);
}

static void a_node_may_have_many_children(void **state) {
  api_kit *kit = *state;
  egraph_terms *terms = create(kit);
  egraph_class children[40], found;
  for (uint32_t i = 0; i < 40; i++)
    children[i] = add(terms, i % 2 == 0 ? "a" : "b");
  egraph_symbol f = symbol(terms, "f");
  egraph_class wide = node(terms, f, children, 40);
  assert_true(egraph_terms_find_node(terms, f, children, 40, &found));
  assert_int_equal(found.id, wide.id);
  assert_false(egraph_terms_find_node(terms, f, children, 39, &found));
  egraph_terms_destroy(terms);
}

// ---- saturation ------------------------------------------------------------------

typedef struct history {
  egraph_terms_iteration rows[32];
  uint32_t count, stop_after, asked;
} history;

static bool note_iteration(void *user, const egraph_terms_iteration *iteration) {
  history *h = user;
  assert_int_equal(iteration->iteration, h->count);
  assert_true(iteration->search_seconds >= 0 && iteration->apply_seconds >= 0 &&
              iteration->rebuild_seconds >= 0);
  if (h->count < 32) h->rows[h->count] = *iteration;
  h->count++;
  return h->stop_after != 0 && h->count == h->stop_after;
}

static bool ask(void *user, uint32_t iteration, uint32_t nodes, uint32_t classes) {
  history *h = user;
  assert_true(iteration < 32 && nodes >= classes);
  h->asked++;
  return false;
}

static egraph_terms_options simple_options(history *h) {
  egraph_terms_options options = egraph_terms_options_default();
  options.scheduler = "simple";
  options.naive = true;
  options.on_iteration = note_iteration;
  options.progress = ask;
  options.user = h;
  return options;
}

static void sums_of_six_grow_as_they_must(void **state) {
  api_kit *kit = *state;
  egraph_terms *terms = create(kit);
  assert_ok(egraph_terms_add_rule_text(terms, "sums", sums));
  assert_int_equal(egraph_terms_rule_count(terms), 2);
  egraph_class root = add(terms, "(+ a (+ b (+ c (+ d (+ e f)))))");
  history h = {.count = 0};
  egraph_terms_options options = simple_options(&h);
  egraph_terms_report report;
  assert_int_equal(egraph_terms_rule(terms, 1).matches, 0);
  assert_ok(egraph_terms_saturate(terms, &options, &report));
  assert_string_equal(report.stop, "saturated");
  assert_int_equal(report.nodes, 729 - 128 + 1 + 6);
  assert_int_equal(report.classes, 63);
  assert_int_equal(report.iterations, h.count);
  assert_true(h.asked >= h.count && report.peak_bytes > 0 && report.seconds >= 0);
  uint64_t matches = 0;
  for (uint32_t i = 0; i < h.count; i++)
    matches += h.rows[i].matches;
  assert_int_equal(matches, report.matches);
  assert_int_equal(h.rows[h.count - 1].matches, 602 + (4096 - 2187 + 192 - 1));
  egraph_rule_report rule = egraph_terms_rule(terms, 1);
  assert_string_equal(rule.name, "assoc-add");
  assert_int_equal(rule.matches + egraph_terms_rule(terms, 0).matches, report.matches);
  assert_true(egraph_terms_are_equal(terms, root,
                                     add(terms, "(+ (+ f d) (+ (+ a c) (+ "
                                                "e b)))")));
  assert_ok(egraph_terms_check(terms));
  egraph_terms_destroy(terms);
}

static void the_search_ends_at_limits_and_when_told(void **state) {
  api_kit *kit = *state;
  static const struct {
    const char *stop;
    uint32_t nodes, iterations, told;
    double seconds;
    size_t bytes;
  } cases[] = {{"iteration-limit", 9999, 2, 0, INFINITY, SIZE_MAX},
               {"iteration-limit", 9999, 0, 0, INFINITY, SIZE_MAX},
               {"node-limit", 100, 99, 0, INFINITY, SIZE_MAX},
               {"node-limit", 0, 99, 0, INFINITY, SIZE_MAX},
               {"time-limit", 9999, 99, 0, 0, SIZE_MAX},
               {"byte-limit", 9999, 99, 0, INFINITY, 0},
               {"cancelled", 9999, 99, 3, INFINITY, SIZE_MAX}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    egraph_terms *terms = create(kit);
    assert_ok(egraph_terms_add_rule_text(terms, "sums", sums));
    (void)add(terms, "(+ a (+ b (+ c (+ d (+ e (+ f (+ g h)))))))");
    history h = {.stop_after = cases[i].told};
    egraph_terms_options options = simple_options(&h);
    options.node_limit = cases[i].nodes;
    options.iteration_limit = cases[i].iterations;
    options.time_limit = cases[i].seconds;
    options.byte_limit = cases[i].bytes;
    egraph_terms_report report;
    assert_ok(egraph_terms_saturate(terms, &options, &report));
    assert_string_equal(report.stop, cases[i].stop);
    assert_true(report.nodes <= (cases[i].nodes < 15 ? 15 : cases[i].nodes));
    if (cases[i].told != 0) assert_int_equal(h.count, cases[i].told);
    egraph_terms_destroy(terms);
  }
}

static void options_are_checked_and_may_be_absent(void **state) {
  egraph_terms *terms = create(*state);
  egraph_terms_options options = egraph_terms_options_default();
  options.scheduler = "best";
  assert_fails(egraph_terms_saturate(terms, &options, NULL), EGRAPH_E_ARGUMENT, "'best'");
  options.scheduler = NULL;
  options.time_limit = -1;
  assert_fails(egraph_terms_saturate(terms, &options, NULL), EGRAPH_E_ARGUMENT, "time");
  options.time_limit = (double)NAN;
  assert_fails(egraph_terms_saturate(terms, &options, NULL), EGRAPH_E_ARGUMENT, "time");
  egraph_terms_report report;
  assert_ok(egraph_terms_saturate(terms, NULL, &report));
  assert_string_equal(report.stop, "saturated");
  assert_int_equal(report.nodes, 0);
  egraph_terms_destroy(terms);
}

static void rules_may_be_added_later(void **state) {
  api_kit *kit = *state;
  egraph_terms *terms = create(kit);
  egraph_class root = add(terms, "(* (+ 0 a) 1)");
  assert_ok(egraph_terms_add_rule_text(
      terms, "one", HEAD "(rule one (lhs (* ?a 1)) (rhs ?a) (source \"ring\"))"));
  assert_ok(egraph_terms_saturate(terms, NULL, NULL));
  assert_smallest(kit, terms, root, "(+ 0 a)", 3);
  assert_ok(egraph_terms_add_rule_text(
      terms, "zero",
      HEAD "(rule zero (lhs (+ 0 ?a)) (rhs ?a))\n(rule swap (lhs (f ?a ?b)) (rhs (f ?b "
           "?a)) both-ways)"));
  assert_int_equal(egraph_terms_rule_count(terms), 4);
  assert_true(egraph_terms_rule(terms, 0).matches >= 1);
  assert_string_equal(egraph_terms_rule(terms, 2).name, "swap");
  assert_string_equal(egraph_terms_rule(terms, 3).name, "swap-reversed");
  assert_int_equal(egraph_terms_rule(terms, 3).matches, 0);
  assert_ok(egraph_terms_saturate(terms, NULL, NULL));
  assert_smallest(kit, terms, root, "a", 1);
  egraph_terms_destroy(terms);
}

static void rule_files_are_read(void **state) {
  api_kit *kit = *state;
  egraph_terms *terms = create(kit);
  assert_fails(egraph_terms_add_rule_file(terms, "absent.rules"), EGRAPH_E_IO, "absent");
  (void)snprintf(kit->path, sizeof kit->path, "test_api_terms.rules");
  api_write_file(kit->path, sums, strlen(sums));
  assert_ok(egraph_terms_add_rule_file(terms, kit->path));
  assert_int_equal(egraph_terms_rule_count(terms), 2);
  assert_string_equal(egraph_terms_rule(terms, 0).name, "comm-add");
  egraph_terms_destroy(terms);
}

static void mistakes_are_named_with_their_place(void **state) {
  egraph_terms *terms = create(*state);
  egraph_class out = {5};
  uint64_t count;
  static const struct {
    const char *rules, *part;
  } cases[] = {{"", "r:1:1: "},
               {"(egraph-rules 1)", "symbolic"},
               {HEAD "(rule good (lhs a) (rhs b)) (rule bad (lhs (f ?x)) (rhs ?y))",
                "r:2:57: ?y is not bound"},
               {HEAD "(rule a", "r:2:1: "},
               {HEAD "(rule)", "r:2:1: "},
               {HEAD "(rule \"s\" (lhs a) (rhs b))", "r:2:7: "},
               {HEAD "(rule a (lhs a) (rhs b)) (rule a (lhs b) (rhs a))", "r:2:26: "}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_fails(egraph_terms_add_rule_text(terms, "r", cases[i].rules), EGRAPH_E_PARSE,
                 cases[i].part);
    assert_int_equal(egraph_terms_rule_count(terms), 0);
  }
  assert_fails(egraph_terms_add(terms, "t", "(f\n ?x)", &out), EGRAPH_E_PARSE, "t:2:2: ");
  assert_fails(egraph_terms_add(terms, "t", "", &out), EGRAPH_E_PARSE, "one term");
  assert_fails(egraph_terms_add(terms, "t", "(f a", &out), EGRAPH_E_PARSE, "t:1:1: ");
  assert_fails(egraph_terms_search(terms, "(f ?x", NULL, NULL, &count), EGRAPH_E_PARSE,
               "pattern:1:1: ");
  assert_fails(egraph_terms_search(terms, " ", NULL, NULL, &count), EGRAPH_E_PARSE,
               "pattern:1:1: a pattern is wanted");
  assert_fails(egraph_terms_search(terms, "(?f ?x)", NULL, NULL, &count), EGRAPH_E_PARSE,
               "pattern:1:1: a term is wanted");
  assert_int_equal(out.id, 5);
  assert_int_equal(egraph_terms_info_of(terms).nodes, 0);
  egraph_terms_destroy(terms);
}

// ---- search ----------------------------------------------------------------------

typedef struct found {
  uint32_t count, stop_after;
  egraph_class x[64], root[64];
} found;

static bool on_found(void *user, const egraph_terms_match *match) {
  found *f = user;
  assert_int_equal(match->root_count, 2);
  assert_int_equal(match->variable_count, 3);
  assert_string_equal(match->names[0], "?x");
  assert_string_equal(match->names[2], "?z");
  if (f->count < 64) {
    f->x[f->count] = match->variables[0];
    f->root[f->count] = match->roots[1];
  }
  return ++f->count == f->stop_after;
}

static void several_patterns_are_joined(void **state) {
  egraph_terms *terms = create(*state);
  (void)add(terms, "(* x (* x y))");
  (void)add(terms, "(* x z)");
  (void)add(terms, "(* y z)");
  assert_ok(egraph_terms_rebuild(terms));
  uint64_t count = 0;
  assert_ok(egraph_terms_search(terms, "(* ?x ?y)", NULL, NULL, &count));
  assert_int_equal(count, 4);
  assert_ok(egraph_terms_search(terms, "(* ?x ?x)", NULL, NULL, &count));
  assert_int_equal(count, 0);
  assert_ok(egraph_terms_search(terms, "?x", NULL, NULL, &count));
  assert_int_equal(count, 7);
  assert_ok(egraph_terms_search(terms, "z", NULL, NULL, &count));
  assert_int_equal(count, 1);
  found all = {.count = 0}, some = {.stop_after = 4};
  static const char both[] = "(* ?x ?y) (* ?x ?z)";
  assert_ok(egraph_terms_search(terms, both, on_found, &all, &count));
  assert_int_equal(count, 10); // 3 * 3 with x, 1 with y
  assert_int_equal(all.count, 10);
  uint32_t with_x = 0;
  for (uint32_t i = 0; i < 10; i++)
    with_x += egraph_terms_are_equal(terms, all.x[i], add(terms, "x"));
  assert_int_equal(with_x, 9);
  assert_ok(egraph_terms_search(terms, both, on_found, &some, &count));
  assert_int_equal(some.count, 4);
  assert_int_equal(count, 4);
  assert_ok(egraph_terms_search(terms, "(unheard ?x)", NULL, NULL, NULL));
  egraph_terms_destroy(terms);
}

static egraph_rule_policy only_second(void *user, uint32_t rule) {
  (void)user;
  return (egraph_rule_policy){.enabled = rule == 1, .cost = 1.0};
}

static egraph_rule_policy free_of_cost(void *user, uint32_t rule) {
  (void)user;
  (void)rule;
  return (egraph_rule_policy){.enabled = true, .cost = 0.0};
}

static void rules_have_policies(void **state) {
  egraph_terms *terms = create(*state);
  static const char rules[] = "(egraph-rules 1 symbolic)\n"
                              "(rule one (lhs (f ?x)) (rhs (g ?x)))\n"
                              "(rule two (lhs (f ?x)) (rhs (h ?x)))";
  assert_ok(egraph_terms_add_rule_text(terms, "r", rules));
  (void)add(terms, "(f a)");
  egraph_terms_options options = egraph_terms_options_default();
  options.scheduler = "yield";
  options.policy = free_of_cost;
  assert_fails(egraph_terms_saturate(terms, &options, NULL), EGRAPH_E_ARGUMENT, "cost");
  options.policy = only_second;
  assert_ok(egraph_terms_saturate(terms, &options, NULL));
  assert_int_equal(egraph_terms_rule(terms, 0).matches, 0);
  assert_int_equal(egraph_terms_rule(terms, 1).matches, 1);
  egraph_terms_destroy(terms);
}

// ---- printing --------------------------------------------------------------------

static void the_graph_is_drawn(void **state) {
  api_kit *kit = *state;
  egraph_terms *terms = create(kit);
  (void)add(terms, "(plus a \\b)");
  assert_ok(egraph_terms_rebuild(terms));
  char *text;
  assert_ok(egraph_terms_dot(&kit->alloc, terms, &text));
  assert_non_null(strstr(text, "digraph"));
  assert_non_null(strstr(text, "label=\"plus\""));
  assert_non_null(strstr(text, "label=\"\\\\b\""));
  egraph_string_free(&kit->alloc, text);
  egraph_terms_destroy(terms);
}

static void a_term_too_large_to_write_is_refused(void **state) {
  egraph_terms *terms = create(*state);
  egraph_class all = add(terms, "a");
  egraph_symbol f = symbol(terms, "f");
  for (uint32_t i = 0; i < 30; i++) {
    egraph_class twice[] = {all, all};
    all = node(terms, f, twice, 2);
  }
  assert_ok(egraph_terms_rebuild(terms));
  char *text = NULL;
  assert_fails(egraph_terms_smallest(NULL, terms, all, &text, NULL), EGRAPH_E_UNSUPPORTED,
               "nodes");
  assert_null(text);
  egraph_terms_destroy(terms);
}

// ---- allocations -----------------------------------------------------------------

static egraph_status use_raw_path(egraph_terms *terms) {
  egraph_symbol f, fresh;
  egraph_class a, wide[12], out;
  EG_TRY(egraph_terms_symbol(terms, "f", &f));
  EG_TRY(egraph_terms_symbol(terms, "fresh", &fresh));
  EG_TRY(egraph_terms_add_node(terms, fresh, NULL, 0, &a));
  for (uint32_t i = 0; i < 12; i++)
    wide[i] = a;
  EG_TRY(egraph_terms_add_node(terms, f, wide, 12, &out));
  EG_TRY(egraph_terms_unite(terms, a, out, NULL));
  return egraph_terms_rebuild(terms);
}

static egraph_status read_out(egraph_terms *terms, egraph_class root) {
  uint64_t count;
  found all = {.count = 0};
  char *text;
  const egraph_allocator *heap = NULL;
  EG_TRY(egraph_terms_search(terms, "(+ ?x ?y) (+ ?x ?z)", on_found, &all, &count));
  EG_TRY(egraph_terms_smallest(heap, terms, root, &text, NULL));
  egraph_string_free(heap, text);
  EG_TRY(egraph_terms_dot(heap, terms, &text));
  egraph_string_free(heap, text);
  return egraph_terms_check(terms);
}

static egraph_status everything(egraph_allocator alloc, void *user) {
  (void)user;
  egraph_terms *terms;
  egraph_class root;
  EG_TRY(egraph_terms_create(&alloc, &terms));
  egraph_status status = egraph_terms_add_rule_text(terms, "sums", sums);
  if (status == EGRAPH_OK)
    status = egraph_terms_add(terms, "t", "(+ a (+ b (+ c (f d))))", &root);
  if (status == EGRAPH_OK) status = use_raw_path(terms);
  if (status == EGRAPH_OK) status = egraph_terms_saturate(terms, NULL, NULL);
  if (status == EGRAPH_OK) status = read_out(terms, root);
  egraph_terms_destroy(terms);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  test_every_allocation_failing(everything, NULL);
}

static void a_failed_step_can_be_repeated(void **state) {
  api_kit *kit = *state;
  egraph_terms *terms = create(kit);
  uint32_t failures = 0;
  egraph_status status = EGRAPH_E_MEMORY;
  for (size_t n = 1; status != EGRAPH_OK; n++) {
    egraph_symbol last;
    kit->heap.requests = 0;
    kit->heap.fail_at = n;
    status = egraph_terms_add_rule_text(terms, "sums", sums);
    if (status == EGRAPH_OK) status = egraph_terms_symbol(terms, "unheard-of", &last);
    kit->heap.fail_at = 0;
    if (status != EGRAPH_OK) {
      failures++;
      if (egraph_terms_rule_count(terms) == 2) break; // only the symbol failed
      assert_int_equal(egraph_terms_rule_count(terms), 0);
    }
  }
  assert_true(failures > 0);
  (void)symbol(terms, "unheard-of");
  assert_int_equal(egraph_terms_rule_count(terms), 2);
  assert_string_equal(egraph_terms_rule(terms, 1).name, "assoc-add");
  (void)add(terms, "(+ a (+ b c))");
  assert_ok(egraph_terms_saturate(terms, NULL, NULL));
  assert_int_equal(egraph_terms_info_of(terms).classes, 7);
  egraph_terms_destroy(terms);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      api_test(several_smallest_are_those_of_each),
      api_test(sizes_are_computed_once_for_all),
      api_test(every_allocation_of_several_may_fail),
      api_test(text_and_nodes_make_the_same_terms),
      api_test(symbols_get_numbers_without_nodes),
      api_test(unions_follow_congruence),
      api_test(what_is_unknown_is_refused),
      api_test(many_nodes_are_added_like_one_by_one),
      api_test(a_node_may_have_many_children),
      api_test(sums_of_six_grow_as_they_must),
      api_test(the_search_ends_at_limits_and_when_told),
      api_test(options_are_checked_and_may_be_absent),
      api_test(rules_may_be_added_later),
      api_test(rule_files_are_read),
      api_test(mistakes_are_named_with_their_place),
      api_test(several_patterns_are_joined),
      api_test(rules_have_policies),
      api_test(the_graph_is_drawn),
      api_test(a_term_too_large_to_write_is_refused),
      cmocka_unit_test(every_allocation_may_fail),
      api_test(a_failed_step_can_be_repeated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
