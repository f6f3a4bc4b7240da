// The importers of single ONNX operators, one per function named in read/ops.def, and
// their shared functions.
//
// An importer reads attributes and operands and emits nodes; the node that defines a
// result of the ONNX node comes last, so that an importer that gives up
// (EGRAPH_E_UNSUPPORTED) has defined nothing.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_READ_OP_H
#define EG_ONNX_READ_OP_H

#include "onnx/read/reader.h"

typedef egraph_status (*eg_onnx_importer)(const eg_onnx_call *call);

#define EG_ONNX(NAME, FUNCTION, OP, ATTRS)                                               \
  egraph_status eg_onnx_import_##FUNCTION(const eg_onnx_call *call);
#define EG_MICROSOFT EG_ONNX
#include "onnx/read/ops.def"
/// Imports a node of formulas.def, by its formula.
egraph_status eg_onnx_import_formula(const eg_onnx_call *call);
/// Imports a node as the operator of the same name, with attributes of the same names.
egraph_status eg_onnx_import_same(const eg_onnx_call *call);

/// Declare a variable with the type of an operand, or the value of an attribute
/// (`fallback` if it is absent); they return from the importer when reading fails.
#define EG_ONNX_TYPE(name, call, index)                                                  \
  eg_type name;                                                                          \
  EG_TRY(eg_onnx_input_type(call, index, &name))
#define EG_ONNX_INT(name, call, attribute, fallback)                                     \
  int64_t name;                                                                          \
  EG_TRY(eg_onnx_attr_int(call, attribute, fallback, &name))
#define EG_ONNX_FLOAT(name, call, attribute, fallback)                                   \
  double name;                                                                           \
  EG_TRY(eg_onnx_attr_float(call, attribute, fallback, &name))
#define EG_ONNX_STRING(name, call, attribute, fallback)                                  \
  const char *name;                                                                      \
  EG_TRY(eg_onnx_attr_string(call, attribute, fallback, &name))

/// Fills a list of attributes of our operator from the ONNX attributes of the same names.
egraph_status eg_onnx_read_slots(const eg_onnx_call *call, eg_attr_list *list);
static inline int64_t eg_onnx_clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}
/// Declines a node with integer operands: ONNX's operator takes integers, ours does not.
egraph_status eg_onnx_want_floats(const eg_onnx_call *call);

/// Declines the node, which becomes opaque: `return eg_onnx_decline("...")`.
egraph_status eg_onnx_decline(const char *why);

/// A value for an attribute of the operator under construction: EG_INT(TRILU_K, k).
typedef struct eg_onnx_slot {
  eg_attr_slot slot;
  eg_attr value; // a symbol as text
} eg_onnx_slot;
#define EG_SLOT_(SLOT, KIND, ...)                                                        \
  ((eg_onnx_slot){EG_A_##SLOT, {.kind = EG_ATTR_##KIND, __VA_ARGS__}})
#define EG_INT(SLOT, value) EG_SLOT_(SLOT, INT, .i = (value))
#define EG_DTYPE(SLOT, value) EG_SLOT_(SLOT, DTYPE, .i = (int64_t)(value))
#define EG_FLOAT(SLOT, value) EG_SLOT_(SLOT, FLOAT, .f = (value))
#define EG_TEXT(SLOT, value) EG_SLOT_(SLOT, STRING, .text = (value))
#define EG_SYMBOL(SLOT, value) EG_SLOT_(SLOT, SYMBOL, .text = (value))
#define EG_INTS(SLOT, data, len) EG_SLOT_(SLOT, INTS, .ints = {(data), (len)})
/// Lists the attributes of an operator: EG_LIST(TRILU, EG_INT(TRILU_K, k)). All other
/// attributes have their defaults.
eg_attr_list eg_onnx_list(eg_op op, const eg_onnx_slot *slots, size_t count);
#define EG_LIST(OP, ...) EG_LIST_OF(EG_OP_##OP, __VA_ARGS__)
#define EG_PLAIN(OP) eg_onnx_list(EG_OP_##OP, NULL, 0)
#define EG_LIST_OF(op, ...)                                                              \
  eg_onnx_list((op), (const eg_onnx_slot[]){__VA_ARGS__},                                \
               sizeof((const eg_onnx_slot[]){__VA_ARGS__}) / sizeof(eg_onnx_slot))

/// Emits an operator on all operands of the node, without absent ones at the end, with
/// the node's results.
egraph_status eg_onnx_emit_node(const eg_onnx_call *call, eg_attr_list list);
/// Emit an operator on the first `count` operands, and on operands of the caller.
egraph_status eg_onnx_emit_first(const eg_onnx_call *call, uint32_t count,
                                 eg_attr_list list);
egraph_status eg_onnx_emit_on(const eg_onnx_call *call, const eg_onnx_ref *operands,
                              uint32_t count, eg_attr_list list);
/// True when the node names the result, which may be unused.
static inline bool eg_onnx_has_result(const eg_onnx_call *call, uint32_t output) {
  return eg_onnx_output(call, output).id != EG_ONNX_NONE.id;
}
/// True when a node or a model output uses the result.
bool eg_onnx_is_used(const eg_onnx_call *call, uint32_t output);
/// Reads integers that are attribute `name` in older opsets and operand `index` in
/// newer ones.
egraph_status eg_onnx_ints(const eg_onnx_call *call, const char *name, uint32_t index,
                           bool *out_present, eg_ints *out);
/// Reads integers, some of which may be open sizes, that are attribute `name` in older
/// opsets and operand `index` in newer ones.
egraph_status eg_onnx_sizes(const eg_onnx_call *call, const char *name, uint32_t index,
                            bool *out_present, eg_ints *out);
/// Makes sorted, distinct axes in [0, rank) from axes that may be negative; arena memory.
egraph_status eg_onnx_sorted_axes(const eg_onnx_call *call, eg_ints axes, uint32_t rank,
                                  eg_ints *out);
/// Returns an operand whose bytes are known; otherwise declines the node with `why`.
egraph_status eg_onnx_known_operand(const eg_onnx_call *call, uint32_t index,
                                    const char *why, eg_tensor *out);
/// Reads the only element of a constant operand. Fails with EGRAPH_E_PARSE ("k is no
/// scalar") if the operand has another number of elements, or is absent and not optional.
/// If it is absent and optional, *inout stays.
egraph_status eg_onnx_const_int(const eg_onnx_call *call, uint32_t index,
                                const char *what, bool is_optional, int64_t *inout);
egraph_status eg_onnx_const_double(const eg_onnx_call *call, uint32_t index,
                                   const char *what, bool is_optional, double *inout);
/// Reads attribute "axis" as an axis in [0, rank).
egraph_status eg_onnx_attr_axis(const eg_onnx_call *call, int64_t fallback, uint32_t rank,
                                int64_t *out);
/// Reads attribute "axis". *out_old: the set is before 13, where it means all
/// dimensions from the axis on; then declines an axis after the last dimension, as
/// "<what> over no dimension".
egraph_status eg_onnx_matrix_axis(const eg_onnx_call *call, const char *what,
                                  uint32_t rank, bool *out_old, int64_t *out);
/// Finds the element type of a TensorProto.DataType; false: we do not have it.
bool eg_onnx_find_dtype(int64_t number, egraph_dtype *out);
/// Makes a list of `count` integers in arena memory, all equal to `value`.
egraph_status eg_onnx_repeat(const eg_onnx_call *call, int64_t value, uint32_t count,
                             int64_t **out);
/// Makes *inout (EG_ONNX_NONE: a new nameless tensor) a constant of zeros, whose
/// elements the caller sets through `out`. Declines the node if the type has open sizes.
egraph_status eg_onnx_array(const eg_onnx_call *call, const eg_type *type,
                            eg_onnx_ref *inout, eg_tensor *out);
/// Makes a result a constant with a copy of these bytes, unless the result is absent.
egraph_status eg_onnx_define_result(const eg_onnx_call *call, uint32_t index,
                                    const eg_type *type, const void *data);
/// Makes a nameless scalar constant.
egraph_status eg_onnx_scalar(const eg_onnx_call *call, egraph_dtype dtype, double value,
                             eg_onnx_ref *out);
/// Makes a nameless constant, a list of int64.
egraph_status eg_onnx_constant_list(const eg_onnx_call *call, const int64_t *data,
                                    uint32_t count, eg_onnx_ref *out);
/// Emits an operator with default attributes and one result.
egraph_status eg_onnx_emit_plain(const eg_onnx_call *call, eg_op op,
                                 const eg_onnx_ref *operands, uint32_t count,
                                 eg_onnx_ref result);
/// Emits a node whose result is a fresh tensor.
egraph_status eg_onnx_emit_fresh(const eg_onnx_call *call, eg_attr_list list,
                                 const eg_onnx_ref *operands, uint32_t count,
                                 eg_onnx_ref *out);
/// Emits one node, which reshapes the operand to `dims`.
egraph_status eg_onnx_emit_reshape(const eg_onnx_call *call, eg_onnx_ref operand,
                                   const int64_t *dims, uint32_t rank,
                                   eg_onnx_ref result);
/// Emits zeros of a type, as a fresh tensor.
egraph_status eg_onnx_emit_zeros(const eg_onnx_call *call, const eg_type *type,
                                 eg_onnx_ref *out);
/// Emits an operator on two operands and their zero points. Absent zero points at the
/// end are left out; if only the first one is absent, it becomes 0.
egraph_status eg_onnx_emit_integers(const eg_onnx_call *call, eg_attr_list list);

#endif
