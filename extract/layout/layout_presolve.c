// Two fixpoints, from the sources up (what can be derived) and from the roots down (what
// is needed), then ties and domination, until nothing changes.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_presolve.h"

enum { MAX_ROUNDS = 30 };

static void apply_user(eg_layout_active *active) {
  const eg_layout_view *view = active->view;
  const eg_layout_problem *p = view->problem;
  for (uint32_t s = 0; s < active->strategy.len; s++) {
    uint32_t v = view->value_of.data[s], fixed = p->source_layout.data[v];
    bool ok =
        !p->forbidden.data[s] && !p->place_forbidden.data[p->output.data[s]] &&
        (view->fixed == NULL || view->fixed[v] == EG_LAYOUT_NONE ||
         view->fixed[v] == s) &&
        (fixed == EG_LAYOUT_NONE || p->output.data[s] == eg_layout_place(p, v, fixed));
    for (uint32_t k = p->need_begin.data[s]; k < p->need_begin.data[s + 1]; k++)
      ok = ok && !p->place_forbidden.data[p->needs.data[k]] &&
           view->place_value.data[p->needs.data[k]] != v;
    active->strategy.data[s] = ok;
  }
  for (uint32_t a = 0; a < active->arc.len; a++) {
    uint32_t from = p->arc_from.data[a], to = p->arc_to.data[a];
    active->arc.data[a] =
        from != to && !p->place_forbidden.data[from] && !p->place_forbidden.data[to];
  }
}

static egraph_status size_active(eg_layout_active *active) {
  const eg_layout_problem *p = active->view->problem;
  EG_TRY(eg_bytes_resize(&active->strategy, eg_layout_strategy_count(p)));
  EG_TRY(eg_bytes_resize(&active->arc, eg_layout_arc_count(p)));
  EG_TRY(eg_bytes_resize(&active->used, eg_layout_value_count(p)));
  EG_TRY(eg_bytes_resize(&active->required, eg_layout_value_count(p)));
  EG_TRY(eg_bytes_resize(&active->derivable, eg_layout_place_count(p)));
  return eg_bytes_resize(&active->wanted, eg_layout_place_count(p));
}

egraph_status eg_layout_active_init(eg_layout_active *active, egraph_allocator alloc,
                                    const eg_layout_view *view) {
  *active = (eg_layout_active){.view = view};
  eg_bytes_init(&active->strategy, alloc);
  eg_bytes_init(&active->arc, alloc);
  eg_bytes_init(&active->used, alloc);
  eg_bytes_init(&active->required, alloc);
  eg_bytes_init(&active->derivable, alloc);
  eg_bytes_init(&active->wanted, alloc);
  eg_u32s_init(&active->waiting, alloc);
  eg_u32s_init(&active->queue, alloc);
  egraph_status status = size_active(active);
  if (status != EGRAPH_OK) {
    eg_layout_active_deinit(active);
    return status;
  }
  apply_user(active);
  return EGRAPH_OK;
}

void eg_layout_active_deinit(eg_layout_active *active) {
  eg_u32s_deinit(&active->queue);
  eg_u32s_deinit(&active->waiting);
  eg_bytes_deinit(&active->wanted);
  eg_bytes_deinit(&active->derivable);
  eg_bytes_deinit(&active->required);
  eg_bytes_deinit(&active->used);
  eg_bytes_deinit(&active->arc);
  eg_bytes_deinit(&active->strategy);
}

static void copy_flags(eg_bytes *to, const eg_bytes *from) {
  if (from->len != 0) memcpy(to->data, from->data, from->len);
}

void eg_layout_active_copy(eg_layout_active *to, const eg_layout_active *from) {
  copy_flags(&to->strategy, &from->strategy);
  copy_flags(&to->arc, &from->arc);
  copy_flags(&to->used, &from->used);
  copy_flags(&to->required, &from->required);
  copy_flags(&to->derivable, &from->derivable);
  copy_flags(&to->wanted, &from->wanted);
  to->infeasible = from->infeasible;
}

static void zero(eg_bytes *flags) {
  if (flags->len != 0) memset(flags->data, 0, flags->len);
}

static bool drop(eg_bytes *flags, uint32_t at) {
  bool was = flags->data[at];
  flags->data[at] = 0;
  return was;
}

static egraph_status reach_place(eg_layout_active *active, uint32_t place) {
  if (active->derivable.data[place]) return EGRAPH_OK;
  active->derivable.data[place] = 1;
  return eg_u32s_push(&active->queue, place);
}

// Least fixpoint: also leaves out what only a cycle could derive.
static egraph_status derive(eg_layout_active *active, bool *changed) {
  const eg_layout_view *view = active->view;
  const eg_layout_problem *p = view->problem;
  zero(&active->derivable);
  active->queue.len = 0;
  EG_TRY(eg_u32s_resize(&active->waiting, active->strategy.len));
  for (uint32_t s = 0; s < active->strategy.len; s++) {
    active->waiting.data[s] = p->need_begin.data[s + 1] - p->need_begin.data[s];
    if (active->strategy.data[s] && active->waiting.data[s] == 0)
      EG_TRY(reach_place(active, p->output.data[s]));
  }
  for (size_t done = 0; done < active->queue.len; done++) {
    uint32_t place = active->queue.data[done];
    for (uint32_t i = view->users.begin.data[place];
         i < view->users.begin.data[place + 1]; i++) {
      uint32_t s = view->users.items.data[i];
      if (--active->waiting.data[s] == 0 && active->strategy.data[s])
        EG_TRY(reach_place(active, p->output.data[s]));
    }
    for (uint32_t i = view->out.begin.data[place]; i < view->out.begin.data[place + 1];
         i++)
      if (active->arc.data[view->out.items.data[i]])
        EG_TRY(reach_place(active, p->arc_to.data[view->out.items.data[i]]));
  }
  for (uint32_t s = 0; s < active->strategy.len; s++)
    if (active->waiting.data[s] != 0) *changed |= drop(&active->strategy, s);
  for (uint32_t a = 0; a < active->arc.len; a++)
    if (!active->derivable.data[p->arc_from.data[a]]) *changed |= drop(&active->arc, a);
  return EGRAPH_OK;
}

static egraph_status want_place(eg_layout_active *active, uint32_t place) {
  if (active->wanted.data[place]) return EGRAPH_OK;
  active->wanted.data[place] = 1;
  return eg_u32s_push(&active->queue, place);
}

static egraph_status want_value(eg_layout_active *active, uint32_t value) {
  const eg_layout_problem *p = active->view->problem;
  for (uint32_t i = p->place_begin.data[value]; i < p->place_begin.data[value + 1]; i++)
    EG_TRY(want_place(active, i));
  return EGRAPH_OK;
}

static egraph_status want_roots(eg_layout_active *active) {
  const eg_layout_view *view = active->view;
  const eg_layout_problem *p = view->problem;
  for (uint32_t r = 0; r < p->root_value.len; r++) {
    active->required.data[p->root_value.data[r]] = 1;
    if (p->root_begin.data[r] == p->root_begin.data[r + 1])
      EG_TRY(want_value(active, p->root_value.data[r]));
    for (uint32_t i = p->root_begin.data[r]; i < p->root_begin.data[r + 1]; i++)
      EG_TRY(want_place(active, p->root_places.data[i]));
  }
  return EGRAPH_OK;
}

static egraph_status want_inputs(eg_layout_active *active, uint32_t place) {
  const eg_layout_view *view = active->view;
  const eg_layout_problem *p = view->problem;
  uint32_t value = view->place_value.data[place];
  for (uint32_t i = view->in.begin.data[place]; i < view->in.begin.data[place + 1]; i++)
    if (active->arc.data[view->in.items.data[i]])
      EG_TRY(want_place(active, p->arc_from.data[view->in.items.data[i]]));
  for (uint32_t i = view->strategies.begin.data[value];
       i < view->strategies.begin.data[value + 1]; i++) {
    uint32_t s = view->strategies.items.data[i];
    if (!active->strategy.data[s] || p->output.data[s] != place) continue;
    for (uint32_t k = p->need_begin.data[s]; k < p->need_begin.data[s + 1]; k++)
      EG_TRY(want_place(active, p->needs.data[k]));
  }
  return EGRAPH_OK;
}

static egraph_status want(eg_layout_active *active, bool *changed) {
  const eg_layout_view *view = active->view;
  const eg_layout_problem *p = view->problem;
  zero(&active->wanted);
  zero(&active->used);
  active->queue.len = 0;
  EG_TRY(want_roots(active));
  for (size_t done = 0; done < active->queue.len; done++) {
    active->used.data[view->place_value.data[active->queue.data[done]]] = 1;
    EG_TRY(want_inputs(active, active->queue.data[done]));
  }
  for (uint32_t s = 0; s < active->strategy.len; s++)
    if (!active->wanted.data[p->output.data[s]]) *changed |= drop(&active->strategy, s);
  for (uint32_t a = 0; a < active->arc.len; a++)
    if (!active->wanted.data[p->arc_to.data[a]]) *changed |= drop(&active->arc, a);
  return EGRAPH_OK;
}

// An input of every operator left of a required value is required. False when a required
// value has no strategy left.
static bool require_inputs(eg_layout_active *active, uint32_t value, bool *moved) {
  const eg_layout_view *view = active->view;
  const eg_layout_problem *p = view->problem;
  uint32_t first = EG_LAYOUT_NONE;
  for (uint32_t i = view->strategies.begin.data[value];
       i < view->strategies.begin.data[value + 1] && first == EG_LAYOUT_NONE; i++)
    if (active->strategy.data[view->strategies.items.data[i]])
      first = view->op_of.data[view->strategies.items.data[i]];
  if (first == EG_LAYOUT_NONE) return false;
  for (uint32_t k = p->input_begin.data[first]; k < p->input_begin.data[first + 1]; k++) {
    uint32_t input = p->inputs.data[k];
    bool common = !active->required.data[input];
    for (uint32_t i = view->strategies.begin.data[value];
         i < view->strategies.begin.data[value + 1] && common; i++) {
      uint32_t s = view->strategies.items.data[i], op = view->op_of.data[s];
      if (!active->strategy.data[s] || op == first) continue;
      common = false;
      for (uint32_t j = p->input_begin.data[op]; j < p->input_begin.data[op + 1]; j++)
        common = common || p->inputs.data[j] == input;
    }
    if (!common) continue;
    active->required.data[input] = 1;
    *moved = true;
  }
  return true;
}

static void require_all(eg_layout_active *active) {
  for (bool moved = true; moved && !active->infeasible;) {
    moved = false;
    for (uint32_t v = 0; v < active->required.len && !active->infeasible; v++)
      if (active->required.data[v] && !require_inputs(active, v, &moved))
        active->infeasible = true;
  }
}

/// Whether a strategy is left that produces a value in the layout of this number.
static bool has_layout(const eg_layout_active *active, uint32_t value, uint32_t layout) {
  const eg_layout_view *view = active->view;
  for (uint32_t i = view->strategies.begin.data[value];
       i < view->strategies.begin.data[value + 1]; i++) {
    uint32_t s = view->strategies.items.data[i];
    if (active->strategy.data[s] && eg_layout_output(view, s) == layout) return true;
  }
  return false;
}

/// Members of a tie have only layouts that every required member has.
static void agree(eg_layout_active *active, uint32_t tie, bool *changed) {
  const eg_layout_view *view = active->view;
  const eg_layout_problem *p = view->problem;
  uint32_t begin = p->tie_begin.data[tie], end = p->tie_begin.data[tie + 1];
  for (uint32_t m = begin; m < end; m++) {
    uint32_t member = p->tie_members.data[m];
    if (!active->required.data[member]) continue;
    for (uint32_t o = begin; o < end; o++) {
      uint32_t other = p->tie_members.data[o];
      for (uint32_t i = view->strategies.begin.data[other];
           i < view->strategies.begin.data[other + 1]; i++) {
        uint32_t s = view->strategies.items.data[i];
        if (active->strategy.data[s] &&
            !has_layout(active, member, eg_layout_output(view, s)))
          *changed |= drop(&active->strategy, s);
      }
    }
  }
}

// False when a root cannot be had in any layout asked for.
static bool has_roots(const eg_layout_active *active) {
  const eg_layout_problem *p = active->view->problem;
  for (uint32_t r = 0; r < p->root_value.len; r++) {
    uint32_t begin = p->root_begin.data[r], end = p->root_begin.data[r + 1];
    bool found = begin == end;
    for (uint32_t i = begin; i < end; i++)
      found = found || active->derivable.data[p->root_places.data[i]];
    if (!found) return false;
  }
  return true;
}

/// What flags say, from what strategies and arcs are left.
static egraph_status settle(eg_layout_active *active, bool *changed) {
  EG_TRY(derive(active, changed));
  EG_TRY(want(active, changed));
  require_all(active);
  return EGRAPH_OK;
}

egraph_status eg_layout_presolve_apart(eg_layout_active *active) {
  for (bool changed = true; changed && !active->infeasible;) {
    changed = false;
    EG_TRY(settle(active, &changed));
  }
  if (!has_roots(active)) active->infeasible = true;
  return EGRAPH_OK;
}

egraph_status eg_layout_presolve(eg_layout_active *active, const eg_layout_task *task) {
  bool changed = true;
  for (int round = 0; round < MAX_ROUNDS && changed && !active->infeasible; round++) {
    changed = false;
    EG_TRY(settle(active, &changed));
    for (uint32_t t = 0; t < eg_layout_tie_count(active->view->problem); t++)
      agree(active, t, &changed);
    if (!changed && !active->infeasible)
      EG_TRY(eg_layout_dominate(active, task, &changed));
  }
  // The last round may have been cut short: leave the flags consistent.
  bool ignored = false;
  EG_TRY(settle(active, &ignored));
  if (!has_roots(active)) active->infeasible = true;
  return EGRAPH_OK;
}
