// egraph saturate: rewrites plain terms by rules, and shows the smallest equal ones.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/arguments.h"
#include "tools/lists.h"
#include "tools/optimize_call.h"
#include "tools/owned.h"
#include "tools/term_lines.h"
#include "tools/text_file.h"

// ---- why two terms are equal ----------------------------------------------------

/// Splits a question, "(+ a b) (+ b a)", into two terms; the caller frees *out_from.
/// False when there is only one term. The first term ends at the first blank
/// outside brackets.
static bool split_question(const char *text, char **out_from, const char **out_to) {
  size_t depth = 0;
  text += strspn(text, " \t");
  const char *end = text;
  for (; *end != '\0' && (depth != 0 || (*end != ' ' && *end != '\t')); end++) {
    if (*end == '(') depth++;
    if (*end == ')' && depth > 0) depth--;
  }
  *out_to = end + strspn(end, " \t");
  *out_from = text_copy(text, (size_t)(end - text));
  return **out_to != '\0';
}

static const char *shown(const char *term) {
  return term != NULL ? term : "(a term too large to write)";
}

static bool print_step(void *user, const egraph_terms_step *step) {
  (void)user;
  printf("  %s%s", step->rule != NULL ? step->rule : "united",
         step->backward ? ", backward" : "");
  for (uint32_t i = 0; i < step->depth; i++)
    printf("%s%" PRIu32, i == 0 ? ", at " : ".", step->position[i]);
  printf("\n    %s\n", shown(step->after));
  return false;
}

static bool write_step(void *user, const egraph_terms_step *step) {
  (void)user;
  json_open(NULL, '{');
  JSON_MEMBERS(JSON("rule", step->rule), JSON("backward", step->backward));
  JSON_EACH("position", i, step->depth)
    json_int(NULL, step->position[i]);
  json_text("term", step->after);
  json_close('}');
  return false;
}

/// Explains why two terms are equal: prints each step when it is reported, and the number
/// of steps at the end.
static egraph_status answer(egraph_terms *terms, const char *from, const char *to,
                            bool json) {
  uint64_t count;
  if (!json) {
    printf("\nexplain     %s = %s\n    %s\n", from, to, from);
    EG_TRY(egraph_terms_explain(terms, from, to, print_step, NULL, &count));
    printf("steps       %" PRIu64 "\n", count);
    return EGRAPH_OK;
  }
  json_open(NULL, '{');
  JSON_MEMBERS(JSON("from", from), JSON("to", to));
  json_open("steps", '[');
  egraph_status status = egraph_terms_explain(terms, from, to, write_step, NULL, NULL);
  json_close(']');
  json_close('}');
  return status;
}

/// Answers all questions, each of two terms.
static egraph_status answer_all(egraph_terms *terms, const text_list *questions,
                                bool json) {
  egraph_status status = EGRAPH_OK;
  for (size_t i = 0; i < questions->count && status == EGRAPH_OK; i++) {
    char *from;
    const char *to;
    if (split_question(questions->items[i], &from, &to))
      status = answer(terms, from, to, json);
    free(from);
  }
  return status;
}

#define USAGE "RULES [TERMS...] [options]"

enum { MAX_ITERATIONS_SHOWN = 1000, GZIP_FIRST = 0x1f };

typedef struct saturate_flags {
  egraph_terms_options options;
  uint64_t byte_limit;
  text_list terms, rules, questions;
  const char *load_file, *save_file, *json_file, *dot_file;
  bool json, statistics;
} saturate_flags;

typedef struct saturation {
  const saturate_flags *flags;
  egraph_terms *terms;
  text_array texts; // start terms
  egraph_class *roots;
  size_t root_count, room;
  egraph_terms_report report;
  egraph_terms_iteration rows[MAX_ITERATIONS_SHOWN];
  uint32_t row_count;
  uint32_t kept_rules; // number of rules of the loaded e-graph
} saturation;

// ---- input -----------------------------------------------------------------------

static void add_bare_root(void *user, egraph_class root) {
  saturation *s = user;
  s->roots = list_grow(s->roots, s->root_count, &s->room, sizeof *s->roots);
  s->roots[s->root_count++] = root;
}

static void add_root(void *user, const char *term, egraph_class root) {
  saturation *s = user;
  add_bare_root(s, root);
  text_array_add(&s->texts, term, strcspn(term, "\r"));
}

/// True for a file that begins with a bracket, perhaps after blanks, or is gzip. The
/// reader of binary files gets all other files, also unreadable ones, and reports
/// the error.
static bool is_json(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return false;
  int byte;
  do
    byte = fgetc(file);
  while (byte > 0 && strchr(" \t\r\n", byte) != NULL);
  (void)fclose(file);
  return byte == '{' || byte == '[' || byte == GZIP_FIRST;
}

/// Calls `report` with the smallest term equal to each start term; the text is NULL when
/// it is too large.
static egraph_status
each_smallest(saturation *s, void (*report)(void *, size_t, const char *, uint64_t)) {
  return egraph_terms_smallest_each(NULL, s->terms, s->roots, s->root_count, report, s);
}

static void name_root(void *user, size_t index, const char *text, uint64_t size) {
  saturation *s = user;
  (void)index;
  (void)size;
  text_array_add(&s->texts, shown(text), strlen(shown(text)));
}

/// Starts from a file of --save (an e-graph with rules), or from egraph-serialize JSON,
/// whose roots become start terms, or, without a file, from an empty e-graph.
static egraph_status start_saturation(saturation *s) {
  const char *path = s->flags->load_file;
  if (path == NULL) {
    EG_TRY(egraph_terms_create(NULL, &s->terms));
    bool explains = s->flags->questions.count != 0;
    return explains ? egraph_terms_keep_explanations(s->terms) : EGRAPH_OK;
  }
  if (!is_json(path)) return egraph_terms_load(NULL, path, &s->terms);
  EG_TRY(egraph_terms_load_json(NULL, path, add_bare_root, s, &s->terms));
  return each_smallest(s, name_root);
}

static egraph_status read_rules(saturation *s, const positional *files) {
  const text_list *more = &s->flags->rules;
  if (files->count != 0) EG_TRY(egraph_terms_add_rule_file(s->terms, files->items[0]));
  for (size_t i = 0; i < more->count; i++)
    EG_TRY(egraph_terms_add_rule_file(s->terms, more->items[i]));
  return EGRAPH_OK;
}

/// Reads the start terms; *out_good is false, with a message, when a file cannot be read,
/// or there are none.
static egraph_status read_terms(saturation *s, const positional *files, bool *out_good) {
  for (size_t i = 1; i < files->count; i++) {
    char *text = text_file_read(files->items[i]);
    *out_good = text != NULL || complain_of_file(files->items[i]);
    if (text == NULL) return EGRAPH_OK;
    egraph_status status = term_lines_add(s->terms, files->items[i], text, add_root, s);
    free(text);
    EG_TRY(status);
  }
  const text_list *terms = &s->flags->terms;
  for (size_t i = 0; i < terms->count; i++) {
    egraph_class root;
    EG_TRY(egraph_terms_add(s->terms, "--term", terms->items[i], &root));
    add_root(s, terms->items[i], root);
  }
  *out_good = s->texts.count != 0 || s->flags->load_file != NULL ||
              complain("no term to start from; give a file of terms, or --term TEXT");
  return EGRAPH_OK;
}

// ---- saturation ------------------------------------------------------------------

static bool on_iteration(void *user, const egraph_terms_iteration *iteration) {
  saturation *s = user;
  if (s->row_count < MAX_ITERATIONS_SHOWN) s->rows[s->row_count++] = *iteration;
  return interrupted();
}

static bool show_saturation(void *user, uint32_t iteration, uint32_t nodes,
                            uint32_t classes) {
  (void)user;
  return progress_line("saturate", "iteration %u, %u nodes, %u classes", iteration, nodes,
                       classes);
}

static egraph_status saturate(saturation *s) {
  const saturate_flags *flags = s->flags;
  egraph_terms_options options = flags->options;
  options.byte_limit = flags->byte_limit;
  options.on_iteration = on_iteration;
  options.progress = show_saturation;
  options.user = s;
  egraph_status status = egraph_terms_saturate(s->terms, &options, &s->report);
  progress_clear();
  return status;
}

// ---- output ----------------------------------------------------------------------

static void print_rules(const saturation *s) {
  printf("\n%-24s %10s %9s %9s %5s %9s\n", "rule", "matches", "nodes", "unions", "bans",
         "seconds");
  for (uint32_t i = 0; i < egraph_terms_rule_count(s->terms); i++) {
    egraph_rule_report r = egraph_terms_rule(s->terms, i);
    printf("%-24s %10" PRIu64 " %9u %9u %5u %9.4f\n", r.name, r.matches, r.nodes,
           r.unions, r.bans, r.seconds);
  }
}

static void print_iterations(const saturation *s) {
  printf("\n%9s %9s %9s %10s %9s %9s %9s\n", "iteration", "nodes", "classes", "matches",
         "search", "apply", "rebuild");
  for (uint32_t i = 0; i < s->row_count; i++) {
    const egraph_terms_iteration *row = &s->rows[i];
    printf("%9u %9u %9u %10" PRIu64 " %9.4f %9.4f %9.4f\n", row->iteration, row->nodes,
           row->classes, row->matches, row->search_seconds, row->apply_seconds,
           row->rebuild_seconds);
  }
}

static void print_smallest(void *user, size_t index, const char *text, uint64_t size) {
  const saturation *s = user;
  (void)size;
  printf("smallest    %s -> %s\n", s->texts.items[index], shown(text));
}

static egraph_status print_saturation_text(saturation *s) {
  const egraph_terms_report *r = &s->report;
  egraph_terms_info info = egraph_terms_info_of(s->terms);
  printf("stop        %s after %u iterations, %.3f s\n", r->stop, r->iterations,
         r->seconds);
  printf("e-graph     %u nodes, %u classes, %.1f MB, at most %.1f MB\n", r->nodes,
         r->classes, 1e-6 * (double)info.bytes, 1e-6 * (double)r->peak_bytes);
  printf("matches     %" PRIu64 "\n", r->matches);
  if (s->texts.count == 0)
    printf("terms       the file keeps none to start from; --term TERM prints the "
           "smallest that equals it\n");
  EG_TRY(each_smallest(s, print_smallest));
  print_rules(s);
  if (s->flags->statistics) print_iterations(s);
  return answer_all(s->terms, &s->flags->questions, false);
}

static void json_smallest(void *user, size_t index, const char *text, uint64_t size) {
  const saturation *s = user;
  json_open(NULL, '{');
  JSON_MEMBERS(JSON("term", s->texts.items[index]), JSON("smallest", text));
  if (text != NULL) json_int("size", size);
  json_close('}');
}

static egraph_status print_saturation_json(saturation *s) {
  const egraph_terms_report *r = &s->report;
  JSON_BEGIN(JSON("stop", r->stop), JSON("iterations", r->iterations),
             JSON("nodes", r->nodes), JSON("classes", r->classes),
             JSON("matches", r->matches), JSON("seconds", r->seconds),
             JSON("bytes", egraph_terms_info_of(s->terms).bytes),
             JSON("peak_bytes", r->peak_bytes));
  json_open("terms", '[');
  egraph_status status = each_smallest(s, json_smallest);
  json_close(']');
  JSON_EACH("rules", i, egraph_terms_rule_count(s->terms)) {
    egraph_rule_report rule = egraph_terms_rule(s->terms, i);
    JSON_OBJECT(NULL, JSON("name", rule.name), JSON("matches", rule.matches),
                JSON("nodes", rule.nodes), JSON("unions", rule.unions),
                JSON("bans", rule.bans), JSON("seconds", rule.seconds));
  }
  JSON_EACH("per_iteration", i, s->row_count) {
    const egraph_terms_iteration *row = &s->rows[i];
    JSON_OBJECT(NULL, JSON("nodes", row->nodes), JSON("classes", row->classes),
                JSON("matches", row->matches),
                JSON("search_seconds", row->search_seconds),
                JSON("apply_seconds", row->apply_seconds),
                JSON("rebuild_seconds", row->rebuild_seconds));
  }
  if (s->flags->questions.count != 0) {
    json_open("explanations", '[');
    egraph_status answered = answer_all(s->terms, &s->flags->questions, true);
    if (status == EGRAPH_OK) status = answered;
    json_close(']');
  }
  json_end();
  return status;
}

/// Writes the files of the flags; *out_good is false, with a message, when the Graphviz
/// file cannot be written.
static egraph_status write_files(const saturation *s, bool *out_good) {
  const saturate_flags *flags = s->flags;
  OWNED_TEXT(dot);
  if (flags->save_file != NULL) EG_TRY(egraph_terms_save(s->terms, flags->save_file));
  if (flags->json_file != NULL)
    EG_TRY(egraph_terms_save_json(s->terms, s->roots, (uint32_t)s->texts.count,
                                  flags->json_file));
  if (flags->dot_file == NULL) return EGRAPH_OK;
  EG_TRY(egraph_terms_dot(NULL, s->terms, &dot));
  *out_good = text_file_write(flags->dot_file, dot);
  return EGRAPH_OK;
}

// ---- command ---------------------------------------------------------------------

/// Runs the command; *out_good is false when a message has already reported an error.
static egraph_status run_with(saturation *s, const positional *files, bool *out_good) {
  EG_TRY(start_saturation(s));
  s->kept_rules = egraph_terms_rule_count(s->terms);
  EG_TRY(read_rules(s, files));
  s->kept_rules = 0;
  EG_TRY(read_terms(s, files, out_good));
  if (!*out_good) return EGRAPH_OK;
  install_interrupt();
  EG_TRY(saturate(s));
  EG_TRY((s->flags->json ? print_saturation_json : print_saturation_text)(s));
  return write_files(s, out_good);
}

static int run_files(const saturate_flags *flags, const positional *files) {
  saturation *s = calloc(1, sizeof *s);
  bool is_good = true;
  if (s == NULL) return EXIT_FAILED;
  s->flags = flags;
  int outcome = outcome_of(run_with(s, files, &is_good));
  if (outcome != EXIT_DONE && s->kept_rules != 0)
    (void)complain("%s has %u rules already; RULES can be left out", flags->load_file,
                   s->kept_rules);
  egraph_terms_destroy(s->terms);
  text_array_free(&s->texts);
  free(s->roots);
  free(s);
  return is_good ? outcome : EXIT_FAILED;
}

/// Checks conditions that the table of flags cannot express; returns an exit status.
static int check_flags(const saturate_flags *flags, const positional *files) {
  if (flags->load_file == NULL && files->count == 0)
    return refuse("a file is missing; usage: egraph saturate " USAGE);
  if (flags->load_file != NULL && flags->questions.count != 0)
    return refuse(
        "--explain knows nothing of a loaded e-graph; start from terms instead");
  for (size_t i = 0; i < flags->questions.count; i++) {
    const char *text = flags->questions.items[i], *to;
    char *from;
    bool is_whole = split_question(text, &from, &to);
    free(from);
    if (!is_whole)
      return refuse("--explain wants two terms, \"(+ a b) (+ b a)\"; got \"%s\"",
                    text + strspn(text, " \t"));
  }
  return EXIT_DONE;
}

int command_saturate(int argc, char **argv) {
  saturate_flags flags = {.options = egraph_terms_options_default()};
  egraph_terms_options *o = &flags.options;
  o->threads = 1;
  flags.byte_limit = o->byte_limit;
  command cmd = new_command(
      "saturate", USAGE, 0, MAX_POSITIONAL,
      "Rewrites plain terms by rules (\"(egraph-rules 1 symbolic) ...\") until nothing "
      "changes or a limit ends it, and prints the smallest term equal to each. TERMS are "
      "files with a term on each line. With --load, RULES may be left out.");
  add_heading(&cmd, "Terms and rules");
  add_list(&cmd, "--term TEXT", &flags.terms, "start from this term, too (repeatable)");
  add_list(&cmd, "--rules FILE", &flags.rules, "add rules (repeatable)");
  add_text(&cmd, "--load FILE", &flags.load_file,
           "start from an e-graph that --save wrote, with its rules, or from "
           "egraph-serialize JSON");
  add_heading(&cmd, "Search");
  add_uint32(&cmd, "--node-limit N", &o->node_limit, 0, UINT32_MAX,
             "e-nodes that the e-graph may reach");
  add_uint32(&cmd, "--iteration-limit N", &o->iteration_limit, 0, UINT32_MAX,
             "iterations at most");
  add_real(&cmd, "--time-limit X", &o->time_limit, 0, 0, "seconds at most");
  add_uint(&cmd, "--byte-limit N", &flags.byte_limit, 0, 0,
           "bytes that the e-graph may hold");
  add_choice(&cmd, "--scheduler backoff|simple|yield", &o->scheduler,
             "pause rules that match too often (backoff), no rules (simple), or rules "
             "whose matches add too many nodes (yield)");
  add_uint32(&cmd, "--match-limit N", &o->match_limit, 0, UINT32_MAX,
             "matches after which a rule is paused");
  add_uint32(&cmd, "--ban-length N", &o->ban_length, 0, UINT32_MAX,
             "iterations of the first pause of a rule");
  add_switch(&cmd, "--naive", &o->naive,
             "search for all matches in every iteration, not only for new ones");
  add_uint32(&cmd, "--threads N", &o->threads, 1, 1024, "threads of the search");
  add_heading(&cmd, "Output");
  add_switch(&cmd, "--statistics", &flags.statistics, "print every iteration, too");
  add_list(&cmd, "--explain \"A B\"", &flags.questions,
           "print why the terms A and B are equal, too (repeatable)");
  add_text(&cmd, "--save FILE", &flags.save_file,
           "write the e-graph and its rules, for --load");
  add_text(&cmd, "--json-egraph FILE", &flags.json_file,
           "write the e-graph as egraph-serialize JSON, for egraph extract");
  add_text(&cmd, "--dot FILE", &flags.dot_file, "write the e-graph for Graphviz");
  add_json(&cmd, &flags.json);
  PARSE_ARGUMENTS(files, &cmd, argc, argv);
  int outcome = check_flags(&flags, &files);
  return outcome == EXIT_DONE ? run_files(&flags, &files) : outcome;
}
