// Runs plans for egraph run: on ranks that are threads or processes, trained step by
// step, timed, and compared with one device.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantile.h"
#include "tools/optimize_call.h"
#include "tools/owned.h"
#include "tools/plan_files.h"
#include "tools/rank_tensors.h"
#include "tools/tensor_files.h"
#include "tools/trained_weights.h"

bool runs_on_ranks(const run_flags *flags, const char *path) {
  return flags->ranks != 0 || flags->train != 0 || flags->channel != NULL ||
         flags->deadline > 0 || flags->issue != NULL || flags->verify ||
         is_plan_file(path);
}

static const double VERIFY_DEADLINE = 3600; // seconds

// ---- who the ranks are ----------------------------------------------------------

static bool is_channel(const run_flags *flags, const char *name) {
  return flags->channel != NULL && strcmp(flags->channel, name) == 0;
}

/// True when mpirun started this process as one of several, according to the variables of
/// Open MPI or of MPICH and its relatives.
static bool is_started_by_mpi(void) {
  const char *open_mpi = getenv("OMPI_COMM_WORLD_SIZE"), *pmi = getenv("PMI_SIZE");
  const char *size = open_mpi != NULL ? open_mpi : pmi;
  return size != NULL && strcmp(size, "1") != 0;
}

/// True when ranks are processes; otherwise they are threads.
static bool has_process_ranks(const run_flags *flags) {
  return is_channel(flags, "mpi") || (is_channel(flags, "nccl") && is_started_by_mpi());
}

// ---- the plan -------------------------------------------------------------------

/// Makes the plan that egraph plan makes by default for as many ranks of this host. Costs
/// are the costs of back-end cpu, also for other back-ends.
static egraph_status plan_model(rank_run *r, egraph_graph *graph) {
  const run_flags *flags = r->flags;
  bool is_cpu = flags->backend == NULL || strcmp(flags->backend, "cpu") == 0;
  char machine[32];
  optimize_flags plan;
  optimize_session session;
  (void)snprintf(machine, sizeof machine, "host*%llu",
                 (unsigned long long)(flags->ranks != 0 ? flags->ranks : 1));
  optimize_flags_init(&plan);
  plan.target.machine = machine;
  plan.costs.no_measure = flags->no_measure || !is_cpu;
  plan.costs.database = flags->database;
  plan.costs.threads = flags->threads;
  plan.training.loss = flags->loss;
  plan.trained = flags->training;
  if (flags->train != 0)
    plan.optimizer =
        flags->optimizer != NULL ? flags->optimizer : egraph_training_default().optimizer;
  egraph_status status = optimize_load(&plan, NULL, &session);
  session.graph = graph;
  if (status == EGRAPH_OK) status = optimize_search(&plan, &session);
  if (status == EGRAPH_OK) status = egraph_result_take_plan(session.result, &r->plan);
  session.graph = NULL; // belongs to the caller
  optimize_close(&session);
  return status;
}

/// Returns the size of an open dimension of the model in the plan; 0: the plan lacks
/// its input.
static int64_t size_in_plan(const egraph_graph *step, const egraph_dim *dim) {
  egraph_value input;
  egraph_tensor type;
  bool is_there = egraph_graph_find_value(step, dim->input, &input) &&
                  egraph_value_kind_of(step, input) == EGRAPH_VALUE_INPUT &&
                  egraph_value_type(step, input, &type) && dim->axis < type.rank;
  return is_there ? type.dims[dim->axis] : 0;
}

/// Reads from the model the constants that depend on the sizes of open dimensions, at the
/// plan's sizes.
static egraph_status take_sized_weights(rank_run *r) {
  const egraph_graph *step = egraph_plan_graph(r->plan);
  uint32_t count = egraph_graph_open_dims(r->model);
  char texts[MAX_LIST][160];
  load_flags load = r->flags->load;
  for (uint32_t i = 0; i < count && load.dims.count < MAX_LIST; i++) {
    egraph_dim dim;
    EG_TRY(egraph_graph_open_dim(r->model, i, &dim));
    dim.size = size_in_plan(step, &dim);
    if (dim.size == 0) return EGRAPH_OK;
    (void)snprintf(texts[i], sizeof texts[i], "%s=%lld", dim.name, (long long)dim.size);
    load.dims.items[load.dims.count++] = texts[i];
  }
  OWNED(egraph_graph, sized);
  EG_TRY(load_model(r->model_path, &load, &sized));
  return egraph_plan_take_weights(r->plan, sized);
}

/// Separates the shared weights that the flags name in a model to be trained.
static egraph_status untie_trained(rank_run *r, egraph_graph **inout) {
  r->is_untied = training_flags_untie(&r->flags->training);
  return untie_model(&r->flags->training, inout);
}

/// Loads the model of --weights; operators share its weights, or not, as in the plan.
static egraph_status open_weights(rank_run *r, bool is_plan) {
  const run_flags *flags = r->flags;
  EG_TRY(load_model(flags->weights, &flags->load, &r->model));
  if (flags->train == 0) return EGRAPH_OK;
  if (training_flags_untie(&flags->training)) return untie_trained(r, &r->model);
  return is_plan ? untie_as_plan(r->plan, &r->model, &r->is_untied) : EGRAPH_OK;
}

/// Opens the plan, and the model that gives weights their first values: --weights, or the
/// planned model.
static egraph_status open_plan(rank_run *r, const char *path) {
  const run_flags *flags = r->flags;
  bool is_plan = is_plan_file(path);
  OWNED(egraph_graph, graph);
  if (is_plan)
    EG_TRY(egraph_plan_load(NULL, path, &r->plan));
  else
    EG_TRY(load_model(path, &flags->load, &graph));
  if (!is_plan && flags->train != 0) {
    EG_TRY(untie_trained(r, &graph));
    EG_TRY(warn_of_ties(&flags->training, graph));
  }
  if (!is_plan) EG_TRY(plan_model(r, graph));
  if (flags->weights != NULL) {
    r->model_path = flags->weights;
    EG_TRY(open_weights(r, is_plan));
  } else if (!is_plan) {
    r->model_path = path;
    r->model = graph;
    graph = NULL;
  }
  if (r->model == NULL) return EGRAPH_OK;
  EG_TRY(egraph_plan_take_weights(r->plan, r->model));
  return egraph_graph_open_dims(r->model) != 0 ? take_sized_weights(r) : EGRAPH_OK;
}

/// True when the flags fit the plan; otherwise complains, before the run.
static bool plan_fits(const rank_run *r, const char *path) {
  const egraph_plan_info info = egraph_plan_info_of(r->plan);
  if (r->flags->ranks != 0 && r->flags->ranks != info.devices)
    return complain(
        "%s is a plan for %u devices, not for --ranks %llu; plan it again for as many",
        path, info.devices, (unsigned long long)r->flags->ranks);
  const run_flags *f = r->flags;
  bool is_of_training = f->resume != NULL || f->checkpoint != NULL || f->save != NULL;
  if (f->save != NULL && r->model_path == NULL)
    return complain("--save writes a copy of the model, and %s is a plan alone; give the "
                    "model with --weights",
                    path);
  if (f->train == 0 && is_of_training)
    return complain("--save, --checkpoint and --resume are of training; give --train");
  if (r->flags->train != 0 && r->loss < 0)
    return complain("%s is no plan of a training step; make one with egraph plan "
                    "--train, or leave --train out",
                    path);
  return true;
}

// ---- steps ----------------------------------------------------------------------

/// Returns the mean loss over the micro-batches.
static double loss_of(const rank_run *r) {
  double sum = 0;
  for (uint32_t m = 0; m < r->rows; m++) {
    const egraph_tensor *loss = &r->outputs[m * r->output_count + (uint32_t)r->loss];
    sum += loss->dtype == EGRAPH_FLOAT64 ? *(double *)loss->data : *(float *)loss->data;
  }
  return sum / r->rows;
}

static void print_begin(const rank_run *r) {
  const egraph_plan_info info = egraph_plan_info_of(r->plan);
  if (r->flags->json) {
    JSON_BEGIN(JSON("mesh", info.mesh), JSON("ranks", info.devices),
               JSON("micro_batches", info.micro_batches),
               JSON("channel", r->flags->channel != NULL ? r->flags->channel : "local"));
    rank_run_print_weights(r);
    json_open("steps", '[');
  } else {
    printf("plan        %s: %u rank%s, %u micro-batch%s, predicted %s a step\n",
           info.mesh[0] != '\0' ? info.mesh : "one device", info.devices,
           info.devices == 1 ? "" : "s", info.micro_batches,
           info.micro_batches == 1 ? "" : "es", seconds_text(info.cost).text);
    rank_run_print_weights(r);
  }
}

static bool on_step(void *user, const egraph_plan_step *step) {
  rank_run *r = user;
  r->seconds[step->step] = step->seconds;
  r->busy[step->step] = step->busy_seconds;
  r->done = (size_t)step->step + 1;
  if (step->rank == 0 && step->step == 0) print_begin(r);
  if (step->rank == 0 && !rank_run_check_step(r, step->step)) return true;
  rank_run_count_step(r, (double)(r->first_step + step->step) + 2);
  rank_run_take_batch(r, (uint64_t)step->step + 1);
  if (step->rank != 0 || r->loss < 0) return interrupted();
  double loss = loss_of(r);
  if (r->flags->json)
    JSON_OBJECT(NULL, JSON("step", r->first_step + step->step + 1), JSON("loss", loss),
                JSON("seconds", step->seconds));
  else
    printf("step %-4llu loss %-12.6g %10s\n",
           (unsigned long long)(r->first_step + step->step + 1), loss,
           seconds_text(step->seconds).text);
  return interrupted();
}

static egraph_status run_steps(rank_run *r) {
  const char *transport = is_channel(r->flags, "nccl") ? with_plugin("nccl") : NULL;
  // With --verify, ranks wait while one device runs the same step.
  double deadline = r->flags->deadline;
  if (deadline == 0 && r->flags->verify) deadline = VERIFY_DEADLINE;
  const egraph_plan_run_options options = {.size = sizeof options,
                                           .backend = with_plugin(r->flags->backend),
                                           .transport = transport,
                                           .threads = r->flags->threads,
                                           .seed = r->flags->seed,
                                           .steps = (uint32_t)r->step_count,
                                           .deadline_seconds = deadline,
                                           .on_step = on_step,
                                           .user = r,
                                           .every_step = r->flags->verify,
                                           .issue = r->flags->issue};
  uint32_t inputs = r->rows * r->input_count, outputs = r->rows * r->output_count;
  if (has_process_ranks(r->flags))
    return egraph_plan_run_rank(NULL, r->plan, "mpi", &options, r->inputs, inputs,
                                r->outputs, outputs, &r->rank);
  return egraph_plan_run_local(NULL, r->plan, &options, r->inputs, inputs, r->outputs,
                               outputs);
}

// ---- what came out --------------------------------------------------------------

/// Prints the time of steps without the first one, which also touches new memory.
static void print_time(const rank_run *r) {
  double predicted = egraph_plan_info_of(r->plan).cost;
  size_t first = r->done > 1 ? 1 : 0;
  double median = eg_quantile(r->seconds + first, r->done - first, 0.5);
  double least = r->seconds[first]; // sorted by eg_quantile
  double busy = eg_quantile(r->busy + first, r->done - first, 0.5);
  if (r->flags->json) {
    json_close(']');
    JSON_MEMBERS(JSON("time", median), JSON("time_min", least), JSON("time_busy", busy),
                 JSON("predicted", predicted));
  } else {
    printf("time        median %s, least %s, of the processor %s; predicted %s",
           seconds_text(median).text, seconds_text(least).text, seconds_text(busy).text,
           seconds_text(predicted).text);
    if (predicted > 0) printf(": measured %.3g of it", median / predicted);
    printf("\n");
  }
}

static bool print_verdict(const rank_run *r) {
  const egraph_step_verdict *v = &r->verdict;
  size_t first = r->done > 1 ? 1 : 0;
  double alone = eg_quantile(r->alone + first, r->done - first, 0.5);
  if (r->flags->json)
    JSON_MEMBERS(JSON("max_error", v->error), JSON("noise", v->noise),
                 JSON("worst_output", v->output), JSON("equal", v->equal),
                 JSON("time_alone", alone));
  else
    printf("verify      outputs %s: largest error %.3g of the scale of '%s', where "
           "rounding explains %.3g; one device takes %s\n",
           v->equal ? "equal" : "DIFFER", v->error, v->output, v->noise,
           seconds_text(alone).text);
  return v->equal;
}

// ---- the command ----------------------------------------------------------------

/// Ends the command after output has begun. Ctrl-C is no failure of a rank.
static int end_early(const rank_run *r, egraph_status status) {
  bool has_begun = r->rank == 0 && r->done != 0;
  if (has_begun) print_time(r);
  if (has_begun && r->flags->json) json_end();
  if (!interrupted()) return report_failure(status);
  fprintf(stderr, "egraph: interrupted after step %zu; no outputs are written\n",
          r->done);
  return EXIT_FAILED;
}

/// Runs the plan; only rank 0 prints.
static int run_and_print(rank_run *r) {
  bool good = true;
  egraph_status status = rank_run_open_check(r);
  if (status == EGRAPH_OK) status = run_steps(r);
  if (r->check_status != EGRAPH_OK) return report_failure(r->check_status);
  if (status != EGRAPH_OK) return end_early(r, status);
  if (r->rank != 0) return EXIT_DONE;
  print_time(r);
  if (r->flags->verify) {
    status = rank_run_verify(r);
    if (status == EGRAPH_OK && r->output_count != 0) good = print_verdict(r);
  }
  if (r->flags->json) json_end();
  good = tensors_write(&r->flags->outputs, r->output_names,
                       r->outputs + (size_t)(r->rows - 1) * r->output_count,
                       r->output_count) &&
         good;
  good = rank_run_write_files(r) && good;
  return status != EGRAPH_OK ? report_failure(status) : good ? EXIT_DONE : EXIT_FAILED;
}

static bool flags_fit(const run_flags *flags, const char *path) {
  bool is_plan = is_plan_file(path);
  if (has_process_ranks(flags) && !is_plan)
    return complain("processes run a plan that is there, the same in all of them; write "
                    "one with egraph plan -o, and give it instead of the model");
  bool is_sized =
      flags->load.batch != 0 || flags->load.dims.count != 0 || flags->load.fix_defaults;
  if (is_plan && ((is_sized && flags->weights == NULL) || flags->database != NULL ||
                  flags->no_measure))
    return complain("--dim, --batch, --fix-defaults, --db and --no-measure are of "
                    "models; give them to egraph plan");
  const training_flags *training = &flags->training;
  bool unties = training_flags_untie(training);
  if (unties && (flags->train == 0 || (is_plan && flags->weights == NULL)))
    return complain("--untie and --untie-only are of models that are trained; give "
                    "--train, and the model (of a plan with --weights)");
  bool chooses = training->freeze.count != 0 || training->train_only.count != 0 ||
                 training->decay > 0;
  if (chooses && (is_plan || flags->train == 0))
    return complain("--freeze, --train-only and --decay are of models that are trained; "
                    "give --train, or make a plan with them");
  if (flags->steps)
    return complain("--steps times the operators of a model on one device; leave out "
                    "what is of ranks and plans");
  if (is_started_by_mpi() && !has_process_ranks(flags))
    return complain("mpirun started several processes, and each would run the whole "
                    "plan; give --channel mpi, or leave mpirun out");
  if (is_channel(flags, "nccl") && strcmp(flags->backend, "cuda") != 0)
    return complain("--channel nccl is between devices; give --backend cuda, or "
                    "--channel local or mpi with --backend %s",
                    flags->backend);
  if ((flags->optimizer != NULL || flags->loss != NULL) && (is_plan || flags->train == 0))
    return complain("--optimizer and --loss are of models that are trained; give "
                    "--train, or make a plan with them");
  return true;
}

/// Opens all inputs of the run; *out_good is false, with a message, when an input of the
/// user is wrong.
static egraph_status prepare_run(rank_run *r, const char *path, bool *out_good) {
  const run_flags *flags = r->flags;
  EG_TRY(open_plan(r, path));
  if (interrupted()) {
    *out_good = complain("interrupted before the first step");
    return EGRAPH_OK;
  }
  r->graph = egraph_plan_graph(r->plan);
  EG_TRY(rank_run_describe(r));
  *out_good = plan_fits(r, path) &&
              tensors_are_named(&flags->inputs, r->graph, r->input_count,
                                egraph_graph_input, "input") &&
              tensors_are_named(&flags->outputs, r->graph, r->output_count,
                                egraph_graph_output, "output") &&
              rank_run_open_files(r);
  if (*out_good) EG_TRY(rank_run_fill(r, out_good));
  *out_good = *out_good && rank_run_can_save(r);
  return EGRAPH_OK;
}

int run_on_ranks(const run_flags *flags, const char *path) {
  rank_run r = {.flags = flags, .loss = -1};
  bool is_good = false;
  if (!flags_fit(flags, path)) return EXIT_USAGE;
  install_interrupt();
  egraph_status status = prepare_run(&r, path, &is_good);
  int outcome = status != EGRAPH_OK ? report_failure(status)
                : is_good           ? run_and_print(&r)
                                    : EXIT_FAILED;
  rank_run_close(&r);
  return outcome;
}
