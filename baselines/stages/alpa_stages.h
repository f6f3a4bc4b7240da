// Alpa's inter-operator search (OSDI'22, section 5): layers, a table of stages on
// submeshes, each planned by the product's planner without algebra, the dynamic program
// over them (interop.h), and its choice simulated under 1F1B.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_ALPA_STAGES_H
#define EG_BASELINES_ALPA_STAGES_H

#include "baselines/stages/staged.h"

/// Fills an initialized result. Fails like eg_stage_planner_plan.
eg_stage_search eg_alpa_stages;

#endif
