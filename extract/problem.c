// SPDX-License-Identifier: Apache-2.0
#include "extract/problem.h"

#include <math.h>

#include "base/owner.h"

#define EXTRACT_PROBLEM_MEMBERS                                                          \
  (eg_u32s, node_class, child_begin, children, roots), (eg_doubles, cost)

egraph_status eg_extract_problem_init(eg_extract_problem *problem,
                                      egraph_allocator alloc) {
  problem->class_count = 0;
  EG_INIT_MEMBERS(problem, alloc, EXTRACT_PROBLEM_MEMBERS);
  egraph_status status = eg_u32s_push(&problem->child_begin, 0);
  // Never NULL, so that rows without children can be pointed at.
  if (status == EGRAPH_OK) status = eg_u32s_reserve(&problem->children, 1);
  if (status != EGRAPH_OK) eg_extract_problem_deinit(problem);
  return status;
}

void eg_extract_problem_deinit(eg_extract_problem *problem) {
  EG_DEINIT_MEMBERS(problem, EXTRACT_PROBLEM_MEMBERS);
  problem->class_count = 0;
}

void eg_extract_problem_clear(eg_extract_problem *problem, uint32_t class_count) {
  problem->class_count = class_count;
  problem->node_class.len = problem->cost.len = problem->children.len = 0;
  problem->roots.len = 0;
  problem->child_begin.len = 1;
}

egraph_status eg_extract_problem_add_class(eg_extract_problem *problem, uint32_t *out) {
  if (problem->class_count == EG_EXTRACT_NONE - 1)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "an extraction problem has at most %u classes; split the graph",
                   EG_EXTRACT_NONE - 1);
  *out = problem->class_count++;
  return EGRAPH_OK;
}

// Room is made before anything is written, so that a failure leaves the rows consistent.
egraph_status eg_extract_problem_add_node(eg_extract_problem *problem, uint32_t class,
                                          double cost, const uint32_t *children,
                                          uint32_t count, uint32_t *out_node) {
  size_t end = problem->children.len + count;
  if (end >= EG_EXTRACT_NONE || problem->node_class.len >= EG_EXTRACT_NONE - 1)
    return EG_FAIL(
        EGRAPH_E_ARGUMENT,
        "an extraction problem has at most %u nodes and edges; split the graph",
        EG_EXTRACT_NONE - 1);
  EG_TRY(eg_u32s_reserve(&problem->node_class, problem->node_class.len + 1));
  EG_TRY(eg_doubles_reserve(&problem->cost, problem->cost.len + 1));
  EG_TRY(eg_u32s_reserve(&problem->child_begin, problem->child_begin.len + 1));
  EG_TRY(eg_u32s_append(&problem->children, children, count));
  uint32_t node = eg_extract_node_count(problem);
  EG_TRY(eg_u32s_push(&problem->node_class, class));
  EG_TRY(eg_doubles_push(&problem->cost, cost));
  EG_TRY(eg_u32s_push(&problem->child_begin, (uint32_t)end));
  if (out_node != NULL) *out_node = node;
  return EGRAPH_OK;
}

egraph_status eg_extract_problem_add_root(eg_extract_problem *problem, uint32_t class) {
  return eg_u32s_push(&problem->roots, class);
}

bool eg_extract_has_negative_cost(const eg_extract_problem *problem) {
  for (size_t n = 0; n < problem->cost.len; n++)
    if (problem->cost.data[n] < 0) return true;
  return false;
}

double eg_extract_magnitude(const eg_extract_problem *problem, const uint32_t *choice) {
  double sum = 0;
  for (uint32_t class = 0; class < problem->class_count; class ++)
    if (choice[class] != EG_EXTRACT_NONE) sum += fabs(problem->cost.data[choice[class]]);
  return sum;
}

static egraph_status check_node(const eg_extract_problem *problem, uint32_t node) {
  uint32_t class = problem->node_class.data[node];
  if (class >= problem->class_count)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "node %u is in class %u of %u; add the class first",
                   node, class, problem->class_count);
  if (!isfinite(problem->cost.data[node]))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "the cost of node %u is not finite; leave out nodes that cannot run",
                   node);
  EG_EACH_CHILD(problem, node, child) {
    if (child >= problem->class_count)
      return EG_FAIL(EGRAPH_E_ARGUMENT,
                     "node %u has child class %u of %u; add the class first", node, child,
                     problem->class_count);
  }
  return EGRAPH_OK;
}

egraph_status eg_extract_problem_check(const eg_extract_problem *problem) {
  size_t nodes = problem->node_class.len;
  if (problem->cost.len != nodes || problem->child_begin.len != nodes + 1 ||
      problem->child_begin.data[nodes] != problem->children.len)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "the rows of the extraction problem differ in length; build it with "
                   "eg_extract_problem_add_node");
  double sum = 0;
  for (uint32_t node = 0; node < nodes; node++) {
    EG_TRY(check_node(problem, node));
    sum += fabs(problem->cost.data[node]);
  }
  if (!isfinite(sum))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "the costs add up to more than a double can hold; "
                                      "scale them down, or leave out nodes that cannot "
                                      "run");
  for (size_t i = 0; i < problem->roots.len; i++)
    if (problem->roots.data[i] >= problem->class_count)
      return EG_FAIL(EGRAPH_E_ARGUMENT, "root %zu is class %u of %u; add the class first",
                     i, problem->roots.data[i], problem->class_count);
  return EGRAPH_OK;
}

egraph_status eg_cuts_init(eg_cuts *cuts, egraph_allocator alloc) {
  eg_u32s_init(&cuts->begin, alloc);
  eg_u32s_init(&cuts->nodes, alloc);
  return eg_u32s_push(&cuts->begin, 0);
}

void eg_cuts_deinit(eg_cuts *cuts) {
  eg_u32s_deinit(&cuts->nodes);
  eg_u32s_deinit(&cuts->begin);
}

void eg_extract_result_init(eg_extract_result *result, egraph_allocator alloc) {
  *result = (eg_extract_result){.status = EG_EXTRACT_INFEASIBLE,
                                .cost = INFINITY,
                                .bound = -INFINITY,
                                .gap = INFINITY,
                                .tree_cost = INFINITY,
                                .dag_cost = INFINITY,
                                .certified = -INFINITY};
  eg_u32s_init(&result->choice, alloc);
}

void eg_extract_result_deinit(eg_extract_result *result) {
  eg_u32s_deinit(&result->choice);
}
