// Kernels that are loaded while the program runs. Their code is a shared object of this
// machine (host_compiler.c), which runs them as it runs the others: eg_kernel_run is a
// thread of the kernel, eg_kernel_bytes the size of its only argument. The file stays
// open, as the checks of accesses read its symbols, and loaded, as threads have its
// shared variables.
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // memfd_create
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/gpu/emulator/emulator.h"

struct CUkern_st {
  void (*run)(const void *closure);
  size_t bytes;
};
struct CUlib_st {
  void *handle;
  struct CUkern_st kernel;
};

/// The size of a shared object, from its table of sections, which is last.
static size_t size_of_object(const char *code) {
  uint64_t sections;
  uint16_t bytes, count;
  memcpy(&sections, code + 0x28, sizeof sections);
  memcpy(&bytes, code + 0x3a, sizeof bytes);
  memcpy(&count, code + 0x3c, sizeof count);
  return (size_t)sections + (size_t)bytes * count;
}

static void *open_object(const char *code) {
  char path[64];
  size_t bytes = size_of_object(code);
  int file = memfd_create("kernel", MFD_CLOEXEC);
  if (file < 0 || write(file, code, bytes) != (ssize_t)bytes) return NULL;
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) fprintf(stderr, "emulator: %s\n", dlerror());
  return handle;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                enum cudaJitOption *options, void **values,
                                unsigned count, enum cudaLibraryOption *library_options,
                                void **library_values, unsigned library_count) {
  (void)options, (void)values, (void)count;
  (void)library_options, (void)library_values, (void)library_count;
  *library = calloc(1, sizeof **library);
  (*library)->handle = open_object(code);
  if ((*library)->handle != NULL) return cudaSuccess;
  free(*library);
  return cudaErrorInvalidKernelImage;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library,
                                 const char *name) {
  void *run = dlsym(library->handle, "eg_kernel_run");
  const unsigned *bytes = dlsym(library->handle, "eg_kernel_bytes");
  if (dlsym(library->handle, name) == NULL || run == NULL || bytes == NULL)
    return cudaErrorSymbolNotFound;
  *kernel = &library->kernel;
  memcpy(&(*kernel)->run, &run, sizeof run);
  (*kernel)->bytes = *bytes;
  return cudaSuccess;
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  free(library);
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes,
                                  const void *kernel) {
  memset(attributes, 0, sizeof *attributes);
  return kernel != NULL ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t cudaLaunchKernel(const void *function, dim3 blocks, dim3 threads,
                             void **arguments, size_t shared_bytes, cudaStream_t stream) {
  const struct CUkern_st *kernel = function;
  void *copy = malloc(kernel->bytes);
  memcpy(copy, arguments[0], kernel->bytes);
  const eg_launch_request request = {.name = "kernel of a body",
                                     .blocks = blocks.x,
                                     .threads = threads.x,
                                     .keeps_threads = true,
                                     .shared_bytes = (uint32_t)shared_bytes,
                                     .run = kernel->run,
                                     .release = free,
                                     .closure = copy,
                                     .closure_bytes = kernel->bytes};
  return eg_emulator_launch(&request, stream);
}
