// Converts element types, in strips: every type is read into the widest type of its kind
// (double, int64, uint64) and written from there. This takes 13 readers and 3 x 13
// writers instead of 169 loops. An integer becomes float32 directly, with one rounding.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "ops/kernels.h"

enum { STRIP = 256 };

typedef enum eg_kind { KIND_FLOAT, KIND_INT, KIND_UINT } eg_kind;

typedef union eg_strip {
  double f[STRIP];
  int64_t i[STRIP];
  uint64_t u[STRIP];
} eg_strip;

// Signed and unsigned integer types: dtype, C type, smallest and largest value.
#define SIGNED_LIST(X)                                                                   \
  X(EGRAPH_INT8, int8_t, INT8_MIN, INT8_MAX)                                             \
  X(EGRAPH_INT16, int16_t, INT16_MIN, INT16_MAX)                                         \
  X(EGRAPH_INT32, int32_t, INT32_MIN, INT32_MAX)                                         \
  X(EGRAPH_INT64, int64_t, INT64_MIN, INT64_MAX)
#define UNSIGNED_LIST(X)                                                                 \
  X(EGRAPH_UINT8, uint8_t, 0, UINT8_MAX)                                                 \
  X(EGRAPH_UINT16, uint16_t, 0, UINT16_MAX)                                              \
  X(EGRAPH_UINT32, uint32_t, 0, UINT32_MAX)                                              \
  X(EGRAPH_UINT64, uint64_t, 0, UINT64_MAX)

static eg_kind number_kind_of(egraph_dtype dtype) {
  if (eg_dtype_is_float(dtype)) return KIND_FLOAT;
  return dtype == EGRAPH_BOOL || eg_dtype_is_unsigned(dtype) ? KIND_UINT : KIND_INT;
}

static void read_strip(const eg_tensor *from, size_t at, size_t count, eg_strip *strip) {
  switch (from->type.dtype) {
#define READ(id, type, slot, value)                                                      \
  case id: {                                                                             \
    const type *x = (const type *)from->data + at;                                       \
    for (size_t i = 0; i < count; i++)                                                   \
      strip->slot[i] = (value);                                                          \
    break;                                                                               \
  }
#define READ_SIGNED(id, type, min, max) READ(id, type, i, x[i])
#define READ_UNSIGNED(id, type, min, max) READ(id, type, u, x[i])
    READ(EGRAPH_FLOAT32, float, f, (double)x[i])
    READ(EGRAPH_FLOAT64, double, f, x[i])
    READ(EGRAPH_BOOL, uint8_t, u, x[i] != 0)
    SIGNED_LIST(READ_SIGNED)
    UNSIGNED_LIST(READ_UNSIGNED)
#undef READ_UNSIGNED
#undef READ_SIGNED
#undef READ
  case EGRAPH_FLOAT16:
  case EGRAPH_BFLOAT16:
    for (size_t i = 0; i < count; i++)
      strip->f[i] = eg_tensor_get_double(from, (int64_t)(at + i));
    break;
  case EGRAPH_DTYPE_COUNT: break;
  }
}

// Truncates towards zero into [min, max]. The bounds as doubles may round up (2^63,
// 2^64), so the comparison with the upper one must not admit it.
static int64_t saturate_int(double x, int64_t min, int64_t max) {
  if (x != x) return 0;
  if (x <= (double)min) return min;
  return x >= (double)max ? max : (int64_t)x;
}

static uint64_t saturate_uint(double x, uint64_t max) {
  if (!(x > 0.0)) return 0;
  return x >= (double)max ? max : (uint64_t)x;
}

#define WRITE(id, type, value)                                                           \
  case id: {                                                                             \
    type *y = (type *)to->data + at;                                                     \
    for (size_t i = 0; i < count; i++)                                                   \
      y[i] = (type)(value);                                                              \
    break;                                                                               \
  }
#define WRITER(name, slot, SIGNED, UNSIGNED)                                             \
  static void name(const eg_tensor *to, size_t at, size_t count,                         \
                   const eg_strip *strip) {                                              \
    switch (to->type.dtype) {                                                            \
      WRITE(EGRAPH_FLOAT32, float, strip->slot[i])                                       \
      WRITE(EGRAPH_FLOAT64, double, strip->slot[i])                                      \
      WRITE(EGRAPH_BOOL, uint8_t, strip->slot[i] != 0)                                   \
      SIGNED_LIST(SIGNED)                                                                \
      UNSIGNED_LIST(UNSIGNED)                                                            \
    case EGRAPH_FLOAT16:                                                                 \
    case EGRAPH_BFLOAT16:                                                                \
      for (size_t i = 0; i < count; i++)                                                 \
        eg_tensor_set_double(to, (int64_t)(at + i), (double)strip->slot[i]);             \
      break;                                                                             \
    case EGRAPH_DTYPE_COUNT: break;                                                      \
    }                                                                                    \
  }
#define SATURATED_INT(id, type, min, max)                                                \
  WRITE(id, type, saturate_int(strip->f[i], min, max))
#define SATURATED_UINT(id, type, min, max)                                               \
  WRITE(id, type, saturate_uint(strip->f[i], max))
// Integers go through uint64 into other integers: the conversion to an unsigned type is
// modular, and so is the one to a signed type in every compiler we build with.
#define WRAPPED(id, type, min, max) WRITE(id, type, (uint64_t)strip->u[i])
WRITER(write_floats, f, SATURATED_INT, SATURATED_UINT)
WRITER(write_ints, i, WRAPPED, WRAPPED)
WRITER(write_uints, u, WRAPPED, WRAPPED)

void eg_tensor_convert(const eg_tensor *from, const eg_tensor *to) {
  assert(eg_type_elements(&from->type) == eg_type_elements(&to->type));
  size_t count = (size_t)eg_type_elements(&from->type);
  if (count == 0) return;
  if (from->type.dtype == to->type.dtype) {
    memmove(to->data, from->data, count * eg_dtype_bytes(from->type.dtype));
    return;
  }
  static void (*const writers[])(const eg_tensor *to, size_t at, size_t count,
                                 const eg_strip *strip) = {
      [KIND_FLOAT] = write_floats, [KIND_INT] = write_ints, [KIND_UINT] = write_uints};
  eg_kind kind = number_kind_of(from->type.dtype);
  eg_strip strip;
  for (size_t at = 0; at < count; at += STRIP) {
    size_t some = count - at < STRIP ? count - at : STRIP;
    read_strip(from, at, some, &strip);
    writers[kind](to, at, some, &strip);
  }
}

void eg_tensor_fill(const eg_tensor *tensor, double value) {
  size_t count = (size_t)eg_type_elements(&tensor->type);
  eg_strip strip;
  for (size_t i = 0; i < STRIP; i++)
    strip.f[i] = value;
  for (size_t at = 0; at < count; at += STRIP)
    write_floats(tensor, at, count - at < STRIP ? count - at : STRIP, &strip);
}

egraph_status eg_kernel_load_doubles(eg_arena *arena, const eg_tensor *from,
                                     const double **out) {
  eg_tensor wide = {.type = from->type};
  wide.type.dtype = EGRAPH_FLOAT64;
  EG_TRY(eg_arena_alloc(arena, (size_t)eg_type_elements(&wide.type), sizeof(double),
                        &wide.data));
  eg_tensor_convert(from, &wide);
  *out = wide.data;
  return EGRAPH_OK;
}

void eg_kernel_store_doubles(const double *from, const eg_tensor *to) {
  eg_tensor wide = {.type = to->type};
  wide.type.dtype = EGRAPH_FLOAT64;
  memcpy(&wide.data, &from, sizeof from); // through the copy, data is only read
  eg_tensor_convert(&wide, to);
}
