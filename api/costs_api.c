// Public functions of costs. egraph_costs joins the cost model with the profiler that
// feeds it: planning knows the profiler as a table of functions (price/target_machine.h).
// SPDX-License-Identifier: Apache-2.0
#include "api/arguments.h"
#include "api/objects.h"
#include "base/owner.h"
#include "base/text.h"
#include "exec/backend.h"
#include "exec/exchange_probe.h"
#include "optimize/price/host_reaches.h"
#include "optimize/price/predict.h"

EG_HOLDER_DEFINE(egraph_costs)

enum { MAX_PROBED_RANKS = 256 };

/// Calls override_cost of the caller.
static bool override(void *user, const eg_node_spec *spec, double *out) {
  egraph_costs *costs = user;
  EG_LOCAL(eg_text, text, costs->alloc);
  if (eg_node_spec_print(&text, spec) != EGRAPH_OK) return false;
  egraph_cost_query query = {.op = eg_op_info_of((eg_op)spec->attrs->op)->name,
                             .text = eg_text_of(&text),
                             .flops = eg_node_spec_flops(spec),
                             .bytes = eg_node_spec_bytes(spec)};
  return costs->options.override_cost(costs->options.user, &query, out);
}

// Opens model and profiler. Copies the strings of the options, which belong to
// the caller.
static egraph_status open_costs(egraph_costs *costs, const egraph_costs_options *o) {
  eg_profiler_options profiler = EG_PROFILER_OPTIONS_DEFAULT;
  EG_TRY(eg_text_append(&costs->backend,
                        o->backend != NULL ? o->backend : profiler.backend));
  costs->options = *o;
  if (o->database != NULL) {
    EG_TRY(eg_text_append(&costs->database, o->database));
    costs->options.database = eg_text_of(&costs->database);
  }
  costs->options.backend = profiler.backend = eg_text_of(&costs->backend);
  if (o->threads != 0) profiler.threads = o->threads;
  EG_TRY(eg_profiler_create(&costs->alloc, &profiler, &costs->profiler));
  EG_TRY(eg_profiler_machine(costs->profiler, &costs->machine));
  eg_cost_options options = {.database = o->database,
                             .machine = eg_text_of(&costs->machine),
                             .read_only = o->read_only,
                             .again = o->again,
                             .override_cost = o->override_cost != NULL ? override : NULL,
                             .user = costs,
                             .formats = eg_profiler_formats(costs->profiler)};
  return eg_cost_model_create(&costs->alloc, &options, &costs->model);
}

egraph_status egraph_costs_create(const egraph_allocator *alloc,
                                  const egraph_costs_options *options,
                                  egraph_costs **out) {
  EG_REQUIRE(out);
  egraph_costs_options own;
  EG_TRY(eg_options_take(EGRAPH_COSTS_OPTIONS, options, &own));
  EG_HELD(egraph_costs, costs);
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  EG_TRY(eg_alloc(heap, 1, sizeof *costs, &costs));
  *costs = (egraph_costs){.alloc = heap};
  EG_INIT_MEMBERS(costs, heap, (eg_text, backend, machine, database))
  EG_HAND_OVER(open_costs(costs, &own), costs, out);
}

void egraph_costs_destroy(egraph_costs *costs) {
  if (costs == NULL) return;
  eg_cost_model_destroy(costs->model);
  eg_profiler_destroy(costs->profiler);
  EG_DEINIT_MEMBERS(costs, (eg_text, backend, machine, database))
  eg_free(costs->alloc, costs, 1, sizeof *costs);
}

const char *egraph_costs_machine(const egraph_costs *costs) {
  return costs != NULL ? eg_text_of(&costs->machine) : NULL;
}

egraph_status egraph_costs_entries(egraph_costs *costs, uint32_t *out) {
  EG_REQUIRE(costs, out);
  uint32_t unsupported;
  return eg_cost_counts(costs->model, out, &unsupported);
}

egraph_status egraph_costs_predict(egraph_costs *costs, const egraph_graph *graph,
                                   double *out_seconds) {
  EG_REQUIRE(costs, graph, out_seconds);
  if (costs->options.measure) {
    const eg_measurer measurer = {.measure = eg_profiler_measure,
                                  .self = costs->profiler};
    EG_TRY(eg_graph_request_costs(graph, costs->alloc, costs->model));
    EG_TRY(eg_cost_measure(costs->model, &measurer, costs->options.progress,
                           costs->options.user));
  }
  return eg_graph_predict(graph, costs->alloc, costs->model, out_seconds);
}

typedef struct cost_visit {
  egraph_costs *costs;
  const egraph_graph *graph;
  egraph_status (*each)(void *user, const egraph_cost_entry *entry);
  void *user;
  eg_text *text;
} cost_visit;

static egraph_status visit_cost(void *user, eg_graph_node node,
                                const eg_node_spec *spec) {
  static const char *const sources[] = {[EG_COST_USER] = "given",
                                        [EG_COST_MEASURED] = "measured",
                                        [EG_COST_ESTIMATED] = "estimated",
                                        [EG_COST_FREE] = "free",
                                        [EG_COST_UNPRICED] = "unpriced"};
  cost_visit *v = user;
  eg_cost_source source;
  eg_evidence evidence;
  egraph_cost_entry entry = {.node = ""};
  eg_graph_node_info info = eg_graph_node_at(v->graph, node);
  if (info.result_count != 0)
    entry.node = eg_graph_value(v->graph, info.results[0])->name;
  eg_text_clear(v->text);
  EG_TRY(eg_node_spec_print(v->text, spec));
  EG_TRY(eg_cost_seconds(v->costs->model, spec, &entry.seconds, &source));
  EG_TRY(eg_cost_evidence(v->costs->model, spec, &evidence));
  entry.text = eg_text_of(v->text);
  entry.source = sources[source];
  entry.samples = evidence.samples;
  entry.spread = evidence.spread;
  entry.load = evidence.load;
  entry.date = evidence.date;
  return v->each(v->user, &entry);
}

egraph_status egraph_costs_visit(egraph_costs *costs, const egraph_graph *graph,
                                 egraph_status (*each)(void *user,
                                                       const egraph_cost_entry *entry),
                                 void *user) {
  EG_REQUIRE(costs, graph);
  EG_REQUIRE_CALL(each);
  EG_LOCAL(eg_text, text, costs->alloc);
  cost_visit v = {costs, graph, each, user, &text};
  return eg_graph_visit_specs(graph, costs->alloc, visit_cost, &v);
}

// ---- this host ------------------------------------------------------------------

static egraph_status probe_messages(const egraph_allocator *alloc, uint32_t ranks,
                                    double *out_latency, double *out_per_byte) {
  eg_link_figures link;
  EG_TRY(eg_local_probe(alloc, ranks, &link));
  *out_latency = link.latency_seconds;
  *out_per_byte = link.seconds_per_byte;
  return EGRAPH_OK;
}

static eg_host_meter meter_of(eg_profiler *profiler) {
  size_t bytes;
  bool has_device = eg_profiler_is_device(profiler, &bytes);
  return (eg_host_meter){.operators = {.measure = eg_profiler_measure, .self = profiler},
                         .messages = probe_messages,
                         .processors = eg_host_processors(),
                         .has_device = has_device,
                         .device_bytes = has_device ? (double)bytes : 0};
}

eg_host_costs eg_costs_of_host(egraph_costs *costs) {
  const egraph_costs_options *o = &costs->options;
  return (eg_host_costs){.model = costs->model,
                         .meter = meter_of(costs->profiler),
                         .may_measure = o->measure,
                         .formats = eg_profiler_formats(costs->profiler),
                         .database = o->database,
                         .profile = eg_text_of(&costs->machine),
                         .read_only = o->read_only,
                         .override_cost = o->override_cost != NULL ? override : NULL,
                         .user = costs,
                         .progress = o->progress,
                         .progress_user = o->user};
}

static egraph_status check_ranks(uint32_t ranks) {
  if (ranks != 0 && ranks <= MAX_PROBED_RANKS) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT, "%u ranks cannot be measured; take 1 to %d",
                 (unsigned)ranks, MAX_PROBED_RANKS);
}

egraph_status egraph_machine_probe(const egraph_allocator *alloc, uint32_t ranks,
                                   char **out) {
  EG_REQUIRE(out);
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  const eg_profiler_options options = EG_PROFILER_OPTIONS_DEFAULT;
  eg_profiler *profiler;
  eg_host_figures figures;
  EG_TRY(check_ranks(ranks));
  EG_TRY(eg_profiler_create(&heap, &options, &profiler));
  const eg_host_meter meter = meter_of(profiler);
  egraph_status status = eg_host_measure(heap, &meter, ranks, &figures);
  eg_profiler_destroy(profiler);
  EG_TRY(status);
  EG_LOCAL(eg_text, text, heap);
  EG_TRY(eg_machine_host_print(&text, ranks, &figures));
  return eg_text_take(&text, out);
}

egraph_status egraph_costs_machine_file(egraph_costs *costs, uint32_t ranks, char **out) {
  EG_REQUIRE(costs, out);
  eg_host_figures figures;
  EG_TRY(check_ranks(ranks));
  const eg_host_costs host = eg_costs_of_host(costs);
  EG_LOCAL(eg_text, text, costs->alloc);
  EG_LOCAL(eg_text, curves, costs->alloc);
  EG_TRY(eg_host_measure(costs->alloc, &host.meter, ranks, &figures));
  EG_TRY(eg_host_reaches_print(costs->alloc, &host, &figures, &curves));
  EG_TRY(eg_machine_host_print(&text, ranks, &figures));
  EG_TRY(eg_text_append(&text, eg_text_of(&curves)));
  return eg_text_take(&text, out);
}
