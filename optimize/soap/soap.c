// Builds the parts that the graph fixes: an operator for each value, an order, and the
// model's operators (leads) with the nodes that training adds for each.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/soap/soap.h"

#include <string.h>

#include "base/groups.h"
#include "pcg/plan/plan_issue.h"

#define NONE EG_SOAP_NONE
static uint32_t value_count(const eg_soap *s) {
  return eg_layout_value_count(s->problem);
}

static const eg_model_value *model_value(const eg_soap *s, uint32_t value) {
  return &s->question->model->values.data[value];
}

static const eg_space_value *space_value(const eg_soap *s, uint32_t value) {
  return &s->space->values.data[model_value(s, value)->value];
}

static egraph_status index_places(eg_soap *s) {
  const eg_layout_problem *p = s->problem;
  for (uint32_t v = 0; v < value_count(s); v++)
    for (uint32_t i = 0; i < eg_layout_layout_count(p, v); i++)
      EG_TRY(eg_u32s_push(&s->place_value, v));
  EG_LOCAL(eg_u32s, key, s->question->alloc);
  for (uint32_t a = 0; a < eg_layout_arc_count(p); a++)
    EG_TRY(eg_u32s_push(&key, s->place_value.data[p->arc_from.data[a]]));
  return eg_group_items(&key, value_count(s), &s->arc_begin, &s->arcs);
}

// ---- operators ----------------------------------------------------------------------

static bool is_allowed(const eg_layout_problem *p, uint32_t strategy) {
  if (p->forbidden.data[strategy] || p->place_forbidden.data[p->output.data[strategy]])
    return false;
  for (uint32_t i = p->need_begin.data[strategy]; i < p->need_begin.data[strategy + 1];
       i++)
    if (p->place_forbidden.data[p->needs.data[i]]) return false;
  return true;
}

static bool has_allowed(const eg_layout_problem *p, uint32_t op) {
  for (uint32_t t = p->strategy_begin.data[op]; t < p->strategy_begin.data[op + 1]; t++)
    if (is_allowed(p, t)) return true;
  return false;
}

/// Picks the operator of each problem value: the known solution's, otherwise the first
/// allowed one. A stored value starts from the step's input, else from the value that
/// FORWARD stores for both later phases, else from the phase that makes it.
static egraph_status pick_operators(eg_soap *s) {
  const eg_layout_problem *p = s->problem;
  EG_TRY(eg_fill_none(&s->operator_of, value_count(s)));
  for (uint32_t o = 0; o < eg_layout_operator_count(p); o++) {
    uint32_t *mine = &s->operator_of.data[p->operator_value.data[o]];
    if (*mine == NONE && has_allowed(p, o)) *mine = o;
    for (uint32_t t = p->strategy_begin.data[o];
         s->known != NULL && t < p->strategy_begin.data[o + 1]; t++)
      if (s->known[p->operator_value.data[o]] == t) *mine = o;
  }
  return EGRAPH_OK;
}

typedef struct walker {
  eg_soap *s;
  eg_bytes seen;
  eg_u32s stack, cursor;
  eg_u32s addends, sums, sum_begin, additions; // [values + 1] entries of sums, by addend
} walker;
EG_OWNER_DEFINE_STATIC(walker, (eg_bytes, seen),
                       (eg_u32s, stack, cursor, addends, sums, sum_begin, additions))

static egraph_status enter_needed(walker *w, uint32_t value) {
  if (w->seen.data[value]) return EGRAPH_OK;
  if (w->s->operator_of.data[value] == NONE)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "this search needs an operator for each value, and constraints leave "
                   "one without; loosen them, or take another search");
  w->seen.data[value] = 1;
  EG_TRY(eg_u32s_push(&w->stack, value));
  return eg_u32s_push(&w->cursor,
                      w->s->problem->input_begin.data[w->s->operator_of.data[value]]);
}

static egraph_status walk_from(walker *w, uint32_t root, eg_u32s *order) {
  const eg_layout_problem *p = w->s->problem;
  EG_TRY(enter_needed(w, root));
  while (w->stack.len != 0) {
    uint32_t value = w->stack.data[w->stack.len - 1];
    uint32_t at = w->cursor.data[w->stack.len - 1]++;
    if (at < p->input_begin.data[w->s->operator_of.data[value] + 1]) {
      EG_TRY(enter_needed(w, p->inputs.data[at]));
      continue;
    }
    w->stack.len--;
    w->cursor.len--;
    EG_TRY(eg_u32s_push(order, value));
    if (w->sum_begin.len == 0) continue;
    for (uint32_t i = w->sum_begin.data[value]; i < w->sum_begin.data[value + 1]; i++)
      EG_TRY(enter_needed(w, w->sums.data[w->additions.data[i]]));
  }
  return EGRAPH_OK;
}

/// Lists the sums over micro-batches to which each value is added. As in an emitted plan,
/// a sum follows its last operand at once.
static egraph_status find_batch_sums(walker *w) {
  const eg_soap *s = w->s;
  const eg_layout_problem *p = s->problem;
  for (uint32_t v = 0; v < value_count(s); v++) {
    uint32_t op = s->operator_of.data[v];
    if (op == NONE || !space_value(s, v)->is_sum || space_value(s, v)->is_entry) continue;
    for (uint32_t i = p->input_begin.data[op]; i < p->input_begin.data[op + 1]; i++) {
      if (space_value(s, p->inputs.data[i])->is_entry) continue; // there from the start
      EG_TRY(eg_u32s_push(&w->addends, p->inputs.data[i]));
      EG_TRY(eg_u32s_push(&w->sums, v));
    }
  }
  return eg_group_items(&w->addends, value_count(s), &w->sum_begin, &w->additions);
}

/// Orders the needed values by phase, operands first.
static egraph_status find_phase_order(walker *w) {
  eg_soap *s = w->s;
  EG_LOCAL(eg_u32s, needed, s->question->alloc);
  EG_TRY(eg_bytes_resize(&w->seen, value_count(s)));
  for (size_t r = 0; r < s->problem->root_value.len; r++)
    EG_TRY(walk_from(w, s->problem->root_value.data[r], &needed));
  for (uint32_t v = 0; v < value_count(s); v++)
    if (!w->seen.data[v]) s->operator_of.data[v] = NONE;
  memset(w->seen.data, 0, w->seen.len);
  EG_TRY(find_batch_sums(w));
  for (int phase = 0; phase < EG_PHASE_COUNT; phase++)
    for (uint32_t v = 0; v < value_count(s); v++)
      if (s->operator_of.data[v] != NONE && (int)model_value(s, v)->phase == phase &&
          model_value(s, v)->role == EG_MODEL_COPY)
        EG_TRY(walk_from(w, v, &s->order));
  for (uint32_t v = 0; v < value_count(s); v++)
    if (s->operator_of.data[v] != NONE) EG_TRY(walk_from(w, v, &s->order));
  return EGRAPH_OK;
}

// ---- leads --------------------------------------------------------------------------

typedef struct grouper {
  eg_soap *s;
  eg_u32s of, is_copy;   // [space values] forward value for which it is made, or NONE
  eg_u32s lead_of_value; // [values of the forward graph] problem value
} grouper;
EG_OWNER_DEFINE_STATIC(grouper, (eg_u32s, of, is_copy, lead_of_value))

static bool is_made(const eg_soap *s, uint32_t value) {
  uint32_t op = s->operator_of.data[value];
  return op != NONE && s->question->model->operators.data[op] != EG_SPACE_NONE &&
         !space_value(s, value)->is_entry;
}

static egraph_status read_stamps(grouper *g) {
  const eg_plan_space *space = g->s->space;
  const eg_stamp *stamps = space->info->stamps;
  const eg_graph *graph = eg_tensor_egraph_graph(space->egraph);
  uint32_t most = 0;
  EG_TRY(eg_fill_none(&g->of, space->values.len));
  EG_TRY(eg_u32s_resize(&g->is_copy, space->values.len));
  for (uint32_t i = 0; stamps != NULL && i < eg_graph_value_count(graph); i++) {
    uint32_t v = eg_plan_space_value(
        space, eg_tensor_egraph_value_class(space->egraph, (eg_value){i}));
    if (stamps[i].of != EG_STAMP_OF_NONE && stamps[i].of >= most) most = stamps[i].of + 1;
    if (v == EG_SPACE_NONE || g->of.data[v] != NONE) continue;
    g->of.data[v] = stamps[i].of;
    g->is_copy.data[v] = stamps[i].made == EG_MADE_COPY;
  }
  for (uint32_t o = 0; o < space->operators.len; o++) { // parts lead to their tuple
    const eg_space_operator *op = &space->operators.data[o];
    for (uint32_t i = 0; i < op->input_count; i++) {
      uint32_t input = space->inputs.data[op->inputs + i];
      if (!space->values.data[input].is_tuple || g->of.data[input] != NONE) continue;
      g->of.data[input] = g->of.data[op->value];
      g->is_copy.data[input] = g->is_copy.data[op->value];
    }
  }
  return eg_fill_none(&g->lead_of_value, most);
}

/// Finds the leads of the forward graph (operators that nodes of training follow);
/// weights belong to their first reader.
static void find_forward_leads(grouper *g) {
  eg_soap *s = g->s;
  const eg_layout_problem *p = s->problem;
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < s->order.len; i++) {
      uint32_t value = s->order.data[i], v = model_value(s, value)->value;
      uint32_t of = g->of.data[v];
      bool is_lead = is_made(s, value) && of != NONE && g->is_copy.data[v] &&
                     model_value(s, value)->phase == EG_PHASE_FORWARD;
      if (!is_lead) continue;
      if (pass == 0 && g->lead_of_value.data[of] == NONE)
        g->lead_of_value.data[of] = value;
      uint32_t op = s->operator_of.data[value];
      for (uint32_t k = p->input_begin.data[op];
           pass == 1 && k < p->input_begin.data[op + 1]; k++) {
        uint32_t read = g->of.data[model_value(s, p->inputs.data[k])->value];
        if (read != NONE && g->lead_of_value.data[read] == NONE)
          g->lead_of_value.data[read] = value;
      }
    }
}

static egraph_status number_leads(grouper *g) {
  eg_soap *s = g->s;
  EG_TRY(eg_fill_none(&s->lead_of, value_count(s)));
  for (size_t i = 0; i < s->order.len; i++) {
    uint32_t value = s->order.data[i];
    if (!is_made(s, value)) continue;
    uint32_t of = g->of.data[model_value(s, value)->value];
    uint32_t lead = of == NONE ? NONE : g->lead_of_value.data[of];
    if (lead == NONE) lead = value;
    if (s->lead_of.data[lead] == NONE) {
      s->lead_of.data[lead] = (uint32_t)s->leads.len;
      EG_TRY(eg_u32s_push(&s->leads, lead));
    }
    s->lead_of.data[value] = s->lead_of.data[lead];
  }
  return EGRAPH_OK;
}

/// Lists the values that follow a lead operator, in order, the lead first, although casts
/// of its operands may come before it.
static egraph_status list_members(eg_soap *s) {
  EG_LOCAL(eg_u32s, key, s->question->alloc);
  EG_LOCAL(eg_u32s, items, s->question->alloc);
  uint32_t shift = 0;
  for (size_t i = 0; i < s->order.len; i++) {
    uint32_t lead = s->lead_of.data[s->order.data[i]];
    bool is_lead = lead != NONE && s->leads.data[lead] == s->order.data[i];
    EG_TRY(eg_u32s_push(&key, is_lead ? NONE : lead));
  }
  EG_TRY(eg_group_items(&key, s->leads.len, &s->member_begin, &items));
  for (uint32_t l = 0; l < s->leads.len; l++) {
    uint32_t begin = s->member_begin.data[l], end = s->member_begin.data[l + 1];
    s->member_begin.data[l] = begin + shift++;
    EG_TRY(eg_u32s_push(&s->members, s->leads.data[l]));
    for (uint32_t i = begin; i < end; i++)
      EG_TRY(eg_u32s_push(&s->members, s->order.data[items.data[i]]));
  }
  s->member_begin.data[s->leads.len] = (uint32_t)s->members.len;
  return EGRAPH_OK;
}

static egraph_status list_options(eg_soap *s) {
  const eg_layout_problem *p = s->problem;
  for (uint32_t l = 0; l < s->leads.len; l++) {
    uint32_t op = s->operator_of.data[s->leads.data[l]];
    EG_TRY(eg_u32s_push(&s->option_begin, (uint32_t)s->options.len));
    for (uint32_t t = p->strategy_begin.data[op]; t < p->strategy_begin.data[op + 1]; t++)
      if (is_allowed(p, t)) EG_TRY(eg_u32s_push(&s->options, t));
    if (s->known != NULL) EG_TRY(eg_u32s_push(&s->options, s->known[s->leads.data[l]]));
  }
  EG_TRY(eg_u32s_push(&s->option_begin, (uint32_t)s->options.len));
  return eg_u32s_resize(&s->follow_row, s->options.len);
}

/// Notes the known solution as the last option of each lead operator: strategies of the
/// values that follow it, and stored values.
static egraph_status note_known(eg_soap *s) {
  EG_TRY(eg_fill_none(&s->kept, value_count(s)));
  for (uint32_t v = 0; s->known != NULL && v < value_count(s); v++)
    if (s->operator_of.data[v] != NONE && s->lead_of.data[v] == NONE)
      s->kept.data[v] = s->known[v];
  for (size_t i = 0; s->known != NULL && i < s->order.len; i++)
    if (s->known[s->order.data[i]] == NONE)
      return EG_FAIL(EGRAPH_E_UNSUPPORTED, "the known solution lacks a value");
  for (uint32_t l = 0; s->known != NULL && l < s->leads.len; l++) {
    s->follow_row.data[s->option_begin.data[l + 1] - 1] = (uint32_t)s->follow.len + 1;
    for (uint32_t i = s->member_begin.data[l]; i < s->member_begin.data[l + 1]; i++)
      EG_TRY(eg_u32s_push(&s->follow, s->known[s->members.data[i]]));
  }
  return EGRAPH_OK;
}

static egraph_status find_leads(eg_soap *s) {
  EG_LOCAL(grouper, g, s->question->alloc);
  g.s = s;
  EG_TRY(read_stamps(&g));
  find_forward_leads(&g);
  EG_TRY(number_leads(&g));
  EG_TRY(list_members(s));
  return list_options(s);
}

// ---- what is kept -------------------------------------------------------------------

static egraph_status note_kept(eg_soap *s) {
  const eg_layout_problem *p = s->problem;
  const eg_plan_space *space = s->space;
  EG_TRY(eg_fill_none(&s->kept_strategy, eg_layout_place_count(p)));
  for (uint32_t v = 0; v < value_count(s); v++) {
    uint32_t op = s->operator_of.data[v];
    if (op == NONE || is_made(s, v)) continue;
    for (uint32_t t = p->strategy_begin.data[op]; t < p->strategy_begin.data[op + 1]; t++)
      if (is_allowed(p, t) && s->kept_strategy.data[p->output.data[t]] == NONE)
        s->kept_strategy.data[p->output.data[t]] = t;
  }
  EG_TRY(eg_fill_none(&s->carried_entry, space->values.len));
  for (uint32_t i = 0; i < space->info->carried_count; i++) {
    const eg_carried_value *carried = &space->info->carried[i];
    uint32_t exit =
        eg_plan_space_value(space, eg_tensor_egraph_root(space->egraph, carried->output));
    s->carried_entry.data[exit] = eg_plan_space_value(
        space, eg_tensor_egraph_value_class(space->egraph, carried->entry));
  }
  return EGRAPH_OK;
}

static egraph_status prepare(eg_soap *s) {
  EG_LOCAL_WITH(walker, w, s->question->alloc, .s = s);
  EG_TRY(index_places(s));
  EG_TRY(pick_operators(s));
  EG_TRY(find_phase_order(&w));
  EG_TRY(find_leads(s));
  EG_TRY(note_kept(s));
  EG_TRY(note_known(s));
  s->streams = eg_issue_streams(&s->question->mesh->mesh, s->question->mesh, false,
                                s->stream_of_arc_axis);
  EG_TRY(eg_u32s_resize(&s->way_row, eg_layout_place_count(s->problem)));
  EG_TRY(eg_fill_none(&s->near, s->space->values.len));
  EG_TRY(eg_fill_none(&s->strategy, value_count(s)));
  EG_TRY(eg_u32s_resize(&s->need_first, value_count(s)));
  return eg_u32s_resize(&s->run_of_place, eg_layout_place_count(s->problem));
}

egraph_status eg_soap_init(eg_soap *soap, const eg_plan_question *question,
                           const uint32_t *known) {
  *soap = (eg_soap){.question = question,
                    .known = known,
                    .space = question->model->space,
                    .problem = &question->model->problem};
  eg_soap_init_members(soap, question->alloc);
  EG_RETURN_FILLED(prepare(soap), eg_soap, soap);
}
