// Reads terms and rules by recursion, which follows the nesting of the text; base/sexpr.h
// limits it to EG_SEXPR_MAX_DEPTH.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/terms/symbolic_internal.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/owner.h"
#include "rewrites/language/rule_reader.h"

// ---- atoms -----------------------------------------------------------------------

EG_OWNER_DEFINE(eg_atoms, (eg_atom_vec, list), (eg_flatmap, map))

static bool same_atom(const void *user, uint32_t id, const void *key) {
  const eg_atoms *atoms = user;
  return strcmp(atoms->list.data[id].text, key) == 0;
}

egraph_status eg_atoms_add(eg_atoms *atoms, const char *text, uint32_t *out) {
  uint64_t hash = eg_hash_bytes(0, text, strlen(text));
  if (eg_flatmap_find(&atoms->map, hash, text, same_atom, atoms, out)) return EGRAPH_OK;
  if (atoms->list.len > EG_ENGINE_MAX_OP)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "more than %d different symbols",
                   EG_ENGINE_MAX_OP + 1);
  eg_atom atom;
  EG_TRY(eg_arena_string(atoms->arena, text, strlen(text), &atom.text));
  EG_TRY(eg_flatmap_reserve_one(&atoms->map));
  uint32_t id = (uint32_t)atoms->list.len;
  EG_TRY(eg_atom_vec_push(&atoms->list, atom));
  (void)eg_flatmap_insert(&atoms->map, hash, id);
  *out = id;
  return EGRAPH_OK;
}

bool eg_symbolic_is_symbol(const char *text) {
  if (text[0] == '\0' || (text[0] == '?' && text[1] != '\0')) return false;
  for (const char *c = text; *c != '\0'; c++)
    if ((unsigned char)*c <= ' ' || strchr("()[]\";", *c) != NULL) return false;
  return true;
}

// ---- terms -----------------------------------------------------------------------

EG_OWNER_DEFINE(eg_symbolic_terms, (eg_pattern_terms, terms), (eg_u32s, children),
                (eg_atom_vec, names))

static egraph_status read_variable(const char *file, const eg_sexpr *expr,
                                   eg_symbolic_variables variables,
                                   eg_symbolic_terms *inout, uint32_t *out_term) {
  uint32_t var = 0, count = (uint32_t)inout->names.len;
  while (var < count && strcmp(inout->names.data[var].text, expr->text) != 0)
    var++;
  if (variables == EG_SYMBOLIC_NONE)
    return eg_sexpr_fail(file, expr, "%s is a variable; a term to start from has none",
                         expr->text);
  if (var == count && variables == EG_SYMBOLIC_BOUND)
    return eg_sexpr_fail(file, expr, "%s is not bound; bind it on the left side",
                         expr->text);
  if (var == count)
    EG_TRY(eg_atom_vec_push(&inout->names, (eg_atom){.text = expr->text}));
  *out_term = (uint32_t)inout->terms.len;
  return eg_pattern_terms_push(&inout->terms,
                               (eg_pattern_term){.kind = EG_PATTERN_VAR, .var = var});
}

static egraph_status push_node(eg_atoms *atoms, const char *head,
                               const uint32_t *children, uint32_t count,
                               eg_symbolic_terms *inout, uint32_t *out_term) {
  assert(atoms->arena != NULL);
  eg_pattern_term node = {.kind = EG_PATTERN_NODE,
                          .guard = EG_PATTERN_ANY_PAYLOAD,
                          .arity = count,
                          .children = (uint32_t)inout->children.len};
  EG_TRY(eg_atoms_add(atoms, head, &node.op));
  EG_TRY(eg_u32s_append(&inout->children, children, count));
  *out_term = (uint32_t)inout->terms.len;
  return eg_pattern_terms_push(&inout->terms, node);
}

egraph_status eg_symbolic_read_term(eg_atoms *atoms, const char *file,
                                    const eg_sexpr *expr, eg_symbolic_variables variables,
                                    eg_symbolic_terms *inout, uint32_t *out_term) {
  if (eg_rule_is_variable(expr))
    return read_variable(file, expr, variables, inout, out_term);
  if (expr->kind == EG_SEXPR_ATOM)
    return push_node(atoms, expr->text, NULL, 0, inout, out_term);
  if (expr->kind != EG_SEXPR_LIST || expr->count == 0 ||
      expr->children[0].kind != EG_SEXPR_ATOM || eg_rule_is_variable(&expr->children[0]))
    return eg_sexpr_fail(file, expr,
                         "a term is wanted: a symbol, a ?variable or (symbol term ...)");
  uint32_t count = expr->count - 1, *children;
  EG_TRY(eg_arena_alloc(atoms->arena, count, sizeof *children, &children));
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(eg_symbolic_read_term(atoms, file, &expr->children[i + 1], variables, inout,
                                 &children[i]));
  return push_node(atoms, expr->children[0].text, children, count, inout, out_term);
}

egraph_status eg_symbolic_parse_term(eg_atoms *atoms, eg_arena *arena, const char *file,
                                     const char *text, size_t size,
                                     eg_symbolic_terms *out, uint32_t *out_root) {
  eg_sexpr forms;
  EG_TRY(eg_sexpr_parse(arena, file, text, size, &forms));
  if (forms.count != 1)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: one term is wanted, but there are %u", file,
                   forms.count);
  return eg_symbolic_read_term(atoms, file, &forms.children[0], EG_SYMBOLIC_NONE, out,
                               out_root);
}

// ---- rules -----------------------------------------------------------------------

typedef struct sides {
  const eg_sexpr *lhs, *rhs;
  bool both_ways;
} sides;

static egraph_status find_sides(const char *file, const eg_sexpr *form, sides *out) {
  EG_TRY(eg_rule_check_name(file, form, "rule"));
  for (uint32_t i = 2; i < form->count; i++) {
    const eg_sexpr *clause = &form->children[i];
    if (eg_sexpr_is_form(clause, "lhs") && clause->count > 1)
      out->lhs = clause;
    else if (eg_sexpr_is_form(clause, "rhs") && clause->count > 1)
      out->rhs = clause;
    else if (eg_sexpr_is_atom(clause, "both-ways"))
      out->both_ways = true;
    else if (!eg_sexpr_is_form(clause, "source"))
      return eg_sexpr_fail(file, clause,
                           "unknown or empty clause; a symbolic rule has source, lhs, "
                           "rhs, both-ways");
  }
  if (out->lhs != NULL && out->rhs != NULL && out->lhs->count == out->rhs->count)
    return EGRAPH_OK;
  return eg_sexpr_fail(file, form,
                       "rule %s needs (lhs ...) and (rhs ...) with as many terms each",
                       form->children[1].text);
}

static egraph_status read_side(eg_atoms *atoms, const char *file, const eg_sexpr *side,
                               eg_symbolic_variables variables, eg_symbolic_terms *inout,
                               const uint32_t **out_roots) {
  uint32_t *roots;
  EG_TRY(eg_arena_alloc(atoms->arena, side->count, sizeof *roots, &roots));
  for (uint32_t i = 1; i < side->count; i++)
    EG_TRY(eg_symbolic_read_term(atoms, file, &side->children[i], variables, inout,
                                 &roots[i - 1]));
  *out_roots = roots;
  return EGRAPH_OK;
}

static egraph_status check_roots(const char *file, const eg_sexpr *side) {
  for (uint32_t i = 1; i < side->count; i++)
    if (side->count > 2 && eg_rule_is_variable(&side->children[i]))
      return eg_sexpr_fail(file, &side->children[i],
                           "one of several left sides cannot be a bare variable");
  return EGRAPH_OK;
}

static egraph_status mark_roots(eg_arena *arena, eg_symbolic_rule *rule) {
  bool *is_root;
  EG_TRY(eg_arena_alloc(arena, rule->term_count, sizeof *is_root, &is_root));
  for (uint32_t i = 0; i < rule->root_count; i++)
    is_root[rule->rhs[i]] = rule->terms[rule->rhs[i]].kind == EG_PATTERN_NODE;
  rule->is_root = is_root;
  return EGRAPH_OK;
}

static egraph_status read_both(eg_atoms *atoms, const char *file, const eg_sexpr *lhs,
                               const eg_sexpr *rhs, eg_symbolic_terms *terms,
                               eg_symbolic_rule *out) {
  EG_TRY(check_roots(file, lhs));
  EG_TRY(read_side(atoms, file, lhs, EG_SYMBOLIC_BIND, terms, &out->lhs));
  out->lhs_term_count = (uint32_t)terms->terms.len;
  out->lhs_child_count = (uint32_t)terms->children.len;
  out->var_count = (uint32_t)terms->names.len;
  EG_TRY(read_side(atoms, file, rhs, EG_SYMBOLIC_BOUND, terms, &out->rhs));
  out->root_count = lhs->count - 1;
  out->term_count = (uint32_t)terms->terms.len;
  out->child_count = (uint32_t)terms->children.len;
  EG_TRY(EG_RULE_KEEP(atoms->arena, terms->terms, &out->terms));
  EG_TRY(EG_RULE_KEEP(atoms->arena, terms->children, &out->children));
  return mark_roots(atoms->arena, out);
}

egraph_status eg_symbolic_read_rule(eg_atoms *atoms, egraph_allocator scratch,
                                    const char *file, const eg_sexpr *form, bool reversed,
                                    eg_symbolic_rule *out, bool *out_both_ways) {
  sides found = {.lhs = NULL};
  EG_TRY(find_sides(file, form, &found));
  *out_both_ways = found.both_ways;
  eg_symbolic_rule rule = {.name = NULL};
  const char *name = form->children[1].text;
  EG_TRY(reversed ? eg_rule_reversed_name(atoms->arena, name, &rule.name)
                  : eg_arena_string(atoms->arena, name, strlen(name), &rule.name));
  EG_LOCAL(eg_symbolic_terms, terms, scratch);
  EG_TRY(read_both(atoms, file, reversed ? found.rhs : found.lhs,
                   reversed ? found.lhs : found.rhs, &terms, &rule));
  *out = rule;
  return EGRAPH_OK;
}
