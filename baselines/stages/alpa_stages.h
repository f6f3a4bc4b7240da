// Alpa's inter-operator search (OSDI'22, section 5): layers, a table of stages on
// submeshes, each planned by the product's planner without algebra, the dynamic program
// over them (interop.h), and its choice simulated under 1F1B.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_ALPA_STAGES_H
#define EG_BASELINES_ALPA_STAGES_H

#include "baselines/stages/stage_report.h"

/// Fills an initialized result. Fails like eg_stage_planner_plan.
egraph_status eg_alpa_stages(const eg_plan_search_input *input, eg_staged *out);

#endif
