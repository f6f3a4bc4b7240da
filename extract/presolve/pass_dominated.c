// Node a goes when a node b of its class is as cheap and every child of b is needed by a
// anyway: "child of a" for the plain pass, "landmark of a child of a" for the covered
// one. Replacing a by b in a solution then adds nothing, and cannot close a cycle: what a
// needs does not depend on the class of a.
// SPDX-License-Identifier: Apache-2.0
#include "extract/plain_proof.h"

#include "base/owner.h"
#include "extract/presolve/presolve.h"

typedef struct duel {
  eg_presolve *presolve;
  bool closure;
  eg_bytes row; // [class] child of the node at hand, unless closure
  eg_bytes drop;
  size_t dropped;
} duel;
EG_OWNER_DEFINE_STATIC(duel, (eg_bytes, row, drop))

// put: true to set the bits of the children of `node`, false to clear them.
static void mark_children(duel *d, uint32_t node, bool put) {
  const eg_extract_problem *problem = &d->presolve->model.problem;
  EG_EACH_CHILD(problem, node, child) { d->row.data[child] = put; }
}

static bool needs(const duel *d, uint32_t node, uint32_t child) {
  if (!d->closure) return d->row.data[child];
  return eg_landmarks_node_has(&d->presolve->landmarks, &d->presolve->model.problem, node,
                               child);
}

// Whether `node` needs every child of `other`.
static bool covers(const duel *d, uint32_t node, uint32_t other) {
  const eg_extract_problem *problem = &d->presolve->model.problem;
  EG_EACH_CHILD(problem, other, child) {
    if (!needs(d, node, child)) return false;
  }
  return true;
}

// In proof mode only what can be explained counts.
static egraph_status is_dominated(const duel *d, uint32_t first, uint32_t last,
                                  uint32_t node, bool *out) {
  const eg_class_index *index = &d->presolve->index;
  const uint32_t *part = d->presolve->model.part.data;
  const double *cost = d->presolve->model.problem.cost.data;
  eg_plain_proof *proof = eg_presolve_proof(d->presolve);
  *out = false;
  for (uint32_t m = first; m < last && !*out; m++) {
    uint32_t other = index->members.data[m];
    *out = other != node && !d->drop.data[other] && cost[other] <= cost[node] &&
           covers(d, node, other);
    if (*out && proof != NULL)
      EG_TRY(eg_plain_proof_worse(proof, part[node], part[other], out));
  }
  return EGRAPH_OK;
}

// Backwards, so that of two equal nodes the first stays.
static egraph_status duel_class(duel *d, uint32_t class) {
  const eg_class_index *index = &d->presolve->index;
  uint32_t first = index->member_begin.data[class];
  uint32_t last = index->member_begin.data[class + 1];
  for (uint32_t m = last; m-- > first && last - first > 1;) {
    bool worse;
    if (eg_presolve_late(d->presolve)) return EGRAPH_OK;
    uint32_t node = index->members.data[m];
    if (!d->closure) mark_children(d, node, true);
    EG_TRY(is_dominated(d, first, last, node, &worse));
    if (worse) {
      d->drop.data[node] = 1;
      d->dropped++;
    }
    if (!d->closure) mark_children(d, node, false);
  }
  return EGRAPH_OK;
}

static egraph_status duel_all(duel *d, bool *changed) {
  const eg_extract_problem *problem = &d->presolve->model.problem;
  EG_TRY(eg_bytes_resize(&d->row, problem->class_count));
  EG_TRY(eg_bytes_resize(&d->drop, eg_extract_node_count(problem)));
  for (uint32_t class = 0; class < problem->class_count; class ++)
    EG_TRY(duel_class(d, class));
  return eg_presolve_drop(d->presolve, d->drop.data, NULL, d->dropped, changed);
}

static egraph_status duel_by_closure(duel *d, bool *changed) {
  d->closure = true;
  return duel_all(d, changed);
}

EG_PASS_DEFINE(dominated, duel, duel_all)
EG_PASS_DEFINE(covered, duel, duel_by_closure)
