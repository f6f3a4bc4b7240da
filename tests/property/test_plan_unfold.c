// Plans of stacks of equal blocks, made with one block standing for many and then
// unfolded: they pass the check, cost what the folded ones do, and give on ranks what one
// device gives.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "optimize/plan/plan_unfold.h"
#include "optimize/plan/training_info.h"
#include "pcg/plan_summary.h"
#include "pcg/plan_text.h"
#include "tests/unit/plan_models.h"
#include "tests/unit/rank_training.h"

// ---- prices ---------------------------------------------------------------------------

typedef struct prices {
  double per_flop, per_node, per_byte, latency;
  double slow; // axis 0 against the others
} prices;

static egraph_status price_node(void *self, const eg_node_spec *local, double *out) {
  const prices *p = self;
  *out = p->per_node + p->per_flop * eg_node_spec_flops(local);
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
  return price_bytes(self, halo->axis, rows * (double)eg_type_bytes(local));
}

static void draw_prices(eg_rng *rng, prices *out) {
  *out = (prices){.per_flop = eg_rng_unit(rng),
                  .per_node = 10 * eg_rng_unit(rng),
                  .per_byte = 4 * eg_rng_unit(rng),
                  .latency = 200 * eg_rng_unit(rng),
                  .slow = 1 + 3 * eg_rng_unit(rng)};
}

// ---- stacks ---------------------------------------------------------------------------

/// Blocks of one to three parts between two products.
static void draw_stack(eg_rng *rng, eg_text *text) {
  int blocks = 4 + (int)eg_rng_below(rng, 3);
  bool shares = eg_rng_below(rng, 3) == 0, adds = eg_rng_below(rng, 2) == 0;
  bool norms = eg_rng_below(rng, 3) == 0, wide = eg_rng_below(rng, 2) == 0;
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
    model_add(text, "(let p%d (matmul %s%d a%d))(let q%d (relu p%d))\n", i,
              norms ? "n" : "x", i, i, i, i);
    model_add(text, "(let r%d (matmul q%d b%d))\n", i, i, i);
    if (shares) model_add(text, "(let u%d (mul r%d same))\n", i, i);
    model_add(text, "(let v%d (%s %s%d %s%d))\n", i, adds ? "add" : "mul",
              shares ? "u" : "r", i,
              adds     ? "x"
              : shares ? "u"
                       : "r",
              i);
    model_add(text, "(let x%d (tanh v%d))\n", i + 1, i);
  }
  model_add(text, "(let y (matmul x%d out))(output y)\n", blocks);
}

static void draw_options(eg_rng *rng, eg_training_options *out) {
  static const eg_optimizer optimizers[] = {EG_OPTIMIZER_SGD, EG_OPTIMIZER_MOMENTUM,
                                            EG_OPTIMIZER_ADAM};
  *out = (eg_training_options)EG_TRAINING_OPTIONS_DEFAULT;
  out->loss = EG_LOSS_SQUARED_ERROR;
  out->optimizer = optimizers[eg_rng_below(rng, 3)];
  out->micro_batches = 1 + (uint32_t)eg_rng_below(rng, 2);
  out->clip_norm = eg_rng_below(rng, 3) == 0 ? 0.5 : 0;
}

// ---- planning -------------------------------------------------------------------------

typedef struct unfold_case {
  eg_graph *forward;
  eg_blocks blocks;
  eg_folded folded;
  eg_training small;
  eg_training_info info;
  eg_mesh mesh;
  prices prices;
  eg_plan_costs costs;
  double cost;
  eg_emitted_plan plan;
} unfold_case;

static void plan_folded(unfold_case *c, const eg_graph *step) {
  eg_tensor_egraph *egraph;
  eg_plan_space space;
  eg_plan_model model;
  eg_layout_result result;
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  options.time_limit_seconds = 600;
  options.relative_gap = 0.02;
  assert_ok(eg_tensor_egraph_create(NULL, step, &egraph));
  assert_ok(eg_engine_rebuild(eg_tensor_egraph_engine(egraph)));
  assert_ok(eg_plan_space_init(&space, eg_allocator_heap(), egraph, &c->info.info,
                               &c->mesh, &c->costs));
  assert_ok(eg_plan_model_init(&model, eg_allocator_heap(), &space));
  eg_layout_result_init(&result, eg_allocator_heap());
  assert_ok(eg_layout_solve(eg_allocator_heap(), &model.problem, &options, &result));
  assert_true(result.solutions.len != 0);
  c->cost = result.cost;
  assert_ok(
      eg_plan_emit(&model, eg_allocator_heap(), &result.solutions.data[0], &c->plan));
  eg_layout_result_deinit(&result);
  eg_plan_model_deinit(&model);
  eg_plan_space_deinit(&space);
  eg_tensor_egraph_destroy(egraph);
}

static void unfold_case_init(unfold_case *c, const char *text, const char *mesh,
                             const prices *p, const eg_training_options *options) {
  *c = (unfold_case){.forward = kit_parse("stack", text), .prices = *p};
  c->costs = (eg_plan_costs){.self = &c->prices,
                             .node = price_node,
                             .transition = price_transition,
                             .halo = price_halo};
  assert_ok(eg_mesh_parse(mesh, &c->mesh));
  assert_ok(eg_blocks_find(c->forward, &c->blocks));
  assert_true(c->blocks.count >= 4);
  assert_ok(eg_blocks_fold(c->forward, &c->blocks, &c->folded));
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

static void unfold_case_deinit(unfold_case *c) {
  eg_emitted_plan_deinit(&c->plan);
  eg_training_info_deinit(&c->info);
  if (c->small.graph != NULL) eg_training_deinit(&c->small);
  eg_folded_deinit(&c->folded);
  eg_graph_destroy(c->forward);
}

static double seconds_of(const eg_plan *plan) {
  eg_plan_summary summary;
  assert_ok(eg_plan_summary_make(plan, eg_allocator_heap(), &summary));
  return summary.seconds;
}

static void unfold(const unfold_case *c, const eg_training *whole, eg_emitted_plan *out) {
  const eg_unfold_steps steps = {.forward = c->forward,
                                 .blocks = &c->blocks,
                                 .folded = &c->folded,
                                 .whole = whole,
                                 .small = whole != NULL ? &c->small : NULL};
  assert_ok(eg_plan_unfold(eg_allocator_heap(), &steps, &c->plan, &c->costs, out));
  assert_ok(eg_plan_check(&out->plan, eg_allocator_heap()));
  assert_ok(eg_graph_check(out->graph));
  assert_false(eg_plan_is_folded(&out->plan));
  double cost = seconds_of(&out->plan);
  if (!(fabs(cost - c->cost) <= 1e-9 * c->cost))
    fail_msg("unfolded %.12g, folded %.12g", cost, c->cost);
}

static const char *const meshes[] = {"gpu=2", "gpu=4", "node=2,gpu=2"};

/// Adam divides gradients by their size, so that the rounding of tiny ones shows.
static double allowed_error(const eg_training_options *options) {
  return options->optimizer == EG_OPTIMIZER_ADAM ? 1e-3 : 1e-5;
}

static void run_round(eg_rng *rng, const char *mesh) {
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
  unfold_case_init(&c, eg_text_of(&text), mesh, &p, &options);
  problem_init(&whole, eg_text_of(&text), &options);
  unfold(&c, &whole.training, &plan);
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
}

static void unfolded_plans_give_what_one_device_gives(void **state) {
  (void)state;
  eg_rng rng = {test_seed(5)};
  for (size_t round = 0; round < 9; round++)
    run_round(&rng, meshes[round % (sizeof meshes / sizeof *meshes)]);
}

static void forward_graphs_are_unfolded_too(void **state) {
  (void)state;
  eg_rng rng = {test_seed(6)};
  for (size_t round = 0; round < 6; round++) {
    eg_text text;
    prices p;
    unfold_case c;
    eg_emitted_plan plan;
    eg_text_init(&text, eg_allocator_heap());
    draw_stack(&rng, &text);
    draw_prices(&rng, &p);
    unfold_case_init(&c, eg_text_of(&text), meshes[round % 3], &p, NULL);
    unfold(&c, NULL, &plan);
    assert_int_equal(eg_graph_node_count(plan.graph), eg_graph_node_count(c.forward));
    eg_emitted_plan_deinit(&plan);
    unfold_case_deinit(&c);
    eg_text_deinit(&text);
  }
}

/// Casts of weights, which have no place of their own in a block, and attention.
static void transformers_in_two_precisions_are_unfolded(void **state) {
  (void)state;
  const transformer_model m = {.layers = 7,
                               .batch = 4,
                               .sequence = 8,
                               .hidden = 16,
                               .heads = 4,
                               .dtype = "float32"};
  const prices p = {
      .per_flop = 0.1, .per_node = 1, .per_byte = 0.2, .latency = 50, .slow = 2};
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  options.loss = EG_LOSS_SQUARED_ERROR;
  for (int mixed = 0; mixed < 2; mixed++) {
    eg_text text;
    eg_training whole;
    unfold_case c;
    eg_emitted_plan plan;
    options.mixed_precision = mixed != 0;
    options.micro_batches = mixed != 0 ? 2 : 1;
    eg_text_init(&text, eg_allocator_heap());
    model_transformer(&text, &m);
    unfold_case_init(&c, eg_text_of(&text), "gpu=4", &p, &options);
    assert_ok(eg_training_step(c.forward, &options, &whole));
    unfold(&c, &whole, &plan);
    eg_text_clear(&text);
    assert_ok(eg_plan_print(&plan.plan, EG_PLAN_COLLECTIVES, &text));
    assert_non_null(strstr(eg_text_of(&text), " times more the same as the last "));
    eg_emitted_plan_deinit(&plan);
    eg_training_deinit(&whole);
    unfold_case_deinit(&c);
    eg_text_deinit(&text);
  }
}

static egraph_status unfold_body(egraph_allocator alloc, void *user) {
  const unfold_case *c = user;
  const eg_unfold_steps steps = {
      .forward = c->forward, .blocks = &c->blocks, .folded = &c->folded};
  eg_emitted_plan plan;
  EG_TRY(eg_plan_unfold(alloc, &steps, &c->plan, &c->costs, &plan));
  eg_emitted_plan_deinit(&plan);
  return EGRAPH_OK;
}

static void failing_allocations_are_survived(void **state) {
  (void)state;
  eg_rng rng = {3};
  eg_text text;
  prices p;
  unfold_case c;
  eg_text_init(&text, eg_allocator_heap());
  draw_stack(&rng, &text);
  draw_prices(&rng, &p);
  unfold_case_init(&c, eg_text_of(&text), "gpu=2", &p, NULL);
  test_every_allocation_failing(unfold_body, &c);
  unfold_case_deinit(&c);
  eg_text_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unfolded_plans_give_what_one_device_gives),
      cmocka_unit_test(forward_graphs_are_unfolded_too),
      cmocka_unit_test(transformers_in_two_precisions_are_unfolded),
      cmocka_unit_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
