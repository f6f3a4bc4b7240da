// Reads variables, names and expressions of rules, and keeps the arrays of a rule. Checks
// kinds, so that evaluation only meets values of the right kind.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/language/rule_reader.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "base/owner.h"
#include "base/spelling.h"

EG_OWNER_DEFINE(eg_rule_reader, (eg_rule_vars, vars), (eg_rule_terms, terms),
                (eg_rule_exprs, exprs), (eg_rule_lets, lets), (eg_rule_roots, roots),
                (eg_rule_late_slots, late), (eg_rule_late_moves, moves),
                (eg_u32s, conditions), (eg_text, scratch))

uint32_t eg_rule_reader_find(const eg_rule_reader *reader, const char *name) {
  for (size_t i = 0; i < reader->vars.len; i++)
    if (strcmp(reader->vars.data[i].name, name) == 0) return (uint32_t)i;
  return EG_RULE_NONE;
}

egraph_status eg_rule_reader_declare(eg_rule_reader *reader, const char *name,
                                     eg_rule_kind kind, eg_rule_var_origin origin,
                                     uint32_t *out_var) {
  assert(eg_rule_reader_find(reader, name) == EG_RULE_NONE);
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

bool eg_rule_has_head(const eg_sexpr *expr) {
  return expr->kind == EG_SEXPR_LIST && expr->count > 0 &&
         expr->children[0].kind == EG_SEXPR_ATOM;
}

bool eg_rule_is_key(const eg_sexpr *expr) {
  return expr->kind == EG_SEXPR_ATOM && expr->text[0] == ':';
}

egraph_status eg_rule_fail_unbound(const eg_rule_reader *reader, const eg_sexpr *var) {
  return eg_sexpr_fail(reader->file, var,
                       "%s is not bound; bind it on the left side or by (let %s ...)",
                       var->text, var->text);
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
  assert(out->root_count <= reader->roots.len && reader->late.len == 0);
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

// ---- expressions -----------------------------------------------------------------

static egraph_status push_expr(eg_rule_reader *reader, eg_rule_expr expr,
                               uint32_t *out_expr) {
  *out_expr = (uint32_t)reader->exprs.len;
  return eg_rule_exprs_push(&reader->exprs, expr);
}

static egraph_status push_constant(eg_rule_reader *reader, eg_rule_value value,
                                   uint32_t *out_expr) {
  eg_rule_expr expr = {
      .form = EG_RULE_EXPR_CONSTANT, .kind = value.kind, .constant = value};
  return push_expr(reader, expr, out_expr);
}

static egraph_status read_variable(eg_rule_reader *reader, const eg_sexpr *expr,
                                   uint32_t *out_expr) {
  uint32_t var = eg_rule_reader_find(reader, expr->text);
  if (var == EG_RULE_NONE) return eg_rule_fail_unbound(reader, expr);
  const eg_rule_var *known = &reader->vars.data[var];
  if (known->origin == EG_RULE_VAR_LET_TERM)
    return eg_sexpr_fail(
        reader->file, expr,
        "%s names a term that is not built yet; expressions may use only "
        "what the left side binds, and values",
        expr->text);
  eg_rule_expr node = {.form = EG_RULE_EXPR_VAR, .kind = known->kind, .var = var};
  return push_expr(reader, node, out_expr);
}

static egraph_status read_atom(eg_rule_reader *reader, const eg_sexpr *expr,
                               uint32_t *out_expr) {
  if (expr->text[0] == '?') return read_variable(reader, expr, out_expr);
  eg_rule_value value = {.kind = EG_RULE_INT};
  if (eg_parse_int64(expr->text, &value.i)) return push_constant(reader, value, out_expr);
  value.kind = EG_RULE_FLOAT;
  if (eg_parse_double(expr->text, &value.f))
    return push_constant(reader, value, out_expr);
  value = (eg_rule_value){.kind = EG_RULE_SYMBOL, .text = expr->text};
  return push_constant(reader, value, out_expr);
}

/// Turns a symbol that names an element type into the type. False for other expressions.
static bool make_dtype(eg_rule_expr *node) {
  egraph_dtype dtype;
  if (node->form != EG_RULE_EXPR_CONSTANT || node->kind != EG_RULE_SYMBOL ||
      !eg_dtype_find(node->constant.text, &dtype))
    return false;
  node->kind = EG_RULE_DTYPE;
  node->constant = (eg_rule_value){.kind = EG_RULE_DTYPE, .i = (int64_t)dtype};
  return true;
}

egraph_status eg_rule_want_kind(eg_rule_reader *reader, const eg_sexpr *at, uint32_t expr,
                                eg_rule_kind kind) {
  assert(expr < reader->exprs.len);
  eg_rule_expr *node = &reader->exprs.data[expr];
  if (node->kind == kind) return EGRAPH_OK;
  if (node->kind == EG_RULE_INT && kind == EG_RULE_FLOAT) return EGRAPH_OK;
  if (kind == EG_RULE_DTYPE && make_dtype(node)) return EGRAPH_OK;
  return eg_sexpr_fail(reader->file, at, "this is %s where %s is wanted",
                       eg_rule_kind_words(node->kind), eg_rule_kind_words(kind));
}

/// Joins the kind of one more argument into *inout_kind, which is EG_RULE_BOOL before the
/// first argument. False when the two have no common kind. `lists`: lists and integers
/// have a common kind.
static bool join_numbers(eg_rule_kind *inout_kind, eg_rule_kind kind, bool lists) {
  bool is_numeric = kind == EG_RULE_INT || kind == EG_RULE_FLOAT;
  if (!is_numeric && !(kind == EG_RULE_INTS && lists)) return false;
  eg_rule_kind old = *inout_kind;
  if (old == EG_RULE_BOOL || old == kind) {
    *inout_kind = kind;
    return true;
  }
  bool has_list = old == EG_RULE_INTS || kind == EG_RULE_INTS;
  bool has_float = old == EG_RULE_FLOAT || kind == EG_RULE_FLOAT;
  if (has_list && has_float) return false;
  *inout_kind = has_list ? EG_RULE_INTS : EG_RULE_FLOAT;
  return true;
}

/// Joins the kind of an argument of any kind; all arguments of a call must have the
/// same kind.
static egraph_status join_any(eg_rule_reader *reader, const eg_sexpr *at, uint32_t expr,
                              bool first, eg_rule_kind *inout_kind) {
  eg_rule_kind kind = reader->exprs.data[expr].kind;
  if (first) {
    *inout_kind = kind;
    return EGRAPH_OK;
  }
  if (*inout_kind == EG_RULE_INT && kind == EG_RULE_FLOAT) {
    *inout_kind = EG_RULE_FLOAT;
    return EGRAPH_OK;
  }
  return eg_rule_want_kind(reader, at, expr, *inout_kind);
}

typedef struct joined {
  eg_rule_kind number, any;
  bool has_any;
} joined;

/// Finds the kind of value of a letter in rule_functions.def; false if it means several.
static bool find_letter(char letter, eg_rule_kind *out) {
  static const struct {
    char letter;
    eg_rule_kind kind;
  } letters[] = {{'i', EG_RULE_INT},   {'l', EG_RULE_INTS},   {'f', EG_RULE_FLOAT},
                 {'b', EG_RULE_BOOL},  {'s', EG_RULE_SYMBOL}, {'d', EG_RULE_DTYPE},
                 {'t', EG_RULE_TENSOR}};
  for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
    if (letters[i].letter != letter) continue;
    *out = letters[i].kind;
    return true;
  }
  return false;
}

static egraph_status check_argument(eg_rule_reader *reader, const eg_sexpr *at,
                                    uint32_t arg, char letter, joined *inout) {
  eg_rule_kind kind;
  if (find_letter(letter, &kind)) return eg_rule_want_kind(reader, at, arg, kind);
  if (letter == 'a') {
    bool first = !inout->has_any;
    inout->has_any = true;
    return join_any(reader, at, arg, first, &inout->any);
  }
  assert(letter == 'n' || letter == 'o');
  kind = reader->exprs.data[arg].kind;
  if (join_numbers(&inout->number, kind, letter == 'n')) return EGRAPH_OK;
  return eg_sexpr_fail(reader->file, at,
                       "this is %s, which does not fit here; numbers of one kind%s are "
                       "wanted",
                       eg_rule_kind_words(kind),
                       letter == 'n' ? ", or lists and integers," : "");
}

static egraph_status check_count(eg_rule_reader *reader, const eg_sexpr *expr,
                                 const eg_rule_function_info *info, uint32_t count) {
  if ((int)count >= info->min_args &&
      (info->max_args < 0 || (int)count <= info->max_args))
    return EGRAPH_OK;
  if (info->max_args < 0)
    return eg_sexpr_fail(reader->file, expr, "%s takes at least %d arguments, not %u",
                         info->name, info->min_args, count);
  if (info->min_args == info->max_args)
    return eg_sexpr_fail(reader->file, expr, "%s takes %d argument%s, not %u", info->name,
                         info->min_args, info->min_args == 1 ? "" : "s", count);
  return eg_sexpr_fail(reader->file, expr, "%s takes %d to %d arguments, not %u",
                       info->name, info->min_args, info->max_args, count);
}

static egraph_status read_call(eg_rule_reader *reader, const eg_sexpr *expr,
                               eg_rule_function function, const eg_sexpr *arg_exprs,
                               uint32_t count, uint32_t *out_expr) {
  const eg_rule_function_info *info = eg_rule_function_info_of(function);
  EG_TRY(check_count(reader, expr, info, count));
  uint32_t *args;
  EG_TRY(eg_arena_alloc(reader->arena, count, sizeof *args, &args));
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(eg_rule_read_expr(reader, &arg_exprs[i], &args[i]));
  size_t letters = strlen(info->arguments);
  assert(letters != 0 || count == 0);
  // The first of two arguments gets the kind of the second: (= float32 (dtype ?x)).
  if (info->arguments[0] == 'a' && count >= 2 &&
      reader->exprs.data[args[1]].kind == EG_RULE_DTYPE)
    (void)make_dtype(&reader->exprs.data[args[0]]);
  joined kinds = {.number = EG_RULE_BOOL, .any = EG_RULE_BOOL};
  for (uint32_t i = 0; i < count; i++) {
    char letter = info->arguments[i < letters ? i : letters - 1];
    EG_TRY(check_argument(reader, &arg_exprs[i], args[i], letter, &kinds));
  }
  eg_rule_kind kind = info->result == 'n' ? kinds.number : kinds.any;
  (void)find_letter(info->result, &kind);
  eg_rule_expr call = {.form = EG_RULE_EXPR_CALL,
                       .kind = kind,
                       .function = function,
                       .args = args,
                       .arg_count = count};
  return push_expr(reader, call, out_expr);
}

static egraph_status unknown_function(eg_rule_reader *reader, const eg_sexpr *head) {
  eg_spelling spelling = eg_spelling_start(head->text);
  for (int i = 0; i < EG_RULE_FN_COUNT; i++)
    eg_spelling_offer(&spelling, eg_rule_function_info_of((eg_rule_function)i)->name);
  if (spelling.best != NULL)
    return eg_sexpr_fail(reader->file, head, "unknown function '%s'; did you mean '%s'?",
                         head->text, spelling.best);
  return eg_sexpr_fail(reader->file, head,
                       "unknown function '%s'; rewrites/rules/LANGUAGE.md lists them",
                       head->text);
}

egraph_status eg_rule_read_expr(eg_rule_reader *reader, const eg_sexpr *expr,
                                uint32_t *out_expr) {
  switch (expr->kind) {
  case EG_SEXPR_ATOM: return read_atom(reader, expr, out_expr);
  case EG_SEXPR_STRING: {
    eg_rule_value value = {.kind = EG_RULE_STRING, .text = expr->text};
    return push_constant(reader, value, out_expr);
  }
  case EG_SEXPR_BRACKETS:
    return read_call(reader, expr, EG_RULE_FN_LIST, expr->children, expr->count,
                     out_expr);
  case EG_SEXPR_LIST: break;
  }
  if (!eg_rule_has_head(expr))
    return eg_sexpr_fail(reader->file, expr,
                         "an expression is wanted: a literal, a ?variable or (function "
                         "argument ...)");
  eg_rule_function function;
  if (!eg_rule_function_find(expr->children[0].text, &function))
    return unknown_function(reader, &expr->children[0]);
  return read_call(reader, expr, function, expr->children + 1, expr->count - 1, out_expr);
}
