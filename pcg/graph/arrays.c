// A member of an .npz archive is an .npy file: a head and the elements:
//
//   "\x93NUMPY" 1 0, length of the text (2 bytes; version 2 and 3: 4),
//   "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n"
//
// SPDX-License-Identifier: Apache-2.0
#include "pcg/graph/arrays.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/zip.h"
#include "ops/typing.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "elements of .npy files are little-endian; add the swap for this machine"
#endif

enum { ALIGNMENT = 64, MOST_HEAD = 1 << 16 };
static const size_t MOST_BYTES = (size_t)1 << 40;
static const char MAGIC[] = "\x93NUMPY", SUFFIX[] = ".npy";

static const char *const descriptions[EGRAPH_DTYPE_COUNT] = {
    [EGRAPH_FLOAT32] = "<f4",  [EGRAPH_FLOAT64] = "<f8", [EGRAPH_FLOAT16] = "<f2",
    [EGRAPH_BFLOAT16] = "|V2", [EGRAPH_INT8] = "|i1",    [EGRAPH_INT16] = "<i2",
    [EGRAPH_INT32] = "<i4",    [EGRAPH_INT64] = "<i8",   [EGRAPH_UINT8] = "|u1",
    [EGRAPH_UINT16] = "<u2",   [EGRAPH_UINT32] = "<u4",  [EGRAPH_UINT64] = "<u8",
    [EGRAPH_BOOL] = "|b1"};

// ---- the container ------------------------------------------------------------------

void eg_arrays_init(eg_arrays *arrays, egraph_allocator alloc) {
  eg_array_rows_init(&arrays->rows, alloc);
}

void eg_arrays_deinit(eg_arrays *arrays) {
  egraph_allocator alloc = arrays->rows.alloc;
  for (size_t i = 0; i < arrays->rows.len; i++) {
    eg_array *array = &arrays->rows.data[i];
    eg_free(alloc, array->tensor.data, eg_type_bytes(&array->tensor.type), 1);
    eg_string_free(alloc, array->name);
  }
  eg_array_rows_deinit(&arrays->rows);
}

static const eg_array *find_array(const eg_arrays *arrays, const char *name,
                                  size_t length) {
  for (size_t i = 0; i < arrays->rows.len; i++) {
    const eg_array *array = &arrays->rows.data[i];
    if (strncmp(array->name, name, length) == 0 && array->name[length] == '\0')
      return array;
  }
  return NULL;
}

const eg_array *eg_arrays_find(const eg_arrays *arrays, const char *name) {
  return find_array(arrays, name, strlen(name));
}

/// Adds an array of zeros.
static egraph_status add_array(eg_arrays *arrays, const char *name, size_t length,
                               const eg_type *type, eg_array **out) {
  egraph_allocator alloc = arrays->rows.alloc;
  eg_array array = {.tensor = {.type = *type}};
  if (find_array(arrays, name, length) != NULL)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "there are two arrays of the name '%.*s'",
                   (int)length, name);
  EG_TRY(eg_array_rows_reserve(&arrays->rows, arrays->rows.len + 1));
  EG_TRY(eg_alloc(alloc, length + 1, 1, &array.name));
  memcpy(array.name, name, length);
  array.name[length] = '\0';
  egraph_status status = eg_alloc(alloc, eg_type_bytes(type), 1, &array.tensor.data);
  if (status != EGRAPH_OK) {
    eg_free(alloc, array.name, length + 1, 1);
    return status;
  }
  arrays->rows.data[arrays->rows.len++] = array;
  *out = &arrays->rows.data[arrays->rows.len - 1];
  return EGRAPH_OK;
}

egraph_status eg_arrays_add(eg_arrays *arrays, const char *name, const eg_type *type,
                            const void *data) {
  eg_array *array;
  size_t bytes = eg_type_bytes(type);
  EG_TRY(add_array(arrays, name, strlen(name), type, &array));
  if (data != NULL && bytes != 0) memcpy(array->tensor.data, data, bytes);
  return EGRAPH_OK;
}

// ---- heads --------------------------------------------------------------------------

typedef struct head_reader {
  const char *file, *name;
  int name_length;
  const char *at, *end;
} head_reader;

static egraph_status refuse_array(const head_reader *r, const char *what) {
  return EG_FAIL(EGRAPH_E_PARSE, "%s: array '%.*s': %s", r->file, r->name_length, r->name,
                 what);
}

/// Skips blanks, and consumes the word if it comes next.
static bool take_word(head_reader *r, const char *word) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\n'))
    r->at++;
  size_t length = strlen(word);
  if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0) return false;
  r->at += length;
  return true;
}

static egraph_status read_dtype(head_reader *r, eg_type *type) {
  for (int d = 0; d < EGRAPH_DTYPE_COUNT; d++) {
    char quoted[8];
    (void)snprintf(quoted, sizeof quoted, "'%s'", descriptions[d]);
    if (!take_word(r, quoted)) continue;
    type->dtype = (egraph_dtype)d;
    return EGRAPH_OK;
  }
  int length = (int)(r->end - r->at);
  const char *close = length > 1 ? memchr(r->at + 1, '\'', (size_t)length - 1) : NULL;
  if (close != NULL && close - r->at < 20) length = (int)(close - r->at) + 1;
  return EG_FAIL(EGRAPH_E_PARSE,
                 "%s: array '%.*s' has elements of type %.*s; convert it, with "
                 "astype('float32') or astype('int64')",
                 r->file, r->name_length, r->name, length < 24 ? length : 24, r->at);
}

static egraph_status read_shape(head_reader *r, eg_type *type) {
  uint32_t rank = 0;
  if (!take_word(r, "(")) return refuse_array(r, "its head has no shape; write it again");
  while (!take_word(r, ")")) {
    int64_t size = 0;
    const char *start = r->at;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
      if (size > (INT64_MAX - 9) / 10) return refuse_array(r, "a dimension is too large");
      size = 10 * size + (*r->at - '0');
    }
    if (r->at == start) return refuse_array(r, "its shape is damaged; write it again");
    if (rank == EGRAPH_MAX_RANK)
      return refuse_array(r, "it has more dimensions than are supported; reshape it");
    type->dims[rank++] = size;
    if (!take_word(r, ",") && (r->at == r->end || *r->at != ')'))
      return refuse_array(r, "its shape is damaged; write it again");
  }
  type->rank = rank;
  return EGRAPH_OK;
}

/// Reads the dictionary of an .npy head, whose keys may come in any order.
static egraph_status read_dict(head_reader *r, eg_type *type) {
  bool has_type = false, has_order = false, has_shape = false;
  if (!take_word(r, "{")) return refuse_array(r, "its head is damaged; write it again");
  while (!take_word(r, "}")) {
    if (!has_type && take_word(r, "'descr':")) {
      EG_TRY(read_dtype(r, type));
      has_type = true;
    } else if (!has_order && take_word(r, "'fortran_order':")) {
      if (!take_word(r, "False"))
        return refuse_array(
            r, "its columns come first; write numpy.ascontiguousarray of it");
      has_order = true;
    } else if (!has_shape && take_word(r, "'shape':")) {
      EG_TRY(read_shape(r, type));
      has_shape = true;
    } else {
      return refuse_array(r, "its head is damaged; write it again");
    }
    (void)take_word(r, ",");
  }
  if (!has_type || !has_order || !has_shape)
    return refuse_array(r, "its head lacks type, order or shape; write it again");
  return EGRAPH_OK;
}

/// Reads an element type and shape from an .npy head, and finds the first element.
static egraph_status read_head(head_reader *r, const unsigned char *data, uint64_t size,
                               eg_type *type, uint64_t *out_begin) {
  size_t start = 0, length = 0;
  if (size >= 12 && memcmp(data, MAGIC, 6) == 0 && data[6] >= 1 && data[6] <= 3) {
    start = data[6] == 1 ? 10 : 12;
    for (size_t i = start; i-- > 8;)
      length = length << 8 | data[i];
  }
  if (start == 0 || length > MOST_HEAD || length > size - start)
    return refuse_array(r, "it is no array of NumPy; write it with numpy.savez");
  r->at = (const char *)data + start;
  r->end = r->at + length;
  EG_TRY(read_dict(r, type));
  egraph_status status = eg_type_check(type);
  if (status != EGRAPH_OK) return refuse_array(r, "its shape is too large");
  *out_begin = start + length;
  if (eg_type_bytes(type) == size - *out_begin) return EGRAPH_OK;
  return refuse_array(
      r, "it has more or fewer elements than its shape says; write it again");
}

// ---- files --------------------------------------------------------------------------

static egraph_status read_npy(eg_arrays *arrays, head_reader *r,
                              const unsigned char *data, uint64_t size) {
  eg_type type = {.rank = 0};
  eg_array *array;
  uint64_t begin;
  EG_TRY(read_head(r, data, size, &type, &begin));
  EG_TRY(add_array(arrays, r->name, (size_t)r->name_length, &type, &array));
  unsigned char *to = array->tensor.data;
  size_t bytes = eg_type_bytes(&type);
  if (bytes != 0) memcpy(to, data + begin, bytes);
  for (size_t i = 0; type.dtype == EGRAPH_BOOL && i < bytes; i++)
    to[i] = to[i] != 0; // the file may have any byte
  return EGRAPH_OK;
}

static egraph_status read_entry(eg_arrays *arrays, const eg_zip *zip,
                                const eg_zip_entry *entry) {
  size_t length = entry->name_length, suffix = sizeof SUFFIX - 1;
  if (length >= suffix && memcmp(entry->name + length - suffix, SUFFIX, suffix) == 0)
    length -= suffix;
  head_reader r = {.file = zip->file, .name = entry->name, .name_length = (int)length};
  if (memchr(entry->name, '\0', length) != NULL)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: the name of an array has a NUL", zip->file);
  if (entry->size > MOST_BYTES) return refuse_array(&r, "it is too large");
  EG_LOCAL(eg_arena, arena, arrays->rows.alloc);
  unsigned char *data;
  EG_TRY(eg_arena_alloc(&arena, (size_t)entry->size, 1, &data));
  EG_TRY(eg_zip_unpack(zip, entry, data));
  return read_npy(arrays, &r, data, entry->size);
}

egraph_status eg_arrays_parse(eg_arrays *arrays, const char *file, const void *data,
                              size_t size) {
  eg_zip zip;
  eg_zip_entry entry;
  bool any = true;
  EG_TRY(eg_zip_open(file, data, size, &zip));
  while (any) {
    EG_TRY(eg_zip_next(&zip, &entry, &any));
    if (any) EG_TRY(read_entry(arrays, &zip, &entry));
  }
  return EGRAPH_OK;
}

egraph_status eg_arrays_read(eg_arrays *arrays, const char *path) {
  char *data;
  size_t size;
  EG_TRY(eg_file_read(arrays->rows.alloc, path, MOST_BYTES, &data, &size));
  egraph_status status = eg_arrays_parse(arrays, path, data, size);
  eg_free(arrays->rows.alloc, data, size + 1, 1);
  return status;
}

/// Writes an .npy head, filled up with blanks so that elements are aligned in the file.
static egraph_status write_array_head(const eg_type *type, eg_text *out) {
  char start[10] = "\x93NUMPY\x01";
  eg_text_clear(out);
  eg_text_append_bytes(out, start, sizeof start);
  eg_text_printf(out, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                 descriptions[type->dtype]);
  for (uint32_t i = 0; i < type->rank; i++)
    eg_text_printf(out, i == 0 ? "%" PRId64 "," : " %" PRId64 ",", type->dims[i]);
  EG_TRY(eg_text_append(out, "), }"));
  while (out->chars.len % ALIGNMENT != ALIGNMENT - 1)
    EG_TRY(eg_text_append(out, " "));
  EG_TRY(eg_text_append(out, "\n"));
  size_t length = out->chars.len - sizeof start;
  out->chars.data[8] = (char)(length & 0xff);
  out->chars.data[9] = (char)(length >> 8);
  return EGRAPH_OK;
}

egraph_status eg_arrays_write(const eg_arrays *arrays, const char *path) {
  EG_LOCAL(eg_zip_writer, zip, arrays->rows.alloc);
  EG_LOCAL(eg_text, head, arrays->rows.alloc);
  EG_LOCAL(eg_text, name, arrays->rows.alloc);
  for (size_t i = 0; i < arrays->rows.len; i++) {
    const eg_array *array = &arrays->rows.data[i];
    eg_text_clear(&name);
    EG_TRY(eg_text_printf(&name, "%s%s", array->name, SUFFIX));
    EG_TRY(write_array_head(&array->tensor.type, &head));
    EG_TRY(eg_zip_writer_add(&zip, eg_text_of(&name), head.chars.data, head.chars.len,
                             array->tensor.data, eg_type_bytes(&array->tensor.type)));
  }
  EG_TRY(eg_zip_writer_finish(&zip));
  return eg_file_write(path, zip.file.data, zip.file.len);
}
