// Programs of ranks: memory, inputs in blocks, what goes wrong.
// SPDX-License-Identifier: Apache-2.0
#include "exec/local/local_channel.h"
#include "tests/locked_allocator.h"
#include "tests/unit/random_plans.h"

// A plan with its graph and tensors; all nodes run on the strategies given by the seed.
typedef struct setup {
  eg_graph *graph;
  eg_plan plan;
  kit_tensors inputs, outputs;
} setup;

static void setup_init(setup *s, const char *text, const char *mesh, uint64_t seed) {
  s->graph = kit_parse("test", text);
  eg_plan_init(&s->plan, eg_allocator_heap());
  s->plan.graph = s->graph;
  assert_ok(eg_mesh_parse(mesh, &s->plan.mesh));
  kit_inputs_draw(s->graph, &s->inputs);
  kit_outputs_alloc(s->graph, &s->outputs);
  plan_maker maker = {.plan = &s->plan, .rng = {seed}, .strategy = UINT32_MAX};
  if (seed != 0) plan_make(&maker);
}

static void setup_deinit(setup *s) {
  kit_tensors_deinit(&s->inputs);
  kit_tensors_deinit(&s->outputs);
  eg_plan_deinit(&s->plan);
  eg_graph_destroy(s->graph);
}

static egraph_status open_program(const setup *s, eg_channel *channel,
                                  const char *backend, eg_rank_program **out) {
  eg_rank_options options = {.backend = backend, .threads = 1, .seed = 7};
  return eg_rank_program_create(NULL, &s->plan, channel, &options, out);
}

static egraph_status run_ranks(const setup *s, eg_rank_body body, void *user) {
  eg_channel_options options = {.deadline_seconds = 3600};
  return eg_local_ranks_run(NULL, &s->plan.mesh, &options, body, user);
}

// ---- plans by hand ------------------------------------------------------------------

static uint32_t state(setup *s, const char *value, const char *layout, uint32_t step) {
  eg_plan_state made = {.step = step};
  assert_true(eg_graph_find_value(s->graph, value, &made.value));
  assert_ok(eg_layout_parse(&s->plan.mesh, layout, &made.layout));
  assert_ok(eg_plan_states_push(&s->plan.states, made));
  return (uint32_t)s->plan.states.len - 1;
}

static uint32_t entry(setup *s, const char *value, const char *layout) {
  return state(s, value, layout, EG_PLAN_NONE);
}

static uint32_t move_to(setup *s, uint32_t from, const char *layout) {
  eg_plan_step step = {.is_move = true, .from = from};
  const char *name = eg_graph_value(s->graph, s->plan.states.data[from].value)->name;
  step.to = state(s, name, layout, (uint32_t)s->plan.steps.len);
  assert_true(
      eg_transition_between(&s->plan.mesh, NULL, &s->plan.states.data[from].layout,
                            &s->plan.states.data[step.to].layout, &step.transition));
  assert_ok(eg_plan_steps_push(&s->plan.steps, step));
  return step.to;
}

/// The next node of the graph, replicated.
static uint32_t replicate_all(setup *s, const char *result, const uint32_t *operands,
                              size_t count) {
  eg_plan_step step = {.operands = (uint32_t)s->plan.operands.len};
  for (size_t i = 0; i < s->plan.steps.len; i++)
    step.node.id += !s->plan.steps.data[i].is_move;
  uint32_t made = state(s, result, "R", (uint32_t)s->plan.steps.len);
  assert_ok(eg_u32s_append(&s->plan.operands, operands, count));
  assert_ok(eg_u32s_push(&s->plan.operands, made));
  assert_ok(eg_plan_steps_push(&s->plan.steps, step));
  return made;
}

static uint32_t replicate(setup *s, const char *result, uint32_t a, uint32_t b) {
  return replicate_all(s, result, (uint32_t[]){a, b}, b == EG_PLAN_NONE ? 1 : 2);
}

static void leave(setup *s, uint32_t made) {
  assert_ok(eg_u32s_push(&s->plan.output_states, made));
}

// ---- memory -------------------------------------------------------------------------

typedef struct sizes {
  const setup *s;
  size_t arena[8], kernels[8], weights[8];
} sizes;

static egraph_status note_sizes(void *user, eg_channel *channel) {
  sizes *noted = user;
  eg_rank_program *program;
  EG_TRY(open_program(noted->s, channel, "cpu", &program));
  eg_rank_memory memory = eg_rank_program_memory(program);
  noted->arena[channel->rank] = memory.arena;
  noted->kernels[channel->rank] = memory.kernels;
  noted->weights[channel->rank] = memory.weights + memory.packed;
  eg_rank_program_destroy(program);
  return EGRAPH_OK;
}

// relu in the memory of its operand, the slice inside it; the gathered one needs its own.
static void slices_by_rows_are_views(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s, "(egraph-graph 1)(input x \"float32[64,64]\")(let y (relu x))(output y)",
             "a=2", 0);
  uint32_t y = replicate(&s, "y", entry(&s, "x", "R"), EG_PLAN_NONE);
  leave(&s, move_to(&s, y, "S0"));
  sizes noted = {.s = &s};
  assert_ok(run_ranks(&s, note_sizes, &noted));
  for (int rank = 0; rank < 2; rank++) {
    assert_int_equal(noted.arena[rank], 64 * 64 * 4);
    assert_int_equal(noted.weights[rank], 0);
  }
  setup_deinit(&s);
}

/// The next node, by the only split that fits its states.
static void split(setup *s, uint32_t from, uint32_t to) {
  eg_plan_step step = {.operands = (uint32_t)s->plan.operands.len};
  assert_ok(eg_u32s_append(&s->plan.operands, (uint32_t[]){from, to}, 2));
  assert_ok(eg_plan_steps_push(&s->plan.steps, step));
  uint8_t *action = &s->plan.steps.data[s->plan.steps.len - 1].action[0];
  for (*action = EG_ACTION_SPLIT; *action < EG_ACTION_SPLIT + 8; ++*action)
    if (eg_plan_check(&s->plan, eg_allocator_heap()) == EGRAPH_OK) return;
  fail_msg("no split fits");
}

// 64 rows of 256 bytes on each rank. There is no room for a second block: a strip has
// four rows, three of the operand, one of the result; four are sent or come.
static void windows_do_not_copy_the_block(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s,
             "(egraph-graph 1)(input x \"float32[1,1,128,64]\")"
             "(let y (max-pool :kernel_shape [3 3] :strides [1 1] :pads [1 1 1 1] "
             ":dilations [1 1] x))(output y)",
             "a=2", 0);
  uint32_t y = state(&s, "y", "S2", 0);
  leave(&s, y);
  split(&s, entry(&s, "x", "S2"), y);
  sizes noted = {.s = &s};
  assert_ok(run_ranks(&s, note_sizes, &noted));
  for (int rank = 0; rank < 2; rank++)
    assert_int_equal(noted.arena[rank] - noted.kernels[rank], (2 * 64 + 3 + 1 + 4) * 256);
  setup_deinit(&s);
}

static void what_is_carried_is_changed_in_place(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s,
             "(egraph-graph 1)(input w \"float32[64,64]\")(input g \"float32[64,64]\")"
             "(let v (sub w g))(output v)",
             "a=2", 0);
  uint32_t w = entry(&s, "w", "R"), g = entry(&s, "g", "R");
  leave(&s, replicate(&s, "v", w, g));
  assert_ok(eg_u32s_push(&s.plan.carried, 0));
  assert_ok(eg_u32s_push(&s.plan.carried, eg_graph_input(s.graph, 0).id));
  sizes noted = {.s = &s};
  assert_ok(run_ranks(&s, note_sizes, &noted));
  assert_int_equal(noted.arena[0], 2 * 64 * 64 * 4);
  setup_deinit(&s);
}

// u is not laid over w, which is carried and does not become u; v is, from the start.
static void what_is_carried_is_not_overwritten_by_others(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s,
             "(egraph-graph 1)(input w \"float32[64,64]\")"
             "(let u (tanh w))(let v (relu u))(output v)(output u)",
             "a=2", 0);
  uint32_t w = entry(&s, "w", "R"), u = replicate(&s, "u", w, EG_PLAN_NONE);
  leave(&s, replicate(&s, "v", u, EG_PLAN_NONE));
  leave(&s, u);
  assert_ok(eg_u32s_push(&s.plan.carried, 0));
  assert_ok(eg_u32s_push(&s.plan.carried, eg_graph_input(s.graph, 0).id));
  sizes noted = {.s = &s};
  assert_ok(run_ranks(&s, note_sizes, &noted));
  assert_int_equal(noted.arena[1], 2 * 64 * 64 * 4);
  setup_deinit(&s);
}

static void blocks_of_weights_are_held_once(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s,
             "(egraph-graph 1)(input x \"float32[8,64]\")(weight w \"float32[64,128]\")"
             "(let y (matmul x w))(output y)",
             "a=2", 0);
  uint32_t x = entry(&s, "x", "R"), w = entry(&s, "w", "S1");
  uint32_t made = state(&s, "y", "S1", 0);
  eg_plan_step step = {.action = {EG_ACTION_SPLIT + 1}};
  assert_ok(eg_u32s_append(&s.plan.operands, (uint32_t[]){x, w, made}, 3));
  assert_ok(eg_plan_steps_push(&s.plan.steps, step));
  leave(&s, made);
  assert_ok(eg_plan_check(&s.plan, eg_allocator_heap()));
  sizes noted = {.s = &s};
  assert_ok(run_ranks(&s, note_sizes, &noted));
  size_t bytes = 64 * 64 * sizeof(float);
  assert_in_range(noted.weights[0], bytes, bytes + 4096);
  setup_deinit(&s);
}

// x gives its place to b, which lies behind a in y.
static void concatenations_by_rows_are_views(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s,
             "(egraph-graph 1)(input x \"float32[64,64]\")(let a (relu x))"
             "(let b (tanh x))(let y (concat :axis 0 a b))(output y)",
             "a=2", 0);
  uint32_t x = entry(&s, "x", "R"), a = replicate(&s, "a", x, EG_PLAN_NONE);
  leave(&s, replicate(&s, "y", a, replicate(&s, "b", x, EG_PLAN_NONE)));
  sizes noted = {.s = &s};
  assert_ok(run_ranks(&s, note_sizes, &noted));
  assert_int_equal(noted.arena[0], 2 * 64 * 64 * 4);
  setup_deinit(&s);
}

// What a concatenation has put together moves into a longer one that begins with it:
// nothing is copied, and all three results take the room of the last.
static void growing_concatenations_are_views(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s,
             "(egraph-graph 1)(input x \"float32[64,64]\")(let a (relu x))"
             "(let b (tanh a))(let c (concat :axis 0 a b))(let d (sigmoid b))"
             "(let e (concat :axis 0 a b d))(let f (exp d))"
             "(let y (concat :axis 0 a b d f))(output c)(output e)(output y)",
             "a=2", 0);
  uint32_t x = entry(&s, "x", "R"), a = replicate(&s, "a", x, EG_PLAN_NONE);
  uint32_t b = replicate(&s, "b", a, EG_PLAN_NONE), c = replicate(&s, "c", a, b);
  uint32_t d = replicate(&s, "d", b, EG_PLAN_NONE);
  uint32_t e = replicate_all(&s, "e", (uint32_t[]){a, b, d}, 3);
  uint32_t f = replicate(&s, "f", d, EG_PLAN_NONE);
  leave(&s, c);
  leave(&s, e);
  leave(&s, replicate_all(&s, "y", (uint32_t[]){a, b, d, f}, 4));
  sizes noted = {.s = &s};
  assert_ok(run_ranks(&s, note_sizes, &noted));
  assert_int_equal(noted.arena[0], 4 * 64 * 64 * 4);
  setup_deinit(&s);
}

// s is computed from w at load and cut in rows; neither w nor all of s is held.
static void computed_constants_are_held_in_blocks(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s,
             "(egraph-graph 1)(input x \"float32[64,64]\")(weight w \"float32[64,64]\")"
             "(let s (relu w))(let y (add x s))(output y)",
             "a=2", 0);
  uint32_t x = entry(&s, "x", "S0"), constant = entry(&s, "s", "S0");
  uint32_t made = state(&s, "y", "S0", 0);
  eg_plan_step step = {.node = {1}, .action = {EG_ACTION_SPLIT}};
  assert_ok(eg_u32s_append(&s.plan.operands, (uint32_t[]){x, constant, made}, 3));
  assert_ok(eg_plan_steps_push(&s.plan.steps, step));
  leave(&s, made);
  assert_ok(eg_plan_check(&s.plan, eg_allocator_heap()));
  sizes noted = {.s = &s};
  assert_ok(run_ranks(&s, note_sizes, &noted));
  assert_int_equal(noted.arena[1], 32 * 64 * 4); // y over x
  assert_int_equal(noted.weights[1], 32 * 64 * 4);
  assert_ok(eg_u32s_push(&s.plan.carried, 0)); // w comes from the step before
  assert_ok(eg_u32s_push(&s.plan.carried,
                         eg_graph_node_at(s.graph, (eg_graph_node){0}).inputs[0].id));
  assert_fails(eg_plan_check(&s.plan, eg_allocator_heap()), EGRAPH_E_INTERNAL,
               "a state that nothing makes");
  setup_deinit(&s);
}

// Eight weights of 2^61 bytes: their sum is 0 where it wraps.
static void sums_of_sizes_do_not_wrap(void **unused) {
  (void)unused;
  enum { WEIGHTS = 8 };
  char text[1024] = "(egraph-graph 1)";
  size_t length = strlen(text);
  for (int i = 0; i < WEIGHTS; i++)
    length += (size_t)snprintf(text + length, sizeof text - length,
                               "(weight w%d \"uint8[2305843009213693952]\")"
                               "(let y%d (reduce-max :axes [0] :keepdims 0 w%d))"
                               "(output y%d)",
                               i, i, i, i);
  setup s;
  setup_init(&s, text, "a=1", 0);
  for (int i = 0; i < WEIGHTS; i++) {
    char weight[16], result[16];
    (void)snprintf(weight, sizeof weight, "w%d", i);
    (void)snprintf(result, sizeof result, "y%d", i);
    leave(&s, replicate(&s, result, entry(&s, weight, "R"), EG_PLAN_NONE));
  }
  assert_ok(eg_plan_check(&s.plan, eg_allocator_heap()));
  sizes noted = {.s = &s};
  assert_fails(run_ranks(&s, note_sizes, &noted), EGRAPH_E_MEMORY,
               "does not fit the address space");
  setup_deinit(&s);
}

// ---- inputs -------------------------------------------------------------------------

static egraph_status give_blocks(void *user, eg_channel *channel) {
  setup *s = user;
  eg_rank_program *program;
  float block[32];
  memcpy(block, (float *)s->inputs.items[0].data + 32 * channel->rank, sizeof block);
  int64_t dims[] = {4, 8};
  eg_tensor input = {.type = eg_type_of(EGRAPH_FLOAT32, 2, dims), .data = block};
  eg_tensor output = s->outputs.items[0];
  if (channel->rank != 1) output.data = NULL;
  EG_TRY(open_program(s, channel, "reference", &program));
  egraph_status status = eg_rank_program_load(program);
  if (status == EGRAPH_OK) status = eg_rank_program_run(program, &input);
  if (status == EGRAPH_OK) status = eg_rank_program_fetch(program, 0, &output);
  eg_rank_program_destroy(program);
  return status;
}

static void a_rank_may_be_given_its_block_only(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s,
             "(egraph-graph 1)(input x \"float32[8,8]\")(let y (identity x))(output y)",
             "a=2", 0);
  uint32_t x = entry(&s, "x", "S0");
  leave(&s, replicate(&s, "y", move_to(&s, x, "R"), EG_PLAN_NONE));
  assert_ok(run_ranks(&s, give_blocks, &s));
  assert_memory_equal(s.inputs.items[0].data, s.outputs.items[0].data, 256);
  setup_deinit(&s);
}

// ---- figures of steps ---------------------------------------------------------------

static egraph_status time_steps(void *user, eg_channel *channel) {
  setup *s = user;
  eg_rank_program *program;
  EG_TRY(open_program(s, channel, "reference", &program));
  egraph_status status = eg_rank_program_load(program);
  eg_rank_program_set_timing(program, true);
  if (status == EGRAPH_OK) status = eg_rank_program_run(program, s->inputs.items);
  const char *const kernels[] = {"reference", "all-gather", "reference"};
  bool fits = eg_rank_program_step_count(program) == 3;
  for (uint32_t i = 0; fits && i < 3; i++) {
    const eg_step_figures *step = eg_rank_program_step_at(program, i);
    fits = strcmp(step->kernel, kernels[i]) == 0 && step->seconds > 0 &&
           step->node.id == (i == 1 ? UINT32_MAX : i / 2);
  }
  eg_rank_program_destroy(program);
  return status == EGRAPH_OK && !fits ? EG_FAIL(EGRAPH_E_INTERNAL, "other steps")
                                      : status;
}

static void steps_and_moves_are_timed(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s,
             "(egraph-graph 1)(input x \"float32[64,64]\")(let y (exp x))"
             "(let z (tanh y))(output z)",
             "a=2", 0);
  eg_plan_step step = {.action = {EG_ACTION_SPLIT}};
  uint32_t x = entry(&s, "x", "S0"), y = state(&s, "y", "S0", 0);
  assert_ok(eg_u32s_append(&s.plan.operands, (uint32_t[]){x, y}, 2));
  assert_ok(eg_plan_steps_push(&s.plan.steps, step));
  leave(&s, replicate(&s, "z", move_to(&s, y, "R"), EG_PLAN_NONE));
  assert_ok(run_ranks(&s, time_steps, &s));
  setup_deinit(&s);
}

// ---- what goes wrong ----------------------------------------------------------------

static const char chain[] =
    "(egraph-graph 1)(input x \"float32[8,8]\")(weight w \"float32[8,8]\")"
    "(let y (matmul x w))(let z (softmax :axis 1 y))(output z)";

static egraph_status give_wrong_input(void *user, eg_channel *channel) {
  setup *s = user;
  eg_rank_program *program;
  eg_tensor input = s->inputs.items[0];
  if (channel->rank == 3) input.type.dims[0] = 7;
  EG_TRY(open_program(s, channel, "reference", &program));
  egraph_status status = eg_rank_program_load(program);
  eg_tensor output = {.data = NULL};
  if (status == EGRAPH_OK) status = eg_rank_program_run(program, &input);
  if (status == EGRAPH_OK) status = eg_rank_program_fetch(program, 0, &output);
  if (status == EGRAPH_OK) status = eg_channel_barrier(channel);
  eg_rank_program_destroy(program);
  return status;
}

static void a_rank_that_fails_ends_all(void **unused) {
  (void)unused;
  for (uint64_t seed = 1; seed < 20; seed++) {
    setup s;
    setup_init(&s, chain, "a=2,b=2", seed);
    assert_fails(run_ranks(&s, give_wrong_input, &s), EGRAPH_E_TYPE,
                 "rank 3 failed: input 'x': the tensor given is not of the graph's type");
    setup_deinit(&s);
  }
}

static egraph_status run_unloaded(void *user, eg_channel *channel) {
  setup *s = user;
  eg_rank_program *program;
  EG_TRY(open_program(s, channel, "reference", &program));
  egraph_status status = eg_rank_program_run(program, s->inputs.items);
  eg_rank_program_destroy(program);
  return status;
}

static egraph_status put_into_input(void *user, eg_channel *channel) {
  setup *s = user;
  eg_rank_program *program;
  EG_TRY(open_program(s, channel, "reference", &program));
  egraph_status status =
      eg_rank_program_put(program, eg_graph_input(s->graph, 0), &s->inputs.items[0]);
  eg_rank_program_destroy(program);
  return status;
}

static egraph_status only_open(void *user, eg_channel *channel) {
  eg_rank_program *program;
  EG_TRY(open_program(user, channel, "reference", &program));
  eg_rank_program_destroy(program);
  return EGRAPH_OK;
}

static void misuse_is_told(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s, chain, "a=2", 3);
  assert_fails(run_ranks(&s, run_unloaded, &s), EGRAPH_E_ARGUMENT, "not loaded yet");
  assert_fails(run_ranks(&s, put_into_input, &s), EGRAPH_E_ARGUMENT,
               "only a value that is carried");
  eg_mesh other;
  eg_channel_options options = EG_CHANNEL_OPTIONS_DEFAULT;
  assert_ok(eg_mesh_parse("a=3", &other));
  assert_fails(eg_local_ranks_run(NULL, &other, &options, only_open, &s),
               EGRAPH_E_ARGUMENT, "another mesh");
  s.plan.states.data[0].layout.sharding[0] = EG_SHARD_S0 + 5;
  assert_fails(run_ranks(&s, only_open, &s), EGRAPH_E_INTERNAL, "layout does not fit");
  setup_deinit(&s);
}

static const char window[] =
    "(egraph-graph 1)(input x \"float32[2,16,8,8]\")(weight w \"float32[16,16,3,3]\")"
    "(let y (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] x w))(output y)";

static void channels_are_cut_between_blocks(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s, window, "a=2", 0);
  uint32_t x = entry(&s, "x", "R");
  leave(&s, replicate(&s, "y", x, entry(&s, "w", "R")));
  s.plan.output_states.data[0] = move_to(&s, s.plan.output_states.data[0], "S1");
  static const struct {
    eg_format format;
    bool is_allowed;
  } cases[] = {{EG_FORMAT_PLAIN, true},
               {EG_FORMAT_NHWC, true},
               {EG_FORMAT_NCHW8C, true},    // a block on each rank
               {EG_FORMAT_NCHW16C, false}}; // one for both
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (uint32_t state = 2; state < 4; state++) // before the slice and after it
      s.plan.states.data[state].layout.format = (uint8_t)cases[i].format;
    egraph_status status = eg_plan_check(&s.plan, eg_allocator_heap());
    assert_int_equal(status, cases[i].is_allowed ? EGRAPH_OK : EGRAPH_E_INTERNAL);
  }
  setup_deinit(&s);
}

static void unknown_operators_are_named(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s,
             "(egraph-graph 1)(input x \"float32[8,8]\")"
             "(let y (opaque Fancy x) :types [\"float32[8,8]\"] :node first)(output y)",
             "a=2", 5);
  assert_fails(run_ranks(&s, only_open, &s), EGRAPH_E_UNSUPPORTED, "opaque 'first'");
  setup_deinit(&s);
}

static egraph_status run_with(egraph_allocator alloc, void *user) {
  setup *s = user;
  locked_allocator locked;
  egraph_allocator own = locked_allocator_over(&locked, alloc);
  eg_plan_run run = {.rank = {.backend = "reference", .threads = 1, .seed = 7},
                     .channel = {.deadline_seconds = 3600},
                     .steps = 1,
                     .inputs = s->inputs.items,
                     .outputs = s->outputs.items};
  return eg_plan_run_local(&own, &s->plan, &run);
}

static void ranks_survive_every_failing_allocation(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s,
             "(egraph-graph 1)(input x \"float32[1,2,8,8]\")"
             "(weight w \"float32[2,2,3,3]\")"
             "(let y (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] x w))"
             "(let z (relu y))(output z)(output y)",
             "a=2", 6);
  test_every_allocation_failing(run_with, &s);
  setup_deinit(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_of_sizes_do_not_wrap),
      cmocka_unit_test(slices_by_rows_are_views),
      cmocka_unit_test(windows_do_not_copy_the_block),
      cmocka_unit_test(what_is_carried_is_changed_in_place),
      cmocka_unit_test(what_is_carried_is_not_overwritten_by_others),
      cmocka_unit_test(blocks_of_weights_are_held_once),
      cmocka_unit_test(concatenations_by_rows_are_views),
      cmocka_unit_test(growing_concatenations_are_views),
      cmocka_unit_test(computed_constants_are_held_in_blocks),
      cmocka_unit_test(steps_and_moves_are_timed),
      cmocka_unit_test(channels_are_cut_between_blocks),
      cmocka_unit_test(a_rank_may_be_given_its_block_only),
      cmocka_unit_test(a_rank_that_fails_ends_all),
      cmocka_unit_test(misuse_is_told),
      cmocka_unit_test(unknown_operators_are_named),
      cmocka_unit_test(ranks_survive_every_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
