// SPDX-License-Identifier: Apache-2.0
#include "optimize/price/host_reaches.h"

#include <math.h>
#include <string.h>

#include "sim/profile_db.h"
#include "sim/reach_fit.h"

// Smaller operators take the overhead of a kernel, and its noise.
static const double LEAST_SECONDS = 1e-5;

typedef struct reader {
  eg_reach_samples samples;
  const eg_host_figures *figures;
} reader;
EG_OWNER_DEFINE_STATIC(reader, (eg_reach_samples, samples))

/// Reads the type of operand 0 from the text of a node:
/// "matmul :transA 1 (weight:float32[2,3] ...".
static bool find_dtype(const char *spec, egraph_dtype *out) {
  char name[16] = "";
  const char *type = strstr(spec, " (");
  if (type == NULL) return false;
  type += 2;
  size_t mark = strcspn(type, ":[");
  if (type[mark] == ':') type += mark + 1; // weight:
  size_t len = strcspn(type, "[");
  if (len >= sizeof name) return false;
  memcpy(name, type, len);
  return eg_dtype_find(name, out);
}

static egraph_status note_operator(void *user, const eg_profile_entry *entry) {
  reader *r = user;
  eg_op op;
  egraph_dtype dtype;
  bool is_timed = isfinite(entry->seconds) && entry->seconds >= LEAST_SECONDS;
  if (!is_timed || entry->formatted || !eg_op_find(entry->op, &op) ||
      !find_dtype(entry->spec, &dtype))
    return EGRAPH_OK;
  uint32_t kind = (uint32_t)eg_reach_kind_of(op);
  double move = entry->bytes / r->figures->bandwidth_bytes;
  bool computes = kind != EG_REACH_KINDS && entry->flops / r->figures->peak_flops > move;
  eg_reach_sample sample = {.kind = computes ? kind : EG_REACH_BYTES,
                            .dtype = computes ? (uint32_t)dtype : EGRAPH_DTYPE_COUNT,
                            .work = computes ? entry->flops : entry->bytes,
                            .seconds = fmax(entry->seconds - r->figures->overhead_seconds,
                                            entry->seconds / 10)};
  return sample.work > 0 ? eg_reach_samples_push(&r->samples, sample) : EGRAPH_OK;
}

static egraph_status load(reader *r, const eg_host_costs *host) {
  const eg_profile_db_options options = {
      .path = host->database, .read_only = true, .busy_seconds = 5};
  EG_HELD(eg_profile_db, db);
  EG_TRY(eg_profile_db_create(&r->samples.alloc, &options, &db));
  EG_TRY(eg_profile_db_load(db, host->profile, note_operator, r));
  if (r->samples.len == 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "%s has no operator of this host (%s) that takes %g us or more; run "
                   "egraph profile MODEL --db %s first",
                   host->database, host->profile, LEAST_SECONDS * 1e6, host->database);
  return EGRAPH_OK;
}

static egraph_status print_curve(eg_text *text, const eg_reach *reach) {
  if (reach->point_count == 0) return EGRAPH_OK;
  eg_text_printf(text, "(efficiency %s", eg_reach_kind_name(reach->kind));
  if (reach->dtype < EGRAPH_DTYPE_COUNT)
    eg_text_printf(text, " %s", eg_dtype_name((egraph_dtype)reach->dtype));
  for (uint32_t p = 0; p < reach->point_count; p++)
    eg_text_printf(text, " (%.4g %.4g)", reach->points[p].work, reach->points[p].share);
  return eg_text_append(text, "\n  (measured \"operators of a profile database\"))\n");
}

egraph_status eg_host_reaches_print(egraph_allocator alloc, const eg_host_costs *host,
                                    eg_host_figures *inout_figures, eg_text *text) {
  double flops, bytes;
  EG_LOCAL_WITH(reader, r, alloc, .figures = inout_figures);
  EG_TRY(load(&r, host));
  EG_TRY(eg_reach_fastest(&r.samples, false, &flops));
  EG_TRY(eg_reach_fastest(&r.samples, true, &bytes));
  inout_figures->peak_flops = fmax(inout_figures->peak_flops, flops);
  inout_figures->bandwidth_bytes = fmax(inout_figures->bandwidth_bytes, bytes);
  for (uint32_t kind = 0; kind < EG_REACH_KINDS; kind++)
    for (uint32_t dtype = 0; dtype <= EGRAPH_DTYPE_COUNT; dtype++) {
      eg_reach curve;
      double peak = kind == EG_REACH_BYTES ? inout_figures->bandwidth_bytes
                                           : inout_figures->peak_flops;
      EG_TRY(eg_reach_fit(&r.samples, kind, dtype, peak, &curve));
      EG_TRY(print_curve(text, &curve));
    }
  return EGRAPH_OK;
}
