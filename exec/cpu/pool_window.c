// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/pool_window.h"

#include <fenv.h>
#include <float.h>

/// Slots of the attributes, of the four operators.
enum { KERNEL, STRIDES, PADS, DILATIONS_OF_MAX, INCLUDE_PAD_OF_AVERAGE = 4 };
#define EG_HAS_SLOTS(OP)                                                                 \
  ((int)EG_A_##OP##_KERNEL_SHAPE - (int)EG_A_BASE_##OP == KERNEL &&                      \
   (int)EG_A_##OP##_STRIDES - (int)EG_A_BASE_##OP == STRIDES &&                          \
   (int)EG_A_##OP##_PADS - (int)EG_A_BASE_##OP == PADS)
#define EG_IS_SLOT(OP, NAME, slot) ((int)EG_A_##OP##_##NAME - (int)EG_A_BASE_##OP == slot)
_Static_assert(EG_HAS_SLOTS(MAX_POOL) && EG_HAS_SLOTS(MAX_POOL_GRAD) &&
                   EG_HAS_SLOTS(AVERAGE_POOL) && EG_HAS_SLOTS(AVERAGE_POOL_GRAD) &&
                   EG_IS_SLOT(MAX_POOL, DILATIONS, DILATIONS_OF_MAX) &&
                   EG_IS_SLOT(MAX_POOL_GRAD, DILATIONS, DILATIONS_OF_MAX) &&
                   EG_IS_SLOT(AVERAGE_POOL, COUNT_INCLUDE_PAD, INCLUDE_PAD_OF_AVERAGE) &&
                   EG_IS_SLOT(AVERAGE_POOL_GRAD, COUNT_INCLUDE_PAD,
                              INCLUDE_PAD_OF_AVERAGE),
               "one function reads the windows of all");

egraph_status eg_pool_check_rank(uint32_t rank) {
  return rank >= 3 && rank <= 5
             ? EGRAPH_OK
             : EG_FAIL(EGRAPH_E_UNSUPPORTED,
                       "pooling: oneDNN has 1 to 3 spatial dimensions");
}

/// The tensor that windows lie over, and the one with an element per window.
static void find_types(const eg_node_spec *spec, const eg_type **out_large,
                       const eg_type **out_small) {
  eg_op op = (eg_op)spec->attrs->op;
  bool is_gradient = op == EG_OP_MAX_POOL_GRAD || op == EG_OP_AVERAGE_POOL_GRAD;
  *out_large = is_gradient ? &spec->results[0] : &spec->inputs[0];
  *out_small = is_gradient ? &spec->inputs[spec->input_count - 1] : &spec->results[0];
}

// oneDNN wants the padding that makes its size formula exact, so the end padding is
// recomputed from the shapes (ceil_mode lengthens it, a remainder shortens it).
egraph_status eg_pool_window_of(const eg_node_spec *spec, eg_pool_window *out) {
  const eg_attrs *attrs = spec->attrs;
  bool is_max = attrs->op == EG_OP_MAX_POOL || attrs->op == EG_OP_MAX_POOL_GRAD;
  const eg_type *large, *small;
  find_types(spec, &large, &small);
  EG_TRY(eg_pool_check_rank(large->rank));
  const eg_attr *slots = attrs->slots;
  const int64_t *pads = slots[PADS].ints.data;
  bool is_longer = false;
  *out = (eg_pool_window){.alg = dnnl_pooling_max, .spatial = large->rank - 2};
  for (uint32_t i = 0; i < out->spatial; i++) {
    out->kernel[i] = slots[KERNEL].ints.data[i];
    out->strides[i] = slots[STRIDES].ints.data[i];
    out->dilates[i] = is_max ? slots[DILATIONS_OF_MAX].ints.data[i] - 1 : 0;
    out->begin[i] = pads[i];
    int64_t extent = (out->kernel[i] - 1) * (out->dilates[i] + 1) + 1;
    out->end[i] = (small->dims[i + 2] - 1) * out->strides[i] + extent -
                  large->dims[i + 2] - out->begin[i];
    is_longer = is_longer || out->end[i] > pads[out->spatial + i];
  }
  if (is_max) return EGRAPH_OK;
  bool include = slots[INCLUDE_PAD_OF_AVERAGE].i != 0;
  out->alg =
      include ? dnnl_pooling_avg_include_padding : dnnl_pooling_avg_exclude_padding;
  // ONNX does not count the cells that only ceil_mode adds, oneDNN would.
  if (include && is_longer)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "average-pool: ceil_mode with counted padding");
  return EGRAPH_OK;
}

bool eg_cpu_is_jitted(const_dnnl_primitive_desc_t primitive) {
  return strncmp(eg_cpu_kernel_of(primitive), "jit", 3) == 0;
}

eg_type eg_type_channels_last(const eg_type *type) {
  eg_type last = *type;
  last.layout.format = EG_FORMAT_NHWC;
  return last;
}

static egraph_status flag_lowest(const void *payload, void *const *addresses) {
  const int64_t *elements = payload;
  const float *y = addresses[0];
  uint32_t found = 0;
  for (int64_t i = 0; i < *elements; i++)
    found |= y[i] == -FLT_MAX;
  if (found != 0) (void)feraiseexcept(FE_INVALID);
  return EGRAPH_OK;
}

static egraph_status flag_nan(const void *payload, void *const *addresses) {
  const int64_t *elements = payload;
  const float *x = addresses[0];
  uint32_t found = 0;
  for (int64_t i = 0; i < *elements; i++)
    found |= x[i] != x[i];
  if (found != 0) (void)feraiseexcept(FE_INVALID);
  return EGRAPH_OK;
}

/// Adds a pass over `count` floats.
static egraph_status add_look(eg_cpu_builder *builder, eg_stage_function look,
                              eg_place place, int64_t count) {
  int64_t *elements;
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof *elements, &elements));
  *elements = count;
  return eg_cpu_add_function(builder, &builder->run, look, elements, &place, 1);
}

egraph_status eg_cpu_add_nan_flag(eg_cpu_builder *builder, eg_place x, int64_t count) {
  return add_look(builder, flag_nan, x, count);
}

egraph_status eg_cpu_add_again(eg_cpu_builder *builder, eg_place maxima, int64_t count) {
  EG_TRY(add_look(builder, flag_lowest, maxima, count));
  eg_cpu_exchange_lists(builder);
  egraph_status status = eg_cpu_add_reference(builder);
  eg_cpu_exchange_lists(builder);
  return status;
}
