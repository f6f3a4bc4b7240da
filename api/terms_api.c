// Public functions of e-graphs of plain terms: making, reading and printing them, and
// their states.
// SPDX-License-Identifier: Apache-2.0
#include "api/arguments.h"
#include "api/terms.h"
#include "base/text.h"

#include <string.h>

enum { MAX_RULE_BYTES = 1 << 28, FEW_CHILDREN = 8 };

egraph_status egraph_terms_create(const egraph_allocator *alloc, egraph_terms **out) {
  EG_REQUIRE(out);
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  egraph_terms *terms;
  EG_TRY(eg_alloc(heap, 1, sizeof *terms, &terms));
  egraph_status status = eg_symbolic_create(&heap, &terms->symbolic);
  if (status != EGRAPH_OK) {
    eg_free(heap, terms, 1, sizeof *terms);
    return status;
  }
  terms->alloc = heap;
  terms->last.alloc = heap;
  *out = terms;
  return EGRAPH_OK;
}

void egraph_terms_destroy(egraph_terms *terms) {
  if (terms == NULL) return;
  eg_saturation_report_deinit(&terms->last);
  eg_symbolic_destroy(terms->symbolic);
  eg_free(terms->alloc, terms, 1, sizeof *terms);
}

static eg_engine *engine_of(egraph_terms *terms) {
  return eg_symbolic_engine(terms->symbolic);
}
static const eg_engine *engine_in(const egraph_terms *terms) {
  return eg_symbolic_engine_of(terms->symbolic);
}

egraph_status eg_terms_check_clean(const egraph_terms *terms) {
  if (eg_engine_is_clean(engine_in(terms))) return EGRAPH_OK;
  return EG_FAIL(
      EGRAPH_E_ARGUMENT,
      "terms were added or united since the last rebuild; call egraph_terms_rebuild "
      "before");
}

// ---- text ------------------------------------------------------------------------

egraph_status egraph_terms_add_rule_text(egraph_terms *terms, const char *name,
                                         const char *text) {
  EG_REQUIRE(terms, name, text);
  return eg_symbolic_add_rules(terms->symbolic, name, text, strlen(text));
}

egraph_status egraph_terms_add_rule_file(egraph_terms *terms, const char *path) {
  EG_REQUIRE(terms, path);
  char *text;
  size_t size;
  EG_TRY(eg_file_read(terms->alloc, path, MAX_RULE_BYTES, &text, &size));
  egraph_status status = eg_symbolic_add_rules(terms->symbolic, path, text, size);
  eg_free(terms->alloc, text, size + 1, 1);
  return status;
}

uint32_t egraph_terms_rule_count(const egraph_terms *terms) {
  return terms != NULL ? eg_symbolic_rule_count(terms->symbolic) : 0;
}

egraph_status egraph_terms_add(egraph_terms *terms, const char *name, const char *text,
                               egraph_class *out) {
  EG_REQUIRE(terms, name, text, out);
  eg_class class;
  EG_TRY(eg_symbolic_add_term(terms->symbolic, name, text, strlen(text), &class));
  out->id = class.id;
  return EGRAPH_OK;
}

// ---- nodes -----------------------------------------------------------------------

egraph_status egraph_terms_symbol(egraph_terms *terms, const char *text,
                                  egraph_symbol *out) {
  EG_REQUIRE(terms, text, out);
  return eg_symbolic_symbol(terms->symbolic, text, &out->id);
}

// Makes the term symbol(children...). The classes of the children are in `few` or, if
// there are too many of them, in `many`.
static egraph_status make_term(egraph_symbol symbol, const egraph_class *children,
                               uint32_t count, eg_class few[FEW_CHILDREN],
                               eg_classes *many, eg_term *out) {
  if (count > FEW_CHILDREN) EG_TRY(eg_classes_resize(many, count));
  eg_class *classes = count > FEW_CHILDREN ? many->data : few;
  for (uint32_t i = 0; i < count; i++)
    classes[i].id = children[i].id;
  *out = (eg_term){.op = symbol.id, .arity = count, .children = classes};
  return EGRAPH_OK;
}

static egraph_status check_symbol(const egraph_terms *terms, egraph_symbol symbol) {
  if (symbol.id < eg_symbolic_atom_count(terms->symbolic)) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "there is no symbol number %u; egraph_terms_symbol gives numbers",
                 symbol.id);
}

egraph_status egraph_terms_add_node(egraph_terms *terms, egraph_symbol symbol,
                                    const egraph_class *children, uint32_t count,
                                    egraph_class *out) {
  EG_REQUIRE(terms, out);
  EG_REQUIRE_ARRAY(children, count);
  EG_TRY(check_symbol(terms, symbol));
  eg_class few[FEW_CHILDREN], class;
  EG_LOCAL(eg_classes, many, terms->alloc);
  eg_term term;
  EG_TRY(make_term(symbol, children, count, few, &many, &term));
  EG_TRY(eg_engine_add(engine_of(terms), &term, EG_REASON_SEED, &class));
  out->id = class.id;
  return EGRAPH_OK;
}

static egraph_status add_batch(egraph_terms *terms, egraph_symbol symbol, uint32_t arity,
                               const egraph_class *children, uint32_t count,
                               egraph_class *out) {
  eg_class classes[EG_ENGINE_BATCH], given[EG_ENGINE_BATCH * FEW_CHILDREN];
  for (uint32_t i = 0; i < count * arity; i++)
    given[i].id = children[i].id;
  eg_term_batch batch = {
      .op = symbol.id, .arity = arity, .count = count, .children = given};
  EG_TRY(eg_engine_add_batch(engine_of(terms), &batch, EG_REASON_SEED, classes));
  for (uint32_t i = 0; i < count; i++)
    out[i].id = classes[i].id;
  return EGRAPH_OK;
}

egraph_status egraph_terms_add_nodes(egraph_terms *terms, egraph_symbol symbol,
                                     uint32_t arity, const egraph_class *children,
                                     size_t count, egraph_class *out) {
  EG_REQUIRE(terms, out);
  EG_REQUIRE_ARRAY(children, arity == 0 ? 0 : count);
  EG_TRY(check_symbol(terms, symbol));
  size_t most = arity <= FEW_CHILDREN ? EG_ENGINE_BATCH : 1;
  for (size_t i = 0; i < count; i += most) {
    size_t batch = count - i < most ? count - i : most;
    const egraph_class *first = arity == 0 ? NULL : children + i * arity;
    if (arity <= FEW_CHILDREN)
      EG_TRY(add_batch(terms, symbol, arity, first, (uint32_t)batch, out + i));
    else
      EG_TRY(egraph_terms_add_node(terms, symbol, first, arity, out + i));
  }
  return EGRAPH_OK;
}

static bool are_known(const egraph_terms *terms, const egraph_class *classes,
                      uint32_t count) {
  uint32_t limit = eg_engine_class_limit(engine_in(terms));
  for (uint32_t i = 0; i < count; i++)
    if (classes[i].id >= limit) return false;
  return true;
}

bool egraph_terms_find_node(const egraph_terms *terms, egraph_symbol symbol,
                            const egraph_class *children, uint32_t count,
                            egraph_class *out) {
  eg_class few[FEW_CHILDREN], class;
  eg_term term;
  if (terms == NULL || (count != 0 && children == NULL)) return false;
  EG_LOCAL(eg_classes, many, terms->alloc);
  bool found = are_known(terms, children, count) &&
               make_term(symbol, children, count, few, &many, &term) == EGRAPH_OK &&
               eg_engine_find_term(engine_in(terms), &term, &class);
  if (found && out != NULL) out->id = class.id;
  return found;
}

egraph_status egraph_terms_unite(egraph_terms *terms, egraph_class a, egraph_class b,
                                 bool *out_changed) {
  EG_REQUIRE(terms);
  bool changed;
  EG_TRY(eg_engine_unite(engine_of(terms), (eg_class){a.id}, (eg_class){b.id},
                         EG_REASON_SEED, &changed));
  if (out_changed != NULL) *out_changed = changed;
  return EGRAPH_OK;
}

egraph_status egraph_terms_rebuild(egraph_terms *terms) {
  EG_REQUIRE(terms);
  return eg_engine_rebuild(engine_of(terms));
}

egraph_class egraph_terms_find(const egraph_terms *terms, egraph_class which) {
  if (terms == NULL || !are_known(terms, &which, 1)) return which;
  return (egraph_class){eg_engine_find(engine_in(terms), (eg_class){which.id}).id};
}

bool egraph_terms_are_equal(const egraph_terms *terms, egraph_class a, egraph_class b) {
  return egraph_terms_find(terms, a).id == egraph_terms_find(terms, b).id;
}

egraph_terms_info egraph_terms_info_of(const egraph_terms *terms) {
  if (terms == NULL) return (egraph_terms_info){.nodes = 0};
  const eg_engine *engine = engine_in(terms);
  return (egraph_terms_info){.nodes = eg_engine_node_count(engine),
                             .classes = eg_engine_class_count(engine),
                             .bytes = eg_engine_bytes(engine)};
}

// ---- printing --------------------------------------------------------------------

static egraph_status check_readable(const egraph_terms *terms, egraph_class which) {
  if (!are_known(terms, &which, 1))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "there is no class %u", which.id);
  return eg_terms_check_clean(terms);
}

egraph_status egraph_terms_smallest(const egraph_allocator *alloc,
                                    const egraph_terms *terms, egraph_class which,
                                    char **out, uint64_t *out_size) {
  EG_REQUIRE(terms, out);
  EG_TRY(check_readable(terms, which));
  EG_LOCAL(eg_text, text, eg_allocator_or_heap(alloc));
  uint64_t size;
  EG_TRY(eg_symbolic_smallest(terms->symbolic, (eg_class){which.id}, &text, &size));
  EG_TRY(eg_text_take(&text, out));
  if (out_size != NULL) *out_size = size;
  return EGRAPH_OK;
}

egraph_status egraph_terms_smallest_each(const egraph_allocator *alloc,
                                         const egraph_terms *terms,
                                         const egraph_class *classes, size_t count,
                                         void (*report)(void *user, size_t index,
                                                        const char *text, uint64_t size),
                                         void *user) {
  EG_REQUIRE(terms);
  EG_REQUIRE_ARRAY(classes, count);
  EG_REQUIRE_CALL(report);
  for (size_t i = 0; i < count; i++)
    EG_TRY(check_readable(terms, classes[i]));
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  EG_LOCAL(eg_classes, own, heap);
  EG_TRY(eg_classes_resize(&own, count));
  for (size_t i = 0; i < count; i++)
    own.data[i].id = classes[i].id;
  return eg_symbolic_smallest_each(terms->symbolic, heap, own.data, count, report, user);
}

static egraph_status spell(void *user, const eg_term *term, eg_text *out) {
  const egraph_terms *terms = user;
  return eg_text_append(out, eg_symbolic_atom(terms->symbolic, term->op));
}

egraph_status egraph_terms_dot(const egraph_allocator *alloc, const egraph_terms *terms,
                               char **out) {
  EG_REQUIRE(terms, out);
  EG_TRY(eg_terms_check_clean(terms));
  EG_LOCAL(eg_text, text, eg_allocator_or_heap(alloc));
  egraph_terms view = *terms; // `spell` takes no const pointer
  EG_TRY(eg_engine_dot(engine_in(terms), spell, &view, &text));
  return eg_text_take(&text, out);
}

egraph_status egraph_terms_check(const egraph_terms *terms) {
  EG_REQUIRE(terms);
  return eg_engine_check(engine_in(terms));
}

// ---- states ----------------------------------------------------------------------

egraph_status egraph_terms_push(egraph_terms *terms) {
  EG_REQUIRE(terms);
  return eg_symbolic_push(terms->symbolic);
}

egraph_status egraph_terms_pop(egraph_terms *terms) {
  EG_REQUIRE(terms);
  EG_TRY(eg_symbolic_pop(terms->symbolic));
  // Rules that were removed have no statistics.
  eg_saturation_report_deinit(&terms->last);
  return EGRAPH_OK;
}

egraph_status egraph_terms_drop(egraph_terms *terms) {
  EG_REQUIRE(terms);
  return eg_symbolic_drop(terms->symbolic);
}
