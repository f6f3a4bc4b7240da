// Reads the syntax of plan files. Keys may come in any order; therefore names are looked
// up after the whole file has been read.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "base/json_fields.h"
#include "base/owner.h"
#include "pcg/plan/plan_records.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const uint64_t MAX_BYTES = UINT64_C(1) << 30;

typedef eg_json_fields_reader reader; // of one file

// Defines the function that reads a JSON key's value into a member of a record.
#define TEXT_FIELD(function, type, member)                                               \
  static egraph_status function(reader *r, void *record) {                               \
    return eg_json_fields_text(r, &((type *)record)->member);                            \
  }
#define NUMBER_FIELD(function, type, member, least)                                      \
  static egraph_status function(reader *r, void *record) {                               \
    return eg_json_fields_u32(r, least, &((type *)record)->member);                      \
  }
#define AMOUNT_FIELD(function, type, member)                                             \
  static egraph_status function(reader *r, void *record) {                               \
    return eg_json_fields_amount(r, &((type *)record)->member);                          \
  }
// Define functions that read a JSON array into a member of a record, or into the record.
#define ARRAY_FIELD(function, type, element, member)                                     \
  static egraph_status function(reader *r, void *record) {                               \
    return eg_json_fields_array(r, element, &((type *)record)->member);                  \
  }
#define ROWS_FIELD(function, element)                                                    \
  static egraph_status function(reader *r, void *record) {                               \
    return eg_json_fields_array(r, element, record);                                     \
  }

static egraph_status read_number_of_list(reader *r, void *record) {
  uint32_t number;
  EG_TRY(eg_json_fields_u32(r, 0, &number));
  return eg_u32s_push(record, number);
}

// ---- states ---------------------------------------------------------------------------

TEXT_FIELD(read_state_value, eg_state_record, value)
TEXT_FIELD(read_state_layout, eg_state_record, layout)
NUMBER_FIELD(read_state_blocks, eg_state_record, more_blocks, 0)

static egraph_status read_state(reader *r, void *record) {
  static const eg_json_field fields[] = {{"value", true, read_state_value},
                                         {"layout", true, read_state_layout},
                                         {"more_blocks", false, read_state_blocks}};
  eg_plan_records *records = record;
  eg_state_record state = {.value = NULL};
  EG_TRY(eg_json_fields_object(r, fields, COUNT(fields), &state));
  return eg_state_records_push(&records->states, state);
}

// ---- steps ----------------------------------------------------------------------------

typedef struct step_reading {
  eg_plan_records *records;
  eg_step_record step;
} step_reading;

TEXT_FIELD(read_phase, step_reading, step.phase)
TEXT_FIELD(read_node, step_reading, step.node)
TEXT_FIELD(read_move, step_reading, step.move)
TEXT_FIELD(read_axis, step_reading, step.axis)
TEXT_FIELD(read_basis, step_reading, step.basis)
NUMBER_FIELD(read_from, step_reading, step.from, 0)
NUMBER_FIELD(read_to, step_reading, step.to, 0)
AMOUNT_FIELD(read_bytes, step_reading, step.bytes)
AMOUNT_FIELD(read_seconds, step_reading, step.seconds)

static egraph_status read_numbers(reader *r, eg_u32s *numbers, uint32_t *out_first,
                                  uint32_t *out_count) {
  *out_first = (uint32_t)numbers->len;
  EG_TRY(eg_json_fields_array(r, read_number_of_list, numbers));
  *out_count = (uint32_t)numbers->len - *out_first;
  return EGRAPH_OK;
}

static egraph_status read_operands(reader *r, void *record) {
  step_reading *s = record;
  return read_numbers(r, &s->records->numbers, &s->step.operands, &s->step.operand_count);
}

static egraph_status read_results(reader *r, void *record) {
  step_reading *s = record;
  return read_numbers(r, &s->records->numbers, &s->step.results, &s->step.result_count);
}

/// Reads an object whose keys are names of axes; the mesh may come later in the file.
static egraph_status read_actions(reader *r, void *record) {
  step_reading *s = record;
  eg_action_records *actions = &s->records->actions;
  s->step.actions = (uint32_t)actions->len;
  bool more = true;
  EG_TRY(eg_json_scan_enter(r->scan, '{'));
  for (size_t count = 0; more;) {
    eg_action_record action;
    EG_TRY(eg_json_scan_next(r->scan, '}', &count, &more));
    if (!more) break;
    EG_TRY(eg_json_scan_key_text(r->scan, &r->scratch));
    EG_TRY(eg_arena_string(r->arena, r->scratch.data, r->scratch.len, &action.axis));
    EG_TRY(eg_json_fields_text(r, &action.action));
    EG_TRY(eg_action_records_push(actions, action));
  }
  s->step.action_count = (uint32_t)actions->len - s->step.actions;
  return EGRAPH_OK;
}

static egraph_status read_step(reader *r, void *record) {
  static const eg_json_field fields[] = {
      {"phase", true, read_phase},      {"node", false, read_node},
      {"actions", false, read_actions}, {"operands", false, read_operands},
      {"results", false, read_results}, {"move", false, read_move},
      {"axis", false, read_axis},       {"from", false, read_from},
      {"to", false, read_to},           {"bytes", false, read_bytes},
      {"seconds", true, read_seconds},  {"basis", false, read_basis}};
  step_reading s = {.records = record,
                    .step = {.from = EG_PLAN_NONE, .to = EG_PLAN_NONE, .bytes = NAN}};
  EG_TRY(eg_json_fields_object(r, fields, COUNT(fields), &s));
  return eg_step_records_push(&s.records->steps, s.step);
}

// ---- rivals ---------------------------------------------------------------------------

typedef struct rival_reading {
  eg_plan_records *records;
  eg_rival_record rival;
} rival_reading;

TEXT_FIELD(read_reason_kind, eg_reason_record, kind)
TEXT_FIELD(read_reason_phase, eg_reason_record, phase)
TEXT_FIELD(read_reason_axis, eg_reason_record, axis)
AMOUNT_FIELD(read_reason_seconds, eg_reason_record, seconds)
AMOUNT_FIELD(read_reason_bytes, eg_reason_record, bytes)

static egraph_status read_reason(reader *r, void *record) {
  static const eg_json_field fields[] = {{"kind", true, read_reason_kind},
                                         {"phase", false, read_reason_phase},
                                         {"axis", false, read_reason_axis},
                                         {"seconds", true, read_reason_seconds},
                                         {"bytes", false, read_reason_bytes}};
  rival_reading *reading = record;
  eg_reason_record reason = {.kind = NULL};
  EG_TRY(eg_json_fields_object(r, fields, COUNT(fields), &reason));
  return eg_reason_records_push(&reading->records->reasons, reason);
}

static egraph_status read_reasons(reader *r, void *record) {
  rival_reading *reading = record;
  const eg_reason_records *reasons = &reading->records->reasons;
  reading->rival.reasons = (uint32_t)reasons->len;
  EG_TRY(eg_json_fields_array(r, read_reason, record));
  reading->rival.reason_count = (uint32_t)reasons->len - reading->rival.reasons;
  return EGRAPH_OK;
}

TEXT_FIELD(read_rival_name, rival_reading, rival.name)
TEXT_FIELD(read_outcome, rival_reading, rival.outcome)
TEXT_FIELD(read_rival_mesh, rival_reading, rival.mesh)
AMOUNT_FIELD(read_rival_seconds, rival_reading, rival.seconds)
AMOUNT_FIELD(read_memory, rival_reading, rival.memory)
AMOUNT_FIELD(read_least_memory, rival_reading, rival.least_memory)
AMOUNT_FIELD(read_excess, rival_reading, rival.excess)
NUMBER_FIELD(read_batch, rival_reading, rival.batch, 0)
NUMBER_FIELD(read_parts, rival_reading, rival.parts, 0)

static egraph_status read_rival(reader *r, void *record) {
  static const eg_json_field fields[] = {{"name", true, read_rival_name},
                                         {"outcome", true, read_outcome},
                                         {"mesh", true, read_rival_mesh},
                                         {"seconds", true, read_rival_seconds},
                                         {"memory_bytes", true, read_memory},
                                         {"least_memory_bytes", true, read_least_memory},
                                         {"excess_bytes", false, read_excess},
                                         {"batch", false, read_batch},
                                         {"parts", false, read_parts},
                                         {"why", true, read_reasons}};
  rival_reading reading = {.records = record};
  EG_TRY(eg_json_fields_object(r, fields, COUNT(fields), &reading));
  return eg_rival_records_push(&reading.records->rivals, reading.rival);
}

// ---- the document ---------------------------------------------------------------------

static egraph_status read_version(reader *r, void *record) {
  eg_plan_records *records = record;
  uint32_t version;
  records->has_version = true;
  EG_TRY(eg_json_fields_u32(r, 0, &version));
  if (version != 1)
    return eg_json_scan_fail(
        r->scan, "version %u is not known, 1 is; write the plan again", version);
  return EGRAPH_OK;
}

static egraph_status read_line(reader *r, void *record) {
  eg_text *graph = record;
  EG_TRY(eg_json_scan_text(r->scan, &r->scratch));
  eg_text_append_bytes(graph, r->scratch.data, r->scratch.len);
  return eg_text_append(graph, "\n");
}

NUMBER_FIELD(read_carried_output, eg_carried_record, output, 0)
TEXT_FIELD(read_carried_entry, eg_carried_record, entry)

static egraph_status read_carried_pair(reader *r, void *record) {
  static const eg_json_field fields[] = {{"output", true, read_carried_output},
                                         {"entry", true, read_carried_entry}};
  eg_plan_records *records = record;
  eg_carried_record pair = {.entry = NULL};
  EG_TRY(eg_json_fields_object(r, fields, COUNT(fields), &pair));
  return eg_carried_records_push(&records->carried, pair);
}

TEXT_FIELD(read_mesh, eg_plan_records, mesh)
NUMBER_FIELD(read_micro_batches, eg_plan_records, micro_batches, 1)
AMOUNT_FIELD(read_single, eg_plan_records, single_seconds)
AMOUNT_FIELD(read_peak, eg_plan_records, peak_seconds)
AMOUNT_FIELD(read_memory_limit, eg_plan_records, memory_limit)
ARRAY_FIELD(read_graph, eg_plan_records, read_line, graph)
ARRAY_FIELD(read_outputs, eg_plan_records, read_number_of_list, outputs)
ROWS_FIELD(read_states, read_state)
ROWS_FIELD(read_steps, read_step)
ROWS_FIELD(read_carried, read_carried_pair)
ROWS_FIELD(read_rivals, read_rival)

static egraph_status read_document(reader *r, eg_plan_records *records) {
  static const eg_json_field fields[] = {
      {"egraph-plan", true, read_version},
      {"mesh", true, read_mesh},
      {"micro_batches", true, read_micro_batches},
      {"graph", true, read_graph},
      {"states", true, read_states},
      {"steps", true, read_steps},
      {"outputs", true, read_outputs},
      {"carried", true, read_carried},
      {"baselines", false, read_rivals},
      {"single_device_seconds", false, read_single},
      {"peak_seconds", false, read_peak},
      {"memory_limit_bytes", false, read_memory_limit}};
  EG_TRY(eg_json_fields_object(r, fields, COUNT(fields), records));
  return eg_json_scan_end(r->scan);
}

// ---- files ----------------------------------------------------------------------------

EG_OWNER_DEFINE_STATIC(eg_plan_records, (eg_arena, arena), (eg_text, graph),
                       (eg_state_records, states), (eg_step_records, steps),
                       (eg_action_records, actions), (eg_carried_records, carried),
                       (eg_rival_records, rivals), (eg_reason_records, reasons),
                       (eg_u32s, numbers, outputs))

/// Reads an open file and closes it.
static egraph_status read_records(egraph_allocator alloc, eg_json_scan *scan,
                                  eg_plan_records *out) {
  reader r;
  out->file = scan->file.path;
  eg_json_fields_init(&r, alloc, scan, &out->arena);
  egraph_status status = eg_json_fields_tell(&r, read_document(&r, out));
  eg_json_fields_deinit(&r);
  if (status == EGRAPH_E_PARSE && !out->has_version)
    status = EG_FAIL(status,
                     "%s; is it a plan? egraph plan -o writes such files, which begin "
                     "with \"egraph-plan\"",
                     egraph_last_error());
  eg_json_scan_close(scan);
  return status;
}

static egraph_status read_plan(egraph_allocator alloc, eg_json_scan *scan,
                               eg_loaded_plan *out) {
  EG_LOCAL(eg_plan_records, records, alloc);
  EG_OWNED(eg_loaded_plan, loaded);
  EG_TRY(read_records(alloc, scan, &records));
  EG_TRY(eg_plan_records_build(&records, alloc, &loaded));
  *out = loaded;
  loaded = (eg_loaded_plan){.graph = NULL}; // moved
  return EGRAPH_OK;
}

egraph_status eg_plan_parse_json(egraph_allocator alloc, const char *file,
                                 const char *text, size_t size, eg_loaded_plan *out) {
  eg_json_scan scan;
  EG_TRY(eg_json_scan_open_bytes(&scan, alloc, file, text, size));
  scan.max_bytes = MAX_BYTES;
  return read_plan(alloc, &scan, out);
}

egraph_status eg_plan_read_json(egraph_allocator alloc, const char *path,
                                eg_loaded_plan *out) {
  eg_json_scan scan;
  EG_TRY(eg_json_scan_open(&scan, alloc, path, MAX_BYTES));
  return read_plan(alloc, &scan, out);
}

void eg_loaded_plan_deinit(eg_loaded_plan *loaded) {
  eg_plan_deinit(&loaded->plan);
  eg_graph_destroy(loaded->graph);
  loaded->graph = NULL;
}
