// A program keeps a copy of the spec. A launch has one row-major host tensor per operand
// and result; a tensor in another memory format has a row-major twin in the scratch
// memory.
// SPDX-License-Identifier: Apache-2.0
#include "exec/backend.h"

#include <assert.h>

#include "base/owner.h"
#include "pcg/graph/node_spec.h"

typedef struct reference_program {
  eg_program base;
  egraph_allocator alloc;
  eg_arena arena;
  eg_node_spec spec;
} reference_program;

// A tensor as it is stored and as the kernel sees it: equal if the format is plain.
typedef struct tensor_pair {
  eg_tensor stored, plain;
} tensor_pair;

typedef struct reference_launch {
  eg_launch base;
  egraph_allocator alloc;
  eg_arena arena;
  eg_kernel_call call;
  tensor_pair *operands, *results;
} reference_launch;

// ---- launch ---------------------------------------------------------------------

static void launch_destroy(eg_launch *base) {
  reference_launch *launch = (reference_launch *)base;
  eg_arena_deinit(&launch->arena);
  eg_free(launch->alloc, launch, 1, sizeof *launch);
}

static bool has_twin(const tensor_pair *pair) {
  return pair->stored.data != pair->plain.data;
}

static egraph_status launch_run(eg_launch *base) {
  reference_launch *launch = (reference_launch *)base;
  for (uint32_t i = 0; i < launch->call.input_count; i++)
    if (has_twin(&launch->operands[i]))
      EG_TRY(eg_tensor_reorder(&launch->operands[i].stored, &launch->operands[i].plain));
  EG_TRY(eg_op_run(&launch->call));
  for (uint32_t i = 0; i < launch->call.output_count; i++)
    if (has_twin(&launch->results[i]))
      EG_TRY(eg_tensor_reorder(&launch->results[i].plain, &launch->results[i].stored));
  return EGRAPH_OK;
}

static const eg_launch_vtable launch_vtable = {.destroy = launch_destroy,
                                               .run = launch_run};

// Makes a pair (stored tensor, row-major twin) for each of `count` tensors; memory for
// twins comes from *inout_scratch.
static egraph_status make_pairs(eg_arena *arena, const eg_type *types, uint32_t count,
                                void *const *addresses, char **inout_scratch,
                                tensor_pair **out_pairs, const eg_tensor **out_tensors) {
  tensor_pair *pairs = NULL;
  eg_tensor *tensors = NULL;
  if (count != 0) {
    EG_TRY(eg_arena_alloc(arena, count, sizeof *pairs, &pairs));
    EG_TRY(eg_arena_alloc(arena, count, sizeof *tensors, &tensors));
  }
  for (uint32_t i = 0; i < count; i++) {
    eg_type plain = eg_type_plain(&types[i]);
    pairs[i].stored = (eg_tensor){.type = types[i], .data = addresses[i]};
    pairs[i].plain = (eg_tensor){.type = plain, .data = addresses[i]};
    if (types[i].layout.format != EG_FORMAT_PLAIN) {
      pairs[i].plain.data = *inout_scratch;
      *inout_scratch += eg_device_aligned(eg_type_bytes(&plain));
    }
    tensors[i] = pairs[i].plain;
  }
  *out_pairs = pairs;
  *out_tensors = tensors;
  return EGRAPH_OK;
}

static egraph_status fill_launch(reference_launch *launch,
                                 const reference_program *program,
                                 const eg_bindings *bindings) {
  const eg_node_spec *spec = &program->spec;
  char *scratch = bindings->scratch;
  launch->call = (eg_kernel_call){.attrs = spec->attrs,
                                  .input_count = spec->input_count,
                                  .output_count = spec->result_count,
                                  .alloc = program->alloc};
  EG_TRY(make_pairs(&launch->arena, spec->inputs, spec->input_count, bindings->operands,
                    &scratch, &launch->operands, &launch->call.inputs));
  return make_pairs(&launch->arena, spec->results, spec->result_count, bindings->results,
                    &scratch, &launch->results, &launch->call.outputs);
}

static egraph_status program_bind(const eg_program *base, const eg_bindings *bindings,
                                  eg_launch **out) {
  const reference_program *program = (const reference_program *)base;
  reference_launch *launch;
  EG_TRY(eg_alloc(program->alloc, 1, sizeof *launch, &launch));
  launch->base.vtable = &launch_vtable;
  launch->alloc = program->alloc;
  eg_arena_init(&launch->arena, program->alloc);
  EG_HAND_OVER_OR_DESTROY(fill_launch(launch, program, bindings), &launch->base,
                          launch_destroy, out);
}

// ---- program --------------------------------------------------------------------

static void program_destroy(eg_program *base) {
  reference_program *program = (reference_program *)base;
  eg_arena_deinit(&program->arena);
  eg_free(program->alloc, program, 1, sizeof *program);
}

static const eg_program_vtable program_vtable = {.destroy = program_destroy,
                                                 .bind = program_bind};

static size_t twin_bytes(const eg_type *types, uint32_t count) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < count; i++) {
    eg_type plain = eg_type_plain(&types[i]);
    if (types[i].layout.format != EG_FORMAT_PLAIN)
      bytes += eg_device_aligned(eg_type_bytes(&plain));
  }
  return bytes;
}

/// True when a pointwise operator may run over the elements in their stored order: all
/// tensors have one format without padding, or are scalars.
static bool is_flat(const eg_node_spec *spec) {
  const eg_type *made = &spec->results[0];
  bool is_pointwise =
      (eg_op_info_of((eg_op)spec->attrs->op)->flags & EG_OPF_POINTWISE) != 0;
  if (!is_pointwise || spec->result_count != 1 ||
      made->layout.format == EG_FORMAT_PLAIN ||
      made->dims[1] % eg_format_block((eg_format)made->layout.format) != 0)
    return false;
  for (uint32_t i = 0; i < spec->input_count; i++) {
    const eg_type *operand = &spec->inputs[i];
    bool is_alike = eg_type_same_shape(operand, made) &&
                    operand->layout.format == made->layout.format;
    if (!is_alike && eg_type_elements(operand) != 1) return false;
  }
  return true;
}

static egraph_status flatten(eg_arena *arena, const eg_type *types, uint32_t count,
                             int64_t elements, const eg_type **out) {
  assert(elements >= 0);
  eg_type *flat;
  EG_TRY(eg_arena_alloc(arena, count, sizeof *flat, &flat));
  for (uint32_t i = 0; i < count; i++)
    flat[i] =
        eg_type_of(types[i].dtype, eg_type_elements(&types[i]) == elements, &elements);
  *out = flat;
  return EGRAPH_OK;
}

static uint64_t in_place(const eg_node_spec *spec) {
  uint64_t results = eg_op_in_place((eg_op)spec->attrs->op);
  for (uint32_t r = 0; r < spec->result_count; r++)
    if (r >= spec->input_count || !eg_type_same(&spec->inputs[r], &spec->results[r]))
      results &= ~eg_operand_bit(r);
  return results;
}

/// Copies the spec in the form in which the kernel reads it, and describes the program.
static egraph_status fill_program(reference_program *program, const eg_node_spec *spec) {
  eg_node_spec *own = &program->spec;
  EG_TRY(eg_spec_copy(&program->arena, spec, own));
  if (is_flat(spec)) {
    int64_t elements = eg_type_elements(&spec->results[0]);
    EG_TRY(flatten(&program->arena, spec->inputs, spec->input_count, elements,
                   &own->inputs));
    EG_TRY(flatten(&program->arena, spec->results, 1, elements, &own->results));
  }
  program->base.info =
      (eg_program_info){.kernel = "reference",
                        .overlay = -1,
                        .in_place = in_place(spec),
                        .kept = spec->weight_mask,
                        .scratch_bytes = twin_bytes(own->inputs, own->input_count) +
                                         twin_bytes(own->results, own->result_count)};
  return EGRAPH_OK;
}

egraph_status eg_reference_compile(egraph_allocator alloc, const eg_node_spec *spec,
                                   eg_program **out) {
  eg_op op = (eg_op)spec->attrs->op;
  if (op == EG_OP_INPUT || op == EG_OP_WEIGHT || op == EG_OP_PART || op == EG_OP_OPAQUE)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s cannot be executed: it has no kernel",
                   eg_op_info_of(op)->name);
  reference_program *program;
  EG_TRY(eg_alloc(alloc, 1, sizeof *program, &program));
  program->base.vtable = &program_vtable;
  program->alloc = alloc;
  eg_arena_init(&program->arena, alloc);
  EG_HAND_OVER_OR_DESTROY(fill_program(program, spec), &program->base, program_destroy,
                          out);
}

// ---- back-end -------------------------------------------------------------------

static egraph_status reference_create(egraph_allocator alloc,
                                      const eg_backend_options *options,
                                      eg_backend **out) {
  (void)options;
  eg_backend *backend;
  EG_TRY(eg_alloc(alloc, 1, sizeof *backend, &backend));
  *backend = (eg_backend){.vtable = &eg_reference_backend, .alloc = alloc, .threads = 1};
  *out = backend;
  return EGRAPH_OK;
}

static void reference_destroy(eg_backend *backend) {
  eg_free(backend->alloc, backend, 1, sizeof *backend);
}

static egraph_status reference_describe(const eg_backend *backend, eg_text *out) {
  (void)backend;
  EG_TRY(eg_host_describe(out));
  return eg_text_append(out, "; reference kernels; 1 thread");
}

static uint32_t reference_formats(const eg_backend *backend) {
  (void)backend;
  return 1u << EG_FORMAT_PLAIN;
}

static egraph_status reference_compile(eg_backend *backend,
                                       const eg_compile_request *request,
                                       eg_program **out) {
  EG_TRY(eg_reference_compile(backend->alloc, request->spec, out));
  (*out)->info.native = true; // for this back-end the reference kernel is native
  return EGRAPH_OK;
}

const eg_backend_vtable eg_reference_backend = {
    .name = "reference",
    .host_memory = true,
    .create = reference_create,
    .destroy = reference_destroy,
    .describe = reference_describe,
    .formats = reference_formats,
    .memory_create = eg_host_memory_create,
    .memory_destroy = eg_host_memory_destroy,
    .compile = reference_compile,
};
