// Buffers have an atomic reference count: graphs in different threads may share them.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "pcg/graph/weights.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/owner.h"

struct eg_buffer {
  egraph_allocator alloc;
  atomic_uint references;
  size_t size;
  void *data;
  void *mapping; // NULL: data is from the allocator
  size_t mapping_size;
};

/// Returns at least one byte, so that the data of an empty tensor is a valid pointer.
static size_t allocated_size(size_t size) { return size != 0 ? size : 1; }

/// Creates a buffer without data; eg_buffer_release frees it.
static egraph_status create_empty(const egraph_allocator *alloc, size_t size,
                                  eg_buffer **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  EG_TRY(eg_alloc(heap, 1, sizeof **out, out));
  (*out)->alloc = heap;
  (*out)->size = size;
  atomic_init(&(*out)->references, 1);
  return EGRAPH_OK;
}

static void eg_buffer_destroy(eg_buffer *buffer) { eg_buffer_release(buffer); }
EG_HOLDER_DEFINE(eg_buffer)

egraph_status eg_buffer_create(const egraph_allocator *alloc, size_t size,
                               eg_buffer **out) {
  EG_HELD(eg_buffer, buffer);
  EG_TRY(create_empty(alloc, size, &buffer));
  EG_HAND_OVER(eg_alloc(buffer->alloc, allocated_size(size), 1, &buffer->data), buffer,
               out);
}

static egraph_status fail_io(const char *path, const char *what) {
  return EG_FAIL(EGRAPH_E_IO, "%s: cannot %s: %s", path, what, strerror(errno));
}

/// Checks that a range of bytes is in the file and maps the pages around it.
static egraph_status map_range(eg_buffer *buffer, int file, const char *path,
                               uint64_t offset) {
  struct stat info;
  if (fstat(file, &info) != 0) return fail_io(path, "read its size");
  if (!S_ISREG(info.st_mode)) return EG_FAIL(EGRAPH_E_IO, "%s: not a regular file", path);
  uint64_t length = (uint64_t)info.st_size;
  if (offset > length || buffer->size > length - offset)
    return EG_FAIL(EGRAPH_E_IO,
                   "%s: has %llu bytes, but %llu bytes at offset %llu are asked for; the "
                   "file is truncated or belongs to another model",
                   path, (unsigned long long)length, (unsigned long long)buffer->size,
                   (unsigned long long)offset);
  long page = sysconf(_SC_PAGESIZE);
  size_t slack = (size_t)(offset % (uint64_t)page);
  buffer->mapping_size = buffer->size + slack;
  void *mapping = mmap(NULL, buffer->mapping_size, PROT_READ, MAP_PRIVATE, file,
                       (off_t)(offset - slack));
  if (mapping == MAP_FAILED) return fail_io(path, "map it");
  buffer->mapping = mapping;
  buffer->data = (char *)mapping + slack;
  return EGRAPH_OK;
}

egraph_status eg_buffer_map(const egraph_allocator *alloc, const char *path,
                            uint64_t offset, size_t size, eg_buffer **out) {
  if (size == 0) return eg_buffer_create(alloc, 0, out);
  EG_HELD(eg_buffer, buffer);
  EG_TRY(create_empty(alloc, size, &buffer));
  int file = open(path, O_RDONLY | O_CLOEXEC);
  egraph_status status =
      file < 0 ? fail_io(path, "open it") : map_range(buffer, file, path, offset);
  if (file >= 0) (void)close(file); // the mapping keeps the file
  EG_HAND_OVER(status, buffer, out);
}

eg_buffer *eg_buffer_retain(eg_buffer *buffer) {
  if (buffer != NULL)
    (void)atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);
  return buffer;
}

void eg_buffer_release(eg_buffer *buffer) {
  if (buffer == NULL) return;
  if (atomic_fetch_sub_explicit(&buffer->references, 1, memory_order_acq_rel) != 1)
    return;
  if (buffer->mapping != NULL)
    (void)munmap(buffer->mapping, buffer->mapping_size);
  else
    eg_free(buffer->alloc, buffer->data, allocated_size(buffer->size), 1);
  eg_free(buffer->alloc, buffer, 1, sizeof *buffer);
}

const void *eg_buffer_data(const eg_buffer *buffer) { return buffer->data; }

void *eg_buffer_writable(eg_buffer *buffer) {
  assert(buffer->mapping == NULL);
  assert(atomic_load(&buffer->references) == 1);
  return buffer->data;
}

size_t eg_buffer_size(const eg_buffer *buffer) { return buffer->size; }

// ---- drawn values ---------------------------------------------------------------------

static eg_rng generator_of(const char *name, uint64_t seed) {
  return (eg_rng){.state = eg_hash_bytes(eg_hash_mix(seed), name, strlen(name))};
}

static void draw_uniform(eg_rng rng, double low, double high, const eg_tensor *tensor) {
  int64_t count = eg_type_elements(&tensor->type);
  if (!eg_dtype_is_float(tensor->type.dtype)) {
    for (int64_t i = 0; i < count; i++)
      eg_tensor_set_int(tensor, i, (int64_t)(eg_rng_next(&rng) >> 63));
    return;
  }
  if (tensor->type.dtype == EGRAPH_FLOAT32) {
    float *data = tensor->data; // the usual case, without a call per element
    for (int64_t i = 0; i < count; i++)
      data[i] = (float)(low + (high - low) * eg_rng_unit(&rng));
    return;
  }
  for (int64_t i = 0; i < count; i++)
    eg_tensor_set_double(tensor, i, low + (high - low) * eg_rng_unit(&rng));
}

void eg_weight_draw(const char *name, uint64_t seed, const eg_tensor *tensor) {
  const eg_type *type = &tensor->type;
  const int64_t *dims = type->dims;
  eg_rng rng = generator_of(name, seed);
  if (type->rank <= 1) {
    draw_uniform(rng, 0.5, 1.5, tensor);
    return;
  }
  int64_t fan_in = type->rank == 2
                       ? (dims[0] > dims[1] ? dims[0] : dims[1])
                       : eg_type_elements(type) / (dims[0] != 0 ? dims[0] : 1);
  double bound = sqrt(3.0 / fmax((double)fan_in, 1.0));
  draw_uniform(rng, -bound, bound, tensor);
}

void eg_input_draw(const char *name, uint64_t seed, const eg_tensor *tensor) {
  draw_uniform(generator_of(name, seed), -1.0, 1.0, tensor);
}
