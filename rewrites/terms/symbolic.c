// Atoms, rules and terms of an eg_symbolic, its earlier states, and patterns over it.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/terms/symbolic.h"

#include <assert.h>
#include <string.h>

#include "base/owner.h"
#include "egraph/engine.h"
#include "rewrites/language/rule_forms.h"
#include "rewrites/language/rule_reader.h"
#include "rewrites/terms/symbolic_internal.h"

EG_VEC_DEFINE(symbolic_rules, eg_symbolic_rule);

struct eg_symbolic {
  egraph_allocator alloc;
  eg_arena arena;
  eg_atoms atoms;
  symbolic_rules rules;
  eg_u32s saved_rules; // number of rules at each push
  eg_engine *engine;
};

egraph_status eg_symbolic_create(const egraph_allocator *alloc, eg_symbolic **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  EG_HELD(eg_symbolic, symbolic);
  EG_TRY(eg_alloc(heap, 1, sizeof *symbolic, &symbolic));
  symbolic->alloc = heap;
  eg_arena_init(&symbolic->arena, heap);
  eg_atoms_init(&symbolic->atoms, heap);
  symbolic->atoms.arena = &symbolic->arena;
  symbolic_rules_init(&symbolic->rules, heap);
  eg_u32s_init(&symbolic->saved_rules, heap);
  EG_HAND_OVER(eg_engine_create(&heap, NULL, &symbolic->engine), symbolic, out);
}

void eg_symbolic_destroy(eg_symbolic *symbolic) {
  if (symbolic == NULL) return;
  eg_engine_destroy(symbolic->engine);
  EG_DEINIT_MEMBERS(symbolic, (symbolic_rules, rules), (eg_u32s, saved_rules),
                    (eg_atoms, atoms), (eg_arena, arena));
  eg_free(symbolic->alloc, symbolic, 1, sizeof *symbolic);
}

eg_engine *eg_symbolic_engine(eg_symbolic *symbolic) { return symbolic->engine; }
const eg_engine *eg_symbolic_engine_of(const eg_symbolic *symbolic) {
  return symbolic->engine;
}
const char *eg_symbolic_atom(const eg_symbolic *symbolic, uint32_t op) {
  return eg_atom_vec_at(&symbolic->atoms.list, op)->text;
}
egraph_status eg_symbolic_symbol(eg_symbolic *symbolic, const char *text, uint32_t *out) {
  if (eg_symbolic_is_symbol(text)) return eg_atoms_add(&symbolic->atoms, text, out);
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "'%s' is no symbol; it has no blanks, brackets, quotes or ;, and is no "
                 "?variable",
                 text);
}
uint32_t eg_symbolic_rule_count(const eg_symbolic *symbolic) {
  return (uint32_t)symbolic->rules.len;
}

const eg_symbolic_rule *eg_symbolic_rule_at(const eg_symbolic *symbolic, uint32_t rule) {
  return symbolic_rules_at(&symbolic->rules, rule);
}
eg_atoms *eg_symbolic_atoms(eg_symbolic *symbolic) { return &symbolic->atoms; }
egraph_allocator eg_symbolic_allocator(const eg_symbolic *symbolic) {
  return symbolic->alloc;
}
uint32_t eg_symbolic_atom_count(const eg_symbolic *symbolic) {
  return (uint32_t)symbolic->atoms.list.len;
}

size_t eg_symbolic_bytes(const eg_symbolic *symbolic) {
  return eg_engine_bytes(symbolic->engine) + symbolic->arena.bytes;
}

void eg_symbolic_adopt(eg_symbolic *symbolic, eg_engine *engine) {
  eg_engine_destroy(symbolic->engine);
  symbolic->engine = engine;
  symbolic->saved_rules.len = 0;
}

// ---- earlier states --------------------------------------------------------------

egraph_status eg_symbolic_push(eg_symbolic *symbolic) {
  EG_TRY(eg_u32s_reserve(&symbolic->saved_rules, symbolic->saved_rules.len + 1));
  EG_TRY(eg_engine_push(symbolic->engine));
  return eg_u32s_push(&symbolic->saved_rules, eg_symbolic_rule_count(symbolic));
}

egraph_status eg_symbolic_pop(eg_symbolic *symbolic) {
  EG_TRY(eg_engine_pop(symbolic->engine));
  assert(symbolic->saved_rules.len != 0);
  symbolic->rules.len = eg_u32s_pop(&symbolic->saved_rules);
  return EGRAPH_OK;
}

egraph_status eg_symbolic_drop(eg_symbolic *symbolic) {
  EG_TRY(eg_engine_drop(symbolic->engine));
  (void)eg_u32s_pop(&symbolic->saved_rules);
  return EGRAPH_OK;
}

// ---- reading ---------------------------------------------------------------------

static egraph_status add_rule(eg_symbolic *symbolic, const char *file,
                              const eg_sexpr *form, bool reversed, bool *out_both_ways) {
  eg_symbolic_rule rule;
  EG_TRY(eg_symbolic_read_rule(&symbolic->atoms, symbolic->alloc, file, form, reversed,
                               &rule, out_both_ways));
  for (size_t i = 0; i < symbolic->rules.len; i++)
    if (strcmp(symbolic->rules.data[i].name, rule.name) == 0)
      return eg_sexpr_fail(file, form, "there is a rule %s already; use another name",
                           rule.name);
  return symbolic_rules_push(&symbolic->rules, rule);
}

static egraph_status add_forms(eg_symbolic *symbolic, const char *file,
                               const eg_sexpr *text) {
  eg_sexpr start = {.line = 1, .column = 1};
  const eg_sexpr *header = text->count > 0 ? &text->children[0] : &start;
  if (text->count == 0 || !eg_sexpr_is_form(header, "egraph-rules") ||
      header->count != 3 || !eg_sexpr_is_atom(&header->children[1], "1") ||
      !eg_sexpr_is_atom(&header->children[2], "symbolic"))
    return eg_sexpr_fail(file, header,
                         "rules over symbols begin with (egraph-rules 1 symbolic)");
  eg_sexpr forms;
  EG_TRY(eg_rule_expand(&symbolic->arena, file, text, &forms));
  for (uint32_t i = 1; i < forms.count; i++) {
    const eg_sexpr *form = &forms.children[i];
    if (!eg_sexpr_is_form(form, "rule"))
      return eg_sexpr_fail(file, form,
                           "unknown form; write (rule name ...) or (for $name "
                           "(value ...) form ...)");
    bool both_ways;
    EG_TRY(add_rule(symbolic, file, form, false, &both_ways));
    if (both_ways) EG_TRY(add_rule(symbolic, file, form, true, &both_ways));
  }
  return EGRAPH_OK;
}

egraph_status eg_symbolic_add_rules(eg_symbolic *symbolic, const char *file,
                                    const char *text, size_t size) {
  eg_sexpr forms;
  EG_TRY(eg_sexpr_parse(&symbolic->arena, file, text, size, &forms));
  size_t count = symbolic->rules.len;
  egraph_status status = add_forms(symbolic, file, &forms);
  if (status != EGRAPH_OK) symbolic->rules.len = count;
  return status;
}

// ---- building --------------------------------------------------------------------

static egraph_status build_terms(eg_symbolic *symbolic, const eg_symbolic_terms *terms,
                                 eg_classes *built, eg_classes *operands) {
  EG_TRY(eg_classes_resize(built, terms->terms.len));
  EG_TRY(eg_classes_resize(operands, terms->children.len));
  for (size_t i = 0; i < terms->terms.len; i++) {
    const eg_pattern_term *term = &terms->terms.data[i];
    for (uint32_t k = 0; k < term->arity; k++)
      operands->data[k] = built->data[terms->children.data[term->children + k]];
    eg_term node = {.op = term->op, .arity = term->arity, .children = operands->data};
    EG_TRY(eg_engine_add(symbolic->engine, &node, EG_REASON_SEED, &built->data[i]));
  }
  return EGRAPH_OK;
}

egraph_status eg_symbolic_add_term(eg_symbolic *symbolic, const char *file,
                                   const char *text, size_t size, eg_class *out) {
  EG_LOCAL(eg_symbolic_terms, terms, symbolic->alloc);
  EG_LOCAL(eg_classes, built, symbolic->alloc);
  EG_LOCAL(eg_classes, operands, symbolic->alloc);
  uint32_t root;
  EG_TRY(eg_symbolic_parse_term(&symbolic->atoms, &symbolic->arena, file, text, size,
                                &terms, &root));
  EG_TRY(build_terms(symbolic, &terms, &built, &operands));
  *out = built.data[root];
  return EGRAPH_OK;
}

// ---- patterns --------------------------------------------------------------------
//
// A pattern is read with numbers of its own for the symbols, which are then exchanged for
// the numbers of the e-graph.

static egraph_status use_symbols_of_graph(eg_symbolic *symbolic, const eg_atoms *atoms,
                                          eg_symbolic_terms *inout) {
  for (size_t i = 0; i < inout->terms.len; i++) {
    eg_pattern_term *term = &inout->terms.data[i];
    if (term->kind == EG_PATTERN_NODE)
      EG_TRY(eg_symbolic_symbol(symbolic, atoms->list.data[term->op].text, &term->op));
  }
  return EGRAPH_OK;
}

static egraph_status keep_names(const eg_symbolic_terms *terms,
                                eg_symbolic_pattern *out) {
  const char **names;
  out->var_count = (uint32_t)terms->names.len;
  EG_TRY(eg_arena_alloc(&out->arena, out->var_count, sizeof *names, &names));
  for (uint32_t i = 0; i < out->var_count; i++)
    names[i] = terms->names.data[i].text;
  out->names = names;
  return EGRAPH_OK;
}

egraph_status eg_symbolic_pattern_init(eg_symbolic_pattern *pattern,
                                       eg_symbolic *symbolic, egraph_allocator alloc,
                                       const char *file, const char *text, size_t size) {
  *pattern = (eg_symbolic_pattern){.matcher = NULL};
  eg_arena_init(&pattern->arena, alloc);
  EG_LOCAL(eg_atoms, atoms, alloc);
  EG_LOCAL(eg_symbolic_terms, terms, alloc);
  eg_sexpr forms;
  uint32_t *roots;
  atoms.arena = &pattern->arena;
  EG_TRY(eg_sexpr_parse(&pattern->arena, file, text, size, &forms));
  if (forms.count == 0)
    return eg_sexpr_fail(file, &forms, "a pattern is wanted; (+ ?x ?y), for instance");
  EG_TRY(eg_arena_alloc(&pattern->arena, forms.count, sizeof *roots, &roots));
  for (uint32_t i = 0; i < forms.count; i++)
    EG_TRY(eg_symbolic_read_term(&atoms, file, &forms.children[i], EG_SYMBOLIC_BIND,
                                 &terms, &roots[i]));
  EG_TRY(use_symbols_of_graph(symbolic, &atoms, &terms));
  EG_TRY(keep_names(&terms, pattern));
  pattern->root_count = forms.count;
  const eg_pattern compiled = {.terms = terms.terms.data,
                               .term_count = (uint32_t)terms.terms.len,
                               .children = terms.children.data,
                               .child_count = (uint32_t)terms.children.len,
                               .roots = roots,
                               .root_count = forms.count,
                               .var_count = pattern->var_count};
  return eg_matcher_create(&alloc, &compiled, &pattern->matcher);
}

void eg_symbolic_pattern_deinit(eg_symbolic_pattern *pattern) {
  eg_matcher_destroy(pattern->matcher);
  eg_arena_deinit(&pattern->arena);
  pattern->matcher = NULL;
}
