// Blocks of the user's model in a plan: rows of equal blocks, and the parts of the model
// before, between and behind them. Every step belongs to one part, steps of the backward
// phase and the update to the part of the weights and activations that they are about, so
// the seconds of all parts add up to those of the step.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_BLOCKS_H
#define EG_PCG_PLAN_BLOCKS_H

#include "pcg/plan/plan.h"

/// Text for people: a row per part with its seconds, its weights and its activations by
/// layout in words. Blocks one behind the other whose values have the same layouts are a
/// row together. Nothing for a plan of one device without repeated blocks.
egraph_status eg_plan_blocks_print(eg_text *text, const eg_plan *plan);

#endif
