// Layouts and moves are compared as texts, so that plans on different meshes compare too.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_diff.h"

#include "base/strmap.h"
#include "pcg/plan/plan_delivered.h"

typedef struct differ {
  const eg_plan *before, *after;
  egraph_allocator alloc;
  eg_plan_diff *out;
  eg_text scratch;
} differ;

static egraph_status keep_text(differ *d, const char **out) {
  return eg_arena_string(&d->out->arena, eg_text_of(&d->scratch), d->scratch.chars.len,
                         out);
}

static egraph_status layout_text(differ *d, const eg_plan *plan, uint32_t state,
                                 const char **out) {
  eg_text_clear(&d->scratch);
  EG_TRY(eg_layout_print(&d->scratch, &plan->mesh, &plan->states.data[state].layout));
  return keep_text(d, out);
}

// ---- layouts --------------------------------------------------------------------------

/// States of a plan by value.
typedef struct state_lists {
  eg_u32s first, next; // [values], [states]; EG_PLAN_NONE ends a list
} state_lists;

static void lists_init(state_lists *lists, egraph_allocator alloc) {
  eg_u32s_init(&lists->first, alloc);
  eg_u32s_init(&lists->next, alloc);
}

static void lists_deinit(state_lists *lists) {
  eg_u32s_deinit(&lists->first);
  eg_u32s_deinit(&lists->next);
}

static egraph_status list_states(const eg_plan *plan, state_lists *lists) {
  uint32_t values = eg_graph_value_count(plan->graph);
  EG_TRY(eg_u32s_reserve(&lists->first, values));
  EG_TRY(eg_u32s_resize(&lists->next, plan->states.len));
  for (uint32_t v = 0; v < values; v++)
    EG_TRY(eg_u32s_push(&lists->first, EG_PLAN_NONE));
  for (uint32_t i = (uint32_t)plan->states.len; i-- > 0;) {
    uint32_t *first = &lists->first.data[plan->states.data[i].value.id];
    lists->next.data[i] = *first;
    *first = i;
  }
  return EGRAPH_OK;
}

/// The layouts of a value in the order of its states; NULL when there are none.
static egraph_status layouts_of(differ *d, const eg_plan *plan, const state_lists *lists,
                                eg_value value, const char **out) {
  uint32_t state = lists->first.data[value.id];
  *out = NULL;
  if (state == EG_PLAN_NONE) return EGRAPH_OK;
  eg_text_clear(&d->scratch);
  for (; state != EG_PLAN_NONE; state = lists->next.data[state]) {
    if (d->scratch.chars.len != 0) EG_TRY(eg_text_append(&d->scratch, " "));
    EG_TRY(eg_layout_print(&d->scratch, &plan->mesh, &plan->states.data[state].layout));
  }
  return keep_text(d, out);
}

static bool same_text(const char *a, const char *b) {
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static egraph_status compare_value(differ *d, const state_lists *before,
                                   const state_lists *after, const char *name) {
  eg_layout_change change = {.value = NULL};
  eg_value value;
  if (eg_graph_find_value(d->before->graph, name, &value))
    EG_TRY(layouts_of(d, d->before, before, value, &change.before));
  if (eg_graph_find_value(d->after->graph, name, &value))
    EG_TRY(layouts_of(d, d->after, after, value, &change.after));
  if (same_text(change.before, change.after)) return EGRAPH_OK;
  EG_TRY(eg_arena_string(&d->out->arena, name, strlen(name), &change.value));
  return eg_layout_changes_push(&d->out->layouts, change);
}

static egraph_status compare_values(differ *d, const state_lists *before,
                                    const state_lists *after) {
  const eg_graph *first = d->before->graph, *second = d->after->graph;
  for (uint32_t v = 0; v < eg_graph_value_count(first); v++)
    EG_TRY(compare_value(d, before, after, eg_graph_value(first, (eg_value){v})->name));
  for (uint32_t v = 0; v < eg_graph_value_count(second); v++) {
    const char *name = eg_graph_value(second, (eg_value){v})->name;
    eg_value other;
    if (!eg_graph_find_value(first, name, &other))
      EG_TRY(compare_value(d, before, after, name));
  }
  return EGRAPH_OK;
}

static egraph_status compare_layouts(differ *d) {
  state_lists before, after;
  lists_init(&before, d->alloc);
  lists_init(&after, d->alloc);
  egraph_status status = list_states(d->before, &before);
  if (status == EGRAPH_OK) status = list_states(d->after, &after);
  if (status == EGRAPH_OK) status = compare_values(d, &before, &after);
  lists_deinit(&before);
  lists_deinit(&after);
  return status;
}

// ---- outputs --------------------------------------------------------------------------

/// The layout in which a plan delivers the output of a name; NULL: none, or it is
/// carried.
static egraph_status delivered_as(differ *d, const eg_plan *plan,
                                  const eg_strmap *outputs, const char *name,
                                  const char **out) {
  uint32_t output;
  *out = NULL;
  if (!eg_strmap_find(outputs, name, &output) || eg_plan_is_carried(plan, output))
    return EGRAPH_OK;
  return layout_text(d, plan, plan->output_states.data[output], out);
}

/// The outputs that `plan` has; those that the other one has not if `is_rest`.
static egraph_status compare_outputs_of(differ *d, const eg_plan *plan, bool is_rest,
                                        const eg_strmap *before, const eg_strmap *after) {
  for (uint32_t o = 0; o < plan->output_states.len; o++) {
    eg_layout_change change = {.value = NULL};
    const char *name;
    uint32_t other;
    (void)eg_graph_output(plan->graph, o, &name);
    if (is_rest && eg_strmap_find(before, name, &other)) continue;
    EG_TRY(delivered_as(d, d->before, before, name, &change.before));
    EG_TRY(delivered_as(d, d->after, after, name, &change.after));
    if (same_text(change.before, change.after)) continue;
    EG_TRY(eg_arena_string(&d->out->arena, name, strlen(name), &change.value));
    EG_TRY(eg_layout_changes_push(&d->out->outputs, change));
  }
  return EGRAPH_OK;
}

static egraph_status index_outputs(const eg_plan *plan, eg_strmap *out) {
  for (uint32_t o = 0; o < plan->output_states.len; o++) {
    const char *name;
    (void)eg_graph_output(plan->graph, o, &name);
    EG_TRY(eg_strmap_put(out, name, o));
  }
  return EGRAPH_OK;
}

static egraph_status compare_outputs(differ *d) {
  eg_strmap before, after;
  eg_strmap_init(&before, d->alloc);
  eg_strmap_init(&after, d->alloc);
  egraph_status status = index_outputs(d->before, &before);
  if (status == EGRAPH_OK) status = index_outputs(d->after, &after);
  if (status == EGRAPH_OK)
    status = compare_outputs_of(d, d->before, false, &before, &after);
  if (status == EGRAPH_OK)
    status = compare_outputs_of(d, d->after, true, &before, &after);
  eg_strmap_deinit(&before);
  eg_strmap_deinit(&after);
  return status;
}

// ---- moves ----------------------------------------------------------------------------

/// What makes a move the same as another one; names of values last, they may hold blanks.
static egraph_status move_key(differ *d, const eg_plan *plan, const eg_plan_step *step) {
  eg_text *text = &d->scratch;
  eg_text_clear(text);
  EG_TRY(eg_text_printf(text, "%s %s %s ", eg_phase_name(step->phase),
                        eg_transition_name(step->transition.kind),
                        plan->mesh.axes[step->transition.axis].name));
  EG_TRY(eg_layout_print(text, &plan->mesh, &plan->states.data[step->from].layout));
  EG_TRY(eg_text_append(text, " "));
  EG_TRY(eg_layout_print(text, &plan->mesh, &plan->states.data[step->to].layout));
  EG_TRY(eg_text_append(text, " "));
  eg_value value = plan->states.data[step->from].value;
  return eg_text_append(text, eg_graph_value(plan->graph, value)->name);
}

static egraph_status count_moves(differ *d, const eg_plan *plan, eg_strmap *counts) {
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    uint32_t count = 0;
    if (!step->is_move) continue;
    EG_TRY(move_key(d, plan, step));
    (void)eg_strmap_find(counts, eg_text_of(&d->scratch), &count);
    EG_TRY(eg_strmap_put(counts, eg_text_of(&d->scratch), count + 1));
  }
  return EGRAPH_OK;
}

static egraph_status add_move(differ *d, const eg_plan *plan, const eg_plan_step *step,
                              bool is_added) {
  eg_move_change change = {.is_added = is_added,
                           .phase = step->phase,
                           .kind = step->transition.kind,
                           .bytes = eg_plan_move_bytes(plan, step),
                           .seconds = step->seconds};
  const char *axis = plan->mesh.axes[step->transition.axis].name;
  eg_value value = plan->states.data[step->from].value;
  const char *name = eg_graph_value(plan->graph, value)->name;
  EG_TRY(eg_arena_string(&d->out->arena, axis, strlen(axis), &change.axis));
  EG_TRY(eg_arena_string(&d->out->arena, name, strlen(name), &change.value));
  EG_TRY(layout_text(d, plan, step->from, &change.from));
  EG_TRY(layout_text(d, plan, step->to, &change.to));
  return eg_move_changes_push(&d->out->moves, change);
}

/// Adds the moves of a plan beyond those in `counts`, which is used up.
static egraph_status add_moves(differ *d, const eg_plan *plan, eg_strmap *counts,
                               bool is_added) {
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    uint32_t count = 0;
    if (!step->is_move) continue;
    EG_TRY(move_key(d, plan, step));
    (void)eg_strmap_find(counts, eg_text_of(&d->scratch), &count);
    EG_TRY(count == 0 ? add_move(d, plan, step, is_added)
                      : eg_strmap_put(counts, eg_text_of(&d->scratch), count - 1));
  }
  return EGRAPH_OK;
}

static egraph_status compare_moves(differ *d, const eg_plan *plan, const eg_plan *other,
                                   bool is_added) {
  eg_strmap counts;
  eg_strmap_init(&counts, d->alloc);
  egraph_status status = count_moves(d, other, &counts);
  if (status == EGRAPH_OK) status = add_moves(d, plan, &counts, is_added);
  eg_strmap_deinit(&counts);
  return status;
}

// ---- both -----------------------------------------------------------------------------

static egraph_status compare(differ *d) {
  EG_TRY(eg_plan_summary_make(d->before, d->alloc, &d->out->before));
  EG_TRY(eg_plan_summary_make(d->after, d->alloc, &d->out->after));
  EG_TRY(compare_layouts(d));
  EG_TRY(compare_outputs(d));
  EG_TRY(compare_moves(d, d->before, d->after, false));
  return compare_moves(d, d->after, d->before, true);
}

egraph_status eg_plan_diff_make(const eg_plan *before, const eg_plan *after,
                                egraph_allocator alloc, eg_plan_diff *out) {
  differ d = {.before = before, .after = after, .alloc = alloc, .out = out};
  eg_layout_changes_init(&out->layouts, alloc);
  eg_layout_changes_init(&out->outputs, alloc);
  eg_move_changes_init(&out->moves, alloc);
  eg_arena_init(&out->arena, alloc);
  eg_text_init(&d.scratch, alloc);
  egraph_status status = compare(&d);
  eg_text_deinit(&d.scratch);
  if (status != EGRAPH_OK) eg_plan_diff_deinit(out);
  return status;
}

void eg_plan_diff_deinit(eg_plan_diff *diff) {
  eg_layout_changes_deinit(&diff->layouts);
  eg_layout_changes_deinit(&diff->outputs);
  eg_move_changes_deinit(&diff->moves);
  eg_arena_deinit(&diff->arena);
}
