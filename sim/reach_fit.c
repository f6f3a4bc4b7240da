// SPDX-License-Identifier: Apache-2.0
#include "sim/reach_fit.h"

#include <math.h>
#include <stdlib.h>

#include "base/owner.h"
#include "base/quantile.h"

static const double ALIKE = 4; // ratio of works of one point, at least

eg_reach_kind eg_reach_kind_of(eg_op op) {
  switch ((int)op) {
  case EG_OP_ATTENTION: return EG_REACH_ATTENTION;
  case EG_OP_ATTENTION_GRAD: return EG_REACH_ATTENTION_GRAD;
  case EG_OP_CONV:
  case EG_OP_CONV_TRANSPOSE:
  case EG_OP_CONV_INTEGER:
  case EG_OP_CONV_GRAD_WEIGHT: return EG_REACH_CONVOLUTION;
  default:
    return (eg_op_info_of(op)->flags & EG_OPF_MULTIPLY_ADD) != 0 ? EG_REACH_PRODUCT
                                                                 : EG_REACH_KINDS;
  }
}

// ---- groups of like work
// ----------------------------------------------------------------

static int compare_samples(const void *a, const void *b) {
  const eg_reach_sample *x = a, *y = b;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  if (x->dtype != y->dtype) return x->dtype < y->dtype ? -1 : 1;
  return (x->work > y->work) - (x->work < y->work);
}

/// A run of sorted samples of one kind and type.
typedef struct span {
  const eg_reach_sample *first;
  size_t count;
} span;

/// Returns the next run of samples of one kind and type, from *inout_at on; none: 0.
static span next_span(const eg_reach_samples *samples, size_t *inout_at) {
  size_t begin = *inout_at, end = begin;
  const eg_reach_sample *all = samples->data;
  while (end < samples->len && all[end].kind == all[begin].kind &&
         all[end].dtype == all[begin].dtype)
    end++;
  *inout_at = end;
  return (span){all + begin, end - begin};
}

/// Fills the points of a span with speeds in place of shares.
static egraph_status fit_speeds(span s, egraph_allocator alloc, eg_reach *out) {
  EG_LOCAL(eg_doubles, speeds, alloc);
  double range = s.first[s.count - 1].work / s.first[0].work;
  double alike = fmax(ALIKE, pow(range, 1.0 / (EG_REACH_POINTS - 1)));
  for (size_t begin = 0, end; begin < s.count; begin = end) {
    speeds.len = 0;
    for (end = begin; end < s.count && s.first[end].work <= alike * s.first[begin].work;
         end++)
      EG_TRY(eg_doubles_push(&speeds, s.first[end].work / s.first[end].seconds));
    out->points[out->point_count++] =
        (eg_reach_point){.work = s.first[begin + (end - begin) / 2].work,
                         .share = eg_median(speeds.data, speeds.len)};
  }
  return EGRAPH_OK;
}

static void sort_samples(eg_reach_samples *samples) {
  if (samples->len != 0)
    qsort(samples->data, samples->len, sizeof *samples->data, compare_samples);
}

egraph_status eg_reach_fastest(eg_reach_samples *samples, bool of_bytes, double *out) {
  *out = 0;
  sort_samples(samples);
  for (size_t at = 0; at < samples->len;) {
    span s = next_span(samples, &at);
    eg_reach curve = {.point_count = 0};
    if ((s.first->kind == EG_REACH_BYTES) != of_bytes) continue;
    EG_TRY(fit_speeds(s, samples->alloc, &curve));
    for (uint32_t p = 0; p < curve.point_count; p++)
      *out = fmax(*out, curve.points[p].share);
  }
  return EGRAPH_OK;
}

egraph_status eg_reach_fit(eg_reach_samples *samples, uint32_t kind, uint32_t dtype,
                           double peak, eg_reach *out) {
  *out = (eg_reach){.kind = kind, .dtype = dtype, .is_measured = true, .where = ""};
  sort_samples(samples);
  for (size_t at = 0; at < samples->len;) {
    span s = next_span(samples, &at);
    if (s.first->kind == kind && s.first->dtype == dtype)
      EG_TRY(fit_speeds(s, samples->alloc, out));
  }
  double least = 0; // seconds of the point before, at a peak of 1 per second
  for (uint32_t p = 0; p < out->point_count; p++) {
    eg_reach_point *point = &out->points[p];
    point->share = fmin(point->share / peak, 1);
    point->share = fmin(point->share, least > 0 ? point->work / least : 1);
    least = point->work / point->share;
  }
  return EGRAPH_OK;
}
