// Tensor types (shapes, sizes, text form) and their element types.
// SPDX-License-Identifier: Apache-2.0
#include "ops/tensor.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
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
  assert(a->rank <= EGRAPH_MAX_RANK && b->rank <= EGRAPH_MAX_RANK);
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

// Returns the size of a dimension in memory: blocked formats pad the channels to
// whole blocks.
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
  // Empty dimensions count as 1 here, so that the strides of an empty tensor fit as well.
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
  assert(type->rank <= EGRAPH_MAX_RANK);
  int64_t count = 1;
  for (uint32_t i = 0; i < type->rank; i++)
    if (type->dims[i] == 0) return 0;
  for (uint32_t i = 0; i < type->rank; i++)
    if (!eg_size_mul(count, type->dims[i], &count)) return INT64_MAX; // only if open
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

// ---- element types --------------------------------------------------------------------

// Element types: their names and sizes, and access to single elements.
//
// float16 and bfloat16 are storage formats. Narrowing goes straight from double to the
// 16-bit form with one rounding (to nearest, ties to even), so no value is rounded twice.

typedef struct dtype_row {
  const char *name;
  size_t bytes;
  int onnx;
} dtype_row;

static const dtype_row dtypes[EGRAPH_DTYPE_COUNT] = {
#define DTYPE_ROW(id, name, bytes, onnx) [id] = {name, bytes, onnx},
    EGRAPH_DTYPE_LIST(DTYPE_ROW)
#undef DTYPE_ROW
};

const char *eg_dtype_name(egraph_dtype dtype) {
  assert(dtype < EGRAPH_DTYPE_COUNT);
  return dtypes[dtype].name;
}

size_t eg_dtype_bytes(egraph_dtype dtype) {
  assert(dtype < EGRAPH_DTYPE_COUNT);
  return dtypes[dtype].bytes;
}

int eg_dtype_onnx(egraph_dtype dtype) {
  assert(dtype < EGRAPH_DTYPE_COUNT);
  return dtypes[dtype].onnx;
}

bool eg_dtype_find(const char *name, egraph_dtype *out) {
  for (int i = 0; i < EGRAPH_DTYPE_COUNT; i++)
    if (strcmp(dtypes[i].name, name) == 0) {
      *out = (egraph_dtype)i;
      return true;
    }
  return false;
}

bool eg_dtype_from_onnx(int onnx, egraph_dtype *out) {
  for (int i = 0; i < EGRAPH_DTYPE_COUNT; i++)
    if (dtypes[i].onnx == onnx) {
      *out = (egraph_dtype)i;
      return true;
    }
  return false;
}

/// Floating-point types: the largest, the smallest normal and the smallest number, and
/// the number of bits after the leading 1.
static const struct {
  double largest, normal, least;
  int bits;
} floats[EGRAPH_DTYPE_COUNT] = {
    [EGRAPH_FLOAT16] = {0x1.ffcp15, 0x1p-14, 0x1p-24, 10},
    [EGRAPH_BFLOAT16] = {0x1.fep127, 0x1p-126, 0x1p-133, 7},
    [EGRAPH_FLOAT32] = {0x1.fffffep127, 0x1p-126, 0x1p-149, 23},
    [EGRAPH_FLOAT64] = {0x1.fffffffffffffp1023, 0x1p-1022, 0x1p-1074, 52}};

double eg_dtype_largest(egraph_dtype dtype) {
  assert(eg_dtype_is_float(dtype));
  return floats[dtype].largest;
}

double eg_dtype_normal(egraph_dtype dtype) {
  assert(eg_dtype_is_float(dtype));
  return floats[dtype].normal;
}

double eg_dtype_unit(egraph_dtype dtype, double value) {
  if (!eg_dtype_is_float(dtype) || !isfinite(value)) return 0;
  if (fabs(value) < floats[dtype].normal) return floats[dtype].least;
  return ldexp(1.0, ilogb(value) - floats[dtype].bits);
}

bool eg_dtype_holds(egraph_dtype dtype, double value) {
  uint64_t element;
  eg_tensor scalar = {.type = eg_type_of(dtype, 0, NULL), .data = &element};
  eg_tensor_set_double(&scalar, 0, value);
  double held = eg_tensor_get_double(&scalar, 0);
  if (!eg_dtype_is_float(dtype)) return held == value;
  return value == 0 || (isfinite(held) && fabs(held) >= eg_dtype_normal(dtype));
}

bool eg_dtype_is_float(egraph_dtype dtype) {
  return dtype == EGRAPH_FLOAT32 || dtype == EGRAPH_FLOAT64 || dtype == EGRAPH_FLOAT16 ||
         dtype == EGRAPH_BFLOAT16;
}

// ---- 16-bit floating point ------------------------------------------------------

/// A small binary floating-point format: bits of the fraction, and the bias of
/// the exponent.
typedef struct small_float {
  int fraction_bits, bias;
} small_float;

static const small_float half_format = {10, 15}, brain_format = {7, 127};

// Rounds a double to a small format: shifts the significand (with its hidden bit) and
// rounds; a carry out of the fraction increments the exponent field.
static uint16_t narrow_float(small_float to, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint16_t sign = (uint16_t)(bits >> 63 << 15);
  uint16_t infinity = (uint16_t)((2 * to.bias + 1) << to.fraction_bits);
  if (isnan(value)) return (uint16_t)(sign | infinity | 1u << (to.fraction_bits - 1));
  int exponent = (int)(bits >> 52 & 0x7ff) - 1023, lowest = 1 - to.bias;
  if (exponent > to.bias) return (uint16_t)(sign | infinity);
  if (exponent < lowest - to.fraction_bits - 1) return sign;
  uint64_t significand = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
  int shift = 52 - to.fraction_bits + (exponent < lowest ? lowest - exponent : 0);
  uint64_t kept = significand >> shift, half = UINT64_C(1) << (shift - 1);
  uint64_t rest = significand & (2 * half - 1);
  if (rest > half || (rest == half && (kept & 1) != 0)) kept++;
  uint64_t field = exponent < lowest ? 0 : (uint64_t)(exponent - lowest);
  return (uint16_t)(sign | (uint16_t)((field << to.fraction_bits) + kept));
}

static double widen(small_float from, uint16_t bits) {
  int fraction = bits & ((1 << from.fraction_bits) - 1);
  int field = (bits & 0x7fff) >> from.fraction_bits, lowest = 1 - from.bias;
  uint64_t wide = (uint64_t)(field - from.bias + 1023) << 52 |
                  (uint64_t)fraction << (52 - from.fraction_bits);
  double size;
  if (field == 2 * from.bias + 1)
    size = fraction != 0 ? (double)NAN : (double)INFINITY;
  else if (field == 0)
    size = ldexp(fraction, lowest - from.fraction_bits);
  else
    memcpy(&size, &wide, sizeof size);
  return (bits & 0x8000) != 0 ? -size : size;
}

// ---- elements -------------------------------------------------------------------

// Converts to int64. Values out of range saturate instead of being undefined; NaN
// becomes 0.
static int64_t int_of(double value) {
  if (isnan(value)) return 0;
  if (value >= 0x1p63) return INT64_MAX;
  if (value <= -0x1p63) return INT64_MIN;
  return (int64_t)value;
}

static uint64_t uint_of(double value) {
  if (value >= 0x1p64) return UINT64_MAX;
  if (value >= 0x1p63) return (uint64_t)(value - 0x1p63) + (UINT64_C(1) << 63);
  return (uint64_t)int_of(value);
}

double eg_tensor_get_double(const eg_tensor *tensor, int64_t index) {
  assert(index >= 0);
  const void *data = tensor->data;
  switch (tensor->type.dtype) {
  case EGRAPH_FLOAT32: return (double)((const float *)data)[index];
  case EGRAPH_FLOAT64: return ((const double *)data)[index];
  case EGRAPH_FLOAT16: return widen(half_format, ((const uint16_t *)data)[index]);
  case EGRAPH_BFLOAT16: return widen(brain_format, ((const uint16_t *)data)[index]);
  case EGRAPH_UINT64: return (double)((const uint64_t *)data)[index];
  case EGRAPH_INT8:
  case EGRAPH_INT16:
  case EGRAPH_INT32:
  case EGRAPH_INT64:
  case EGRAPH_UINT8:
  case EGRAPH_UINT16:
  case EGRAPH_UINT32:
  case EGRAPH_BOOL: return (double)eg_tensor_get_int(tensor, index);
  case EGRAPH_DTYPE_COUNT: break;
  }
  assert(false && "a dtype");
  return 0;
}

void eg_tensor_set_double(const eg_tensor *tensor, int64_t index, double value) {
  assert(index >= 0);
  void *data = tensor->data;
  switch (tensor->type.dtype) {
  case EGRAPH_FLOAT32: ((float *)data)[index] = (float)value; return;
  case EGRAPH_FLOAT64: ((double *)data)[index] = value; return;
  case EGRAPH_FLOAT16:
    ((uint16_t *)data)[index] = narrow_float(half_format, value);
    return;
  case EGRAPH_BFLOAT16:
    ((uint16_t *)data)[index] = narrow_float(brain_format, value);
    return;
  case EGRAPH_UINT64: ((uint64_t *)data)[index] = uint_of(value); return;
  case EGRAPH_BOOL: ((uint8_t *)data)[index] = value != 0; return;
  case EGRAPH_INT8:
  case EGRAPH_INT16:
  case EGRAPH_INT32:
  case EGRAPH_INT64:
  case EGRAPH_UINT8:
  case EGRAPH_UINT16:
  case EGRAPH_UINT32: eg_tensor_set_int(tensor, index, int_of(value)); return;
  case EGRAPH_DTYPE_COUNT: break;
  }
  assert(false && "a dtype");
}

void eg_tensor_set_fill(const eg_tensor *tensor, int64_t index, double value) {
  egraph_dtype dtype = tensor->type.dtype;
  if (eg_dtype_is_float(dtype) || !isinf(value)) {
    eg_tensor_set_double(tensor, index, value);
    return;
  }
  bool has_sign = dtype == EGRAPH_INT8 || dtype == EGRAPH_INT16 ||
                  dtype == EGRAPH_INT32 || dtype == EGRAPH_INT64;
  int64_t lowest = has_sign ? INT64_MIN >> (64 - 8 * eg_dtype_bytes(dtype)) : 0;
  eg_tensor_set_int(tensor, index, value < 0 ? lowest : ~lowest);
}

int64_t eg_tensor_get_int(const eg_tensor *tensor, int64_t index) {
  assert(index >= 0);
  const void *data = tensor->data;
  switch (tensor->type.dtype) {
  case EGRAPH_INT8: return ((const int8_t *)data)[index];
  case EGRAPH_INT16: return ((const int16_t *)data)[index];
  case EGRAPH_INT32: return ((const int32_t *)data)[index];
  case EGRAPH_INT64: return ((const int64_t *)data)[index];
  case EGRAPH_UINT8: return ((const uint8_t *)data)[index];
  case EGRAPH_UINT16: return ((const uint16_t *)data)[index];
  case EGRAPH_UINT32: return ((const uint32_t *)data)[index];
  case EGRAPH_UINT64: return (int64_t)((const uint64_t *)data)[index];
  case EGRAPH_BOOL: return ((const uint8_t *)data)[index] != 0;
  case EGRAPH_FLOAT32:
  case EGRAPH_FLOAT64:
  case EGRAPH_FLOAT16:
  case EGRAPH_BFLOAT16: return int_of(eg_tensor_get_double(tensor, index));
  case EGRAPH_DTYPE_COUNT: break;
  }
  assert(false && "a dtype");
  return 0;
}

void eg_tensor_set_int(const eg_tensor *tensor, int64_t index, int64_t value) {
  assert(index >= 0);
  void *data = tensor->data;
  switch (tensor->type.dtype) {
  case EGRAPH_INT8: ((int8_t *)data)[index] = (int8_t)value; return;
  case EGRAPH_INT16: ((int16_t *)data)[index] = (int16_t)value; return;
  case EGRAPH_INT32: ((int32_t *)data)[index] = (int32_t)value; return;
  case EGRAPH_INT64: ((int64_t *)data)[index] = value; return;
  case EGRAPH_UINT8: ((uint8_t *)data)[index] = (uint8_t)value; return;
  case EGRAPH_UINT16: ((uint16_t *)data)[index] = (uint16_t)value; return;
  case EGRAPH_UINT32: ((uint32_t *)data)[index] = (uint32_t)value; return;
  case EGRAPH_UINT64: ((uint64_t *)data)[index] = (uint64_t)value; return;
  case EGRAPH_BOOL: ((uint8_t *)data)[index] = value != 0; return;
  case EGRAPH_FLOAT32:
  case EGRAPH_FLOAT64:
  case EGRAPH_FLOAT16:
  case EGRAPH_BFLOAT16: eg_tensor_set_double(tensor, index, (double)value); return;
  case EGRAPH_DTYPE_COUNT: break;
  }
  assert(false && "a dtype");
}

bool eg_dtype_is_unsigned(egraph_dtype dtype) {
  return dtype == EGRAPH_UINT8 || dtype == EGRAPH_UINT16 || dtype == EGRAPH_UINT32 ||
         dtype == EGRAPH_UINT64;
}
