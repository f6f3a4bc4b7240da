// The graph of the whole step, phase by phase, so that the plan's steps follow its nodes.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan/unfold_graph.h"

#define NONE UINT32_MAX

typedef struct writer {
  const eg_unfold_steps *steps;
  const eg_plan *folded;
  const eg_graph *whole;
  eg_unfold_match match;
  eg_u32s needed;  // [whole nodes] flag
  eg_u32s step_of; // [nodes of the folded plan's graph] step
  eg_u32s written; // [whole values] value of the new graph
  eg_unfolded_graph *out;
} writer;

static egraph_status fill_none(eg_u32s *list, size_t count) {
  size_t from = list->len;
  EG_TRY(eg_u32s_resize(list, count));
  for (size_t i = from; i < count; i++)
    list->data[i] = NONE;
  return EGRAPH_OK;
}

static egraph_status index_steps(writer *w) {
  EG_TRY(fill_none(&w->step_of, eg_graph_node_count(w->folded->graph)));
  for (uint32_t i = 0; i < w->folded->steps.len; i++) {
    const eg_plan_step *step = &w->folded->steps.data[i];
    if (!step->is_move) w->step_of.data[step->node.id] = i;
  }
  return EGRAPH_OK;
}

/// The step that a node's is like.
static uint32_t step_like(const writer *w, uint32_t node) {
  uint32_t like = w->match.node.data[node];
  return like == NONE ? NONE : w->step_of.data[like];
}

static void need_value(writer *w, eg_value value) {
  const eg_value_info *info = eg_graph_value(w->whole, value);
  if (info->kind == EG_VALUE_COMPUTED) w->needed.data[info->node.id] = true;
}

static egraph_status find_needed(writer *w) {
  EG_TRY(eg_u32s_resize(&w->needed, eg_graph_node_count(w->whole)));
  for (uint32_t i = 0; i < eg_graph_output_count(w->whole); i++)
    need_value(w, eg_graph_output(w->whole, i, NULL));
  for (uint32_t n = (uint32_t)w->needed.len; n-- > 0;) {
    eg_graph_node_info node = eg_graph_node_at(w->whole, (eg_graph_node){n});
    if (w->needed.data[n] == 0) continue;
    if (step_like(w, n) == NONE)
      return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                     "no block of the plan stands for what makes '%.200s'; plan with "
                     "no_fold",
                     eg_graph_value(w->whole, node.results[0])->name);
    for (uint32_t i = 0; i < node.input_count; i++)
      need_value(w, node.inputs[i]);
  }
  return EGRAPH_OK;
}

static egraph_status note_value(writer *w, uint32_t whole, eg_value made) {
  EG_TRY(fill_none(&w->out->like_value, (size_t)made.id + 1));
  w->out->like_value.data[made.id] = w->match.value.data[whole];
  w->written.data[whole] = made.id;
  return EGRAPH_OK;
}

static egraph_status write_input(writer *w, eg_value input) {
  const eg_value_info *info = eg_graph_value(w->whole, input);
  eg_value made;
  EG_TRY(eg_graph_add_input(w->out->graph, info->name, &info->type, &made));
  return note_value(w, input.id, made);
}

/// A weight is written when something reads it first.
static egraph_status written_value(writer *w, eg_value value, uint32_t *out) {
  const eg_value_info *info = eg_graph_value(w->whole, value);
  if (w->written.data[value.id] == NONE) {
    eg_value made;
    if (info->kind != EG_VALUE_WEIGHT)
      return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                     "'%.200s' would be made after it is used; plan with no_fold",
                     info->name);
    EG_TRY(
        eg_graph_add_weight(w->out->graph, info->name, &info->type, info->data, &made));
    EG_TRY(note_value(w, value.id, made));
  }
  *out = w->written.data[value.id];
  return EGRAPH_OK;
}

static egraph_status write_node(writer *w, eg_node_cons *cons, uint32_t n,
                                eg_arena *arena) {
  eg_graph_node_info node = eg_graph_node_at(w->whole, (eg_graph_node){n});
  eg_value *inputs, *results;
  const char **names;
  EG_TRY(eg_arena_alloc(arena, node.input_count, sizeof *inputs, &inputs));
  EG_TRY(eg_arena_alloc(arena, node.result_count, sizeof *results, &results));
  EG_TRY(eg_arena_alloc(arena, node.result_count, sizeof *names, &names));
  for (uint32_t i = 0; i < node.input_count; i++)
    EG_TRY(written_value(w, node.inputs[i], &inputs[i].id));
  for (uint32_t r = 0; r < node.result_count; r++)
    names[r] = eg_graph_value(w->whole, node.results[r])->name;
  uint32_t before = eg_graph_node_count(w->out->graph);
  EG_TRY(eg_node_cons_add(cons, node.name, node.attrs, inputs, node.input_count, names,
                          results));
  bool is_new = eg_graph_node_count(w->out->graph) != before;
  for (uint32_t r = 0; r < node.result_count; r++) {
    w->written.data[node.results[r].id] = results[r].id;
    if (is_new) EG_TRY(note_value(w, node.results[r].id, results[r]));
  }
  return is_new ? eg_u32s_push(&w->out->like_step, step_like(w, n)) : EGRAPH_OK;
}

static egraph_status write_nodes(writer *w, eg_node_cons *cons) {
  eg_arena arena;
  eg_arena_init(&arena, w->needed.alloc);
  egraph_status status = EGRAPH_OK;
  for (eg_phase p = EG_PHASE_FORWARD; p <= EG_PHASE_UPDATE; p++)
    for (uint32_t n = 0; status == EGRAPH_OK && n < w->needed.len; n++) {
      if (w->needed.data[n] == 0 || w->folded->steps.data[step_like(w, n)].phase != p)
        continue;
      status = write_node(w, cons, n, &arena);
      eg_arena_deinit(&arena);
    }
  return status;
}

static egraph_status write_graph(writer *w) {
  eg_node_cons cons;
  EG_TRY(fill_none(&w->written, eg_graph_value_count(w->whole)));
  EG_TRY(eg_graph_create(&w->needed.alloc, &w->out->graph));
  for (uint32_t i = 0; i < eg_graph_input_count(w->whole); i++)
    EG_TRY(write_input(w, eg_graph_input(w->whole, i)));
  EG_TRY(eg_node_cons_init(&cons, w->out->graph));
  egraph_status status = write_nodes(w, &cons);
  eg_node_cons_deinit(&cons);
  EG_TRY(status);
  for (uint32_t i = 0; i < eg_graph_output_count(w->whole); i++) {
    const char *name;
    uint32_t value;
    EG_TRY(written_value(w, eg_graph_output(w->whole, i, &name), &value));
    EG_TRY(eg_graph_add_output(w->out->graph, name, (eg_value){value}));
  }
  return EGRAPH_OK;
}

// ---- the whole ------------------------------------------------------------------------

egraph_status eg_unfolded_graph_init(eg_unfolded_graph *out, egraph_allocator alloc,
                                     const eg_unfold_steps *steps,
                                     const eg_emitted_plan *folded) {
  writer w = {.steps = steps,
              .folded = &folded->plan,
              .whole = eg_unfold_whole(steps),
              .out = out};
  eg_u32s *const lists[] = {&w.needed, &w.step_of, &w.written};
  EG_TRY(eg_unfold_match_init(&w.match, alloc, steps, folded->graph));
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    eg_u32s_init(lists[i], alloc);
  out->graph = NULL;
  eg_u32s_init(&out->like_step, alloc);
  eg_u32s_init(&out->like_value, alloc);
  egraph_status status = index_steps(&w);
  if (status == EGRAPH_OK) status = find_needed(&w);
  if (status == EGRAPH_OK) status = write_graph(&w);
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    eg_u32s_deinit(lists[i]);
  eg_unfold_match_deinit(&w.match);
  if (status != EGRAPH_OK) eg_unfolded_graph_deinit(out);
  return status;
}

void eg_unfolded_graph_deinit(eg_unfolded_graph *graph) {
  eg_graph_destroy(graph->graph);
  graph->graph = NULL;
  eg_u32s_deinit(&graph->like_step);
  eg_u32s_deinit(&graph->like_value);
}
