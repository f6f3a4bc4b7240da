// SPDX-License-Identifier: Apache-2.0
#include "baselines/stages/stage_report.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "sim/pipeline/pipeline.h"

EG_VEC_DEFINE(messages, eg_pipeline_message);

// ---- one pipeline ---------------------------------------------------------------------

typedef struct run {
  const eg_stage_planner *planner;
  const eg_pipeline_choice *choice;
  uint32_t parts, micro_batches;
  eg_pipeline_schedule schedule;
  eg_u32s peaks;                // [stages]
  eg_doubles forward, backward; // [parts]
  // [stages] together: seconds of a micro-batch in all chunks, with its share of
  // the update
  eg_doubles update, together, bytes;
  messages activations, gradients; // [parts - 1]
} run;
EG_OWNER_DEFINE_STATIC(run, (eg_pipeline_schedule, schedule), (eg_u32s, peaks),
                       (eg_doubles, forward, backward, update, together, bytes),
                       (messages, activations, gradients))

/// True when two stages in sequence are in one node; stages take devices in order.
static bool are_near(const run *r, uint32_t stage, uint32_t next) {
  uint32_t before = 0, width = r->planner->shape.width;
  uint32_t low = stage < next ? stage : next, high = stage < next ? next : stage;
  const eg_stage_place *places = r->choice->places;
  for (uint32_t s = 0; s < low; s++)
    before += eg_stage_devices(&places[s]);
  uint32_t end = before;
  for (uint32_t s = low; s <= high; s++)
    end += eg_stage_devices(&places[s]);
  return before / width == (end - 1) / width;
}

/// Returns a message over the link between two stages, in seconds of a port: devices send
/// their shares of the message at the same time, and may share ports.
static eg_pipeline_message message_of(const run *r, uint32_t from, uint32_t to,
                                      double bytes) {
  const eg_machine *machine = r->planner->call->context.machine;
  if (machine->axis_count == 0) return (eg_pipeline_message){0, 0};
  uint32_t inner = machine->axis_count - 1;
  const eg_machine_link *link =
      &machine->links[machine->axes[are_near(r, from, to) ? inner : 0].link];
  uint32_t devices = eg_stage_devices(&r->choice->places[from]),
           sharers = link->sharers < devices ? link->sharers : devices;
  return (eg_pipeline_message){link->latency_seconds,
                               bytes * link->seconds_per_byte * sharers};
}

/// Returns the bytes that cross a boundary between parts: the sender's own values, and an
/// even share of the values that it forwards.
static double boundary_bytes(const run *r, double own, double whole, uint32_t part,
                             uint32_t sender) {
  double crossing = eg_layered_crossing_bytes(r->planner->layered, r->choice->last[part]);
  return own + fmax(crossing - whole, 0) / eg_stage_devices(&r->choice->places[sender]);
}

static egraph_status list_messages(run *r) {
  uint32_t stages = r->choice->stages;
  for (uint32_t part = 0; part + 1 < r->parts; part++) {
    const eg_stage_plan *here = &r->choice->plans[part], *next = here + 1;
    uint32_t from = part % stages, to = (part + 1) % stages;
    EG_TRY(messages_push(
        &r->activations,
        message_of(r, from, to,
                   boundary_bytes(r, here->sent_bytes, here->sent_whole, part, from))));
    EG_TRY(messages_push(&r->gradients,
                         message_of(r, to, from,
                                    boundary_bytes(r, next->returned_bytes,
                                                   next->returned_whole, part, to))));
  }
  return EGRAPH_OK;
}

/// Adds up seconds and bytes of a stage: devices hold all its chunks, and any chunk may
/// be in flight.
static egraph_status add_up_stage(run *r, uint32_t stage) {
  double update = 0, fixed = 0, flight = 0, together = 0;
  for (uint32_t part = stage; part < r->parts; part += r->choice->stages) {
    const eg_stage_plan *plan = &r->choice->plans[part];
    update += plan->update;
    fixed += plan->fixed_bytes;
    flight = fmax(flight, plan->flight_bytes);
    together += plan->forward + plan->backward + plan->update / r->micro_batches;
  }
  EG_TRY(eg_doubles_push(&r->update, update));
  EG_TRY(eg_doubles_push(&r->together, together));
  return eg_doubles_push(&r->bytes, fixed + r->peaks.data[stage] * flight);
}

static egraph_status simulate_row(run *r, eg_staged_row *row) {
  eg_pipeline_times times;
  EG_TRY(eg_pipeline_schedule_make(r->choice->schedule, r->choice->stages,
                                   r->choice->chunks, r->micro_batches, &r->schedule));
  EG_TRY(eg_u32s_resize(&r->peaks, r->choice->stages));
  EG_TRY(eg_pipeline_schedule_check(&r->schedule, r->planner->call->request->alloc,
                                    r->peaks.data));
  for (uint32_t part = 0; part < r->parts; part++) {
    EG_TRY(eg_doubles_push(&r->forward, r->choice->plans[part].forward));
    EG_TRY(eg_doubles_push(&r->backward, r->choice->plans[part].backward));
  }
  for (uint32_t s = 0; s < r->choice->stages; s++)
    EG_TRY(add_up_stage(r, s));
  EG_TRY(list_messages(r));
  const eg_pipeline pipeline = {.schedule = &r->schedule,
                                .forward = r->forward.data,
                                .backward = r->backward.data,
                                .update = r->update.data,
                                .activations = r->activations.data,
                                .gradients = r->gradients.data,
                                .port_bytes = 1}; // messages are in seconds of a port
  EG_TRY(eg_pipeline_simulate(&pipeline, r->planner->call->request->alloc, &times));
  row->seconds = times.seconds;
  row->busiest = times.busiest;
  return EGRAPH_OK;
}

/// Fills a row (a pipeline) by Alpa's formula. If stages have chunks, a micro-batch
/// passes a stage in the time of one chunk.
static void judge_row(const run *r, eg_staged_row *row) {
  double sum = 0, longest = 0, chunks = r->choice->chunks;
  for (uint32_t s = 0; s < r->choice->stages; s++) {
    sum += r->together.data[s] / chunks;
    longest = fmax(longest, r->together.data[s]);
    row->bytes = fmax(row->bytes, r->bytes.data[s]);
  }
  row->formula = sum + (r->micro_batches - 1 / chunks) * longest;
  row->excess = fmax(row->bytes - r->planner->call->budget.memory, 0);
}

static bool is_better_row(const eg_staged_row *a, const eg_staged_row *b) {
  bool a_fits = a->excess <= 0, b_fits = b->excess <= 0;
  if (a_fits != b_fits) return a_fits;
  return a_fits ? a->seconds < b->seconds : a->excess < b->excess;
}

static egraph_status take_best(eg_staged *staged, const run *r) {
  const eg_pipeline_choice *choice = r->choice;
  staged->best = (uint32_t)staged->rows.len - 1;
  staged->schedule = choice->schedule;
  staged->chunks = choice->chunks;
  staged->stages.len = 0;
  for (uint32_t s = 0; s < choice->stages; s++) {
    uint32_t final = r->parts - choice->stages + s;
    eg_staged_stage stage = {.first = s == 0 ? 0 : choice->last[s - 1] + 1,
                             .last = choice->last[final],
                             .place = choice->places[s],
                             .update = r->update.data[s],
                             .in_flight = r->peaks.data[s],
                             .bytes = r->bytes.data[s]};
    for (uint32_t part = s; part < r->parts; part += choice->stages) {
      stage.forward += choice->plans[part].forward;
      stage.backward += choice->plans[part].backward;
    }
    EG_TRY(eg_staged_stages_push(&staged->stages, stage));
  }
  return EGRAPH_OK;
}

egraph_status eg_staged_add(eg_staged *staged, const eg_stage_planner *planner,
                            const eg_pipeline_choice *choice) {
  assert(choice->stages != 0 && choice->chunks != 0);
  eg_staged_row row = {.is_possible = true};
  EG_LOCAL_WITH(run, r, planner->call->request->alloc, .planner = planner,
                .choice = choice, .parts = choice->stages * choice->chunks,
                .micro_batches = planner->call->training->micro_batches);
  memcpy(row.name, choice->name, sizeof row.name);
  for (uint32_t part = 0; part < r.parts; part++) {
    row.is_possible = row.is_possible && choice->plans[part].has_plan;
    row.is_proven = row.is_proven || choice->plans[part].is_proven;
  }
  if (!row.is_possible) return eg_staged_rows_push(&staged->rows, row);
  EG_TRY(simulate_row(&r, &row));
  judge_row(&r, &row);
  EG_TRY(eg_staged_rows_push(&staged->rows, row));
  bool is_best =
      staged->best == UINT32_MAX || is_better_row(&row, &staged->rows.data[staged->best]);
  return is_best ? take_best(staged, &r) : EGRAPH_OK;
}

void eg_staged_note(eg_staged *staged, const eg_stage_planner *planner) {
  staged->memory_limit = planner->call->budget.memory;
  staged->layers = eg_layered_count(planner->layered);
  staged->micro_batches = planner->call->training->micro_batches;
  staged->devices = planner->shape.nodes * planner->shape.width;
  staged->asked = planner->asked;
  staged->planned = (uint32_t)planner->plans.len;
  staged->is_cancelled = planner->is_cancelled;
  for (size_t i = 0; i < planner->plans.len; i++) {
    const eg_stage_plan *plan = &planner->plans.data[i];
    staged->was_limited = staged->was_limited || (!plan->has_plan && !plan->is_proven);
  }
}

// ---- text -----------------------------------------------------------------------------

static void print_staged_row(eg_text *text, const eg_staged *staged,
                             const eg_staged_row *row) {
  if (!row->is_possible) {
    eg_text_printf(text, "%-28s  %s\n", row->name,
                   row->is_proven ? "its operators cannot be split so"
                                  : "no plan of a stage was found within the limits");
    return;
  }
  eg_text_printf(text, "%-28s  %9.4g s simulated  %9.4g s %s  %7.2f GB", row->name,
                 row->seconds, row->formula,
                 staged->layers != 0 ? "formula" : "on one device", row->bytes / 1e9);
  if (row->excess > 0) eg_text_printf(text, "  too large by %.2f GB", row->excess / 1e9);
  eg_text_append(text, "\n");
}

static void print_stages(eg_text *text, const eg_staged *staged) {
  bool has_layers = staged->layers != 0;
  eg_text_printf(text,
                 "\n%s  devices  forward s  backward s   update s  in flight  "
                 "memory GB\n",
                 has_layers ? "stage  layers " : "device        ");
  for (uint32_t s = 0; s < staged->stages.len; s++) {
    const eg_staged_stage *stage = &staged->stages.data[s];
    char layers[32] = "";
    if (has_layers)
      (void)snprintf(layers, sizeof layers, "%" PRIu32 "..%" PRIu32, stage->first,
                     stage->last);
    eg_text_printf(text,
                   "%5" PRIu32 "  %-7s  %7" PRIu32 "  %9.4g  %10.4g  %9.4g  %9" PRIu32
                   "  %9.2f\n",
                   s, layers, eg_stage_devices(&stage->place), stage->forward,
                   stage->backward, stage->update, stage->in_flight, stage->bytes / 1e9);
  }
  if (!has_layers && staged->stages.len < staged->devices)
    eg_text_printf(text, "and %zu more devices\n", staged->devices - staged->stages.len);
}

egraph_status eg_staged_print(eg_text *text, const eg_staged *staged, bool all) {
  eg_text_printf(text, "%s: %" PRIu32 " micro-batches, %" PRIu32 " devices",
                 staged->algorithm, staged->micro_batches, staged->devices);
  if (staged->layers != 0)
    eg_text_printf(text,
                   ", %" PRIu32 " layers; %" PRIu32 " stages wanted, %" PRIu32 " planned",
                   staged->layers, staged->asked, staged->planned);
  eg_text_printf(text, "; %.1f s%s\n", staged->search_seconds,
                 staged->is_cancelled ? "; cancelled" : "");
  if (staged->best == UINT32_MAX) {
    eg_text_append(
        text, staged->was_limited
                  ? "no pipeline was found: limits ended the search for plans of some "
                    "stages; raise --work and --time-limit\n"
                  : "no pipeline is possible: a stage has no plan on any part of the "
                    "machine; raise the limit of memory, or take a smaller batch of the "
                    "model\n");
  } else {
    print_staged_row(text, staged, &staged->rows.data[staged->best]);
    print_stages(text, staged);
  }
  if (all) eg_text_append(text, "\n");
  for (size_t i = 0; all && i < staged->rows.len; i++)
    print_staged_row(text, staged, &staged->rows.data[i]);
  return eg_text_status(text);
}

static void write_number(eg_text *text, const char *name, double value) {
  eg_text_printf(text, ", \"%s\": ", name);
  eg_text_double(text, value);
}

static void write_staged_row(eg_text *text, const eg_staged_row *row) {
  eg_text_printf(text, "{\"name\": \"%s\"", row->name);
  if (row->is_possible) {
    write_number(text, "formula_seconds", row->formula);
    write_number(text, "seconds", row->seconds);
    write_number(text, "memory_bytes", row->bytes);
    write_number(text, "excess_bytes", row->excess);
  }
  eg_text_append(text, "}");
}

static void write_stage(eg_text *text, const eg_staged_stage *stage) {
  eg_text_printf(text,
                 "{\"first_layer\": %" PRIu32 ", \"last_layer\": %" PRIu32
                 ", \"nodes\": %" PRIu32 ", \"devices\": %" PRIu32
                 ", \"in_flight\": %" PRIu32,
                 stage->first, stage->last, stage->place.nodes,
                 eg_stage_devices(&stage->place), stage->in_flight);
  write_number(text, "forward_seconds", stage->forward);
  write_number(text, "backward_seconds", stage->backward);
  write_number(text, "update_seconds", stage->update);
  write_number(text, "memory_bytes", stage->bytes);
  eg_text_append(text, "}");
}

egraph_status eg_staged_write_json(eg_text *text, const eg_staged *staged) {
  eg_text_printf(text,
                 "{\"algorithm\": \"%s\", \"micro_batches\": %" PRIu32
                 ", \"layers\": %" PRIu32 ", \"planned\": %" PRIu32 ", \"rows\": [",
                 staged->algorithm, staged->micro_batches, staged->layers,
                 staged->planned);
  for (size_t i = 0; i < staged->rows.len; i++) {
    if (i != 0) eg_text_append(text, ", ");
    write_staged_row(text, &staged->rows.data[i]);
  }
  eg_text_append(text, "]");
  if (staged->best == UINT32_MAX) return eg_text_append(text, "}");
  eg_text_printf(text,
                 ", \"best\": %" PRIu32 ", \"schedule\": \"%s\", \"chunks\": %" PRIu32
                 ", \"stages\": [",
                 staged->best, eg_pipeline_schedule_name(staged->schedule),
                 staged->chunks);
  for (size_t s = 0; s < staged->stages.len; s++) {
    if (s != 0) eg_text_append(text, ", ");
    write_stage(text, &staged->stages.data[s]);
  }
  return eg_text_append(text, "]}");
}
