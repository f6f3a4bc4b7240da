// Axes of one device: nothing is split or exchanged along them, but every layout would
// count several times. Planning leaves them out; the plan gets them back.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SPACE_UNIT_AXES_H
#define EG_OPTIMIZE_SPACE_UNIT_AXES_H

#include "pcg/parallel/machine.h"
#include "pcg/plan/plan.h"

/// The mesh without its axes of size 1.
eg_machine_mesh eg_unit_axes_drop(const eg_machine_mesh *mesh);
/// A layout on `whole` as one on that mesh.
eg_layout eg_unit_axes_narrow(const eg_layout *layout, const eg_mesh *whole);
/// Makes a plan on that mesh one on `whole`: R along the axes that were left out.
void eg_unit_axes_restore(eg_plan *plan, const eg_mesh *whole);

#endif
