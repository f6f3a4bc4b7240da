// The store of compiled kernels, over stand-ins for the compiler and the runtime: a
// source is compiled once, also by later processes, and again where a file is damaged or
// something has changed.
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // mkdtemp, setenv
#include "exec/cuda/kernel_store.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "exec/cuda/device_text.h"
#include "exec/cuda/kernel_compiler.h"
#include "tests/testing.h"

enum { PATH_BYTES = 512 };

static uint32_t version = 13000, compilations, loaded;
static bool refuses, refuses_code;
static char last_code[64];

// ---- the compiler and the runtime ---------------------------------------------------

const eg_device_text_file eg_device_text_files[] = {{"a.h", (const void *)"text", 4}};
const size_t eg_device_text_file_count = 1;

uint32_t eg_kernel_compiler_version(void) { return version; }
egraph_status eg_kernel_compile(egraph_allocator alloc, const char *source, int sm,
                                eg_kernel_code *out) {
  char code[64];
  compilations++;
  if (refuses) return EG_FAIL(EGRAPH_E_INTERNAL, "the log of the compiler");
  (void)snprintf(code, sizeof code, "code of %s for %d", source, sm);
  out->count = strlen(code) + 1;
  EG_TRY(eg_alloc(alloc, out->count, 1, &out->bytes));
  memcpy(out->bytes, code, out->count);
  return EGRAPH_OK;
}
cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                enum cudaJitOption *options, void **values,
                                unsigned count, enum cudaLibraryOption *library_options,
                                void **library_values, unsigned library_count) {
  (void)options, (void)values, (void)count;
  (void)library_options, (void)library_values, (void)library_count;
  if (refuses_code) return cudaErrorInvalidKernelImage;
  (void)snprintf(last_code, sizeof last_code, "%s", (const char *)code);
  return *library = (cudaLibrary_t)(void *)&loaded, loaded++, cudaSuccess;
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library,
                                 const char *name) {
  (void)name;
  return *kernel = (cudaKernel_t)(void *)library, cudaSuccess;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return (void)library, loaded--, cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes,
                                  const void *kernel) {
  return (void)attributes, (void)kernel, cudaSuccess;
}
cudaError_t cudaGetLastError(void) { return cudaSuccess; }
egraph_status eg_cuda_check(cudaError_t code, const char *what) {
  return code == cudaSuccess ? EGRAPH_OK : EG_FAIL(EGRAPH_E_UNSUPPORTED, "%s", what);
}

// ---- a folder for each test ---------------------------------------------------------

static char folder[PATH_BYTES / 2];

/// The only file in the folder of kernels; fails unless there are `count`.
static void find_file(int count, char out[PATH_BYTES]) {
  char kernels[PATH_BYTES];
  int files = 0;
  (void)snprintf(kernels, sizeof kernels, "%s/egraph/kernels", folder);
  DIR *in = opendir(kernels);
  assert_non_null(in);
  for (const struct dirent *entry; (entry = readdir(in)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    (void)snprintf(out, PATH_BYTES, "%s/egraph/kernels/%.64s", folder, entry->d_name);
    files++;
  }
  (void)closedir(in);
  assert_int_equal(files, count);
}

static int make_folder(void **state) {
  (void)state;
  (void)snprintf(folder, sizeof folder, "%s", "/tmp/egraph-store-XXXXXX");
  version = 13000;
  compilations = loaded = 0;
  refuses = refuses_code = false;
  return mkdtemp(folder) == NULL || setenv("XDG_CACHE_HOME", folder, 1) != 0;
}

static int remove_folder(void **state) {
  char command[PATH_BYTES];
  (void)state;
  (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

/// Gets a source in a new store, as a new process does.
static void get_anew(int sm, const char *source) {
  eg_kernel_store *store;
  cudaKernel_t kernel;
  char code[64];
  (void)snprintf(code, sizeof code, "code of %s for %d", source, sm);
  assert_ok(eg_kernel_store_create(eg_allocator_heap(), sm, &store));
  assert_ok(eg_kernel_store_get(store, source, "kernel", &kernel));
  assert_string_equal(last_code, code);
  eg_kernel_store_destroy(store);
  assert_int_equal(loaded, 0);
}

// ---- tests --------------------------------------------------------------------------

static void equal_sources_are_compiled_and_loaded_once(void **state) {
  (void)state;
  eg_kernel_store *store;
  cudaKernel_t first, second;
  assert_ok(eg_kernel_store_create(eg_allocator_heap(), 90, &store));
  for (int i = 0; i < 3; i++)
    assert_ok(eg_kernel_store_get(store, "one", "kernel", &first));
  assert_ok(eg_kernel_store_get(store, "two", "kernel", &second));
  assert_int_equal(compilations, 2);
  assert_int_equal(loaded, 2);
  eg_kernel_store_destroy(store);
  assert_int_equal(loaded, 0);
}

static void later_processes_read_files(void **state) {
  (void)state;
  char path[PATH_BYTES];
  get_anew(90, "one");
  find_file(1, path);
  get_anew(90, "one");
  assert_int_equal(compilations, 1);
  get_anew(80, "one"); // another device
  assert_int_equal(compilations, 2);
  version++; // another compiler
  get_anew(90, "one");
  assert_int_equal(compilations, 3);
}

static void damaged_files_are_compiled_again(void **state) {
  (void)state;
  char path[PATH_BYTES], *whole, *bytes;
  size_t count;
  get_anew(90, "one");
  find_file(1, path);
  assert_ok(eg_file_read(eg_allocator_heap(), path, 1 << 20, &whole, &count));
  bytes = malloc(count + 1);
  for (size_t at = 0; at <= count; at++) { // a byte that differs; at the end one more
    memcpy(bytes, whole, count);
    bytes[at] = (char)(at < count ? whole[at] ^ 0x20 : 0);
    assert_ok(eg_file_write(path, bytes, at < count ? count : count + 1));
    compilations = 0;
    get_anew(90, "one");
    assert_int_equal(compilations, 1);
  }
  for (size_t size = 0; size < count; size++) { // the end is missing
    assert_ok(eg_file_write(path, whole, size));
    compilations = 0;
    get_anew(90, "one");
    assert_int_equal(compilations, 1);
  }
  get_anew(90, "one"); // the last one has repaired the file
  assert_int_equal(compilations, 1);
  eg_free(eg_allocator_heap(), whole, count + 1, 1);
  free(bytes);
}

static void without_a_folder_sources_are_compiled_all_the_same(void **state) {
  (void)state;
  assert_int_equal(setenv("XDG_CACHE_HOME", "/proc/self/none", 1), 0);
  get_anew(90, "one");
  get_anew(90, "one");
  assert_int_equal(compilations, 2);
}

static void failures_say_what_the_compiler_says(void **state) {
  (void)state;
  eg_kernel_store *store;
  cudaKernel_t kernel;
  refuses = true;
  assert_ok(eg_kernel_store_create(eg_allocator_heap(), 90, &store));
  assert_fails(eg_kernel_store_get(store, "one", "kernel", &kernel), EGRAPH_E_INTERNAL,
               "the log of the compiler");
  refuses = false;
  refuses_code = true; // the driver is older than the compiler
  assert_fails(eg_kernel_store_get(store, "one", "kernel", &kernel), EGRAPH_E_UNSUPPORTED,
               "loading a compiled kernel");
  eg_kernel_store_destroy(store);
  version = 0;
  assert_ok(eg_kernel_store_create(eg_allocator_heap(), 90, &store));
  assert_fails(eg_kernel_store_get(store, "one", "kernel", &kernel), EGRAPH_E_UNSUPPORTED,
               "there is no compiler for kernels (NVRTC)");
  eg_kernel_store_destroy(store);
}

int main(void) {
#define IN_A_FOLDER(test)                                                                \
  cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
  const struct CMUnitTest tests[] = {
      IN_A_FOLDER(equal_sources_are_compiled_and_loaded_once),
      IN_A_FOLDER(later_processes_read_files),
      IN_A_FOLDER(damaged_files_are_compiled_again),
      IN_A_FOLDER(without_a_folder_sources_are_compiled_all_the_same),
      IN_A_FOLDER(failures_say_what_the_compiler_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
