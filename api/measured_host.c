// What messages cost stands in the database as entries of an operator that is none,
// "message", which cost models pass over. They say how ranks wait: another way costs
// another time.
// SPDX-License-Identifier: Apache-2.0
#include "api/measured_host.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "exec/channel_probe.h"
#include "exec/host_memory.h"
#include "pcg/parallel/machine.h"
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
  EG_TRY(eg_local_probe(&host->costs->alloc, ranks, &link));
  m->seconds[LATENCY] = link.latency_seconds;
  m->seconds[PER_BYTE] = link.seconds_per_byte;
  for (int f = 0; f < FIGURES; f++)
    entries[f] =
        (eg_profile_entry){.spec = m->text[f], .op = "message", .seconds = m->seconds[f]};
  if (host->costs->options.read_only) return EGRAPH_OK;
  EG_TRY(eg_profile_db_store(db, eg_text_of(&host->costs->machine), entries, FIGURES,
                             false));
  for (int f = 0; f < FIGURES; f++)
    m->seconds[f] = entries[f].seconds;
  return EGRAPH_OK;
}

static egraph_status find_messages(const eg_measured_host *host, eg_profile_db *db,
                                   uint32_t ranks, eg_host_figures *figures) {
  message_figures m = {.is_known = {false}};
  for (int f = 0; f < FIGURES; f++)
    (void)snprintf(m.text[f], sizeof m.text[f],
                   "(message %s :ranks %" PRIu32 " :waits lending)", figure_names[f],
                   ranks);
  EG_TRY(eg_profile_db_load(db, eg_text_of(&host->costs->machine), note_figure, &m));
  if (!m.is_known[LATENCY] || !m.is_known[PER_BYTE])
    EG_TRY(measure_messages(host, db, ranks, &m));
  figures->latency_seconds = m.seconds[LATENCY];
  if (m.seconds[PER_BYTE] > 0) figures->link_bytes = 1 / m.seconds[PER_BYTE];
  return EGRAPH_OK;
}

static egraph_status look_up_messages(const eg_measured_host *host, uint32_t ranks,
                                      eg_host_figures *figures) {
  const egraph_costs_options *o = &host->costs->options;
  const eg_profile_db_options options = {
      .path = o->database, .read_only = o->read_only, .busy_seconds = 5};
  eg_profile_db *db;
  if (ranks < 2) return EGRAPH_OK; // nobody to talk to
  EG_TRY(eg_profile_db_create(&host->costs->alloc, &options, &db));
  egraph_status status = find_messages(
      host, db, ranks < MAX_PROBED_RANKS ? ranks : MAX_PROBED_RANKS, figures);
  eg_profile_db_destroy(db);
  return status;
}

static egraph_status make_machine(const eg_measured_host *host, uint32_t ranks,
                                  const eg_host_figures *figures, eg_machine *out) {
  eg_text text;
  eg_text_init(&text, host->costs->alloc);
  egraph_status status = eg_machine_host_print(&text, ranks, figures);
  if (status == EGRAPH_OK)
    status = eg_machine_parse(&host->costs->alloc, "host", eg_text_of(&text),
                              text.chars.len, 0, out);
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
  EG_TRY(eg_profiler_measure(host->costs->profiler, spec, out_seconds, &is_supported,
                             out_evidence));
  if (!is_supported) *out_seconds = (double)INFINITY;
  host->measured++;
  *out_done = true;
  return EGRAPH_OK;
}

// ---- all ----------------------------------------------------------------------------

egraph_status eg_measured_host_open(eg_measured_host *host, egraph_costs *costs,
                                    uint32_t ranks, eg_machine *out_machine) {
  eg_host_figures figures = eg_host_figures_assumed;
  host->costs = costs;
  host->prober = (eg_cost_prober){.probe = probe, .self = host};
  eg_cost_set_prober(costs->model, &host->prober);
  EG_TRY(look_up_messages(host, ranks != 0 ? ranks : eg_host_processors(), &figures));
  return make_machine(host, ranks, &figures, out_machine);
}

void eg_measured_host_close(eg_measured_host *host) {
  if (host->costs != NULL) eg_cost_set_prober(host->costs->model, NULL);
  host->costs = NULL;
}
