// Axes of one device, and idle ones: nothing is split or exchanged along them, but every
// layout would count several times. Planning leaves them out; the plan gets them back.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SPACE_UNIT_AXES_H
#define EG_OPTIMIZE_SPACE_UNIT_AXES_H

#include "pcg/parallel/machine.h"
#include "pcg/plan/plan.h"

/// The mesh without its axes of size 1 and the idle ones.
eg_machine_mesh eg_unit_axes_drop(const eg_machine_mesh *mesh);
/// A layout on `whole` as one on `part`, whose axes are some of the other's: it is R
/// along the rest.
eg_layout eg_unit_axes_narrow(const eg_layout *layout, const eg_mesh *whole,
                              const eg_mesh *part);
/// Whether the axes of `part` are some of `whole`, in the same order.
bool eg_unit_axes_are_of(const eg_mesh *part, const eg_mesh *whole);
/// Makes a plan on such a mesh one on `whole`: R along the axes that were left out.
void eg_unit_axes_restore(eg_plan *plan, const eg_mesh *whole);

#endif
