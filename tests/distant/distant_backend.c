// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "exec/plugin/plugin_abi.h"
#include "tests/distant/distant.h"

typedef struct distant_program {
  eg_program base;
  egraph_allocator alloc;
  eg_program *inner;
  uint32_t operands, results;
} distant_program;

// ---- memory -----------------------------------------------------------------------

static egraph_status memory_create(eg_backend *backend, size_t bytes,
                                   eg_device_memory *out) {
  size_t room = (bytes + EG_DEVICE_ALIGNMENT - 1) & ~(size_t)(EG_DEVICE_ALIGNMENT - 1);
  *out = (eg_device_memory){.bytes = bytes, .owner = backend};
  if (bytes == 0) return EGRAPH_OK;
  void *memory = aligned_alloc(EG_DEVICE_ALIGNMENT, room);
  if (memory == NULL) return EG_FAIL(EGRAPH_E_MEMORY, "no device memory");
  memset(memory, 0, room);
  out->address = distant_address(memory);
  return EGRAPH_OK;
}

static void memory_destroy(eg_backend *backend, eg_device_memory *memory) {
  (void)backend;
  free(host_address(memory->address));
}

static egraph_status upload(eg_backend *backend, void *to, const void *from,
                            size_t bytes) {
  (void)backend;
  if (bytes != 0) memcpy(host_address(to), from, bytes);
  return EGRAPH_OK;
}

static egraph_status download(eg_backend *backend, void *to, const void *from,
                              size_t bytes) {
  (void)backend;
  if (bytes != 0) memcpy(to, host_address(from), bytes);
  return EGRAPH_OK;
}

static egraph_status copy_rows(eg_backend *backend, void *to, size_t to_step,
                               const void *from, size_t from_step, size_t bytes,
                               size_t count) {
  char *target = host_address(to);
  const char *source = host_address(from);
  (void)backend;
  for (size_t i = 0; i < count; i++)
    memcpy(target + i * to_step, source + i * from_step, bytes);
  return EGRAPH_OK;
}

static egraph_status fill_memory(eg_backend *backend, void *to, egraph_dtype dtype,
                                 double value, size_t count) {
  eg_tensor tensor = {.type = {.dtype = dtype}, .data = host_address(to)};
  (void)backend;
  for (size_t i = 0; i < count; i++)
    eg_tensor_set_double(&tensor, (int64_t)i, value);
  return EGRAPH_OK;
}

static egraph_status queue(eg_backend *backend, eg_device_queue *out) {
  *out = (eg_device_queue){.stream = backend};
  return EGRAPH_OK;
}

// ---- programs: reference kernels on host addresses --------------------------------

static egraph_status program_prepare(const eg_program *base, void *const *operands,
                                     void *const *constants) {
  (void)base, (void)operands, (void)constants;
  return EGRAPH_OK;
}

static egraph_status program_bind(const eg_program *base, const eg_bindings *bindings,
                                  eg_launch **out) {
  const distant_program *program = (const distant_program *)base;
  void *operands[64], *results[64];
  if (program->operands > 64 || program->results > 64)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "too many tensors for a test");
  for (uint32_t i = 0; i < program->operands; i++)
    operands[i] = host_address(bindings->operands[i]);
  for (uint32_t i = 0; i < program->results; i++)
    results[i] = host_address(bindings->results[i]);
  eg_bindings inner = {.operands = operands,
                       .results = results,
                       .scratch = host_address(bindings->scratch)};
  return program->inner->vtable->bind(program->inner, &inner, out);
}

static void program_destroy(eg_program *base) {
  distant_program *program = (distant_program *)base;
  program->inner->vtable->destroy(program->inner);
  eg_free(program->alloc, program, 1, sizeof *program);
}

static const eg_program_vtable program_vtable = {
    .destroy = program_destroy, .prepare = program_prepare, .bind = program_bind};

static egraph_status compile(eg_backend *backend, const eg_compile_request *request,
                             eg_program **out) {
  const eg_node_spec *spec = request->spec;
  distant_program *program;
  EG_TRY(eg_alloc(backend->alloc, 1, sizeof *program, &program));
  *program = (distant_program){.base.vtable = &program_vtable,
                               .alloc = backend->alloc,
                               .operands = spec->input_count,
                               .results = spec->result_count};
  egraph_status status =
      eg_plugin_host_get()->reference_compile(backend->alloc, spec, &program->inner);
  if (status != EGRAPH_OK) {
    eg_free(backend->alloc, program, 1, sizeof *program);
    return status;
  }
  program->base.info = program->inner->info;
  *out = &program->base;
  return EGRAPH_OK;
}

// ---- the back-end -----------------------------------------------------------------

extern const eg_backend_vtable distant_backend;

static egraph_status create(egraph_allocator alloc, const eg_backend_options *options,
                            eg_backend **out) {
  eg_backend *backend;
  (void)options;
  EG_TRY(eg_alloc(alloc, 1, sizeof *backend, &backend));
  *backend = (eg_backend){.vtable = &distant_backend,
                          .alloc = alloc,
                          .threads = 1,
                          .total_bytes = 3000000000};
  *out = backend;
  return EGRAPH_OK;
}

static void destroy(eg_backend *backend) {
  eg_free(backend->alloc, backend, 1, sizeof *backend);
}

static egraph_status describe(const eg_backend *backend, eg_text *out) {
  (void)backend;
  return eg_text_append(out, "distant, 1 thread");
}

static uint32_t formats(const eg_backend *backend) {
  (void)backend;
  return 1u << EG_FORMAT_PLAIN;
}

const eg_backend_vtable distant_backend = {.name = "cuda",
                                           .create = create,
                                           .destroy = destroy,
                                           .describe = describe,
                                           .formats = formats,
                                           .memory_create = memory_create,
                                           .memory_destroy = memory_destroy,
                                           .upload = upload,
                                           .download = download,
                                           .copy_rows = copy_rows,
                                           .fill = fill_memory,
                                           .queue = queue,
                                           .compile = compile};

static egraph_status open_plugin(const eg_plugin_host *host) {
  eg_plugin_host_set(host);
  return EGRAPH_OK;
}

extern const eg_transport_vtable distant_transport;
extern __attribute__((visibility("default"))) const eg_plugin_entry eg_cuda_plugin;
const eg_plugin_entry eg_cuda_plugin = {
    .abi = EG_PLUGIN_ABI, .open = open_plugin, .backend = &distant_backend};
extern __attribute__((visibility("default"))) const eg_plugin_entry eg_nccl_plugin;
const eg_plugin_entry eg_nccl_plugin = {
    .abi = EG_PLUGIN_ABI, .open = open_plugin, .transport = &distant_transport};
