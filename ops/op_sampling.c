// Samples between the elements of images: types and factors. Images and channels are
// independent; a place may be anywhere in its image.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "ops/typing.h"

// Operand `index` is floating point of the dtype of operand 0, with this many dimensions.
static egraph_status check_operand(const eg_typing *node, uint32_t index, uint32_t rank) {
  const eg_type *type = &node->inputs[index];
  if (eg_dtype_is_float(type->dtype) && type->rank == rank) return EGRAPH_OK;
  return eg_typing_fail(node, "operand %u is %s; it must be floating point of rank %u",
                        index, eg_type_text_of(type).text, rank);
}

egraph_status eg_infer_grid_sample(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0], *grid = &node->inputs[1];
  EG_TRY(eg_typing_min_rank(node, 0, 3));
  EG_TRY(check_operand(node, 1, x->rank));
  if (grid->dims[0] != x->dims[0] || grid->dims[x->rank - 1] != x->rank - 2)
    return eg_typing_fail(node, "places %s do not fit images %s",
                          eg_type_text_of(grid).text, eg_type_text_of(x).text);
  *out = eg_type_of(x->dtype, x->rank, x->dims);
  for (uint32_t i = 2; i < x->rank; i++) {
    if (x->dims[i] == 0)
      return eg_typing_fail(node, "images %s are empty", eg_type_text_of(x).text);
    out->dims[i] = grid->dims[i - 1];
  }
  return EGRAPH_OK;
}

void eg_factors_grid_sample(const eg_typing *node, const eg_type *results,
                            uint32_t result_count, eg_factors *out) {
  (void)result_count;
  const eg_type *x = &node->inputs[0];
  eg_factors_add_dim(out, EG_FACTOR_PARALLEL, results, 0)->input_dim[1] = 0;
  eg_factors_add_dim(out, EG_FACTOR_PARALLEL, results, 1);
  for (uint32_t i = 2; i < x->rank; i++) {
    eg_factor *place = eg_factors_add(out, EG_FACTOR_PARALLEL, results->dims[i]);
    place->output_dim[0] = (int8_t)i;
    place->input_dim[1] = (int8_t)(i - 1);
    eg_factors_add(out, EG_FACTOR_BLOCKED, 2)->input_dim[0] = (int8_t)i; // neighbours
  }
  eg_factors_add(out, EG_FACTOR_BLOCKED, 1)->input_dim[1] = (int8_t)(x->rank - 1);
  out->linear = 1;
}

egraph_status eg_infer_roi_align(const eg_typing *node, eg_type *out) {
  const eg_type *x = &node->inputs[0], *rois = &node->inputs[1], *of = &node->inputs[2];
  int64_t height = eg_attr_at(node->attrs, EG_A_ROI_ALIGN_OUTPUT_HEIGHT)->i;
  int64_t width = eg_attr_at(node->attrs, EG_A_ROI_ALIGN_OUTPUT_WIDTH)->i;
  EG_TRY(check_operand(node, 0, 4));
  EG_TRY(check_operand(node, 1, 2));
  if (rois->dims[1] != 4 || of->rank != 1 || of->dims[0] != rois->dims[0] ||
      of->dtype != EGRAPH_INT64)
    return eg_typing_fail(node,
                          "regions %s and their images %s must be [R,4] and int64[R]",
                          eg_type_text_of(rois).text, eg_type_text_of(of).text);
  if (height < 1 || width < 1 ||
      eg_attr_at(node->attrs, EG_A_ROI_ALIGN_SAMPLING_RATIO)->i < 0)
    return eg_typing_fail(node, "output_height, output_width and sampling_ratio must be "
                                "positive");
  if (x->dims[2] == 0 || x->dims[3] == 0)
    return eg_typing_fail(node, "images %s are empty", eg_type_text_of(x).text);
  *out = eg_type_of(x->dtype, 4,
                    (const int64_t[]){rois->dims[0], x->dims[1], height, width});
  return EGRAPH_OK;
}

void eg_factors_roi_align(const eg_typing *node, const eg_type *results,
                          uint32_t result_count, eg_factors *out) {
  (void)result_count;
  const eg_type *x = &node->inputs[0];
  eg_factor *region = eg_factors_add(out, EG_FACTOR_PARALLEL, results->dims[0]);
  region->output_dim[0] = region->input_dim[1] = region->input_dim[2] = 0;
  eg_factor *channel = eg_factors_add(out, EG_FACTOR_PARALLEL, results->dims[1]);
  channel->output_dim[0] = channel->input_dim[0] = 1;
  for (uint32_t i = 2; i < 4; i++)
    eg_factors_add_dim(out, EG_FACTOR_BLOCKED, results, i);
  eg_factors_add(out, EG_FACTOR_BLOCKED, 1)->input_dim[0] = 0;
  eg_factors_add(out, EG_FACTOR_BLOCKED, 1)->input_dim[1] = 1;
  (void)x;
}
