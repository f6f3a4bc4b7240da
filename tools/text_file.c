// SPDX-License-Identifier: Apache-2.0
#include "tools/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 4096 };

static char *read_stream(FILE *file) {
  size_t room = FIRST_ROOM, length = 0;
  char *text = malloc(room);
  while (text != NULL) {
    length += fread(text + length, 1, room - 1 - length, file);
    if (length < room - 1) break;
    char *grown = realloc(text, 2 * room);
    if (grown == NULL) free(text);
    text = grown;
    room *= 2;
  }
  if (text != NULL) text[length] = '\0';
  return text;
}

char *text_file_read(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return NULL;
  char *text = read_stream(file);
  int failure = text == NULL ? ENOMEM : ferror(file) ? EISDIR : 0;
  (void)fclose(file);
  if (failure == 0) return text;
  free(text);
  errno = failure;
  return NULL;
}

bool text_file_write(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  bool fine = file != NULL && fputs(text, file) >= 0;
  int failure = errno;
  if (file != NULL && fclose(file) != 0 && fine) {
    fine = false;
    failure = errno;
  }
  if (!fine) fprintf(stderr, "egraph: %s: %s\n", path, strerror(failure));
  return fine;
}
