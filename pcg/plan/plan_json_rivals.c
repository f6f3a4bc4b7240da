// What a plan was compared with, read from a file.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "pcg/plan/plan_records.h"
#include "pcg/plan/plan_why.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

typedef eg_json_fields_reader reader;

typedef struct rival_reading {
  eg_plan_records *records;
  eg_rival_record rival;
} rival_reading;

#define TEXT_FIELD(function, type, member)                                               \
  static egraph_status function(reader *r, void *record) {                               \
    type *mine = record;                                                                 \
    return eg_json_fields_text(r, &mine->member);                                        \
  }
#define AMOUNT_FIELD(function, type, member)                                             \
  static egraph_status function(reader *r, void *record) {                               \
    type *mine = record;                                                                 \
    return eg_json_fields_amount(r, &mine->member);                                      \
  }

#define NUMBER_FIELD(function, type, member)                                             \
  static egraph_status function(reader *r, void *record) {                               \
    type *mine = record;                                                                 \
    return eg_json_fields_u32(r, 0, &mine->member);                                      \
  }

// ---- syntax ---------------------------------------------------------------------------

TEXT_FIELD(read_kind, eg_reason_record, kind)
TEXT_FIELD(read_phase, eg_reason_record, phase)
TEXT_FIELD(read_axis, eg_reason_record, axis)
AMOUNT_FIELD(read_more, eg_reason_record, seconds)
AMOUNT_FIELD(read_bytes, eg_reason_record, bytes)

static egraph_status read_reason(reader *r, void *record) {
  static const eg_json_field fields[] = {{"kind", true, read_kind},
                                         {"phase", false, read_phase},
                                         {"axis", false, read_axis},
                                         {"seconds", true, read_more},
                                         {"bytes", false, read_bytes}};
  rival_reading *mine = record;
  eg_reason_record reason = {.kind = NULL};
  EG_TRY(eg_json_fields_object(r, fields, COUNT(fields), &reason));
  return eg_reason_records_push(&mine->records->reasons, reason);
}

static egraph_status read_reasons(reader *r, void *record) {
  rival_reading *mine = record;
  mine->rival.reasons = (uint32_t)mine->records->reasons.len;
  EG_TRY(eg_json_fields_array(r, read_reason, record));
  mine->rival.reason_count = (uint32_t)mine->records->reasons.len - mine->rival.reasons;
  return EGRAPH_OK;
}

TEXT_FIELD(read_name, rival_reading, rival.name)
TEXT_FIELD(read_outcome, rival_reading, rival.outcome)
TEXT_FIELD(read_mesh, rival_reading, rival.mesh)
AMOUNT_FIELD(read_seconds, rival_reading, rival.seconds)
AMOUNT_FIELD(read_memory, rival_reading, rival.memory)
AMOUNT_FIELD(read_least, rival_reading, rival.least_memory)
AMOUNT_FIELD(read_excess, rival_reading, rival.excess)
NUMBER_FIELD(read_batch, rival_reading, rival.batch)
NUMBER_FIELD(read_parts, rival_reading, rival.parts)

static egraph_status read_rival(reader *r, void *record) {
  static const eg_json_field fields[] = {{"name", true, read_name},
                                         {"outcome", true, read_outcome},
                                         {"mesh", true, read_mesh},
                                         {"seconds", true, read_seconds},
                                         {"memory_bytes", true, read_memory},
                                         {"least_memory_bytes", true, read_least},
                                         {"excess_bytes", false, read_excess},
                                         {"batch", false, read_batch},
                                         {"parts", false, read_parts},
                                         {"why", true, read_reasons}};
  rival_reading mine = {.records = record};
  EG_TRY(eg_json_fields_object(r, fields, COUNT(fields), &mine));
  return eg_rival_records_push(&mine.records->rivals, mine.rival);
}

egraph_status eg_plan_records_read_rivals(eg_json_fields_reader *r, void *record) {
  return eg_json_fields_array(r, read_rival, record);
}

// ---- meaning --------------------------------------------------------------------------

static bool fits(const char *text, size_t size) {
  return text[0] != '\0' && strlen(text) < size;
}

static bool build_reason(const eg_reason_record *record, const eg_mesh *mesh,
                         eg_rival_reason *out) {
  *out = (eg_rival_reason){.seconds = record->seconds, .bytes = record->bytes};
  if (!eg_rival_reason_find(record->kind, &out->exchange)) return false;
  if (out->exchange == EG_EXCHANGES) return record->phase == NULL && record->axis == NULL;
  if (record->phase == NULL || !eg_phase_find(record->phase, &out->phase)) return false;
  for (uint32_t a = 0; record->axis != NULL && a < mesh->axis_count; a++)
    if (strcmp(mesh->axes[a].name, record->axis) == 0) {
      memcpy(out->axis, mesh->axes[a].name, sizeof out->axis);
      return true;
    }
  return false;
}

static egraph_status build_rival(const eg_plan_records *records, uint32_t number,
                                 eg_plan_rival *out) {
  const eg_rival_record *record = &records->rivals.data[number];
  *out = (eg_plan_rival){.seconds = record->seconds,
                         .memory = record->memory,
                         .least_memory = record->least_memory,
                         .excess = record->excess,
                         .batch = record->batch,
                         .parts = record->parts,
                         .reason_count = record->reason_count};
  if (eg_mesh_parse(record->mesh, &out->mesh) != EGRAPH_OK)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "%s: '%.64s' is no mesh; at $.baselines[%" PRIu32 "].mesh",
                   records->file, record->mesh, number);
  bool is_right = fits(record->name, sizeof out->name) &&
                  eg_rival_outcome_find(record->outcome, &out->outcome) &&
                  record->reason_count <= EG_RIVAL_REASONS;
  if (is_right) memcpy(out->name, record->name, strlen(record->name));
  for (uint32_t i = 0; is_right && i < record->reason_count; i++)
    is_right = build_reason(&records->reasons.data[record->reasons + i], &out->mesh,
                            &out->reasons[i]);
  if (is_right) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_PARSE,
                 "%s: no comparison that is known; remove it; at $.baselines[%" PRIu32
                 "]",
                 records->file, number);
}

egraph_status eg_plan_records_build_rivals(const eg_plan_records *records,
                                           eg_plan *plan) {
  for (uint32_t i = 0; i < records->rivals.len; i++) {
    eg_plan_rival rival;
    EG_TRY(build_rival(records, i, &rival));
    EG_TRY(eg_plan_rivals_push(&plan->rivals, rival));
  }
  return EGRAPH_OK;
}
