// Repeats until nothing changes: two fixpoints, from the sources up (layouts that can be
// produced) and from the roots down (layouts that are needed); then ties and domination.
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
        (fixed == EG_LAYOUT_NONE || p->output.data[s] == eg_layout_place(p, v, fixed));
    for (uint32_t k = p->need_begin.data[s]; k < p->need_begin.data[s + 1]; k++)
      ok = ok && !p->place_forbidden.data[p->needs.data[k]] &&
           view->place_value.data[p->needs.data[k]] != v;
    active->strategy.data[s] = ok;
  }
  for (uint32_t a = 0; a < active->arc.len; a++) {
    uint32_t from = p->arc_from.data[a], to = p->arc_to.data[a];
    active->arc.data[a] = from != to && !p->arc_forbidden.data[a] &&
                          !p->place_forbidden.data[from] && !p->place_forbidden.data[to];
  }
}

static egraph_status fill_active(eg_layout_active *active) {
  const eg_layout_problem *p = active->view->problem;
  EG_TRY(eg_bytes_resize(&active->strategy, eg_layout_strategy_count(p)));
  EG_TRY(eg_bytes_resize(&active->arc, eg_layout_arc_count(p)));
  EG_TRY(eg_bytes_resize(&active->used, eg_layout_value_count(p)));
  EG_TRY(eg_bytes_resize(&active->required, eg_layout_value_count(p)));
  EG_TRY(eg_bytes_resize(&active->derivable, eg_layout_place_count(p)));
  EG_TRY(eg_bytes_resize(&active->needed, eg_layout_place_count(p)));
  apply_user(active);
  return EGRAPH_OK;
}

egraph_status eg_layout_active_init(eg_layout_active *active, egraph_allocator alloc,
                                    const eg_layout_view *view) {
  *active = (eg_layout_active){.view = view};
  eg_layout_active_init_members(active, alloc);
  EG_RETURN_FILLED(fill_active(active), eg_layout_active, active);
}

void eg_layout_active_copy(eg_layout_active *to, const eg_layout_active *from) {
  assert(to->view == from->view);
  eg_bytes *const mine[] = {&to->strategy, &to->arc,       &to->used,
                            &to->required, &to->derivable, &to->needed};
  const eg_bytes *const other[] = {&from->strategy, &from->arc,       &from->used,
                                   &from->required, &from->derivable, &from->needed};
  for (size_t i = 0; i < sizeof mine / sizeof *mine; i++)
    if (other[i]->len != 0) memcpy(mine[i]->data, other[i]->data, other[i]->len);
  to->infeasible = from->infeasible;
}

bool eg_layout_active_has(const eg_layout_active *active, uint32_t op) {
  const eg_layout_problem *p = active->view->problem;
  for (uint32_t s = p->strategy_begin.data[op]; s < p->strategy_begin.data[op + 1]; s++)
    if (active->strategy.data[s]) return true;
  return false;
}

size_t eg_layout_active_values(const eg_layout_active *active) {
  size_t count = 0;
  for (size_t v = 0; v < active->used.len; v++)
    count += active->used.data[v];
  return count;
}

static void clear_flags(eg_bytes *flags) {
  if (flags->len != 0) memset(flags->data, 0, flags->len);
}

static bool clear_flag(eg_bytes *flags, uint32_t at) {
  assert(at < flags->len);
  bool was = flags->data[at];
  flags->data[at] = 0;
  return was;
}

/// Flags a place (a value in one layout), and queues it if it was not flagged.
static egraph_status queue_place(eg_layout_active *active, eg_bytes *flags,
                                 uint32_t place) {
  assert(place < flags->len);
  if (flags->data[place]) return EGRAPH_OK;
  flags->data[place] = 1;
  return eg_u32s_push(&active->queue, place);
}

/// Finds the layouts of values that can be produced, as a least fixpoint, and drops the
/// others: also layouts that only a cycle could produce.
static egraph_status find_derivable(eg_layout_active *active, bool *changed) {
  const eg_layout_view *view = active->view;
  const eg_layout_problem *p = view->problem;
  clear_flags(&active->derivable);
  active->queue.len = 0;
  EG_TRY(eg_u32s_resize(&active->waiting, active->strategy.len));
  for (uint32_t s = 0; s < active->strategy.len; s++) {
    active->waiting.data[s] = p->need_begin.data[s + 1] - p->need_begin.data[s];
    if (active->strategy.data[s] && active->waiting.data[s] == 0)
      EG_TRY(queue_place(active, &active->derivable, p->output.data[s]));
  }
  for (size_t done = 0; done < active->queue.len; done++) {
    uint32_t place = active->queue.data[done];
    EG_EACH_ITEM(s, view->users, place) {
      if (--active->waiting.data[s] == 0 && active->strategy.data[s])
        EG_TRY(queue_place(active, &active->derivable, p->output.data[s]));
    }
    EG_EACH_ITEM(a, view->out, place)
      if (active->arc.data[a])
        EG_TRY(queue_place(active, &active->derivable, p->arc_to.data[a]));
  }
  for (uint32_t s = 0; s < active->strategy.len; s++)
    if (active->waiting.data[s] != 0) *changed |= clear_flag(&active->strategy, s);
  for (uint32_t a = 0; a < active->arc.len; a++)
    if (!active->derivable.data[p->arc_from.data[a]])
      *changed |= clear_flag(&active->arc, a);
  return EGRAPH_OK;
}

static egraph_status need_value(eg_layout_active *active, uint32_t value) {
  const eg_layout_problem *p = active->view->problem;
  for (uint32_t i = p->place_begin.data[value]; i < p->place_begin.data[value + 1]; i++)
    EG_TRY(queue_place(active, &active->needed, i));
  return EGRAPH_OK;
}

static egraph_status need_roots(eg_layout_active *active) {
  const eg_layout_view *view = active->view;
  const eg_layout_problem *p = view->problem;
  for (uint32_t r = 0; r < p->root_value.len; r++) {
    active->required.data[p->root_value.data[r]] = 1;
    if (p->root_begin.data[r] == p->root_begin.data[r + 1])
      EG_TRY(need_value(active, p->root_value.data[r]));
    for (uint32_t i = p->root_begin.data[r]; i < p->root_begin.data[r + 1]; i++)
      EG_TRY(queue_place(active, &active->needed, p->root_places.data[i]));
  }
  return EGRAPH_OK;
}

static egraph_status need_inputs(eg_layout_active *active, uint32_t place) {
  const eg_layout_view *view = active->view;
  const eg_layout_problem *p = view->problem;
  uint32_t value = view->place_value.data[place];
  EG_EACH_ITEM(a, view->in, place)
    if (active->arc.data[a])
      EG_TRY(queue_place(active, &active->needed, p->arc_from.data[a]));
  EG_EACH_ITEM(s, view->strategies, value) {
    if (!active->strategy.data[s] || p->output.data[s] != place) continue;
    for (uint32_t k = p->need_begin.data[s]; k < p->need_begin.data[s + 1]; k++)
      EG_TRY(queue_place(active, &active->needed, p->needs.data[k]));
  }
  return EGRAPH_OK;
}

static egraph_status find_needed(eg_layout_active *active, bool *changed) {
  const eg_layout_view *view = active->view;
  const eg_layout_problem *p = view->problem;
  clear_flags(&active->needed);
  clear_flags(&active->used);
  active->queue.len = 0;
  EG_TRY(need_roots(active));
  for (size_t done = 0; done < active->queue.len; done++) {
    active->used.data[view->place_value.data[active->queue.data[done]]] = 1;
    EG_TRY(need_inputs(active, active->queue.data[done]));
  }
  for (uint32_t s = 0; s < active->strategy.len; s++)
    if (!active->needed.data[p->output.data[s]])
      *changed |= clear_flag(&active->strategy, s);
  for (uint32_t a = 0; a < active->arc.len; a++)
    if (!active->needed.data[p->arc_to.data[a]]) *changed |= clear_flag(&active->arc, a);
  return EGRAPH_OK;
}

/// Requires the common inputs of all active operators of a required value; *moved: some
/// are new. False when a required value has no strategy left.
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

/// True when an active strategy produces a value in this layout.
static bool has_layout(const eg_layout_active *active, uint32_t value, uint32_t layout) {
  const eg_layout_view *view = active->view;
  EG_EACH_ITEM(s, view->strategies, value) {
    if (active->strategy.data[s] && eg_layout_output(view, s) == layout) return true;
  }
  return false;
}

/// Drops the layouts of a tie's members that some required member lacks.
static void drop_disagreeing(eg_layout_active *active, uint32_t tie, bool *changed) {
  const eg_layout_view *view = active->view;
  const eg_layout_problem *p = view->problem;
  uint32_t begin = p->tie_begin.data[tie], end = p->tie_begin.data[tie + 1];
  for (uint32_t m = begin; m < end; m++) {
    uint32_t member = p->tie_members.data[m];
    if (!active->required.data[member]) continue;
    for (uint32_t o = begin; o < end; o++) {
      uint32_t other = p->tie_members.data[o];
      EG_EACH_ITEM(s, view->strategies, other) {
        if (active->strategy.data[s] &&
            !has_layout(active, member, eg_layout_output(view, s)))
          *changed |= clear_flag(&active->strategy, s);
      }
    }
  }
}

// ---- domination ---------------------------------------------------------------------
//
// An arc is dropped when two other arcs in sequence connect the same places at no higher
// weight in any measure that counts. Strategy a is dropped when a strategy b of its value
// replaces it at no higher weight: the needs of b are reached from the needs of a, the
// output of a from the output of b, and these arcs are added to b. Only inputs of a are
// used, so no cycle can arise, and b is still active when the next strategy is judged.

enum { MAX_STRATEGIES = 600, MAX_ENTRIES = 1 << 20, MAX_PLACES = 256 };

typedef struct domination {
  eg_layout_active *active;
  const eg_layout_task *task;
  int measures[EG_LAYOUT_MEASURES], count; // measures that count; the objective first
  eg_sizes begin;                          // [values + 1] in far
  eg_doubles far;    // [value][from][to][measure] of one cheapest path
  eg_u32s arc_at;    // [from][to] of one value: 1 + arc
  eg_u32s made_from; // [layout] of one value: a place, or NONE
  size_t dropped;
} domination;
EG_OWNER_DEFINE_STATIC(domination, (eg_sizes, begin), (eg_doubles, far),
                       (eg_u32s, arc_at, made_from))

static double arc_weight(const domination *d, int k, uint32_t arc) {
  return d->active->view->arc_weight[d->measures[k]].data[arc];
}

static double strategy_weight(const domination *d, int k, uint32_t s) {
  return d->active->view->strategy_weight[d->measures[k]].data[s];
}

static bool is_covered(const domination *d, uint32_t arc, uint32_t first,
                       uint32_t second) {
  for (int k = 0; k < d->count; k++)
    if (arc_weight(d, k, first) + (second == arc ? 0 : arc_weight(d, k, second)) >
        arc_weight(d, k, arc))
      return false;
  return true;
}

/// Drops the dearer of two parallel arcs; of equal arcs the second.
static egraph_status enter_arcs(domination *d, uint32_t value, uint32_t places) {
  const eg_layout_view *view = d->active->view;
  const eg_layout_problem *p = view->problem;
  uint32_t base = p->place_begin.data[value];
  d->arc_at.len = 0;
  EG_TRY(eg_u32s_resize(&d->arc_at, (size_t)places * places));
  EG_EACH_ITEM(a, view->value_arcs, value) {
    if (!d->active->arc.data[a]) continue;
    uint32_t *slot = d->arc_at.data + (p->arc_from.data[a] - base) * places +
                     (p->arc_to.data[a] - base);
    if (*slot == 0) {
      *slot = a + 1;
    } else if (is_covered(d, a, *slot - 1, a)) {
      d->active->arc.data[a] = 0;
      d->dropped++;
    } else if (is_covered(d, *slot - 1, a, *slot - 1)) {
      d->active->arc.data[*slot - 1] = 0;
      d->dropped++;
      *slot = a + 1;
    }
  }
  return EGRAPH_OK;
}

static egraph_status drop_arcs(domination *d, uint32_t value) {
  uint32_t places = eg_layout_layout_count(d->active->view->problem, value);
  if (places > MAX_PLACES || places < 2) return EGRAPH_OK;
  EG_TRY(enter_arcs(d, value, places));
  for (uint32_t from = 0; from < places; from++)
    for (uint32_t to = 0; to < places; to++) {
      uint32_t *slot = d->arc_at.data + from * places + to;
      for (uint32_t via = 0; via < places && *slot != 0; via++) {
        uint32_t one = d->arc_at.data[from * places + via];
        uint32_t two = d->arc_at.data[via * places + to];
        if (via == from || via == to || one == 0 || two == 0) continue;
        if (!is_covered(d, *slot - 1, one - 1, two - 1)) continue;
        d->active->arc.data[*slot - 1] = 0;
        d->dropped++;
        *slot = 0;
      }
    }
  return EGRAPH_OK;
}

static double *far_of(const domination *d, uint32_t from, uint32_t to) {
  const eg_layout_view *view = d->active->view;
  uint32_t value = view->place_value.data[from];
  uint32_t base = view->problem->place_begin.data[value];
  uint32_t places = eg_layout_layout_count(view->problem, value);
  return d->far.data + d->begin.data[value] +
         ((size_t)(from - base) * places + (to - base)) * (size_t)d->count;
}

static void measure_paths(domination *d, uint32_t value) {
  const eg_layout_view *view = d->active->view;
  const eg_layout_problem *p = view->problem;
  const size_t count = (size_t)d->count, places = eg_layout_layout_count(p, value);
  double *far = d->far.data + d->begin.data[value]; // [from][to][measure], as in far_of
  for (size_t e = 0; e < places * places * count; e++)
    far[e] = e / count % (places + 1) == 0 ? 0 : INFINITY; // the diagonal
  EG_EACH_ITEM(a, view->value_arcs, value) {
    double *entry = far_of(d, p->arc_from.data[a], p->arc_to.data[a]);
    if (!d->active->arc.data[a] || !(arc_weight(d, 0, a) < entry[0])) continue;
    for (int k = 0; k < d->count; k++)
      entry[k] = arc_weight(d, k, a);
  }
  for (size_t via = 0; via < places; via++)
    for (size_t i = 0; i < places; i++) {
      double first[EG_LAYOUT_MEASURES];
      memcpy(first, far + (i * places + via) * count, count * sizeof(double));
      if (!isfinite(first[0])) continue;
      double *entry = far + i * places * count, *second = far + via * places * count;
      for (size_t j = 0; j < places; j++, entry += count, second += count) {
        if (!(first[0] + second[0] < entry[0])) continue;
        for (size_t k = 0; k < count; k++)
          entry[k] = first[k] + second[k];
      }
    }
}

// Reserves memory for conversion paths of all values; *out_fits: false if too large.
static egraph_status begin_paths(domination *d, bool *out_fits) {
  const eg_layout_problem *p = d->active->view->problem;
  size_t total = 0;
  for (uint32_t v = 0; v < eg_layout_value_count(p); v++) {
    size_t places = eg_layout_layout_count(p, v);
    EG_TRY(eg_sizes_push(&d->begin, total));
    total += places * places * (size_t)d->count;
    *out_fits = total <= MAX_ENTRIES;
    if (!*out_fits) return EGRAPH_OK;
  }
  EG_TRY(eg_doubles_resize(&d->far, total));
  for (uint32_t v = 0; v < eg_layout_value_count(p); v++)
    measure_paths(d, v);
  return EGRAPH_OK;
}

// Returns the weights of the cheapest conversion to a place from the layout of its value
// that strategy `s` needs; NULL when there is none.
static const double *way_from(const domination *d, uint32_t s, uint32_t place) {
  const eg_layout_view *view = d->active->view;
  const eg_layout_problem *p = view->problem;
  const double *best = NULL;
  for (uint32_t k = p->need_begin.data[s]; k < p->need_begin.data[s + 1]; k++) {
    uint32_t need = p->needs.data[k];
    if (view->place_value.data[need] != view->place_value.data[place]) continue;
    const double *way = far_of(d, need, place);
    if (isfinite(way[0]) && (best == NULL || way[0] < best[0])) best = way;
  }
  return best;
}

static bool has_room(const domination *d, const double *sum, uint32_t s) {
  for (int k = 0; k < d->count; k++)
    if (sum[k] > strategy_weight(d, k, s)) return false;
  return true;
}

static bool dominates(const domination *d, uint32_t by, uint32_t s) {
  const eg_layout_view *view = d->active->view;
  const eg_layout_problem *p = view->problem;
  double sum[EG_LAYOUT_MEASURES];
  const double *way = far_of(d, p->output.data[by], p->output.data[s]);
  for (int k = 0; k < d->count; k++)
    sum[k] = strategy_weight(d, k, by) + way[k];
  if (!has_room(d, sum, s)) return false;
  uint32_t value = view->value_of.data[s];
  bool is_tied = view->ties.begin.data[value] != view->ties.begin.data[value + 1];
  if (is_tied && p->output.data[by] != p->output.data[s]) return false;
  for (uint32_t i = p->need_begin.data[by]; i < p->need_begin.data[by + 1]; i++) {
    way = way_from(d, s, p->needs.data[i]);
    if (way == NULL) return false;
    for (int k = 0; k < d->count; k++)
      sum[k] += way[k];
    if (!has_room(d, sum, s)) return false;
  }
  return true;
}

static void drop_strategies(domination *d, uint32_t value) {
  const eg_layout_view *view = d->active->view;
  uint32_t begin = view->strategies.begin.data[value];
  uint32_t end = view->strategies.begin.data[value + 1];
  if (end - begin > MAX_STRATEGIES) return;
  const uint32_t *all = view->strategies.items.data;
  uint8_t *alive = d->active->strategy.data;
  for (uint32_t i = end; i-- > begin;)
    for (uint32_t j = begin; j < end && alive[all[i]]; j++) {
      if (j == i || !alive[all[j]] || !dominates(d, all[j], all[i])) continue;
      alive[all[i]] = 0;
      d->dropped++;
    }
}

// ---- values that are passed over ------------------------------------------------------
//
//   b --(cast)--> x --(add a x)--> y      and      a, b --(fused "(add a (cast b))")--> y
//
// A value x is passed over when each place of it is made from one place of one value b,
// which is converted at no higher weight than x, and when each strategy that needs x has
// a twin: of the same value and output, at no higher weight, it needs that place of b
// instead. In any solution each user of x can be replaced by its twin: x and its
// conversions are not paid then, and those of b cost no more. So a cheapest solution
// lacks x. The twins need what x was made from, so no cycle can arise.

/// Notes the place of one other value that each place of a value is made from. False when
/// a strategy needs more than one place, or two of them differ.
static bool note_sources(domination *d, uint32_t value) {
  const eg_layout_view *view = d->active->view;
  const eg_layout_problem *p = view->problem;
  uint32_t from = EG_LAYOUT_NONE, layouts = eg_layout_layout_count(p, value);
  for (uint32_t l = 0; l < layouts; l++)
    d->made_from.data[l] = EG_LAYOUT_NONE;
  EG_EACH_ITEM(s, view->strategies, value) {
    uint32_t need = p->need_begin.data[s];
    if (!d->active->strategy.data[s]) continue;
    if (p->need_begin.data[s + 1] != need + 1) return false;
    uint32_t place = p->needs.data[need];
    uint32_t *slot = &d->made_from.data[eg_layout_output(view, s)];
    if ((from != EG_LAYOUT_NONE && view->place_value.data[place] != from) ||
        (*slot != EG_LAYOUT_NONE && *slot != place))
      return false;
    *slot = place;
    from = view->place_value.data[place];
  }
  return from != EG_LAYOUT_NONE;
}

/// True when every conversion of a value costs no more before the value is made.
static bool converts_like(const domination *d, uint32_t value) {
  const eg_layout_view *view = d->active->view;
  const eg_layout_problem *p = view->problem;
  uint32_t first = p->place_begin.data[value];
  EG_EACH_ITEM(a, view->value_arcs, value) {
    if (!d->active->arc.data[a]) continue;
    uint32_t from = d->made_from.data[p->arc_from.data[a] - first];
    uint32_t to = d->made_from.data[p->arc_to.data[a] - first];
    if (from == EG_LAYOUT_NONE || to == EG_LAYOUT_NONE) return false;
    const double *way = far_of(d, from, to);
    for (int k = 0; k < d->count; k++)
      if (way[k] > arc_weight(d, k, a)) return false;
  }
  return true;
}

/// True when a strategy needs a place, or needs one that is made from it.
static bool has_need(const domination *d, uint32_t s, uint32_t passed, uint32_t place) {
  const eg_layout_view *view = d->active->view;
  const eg_layout_problem *p = view->problem;
  for (uint32_t k = p->need_begin.data[s]; k < p->need_begin.data[s + 1]; k++) {
    uint32_t need = p->needs.data[k];
    if (need == place) return true;
    if (view->place_value.data[need] == passed &&
        d->made_from.data[need - p->place_begin.data[passed]] == place)
      return true;
  }
  return false;
}

/// True when a strategy has the same output as `s`, no higher weight, and needs what `s`
/// needs, but what the value `passed` is made from in place of it.
static bool is_twin(const domination *d, uint32_t twin, uint32_t s, uint32_t passed) {
  const eg_layout_view *view = d->active->view;
  const eg_layout_problem *p = view->problem;
  if (p->output.data[twin] != p->output.data[s]) return false;
  for (uint32_t i = p->need_begin.data[twin]; i < p->need_begin.data[twin + 1]; i++)
    if (view->place_value.data[p->needs.data[i]] == passed ||
        !has_need(d, s, passed, p->needs.data[i]))
      return false;
  for (int k = 0; k < d->count; k++)
    if (strategy_weight(d, k, twin) > strategy_weight(d, k, s)) return false;
  return true;
}

static bool has_twin(const domination *d, uint32_t s, uint32_t passed) {
  EG_EACH_ITEM(twin, d->active->view->strategies, d->active->view->value_of.data[s]) {
    if (d->active->strategy.data[twin] && is_twin(d, twin, s, passed)) return true;
  }
  return false;
}

/// True when every strategy that needs a value has a twin.
static bool have_twins(const domination *d, uint32_t value) {
  const eg_layout_problem *p = d->active->view->problem;
  for (uint32_t i = p->place_begin.data[value]; i < p->place_begin.data[value + 1]; i++) {
    EG_EACH_ITEM(s, d->active->view->users, i) {
      if (d->active->strategy.data[s] && !has_twin(d, s, value)) return false;
    }
  }
  return true;
}

/// True for a value that every solution has, or whose layout others depend on.
static bool is_fixed(const eg_layout_active *active, uint32_t value) {
  const eg_layout_view *view = active->view;
  size_t seams = view->seams != NULL ? view->seams->len : 0;
  for (size_t i = 0; i < seams; i++) {
    const eg_layout_seam *seam = &view->seams->data[i];
    if (value == seam->before || value == seam->first || value == seam->last ||
        value == seam->after)
      return true;
  }
  return active->required.data[value] ||
         view->ties.begin.data[value] != view->ties.begin.data[value + 1];
}

static void pass_over(domination *d, uint32_t value) {
  if (is_fixed(d->active, value) || !note_sources(d, value) || !converts_like(d, value) ||
      !have_twins(d, value))
    return;
  EG_EACH_ITEM(s, d->active->view->strategies, value) {
    d->dropped += clear_flag(&d->active->strategy, s);
  }
}

static egraph_status dominate(domination *d) {
  const eg_layout_problem *p = d->active->view->problem;
  for (uint32_t v = 0; v < eg_layout_value_count(p); v++)
    if (d->active->used.data[v]) EG_TRY(drop_arcs(d, v));
  if (d->task->excluded != NULL && d->task->excluded->len != 0) return EGRAPH_OK;
  bool fits = true;
  EG_TRY(begin_paths(d, &fits));
  if (!fits) return EGRAPH_OK;
  for (uint32_t v = 0; v < eg_layout_value_count(p); v++)
    if (d->active->used.data[v]) drop_strategies(d, v);
  EG_TRY(eg_u32s_resize(&d->made_from, eg_layout_place_count(p)));
  for (uint32_t v = 0; v < eg_layout_value_count(p); v++)
    if (d->active->used.data[v]) pass_over(d, v);
  return EGRAPH_OK;
}

static egraph_status drop_dominated(eg_layout_active *active, const eg_layout_task *task,
                                    bool *changed) {
  EG_LOCAL_WITH(domination, d, active->strategy.alloc, .active = active, .task = task);
  d.measures[d.count++] = (int)task->objective;
  for (int m = 0; m < EG_LAYOUT_MEASURES; m++)
    if (m != (int)task->objective && eg_layout_counts(task, m)) d.measures[d.count++] = m;
  egraph_status status = dominate(&d);
  *changed |= d.dropped != 0;
  return status;
}

// ---- the whole ----------------------------------------------------------------------

/// False when some root has no layout that can be produced.
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

/// Finds which layouts of values can be produced and are needed, by the strategies and
/// arcs that are left, and deletes the other strategies and arcs.
static egraph_status settle_flags(eg_layout_active *active, bool *changed) {
  EG_TRY(find_derivable(active, changed));
  EG_TRY(find_needed(active, changed));
  require_all(active);
  return EGRAPH_OK;
}

egraph_status eg_layout_presolve_apart(eg_layout_active *active) {
  for (bool changed = true; changed && !active->infeasible;) {
    changed = false;
    EG_TRY(settle_flags(active, &changed));
  }
  if (!has_roots(active)) active->infeasible = true;
  return EGRAPH_OK;
}

egraph_status eg_layout_presolve(eg_layout_active *active, const eg_layout_task *task) {
  bool changed = true;
  for (int round = 0; round < MAX_ROUNDS && changed && !active->infeasible; round++) {
    changed = false;
    EG_TRY(settle_flags(active, &changed));
    for (uint32_t t = 0; t < eg_layout_tie_count(active->view->problem); t++)
      drop_disagreeing(active, t, &changed);
    if (!changed && !active->infeasible) EG_TRY(drop_dominated(active, task, &changed));
  }
  // Recomputes the flags of all layouts: the last round may have been interrupted.
  bool ignored = false;
  EG_TRY(settle_flags(active, &ignored));
  if (!has_roots(active)) active->infeasible = true;
  return EGRAPH_OK;
}
