// Calls the gradient rule of an operator's family.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>

#include "ops/vjp_internal.h"

#define EG_OP(ID, NAME, ONNX, MIN, MAX, RESULTS, FAMILY, ...)                            \
  [EG_OP_##ID] = eg_vjp_##FAMILY,
static void (*const rules[EG_OP_COUNT])(const eg_vjp *v) = {
#include "ops/op_table.def"
};

void eg_vjp_none(const eg_vjp *v) { eg_vjp_refuse(v, NULL); }

egraph_status eg_op_vjp(const eg_vjp *call) {
  assert(call->attrs->op < EG_OP_COUNT);
  bool asked = false, given = false;
  for (uint32_t i = 0; i < call->input_count; i++) {
    call->out[i] = EG_REF_NONE;
    asked = asked || (call->wanted[i] && eg_dtype_is_float(eg_vjp_type(call, i)->dtype));
  }
  for (uint32_t i = 0; i < call->result_count; i++)
    given = given || eg_ref_exists(call->cotangents[i]);
  if (!asked || !given || call->b->status != EGRAPH_OK) return call->b->status;
  call->b->dtype = eg_vjp_type(call, 0)->dtype;
  rules[call->attrs->op](call);
  return call->b->status;
}
