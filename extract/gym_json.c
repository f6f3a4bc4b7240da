// Classes and nodes go straight into the problem, whose children are numbers of names
// until all has been read.
// SPDX-License-Identifier: Apache-2.0
#include "extract/gym_json.h"

#include "base/egraph_json.h"
#include "base/owner.h"

EG_OWNER_DEFINE(eg_gym_names, (eg_chars, text), (eg_sizes, class_, node))

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

// Hands the names over, those of nodes in the order of the nodes.
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

/// Takes the open file.
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
