// Pipelines that a search has looked at, simulated, the best first among equals; and what
// is said of them. They have no plan that runs: executors have no stages.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_STAGE_REPORT_H
#define EG_BASELINES_STAGE_REPORT_H

#include "baselines/stages/stage_plan.h"
#include "sim/pipeline/schedule.h"

enum { EG_STAGED_NAME_SIZE = 64 };

/// A pipeline. Parts are chunks of stages (sim/pipeline/schedule.h).
typedef struct eg_pipeline_choice {
  char name[EG_STAGED_NAME_SIZE];
  eg_pipeline_schedule_kind schedule;
  uint32_t stages, chunks;
  const eg_stage_plan *plans;   // [parts]
  const eg_stage_place *places; // [stages]
  const uint32_t *last;         // [parts] their last layers
} eg_pipeline_choice;

typedef struct eg_staged_row {
  char name[EG_STAGED_NAME_SIZE];
  bool is_possible; // every stage has a plan
  bool is_proven;   // otherwise: some stage has none, not only that none was found
  double formula;   // seconds: stages one after the other, and the longest again for each
                  // further micro-batch, each with its share of the update; no messages.
                  // For single operators: the sum over all of them
  double seconds; // simulated, with messages and the update behind the last pass
  double busiest; // of the stage that computes most
  double bytes;   // of the device that holds most
  double excess;  // of that device over the limit
} eg_staged_row;
EG_VEC_DEFINE(eg_staged_rows, eg_staged_row);

/// A stage of the best row.
typedef struct eg_staged_stage {
  uint32_t first,
      last; // layers, of all its chunks together: those between may be others'
  eg_stage_place place;
  double forward, backward, update; // seconds
  uint32_t in_flight;               // passes of chunks at most
  double bytes;                     // of a device
} eg_staged_stage;
EG_VEC_DEFINE(eg_staged_stages, eg_staged_stage);

typedef struct eg_staged {
  const char *algorithm;
  uint32_t layers, micro_batches, devices; // no layers: operators are placed one by one
  double memory_limit;                     // of a device; INFINITY: none
  uint32_t asked,
      planned; // stages that were asked for; distinct ones, which were planned
  double search_seconds;
  bool is_cancelled;
  bool was_limited; // limits ended the search for some stage's plan without one
  eg_staged_rows rows;
  uint32_t best;                      // row; UINT32_MAX: none is possible
  eg_pipeline_schedule_kind schedule; // of the best row
  uint32_t chunks;                    // likewise
  eg_staged_stages stages;            // likewise
} eg_staged;

void eg_staged_init(eg_staged *staged, egraph_allocator alloc);
void eg_staged_deinit(eg_staged *staged);
/// Simulates a pipeline and adds it. One that fits is better than one that does not, then
/// the shorter, or of those that do not fit the smaller; of equal ones the first.
egraph_status eg_staged_add(eg_staged *staged, const eg_stage_planner *planner,
                            const eg_pipeline_choice *choice);
/// A search for pipelines of a training step, by no rule. The call has `training`, with
/// the names of what is trained; mesh, rules, constraints and baselines are not read.
/// Fills an initialized result; that no pipeline is possible is a result.
typedef egraph_status eg_stage_search(const eg_plan_call *call, eg_staged *out);
// The rows of include/egraph_algorithms.def that find pipelines.
eg_stage_search eg_alpa_stages, eg_megatron_grid, eg_min_cut_placement;

/// Notes what a planner did.
void eg_staged_note(eg_staged *staged, const eg_stage_planner *planner);
/// Text for people: the best row and its stages, and all rows if wanted.
egraph_status eg_staged_print(eg_text *text, const eg_staged *staged, bool all);
/// One JSON object: {"algorithm", "micro_batches", "layers", "planned", "rows": [{"name",
/// "formula_seconds", "seconds", "memory_bytes", "excess_bytes"}], "best", "schedule",
/// "chunks", "stages": [{"first_layer", "last_layer", "nodes", "devices",
/// "forward_seconds", "backward_seconds", "update_seconds", "in_flight",
/// "memory_bytes"}]}. Rows that are not possible have a name alone.
egraph_status eg_staged_write_json(eg_text *text, const eg_staged *staged);

#endif
