// softmax and log-softmax over one axis, as [outer, axis, inner]. Softmax of short rows
// is a pass of ours (chain.h).
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "exec/cpu/chain.h"
#include "exec/cpu/families.h"

// Where oneDNN finds NaN, positive infinity or nothing but negative infinity in a row,
// some of the row is NaN, and some may be numbers: in truth all of it is NaN.
static egraph_status spread_nan(const void *payload, void *const *addresses) {
  const int64_t *dims = payload; // outer, axis, inner
  float *y = addresses[0];
  for (int64_t o = 0; o < dims[0]; o++, y += dims[1] * dims[2])
    for (int64_t i = 0; i < dims[2]; i++) {
      bool is_nan = false;
      for (int64_t k = 0; k < dims[1]; k++)
        is_nan = is_nan || isnan(y[k * dims[2] + i]);
      for (int64_t k = 0; is_nan && k < dims[1]; k++)
        y[k * dims[2] + i] = NAN;
    }
  return EGRAPH_OK;
}

static egraph_status add_spread(eg_cpu_builder *builder, const int64_t *dims) {
  int64_t *payload;
  EG_TRY(eg_arena_alloc(builder->arena, 3, sizeof *payload, &payload));
  memcpy(payload, dims, 3 * sizeof *dims);
  eg_place result = eg_place_result(0);
  return eg_cpu_add_function(builder, &builder->again, spread_nan, payload, &result, 1);
}

egraph_status eg_cpu_softmax(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_compile_request alone = {.spec = spec};
  if (eg_cpu_chain_fits(&alone)) return eg_cpu_chain(builder, &alone);
  const eg_type *type = &spec->inputs[0];
  bool log = spec->attrs->op == EG_OP_LOG_SOFTMAX;
  int64_t axis =
      eg_attr_at(spec->attrs, log ? EG_A_LOG_SOFTMAX_AXIS : EG_A_SOFTMAX_AXIS)->i;
  if (axis < 0) axis += type->rank;
  if (type->dtype != EGRAPH_FLOAT32 || type->layout.format != EG_FORMAT_PLAIN)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "softmax: no kernel for this element type");
  int64_t dims[3] = {1, type->dims[axis], 1};
  for (uint32_t d = 0; d < type->rank; d++)
    if (d != (uint32_t)axis) dims[d < (uint32_t)axis ? 0 : 2] *= type->dims[d];
  const_dnnl_memory_desc_t desc;
  EG_TRY(eg_dnnl_desc_dims(&builder->descs, dims[2] == 1 ? 2 : 3, dims, &desc));
  dnnl_primitive_desc_t primitive = NULL;
  dnnl_status_t made = dnnl_softmax_forward_primitive_desc_create(
      &primitive, builder->engine, dnnl_forward_inference,
      log ? dnnl_softmax_log : dnnl_softmax_accurate, desc, desc, 1, builder->plain);
  EG_TRY(eg_dnnl_own(&builder->descs, made, primitive, "softmax"));
  EG_TRY(eg_cpu_name(builder, primitive));
  if (eg_cpu_may_overlay(builder, 0)) builder->overlay = 0;
  eg_stage_arg args[] = {{DNNL_ARG_SRC, eg_cpu_read(builder, 0), desc},
                         {DNNL_ARG_DST, eg_place_result(0), desc}};
  EG_TRY(eg_cpu_add_primitive(builder, &builder->run, primitive, args, 2));
  return add_spread(builder, dims);
}
