// egraph saturate: rewrites plain terms by rules, and shows the smallest equal ones.
// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/egraph.h"
#include "tools/arguments.h"
#include "tools/console.h"
#include "tools/csv.h"
#include "tools/optimize_call.h"
#include "tools/term_lines.h"
#include "tools/text_file.h"

// ---- why two terms are equal ----------------------------------------------------

// The steps are printed as they are reported; how many there are is known only at the
// end, and written there.

/// Where the first term of a text ends: it is the first blank outside brackets.
static const char *end_of_term(const char *text) {
  size_t depth = 0;
  for (; *text != '\0'; text++) {
    if (*text == '(') depth++;
    if (*text == ')' && depth > 0) depth--;
    if (depth == 0 && (*text == ' ' || *text == '\t')) break;
  }
  return text;
}

typedef struct question {
  char *from; // owned
  const char *to;
} question;

static int read_question(const char *text, question *out) {
  text += strspn(text, " \t");
  const char *end = end_of_term(text), *to = end + strspn(end, " \t");
  if (*to == '\0')
    return refuse("--explain wants two terms, \"(+ a b) (+ b a)\"; got \"%s\"", text);
  out->from = text_copy(text, (size_t)(end - text));
  out->to = to;
  return EXIT_DONE;
}

static int explain(egraph_terms *terms, const question *q,
                   bool (*report)(void *, const egraph_terms_step *),
                   uint64_t *out_count) {
  egraph_status status =
      egraph_terms_explain(terms, q->from, q->to, report, NULL, out_count);
  return outcome_of(status);
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

static int print_answer(egraph_terms *terms, const question *q) {
  uint64_t count;
  printf("\nexplain     %s = %s\n    %s\n", q->from, q->to, q->from);
  int outcome = explain(terms, q, print_step, &count);
  if (outcome == EXIT_DONE) printf("steps       %" PRIu64 "\n", count);
  return outcome;
}

static bool write_step(void *user, const egraph_terms_step *step) {
  (void)user;
  json_open(NULL, '{');
  if (step->rule != NULL) json_text("rule", step->rule);
  json_bool("backward", step->backward);
  json_open("position", '[');
  for (uint32_t i = 0; i < step->depth; i++)
    json_int(NULL, step->position[i]);
  json_close(']');
  if (step->after != NULL) json_text("term", step->after);
  json_close('}');
  return false;
}

static int write_answer(egraph_terms *terms, const question *q) {
  json_open(NULL, '{');
  JSON_MEMBERS(JSON("from", q->from), JSON("to", q->to));
  json_open("steps", '[');
  int outcome = explain(terms, q, write_step, NULL);
  json_close(']');
  json_close('}');
  return outcome;
}

static int answer_all(egraph_terms *terms, const text_list *questions,
                      int (*answer)(egraph_terms *, const question *)) {
  int outcome = EXIT_DONE;
  for (size_t i = 0; i < questions->count && outcome == EXIT_DONE; i++) {
    question q = {.from = NULL};
    outcome = read_question(questions->items[i], &q);
    if (outcome == EXIT_DONE) outcome = answer(terms, &q);
    free(q.from);
  }
  return outcome;
}

static int no_answer(egraph_terms *terms, const question *q) {
  (void)terms;
  (void)q;
  return EXIT_DONE;
}

/// Returns whether each question has two terms: an exit status, like all results below.
static int check_questions(const text_list *questions) {
  return answer_all(NULL, questions, no_answer);
}

/// Prints the steps for each question, a text of two terms: "(+ a b) (+ b a)". Complaints
/// go to standard error.
static int print_answers(egraph_terms *terms, const text_list *questions) {
  return answer_all(terms, questions, print_answer);
}

/// The same as a list of the JSON object that is open.
static int print_answers_json(egraph_terms *terms, const text_list *questions) {
  json_open("explanations", '[');
  int outcome = answer_all(terms, questions, write_answer);
  json_close(']');
  return outcome;
}

#define USAGE "RULES [TERMS...] [options]"

enum { MAX_ITERATIONS_SHOWN = 1000, GZIP_FIRST = 0x1f };

typedef struct saturate_flags {
  egraph_terms_options options;
  uint64_t node_limit, iteration_limit, byte_limit, match_limit, ban_length, threads;
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
} saturation;

// ---- input -----------------------------------------------------------------------

static void add_bare_root(void *user, egraph_class root) {
  saturation *s = user;
  if (s->root_count == s->room) {
    s->room = 2 * s->room + 8;
    egraph_class *grown = realloc(s->roots, s->room * sizeof *grown);
    if (grown == NULL) {
      fprintf(stderr, "egraph: out of memory\n");
      exit(EXIT_FAILED);
    }
    s->roots = grown;
  }
  s->roots[s->root_count++] = root;
}

static void add_root(void *user, const char *term, egraph_class root) {
  saturation *s = user;
  add_bare_root(s, root);
  text_array_add(&s->texts, term, strcspn(term, "\r"));
}

/// JSON begins with a bracket, perhaps behind blanks, or is gzip. Everything else, a file
/// that cannot be read too, is left to the reader of binary files, which says what is
/// wrong.
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

/// Calls back with the smallest term of each start term; the text is NULL
/// where it is too large to write.
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

/// An e-graph with rules, as --save writes it, or egraph-serialize JSON, whose roots
/// become start terms.
static egraph_status load(saturation *s) {
  const char *path = s->flags->load_file;
  if (!is_json(path)) return egraph_terms_load(NULL, path, &s->terms);
  egraph_status status = egraph_terms_load_json(NULL, path, add_bare_root, s, &s->terms);
  return status == EGRAPH_OK ? each_smallest(s, name_root) : status;
}

static egraph_status start_saturation(saturation *s) {
  if (s->flags->load_file != NULL) return load(s);
  egraph_status status = egraph_terms_create(NULL, &s->terms);
  if (status == EGRAPH_OK && s->flags->questions.count != 0)
    status = egraph_terms_keep_explanations(s->terms);
  return status;
}

static int read_rules(saturation *s, const positional *files) {
  const text_list *more = &s->flags->rules;
  uint32_t loaded = egraph_terms_rule_count(s->terms);
  egraph_status status = EGRAPH_OK;
  if (files->count != 0) status = egraph_terms_add_rule_file(s->terms, files->items[0]);
  for (size_t i = 0; status == EGRAPH_OK && i < more->count; i++)
    status = egraph_terms_add_rule_file(s->terms, more->items[i]);
  if (status == EGRAPH_OK) return EXIT_DONE;
  int outcome = report_failure(status);
  if (loaded != 0)
    fprintf(stderr, "egraph: %s has %u rules already; RULES can be left out\n",
            s->flags->load_file, loaded);
  return outcome;
}

static int read_terms(saturation *s, const positional *files) {
  egraph_status status = EGRAPH_OK;
  for (size_t i = 1; status == EGRAPH_OK && i < files->count; i++) {
    char *text = text_file_read(files->items[i]);
    if (text == NULL) {
      fprintf(stderr, "egraph: %s: %s\n", files->items[i], strerror(errno));
      return EXIT_FAILED;
    }
    status = term_lines_add(s->terms, files->items[i], text, add_root, s);
    free(text);
  }
  const text_list *terms = &s->flags->terms;
  for (size_t i = 0; status == EGRAPH_OK && i < terms->count; i++) {
    egraph_class root;
    status = egraph_terms_add(s->terms, "--term", terms->items[i], &root);
    if (status == EGRAPH_OK) add_root(s, terms->items[i], root);
  }
  if (status != EGRAPH_OK) return report_failure(status);
  if (s->texts.count != 0 || s->flags->load_file != NULL) return EXIT_DONE;
  fprintf(stderr,
          "egraph: no term to start from; give a file of terms, or --term TEXT\n");
  return EXIT_FAILED;
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
  char line[96];
  (void)snprintf(line, sizeof line, "iteration %u, %u nodes, %u classes", iteration,
                 nodes, classes);
  progress_line("saturate", line);
  return interrupted();
}

static egraph_status saturate(saturation *s) {
  const saturate_flags *flags = s->flags;
  egraph_terms_options options = flags->options;
  options.node_limit = (uint32_t)flags->node_limit;
  options.iteration_limit = (uint32_t)flags->iteration_limit;
  options.byte_limit = flags->byte_limit;
  options.match_limit = (uint32_t)flags->match_limit;
  options.ban_length = (uint32_t)flags->ban_length;
  options.threads = (uint32_t)flags->threads;
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

static int print_saturation_text(saturation *s) {
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
  egraph_status status = each_smallest(s, print_smallest);
  if (status != EGRAPH_OK) return report_failure(status);
  print_rules(s);
  if (s->flags->statistics) print_iterations(s);
  return print_answers(s->terms, &s->flags->questions);
}

static void json_rules(const saturation *s) {
  json_open("rules", '[');
  for (uint32_t i = 0; i < egraph_terms_rule_count(s->terms); i++) {
    egraph_rule_report r = egraph_terms_rule(s->terms, i);
    JSON_OBJECT(NULL, JSON("name", r.name), JSON("matches", r.matches),
                JSON("nodes", r.nodes), JSON("unions", r.unions), JSON("bans", r.bans),
                JSON("seconds", r.seconds));
  }
  json_close(']');
}

static void json_iterations(const saturation *s) {
  json_open("per_iteration", '[');
  for (uint32_t i = 0; i < s->row_count; i++) {
    const egraph_terms_iteration *row = &s->rows[i];
    JSON_OBJECT(NULL, JSON("nodes", row->nodes), JSON("classes", row->classes),
                JSON("matches", row->matches),
                JSON("search_seconds", row->search_seconds),
                JSON("apply_seconds", row->apply_seconds),
                JSON("rebuild_seconds", row->rebuild_seconds));
  }
  json_close(']');
}

static void json_smallest(void *user, size_t index, const char *text, uint64_t size) {
  const saturation *s = user;
  json_open(NULL, '{');
  json_text("term", s->texts.items[index]);
  if (text != NULL) json_text("smallest", text);
  if (text != NULL) json_int("size", size);
  json_close('}');
}

static egraph_status json_terms(saturation *s) {
  json_open("terms", '[');
  egraph_status status = each_smallest(s, json_smallest);
  json_close(']');
  return status;
}

static int print_saturation_json(saturation *s) {
  const egraph_terms_report *r = &s->report;
  json_begin();
  JSON_MEMBERS(JSON("stop", r->stop), JSON("iterations", r->iterations),
               JSON("nodes", r->nodes), JSON("classes", r->classes),
               JSON("matches", r->matches), JSON("seconds", r->seconds),
               JSON("bytes", egraph_terms_info_of(s->terms).bytes),
               JSON("peak_bytes", r->peak_bytes));
  egraph_status status = json_terms(s);
  json_rules(s);
  json_iterations(s);
  int outcome = EXIT_DONE;
  if (s->flags->questions.count != 0)
    outcome = print_answers_json(s->terms, &s->flags->questions);
  json_end();
  return status != EGRAPH_OK ? report_failure(status) : outcome;
}

static int write_dot(const saturation *s) {
  char *text;
  egraph_status status = egraph_terms_dot(NULL, s->terms, &text);
  if (status != EGRAPH_OK) return report_failure(status);
  bool fine = text_file_write(s->flags->dot_file, text);
  egraph_string_free(NULL, text);
  return fine ? EXIT_DONE : EXIT_FAILED;
}

static int write_files(const saturation *s) {
  const saturate_flags *flags = s->flags;
  egraph_status status = EGRAPH_OK;
  if (flags->save_file != NULL) status = egraph_terms_save(s->terms, flags->save_file);
  if (status == EGRAPH_OK && flags->json_file != NULL)
    status = egraph_terms_save_json(s->terms, s->roots, (uint32_t)s->texts.count,
                                    flags->json_file);
  if (status != EGRAPH_OK) return report_failure(status);
  return flags->dot_file != NULL ? write_dot(s) : EXIT_DONE;
}

// ---- command ---------------------------------------------------------------------

static int run_with(saturation *s, const positional *files) {
  egraph_status status = start_saturation(s);
  if (status != EGRAPH_OK) return report_failure(status);
  int outcome = read_rules(s, files);
  if (outcome == EXIT_DONE) outcome = read_terms(s, files);
  if (outcome != EXIT_DONE) return outcome;
  install_interrupt();
  status = saturate(s);
  if (status != EGRAPH_OK) return report_failure(status);
  outcome = (s->flags->json ? print_saturation_json : print_saturation_text)(s);
  return outcome == EXIT_DONE ? write_files(s) : outcome;
}

static int run_files(const saturate_flags *flags, const positional *files) {
  saturation *s = calloc(1, sizeof *s);
  if (s == NULL) return EXIT_FAILED;
  s->flags = flags;
  int outcome = run_with(s, files);
  egraph_terms_destroy(s->terms);
  text_array_free(&s->texts);
  free(s->roots);
  free(s);
  return outcome;
}

static saturate_flags default_flags(void) {
  egraph_terms_options o = egraph_terms_options_default();
  return (saturate_flags){.options = o,
                          .node_limit = o.node_limit,
                          .iteration_limit = o.iteration_limit,
                          .byte_limit = o.byte_limit,
                          .match_limit = o.match_limit,
                          .ban_length = o.ban_length,
                          .threads = 1};
}

/// Conditions that the table of flags cannot express.
static int check_flags(const saturate_flags *flags, const positional *files) {
  const char *wrong = NULL;
  if (flags->load_file == NULL && files->count == 0)
    wrong = "a file is missing; usage: egraph saturate " USAGE;
  else if (flags->load_file != NULL && flags->questions.count != 0)
    wrong = "--explain knows nothing of a loaded e-graph; start from terms instead";
  if (wrong == NULL) return check_questions(&flags->questions);
  return refuse("%s", wrong);
}

int command_saturate(int argc, char **argv) {
  saturate_flags flags = default_flags();
  egraph_terms_options *o = &flags.options;
  command cmd = {.name = "saturate",
                 .usage = USAGE,
                 .summary = "Rewrites plain terms by rules (\"(egraph-rules 1 symbolic) "
                            "...\") until nothing changes or a limit ends it, and prints "
                            "the smallest term equal to each. TERMS are files with a "
                            "term on each line. With --load, RULES may be left out.",
                 .max_positional = MAX_POSITIONAL};
  add_heading(&cmd, "Terms and rules");
  add_list(&cmd, "--term TEXT", &flags.terms, "start from this term, too (repeatable)");
  add_list(&cmd, "--rules FILE", &flags.rules, "add rules (repeatable)");
  add_text(&cmd, "--load FILE", &flags.load_file,
           "start from an e-graph that --save wrote, with its rules, or from "
           "egraph-serialize JSON");
  add_heading(&cmd, "Search");
  add_uint(&cmd, "--node-limit N", &flags.node_limit, 0, UINT32_MAX,
           "e-nodes that the e-graph may reach");
  add_uint(&cmd, "--iteration-limit N", &flags.iteration_limit, 0, UINT32_MAX,
           "iterations at most");
  add_real(&cmd, "--time-limit X", &o->time_limit, 0, 0, "seconds at most");
  add_uint(&cmd, "--byte-limit N", &flags.byte_limit, 0, 0,
           "bytes that the e-graph may hold");
  add_choice(&cmd, "--scheduler backoff|simple|yield", &o->scheduler,
             "rest rules that match too often (backoff), never, or by what they yield");
  add_uint(&cmd, "--match-limit N", &flags.match_limit, 0, UINT32_MAX,
           "matches after which a rule rests");
  add_uint(&cmd, "--ban-length N", &flags.ban_length, 0, UINT32_MAX,
           "iterations that it rests at first");
  add_switch(&cmd, "--naive", &o->naive,
             "search for all matches in every iteration, not for new ones");
  add_uint(&cmd, "--threads N", &flags.threads, 1, 1024, "threads of the search");
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
  positional files;
  int parsed = parse_arguments(&cmd, argc, argv, &files);
  if (parsed != PARSE_RUN) return parsed;
  int outcome = check_flags(&flags, &files);
  return outcome == EXIT_DONE ? run_files(&flags, &files) : outcome;
}
