// Calls the reference kernels. Arithmetic kernels are called on wide element types only;
// operands and results of other types are converted here.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>

#include "ops/body.h"
#include "ops/kernels.h"

#define EG_OP(ID, NAME, ONNX, MIN, MAX, RESULTS, FAMILY, ...)                            \
  [EG_OP_##ID] = eg_kernel_##FAMILY,
static const eg_kernel kernels[EG_OP_COUNT] = {
#include "ops/op_table.def"
};

static egraph_status refuse_owned(const eg_kernel_call *call, const char *owner) {
  return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s has no kernel: %s",
                 eg_op_info_of(eg_kernel_op(call))->name, owner);
}

egraph_status eg_kernel_leaf(const eg_kernel_call *call) {
  return refuse_owned(call, "the caller provides the data of leaves");
}

egraph_status eg_kernel_part(const eg_kernel_call *call) {
  return refuse_owned(call, "it names a result of another node, read that result");
}

egraph_status eg_kernel_opaque(const eg_kernel_call *call) {
  return refuse_owned(call, "its meaning is unknown here, cut the graph around it");
}

static egraph_dtype wide_dtype(egraph_dtype dtype) {
  switch (dtype) {
  case EGRAPH_FLOAT16:
  case EGRAPH_BFLOAT16:
  case EGRAPH_FLOAT32: return EGRAPH_FLOAT32;
  case EGRAPH_FLOAT64: return EGRAPH_FLOAT64;
  case EGRAPH_INT8:
  case EGRAPH_INT16:
  case EGRAPH_INT32:
  case EGRAPH_INT64: return EGRAPH_INT64;
  case EGRAPH_UINT8:
  case EGRAPH_UINT16:
  case EGRAPH_UINT32:
  case EGRAPH_UINT64:
  case EGRAPH_BOOL: return EGRAPH_UINT64;
  case EGRAPH_DTYPE_COUNT: break;
  }
  return dtype;
}

// True when a kernel writes results of this type itself. Bool results, which only
// comparisons have, are not widened.
static bool is_wide_result(egraph_dtype dtype) {
  return dtype == EGRAPH_BOOL || wide_dtype(dtype) == dtype;
}

static bool needs_widening(const eg_kernel_call *call) {
  unsigned flags = eg_op_info_of(eg_kernel_op(call))->flags;
  if ((flags & (EG_OPF_MOVES | EG_OPF_STORED)) != 0) return false;
  for (uint32_t i = 0; i < call->input_count; i++)
    if (wide_dtype(call->inputs[i].type.dtype) != call->inputs[i].type.dtype) return true;
  for (uint32_t i = 0; i < call->output_count; i++)
    if (!is_wide_result(call->outputs[i].type.dtype)) return true;
  return false;
}

// Returns a tensor of the wide type with new data, or the tensor itself if it is wide.
static egraph_status widen(eg_arena *arena, const eg_tensor *from, bool is_result,
                           eg_tensor *out) {
  assert(arena != NULL);
  *out = *from;
  egraph_dtype wide = wide_dtype(from->type.dtype);
  if (wide == from->type.dtype || (is_result && is_wide_result(from->type.dtype)))
    return EGRAPH_OK;
  out->type.dtype = wide;
  size_t count = (size_t)eg_type_elements(&out->type);
  EG_TRY(eg_arena_alloc(arena, count, eg_dtype_bytes(wide), &out->data));
  if (!is_result) eg_tensor_convert(from, out);
  return EGRAPH_OK;
}

static egraph_status run_widened(const eg_kernel_call *call) {
  assert(call->scratch != NULL);
  eg_arena *arena = call->scratch;
  eg_tensor *wide = NULL;
  uint32_t inputs = call->input_count, outputs = call->output_count;
  EG_TRY(eg_arena_alloc(arena, (size_t)inputs + outputs, sizeof *wide, &wide));
  for (uint32_t i = 0; i < inputs; i++)
    EG_TRY(widen(arena, &call->inputs[i], false, &wide[i]));
  for (uint32_t i = 0; i < outputs; i++)
    EG_TRY(widen(arena, &call->outputs[i], true, &wide[inputs + i]));
  eg_kernel_call inner = *call;
  inner.inputs = wide;
  inner.outputs = wide + inputs;
  EG_TRY(kernels[call->attrs->op](&inner));
  for (uint32_t i = 0; i < outputs; i++)
    if (wide[inputs + i].data != call->outputs[i].data)
      eg_tensor_convert(&wide[inputs + i], &call->outputs[i]);
  return EGRAPH_OK;
}

static egraph_status check_plain(const eg_kernel_call *call) {
  for (uint32_t i = 0; i < call->input_count + call->output_count; i++) {
    const eg_tensor *tensor =
        i < call->input_count ? &call->inputs[i] : &call->outputs[i - call->input_count];
    if (tensor->type.layout.format != EG_FORMAT_PLAIN)
      return EG_FAIL(EGRAPH_E_ARGUMENT,
                     "%s: tensor %u is %s; reorder it to plain for the reference kernel",
                     eg_op_info_of(eg_kernel_op(call))->name, (unsigned)i,
                     eg_format_name((eg_format)tensor->type.layout.format));
  }
  return EGRAPH_OK;
}

static bool has_elements(const eg_kernel_call *call) {
  for (uint32_t i = 0; i < call->output_count; i++)
    if (eg_type_elements(&call->outputs[i].type) != 0) return true;
  return call->output_count == 0;
}

egraph_status eg_op_run(const eg_kernel_call *call) {
  assert(call->attrs->op < EG_OP_COUNT);
  EG_TRY(check_plain(call));
  if (!has_elements(call)) return EGRAPH_OK;
  EG_LOCAL(eg_arena, scratch, call->alloc);
  eg_kernel_call own = *call;
  own.scratch = &scratch;
  return needs_widening(call) ? run_widened(&own) : kernels[call->attrs->op](&own);
}

// ---- fused nodes ----------------------------------------------------------------------

// Runs the steps of the body one after the other, which computes the same bits as
// separate nodes.
egraph_status eg_kernel_fused(const eg_kernel_call *call) {
  eg_type operands[EG_BODY_OPERANDS];
  eg_tensor values[EG_BODY_OPERANDS + EG_BODY_STEPS];
  for (uint32_t i = 0; i < call->input_count; i++) {
    operands[i] = call->inputs[i].type;
    values[i] = call->inputs[i];
  }
  eg_body body;
  EG_TRY(eg_body_read(&body, call->attrs, operands, call->input_count));
  for (uint32_t s = 0; s < body.count; s++) {
    const eg_body_step *step = &body.steps[s];
    eg_tensor *to = &values[call->input_count + s];
    eg_tensor from[EG_BODY_STEP_OPERANDS];
    for (uint32_t k = 0; k < step->count; k++)
      from[k] = values[step->operands[k]];
    *to = s + 1 == body.count ? call->outputs[0] : (eg_tensor){.type = step->type};
    if (to->data == NULL)
      EG_TRY(eg_arena_alloc(call->scratch, 1, eg_type_bytes(&to->type), &to->data));
    const eg_kernel_call run = {.attrs = &step->attrs,
                                .inputs = from,
                                .input_count = step->count,
                                .outputs = to,
                                .output_count = 1,
                                .alloc = call->alloc};
    EG_TRY(eg_op_run(&run));
  }
  return EGRAPH_OK;
}
