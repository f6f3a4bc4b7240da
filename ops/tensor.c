// Tensor types: shapes, sizes, text form.
// SPDX-License-Identifier: Apache-2.0
#include "ops/tensor.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/spelling.h"

typedef struct format_row {
  const char *name;
  uint32_t block;
} format_row;

static const format_row formats[EG_FORMAT_COUNT] = {
#define FORMAT_ROW(id, name, block) [id] = {name, block},
    EG_FORMAT_LIST(FORMAT_ROW)
#undef FORMAT_ROW
};

const char *eg_format_name(eg_format format) {
  assert(format < EG_FORMAT_COUNT);
  return formats[format].name;
}

uint32_t eg_format_block(eg_format format) {
  assert(format < EG_FORMAT_COUNT);
  return formats[format].block;
}

bool eg_type_is_blocked(const eg_type *type) {
  return eg_format_block((eg_format)type->layout.format) != 1;
}

bool eg_format_find(const char *name, eg_format *out) {
  for (int i = 0; i < EG_FORMAT_COUNT; i++)
    if (strcmp(formats[i].name, name) == 0) {
      *out = (eg_format)i;
      return true;
    }
  return false;
}

eg_type eg_type_of(egraph_dtype dtype, uint32_t rank, const int64_t *dims) {
  assert(rank <= EGRAPH_MAX_RANK);
  eg_type type = {.dtype = dtype, .rank = rank};
  for (uint32_t i = 0; i < rank; i++)
    type.dims[i] = dims[i];
  return type;
}

bool eg_type_same_shape(const eg_type *a, const eg_type *b) {
  if (a->rank != b->rank) return false;
  for (uint32_t i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i]) return false;
  return true;
}

bool eg_type_agrees(const eg_type *a, const eg_type *b) {
  if (a->rank != b->rank) return false;
  for (uint32_t i = 0; i < a->rank; i++)
    if (!eg_size_agree(a->dims[i], b->dims[i])) return false;
  return true;
}

bool eg_type_is_open(const eg_type *type) {
  return eg_size_any_open(type->dims, type->rank);
}

eg_type eg_type_at(const eg_type *type, const int64_t *dims) {
  eg_type fixed = *type;
  for (uint32_t i = 0; i < type->rank; i++)
    fixed.dims[i] = eg_size_at(type->dims[i], dims);
  return fixed;
}

bool eg_type_same(const eg_type *a, const eg_type *b) {
  return a->dtype == b->dtype && eg_type_same_shape(a, b) &&
         a->layout.format == b->layout.format &&
         memcmp(a->layout.sharding, b->layout.sharding, sizeof a->layout.sharding) == 0;
}

uint64_t eg_type_hash(const eg_type *type) {
  uint64_t hash = eg_hash_combine(type->dtype, type->rank);
  for (uint32_t i = 0; i < type->rank; i++)
    hash = eg_hash_combine(hash, (uint64_t)type->dims[i]);
  hash = eg_hash_combine(hash, type->layout.format);
  return eg_hash_bytes(hash, type->layout.sharding, sizeof type->layout.sharding);
}

// Size of a dimension in memory: blocked formats pad the channels to whole blocks.
static int64_t stored_dim(const eg_type *type, uint32_t axis) {
  int64_t block = formats[type->layout.format].block, dim = type->dims[axis];
  if (axis != 1 || block == 1) return dim;
  return (dim + block - 1) / block * block;
}

egraph_status eg_type_check(const eg_type *type) {
  if (type->dtype >= EGRAPH_DTYPE_COUNT)
    return EG_FAIL(EGRAPH_E_TYPE, "unknown element type %d", (int)type->dtype);
  if (type->rank > EGRAPH_MAX_RANK)
    return EG_FAIL(EGRAPH_E_TYPE, "rank %u is more than the %d dimensions supported",
                   type->rank, EGRAPH_MAX_RANK);
  if (type->layout.format >= EG_FORMAT_COUNT)
    return EG_FAIL(EGRAPH_E_TYPE, "unknown memory format %d", (int)type->layout.format);
  if (type->layout.format != EG_FORMAT_PLAIN && type->rank != 4)
    return EG_FAIL(EGRAPH_E_TYPE, "memory format %s needs rank 4, not %u",
                   eg_format_name((eg_format)type->layout.format), type->rank);
  // Empty dimensions count as one here, so that strides of an empty tensor fit as well.
  ptrdiff_t bytes = (ptrdiff_t)eg_dtype_bytes(type->dtype);
  for (uint32_t i = 0; i < type->rank; i++) {
    if (eg_size_is_open(type->dims[i])) continue;
    if (type->dims[i] < 0)
      return EG_FAIL(EGRAPH_E_TYPE, "dimension %u is negative: %" PRId64, i,
                     type->dims[i]);
    if (type->dims[i] > PTRDIFF_MAX / 2)
      return EG_FAIL(EGRAPH_E_TYPE, "dimension %u is too large: %" PRId64, i,
                     type->dims[i]);
    if (type->dims[i] != 0 && __builtin_mul_overflow(bytes, stored_dim(type, i), &bytes))
      return EG_FAIL(EGRAPH_E_TYPE,
                     "a tensor of this shape does not fit the address "
                     "space: the size in bytes overflows at dimension %u",
                     i);
  }
  return EGRAPH_OK;
}

int64_t eg_type_elements(const eg_type *type) {
  int64_t count = 1;
  for (uint32_t i = 0; i < type->rank; i++)
    if (type->dims[i] == 0) return 0;
  for (uint32_t i = 0; i < type->rank; i++)
    if (!eg_size_mul(count, type->dims[i], &count)) return INT64_MAX; // of open ones
  return count;
}

size_t eg_type_bytes(const eg_type *type) {
  size_t bytes = eg_dtype_bytes(type->dtype);
  for (uint32_t i = 0; i < type->rank; i++)
    if (type->dims[i] == 0) return 0;
  if (eg_type_is_open(type)) return SIZE_MAX;
  for (uint32_t i = 0; i < type->rank; i++)
    bytes *= (size_t)stored_dim(type, i);
  return bytes;
}

void eg_type_strides(const eg_type *type, int64_t *out) {
  static const uint32_t nhwc[] = {0, 2, 3, 1};
  bool is_nhwc = type->layout.format == EG_FORMAT_NHWC;
  int64_t stride = 1;
  assert(!eg_type_is_blocked(type));
  for (uint32_t i = type->rank; i-- > 0;) {
    uint32_t d = is_nhwc ? nhwc[i] : i;
    out[d] = stride;
    stride *= type->dims[d];
  }
}

egraph_status eg_type_print(eg_text *text, const eg_type *type) {
  EG_TRY(eg_text_printf(text, "%s[", eg_dtype_name(type->dtype)));
  for (uint32_t i = 0; i < type->rank; i++) {
    EG_TRY(eg_text_append(text, i == 0 ? "" : ","));
    EG_TRY(eg_size_print(text, type->dims[i]));
  }
  EG_TRY(eg_text_append(text, "]"));
  if (type->layout.format == EG_FORMAT_PLAIN) return EGRAPH_OK;
  return eg_text_printf(text, "@%s", eg_format_name((eg_format)type->layout.format));
}

// Reads "1,64]" into dims and leaves *cursor behind the bracket; false when malformed.
static bool parse_dims(const char **cursor, eg_type *type) {
  const char *at = *cursor;
  if (*at == ']') {
    *cursor = at + 1;
    return true;
  }
  for (;;) {
    char number[24];
    size_t length = strcspn(at, ",]");
    if (at[length] == '\0' || length >= sizeof number || type->rank == EGRAPH_MAX_RANK)
      return false;
    memcpy(number, at, length);
    number[length] = '\0';
    if (!eg_parse_int64(number, &type->dims[type->rank])) return false;
    type->rank++;
    at += length + 1;
    if (at[-1] == ']') break;
  }
  *cursor = at;
  return true;
}

static egraph_status refuse_dtype(const char *where, const char *name, const char *text) {
  char all[256] = "";
  eg_spelling spelling = eg_spelling_start(name);
  for (int d = 0; d < EGRAPH_DTYPE_COUNT; d++) {
    const char *known = eg_dtype_name((egraph_dtype)d);
    eg_spelling_offer(&spelling, known);
    (void)snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s",
                   d == 0 ? "" : ", ", known);
  }
  return EG_FAIL(EGRAPH_E_PARSE, "%s: unknown element type '%s' in '%s'; %s %s%s", where,
                 name, text, spelling.best != NULL ? "did you mean" : "there are",
                 spelling.best != NULL ? spelling.best : all,
                 spelling.best != NULL ? "?" : "");
}

egraph_status eg_type_parse(const char *where, const char *text, eg_type *out) {
  eg_type type = {0};
  char name[16];
  size_t length = strcspn(text, "[");
  if (text[length] == '\0' || length >= sizeof name)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: '%s' is not a tensor type; write float32[1,64]",
                   where, text);
  memcpy(name, text, length);
  name[length] = '\0';
  if (!eg_dtype_find(name, &type.dtype)) return refuse_dtype(where, name, text);
  const char *cursor = text + length + 1;
  if (!parse_dims(&cursor, &type))
    return EG_FAIL(EGRAPH_E_PARSE,
                   "%s: malformed shape in '%s'; write at most %d integers separated by "
                   "commas: float32[1,64]",
                   where, text, EGRAPH_MAX_RANK);
  eg_format format = EG_FORMAT_PLAIN;
  if (*cursor == '@' ? !eg_format_find(cursor + 1, &format) : *cursor != '\0')
    return EG_FAIL(EGRAPH_E_PARSE, "%s: unknown memory format '%s' in '%s'", where,
                   cursor, text);
  type.layout.format = (uint8_t)format;
  egraph_status status = eg_type_check(&type);
  if (status != EGRAPH_OK) return eg_fail_context(status, "%s: '%s'", where, text);
  *out = type;
  return EGRAPH_OK;
}
