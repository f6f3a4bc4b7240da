// One saturation, many ways: naive or incremental, on any number of threads, with a limit
// that strikes. The e-graph after each iteration is the same.
// SPDX-License-Identifier: Apache-2.0
#include "tests/testing.h"

#include "rewrites/saturation/scheduler.h"
#include "rewrites/terms/symbolic.h"

#define HEAD "(egraph-rules 1 symbolic)\n"

// Rules with shared variables, ground terms, collapsing, several roots and a bare
// variable.
#define RULES                                                                            \
  HEAD "(rule comm (lhs (+ ?a ?b)) (rhs (+ ?b ?a)))\n"                                   \
       "(rule assoc (lhs (+ ?a (+ ?b ?c))) (rhs (+ (+ ?a ?b) ?c)))\n"                    \
       "(rule times (lhs (* ?a (+ ?b ?c))) (rhs (+ (* ?a ?b) (* ?a ?c))) both-ways)\n"   \
       "(rule twice (lhs (+ ?a ?a)) (rhs (* 2 ?a)))\n"                                   \
       "(rule unit (lhs (* ?a 1)) (rhs ?a))\n"                                           \
       "(rule zero (lhs (* ?a 0)) (rhs 0))\n"                                            \
       "(rule pair (lhs (* ?a ?b) (* ?a ?c)) (rhs (fst (both ?a ?b ?c))"                 \
       " (snd (both ?a ?b ?c))))\n"                                                      \
       "(rule grow (lhs (fst ?a)) (rhs (fst (id (fst ?a)))))\n"

static const char *const TERMS[] = {"(+ a (+ b (+ c (+ a d))))", "(* x (+ y (+ z 0)))",
                                    "(+ (* p q) (* p 1))", "(* (+ u u) (+ v 0))",
                                    "(* 0 (* k m))"};

enum { MAX_ITERATIONS = 12, RULES_COUNT = 9 }; // one of the rules goes both ways

typedef struct trace {
  uint32_t nodes[MAX_ITERATIONS], classes[MAX_ITERATIONS], iterations;
  uint64_t matches;
  eg_stop stop;
  eg_text dot; // of the end
} trace;

static void note_stats(void *user, const eg_iteration_stats *stats) {
  trace *t = user;
  t->nodes[t->iterations] = stats->nodes;
  t->classes[t->iterations++] = stats->classes;
  t->matches += stats->matches;
}

static egraph_status spell(void *user, const eg_term *term, eg_text *out) {
  return eg_text_append(out, eg_symbolic_atom(user, term->op));
}

static trace run_saturation(eg_saturation_options options, uint32_t iterations) {
  trace t = {.iterations = 0};
  eg_symbolic *symbolic;
  assert_ok(eg_symbolic_create(NULL, &symbolic));
  assert_ok(eg_symbolic_add_rules(symbolic, "t.rules", RULES, strlen(RULES)));
  for (size_t i = 0; i < sizeof TERMS / sizeof *TERMS; i++) {
    eg_class class;
    assert_ok(eg_symbolic_add_term(symbolic, "t", TERMS[i], strlen(TERMS[i]), &class));
  }
  options.iteration_limit = iterations;
  options.time_limit_seconds = 600;
  options.on_iteration = note_stats;
  options.on_iteration_user = &t;
  eg_saturation_report report;
  assert_ok(eg_symbolic_saturate(symbolic, &options, &report));
  t.stop = report.stop;
  eg_engine *engine = eg_symbolic_engine(symbolic);
  assert_ok(eg_engine_check(engine));
  eg_text_init(&t.dot, eg_allocator_heap());
  assert_ok(eg_engine_dot(engine, spell, symbolic, &t.dot));
  eg_saturation_report_deinit(&report);
  eg_symbolic_destroy(symbolic);
  return t;
}

static void assert_same_counts(const trace *a, const trace *b) {
  assert_int_equal(a->iterations, b->iterations);
  assert_int_equal(a->stop, b->stop);
  for (uint32_t i = 0; i < a->iterations; i++) {
    assert_int_equal(a->nodes[i], b->nodes[i]);
    assert_int_equal(a->classes[i], b->classes[i]);
  }
}

static eg_saturation_options options_of(eg_scheduler scheduler) {
  eg_saturation_options options = EG_SATURATION_OPTIONS_DEFAULT;
  options.node_limit = 1000000;
  options.scheduler = scheduler;
  return options;
}

static void compare_modes(eg_scheduler scheduler, uint32_t match_limit,
                          uint32_t iterations) {
  eg_saturation_options options = options_of(scheduler);
  options.match_limit = match_limit;
  options.ban_length = 2;
  options.naive = true;
  trace naive = run_saturation(options, iterations);
  options.naive = false;
  trace incremental = run_saturation(options, iterations);
  assert_same_counts(&naive, &incremental);
  assert_in_range(naive.nodes[naive.iterations - 1], 100, 1000000);
  assert_true(incremental.matches < naive.matches);
  eg_text_deinit(&naive.dot);
  eg_text_deinit(&incremental.dot);
}

static void incremental_and_naive_search_agree(void **state) {
  (void)state;
  compare_modes(EG_SCHEDULER_SIMPLE, 0, 5);
}

static void they_agree_under_backoff(void **state) {
  (void)state;
  compare_modes(EG_SCHEDULER_BACKOFF, 20, 12);
  compare_modes(EG_SCHEDULER_BACKOFF, 100, 9);
}

static void yield_spares_rules_that_add_little(void **state) {
  (void)state;
  eg_rule_stats stats[2] = {{.nodes = 0}, {.nodes = 398}};
  eg_saturation_options options = options_of(EG_SCHEDULER_YIELD);
  eg_schedule schedule;
  options.match_limit = 100;
  assert_ok(eg_schedule_init(&schedule, eg_allocator_heap(), &options, 2));
  assert_int_equal(eg_schedule_limit(&schedule, 0, stats), 1600);
  assert_in_range(eg_schedule_limit(&schedule, 1, stats), 49, 51);
  stats[1].nodes = 0;
  assert_int_equal(eg_schedule_limit(&schedule, 0, stats), 100);
  eg_schedule_ban(&schedule, 0, 0);
  assert_int_equal(eg_schedule_limit(&schedule, 0, stats), 200);
  assert_int_equal(eg_schedule_limit(&schedule, 1, stats), 100);
  eg_schedule_deinit(&schedule);
}

typedef struct policies {
  int32_t priority[RULES_COUNT];
  double cost[RULES_COUNT];
} policies;

static eg_rule_policy policy_of(void *user, uint32_t rule) {
  const policies *p = user;
  return (eg_rule_policy){p->priority[rule], p->cost[rule]};
}

static void priority_and_cost_are_heeded(void **state) {
  (void)state;
  policies p = {.priority = {0}};
  for (uint32_t i = 0; i < RULES_COUNT; i++)
    p.cost[i] = 1.0;
  eg_saturation_options options = options_of(EG_SCHEDULER_BACKOFF);
  options.match_limit = 100;
  options.policy = policy_of;
  options.policy_user = &p;
  trace plain = run_saturation(options, 3);
  p.priority[5] = 4;
  p.priority[0] = -1;
  trace ordered = run_saturation(options, 3);
  // The same terms become equal, in another order.
  assert_same_counts(&plain, &ordered);
  assert_string_not_equal(eg_text_of(&plain.dot), eg_text_of(&ordered.dot));
  p.cost[0] = 1e6; // always beyond its limit
  trace banned = run_saturation(options, 3);
  assert_true(banned.nodes[0] < plain.nodes[0]);
  eg_text_deinit(&plain.dot);
  eg_text_deinit(&ordered.dot);
  eg_text_deinit(&banned.dot);
}

static void threads_change_nothing(void **state) {
  (void)state;
  for (int naive = 0; naive < 3; naive++) {
    eg_saturation_options options =
        options_of(naive == 2 ? EG_SCHEDULER_YIELD : EG_SCHEDULER_SIMPLE);
    options.naive = naive == 1;
    trace one = run_saturation(options, 5);
    for (uint32_t threads = 2; threads <= 8; threads *= 2) {
      options.threads = threads;
      trace many = run_saturation(options, 5);
      assert_same_counts(&one, &many);
      assert_int_equal(one.matches, many.matches);
      assert_string_equal(eg_text_of(&one.dot), eg_text_of(&many.dot));
      eg_text_deinit(&many.dot);
    }
    eg_text_deinit(&one.dot);
  }
}

static void the_node_limit_holds_within_a_rule(void **state) {
  (void)state;
  eg_saturation_options options = options_of(EG_SCHEDULER_SIMPLE);
  trace free = run_saturation(options, 5);
  eg_text_deinit(&free.dot);
  for (uint32_t limit = 0; limit < free.nodes[4]; limit = limit * 2 + 37) {
    options.node_limit = limit;
    trace one = run_saturation(options, MAX_ITERATIONS);
    assert_int_equal(one.stop, EG_STOP_NODE_LIMIT);
    uint32_t last = one.nodes[one.iterations - 1];
    assert_true(last <= limit || last < 40); // the start has some of its own
    eg_text_deinit(&one.dot);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(incremental_and_naive_search_agree),
      cmocka_unit_test(they_agree_under_backoff),
      cmocka_unit_test(yield_spares_rules_that_add_little),
      cmocka_unit_test(priority_and_cost_are_heeded),
      cmocka_unit_test(threads_change_nothing),
      cmocka_unit_test(the_node_limit_holds_within_a_rule),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
