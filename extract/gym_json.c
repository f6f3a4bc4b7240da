// jansson builds the whole file as a tree: a node may name children that come later, so
// a reader of one pass would have to keep as much.
// SPDX-License-Identifier: Apache-2.0
#include "extract/gym_json.h"

#include <math.h>

#include "base/json.h"
#include "base/json_scan.h"
#include "base/strmap.h"

static const size_t MAX_BYTES = (size_t)2 << 30;

typedef struct reader {
  const char *path;
  json_t *nodes;
  eg_extract_problem *problem;
  eg_gym_names *names;  // or NULL
  eg_strmap classes;    // name -> class
  eg_strmap node_class; // node id -> class
  eg_u32s children;     // of the node being read
} reader;

void eg_gym_names_init(eg_gym_names *names, egraph_allocator alloc) {
  eg_chars_init(&names->text, alloc);
  eg_sizes_init(&names->class_, alloc);
  eg_sizes_init(&names->node, alloc);
}

void eg_gym_names_deinit(eg_gym_names *names) {
  eg_sizes_deinit(&names->node);
  eg_sizes_deinit(&names->class_);
  eg_chars_deinit(&names->text);
}

static egraph_status keep_name(const reader *r, bool is_class, const char *name) {
  if (r->names == NULL) return EGRAPH_OK;
  eg_sizes *begin = is_class ? &r->names->class_ : &r->names->node;
  EG_TRY(eg_sizes_push(begin, r->names->text.len));
  return eg_chars_append(&r->names->text, name, strlen(name) + 1);
}

// Everything else in this file is a child of a node by name, hence two passes.
static egraph_status read_class(reader *r, const char *id, const json_t *node) {
  const json_t *name = json_object_get(node, "eclass");
  if (!json_is_string(name))
    return EG_FAIL(EGRAPH_E_PARSE, "%s: node '%s' has no string \"eclass\"", r->path, id);
  uint32_t class;
  if (!eg_strmap_find(&r->classes, json_string_value(name), &class)) {
    EG_TRY(eg_extract_problem_add_class(r->problem, &class));
    EG_TRY(eg_strmap_put(&r->classes, json_string_value(name), class));
    EG_TRY(keep_name(r, true, json_string_value(name)));
  }
  return eg_strmap_put(&r->node_class, id, class);
}

static egraph_status read_cost(const reader *r, const char *id, const json_t *node,
                               double *out) {
  const json_t *cost = json_object_get(node, "cost");
  if (cost != NULL && !json_is_number(cost))
    return EG_FAIL(EGRAPH_E_PARSE, "%s: the cost of node '%s' is not a number", r->path,
                   id);
  *out = cost == NULL ? 1.0 : json_number_value(cost);
  if (!isfinite(*out))
    return EG_FAIL(EGRAPH_E_PARSE, "%s: the cost of node '%s' is not finite", r->path,
                   id);
  return EGRAPH_OK;
}

static egraph_status read_children(reader *r, const char *id, const json_t *node) {
  const json_t *children = json_object_get(node, "children");
  if (children != NULL && !json_is_array(children))
    return EG_FAIL(EGRAPH_E_PARSE, "%s: the children of node '%s' are not an array",
                   r->path, id);
  r->children.len = 0;
  for (size_t i = 0; i < json_array_size(children); i++) {
    const char *name = json_string_value(json_array_get(children, i));
    if (name == NULL)
      return EG_FAIL(EGRAPH_E_PARSE, "%s: child %zu of node '%s' is not a string",
                     r->path, i, id);
    uint32_t class;
    if (!eg_strmap_find(&r->node_class, name, &class))
      return EG_FAIL(EGRAPH_E_PARSE, "%s: node '%s' has child '%s', which does not exist",
                     r->path, id, name);
    EG_TRY(eg_u32s_push(&r->children, class));
  }
  return EGRAPH_OK;
}

static egraph_status read_node(reader *r, const char *id, const json_t *node) {
  double cost = 0;
  uint32_t class;
  EG_TRY(read_cost(r, id, node, &cost));
  EG_TRY(read_children(r, id, node));
  if (!eg_strmap_find(&r->node_class, id, &class))
    return EG_FAIL(EGRAPH_E_INTERNAL, "%s: node '%s' was lost", r->path, id);
  EG_TRY(keep_name(r, false, id));
  return eg_extract_problem_add_node(r->problem, class, cost, r->children.data,
                                     (uint32_t)r->children.len, NULL);
}

static egraph_status read_roots(reader *r, const json_t *file) {
  const json_t *roots = json_object_get(file, "root_eclasses");
  if (!json_is_array(roots) || json_array_size(roots) == 0)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: no class in \"root_eclasses\"", r->path);
  for (size_t i = 0; i < json_array_size(roots); i++) {
    const char *name = json_string_value(json_array_get(roots, i));
    uint32_t class;
    if (name == NULL || !eg_strmap_find(&r->classes, name, &class))
      return EG_FAIL(EGRAPH_E_PARSE, "%s: root %zu ('%s') is not the class of any node",
                     r->path, i, name == NULL ? "not a string" : name);
    EG_TRY(eg_extract_problem_add_root(r->problem, class));
  }
  return EGRAPH_OK;
}

static egraph_status read_all(reader *r, json_t *file) {
  r->nodes = json_object_get(file, "nodes");
  if (!json_is_object(r->nodes))
    return EG_FAIL(EGRAPH_E_PARSE, "%s: no object \"nodes\"", r->path);
  const char *id;
  json_t *node;
  json_object_foreach(r->nodes, id, node) EG_TRY(read_class(r, id, node));
  json_object_foreach(r->nodes, id, node) EG_TRY(read_node(r, id, node));
  return read_roots(r, file);
}

// Takes the reference to `file`.
static egraph_status convert(const char *path, json_t *file, eg_extract_problem *problem,
                             eg_gym_names *names) {
  egraph_allocator alloc = problem->children.alloc;
  reader r = {.path = path, .problem = problem, .names = names};
  eg_strmap_init(&r.classes, alloc);
  eg_strmap_init(&r.node_class, alloc);
  eg_u32s_init(&r.children, alloc);
  egraph_status status = read_all(&r, file);
  eg_u32s_deinit(&r.children);
  eg_strmap_deinit(&r.node_class);
  eg_strmap_deinit(&r.classes);
  json_decref(file);
  return status;
}

// Sharding problems are JSON too, and large: refused before their tree is built.
static egraph_status refuse_iopddl(const char *path, egraph_allocator alloc) {
  eg_json_scan scan;
  size_t count = 0;
  bool more = false;
  char key[16] = "";
  EG_TRY(eg_json_scan_open(&scan, alloc, path, MAX_BYTES));
  egraph_status status = eg_json_scan_enter(&scan, '{');
  if (status == EGRAPH_OK) status = eg_json_scan_next(&scan, '}', &count, &more);
  if (status == EGRAPH_OK && more) status = eg_json_scan_key(&scan, key, sizeof key);
  eg_json_scan_close(&scan);
  if (status == EGRAPH_OK && strcmp(key, "problem") == 0)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "%s: a sharding problem (IOPDDL), not an e-graph; use egraph shard",
                   path);
  return status == EGRAPH_E_MEMORY ? status : EGRAPH_OK; // the reader says what is wrong
}

egraph_status eg_gym_json_read(const char *path, eg_extract_problem *problem,
                               eg_gym_names *names) {
  json_t *file = NULL;
  EG_TRY(refuse_iopddl(path, problem->children.alloc));
  EG_TRY(eg_json_read(path, MAX_BYTES, &file));
  return convert(path, file, problem, names);
}

egraph_status eg_gym_json_parse(const char *path, const char *text, size_t size,
                                eg_extract_problem *problem, eg_gym_names *names) {
  json_error_t error;
  json_t *file = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
  if (file == NULL)
    return EG_FAIL(json_error_code(&error) == json_error_out_of_memory ? EGRAPH_E_MEMORY
                                                                       : EGRAPH_E_PARSE,
                   "%s:%d:%d: %s", path, error.line, error.column, error.text);
  return convert(path, file, problem, names);
}
