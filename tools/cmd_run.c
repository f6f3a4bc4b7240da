// egraph run: executes a graph, times its steps, or compares two graphs.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tools/arguments.h"
#include "tools/optimize_call.h"
#include "tools/run_ranks.h"
#include "tools/tensor_files.h"

// ---- comparing ------------------------------------------------------------------

/// The other model of a comparison: where it is written with fixed sizes, they stand.
static egraph_status load_other(const char *path, const load_flags *flags,
                                egraph_graph **out) {
  load_flags as_written = *flags;
  as_written.dims.count = 0;
  as_written.batch = 0;
  egraph_status status = load_model(path, &as_written, out);
  if (status != EGRAPH_OK || egraph_graph_open_dims(*out) == 0) return status;
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

static int compare_models(const run_flags *flags, const positional *models) {
  egraph_graph *a = NULL, *b = NULL;
  egraph_comparison c = {.max_error = 0};
  egraph_compare_options options = {.size = sizeof options,
                                    .backend = with_plugin(flags->backend),
                                    .threads = (uint32_t)flags->threads,
                                    .repeats = (uint32_t)flags->repeats,
                                    .seed = flags->seed};
  egraph_status status = load_model(models->items[0], &flags->load, &a);
  if (status == EGRAPH_OK) status = load_other(models->items[1], &flags->load, &b);
  double allowed = 0;
  if (status == EGRAPH_OK) status = egraph_compare(NULL, a, b, &options, &c);
  if (status == EGRAPH_OK) allowed = tensor_tolerance(a);
  egraph_graph_destroy(a);
  egraph_graph_destroy(b);
  if (status != EGRAPH_OK) return report_failure(status);
  bool equal = c.plain_error <= allowed && c.quanta_unexplained == 0;
  if (flags->json) {
    json_begin();
    JSON_MEMBERS(JSON("max_error", c.max_error), JSON("equal", equal),
                 JSON("max_steps", c.max_steps), JSON("quanta_differ", c.quanta_differ),
                 JSON("quanta_unexplained", c.quanta_unexplained),
                 JSON("not_finite_a", c.not_finite_a),
                 JSON("not_finite_b", c.not_finite_b), JSON("time_a", c.time_a),
                 JSON("time_b", c.time_b));
    json_end();
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
  return equal ? EXIT_DONE : EXIT_FAILED;
}

// ---- running one model ----------------------------------------------------------

typedef struct run_state {
  egraph_graph *graph;
  egraph_session *session;
  egraph_graph_info info;
  egraph_tensor *inputs, *outputs;
  const char **output_names;
  double *seconds, *busy; // of each run; of the processor
} run_state;

static egraph_status allocate(const run_state *state, tensor_getter get, uint32_t index,
                              const char **name, egraph_tensor *out) {
  EG_TRY(get(state->graph, index, name, out));
  size_t bytes = egraph_tensor_bytes(out);
  out->data = calloc(bytes != 0 ? bytes : 1, 1);
  return out->data != NULL ? EGRAPH_OK : EGRAPH_E_MEMORY;
}

/// *out_read is false when a file given by the user could not be read (already reported).
static egraph_status make_tensors(run_state *state, const run_flags *flags,
                                  bool *out_read) {
  state->inputs = calloc(state->info.inputs + 1, sizeof *state->inputs);
  state->outputs = calloc(state->info.outputs + 1, sizeof *state->outputs);
  state->output_names = calloc(state->info.outputs + 1, sizeof *state->output_names);
  state->seconds = calloc(flags->repeats + 1, sizeof *state->seconds);
  state->busy = calloc(flags->repeats + 1, sizeof *state->busy);
  if (state->inputs == NULL || state->outputs == NULL || state->output_names == NULL ||
      state->seconds == NULL || state->busy == NULL)
    return EGRAPH_E_MEMORY;
  for (uint32_t i = 0; i < state->info.inputs; i++) {
    const char *name;
    egraph_status status =
        allocate(state, egraph_graph_input, i, &name, &state->inputs[i]);
    if (status != EGRAPH_OK) return status;
    const char *path = tensor_file(&flags->inputs, name);
    if (path == NULL)
      egraph_draw_input(name, flags->seed, &state->inputs[i]);
    else if (!tensor_read(path, state->inputs[i].data,
                          egraph_tensor_bytes(&state->inputs[i])))
      *out_read = false;
  }
  for (uint32_t i = 0; i < state->info.outputs; i++) {
    EG_TRY(allocate(state, egraph_graph_output, i, &state->output_names[i],
                    &state->outputs[i]));
  }
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
  if (flags->json) {
    JSON_OBJECT(NULL, JSON("node", step->node), JSON("op", step->op),
                JSON("kernel", step->kernel), JSON("seconds", step->seconds),
                JSON("flops", step->flops), JSON("bytes", step->bytes));
  } else {
    show(stdout, "%10s %8.1f GFLOP/s  %-20s %-28s %s\n", seconds_text(step->seconds).text,
         step->seconds > 0 ? 1e-9 * step->flops / step->seconds : 0.0, step->op,
         step->kernel, step->node);
  }
}

static egraph_status print_run(run_state *state, run_flags *flags) {
  double median = median_of(state->seconds, flags->repeats);
  if (flags->json) {
    json_begin();
    JSON_MEMBERS(JSON("time", median),
                 JSON("time_busy", median_of(state->busy, flags->repeats)),
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

static bool write_outputs(const run_state *state, const run_flags *flags) {
  bool written = true;
  for (uint32_t i = 0; i < state->info.outputs; i++) {
    const char *path = tensor_file(&flags->outputs, state->output_names[i]);
    if (path != NULL)
      written = tensor_write(path, state->outputs[i].data,
                             egraph_tensor_bytes(&state->outputs[i])) &&
                written;
  }
  return written;
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

static int run_model(run_flags *flags, const char *model) {
  run_state state = {.graph = NULL};
  bool files_fine = true;
  egraph_session_options options = {.size = sizeof options,
                                    .backend = with_plugin(flags->backend),
                                    .threads = (uint32_t)flags->threads,
                                    .seed = flags->seed};
  egraph_status status = load_model(model, &flags->load, &state.graph);
  // First what cannot be run: its outputs may have no types.
  if (status == EGRAPH_OK)
    status = egraph_session_create(NULL, state.graph, &options, &state.session);
  if (status == EGRAPH_OK) {
    state.info = egraph_graph_info_of(state.graph);
    files_fine = tensors_are_named(&flags->inputs, state.graph, state.info.inputs,
                                   egraph_graph_input, "input") &&
                 tensors_are_named(&flags->outputs, state.graph, state.info.outputs,
                                   egraph_graph_output, "output");
  }
  if (status == EGRAPH_OK && files_fine)
    status = make_tensors(&state, flags, &files_fine);
  if (status == EGRAPH_OK && files_fine) status = time_runs(&state, flags->repeats);
  if (status == EGRAPH_OK && files_fine) status = print_run(&state, flags);
  if (status == EGRAPH_OK && files_fine) files_fine = write_outputs(&state, flags);
  int outcome = status != EGRAPH_OK ? report_failure(status)
                : files_fine        ? EXIT_DONE
                                    : EXIT_FAILED;
  free_state(&state);
  return outcome;
}

/// Of plans and training run_ranks.c says more than that a flag has no effect.
static bool run_flags_matter(const command *cmd, const run_flags *flags,
                             const positional *given) {
#define OF_MODELS "--dim --batch --fix-defaults --draw-weights "
#define OF_RUNS "--backend --threads --repeats --seed --json "
  if (flags->compare)
    return given_flags_matter(cmd, given, OF_MODELS OF_RUNS "--compare",
                              "a comparison of two models", "leave it out");
  if (!runs_on_ranks(flags, given->items[0]))
    return given_flags_matter(cmd, given, OF_MODELS OF_RUNS "--input --output --steps",
                              "a model on one device",
                              "give --ranks or --train, too, or leave it out");
  if (flags->train == 0)
    return given_flags_matter(
        cmd, given,
        OF_MODELS OF_RUNS
        "--input --output --steps --ranks --channel --deadline --issue --verify --db "
        "--no-measure --optimizer --loss --freeze --train-only --untie --untie-only "
        "--decay --weights --data --resume --checkpoint --save",
        "a run without training", "give --train, too, or leave it out");
  return true;
}

int command_run(int argc, char **argv) {
  run_flags flags = {.threads = 1, .repeats = 10, .seed = 1, .rate = 0.01};
  command cmd = {.name = "run",
                 .usage = "MODEL | PLAN.json [options] | --compare A B [options]",
                 .summary = "Executes a model on seeded or given inputs, a plan on its "
                            "ranks, or compares two models.",
                 .min_positional = 1,
                 .max_positional = 2};
  add_load_flags(&cmd, &flags.load);
  add_heading(&cmd, "Execution");
  add_switch(&cmd, "--compare", &flags.compare,
             "run two models on the same data and compare their outputs");
  add_text(&cmd, "--backend NAME", &flags.backend, "cpu (the default), reference, cuda");
  offer_words(&cmd, BACKEND_WORDS);
  add_uint(&cmd, "--threads N", &flags.threads, 1, 1024, "threads of the executor");
  add_uint(&cmd, "--repeats N", &flags.repeats, 1, MAX_REPEATS,
           "timed runs after one to warm up");
  add_uint(&cmd, "--seed N", &flags.seed, 0, 0, "seed of inputs and of absent weights");
  add_list(&cmd, "--input NAME=FILE", &flags.inputs,
           "read an input, raw and row-major (repeatable); others are drawn");
  add_heading(&cmd, "Ranks");
  add_uint(
      &cmd, "--ranks N", &flags.ranks, 1, 1024,
      "run a plan on N ranks; a model is planned for this host, as egraph plan does");
  add_choice(&cmd, "--channel local|mpi|nccl", &flags.channel,
             "ranks are threads (local, the default), or processes that mpirun started "
             "(mpi); either, data going from device to device (nccl)");
  add_real(&cmd, "--deadline X", &flags.deadline, 0.001, 1e6,
           "seconds that ranks wait for each other before all fail (default 60)");
  add_choice(&cmd, "--issue ahead-4|ahead-2|ahead|reductions|in-order", &flags.issue,
             "run exchanges beside computing: everything, weights gathered 4, 2 or 1 "
             "readers ahead; reductions; or in their turn (the default)");
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
  add_text(&cmd, "--loss NAME", &flags.loss, "its loss; see egraph plan --help");
  offer_words(&cmd, LOSS_WORDS);
  add_real(&cmd, "--rate X", &flags.rate, 0, 1e30, "learning rate");
  add_training_flags(&cmd, &flags.training);
  add_text(&cmd, "--weights MODEL", &flags.weights,
           "begin with the weights of this model; a plan has their sizes only");
  add_text(&cmd, "--data FILE.npz", &flags.data,
           "batches in order: an array per input, and \"target\" for the labels, one "
           "batch behind the other along the first dimension");
  add_text(&cmd, "--resume FILE.npz", &flags.resume, "go on from a checkpoint");
  add_heading(&cmd, "Output");
  add_list(&cmd, "--output NAME=FILE", &flags.outputs,
           "write an output, raw and row-major (repeatable)");
  add_text(&cmd, "--checkpoint FILE.npz", &flags.checkpoint,
           "write weights, states of the optimizer and the number of steps at the end");
  add_text(&cmd, "--save MODEL.onnx", &flags.save,
           "write a copy of the model with the trained weights");
  add_switch(&cmd, "--steps", &flags.steps, "time every step");
  add_json(&cmd, &flags.json);
  PARSE_ARGUMENTS(models, &cmd, argc, argv);
  if (flags.compare != (models.count == 2))
    return refuse(
        "--compare takes two models, everything else one; see egraph run --help");
  if (flags.compare && runs_on_ranks(&flags, models.items[0]))
    return refuse(
        "--compare runs two models on one device; leave out what is of ranks and plans");
  if (!run_flags_matter(&cmd, &flags, &models)) return EXIT_USAGE;
  if (flags.compare) return compare_models(&flags, &models);
  if (flags.backend == NULL && flags.channel != NULL &&
      strcmp(flags.channel, "nccl") == 0)
    flags.backend = "cuda";
  return runs_on_ranks(&flags, models.items[0]) ? run_on_ranks(&flags, models.items[0])
                                                : run_model(&flags, models.items[0]);
}
