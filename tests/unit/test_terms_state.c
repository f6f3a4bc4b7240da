// States of e-graphs of plain terms: push and pop, and saturation that takes back what a
// limit ended in the middle.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "tests/unit/api_kit.h"

#define HEAD "(egraph-rules 1 symbolic)\n"
static const char sums[] =
    HEAD "(rule comm-add (lhs (+ ?a ?b)) (rhs (+ ?b ?a)))\n"
         "(rule assoc-add (lhs (+ ?a (+ ?b ?c))) (rhs (+ (+ ?a ?b) ?c)))\n";
static const char sum[] = "(+ a (+ b (+ c (+ d (+ e (+ f g))))))";

static egraph_terms *create(const api_kit *kit) {
  egraph_terms *terms;
  assert_ok(egraph_terms_create(&kit->alloc, &terms));
  assert_ok(egraph_terms_add_rule_text(terms, "sums", sums));
  return terms;
}

static egraph_class add(egraph_terms *terms, const char *text) {
  egraph_class class;
  assert_ok(egraph_terms_add(terms, "t", text, &class));
  return class;
}

static egraph_terms_report saturate(egraph_terms *terms,
                                    const egraph_terms_options *options) {
  egraph_terms_report report;
  assert_ok(egraph_terms_saturate(terms, options, &report));
  return report;
}

static char *picture(const api_kit *kit, const egraph_terms *terms) {
  char *dot;
  assert_ok(egraph_terms_dot(&kit->alloc, terms, &dot));
  return dot;
}

static void assert_same(const api_kit *kit, const egraph_terms *a,
                        const egraph_terms *b) {
  char *pictures[] = {picture(kit, a), picture(kit, b)};
  assert_string_equal(pictures[0], pictures[1]);
  for (int i = 0; i < 2; i++)
    egraph_string_free(&kit->alloc, pictures[i]);
}

static void a_popped_e_graph_is_as_it_was_pushed(void **state) {
  const api_kit *kit = *state;
  egraph_terms *terms = create(kit), *control = create(kit);
  egraph_class root = add(terms, sum);
  (void)add(control, sum);
  assert_ok(egraph_terms_push(terms));
  (void)saturate(terms, NULL);
  assert_ok(egraph_terms_push(terms));
  assert_ok(egraph_terms_add_rule_text(
      terms, "more", HEAD "(rule idem (lhs (+ ?a ?a)) (rhs ?a) both-ways)"));
  (void)add(terms, "(h new)");
  assert_int_equal(egraph_terms_rule_count(terms), 4);
  assert_ok(egraph_terms_pop(terms));
  assert_int_equal(egraph_terms_rule_count(terms), 2);
  assert_ok(egraph_terms_pop(terms));
  assert_fails(egraph_terms_pop(terms), EGRAPH_E_ARGUMENT, "no state");
  assert_ok(egraph_terms_rebuild(terms));
  assert_ok(egraph_terms_rebuild(control));
  assert_same(kit, terms, control);
  (void)saturate(terms, NULL);
  (void)saturate(control, NULL);
  assert_same(kit, terms, control);
  assert_ok(egraph_terms_check(terms));
  assert_true(egraph_terms_are_equal(terms, root,
                                     add(terms, "(+ g (+ a (+ b (+ c (+ d "
                                                "(+ e f))))))")));
  egraph_terms_destroy(terms);
  egraph_terms_destroy(control);
}

static void a_rule_that_was_popped_can_be_added_again(void **state) {
  egraph_terms *terms = create(*state);
  const char more[] = HEAD "(rule idem (lhs (+ ?a ?a)) (rhs ?a))";
  egraph_class root = add(terms, "(+ a a)");
  assert_ok(egraph_terms_push(terms));
  assert_ok(egraph_terms_add_rule_text(terms, "more", more));
  (void)saturate(terms, NULL);
  assert_true(egraph_terms_rule(terms, 2).matches > 0);
  assert_ok(egraph_terms_pop(terms));
  assert_ok(egraph_terms_add_rule_text(terms, "more", more));
  assert_string_equal(egraph_terms_rule(terms, 2).name, "idem");
  assert_int_equal(egraph_terms_rule(terms, 2).matches, 0);
  (void)saturate(terms, NULL);
  assert_true(egraph_terms_are_equal(terms, root, add(terms, "a")));
  egraph_terms_destroy(terms);
}

static void a_dropped_state_leaves_the_present_one(void **state) {
  egraph_terms *terms = create(*state);
  assert_ok(egraph_terms_push(terms));
  egraph_class root = add(terms, sum);
  assert_ok(egraph_terms_drop(terms));
  assert_fails(egraph_terms_drop(terms), EGRAPH_E_ARGUMENT, "no state");
  assert_int_equal(add(terms, sum).id, root.id);
  egraph_terms_destroy(terms);
}

// ---- rollback --------------------------------------------------------------------

static bool at_five_hundred(void *user, uint32_t iteration, uint32_t nodes,
                            uint32_t classes) {
  (void)user;
  (void)iteration;
  (void)classes;
  return nodes > 500;
}

/// What a run that was stopped leaves is what as many iterations as it reports make.
static void check_rollback(const api_kit *kit, egraph_terms_options options,
                           const char *stop) {
  egraph_terms *terms = create(kit), *control = create(kit);
  (void)add(terms, sum);
  (void)add(control, sum);
  options.rollback = true;
  options.scheduler = "simple";
  egraph_terms_report report = saturate(terms, &options);
  assert_string_equal(report.stop, stop);
  // Bytes are looked at between iterations too.
  assert_true(report.rolled_back || strcmp(stop, "byte-limit") == 0);
  assert_ok(egraph_terms_check(terms));
  // With the same node limit: near it matches are applied one by one, which numbers nodes
  // in another order.
  options.rollback = false;
  options.byte_limit = SIZE_MAX;
  options.iteration_limit = report.iterations;
  egraph_terms_report complete = saturate(control, &options);
  assert_false(complete.rolled_back);
  assert_int_equal(report.nodes, complete.nodes);
  assert_same(kit, terms, control);
  egraph_terms_destroy(terms);
  egraph_terms_destroy(control);
}

static void an_iteration_that_a_limit_ends_is_taken_back(void **state) {
  egraph_terms_options options = egraph_terms_options_default();
  options.node_limit = 1000;
  check_rollback(*state, options, "node-limit");
  options = egraph_terms_options_default();
  options.byte_limit = 180000;
  check_rollback(*state, options, "byte-limit");
}

static void a_cancelled_iteration_is_taken_back(void **state) {
  egraph_terms *terms = create(*state);
  (void)add(terms, sum);
  egraph_terms_options options = egraph_terms_options_default();
  options.scheduler = "simple";
  options.rollback = true;
  options.progress = at_five_hundred;
  egraph_terms_report report = saturate(terms, &options);
  assert_string_equal(report.stop, "cancelled");
  // Iterations end with 29, 79, 276 and 803 nodes. Whether the caller is asked within the
  // fourth is a matter of the clock.
  assert_int_equal(report.nodes, report.rolled_back ? 276 : 803);
  assert_int_equal(report.iterations, report.rolled_back ? 3 : 4);
  egraph_terms_destroy(terms);
}

static void complete_iterations_stay(void **state) {
  egraph_terms *terms = create(*state);
  (void)add(terms, sum);
  egraph_terms_options options = egraph_terms_options_default();
  options.rollback = true;
  egraph_terms_report report = saturate(terms, &options);
  assert_string_equal(report.stop, "saturated");
  assert_false(report.rolled_back);
  assert_int_equal(report.nodes, 1939);
  assert_fails(egraph_terms_pop(terms), EGRAPH_E_ARGUMENT, "no state");
  egraph_terms_destroy(terms);
}

static egraph_status run_terms(egraph_allocator alloc, void *user) {
  egraph_terms *terms;
  egraph_class class;
  egraph_terms_options options = egraph_terms_options_default();
  options.rollback = true;
  options.iteration_limit = 2;
  (void)user;
  EG_TRY(egraph_terms_create(&alloc, &terms));
  egraph_status status = egraph_terms_add_rule_text(terms, "sums", sums);
  if (status == EGRAPH_OK) status = egraph_terms_add(terms, "t", "(+ a (+ b c))", &class);
  if (status == EGRAPH_OK) status = egraph_terms_push(terms);
  if (status == EGRAPH_OK) status = egraph_terms_saturate(terms, &options, NULL);
  assert_ok(egraph_terms_check(terms));
  if (status == EGRAPH_OK) status = egraph_terms_pop(terms);
  egraph_terms_destroy(terms);
  return status;
}

static void nothing_is_lost_when_memory_is(void **state) {
  (void)state;
  test_every_allocation_failing(run_terms, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      api_test(a_popped_e_graph_is_as_it_was_pushed),
      api_test(a_rule_that_was_popped_can_be_added_again),
      api_test(a_dropped_state_leaves_the_present_one),
      api_test(an_iteration_that_a_limit_ends_is_taken_back),
      api_test(a_cancelled_iteration_is_taken_back),
      api_test(complete_iterations_stay),
      cmocka_unit_test(nothing_is_lost_when_memory_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
