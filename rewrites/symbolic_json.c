// Nodes may name children that come later, and classes may lie on cycles. So every class
// begins with a placeholder, a leaf that is nothing else; when all nodes stand in their
// classes the placeholders are pruned.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/symbolic_json.h"

#include <string.h>

#include "base/json_scan.h"
#include "base/strmap.h"
#include "egraph/prune.h"
#include "rewrites/symbolic_rules.h"

static const uint64_t MAX_BYTES = UINT64_C(16) << 30;
#define NO_CLASS (UINT32_MAX - 1)

// ---- writing --------------------------------------------------------------------------

static egraph_status print_string(const char *text, eg_text *out) {
  EG_TRY(eg_text_append(out, "\""));
  for (; *text != '\0'; text++) {
    if (*text == '"' || *text == '\\') EG_TRY(eg_text_append(out, "\\"));
    EG_TRY(eg_text_append_bytes(out, text, 1));
  }
  return eg_text_append(out, "\"");
}

static egraph_status print_node(const eg_symbolic *symbolic, eg_class class,
                                uint32_t index, eg_node node, eg_text *out) {
  eg_term term = eg_engine_term(eg_symbolic_engine_of(symbolic), node);
  EG_TRY(eg_text_printf(out, "\"%u.%u\": {\"op\": ", class.id, index));
  EG_TRY(print_string(eg_symbolic_atom(symbolic, term.op), out));
  EG_TRY(eg_text_append(out, ", \"children\": ["));
  for (uint32_t i = 0; i < term.arity; i++)
    EG_TRY(eg_text_printf(out, "%s\"%u.0\"", i == 0 ? "" : ", ", term.children[i].id));
  return eg_text_printf(out, "], \"eclass\": \"%u\", \"cost\": 1.0}", class.id);
}

static egraph_status print_nodes(const eg_symbolic *symbolic, eg_text *out) {
  const eg_engine *engine = eg_symbolic_engine_of(symbolic);
  const char *separator = "\n";
  for (eg_class c = eg_engine_first(engine); c.id != EG_CLASS_NONE.id;
       c = eg_engine_next(engine, c)) {
    uint32_t count;
    const eg_node *nodes = eg_engine_class_nodes(engine, c, &count);
    for (uint32_t i = 0; i < count; i++) {
      EG_TRY(eg_text_append(out, separator));
      EG_TRY(print_node(symbolic, c, i, nodes[i], out));
      separator = ",\n";
    }
  }
  return EGRAPH_OK;
}

egraph_status eg_symbolic_print_json(const eg_symbolic *symbolic, const eg_class *roots,
                                     uint32_t root_count, eg_text *out) {
  const eg_engine *engine = eg_symbolic_engine_of(symbolic);
  if (!eg_engine_is_clean(engine))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "the e-graph is dirty; rebuild it before saving");
  for (uint32_t i = 0; i < root_count; i++)
    if (!eg_engine_has_class(engine, roots[i]))
      return EG_FAIL(EGRAPH_E_ARGUMENT, "root %u: there is no class %u", i, roots[i].id);
  EG_TRY(eg_text_append(out, "{\"nodes\": {"));
  EG_TRY(print_nodes(symbolic, out));
  EG_TRY(eg_text_append(out, "},\n\"root_eclasses\": ["));
  for (uint32_t i = 0; i < root_count; i++)
    EG_TRY(eg_text_printf(out, "%s\"%u\"", i == 0 ? "" : ", ",
                          eg_engine_find(engine, roots[i]).id));
  return eg_text_append(out, "]}\n");
}

// ---- reading --------------------------------------------------------------------------

typedef struct json_node {
  uint32_t op, class;
  size_t first_child; // in reader.children
  uint32_t child_count;
} json_node;
EG_VEC_DEFINE(json_nodes, json_node);

typedef struct reader {
  eg_json_scan scan;
  const char *path;
  eg_symbolic *symbolic;
  eg_strmap classes; // name -> class
  eg_strmap ids;     // node -> number, in the order of first mention
  eg_u32s class_of;  // [number] NO_CLASS: mentioned only
  eg_u32s mentioned; // [number] by which node, first
  eg_u32s children;  // numbers
  json_nodes nodes;
  uint32_t class_count, root_count;
  eg_chars key, text; // scratch
  eg_chars roots;     // names, each with its NUL
  bool has_nodes;
} reader;

static egraph_status number_of(reader *r, const char *id, uint32_t *out) {
  if (eg_strmap_find(&r->ids, id, out)) return EGRAPH_OK;
  if (r->class_of.len >= NO_CLASS) return eg_json_scan_fail(&r->scan, "too many nodes");
  *out = (uint32_t)r->class_of.len;
  EG_TRY(eg_u32s_push(&r->class_of, NO_CLASS));
  EG_TRY(eg_u32s_push(&r->mentioned, (uint32_t)r->nodes.len));
  return eg_strmap_put(&r->ids, id, *out);
}

static egraph_status read_op(reader *r, uint32_t *out) {
  EG_TRY(eg_json_scan_text(&r->scan, &r->text));
  if (!eg_symbolic_is_symbol(r->text.data))
    return eg_json_scan_fail(
        &r->scan,
        "op '%s' is no symbol; it has no blanks, brackets, quotes or "
        ";, and is no ?variable",
        r->text.data);
  return eg_atoms_add(eg_symbolic_atoms(r->symbolic), r->text.data, out);
}

static egraph_status read_class(reader *r, uint32_t *out) {
  EG_TRY(eg_json_scan_text(&r->scan, &r->text));
  if (eg_strmap_find(&r->classes, r->text.data, out)) return EGRAPH_OK;
  *out = r->class_count++;
  return eg_strmap_put(&r->classes, r->text.data, *out);
}

static egraph_status read_children(reader *r, json_node *node) {
  EG_TRY(eg_json_scan_enter(&r->scan, '['));
  r->children.len = node->first_child; // a key may come twice
  node->child_count = 0;
  for (size_t count = 0;;) {
    bool more = false;
    uint32_t number;
    EG_TRY(eg_json_scan_next(&r->scan, ']', &count, &more));
    if (!more) return EGRAPH_OK;
    if (node->child_count == EG_ENGINE_MAX_ARITY)
      return eg_json_scan_fail(&r->scan, "more than %d children", EG_ENGINE_MAX_ARITY);
    EG_TRY(eg_json_scan_text(&r->scan, &r->text));
    EG_TRY(number_of(r, r->text.data, &number));
    EG_TRY(eg_u32s_push(&r->children, number));
    node->child_count++;
  }
}

static egraph_status read_values(reader *r, json_node *node) {
  EG_TRY(eg_json_scan_enter(&r->scan, '{'));
  for (size_t count = 0;;) {
    bool more = false;
    EG_TRY(eg_json_scan_next(&r->scan, '}', &count, &more));
    if (!more) return EGRAPH_OK;
    EG_TRY(eg_json_scan_key_text(&r->scan, &r->key));
    if (strcmp(r->key.data, "op") == 0)
      EG_TRY(read_op(r, &node->op));
    else if (strcmp(r->key.data, "eclass") == 0)
      EG_TRY(read_class(r, &node->class));
    else if (strcmp(r->key.data, "children") == 0)
      EG_TRY(read_children(r, node));
    else
      EG_TRY(eg_json_scan_skip(&r->scan));
  }
}

static egraph_status read_node(reader *r) {
  uint32_t number;
  EG_TRY(eg_json_scan_key_text(&r->scan, &r->key));
  EG_TRY(number_of(r, r->key.data, &number));
  if (r->class_of.data[number] != NO_CLASS)
    return eg_json_scan_fail(&r->scan, "a duplicate of node '%s'", r->key.data);
  json_node node = {.op = NO_CLASS, .class = NO_CLASS, .first_child = r->children.len};
  EG_TRY(read_values(r, &node));
  if (node.op == NO_CLASS || node.class == NO_CLASS)
    return eg_json_scan_fail(&r->scan, "a node without \"%s\"",
                             node.op == NO_CLASS ? "op" : "eclass");
  r->class_of.data[number] = node.class;
  return json_nodes_push(&r->nodes, node);
}

static egraph_status read_nodes(reader *r) {
  if (r->has_nodes) return eg_json_scan_fail(&r->scan, "\"nodes\" for the second time");
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
    if (!more) break;
    EG_TRY(eg_json_scan_key_text(&r->scan, &r->key));
    if (strcmp(r->key.data, "nodes") == 0)
      EG_TRY(read_nodes(r));
    else if (strcmp(r->key.data, "root_eclasses") == 0)
      EG_TRY(read_roots(r));
    else
      EG_TRY(eg_json_scan_skip(&r->scan));
  }
  if (!r->has_nodes) return eg_json_scan_fail(&r->scan, "no object \"nodes\"");
  return eg_json_scan_end(&r->scan);
}

// ---- building -------------------------------------------------------------------------

static egraph_status resolve(reader *r, eg_classes *roots) {
  for (size_t i = 0; i < r->class_of.len; i++)
    if (r->class_of.data[i] == NO_CLASS)
      return EG_FAIL(EGRAPH_E_PARSE, "%s: node %u has a child that does not exist",
                     r->path, r->mentioned.data[i]);
  for (size_t i = 0; i < r->children.len; i++)
    r->children.data[i] = r->class_of.data[r->children.data[i]];
  const char *name = r->roots.data;
  for (uint32_t i = 0; i < r->root_count; i++, name += strlen(name) + 1) {
    eg_class class;
    if (!eg_strmap_find(&r->classes, name, &class.id))
      return EG_FAIL(EGRAPH_E_PARSE, "%s: root %u ('%s') is not the class of any node",
                     r->path, i, name);
    EG_TRY(eg_classes_push(roots, class));
  }
  return EGRAPH_OK;
}

static bool is_no_placeholder(void *user, const eg_engine *engine, eg_node node) {
  const reader *r = user;
  return eg_engine_term(engine, node).op != eg_symbolic_atom_count(r->symbolic);
}

static egraph_status add_placeholders(reader *r, eg_engine *engine) {
  uint32_t op = eg_symbolic_atom_count(r->symbolic);
  for (uint32_t i = 0; i < r->class_count; i++) {
    eg_class class;
    eg_term leaf = {.op = op, .payload = i};
    EG_TRY(eg_engine_add(engine, &leaf, EG_REASON_SEED, &class));
    assert(class.id == i);
  }
  return EGRAPH_OK;
}

static egraph_status build(reader *r) {
  eg_engine *engine = eg_symbolic_engine(r->symbolic);
  if (eg_symbolic_atom_count(r->symbolic) > EG_ENGINE_MAX_OP)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s: more than %d different symbols", r->path,
                   EG_ENGINE_MAX_OP);
  EG_TRY(add_placeholders(r, engine));
  for (size_t i = 0; i < r->nodes.len; i++) {
    const json_node *node = &r->nodes.data[i];
    bool changed;
    // An eg_class is its one uint32_t member.
    eg_term term = {.op = node->op,
                    .arity = node->child_count,
                    .children = (const eg_class *)(r->children.data + node->first_child)};
    EG_TRY(eg_engine_add_to(engine, &term, (eg_class){node->class}, EG_REASON_SEED,
                            &changed));
  }
  EG_TRY(eg_engine_rebuild(engine));
  return eg_engine_prune(engine, is_no_placeholder, r, NULL);
}

static void reader_init(reader *r, egraph_allocator alloc) {
  eg_strmap_init(&r->classes, alloc);
  eg_strmap_init(&r->ids, alloc);
  eg_u32s_init(&r->class_of, alloc);
  eg_u32s_init(&r->mentioned, alloc);
  eg_u32s_init(&r->children, alloc);
  json_nodes_init(&r->nodes, alloc);
  eg_chars_init(&r->key, alloc);
  eg_chars_init(&r->text, alloc);
  eg_chars_init(&r->roots, alloc);
}

static void reader_deinit(reader *r) {
  eg_strmap_deinit(&r->classes);
  eg_strmap_deinit(&r->ids);
  eg_u32s_deinit(&r->class_of);
  eg_u32s_deinit(&r->mentioned);
  eg_u32s_deinit(&r->children);
  json_nodes_deinit(&r->nodes);
  eg_chars_deinit(&r->key);
  eg_chars_deinit(&r->text);
  eg_chars_deinit(&r->roots);
}

static egraph_status read_and_build(reader *r, eg_classes *roots) {
  EG_TRY(read_file(r));
  EG_TRY(resolve(r, roots));
  EG_TRY(build(r));
  const eg_engine *engine = eg_symbolic_engine_of(r->symbolic);
  for (size_t i = 0; i < roots->len; i++)
    roots->data[i] = eg_engine_find(engine, roots->data[i]);
  return EGRAPH_OK;
}

/// Takes the open scan.
static egraph_status read_scan(reader *r, egraph_allocator alloc, eg_classes *roots,
                               eg_symbolic **out) {
  reader_init(r, alloc);
  egraph_status status = eg_symbolic_create(&alloc, &r->symbolic);
  if (status == EGRAPH_OK) {
    status = read_and_build(r, roots);
    if (status == EGRAPH_OK)
      *out = r->symbolic;
    else
      eg_symbolic_destroy(r->symbolic);
  }
  reader_deinit(r);
  eg_json_scan_close(&r->scan);
  return status;
}

egraph_status eg_symbolic_read_json(const egraph_allocator *alloc, const char *path,
                                    eg_classes *roots, eg_symbolic **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  reader r = {.path = path};
  EG_TRY(eg_json_scan_open(&r.scan, heap, path, MAX_BYTES));
  return read_scan(&r, heap, roots, out);
}

egraph_status eg_symbolic_parse_json(const egraph_allocator *alloc, const char *path,
                                     const char *text, size_t size, eg_classes *roots,
                                     eg_symbolic **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  reader r = {.path = path};
  EG_TRY(eg_json_scan_open_bytes(&r.scan, heap, path, text, size));
  return read_scan(&r, heap, roots, out);
}
