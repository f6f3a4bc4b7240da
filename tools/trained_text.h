// What a training step trains, in a line.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_TRAINED_TEXT_H
#define EG_TOOLS_TRAINED_TEXT_H

#include "include/egraph.h"

/// Prints how much of a model is trained with these options, and names the rest.
egraph_status print_trained(const egraph_graph *model, const egraph_training *training);

#endif
