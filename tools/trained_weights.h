// Weights of a training step: which are trained, and which several operators share.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_TRAINED_WEIGHTS_H
#define EG_TOOLS_TRAINED_WEIGHTS_H

#include "tools/optimize_call.h"

/// Prints how much of a model is trained with these options, and names the rest.
egraph_status print_trained(const egraph_graph *model, const egraph_training *training);
/// Replaces a model that is trained by one without the ties that the flags separate.
egraph_status untie_model(const training_flags *flags, egraph_graph **inout);
/// Warns of the ties that a model has, on standard error.
egraph_status warn_of_ties(const training_flags *flags, const egraph_graph *model);
/// Writes the member "tied" of a report.
egraph_status json_ties(const egraph_training *training, const egraph_graph *model);
/// Replaces the model whose weights a plan begins with by one without ties, if the plan
/// has weights that only that one has; *out_untied tells.
egraph_status untie_as_plan(const egraph_plan *plan, egraph_graph **inout,
                            bool *out_untied);

#endif
