// Reads attributes of terms (literals, variables that their first use binds,
// expressions), and finds types and elements by the table of operators, and elements
// at offsets.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>

#include "ops/meaning.h"
#include "rewrites/lab/prove/proof_case.h"

enum { DEEPEST = 64 };

// ---- attributes -----------------------------------------------------------------

static eg_datum literal(eg_case *c, const eg_attr *attr) {
  eg_proof *p = c->p;
  switch (attr->kind) {
  case EG_ATTR_INT: return eg_datum_int(eg_poly_const(p, attr->i));
  case EG_ATTR_FLOAT:
    return (eg_datum){.kind = EG_DATUM_REAL, .scalar = eg_scalar_number(p, attr->f)};
  case EG_ATTR_SYMBOL:
    return (eg_datum){.kind = EG_DATUM_KEY,
                      .scalar = eg_scalar_number(p, (double)attr->i)};
  case EG_ATTR_DTYPE:
    return (eg_datum){.kind = EG_DATUM_DTYPE,
                      .which = eg_kind_of_dtype(c, (egraph_dtype)attr->i)};
  case EG_ATTR_STRING: return (eg_datum){.kind = EG_DATUM_TEXT, .text = attr->text};
  case EG_ATTR_INTS: {
    eg_poly *list = eg_proof_memory(p, attr->ints.len, sizeof *list);
    for (uint32_t i = 0; i < attr->ints.len; i++)
      list[i] = eg_poly_const(p, attr->ints.data[i]);
    return eg_datum_ints(list, attr->ints.len);
  }
  case EG_ATTR_FLOATS:
    if (attr->floats.len == 0) return eg_datum_ints(NULL, 0);
    break;
  }
  eg_case_give_up(c, "an attribute of %s", eg_op_info_of(EG_OP_IDENTITY)->name);
}

// Reads an attribute for the first time; an unbound variable is left for the caller
// to bind.
static eg_datum *first_look(eg_case *c, uint32_t term, uint16_t slot) {
  const eg_rule_slot *s = &eg_case_term(c, term)->slots[slot];
  eg_datum *own = eg_proof_memory(c->p, 1, sizeof *own);
  bool in_pattern = term < c->rule->pattern_term_count;
  switch (s->form) {
  case EG_RULE_SLOT_LITERAL: *own = literal(c, &s->literal); break;
  case EG_RULE_SLOT_VAR: {
    const eg_rule_var *var = &c->rule->vars[s->index];
    if (c->vars[s->index].kind == EG_DATUM_OPEN && var->origin == EG_RULE_VAR_LET_VALUE)
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
  case EG_RULE_SLOT_ANY: break; // stays open
  }
  return own;
}

eg_datum *eg_slot(eg_case *c, uint32_t term, uint16_t slot) {
  uint16_t count = eg_op_info_of(eg_case_term(c, term)->op)->attr_count;
  assert(slot < count);
  if (c->slots[term] == NULL)
    c->slots[term] = eg_proof_memory(c->p, count, sizeof *c->slots[term]);
  eg_datum **known = &c->slots[term][slot];
  if (*known == NULL) *known = first_look(c, term, slot);
  return *known;
}

static void need_kind(eg_case *c, uint32_t term, uint16_t slot, const eg_datum *v,
                      eg_datum_kind kind) {
  const eg_op_info *info = eg_op_info_of(eg_case_term(c, term)->op);
  if (v->kind != kind) eg_case_give_up(c, "attribute %s", info->attrs[slot].name);
}

eg_poly eg_slot_int(eg_case *c, uint32_t term, uint16_t slot) {
  eg_datum *v = eg_slot(c, term, slot);
  if (v->kind == EG_DATUM_OPEN) *v = eg_datum_int(eg_poly_symbol(c->p, false));
  need_kind(c, term, slot, v, EG_DATUM_INT);
  return eg_poly_canonical(c->p, v->number);
}

bool eg_slot_flag(eg_case *c, uint32_t term, uint16_t slot) {
  eg_datum *v = eg_slot(c, term, slot);
  if (v->kind == EG_DATUM_OPEN)
    *v = eg_datum_int(eg_poly_const(c->p, eg_proof_choose(c->p, 2)));
  need_kind(c, term, slot, v, EG_DATUM_INT);
  return eg_case_const(c, v->number, "a flag") != 0;
}

uint32_t eg_slot_axis(eg_case *c, uint32_t term, uint16_t slot, uint32_t rank) {
  eg_datum *v = eg_slot(c, term, slot);
  if (v->kind == EG_DATUM_OPEN)
    *v = eg_datum_int(
        eg_poly_const(c->p, (int64_t)eg_proof_choose(c->p, 2 * rank) - (int64_t)rank));
  need_kind(c, term, slot, v, EG_DATUM_INT);
  int64_t axis = eg_case_const(c, v->number, "an axis");
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= (int64_t)rank) eg_case_vacuous(c);
  return (uint32_t)axis;
}

// Finds the number that a condition gives to all elements of a list variable; knowing the
// number before typing saves cases.
static bool all_the_same(const eg_case *c, const eg_rule_slot *slot, int64_t *out) {
  if (slot->form != EG_RULE_SLOT_VAR) return false;
  for (uint32_t i = 0; i < c->rule->condition_count; i++) {
    const eg_rule_expr *e =
        eg_rule_call_of(c->rule, c->rule->conditions[i], EG_RULE_FN_ALL_EQUAL);
    if (e == NULL || eg_rule_var_of(c->rule, e->args[0]) != slot->index) continue;
    const eg_rule_expr *item = &c->rule->exprs[e->args[1]];
    if (item->form != EG_RULE_EXPR_CONSTANT || item->kind != EG_RULE_INT) continue;
    *out = item->constant.i;
    return true;
  }
  return false;
}

const eg_poly *eg_slot_list(eg_case *c, uint32_t term, uint16_t slot, uint32_t len,
                            int64_t least) {
  eg_proof *p = c->p;
  eg_datum *v = eg_slot(c, term, slot);
  if (v->kind == EG_DATUM_OPEN) {
    eg_poly *list = eg_proof_memory(p, len, sizeof *list);
    int64_t number;
    bool same = all_the_same(c, &eg_case_term(c, term)->slots[slot], &number);
    for (uint32_t i = 0; i < len; i++)
      list[i] = same ? eg_poly_const(p, number) : eg_poly_symbol(p, least >= 0);
    *v = eg_datum_ints(list, len);
  }
  need_kind(c, term, slot, v, EG_DATUM_INTS);
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
  eg_datum *v = eg_slot(c, term, slot);
  eg_shape shape = {.rank = 0};
  if (v->kind == EG_DATUM_OPEN) {
    uint32_t rank = eg_proof_choose(c->p, c->max_rank + 1);
    eg_poly *list = eg_proof_memory(c->p, rank, sizeof *list);
    for (uint32_t i = 0; i < rank; i++)
      list[i] = eg_poly_symbol(c->p, true);
    *v = eg_datum_ints(list, rank);
  }
  need_kind(c, term, slot, v, EG_DATUM_INTS);
  if (v->count > EGRAPH_MAX_RANK) eg_case_vacuous(c);
  shape.rank = v->count;
  for (uint32_t i = 0; i < v->count; i++) {
    shape.dims[i] = eg_poly_canonical(c->p, v->list[i]);
    eg_case_need_natural(c, shape.dims[i]);
  }
  return shape;
}

// Chooses a permutation of `rank` axes; the proof tries each.
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
  eg_datum *v = eg_slot(c, term, slot);
  if (v->kind == EG_DATUM_OPEN) {
    eg_poly *list = eg_proof_memory(c->p, rank, sizeof *list);
    choose_perm(c, rank, list);
    *v = eg_datum_ints(list, rank);
  }
  need_kind(c, term, slot, v, EG_DATUM_INTS);
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
  eg_datum *v = eg_slot(c, term, slot);
  if (v->kind == EG_DATUM_OPEN) {
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
    *v = eg_datum_ints(list, count);
    return bits;
  }
  need_kind(c, term, slot, v, EG_DATUM_INTS);
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
  eg_datum *v = eg_slot(c, term, slot);
  if (v->kind == EG_DATUM_OPEN) {
    if (info->kind == EG_ATTR_FLOAT)
      *v = (eg_datum){.kind = EG_DATUM_REAL, .scalar = eg_scalar_real(c->p)};
    else if (info->kind == EG_ATTR_INT)
      *v = eg_datum_int(eg_poly_symbol(c->p, false));
    else if (info->kind == EG_ATTR_SYMBOL)
      *v = (eg_datum){.kind = EG_DATUM_KEY, .scalar = eg_scalar_key(c->p, c->keys++)};
    else if (info->kind == EG_ATTR_DTYPE)
      *v = (eg_datum){.kind = EG_DATUM_DTYPE, .which = eg_kind_new(c)};
  }
  switch ((int)v->kind) {
  case EG_DATUM_INT: return eg_scalar_size(c->p, v->number);
  case EG_DATUM_REAL:
  case EG_DATUM_KEY: return v->scalar;
  case EG_DATUM_DTYPE: return eg_scalar_key(c->p, 1000 + eg_kind_root(c, v->which));
  default: eg_case_give_up(c, "attribute %s", info->name);
  }
}

static const eg_meaning *meaning(eg_case *c, uint32_t term) {
  eg_op op = eg_case_term(c, term)->op;
  const eg_op_info *info = eg_op_info_of(op);
  bool is_pointwise = (info->flags & EG_OPF_POINTWISE) != 0;
  const eg_meaning *found = &c->meanings[is_pointwise ? EG_OP_IDENTITY : op];
  if (found->type == NULL) eg_case_give_up(c, "operator %s", info->name);
  return found;
}

// ---- typing -----------------------------------------------------------------------

static void type_of_variable(eg_case *c, uint32_t term) {
  uint32_t var = eg_case_term(c, term)->var;
  if (c->vars[var].kind == EG_DATUM_TENSOR) { // was bound before, by `as` or let
    uint32_t other = c->vars[var].which;
    c->shapes[term] = c->shapes[other];
    c->kinds[term] = c->kinds[other];
    c->extra[term] = c->extra[other];
    return;
  }
  if (c->rule->vars[var].origin != EG_RULE_VAR_MATCHED)
    eg_case_give_up(c, "%s, which is used before it is bound", c->rule->vars[var].name);
  eg_shape shape = {.rank = eg_case_rank(c, term)};
  for (uint32_t i = 0; i < shape.rank; i++)
    shape.dims[i] = eg_poly_symbol(c->p, true);
  c->shapes[term] = shape;
  c->kinds[term] = eg_kind_new(c);
  c->vars[var] = (eg_datum){.kind = EG_DATUM_TENSOR, .which = term};
}

// Restricts the element type of operand 0 to the types that the operator's flags allow.
static void mark_operand(eg_case *c, uint32_t term) {
  const eg_rule_term *t = eg_case_term(c, term);
  unsigned flags = eg_op_info_of(t->op)->flags;
  if (t->child_count == 0) return;
  bool is_float = (flags & EG_OPF_FLOAT) != 0, is_int = (flags & EG_OPF_INTEGER) != 0,
       is_bool = (flags & EG_OPF_BOOL) != 0;
  if (t->op == EG_OP_WHERE) return;
  eg_kind_mark(c, c->kinds[eg_kid(c, term, 0)], is_float, is_int, is_bool);
}

void eg_case_type(eg_case *c, uint32_t term) {
  const eg_rule_term *t = eg_case_term(c, term);
  eg_proof_step(c->p);
  if (t->is_var) {
    type_of_variable(c, term);
  } else {
    if (t->child_count != 0) c->kinds[term] = c->kinds[eg_kid(c, term, 0)];
    meaning(c, term)->type(c, term);
    mark_operand(c, term);
    if (t->var != EG_RULE_NONE) {
      if (c->vars[t->var].kind == EG_DATUM_TENSOR)
        eg_case_give_up(c, "%s, which stands for a term twice",
                        c->rule->vars[t->var].name);
      c->vars[t->var] = (eg_datum){.kind = EG_DATUM_TENSOR, .which = term};
    }
  }
  if (c->p->is_impossible) eg_case_vacuous(c);
  for (uint32_t i = 0; i < c->shapes[term].rank; i++)
    c->shapes[term].dims[i] = eg_poly_canonical(c->p, c->shapes[term].dims[i]);
  c->typed[term] = true;
}

// ---- elements ---------------------------------------------------------------------

// Returns the term that a variable names, or the term itself.
static uint32_t term_of(const eg_case *c, uint32_t term) {
  const eg_rule_term *t = eg_case_term(c, term);
  return t->is_var ? c->vars[t->var].which : term;
}

static eg_scalar read(eg_case *c, uint32_t var, const eg_poly *at, uint32_t rank) {
  if (c->splats[var] != EG_PROOF_NONE) return c->splats[var];
  eg_poly place[EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++)
    place[i] = eg_poly_canonical(c->p, at[i]);
  return eg_scalar_read(c->p, var, place, rank);
}

eg_scalar eg_case_element(eg_case *c, uint32_t term, const eg_poly *at) {
  term = term_of(c, term);
  assert(c->typed[term]);
  const eg_rule_term *t = eg_case_term(c, term);
  eg_proof_step(c->p);
  if (t->is_var) return read(c, t->var, at, c->shapes[term].rank);
  if (++c->levels > DEEPEST) eg_case_give_up(c, "%s that are nested too deeply", "terms");
  eg_domain before = c->p->domain;
  c->p->domain = eg_kind_domain(c, c->kinds[term]);
  eg_scalar made = meaning(c, term)->element(c, term, at);
  c->p->domain = before;
  c->levels--;
  return made;
}

eg_scalar eg_case_padded(eg_case *c, uint32_t term, uint32_t first, const eg_poly *at,
                         eg_scalar outside) {
  const eg_shape *x = eg_kid_shape(c, term, 0);
  eg_branch branch = eg_branch_open(c->p);
  for (uint32_t i = first; i < x->rank; i++)
    eg_case_assume_inside(c, at[i], x->dims[i]);
  eg_scalar made = eg_case_element(c, eg_kid(c, term, 0), at);
  eg_branch_close(c->p, branch);
  for (uint32_t i = first; i < x->rank; i++)
    made = eg_case_guarded(c, at[i], x->dims[i], made, outside);
  return made;
}

// Finds the indices of the element at an offset. The element exists, so no size is 0.
static void unflatten(eg_case *c, const eg_shape *shape, eg_poly offset, eg_poly *at) {
  eg_proof *p = c->p;
  for (uint32_t i = 0; i < shape->rank; i++)
    eg_assume_natural(p, eg_poly_sub(p, shape->dims[i], eg_poly_const(p, 1)));
  offset = eg_poly_canonical(p, offset);
  for (uint32_t i = shape->rank; i-- > 0;) {
    if (i == 0) { // the offset is below the size, so no remainder is needed
      at[0] = offset;
      break;
    }
    eg_poly size = eg_poly_canonical(p, shape->dims[i]);
    at[i] = eg_poly_mod(p, offset, size);
    offset = eg_poly_div(p, offset, size);
  }
}

eg_scalar eg_case_flat(eg_case *c, uint32_t term, eg_poly offset) {
  term = term_of(c, term);
  const eg_rule_term *t = eg_case_term(c, term);
  if (t->is_var) {
    if (c->splats[t->var] != EG_PROOF_NONE) return c->splats[t->var];
    eg_poly place = eg_poly_canonical(c->p, offset);
    return eg_scalar_make(
        c->p, (eg_scalar_node){
                  .kind = EG_SCALAR_FLAT, .which = t->var, .count = 1, .kids = &place});
  }
  if (eg_op_keeps_order(t->op)) return eg_case_flat(c, eg_kid(c, term, 0), offset);
  bool unary = (eg_op_info_of(t->op)->flags & EG_OPF_POINTWISE) != 0;
  if (unary && t->child_count == 1) {
    // A pointwise operator reads its operand at the offset of the result's element.
    eg_laws_before before = eg_laws_narrow(c->p, eg_op_hides_infinity(t->op));
    eg_scalar kids[EG_POINTWISE_KIDS] = {eg_case_flat(c, eg_kid(c, term, 0), offset)};
    eg_laws_restore(c->p, before);
    return eg_case_pointwise(c, term, kids);
  }
  eg_poly at[EGRAPH_MAX_RANK];
  unflatten(c, &c->shapes[term], offset, at);
  return eg_case_element(c, term, at);
}

eg_scalar eg_kid_element(eg_case *c, uint32_t term, uint32_t i, const eg_poly *at) {
  const eg_shape *kid = eg_kid_shape(c, term, i);
  uint32_t rank = c->shapes[term].rank;
  eg_poly place[EGRAPH_MAX_RANK];
  for (uint32_t k = 0; k < kid->rank; k++)
    place[k] =
        eg_poly_at(c->p, at[k + rank - kid->rank], eg_poly_canonical(c->p, kid->dims[k]));
  return eg_case_element(c, eg_kid(c, term, i), place);
}

// ---- folds ------------------------------------------------------------------------

eg_loop eg_loop_begin(eg_case *c, eg_poly size) {
  eg_proof *p = c->p;
  eg_loop loop = {.branch = eg_branch_open(p), .size = size};
  uint32_t symbol = eg_scalar_index(p, EG_PROOF_NONE, EG_PROOF_NONE);
  loop.index = p->symbols.data[symbol].own;
  p->symbols.data[symbol].is_bound = true;
  eg_assume_below(p, loop.index, size);
  return loop;
}

eg_scalar eg_loop_end(eg_case *c, const eg_loop *loop, eg_fold fold, eg_scalar body) {
  uint32_t symbol = eg_poly_symbol_of(c->p, loop->index);
  assert(symbol != EG_PROOF_NONE);
  eg_branch_close(c->p, loop->branch);
  c->p->symbols.data[symbol].is_bound = false;
  return eg_scalar_total(c->p, fold, symbol, loop->size, body);
}
