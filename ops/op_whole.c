// Why a dimension of an operator is split by no factor: for reports, and ops/SPLITS.md.
// SPDX-License-Identifier: Apache-2.0
#include "ops/ops.h"

typedef struct reason {
  eg_op op;
  const char *why;
} reason;
#define STATISTICS "every element needs the mean of all; written as sums it is split"
#define PLACES "places count in the whole operand"
#define RECURRENT "a step needs all of the step before"
static const reason reasons[] = {
    {EG_OP_EYE, "a diagonal is made in one place"},
    {EG_OP_POOL_KERNEL, "its elements divide by their number"},
    {EG_OP_CONV_IDENTITY, "a diagonal is made in one place"},
    {EG_OP_CONV, "a part of the kernel reads other rows"},
    {EG_OP_CONV_TRANSPOSE, "a part of the kernel writes other rows"},
    {EG_OP_LAYER_NORM, STATISTICS},
    {EG_OP_RMS_NORM, STATISTICS},
    {EG_OP_GROUP_NORM, STATISTICS},
    {EG_OP_INSTANCE_NORM, STATISTICS},
    {EG_OP_LAYER_NORM_GRAD, STATISTICS},
    {EG_OP_RMS_NORM_GRAD, STATISTICS},
    {EG_OP_SOFTMAX, "every element needs the sum of all; the loss is written as sums"},
    {EG_OP_LOG_SOFTMAX,
     "every element needs the sum of all; the loss is written as sums"},
    {EG_OP_LRN, "a window over channels has no borders that zeros could stand for"},
    {EG_OP_REDUCE_MIN, "there are no partial minima; that of -x is a maximum"},
    {EG_OP_REDUCE_PROD, "there are no partial products"},
    {EG_OP_ARG_MAX, "a position is no sum"},
    {EG_OP_ARG_MIN, "a position is no sum"},
    {EG_OP_TOP_K, "the largest of parts are not those of all"},
    {EG_OP_CONCAT, "a part of the result is of some operands only"},
    {EG_OP_SPLIT, "a part of the operand is of some results only"},
    {EG_OP_SLICE, "parts of the result lie in other parts of the operand"},
    {EG_OP_PAD, "parts of the result lie in other parts of the operand"},
    {EG_OP_RESIZE, "places between two parts; whole repetitions are split"},
    {EG_OP_SHAPE, "it is about the whole"},
    {EG_OP_SIZE, "it is about the whole"},
    {EG_OP_CUM_SUM, "every element needs all before it"},
    {EG_OP_CUM_PROD, "every element needs all before it"},
    {EG_OP_TRILU, "a diagonal is made in one place"},
    {EG_OP_GATHER_ELEMENTS, "an index is to any part of the axis"},
    {EG_OP_GATHER_ND, "an index is to any part of the operand"},
    {EG_OP_SCATTER_ELEMENTS, "an index is to any part of the axis"},
    {EG_OP_SCATTER_ND, "an index is to any part of the operand"},
    {EG_OP_ONE_HOT, "the axis is made in one place"},
    {EG_OP_REVERSE_SEQUENCE, "parts of the result lie in other parts of the operand"},
    {EG_OP_DET, "a determinant is of a whole matrix"},
    {EG_OP_ENLARGE, "the kernel is centred"},
    {EG_OP_MERGE_GCONV, "groups of a part lie on another diagonal"},
    {EG_OP_MAX_POOL, "rows do not come in whole strides"},
    {EG_OP_AVERAGE_POOL, "beside the border the mean is of fewer places"},
    {EG_OP_MAX_POOL_GRAD, "windows overlap, or hang over the border"},
    {EG_OP_AVERAGE_POOL_GRAD, "windows overlap, or hang over the border"},
    {EG_OP_RESHAPE, "blocks of the result are no blocks of the operand"},
    {EG_OP_EINSUM, "a diagonal, or operands from the sixteenth on that differ in it"},
    {EG_OP_MATMUL, "sums do not pass a fused activation"},
    {EG_OP_LP_POOL, "rows do not come in whole strides"},
    {EG_OP_MAX_POOL_INDICES, PLACES},
    {EG_OP_MAX_UNPOOL, PLACES},
    {EG_OP_LP_NORM, "every element needs the norm of all"},
    {EG_OP_GRID_SAMPLE, "a place is anywhere in its image"},
    {EG_OP_ROI_ALIGN, "a region is anywhere in any image"},
    {EG_OP_COL2IM, "blocks overlap"},
    {EG_OP_QUANTIZE_LINEAR, "a block has one scale"},
    {EG_OP_DEQUANTIZE_LINEAR, "a block has one scale"},
    {EG_OP_DYNAMIC_QUANTIZE_LINEAR, "the scale is that of all"},
    {EG_OP_CONV_INTEGER, "groups and rows are not split"},
    {EG_OP_QLINEAR_MATMUL, "sums are rounded at the end"},
    {EG_OP_QLINEAR_CONV, "sums are rounded at the end; rows are not split"},
    {EG_OP_RNN, RECURRENT},
    {EG_OP_GRU, RECURRENT},
    {EG_OP_LSTM, RECURRENT},
    {EG_OP_CONV_GRAD_WEIGHT, "a part of the kernel reads other rows"},
};

const char *eg_op_why_whole(eg_op op) {
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
    if (reasons[i].op == op) return reasons[i].why;
  return "";
}
