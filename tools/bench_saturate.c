// egraph bench saturate: known saturation problems, their counts checked against those
// that the rules imply, in turn with another program where one is given.
// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench_saturate_files.h"
#include "tools/bench_saturate_table.h"
#include "tools/planning.h"
#include "tools/text_file.h"

typedef struct saturate_bench_flags {
  const char *folder, *taso, *peer;
  uint64_t threads, repeats, iterations;
  bool naive, counts, list, json;
} saturate_bench_flags;

typedef struct saturate_bench {
  const saturate_bench_flags *flags;
  bench_mode mode;
  uint32_t measured, mismatches;
  bool failed;
} saturate_bench;

// ---- which -----------------------------------------------------------------------

static bool is_pattern(const char *word) { return strpbrk(word, "*?[") != NULL; }

static bool add_matching(const text_array *all, const char *pattern, text_array *out) {
  size_t before = out->count;
  for (size_t i = 0; i < all->count; i++)
    if (fnmatch(pattern, all->items[i], 0) == 0)
      text_array_add(out, all->items[i], strlen(all->items[i]));
  if (out->count != before) return true;
  fprintf(stderr,
          "egraph: no benchmark like '%s'; egraph bench saturate --list shows all\n",
          pattern);
  return false;
}

static bool choose(const saturate_bench_flags *flags, const positional *words,
                   text_array *out) {
  text_array all = {NULL, 0, 0};
  bool fine = bench_file_names(flags->folder, &all);
  if (fine && words->count == 0) fine = add_matching(&all, "*", out);
  for (size_t i = 0; fine && i < words->count; i++) {
    const char *word = words->items[i];
    if (is_pattern(word))
      fine = add_matching(&all, word, out);
    else
      text_array_add(out, word, strlen(word));
  }
  text_array_free(&all);
  return fine;
}

// ---- one benchmark ---------------------------------------------------------------

// Ours, then the peer's, and again: what disturbs the machine meets both.
static bool run_pairs(saturate_bench *b, bench_measurement *m) {
  bool has_peer = b->flags->peer != NULL;
  for (uint64_t i = 0; i < b->flags->repeats && !interrupted(); i++) {
    bench_result result;
    progress_line("bench", m->spec->name);
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
    bench_print_json(m);
    b->mismatches += bench_mismatches(m, NULL);
    return;
  }
  if (b->measured == 0) bench_print_head(b->flags->peer != NULL);
  bench_print_row(m, b->flags->peer != NULL);
  if (b->flags->counts) bench_print_counts(m);
  b->mismatches += bench_mismatches(m, stdout);
  (void)fflush(stdout);
}

static void limit_iterations(const saturate_bench_flags *flags, bench_spec *spec) {
  if (spec->raw != RAW_NONE || flags->iterations >= spec->iterations) return;
  spec->iterations = (uint32_t)flags->iterations;
  if (spec->expected_count > spec->iterations) spec->expected_count = spec->iterations;
}

static void measure(saturate_bench *b, const char *name) {
  bench_spec spec;
  bench_measurement m = {.spec = &spec, .compare_matches = b->mode.naive};
  bool fine = bench_spec_read(b->flags->folder, name, &spec);
  if (fine && spec.wants_taso && b->mode.taso == NULL) {
    fprintf(stderr, "egraph: %s is left out: it needs TASO's rules, --taso FILE\n", name);
  } else if (fine) {
    limit_iterations(b->flags, &spec);
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
  if (b->flags->json) {
    json_begin();
    json_open("benchmarks", '[');
  }
  for (size_t i = 0; i < names->count && !interrupted(); i++)
    measure(b, names->items[i]);
  if (b->flags->json) {
    json_close(']');
    json_int("measured", b->measured);
    json_int("mismatches", b->mismatches);
    json_end();
  }
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
      .mode = {.taso = taso, .naive = flags->naive, .threads = (uint32_t)flags->threads}};
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
  command cmd = {
      .name = "bench saturate",
      .usage = "[NAME...] [options]",
      .summary = "Measures saturation of plain terms, each benchmark in a process of its "
                 "own, and compares nodes and classes after each iteration with those "
                 "that the rules imply. A NAME may be a pattern (\"ac*\"), or a raw "
                 "benchmark of another size (add-5000).",
      .max_positional = MAX_POSITIONAL};
  add_heading(&cmd, "Benchmarks");
  add_switch(&cmd, "--list", &flags.list, "print the names only");
  add_text(&cmd, "--spec DIR", &flags.folder,
           "take benchmarks from this folder (default: built in)");
  add_text(&cmd, "--taso FILE", &flags.taso,
           "TASO's rules as Tensat has converted them, lhs=>rhs, for nasrnn*");
  add_heading(&cmd, "Search");
  add_switch(&cmd, "--naive", &flags.naive,
             "search for all matches in every iteration, and compare their number, too");
  add_uint(&cmd, "--threads N", &flags.threads, 1, 1024, "threads of the search");
  add_uint(&cmd, "--iterations N", &flags.iterations, 0, UINT32_MAX,
           "iterations at most (default: all)");
  add_uint(&cmd, "--repeat N", &flags.repeats, 1, MAX_BENCH_REPEATS,
           "runs of each; least and median are shown");
  add_text(&cmd, "--peer CMD", &flags.peer,
           "run `CMD NAME` in turn with ours (see bench/README.md)");
  add_heading(&cmd, "Output");
  add_switch(&cmd, "--counts", &flags.counts,
             "print the counts after each iteration, too");
  add_json(&cmd, &flags.json);
  positional words;
  int parsed = parse_arguments(&cmd, argc, argv, &words);
  if (parsed != PARSE_RUN) return parsed;
  if (flags.peer != NULL && flags.iterations != UINT32_MAX) {
    fprintf(stderr, "egraph: --peer knows nothing of --iterations; leave one out\n");
    return EXIT_USAGE;
  }
  return run_bench(&flags, &words);
}
