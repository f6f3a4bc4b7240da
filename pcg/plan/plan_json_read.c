// Syntax only: keys may stand in any order, so names are looked up when all is read.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "base/json_fields.h"
#include "pcg/plan/plan_records.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const uint64_t MAX_BYTES = UINT64_C(1) << 30;

typedef eg_json_fields_reader reader; // of one file

typedef struct step_reading {
  eg_plan_records *records;
  eg_step_record step;
} step_reading;

// A reading function per key: the record, and where in it the value goes.
#define TEXT_FIELD(function, type, member)                                               \
  static egraph_status function(reader *r, void *record) {                               \
    type *mine = record;                                                                 \
    return eg_json_fields_text(r, &mine->member);                                        \
  }
#define NUMBER_FIELD(function, type, member, least)                                      \
  static egraph_status function(reader *r, void *record) {                               \
    type *mine = record;                                                                 \
    return eg_json_fields_u32(r, least, &mine->member);                                  \
  }
#define AMOUNT_FIELD(function, type, member)                                             \
  static egraph_status function(reader *r, void *record) {                               \
    type *mine = record;                                                                 \
    return eg_json_fields_amount(r, &mine->member);                                      \
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

TEXT_FIELD(read_phase, step_reading, step.phase)
TEXT_FIELD(read_node, step_reading, step.node)
TEXT_FIELD(read_move, step_reading, step.move)
TEXT_FIELD(read_axis, step_reading, step.axis)
TEXT_FIELD(read_basis, step_reading, step.basis)
NUMBER_FIELD(read_from, step_reading, step.from, 0)
NUMBER_FIELD(read_to, step_reading, step.to, 0)
AMOUNT_FIELD(read_bytes, step_reading, step.bytes)
AMOUNT_FIELD(read_seconds, step_reading, step.seconds)

static egraph_status read_number(reader *r, void *record) {
  uint32_t number;
  EG_TRY(eg_json_fields_u32(r, 0, &number));
  return eg_u32s_push(record, number);
}

static egraph_status read_numbers(reader *r, eg_u32s *numbers, uint32_t *out_first,
                                  uint32_t *out_count) {
  *out_first = (uint32_t)numbers->len;
  EG_TRY(eg_json_fields_array(r, read_number, numbers));
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

/// Keys are names of axes, which only the mesh knows.
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
  EG_TRY(eg_text_append_bytes(graph, r->scratch.data, r->scratch.len));
  return eg_text_append(graph, "\n");
}

static egraph_status read_graph(reader *r, void *record) {
  eg_plan_records *records = record;
  return eg_json_fields_array(r, read_line, &records->graph);
}

NUMBER_FIELD(read_carried_output, eg_carried_record, output, 0)
TEXT_FIELD(read_carried_entry, eg_carried_record, entry)

static egraph_status read_pair(reader *r, void *record) {
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

static egraph_status read_states(reader *r, void *record) {
  return eg_json_fields_array(r, read_state, record);
}

static egraph_status read_steps(reader *r, void *record) {
  return eg_json_fields_array(r, read_step, record);
}

static egraph_status read_outputs(reader *r, void *record) {
  eg_plan_records *records = record;
  return eg_json_fields_array(r, read_number, &records->outputs);
}

static egraph_status read_carried(reader *r, void *record) {
  return eg_json_fields_array(r, read_pair, record);
}

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
      {"baselines", false, eg_plan_records_read_rivals},
      {"single_device_seconds", false, read_single},
      {"peak_seconds", false, read_peak},
      {"memory_limit_bytes", false, read_memory_limit}};
  EG_TRY(eg_json_fields_object(r, fields, COUNT(fields), records));
  return eg_json_scan_end(r->scan);
}

// ---- files ----------------------------------------------------------------------------

static void records_init(eg_plan_records *records, egraph_allocator alloc,
                         const char *file) {
  *records = (eg_plan_records){.file = file};
  eg_arena_init(&records->arena, alloc);
  eg_text_init(&records->graph, alloc);
  eg_state_records_init(&records->states, alloc);
  eg_step_records_init(&records->steps, alloc);
  eg_action_records_init(&records->actions, alloc);
  eg_carried_records_init(&records->carried, alloc);
  eg_rival_records_init(&records->rivals, alloc);
  eg_reason_records_init(&records->reasons, alloc);
  eg_u32s_init(&records->numbers, alloc);
  eg_u32s_init(&records->outputs, alloc);
}

static void records_deinit(eg_plan_records *records) {
  eg_arena_deinit(&records->arena);
  eg_text_deinit(&records->graph);
  eg_state_records_deinit(&records->states);
  eg_step_records_deinit(&records->steps);
  eg_action_records_deinit(&records->actions);
  eg_carried_records_deinit(&records->carried);
  eg_rival_records_deinit(&records->rivals);
  eg_reason_records_deinit(&records->reasons);
  eg_u32s_deinit(&records->numbers);
  eg_u32s_deinit(&records->outputs);
}

/// Reads an open file and closes it.
static egraph_status read_scan(egraph_allocator alloc, eg_json_scan *scan,
                               eg_loaded_plan *out) {
  eg_plan_records records;
  reader r;
  records_init(&records, alloc, scan->file.path);
  eg_json_fields_init(&r, alloc, scan, &records.arena);
  egraph_status status = eg_json_fields_tell(&r, read_document(&r, &records));
  if (status == EGRAPH_E_PARSE && !records.has_version)
    status = EG_FAIL(status,
                     "%s; is it a plan? egraph plan -o writes such files, which begin "
                     "with \"egraph-plan\"",
                     egraph_last_error());
  eg_json_fields_deinit(&r);
  eg_json_scan_close(scan);
  if (status == EGRAPH_OK) {
    eg_loaded_plan loaded;
    status = eg_plan_records_build(&records, alloc, &loaded);
    if (status == EGRAPH_OK)
      *out = loaded;
    else
      eg_loaded_plan_deinit(&loaded);
  }
  records_deinit(&records);
  return status;
}

egraph_status eg_plan_parse_json(egraph_allocator alloc, const char *file,
                                 const char *text, size_t size, eg_loaded_plan *out) {
  eg_json_scan scan;
  EG_TRY(eg_json_scan_open_bytes(&scan, alloc, file, text, size));
  scan.max_bytes = MAX_BYTES;
  return read_scan(alloc, &scan, out);
}

egraph_status eg_plan_read_json(egraph_allocator alloc, const char *path,
                                eg_loaded_plan *out) {
  eg_json_scan scan;
  EG_TRY(eg_json_scan_open(&scan, alloc, path, MAX_BYTES));
  return read_scan(alloc, &scan, out);
}

void eg_loaded_plan_deinit(eg_loaded_plan *loaded) {
  eg_plan_deinit(&loaded->plan);
  eg_graph_destroy(loaded->graph);
  loaded->graph = NULL;
}
