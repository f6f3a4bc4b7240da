// Lists that grow, and lists of texts. Running out of memory ends the program.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_LISTS_H
#define EG_TOOLS_LISTS_H

#include <stdbool.h>
#include <stddef.h>

/// Returns the items of a list, moved if needed, with memory for one more item; each
/// item has `size` bytes.
void *list_grow(void *items, size_t count, size_t *inout_room, size_t size);
/// Copies `length` characters; free() the copy.
char *text_copy(const char *text, size_t length);
bool text_ends_with(const char *text, const char *end);

/// A list that owns its texts, in the order in which they were added.
typedef struct text_array {
  char **items;
  size_t count, room;
} text_array;

void text_array_add(text_array *array, const char *text, size_t length);
void text_array_sort(text_array *array);
bool text_array_has(const text_array *array, const char *text);
void text_array_clear(text_array *array);
void text_array_free(text_array *array);

#endif
