// The records of a plan file as they are read. Names are looked up later, when the plan
// is built.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_RECORDS_H
#define EG_PCG_PLAN_RECORDS_H

#include "base/vec.h"
#include "pcg/plan/plan_json.h"

typedef struct eg_state_record {
  const char *value, *layout;
  uint32_t more_blocks;
} eg_state_record;
EG_VEC_DEFINE(eg_state_records, eg_state_record);

typedef struct eg_action_record {
  const char *axis, *action;
} eg_action_record;
EG_VEC_DEFINE(eg_action_records, eg_action_record);

typedef struct eg_step_record {
  const char *phase;
  const char *node, *move, *axis, *basis;                  // NULL: not given
  uint32_t operands, operand_count, results, result_count; // in eg_plan_records.numbers
  uint32_t actions, action_count;                          // in eg_plan_records.actions
  uint32_t from, to;                                       // EG_PLAN_NONE: not given
  double bytes;                                            // NAN: not given
  double seconds;
} eg_step_record;
EG_VEC_DEFINE(eg_step_records, eg_step_record);

typedef struct eg_carried_record {
  uint32_t output;
  const char *entry;
} eg_carried_record;
EG_VEC_DEFINE(eg_carried_records, eg_carried_record);

typedef struct eg_reason_record {
  const char *kind, *phase, *axis; // NULL: not given
  double seconds, bytes;
} eg_reason_record;
EG_VEC_DEFINE(eg_reason_records, eg_reason_record);

typedef struct eg_rival_record {
  const char *name, *outcome, *mesh;
  double seconds, memory, least_memory, excess;
  uint32_t batch, parts;
  uint32_t reasons, reason_count; // in eg_plan_records.reasons
} eg_rival_record;
EG_VEC_DEFINE(eg_rival_records, eg_rival_record);

typedef struct eg_plan_records {
  const char *file; // borrowed
  bool has_version;
  eg_arena arena; // of all texts
  uint32_t micro_batches;
  double single_seconds, peak_seconds, memory_limit;
  const char *mesh;
  eg_text graph;
  eg_state_records states;
  eg_step_records steps;
  eg_action_records actions;
  eg_carried_records carried;
  eg_rival_records rivals;
  eg_reason_records reasons;
  eg_u32s numbers, outputs;
} eg_plan_records;

/// Builds a plan from a file's records: looks up all names and checks the plan. *out is
/// filled, also on failure. (plan_json_build.c)
egraph_status eg_plan_records_build(const eg_plan_records *records,
                                    egraph_allocator alloc, eg_loaded_plan *out);

#endif
