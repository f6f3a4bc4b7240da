// Tensor types: dtype, shape, and layout (sharding per mesh axis, memory format).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_TENSOR_H
#define EG_OPS_TENSOR_H

#include <stdbool.h>

#include "base/text.h"
#include "ops/size.h"

/// The most mesh axes that a layout describes.
enum { EG_MAX_MESH_AXES = 6 };

// Memory formats of a tensor. Each row: id, spelling, channels in a block. All but PLAIN
// need rank 4 (N,C,H,W). PLAIN is row-major. A blocked format pads the channels to a
// multiple of the block.
#define EG_FORMAT_LIST(X)                                                                \
  X(EG_FORMAT_PLAIN, "plain", 1)                                                         \
  X(EG_FORMAT_NHWC, "nhwc", 1)                                                           \
  X(EG_FORMAT_NCHW8C, "nChw8c", 8)                                                       \
  X(EG_FORMAT_NCHW16C, "nChw16c", 16)
#define EG_FORMAT_ENUM(id, name, block) id,
typedef enum eg_format { EG_FORMAT_LIST(EG_FORMAT_ENUM) EG_FORMAT_COUNT } eg_format;
#undef EG_FORMAT_ENUM

/// How a value lies along a mesh axis: replicated, partial sum or maximum, or dimension d
/// sharded (EG_SHARD_S0 + d).
enum { EG_SHARD_R = 0, EG_SHARD_P_SUM = 1, EG_SHARD_P_MAX = 2, EG_SHARD_S0 = 3 };

/// The layout of a value: its sharding along each mesh axis, and its memory format. All
/// zero: replicated everywhere, row-major.
typedef struct eg_layout {
  uint8_t sharding[EG_MAX_MESH_AXES];
  uint8_t format; // eg_format
} eg_layout;

typedef struct eg_type {
  egraph_dtype dtype;
  uint32_t rank;
  int64_t dims[EGRAPH_MAX_RANK]; // [rank] dimensions, the others are 0
  eg_layout layout;
} eg_type;

/// Returns a row-major type. rank <= EGRAPH_MAX_RANK (asserted).
eg_type eg_type_of(egraph_dtype dtype, uint32_t rank, const int64_t *dims);
/// Returns the row-major type with the element type and shape of `type`.
static inline eg_type eg_type_like(const eg_type *type) {
  return eg_type_of(type->dtype, type->rank, type->dims);
}
bool eg_type_same(const eg_type *a, const eg_type *b);       // compares layouts, too
bool eg_type_same_shape(const eg_type *a, const eg_type *b); // dims only
/// Fails with EGRAPH_E_TYPE on a negative dimension or when the bytes overflow.
egraph_status eg_type_check(const eg_type *type);
bool eg_type_agrees(const eg_type *a, const eg_type *b); // dims only: eg_size_agree
/// True when a dimension of the type is open (an expression, ops/size.h).
bool eg_type_is_open(const eg_type *type);
/// Returns the type at the sizes `dims` of open dimensions; NULL: at their examples.
eg_type eg_type_at(const eg_type *type, const int64_t *dims);
/// Return the number of elements (a size) and of bytes of a checked type; the bytes of a
/// blocked format include its padding. The bytes of an open type are SIZE_MAX.
int64_t eg_type_elements(const eg_type *type);
size_t eg_type_bytes(const eg_type *type);
/// Computes strides in elements, as the tensor is stored; out: [rank]. The type is
/// checked, and its format has no blocks (asserted).
void eg_type_strides(const eg_type *type, int64_t *out);
/// Returns the number of an axis counted from the front; `axis` may count from the end.
static inline uint32_t eg_axis_of(const eg_type *type, int64_t axis) {
  return (uint32_t)(axis < 0 ? axis + (int64_t)type->rank : axis);
}
uint64_t eg_type_hash(const eg_type *type);
/// Prints "float32[1,64,56,56]", with "@nhwc" appended for a format other than plain.
egraph_status eg_type_print(eg_text *text, const eg_type *type);
/// Parses text that eg_type_print wrote; `where` is for messages ("file:line:col").
egraph_status eg_type_parse(const char *where, const char *text, eg_type *out);

const char *eg_dtype_name(egraph_dtype dtype);
bool eg_dtype_find(const char *name, egraph_dtype *out);
size_t eg_dtype_bytes(egraph_dtype dtype);
int eg_dtype_onnx(egraph_dtype dtype);
bool eg_dtype_from_onnx(int onnx, egraph_dtype *out);
bool eg_dtype_is_float(egraph_dtype dtype);
/// These functions return the largest number, and the smallest normal number, of a
/// floating-point type.
double eg_dtype_largest(egraph_dtype dtype);
double eg_dtype_normal(egraph_dtype dtype);
/// Returns the unit in the last place of a number in a type; 0 for integers and bool.
double eg_dtype_unit(egraph_dtype dtype, double value);
/// True when a tensor can hold a finite number. Integers hold whole numbers in their
/// range; floating-point types hold 0, and numbers that round neither to infinity nor to
/// a subnormal number.
bool eg_dtype_holds(egraph_dtype dtype, double value);
/// True for integers without a sign; false for bool.
bool eg_dtype_is_unsigned(egraph_dtype dtype);
const char *eg_format_name(eg_format format);
bool eg_format_find(const char *name, eg_format *out);
uint32_t eg_format_block(eg_format format);
/// True when the channels are stored in blocks of several.
bool eg_type_is_blocked(const eg_type *type);

/// A tensor in host memory. `data` is borrowed.
typedef struct eg_tensor {
  eg_type type;
  void *data;
} eg_tensor;

/// Read and write an element as double or int64. Writing rounds to float16 and bfloat16,
/// to nearest even.
double eg_tensor_get_double(const eg_tensor *tensor, int64_t index);
void eg_tensor_set_double(const eg_tensor *tensor, int64_t index, double value);
/// Sets an element; types without infinities get their lowest or highest number instead.
void eg_tensor_set_fill(const eg_tensor *tensor, int64_t index, double value);
int64_t eg_tensor_get_int(const eg_tensor *tensor, int64_t index);
void eg_tensor_set_int(const eg_tensor *tensor, int64_t index, int64_t value);

#endif
