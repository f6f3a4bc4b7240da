// What a plan's peak is said to be, against what its ranks take: over models, meshes,
// micro-batches, limits of memory and back-ends.
// SPDX-License-Identifier: Apache-2.0
#include "exec/local/local_channel.h"
#include "exec/rank_program.h"
#include "tests/unit/plan_found_kit.h"
#include "tests/unit/plan_models.h"

#define MACHINE                                                                          \
  "(egraph-machine 1)(name small)(nodes 2)"                                              \
  "(device (kind \"small\")(memory 1e9)(bandwidth 1e11)(overhead 1e-6)"                  \
  " (peak (float32 1e12)(float64 1e12)))(link all (latency 1e-6)(bandwidth 1e10))"       \
  "(axis node nodes all)(axis gpu 2 all)(mesh (all *))"

static const mlp_model mlp = {
    .layers = 4, .batch = 64, .width = 64, .hidden = 256, .biased = true};
static const transformer_model transformer = {.layers = 1,
                                              .batch = 8,
                                              .sequence = 32,
                                              .hidden = 64,
                                              .heads = 4,
                                              .dtype = "float32"};
static const cnn_model cnn = {
    .layers = 3, .batch = 8, .channels = 8, .size = 32, .classes = 16};
static const cnn_model image = {
    .layers = 2, .batch = 1, .channels = 3, .size = 64, .classes = 16};
static const moe_model moe = {.layers = 1,
                              .groups = 4,
                              .tokens = 16,
                              .width = 32,
                              .hidden = 64,
                              .experts = 4,
                              .capacity = 8};
static const dlrm_model dlrm = {
    .batch = 64, .dense = 32, .tables = 4, .rows = 256, .width = 16, .hidden = 64};

static void write_mlp(eg_text *text) { model_mlp(text, &mlp); }
static void write_transformer(eg_text *text) { model_transformer(text, &transformer); }
static void write_cnn(eg_text *text) { model_cnn(text, &cnn); }
static void write_image(eg_text *text) { model_cnn(text, &image); }
static void write_moe(eg_text *text) { model_moe(text, &moe); }
static void write_dlrm(eg_text *text) { model_dlrm(text, &dlrm); }

typedef struct model {
  const char *name;
  void (*write)(eg_text *text);
} model;
static const model models[] = {{"mlp", write_mlp}, {"transformer", write_transformer},
                               {"cnn", write_cnn}, {"image", write_image},
                               {"moe", write_moe}, {"dlrm", write_dlrm}};
enum { MODELS = sizeof models / sizeof *models, MOST_RANKS = 8 };

// ---- what ranks take ------------------------------------------------------------------

typedef struct look {
  const eg_plan *plan;
  const char *backend;
  eg_rank_memory memory[MOST_RANKS];
} look;

static egraph_status look_at(void *user, eg_channel *channel) {
  look *l = user;
  eg_rank_options options = EG_RANK_OPTIONS_DEFAULT;
  eg_rank_program *program;
  options.backend = l->backend;
  EG_TRY(eg_rank_program_create(NULL, l->plan, channel, &options, &program));
  l->memory[channel->rank] = eg_rank_program_memory(program);
  eg_rank_program_destroy(program);
  return EGRAPH_OK;
}

/// Over all that was looked at.
typedef struct ratios {
  uint32_t plans, ranks;
  double fullest; // what is alive at one time, but for kernels, in parts of the peak
  double emptiest;
  double placed; // the block of memory in parts of what is alive in it at one time
} ratios;

/// What every storage may be longer by, when it is aligned.
static double alignment_of(const eg_plan *plan) {
  return (double)EG_DEVICE_ALIGNMENT * (double)(plan->states.len + plan->steps.len);
}

static void compare(const eg_plan *plan, double peak, const char *name,
                    const char *backend, ratios *inout) {
  look l = {.plan = plan, .backend = backend};
  eg_channel_options channel = EG_CHANNEL_OPTIONS_DEFAULT;
  assert_ok(eg_local_ranks_run(NULL, &plan->mesh, &channel, look_at, &l));
  for (uint32_t r = 0; r < eg_mesh_devices(&plan->mesh); r++) {
    const eg_rank_memory *memory = &l.memory[r];
    double alive = (double)(memory->least_arena + memory->weights);
    double most = peak + (double)memory->kernels;
    if (memory->weights != 0) most += alignment_of(plan);
    if (alive > most)
      fail_msg("%s, %s, rank %u: %.0f bytes instead of at most %.0f", name, backend, r,
               alive, most);
    assert_true(memory->arena >= memory->least_arena);
    assert_true((double)memory->arena <=
                1.1 * (double)memory->least_arena + alignment_of(plan));
    inout->fullest = fmax(inout->fullest, alive / most);
    inout->emptiest = fmin(inout->emptiest, alive / most);
    inout->placed =
        fmax(inout->placed, (double)memory->arena / (double)memory->least_arena);
    inout->ranks++;
  }
  inout->plans++;
}

// ---- plans ----------------------------------------------------------------------------

static void compare_plans(const model *m, const char *mesh,
                          const eg_training_options *options, ratios *inout) {
  planned p;
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  m->write(&text);
  planned_init(&p, &text, MACHINE, mesh, options);
  p.layout.relative_gap = 0.1; // any plan will do
  p.layout.work_limit = 50000000;
  double limit = INFINITY;
  for (int i = 0; i < 2; i++) { // the second one keeps its stashes in parts
    planned_run(&p, limit);
    if (!p.planning.has_plan) break;
    compare(&p.planning.emitted.plan, p.planning.memory, m->name, "reference", inout);
    compare(&p.planning.emitted.plan, p.planning.memory, m->name, "cpu", inout);
    limit = 0.8 * p.planning.memory;
  }
  planned_deinit(&p);
  eg_text_deinit(&text);
}

static void report(const ratios *all) {
  print_message("%u plans: ranks take %.3f to %.3f of what is said, in a block %.3f "
                "times as long as it must be\n",
                all->plans, all->emptiest, all->fullest, all->placed);
}

static void ranks_take_at_most_what_plans_of_training_say(void **state) {
  (void)state;
  static const eg_optimizer optimizers[] = {EG_OPTIMIZER_ADAM, EG_OPTIMIZER_MOMENTUM};
  static const char *const meshes[] = {"gpu=4", "node=2,gpu=2"};
  ratios all = {.emptiest = INFINITY};
  for (size_t m = 0; m < MODELS; m++)
    for (uint32_t i = 0; i < 2; i++) {
      eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
      options.loss = EG_LOSS_SQUARED_ERROR;
      options.optimizer = optimizers[(m + i) % 2];
      options.micro_batches = 1 + i;
      compare_plans(&models[m], meshes[m / 2 % 2], &options, &all);
    }
  report(&all);
  assert_true(all.plans >= 3 * MODELS);
  assert_true(all.emptiest > 0.7); // nothing is counted that is not there at all
}

static void ranks_take_at_most_what_plans_of_inference_say(void **state) {
  (void)state;
  ratios all = {.emptiest = INFINITY};
  for (size_t m = 0; m < MODELS; m++)
    compare_plans(&models[m], "gpu=4", NULL, &all);
  report(&all);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranks_take_at_most_what_plans_of_training_say),
      cmocka_unit_test(ranks_take_at_most_what_plans_of_inference_say),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
