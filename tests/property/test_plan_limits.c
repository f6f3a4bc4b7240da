// Random training steps under limits of memory: a limit that does not bind changes
// nothing and costs little; below it plans fit, and with more memory none is dearer by
// more than a search leaves open. What is said to be the least peak is above the limit.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/plan_found_kit.h"
#include "tests/unit/plan_models.h"

// Shares of the free plan's peak, most first.
static const double SHARES[] = {1.02, 1.001, 0.9, 0.8, 0.7, 0.6};
enum { LIMITS = sizeof SHARES / sizeof *SHARES, SLACK = 2 };
static const uint64_t WORK = UINT64_C(1000000000);
static const double MORE_WORK = 1.2, DEARER = 0.01, NARROW = 0.1;

typedef struct tally {
  size_t limits, plans, narrow;
} tally;

static int pick(eg_rng *rng, const int *of, size_t count) {
  return of[eg_rng_below(rng, count)];
}
#define PICK(rng, ...)                                                                   \
  pick(rng, (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static void draw_perceptron(eg_rng *rng, eg_text *text) {
  const mlp_model model = {.layers = PICK(rng, 1, 2, 3),
                           .batch = PICK(rng, 16, 64, 512),
                           .width = PICK(rng, 32, 96, 512),
                           .hidden = PICK(rng, 64, 256, 1024),
                           .biased = PICK(rng, 0, 1)};
  model_mlp(text, &model);
}

static void draw_attention(eg_rng *rng, eg_text *text) {
  const transformer_model model = {.layers = 1,
                                   .batch = PICK(rng, 2, 8),
                                   .sequence = PICK(rng, 16, 64, 256),
                                   .hidden = PICK(rng, 64, 128),
                                   .heads = PICK(rng, 2, 4, 8),
                                   .dtype = "float32"};
  (PICK(rng, 0, 1) != 0 ? model_transformer : model_attention_only)(text, &model);
}

static void draw_convolutions(eg_rng *rng, eg_text *text) {
  int layers = PICK(rng, 1, 2, 3), size = PICK(rng, 8, 16, 32), channels = 4;
  model_begin(text);
  model_add(text, "(input x0 \"float32[%d,4,%d,%d]\")\n", PICK(rng, 4, 16), size, size);
  for (int i = 0; i < layers; i++) {
    int wider = PICK(rng, 8, 16, 64);
    model_add(text, "(weight w%d \"float32[%d,%d,3,3]\")\n", i, wider, channels);
    model_add(text,
              "(let c%d (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] x%d w%d))\n"
              "(let x%d (relu c%d))\n",
              i, i, i, i + 1, i);
    channels = wider;
  }
  model_add(text, "(output x%d)\n", layers);
}

static void draw_step(eg_rng *rng, planned *out) {
  static void (*const DRAW[])(eg_rng *, eg_text *) = {draw_perceptron, draw_attention,
                                                      draw_convolutions};
  static const char *const MESHES[] = {"gpu=8", "gpu-outer=4,gpu-inner=2"};
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  DRAW[eg_rng_below(rng, sizeof DRAW / sizeof *DRAW)](rng, &text);
  options.loss = EG_LOSS_SQUARED_ERROR;
  options.optimizer = (eg_optimizer)eg_rng_below(rng, EG_OPTIMIZER_COUNT);
  options.clip_norm = PICK(rng, 0, 1);
  options.micro_batches = (uint32_t)PICK(rng, 1, 1, 4);
  planned_init(out, &text, "dgx-h100*1", MESHES[eg_rng_below(rng, 2)], &options);
  out->layout.by_work = true;
  out->layout.work_limit = WORK;
  eg_text_deinit(&text);
}

static void expect_same(const eg_planning *free, const eg_planning *limited,
                        uint64_t free_work, uint64_t work) {
  assert_true(limited->has_plan);
  assert_int_equal(limited->status, free->status);
  assert_true(limited->cost == free->cost && limited->memory == free->memory);
  assert_true((double)work <= MORE_WORK * (double)free_work);
}

static void try_step(uint64_t seed, tally *t) {
  eg_rng rng = {seed};
  planned p;
  draw_step(&rng, &p);
  uint64_t free_work = 0, work;
  p.layout.done = &free_work;
  planned_run(&p, (double)INFINITY);
  eg_planning free = p.planning;
  p.planning = (eg_planning){.has_plan = false};
  p.layout.done = &work;
  double cost = free.cost;
  for (int i = 0; i < LIMITS; i++) {
    double limit = floor(SHARES[i] * free.memory);
    work = 0;
    planned_run(&p, limit);
    const eg_planning *now = &p.planning;
    if (i < SLACK) {
      expect_same(&free, now, free_work, work);
      continue;
    }
    t->limits++;
    if (!now->has_plan) {
      assert_true(now->status == EG_LAYOUT_NO_MEMORY || now->status == EG_LAYOUT_UNKNOWN);
      assert_true(now->least_memory > limit);
      continue;
    }
    assert_true(now->memory <= limit);
    assert_true(now->cost >= cost * (1 - DEARER));
    t->plans++;
    t->narrow += now->gap <= NARROW;
    cost = fmax(cost, now->cost);
  }
  eg_planning_deinit(&free);
  planned_deinit(&p);
}

static void limits_that_do_not_bind_change_nothing(void **state) {
  (void)state;
  tally t = {.limits = 0};
  uint64_t seed = test_seed(20261130);
  size_t rounds = test_rounds(3);
  for (size_t i = 0; i < rounds; i++)
    try_step(eg_hash_combine(seed, i), &t);
  print_message("%zu limits below the free peak: %zu plans, %zu with a gap of at most "
                "10 %%\n",
                t.limits, t.plans, t.narrow);
  assert_true(t.plans != 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(limits_that_do_not_bind_change_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
