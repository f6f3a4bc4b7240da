// Saturation of tensor e-graphs: what rules mean, budgets, schedulers, statistics.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/rule_checks.h"
#include "rewrites/lab/verify/verify.h"
#include "tests/unit/saturate_kit.h"

// ---- what rules mean ------------------------------------------------------------

#define AC                                                                               \
  HEAD "(rule comm (source \"s\") (lhs (add ?a ?b)) (rhs (add ?b ?a)))\n"                \
       "(rule assoc (source \"s\") (lhs (add ?a (add ?b ?c)))\n"                         \
       " (rhs (add (add ?a ?b) ?c)))\n"
#define SUM6                                                                             \
  GRAPH "(input a \"float32[2]\") (input b \"float32[2]\") (input c \"float32[2]\")\n"   \
        "(input d \"float32[2]\") (input e \"float32[2]\") (input f \"float32[2]\")\n"   \
        "(let s1 (add e f)) (let s2 (add d s1)) (let s3 (add c s2))\n"                   \
        "(let s4 (add b s3)) (let s5 (add a s4)) (output s5)\n"

static uint32_t power(uint32_t base, uint32_t exponent) {
  uint32_t result = 1;
  while (exponent-- > 0)
    result *= base;
  return result;
}

// For n leaves there are 2^n - 1 sums, in 3^n - 2^(n+1) + 1 ways, and the leaves.
static void associativity_and_commutativity_reach_the_known_counts(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, SUM6, AC);
  f.options.scheduler = EG_SCHEDULER_SIMPLE;
  saturate(&f);
  uint32_t n = 6, sums = power(3, n) - power(2, n + 1) + 1;
  assert_int_equal(f.report.stop, EG_STOP_SATURATED);
  assert_int_equal(f.report.classes, power(2, n) - 1);
  assert_int_equal(f.report.nodes, sums + n);
  uint32_t iterations = f.report.iterations;
  uint64_t comm = stats_of(&f, "comm")->matches, assoc = stats_of(&f, "assoc")->matches;
  // Another run finds every match once more, and has nothing to do.
  saturate(&f);
  assert_int_equal(f.report.iterations, 1);
  assert_int_equal(stats_of(&f, "comm")->matches, sums);
  assert_int_equal(stats_of(&f, "assoc")->matches,
                   power(4, n) - power(3, n + 1) + 3 * power(2, n) - 1);
  assert_int_equal(stats_of(&f, "comm")->nodes + stats_of(&f, "comm")->unions, 0);
  assert_int_equal(stats_of(&f, "assoc")->nodes + stats_of(&f, "assoc")->unions, 0);
  close_fixture(&f);
  open_fixture(&f, SUM6, AC); // and the whole of it is deterministic
  f.options.scheduler = EG_SCHEDULER_SIMPLE;
  saturate(&f);
  assert_int_equal(f.report.iterations, iterations);
  assert_int_equal(stats_of(&f, "comm")->matches, comm);
  assert_int_equal(stats_of(&f, "assoc")->matches, assoc);
  close_fixture(&f);
}

static void new_nodes_name_the_rule_that_made_them(void **state) {
  (void)state;
  fixture f;
  open_fixture(
      &f, GRAPH "(input x \"float32[2]\") (let n (neg x)) (let y (neg n)) (output y)",
      HEAD "(rule other (source \"s\") (lhs (exp ?x)) (rhs (log ?x)))"
           "(rule neg-neg (source \"s\") (lhs (neg (neg ?x))) (rhs (identity "
           "?x)))");
  saturate(&f);
  const eg_engine *engine = eg_tensor_egraph_engine(f.egraph);
  uint32_t count = 0;
  for (eg_node n = eg_engine_first_node(engine); n.id != EG_NODE_NONE.id;
       n = eg_engine_next_node(engine, n), count++)
    assert_int_equal(eg_engine_node_reason(engine, n),
                     eg_engine_term(engine, n).op == EG_OP_IDENTITY ? 1 : EG_REASON_SEED);
  assert_int_equal(count, 4); // x, two of neg, the identity
  assert_int_equal(stats_of(&f, "neg-neg")->nodes, 1);
  assert_int_equal(stats_of(&f, "neg-neg")->unions, 1);
  assert_int_equal(stats_of(&f, "other")->matches, 0);
  close_fixture(&f);
}

// Every feature of the language, in its own words.
static const char language[] = HEAD
    "(rule share (source \"s\") (lhs (matmul ?x ?y) (matmul ?x ?z))\n"
    " (let ?s (split :axis 1 :sizes [(dim ?y 1) (dim ?z 1)] (matmul ?x (concat :axis 1 "
    "?y ?z))))\n"
    " (rhs (part :index 0 ?s) (part :index 1 ?s))\n"
    " (when (= (rank ?y) 2) (= (rank ?z) 2) (!= ?y ?z)))\n"
    "(test share-splits (given (?x \"float32[2,3]\") (?y \"float32[3,4]\") (?z "
    "\"float32[3,5]\"))\n"
    " (rules share) (iterations 1) (term (matmul ?x ?y) (matmul ?x ?z))\n"
    " (equals (part :index 0 (split :axis 1 :sizes [4 5] (matmul ?x (concat :axis 1 ?y "
    "?z))))\n"
    "         (part :index 1 (split :axis 1 :sizes [4 5] (matmul ?x (concat :axis 1 ?y "
    "?z))))))\n"

    "(rule same-value-twice (source \"s\") (lhs (softmax :axis ?a (log-softmax :axis ?a "
    "?x))) (rhs (softmax :axis ?a ?x)))\n"
    "(test same-value-twice-holds (given (?x \"float32[2,3]\")) (rules "
    "same-value-twice)\n"
    " (term (softmax :axis 0 (log-softmax :axis 0 ?x))) (equals (softmax :axis 0 ?x)))\n"
    "(test same-value-twice-fails (given (?x \"float32[2,3]\")) (rules "
    "same-value-twice)\n"
    " (term (softmax :axis 1 (log-softmax :axis 0 ?x))) (differs (softmax :axis 1 ?x)))\n"

    "(rule default-is-meant (source \"s\") (lhs (matmul ?x ?y)) (rhs (neg (neg (matmul "
    "?x ?y)))))\n"
    "(test default-is-not-another (given (?x \"float32[2,2]\")) (rules default-is-meant) "
    "(iterations 1)\n"
    " (term (matmul ?x ?x)) (equals (neg (neg (matmul ?x ?x))))) \n"
    "(test default-is-wanted (given (?x \"float32[2,2]\")) (rules default-is-meant) "
    "(iterations 1)\n"
    " (term (matmul :act relu ?x ?x)) (differs (neg (neg (matmul ?x ?x))) ))\n"

    "(rule any-value (source \"s\") (lhs (matmul :act _ ?x ?y)) (rhs (abs (matmul :act "
    "relu ?x ?y))))\n"
    "(test any-value-matches (given (?x \"float32[2,2]\")) (rules any-value) (iterations "
    "1)\n"
    " (term (matmul :act tanh ?x ?x)) (equals (abs (matmul :act relu ?x ?x))))\n"

    "(rule close-numbers (source \"s\") (lhs (leaky-relu :alpha 0.1 ?x)) (rhs (abs "
    "?x)))\n"
    "(test float32-of-a-number (given (?x \"float32[2]\")) (rules close-numbers)\n"
    " (term (leaky-relu :alpha 0.10000000149011612 ?x)) (equals (abs ?x)))\n"
    "(test another-number (given (?x \"float32[2]\")) (rules close-numbers)\n"
    " (term (leaky-relu :alpha 0.1001 ?x)) (differs (abs ?x)))\n"

    "(rule named-again (source \"s\") (lhs (div (as ?d (sub ?x ?y)) (abs ?d))) (rhs "
    "(sign ?d)))\n"
    "(test named-again-same (given (?x \"float32[2]\") (?y \"float32[2]\")) (rules "
    "named-again)\n"
    " (term (div (sub ?x ?y) (abs (sub ?x ?y)))) (equals (sign (sub ?x ?y))))\n"
    "(test named-again-other (given (?x \"float32[2]\") (?y \"float32[2]\")) (rules "
    "named-again)\n"
    " (term (div (sub ?x ?y) (abs (sub ?y ?x)))) (differs (sign (sub ?x ?y))))\n"

    "(rule computed (source \"s\") (lhs (transpose :perm (perm-swap (rank ?x) 0 1) ?x)) "
    "(rhs (identity (transpose :perm (perm-swap (rank ?x) 0 1) ?x))))\n"
    "(test computed-holds (given (?x \"float32[2,3,4]\")) (rules computed) (iterations "
    "1)\n"
    " (term (transpose :perm [1 0 2] ?x)) (equals (identity (transpose :perm [1 0 2] "
    "?x))))\n"
    "(test computed-fails (given (?x \"float32[2,3,4]\")) (rules computed) (iterations "
    "1)\n"
    " (term (transpose :perm [0 2 1] ?x)) (differs (identity (transpose :perm [1 2 0] "
    "?x))))\n"

    "(rule symbols (source \"s\") (lhs (matmul :act ?a ?x ?y)) (rhs (conv-transpose "
    ":strides [] :pads [] :dilations [] :output_padding [] ?x ?y)) (when (= ?a relu) (= "
    "1 2)))\n"
    "(rule let-value (source \"s\") (lhs (reduce-sum :axes ?a :keepdims 0 ?x)) (let ?n "
    "(at ?a 0)) (let ?r (reduce-sum :axes [?n] :keepdims 1 ?x)) (rhs (squeeze :axes [?n] "
    "?r)) (when (= (len ?a) 1)))\n"
    "(test let-value-works (given (?x \"float32[2,3]\")) (rules let-value)\n"
    " (term (reduce-sum :axes [1] :keepdims 0 ?x)) (equals (squeeze :axes [1] "
    "(reduce-sum :axes [1] ?x))))\n"

    "(rule constants (source \"s\") (lhs (mul ?x ?s)) (rhs ?x) (when (splat-is ?s 1) "
    "(broadcasts-to ?s ?x)))\n"
    "(test constants-work (given (?x \"float32[2,3]\") (?s weight \"float32[3]\" 1.0)) "
    "(rules constants)\n"
    " (term (mul ?x ?s)) (equals ?x))\n"
    "(test constants-are-read (given (?x \"float32[2,3]\") (?s weight \"float32[3]\" "
    "1.5)) (rules constants)\n"
    " (term (mul ?x ?s)) (differs ?x))\n"
    "(test constants-must-not-enlarge (given (?x \"float32[1,3]\") (?s weight "
    "\"float32[4,3]\" 1.0) (?t \"float32[4,3]\")) (rules constants)\n"
    " (term (mul ?x ?s)) (differs (mul ?x ?t)))\n";

static void run_rule_tests(const char *text, const char *expected_failures) {
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_parse(rules, "t.rules", text, strlen(text)));
  eg_text failures;
  eg_text_init(&failures, eg_allocator_heap());
  eg_rule_test_summary summary;
  assert_ok(eg_rules_run_tests(rules, 0, NULL, &failures, &summary));
  assert_string_equal(eg_text_of(&failures), expected_failures);
  eg_text_deinit(&failures);
  eg_rules_destroy(rules);
}

static void every_part_of_the_language_means_what_it_says(void **state) {
  (void)state;
  run_rule_tests(language, "");
}

static void failing_rule_tests_say_where(void **state) {
  (void)state;
  run_rule_tests(
      HEAD "(rule r (source \"s\") (lhs (neg (neg ?x))) (rhs ?x))\n"
           "(test a (given (?x \"float32[2]\")) (term (neg ?x)) (equals ?x))\n"
           "(test b (given (?x \"float32[2]\")) (term (neg (neg ?x)) (neg ?x))\n"
           " (equals ?x (neg ?x)) (differs ?x (exp ?x)))\n"
           "(test c (given (?x \"float32[2]\")) (term (reshape :shape [3] ?x)) (equals "
           "?x))\n"
           "(test d (given (?x \"float32[2]\")) (rules q) (term ?x) (equals ?x))\n",
      "t.rules:3: test a: term 1 was not found equal\n"
      "t.rules:5: test b: term 1 was found equal to the one that must differ\n"
      "t.rules:6: test c: a term is ill-typed: reshape: float32[2] has 2 "
      "elements, the shape of float32[3] has 3\n"
      "t.rules:7: test d: there is no rule and no rule file q\n");
}

// ---- rejection and unsoundness --------------------------------------------------

static void an_ill_typed_right_side_is_rejected_and_adds_nothing(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, GRAPH "(input x \"float32[2,3]\") (let y (relu x)) (output y)",
               HEAD "(rule r (source \"s\") (lhs (relu ?x)) (rhs (relu (matmul (neg ?x) "
                    "?x))))");
  saturate(&f);
  assert_int_equal(f.report.stop, EG_STOP_SATURATED);
  assert_int_equal(f.report.nodes, 2);
  assert_int_equal(stats_of(&f, "r")->matches, 1);
  assert_int_equal(stats_of(&f, "r")->rejected, 1);
  assert_int_equal(stats_of(&f, "r")->nodes, 0);
  close_fixture(&f);
}

static void a_rule_that_unites_different_types_is_named(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, GRAPH "(input x \"float32[2,3]\") (let y (relu x)) (output y)",
               HEAD "\n(rule bad (source \"s\") (lhs (relu ?x)) (rhs (transpose :perm [1 "
                    "0] ?x)))");
  assert_fails(eg_saturate(f.egraph, f.rules, &f.options, &f.report), EGRAPH_E_TYPE,
               "t.rules:3: rule bad is unsound: it would unite float32[2,3] with "
               "float32[3,2]; add a condition that excludes this");
  assert_ok(eg_engine_check(eg_tensor_egraph_engine(f.egraph)));
  assert_int_equal(eg_engine_node_count(eg_tensor_egraph_engine(f.egraph)), 2);
  close_fixture(&f);
  open_fixture(
      &f, GRAPH "(weight a \"float32[2]\" [1.0 1.0]) (let y (identity a)) (output y)",
      HEAD "(rule bad (source \"s\") (lhs (identity ?x)) (rhs (fill :shape [2] "
           ":value 2.0)))");
  assert_fails(eg_saturate(f.egraph, f.rules, &f.options, &f.report), EGRAPH_E_TYPE,
               "t.rules:2: rule bad: tensors filled with ");
  close_fixture(&f);
}

static void classes_without_a_type_are_left_alone(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f,
               GRAPH "(input x \"float32[2]\") (let u (opaque Magic x) :types [none] "
                     ":record \"\")\n"
                     "(let y (opaque Use u) :types [\"float32[2]\"] :record \"\") (let n "
                     "(neg y)) (let z (neg n)) (output z)",
               HEAD "(rule r (source \"s\") (lhs (neg (neg ?x))) (rhs ?x))");
  saturate(&f);
  assert_true(equal(&f, "z", "y"));
  assert_int_equal(f.report.stop, EG_STOP_SATURATED);
  close_fixture(&f);
}

// ---- budgets --------------------------------------------------------------------

#define GROW HEAD "(rule grow (source \"s\") (lhs (exp ?x)) (rhs (exp (neg (neg ?x)))))"
#define EXP_GRAPH GRAPH "(input x \"float32[2]\") (let y (exp x)) (output y)"

static void the_node_limit_is_never_exceeded(void **state) {
  (void)state;
  for (uint32_t limit = 0; limit <= 40; limit++) {
    fixture f;
    open_fixture(&f, SUM6, AC);
    f.options.node_limit = limit;
    saturate(&f);
    assert_int_equal(f.report.stop, EG_STOP_NODE_LIMIT);
    assert_true(f.report.nodes <= (limit > 11 ? limit : 11)); // 11 were there before
    assert_string_equal(eg_stop_name(f.report.stop), "node-limit");
    close_fixture(&f);
  }
}

static void zero_budgets_end_at_once_without_change(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, EXP_GRAPH, GROW);
  f.options.iteration_limit = 0;
  saturate(&f);
  assert_int_equal(f.report.stop, EG_STOP_ITERATION_LIMIT);
  f.options.iteration_limit = 3;
  f.options.time_limit_seconds = 0;
  saturate(&f);
  assert_int_equal(f.report.stop, EG_STOP_TIME_LIMIT);
  f.options.time_limit_seconds = 10;
  f.options.byte_limit = 0;
  saturate(&f);
  assert_int_equal(f.report.stop, EG_STOP_BYTE_LIMIT);
  assert_int_equal(f.report.nodes, 2);
  assert_int_equal(f.report.iterations, 0);
  f.options.byte_limit = (size_t)1 << 30;
  f.options.node_limit = 0;
  saturate(&f);
  assert_int_equal(f.report.stop, EG_STOP_NODE_LIMIT);
  assert_int_equal(f.report.nodes, 2);
  close_fixture(&f);
}

static void endless_growth_is_stopped_by_each_limit(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, EXP_GRAPH, GROW);
  f.options.iteration_limit = 5;
  saturate(&f);
  assert_int_equal(f.report.stop, EG_STOP_ITERATION_LIMIT);
  assert_int_equal(f.report.iterations, 5);
  f.options.iteration_limit = 1000000;
  f.options.node_limit = 1000000;
  f.options.byte_limit = f.report.peak_bytes + 200000;
  saturate(&f);
  assert_int_equal(f.report.stop, EG_STOP_BYTE_LIMIT);
  f.options.byte_limit = (size_t)1 << 30;
  f.options.time_limit_seconds = 0.02;
  saturate(&f);
  assert_int_equal(f.report.stop, EG_STOP_TIME_LIMIT);
  assert_true(f.report.seconds < 5);
  close_fixture(&f);
}

static bool cancel_in_third(void *user, uint32_t iteration, uint32_t nodes,
                            uint32_t classes) {
  uint32_t *calls = user;
  ++*calls;
  assert_true(nodes >= classes && classes > 0);
  return iteration == 2;
}

static void a_callback_can_cancel(void **state) {
  (void)state;
  fixture f;
  uint32_t calls = 0;
  open_fixture(&f, EXP_GRAPH, GROW);
  f.options.progress = cancel_in_third;
  f.options.user = &calls;
  saturate(&f);
  assert_int_equal(f.report.stop, EG_STOP_CANCELLED);
  assert_int_equal(f.report.iterations, 3);
  assert_true(calls >= 3);
  close_fixture(&f);
}

static void a_finished_run_is_saturated_even_at_the_last_iteration(void **state) {
  (void)state;
  fixture f;
  open_fixture(
      &f, GRAPH "(input x \"float32[2]\") (let n (neg x)) (let y (neg n)) (output y)",
      HEAD "(rule r (source \"s\") (lhs (neg (neg ?x))) (rhs ?x))");
  f.options.iteration_limit = 2;
  saturate(&f);
  assert_true(equal(&f, "x", "y"));
  assert_int_equal(f.report.stop, EG_STOP_SATURATED);
  assert_int_equal(f.report.iterations, 2);
  close_fixture(&f);
}

// ---- schedulers -----------------------------------------------------------------

static void back_off_bans_rules_with_too_many_matches(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, SUM6, AC);
  f.options.match_limit = 7;
  f.options.ban_length = 2;
  f.options.iteration_limit = 100;
  saturate(&f);
  assert_int_equal(f.report.stop, EG_STOP_SATURATED); // bans end before that is believed
  assert_int_equal(f.report.nodes, power(3, 6) - power(2, 7) + 1 + 6);
  assert_true(stats_of(&f, "comm")->bans > 2);
  assert_true(stats_of(&f, "assoc")->bans > 2);
  close_fixture(&f);
}

static bool only_the_first(void *user, uint32_t rule) {
  (void)user;
  return rule == 0;
}

static void rules_can_be_left_out(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, SUM6, AC);
  f.options.use_rule = only_the_first;
  saturate(&f);
  assert_int_equal(f.report.nodes, 16); // each of five sums the other way round
  assert_int_equal(stats_of(&f, "assoc")->matches, 0);
  f.options.use_rule = NULL;
  assert_ok(eg_rules_enable(f.rules, "assoc", false));
  saturate(&f);
  assert_int_equal(f.report.nodes, 16);
  close_fixture(&f);
}

// Every pair of products of x makes a product with a sum, which makes pairs again. So
// each depth adds a sum, a difference and a product for both inputs.
static void multi_depth_bounds_how_multi_patterns_build_upon_each_other(void **state) {
  (void)state;
  for (uint32_t depth = 0; depth < 4; depth++) {
    fixture f;
    open_fixture(&f,
                 GRAPH "(input x \"float32[2]\") (input a \"float32[2]\") (input b "
                       "\"float32[2]\")\n"
                       "(let p (mul x a)) (let q (mul x b)) (output p) (output q)",
                 HEAD "(rule grow (source \"s\") (lhs (mul ?x ?a) (mul ?x ?b))\n"
                      " (rhs (mul ?x ?a) (mul ?x (add ?b (sub ?b ?b)))))");
    f.options.multi_depth = depth;
    saturate(&f);
    assert_int_equal(f.report.stop, EG_STOP_DEPTH_LIMIT);
    assert_int_equal(f.report.nodes, 5 + 6 * depth);
    assert_int_equal(stats_of(&f, "grow")->matches, 4 * depth * depth);
    close_fixture(&f);
  }
}

// With n products of one operand there are n^3 triples, but n first candidates.
static void conditions_are_checked_before_roots_are_combined(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f,
               GRAPH "(input x \"float32[2]\") (input a \"float32[2]\") (input b "
                     "\"float32[2]\")\n"
                     "(weight c \"float32[2]\") (weight d \"float32[2]\")\n"
                     "(let p (mul x a)) (let q (mul x b)) (let r (mul x c)) (let s (mul "
                     "x d))",
               HEAD "(rule triple (source \"s\") (lhs (mul ?x ?a) (mul ?x ?b) (mul ?x "
                    "?c))\n"
                    " (rhs (mul ?x ?a) (mul ?x ?b) (mul ?x ?c))\n"
                    " (when (weight-only ?a) (weight-only ?b) (before ?a ?b) (= ?c "
                    "?a)))");
  saturate(&f);
  assert_int_equal(stats_of(&f, "triple")->matches, 1); // (c d c)
  // First a and b; under c: a, b and c itself, and three of the last; under d: all four.
  assert_int_equal(stats_of(&f, "triple")->rejected, 2 + 3 + 3 + 4);
  close_fixture(&f);
}

// ---- failing allocations --------------------------------------------------------

static egraph_status saturate_body(egraph_allocator alloc, void *user) {
  const fixture *shared = user;
  eg_tensor_egraph *egraph;
  EG_TRY(eg_tensor_egraph_create(&alloc, shared->graph, &egraph));
  eg_saturation_report report;
  eg_saturation_options options = shared->options;
  egraph_status status = eg_saturate(egraph, shared->rules, &options, &report);
  eg_saturation_report_deinit(&report);
  // Whatever failed, the e-graph stays whole. The check itself may be what fails for want
  // of memory.
  egraph_status checked = eg_engine_check(eg_tensor_egraph_engine(egraph));
  assert_int_not_equal(checked, EGRAPH_E_INTERNAL);
  if (status == EGRAPH_OK) status = checked;
  eg_tensor_egraph_destroy(egraph);
  return status;
}

static void saturation_survives_every_allocation_failing(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f,
               GRAPH "(input x \"float32[2,3]\") (weight y \"float32[3,4]\") (weight z "
                     "\"float32[3,4]\")\n"
                     "(let a (matmul x y)) (let b (matmul x z)) (output a) (output b)",
               HEAD "(rule share (source \"s\") (lhs (matmul ?x ?y) (matmul ?x ?z))\n"
                    " (let ?s (split :axis 1 :sizes [(dim ?y 1) (dim ?z 1)] (matmul ?x "
                    "(concat :axis 1 ?y ?z))))\n"
                    " (rhs (part :index 0 ?s) (part :index 1 ?s)) (when (!= ?y ?z)))");
  f.options.iteration_limit = 2;
  test_every_allocation_failing(saturate_body, &f);
  close_fixture(&f);
}

static egraph_status rule_test_body(egraph_allocator alloc, void *user) {
  eg_text failures;
  eg_text_init(&failures, alloc);
  eg_rule_test_summary summary;
  egraph_status status = eg_rules_run_tests(user, 0, &alloc, &failures, &summary);
  eg_text_deinit(&failures);
  return status;
}

static void rule_tests_survive_every_allocation_failing(void **state) {
  (void)state;
  static const char text[] =
      HEAD "(rule constants (source \"s\") (lhs (mul ?x ?s)) (rhs ?x) (when (splat-is ?s "
           "1)))\n"
           "(test works (given (?x \"float32[2]\") (?s weight \"float32[2]\" 1.0)) (term "
           "(mul ?x ?s)) (equals ?x) (differs ?s))\n";
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_parse(rules, "t.rules", text, strlen(text)));
  test_every_allocation_failing(rule_test_body, rules);
  eg_rules_destroy(rules);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(associativity_and_commutativity_reach_the_known_counts),
      cmocka_unit_test(new_nodes_name_the_rule_that_made_them),
      cmocka_unit_test(every_part_of_the_language_means_what_it_says),
      cmocka_unit_test(failing_rule_tests_say_where),
      cmocka_unit_test(an_ill_typed_right_side_is_rejected_and_adds_nothing),
      cmocka_unit_test(a_rule_that_unites_different_types_is_named),
      cmocka_unit_test(classes_without_a_type_are_left_alone),
      cmocka_unit_test(the_node_limit_is_never_exceeded),
      cmocka_unit_test(zero_budgets_end_at_once_without_change),
      cmocka_unit_test(endless_growth_is_stopped_by_each_limit),
      cmocka_unit_test(a_callback_can_cancel),
      cmocka_unit_test(a_finished_run_is_saturated_even_at_the_last_iteration),
      cmocka_unit_test(back_off_bans_rules_with_too_many_matches),
      cmocka_unit_test(rules_can_be_left_out),
      cmocka_unit_test(multi_depth_bounds_how_multi_patterns_build_upon_each_other),
      cmocka_unit_test(conditions_are_checked_before_roots_are_combined),
      cmocka_unit_test(saturation_survives_every_allocation_failing),
      cmocka_unit_test(rule_tests_survive_every_allocation_failing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
