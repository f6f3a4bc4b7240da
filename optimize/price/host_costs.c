// SPDX-License-Identifier: Apache-2.0
#include "optimize/price/host_costs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/profile_db.h"

// ---- entries ------------------------------------------------------------------------

// Database keys: (exchange all-reduce :devices 2 :bytes 4096 :ranks 4 :channel local)
enum { KEY_BYTES = 128, WORD_BYTES = 32 };

static void print_key(char out[KEY_BYTES], const eg_exchange_point *point,
                      const char *channel, uint32_t ranks) {
  (void)snprintf(
      out, KEY_BYTES,
      "(exchange %s :devices %" PRIu32 " :bytes %.0f :ranks %" PRIu32 " :channel %s)",
      eg_exchange_name(point->exchange), point->devices, point->bytes, ranks, channel);
}

static void print_beside_key(char out[KEY_BYTES], const char *channel, uint32_t ranks) {
  (void)snprintf(out, KEY_BYTES, "(beside :ranks %" PRIu32 " :channel %s)", ranks,
                 channel);
}

static bool find_exchange(const char *name, uint32_t *out) {
  for (*out = 0; *out < EG_EXCHANGES; ++*out)
    if (eg_exchange_is_remote(*out) && strcmp(name, eg_exchange_name(*out)) == 0)
      return true;
  return false;
}

typedef struct reading {
  const char *channel;
  uint32_t ranks;
  eg_exchange_points points;
  int64_t oldest;
  double beside;
} reading;
EG_OWNER_DEFINE_STATIC(reading, (eg_exchange_points, points))

/// Reads a database entry; skips entries that are no exchanges of this host.
static egraph_status read_entry(void *user, const eg_profile_entry *entry) {
  reading *r = user;
  char name[WORD_BYTES], key[KEY_BYTES];
  eg_exchange_point point = {.seconds = entry->seconds,
                             .spread = entry->evidence.spread,
                             .samples = entry->evidence.samples};
  print_beside_key(key, r->channel, r->ranks);
  if (strcmp(entry->spec, key) == 0) r->beside = entry->seconds;
  if (strcmp(entry->op, "message") != 0 ||
      sscanf(entry->spec, "(exchange %31s :devices %" SCNu32 " :bytes %lf ", name,
             &point.devices, &point.bytes) != 3 ||
      !find_exchange(name, &point.exchange) || point.devices < 2)
    return EGRAPH_OK;
  print_key(key, &point, r->channel, r->ranks);
  if (strcmp(entry->spec, key) != 0) return EGRAPH_OK; // an entry of another channel
  if (r->oldest == 0 || entry->evidence.date < r->oldest)
    r->oldest = entry->evidence.date;
  return eg_exchange_points_push(&r->points, point);
}

// ---- curves -------------------------------------------------------------------------

static int by_curve_and_bytes(const void *a, const void *b) {
  const eg_exchange_point *x = a, *y = b;
  if (x->devices != y->devices) return x->devices < y->devices ? -1 : 1;
  if (x->exchange != y->exchange) return x->exchange < y->exchange ? -1 : 1;
  return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static egraph_status fit_curves(eg_host_exchanges *out, eg_exchange_points *points) {
  eg_exchange_point *p = points->data;
  if (points->len != 0) qsort(p, points->len, sizeof *p, by_curve_and_bytes);
  for (size_t first = 0, end; first < points->len; first = end) {
    eg_fitted_exchange fitted = {
        .curve = {.exchange = p[first].exchange, .devices = p[first].devices}};
    for (end = first + 1; end < points->len && p[end].exchange == p[first].exchange &&
                          p[end].devices == p[first].devices;)
      end++;
    eg_link_fit(p + first, end - first, &fitted.curve, fitted.errors);
    EG_TRY(eg_fitted_exchanges_push(&out->curves, fitted));
  }
  return EGRAPH_OK;
}

egraph_status eg_host_exchanges_load(eg_host_exchanges *out, egraph_allocator alloc,
                                     const eg_host_costs *host, const char *channel,
                                     uint32_t ranks) {
  const eg_profile_db_options options = {
      .path = host->database, .read_only = host->read_only, .busy_seconds = 5};
  EG_HELD(eg_profile_db, db);
  EG_LOCAL_WITH(reading, r, alloc, .channel = channel, .ranks = ranks);
  if (host->database == NULL) return EGRAPH_OK;
  EG_TRY(eg_profile_db_create(&alloc, &options, &db));
  EG_TRY(eg_profile_db_load(db, host->profile, read_entry, &r));
  EG_TRY(fit_curves(out, &r.points));
  out->oldest = r.oldest;
  out->beside = r.beside;
  return EGRAPH_OK;
}

egraph_status eg_host_exchanges_store(egraph_allocator alloc, const eg_host_costs *host,
                                      const char *channel, uint32_t ranks,
                                      const eg_exchange_points *points, double beside) {
  const eg_profile_db_options options = {.path = host->database, .busy_seconds = 5};
  EG_LOCAL(eg_arena, arena, alloc);
  EG_HELD(eg_profile_db, db);
  char(*keys)[KEY_BYTES];
  eg_profile_entry *entries;
  if (host->database == NULL || host->read_only)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "no database that may be written to; give one with --db, without "
                   "--read-only");
  size_t count = points->len + (beside > 0); // the point for computing comes last
  EG_NEW(&arena, count, keys);
  EG_NEW(&arena, count, entries);
  EG_TRY(eg_profile_db_create(&alloc, &options, &db));
  for (size_t i = 0; i < points->len; i++) {
    const eg_exchange_point *point = &points->data[i];
    print_key(keys[i], point, channel, ranks);
    entries[i] = (eg_profile_entry){.spec = keys[i],
                                    .op = "message",
                                    .bytes = point->bytes,
                                    .seconds = point->seconds,
                                    .evidence = {.samples = point->samples,
                                                 .spread = point->spread,
                                                 .date = (int64_t)time(NULL)}};
  }
  if (beside > 0) {
    print_beside_key(keys[count - 1], channel, ranks);
    entries[count - 1] = (eg_profile_entry){.spec = keys[count - 1],
                                            .op = "message",
                                            .seconds = beside,
                                            .evidence = {.date = (int64_t)time(NULL)}};
  }
  return eg_profile_db_store(db, host->profile, entries, (uint32_t)count, true);
}

egraph_status eg_host_exchanges_print(const eg_host_exchanges *exchanges,
                                      const char *link, eg_text *text) {
  for (size_t i = 0; i < exchanges->curves.len; i++) {
    const eg_link_curve *curve = &exchanges->curves.data[i].curve;
    EG_TRY(eg_text_printf(text, "(exchange %s %s %" PRIu32, link,
                          eg_exchange_name(curve->exchange), curve->devices));
    for (uint32_t c = 0; c < curve->class_count; c++)
      EG_TRY(eg_text_printf(text, " (%.9g %.9g %.9g)", curve->classes[c].most_bytes,
                            curve->classes[c].latency_seconds,
                            curve->classes[c].seconds_per_byte));
    EG_TRY(eg_text_append(text, ")\n"));
  }
  return EGRAPH_OK;
}
