// Weights of a model that is planned: what is trained, what is computed ahead of
// planning, and how a plan gets their data.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_MODEL_WEIGHTS_H
#define EG_OPTIMIZE_MODEL_WEIGHTS_H

#include "pcg/training/parameters.h"
#include "pcg/training/ties.h"

/// The model with all computed ahead that only needs weights which no step trains. Of a
/// training step (`wish`; NULL: the model itself is planned) `names`, initialized, gets
/// what is trained. Fails like eg_parameters_find.
egraph_status eg_model_prepare(const eg_graph *model, const eg_parameter_wish *wish,
                               eg_strmap *names, eg_graph **out);
/// Tells of each floating-point weight that the first output depends on what becomes of
/// it. Fails with EGRAPH_E_ARGUMENT without an output, and like eg_parameters_find.
egraph_status eg_model_visit_weights(const eg_graph *model, const eg_parameter_wish *wish,
                                     void (*visit)(void *user,
                                                   const eg_value_info *weight,
                                                   eg_weight_fate fate),
                                     void *user);
/// As eg_ties_find and eg_ties_untie, of the first output; fail without one, too.
egraph_status eg_model_find_ties(const eg_graph *model, const eg_parameter_wish *wish,
                                 eg_tie_uses *out);
egraph_status eg_model_untie(const eg_graph *model, const eg_parameter_wish *wish,
                             const char *const *patterns, uint32_t count, eg_graph **out);
/// Weights of a step that was planned of the model get its data; of what is trained, an
/// input of the step, the type is compared. Fails with EGRAPH_E_TYPE, EGRAPH_E_ARGUMENT
/// for weights that are not the model's.
egraph_status eg_model_give_weights(const eg_graph *model, eg_graph *step);

#endif
