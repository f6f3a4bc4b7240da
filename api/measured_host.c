// What messages cost stands in the database as entries of an operator that is none,
// "message", which cost models pass over.
// SPDX-License-Identifier: Apache-2.0
#include "api/measured_host.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "exec/channel_probe.h"
#include "exec/host_memory.h"
#include "pcg/machine_host.h"
#include "sim/profile_db.h"

// More ranks are taken to be like so many.
enum { MAX_PROBED_RANKS = 16 };
// Of operators that are measured, as estimated.
static const double MOST_SECONDS = 0.5, MOST_BYTES = 1 << 30;

// ---- messages -----------------------------------------------------------------------

enum { LATENCY, PER_BYTE, FIGURES };
static const char *const figure_names[FIGURES] = {"latency", "per-byte"};

typedef struct message_figures {
  char text[FIGURES][64];
  double seconds[FIGURES];
  bool is_known[FIGURES];
} message_figures;

static egraph_status note_figure(void *user, const eg_profile_entry *stored) {
  message_figures *m = user;
  for (int f = 0; f < FIGURES; f++)
    if (strcmp(stored->spec, m->text[f]) == 0) {
      m->seconds[f] = stored->seconds;
      m->is_known[f] = true;
    }
  return EGRAPH_OK;
}

static egraph_status measure_messages(const eg_measured_host *host, eg_profile_db *db,
                                      uint32_t ranks, message_figures *m) {
  eg_link_figures link;
  eg_profile_entry entries[FIGURES];
  EG_TRY(eg_local_probe(&host->alloc, ranks, &link));
  m->seconds[LATENCY] = link.latency_seconds;
  m->seconds[PER_BYTE] = link.seconds_per_byte;
  for (int f = 0; f < FIGURES; f++)
    entries[f] =
        (eg_profile_entry){.spec = m->text[f], .op = "message", .seconds = m->seconds[f]};
  EG_TRY(
      eg_profile_db_store(db, eg_text_of(&host->fingerprint), entries, FIGURES, false));
  for (int f = 0; f < FIGURES; f++)
    m->seconds[f] = entries[f].seconds;
  return EGRAPH_OK;
}

static egraph_status find_messages(const eg_measured_host *host, eg_profile_db *db,
                                   uint32_t ranks, eg_host_figures *figures) {
  message_figures m = {.is_known = {false}};
  for (int f = 0; f < FIGURES; f++)
    (void)snprintf(m.text[f], sizeof m.text[f], "(message %s :ranks %" PRIu32 ")",
                   figure_names[f], ranks);
  EG_TRY(eg_profile_db_load(db, eg_text_of(&host->fingerprint), note_figure, &m));
  if (!m.is_known[LATENCY] || !m.is_known[PER_BYTE])
    EG_TRY(measure_messages(host, db, ranks, &m));
  figures->latency_seconds = m.seconds[LATENCY];
  if (m.seconds[PER_BYTE] > 0) figures->link_bytes = 1 / m.seconds[PER_BYTE];
  return EGRAPH_OK;
}

static egraph_status look_up_messages(const eg_measured_host *host, const char *database,
                                      uint32_t ranks, eg_host_figures *figures) {
  const eg_profile_db_options options = {.path = database, .busy_seconds = 5};
  eg_profile_db *db;
  if (ranks < 2) return EGRAPH_OK; // nobody to talk to
  EG_TRY(eg_profile_db_create(&host->alloc, &options, &db));
  egraph_status status = find_messages(
      host, db, ranks < MAX_PROBED_RANKS ? ranks : MAX_PROBED_RANKS, figures);
  eg_profile_db_destroy(db);
  return status;
}

static egraph_status make_machine(const eg_measured_host *host, uint32_t ranks,
                                  const eg_host_figures *figures, eg_machine *out) {
  eg_text text;
  eg_text_init(&text, host->alloc);
  egraph_status status = eg_machine_host_print(&text, ranks, figures);
  if (status == EGRAPH_OK)
    status =
        eg_machine_parse(&host->alloc, "host", eg_text_of(&text), text.chars.len, 0, out);
  eg_text_deinit(&text);
  return status;
}

// ---- operators ----------------------------------------------------------------------

static egraph_status probe(void *self, const eg_node_spec *spec, double estimate,
                           double *out_seconds, eg_evidence *out_evidence,
                           bool *out_done) {
  eg_measured_host *host = self;
  bool is_supported = true;
  if (estimate > MOST_SECONDS || eg_node_spec_bytes(spec) > MOST_BYTES ||
      (host->stop != NULL && host->stop(host->user)))
    return EGRAPH_OK;
  EG_TRY(eg_profiler_measure(host->profiler, spec, out_seconds, &is_supported,
                             out_evidence));
  if (!is_supported) *out_seconds = (double)INFINITY;
  host->measured++;
  *out_done = true;
  return EGRAPH_OK;
}

// ---- all ----------------------------------------------------------------------------

static egraph_status open_profiler(eg_measured_host *host) {
  const eg_profiler_options options = EG_PROFILER_OPTIONS_DEFAULT;
  EG_TRY(eg_profiler_create(&host->alloc, &options, &host->profiler));
  return eg_profiler_machine(host->profiler, &host->fingerprint);
}

egraph_status eg_measured_host_open(eg_measured_host *host, egraph_allocator alloc,
                                    const char *database, uint32_t ranks,
                                    eg_machine *out_machine, eg_cost_model **out_costs) {
  eg_host_figures figures = eg_host_figures_assumed;
  host->alloc = alloc;
  host->prober = (eg_cost_prober){.probe = probe, .self = host};
  eg_text_init(&host->fingerprint, alloc);
  EG_TRY(open_profiler(host));
  EG_TRY(look_up_messages(host, database, ranks != 0 ? ranks : eg_host_processors(),
                          &figures));
  const eg_cost_options options = {.database = database,
                                   .machine = eg_text_of(&host->fingerprint),
                                   .prober = &host->prober,
                                   .formats = eg_profiler_formats(host->profiler)};
  EG_TRY(eg_cost_model_create(&alloc, &options, out_costs));
  return make_machine(host, ranks, &figures, out_machine);
}

void eg_measured_host_close(eg_measured_host *host) {
  eg_profiler_destroy(host->profiler);
  host->profiler = NULL;
  eg_text_deinit(&host->fingerprint);
}
