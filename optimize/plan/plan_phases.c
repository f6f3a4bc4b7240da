// Of the seed graph every value has its phase: the earliest of the nodes that make it, of
// an input the earliest of its users. What rules have added is made as soon as its
// operands are there.
//
// Likewise for the number of blocks, where what rules have added counts no more often
// than those who use it. Of several nodes the most counts; an input has the number of
// what first uses it, but what is carried that of what it becomes. A node with several
// results has that of its results, whatever the operands are that all blocks share. At
// last, what crosses from block to block counts where it is used, but its node where it
// is made.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan/plan_phases.h"

#include <string.h>

enum { UNKNOWN = EG_PHASE_COUNT };

typedef struct phases {
  eg_plan_space *space;
  uint8_t *phase;  // [values]
  bool *is_seeded; // [values]
  bool *is_handed; // [values] from block to block: counts as often as it is used
  uint32_t most;   // blocks that a node stands for
} phases;

static const eg_engine *engine_of(const phases *p) {
  return eg_tensor_egraph_engine_of(p->space->egraph);
}

// ---- the graph --------------------------------------------------------------------

/// The value of the space that a value of the graph is, or EG_SPACE_NONE: out of reach.
static uint32_t value_of(const phases *p, eg_value value) {
  return eg_plan_space_value(p->space,
                             eg_tensor_egraph_value_class(p->space->egraph, value));
}

static void seed_phase(phases *p, uint32_t v, eg_phase phase) {
  p->is_seeded[v] = true;
  if (phase < p->phase[v]) p->phase[v] = (uint8_t)phase;
}

static void seed_node(phases *p, const eg_graph *graph, eg_graph_node_info node,
                      eg_phase phase, uint32_t times) {
  for (uint32_t r = 0; r < node.result_count; r++) {
    uint32_t v = value_of(p, node.results[r]);
    if (v == EG_SPACE_NONE) continue;
    eg_space_value *made = &p->space->values.data[v];
    seed_phase(p, v, phase);
    if (times > made->times) made->times = times;
    if (times > p->most) p->most = times;
  }
  for (uint32_t i = 0; i < node.input_count; i++) {
    uint32_t v = value_of(p, node.inputs[i]);
    if (v == EG_SPACE_NONE ||
        eg_graph_value(graph, node.inputs[i])->kind == EG_VALUE_COMPUTED)
      continue;
    eg_space_value *read = &p->space->values.data[v];
    seed_phase(p, v, phase);
    if (read->times == 0) read->times = times;
  }
}

static void seed_all(phases *p) {
  const eg_step_info *info = p->space->info;
  const eg_graph *graph = eg_tensor_egraph_graph(p->space->egraph);
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++)
    seed_node(p, graph, eg_graph_node_at(graph, (eg_graph_node){n}),
              info->phases == NULL ? EG_PHASE_FORWARD : info->phases[n],
              info->times == NULL ? 1 : info->times[n]);
}

static void mark_handed(phases *p, eg_value value) {
  uint32_t v = value_of(p, value);
  if (v != EG_SPACE_NONE) p->is_handed[v] = true;
}

static void find_handed(phases *p) {
  const eg_step_info *info = p->space->info;
  for (uint32_t i = 0; i < info->tied_count; i++)
    for (int e = 0; e < 2; e++)
      mark_handed(p, info->tied[i].value[e]);
  for (uint32_t i = 0; i < info->sealed_count; i++)
    mark_handed(p, info->sealed[i]);
}

// ---- what rules have added ----------------------------------------------------------

/// Phase and times that a node's operands allow; UNKNOWN when one of them is.
static uint8_t phase_of_operands(const phases *p, eg_node node, uint32_t *out_times) {
  const eg_plan_space *space = p->space;
  eg_term term = eg_engine_term(engine_of(p), node);
  uint8_t phase = EG_PHASE_FORWARD;
  *out_times = 1;
  for (uint32_t k = 0; k < term.arity; k++) {
    uint32_t v = space->value_of[term.children[k].id];
    if (p->phase[v] > phase) phase = p->phase[v];
    uint32_t used = p->is_handed[v] ? p->most : space->values.data[v].times;
    if (used > *out_times) *out_times = used;
  }
  return phase;
}

static bool improve(phases *p, uint32_t v) {
  eg_space_value *value = &p->space->values.data[v];
  uint32_t count;
  const eg_node *nodes = eg_engine_class_nodes(engine_of(p), value->class, &count);
  bool changed = false;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t times;
    uint8_t phase = phase_of_operands(p, nodes[i], &times);
    if (phase >= p->phase[v]) continue;
    p->phase[v] = phase;
    value->times = times;
    changed = true;
  }
  return changed;
}

static void spread_phases(phases *p) {
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t v = 0; v < p->space->values.len; v++)
      if (!p->is_seeded[v] && improve(p, v)) changed = true;
  }
}

/// Raises the uses of what a value may be made of to its own.
static bool raise_uses(const phases *p, uint32_t v, uint32_t *uses) {
  uint32_t count;
  bool changed = false;
  const eg_node *nodes =
      eg_engine_class_nodes(engine_of(p), p->space->values.data[v].class, &count);
  for (uint32_t i = 0; i < count; i++) {
    eg_term term = eg_engine_term(engine_of(p), nodes[i]);
    for (uint32_t k = 0; k < term.arity; k++) {
      uint32_t operand = p->space->value_of[term.children[k].id];
      if (p->is_seeded[operand] || uses[operand] >= uses[v]) continue;
      uses[operand] = uses[v];
      changed = true;
    }
  }
  return changed;
}

/// What is added counts no more often than what it is used for.
static void limit_times(phases *p, uint32_t *uses) {
  eg_space_values *values = &p->space->values;
  for (uint32_t v = 0; v < values->len; v++)
    uses[v] = p->is_seeded[v] ? values->data[v].times : 1;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t v = (uint32_t)values->len; v-- > 0;)
      if (raise_uses(p, v, uses)) changed = true;
  }
  for (uint32_t v = 0; v < values->len; v++)
    if (uses[v] < values->data[v].times) values->data[v].times = uses[v];
}

// ---- results of one node --------------------------------------------------------------

/// The value whose part a node is, or EG_SPACE_NONE: it is no part.
static uint32_t tuple_of(const phases *p, eg_node node) {
  eg_term term = eg_engine_term(engine_of(p), node);
  return term.op == EG_OP_PART ? p->space->value_of[term.children[0].id] : EG_SPACE_NONE;
}

/// Calls `visit` for every part with its tuple; whether any call returned true.
static bool visit_parts(phases *p,
                        bool (*visit)(phases *p, uint32_t part, uint32_t tuple)) {
  bool any = false;
  for (uint32_t v = 0; v < p->space->values.len; v++) {
    uint32_t count;
    const eg_node *nodes =
        eg_engine_class_nodes(engine_of(p), p->space->values.data[v].class, &count);
    for (uint32_t i = 0; i < count; i++) {
      uint32_t tuple = tuple_of(p, nodes[i]);
      if (tuple != EG_SPACE_NONE && visit(p, v, tuple)) any = true;
    }
  }
  return any;
}

static bool forget_tuple(phases *p, uint32_t part, uint32_t tuple) {
  if (p->is_seeded[part]) p->space->values.data[tuple].times = 0;
  return false;
}

static bool forget_part(phases *p, uint32_t part, uint32_t tuple) {
  const eg_space_value *values = p->space->values.data;
  if (!p->is_seeded[part] && values[tuple].times == 0)
    p->space->values.data[part].times = 0;
  return false;
}

static bool level(phases *p, uint32_t part, uint32_t tuple) {
  eg_space_value *a = &p->space->values.data[part], *b = &p->space->values.data[tuple];
  if (a->times == b->times) return false;
  a->times = b->times = a->times > b->times ? a->times : b->times;
  return true;
}

static void join_parts(phases *p) {
  (void)visit_parts(p, forget_tuple);
  (void)visit_parts(p, forget_part);
  while (visit_parts(p, level)) {
  }
}

// ---- what is carried ------------------------------------------------------------------

static void follow_exits(phases *p) {
  const eg_step_info *info = p->space->info;
  const eg_graph *graph = eg_tensor_egraph_graph(p->space->egraph);
  for (uint32_t i = 0; i < info->carried_count; i++) {
    uint32_t entry = value_of(p, info->carried[i].entry);
    uint32_t exit = value_of(p, eg_graph_output(graph, info->carried[i].output, NULL));
    p->space->values.data[entry].times = p->space->values.data[exit].times;
  }
}

// ---- what crosses blocks --------------------------------------------------------------

static void time_crossing(phases *p) {
  const eg_step_info *info = p->space->info;
  for (uint32_t v = 0; v < p->space->values.len; v++)
    p->space->values.data[v].made_times = p->space->values.data[v].times;
  for (uint32_t i = 0; i < info->tied_count; i++)
    for (int e = 0; e < 2; e++)
      p->space->values.data[value_of(p, info->tied[i].value[e])].times =
          info->tied[i].times[e];
}

// ---- the whole ------------------------------------------------------------------------

static void find_all(phases *p, uint32_t *uses) {
  uint32_t count = (uint32_t)p->space->values.len;
  if (count != 0) memset(p->phase, UNKNOWN, count);
  seed_all(p);
  find_handed(p);
  spread_phases(p);
  limit_times(p, uses);
  join_parts(p);
  follow_exits(p);
  for (uint32_t v = 0; v < count; v++) {
    eg_space_value *value = &p->space->values.data[v];
    // A class that only has itself as operand is made by nobody, in whatever phase.
    value->phase = p->phase[v] == UNKNOWN ? EG_PHASE_UPDATE : (eg_phase)p->phase[v];
    if (value->times == 0) value->times = 1;
  }
  time_crossing(p);
}

egraph_status eg_plan_phases_find(eg_plan_space *space) {
  phases p = {.space = space, .most = 1};
  uint32_t count = (uint32_t)space->values.len, *uses;
  eg_arena arena;
  eg_arena_init(&arena, space->alloc);
  egraph_status status = eg_arena_alloc(&arena, count, sizeof *p.phase, &p.phase);
  if (status == EGRAPH_OK)
    status = eg_arena_alloc(&arena, count, sizeof *p.is_seeded, &p.is_seeded);
  if (status == EGRAPH_OK)
    status = eg_arena_alloc(&arena, count, sizeof *p.is_handed, &p.is_handed);
  if (status == EGRAPH_OK) status = eg_arena_alloc(&arena, count, sizeof *uses, &uses);
  if (status == EGRAPH_OK) find_all(&p, uses);
  eg_arena_deinit(&arena);
  return status;
}
