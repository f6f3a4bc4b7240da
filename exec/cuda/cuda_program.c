// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/cuda_program.h"

#include <assert.h>

#include "base/owner.h"
#include "exec/cuda/device/pointwise_list.h"
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

static void *device_address(eg_device_place place, const eg_bindings *bindings) {
  assert(bindings != NULL);
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
      bound->addresses[i] = device_address(s->places[i], bindings);
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

static const eg_program_vtable program_vtable = {.destroy = program_destroy,
                                                 .bind = program_bind};

static bool is_foreign(const eg_type *types, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (eg_type_elements(&types[i]) == 0 || eg_type_is_blocked(&types[i])) return true;
  return false;
}

#define FAMILY_ROW(id, family) [EG_OP_##id] = eg_cuda_##family,
#define POINTWISE_ROW(id, formula) [EG_OP_##id] = eg_cuda_pointwise,
static egraph_status (*const families[EG_OP_COUNT])(eg_cuda_builder *builder) = {
    EG_CUDA_FAMILY_LIST(FAMILY_ROW) EG_POINTWISE_FLOAT_LIST(POINTWISE_ROW)
        EG_POINTWISE_COMMON_LIST(POINTWISE_ROW)};

egraph_status eg_cuda_add_node(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  egraph_status (*family)(eg_cuda_builder *) = families[spec->attrs->op];
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
  egraph_status status = eg_cuda_add_node(&builder);
  take_builder(program, &builder);
  EG_HAND_OVER_OR_DESTROY(status, &program->base, program_destroy, out);
}

// ---- nodes without a kernel on the device -------------------------------------------

// Runs a node without a kernel on the device: its operands are copied to host memory, the
// core's reference kernel runs there, and the results are copied back. This is correct
// but slow, and the program reports it (native is false).

typedef struct staged_program {
  eg_program base;
  egraph_allocator alloc;
  eg_arena arena;
  eg_node_spec spec;
  const eg_cuda_device *device;
  eg_series *series;
  eg_program *reference;
} staged_program;

typedef struct staged_launch {
  eg_series_item item;
  egraph_allocator alloc;
  const staged_program *program;
  eg_launch *reference;
  void **operands, **results; // device addresses; then as many host addresses
  char *memory; // host copies of the tensors, and the kernel's scratch memory
  size_t pointers, memory_bytes;
} staged_launch;

static size_t padded_total(const eg_type *types, uint32_t count) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < count; i++)
    bytes += eg_device_aligned(eg_type_bytes(&types[i]));
  return bytes;
}

static egraph_status transfer(void *to, const void *from, size_t bytes,
                              enum cudaMemcpyKind kind, cudaStream_t stream) {
  if (bytes == 0) return EGRAPH_OK;
  return eg_cuda_check(cudaMemcpyAsync(to, from, bytes, kind, stream),
                       "copy between host and device");
}

static egraph_status submit_staged(eg_series_item *item) {
  staged_launch *launch = (staged_launch *)item;
  const eg_node_spec *spec = &launch->program->spec;
  cudaStream_t stream = launch->program->device->stream;
  for (uint32_t i = 0; i < spec->input_count; i++)
    EG_TRY(transfer(launch->operands[spec->input_count + i], launch->operands[i],
                    eg_type_bytes(&spec->inputs[i]), cudaMemcpyDeviceToHost, stream));
  EG_TRY(eg_cuda_check(cudaStreamSynchronize(stream), "wait for the stream"));
  EG_TRY(launch->reference->vtable->run(launch->reference));
  for (uint32_t i = 0; i < spec->result_count; i++)
    EG_TRY(transfer(launch->results[i], launch->results[spec->result_count + i],
                    eg_type_bytes(&spec->results[i]), cudaMemcpyHostToDevice, stream));
  return eg_cuda_check(cudaStreamSynchronize(stream), "wait for the stream");
}

static void destroy_staged_launch(eg_launch *base) {
  staged_launch *launch = (staged_launch *)base;
  eg_series_settle(launch->item.series);
  if (launch->reference != NULL) launch->reference->vtable->destroy(launch->reference);
  eg_free(launch->alloc, launch->memory, launch->memory_bytes, 1);
  eg_free(launch->alloc, launch->operands, launch->pointers, sizeof *launch->operands);
  eg_free(launch->alloc, launch, 1, sizeof *launch);
}

static const eg_launch_vtable staged_launch_vtable = {.destroy = destroy_staged_launch,
                                                      .run = launch_run};

/// Adds host addresses for `count` tensors after their device addresses.
static char *place_all(const eg_type *types, uint32_t count, void *const *device,
                       char *at, void **out) {
  for (uint32_t i = 0; i < count; i++) {
    out[i] = device[i];
    out[count + i] = at;
    at += eg_device_aligned(eg_type_bytes(&types[i]));
  }
  return at;
}

static egraph_status fill_staged_launch(staged_launch *launch,
                                        const eg_bindings *bindings) {
  const staged_program *program = launch->program;
  const eg_node_spec *spec = &program->spec;
  size_t operands = spec->input_count, results = spec->result_count;
  launch->pointers = 2 * (operands + results);
  EG_TRY(eg_alloc(launch->alloc, launch->pointers, sizeof *launch->operands,
                  &launch->operands));
  launch->results = launch->operands + 2 * operands;
  launch->memory_bytes = padded_total(spec->inputs, spec->input_count) +
                         padded_total(spec->results, spec->result_count) +
                         program->reference->info.scratch_bytes + EG_DEVICE_ALIGNMENT;
  EG_TRY(eg_alloc(launch->alloc, launch->memory_bytes, 1, &launch->memory));
  char *at = launch->memory +
             (EG_DEVICE_ALIGNMENT - (uintptr_t)launch->memory % EG_DEVICE_ALIGNMENT);
  at = place_all(spec->inputs, spec->input_count, bindings->operands, at,
                 launch->operands);
  at = place_all(spec->results, spec->result_count, bindings->results, at,
                 launch->results);
  eg_bindings inner = {.operands = launch->operands + operands,
                       .results = launch->results + results,
                       .scratch = at};
  return program->reference->vtable->bind(program->reference, &inner, &launch->reference);
}

static egraph_status bind_staged(const eg_program *base, const eg_bindings *bindings,
                                 eg_launch **out) {
  const staged_program *program = (const staged_program *)base;
  staged_launch *launch;
  EG_TRY(eg_alloc(program->alloc, 1, sizeof *launch, &launch));
  *launch = (staged_launch){.item = {.base.vtable = &staged_launch_vtable,
                                     .series = program->series,
                                     .serial = eg_series_serial(program->series),
                                     .is_host = true,
                                     .submit = submit_staged},
                            .alloc = program->alloc,
                            .program = program};
  EG_HAND_OVER_OR_DESTROY(fill_staged_launch(launch, bindings), &launch->item.base,
                          destroy_staged_launch, out);
}

static void destroy_staged(eg_program *base) {
  staged_program *program = (staged_program *)base;
  if (program->reference != NULL) program->reference->vtable->destroy(program->reference);
  eg_arena_deinit(&program->arena);
  eg_free(program->alloc, program, 1, sizeof *program);
}

static const eg_program_vtable staged_vtable = {.destroy = destroy_staged,
                                                .bind = bind_staged};

egraph_status eg_staged_program_create(egraph_allocator alloc,
                                       const eg_cuda_device *device, eg_series *series,
                                       const eg_node_spec *spec, eg_program **out) {
  staged_program *program;
  EG_TRY(eg_alloc(alloc, 1, sizeof *program, &program));
  *program = (staged_program){.base = {.vtable = &staged_vtable,
                                       .info = {.kernel = "reference on the host",
                                                .overlay = -1,
                                                .kept = spec->weight_mask}},
                              .alloc = alloc,
                              .device = device,
                              .series = series};
  eg_arena_init(&program->arena, alloc);
  egraph_status status = eg_spec_copy(&program->arena, spec, &program->spec);
  if (status == EGRAPH_OK)
    status = eg_plugin_host_get()->reference_compile(alloc, spec, &program->reference);
  EG_HAND_OVER_OR_DESTROY(status, &program->base, destroy_staged, out);
}
