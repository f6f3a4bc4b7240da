// The sharding problem while it is being reduced, and the way back.
//
// Nodes with values, tables between nodes, and memory: every node holds items (a range of
// memory rows, a usage per value), every row has a capacity. Row r: the usage of all
// items over r is at most capacity[r]. Numbers are in pools; a table that shrinks is
// packed in place, a table that grows moves to the end of its pool.
//
//   cost of a choice = base + sum of node costs + sum of table entries
//
// Every number is >= 0 and at most EG_SHARD_INFINITE, which means forbidden. Messages
// and prices are the dual solution (shard_dual.h), kept through reductions; any values
// are valid.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_SHARD_MODEL_H
#define EG_EXTRACT_SHARD_SHARD_MODEL_H

#include "base/owner.h"
#include "extract/containers.h"
#include "extract/shard/shard_problem.h"

#define EG_SHARD_NONE UINT32_MAX

/// A node of the reduced problem. Half-edge h is end h & 1 of edge h >> 1.
typedef struct eg_shard_node {
  uint32_t count;     // values; 0: the node is removed
  uint32_t half;      // first half-edge, or EG_SHARD_NONE
  uint32_t degree;    // edges that are not dead
  uint32_t item;      // first item, or EG_SHARD_NONE
  uint32_t row_first; // rows of the node in the built model
  uint32_t row_last;
  size_t values; // index of the first in the pools `cost` and `id`
} eg_shard_node;

/// An edge; its table has a row per value of ends[0], a column per value of ends[1].
typedef struct eg_shard_edge {
  uint32_t ends[2]; // ends[0] == EG_SHARD_NONE: dead
  uint32_t next[2]; // next half-edge of the same node
  size_t table;
  size_t message[2]; // in the pool `message`, one number per value of that end
} eg_shard_edge;

typedef struct eg_shard_item {
  uint32_t first, last; // rows
  uint32_t next;
  size_t usage;
} eg_shard_item;

/// A step from a solution of the reduced model back to its parent: `node` (ids of the
/// parent model) takes value values[i * width + j], where i and j are the ids of the
/// values of of[0] and of[1] (EG_SHARD_NONE: the value does not depend on this node).
typedef struct eg_shard_step {
  uint32_t node, of[2];
  uint32_t width;
  size_t values;
} eg_shard_step;

EG_VEC_DEFINE(eg_shard_nodes, eg_shard_node);
EG_VEC_DEFINE(eg_shard_edges, eg_shard_edge);
EG_VEC_DEFINE(eg_shard_items, eg_shard_item);
EG_VEC_DEFINE(eg_shard_steps, eg_shard_step);

typedef struct eg_shard_model {
  egraph_allocator alloc;
  eg_shard_nodes nodes;
  eg_shard_edges edges;
  eg_shard_items items;
  eg_i64s cost;
  eg_u32s id; // [value] its number among the first values of its node
  eg_i64s table, usage;
  eg_doubles message;
  eg_i64s moved;    // like message: cost that reductions moved from tables to nodes
  eg_i64s capacity; // [row]
  eg_doubles price; // [row] >= 0
  eg_i64s row_time; // [row] a time of the problem at which this row counts
  eg_u32s ids;      // [node] number of its first values
  eg_shard_steps steps;
  eg_u32s step_values;
  int64_t base;
  int64_t cutoff;               // costs from here on are ignored
  bool closed;                  // no solution below the cutoff remains
  struct eg_shard_proof *proof; // records every removal; NULL: no certificate
  int64_t range;                // with a proof: bounds the scale of fixed point; 0: none
  double deadline;              // a time of eg_clock_seconds() to stop at; 0: none
  uint64_t work;                // steps of the reductions
  // Scratch: nodes that changed since their last consistency check.
  eg_u32s queue;
  eg_bytes queued; // [node]
  eg_u32s mark;    // [node] EG_SHARD_NONE between uses
  eg_bytes keep;
  eg_i64s spare;
} eg_shard_model;
EG_OWNER_DEFINE_STATIC_FROM(
    eg_shard_model, (.alloc = alloc, .cutoff = EG_SHARD_INFINITE),
    (eg_shard_nodes, nodes), (eg_shard_edges, edges), (eg_shard_items, items),
    (eg_i64s, cost, table, usage, moved, capacity, row_time, spare),
    (eg_u32s, id, ids, step_values, queue, mark), (eg_doubles, message, price),
    (eg_shard_steps, steps), (eg_bytes, queued, keep))

/// Builds a model of a checked problem: times become rows, parallel edges are added up.
/// Fails with EGRAPH_E_ARGUMENT when usages add up beyond 2^62.
egraph_status eg_shard_model_build(eg_shard_model *model,
                                   const eg_shard_problem *problem);
/// Copies a model without the unused parts of pools. Unless old_node is NULL, leaves out
/// removed nodes and steps, and restarts ids of values: `from` becomes the copy's parent,
/// and old_node[i] its node for node i of the copy.
egraph_status eg_shard_model_copy(eg_shard_model *to, const eg_shard_model *from,
                                  eg_u32s *old_node);
/// Copy parts of a model: the items (memory) of node n, for the new `node`; and an edge,
/// whose ends are new_node[end] in the copy.
egraph_status eg_shard_model_copy_items(eg_shard_model *to, const eg_shard_model *from,
                                        uint32_t n, eg_shard_node *node);
egraph_status eg_shard_model_copy_edge(eg_shard_model *to, const eg_shard_model *from,
                                       const eg_shard_edge *old,
                                       const uint32_t *new_node);
/// Sizes the model's scratch arrays for all nodes.
egraph_status eg_shard_model_size_marks(eg_shard_model *model);
/// Removes all nodes, edges and rows.
void eg_shard_model_clear(eg_shard_model *model);
/// Turns a choice ([node] value index) of the remaining nodes into ids of all nodes,
/// those that reductions removed included.
void eg_shard_model_lift(const eg_shard_model *model, uint32_t *choice);

static inline int64_t eg_shard_sum(int64_t a, int64_t b) {
  int64_t sum = a + b;
  return sum < EG_SHARD_INFINITE ? sum : EG_SHARD_INFINITE;
}
static inline bool eg_shard_is_dead(const eg_shard_edge *edge) {
  return edge->ends[0] == EG_SHARD_NONE;
}
/// Visits a node's items (memory in a range of rows); the loop variable `each` points
/// to one.
#define EG_SHARD_EACH_ITEM(model, node, each)                                            \
  for (eg_shard_item *each = eg_shard_item_at(model, (model)->nodes.data[node].item);    \
       each != NULL; each = eg_shard_item_at(model, each->next))
static inline eg_shard_item *eg_shard_item_at(const eg_shard_model *model, uint32_t at) {
  return at == EG_SHARD_NONE ? NULL : &model->items.data[at];
}
/// Computes the cost of a choice ([node] value index), EG_SHARD_INFINITE when forbidden;
/// *out_fits: it keeps the capacity of every memory row. O(edges + items + rows).
egraph_status eg_shard_model_evaluate(eg_shard_model *model, const uint32_t *choice,
                                      int64_t *out_cost, bool *out_fits);

// ---- elementary changes: the steps of the reductions ------------------------------

/// Visits a node's edges that are not removed, by the loop variable `half` (an
/// edge's end).
#define EG_SHARD_EACH_HALF(model, node, half)                                            \
  for (uint32_t half = eg_shard_first_half((model), (node)); half != EG_SHARD_NONE;      \
       half = eg_shard_next_half((model), half))

static inline uint32_t eg_shard_live_half(const eg_shard_model *model, uint32_t half) {
  while (half != EG_SHARD_NONE && eg_shard_is_dead(&model->edges.data[half >> 1]))
    half = model->edges.data[half >> 1].next[half & 1];
  return half;
}
static inline uint32_t eg_shard_first_half(const eg_shard_model *model, uint32_t node) {
  return eg_shard_live_half(model, model->nodes.data[node].half);
}
static inline uint32_t eg_shard_next_half(const eg_shard_model *model, uint32_t half) {
  return eg_shard_live_half(model, model->edges.data[half >> 1].next[half & 1]);
}
static inline uint32_t eg_shard_other(const eg_shard_model *model, uint32_t half) {
  return model->edges.data[half >> 1].ends[~half & 1];
}

/// A table seen from one end: entry (own value, other value) is
/// data[own * own_stride + other * other_stride].
typedef struct eg_shard_view {
  int64_t *data;
  size_t own_stride, other_stride;
  uint32_t own_count, other_count;
} eg_shard_view;

/// Returns the table of an edge seen from one end, valid until a table is added.
eg_shard_view eg_shard_view_of(const eg_shard_model *model, uint32_t half);

/// Queues a changed node for the check of arc consistency.
egraph_status eg_shard_touch(eg_shard_model *model, uint32_t node);
/// Adds an edge with zeros as table and messages; *out is its number.
egraph_status eg_shard_add_edge(eg_shard_model *model, uint32_t a, uint32_t b,
                                uint32_t *out);
void eg_shard_kill_edge(eg_shard_model *model, uint32_t edge);
/// Merges the edges of `node` that lead to the same neighbour, adding their tables.
egraph_status eg_shard_join_parallel(eg_shard_model *model, uint32_t node);
/// Keeps a node's values that model->keep flags; marks the model as closed (without
/// solution) when none is left.
egraph_status eg_shard_keep_values(eg_shard_model *model, uint32_t node);
/// Makes `gone` a function of `node`: `gone` takes value of[v] when `node` takes v. Moves
/// its costs, edges and memory to `node`; removes `edge`, which joins the two.
egraph_status eg_shard_absorb(eg_shard_model *model, uint32_t node, uint32_t gone,
                              uint32_t edge, const uint32_t *of);

// ---- free memory --------------------------------------------------------------------
// The free memory of every row while a choice is built: amounts are added to ranges of
// rows; the choice fits while the minimum over all rows is not negative.

typedef struct eg_shard_slack {
  uint32_t leaves; // a power of two
  eg_i64s least;   // [2 * leaves] minimum below a tree node, without `added` above it
  eg_i64s added;   // [2 * leaves] to all rows below
} eg_shard_slack;
EG_OWNER_DEFINE_STATIC(eg_shard_slack, (eg_i64s, least, added))

/// Resets the free memory of all rows to the model's capacities. O(rows).
egraph_status eg_shard_slack_start(eg_shard_slack *slack, const eg_shard_model *model);
/// Adds an amount to the free memory of rows [first, last). O(log rows).
void eg_shard_slack_add(eg_shard_slack *slack, uint32_t first, uint32_t last,
                        int64_t amount);
/// Takes (sign = -1) or frees (+1) the memory that a value uses.
void eg_shard_slack_value(eg_shard_slack *slack, const eg_shard_model *model,
                          uint32_t node, uint32_t value, int64_t sign);
/// True when the free memory of no row is below 0.
static inline bool eg_shard_slack_fits(const eg_shard_slack *slack) {
  return slack->least.data[1] >= 0;
}

// ---- reductions (shard_reduce.c) ----------------------------------------------------
// Exact reductions: the model keeps an optimal solution, or has none below the cutoff.

// Reductions: id, name, meaning. Any subset gives the same optimum.
#define EG_SHARD_PASS_LIST(X)                                                            \
  X(EG_SHARD_PASS_SHIFT, shift, "move minima from tables to nodes to the base")          \
  X(EG_SHARD_PASS_CONSISTENCY, consistency, "drop values without a partner")             \
  X(EG_SHARD_PASS_MERGE, merge, "merge a node that is a function of another")            \
  X(EG_SHARD_PASS_ROWS, rows, "shift usages, drop values and rows by memory")            \
  X(EG_SHARD_PASS_DOMINATED, dominated, "drop values that another one beats")            \
  X(EG_SHARD_PASS_DEGREE, degree, "eliminate nodes with few neighbours and no memory")   \
  X(EG_SHARD_PASS_FILTER, filter, "drop values and pairs by their reduced costs")
#define EG_SHARD_PASS_ENUM(id, run, text) id,
typedef enum eg_shard_pass {
  EG_SHARD_PASS_LIST(EG_SHARD_PASS_ENUM) EG_SHARD_PASS_COUNT
} eg_shard_pass;
#undef EG_SHARD_PASS_ENUM

/// Runs all reductions but the last (which needs a dual solution: shard_dual.h) to a
/// fixpoint, or nearly so on large models, without the passes in `disabled` (bit 1 <<
/// pass). Uses the model's cutoff. Fails with EGRAPH_E_MEMORY.
egraph_status eg_shard_reduce(eg_shard_model *model, uint32_t disabled);

#endif
