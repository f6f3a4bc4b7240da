// Reads patterns and terms: operators with attributes by keyword, children before
// parents; and the parallel operators around terms, (partition :dim 0 :axis gpu ?x),
// which are stored apart from the terms, so that they affect only layouts.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/language/rule_reader.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "base/spelling.h"
#include "ops/einsum.h"

// ---- operators and attributes by name -------------------------------------------

static egraph_status find_op(eg_rule_reader *reader, const eg_sexpr *head, eg_op *out) {
  if (!eg_op_find(head->text, out)) {
    eg_spelling spelling = eg_spelling_start(head->text);
    for (int op = 0; op < EG_OP_COUNT; op++)
      eg_spelling_offer(&spelling, eg_op_info_of((eg_op)op)->name);
    for (int kind = 0; kind < EG_PARALLEL_KINDS; kind++)
      eg_spelling_offer(&spelling, eg_parallel_name((eg_parallel_kind)kind));
    if (spelling.best != NULL)
      return eg_sexpr_fail(reader->file, head,
                           "unknown operator '%s'; did you mean '%s'?", head->text,
                           spelling.best);
    return eg_sexpr_fail(reader->file, head,
                         "unknown operator '%s'; egraph rules --operators lists them",
                         head->text);
  }
  if (*out == EG_OP_INPUT || *out == EG_OP_WEIGHT || *out == EG_OP_OPAQUE)
    return eg_sexpr_fail(reader->file, head,
                         "'%s' cannot stand in a rule; use a class variable", head->text);
  return EGRAPH_OK;
}

/// Fails because an operator has no attribute like `key`. `nearest` is the most similar
/// attribute, or NULL; `first` is any attribute.
static egraph_status fail_attr(const eg_rule_reader *reader, const eg_sexpr *key,
                               const char *op, const char *nearest, const char *first) {
  if (nearest != NULL)
    return eg_sexpr_fail(reader->file, key,
                         "%s has no attribute '%s'; did you mean ':%s'?", op,
                         key->text + 1, nearest);
  return eg_sexpr_fail(reader->file, key, "%s has no attribute '%s'; its first is ':%s'",
                       op, key->text + 1, first);
}

static egraph_status find_attr(eg_rule_reader *reader, const eg_sexpr *key, eg_op op,
                               uint16_t *out) {
  const eg_op_info *info = eg_op_info_of(op);
  const char *name = key->text + 1;
  if (eg_op_find_attr(op, name, out)) return EGRAPH_OK;
  if (info->attr_count == 0)
    return eg_sexpr_fail(reader->file, key,
                         "%s has no attribute '%s'; it has none at all", info->name,
                         name);
  return fail_attr(reader, key, info->name, eg_op_nearest_attr(op, name),
                   info->attrs[0].name);
}

// ---- attribute values -----------------------------------------------------------

static bool is_literal(const eg_sexpr *expr) {
  switch (expr->kind) {
  case EG_SEXPR_ATOM: return expr->text[0] != '?';
  case EG_SEXPR_STRING: return true;
  case EG_SEXPR_LIST: return false;
  case EG_SEXPR_BRACKETS: break;
  }
  for (uint32_t i = 0; i < expr->count; i++)
    if (expr->children[i].kind != EG_SEXPR_ATOM || expr->children[i].text[0] == '?')
      return false;
  return true;
}

/// Makes an einsum equation canonical, as the pool of attributes does, so that it matches
/// for any names of its indices.
static egraph_status read_equation(eg_rule_reader *reader, eg_attr *inout) {
  char text[EG_EINSUM_TEXT];
  EG_TRY(eg_einsum_check(inout->text));
  if (!eg_einsum_canonical(inout->text, text)) return EGRAPH_OK;
  return eg_arena_string(reader->arena, text, strlen(text), &inout->text);
}

static egraph_status read_literal(eg_rule_reader *reader, const eg_sexpr *expr, eg_op op,
                                  uint16_t attr, eg_attr *out) {
  eg_text_clear(&reader->scratch);
  EG_TRY(eg_sexpr_print(&reader->scratch, expr));
  egraph_status status =
      eg_attr_parse(reader->arena, op, attr, eg_text_of(&reader->scratch), out);
  if (status == EGRAPH_OK && op == EG_OP_EINSUM) status = read_equation(reader, out);
  if (status != EGRAPH_E_PARSE) return status;
  return eg_fail_context(status, "%s:%u:%u", reader->file, expr->line, expr->column);
}

static egraph_status kind_clash(eg_rule_reader *reader, const eg_sexpr *at, eg_op op,
                                uint16_t attr, eg_rule_kind kind) {
  const eg_op_info *info = eg_op_info_of(op);
  return eg_sexpr_fail(reader->file, at, "this is %s where :%s of %s is %s",
                       eg_rule_kind_words(kind), info->attrs[attr].name, info->name,
                       eg_rule_kind_words((eg_rule_kind)info->attrs[attr].kind));
}

static egraph_status read_slot_var(eg_rule_reader *reader, const eg_sexpr *expr, eg_op op,
                                   uint16_t attr, eg_rule_slot *out) {
  eg_rule_kind wanted = (eg_rule_kind)eg_op_info_of(op)->attrs[attr].kind;
  uint32_t var = eg_rule_reader_find(reader, expr->text);
  out->form = EG_RULE_SLOT_VAR;
  if (var == EG_RULE_NONE) {
    if (!reader->in_pattern) return eg_rule_fail_unbound(reader, expr);
    return eg_rule_reader_declare(reader, expr->text, wanted, EG_RULE_VAR_MATCHED,
                                  &out->index);
  }
  out->index = var;
  eg_rule_kind kind = reader->vars.data[var].kind;
  if (kind == wanted) return EGRAPH_OK;
  if (!reader->in_pattern && kind == EG_RULE_INT && wanted == EG_RULE_FLOAT)
    return EGRAPH_OK;
  return kind_clash(reader, expr, op, attr, kind);
}

static egraph_status read_slot_expr(eg_rule_reader *reader, const eg_sexpr *expr,
                                    eg_op op, uint16_t attr, eg_rule_slot *out) {
  out->form = EG_RULE_SLOT_EXPR;
  EG_TRY(eg_rule_read_expr(reader, expr, &out->index));
  eg_rule_kind wanted = (eg_rule_kind)eg_op_info_of(op)->attrs[attr].kind;
  eg_rule_kind kind = reader->exprs.data[out->index].kind;
  if (kind == wanted || (kind == EG_RULE_INT && wanted == EG_RULE_FLOAT))
    return EGRAPH_OK;
  return kind_clash(reader, expr, op, attr, kind);
}

egraph_status eg_rule_read_late(eg_rule_reader *reader) {
  assert(reader->in_pattern);
  for (size_t i = 0; i < reader->late.len; i++) {
    eg_rule_late_slot late = reader->late.data[i];
    EG_TRY(read_slot_expr(reader, late.at, late.op, late.attr, late.slot));
  }
  reader->late.len = 0;
  return EGRAPH_OK;
}

static egraph_status read_slot(eg_rule_reader *reader, const eg_sexpr *expr, eg_op op,
                               uint16_t attr, eg_rule_slot *out) {
  if (eg_sexpr_is_atom(expr, "_")) {
    if (!reader->in_pattern)
      return eg_sexpr_fail(reader->file, expr,
                           "'_' matches anything and so has no value on this side; write "
                           "a value");
    out->form = EG_RULE_SLOT_ANY;
    return EGRAPH_OK;
  }
  if (eg_rule_is_variable(expr)) return read_slot_var(reader, expr, op, attr, out);
  if (is_literal(expr)) {
    out->form = EG_RULE_SLOT_LITERAL;
    return read_literal(reader, expr, op, attr, &out->literal);
  }
  if (!reader->in_pattern) return read_slot_expr(reader, expr, op, attr, out);
  eg_rule_late_slot late = {.op = op, .attr = attr, .slot = out, .at = expr};
  return eg_rule_late_slots_push(&reader->late, late);
}

// ---- nodes ----------------------------------------------------------------------

typedef struct node_parts {
  eg_op op;
  eg_rule_slot *slots;
  bool *given; // per attribute
  uint32_t *children;
  uint32_t child_count;
} node_parts;

static egraph_status start_node(eg_rule_reader *reader, const eg_sexpr *expr,
                                node_parts *out) {
  EG_TRY(find_op(reader, &expr->children[0], &out->op));
  size_t attrs = eg_op_info_of(out->op)->attr_count;
  eg_attr *defaults;
  EG_TRY(eg_arena_alloc(reader->arena, attrs, sizeof *defaults, &defaults));
  EG_TRY(eg_arena_alloc(reader->arena, attrs, sizeof *out->slots, &out->slots));
  EG_TRY(eg_arena_alloc(reader->arena, attrs, sizeof *out->given, &out->given));
  EG_TRY(
      eg_arena_alloc(reader->arena, expr->count, sizeof *out->children, &out->children));
  if (attrs != 0) eg_attrs_defaults(out->op, defaults);
  for (size_t i = 0; i < attrs; i++)
    out->slots[i] = (eg_rule_slot){.form = EG_RULE_SLOT_LITERAL, .literal = defaults[i]};
  return EGRAPH_OK;
}

static egraph_status read_attr(eg_rule_reader *reader, const eg_sexpr *key,
                               const eg_sexpr *value, node_parts *parts) {
  uint16_t attr;
  EG_TRY(find_attr(reader, key, parts->op, &attr));
  if (parts->given[attr])
    return eg_sexpr_fail(reader->file, key, "%s is given twice; remove one", key->text);
  parts->given[attr] = true;
  return read_slot(reader, value, parts->op, attr, &parts->slots[attr]);
}

static egraph_status read_operands(eg_rule_reader *reader, const eg_sexpr *expr,
                                   node_parts *parts) {
  for (uint32_t i = 1; i < expr->count; i++) {
    const eg_sexpr *child = &expr->children[i];
    if (!eg_rule_is_key(child)) {
      EG_TRY(eg_rule_read_term(reader, child, &parts->children[parts->child_count++]));
      continue;
    }
    if (i + 1 == expr->count)
      return eg_sexpr_fail(reader->file, child, "%s has no value; write one after it",
                           child->text);
    EG_TRY(read_attr(reader, child, &expr->children[++i], parts));
  }
  return EGRAPH_OK;
}

static egraph_status check_arity(eg_rule_reader *reader, const eg_sexpr *expr,
                                 const node_parts *parts) {
  const eg_op_info *info = eg_op_info_of(parts->op);
  for (uint16_t i = 0; i < info->attr_count; i++) {
    if (parts->given[i] || info->attrs[i].default_text[0] != '\0') continue;
    return eg_sexpr_fail(reader->file, expr, "%s needs :%s %s", info->name,
                         info->attrs[i].name,
                         reader->in_pattern ? "(a value, a ?variable, or _)"
                                            : "(a value, a ?variable, or an expression)");
  }
  int count = (int)parts->child_count;
  if (count >= info->min_inputs && (info->max_inputs < 0 || count <= info->max_inputs))
    return EGRAPH_OK;
  char most[16] = "more";
  if (info->max_inputs >= 0) (void)snprintf(most, sizeof most, "%d", info->max_inputs);
  if (info->min_inputs == info->max_inputs)
    return eg_sexpr_fail(reader->file, expr, "%s takes %s operand%s, not %d", info->name,
                         most, info->max_inputs == 1 ? "" : "s", count);
  return eg_sexpr_fail(reader->file, expr, "%s takes %d to %s operands, not %d",
                       info->name, info->min_inputs, most, count);
}

static bool has_negative(const eg_attr *attr) {
  if (attr->kind == EG_ATTR_INT) return attr->i < 0;
  for (uint32_t i = 0; attr->kind == EG_ATTR_INTS && i < attr->ints.len; i++)
    if (attr->ints.data[i] < 0) return true;
  return false;
}

/// Checks the axis attributes of a term. Graphs count axes from the front, so a pattern
/// with an axis counted from the end matches nothing. On a right side `axis` is recounted
/// when the term is built, but `axes` is not.
static egraph_status check_axes(eg_rule_reader *reader, const eg_sexpr *expr,
                                const node_parts *parts) {
  const eg_op_info *info = eg_op_info_of(parts->op);
  for (uint16_t i = 0; i < info->attr_count; i++) {
    const char *name = info->attrs[i].name;
    bool is_list = strcmp(name, "axes") == 0;
    if (!is_list && (!reader->in_pattern || strcmp(name, "axis") != 0)) continue;
    if (parts->slots[i].form != EG_RULE_SLOT_LITERAL ||
        !has_negative(&parts->slots[i].literal))
      continue;
    return eg_sexpr_fail(
        reader->file, expr,
        "%s has :%s from the end%s, but graphs count axes from the front; for the last "
        "one write %s",
        info->name, name, parts->given[i] ? "" : " by default",
        !reader->in_pattern ? ":axes [(- (rank ?x) 1)]"
        : is_list           ? ":axes ?a and (when (= ?a [(- (rank ?x) 1)]))"
                            : ":axis ?a and (when (= (axis ?x ?a) (- (rank ?x) 1)))");
  }
  return EGRAPH_OK;
}

static egraph_status read_node(eg_rule_reader *reader, const eg_sexpr *expr,
                               uint32_t *out_term) {
  node_parts parts = {.child_count = 0};
  EG_TRY(start_node(reader, expr, &parts));
  EG_TRY(read_operands(reader, expr, &parts));
  EG_TRY(check_arity(reader, expr, &parts));
  EG_TRY(check_axes(reader, expr, &parts));
  eg_rule_term term = {.var = EG_RULE_NONE,
                       .op = parts.op,
                       .slots = parts.slots,
                       .children = parts.children,
                       .child_count = parts.child_count};
  *out_term = (uint32_t)reader->terms.len;
  return eg_rule_terms_push(&reader->terms, term);
}

static egraph_status read_class_var(eg_rule_reader *reader, const eg_sexpr *expr,
                                    uint32_t *out_term) {
  uint32_t var = eg_rule_reader_find(reader, expr->text);
  if (var == EG_RULE_NONE && !reader->in_pattern)
    return eg_rule_fail_unbound(reader, expr);
  if (var == EG_RULE_NONE)
    EG_TRY(eg_rule_reader_declare(reader, expr->text, EG_RULE_TENSOR, EG_RULE_VAR_MATCHED,
                                  &var));
  const eg_rule_var *known = &reader->vars.data[var];
  if (known->kind != EG_RULE_TENSOR)
    return eg_sexpr_fail(reader->file, expr,
                         "%s is %s, but an operand is a tensor; use another name",
                         expr->text, eg_rule_kind_words(known->kind));
  *out_term = (uint32_t)reader->terms.len;
  return eg_rule_terms_push(&reader->terms, (eg_rule_term){.is_var = true, .var = var});
}

static egraph_status read_as(eg_rule_reader *reader, const eg_sexpr *expr,
                             uint32_t *out_term) {
  if (!reader->in_pattern)
    return eg_sexpr_fail(
        reader->file, expr,
        "(as ...) names what a pattern matched; on this side use (let ?v "
        "...)");
  if (expr->count != 3 || !eg_rule_is_variable(&expr->children[1]) ||
      !eg_rule_has_head(&expr->children[2]) || eg_sexpr_is_form(&expr->children[2], "as"))
    return eg_sexpr_fail(reader->file, expr,
                         "malformed; write (as ?name (operator ...))");
  const eg_sexpr *name = &expr->children[1];
  if (eg_rule_reader_find(reader, name->text) != EG_RULE_NONE)
    return eg_sexpr_fail(reader->file, name, "%s is already bound; use another name",
                         name->text);
  EG_TRY(read_node(reader, &expr->children[2], out_term));
  if (eg_rule_reader_find(reader, name->text) != EG_RULE_NONE)
    return eg_sexpr_fail(reader->file, name, "%s occurs inside what it names",
                         name->text);
  uint32_t var;
  EG_TRY(
      eg_rule_reader_declare(reader, name->text, EG_RULE_TENSOR, EG_RULE_VAR_AS, &var));
  reader->terms.data[*out_term].var = var;
  return EGRAPH_OK;
}

// ---- operands of parallel operators ----------------------------------------------

static bool find_move_kind(const eg_sexpr *expr, eg_parallel_kind *out) {
  return eg_rule_has_head(expr) && eg_parallel_find(expr->children[0].text, out);
}

static egraph_status find_operand(const eg_rule_reader *reader, const eg_sexpr *expr,
                                  const eg_sexpr **out) {
  const char *name = expr->children[0].text;
  *out = NULL;
  for (uint32_t i = 1; i < expr->count; i++) {
    const eg_sexpr *child = &expr->children[i];
    if (eg_rule_is_key(child)) {
      if (++i == expr->count)
        return eg_sexpr_fail(reader->file, child, "%s has no value; write one after it",
                             child->text);
      continue;
    }
    if (*out != NULL)
      return eg_sexpr_fail(reader->file, child, "%s takes 1 operand, not more", name);
    *out = child;
  }
  if (*out != NULL) return EGRAPH_OK;
  return eg_sexpr_fail(reader->file, expr, "%s takes 1 operand, not 0", name);
}

static egraph_status read_move(eg_rule_reader *reader, const eg_sexpr *expr,
                               uint32_t *out_term) {
  const eg_sexpr *operand;
  EG_TRY(find_operand(reader, expr, &operand));
  EG_TRY(eg_rule_read_term(reader, operand, out_term));
  return eg_rule_late_moves_push(&reader->moves,
                                 (eg_rule_late_move){.term = *out_term, .at = expr});
}

// ---- terms -----------------------------------------------------------------------

egraph_status eg_rule_read_term(eg_rule_reader *reader, const eg_sexpr *expr,
                                uint32_t *out_term) {
  if (eg_rule_is_variable(expr)) return read_class_var(reader, expr, out_term);
  if (eg_sexpr_is_form(expr, "as")) return read_as(reader, expr, out_term);
  eg_parallel_kind kind;
  if (find_move_kind(expr, &kind)) return read_move(reader, expr, out_term);
  if (eg_rule_has_head(expr)) return read_node(reader, expr, out_term);
  return eg_sexpr_fail(reader->file, expr,
                       "a term is wanted: a ?variable or (operator :attribute value ... "
                       "operand ...)");
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

static bool is_tensor_variable(const eg_rule_reader *reader, const eg_sexpr *expr) {
  if (!eg_rule_is_variable(expr)) return false;
  uint32_t var = eg_rule_reader_find(reader, expr->text);
  return var != EG_RULE_NONE && reader->vars.data[var].kind == EG_RULE_TENSOR;
}

// Decides for names of both an operator and a function (exp, max, shape): the expression
// is a term if it has attributes, or a tensor as the innermost first operand. The
// operator shape needs :end.
bool eg_rule_reads_as_term(const eg_rule_reader *reader, const eg_sexpr *expr) {
  for (;;) {
    if (expr->kind != EG_SEXPR_LIST) return is_tensor_variable(reader, expr);
    if (!eg_rule_has_head(expr)) return false;
    eg_rule_function function;
    if (!eg_rule_function_find(expr->children[0].text, &function)) return true;
    eg_op op;
    if (!eg_op_find(expr->children[0].text, &op)) return false;
    for (uint32_t i = 1; i < expr->count; i++)
      if (eg_rule_is_key(&expr->children[i])) return true;
    if (op == EG_OP_SHAPE || expr->count < 2) return false;
    expr = &expr->children[1];
  }
}

EG_VEC_DEFINE(move_list, eg_rule_move);
EG_VEC_DEFINE(axis_list, eg_rule_axis);

// ---- attributes -------------------------------------------------------------------

typedef struct move_attrs {
  const eg_sexpr *dim, *degree, *axis, *others;
} move_attrs;

static egraph_status take_attr(const eg_rule_reader *reader, const char *name,
                               const eg_sexpr *key, const eg_sexpr *value,
                               move_attrs *inout) {
  const struct {
    const char *name;
    const eg_sexpr **place;
  } known[] = {{"dim", &inout->dim},
               {"degree", &inout->degree},
               {"axis", &inout->axis},
               {"others", &inout->others}};
  eg_spelling spelling = eg_spelling_start(key->text + 1);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    eg_spelling_offer(&spelling, known[i].name);
    if (strcmp(key->text + 1, known[i].name) != 0) continue;
    if (*known[i].place != NULL)
      return eg_sexpr_fail(reader->file, key, "%s is given twice; remove one", key->text);
    *known[i].place = value;
    return EGRAPH_OK;
  }
  return fail_attr(reader, key, name, spelling.best, "degree");
}

static egraph_status gather_attrs(const eg_rule_reader *reader, const eg_sexpr *expr,
                                  eg_parallel_kind kind, move_attrs *out) {
  const char *name = eg_parallel_name(kind);
  for (uint32_t i = 1; i < expr->count; i++)
    if (eg_rule_is_key(&expr->children[i])) {
      EG_TRY(take_attr(reader, name, &expr->children[i], &expr->children[i + 1], out));
      i++;
    }
  if (eg_parallel_has_dim(kind) != (out->dim != NULL))
    return eg_sexpr_fail(reader->file, out->dim != NULL ? out->dim : expr,
                         out->dim != NULL
                             ? "%s has no attribute 'dim'; it is about whole "
                               "tensors"
                             : "%s needs :dim (a dimension, a ?variable, or "
                               "an expression)",
                         name);
  if (out->others == NULL) return EGRAPH_OK;
  if (kind != EG_PARALLEL_REPLICATE)
    return eg_sexpr_fail(reader->file, out->others,
                         "%s has no attribute 'others'; only replicate makes copies",
                         name);
  if (eg_sexpr_is_atom(out->others, "zero") || eg_sexpr_is_atom(out->others, "same"))
    return EGRAPH_OK;
  return eg_sexpr_fail(reader->file, out->others,
                       "the other copies are 'same' or 'zero'; write one of them");
}

// ---- expressions ------------------------------------------------------------------

/// Declares a parallel operator's variables that occur nowhere else in the rule.
static egraph_status declare_layout_vars(eg_rule_reader *reader, const eg_sexpr *expr) {
  if (eg_rule_is_variable(expr)) {
    uint32_t var;
    if (eg_rule_reader_find(reader, expr->text) != EG_RULE_NONE) return EGRAPH_OK;
    return eg_rule_reader_declare(reader, expr->text, EG_RULE_INT, EG_RULE_VAR_LAYOUT,
                                  &var);
  }
  for (uint32_t i = 0; i < expr->count; i++)
    EG_TRY(declare_layout_vars(reader, &expr->children[i]));
  return EGRAPH_OK;
}

/// Reads an integer expression, which may have layout variables.
static egraph_status read_int(eg_rule_reader *reader, const eg_sexpr *expr,
                              uint32_t *out) {
  EG_TRY(declare_layout_vars(reader, expr));
  EG_TRY(eg_rule_read_expr(reader, expr, out));
  return eg_rule_want_kind(reader, expr, *out, EG_RULE_INT);
}

static egraph_status read_degree(const eg_rule_reader *reader, const eg_sexpr *expr,
                                 uint32_t *out) {
  int64_t degree;
  if (expr->kind != EG_SEXPR_ATOM || !eg_parse_int64(expr->text, &degree) || degree < 2 ||
      degree > EG_RULE_MAX_DEGREE)
    return eg_sexpr_fail(reader->file, expr,
                         "a degree is a number from 2 to %d; leave it out where any will "
                         "do",
                         EG_RULE_MAX_DEGREE);
  *out = (uint32_t)degree;
  return EGRAPH_OK;
}

// ---- axes -------------------------------------------------------------------------

static bool is_axis_name(const eg_sexpr *expr) {
  if (expr->kind != EG_SEXPR_ATOM || strlen(expr->text) >= EG_MESH_NAME_SIZE)
    return false;
  for (const char *c = expr->text; *c != '\0'; c++)
    if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_') return false;
  return true;
}

static egraph_status read_axis(const eg_rule_reader *reader, const eg_sexpr *form,
                               const eg_sexpr *axis, axis_list *inout, uint32_t *out) {
  if (axis != NULL && !is_axis_name(axis))
    return eg_sexpr_fail(reader->file, axis,
                         "an axis has a name of at most %d letters, digits, - and _",
                         EG_MESH_NAME_SIZE - 1);
  const char *name = axis != NULL ? axis->text : "";
  for (*out = 0; *out < inout->len; ++*out)
    if (strcmp(inout->data[*out].name, name) == 0) return EGRAPH_OK;
  if (inout->len == EG_RULE_MAX_AXES)
    return eg_sexpr_fail(reader->file, form, "a rule speaks of at most %d axes",
                         EG_RULE_MAX_AXES);
  return axis_list_push(inout, (eg_rule_axis){.name = name});
}

// ---- all parallel operators of a rule -------------------------------------------

static egraph_status read_attrs(eg_rule_reader *reader, const eg_rule_late_move *late,
                                axis_list *axes, eg_rule_move *out) {
  const eg_sexpr *at = late->at;
  move_attrs attrs = {.dim = NULL};
  *out = (eg_rule_move){
      .term = late->term, .dim = EG_RULE_NONE, .line = at->line, .column = at->column};
  bool is_move = find_move_kind(at, &out->kind);
  assert(is_move);
  (void)is_move;
  EG_TRY(gather_attrs(reader, at, out->kind, &attrs));
  if (attrs.dim != NULL) EG_TRY(read_int(reader, attrs.dim, &out->dim));
  if (attrs.degree != NULL) EG_TRY(read_degree(reader, attrs.degree, &out->degree));
  out->keeps_one = attrs.others != NULL && eg_sexpr_is_atom(attrs.others, "zero");
  return read_axis(reader, at, attrs.axis, axes, &out->axis);
}

static egraph_status set_degree(const eg_rule_reader *reader, const eg_sexpr *at,
                                uint32_t degree, eg_rule_axis *inout) {
  if (degree != 0 && inout->degree != 0 && degree != inout->degree)
    return eg_sexpr_fail(reader->file, at,
                         "an axis has one degree; name another axis by :axis, or write "
                         "the same degree");
  if (degree != 0) inout->degree = degree;
  return EGRAPH_OK;
}

egraph_status eg_rule_read_moves(eg_rule_reader *reader, eg_rule *rule) {
  EG_LOCAL(move_list, moves, reader->scratch.chars.alloc);
  EG_LOCAL(axis_list, axes, reader->scratch.chars.alloc);
  for (size_t i = 0; i < reader->moves.len; i++) {
    const eg_rule_late_move *late = &reader->moves.data[i];
    eg_rule_move move;
    EG_TRY(read_attrs(reader, late, &axes, &move));
    EG_TRY(set_degree(reader, late->at, move.degree, &axes.data[move.axis]));
    EG_TRY(move_list_push(&moves, move));
  }
  rule->move_count = (uint32_t)moves.len;
  rule->axis_count = (uint32_t)axes.len;
  EG_TRY(EG_RULE_KEEP(reader->arena, moves, &rule->moves));
  return EG_RULE_KEEP(reader->arena, axes, &rule->axes);
}
