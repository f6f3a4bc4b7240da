// Weight bytes with an atomic reference count: graphs in different threads may share
// them.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pcg/graph/graph.h"

struct eg_buffer {
  egraph_allocator alloc;
  atomic_uint references;
  size_t size;
  void *data;
  void *mapping; // NULL: data is from the allocator
  size_t mapping_size;
};

// At least one byte is allocated, so that the data of an empty tensor is a valid pointer.
static size_t allocated_size(size_t size) { return size != 0 ? size : 1; }

egraph_status eg_buffer_create(const egraph_allocator *alloc, size_t size,
                               eg_buffer **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_buffer *buffer;
  EG_TRY(eg_alloc(heap, 1, sizeof *buffer, &buffer));
  buffer->alloc = heap;
  buffer->size = size;
  atomic_init(&buffer->references, 1);
  egraph_status status = eg_alloc(heap, allocated_size(size), 1, &buffer->data);
  if (status != EGRAPH_OK) {
    eg_free(heap, buffer, 1, sizeof *buffer);
    return status;
  }
  *out = buffer;
  return EGRAPH_OK;
}

static egraph_status io_failure(const char *path, const char *what) {
  return EG_FAIL(EGRAPH_E_IO, "%s: cannot %s: %s", path, what, strerror(errno));
}

// Checks that the range lies in the file and maps the pages around it.
static egraph_status map_range(eg_buffer *buffer, int file, const char *path,
                               uint64_t offset) {
  struct stat info;
  if (fstat(file, &info) != 0) return io_failure(path, "read its size");
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
  if (mapping == MAP_FAILED) return io_failure(path, "map it");
  buffer->mapping = mapping;
  buffer->data = (char *)mapping + slack;
  return EGRAPH_OK;
}

egraph_status eg_buffer_map(const egraph_allocator *alloc, const char *path,
                            uint64_t offset, size_t size, eg_buffer **out) {
  if (size == 0) return eg_buffer_create(alloc, 0, out);
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_buffer *buffer;
  EG_TRY(eg_alloc(heap, 1, sizeof *buffer, &buffer));
  buffer->alloc = heap;
  buffer->size = size;
  atomic_init(&buffer->references, 1);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  egraph_status status =
      file < 0 ? io_failure(path, "open it") : map_range(buffer, file, path, offset);
  if (file >= 0) (void)close(file); // the mapping keeps the file
  if (status != EGRAPH_OK) {
    eg_free(heap, buffer, 1, sizeof *buffer);
    return status;
  }
  *out = buffer;
  return EGRAPH_OK;
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
