// Reference kernels of the operator families, and their shared functions.
//
// A kernel sees row-major host tensors whose types inference accepted. Arithmetic kernels
// are written for four element types only, the wide ones (float32, float64, int64,
// uint64): eg_op_run widens float16 and bfloat16 to float32 and the narrow integers to 64
// bits before the call and narrows the results after it, which is exact for wrapping
// arithmetic. Kernels that only move elements see the stored type.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_KERNELS_H
#define EG_OPS_KERNELS_H

#include "ops/ops.h"

typedef egraph_status (*eg_kernel)(const eg_kernel_call *call);

#define EG_OP(ID, NAME, ONNX, MIN, MAX, RESULTS, FAMILY, ...)                            \
  egraph_status eg_kernel_##FAMILY(const eg_kernel_call *call);
#include "ops/op_table.def"

// The wide element types. Each row: suffix, C type, C type of accumulators, dtype.
#define EG_WIDE_LIST(X)                                                                  \
  X(F32, float, double, EGRAPH_FLOAT32)                                                  \
  X(F64, double, double, EGRAPH_FLOAT64)                                                 \
  X(I64, int64_t, int64_t, EGRAPH_INT64)                                                 \
  X(U64, uint64_t, uint64_t, EGRAPH_UINT64)
#define EG_WIDE_ENUM(id, type, sum, dtype) EG_WIDE_##id,
typedef enum eg_wide { EG_WIDE_LIST(EG_WIDE_ENUM) EG_WIDE_COUNT } eg_wide;
#undef EG_WIDE_ENUM

/// Finds the wide type (float32, float64, int64 or uint64) for a dtype; false for a dtype
/// that kernels do not compute in, and for bool.
bool eg_wide_find(egraph_dtype dtype, eg_wide *out);
/// Fails with EGRAPH_E_UNSUPPORTED: the operator has no meaning for the element type.
egraph_status eg_kernel_refuse(const eg_kernel_call *call, egraph_dtype dtype);

/// Returns attribute number `slot` of the operator. Operators of a family share attribute
/// numbers, not names.
static inline const eg_attr *eg_kernel_slot(const eg_kernel_call *call, uint32_t slot) {
  return &call->attrs->slots[slot];
}
static inline eg_op eg_kernel_op(const eg_kernel_call *call) {
  return (eg_op)call->attrs->op;
}

/// A tensor around one axis: [outer, size, inner]. A negative axis counts from the end.
typedef struct eg_axis_view {
  int64_t outer, size, inner;
} eg_axis_view;
eg_axis_view eg_axis_view_of(const eg_type *type, int64_t axis);

/// A part of an axis that is gathered along: `size` entries, from `first` on.
typedef struct eg_gather_axis {
  int64_t size, whole, first;
} eg_gather_axis;
/// Returns the part of the gathered axis that attributes describe; `whole` is the
/// attribute with the size of the whole axis, the next attribute is `first`.
eg_gather_axis eg_gather_axis_of(const eg_attrs *attrs, eg_attr_slot whole, int64_t size);
/// Converts entry `at` of the indices to an index in this part of the axis; -1 for an
/// index in another part. Indices count in the whole axis, negative ones from its end;
/// one outside of the whole axis fails with EGRAPH_E_ARGUMENT.
egraph_status eg_gather_index(const eg_tensor *indices, int64_t at,
                              const eg_gather_axis *axis, int64_t *out);

/// Returns the product of dims[from .. to).
int64_t eg_dims_product(const int64_t *dims, uint32_t from, uint32_t to);
/// Computes row-major strides, in elements.
void eg_dims_strides(uint32_t rank, const int64_t *dims, int64_t *out_strides);
/// Advances `index` to the next one in row-major order; false when it wraps to zeros.
/// Rank 0 has one index.
bool eg_index_next(uint32_t rank, const int64_t *dims, int64_t *index);

/// Copies `count` elements, beginning at element `at`, to elements `place` and following
/// of a tensor of the same element type.
void eg_elements_copy(const eg_tensor *from, int64_t at, const eg_tensor *to,
                      int64_t place, int64_t count);
/// Converts every element between tensors of equal shape: floats to integers truncate and
/// saturate (NaN becomes 0), integers wrap, and to bool all but zero is true.
void eg_tensor_convert(const eg_tensor *from, const eg_tensor *to);
/// Converts the elements of a tensor to doubles in the arena. Fails with EGRAPH_E_MEMORY.
egraph_status eg_kernel_load_doubles(eg_arena *arena, const eg_tensor *from,
                                     const double **out);
/// Converts doubles to the elements of a tensor.
void eg_kernel_store_doubles(const double *from, const eg_tensor *to);
/// Sets every element to a value, which is converted as by eg_tensor_convert.
void eg_tensor_fill(const eg_tensor *tensor, double value);

/// Calls name_f32(...) or name_f64(...); returns a failure from the enclosing kernel for
/// another dtype.
#define EG_KERNEL_FLOATS(call, dtype, name, ...)                                         \
  do {                                                                                   \
    if ((dtype) == EGRAPH_FLOAT32)                                                       \
      name##_f32(__VA_ARGS__);                                                           \
    else if ((dtype) == EGRAPH_FLOAT64)                                                  \
      name##_f64(__VA_ARGS__);                                                           \
    else                                                                                 \
      return eg_kernel_refuse(call, dtype);                                              \
  } while (0)

// Compiles a function twice, for every x86-64 and for AVX2; the loader chooses one. No
// operations are contracted to fused multiply-adds, so both give the same bits. Not used
// with sanitizers, which are not ready when the loader chooses, nor with clang, whose
// resolvers of static functions collide.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) &&                   \
    defined(__GLIBC__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) &&     \
    !defined(__SANITIZE_THREAD__)
#define EG_KERNEL_CLONES __attribute__((target_clones("avx2", "default")))
#endif
#ifndef EG_KERNEL_CLONES
#define EG_KERNEL_CLONES
#endif

// Makes the next loop vector code although results may overlay operands. In the loop each
// round must read and write only its own elements. Loops that are checked for undefined
// behaviour leave at each check, and stay scalar.
#if defined(__clang__)
#if !__has_feature(undefined_behavior_sanitizer)
#define EG_KERNEL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#endif
#elif defined(__GNUC__)
#define EG_KERNEL_INDEPENDENT _Pragma("GCC ivdep")
#endif
#ifndef EG_KERNEL_INDEPENDENT
#define EG_KERNEL_INDEPENDENT
#endif

// ---- rows: contiguous runs of elements of one wide type ---------------------

/// Computes a unary operator on `count` contiguous elements. `params` are the operator's
/// numeric attributes (eg_row_params); out may be x.
typedef void (*eg_row_unary)(const void *x, void *out, size_t count,
                             const double params[2]);
typedef void (*eg_row_binary)(const void *a, const void *b, void *out, size_t count,
                              const double params[2]);

/// Finds the function that computes a binary operator on contiguous elements. Comparisons
/// write bool, other operators the operand type.
eg_row_binary eg_row_binary_of(eg_op op, eg_wide wide);
/// Finds the function for and, or, xor on contiguous bools; NULL for other operators.
eg_row_binary eg_row_logic_of(eg_op op);
/// Reads a node's parameters for functions on rows: its first two numeric attributes.
void eg_row_params(const eg_attrs *attrs, double out_params[2]);

/// A fused activation: a function on contiguous elements with parameters; NULL: none.
typedef struct eg_row_act {
  eg_row_unary row;
  double params[2];
} eg_row_act;
/// Finds the function for the node's activation, on accumulators of a wide type
/// (EG_WIDE_F64 for both floats). Fails with EGRAPH_E_UNSUPPORTED where the activation
/// has no meaning for this type.
egraph_status eg_row_act_find(const eg_kernel_call *call, eg_wide wide, eg_row_act *out);

// ---- finishing a contraction ------------------------------------------------

/// An addend of a row of accumulators: factor * data[i * step]. data has the result's
/// element type.
typedef struct eg_addend {
  const void *data;
  int64_t step; // 0 or 1
  double factor;
} eg_addend;

/// The last steps of a contraction: result = act(scale * sum + addends). For integers,
/// scale and factors are whole numbers.
typedef struct eg_finish {
  eg_wide wide;
  double scale;
  eg_row_act act;
  uint32_t addends;
  eg_addend addend[2];
} eg_finish;

/// Scales one row of accumulators (double for floats, uint64_t for integers) in place,
/// adds bias and z, activates, and writes the row to the result.
void eg_finish_row(const eg_finish *finish, void *sums, size_t count, void *result);

// ---- broadcasting -----------------------------------------------------------

enum { EG_BROADCAST_OPERANDS = 4 };

/// The loop nest of a broadcasting operator: equal neighbouring dimensions are merged, so
/// that the last one is as long as possible. Strides are in elements; the last is 0 or 1
/// for every operand.
typedef struct eg_broadcast {
  uint32_t rank, operands;
  int64_t dims[EGRAPH_MAX_RANK];
  int64_t strides[EG_BROADCAST_OPERANDS][EGRAPH_MAX_RANK];
  int64_t offsets[EG_BROADCAST_OPERANDS]; // where the current row of each operand begins
  int64_t index[EGRAPH_MAX_RANK];
} eg_broadcast;

/// Computes an operand's strides along the result's dimensions; 0 where it is broadcast.
void eg_broadcast_strides(const eg_type *result, const eg_type *input,
                          int64_t *out_strides);
/// Returns the length of a row: the last dimension of the loop nest.
static inline int64_t eg_broadcast_row(const eg_broadcast *loop) {
  return loop->dims[loop->rank - 1];
}

// ---- moves of elements ------------------------------------------------------

/// A move: result[i0, i1, ...] = input[map[0][i0] + map[1][i1] + ...], or the fill
/// element when one of these entries is EG_MOVE_FILL. Every operator that only picks
/// elements is a move.
enum { EG_MOVE_FILL = -1 };
typedef struct eg_move {
  uint32_t rank;
  int64_t dims[EGRAPH_MAX_RANK]; // dimensions of the result
  int64_t *map[EGRAPH_MAX_RANK]; // map[d] has dims[d] offsets, in elements
  size_t element;                // bytes of an element: 1, 2, 4 or 8
  unsigned char fill[8];
} eg_move;

/// Allocates tables of input offsets (eg_move) for `result` from the arena, zeroed.
egraph_status eg_move_init(eg_move *move, eg_arena *arena, const eg_type *result);
void eg_move_run(const eg_move *move, const void *from, void *to);

#endif
