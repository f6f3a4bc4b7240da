// Runs a benchmark: the child writes its result to a pipe and ends without cleaning up.
// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE
#include "tools/bench/saturate/measure.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "tools/console.h"
#include "tools/term_lines.h"

// ---- start graphs ----------------------------------------------------------------

static egraph_status add(egraph_terms *terms, const char *head,
                         const egraph_class *children, uint32_t count,
                         egraph_class *out) {
  egraph_symbol symbol;
  EG_TRY(egraph_terms_symbol(terms, head, &symbol));
  return egraph_terms_add_node(terms, symbol, children, count, out);
}

static egraph_status add_leaf(egraph_terms *terms, const char *prefix, uint32_t number,
                              egraph_class *out) {
  char name[32];
  (void)snprintf(name, sizeof name, "%s%u", prefix, number);
  return add(terms, name, NULL, 0, out);
}

typedef struct nasrnn {
  egraph_terms *terms;
  egraph_class zero, state;
  uint32_t weights; // made so far
} nasrnn;

static egraph_status product(nasrnn *n, egraph_class value, egraph_class *out) {
  egraph_class weight;
  EG_TRY(add_leaf(n->terms, "w", ++n->weights, &weight));
  return add(n->terms, "matmul", (egraph_class[]){n->zero, value, weight}, 3, out);
}

static egraph_status join(nasrnn *n, const char *head, const char *left, egraph_class a,
                          const char *right, egraph_class b, egraph_class *out) {
  egraph_class sides[2];
  EG_TRY(add(n->terms, left, &a, 1, &sides[0]));
  EG_TRY(add(n->terms, right, &b, 1, &sides[1]));
  return add(n->terms, head, sides, 2, out);
}

static egraph_status add_cell(nasrnn *n, uint32_t number) {
  egraph_class x, t[8], m[7];
  EG_TRY(add_leaf(n->terms, "x", number, &x));
  for (uint32_t i = 0; i < 8; i++) {
    egraph_class sides[2];
    EG_TRY(product(n, x, &sides[0]));
    EG_TRY(product(n, n->state, &sides[1]));
    EG_TRY(add(n->terms, "ewadd", sides, 2, &t[i]));
  }
  EG_TRY(join(n, "ewadd", "relu", t[0], "sigmoid", t[3], &m[0]));
  EG_TRY(join(n, "ewadd", "sigmoid", t[1], "tanh", t[2], &m[1]));
  EG_TRY(join(n, "ewmul", "sigmoid", t[4], "tanh", t[5], &m[2]));
  EG_TRY(join(n, "ewmul", "sigmoid", t[6], "relu", t[7], &m[3]));
  EG_TRY(join(n, "ewadd", "sigmoid", m[1], "tanh", m[2], &m[4]));
  EG_TRY(join(n, "ewmul", "tanh", m[0], "tanh", m[3], &m[5]));
  EG_TRY(join(n, "ewmul", "tanh", m[4], "tanh", m[5], &m[6]));
  return add(n->terms, "tanh", &m[6], 1, &n->state);
}

/// Adds Tensat's NASRNN, unrolled: each cell has 8 combinations of input and state with
/// fresh weights, joined by activations, sums and products. As text the term would
/// be exponential.
static egraph_status add_nasrnn(egraph_terms *terms, uint32_t cells) {
  nasrnn n = {.terms = terms};
  EG_TRY(add(terms, "0", NULL, 0, &n.zero));
  EG_TRY(add_leaf(terms, "w", ++n.weights, &n.state));
  for (uint32_t i = 0; i < cells; i++)
    EG_TRY(add_cell(&n, i));
  return EGRAPH_OK;
}

// ---- raw structures --------------------------------------------------------------

/// The e-graph structure on which a benchmark without rules works.
typedef struct raw_bench {
  raw_kind kind;
  uint32_t size;
  egraph_class *ids; // classes of the structure; owned
  egraph_symbol plus, f, times;
  uint64_t operations;
} raw_bench;

enum { FIRST_SUMS = 16 };

// Finds the operands of term ids[k]: ids[k - 1] and one of the sixteen before it.
static void sides_of(const egraph_class *ids, uint32_t k, egraph_class sides[2]) {
  sides[0] = ids[k - 1];
  sides[1] = ids[k - FIRST_SUMS + (k * 7) % FIRST_SUMS];
}

static egraph_status add_sums(egraph_terms *terms, raw_bench *raw) {
  for (uint32_t k = FIRST_SUMS; k < raw->size + FIRST_SUMS; k++) {
    egraph_class sides[2];
    sides_of(raw->ids, k, sides);
    EG_TRY(egraph_terms_add_node(terms, raw->plus, sides, 2, &raw->ids[k]));
  }
  return EGRAPH_OK;
}

// Looks up the sums that exist already, many at a time.
static egraph_status find_sums(egraph_terms *terms, raw_bench *raw) {
  enum { MANY = 1024 };
  egraph_class sides[2 * MANY];
  for (uint32_t k = 0; k < raw->size; k += MANY) {
    uint32_t count = raw->size - k < MANY ? raw->size - k : MANY;
    for (uint32_t i = 0; i < count; i++)
      sides_of(raw->ids, k + i + FIRST_SUMS, sides + 2 * i);
    EG_TRY(egraph_terms_add_nodes(terms, raw->plus, 2, sides, count,
                                  raw->ids + k + FIRST_SUMS));
  }
  return EGRAPH_OK;
}

static egraph_status build_first(egraph_terms *terms, raw_bench *raw) {
  for (uint32_t i = 0; i < FIRST_SUMS; i++)
    EG_TRY(add_leaf(terms, "n_", i, &raw->ids[i]));
  return EGRAPH_OK;
}

static egraph_status build_sums(egraph_terms *terms, raw_bench *raw) {
  EG_TRY(build_first(terms, raw));
  return add_sums(terms, raw);
}

static egraph_status build_chains(egraph_terms *terms, raw_bench *raw) {
  for (uint32_t chain = 0; chain < 2; chain++) {
    EG_TRY(add(terms, chain == 0 ? "a" : "b", NULL, 0, &raw->ids[chain]));
    egraph_class last = raw->ids[chain];
    for (uint32_t i = 0; i < raw->size; i++)
      EG_TRY(egraph_terms_add_node(terms, raw->f, &last, 1, &last));
  }
  return EGRAPH_OK;
}

static egraph_status build_wide(egraph_terms *terms, raw_bench *raw) {
  egraph_class none;
  for (uint32_t i = 0; i < raw->size; i++)
    EG_TRY(add_leaf(terms, "x_", i, &raw->ids[i]));
  for (uint32_t i = 0; i < raw->size; i++)
    EG_TRY(egraph_terms_add_node(terms, raw->f, &raw->ids[i], 1, &none));
  for (uint32_t i = 0; i < raw->size; i++) {
    egraph_class sides[2] = {raw->ids[i], raw->ids[(i + 1) % raw->size]};
    EG_TRY(egraph_terms_add_node(terms, raw->plus, sides, 2, &none));
  }
  return EGRAPH_OK;
}

static egraph_status build_groups(egraph_terms *terms, raw_bench *raw) {
  egraph_class sides[2], none;
  for (uint32_t g = 0; g < raw->size; g++) {
    EG_TRY(add_leaf(terms, "x_", g, &sides[0]));
    for (uint32_t j = 0; j < 4; j++) {
      EG_TRY(add_leaf(terms, "y_", 4 * g + j, &sides[1]));
      EG_TRY(egraph_terms_add_node(terms, raw->times, sides, 2, &none));
    }
  }
  return EGRAPH_OK;
}

static egraph_status unite_chains(egraph_terms *terms, raw_bench *raw) {
  return egraph_terms_unite(terms, raw->ids[0], raw->ids[1], NULL);
}

static egraph_status unite_wide(egraph_terms *terms, raw_bench *raw) {
  for (uint32_t i = 1; i < raw->size; i++) {
    EG_TRY(egraph_terms_unite(terms, raw->ids[0], raw->ids[i], NULL));
    if (raw->kind == RAW_WIDE_EACH) EG_TRY(egraph_terms_rebuild(terms));
  }
  return EGRAPH_OK;
}

static egraph_status search_groups(egraph_terms *terms, raw_bench *raw) {
  return egraph_terms_search(terms, "(* ?x ?y) (* ?x ?z)", NULL, NULL, &raw->operations);
}

// `build` makes the structure, without being timed; `operate` runs the timed operations
// except the last rebuild.
static const struct {
  egraph_status (*build)(egraph_terms *terms, raw_bench *raw);
  egraph_status (*operate)(egraph_terms *terms, raw_bench *raw);
} RAW[] = {[RAW_ADD] = {build_first, add_sums},
           [RAW_HIT] = {build_sums, add_sums},
           [RAW_HIT_MANY] = {build_sums, find_sums},
           [RAW_CHAIN] = {build_chains, unite_chains},
           [RAW_WIDE] = {build_wide, unite_wide},
           [RAW_WIDE_EACH] = {build_wide, unite_wide},
           [RAW_MULTI] = {build_groups, search_groups}};

/// Builds the structure of a benchmark without rules. Free its ids also after a failure.
static egraph_status build_raw(egraph_terms *terms, raw_kind kind, uint32_t size,
                               raw_bench *out) {
  *out = (raw_bench){.kind = kind, .size = size, .operations = size};
  out->ids = calloc((size_t)size + FIRST_SUMS, sizeof *out->ids);
  if (out->ids == NULL) return EGRAPH_E_MEMORY;
  EG_TRY(egraph_terms_symbol(terms, "+", &out->plus));
  EG_TRY(egraph_terms_symbol(terms, "f", &out->f));
  EG_TRY(egraph_terms_symbol(terms, "*", &out->times));
  EG_TRY(RAW[kind].build(terms, out));
  return egraph_terms_rebuild(terms);
}

// ---- memory ----------------------------------------------------------------------

/// Reads a line of /proc/self/status, such as "VmRSS:", in bytes; 0: there is no
/// such line.
static uint64_t memory_of_process(const char *key) {
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  uint64_t bytes = 0;
  while (file != NULL && bytes == 0 && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, key, strlen(key)) == 0)
      bytes = strtoull(line + strlen(key), NULL, 10) * 1024;
  if (file != NULL) (void)fclose(file);
  return bytes;
}

static uint64_t memory_above(const char *key, uint64_t before) {
  uint64_t now = memory_of_process(key);
  return now > before ? now - before : 0;
}

// ---- the benchmark ---------------------------------------------------------------

static bool on_iteration(void *user, const egraph_terms_iteration *iteration) {
  bench_result *r = user;
  r->search_seconds += iteration->search_seconds;
  r->apply_seconds += iteration->apply_seconds;
  r->rebuild_seconds += iteration->rebuild_seconds;
  if (r->row_count < MAX_BENCH_ROWS)
    r->rows[r->row_count++] =
        (bench_counts){iteration->nodes, iteration->classes, iteration->matches};
  return false;
}

static egraph_status add_taso_rules(egraph_terms *terms, const char *text) {
  enum { AROUND = 64 }; // bytes of a rule in addition to its line
  size_t room = strlen(text) + 2 * AROUND, used;
  for (const char *c = text; *c != '\0'; c++)
    room += *c == '\n' ? AROUND : 0;
  char *rules = malloc(room);
  if (rules == NULL) return EGRAPH_E_MEMORY;
  used = (size_t)snprintf(rules, room, "(egraph-rules 1 symbolic)\n");
  for (uint32_t line = 1; *text != '\0'; line++) {
    int length = (int)strcspn(text, "\r\n");
    const char *arrow = strstr(text, "=>");
    if (length > 0 && arrow != NULL && arrow < text + length && used < room)
      used += (size_t)snprintf(
          rules + used, room - used, "(rule taso-%u (lhs %.*s) (rhs %.*s))\n", line,
          (int)(arrow - text), text, (int)(text + length - arrow - 2), arrow + 2);
    text += length;
    text += strspn(text, "\r\n");
  }
  egraph_status status = egraph_terms_add_rule_text(terms, "taso", rules);
  free(rules);
  return status;
}

static egraph_status prepare_terms(egraph_terms *terms, const bench_spec *spec,
                                   const bench_mode *mode) {
  if (spec->wants_taso && mode->taso != NULL) EG_TRY(add_taso_rules(terms, mode->taso));
  for (size_t i = 0; i < spec->rules.count; i++)
    EG_TRY(egraph_terms_add_rule_text(terms, spec->rule_names.items[i],
                                      spec->rules.items[i]));
  for (size_t i = 0; i < spec->terms.count; i++)
    EG_TRY(term_lines_add(terms, spec->term_names.items[i], spec->terms.items[i], NULL,
                          NULL));
  return spec->cells != 0 ? add_nasrnn(terms, spec->cells) : EGRAPH_OK;
}

static egraph_status saturate(egraph_terms *terms, const bench_spec *spec,
                              const bench_mode *mode, bench_result *out) {
  egraph_terms_options options = egraph_terms_options_default();
  options.node_limit = spec->nodes;
  options.iteration_limit = spec->iterations;
  options.time_limit = INFINITY;
  options.byte_limit = SIZE_MAX;
  options.scheduler = spec->scheduler;
  options.naive = mode->naive;
  options.threads = mode->threads;
  options.on_iteration = on_iteration;
  options.user = out;
  egraph_terms_report report;
  EG_TRY(egraph_terms_saturate(terms, &options, &report));
  (void)snprintf(out->stop, sizeof out->stop, "%s", report.stop);
  out->iterations = report.iterations;
  out->matches = report.matches;
  out->engine_peak_bytes = report.peak_bytes;
  return EGRAPH_OK;
}

static egraph_status run_raw(egraph_terms *terms, const bench_spec *spec, raw_bench *raw,
                             bench_result *out) {
  EG_TRY(build_raw(terms, spec->raw, spec->raw_size, raw));
  out->iterations = 1;
  double wall = eg_clock_seconds(), start = eg_clock_cpu_seconds();
  EG_TRY(RAW[raw->kind].operate(terms, raw));
  double middle = eg_clock_cpu_seconds();
  EG_TRY(egraph_terms_rebuild(terms));
  double end = eg_clock_cpu_seconds();
  out->wall_seconds = eg_clock_seconds() - wall;
  out->cpu_seconds = end - start;
  *(spec->raw == RAW_MULTI ? &out->search_seconds : &out->apply_seconds) = middle - start;
  out->rebuild_seconds = end - middle;
  out->matches = raw->operations;
  return EGRAPH_OK;
}

static egraph_status run_spec(egraph_terms *terms, const bench_spec *spec,
                              const bench_mode *mode, bench_result *out) {
  if (spec->raw != RAW_NONE) {
    raw_bench raw;
    egraph_status status = run_raw(terms, spec, &raw, out);
    free(raw.ids);
    return status;
  }
  EG_TRY(prepare_terms(terms, spec, mode));
  double wall = eg_clock_seconds(), start = eg_clock_cpu_seconds();
  EG_TRY(saturate(terms, spec, mode, out));
  out->cpu_seconds = eg_clock_cpu_seconds() - start;
  out->wall_seconds = eg_clock_seconds() - wall;
  return EGRAPH_OK;
}

static egraph_status measure(const bench_spec *spec, const bench_mode *mode,
                             bench_result *out) {
  uint64_t before = memory_of_process("VmRSS:");
  egraph_terms *terms;
  EG_TRY(egraph_terms_create(NULL, &terms));
  EG_TRY(run_spec(terms, spec, mode, out));
  egraph_terms_info info = egraph_terms_info_of(terms);
  out->nodes = info.nodes;
  out->classes = info.classes;
  out->engine_bytes = info.bytes;
  if (spec->raw != RAW_NONE)
    out->rows[out->row_count++] = (bench_counts){info.nodes, info.classes, out->matches};
  out->peak_bytes = memory_above("VmHWM:", before);
#if defined(__GLIBC__)
  (void)malloc_trim(0);
#endif
  out->kept_bytes = memory_above("VmRSS:", before);
  return EGRAPH_OK;
}

// ---- the process -----------------------------------------------------------------

static void be_child(int output, const bench_spec *spec, const bench_mode *mode) {
  (void)signal(SIGINT, SIG_DFL);
  bench_result result = {.stop = ""};
  egraph_status status = measure(spec, mode, &result);
  if (status != EGRAPH_OK) (void)report_failure(status);
  bool written =
      status == EGRAPH_OK && write(output, &result, sizeof result) == sizeof result;
  _exit(written ? EXIT_DONE : EXIT_FAILED);
}

static bool read_result(int input, bench_result *out) {
  size_t got = 0;
  while (got < sizeof *out) {
    ssize_t count = read(input, (char *)out + got, sizeof *out - got);
    if (count == 0 || (count < 0 && errno != EINTR)) break;
    if (count > 0) got += (size_t)count;
  }
  return got == sizeof *out;
}

bool bench_run(const bench_spec *spec, const bench_mode *mode, bench_result *out) {
  int ends[2], status = 0;
  (void)fflush(NULL);
  if (pipe(ends) != 0) return complain("no pipe: %s", strerror(errno));
  pid_t child = fork();
  if (child == 0) be_child(ends[1], spec, mode);
  (void)close(ends[1]);
  bool fine = child > 0 && read_result(ends[0], out);
  (void)close(ends[0]);
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child < 0)
    fprintf(stderr, "egraph: no child process can be started: %s\n", strerror(errno));
  else if (!fine && WIFSIGNALED(status))
    fprintf(stderr, "egraph: %s was ended by signal %d\n", spec->name, WTERMSIG(status));
  return fine;
}

// ---- another program -------------------------------------------------------------

enum { MAX_COMMAND = 4096, MAX_LINE = 4096 };

static bool number_of(const char *line, const char *key, double *out) {
  char pattern[64], *end;
  (void)snprintf(pattern, sizeof pattern, "\"%s\":", key);
  const char *at = strstr(line, pattern);
  if (at == NULL) return false;
  at += strlen(pattern);
  *out = strtod(at, &end);
  return end != at && *out >= 0;
}

static bool parse(const char *line, peer_result *out) {
  double nodes, classes, seconds, bytes;
  if (!number_of(line, "nodes", &nodes) || !number_of(line, "classes", &classes) ||
      !number_of(line, "cpu_seconds", &seconds) || !number_of(line, "peak_bytes", &bytes))
    return false;
  *out = (peer_result){.nodes = (uint64_t)nodes,
                       .classes = (uint64_t)classes,
                       .peak_bytes = (uint64_t)bytes,
                       .cpu_seconds = seconds};
  return true;
}

bool peer_run(const char *command, const char *name, peer_result *out) {
  char shell[MAX_COMMAND], line[MAX_LINE] = "", next[MAX_LINE];
  int length = snprintf(shell, sizeof shell, "%s %s", command, name);
  if (length < 0 || (size_t)length >= sizeof shell) return false;
  (void)fflush(NULL);
  FILE *output = popen(shell, "r");
  if (output == NULL) return false;
  while (fgets(next, sizeof next, output) != NULL)
    memcpy(line, next, sizeof next); // the last line counts
  if (pclose(output) != 0) return false;
  if (parse(line, out)) return true;
  return complain("the peer's answer to %s is not understood: %s", name, line);
}
