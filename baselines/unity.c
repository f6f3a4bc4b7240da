// Unity's search (OSDI'22, sections 5 and 6) over the configurations of operators
// (soap.h): parallel operators between two operators correspond to the exchange between
// their configurations; a substitution that inserts, moves or removes them corresponds to
// another configuration of one operator.
//
//   cuts       operators that no exchange bypasses: they cut the graph into a sequence
//   backtrack  between two cuts, under each pair of their configurations: the cheapest
//              known graph is expanded first, graphs of at least alpha times the best
//              cost are left out
//   sequence   dynamic programming over the configurations at the cuts
//
// The graph is the cheapest on one device: algebra is searched before parallelization,
// not together with it as in Unity. An axis of the mesh replaces a machine view; no part
// of a graph runs on a part of the devices. There is no limit of memory.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/plan_algorithm.h"

#include <math.h>
#include <string.h>

#include "base/owner.h"
#include "baselines/soap_costs.h"

static const double ALPHA = 1.05; // the paper's
enum { MOST_STATES = 256 }; // states kept between two cuts, for a pair of configurations

typedef struct unity {
  eg_soap *soap;
  eg_soap_costs sums;
  const eg_plan_question *question;
  eg_plan_answer *out;
  uint32_t forward;      // leads of the forward graph come first
  eg_u32s table_begin;   // [pairs] of `table`
  eg_doubles table;      // [options of first][options of second]
  eg_u32s cuts;          // leads
  eg_u32s start, choice; // [leads] where searches begin; the current options
  // One search between two cuts; a state is a choice of options:
  eg_u32s states;       // [states][leads between]
  eg_doubles cost;      // [states]
  eg_bytes is_expanded; // [states]
  // Dynamic programming over the cuts; arrays [cuts][options of the cut]:
  eg_u32s row_begin; // [cuts]
  eg_doubles least;
  eg_u32s before;                 // option of the cut before
  eg_u32s between_begin, between; // options of the leads between
} unity;
EG_OWNER_DEFINE_STATIC(unity, (eg_soap_costs, sums),
                       (eg_u32s, table_begin, cuts, start, choice, states, row_begin,
                        before, between_begin, between),
                       (eg_doubles, table, cost, least), (eg_bytes, is_expanded))

static uint32_t options(const unity *u, uint32_t lead) {
  return eg_soap_option_count(u->soap, lead);
}

static double own(const unity *u, uint32_t lead) {
  return u->sums.own.data[u->sums.own_begin.data[lead] + u->choice.data[lead]];
}

static double pair_cost(const unity *u, uint32_t p) {
  const eg_soap_pair *pair = &u->sums.pairs.data[p];
  return u->table.data[u->table_begin.data[p] +
                       u->choice.data[pair->first] * options(u, pair->second) +
                       u->choice.data[pair->second]];
}

static egraph_status fill_tables(unity *u) {
  for (uint32_t p = 0; p < u->sums.pairs.len; p++) {
    const eg_soap_pair *pair = &u->sums.pairs.data[p];
    EG_TRY(eg_u32s_push(&u->table_begin, (uint32_t)u->table.len));
    for (uint32_t i = 0; i < options(u, pair->first); i++)
      for (uint32_t j = 0; j < options(u, pair->second); j++) {
        double seconds;
        EG_TRY(eg_soap_costs_pair(&u->sums, p, i, j, &seconds));
        EG_TRY(eg_doubles_push(&u->table, seconds));
      }
  }
  return EGRAPH_OK;
}

/// Finds the cuts: operators (leads) of the forward graph that no exchange between two
/// others bypasses, and the last one.
static egraph_status find_cuts(unity *u) {
  const eg_plan_model *model = u->question->model;
  uint32_t reach = 0, p = 0;
  while (u->forward < u->soap->leads.len &&
         model->values.data[u->soap->leads.data[u->forward]].phase == EG_PHASE_FORWARD)
    u->forward++;
  for (uint32_t l = 0; l < u->forward; l++) {
    if (reach <= l) EG_TRY(eg_u32s_push(&u->cuts, l));
    for (; p < u->sums.pairs.len && u->sums.pairs.data[p].first == l; p++)
      if (u->sums.pairs.data[p].second < u->forward &&
          u->sums.pairs.data[p].second > reach)
        reach = u->sums.pairs.data[p].second;
  }
  bool ends = u->cuts.len != 0 && u->cuts.data[u->cuts.len - 1] + 1 == u->forward;
  return ends || u->forward == 0 ? EGRAPH_OK : eg_u32s_push(&u->cuts, u->forward - 1);
}

// ---- between two cuts ---------------------------------------------------------------

/// Returns the sum of the costs of the operators between `from` and `to`, and of the
/// pairs [first, end): their exchanges with each other, both cuts and other leads.
static double cost_between(const unity *u, uint32_t from, uint32_t to, uint32_t first,
                           uint32_t end) {
  double sum = 0;
  for (uint32_t l = from + 1; l < to; l++)
    sum += own(u, l);
  for (uint32_t p = first; p < end; p++)
    sum += pair_cost(u, p);
  u->soap->work += to - from + end - first;
  return sum;
}

static void show(unity *u, uint32_t from, uint32_t count, size_t state) {
  if (count != 0)
    memcpy(u->choice.data + from + 1, u->states.data + state * count,
           count * sizeof(uint32_t));
}

static bool is_priced_segment(const unity *u, uint32_t from, uint32_t count) {
  for (size_t s = 0; s < u->cost.len; s++)
    if (memcmp(u->choice.data + from + 1, u->states.data + s * count,
               count * sizeof(uint32_t)) == 0)
      return true;
  return false;
}

static egraph_status keep_state(unity *u, uint32_t from, uint32_t count, double cost) {
  EG_TRY(eg_u32s_append(&u->states, u->choice.data + from + 1, count));
  EG_TRY(eg_doubles_push(&u->cost, cost));
  return eg_bytes_push(&u->is_expanded, 0);
}

/// Returns the cheapest state (choice of configurations) that is not expanded, among
/// states of at most ALPHA times the best cost; the number of states if there is none.
static size_t next_state(const unity *u, size_t best) {
  size_t next = u->cost.len;
  for (size_t s = 0; s < u->cost.len; s++)
    if (!u->is_expanded.data[s] && u->cost.data[s] <= ALPHA * u->cost.data[best] &&
        (next == u->cost.len || u->cost.data[s] < u->cost.data[next]))
      next = s;
  return next;
}

/// Expands a state: adds the states that differ in the configuration of one operator.
static egraph_status expand_state(unity *u, uint32_t from, uint32_t to, uint32_t first,
                                  uint32_t end, size_t state, size_t *best) {
  uint32_t count = to - from - 1;
  u->is_expanded.data[state] = 1;
  for (uint32_t l = from + 1; l < to; l++)
    for (uint32_t o = 0; o < options(u, l) && u->cost.len < MOST_STATES; o++) {
      show(u, from, count, state);
      if (u->choice.data[l] == o) continue;
      u->choice.data[l] = o;
      double cost = cost_between(u, from, to, first, end);
      u->out->proposals++;
      bool is_wanted = cost < ALPHA * u->cost.data[*best];
      if (!is_wanted || is_priced_segment(u, from, count)) continue;
      EG_TRY(keep_state(u, from, count, cost));
      if (cost < u->cost.data[*best]) *best = u->cost.len - 1;
    }
  return EGRAPH_OK;
}

/// Finds the best configurations between two cuts; those at the cuts are in `choice`,
/// which also gets the result.
static egraph_status backtrack(unity *u, uint32_t from, uint32_t to, uint32_t first,
                               uint32_t end, double *out) {
  uint32_t count = to - from - 1;
  size_t best = 0;
  u->states.len = u->cost.len = u->is_expanded.len = 0;
  for (uint32_t l = from + 1; l < to; l++)
    u->choice.data[l] = u->start.data[l];
  EG_TRY(keep_state(u, from, count, cost_between(u, from, to, first, end)));
  for (size_t s = 0; s < u->cost.len; s = next_state(u, best)) {
    uint64_t limit = u->question->layout.work_limit;
    if (limit != 0 && u->soap->work >= limit) u->out->stop = EG_PLAN_STOP_WORK_LIMIT;
    if (u->out->stop == EG_PLAN_STOP_WORK_LIMIT) break;
    EG_TRY(expand_state(u, from, to, first, end, s, &best));
  }
  show(u, from, count, best);
  *out = u->cost.data[best];
  return EGRAPH_OK;
}

// ---- the sequence -------------------------------------------------------------------

static egraph_status add_segment_row(unity *u, size_t cut) {
  EG_TRY(eg_u32s_push(&u->row_begin, (uint32_t)u->least.len));
  for (uint32_t o = 0; o < options(u, u->cuts.data[cut]); o++) {
    EG_TRY(eg_doubles_push(&u->least, INFINITY));
    EG_TRY(eg_u32s_push(&u->before, 0));
    EG_TRY(eg_u32s_push(&u->between_begin, (uint32_t)u->between.len));
    uint32_t inner = cut == 0 ? 0 : u->cuts.data[cut] - u->cuts.data[cut - 1] - 1;
    EG_TRY(eg_u32s_resize(&u->between, u->between.len + inner));
  }
  return EGRAPH_OK;
}

/// Returns the first pair of operators whose first one is `lead` or later.
static uint32_t pairs_from(const unity *u, uint32_t lead) {
  uint32_t p = 0;
  while (p < u->sums.pairs.len && u->sums.pairs.data[p].first < lead)
    p++;
  return p;
}

static egraph_status join_cut(unity *u, size_t cut) {
  uint32_t from = u->cuts.data[cut - 1], to = u->cuts.data[cut];
  uint32_t first = pairs_from(u, from), end = pairs_from(u, to);
  EG_TRY(add_segment_row(u, cut));
  for (uint32_t b = 0; b < options(u, to); b++)
    for (uint32_t a = 0; a < options(u, from); a++) {
      uint32_t row = u->row_begin.data[cut] + b;
      double seconds, known = u->least.data[u->row_begin.data[cut - 1] + a];
      u->choice.data[from] = a;
      u->choice.data[to] = b;
      EG_TRY(backtrack(u, from, to, first, end, &seconds));
      double sum = known + seconds + own(u, to);
      if (!(sum < u->least.data[row])) continue;
      u->least.data[row] = sum;
      u->before.data[row] = a;
      if (to - from > 1)
        memcpy(u->between.data + u->between_begin.data[row], u->choice.data + from + 1,
               (to - from - 1) * sizeof(uint32_t));
    }
  return EGRAPH_OK;
}

static void read_back(unity *u) {
  size_t cut = u->cuts.len - 1;
  uint32_t best = 0;
  for (uint32_t o = 1; o < options(u, u->cuts.data[cut]); o++)
    if (u->least.data[u->row_begin.data[cut] + o] <
        u->least.data[u->row_begin.data[cut] + best])
      best = o;
  for (;; cut--) {
    uint32_t row = u->row_begin.data[cut] + best, lead = u->cuts.data[cut];
    u->choice.data[lead] = best;
    if (cut == 0) return;
    uint32_t inner = lead - u->cuts.data[cut - 1] - 1;
    if (inner != 0)
      memcpy(u->choice.data + u->cuts.data[cut - 1] + 1,
             u->between.data + u->between_begin.data[row], inner * sizeof(uint32_t));
    best = u->before.data[row];
  }
}

static egraph_status run_segments(unity *u) {
  EG_TRY(fill_tables(u));
  EG_TRY(find_cuts(u));
  EG_TRY(eg_soap_start(u->soap, &u->start));
  EG_TRY(eg_u32s_append(&u->choice, u->start.data, u->start.len));
  if (u->cuts.len != 0) {
    EG_TRY(add_segment_row(u, 0));
    for (uint32_t o = 0; o < options(u, u->cuts.data[0]); o++) {
      u->choice.data[u->cuts.data[0]] = o;
      u->least.data[o] = own(u, u->cuts.data[0]);
    }
    for (size_t cut = 1; cut < u->cuts.len; cut++)
      EG_TRY(join_cut(u, cut));
    read_back(u);
  }
  u->out->proposals++;
  EG_TRY(eg_soap_choose(u->soap, u->choice.data));
  return eg_u32s_append(&u->out->strategy, u->soap->strategy.data, u->soap->strategy.len);
}

static egraph_status search_unity(const void *self, const eg_plan_question *question,
                                  eg_plan_answer *out) {
  (void)self;
  EG_OWNED(eg_soap, soap);
  EG_LOCAL(unity, u, question->alloc);
  EG_TRY(eg_soap_init(&soap, question, NULL));
  u.soap = &soap;
  u.question = question;
  u.out = out;
  out->stop = EG_PLAN_STOP_EXHAUSTED;
  EG_TRY(eg_soap_costs_fill(&u.sums, &soap));
  EG_TRY(run_segments(&u));
  out->work = soap.work;
  return EGRAPH_OK;
}

const eg_plan_searcher eg_unity = {
    .run = search_unity, .graphs = EG_PLAN_CHEAPEST_GRAPH, .is_whole = true};
