// Megatron-LM's grid (SC'21): every way to write the devices of a machine as t tensor
// parallel times p pipeline stages times d data parallel ones, t within a node; stages of
// as many layers each, 1F1B or interleaved, with states of the optimizer whole or split
// along d (ZeRO-1). Within a stage the product's planner plans the named baseline.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_MEGATRON_GRID_H
#define EG_BASELINES_MEGATRON_GRID_H

#include "baselines/stages/stage_report.h"

/// Fills an initialized result: a row for each point of the grid whose stages and chunks
/// divide the layers. Fails like eg_stage_planner_plan.
egraph_status eg_megatron_grid(const eg_plan_search_input *input, eg_staged *out);

#endif
