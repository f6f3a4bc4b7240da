// Computes strategies from configurations, and the seconds of a step.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "optimize/soap/soap.h"

#define NONE EG_SOAP_NONE
#define START UINT32_MAX // there when the step begins
// Work to evaluate a value and a run: one step of work is a measured nanosecond.
enum { STEPS_OF_VALUE = 40, STEPS_OF_RUN = 250 };

static const eg_model_value *model_value(const eg_soap *s, uint32_t value) {
  return &s->question->model->values.data[value];
}

static uint32_t place_number(const eg_soap *s, uint32_t place) {
  return place - s->problem->place_begin.data[s->place_value.data[place]];
}

/// Returns how often a training step runs the producer of a value and its moves.
static double times_of(const eg_soap *s, uint32_t value) {
  return s->problem->cost_times.data[value];
}

// ---- ways ---------------------------------------------------------------------------

static void relax_ways(const eg_soap *s, uint32_t value, eg_soap_way *row,
                       uint64_t *steps) {
  const eg_layout_problem *p = s->problem;
  uint32_t first = p->place_begin.data[value];
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t i = s->arc_begin.data[value]; i < s->arc_begin.data[value + 1]; i++) {
      uint32_t a = s->arcs.data[i], to = p->arc_to.data[a];
      double way = row[p->arc_from.data[a] - first].seconds +
                   p->arc_cost.data[a] * times_of(s, value);
      ++*steps;
      if (p->place_forbidden.data[to] || p->arc_forbidden.data[a]) continue;
      if (!(way < row[to - first].seconds)) continue;
      row[to - first] = (eg_soap_way){way, a};
      moved = true;
    }
  }
}

egraph_status eg_soap_ways_from(eg_soap *s, uint32_t place, const eg_soap_way **out) {
  uint32_t value = s->place_value.data[place];
  uint32_t count = eg_layout_layout_count(s->problem, value);
  if (s->way_row.data[place] == 0) {
    size_t row = s->ways.len;
    EG_TRY(eg_soap_ways_resize(&s->ways, row + count));
    for (uint32_t i = 0; i < count; i++)
      s->ways.data[row + i] = (eg_soap_way){INFINITY, NONE};
    s->ways.data[row + place_number(s, place)].seconds = 0;
    relax_ways(s, value, s->ways.data + row, &s->work);
    s->way_row.data[place] = (uint32_t)row + 1;
  }
  *out = s->ways.data + s->way_row.data[place] - 1;
  return EGRAPH_OK;
}

static egraph_status way(eg_soap *s, uint32_t from, uint32_t to, double *out) {
  const eg_soap_way *row;
  *out = 0;
  if (from == to) return EGRAPH_OK;
  EG_TRY(eg_soap_ways_from(s, from, &row));
  *out = row[place_number(s, to)].seconds;
  return EGRAPH_OK;
}

// ---- followers ----------------------------------------------------------------------

/// Returns the layout of an operand made for another lead operator: for a cotangent
/// of the type of the lead's result, this result's layout without partial sums;
/// otherwise whole.
static uint32_t layout_of_stranger(const eg_soap *s, uint32_t v, uint32_t lead_value,
                                   uint32_t lead_place) {
  const eg_plan_model *model = s->question->model;
  uint32_t y = model_value(s, lead_value)->value;
  const eg_layout_graph *graph = eg_plan_space_layouts(s->space, v);
  if (s->space->values.data[v].graph != s->space->values.data[y].graph) return 0;
  uint32_t number = eg_plan_model_layout(model, lead_value, place_number(s, lead_place));
  eg_layout layout = graph->layouts.data[number];
  for (uint32_t a = 0; a < s->space->mesh.axis_count; a++)
    if (eg_digit_is_partial(layout.sharding[a])) layout.sharding[a] = EG_SHARD_R;
  uint32_t found = eg_layout_graph_find(graph, &layout);
  return found == UINT32_MAX ? 0 : found;
}

/// Returns the place (index over all layouts) of a problem value in a layout, or NONE.
static uint32_t place_in(const eg_soap *s, uint32_t value, uint32_t layout) {
  uint32_t count = eg_layout_layout_count(s->problem, value);
  for (uint32_t i = 0; i < count; i++)
    if (eg_plan_model_layout(s->question->model, value, i) == layout)
      return eg_layout_place(s->problem, value, i);
  return NONE;
}

static bool is_state_entry(const eg_soap *s, uint32_t v) {
  return s->space->values.data[v].is_entry && s->near.data[v] == NONE;
}

static bool is_partial(const eg_soap *s, uint32_t place) {
  uint32_t value = s->place_value.data[place];
  const eg_layout *layout =
      &eg_plan_space_layouts(s->space, model_value(s, value)->value)
           ->layouts
           .data[eg_plan_model_layout(s->question->model, value, place_number(s, place))];
  for (uint32_t a = 0; a < s->space->mesh.axis_count; a++)
    if (eg_digit_is_partial(layout->sharding[a])) return true;
  return false;
}

/// Prices the cheapest exchange that adds up a value's partial sums; 0: it has none.
static egraph_status price_sums(eg_soap *s, uint32_t place, double *out) {
  uint32_t value = s->place_value.data[place];
  const eg_soap_way *row;
  *out = 0;
  if (!is_partial(s, place)) return EGRAPH_OK;
  EG_TRY(eg_soap_ways_from(s, place, &row));
  *out = INFINITY;
  for (uint32_t i = 0; i < eg_layout_layout_count(s->problem, value); i++)
    if (row[i].seconds < *out && !is_partial(s, eg_layout_place(s->problem, value, i)))
      *out = row[i].seconds;
  if (isinf(*out)) *out = 0; // no reader wants it whole
  return EGRAPH_OK;
}

/// Computes the cost of a strategy of a node that follows a lead operator: operands come
/// in the lead's layouts, and partial sums of the result are added up.
static egraph_status price_member(eg_soap *s, uint32_t lead_value, uint32_t lead_place,
                                  uint32_t strategy, uint32_t value, double *out) {
  const eg_layout_problem *p = s->problem;
  uint32_t op = s->operator_of.data[value], exit_layout = NONE;
  uint32_t entry = s->carried_entry.data[model_value(s, value)->value];
  EG_TRY(price_sums(s, p->output.data[strategy], out));
  *out += p->cost.data[strategy] * times_of(s, value);
  if (entry != NONE) exit_layout = s->near.data[entry];
  for (uint32_t i = 0; i < p->input_begin.data[op + 1] - p->input_begin.data[op]; i++) {
    uint32_t input = p->inputs.data[p->input_begin.data[op] + i];
    uint32_t need = p->needs.data[p->need_begin.data[strategy] + i];
    uint32_t v = model_value(s, input)->value, layout = s->near.data[v];
    if (v == entry && layout == NONE)
      exit_layout =
          eg_plan_model_layout(s->question->model, input, place_number(s, need));
    if (is_state_entry(s, v)) continue; // it enters in the needed layout
    if (layout == NONE) layout = layout_of_stranger(s, v, lead_value, lead_place);
    uint32_t from = place_in(s, input, layout);
    double seconds = 0;
    if (from != NONE) EG_TRY(way(s, from, need, &seconds));
    *out += seconds;
  }
  if (exit_layout == NONE) return EGRAPH_OK;
  uint32_t to = place_in(s, value, exit_layout);
  double seconds = 0;
  if (to != NONE) EG_TRY(way(s, p->output.data[strategy], to, &seconds));
  *out += seconds;
  return EGRAPH_OK;
}

/// Notes the layouts in which a strategy makes its value and reads its operands.
static egraph_status note_near(eg_soap *s, uint32_t value, uint32_t strategy,
                               bool is_lead) {
  const eg_layout_problem *p = s->problem;
  uint32_t op = s->operator_of.data[value];
  for (uint32_t i = 0; i < p->input_begin.data[op + 1] - p->input_begin.data[op]; i++) {
    uint32_t input = p->inputs.data[p->input_begin.data[op] + i];
    uint32_t need = p->needs.data[p->need_begin.data[strategy] + i];
    uint32_t v = model_value(s, input)->value;
    if (!is_lead && !is_state_entry(s, v)) continue;
    s->near.data[v] =
        eg_plan_model_layout(s->question->model, input, place_number(s, need));
    EG_TRY(eg_u32s_push(&s->touched, v));
  }
  uint32_t v = model_value(s, value)->value;
  s->near.data[v] = eg_plan_model_layout(s->question->model, value,
                                         place_number(s, p->output.data[strategy]));
  return eg_u32s_push(&s->touched, v);
}

static egraph_status choose_member(eg_soap *s, uint32_t lead_value, uint32_t lead_place,
                                   uint32_t value, uint32_t *out) {
  const eg_layout_problem *p = s->problem;
  uint32_t op = s->operator_of.data[value];
  double best = INFINITY, cost;
  *out = NONE;
  for (uint32_t t = p->strategy_begin.data[op]; t < p->strategy_begin.data[op + 1]; t++) {
    if (p->forbidden.data[t] || p->place_forbidden.data[p->output.data[t]]) continue;
    EG_TRY(price_member(s, lead_value, lead_place, t, value, &cost));
    s->work += 4;
    if (*out != NONE && !(cost < best * (1 - 1e-12))) continue;
    best = cost;
    *out = t;
  }
  return EGRAPH_OK;
}

static egraph_status make_followers(eg_soap *s, uint32_t lead, uint32_t option) {
  uint32_t value = s->leads.data[lead];
  uint32_t strategy = s->options.data[s->option_begin.data[lead] + option];
  uint32_t place = s->problem->output.data[strategy];
  EG_TRY(eg_u32s_push(&s->follow, strategy));
  EG_TRY(note_near(s, value, strategy, true));
  for (uint32_t i = s->member_begin.data[lead] + 1; i < s->member_begin.data[lead + 1];
       i++) {
    uint32_t member = s->members.data[i], chosen;
    EG_TRY(choose_member(s, value, place, member, &chosen));
    EG_TRY(eg_u32s_push(&s->follow, chosen));
    EG_TRY(note_near(s, member, chosen, false));
  }
  return EGRAPH_OK;
}

egraph_status eg_soap_follow(eg_soap *s, uint32_t lead, uint32_t option,
                             const uint32_t **out) {
  uint32_t *row = &s->follow_row.data[s->option_begin.data[lead] + option];
  if (*row == 0) {
    uint32_t begin = (uint32_t)s->follow.len;
    s->touched.len = 0;
    EG_TRY(make_followers(s, lead, option));
    for (size_t i = 0; i < s->touched.len; i++)
      s->near.data[s->touched.data[i]] = NONE;
    s->touched.len = 0;
    *row = begin + 1;
  }
  *out = s->follow.data + *row - 1;
  return EGRAPH_OK;
}

// ---- strategies of all values -----------------------------------------------------

static egraph_status add_need(eg_soap *s, uint32_t place) {
  uint32_t value = s->place_value.data[place];
  EG_TRY(eg_u32s_push(&s->need_place, place));
  EG_TRY(eg_u32s_push(&s->need_next, s->need_first.data[value]));
  s->need_first.data[value] = (uint32_t)s->need_place.len;
  return EGRAPH_OK;
}

/// Returns the first layout (as place) in which a value was noted as needed, or NONE.
static uint32_t first_need(const eg_soap *s, uint32_t value) {
  uint32_t place = NONE;
  for (uint32_t at = s->need_first.data[value]; at != 0; at = s->need_next.data[at - 1])
    place = s->need_place.data[at - 1];
  return place;
}

static bool is_needed_in(const eg_soap *s, uint32_t value, uint32_t number) {
  for (uint32_t at = s->need_first.data[value]; at != 0; at = s->need_next.data[at - 1])
    if (place_number(s, s->need_place.data[at - 1]) == number) return true;
  return false;
}

static uint32_t copy_of(const eg_soap *s, uint32_t v, uint32_t phase) {
  return s->question->model->copies.data[(size_t)v * EG_PHASE_COUNT + phase];
}

static void keep_state_of(eg_soap *s, uint32_t value, uint32_t number) {
  uint32_t place = eg_layout_place(s->problem, value, number);
  uint32_t strategy = s->kept_strategy.data[place];
  if (strategy != NONE) s->strategy.data[value] = strategy;
}

static void keep_first(eg_soap *s, uint32_t value) { // takes the first allowed strategy
  for (uint32_t i = 0; i < eg_layout_layout_count(s->problem, value); i++) {
    if (s->strategy.data[value] != NONE) return;
    keep_state_of(s, value, i);
  }
}

/// Chooses the layout in which an input enters the step: its first reader's.
static void choose_entry(eg_soap *s, uint32_t value) {
  uint32_t v = model_value(s, value)->value;
  s->strategy.data[value] = s->kept.data[value];
  for (uint32_t q = 0; q < EG_PHASE_COUNT; q++) {
    uint32_t copy = copy_of(s, v, q);
    uint32_t need = copy == EG_SPACE_NONE ? NONE : first_need(s, copy);
    if (need == NONE || s->strategy.data[value] != NONE) continue;
    keep_state_of(s, value, place_number(s, need));
  }
  keep_first(s, value);
}

/// Chooses the layout in which a value is stored for a later phase or the next step.
static void choose_kept(eg_soap *s, uint32_t value) {
  const eg_layout_problem *p = s->problem;
  s->strategy.data[value] = s->kept.data[value];
  if (s->strategy.data[value] != NONE) return;
  uint32_t from = p->inputs.data[p->input_begin.data[s->operator_of.data[value]]];
  uint32_t made = place_number(s, p->output.data[s->strategy.data[from]]);
  const eg_model_value *mine = model_value(s, value);
  if (mine->role == EG_MODEL_EXIT) { // in the layout of the entry
    uint32_t entry = s->carried_entry.data[mine->value];
    uint32_t first = s->question->model->entries.data[entry];
    if (first != EG_SPACE_NONE && s->strategy.data[first] != NONE)
      keep_state_of(s, value, place_number(s, p->output.data[s->strategy.data[first]]));
  } else if (mine->role == EG_MODEL_COPY || mine->role == EG_MODEL_KEPT) {
    uint32_t copy = copy_of(s, mine->value, mine->phase);
    uint32_t need = copy == EG_SPACE_NONE ? NONE : first_need(s, copy);
    if (need != NONE && is_needed_in(s, from, place_number(s, need)))
      keep_state_of(s, value, place_number(s, need));
  }
  if (s->strategy.data[value] == NONE) keep_state_of(s, value, made);
  keep_first(s, value);
}

static egraph_status note_needs(eg_soap *s, uint32_t value) {
  const eg_layout_problem *p = s->problem;
  uint32_t strategy = s->strategy.data[value];
  for (uint32_t r = 0; r < p->memory_rows; r++)
    s->memory[r] += p->memory[r].data[strategy] * p->memory_times.data[value];
  for (uint32_t i = p->need_begin.data[strategy]; i < p->need_begin.data[strategy + 1];
       i++)
    EG_TRY(add_need(s, p->needs.data[i]));
  return EGRAPH_OK;
}

egraph_status eg_soap_choose(eg_soap *s, const uint32_t *choice) {
  const eg_layout_problem *p = s->problem;
  s->need_place.len = s->need_next.len = 0;
  memset(s->memory, 0, sizeof s->memory);
  memset(s->need_first.data, 0, s->need_first.len * sizeof(uint32_t));
  for (size_t v = 0; v < s->strategy.len; v++)
    s->strategy.data[v] = NONE;
  for (uint32_t l = 0; l < s->leads.len; l++) {
    const uint32_t *row;
    EG_TRY(eg_soap_follow(s, l, choice[l], &row));
    uint32_t begin = s->member_begin.data[l], end = s->member_begin.data[l + 1];
    for (uint32_t i = begin; i < end; i++)
      s->strategy.data[s->members.data[i]] = row[i - begin];
  }
  for (size_t i = 0; i < s->order.len; i++)
    if (s->lead_of.data[s->order.data[i]] != NONE)
      EG_TRY(note_needs(s, s->order.data[i]));
  for (size_t r = 0; r < p->root_value.len; r++)
    if (p->root_begin.data[r] != p->root_begin.data[r + 1])
      EG_TRY(add_need(s, p->root_places.data[p->root_begin.data[r]]));
  for (size_t i = 0; i < s->order.len; i++) {
    uint32_t value = s->order.data[i];
    if (s->lead_of.data[value] != NONE) continue;
    bool is_entry = model_value(s, value)->role == EG_MODEL_ENTRY;
    (is_entry ? choose_entry : choose_kept)(s, value);
    if (s->strategy.data[value] != NONE) EG_TRY(note_needs(s, value));
  }
  s->work += STEPS_OF_VALUE * s->order.len;
  return EGRAPH_OK;
}

// ---- the clock ----------------------------------------------------------------------

static const eg_layout_move *move_of(const eg_soap *s, uint32_t arc) {
  uint32_t value = s->place_value.data[s->problem->arc_from.data[arc]];
  const eg_layout_graph *graph =
      eg_plan_space_layouts(s->space, model_value(s, value)->value);
  return &graph->moves.data[s->question->model->moves.data[arc]];
}

static egraph_status make_place(eg_soap *s, uint32_t place, uint32_t made_by) {
  if (s->run_of_place.data[place] == 0) EG_TRY(eg_u32s_push(&s->touched, place));
  s->run_of_place.data[place] = made_by;
  return EGRAPH_OK;
}

static egraph_status wait_for_place(eg_soap *s, uint32_t run, uint32_t place) {
  uint32_t by = s->run_of_place.data[place];
  return by == START ? EGRAPH_OK : eg_list_schedule_wait(&s->schedule, run, by - 1);
}

/// Returns the seconds of one of the runs of a node or move in a step.
static double run_seconds(const eg_soap *s, uint32_t value, double cost) {
  bool repeats = model_value(s, value)->phase != EG_PHASE_UPDATE;
  double runs = repeats ? s->space->info->micro_batches : 1;
  return cost * times_of(s, value) / runs;
}

static bool is_reduction(const eg_soap *s, uint32_t arc) {
  eg_transition_kind kind = move_of(s, arc)->transition.kind;
  return kind == EG_TRANSITION_ALL_REDUCE || kind == EG_TRANSITION_REDUCE_SCATTER;
}

/// True when a value exists when its phase begins; in the update, from the start.
static bool is_old(const eg_soap *s, uint32_t value) {
  const eg_layout_problem *p = s->problem;
  bool is_update = model_value(s, value)->phase == EG_PHASE_UPDATE;
  while (is_update && s->lead_of.data[value] == NONE) {
    uint32_t first = p->input_begin.data[s->operator_of.data[value]];
    if (first == p->input_begin.data[s->operator_of.data[value] + 1]) return true;
    value = p->inputs.data[first];
  }
  return s->lead_of.data[value] == NONE;
}

/// Makes a run wait for a computing step, so that its exchange does not start earlier.
static egraph_status stand_behind(eg_soap *s, uint32_t run, uint32_t computing) {
  return computing == NONE ? EGRAPH_OK
                           : eg_list_schedule_wait(&s->schedule, run, computing);
}

/// Delays an exchange of a value that exists when its phase begins. A gather
/// before use belongs to the window of the current value; other exchanges wait for
/// earlier computing.
static egraph_status keep_back(eg_soap *s, uint32_t value, uint32_t arc, uint32_t run) {
  if (!is_old(s, value)) return EGRAPH_OK;
  if (!is_reduction(s, arc) && model_value(s, value)->phase != EG_PHASE_UPDATE) {
    if (s->window == NONE) s->window = s->windows++;
    s->schedule.runs.data[run].window = s->window;
    return EGRAPH_OK;
  }
  return stand_behind(s, run, s->computing[EG_SOAP_AHEAD - 1]);
}

static egraph_status add_run(eg_soap *s, double seconds, uint32_t stream, uint32_t *out) {
  *out = (uint32_t)s->schedule.runs.len;
  if (stream == 0) {
    memmove(s->computing + 1, s->computing, sizeof s->computing - sizeof *s->computing);
    s->computing[0] = *out;
  }
  return eg_runs_push(&s->schedule.runs, (eg_run){.seconds = seconds,
                                                  .stream = stream,
                                                  .turn = stream == 0 ? s->turn : 0,
                                                  .window = EG_RUN_NONE,
                                                  .opens = EG_RUN_NONE});
}

static egraph_status run_arc(eg_soap *s, uint32_t value, uint32_t arc) {
  const eg_layout_problem *p = s->problem;
  const eg_layout_move *move = move_of(s, arc);
  uint32_t from = p->arc_from.data[arc], run;
  double seconds = run_seconds(s, value, p->arc_cost.data[arc]);
  if (!(seconds > 0))
    return make_place(s, p->arc_to.data[arc], s->run_of_place.data[from]);
  bool is_local = eg_transition_is_local(move->transition.kind);
  EG_TRY(add_run(s, seconds, is_local ? 0 : s->stream_of_arc_axis[move->transition.axis],
                 &run));
  EG_TRY(wait_for_place(s, run, from));
  if (!is_local) EG_TRY(keep_back(s, value, arc, run));
  return make_place(s, p->arc_to.data[arc], run + 1);
}

/// Schedules the moves from the layout in which a value was made to layout `place`;
/// `reductions`: only the first moves, as long as they reduce. *out: some moves
/// lead there.
static egraph_status run_moves_to(eg_soap *s, uint32_t place, bool reductions,
                                  bool *out) {
  uint32_t value = s->place_value.data[place];
  const eg_soap_way *row;
  *out = true;
  if (s->run_of_place.data[place] != 0) return EGRAPH_OK;
  if (s->strategy.data[value] == NONE) return *out = false, EGRAPH_OK;
  EG_TRY(eg_soap_ways_from(s, s->problem->output.data[s->strategy.data[value]], &row));
  s->path.len = 0;
  while (s->run_of_place.data[place] == 0) {
    uint32_t arc = row[place_number(s, place)].arc;
    if (arc == NONE) return *out = false, EGRAPH_OK;
    EG_TRY(eg_u32s_push(&s->path, arc));
    place = s->problem->arc_from.data[arc];
  }
  while (s->path.len != 0) {
    uint32_t arc = eg_u32s_pop(&s->path);
    if (reductions && !is_reduction(s, arc)) return EGRAPH_OK;
    EG_TRY(run_arc(s, value, arc));
  }
  return EGRAPH_OK;
}

/// Schedules the node that makes a value, after all layouts that its strategy reads.
static egraph_status make_value(eg_soap *s, uint32_t value) {
  const eg_layout_problem *p = s->problem;
  uint32_t strategy = s->strategy.data[value], run, made_by = START;
  uint32_t begin = p->need_begin.data[strategy], end = p->need_begin.data[strategy + 1];
  double seconds = run_seconds(s, value, p->cost.data[strategy]);
  if (!(seconds > 0) && end - begin <= 1 && s->window == NONE) {
    if (begin != end) made_by = s->run_of_place.data[p->needs.data[begin]];
    return make_place(s, p->output.data[strategy], made_by);
  }
  uint32_t before = s->computing[EG_SOAP_AHEAD - 1];
  bool reads_old = true;
  EG_TRY(add_run(s, seconds, seconds > 0 ? 0 : EG_RUN_NONE, &run));
  s->schedule.runs.data[run].opens = s->window;
  for (uint32_t i = begin; i < end; i++) {
    reads_old = reads_old && is_old(s, s->place_value.data[p->needs.data[i]]);
    EG_TRY(wait_for_place(s, run, p->needs.data[i]));
  }
  if (reads_old) EG_TRY(stand_behind(s, run, before));
  return make_place(s, p->output.data[strategy], run + 1);
}

static egraph_status run_value(eg_soap *s, uint32_t value, bool *out) {
  const eg_layout_problem *p = s->problem;
  uint32_t strategy = s->strategy.data[value];
  *out = strategy != NONE;
  s->window = NONE;
  for (uint32_t i = *out ? p->need_begin.data[strategy] : 0;
       *out && i < p->need_begin.data[strategy + 1]; i++)
    EG_TRY(run_moves_to(s, p->needs.data[i], false, out));
  if (!*out) return EGRAPH_OK;
  EG_TRY(make_value(s, value));
  for (uint32_t at = s->need_first.data[value]; at != 0 && *out;
       at = s->need_next.data[at - 1])
    EG_TRY(run_moves_to(s, s->need_place.data[at - 1], true, out));
  return EGRAPH_OK;
}

static egraph_status run_part(eg_soap *s, uint32_t batch, bool of_update, bool *out) {
  for (size_t i = 0; i < s->order.len && *out; i++) {
    uint32_t value = s->order.data[i];
    const eg_model_value *mine = model_value(s, value);
    bool is_of_update = mine->phase == EG_PHASE_UPDATE && mine->role != EG_MODEL_ENTRY;
    if (is_of_update != of_update) continue;
    uint32_t turn = 2 * batch + (mine->phase != EG_PHASE_FORWARD);
    if (s->lead_of.data[value] != NONE && turn > s->turn) s->turn = turn;
    EG_TRY(run_value(s, value, out));
  }
  return EGRAPH_OK;
}

static void forget_places(eg_soap *s) {
  for (size_t i = 0; i < s->touched.len; i++)
    s->run_of_place.data[s->touched.data[i]] = 0;
  s->touched.len = 0;
}

static egraph_status add_runs(eg_soap *s, uint32_t batches, bool *out) {
  s->schedule.runs.len = s->schedule.waiter.len = s->schedule.waits_for.len = 0;
  s->window = NONE;
  for (int i = 0; i < EG_SOAP_AHEAD; i++)
    s->computing[i] = NONE;
  s->windows = s->turn = 0;
  for (uint32_t b = 0; b < batches && *out; b++) {
    forget_places(s);
    EG_TRY(run_part(s, b, false, out));
  }
  if (*out) EG_TRY(run_part(s, batches - 1, true, out));
  for (size_t r = 0; r < s->problem->root_value.len && *out; r++)
    if (s->problem->root_begin.data[r] != s->problem->root_begin.data[r + 1])
      EG_TRY(run_moves_to(s, s->problem->root_places.data[s->problem->root_begin.data[r]],
                          false, out));
  forget_places(s);
  return EGRAPH_OK;
}

static egraph_status run_soap_step(eg_soap *s, uint32_t batches, double *out) {
  bool is_plan = true;
  EG_TRY(add_runs(s, batches, &is_plan));
  *out = INFINITY;
  if (!is_plan) return EGRAPH_OK;
  EG_TRY(eg_list_schedule_make(&s->schedule, s->streams, EG_SOAP_AHEAD));
  s->work += STEPS_OF_RUN * s->schedule.runs.len;
  *out = s->schedule.seconds;
  return EGRAPH_OK;
}

egraph_status eg_soap_simulate(eg_soap *s, const uint32_t *choice, double *out) {
  uint32_t batches = s->space->info->micro_batches;
  double one, two;
  EG_TRY(eg_soap_choose(s, choice));
  if (batches <= 2) return run_soap_step(s, batches, out);
  EG_TRY(run_soap_step(s, 1, &one));
  EG_TRY(run_soap_step(s, 2, &two));
  *out = isinf(two) ? two : two + (batches - 2) * (two - one);
  return EGRAPH_OK;
}

// ---- where searches begin -----------------------------------------------------------

/// Counts the axes along which a strategy is data parallel: dimension 0 of its result is
/// split, and operands that enter the step are whole.
static uint32_t data_parallel_rows(const eg_soap *s, uint32_t value, uint32_t strategy) {
  const eg_layout_problem *p = s->problem;
  const eg_plan_model *model = s->question->model;
  const eg_model_value *mine = model_value(s, value);
  uint32_t op = s->operator_of.data[value], count = 0;
  uint32_t made =
      eg_plan_model_layout(model, value, place_number(s, p->output.data[strategy]));
  for (uint32_t a = 0; a < s->space->mesh.axis_count; a++) {
    const eg_layout_graph *graph = eg_plan_space_layouts(s->space, mine->value);
    bool is_row = graph->layouts.data[made].sharding[a] == eg_digit_shard(0);
    for (uint32_t i = 0; i < p->input_begin.data[op + 1] - p->input_begin.data[op]; i++) {
      uint32_t input = p->inputs.data[p->input_begin.data[op] + i];
      uint32_t need = p->needs.data[p->need_begin.data[strategy] + i];
      uint32_t v = model_value(s, input)->value;
      const eg_layout *layout =
          &eg_plan_space_layouts(s->space, v)
               ->layouts.data[eg_plan_model_layout(model, input, place_number(s, need))];
      if (s->space->values.data[v].is_carried || s->space->values.data[v].is_constant)
        is_row = is_row && layout->sharding[a] == EG_SHARD_R;
    }
    count += is_row;
  }
  return count;
}

egraph_status eg_soap_start_known(const eg_soap *s, eg_u32s *choice) {
  for (uint32_t l = 0; l < s->leads.len; l++)
    EG_TRY(eg_u32s_push(choice, eg_soap_option_count(s, l) - 1));
  return EGRAPH_OK;
}

egraph_status eg_soap_start(const eg_soap *s, eg_u32s *choice) {
  for (uint32_t l = 0; l < s->leads.len; l++) {
    uint32_t best = 0, most = 0;
    bool is_forward = model_value(s, s->leads.data[l])->phase == EG_PHASE_FORWARD;
    double least = INFINITY;
    for (uint32_t o = 0; o < eg_soap_option_count(s, l); o++) {
      uint32_t strategy = s->options.data[s->option_begin.data[l] + o];
      uint32_t rows = is_forward ? data_parallel_rows(s, s->leads.data[l], strategy) : 0;
      double cost = s->problem->cost.data[strategy];
      if (rows < most || (rows == most && !(cost < least))) continue;
      best = o;
      most = rows;
      least = cost;
    }
    EG_TRY(eg_u32s_push(choice, best));
  }
  return EGRAPH_OK;
}
