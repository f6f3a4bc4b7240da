// egraph optimize and egraph plan find the cheapest graph for one device, or the cheapest
// plan for many. They are one command; without a flag for the target, plan takes the
// devices of this host.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/arguments.h"
#include "tools/owned.h"
#include "tools/plan_files.h"
#include "tools/result_print.h"
#include "tools/text_file.h"
#include "tools/trained_weights.h"

#define DEMANDS_NAME "constraints" // names the statements in messages
enum { MAX_DEMANDS = 1 << 14 };

typedef struct file_flags {
  optimize_flags run;
  const char *output, *certificate, *explanation;
  text_list pins, deliveries, bans;
  char demands[MAX_DEMANDS]; // pins, bans and deliveries as statements
  bool text, unity;
} file_flags;

// ---- flags ------------------------------------------------------------------------

static void add_machine_flags(command *cmd, optimize_flags *o) {
  add_heading(cmd, "Machine");
  add_text(cmd, "--machine NAME", &o->target.machine,
           "host (this one, a rank per processor), alpa, dgx-a100, dgx-h100, dgx-h200, "
           "p3-16xlarge, or a file. Alone it has as many nodes as its file says: "
           "dgx-h100 is 8 nodes, 64 devices; NAME*N is N nodes, host*N is N ranks. "
           ":reached behind it prices by what devices reach, not by data sheets");
  offer_words(cmd, MACHINE_WORDS);
  add_text(cmd, "--mesh AXES", &o->target.mesh,
           "plan for one mesh: node=2,gpu=4 (default: all meshes of the machine)");
  add_real(cmd, "--memory X", &o->target.memory_limit, 1, 1e18,
           "bytes of memory of a device (default: those of the machine's devices)");
}

static void add_step_flags(command *cmd, optimize_flags *o) {
  add_heading(cmd, "Training");
  add_choice(cmd, "--train sgd|momentum|adam|adamw", &o->optimizer,
             "plan a training step (default: the graph itself)");
  add_text(cmd, "--loss NAME", &o->training.loss,
           "loss of the first output: softmax-cross-entropy (the default), "
           "softmax-cross-entropy-of-probabilities, mean-squared-error");
  offer_words(cmd, LOSS_WORDS);
  add_uint32(cmd, "--micro-batches N", &o->training.micro_batches, 1, 1 << 20,
             "micro-batches in a step, each the model's batch (default 1)");
  add_real(cmd, "--clip X", &o->training.clip_norm, 0, 1e30,
           "largest norm of all gradients (default 0: no limit)");
  add_switch(cmd, "--bf16", &o->bf16, "short for --precision bf16");
  add_text(cmd, "--precision NAME", &o->training.precision,
           "bf16: compute in bfloat16, with weights and states in float32; bf16-weights: "
           "with copies of weights in bfloat16 that are carried from step to step, and "
           "gradients in bfloat16, summed in float32; bf16-sums: summed in bfloat16, too "
           "(default: model, the types of the model)");
  offer_words(cmd, "model bf16 bf16-weights bf16-sums");
  add_training_flags(cmd, &o->trained);
}

static void add_constraint_flags(command *cmd, file_flags *f) {
  add_heading(cmd, "Constraints of a plan");
  add_text(cmd, "--constraints FILE", &f->run.constraints.file,
           "obey the statements of a file, one per line");
  add_list(cmd, "--pin \"VALUE AXIS=LAYOUT\"", &f->pins,
           "compute and store a value in a layout: \"w1 gpu=S0\", \"(all states) *=S\" "
           "(repeatable)");
  add_list(cmd, "--deliver \"OUTPUT AXIS=LAYOUT\"", &f->deliveries,
           "deliver an output in a layout, R (the default) or S, in whatever layout it "
           "is computed: "
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
  add_text(cmd, "--baseline NAME", &o->compare.only,
           "plan this baseline instead of the cheapest plan: single-device, "
           "data-parallel, zero-1, zero-2, "
           "zero-3, megatron (tensor parallel along the last axis); or each axis idle, "
           "data-parallel, zero-1, zero-2, zero-3, tensor or any: node=idle,gpu=zero-1");
  offer_words(cmd, "single-device data-parallel zero-1 zero-2 zero-3 megatron");
  add_switch(cmd, "--no-fold", &o->search.no_fold,
             "choose for each repeated block, not once for all middle blocks");
  add_switch(
      cmd, "--no-recompute", &o->search.no_recompute,
      "keep all values of the forward pass that the backward pass reads; otherwise, "
      "where the memory of devices is too small, it makes some of them again");
  add_switch(cmd, "--overlap", &o->search.overlap,
             "take, of the plans that several searches find, the plan whose step is "
             "shortest when exchanges overlap with computing (egraph simulate)");
  add_switch(cmd, "--algebra-first", &o->search.algebra_first,
             "choose the best graph for one device first, then split that graph");
}

/// Adds the flags of output files and of the printed plan.
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
             "print every step, with exchanges as Partition, Combine, Replicate, Reduce");
}

static bool read_precision(optimize_flags *f) {
  const char *name = f->training.precision;
  if (!f->bf16) return true;
  if (name != NULL && strcmp(name, "bf16") != 0)
    return complain("--bf16 is --precision bf16; leave it out, or --precision %s", name);
  f->training.precision = "bf16";
  return true;
}

static bool training_fits(const optimize_flags *f) {
  bool wants_training = f->training.loss != NULL || f->training.micro_batches != 0 ||
                        f->training.clip_norm > 0 || f->training.precision != NULL ||
                        f->trained.decay > 0 || f->trained.freeze.count != 0 ||
                        f->trained.train_only.count != 0 ||
                        training_flags_untie(&f->trained);
  if (f->optimizer != NULL || !wants_training) return true;
  return complain(
      "--loss, --micro-batches, --clip, --bf16, --precision, --freeze, --train-only, "
      "--untie, --untie-only and --decay are of training; give --train too");
}

/// Appends "(pin A)\n(pin B)\n" to the statements; false: too long.
static bool write_demands(file_flags *f, const char *verb, const text_list *list) {
  size_t length = strlen(f->demands);
  for (size_t i = 0; i < list->count; i++) {
    int more = snprintf(f->demands + length, sizeof f->demands - length, "(%s %s)\n",
                        verb, list->items[i]);
    if (more < 0 || (size_t)more >= sizeof f->demands - length) return false;
    for (char *c = f->demands + length; c[1] != '\0'; c++)
      if (*c == '\n') *c = ' '; // one line for each statement: find_demand counts lines
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
  // The library calls the text of statements "constraints"; a file with that name gets
  // another path.
  const char *file = f->run.constraints.file;
  if (file != NULL && strcmp(file, DEMANDS_NAME) == 0)
    f->run.constraints.file = "./" DEMANDS_NAME;
  return true;
}

/// Finds the flag of the statement in line `line` (from 1) of the text that
/// write_demands wrote.
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

/// Prints an error. For an error in a statement, it names the flag: the user has not
/// written the text with that line.
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

/// Warns of constraints on a value whose name is not in the plan: the value is equal to
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
    note("%s \"%s\": the plan has no value %s; it is equal to another value, of which "
         "the statement holds then, or part of an operator, where it has no layout "
         "(--no-builtin keeps it apart)",
         flag_name, list->items[i], name);
  }
}

// ---- files ------------------------------------------------------------------------

/// True when the name of an output determines the form to write; otherwise complains. A
/// device file takes any form.
static bool says_its_form(const char *path) {
  struct stat info;
  if (path == NULL) return true;
  bool is_special = stat(path, &info) == 0 && !S_ISREG(info.st_mode);
  if (is_special || is_plan_file(path) || is_graph_text(path) || is_onnx_file(path))
    return true;
  return complain("%s: the name does not say what is to be written; end it in .json (a "
                  "plan), .onnx or .egraph (a graph)",
                  path);
}

static bool files_can_be_written(const file_flags *f, const char *model) {
  bool is_plan = optimize_flags_plan(&f->run);
  return file_is_apart(f->certificate, model, "the model itself") &&
         (!is_plan || file_is_apart(f->output, model, "the model itself")) &&
         file_is_apart(f->certificate, f->output, "the output, too") &&
         file_is_apart(f->explanation, model, "the model itself") &&
         file_is_apart(f->explanation, f->output, "the output, too") &&
         file_can_be_written(f->output) && says_its_form(f->output) &&
         file_can_be_written(f->certificate) && file_can_be_written(f->explanation);
}

/// Saves a graph to a file; warns of weights that are too large for the text form.
static egraph_status save_graph(const egraph_graph *graph, const char *path) {
  OWNED(egraph_graph, written);
  EG_TRY(egraph_graph_save(graph, path));
  if (!is_graph_text(path)) return EGRAPH_OK;
  EG_TRY(egraph_graph_load(NULL, path, NULL, &written));
  uint32_t absent = egraph_graph_info_of(written).absent_weights -
                    egraph_graph_info_of(graph).absent_weights;
  if (absent != 0)
    note("%s: the data of %u weights is left out of text; write .onnx to keep it", path,
         absent);
  return EGRAPH_OK;
}

/// Fails with the reason why there is no plan.
static egraph_status fail_without_plan(egraph_result *result) {
  egraph_plan *none;
  return egraph_result_take_plan(result, &none);
}

/// Writes a plan or a graph, depending on the name of the file.
static egraph_status write_output(egraph_result *result, const char *path) {
  const egraph_plan *plan = egraph_result_plan(result);
  if (!is_plan_file(path)) return save_graph(egraph_result_graph(result), path);
  return plan != NULL ? egraph_plan_save(plan, path) : fail_without_plan(result);
}

/// Removes a certificate or explanation of an earlier run, which could be mistaken for
/// the result of this run; keeps devices and pipes.
static void remove_old_proof(const char *path) {
  struct stat info;
  if (path != NULL && lstat(path, &info) == 0 && S_ISREG(info.st_mode))
    (void)remove(path);
}

/// Writes a certificate or an explanation; false, with a message, when it cannot. When
/// there is no proof, the reason is printed later.
static bool write_proof(const egraph_result *result, const char *path,
                        egraph_status (*proof)(const egraph_result *, const char **)) {
  const char *text;
  return path == NULL || proof(result, &text) != EGRAPH_OK || text_file_write(path, text);
}

// ---- the command ------------------------------------------------------------------

static egraph_status hand_out_plan(const file_flags *f, const optimize_session *session) {
  const plan_view view = {.text = f->text, .unity = f->unity};
  note_fused("--pin", &f->pins, egraph_result_graph(session->result));
  note_fused("--forbid", &f->bans, egraph_result_graph(session->result));
  if (f->run.json) EG_TRY(print_plan_json(session, f->certificate));
  if (egraph_result_plan(session->result) == NULL)
    return fail_without_plan(session->result);
  return f->run.json ? EGRAPH_OK : print_plan_text(session, &view, f->certificate);
}

/// True when the search is for pipelines: it returns stages and no plan.
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
  OWNED_TEXT(text);
  EG_TRY(egraph_result_stages(NULL, session->result, form, &text));
  show_lines(stdout, text);
  if (f->run.json) printf("\n");
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
  if (f->output != NULL && egraph_result_graph(result) != NULL)
    EG_TRY(write_output(result, f->output));
  if (optimize_flags_plan(&f->run)) return hand_out_plan(f, session);
  if (f->run.json)
    print_graph_json(session, false);
  else
    print_graph_text(session);
  return EGRAPH_OK;
}

/// False when no pipeline is possible (the report says so), and, with a message, when a
/// plan lacks a requested certificate. The plan is written in both cases.
static bool is_certified(const egraph_result *result) {
  const char *why = egraph_result_report(result)->uncertified;
  if (strcmp(egraph_result_report(result)->status, "unknown") == 0) return false;
  return why == NULL || complain("%s", why);
}

/// Loads the model, searches, and writes the result; *out_good: all proofs are written,
/// and a requested certificate exists.
static egraph_status optimize(const file_flags *f, const char *model,
                              optimize_session *session, bool *out_good) {
  EG_TRY(optimize_load(&f->run, model, session));
  if (f->run.optimizer != NULL) {
    EG_TRY(untie_model(&f->run.trained, &session->graph));
    EG_TRY(warn_of_ties(&f->run.trained, session->graph));
  }
  remove_old_proof(f->certificate);
  remove_old_proof(f->explanation);
  EG_TRY(optimize_search(&f->run, session));
  EG_TRY(hand_out(f, session));
  egraph_result *result = session->result;
  *out_good = write_proof(result, f->certificate, egraph_result_certificate) &&
              write_proof(result, f->explanation, egraph_result_explanation) &&
              is_certified(result);
  return EGRAPH_OK;
}

static int run_command(command *cmd, file_flags *f, int argc, char **argv) {
  add_load_flags(cmd, &f->run.load);
  add_machine_flags(cmd, &f->run);
  add_step_flags(cmd, &f->run);
  add_constraint_flags(cmd, f);
  add_comparison_flags(cmd, &f->run);
  add_optimize_flags(cmd, &f->run);
  add_file_flags(cmd, f);
  PARSE_ARGUMENTS(models, cmd, argc, argv);
  if (!read_precision(&f->run) || !training_fits(&f->run) || !demands_fit(f))
    return EXIT_USAGE;
  f->run.search.certify = f->certificate != NULL;
  f->run.search.explain = f->explanation != NULL;
  if (!stages_can_be_written(f) || !files_can_be_written(f, models.items[0]))
    return EXIT_FAILED;
  optimize_session session;
  bool is_good = false;
  egraph_status status = optimize(f, models.items[0], &session, &is_good);
  int outcome = status != EGRAPH_OK ? report_demand(f, status)
                : is_good           ? EXIT_DONE
                                    : EXIT_FAILED;
  optimize_close(&session);
  return outcome;
}

int command_optimize(int argc, char **argv) {
  command cmd = new_command(
      "optimize", "MODEL [--machine NAME] [--train OPTIMIZER] [-o FILE] [options]", 1, 1,
      "Finds the cheapest equivalent graph of an ONNX model (or .egraph text), for one "
      "device of this host; or the cheapest plan of it, or of a training step, for the "
      "devices of a machine.");
  file_flags flags = {.output = NULL};
  optimize_flags_init(&flags.run);
  return run_command(&cmd, &flags, argc, argv);
}

int command_plan(int argc, char **argv) {
  command cmd = new_command(
      "plan", "MODEL [--machine NAME] [-o PLAN.json] [options]", 1, 1,
      "Does what egraph optimize does, for the devices of a machine (default: this "
      "host): finds the cheapest plan that fits their memory.");
  file_flags flags = {.output = NULL};
  optimize_flags_init(&flags.run);
  flags.run.is_targeted = true;
  return run_command(&cmd, &flags, argc, argv);
}
