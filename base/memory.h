// Allocation: an allocator is one resize function with sizes; an arena frees all its
// memory at once. Nothing outside base/ calls malloc. Sizes are checked for
// overflow here.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_MEMORY_H
#define EG_BASE_MEMORY_H

#include <stddef.h>

#include "base/status.h"

/// Returns the C heap, which replaces a NULL allocator.
egraph_allocator eg_allocator_heap(void);
/// Returns `*alloc`, or the C heap when `alloc` is NULL.
egraph_allocator eg_allocator_or_heap(const egraph_allocator *alloc);

/// Allocates count * size zeroed bytes. A zero size yields NULL and EGRAPH_OK.
/// Fails with EGRAPH_E_MEMORY (overflow included); *out is then untouched.
egraph_status eg_alloc(egraph_allocator alloc, size_t count, size_t size,
                       void *out_pointer);
/// Resizes an array from old_count to new_count elements; new bytes are not cleared.
/// *inout_pointer is a pointer variable of any object type.
egraph_status eg_resize(egraph_allocator alloc, size_t old_count, size_t new_count,
                        size_t size, void *inout_pointer);
/// Frees count * size bytes at pointer. NULL is allowed.
void eg_free(egraph_allocator alloc, void *pointer, size_t count, size_t size);

/// Declares a local variable, initialized by type_init(&name, alloc). type_deinit(&name)
/// frees it at every exit of the scope: functions that own objects may return
/// from anywhere.
#define EG_LOCAL(type, name, alloc)                                                      \
  __attribute__((cleanup(type##_deinit))) type name;                                     \
  type##_init(&name, alloc)

/// Copies a string; free with eg_string_free. *out is untouched on failure.
egraph_status eg_string_copy(egraph_allocator alloc, const char *text, char **out);
void eg_string_free(egraph_allocator alloc, char *text);

/// An allocator that frees everything at once. Threads may use different arenas at the
/// same time.
typedef struct eg_arena {
  egraph_allocator alloc;
  struct eg_arena_block *blocks; // newest first
  size_t used;                   // bytes used in the newest block
  size_t bytes;                  // bytes of all blocks
} eg_arena;

void eg_arena_init(eg_arena *arena, egraph_allocator alloc);
/// Frees every block; the arena can be used again.
void eg_arena_deinit(eg_arena *arena);
/// Frees all allocations, but keeps the newest block for later allocations.
void eg_arena_clear(eg_arena *arena);
/// Allocates count * size zeroed bytes, aligned for any object. Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_arena_alloc(eg_arena *arena, size_t count, size_t size,
                             void *out_pointer);
/// Copies length bytes of text and appends a NUL.
egraph_status eg_arena_string(eg_arena *arena, const char *text, size_t length,
                              const char **out);

/// Makes `pointer` point to count zeroed items in an arena; returns from the enclosing
/// function on failure.
#define EG_NEW(arena, count, pointer)                                                    \
  EG_TRY(eg_arena_alloc(arena, count, sizeof *(pointer), &(pointer)))

#endif
