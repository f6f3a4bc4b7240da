// A training step as one ordinary graph: forward, loss, backward and optimizer update are
// nodes like any others, in this order:
//
//   inputs      inputs of the forward graph, target, learning_rate, step (Adam, AdamW);
//               per trained weight w: w, w.copy (copies in bfloat16), w.sum
//               (micro-batches), the optimizer's states
//   F forward   the forward graph, and the loss of one micro-batch
//   B backward  gradients, from the loss back; added to the accumulators w.sum
//   O update    mean over micro-batches, clipping, optimizer
//   outputs     loss, and per trained weight the next values of its inputs, by the same
//   names
//
// To execute a step of M micro-batches of the forward graph's batch: set every w.sum to
// 0; M times run F and B on the next micro-batch, with the output w.sum of one as input
// of the next; run O once, after the last. (Running the whole graph M times gives the
// same, if w and the states are kept from the last run only, and each run gets the values
// of the step before.) The loss of the step is the mean over its micro-batches. So F and
// B cost M times, O once.
//
// With copies in bfloat16 (eg_precision), F and B read w.copy, and O makes the next
// w.copy from the next w. Before the first step, w.copy is w rounded to bfloat16.
//
// A trained weight is an input, not a weight: weights are constants, with which the
// optimizer may compute ahead of time. In the backward pass a weight has its value of the
// forward pass.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_TRAINING_H
#define EG_PCG_TRAINING_H

#include "pcg/graph/graph.h"
#include "pcg/graph/node_cons.h"
#include "pcg/training/gradient.h"
#include "pcg/training/parameters.h"
#include "pcg/training/phase.h"

// Optimizers: id, spelling. Their formulas: training.c.
#define EG_OPTIMIZER_LIST(X)                                                             \
  X(EG_OPTIMIZER_SGD, "sgd")                                                             \
  X(EG_OPTIMIZER_MOMENTUM, "momentum")                                                   \
  X(EG_OPTIMIZER_ADAM, "adam")                                                           \
  X(EG_OPTIMIZER_ADAMW, "adamw")
typedef enum eg_optimizer {
  EG_OPTIMIZER_LIST(EG_ENUM_ID) EG_OPTIMIZER_COUNT
} eg_optimizer;
enum { EG_MAX_OPTIMIZER_STATES = 2, EG_MAX_STATES = EG_MAX_OPTIMIZER_STATES + 1 };

// Precisions: id, spelling. Values of the forward graph that are float32 are computed in
// bfloat16 except with EG_PRECISION_MODEL; weights that the optimizer updates, and its
// states, stay float32.
#define EG_PRECISION_LIST(X)                                                             \
  X(EG_PRECISION_MODEL, "model") /* all types are those of the model */                  \
  /* each micro-batch casts weights; their gradients and sums are float32 (autocast) */  \
  X(EG_PRECISION_BF16, "bf16")                                                           \
  /* copies of weights are kept in bfloat16, gradients are bfloat16, sums float32 */     \
  X(EG_PRECISION_BF16_WEIGHTS, "bf16-weights")                                           \
  X(EG_PRECISION_BF16_SUMS, "bf16-sums") /* sums of gradients are bfloat16, too */
typedef enum eg_precision {
  EG_PRECISION_LIST(EG_ENUM_ID) EG_PRECISION_COUNT
} eg_precision;

typedef struct eg_training_options {
  eg_loss loss;
  uint32_t output; // of the forward graph: the loss is a function of it
  eg_optimizer optimizer;
  double momentum;     // EG_OPTIMIZER_MOMENTUM: velocity' = momentum velocity + gradient
  double beta1, beta2; // Adam, AdamW
  double epsilon;
  // The gradient grows by weight_decay * weight. With AdamW, the weight shrinks by
  // learning rate * weight_decay * weight instead.
  double weight_decay;
  double clip_norm;       // largest norm of all gradients together; 0: no limit
  uint32_t micro_batches; // >= 1
  eg_precision precision;
  eg_parameter_wish parameters; // the trained weights
  // A stage of a pipeline is a step that other stages precede or follow:
  // `is_inner`: there is no loss, the cotangent of each floating-point output y is an
  // input y.cotangent, and all outputs leave the step.
  bool is_inner;
  const char *const *sent_back; // inputs x whose cotangent leaves as x.cotangent
  uint32_t sent_back_count;
} eg_training_options;
#define EG_TRAINING_OPTIONS_DEFAULT                                                      \
  {                                                                                      \
    .loss = EG_LOSS_CROSS_ENTROPY, .optimizer = EG_OPTIMIZER_ADAMW, .momentum = 0.9,     \
    .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .micro_batches = 1                    \
  }

/// A value that a step reads as an input and leaves as an output, of one type: its
/// layouts as input and output must be the same. EG_VALUE_NONE when there is none.
typedef struct eg_training_state {
  eg_value entry, exit;
} eg_training_state;

typedef struct eg_training_param {
  eg_value weight; // in the forward graph
  eg_training_state value;
  eg_value gradient;     // of one micro-batch, with the type of the weight, or its copy
  eg_training_state sum; // sum of gradients; none with one micro-batch
  // Those of the optimizer; then, where the precision keeps copies, the weight's copy
  eg_training_state state[EG_MAX_STATES];
} eg_training_param;

typedef struct eg_training {
  eg_graph *graph;
  eg_value loss; // scalar; EG_VALUE_NONE, like `target`, for a stage without a loss
  eg_value target;
  eg_value learning_rate; // float64 scalar
  eg_value step;          // float64 scalar, 1 in the first step; none without Adam
  eg_training_param *params;
  uint32_t param_count, state_count, micro_batches;
  uint32_t phase_begin[EG_PHASE_COUNT +
                       1]; // phase p: nodes phase_begin[p] up to phase_begin[p + 1]
  eg_stamps stamps;        // [values] their provenance in the forward graph
  egraph_allocator alloc;
} eg_training;

/// Builds a training step. It trains the parameters (pcg/training/parameters.h) on which
/// the loss depends, as options->parameters chooses. Memory formats of the forward graph
/// are dropped. A stage may have nothing to train. Free `out` with eg_training_deinit.
/// Fails with EGRAPH_E_UNSUPPORTED for operators without a gradient, EGRAPH_E_ARGUMENT
/// and EGRAPH_E_TYPE for options that do not fit the graph.
egraph_status eg_training_step(const eg_graph *forward,
                               const eg_training_options *options, eg_training *out);
void eg_training_deinit(eg_training *training);
/// Returns the phase (forward, ...) of a node. A node that computes from constants only
/// belongs to no phase in particular; it is placed before its first use.
eg_phase eg_training_phase(const eg_training *training, eg_graph_node node);

/// Checks that the chosen output, loss and optimizer exist. Fails with EGRAPH_E_ARGUMENT.
egraph_status eg_training_options_check(const eg_graph *forward,
                                        const eg_training_options *options);
const char *eg_loss_name(eg_loss loss);
bool eg_loss_find(const char *name, eg_loss *out);
const char *eg_optimizer_name(eg_optimizer optimizer);
bool eg_optimizer_find(const char *name, eg_optimizer *out);
const char *eg_precision_name(eg_precision precision);
bool eg_precision_find(const char *name, eg_precision *out);

#endif
