// SPDX-License-Identifier: Apache-2.0
#include "tools/bench_saturate_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/console.h"

// ---- figures ---------------------------------------------------------------------

typedef struct spread {
  double least, median;
} spread;

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static spread spread_of(const double *values, uint32_t count) {
  double sorted[MAX_BENCH_REPEATS] = {0};
  memcpy(sorted, values, count * sizeof *values);
  qsort(sorted, count, sizeof *sorted, compare);
  double low = sorted[(count - 1) / 2], high = sorted[count / 2];
  return (spread){.least = sorted[0], .median = (low + high) / 2};
}

static double per(double amount, uint64_t count) {
  return count != 0 ? amount / (double)count : (double)NAN;
}

/// Seconds of the peer over ours, pair by pair: how many times as fast we are.
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

uint32_t bench_mismatches(const bench_measurement *m, FILE *file) {
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

void bench_print_counts(const bench_measurement *m) {
  printf("  nodes/classes/matches");
  for (uint32_t i = 0; i < m->best.row_count; i++) {
    printf(" ");
    say_counts(stdout, &m->best.rows[i]);
  }
  printf("\n");
}

// ---- table -----------------------------------------------------------------------

void bench_print_head(bool has_peer) {
  printf("%-16s %8s %8s %4s %9s %9s %9s %8s %8s %8s %8s %8s %8s %8s %7s %7s %7s", "bench",
         "nodes", "classes", "iter", "matches", "CPU s", "median", "wall", "search",
         "apply", "rebuild", "ns/match", "ns/node", "peak MB", "B/node", "kept",
         "engine");
  if (has_peer) printf(" %9s %9s %8s %7s", "peer s", "median", "peak MB", "ratio");
  printf("\n");
}

// Fewer decimals for larger values, so that columns keep their width.
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

void bench_print_row(const bench_measurement *m, bool has_peer) {
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

static void print_json_counts(const bench_result *r) {
  json_open("counts", '[');
  for (uint32_t i = 0; i < r->row_count; i++) {
    json_open(NULL, '{');
    json_int("nodes", r->rows[i].nodes);
    json_int("classes", r->rows[i].classes);
    json_int("matches", r->rows[i].matches);
    json_close('}');
  }
  json_close(']');
}

static void print_json_pairs(const bench_measurement *m) {
  json_open("runs", '[');
  for (uint32_t i = 0; i < m->runs; i++) {
    json_open(NULL, '{');
    json_real("cpu_seconds", m->seconds[i]);
    if (m->peer_runs != 0) {
      json_real("peer_cpu_seconds", m->peer_seconds[i]);
      json_real("ratio", ratio(m, i));
    }
    json_close('}');
  }
  json_close(']');
}

static void print_json_peer(const bench_measurement *m) {
  if (m->peer_runs == 0) return;
  spread theirs = spread_of(m->peer_seconds, m->peer_runs);
  json_real("peer_cpu_seconds", theirs.least);
  json_real("peer_cpu_seconds_median", theirs.median);
  json_int("peer_peak_bytes", m->peer.peak_bytes);
  json_real("ratio", ratios_of(m).median);
}

void bench_print_json(const bench_measurement *m) {
  const bench_result *r = &m->best;
  spread ours = spread_of(m->seconds, m->runs);
  json_open(NULL, '{');
  json_text("bench", m->spec->name);
  json_int("nodes", r->nodes);
  json_int("classes", r->classes);
  json_int("iterations", r->iterations);
  json_text("stop", r->stop);
  json_int("matches", r->matches);
  json_real("cpu_seconds", ours.least);
  json_real("cpu_seconds_median", ours.median);
  json_real("wall_seconds", r->wall_seconds);
  json_real("search_seconds", r->search_seconds);
  json_real("apply_seconds", r->apply_seconds);
  json_real("rebuild_seconds", r->rebuild_seconds);
  json_int("peak_bytes", r->peak_bytes);
  json_int("kept_bytes", r->kept_bytes);
  json_int("engine_bytes", r->engine_bytes);
  json_int("engine_peak_bytes", r->engine_peak_bytes);
  json_int("mismatches", bench_mismatches(m, NULL));
  print_json_peer(m);
  print_json_pairs(m);
  print_json_counts(r);
  json_close('}');
}
