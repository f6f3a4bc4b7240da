// SPDX-License-Identifier: Apache-2.0
#include "ops/einsum.h"

#include <assert.h>

// ---- the nest -----------------------------------------------------------------------

static void note_tensor_term(eg_einsum_nest *nest, uint32_t tensor, const eg_type *type,
                             const eg_labels *term) {
  int64_t strides[EGRAPH_MAX_RANK] = {0};
  eg_type_strides(type, strides);
  for (uint32_t d = 0; d < term->rank; d++) {
    int64_t *stride = &nest->strides[tensor][term->label[d]];
    if (type->dims[d] == 1) continue; // it is broadcast, or has only one element
    nest->has_diagonal = nest->has_diagonal || *stride != 0;
    *stride += strides[d];
  }
}

egraph_status eg_einsum_nest_of(const eg_attrs *attrs, const eg_type *inputs,
                                uint32_t count, const eg_type *result,
                                eg_einsum_nest *out) {
  assert(count > 0);
  eg_labels terms[EG_EINSUM_TENSORS - 1];
  eg_einsum einsum = {.operands = terms};
  if (count >= EG_EINSUM_TENSORS)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "einsum: more than three operands");
  EG_TRY(eg_einsum_labels(attrs, inputs, count, &einsum));
  *out = (eg_einsum_nest){.tensors = count + 1};
  note_tensor_term(out, EG_EINSUM_RESULT, result, &einsum.result);
  for (uint32_t d = 0; d < einsum.result.rank; d++)
    out->is_result[einsum.result.label[d]] = true;
  for (uint32_t i = 0; i < count; i++)
    note_tensor_term(out, EG_EINSUM_A + i, &inputs[i], &terms[i]);
  for (uint32_t l = 0; l < EG_MAX_LABELS; l++) {
    if (einsum.sizes[l] == 0) continue; // the label is not in use
    out->sizes[l] = einsum.sizes[l];
    out->labels = l + 1;
  }
  return EGRAPH_OK;
}

// ---- groups -------------------------------------------------------------------------

/// Inserts a label of the einsum into a group, in the order of the strides of `tensor`.
static void add_label(const eg_einsum_nest *nest, uint32_t tensor, uint32_t label,
                      eg_einsum_group *inout) {
  uint32_t at = inout->count++;
  const int64_t *strides = nest->strides[tensor];
  for (; at > 0 && strides[inout->labels[at - 1]] < strides[label]; at--)
    inout->labels[at] = inout->labels[at - 1];
  inout->labels[at] = label;
  inout->size *= nest->sizes[label];
}

bool eg_einsum_group_labels(const eg_einsum_nest *nest, eg_einsum_groups *out) {
  *out = (eg_einsum_groups){{.size = 1}, {.size = 1}, {.size = 1}, {.size = 1}};
  if (nest->tensors != 3 || nest->has_diagonal) return false;
  for (uint32_t l = 0; l < nest->labels; l++) {
    bool in_a = nest->strides[EG_EINSUM_A][l] != 0;
    bool in_b = nest->strides[EG_EINSUM_B][l] != 0;
    if (nest->sizes[l] <= 1) continue;
    if (!in_a && !in_b) return false;
    if (nest->is_result[l])
      add_label(nest, EG_EINSUM_RESULT, l,
                in_a && in_b ? &out->batch
                : in_a       ? &out->rows
                             : &out->columns);
    else if (in_a && in_b)
      add_label(nest, EG_EINSUM_A, l, &out->summed);
    else
      return false;
  }
  return true;
}

// ---- matrices -----------------------------------------------------------------------

/// Finds the stride of a group of labels that together are one dimension of the tensor.
static bool step_of_group(const eg_einsum_nest *nest, uint32_t tensor,
                          const eg_einsum_group *group, int64_t *out) {
  const int64_t *strides = nest->strides[tensor];
  *out = 0;
  for (uint32_t i = 0; i < group->count; i++) {
    uint32_t label = group->labels[i];
    if (i != 0 && *out != strides[label] * nest->sizes[label]) return false;
    *out = strides[label];
  }
  return true;
}

bool eg_einsum_is_matrix(const eg_einsum_nest *nest, uint32_t tensor,
                         const eg_einsum_group *rows, const eg_einsum_group *columns,
                         int64_t *out_step, bool *out_is_turned) {
  assert(tensor < nest->tensors);
  int64_t down, along;
  *out_step = 0;
  *out_is_turned = false;
  if (!step_of_group(nest, tensor, rows, &down) ||
      !step_of_group(nest, tensor, columns, &along))
    return false;
  bool is_row_major =
      (along == 1 || columns->size == 1) && (rows->size == 1 || down >= columns->size);
  bool is_turned =
      (down == 1 || rows->size == 1) && (columns->size == 1 || along >= rows->size);
  *out_is_turned = !is_row_major;
  *out_step = is_row_major ? down : along;
  return is_row_major || is_turned;
}

uint32_t eg_einsum_packed(const eg_einsum_nest *nest, const eg_einsum_groups *groups,
                          const eg_einsum_group *rows, const eg_einsum_group *columns,
                          uint32_t *out_labels, int64_t *out_strides) {
  assert(nest->labels <= EG_MAX_LABELS);
  const eg_einsum_group *parts[] = {&groups->batch, rows, columns};
  int64_t stride = 1;
  uint32_t count = 0;
  for (uint32_t g = 0; g < 3; g++)
    for (uint32_t i = 0; i < parts[g]->count; i++)
      out_labels[count++] = parts[g]->labels[i];
  for (uint32_t i = count; i-- > 0;) {
    out_strides[i] = stride;
    stride *= nest->sizes[out_labels[i]];
  }
  return count;
}
