// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/import/substitution.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

const char *eg_subst_kind_name(int32_t kind, char buffer[32]) {
  switch (kind) {
#define EG_SUBST_OP(ID, NUMBER, WORDS, JSON)                                             \
  case NUMBER:                                                                           \
    return WORDS;
#include "rewrites/lab/import/subst_ops.def"
#undef EG_SUBST_OP
  default: (void)snprintf(buffer, 32, "operator %" PRId32, kind); return buffer;
  }
}

void eg_subst_set(eg_subst_op *op, int32_t parameter, int32_t value) {
  if (parameter < 0 || parameter >= EG_SUBST_PARAMETERS) return;
  op->parameter[parameter] = value;
  op->said |= UINT32_C(1) << parameter;
}

bool eg_subst_add_input(eg_subst_op *op, eg_subst_tensor input) {
  if (op->input_count == EG_SUBST_TENSORS) return false;
  op->inputs[op->input_count++] = input;
  return true;
}

// Keeps only operators within the limits in a substitution that is too large; operands
// may be missing.
bool eg_subst_add_op(eg_substitution *subst, eg_subst_side *side, const eg_subst_op *op) {
  subst->is_too_large = subst->is_too_large || side->op_count == EG_SUBST_OPS;
  if (subst->is_too_large) return true;
  for (uint32_t i = 0; i < op->input_count; i++)
    if (op->inputs[i].op >= (int32_t)side->op_count || op->inputs[i].output < 0)
      return false;
  side->ops[side->op_count++] = *op;
  return true;
}

void eg_subst_add_result(eg_substitution *subst, eg_subst_tensor left,
                         eg_subst_tensor right) {
  subst->is_too_large = subst->is_too_large || subst->result_count == EG_SUBST_TENSORS;
  if (subst->is_too_large) return;
  subst->left.results[subst->result_count] = left;
  subst->right.results[subst->result_count++] = right;
}

static bool has_tensor(const eg_subst_side *side, eg_subst_tensor tensor) {
  return tensor.op < (int32_t)side->op_count && tensor.output >= 0;
}

bool eg_subst_is_complete(const eg_substitution *subst) {
  if (subst->is_too_large) return true;
  for (uint32_t i = 0; i < subst->result_count; i++)
    if (!has_tensor(&subst->left, subst->left.results[i]) ||
        !has_tensor(&subst->right, subst->right.results[i]))
      return false;
  return subst->result_count != 0;
}

bool eg_subst_side_has(const eg_subst_side *side, uint32_t results, int32_t variable) {
  for (uint32_t i = 0; i < results; i++)
    if (side->results[i].op == variable) return true;
  for (uint32_t i = 0; i < side->op_count; i++)
    for (uint32_t k = 0; k < side->ops[i].input_count; k++)
      if (side->ops[i].inputs[k].op == variable) return true;
  return false;
}

/// True when a result of the side depends on operator `op`.
bool eg_subst_side_needs(const eg_subst_side *side, uint32_t results, uint32_t op) {
  bool reached[EG_SUBST_OPS] = {false};
  assert(op < side->op_count);
  for (uint32_t i = 0; i < results; i++)
    if (side->results[i].op >= 0) reached[side->results[i].op] = true;
  for (uint32_t i = side->op_count; i-- > 0;)
    for (uint32_t k = 0; reached[i] && k < side->ops[i].input_count; k++)
      if (side->ops[i].inputs[k].op >= 0) reached[side->ops[i].inputs[k].op] = true;
  return reached[op];
}

// ---- files ----------------------------------------------------------------------------

static const struct {
  const char *words, *prefix;
} origins[EG_SUBST_ORIGINS] = {[EG_SUBST_FROM_TASO] = {"TASO (SOSP'19)", "taso"},
                               [EG_SUBST_FROM_UNITY] = {"Unity (OSDI'22)", "unity"},
                               [EG_SUBST_FROM_TENSAT] = {"Tensat (MLSys'21)", "tensat"}};

const char *eg_subst_origin_words(eg_subst_origin origin) {
  assert(origin < EG_SUBST_ORIGINS);
  return origins[origin].words;
}

const char *eg_subst_origin_prefix(eg_subst_origin origin) {
  assert(origin < EG_SUBST_ORIGINS);
  return origins[origin].prefix;
}

void eg_subst_file_init(eg_subst_file *file, egraph_allocator alloc) {
  file->origin = EG_SUBST_FROM_TASO;
  eg_substitutions_init(&file->list, alloc);
}

void eg_subst_file_deinit(eg_subst_file *file) { eg_substitutions_deinit(&file->list); }
