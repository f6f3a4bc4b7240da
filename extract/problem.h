// The extraction problem, independent of where it comes from.
//
// Choose nodes so that every root class has one, every child class of a chosen node has
// one, and the choice is acyclic; minimize the sum of the costs of the distinct chosen
// nodes (DAG cost). Memory formats (and later shardings) are expanded by the caller: a
// class is then (value, layout) and a transition between layouts is an ordinary node.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_PROBLEM_H
#define EG_EXTRACT_PROBLEM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define EG_EXTRACT_NONE UINT32_MAX

/// Nodes in compressed rows: the children of node n are children[child_begin[n] ..
/// child_begin[n+1]).
typedef struct eg_extract_problem {
  uint32_t class_count;
  eg_u32s node_class;  // [nodes]
  eg_doubles cost;     // [nodes], finite
  eg_u32s child_begin; // [nodes + 1]
  eg_u32s children;
  eg_u32s roots; // classes
} eg_extract_problem;

egraph_status eg_extract_problem_init(eg_extract_problem *problem,
                                      egraph_allocator alloc);
void eg_extract_problem_deinit(eg_extract_problem *problem);
/// Adds a class and returns its number.
egraph_status eg_extract_problem_add_class(eg_extract_problem *problem, uint32_t *out);
egraph_status eg_extract_problem_add_node(eg_extract_problem *problem, uint32_t class,
                                          double cost, const uint32_t *children,
                                          uint32_t count, uint32_t *out_node);
egraph_status eg_extract_problem_add_root(eg_extract_problem *problem, uint32_t class);
static inline uint32_t eg_extract_node_count(const eg_extract_problem *problem) {
  return (uint32_t)problem->node_class.len;
}
/// Visits the children of a node; `item` is the loop variable.
#define EG_EACH_CHILD(problem, node, item)                                               \
  EG_EACH_OF_ROW_((problem)->child_begin.data, (problem)->children.data, node, item)
#define EG_EACH_OF_ROW_(begin, items, row, item)                                         \
  for (uint32_t item##_at = (begin)[row], item##_end = (begin)[(row) + 1], item = 0;     \
       item##_at < item##_end && (item = (items)[item##_at], true); item##_at++)

/// Fails with EGRAPH_E_ARGUMENT when an index is out of range, or a cost or the sum of
/// their magnitudes is not finite.
egraph_status eg_extract_problem_check(const eg_extract_problem *problem);

#endif
