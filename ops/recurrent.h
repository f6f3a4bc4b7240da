// Recurrent layers: their operands, sizes and activations.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_RECURRENT_H
#define EG_OPS_RECURRENT_H

#include <math.h>

#include "ops/ops.h"

// Activations of a gate. Each row: id, name in ONNX, takes alpha, takes beta (0 or 1),
// their defaults (NaN: runtimes differ, the model must give it), the value at x.
#define EG_GATE_LIST(X)                                                                  \
  X(SIGMOID, "Sigmoid", 0, 0, 0.0, 0.0, 1.0 / (1.0 + exp(-x)))                           \
  X(TANH, "Tanh", 0, 0, 0.0, 0.0, tanh(x))                                               \
  X(RELU, "Relu", 0, 0, 0.0, 0.0, x > 0.0 ? x : x == x ? 0.0 : x)                        \
  X(AFFINE, "Affine", 1, 1, NAN, NAN, alpha *x + beta)                                   \
  X(LEAKY_RELU, "LeakyRelu", 1, 0, 0.01, 0.0, x < 0.0 ? alpha * x : x)                   \
  X(THRESHOLDED_RELU, "ThresholdedRelu", 1, 0, NAN, 0.0, x >= alpha ? x : 0.0)           \
  X(SCALED_TANH, "ScaledTanh", 1, 1, NAN, NAN, alpha *tanh(beta *x))                     \
  X(HARD_SIGMOID, "HardSigmoid", 1, 1, 0.2, 0.5, fmin(fmax(alpha *x + beta, 0.0), 1.0))  \
  X(ELU, "Elu", 1, 0, 1.0, 0.0, x < 0.0 ? alpha * (exp(x) - 1.0) : x)                    \
  X(SOFTSIGN, "Softsign", 0, 0, 0.0, 0.0, x / (1.0 + fabs(x)))                           \
  X(SOFTPLUS, "Softplus", 0, 0, 0.0, 0.0, fmax(x, 0.0) + log1p(exp(-fabs(x))))

typedef struct eg_gate_info {
  const char *name;
  bool has_alpha, has_beta;
  double alpha, beta; // default values
  double (*at)(double x, double alpha, double beta);
} eg_gate_info;

/// Finds an activation function by name, of `length` characters; NULL: unknown.
const eg_gate_info *eg_gate_find(const char *name, size_t length);

enum { EG_MAX_GATES = 6, EG_ABSENT = -1 };

/// The activation function of one gate in one direction.
typedef struct eg_activation {
  const eg_gate_info *info;
  double alpha, beta;
} eg_activation;

/// A recurrent layer, read from its attributes and operand types.
typedef struct eg_recurrent {
  int64_t steps, batch, inputs, hidden, directions;
  uint32_t gates;       // matrices for each direction: 1, 3 (gru), 4 (lstm)
  uint32_t activations; // number for each direction: 1, 2 (gru), 3 (lstm)
  bool is_batch_first, is_lstm;
  int bias, h, c, peepholes, lengths; // operands by number, or EG_ABSENT
  eg_activation gate[EG_MAX_GATES]; // the gates of one direction after those of the other
} eg_recurrent;

/// Reads sizes, operands and activations of a recurrent node that inference accepted.
eg_recurrent eg_recurrent_of(const eg_attrs *attrs, const eg_type *x, const eg_type *w,
                             uint32_t count);

/// Returns the number of activation functions of a recurrent operator per direction.
uint32_t eg_recurrent_activations(eg_op op);

#endif
