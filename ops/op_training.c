// Operators that only updates of training steps have.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "ops/typing.h"

enum { TENSORS = 4 };

egraph_status eg_infer_adam_update(const eg_typing *node, eg_type *out) {
  const eg_type *w = &node->inputs[0], scalar = {.dtype = EGRAPH_FLOAT64};
  int64_t decoupled = eg_attr_at(node->attrs, EG_A_ADAM_UPDATE_DECOUPLED)->i;
  if (decoupled != 0 && decoupled != 1)
    return eg_typing_fail(node, "attribute decoupled is %" PRId64 "; it must be 0 or 1",
                          decoupled);
  for (uint32_t i = 1; i < node->count; i++) {
    const eg_type *have = &node->inputs[i], *want = i < TENSORS ? w : &scalar;
    if (have->dtype != want->dtype || !eg_type_same_shape(have, want))
      return eg_typing_fail(node, "operand %u is %s; it must be %s", i,
                            eg_type_text_of(have).text, eg_type_text_of(want).text);
  }
  for (uint32_t i = 0; i < 3; i++)
    out[i] = eg_type_of(w->dtype, w->rank, w->dims);
  return EGRAPH_OK;
}

// The scalars are needed whole.
void eg_factors_adam_update(const eg_typing *node, const eg_type *results,
                            uint32_t result_count, eg_factors *out) {
  (void)node;
  for (uint32_t dim = 0; dim < results->rank; dim++) {
    eg_factor *factor = eg_factors_add_dim(out, EG_FACTOR_PARALLEL, results, dim);
    for (uint32_t i = 1; i < TENSORS; i++)
      factor->input_dim[i] = (int8_t)dim;
    for (uint32_t i = 1; i < result_count; i++)
      factor->output_dim[i] = (int8_t)dim;
  }
}
