// egraph run: executes a graph, times its steps, or compares two graphs.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantile.h"
#include "tools/arguments.h"
#include "tools/optimize_call.h"
#include "tools/owned.h"
#include "tools/rank_tensors.h"
#include "tools/tensor_files.h"

// ---- comparing ------------------------------------------------------------------

/// Loads the second model of a comparison. A model with fixed sizes is loaded without
/// the flags for sizes.
static egraph_status load_other(const char *path, const load_flags *flags,
                                egraph_graph **out) {
  load_flags as_written = *flags;
  as_written.dims.count = 0;
  as_written.batch = 0;
  EG_TRY(load_model(path, &as_written, out));
  if (egraph_graph_open_dims(*out) == 0) return EGRAPH_OK;
  egraph_graph_destroy(*out);
  *out = NULL;
  return load_model(path, flags, out);
}

static void print_quanta(const egraph_comparison *c) {
  printf("quantized: %" PRIu64
         " elements differ, by %.4g steps of the last quantization at most; ",
         c->quanta_differ, c->max_steps);
  if (c->quanta_unexplained == 0)
    printf("rounding explains all\n");
  else
    printf("rounding does not explain %" PRIu64 "\n", c->quanta_unexplained);
}

static egraph_status compare_models(const run_flags *flags, const positional *models,
                                    bool *out_equal) {
  OWNED(egraph_graph, a);
  OWNED(egraph_graph, b);
  egraph_comparison c = {.max_error = 0};
  egraph_compare_options options = {.size = sizeof options,
                                    .backend = with_plugin(flags->backend),
                                    .threads = flags->threads,
                                    .repeats = (uint32_t)flags->repeats,
                                    .seed = flags->seed};
  EG_TRY(load_model(models->items[0], &flags->load, &a));
  EG_TRY(load_other(models->items[1], &flags->load, &b));
  EG_TRY(egraph_compare(NULL, a, b, &options, &c));
  bool equal = c.plain_error <= tensor_tolerance(a) && c.quanta_unexplained == 0;
  *out_equal = equal;
  if (flags->json) {
    JSON_PRINT(JSON("max_error", c.max_error), JSON("equal", equal),
               JSON("max_steps", c.max_steps), JSON("quanta_differ", c.quanta_differ),
               JSON("quanta_unexplained", c.quanta_unexplained),
               JSON("not_finite_a", c.not_finite_a), JSON("not_finite_b", c.not_finite_b),
               JSON("time_a", c.time_a), JSON("time_b", c.time_b));
  } else {
    printf("outputs %s: largest error %.3g of the output's scale\n",
           equal ? "equal" : "DIFFER", c.max_error);
    if (c.quanta_differ != 0) print_quanta(&c);
    if (c.not_finite_a != 0 || c.not_finite_b != 0)
      printf("not finite: %" PRIu64 " elements of the first model's outputs, %" PRIu64
             " of the second's\n",
             c.not_finite_a, c.not_finite_b);
    printf("%s -> %s: %.2fx\n", seconds_text(c.time_a).text, seconds_text(c.time_b).text,
           c.time_a / c.time_b);
  }
  return EGRAPH_OK;
}

// ---- running one model ----------------------------------------------------------

typedef struct run_state {
  egraph_graph *graph;
  egraph_session *session;
  egraph_graph_info info;
  egraph_tensor *inputs, *outputs;
  const char **output_names;
  double *seconds, *busy; // seconds of each run; busy: processor time
} run_state;

static egraph_status allocate(const run_state *state, tensor_getter get, uint32_t index,
                              const char **name, egraph_tensor *out) {
  EG_TRY(get(state->graph, index, name, out));
  size_t bytes = egraph_tensor_bytes(out);
  out->data = calloc(bytes != 0 ? bytes : 1, 1);
  return out->data != NULL ? EGRAPH_OK : EGRAPH_E_MEMORY;
}

/// Allocates the tensors of all inputs and outputs, and reads or draws inputs. *out_read
/// is false when a file given by the user could not be read (already reported).
static egraph_status make_tensors(run_state *state, const run_flags *flags,
                                  bool *out_read) {
#define ROOM(field, count)                                                               \
  ((state->field = calloc((size_t)(count) + 1, sizeof *state->field)) != NULL)
  if (!ROOM(inputs, state->info.inputs) || !ROOM(outputs, state->info.outputs) ||
      !ROOM(output_names, state->info.outputs) || !ROOM(seconds, flags->repeats) ||
      !ROOM(busy, flags->repeats))
    return EGRAPH_E_MEMORY;
#undef ROOM
  for (uint32_t i = 0; i < state->info.inputs; i++) {
    egraph_tensor *input = &state->inputs[i];
    const char *name;
    EG_TRY(allocate(state, egraph_graph_input, i, &name, input));
    const char *path = tensor_file(&flags->inputs, name);
    if (path == NULL)
      egraph_draw_input(name, flags->seed, input);
    else if (!tensor_read(path, input->data, egraph_tensor_bytes(input)))
      *out_read = false;
  }
  for (uint32_t i = 0; i < state->info.outputs; i++)
    EG_TRY(allocate(state, egraph_graph_output, i, &state->output_names[i],
                    &state->outputs[i]));
  return EGRAPH_OK;
}

static egraph_status time_runs(run_state *state, uint64_t repeats) {
  for (uint64_t r = 0; r <= repeats; r++) {
    double start = eg_clock_seconds(), busy = eg_clock_cpu_seconds();
    EG_TRY(egraph_session_run(state->session, state->inputs, state->info.inputs,
                              state->outputs, state->info.outputs));
    if (r == 0) continue;
    state->seconds[r - 1] = eg_clock_seconds() - start;
    state->busy[r - 1] = eg_clock_cpu_seconds() - busy;
  }
  return EGRAPH_OK;
}

static void print_step(void *user, const egraph_step *step) {
  const run_flags *flags = user;
  if (flags->json)
    JSON_OBJECT(NULL, JSON("node", step->node), JSON("op", step->op),
                JSON("kernel", step->kernel), JSON("seconds", step->seconds),
                JSON("flops", step->flops), JSON("bytes", step->bytes));
  else
    show(stdout, "%10s %8.1f GFLOP/s  %-20s %-28s %s\n", seconds_text(step->seconds).text,
         step->seconds > 0 ? 1e-9 * step->flops / step->seconds : 0.0, step->op,
         step->kernel, step->node);
}

static egraph_status print_run(run_state *state, run_flags *flags) {
  double median = eg_quantile(state->seconds, flags->repeats, 0.5);
  if (flags->json) {
    JSON_BEGIN(JSON("time", median),
               JSON("time_busy", eg_quantile(state->busy, flags->repeats, 0.5)),
               JSON("flops", state->info.flops), JSON("repeats", flags->repeats));
    if (flags->steps) json_open("steps", '[');
  } else {
    printf("%s, %.1f GFLOP/s (median of %llu runs)\n", seconds_text(median).text,
           1e-9 * state->info.flops / median, (unsigned long long)flags->repeats);
  }
  egraph_status status = EGRAPH_OK;
  if (flags->steps)
    status = egraph_session_steps(state->session, flags->seed, (uint32_t)flags->repeats,
                                  print_step, flags);
  if (flags->json) {
    if (flags->steps) json_close(']');
    json_end();
  }
  return status;
}

static void free_state(run_state *state) {
  for (uint32_t i = 0; state->inputs != NULL && i < state->info.inputs; i++)
    free(state->inputs[i].data);
  for (uint32_t i = 0; state->outputs != NULL && i < state->info.outputs; i++)
    free(state->outputs[i].data);
  free(state->inputs);
  free(state->outputs);
  free(state->output_names);
  free(state->seconds);
  free(state->busy);
  egraph_session_destroy(state->session);
  egraph_graph_destroy(state->graph);
}

/// Runs a model; *out_good: all files of the flags were read and written.
static egraph_status run_model(run_state *state, run_flags *flags, const char *model,
                               bool *out_good) {
  const egraph_session_options options = run_session_options(flags);
  EG_TRY(load_model(model, &flags->load, &state->graph));
  // A graph that cannot be run fails first: its outputs may have no types.
  EG_TRY(egraph_session_create(NULL, state->graph, &options, &state->session));
  state->info = egraph_graph_info_of(state->graph);
  *out_good = tensors_are_named(&flags->inputs, state->graph, state->info.inputs,
                                egraph_graph_input, "input") &&
              tensors_are_named(&flags->outputs, state->graph, state->info.outputs,
                                egraph_graph_output, "output");
  if (*out_good) EG_TRY(make_tensors(state, flags, out_good));
  if (!*out_good) return EGRAPH_OK;
  EG_TRY(time_runs(state, flags->repeats));
  EG_TRY(print_run(state, flags));
  *out_good = tensors_write(&flags->outputs, state->output_names, state->outputs,
                            state->info.outputs);
  return EGRAPH_OK;
}

// ---- the command ----------------------------------------------------------------

// Modes of the command, for the flags that have an effect in some of them only.
enum {
  COMPARISON = 1,
  ONE_DEVICE = 2,
  RANKS = 4, // without training
  TRAINING = 8,
  PLANS = RANKS | TRAINING,
  RUNS = ONE_DEVICE | PLANS
};

/// True when the flags fit the mode. run_ranks.c checks plans and training, with more
/// specific messages.
static bool run_flags_matter(const command *cmd, const run_flags *flags,
                             const positional *given) {
  if (flags->compare)
    return given_flags_matter(cmd, given, COMPARISON, "a comparison of two models",
                              "leave it out");
  if (!runs_on_ranks(flags, given->items[0]))
    return given_flags_matter(cmd, given, ONE_DEVICE, "a model on one device",
                              "give --ranks or --train, too, or leave it out");
  return flags->train != 0 ||
         given_flags_matter(cmd, given, RANKS, "a run without training",
                            "give --train, too, or leave it out");
}

int command_run(int argc, char **argv) {
  run_flags flags = {.threads = 1, .repeats = 10, .seed = 1, .rate = 0.01};
  command cmd =
      new_command("run", "MODEL | PLAN.json [options] | --compare A B [options]", 1, 2,
                  "Executes a model on seeded or given inputs, a plan on its ranks, or "
                  "compares two models.");
  add_load_flags(&cmd, &flags.load);
  add_heading(&cmd, "Execution");
  add_switch(&cmd, "--compare", &flags.compare,
             "run two models on the same data and compare their outputs");
  add_text(&cmd, "--backend NAME", &flags.backend, "cpu (the default), reference, cuda");
  offer_words(&cmd, BACKEND_WORDS);
  add_uint32(&cmd, "--threads N", &flags.threads, 1, 1024, "threads of the executor");
  add_uint(&cmd, "--repeats N", &flags.repeats, 1, MAX_REPEATS,
           "timed runs after one to warm up");
  add_uint(&cmd, "--seed N", &flags.seed, 0, 0, "seed of inputs and of absent weights");
  cmd.modes = RUNS;
  add_list(&cmd, "--input NAME=FILE", &flags.inputs,
           "read an input from a file, raw and row-major (repeatable); other inputs are "
           "drawn");
  cmd.modes = PLANS;
  add_heading(&cmd, "Ranks");
  add_uint(
      &cmd, "--ranks N", &flags.ranks, 1, 1024,
      "run a plan on N ranks; a model is planned for this host, as egraph plan does");
  add_choice(&cmd, "--channel local|mpi|nccl", &flags.channel,
             "ranks are threads (local, the default), or processes that mpirun started "
             "(mpi), or either, with data that goes from device to device (nccl)");
  add_real(&cmd, "--deadline X", &flags.deadline, 0.001, 1e6,
           "seconds that ranks wait for each other before all fail (default 60)");
  add_choice(&cmd, "--issue ahead-4|ahead-2|ahead|reductions|in-order", &flags.issue,
             "exchanges that overlap with computing: all, with weights gathered 4, 2 or "
             "1 readers ahead (ahead-4, ahead-2, ahead); reductions; none (in-order, the "
             "default)");
  add_switch(&cmd, "--verify", &flags.verify,
             "compare what ranks compute with one device");
  add_text(&cmd, "--db FILE", &flags.database,
           "profile database for planning (default: in the user's cache folder)");
  add_switch(&cmd, "--no-measure", &flags.no_measure,
             "plan by assumed figures of this host, not by measured ones");
  add_heading(&cmd, "Training");
  add_uint(&cmd, "--train STEPS", &flags.train, 1, MAX_REPEATS,
           "train for this many steps, and print the loss");
  add_choice(&cmd, "--optimizer sgd|momentum|adam|adamw", &flags.optimizer,
             "optimizer of a model that is trained (default sgd)");
  add_text(&cmd, "--loss NAME", &flags.loss,
           "loss of a model that is trained; see egraph plan --help");
  offer_words(&cmd, LOSS_WORDS);
  cmd.modes = TRAINING;
  add_real(&cmd, "--rate X", &flags.rate, 0, 1e30, "learning rate");
  cmd.modes = PLANS;
  add_training_flags(&cmd, &flags.training);
  add_text(
      &cmd, "--weights MODEL", &flags.weights,
      "take the first values of weights from this model; a plan has only their sizes");
  add_text(&cmd, "--data FILE.npz", &flags.data,
           "batches in order: an array per input, and \"target\" for the labels, one "
           "batch behind the other along the first dimension");
  add_text(&cmd, "--resume FILE.npz", &flags.resume, "resume from a checkpoint");
  cmd.modes = RUNS;
  add_heading(&cmd, "Output");
  add_list(&cmd, "--output NAME=FILE", &flags.outputs,
           "write an output to a file, raw and row-major (repeatable)");
  cmd.modes = PLANS;
  add_text(&cmd, "--checkpoint FILE.npz", &flags.checkpoint,
           "write weights, states of the optimizer and the number of steps at the end");
  add_text(&cmd, "--save MODEL.onnx", &flags.save,
           "write a copy of the model with the trained weights");
  cmd.modes = RUNS;
  add_switch(&cmd, "--steps", &flags.steps, "time every step");
  cmd.modes = 0;
  add_json(&cmd, &flags.json);
  PARSE_ARGUMENTS(models, &cmd, argc, argv);
  if (flags.compare != (models.count == 2))
    return refuse(
        "--compare takes two models, everything else one; see egraph run --help");
  if (flags.compare && runs_on_ranks(&flags, models.items[0]))
    return refuse(
        "--compare runs two models on one device; leave out what is of ranks and plans");
  if (!run_flags_matter(&cmd, &flags, &models)) return EXIT_USAGE;
  if (flags.backend == NULL && flags.channel != NULL &&
      strcmp(flags.channel, "nccl") == 0)
    flags.backend = "cuda";
  if (runs_on_ranks(&flags, models.items[0]))
    return run_on_ranks(&flags, models.items[0]);
  run_state state = {.graph = NULL};
  bool is_good = false;
  egraph_status status = flags.compare
                             ? compare_models(&flags, &models, &is_good)
                             : run_model(&state, &flags, models.items[0], &is_good);
  free_state(&state);
  if (status != EGRAPH_OK) return report_failure(status);
  return is_good ? EXIT_DONE : EXIT_FAILED;
}
