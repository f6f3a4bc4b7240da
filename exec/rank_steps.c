// Describes the steps of a plan on a rank: states and their lifetimes, carried values,
// the local part of each node; also which exchanges run while the rank computes, which
// steps wait for them, and which memory exchanges lend to other ranks.
// SPDX-License-Identifier: Apache-2.0
#include "exec/rank_program_internal.h"

#include <assert.h>

// ---- states -----------------------------------------------------------------------

/// Finds the state (layout) in which a value enters the plan; EG_PLAN_NONE: unused.
static uint32_t find_entry(const eg_rank_program *p, uint32_t value) {
  for (uint32_t s = 0; s < p->plan->states.len; s++)
    if (p->plan->states.data[s].value.id == value &&
        p->plan->states.data[s].step == EG_PLAN_NONE)
      return s;
  return EG_PLAN_NONE;
}

static bool makes_update(const eg_rank_program *p, uint32_t state) {
  uint32_t step = p->given->states.data[state].step;
  return p->given->steps.data[step].phase == EG_PHASE_UPDATE;
}

/// Notes that an output becomes an input of the next step or micro-batch; does nothing
/// when both are the same state (value and layout).
static egraph_status add_carry(eg_rank_program *p, uint32_t output, uint32_t value) {
  assert(output < p->plan->output_states.len);
  eg_rank_carry carry = {.entry = find_entry(p, value),
                         .exit = p->plan->output_states.data[output]};
  if (carry.entry == EG_PLAN_NONE) return EGRAPH_OK;
  p->states[carry.entry].is_carried = true;
  if (carry.entry == carry.exit) return EGRAPH_OK;
  if (p->plan->states.data[carry.exit].step == EG_PLAN_NONE)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "'%s' becomes another input as it is",
                   eg_rank_value(p, carry.entry)->name);
  carry.is_summed = !makes_update(p, carry.exit);
  p->states[carry.exit].carry = carry.entry;
  return eg_rank_carries_push(&p->carries, carry);
}

static egraph_status find_carries(eg_rank_program *p) {
  const eg_u32s *carried = &p->plan->carried;
  for (size_t i = 0; i + 1 < carried->len; i += 2)
    EG_TRY(add_carry(p, carried->data[i], carried->data[i + 1]));
  return EGRAPH_OK;
}

static egraph_status make_states(eg_rank_program *p) {
  const eg_plan *plan = p->plan;
  EG_TRY(eg_alloc(p->alloc, plan->states.len, sizeof *p->states, &p->states));
  for (uint32_t s = 0; s < plan->states.len; s++)
    p->states[s] =
        (eg_rank_state){.type = eg_sharding_local(&plan->mesh, &eg_rank_value(p, s)->type,
                                                  &plan->states.data[s].layout),
                        .region = EG_REGION_NONE,
                        .carry = EG_PLAN_NONE};
  return EGRAPH_OK;
}

/// Finds the states (value and layout) in which inputs enter; EG_PLAN_NONE: the input is
/// unused, or passes from step to step.
static egraph_status find_inputs(eg_rank_program *p) {
  uint32_t count = eg_graph_input_count(p->plan->graph);
  EG_TRY(eg_arena_alloc(&p->arena, count, sizeof *p->inputs, &p->inputs));
  for (uint32_t i = 0; i < count; i++) {
    uint32_t entry = find_entry(p, eg_graph_input(p->plan->graph, i).id);
    bool is_read = entry != EG_PLAN_NONE && !p->states[entry].is_carried;
    p->inputs[i] = is_read ? entry : EG_PLAN_NONE;
  }
  return EGRAPH_OK;
}

static egraph_status add_regions(eg_rank_program *p, const bool *is_ahead) {
  for (uint32_t s = 0; s < p->plan->states.len; s++) {
    uint32_t step = p->plan->states.data[s].step;
    uint32_t time = step == EG_PLAN_NONE ? 0 : step + 1;
    if (is_ahead[s]) continue;
    p->states[s].region = (uint32_t)p->regions.len;
    EG_TRY(eg_regions_add(&p->regions, eg_type_bytes(&p->states[s].type), time, time));
  }
  return EGRAPH_OK;
}

// ---- lifetimes --------------------------------------------------------------------

static void use_until(eg_rank_program *p, uint32_t state, uint32_t time) {
  assert(state < p->plan->states.len);
  uint32_t region = p->states[state].region;
  if (region != EG_REGION_NONE && p->regions.data[region].last < time)
    p->regions.data[region].last = time;
}

static void set_last_uses(eg_rank_program *p) {
  const eg_plan *plan = p->plan;
  for (uint32_t i = 0; i < p->steps.len; i++)
    for (uint32_t k = 0; k < p->steps.data[i].operand_count; k++)
      use_until(p, p->steps.data[i].operands[k], i + 1);
  for (uint32_t i = 0; i < plan->output_states.len; i++) {
    use_until(p, plan->output_states.data[i], eg_rank_end(p));
    p->states[plan->output_states.data[i]].is_kept = true;
  }
}

// ---- steps --------------------------------------------------------------------------

/// Lists the operands and results of each step as states (value and layout). A change of
/// layout whose result exists before the run does nothing.
static egraph_status list_states(eg_rank_program *p, const bool *is_ahead) {
  const eg_plan *plan = p->plan;
  EG_TRY(eg_rank_steps_resize(&p->steps, plan->steps.len));
  for (uint32_t i = 0; i < p->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    eg_rank_step out = {.operands = &step->from,
                        .results = &step->to,
                        .operand_count = step->is_move && !is_ahead[step->to],
                        .result_count = 1,
                        .is_view = step->is_move && is_ahead[step->to],
                        .scratch_region = EG_REGION_NONE,
                        .until = EG_PLAN_NONE,
                        .awaits = EG_PLAN_NONE,
                        .figures.node = {UINT32_MAX}};
    if (!step->is_move) {
      eg_graph_node_info info = eg_graph_node_at(plan->graph, step->node);
      out.operand_count = info.input_count;
      out.result_count = info.result_count;
      out.operands = plan->operands.data + step->operands;
      out.results = out.operands + info.input_count;
      out.figures.node = step->node;
    }
    out.is_update = makes_update(p, out.results[0]);
    p->steps.data[i] = out;
  }
  return EGRAPH_OK;
}

static egraph_status describe_node(eg_rank_program *p, uint32_t index, eg_arena *scratch,
                                   eg_rank_part *out) {
  assert(!p->plan->steps.data[index].is_move);
  const eg_mesh *mesh = &p->plan->mesh;
  const eg_spread *spread;
  const eg_strategy *strategy;
  EG_TRY(
      eg_plan_spread(p->plan, &p->plan->steps.data[index], scratch, &spread, &strategy));
  out->halo_count = eg_spread_halos(spread, mesh, strategy, out->halos);
  return eg_spread_local(spread, mesh, strategy, eg_rank_number(p), &p->part_arena,
                         &out->spec);
}

/// Replaces neighbours' rows (a halo) around an operand by strips, which recompute
/// the border rows. On a device halos are copied: there copies are fast and launches
/// are slow.
static egraph_status cut_strips(eg_rank_program *p, eg_rank_part *part) {
  if (part->halo_count != 1 || !p->backend->vtable->host_memory) return EGRAPH_OK;
  uint32_t axis = part->halos[0].axis;
  uint32_t place = eg_mesh_coordinate(&p->plan->mesh, eg_rank_number(p), axis);
  EG_TRY(eg_strips_of(&part->spec, &part->halos[0], place != 0,
                      place + 1 != p->plan->mesh.axes[axis].size, &p->part_arena,
                      &part->strips));
  if (part->strips.is_used) part->spec = part->strips.whole;
  return EGRAPH_OK;
}

static egraph_status describe_step(eg_rank_program *p, uint32_t index,
                                   eg_arena *scratch) {
  static const eg_attrs identity = {.op = EG_OP_IDENTITY};
  const eg_plan_step *from = &p->plan->steps.data[index];
  const eg_rank_step *step = &p->steps.data[index];
  eg_rank_part *part = &p->parts[index];
  if (!from->is_move)
    EG_TRY(describe_node(p, index, scratch, part));
  else if (from->transition.kind == EG_TRANSITION_REORDER)
    part->spec = (eg_node_spec){.attrs = &identity,
                                .inputs = &p->states[from->from].type,
                                .input_count = 1,
                                .results = &p->states[from->to].type,
                                .result_count = 1};
  for (uint32_t i = part->halo_count != 0; i < part->spec.input_count; i++)
    if (p->states[step->operands[i]].region == EG_REGION_NONE)
      part->spec.weight_mask |= eg_operand_bit(i);
  return cut_strips(p, part);
}

static egraph_status describe_steps(eg_rank_program *p) {
  EG_LOCAL(eg_arena, scratch, p->alloc); // for one step at a time
  EG_TRY(eg_arena_alloc(&p->part_arena, p->steps.len, sizeof *p->parts, &p->parts));
  for (uint32_t i = 0; i < p->steps.len; i++) {
    egraph_status status = describe_step(p, i, &scratch);
    if (status != EGRAPH_OK) return eg_rank_blame(p, i, status);
    eg_arena_clear(&scratch);
  }
  return EGRAPH_OK;
}

static egraph_status list_all(eg_rank_program *p) {
  bool *is_ahead;
  size_t count = p->plan->states.len;
  EG_TRY(eg_alloc(p->alloc, count, sizeof *is_ahead, &is_ahead));
  egraph_status status = eg_plan_ahead(p->plan, p->alloc, is_ahead);
  if (status == EGRAPH_OK) status = list_states(p, is_ahead);
  if (status == EGRAPH_OK) status = add_regions(p, is_ahead);
  eg_free(p->alloc, is_ahead, count, sizeof *is_ahead);
  return status;
}

// ---- exchanges during computing -----------------------------------------------------

// An exchange overlaps when a step computes between the exchange and its first reader.
// The memory of the exchange is then not reused until that reader runs, or for the
// seconds that the plan predicts, if these end earlier. Waits are found after memory is
// placed, from the bytes of the arena that a step reads and writes, so that shared memory
// is noticed:
//
//   step            reads     writes
//   exchange s      [0,4)     [4,8)      started
//   kernel a        [8,12)    [12,16)
//   kernel b        [4,8)     [16,20)    awaits s: it reads the result
//   kernel c        [16,20)   [0,4)      would await s: it writes over what s reads
//
// Exchanges run one after the other. Therefore an exchange waits for no other, and a step
// that has waited for one exchange has waited for all exchanges started before it.

// ---- which exchanges overlap --------------------------------------------------------

static bool reads(const eg_rank_step *step, uint32_t state) {
  for (uint32_t i = 0; i < step->operand_count; i++)
    if (step->operands[i] == state) return true;
  return false;
}

/// Decides whether an exchange overlaps with computing. Local changes of layout and views
/// count as readers of its result.
static void find_overlap(eg_rank_program *p, uint32_t index) {
  assert(index < p->steps.len && p->steps.data[index].result_count == 1);
  eg_rank_step *step = &p->steps.data[index];
  uint32_t end = index < p->body ? p->body : (uint32_t)p->steps.len, at = index + 1;
  bool computes = false;
  while (at < end && !reads(&p->steps.data[at], step->results[0])) {
    computes = computes || eg_plan_step_computes(&p->plan->steps.data[at]);
    at++;
  }
  step->overlaps = computes;
  if (computes) step->until = at;
}

/// The times at which steps begin and exchanges end, by the seconds of the plan:
/// computing waits for its operands, exchanges wait for each other.
typedef struct schedule {
  double *begins, *ends; // [steps]
  double clock, lane;    // times at which computing and the lane are free
} schedule;

static void wait_for_operands(const eg_rank_program *p, const eg_rank_step *step,
                              schedule *s) {
  assert(p->lane != NULL);
  for (uint32_t i = 0; i < step->operand_count; i++) {
    uint32_t by = p->plan->states.data[step->operands[i]].step;
    if (by != EG_PLAN_NONE && p->steps.data[by].overlaps && s->clock < s->ends[by])
      s->clock = s->ends[by];
  }
}

static void schedule_step(const eg_rank_program *p, uint32_t index, schedule *s) {
  const eg_rank_step *step = &p->steps.data[index];
  double seconds = p->plan->steps.data[index].seconds;
  s->begins[index] = s->clock;
  if (step->overlaps) {
    s->lane = (s->lane > s->clock ? s->lane : s->clock) + seconds;
    s->ends[index] = s->lane;
    return;
  }
  wait_for_operands(p, step, s);
  bool exchanges = eg_plan_step_is_exchange(&p->plan->steps.data[index]);
  if (exchanges && s->clock < s->lane) s->clock = s->lane;
  s->clock += seconds;
  if (exchanges) s->lane = s->clock;
}

/// Lets other values reuse the memory of an exchange after its predicted time, as the
/// simulator does: a step that needs the memory waits if the exchange takes longer.
static void shorten(eg_rank_program *p, uint32_t index, const schedule *s) {
  assert(p->steps.data[index].overlaps);
  eg_rank_step *step = &p->steps.data[index];
  uint32_t at = index + 1;
  while (at < step->until && s->begins[at] < s->ends[index])
    at++;
  step->until = at;
}

static egraph_status find_overlaps(eg_rank_program *p) {
  schedule s = {.clock = 0};
  if (p->lane == NULL) return EGRAPH_OK;
  EG_TRY(eg_arena_alloc(&p->part_arena, p->steps.len, sizeof *s.begins, &s.begins));
  EG_TRY(eg_arena_alloc(&p->part_arena, p->steps.len, sizeof *s.ends, &s.ends));
  for (uint32_t i = 0; i < p->steps.len; i++) {
    const eg_plan_step *step = &p->plan->steps.data[i];
    if (eg_plan_step_is_exchange(step) && !p->steps.data[i].is_view) find_overlap(p, i);
    schedule_step(p, i, &s);
  }
  for (uint32_t i = 0; i < p->steps.len; i++)
    if (p->steps.data[i].overlaps) shorten(p, i, &s);
  return EGRAPH_OK;
}

// ---- which steps wait for them ------------------------------------------------------

static bool exchange_writes(eg_rank_program *p, const eg_rank_step *exchange,
                            eg_rank_span bytes) {
  return eg_rank_spans_meet(bytes, eg_rank_state_span(p, exchange->results[0])) ||
         eg_rank_spans_meet(bytes, eg_rank_scratch_span(p, exchange));
}

static bool exchange_uses(eg_rank_program *p, const eg_rank_step *exchange,
                          eg_rank_span bytes) {
  return exchange_writes(p, exchange, bytes) ||
         eg_rank_spans_meet(bytes, eg_rank_state_span(p, exchange->operands[0]));
}

static bool has_to_wait(eg_rank_program *p, const eg_rank_step *step,
                        const eg_rank_step *exchange) {
  for (uint32_t i = 0; i < step->operand_count; i++)
    if (exchange_writes(p, exchange, eg_rank_state_span(p, step->operands[i])))
      return true;
  for (uint32_t r = 0; r < step->result_count; r++)
    if (exchange_uses(p, exchange, eg_rank_state_span(p, step->results[r]))) return true;
  return exchange_uses(p, exchange, eg_rank_scratch_span(p, step));
}

/// Finds the exchange that a step must wait for. `started`: exchanges that may still run.
static void find_wait(eg_rank_program *p, eg_rank_step *step, eg_u32s *started) {
  size_t i = started->len;
  while (i > 0 && !has_to_wait(p, step, &p->steps.data[started->data[i - 1]]))
    i--;
  if (i == 0) return;
  step->awaits = started->data[i - 1];
  memmove(started->data, started->data + i, (started->len - i) * sizeof *started->data);
  started->len -= i;
}

egraph_status eg_rank_find_waits(eg_rank_program *p) {
  assert(p->lane != NULL);
  EG_LOCAL(eg_u32s, started, p->alloc);
  for (uint32_t i = 0; i < p->steps.len; i++) {
    eg_rank_step *step = &p->steps.data[i];
    if (i == p->body) started.len = 0; // all exchanges have ended
    if (step->overlaps)
      EG_TRY(eg_u32s_push(&started, i));
    else if (!step->is_view && started.len != 0)
      find_wait(p, step, &started);
  }
  return EGRAPH_OK;
}

// ---- loans --------------------------------------------------------------------------

// Loans: some steps wait until other ranks have read the memory that this rank lent
// (channel.h). A collective lends the memory that other ranks read: operand, scratch
// memory, and the result of an all-reduce. The loan ends where the next collective
// along its axis begins, or where the rank settles. The program settles before a step
// that would overwrite lent memory, and at the end of its last step: nothing is lent
// between calls.
//
//   step          writes          lent, in the arena
//   halo of a     scratch [0,4)   [0,4)
//   kernel b      [8,12)          [0,4)
//   kernel c      [2,8)           -               settles first

enum { OPERAND, RESULT, SCRATCH, SPANS };

typedef struct loan {
  eg_rank_span spans[SPANS];
} loan;

static bool is_lent(const loan loans[EG_MAX_MESH_AXES], eg_rank_span written) {
  for (uint32_t a = 0; a < EG_MAX_MESH_AXES; a++)
    for (uint32_t i = 0; i < SPANS; i++)
      if (eg_rank_spans_meet(loans[a].spans[i], written)) return true;
  return false;
}

static bool writes_over(eg_rank_program *p, const eg_rank_step *step,
                        const loan loans[EG_MAX_MESH_AXES]) {
  if (step->is_view) return false;
  for (uint32_t r = 0; r < step->result_count; r++)
    if (is_lent(loans, eg_rank_state_span(p, step->results[r]))) return true;
  return is_lent(loans, eg_rank_scratch_span(p, step));
}

/// Replaces the memory lent to other ranks along a mesh axis by the memory that this step
/// lends. Returns false when the step lends nothing.
static bool lend(eg_rank_program *p, const eg_rank_step *step,
                 loan loans[EG_MAX_MESH_AXES]) {
  eg_rank_span scratch = eg_rank_scratch_span(p, step);
  for (uint32_t h = 0; h < step->halo_count; h++)
    loans[step->halos[h].halo.axis] = (loan){.spans = {[SCRATCH] = scratch}};
  bool is_move = step->program == NULL && !step->is_view;
  const eg_transition *transition = &step->move.transition;
  if (!is_move || eg_transition_is_local(transition->kind)) return step->halo_count != 0;
  loans[transition->axis] =
      (loan){.spans = {[OPERAND] = eg_rank_state_span(p, step->operands[0]),
                       [RESULT] = eg_rank_state_span(p, step->results[0]),
                       [SCRATCH] = scratch}};
  return true;
}

void eg_rank_find_loans(eg_rank_program *p) {
  assert(p->plan->mesh.axis_count <= EG_MAX_MESH_AXES);
  loan loans[EG_MAX_MESH_AXES] = {0};
  for (uint32_t i = 0; i < p->steps.len; i++) {
    eg_rank_step *step = &p->steps.data[i];
    step->settles = writes_over(p, step, loans);
    // An exchange on the lane (the thread for exchanges) waits for readers when it runs,
    // and later steps may run before it; it lends nothing.
    if (step->overlaps) continue;
    if (step->settles) memset(loans, 0, sizeof loans);
    step->lends = lend(p, step, loans);
  }
}

// ---- all ----------------------------------------------------------------------------

egraph_status eg_rank_analyse(eg_rank_program *p) {
  while (p->body < p->plan->steps.len &&
         (p->lane != NULL || p->plan->steps.data[p->body].phase != EG_PHASE_UPDATE))
    p->body++;
  EG_TRY(make_states(p));
  EG_TRY(find_carries(p));
  EG_TRY(find_inputs(p));
  EG_TRY(list_all(p));
  set_last_uses(p);
  EG_TRY(find_overlaps(p));
  return describe_steps(p);
}
