// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/cuda_program.h"

#include "exec/cuda/device_families.h"
#include "exec/cuda/series.h"

typedef struct cuda_program {
  eg_program base;
  egraph_allocator alloc;
  eg_arena arena;
  const eg_cuda_device *device;
  eg_series *series;
  eg_device_stage *stages;
  uint32_t count;
} cuda_program;

typedef struct bound_stage {
  const eg_device_stage *stage;
  void *addresses[EG_MAX_STAGE_PLACES];
} bound_stage;

typedef struct cuda_launch {
  eg_series_item item;
  egraph_allocator alloc;
  const eg_cuda_device *device;
  bound_stage *stages;
  uint32_t count;
} cuda_launch;

// ---- launches -------------------------------------------------------------------

static void *resolve(eg_device_place place, const eg_bindings *bindings) {
  char *base = NULL;
  switch (place.kind) {
  case EG_DEVICE_OPERAND: base = bindings->operands[place.index]; break;
  case EG_DEVICE_RESULT: base = bindings->results[place.index]; break;
  case EG_DEVICE_SCRATCH: base = bindings->scratch; break;
  }
  return base == NULL ? NULL : base + place.offset;
}

static egraph_status launch_submit(eg_series_item *item) {
  const cuda_launch *launch = (const cuda_launch *)item;
  for (uint32_t i = 0; i < launch->count; i++) {
    const bound_stage *bound = &launch->stages[i];
    EG_TRY(
        bound->stage->function(launch->device, bound->stage->payload, bound->addresses));
  }
  return EGRAPH_OK;
}

static egraph_status launch_run(eg_launch *base) {
  eg_series_item *item = (eg_series_item *)base;
  return eg_series_add(item->series, item);
}

static void launch_destroy(eg_launch *base) {
  cuda_launch *launch = (cuda_launch *)base;
  eg_series_settle(launch->item.series);
  eg_free(launch->alloc, launch->stages, launch->count, sizeof *launch->stages);
  eg_free(launch->alloc, launch, 1, sizeof *launch);
}

static const eg_launch_vtable launch_vtable = {.destroy = launch_destroy,
                                               .run = launch_run};

static egraph_status program_bind(const eg_program *base, const eg_bindings *bindings,
                                  eg_launch **out) {
  const cuda_program *program = (const cuda_program *)base;
  cuda_launch *launch;
  EG_TRY(eg_alloc(program->alloc, 1, sizeof *launch, &launch));
  *launch = (cuda_launch){.item = {.base.vtable = &launch_vtable,
                                   .series = program->series,
                                   .serial = eg_series_serial(program->series),
                                   .submit = launch_submit},
                          .alloc = program->alloc,
                          .device = program->device};
  egraph_status status =
      eg_alloc(program->alloc, program->count, sizeof *launch->stages, &launch->stages);
  if (status != EGRAPH_OK) {
    eg_free(program->alloc, launch, 1, sizeof *launch);
    return status;
  }
  launch->count = program->count;
  bound_stage *bound = launch->stages;
  for (const eg_device_stage *s = program->stages; s != NULL; s = s->next, bound++) {
    bound->stage = s;
    for (uint32_t i = 0; i < s->count; i++)
      bound->addresses[i] = resolve(s->places[i], bindings);
  }
  *out = &launch->item.base;
  return EGRAPH_OK;
}

// ---- program --------------------------------------------------------------------

static void program_destroy(eg_program *base) {
  cuda_program *program = (cuda_program *)base;
  eg_device_stages_release(program->stages);
  eg_arena_deinit(&program->arena);
  eg_free(program->alloc, program, 1, sizeof *program);
}

static egraph_status program_prepare(const eg_program *base, void *const *operands,
                                     void *const *constants) {
  (void)base, (void)operands, (void)constants; // weights are read as they are
  return EGRAPH_OK;
}

static const eg_program_vtable program_vtable = {
    .destroy = program_destroy, .prepare = program_prepare, .bind = program_bind};

static bool is_foreign(const eg_type *types, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (eg_type_elements(&types[i]) == 0 || eg_type_is_blocked(&types[i])) return true;
  return false;
}

static egraph_status compile(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  eg_cuda_family family = eg_cuda_family_of((eg_op)spec->attrs->op);
  if (family == NULL) return eg_cuda_refuse(builder, "none for this operator");
  if (is_foreign(spec->inputs, spec->input_count) ||
      is_foreign(spec->results, spec->result_count))
    return eg_cuda_refuse(builder, "an empty tensor, or one in blocks of channels");
  if (!eg_op_allows_formats(spec->attrs, spec->inputs, spec->input_count, spec->results,
                            spec->result_count))
    return eg_cuda_refuse(builder, "these memory formats");
  return family(builder);
}

static void take_builder(cuda_program *program, const eg_cuda_builder *builder) {
  program->stages = builder->first;
  for (const eg_device_stage *s = builder->first; s != NULL; s = s->next)
    program->count++;
  program->base.info = (eg_program_info){
      .kernel = builder->kernel != NULL ? builder->kernel : "CUDA kernel",
      .native = true,
      .overlay = builder->overlay,
      .in_place = builder->in_place,
      .kept = builder->spec->weight_mask,
      .scratch_bytes = builder->scratch_bytes};
}

egraph_status eg_cuda_program_create(egraph_allocator alloc, const eg_cuda_device *device,
                                     eg_series *series, const eg_compile_request *request,
                                     eg_program **out) {
  cuda_program *program;
  EG_TRY(eg_alloc(alloc, 1, sizeof *program, &program));
  *program = (cuda_program){
      .base.vtable = &program_vtable, .alloc = alloc, .device = device, .series = series};
  eg_arena_init(&program->arena, alloc);
  eg_cuda_builder builder = {.spec = request->spec,
                             .dying = request->dying,
                             .device = device,
                             .arena = &program->arena,
                             .overlay = -1};
  egraph_status status = compile(&builder);
  take_builder(program, &builder);
  if (status != EGRAPH_OK) {
    program_destroy(&program->base);
    return status;
  }
  *out = &program->base;
  return EGRAPH_OK;
}
