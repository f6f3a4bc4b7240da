// Layouts and moves are compared as texts, so that plans on different meshes compare too.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_diff.h"

#include "base/json_text.h"
#include "base/owner.h"
#include "base/strmap.h"
#include "pcg/plan/plan_report.h"
#include "pcg/plan/plan_words.h"

typedef struct differ {
  const eg_plan *before, *after;
  eg_plan_diff *out;
  eg_text scratch;
} differ;
EG_OWNER_DEFINE_STATIC(differ, (eg_text, scratch))

static egraph_status keep_scratch(differ *d, const char **out) {
  EG_TRY(eg_text_status(&d->scratch));
  return eg_arena_string(&d->out->arena, eg_text_of(&d->scratch), d->scratch.chars.len,
                         out);
}

static egraph_status keep_string(differ *d, const char *string, const char **out) {
  return eg_arena_string(&d->out->arena, string, strlen(string), out);
}

static egraph_status keep_layout(differ *d, const eg_plan *plan, uint32_t state,
                                 const char **out) {
  eg_text_clear(&d->scratch);
  eg_layout_print(&d->scratch, &plan->mesh, &plan->states.data[state].layout);
  return keep_scratch(d, out);
}

static bool is_same_text(const char *a, const char *b) {
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

// ---- layouts --------------------------------------------------------------------------

/// Lists of the states of each value of a plan.
typedef struct state_lists {
  eg_u32s first, next; // [values], [states]; EG_PLAN_NONE ends a list
} state_lists;
EG_OWNER_DEFINE_STATIC(state_lists, (eg_u32s, first, next))

static egraph_status list_states(const eg_plan *plan, state_lists *lists) {
  EG_TRY(eg_u32s_fill(&lists->first, eg_graph_value_count(plan->graph), EG_PLAN_NONE));
  EG_TRY(eg_u32s_resize(&lists->next, plan->states.len));
  for (uint32_t i = (uint32_t)plan->states.len; i-- > 0;) {
    uint32_t *first = &lists->first.data[plan->states.data[i].value.id];
    lists->next.data[i] = *first;
    *first = i;
  }
  return EGRAPH_OK;
}

/// Finds the layouts of the value `name`, in the order of its states; NULL: it has none.
static egraph_status keep_layouts(differ *d, const eg_plan *plan,
                                  const state_lists *lists, const char *name,
                                  const char **out) {
  eg_value value;
  *out = NULL;
  if (!eg_graph_find_value(plan->graph, name, &value)) return EGRAPH_OK;
  uint32_t state = lists->first.data[value.id];
  if (state == EG_PLAN_NONE) return EGRAPH_OK;
  eg_text_clear(&d->scratch);
  for (; state != EG_PLAN_NONE; state = lists->next.data[state]) {
    if (d->scratch.chars.len != 0) eg_text_append(&d->scratch, " ");
    eg_layout_print(&d->scratch, &plan->mesh, &plan->states.data[state].layout);
  }
  return keep_scratch(d, out);
}

static egraph_status compare_value(differ *d, const state_lists *before,
                                   const state_lists *after, const char *name) {
  eg_layout_change change = {.value = NULL};
  EG_TRY(keep_layouts(d, d->before, before, name, &change.before));
  EG_TRY(keep_layouts(d, d->after, after, name, &change.after));
  if (is_same_text(change.before, change.after)) return EGRAPH_OK;
  EG_TRY(keep_string(d, name, &change.value));
  return eg_layout_changes_push(&d->out->layouts, change);
}

static egraph_status compare_layouts(differ *d) {
  const eg_graph *first = d->before->graph, *second = d->after->graph;
  EG_LOCAL(state_lists, before, d->scratch.chars.alloc);
  EG_LOCAL(state_lists, after, d->scratch.chars.alloc);
  EG_TRY(list_states(d->before, &before));
  EG_TRY(list_states(d->after, &after));
  for (uint32_t v = 0; v < eg_graph_value_count(first); v++)
    EG_TRY(compare_value(d, &before, &after, eg_graph_value(first, (eg_value){v})->name));
  for (uint32_t v = 0; v < eg_graph_value_count(second); v++) {
    const char *name = eg_graph_value(second, (eg_value){v})->name;
    eg_value other;
    if (!eg_graph_find_value(first, name, &other))
      EG_TRY(compare_value(d, &before, &after, name));
  }
  return EGRAPH_OK;
}

// ---- outputs --------------------------------------------------------------------------

/// Finds the layout of the output with a name; NULL: the plan has no such output, or
/// passes it to the next step.
static egraph_status keep_output_layout(differ *d, const eg_plan *plan,
                                        const eg_strmap *outputs, const char *name,
                                        const char **out) {
  uint32_t output;
  *out = NULL;
  if (!eg_strmap_find(outputs, name, &output) || eg_plan_is_carried(plan, output))
    return EGRAPH_OK;
  return keep_layout(d, plan, plan->output_states.data[output], out);
}

/// Compares the outputs of `plan`; if `is_rest`, only outputs that the first plan lacks.
static egraph_status compare_outputs_of(differ *d, const eg_plan *plan, bool is_rest,
                                        const eg_strmap *before, const eg_strmap *after) {
  for (uint32_t o = 0; o < plan->output_states.len; o++) {
    eg_layout_change change = {.value = NULL};
    const char *name;
    uint32_t other;
    (void)eg_graph_output(plan->graph, o, &name);
    if (is_rest && eg_strmap_find(before, name, &other)) continue;
    EG_TRY(keep_output_layout(d, d->before, before, name, &change.before));
    EG_TRY(keep_output_layout(d, d->after, after, name, &change.after));
    if (is_same_text(change.before, change.after)) continue;
    EG_TRY(keep_string(d, name, &change.value));
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

static egraph_status compare_delivered(differ *d) {
  EG_LOCAL(eg_strmap, before, d->scratch.chars.alloc);
  EG_LOCAL(eg_strmap, after, d->scratch.chars.alloc);
  EG_TRY(index_outputs(d->before, &before));
  EG_TRY(index_outputs(d->after, &after));
  EG_TRY(compare_outputs_of(d, d->before, false, &before, &after));
  return compare_outputs_of(d, d->after, true, &before, &after);
}

// ---- moves ----------------------------------------------------------------------------

/// Writes to d->scratch a text that is the same for equal moves (changes of layout).
/// Names of values come last, as they may contain blanks.
static egraph_status write_move_key(differ *d, const eg_plan *plan,
                                    const eg_plan_step *step) {
  eg_text *text = &d->scratch;
  eg_value value = plan->states.data[step->from].value;
  eg_text_clear(text);
  eg_text_printf(text, "%s %s %s ", eg_phase_name(step->phase),
                 eg_transition_name(step->transition.kind),
                 plan->mesh.axes[step->transition.axis].name);
  eg_layout_print(text, &plan->mesh, &plan->states.data[step->from].layout);
  eg_text_append(text, " ");
  eg_layout_print(text, &plan->mesh, &plan->states.data[step->to].layout);
  eg_text_append(text, " ");
  return eg_text_append(text, eg_graph_value(plan->graph, value)->name);
}

static egraph_status add_move(differ *d, const eg_plan *plan, const eg_plan_step *step,
                              bool is_added) {
  eg_move_change change = {.is_added = is_added,
                           .phase = step->phase,
                           .kind = step->transition.kind,
                           .bytes = eg_plan_move_bytes(plan, step),
                           .seconds = step->seconds};
  eg_value value = plan->states.data[step->from].value;
  EG_TRY(keep_string(d, plan->mesh.axes[step->transition.axis].name, &change.axis));
  EG_TRY(keep_string(d, eg_graph_value(plan->graph, value)->name, &change.value));
  EG_TRY(keep_layout(d, plan, step->from, &change.from));
  EG_TRY(keep_layout(d, plan, step->to, &change.to));
  return eg_move_changes_push(&d->out->moves, change);
}

/// Adds the moves that occur more often in `plan` than in `other`.
static egraph_status add_missing_moves(differ *d, const eg_plan *plan,
                                       const eg_plan *other, bool is_added) {
  EG_LOCAL(eg_strmap, counts, d->scratch.chars.alloc); // moves of `other` without a match
  for (size_t i = 0; i < other->steps.len; i++) {
    uint32_t count = 0;
    if (!other->steps.data[i].is_move) continue;
    EG_TRY(write_move_key(d, other, &other->steps.data[i]));
    (void)eg_strmap_find(&counts, eg_text_of(&d->scratch), &count);
    EG_TRY(eg_strmap_put(&counts, eg_text_of(&d->scratch), count + 1));
  }
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    uint32_t count = 0;
    if (!step->is_move) continue;
    EG_TRY(write_move_key(d, plan, step));
    (void)eg_strmap_find(&counts, eg_text_of(&d->scratch), &count);
    EG_TRY(count == 0 ? add_move(d, plan, step, is_added)
                      : eg_strmap_put(&counts, eg_text_of(&d->scratch), count - 1));
  }
  return EGRAPH_OK;
}

// ---- both -----------------------------------------------------------------------------

static egraph_status compare_plans(const eg_plan *before, const eg_plan *after,
                                   eg_plan_diff *out) {
  EG_LOCAL_WITH(differ, d, out->arena.alloc, .before = before, .after = after,
                .out = out);
  EG_TRY(eg_plan_summary_make(before, out->arena.alloc, &out->before));
  EG_TRY(eg_plan_summary_make(after, out->arena.alloc, &out->after));
  EG_TRY(compare_layouts(&d));
  EG_TRY(compare_delivered(&d));
  EG_TRY(add_missing_moves(&d, before, after, false));
  return add_missing_moves(&d, after, before, true);
}

#define OWNED                                                                            \
  (eg_layout_changes, layouts, outputs), (eg_move_changes, moves), (eg_arena, arena)

egraph_status eg_plan_diff_make(const eg_plan *before, const eg_plan *after,
                                egraph_allocator alloc, eg_plan_diff *out) {
  EG_INIT_MEMBERS(out, alloc, OWNED)
  egraph_status status = compare_plans(before, after, out);
  if (status != EGRAPH_OK) eg_plan_diff_deinit(out);
  return status;
}

void eg_plan_diff_deinit(eg_plan_diff *diff) { EG_DEINIT_MEMBERS(diff, OWNED) }

// ---- text -----------------------------------------------------------------------------

typedef egraph_status print_amount(eg_text *text, double amount);

/// Prints a line per change, with words before and after the name of its value.
static void print_changes(eg_text *text, const char *prefix, const char *suffix,
                          const eg_layout_changes *changes) {
  for (size_t i = 0; i < changes->len; i++) {
    const eg_layout_change *change = &changes->data[i];
    eg_text_print_names(text, "%s%s%s: %s -> %s\n", prefix, change->value, suffix,
                        change->before != NULL ? change->before : "nothing",
                        change->after != NULL ? change->after : "nothing");
  }
}

static void print_move_change(eg_text *text, const eg_move_change *move) {
  eg_text_print_names(text, "%c %s %s %s %s -> %s over %s", move->is_added ? '+' : '-',
                      eg_phase_name(move->phase), eg_transition_name(move->kind),
                      move->value, move->from, move->to, move->axis);
  if (move->bytes > 0) {
    eg_text_append(text, ", ");
    eg_text_bytes(text, move->bytes);
  }
  if (move->seconds > 0) {
    eg_text_append(text, ", ");
    eg_text_seconds(text, move->seconds);
  }
  eg_text_append(text, "\n");
}

/// Prints a line with both values of a total if they differ.
static void print_total(eg_text *text, const char *what, const char *of, double before,
                        double after, print_amount *print) {
  if (!(before < after) && !(before > after)) return;
  eg_text_printf(text, "%s%s: ", what, of);
  print(text, before);
  eg_text_append(text, " -> ");
  print(text, after);
  eg_text_append(text, "\n");
}

static void print_totals(eg_text *text, const eg_plan_summary *before,
                         const eg_plan_summary *after) {
  print_total(text, "time", "", before->seconds, after->seconds, eg_text_seconds);
  for (int p = 0; p < EG_PHASE_COUNT; p++) {
    const char *name = eg_phase_name((eg_phase)p);
    print_total(text, name, ", computing", before->node_seconds[p],
                after->node_seconds[p], eg_text_seconds);
    print_total(text, name, ", exchanging", before->move_seconds[p],
                after->move_seconds[p], eg_text_seconds);
  }
  print_total(text, "memory", "", before->peak, after->peak, eg_text_bytes);
  for (int s = 0; s < EG_STORES; s++)
    print_total(text, "memory, most for ", eg_store_words((eg_store)s), before->most[s],
                after->most[s], eg_text_bytes);
}

static void print_mesh(eg_text *text, const eg_plan_summary *summary, const char *end) {
  if (summary->mesh.axis_count == 0) eg_text_append(text, "one device");
  eg_mesh_print(text, &summary->mesh);
  eg_text_printf(text, ", micro-batches %u%s", summary->micro_batches, end);
}

egraph_status eg_plan_diff_print(eg_text *text, const eg_plan_diff *diff) {
  size_t before = text->chars.len;
  if (!eg_mesh_same(&diff->before.mesh, &diff->after.mesh) ||
      diff->before.micro_batches != diff->after.micro_batches) {
    print_mesh(text, &diff->before, " -> ");
    print_mesh(text, &diff->after, "\n");
  }
  print_changes(text, "", "", &diff->layouts);
  print_changes(text, "output ", ", delivered", &diff->outputs);
  for (size_t i = 0; i < diff->moves.len; i++)
    print_move_change(text, &diff->moves.data[i]);
  print_totals(text, &diff->before, &diff->after);
  if (text->chars.len == before)
    eg_text_append(text, "the plans are the same: layouts, exchanges, seconds and "
                         "memory\n");
  return eg_text_status(text);
}

// ---- JSON -----------------------------------------------------------------------------

/// Writes a JSON array of changes, each named by `key`.
static void write_changes(eg_text *text, const char *key,
                          const eg_layout_changes *changes) {
  eg_text_append(text, "[");
  for (size_t i = 0; i < changes->len; i++) {
    const eg_layout_change *change = &changes->data[i];
    eg_text_append(text, i == 0 ? "{" : ", {");
    eg_text_json_member(text, key, change->value, ", ");
    eg_text_json_member(text, "before", change->before, ", ");
    eg_text_json_member(text, "after", change->after, "}");
  }
  eg_text_append(text, "]");
}

static void write_move_change(eg_text *text, const eg_move_change *move) {
  eg_text_printf(text, "{\"change\": \"%s\", \"phase\": \"%s\", \"kind\": \"%s\", ",
                 move->is_added ? "added" : "removed", eg_phase_name(move->phase),
                 eg_transition_name(move->kind));
  eg_text_json_member(text, "value", move->value, ", ");
  eg_text_printf(text, "\"axis\": \"%s\", \"from\": \"%s\", \"to\": \"%s\", ", move->axis,
                 move->from, move->to);
  eg_text_json_figure(text, "bytes", move->bytes, ", ");
  eg_text_json_figure(text, "seconds", move->seconds, "}");
}

egraph_status eg_plan_diff_write_json(eg_text *text, const eg_plan_diff *diff) {
  eg_text_append(text, "{\"layouts\": ");
  write_changes(text, "value", &diff->layouts);
  eg_text_append(text, ", \"outputs\": ");
  write_changes(text, "output", &diff->outputs);
  eg_text_append(text, ", \"moves\": [");
  for (size_t i = 0; i < diff->moves.len; i++) {
    if (i != 0) eg_text_append(text, ", ");
    write_move_change(text, &diff->moves.data[i]);
  }
  eg_text_append(text, "], \"before\": ");
  eg_plan_summary_write_json(text, &diff->before);
  eg_text_append(text, ", \"after\": ");
  eg_plan_summary_write_json(text, &diff->after);
  return eg_text_append(text, "}");
}
