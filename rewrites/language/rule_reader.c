// What reading rules and reading tests have in common: variables, roots, and keeping the
// result.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/language/rule_reader.h"

#include "base/owner.h"

#include <ctype.h>
#include <string.h>

#define OWNED                                                                            \
  (eg_rule_vars, vars), (eg_rule_terms, terms), (eg_rule_exprs, exprs),                  \
      (eg_rule_lets, lets), (eg_rule_roots, roots), (eg_rule_late_slots, late),          \
      (eg_rule_late_moves, moves), (eg_u32s, conditions), (eg_text, scratch)

void eg_rule_reader_init(eg_rule_reader *reader, eg_arena *arena,
                         egraph_allocator scratch, const char *file) {
  *reader = (eg_rule_reader){.arena = arena, .file = file, .in_pattern = true};
  EG_INIT_MEMBERS(reader, scratch, OWNED);
}

void eg_rule_reader_deinit(eg_rule_reader *reader) { EG_DEINIT_MEMBERS(reader, OWNED); }

uint32_t eg_rule_reader_find(const eg_rule_reader *reader, const char *name) {
  for (size_t i = 0; i < reader->vars.len; i++)
    if (strcmp(reader->vars.data[i].name, name) == 0) return (uint32_t)i;
  return EG_RULE_NONE;
}

egraph_status eg_rule_reader_declare(eg_rule_reader *reader, const char *name,
                                     eg_rule_kind kind, eg_rule_var_origin origin,
                                     uint32_t *out_var) {
  eg_rule_var var = {
      .name = name, .kind = kind, .origin = origin, .pattern_var = EG_RULE_NONE};
  if (kind == EG_RULE_TENSOR && origin == EG_RULE_VAR_MATCHED)
    var.pattern_var = reader->pattern_vars++;
  *out_var = (uint32_t)reader->vars.len;
  return eg_rule_vars_push(&reader->vars, var);
}

bool eg_rule_is_variable(const eg_sexpr *expr) {
  return expr->kind == EG_SEXPR_ATOM && expr->text[0] == '?' && expr->text[1] != '\0';
}

bool eg_rule_is_name(const eg_sexpr *expr) {
  if (expr->kind != EG_SEXPR_ATOM || !islower((unsigned char)expr->text[0])) return false;
  for (const char *c = expr->text; *c != '\0'; c++)
    if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '-')
      return false;
  return true;
}

egraph_status eg_rule_check_name(const char *file, const eg_sexpr *form,
                                 const char *what) {
  if (form->count >= 2 && eg_rule_is_name(&form->children[1])) return EGRAPH_OK;
  return eg_sexpr_fail(file, form->count >= 2 ? &form->children[1] : form,
                       "a %s wants a name of small letters, digits and '-' after (%s",
                       what, what);
}

egraph_status eg_rule_read_roots(eg_rule_reader *reader, const eg_sexpr *side) {
  for (uint32_t i = 1; i < side->count; i++) {
    eg_rule_root root = {.first_term = (uint32_t)reader->terms.len};
    const eg_sexpr *expr = &side->children[i];
    if (reader->in_pattern && eg_rule_is_variable(expr))
      return eg_sexpr_fail(
          reader->file, expr,
          "a left side that is a bare variable matches everything; write "
          "an operator");
    EG_TRY(eg_rule_read_term(reader, expr, &root.term));
    EG_TRY(eg_rule_roots_push(&reader->roots, root));
  }
  return EGRAPH_OK;
}

egraph_status eg_rule_keep_bytes(eg_arena *arena, const void *data, size_t count,
                                 size_t size, void *out_pointer) {
  void *copy;
  EG_TRY(eg_arena_alloc(arena, count, size, &copy));
  if (count != 0) memcpy(copy, data, count * size);
  memcpy(out_pointer, &copy, sizeof copy);
  return EGRAPH_OK;
}

egraph_status eg_rule_keep(eg_rule_reader *reader, eg_rule *out) {
  eg_arena *arena = reader->arena;
  EG_TRY(EG_RULE_KEEP(arena, reader->vars, &out->vars));
  EG_TRY(EG_RULE_KEEP(arena, reader->terms, &out->terms));
  EG_TRY(EG_RULE_KEEP(arena, reader->exprs, &out->exprs));
  EG_TRY(EG_RULE_KEEP(arena, reader->lets, &out->lets));
  EG_TRY(EG_RULE_KEEP(arena, reader->conditions, &out->conditions));
  const eg_rule_root *roots;
  EG_TRY(EG_RULE_KEEP(arena, reader->roots, &roots));
  out->lhs = roots;
  out->rhs = roots + out->root_count;
  out->var_count = (uint32_t)reader->vars.len;
  out->pattern_var_count = reader->pattern_vars;
  out->term_count = (uint32_t)reader->terms.len;
  out->expr_count = (uint32_t)reader->exprs.len;
  out->let_count = (uint32_t)reader->lets.len;
  out->condition_count = (uint32_t)reader->conditions.len;
  return EGRAPH_OK;
}

egraph_status eg_rule_reversed_name(eg_arena *arena, const char *name, const char **out) {
  size_t len = strlen(name);
  char *text;
  EG_TRY(eg_arena_alloc(arena, len + sizeof "-reversed", 1, &text));
  memcpy(text, name, len);
  memcpy(text + len, "-reversed", sizeof "-reversed");
  *out = text;
  return EGRAPH_OK;
}
