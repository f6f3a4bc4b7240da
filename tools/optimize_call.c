// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "tools/optimize_call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/lists.h"

void optimize_flags_init(optimize_flags *flags) {
  *flags = (optimize_flags){.search = egraph_search_default(),
                            .costs.threads = 1,
                            .target = {.size = sizeof(egraph_target)},
                            .training = egraph_training_default(),
                            .constraints = egraph_constraints_default(),
                            .compare = egraph_baselines_default()};
}

void add_load_flags(command *cmd, load_flags *flags) {
  add_heading(cmd, "Model");
  add_list(cmd, "--dim NAME=N", &flags->dims,
           "size of a symbolic dimension (repeatable); without it the dimension stays "
           "open where that is possible");
  add_uint(cmd, "--batch N", &flags->batch, 0, MAX_BATCH,
           "size of the only symbolic dimension, or of the first one of all inputs");
  add_switch(cmd, "--fix-defaults", &flags->fix_defaults,
             "make inputs with a default value weights of that value");
  add_switch(cmd, "--draw-weights", &flags->draw_weights,
             "draw random weights where the file of their data is missing");
}

void add_training_flags(command *cmd, training_flags *flags) {
  add_list(cmd, "--freeze PATTERN", &flags->freeze,
           "do not train these weights; * stands for any characters (repeatable)");
  add_list(cmd, "--train-only PATTERN", &flags->train_only,
           "train only these weights; a name without * also names a weight that looks "
           "like no parameter (repeatable)");
  add_switch(
      cmd, "--untie", &flags->untie,
      "untie weights: give each operator that shares a weight its own copy to train");
  add_list(cmd, "--untie-only PATTERN", &flags->untie_only,
           "untie only these weights (repeatable)");
  add_real(cmd, "--decay X", &flags->decay, 0, 1e30,
           "weight decay of all trained weights");
}

void add_rule_flags(command *cmd, rule_flags *flags) {
  add_heading(cmd, "Rules");
  add_list(cmd, "--rules FILE", &flags->files, "add a rule file (repeatable)");
  add_switch(cmd, "--no-builtin", &flags->no_builtin, "do not use the shipped rules");
  add_list(cmd, "--enable NAME", &flags->enabled,
           "switch on a rule, or all rules of a file: explore-matmul (repeatable)");
  offer_words(
      cmd, "explore-algebra explore-conv explore-matmul explore-parallel explore-scale");
  add_list(cmd, "--disable NAME", &flags->disabled,
           "switch off a rule, or all rules of a file (repeatable)");
  add_choice(cmd, "--math exact|associative|fast", &flags->math,
             "what rules may change: nothing (exact); rounding (associative, the "
             "default); NaN and infinities, too (fast)");
  add_switch(cmd, "--trust", &flags->trust, "use rule files without verifying them");
}

void add_cost_flags(command *cmd, cost_flags *flags) {
  add_heading(cmd, "Costs");
  add_text(cmd, "--db FILE", &flags->database,
           "profile database (default: in the user's cache folder)");
  add_switch(cmd, "--no-measure", &flags->no_measure,
             "estimate costs that the database lacks");
  add_switch(cmd, "--read-only", &flags->read_only, "do not write to the database");
  add_text(cmd, "--backend NAME", &flags->backend,
           "back-end that runs the graph: cpu (the default), reference, cuda");
  offer_words(cmd, BACKEND_WORDS);
  add_uint32(cmd, "--run-threads N", &flags->threads, 1, 1024,
             "threads of the executor, in each rank");
}

/// Returns the spelling of the flag of a limit; two limits have short names.
static const char *spelling_of(const char *spelling) {
  if (strcmp(spelling, "--work_limit N") == 0) return "--work N";
  return strcmp(spelling, "--relative_gap X") == 0 ? "--gap X" : spelling;
}

void add_search_flags(command *cmd, egraph_search *search) {
  add_heading(cmd, "Search");
// A default below 0 means that the flag is not given; the flag itself takes 0 or more.
#define EGRAPH_OPTION(type, name, initial, low, high, readers, help)                     \
  _Generic(search->name, double                                                          \
           : add_real, uint64_t                                                          \
           : add_uint)(cmd,                                                              \
                       spelling_of(_Generic(search->name, double                         \
                                            : "--" #name " X", uint64_t                  \
                                            : "--" #name " N")),                         \
                       &search->name, low > 0 ? low : 0, high, readers help);
#include "include/egraph_search.def"
  add_text(cmd, "--search NAME", &search->algorithm,
           "search by another algorithm, to compare; of one device, or a plan:"
#define EGRAPH_ALGORITHM(name, kind, row, what, paper) " " name " (" #kind ": " what ");"
#include "include/egraph_algorithms.def"
           " the formats of its graph are chosen exactly at the end");
  offer_words(cmd,
#define EGRAPH_ALGORITHM(name, kind, row, what, paper) name " "
#include "include/egraph_algorithms.def"
  );
  add_choice(cmd, "--extractor ilp|dag|tree", &search->extractor,
             "one device: extract exactly (ilp) or greedily");
  add_choice(cmd, "--scheduler backoff|simple|yield", &search->scheduler,
             "pause rules that match too often (backoff), no rules (simple), or rules "
             "whose matches add too many nodes (yield)");
}

void add_optimize_flags(command *cmd, optimize_flags *flags) {
  add_rule_flags(cmd, &flags->rules);
  add_cost_flags(cmd, &flags->costs);
  add_search_flags(cmd, &flags->search);
  add_heading(cmd, "Output");
  add_json(cmd, &flags->json);
}

void training_flags_give(const training_flags *flags, egraph_training *out) {
  out->weight_decay = flags->decay;
  out->freeze = flags->freeze.items;
  out->freeze_count = (uint32_t)flags->freeze.count;
  out->train_only = flags->train_only.items;
  out->train_only_count = (uint32_t)flags->train_only.count;
}

bool training_flags_untie(const training_flags *flags) {
  return flags->untie || flags->untie_only.count != 0;
}

// ---- the profile database -------------------------------------------------------

const char *default_database(void) {
  static char path[1024];
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  char folder[960];
  int length = cache != NULL && cache[0] == '/'
                   ? snprintf(folder, sizeof folder, "%s", cache)
               : home != NULL ? snprintf(folder, sizeof folder, "%s/.cache", home)
                              : -1;
  if (length < 0 || (size_t)length >= sizeof folder - 16) return NULL;
  (void)mkdir(folder, 0777);
  (void)snprintf(path, sizeof path, "%s/egraph", folder);
  (void)mkdir(path, 0777);
  if (access(path, W_OK) != 0) {
    fprintf(stderr,
            "egraph: note: %s: %s; costs are not kept; name a database with --db\n", path,
            strerror(errno));
    return NULL;
  }
  (void)snprintf(path, sizeof path, "%s/egraph/profile.db", folder);
  return path;
}

// ---- plugins --------------------------------------------------------------------

const char *with_plugin(const char *name) {
  static const struct {
    const char *name, *variable;
  } plugins[] = {{"cuda", "EGRAPH_CUDA_PLUGIN"}, {"nccl", "EGRAPH_NCCL_PLUGIN"}};
  static char names[sizeof plugins / sizeof *plugins][4096];
  for (size_t i = 0; name != NULL && i < sizeof plugins / sizeof *plugins; i++) {
    const char *file = getenv(plugins[i].variable);
    if (strcmp(name, plugins[i].name) != 0 || file == NULL || *file == '\0') continue;
    int length = snprintf(names[i], sizeof names[i], "%s:%s", name, file);
    return length > 0 && (size_t)length < sizeof names[i] ? names[i] : name;
  }
  return name;
}

static bool on_measure(void *user, uint32_t done, uint32_t total) {
  (void)user;
  unsigned filled = total != 0 ? 30 * done / total : 30;
  return progress_line("profile", "[%.*s%.*s] %u of %u operators", (int)filled,
                       "##############################", (int)(30 - filled),
                       "..............................", done, total);
}

bool show_search_progress(void *user, const char *phase, const char *line) {
  (void)user;
  return progress_line(phase, "%s", line);
}

// ---- one run --------------------------------------------------------------------

static void note_repeated(const egraph_rules *rules, uint32_t first) {
  for (uint32_t i = first; i < egraph_rules_implied_count(rules); i++) {
    egraph_rule_info info = egraph_rules_implied_at(rules, i);
    if (info.known_as != NULL)
      note("%s:%u: rule %s is %s, which is there already", info.file, info.line,
           info.name, info.known_as);
  }
}

/// Returns the class of rules that --math names.
static egraph_math rule_flags_math(const rule_flags *flags) {
  egraph_math math = EGRAPH_MATH_ASSOCIATIVE;
  if (flags->math != NULL) (void)egraph_math_find(flags->math, &math); // a choice
  return math;
}

/// Notes which rules of the user's files have a class that --math does not allow.
static void note_not_allowed(const egraph_rules *rules, uint32_t first,
                             egraph_math allowed) {
  for (uint32_t i = first; i < egraph_rules_count(rules); i++) {
    egraph_rule_info info = egraph_rules_at(rules, i);
    if (info.math > allowed)
      fprintf(stderr,
              "egraph: note: %s:%u: rule %s is of class %s and is not applied; --math %s "
              "allows it\n",
              info.file, info.line, info.name, egraph_math_name(info.math),
              egraph_math_name(info.math));
  }
}

static egraph_status add_rule_files(egraph_rules *rules, const char *const *files,
                                    size_t count) {
  for (size_t i = 0; i < count; i++)
    EG_TRY(egraph_rules_add_file(rules, files[i]));
  return EGRAPH_OK;
}

egraph_status load_rules(bool builtin, bool trust, const char *const *files, size_t count,
                         egraph_rules **out) {
  EG_TRY(egraph_rules_create(NULL, out));
  if (builtin) EG_TRY(egraph_rules_add_builtin(*out));
  egraph_rules_trust(*out, trust);
  return add_rule_files(*out, files, count);
}

/// Loads the rules that the flags name; destroy *out also after a failure.
static egraph_status rule_flags_load(const rule_flags *flags, egraph_rules **out) {
  *out = NULL;
  EG_TRY(load_rules(!flags->no_builtin, flags->trust, NULL, 0, out));
  uint32_t shipped = egraph_rules_implied_count(*out), first = egraph_rules_count(*out);
  EG_TRY(add_rule_files(*out, flags->files.items, flags->files.count));
  note_repeated(*out, shipped);
  if (flags->math == NULL) note_not_allowed(*out, first, rule_flags_math(flags));
  for (size_t i = 0; i < flags->enabled.count; i++)
    EG_TRY(egraph_rules_enable(*out, flags->enabled.items[i], true));
  for (size_t i = 0; i < flags->disabled.count; i++)
    EG_TRY(egraph_rules_enable(*out, flags->disabled.items[i], false));
  return EGRAPH_OK;
}

static egraph_status open_costs(const cost_flags *flags, const char *database,
                                bool measure, egraph_costs **out) {
  egraph_costs_options options = {.size = sizeof options,
                                  .database = database,
                                  .backend = with_plugin(flags->backend),
                                  .threads = flags->threads,
                                  .read_only = flags->read_only,
                                  .measure = measure,
                                  .again = flags->again,
                                  .progress = on_measure};
  return egraph_costs_create(NULL, &options, out);
}

bool is_this_host(const char *machine) {
  static const char *const hosts[] = {"host", "host-mpi"};
  if (machine == NULL) return true;
  size_t length = strcspn(machine, "*");
  for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
    if (strlen(hosts[i]) == length && strncmp(machine, hosts[i], length) == 0)
      return true;
  return false;
}

egraph_status open_plan_costs(const cost_flags *flags, const char *machine,
                              egraph_costs **out) {
  bool measure = is_this_host(machine) && !flags->no_measure;
  cost_flags own = *flags;
  const char *database = flags->database;
  *out = NULL;
  if (measure && database == NULL) database = default_database();
  bool has_device = is_this_host(machine) && flags->backend != NULL; // with its memory
  if (!measure && database == NULL && !has_device) return EGRAPH_OK;
  own.read_only = own.read_only || !is_this_host(machine);
  return open_costs(&own, database, measure, out);
}

bool is_graph_text(const char *path) { return text_ends_with(path, ".egraph"); }

/// Reads "NAME=N", in which the name may contain '='. Another text becomes a name with
/// size 0, which the library refuses.
static void read_dim(const char *text, char *name, size_t room, egraph_dim *out) {
  const char *equals = strrchr(text, '=');
  size_t length = equals != NULL ? (size_t)(equals - text) : strlen(text);
  char *end;
  (void)snprintf(name, room, "%.*s", (int)length, text);
  *out = (egraph_dim){.name = name};
  if (equals == NULL) return;
  errno = 0;
  int64_t size = strtoll(equals + 1, &end, 10);
  if (end != equals + 1 && *end == '\0' && errno == 0 && size <= MAX_BATCH)
    out->size = size;
}

static egraph_status load_with(const char *path, const load_flags *flags,
                               egraph_graph **out) {
  char names[MAX_LIST][128];
  egraph_dim dims[MAX_LIST];
  for (size_t i = 0; i < flags->dims.count; i++)
    read_dim(flags->dims.items[i], names[i], sizeof names[i], &dims[i]);
  const egraph_load_options options = {.size = sizeof options,
                                       .batch = (int64_t)flags->batch,
                                       .dims = dims,
                                       .dim_count = (uint32_t)flags->dims.count,
                                       .draw_weights = flags->draw_weights,
                                       .fix_defaults = flags->fix_defaults,
                                       .examples = flags->examples,
                                       .example_count = flags->example_count};
  return egraph_graph_load(NULL, path, &options, out);
}

egraph_status load_model(const char *path, const load_flags *flags, egraph_graph **out) {
  EG_TRY(load_with(path, flags, out));
  if (egraph_graph_info_of(*out).outputs == 0)
    note("%s has no outputs, so nothing needs to be computed", path);
  return EGRAPH_OK;
}

/// Loads a model for a plan, which needs the sizes of weights but not their data.
static egraph_status load_sizes(const char *path, const load_flags *flags,
                                egraph_graph **out) {
  load_flags load = *flags;
  load.draw_weights = true;
  EG_TRY(load_model(path, &load, out));
  uint32_t absent = egraph_graph_info_of(*out).absent_weights;
  if (absent != 0 && !is_graph_text(path))
    note("%s: the data of %u weights is not there; a plan needs their sizes only", path,
         absent);
  return EGRAPH_OK;
}

static bool has_target(const optimize_flags *f) {
  return f->is_targeted || f->target.machine != NULL || f->target.mesh != NULL ||
         f->target.memory_limit > 0;
}

static bool has_constraints(const optimize_flags *f) {
  return f->constraints.file != NULL || f->constraints.text != NULL;
}

static bool has_baselines(const optimize_flags *f) {
  return f->compare.all || f->compare.only != NULL;
}

bool optimize_flags_plan(const optimize_flags *f) {
  return has_target(f) || f->optimizer != NULL || has_constraints(f) ||
         has_baselines(f) || f->search.certify || f->search.overlap;
}

static egraph_status call_optimize(const optimize_flags *flags, optimize_session *out) {
  egraph_options options = egraph_options_default();
  egraph_search search = flags->search;
  search.math = out->math = rule_flags_math(&flags->rules);
  options.search = &search;
  options.progress = show_search_progress;
  if (has_target(flags)) options.target = &flags->target;
  if (flags->optimizer != NULL) {
    out->training = flags->training;
    out->training.optimizer = flags->optimizer;
    training_flags_give(&flags->trained, &out->training);
    options.training = &out->training;
  }
  if (has_constraints(flags)) options.constraints = &flags->constraints;
  if (has_baselines(flags)) options.compare = &flags->compare;
  return egraph_optimize(NULL, out->graph, out->rules, out->costs, &options,
                         &out->result);
}

static egraph_status open_costs_of(const optimize_flags *flags, egraph_costs **out) {
  const cost_flags *costs = &flags->costs;
  if (optimize_flags_plan(flags))
    return open_plan_costs(costs, flags->target.machine, out);
  return open_costs(costs, costs->database != NULL ? costs->database : default_database(),
                    !costs->no_measure, out);
}

egraph_status optimize_load(const optimize_flags *flags, const char *model,
                            optimize_session *out) {
  *out = (optimize_session){.baseline = flags->compare.only};
  install_interrupt();
  EG_TRY(rule_flags_load(&flags->rules, &out->rules));
  if (model != NULL)
    EG_TRY((optimize_flags_plan(flags) ? load_sizes : load_model)(model, &flags->load,
                                                                  &out->graph));
  return open_costs_of(flags, &out->costs);
}

egraph_status optimize_search(const optimize_flags *flags, optimize_session *session) {
  egraph_status status = call_optimize(flags, session);
  progress_clear();
  return status;
}

egraph_status optimize_run(const optimize_flags *flags, const char *model,
                           optimize_session *out) {
  EG_TRY(optimize_load(flags, model, out));
  return optimize_search(flags, out);
}

void optimize_close(optimize_session *session) {
  egraph_result_destroy(session->result);
  egraph_costs_destroy(session->costs);
  egraph_rules_destroy(session->rules);
  egraph_graph_destroy(session->graph);
}

int optimize_finish(optimize_session *session, egraph_status status) {
  int outcome = outcome_of(status);
  optimize_close(session);
  return outcome;
}
