// The parameters of a model: the weights that training changes. Their uses decide, in a
// table by operator and operand (parameters.c):
//
//   parameter   operand of a product, a convolution, an einsum, a recurrent layer; scale
//               or bias of a normalization; slope of PRelu; table of a gather; operand of
//               a concatenation, or of an operator that the table does not know
//   addend      added to or multiplied with a value: a parameter, too (a bias, a position
//               embedding, a scale per channel), unless it has a single element, or the
//               result goes on to a softmax and the addend varies in two or more
//               dimensions: then it is a mask
//   statistic   mean or variance of a batch normalization
//   constant    any other use
//
// The uses of a value computed from weights alone (a transposed weight, a slice of a
// mask) are uses of these weights. A weight with several uses is a parameter if one use
// is.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PARAMETERS_H
#define EG_PCG_PARAMETERS_H

#include "base/names.h"
#include "base/strmap.h"
#include "pcg/graph/graph.h"

// What training does with a weight: id, the reason why it is not trained.
#define EG_WEIGHT_FATE_LIST(X)                                                           \
  X(EG_FATE_NONE, "no floating-point weight that the loss depends on")                   \
  X(EG_FATE_CONSTANT, "a constant")                                                      \
  X(EG_FATE_STATISTIC, "a statistic")                                                    \
  X(EG_FATE_SCALE, "one element")                                                        \
  X(EG_FATE_MASK, "a mask")                                                              \
  X(EG_FATE_FROZEN, "frozen")                                                            \
  X(EG_FATE_TRAINED, "trained")
typedef enum eg_weight_fate {
  EG_WEIGHT_FATE_LIST(EG_ENUM_ID) EG_WEIGHT_FATES
} eg_weight_fate;
const char *eg_weight_fate_why(eg_weight_fate fate);

/// The user's choice of trained weights: parameters that match a pattern of train_only
/// (none given: all) and no pattern of freeze. A '*' matches any characters. A name
/// without '*' in train_only is trained even if it is no parameter.
typedef struct eg_parameter_wish {
  const char *const *freeze, *const *train_only;
  uint32_t freeze_count, train_only_count;
  // Instead of the patterns, the names of exactly the trained weights, for a graph in
  // which one block represents many. NULL: the patterns count.
  const eg_strmap *chosen;
} eg_parameter_wish;

/// Fills fates[value_count] (what training does with a weight; EG_FATE_NONE for other
/// values), and flags in needed[value_count] the values on which `output` depends. Fails
/// with EGRAPH_E_ARGUMENT for a pattern that matches no possible weight, naming the
/// closest; EGRAPH_E_MEMORY. O(values).
egraph_status eg_parameters_find(const eg_graph *graph, eg_value output,
                                 const eg_parameter_wish *wish, eg_weight_fate *fates,
                                 bool *needed);
/// Puts the names of trained weights into an empty map.
egraph_status eg_parameters_names(const eg_graph *graph, const eg_weight_fate *fates,
                                  eg_strmap *out);

#endif
