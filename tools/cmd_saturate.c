// egraph saturate: rewrites plain terms by rules, and shows the smallest equal ones.
// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/csv.h"
#include "tools/explanations.h"
#include "tools/planning.h"
#include "tools/term_lines.h"
#include "tools/terms_file.h"
#include "tools/text_file.h"

#define USAGE "RULES [TERMS...] [options]"

enum { MAX_ITERATIONS_SHOWN = 1000 };

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
  size_t room;
  egraph_terms_report report;
  egraph_terms_iteration rows[MAX_ITERATIONS_SHOWN];
  uint32_t row_count;
} saturation;

// ---- input -----------------------------------------------------------------------

static void add_root(void *user, const char *term, egraph_class root) {
  saturation *s = user;
  if (s->texts.count == s->room) {
    s->room = 2 * s->room + 8;
    egraph_class *grown = realloc(s->roots, s->room * sizeof *grown);
    if (grown == NULL) {
      fprintf(stderr, "egraph: out of memory\n");
      exit(EXIT_FAILED);
    }
    s->roots = grown;
  }
  s->roots[s->texts.count] = root;
  text_array_add(&s->texts, term, strcspn(term, "\r"));
}

static egraph_status start(saturation *s) {
  const saturate_flags *flags = s->flags;
  if (flags->load_file != NULL)
    return terms_file_load(flags->load_file, add_root, s, &s->terms);
  egraph_status status = egraph_terms_create(NULL, &s->terms);
  if (status == EGRAPH_OK && flags->questions.count != 0)
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

static bool on_progress(void *user, uint32_t iteration, uint32_t nodes,
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
  options.progress = on_progress;
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

/// The smallest term of a start term; NULL when it is too large to write.
static egraph_status smallest(const saturation *s, size_t index, char **out,
                              uint64_t *out_size) {
  *out = NULL;
  egraph_status status =
      egraph_terms_smallest(NULL, s->terms, s->roots[index], out, out_size);
  return status == EGRAPH_E_UNSUPPORTED ? EGRAPH_OK : status;
}

static int print_text(const saturation *s) {
  const egraph_terms_report *r = &s->report;
  egraph_terms_info info = egraph_terms_info_of(s->terms);
  printf("stop        %s after %u iterations, %.3f s\n", r->stop, r->iterations,
         r->seconds);
  printf("e-graph     %u nodes, %u classes, %.1f MB, at most %.1f MB\n", r->nodes,
         r->classes, 1e-6 * (double)info.bytes, 1e-6 * (double)r->peak_bytes);
  printf("matches     %" PRIu64 "\n", r->matches);
  egraph_status status = EGRAPH_OK;
  if (s->texts.count == 0)
    printf(
        "terms       the file keeps none to start from; --term TERM prints the smallest "
        "that equals it\n");
  for (size_t i = 0; status == EGRAPH_OK && i < s->texts.count; i++) {
    char *text;
    uint64_t size;
    status = smallest(s, i, &text, &size);
    if (status == EGRAPH_OK)
      printf("smallest    %s -> %s\n", s->texts.items[i],
             text != NULL ? text : "(a term too large to write)");
    egraph_string_free(NULL, text);
  }
  if (status != EGRAPH_OK) return report_failure(status);
  print_rules(s);
  if (s->flags->statistics) print_iterations(s);
  return explanations_print(s->terms, &s->flags->questions);
}

static void json_rules(const saturation *s) {
  json_open("rules", '[');
  for (uint32_t i = 0; i < egraph_terms_rule_count(s->terms); i++) {
    egraph_rule_report r = egraph_terms_rule(s->terms, i);
    json_open(NULL, '{');
    json_text("name", r.name);
    json_int("matches", r.matches);
    json_int("nodes", r.nodes);
    json_int("unions", r.unions);
    json_int("bans", r.bans);
    json_real("seconds", r.seconds);
    json_close('}');
  }
  json_close(']');
}

static void json_iterations(const saturation *s) {
  json_open("per_iteration", '[');
  for (uint32_t i = 0; i < s->row_count; i++) {
    const egraph_terms_iteration *row = &s->rows[i];
    json_open(NULL, '{');
    json_int("nodes", row->nodes);
    json_int("classes", row->classes);
    json_int("matches", row->matches);
    json_real("search_seconds", row->search_seconds);
    json_real("apply_seconds", row->apply_seconds);
    json_real("rebuild_seconds", row->rebuild_seconds);
    json_close('}');
  }
  json_close(']');
}

static egraph_status json_terms(const saturation *s) {
  egraph_status status = EGRAPH_OK;
  json_open("terms", '[');
  for (size_t i = 0; status == EGRAPH_OK && i < s->texts.count; i++) {
    char *text;
    uint64_t size = 0;
    status = smallest(s, i, &text, &size);
    json_open(NULL, '{');
    json_text("term", s->texts.items[i]);
    if (text != NULL) json_text("smallest", text);
    if (text != NULL) json_int("size", size);
    json_close('}');
    egraph_string_free(NULL, text);
  }
  json_close(']');
  return status;
}

static int print_json(const saturation *s) {
  const egraph_terms_report *r = &s->report;
  json_begin();
  json_text("stop", r->stop);
  json_int("iterations", r->iterations);
  json_int("nodes", r->nodes);
  json_int("classes", r->classes);
  json_int("matches", r->matches);
  json_real("seconds", r->seconds);
  json_int("bytes", egraph_terms_info_of(s->terms).bytes);
  json_int("peak_bytes", r->peak_bytes);
  egraph_status status = json_terms(s);
  json_rules(s);
  json_iterations(s);
  int outcome = EXIT_DONE;
  if (s->flags->questions.count != 0)
    outcome = explanations_print_json(s->terms, &s->flags->questions);
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
  egraph_status status = start(s);
  if (status != EGRAPH_OK) return report_failure(status);
  int outcome = read_rules(s, files);
  if (outcome == EXIT_DONE) outcome = read_terms(s, files);
  if (outcome != EXIT_DONE) return outcome;
  install_interrupt();
  status = saturate(s);
  if (status != EGRAPH_OK) return report_failure(status);
  outcome = (s->flags->json ? print_json : print_text)(s);
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

/// What the table of flags cannot say.
static int check_flags(const saturate_flags *flags, const positional *files) {
  const char *wrong = NULL;
  if (flags->load_file == NULL && files->count == 0)
    wrong = "a file is missing; usage: egraph saturate " USAGE;
  else if (flags->load_file != NULL && flags->questions.count != 0)
    wrong = "--explain knows nothing of a loaded e-graph; start from terms instead";
  if (wrong == NULL) return explanations_check(&flags->questions);
  fprintf(stderr, "egraph: %s\n", wrong);
  return EXIT_USAGE;
}

int command_saturate(int argc, char **argv) {
  saturate_flags flags = default_flags();
  const flag rows[] = {
      {"--term", FLAG_LIST, &flags.terms, "TEXT", "a term to start from; may be repeated",
       0, 0},
      {"--rules", FLAG_LIST, &flags.rules, "FILE", "more rules; may be repeated", 0, 0},
      {"--node-limit", FLAG_UINT, &flags.node_limit, "N", "(default 20000)", 0,
       UINT32_MAX},
      {"--iteration-limit", FLAG_UINT, &flags.iteration_limit, "N", "(default 20)", 0,
       UINT32_MAX},
      {"--time-limit", FLAG_REAL, &flags.options.time_limit, "X", "seconds (default 20)",
       0, 0},
      {"--byte-limit", FLAG_UINT, &flags.byte_limit, "N", "(default 2147483648)", 0, 0},
      {"--scheduler", FLAG_CHOICE, &flags.options.scheduler, "backoff|simple|yield",
       "rules with many matches rest, or all rules always", 0, 0},
      {"--match-limit", FLAG_UINT, &flags.match_limit, "N",
       "matches after which a rule rests (default 1000)", 0, UINT32_MAX},
      {"--ban-length", FLAG_UINT, &flags.ban_length, "N",
       "iterations that it rests at first (default 5)", 0, UINT32_MAX},
      {"--naive", FLAG_SWITCH, &flags.options.naive, NULL,
       "search for all matches in every iteration, not for new ones", 0, 0},
      {"--threads", FLAG_UINT, &flags.threads, "N", "of the search (default 1)", 1, 1024},
      {"--statistics", FLAG_SWITCH, &flags.statistics, NULL, "also print every iteration",
       0, 0},
      {"--explain", FLAG_LIST, &flags.questions, "\"A B\"",
       "also print why the terms A and B are equal; may be repeated", 0, 0},
      {"--load", FLAG_TEXT, &flags.load_file, "FILE",
       "start from an e-graph that --save wrote, with its rules, or from "
       "egraph-serialize JSON",
       0, 0},
      {"--save", FLAG_TEXT, &flags.save_file, "FILE",
       "also write the e-graph and its rules, for --load", 0, 0},
      {"--json-egraph", FLAG_TEXT, &flags.json_file, "FILE",
       "also write the e-graph as egraph-serialize JSON, for egraph extract", 0, 0},
      {"--dot", FLAG_TEXT, &flags.dot_file, "FILE", "also write the e-graph for Graphviz",
       0, 0},
      {"--json", FLAG_SWITCH, &flags.json, NULL, "one JSON object on standard output", 0,
       0}};
  command cmd = {
      "saturate",
      USAGE,
      "Rewrites plain terms by rules (\"(egraph-rules 1 symbolic) ...\") until "
      "nothing changes or a limit ends it, and prints the smallest term equal "
      "to each. TERMS are files with a term on each line. With --load, RULES may "
      "be left out.",
      rows,
      sizeof rows / sizeof *rows,
      0,
      MAX_POSITIONAL};
  positional files;
  parse_outcome parsed = parse_arguments(&cmd, argc, argv, &files);
  if (parsed != PARSE_RUN) return parsed == PARSE_HELP ? EXIT_DONE : EXIT_USAGE;
  int outcome = check_flags(&flags, &files);
  return outcome == EXIT_DONE ? run_files(&flags, &files) : outcome;
}
