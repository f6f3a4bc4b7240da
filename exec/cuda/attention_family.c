// Attention: sizes, strides and scratch memory of its kernels.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/device_families.h"
#include "exec/cuda/strided.h"
#include "ops/attention.h"

static eg_head_steps steps_of(const eg_attention_rows *x) {
  bool is_rows_first = x->is_rows_first;
  return (eg_head_steps){.batch = x->heads * x->rows * x->width,
                         .head = is_rows_first ? x->width : x->rows * x->width,
                         .row = eg_attention_row_step(x)};
}

/// Describes the steps of a mask; `q` is the type of the queries. False: its batches and
/// heads are too many dimensions.
static bool add_mask(const eg_attention *size, const eg_type *q, const eg_type *mask,
                     eg_device_attention *work) {
  const eg_type scores = eg_attention_scores(size, q);
  eg_type heads = eg_type_of(q->dtype, q->rank - 2, scores.dims);
  int64_t strides[EGRAPH_MAX_RANK], numbers[EGRAPH_MAX_RANK];
  eg_loop_plan plan = {.tensors = 2};
  work->mask_kind = mask->dtype == EGRAPH_BOOL ? EG_MASK_HIDES : EG_MASK_ADDS;
  eg_spread_strides(&scores, mask, strides);
  eg_type_strides(&heads, numbers);
  for (uint32_t dim = 0; dim < heads.rank; dim++)
    eg_loop_add(&plan, scores.dims[dim], (int64_t[]){numbers[dim], strides[dim]});
  work->mask_row = strides[heads.rank];
  work->mask_key = strides[heads.rank + 1];
  return eg_loop_merge(&plan, &work->mask);
}

/// Describes a node whose queries, keys and values are operands from `first` on, and
/// whose mask, if it has one, is the last of `most` operands.
static egraph_status describe(const eg_cuda_builder *builder, uint32_t first,
                              uint32_t most, eg_device_attention *out) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *q = &spec->inputs[first + EG_ATTENTION_Q];
  const eg_attention size = eg_attention_of(spec->attrs, q);
  const eg_attention_rows queries = eg_attention_queries(&size);
  const eg_attention_rows keys = eg_attention_keys(&size);
  const eg_attention_rows values = eg_attention_values(&size);
  const eg_attention_rows results = eg_attention_results(&size);
  *out = (eg_device_attention){.batch = size.batch,
                               .heads = size.heads,
                               .groups = size.groups,
                               .rows = size.rows,
                               .keys = size.keys,
                               .depth = size.depth,
                               .columns = size.columns,
                               .scale = size.scale,
                               .softcap = size.softcap,
                               .window = size.window,
                               .offset = size.offset,
                               .is_safe = size.is_safe,
                               .is_causal = size.is_causal,
                               .dtype = (int32_t)q->dtype,
                               .query = steps_of(&queries),
                               .key = steps_of(&keys),
                               .value = steps_of(&values),
                               .result = steps_of(&results)};
  if (spec->input_count == most && !add_mask(&size, q, &spec->inputs[most - 1], out))
    return eg_cuda_refuse(builder, "too many dimensions");
  return EGRAPH_OK;
}

/// Returns the bytes for a flag of each EG_ATTENTION_FLAG_KEYS keys.
static size_t flag_bytes(const eg_device_attention *work) {
  int64_t tiles = (work->keys + EG_ATTENTION_FLAG_KEYS - 1) / EG_ATTENTION_FLAG_KEYS;
  return (size_t)(work->batch * work->groups * tiles) * sizeof(int32_t);
}

EG_DEVICE_STAGE(run_attention, eg_device_attention, "attention kernel",
                eg_launch_attention(work, addresses, device->stream))

egraph_status eg_cuda_attention(eg_cuda_builder *builder) {
  enum { OPERANDS = EG_ATTENTION_MASK + 1 };
  const eg_node_spec *spec = builder->spec;
  eg_device_attention work;
  EG_TRY(describe(builder, 0, OPERANDS, &work));
  eg_device_place places[] = {
      eg_device_result(0),
      eg_device_result(1),
      eg_device_operand(EG_ATTENTION_Q),
      eg_device_operand(EG_ATTENTION_K),
      eg_device_operand(EG_ATTENTION_V),
      eg_cuda_scratch(builder, flag_bytes(&work)),
      eg_device_operand(EG_ATTENTION_MASK),
  };
  uint32_t count = sizeof places / sizeof *places;
  builder->kernel = "CUDA attention";
  return eg_cuda_add(builder, run_attention, &work, sizeof work, NULL, places,
                     spec->input_count == OPERANDS ? count : count - 1);
}

EG_DEVICE_STAGE(run_attention_grad, eg_device_attention, "gradient of attention kernel",
                eg_launch_attention_grad(work, addresses, device->stream))

egraph_status eg_cuda_attention_grad(eg_cuda_builder *builder) {
  enum { D, Q, SUMS = 5, MASK, OPERANDS, RESULTS = 3 };
  const eg_node_spec *spec = builder->spec;
  eg_device_attention work;
  EG_TRY(describe(builder, Q, OPERANDS, &work));
  int64_t heads = work.batch * work.heads;
  int64_t flags =
      heads * ((work.rows + EG_ATTENTION_FLAG_ROWS - 1) / EG_ATTENTION_FLAG_ROWS);
  size_t numbers = eg_type_bytes(&spec->inputs[SUMS]);
  eg_device_place places[RESULTS + OPERANDS + 4];
  uint32_t count = 0;
  for (uint32_t i = 0; i < RESULTS; i++)
    places[count++] = eg_device_result(i);
  for (uint32_t i = D; i <= SUMS; i++)
    places[count++] = eg_device_operand(i);
  places[count++] = eg_cuda_scratch(builder, numbers);
  places[count++] = eg_cuda_scratch(builder, numbers);
  places[count++] = eg_cuda_scratch(builder, (size_t)flags * sizeof(int32_t));
  places[count++] = eg_cuda_scratch(builder, flag_bytes(&work));
  if (spec->input_count == OPERANDS) places[count++] = eg_device_operand(MASK);
  builder->kernel = "CUDA gradient of attention";
  return eg_cuda_add(builder, run_attention_grad, &work, sizeof work, NULL, places,
                     count);
}
