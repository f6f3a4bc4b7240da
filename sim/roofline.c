// Peak and bandwidth are those that the best tenth of the measured nodes reach; the
// overhead is the time of the cheapest tenth beyond that roof. The ratio of an operator
// to the roof is the median over its own measurements or, while these are fewer than FEW,
// over wider groups: the operator's family, the operator in any format, the family in any
// format, all nodes. Medians are used because one descheduled measurement may be wrong by
// any factor.
// SPDX-License-Identifier: Apache-2.0
#include "sim/roofline.h"

#include <assert.h>

#include "base/quantile.h"

enum { FEW = 3 };

// The figures without measurements: one core of a desktop CPU on float32.
static const double default_peak = 4e10, default_bandwidth = 1e10,
                    default_overhead = 1e-6;
// Nodes with fewer operations or bytes do not show peak and bandwidth.
static const double small_flops = 1e5, small_bytes = 1e5;

static const char *const family_names[] = {
#define EG_OP(ID, name, onnx, min, max, results, family, ...) #family,
#include "ops/op_table.def"
};

typedef struct fit {
  eg_roofline roofline;
  const eg_roofline_point *points;
  size_t count;
  double *scratch; // [count]
  int family[EG_OP_COUNT];
} fit;

/// Numbers each family of operators by its first operator.
static void number_families(int family[EG_OP_COUNT]) {
  for (int op = 0; op < EG_OP_COUNT; op++) {
    family[op] = 0;
    while (strcmp(family_names[family[op]], family_names[op]) != 0)
      family[op]++;
  }
}

static double roof_seconds(const eg_roofline *r, const eg_roofline_point *p) {
  double compute = p->flops / r->peak_flops, move = p->bytes / r->bandwidth_bytes;
  return compute > move ? compute : move;
}

static void fit_roof(fit *f) {
  eg_roofline *r = &f->roofline;
  size_t flops = 0, bytes = 0;
  for (size_t i = 0; i < f->count; i++)
    if (f->points[i].flops >= small_flops && f->points[i].seconds > 0)
      f->scratch[flops++] = f->points[i].flops / f->points[i].seconds;
  if (flops >= FEW) r->peak_flops = eg_quantile(f->scratch, flops, 0.9);
  for (size_t i = 0; i < f->count; i++)
    if (f->points[i].bytes >= small_bytes && f->points[i].seconds > 0)
      f->scratch[bytes++] = f->points[i].bytes / f->points[i].seconds;
  if (bytes >= FEW) r->bandwidth_bytes = eg_quantile(f->scratch, bytes, 0.9);
}

/// Fits the overhead of a node: the median time of the cheapest tenth beyond the
/// roofline. Skips nodes that took no time: they were views on that back-end.
static void fit_overhead(fit *f) {
  eg_roofline *r = &f->roofline;
  size_t timed = 0, used = 0;
  for (size_t i = 0; i < f->count; i++)
    if (f->points[i].seconds > 0) f->scratch[timed++] = f->points[i].seconds;
  if (timed < FEW) return;
  double cheap = eg_quantile(f->scratch, timed, 0.1);
  for (size_t i = 0; i < f->count; i++)
    if (f->points[i].seconds > 0 && f->points[i].seconds <= cheap)
      f->scratch[used++] = f->points[i].seconds - roof_seconds(r, &f->points[i]);
  double beyond = eg_quantile(f->scratch, used, 0.5);
  r->overhead_seconds = beyond < 1e-8 ? 1e-8 : beyond > 1e-4 ? 1e-4 : beyond;
}

// Groups of measured nodes, from those like a node (operator, formatted or not) to all.
typedef enum group {
  GROUP_OP,
  GROUP_FAMILY,
  GROUP_OP_ANY,
  GROUP_FAMILY_ANY,
  GROUP_ALL
} group;

static bool is_in_group(const fit *f, const eg_roofline_point *p, group g, eg_op op,
                        bool formatted) {
  bool family = f->family[p->op] == f->family[op];
  switch (g) {
  case GROUP_OP: return p->op == op && p->formatted == formatted;
  case GROUP_FAMILY: return family && p->formatted == formatted;
  case GROUP_OP_ANY: return p->op == op;
  case GROUP_FAMILY_ANY: return family;
  case GROUP_ALL: return true;
  }
  return false;
}

/// Fits the ratio of measured to modelled seconds, without the overhead, which counts for
/// at most nine tenths of the measured time. Skips nodes far below the overhead: their
/// times would show only its noise.
static double fit_ratio(const fit *f, eg_op op, bool formatted, bool *out_fitted) {
  const eg_roofline *r = &f->roofline;
  for (int g = GROUP_OP; g <= GROUP_ALL; g++) {
    size_t used = 0;
    for (size_t i = 0; i < f->count; i++) {
      const eg_roofline_point *p = &f->points[i];
      if (!is_in_group(f, p, (group)g, op, formatted)) continue;
      double modelled = roof_seconds(r, p), own = p->seconds - r->overhead_seconds;
      if (modelled < r->overhead_seconds / 4) continue;
      f->scratch[used++] = (own < p->seconds / 10 ? p->seconds / 10 : own) / modelled;
    }
    *out_fitted = used >= FEW;
    if (*out_fitted) return eg_quantile(f->scratch, used, 0.5);
  }
  return 1;
}

egraph_status eg_roofline_fit(eg_roofline *out, egraph_allocator alloc,
                              const eg_roofline_point *points, size_t count) {
  fit f = {.points = points,
           .count = count,
           .roofline = {.peak_flops = default_peak,
                        .bandwidth_bytes = default_bandwidth,
                        .overhead_seconds = default_overhead}};
  EG_TRY(eg_alloc(alloc, count, sizeof *f.scratch, &f.scratch));
  number_families(f.family);
  fit_roof(&f);
  fit_overhead(&f);
  for (int op = 0; op < EG_OP_COUNT; op++)
    for (int formatted = 0; formatted < 2; formatted++)
      f.roofline.ratio[op][formatted] = fit_ratio(
          &f, (eg_op)op, formatted != 0, &f.roofline.is_calibrated[op][formatted]);
  eg_free(alloc, f.scratch, count, sizeof *f.scratch);
  *out = f.roofline;
  return EGRAPH_OK;
}

double eg_roofline_estimate(const eg_roofline *roofline, const eg_roofline_point *point) {
  assert((int)point->op < EG_OP_COUNT);
  return roof_seconds(roofline, point) * roofline->ratio[point->op][point->formatted] +
         roofline->overhead_seconds;
}
