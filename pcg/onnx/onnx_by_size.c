// Nodes that decide by the size of an open dimension: the least of n and 100 is n at all
// trials (onnx_open.c) and not at every size; n > 100 holds at none of them. They stay
// nodes of the file, and so does what follows them.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "pcg/onnx/onnx_op.h"

enum { ANY = -1 };

/// An operator that decides by an operand that differs between trials, and by another
/// one; not where that one is a constant in [least, most]: a size, or a part of one, is
/// 0 at least.
typedef struct decider {
  const char *type;
  int operand; // which the other one is, or ANY
  double least, most;
} decider;

static const decider deciders[] = {
    {"Equal", ANY, -INFINITY, -1},          {"Less", ANY, -INFINITY, -1},
    {"LessOrEqual", ANY, -INFINITY, -1},    {"Greater", ANY, -INFINITY, -1},
    {"GreaterOrEqual", ANY, -INFINITY, -1}, {"Max", ANY, -INFINITY, 0},
    {"Min", ANY, INT32_MAX, INFINITY},      {"Clip", 1, -INFINITY, 0},
    {"Clip", 2, INT32_MAX, INFINITY},       {"Mod", ANY, 1, 1},
};

/// Operators that round or pick: they decide where the result is the same at all trials
/// though an operand is not, which a sum or a product is for sizes that cancel.
static const char *const pickers[] = {"Div",  "Floor",  "Ceil",   "Round", "Cast",
                                      "Sign", "ArgMax", "ArgMin", "TopK",  "NonZero"};

bool eg_onnx_is_open(const eg_onnx_call *call, eg_onnx_ref ref) {
  const eg_onnx_tensor *tensor = eg_onnx_tensor_at(call->reader, ref);
  const eg_strmap *open = call->reader->options.kept_open;
  uint32_t grows;
  return open != NULL && tensor->data != NULL &&
         eg_strmap_find(open, tensor->name, &grows) && grows == 0;
}

static bool is_within(const eg_onnx_tensor *tensor, double least, double most) {
  eg_tensor view = {.type = tensor->type, // only read through
                    .data = (void *)(uintptr_t)eg_buffer_data(tensor->data)};
  for (int64_t i = 0; i < eg_type_elements(&tensor->type); i++) {
    double value = eg_tensor_get_double(&view, i);
    if (!(value >= least && value <= most)) return false;
  }
  return true;
}

/// Whether one operand is open, and another one is open, too, or out of bounds.
static bool decides(const eg_onnx_call *call, const decider *by) {
  uint32_t open = 0, others = 0;
  for (uint32_t i = 0; i < call->input_count; i++) {
    const eg_onnx_ref ref = call->inputs[i];
    if (ref.id == EG_ONNX_NONE.id) continue;
    const eg_onnx_tensor *tensor = eg_onnx_tensor_at(call->reader, ref);
    bool is_other = by->operand == ANY || by->operand == (int)i;
    if (tensor->data == NULL) return false;
    if (eg_onnx_is_open(call, ref) && (is_other || i == 0))
      open++;
    else if (is_other)
      others += !is_within(tensor, by->least, by->most);
  }
  return open > 1 || (open == 1 && others != 0);
}

static bool is_picker(const char *type) {
  for (size_t i = 0; i < sizeof pickers / sizeof *pickers; i++)
    if (strcmp(pickers[i], type) == 0) return true;
  return false;
}

/// A quotient of two sizes is a ratio of the model's.
static bool picks(const eg_onnx_call *call) {
  uint32_t open = 0, ignored;
  for (uint32_t i = 0; i < call->input_count; i++)
    open +=
        call->inputs[i].id != EG_ONNX_NONE.id && eg_onnx_is_open(call, call->inputs[i]);
  const eg_onnx_ref result = eg_onnx_output(call, 0);
  return open == 1 && result.id != EG_ONNX_NONE.id &&
         !eg_strmap_find(call->reader->options.kept_open,
                         eg_onnx_tensor_at(call->reader, result)->name, &ignored);
}

bool eg_onnx_decides_by_size(const eg_onnx_call *call) {
  const char *type = call->node->op_type;
  if (call->reader->options.kept_open == NULL) return false;
  for (size_t i = 0; i < sizeof deciders / sizeof *deciders; i++)
    if (strcmp(deciders[i].type, type) == 0 && decides(call, &deciders[i])) return true;
  return is_picker(type) && picks(call);
}
