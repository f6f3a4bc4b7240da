// Kernels of the operators that only updates of training steps have.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "ops/kernels.h"

#if defined(__clang__) // with sanitizers, and at -O1, loops stay scalar
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

// What an update needs beside its tensors, computed in float64. A gradient takes
// `added` times the weight, the weight is kept `kept` times.
typedef struct adam_numbers {
  double beta1, rest1, beta2, rest2, epsilon;
  double added, kept;
  double rate; // learning rate / (1 - beta1^step)
  double root; // 1 / sqrt(1 - beta2^step)
} adam_numbers;

static adam_numbers numbers_of(const eg_kernel_call *call) {
  double rate = eg_tensor_get_double(&call->inputs[4], 0);
  double step = eg_tensor_get_double(&call->inputs[5], 0);
  double beta1 = eg_attr_at(call->attrs, EG_A_ADAM_UPDATE_BETA1)->f;
  double beta2 = eg_attr_at(call->attrs, EG_A_ADAM_UPDATE_BETA2)->f;
  double decay = eg_attr_at(call->attrs, EG_A_ADAM_UPDATE_WEIGHT_DECAY)->f;
  bool decoupled = eg_attr_at(call->attrs, EG_A_ADAM_UPDATE_DECOUPLED)->i != 0;
  return (adam_numbers){.beta1 = beta1,
                        .rest1 = 1 - beta1,
                        .beta2 = beta2,
                        .rest2 = 1 - beta2,
                        .epsilon = eg_attr_at(call->attrs, EG_A_ADAM_UPDATE_EPSILON)->f,
                        .added = decoupled ? 0 : decay,
                        .kept = decoupled ? 1 - rate * decay : 1,
                        .rate = rate / (1 - pow(beta1, step)),
                        .root = 1 / sqrt(1 - pow(beta2, step))};
}

// Results may be written over their operands: no element is read after it is written.
#define ADAM_ROW(id, type, root_of)                                                      \
  EG_KERNEL_CLONES                                                                       \
  static void adam_##id(const eg_kernel_call *call, const adam_numbers *n,               \
                        int64_t count) {                                                 \
    const type *w = call->inputs[0].data, *m = call->inputs[1].data;                     \
    const type *v = call->inputs[2].data, *g = call->inputs[3].data;                     \
    type *new_w = call->outputs[0].data, *new_m = call->outputs[1].data;                 \
    type *new_v = call->outputs[2].data;                                                 \
    type beta1 = (type)n->beta1, rest1 = (type)n->rest1, beta2 = (type)n->beta2;         \
    type rest2 = (type)n->rest2, epsilon = (type)n->epsilon, added = (type)n->added;     \
    type kept = (type)n->kept, rate = (type)n->rate, root = (type)n->root;               \
    EG_KERNEL_INDEPENDENT                                                                \
    for (int64_t i = 0; i < count; i++) {                                                \
      type d = g[i] + added * w[i];                                                      \
      type mean = beta1 * m[i] + rest1 * d, square = beta2 * v[i] + rest2 * (d * d);     \
      new_m[i] = mean;                                                                   \
      new_v[i] = square;                                                                 \
      new_w[i] = w[i] * kept - rate * mean / (root_of(square) * root + epsilon);         \
    }                                                                                    \
  }
ADAM_ROW(F32, float, sqrtf)
ADAM_ROW(F64, double, sqrt)

egraph_status eg_kernel_adam_update(const eg_kernel_call *call) {
  adam_numbers numbers = numbers_of(call);
  int64_t count = eg_type_elements(&call->inputs[0].type);
  egraph_dtype dtype = call->inputs[0].type.dtype;
  if (dtype == EGRAPH_FLOAT32)
    adam_F32(call, &numbers, count);
  else if (dtype == EGRAPH_FLOAT64)
    adam_F64(call, &numbers, count);
  else
    return eg_kernel_refuse(call, dtype);
  return EGRAPH_OK;
}
