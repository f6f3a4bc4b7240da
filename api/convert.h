// Conversions between public and internal types.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_CONVERT_H
#define EG_API_CONVERT_H

#include "base/text.h"
#include "ops/tensor.h"

/// Fails with EGRAPH_E_ARGUMENT or EGRAPH_E_TYPE when the tensor has no valid type.
egraph_status eg_type_from_tensor(const egraph_tensor *tensor, eg_type *out);
/// Data is NULL.
egraph_tensor eg_tensor_from_type(const eg_type *type);
/// Hands a text over when it was made, and frees it otherwise.
static inline egraph_status eg_text_hand_over(egraph_status status, eg_text *text,
                                              char **out) {
  if (status == EGRAPH_OK) status = eg_text_take(text, out);
  eg_text_deinit(text);
  return status;
}

#endif
