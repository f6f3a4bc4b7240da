// Weights of a training step: which weights are trained, and which are shared by
// several operators.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_TRAINED_WEIGHTS_H
#define EG_TOOLS_TRAINED_WEIGHTS_H

#include "tools/optimize_call.h"

/// Prints which part of a model is trained with these options, and names the
/// other weights.
egraph_status print_trained(const egraph_graph *model, const egraph_training *training);
/// Replaces a model to be trained by one in which each operator that the flags name has a
/// copy of its own of a shared weight.
egraph_status untie_model(const training_flags *flags, egraph_graph **inout);
/// Warns on standard error of weights that several operators of a model share.
egraph_status warn_of_ties(const training_flags *flags, const egraph_graph *model);
/// Writes the member "tied" of a report: the weights that several operators share.
egraph_status json_ties(const egraph_training *training, const egraph_graph *model);
/// Replaces the model that gives a plan its first weights by a model without shared
/// weights, if the plan has weights that only the latter has; *out_untied is then true.
egraph_status untie_as_plan(const egraph_plan *plan, egraph_graph **inout,
                            bool *out_untied);

#endif
