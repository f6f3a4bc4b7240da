// Writes attention: from set 23 on as Attention, otherwise as a function of products,
// softmax and a mask, with sizes that the model's tensors have at run time.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "onnx/write/writer.h"
#include "ops/attention.h"

// The operands of the function, and the dtype of its scores.
typedef struct attention {
  eg_onnx_body *body;
  const eg_onnx_item *item;
  eg_attention size;
  egraph_dtype dtype;
  uint32_t rank;
  const char *q, *k, *v; // heads before rows
} attention;

static egraph_status call(const attention *a, const char *op, const char *x,
                          const char *y, const char **inout) {
  return eg_onnx_put(a->body, op, (const char *const[]){x, y}, y == NULL ? 1 : 2, NULL,
                     inout, NULL);
}

static egraph_status call_number(const attention *a, const char *op, double number,
                                 const char **inout) {
  const char *scalar;
  EG_TRY(eg_onnx_constant_scalar(a->body, a->dtype, number, &scalar));
  return call(a, op, *inout, scalar, inout);
}

// Gives x [.., h, r, c] the shape [.., heads, h r / heads, c].
static egraph_status regroup(const attention *a, const char *x, int64_t heads,
                             const char *result, const char **out) {
  int64_t dims[EGRAPH_MAX_RANK] = {0}; // 0: the dimension of the operand
  const char *shape;
  dims[a->rank - 3] = heads;
  dims[a->rank - 2] = -1;
  EG_TRY(eg_onnx_constant_ints(a->body, dims, a->rank, &shape));
  return eg_onnx_put(a->body, "Reshape", (const char *const[]){x, shape}, 2, result, out,
                     NULL);
}

// Joins the rows of the heads that share keys, or takes them apart.
static egraph_status join_heads(const attention *a, const char **inout) {
  if (a->size.heads == a->size.groups) return EGRAPH_OK;
  return regroup(a, *inout, a->size.groups, NULL, inout);
}
static egraph_status part_heads(const attention *a, const char *result,
                                const char **inout) {
  if (a->size.heads == a->size.groups) return EGRAPH_OK;
  return regroup(a, *inout, a->size.heads, result, inout);
}

// With rows_first, puts x with heads and rows exchanged.
static egraph_status reorder(const attention *a, const char *result, const char **inout) {
  int64_t perm[EGRAPH_MAX_RANK];
  const char *x = *inout;
  Onnx__NodeProto *node;
  if (!a->size.is_rows_first) return EGRAPH_OK;
  for (uint32_t i = 0; i < a->rank; i++)
    perm[i] = i;
  perm[a->rank - 3] = a->rank - 2;
  perm[a->rank - 2] = a->rank - 3;
  EG_TRY(eg_onnx_put(a->body, "Transpose", &x, 1, result, inout, &node));
  return eg_onnx_put_ints(a->body, node, "perm", perm, a->rank);
}

static egraph_status put_products(const attention *a, const char **out) {
  int64_t perm[EGRAPH_MAX_RANK];
  const char *q = a->q, *turned;
  Onnx__NodeProto *node;
  for (uint32_t i = 0; i < a->rank; i++)
    perm[i] = i;
  perm[a->rank - 2] = a->rank - 1;
  perm[a->rank - 1] = a->rank - 2;
  EG_TRY(eg_onnx_put(a->body, "Transpose", &a->k, 1, NULL, &turned, &node));
  EG_TRY(eg_onnx_put_ints(a->body, node, "perm", perm, a->rank));
  if (a->size.scale != 1) EG_TRY(call_number(a, "Mul", a->size.scale, &q));
  EG_TRY(join_heads(a, &q));
  EG_TRY(call(a, "MatMul", q, turned, out));
  EG_TRY(part_heads(a, NULL, out));
  if (a->size.softcap == 0) return EGRAPH_OK;
  EG_TRY(call_number(a, "Div", a->size.softcap, out));
  EG_TRY(call(a, "Tanh", *out, NULL, out));
  return call_number(a, "Mul", a->size.softcap, out);
}

// ---- hidden keys --------------------------------------------------------------------

// Puts first, first + 1, ..., one number for each element of a dimension of x.
static egraph_status count_along(const attention *a, const char *x, uint32_t dim,
                                 int64_t first, const char **out) {
  const char *size, *index, *begin, *step;
  EG_TRY(eg_onnx_put(a->body, "Shape", &x, 1, NULL, &size, NULL));
  EG_TRY(eg_onnx_constant_scalar(a->body, EGRAPH_INT64, dim, &index));
  EG_TRY(eg_onnx_put(a->body, "Gather", (const char *const[]){size, index}, 2, NULL,
                     &size, NULL));
  EG_TRY(eg_onnx_constant_scalar(a->body, EGRAPH_INT64, (double)first, &begin));
  EG_TRY(eg_onnx_constant_scalar(a->body, EGRAPH_INT64, 1, &step));
  if (first != 0) EG_TRY(call(a, "Add", size, begin, &size));
  return eg_onnx_put(a->body, "Range", (const char *const[]){begin, size, step}, 3, NULL,
                     out, NULL);
}

// Puts which keys [S, T] a query sees by its position.
static egraph_status put_seen(const attention *a, const char **out) {
  const int64_t column[] = {-1, 1};
  const char *row, *key, *shape, *away, *limit, *near;
  EG_TRY(count_along(a, a->q, a->rank - 2, a->size.offset, &row));
  EG_TRY(count_along(a, a->k, a->rank - 2, 0, &key));
  EG_TRY(eg_onnx_constant_ints(a->body, column, 2, &shape));
  EG_TRY(call(a, "Reshape", row, shape, &row));
  EG_TRY(call(a, "Sub", row, key, &away));
  if (a->size.is_causal) {
    EG_TRY(eg_onnx_constant_scalar(a->body, EGRAPH_INT64, -1, &limit));
    EG_TRY(call(a, "Greater", away, limit, out));
  }
  if (a->size.window == 0) return EGRAPH_OK;
  EG_TRY(eg_onnx_constant_scalar(a->body, EGRAPH_INT64, (double)a->size.window, &limit));
  EG_TRY(call(a, "Abs", away, NULL, &away));
  EG_TRY(call(a, "Less", away, limit, &near));
  if (a->size.is_causal) return call(a, "And", *out, near, out);
  *out = near;
  return EGRAPH_OK;
}

static egraph_status hide(const attention *a, const char *seen, const char **inout) {
  const char *never;
  EG_TRY(eg_onnx_constant_scalar(a->body, a->dtype, -(double)INFINITY, &never));
  return eg_onnx_put(a->body, "Where", (const char *const[]){seen, *inout, never}, 3,
                     NULL, inout, NULL);
}

static egraph_status mask(const attention *a, const char **inout) {
  const eg_onnx_item *item = a->item;
  const char *seen;
  if (item->input_count > EG_ATTENTION_MASK) {
    const char *given = item->input_names[EG_ATTENTION_MASK];
    EG_TRY(item->inputs[EG_ATTENTION_MASK].dtype == EGRAPH_BOOL
               ? hide(a, given, inout)
               : call(a, "Add", *inout, given, inout));
  }
  if (!a->size.is_causal && a->size.window == 0) return EGRAPH_OK;
  EG_TRY(put_seen(a, &seen));
  return hide(a, seen, inout);
}

// Replaces NaN, where `safe` asks for it.
static egraph_status guard(const attention *a, egraph_dtype dtype, double instead,
                           const char *x, const char *result, const char **out) {
  const char *other, *is_nan;
  EG_TRY(eg_onnx_constant_scalar(a->body, dtype, instead, &other));
  EG_TRY(call(a, "IsNaN", x, NULL, &is_nan));
  return eg_onnx_put(a->body, "Where", (const char *const[]){is_nan, other, x}, 3, result,
                     out, NULL);
}

// ---- the results --------------------------------------------------------------------

static egraph_status put_output(const attention *a, const char *scores) {
  const char *weights, *out;
  const char *result = a->item->result_names[0];
  const char *apart = a->size.is_rows_first ? NULL : result;
  Onnx__NodeProto *node;
  EG_TRY(eg_onnx_put(a->body, "Softmax", &scores, 1, NULL, &weights, &node));
  EG_TRY(eg_onnx_put_int(a->body, node, "axis", a->rank - 1));
  if (a->size.is_safe) EG_TRY(guard(a, a->dtype, 0, weights, NULL, &weights));
  EG_TRY(join_heads(a, &weights));
  bool is_grouped = a->size.heads != a->size.groups;
  EG_TRY(eg_onnx_put(a->body, "MatMul", (const char *const[]){weights, a->v}, 2,
                     is_grouped ? NULL : apart, &out, NULL));
  EG_TRY(part_heads(a, apart, &out));
  return reorder(a, result, &out);
}

static egraph_status put_sums(const attention *a, const char *scores) {
  const char *result = a->item->result_names[1];
  egraph_dtype dtype = a->item->results[1].dtype;
  int64_t axis = a->rank - 1;
  Onnx__NodeProto *node;
  if (dtype != a->dtype) {
    const char *given = scores;
    EG_TRY(eg_onnx_put(a->body, "Cast", &given, 1, NULL, &scores, &node));
    EG_TRY(eg_onnx_put_int(a->body, node, "to", eg_dtype_onnx(dtype)));
  }
  bool is_safe = a->size.is_safe;
  const char *sums;
  EG_TRY(eg_onnx_put(a->body, "ReduceLogSumExp", &scores, 1, is_safe ? NULL : result,
                     &sums, &node));
  EG_TRY(eg_onnx_put_list(a->body, node, "axes", 18, (eg_ints){&axis, 1}));
  EG_TRY(eg_onnx_put_int(a->body, node, "keepdims", 0));
  return is_safe ? guard(a, dtype, -(double)INFINITY, sums, result, NULL) : EGRAPH_OK;
}

egraph_status eg_onnx_mean_attention(eg_onnx_body *body, const eg_onnx_item *item) {
  attention a = {.body = body,
                 .item = item,
                 .size = eg_attention_of(item->attrs, item->inputs),
                 .dtype = item->inputs[0].dtype,
                 .rank = item->inputs[0].rank,
                 .q = item->input_names[EG_ATTENTION_Q],
                 .k = item->input_names[EG_ATTENTION_K],
                 .v = item->input_names[EG_ATTENTION_V]};
  const char *scores;
  EG_TRY(reorder(&a, NULL, &a.q));
  EG_TRY(reorder(&a, NULL, &a.k));
  EG_TRY(reorder(&a, NULL, &a.v));
  EG_TRY(put_products(&a, &scores));
  EG_TRY(mask(&a, &scores));
  EG_TRY(put_output(&a, scores));
  return put_sums(&a, scores);
}

// ---- the standard operator ------------------------------------------------------------

enum { ATTENTION_OPSET = 23, BATCH_RANK = 4 };

// Attention counts queries from the first key, and gives zeros, where the operator gives
// NaN, to queries that see no key, as a mask may make them.
bool eg_onnx_is_attention(const eg_onnx_item *item, int64_t opset) {
  const eg_attention a = eg_attention_of(item->attrs, item->inputs);
  return opset >= ATTENTION_OPSET && item->has_one_result &&
         item->inputs[EG_ATTENTION_Q].rank == BATCH_RANK &&
         item->input_count <= EG_ATTENTION_MASK && a.window == 0 && !a.is_safe &&
         (!a.is_causal || a.offset == 0) && a.keys != 0 && a.scale > 0 &&
         !eg_size_is_open(a.heads) && !eg_size_is_open(a.groups) && a.columns != 0;
}

// Gives x [batch, rows, heads, size] its shape with joined heads, or the other way round;
// 0 is the size that it has.
static egraph_status shape_heads(eg_onnx_body *body, const char *x, int64_t heads,
                                 int64_t size, const char *result, const char **out) {
  const int64_t dims[] = {0, 0, heads != 0 ? heads : size, size};
  const char *shape;
  EG_TRY(eg_onnx_constant_ints(body, dims, heads != 0 ? 4 : 3, &shape));
  return eg_onnx_put(body, "Reshape", (const char *const[]){x, shape}, 2, result, out,
                     NULL);
}

static egraph_status put_rows_first(eg_onnx_body *body, const eg_onnx_item *item,
                                    const eg_attention *a, Onnx__NodeProto **out) {
  const int64_t heads[] = {a->heads, a->groups, a->groups};
  const int64_t sizes[] = {a->depth, a->depth, a->columns};
  const char *joined[3], *y;
  for (uint32_t i = 0; i < 3; i++)
    EG_TRY(shape_heads(body, item->input_names[i], 0, heads[i] * sizes[i], NULL,
                       &joined[i]));
  EG_TRY(eg_onnx_put(body, "Attention", joined, 3, NULL, &y, out));
  EG_TRY(eg_onnx_put_int(body, *out, "q_num_heads", a->heads));
  EG_TRY(eg_onnx_put_int(body, *out, "kv_num_heads", a->groups));
  return shape_heads(body, y, a->heads, a->columns, item->result_names[0], NULL);
}

egraph_status eg_onnx_write_attention(eg_onnx_body *body, const eg_onnx_item *item) {
  const eg_attention a = eg_attention_of(item->attrs, item->inputs);
  Onnx__NodeProto *node;
  if (a.is_rows_first)
    EG_TRY(put_rows_first(body, item, &a, &node));
  else
    EG_TRY(eg_onnx_put(body, "Attention", item->input_names, 3, item->result_names[0],
                       NULL, &node));
  EG_TRY(eg_onnx_put_float(body, node, "scale", a.scale));
  if (a.softcap != 0) EG_TRY(eg_onnx_put_float(body, node, "softcap", a.softcap));
  return eg_onnx_put_int(body, node, "is_causal", a.is_causal);
}
