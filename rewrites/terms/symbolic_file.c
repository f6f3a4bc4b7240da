// Rules are stored as text, so that a file is read with the checks of the rule reader,
// and symbols before them, so that the numbers of both are what they were.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/terms/symbolic_file.h"

#include <string.h>

#include "egraph/engine_file.h"
#include "rewrites/terms/symbolic_internal.h"

// ---- rules as text --------------------------------------------------------------------

/// Recursion follows the nesting of the rule, which its reader limits.
static egraph_status print_term(const eg_symbolic *symbolic, const eg_symbolic_rule *rule,
                                uint32_t index, eg_text *out) {
  const eg_pattern_term *term = &rule->terms[index];
  if (term->kind == EG_PATTERN_VAR) return eg_text_printf(out, " ?v%u", term->var);
  const char *head = eg_symbolic_atom(symbolic, term->op);
  if (term->arity == 0) return eg_text_printf(out, " %s", head);
  EG_TRY(eg_text_printf(out, " (%s", head));
  for (uint32_t i = 0; i < term->arity; i++)
    EG_TRY(print_term(symbolic, rule, rule->children[term->children + i], out));
  return eg_text_append(out, ")");
}

static egraph_status print_side(const eg_symbolic *symbolic, const eg_symbolic_rule *rule,
                                const char *name, const uint32_t *roots, eg_text *out) {
  EG_TRY(eg_text_printf(out, " (%s", name));
  for (uint32_t i = 0; i < rule->root_count; i++)
    EG_TRY(print_term(symbolic, rule, roots[i], out));
  return eg_text_append(out, ")");
}

egraph_status eg_symbolic_print_rules(const eg_symbolic *symbolic, eg_text *out) {
  EG_TRY(eg_text_append(out, "(egraph-rules 1 symbolic)\n"));
  for (uint32_t i = 0; i < eg_symbolic_rule_count(symbolic); i++) {
    const eg_symbolic_rule *rule = eg_symbolic_rule_at(symbolic, i);
    EG_TRY(eg_text_printf(out, "(rule %s", rule->name));
    EG_TRY(print_side(symbolic, rule, "lhs", rule->lhs, out));
    EG_TRY(print_side(symbolic, rule, "rhs", rule->rhs, out));
    EG_TRY(eg_text_append(out, ")\n"));
  }
  return EGRAPH_OK;
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

static egraph_status put_rules(const eg_symbolic *symbolic, eg_chunk_writer *writer,
                               eg_text *text) {
  EG_TRY(eg_symbolic_print_rules(symbolic, text));
  EG_TRY(eg_chunks_begin(writer, "RULE"));
  EG_TRY(eg_chunks_put(writer, text->chars.data, text->chars.len));
  return eg_chunks_end(writer);
}

egraph_status eg_symbolic_put(const eg_symbolic *symbolic, eg_chunk_writer *writer) {
  EG_TRY(eg_engine_put(eg_symbolic_engine_of(symbolic), writer));
  EG_TRY(put_atoms(symbolic, writer));
  eg_text text;
  eg_text_init(&text, writer->bytes.alloc);
  egraph_status status = put_rules(symbolic, writer, &text);
  eg_text_deinit(&text);
  return status;
}

egraph_status eg_symbolic_pack(const eg_symbolic *symbolic, egraph_allocator alloc,
                               eg_chunk_writer *writer) {
  EG_TRY(eg_chunks_start(writer, alloc, EG_SYMBOLIC_FILE_KIND));
  EG_TRY(eg_symbolic_put(symbolic, writer));
  return eg_chunks_finish(writer);
}

egraph_status eg_symbolic_save(const eg_symbolic *symbolic, const char *path) {
  eg_chunk_writer writer;
  egraph_status status =
      eg_chunks_start(&writer, eg_symbolic_allocator(symbolic), EG_SYMBOLIC_FILE_KIND);
  if (status == EGRAPH_OK) status = eg_symbolic_put(symbolic, &writer);
  if (status == EGRAPH_OK) status = eg_chunks_save(&writer, path);
  eg_chunk_writer_deinit(&writer);
  return status;
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
  eg_engine *engine;
  EG_TRY(eg_engine_get(reader, eg_symbolic_allocator(symbolic), NULL, &engine));
  egraph_status status = check_heads(reader, symbolic, engine);
  if (status == EGRAPH_OK)
    eg_symbolic_adopt(symbolic, engine);
  else
    eg_engine_destroy(engine);
  return status;
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
  eg_symbolic *symbolic;
  EG_TRY(eg_symbolic_create(&alloc, &symbolic));
  egraph_status status = get_all(reader, symbolic, rules);
  if (status == EGRAPH_OK)
    *out = symbolic;
  else
    eg_symbolic_destroy(symbolic);
  return status;
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
