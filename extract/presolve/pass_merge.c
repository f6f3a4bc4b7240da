// A class that only one node uses, and that is no root, is chosen exactly with that node:
// multiply the node by the members of the class.
//
//   n = {c, x} costs p,  c = {a costs q, b costs r}
//   becomes  n_a = {children of a, x} costs p + q,  n_b = {children of b, x} costs p + r
//
// One node fewer for each merge; products that grow the rows too much are left alone.
// Chains of merges are common, hence a structure that changes in place. The only user of
// a class needs no list: the exclusive or of all users is it when their number is one.
// Rows of nodes that are gone are dropped from the pool when they are most of it: a tree
// that merges node by node would leave a row for each of its sizes.
// SPDX-License-Identifier: Apache-2.0
#include "extract/presolve/presolve.h"

#include "base/owner.h"

enum { MAX_GROWTH = 6 };

typedef struct bench_node {
  double cost;
  uint32_t class, part, begin, count; // children in pool
  uint32_t next;                      // member of the same class
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
  const bench_node *n = &b->nodes.data[node];
  for (uint32_t i = 0; i < n->count; i++) {
    bench_class *child = &b->classes.data[b->pool.data[n->begin + i]];
    child->users += (uint32_t)sign;
    child->user_xor ^= node;
  }
}

static egraph_status add_node(bench *b, uint32_t class, double cost, uint32_t part) {
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

static void remove_node(bench *b, uint32_t node) {
  link_user(b, node, -1);
  b->nodes.data[node].alive = false;
  b->in_use -= b->nodes.data[node].count;
  b->classes.data[b->nodes.data[node].class].members--;
}

static egraph_status load(bench *b) {
  const eg_reduced *model = &b->presolve->model;
  EG_TRY(bench_classes_resize(&b->classes, model->problem.class_count));
  for (size_t c = 0; c < b->classes.len; c++)
    b->classes.data[c].head = EG_EXTRACT_NONE;
  for (uint32_t n = 0; n < eg_extract_node_count(&model->problem); n++) {
    uint32_t first = model->problem.child_begin.data[n];
    b->row.len = 0;
    EG_TRY(eg_u32s_append(&b->row, model->problem.children.data + first,
                          model->problem.child_begin.data[n + 1] - first));
    EG_TRY(add_node(b, model->problem.node_class.data[n], model->problem.cost.data[n],
                    model->part.data[n]));
  }
  return EGRAPH_OK;
}

// row = children of `user` without `class`, then those of `member`, distinct. False when
// the product would be its own child.
static egraph_status unite(bench *b, uint32_t user, uint32_t member, bool *out_useful) {
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

static egraph_status multiply(bench *b, uint32_t class, uint32_t user) {
  bench_class *c = &b->classes.data[class];
  bench_node u = b->nodes.data[user];
  uint32_t member = c->head;
  for (uint32_t next; member != EG_EXTRACT_NONE; member = next) {
    bench_node m = b->nodes.data[member];
    next = m.next;
    if (!m.alive) continue;
    bool useful;
    EG_TRY(unite(b, user, member, &useful));
    remove_node(b, member);
    if (!useful) continue;
    uint32_t part;
    EG_TRY(eg_parts_join(b->presolve->parts, u.part, m.part, &part));
    EG_TRY(add_node(b, u.class, u.cost + m.cost, part));
  }
  remove_node(b, user);
  b->classes.data[class].head = EG_EXTRACT_NONE;
  b->merges++;
  return EGRAPH_OK;
}

static egraph_status queue(bench *b, uint32_t class) {
  if (b->classes.data[class].is_queued) return EGRAPH_OK;
  b->classes.data[class].is_queued = true;
  return eg_u32s_push(&b->work, class);
}

static egraph_status queue_children(bench *b, uint32_t node) {
  const bench_node *n = &b->nodes.data[node];
  for (uint32_t i = 0; i < n->count; i++)
    EG_TRY(queue(b, b->pool.data[n->begin + i]));
  return EGRAPH_OK;
}

/// Drops the rows of nodes that are gone.
static void compact(bench *b) {
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
  if (u->class == class || (uint64_t)(c->members - 1) * (u->count - 1) > MAX_GROWTH)
    return EGRAPH_OK;
  uint32_t owner = u->class;
  size_t before = b->nodes.len;
  EG_TRY(multiply(b, class, user));
  EG_TRY(queue_children(b, user));
  for (uint32_t n = b->classes.data[owner].head; n != EG_EXTRACT_NONE && n >= before;
       n = b->nodes.data[n].next)
    EG_TRY(queue_children(b, n));
  return queue(b, owner);
}

static egraph_status store(bench *b) {
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

// Only a bounded amount of work: each merge removes a node for good.
static egraph_status merge(bench *b, bool *changed) {
  EG_TRY(load(b));
  for (uint32_t class = 0; class < b->classes.len; class ++)
    EG_TRY(queue(b, class));
  while (b->work.len != 0) {
    uint32_t class = eg_u32s_pop(&b->work);
    b->classes.data[class].is_queued = false;
    EG_TRY(try_merge(b, class));
    if (b->pool.len > 2 * b->in_use + b->nodes.len) compact(b);
  }
  if (b->merges == 0) return EGRAPH_OK;
  *changed = true;
  return store(b);
}

EG_PASS_DEFINE(merge, bench, merge)
