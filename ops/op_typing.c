// Types, factors and work of a node: runs the checks for all operators, then the
// functions of the node's family.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "ops/body.h"
#include "ops/typing.h"

typedef struct family {
  egraph_status (*infer)(const eg_typing *node, eg_type *out);
  void (*factors)(const eg_typing *node, eg_factors *out);
} family;

static const family families[EG_OP_COUNT] = {
#define EG_OP(ID, NAME, ONNX, MIN, MAX, RESULTS, FAMILY, ...)                            \
  [EG_OP_##ID] = {eg_infer_##FAMILY, eg_factors_##FAMILY},
#include "ops/op_table.def"
};

// ---- operands and results -------------------------------------------------------------

static egraph_status check_operands(const eg_typing *node) {
  const eg_op_info *info = node->info;
  bool enough = (int64_t)node->count >= info->min_inputs;
  bool too_many = info->max_inputs >= 0 && (int64_t)node->count > info->max_inputs;
  if (!enough || too_many)
    return eg_typing_fail(node, "got %u operands; it takes %s %d", node->count,
                          !enough && info->min_inputs != info->max_inputs ? "at least"
                          : info->min_inputs != info->max_inputs          ? "at most"
                                                                          : "exactly",
                          enough ? info->max_inputs : info->min_inputs);
  for (uint32_t i = 0; i < node->count; i++) {
    egraph_status status = eg_type_check(&node->inputs[i]);
    if (status != EGRAPH_OK)
      return eg_fail_context(status, "%s: operand %u", info->name, i);
  }
  return EGRAPH_OK;
}

// Checks the dtype of operand 0 against the flags in the operator's row of the table.
static egraph_status check_dtype(const eg_typing *node) {
  unsigned flags = node->info->flags;
  if (node->count == 0 || (flags & EG_OPF_ANY) != 0) return EGRAPH_OK;
  egraph_dtype dtype = node->inputs[0].dtype;
  bool is_bool = dtype == EGRAPH_BOOL;
  const char *wanted = NULL;
  if ((flags & EG_OPF_BOOL) != 0)
    wanted = is_bool ? NULL : "bool";
  else if ((flags & EG_OPF_FLOAT) != 0)
    wanted = eg_dtype_is_float(dtype) ? NULL : "floating point";
  else if ((flags & EG_OPF_INTEGER) != 0)
    wanted = is_bool || eg_dtype_is_float(dtype) ? "an integer" : NULL;
  else if ((flags & EG_OPF_SIGNED) != 0)
    wanted = is_bool || eg_dtype_is_unsigned(dtype) ? "a number with a sign" : NULL;
  else
    wanted = is_bool ? "a number" : NULL;
  if (wanted == NULL) return EGRAPH_OK;
  return eg_typing_fail(node, "operand 0 is %s; it must be %s (insert a cast)",
                        eg_dtype_name(dtype), wanted);
}

static egraph_status check_results(const eg_typing *node, const eg_type *results,
                                   uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    egraph_status status = eg_type_check(&results[i]);
    if (status != EGRAPH_OK)
      return eg_fail_context(status, "%s: result %u", node->info->name, i);
  }
  return EGRAPH_OK;
}

static eg_typing typing_of(const eg_attrs *attrs, const eg_type *inputs, uint32_t count) {
  assert(attrs->op < EG_OP_COUNT);
  const eg_op_info *info = eg_op_info_of((eg_op)attrs->op);
  assert(attrs->count == info->attr_count);
  return (eg_typing){.attrs = attrs, .info = info, .inputs = inputs, .count = count};
}

// ---- open dimensions ------------------------------------------------------------

static bool is_broken(const eg_attr *slot) {
  if (slot->kind == EG_ATTR_INT)
    return (uint64_t)slot->i >> 62 == 1 && eg_size_is_broken(slot->i);
  for (uint32_t i = 0; slot->kind == EG_ATTR_INTS && i < slot->ints.len; i++)
    if ((uint64_t)slot->ints.data[i] >> 62 == 1 && eg_size_is_broken(slot->ints.data[i]))
      return true;
  return false;
}

static egraph_status check_open(const eg_typing *node) {
  bool is_open = eg_attrs_any_open(node->attrs);
  for (uint32_t i = 0; i < node->count; i++)
    is_open = is_open || eg_type_is_open(&node->inputs[i]);
  if (!is_open) return EGRAPH_OK;
  unsigned flags = node->info->flags;
  if (eg_attrs_any_open(node->attrs) && (flags & EG_OPF_OPEN_ATTRS) == 0)
    return eg_typing_fail(node, "an attribute has the size of an open dimension");
  for (uint16_t i = 0; i < node->attrs->count; i++)
    if (is_broken(&node->attrs->slots[i]))
      return eg_typing_fail(node, "an attribute is no size of an open dimension");
  if ((flags & (EG_OPF_OPEN | EG_OPF_POINTWISE)) != 0) return EGRAPH_OK;
  return eg_typing_fail(node, "it needs the sizes of all dimensions");
}

enum { FEW_RESULTS = 3 };

egraph_status eg_op_infer(const eg_attrs *attrs, const eg_type *inputs, uint32_t count,
                          eg_type *out_results) {
  eg_typing node = typing_of(attrs, inputs, count);
  EG_TRY(check_operands(&node));
  EG_TRY(check_dtype(&node));
  EG_TRY(check_open(&node));
  uint32_t results = eg_op_results(attrs);
  // Only split has more results, which need no check: none is larger than the operand.
  if (results > FEW_RESULTS) return families[attrs->op].infer(&node, out_results);
  eg_type found[FEW_RESULTS] = {0};
  EG_TRY(families[attrs->op].infer(&node, found));
  EG_TRY(check_results(&node, found, results));
  memcpy(out_results, found, results * sizeof *found);
  return EGRAPH_OK;
}

egraph_status eg_op_factors(const eg_attrs *attrs, const eg_type *inputs, uint32_t count,
                            eg_factors *out) {
  eg_typing node = typing_of(attrs, inputs, count);
  eg_type few[FEW_RESULTS];
  eg_factors factors = {.count = 0};
  node.result_count = eg_op_results(attrs);
  if (node.result_count <= FEW_RESULTS) {
    EG_TRY(eg_op_infer(attrs, inputs, count, few));
    node.results = few;
  } else {
    // A split into many parts is checked without storing their types; its factors follow
    // from the dimensions of the operand.
    EG_TRY(check_operands(&node));
    EG_TRY(check_dtype(&node));
    EG_TRY(families[attrs->op].infer(&node, NULL));
  }
  families[attrs->op].factors(&node, &factors);
  *out = factors;
  return EGRAPH_OK;
}

// ---- work and traffic -----------------------------------------------------------------

static double flops_per_point(unsigned flags) {
  if ((flags & EG_OPF_MOVES) != 0) return 0;
  if ((flags & EG_OPF_COSTLY) != 0) return EG_COSTLY_FLOPS;
  return (flags & EG_OPF_MULTIPLY_ADD) != 0 ? 2 : 1;
}

static double fused_flops(const eg_attrs *attrs, const eg_type *inputs, uint32_t count) {
  eg_body body;
  bool is_read = eg_body_read(&body, attrs, inputs, count) == EGRAPH_OK;
  return is_read ? eg_body_flops(&body) : 0;
}

// Multiplies the sizes of all factors that are loops: the points of the loop nest.
double eg_op_flops(const eg_attrs *attrs, const eg_type *inputs, uint32_t count) {
  if (attrs->op == EG_OP_FUSED) return fused_flops(attrs, inputs, count);
  double flops = flops_per_point(eg_op_info_of((eg_op)attrs->op)->flags);
  eg_factors factors;
  if (flops == 0 || eg_op_factors(attrs, inputs, count, &factors) != EGRAPH_OK) return 0;
  for (uint32_t i = 0; i < factors.count; i++)
    if (!factors.factor[i].is_no_loop) flops *= (double)factors.factor[i].size;
  return flops * (1 - factors.skipped);
}

static double bytes_of_types(const eg_type *types, uint32_t count) {
  double bytes = 0;
  for (uint32_t i = 0; i < count; i++)
    bytes += (double)eg_type_bytes(&types[i]);
  return bytes;
}

double eg_op_bytes(const eg_attrs *attrs, const eg_type *inputs, uint32_t count,
                   const eg_type *results, uint32_t result_count) {
  if ((eg_op_info_of((eg_op)attrs->op)->flags & EG_OPF_VIEW) != 0) return 0;
  double written = bytes_of_types(results, result_count);
  bool shape_only = attrs->op == EG_OP_SHAPE || attrs->op == EG_OP_SIZE;
  if (count == 0 || shape_only) return written;
  double first = bytes_of_types(inputs, 1), rest = bytes_of_types(inputs + 1, count - 1);
  bool selects = attrs->op == EG_OP_GATHER || attrs->op == EG_OP_SLICE;
  if (selects && written < first) first = written;
  return first + rest + written;
}
