// F(s, k, d) is the least sum of t of s stages that consist of the layers from k on and
// have d devices in total, with no t above the longest t that is tried:
//
//   F(s, k, d) = min over last >= k and shapes of  t(k, last) + F(s - 1, last + 1, d')
//   F(0, layers, 0) = 0
//
// SPDX-License-Identifier: Apache-2.0
#include "baselines/stages/interop.h"
#include "base/quantile.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static egraph_status push_powers(uint32_t limit, bool of_nodes, uint32_t width,
                                 eg_submeshes *out) {
  for (uint64_t n = of_nodes ? 2 : 1; n <= limit; n *= 2) {
    uint32_t count = (uint32_t)n;
    EG_TRY(eg_submeshes_push(out, of_nodes ? (eg_submesh){count, width}
                                           : (eg_submesh){1, count}));
    bool is_last = n * 2 > limit && n != limit;
    if (is_last)
      EG_TRY(eg_submeshes_push(out, of_nodes ? (eg_submesh){limit, width}
                                             : (eg_submesh){1, limit}));
  }
  return EGRAPH_OK;
}

egraph_status eg_submeshes_of(uint32_t nodes, uint32_t width, eg_submeshes *out) {
  EG_TRY(push_powers(width, false, width, out));
  return push_powers(nodes, true, width, out);
}

typedef struct chooser {
  const eg_interop_problem *of;
  eg_doubles longest; // t's that may be the longest, ascending
  // Arrays [stages + 1][layers + 1][devices + 1]:
  eg_doubles sum;           // F
  eg_u32s choice;           // last layer * shapes + shape of the first stage
  eg_interop_stages stages; // of the current try
} chooser;
EG_OWNER_DEFINE_STATIC(chooser, (eg_doubles, longest, sum), (eg_u32s, choice),
                       (eg_interop_stages, stages))

static const eg_stage_cell *cell_of(const chooser *c, uint32_t first, uint32_t last,
                                    uint32_t shape) {
  return &c->of->cells[eg_interop_cell_at(c->of->layers, c->of->shape_count, first, last,
                                          shape)];
}

static size_t stage_state(const chooser *c, uint32_t stages, uint32_t layer,
                          uint32_t devices) {
  return ((size_t)stages * (c->of->layers + 1) + layer) * (c->of->devices + 1) + devices;
}

static egraph_status list_longest(chooser *c) {
  for (uint32_t first = 0; first < c->of->layers; first++)
    for (uint32_t last = first; last < c->of->layers; last++)
      for (uint32_t shape = 0; shape < c->of->shape_count; shape++) {
        double seconds = cell_of(c, first, last, shape)->seconds;
        if (isfinite(seconds)) EG_TRY(eg_doubles_push(&c->longest, seconds));
      }
  if (c->longest.len != 0)
    qsort(c->longest.data, c->longest.len, sizeof *c->longest.data, eg_compare_doubles);
  return EGRAPH_OK;
}

/// Tries the stage [first, last] before the best `stages - 1` stages that begin at layer
/// `last + 1`.
static void extend(chooser *c, uint32_t stages, uint32_t first, uint32_t last,
                   double longest) {
  for (uint32_t shape = 0; shape < c->of->shape_count; shape++) {
    const eg_stage_cell *cell = cell_of(c, first, last, shape);
    uint32_t size = eg_submesh_devices(c->of->shapes[shape]);
    if (!(cell->seconds <= longest) || cell->most_behind < stages - 1) continue;
    for (uint32_t d = size; d <= c->of->devices; d++) {
      double rest = c->sum.data[stage_state(c, stages - 1, last + 1, d - size)];
      size_t state = stage_state(c, stages, first, d);
      if (!(cell->seconds + rest < c->sum.data[state])) continue;
      c->sum.data[state] = cell->seconds + rest;
      c->choice.data[state] = last * c->of->shape_count + shape;
    }
  }
}

static void fill_sums(chooser *c, double longest) {
  uint32_t layers = c->of->layers;
  for (size_t i = 0; i < c->sum.len; i++)
    c->sum.data[i] = INFINITY;
  c->sum.data[stage_state(c, 0, layers, 0)] = 0;
  for (uint32_t stages = 1; stages <= layers; stages++)
    for (uint32_t first = 0; first < layers; first++)
      for (uint32_t last = first; last < layers; last++)
        extend(c, stages, first, last, longest);
}

/// Reads the stages of the best choice, and computes their seconds by the formula.
static egraph_status read_stages(chooser *c, uint32_t stages, double *out_seconds) {
  double sum = 0, longest = 0;
  uint32_t layer = 0, devices = c->of->devices;
  c->stages.len = 0;
  for (; stages > 0; stages--) {
    uint32_t choice = c->choice.data[stage_state(c, stages, layer, devices)],
             last = choice / c->of->shape_count, shape = choice % c->of->shape_count;
    double seconds = cell_of(c, layer, last, shape)->seconds;
    EG_TRY(eg_interop_stages_push(&c->stages, (eg_interop_stage){layer, last, shape}));
    sum += seconds;
    longest = fmax(longest, seconds);
    devices -= eg_submesh_devices(c->of->shapes[shape]);
    layer = last + 1;
  }
  *out_seconds = sum + (c->of->micro_batches - 1) * longest;
  return EGRAPH_OK;
}

static egraph_status try_longest(chooser *c, double longest, eg_interop_choice *best) {
  fill_sums(c, longest);
  best->tried++;
  uint32_t least = 0;
  double least_sum = INFINITY, seconds;
  for (uint32_t stages = 1; stages <= c->of->layers; stages++) {
    double sum = c->sum.data[stage_state(c, stages, 0, c->of->devices)];
    if (!(sum < least_sum)) continue;
    least_sum = sum;
    least = stages;
  }
  if (least == 0) return EGRAPH_OK;
  EG_TRY(read_stages(c, least, &seconds));
  if (!(seconds < best->seconds)) return EGRAPH_OK;
  best->seconds = seconds;
  best->stages.len = 0;
  return eg_interop_stages_append(&best->stages, c->stages.data, c->stages.len);
}

/// Tries every t as the longest stage time, except a t that a larger one within epsilon
/// covers. Stops when micro-batches * t alone is at least the best result.
static egraph_status try_all(chooser *c, eg_interop_choice *out) {
  double tried = -INFINITY;
  for (size_t i = 0; i < c->longest.len; i++) {
    double longest = c->longest.data[i];
    bool is_last = i + 1 == c->longest.len;
    if (c->of->micro_batches * longest >= out->seconds) break;
    bool is_covered = !is_last && (c->longest.data[i + 1] == longest ||
                                   c->longest.data[i + 1] - tried < c->of->epsilon);
    if (is_covered) continue;
    EG_TRY(try_longest(c, longest, out));
    tried = longest;
  }
  return EGRAPH_OK;
}

egraph_status eg_interop_choose(const eg_interop_problem *problem, egraph_allocator alloc,
                                eg_interop_choice *out) {
  assert(problem->layers != 0 && problem->shape_count != 0);
  EG_LOCAL(chooser, c, alloc);
  c.of = problem;
  size_t states = stage_state(&c, problem->layers + 1, 0, 0);
  EG_TRY(list_longest(&c));
  EG_TRY(eg_doubles_resize(&c.sum, states));
  EG_TRY(eg_u32s_resize(&c.choice, states));
  return try_all(&c, out);
}
