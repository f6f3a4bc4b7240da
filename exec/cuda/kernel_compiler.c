// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernel_compiler.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "exec/cuda/device_text.h"

enum { MOST_FILES = 8, MOST_ARCHITECTURES = 64, LOG_BYTES = 1500 };

// NVRTC's header comes with a package of its own, so what is needed of it stands here.
typedef struct nvrtc_program nvrtc_program;
enum { SUCCESS = 0 };

/// The functions of NVRTC that this file calls; all return a status.
#define CALL_LIST(X)                                                                     \
  X(nvrtcVersion, (int *major, int *minor))                                              \
  X(nvrtcGetNumSupportedArchs, (int *count))                                             \
  X(nvrtcGetSupportedArchs, (int *out))                                                  \
  X(nvrtcCreateProgram, (nvrtc_program * *out, const char *source, const char *name,     \
                         int count, const char *const *texts, const char *const *names)) \
  X(nvrtcDestroyProgram, (nvrtc_program * *program))                                     \
  X(nvrtcCompileProgram,                                                                 \
    (nvrtc_program * program, int count, const char *const *options))                    \
  X(nvrtcGetProgramLogSize, (nvrtc_program * program, size_t * bytes))                   \
  X(nvrtcGetProgramLog, (nvrtc_program * program, char *out))                            \
  X(nvrtcGetCUBINSize, (nvrtc_program * program, size_t * bytes))                        \
  X(nvrtcGetCUBIN, (nvrtc_program * program, char *out))                                 \
  X(nvrtcGetPTXSize, (nvrtc_program * program, size_t * bytes))                          \
  X(nvrtcGetPTX, (nvrtc_program * program, char *out))

#define CALL_MEMBER(name, parameters) int(*name) parameters;
typedef struct calls {
  CALL_LIST(CALL_MEMBER)
} calls;

/// Finds a function; its address is copied, as C has no cast from void * to a function.
static bool find_call(void *library, const char *name, void *out) {
  void *address = dlsym(library, name);
  memcpy(out, &address, sizeof address);
  return address != NULL;
}

/// Loads NVRTC of the toolkit's version, or any; it stays loaded. False: there is none.
static bool open_library(calls *out) {
  char versioned[32];
  (void)snprintf(versioned, sizeof versioned, "libnvrtc.so.%d", CUDART_VERSION / 1000);
  const char *const names[] = {versioned, "libnvrtc.so"};
  void *library = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names && library == NULL; i++)
    library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == NULL) return false;
  bool has_all = true;
#define FIND_CALL(name, parameters)                                                      \
  has_all = find_call(library, #name, &out->name) && has_all;
  CALL_LIST(FIND_CALL)
  (void)dlclose(library);
  return has_all;
}

uint32_t eg_kernel_compiler_version(void) {
  calls nvrtc;
  int major = 0, minor = 0;
  if (!open_library(&nvrtc) || nvrtc.nvrtcVersion(&major, &minor) != SUCCESS) return 0;
  return (uint32_t)(major * 1000 + minor * 10);
}

/// A program with its options. `is_portable`: NVRTC does not know the device, so it makes
/// PTX, which the driver compiles.
typedef struct compilation {
  calls nvrtc;
  nvrtc_program *program;
  bool is_portable;
  char architecture[48];
} compilation;

/// Chooses the device's own code where NVRTC knows the device, otherwise PTX of the
/// newest architecture that is older than the device.
static void choose_architecture(compilation *c, int sm) {
  int known[MOST_ARCHITECTURES] = {0}, count = 0, best = 0;
  if (c->nvrtc.nvrtcGetNumSupportedArchs(&count) != SUCCESS ||
      count > MOST_ARCHITECTURES || c->nvrtc.nvrtcGetSupportedArchs(known) != SUCCESS)
    count = 0;
  for (int i = 0; i < count; i++)
    if (known[i] <= sm && known[i] > best) best = known[i];
  c->is_portable = best != sm && best != 0;
  (void)snprintf(c->architecture, sizeof c->architecture, "--gpu-architecture=%s_%d",
                 c->is_portable ? "compute" : "sm", best != 0 ? best : sm);
}

static egraph_status create_program(compilation *c, const char *source) {
  char names[MOST_FILES][96];
  const char *texts[MOST_FILES], *included[MOST_FILES];
  if (eg_device_text_file_count > MOST_FILES)
    return EG_FAIL(EGRAPH_E_INTERNAL, "NVRTC: too many files to include");
  for (size_t i = 0; i < eg_device_text_file_count; i++) {
    (void)snprintf(names[i], sizeof names[i], "exec/cuda/device/%s",
                   eg_device_text_files[i].name);
    included[i] = names[i];
    texts[i] = (const char *)eg_device_text_files[i].text; // ends with a NUL
  }
  if (c->nvrtc.nvrtcCreateProgram(&c->program, source, "egraph_body.cu",
                                  (int)eg_device_text_file_count, texts,
                                  included) == SUCCESS)
    return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_INTERNAL, "NVRTC: it makes no program of a source");
}

/// Fails with the beginning of the compiler's messages.
static egraph_status fail_compilation(egraph_allocator alloc, compilation *c) {
  size_t bytes = 0;
  char *log = NULL;
  if (c->nvrtc.nvrtcGetProgramLogSize(c->program, &bytes) != SUCCESS) bytes = 0;
  EG_TRY(eg_alloc(alloc, bytes + 1, 1, &log));
  log[0] = '\0';
  if (bytes != 0) (void)c->nvrtc.nvrtcGetProgramLog(c->program, log);
  egraph_status status = EG_FAIL(
      EGRAPH_E_INTERNAL,
      "NVRTC: it refuses a kernel of a fused node for %s; please report this: %.*s",
      c->architecture, LOG_BYTES, log);
  eg_free(alloc, log, bytes + 1, 1);
  return status;
}

static egraph_status take_code(egraph_allocator alloc, compilation *c,
                               eg_kernel_code *out) {
  const calls *n = &c->nvrtc;
  size_t bytes = 0;
  int result = c->is_portable ? n->nvrtcGetPTXSize(c->program, &bytes)
                              : n->nvrtcGetCUBINSize(c->program, &bytes);
  if (result != SUCCESS || bytes == 0)
    return EG_FAIL(EGRAPH_E_INTERNAL, "NVRTC: it made no code for %s", c->architecture);
  *out = (eg_kernel_code){.count = bytes};
  EG_TRY(eg_alloc(alloc, bytes, 1, &out->bytes));
  result = c->is_portable ? n->nvrtcGetPTX(c->program, out->bytes)
                          : n->nvrtcGetCUBIN(c->program, out->bytes);
  if (result == SUCCESS) return EGRAPH_OK;
  eg_free(alloc, out->bytes, bytes, 1);
  return EG_FAIL(EGRAPH_E_INTERNAL, "NVRTC: it gives no code for %s", c->architecture);
}

egraph_status eg_kernel_compile(egraph_allocator alloc, const char *source, int sm,
                                eg_kernel_code *out) {
  compilation c = {.program = NULL};
  if (!open_library(&c.nvrtc))
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "there is no NVRTC (libnvrtc.so.%d)",
                   CUDART_VERSION / 1000);
  choose_architecture(&c, sm);
  EG_TRY(create_program(&c, source));
  const char *options[] = {c.architecture, "--std=c++17"};
  egraph_status status = c.nvrtc.nvrtcCompileProgram(c.program, 2, options) == SUCCESS
                             ? take_code(alloc, &c, out)
                             : fail_compilation(alloc, &c);
  (void)c.nvrtc.nvrtcDestroyProgram(&c.program);
  return status;
}
