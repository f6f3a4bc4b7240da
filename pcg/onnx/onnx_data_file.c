// SPDX-License-Identifier: Apache-2.0
#include "pcg/onnx/onnx_data_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// Tensors below this size stay in the model, where tools look for shapes and scalars.
// Others begin at multiples of a cache line, so that a mapped file can be used as it is.
enum { MIN_EXTERNAL_BYTES = 1024, ALIGNMENT = 64 };

static egraph_status put_entry(eg_arena *arena, Onnx__TensorProto *tensor,
                               const char *key, const char *value) {
  Onnx__StringStringEntryProto *entry;
  EG_TRY(eg_arena_alloc(arena, 1, sizeof *entry, &entry));
  *entry = (Onnx__StringStringEntryProto)ONNX__STRING_STRING_ENTRY_PROTO__INIT;
  entry->key = (char *)(uintptr_t)key;
  entry->value = (char *)(uintptr_t)value;
  tensor->external_data[tensor->n_external_data++] = entry;
  return EGRAPH_OK;
}

static egraph_status put_number(eg_arena *arena, Onnx__TensorProto *tensor,
                                const char *key, uint64_t value) {
  enum { ROOM = 24 };
  char *text;
  EG_TRY(eg_arena_alloc(arena, ROOM, 1, &text));
  (void)snprintf(text, ROOM, "%" PRIu64, value);
  return put_entry(arena, tensor, key, text);
}

static egraph_status set_external(eg_arena *arena, Onnx__TensorProto *tensor,
                                  const char *location, uint64_t offset) {
  EG_TRY(eg_arena_alloc(arena, 3, sizeof *tensor->external_data, &tensor->external_data));
  tensor->has_data_location = true;
  tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  EG_TRY(put_entry(arena, tensor, "location", location));
  EG_TRY(put_number(arena, tensor, "offset", offset));
  EG_TRY(put_number(arena, tensor, "length", tensor->raw_data.len));
  tensor->has_raw_data = false;
  tensor->raw_data = (ProtobufCBinaryData){0};
  return EGRAPH_OK;
}

static egraph_status failed(const char *path, const char *what) {
  return EG_FAIL(EGRAPH_E_IO, "%s: cannot %s: %s", path, what, strerror(errno));
}

static egraph_status append(FILE *file, const char *path, const void *data, size_t size,
                            uint64_t *inout_at) {
  if (size != 0 && fwrite(data, 1, size, file) != size) return failed(path, "write it");
  *inout_at += size;
  return EGRAPH_OK;
}

static egraph_status append_tensors(FILE *file, const char *path, const char *location,
                                    eg_arena *arena, Onnx__TensorProto **tensors,
                                    size_t count) {
  static const unsigned char zeros[ALIGNMENT] = {0};
  uint64_t at = 0;
  for (size_t i = 0; i < count; i++) {
    const ProtobufCBinaryData data = tensors[i]->raw_data;
    if (!tensors[i]->has_raw_data || data.len < MIN_EXTERNAL_BYTES) continue;
    EG_TRY(append(file, path, zeros, (size_t)(-at % ALIGNMENT), &at));
    EG_TRY(set_external(arena, tensors[i], location, at));
    // Changed after the message, so that the bytes are still at hand here.
    EG_TRY(append(file, path, data.data, data.len, &at));
  }
  return EGRAPH_OK;
}

static egraph_status suffixed(eg_arena *arena, const char *path, const char *suffix,
                              char **out) {
  size_t length = strlen(path), tail = strlen(suffix);
  EG_TRY(eg_arena_alloc(arena, length + tail + 1, 1, out));
  memcpy(*out, path, length);
  memcpy(*out + length, suffix, tail + 1);
  return EGRAPH_OK;
}

// A file of another name is written and then renamed: an old data file may be mapped by
// the very graph that is written.
egraph_status eg_onnx_data_file_write(eg_arena *arena, const char *model_path,
                                      Onnx__TensorProto **tensors, size_t count) {
  char *path, *fresh;
  EG_TRY(suffixed(arena, model_path, ".data", &path));
  EG_TRY(suffixed(arena, path, ".new", &fresh));
  const char *slash = strrchr(path, '/');
  FILE *file = fopen(fresh, "wb");
  if (file == NULL) return failed(fresh, "create it");
  egraph_status status = append_tensors(file, fresh, slash != NULL ? slash + 1 : path,
                                        arena, tensors, count);
  if (fclose(file) != 0 && status == EGRAPH_OK) status = failed(fresh, "write it");
  if (status == EGRAPH_OK && rename(fresh, path) != 0)
    status = failed(path, "replace it");
  if (status != EGRAPH_OK) (void)remove(fresh);
  return status;
}
