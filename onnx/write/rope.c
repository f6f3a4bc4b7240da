// Writes rope: from set 23 on as RotaryEmbedding, otherwise as a function of slices,
// products and sums, with sizes that the model's tensors have at run time.
// SPDX-License-Identifier: Apache-2.0
#include "ops/rope.h"

#include "onnx/write/writer.h"

enum { ROTARY_OPSET = 23, SPLIT_OPERANDS = 13, AXES_OPERANDS = 13, BATCH_RANK = 4 };

static int64_t pairs_of(const eg_onnx_item *item) {
  return eg_rope_pairs(item->attrs, &item->inputs[EG_ROPE_COS]);
}

static bool has_rows_first(const eg_onnx_item *item) {
  return eg_item_int(item, EG_A_ROPE_ROWS_FIRST) != 0;
}

static egraph_status call(eg_onnx_body *body, const char *op, const char *x,
                          const char *y, const char **out) {
  return eg_onnx_put(body, op, (const char *const[]){x, y}, 2, NULL, out, NULL);
}

// Gives a tensor a shape; 0 is the size that it has.
static egraph_status reshape(eg_onnx_body *body, const char *x, const int64_t *dims,
                             uint32_t rank, const char *result, const char **out) {
  const char *shape;
  EG_TRY(eg_onnx_constant_ints(body, dims, rank, &shape));
  return eg_onnx_put(body, "Reshape", (const char *const[]){x, shape}, 2, result, out,
                     NULL);
}

// ---- the standard operator ----------------------------------------------------------

bool eg_onnx_is_rotary(const eg_onnx_item *item, int64_t opset) {
  const eg_type *x = &item->inputs[EG_ROPE_X];
  int64_t heads = x->rank == BATCH_RANK ? x->dims[x->rank - 2] : 0;
  return opset >= ROTARY_OPSET && x->rank == BATCH_RANK && x->dtype != EGRAPH_FLOAT64 &&
         eg_item_int(item, EG_A_ROPE_PER_ELEMENT) == 0 && pairs_of(item) > 0 &&
         x->dims[x->rank - 1] % 2 == 0 &&
         (!has_rows_first(item) || (!eg_size_is_open(heads) && heads > 0));
}

// Gives a table the batch of x, which RotaryEmbedding does not broadcast.
static egraph_status put_table(eg_onnx_body *body, const eg_onnx_item *item,
                               uint32_t operand, const char **out) {
  const eg_type *table = &item->inputs[operand];
  const int64_t batch = item->inputs[EG_ROPE_X].dims[0], dims[] = {batch, 1, 1};
  const char *shape;
  *out = item->input_names[operand];
  if (table->rank == 3 && table->dims[0] == batch) return EGRAPH_OK;
  EG_TRY(eg_onnx_constant_ints(body, dims, 3, &shape));
  return call(body, "Expand", *out, shape, out);
}

egraph_status eg_onnx_write_rope(eg_onnx_body *body, const eg_onnx_item *item) {
  const eg_type *x = &item->inputs[EG_ROPE_X];
  int64_t heads = x->dims[has_rows_first(item) ? 2 : 1], depth = x->dims[3];
  const int64_t joined[] = {0, 0, heads * depth}, apart[] = {0, 0, heads, depth};
  const char *operands[] = {item->input_names[EG_ROPE_X], NULL, NULL}, *rotated;
  Onnx__NodeProto *node;
  for (uint32_t i = EG_ROPE_COS; i <= EG_ROPE_SIN; i++)
    EG_TRY(put_table(body, item, i, &operands[i]));
  if (has_rows_first(item)) {
    EG_TRY(reshape(body, operands[0], joined, 3, NULL, &operands[0]));
    EG_TRY(eg_onnx_put(body, "RotaryEmbedding", operands, 3, NULL, &rotated, &node));
    EG_TRY(reshape(body, rotated, apart, 4, item->result_names[0], NULL));
  } else {
    EG_TRY(eg_onnx_put_item(body, "RotaryEmbedding", operands, 3, item, &node));
  }
  if (!eg_size_is_open(heads)) EG_TRY(eg_onnx_put_int(body, node, "num_heads", heads));
  if (2 * pairs_of(item) != depth)
    EG_TRY(eg_onnx_put_int(body, node, "rotary_embedding_dim", 2 * pairs_of(item)));
  return eg_onnx_put_int(body, node, "interleaved",
                         eg_item_int(item, EG_A_ROPE_INTERLEAVED));
}

// ---- the function -------------------------------------------------------------------

// The body that is written. Rows of pairs have the last dimension `last`.
typedef struct rope {
  eg_onnx_body *body;
  const eg_onnx_item *item;
  int64_t last, pairs, rest; // rest: elements of a row that are copied
  bool is_interleaved, is_per_element;
} rope;

static egraph_status split(const rope *r, const char *x, int64_t axis,
                           const int64_t *sizes, uint32_t count, const char **out) {
  Onnx__NodeProto *node;
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(eg_onnx_made_up(r->body, &out[i]));
  EG_TRY(eg_onnx_put_node(r->body, "Split", &x, 1, out, count, &node));
  EG_TRY(eg_onnx_put_int(r->body, node, "axis", axis));
  return eg_onnx_put_list(r->body, node, "split", SPLIT_OPERANDS,
                          (eg_ints){sizes, count});
}

static egraph_status concat(const rope *r, const char *const *parts, uint32_t count,
                            const char *result, const char **out) {
  Onnx__NodeProto *node;
  EG_TRY(eg_onnx_put(r->body, "Concat", parts, count, result, out, &node));
  return eg_onnx_put_int(r->body, node, "axis", r->last);
}

// Gives a table the dimension of the heads, and that of a pair's elements if it is a
// dimension of x. *inout_rank: the rank of the table.
static egraph_status widen(const rope *r, const char **inout, uint32_t *inout_rank) {
  int64_t axes[2], head = (int64_t)*inout_rank - (has_rows_first(r->item) ? 1 : 2);
  int64_t apart[EGRAPH_MAX_RANK + 1] = {0};
  uint32_t count = 0;
  Onnx__NodeProto *node;
  const char *x = *inout;
  if (head > 0) axes[count++] = head;
  *inout_rank += count;
  if (r->is_interleaved && !r->is_per_element) axes[count++] = (*inout_rank)++;
  if (count != 0) {
    EG_TRY(eg_onnx_put(r->body, "Unsqueeze", &x, 1, NULL, inout, &node));
    EG_TRY(
        eg_onnx_put_list(r->body, node, "axes", AXES_OPERANDS, (eg_ints){axes, count}));
  }
  if (!r->is_interleaved || !r->is_per_element) return EGRAPH_OK;
  apart[*inout_rank - 1] = r->pairs;
  apart[*inout_rank] = 2;
  return reshape(r->body, *inout, apart, ++*inout_rank, NULL, inout);
}

// Writes the columns of a table for both elements of all pairs.
static egraph_status put_columns(const rope *r, uint32_t operand, const char *out[2]) {
  const char *table = r->item->input_names[operand];
  uint32_t rank = r->item->inputs[operand].rank;
  int64_t size = r->is_interleaved ? 1 : r->pairs;
  EG_TRY(widen(r, &table, &rank));
  out[0] = out[1] = table;
  if (!r->is_per_element) return EGRAPH_OK;
  return split(r, table, (int64_t)rank - 1, (const int64_t[]){size, size}, 2, out);
}

// Writes the rotated pairs: x[0] cos[0] - x[1] sin[0] and x[1] cos[1] + x[0] sin[1].
static egraph_status rotate(const rope *r, const char *x[2]) {
  const char *cosines[2], *sines[2], *products[4];
  EG_TRY(put_columns(r, EG_ROPE_COS, cosines));
  EG_TRY(put_columns(r, EG_ROPE_SIN, sines));
  EG_TRY(call(r->body, "Mul", x[0], cosines[0], &products[0]));
  EG_TRY(call(r->body, "Mul", x[1], sines[0], &products[1]));
  EG_TRY(call(r->body, "Mul", x[1], cosines[1], &products[2]));
  EG_TRY(call(r->body, "Mul", x[0], sines[1], &products[3]));
  EG_TRY(call(r->body, "Sub", products[0], products[1], &x[0]));
  return call(r->body, "Add", products[2], products[3], &x[1]);
}

static egraph_status mean_halves(const rope *r) {
  const int64_t sizes[] = {r->pairs, r->pairs, r->rest};
  const char *parts[3], *result = r->item->result_names[0];
  uint32_t count = r->rest != 0 ? 3 : 2;
  EG_TRY(split(r, r->item->input_names[EG_ROPE_X], r->last, sizes, count, parts));
  EG_TRY(rotate(r, parts));
  return concat(r, parts, count, result, NULL);
}

// Pairs of neighbours become a dimension of their own.
static egraph_status mean_interleaved(const rope *r) {
  const int64_t sizes[] = {2 * r->pairs, r->rest}, pair[] = {1, 1};
  int64_t apart[EGRAPH_MAX_RANK + 1] = {0}, joined[EGRAPH_MAX_RANK] = {0};
  const char *parts[2] = {r->item->input_names[EG_ROPE_X]}, *elements[2], *pairs;
  const char *result = r->item->result_names[0];
  rope wide = *r;
  wide.last = r->last + 1;
  apart[r->last] = r->pairs;
  apart[wide.last] = 2;
  joined[r->last] = 2 * r->pairs;
  if (r->rest != 0) EG_TRY(split(r, parts[0], r->last, sizes, 2, parts));
  EG_TRY(reshape(r->body, parts[0], apart, (uint32_t)wide.last + 1, NULL, &pairs));
  EG_TRY(split(r, pairs, wide.last, pair, 2, elements));
  EG_TRY(rotate(&wide, elements));
  EG_TRY(concat(&wide, elements, 2, NULL, &pairs));
  EG_TRY(reshape(r->body, pairs, joined, (uint32_t)wide.last,
                 r->rest != 0 ? NULL : result, &parts[0]));
  return r->rest != 0 ? concat(r, parts, 2, result, NULL) : EGRAPH_OK;
}

egraph_status eg_onnx_mean_rope(eg_onnx_body *body, const eg_onnx_item *item) {
  const eg_type *x = &item->inputs[EG_ROPE_X];
  const rope r = {.body = body,
                  .item = item,
                  .last = (int64_t)x->rank - 1,
                  .pairs = pairs_of(item),
                  .rest = x->dims[x->rank - 1] - 2 * pairs_of(item),
                  .is_interleaved = eg_item_int(item, EG_A_ROPE_INTERLEAVED) != 0,
                  .is_per_element = eg_item_int(item, EG_A_ROPE_PER_ELEMENT) != 0};
  return r.is_interleaved ? mean_interleaved(&r) : mean_halves(&r);
}
