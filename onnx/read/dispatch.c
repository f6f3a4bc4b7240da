// Finds the importer of a node in the tables of ONNX operators. This file depends on all
// importers; only import.c depends on it.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "onnx/read/op.h"
#include "onnx/sets/versions.h"
#include "onnx/write/writer.h"

typedef struct onnx_row {
  const char *name;
  eg_onnx_importer import;
  eg_op op;
  const char *attrs;
} onnx_row;

static const onnx_row rows[] = {
#define EG_ONNX(NAME, FUNCTION, OP, ATTRS)                                               \
  {NAME, eg_onnx_import_##FUNCTION, EG_OP_##OP, ATTRS},
#include "onnx/read/ops.def"
#define EG_ONNX_FORMULA(NAME, TEXT, ATTRIBUTES, ...)                                     \
  {NAME, eg_onnx_import_formula, EG_OP_IDENTITY, ATTRIBUTES},
#include "onnx/read/formulas.def"
};

static const onnx_row microsoft_rows[] = {
#define EG_MICROSOFT(NAME, FUNCTION, OP, ATTRS)                                          \
  {NAME, eg_onnx_import_##FUNCTION, EG_OP_##OP, ATTRS},
#include "onnx/read/ops.def"
};

/// Finds the row of a node's operator in the table of its domain; NULL: there is none.
static const onnx_row *find_row(const Onnx__NodeProto *node) {
  bool is_standard = eg_onnx_is_standard(node->domain);
  const onnx_row *table = is_standard ? rows : microsoft_rows;
  size_t count = is_standard ? sizeof rows / sizeof *rows
                             : sizeof microsoft_rows / sizeof *microsoft_rows;
  for (size_t i = 0; i < count; i++)
    if (strcmp(table[i].name, node->op_type) == 0) return &table[i];
  return NULL;
}

static bool op_of_onnx(const char *name, eg_op *out) {
  for (int op = 0; op < EG_OP_COUNT; op++)
    if (strcmp(eg_op_info_of((eg_op)op)->onnx, name) == 0) {
      *out = (eg_op)op;
      return true;
    }
  return false;
}

/// Importers that accept operands with open sizes (ops/size.h): they compute with an open
/// size only by eg_size_*, or decline the node. Other importers need numbers.
static const eg_onnx_importer takes_open[] = {
    eg_onnx_import_conv,
    eg_onnx_import_conv_transpose,
    eg_onnx_import_max_pool,
    eg_onnx_import_average_pool,
    eg_onnx_import_batch_norm,
    eg_onnx_import_layer_norm,
    eg_onnx_import_rms_norm,
    eg_onnx_import_group_norm,
    eg_onnx_import_chain,
    eg_onnx_import_mean,
    eg_onnx_import_clip,
    eg_onnx_import_cast,
    eg_onnx_import_cast_like,
    eg_onnx_import_dropout,
    eg_onnx_import_mod,
    eg_onnx_import_softmax,
    eg_onnx_import_reduce,
    eg_onnx_import_reduce_l1,
    eg_onnx_import_reduce_l2,
    eg_onnx_import_reduce_sum_square,
    eg_onnx_import_top_k,
    eg_onnx_import_reduce_log_sum,
    eg_onnx_import_cum_sum,
    eg_onnx_import_log_sum_exp,
    eg_onnx_import_einsum,
    eg_onnx_import_trilu,
    eg_onnx_import_constant,
    eg_onnx_import_fill,
    eg_onnx_import_shape,
    eg_onnx_import_size,
    eg_onnx_import_reshape,
    eg_onnx_import_squeeze,
    eg_onnx_import_unsqueeze,
    eg_onnx_import_flatten,
    eg_onnx_import_transpose,
    eg_onnx_import_split,
    eg_onnx_import_slice,
    eg_onnx_import_pad,
    eg_onnx_import_expand,
    eg_onnx_import_tile,
    eg_onnx_import_resize,
    eg_onnx_import_depth_to_space,
    eg_onnx_import_upsample,
    eg_onnx_import_space_to_depth,
    eg_onnx_import_same,
    eg_onnx_import_formula,
    eg_onnx_import_quantize,
    eg_onnx_import_dequantize,
    eg_onnx_import_mean_variance,
    eg_onnx_import_gelu,
    eg_onnx_import_attention,
    eg_onnx_import_rotary_embedding,
    eg_onnx_import_microsoft_rotary,
};

static egraph_status check_takes_open(const eg_onnx_call *call,
                                      eg_onnx_importer importer) {
  if (!eg_onnx_reads_open(call)) return EGRAPH_OK;
  for (size_t i = 0; i < sizeof takes_open / sizeof *takes_open; i++)
    if (takes_open[i] == importer) return EGRAPH_OK;
  return eg_onnx_decline("it needs the sizes of all dimensions");
}

egraph_status eg_onnx_import_node(const eg_onnx_call *call) {
  const onnx_row *row = find_row(call->node);
  eg_onnx_call inner = *call;
  if (row == NULL) {
    if (!eg_onnx_is_standard(call->node->domain) ||
        !op_of_onnx(call->node->op_type, &inner.op))
      return eg_onnx_decline("the operator is not in the table");
    return eg_onnx_import_same(&inner);
  }
  for (size_t i = 0; i < call->node->n_attribute; i++)
    if (!eg_onnx_has_word(row->attrs, call->node->attribute[i]->name))
      return eg_onnx_decline("it has an attribute that the table does not know");
  inner.op = row->op;
  EG_TRY(check_takes_open(call, row->import));
  return row->import(&inner);
}

// Declines the node unless the exporter would write the same body for its function.
static egraph_status check_own_body(const eg_onnx_call *call, const eg_attrs *attrs,
                                    const Onnx__FunctionProto *function) {
  eg_arena *arena = &call->reader->arena;
  eg_onnx_item item = {.name = "",
                       .attrs = attrs,
                       .input_count = call->input_count,
                       .result_count = eg_op_results(attrs)};
  const eg_op_info *op = eg_op_info_of((eg_op)attrs->op);
  eg_type *inputs, *results;
  bool is_own;
  if (item.input_count < (uint32_t)op->min_inputs ||
      (op->max_inputs >= 0 && item.input_count > (uint32_t)op->max_inputs))
    return eg_onnx_decline("it has another number of operands");
  EG_NEW(arena, item.input_count, inputs);
  EG_NEW(arena, item.result_count, results);
  for (uint32_t i = 0; i < item.input_count; i++)
    EG_TRY(eg_onnx_input_type(call, i, &inputs[i]));
  EG_TRY(eg_op_infer(attrs, inputs, item.input_count, results));
  item.inputs = inputs;
  item.results = results;
  EG_TRY(eg_onnx_is_own_body(call->reader->alloc, &item, function, &is_own));
  return is_own ? EGRAPH_OK : eg_onnx_decline("its function says something else");
}

// Imports "conv.3" of our domain as operator conv, with all attributes of the node.
egraph_status eg_onnx_import_own(const eg_onnx_call *call,
                                 const Onnx__FunctionProto *function) {
  const char *type = call->node->op_type, *dot = strrchr(type, '.');
  const char *name;
  eg_op op;
  EG_TRY(eg_arena_string(&call->reader->arena, type,
                         dot != NULL ? (size_t)(dot - type) : strlen(type), &name));
  if (!eg_op_find(name, &op) || op == EG_OP_INPUT || op == EG_OP_WEIGHT ||
      op == EG_OP_PART || op == EG_OP_OPAQUE)
    return eg_onnx_decline("our domain has no such operator");
  eg_onnx_call inner = *call;
  inner.op = op;
  eg_attr_list list = eg_onnx_list(op, NULL, 0);
  egraph_status status = eg_onnx_read_slots(&inner, &list);
  eg_attrs attrs = eg_attr_list_attrs(&list);
  if (status == EGRAPH_OK && function != NULL)
    status = check_own_body(&inner, &attrs, function);
  // A node that does not fit is imported by its function; without one it is an error.
  if (status != EGRAPH_OK && status != EGRAPH_E_MEMORY && function != NULL)
    return EGRAPH_E_UNSUPPORTED;
  EG_TRY(status);
  return eg_onnx_emit_node(&inner, list);
}
