// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_cost.h"

#include "base/owner.h"
#include "pcg/plan/step_scratch.h"

#define NEVER EG_PLAN_NONE

EG_NAME_DEFINE(eg_store, eg_store_name, EG_STORE_LIST)

const char *eg_store_words(eg_store store) {
#define STORE_WORDS(id, name, words) words,
  static const char *const WORDS[] = {EG_STORE_LIST(STORE_WORDS)};
#undef STORE_WORDS
  assert(store < EG_STORES);
  return WORDS[store];
}

// ---- uses of states -------------------------------------------------------------------

typedef struct state_use {
  uint32_t last;        // last step that uses the state, or NEVER
  uint32_t last_before; // last such step before UPDATE, or NEVER
  uint32_t entry;       // state that enters for this carried output, or NEVER
  bool is_output, is_carried;
} state_use;
EG_VEC_DEFINE(state_uses, state_use);

typedef struct life_finder {
  const eg_plan *plan;
  uint32_t end;    // last step
  state_uses uses; // [states]
  eg_u32s entry;   // [values] state without a step, or NEVER
  eg_u32s viewed;  // [states] whose storage the state has: another's if it is a view
  eg_lives *out;
} life_finder;
EG_OWNER_DEFINE_STATIC(life_finder, (state_uses, uses), (eg_u32s, entry, viewed))

static egraph_status find_uses(life_finder *f) {
  const eg_plan *plan = f->plan;
  const state_use unused = {.last = NEVER, .last_before = NEVER, .entry = NEVER};
  EG_TRY(state_uses_fill(&f->uses, plan->states.len, unused));
  EG_TRY(eg_u32s_fill(&f->entry, eg_graph_value_count(plan->graph), NEVER));
  for (uint32_t s = 0; s < plan->steps.len; s++) {
    const eg_plan_step *step = &plan->steps.data[s];
    for (uint32_t i = 0; i < eg_plan_step_operand_count(plan, step); i++) {
      state_use *use = state_uses_at(&f->uses, eg_plan_step_operand(plan, step, i));
      use->last = s;
      if (step->phase != EG_PHASE_UPDATE) use->last_before = s;
    }
  }
  for (uint32_t i = (uint32_t)plan->states.len; i-- > 0;)
    if (plan->states.data[i].step == EG_PLAN_NONE)
      f->entry.data[plan->states.data[i].value.id] = i;
  for (size_t i = 0; i < plan->output_states.len; i++)
    f->uses.data[plan->output_states.data[i]].is_output = true;
  for (size_t i = plan->carried.len / 2; i-- > 0;) {
    const uint32_t *pair = plan->carried.data + 2 * i;
    uint32_t entry = f->entry.data[pair[1]];
    if (entry == NEVER) continue;
    f->uses.data[entry].is_carried = true;
    f->uses.data[plan->output_states.data[pair[0]]].entry = entry;
  }
  return EGRAPH_OK;
}

static uint32_t later_of(uint32_t a, uint32_t b) {
  if (a == NEVER || b == NEVER) return a == NEVER ? b : a;
  return a > b ? a : b;
}

/// True when a step makes a view that needs no storage of its own. A state that UPDATE
/// reads may be a sum over micro-batches, and an output is handed over.
static bool makes_view(const life_finder *f, const eg_plan_step *step) {
  const eg_plan *plan = f->plan;
  if (step->is_move) return false;
  eg_graph_node_info info = eg_graph_node_at(plan->graph, step->node);
  if (!eg_op_keeps_order((eg_op)info.attrs->op) || info.input_count != 1) return false;
  uint32_t from = plan->operands.data[step->operands];
  uint32_t made = plan->operands.data[step->operands + 1];
  const eg_plan_state *a = &plan->states.data[from], *b = &plan->states.data[made];
  const state_use *use = &f->uses.data[made];
  bool crosses = step->phase != EG_PHASE_UPDATE && use->last != use->last_before;
  return !use->is_output && !crosses && a->more_blocks == b->more_blocks &&
         a->layout.format == EG_FORMAT_PLAIN && b->layout.format == EG_FORMAT_PLAIN &&
         eg_plan_state_bytes(plan, from) == eg_plan_state_bytes(plan, made);
}

/// Gives views the storage of their operands, which are used as long as the views are.
static egraph_status find_views(life_finder *f) {
  const eg_plan *plan = f->plan;
  EG_TRY(eg_u32s_fill(&f->viewed, plan->states.len, NEVER));
  for (uint32_t i = 0; i < plan->states.len; i++)
    f->viewed.data[i] = i;
  for (uint32_t s = 0; s < plan->steps.len; s++) {
    const eg_plan_step *step = &plan->steps.data[s];
    if (!makes_view(f, step)) continue;
    uint32_t made = plan->operands.data[step->operands + 1];
    uint32_t of = f->viewed.data[plan->operands.data[step->operands]];
    state_use *use = &f->uses.data[of];
    f->viewed.data[made] = of;
    use->last = later_of(use->last, f->uses.data[made].last);
    use->last_before = later_of(use->last_before, f->uses.data[made].last_before);
  }
  return EGRAPH_OK;
}

// ---- lives ----------------------------------------------------------------------------

static egraph_status add_life(life_finder *f, uint32_t state, eg_store store,
                              uint32_t from, uint32_t until) {
  assert(from <= until && until <= f->end);
  double blocks =
      store == EG_STORE_TRANSIENT ? 1 : 1.0 + f->plan->states.data[state].more_blocks;
  return eg_lives_push(f->out,
                       (eg_life){.state = state,
                                 .store = store,
                                 .from = from,
                                 .until = until,
                                 .bytes = blocks * eg_plan_state_bytes(f->plan, state)});
}

static eg_phase phase_of(const life_finder *f, uint32_t step) {
  return f->plan->steps.data[step].phase;
}

/// True when the step that makes a state may write it over its operand `operand`.
static bool writes_over(const eg_plan *plan, uint32_t state, uint32_t operand) {
  const eg_plan_step *step = &plan->steps.data[plan->states.data[state].step];
  if (step->is_move) return false;
  eg_graph_node_info info = eg_graph_node_at(plan->graph, step->node);
  uint32_t in_place = eg_op_in_place((eg_op)info.attrs->op), reads = 0, at = 0;
  const uint32_t *operands = plan->operands.data + step->operands;
  for (uint32_t i = 0; i < info.input_count; i++) {
    reads += operands[i] == operand;
    if (operands[i] == operand) at = i;
  }
  return reads == 1 && at < info.result_count && (in_place >> at & 1) != 0 &&
         operands[info.input_count + at] == state;
}

/// True when a state takes the storage of the input or weight that it becomes in the next
/// step or micro-batch: no step reads that value once the state is made.
static bool shares_storage(const life_finder *f, uint32_t state) {
  uint32_t entry = f->uses.data[state].entry, step = f->plan->states.data[state].step;
  if (entry == NEVER || f->uses.data[entry].is_output) return false;
  uint32_t last = f->uses.data[entry].last;
  return last == NEVER || last < step ||
         (last == step && writes_over(f->plan, state, entry));
}

/// Adds the times for which a device holds a state that is summed over micro-batches,
/// because UPDATE or an output needs it: of the sum, and of the last summand.
static egraph_status add_life_of_sum(life_finder *f, uint32_t state) {
  const state_use *use = &f->uses.data[state];
  uint32_t step = f->plan->states.data[state].step;
  uint32_t last = use->last_before == NEVER ? step : use->last_before;
  bool crosses = phase_of(f, last) != phase_of(f, step);
  EG_TRY(add_life(f, state, crosses ? EG_STORE_STASH : EG_STORE_TRANSIENT, step, last));
  return use->is_output ? add_life(f, state, EG_STORE_OUTPUT, 0, f->end)
                        : add_life(f, state, EG_STORE_ACCUMULATOR, 0, use->last);
}

static egraph_status add_life_once(life_finder *f, uint32_t state) {
  const state_use *use = &f->uses.data[state];
  uint32_t step = f->plan->states.data[state].step;
  uint32_t last = use->last == NEVER ? step : use->last;
  eg_phase made = phase_of(f, step), used = phase_of(f, last);
  eg_store store = made == used              ? EG_STORE_TRANSIENT
                   : used == EG_PHASE_UPDATE ? EG_STORE_ACCUMULATOR
                                             : EG_STORE_STASH;
  return use->is_output ? add_life(f, state, EG_STORE_OUTPUT, step, f->end)
                        : add_life(f, state, store, step, last);
}

static egraph_status add_life_of_state(life_finder *f, uint32_t state) {
  const state_use *use = &f->uses.data[state];
  uint32_t step = f->plan->states.data[state].step;
  if (step == EG_PLAN_NONE)
    return add_life(f, state, use->is_carried ? EG_STORE_CARRIED : EG_STORE_INPUT, 0,
                    f->end);
  if (shares_storage(f, state) || f->viewed.data[state] != state) return EGRAPH_OK;
  bool is_kept =
      use->is_output || (use->last != NEVER && phase_of(f, use->last) == EG_PHASE_UPDATE);
  bool is_sum =
      is_kept && f->plan->micro_batches > 1 && phase_of(f, step) != EG_PHASE_UPDATE;
  return is_sum ? add_life_of_sum(f, state) : add_life_once(f, state);
}

egraph_status eg_plan_lives(const eg_plan *plan, egraph_allocator alloc,
                            eg_lives *inout) {
  EG_LOCAL(life_finder, f, alloc);
  EG_LOCAL(eg_arena, arena, alloc);
  f.plan = plan;
  f.out = inout;
  f.end = plan->steps.len == 0 ? 0 : (uint32_t)plan->steps.len - 1;
  EG_TRY(find_uses(&f));
  EG_TRY(find_views(&f));
  for (uint32_t i = 0; i < plan->states.len; i++)
    EG_TRY(add_life_of_state(&f, i));
  for (uint32_t s = 0; s < plan->steps.len; s++) {
    eg_life life = {
        .state = EG_PLAN_NONE, .store = EG_STORE_SCRATCH, .from = s, .until = s};
    EG_TRY(eg_plan_step_scratch(plan, &plan->steps.data[s], &arena, &life.bytes));
    if (life.bytes != 0) EG_TRY(eg_lives_push(inout, life));
    eg_arena_deinit(&arena);
  }
  return EGRAPH_OK;
}

// ---- seconds and exchanges ------------------------------------------------------------

static void add_exchange(eg_plan_summary *summary, const eg_plan_step *step,
                         uint32_t axis, uint32_t kind, double runs, double bytes,
                         double seconds) {
  eg_exchange_sum *sum = &summary->exchange[step->phase][axis][kind];
  sum->count += (uint64_t)runs;
  sum->bytes += runs * bytes;
  sum->seconds += runs * seconds;
}

static egraph_status add_halos(const eg_plan *plan, const eg_plan_step *step, double runs,
                               eg_arena *arena, eg_plan_summary *out) {
  const eg_spread *spread;
  const eg_strategy *strategy;
  eg_halo halos[EG_MAX_MESH_AXES];
  EG_TRY(eg_plan_spread(plan, step, arena, &spread, &strategy));
  uint32_t count = eg_spread_halos(spread, &plan->mesh, strategy, halos);
  for (uint32_t i = 0; i < count; i++) {
    eg_type rows =
        eg_sharding_local(&plan->mesh, &spread->spec.inputs[0], &strategy->inputs[0]);
    rows.dims[halos[i].dim] = halos[i].before + halos[i].after;
    add_exchange(out, step, halos[i].axis, EG_EXCHANGE_HALO, runs,
                 (double)eg_type_bytes(&rows), 0);
  }
  return EGRAPH_OK;
}

static egraph_status add_steps(const eg_plan *plan, eg_arena *arena,
                               eg_plan_summary *out) {
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    double runs = eg_phase_runs(plan, step->phase) * eg_plan_step_blocks(step);
    bool is_work = !step->is_move || step->transition.kind == EG_TRANSITION_REORDER;
    *(is_work ? &out->node_seconds[step->phase] : &out->move_seconds[step->phase]) +=
        runs * step->seconds;
    if (step->is_move)
      add_exchange(out, step, step->transition.axis, step->transition.kind, runs,
                   eg_plan_move_bytes(plan, step), step->seconds);
    else
      EG_TRY(add_halos(plan, step, runs, arena, out));
    eg_arena_deinit(arena);
  }
  for (int p = 0; p < EG_PHASE_COUNT; p++)
    out->seconds += out->node_seconds[p] + out->move_seconds[p];
  return EGRAPH_OK;
}

// ---- memory ---------------------------------------------------------------------------

/// The bytes that a device begins and ceases to hold at a step, by purpose. Sums of whole
/// numbers of bytes below 2^53 are exact.
typedef struct memory_change {
  double begins[EG_STORES], ends[EG_STORES];
} memory_change;
EG_VEC_DEFINE(memory_changes, memory_change);

egraph_status eg_plan_visit_memory(const eg_plan *plan, egraph_allocator alloc,
                                   void (*each)(void *user, uint32_t step,
                                                const double *now),
                                   void *user) {
  uint32_t steps = plan->steps.len == 0 ? 1 : (uint32_t)plan->steps.len;
  EG_LOCAL(eg_lives, lives, alloc);
  EG_LOCAL(memory_changes, changes, alloc);
  EG_TRY(eg_plan_lives(plan, alloc, &lives));
  EG_TRY(memory_changes_resize(&changes, steps));
  for (size_t i = 0; i < lives.len; i++) {
    const eg_life *life = &lives.data[i];
    changes.data[life->from].begins[life->store] += life->bytes;
    changes.data[life->until].ends[life->store] += life->bytes;
  }
  double now[EG_STORES] = {0};
  for (uint32_t t = 0; t < steps; t++) {
    for (int s = 0; s < EG_STORES; s++)
      now[s] += changes.data[t].begins[s];
    each(user, t, now);
    for (int s = 0; s < EG_STORES; s++)
      now[s] -= changes.data[t].ends[s];
  }
  return EGRAPH_OK;
}

static void update_peak(void *user, uint32_t step, const double *now) {
  eg_plan_summary *out = user;
  double total = 0;
  for (int s = 0; s < EG_STORES; s++) {
    total += now[s];
    if (now[s] > out->most[s]) out->most[s] = now[s];
  }
  if (total <= out->peak) return;
  out->peak = total;
  out->peak_step = step;
  for (int s = 0; s < EG_STORES; s++)
    out->at_peak[s] = now[s];
}

egraph_status eg_plan_summary_make(const eg_plan *plan, egraph_allocator alloc,
                                   eg_plan_summary *out) {
  eg_plan_summary summary = {.micro_batches = plan->micro_batches, .mesh = plan->mesh};
  EG_LOCAL(eg_arena, arena, alloc);
  EG_TRY(add_steps(plan, &arena, &summary));
  EG_TRY(eg_plan_visit_memory(plan, alloc, update_peak, &summary));
  *out = summary;
  return EGRAPH_OK;
}

// ---- peak of the machine --------------------------------------------------------------

/// Adds the seconds that all devices, at their peak, need for the operations of a node.
static egraph_status add_peak_seconds(const eg_plan *plan, const eg_plan_step *step,
                                      const eg_machine *machine, eg_arena *arena,
                                      double *inout) {
  eg_node_spec spec;
  EG_TRY(eg_plan_spec(plan, step, arena, &spec));
  if (spec.input_count == 0 || spec.attrs->op == EG_OP_OPAQUE) return EGRAPH_OK;
  double peak = machine->peak_flops[spec.inputs[0].dtype];
  if (peak > 0)
    *inout += eg_phase_runs(plan, step->phase) * eg_plan_step_blocks(step) *
              eg_node_spec_flops(&spec) / (peak * eg_mesh_devices(&plan->mesh));
  return EGRAPH_OK;
}

egraph_status eg_plan_find_peak(eg_plan *plan, egraph_allocator alloc,
                                const eg_machine *machine) {
  double seconds = 0;
  EG_LOCAL(eg_arena, arena, alloc);
  for (size_t i = 0; i < plan->steps.len; i++) {
    if (plan->steps.data[i].is_move) continue;
    EG_TRY(add_peak_seconds(plan, &plan->steps.data[i], machine, &arena, &seconds));
    eg_arena_deinit(&arena);
  }
  bool is_known = !machine->compute_is_free && !machine->has_assumed_peak;
  plan->peak_seconds = is_known ? seconds : 0;
  return EGRAPH_OK;
}
