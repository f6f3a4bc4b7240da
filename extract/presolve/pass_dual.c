// Runs dual ascent with the roots in different orders and drops, after each, what the
// reduced costs put above the cutoff. On large problems, where single cuts do not get far
// in the time, once also after an ascent in bulk: the bound of a random e-graph with a
// million nodes is 227 then instead of 10.5, or 44 instead of 5.4
// (bench/random_egraph.py, both kinds).
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "base/hash.h"
#include "base/owner.h"
#include "extract/class_graph.h"
#include "extract/dual_ascent.h"
#include "extract/plain_proof.h"
#include "extract/presolve/presolve.h"

enum { ORDERS = 4, MAX_CUTS = 20000, MAX_WORK = 50000000 };
enum { BULK_NODES = 60000, BULK_ROUNDS = 8 };

typedef struct trial {
  eg_presolve *presolve;
  eg_u32s component, order, roots;
  eg_doubles price;
  eg_cuts cuts; // in proof mode
  eg_bytes drop;
  size_t dropped;
} trial;
EG_OWNER_DEFINE_STATIC(trial, (eg_u32s, component, order, roots), (eg_doubles, price),
                       (eg_bytes, drop))

// Roots children first, the other way round, and shuffled. Fixed seed: same input, same
// result.
static egraph_status order_roots(trial *t, uint32_t which) {
  t->roots.len = 0;
  for (size_t i = 0; i < t->order.len; i++) {
    uint32_t class = t->order.data[which == 1 ? t->order.len - 1 - i : i];
    if (t->presolve->index.is_root.data[class]) EG_TRY(eg_u32s_push(&t->roots, class));
  }
  eg_rng rng = {which};
  if (which > 1) eg_shuffle(&rng, t->roots.data, t->roots.len);
  return EGRAPH_OK;
}

static egraph_status ascend(trial *t, bool bulk, double *out_bound) {
  eg_presolve *presolve = t->presolve;
  const eg_extract_problem *problem = &presolve->model.problem;
  eg_ascent_limits limits = {.max_cuts = MAX_CUTS,
                             .max_work = MAX_WORK,
                             .deadline = presolve->deadline,
                             .incumbent = presolve->incumbent};
  double before = 0;
  if (bulk)
    EG_TRY(eg_level_ascent_run(presolve->alloc, problem, &presolve->index, BULK_ROUNDS,
                               eg_presolve_patience(presolve), t->price.data, &before));
  EG_TRY(eg_dual_ascent_run(problem, &presolve->index, &t->roots, limits, t->price.data,
                            out_bound, NULL));
  *out_bound += before;
  return EGRAPH_OK;
}

// Proof mode: the ascent's cuts are reported if they rule something out, and only the
// proof says what.
static egraph_status ascend_in_proof(trial *t, eg_plain_proof *proof) {
  eg_presolve *presolve = t->presolve;
  const eg_reduced *model = &presolve->model;
  eg_ascent_limits limits = {
      .max_cuts = MAX_CUTS, .max_work = MAX_WORK, .incumbent = presolve->incumbent};
  double bound;
  EG_TRY(eg_dual_ascent_run(&model->problem, &presolve->index, &t->roots, limits,
                            t->price.data, &bound, &t->cuts));
  presolve->closed = !isfinite(bound); // a root has no derivation
  if (presolve->closed) return EGRAPH_OK;
  size_t dropped = t->dropped;
  for (size_t n = 0; n < t->price.len; n++)
    dropped += !t->drop.data[n] && bound + t->price.data[n] >= presolve->cutoff;
  bool first = proof->splits.len == 0 && !isfinite(proof->best);
  if (dropped == t->dropped && bound < presolve->cutoff && !first) return EGRAPH_OK;
  t->price.len = 0;
  EG_TRY(eg_doubles_append(&t->price, model->problem.cost.data, model->problem.cost.len));
  EG_TRY(eg_plain_proof_begin(proof));
  EG_TRY(eg_plain_proof_cuts(proof, model->part.data, &t->cuts, t->price.data));
  EG_TRY(eg_plain_proof_end(proof));
  presolve->closed = proof->closed;
  for (size_t n = 0; n < t->drop.len; n++) {
    if (t->drop.data[n] || eg_plain_proof_has(proof, model->part.data[n])) continue;
    t->drop.data[n] = 1;
    t->dropped++;
  }
  return EGRAPH_OK;
}

static egraph_status run_order(trial *t, uint32_t which, bool bulk) {
  eg_presolve *presolve = t->presolve;
  const eg_extract_problem *problem = &presolve->model.problem;
  EG_TRY(order_roots(t, which));
  t->price.len = 0;
  EG_TRY(eg_doubles_append(&t->price, problem->cost.data, problem->cost.len));
  eg_plain_proof *proof = eg_presolve_proof(presolve);
  eg_cuts_clear(&t->cuts);
  if (proof != NULL) return ascend_in_proof(t, proof);
  double bound;
  EG_TRY_IN_PART(eg_presolve_clock(presolve), EGRAPH_PART_ASCENT,
                 ascend(t, bulk, &bound));
  if (!isfinite(bound)) {
    presolve->closed = true;
    return EGRAPH_OK;
  }
  return eg_presolve_mark_costly(presolve, t->price.data, presolve->model.offset + bound,
                                 t->drop.data, &t->dropped);
}

static egraph_status run_orders(trial *t, bool *changed) {
  eg_presolve *presolve = t->presolve;
  const eg_extract_problem *problem = &presolve->model.problem;
  EG_TRY(eg_components_find(problem, &presolve->index, &t->component, &t->order));
  EG_TRY(eg_bytes_resize(&t->drop, eg_extract_node_count(problem)));
  // One root has one order.
  uint32_t orders = problem->roots.len < ORDERS ? (uint32_t)problem->roots.len : ORDERS;
  for (uint32_t which = 0; which < orders && !presolve->closed; which++)
    EG_TRY(run_order(t, which, false));
  bool bulk = eg_extract_node_count(problem) >= BULK_NODES && !presolve->bulk_done;
  if (bulk && !presolve->closed) EG_TRY(run_order(t, 0, true));
  presolve->bulk_done = presolve->bulk_done || bulk;
  return eg_presolve_drop(presolve, t->drop.data, NULL, t->dropped, changed);
}

egraph_status eg_pass_dual(eg_presolve *presolve, bool *changed) {
  trial t;
  trial_init(&t, presolve->alloc);
  t.presolve = presolve;
  egraph_status status = eg_cuts_init(&t.cuts, presolve->alloc);
  if (status == EGRAPH_OK) status = run_orders(&t, changed);
  eg_cuts_deinit(&t.cuts);
  trial_deinit(&t);
  return status;
}
