// Searches reduced models depth first. A node of the tree is presolved with the current
// cutoff and bounded by the relaxation. When the model splits into subproblems, each is
// searched by itself (deep networks split as soon as the format of one value in the
// middle is decided; without this their blocks multiply). Otherwise the node branches on
// a class: needed (the class becomes a root) or not (the class is dropped, with its
// users); once every class is decided, it branches on a node of a class. The presolve
// does the propagation.
// SPDX-License-Identifier: Apache-2.0
#include "extract/search/exact.h"

#include <math.h>

#include "base/owner.h"
#include "extract/plain_proof.h"
#include "extract/presolve/reduced.h"
#include "extract/search/extract_search.h"
#include "extract/search/subproblems.h"

enum { MAX_DEPTH = 24 };

typedef struct open_node {
  eg_reduced model;
  double bound;
} open_node;
EG_VEC_DEFINE(open_nodes, open_node);

typedef struct tree {
  eg_extract_search *search;
  eg_presolve presolve;
  eg_relax relax;
  open_nodes open;
  double current; // bound of the current node, INFINITY between nodes
} tree;

static void tree_deinit(tree *t) {
  for (size_t i = 0; i < t->open.len; i++)
    eg_reduced_deinit(&t->open.data[i].model);
  open_nodes_deinit(&t->open);
  eg_relax_deinit(&t->relax);
  eg_presolve_deinit(&t->presolve);
}

/// Raises the incumbent's bound to min(the lowest bound of the open nodes, the cutoff).
static void update_bound(tree *t) {
  double bound = eg_extract_search_cutoff(t->search);
  if (t->current < bound) bound = t->current;
  for (size_t i = 0; i < t->open.len; i++)
    if (t->open.data[i].bound < bound) bound = t->open.data[i].bound;
  eg_incumbent_raise(t->search->incumbent, bound);
}

/// Pushes a copy of `model` as an open node; the tree owns the copy from the start.
static egraph_status push_model(tree *t, const eg_reduced *model, double bound) {
  EG_TRY(open_nodes_reserve(&t->open, t->open.len + 1));
  open_node *node = &t->open.data[t->open.len];
  *node = (open_node){.bound = bound};
  EG_TRY(eg_reduced_init(&node->model, t->search->alloc));
  t->open.len++;
  return eg_reduced_copy(&node->model, model);
}

/// A decision that splits a model: an undecided class with y near 1/2 and many users; if
/// there is none, a node: the largest node of the root with the most divided x.
/// (Preferring the middle of the graph, so that the rest splits into subproblems early,
/// was worse: 20 s and open instead of 0.6 s on ResNet-50.)
typedef struct decision {
  uint32_t class; // EG_EXTRACT_NONE: split on node
  uint32_t node;
} decision;

static double sum_of_class(const tree *t, uint32_t class) {
  const eg_class_index *index = &t->presolve.index;
  double y = 0;
  EG_EACH_MEMBER(index, class, member) { y += t->relax.x.data[member]; }
  return y;
}

static uint32_t largest_member(const tree *t, uint32_t class) {
  assert(eg_class_index_member_count(&t->presolve.index, class) != 0);
  const eg_class_index *index = &t->presolve.index;
  uint32_t best = index->members.data[index->member_begin.data[class]];
  EG_EACH_MEMBER(index, class, member) {
    if (t->relax.x.data[member] > t->relax.x.data[best]) best = member;
  }
  return best;
}

static decision decide_node(const tree *t) {
  const eg_class_index *index = &t->presolve.index;
  decision best = {EG_EXTRACT_NONE, EG_EXTRACT_NONE};
  double score = -1;
  for (uint32_t class = 0; class < t->presolve.model.problem.class_count; class ++) {
    if (eg_class_index_member_count(index, class) < 2) continue;
    uint32_t node = largest_member(t, class);
    double weight = 1 - t->relax.x.data[node] + (index->is_root.data[class] ? 1 : 0);
    if (weight > score) {
      score = weight;
      best.node = node;
    }
  }
  return best;
}

static decision decide_split(const tree *t) {
  const eg_class_index *index = &t->presolve.index;
  decision best = {EG_EXTRACT_NONE, EG_EXTRACT_NONE};
  double score = 0;
  for (uint32_t class = 0; class < t->presolve.model.problem.class_count; class ++) {
    if (index->is_root.data[class]) continue;
    double y = sum_of_class(t, class), split = y < 0.5 ? y : 1 - y;
    if (split < 1e-6) continue;
    double weight = split * (1 + log2(1 + eg_class_index_user_count(index, class)));
    if (weight > score) {
      score = weight;
      best.class = class;
    }
  }
  return best.class != EG_EXTRACT_NONE ? best : decide_node(t);
}

/// Pushes a model without the dropped nodes, and with one more root (EG_EXTRACT_NONE:
/// without another root). presolve.spare is free between passes.
static egraph_status push_child(tree *t, const uint8_t *drop, uint32_t root) {
  assert(drop != NULL);
  const eg_extract_problem *problem = &t->presolve.model.problem;
  eg_reduced *rest = &t->presolve.spare;
  eg_reduced_start(rest, &t->presolve.model, problem->class_count);
  EG_TRY(eg_u32s_append(&rest->problem.roots, problem->roots.data, problem->roots.len));
  EG_TRY(eg_u32s_append(&rest->cuts, t->presolve.model.cuts.data,
                        t->presolve.model.cuts.len));
  if (root != EG_EXTRACT_NONE) EG_TRY(eg_extract_problem_add_root(&rest->problem, root));
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++)
    if (!drop[n])
      EG_TRY(eg_reduced_copy_node(rest, problem, n, t->presolve.model.part.data[n]));
  return push_model(t, rest, t->current);
}

/// Reports a split to the proof: the side that is pushed last is searched first.
static egraph_status report_split(tree *t, decision d) {
  assert(t->search->incumbent->proof != NULL);
  const eg_class_index *index = &t->presolve.index;
  const uint32_t *part = t->presolve.model.part.data;
  eg_plain_proof *proof = t->search->incumbent->proof;
  if (d.class == EG_EXTRACT_NONE)
    return eg_plain_proof_split(proof, EG_PROOF_NODE_ONLY, part[d.node]);
  uint32_t member = part[index->members.data[index->member_begin.data[d.class]]];
  return eg_plain_proof_split(proof,
                              sum_of_class(t, d.class) >= 0.5 ? EG_PROOF_CLASS_USED
                                                              : EG_PROOF_CLASS_UNUSED,
                              proof->problem->node_class.data[member]);
}

/// Splits the model. The likelier side is pushed last, so that it is searched first. Both
/// sides inherit the nodes that the relaxation has ruled out. The side without a class
/// drops the members and users of this class.
static egraph_status split_model(tree *t) {
  const eg_class_index *index = &t->presolve.index;
  const eg_bytes *ruled_out = &t->relax.drop;
  decision d = decide_split(t);
  if (d.class == EG_EXTRACT_NONE && d.node == EG_EXTRACT_NONE) return EGRAPH_OK;
  EG_LOCAL(eg_bytes, drop, t->search->alloc);
  EG_TRY(eg_bytes_append(&drop, ruled_out->data, ruled_out->len));
  if (t->search->incumbent->proof != NULL) EG_TRY(report_split(t, d));
  if (d.class != EG_EXTRACT_NONE) {
    bool likely = sum_of_class(t, d.class) >= 0.5;
    if (!likely) EG_TRY(push_child(t, ruled_out->data, d.class));
    EG_EACH_MEMBER(index, d.class, member) { drop.data[member] = 1; }
    EG_EACH_USER(index, d.class, user) { drop.data[user] = 1; }
    EG_TRY(push_child(t, drop.data, EG_EXTRACT_NONE));
    return likely ? push_child(t, ruled_out->data, d.class) : EGRAPH_OK;
  }
  drop.data[d.node] = 1;
  EG_TRY(push_child(t, drop.data, EG_EXTRACT_NONE));
  drop.data[d.node] = 0;
  EG_EACH_MEMBER(index, t->presolve.model.problem.node_class.data[d.node], member) {
    if (member != d.node) drop.data[member] = 1;
  }
  return push_child(t, drop.data, EG_EXTRACT_NONE);
}

static egraph_status search_subproblem(tree *t, eg_subproblems *subproblems,
                                       eg_subproblem *subproblem, bool *out_closed) {
  assert(subproblem->state == EG_SUBPROBLEM_OPEN);
  double rest = t->presolve.model.offset + eg_subproblems_bound(subproblems, subproblem);
  double outer = eg_extract_search_cutoff(t->search) - rest;
  *out_closed = subproblem->incumbent.bound >= outer;
  if (*out_closed) return EGRAPH_OK;
  subproblem->incumbent.outer_rest = -INFINITY; // no bound of the other open nodes
  bool closed;
  EG_TRY(eg_branch_run(t->search->alloc, &subproblem->incumbent, outer,
                       t->search->depth + 1, &closed));
  if (!closed) return EGRAPH_OK;
  subproblem->state = EG_SUBPROBLEM_SOLVED;
  *out_closed = !(subproblem->incumbent.cost < outer);
  eg_incumbent_raise(&subproblem->incumbent, subproblem->incumbent.cost);
  return EGRAPH_OK;
}

/// Searches the subproblems, small ones first. If a subproblem has nothing below its
/// cutoff, the node of the tree is closed.
static egraph_status search_subproblems(tree *t, eg_subproblems *subproblems,
                                        eg_relax_outcome *out) {
  const eg_reduced *model = &t->presolve.model;
  EG_LOCAL(eg_u32s, choice, t->search->alloc);
  EG_TRY(
      eg_u32s_append(&choice, t->search->best_choice.data, t->search->best_choice.len));
  for (size_t i = 0; i < subproblems->len; i++) {
    EG_TRY(eg_subproblem_seed(&subproblems->data[i], &model->problem, choice.data));
    EG_TRY(eg_subproblem_bound(&subproblems->data[i]));
  }
  *out = EG_RELAX_CLOSED;
  for (size_t i = 0; i < subproblems->len; i++) {
    eg_subproblem *subproblem = &subproblems->data[i];
    bool closed;
    EG_TRY(search_subproblem(t, subproblems, subproblem, &closed));
    if (closed) return EGRAPH_OK;
    eg_subproblem_adopt(subproblem, choice.data);
    double bound = model->offset + eg_subproblems_bound(subproblems, NULL);
    if (bound > t->current) t->current = bound;
    if (subproblem->state != EG_SUBPROBLEM_OPEN) continue;
    *out = EG_RELAX_STOPPED;
    break;
  }
  double cost;
  return eg_extract_search_offer(t->search, model, choice.data, &cost);
}

static egraph_status try_subproblems(tree *t, bool *out_done, eg_relax_outcome *out) {
  *out_done = false;
  if (t->search->depth >= MAX_DEPTH || t->search->incumbent->tree_limit != 0)
    return EGRAPH_OK;
  __attribute__((cleanup(eg_subproblems_destroy))) eg_subproblems subproblems;
  eg_subproblems_init(&subproblems, t->search->alloc);
  EG_OWNED(eg_cuts, cuts);
  EG_TRY(eg_cuts_init(&cuts, t->search->alloc));
  EG_TRY(eg_reduced_list_cuts(&t->presolve.model, &t->search->parts, &cuts));
  EG_TRY(eg_subproblems_split(&subproblems, &t->presolve.model.problem, &cuts,
                              t->search->incumbent));
  *out_done = subproblems.len > 1;
  return *out_done ? search_subproblems(t, &subproblems, out) : EGRAPH_OK;
}

/// Runs presolve and relaxation in turn, while the relaxation removes many nodes.
static egraph_status bound_current(tree *t, eg_relax_outcome *out) {
  for (;;) {
    t->presolve.cutoff = eg_extract_search_cutoff(t->search);
    EG_TRY(eg_presolve_run(&t->presolve));
    if (t->presolve.bound > t->current) t->current = t->presolve.bound;
    *out = EG_RELAX_CLOSED;
    if (t->presolve.closed) return EGRAPH_OK;
    t->search->best_cost = INFINITY; // it belongs to another model
    EG_TRY(eg_extract_search_greedy(t->search, &t->presolve,
                                    t->presolve.model.problem.cost.data));
    if (!isfinite(t->search->best_cost)) return EGRAPH_OK; // a root has no derivation
    t->presolve.cutoff = eg_extract_search_cutoff(t->search);
    if (t->current >= t->presolve.cutoff) return EGRAPH_OK;
    update_bound(t);
    *out = EG_RELAX_STOPPED;
    if (eg_incumbent_stop(t->search->incumbent)) return EGRAPH_OK;
    bool done;
    EG_TRY(try_subproblems(t, &done, out));
    if (done) return EGRAPH_OK;
    EG_TRY(eg_relax_run(&t->relax, t->search, &t->presolve, out));
    if (t->relax.bound > t->current) t->current = t->relax.bound;
    update_bound(t);
    if (*out != EG_RELAX_SHRUNK) return EGRAPH_OK;
    EG_TRY(eg_presolve_filter(&t->presolve, t->relax.drop.data, NULL));
  }
}

/// Presolves and bounds a node of the search tree, and frees it once it is loaded.
static egraph_status load_and_bound(tree *t, eg_reduced *model, eg_relax_outcome *out) {
  *out = EG_RELAX_CLOSED;
  egraph_status status = EGRAPH_OK;
  bool is_open = t->current < eg_extract_search_cutoff(t->search);
  if (is_open) status = eg_presolve_load(&t->presolve, model);
  eg_reduced_deinit(model);
  EG_TRY(status);
  return is_open ? bound_current(t, out) : EGRAPH_OK;
}

/// Takes the top node of the stack and bounds or splits it. *out_done: false when time
/// ran out meanwhile.
static egraph_status work_on_top(tree *t, bool *out_done) {
  assert(t->open.len != 0);
  open_node node = t->open.data[--t->open.len];
  eg_relax_outcome outcome;
  t->current = node.bound;
  EG_TRY(load_and_bound(t, &node.model, &outcome));
  eg_plain_proof *proof = t->search->incumbent->proof;
  if (proof != NULL && outcome == EG_RELAX_CLOSED) EG_TRY(eg_plain_proof_close(proof));
  if (proof != NULL && proof->failed) outcome = EG_RELAX_STOPPED;
  if (outcome == EG_RELAX_OPEN) EG_TRY(split_model(t));
  *out_done = outcome != EG_RELAX_STOPPED;
  if (*out_done) t->current = INFINITY;
  return EGRAPH_OK;
}

static egraph_status explore_tree(tree *t, bool *out_closed) {
  EG_TRY(eg_reduced_from(&t->presolve.spare, t->search->incumbent->problem));
  if (t->search->incumbent->cuts != NULL)
    EG_TRY(eg_reduced_load_cuts(&t->presolve.spare, &t->search->parts,
                                t->search->incumbent->cuts));
  EG_TRY(push_model(t, &t->presolve.spare, t->search->incumbent->bound));
  uint32_t limit = t->search->incumbent->tree_limit;
  for (uint32_t nodes = 1; t->open.len != 0; nodes++) {
    bool done;
    EG_TRY(work_on_top(t, &done));
    update_bound(t);
    if (!done) return EGRAPH_OK;
    if (t->open.len != 0 && (nodes == limit || eg_incumbent_stop(t->search->incumbent)))
      return EGRAPH_OK;
  }
  *out_closed = true;
  return EGRAPH_OK;
}

egraph_status eg_branch_run(egraph_allocator alloc, eg_incumbent *incumbent,
                            double outer_cutoff, uint32_t depth, bool *out_closed) {
  *out_closed = false;
  EG_OWNED(eg_extract_search, search);
  eg_extract_search_init(&search, alloc, incumbent, outer_cutoff);
  search.depth = depth;
  EG_OWNED(tree, t);
  open_nodes_init(&t.open, alloc);
  eg_relax_init(&t.relax, alloc);
  t.search = &search;
  t.current = INFINITY;
  EG_TRY(eg_presolve_init(&t.presolve, alloc, &search.parts));
  eg_presolve_serve(&t.presolve, incumbent);
  return explore_tree(&t, out_closed);
}
