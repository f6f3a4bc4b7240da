// A benchmark of saturation, read from NAME.bench: one word and its value to a line.
//
//   rules FILE               rules over plain symbols; may be repeated
//   taso                     the rules of --taso too
//   term TERM                a start term; may be repeated
//   terms FILE               start terms, one to a line
//   nasrnn CELLS             start graph of Tensat's NASRNN, unrolled
//   raw KIND N               instead of rules and terms: add, hit, hit-many, chain, wide,
//                            wide-each, multi
//   scheduler NAME, iterations N, nodes N      limits (default: none)
//   counts N/C[/M] ...       expected after each iteration: nodes, classes, matches
//
// Empty lines and lines that begin with ; are passed over.
//
// The build embeds the files of this folder in the command (cmake/EmbedFiles.cmake).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_BENCH_SATURATE_BENCHMARK_H
#define EG_TOOLS_BENCH_SATURATE_BENCHMARK_H

#include <stdint.h>

#include "tools/csv.h"

typedef struct bench_file {
  const char *name;
  const unsigned char *text; // NUL-terminated
  size_t size;
} bench_file;

/// The embedded files, in natural order. The list ends with a NULL name.
extern const bench_file bench_files[];
extern const size_t bench_file_count;

/// Lists the names of the benchmarks: the files NAME.bench of a folder, sorted, or the
/// built-in files. False, with a message, when the folder cannot be read.
bool bench_file_names(const char *folder, text_array *out);

enum { MAX_BENCH_NAME = 64, MAX_BENCH_ROWS = 64 };

#define RAW_KIND_LIST(X)                                                                 \
  X(RAW_ADD, "add")                                                                      \
  X(RAW_HIT, "hit")                                                                      \
  X(RAW_HIT_MANY, "hit-many")                                                            \
  X(RAW_CHAIN, "chain")                                                                  \
  X(RAW_WIDE, "wide")                                                                    \
  X(RAW_WIDE_EACH, "wide-each")                                                          \
  X(RAW_MULTI, "multi")
#define RAW_KIND_ENUM(id, name) id,
typedef enum raw_kind { RAW_KIND_LIST(RAW_KIND_ENUM) RAW_NONE } raw_kind;
#undef RAW_KIND_ENUM

typedef struct bench_counts {
  uint32_t nodes, classes;
  uint64_t matches; // UINT64_MAX: not known
} bench_counts;

typedef struct bench_spec {
  char name[MAX_BENCH_NAME];
  text_array rule_names, rules; // file names and their texts
  text_array term_names, terms; // likewise
  bool wants_taso;
  uint32_t cells; // of NASRNN; 0: none
  raw_kind raw;
  uint32_t raw_size;
  char scheduler[16];
  uint32_t iterations, nodes;
  bench_counts expected[MAX_BENCH_ROWS]; // after each iteration
  uint32_t expected_count;
} bench_spec;

/// Reads a benchmark by name; a raw one of another size, "add-5000", needs no file.
/// False, with a message, when there is none or it has a mistake. Call bench_spec_free in
/// both cases.
bool bench_spec_read(const char *folder, const char *name, bench_spec *out);
void bench_spec_free(bench_spec *spec);

#endif
