// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "exec/host_memory.h"

#include <unistd.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif

egraph_status eg_host_memory_create(eg_backend *backend, size_t bytes,
                                    eg_device_memory *out) {
  if (bytes == 0) {
    *out = (eg_device_memory){0};
    return EGRAPH_OK;
  }
  if (bytes > SIZE_MAX - EG_DEVICE_ALIGNMENT)
    return EG_FAIL(EGRAPH_E_MEMORY, "%zu bytes of device memory do not exist", bytes);
  char *owner;
  EG_TRY(eg_alloc(backend->alloc, bytes + EG_DEVICE_ALIGNMENT, 1, &owner));
  size_t excess = (uintptr_t)owner % EG_DEVICE_ALIGNMENT;
  *out = (eg_device_memory){
      .address = owner + (EG_DEVICE_ALIGNMENT - excess), .bytes = bytes, .owner = owner};
  return EGRAPH_OK;
}

void eg_host_memory_destroy(eg_backend *backend, eg_device_memory *memory) {
  eg_free(backend->alloc, memory->owner, memory->bytes + EG_DEVICE_ALIGNMENT, 1);
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
