// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "tools/check_certificate/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

enum { FIRST_BYTES = 1 << 16, READ_BYTES = 1 << 20 };
static const size_t MAX_BYTES = (size_t)1 << 32;

typedef struct block {
  struct block *next;
  max_align_t data[];
} block;

bool input_refuse(input *in, size_t line, const char *format, ...) {
  if (in->why->text[0] != '\0') return false;
  int used =
      line == 0
          ? snprintf(in->why->text, sizeof in->why->text, "%.256s: ", in->path)
          : snprintf(in->why->text, sizeof in->why->text, "%.256s:%zu: ", in->path, line);
  va_list arguments;
  va_start(arguments, format);
  if (used > 0)
    (void)vsnprintf(in->why->text + used, sizeof in->why->text - (size_t)used, format,
                    arguments);
  va_end(arguments);
  return false;
}

// Doubles the room until the file ends.
static bool read_all(input *in, gzFile file) {
  size_t room = 0;
  for (;;) {
    if (room - in->size < 2) {
      size_t more = room == 0 ? FIRST_BYTES : 2 * room;
      char *text = more > 2 * MAX_BYTES ? NULL : realloc(in->text, more);
      if (text == NULL)
        return input_refuse(in, 0, "no memory for files of more than %zu bytes", room);
      in->text = text;
      room = more;
    }
    size_t wanted = room - in->size - 1;
    int got = gzread(file, in->text + in->size,
                     (unsigned)(wanted < READ_BYTES ? wanted : READ_BYTES));
    int code = Z_OK;
    if (got < 0 || (gzerror(file, &code) != NULL && code == Z_BUF_ERROR))
      return input_refuse(in, 0, "cannot be read, or is damaged; fetch the file again");
    in->text[in->size += (size_t)got] = '\0';
    if (got == 0) return true;
    if (in->size > MAX_BYTES)
      return input_refuse(in, 0, "larger than %zu bytes", MAX_BYTES);
  }
}

bool input_open(input *in, const char *path, refusal *why) {
  *in = (input){.path = path, .why = why};
  int handle = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (handle < 0) return input_refuse(in, 0, "%s", strerror(errno));
  struct stat info;
  bool regular = fstat(handle, &info) == 0 && S_ISREG(info.st_mode);
  gzFile file = regular ? gzdopen(handle, "rb") : NULL;
  if (file == NULL) {
    (void)close(handle);
    return input_refuse(in, 0, regular ? "no memory" : "not a regular file");
  }
  bool good = read_all(in, file);
  (void)gzclose(file);
  if (!good) input_close(in);
  return good;
}

bool input_open_bytes(input *in, const char *path, const char *bytes, size_t size,
                      refusal *why) {
  *in = (input){.path = path, .size = size, .why = why};
  in->text = size < MAX_BYTES ? malloc(size + 1) : NULL;
  if (in->text == NULL) return input_refuse(in, 0, "no memory for %zu bytes", size);
  if (size != 0) memcpy(in->text, bytes, size);
  in->text[size] = '\0';
  return true;
}

void input_close(input *in) {
  for (block *b = in->blocks; b != NULL;) {
    block *next = b->next;
    free(b);
    b = next;
  }
  free(in->text);
  in->blocks = NULL;
  in->text = NULL;
}

void *input_allocate(input *in, size_t count, size_t size) {
  bool fits = size == 0 || count <= (SIZE_MAX / 2 - sizeof(block)) / size;
  block *b = fits ? calloc(1, sizeof *b + count * size) : NULL;
  if (b == NULL) {
    (void)input_refuse(in, 0, "no memory for %zu records of %zu bytes", count, size);
    return NULL;
  }
  b->next = in->blocks;
  in->blocks = b;
  return b->data;
}

bool input_grow(void *array, size_t *capacity, size_t count, size_t size) {
  size_t more = *capacity < 32 ? 64 : 2 * *capacity;
  void *at;
  if (count <= *capacity) return true;
  if (more < count) more = count;
  memcpy(&at, array, sizeof at);
  at = more > SIZE_MAX / 2 / size ? NULL : realloc(at, more * size);
  if (at == NULL) return false;
  memcpy(array, &at, sizeof at);
  *capacity = more;
  return true;
}

bool input_group(input *in, const uint32_t *key, size_t items, uint32_t keys,
                 uint32_t **begin, uint32_t **grouped) {
  if (!INPUT_ROOM(in, *begin, (size_t)keys + 2) || !INPUT_ROOM(in, *grouped, items))
    return false;
  for (size_t i = 0; i < items; i++)
    if (key[i] < keys) (*begin)[key[i] + 2]++;
  for (uint32_t k = 0; k < keys; k++)
    (*begin)[k + 2] += (*begin)[k + 1];
  for (size_t i = 0; i < items; i++)
    if (key[i] < keys) (*grouped)[(*begin)[key[i] + 1]++] = (uint32_t)i;
  return true;
}
