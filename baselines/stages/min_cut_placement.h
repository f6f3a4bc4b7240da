// Placement by minimal cuts, what device placement is compared with (Mirhoseini et al.,
// ICML'17, with Scotch): every operator of a training step on one device, so that devices
// compute about as long and few bytes go between them. Nothing is split, and no schedule
// is chosen: devices run what they have in the order of the step, one micro-batch after
// the other, as soon as it can begin.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_MIN_CUT_PLACEMENT_H
#define EG_BASELINES_MIN_CUT_PLACEMENT_H

#include "baselines/stages/stage_report.h"

/// One row, with a stage per device; layers are none. Fails like eg_training_step, with
/// EGRAPH_E_UNSUPPORTED where a step has more passes of operators than are simulated.
egraph_status eg_min_cut_placement(const eg_plan_search_input *input, eg_staged *out);

#endif
