// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/cuda_builder.h"

#include <assert.h>
#include <string.h>

eg_device_place eg_cuda_scratch(eg_cuda_builder *builder, size_t bytes) {
  size_t mask = 255; // alignment that cuBLASLt and cuDNN prefer
  eg_device_place place = {.kind = EG_DEVICE_SCRATCH, .offset = builder->scratch_bytes};
  builder->scratch_bytes += (bytes + mask) & ~mask;
  return place;
}

static egraph_status copy_stage(eg_cuda_builder *builder, const void *payload,
                                size_t payload_bytes, eg_device_stage **out) {
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof **out, out));
  EG_TRY(eg_arena_alloc(builder->arena, 1, payload_bytes, &(*out)->payload));
  memcpy((*out)->payload, payload, payload_bytes);
  return EGRAPH_OK;
}

egraph_status eg_cuda_add(eg_cuda_builder *builder, eg_device_function function,
                          const void *payload, size_t payload_bytes,
                          eg_device_release release, const eg_device_place *places,
                          uint32_t count) {
  assert(count <= EG_MAX_STAGE_PLACES && function != NULL);
  eg_device_stage *stage = NULL;
  EG_TRY(copy_stage(builder, payload, payload_bytes, &stage));
  stage->function = function;
  stage->release = release;
  stage->count = count;
  memcpy(stage->places, places, count * sizeof *places);
  if (builder->last != NULL)
    builder->last->next = stage;
  else
    builder->first = stage;
  builder->last = stage;
  return EGRAPH_OK;
}

void eg_device_stages_release(const eg_device_stage *from) {
  for (const eg_device_stage *s = from; s != NULL; s = s->next)
    if (s->release != NULL) s->release(s->payload);
}

void eg_cuda_rewind(eg_cuda_builder *builder, const eg_cuda_builder *mark) {
  eg_device_stages_release(mark->last != NULL ? mark->last->next : builder->first);
  *builder = *mark;
  if (mark->last != NULL) mark->last->next = NULL;
}

bool eg_cuda_may_overlay(const eg_cuda_builder *builder, uint32_t index) {
  assert(index < builder->spec->input_count);
  const eg_node_spec *spec = builder->spec;
  return (builder->dying & eg_operand_bit(index)) != 0 &&
         eg_type_bytes(&spec->inputs[index]) == eg_type_bytes(&spec->results[0]);
}

int32_t eg_cuda_find_overlay(const eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  for (uint32_t i = 0; i < spec->input_count; i++)
    if (eg_cuda_may_overlay(builder, i) &&
        eg_type_same_shape(&spec->inputs[i], &spec->results[0]) &&
        spec->inputs[i].layout.format == spec->results[0].layout.format &&
        eg_dtype_bytes(spec->inputs[i].dtype) == eg_dtype_bytes(spec->results[0].dtype))
      return (int32_t)i;
  return -1;
}

egraph_status eg_cuda_refuse(const eg_cuda_builder *builder, const char *why) {
  return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s: no kernel on this back-end: %s",
                 eg_op_info_of((eg_op)builder->spec->attrs->op)->name, why);
}
