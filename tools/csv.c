// SPDX-License-Identifier: Apache-2.0
#include "tools/csv.h"

#include <stdlib.h>
#include <string.h>

#include "tools/console.h"

static void *checked(void *pointer) {
  if (pointer != NULL) return pointer;
  fprintf(stderr, "egraph: out of memory\n");
  exit(EXIT_FAILED);
}

void text_array_add(text_array *array, const char *text, size_t length) {
  if (array->count == array->room) {
    array->room = 2 * array->room + 8;
    array->items = checked(realloc(array->items, array->room * sizeof *array->items));
  }
  char *copy = checked(malloc(length + 1));
  if (length != 0) memcpy(copy, text, length);
  copy[length] = '\0';
  array->items[array->count++] = copy;
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

static void text_array_clear(text_array *array) {
  for (size_t i = 0; i < array->count; i++)
    free(array->items[i]);
  array->count = 0;
}

void text_array_free(text_array *array) {
  text_array_clear(array);
  free(array->items);
  *array = (text_array){NULL, 0, 0};
}

void csv_write(FILE *file, bool first, const char *cell) {
  if (!first) (void)fputc(',', file);
  if (strpbrk(cell, ",\"\r\n") == NULL) {
    (void)fputs(cell, file);
    return;
  }
  (void)fputc('"', file);
  for (; *cell != '\0'; cell++) {
    if (*cell == '"') (void)fputc('"', file);
    (void)fputc(*cell == '\n' ? ' ' : *cell, file); // one row, one line
  }
  (void)fputc('"', file);
}

typedef struct cell {
  char *text;
  size_t length, room;
} cell;

static void put(cell *c, char byte) {
  if (c->length == c->room) {
    c->room = 2 * c->room + 64;
    c->text = checked(realloc(c->text, c->room));
  }
  c->text[c->length++] = byte;
}

bool csv_read(FILE *file, text_array *cells, bool *out_complete) {
  cell c = {NULL, 0, 0};
  bool quoted = false, any = false;
  text_array_clear(cells);
  int byte;
  while ((byte = fgetc(file)) != EOF && (quoted || byte != '\n')) {
    any = true;
    if (byte == '"') {
      int next = quoted ? fgetc(file) : 0;
      if (next == '"') put(&c, '"');
      if (quoted && next != '"') (void)ungetc(next, file);
      if (!quoted || next != '"') quoted = !quoted;
    } else if (byte == ',' && !quoted) {
      text_array_add(cells, c.text, c.length);
      c.length = 0;
    } else if (byte != '\r' || quoted) {
      put(&c, (char)byte);
    }
  }
  *out_complete = byte == '\n';
  if (any || byte == '\n') text_array_add(cells, c.text, c.length);
  free(c.text);
  return any || byte == '\n';
}
