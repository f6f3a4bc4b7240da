// SPDX-License-Identifier: Apache-2.0
#include "pcg/training/loss.h"

#include "ops/typing.h"

egraph_status eg_loss_target(eg_loss kind, const eg_type *y, eg_type *out) {
  if (!eg_dtype_is_float(y->dtype) || eg_type_elements(y) == 0)
    return EG_FAIL(EGRAPH_E_TYPE,
                   "a loss cannot be taken of %s; choose an output of floating-point "
                   "elements",
                   eg_type_text_of(y).text);
  *out = eg_type_of(y->dtype, y->rank, y->dims);
  if (kind == EG_LOSS_SQUARED_ERROR) return EGRAPH_OK;
  if (y->rank == 0)
    return EG_FAIL(EGRAPH_E_TYPE, "cross entropy needs classes in the last dimension of "
                                  "the output, which is a scalar");
  if (kind == EG_LOSS_CROSS_ENTROPY)
    *out = eg_type_of(EGRAPH_INT64, y->rank - 1, y->dims);
  return EGRAPH_OK;
}

// labels [..] as [.., classes]: 1 at the label.
static eg_ref one_hot(eg_builder *b, eg_ref labels, const eg_type *y) {
  int64_t dims[EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i < y->rank; i++)
    dims[i] = i + 1 < y->rank ? y->dims[i] : 1;
  eg_ref column = eg_build_reshape(b, labels, y->rank, dims);
  eg_ref classes = eg_build_range(b, y->dims[y->rank - 1]);
  eg_ref equal = EG_BUILD(b, EG_OP_EQUAL, column, classes);
  return eg_build_cast(b, equal, y->dtype);
}

static eg_ref total(eg_builder *b, eg_ref x) {
  uint32_t all = eg_operand_bits(eg_build_type(b, x)->rank);
  return eg_build_reduce(b, EG_OP_REDUCE_SUM, x, all, false);
}

static eg_ref cross_entropy(eg_builder *b, eg_ref y, eg_ref target, eg_loss_terms *t) {
  const eg_type *type = eg_build_type(b, y);
  uint32_t last = UINT32_C(1) << (type->rank - 1);
  bool labels = t->kind == EG_LOSS_CROSS_ENTROPY;
  eg_ref m = eg_build_reduce(b, EG_OP_REDUCE_MAX, y, last, true);
  t->exponentials = EG_FORMULA(b, "(exp (sub y m))", "ym", y, m);
  t->sums = eg_build_reduce(b, EG_OP_REDUCE_SUM, t->exponentials, last, true);
  t->target = labels ? one_hot(b, target, type) : target;
  t->weight = EG_REF_NONE;
  if (!labels) t->weight = eg_build_reduce(b, EG_OP_REDUCE_SUM, target, last, true);
  eg_ref products = EG_BUILD(b, EG_OP_MUL, t->target, y);
  eg_ref k = eg_build_reduce(b, EG_OP_REDUCE_SUM, products, last, true);
  eg_ref rows = EG_FORMULA(
      b, labels ? "(sub (add (log s) m) k)" : "(sub (mul w (add (log s) m)) k)", "smkw",
      t->sums, m, k, t->weight);
  return total(b, rows);
}

eg_ref eg_loss_emit(eg_builder *b, eg_loss kind, eg_ref y, eg_ref target,
                    eg_loss_terms *out) {
  const eg_type *type = eg_build_type(b, y);
  int64_t rows = eg_type_elements(type);
  *out = (eg_loss_terms){.kind = kind};
  b->dtype = type->dtype;
  eg_ref sum;
  if (kind == EG_LOSS_SQUARED_ERROR) {
    out->difference = EG_BUILD(b, EG_OP_SUB, y, target);
    eg_ref squares = EG_BUILD(b, EG_OP_SQUARE, out->difference);
    sum = total(b, squares);
  } else {
    rows /= type->dims[type->rank - 1];
    sum = cross_entropy(b, y, target, out);
  }
  out->share = 1.0 / (double)rows;
  eg_ref share = eg_build_number(b, out->share);
  return EG_BUILD(b, EG_OP_MUL, sum, share);
}

eg_ref eg_loss_emit_gradient(eg_builder *b, const eg_loss_terms *t) {
  bool squared = t->kind == EG_LOSS_SQUARED_ERROR;
  eg_ref c = eg_build_number(b, squared ? 2 * t->share : t->share);
  if (squared) return EG_BUILD(b, EG_OP_MUL, t->difference, c);
  return EG_FORMULA(b,
                    eg_ref_exists(t->weight) ? "(mul c (sub (mul w (div e s)) p))"
                                             : "(mul c (sub (div e s) p))",
                    "cespw", c, t->exponentials, t->sums, t->target, t->weight);
}
