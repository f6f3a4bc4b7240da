// OptCNN's search (ICML'18, section 5) finds the configurations of operators (soap.h)
// with the least total cost. The cost of a step is the sum over operators of their cost
// under their configuration, with their followers, and over pairs of operators of their
// exchanges. The search eliminates the operator whose neighbours have the fewest joint
// configurations (node elimination if it has two neighbours), and adds tables of the same
// pair (edge elimination). The paper enumerates the rest when tables exceed a limit;
// here, and when the limit of work is reached, an operator takes the configuration that
// is cheapest next to data parallel neighbours, and the elimination continues. There is
// no limit of memory.
//
// A table over the options of some leads has the least cost of the eliminated leads;
// their best options are read backwards.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/plan_algorithm.h"

#include <math.h>
#include <string.h>

#include "base/owner.h"
#include "baselines/soap_costs.h"

enum { MOST_SCOPE = 8 };             // neighbours in one table
static const double MOST_ROWS = 2e5; // of a table
#define NONE EG_SOAP_NONE

/// Costs of all combinations of configurations (options) of a few operators (leads,
/// soap.h); the option of the last lead changes fastest.
typedef struct table {
  uint32_t count, lead[MOST_SCOPE];
  bool is_gone;
  size_t begin; // in eliminator.costs
} table;
EG_VEC_DEFINE(tables, table);

/// An eliminated operator, with its best configuration for each row of the joined table.
typedef struct elimination {
  uint32_t lead, table; // NONE: the lead took a fixed option
  uint32_t option;
  size_t begin; // in eliminator.best
} elimination;
EG_VEC_DEFINE(eliminations, elimination);

typedef struct eliminator {
  eg_soap *soap;
  eg_soap_costs sums;
  tables tables;
  eg_doubles costs;
  eg_u32s best;
  eliminations gone;
  eg_bytes is_gone; // [leads]
  eg_u32s choice;   // [leads]
  eg_u32s start;    // [leads] where searches begin
} eliminator;
EG_OWNER_DEFINE_STATIC(eliminator, (eg_soap_costs, sums), (tables, tables),
                       (eg_doubles, costs), (eg_u32s, best, choice, start),
                       (eliminations, gone), (eg_bytes, is_gone))

static uint32_t options(const eliminator *e, uint32_t lead) {
  return eg_soap_option_count(e->soap, lead);
}

static double rows(const eliminator *e, const table *t) {
  double count = 1;
  for (uint32_t i = 0; i < t->count; i++)
    count *= options(e, t->lead[i]);
  return count;
}

static egraph_status add_own(eliminator *e) {
  for (uint32_t l = 0; l < e->soap->leads.len; l++) {
    table t = {.count = 1, .lead = {l}, .begin = e->costs.len};
    uint32_t begin = e->sums.own_begin.data[l];
    EG_TRY(eg_doubles_append(&e->costs, e->sums.own.data + begin, options(e, l)));
    EG_TRY(tables_push(&e->tables, t));
  }
  return EGRAPH_OK;
}

static egraph_status add_pairs(eliminator *e) {
  for (uint32_t p = 0; p < e->sums.pairs.len; p++) {
    const eg_soap_pair *pair = &e->sums.pairs.data[p];
    table t = {.count = 2, .lead = {pair->first, pair->second}, .begin = e->costs.len};
    for (uint32_t i = 0; i < options(e, pair->first); i++)
      for (uint32_t j = 0; j < options(e, pair->second); j++) {
        double seconds;
        EG_TRY(eg_soap_costs_pair(&e->sums, p, i, j, &seconds));
        EG_TRY(eg_doubles_push(&e->costs, seconds));
      }
    EG_TRY(tables_push(&e->tables, t));
  }
  return EGRAPH_OK;
}

static bool has(const table *t, uint32_t lead) {
  for (uint32_t i = 0; i < t->count; i++)
    if (t->lead[i] == lead) return true;
  return false;
}

/// Lists the operators that share a cost table with a lead; false: there are too many.
static bool neighbours(const eliminator *e, uint32_t lead, table *out) {
  *out = (table){.count = 0};
  for (size_t i = 0; i < e->tables.len; i++) {
    const table *t = &e->tables.data[i];
    if (t->is_gone || !has(t, lead)) continue;
    for (uint32_t k = 0; k < t->count; k++) {
      if (t->lead[k] == lead || has(out, t->lead[k])) continue;
      if (out->count == MOST_SCOPE) return false;
      out->lead[out->count++] = t->lead[k];
    }
  }
  return true;
}

/// Returns the cost in a table for the current configurations (options) of its operators.
static double look_up(const eliminator *e, const table *t) {
  size_t at = 0;
  for (uint32_t i = 0; i < t->count; i++)
    at = at * options(e, t->lead[i]) + e->choice.data[t->lead[i]];
  return e->costs.data[t->begin + at];
}

/// Moves to the next row of a table: the next combination of options; false at the end.
static bool next_table_row(eliminator *e, const table *t) {
  for (uint32_t i = t->count; i-- > 0;) {
    uint32_t *option = &e->choice.data[t->lead[i]];
    if (++*option < options(e, t->lead[i])) return true;
    *option = 0;
  }
  return false;
}

/// Returns the configuration of an operator (lead) with the least sum in the tables
/// `mine`, under the current options of other leads; `otherwise` if every sum is
/// infinite. Changes the lead's current option.
static uint32_t cheapest_option(eliminator *e, uint32_t lead, const eg_u32s *mine,
                                uint32_t otherwise, double *out_least) {
  uint32_t best = otherwise;
  *out_least = INFINITY;
  for (uint32_t o = 0; o < options(e, lead); o++) {
    double sum = 0;
    e->choice.data[lead] = o;
    for (size_t i = 0; i < mine->len; i++)
      sum += look_up(e, &e->tables.data[mine->data[i]]);
    if (sum < *out_least) best = o;
    if (sum < *out_least) *out_least = sum;
  }
  return best;
}

/// Lists the cost tables that contain an operator (lead).
static egraph_status list_tables(const eliminator *e, uint32_t lead, eg_u32s *out) {
  out->len = 0;
  for (uint32_t i = 0; i < e->tables.len; i++)
    if (!e->tables.data[i].is_gone && has(&e->tables.data[i], lead))
      EG_TRY(eg_u32s_push(out, i));
  return EGRAPH_OK;
}

/// Joins all cost tables that contain an operator into one table over its neighbours.
static egraph_status eliminate_lead(eliminator *e, uint32_t lead, table made,
                                    eg_u32s *mine) {
  EG_TRY(list_tables(e, lead, mine));
  elimination gone = {
      .lead = lead, .table = (uint32_t)e->tables.len, .begin = e->best.len};
  made.begin = e->costs.len;
  for (uint32_t i = 0; i < made.count; i++)
    e->choice.data[made.lead[i]] = 0;
  do {
    double least;
    uint32_t best = cheapest_option(e, lead, mine, 0, &least);
    e->soap->work += (uint64_t)options(e, lead) * mine->len * 4;
    EG_TRY(eg_doubles_push(&e->costs, least));
    EG_TRY(eg_u32s_push(&e->best, best));
  } while (next_table_row(e, &made));
  for (size_t i = 0; i < mine->len; i++)
    e->tables.data[mine->data[i]].is_gone = true;
  e->is_gone.data[lead] = 1;
  EG_TRY(tables_push(&e->tables, made));
  return eliminations_push(&e->gone, gone);
}

/// Fixes the configuration of an operator (lead) that is cheapest with the start options
/// of its neighbours: its tables lose one dimension.
static egraph_status fix_lead(eliminator *e, uint32_t lead, eg_u32s *mine) {
  EG_TRY(list_tables(e, lead, mine));
  double least;
  memcpy(e->choice.data, e->start.data, e->start.len * sizeof(uint32_t));
  uint32_t best = cheapest_option(e, lead, mine, e->start.data[lead], &least);
  for (size_t i = 0; i < mine->len; i++) {
    table old = e->tables.data[mine->data[i]], made = {.begin = e->costs.len};
    for (uint32_t k = 0; k < old.count; k++)
      if (old.lead[k] != lead) made.lead[made.count++] = old.lead[k];
    for (uint32_t k = 0; k < made.count; k++)
      e->choice.data[made.lead[k]] = 0;
    e->choice.data[lead] = best;
    do
      EG_TRY(eg_doubles_push(&e->costs, look_up(e, &old)));
    while (next_table_row(e, &made));
    e->tables.data[mine->data[i]].is_gone = true;
    EG_TRY(tables_push(&e->tables, made));
  }
  e->is_gone.data[lead] = 1;
  return eliminations_push(&e->gone,
                           (elimination){.lead = lead, .table = NONE, .option = best});
}

/// Returns the operator (lead) whose elimination makes the smallest table; if all are too
/// large (not *out_fits), the operator in the most tables.
static uint32_t pick_lead(const eliminator *e, table *out, bool *out_fits) {
  uint32_t best = NONE;
  double least = INFINITY;
  *out_fits = false;
  for (uint32_t l = 0; l < e->soap->leads.len; l++) {
    table around;
    if (e->is_gone.data[l]) continue;
    bool fits = neighbours(e, l, &around) && rows(e, &around) <= MOST_ROWS;
    double size = fits ? rows(e, &around) : -(double)options(e, l);
    bool is_better = fits && !*out_fits ? true : fits == *out_fits && size < least;
    if (best != NONE && !is_better) continue;
    best = l;
    least = size;
    *out = around;
    *out_fits = fits;
  }
  return best;
}

static void read_back(eliminator *e) {
  for (size_t i = e->gone.len; i-- > 0;) {
    const elimination *gone = &e->gone.data[i];
    uint32_t option = gone->option;
    if (gone->table != NONE) {
      const table *t = &e->tables.data[gone->table];
      size_t at = 0;
      for (uint32_t k = 0; k < t->count; k++)
        at = at * options(e, t->lead[k]) + e->choice.data[t->lead[k]];
      option = e->best.data[gone->begin + at];
    }
    e->choice.data[gone->lead] = option;
  }
}

static egraph_status eliminate_all(eliminator *e, const eg_plan_question *question,
                                   eg_plan_answer *out) {
  EG_LOCAL(eg_u32s, mine, question->alloc);
  table around;
  bool fits;
  EG_TRY(add_own(e));
  EG_TRY(add_pairs(e));
  EG_TRY(eg_bytes_resize(&e->is_gone, e->soap->leads.len));
  EG_TRY(eg_u32s_resize(&e->choice, e->soap->leads.len));
  EG_TRY(eg_soap_start(e->soap, &e->start));
  for (size_t i = 0; i < e->soap->leads.len; i++) {
    bool is_spent =
        question->layout.work_limit != 0 && e->soap->work >= question->layout.work_limit;
    uint32_t lead = pick_lead(e, &around, &fits);
    if (!fits || is_spent) out->stop = EG_PLAN_STOP_WORK_LIMIT;
    EG_TRY(fits && !is_spent ? eliminate_lead(e, lead, around, &mine)
                             : fix_lead(e, lead, &mine));
  }
  read_back(e);
  out->proposals = e->best.len + 1;
  EG_TRY(eg_soap_choose(e->soap, e->choice.data));
  return eg_u32s_append(&out->strategy, e->soap->strategy.data, e->soap->strategy.len);
}

static egraph_status search_optcnn(const void *self, const eg_plan_question *question,
                                   eg_plan_answer *out) {
  (void)self;
  EG_OWNED(eg_soap, soap);
  EG_LOCAL(eliminator, e, question->alloc);
  EG_TRY(eg_soap_init(&soap, question, NULL));
  e.soap = &soap;
  out->stop = EG_PLAN_STOP_EXHAUSTED;
  EG_TRY(eg_soap_costs_fill(&e.sums, &soap));
  EG_TRY(eliminate_all(&e, question, out));
  out->work = soap.work;
  return EGRAPH_OK;
}

const eg_plan_searcher eg_optcnn = {
    .run = search_optcnn, .graphs = EG_PLAN_GIVEN_GRAPH, .is_whole = true};
