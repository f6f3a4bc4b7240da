// Rounds: each starts from the cheapest graph so far, saturates an e-graph of it, and
// extracts. The first starts from the given graph. If a limit cut saturation off, the
// next round begins nearer to the optimum, with its full node limit; if saturation ended,
// the next round finds the rewrites that folded weights make possible. A round that gains
// nothing shows that optimizing the result again would gain nothing.
//
// A bound of one round holds for the variants of its e-graph, which has the graph that
// the round started from. The least bound of all rounds holds for all variants reached.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/single/optimizer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/proof.h"
#include "base/work.h"
#include "extract/search/extract.h"
#include "optimize/price/predict.h"
#include "optimize/single/single_problem.h"
#include "pcg/graph/graph_copy.h"
#include "rewrites/explain/explain_rounds.h"
#include "rewrites/language/rules.h"
/// Smaller relative gains of a round of saturation and extraction count as none.
static const double SETTLED_GAIN = 1e-5;
/// Defaults of work_limit, in millions of steps: DEFAULT_HALF for saturation and for
/// extraction each, or, for a large graph, a number for each operator; and of time_limit.
static const double DEFAULT_HALF = 3000, SATURATION_OF_A_NODE = 1,
                    EXTRACTION_OF_A_NODE = 0.5, DEFAULT_SECONDS = 120.0;

// ---- limits and choices -----------------------------------------------------------

static bool find_extractor(const char *name, eg_extract_method *out) {
#define METHOD(id, spelling, text)                                                       \
  if (strcmp(name, spelling) == 0) {                                                     \
    *out = id;                                                                           \
    return true;                                                                         \
  }
  EG_EXTRACT_METHOD_LIST(METHOD)
#undef METHOD
  return false;
}

egraph_status eg_search_check(const egraph_search *search) {
#define EGRAPH_OPTION(type, name, initial, low, high, readers, help)                     \
  if (!((double)search->name >= (low) && (double)search->name <= (high)))                \
    return EG_FAIL(EGRAPH_E_ARGUMENT, "option %s is %g; it must lie between %g and %g",  \
                   #name, (double)search->name, (double)(low), (double)(high));
#include "include/egraph_search.def"
  eg_extract_method method;
  if (search->extractor == NULL || !find_extractor(search->extractor, &method))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "unknown extractor '%s'; use ilp, dag or tree",
                   search->extractor == NULL ? "" : search->extractor);
  if (eg_rule_class_name(search->math) == NULL)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "option math is none of EGRAPH_MATH_EXACT, _ASSOCIATIVE and _FAST");
  eg_scheduler scheduler;
  return eg_scheduler_find(search->scheduler, &scheduler);
}

eg_saturation_options eg_search_saturation(const egraph_search *search, uint32_t growth) {
  eg_saturation_options out = EG_SATURATION_OPTIONS_DEFAULT;
  if (search->node_limit >= 0)
    out.node_limit = (uint32_t)search->node_limit;
  else
    out.node_limit_growth = growth;
  out.iteration_limit = (uint32_t)search->iteration_limit;
  out.byte_limit = (size_t)search->byte_limit;
  out.multi_depth = (uint32_t)search->multi_depth;
  out.threads = (uint32_t)search->threads;
  out.math = search->math;
  (void)eg_scheduler_find(search->scheduler, &out.scheduler);
  return out;
}

// ---- one round ------------------------------------------------------------------

typedef struct search_round {
  const eg_graph *graph; // graph from which the round starts
  double seed_cost;      // cost of this graph at the time
  eg_tensor_egraph *egraph;
  eg_single_problem single;
  bool has_problem;
  bool is_as_given; // the graph, with its formats, is among the variants
  eg_saturation_report saturation;
  eg_extract_result extraction;
  eg_emission emission; // its graph becomes the outcome
  eg_graph *emitted;    // that graph, kept to explain the outcome
  eg_graph *outcome;
  double cost, bound;
} search_round;

typedef struct run {
  const eg_optimizer_input *input;
  const egraph_search *search;
  double saturate_seconds, extract_seconds; // limits of all rounds together
  egraph_allocator alloc;
  eg_optimization *result;
  search_round now;
  eg_work saturating, extracting;  // steps of all rounds
  eg_stop last_stop;               // of saturation
  double first_bound, least_bound; // bound of the first round, least bound of all
  bool is_all; // the first round reached all variants and no later one gained
  bool cancelled;
  uint32_t busy_before; // measurements on a busy machine
  bool overflowed;      // a rule made a constant whose folded value is not finite
  eg_explained_rounds *explained; // NULL: not wanted
  eg_rule_cases *cases;           // of rules with parameters, for all rounds
} run;

static bool report_progress(run *r, const char *phase, const char *line) {
  if (!r->cancelled && r->input->progress != NULL)
    r->cancelled = r->input->progress(r->input->user, phase, line);
  return r->cancelled;
}

static bool on_saturate(void *user, uint32_t iteration, uint32_t nodes,
                        uint32_t classes) {
  run *r = user;
  char line[128];
  (void)snprintf(line, sizeof line,
                 "round %" PRIu32 ", iteration %" PRIu32 ": %" PRIu32 " nodes, %" PRIu32
                 " classes",
                 r->result->report.rounds, iteration, nodes, classes);
  return report_progress(r, "saturate", line);
}

static uint32_t saturating_sum(uint32_t a, uint32_t b) {
  return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

/// Adds the saturation statistics of a round to the statistics of all rounds.
static void count_saturation(run *r) {
  eg_saturation_report *all = &r->result->saturation, *own = &r->now.saturation;
  egraph_report *report = &r->result->report;
  report->iterations = saturating_sum(report->iterations, own->iterations);
  report->nodes = saturating_sum(report->nodes, own->nodes);
  report->classes = saturating_sum(report->classes, own->classes);
  report->saturate_seconds += own->seconds;
  eg_work_add(&r->saturating, own->work);
  r->last_stop = own->stop;
  if (report->rounds == 1) {
    report->stop = eg_stop_name(own->stop);
    report->stop_words = eg_stop_words(own->stop);
    r->is_all = own->stop == EG_STOP_SATURATED;
    *all = *own;
    *own = (eg_saturation_report){.alloc = r->alloc};
    return;
  }
  for (uint32_t i = 0; i < all->rule_count; i++) {
    eg_rule_stats *sum = &all->rules[i];
    const eg_rule_stats *more = &own->rules[i];
    sum->matches += more->matches;
    sum->rejected += more->rejected;
    sum->nodes = saturating_sum(sum->nodes, more->nodes);
    sum->unions = saturating_sum(sum->unions, more->unions);
    sum->bans = saturating_sum(sum->bans, more->bans);
    sum->seconds += more->seconds;
  }
}

// The default node limit, and the limit of a rule's matches, grow with the graph.
enum { NODE_LIMIT_GROWTH = 10, MATCH_LIMIT_SHARE = 2, SHRINK_FIRST_BELOW = 16 };

static egraph_status saturate_round(run *r) {
  eg_saturation_options options = eg_search_saturation(r->search, NODE_LIMIT_GROWTH);
  options.match_limit_share = MATCH_LIMIT_SHARE;
  options.shrink_first_below = SHRINK_FIRST_BELOW;
  double left = r->saturate_seconds - r->result->report.saturate_seconds;
  uint64_t steps = eg_work_left(&r->saturating);
  options.time_limit_seconds = left > 0 ? left : 0;
  options.work_limit = steps > 0 ? steps : 1;
  options.progress = on_saturate;
  options.user = r;
  options.cases = r->cases;
  EG_TRY(r->explained != NULL
             ? eg_tensor_egraph_create_explained(&r->alloc, r->now.graph, &r->now.egraph)
             : eg_tensor_egraph_create(&r->alloc, r->now.graph, &r->now.egraph));
  if (r->search->loadable != 0 && r->input->kernels != NULL)
    EG_TRY(eg_tensor_egraph_restrict(r->now.egraph, r->input->kernels));
  EG_TRY(eg_saturate(r->now.egraph, r->input->rules, &options, &r->now.saturation));
  r->result->report.left_out += eg_tensor_egraph_left_out(r->now.egraph);
  count_saturation(r);
  return EGRAPH_OK;
}

static bool on_measure(void *user, uint32_t done, uint32_t total) {
  run *r = user;
  if (r->input->measure_progress != NULL &&
      r->input->measure_progress(r->input->measure_user, done, total))
    return true;
  char line[64];
  (void)snprintf(line, sizeof line, "%" PRIu32 " of %" PRIu32 " operators measured", done,
                 total);
  return report_progress(r, "profile", line);
}

/// Measures operators that the round needs and the cost model lacks. A measurement that
/// changes an estimate invalidates the bounds of earlier rounds.
static egraph_status measure_costs(run *r) {
  eg_cost_model *costs = r->input->costs;
  uint32_t requested = eg_cost_requested(costs);
  char line[64];
  (void)snprintf(line, sizeof line, "%" PRIu32 " operators without a measured cost",
                 requested);
  if (report_progress(r, "profile", line) || r->input->measurer == NULL) return EGRAPH_OK;
  if (requested == 0) return EGRAPH_OK;
  EG_TRY(eg_cost_measure(costs, r->input->measurer, on_measure, r));
  egraph_report *report = &r->result->report;
  report->measured += requested - eg_cost_requested(costs);
  const egraph_cost_basis *known = &report->compared;
  if (known->estimated + known->guessed + known->unpriced != 0) {
    r->is_all = false;
    r->least_bound = INFINITY;
  }
  return EGRAPH_OK;
}

static eg_single_source source_of(const run *r) {
  return (eg_single_source){.egraph = r->now.egraph,
                            .costs = r->input->costs,
                            .formats = r->search->formats ? r->input->formats : 0};
}

static egraph_status price_round(run *r) {
  double start = eg_clock_seconds();
  search_round *now = &r->now;
  eg_cost_model *costs = r->input->costs;
  const eg_single_source source = source_of(r);
  EG_TRY(eg_single_problem_request(r->alloc, &source));
  EG_TRY(eg_graph_request_costs(now->graph, r->alloc, costs));
  EG_TRY(measure_costs(r));
  EG_TRY(eg_single_problem_init(&now->single, r->alloc, &source));
  now->has_problem = true;
  for (uint32_t n = 0; n < now->single.nodes.len; n++) {
    const eg_price *price = eg_single_price(&now->single, n);
    eg_cost_basis_count(&r->result->report.compared, price->source, price->is_guess);
  }
  EG_TRY(eg_graph_predict(now->graph, r->alloc, costs, &now->seed_cost));
  r->result->report.profile_seconds += eg_clock_seconds() - start;
  return EGRAPH_OK;
}

static bool on_extract(void *user, double cost, double bound, double seconds) {
  char line[96];
  (void)snprintf(line, sizeof line, "cost %.6g, bound %.6g after %.1f s", cost, bound,
                 seconds);
  return report_progress(user, "extract", line);
}

/// Returns the options of an extraction with a share of the remaining time and work.
static eg_extract_options extract_options(const run *r, double share) {
  const egraph_search *o = r->search;
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  (void)find_extractor(o->extractor, &options.method);
  double seconds = share * (r->extract_seconds - r->result->report.extract_seconds);
  double steps = share * (double)eg_work_left(&r->extracting);
  options.time_limit_seconds = seconds > 1e-9 ? seconds : 1e-9;
  options.work_limit = steps > 1e6 ? (uint64_t)(steps / 1e6) : 1;
  options.relative_gap = o->relative_gap > 0 ? o->relative_gap : 0;
  options.seed = o->seed;
  options.threads = (uint32_t)o->threads;
  return options;
}

static egraph_status extract_round(run *r, const uint32_t *incumbent) {
  egraph_report *report = &r->result->report;
  // The more this round has reached, the fewer rounds will follow.
  bool is_last = report->rounds >= r->search->rounds;
  eg_extract_options options = extract_options(r, is_last ? 1 : r->is_all ? 0.75 : 0.5);
  options.incumbent = incumbent;
  options.progress = on_extract;
  options.user = r;
  EG_TRY(
      eg_extract_solve(r->alloc, &r->now.single.problem, &options, &r->now.extraction));
  report->extract_seconds += r->now.extraction.seconds;
  eg_work_add(&r->extracting, r->now.extraction.work);
  if (r->now.extraction.status == EG_EXTRACT_INFEASIBLE)
    return EG_FAIL(EGRAPH_E_INTERNAL,
                   "the extractor found no graph, not even the original");
  return EGRAPH_OK;
}

static egraph_status extract(run *r) {
  EG_LOCAL(eg_u32s, incumbent, r->alloc);
  search_round *now = &r->now;
  char line[64];
  (void)snprintf(line, sizeof line, "choosing among %zu variants", now->single.nodes.len);
  (void)report_progress(r, "extract", line);
  EG_TRY(eg_u32s_resize(&incumbent, now->single.problem.class_count));
  EG_TRY(eg_single_original(&now->single, incumbent.data, &now->is_as_given));
  EG_TRY(extract_round(r, incumbent.data));
  egraph_report *report = &r->result->report;
  const eg_extract_result *found = &now->extraction;
  bool is_first = report->rounds == 1;
  if (is_first || found->tree_cost < report->tree_cost)
    report->tree_cost = found->tree_cost;
  if (is_first || found->dag_cost < report->dag_cost) report->dag_cost = found->dag_cost;
  return EGRAPH_OK;
}

static egraph_status fold_graph(const run *r, const eg_graph *graph, eg_graph **out,
                                uint32_t *out_lost) {
  const eg_fold_options options = {.max_bytes = (size_t)r->search->fold_bytes,
                                   .out_lost = out_lost};
  return eg_graph_folded(graph, &options, out);
}

/// Computes values that depend only on weights with data, and makes them weights
/// (folding). Values of more than `fold_bytes` bytes, and values that need weights
/// without data, are computed when the program is loaded.
static egraph_status fold_round(run *r) {
  search_round *now = &r->now;
  EG_HELD(eg_graph, folded);
  EG_HELD(eg_graph, folded_given);
  uint32_t lost;
  EG_TRY(fold_graph(r, now->emission.graph, &folded, &lost));
  EG_TRY(eg_graph_pruned(folded, &now->outcome));
  now->emitted = now->emission.graph;
  now->emission.graph = NULL;
  if (lost == 0) return EGRAPH_OK;
  // Folded constants that are NaN, infinite or underflowed show no wrong rule if the
  // given graph has as many.
  uint32_t given;
  EG_TRY(fold_graph(r, now->graph, &folded_given, &given));
  r->overflowed = r->search->math != EGRAPH_MATH_EXACT && lost > given;
  return EGRAPH_OK;
}

static egraph_status emit_round(run *r) {
  search_round *now = &r->now;
  const eg_emission *before = r->result->report.rounds == 1 ? NULL : &r->result->emission;
  EG_TRY(eg_emission_init(&now->emission, r->alloc, &now->single,
                          now->extraction.choice.data, before));
  EG_TRY(fold_round(r));
  EG_TRY(eg_graph_predict(now->outcome, r->alloc, r->input->costs, &now->cost));
  // The graph has the cost that the extractor reported, and costs no more than the graph
  // at the start of the round if that was among its variants.
  char what[64];
  (void)snprintf(what, sizeof what, "graph of round %" PRIu32, r->result->report.rounds);
  EG_TRY(eg_proof_check_equal(what, now->extraction.cost, now->cost));
  if (now->is_as_given) EG_TRY(eg_proof_check_bound(what, now->cost, now->seed_cost));
  now->bound = now->extraction.bound;
  // The graph at the start of the round is one of the variants.
  if (!now->is_as_given && now->seed_cost < now->bound) now->bound = now->seed_cost;
  return EGRAPH_OK;
}

// ---- close costs, measured again ------------------------------------------------------

// A cost is a median of timings and has an error. Suppose that another choice were
// cheapest if the best choice's costs were raised by their errors and all other costs
// lowered by theirs. Then the measured costs in which the two choices differ decide. They
// are measured again, until none is left or the time is over.

typedef struct settling {
  run *r;
  eg_single_problem *single;
  eg_extract_result *best;
  double deadline;
  uint32_t entry_count;
  bool *is_used, *decides; // [entries] used by the best; in only one of two choices
  double *costs; // [nodes] the true costs, while the problem has disturbed costs
} settling;

static double left(const settling *s) { return s->deadline - eg_clock_seconds(); }

/// Marks the entries of the cost model that price the nodes of a choice.
static void mark_used(const settling *s, const eg_u32s *choice, bool *out) {
  memset(out, 0, s->entry_count * sizeof *out);
  for (size_t c = 0; c < choice->len; c++) {
    uint32_t node = choice->data[c];
    if (node == EG_EXTRACT_NONE) continue;
    uint32_t entry = eg_single_price(s->single, node)->entry;
    if (entry != EG_COST_NO_ENTRY) out[entry] = true;
  }
}

/// Raises the costs of the best choice by their errors, and lowers all others by theirs.
static void disturb(const settling *s) {
  eg_single_problem *single = s->single;
  for (uint32_t n = 0; n < single->nodes.len; n++) {
    uint32_t entry = eg_single_price(single, n)->entry;
    s->costs[n] = single->problem.cost.data[n];
    if (entry == EG_COST_NO_ENTRY) continue;
    double error = eg_cost_error(s->r->input->costs, entry);
    single->problem.cost.data[n] =
        fmax(0, s->costs[n] + (s->is_used[entry] ? error : -error));
  }
}

static egraph_status solve_again(const settling *s, double seconds,
                                 eg_extract_result *out) {
  eg_extract_options options = extract_options(s->r, 1);
  if (seconds < options.time_limit_seconds) options.time_limit_seconds = seconds;
  options.incumbent = s->best->choice.data;
  options.progress = NULL;
  return eg_extract_solve(s->r->alloc, &s->single->problem, &options, out);
}

/// Finds the measured costs, with an error, that only one of the two choices uses: the
/// best one or its rival; *out_count: their number.
static egraph_status find_deciding(const settling *s, uint32_t *out_count) {
  double own;
  *out_count = 0;
  mark_used(s, &s->best->choice, s->is_used);
  EG_LOCAL(eg_extract_result, rival, s->r->alloc);
  disturb(s);
  EG_TRY(solve_again(s, fmax(left(s), 1e-3), &rival));
  EG_TRY(
      eg_extract_certify(s->r->alloc, &s->single->problem, s->best->choice.data, &own));
  eg_extract_problem *problem = &s->single->problem;
  memcpy(problem->cost.data, s->costs, s->single->nodes.len * sizeof *s->costs);
  if (rival.cost < own * (1 - 1e-9)) {
    mark_used(s, &rival.choice, s->decides);
    for (uint32_t e = 0; e < s->entry_count; e++) {
      s->decides[e] =
          s->decides[e] != s->is_used[e] && eg_cost_error(s->r->input->costs, e) > 0;
      *out_count += s->decides[e];
    }
  }
  return EGRAPH_OK;
}

static bool is_over(void *user, uint32_t done, uint32_t total) {
  (void)done, (void)total;
  return left(user) <= 0;
}

static egraph_status measure_again(settling *s) {
  eg_cost_model *costs = s->r->input->costs;
  const eg_single_source source = source_of(s->r);
  EG_TRY(eg_single_problem_request_again(s->r->alloc, &source, s->decides));
  uint32_t requested = eg_cost_requested(costs);
  EG_TRY(eg_cost_remeasure(costs, s->r->input->measurer, is_over, s));
  s->r->result->report.measured_again += requested - eg_cost_requested(costs);
  // An operator that was not measured again in time keeps its cost: a later round must
  // not change a cost that this round's proof uses.
  eg_cost_withdraw(costs);
  eg_single_problem_reprice(s->single, costs);
  EG_LOCAL(eg_extract_result, found, s->r->alloc);
  // The result is proven under the new costs, so this solve may use all extraction time.
  EG_TRY(solve_again(s, (double)INFINITY, &found));
  eg_extract_result old = *s->best;
  *s->best = found;
  found = old;
  return EGRAPH_OK;
}

/// Measures costs that decide between close choices again, in the first round, so that
/// its proof holds for the costs of all rounds.
static egraph_status settle_close_costs(run *r) {
  egraph_report *report = &r->result->report;
  search_round *now = &r->now;
  eg_cost_model *costs = r->input->costs;
  bool is_wanted = r->input->measurer != NULL && r->search->settle_limit > 0;
  if (!is_wanted || report->rounds != 1 || r->cancelled) return EGRAPH_OK;
  settling s = {.r = r,
                .single = &now->single,
                .best = &now->extraction,
                .deadline = eg_clock_seconds() + r->search->settle_limit,
                .entry_count = eg_cost_entry_count(costs)};
  EG_LOCAL(eg_arena, arena, r->alloc);
  EG_NEW(&arena, s.entry_count, s.is_used);
  EG_NEW(&arena, s.entry_count, s.decides);
  EG_NEW(&arena, now->single.nodes.len, s.costs);
  for (;;) {
    uint32_t deciding = 0;
    EG_TRY(find_deciding(&s, &deciding));
    report->is_order_clear = deciding == 0;
    if (report->is_order_clear || left(&s) <= 0) break;
    EG_TRY(measure_again(&s));
  }
  if (report->measured_again == 0) return EGRAPH_OK;
  return eg_graph_predict(now->graph, r->alloc, costs, &now->seed_cost);
}

// ---- a round, and all -----------------------------------------------------------------

static egraph_status play_round(run *r) {
  r->now.saturation.alloc = r->alloc;
  eg_extract_result_init(&r->now.extraction, r->alloc);
  r->result->report.rounds++;
  EG_TRY(saturate_round(r));
  EG_TRY(price_round(r));
  EG_TRY(extract(r));
  EG_TRY(settle_close_costs(r));
  return emit_round(r);
}

static void end_round(run *r) {
  search_round *now = &r->now;
  eg_extract_result_deinit(&now->extraction);
  if (now->has_problem) eg_single_problem_deinit(&now->single);
  eg_tensor_egraph_destroy(now->egraph);
  eg_saturation_report_deinit(&now->saturation);
  eg_emission_deinit(&now->emission);
  eg_graph_destroy(now->emitted);
  eg_graph_destroy(now->outcome);
  *now = (search_round){.graph = NULL};
}

static egraph_status note_original(void *user, eg_graph_node node,
                                   const eg_node_spec *spec) {
  const run *r = user;
  eg_emission *emission = &r->result->emission;
  eg_origin origin = {.reason = EG_REASON_SEED};
  EG_TRY(eg_cost_seconds(r->input->costs, spec, &origin.seconds, &origin.source));
  eg_graph_node_info info = eg_graph_node_at(r->result->graph, node);
  if (info.result_count == 0) return EGRAPH_OK;
  EG_TRY(eg_strmap_put(&emission->origin_of,
                       eg_graph_value(r->result->graph, info.results[0])->name,
                       (uint32_t)emission->origins.len));
  return eg_origins_push(&emission->origins, origin);
}

/// Keeps the given graph, which may have memory formats that no variant has, and be
/// cheaper because of them.
static egraph_status keep_original(run *r) {
  eg_emission *emission = &r->result->emission;
  EG_TRY(eg_graph_pruned(r->input->graph, &r->result->graph));
  eg_strmap_init(&emission->origin_of, r->alloc);
  eg_origins_init(&emission->origins, r->alloc);
  return eg_graph_visit_specs(r->result->graph, r->alloc, note_original, r);
}

/// Explains how rules derived the graph of a round, if that graph is kept.
static egraph_status explain_round(run *r) {
  const search_round *now = &r->now;
  double start = eg_clock_seconds();
  const eg_explained_round round = {.egraph = now->egraph,
                                    .rules = r->input->rules,
                                    .emitted = now->emitted,
                                    .found = now->outcome};
  if (r->explained == NULL) return EGRAPH_OK;
  EG_TRY(eg_explained_rounds_add(r->explained, &round));
  r->result->report.explain_seconds += eg_clock_seconds() - start;
  return EGRAPH_OK;
}

/// Keeps the cheaper graph of the round's start and end. *out_gain: relative gain.
static egraph_status conclude_round(run *r, double *out_gain) {
  search_round *now = &r->now;
  bool is_first = r->result->report.rounds == 1;
  bool is_cheaper = now->cost < now->seed_cost;
  *out_gain = is_cheaper ? (now->seed_cost - now->cost) / now->seed_cost : 0;
  if (is_first) r->first_bound = now->bound;
  if (now->bound < r->least_bound) r->least_bound = now->bound;
  if (!is_first && *out_gain > EG_PROOF_ROUNDING) r->is_all = false;
  if (is_first && now->cost > now->seed_cost) return keep_original(r);
  if (!is_first && !is_cheaper) return EGRAPH_OK;
  EG_TRY(explain_round(r));
  // The e-graph, which reads the graph that the round started from, is not used any more.
  eg_optimization *result = r->result;
  eg_graph_destroy(result->graph);
  eg_emission_deinit(&result->emission);
  result->graph = now->outcome;
  result->emission = now->emission;
  now->outcome = NULL;
  now->emission = (eg_emission){.graph = NULL};
  return EGRAPH_OK;
}

static egraph_status run_rounds(run *r) {
  egraph_report *report = &r->result->report;
  r->now.graph = r->input->graph;
  for (;;) {
    double gain;
    EG_TRY(play_round(r));
    EG_TRY(conclude_round(r, &gain));
    // If a limit applies to all rounds together, this round may have less of it than a
    // first round has.
    bool is_cut_short = r->last_stop == EG_STOP_TIME_LIMIT ||
                        r->last_stop == EG_STOP_WORK_LIMIT || r->cancelled;
    bool may_go_on = report->rounds < r->search->rounds &&
                     report->saturate_seconds < r->saturate_seconds &&
                     report->extract_seconds < r->extract_seconds &&
                     !eg_work_is_spent(&r->saturating) &&
                     !eg_work_is_spent(&r->extracting);
    report->settled = gain <= SETTLED_GAIN && !is_cut_short;
    if (report->settled || is_cut_short || r->overflowed || !may_go_on) return EGRAPH_OK;
    end_round(r);
    r->now.graph = r->result->graph;
  }
}

// ---- the report -----------------------------------------------------------------

/// Sets the status. A bound proves nothing if all costs are estimates from bytes.
static void report_status(run *r, bool is_closed) {
  egraph_report *report = &r->result->report;
  const bool is_unpriced = report->basis.unpriced != 0;
  report->status = !is_closed    ? "feasible"
                   : is_unpriced ? "optimal of what is priced"
                   : r->is_all   ? "optimal"
                                 : "optimal of the variants reached";
  if (!is_unpriced || eg_cost_basis_has_prices(&report->basis) ||
      eg_cost_basis_has_prices(&report->compared))
    return;
  report->status = "nothing is priced";
  report->bound = 0;
  report->gap = 1;
}

static egraph_status report_costs(run *r) {
  egraph_report *report = &r->result->report;
  eg_cost_model *costs = r->input->costs;
  EG_TRY(eg_graph_predict(r->input->graph, r->alloc, costs, &report->cost_before));
  EG_TRY(eg_graph_predict(r->result->graph, r->alloc, costs, &report->cost_after));
  report->bound = r->is_all ? r->first_bound : r->least_bound;
  EG_TRY(eg_proof_check_bound("optimized graph", report->bound, report->cost_after));
  report->bound = fmin(report->bound, report->cost_after); // but for rounding
  double gap = report->cost_after - report->bound;
  bool is_closed = gap <= EG_PROOF_ROUNDING * report->cost_after;
  report->gap = is_closed ? 0 : gap / report->cost_after;
  EG_TRY(eg_cost_basis_report(r->result->graph, r->alloc, costs, report));
  report->proven_over =
      r->is_all && report->left_out != 0
          ? "all variants that ONNX Runtime loads"
          : eg_proven_over(r->is_all ? EG_STOP_SATURATED : EG_STOP_NODE_LIMIT);
  report_status(r, is_closed);
  EG_TRY(eg_graph_running_nodes(r->input->graph, &report->nodes_before));
  return eg_graph_running_nodes(r->result->graph, &report->nodes_after);
}

/// Returns the share of a limit that is used up.
static double used_share(double used, double limit) {
  return limit > 0 ? used / limit : 1;
}

/// Returns why no further round followed, or why the last extraction has no proof.
static const char *why_ended(const run *r) {
  const egraph_report *report = &r->result->report;
  bool is_exact = strcmp(r->search->extractor, "ilp") == 0;
  if (r->cancelled) return "cancelled";
  if (report->settled && r->last_stop == EG_STOP_NODE_LIMIT) return "node-limit";
  if (report->settled && r->last_stop == EG_STOP_BYTE_LIMIT) return "byte-limit";
  const bool is_closed = strcmp(report->status, "feasible") != 0;
  if (report->settled && (is_closed || !is_exact)) return "settled";
  if (report->settled && report->gap <= r->search->relative_gap) return "gap";
  if (!report->settled && report->rounds >= r->search->rounds) return "round-limit";
  double time = fmax(used_share(report->saturate_seconds, r->saturate_seconds),
                     used_share(report->extract_seconds, r->extract_seconds));
  double work = fmax(used_share((double)r->saturating.done, (double)r->saturating.limit),
                     used_share((double)r->extracting.done, (double)r->extracting.limit));
  return time > work ? "time-limit" : "work-limit";
}

static egraph_status run_all(run *r) {
  egraph_status status = run_rounds(r);
  end_round(r);
  EG_TRY(status);
  eg_optimization *result = r->result;
  uint32_t rules = result->saturation.rule_count;
  EG_TRY(eg_alloc(r->alloc, rules, sizeof *result->rule_names, &result->rule_names));
  for (uint32_t i = 0; i < rules; i++)
    EG_TRY(eg_string_copy(r->alloc, eg_rule_name(r->input->rules, i),
                          &result->rule_names[i]));
  egraph_report *report = &r->result->report;
  if (r->cancelled) {
    r->is_all = false;
    report->stop = eg_stop_name(EG_STOP_CANCELLED);
    report->stop_words = eg_stop_words(EG_STOP_CANCELLED);
  }
  report->saturate_work = (double)r->saturating.done / 1e6;
  report->extract_work = (double)r->extracting.done / 1e6;
  report->busy = eg_cost_busy(r->input->costs) - r->busy_before;
  EG_TRY(report_costs(r));
  report->ended = why_ended(r);
  return EGRAPH_OK;
}

static egraph_status run_explained(run *r) {
  EG_OWNED(eg_explained_rounds, explained);
  EG_TRY(eg_explained_rounds_init(&explained, r->alloc, r->input->graph));
  r->explained = &explained;
  EG_TRY(run_all(r));
  return eg_explained_print(&explained.explained, &r->result->explanation);
}

/// Sets the limits of work (steps of saturation and extraction) for all rounds.
static egraph_status limit_work(run *r) {
  uint32_t nodes;
  EG_TRY(eg_graph_running_nodes(r->input->graph, &nodes));
  uint64_t steps = r->search->work_limit * UINT64_C(1000000);
  r->saturating.limit = steps / 2;
  r->extracting.limit = steps - steps / 2;
  if (steps != 0) return EGRAPH_OK;
  r->saturating.limit =
      (uint64_t)(1e6 * fmax(DEFAULT_HALF, SATURATION_OF_A_NODE * nodes));
  r->extracting.limit =
      (uint64_t)(1e6 * fmax(DEFAULT_HALF, EXTRACTION_OF_A_NODE * nodes));
  return EGRAPH_OK;
}

static egraph_status optimize(egraph_allocator alloc, const eg_optimizer_input *input,
                              eg_optimization **out, bool *out_overflowed) {
  const egraph_search *search = input->search;
  double seconds = search->time_limit >= 0 ? search->time_limit : DEFAULT_SECONDS;
  run r = {.input = input,
           .search = search,
           .saturate_seconds = search->saturate_time_limit >= 0
                                   ? search->saturate_time_limit
                                   : seconds / 2,
           .extract_seconds = seconds / 2,
           .alloc = alloc,
           .busy_before = eg_cost_busy(input->costs),
           .least_bound = INFINITY};
  EG_HELD(eg_optimization, result);
  EG_TRY(limit_work(&r));
  EG_TRY(eg_alloc(alloc, 1, sizeof *result, &result));
  result->alloc = alloc;
  eg_text_init(&result->explanation, alloc);
  result->saturation.alloc = alloc;
  result->report.is_order_clear = true;
  result->report.math = search->math;
  r.result = result;
  egraph_status status = eg_rule_cases_create(alloc, input->rules, &r.cases);
  if (status == EGRAPH_OK) status = search->explain ? run_explained(&r) : run_all(&r);
  eg_rule_cases_destroy(r.cases);
  EG_TRY(status);
  *out_overflowed = r.overflowed;
  EG_HAND_OVER(EGRAPH_OK, result, out);
}

/// Constants that rules multiply together may overflow, which only the data shows. Then
/// the search is repeated with the rules that keep every bit.
egraph_status eg_optimizer_run(egraph_allocator alloc, const eg_optimizer_input *input,
                               eg_optimization **out) {
  EG_TRY(eg_search_check(input->search));
  if (input->search->explain)
    EG_TRY(eg_graph_check_fixed(input->graph, "an explanation"));
  double start = eg_clock_seconds();
  bool overflowed = false;
  eg_optimization *result;
  EG_TRY(optimize(alloc, input, &result, &overflowed));
  if (overflowed) {
    eg_optimization_destroy(result);
    egraph_search search = *input->search;
    eg_optimizer_input exact = *input;
    search.math = EGRAPH_MATH_EXACT;
    exact.search = &search;
    EG_TRY(optimize(alloc, &exact, &result, &overflowed));
  }
  result->report.total_seconds = eg_clock_seconds() - start;
  *out = result;
  return EGRAPH_OK;
}

void eg_optimization_destroy(eg_optimization *result) {
  if (result == NULL) return;
  uint32_t count = result->saturation.rule_count;
  for (uint32_t i = 0; result->rule_names != NULL && i < count; i++)
    eg_string_free(result->alloc, result->rule_names[i]);
  eg_free(result->alloc, result->rule_names, count, sizeof *result->rule_names);
  eg_saturation_report_deinit(&result->saturation);
  eg_emission_deinit(&result->emission);
  eg_graph_destroy(result->graph);
  eg_text_deinit(&result->explanation);
  eg_free(result->alloc, result, 1, sizeof *result);
}
