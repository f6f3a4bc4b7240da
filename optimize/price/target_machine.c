// The profile database has costs of messages as entries of the pseudo-operator "message",
// which cost models skip. The entries name how ranks wait for a message, because the time
// depends on it.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/price/target_machine.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "optimize/price/host_costs.h"
#include "optimize/price/plan_price.h"
#include "pcg/plan/plan_cost.h"
#include "sim/profile_db.h"

// Messages are measured between at most this many ranks.
enum { MAX_PROBED_RANKS = 16 };
// Operators with larger estimates (seconds of a run, bytes of tensors) are not measured.
static const double MOST_SECONDS = 0.5, MOST_BYTES = 1 << 30;
static const double PRICING_SECONDS = 30.0; // time for measuring while a plan is priced

// ---- messages of this host -----------------------------------------------------------

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

static egraph_status measure_messages(const eg_host_costs *host, egraph_allocator alloc,
                                      eg_profile_db *db, uint32_t ranks,
                                      message_figures *m) {
  eg_profile_entry entries[FIGURES];
  EG_TRY(
      host->meter.messages(&alloc, ranks, &m->seconds[LATENCY], &m->seconds[PER_BYTE]));
  if (host->read_only) return EGRAPH_OK;
  for (int f = 0; f < FIGURES; f++)
    entries[f] =
        (eg_profile_entry){.spec = m->text[f], .op = "message", .seconds = m->seconds[f]};
  EG_TRY(eg_profile_db_store(db, host->profile, entries, FIGURES, false));
  for (int f = 0; f < FIGURES; f++)
    m->seconds[f] = entries[f].seconds;
  return EGRAPH_OK;
}

static egraph_status find_messages(const eg_host_costs *host, egraph_allocator alloc,
                                   uint32_t ranks, eg_host_figures *figures) {
  const eg_profile_db_options options = {
      .path = host->database, .read_only = host->read_only, .busy_seconds = 5};
  message_figures m = {.is_known = {false}};
  EG_HELD(eg_profile_db, db);
  if (ranks < 2) return EGRAPH_OK; // no exchanges
  if (ranks > MAX_PROBED_RANKS) ranks = MAX_PROBED_RANKS;
  for (int f = 0; f < FIGURES; f++)
    (void)snprintf(m.text[f], sizeof m.text[f],
                   "(message %s :ranks %" PRIu32 " :waits lending)", figure_names[f],
                   ranks);
  EG_TRY(eg_profile_db_create(&alloc, &options, &db));
  EG_TRY(eg_profile_db_load(db, host->profile, note_figure, &m));
  if (!(m.is_known[LATENCY] && m.is_known[PER_BYTE]))
    EG_TRY(measure_messages(host, alloc, db, ranks, &m));
  figures->latency_seconds = m.seconds[LATENCY];
  if (m.seconds[PER_BYTE] > 0) figures->link_bytes = 1 / m.seconds[PER_BYTE];
  return EGRAPH_OK;
}

// ---- this host ----------------------------------------------------------------------

static egraph_status probe_operator(void *self, const eg_node_spec *spec, double estimate,
                                    double *out_seconds, eg_evidence *out_evidence,
                                    bool *out_done) {
  eg_target_machine *target = self;
  const eg_measurer *measurer = &target->host->meter.operators;
  bool is_supported = true;
  if (estimate > MOST_SECONDS || eg_node_spec_bytes(spec) > MOST_BYTES ||
      (target->stop != NULL && target->stop(target->user)))
    return EGRAPH_OK;
  EG_TRY(
      measurer->measure(measurer->self, spec, out_seconds, &is_supported, out_evidence));
  if (!is_supported) *out_seconds = (double)INFINITY;
  target->measured++;
  *out_done = true;
  return EGRAPH_OK;
}

/// Prints the machine file of this host: its figures, then the measured exchanges.
static egraph_status print_host(eg_text *text, egraph_allocator alloc,
                                const eg_host_costs *costs, const char *name,
                                uint32_t ranks) {
  eg_host_figures figures = eg_host_figures_assumed;
  figures.has_device = costs->meter.has_device;
  figures.device_bytes = costs->meter.device_bytes;
  const char *channel = eg_machine_host_channel(name);
  uint32_t count = ranks != 0 ? ranks : costs->meter.processors;
  EG_LOCAL(eg_host_exchanges, exchanges, alloc);
  EG_TRY(eg_host_exchanges_load(&exchanges, alloc, costs, channel, count));
  bool is_known = exchanges.curves.len != 0;
  if (!is_known && count > 1 && strcmp(channel, "local") != 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "exchanges of '%.64s' are not measured; run mpirun -n %" PRIu32
                   " egraph profile --collectives --channel %s, with the same --db",
                   name, count, channel);
  if (!is_known && costs->may_measure)
    EG_TRY(find_messages(costs, alloc, count, &figures));
  EG_TRY(eg_machine_host_print(text, ranks, &figures));
  return eg_host_exchanges_print(&exchanges, "memory", text);
}

static egraph_status open_host(eg_target_machine *target, egraph_allocator alloc,
                               const eg_host_costs *costs, const char *name,
                               uint32_t ranks) {
  target->costs = costs->model;
  if (costs->may_measure) {
    target->host = costs;
    target->prober = (eg_cost_prober){.probe = probe_operator, .self = target};
    eg_cost_set_prober(costs->model, &target->prober);
  }
  EG_LOCAL(eg_text, text, alloc);
  EG_TRY(print_host(&text, alloc, costs, name, ranks));
  EG_TRY(eg_machine_parse(&alloc, "host", eg_text_of(&text), text.chars.len, 0,
                          &target->machine));
  target->machine.has_assumed_peak = costs->meter.has_device;
  return EGRAPH_OK;
}

// ---- targets ------------------------------------------------------------------------

static egraph_status open_profile(eg_target_machine *target, egraph_allocator alloc,
                                  const eg_host_costs *costs) {
  const eg_cost_options options = {.database = costs->database,
                                   .machine = target->machine.profile,
                                   .read_only = true,
                                   .override_cost = costs->override_cost,
                                   .user = costs->user};
  if (costs->database == NULL && costs->override_cost == NULL) return EGRAPH_OK;
  EG_TRY(eg_cost_model_create(&alloc, &options, &target->own));
  target->costs = target->own;
  return EGRAPH_OK;
}

egraph_status eg_target_machine_open(eg_target_machine *target, egraph_allocator alloc,
                                     const egraph_target *options,
                                     const eg_host_costs *costs) {
  const char *name = options->machine != NULL ? options->machine : "host";
  uint32_t ranks;
  if (costs != NULL && options->machine_text == NULL && eg_machine_is_host(name, &ranks))
    return open_host(target, alloc, costs, name, ranks);
  EG_TRY(options->machine_text != NULL
             ? eg_machine_parse(&alloc, name, options->machine_text,
                                strlen(options->machine_text), 0, &target->machine)
             : eg_machine_load(&alloc, name, &target->machine));
  if (options->machine_text != NULL && eg_machine_asks_reached(name))
    EG_TRY(eg_machine_use_reached(&target->machine));
  if (costs == NULL) return EGRAPH_OK;
  if (strcmp(target->machine.profile, "host") != 0)
    return open_profile(target, alloc, costs);
  target->costs = costs->model;
  return EGRAPH_OK;
}

void eg_target_machine_close(eg_target_machine *target) {
  eg_cost_model_destroy(target->own);
  if (target->host != NULL) eg_cost_set_prober(target->host->model, NULL);
  target->host = NULL;
  eg_machine_deinit(&target->machine);
}

// ---- a plan -------------------------------------------------------------------------

static bool is_past(void *user) { return eg_clock_seconds() > *(double *)user; }

static egraph_status price_steps(eg_plan *plan, egraph_allocator alloc,
                                 const eg_target_machine *target) {
  eg_machine_mesh mesh;
  EG_TRY(eg_machine_find_mesh(&target->machine, &plan->mesh, &mesh));
  eg_machine_costs costs = {.mesh = &mesh};
  EG_TRY(eg_device_cost_init(&costs.device, &target->machine, target->costs));
  eg_plan_costs asked = eg_machine_plan_costs(&costs);
  return eg_plan_price(plan, alloc, &asked);
}

egraph_status eg_target_price_plan(eg_plan *plan, egraph_allocator alloc,
                                   const egraph_target *options,
                                   const eg_host_costs *costs, double *out_memory_bytes) {
  eg_plan_step *before;
  double until = eg_clock_seconds() + PRICING_SECONDS;
  size_t steps = plan->steps.len;
  eg_target_machine target = {.stop = is_past, .user = &until};
  EG_TRY(eg_alloc(alloc, steps, sizeof *before, &before));
  if (steps != 0) memcpy(before, plan->steps.data, steps * sizeof *before);
  egraph_status status = eg_target_machine_open(&target, alloc, options, costs);
  if (status == EGRAPH_OK) status = price_steps(plan, alloc, &target);
  if (status == EGRAPH_OK) status = eg_plan_find_peak(plan, alloc, &target.machine);
  if (status == EGRAPH_OK) *out_memory_bytes = target.machine.memory_bytes;
  if (status != EGRAPH_OK && steps != 0)
    memcpy(plan->steps.data, before, steps * sizeof *before);
  eg_target_machine_close(&target);
  eg_free(alloc, before, steps, sizeof *before);
  return status;
}

// ---- figures of this host -------------------------------------------------------------

/// Test graphs to measure a host: limited by computing, by memory, and by neither.
static const char *const WORKS[] = {
    "(egraph-graph 1)(input a \"float32[512,512]\")(input b \"float32[512,512]\")"
    "(let y (matmul a b))(output y)",
    "(egraph-graph 1)(input a \"float32[16777216]\")(input b \"float32[16777216]\")"
    "(let y (add a b))(output y)",
    "(egraph-graph 1)(input a \"float32[16]\")(let y (relu a))(output y)"};
enum { COMPUTE, MOVE, SMALL, WORK_COUNT };

typedef struct worked {
  double seconds, flops, bytes;
} worked;

static egraph_status time_work(egraph_allocator alloc, const eg_measurer *measurer,
                               const char *work, worked *out) {
  EG_HELD(eg_graph, graph);
  EG_LOCAL(eg_arena, arena, alloc);
  eg_node_spec spec;
  eg_evidence evidence;
  bool is_supported = true;
  EG_TRY(eg_graph_parse(&alloc, "work", work, strlen(work), &graph));
  const eg_plan plan = {.graph = graph}; // for the spec of a node
  const eg_plan_step first = {.node = {0}};
  EG_TRY(eg_plan_spec(&plan, &first, &arena, &spec));
  EG_TRY(
      measurer->measure(measurer->self, &spec, &out->seconds, &is_supported, &evidence));
  out->flops = eg_node_spec_flops(&spec);
  out->bytes = eg_node_spec_bytes(&spec);
  return EGRAPH_OK;
}

egraph_status eg_host_measure(egraph_allocator alloc, const eg_host_meter *meter,
                              uint32_t ranks, eg_host_figures *out) {
  worked works[WORK_COUNT];
  double per_byte;
  *out = eg_host_figures_assumed;
  for (int w = 0; w < WORK_COUNT; w++)
    EG_TRY(time_work(alloc, &meter->operators, WORKS[w], &works[w]));
  out->peak_flops = works[COMPUTE].flops / works[COMPUTE].seconds;
  out->bandwidth_bytes = works[MOVE].bytes / works[MOVE].seconds;
  out->overhead_seconds = works[SMALL].seconds;
  if (ranks < 2) return EGRAPH_OK; // no exchanges: as assumed
  EG_TRY(meter->messages(&alloc, ranks, &out->latency_seconds, &per_byte));
  if (per_byte > 0) out->link_bytes = 1 / per_byte;
  return EGRAPH_OK;
}
