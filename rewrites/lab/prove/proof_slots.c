// Attributes of terms: literals, variables that are bound when they are first met, and
// expressions.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "rewrites/lab/prove/proof_case.h"
#include "rewrites/lab/prove/rank_bound.h"

static eg_value literal(eg_case *c, const eg_attr *attr) {
  eg_proof *p = c->p;
  switch (attr->kind) {
  case EG_ATTR_INT: return eg_value_int(eg_poly_const(p, attr->i));
  case EG_ATTR_FLOAT:
    return (eg_value){.kind = EG_VALUE_REAL, .scalar = eg_scalar_number(p, attr->f)};
  case EG_ATTR_SYMBOL:
    return (eg_value){.kind = EG_VALUE_KEY,
                      .scalar = eg_scalar_number(p, (double)attr->i)};
  case EG_ATTR_DTYPE:
    return (eg_value){.kind = EG_VALUE_DTYPE,
                      .which = eg_kind_of_dtype(c, (egraph_dtype)attr->i)};
  case EG_ATTR_STRING: return (eg_value){.kind = EG_VALUE_TEXT, .text = attr->text};
  case EG_ATTR_INTS: {
    eg_poly *list = eg_proof_memory(p, attr->ints.len, sizeof *list);
    for (uint32_t i = 0; i < attr->ints.len; i++)
      list[i] = eg_poly_const(p, attr->ints.data[i]);
    return eg_value_ints(list, attr->ints.len);
  }
  case EG_ATTR_FLOATS:
    if (attr->floats.len == 0) return eg_value_ints(NULL, 0);
    break;
  }
  eg_case_give_up(c, "an attribute of %s", eg_op_info_of(EG_OP_IDENTITY)->name);
}

// What the attribute is; an open variable itself, for the caller to bind.
static eg_value *first_look(eg_case *c, uint32_t term, uint16_t slot) {
  const eg_rule_slot *s = &eg_case_term(c, term)->slots[slot];
  eg_value *own = eg_proof_memory(c->p, 1, sizeof *own);
  bool in_pattern = term < c->rule->pattern_term_count;
  switch (s->form) {
  case EG_RULE_SLOT_LITERAL: *own = literal(c, &s->literal); break;
  case EG_RULE_SLOT_VAR: {
    const eg_rule_var *var = &c->rule->vars[s->index];
    if (c->vars[s->index].kind == EG_VALUE_OPEN && var->origin == EG_RULE_VAR_LET_VALUE)
      eg_case_let(c, s->index);
    return &c->vars[s->index];
  }
  case EG_RULE_SLOT_EXPR:
    if (!in_pattern) {
      *own = eg_case_expr(c, s->index);
      break;
    }
    if (c->wanted_count == 32) eg_case_give_up(c, "too many computed %s", "attributes");
    c->wanted[c->wanted_count].expr = s->index;
    return &c->wanted[c->wanted_count++].value;
  case EG_RULE_SLOT_ANY: break; // open
  }
  return own;
}

eg_value *eg_slot(eg_case *c, uint32_t term, uint16_t slot) {
  uint16_t count = eg_op_info_of(eg_case_term(c, term)->op)->attr_count;
  if (c->slots[term] == NULL)
    c->slots[term] = eg_proof_memory(c->p, count, sizeof *c->slots[term]);
  eg_value **known = &c->slots[term][slot];
  if (*known == NULL) *known = first_look(c, term, slot);
  return *known;
}

static void need_kind(eg_case *c, uint32_t term, uint16_t slot, const eg_value *v,
                      eg_value_kind kind) {
  const eg_op_info *info = eg_op_info_of(eg_case_term(c, term)->op);
  if (v->kind != kind) eg_case_give_up(c, "attribute %s", info->attrs[slot].name);
}

eg_poly eg_slot_int(eg_case *c, uint32_t term, uint16_t slot) {
  eg_value *v = eg_slot(c, term, slot);
  if (v->kind == EG_VALUE_OPEN) *v = eg_value_int(eg_poly_symbol(c->p, false));
  need_kind(c, term, slot, v, EG_VALUE_INT);
  return eg_poly_canonical(c->p, v->number);
}

bool eg_slot_flag(eg_case *c, uint32_t term, uint16_t slot) {
  eg_value *v = eg_slot(c, term, slot);
  if (v->kind == EG_VALUE_OPEN)
    *v = eg_value_int(eg_poly_const(c->p, eg_proof_choose(c->p, 2)));
  need_kind(c, term, slot, v, EG_VALUE_INT);
  return eg_case_const(c, v->number, "a flag") != 0;
}

uint32_t eg_slot_axis(eg_case *c, uint32_t term, uint16_t slot, uint32_t rank) {
  eg_value *v = eg_slot(c, term, slot);
  if (v->kind == EG_VALUE_OPEN)
    *v = eg_value_int(
        eg_poly_const(c->p, (int64_t)eg_proof_choose(c->p, 2 * rank) - (int64_t)rank));
  need_kind(c, term, slot, v, EG_VALUE_INT);
  int64_t axis = eg_case_const(c, v->number, "an axis");
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= (int64_t)rank) eg_case_vacuous(c);
  return (uint32_t)axis;
}

// The number that a condition says all items of a list variable are: known before typing,
// it saves cases.
static bool all_the_same(const eg_case *c, const eg_rule_slot *slot, int64_t *out) {
  if (slot->form != EG_RULE_SLOT_VAR) return false;
  for (uint32_t i = 0; i < c->rule->condition_count; i++) {
    const eg_rule_expr *e = &c->rule->exprs[c->rule->conditions[i]];
    if (e->form != EG_RULE_EXPR_CALL || e->function != EG_RULE_FN_ALL_EQUAL) continue;
    const eg_rule_expr *list = &c->rule->exprs[e->args[0]];
    const eg_rule_expr *item = &c->rule->exprs[e->args[1]];
    if (list->form != EG_RULE_EXPR_VAR || list->var != slot->index) continue;
    if (item->form != EG_RULE_EXPR_CONSTANT || item->kind != EG_RULE_INT) continue;
    *out = item->constant.i;
    return true;
  }
  return false;
}

const eg_poly *eg_slot_list(eg_case *c, uint32_t term, uint16_t slot, uint32_t len,
                            int64_t least) {
  eg_proof *p = c->p;
  eg_value *v = eg_slot(c, term, slot);
  if (v->kind == EG_VALUE_OPEN) {
    eg_poly *list = eg_proof_memory(p, len, sizeof *list);
    int64_t number;
    bool same = all_the_same(c, &eg_case_term(c, term)->slots[slot], &number);
    for (uint32_t i = 0; i < len; i++)
      list[i] = same ? eg_poly_const(p, number) : eg_poly_symbol(p, least >= 0);
    *v = eg_value_ints(list, len);
  }
  need_kind(c, term, slot, v, EG_VALUE_INTS);
  if (v->count != len) eg_case_vacuous(c);
  eg_poly *list = eg_proof_memory(p, len, sizeof *list);
  for (uint32_t i = 0; i < len; i++) {
    list[i] = eg_poly_canonical(p, v->list[i]);
    if (least != INT64_MIN)
      eg_case_need_natural(c, eg_poly_sub(p, list[i], eg_poly_const(p, least)));
  }
  return list;
}

eg_shape eg_slot_shape(eg_case *c, uint32_t term, uint16_t slot) {
  eg_value *v = eg_slot(c, term, slot);
  eg_shape shape = {.rank = 0};
  if (v->kind == EG_VALUE_OPEN) {
    uint32_t rank = eg_proof_choose(c->p, c->max_rank + 1);
    eg_poly *list = eg_proof_memory(c->p, rank, sizeof *list);
    for (uint32_t i = 0; i < rank; i++)
      list[i] = eg_poly_symbol(c->p, true);
    *v = eg_value_ints(list, rank);
  }
  need_kind(c, term, slot, v, EG_VALUE_INTS);
  if (v->count > EGRAPH_MAX_RANK) eg_case_vacuous(c);
  shape.rank = v->count;
  for (uint32_t i = 0; i < v->count; i++) {
    shape.dims[i] = eg_poly_canonical(c->p, v->list[i]);
    eg_case_need_natural(c, shape.dims[i]);
  }
  return shape;
}

// The n-th permutation of rank items.
static void choose_perm(eg_case *c, uint32_t rank, eg_poly *list) {
  bool used[EGRAPH_MAX_RANK] = {false};
  for (uint32_t i = 0; i < rank; i++) {
    uint32_t skip = eg_proof_choose(c->p, rank - i), at = 0;
    while (used[at] || skip-- > 0)
      at++;
    used[at] = true;
    list[i] = eg_poly_const(c->p, at);
  }
}

void eg_slot_perm(eg_case *c, uint32_t term, uint16_t slot, uint32_t rank,
                  uint32_t *out) {
  eg_value *v = eg_slot(c, term, slot);
  if (v->kind == EG_VALUE_OPEN) {
    eg_poly *list = eg_proof_memory(c->p, rank, sizeof *list);
    choose_perm(c, rank, list);
    *v = eg_value_ints(list, rank);
  }
  need_kind(c, term, slot, v, EG_VALUE_INTS);
  if (v->count != rank) eg_case_vacuous(c);
  uint32_t seen = 0;
  for (uint32_t i = 0; i < rank; i++) {
    int64_t item = eg_case_const(c, v->list[i], "an item of a permutation");
    if (item < 0 || item >= (int64_t)rank || (seen >> item & 1) != 0) eg_case_vacuous(c);
    seen |= UINT32_C(1) << item;
    out[i] = (uint32_t)item;
  }
}

uint32_t eg_slot_axes(eg_case *c, uint32_t term, uint16_t slot, uint32_t rank) {
  eg_value *v = eg_slot(c, term, slot);
  if (v->kind == EG_VALUE_OPEN) {
    uint32_t bits = 0, count = 0;
    uint32_t wanted = eg_known_length(c->rule, &eg_case_term(c, term)->slots[slot]);
    if (wanted != EG_RULE_NONE && wanted > rank) eg_case_vacuous(c);
    eg_poly *list = eg_proof_memory(c->p, rank, sizeof *list);
    for (uint32_t i = 0; i < rank; i++) {
      bool all = wanted != EG_RULE_NONE && wanted - count == rank - i;
      bool none = wanted != EG_RULE_NONE && wanted == count;
      if (!none && (all || eg_proof_choose(c->p, 2) == 1)) {
        bits |= UINT32_C(1) << i;
        list[count++] = eg_poly_const(c->p, i);
      }
    }
    *v = eg_value_ints(list, count);
    return bits;
  }
  need_kind(c, term, slot, v, EG_VALUE_INTS);
  uint32_t bits = 0;
  int64_t before = -1;
  for (uint32_t i = 0; i < v->count; i++) {
    int64_t axis = eg_case_const(c, v->list[i], "an axis");
    if (axis <= before || axis >= (int64_t)rank) eg_case_vacuous(c);
    bits |= UINT32_C(1) << axis;
    before = axis;
  }
  return bits;
}

eg_scalar eg_slot_scalar(eg_case *c, uint32_t term, uint16_t slot) {
  const eg_attr_info *info = &eg_op_info_of(eg_case_term(c, term)->op)->attrs[slot];
  eg_value *v = eg_slot(c, term, slot);
  if (v->kind == EG_VALUE_OPEN) {
    if (info->kind == EG_ATTR_FLOAT)
      *v = (eg_value){.kind = EG_VALUE_REAL, .scalar = eg_scalar_real(c->p)};
    else if (info->kind == EG_ATTR_INT)
      *v = eg_value_int(eg_poly_symbol(c->p, false));
    else if (info->kind == EG_ATTR_SYMBOL)
      *v = (eg_value){.kind = EG_VALUE_KEY, .scalar = eg_scalar_key(c->p, c->keys++)};
    else if (info->kind == EG_ATTR_DTYPE)
      *v = (eg_value){.kind = EG_VALUE_DTYPE, .which = eg_kind_new(c)};
  }
  switch ((int)v->kind) {
  case EG_VALUE_INT: return eg_scalar_size(c->p, v->number);
  case EG_VALUE_REAL:
  case EG_VALUE_KEY: return v->scalar;
  case EG_VALUE_DTYPE: return eg_scalar_key(c->p, 1000 + eg_kind_root(c, v->which));
  default: eg_case_give_up(c, "attribute %s", info->name);
  }
}
