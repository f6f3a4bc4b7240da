// Cuts a hypergraph into parts of about equal weight, so that few bytes are cut: by
// repeated halving, each time on several levels (Karypis et al., hMETIS: pairs are joined
// until few vertices are left, these are cut, and the cut is refined while the pairs come
// apart) with the passes of Fiduccia and Mattheyses (DAC'82). A heuristic,
// and deterministic.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_MIN_CUT_H
#define EG_BASELINES_MIN_CUT_H

#include "base/vec.h"

typedef struct eg_cut_problem {
  uint32_t vertices, nets, parts;
  const double *weight;  // [vertices] >= 0
  const double *bytes;   // [nets] >= 0: the cost if its vertices are in different parts
  const uint32_t *begin; // [nets + 1] into pins
  const uint32_t *pins;  // the vertices of each net, each once
  // A half may have (1 + slack) times its share of the weight, or its share and half of
  // the heaviest vertex; more only if no other cut is found
  double slack;
} eg_cut_problem;

/// Fills out_part[vertices] with numbers below `parts`. O(pins * log parts * log
/// vertices), about. Fails with EGRAPH_E_MEMORY.
egraph_status eg_min_cut(const eg_cut_problem *problem, egraph_allocator alloc,
                         uint32_t *out_part);

#endif
