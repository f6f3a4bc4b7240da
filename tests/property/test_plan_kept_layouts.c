// What plans lose because a later phase starts from one layout of a value: exhaustive
// search in which a phase may start from two, both kept, on random small steps without a
// limit of memory, and on a step that is made for it.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/model/plan_model.h"
#include "tests/plan_brute.h"
#include "tests/plan_cases.h"

enum { MOST_VISITS = 100000 };

static plan_brute brute;

typedef struct losses {
  size_t cases, cheaper;
  double sum, most; // of the cost
} losses;

static double plan_cost(plan_case *c) {
  egraph_allocator heap = eg_allocator_heap();
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  eg_plan_space space;
  eg_plan_model model;
  eg_layout_result result;
  assert_ok(eg_plan_space_init(&space, heap, c->egraph, &c->info, &c->mesh, &c->costs));
  assert_ok(eg_plan_model_init(&model, heap, &space));
  eg_layout_result_init(&result, heap);
  assert_ok(eg_layout_solve(heap, &model.problem, &options, &result));
  assert_int_equal(result.status, EG_LAYOUT_OPTIMAL);
  double cost = result.cost;
  eg_layout_result_deinit(&result);
  eg_plan_model_deinit(&model);
  eg_plan_space_deinit(&space);
  return cost;
}

static void compare(plan_case *c, losses *inout) {
  double cost = plan_cost(c), with_two;
  plan_choices_init(&brute.of, c->egraph, &c->info, &c->mesh, &c->costs);
  brute.most_visits = MOST_VISITS;
  brute.may_keep_two = true;
  bool is_sure = plan_brute_solve(&brute, false, c->info.memory_limit,
                                  cost * (1 + 1e-9) + 1e-12, &with_two);
  brute.may_keep_two = false;
  if (!is_sure) return;
  double loss = cost <= 0 ? 0 : fmax(0, cost - with_two) / cost;
  inout->cases++;
  inout->cheaper += loss > 1e-6;
  inout->sum += loss;
  inout->most = fmax(inout->most, loss);
}

static void two_layouts_of_a_phase_are_worth_little(void **state) {
  (void)state;
  uint64_t seed = test_seed(20261131);
  const case_limits limits = {.nodes = 5, .axes = 1, .has_phases = true};
  losses all = {.cases = 0};
  size_t rounds = test_rounds(400);
  for (size_t round = 0; round < rounds; round++) {
    static plan_case c;
    plan_case_init(&c, eg_hash_combine(seed, round), &limits);
    compare(&c, &all);
    plan_case_deinit(&c);
  }
  print_message(
      "%zu of %zu steps would be cheaper, by %.3f %% in the mean of all, %.1f %% "
      "at most\n",
      all.cheaper, all.cases, 100 * all.sum / (double)all.cases, 100 * all.most);
  assert_true(4 * all.cases > rounds && all.sum < 0.001 * (double)all.cases);
}

/// h is read along rows and along columns in both phases: the second phase would save an
/// all-to-all if both blocks were kept. Nothing but that is lost.
static void a_value_read_by_rows_and_by_columns_moves_again(void **state) {
  (void)state;
  static plan_case c;
  const char *text = "(egraph-graph 1)\n"
                     "(input x \"float32[4,4]\")\n"
                     "(let h (exp x))\n"
                     "(let a (softmax :axis 0 h))\n"
                     "(let b (softmax :axis 1 h))\n"
                     "(let d (log-softmax :axis 0 h))\n"
                     "(let e (log-softmax :axis 1 h))\n"
                     "(output a)\n(output b)\n(output d)\n(output e)\n";
  enum { LATENCY = 100 };
  losses all = {.cases = 0};
  c = (plan_case){.rng = {1}};
  eg_text_init(&c.text, eg_allocator_heap());
  assert_ok(eg_text_append(&c.text, text));
  assert_ok(eg_mesh_parse("gpu=2", &c.mesh));
  case_draw_prices(&c);
  c.prices = (case_prices){.per_flop = 10, .latency = {LATENCY}};
  for (uint32_t k = 0; k < EG_TRANSITION_KINDS; k++)
    c.prices.factor[k] = k == EG_TRANSITION_ALL_GATHER ? 3 : 1;
  c.costs.compute_is_free = false;
  plan_case_read(&c, text);
  for (uint32_t n = 3; n < 5; n++)
    c.phases[n] = EG_PHASE_BACKWARD;
  double cost = plan_cost(&c);
  compare(&c, &all);
  plan_case_deinit(&c);
  print_message("%.0f, of which %.0f\n", cost, all.most * cost);
  assert_int_equal(all.cheaper, 1);
  assert_true(fabs(all.most * cost - LATENCY * c.info.micro_batches) < 1e-6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_layouts_of_a_phase_are_worth_little),
      cmocka_unit_test(a_value_read_by_rows_and_by_columns_moves_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
