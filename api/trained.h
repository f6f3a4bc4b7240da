// What a training step is made of: a model whose constants are folded, and the names of
// what is trained in it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_TRAINED_H
#define EG_API_TRAINED_H

#include "pcg/training/parameters.h"

/// Fails with EGRAPH_E_ARGUMENT for a list of patterns that is NULL, or has NULL in it.
egraph_status eg_training_patterns_check(const egraph_training *training);

/// The model with all computed ahead that only needs weights which no step trains. Of a
/// training step (`wish`; NULL: the model itself is planned) `names`, initialized, gets
/// what is trained. Fails like eg_parameters_find.
egraph_status eg_trained_prepare(const eg_graph *model, const eg_parameter_wish *wish,
                                 eg_strmap *names, eg_graph **out);

#endif
