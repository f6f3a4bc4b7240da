// Plans made without thought, on ranks that are threads, against one device: random
// graphs on meshes of one to three axes, and training steps of several micro-batches. In
// host memory, and on devices that have none (tests/distant), over a transport and
// without. Plugins that the program is given are tested alone.
// SPDX-License-Identifier: Apache-2.0
#include <stdatomic.h>

#include "exec/local/local_channel.h"
#include "tests/unit/device_kit.h"
#include "tests/unit/random_plans.h"
#include "tests/unit/watched_channel.h"

static const char *const meshes[] = {"",        "a=2",        "a=4",     "a=2,b=2",
                                     "a=8",     "a=2,b=4",    "a=4,b=2", "a=2,b=2,c=2",
                                     "a=2,b=1", "a=2,b=1,c=4"};
enum { MESHES = sizeof meshes / sizeof *meshes };

/// What ranks compute on, and exchange over.
static const eg_rank_options devices[] = {
    {.backend = "cpu", .threads = 1, .seed = 7},
    {.backend = "reference", .threads = 1, .seed = 7},
    {.backend = "cuda", .threads = 1, .seed = 7},
    {.backend = "cuda", .transport = "nccl", .threads = 1, .seed = 7}};
enum { DEVICES = sizeof devices / sizeof *devices, IN_HOST_MEMORY = 2 };
static uint32_t first_device, device_count = DEVICES; // that ranks have here

/// With the files of the plugins.
static eg_rank_options device_at(size_t number) {
  eg_rank_options options = devices[first_device + number % device_count];
  options.backend = kit_with_plugin(options.backend);
  options.transport = kit_with_plugin(options.transport);
  return options;
}

static void open_plan(eg_plan *plan, const eg_graph *graph, const char *mesh) {
  eg_plan_init(plan, eg_allocator_heap());
  plan->graph = graph;
  assert_ok(eg_mesh_parse(mesh, &plan->mesh));
}

// ---- random graphs ------------------------------------------------------------------

enum { MOST_VALUES = 64, TEXT_BYTES = 8192 };

/// A graph as text; all values are float32[8,8] or float32[2,channels,16,16].
typedef struct draft {
  eg_rng rng;
  char text[TEXT_BYTES];
  size_t length;
  uint32_t channels, images; // of three operators so many are of images
  uint32_t count;            // values
  bool is_image[MOST_VALUES];
} draft;

static void put(draft *d, const char *format, ...) EG_PRINTF(2, 3);
static void put(draft *d, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  d->length +=
      (size_t)vsnprintf(d->text + d->length, TEXT_BYTES - d->length, format, arguments);
  va_end(arguments);
  assert_true(d->length < TEXT_BYTES);
}

static void add_leaf(draft *d, bool is_image) {
  put(d, "(%s v%u ", eg_rng_below(&d->rng, 3) ? "input" : "weight", d->count);
  if (is_image)
    put(d, "\"float32[2,%u,16,16]\")", d->channels);
  else
    put(d, "\"float32[8,8]\")");
  d->is_image[d->count++] = is_image;
}

static uint32_t draw_value(draft *d, bool is_image) {
  for (;;) {
    uint32_t v = (uint32_t)eg_rng_below(&d->rng, d->count);
    if (d->is_image[v] == is_image) return v;
  }
}

// %a and %b stand for operands, %w for a convolution's weight, %d and %g for a depthwise
// one's and its groups.
static const char *const of_matrices[] = {
    "(relu %a)",
    "(tanh %a)",
    "(add %a %b)",
    "(add %a %b)",
    "(mul %a %b)",
    "(sub %a %a)",
    "(matmul %a %b)",
    "(matmul :transA 1 %a %b)",
    "(matmul %a %b)",
    "(transpose :perm [1 0] %a)",
    "(softmax :axis 1 %a)",
    "(softmax :axis 0 %a)",
    "(reduce-max :axes [0] :keepdims 1 %a)",
    "(reduce-sum :axes [1] :keepdims 1 %a)",
    "(identity %a)",
};
static const char *const of_images[] = {
    "(relu %a)",
    "(add %a %b)",
    "(mul %a %b)",
    "(conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] %a %w)",
    "(conv :strides [1 1] :pads [0 2 2 0] :dilations [1 1] %a %w)",
    "(conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] :group %g %a %d)",
    "(conv :strides [1 1] :pads [1 2 3 2] :dilations [2 2] :group %g %a %d)",
    "(max-pool :kernel_shape [3 3] :strides [1 1] :pads [1 1 1 1] :dilations [1 1] %a)",
    ("(average-pool :kernel_shape [3 3] :strides [1 1] :pads [1 1 1 1] "
     ":count_include_pad 1 %a)"),
    "(transpose :perm [0 1 3 2] %a)",
};

enum {
  OF_MATRICES = sizeof of_matrices / sizeof *of_matrices,
  OF_IMAGES = sizeof of_images / sizeof *of_images
};

static bool is_thin(const char *operator) { return strstr(operator, "reduce") != NULL; }

static void add_operator(draft *d, bool is_image) {
  const char *form = is_image ? of_images[eg_rng_below(&d->rng, OF_IMAGES)]
                              : of_matrices[eg_rng_below(&d->rng, OF_MATRICES)];
  bool thin = is_thin(form);
  uint32_t wide = draw_value(d, is_image);
  put(d, thin ? "(let t%u " : "(let v%u ", d->count);
  for (const char *c = form; *c != '\0'; c++) {
    if (*c != '%')
      put(d, "%c", *c);
    else if (*++c == 'w')
      put(d, "kernel");
    else if (*c == 'd')
      put(d, "depth");
    else if (*c == 'g')
      put(d, "%u", d->channels);
    else
      put(d, "v%u", draw_value(d, is_image));
  }
  put(d, ")");
  // Broadcast again, so that all values have one of two shapes.
  if (thin) put(d, "(let v%u (add t%u v%u))", d->count, d->count, wide);
  d->is_image[d->count++] = is_image;
}

static eg_graph *draw_graph(draft *d) {
  put(d, "(egraph-graph 1)(weight kernel \"float32[%u,%u,3,3]\")", d->channels,
      d->channels);
  put(d, "(weight depth \"float32[%u,1,3,3]\")", d->channels);
  for (int i = 0; i < 3; i++) {
    add_leaf(d, false);
    add_leaf(d, true);
  }
  uint32_t leaves = d->count, operators = 2 + (uint32_t)eg_rng_below(&d->rng, 10);
  for (uint32_t i = 0; i < operators; i++)
    add_operator(d, eg_rng_below(&d->rng, 3) < d->images);
  for (uint32_t v = leaves; v < d->count; v++)
    if (v + 3 > d->count || eg_rng_below(&d->rng, 3) == 0) put(d, "(output v%u)", v);
  return kit_parse("random", d->text);
}

/// What plans in memory formats have, in all.
typedef struct tally {
  uint32_t formats[EG_FORMAT_COUNT]; // states
  uint32_t reorders, constants;      // moves; states that nodes make at load
} tally;

static void add_to_tally(const eg_plan *plan, tally *inout) {
  for (size_t s = 0; s < plan->states.len; s++) {
    const eg_plan_state *state = &plan->states.data[s];
    inout->formats[state->layout.format]++;
    inout->constants +=
        state->step == EG_PLAN_NONE &&
        eg_graph_value(plan->graph, state->value)->kind == EG_VALUE_COMPUTED;
  }
  for (size_t i = 0; i < plan->steps.len; i++)
    inout->reorders += plan->steps.data[i].is_move &&
                       plan->steps.data[i].transition.kind == EG_TRANSITION_REORDER;
}

/// A plan run over watched channels (watched_channel.h), and what was seen.
typedef struct watch {
  const eg_plan *plan;
  const eg_plan_run *run;
  uint32_t fails_at;        // collective of rank 0 that fails; 0: none
  atomic_uint lent, broken; // the latter: written over, or not settled in the end
} watch;

static egraph_status run_watched(void *user, eg_channel *channel) {
  watch *w = user;
  watched_channel watched;
  watched_init(&watched, channel);
  if (channel->rank == 0) watched.fails_at = w->fails_at;
  egraph_status status = eg_plan_run_rank(NULL, w->plan, &watched.base, w->run);
  atomic_fetch_add(&w->lent, watched.lent);
  atomic_fetch_add(&w->broken, watched.broken + watched_has_loans(&watched));
  return status;
}

static egraph_status run_plan(const eg_plan *plan, const eg_plan_run *run,
                              watch *watched) {
  if (watched == NULL) return eg_plan_run_local(NULL, plan, run);
  watched->plan = plan;
  watched->run = run;
  return eg_local_ranks_run(NULL, &plan->mesh, &run->channel, run_watched, watched);
}

/// `formats` NULL: all tensors are plain. `watched` NULL: nobody watches.
static void run_random(uint64_t seed, eg_rank_options device, tally *formats,
                       watch *watched) {
  const eg_rank_options *rank = &device;
  draft d = {.rng = {seed}, .channels = 4, .images = 1};
  if (formats != NULL) d.channels = 32, d.images = 2;
  eg_graph *graph = draw_graph(&d);
  kit_tensors inputs, want, have;
  kit_inputs_draw(graph, &inputs);
  kit_run(graph, "reference", 1, &inputs, &want);
  kit_outputs_alloc(graph, &have);
  eg_plan plan;
  const char *mesh = meshes[eg_rng_below(&d.rng, MESHES)];
  open_plan(&plan, graph, mesh);
  plan_maker maker = {.plan = &plan,
                      .rng = {seed + 1},
                      .strategy = UINT32_MAX,
                      .draws_formats = formats != NULL};
  plan_make(&maker);
  if (formats != NULL) add_to_tally(&plan, formats);
  eg_plan_run run = {.rank = *rank,
                     .channel = EG_CHANNEL_OPTIONS_DEFAULT,
                     .steps = 2,
                     .inputs = inputs.items,
                     .outputs = have.items};
  egraph_status status = run_plan(&plan, &run, watched);
  bool is_told = status == EGRAPH_E_UNSUPPORTED && watched != NULL && watched->fails_at;
  double error = status == EGRAPH_OK ? kit_error(&want, &have) : is_told ? 0 : INFINITY;
  if (!(error <= 10 * plan_tolerance(&want)))
    fail_msg("seed %llu, mesh '%s', back-end %s: error %g; %s\n%s",
             (unsigned long long)seed, mesh, rank->backend, error,
             status == EGRAPH_OK ? "" : egraph_last_error(), d.text);
  eg_plan_deinit(&plan);
  kit_tensors_deinit(&inputs);
  kit_tensors_deinit(&want);
  kit_tensors_deinit(&have);
  eg_graph_destroy(graph);
}

static void random_graphs_in_random_layouts_compute_the_same(void **state) {
  (void)state;
  uint64_t seed = test_seed(30);
  for (size_t round = 0; round < test_rounds(75 * device_count); round++)
    run_random(seed + 1000 * round, device_at(round), NULL, NULL);
}

static void random_graphs_in_random_formats_compute_the_same(void **state) {
  (void)state;
  tally all = {.reorders = 0};
  uint64_t seed = test_seed(32);
  for (size_t round = 0; round < test_rounds(50 * device_count); round++)
    run_random(seed + 1000 * round, device_at(round), &all, NULL);
  print_message("%u moves between formats, %u constants\n", all.reorders, all.constants);
  for (uint32_t f = 0; f < EG_FORMAT_COUNT; f++)
    assert_true(all.formats[f] > 0);
  assert_true(all.reorders > 0 && all.constants > 0);
}

static void watch_random(uint64_t seed, size_t round, watch *inout) {
  tally formats = {.reorders = 0};
  run_random(seed + 1000 * round, devices[0], round % 2 == 0 ? NULL : &formats, inout);
  if (inout->broken != 0)
    fail_msg("seed %llu: memory that other ranks may read is written, or let go of",
             (unsigned long long)(seed + 1000 * round));
}

static void what_is_lent_is_not_written(void **state) {
  (void)state;
  watch all = {.fails_at = 0};
  uint64_t seed = test_seed(34);
  for (size_t round = 0; round < test_rounds(200); round++)
    watch_random(seed, round, &all);
  print_message("%u loans\n", all.lent);
  assert_true(all.lent > 0);
}

static void a_run_that_fails_settles(void **state) {
  (void)state;
  watch all = {.fails_at = 0};
  uint64_t seed = test_seed(35);
  for (size_t round = 0; round < test_rounds(60); round++) {
    all.fails_at = 1 + (uint32_t)round % 20;
    watch_random(seed, round, &all);
  }
  assert_true(all.lent > 0);
}

// ---- training steps -----------------------------------------------------------------

// Least squares with momentum. Loss l; s is the sum of gradients, m the velocity, w the
// weight.
static const char training_text[] =
    "(egraph-graph 1)"
    "(input x \"float32[8,4]\")(input t \"float32[8,6]\")(input w \"float32[4,6]\")"
    "(input s \"float32[4,6]\")(input m \"float32[4,6]\")"
    "(weight mu \"float32[]\" [0.9])(weight lr \"float32[]\" [0.01])"
    "(let y (matmul x w))(let d (sub y t))(let q (square d))"
    "(let l (reduce-sum :axes [0 1] :keepdims 0 q))"
    "(let g (matmul :transA 1 x d))(let s2 (add s g))"
    "(let f (mul m mu))(let m2 (add f s2))(let u (mul m2 lr))(let w2 (sub w u))"
    "(output l)(output s2)(output m2)(output w2)";
static const eg_phase training_phases[] = {
    EG_PHASE_FORWARD,  EG_PHASE_FORWARD,  EG_PHASE_FORWARD, EG_PHASE_FORWARD,
    EG_PHASE_BACKWARD, EG_PHASE_BACKWARD, EG_PHASE_UPDATE,  EG_PHASE_UPDATE,
    EG_PHASE_UPDATE,   EG_PHASE_UPDATE};
enum { IN_X, IN_T, IN_W, IN_S, IN_M, INPUTS };
enum { OUT_L, OUT_S, OUT_M, OUT_W, OUTPUTS };
enum { MOST_MICRO_BATCHES = 3 };

typedef struct training {
  eg_graph *graph;
  eg_plan plan;
  kit_tensors inputs[MOST_MICRO_BATCHES]; // s, m and w: what they begin with
  eg_tensor rows[MOST_MICRO_BATCHES * INPUTS];
} training;

static void carry(eg_plan *plan, uint32_t output, uint32_t input) {
  assert_ok(eg_u32s_push(&plan->carried, output));
  assert_ok(eg_u32s_push(&plan->carried, eg_graph_input(plan->graph, input).id));
}

static void training_init(training *t, const char *mesh, uint32_t micro_batches,
                          uint64_t seed) {
  t->graph = kit_parse("training", training_text);
  open_plan(&t->plan, t->graph, mesh);
  t->plan.micro_batches = micro_batches;
  carry(&t->plan, OUT_S, IN_S);
  carry(&t->plan, OUT_M, IN_M);
  carry(&t->plan, OUT_W, IN_W);
  plan_maker maker = {
      .plan = &t->plan, .rng = {seed}, .phases = training_phases, .strategy = UINT32_MAX};
  plan_make(&maker);
  for (uint32_t m = 0; m < micro_batches; m++) {
    kit_inputs_draw(t->graph, &t->inputs[m]);
    for (uint32_t i = 0; i < INPUTS; i++) {
      const eg_tensor *tensor = &t->inputs[m].items[i];
      int64_t count = eg_type_elements(&tensor->type);
      for (int64_t e = 0; m != 0 && e < count; e++) // other data in each micro-batch
        eg_tensor_set_double(tensor, e,
                             eg_tensor_get_double(tensor, (e * 5 + m) % count) / m);
      if (i == IN_S || i == IN_M) memset(tensor->data, 0, eg_type_bytes(&tensor->type));
      t->rows[m * INPUTS + i] = *tensor;
    }
  }
}

static void training_deinit(training *t) {
  for (uint32_t m = 0; m < t->plan.micro_batches; m++)
    kit_tensors_deinit(&t->inputs[m]);
  eg_plan_deinit(&t->plan);
  eg_graph_destroy(t->graph);
}

static void copy_tensor(const eg_tensor *to, const eg_tensor *from) {
  memcpy(to->data, from->data, eg_type_bytes(&from->type));
}

/// On one device, by the book: the sum begins as zeros, goes from micro-batch to
/// micro-batch; m and w of the last one count. losses[m] are those of the last step.
static void train_alone(const training *t, uint32_t steps, kit_tensors *out,
                        double *losses) {
  eg_session *session;
  eg_session_options options = {.backend = "reference", .threads = 1, .seed = 7};
  kit_tensors in;
  kit_inputs_draw(t->graph, &in);
  kit_outputs_alloc(t->graph, out);
  assert_ok(eg_session_create(NULL, t->graph, &options, &session));
  copy_tensor(&in.items[IN_W], &t->inputs[0].items[IN_W]);
  copy_tensor(&in.items[IN_M], &t->inputs[0].items[IN_M]);
  for (uint32_t step = 0; step < steps; step++) {
    copy_tensor(&in.items[IN_S], &t->inputs[0].items[IN_S]);
    for (uint32_t m = 0; m < t->plan.micro_batches; m++) {
      copy_tensor(&in.items[IN_X], &t->inputs[m].items[IN_X]);
      copy_tensor(&in.items[IN_T], &t->inputs[m].items[IN_T]);
      assert_ok(eg_session_run(session, in.items, out->items));
      copy_tensor(&in.items[IN_S], &out->items[OUT_S]);
      losses[m] = eg_tensor_get_double(&out->items[OUT_L], 0);
    }
    copy_tensor(&in.items[IN_M], &out->items[OUT_M]);
    copy_tensor(&in.items[IN_W], &out->items[OUT_W]);
  }
  kit_tensors_deinit(&in);
  eg_session_destroy(session);
}

typedef struct job {
  const training *t;
  const eg_rank_options *rank;
  uint32_t steps, step;
  kit_tensors *have;
  double losses[MOST_MICRO_BATCHES];
} job;

static egraph_status fetch_loss(void *user, eg_rank_program *program, uint32_t index) {
  job *j = user;
  float loss;
  eg_tensor to = {.type = j->have->items[OUT_L].type, .data = &loss};
  EG_TRY(eg_rank_program_fetch(program, OUT_L, &to));
  j->losses[index] = (double)loss;
  return EGRAPH_OK;
}

static egraph_status run_steps(const job *j, eg_rank_program *program, bool is_writer) {
  const training *t = j->t;
  EG_TRY(eg_rank_program_load(program));
  EG_TRY(eg_rank_program_put(program, eg_graph_input(t->graph, IN_W),
                             &t->inputs[0].items[IN_W]));
  for (uint32_t step = 0; step < j->steps; step++)
    EG_TRY(eg_rank_program_run(program, t->rows));
  for (uint32_t i = 0; i < OUTPUTS; i++) {
    eg_tensor to = j->have->items[i];
    if (!is_writer) to.data = NULL;
    EG_TRY(eg_rank_program_fetch(program, i, &to));
  }
  return EGRAPH_OK;
}

static egraph_status train(void *user, eg_channel *channel) {
  job *shared = user;
  job own = *shared;
  eg_rank_program *program;
  eg_rank_options options = *own.rank;
  options.after_micro_batch = fetch_loss;
  options.user = &own;
  EG_TRY(eg_rank_program_create(NULL, &own.t->plan, channel, &options, &program));
  bool is_last = channel->rank + 1 == eg_mesh_devices(&channel->mesh);
  egraph_status status = run_steps(&own, program, is_last);
  if (is_last) memcpy(shared->losses, own.losses, sizeof own.losses);
  eg_rank_program_destroy(program);
  return status;
}

static void train_on(const char *mesh, eg_rank_options device, uint32_t micro_batches,
                     uint64_t seed) {
  const eg_rank_options *rank = &device;
  training t;
  kit_tensors want, have;
  double losses[MOST_MICRO_BATCHES];
  training_init(&t, mesh, micro_batches, seed);
  train_alone(&t, 3, &want, losses);
  kit_outputs_alloc(t.graph, &have);
  job j = {.t = &t, .rank = rank, .steps = 3, .have = &have};
  eg_channel_options options = EG_CHANNEL_OPTIONS_DEFAULT;
  assert_ok(eg_local_ranks_run(NULL, &t.plan.mesh, &options, train, &j));
  double error = kit_error(&want, &have);
  if (!(error < 1e-4))
    fail_msg("mesh '%s', seed %u: error %g", mesh, (unsigned)seed, error);
  for (uint32_t m = 0; m < micro_batches; m++)
    assert_true(fabs(losses[m] - j.losses[m]) < 1e-4 * fabs(losses[m]));
  kit_tensors_deinit(&want);
  kit_tensors_deinit(&have);
  training_deinit(&t);
}

static void what_is_carried_goes_from_step_to_step(void **state) {
  (void)state;
  uint64_t seed = test_seed(31);
  for (size_t round = 0; round < test_rounds(25 * device_count); round++)
    train_on(meshes[round % MESHES], device_at(round + round / MESHES),
             1 + (uint32_t)(round / MESHES) % MOST_MICRO_BATCHES, seed + round);
}

int main(int argc, char **argv) {
  const device_plugins plugins = kit_plugins_of(argc, argv, EG_DISTANT_PLUGIN);
  if (!kit_has_device(&plugins)) return 77;
  if (plugins.is_real && !kit_has_transport()) device_count--;
  bool are_given = argc > 1;
  if (are_given) first_device = IN_HOST_MEMORY, device_count -= IN_HOST_MEMORY;
  const struct CMUnitTest on_devices[] = {
      cmocka_unit_test(random_graphs_in_random_layouts_compute_the_same),
      cmocka_unit_test(random_graphs_in_random_formats_compute_the_same),
      cmocka_unit_test(what_is_carried_goes_from_step_to_step),
  };
  const struct CMUnitTest in_host_memory[] = {
      cmocka_unit_test(what_is_lent_is_not_written),
      cmocka_unit_test(a_run_that_fails_settles),
  };
  int failures = cmocka_run_group_tests(on_devices, NULL, NULL);
  if (!are_given) failures += cmocka_run_group_tests(in_host_memory, NULL, NULL);
  return failures;
}
