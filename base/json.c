// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

// gzread passes plain files through unchanged.
static egraph_status inflate_file(gzFile file, const char *path, size_t max_size,
                                  eg_chars *out) {
  enum { CHUNK = 1 << 16 };
  for (;;) {
    EG_TRY(eg_chars_reserve(out, out->len + CHUNK));
    int got = gzread(file, out->data + out->len, CHUNK);
    if (got < 0)
      return EG_FAIL(EGRAPH_E_IO, "%s: damaged gzip data; fetch the file again", path);
    if (got == 0) return EGRAPH_OK;
    out->len += (size_t)got;
    if (out->len > max_size)
      return EG_FAIL(EGRAPH_E_IO, "%s: more than the limit of %zu bytes", path, max_size);
  }
}

// Opened without blocking, so that a FIFO or a device is refused instead of waited for.
static egraph_status open_regular(const char *path, gzFile *out) {
  int handle = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (handle < 0) return EG_FAIL(EGRAPH_E_IO, "%s: %s", path, strerror(errno));
  struct stat info;
  egraph_status status = EGRAPH_OK;
  if (fstat(handle, &info) != 0 || !S_ISREG(info.st_mode))
    status = EG_FAIL(EGRAPH_E_IO, "%s: not a regular file", path);
  else if ((*out = gzdopen(handle, "rb")) == NULL)
    status = EG_FAIL(EGRAPH_E_MEMORY, "out of memory while opening %s", path);
  if (status != EGRAPH_OK) (void)close(handle);
  return status;
}

static egraph_status read_bytes(const char *path, size_t max_size, eg_chars *out) {
  gzFile file;
  EG_TRY(open_regular(path, &file));
  egraph_status status = inflate_file(file, path, max_size, out);
  // zlib reports a stream that ends too early only here.
  if (gzclose(file) == Z_BUF_ERROR && status == EGRAPH_OK)
    status = EG_FAIL(EGRAPH_E_IO, "%s: the gzip data is truncated; fetch the file again",
                     path);
  return status;
}

static egraph_status parse_bytes(const char *path, const eg_chars *data, json_t **out) {
  json_error_t error;
  json_t *value = json_loadb(data->data, data->len, JSON_REJECT_DUPLICATES, &error);
  if (value == NULL) {
    bool memory = json_error_code(&error) == json_error_out_of_memory;
    return EG_FAIL(memory ? EGRAPH_E_MEMORY : EGRAPH_E_PARSE, "%s:%d:%d: %s", path,
                   error.line, error.column, error.text);
  }
  *out = value;
  return EGRAPH_OK;
}

egraph_status eg_json_read(const char *path, size_t max_size, json_t **out) {
  eg_chars data;
  eg_chars_init(&data, eg_allocator_heap());
  egraph_status status = read_bytes(path, max_size, &data);
  if (status == EGRAPH_OK) status = parse_bytes(path, &data, out);
  eg_chars_deinit(&data);
  return status;
}

static int append_chunk(const char *chunk, size_t size, void *text) {
  return eg_text_append_bytes(text, chunk, size) == EGRAPH_OK ? 0 : -1;
}

egraph_status eg_json_print(eg_text *text, const json_t *value) {
  if (json_dump_callback(value, append_chunk, text, JSON_COMPACT | JSON_ENCODE_ANY) != 0)
    return EG_FAIL(EGRAPH_E_MEMORY, "out of memory while printing JSON");
  return EGRAPH_OK;
}
