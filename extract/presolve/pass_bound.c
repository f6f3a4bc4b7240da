// Passes by landmarks, each by one visit of every node, and the pass by dual ascent.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "base/hash.h"
#include "base/owner.h"
#include "extract/class_graph.h"
#include "extract/dual_ascent.h"
#include "extract/plain_proof.h"
#include "extract/presolve/landmarks.h"
#include "extract/presolve/presolve.h"

// ---- landmarks ----------------------------------------------------------------------

typedef struct scan {
  eg_presolve *presolve;
  eg_words roots;
  eg_landmark_sums sums;
  eg_u32s cut;  // parts; or a row
  eg_u32s hits; // [class] nodes of the cut
  eg_bytes drop;
  eg_doubles least;
  size_t dropped;
} scan;
EG_OWNER_DEFINE_STATIC(scan, (eg_words, roots), (eg_landmark_sums, sums),
                       (eg_u32s, cut, hits), (eg_bytes, drop), (eg_doubles, least))

static egraph_status drop_cyclic(scan *s, bool *changed) {
  eg_presolve *presolve = s->presolve;
  const eg_extract_problem *problem = &presolve->model.problem;
  EG_TRY(eg_bytes_resize(&s->drop, eg_extract_node_count(problem)));
  for (uint32_t n = 0; n < s->drop.len; n++) {
    uint32_t class = problem->node_class.data[n];
    s->drop.data[n] = eg_landmarks_node_has(&presolve->landmarks, problem, n, class);
    s->dropped += s->drop.data[n];
  }
  return eg_presolve_drop(presolve, s->drop.data, NULL, s->dropped, changed);
}

/// Drops children that another child needs. If two children need each other, one of them
/// stays, because only children not yet dropped are compared.
static egraph_status drop_implied(scan *s, bool *changed) {
  eg_presolve *presolve = s->presolve;
  const eg_extract_problem *problem = &presolve->model.problem;
  const uint32_t *children = problem->children.data;
  EG_TRY(eg_bytes_resize(&s->drop, problem->children.len));
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++) {
    uint32_t first = problem->child_begin.data[n],
             last = problem->child_begin.data[n + 1];
    if (eg_presolve_late(presolve)) break;
    for (uint32_t i = first; i < last; i++)
      for (uint32_t j = first; j < last && !s->drop.data[i]; j++)
        if (j != i && !s->drop.data[j] &&
            eg_landmarks_has(&presolve->landmarks, children[j], children[i]))
          s->drop.data[i] = 1;
    for (uint32_t i = first; i < last; i++)
      s->dropped += s->drop.data[i];
  }
  return eg_presolve_drop(presolve, NULL, s->drop.data, s->dropped, changed);
}

/// Sets s->roots to the landmarks of all roots, without empty classes.
static egraph_status find_forced(scan *s) {
  eg_presolve *presolve = s->presolve;
  const eg_extract_problem *problem = &presolve->model.problem;
  EG_TRY(eg_words_resize(&s->roots, eg_bits_words(problem->class_count)));
  for (size_t i = 0; i < problem->roots.len; i++) {
    eg_bits_put(s->roots.data, problem->roots.data[i]);
    if (!presolve->has_landmarks) continue;
    s->cut.len = 0;
    EG_TRY(eg_landmarks_list(&presolve->landmarks, problem->roots.data[i], &s->cut));
    for (size_t k = 0; k < s->cut.len; k++)
      eg_bits_put(s->roots.data, s->cut.data[k]);
  }
  return EGRAPH_OK;
}

/// True for a user of a forced class d whose other children do not need d: every solution
/// contains such a user, by the cut of the set of classes that need d. Detaching d would
/// hide the cut from later passes, so the cut is kept.
static bool is_last_need(const scan *s, uint32_t node, uint32_t needed) {
  assert(s->presolve->has_landmarks);
  const eg_landmarks *landmarks = &s->presolve->landmarks;
  const eg_extract_problem *problem = &s->presolve->model.problem;
  if (!eg_landmarks_has(landmarks, problem->node_class.data[node], needed)) return false;
  EG_EACH_CHILD(problem, node, child) {
    if (child != needed && eg_landmarks_has(landmarks, child, needed)) return false;
  }
  return true;
}

/// Fills s->cut with the cut of a class. *out_useful: false when every solution meets the
/// cut because of a root, all of whose nodes are in the cut.
static egraph_status fill_cut(scan *s, uint32_t class, bool *out_useful) {
  const eg_presolve *presolve = s->presolve;
  const eg_class_index *index = &presolve->index;
  const uint32_t *class_of = presolve->model.problem.node_class.data;
  uint32_t first = index->user_begin.data[class],
           last = index->user_begin.data[class + 1];
  *out_useful = true;
  s->cut.len = 0;
  for (uint32_t u = first; u < last; u++)
    s->hits.data[class_of[index->users.data[u]]] = 0;
  for (uint32_t u = first; u < last; u++) {
    uint32_t node = index->users.data[u], owner = class_of[node];
    if (!is_last_need(s, node, class)) continue;
    EG_TRY(eg_u32s_push(&s->cut, presolve->model.part.data[node]));
    if (index->is_root.data[owner] &&
        ++s->hits.data[owner] == eg_class_index_member_count(index, owner))
      *out_useful = false;
  }
  return EGRAPH_OK;
}

static egraph_status keep_cut(scan *s, uint32_t class) {
  bool useful;
  uint32_t id;
  EG_TRY(fill_cut(s, class, &useful));
  if (!useful) return EGRAPH_OK;
  EG_TRY(eg_parts_add_cut(s->presolve->parts, s->cut.data, (uint32_t)s->cut.len, &id));
  return eg_u32s_push(&s->presolve->model.cuts, id);
}

static egraph_status root_forced(scan *s, bool *changed) {
  eg_presolve *presolve = s->presolve;
  EG_TRY(find_forced(s));
  EG_TRY(eg_u32s_resize(&s->hits, presolve->model.problem.class_count));
  for (uint32_t class = 0; class < presolve->model.problem.class_count; class ++) {
    if (!eg_bits_has(s->roots.data, class) || presolve->index.is_root.data[class] ||
        eg_class_index_member_count(&presolve->index, class) == 0)
      continue;
    EG_TRY(keep_cut(s, class));
    EG_TRY(eg_extract_problem_add_root(&presolve->model.problem, class));
    presolve->index.is_root.data[class] = 1;
    *changed = true;
  }
  return EGRAPH_OK;
}

/// Finds the cheapest price of each class; 0 for an empty class.
static egraph_status find_least_prices(scan *s, const double *price) {
  const eg_class_index *index = &s->presolve->index;
  EG_TRY(eg_doubles_resize(&s->least, s->presolve->model.problem.class_count));
  for (uint32_t class = 0; class < s->least.len; class ++) {
    uint32_t first = index->member_begin.data[class];
    uint32_t last = index->member_begin.data[class + 1];
    if (first == last) continue;
    double least = price[index->members.data[first]];
    for (uint32_t m = first + 1; m < last; m++)
      if (price[index->members.data[m]] < least) least = price[index->members.data[m]];
    s->least.data[class] = least;
  }
  return EGRAPH_OK;
}

/// Returns a lower bound of the cost that `node` adds to the classes that the roots need.
static double extra_of(scan *s, const double *price, uint32_t node) {
  const eg_presolve *presolve = s->presolve;
  uint32_t class = presolve->model.problem.node_class.data[node];
  double extra = price[node];
  if (eg_bits_has(s->roots.data, class)) extra -= s->least.data[class];
  return presolve->has_landmarks ? extra + eg_landmark_sums_of(&s->sums, node) : extra;
}

static egraph_status mark_costly(scan *s, const double *price, double base,
                                 uint8_t *drop_node, size_t *dropped) {
  eg_presolve *presolve = s->presolve;
  EG_TRY(find_forced(s));
  EG_TRY(find_least_prices(s, price));
  if (presolve->has_landmarks)
    EG_TRY(eg_landmark_sums_start(&s->sums, &presolve->landmarks,
                                  &presolve->model.problem, s->least.data,
                                  s->roots.data));
  double least = 0;
  EG_EACH_BIT(s->roots.data, s->roots.len, class) { least += s->least.data[class]; }
  double bound = base + least;
  if (bound > presolve->bound) presolve->bound = bound;
  if (bound >= presolve->cutoff) presolve->closed = true;
  for (uint32_t n = 0; n < eg_extract_node_count(&presolve->model.problem); n++) {
    if (eg_presolve_late(presolve)) break;
    if (drop_node[n] || bound + extra_of(s, price, n) < presolve->cutoff) continue;
    drop_node[n] = 1;
    (*dropped)++;
  }
  return EGRAPH_OK;
}

egraph_status eg_presolve_mark_costly(eg_presolve *presolve, const double *price,
                                      double base, uint8_t *drop_node, size_t *dropped) {
  EG_LOCAL(scan, s, presolve->alloc);
  s.presolve = presolve;
  return mark_costly(&s, price, base, drop_node, dropped);
}

static egraph_status drop_costly(scan *s, bool *changed) {
  eg_presolve *presolve = s->presolve;
  EG_TRY(eg_bytes_resize(&s->drop, eg_extract_node_count(&presolve->model.problem)));
  EG_TRY(mark_costly(s, presolve->model.problem.cost.data, presolve->model.offset,
                     s->drop.data, &s->dropped));
  return eg_presolve_drop(presolve, s->drop.data, NULL, s->dropped, changed);
}

EG_PASS_DEFINE(cyclic, scan, drop_cyclic)
EG_PASS_DEFINE(implied, scan, drop_implied)
EG_PASS_DEFINE(forced, scan, root_forced)
EG_PASS_DEFINE(bound, scan, drop_costly)

// ---- dual ascent --------------------------------------------------------------------
// Runs dual ascent with the roots in different orders and drops, after each, the nodes
// that reduced costs put above the cutoff. On large problems, where single cuts do not
// get far in the time, once also after an ascent in bulk: the bound of a random e-graph
// with a million nodes is then 227 instead of 10.5, or 44 instead of 5.4
// (bench/random_egraph.py, both kinds).

enum { ORDERS = 4, MAX_CUTS = 20000, MAX_WORK = 50000000 };
enum { BULK_NODES = 60000, BULK_ROUNDS = 8 };

typedef struct trial {
  eg_presolve *presolve;
  eg_u32s component, order, roots;
  eg_doubles price;
  eg_cuts *cuts; // cuts, in proof mode
  eg_bytes drop;
  size_t dropped;
} trial;
EG_OWNER_DEFINE_STATIC(trial, (eg_u32s, component, order, roots), (eg_doubles, price),
                       (eg_bytes, drop))

/// Orders the roots: children first, reversed, or shuffled, depending on `which`. Fixed
/// seed: same input, same result.
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

static egraph_status ascend_roots(trial *t, bool bulk, double *out_bound) {
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

/// In proof mode: reports the ascent's cuts if they rule a node out, and drops only nodes
/// that the proof rules out.
static egraph_status ascend_in_proof(trial *t, eg_plain_proof *proof) {
  eg_presolve *presolve = t->presolve;
  const eg_reduced *model = &presolve->model;
  eg_ascent_limits limits = {
      .max_cuts = MAX_CUTS, .max_work = MAX_WORK, .incumbent = presolve->incumbent};
  double bound;
  EG_TRY(eg_dual_ascent_run(&model->problem, &presolve->index, &t->roots, limits,
                            t->price.data, &bound, t->cuts));
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
  EG_TRY(eg_plain_proof_cuts(proof, model->part.data, t->cuts, t->price.data));
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
  eg_cuts_clear(t->cuts);
  if (proof != NULL) return ascend_in_proof(t, proof);
  double bound;
  EG_TRY_IN_PART(eg_presolve_clock(presolve), EGRAPH_PART_ASCENT,
                 ascend_roots(t, bulk, &bound));
  if (!isfinite(bound)) {
    presolve->closed = true;
    return EGRAPH_OK;
  }
  return eg_presolve_mark_costly(presolve, t->price.data, presolve->model.offset + bound,
                                 t->drop.data, &t->dropped);
}

egraph_status eg_pass_dual(eg_presolve *presolve, bool *changed) {
  const eg_extract_problem *problem = &presolve->model.problem;
  EG_OWNED(eg_cuts, cuts);
  EG_TRY(eg_cuts_init(&cuts, presolve->alloc));
  EG_LOCAL_WITH(trial, t, presolve->alloc, .presolve = presolve, .cuts = &cuts);
  EG_TRY(eg_components_find(problem, &presolve->index, &t.component, &t.order));
  EG_TRY(eg_bytes_resize(&t.drop, eg_extract_node_count(problem)));
  // A single root has only one order.
  uint32_t orders = problem->roots.len < ORDERS ? (uint32_t)problem->roots.len : ORDERS;
  for (uint32_t which = 0; which < orders && !presolve->closed; which++)
    EG_TRY(run_order(&t, which, false));
  bool bulk = eg_extract_node_count(problem) >= BULK_NODES && !presolve->bulk_done;
  if (bulk && !presolve->closed) EG_TRY(run_order(&t, 0, true));
  presolve->bulk_done = presolve->bulk_done || bulk;
  return eg_presolve_drop(presolve, t.drop.data, NULL, t.dropped, changed);
}
