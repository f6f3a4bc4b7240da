// Prints seconds of a training step on two ranks, one thread each: for the chosen plan,
// the best data-parallel plan, and one device. Seconds are predicted from measured
// operators and messages, and measured in turn. The processor time of a rank is printed
// next to the elapsed time. It is the better measure when other programs use the
// processors: it excludes waiting for them (and for messages).
//
//   step_times [ROUNDS]      default 5
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/owner.h"
#include "base/quantile.h"
#include "exec/exchange_probe.h"
#include "exec/profile.h"
#include "exec/rank_program.h"
#include "optimize/search/planner.h"
#include "pcg/graph/weights.h"

enum { RANKS = 2, STEPS = 8, MAX_ROUNDS = 100, MAX_INPUTS = 256 };

typedef struct variant {
  const char *name, *mesh;
  bool is_data_parallel;
} variant;
static const variant variants[] = {{"chosen", "cpu=2", false},
                                   {"data parallel", "cpu=2", true},
                                   {"one device", "", false}};
enum { VARIANTS = sizeof variants / sizeof *variants };

typedef struct bench {
  egraph_allocator heap;
  eg_profiler *profiler;
  eg_cost_model *costs;
  eg_link_figures link;
  uint32_t rounds;
} bench;

/// The plan of a variant of `variants`, and the times of its steps.
typedef struct timed {
  double predicted;
  eg_emitted_plan plan;
  double seconds[MAX_ROUNDS * STEPS], busy[MAX_ROUNDS * STEPS];
  size_t count;
} timed;

// ---- models -------------------------------------------------------------------------

static egraph_status print_mlp(eg_text *text) {
  enum { LAYERS = 4, BATCH = 128, WIDTH = 1024 };
  EG_TRY(eg_text_printf(text, "(egraph-graph 1)(input x0 \"float32[%d,%d]\")\n", BATCH,
                        WIDTH));
  for (int i = 0; i < LAYERS; i++)
    EG_TRY(eg_text_printf(text,
                          "(weight w%d \"float32[%d,%d]\")(let m%d (matmul x%d w%d))"
                          "(let x%d (relu m%d))\n",
                          i, WIDTH, WIDTH, i, i, i, i + 1, i));
  return eg_text_printf(text, "(output x%d)\n", LAYERS);
}

static egraph_status print_projection(eg_text *text, const char *name, int batch,
                                      int tokens, int heads, int width) {
  return eg_text_printf(text,
                        "(weight w%s \"float32[%d,%d]\")(let %s1 (matmul n w%s))"
                        "(let %s2 (reshape :shape [%d %d %d %d] %s1))"
                        "(let %s3 (transpose :perm [0 2 1 3] %s2))\n",
                        name, width, width, name, name, name, batch, tokens, heads,
                        width / heads, name, name, name);
}

static egraph_status print_block(eg_text *text) {
  enum { BATCH = 4, TOKENS = 64, HEADS = 8, WIDTH = 512 };
  EG_TRY(eg_text_printf(text,
                        "(egraph-graph 1)(input x \"float32[%d,%d,%d]\")"
                        "(weight s \"float32[%d]\")(weight t \"float32[%d]\")"
                        "(let n (layer-normalization x s t))\n",
                        BATCH, TOKENS, WIDTH, WIDTH, WIDTH));
  EG_TRY(print_projection(text, "q", BATCH, TOKENS, HEADS, WIDTH));
  EG_TRY(print_projection(text, "k", BATCH, TOKENS, HEADS, WIDTH));
  EG_TRY(print_projection(text, "v", BATCH, TOKENS, HEADS, WIDTH));
  return eg_text_printf(
      text,
      "(weight wo \"float32[%d,%d]\")(weight wa \"float32[%d,%d]\")"
      "(weight wb \"float32[%d,%d]\")(weight c \"float32[%d]\")(weight d \"float32[%d]\")"
      "(let a1 (matmul :transB 1 q3 k3))(let a2 (softmax a1))(let a3 (matmul a2 v3))"
      "(let a4 (transpose :perm [0 2 1 3] a3))(let a5 (reshape :shape [%d %d %d] a4))"
      "(let o (matmul a5 wo))(let r (add x o))(let m (layer-normalization r c d))"
      "(let f1 (matmul m wa))(let f2 (gelu f1))(let f3 (matmul f2 wb))"
      "(let y (add r f3))(output y)\n",
      WIDTH, WIDTH, WIDTH, 4 * WIDTH, 4 * WIDTH, WIDTH, WIDTH, WIDTH, BATCH, TOKENS,
      WIDTH);
}

typedef struct model {
  const char *name;
  egraph_status (*print)(eg_text *text);
} model;
static const model models[] = {{"mlp", print_mlp}, {"transformer block", print_block}};

// ---- costs --------------------------------------------------------------------------

/// Requests the measurement of each node that planning prices.
static egraph_status note_node(void *self, const eg_node_spec *local,
                               eg_node_price *out) {
  out->seconds = 1;
  return eg_cost_request(self, local);
}

static double no_transition(void *self, const eg_transition *transition, double bytes) {
  (void)self, (void)transition, (void)bytes;
  return 1;
}

static double no_halo(void *self, const eg_halo *halo, const eg_type *local) {
  (void)self, (void)halo, (void)local;
  return 1;
}

static egraph_status measure_operators(const bench *b, eg_tensor_egraph *egraph,
                                       const eg_step_info *info, const eg_mesh *mesh) {
  const eg_plan_costs noting = {
      .self = b->costs, .node = note_node, .transition = no_transition, .halo = no_halo};
  const eg_measurer measurer = {.measure = eg_profiler_measure, .self = b->profiler};
  eg_plan_space space;
  EG_TRY(eg_plan_space_init(&space, b->heap, egraph, info, mesh, &noting));
  eg_plan_space_deinit(&space);
  return eg_cost_measure(b->costs, &measurer, NULL, NULL);
}

static egraph_status make_machine(const bench *b, uint32_t ranks, eg_machine *out) {
  EG_LOCAL(eg_text, text, b->heap);
  EG_TRY(eg_text_printf(
      &text,
      "(egraph-machine 1)(name probed)(device (memory 1e12)(bandwidth 1e10)(overhead 0)"
      "(peak (float32 4e10)))(link threads (latency %.9f)(bandwidth %.0f))"
      "(axis cpu %u threads)",
      b->link.latency_seconds, 1 / b->link.seconds_per_byte, (unsigned)ranks));
  return eg_machine_parse(&b->heap, "probed", eg_text_of(&text), text.chars.len, 0, out);
}

// ---- plans --------------------------------------------------------------------------

static bool is_whole(const eg_mesh *mesh, const eg_layout *layout) {
  static const eg_layout whole = {0};
  return eg_layout_same(mesh, layout, &whole);
}

/// Keeps only strategies that need all of each weight and optimizer state on each device.
static void keep_data_parallel(eg_plan_space *space) {
  for (uint32_t o = 0; o < space->operators.len; o++) {
    eg_space_operator *op = &space->operators.data[o];
    uint32_t kept = 0;
    for (uint32_t s = 0; s < op->strategy_count; s++) {
      const eg_space_strategy *strategy = &space->strategies.data[op->strategies + s];
      bool is_in = true;
      for (uint32_t i = 0; i < op->input_count; i++) {
        uint32_t v = space->inputs.data[op->inputs + i];
        const eg_layout *need =
            &eg_plan_space_layouts(space, v)
                 ->layouts.data[space->needs.data[strategy->needs + i]];
        for (uint32_t c = 0; c < space->info->carried_count; c++)
          if (eg_plan_space_value(space,
                                  eg_tensor_egraph_value_class(
                                      space->egraph, space->info->carried[c].entry)) == v)
            is_in = is_in && is_whole(&space->mesh, need);
      }
      if (is_in) space->strategies.data[op->strategies + kept++] = *strategy;
    }
    op->strategy_count = kept;
  }
}

static egraph_status solve(const bench *b, const eg_plan_space *space, timed *out) {
  eg_plan_model plan_model;
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  options.time_limit_seconds = 120;
  EG_LOCAL(eg_layout_result, result, b->heap);
  EG_TRY(eg_plan_model_init(&plan_model, b->heap, space));
  egraph_status status = eg_layout_solve(b->heap, &plan_model.problem, &options, &result);
  if (status == EGRAPH_OK && result.solutions.len == 0)
    status = EG_FAIL(EGRAPH_E_UNSUPPORTED, "no plan was found in time");
  if (status == EGRAPH_OK) {
    out->predicted = result.cost;
    status = eg_plan_emit(&plan_model, b->heap, &result.solutions.data[0], &out->plan);
  }
  eg_plan_model_deinit(&plan_model);
  return status;
}

static egraph_status plan_variant(const bench *b, eg_tensor_egraph *egraph,
                                  const eg_step_info *info, const variant *v,
                                  const eg_machine *machine, timed *out) {
  eg_machine_mesh mesh;
  eg_mesh axes;
  eg_machine_costs costs = {.mesh = &mesh};
  eg_plan_space space;
  EG_TRY(eg_mesh_parse(v->mesh, &axes));
  EG_TRY(eg_machine_mesh_of(machine, &axes, NULL, &mesh));
  EG_TRY(measure_operators(b, egraph, info, &axes));
  EG_TRY(eg_device_cost_init(&costs.device, machine, b->costs));
  const eg_plan_costs asked = eg_machine_plan_costs(&costs);
  EG_TRY(eg_plan_space_init(&space, b->heap, egraph, info, &axes, &asked));
  if (v->is_data_parallel) keep_data_parallel(&space);
  egraph_status status = solve(b, &space, out);
  eg_plan_space_deinit(&space);
  return status;
}

// ---- runs ---------------------------------------------------------------------------

static egraph_status note_step(void *user, const eg_step_report *report) {
  timed *t = user;
  if (report->step == 0) return EGRAPH_OK; // touches memory for the first time
  t->seconds[t->count] = report->seconds;
  t->busy[t->count++] = report->busy_seconds;
  return EGRAPH_OK;
}

static void fill_tensor(const char *name, const eg_tensor *tensor) {
  if (strcmp(name, "learning_rate") == 0 || strcmp(name, "step") == 0)
    eg_tensor_set_double(tensor, 0, name[0] == 's' ? 1 : 1e-3);
  else if (name[0] == 'x' || strcmp(name, "target") == 0)
    eg_input_draw(name, 1, tensor);
  else if (strchr(name, '.') == NULL)
    eg_weight_draw(name, 1, tensor);
}

static egraph_status run_plan(const bench *b, timed *t) {
  const eg_graph *graph = t->plan.graph;
  eg_tensor inputs[MAX_INPUTS], *outputs;
  EG_LOCAL(eg_arena, arena, b->heap);
  EG_NEW(&arena, eg_graph_output_count(graph), outputs);
  for (uint32_t i = 0; i < eg_graph_input_count(graph); i++) {
    const eg_value_info *info = eg_graph_value(graph, eg_graph_input(graph, i));
    inputs[i] = (eg_tensor){.type = info->type};
    EG_TRY(eg_arena_alloc(&arena, eg_type_bytes(&info->type), 1, &inputs[i].data));
    fill_tensor(info->name, &inputs[i]);
  }
  const eg_plan_run what = {.rank = EG_RANK_OPTIONS_DEFAULT,
                            .channel = EG_CHANNEL_OPTIONS_DEFAULT,
                            .on_step = note_step,
                            .user = t,
                            .steps = STEPS,
                            .inputs = inputs,
                            .outputs = outputs};
  return eg_plan_run_local(&b->heap, &t->plan.plan, &what);
}

static egraph_status run_in_turn(const bench *b, timed *all) {
  for (uint32_t round = 0; round < b->rounds; round++)
    for (int v = 0; v < VARIANTS; v++)
      EG_TRY(run_plan(b, &all[v]));
  return EGRAPH_OK;
}

// ---- tables -------------------------------------------------------------------------

static void print_results(const char *name, timed *all) {
  double busy[VARIANTS], clock[VARIANTS];
  bool in_order = true;
  printf("\n%-20s %12s %12s %12s %18s\n", name, "predicted ms", "busy ms", "clock ms",
         "busy of predicted");
  for (int v = 0; v < VARIANTS; v++) {
    busy[v] = eg_median(all[v].busy, all[v].count);
    clock[v] = eg_median(all[v].seconds, all[v].count);
    printf("%-20s %12.3f %12.3f %12.3f %18.2f\n", variants[v].name,
           1e3 * all[v].predicted, 1e3 * busy[v], 1e3 * clock[v],
           busy[v] / all[v].predicted);
  }
  for (int v = 1; v < VARIANTS; v++) {
    printf("%s over chosen: predicted %.2f, busy %.2f, clock %.2f\n", variants[v].name,
           all[v].predicted / all[0].predicted, busy[v] / busy[0], clock[v] / clock[0]);
    for (int w = 0; w < v; w++)
      in_order =
          in_order && (all[w].predicted <= all[v].predicted) == (busy[w] <= busy[v]);
  }
  printf("the order is %s\n", in_order ? "as predicted" : "NOT as predicted");
}

static egraph_status plan_and_run(const bench *b, const eg_training *training,
                                  const eg_machine machines[2], const char *name) {
  eg_training_info info;
  EG_HELD(eg_tensor_egraph, egraph);
  timed *all = NULL;
  EG_TRY(eg_training_info_init(&info, b->heap, training, NULL));
  egraph_status status = eg_alloc(b->heap, VARIANTS, sizeof *all, &all);
  if (status == EGRAPH_OK)
    status = eg_tensor_egraph_create(&b->heap, training->graph, &egraph);
  if (status == EGRAPH_OK) status = eg_engine_rebuild(eg_tensor_egraph_engine(egraph));
  for (int v = 0; status == EGRAPH_OK && v < VARIANTS; v++)
    status = plan_variant(b, egraph, &info.info, &variants[v],
                          &machines[variants[v].mesh[0] != '\0'], &all[v]);
  if (status == EGRAPH_OK) status = run_in_turn(b, all);
  if (status == EGRAPH_OK) print_results(name, all);
  for (int v = 0; all != NULL && v < VARIANTS; v++)
    if (all[v].plan.graph != NULL) eg_emitted_plan_deinit(&all[v].plan);
  eg_free(b->heap, all, VARIANTS, sizeof *all);
  eg_training_info_deinit(&info);
  return status;
}

static egraph_status bench_model(const bench *b, const model *m,
                                 const eg_machine machines[2]) {
  EG_LOCAL(eg_text, text, b->heap);
  EG_HELD(eg_graph, graph);
  EG_OWNED(eg_training, training);
  eg_training_options options = EG_TRAINING_OPTIONS_DEFAULT;
  options.loss = EG_LOSS_SQUARED_ERROR;
  options.optimizer = EG_OPTIMIZER_ADAM;
  EG_TRY(m->print(&text));
  EG_TRY(eg_graph_parse(&b->heap, m->name, eg_text_of(&text), text.chars.len, &graph));
  EG_TRY(eg_training_step(graph, &options, &training));
  return plan_and_run(b, &training, machines, m->name);
}

// ---- the program --------------------------------------------------------------------

static egraph_status bench_all(bench *b) {
  eg_machine machines[2];
  EG_TRY(eg_local_probe(&b->heap, RANKS, &b->link));
  printf("messages between threads: %.1f us, %.2f GB/s\n", 1e6 * b->link.latency_seconds,
         1e-9 / b->link.seconds_per_byte);
  EG_TRY(make_machine(b, 1, &machines[0]));
  egraph_status status = make_machine(b, RANKS, &machines[1]);
  for (size_t m = 0; status == EGRAPH_OK && m < sizeof models / sizeof *models; m++)
    status = bench_model(b, &models[m], machines);
  eg_machine_deinit(&machines[0]);
  eg_machine_deinit(&machines[1]);
  return status;
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 5;
  bench b = {.heap = eg_allocator_heap(), .rounds = (uint32_t)rounds};
  if (argc > 2 || rounds < 1 || rounds > MAX_ROUNDS) {
    fprintf(stderr, "usage: %s [ROUNDS], 1 to %d\n", argv[0], MAX_ROUNDS);
    return 2;
  }
  const eg_profiler_options profiler = EG_PROFILER_OPTIONS_DEFAULT;
  const eg_cost_options costs = {.machine = "host"};
  egraph_status status = eg_profiler_create(NULL, &profiler, &b.profiler);
  if (status == EGRAPH_OK) status = eg_cost_model_create(NULL, &costs, &b.costs);
  if (status == EGRAPH_OK) status = bench_all(&b);
  if (status != EGRAPH_OK) fprintf(stderr, "step_times: %s\n", egraph_last_error());
  eg_cost_model_destroy(b.costs);
  eg_profiler_destroy(b.profiler);
  return status == EGRAPH_OK ? 0 : 1;
}
