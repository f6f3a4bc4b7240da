// Binary files store rules as text, so that the rule reader checks them, and symbols
// before the rules, so that both keep their numbers.
//
// In JSON nodes may name children that come later, and classes may lie on cycles. So
// every class begins with a placeholder, a leaf that is nothing else; when all nodes are
// in their classes the placeholders are pruned.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/terms/symbolic_file.h"

#include <string.h>

#include "base/egraph_json.h"
#include "base/owner.h"
#include "egraph/engine.h"
#include "egraph/engine_file.h"
#include "rewrites/terms/symbolic_internal.h"

// ---- rules as text --------------------------------------------------------------------

/// Prints a term of a rule. Recursion follows the nesting of the rule, which its
/// reader limits.
static void print_rule_term(const eg_symbolic *symbolic, const eg_symbolic_rule *rule,
                            uint32_t index, eg_text *out) {
  const eg_pattern_term *term = &rule->terms[index];
  if (term->kind == EG_PATTERN_VAR) {
    eg_text_printf(out, " ?v%u", term->var);
    return;
  }
  eg_text_printf(out, term->arity == 0 ? " %s" : " (%s",
                 eg_symbolic_atom(symbolic, term->op));
  for (uint32_t i = 0; i < term->arity; i++)
    print_rule_term(symbolic, rule, rule->children[term->children + i], out);
  if (term->arity != 0) eg_text_append(out, ")");
}

static void print_side(const eg_symbolic *symbolic, const eg_symbolic_rule *rule,
                       const char *name, const uint32_t *roots, eg_text *out) {
  eg_text_printf(out, " (%s", name);
  for (uint32_t i = 0; i < rule->root_count; i++)
    print_rule_term(symbolic, rule, roots[i], out);
  eg_text_append(out, ")");
}

egraph_status eg_symbolic_print_rules(const eg_symbolic *symbolic, eg_text *out) {
  eg_text_append(out, "(egraph-rules 1 symbolic)\n");
  for (uint32_t i = 0; i < eg_symbolic_rule_count(symbolic); i++) {
    const eg_symbolic_rule *rule = eg_symbolic_rule_at(symbolic, i);
    eg_text_printf(out, "(rule %s", rule->name);
    print_side(symbolic, rule, "lhs", rule->lhs, out);
    print_side(symbolic, rule, "rhs", rule->rhs, out);
    eg_text_append(out, ")\n");
  }
  return eg_text_status(out);
}

// ---- writing --------------------------------------------------------------------------

static egraph_status put_atoms(const eg_symbolic *symbolic, eg_chunk_writer *writer) {
  EG_TRY(eg_chunks_begin(writer, "ATOM"));
  for (uint32_t i = 0; i < eg_symbolic_atom_count(symbolic); i++) {
    const char *text = eg_symbolic_atom(symbolic, i);
    EG_TRY(eg_chunks_put(writer, text, strlen(text) + 1));
  }
  return eg_chunks_end(writer);
}

static egraph_status put_rules(const eg_symbolic *symbolic, eg_chunk_writer *writer) {
  EG_LOCAL(eg_text, text, writer->bytes.alloc);
  EG_TRY(eg_symbolic_print_rules(symbolic, &text));
  EG_TRY(eg_chunks_begin(writer, "RULE"));
  EG_TRY(eg_chunks_put(writer, text.chars.data, text.chars.len));
  return eg_chunks_end(writer);
}

static egraph_status put_symbolic(const eg_symbolic *symbolic, eg_chunk_writer *writer) {
  EG_TRY(eg_engine_put(eg_symbolic_engine_of(symbolic), writer));
  EG_TRY(put_atoms(symbolic, writer));
  return put_rules(symbolic, writer);
}

egraph_status eg_symbolic_pack(const eg_symbolic *symbolic, egraph_allocator alloc,
                               eg_chunk_writer *writer) {
  EG_TRY(eg_chunks_start(writer, alloc, EG_SYMBOLIC_FILE_KIND));
  EG_TRY(put_symbolic(symbolic, writer));
  return eg_chunks_finish(writer);
}

egraph_status eg_symbolic_save(const eg_symbolic *symbolic, const char *path) {
  EG_OWNED(eg_chunk_writer, writer);
  EG_TRY(
      eg_chunks_start(&writer, eg_symbolic_allocator(symbolic), EG_SYMBOLIC_FILE_KIND));
  EG_TRY(put_symbolic(symbolic, &writer));
  return eg_chunks_save(&writer, path);
}

// ---- reading --------------------------------------------------------------------------

static egraph_status get_atoms(const eg_chunk_reader *reader, eg_symbolic *symbolic) {
  const char *bytes;
  size_t size;
  EG_TRY(eg_chunks_find(reader, "ATOM", 1, &bytes, &size));
  if (size != 0 && bytes[size - 1] != '\0')
    return eg_chunks_fail(reader, "ATOM", "the last symbol is cut short");
  for (size_t at = 0; at < size; at += strlen(bytes + at) + 1) {
    uint32_t wanted = eg_symbolic_atom_count(symbolic), id;
    if (!eg_symbolic_is_symbol(bytes + at))
      return eg_chunks_fail(reader, "ATOM", "number %u is no symbol", wanted);
    EG_TRY(eg_atoms_add(eg_symbolic_atoms(symbolic), bytes + at, &id));
    if (id != wanted)
      return eg_chunks_fail(reader, "ATOM", "symbols %u and %u are the same", id, wanted);
  }
  return EGRAPH_OK;
}

static egraph_status check_heads(const eg_chunk_reader *reader,
                                 const eg_symbolic *symbolic, const eg_engine *engine) {
  for (eg_node n = eg_engine_first_node(engine); n.id != EG_NODE_NONE.id;
       n = eg_engine_next_node(engine, n)) {
    eg_term term = eg_engine_term(engine, n);
    if (term.op >= eg_symbolic_atom_count(symbolic) || term.payload != 0)
      return eg_chunks_fail(reader, "NODE", "node %u has symbol %u of %u, payload %u",
                            n.id, term.op, eg_symbolic_atom_count(symbolic),
                            term.payload);
  }
  return EGRAPH_OK;
}

static egraph_status get_engine(const eg_chunk_reader *reader, eg_symbolic *symbolic) {
  EG_HELD(eg_engine, engine);
  EG_TRY(eg_engine_get(reader, eg_symbolic_allocator(symbolic), NULL, &engine));
  EG_TRY(check_heads(reader, symbolic, engine));
  eg_symbolic_adopt(symbolic, engine);
  engine = NULL;
  return EGRAPH_OK;
}

static egraph_status get_all(const eg_chunk_reader *reader, eg_symbolic *symbolic,
                             eg_text *rules) {
  const char *bytes;
  size_t size;
  EG_TRY(get_atoms(reader, symbolic));
  EG_TRY(get_engine(reader, symbolic));
  EG_TRY(eg_chunks_find(reader, "RULE", 1, &bytes, &size));
  return eg_text_append_bytes(rules, bytes, size);
}

egraph_status eg_symbolic_get(const eg_chunk_reader *reader, egraph_allocator alloc,
                              eg_text *rules, eg_symbolic **out) {
  EG_HELD(eg_symbolic, symbolic);
  EG_TRY(eg_symbolic_create(&alloc, &symbolic));
  EG_HAND_OVER(get_all(reader, symbolic, rules), symbolic, out);
}

egraph_status eg_symbolic_parse(const egraph_allocator *alloc, const char *name,
                                const void *bytes, size_t size, eg_text *rules,
                                eg_symbolic **out) {
  eg_chunk_reader reader;
  EG_TRY(eg_chunks_open_bytes(&reader, name, bytes, size, EG_SYMBOLIC_FILE_KIND));
  return eg_symbolic_get(&reader, eg_allocator_or_heap(alloc), rules, out);
}

egraph_status eg_symbolic_load(const egraph_allocator *alloc, const char *path,
                               eg_text *rules, eg_symbolic **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_chunk_reader reader;
  EG_TRY(eg_chunks_open(&reader, heap, path, EG_SYMBOLIC_FILE_KIND));
  egraph_status status = eg_symbolic_get(&reader, heap, rules, out);
  eg_chunks_close(&reader);
  return status;
}

// ---- JSON ------------------------------------------------------------------------

// ---- writing --------------------------------------------------------------------------

static void print_string(const char *text, eg_text *out) {
  eg_text_append(out, "\"");
  for (; *text != '\0'; text++) {
    if (*text == '"' || *text == '\\') eg_text_append(out, "\\");
    eg_text_append_bytes(out, text, 1);
  }
  eg_text_append(out, "\"");
}

static void print_json_node(const eg_symbolic *symbolic, eg_class class, uint32_t index,
                            eg_node node, eg_text *out) {
  eg_term term = eg_engine_term(eg_symbolic_engine_of(symbolic), node);
  eg_text_printf(out, "\"%u.%u\": {\"op\": ", class.id, index);
  print_string(eg_symbolic_atom(symbolic, term.op), out);
  eg_text_append(out, ", \"children\": [");
  for (uint32_t i = 0; i < term.arity; i++)
    eg_text_printf(out, "%s\"%u.0\"", i == 0 ? "" : ", ", term.children[i].id);
  eg_text_printf(out, "], \"eclass\": \"%u\", \"cost\": 1.0}", class.id);
}

static void print_nodes(const eg_symbolic *symbolic, eg_text *out) {
  const eg_engine *engine = eg_symbolic_engine_of(symbolic);
  const char *separator = "\n";
  for (eg_class c = eg_engine_first(engine); c.id != EG_CLASS_NONE.id;
       c = eg_engine_next(engine, c)) {
    uint32_t count;
    const eg_node *nodes = eg_engine_class_nodes(engine, c, &count);
    for (uint32_t i = 0; i < count; i++) {
      eg_text_append(out, separator);
      print_json_node(symbolic, c, i, nodes[i], out);
      separator = ",\n";
    }
  }
}

egraph_status eg_symbolic_print_json(const eg_symbolic *symbolic, const eg_class *roots,
                                     uint32_t root_count, eg_text *out) {
  const eg_engine *engine = eg_symbolic_engine_of(symbolic);
  if (!eg_engine_is_clean(engine))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "the e-graph is dirty; rebuild it before saving");
  for (uint32_t i = 0; i < root_count; i++)
    if (!eg_engine_has_class(engine, roots[i]))
      return EG_FAIL(EGRAPH_E_ARGUMENT, "root %u: there is no class %u", i, roots[i].id);
  eg_text_append(out, "{\"nodes\": {");
  print_nodes(symbolic, out);
  eg_text_append(out, "},\n\"root_eclasses\": [");
  for (uint32_t i = 0; i < root_count; i++)
    eg_text_printf(out, "%s\"%u\"", i == 0 ? "" : ", ",
                   eg_engine_find(engine, roots[i]).id);
  return eg_text_append(out, "]}\n");
}

// ---- reading --------------------------------------------------------------------------

#define NO_OP UINT32_MAX

typedef struct json_node {
  uint32_t op, class;
} json_node;
EG_VEC_DEFINE(json_nodes, json_node);

typedef struct reader {
  eg_egraph_json json;
  const char *path;
  eg_symbolic *symbolic;
  json_nodes nodes;
  eg_u32s child_begin; // [node], and one more: the end
  eg_u32s children;
  eg_u32s roots;
  uint32_t op; // operator of the node being read
} reader;

static egraph_status on_op(void *user, const eg_egraph_json *json, const char *op) {
  reader *r = user;
  if (!eg_symbolic_is_symbol(op))
    return eg_json_scan_fail(&json->scan,
                             "op '%s' is no symbol; it has no blanks, brackets, quotes "
                             "or ;, and is no ?variable",
                             op);
  return eg_atoms_add(eg_symbolic_atoms(r->symbolic), op, &r->op);
}

static egraph_status on_node(void *user, const eg_egraph_json *json,
                             const eg_egraph_json_node *node) {
  reader *r = user;
  if (r->op == NO_OP)
    return eg_json_scan_fail(&json->scan, "node '%s' has no \"op\"", node->id);
  if (node->child_count > EG_ENGINE_MAX_ARITY)
    return eg_json_scan_fail(&json->scan, "node '%s' has more than %d children", node->id,
                             EG_ENGINE_MAX_ARITY);
  size_t end = r->children.len + node->child_count;
  if (end > UINT32_MAX) return eg_json_scan_fail(&json->scan, "too many children");
  EG_TRY(eg_u32s_append(&r->children, node->children, node->child_count));
  EG_TRY(eg_u32s_push(&r->child_begin, (uint32_t)end));
  EG_TRY(json_nodes_push(&r->nodes, (json_node){.op = r->op, .class = node->class}));
  r->op = NO_OP;
  return EGRAPH_OK;
}

static egraph_status read_json_nodes(reader *r) {
  eg_egraph_json_sink sink = {.user = r, .on_op = on_op, .on_node = on_node};
  EG_TRY(eg_u32s_push(&r->child_begin, 0));
  // Reserve one element, so that the array's `data` is not NULL if all nodes are leaves.
  EG_TRY(eg_u32s_reserve(&r->children, 1));
  EG_TRY(eg_egraph_json_read(&r->json, &sink));
  EG_TRY(eg_egraph_json_resolve(&r->json, r->child_begin.data, r->children.data));
  return eg_egraph_json_roots(&r->json, &r->roots, NULL);
}

// ---- building -------------------------------------------------------------------------

static bool is_no_placeholder(void *user, const eg_engine *engine, eg_node node) {
  const reader *r = user;
  return eg_engine_term(engine, node).op != eg_symbolic_atom_count(r->symbolic);
}

static egraph_status add_placeholders(reader *r, eg_engine *engine) {
  uint32_t op = eg_symbolic_atom_count(r->symbolic);
  for (uint32_t i = 0; i < eg_egraph_json_class_count(&r->json); i++) {
    eg_class class;
    eg_term leaf = {.op = op, .payload = i};
    EG_TRY(eg_engine_add(engine, &leaf, EG_REASON_SEED, &class));
    assert(class.id == i);
  }
  return EGRAPH_OK;
}

static egraph_status build_graph(reader *r) {
  eg_engine *engine = eg_symbolic_engine(r->symbolic);
  if (eg_symbolic_atom_count(r->symbolic) > EG_ENGINE_MAX_OP)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s: more than %d different symbols", r->path,
                   EG_ENGINE_MAX_OP);
  EG_TRY(add_placeholders(r, engine));
  for (size_t i = 0; i < r->nodes.len; i++) {
    const json_node *node = &r->nodes.data[i];
    const uint32_t *begin = &r->child_begin.data[i];
    bool changed;
    // Valid because an eg_class is its one uint32_t member.
    eg_term term = {.op = node->op,
                    .arity = begin[1] - begin[0],
                    .children = (const eg_class *)(r->children.data + begin[0])};
    EG_TRY(eg_engine_add_to(engine, &term, (eg_class){node->class}, EG_REASON_SEED,
                            &changed));
  }
  EG_TRY(eg_engine_rebuild(engine));
  return eg_engine_prune(engine, is_no_placeholder, r, NULL);
}

static egraph_status read_and_build(reader *r, eg_classes *roots) {
  EG_TRY(read_json_nodes(r));
  EG_TRY(build_graph(r));
  const eg_engine *engine = eg_symbolic_engine_of(r->symbolic);
  for (size_t i = 0; i < r->roots.len; i++)
    EG_TRY(eg_classes_push(roots, eg_engine_find(engine, (eg_class){r->roots.data[i]})));
  return EGRAPH_OK;
}

#define OWNED (json_nodes, nodes), (eg_u32s, child_begin, children, roots)

/// Reads the JSON file that the reader has opened, and closes it.
static egraph_status read_open(reader *r, egraph_allocator alloc, eg_classes *roots,
                               eg_symbolic **out) {
  r->op = NO_OP;
  EG_INIT_MEMBERS(r, alloc, OWNED);
  egraph_status status = eg_symbolic_create(&alloc, &r->symbolic);
  if (status == EGRAPH_OK) {
    status = read_and_build(r, roots);
    if (status == EGRAPH_OK)
      *out = r->symbolic;
    else
      eg_symbolic_destroy(r->symbolic);
  }
  EG_DEINIT_MEMBERS(r, OWNED);
  eg_egraph_json_close(&r->json);
  return status;
}

egraph_status eg_symbolic_read_json(const egraph_allocator *alloc, const char *path,
                                    eg_classes *roots, eg_symbolic **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  reader r = {.path = path};
  EG_TRY(eg_egraph_json_open(&r.json, heap, path));
  return read_open(&r, heap, roots, out);
}

egraph_status eg_symbolic_parse_json(const egraph_allocator *alloc, const char *path,
                                     const char *text, size_t size, eg_classes *roots,
                                     eg_symbolic **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  reader r = {.path = path};
  EG_TRY(eg_egraph_json_open_bytes(&r.json, heap, path, text, size));
  return read_open(&r, heap, roots, out);
}
