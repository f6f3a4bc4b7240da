// Quantized numbers: types and factors. Scales and zero points are scalars, vectors along
// an axis, or blocks. Products have the shape of the same product of plain numbers. They
// are split by rows of x, by columns (channels) of w and, in int32, by the sum of a
// matrix product.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "ops/quantized.h"
#include "ops/typing.h"

static bool is_scalar(const eg_type *type) {
  return type->rank == 0 || (type->rank == 1 && type->dims[0] == 1);
}

static bool is_byte(egraph_dtype dtype) {
  return dtype == EGRAPH_INT8 || dtype == EGRAPH_UINT8;
}

static bool is_short(egraph_dtype dtype) {
  return dtype == EGRAPH_INT16 || dtype == EGRAPH_UINT16;
}

static egraph_status wrong_dtype(const eg_typing *node, uint32_t operand,
                                 const char *wanted) {
  return eg_typing_fail(node, "operand %u is %s; it must be %s", operand,
                        eg_dtype_name(node->inputs[operand].dtype), wanted);
}

// ---- to quantize, and back ----------------------------------------------------------

static egraph_status check_element_types(const eg_typing *node) {
  bool back = eg_typing_op(node) == EG_OP_DEQUANTIZE_LINEAR;
  egraph_dtype x = node->inputs[0].dtype, q = node->inputs[back ? 0 : 2].dtype;
  if (!eg_dtype_is_float(node->inputs[1].dtype))
    return wrong_dtype(node, 1, "floating point");
  if (!is_byte(q) && !is_short(q) && !(back && q == EGRAPH_INT32))
    return wrong_dtype(node, back ? 0 : 2, "an integer of 8 or 16 bits");
  if (back && node->inputs[2].dtype != q)
    return wrong_dtype(node, 2, "of the element type of operand 0");
  if (!back && x != EGRAPH_INT32 && !eg_dtype_is_float(x))
    return wrong_dtype(node, 0, "floating point or int32");
  return EGRAPH_OK;
}

static bool fits_blocks(const eg_type *x, const eg_type *scale, uint32_t axis,
                        int64_t block) {
  if (scale->rank != x->rank) return false;
  for (uint32_t i = 0; i < x->rank; i++) {
    int64_t size = x->dims[i];
    if (i == axis && !eg_size_ceil_div(size, block, &size)) return false;
    if (scale->dims[i] != size) return false;
  }
  return true;
}

egraph_status eg_infer_quantize(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0], *scale = &node->inputs[1];
  int64_t block = EG_SHARED(node, QUANTIZE_LINEAR, BLOCK_SIZE)->i;
  bool back = eg_typing_op(node) == EG_OP_DEQUANTIZE_LINEAR;
  uint32_t axis;
  EG_TRY(check_element_types(node));
  if (!eg_type_same_shape(scale, &node->inputs[2]))
    return eg_typing_fail(node, "scale %s and zero point %s differ in shape",
                          eg_type_text_of(scale).text,
                          eg_type_text_of(&node->inputs[2]).text);
  if (block < 0)
    return eg_typing_fail(node, "block_size is %" PRId64 "; the least is 0", block);
  if (block != 0 || !is_scalar(scale)) {
    EG_TRY(
        eg_typing_axis(node, EG_SHARED(node, QUANTIZE_LINEAR, AXIS)->i, x->rank, &axis));
    bool fits = block != 0 ? fits_blocks(x, scale, axis, block)
                           : scale->rank == 1 && scale->dims[0] == x->dims[axis];
    if (!fits)
      return eg_typing_fail(node, "the scale is %s; it does not fit axis %u of %s",
                            eg_type_text_of(scale).text, axis, eg_type_text_of(x).text);
  }
  *out = eg_type_of(back ? scale->dtype : node->inputs[2].dtype, x->rank, x->dims);
  return EGRAPH_OK;
}

void eg_factors_quantize(const eg_typing *node, eg_factors *out) {
  const eg_type *results = node->results;
  const eg_type *scale = &node->inputs[1];
  int64_t block = EG_SHARED(node, QUANTIZE_LINEAR, BLOCK_SIZE)->i;
  uint32_t axis = eg_axis_of(results, EG_SHARED(node, QUANTIZE_LINEAR, AXIS)->i);
  eg_factor *factors =
      eg_factors_add_dims(out, results, block != 0 ? UINT32_C(1) << axis : 0);
  for (uint32_t dim = 0; dim < results->rank && block != 0; dim++)
    factors[dim].input_dim[1] = factors[dim].input_dim[2] = (int8_t)dim;
  if (block == 0 && !is_scalar(scale))
    factors[axis].input_dim[1] = factors[axis].input_dim[2] = 0;
}

egraph_status eg_infer_dynamic_quantize(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0];
  if (eg_type_elements(x) == 0)
    return eg_typing_fail(node, "%s has no element to take a range of",
                          eg_type_text_of(x).text);
  out[0] = eg_type_of(EGRAPH_UINT8, x->rank, x->dims);
  out[1] = eg_type_of(EGRAPH_FLOAT32, 0, NULL);
  out[2] = eg_type_of(EGRAPH_UINT8, 0, NULL);
  return EGRAPH_OK;
}

void eg_factors_dynamic_quantize(const eg_typing *node, eg_factors *out) {
  eg_factors_add_dims(out, node->results, UINT32_MAX);
}

// ---- products -----------------------------------------------------------------------

static bool is_conv(const eg_attrs *attrs) {
  return attrs->op == EG_OP_CONV_INTEGER || attrs->op == EG_OP_QLINEAR_CONV;
}

static int operand_or_none(uint32_t operand, uint32_t count) {
  return operand < count ? (int)operand : EG_NO_OPERAND;
}

eg_quantized_operands eg_quantized_operands_of(const eg_attrs *attrs, uint32_t count) {
  if (attrs->op == EG_OP_MATMUL_INTEGER || attrs->op == EG_OP_CONV_INTEGER)
    return (eg_quantized_operands){.x = 0,
                                   .x_scale = EG_NO_OPERAND,
                                   .x_zero = operand_or_none(2, count),
                                   .w = 1,
                                   .w_scale = EG_NO_OPERAND,
                                   .w_zero = operand_or_none(3, count),
                                   .y_scale = EG_NO_OPERAND,
                                   .y_zero = EG_NO_OPERAND,
                                   .bias = EG_NO_OPERAND};
  return (eg_quantized_operands){.x = 0,
                                 .x_scale = 1,
                                 .x_zero = 2,
                                 .w = 3,
                                 .w_scale = 4,
                                 .w_zero = 5,
                                 .y_scale = 6,
                                 .y_zero = 7,
                                 .bias = operand_or_none(8, count)};
}

eg_attrs eg_quantized_product(const eg_attrs *attrs, eg_attr slots[EG_QUANTIZED_SLOTS]) {
  eg_op op = is_conv(attrs) ? EG_OP_CONV : EG_OP_MATMUL;
  eg_attrs_defaults(op, slots);
  for (uint16_t i = 0; i < attrs->count; i++)
    slots[i] = attrs->slots[i]; // the first slots are conv's
  return (eg_attrs){
      .op = (uint16_t)op, .count = eg_op_info_of(op)->attr_count, .slots = slots};
}

// Returns the type of a vector as a tensor of rank `rank`, with the entries along `dim`.
static eg_type along(const eg_type *vector, uint32_t rank, uint32_t dim) {
  eg_type view = {.dtype = vector->dtype, .rank = rank};
  for (uint32_t i = 0; i < rank; i++)
    view.dims[i] = i == dim ? vector->dims[0] : 1;
  return view;
}

eg_type eg_quantized_view(const eg_attrs *attrs, const eg_type *vector, const eg_type *of,
                          bool is_weight) {
  if (vector->rank != 1 || vector->dims[0] == 1) return *vector;
  if (is_conv(attrs)) return along(vector, of->rank, 0);
  return is_weight || of->rank < 2 ? *vector : along(vector, 2, 0);
}

eg_type eg_quantized_result_view(const eg_attrs *attrs, const eg_type *vector,
                                 const eg_type *result, bool is_weight) {
  if (vector->rank != 1 || vector->dims[0] == 1) return *vector;
  if (is_conv(attrs)) return along(vector, result->rank, 1);
  return is_weight || result->rank < 2 ? *vector : along(vector, 2, 0);
}

// Checks that an operand is a scalar, a vector of columns of w, or, unless it is a
// convolution, a vector of rows of x.
static egraph_status check_fits(const eg_typing *node, int operand, bool is_weight,
                                const eg_type *view, const eg_type *of) {
  const eg_type *vector = &node->inputs[operand];
  bool may_be_vector = is_weight || !is_conv(node->attrs);
  bool fits = is_scalar(vector) ||
              (may_be_vector && vector->rank == 1 && eg_broadcasts_to(view, of));
  if (fits) return EGRAPH_OK;
  return eg_typing_fail(node, "operand %d is %s; it does not fit %s", operand,
                        eg_type_text_of(&node->inputs[operand]).text,
                        eg_type_text_of(of).text);
}

// Checks that a zero point has the element type of its operand and broadcasts to it.
static egraph_status check_zero(const eg_typing *node, int operand, int of,
                                bool is_weight) {
  if (operand == EG_NO_OPERAND) return EGRAPH_OK;
  const eg_type *zero = &node->inputs[operand], *x = &node->inputs[of];
  if (zero->dtype != x->dtype)
    return wrong_dtype(node, (uint32_t)operand, "of the element type of what it is for");
  eg_type view = eg_quantized_view(node->attrs, zero, x, is_weight);
  return check_fits(node, operand, is_weight, &view, x);
}

static egraph_status check_scale(const eg_typing *node, int operand,
                                 const eg_type *result, bool is_weight) {
  if (operand == EG_NO_OPERAND) return EGRAPH_OK;
  const eg_type *scale = &node->inputs[operand];
  if (!eg_dtype_is_float(scale->dtype))
    return wrong_dtype(node, (uint32_t)operand, "floating point");
  eg_type view = eg_quantized_result_view(node->attrs, scale, result, is_weight);
  return check_fits(node, operand, is_weight, &view, result);
}

static egraph_status check_result(const eg_typing *node, const eg_quantized_operands *at,
                                  eg_type *inout) {
  EG_TRY(check_scale(node, at->x_scale, inout, false));
  EG_TRY(check_scale(node, at->w_scale, inout, true));
  EG_TRY(check_scale(node, at->y_scale, inout, false));
  if (at->y_zero == EG_NO_OPERAND) return EGRAPH_OK;
  if (!is_byte(node->inputs[at->y_zero].dtype))
    return wrong_dtype(node, (uint32_t)at->y_zero, "int8 or uint8");
  eg_type view =
      eg_quantized_result_view(node->attrs, &node->inputs[at->y_zero], inout, false);
  inout->dtype = view.dtype;
  return check_fits(node, at->y_zero, false, &view, inout);
}

egraph_status eg_infer_quantized_product(const eg_typing *node, eg_type *out) {
  eg_quantized_operands at = eg_quantized_operands_of(node->attrs, node->count);
  eg_attr slots[EG_QUANTIZED_SLOTS];
  eg_attrs plain = eg_quantized_product(node->attrs, slots);
  eg_type types[3] = {node->inputs[at.x], node->inputs[at.w]};
  uint32_t count = 2;
  if (!is_byte(types[0].dtype)) return wrong_dtype(node, (uint32_t)at.x, "int8 or uint8");
  if (!is_byte(types[1].dtype)) return wrong_dtype(node, (uint32_t)at.w, "int8 or uint8");
  if (at.bias != EG_NO_OPERAND) {
    types[count++] = node->inputs[at.bias];
    if (types[2].dtype != EGRAPH_INT32)
      return wrong_dtype(node, (uint32_t)at.bias, "int32");
  }
  types[0].dtype = types[1].dtype = EGRAPH_INT32;
  const eg_typing product = {.attrs = &plain,
                             .info = eg_op_info_of((eg_op)plain.op),
                             .inputs = types,
                             .count = count};
  egraph_status status = plain.op == EG_OP_CONV ? eg_infer_conv(&product, out)
                                                : eg_infer_matmul(&product, out);
  if (status != EGRAPH_OK) return eg_fail_context(status, "%s", node->info->name);
  EG_TRY(check_zero(node, at.x_zero, at.x, false));
  EG_TRY(check_zero(node, at.w_zero, at.w, true));
  return check_result(node, &at, out);
}

// Makes a factor (loop index) index the scales and zero points with an entry per row of x
// (matmul), or per column (channel) of w; the bias has an entry per column, too.
static void index_vectors(const eg_typing *node, const eg_quantized_operands *at,
                          bool is_weight, eg_factor *factor) {
  const int of_x[] = {at->x_scale, at->x_zero, at->y_scale, at->y_zero};
  const int of_w[] = {at->w_scale, at->w_zero, at->bias};
  const int *operands = is_weight ? of_w : of_x;
  size_t count = is_weight ? sizeof of_w / sizeof *of_w : sizeof of_x / sizeof *of_x;
  for (size_t i = 0; i < count; i++)
    if (operands[i] != EG_NO_OPERAND && !is_scalar(&node->inputs[operands[i]]))
      factor->input_dim[operands[i]] = 0;
}

// Returns the dimension of an operand of a matrix product for batch dimension `dim` of
// the result.
static int batch_dim(const eg_type *operand, const eg_type *result, uint32_t batch,
                     uint32_t dim) {
  uint32_t own = operand->rank > 2 ? operand->rank - 2 : 0, shift = batch - own;
  bool is_there = dim >= shift && operand->dims[dim - shift] == result->dims[dim];
  return is_there ? (int)(dim - shift) : EG_NO_DIM;
}

static void factors_matmul(const eg_typing *node, const eg_type *results,
                           eg_factors *out) {
  eg_quantized_operands at = eg_quantized_operands_of(node->attrs, node->count);
  const eg_type *x = &node->inputs[at.x], *w = &node->inputs[at.w];
  uint32_t batch = results->rank - (x->rank > 1) - (w->rank > 1);
  bool sums = eg_typing_op(node) == EG_OP_MATMUL_INTEGER;
  for (uint32_t dim = 0; dim < results->rank; dim++) {
    eg_factor *factor = eg_factors_add(out, EG_FACTOR_PARALLEL, results->dims[dim]);
    bool is_row = dim == batch && x->rank > 1;
    factor->output_dim[0] = (int8_t)dim;
    if (is_row) {
      factor->input_dim[at.x] = (int8_t)(x->rank - 2);
      index_vectors(node, &at, false, factor);
    } else if (dim >= batch) {
      factor->input_dim[at.w] = (int8_t)(w->rank - 1);
      index_vectors(node, &at, true, factor);
    } else {
      factor->input_dim[at.x] = (int8_t)batch_dim(x, results, batch, dim);
      factor->input_dim[at.w] = (int8_t)batch_dim(w, results, batch, dim);
    }
  }
  eg_factor *sum =
      eg_factors_add(out, sums ? EG_FACTOR_SUM : EG_FACTOR_BLOCKED, x->dims[x->rank - 1]);
  sum->input_dim[at.x] = (int8_t)(x->rank - 1);
  sum->input_dim[at.w] = (int8_t)(w->rank > 1 ? w->rank - 2 : 0);
}

static void factors_conv(const eg_typing *node, const eg_type *results, eg_factors *out) {
  eg_quantized_operands at = eg_quantized_operands_of(node->attrs, node->count);
  const eg_type *w = &node->inputs[at.w];
  uint32_t group = EG_A_CONV_INTEGER_GROUP - EG_A_BASE_CONV_INTEGER;
  bool is_split = node->attrs->slots[group].i == 1;
  eg_factors_add_dim(out, EG_FACTOR_PARALLEL, results, 0);
  eg_factor *channel = eg_factors_add(
      out, is_split ? EG_FACTOR_PARALLEL : EG_FACTOR_BLOCKED, results->dims[1]);
  channel->output_dim[0] = 1;
  channel->input_dim[at.w] = 0;
  index_vectors(node, &at, true, channel);
  for (uint32_t dim = 2; dim < results->rank; dim++)
    eg_factors_add_dim(out, EG_FACTOR_BLOCKED, results, dim);
  for (uint32_t dim = 1; dim < w->rank; dim++) {
    eg_factor *sum = eg_factors_add(out, EG_FACTOR_BLOCKED, w->dims[dim]);
    sum->input_dim[at.w] = (int8_t)dim;
    if (dim == 1) sum->input_dim[at.x] = 1;
  }
}

void eg_factors_quantized_product(const eg_typing *node, eg_factors *out) {
  (is_conv(node->attrs) ? factors_conv : factors_matmul)(node, node->results, out);
}
