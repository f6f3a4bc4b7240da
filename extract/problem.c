// SPDX-License-Identifier: Apache-2.0
#include "extract/problem.h"

#include <math.h>

#include "base/egraph_json.h"

#define EXTRACT_PROBLEM_MEMBERS                                                          \
  (eg_u32s, node_class, child_begin, children, roots), (eg_doubles, cost)

egraph_status eg_extract_problem_init(eg_extract_problem *problem,
                                      egraph_allocator alloc) {
  problem->class_count = 0;
  EG_INIT_MEMBERS(problem, alloc, EXTRACT_PROBLEM_MEMBERS);
  egraph_status status = eg_u32s_push(&problem->child_begin, 0);
  // Reserves memory so that `children` is never NULL: a pointer to an empty row is valid.
  if (status == EGRAPH_OK) status = eg_u32s_reserve(&problem->children, 1);
  EG_RETURN_FILLED(status, eg_extract_problem, problem);
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

/// Reserves before it writes, so that a failure leaves the rows consistent.
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

static egraph_status check_problem_node(const eg_extract_problem *problem,
                                        uint32_t node) {
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
    EG_TRY(check_problem_node(problem, node));
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

// ---- files --------------------------------------------------------------------------
//
// A reader of files. Classes and nodes go straight into the problem; until the end of the
// file its children are numbers of names.

static egraph_status on_class(void *user) {
  uint32_t class;
  return eg_extract_problem_add_class(user, &class);
}

static egraph_status on_node(void *user, const eg_egraph_json *json,
                             const eg_egraph_json_node *node) {
  (void)json;
  return eg_extract_problem_add_node(user, node->class, node->cost, node->children,
                                     node->child_count, NULL);
}

static egraph_status read_problem(eg_egraph_json *json, eg_extract_problem *problem,
                                  uint32_t *out_roots_left_out) {
  const char *path = json->scan.file.path;
  eg_egraph_json_sink sink = {
      .user = problem, .has_costs = true, .on_class = on_class, .on_node = on_node};
  EG_TRY(eg_egraph_json_read(json, &sink));
  EG_TRY(eg_egraph_json_resolve(json, problem->child_begin.data, problem->children.data));
  if (json->root_count == 0)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: no class in \"root_eclasses\"", path);
  EG_TRY(eg_egraph_json_roots(json, &problem->roots, out_roots_left_out));
  if (eg_extract_problem_check(problem) == EGRAPH_OK) return EGRAPH_OK;
  return eg_fail_context(EGRAPH_E_PARSE, "%s", path);
}

/// Moves the names to `out`, the names of nodes in the order of the nodes.
static egraph_status hand_over(eg_egraph_json *json, eg_gym_names *out) {
  EG_TRY(eg_sizes_reserve(&out->node, json->number_of.len));
  for (size_t n = 0; n < json->number_of.len; n++)
    EG_TRY(eg_sizes_push(&out->node, json->id_name.data[json->number_of.data[n]]));
  eg_chars text = out->text;
  eg_sizes class_ = out->class_;
  out->text = json->names;
  out->class_ = json->class_name;
  json->names = text;
  json->class_name = class_;
  return EGRAPH_OK;
}

/// Reads the file that `json` has opened.
static egraph_status read_open(eg_egraph_json *json, eg_extract_problem *problem,
                               eg_gym_names *names) {
  uint32_t roots_left_out = 0;
  egraph_status status = read_problem(json, problem, &roots_left_out);
  if (names != NULL) names->roots_left_out = roots_left_out;
  if (status == EGRAPH_OK && names != NULL) status = hand_over(json, names);
  eg_egraph_json_close(json);
  return status;
}

egraph_status eg_gym_json_read(const char *path, eg_extract_problem *problem,
                               eg_gym_names *names) {
  eg_egraph_json json;
  EG_TRY(eg_egraph_json_open(&json, problem->children.alloc, path));
  return read_open(&json, problem, names);
}

egraph_status eg_gym_json_parse(const char *path, const char *text, size_t size,
                                eg_extract_problem *problem, eg_gym_names *names) {
  eg_egraph_json json;
  EG_TRY(eg_egraph_json_open_bytes(&json, problem->children.alloc, path, text, size));
  return read_open(&json, problem, names);
}
