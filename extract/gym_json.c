// One pass over the file, value by value: a tree of it would take twenty times the memory
// of the problem. A node may name children that come later, so children are kept as the
// numbers of their names and become classes at the end.
// SPDX-License-Identifier: Apache-2.0
#include "extract/gym_json.h"

#include "base/json_scan.h"
#include "base/strmap.h"

static const uint64_t MAX_BYTES = UINT64_C(16) << 30;

typedef struct reader {
  eg_json_scan scan;
  eg_extract_problem *problem; // children: numbers of names until resolve
  eg_strmap classes;           // name -> class
  eg_strmap ids;               // node id -> number, in the order of first mention
  eg_gym_names names;          // node: [number]
  eg_u32s class_of;            // [number] EG_EXTRACT_NONE: mentioned only
  eg_u32s number_of;           // [node]
  eg_u32s children;            // numbers, of the node being read
  eg_chars id, key, text;      // scratch
  eg_chars roots;              // names, each with its NUL
  uint32_t root_count;
  bool has_nodes, has_roots;
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

static egraph_status keep_name(eg_gym_names *names, eg_sizes *begin, const char *name) {
  EG_TRY(eg_sizes_push(begin, names->text.len));
  return eg_chars_append(&names->text, name, strlen(name) + 1);
}

static egraph_status find_number(reader *r, const char *id, uint32_t *out) {
  if (eg_strmap_find(&r->ids, id, out)) return EGRAPH_OK;
  if (r->class_of.len >= EG_EXTRACT_NONE)
    return eg_json_scan_fail(&r->scan, "more than %u nodes", EG_EXTRACT_NONE);
  *out = (uint32_t)r->class_of.len;
  EG_TRY(eg_u32s_push(&r->class_of, EG_EXTRACT_NONE));
  EG_TRY(keep_name(&r->names, &r->names.node, id));
  return eg_strmap_put(&r->ids, id, *out);
}

// ---- values of a node ------------------------------------------------------------

static egraph_status read_class(reader *r, uint32_t *out) {
  char first = 0;
  EG_TRY(eg_json_scan_peek(&r->scan, &first));
  if (first != '"' || *out != EG_EXTRACT_NONE)
    return eg_json_scan_fail(&r->scan, "node '%s' %s", r->id.data,
                             first == '"' ? "has two classes"
                                          : "has an \"eclass\" that is no string");
  EG_TRY(eg_json_scan_text(&r->scan, &r->text));
  if (eg_strmap_find(&r->classes, r->text.data, out)) return EGRAPH_OK;
  EG_TRY(eg_extract_problem_add_class(r->problem, out));
  EG_TRY(keep_name(&r->names, &r->names.class_, r->text.data));
  return eg_strmap_put(&r->classes, r->text.data, *out);
}

static egraph_status read_cost(reader *r, double *out) {
  char first = 0;
  EG_TRY(eg_json_scan_peek(&r->scan, &first));
  if (first != '-' && (first < '0' || first > '9'))
    return eg_json_scan_fail(&r->scan, "the cost of node '%s' is not a number",
                             r->id.data);
  return eg_json_scan_double(&r->scan, out);
}

static egraph_status read_child(reader *r, size_t index) {
  char first = 0;
  uint32_t number;
  EG_TRY(eg_json_scan_peek(&r->scan, &first));
  if (first != '"')
    return eg_json_scan_fail(&r->scan, "child %zu of node '%s' is not a string", index,
                             r->id.data);
  EG_TRY(eg_json_scan_text(&r->scan, &r->text));
  EG_TRY(find_number(r, r->text.data, &number));
  return eg_u32s_push(&r->children, number);
}

static egraph_status read_children(reader *r) {
  char first = 0;
  EG_TRY(eg_json_scan_peek(&r->scan, &first));
  if (first != '[')
    return eg_json_scan_fail(&r->scan, "the children of node '%s' are not an array",
                             r->id.data);
  EG_TRY(eg_json_scan_enter(&r->scan, '['));
  r->children.len = 0;
  for (size_t count = 0;;) {
    bool more = false;
    EG_TRY(eg_json_scan_next(&r->scan, ']', &count, &more));
    if (!more) return EGRAPH_OK;
    EG_TRY(read_child(r, count - 1));
  }
}

static egraph_status read_values(reader *r, uint32_t *class, double *cost) {
  for (size_t count = 0;;) {
    bool more = false;
    EG_TRY(eg_json_scan_next(&r->scan, '}', &count, &more));
    if (!more) return EGRAPH_OK;
    EG_TRY(eg_json_scan_key_text(&r->scan, &r->key));
    if (strcmp(r->key.data, "eclass") == 0)
      EG_TRY(read_class(r, class));
    else if (strcmp(r->key.data, "cost") == 0)
      EG_TRY(read_cost(r, cost));
    else if (strcmp(r->key.data, "children") == 0)
      EG_TRY(read_children(r));
    else
      EG_TRY(eg_json_scan_skip(&r->scan));
  }
}

static egraph_status read_node(reader *r) {
  char first = 0;
  uint32_t number, class = EG_EXTRACT_NONE;
  double cost = 1;
  EG_TRY(eg_json_scan_key_text(&r->scan, &r->id));
  EG_TRY(find_number(r, r->id.data, &number));
  if (r->class_of.data[number] != EG_EXTRACT_NONE)
    return eg_json_scan_fail(&r->scan, "a duplicate of node '%s'", r->id.data);
  EG_TRY(eg_json_scan_peek(&r->scan, &first));
  if (first != '{')
    return eg_json_scan_fail(&r->scan, "node '%s' is not an object", r->id.data);
  EG_TRY(eg_json_scan_enter(&r->scan, '{'));
  r->children.len = 0;
  EG_TRY(read_values(r, &class, &cost));
  if (class == EG_EXTRACT_NONE)
    return eg_json_scan_fail(&r->scan, "node '%s' has no \"eclass\"", r->id.data);
  r->class_of.data[number] = class;
  EG_TRY(eg_u32s_push(&r->number_of, number));
  return eg_extract_problem_add_node(r->problem, class, cost, r->children.data,
                                     (uint32_t)r->children.len, NULL);
}

// ---- the file --------------------------------------------------------------------

static egraph_status read_nodes(reader *r) {
  char first = 0;
  EG_TRY(eg_json_scan_peek(&r->scan, &first));
  if (first != '{' || r->has_nodes)
    return eg_json_scan_fail(&r->scan, r->has_nodes ? "\"nodes\" for the second time"
                                                    : "\"nodes\" is not an object");
  r->has_nodes = true;
  EG_TRY(eg_json_scan_enter(&r->scan, '{'));
  for (size_t count = 0;;) {
    bool more = false;
    EG_TRY(eg_json_scan_next(&r->scan, '}', &count, &more));
    if (!more) return EGRAPH_OK;
    EG_TRY(read_node(r));
  }
}

// Names only: the classes may come later.
static egraph_status read_roots(reader *r) {
  if (r->has_roots)
    return eg_json_scan_fail(&r->scan, "\"root_eclasses\" for the second time");
  r->has_roots = true;
  EG_TRY(eg_json_scan_enter(&r->scan, '['));
  for (size_t count = 0;;) {
    bool more = false;
    EG_TRY(eg_json_scan_next(&r->scan, ']', &count, &more));
    if (!more) return EGRAPH_OK;
    EG_TRY(eg_json_scan_text(&r->scan, &r->text));
    EG_TRY(eg_chars_append(&r->roots, r->text.data, r->text.len + 1));
    r->root_count++;
  }
}

static egraph_status read_file(reader *r) {
  EG_TRY(eg_json_scan_enter(&r->scan, '{'));
  for (size_t count = 0;;) {
    bool more = false;
    EG_TRY(eg_json_scan_next(&r->scan, '}', &count, &more));
    if (!more) return eg_json_scan_end(&r->scan);
    EG_TRY(eg_json_scan_key_text(&r->scan, &r->key));
    if (strcmp(r->key.data, "nodes") == 0)
      EG_TRY(read_nodes(r));
    else if (strcmp(r->key.data, "root_eclasses") == 0)
      EG_TRY(read_roots(r));
    else if (strcmp(r->key.data, "problem") == 0 && !r->has_nodes)
      return eg_json_scan_fail(
          &r->scan, "a sharding problem (IOPDDL), not an e-graph; use egraph shard");
    else
      EG_TRY(eg_json_scan_skip(&r->scan));
  }
}

static egraph_status fail_child(const reader *r, uint32_t edge) {
  const eg_extract_problem *problem = r->problem;
  uint32_t node = 0;
  while (problem->child_begin.data[node + 1] <= edge)
    node++;
  return EG_FAIL(EGRAPH_E_PARSE, "%s: node '%s' has child '%s', which does not exist",
                 r->scan.file.path, eg_gym_node_name(&r->names, r->number_of.data[node]),
                 eg_gym_node_name(&r->names, problem->children.data[edge]));
}

static egraph_status resolve(reader *r) {
  const char *path = r->scan.file.path;
  eg_u32s *children = &r->problem->children;
  for (uint32_t i = 0; i < children->len; i++) {
    uint32_t class = r->class_of.data[children->data[i]];
    if (class == EG_EXTRACT_NONE) return fail_child(r, i);
    children->data[i] = class;
  }
  if (!r->has_nodes) return EG_FAIL(EGRAPH_E_PARSE, "%s: no object \"nodes\"", path);
  if (r->root_count == 0)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: no class in \"root_eclasses\"", path);
  const char *name = r->roots.data;
  for (uint32_t i = 0; i < r->root_count; i++, name += strlen(name) + 1) {
    uint32_t class;
    if (!eg_strmap_find(&r->classes, name, &class))
      return EG_FAIL(EGRAPH_E_PARSE, "%s: root %u ('%s') is not the class of any node",
                     path, i, name);
    EG_TRY(eg_extract_problem_add_root(r->problem, class));
  }
  return EGRAPH_OK;
}

// Hands the names over, those of nodes in the order of the nodes.
static egraph_status hand_over(reader *r, eg_gym_names *out) {
  EG_TRY(eg_sizes_reserve(&out->node, r->number_of.len));
  for (size_t n = 0; n < r->number_of.len; n++)
    EG_TRY(eg_sizes_push(&out->node, r->names.node.data[r->number_of.data[n]]));
  eg_chars text = out->text;
  eg_sizes class_ = out->class_;
  out->text = r->names.text;
  out->class_ = r->names.class_;
  r->names.text = text;
  r->names.class_ = class_;
  return EGRAPH_OK;
}

// Takes the open scan.
static egraph_status read_scan(const char *path, reader *r, eg_gym_names *names) {
  egraph_allocator alloc = r->problem->children.alloc;
  eg_strmap_init(&r->classes, alloc);
  eg_strmap_init(&r->ids, alloc);
  eg_gym_names_init(&r->names, alloc);
  eg_u32s_init(&r->class_of, alloc);
  eg_u32s_init(&r->number_of, alloc);
  eg_u32s_init(&r->children, alloc);
  eg_chars_init(&r->id, alloc);
  eg_chars_init(&r->key, alloc);
  eg_chars_init(&r->text, alloc);
  eg_chars_init(&r->roots, alloc);
  egraph_status status = read_file(r);
  if (status == EGRAPH_OK) status = resolve(r);
  if (status == EGRAPH_OK && eg_extract_problem_check(r->problem) != EGRAPH_OK)
    status = eg_fail_context(EGRAPH_E_PARSE, "%s", path);
  if (status == EGRAPH_OK && names != NULL) status = hand_over(r, names);
  eg_chars_deinit(&r->roots);
  eg_chars_deinit(&r->text);
  eg_chars_deinit(&r->key);
  eg_chars_deinit(&r->id);
  eg_u32s_deinit(&r->children);
  eg_u32s_deinit(&r->number_of);
  eg_u32s_deinit(&r->class_of);
  eg_gym_names_deinit(&r->names);
  eg_strmap_deinit(&r->ids);
  eg_strmap_deinit(&r->classes);
  eg_json_scan_close(&r->scan);
  return status;
}

egraph_status eg_gym_json_read(const char *path, eg_extract_problem *problem,
                               eg_gym_names *names) {
  reader r = {.problem = problem};
  EG_TRY(eg_json_scan_open(&r.scan, problem->children.alloc, path, MAX_BYTES));
  return read_scan(path, &r, names);
}

egraph_status eg_gym_json_parse(const char *path, const char *text, size_t size,
                                eg_extract_problem *problem, eg_gym_names *names) {
  reader r = {.problem = problem};
  EG_TRY(eg_json_scan_open_bytes(&r.scan, problem->children.alloc, path, text, size));
  return read_scan(path, &r, names);
}
