// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include "base/gzip.h"

static egraph_status inflate_file(eg_gzip *file, size_t max_size, eg_chars *out) {
  enum { CHUNK = 1 << 16 };
  for (;;) {
    size_t got = 0;
    EG_TRY(eg_chars_reserve(out, out->len + CHUNK));
    EG_TRY(eg_gzip_read(file, out->data + out->len, CHUNK, &got));
    if (got == 0) return EGRAPH_OK;
    out->len += got;
    if (out->len > max_size)
      return EG_FAIL(EGRAPH_E_IO, "%s: more than the limit of %zu bytes", file->path,
                     max_size);
  }
}

static egraph_status read_bytes(const char *path, size_t max_size, eg_chars *out) {
  eg_gzip file;
  EG_TRY(eg_gzip_open(path, &file));
  egraph_status status = inflate_file(&file, max_size, out);
  eg_gzip_close(&file);
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
