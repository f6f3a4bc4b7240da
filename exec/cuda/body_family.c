// Fused nodes (ops/body.h): one kernel, written for the body and compiled by NVRTC. Where
// there is no NVRTC, or one kernel cannot compute the body (body_plan.h), its operators
// run one after the other, with their values in scratch memory.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "exec/cuda/body_plan.h"
#include "exec/cuda/device_families.h"
#include "exec/cuda/kernel_store.h"

// ---- one kernel -----------------------------------------------------------------------

enum { MOST_BLOCKS = 65536, PACK_BYTES = 16 };

typedef struct body_payload {
  eg_body_work work; // without addresses
  cudaKernel_t kernel;
  uint32_t blocks, threads, tensors;
  uint32_t alignment[EG_BODY_TENSORS]; // that packs need
} body_payload;

static egraph_status run_body(const eg_cuda_device *device, const void *payload,
                              void *const *addresses) {
  const body_payload *p = payload;
  eg_body_work work = p->work;
  for (uint32_t t = 0; t < p->tensors; t++) {
    work.at[t] = addresses[t];
    if ((uintptr_t)addresses[t] % p->alignment[t] != 0) work.packs = 0;
  }
  void *arguments[] = {&work};
  const struct dim3 blocks = {p->blocks, 1, 1}, threads = {p->threads, 1, 1};
  return eg_cuda_check(cudaLaunchKernel((const void *)p->kernel, blocks, threads,
                                        arguments, 0, device->stream),
                       "kernel of a fused node");
}

static void set_launch(const eg_body_plan *plan, body_payload *out) {
  eg_body_work_fill(plan, &out->work);
  out->threads = plan->threads;
  out->tensors = plan->tensors;
  int64_t items = plan->count, packs = out->work.packs;
  if (plan->pack != 0) items = packs + plan->count - packs * plan->pack;
  int64_t blocks =
      plan->has_rows ? plan->rows : (items + plan->threads - 1) / plan->threads;
  out->blocks = (uint32_t)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS);
  for (uint32_t t = 0; t < plan->tensors; t++) {
    uint32_t bytes = (uint32_t)eg_dtype_bytes(plan->dtypes[t]) * plan->pack;
    out->alignment[t] = bytes == 0 ? 1 : bytes < PACK_BYTES ? bytes : PACK_BYTES;
  }
}

static egraph_status add_planned(eg_cuda_builder *builder, const eg_body_plan *plan) {
  egraph_allocator alloc = builder->arena->alloc;
  eg_device_place places[EG_BODY_TENSORS] = {eg_device_result(0)};
  body_payload payload = {.kernel = NULL};
  eg_text source;
  eg_text_init(&source, alloc);
  egraph_status status = eg_body_source_write(plan, &source);
  if (status == EGRAPH_OK)
    status = eg_kernel_store_get(builder->device->kernels, eg_text_of(&source),
                                 EG_BODY_KERNEL, &payload.kernel);
  eg_text_deinit(&source);
  EG_TRY(status);
  set_launch(plan, &payload);
  for (uint32_t t = 1; t < plan->tensors; t++)
    places[t] = eg_device_operand(t - 1);
  builder->overlay = eg_cuda_find_overlay(builder);
  builder->kernel = "CUDA body";
  return eg_cuda_add(builder, run_body, &payload, sizeof payload, NULL, places,
                     plan->tensors);
}

static egraph_status add_kernel(eg_cuda_builder *builder, const eg_body *body) {
  eg_body_plan plan;
  const char *why;
  egraph_status status =
      eg_body_plan_init(&plan, builder->arena->alloc, builder->spec, body, &why);
  if (status == EGRAPH_OK) status = add_planned(builder, &plan);
  eg_body_plan_deinit(&plan);
  return status;
}

// ---- its operators --------------------------------------------------------------------

enum { VALUES = EG_BODY_OPERANDS + EG_BODY_STEPS };

/// Scratch memory for a value of the body, which later values may take over.
typedef struct value_memory {
  eg_device_place place;
  size_t bytes;
  uint32_t last; // the last step that reads or writes it
} value_memory;

typedef struct expansion {
  eg_cuda_builder *builder;
  const eg_body *body;
  eg_type types[VALUES];
  eg_device_place places[VALUES];
  uint32_t last[VALUES]; // the last step that reads it
  value_memory memory[EG_BODY_STEPS];
  uint32_t count; // of memory
} expansion;

static void set_values(expansion *x) {
  const eg_node_spec *spec = x->builder->spec;
  uint32_t operands = x->body->operand_count;
  for (uint32_t i = 0; i < operands; i++) {
    x->types[i] = spec->inputs[i];
    x->places[i] = eg_device_operand(i);
  }
  for (uint32_t s = 0; s < x->body->count; s++) {
    const eg_body_step *step = &x->body->steps[s];
    eg_type *type = &x->types[operands + s];
    *type = step->type;
    if (type->rank == spec->results[0].rank) type->layout = spec->results[0].layout;
    for (uint32_t k = 0; k < step->count; k++)
      x->last[step->operands[k]] = s;
  }
}

/// Finds memory for the value of a step: of a value that no step reads any more, or new.
static eg_device_place find_memory(expansion *x, uint32_t step) {
  uint32_t value = x->body->operand_count + step;
  size_t bytes = eg_type_bytes(&x->types[value]);
  uint32_t at = 0;
  if (step + 1 == x->body->count) return eg_device_result(0);
  while (at < x->count && (x->memory[at].last >= step || x->memory[at].bytes < bytes))
    at++;
  if (at == x->count) {
    x->memory[at] =
        (value_memory){.place = eg_cuda_scratch(x->builder, bytes), .bytes = bytes};
    x->count++;
  }
  x->memory[at].last = x->last[value];
  return x->memory[at].place;
}

/// Moves the stages of a step to the builder of the fused node, whose memory they get.
static void take_stages(expansion *x, eg_cuda_builder *step,
                        const eg_device_place *operands, eg_device_place result) {
  eg_device_place scratch = eg_cuda_scratch(x->builder, step->scratch_bytes);
  for (eg_device_stage *s = step->first; s != NULL; s = s->next)
    for (uint32_t i = 0; i < s->count; i++) {
      eg_device_place *place = &s->places[i];
      const eg_device_place base = place->kind == EG_DEVICE_OPERAND
                                       ? operands[place->index]
                                   : place->kind == EG_DEVICE_RESULT ? result
                                                                     : scratch;
      *place = (eg_device_place){base.kind, base.index, base.offset + place->offset};
    }
  if (step->first == NULL) return;
  if (x->builder->last != NULL)
    x->builder->last->next = step->first;
  else
    x->builder->first = step->first;
  x->builder->last = step->last;
}

static egraph_status add_operator(expansion *x, uint32_t index) {
  const eg_body_step *from = &x->body->steps[index];
  uint32_t value = x->body->operand_count + index;
  bool is_last = index + 1 == x->body->count;
  eg_type types[EG_BODY_STEP_OPERANDS];
  eg_device_place operands[EG_BODY_STEP_OPERANDS];
  for (uint32_t k = 0; k < from->count; k++) {
    types[k] = x->types[from->operands[k]];
    operands[k] = x->places[from->operands[k]];
  }
  const eg_node_spec spec = {.attrs = &from->attrs,
                             .inputs = types,
                             .input_count = from->count,
                             .results =
                                 is_last ? x->builder->spec->results : &x->types[value],
                             .result_count = 1};
  eg_cuda_builder step = {.spec = &spec,
                          .device = x->builder->device,
                          .arena = x->builder->arena,
                          .overlay = -1};
  egraph_status status = eg_cuda_add_node(&step);
  x->places[value] = find_memory(x, index);
  take_stages(x, &step, operands, x->places[value]);
  return status;
}

static egraph_status add_steps(eg_cuda_builder *builder, const eg_body *body) {
  expansion x = {.builder = builder, .body = body};
  set_values(&x);
  for (uint32_t s = 0; s < body->count; s++)
    EG_TRY(add_operator(&x, s));
  builder->kernel = "CUDA body in steps";
  return EGRAPH_OK;
}

egraph_status eg_cuda_fused(eg_cuda_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  eg_body body;
  EG_TRY(eg_body_read(&body, spec->attrs, spec->inputs, spec->input_count));
  egraph_status status = add_kernel(builder, &body);
  return status == EGRAPH_E_UNSUPPORTED ? add_steps(builder, &body) : status;
}
