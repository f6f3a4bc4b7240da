// Conversions between public and internal types.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_CONVERT_H
#define EG_API_CONVERT_H

#include "ops/tensor.h"

/// Fails with EGRAPH_E_ARGUMENT or EGRAPH_E_TYPE when the tensor has no valid type.
egraph_status eg_type_from_tensor(const egraph_tensor *tensor, eg_type *out);
/// Data is NULL.
egraph_tensor eg_tensor_from_type(const eg_type *type);

#endif
