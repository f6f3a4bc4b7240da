// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/cpu_builder.h"

#include <assert.h>

#include "exec/backend.h"

eg_place eg_cpu_scratch(eg_cpu_builder *builder, size_t bytes) {
  eg_place place = {.kind = EG_PLACE_SCRATCH, .offset = builder->scratch_bytes};
  builder->scratch_bytes += eg_device_aligned(bytes);
  return place;
}

egraph_status eg_cpu_constant(eg_cpu_builder *builder, size_t bytes, eg_place *out) {
  EG_TRY(eg_sizes_push(&builder->constant_bytes, bytes));
  *out = (eg_place){.kind = EG_PLACE_CONSTANT,
                    .index = (uint32_t)(builder->constant_bytes.len - 1)};
  return EGRAPH_OK;
}

eg_place eg_cpu_read(eg_cpu_builder *builder, uint32_t index) {
  assert(index < builder->spec->input_count);
  builder->kept |= builder->spec->weight_mask & eg_operand_bit(index);
  return eg_place_operand(index);
}

bool eg_cpu_may_overlay(const eg_cpu_builder *builder, uint32_t index) {
  assert(index < builder->spec->input_count);
  const eg_type *operand = &builder->spec->inputs[index];
  return (builder->dying & eg_operand_bit(index)) != 0 &&
         !eg_spec_is_weight(builder->spec, index) &&
         eg_type_same(operand, &builder->spec->results[0]);
}

static egraph_status append_stage(eg_cpu_builder *builder, eg_stage_list *list,
                                  uint32_t operands, eg_stage **out) {
  eg_stage *stage;
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof *stage, &stage));
  if (operands != 0)
    EG_TRY(eg_arena_alloc(builder->arena, operands, sizeof *stage->operands,
                          &stage->operands));
  if (list->last != NULL)
    list->last->next = stage;
  else
    list->first = stage;
  list->last = stage;
  list->count++;
  *out = stage;
  return EGRAPH_OK;
}

static egraph_status add_operand(eg_cpu_builder *builder, eg_stage *stage,
                                 const eg_stage_arg *arg) {
  eg_stage_arg *operand = &stage->operands[stage->count];
  *operand = *arg;
  EG_TRY(eg_dnnl_desc_copy(builder->stage_descs, arg->desc, &operand->desc));
  stage->count++;
  return EGRAPH_OK;
}

egraph_status eg_cpu_add_primitive(eg_cpu_builder *builder, eg_stage_list *list,
                                   const_dnnl_primitive_desc_t desc,
                                   const eg_stage_arg *args, uint32_t count) {
  assert(count <= EG_MAX_STAGE_ARGS);
  eg_stage *stage;
  EG_TRY(append_stage(builder, list, count + 1, &stage));
  EG_TRY(eg_dnnl_check(dnnl_primitive_create(&stage->primitive, desc),
                       "primitive creation"));
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(add_operand(builder, stage, &args[i]));
  eg_stage_arg pad = {
      .name = DNNL_ARG_SCRATCHPAD,
      .desc = dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0)};
  size_t bytes = pad.desc != NULL ? dnnl_memory_desc_get_size(pad.desc) : 0;
  if (bytes == 0) return EGRAPH_OK;
  pad.place = eg_cpu_scratch(builder, bytes);
  return add_operand(builder, stage, &pad);
}

egraph_status eg_cpu_add_function(eg_cpu_builder *builder, eg_stage_list *list,
                                  eg_stage_function function, const void *payload,
                                  const eg_place *places, uint32_t count) {
  assert(function != NULL && count != 0);
  eg_stage *stage;
  EG_TRY(append_stage(builder, list, count, &stage));
  stage->function = function;
  stage->payload = payload;
  stage->count = count;
  for (uint32_t i = 0; i < count; i++)
    stage->operands[i].place = places[i];
  return EGRAPH_OK;
}

void eg_cpu_exchange_lists(eg_cpu_builder *builder) {
  eg_stage_list run = builder->run;
  builder->run = builder->again;
  builder->again = run;
  size_t bytes = builder->scratch_bytes;
  builder->scratch_bytes = builder->other_scratch_bytes;
  builder->other_scratch_bytes = bytes;
}

egraph_status eg_cpu_add_reference(eg_cpu_builder *builder) {
  eg_stage *stage;
  EG_TRY(append_stage(builder, &builder->run, 1, &stage));
  EG_TRY(eg_reference_compile(builder->alloc, builder->spec, &stage->reference));
  const eg_program_info *info = &stage->reference->info;
  builder->kept |= info->kept;
  stage->operands[0].place = eg_cpu_scratch(builder, info->scratch_bytes);
  stage->count = 1;
  return EGRAPH_OK;
}

egraph_status eg_cpu_attr_create(dnnl_primitive_attr_t *out) {
  EG_TRY(eg_dnnl_check(dnnl_primitive_attr_create(out), "attributes"));
  egraph_status status = eg_dnnl_check(
      dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user),
      "scratchpad mode");
  if (status != EGRAPH_OK) dnnl_primitive_attr_destroy(*out);
  return status;
}

egraph_status eg_cpu_add_reorder(eg_cpu_builder *builder, eg_stage_list *list,
                                 eg_place from, const_dnnl_memory_desc_t from_desc,
                                 eg_place to, const_dnnl_memory_desc_t to_desc) {
  dnnl_primitive_desc_t desc = NULL;
  dnnl_status_t made = dnnl_reorder_primitive_desc_create(
      &desc, from_desc, builder->engine, to_desc, builder->engine, builder->plain);
  EG_TRY(eg_dnnl_own(&builder->descs, made, desc, "reorder"));
  if (builder->kernel == NULL && list == &builder->run)
    EG_TRY(eg_cpu_name(builder, desc));
  eg_stage_arg args[] = {{DNNL_ARG_FROM, from, from_desc}, {DNNL_ARG_TO, to, to_desc}};
  return eg_cpu_add_primitive(builder, list, desc, args, 2);
}

egraph_status eg_cpu_read_as(eg_cpu_builder *builder, uint32_t index,
                             const_dnnl_memory_desc_t have, const_dnnl_memory_desc_t want,
                             eg_place *out) {
  assert(index < builder->spec->input_count);
  if (dnnl_memory_desc_equal(have, want)) {
    *out = eg_cpu_read(builder, index);
    return EGRAPH_OK;
  }
  size_t bytes = dnnl_memory_desc_get_size(want);
  eg_stage_list *list = &builder->run;
  if (eg_spec_is_weight(builder->spec, index)) {
    list = &builder->prepare;
    EG_TRY(eg_cpu_constant(builder, bytes, out));
  } else {
    *out = eg_cpu_scratch(builder, bytes);
  }
  return eg_cpu_add_reorder(builder, list, eg_place_operand(index), have, *out, want);
}

const char *eg_cpu_kernel_of(const_dnnl_primitive_desc_t desc) {
  assert(desc != NULL);
  const char *name = "?";
  if (dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name) != dnnl_success)
    return "?";
  return name;
}

bool eg_cpu_is_slow(const_dnnl_primitive_desc_t desc) {
  return strncmp(eg_cpu_kernel_of(desc), "ref", 3) == 0;
}

bool eg_cpu_fuses_well(const_dnnl_primitive_desc_t desc) {
  return !eg_cpu_is_slow(desc) && strstr(eg_cpu_kernel_of(desc), "gemm") == NULL;
}

egraph_status eg_cpu_name(eg_cpu_builder *builder, const_dnnl_primitive_desc_t desc) {
  char text[128];
  snprintf(text, sizeof text, "oneDNN %s", eg_cpu_kernel_of(desc));
  return eg_arena_string(builder->arena, text, strlen(text), &builder->kernel);
}

egraph_status eg_cpu_refuse(const eg_cpu_builder *builder, const char *why) {
  return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s: %s",
                 eg_op_info_of((eg_op)builder->spec->attrs->op)->name, why);
}
