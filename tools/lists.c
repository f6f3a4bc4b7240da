// SPDX-License-Identifier: Apache-2.0
#include "tools/lists.h"

#include <stdlib.h>
#include <string.h>

#include "tools/console.h"

static void *checked(void *pointer) {
  if (pointer != NULL) return pointer;
  (void)complain("out of memory");
  exit(EXIT_FAILED);
}

void *list_grow(void *items, size_t count, size_t *inout_room, size_t size) {
  if (count < *inout_room) return items;
  *inout_room = 2 * *inout_room + 8;
  return checked(realloc(items, *inout_room * size));
}

char *text_copy(const char *text, size_t length) {
  char *copy = checked(malloc(length + 1));
  if (length != 0) memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}

bool text_ends_with(const char *text, const char *end) {
  size_t length = strlen(text), wanted = strlen(end);
  return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

void text_array_add(text_array *array, const char *text, size_t length) {
  array->items =
      list_grow(array->items, array->count, &array->room, sizeof *array->items);
  array->items[array->count++] = text_copy(text, length);
}

static int compare(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

void text_array_sort(text_array *array) {
  if (array->count != 0) qsort(array->items, array->count, sizeof *array->items, compare);
}

bool text_array_has(const text_array *array, const char *text) {
  for (size_t i = 0; i < array->count; i++)
    if (strcmp(array->items[i], text) == 0) return true;
  return false;
}

void text_array_clear(text_array *array) {
  for (size_t i = 0; i < array->count; i++)
    free(array->items[i]);
  array->count = 0;
}

void text_array_free(text_array *array) {
  text_array_clear(array);
  free(array->items);
  *array = (text_array){NULL, 0, 0};
}
