// A pattern is read with numbers of its own for the symbols, which are then exchanged for
// those of the e-graph.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/terms/symbolic_pattern.h"

#include "rewrites/language/rule_reader.h"
#include "rewrites/terms/symbolic_rules.h"

typedef struct reading {
  eg_symbolic_pattern *pattern;
  eg_symbolic *symbolic;
  egraph_allocator alloc;
  const char *file;
  eg_atoms atoms;
  eg_symbolic_terms terms;
} reading;

static egraph_status keep_names(reading *r) {
  const char **names;
  uint32_t count = (uint32_t)r->terms.names.len;
  EG_TRY(eg_arena_alloc(&r->pattern->arena, count, sizeof *names, &names));
  for (uint32_t i = 0; i < count; i++)
    names[i] = r->terms.names.data[i].text;
  r->pattern->names = names;
  r->pattern->var_count = count;
  return EGRAPH_OK;
}

static egraph_status use_symbols_of_graph(reading *r) {
  for (size_t i = 0; i < r->terms.terms.len; i++) {
    eg_pattern_term *term = &r->terms.terms.data[i];
    if (term->kind != EG_PATTERN_NODE) continue;
    const char *text = r->atoms.list.data[term->op].text;
    EG_TRY(eg_symbolic_symbol(r->symbolic, text, &term->op));
  }
  return EGRAPH_OK;
}

static egraph_status compile(reading *r, const eg_sexpr *forms) {
  if (forms->count == 0)
    return eg_sexpr_fail(r->file, forms, "a pattern is wanted; (+ ?x ?y), for instance");
  uint32_t *roots;
  EG_TRY(eg_arena_alloc(&r->pattern->arena, forms->count, sizeof *roots, &roots));
  for (uint32_t i = 0; i < forms->count; i++)
    EG_TRY(eg_symbolic_read_term(&r->atoms, r->file, &forms->children[i],
                                 EG_SYMBOLIC_BIND, &r->terms, &roots[i]));
  EG_TRY(use_symbols_of_graph(r));
  EG_TRY(keep_names(r));
  r->pattern->root_count = forms->count;
  eg_pattern pattern = {.terms = r->terms.terms.data,
                        .term_count = (uint32_t)r->terms.terms.len,
                        .children = r->terms.children.data,
                        .child_count = (uint32_t)r->terms.children.len,
                        .roots = roots,
                        .root_count = forms->count,
                        .var_count = r->pattern->var_count};
  return eg_matcher_create(&r->alloc, &pattern, &r->pattern->matcher);
}

egraph_status eg_symbolic_pattern_init(eg_symbolic_pattern *pattern,
                                       eg_symbolic *symbolic, egraph_allocator alloc,
                                       const char *file, const char *text, size_t size) {
  *pattern = (eg_symbolic_pattern){.matcher = NULL};
  eg_arena_init(&pattern->arena, alloc);
  eg_sexpr forms;
  EG_TRY(eg_sexpr_parse(&pattern->arena, file, text, size, &forms));
  reading r = {.pattern = pattern, .symbolic = symbolic, .alloc = alloc, .file = file};
  eg_atoms_init(&r.atoms, &pattern->arena, alloc);
  eg_symbolic_terms_init(&r.terms, alloc);
  egraph_status status = compile(&r, &forms);
  eg_atoms_deinit(&r.atoms);
  eg_symbolic_terms_deinit(&r.terms);
  return status;
}

void eg_symbolic_pattern_deinit(eg_symbolic_pattern *pattern) {
  eg_matcher_destroy(pattern->matcher);
  eg_arena_deinit(&pattern->arena);
  pattern->matcher = NULL;
}
