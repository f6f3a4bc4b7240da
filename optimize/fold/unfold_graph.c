// The drafted nodes, phase by phase, so that the plan's steps follow the graph's nodes.
// A sum of gradients is made as soon as it can be: what is added to it may go (as in
// plan_emit.c).
// SPDX-License-Identifier: Apache-2.0
#include "optimize/fold/unfold_graph.h"

#include <stdio.h>

#include "pcg/graph/node_cons.h"

#define NONE UINT32_MAX

typedef struct writer {
  const eg_graph *whole;
  const eg_training *training; // whose graph that is, or NULL
  eg_unfold_draft draft;
  eg_u32s written;         // [draft values] value of the new graph, or NONE
  eg_bytes done;           // [draft nodes] flag
  eg_u32s node_of;         // [draft values] node that makes it, or NONE: a leaf
  eg_u32s sum_begin, sums; // [draft values + 1] sums that it is added to
  eg_arena arena;          // of one node
  uint32_t next_name;
  eg_unfolded_graph *out;
} writer;

/// A phase begins when the one before is over: what is made of a phase's values is made
/// in it or later.
static egraph_status order_phases(writer *w) {
  eg_u32s phase; // [draft values]
  eg_u32s_init(&phase, w->written.alloc);
  egraph_status status = eg_u32s_resize(&phase, w->draft.values.len);
  for (size_t n = 0; status == EGRAPH_OK && n < w->draft.nodes.len; n++) {
    eg_draft_node *node = &w->draft.nodes.data[n];
    for (uint32_t i = 0; i < node->operand_count; i++) {
      uint32_t operand = phase.data[w->draft.operands.data[node->operands + i]];
      if (operand > node->phase) node->phase = (eg_phase)operand;
    }
    for (uint32_t r = 0; r < node->result_count; r++)
      phase.data[node->results + r] = node->phase;
  }
  eg_u32s_deinit(&phase);
  return status;
}

static egraph_status note_value(writer *w, uint32_t drafted, eg_value made) {
  while (w->out->like_value.len <= made.id)
    EG_TRY(eg_u32s_push(&w->out->like_value, NONE));
  w->out->like_value.data[made.id] = w->draft.values.data[drafted].planned;
  return EGRAPH_OK;
}

static egraph_status write_input(writer *w, eg_value input) {
  const eg_value_info *info = eg_graph_value(w->whole, input);
  uint32_t drafted = w->draft.made.data[input.id];
  eg_value made;
  EG_TRY(eg_graph_add_input(w->out->graph, info->name, &info->type, &made));
  w->written.data[drafted] = made.id;
  return note_value(w, drafted, made);
}

/// A weight is written when something reads it first.
static egraph_status written_value(writer *w, uint32_t drafted, uint32_t *out) {
  uint32_t *written = &w->written.data[drafted];
  if (*written == NONE) {
    eg_value whole = {w->draft.values.data[drafted].whole}, made;
    const eg_value_info *info = eg_graph_value(w->whole, whole);
    EG_TRY(
        eg_graph_add_weight(w->out->graph, info->name, &info->type, info->data, &made));
    *written = made.id;
    EG_TRY(note_value(w, drafted, made));
  }
  *out = *written;
  return EGRAPH_OK;
}

/// The name in the whole step, or a new one that it does not have.
static egraph_status name_value(writer *w, uint32_t drafted, const char **out) {
  uint32_t whole = w->draft.values.data[drafted].whole;
  char name[32];
  eg_value taken;
  if (whole != NONE) {
    *out = eg_graph_value(w->whole, (eg_value){whole})->name;
    if (!eg_graph_find_value(w->out->graph, *out, &taken)) return EGRAPH_OK;
  }
  do
    (void)snprintf(name, sizeof name, "opt_%u", w->next_name++);
  while (eg_graph_find_value(w->whole, name, &taken));
  return eg_arena_string(&w->arena, name, strlen(name), out);
}

static egraph_status write_node(writer *w, eg_node_cons *cons,
                                const eg_draft_node *node) {
  eg_value *inputs, *results;
  const char **names;
  EG_TRY(eg_arena_alloc(&w->arena, node->operand_count, sizeof *inputs, &inputs));
  EG_TRY(eg_arena_alloc(&w->arena, node->result_count, sizeof *results, &results));
  EG_TRY(eg_arena_alloc(&w->arena, node->result_count, sizeof *names, &names));
  for (uint32_t i = 0; i < node->operand_count; i++)
    EG_TRY(written_value(w, w->draft.operands.data[node->operands + i], &inputs[i].id));
  for (uint32_t r = 0; r < node->result_count; r++)
    EG_TRY(name_value(w, node->results + r, &names[r]));
  uint32_t before = eg_graph_node_count(w->out->graph);
  EG_TRY(eg_node_cons_add(cons, node->name, node->attrs, inputs, node->operand_count,
                          names, results));
  bool is_new = eg_graph_node_count(w->out->graph) != before;
  for (uint32_t r = 0; r < node->result_count; r++) {
    w->written.data[node->results + r] = results[r].id;
    if (is_new) EG_TRY(note_value(w, node->results + r, results[r]));
  }
  if (!is_new) return EGRAPH_OK;
  EG_TRY(eg_u32s_push(&w->out->like_step, node->step));
  return eg_u32s_push(&w->out->phase, node->phase);
}

// ---- order ----------------------------------------------------------------------------

/// Whether a node makes a sum of gradients.
static bool is_sum(const writer *w, const eg_draft_node *node) {
  uint32_t whole = w->draft.values.data[node->results].whole;
  return w->training != NULL && whole != NONE &&
         w->training->stamps.data[whole].made == EG_MADE_SUM;
}

/// Fills `sums` by what they wait for.
static egraph_status list_sums(writer *w) {
  size_t values = w->draft.values.len;
  EG_TRY(eg_u32s_resize(&w->sum_begin, values + 2));
  for (int fills = 0; fills < 2; fills++) {
    for (uint32_t n = 0; n < w->draft.nodes.len; n++) {
      const eg_draft_node *node = &w->draft.nodes.data[n];
      for (uint32_t i = 0; i < node->operand_count && is_sum(w, node); i++) {
        uint32_t operand = w->draft.operands.data[node->operands + i];
        if (fills)
          w->sums.data[w->sum_begin.data[operand + 1]++] = n;
        else
          w->sum_begin.data[operand + 2]++;
      }
    }
    for (size_t v = 0; !fills && v < values; v++)
      w->sum_begin.data[v + 2] += w->sum_begin.data[v + 1];
    if (!fills) EG_TRY(eg_u32s_resize(&w->sums, w->sum_begin.data[values + 1]));
  }
  return EGRAPH_OK;
}

static egraph_status find_sums(writer *w) {
  EG_TRY(eg_bytes_resize(&w->done, w->draft.nodes.len));
  for (size_t v = 0; v < w->draft.values.len; v++)
    EG_TRY(eg_u32s_push(&w->node_of, NONE));
  for (uint32_t n = 0; n < w->draft.nodes.len; n++)
    for (uint32_t r = 0; r < w->draft.nodes.data[n].result_count; r++)
      w->node_of.data[w->draft.nodes.data[n].results + r] = n;
  return list_sums(w);
}

static bool is_ready(const writer *w, uint32_t n) {
  const eg_draft_node *node = &w->draft.nodes.data[n];
  for (uint32_t i = 0; i < node->operand_count; i++) {
    uint32_t maker = w->node_of.data[w->draft.operands.data[node->operands + i]];
    if (maker != NONE && w->done.data[maker] == 0) return false;
  }
  return true;
}

/// A node of a phase, then the sums of the phase that have waited for it. `todo` is
/// scratch.
static egraph_status write_from(writer *w, eg_node_cons *cons, uint32_t first,
                                eg_phase phase, eg_u32s *todo) {
  EG_TRY(eg_u32s_push(todo, first));
  while (todo->len != 0) {
    uint32_t n = eg_u32s_pop(todo);
    const eg_draft_node *node = &w->draft.nodes.data[n];
    if (w->done.data[n] != 0 || node->phase != phase || !is_ready(w, n)) continue;
    w->done.data[n] = 1;
    egraph_status status = write_node(w, cons, node);
    eg_arena_deinit(&w->arena);
    EG_TRY(status);
    for (uint32_t v = node->results; v < node->results + node->result_count; v++)
      EG_TRY(eg_u32s_append(todo, w->sums.data + w->sum_begin.data[v],
                            w->sum_begin.data[v + 1] - w->sum_begin.data[v]));
  }
  return EGRAPH_OK;
}

static egraph_status write_nodes(writer *w, eg_node_cons *cons) {
  eg_u32s todo;
  eg_u32s_init(&todo, w->written.alloc);
  egraph_status status = EGRAPH_OK;
  for (eg_phase p = EG_PHASE_FORWARD; p <= EG_PHASE_UPDATE; p++)
    for (uint32_t n = 0; status == EGRAPH_OK && n < w->draft.nodes.len; n++)
      status = write_from(w, cons, n, p, &todo);
  eg_u32s_deinit(&todo);
  return status;
}

static egraph_status write_graph(writer *w) {
  eg_node_cons cons;
  for (size_t v = 0; v < w->draft.values.len; v++)
    EG_TRY(eg_u32s_push(&w->written, NONE));
  EG_TRY(order_phases(w));
  EG_TRY(find_sums(w));
  EG_TRY(eg_graph_create(&w->written.alloc, &w->out->graph));
  for (uint32_t i = 0; i < eg_graph_input_count(w->whole); i++)
    EG_TRY(write_input(w, eg_graph_input(w->whole, i)));
  EG_TRY(eg_node_cons_init(&cons, w->out->graph));
  egraph_status status = write_nodes(w, &cons);
  eg_node_cons_deinit(&cons);
  EG_TRY(status);
  for (uint32_t i = 0; i < eg_graph_output_count(w->whole); i++) {
    const char *name;
    uint32_t value = eg_graph_output(w->whole, i, &name).id;
    EG_TRY(written_value(w, w->draft.made.data[value], &value));
    EG_TRY(eg_graph_add_output(w->out->graph, name, (eg_value){value}));
  }
  return EGRAPH_OK;
}

// ---- the whole ------------------------------------------------------------------------

egraph_status eg_unfolded_graph_init(eg_unfolded_graph *out, egraph_allocator alloc,
                                     const eg_unfold_steps *steps,
                                     const eg_emitted_plan *folded) {
  writer w = {.whole = eg_unfold_whole(steps), .training = steps->whole, .out = out};
  out->graph = NULL;
  EG_TRY(eg_unfold_draft_init(&w.draft, alloc, steps, folded));
  eg_u32s *const own[] = {&w.written, &w.node_of, &w.sum_begin, &w.sums};
  eg_u32s *const lists[] = {&out->like_step, &out->phase, &out->like_value};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    eg_u32s_init(own[i], alloc);
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    eg_u32s_init(lists[i], alloc);
  eg_bytes_init(&w.done, alloc);
  eg_arena_init(&w.arena, alloc);
  egraph_status status = write_graph(&w);
  eg_arena_deinit(&w.arena);
  eg_bytes_deinit(&w.done);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    eg_u32s_deinit(own[i]);
  eg_unfold_draft_deinit(&w.draft);
  if (status != EGRAPH_OK) eg_unfolded_graph_deinit(out);
  return status;
}

void eg_unfolded_graph_deinit(eg_unfolded_graph *graph) {
  eg_graph_destroy(graph->graph);
  graph->graph = NULL;
  eg_u32s_deinit(&graph->like_step);
  eg_u32s_deinit(&graph->phase);
  eg_u32s_deinit(&graph->like_value);
}
