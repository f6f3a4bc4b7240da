// Rotary position embedding: batch, heads and rows are parallel; the last dimension is
// blocked, because a pair needs both of its elements.
// SPDX-License-Identifier: Apache-2.0
#include "ops/rope.h"

#include "ops/kernels.h"
#include "ops/typing.h"

// ---- sizes ----------------------------------------------------------------------

eg_type eg_rope_angles(const eg_attrs *attrs, const eg_type *x, const eg_type *table) {
  eg_type angles = eg_type_of(x->dtype, x->rank - 1, x->dims);
  angles.dims[x->rank - 3] = x->dims[eg_rope_dim(attrs, x, true)];
  angles.dims[x->rank - 2] = table->dims[table->rank - 1];
  return angles;
}

eg_rope eg_rope_of(const eg_attrs *attrs, const eg_type *inputs) {
  const eg_type *x = &inputs[EG_ROPE_X], *table = &inputs[EG_ROPE_COS];
  const eg_type angles = eg_rope_angles(attrs, x, table);
  eg_rope rope = {.batch = 1,
                  .outer = x->dims[x->rank - 3],
                  .inner = x->dims[x->rank - 2],
                  .depth = x->dims[x->rank - 1],
                  .pairs = eg_rope_pairs(attrs, table),
                  .is_interleaved = eg_rope_has(attrs, EG_A_ROPE_INTERLEAVED),
                  .is_per_element = eg_rope_has(attrs, EG_A_ROPE_PER_ELEMENT),
                  .leading = x->rank - 3};
  bool is_rows_first = eg_rope_has(attrs, EG_A_ROPE_ROWS_FIRST);
  *(is_rows_first ? &rope.outer_step : &rope.inner_step) = angles.dims[angles.rank - 1];
  for (uint32_t i = 0; i < 2; i++)
    eg_broadcast_strides(&angles, &inputs[EG_ROPE_COS + i], rope.strides[i]);
  for (uint32_t dim = 0; dim < rope.leading; dim++) {
    rope.dims[dim] = x->dims[dim];
    rope.batch *= x->dims[dim];
  }
  return rope;
}

// ---- types ----------------------------------------------------------------------

// True when a table of this width has a column for each pair, or for each element.
static bool is_width(const eg_typing *node, int64_t columns, int64_t depth) {
  if (eg_size_is_open(columns)) return false;
  if (!eg_rope_has(node->attrs, EG_A_ROPE_PER_ELEMENT)) return columns <= depth / 2;
  return columns <= depth && columns % 2 == 0;
}

// Checks a table against x: it has all rows, and columns of pairs.
static egraph_status check_table(const eg_typing *node, uint32_t operand,
                                 const char *name) {
  const eg_type *x = &node->inputs[EG_ROPE_X], *table = &node->inputs[operand];
  bool is_table = table->dtype == x->dtype && table->rank >= 2 && table->rank < x->rank;
  if (is_table) {
    const eg_type angles = eg_rope_angles(node->attrs, x, table);
    uint32_t last = table->rank - 1;
    is_table = is_width(node, table->dims[last], x->dims[x->rank - 1]) &&
               eg_size_agree(table->dims[last - 1], angles.dims[angles.rank - 2]) &&
               eg_broadcasts_to(table, &angles);
  }
  if (is_table) return EGRAPH_OK;
  return eg_typing_fail(
      node,
      "operand %u (%s) is %s; %s with %s first needs %s[.., rows, %s] of its leading "
      "dimensions, or of 1, with at most depth / 2 pairs",
      operand, name, eg_type_text_of(table).text, eg_type_text_of(x).text,
      eg_rope_has(node->attrs, EG_A_ROPE_ROWS_FIRST) ? "rows" : "heads",
      eg_dtype_name(x->dtype),
      eg_rope_has(node->attrs, EG_A_ROPE_PER_ELEMENT) ? "2 pairs" : "pairs");
}

egraph_status eg_infer_rope(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[EG_ROPE_X], *cosines = &node->inputs[EG_ROPE_COS],
                *sines = &node->inputs[EG_ROPE_SIN];
  if (x->rank < 3 || eg_size_is_open(x->dims[x->rank - 1]))
    return eg_typing_fail(node,
                          "operand 0 (x) is %s; it must be [.., heads, rows, depth], or "
                          "rows before heads, with a known depth",
                          eg_type_text_of(x).text);
  EG_TRY(check_table(node, EG_ROPE_COS, "cosines"));
  EG_TRY(check_table(node, EG_ROPE_SIN, "sines"));
  if (cosines->dims[cosines->rank - 1] != sines->dims[sines->rank - 1])
    return eg_typing_fail(node,
                          "operand 2 (sines) is %s; it must have as many columns as the "
                          "cosines %s",
                          eg_type_text_of(sines).text, eg_type_text_of(cosines).text);
  *out = eg_type_like(x);
  return EGRAPH_OK;
}

// ---- loops ----------------------------------------------------------------------

void eg_factors_rope(const eg_typing *node, eg_factors *out) {
  const eg_type *x = &node->inputs[EG_ROPE_X];
  uint32_t head = eg_rope_dim(node->attrs, x, false), last = x->rank - 1;
  eg_factor *factors = eg_factors_add_dims(out, node->results, UINT32_C(1) << last);
  for (uint32_t i = EG_ROPE_COS; i <= EG_ROPE_SIN; i++) {
    const eg_type *table = &node->inputs[i];
    const eg_type angles = eg_rope_angles(node->attrs, x, table);
    for (uint32_t dim = 0; dim < last; dim++) {
      uint32_t place = dim + 3 < x->rank ? dim : angles.rank - 2;
      if (dim != head)
        factors[dim].input_dim[i] = (int8_t)eg_broadcast_dim(table, &angles, place);
    }
    factors[last].input_dim[i] = (int8_t)(table->rank - 1);
  }
  out->linear = 1u << EG_ROPE_X;
}
