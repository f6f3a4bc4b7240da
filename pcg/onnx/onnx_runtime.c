// SPDX-License-Identifier: Apache-2.0
#include "pcg/onnx/onnx_runtime.h"

#include <string.h>

typedef struct runtime_row {
  const char *name;
  int64_t first; // set
  uint32_t operand, types;
} runtime_row;

#define EG_ONNX_RUNTIME_SET(opset)
#define EG_ONNX_RUNTIME_LACKS(op, types)
#define EG_ONNX_RUNTIME(name, first, operand, types) {name, first, operand, types},
static const runtime_row rows[] = {
#include "pcg/onnx/onnx_runtime.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

static const int64_t newest_set = 0
#undef EG_ONNX_RUNTIME_SET
#undef EG_ONNX_RUNTIME
#define EG_ONNX_RUNTIME_SET(opset) +(opset)
#define EG_ONNX_RUNTIME(name, first, operand, types)
#include "pcg/onnx/onnx_runtime.def"
    ;

static const uint32_t lacks[EG_OP_COUNT] = {
// bits of TensorProto.DataType
#undef EG_ONNX_RUNTIME_SET
#undef EG_ONNX_RUNTIME_LACKS
#define EG_ONNX_RUNTIME_SET(opset)
#define EG_ONNX_RUNTIME_LACKS(op, types) [EG_OP_##op] = (types),
#include "pcg/onnx/onnx_runtime.def"
};

/// The row that holds in a set, or NULL.
static const runtime_row *row_of(const char *name, int64_t opset) {
  size_t low = 0, high = ROWS;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = strcmp(rows[middle].name, name);
    if (order < 0 || (order == 0 && rows[middle].first <= opset))
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && strcmp(rows[low - 1].name, name) == 0 ? &rows[low - 1] : NULL;
}

bool eg_onnx_is_loaded(const Onnx__NodeProto *node, const int *dtype, int64_t opset) {
  const runtime_row *row = row_of(node->op_type, opset);
  if (opset > newest_set) return false;
  if (row == NULL || row->operand >= node->n_input || dtype[row->operand] <= 0)
    return true;
  return (row->types >> dtype[row->operand] & 1) != 0;
}

bool eg_onnx_is_op_loaded(eg_op op, egraph_dtype dtype) {
  return (lacks[op] >> eg_dtype_onnx(dtype) & 1) == 0;
}
