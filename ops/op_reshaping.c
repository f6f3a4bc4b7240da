// Operators that regroup dimensions without moving data.
//
// Factors (loop indices) come from walking both shapes from the major end: while one of
// the two current sizes divides the other, the smaller is a factor of both dimensions.
// [4,6] -> [8,3] gives
//
//   4 in (in 0, out 0)   2 in (in 1, out 0)   3 in (in 1, out 1)
//
// Sizes that do not divide each other ([2,3] -> [3,2]) are blocked, up to the next point
// where the products of both shapes agree.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <inttypes.h>

#include "ops/typing.h"

static egraph_status infer_reshape(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  eg_ints shape = eg_attr_at(node->attrs, EG_A_RESHAPE_SHAPE)->ints;
  eg_type type;
  EG_TRY(eg_typing_shape(node, x->dtype, shape, &type));
  egraph_status status = eg_type_check(&type);
  if (status != EGRAPH_OK) return eg_fail_context(status, "%s: shape", node->info->name);
  if (!eg_size_agree(eg_type_elements(&type), eg_type_elements(x)))
    return eg_typing_fail(node,
                          "%s has %" PRId64 " elements, the shape of %s has %" PRId64,
                          eg_type_text_of(x).text, eg_type_elements(x),
                          eg_type_text_of(&type).text, eg_type_elements(&type));
  *out = type;
  return EGRAPH_OK;
}

static egraph_status infer_squeeze(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  eg_ints axes = eg_attr_at(node->attrs, EG_A_SQUEEZE_AXES)->ints;
  EG_TRY(eg_typing_axes(node, axes, x->rank));
  eg_type type = {.dtype = x->dtype};
  for (uint32_t dim = 0, next = 0; dim < x->rank; dim++) {
    if (next == axes.len || axes.data[next] != dim) {
      type.dims[type.rank++] = x->dims[dim];
      continue;
    }
    next++;
    if (x->dims[dim] != 1)
      return eg_typing_fail(node, "axis %u of %s is not of size 1", dim,
                            eg_type_text_of(x).text);
  }
  *out = type;
  return EGRAPH_OK;
}

static egraph_status infer_unsqueeze(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  eg_ints axes = eg_attr_at(node->attrs, EG_A_UNSQUEEZE_AXES)->ints;
  if (axes.len > EGRAPH_MAX_RANK - x->rank)
    return eg_typing_fail(node, "%u new axes on %s exceed the %d dimensions supported",
                          axes.len, eg_type_text_of(x).text, EGRAPH_MAX_RANK);
  eg_type type = {.dtype = x->dtype, .rank = x->rank + axes.len};
  EG_TRY(eg_typing_axes(node, axes, type.rank));
  for (uint32_t dim = 0, next = 0; dim < type.rank; dim++) {
    bool fresh = next < axes.len && axes.data[next] == dim;
    type.dims[dim] = fresh ? 1 : x->dims[dim - next];
    if (fresh) next++;
  }
  *out = type;
  return EGRAPH_OK;
}

static egraph_status infer_flatten(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  int64_t axis = eg_attr_at(node->attrs, EG_A_FLATTEN_AXIS)->i, rank = x->rank;
  if (axis < -rank || axis > rank)
    return eg_typing_fail(node,
                          "axis %" PRId64 " is outside [%" PRId64 ", %" PRId64
                          "] of a rank-%u tensor",
                          axis, -rank, rank, x->rank);
  if (axis < 0) axis += rank;
  int64_t dims[2] = {1, 1}; // products of the dimensions behind the axis, and before it
  for (uint32_t dim = 0; dim < x->rank; dim++)
    if (!eg_size_mul(dims[dim < axis], x->dims[dim], &dims[dim < axis]))
      return eg_typing_fail(node, "the number of elements has no expression");
  *out = eg_type_of(x->dtype, 2, (const int64_t[]){dims[1], dims[0]});
  return EGRAPH_OK;
}

egraph_status eg_infer_reshape(const eg_typing *node, eg_type *out) {
  eg_op op = eg_typing_op(node);
  if (op == EG_OP_SQUEEZE) return infer_squeeze(node, out);
  if (op == EG_OP_UNSQUEEZE) return infer_unsqueeze(node, out);
  if (op == EG_OP_FLATTEN) return infer_flatten(node, out);
  assert(op == EG_OP_RESHAPE);
  return infer_reshape(node, out);
}

/// One shape of a reshape during a walk: the current dimension and the rest of its size.
typedef struct side {
  const eg_type *type;
  uint32_t dim;
  int64_t left;
} side;

static bool has_more(const side *s) { return s->dim < s->type->rank; }

static void next_factor(side *s) {
  s->dim++;
  s->left = has_more(s) ? s->type->dims[s->dim] : 0;
}

static void add_factor_pair(eg_factors *out, int64_t size, const side *in,
                            const side *result) {
  eg_factor *factor = eg_factors_add(out, EG_FACTOR_PARALLEL, size);
  factor->input_dim[0] = (int8_t)in->dim;
  factor->output_dim[0] = (int8_t)result->dim;
}

static void block_rest(eg_factors *out, side *in, side *result) {
  for (; has_more(in); next_factor(in))
    eg_factors_add(out, EG_FACTOR_BLOCKED, in->left)->input_dim[0] = (int8_t)in->dim;
  for (; has_more(result); next_factor(result))
    eg_factors_add(out, EG_FACTOR_BLOCKED, result->left)->output_dim[0] =
        (int8_t)result->dim;
}

// Blocks whole dimensions of operand and result until products of sizes agree again.
static void block_group(eg_factors *out, side *in, side *result) {
  int64_t used_in = 0, used_result = 0; // 0: no factor was taken yet
  do {
    bool take_in = has_more(in) && (used_in <= used_result || !has_more(result));
    side *s = take_in ? in : result;
    int64_t *used = take_in ? &used_in : &used_result;
    eg_factor *factor = eg_factors_add(out, EG_FACTOR_BLOCKED, s->left);
    *(take_in ? &factor->input_dim[0] : &factor->output_dim[0]) = (int8_t)s->dim;
    *used = *used == 0 ? s->left : *used * s->left;
    next_factor(s);
  } while (used_in != used_result && (has_more(in) || has_more(result)));
}

void eg_factors_reshape(const eg_typing *node, eg_factors *out) {
  side in = {.type = &node->inputs[0]}, result = {.type = node->results};
  in.left = has_more(&in) ? in.type->dims[0] : 0;
  result.left = has_more(&result) ? result.type->dims[0] : 0;
  bool empty = eg_type_elements(node->results) == 0;
  out->linear = eg_operand_bits(1);
  while (has_more(&in) && has_more(&result)) {
    if (in.left == result.left) {
      add_factor_pair(out, in.left, &in, &result);
      next_factor(&in);
      next_factor(&result);
    } else if (empty) {
      break; // products of 0 do not show which dimensions correspond
    } else if (in.left == 1) {
      eg_factors_add(out, EG_FACTOR_PARALLEL, 1)->input_dim[0] = (int8_t)in.dim;
      next_factor(&in);
    } else if (result.left == 1) {
      eg_factors_add(out, EG_FACTOR_PARALLEL, 1)->output_dim[0] = (int8_t)result.dim;
      next_factor(&result);
    } else if (in.left % result.left == 0) {
      add_factor_pair(out, result.left, &in, &result);
      in.left /= result.left;
      next_factor(&result);
    } else if (result.left % in.left == 0) {
      add_factor_pair(out, in.left, &in, &result);
      result.left /= in.left;
      next_factor(&in);
    } else {
      block_group(out, &in, &result);
    }
  }
  block_rest(out, &in, &result);
}
