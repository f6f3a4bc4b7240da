// The explanation log is a row of words, which grows with every new class and union and
// never changes; it is a copy, because repairs change the nodes of the engine. The number
// of a class is the position of its entry in the row.
// SPDX-License-Identifier: Apache-2.0
#include "egraph/explain_log.h"

#include "egraph/engine_internal.h"

egraph_status eg_engine_start_log(eg_engine *engine, uint32_t own_reasons) {
  if (engine->up.len != 0 || engine->analysis.modify != NULL)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "explanations are kept from the beginning or not at all, and without "
                   "an analysis that unites");
  engine->has_log = true;
  engine->own_reasons = own_reasons;
  return EGRAPH_OK;
}

bool eg_engine_has_log(const eg_engine *engine) { return engine->has_log; }

size_t eg_engine_logged_count(const eg_engine *engine) { return engine->log_unions.len; }

eg_union eg_engine_logged_at(const eg_engine *engine, size_t index) {
  return *eg_unions_at(&engine->log_unions, index);
}

egraph_status eg_log_reserve_class(eg_engine *engine, uint32_t arity) {
  eg_u32s *classes = &engine->log_classes;
  return eg_u32s_reserve(classes, classes->len + 1 + arity);
}

void eg_log_class(eg_engine *engine, uint32_t head, const eg_term *term) {
  assert(engine->has_log);
  eg_u32s *classes = &engine->log_classes;
  uint32_t *words = classes->data + classes->len;
  *words++ = head;
  for (uint32_t i = 0; i < term->arity; i++)
    *words++ = term->children[i].id;
  classes->len += 1 + term->arity;
}

// ---- notes -----------------------------------------------------------------------

egraph_status eg_engine_note(eg_engine *engine, const uint32_t *words, size_t count) {
  return eg_u32s_append(&engine->log_notes, words, count);
}

const uint32_t *eg_engine_notes(const eg_engine *engine, size_t *out_count) {
  *out_count = engine->log_notes.len;
  return engine->log_notes.data;
}

void eg_engine_forget_notes(eg_engine *engine, size_t count) {
  assert(count <= engine->log_notes.len);
  engine->log_notes.len -= count;
}

// ---- reading ---------------------------------------------------------------------

void eg_log_reader_init(eg_log_reader *reader, const eg_engine *engine,
                        eg_explainer *explainer, egraph_allocator alloc) {
  *reader = (eg_log_reader){.engine = engine, .explainer = explainer};
  eg_u32s_init(&reader->terms, alloc);
  eg_u32s_init(&reader->kids, alloc);
}

void eg_log_reader_deinit(eg_log_reader *reader) {
  eg_u32s_deinit(&reader->terms);
  eg_u32s_deinit(&reader->kids);
}

/// Adds the term of the next class to the explainer.
static egraph_status read_logged_class(eg_log_reader *reader) {
  const eg_engine *engine = reader->engine;
  const uint32_t *words = engine->log_classes.data + reader->word;
  const eg_head *head = &engine->heads.data[words[0]];
  EG_TRY(eg_u32s_resize(&reader->kids, head->arity));
  for (uint32_t i = 0; i < head->arity; i++)
    reader->kids.data[i] = *eg_u32s_at(&reader->terms, words[1 + i]);
  eg_ground ground = {.op = head->op,
                      .payload = head->payload,
                      .arity = head->arity,
                      .children = reader->kids.data};
  uint32_t term;
  EG_TRY(eg_u32s_reserve(&reader->terms, reader->terms.len + 1));
  EG_TRY(eg_explainer_add(reader->explainer, &ground, &term));
  reader->terms.data[reader->terms.len++] = term;
  reader->word += 1 + head->arity;
  return EGRAPH_OK;
}

egraph_status eg_log_reader_term(eg_log_reader *reader, eg_class class, uint32_t *out) {
  const eg_engine *engine = reader->engine;
  if (!engine->has_log)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "no explanations are kept of this e-graph");
  if (class.id >= engine->up.len)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "class %u, but there are only %zu", class.id,
                   engine->up.len);
  while (reader->terms.len <= class.id)
    EG_TRY(read_logged_class(reader));
  *out = reader->terms.data[class.id];
  return EGRAPH_OK;
}

egraph_status eg_log_reader_state(eg_log_reader *reader) {
  for (; reader->equation < eg_engine_logged_count(reader->engine); reader->equation++) {
    eg_union equation = eg_engine_logged_at(reader->engine, reader->equation);
    uint32_t left, right;
    EG_TRY(eg_log_reader_term(reader, equation.a, &left));
    EG_TRY(eg_log_reader_term(reader, equation.b, &right));
    EG_TRY(eg_explainer_state(reader->explainer, left, right, equation.reason));
  }
  return EGRAPH_OK;
}
