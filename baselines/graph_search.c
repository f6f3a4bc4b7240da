// SPDX-License-Identifier: Apache-2.0
#include "baselines/graph_search.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/owner.h"
#include "pcg/graph/graph_copy.h"

#define MEMBERS (eg_found_graphs, graphs), (eg_u32s, roots), (eg_flatmap, map)

static const double DEFAULT_SECONDS = 120;
static const double LOOK_EVERY = 0.05; // seconds between two lines of progress
enum {                       // operators of a graph, for each one of the given graph
  MOST_OPERATORS = 2,        // as in TASO's code
  MOST_WEIGHT_OPERATORS = 16 // of weights alone
};
enum { TERM_STEPS = 20, FORMAT_STEPS = 100 }; // steps of work for each priced term

// ---- graphs that were found -----------------------------------------------------------

static const uint32_t *roots_of(const eg_graph_search *search, uint32_t graph) {
  return search->roots.data + search->graphs.data[graph].roots;
}

static bool has_roots(const void *user, uint32_t graph, const void *key) {
  const eg_graph_search *search = user;
  size_t bytes = search->root_count * sizeof(uint32_t);
  return bytes == 0 || memcmp(roots_of(search, graph), key, bytes) == 0;
}

egraph_status eg_graph_search_keep(eg_graph_search *search, const uint32_t *roots,
                                   double seconds, uint32_t *out, bool *out_new) {
  uint64_t hash = eg_hash_bytes(0, roots, search->root_count * sizeof *roots);
  *out_new = !eg_flatmap_find(&search->map, hash, roots, has_roots, search, out);
  if (!*out_new) return EGRAPH_OK;
  const eg_found_graph graph = {.seconds = seconds, .roots = search->roots.len};
  *out = (uint32_t)search->graphs.len;
  EG_TRY(eg_flatmap_reserve_one(&search->map));
  EG_TRY(eg_u32s_append(&search->roots, roots, search->root_count));
  EG_TRY(eg_found_graphs_push(&search->graphs, graph));
  eg_flatmap_put(&search->map, hash, *out);
  return EGRAPH_OK;
}

// ---- limits ---------------------------------------------------------------------------

static size_t search_bytes(const eg_graph_search *search) {
  return eg_term_store_bytes(&search->store) + eg_term_prices_bytes(&search->prices) +
         search->roots.cap * sizeof(uint32_t) +
         search->graphs.cap * sizeof(eg_found_graph) +
         search->map.capacity * sizeof(eg_flat_slot);
}

static void report_progress(eg_graph_search *search, double now) {
  char line[128];
  if (search->input->progress == NULL || now - search->last_look < LOOK_EVERY) return;
  search->last_look = now;
  (void)snprintf(line, sizeof line,
                 "%" PRIu64 " graphs visited, %" PRIu64 " queued, the best takes %.6g s",
                 search->visited, search->queued,
                 search->graphs.data[search->best].seconds);
  if (search->input->progress(search->input->user, "search", line))
    eg_graph_search_end(search, EG_GRAPH_STOP_CANCELLED);
}

static void look_at_limits(eg_graph_search *search) {
  double now = eg_clock_seconds();
  if (eg_work_is_spent(&search->rewrites.work))
    eg_graph_search_end(search, EG_GRAPH_STOP_WORK_LIMIT);
  if (search_bytes(search) > search->input->search->byte_limit)
    eg_graph_search_end(search, EG_GRAPH_STOP_BYTE_LIMIT);
  if (now >= search->deadline) eg_graph_search_end(search, EG_GRAPH_STOP_TIME_LIMIT);
  report_progress(search, now);
}

// ---- visiting -------------------------------------------------------------------------

typedef struct visit_call {
  eg_graph_search *search;
  egraph_status (*found)(void *user, const uint32_t *roots, double seconds);
  void *user;
} visit_call;

static egraph_status on_graph(void *user, const uint32_t *roots, bool *out_stop) {
  const visit_call *call = user;
  eg_graph_search *search = call->search;
  eg_graph_figures figures;
  EG_TRY(eg_term_prices_graph(&search->prices, roots, search->root_count, &figures));
  bool has_formats = search->prices.costs.formats != 0;
  eg_work_add(&search->rewrites.work,
              search->prices.live.len * (has_formats ? FORMAT_STEPS : TERM_STEPS));
  if (figures.operators <= search->operator_limit &&
      figures.weight_operators <= search->weight_operator_limit)
    EG_TRY(call->found(call->user, roots, figures.seconds));
  look_at_limits(search);
  *out_stop = eg_graph_search_is_over(search);
  return EGRAPH_OK;
}

egraph_status eg_graph_search_visit(eg_graph_search *search, uint32_t graph,
                                    egraph_status (*found)(void *user,
                                                           const uint32_t *roots,
                                                           double seconds),
                                    void *user) {
  assert(graph < search->graphs.len);
  visit_call call = {.search = search, .found = found, .user = user};
  if (search->visited >= search->input->search->graph_limit)
    eg_graph_search_end(search, EG_GRAPH_STOP_GRAPH_LIMIT);
  look_at_limits(search);
  if (eg_graph_search_is_over(search)) return EGRAPH_OK;
  search->visited++;
  // A local copy of the roots: a graph that is found may move the array of all roots.
  EG_LOCAL(eg_u32s, roots, search->alloc);
  EG_TRY(eg_u32s_append(&roots, roots_of(search, graph), search->root_count));
  return eg_graph_rewrites_visit(&search->rewrites, roots.data, on_graph, &call);
}

// ---- one search -----------------------------------------------------------------------

static egraph_status keep_given(eg_graph_search *search) {
  eg_graph_figures figures = {.seconds = 0};
  uint32_t graph;
  bool is_new;
  EG_LOCAL(eg_u32s, roots, search->alloc);
  for (uint32_t i = 0; i < search->root_count; i++)
    EG_TRY(eg_u32s_push(&roots, eg_term_store_root(&search->store, i)));
  EG_TRY(eg_term_prices_graph(&search->prices, roots.data, search->root_count, &figures));
  EG_TRY(eg_graph_search_keep(search, roots.data, figures.seconds, &graph, &is_new));
  uint32_t operators = figures.operators + figures.weight_operators;
  search->operator_limit = MOST_OPERATORS * operators;
  search->weight_operator_limit = MOST_WEIGHT_OPERATORS * operators;
  return EGRAPH_OK;
}

static egraph_status begin_search(eg_graph_search *search) {
  const eg_optimizer_input *input = search->input;
  const egraph_search *limits = input->search;
  const eg_term_costs costs = {.model = input->costs,
                               .measurer = input->measurer,
                               .formats = limits->formats ? input->formats & ~1u : 0};
  double seconds = limits->time_limit >= 0   ? limits->time_limit
                   : limits->work_limit != 0 ? INFINITY
                                             : DEFAULT_SECONDS;
  search->start = eg_clock_seconds();
  search->deadline = search->start + seconds;
  search->root_count = eg_graph_output_count(input->graph);
  EG_TRY(eg_term_store_init(&search->store, search->alloc, input->graph));
  if (limits->loadable != 0 && input->kernels != NULL)
    EG_TRY(eg_tensor_egraph_restrict(search->store.terms, input->kernels));
  eg_term_prices_init(&search->prices, &search->store, &costs);
  EG_TRY(eg_graph_rewrites_init(&search->rewrites, &search->store, input->rules,
                                search->math, search->root_count));
  if (limits->work_limit != 0)
    search->rewrites.work.limit = limits->work_limit * UINT64_C(1000000);
  return keep_given(search);
}

static void eg_graph_search_deinit(eg_graph_search *search) {
  eg_graph_rewrites_deinit(&search->rewrites);
  if (search->prices.store != NULL) eg_term_prices_deinit(&search->prices);
  if (search->store.given != NULL) eg_term_store_deinit(&search->store);
  EG_DEINIT_MEMBERS(search, MEMBERS)
}

// ---- the best graph -------------------------------------------------------------------

typedef struct outcome {
  eg_graph *graph; // the best graph, row-major, weights not folded yet
  eg_u32s reasons; // of its nodes
  egraph_report figures;
  eg_rule_stats *stats; // [rules]
  double seconds;
  uint32_t measured;
} outcome;

static void outcome_deinit(outcome *o, egraph_allocator alloc, const eg_rules *rules) {
  eg_graph_destroy(o->graph);
  eg_u32s_deinit(&o->reasons);
  eg_free(alloc, o->stats, eg_rules_count(rules), sizeof *o->stats);
  *o = (outcome){.graph = NULL};
}

#define STOP_NAME(id, name, words) name,
#define STOP_WORDS(id, name, words) words,
static const char *const STOP_NAMES[] = {EG_GRAPH_STOP_LIST(STOP_NAME)};
static const char *const STOP_WORDS_OF[] = {EG_GRAPH_STOP_LIST(STOP_WORDS)};

/// Takes the best graph, the figures and the statistics of rules from the search.
static egraph_status take_outcome(eg_graph_search *search, outcome *out) {
  eg_graph_rewrites *rewrites = &search->rewrites;
  eg_u32s_init(&out->reasons, search->alloc);
  EG_TRY(eg_term_store_emit(&search->store, roots_of(search, search->best),
                            search->root_count, &out->reasons, &out->graph));
  out->figures = (egraph_report){.graphs_visited = search->visited,
                                 .graphs_queued = search->queued,
                                 .rewrites_tried = rewrites->tried,
                                 .search_work = (double)rewrites->work.done / 1e6,
                                 .search_seconds = eg_clock_seconds() - search->start,
                                 .stop = STOP_NAMES[search->stop],
                                 .ended = STOP_NAMES[search->stop],
                                 .stop_words = STOP_WORDS_OF[search->stop],
                                 .math = search->math};
  out->measured = search->prices.measured;
  out->stats = rewrites->stats;
  rewrites->stats = NULL; // moved
  return EGRAPH_OK;
}

static egraph_status search_once(eg_graph_algorithm *algorithm, egraph_allocator alloc,
                                 const eg_optimizer_input *input, egraph_math math,
                                 outcome *out) {
  EG_OWNED(eg_graph_search, search);
  search = (eg_graph_search){.alloc = alloc, .input = input, .math = math};
  EG_INIT_MEMBERS(&search, alloc, MEMBERS)
  EG_TRY(begin_search(&search));
  EG_TRY(algorithm(&search));
  return take_outcome(&search, out);
}

static egraph_status count_lost(const eg_graph *graph, size_t most_bytes, uint32_t *out) {
  const eg_fold_options options = {.max_bytes = most_bytes, .out_lost = out};
  eg_graph *folded;
  EG_TRY(eg_graph_folded(graph, &options, &folded));
  eg_graph_destroy(folded);
  return EGRAPH_OK;
}

/// Searches; if numbers that rules fold into each other overflow, searches again with the
/// rules that keep every bit, like the product's own search.
static egraph_status search_graphs(eg_graph_algorithm *algorithm, egraph_allocator alloc,
                                   const eg_optimizer_input *input, outcome *out) {
  egraph_math math = input->search->math;
  size_t most = (size_t)input->search->fold_bytes;
  uint32_t before, after;
  EG_TRY(search_once(algorithm, alloc, input, math, out));
  if (math == EGRAPH_MATH_EXACT) return EGRAPH_OK;
  EG_TRY(count_lost(out->graph, most, &after));
  if (after == 0) return EGRAPH_OK;
  EG_TRY(count_lost(input->graph, most, &before));
  if (after <= before) return EGRAPH_OK;
  outcome_deinit(out, alloc, input->rules);
  return search_once(algorithm, alloc, input, EGRAPH_MATH_EXACT, out);
}

// ---- memory formats -------------------------------------------------------------------

/// Chooses memory formats for a graph by the product's own search without rules.
static egraph_status choose_formats(egraph_allocator alloc,
                                    const eg_optimizer_input *input,
                                    const eg_graph *graph, eg_optimization **out) {
  eg_optimizer_input own = *input;
  EG_HELD(eg_rules, none);
  EG_TRY(eg_rules_create(&alloc, &none));
  own.graph = graph;
  own.rules = none;
  return eg_optimizer_run(alloc, &own, out);
}

static void name_reasons(const outcome *o, eg_optimization *result) {
  for (uint32_t i = 0; i < eg_graph_node_count(o->graph); i++) {
    eg_graph_node_info info = eg_graph_node_at(o->graph, (eg_graph_node){i});
    uint32_t origin;
    if (info.result_count != 0 &&
        eg_strmap_find(&result->emission.origin_of,
                       eg_graph_value(o->graph, info.results[0])->name, &origin))
      result->emission.origins.data[origin].reason = o->reasons.data[i];
  }
}

/// Moves the names and statistics of rules to the result.
static egraph_status take_rules(const eg_optimizer_input *input, outcome *o,
                                eg_optimization *result) {
  uint32_t count = eg_rules_count(input->rules);
  EG_TRY(eg_alloc(result->alloc, count, sizeof *result->rule_names, &result->rule_names));
  result->saturation.rules = o->stats;
  result->saturation.rule_count = count;
  o->stats = NULL; // moved
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(eg_string_copy(result->alloc, eg_rule_name(input->rules, i),
                          &result->rule_names[i]));
  return EGRAPH_OK;
}

/// Fills the report of the search, with the costs of the graph in its formats. No bound
/// is known: the search visits some graphs, and proves nothing about others.
static void write_report(const char *name, const outcome *o, const egraph_report *given,
                         egraph_report *inout) {
  egraph_report report = o->figures;
  report.algorithm = name;
  report.cost_before = given->cost_before;
  report.nodes_before = given->nodes_before;
  report.cost_after = inout->cost_after;
  report.nodes_after = inout->nodes_after;
  report.gap = inout->cost_after > 0 ? 1 : 0;
  report.status = "feasible";
  report.proven_over = "variants reached";
  report.measured = o->measured + given->measured + inout->measured;
  report.basis = inout->basis;
  report.unpriced_seconds = inout->unpriced_seconds;
  report.unsized_values = inout->unsized_values;
  report.unsized_value = inout->unsized_value;
  report.unknown_trips = inout->unknown_trips;
  report.compared = inout->compared;
  report.profile_seconds = inout->profile_seconds;
  report.extract_seconds = inout->extract_seconds;
  report.extract_work = inout->extract_work;
  report.measured_again = inout->measured_again;
  report.is_order_clear = inout->is_order_clear;
  report.busy = given->busy + inout->busy;
  *inout = report;
}

/// Makes the result: the best graph in its formats, or the given graph in its own if that
/// is cheaper.
static egraph_status make_result(const char *name, egraph_allocator alloc,
                                 const eg_optimizer_input *input, outcome *o,
                                 eg_optimization **out) {
  EG_HELD(eg_optimization, given);
  EG_HELD(eg_optimization, best);
  EG_TRY(choose_formats(alloc, input, input->graph, &given));
  EG_TRY(choose_formats(alloc, input, o->graph, &best));
  const egraph_report before = given->report;
  bool is_better = best->report.cost_after <= before.cost_after;
  eg_optimization **chosen = is_better ? &best : &given;
  if (is_better) name_reasons(o, best);
  write_report(name, o, &before, &(*chosen)->report);
  EG_HAND_OVER(take_rules(input, o, *chosen), *chosen, out);
}

egraph_status eg_graph_search_run(const char *name, eg_graph_algorithm *algorithm,
                                  egraph_allocator alloc, const eg_optimizer_input *input,
                                  eg_optimization **out) {
  assert(input->rules != NULL && input->costs != NULL);
  double start = eg_clock_seconds();
  outcome o = {.graph = NULL};
  EG_TRY(eg_search_check(input->search));
  eg_u32s_init(&o.reasons, alloc);
  egraph_status status = search_graphs(algorithm, alloc, input, &o);
  if (status == EGRAPH_OK) status = make_result(name, alloc, input, &o, out);
  if (status == EGRAPH_OK) (*out)->report.total_seconds = eg_clock_seconds() - start;
  outcome_deinit(&o, alloc, input->rules);
  return status;
}
