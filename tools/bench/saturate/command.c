// egraph bench saturate: runs known saturation problems and compares their counts with
// the expected counts; runs another program, if one is given, in turn.
// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantile.h"
#include "tools/arguments.h"
#include "tools/bench/saturate/measure.h"
#include "tools/optimize_call.h"
#include "tools/text_file.h"

enum { MAX_BENCH_REPEATS = 100 };

typedef struct bench_measurement {
  const bench_spec *spec;
  bench_result best;                      // the run with the least CPU seconds
  double seconds[MAX_BENCH_REPEATS];      // CPU, run by run
  double peer_seconds[MAX_BENCH_REPEATS]; // CPU seconds of the peer, in turn
  peer_result peer;                       // last run of the peer
  uint32_t runs, peer_runs;               // peer_runs: 0, or equal to runs
  bool compare_matches;                   // the search was for all matches
} bench_measurement;

// ---- figures ---------------------------------------------------------------------

typedef struct spread {
  double least, median;
} spread;

static spread spread_of(const double *values, uint32_t count) {
  double sorted[MAX_BENCH_REPEATS] = {0};
  memcpy(sorted, values, count * sizeof *values);
  double median = eg_median(sorted, count);
  return (spread){.least = sorted[0], .median = median};
}

static double per(double amount, uint64_t count) {
  return count != 0 ? amount / (double)count : (double)NAN;
}

/// Returns the seconds of the other program divided by the seconds of this program, in
/// one pair of runs.
static double ratio(const bench_measurement *m, uint32_t pair) {
  return m->peer_seconds[pair] / m->seconds[pair];
}

static spread ratios_of(const bench_measurement *m) {
  double ratios[MAX_BENCH_REPEATS];
  for (uint32_t i = 0; i < m->peer_runs; i++)
    ratios[i] = ratio(m, i);
  return spread_of(ratios, m->peer_runs);
}

// ---- counts ----------------------------------------------------------------------

static bool differs(const bench_measurement *m, const bench_counts *a,
                    const bench_counts *b) {
  bool compare_matches = m->compare_matches && b->matches != UINT64_MAX;
  return a->nodes != b->nodes || a->classes != b->classes ||
         (compare_matches && a->matches != b->matches);
}

static void say_counts(FILE *file, const bench_counts *c) {
  fprintf(file, "%u/%u", c->nodes, c->classes);
  if (c->matches != UINT64_MAX) fprintf(file, "/%" PRIu64, c->matches);
}

static void say_difference(FILE *file, const bench_measurement *m, uint32_t row) {
  fprintf(file, "%s: iteration %u: expected ", m->spec->name, row);
  say_counts(file, &m->spec->expected[row]);
  fprintf(file, ", found ");
  say_counts(file, &m->best.rows[row]);
  fprintf(file, "\n");
}

/// Returns how many counts differ from the expected counts, or from the counts of the
/// other program; prints each difference on `file` unless that is NULL.
static uint32_t count_mismatches(const bench_measurement *m, FILE *file) {
  const bench_spec *spec = m->spec;
  const bench_result *r = &m->best;
  uint32_t count = 0;
  uint32_t rows =
      r->row_count < spec->expected_count ? r->row_count : spec->expected_count;
  for (uint32_t i = 0; i < rows; i++) {
    if (!differs(m, &r->rows[i], &spec->expected[i])) continue;
    count++;
    if (file != NULL) say_difference(file, m, i);
  }
  if (spec->expected_count != 0 && r->row_count != spec->expected_count) {
    count++;
    if (file != NULL)
      fprintf(file, "%s: expected %u iterations, found %u\n", spec->name,
              spec->expected_count, r->row_count);
  }
  if (m->peer_runs != 0 && (m->peer.nodes != r->nodes || m->peer.classes != r->classes)) {
    count++;
    if (file != NULL)
      fprintf(file, "%s: the peer has %" PRIu64 "/%" PRIu64 ", we have %u/%u\n",
              spec->name, m->peer.nodes, m->peer.classes, r->nodes, r->classes);
  }
  return count;
}

/// Prints nodes, classes and matches after each iteration.
static void print_counts(const bench_measurement *m) {
  printf("  nodes/classes/matches");
  for (uint32_t i = 0; i < m->best.row_count; i++) {
    printf(" ");
    say_counts(stdout, &m->best.rows[i]);
  }
  printf("\n");
}

// ---- table -----------------------------------------------------------------------

static void print_head(bool has_peer) {
  printf("%-16s %8s %8s %4s %9s %9s %9s %8s %8s %8s %8s %8s %8s %8s %7s %7s %7s", "bench",
         "nodes", "classes", "iter", "matches", "CPU s", "median", "wall", "search",
         "apply", "rebuild", "ns/match", "ns/node", "peak MB", "B/node", "kept",
         "engine");
  if (has_peer) printf(" %9s %9s %8s %7s", "peer s", "median", "peak MB", "ratio");
  printf("\n");
}

// Prints a number, with fewer decimals for larger values, so that columns keep
// their width.
static void print_cell(int width, double value) {
  if (isfinite(value))
    printf(" %*.*f", width, value < 10 ? 2 : value < 100 ? 1 : 0, value);
  else
    printf(" %*s", width, "-");
}

static void print_pairs(const bench_measurement *m) {
  spread theirs = spread_of(m->peer_seconds, m->peer_runs);
  printf(" %9.4f %9.4f %8.1f %7.2f\n  peer/ours pair by pair", theirs.least,
         theirs.median, 1e-6 * (double)m->peer.peak_bytes, ratios_of(m).median);
  for (uint32_t i = 0; i < m->peer_runs; i++)
    printf(" %.2f", ratio(m, i));
}

static void print_row(const bench_measurement *m, bool has_peer) {
  const bench_result *r = &m->best;
  spread ours = spread_of(m->seconds, m->runs);
  printf("%-16s %8u %8u %4u %9" PRIu64 " %9.4f %9.4f %8.4f %8.4f %8.4f %8.4f",
         m->spec->name, r->nodes, r->classes, r->iterations, r->matches, ours.least,
         ours.median, r->wall_seconds, r->search_seconds, r->apply_seconds,
         r->rebuild_seconds);
  print_cell(8, per(1e9 * ours.least, r->matches));
  print_cell(8, per(1e9 * ours.least, r->nodes));
  print_cell(8, 1e-6 * (double)r->peak_bytes);
  print_cell(7, per((double)r->peak_bytes, r->nodes));
  print_cell(7, per((double)r->kept_bytes, r->nodes));
  print_cell(7, per((double)r->engine_bytes, r->nodes));
  if (m->peer_runs != 0)
    print_pairs(m);
  else if (has_peer)
    printf(" %9s", "absent");
  printf("\n");
}

// ---- JSON ------------------------------------------------------------------------

static void print_measurement_json(const bench_measurement *m) {
  const bench_result *r = &m->best;
  spread ours = spread_of(m->seconds, m->runs);
  json_open(NULL, '{');
  JSON_MEMBERS(
      JSON("bench", m->spec->name), JSON("nodes", r->nodes), JSON("classes", r->classes),
      JSON("iterations", r->iterations), JSON("stop", r->stop),
      JSON("matches", r->matches), JSON("cpu_seconds", ours.least),
      JSON("cpu_seconds_median", ours.median), JSON("wall_seconds", r->wall_seconds),
      JSON("search_seconds", r->search_seconds), JSON("apply_seconds", r->apply_seconds),
      JSON("rebuild_seconds", r->rebuild_seconds), JSON("peak_bytes", r->peak_bytes),
      JSON("kept_bytes", r->kept_bytes), JSON("engine_bytes", r->engine_bytes),
      JSON("engine_peak_bytes", r->engine_peak_bytes),
      JSON("mismatches", count_mismatches(m, NULL)));
  if (m->peer_runs != 0) {
    spread theirs = spread_of(m->peer_seconds, m->peer_runs);
    JSON_MEMBERS(JSON("peer_cpu_seconds", theirs.least),
                 JSON("peer_cpu_seconds_median", theirs.median),
                 JSON("peer_peak_bytes", m->peer.peak_bytes),
                 JSON("ratio", ratios_of(m).median));
  }
  JSON_EACH("runs", i, m->runs) {
    json_open(NULL, '{');
    json_real("cpu_seconds", m->seconds[i]);
    if (m->peer_runs != 0)
      JSON_MEMBERS(JSON("peer_cpu_seconds", m->peer_seconds[i]),
                   JSON("ratio", ratio(m, i)));
    json_close('}');
  }
  JSON_EACH("counts", i, r->row_count)
    JSON_OBJECT(NULL, JSON("nodes", r->rows[i].nodes),
                JSON("classes", r->rows[i].classes), JSON("matches", r->rows[i].matches));
  json_close('}');
}

typedef struct saturate_bench_flags {
  const char *folder, *taso, *peer;
  uint32_t threads, repeats, iterations;
  bool naive, counts, list, json;
} saturate_bench_flags;

typedef struct saturate_bench {
  const saturate_bench_flags *flags;
  bench_mode mode;
  uint32_t measured, mismatches;
  bool failed;
} saturate_bench;

// ---- which -----------------------------------------------------------------------

static bool add_matching(const text_array *all, const char *pattern, text_array *out) {
  size_t before = out->count;
  for (size_t i = 0; i < all->count; i++)
    if (fnmatch(pattern, all->items[i], 0) == 0)
      text_array_add(out, all->items[i], strlen(all->items[i]));
  if (out->count != before) return true;
  return complain("no benchmark like '%s'; egraph bench saturate --list shows all",
                  pattern);
}

static bool choose(const saturate_bench_flags *flags, const positional *words,
                   text_array *out) {
  text_array all = {NULL, 0, 0};
  bool fine = bench_file_names(flags->folder, &all);
  if (fine && words->count == 0) fine = add_matching(&all, "*", out);
  for (size_t i = 0; fine && i < words->count; i++) {
    const char *word = words->items[i];
    if (strpbrk(word, "*?[") != NULL)
      fine = add_matching(&all, word, out);
    else
      text_array_add(out, word, strlen(word));
  }
  text_array_free(&all);
  return fine;
}

// ---- one benchmark ---------------------------------------------------------------

// Runs this program, then the peer, and so on: disturbances of the machine affect both.
static bool run_pairs(saturate_bench *b, bench_measurement *m) {
  bool has_peer = b->flags->peer != NULL;
  for (uint32_t i = 0; i < b->flags->repeats && !interrupted(); i++) {
    bench_result result;
    (void)progress_line("bench", "%s", m->spec->name);
    if (!bench_run(m->spec, &b->mode, &result)) return false;
    m->seconds[m->runs] = result.cpu_seconds;
    if (m->runs == 0 || result.cpu_seconds < m->best.cpu_seconds) m->best = result;
    m->runs++;
    has_peer = has_peer && peer_run(b->flags->peer, m->spec->name, &m->peer);
    if (has_peer) m->peer_seconds[m->peer_runs++] = m->peer.cpu_seconds;
  }
  if (m->peer_runs != m->runs) m->peer_runs = 0;
  return m->runs != 0;
}

static void print(saturate_bench *b, const bench_measurement *m) {
  progress_clear();
  if (b->flags->json) {
    print_measurement_json(m);
    b->mismatches += count_mismatches(m, NULL);
    return;
  }
  if (b->measured == 0) print_head(b->flags->peer != NULL);
  print_row(m, b->flags->peer != NULL);
  if (b->flags->counts) print_counts(m);
  b->mismatches += count_mismatches(m, stdout);
  (void)fflush(stdout);
}

static void measure(saturate_bench *b, const char *name) {
  bench_spec spec;
  bench_measurement m = {.spec = &spec, .compare_matches = b->mode.naive};
  bool fine = bench_spec_read(b->flags->folder, name, &spec);
  if (fine && spec.wants_taso && b->mode.taso == NULL) {
    fprintf(stderr, "egraph: %s is left out: it needs TASO's rules, --taso FILE\n", name);
  } else if (fine) {
    if (spec.raw == RAW_NONE && b->flags->iterations < spec.iterations) {
      spec.iterations = b->flags->iterations;
      if (spec.expected_count > spec.iterations) spec.expected_count = spec.iterations;
    }
    fine = run_pairs(b, &m);
    if (fine) print(b, &m);
    b->measured += fine;
  }
  b->failed = b->failed || !fine;
  bench_spec_free(&spec);
}

// ---- all -------------------------------------------------------------------------

static int measure_all(saturate_bench *b, const text_array *names) {
  install_interrupt();
  if (b->flags->json) json_begin_list("benchmarks");
  for (size_t i = 0; i < names->count && !interrupted(); i++)
    measure(b, names->items[i]);
  if (b->flags->json)
    JSON_END_LIST(JSON("measured", b->measured), JSON("mismatches", b->mismatches));
  if (interrupted())
    fprintf(stderr, "egraph: interrupted\n");
  else if (b->mismatches != 0)
    fprintf(stderr, "egraph: %u counts are not as expected\n", b->mismatches);
  return b->failed || interrupted() || b->mismatches != 0 ? EXIT_FAILED : EXIT_DONE;
}

static int run_bench(const saturate_bench_flags *flags, const positional *words) {
  text_array names = {NULL, 0, 0};
  char *taso = flags->taso != NULL ? text_file_read(flags->taso) : NULL;
  saturate_bench b = {
      .flags = flags,
      .mode = {.taso = taso, .naive = flags->naive, .threads = flags->threads}};
  int outcome = EXIT_FAILED;
  if (flags->taso != NULL && taso == NULL)
    fprintf(stderr, "egraph: %s: %s\n", flags->taso, strerror(errno));
  else if (choose(flags, words, &names))
    outcome = flags->list ? EXIT_DONE : measure_all(&b, &names);
  for (size_t i = 0; flags->list && outcome == EXIT_DONE && i < names.count; i++)
    printf("%s\n", names.items[i]);
  text_array_free(&names);
  free(taso);
  return outcome;
}

int command_bench_saturate(int argc, char **argv) {
  saturate_bench_flags flags = {.threads = 1, .repeats = 1, .iterations = UINT32_MAX};
  command cmd =
      new_command("bench saturate", "[NAME...] [options]", 0, MAX_POSITIONAL,
                  "Measures saturation of plain terms, each benchmark in a process of "
                  "its own, and compares nodes and classes after each iteration with "
                  "those that the rules imply. A NAME may be a pattern (\"ac*\"), or a "
                  "raw benchmark of another size (add-5000).");
  cmd.words = ""; // names, not files
  add_heading(&cmd, "Benchmarks");
  add_switch(&cmd, "--list", &flags.list, "print the names only");
  add_text(&cmd, "--spec DIR", &flags.folder,
           "take benchmarks from this folder (default: built in)");
  add_text(&cmd, "--taso FILE", &flags.taso,
           "TASO's rules as Tensat has converted them, lhs=>rhs, for nasrnn*");
  add_heading(&cmd, "Search");
  add_switch(&cmd, "--naive", &flags.naive,
             "search for all matches in every iteration, and compare their number, too");
  add_uint32(&cmd, "--threads N", &flags.threads, 1, 1024, "threads of the search");
  add_uint32(&cmd, "--iterations N", &flags.iterations, 0, UINT32_MAX,
             "iterations at most (default: all)");
  add_uint32(&cmd, "--repeat N", &flags.repeats, 1, MAX_BENCH_REPEATS,
             "runs of each benchmark; least and median are shown");
  add_text(
      &cmd, "--peer CMD", &flags.peer,
      "run another program, `CMD NAME`, in turn with this one (see bench/README.md)");
  add_heading(&cmd, "Output");
  add_switch(&cmd, "--counts", &flags.counts,
             "print the counts after each iteration, too");
  add_json(&cmd, &flags.json);
  PARSE_ARGUMENTS(words, &cmd, argc, argv);
  if (flags.peer != NULL && flags.iterations != UINT32_MAX)
    return refuse("--peer knows nothing of --iterations; leave one out");
  return run_bench(&flags, &words);
}
