// The linear relaxation. Columns are nodes; y_c stands for the sum of the nodes of class
// c, written out. Rows:
//   root c:                     sum of c's nodes >= 1
//   class p, child class d:     nodes of p with child d  <=  y_d      (aggregated)
//   cuts of one dual ascent, then the rows of separation.
// Costs are scaled so that the cutoff is 1000: GLPK's tolerances are absolute, and our
// costs may be microseconds.
// SPDX-License-Identifier: Apache-2.0
#include "extract/search/extract_search.h"

#include <math.h>

#include "base/owner.h"
#include "extract/class_graph.h"
#include "extract/dual_ascent.h"
#include "extract/ilp_glpk.h"
#include "extract/plain_proof.h"
#include "extract/presolve/reduced.h"
#include "extract/search/formulation.h"
#include "extract/search/separate.h"

enum {
  MAX_ROUNDS = 400,
  CUTS_PER_ROUND = 80,
  STALL_ROUNDS = 4,
  ASCENT_CUTS = 4000,
  ROUND_ASCENT_CUTS = 400,
  PURGE_EVERY = 5,
  MAX_CUT_ITEMS = 1000000,
  PROOF_SHARE = 20 // proof mode: at least one node in 20 must go
};
static const double SCALED_CUTOFF = 1000, SHRUNK_SHARE = 0.08, STALL_SHARE = 1e-3;

#define CUTTING_MEMBERS                                                                  \
  (eg_doubles, cost, price), (eg_u32s, above, below, roots), (eg_user_groups, users)

typedef struct cutting {
  eg_relax *relax;
  eg_extract_search *search;
  eg_presolve *presolve;
  eg_lp *lp;
  eg_lp_rows rows;
  eg_doubles cost;  // scaled, or the costs for a heuristic
  eg_doubles price; // reduced costs in original scale
  eg_user_groups users;
  eg_u32s above, below; // nodes on the two sides of a row
  eg_u32s roots;        // in the order in which dual ascent serves them
  eg_cuts cuts;         // cuts of the last dual ascent
  double scale;
  uint32_t base_rows;
  double stall_bound;
  int stall_round;
} cutting;

static void cutting_deinit(cutting *c) {
  eg_lp_destroy(c->lp);
  eg_cuts_deinit(&c->cuts);
  eg_lp_rows_deinit(&c->rows);
  EG_DEINIT_MEMBERS(c, CUTTING_MEMBERS);
}

static eg_part_clock *clock_of(const cutting *c) { return c->search->incumbent->clock; }

static egraph_status add_model_rows(cutting *c) {
  const eg_extract_problem *problem = &c->presolve->model.problem;
  const eg_class_index *index = &c->presolve->index;
  for (uint32_t class = 0; class < problem->class_count; class ++) {
    if (!index->is_root.data[class]) {
      EG_TRY(eg_rows_of_child(&c->rows, problem, index, class, &c->users));
      continue;
    }
    EG_TRY(eg_rows_add_members(&c->rows, index, class, 1));
    EG_TRY(eg_lp_rows_end(&c->rows, 1));
  }
  return EGRAPH_OK;
}

/// Orders the roots children first; reuses the order of the components.
static egraph_status order_roots(cutting *c) {
  EG_LOCAL(eg_u32s, component, c->search->alloc);
  EG_TRY(eg_components_find(&c->presolve->model.problem, &c->presolve->index, &component,
                            &c->roots));
  size_t kept = 0;
  for (size_t i = 0; i < c->roots.len; i++)
    if (c->presolve->index.is_root.data[c->roots.data[i]])
      c->roots.data[kept++] = c->roots.data[i];
  c->roots.len = kept;
  return EGRAPH_OK;
}

/// Adds cuts of the dual ascent as rows, except cuts that would make the program
/// too long.
static egraph_status add_cut_rows(cutting *c) {
  size_t items = c->rows.columns.len;
  for (uint32_t r = 0; r < eg_cuts_count(&c->cuts); r++) {
    uint32_t length = c->cuts.begin.data[r + 1] - c->cuts.begin.data[r];
    if (c->rows.columns.len - items + length > MAX_CUT_ITEMS) continue;
    for (uint32_t i = c->cuts.begin.data[r]; i < c->cuts.begin.data[r + 1]; i++)
      EG_TRY(eg_lp_rows_item(&c->rows, c->cuts.nodes.data[i], 1.0));
    EG_TRY(eg_lp_rows_end(&c->rows, 1.0));
  }
  return EGRAPH_OK;
}

/// Runs dual ascent from c->price, which becomes the reduced costs; its cuts become rows.
static egraph_status ascend_from_prices(cutting *c, uint32_t max_cuts,
                                        double *out_bound) {
  eg_cuts_clear(&c->cuts);
  eg_ascent_limits limits = {.max_cuts = max_cuts, .incumbent = c->search->incumbent};
  EG_TRY_IN_PART(clock_of(c), EGRAPH_PART_ASCENT,
                 eg_dual_ascent_run(&c->presolve->model.problem, &c->presolve->index,
                                    &c->roots, limits, c->price.data, out_bound,
                                    &c->cuts));
  return add_cut_rows(c);
}

static egraph_status flush_rows(cutting *c) {
  assert(c->lp != NULL);
  EG_TRY_IN_PART(clock_of(c), EGRAPH_PART_LP, eg_lp_add_rows(c->lp, &c->rows));
  eg_lp_rows_clear(&c->rows);
  return EGRAPH_OK;
}

static egraph_status build_program(cutting *c) {
  assert(c->lp == NULL);
  const eg_extract_problem *problem = &c->presolve->model.problem;
  double room = c->presolve->cutoff - c->presolve->model.offset;
  c->scale = isfinite(room) && room > 0 ? SCALED_CUTOFF / room : 1.0;
  EG_TRY(eg_doubles_resize(&c->cost, problem->cost.len));
  EG_TRY(eg_doubles_resize(&c->price, problem->cost.len));
  for (size_t n = 0; n < problem->cost.len; n++)
    c->cost.data[n] = problem->cost.data[n] * c->scale;
  EG_TRY(
      eg_lp_create(c->search->alloc, (uint32_t)problem->cost.len, c->cost.data, &c->lp));
  EG_TRY(add_model_rows(c));
  eg_cuts_clear(&c->cuts);
  EG_TRY(eg_reduced_list_cuts(&c->presolve->model, c->presolve->parts, &c->cuts));
  EG_TRY(add_cut_rows(c));
  c->base_rows = eg_lp_rows_count(&c->rows);
  EG_TRY(order_roots(c));
  c->price.len = 0;
  EG_TRY(eg_doubles_append(&c->price, problem->cost.data, problem->cost.len));
  double bound;
  EG_TRY(ascend_from_prices(c, ASCENT_CUTS, &bound));
  return flush_rows(c);
}

// ---- proof mode -------------------------------------------------------------------

static eg_plain_proof *proof_of(const cutting *c) { return c->search->incumbent->proof; }

/// Reports the rows of the program with their multipliers to the proof.
static egraph_status explain_rows(cutting *c) {
  assert(proof_of(c) != NULL);
  const eg_lp_rows *rows = eg_lp_rows_of(c->lp);
  const double *multiplier = eg_lp_multipliers(c->lp);
  const uint32_t *part = c->presolve->model.part.data;
  for (uint32_t r = 0; r < eg_lp_rows_count(rows); r++) {
    if (!(multiplier[r] > 0)) continue;
    c->above.len = c->below.len = 0;
    for (uint32_t i = rows->begin.data[r]; i < rows->begin.data[r + 1]; i++)
      EG_TRY(eg_u32s_push(rows->coefficients.data[i] > 0 ? &c->above : &c->below,
                          part[rows->columns.data[i]]));
    EG_TRY(eg_plain_proof_row(proof_of(c), multiplier[r] / c->scale, c->above.data,
                              (uint32_t)c->above.len, c->below.data,
                              (uint32_t)c->below.len));
  }
  return EGRAPH_OK;
}

/// Reports to the proof the program's multipliers and, unless `price` is NULL, the cuts
/// of the ascent that began with those prices; drops the nodes that the proof rules out.
static egraph_status explain_bound(cutting *c, double *price) {
  eg_plain_proof *proof = proof_of(c);
  const uint32_t *part = c->presolve->model.part.data;
  EG_TRY(eg_plain_proof_begin(proof));
  EG_TRY(explain_rows(c));
  if (price != NULL) EG_TRY(eg_plain_proof_cuts(proof, part, &c->cuts, price));
  EG_TRY(eg_plain_proof_end(proof));
  for (uint32_t n = 0; n < c->relax->drop.len; n++) {
    if (c->relax->drop.data[n] || eg_plain_proof_has(proof, part[n])) continue;
    c->relax->drop.data[n] = 1;
    c->relax->dropped++;
    EG_TRY(eg_lp_fix_zero(c->lp, n));
  }
  return EGRAPH_OK;
}

/// Writes the proof of the bound, which drops nodes. Does this only if the bound reaches
/// the cutoff, or if it drops at least one in PROOF_SHARE of the remaining nodes: an
/// explanation lists all rows in use.
static egraph_status fix_in_proof(cutting *c, double *price) {
  double more = 0;
  EG_TRY(ascend_from_prices(c, ROUND_ASCENT_CUTS, &more));
  double base = eg_lp_bound(c->lp) / c->scale + more;
  size_t dropped = 0, left = c->price.len - c->relax->dropped;
  for (size_t n = 0; n < c->price.len; n++)
    dropped += !c->relax->drop.data[n] && base + c->price.data[n] >= c->presolve->cutoff;
  if (base < c->presolve->cutoff && dropped * PROOF_SHARE < left) return EGRAPH_OK;
  return explain_bound(c, price);
}

/// Solves the linear program; copies bound and x. *out_open: false when nothing below the
/// cutoff is left.
static egraph_status solve_relaxation(cutting *c, bool *out_open) {
  const eg_reduced *model = &c->presolve->model;
  double limit = (c->presolve->cutoff - model->offset) * c->scale * (1 + 1e-7);
  eg_lp_state state;
  EG_TRY_IN_PART(clock_of(c), EGRAPH_PART_LP,
                 eg_extract_search_solve_lp(c->search->incumbent, c->lp, limit, &state));
  double bound = model->offset + eg_lp_bound(c->lp) / c->scale;
  if (bound > c->relax->bound) c->relax->bound = bound;
  c->relax->x.len = 0;
  EG_TRY(eg_doubles_append(&c->relax->x, eg_lp_values(c->lp), model->part.len));
  *out_open = state != EG_LP_INFEASIBLE && c->relax->bound < c->presolve->cutoff;
  return *out_open || proof_of(c) == NULL ? EGRAPH_OK : explain_bound(c, NULL);
}

/// Runs a dual ascent from the reduced costs: where the roots are not derivable for free,
/// its cuts are violated, add to the bound at once, and, as rows, certainly raise the
/// bound of the program. (Separation alone may cut off one optimum after the other and
/// never raise the bound: ResNet-50 stayed at 0.059075 where this reaches 0.0596.) Then
/// fixes the nodes whose costs, with landmarks, exceed the cutoff.
static egraph_status fix_nodes(cutting *c) {
  const eg_reduced *model = &c->presolve->model;
  const double *reduced = eg_lp_reduced_costs(c->lp);
  for (size_t n = 0; n < c->price.len; n++)
    c->price.data[n] = reduced[n] > 0 ? reduced[n] / c->scale : 0;
  if (proof_of(c) != NULL) {
    c->cost.len = 0;
    EG_TRY(eg_doubles_append(&c->cost, c->price.data, c->price.len));
    return fix_in_proof(c, c->cost.data);
  }
  double more = 0;
  EG_TRY(ascend_from_prices(c, ROUND_ASCENT_CUTS, &more));
  double base = model->offset + eg_lp_bound(c->lp) / c->scale + more;
  if (base > c->relax->bound) c->relax->bound = base;
  if (c->relax->bound >= c->presolve->cutoff) return EGRAPH_OK;
  uint8_t *drop = c->relax->drop.data;
  EG_TRY(eg_presolve_mark_costly(c->presolve, c->price.data, base, drop,
                                 &c->relax->dropped));
  if (c->presolve->bound > c->relax->bound) c->relax->bound = c->presolve->bound;
  for (uint32_t n = 0; n < c->price.len; n++)
    if (drop[n]) EG_TRY(eg_lp_fix_zero(c->lp, n));
  return EGRAPH_OK;
}

/// Runs greedy extraction with cheap nodes where x is large: first softly, then
/// by rounding.
static egraph_status guess_choices(cutting *c) {
  assert(c->relax->x.len == c->presolve->model.problem.cost.len);
  const eg_extract_problem *problem = &c->presolve->model.problem;
  for (int hard = 0; hard <= 1; hard++) {
    for (size_t n = 0; n < problem->cost.len; n++) {
      double x = c->relax->x.data[n] < 1 ? c->relax->x.data[n] : 1;
      double cost = problem->cost.data[n] * c->scale;
      c->cost.data[n] = hard ? (x > 0.5 ? 0 : cost + 1e-3) : (cost + 1e-6) * (1 - x);
    }
    EG_TRY(eg_extract_search_greedy(c->search, c->presolve, c->cost.data));
  }
  double cutoff = eg_extract_search_cutoff(c->search);
  if (cutoff < c->presolve->cutoff) c->presolve->cutoff = cutoff;
  return EGRAPH_OK;
}

static egraph_status separate_rows(cutting *c, uint32_t *out_count) {
  eg_separate_options options = {.presolve = c->presolve,
                                 .x = c->relax->x.data,
                                 .violation = 1e-3,
                                 .max_rows = CUTS_PER_ROUND,
                                 .rng = &c->search->rng};
  EG_TRY_IN_PART(clock_of(c), EGRAPH_PART_SEPARATION,
                 eg_separate_run(c->search->alloc, &options, &c->rows));
  *out_count = eg_lp_rows_count(&c->rows);
  eg_incumbent_count(c->search->incumbent,
                     64 * (uint64_t)c->presolve->model.problem.children.len +
                         64 * (uint64_t)c->rows.columns.len);
  return flush_rows(c);
}

static bool is_stalled(cutting *c, int round) {
  double room = c->presolve->cutoff - c->stall_bound;
  if (!(c->relax->bound - c->stall_bound < STALL_SHARE * room)) {
    c->stall_bound = c->relax->bound;
    c->stall_round = round;
  }
  return round - c->stall_round >= STALL_ROUNDS;
}

static egraph_status run_rounds(cutting *c, eg_relax_outcome *out) {
  assert(c->relax->drop.len == c->presolve->model.part.len);
  size_t nodes = c->relax->drop.len;
  for (int round = 0; round < MAX_ROUNDS; round++) {
    bool open;
    EG_TRY(solve_relaxation(c, &open));
    *out = EG_RELAX_CLOSED;
    if (!open && proof_of(c) != NULL && !proof_of(c)->closed) *out = EG_RELAX_OPEN;
    if (!open) return EGRAPH_OK;
    *out = EG_RELAX_STOPPED;
    if (eg_incumbent_stop(c->search->incumbent)) return EGRAPH_OK;
    if (proof_of(c) == NULL && (round < 4 || round % 4 == 0)) EG_TRY(guess_choices(c));
    EG_TRY(fix_nodes(c));
    *out = EG_RELAX_CLOSED;
    if (c->relax->bound >= c->presolve->cutoff) return EGRAPH_OK;
    if (proof_of(c) != NULL && proof_of(c)->closed) return EGRAPH_OK;
    *out = EG_RELAX_SHRUNK;
    if ((double)c->relax->dropped > SHRUNK_SHARE * (double)nodes) return EGRAPH_OK;
    *out = EG_RELAX_STOPPED;
    if (eg_incumbent_stop(c->search->incumbent)) return EGRAPH_OK;
    *out = EG_RELAX_OPEN;
    if (is_stalled(c, round)) return EGRAPH_OK;
    if (round % PURGE_EVERY == PURGE_EVERY - 1)
      EG_TRY(eg_lp_purge(c->lp, c->base_rows, 0.1));
    uint32_t found;
    EG_TRY(separate_rows(c, &found));
    if (found == 0) return EGRAPH_OK;
  }
  return EGRAPH_OK;
}

static egraph_status prepare_cutting(cutting *c) {
  c->relax->bound = c->presolve->bound;
  c->relax->dropped = 0;
  c->relax->drop.len = 0;
  c->stall_bound = c->relax->bound;
  EG_TRY(eg_bytes_resize(&c->relax->drop, c->presolve->model.part.len));
  EG_TRY(eg_presolve_need_landmarks(c->presolve));
  return build_program(c);
}

egraph_status eg_relax_run(eg_relax *relax, eg_extract_search *search,
                           eg_presolve *presolve, eg_relax_outcome *out) {
  EG_OWNED(cutting, c);
  EG_INIT_MEMBERS(&c, search->alloc, CUTTING_MEMBERS);
  c.relax = relax;
  c.search = search;
  c.presolve = presolve;
  EG_TRY(eg_lp_rows_init(&c.rows, search->alloc));
  EG_TRY(eg_cuts_init(&c.cuts, search->alloc));
  EG_TRY(prepare_cutting(&c));
  EG_TRY(run_rounds(&c, out));
  // In proof mode only the proof decides if the model has no better solution: the bound
  // may contain parts that the proof could not explain.
  if (proof_of(&c) != NULL && !proof_of(&c)->closed && !(relax->bound < presolve->cutoff))
    relax->bound = nextafter(presolve->cutoff, -INFINITY);
  return EGRAPH_OK;
}
