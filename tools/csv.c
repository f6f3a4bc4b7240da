// SPDX-License-Identifier: Apache-2.0
#include "tools/csv.h"

#include <stdlib.h>
#include <string.h>

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
  c->text = list_grow(c->text, c->length, &c->room, 1);
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
