// The importers of single ONNX operators, one per function named in read/ops.def, and
// what they share.
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
#include "onnx/read/ops.def"
/// A node of formulas.def, by its formula.
egraph_status eg_onnx_import_formula(const eg_onnx_call *call);
/// The generic importer: the same operator, attributes by the same names.
egraph_status eg_onnx_import_same(const eg_onnx_call *call);

/// Fills a list from the attributes of the same names.
egraph_status eg_onnx_read_slots(const eg_onnx_call *call, eg_attr_list *list);
/// Declines a node of integers, which our operator does not take and ONNX's does.
egraph_status eg_onnx_want_floats(const eg_onnx_call *call);

/// The node becomes opaque: `return eg_onnx_decline("...")`.
egraph_status eg_onnx_decline(const char *why);
/// Emits with the node's operands (absent ones at the end left out) and its first result.
egraph_status eg_onnx_emit_node(const eg_onnx_call *call, const eg_attr_list *list);
/// True when something uses the result.
bool eg_onnx_is_used(const eg_onnx_call *call, uint32_t output);
/// Integers that older opsets have as attribute `name` and newer ones as operand `index`.
egraph_status eg_onnx_ints(const eg_onnx_call *call, const char *name, uint32_t index,
                           bool *out_present, eg_ints *out);
/// The same, of which some may be open sizes.
egraph_status eg_onnx_sizes(const eg_onnx_call *call, const char *name, uint32_t index,
                            bool *out_present, eg_ints *out);
/// Sorted, distinct axes in [0, rank) from ones that may be negative; arena memory.
egraph_status eg_onnx_sorted_axes(const eg_onnx_call *call, eg_ints axes, uint32_t rank,
                                  eg_ints *out);
/// A list of `count` integers in arena memory, all equal to `value`.
egraph_status eg_onnx_repeat(const eg_onnx_call *call, int64_t value, uint32_t count,
                             int64_t **out);
/// Makes `inout` a constant of zeros, whose elements are to be set through `out`;
/// EG_ONNX_NONE: a new nameless tensor. Declined where the type is open.
egraph_status eg_onnx_array(const eg_onnx_call *call, const eg_type *type,
                            eg_onnx_ref *inout, eg_tensor *out);
/// A nameless constant: a list of int64.
egraph_status eg_onnx_constant_list(const eg_onnx_call *call, const int64_t *data,
                                    uint32_t count, eg_onnx_ref *out);
/// Nodes in a row: x, reshaped.
egraph_status eg_onnx_emit_reshape(const eg_onnx_call *call, eg_onnx_ref operand,
                                   const int64_t *dims, uint32_t rank,
                                   eg_onnx_ref result);
/// Zeros of a type, as a fresh tensor.
egraph_status eg_onnx_emit_zeros(const eg_onnx_call *call, const eg_type *type,
                                 eg_onnx_ref *out);
/// Two operands and their zero points; the first zero point is 0 where only it is absent.
egraph_status eg_onnx_integer_operands(const eg_onnx_call *call, eg_onnx_ref operands[4],
                                       uint32_t *out_count);

#endif
