// Stacks of equal blocks at random, planned with one block standing for many, and
// unfolded; for tests of the whole way.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_UNIT_UNFOLD_KIT_H
#define EG_TESTS_UNIT_UNFOLD_KIT_H

#include <math.h>

#include "base/hash.h"
#include "optimize/fold/unfold.h"
#include "optimize/search/planner.h"
#include "optimize/space/groups.h"
#include "optimize/space/step_info.h"
#include "pcg/plan/plan_cost.h"
#include "tests/unit/plan_models.h"
#include "tests/unit/rank_training.h"

// ---- prices ---------------------------------------------------------------------------

typedef struct prices {
  double per_flop, per_node, per_byte, latency;
  double slow; // axis 0 against the others
  bool is_odd; // operators cost what they cost for no reason, so that rules are used
} prices;

static inline egraph_status price_node(void *self, const eg_node_spec *local,
                                       eg_node_price *out) {
  const prices *p = self;
  out->seconds = p->per_node + p->per_flop * eg_node_spec_flops(local);
  if (p->is_odd) out->seconds *= 0.1 + (double)(eg_hash_combine(1, local->attrs->op) % 8);
  return EGRAPH_OK;
}

static inline double price_bytes(const prices *p, uint32_t axis, double bytes) {
  return (axis == 0 ? p->slow : 1) * (p->latency + p->per_byte * bytes);
}

static inline double price_transition(void *self, const eg_transition *transition,
                                      double bytes) {
  bool twice = transition->kind == EG_TRANSITION_ALL_REDUCE;
  bool few = transition->kind == EG_TRANSITION_ALL_TO_ALL;
  return price_bytes(self, transition->axis, bytes * (twice ? 2 : few ? 0.3 : 1));
}

static inline double price_halo(void *self, const eg_halo *halo, const eg_type *local) {
  double rows = (double)(halo->before + halo->after) / (double)local->dims[halo->dim];
  return price_bytes(self, halo->axis, rows * (double)eg_type_bytes(local));
}

static inline void draw_prices(eg_rng *rng, prices *out) {
  *out = (prices){.per_flop = eg_rng_unit(rng),
                  .per_node = 10 * eg_rng_unit(rng),
                  .per_byte = 4 * eg_rng_unit(rng),
                  .latency = 200 * eg_rng_unit(rng),
                  .slow = 1 + 3 * eg_rng_unit(rng)};
}

// ---- stacks ---------------------------------------------------------------------------

/// Blocks of one to three parts between two products. What is norms' or gates' is added,
/// because products of products vanish, and with them all digits.
static inline void draw_stack(eg_rng *rng, eg_text *text) {
  int blocks = 6 + (int)eg_rng_below(rng, 3);
  bool shares = eg_rng_below(rng, 3) == 0, norms = eg_rng_below(rng, 3) == 0;
  bool adds = norms || eg_rng_below(rng, 2) == 0, wide = eg_rng_below(rng, 2) == 0;
  bool gates = adds && eg_rng_below(rng, 2) == 0;
  bool scales = eg_rng_below(rng, 2) == 0; // weights that weights make
  int hidden = wide ? 16 : 8;
  model_begin(text);
  model_add(text, "(input x \"float32[8,8]\")(weight in \"float32[8,8]\")"
                  "(weight same \"float32[8]\")(weight out \"float32[8,4]\")\n");
  model_add(text, "(let first (matmul x in))(let x0 (tanh first))\n");
  for (int i = 0; i < blocks; i++) {
    model_add(text, "(weight a%d \"float32[8,%d]\")(weight b%d \"float32[%d,8]\")\n", i,
              hidden, i, hidden);
    model_add(text, "(weight s%d \"float32[8]\")(weight t%d \"float32[8]\")\n", i, i);
    if (norms)
      model_add(text, "(let n%d (layer-normalization x%d s%d t%d))\n", i, i, i, i);
    if (scales)
      model_add(text, "(weight k%d \"float32[8,1]\")(let w%d (mul a%d k%d))\n", i, i, i,
                i);
    model_add(text, "(let p%d (matmul %s%d %s%d))(let q%d (relu p%d))\n", i,
              norms ? "n" : "x", i, scales ? "w" : "a", i, i, i);
    model_add(text, "(let r%d (matmul q%d b%d))\n", i, i, i);
    const char *last = shares ? "u" : "r";
    if (shares) model_add(text, "(let u%d (mul r%d same))\n", i, i);
    if (gates) { // a second product with x, that rules may join with the first
      model_add(text, "(weight c%d \"float32[8,8]\")(let g%d (matmul x%d c%d))", i, i, i,
                i);
      model_add(text, "(let h%d (mul g%d %s%d))\n", i, i, last, i);
      last = "h";
    }
    model_add(text, "(let v%d (%s %s%d %s%d))\n", i, adds ? "add" : "mul", last, i,
              adds ? "x" : last, i);
    model_add(text, "(let x%d (tanh v%d))\n", i + 1, i);
  }
  model_add(text, "(let y (matmul x%d out))(output y)\n", blocks);
}

static inline void draw_options(eg_rng *rng, eg_training_options *out) {
  static const eg_optimizer optimizers[] = {EG_OPTIMIZER_SGD, EG_OPTIMIZER_MOMENTUM,
                                            EG_OPTIMIZER_ADAM};
  *out = (eg_training_options)EG_TRAINING_OPTIONS_DEFAULT;
  out->loss = EG_LOSS_SQUARED_ERROR;
  out->optimizer = optimizers[eg_rng_below(rng, 3)];
  out->micro_batches = 1 + (uint32_t)eg_rng_below(rng, 2);
  out->clip_norm = eg_rng_below(rng, 3) == 0 ? 0.5 : 0;
}

// ---- planning -------------------------------------------------------------------------

static const eg_fold_ends unfold_ends = {2, 2};
static const uint64_t UNFOLD_WORK = 50000000; // any solution will do

typedef struct unfold_case {
  eg_graph *forward;
  eg_blocks blocks;
  eg_folded folded;
  eg_training small;
  eg_training_info info;
  eg_mesh mesh;
  prices prices;
  eg_plan_costs costs;
  const eg_rules *rules; // NULL: none
  double cost;
  bool is_exact;      // eg_plan_space
  uint32_t rewritten; // nodes of the plan that rules have made
  eg_emitted_plan plan;
} unfold_case;

static inline void apply_rules(unfold_case *c, eg_tensor_egraph *egraph) {
  eg_saturation_options options = EG_SATURATION_OPTIONS_DEFAULT;
  eg_saturation_report report;
  options.node_limit = 2 * eg_engine_node_count(eg_tensor_egraph_engine_of(egraph));
  options.iteration_limit = 3;
  assert_ok(eg_plan_apply_rules(egraph, &c->info.info, c->rules, &options, &report));
  eg_saturation_report_deinit(&report);
  assert_ok(eg_groups_add(egraph, &c->info.info, true));
}

static inline void count_rewritten(unfold_case *c, const eg_plan_model *model,
                                   const eg_layout_solution *solution) {
  const eg_plan_space *space = model->space;
  const eg_engine *engine = eg_tensor_egraph_engine_of(space->egraph);
  for (uint32_t o = 0; o + 1 < model->problem.strategy_begin.len; o++)
    for (uint32_t s = model->problem.strategy_begin.data[o];
         s < model->problem.strategy_begin.data[o + 1]; s++) {
      uint32_t v = model->problem.operator_value.data[o];
      if (solution->strategy.data[v] != s || model->operators.data[o] == EG_SPACE_NONE)
        continue;
      eg_node node = space->operators.data[model->operators.data[o]].node;
      c->rewritten += eg_engine_node_reason(engine, node) != EG_REASON_SEED;
    }
}

static inline void plan_folded(unfold_case *c, const eg_graph *step) {
  eg_tensor_egraph *egraph;
  eg_plan_space space;
  eg_plan_model model;
  eg_layout_result result;
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  options.time_limit_seconds = 600;
  options.work_limit = UNFOLD_WORK;
  options.relative_gap = 0.02;
  assert_ok(eg_tensor_egraph_create(NULL, step, &egraph));
  assert_ok(eg_engine_rebuild(eg_tensor_egraph_engine(egraph)));
  if (c->rules != NULL) apply_rules(c, egraph);
  assert_ok(eg_plan_space_init(&space, eg_allocator_heap(), egraph, &c->info.info,
                               &c->mesh, &c->costs));
  assert_ok(eg_plan_model_init(&model, eg_allocator_heap(), &space));
  eg_layout_result_init(&result, eg_allocator_heap());
  assert_ok(eg_layout_solve(eg_allocator_heap(), &model.problem, &options, &result));
  assert_true(result.solutions.len != 0);
  c->cost = result.cost;
  c->is_exact = space.is_exact;
  count_rewritten(c, &model, &result.solutions.data[0]);
  assert_ok(
      eg_plan_emit(&model, eg_allocator_heap(), &result.solutions.data[0], &c->plan));
  eg_layout_result_deinit(&result);
  eg_plan_model_deinit(&model);
  eg_plan_space_deinit(&space);
  eg_tensor_egraph_destroy(egraph);
}

static inline void unfold_case_init(unfold_case *c, const char *text, const char *mesh,
                                    const prices *p, const eg_rules *rules,
                                    const eg_training_options *options) {
  *c = (unfold_case){.forward = kit_parse("stack", text), .prices = *p, .rules = rules};
  c->costs = (eg_plan_costs){.self = &c->prices,
                             .node = price_node,
                             .transition = price_transition,
                             .halo = price_halo};
  assert_ok(eg_mesh_parse(mesh, &c->mesh));
  assert_ok(eg_blocks_find(c->forward, &c->blocks));
  assert_true(eg_blocks_can_fold(&c->blocks, unfold_ends));
  assert_ok(eg_blocks_fold(c->forward, &c->blocks, unfold_ends, &c->folded));
  if (options != NULL) {
    assert_ok(eg_training_step(c->folded.graph, options, &c->small));
    assert_ok(
        eg_training_info_init(&c->info, eg_allocator_heap(), &c->small, &c->folded));
  } else {
    assert_ok(eg_forward_info_init(&c->info, eg_allocator_heap(), &c->folded));
  }
  plan_folded(c, options != NULL ? c->small.graph : c->folded.graph);
  assert_true(eg_plan_is_folded(&c->plan.plan));
}

static inline void unfold_case_deinit(unfold_case *c) {
  eg_emitted_plan_deinit(&c->plan);
  eg_training_info_deinit(&c->info);
  if (c->small.graph != NULL) eg_training_deinit(&c->small);
  eg_folded_deinit(&c->folded);
  eg_graph_destroy(c->forward);
}

static inline double seconds_of(const eg_plan *plan) {
  eg_plan_summary summary;
  assert_ok(eg_plan_summary_make(plan, eg_allocator_heap(), &summary));
  return summary.seconds;
}

static inline void unfold(const unfold_case *c, const eg_training *whole,
                          eg_emitted_plan *out) {
  const eg_unfold_steps steps = {.forward = c->forward,
                                 .blocks = &c->blocks,
                                 .ends = unfold_ends,
                                 .folded = &c->folded,
                                 .whole = whole,
                                 .small = whole != NULL ? &c->small : NULL};
  assert_ok(eg_plan_unfold(eg_allocator_heap(), &steps, &c->plan, &c->costs, out));
  assert_ok(eg_plan_check(&out->plan, eg_allocator_heap()));
  assert_ok(eg_graph_check(out->graph));
  assert_false(eg_plan_is_folded(&out->plan));
  double cost = seconds_of(&out->plan);
  // What rules have made may be read otherwise in the block that stands for another.
  double allowed = c->rules == NULL && c->is_exact ? 1e-9 : 0.05;
  if (!(fabs(cost - c->cost) <= allowed * c->cost))
    fail_msg("unfolded %.12g, folded %.12g", cost, c->cost);
}

static const char *const unfold_meshes[] = {"gpu=2", "gpu=4", "node=2,gpu=2"};

// ---- the whole way --------------------------------------------------------------------

/// Adam divides gradients by their size, so that the rounding of tiny ones shows.
static inline double allowed_error(const eg_training_options *options) {
  return options->optimizer == EG_OPTIMIZER_ADAM ? 3e-3 : 1e-3;
}

/// One run of the whole step and of the unfolded graph, on one device: rounding apart the
/// same, before errors grow from step to step.
static inline void compare_graphs(const eg_graph *whole, const eg_graph *unfolded) {
  kit_tensors in, want, have;
  kit_inputs_draw(whole, &in);
  kit_run(whole, "reference", 1, &in, &want);
  kit_run(unfolded, "reference", 1, &in, &have);
  double error = kit_error(&want, &have);
  if (!(error < 1e-3)) fail_msg("error %g of the unfolded graph", error);
  kit_tensors_deinit(&in);
  kit_tensors_deinit(&want);
  kit_tensors_deinit(&have);
}

/// Three steps on ranks, and on one device; nodes of the folded plan that rules have
/// made.
static inline uint32_t run_round(eg_rng *rng, const char *mesh, const eg_rules *rules) {
  eg_text text;
  eg_training_options options;
  prices p;
  problem whole;
  unfold_case c;
  eg_emitted_plan plan;
  kit_tensors want;
  eg_text_init(&text, eg_allocator_heap());
  draw_stack(rng, &text);
  draw_options(rng, &options);
  draw_prices(rng, &p);
  p.is_odd = rules != NULL;
  unfold_case_init(&c, eg_text_of(&text), mesh, &p, rules, &options);
  problem_init(&whole, eg_text_of(&text), &options);
  unfold(&c, &whole.training, &plan);
  compare_graphs(whole.training.graph, plan.graph);
  whole.plan = &plan.plan;
  train_alone(&whole, &want);
  train_on_ranks(&whole);
  double error = kit_error(&want, &whole.have);
  if (!(error < allowed_error(&options))) fail_msg("error %g on %s", error, mesh);
  kit_tensors_deinit(&want);
  eg_emitted_plan_deinit(&plan);
  problem_deinit(&whole);
  unfold_case_deinit(&c);
  eg_text_deinit(&text);
  return c.rewritten;
}

/// Nodes of a plan's graph that are computed ahead of its steps; these are its others.
static inline uint32_t count_ahead(const eg_plan *plan) {
  uint32_t steps = 0;
  for (size_t i = 0; i < plan->steps.len; i++)
    steps += !plan->steps.data[i].is_move;
  return eg_graph_node_count(plan->graph) - steps;
}

/// A forward graph, whose unfolded one gives the same; nodes of it computed ahead.
static inline uint32_t run_forward_round(eg_rng *rng, const char *mesh,
                                         const eg_rules *rules) {
  eg_text text;
  prices p;
  unfold_case c;
  eg_emitted_plan plan;
  eg_text_init(&text, eg_allocator_heap());
  draw_stack(rng, &text);
  draw_prices(rng, &p);
  p.is_odd = rules != NULL;
  unfold_case_init(&c, eg_text_of(&text), mesh, &p, rules, NULL);
  unfold(&c, NULL, &plan);
  if (rules == NULL)
    assert_int_equal(eg_graph_node_count(plan.graph), eg_graph_node_count(c.forward));
  compare_graphs(c.forward, plan.graph);
  uint32_t ahead = count_ahead(&plan.plan);
  eg_emitted_plan_deinit(&plan);
  unfold_case_deinit(&c);
  eg_text_deinit(&text);
  return ahead;
}

#endif
