// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *heap_resize(void *self, void *pointer, size_t old_size, size_t new_size) {
  (void)self;
  (void)old_size;
  if (new_size == 0) {
    free(pointer);
    return NULL;
  }
  return realloc(pointer, new_size);
}

egraph_allocator eg_allocator_heap(void) {
  return (egraph_allocator){.self = NULL, .resize = heap_resize};
}

egraph_allocator eg_allocator_or_heap(const egraph_allocator *alloc) {
  return alloc != NULL ? *alloc : eg_allocator_heap();
}

static egraph_status out_of_memory(size_t count, size_t size) {
  return EG_FAIL(EGRAPH_E_MEMORY,
                 "out of memory: could not get %zu x %zu bytes; reduce the model or the "
                 "node budget",
                 count, size);
}

egraph_status eg_resize(egraph_allocator alloc, size_t old_count, size_t new_count,
                        size_t size, void *inout_pointer) {
  if (size != 0 && new_count > PTRDIFF_MAX / size) return out_of_memory(new_count, size);
  void *pointer;
  memcpy(&pointer, inout_pointer, sizeof pointer);
  void *moved = alloc.resize(alloc.self, pointer, old_count * size, new_count * size);
  if (moved == NULL && new_count * size != 0) return out_of_memory(new_count, size);
  memcpy(inout_pointer, &moved, sizeof moved);
  return EGRAPH_OK;
}

egraph_status eg_alloc(egraph_allocator alloc, size_t count, size_t size,
                       void *out_pointer) {
  void *pointer = NULL;
  if (count != 0 && size != 0) {
    EG_TRY(eg_resize(alloc, 0, count, size, &pointer));
    memset(pointer, 0, count * size);
  }
  memcpy(out_pointer, &pointer, sizeof pointer);
  return EGRAPH_OK;
}

void eg_free(egraph_allocator alloc, void *pointer, size_t count, size_t size) {
  if (pointer != NULL) (void)alloc.resize(alloc.self, pointer, count * size, 0);
}

egraph_status eg_string_copy(egraph_allocator alloc, const char *text, char **out) {
  size_t bytes = strlen(text) + 1;
  char *copy;
  EG_TRY(eg_alloc(alloc, bytes, 1, &copy));
  memcpy(copy, text, bytes);
  *out = copy;
  return EGRAPH_OK;
}

void eg_string_free(egraph_allocator alloc, char *text) {
  if (text != NULL) eg_free(alloc, text, strlen(text) + 1, 1);
}

// An arena is a list of blocks. Each block is twice as large as the block before, up to a
// maximum; an arena that is filled and emptied many times therefore clears little. A
// request larger than half of the maximum gets its own block, which is listed behind the
// newest block: the free bytes of the newest block stay usable.
struct eg_arena_block {
  struct eg_arena_block *next;
  size_t size; // bytes of payload
  max_align_t payload[];
};

enum { ARENA_FIRST_BYTES = 4 * 1024, ARENA_BLOCK_BYTES = 64 * 1024 };

void eg_arena_init(eg_arena *arena, egraph_allocator alloc) {
  *arena = (eg_arena){.alloc = alloc};
}

static void free_blocks(eg_arena *arena, struct eg_arena_block *block) {
  while (block != NULL) {
    struct eg_arena_block *next = block->next;
    arena->bytes -= sizeof *block + block->size;
    eg_free(arena->alloc, block, 1, sizeof *block + block->size);
    block = next;
  }
}

void eg_arena_deinit(eg_arena *arena) {
  free_blocks(arena, arena->blocks);
  eg_arena_init(arena, arena->alloc);
}

void eg_arena_clear(eg_arena *arena) {
  struct eg_arena_block *newest = arena->blocks;
  if (newest == NULL) return;
  free_blocks(arena, newest->next);
  newest->next = NULL;
  memset(newest->payload, 0, arena->used);
  arena->used = 0;
}

static egraph_status create_block(eg_arena *arena, size_t size,
                                  struct eg_arena_block **out) {
  struct eg_arena_block *block;
  if (size > PTRDIFF_MAX - sizeof *block) return out_of_memory(1, size);
  EG_TRY(eg_alloc(arena->alloc, 1, sizeof *block + size, &block));
  block->size = size;
  arena->bytes += sizeof *block + size;
  *out = block;
  return EGRAPH_OK;
}

static egraph_status alloc_alone(eg_arena *arena, size_t bytes, void **out) {
  struct eg_arena_block *block;
  EG_TRY(create_block(arena, bytes, &block));
  if (arena->blocks != NULL) {
    block->next = arena->blocks->next;
    arena->blocks->next = block;
  } else {
    arena->blocks = block;
    arena->used = bytes;
  }
  *out = block->payload;
  return EGRAPH_OK;
}

static size_t next_size(const eg_arena *arena, size_t bytes) {
  size_t size = arena->blocks == NULL ? ARENA_FIRST_BYTES : 2 * arena->blocks->size;
  while (size < bytes)
    size *= 2;
  return size < ARENA_BLOCK_BYTES ? size : ARENA_BLOCK_BYTES;
}

static egraph_status alloc_shared(eg_arena *arena, size_t bytes, void **out) {
  if (arena->blocks == NULL || arena->blocks->size - arena->used < bytes) {
    struct eg_arena_block *block;
    EG_TRY(create_block(arena, next_size(arena, bytes), &block));
    block->next = arena->blocks;
    arena->blocks = block;
    arena->used = 0;
  }
  *out = (char *)arena->blocks->payload + arena->used;
  arena->used += bytes;
  return EGRAPH_OK;
}

// Blocks are zeroed and each byte is handed out once: all allocations are zero.
egraph_status eg_arena_alloc(eg_arena *arena, size_t count, size_t size,
                             void *out_pointer) {
  const size_t align = _Alignof(max_align_t);
  if (size != 0 && count > (PTRDIFF_MAX - align) / size)
    return out_of_memory(count, size);
  size_t bytes = (count * size + align - 1) / align * align;
  void *pointer;
  EG_TRY(bytes > ARENA_BLOCK_BYTES / 2 ? alloc_alone(arena, bytes, &pointer)
                                       : alloc_shared(arena, bytes, &pointer));
  memcpy(out_pointer, &pointer, sizeof pointer);
  return EGRAPH_OK;
}

egraph_status eg_arena_string(eg_arena *arena, const char *text, size_t length,
                              const char **out) {
  char *copy;
  if (length > PTRDIFF_MAX - 1) return out_of_memory(length, 1);
  EG_TRY(eg_arena_alloc(arena, length + 1, 1, &copy));
  if (length != 0) memcpy(copy, text, length);
  *out = copy;
  return EGRAPH_OK;
}
