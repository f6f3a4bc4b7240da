// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_labels.h"

#include <stdio.h>
#include <string.h>

static size_t skip_digits(const char *text) { return strspn(text, "0123456789"); }

bool eg_name_is_made_up(const char *name) {
  const char *at = name;
  if (strncmp(name, "opt_", 4) == 0)
    at += 4;
  else if (name[0] == 'v')
    at += 1;
  size_t digits = at != name ? skip_digits(at) : 0;
  if (digits == 0) return false;
  at += digits;
  if (*at == '_' && skip_digits(at + 1) != 0) at += 1 + skip_digits(at + 1);
  return *at == '\0';
}

typedef struct namer {
  const eg_plan *plan;
  eg_plan_labels *out;
  eg_phase *phase_of; // [nodes]
  uint32_t *visited;  // [values]: the entry that was traced last, plus 1
  eg_u32s stack;
} namer;

static egraph_status name_value(namer *n, eg_value value, const char *what,
                                const char *name) {
  char text[EG_MESSAGE_BYTES];
  if (n->out->words[value.id] != NULL ||
      !eg_name_is_made_up(eg_graph_value(n->plan->graph, value)->name))
    return EGRAPH_OK;
  int length = snprintf(text, sizeof text, "%s%.300s", what, name);
  return eg_arena_string(&n->out->arena, text, (size_t)length, &n->out->words[value.id]);
}

/// The name of what is trained: of w.m, w.v and w.sum it is w.
static size_t base_length(const eg_graph *graph, const char *entry) {
  const char *dot = strrchr(entry, '.');
  char base[EG_MESSAGE_BYTES];
  eg_value value;
  if (dot == NULL || (size_t)(dot - entry) >= sizeof base) return strlen(entry);
  memcpy(base, entry, (size_t)(dot - entry));
  base[dot - entry] = '\0';
  return eg_graph_find_value(graph, base, &value) ? (size_t)(dot - entry) : strlen(entry);
}

/// Walks back from what becomes of an entry over the update (of a sum: over the addition
/// to it), by values of the entry's shape, to what the backward phase makes.
static egraph_status name_gradients(namer *n, eg_value entry, eg_value after,
                                    uint32_t mark) {
  const eg_graph *graph = n->plan->graph;
  const eg_value_info *info = eg_graph_value(graph, entry);
  char base[EG_MESSAGE_BYTES];
  (void)snprintf(base, sizeof base, "%.*s", (int)base_length(graph, info->name),
                 info->name);
  n->stack.len = 0;
  EG_TRY(eg_u32s_push(&n->stack, after.id));
  while (n->stack.len != 0) {
    eg_value value = {n->stack.data[--n->stack.len]};
    const eg_value_info *at = eg_graph_value(graph, value);
    if (n->visited[value.id] == mark || at->kind != EG_VALUE_COMPUTED) continue;
    n->visited[value.id] = mark;
    bool is_sum = value.id == after.id;
    if (n->phase_of[at->node.id] == EG_PHASE_BACKWARD && !is_sum) {
      EG_TRY(name_value(n, value, "gradient of ", base));
      continue;
    }
    if (n->phase_of[at->node.id] == EG_PHASE_FORWARD) continue;
    eg_graph_node_info node = eg_graph_node_at(graph, at->node);
    for (uint32_t i = 0; i < node.input_count; i++) {
      const eg_value_info *input = eg_graph_value(graph, node.inputs[i]);
      if (input->typed && eg_type_same_shape(&input->type, &info->type))
        EG_TRY(eg_u32s_push(&n->stack, node.inputs[i].id));
    }
  }
  return EGRAPH_OK;
}

static egraph_status name_next(namer *n, eg_value entry, eg_value after) {
  const char *name = eg_graph_value(n->plan->graph, entry)->name;
  size_t length = base_length(n->plan->graph, name);
  char base[EG_MESSAGE_BYTES];
  if (strcmp(name + length, ".sum") != 0) return name_value(n, after, "new ", name);
  (void)snprintf(base, sizeof base, "%.*s", (int)length, name);
  return name_value(n, after, "summed gradient of ", base);
}

static egraph_status name_all(namer *n) {
  const eg_plan *plan = n->plan;
  const eg_u32s *carried = &plan->carried;
  const char *name;
  for (size_t i = 0; i < plan->steps.len; i++)
    if (!plan->steps.data[i].is_move)
      n->phase_of[plan->steps.data[i].node.id] = plan->steps.data[i].phase;
  for (size_t i = 0; i + 1 < carried->len; i += 2)
    EG_TRY(name_next(n, (eg_value){carried->data[i + 1]},
                     eg_graph_output(plan->graph, carried->data[i], &name)));
  for (size_t i = 0; i + 1 < carried->len; i += 2)
    EG_TRY(name_gradients(n, (eg_value){carried->data[i + 1]},
                          eg_graph_output(plan->graph, carried->data[i], &name),
                          (uint32_t)(i + 1)));
  for (uint32_t o = 0; o < eg_graph_output_count(plan->graph); o++) {
    eg_value value = eg_graph_output(plan->graph, o, &name);
    EG_TRY(name_value(n, value, "", name));
  }
  return EGRAPH_OK;
}

egraph_status eg_plan_labels_make(const eg_plan *plan, egraph_allocator alloc,
                                  eg_plan_labels *out) {
  uint32_t values = eg_graph_value_count(plan->graph);
  namer n = {.plan = plan, .out = out};
  eg_arena scratch;
  out->words = NULL;
  eg_arena_init(&out->arena, alloc);
  eg_arena_init(&scratch, alloc);
  eg_u32s_init(&n.stack, alloc);
  egraph_status status =
      eg_arena_alloc(&out->arena, values, sizeof *out->words, &out->words);
  if (status == EGRAPH_OK)
    status = eg_arena_alloc(&scratch, eg_graph_node_count(plan->graph),
                            sizeof *n.phase_of, &n.phase_of);
  if (status == EGRAPH_OK)
    status = eg_arena_alloc(&scratch, values, sizeof *n.visited, &n.visited);
  if (status == EGRAPH_OK) status = name_all(&n);
  eg_u32s_deinit(&n.stack);
  eg_arena_deinit(&scratch);
  return status;
}

void eg_plan_labels_deinit(eg_plan_labels *names) { eg_arena_deinit(&names->arena); }
