// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "tools/planning.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void plan_flags_init(plan_flags *flags) {
  *flags = (plan_flags){.options = egraph_options_default(), .run_threads = 1};
}

static flag number_row(const char *name, const char *type, void *target, double low,
                       double high, const char *help) {
  bool real = type[0] == 'd';
  return (flag){.name = name,
                .kind = real ? FLAG_REAL : FLAG_UINT,
                .target = target,
                .value = real ? "X" : "N",
                .help = help,
                .low = low,
                .high = high};
}

/// The flag of an option; that of the work limit is short.
static const char *flag_of(const char *name) {
  return strcmp(name, "--work_limit") == 0 ? "--work" : name;
}

size_t rule_flags_rows(rule_flags *flags, flag *rows) {
  const flag all[] = {
      {"--rules", FLAG_LIST, &flags->files, "FILE", "add a rule file (repeatable)", 0, 0},
      {"--no-builtin", FLAG_SWITCH, &flags->no_builtin, NULL,
       "leave the shipped rules out", 0, 0},
      {"--enable", FLAG_LIST, &flags->enabled, "NAME",
       "switch a rule or a rule file's rules on: explore-matmul (repeatable)", 0, 0},
      {"--disable", FLAG_LIST, &flags->disabled, "NAME",
       "switch a rule or a rule file's rules off (repeatable)", 0, 0},
      {"--math", FLAG_CHOICE, &flags->math, "exact|associative|fast",
       "what rules may change: nothing; rounding (default); what is not finite, too", 0,
       0},
      {"--trust", FLAG_SWITCH, &flags->trust, NULL,
       "use rule files as they are, without verifying them", 0, 0}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    rows[i] = all[i];
  return sizeof all / sizeof *all;
}

size_t plan_flags_rows(plan_flags *flags, flag rows[MAX_PLAN_FLAGS]) {
  egraph_options *o = &flags->options;
  size_t n = 0;
  rows[n++] = (flag){
      "--json", FLAG_SWITCH, &flags->json, NULL, "one JSON object on standard output", 0,
      0};
  n += rule_flags_rows(&flags->rules, rows + n);
  rows[n++] = (flag){"--db",
                     FLAG_TEXT,
                     &flags->database,
                     "FILE",
                     "profile database (default: in the user's cache folder)",
                     0,
                     0};
  rows[n++] = (flag){"--no-measure",
                     FLAG_SWITCH,
                     &flags->no_measure,
                     NULL,
                     "estimate costs that the database lacks",
                     0,
                     0};
  rows[n++] = (flag){"--read-only",
                     FLAG_SWITCH,
                     &flags->read_only,
                     NULL,
                     "do not write to the database",
                     0,
                     0};
  rows[n++] = (flag){"--backend",
                     FLAG_TEXT,
                     &flags->backend,
                     "NAME",
                     "back-end that runs the graph (cpu, reference)",
                     0,
                     0};
  rows[n++] = (flag){"--run-threads",
                     FLAG_UINT,
                     &flags->run_threads,
                     "N",
                     "threads of the executor the plan is for (default 1)",
                     1,
                     1024};
  const flag load[] = {LOAD_ROWS(&flags->load)};
  for (size_t i = 0; i < sizeof load / sizeof *load; i++)
    rows[n++] = load[i];
  rows[n++] = (flag){
      "--extractor", FLAG_CHOICE, &o->extractor, "ilp|dag|tree", "exact or greedy", 0, 0};
  rows[n++] = (flag){"--scheduler",
                     FLAG_CHOICE,
                     &o->scheduler,
                     "backoff|simple|yield",
                     "whether rules that match too often pause",
                     0,
                     0};
#define EGRAPH_OPTION(type, name, initial, low, high, help)                              \
  rows[n++] = number_row(flag_of("--" #name), #type, &o->name, low, high, help);
#include "include/egraph_options.def"
  return n;
}

void training_flags_give(const training_flags *flags, egraph_plan_options *out) {
  out->weight_decay = flags->decay;
  out->freeze = flags->freeze.items;
  out->freeze_count = (uint32_t)flags->freeze.count;
  out->train_only = flags->train_only.items;
  out->train_only_count = (uint32_t)flags->train_only.count;
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

void measure_host(egraph_plan_options *options, bool is_unwanted) {
  const char *machine = options->machine != NULL ? options->machine : "host";
  bool is_host = strcmp(machine, "host") == 0 || strncmp(machine, "host*", 5) == 0;
  options->measure = is_host && !is_unwanted;
  if (options->measure && options->database == NULL)
    options->database = default_database();
}

static bool on_measure(void *user, uint32_t done, uint32_t total) {
  (void)user;
  char line[96];
  unsigned filled = total != 0 ? 30 * done / total : 30;
  (void)snprintf(line, sizeof line, "[%.*s%.*s] %u of %u operators", (int)filled,
                 "##############################", (int)(30 - filled),
                 "..............................", done, total);
  progress_line("profile", line);
  return interrupted();
}

static bool on_progress(void *user, const char *phase, const char *line) {
  (void)user;
  progress_line(phase, line);
  return interrupted();
}

// ---- one run --------------------------------------------------------------------

static void note_repeated(const egraph_rules *rules, uint32_t first) {
  for (uint32_t i = first; i < egraph_rules_implied_count(rules); i++) {
    egraph_rule_info info = egraph_rules_implied_at(rules, i);
    if (info.known_as != NULL)
      fprintf(stderr, "egraph: note: %s:%u: rule %s is %s, which is there already\n",
              info.file, info.line, info.name, info.known_as);
  }
}

egraph_status rule_flags_load(const rule_flags *flags, egraph_rules **out) {
  *out = NULL;
  egraph_status status = egraph_rules_create(NULL, out);
  if (status == EGRAPH_OK && !flags->no_builtin) status = egraph_rules_add_builtin(*out);
  if (status == EGRAPH_OK) egraph_rules_trust(*out, flags->trust);
  uint32_t shipped = status == EGRAPH_OK ? egraph_rules_implied_count(*out) : 0;
  for (size_t i = 0; status == EGRAPH_OK && i < flags->files.count; i++)
    status = egraph_rules_add_file(*out, flags->files.items[i]);
  if (status == EGRAPH_OK) note_repeated(*out, shipped);
  for (size_t i = 0; status == EGRAPH_OK && i < flags->enabled.count; i++)
    status = egraph_rules_enable(*out, flags->enabled.items[i], true);
  for (size_t i = 0; status == EGRAPH_OK && i < flags->disabled.count; i++)
    status = egraph_rules_enable(*out, flags->disabled.items[i], false);
  return status;
}

egraph_math rule_flags_math(const rule_flags *flags) {
  egraph_math math = EGRAPH_MATH_ASSOCIATIVE;
  if (flags->math != NULL) (void)egraph_math_find(flags->math, &math); // a choice
  return math;
}

static egraph_status open_costs(const plan_flags *flags, egraph_costs **out) {
  egraph_costs_options options = {
      .size = sizeof options,
      .database = flags->database != NULL ? flags->database : default_database(),
      .backend = with_plugin(flags->backend),
      .threads = (uint32_t)flags->run_threads,
      .read_only = flags->read_only,
      .measure = !flags->no_measure,
      .again = flags->again,
      .progress = on_measure};
  return egraph_costs_create(NULL, &options, out);
}

bool is_graph_text(const char *path) {
  static const char suffix[] = ".egraph";
  size_t length = strlen(path), end = sizeof suffix - 1;
  return length >= end && strcmp(path + length - end, suffix) == 0;
}

/// "NAME=N"; names may hold '='. What is no such text is a name of size 0, which the
/// library refuses.
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
                                       .fix_defaults = flags->fix_defaults};
  return egraph_graph_load(NULL, path, &options, out);
}

egraph_status load_model(const char *path, const load_flags *flags, egraph_graph **out) {
  egraph_status status = load_with(path, flags, out);
  if (status == EGRAPH_OK && egraph_graph_info_of(*out).outputs == 0)
    fprintf(stderr, "egraph: note: %s has no outputs, so nothing needs to be computed\n",
            path);
  return status;
}

egraph_status plan_run(const plan_flags *flags, const char *model, plan_session *out) {
  *out = (plan_session){.graph = NULL};
  install_interrupt();
  egraph_options options = flags->options;
  options.progress = on_progress;
  options.math = out->math = rule_flags_math(&flags->rules);
  egraph_status status = rule_flags_load(&flags->rules, &out->rules);
  if (status == EGRAPH_OK) status = load_model(model, &flags->load, &out->graph);
  if (status == EGRAPH_OK) status = open_costs(flags, &out->costs);
  if (status == EGRAPH_OK)
    status =
        egraph_optimize(NULL, out->graph, out->rules, out->costs, &options, &out->result);
  progress_clear();
  return status;
}

void plan_close(plan_session *session) {
  egraph_result_destroy(session->result);
  egraph_costs_destroy(session->costs);
  egraph_rules_destroy(session->rules);
  egraph_graph_destroy(session->graph);
}

static void print_basis_json(const char *name, const egraph_cost_basis *basis) {
  json_open(name, '{');
  json_int("measured", basis->measured);
  json_int("estimated", basis->estimated);
  json_int("guessed", basis->guessed);
  json_int("given", basis->given);
  json_close('}');
}

void plan_print_json(const plan_session *session) {
  const egraph_report *r = egraph_result_report(session->result);
  json_begin();
  json_real("cost_before", r->cost_before);
  json_real("cost_after", r->cost_after);
  json_real("bound", r->bound);
  json_real("gap", r->gap);
  json_text("status", r->status);
  json_text("proven_over", r->proven_over);
  json_text("stop", r->stop);
  json_text("math", egraph_math_name(r->math));
  json_int("rounds", r->rounds);
  json_bool("settled", r->settled);
  json_int("nodes", r->nodes);
  json_int("classes", r->classes);
  json_int("iterations", r->iterations);
  json_int("nodes_before", r->nodes_before);
  json_int("nodes_after", r->nodes_after);
  json_real("tree_cost", r->tree_cost);
  json_real("dag_cost", r->dag_cost);
  json_int("measured", r->measured);
  json_int("measured_again", r->measured_again);
  json_bool("order_clear", r->is_order_clear);
  json_int("measured_while_busy", r->busy);
  json_open("open", '[');
  for (uint32_t i = 0; i < egraph_graph_open_dims(session->graph); i++) {
    egraph_dim dim;
    if (egraph_graph_open_dim(session->graph, i, &dim) != EGRAPH_OK) break;
    json_open(NULL, '{');
    json_text("dim", dim.name);
    json_int("example", (uint64_t)dim.size);
    json_close('}');
  }
  json_close(']');
  print_basis_json("costs", &r->basis);
  print_basis_json("costs_compared", &r->compared);
  json_open("work", '{');
  json_real("saturate", r->saturate_work);
  json_real("extract", r->extract_work);
  json_close('}');
  json_open("seconds", '{');
  json_real("saturate", r->saturate_seconds);
  json_real("profile", r->profile_seconds);
  json_real("extract", r->extract_seconds);
  json_real("total", r->total_seconds);
  json_close('}');
  json_open("rules", '[');
  for (uint32_t i = 0; i < egraph_result_rule_count(session->result); i++) {
    egraph_rule_report rule = egraph_result_rule(session->result, i);
    if (rule.matches == 0) continue;
    json_open(NULL, '{');
    json_text("name", rule.name);
    json_int("matches", rule.matches);
    json_int("rejected", rule.rejected);
    json_int("nodes", rule.nodes);
    json_int("unions", rule.unions);
    json_close('}');
  }
  json_close(']');
  json_end();
}

static void print_basis_text(const char *name, const egraph_cost_basis *basis) {
  printf("%s %u measured, %u estimated from measurements, %u guessed", name,
         basis->measured, basis->estimated, basis->guessed);
  if (basis->given != 0) printf(", %u given", basis->given);
}

/// Dimensions that stay open, with the sizes that costs are of.
static void print_open_dims(const egraph_graph *graph) {
  uint32_t count = egraph_graph_open_dims(graph);
  for (uint32_t i = 0; i < count; i++) {
    egraph_dim dim;
    if (egraph_graph_open_dim(graph, i, &dim) != EGRAPH_OK) return;
    printf("%s%s (example %lld)%s", i == 0 ? "open        " : "", dim.name,
           (long long)dim.size, i + 1 < count ? ", " : "\n");
  }
}

/// Only where there is something to say.
static void print_measuring(const egraph_report *r) {
  if (r->measured_again != 0 || !r->is_order_clear)
    printf("measured    %u again, because they decide; %s\n", r->measured_again,
           r->is_order_clear ? "the order is clear"
                             : "the time was over before the order was clear "
                               "(--settle-limit)");
  if (r->busy != 0)
    printf(
        "busy        %u operators were measured while others used the machine; when it "
        "is quiet, egraph profile MODEL --again measures anew\n",
        r->busy);
}

void plan_print_text(const plan_session *session) {
  const egraph_report *r = egraph_result_report(session->result);
  print_open_dims(session->graph);
  printf("predicted   %.3f ms -> %.3f ms (%.2fx), %u -> %u operators\n",
         1e3 * r->cost_before, 1e3 * r->cost_after,
         r->cost_after > 0 ? r->cost_before / r->cost_after : 1.0, r->nodes_before,
         r->nodes_after);
  printf("proven      %s, bound %.3f ms, gap %.4f %% (%s); saturation %s\n", r->status,
         1e3 * r->bound, 100 * r->gap, r->proven_over, r->stop_words);
  printf("search      %u %s, %s; e-graphs: %u nodes, %u classes, %u iterations\n",
         r->rounds, r->rounds == 1 ? "round" : "rounds",
         r->settled ? "the last gained nothing" : "ended by a limit", r->nodes,
         r->classes, r->iterations);
  if (r->math != session->math)
    printf("math        exact: constants that %s rules fold overflow here\n",
           egraph_math_name(session->math));
  print_basis_text("costs       operators:", &r->basis);
  print_basis_text("; variants compared:", &r->compared);
  printf("\n");
  print_measuring(r);
  printf("greedy      tree %.3f ms, dag %.3f ms\n", 1e3 * r->tree_cost,
         1e3 * r->dag_cost);
  printf("work        saturate %.0f, extract %.0f million steps\n", r->saturate_work,
         r->extract_work);
  printf(
      "seconds     saturate %.2f, costs %.2f (%u measured), extract %.2f, total %.2f\n",
      r->saturate_seconds, r->profile_seconds, r->measured, r->extract_seconds,
      r->total_seconds);
}
