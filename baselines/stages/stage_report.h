// Simulates the pipelines of a search, finds the best, and reports them. Pipelines have
// no plan that runs, because executors have no stages.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_STAGE_REPORT_H
#define EG_BASELINES_STAGE_REPORT_H

#include "base/owner.h"
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
  bool is_proven;   // otherwise: it is proven that some stage has no plan
  double formula;   // seconds: stages one after the other, and the longest again for each
                  // further micro-batch, each with its share of the update; no messages.
                  // For single operators: the sum over all of them
  double seconds; // simulated, with messages and the update behind the last pass
  double busiest; // seconds of the stage that computes most
  double bytes;   // bytes of the device that holds most
  double excess;  // bytes of that device over the limit
} eg_staged_row;
EG_VEC_DEFINE(eg_staged_rows, eg_staged_row);

/// A stage of the best pipeline.
typedef struct eg_staged_stage {
  uint32_t first,
      last; // layers of all its chunks; layers in between may belong to others
  eg_stage_place place;
  double forward, backward, update; // seconds
  uint32_t in_flight;               // most passes of chunks at a time
  double bytes;                     // of a device
} eg_staged_stage;
EG_VEC_DEFINE(eg_staged_stages, eg_staged_stage);

typedef struct eg_staged {
  const char *algorithm;
  uint32_t layers, micro_batches, devices; // 0 layers: operators are placed one by one
  double memory_limit;                     // of a device; INFINITY: none
  uint32_t asked,
      planned; // requested stages; distinct stages, which were planned
  double search_seconds;
  bool is_cancelled;
  bool was_limited; // limits ended the search for some stage's plan before one was found
  eg_staged_rows rows;
  uint32_t best;                      // row; UINT32_MAX: none is possible
  eg_pipeline_schedule_kind schedule; // of the best row
  uint32_t chunks;                    // likewise
  eg_staged_stages stages;            // likewise
} eg_staged;
EG_OWNER_DEFINE_STATIC_FROM(eg_staged, (.best = UINT32_MAX), (eg_staged_rows, rows),
                            (eg_staged_stages, stages))

/// Simulates a pipeline and adds its row. A pipeline that fits is better than one that
/// does not; among pipelines that fit the shorter is better, otherwise the smaller; among
/// equals the first.
egraph_status eg_staged_add(eg_staged *staged, const eg_stage_planner *planner,
                            const eg_pipeline_choice *choice);
/// Searches for pipelines of a training step, without rules. The call has `training`,
/// with the names of trained weights; mesh, rules, constraints and baselines are not
/// read. Fills an initialized result, even if no pipeline is possible.
typedef egraph_status eg_stage_search(const eg_plan_call *call, eg_staged *out);
// The rows of include/egraph_algorithms.def that find pipelines.
eg_stage_search eg_alpa_stages, eg_megatron_grid, eg_min_cut_placement;

/// Copies the number of planned stages and other figures of a planner to the result.
void eg_staged_note(eg_staged *staged, const eg_stage_planner *planner);
/// Prints text for people: the best row and its stages; `all`: also all rows.
egraph_status eg_staged_print(eg_text *text, const eg_staged *staged, bool all);
/// Writes one JSON object: {"algorithm", "micro_batches", "layers", "planned", "rows":
/// [{"name", "formula_seconds", "seconds", "memory_bytes", "excess_bytes"}], "best",
/// "schedule", "chunks", "stages": [{"first_layer", "last_layer", "nodes", "devices",
/// "forward_seconds", "backward_seconds", "update_seconds", "in_flight",
/// "memory_bytes"}]}. Rows that are not possible have only a name.
egraph_status eg_staged_write_json(eg_text *text, const eg_staged *staged);

#endif
