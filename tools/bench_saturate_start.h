// Start graphs that are made by code, and the timed operations on raw structures.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_BENCH_SATURATE_START_H
#define EG_TOOLS_BENCH_SATURATE_START_H

#include "include/egraph.h"
#include "tools/bench_saturate_spec.h"

/// NASRNN as in Tensat, unrolled: per cell 8 combinations of input and state with fresh
/// weights, joined by activations, sums and products. Its text would be exponential.
egraph_status start_nasrnn(egraph_terms *terms, uint32_t cells);

/// A raw benchmark: `first` and `second` are what the clock counts as apply and rebuild
/// (multi: only search).
typedef struct raw_bench {
  raw_kind kind;
  uint32_t size;
  egraph_class *ids; // of the structure; owned
  egraph_symbol plus, f, times;
} raw_bench;

/// Builds what is not timed. raw_bench_free follows whatever it returns.
egraph_status raw_bench_build(egraph_terms *terms, raw_kind kind, uint32_t size,
                              raw_bench *out);
/// The timed operations but for the last rebuild; *out_matches is only set by multi.
egraph_status raw_bench_run(egraph_terms *terms, raw_bench *raw, uint64_t *out_matches);
void raw_bench_free(raw_bench *raw);

#endif
