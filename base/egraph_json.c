// SPDX-License-Identifier: Apache-2.0
#include "base/egraph_json.h"

#include "base/owner.h"

#include <string.h>

static const uint64_t MAX_BYTES = UINT64_C(16) << 30;

typedef struct reader {
  eg_egraph_json *json;
  const eg_egraph_json_sink *sink;
} reader;

static egraph_status keep_name(eg_egraph_json *json, eg_sizes *begin, const char *name) {
  EG_TRY(eg_sizes_push(begin, json->names.len));
  return eg_chars_append(&json->names, name, strlen(name) + 1);
}

static egraph_status find_number(eg_egraph_json *json, const char *id, uint32_t *out) {
  if (eg_strmap_find(&json->ids, id, out)) return EGRAPH_OK;
  if (json->class_of.len >= EG_EGRAPH_JSON_NONE)
    return eg_json_scan_fail(&json->scan, "more than %u nodes", EG_EGRAPH_JSON_NONE);
  *out = (uint32_t)json->class_of.len;
  EG_TRY(eg_u32s_push(&json->class_of, EG_EGRAPH_JSON_NONE));
  EG_TRY(keep_name(json, &json->id_name, id));
  return eg_strmap_put(&json->ids, id, *out);
}

// ---- values of a node ------------------------------------------------------------

static egraph_status read_class(const reader *r, uint32_t *out) {
  eg_egraph_json *json = r->json;
  char first = 0;
  EG_TRY(eg_json_scan_peek(&json->scan, &first));
  if (first != '"' || *out != EG_EGRAPH_JSON_NONE)
    return eg_json_scan_fail(&json->scan, "node '%s' %s", json->id.data,
                             first == '"' ? "has two classes"
                                          : "has an \"eclass\" that is no string");
  EG_TRY(eg_json_scan_text(&json->scan, &json->text));
  if (eg_strmap_find(&json->classes, json->text.data, out)) return EGRAPH_OK;
  if (r->sink->on_class != NULL) EG_TRY(r->sink->on_class(r->sink->user));
  *out = (uint32_t)json->class_name.len;
  EG_TRY(keep_name(json, &json->class_name, json->text.data));
  return eg_strmap_put(&json->classes, json->text.data, *out);
}

static egraph_status read_op(const reader *r) {
  EG_TRY(eg_json_scan_text(&r->json->scan, &r->json->text));
  return r->sink->on_op(r->sink->user, r->json, r->json->text.data);
}

static egraph_status read_cost(eg_egraph_json *json, double *out) {
  char first = 0;
  EG_TRY(eg_json_scan_peek(&json->scan, &first));
  if (first != '-' && (first < '0' || first > '9'))
    return eg_json_scan_fail(&json->scan, "the cost of node '%s' is not a number",
                             json->id.data);
  return eg_json_scan_double(&json->scan, out);
}

static egraph_status read_child(eg_egraph_json *json, size_t index) {
  char first = 0;
  uint32_t number;
  EG_TRY(eg_json_scan_peek(&json->scan, &first));
  if (first != '"')
    return eg_json_scan_fail(&json->scan, "child %zu of node '%s' is not a string", index,
                             json->id.data);
  if (index >= EG_EGRAPH_JSON_NONE)
    return eg_json_scan_fail(&json->scan, "node '%s' has more than %u children",
                             json->id.data, EG_EGRAPH_JSON_NONE);
  EG_TRY(eg_json_scan_text(&json->scan, &json->text));
  EG_TRY(find_number(json, json->text.data, &number));
  return eg_u32s_push(&json->children, number);
}

static egraph_status read_children(eg_egraph_json *json) {
  char first = 0;
  EG_TRY(eg_json_scan_peek(&json->scan, &first));
  if (first != '[')
    return eg_json_scan_fail(&json->scan, "the children of node '%s' are not an array",
                             json->id.data);
  EG_TRY(eg_json_scan_enter(&json->scan, '['));
  json->children.len = 0; // a key may come twice
  for (size_t count = 0;;) {
    bool more = false;
    EG_TRY(eg_json_scan_next(&json->scan, ']', &count, &more));
    if (!more) return EGRAPH_OK;
    EG_TRY(read_child(json, count - 1));
  }
}

static egraph_status read_values(const reader *r, eg_egraph_json_node *node) {
  eg_egraph_json *json = r->json;
  for (size_t count = 0;;) {
    bool more = false;
    EG_TRY(eg_json_scan_next(&json->scan, '}', &count, &more));
    if (!more) return EGRAPH_OK;
    EG_TRY(eg_json_scan_key_text(&json->scan, &json->key));
    const char *key = json->key.data;
    if (strcmp(key, "eclass") == 0)
      EG_TRY(read_class(r, &node->class));
    else if (strcmp(key, "children") == 0)
      EG_TRY(read_children(json));
    else if (strcmp(key, "cost") == 0 && r->sink->has_costs)
      EG_TRY(read_cost(json, &node->cost));
    else if (strcmp(key, "op") == 0 && r->sink->on_op != NULL)
      EG_TRY(read_op(r));
    else
      EG_TRY(eg_json_scan_skip(&json->scan));
  }
}

static egraph_status read_node(const reader *r) {
  eg_egraph_json *json = r->json;
  eg_egraph_json_node node = {.class = EG_EGRAPH_JSON_NONE, .cost = 1};
  char first = 0;
  uint32_t number;
  EG_TRY(eg_json_scan_key_text(&json->scan, &json->id));
  EG_TRY(find_number(json, json->id.data, &number));
  if (json->class_of.data[number] != EG_EGRAPH_JSON_NONE)
    return eg_json_scan_fail(&json->scan, "a duplicate of node '%s'", json->id.data);
  EG_TRY(eg_json_scan_peek(&json->scan, &first));
  if (first != '{')
    return eg_json_scan_fail(&json->scan, "node '%s' is not an object", json->id.data);
  EG_TRY(eg_json_scan_enter(&json->scan, '{'));
  json->children.len = 0;
  EG_TRY(read_values(r, &node));
  if (node.class == EG_EGRAPH_JSON_NONE)
    return eg_json_scan_fail(&json->scan, "node '%s' has no \"eclass\"", json->id.data);
  json->class_of.data[number] = node.class;
  EG_TRY(eg_u32s_push(&json->number_of, number));
  node.id = json->id.data;
  node.children = json->children.data;
  node.child_count = (uint32_t)json->children.len;
  return r->sink->on_node(r->sink->user, json, &node);
}

// ---- the file --------------------------------------------------------------------

static egraph_status read_nodes(const reader *r) {
  eg_egraph_json *json = r->json;
  char first = 0;
  EG_TRY(eg_json_scan_peek(&json->scan, &first));
  if (first != '{' || json->has_nodes)
    return eg_json_scan_fail(&json->scan, json->has_nodes
                                              ? "\"nodes\" for the second time"
                                              : "\"nodes\" is not an object");
  json->has_nodes = true;
  EG_TRY(eg_json_scan_enter(&json->scan, '{'));
  for (size_t count = 0;;) {
    bool more = false;
    EG_TRY(eg_json_scan_next(&json->scan, '}', &count, &more));
    if (!more) return EGRAPH_OK;
    EG_TRY(read_node(r));
  }
}

// Reads only the names of the root classes: the classes may come later in the file.
static egraph_status read_roots(eg_egraph_json *json) {
  if (json->has_roots)
    return eg_json_scan_fail(&json->scan, "\"root_eclasses\" for the second time");
  json->has_roots = true;
  EG_TRY(eg_json_scan_enter(&json->scan, '['));
  for (size_t count = 0;;) {
    bool more = false;
    EG_TRY(eg_json_scan_next(&json->scan, ']', &count, &more));
    if (!more) return EGRAPH_OK;
    EG_TRY(eg_json_scan_text(&json->scan, &json->text));
    EG_TRY(eg_chars_append(&json->roots, json->text.data, json->text.len + 1));
    json->root_count++;
  }
}

static egraph_status read_file(const reader *r) {
  eg_egraph_json *json = r->json;
  EG_TRY(eg_json_scan_enter(&json->scan, '{'));
  for (size_t count = 0;;) {
    bool more = false;
    EG_TRY(eg_json_scan_next(&json->scan, '}', &count, &more));
    if (!more) return eg_json_scan_end(&json->scan);
    EG_TRY(eg_json_scan_key_text(&json->scan, &json->key));
    if (strcmp(json->key.data, "nodes") == 0)
      EG_TRY(read_nodes(r));
    else if (strcmp(json->key.data, "root_eclasses") == 0)
      EG_TRY(read_roots(json));
    else if (strcmp(json->key.data, "problem") == 0 && !json->has_nodes)
      return eg_json_scan_fail(
          &json->scan, "a sharding problem (IOPDDL), not an e-graph; use egraph shard");
    else
      EG_TRY(eg_json_scan_skip(&json->scan));
  }
}

egraph_status eg_egraph_json_read(eg_egraph_json *json, const eg_egraph_json_sink *sink) {
  reader r = {.json = json, .sink = sink};
  EG_TRY(read_file(&r));
  if (json->has_nodes) return EGRAPH_OK;
  return EG_FAIL(
      EGRAPH_E_PARSE,
      "%s: no object \"nodes\"; is it an e-graph, as egraph-serialize writes it?",
      json->scan.file.path);
}

// ---- names become classes --------------------------------------------------------

egraph_status eg_egraph_json_resolve(const eg_egraph_json *json, const uint32_t *begin,
                                     uint32_t *children) {
  for (size_t node = 0; node < json->number_of.len; node++)
    for (uint32_t i = begin[node]; i < begin[node + 1]; i++) {
      uint32_t child = children[i];
      children[i] = json->class_of.data[child];
      if (children[i] == EG_EGRAPH_JSON_NONE)
        return EG_FAIL(EGRAPH_E_PARSE,
                       "%s: node '%s' has child '%s', which does not exist",
                       json->scan.file.path,
                       json->names.data + json->id_name.data[json->number_of.data[node]],
                       json->names.data + json->id_name.data[child]);
    }
  return EGRAPH_OK;
}

egraph_status eg_egraph_json_roots(const eg_egraph_json *json, eg_u32s *out,
                                   uint32_t *out_left_out) {
  const char *name = json->roots.data;
  uint32_t left_out = 0;
  for (uint32_t i = 0; i < json->root_count; i++, name += strlen(name) + 1) {
    uint32_t class;
    bool found = eg_strmap_find(&json->classes, name, &class);
    left_out += !found;
    if (!found && (out_left_out == NULL || left_out == json->root_count))
      return EG_FAIL(EGRAPH_E_PARSE, "%s: root %u ('%s') is not the class of any node",
                     json->scan.file.path, i, name);
    if (found) EG_TRY(eg_u32s_push(out, class));
  }
  if (out_left_out != NULL) *out_left_out = left_out;
  return EGRAPH_OK;
}

// ---- opening ---------------------------------------------------------------------

#define OWNED                                                                            \
  (eg_strmap, classes, ids), (eg_chars, names, roots, id, key, text),                    \
      (eg_sizes, class_name, id_name), (eg_u32s, class_of, number_of, children)

static void init(eg_egraph_json *json, egraph_allocator alloc) {
  json->root_count = 0;
  json->has_nodes = json->has_roots = false;
  EG_INIT_MEMBERS(json, alloc, OWNED);
}

egraph_status eg_egraph_json_open(eg_egraph_json *json, egraph_allocator alloc,
                                  const char *path) {
  EG_TRY(eg_json_scan_open(&json->scan, alloc, path, MAX_BYTES));
  init(json, alloc);
  return EGRAPH_OK;
}

egraph_status eg_egraph_json_open_bytes(eg_egraph_json *json, egraph_allocator alloc,
                                        const char *path, const char *text, size_t size) {
  EG_TRY(eg_json_scan_open_bytes(&json->scan, alloc, path, text, size));
  init(json, alloc);
  return EGRAPH_OK;
}

void eg_egraph_json_close(eg_egraph_json *json) {
  EG_DEINIT_MEMBERS(json, OWNED);
  eg_json_scan_close(&json->scan);
}
