// The gradient of attention. Queries, keys and values have theirs from `attention-grad`,
// without a table of scores; a trained mask has it from products and exponentials, whose
// size is the table's.
// SPDX-License-Identifier: Apache-2.0
#include "ops/attention.h"
#include "ops/vjp_internal.h"

// ---- tables -------------------------------------------------------------------------

// Types of the scores, and of one number for each query.
typedef struct tables {
  eg_attention size;
  eg_type scores, rows;
} tables;

static tables tables_of(const eg_vjp *v) {
  const eg_type types[] = {*eg_vjp_type(v, EG_ATTENTION_Q),
                           *eg_vjp_type(v, EG_ATTENTION_K),
                           *eg_vjp_type(v, EG_ATTENTION_V)};
  tables t = {.size = eg_attention_of(v->attrs, types)};
  t.scores = t.rows = eg_attention_scores(&t.size, types);
  t.rows.dims[t.rows.rank - 1] = 1;
  return t;
}

static eg_ref emit_swapped(eg_builder *b, eg_ref x, uint32_t one, uint32_t other) {
  int64_t perm[EGRAPH_MAX_RANK];
  for (uint32_t dim = 0; dim < EGRAPH_MAX_RANK; dim++)
    perm[dim] = dim;
  perm[one] = other;
  perm[other] = one;
  return eg_build_transpose(b, x, perm);
}

// Emits x with heads before rows; or, the same, from this order to the operator's.
static eg_ref emit_reordered(eg_builder *b, eg_ref x, const tables *t) {
  return t->size.is_rows_first ? emit_swapped(b, x, t->rows.rank - 3, t->rows.rank - 2)
                               : x;
}

// Emits a number for each query as a column of the scores.
static eg_ref emit_column(eg_builder *b, eg_ref numbers, const tables *t) {
  numbers = eg_build_cast(b, numbers, b->dtype);
  return eg_build_reshape(b, numbers, t->rows.rank, t->rows.dims);
}

// ---- queries, keys and values ---------------------------------------------------------

// Emits attention-grad for values `values` and output `out`, whose cotangent is d.
static void emit_grad(const eg_vjp *v, eg_ref d, eg_ref values, eg_ref out,
                      eg_ref found[3]) {
  bool has_mask = v->input_count > EG_ATTENTION_MASK;
  const eg_ref inputs[] = {d,
                           v->inputs[EG_ATTENTION_Q],
                           v->inputs[EG_ATTENTION_K],
                           values,
                           out,
                           v->results[1],
                           has_mask ? v->inputs[EG_ATTENTION_MASK] : EG_REF_NONE};
  eg_build_results(v->b, EG_OP_ATTENTION_GRAD, v->attrs->slots, inputs,
                   v->input_count + 3, found);
}

// Emits the cotangents of queries and keys from the cotangent of the sums. A score has
// the cotangent of its row's sum times the key's weight; attention-grad gives this for
// values of 1 and an output of 0.
static void emit_of_sums(const eg_vjp *v, eg_ref found[3]) {
  eg_builder *b = v->b;
  const tables t = tables_of(v);
  eg_type row = *eg_vjp_type(v, EG_ATTENTION_Q), ones = *eg_vjp_type(v, EG_ATTENTION_V);
  ones.dims[ones.rank - 1] = row.dims[row.rank - 1] = 1;
  eg_ref d = emit_reordered(b, emit_column(b, v->cotangents[1], &t), &t);
  eg_ref values = eg_build_fill(b, &ones, 1), zero = eg_build_fill(b, &row, 0);
  emit_grad(v, d, values, zero, found);
}

// ---- a trained mask -----------------------------------------------------------------

// Emits x y^T for each head: x [.., H, S, N], y [.., G, T, N].
static eg_ref emit_products(eg_builder *b, eg_ref x, eg_ref y, const eg_type *scores) {
  eg_type rows = *eg_build_type(b, x), keys = *eg_build_type(b, y);
  uint32_t head = rows.rank - 3, row = rows.rank - 2;
  rows.dims[row] *= keys.dims[head] == 0 ? 1 : rows.dims[head] / keys.dims[head];
  rows.dims[head] = keys.dims[head];
  eg_ref left = eg_build_reshape(b, x, rows.rank, rows.dims);
  eg_ref right = emit_swapped(b, y, row, row + 1);
  eg_ref product = EG_BUILD(b, EG_OP_MATMUL, left, right);
  return eg_build_reshape(b, product, scores->rank, scores->dims);
}

// Emits, of type bool [S, T], which keys the positions of a query let it see;
// EG_REF_NONE: all.
static eg_ref emit_seen(eg_builder *b, const eg_attention *a) {
  if (!a->is_causal && a->window == 0) return EG_REF_NONE;
  const eg_type scalar = {.dtype = EGRAPH_INT64};
  const int64_t column[] = {a->rows, 1};
  eg_ref rows = eg_build_range(b, a->rows), keys = eg_build_range(b, a->keys);
  eg_ref first = eg_build_fill(b, &scalar, (double)a->offset);
  rows = eg_build_reshape(b, rows, 2, column);
  eg_ref away = EG_FORMULA(b, "(sub (add r f) k)", "rfk", rows, first, keys);
  eg_ref zero = eg_build_fill(b, &scalar, 0);
  eg_ref window = eg_build_fill(b, &scalar, (double)a->window);
  eg_ref before = EG_BUILD(b, EG_OP_GREATER_OR_EQUAL, away, zero);
  if (a->window == 0) return before;
  eg_ref near = EG_FORMULA(b, "(less (abs a) w)", "aw", away, window);
  return a->is_causal ? EG_BUILD(b, EG_OP_AND, before, near) : near;
}

// Emits the weights of the keys: exp(score - sum), where a sum is a logarithm.
static eg_ref emit_weights(const eg_vjp *v, const tables *t) {
  eg_builder *b = v->b;
  eg_ref q = emit_reordered(b, v->inputs[EG_ATTENTION_Q], t);
  eg_ref k = emit_reordered(b, v->inputs[EG_ATTENTION_K], t);
  eg_ref s = emit_products(b, q, k, &t->scores);
  eg_ref scale = eg_build_number(b, t->size.scale);
  s = EG_BUILD(b, EG_OP_MUL, s, scale);
  eg_ref cap = eg_build_number(b, t->size.softcap);
  if (t->size.softcap != 0) s = EG_FORMULA(b, "(mul c (tanh (div s c)))", "sc", s, cap);
  eg_ref sums = emit_column(b, v->results[1], t);
  eg_ref weights = EG_FORMULA(b, "(exp (sub (add s m) l))", "sml", s,
                              v->inputs[EG_ATTENTION_MASK], sums);
  return t->size.is_safe ? EG_FORMULA(b, "(where (is-nan w) 0 w)", "w", weights)
                         : weights;
}

// Emits what the weights are multiplied by to be the cotangents of the scores: d value -
// d out, plus the cotangent of the sum.
static eg_ref emit_slopes(const eg_vjp *v, const tables *t) {
  eg_builder *b = v->b;
  eg_ref d = v->cotangents[0], of_sums = EG_REF_NONE;
  if (eg_ref_exists(v->cotangents[1])) of_sums = emit_column(b, v->cotangents[1], t);
  if (!eg_ref_exists(d)) return of_sums;
  d = emit_reordered(b, d, t);
  eg_ref out = emit_reordered(b, v->results[0], t);
  eg_ref values = emit_reordered(b, v->inputs[EG_ATTENTION_V], t);
  eg_ref along = EG_BUILD(b, EG_OP_MUL, d, out);
  along = eg_build_reduce(b, EG_OP_REDUCE_SUM, along, UINT32_C(1) << (t->rows.rank - 1),
                          true);
  eg_ref slopes = emit_products(b, d, values, &t->scores);
  slopes = EG_BUILD(b, EG_OP_SUB, slopes, along);
  return eg_ref_exists(of_sums) ? EG_BUILD(b, EG_OP_ADD, slopes, of_sums) : slopes;
}

// Emits the cotangent of a mask that is added: the scores' cotangents, summed over what
// the mask repeats.
static eg_ref emit_of_mask(const eg_vjp *v) {
  eg_builder *b = v->b;
  const tables t = tables_of(v);
  eg_ref weights = emit_weights(v, &t), slopes = emit_slopes(v, &t);
  eg_ref all = EG_BUILD(b, EG_OP_MUL, weights, slopes), seen = emit_seen(b, &t.size);
  if (eg_ref_exists(seen)) {
    eg_ref zero = eg_build_number(b, 0);
    all = EG_BUILD(b, EG_OP_WHERE, seen, all, zero);
  }
  return eg_build_sum_to(b, all, eg_vjp_type(v, EG_ATTENTION_MASK));
}

void eg_vjp_attention(const eg_vjp *v) {
  eg_ref of_out[3] = {EG_REF_NONE, EG_REF_NONE, EG_REF_NONE};
  eg_ref of_sums[3] = {EG_REF_NONE, EG_REF_NONE, EG_REF_NONE};
  if (eg_ref_exists(v->cotangents[0]))
    emit_grad(v, v->cotangents[0], v->inputs[EG_ATTENTION_V], v->results[0], of_out);
  if (eg_ref_exists(v->cotangents[1])) emit_of_sums(v, of_sums);
  for (uint32_t i = 0; i <= EG_ATTENTION_K; i++) {
    bool both = eg_ref_exists(of_out[i]) && eg_ref_exists(of_sums[i]);
    v->out[i] = both ? EG_BUILD(v->b, EG_OP_ADD, of_out[i], of_sums[i])
                : eg_ref_exists(of_out[i]) ? of_out[i]
                                           : of_sums[i];
  }
  v->out[EG_ATTENTION_V] = of_out[EG_ATTENTION_V];
  if (eg_vjp_wants(v, EG_ATTENTION_MASK) &&
      eg_dtype_is_float(eg_vjp_type(v, EG_ATTENTION_MASK)->dtype))
    v->out[EG_ATTENTION_MASK] = emit_of_mask(v);
}
