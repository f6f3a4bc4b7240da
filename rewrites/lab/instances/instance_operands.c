// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/instances/instance_operands.h"

#include <string.h>

/// Dimension `i` of the broadcast shape of rank `rank`; a missing one is 1.
static int64_t aligned(const eg_type *type, uint32_t rank, uint32_t i) {
  uint32_t missing = rank - type->rank;
  return i < missing ? 1 : type->dims[i - missing];
}

/// Whether broadcasting with the other one makes it larger.
static bool is_stretched(const eg_type *type, const eg_type *by) {
  uint32_t rank = type->rank > by->rank ? type->rank : by->rank;
  bool is = rank > type->rank;
  for (uint32_t i = 0; i < rank; i++)
    is = is || (aligned(type, rank, i) == 1 && aligned(by, rank, i) != 1);
  return is;
}

bool eg_operands_are_stretched(const eg_type *types, uint32_t which, bool is_empty) {
  bool is[2] = {is_stretched(&types[0], &types[1]), is_stretched(&types[1], &types[0])};
  if (which == EG_BOTH_OPERANDS) return is[0] && is[1];
  return is[which] && (!is_empty || eg_type_elements(&types[which]) == 0);
}

eg_type eg_operand_batch(const eg_type *type) {
  eg_type batch = *type;
  batch.rank = type->rank > 2 ? type->rank - 2 : 0;
  return batch;
}

/// Makes `other` larger than `like` in one dimension: where that is 1, or in a new one.
static void stretch(eg_verify_choice *choice, const eg_type *like, eg_type *other) {
  uint32_t ones[EGRAPH_MAX_RANK], count = 0;
  for (uint32_t i = 0; i < other->rank; i++)
    if (aligned(like, like->rank > other->rank ? like->rank : other->rank, i) == 1)
      ones[count++] = i;
  int64_t size = 2 + eg_verify_below(choice, 3);
  if (count > 0 && !eg_verify_chance(choice, 30)) {
    other->dims[ones[eg_verify_below(choice, count)]] = size;
  } else if (other->rank < EGRAPH_MAX_RANK) {
    memmove(other->dims + 1, other->dims, other->rank * sizeof *other->dims);
    other->dims[0] = size;
    other->rank++;
  }
}

/// Makes `type` smaller than the other operand in one dimension, or leaves some out.
static void shrink(eg_verify_choice *choice, eg_type *type) {
  if (type->rank == 0) return;
  uint32_t at = eg_verify_below(choice, type->rank);
  if (eg_verify_chance(choice, 60)) {
    type->dims[at] = 1;
    return;
  }
  memmove(type->dims, type->dims + at + 1, (type->rank - at - 1) * sizeof *type->dims);
  type->rank -= at + 1;
}

/// `type` has the matrices that fit.
static void fit_batch(uint32_t which, eg_verify_choice *choice, eg_type *type,
                      const eg_type *beside, uint32_t operand) {
  if (type->rank < 2 || beside->rank > EGRAPH_MAX_RANK - 1) return;
  const eg_type other = eg_operand_batch(beside);
  eg_type batch = other;
  if (which == operand)
    shrink(choice, &batch);
  else
    stretch(choice, &other, &batch);
  const int64_t rows = type->dims[type->rank - 2], columns = type->dims[type->rank - 1];
  memcpy(type->dims, batch.dims, batch.rank * sizeof *type->dims);
  type->dims[batch.rank] = rows;
  type->dims[batch.rank + 1] = columns;
  type->rank = batch.rank + 2;
}

void eg_operands_fit(eg_operand_fit how, uint32_t which, eg_verify_choice *choice,
                     uint32_t operand) {
  uint32_t other = operand == 0;
  eg_type *type = &choice->types[operand];
  const eg_type *beside = &choice->types[other];
  if (how == EG_OPERANDS_STRETCHED_BATCH) {
    fit_batch(which, choice, type, beside, operand);
    return;
  }
  egraph_dtype dtype = type->dtype;
  *type = *beside;
  type->dtype = dtype;
  if (how == EG_OPERANDS_EQUAL) return;
  if (which != operand) stretch(choice, beside, type);
  if (which != other) shrink(choice, type);
}

void eg_operand_empty_sum(eg_verify_choice *choice, uint32_t operand) {
  eg_type *type = &choice->types[operand];
  const eg_attr *flag = eg_verify_known(choice, operand == 0 ? "transA" : "transB");
  bool is_last = (flag != NULL && flag->i != 0) != (operand == 0);
  uint32_t summed = type->rank > 1 && !is_last ? type->rank - 2 : type->rank - 1;
  for (uint32_t i = 0; i < type->rank; i++)
    if (i == summed)
      type->dims[i] = 0;
    else if (type->dims[i] == 0)
      type->dims[i] = 1 + eg_verify_below(choice, 3);
}
