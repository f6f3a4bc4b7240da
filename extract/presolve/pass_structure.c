// Passes by the structure of the problem and its costs, without a bound.
// SPDX-License-Identifier: Apache-2.0
#include "base/owner.h"
#include "extract/class_graph.h"
#include "extract/plain_proof.h"
#include "extract/presolve/presolve.h"

// ---- reach, detach ------------------------------------------------------------------

typedef struct sweep {
  eg_presolve *presolve;
  eg_u32s waiting; // [node] children that have no derivation yet; 0: the node can be used
  eg_u32s queue;   // classes
  eg_bytes derived, reached;
  eg_u32s number; // [class] new number
} sweep;
EG_OWNER_DEFINE_STATIC(sweep, (eg_u32s, waiting, queue, number),
                       (eg_bytes, derived, reached))

static egraph_status reach_class(sweep *s, uint32_t class) {
  if (s->reached.data[class]) return EGRAPH_OK;
  s->reached.data[class] = 1;
  return eg_u32s_push(&s->queue, class);
}

static egraph_status reach_all(sweep *s) {
  const eg_extract_problem *problem = &s->presolve->model.problem;
  const eg_class_index *index = &s->presolve->index;
  EG_TRY(eg_bytes_resize(&s->reached, problem->class_count));
  s->queue.len = 0;
  for (size_t i = 0; i < problem->roots.len; i++)
    EG_TRY(reach_class(s, problem->roots.data[i]));
  for (size_t done = 0; done < s->queue.len; done++) {
    uint32_t class = s->queue.data[done];
    EG_EACH_MEMBER(index, class, node) {
      if (s->waiting.data[node] != 0) continue;
      EG_EACH_CHILD(problem, node, child) { EG_TRY(reach_class(s, child)); }
    }
  }
  return EGRAPH_OK;
}

static egraph_status rebuild_reached(sweep *s, uint32_t classes) {
  const eg_reduced *model = &s->presolve->model;
  eg_reduced *next = &s->presolve->spare;
  eg_reduced_start(next, model, classes);
  for (size_t i = 0; i < model->problem.roots.len; i++)
    EG_TRY(eg_extract_problem_add_root(&next->problem,
                                       s->number.data[model->problem.roots.data[i]]));
  for (uint32_t n = 0; n < eg_extract_node_count(&model->problem); n++) {
    uint32_t class = model->problem.node_class.data[n];
    if (s->waiting.data[n] != 0 || !s->reached.data[class]) continue;
    s->queue.len = 0;
    EG_EACH_CHILD(&model->problem, n, child) {
      EG_TRY(eg_u32s_push(&s->queue, s->number.data[child]));
    }
    EG_TRY(eg_reduced_add_node(next, s->number.data[class], model->problem.cost.data[n],
                               model->part.data[n], s->queue.data,
                               (uint32_t)s->queue.len));
  }
  assert(next->problem.class_count == classes);
  return eg_presolve_swap(s->presolve);
}

static egraph_status sweep_all(sweep *s, bool *changed) {
  const eg_extract_problem *problem = &s->presolve->model.problem;
  EG_TRY(eg_derivable_find(problem, &s->presolve->index, NULL, 0, &s->derived,
                           &s->waiting, &s->queue));
  for (size_t i = 0; i < problem->roots.len; i++)
    if (!s->derived.data[problem->roots.data[i]]) s->presolve->closed = true;
  if (s->presolve->closed) return EGRAPH_OK;
  if (eg_presolve_late_now(s->presolve)) return EGRAPH_OK;
  EG_TRY(reach_all(s));
  if (eg_presolve_late_now(s->presolve)) return EGRAPH_OK;
  EG_TRY(eg_u32s_resize(&s->number, problem->class_count));
  uint32_t classes = 0;
  for (uint32_t class = 0; class < problem->class_count; class ++)
    if (s->reached.data[class]) s->number.data[class] = classes++;
  bool useless = classes != problem->class_count;
  for (uint32_t n = 0; !useless && n < eg_extract_node_count(problem); n++)
    useless = s->waiting.data[n] != 0;
  if (!useless) return EGRAPH_OK;
  *changed = true;
  s->presolve->has_landmarks = false;
  return rebuild_reached(s, classes);
}

/// Drops edges to roots. A root is derived in any case; therefore an edge to a root
/// matters only inside a strongly connected component, where it could be part of a cycle.

typedef struct detaching {
  eg_presolve *presolve;
  eg_u32s component, order;
  eg_bytes drop; // [edge]
  size_t dropped;
} detaching;
EG_OWNER_DEFINE_STATIC(detaching, (eg_u32s, component, order), (eg_bytes, drop))

static egraph_status detach_roots(detaching *d, bool *changed) {
  const eg_extract_problem *problem = &d->presolve->model.problem;
  const eg_class_index *index = &d->presolve->index;
  EG_TRY(eg_components_find(problem, index, &d->component, &d->order));
  if (eg_presolve_late_now(d->presolve)) return EGRAPH_OK;
  EG_TRY(eg_bytes_resize(&d->drop, problem->children.len));
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++)
    for (uint32_t i = problem->child_begin.data[n]; i < problem->child_begin.data[n + 1];
         i++) {
      uint32_t child = problem->children.data[i], class = problem->node_class.data[n];
      d->drop.data[i] = index->is_root.data[child] &&
                        d->component.data[child] != d->component.data[class];
      d->dropped += d->drop.data[i];
    }
  return eg_presolve_drop(d->presolve, NULL, d->drop.data, d->dropped, changed);
}

EG_PASS_DEFINE(reach, sweep, sweep_all)
EG_PASS_DEFINE(detach, detaching, detach_roots)

// ---- dominated, covered -------------------------------------------------------------
// Node a is dropped when a node b of its class is as cheap and a needs every child of b
// anyway: as a child for the plain pass, as a landmark of a child for the covered pass.
// Replacing a by b in a solution then adds nothing, and cannot close a cycle: the classes
// that a needs do not depend on the class of a.

typedef struct duel {
  eg_presolve *presolve;
  bool closure;
  eg_bytes row; // [class] child of the current node, unless closure
  eg_bytes drop;
  size_t dropped;
} duel;
EG_OWNER_DEFINE_STATIC(duel, (eg_bytes, row, drop))

/// Flags (or, unless `put`, clears) the children of `node`.
static void mark_children(duel *d, uint32_t node, bool put) {
  const eg_extract_problem *problem = &d->presolve->model.problem;
  EG_EACH_CHILD(problem, node, child) { d->row.data[child] = put; }
}

static bool needs(const duel *d, uint32_t node, uint32_t child) {
  if (!d->closure) return d->row.data[child];
  return eg_landmarks_node_has(&d->presolve->landmarks, &d->presolve->model.problem, node,
                               child);
}

/// True when `node` needs every child of `other`.
static bool covers(const duel *d, uint32_t node, uint32_t other) {
  const eg_extract_problem *problem = &d->presolve->model.problem;
  EG_EACH_CHILD(problem, other, child) {
    if (!needs(d, node, child)) return false;
  }
  return true;
}

/// True when another node dominates `node`; in proof mode the domination must
/// be explained.
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

/// Drops the dominated nodes of a class. Goes backwards, so that the first of two equal
/// nodes stays.
static egraph_status duel_class(duel *d, uint32_t class) {
  assert(class < d->presolve->model.problem.class_count);
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

egraph_status eg_pass_covered(eg_presolve *presolve, bool *changed) {
  EG_LOCAL_WITH(duel, d, presolve->alloc, .presolve = presolve, .closure = true);
  return duel_all(&d, changed);
}

EG_PASS_DEFINE(dominated, duel, duel_all)

// ---- collapse -----------------------------------------------------------------------
// A class with a single node that costs nothing is only a name for its children: users
// take the children instead. A root with a single node is paid first, once and for all,
// which makes it free.
//
//   u -> {c, x},  c = {n -> {a, b}} free    becomes    u -> {a, b, x}, and u includes n
//
// A batch takes classes none of which is a child of another, so that one substitution
// step suffices. Rows of users may grow; past a small limit the class is left alone.

enum { COLLAPSE_GROWTH = 16 };

typedef struct batch {
  eg_presolve *presolve;
  eg_bytes chosen, blocked; // [class]
  bool any;
  eg_u32s row;
} batch;
EG_OWNER_DEFINE_STATIC(batch, (eg_bytes, chosen, blocked), (eg_u32s, row))

/// Moves the only node of a root, with its cost, to the nodes that are decided.
static egraph_status pay_roots(eg_presolve *presolve, bool *changed) {
  eg_reduced *model = &presolve->model;
  for (size_t i = 0; i < model->problem.roots.len; i++) {
    uint32_t class = model->problem.roots.data[i];
    if (eg_class_index_member_count(&presolve->index, class) != 1) continue;
    uint32_t node =
        presolve->index.members.data[presolve->index.member_begin.data[class]];
    if (model->part.data[node] == EG_EXTRACT_NONE) continue;
    EG_TRY(eg_parts_join(presolve->parts, model->fixed, model->part.data[node],
                         &model->fixed));
    model->part.data[node] = EG_EXTRACT_NONE;
    model->offset += model->problem.cost.data[node];
    model->problem.cost.data[node] = 0;
    *changed = true;
  }
  return EGRAPH_OK;
}

static uint32_t only_node(const batch *b, uint32_t class) {
  return b->presolve->index.members.data[b->presolve->index.member_begin.data[class]];
}

/// True when replacing a class by its children in all its users enlarges the rows
/// only little.
static bool is_small_product(const batch *b, uint32_t class, uint32_t children) {
  uint32_t users = eg_class_index_user_count(&b->presolve->index, class);
  return children < 2 || users < 2 ||
         (uint64_t)(users - 1) * (children - 1) <= COLLAPSE_GROWTH;
}

static void choose_class(batch *b, uint32_t class) {
  const eg_extract_problem *problem = &b->presolve->model.problem;
  if (eg_class_index_member_count(&b->presolve->index, class) != 1) return;
  uint32_t node = only_node(b, class);
  if (problem->cost.data[node] > 0 || b->blocked.data[class]) return;
  uint32_t first = problem->child_begin.data[node];
  uint32_t last = problem->child_begin.data[node + 1];
  if (!is_small_product(b, class, last - first)) return;
  for (uint32_t i = first; i < last; i++)
    if (b->chosen.data[problem->children.data[i]]) return;
  for (uint32_t i = first; i < last; i++)
    b->blocked.data[problem->children.data[i]] = 1;
  b->chosen.data[class] = 1;
  b->any = true;
}

/// Appends a child; if the child collapses, appends its children instead.
static egraph_status take_child(batch *b, uint32_t child) {
  const eg_extract_problem *problem = &b->presolve->model.problem;
  if (!b->chosen.data[child]) return eg_u32s_push(&b->row, child);
  uint32_t node = only_node(b, child);
  uint32_t first = problem->child_begin.data[node];
  return eg_u32s_append(&b->row, problem->children.data + first,
                        problem->child_begin.data[node + 1] - first);
}

static egraph_status substitute_node(batch *b, uint32_t node) {
  const eg_reduced *model = &b->presolve->model;
  uint32_t part = model->part.data[node];
  b->row.len = 0;
  EG_EACH_CHILD(&model->problem, node, child) {
    EG_TRY(take_child(b, child));
    if (b->chosen.data[child] && !b->presolve->index.is_root.data[child])
      EG_TRY(eg_parts_join(b->presolve->parts, part,
                           model->part.data[only_node(b, child)], &part));
  }
  return eg_reduced_add_node(&b->presolve->spare, model->problem.node_class.data[node],
                             model->problem.cost.data[node], part, b->row.data,
                             (uint32_t)b->row.len);
}

/// Replaces collapsed roots by their children.
static egraph_status substitute_roots(batch *b) {
  const eg_extract_problem *problem = &b->presolve->model.problem;
  b->row.len = 0;
  for (size_t i = 0; i < problem->roots.len; i++)
    if (!b->chosen.data[problem->roots.data[i]])
      EG_TRY(eg_u32s_push(&b->row, problem->roots.data[i]));
  size_t kept = b->row.len;
  for (size_t i = 0; i < problem->roots.len; i++)
    if (b->chosen.data[problem->roots.data[i]])
      EG_TRY(take_child(b, problem->roots.data[i]));
  uint8_t *is_root = b->presolve->index.is_root.data; // rebuilt by the swap
  for (size_t i = 0; i < b->row.len; i++) {
    if (i >= kept && is_root[b->row.data[i]]) continue;
    is_root[b->row.data[i]] = 1;
    EG_TRY(eg_extract_problem_add_root(&b->presolve->spare.problem, b->row.data[i]));
  }
  return EGRAPH_OK;
}

static egraph_status substitute_classes(batch *b) {
  const eg_reduced *model = &b->presolve->model;
  eg_reduced *next = &b->presolve->spare;
  eg_reduced_start(next, model, model->problem.class_count);
  for (uint32_t n = 0; n < eg_extract_node_count(&model->problem); n++)
    if (!b->chosen.data[model->problem.node_class.data[n]]) EG_TRY(substitute_node(b, n));
  EG_TRY(substitute_roots(b));
  return eg_presolve_swap(b->presolve);
}

static egraph_status collapse_classes(batch *b, bool *changed) {
  uint32_t classes = b->presolve->model.problem.class_count;
  EG_TRY(pay_roots(b->presolve, changed));
  EG_TRY(eg_bytes_resize(&b->chosen, classes));
  EG_TRY(eg_bytes_resize(&b->blocked, classes));
  for (uint32_t class = 0; class < classes; class ++)
    choose_class(b, class);
  if (!b->any) return EGRAPH_OK;
  *changed = true;
  return substitute_classes(b);
}

EG_PASS_DEFINE(collapse, batch, collapse_classes)

// ---- merge --------------------------------------------------------------------------
// A class that only one node uses, and that is no root, is chosen exactly with that node:
// multiply the node by the members of the class.
//
//   n = {c, x} costs p,  c = {a costs q, b costs r}
//   becomes  n_a = {children of a, x} costs p + q,  n_b = {children of b, x} costs p + r
//
// One node fewer for each merge; products that grow the rows too much are left alone.
// Chains of merges are common, hence a structure that changes in place. The only user of
// a class needs no list: it is the exclusive or of all users when their number is one.
// Rows of dead nodes are removed from the pool when they are most of it: a tree that
// merges node by node would leave a row for each of its sizes.

enum { MERGE_GROWTH = 6 };

typedef struct bench_node {
  double cost;
  uint32_t class, part, begin, count; // children in pool
  uint32_t next;                      // next member of the same class
  bool alive;
} bench_node;
EG_VEC_DEFINE(bench_nodes, bench_node);

typedef struct bench_class {
  uint32_t head, members, users, user_xor;
  bool is_queued;
} bench_class;
EG_VEC_DEFINE(bench_classes, bench_class);

typedef struct bench {
  eg_presolve *presolve;
  bench_nodes nodes;
  bench_classes classes;
  eg_u32s pool, row, work; // work: classes that may have become mergeable
  size_t merges, in_use;   // in_use: words of the pool
} bench;
EG_OWNER_DEFINE_STATIC(bench, (bench_nodes, nodes), (bench_classes, classes),
                       (eg_u32s, pool, row, work))

static void link_user(bench *b, uint32_t node, int sign) {
  assert(sign == 1 || sign == -1);
  const bench_node *n = &b->nodes.data[node];
  for (uint32_t i = 0; i < n->count; i++) {
    bench_class *child = &b->classes.data[b->pool.data[n->begin + i]];
    child->users += (uint32_t)sign;
    child->user_xor ^= node;
  }
}

static egraph_status add_bench_node(bench *b, uint32_t class, double cost,
                                    uint32_t part) {
  assert(class < b->classes.len);
  uint32_t id = (uint32_t)b->nodes.len;
  bench_class *owner = &b->classes.data[class];
  bench_node node = {
      cost, class, part, (uint32_t)b->pool.len, (uint32_t)b->row.len, owner->head, true};
  EG_TRY(eg_u32s_append(&b->pool, b->row.data, b->row.len));
  EG_TRY(bench_nodes_push(&b->nodes, node));
  owner->head = id;
  owner->members++;
  b->in_use += node.count;
  link_user(b, id, 1);
  return EGRAPH_OK;
}

static void remove_bench_node(bench *b, uint32_t node) {
  assert(b->nodes.data[node].alive);
  link_user(b, node, -1);
  b->nodes.data[node].alive = false;
  b->in_use -= b->nodes.data[node].count;
  b->classes.data[b->nodes.data[node].class].members--;
}

static egraph_status load_bench(bench *b) {
  const eg_reduced *model = &b->presolve->model;
  EG_TRY(bench_classes_resize(&b->classes, model->problem.class_count));
  for (size_t c = 0; c < b->classes.len; c++)
    b->classes.data[c].head = EG_EXTRACT_NONE;
  for (uint32_t n = 0; n < eg_extract_node_count(&model->problem); n++) {
    uint32_t first = model->problem.child_begin.data[n];
    b->row.len = 0;
    EG_TRY(eg_u32s_append(&b->row, model->problem.children.data + first,
                          model->problem.child_begin.data[n + 1] - first));
    EG_TRY(add_bench_node(b, model->problem.node_class.data[n],
                          model->problem.cost.data[n], model->part.data[n]));
  }
  return EGRAPH_OK;
}

/// Sets b->row to the children of `user` without `class`, then the children of `member`,
/// distinct. *out_useful: false when the product would be its own child.
static egraph_status unite_children(bench *b, uint32_t user, uint32_t member,
                                    bool *out_useful) {
  const bench_node *u = &b->nodes.data[user], *m = &b->nodes.data[member];
  *out_useful = true;
  b->row.len = 0;
  for (uint32_t i = 0; i < u->count; i++)
    if (b->pool.data[u->begin + i] != m->class)
      EG_TRY(eg_u32s_push(&b->row, b->pool.data[u->begin + i]));
  size_t own = b->row.len;
  for (uint32_t i = 0; i < m->count; i++) {
    uint32_t child = b->pool.data[m->begin + i];
    if (child == u->class) *out_useful = false;
    size_t at = 0;
    while (at < own && b->row.data[at] != child)
      at++;
    if (at == own) EG_TRY(eg_u32s_push(&b->row, child));
  }
  return EGRAPH_OK;
}

static egraph_status multiply_class(bench *b, uint32_t class, uint32_t user) {
  assert(b->classes.data[class].users == 1 && b->classes.data[class].user_xor == user);
  bench_class *c = &b->classes.data[class];
  bench_node u = b->nodes.data[user];
  uint32_t member = c->head;
  for (uint32_t next; member != EG_EXTRACT_NONE; member = next) {
    bench_node m = b->nodes.data[member];
    next = m.next;
    if (!m.alive) continue;
    bool useful;
    EG_TRY(unite_children(b, user, member, &useful));
    remove_bench_node(b, member);
    if (!useful) continue;
    uint32_t part;
    EG_TRY(eg_parts_join(b->presolve->parts, u.part, m.part, &part));
    EG_TRY(add_bench_node(b, u.class, u.cost + m.cost, part));
  }
  remove_bench_node(b, user);
  b->classes.data[class].head = EG_EXTRACT_NONE;
  b->merges++;
  return EGRAPH_OK;
}

static egraph_status queue_class(bench *b, uint32_t class) {
  if (b->classes.data[class].is_queued) return EGRAPH_OK;
  b->classes.data[class].is_queued = true;
  return eg_u32s_push(&b->work, class);
}

static egraph_status queue_children(bench *b, uint32_t node) {
  const bench_node *n = &b->nodes.data[node];
  for (uint32_t i = 0; i < n->count; i++)
    EG_TRY(queue_class(b, b->pool.data[n->begin + i]));
  return EGRAPH_OK;
}

/// Removes the lists of children of dead nodes from the pool.
static void compact_pool(bench *b) {
  uint32_t end = 0;
  for (size_t n = 0; n < b->nodes.len; n++) {
    bench_node *node = &b->nodes.data[n];
    if (!node->alive) node->count = 0;
    for (uint32_t i = 0; i < node->count; i++)
      b->pool.data[end + i] = b->pool.data[node->begin + i];
    node->begin = end;
    end += node->count;
  }
  b->pool.len = end;
}

static egraph_status try_merge(bench *b, uint32_t class) {
  const bench_class *c = &b->classes.data[class];
  if (c->users != 1 || c->members == 0 || b->presolve->index.is_root.data[class])
    return EGRAPH_OK;
  uint32_t user = c->user_xor;
  const bench_node *u = &b->nodes.data[user];
  if (u->class == class || (uint64_t)(c->members - 1) * (u->count - 1) > MERGE_GROWTH)
    return EGRAPH_OK;
  uint32_t owner = u->class;
  size_t before = b->nodes.len;
  EG_TRY(multiply_class(b, class, user));
  EG_TRY(queue_children(b, user));
  for (uint32_t n = b->classes.data[owner].head; n != EG_EXTRACT_NONE && n >= before;
       n = b->nodes.data[n].next)
    EG_TRY(queue_children(b, n));
  return queue_class(b, owner);
}

static egraph_status store_bench(bench *b) {
  eg_presolve *presolve = b->presolve;
  eg_reduced *next = &presolve->spare;
  eg_reduced_start(next, &presolve->model, presolve->model.problem.class_count);
  EG_TRY(eg_u32s_append(&next->problem.roots, presolve->model.problem.roots.data,
                        presolve->model.problem.roots.len));
  for (size_t n = 0; n < b->nodes.len; n++) {
    const bench_node *node = &b->nodes.data[n];
    if (node->alive)
      EG_TRY(eg_reduced_add_node(next, node->class, node->cost, node->part,
                                 b->pool.data + node->begin, node->count));
  }
  return eg_presolve_swap(presolve);
}

/// Merges classes into their only users. Each merge removes a node, which bounds
/// the work.
static egraph_status merge_classes(bench *b, bool *changed) {
  EG_TRY(load_bench(b));
  for (uint32_t class = 0; class < b->classes.len; class ++)
    EG_TRY(queue_class(b, class));
  while (b->work.len != 0) {
    uint32_t class = eg_u32s_pop(&b->work);
    b->classes.data[class].is_queued = false;
    EG_TRY(try_merge(b, class));
    if (b->pool.len > 2 * b->in_use + b->nodes.len) compact_pool(b);
  }
  if (b->merges == 0) return EGRAPH_OK;
  *changed = true;
  return store_bench(b);
}

EG_PASS_DEFINE(merge, bench, merge_classes)
