// egraph optimize and egraph plan: the cheapest graph for one device, or the cheapest
// plan for many. They are one command; plan is for the devices of this host where no flag
// names a target.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/arguments.h"
#include "tools/plan_files.h"
#include "tools/result_print.h"
#include "tools/text_file.h"
#include "tools/trained_weights.h"

#define DEMANDS_NAME "constraints" // of a text of statements, in messages
enum { MAX_DEMANDS = 1 << 14 };

typedef struct file_flags {
  optimize_flags run;
  const char *output, *certificate, *explanation;
  text_list pins, deliveries, bans;
  char demands[MAX_DEMANDS]; // the same as statements
  bool text, unity;
} file_flags;

// ---- flags ------------------------------------------------------------------------

static void add_machine_flags(command *cmd, optimize_flags *o) {
  add_heading(cmd, "Machine");
  add_text(cmd, "--machine NAME", &o->target.machine,
           "host (this one, a rank per processor), alpa, dgx-a100, dgx-h100, "
           "p3-16xlarge, or a file. Alone it has as many nodes as its file says: "
           "dgx-h100 is 8 nodes, 64 devices; NAME*N is N nodes, host*N is N ranks");
  offer_words(cmd, MACHINE_WORDS);
  add_text(cmd, "--mesh AXES", &o->target.mesh,
           "plan for one mesh: node=2,gpu=4 (default: all of the machine)");
  add_real(cmd, "--memory X", &o->target.memory_limit, 1, 1e18,
           "bytes of a device (default: as the machine has)");
}

static void add_step_flags(command *cmd, optimize_flags *o) {
  add_heading(cmd, "Training");
  add_choice(cmd, "--train sgd|momentum|adam|adamw", &o->optimizer,
             "plan a training step (default: the graph itself)");
  add_text(cmd, "--loss NAME", &o->training.loss,
           "loss of the first output: softmax-cross-entropy (the default), "
           "softmax-cross-entropy-of-probabilities, mean-squared-error");
  offer_words(cmd, LOSS_WORDS);
  add_uint(cmd, "--micro-batches N", &o->micro_batches, 1, 1 << 20,
           "micro-batches in a step, each the model's batch (default 1)");
  add_real(cmd, "--clip X", &o->training.clip_norm, 0, 1e30,
           "largest norm of all gradients (default 0: no limit)");
  add_switch(cmd, "--bf16", &o->training.mixed_precision,
             "compute in bfloat16, with weights and states in float32");
  add_training_flags(cmd, &o->trained);
}

static void add_constraint_flags(command *cmd, file_flags *f) {
  add_heading(cmd, "Constraints of a plan");
  add_text(cmd, "--constraints FILE", &f->run.constraints.file,
           "keep to the statements of a file, one per line");
  add_list(cmd, "--pin \"VALUE AXIS=LAYOUT\"", &f->pins,
           "make and keep a value in a layout: \"w1 gpu=S0\", \"(all states) *=S\" "
           "(repeatable)");
  add_list(cmd, "--deliver \"OUTPUT AXIS=LAYOUT\"", &f->deliveries,
           "hand an output out in a layout, R (the default) or S, however it is made: "
           "\"y gpu=S0\", \"(all outputs) *=?\" (repeatable)");
  add_list(cmd, "--forbid \"VALUE LAYOUT|MOVE\"", &f->bans,
           "exclude a layout or a move of a value: \"w1 S0\", \"(all weights) all-gather "
           "(axis gpu)\" (repeatable)");
}

static void add_comparison_flags(command *cmd, optimize_flags *o) {
  add_heading(cmd, "Comparison of plans");
  add_switch(
      cmd, "--baselines", &o->compare.all,
      "compare with single device, data parallel, ZeRO-1, -2, -3, a Megatron grid");
  add_text(
      cmd, "--baseline NAME", &o->compare.only,
      "plan this instead of the cheapest: single-device, data-parallel, zero-1, zero-2, "
      "zero-3, megatron (tensor parallel along the last axis); or each axis idle, "
      "data-parallel, zero-1, zero-2, zero-3, tensor or any: node=idle,gpu=zero-1");
  offer_words(cmd, "single-device data-parallel zero-1 zero-2 zero-3 megatron");
  add_switch(cmd, "--no-fold", &o->search.no_fold,
             "choose for each repeated block, not once for the middle ones");
  add_switch(cmd, "--overlap", &o->search.overlap,
             "of the plans that several searches find, take the one whose step is "
             "shortest when exchanges run beside computing (egraph simulate)");
  add_switch(cmd, "--algebra-first", &o->search.algebra_first,
             "choose the graph for one device first, and split that one");
}

/// Appended to the flags of the output, which are the last.
static void add_file_flags(command *cmd, file_flags *f) {
  add_text(cmd, "-o FILE", &f->output,
           "write the plan (.json), or the graph (.onnx or .egraph)");
  add_text(cmd, "--certificate FILE", &f->certificate,
           "write a proof of a plan's cost and bound, for check_certificate");
  add_text(
      cmd, "--explanation FILE", &f->explanation,
      "write why the graph is equal to the model: instances of rules, for egraph replay");
  add_switch(cmd, "--text", &f->text, "print every step of a plan, too");
  add_switch(cmd, "--unity", &f->unity,
             "print them, with Partition, Combine, Replicate, Reduce");
}

static bool training_fits(const optimize_flags *f) {
  bool wants_training = f->training.loss != NULL || f->micro_batches != 0 ||
                        f->training.clip_norm > 0 || f->training.mixed_precision ||
                        f->trained.decay > 0 || f->trained.freeze.count != 0 ||
                        f->trained.train_only.count != 0 ||
                        training_flags_untie(&f->trained);
  if (f->optimizer != NULL || !wants_training) return true;
  return complain("--loss, --micro-batches, --clip, --bf16, --freeze, --train-only, "
                  "--untie, --untie-only and --decay are of training; give --train too");
}

/// Writes "(pin A)\n(pin B)\n" behind what there is; false: too long.
static bool write_demands(file_flags *f, const char *verb, const text_list *list) {
  size_t length = strlen(f->demands);
  for (size_t i = 0; i < list->count; i++) {
    int more = snprintf(f->demands + length, sizeof f->demands - length, "(%s %s)\n",
                        verb, list->items[i]);
    if (more < 0 || (size_t)more >= sizeof f->demands - length) return false;
    for (char *c = f->demands + length; c[1] != '\0'; c++)
      if (*c == '\n') *c = ' '; // a statement a line: find_demand counts them
    length += (size_t)more;
  }
  return true;
}

static bool demands_fit(file_flags *f) {
  if (!write_demands(f, "pin", &f->pins) || !write_demands(f, "forbid", &f->bans) ||
      !write_demands(f, "deliver", &f->deliveries))
    return complain("--pin, --deliver and --forbid are too long; write a file and give "
                    "--constraints");
  if (f->demands[0] == '\0') return true;
  f->run.constraints.text = f->demands;
  // The library calls a text "constraints"; a file of that name needs another one.
  const char *file = f->run.constraints.file;
  if (file != NULL && strcmp(file, DEMANDS_NAME) == 0)
    f->run.constraints.file = "./" DEMANDS_NAME;
  return true;
}

/// The flag of statement `line` (from 1) of those that write_demands wrote.
static bool find_demand(const file_flags *f, size_t line, const char **out_flag,
                        const char **out_text) {
  const struct {
    const char *flag;
    const text_list *list;
  } lists[] = {
      {"--pin", &f->pins}, {"--forbid", &f->bans}, {"--deliver", &f->deliveries}};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    if (line >= 1 && line <= lists[i].list->count) {
      *out_flag = lists[i].flag;
      *out_text = lists[i].list->items[line - 1];
      return true;
    }
    line -= lists[i].list->count;
  }
  return false;
}

/// An error of a statement names its flag, not a line that nobody wrote.
static int report_demand(const file_flags *f, egraph_status status) {
  static const char place[] = DEMANDS_NAME ":";
  const char *message = egraph_last_error(), *flag_name, *text;
  char *end;
  if (f->demands[0] == '\0' || strncmp(message, place, sizeof place - 1) != 0)
    return report_failure(status);
  unsigned long line = strtoul(message + sizeof place - 1, &end, 10);
  const char *rest = strstr(end, ": ");
  if (rest == NULL || !find_demand(f, line, &flag_name, &text))
    return report_failure(status);
  progress_clear();
  show(stderr, "egraph: %s \"%s\"%s\n", flag_name, text, rest);
  return EXIT_FAILED;
}

/// Statements about a value that the plan has no longer under its name: it is equal to
/// another one, or part of an operator.
static void note_fused(const char *flag_name, const text_list *list,
                       const egraph_graph *step) {
  for (size_t i = 0; i < list->count; i++) {
    const char *text = list->items[i] + strspn(list->items[i], " ");
    char name[256];
    egraph_value value;
    size_t length = strcspn(text, " \t\n");
    if (strchr("(\"", *text) != NULL || length >= sizeof name) continue;
    memcpy(name, text, length);
    name[length] = '\0';
    if (strchr(name, '*') != NULL || egraph_graph_find_value(step, name, &value))
      continue;
    fprintf(stderr,
            "egraph: note: %s \"%s\": the plan has no value %s; it is equal to another "
            "value, of which the statement holds then, or part of an operator, where it "
            "has no layout (--no-builtin keeps it apart)\n",
            flag_name, list->items[i], name);
  }
}

// ---- files ------------------------------------------------------------------------

/// Returns whether the name of an output says what is to be written. A device takes a
/// model.
static bool says_its_form(const char *path) {
  struct stat info;
  bool is_special = stat(path, &info) == 0 && !S_ISREG(info.st_mode);
  if (is_special || is_plan_file(path) || is_graph_text(path) || is_onnx_file(path))
    return true;
  return complain("%s: the name does not say what is to be written; end it in .json (a "
                  "plan), .onnx or .egraph (a graph)",
                  path);
}

static bool files_can_be_written(const file_flags *f, const char *model) {
  if (files_are_same(f->certificate, model))
    return say_overwritten(f->certificate, "the model itself");
  if (optimize_flags_plan(&f->run) && files_are_same(f->output, model))
    return say_overwritten(f->output, "the model itself");
  if (files_are_same(f->output, f->certificate))
    return say_overwritten(f->certificate, "the output, too");
  if (files_are_same(f->explanation, model))
    return say_overwritten(f->explanation, "the model itself");
  if (files_are_same(f->explanation, f->output))
    return say_overwritten(f->explanation, "the output, too");
  return (f->output == NULL ||
          (file_can_be_written(f->output) && says_its_form(f->output))) &&
         (f->certificate == NULL || file_can_be_written(f->certificate)) &&
         (f->explanation == NULL || file_can_be_written(f->explanation));
}

/// The text form holds small weights only: says so when some were left out.
static egraph_status save_graph(const egraph_graph *graph, const char *path) {
  egraph_status status = egraph_graph_save(graph, path);
  if (status != EGRAPH_OK || !is_graph_text(path)) return status;
  egraph_graph *written;
  EG_TRY(egraph_graph_load(NULL, path, NULL, &written));
  uint32_t absent = egraph_graph_info_of(written).absent_weights -
                    egraph_graph_info_of(graph).absent_weights;
  egraph_graph_destroy(written);
  if (absent != 0)
    fprintf(stderr,
            "egraph: note: %s: the data of %u weights is left out of text; write .onnx "
            "to keep it\n",
            path, absent);
  return EGRAPH_OK;
}

/// Fails, saying why there is no plan.
static egraph_status fail_without_plan(egraph_result *result) {
  egraph_plan *none;
  return egraph_result_take_plan(result, &none);
}

static egraph_status save_plan(egraph_result *result, const char *path) {
  const egraph_plan *plan = egraph_result_plan(result);
  return plan != NULL ? egraph_plan_save(plan, path) : fail_without_plan(result);
}

/// The name says what is written.
static egraph_status write_output(egraph_result *result, const char *path) {
  return is_plan_file(path) ? save_plan(result, path)
                            : save_graph(egraph_result_graph(result), path);
}

/// A certificate or explanation of another run is not to be taken for that of this one;
/// what is no plain file stays.
static void remove_old_proof(const char *path) {
  struct stat info;
  if (path != NULL && lstat(path, &info) == 0 && S_ISREG(info.st_mode))
    (void)remove(path);
}

/// False, with a message, when it cannot be written. Why there is none is said later.
static bool write_certificate(const egraph_result *result, const char *path) {
  const char *text;
  if (path == NULL || egraph_result_certificate(result, &text) != EGRAPH_OK) return true;
  return text_file_write(path, text);
}

/// False, with a message, when it cannot be written.
static bool write_explanation(const egraph_result *result, const char *path) {
  const char *text;
  if (path == NULL || egraph_result_explanation(result, &text) != EGRAPH_OK) return true;
  return text_file_write(path, text);
}

// ---- the command ------------------------------------------------------------------

static egraph_status hand_out_plan(const file_flags *f, const optimize_session *session) {
  const plan_view view = {.text = f->text, .unity = f->unity};
  egraph_status status = EGRAPH_OK;
  note_fused("--pin", &f->pins, egraph_result_graph(session->result));
  note_fused("--forbid", &f->bans, egraph_result_graph(session->result));
  if (f->run.json) status = print_plan_json(session, f->certificate);
  if (status == EGRAPH_OK && egraph_result_plan(session->result) == NULL)
    return fail_without_plan(session->result);
  if (status != EGRAPH_OK || f->run.json) return status;
  return print_plan_text(session, &view, f->certificate);
}

/// True when the search is for pipelines, which have no plan.
static bool finds_stages(const file_flags *f) {
  static const struct {
    const char *name, *kind;
  } all[] = {
#define EGRAPH_ALGORITHM(name, kind, row, what, paper) {name, #kind},
#include "include/egraph_algorithms.def"
  };
  for (size_t i = 0; f->run.search.algorithm != NULL && i < sizeof all / sizeof *all; i++)
    if (strcmp(all[i].name, f->run.search.algorithm) == 0)
      return strcmp(all[i].kind, "stages") == 0;
  return false;
}

static egraph_status hand_out_stages(const file_flags *f,
                                     const optimize_session *session) {
  egraph_stages_form form = f->run.json ? EGRAPH_STAGES_JSON
                            : f->text   ? EGRAPH_STAGES_ALL
                                        : EGRAPH_STAGES_BEST;
  char *text;
  EG_TRY(egraph_result_stages(NULL, session->result, form, &text));
  show_lines(stdout, text);
  if (f->run.json) printf("\n");
  egraph_string_free(NULL, text);
  return EGRAPH_OK;
}

static bool stages_can_be_written(const file_flags *f) {
  if (!finds_stages(f) || f->output == NULL) return true;
  return complain("%s: staged plans are simulated only, there is nothing to write; leave "
                  "-o out, or --search",
                  f->output);
}

static egraph_status hand_out(const file_flags *f, const optimize_session *session) {
  if (finds_stages(f)) return hand_out_stages(f, session);
  egraph_result *result = session->result;
  bool is_there = egraph_result_graph(result) != NULL;
  egraph_status status = EGRAPH_OK;
  if (f->output != NULL && is_there) status = write_output(result, f->output);
  if (status != EGRAPH_OK) return status;
  if (optimize_flags_plan(&f->run)) return hand_out_plan(f, session);
  if (f->run.json)
    print_graph_json(session, false);
  else
    print_graph_text(session);
  return EGRAPH_OK;
}

/// The failure to certify stands after the plan, which is handed out all the same; that
/// no pipeline is possible in the report.
static int certified_outcome(const egraph_result *result) {
  if (strcmp(egraph_result_report(result)->status, "unknown") == 0) return EXIT_FAILED;
  const char *why = egraph_result_report(result)->uncertified;
  if (why == NULL) return EXIT_DONE;
  fprintf(stderr, "egraph: %s\n", why);
  return EXIT_FAILED;
}

/// Loads, and unties and warns of the weights of what is trained.
static egraph_status load_session(const file_flags *f, const char *model,
                                  optimize_session *out) {
  egraph_status status = optimize_load(&f->run, model, out);
  if (status != EGRAPH_OK || f->run.optimizer == NULL) return status;
  status = untie_model(&f->run.trained, &out->graph);
  return status == EGRAPH_OK ? warn_of_ties(&f->run.trained, out->graph) : status;
}

static int run_command(const command *base, file_flags *f, int argc, char **argv) {
  command cmd = *base;
  add_load_flags(&cmd, &f->run.load);
  add_machine_flags(&cmd, &f->run);
  add_step_flags(&cmd, &f->run);
  add_constraint_flags(&cmd, f);
  add_comparison_flags(&cmd, &f->run);
  add_optimize_flags(&cmd, &f->run);
  add_file_flags(&cmd, f);
  positional models;
  int parsed = parse_arguments(&cmd, argc, argv, &models);
  if (parsed != PARSE_RUN) return parsed;
  if (!training_fits(&f->run) || !demands_fit(f)) return EXIT_USAGE;
  f->run.search.certify = f->certificate != NULL;
  f->run.search.explain = f->explanation != NULL;
  if (!stages_can_be_written(f) || !files_can_be_written(f, models.items[0]))
    return EXIT_FAILED;
  optimize_session session;
  egraph_status status = load_session(f, models.items[0], &session);
  if (status == EGRAPH_OK) remove_old_proof(f->certificate);
  if (status == EGRAPH_OK) remove_old_proof(f->explanation);
  if (status == EGRAPH_OK) status = optimize_search(&f->run, &session);
  int outcome = EXIT_DONE;
  if (status == EGRAPH_OK) status = hand_out(f, &session);
  if (status == EGRAPH_OK)
    outcome = write_certificate(session.result, f->certificate) &&
                      write_explanation(session.result, f->explanation)
                  ? certified_outcome(session.result)
                  : EXIT_FAILED;
  if (status != EGRAPH_OK) outcome = report_demand(f, status);
  optimize_close(&session);
  return outcome;
}

int command_optimize(int argc, char **argv) {
  static const command cmd = {
      .name = "optimize",
      .usage = "MODEL [--machine NAME] [--train OPTIMIZER] [-o FILE] [options]",
      .summary = "Finds the cheapest equivalent graph of an ONNX model (or .egraph "
                 "text), for one device of this host; or the cheapest plan of it, or of "
                 "a training step, for the devices of a machine.",
      .min_positional = 1,
      .max_positional = 1};
  file_flags flags = {.output = NULL};
  optimize_flags_init(&flags.run);
  return run_command(&cmd, &flags, argc, argv);
}

int command_plan(int argc, char **argv) {
  static const command cmd = {
      .name = "plan",
      .usage = "MODEL [--machine NAME] [-o PLAN.json] [options]",
      .summary = "Does what egraph optimize does, for the devices of a machine (default: "
                 "this host): finds the cheapest plan that fits their memory.",
      .min_positional = 1,
      .max_positional = 1};
  file_flags flags = {.output = NULL};
  optimize_flags_init(&flags.run);
  flags.run.is_targeted = true;
  return run_command(&cmd, &flags, argc, argv);
}
