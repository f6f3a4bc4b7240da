// Loads models from files and memory: reads the model, then weighs its opaque nodes.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/owner.h"
#include "onnx/onnx.h"
#include "onnx/read/reader.h"

egraph_status eg_onnx_parse(const egraph_allocator *alloc, const char *name,
                            const void *data, size_t size, const char *base,
                            const eg_onnx_import_options *options, eg_graph **out) {
  const eg_onnx_import_options usual = EG_ONNX_IMPORT_OPTIONS_DEFAULT;
  EG_HELD(eg_graph, graph);
  EG_TRY(eg_onnx_read(eg_allocator_or_heap(alloc), name, data, size, base,
                      options != NULL ? options : &usual, &graph));
  EG_HAND_OVER(eg_onnx_weigh(graph), graph, out);
}

/// The bytes of a model: of `file`, which owns them, or of the caller if `file` is NULL.
typedef struct model_bytes {
  const void *data;
  size_t size;
  eg_buffer *file;
} model_bytes;
static void model_bytes_deinit(model_bytes *model) { eg_buffer_release(model->file); }

static egraph_status map_model(egraph_allocator alloc, const char *path,
                               const eg_onnx_import_options *options, model_bytes *out) {
  size_t max_bytes = options->max_bytes;
  struct stat info;
  *out = (model_bytes){.data = options->bytes, .size = options->size};
  if (options->bytes != NULL) return EGRAPH_OK;
  bool exists = stat(path, &info) == 0;
  if (exists && !S_ISREG(info.st_mode))
    return EG_FAIL(EGRAPH_E_IO, "%s: not a regular file; a model is read from a file",
                   path);
  if (exists && (uint64_t)info.st_size > max_bytes)
    return EG_FAIL(EGRAPH_E_IO,
                   "%s: larger than %zu bytes; store the weights as external data", path,
                   max_bytes);
  size_t size = exists ? (size_t)info.st_size : 1;
  EG_TRY(eg_buffer_map(&alloc, path, 0, size, &out->file));
  out->data = eg_buffer_data(out->file);
  out->size = eg_buffer_size(out->file);
  return EGRAPH_OK;
}

egraph_status eg_onnx_load(const egraph_allocator *alloc, const char *path,
                           const eg_onnx_import_options *options, eg_graph **out) {
  eg_onnx_import_options usual = EG_ONNX_IMPORT_OPTIONS_DEFAULT;
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  if (options == NULL) options = &usual;
  EG_OWNED(model_bytes, model);
  char *base;
  EG_TRY(map_model(heap, path, options, &model));
  EG_TRY(eg_file_folder(heap, path, &base));
  egraph_status status =
      eg_onnx_parse(&heap, path, model.data, model.size, base, options, out);
  eg_string_free(heap, base);
  return status;
}

egraph_status eg_onnx_file_symbols(eg_arena *arena, const char *path,
                                   const eg_onnx_import_options *options,
                                   eg_onnx_symbols *out) {
  EG_OWNED(model_bytes, bytes);
  EG_OWNED(eg_onnx_unpacked, file);
  EG_TRY(map_model(arena->alloc, path, options, &bytes));
  EG_TRY(eg_onnx_model_unpack(arena->alloc, path, "ONNX model", bytes.data, bytes.size,
                              &file));
  EG_TRY(eg_onnx_fill_strings(&file.heap, file.model));
  return eg_onnx_list_symbols(arena, file.model, out);
}
