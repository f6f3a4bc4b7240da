// Calls through the vtables of back-ends; memory and processors of the host.
// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE // madvise
#include "exec/backend.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif

// Blocks of this size use pages of this size where the system has them. Weights and
// activations that no cache holds then cover fewer pages.
enum { HUGE_PAGE = 1 << 21 };

static size_t alignment_of(size_t bytes) {
  return bytes >= HUGE_PAGE ? HUGE_PAGE : EG_DEVICE_ALIGNMENT;
}

/// Asks the system for huge pages; it may refuse. The allocator has already written to
/// the pages, so the system is asked to replace them at once (Linux 6.1) or later.
static void ask_for_huge_pages(char *address, size_t bytes) {
#ifdef MADV_HUGEPAGE
  enum { COLLAPSE = 25 }; // MADV_COLLAPSE, which older headers lack
  if (bytes < HUGE_PAGE) return;
  size_t whole = bytes & ~(size_t)(HUGE_PAGE - 1);
  if (madvise(address, whole, MADV_HUGEPAGE) == 0)
    (void)madvise(address, whole, COLLAPSE);
#else
  (void)address, (void)bytes;
#endif
}

egraph_status eg_host_memory_create(eg_backend *backend, size_t bytes,
                                    eg_device_memory *out) {
  size_t alignment = alignment_of(bytes);
  if (bytes == 0) {
    *out = (eg_device_memory){0};
    return EGRAPH_OK;
  }
  if (bytes > SIZE_MAX - alignment)
    return EG_FAIL(EGRAPH_E_MEMORY, "%zu bytes of device memory do not exist", bytes);
  char *owner;
  EG_TRY(eg_alloc(backend->alloc, bytes + alignment, 1, &owner));
  char *address = owner + (alignment - (uintptr_t)owner % alignment);
  ask_for_huge_pages(address, bytes);
  *out = (eg_device_memory){.address = address, .bytes = bytes, .owner = owner};
  return EGRAPH_OK;
}

void eg_host_memory_destroy(eg_backend *backend, eg_device_memory *memory) {
  eg_free(backend->alloc, memory->owner, memory->bytes + alignment_of(memory->bytes), 1);
}

uint32_t eg_host_processors(void) {
  long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? (uint32_t)count : 1;
}

#if defined(__x86_64__) && defined(__GNUC__)

static void read_brand(char brand[49]) {
  memset(brand, 0, 49);
  for (unsigned leaf = 0; leaf < 3; leaf++) {
    unsigned part[4] = {0};
    if (!__get_cpuid(0x80000002u + leaf, &part[0], &part[1], &part[2], &part[3])) return;
    memcpy(brand + 16 * leaf, part, sizeof part);
  }
  for (size_t len = strlen(brand); len != 0 && brand[len - 1] == ' '; len--)
    brand[len - 1] = '\0';
}

static const char *vector_instructions(void) {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
    return "avx512";
  if (__builtin_cpu_supports("avx2")) return "avx2";
  return "sse";
}

egraph_status eg_host_describe(eg_text *out) {
  char brand[49];
  read_brand(brand);
  unsigned signature = 0, b, c, d;
  if (!__get_cpuid(1, &signature, &b, &c, &d)) signature = 0;
  unsigned family = ((signature >> 8) & 0xf) + ((signature >> 20) & 0xff);
  unsigned model = ((signature >> 4) & 0xf) | ((signature >> 12) & 0xf0);
  const char *start = brand;
  while (*start == ' ')
    start++;
  return eg_text_printf(out, "%s %u.%u %s", start, family, model, vector_instructions());
}

#else

egraph_status eg_host_describe(eg_text *out) { return eg_text_append(out, "host"); }

#endif

// ---- calls through the vtables ------------------------------------------------------

void eg_backend_destroy(eg_backend *backend) {
  if (backend != NULL) backend->vtable->destroy(backend);
}

egraph_status eg_backend_upload(eg_backend *backend, void *to, const void *from,
                                size_t bytes) {
  assert(backend != NULL);
  if (backend->vtable->upload != NULL)
    return backend->vtable->upload(backend, to, from, bytes);
  if (bytes != 0) memcpy(to, from, bytes);
  return EGRAPH_OK;
}

egraph_status eg_backend_download(eg_backend *backend, void *to, const void *from,
                                  size_t bytes) {
  assert(backend != NULL);
  if (backend->vtable->download != NULL)
    return backend->vtable->download(backend, to, from, bytes);
  if (bytes != 0) memcpy(to, from, bytes);
  return EGRAPH_OK;
}

egraph_status eg_backend_begin(eg_backend *backend) {
  return backend->vtable->begin != NULL ? backend->vtable->begin(backend) : EGRAPH_OK;
}

egraph_status eg_backend_end(eg_backend *backend) {
  return backend->vtable->end != NULL ? backend->vtable->end(backend) : EGRAPH_OK;
}

void eg_device_memory_destroy(eg_backend *backend, eg_device_memory *memory) {
  if (memory->owner != NULL) backend->vtable->memory_destroy(backend, memory);
  *memory = (eg_device_memory){0};
}

egraph_status eg_program_prepare(const eg_program *program, void *const *operands,
                                 void *const *constants) {
  return program->vtable->prepare == NULL
             ? EGRAPH_OK
             : program->vtable->prepare(program, operands, constants);
}

void eg_program_destroy(eg_program *program) {
  if (program != NULL) program->vtable->destroy(program);
}

void eg_launch_destroy(eg_launch *launch) {
  if (launch != NULL) launch->vtable->destroy(launch);
}

egraph_status eg_backend_copy_rows(eg_backend *backend, void *to, size_t to_step,
                                   const void *from, size_t from_step, size_t bytes,
                                   size_t count) {
  assert(count <= 1 || (to_step >= bytes && from_step >= bytes));
  char *target = to;
  const char *source = from;
  if (bytes == 0 || count == 0) return EGRAPH_OK;
  if (backend != NULL && backend->vtable->copy_rows != NULL)
    return backend->vtable->copy_rows(backend, to, to_step, from, from_step, bytes,
                                      count);
  for (size_t i = 0; i < count; i++)
    memcpy(target + i * to_step, source + i * from_step, bytes);
  return EGRAPH_OK;
}

egraph_status eg_backend_fill(eg_backend *backend, void *to, egraph_dtype dtype,
                              double value, size_t count) {
  size_t bytes = eg_dtype_bytes(dtype);
  int64_t room = 0;
  if (count == 0) return EGRAPH_OK;
  if (backend != NULL && backend->vtable->fill != NULL)
    return backend->vtable->fill(backend, to, dtype, value, count);
  eg_tensor_set_fill(&(eg_tensor){.type = {.dtype = dtype}, .data = &room}, 0, value);
  memcpy(to, &room, bytes);
  for (size_t done = bytes, all = count * bytes; done < all;) { // doubles the filled part
    size_t next = all - done < done ? all - done : done;
    memcpy((char *)to + done, to, next);
    done += next;
  }
  return EGRAPH_OK;
}
