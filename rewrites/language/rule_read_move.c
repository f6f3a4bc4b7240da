// Parallel operators in rules: (partition :dim 0 :axis gpu ?x). They are kept
// beside the terms, so that nothing but layouts has to know of them.
// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <string.h>

#include "base/spelling.h"
#include "rewrites/language/rule_reader.h"

EG_VEC_DEFINE(move_list, eg_rule_move);
EG_VEC_DEFINE(axis_list, eg_rule_axis);

uint32_t eg_rule_moves_of(const eg_rule *rule, uint32_t term, uint32_t *out_begin) {
  uint32_t low = 0, high = rule->move_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (rule->moves[middle].term < term)
      low = middle + 1;
    else
      high = middle;
  }
  *out_begin = low;
  while (high < rule->move_count && rule->moves[high].term == term)
    high++;
  return high;
}

// ---- operands ---------------------------------------------------------------------

static bool kind_of(const eg_sexpr *expr, eg_parallel_kind *out) {
  return expr->kind == EG_SEXPR_LIST && expr->count > 0 &&
         expr->children[0].kind == EG_SEXPR_ATOM &&
         eg_parallel_find(expr->children[0].text, out);
}

bool eg_rule_is_move(const eg_sexpr *expr) {
  eg_parallel_kind kind;
  return kind_of(expr, &kind);
}

static bool is_key(const eg_sexpr *expr) {
  return expr->kind == EG_SEXPR_ATOM && expr->text[0] == ':';
}

static egraph_status find_operand(const eg_rule_reader *reader, const eg_sexpr *expr,
                                  const eg_sexpr **out) {
  const char *name = expr->children[0].text;
  *out = NULL;
  for (uint32_t i = 1; i < expr->count; i++) {
    const eg_sexpr *child = &expr->children[i];
    if (is_key(child)) {
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

egraph_status eg_rule_read_move(eg_rule_reader *reader, const eg_sexpr *expr,
                                uint32_t *out_term) {
  const eg_sexpr *operand;
  EG_TRY(find_operand(reader, expr, &operand));
  EG_TRY(eg_rule_read_term(reader, operand, out_term));
  return eg_rule_late_moves_push(&reader->moves,
                                 (eg_rule_late_move){.term = *out_term, .at = expr});
}

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
  return eg_sexpr_fail(
      reader->file, key, "%s has no attribute '%s'; %s ':%s'%s", name, key->text + 1,
      spelling.best != NULL ? "did you mean" : "its first is",
      spelling.best != NULL ? spelling.best : "degree", spelling.best != NULL ? "?" : "");
}

static egraph_status gather_attrs(const eg_rule_reader *reader, const eg_sexpr *expr,
                                  eg_parallel_kind kind, move_attrs *out) {
  const char *name = eg_parallel_name(kind);
  for (uint32_t i = 1; i < expr->count; i++)
    if (is_key(&expr->children[i])) {
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

/// Declares the variables that nothing else in the rule has.
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

static egraph_status read_int(eg_rule_reader *reader, const eg_sexpr *expr,
                              uint32_t *out) {
  EG_TRY(declare_layout_vars(reader, expr));
  EG_TRY(eg_rule_read_expr(reader, expr, out));
  if (reader->exprs.data[*out].kind == EG_RULE_INT) return EGRAPH_OK;
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

// ---- all of a rule ----------------------------------------------------------------

static egraph_status read_attrs(eg_rule_reader *reader, const eg_rule_late_move *late,
                                axis_list *axes, eg_rule_move *out) {
  const eg_sexpr *at = late->at;
  move_attrs attrs = {.dim = NULL};
  *out = (eg_rule_move){
      .term = late->term, .dim = EG_RULE_NONE, .line = at->line, .column = at->column};
  (void)kind_of(at, &out->kind);
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

static egraph_status read_all(eg_rule_reader *reader, move_list *moves, axis_list *axes,
                              eg_rule *rule) {
  for (size_t i = 0; i < reader->moves.len; i++) {
    eg_rule_move move;
    EG_TRY(read_attrs(reader, &reader->moves.data[i], axes, &move));
    EG_TRY(set_degree(reader, reader->moves.data[i].at, move.degree,
                      &axes->data[move.axis]));
    EG_TRY(move_list_push(moves, move));
  }
  rule->move_count = (uint32_t)moves->len;
  rule->axis_count = (uint32_t)axes->len;
  EG_TRY(EG_RULE_KEEP(reader->arena, *moves, &rule->moves));
  return EG_RULE_KEEP(reader->arena, *axes, &rule->axes);
}

egraph_status eg_rule_read_moves(eg_rule_reader *reader, eg_rule *rule) {
  move_list moves;
  axis_list axes;
  move_list_init(&moves, reader->scratch.chars.alloc);
  axis_list_init(&axes, reader->scratch.chars.alloc);
  egraph_status status = read_all(reader, &moves, &axes, rule);
  move_list_deinit(&moves);
  axis_list_deinit(&axes);
  return status;
}
