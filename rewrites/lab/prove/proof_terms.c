// Terms: typing and elements by the table of operators; elements at offsets.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/prove/proof_case.h"

enum { DEEPEST = 64 };

// The meaning of an operator that is not pointwise. What is missing here is not known.
#define ROW(op, name) [EG_OP_##op] = {eg_type_##name, eg_element_##name}
static const eg_meaning meanings[EG_OP_COUNT] = {
    ROW(FILL, fill),
    ROW(EYE, eye),
    ROW(POOL_KERNEL, pool_kernel),
    ROW(CONV_IDENTITY, conv_identity),
    ROW(TRANSPOSE, transpose),
    ROW(CONCAT, concat),
    ROW(SPLIT, split),
    ROW(PART, part),
    ROW(SLICE, slice),
    ROW(PAD, pad),
    ROW(EXPAND, expand),
    ROW(TILE, tile),
    ROW(RESHAPE, reshape),
    ROW(SQUEEZE, squeeze),
    ROW(UNSQUEEZE, unsqueeze),
    ROW(FLATTEN, flatten),
    ROW(MATMUL, matmul),
    ROW(GEMM, gemm),
    ROW(EINSUM, einsum),
    ROW(CONV, conv),
    ROW(MAX_POOL, max_pool),
    ROW(AVERAGE_POOL, average_pool),
    ROW(GLOBAL_MAX_POOL, global_pool),
    ROW(GLOBAL_AVERAGE_POOL, global_pool),
    ROW(REDUCE_SUM, reduce),
    ROW(REDUCE_MEAN, reduce),
    ROW(REDUCE_MAX, reduce),
    ROW(REDUCE_MIN, reduce),
    ROW(REDUCE_PROD, reduce),
    ROW(SOFTMAX, softmax),
    ROW(LOG_SOFTMAX, softmax),
    ROW(BATCH_NORM, batch_norm),
    ROW(LAYER_NORM, layer_norm),
    ROW(RMS_NORM, layer_norm),
    ROW(ENLARGE, enlarge),
    ROW(TRILU, trilu),
};
static const eg_meaning pointwise = {eg_type_pointwise, eg_element_pointwise};

const eg_meaning *eg_meaning_of(eg_op op) {
  if ((eg_op_info_of(op)->flags & EG_OPF_POINTWISE) != 0) return &pointwise;
  return meanings[op].type != NULL ? &meanings[op] : NULL;
}

static const eg_meaning *meaning(eg_case *c, uint32_t term) {
  const eg_meaning *found = eg_meaning_of(eg_case_term(c, term)->op);
  if (found == NULL)
    eg_case_give_up(c, "operator %s", eg_op_info_of(eg_case_term(c, term)->op)->name);
  return found;
}

// ---- typing -----------------------------------------------------------------------

static void type_of_variable(eg_case *c, uint32_t term) {
  uint32_t var = eg_case_term(c, term)->var;
  if (c->vars[var].kind == EG_VALUE_TENSOR) { // met before, `as` or let
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
  c->vars[var] = (eg_value){.kind = EG_VALUE_TENSOR, .which = term};
}

// What the row's flags ask of operand 0.
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
      if (c->vars[t->var].kind == EG_VALUE_TENSOR)
        eg_case_give_up(c, "%s, which stands for a term twice",
                        c->rule->vars[t->var].name);
      c->vars[t->var] = (eg_value){.kind = EG_VALUE_TENSOR, .which = term};
    }
  }
  if (c->p->is_impossible) eg_case_vacuous(c);
  for (uint32_t i = 0; i < c->shapes[term].rank; i++)
    c->shapes[term].dims[i] = eg_poly_canonical(c->p, c->shapes[term].dims[i]);
  c->typed[term] = true;
}

// ---- elements ---------------------------------------------------------------------

// The term that a variable stands for, or the term itself.
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

eg_poly eg_shape_elements(eg_case *c, const eg_shape *shape) {
  eg_poly all = eg_poly_const(c->p, 1);
  for (uint32_t i = 0; i < shape->rank; i++)
    all = eg_poly_mul(c->p, all, shape->dims[i]);
  return all;
}

eg_poly eg_shape_offset(eg_case *c, const eg_shape *shape, const eg_poly *at) {
  eg_poly offset = eg_poly_const(c->p, 0);
  for (uint32_t i = 0; i < shape->rank; i++)
    offset = eg_poly_add(c->p, eg_poly_mul(c->p, offset, shape->dims[i]), at[i]);
  return eg_poly_canonical(c->p, offset);
}

static bool only_reorders_names(eg_op op) {
  return op == EG_OP_RESHAPE || op == EG_OP_SQUEEZE || op == EG_OP_UNSQUEEZE ||
         op == EG_OP_FLATTEN || op == EG_OP_IDENTITY;
}

// The indices of the element at an offset. An element there is, so no size is 0.
static void unflatten(eg_case *c, const eg_shape *shape, eg_poly offset, eg_poly *at) {
  eg_proof *p = c->p;
  for (uint32_t i = 0; i < shape->rank; i++)
    eg_assume_natural(p, eg_poly_sub(p, shape->dims[i], eg_poly_const(p, 1)));
  offset = eg_poly_canonical(p, offset);
  for (uint32_t i = shape->rank; i-- > 0;) {
    if (i == 0) { // below the size: nothing is left over
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
  if (only_reorders_names(t->op)) return eg_case_flat(c, eg_kid(c, term, 0), offset);
  bool unary = (eg_op_info_of(t->op)->flags & EG_OPF_POINTWISE) != 0;
  if (unary && t->child_count == 1) {
    // Pointwise: the element of the operand at the same offset.
    eg_laws_before before = eg_laws_narrow(c->p, eg_op_hides_infinity(t->op));
    eg_scalar kid = eg_case_flat(c, eg_kid(c, term, 0), offset);
    eg_laws_restore(c->p, before);
    eg_scalar kids[8] = {kid};
    uint32_t count = 1;
    for (uint16_t i = 0; i < eg_op_info_of(t->op)->attr_count && count < 8; i++)
      kids[count++] = eg_slot_scalar(c, term, i);
    uint32_t from = c->kinds[eg_kid(c, term, 0)];
    if (t->op == EG_OP_CAST || t->op == EG_OP_BIT_CAST)
      if (eg_kind_root(c, c->kinds[term]) == eg_kind_root(c, from)) return kid;
    return eg_scalar_call(c->p, t->op, kids, count, eg_kind_domain(c, from));
  }
  eg_poly at[EGRAPH_MAX_RANK];
  unflatten(c, &c->shapes[term], offset, at);
  return eg_case_element(c, term, at);
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
  eg_branch_close(c->p, loop->branch);
  c->p->symbols.data[symbol].is_bound = false;
  return eg_scalar_total(c->p, fold, symbol, loop->size, body);
}
