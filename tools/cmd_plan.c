// egraph plan: how a model, or a training step of it, runs on several devices.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/plan_files.h"
#include "tools/planning.h"
#include "tools/trained_text.h"

enum { MAX_DEMANDS = 1 << 14 };

typedef struct parallel_flags {
  double gap; // -1: not given
  egraph_plan_options options;
  rule_flags rules;
  const char *output;
  text_list pins, deliveries, bans;
  char demands[MAX_DEMANDS]; // the same as statements
  load_flags load;
  uint64_t micro_batches;
  training_flags training;
  bool text, unity, json, no_measure;
} parallel_flags;

static bool on_progress(void *user, const char *mesh, double cost, double bound,
                        double seconds) {
  (void)user;
  char line[200];
  if (isinf(cost))
    (void)snprintf(line, sizeof line, "%s, %.1f s, no plan yet", mesh, seconds);
  else
    (void)snprintf(line, sizeof line, "%s, %.1f s, cost %.4g s, bound %.4g s", mesh,
                   seconds, cost, bound);
  progress_line("plan", line);
  return interrupted();
}

// ---- JSON -----------------------------------------------------------------------

static void exchange_json(void *user, const egraph_plan_exchange *exchange) {
  (void)user;
  json_open(NULL, '{');
  json_text("phase", exchange->phase);
  json_text("kind", exchange->kind);
  json_text("axis", exchange->axis);
  json_int("count", exchange->count);
  json_real("bytes", exchange->bytes);
  json_real("seconds", exchange->seconds);
  json_close('}');
}

static void store_json(void *user, const egraph_plan_store *store) {
  (void)user;
  json_open(store->kind, '{');
  json_real("at_peak", store->at_peak);
  json_real("most", store->most);
  json_close('}');
}

static bool is_certified(const egraph_plan_report *r) {
  return isfinite(r->cost) && r->uncertified == NULL;
}

static void report_json(const egraph_plan_report *r, const char *certificate) {
  json_text("status", r->status);
  json_real("cost", r->cost);
  json_real("bound", r->bound);
  json_real("gap", r->gap);
  if (certificate != NULL) {
    json_real("checked", is_certified(r) ? r->checked : INFINITY);
    json_bool("bound_unchecked", r->meshes > 1 || r->checked < r->bound);
  }
  json_text("proven_over", r->proven_over);
  json_text("mesh", r->mesh);
  if (r->seed != NULL) json_text("seed", r->seed);
  json_int("untried", r->untried);
  json_int("devices", r->devices);
  json_int("meshes", r->meshes);
  json_int("micro_batches", r->micro_batches);
  json_int("nodes", r->nodes);
  json_int("blocks", r->blocks);
  json_int("measured", r->measured);
  json_open("egraph", '{');
  json_int("nodes", r->egraph_nodes);
  json_int("classes", r->egraph_classes);
  json_int("iterations", r->iterations);
  json_text("stop", r->stop);
  json_close('}');
  json_real("memory_bytes", isinf(r->cost) ? INFINITY : r->memory);
  json_real("memory_limit_bytes", r->memory_limit);
  json_real("least_memory_bytes", r->least_memory > 0 ? r->least_memory : INFINITY);
  json_open("seconds", '{');
  json_real("prepare", r->prepare_seconds);
  json_real("space", r->space_seconds);
  json_real("solve", r->solve_seconds);
  if (certificate != NULL) json_real("certify", r->certify_seconds);
  json_real("total", r->total_seconds);
  json_close('}');
}

static egraph_status print_json(const egraph_plan *plan, const char *certificate) {
  bool is_there = egraph_plan_graph(plan) != NULL;
  egraph_status status = EGRAPH_OK;
  json_begin();
  report_json(egraph_plan_report_of(plan), certificate);
  json_open("collectives", '[');
  if (is_there) status = egraph_plan_account(plan, exchange_json, NULL, NULL);
  json_close(']');
  json_open("memory", '{');
  if (is_there && status == EGRAPH_OK)
    status = egraph_plan_account(plan, NULL, store_json, NULL);
  json_close('}');
  char *remarks = NULL;
  if (is_there && status == EGRAPH_OK)
    status = egraph_plan_remarks(NULL, plan, true, &remarks);
  json_value("remarks", remarks != NULL ? remarks : "null");
  egraph_string_free(NULL, remarks);
  json_end();
  return status;
}

// ---- text -----------------------------------------------------------------------

static void print_exchange(void *user, const egraph_plan_exchange *exchange) {
  bool *any = user;
  if (!*any)
    printf("\n%-9s %-15s %-12s %8s %14s %12s\n", "phase", "collective", "axis", "count",
           "bytes", "seconds");
  *any = true;
  printf("%-9s %-15s %-12s %8" PRIu64 " %14.0f %12.3g\n", exchange->phase, exchange->kind,
         exchange->axis, exchange->count, exchange->bytes, exchange->seconds);
}

static void print_store(void *user, const egraph_plan_store *store) {
  (void)user;
  if (store->most > 0)
    printf("  %-13s %14.0f at the peak, %.0f at most\n", store->kind, store->at_peak,
           store->most);
}

static void print_report(const egraph_plan_report *r) {
  printf("plan      %s on %s: %u devices, %u micro-batches, %u nodes; meshes tried: %u\n",
         r->status, r->mesh[0] != '\0' ? r->mesh : "one device", r->devices,
         r->micro_batches, r->nodes, r->meshes);
  if (r->blocks != 0)
    printf("blocks    %u equal ones had the choices of one in the first search\n",
           r->blocks);
  printf("e-graph   %u nodes, %u classes, %u iterations, %s\n", r->egraph_nodes,
         r->egraph_classes, r->iterations, r->stop);
  if (r->measured != 0)
    printf("measured  %u operators of this host, for the profile database\n",
           r->measured);
  printf("cost      %.6g s, bound %.6g s, gap %.4f %%, over %s\n", r->cost, r->bound,
         100 * r->gap, r->proven_over);
  if (r->seed != NULL)
    printf("seed      the plan is that of %s; the search found none as cheap\n", r->seed);
  if (r->untried != 0)
    printf("untried   %u baselines that may be cheaper: the time was over\n", r->untried);
  printf("memory    %.0f bytes of a device", r->memory);
  if (isinf(r->memory_limit))
    printf(", no limit\n");
  else
    printf(", limit %.0f\n", r->memory_limit);
}

static void print_proof(const egraph_plan_report *r, const char *certificate) {
  if (certificate == NULL || !is_certified(r)) return;
  printf("proof     %s", certificate);
  if (r->meshes > 1) printf(", of %s alone", r->mesh[0] != '\0' ? r->mesh : "one device");
  if (r->checked < r->bound) printf(", bound unchecked beyond %.6g s", r->checked);
  printf("; %.2f seconds\n", r->certify_seconds);
}

static egraph_status print_text(const egraph_plan *plan, const parallel_flags *flags) {
  const egraph_plan_report *r = egraph_plan_report_of(plan);
  bool any = false;
  print_report(r);
  print_proof(r, flags->options.certificate);
  egraph_status status = egraph_plan_account(plan, NULL, print_store, NULL);
  if (status == EGRAPH_OK) status = plan_print_remarks(plan);
  printf("seconds   %.2f: prepare %.2f, space %.2f, solve %.2f\n", r->total_seconds,
         r->prepare_seconds, r->space_seconds, r->solve_seconds);
  if (status == EGRAPH_OK) status = egraph_plan_account(plan, print_exchange, NULL, &any);
  if (status != EGRAPH_OK || !(flags->text || flags->unity)) return status;
  printf("\n");
  return plan_print_steps(plan, flags->unity);
}

// ---- the command ----------------------------------------------------------------

/// A plan needs the sizes of weights, not their data.
static egraph_status load_sizes(const char *path, const load_flags *flags,
                                egraph_graph **out) {
  load_flags load = *flags;
  load.draw_weights = true;
  egraph_status status = load_model(path, &load, out);
  if (status != EGRAPH_OK || is_graph_text(path)) return status;
  uint32_t absent = egraph_graph_info_of(*out).absent_weights;
  if (absent != 0)
    fprintf(stderr,
            "egraph: note: %s: the data of %u weights is not there; a plan needs their "
            "sizes only\n",
            path, absent);
  return EGRAPH_OK;
}

static egraph_status make_plan(const char *model, const parallel_flags *flags,
                               egraph_plan **out) {
  egraph_graph *graph = NULL;
  egraph_rules *rules = NULL;
  egraph_plan_options options = flags->options;
  measure_host(&options, flags->no_measure);
  install_interrupt();
  training_flags_give(&flags->training, &options);
  egraph_status status = load_sizes(model, &flags->load, &graph);
  if (status == EGRAPH_OK) status = rule_flags_load(&flags->rules, &rules);
  options.rules = rules;
  options.math = rule_flags_math(&flags->rules);
  if (status == EGRAPH_OK) status = egraph_plan_create(NULL, graph, &options, out);
  if (status == EGRAPH_OK && options.optimizer != NULL && !flags->json &&
      egraph_plan_graph(*out) != NULL)
    status = print_trained(graph, &options);
  egraph_graph_destroy(graph);
  egraph_rules_destroy(rules);
  progress_clear();
  return status;
}

/// Without a plan the JSON says so too, and the failure what would help.
static egraph_status hand_out(const egraph_plan *plan, const parallel_flags *flags) {
  egraph_status status = EGRAPH_OK;
  if (flags->output != NULL && egraph_plan_graph(plan) != NULL)
    status = egraph_plan_save(plan, flags->output);
  if (status == EGRAPH_OK && flags->json)
    status = print_json(plan, flags->options.certificate);
  if (status == EGRAPH_OK && egraph_plan_graph(plan) == NULL)
    return egraph_plan_account(plan, NULL, NULL, NULL);
  return status == EGRAPH_OK && !flags->json ? print_text(plan, flags) : status;
}

/// What the graph may become before it is split.
static size_t fill_variant_rows(parallel_flags *f, flag *rows) {
  egraph_plan_options *o = &f->options;
  const flag all[] = {
      {"--node_limit", FLAG_UINT, &o->node_limit, "N",
       "e-nodes that saturation may reach (default 20000)", 1, UINT32_MAX},
      {"--iteration_limit", FLAG_UINT, &o->iteration_limit, "N",
       "iterations of saturation (default 12)", 1, 1e6},
      {"--saturate_time_limit", FLAG_REAL, &o->saturate_time_limit, "X",
       "seconds for saturation (default 15)", 0.001, 1e6},
      {"--db", FLAG_TEXT, &o->database, "FILE",
       "profile database with entries of the machine's device (of this host: in the "
       "user's cache folder)",
       0, 0},
      {"--no-measure", FLAG_SWITCH, &f->no_measure, NULL,
       "for this host: assume its figures, do not measure what the database lacks", 0, 0},
      {"--algebra-first", FLAG_SWITCH, &o->algebra_first, NULL,
       "first the graph cheapest on one device, then its split: to compare", 0, 0}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    rows[i] = all[i];
  size_t n = sizeof all / sizeof *all;
  return n + rule_flags_rows(&f->rules, rows + n);
}

/// The failure to certify stands after the plan, which is handed out all the same.
static int certified_outcome(const egraph_plan *plan) {
  const char *why = egraph_plan_report_of(plan)->uncertified;
  if (why == NULL) return EXIT_DONE;
  fprintf(stderr, "egraph: %s\n", why);
  return EXIT_FAILED;
}

static size_t fill_rows(parallel_flags *f, flag *rows) {
  egraph_plan_options *o = &f->options;
  const flag all[] = {
      {"--machine", FLAG_TEXT, &o->machine, "NAME",
       "machine or file, *N behind it: nodes (default host): dgx-h100*8", 0, 0},
      {"--mesh", FLAG_TEXT, &o->mesh, "AXES",
       "one mesh, node=2,gpu=4; default: all of the machine", 0, 0},
      {"--train", FLAG_CHOICE, &o->optimizer, "sgd|momentum|adam|adamw",
       "plan a training step; default: the forward graph", 0, 0},
      {"--loss", FLAG_TEXT, &o->loss, "NAME",
       "softmax-cross-entropy (default), softmax-cross-entropy-of-probabilities, "
       "mean-squared-error; of the first output",
       0, 0},
      {"--micro-batches", FLAG_UINT, &f->micro_batches, "N",
       "of the model's batch each, in a step (default 1)", 1, 1 << 20},
      {"--clip", FLAG_REAL, &o->clip_norm, "X",
       "largest norm of all gradients (default 0: no limit)", 0, 1e30},
      {"--bf16", FLAG_SWITCH, &o->mixed_precision, NULL,
       "compute in bfloat16, weights and states in float32", 0, 0},
      TRAINING_ROWS(&f->training),
      {"--memory", FLAG_REAL, &o->memory_limit, "X",
       "bytes of a device (default: what the machine has)", 1, 1e18},
      {"--time-limit", FLAG_REAL, &o->time_limit, "X",
       "seconds in all, the second limit (default 360)", 0.001, 1e6},
      {"--work", FLAG_UINT, &o->work_limit, "N",
       "millions of steps in all: the same plan on a busy machine (default: 60000, or "
       "1000 per second of --time-limit)",
       0, 1e12},
      {"--gap", FLAG_REAL, &f->gap, "X",
       "stop at this relative gap; 0: prove the optimum (default: 0.001 after a few "
       "seconds' work)",
       0, 1},
      {"--constraints", FLAG_TEXT, &o->constraints_file, "FILE",
       "what the plan must keep to, a statement per line", 0, 0},
      {"--pin", FLAG_LIST, &f->pins, "\"VALUE AXIS=LAYOUT\"",
       "made as: enters the step, is made and kept so: \"w1 gpu=S0\", \"(all states) "
       "*=S\" (repeatable)",
       0, 0},
      {"--deliver", FLAG_LIST, &f->deliveries, "\"OUTPUT AXIS=LAYOUT\"",
       "delivered as: leaves the step so, however it is made (default R): \"y gpu=S0\", "
       "\"(all outputs) *=?\", R or S (repeatable)",
       0, 0},
      {"--forbid", FLAG_LIST, &f->bans, "\"VALUE LAYOUT|MOVE\"",
       "never is so: \"w1 S0\", \"(all weights) all-gather (axis gpu)\" (repeatable)", 0,
       0},
      {"--baselines", FLAG_SWITCH, &o->baselines, NULL,
       "compare with single device, data parallel, ZeRO-1, -2, -3, a Megatron grid", 0,
       0},
      {"--baseline", FLAG_TEXT, &o->baseline, "NAME",
       "plan this instead of the cheapest: single-device, data-parallel, zero-1, zero-2, "
       "zero-3, megatron (tensor parallel along the last axis), or each axis idle, "
       "data-parallel, zero-1, zero-2, zero-3, tensor or any: node=idle,gpu=zero-1",
       0, 0},
      {"--no-fold", FLAG_SWITCH, &o->no_fold, NULL,
       "choose for each of repeated blocks, not once for all in the middle", 0, 0},
      SIZE_ROWS(&f->load),
      {"--certificate", FLAG_TEXT, &o->certificate, "FILE",
       "also write a proof of cost and bound, for check_certificate", 0, 0},
      {"-o", FLAG_TEXT, &f->output, "FILE", "write the plan as JSON (*.json)", 0, 0},
      {"--text", FLAG_SWITCH, &f->text, NULL, "also print every step", 0, 0},
      {"--unity", FLAG_SWITCH, &f->unity, NULL,
       "the same, exchanges as Partition, Combine, Replicate, Reduce", 0, 0},
      {"--json", FLAG_SWITCH, &f->json, NULL, "one JSON object on standard output", 0,
       0}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    rows[i] = all[i];
  size_t n = sizeof all / sizeof *all;
  return n + fill_variant_rows(f, rows + n);
}

static bool files_can_be_written(const parallel_flags *f) {
  const char *certificate = f->options.certificate;
  return (f->output == NULL || can_be_written(f->output)) &&
         (certificate == NULL || can_be_written(certificate));
}

static bool flags_fit(const parallel_flags *f) {
  const egraph_plan_options *o = &f->options;
  bool wants_training = o->loss != NULL || f->micro_batches != 0 || o->clip_norm > 0 ||
                        o->mixed_precision || f->training.decay > 0 ||
                        f->training.freeze.count != 0 ||
                        f->training.train_only.count != 0;
  if (o->optimizer != NULL || !wants_training) return true;
  fprintf(stderr,
          "egraph: --loss, --micro-batches, --clip, --bf16, --freeze, --train-only "
          "and --decay are of training; give --train too\n");
  return false;
}

/// What explain tells from a model by its name; so no model is overwritten either.
static bool output_fits(const char *path) {
  if (path == NULL || is_plan_file(path)) return true;
  fprintf(
      stderr,
      "egraph: %s is no name of a plan; end it in .json, as egraph explain wants it\n",
      path);
  return false;
}

/// Writes "(pin A)\n(pin B)\n" behind what there is; false: too long.
static bool write_demands(parallel_flags *f, const char *verb, const text_list *list) {
  size_t length = strlen(f->demands);
  for (size_t i = 0; i < list->count; i++) {
    int more = snprintf(f->demands + length, sizeof f->demands - length, "(%s %s)\n",
                        verb, list->items[i]);
    if (more < 0 || (size_t)more >= sizeof f->demands - length) return false;
    length += (size_t)more;
  }
  return true;
}

static bool demands_fit(parallel_flags *f) {
  if (!write_demands(f, "pin", &f->pins) || !write_demands(f, "forbid", &f->bans) ||
      !write_demands(f, "deliver", &f->deliveries)) {
    fprintf(stderr, "egraph: --pin, --deliver and --forbid are too long; write a file "
                    "and give --constraints\n");
    return false;
  }
  if (f->demands[0] != '\0') f->options.constraints = f->demands;
  return true;
}

int command_plan(int argc, char **argv) {
  parallel_flags flags = {.options = egraph_plan_options_default(), .gap = -1};
  flag rows[MAX_PLAN_FLAGS];
  size_t count = fill_rows(&flags, rows);
  flags.options.progress = on_progress;
  command cmd = {"plan",
                 "MODEL --machine NAME [-o PLAN.json] [options]",
                 "Splits a model, or a training step of it, over the devices of a "
                 "machine: the cheapest plan that fits their memory.",
                 rows,
                 count,
                 1,
                 1};
  positional models;
  parse_outcome parsed = parse_arguments(&cmd, argc, argv, &models);
  if (parsed != PARSE_RUN) return parsed == PARSE_HELP ? EXIT_DONE : EXIT_USAGE;
  if (!flags_fit(&flags) || !output_fits(flags.output) || !demands_fit(&flags))
    return EXIT_USAGE;
  if (!files_can_be_written(&flags)) return EXIT_FAILED;
  if (flags.gap >= 0) flags.options.relative_gap = flags.gap > 0 ? flags.gap : -1;
  flags.options.micro_batches = (uint32_t)flags.micro_batches;
  egraph_plan *plan = NULL;
  egraph_status status = make_plan(models.items[0], &flags, &plan);
  if (status == EGRAPH_OK) status = hand_out(plan, &flags);
  int outcome = status == EGRAPH_OK ? certified_outcome(plan) : report_failure(status);
  egraph_plan_destroy(plan);
  return outcome;
}
