// Plans that planning has made, run on ranks: three training steps give the loss, weights
// and velocities (which hold every gradient) that one device gives.
//
// Prices of communication, computing and memory differ from case to case, so that plans
// of many kinds come out: data and tensor parallel, sequence, expert, spatial, ZeRO,
// mixtures.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "base/hash.h"
#include "optimize/model/plan_emit.h"
#include "optimize/search/planner.h"
#include "optimize/space/groups.h"
#include "optimize/space/step_info.h"
#include "pcg/plan/plan_cost.h"
#include "rewrites/lab/rule_checks.h"
#include "tests/unit/rank_training.h"

// ---- models ---------------------------------------------------------------------------

static const char mlp[] =
    "(egraph-graph 1)(input x \"float32[8,8]\")(weight a \"float32[8,16]\")"
    "(weight c \"float32[16]\")(weight b \"float32[16,8]\")"
    "(let p (matmul x a))(let q (add p c))(let h (relu q))(let y (matmul h b))(output y)";

static const char cnn[] =
    "(egraph-graph 1)(input x \"float32[4,2,8,8]\")(weight k \"float32[8,2,3,3]\")"
    "(weight l \"float32[4,8,1,1]\")"
    "(let c (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] x k))(let r (relu c))"
    "(let d (conv :strides [1 1] :pads [0 0 0 0] :dilations [1 1] r l))"
    "(let y (reduce-sum :axes [2 3] :keepdims 0 d))(output y)";

// One image of odd channels: rows and columns are what there is to split.
static const char image[] =
    "(egraph-graph 1)(input x \"float32[1,1,16,8]\")(weight k \"float32[3,1,3,3]\")"
    "(weight l \"float32[5,3,3,3]\")"
    "(let c (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] x k))(let r (relu c))"
    "(let d (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] r l))"
    "(let y (reduce-sum :axes [2 3] :keepdims 0 d))(output y)";

static const char block[] =
    "(egraph-graph 1)(input x \"float32[2,4,8]\")"
    "(weight s \"float32[8]\")(weight t \"float32[8]\")(weight q \"float32[8,8]\")"
    "(weight k \"float32[8,8]\")(weight v \"float32[8,8]\")(weight o \"float32[8,8]\")"
    "(weight a \"float32[8,16]\")(weight b \"float32[16,8]\")"
    "(let n (layer-normalization x s t))"
    "(let q1 (matmul n q))(let q2 (reshape :shape [2 4 4 2] q1))"
    "(let q3 (transpose :perm [0 2 1 3] q2))"
    "(let k1 (matmul n k))(let k2 (reshape :shape [2 4 4 2] k1))"
    "(let k3 (transpose :perm [0 2 1 3] k2))"
    "(let v1 (matmul n v))(let v2 (reshape :shape [2 4 4 2] v1))"
    "(let v3 (transpose :perm [0 2 1 3] v2))"
    "(let w1 (matmul :transB 1 q3 k3))(let w2 (softmax w1))(let w3 (matmul w2 v3))"
    "(let w4 (transpose :perm [0 2 1 3] w3))(let w5 (reshape :shape [2 4 8] w4))"
    "(let w6 (matmul w5 o))(let r (add x w6))"
    "(let f1 (matmul r a))(let f2 (gelu f1))(let f3 (matmul f2 b))(let y (add r f3))"
    "(output y)";

// Tokens to experts and back by masks of one element per slot, as GShard does it.
static const char experts[] =
    "(egraph-graph 1)(input x \"float32[4,4,8]\")(input d \"float32[4,4,4,2]\")"
    "(weight a \"float32[4,8,16]\")(weight b \"float32[4,16,8]\")"
    "(let i (einsum :equation \"gsec,gsm->egcm\" d x))"
    "(let h (einsum :equation \"egcm,emh->egch\" i a))(let r (relu h))"
    "(let o (einsum :equation \"egch,ehm->egcm\" r b))"
    "(let y (einsum :equation \"gsec,egcm->gsm\" d o))(output y)";

// Tables of embeddings stacked, so that tables can be spread; then their interaction.
static const char recommender[] =
    "(egraph-graph 1)(input x \"float32[8,8]\")(input u \"float32[4,8,4]\")"
    "(weight t \"float32[4,4,8]\")(weight a \"float32[8,8]\")(weight b \"float32[8,4]\")"
    "(let e (matmul u t))(let s (reduce-sum :axes [0] :keepdims 0 e))"
    "(let p (matmul x a))(let z (mul p s))(let r (relu z))(let y (matmul r b))(output y)";

typedef struct model {
  const char *name, *text;
} model;
static const model models[] = {{"mlp", mlp},
                               {"cnn", cnn},
                               {"block", block},
                               {"experts", experts},
                               {"recommender", recommender}};

// ---- prices ---------------------------------------------------------------------------

typedef struct prices {
  double per_flop, per_byte, latency;
  double memory; // part of what the cheapest plan takes; 0: no limit
  double slow;   // axis 0 against the others
  double halo;   // against other exchanges
  bool is_odd;   // operators cost what they cost for no reason, so that rules are used
} prices;

static egraph_status price_node(void *self, const eg_node_spec *local,
                                eg_node_price *out) {
  const prices *p = self;
  out->seconds = p->per_flop * (eg_node_spec_flops(local) + 8);
  if (p->is_odd) out->seconds *= 0.1 + (double)(eg_hash_combine(1, local->attrs->op) % 8);
  return EGRAPH_OK;
}

static double price_bytes(const prices *p, uint32_t axis, double bytes) {
  return (axis == 0 ? p->slow : 1) * (p->latency + p->per_byte * bytes);
}

static double price_transition(void *self, const eg_transition *transition,
                               double bytes) {
  bool twice = transition->kind == EG_TRANSITION_ALL_REDUCE;
  bool few = transition->kind == EG_TRANSITION_ALL_TO_ALL;
  return price_bytes(self, transition->axis, bytes * (twice ? 2 : few ? 0.3 : 1));
}

static double price_halo(void *self, const eg_halo *halo, const eg_type *local) {
  double rows = (double)(halo->before + halo->after) / (double)local->dims[halo->dim];
  double seconds = price_bytes(self, halo->axis, rows * (double)eg_type_bytes(local));
  return ((const prices *)self)->halo * seconds;
}

static const prices all_prices[] = {
    {0, 1, 1, 0, 1, 1, false},     {0, 1, 100, 0, 4, 1, false},
    {1, 0.01, 1, 0, 1, 1, false},  {1, 0.1, 10, 1.05, 2, 1, false},
    {0.5, 1, 1, 1.3, 1, 1, false}, {1, 0.02, 0, 1, 3, 1, false},
};

// ---- running --------------------------------------------------------------------------

static const uint64_t WORK = 50000000; // any solution will do

static void solve_within(eg_plan_model *plan_model, double limit,
                         eg_layout_result *result) {
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  options.time_limit_seconds = 600;
  options.work_limit = WORK;
  options.relative_gap = 0.02;
  plan_model->problem.memory_limit[0] = limit;
  eg_layout_result_init(result, eg_allocator_heap());
  assert_ok(eg_layout_solve(eg_allocator_heap(), &plan_model->problem, &options, result));
}

/// The cheapest plan, and under a limit, given as a part of its memory, another one when
/// that is found soon: whatever comes out must run.
static void solve(eg_plan_model *plan_model, double memory, eg_layout_result *result) {
  solve_within(plan_model, INFINITY, result);
  assert_true(result->solutions.len != 0);
  if (memory == 0) return;
  eg_layout_result small;
  double limit = result->solutions.data[0].memory[0] * memory;
  solve_within(plan_model, limit, &small);
  if (small.solutions.len == 0) {
    eg_layout_result_deinit(&small);
    return;
  }
  eg_layout_result_deinit(result);
  *result = small;
}

static uint32_t count_moves(const eg_plan *plan) {
  uint32_t count = 0;
  for (size_t i = 0; i < plan->steps.len; i++)
    count += plan->steps.data[i].is_move;
  return count;
}

/// Nodes that rules have made, of a solution.
static uint32_t count_rewritten(const eg_plan_model *plan_model,
                                const eg_layout_solution *solution) {
  const eg_plan_space *space = plan_model->space;
  const eg_engine *engine = eg_tensor_egraph_engine_of(space->egraph);
  uint32_t count = 0;
  for (size_t v = 0; v < solution->strategy.len; v++) {
    uint32_t s = solution->strategy.data[v];
    if (s == EG_LAYOUT_NONE || plan_model->strategies.data[s] == EG_SPACE_NONE) continue;
    uint32_t op = 0;
    while (plan_model->problem.strategy_begin.data[op + 1] <= s)
      op++;
    eg_node node = space->operators.data[plan_model->operators.data[op]].node;
    count += eg_engine_node_reason(engine, node) != EG_REASON_SEED;
  }
  return count;
}

static void apply(eg_tensor_egraph *egraph, const eg_step_info *info,
                  const eg_rules *rules) {
  eg_saturation_options options = EG_SATURATION_OPTIONS_DEFAULT;
  eg_saturation_report report;
  options.node_limit = 3 * eg_engine_node_count(eg_tensor_egraph_engine_of(egraph));
  options.iteration_limit = 4;
  assert_ok(eg_plan_apply_rules(egraph, info, rules, &options, &report));
  eg_saturation_report_deinit(&report);
}

typedef struct counts {
  uint32_t cases, moves, rewritten;
  eg_plan_summary last; // of the last case
} counts;

/// `rules` may be NULL.
static void run_case(const model *m, const char *mesh_text, const prices *price,
                     const eg_rules *rules, counts *inout) {
  problem p;
  eg_training_options training = EG_TRAINING_OPTIONS_DEFAULT;
  training.loss = EG_LOSS_SQUARED_ERROR;
  training.optimizer = EG_OPTIMIZER_MOMENTUM;
  training.micro_batches = MICRO_BATCHES;
  problem_init(&p, m->text, &training);
  eg_training_info info;
  eg_mesh mesh;
  eg_tensor_egraph *egraph;
  assert_ok(eg_training_info_init(&info, eg_allocator_heap(), &p.training, NULL));
  assert_ok(eg_mesh_parse(mesh_text, &mesh));
  assert_ok(eg_tensor_egraph_create(NULL, p.training.graph, &egraph));
  assert_ok(eg_engine_rebuild(eg_tensor_egraph_engine(egraph)));
  if (rules != NULL) apply(egraph, &info.info, rules);
  assert_ok(eg_groups_add(egraph, &info.info, true));
  prices mine = *price;
  eg_plan_costs costs = {.self = &mine,
                         .node = price_node,
                         .transition = price_transition,
                         .halo = price_halo,
                         .compute_is_free = price->per_flop == 0};
  eg_plan_space space;
  eg_plan_model plan_model;
  eg_layout_result result;
  eg_emitted_plan emitted;
  assert_ok(
      eg_plan_space_init(&space, eg_allocator_heap(), egraph, &info.info, &mesh, &costs));
  assert_ok(eg_plan_model_init(&plan_model, eg_allocator_heap(), &space));
  solve(&plan_model, price->memory, &result);
  assert_ok(eg_plan_emit(&plan_model, eg_allocator_heap(), &result.solutions.data[0],
                         &emitted));
  p.plan = &emitted.plan;
  kit_tensors want;
  train_alone(&p, &want);
  train_on_ranks(&p);
  double error = kit_error(&want, &p.have);
  if (!(error < 1e-5))
    fail_msg("%s on %s, prices %d: error %g", m->name, mesh_text,
             (int)(price - all_prices), error);
  inout->cases++;
  inout->moves += count_moves(p.plan);
  inout->rewritten += count_rewritten(&plan_model, &result.solutions.data[0]);
  assert_ok(eg_plan_summary_make(p.plan, eg_allocator_heap(), &inout->last));
  kit_tensors_deinit(&want);
  eg_emitted_plan_deinit(&emitted);
  eg_layout_result_deinit(&result);
  eg_plan_model_deinit(&plan_model);
  eg_plan_space_deinit(&space);
  eg_tensor_egraph_destroy(egraph);
  eg_training_info_deinit(&info);
  problem_deinit(&p);
}

static const char *const meshes[] = {"gpu=2", "gpu=4", "node=2,gpu=2", "a=2,b=2,c=2"};

static void plans_give_what_one_device_gives(void **state) {
  (void)state;
  counts all = {0};
  for (size_t m = 0; m < sizeof models / sizeof *models; m++)
    for (size_t i = 0; i < sizeof all_prices / sizeof *all_prices; i++)
      run_case(&models[m], meshes[(m + i) % 4], &all_prices[i], NULL, &all);
  print_message("%u plans with %u moves\n", all.cases, all.moves);
  assert_true(all.cases >= 20 && all.moves > all.cases);
}

static eg_rules *all_rules(void) {
  static const char *const variants[] = {"explore-algebra", "explore-conv",
                                         "explore-matmul", "explore-parallel"};
  eg_rules *rules;
  assert_ok(eg_rules_create_checked(NULL, &rules));
  assert_ok(eg_rules_add_builtin(rules));
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
    assert_ok(eg_rules_enable(rules, variants[i], true));
  return rules;
}

static void so_do_plans_of_graphs_that_rules_have_changed(void **state) {
  (void)state;
  static const prices odd[] = {{1, 0.01, 1, 0, 1, 1, true}, {1, 1, 10, 0, 2, 1, true}};
  eg_rules *rules = all_rules();
  counts all = {0};
  for (size_t m = 0; m < sizeof models / sizeof *models; m++)
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
      run_case(&models[m], meshes[(m + i) % 3], &odd[i], rules, &all);
  print_message("%u plans with %u moves, %u nodes made by rules\n", all.cases, all.moves,
                all.rewritten);
  assert_true(all.rewritten > 4 * all.cases && all.moves > all.cases);
  eg_rules_destroy(rules);
}

static uint64_t halos_of(const eg_plan_summary *summary, eg_phase phase) {
  uint64_t count = 0;
  for (uint32_t a = 0; a < summary->mesh.axis_count; a++)
    count += summary->exchange[phase][a][EG_EXCHANGE_HALO].count;
  return count;
}

/// Work is dear against a few rows of neighbours: images are cut, forward and backward.
static void images_are_cut_among_devices(void **state) {
  (void)state;
  const model m = {"image", image};
  const prices price = {1, 1, 1, 0, 1, 0.01, false};
  for (size_t i = 0; i < 3; i++) {
    counts all = {0};
    run_case(&m, meshes[i], &price, NULL, &all);
    const eg_plan_summary summary = all.last;
    // Both convolutions, per micro-batch; the gradient of the second one's image, and of
    // both weights, which read windows too.
    assert_true(halos_of(&summary, EG_PHASE_FORWARD) >= 2 * MICRO_BATCHES);
    assert_true(halos_of(&summary, EG_PHASE_BACKWARD) >= 3 * MICRO_BATCHES);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plans_give_what_one_device_gives),
      cmocka_unit_test(images_are_cut_among_devices),
      cmocka_unit_test(so_do_plans_of_graphs_that_rules_have_changed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
