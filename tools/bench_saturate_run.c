// The child writes its result to a pipe and ends without cleaning up.
// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE
#include "tools/bench_saturate_run.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "tools/bench_saturate_start.h"
#include "tools/console.h"
#include "tools/term_lines.h"

#define TRY(call)                                                                        \
  do {                                                                                   \
    egraph_status status_ = (call);                                                      \
    if (status_ != EGRAPH_OK) return status_;                                            \
  } while (0)

// ---- clocks and memory -----------------------------------------------------------

static double seconds_on(clockid_t clock) {
  struct timespec now;
  (void)clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/// A line of /proc/self/status, "VmRSS:" for instance, in bytes; 0 where there is none.
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

static void give_back_heap(void) {
#if defined(__GLIBC__)
  (void)malloc_trim(0);
#endif
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
  enum { AROUND = 64 }; // what a rule has more than its line
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
  if (spec->wants_taso && mode->taso != NULL) TRY(add_taso_rules(terms, mode->taso));
  for (size_t i = 0; i < spec->rules.count; i++)
    TRY(egraph_terms_add_rule_text(terms, spec->rule_names.items[i],
                                   spec->rules.items[i]));
  for (size_t i = 0; i < spec->terms.count; i++)
    TRY(term_lines_add(terms, spec->term_names.items[i], spec->terms.items[i], NULL,
                       NULL));
  return spec->cells != 0 ? start_nasrnn(terms, spec->cells) : EGRAPH_OK;
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
  TRY(egraph_terms_saturate(terms, &options, &report));
  (void)snprintf(out->stop, sizeof out->stop, "%s", report.stop);
  out->iterations = report.iterations;
  out->matches = report.matches;
  out->engine_peak_bytes = report.peak_bytes;
  return EGRAPH_OK;
}

static egraph_status run_raw(egraph_terms *terms, const bench_spec *spec, raw_bench *raw,
                             bench_result *out) {
  TRY(raw_bench_build(terms, spec->raw, spec->raw_size, raw));
  out->matches = spec->raw_size;
  out->iterations = 1;
  double wall = seconds_on(CLOCK_MONOTONIC), start = seconds_on(CLOCK_PROCESS_CPUTIME_ID);
  TRY(raw_bench_run(terms, raw, &out->matches));
  double middle = seconds_on(CLOCK_PROCESS_CPUTIME_ID);
  TRY(egraph_terms_rebuild(terms));
  double end = seconds_on(CLOCK_PROCESS_CPUTIME_ID);
  out->wall_seconds = seconds_on(CLOCK_MONOTONIC) - wall;
  out->cpu_seconds = end - start;
  *(spec->raw == RAW_MULTI ? &out->search_seconds : &out->apply_seconds) = middle - start;
  out->rebuild_seconds = end - middle;
  return EGRAPH_OK;
}

static egraph_status run_spec(egraph_terms *terms, const bench_spec *spec,
                              const bench_mode *mode, bench_result *out) {
  if (spec->raw != RAW_NONE) {
    raw_bench raw;
    egraph_status status = run_raw(terms, spec, &raw, out);
    raw_bench_free(&raw);
    return status;
  }
  TRY(prepare_terms(terms, spec, mode));
  double wall = seconds_on(CLOCK_MONOTONIC), start = seconds_on(CLOCK_PROCESS_CPUTIME_ID);
  TRY(saturate(terms, spec, mode, out));
  out->cpu_seconds = seconds_on(CLOCK_PROCESS_CPUTIME_ID) - start;
  out->wall_seconds = seconds_on(CLOCK_MONOTONIC) - wall;
  return EGRAPH_OK;
}

static egraph_status measure(const bench_spec *spec, const bench_mode *mode,
                             bench_result *out) {
  uint64_t before = memory_of_process("VmRSS:");
  egraph_terms *terms;
  TRY(egraph_terms_create(NULL, &terms));
  TRY(run_spec(terms, spec, mode, out));
  egraph_terms_info info = egraph_terms_info_of(terms);
  out->nodes = info.nodes;
  out->classes = info.classes;
  out->engine_bytes = info.bytes;
  if (spec->raw != RAW_NONE)
    out->rows[out->row_count++] = (bench_counts){info.nodes, info.classes, out->matches};
  out->peak_bytes = memory_above("VmHWM:", before);
  give_back_heap();
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
  if (pipe(ends) != 0) {
    fprintf(stderr, "egraph: no pipe: %s\n", strerror(errno));
    return false;
  }
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
