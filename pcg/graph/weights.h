// Values for weights whose data is absent, and for inputs that nobody gave.
//
// Drawn from the seed and the tensor's name only, so that a graph and its optimized form
// get the same ones. rank <= 1: uniform in [0.5, 1.5] (safe as variance and as scale);
// rank 2 and more: uniform in
// +-sqrt(3 / fan_in), fan_in = max dim for rank 2, elements / dims[0] above. Integers: 0
// or 1.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_WEIGHTS_H
#define EG_PCG_WEIGHTS_H

#include "ops/tensor.h"

/// Fills a row-major tensor that stands for the weight `name`.
void eg_weight_draw(const char *name, uint64_t seed, const eg_tensor *tensor);
/// Fills a row-major tensor that stands for the graph input `name`: uniform in [-1, 1],
/// integers 0 or 1.
void eg_input_draw(const char *name, uint64_t seed, const eg_tensor *tensor);

#endif
