// SPDX-License-Identifier: Apache-2.0
#include "tools/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tools/console.h"

enum { FIRST_ROOM = 4096, MAX_PATH_BYTES = 4096 };

char *text_stream_read(FILE *file) {
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
  char *text = text_stream_read(file);
  int failure = text == NULL ? ENOMEM : ferror(file) ? EISDIR : 0;
  (void)fclose(file);
  if (failure == 0) return text;
  free(text);
  errno = failure;
  return NULL;
}

bool text_file_write(const char *path, const char *text) {
  if (eg_file_write(path, text, strlen(text)) == EGRAPH_OK) return true;
  return complain("%s", egraph_last_error());
}

static bool files_are_same(const char *a, const char *b) {
  struct stat first, second;
  if (stat(a, &first) != 0 || stat(b, &second) != 0) return strcmp(a, b) == 0;
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

bool file_is_apart(const char *path, const char *other, const char *what) {
  if (path == NULL || other == NULL || !files_are_same(path, other)) return true;
  return complain("%s is %s, and would be overwritten; choose another file", path, what);
}

bool file_can_be_written(const char *path) {
  char folder[MAX_PATH_BYTES];
  if (path == NULL) return true;
  const char *slash = strrchr(path, '/');
  size_t length = slash != NULL ? (size_t)(slash - path) + 1 : 0;
  if (length >= sizeof folder) return true;
  memcpy(folder, path, length);
  folder[length] = '\0';
  struct stat info;
  bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
  if (!is_folder && access(length != 0 ? folder : ".", W_OK) == 0) return true;
  if (!is_folder && access(path, W_OK) == 0) return true; // a device, for instance
  return complain("%s: cannot be written: %s; choose another file", path,
                  is_folder ? "it is a folder" : strerror(errno));
}
