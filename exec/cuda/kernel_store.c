// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernel_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/owner.h"
#include "base/strmap.h"
#include "base/text.h"
#include "exec/cuda/device_text.h"
#include "exec/cuda/kernel_compiler.h"

enum { PATH_BYTES = 4096, MOST_FILE_BYTES = 64 << 20 };

typedef struct stored_kernel {
  cudaLibrary_t library;
  cudaKernel_t kernel;
} stored_kernel;
EG_VEC_DEFINE(stored_kernels, stored_kernel);

struct eg_kernel_store {
  egraph_allocator alloc;
  int sm;
  uint32_t version;        // of the compiler; 0: there is none
  uint64_t headers;        // a hash of what sources include
  char folder[PATH_BYTES]; // ""; no files
  eg_strmap numbers;       // of kernels, by source
  stored_kernels kernels;
};

// ---- the folder -----------------------------------------------------------------------

/// Makes folder `path`/`name` and appends the name to the path.
static bool enter_folder(char path[PATH_BYTES], const char *name) {
  size_t length = strlen(path);
  int added = snprintf(path + length, PATH_BYTES - length, "%s", name);
  if (added < 0 || (size_t)added >= PATH_BYTES - length) return false;
  (void)mkdir(path, 0777);
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/// Finds the folder of the user's caches. This is the only place in the library that
/// reads the environment: like the vendors' libraries, which keep such files too, a
/// plugin is not told by its caller where they are.
static void find_folder(char out[PATH_BYTES]) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  bool is_given = cache != NULL && cache[0] == '/';
  const char *base = is_given ? cache : home;
  out[0] = '\0';
  if (base == NULL || base[0] != '/' || !enter_folder(out, base) ||
      (!is_given && !enter_folder(out, "/.cache")) || !enter_folder(out, "/egraph") ||
      !enter_folder(out, "/kernels"))
    out[0] = '\0';
}

// ---- files ----------------------------------------------------------------------------

/// The beginning of a file; the key, the source and the code follow.
typedef struct file_head {
  char magic[8];
  uint64_t key_bytes, code_bytes, sum; // of all that follows
} file_head;

static const char file_magic[8] = "egkernl1";

static uint64_t sum_of(const char *bytes, size_t count) {
  return eg_hash_bytes(UINT64_C(0x6567726170680001), bytes, count);
}

/// Writes what a file is for: all that its code depends on.
static egraph_status write_key(const eg_kernel_store *store, const char *source,
                               eg_text *out) {
  return eg_text_printf(out, "sm %d version %u headers %llx\n%s", store->sm,
                        store->version, (unsigned long long)store->headers, source);
}

/// Finds the file for a key; false: there are no files.
static bool find_path(const eg_kernel_store *store, const eg_text *key,
                      char out[PATH_BYTES]) {
  const char *text = eg_text_of(key);
  size_t bytes = strlen(text);
  int length = snprintf(out, PATH_BYTES, "%s/%016llx%016llx.kernel", store->folder,
                        (unsigned long long)eg_hash_bytes(1, text, bytes),
                        (unsigned long long)eg_hash_bytes(2, text, bytes));
  return store->folder[0] != '\0' && length > 0 && length < PATH_BYTES;
}

static bool is_file_of(const char *bytes, size_t count, const char *key) {
  file_head head;
  if (count < sizeof head) return false;
  memcpy(&head, bytes, sizeof head);
  size_t rest = count - sizeof head;
  return memcmp(head.magic, file_magic, sizeof file_magic) == 0 &&
         head.key_bytes == strlen(key) && head.key_bytes < rest &&
         head.code_bytes == rest - head.key_bytes &&
         head.sum == sum_of(bytes + sizeof head, rest) &&
         memcmp(bytes + sizeof head, key, head.key_bytes) == 0;
}

/// Reads code from a file; false: there is none, or it is not whole.
static bool read_code(const eg_kernel_store *store, const eg_text *key,
                      eg_kernel_code *out) {
  char path[PATH_BYTES], *bytes;
  size_t count;
  struct stat info;
  if (!find_path(store, key, path) || stat(path, &info) != 0) return false;
  if (eg_file_read(store->alloc, path, MOST_FILE_BYTES, &bytes, &count) != EGRAPH_OK)
    return false;
  const char *text = eg_text_of(key);
  bool is_whole = is_file_of(bytes, count, text);
  size_t before = sizeof(file_head) + strlen(text);
  *out = (eg_kernel_code){.count = is_whole ? count - before : 0};
  is_whole = is_whole && eg_alloc(store->alloc, out->count, 1, &out->bytes) == EGRAPH_OK;
  if (is_whole) memcpy(out->bytes, bytes + before, out->count);
  eg_free(store->alloc, bytes, count + 1, 1);
  return is_whole;
}

/// Writes code to a file. A failure is none of the caller: the next process compiles.
static void write_code(const eg_kernel_store *store, const eg_text *key,
                       const eg_kernel_code *code) {
  char path[PATH_BYTES];
  file_head head = {.key_bytes = strlen(eg_text_of(key)), .code_bytes = code->count};
  size_t rest = head.key_bytes + head.code_bytes;
  eg_text file;
  if (!find_path(store, key, path)) return;
  memcpy(head.magic, file_magic, sizeof file_magic);
  eg_text_init(&file, store->alloc);
  (void)eg_text_append_bytes(&file, (const char *)&head, sizeof head);
  (void)eg_text_append_bytes(&file, eg_text_of(key), head.key_bytes);
  if (eg_text_append_bytes(&file, code->bytes, code->count) == EGRAPH_OK) {
    head.sum = sum_of(eg_text_of(&file) + sizeof head, rest);
    memcpy(file.chars.data, &head, sizeof head);
    (void)eg_file_write(path, eg_text_of(&file), sizeof head + rest);
  }
  eg_text_deinit(&file);
}

// ---- kernels --------------------------------------------------------------------------

static egraph_status make_code(const eg_kernel_store *store, const char *source,
                               eg_kernel_code *out) {
  eg_text key;
  eg_text_init(&key, store->alloc);
  egraph_status status = write_key(store, source, &key);
  if (status == EGRAPH_OK && !read_code(store, &key, out)) {
    status = eg_kernel_compile(store->alloc, source, store->sm, out);
    if (status == EGRAPH_OK) write_code(store, &key, out);
  }
  eg_text_deinit(&key);
  return status;
}

/// Loads code. The driver loads a kernel at its first use, unless somebody asks for its
/// attributes before: a graph cannot capture that.
static egraph_status load_code(const eg_kernel_code *code, const char *name,
                               stored_kernel *out) {
  struct cudaFuncAttributes attributes;
  EG_TRY(eg_cuda_check(
      cudaLibraryLoadData(&out->library, code->bytes, NULL, NULL, 0, NULL, NULL, 0),
      "loading a compiled kernel"));
  egraph_status status =
      eg_cuda_check(cudaLibraryGetKernel(&out->kernel, out->library, name),
                    "look-up of a compiled kernel");
  if (status == EGRAPH_OK)
    status = eg_cuda_check(cudaFuncGetAttributes(&attributes, (const void *)out->kernel),
                           "loading a compiled kernel");
  if (status == EGRAPH_OK) return EGRAPH_OK;
  if (out->library != NULL) (void)cudaLibraryUnload(out->library);
  (void)cudaGetLastError(); // it must not fail the next kernel
  return status;
}

static egraph_status keep_kernel(eg_kernel_store *store, const char *source,
                                 const stored_kernel *kernel) {
  EG_TRY(stored_kernels_push(&store->kernels, *kernel));
  uint32_t number = (uint32_t)store->kernels.len - 1;
  egraph_status status = eg_strmap_put(&store->numbers, source, number);
  if (status != EGRAPH_OK) store->kernels.len--;
  return status;
}

egraph_status eg_kernel_store_get(eg_kernel_store *store, const char *source,
                                  const char *name, cudaKernel_t *out) {
  uint32_t number;
  if (store->version == 0)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "there is no compiler for kernels (NVRTC)");
  if (!eg_strmap_find(&store->numbers, source, &number)) {
    eg_kernel_code code;
    stored_kernel kernel;
    EG_TRY(make_code(store, source, &code));
    egraph_status status = load_code(&code, name, &kernel);
    eg_free(store->alloc, code.bytes, code.count, 1);
    EG_TRY(status);
    status = keep_kernel(store, source, &kernel);
    if (status != EGRAPH_OK) (void)cudaLibraryUnload(kernel.library);
    EG_TRY(status);
    number = (uint32_t)store->kernels.len - 1;
  }
  *out = store->kernels.data[number].kernel;
  return EGRAPH_OK;
}

egraph_status eg_kernel_store_create(egraph_allocator alloc, int sm,
                                     eg_kernel_store **out) {
  EG_TRY(eg_alloc(alloc, 1, sizeof **out, out));
  eg_kernel_store *store = *out;
  store->alloc = alloc;
  store->sm = sm;
  store->version = eg_kernel_compiler_version();
  store->headers = 0;
  for (size_t i = 0; i < eg_device_text_file_count; i++)
    store->headers = eg_hash_bytes(store->headers, eg_device_text_files[i].text,
                                   eg_device_text_files[i].size);
  find_folder(store->folder);
  eg_strmap_init(&store->numbers, alloc);
  stored_kernels_init(&store->kernels, alloc);
  return EGRAPH_OK;
}

void eg_kernel_store_destroy(eg_kernel_store *store) {
  if (store == NULL) return;
  for (size_t i = 0; i < store->kernels.len; i++)
    (void)cudaLibraryUnload(store->kernels.data[i].library);
  stored_kernels_deinit(&store->kernels);
  eg_strmap_deinit(&store->numbers);
  eg_free(store->alloc, store, 1, sizeof *store);
}
