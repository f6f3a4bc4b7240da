// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <zlib.h>

EG_VEC_DEFINE(bytes, char);

// gzread passes plain files through unchanged.
static egraph_status inflate_file(gzFile file, const char *path, size_t max_size,
                                  bytes *out) {
  enum { CHUNK = 1 << 16 };
  for (;;) {
    EG_TRY(bytes_reserve(out, out->len + CHUNK));
    int got = gzread(file, out->data + out->len, CHUNK);
    if (got < 0)
      return EG_FAIL(EGRAPH_E_IO, "%s: damaged gzip data; fetch the file again", path);
    if (got == 0) return EGRAPH_OK;
    out->len += (size_t)got;
    if (out->len > max_size)
      return EG_FAIL(EGRAPH_E_IO, "%s: more than the limit of %zu bytes", path, max_size);
  }
}

egraph_status eg_json_read(const char *path, size_t max_size, json_t **out) {
  gzFile file = gzopen(path, "rb");
  if (file == NULL) return EG_FAIL(EGRAPH_E_IO, "%s: cannot be opened", path);
  bytes data;
  bytes_init(&data, eg_allocator_heap());
  egraph_status status = inflate_file(file, path, max_size, &data);
  (void)gzclose(file);
  if (status == EGRAPH_OK) {
    json_error_t error;
    json_t *value = json_loadb(data.data, data.len, JSON_REJECT_DUPLICATES, &error);
    if (value != NULL)
      *out = value;
    else
      status = EG_FAIL(EGRAPH_E_PARSE, "%s:%d:%d: %s", path, error.line, error.column,
                       error.text);
  }
  bytes_deinit(&data);
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
