// Weights of a model that is planned: finds the trained ones, computes constant values
// before planning, and gives a plan its data.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_MODEL_WEIGHTS_H
#define EG_OPTIMIZE_MODEL_WEIGHTS_H

#include "optimize/single/recognize.h"
#include "pcg/training/parameters.h"
#include "pcg/training/ties.h"

/// Copies the model and computes all values in it that need only untrained weights.
/// `wish` chooses the trained weights (NULL: no training step); their names are put into
/// `names`, which is initialized. For a training step, attention that `rules` (may be
/// NULL) of class `math` find is one operator in the copy, and *out_recognized is true
/// (recognize.h). Fails like eg_parameters_find.
egraph_status eg_model_prepare(const eg_graph *model, const eg_parameter_wish *wish,
                               const eg_rules *rules, egraph_math math, eg_strmap *names,
                               eg_graph **out, bool *out_recognized);
/// Calls `visit` with the fate of each floating-point weight (trained, ...) of the first
/// output. Fails with EGRAPH_E_ARGUMENT without an output, and like eg_parameters_find.
egraph_status eg_model_visit_weights(const eg_graph *model, const eg_parameter_wish *wish,
                                     void (*visit)(void *user,
                                                   const eg_value_info *weight,
                                                   eg_weight_fate fate),
                                     void *user);
/// Call eg_ties_find and eg_ties_untie for the first output; fail also without outputs.
egraph_status eg_model_find_ties(const eg_graph *model, const eg_parameter_wish *wish,
                                 eg_tie_uses *out);
egraph_status eg_model_untie(const eg_graph *model, const eg_parameter_wish *wish,
                             const char *const *patterns, uint32_t count, eg_graph **out);
/// Gives weights of a planned step the data of the model; a trained weight is an input of
/// the step, and only its type is compared. Fails with EGRAPH_E_TYPE, EGRAPH_E_ARGUMENT
/// for weights that are not the model's.
egraph_status eg_model_give_weights(const eg_graph *model, eg_graph *step);

#endif
