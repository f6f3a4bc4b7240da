// Variables are eliminated in the order of the fewest labels that their neighbours have
// together (min-weight). The relations of a variable are joined, smallest first, and the
// last join minimizes over it; the base is the least cost once all variables are gone.
// Whenever relations have grown, diffusion over them raises the base, so that fewer rows
// have room.
//
// At first only variables are eliminated whose joins have few enough rows to keep them
// all: the base is then a bound (mini-bucket elimination with diffusion between the
// buckets: Dechter and Rish 2003, Ihler et al., "Join-graph based cost-shifting schemes",
// 2012). The others follow, with the cheapest rows of their joins.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_eliminate.h"

#include <math.h>

#include "base/owner.h"
#include "extract/layout/layout_encoding.h"

enum { STEP = 4 }; // of work, per step of relations (measured)
enum { MOST_VARIABLES = 1 << 14, PASSES = 20, FEW_ROWS = 500 };
enum { FEWEST_CONDENSED = 1 << 10, MOST_CONDENSED = 1 << 16, GROWTH = 4 };
static const double STANDSTILL = 0.01; // of the room above the base, per PASSES
#define NONE EG_RELATION_NONE

/// Of a variable: in relations; taken out, or of one label; its join has too many rows.
typedef enum state { PRESENT, GONE, PUT_OFF } state;

typedef struct eliminator {
  eg_layout_search *search;
  eg_cost_network network;
  eg_layout_encoding encoding;
  uint32_t vars;
  size_t words;
  eg_words near;    // [variable] row of those that share a relation
  eg_doubles width; // [variable] log of its labels
  eg_doubles score; // [variable] sum of its neighbours' widths
  eg_bytes state;   // [variable] as above
  eg_u32s order;    // variables, as they went
  eg_u32s result;   // [order] relation that knows the choice
  eg_labels label;  // [variable] of the solution
  eg_u32s joined;   // relations of the join at hand
  eg_relation unit; // of no variables: one row that costs nothing
  size_t grown;     // rows of the largest result at the last diffusion
} eliminator;

// ---- order --------------------------------------------------------------------------

static uint64_t *neighbours(const eliminator *e, uint32_t var) {
  return e->near.data + (size_t)var * e->words;
}

static void weigh(eliminator *e, uint32_t var) {
  double score = 0;
  const uint64_t *row = neighbours(e, var);
  for (size_t w = 0; w < e->words; w++)
    for (uint64_t left = row[w]; left != 0; left &= left - 1)
      score += e->width.data[w * 64 + eg_bits_lowest(left)];
  e->score.data[var] = score;
}

/// Of the variables that are left; those of one label are not.
static void find_order(eliminator *e) {
  const eg_cost_network *n = &e->network;
  memset(e->near.data, 0, e->near.len * sizeof *e->near.data);
  for (uint32_t v = 0; v < e->vars; v++) {
    uint32_t labels = 0; // that have room
    for (uint32_t i = n->costs.begin.data[v]; i < n->costs.begin.data[v + 1]; i++)
      labels += n->costs.cost.data[i] + n->maker.base <= n->maker.room;
    e->width.data[v] = log2(labels + 1e-3);
    if (n->fixed.data[v] == EG_NETWORK_FREE) continue;
    e->label.data[v] = n->fixed.data[v];
    e->state.data[v] = GONE;
  }
  for (size_t r = 0; r < n->relations.len; r++) {
    const eg_u32s *vars = &n->relations.data[r].vars;
    for (size_t i = 0; i < vars->len && !n->used.data[r]; i++)
      for (size_t k = 0; k < vars->len; k++)
        if (i != k) eg_bits_put(neighbours(e, vars->data[i]), vars->data[k]);
  }
  for (uint32_t v = 0; v < e->vars; v++)
    if (e->state.data[v] != GONE) weigh(e, v);
}

/// Raises the base, and finds an order for the variables that are left.
static egraph_status diffuse(eliminator *e) {
  EG_TRY(eg_cost_network_diffuse(&e->network, PASSES));
  find_order(e);
  return EGRAPH_OK;
}

static uint32_t choose_variable(const eliminator *e) {
  uint32_t best = NONE;
  for (uint32_t v = 0; v < e->vars; v++)
    if (e->state.data[v] == PRESENT &&
        (best == NONE || e->score.data[v] < e->score.data[best]))
      best = v;
  return best;
}

static void forget_variable(eliminator *e, uint32_t var) {
  const uint64_t *own = neighbours(e, var);
  e->state.data[var] = GONE;
  for (uint32_t v = 0; v < e->vars; v++) {
    if (e->state.data[v] == GONE || !eg_bits_has(own, v)) continue;
    uint64_t *row = neighbours(e, v);
    for (size_t w = 0; w < e->words; w++)
      row[w] |= own[w];
    eg_bits_clear(row, v);
    eg_bits_clear(row, var);
    weigh(e, v);
  }
}

// ---- elimination --------------------------------------------------------------------

/// The smallest relation with a variable that is not used yet, or NONE.
static uint32_t smallest(const eg_cost_network *n, uint32_t var) {
  uint32_t best = NONE;
  for (uint32_t i = n->first.data[var]; i != NONE; i = n->next.data[i]) {
    uint32_t r = n->entry.data[i];
    if (!n->used.data[r] &&
        (best == NONE || eg_relation_rows(&n->relations.data[r]) <
                             eg_relation_rows(&n->relations.data[best])))
      best = r;
  }
  return best;
}

/// Raises the next relation of a variable, and takes it into the join at hand.
static egraph_status hold_next(eliminator *e, uint32_t var, uint32_t *next) {
  eg_cost_network *n = &e->network;
  EG_TRY(eg_u32s_push(&e->joined, *next));
  n->used.data[*next] = 1;
  eg_relation_raise(&n->maker, &n->costs, &n->relations.data[*next]);
  *next = smallest(n, var);
  return EGRAPH_OK;
}

/// Joins the relations of a variable into `out`, without it.
static egraph_status join_all(eliminator *e, uint32_t var, eg_relation *out) {
  eg_cost_network *n = &e->network;
  uint32_t next = smallest(n, var);
  eg_relation *held = &n->relations.data[next];
  e->joined.len = 0;
  EG_TRY(hold_next(e, var, &next));
  if (next == NONE)
    return eg_relation_join(&n->maker, &n->costs, held, &e->unit, var, out);
  eg_relation joined;
  eg_relation_init(&joined, e->search->alloc);
  egraph_status status = EGRAPH_OK;
  while (status == EGRAPH_OK && next != NONE) {
    eg_relation *other = &n->relations.data[next];
    status = hold_next(e, var, &next);
    if (status == EGRAPH_OK)
      status = eg_relation_join(&n->maker, &n->costs, held, other,
                                next == NONE ? var : NONE, out);
    if (status != EGRAPH_OK || next == NONE || n->maker.failed) break;
    eg_relation spare = joined;
    joined = *out;
    *out = spare;
    held = &joined;
  }
  eg_relation_deinit(&joined);
  return status;
}

/// The relation that stands for a variable's from now on.
static egraph_status replace(eliminator *e, uint32_t var, eg_relation *result) {
  eg_cost_network *n = &e->network;
  for (uint32_t i = n->costs.begin.data[var]; i < n->costs.begin.data[var + 1]; i++)
    n->costs.cost.data[i] = 0; // they are in the rows now
  EG_TRY(eg_cost_network_add(n, result));
  uint32_t number = (uint32_t)n->relations.len - 1;
  EG_TRY(eg_cost_network_settle(n, number));
  EG_TRY(eg_u32s_push(&e->order, var));
  EG_TRY(eg_u32s_push(&e->result, number));
  forget_variable(e, var);
  return EGRAPH_OK;
}

/// *out_rows: of the result; 0 when the join failed, which gives back its relations.
static egraph_status take_out(eliminator *e, uint32_t var, size_t *out_rows) {
  eg_relation result;
  eg_relation_init(&result, e->search->alloc);
  egraph_status status = join_all(e, var, &result);
  *out_rows = eg_relation_rows(&result);
  if (status == EGRAPH_OK && !e->network.maker.failed) {
    e->network.is_empty = e->network.is_empty || *out_rows == 0;
    return replace(e, var, &result);
  }
  eg_relation_deinit(&result);
  EG_TRY(status);
  eg_cost_network *n = &e->network;
  for (size_t i = 0; i < e->joined.len; i++) {
    n->used.data[e->joined.data[i]] = 0;
    eg_relation_lower(&n->costs, &n->relations.data[e->joined.data[i]]);
  }
  e->state.data[var] = PUT_OFF;
  *out_rows = 0;
  return EGRAPH_OK;
}

static void count_steps(eliminator *e) {
  eg_layout_search_work(e->search, STEP * e->network.maker.steps);
  e->network.maker.steps = 0;
}

static bool should_stop(eliminator *e) {
  count_steps(e);
  return eg_layout_search_stop(e->search);
}

/// Takes out the variables that are present; diffuses whenever relations have grown.
static egraph_status take_out_all(eliminator *e, bool keeps_all) {
  eg_cost_network *n = &e->network;
  n->maker.keeps_all = keeps_all;
  e->grown = FEW_ROWS;
  for (uint32_t var; !n->is_empty && (var = choose_variable(e)) != NONE;) {
    size_t rows;
    EG_TRY(take_out(e, var, &rows));
    if (should_stop(e)) return EGRAPH_OK;
    if (n->is_empty || rows <= 2 * e->grown) continue;
    e->grown = rows;
    EG_TRY(diffuse(e));
  }
  return EGRAPH_OK;
}

/// Diffuses until the base stands still.
static egraph_status settle(eliminator *e) {
  eg_cost_network *n = &e->network;
  double worth = STANDSTILL * (n->maker.room - n->maker.base), before = -INFINITY;
  while (!n->is_empty && n->maker.base - before > worth && !should_stop(e)) {
    before = n->maker.base;
    EG_TRY(diffuse(e));
  }
  return EGRAPH_OK;
}

static egraph_status raise(eliminator *e, double constant, double least) {
  double proven = fmin(least, e->network.maker.lost);
  double bound = e->encoding.bound + constant + proven;
  if (isinf(bound)) return EGRAPH_OK; // nothing is left: no row is found
  return eg_layout_search_raise(e->search,
                                bound - 1e-12 * (fabs(bound) + fabs(constant)));
}

/// Variables that were put off are present again; returns whether any is left.
static bool put_back(eliminator *e) {
  bool is_left = false;
  for (uint32_t v = 0; v < e->vars; v++) {
    is_left = is_left || e->state.data[v] != GONE;
    if (e->state.data[v] == PUT_OFF) e->state.data[v] = PRESENT;
  }
  return is_left;
}

/// Takes out variables whose joins keep all rows, of few rows at first; *out_left: there
/// are more variables.
static egraph_status condense(eliminator *e, double constant, uint32_t most,
                              bool *out_left) {
  eg_cost_network *n = &e->network;
  if (most > MOST_CONDENSED) most = MOST_CONDENSED;
  n->maker.rows = most < FEWEST_CONDENSED ? most : FEWEST_CONDENSED;
  for (;; n->maker.rows *= GROWTH) {
    EG_TRY(take_out_all(e, true));
    *out_left = put_back(e);
    if (!*out_left || n->is_empty) return EGRAPH_OK;
    EG_TRY(settle(e));
    EG_TRY(raise(e, constant, n->is_empty ? INFINITY : n->maker.base));
    if (n->is_empty || should_stop(e) || n->maker.rows > most / GROWTH ||
        e->search->bound >= eg_layout_search_cutoff(e->search))
      return EGRAPH_OK;
  }
}

/// *out_found: whether a row is left in every relation.
static egraph_status run_elimination(eliminator *e, double constant, uint32_t rows,
                                     bool *out_found) {
  eg_cost_network *n = &e->network;
  bool is_left;
  *out_found = false;
  EG_TRY(eg_words_resize(&e->near, (size_t)e->vars * e->words));
  EG_TRY(eg_doubles_resize(&e->width, e->vars));
  EG_TRY(eg_doubles_resize(&e->score, e->vars));
  EG_TRY(eg_bytes_resize(&e->state, e->vars));
  EG_TRY(eg_labels_resize(&e->label, e->vars));
  EG_TRY(diffuse(e));
  EG_TRY(condense(e, constant, rows, &is_left));
  n->maker.rows = rows;
  bool is_done = !is_left || n->is_empty;
  if (!is_done && !eg_layout_search_wants_bound(e->search) && !should_stop(e)) {
    EG_TRY(take_out_all(e, false));
    is_done = !should_stop(e);
  }
  if (!is_done) n->maker.lost = 0;
  *out_found = !n->is_empty && is_done;
  return EGRAPH_OK;
}

static egraph_status offer(eliminator *e, eg_layout_eliminated *out) {
  eg_layout_search *search = e->search;
  for (size_t i = e->order.len; i-- > 0;)
    if (!eg_relation_choice(&e->network.relations.data[e->result.data[i]], e->label.data,
                            &e->label.data[e->order.data[i]]))
      return EG_FAIL(EGRAPH_E_INTERNAL, "a choice of the elimination is lost");
  EG_TRY(eg_layout_choice_clear(&search->trial, search->view));
  for (uint32_t v = 0; v < e->encoding.source.len; v++)
    EG_TRY(eg_layout_decode(&e->encoding, v, e->label.data,
                            &search->trial.strategy.data[v]));
  bool ok;
  EG_TRY(eg_layout_search_offer(search, &ok));
  memcpy(out->sum, search->trial.sum, sizeof out->sum);
  return EGRAPH_OK;
}

/// How far a run got, whose least cost is INFINITY when it found nothing.
static eg_layout_reach reach_of(const eliminator *e, double least) {
  const eg_relation_maker *maker = &e->network.maker;
  if (maker->gave_up || e->search->clock->stopped) return EG_LAYOUT_REACH_NONE;
  if (least <= maker->lost) return EG_LAYOUT_REACH_ALL;
  bool was_cut = maker->lost < maker->room || !(maker->lost > 0);
  return was_cut ? EG_LAYOUT_REACH_ROWS : EG_LAYOUT_REACH_ROOM;
}

static egraph_status eliminate(eliminator *e, double constant, uint32_t rows,
                               eg_layout_eliminated *out) {
  EG_TRY(run_elimination(e, constant, rows, &out->found));
  double least = out->found ? e->network.maker.base : INFINITY; // all of it
  if (out->found) EG_TRY(offer(e, out));
  out->reach = reach_of(e, least);
  return raise(e, constant, least);
}

// ---- the whole ----------------------------------------------------------------------

static bool stop(void *user) {
  eliminator *e = user;
  count_steps(e);
  return eg_layout_search_stop(e->search);
}

#define OWNED                                                                            \
  (eg_cost_network, network), (eg_layout_encoding, encoding), (eg_words, near),          \
      (eg_doubles, width, score), (eg_bytes, state), (eg_u32s, order, result, joined),   \
      (eg_labels, label), (eg_relation, unit)

static egraph_status run(eliminator *e, const eg_layout_elimination *options,
                         eg_layout_eliminated *out) {
  eg_layout_factors *factors = e->encoding.factors;
  *out = (eg_layout_eliminated){.reach = EG_LAYOUT_REACH_NONE};
  EG_TRY(eg_doubles_push(&e->unit.cost, 0));
  EG_TRY(eg_layout_encode(&e->encoding));
  eg_layout_search_work(e->search, STEP * factors->steps);
  factors->steps = 0;
  e->vars = eg_cost_network_vars(&e->network);
  e->words = eg_bits_words(e->vars);
  if (e->encoding.fits && e->vars <= MOST_VARIABLES)
    EG_TRY(eliminate(e, options->constant, options->rows, out));
  count_steps(e);
  return EGRAPH_OK;
}

egraph_status eg_layout_eliminate(eg_layout_search *search, eg_layout_factors *factors,
                                  const eg_layout_elimination *options,
                                  eg_layout_eliminated *out) {
  eliminator e = {.search = search};
  EG_INIT_MEMBERS(&e, search->alloc, OWNED)
  e.network.maker.room = options->room;
  e.network.maker.rows = options->rows;
  e.network.maker.stop = stop;
  e.network.maker.user = &e;
  e.encoding.factors = factors;
  e.encoding.strategy_excess = options->strategy_excess;
  e.encoding.arc_excess = options->arc_excess;
  e.encoding.network = &e.network;
  egraph_status status = run(&e, options, out);
  EG_DEINIT_MEMBERS(&e, OWNED)
  return status;
}
