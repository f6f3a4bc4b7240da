// The gradient of rope. The cotangent of x is rotated back: a pair with cotangents (d,
// e), cosines (c, f) and sines (s, t), which are equal unless tables have a column for
// each element, has the cotangent (d c + e t, e f - d s). The cosines have (a d, b e) or
// their sum, and the sines (- b d, a e) or their sum.
// SPDX-License-Identifier: Apache-2.0
#include "ops/rope.h"
#include "ops/vjp_internal.h"

// Emits the first or the second elements of all pairs of a tensor.
static eg_ref emit_half(const eg_vjp *v, eg_ref of, bool is_second, int64_t pairs) {
  int64_t starts[EGRAPH_MAX_RANK] = {0}, ends[EGRAPH_MAX_RANK], steps[EGRAPH_MAX_RANK];
  const eg_type type = *eg_build_type(v->b, of);
  bool is_interleaved = eg_rope_has(v->attrs, EG_A_ROPE_INTERLEAVED);
  uint32_t last = type.rank - 1;
  for (uint32_t dim = 0; dim < last; dim++) {
    ends[dim] = type.dims[dim];
    steps[dim] = 1;
  }
  steps[last] = is_interleaved ? 2 : 1;
  starts[last] = !is_second ? 0 : is_interleaved ? 1 : pairs;
  ends[last] = is_interleaved || is_second ? 2 * pairs : pairs;
  return eg_build_slice(v->b, of, starts, ends, steps);
}

// Emits a tensor of all pairs from their first and their second elements.
static eg_ref emit_pairs(const eg_vjp *v, eg_ref first, eg_ref second) {
  eg_builder *b = v->b;
  const eg_type type = *eg_build_type(b, first);
  if (b->status != EGRAPH_OK) return EG_REF_NONE;
  bool is_interleaved = eg_rope_has(v->attrs, EG_A_ROPE_INTERLEAVED);
  eg_type apart = type, joined = type;
  apart.dims[apart.rank++] = 1;
  joined.dims[joined.rank - 1] *= 2;
  if (is_interleaved) {
    first = eg_build_reshape(b, first, apart.rank, apart.dims);
    second = eg_build_reshape(b, second, apart.rank, apart.dims);
  }
  const eg_attr axis[] = {{.i = is_interleaved ? type.rank : type.rank - 1}};
  const eg_ref halves[] = {first, second};
  eg_ref pairs = eg_build_node(b, EG_OP_CONCAT, axis, halves, 2);
  return eg_build_reshape(b, pairs, joined.rank, joined.dims);
}

static eg_ref emit_of_x(const eg_vjp *v, int64_t pairs) {
  eg_ref sines = v->inputs[EG_ROPE_SIN];
  if (eg_rope_has(v->attrs, EG_A_ROPE_PER_ELEMENT))
    sines = emit_pairs(v, emit_half(v, sines, true, pairs),
                       emit_half(v, sines, false, pairs));
  eg_ref back = EG_BUILD(v->b, EG_OP_NEG, sines);
  const eg_ref operands[] = {v->cotangents[0], v->inputs[EG_ROPE_COS], back};
  return eg_build_node(v->b, EG_OP_ROPE, v->attrs->slots, operands, 3);
}

// Emits the cotangent of a table from those of the columns of each pair and head.
static eg_ref emit_of_table(const eg_vjp *v, uint32_t table, eg_ref first,
                            eg_ref second) {
  eg_builder *b = v->b;
  uint32_t head = eg_rope_dim(v->attrs, eg_vjp_type(v, EG_ROPE_X), false);
  eg_ref all = eg_rope_has(v->attrs, EG_A_ROPE_PER_ELEMENT)
                   ? emit_pairs(v, first, second)
                   : EG_BUILD(b, EG_OP_ADD, first, second);
  eg_ref sum = eg_build_reduce(b, EG_OP_REDUCE_SUM, all, UINT32_C(1) << head, false);
  return eg_build_sum_to(b, sum, eg_vjp_type(v, table));
}

void eg_vjp_rope(const eg_vjp *v) {
  eg_builder *b = v->b;
  eg_ref d = v->cotangents[0], x = v->inputs[EG_ROPE_X];
  int64_t pairs = eg_rope_pairs(v->attrs, eg_vjp_type(v, EG_ROPE_COS));
  if (eg_vjp_wants(v, EG_ROPE_X)) v->out[EG_ROPE_X] = emit_of_x(v, pairs);
  if (!eg_vjp_wants(v, EG_ROPE_COS) && !eg_vjp_wants(v, EG_ROPE_SIN)) return;
  eg_ref x1 = emit_half(v, x, false, pairs), x2 = emit_half(v, x, true, pairs);
  eg_ref d1 = emit_half(v, d, false, pairs), d2 = emit_half(v, d, true, pairs);
  if (eg_vjp_wants(v, EG_ROPE_COS))
    v->out[EG_ROPE_COS] = emit_of_table(v, EG_ROPE_COS, EG_BUILD(b, EG_OP_MUL, x1, d1),
                                        EG_BUILD(b, EG_OP_MUL, x2, d2));
  if (eg_vjp_wants(v, EG_ROPE_SIN))
    v->out[EG_ROPE_SIN] =
        emit_of_table(v, EG_ROPE_SIN, EG_FORMULA(b, "(neg (mul x d))", "xd", x2, d1),
                      EG_BUILD(b, EG_OP_MUL, x1, d2));
}
