// What a caller says of training.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_TRAINED_H
#define EG_API_TRAINED_H

#include "include/egraph.h"

/// Fails with EGRAPH_E_ARGUMENT for a list of patterns that is NULL, or has NULL in it.
egraph_status eg_training_patterns_check(const egraph_training *training);

#endif
