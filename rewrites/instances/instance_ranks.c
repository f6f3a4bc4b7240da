// SPDX-License-Identifier: Apache-2.0
#include "rewrites/instances/instance_ranks.h"

static void at_least(eg_rank_range *range, uint32_t rank) {
  if (range->low < rank) range->low = rank;
}

static void exactly(eg_rank_range *range, uint32_t rank) {
  range->low = range->high = rank;
}

eg_rank_range eg_verify_ranks_of_op(eg_op op) {
  static const struct {
    eg_op op;
    eg_rank_range ranks;
  } rows[] = {{EG_OP_CONV, {3, 5}},        {EG_OP_CONV_TRANSPOSE, {3, 5}},
              {EG_OP_MAX_POOL, {3, 5}},    {EG_OP_AVERAGE_POOL, {3, 5}},
              {EG_OP_LRN, {3, 5}},         {EG_OP_GLOBAL_AVERAGE_POOL, {3, 5}},
              {EG_OP_GROUP_NORM, {3, 5}},  {EG_OP_GLOBAL_MAX_POOL, {3, 5}},
              {EG_OP_ENLARGE, {3, 5}},     {EG_OP_INSTANCE_NORM, {3, 5}},
              {EG_OP_MERGE_GCONV, {3, 5}}, {EG_OP_BATCH_NORM, {2, 5}},
              {EG_OP_GEMM, {2, 2}},        {EG_OP_MATMUL, {1, 4}},
              {EG_OP_CONCAT, {1, 4}},      {EG_OP_SPLIT, {1, 4}},
              {EG_OP_GATHER, {1, 4}},      {EG_OP_LAYER_NORM, {1, 4}},
              {EG_OP_RMS_NORM, {1, 4}},    {EG_OP_SOFTMAX, {1, 4}},
              {EG_OP_LOG_SOFTMAX, {1, 4}}, {EG_OP_SQUEEZE, {1, 4}}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].op == op) return rows[i].ranks;
  return (eg_rank_range){0, 4};
}

static void fit_list(const eg_verify_choice *choice, const char *name, uint32_t divisor,
                     uint32_t extra, eg_rank_range *range) {
  const eg_attr *list = eg_verify_known(choice, name);
  if (list != NULL && list->kind == EG_ATTR_INTS)
    exactly(range, list->ints.len / divisor + extra);
}

static void fit_axes(const eg_verify_choice *choice, eg_rank_range *range) {
  const eg_attr *axes = eg_verify_known(choice, "axes");
  for (uint32_t i = 0; axes != NULL && i < axes->ints.len; i++)
    if (axes->ints.data[i] >= 0 && choice->op != EG_OP_UNSQUEEZE)
      at_least(range, (uint32_t)axes->ints.data[i] + 1);
  const eg_attr *axis = eg_verify_known(choice, "axis");
  if (axis != NULL) {
    uint64_t number = (uint64_t)axis->i; // of any size
    at_least(range, (uint32_t)(axis->i < 0 ? 0 - number : number + 1));
  }
}

eg_rank_range eg_verify_ranks_of_first(const eg_verify_choice *choice) {
  eg_rank_range range = eg_verify_ranks_of_op(choice->op);
  bool is_pad = choice->op == EG_OP_PAD;
  fit_axes(choice, &range);
  fit_list(choice, "perm", 1, 0, &range);
  fit_list(choice, "starts", 1, 0, &range);
  fit_list(choice, "repeats", 1, 0, &range);
  fit_list(choice, "strides", 1, 2, &range);
  fit_list(choice, "dilations", 1, 2, &range);
  fit_list(choice, "kernel_shape", 1, 2, &range);
  fit_list(choice, "pads", 2, is_pad ? 0 : 2, &range);
  at_least(&range, choice->min_rank[0]);
  if (range.high > choice->max_rank[0]) range.high = choice->max_rank[0];
  if (range.high > EG_VERIFY_FRESH_RANK) range.high = EG_VERIFY_FRESH_RANK;
  if (range.low > range.high) range.low = range.high;
  return range;
}
