// Reads the type and the bytes of a TensorProto. A file with external data must be in the
// model's directory, also after the file system resolves links (realpath).
// SPDX-License-Identifier: Apache-2.0
#define _XOPEN_SOURCE 700
#include "onnx/tensor.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/number.h"
#include "base/owner.h"
#include "onnx/onnx.h"
#include "pcg/graph/graph.h"

// True when the text of a path is relative and has no part "..".
static bool stays_inside(const char *location) {
  if (location[0] == '\0' || location[0] == '/' || strchr(location, '\\') != NULL)
    return false;
  for (const char *part = location; part != NULL;) {
    size_t length = strcspn(part, "/");
    if (length == 2 && part[0] == '.' && part[1] == '.') return false;
    part = part[length] == '/' ? part + length + 1 : NULL;
  }
  return true;
}

static egraph_status escapes(const char *location) {
  return EG_FAIL(EGRAPH_E_PARSE,
                 "external data at '%.200s' is outside of the model's directory; move it "
                 "beside the model",
                 location);
}

static bool is_below(const char *directory, const char *path) {
  size_t length = strlen(directory);
  if (strncmp(directory, path, length) != 0) return false;
  return path[length] == '/' || (length != 0 && directory[length - 1] == '/');
}

egraph_status eg_onnx_external_map(egraph_allocator alloc, const char *base,
                                   const char *location, uint64_t offset, size_t size,
                                   eg_buffer **out) {
  char joined[PATH_MAX], directory[PATH_MAX], path[PATH_MAX];
  if (!stays_inside(location)) return escapes(location);
  int length = snprintf(joined, sizeof joined, "%s/%s", base, location);
  if (length < 0 || (size_t)length >= sizeof joined)
    return EG_FAIL(EGRAPH_E_PARSE, "the location of external data is too long");
  if (realpath(base, directory) == NULL || realpath(joined, path) == NULL) {
    if (errno == ENOENT || errno == ENOTDIR) return EGRAPH_OK;
    return EG_FAIL(EGRAPH_E_IO, "external data '%.200s': %s", location, strerror(errno));
  }
  if (!is_below(directory, path)) return escapes(location);
  struct stat info;
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
    return EG_FAIL(EGRAPH_E_IO, "external data '%.200s' is not a regular file", location);
  return eg_buffer_map(&alloc, path, offset, size, out);
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "raw data of ONNX tensors is little-endian; add the swap for this machine"
#endif

egraph_status eg_onnx_tensor_type(const Onnx__TensorProto *proto, bool *out_known,
                                  eg_type *out) {
  egraph_dtype dtype;
  *out_known = eg_dtype_from_onnx(proto->data_type, &dtype);
  if (!*out_known) return EGRAPH_OK;
  if (proto->n_dims > EGRAPH_MAX_RANK)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "the tensor has %zu dimensions; at most %d are supported",
                   proto->n_dims, EGRAPH_MAX_RANK);
  *out = eg_type_of(dtype, (uint32_t)proto->n_dims, proto->dims);
  return eg_type_check(out) == EGRAPH_OK ? EGRAPH_OK : EGRAPH_E_PARSE;
}

// ---- data in the message ------------------------------------------------------------

// A typed list of a TensorProto, such as float_data.
typedef struct typed_list {
  const void *data;
  size_t count, width; // bytes per entry
} typed_list;

static typed_list list_of(const Onnx__TensorProto *proto, egraph_dtype dtype) {
  if (dtype == EGRAPH_FLOAT32)
    return (typed_list){proto->float_data, proto->n_float_data, sizeof(float)};
  if (dtype == EGRAPH_FLOAT64)
    return (typed_list){proto->double_data, proto->n_double_data, sizeof(double)};
  if (dtype == EGRAPH_INT64)
    return (typed_list){proto->int64_data, proto->n_int64_data, sizeof(int64_t)};
  if (dtype == EGRAPH_UINT32 || dtype == EGRAPH_UINT64)
    return (typed_list){proto->uint64_data, proto->n_uint64_data, sizeof(uint64_t)};
  return (typed_list){proto->int32_data, proto->n_int32_data, sizeof(int32_t)};
}

static egraph_status embedded_data(egraph_allocator alloc, const Onnx__TensorProto *proto,
                                   const eg_type *type, eg_buffer **out) {
  size_t bytes = eg_type_bytes(type), width = eg_dtype_bytes(type->dtype);
  typed_list list = list_of(proto, type->dtype);
  bool raw = proto->has_raw_data;
  size_t given = raw ? proto->raw_data.len : list.count;
  size_t wanted = raw ? bytes : (size_t)eg_type_elements(type);
  if (given != wanted)
    return EG_FAIL(EGRAPH_E_PARSE, "the tensor has %zu %s but its shape asks for %zu",
                   given, raw ? "bytes" : "elements", wanted);
  eg_buffer *buffer;
  EG_TRY(eg_buffer_create(&alloc, bytes, &buffer));
  unsigned char *target = eg_buffer_writable(buffer);
  // Entries are at least as wide as elements; on a little-endian machine the low bytes
  // come first.
  for (size_t i = 0; !raw && i < list.count; i++)
    memcpy(target + i * width, (const unsigned char *)list.data + i * list.width, width);
  if (raw && bytes != 0) memcpy(target, proto->raw_data.data, bytes);
  // A boolean is 0 or 1, whatever byte the file has.
  for (size_t i = 0; type->dtype == EGRAPH_BOOL && i < bytes; i++)
    target[i] = target[i] != 0;
  *out = buffer;
  return EGRAPH_OK;
}

// ---- data in a file -----------------------------------------------------------------

typedef struct external_place {
  const char *location;
  int64_t offset, length; // length -1: the bytes of the shape
} external_place;

static egraph_status parse_place(const Onnx__TensorProto *proto, external_place *out) {
  *out = (external_place){.length = -1};
  for (size_t i = 0; i < proto->n_external_data; i++) {
    const char *key = proto->external_data[i]->key,
               *value = proto->external_data[i]->value;
    int64_t number = 0;
    bool is_offset = strcmp(key, "offset") == 0, is_length = strcmp(key, "length") == 0;
    if ((is_offset || is_length) && (!eg_parse_int64(value, &number) || number < 0))
      return EG_FAIL(EGRAPH_E_PARSE, "external data has the %s '%.40s'", key, value);
    if (is_offset) out->offset = number;
    if (is_length) out->length = number;
    if (strcmp(key, "location") == 0) out->location = value;
  }
  return EGRAPH_OK;
}

const char *eg_onnx_tensor_location(const Onnx__TensorProto *proto) {
  const char *location = "";
  for (size_t i = 0; i < proto->n_external_data; i++)
    if (strcmp(proto->external_data[i]->key, "location") == 0)
      location = proto->external_data[i]->value;
  return location;
}

// Copies a buffer whose elements are not aligned for their type, which a file does
// not ensure.
static egraph_status align_buffer(egraph_allocator alloc, size_t width,
                                  eg_buffer **inout) {
  if ((uintptr_t)eg_buffer_data(*inout) % width == 0) return EGRAPH_OK;
  size_t size = eg_buffer_size(*inout);
  eg_buffer *copy;
  EG_TRY(eg_buffer_create(&alloc, size, &copy));
  memcpy(eg_buffer_writable(copy), eg_buffer_data(*inout), size);
  eg_buffer_release(*inout);
  *inout = copy;
  return EGRAPH_OK;
}

static egraph_status external_data(egraph_allocator alloc, const Onnx__TensorProto *proto,
                                   const eg_type *type, const char *base,
                                   eg_buffer **out) {
  external_place place;
  size_t bytes = eg_type_bytes(type);
  EG_TRY(parse_place(proto, &place));
  if (place.location == NULL || base == NULL) return EGRAPH_OK;
  if (place.length >= 0 && (uint64_t)place.length != bytes)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "external data has %lld bytes but the shape asks for %zu",
                   (long long)place.length, bytes);
  eg_buffer *buffer = NULL;
  EG_TRY(eg_onnx_external_map(alloc, base, place.location, (uint64_t)place.offset, bytes,
                              &buffer));
  if (buffer == NULL) return EGRAPH_OK;
  EG_HAND_OVER_OR_DESTROY(align_buffer(alloc, eg_dtype_bytes(type->dtype), &buffer),
                          buffer, eg_buffer_release, out);
}

egraph_status eg_onnx_tensor_data(egraph_allocator alloc, const Onnx__TensorProto *proto,
                                  const eg_type *type, const char *base,
                                  eg_buffer **out) {
  *out = NULL;
  if (proto->segment != NULL)
    return EG_FAIL(EGRAPH_E_PARSE, "the tensor is stored in segments, which no exporter "
                                   "writes; store it in one piece");
  if (proto->has_data_location &&
      proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
    return external_data(alloc, proto, type, base, out);
  return embedded_data(alloc, proto, type, out);
}
