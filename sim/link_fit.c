// SPDX-License-Identifier: Apache-2.0
#include "sim/link_fit.h"

#include <math.h>

enum { CLASSES = 4 };
static const struct {
  const char *name;
  double least_bytes, most_bytes;
} classes[CLASSES] = {{"small", 0, 16384},
                      {"medium", 16384, 1048576},
                      {"large", 1048576, 4194304},
                      {"huge", 4194304, 1e30}};
static const double LEAST_SECONDS = 1e-7;

const char *eg_size_class_name(uint32_t index) {
  assert(index < CLASSES);
  return classes[index].name;
}

static double positive_seconds(const eg_exchange_point *point) {
  return fmax(point->seconds, LEAST_SECONDS);
}

/// Fits least squares of (latency + bytes * per_byte) / seconds - 1, that is, with u = 1
/// / seconds and v = bytes / seconds, of latency * u + per_byte * v - 1. The slope is
/// never negative; nor is the intercept, except for sizes beyond the caches (`is_far`),
/// where seconds grow faster than bytes.
static void fit_class(const eg_exchange_point *points, size_t count, bool is_far,
                      eg_size_class *out) {
  double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
  for (size_t i = 0; i < count; i++) {
    double u = 1 / positive_seconds(&points[i]), v = points[i].bytes * u;
    uu += u * u;
    uv += u * v;
    vv += v * v;
    u1 += u;
    v1 += v;
  }
  double determinant = uu * vv - uv * uv;
  bool is_line = count > 1 && determinant > 1e-12 * uu * vv;
  double latency = is_line ? (u1 * vv - v1 * uv) / determinant : u1 / uu;
  double per_byte = is_line ? (v1 * uu - u1 * uv) / determinant : 0;
  if (latency < 0 && !is_far) {
    latency = 0;
    per_byte = v1 / vv;
  } else if (per_byte < 0) {
    latency = u1 / uu;
    per_byte = 0;
  }
  out->latency_seconds = latency;
  out->seconds_per_byte = per_byte;
}

static eg_fit_error error_of(const eg_exchange_point *points, size_t count,
                             const eg_size_class *fitted) {
  eg_fit_error error = {.points = (uint32_t)count};
  for (size_t i = 0; i < count; i++) {
    double is = fitted->latency_seconds + points[i].bytes * fitted->seconds_per_byte;
    double off = fabs(is / positive_seconds(&points[i]) - 1);
    error.mean += off / (double)count;
    if (off > error.worst) error.worst = off;
  }
  return error;
}

void eg_link_fit(const eg_exchange_point *points, size_t count, eg_link_curve *inout,
                 eg_fit_error out_errors[EG_SIZE_CLASSES]) {
  assert(count != 0);
  inout->class_count = CLASSES;
  uint32_t known = CLASSES;
  for (uint32_t c = 0; c < CLASSES; c++) {
    eg_size_class *made = &inout->classes[c];
    size_t first = 0, end = 0;
    while (first < count && points[first].bytes < classes[c].least_bytes)
      first++;
    for (end = first; end < count && points[end].bytes <= classes[c].most_bytes;)
      end++;
    *made = (eg_size_class){.most_bytes = classes[c].most_bytes};
    out_errors[c] = (eg_fit_error){0};
    if (first == end) continue;
    fit_class(points + first, end - first, c != 0, made);
    out_errors[c] = error_of(points + first, end - first, made);
    if (known == CLASSES) known = c;
  }
  for (uint32_t c = 0; c < CLASSES; c++) {
    if (out_errors[c].points != 0) {
      known = c;
      continue;
    }
    double most = inout->classes[c].most_bytes;
    inout->classes[c] = inout->classes[known];
    inout->classes[c].most_bytes = most;
  }
}
