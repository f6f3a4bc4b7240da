// Gradients of reductions, running sums and the largest k.
// SPDX-License-Identifier: Apache-2.0
#include "ops/vjp_internal.h"

// A reduced tensor with ones in place of the reduced dimensions of x.
static eg_ref with_ones(eg_builder *b, eg_ref reduced, const eg_type *x, uint32_t dims) {
  eg_type type = *x;
  for (uint32_t i = 0; i < x->rank; i++)
    if ((dims >> i & 1) != 0) type.dims[i] = 1;
  return eg_build_reshape(b, reduced, type.rank, type.dims);
}

eg_ref eg_vjp_share(eg_builder *b, eg_ref x, eg_ref y, eg_ref d, uint32_t dims) {
  eg_ref equal = EG_BUILD(b, EG_OP_EQUAL, x, y);
  eg_ref e = eg_build_cast(b, equal, b->dtype);
  eg_ref n = eg_build_reduce(b, EG_OP_REDUCE_SUM, e, dims, true);
  return EG_FORMULA(b, "(mul e (div d n))", "edn", e, d, n);
}

void eg_vjp_reduce(const eg_vjp *v) {
  eg_builder *b = v->b;
  const eg_type *x = eg_vjp_type(v, 0);
  eg_ints axes = EG_VJP_SHARED(v, REDUCE_SUM, AXES)->ints;
  uint32_t dims = 0;
  int64_t count = 1;
  for (uint32_t i = 0; i < axes.len; i++) {
    dims |= UINT32_C(1) << axes.data[i];
    count *= x->dims[axes.data[i]];
  }
  eg_op op = (eg_op)v->attrs->op;
  eg_ref d = with_ones(b, v->cotangents[0], x, dims);
  if (op == EG_OP_REDUCE_SUM) {
    v->out[0] = eg_build_expand(b, d, x);
    return;
  }
  if (op == EG_OP_REDUCE_MEAN) {
    int64_t whole = eg_attr_at(v->attrs, EG_A_REDUCE_MEAN_COUNT)->i;
    eg_ref n = eg_build_number(b, (double)(whole != 0 ? whole : count));
    eg_ref share = EG_BUILD(b, EG_OP_DIV, d, n);
    v->out[0] = eg_build_expand(b, share, x);
    return;
  }
  eg_ref y = with_ones(b, v->results[0], x, dims);
  if (op == EG_OP_REDUCE_PROD) // NaN where an element is 0
    v->out[0] = EG_FORMULA(b, "(div (mul d y) x)", "dyx", d, y, v->inputs[0]);
  else
    v->out[0] = eg_vjp_share(b, v->inputs[0], y, d, dims);
}

// Element i is in the sums from i on: a sum that runs the other way.
void eg_vjp_cum_sum(const eg_vjp *v) {
  enum { AXIS, EXCLUSIVE, REVERSE };
  if (v->attrs->op == EG_OP_CUM_PROD) {
    eg_vjp_refuse(v, NULL);
    return;
  }
  eg_attr slots[] = {v->attrs->slots[AXIS], v->attrs->slots[EXCLUSIVE],
                     v->attrs->slots[REVERSE]};
  slots[REVERSE].i = slots[REVERSE].i == 0;
  v->out[0] = eg_build_node(v->b, EG_OP_CUM_SUM, slots, &v->cotangents[0], 1);
}

// The places of the k values, compared with all positions [k, n] of the axis.
void eg_vjp_top_k(const eg_vjp *v) {
  eg_builder *b = v->b;
  const eg_type *x = eg_vjp_type(v, 0), *y = eg_build_type(b, v->results[0]);
  int64_t axis = eg_attr_at(v->attrs, EG_A_TOP_K_AXIS)->i;
  if (axis < 0) axis += x->rank;
  if (x->rank == EGRAPH_MAX_RANK) {
    eg_vjp_refuse(v, "for tensors of the highest rank; reshape the operand first");
    return;
  }
  int64_t dims[EGRAPH_MAX_RANK], line[EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i <= x->rank; i++) {
    dims[i] = i <= axis ? y->dims[i] : i == axis + 1 ? 1 : y->dims[i - 1];
    line[i] = i == axis + 1 ? x->dims[axis] : 1;
  }
  eg_ref range = eg_build_range(b, x->dims[axis]);
  eg_ref positions = eg_build_reshape(b, range, x->rank + 1, line);
  eg_ref places = eg_build_reshape(b, v->results[1], x->rank + 1, dims);
  eg_ref d = eg_build_reshape(b, v->cotangents[0], x->rank + 1, dims);
  eg_ref spread = EG_FORMULA(b, "(where (equal p q) d 0)", "pqd", places, positions, d);
  v->out[0] = eg_build_reduce(b, EG_OP_REDUCE_SUM, spread, UINT32_C(1) << axis, false);
}
