// Of the seed graph every value has its phase: the earliest of the nodes that make it, of
// an input the earliest of its users. What rules have added is made as soon as its
// operands are there.
//
// Likewise for blocks of a folded step. What stands in several blocks is of none: equal
// nodes on what is outside. What rules have made of values of two neighbours is of the
// one that comes later in its phase. A node with several results is in the block of
// these.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/space/plan_phases.h"

#include <string.h>

enum { UNKNOWN = EG_PHASE_COUNT };
#define NO_BLOCK (UINT32_MAX - 2) // not known yet

typedef struct phases {
  eg_plan_space *space;
  uint8_t *phase;  // [values]
  bool *is_seeded; // [values]
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

static void seed_value(phases *p, eg_value value, eg_phase phase) {
  const uint32_t *block = p->space->info->fold.block;
  uint32_t v = value_of(p, value);
  if (v == EG_SPACE_NONE) return;
  eg_space_value *mine = &p->space->values.data[v];
  p->is_seeded[v] = true;
  if (phase < p->phase[v]) p->phase[v] = (uint8_t)phase;
  if (block == NULL) return;
  if (mine->block == NO_BLOCK) mine->block = block[value.id];
  if (mine->block != block[value.id]) mine->block = EG_BLOCK_OUTSIDE;
}

static void seed_node(phases *p, const eg_graph *graph, eg_graph_node_info node,
                      eg_phase phase) {
  for (uint32_t r = 0; r < node.result_count; r++)
    seed_value(p, node.results[r], phase);
  for (uint32_t i = 0; i < node.input_count; i++)
    if (eg_graph_value(graph, node.inputs[i])->kind != EG_VALUE_COMPUTED)
      seed_value(p, node.inputs[i], phase);
}

static void seed_all(phases *p) {
  const eg_step_info *info = p->space->info;
  const eg_graph *graph = eg_tensor_egraph_graph(p->space->egraph);
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++)
    seed_node(p, graph, eg_graph_node_at(graph, (eg_graph_node){n}),
              info->phases == NULL ? EG_PHASE_FORWARD : info->phases[n]);
}

// ---- results of one node ------------------------------------------------------------

/// The value whose part a node is, or EG_SPACE_NONE: it is no part.
static uint32_t tuple_of(const phases *p, eg_node node) {
  eg_term term = eg_engine_term(engine_of(p), node);
  return term.op == EG_OP_PART ? p->space->value_of[term.children[0].id] : EG_SPACE_NONE;
}

/// A tuple is in the block of its parts, as far as these are of the graph.
static void seed_tuples(phases *p) {
  eg_space_value *values = p->space->values.data;
  for (uint32_t v = 0; v < p->space->values.len; v++) {
    uint32_t count;
    const eg_node *nodes = eg_engine_class_nodes(engine_of(p), values[v].class, &count);
    for (uint32_t i = 0; p->is_seeded[v] && i < count; i++) {
      uint32_t tuple = tuple_of(p, nodes[i]);
      if (tuple != EG_SPACE_NONE && !p->is_seeded[tuple])
        values[tuple].block = values[v].block;
    }
  }
}

// ---- what rules have added ----------------------------------------------------------

/// The block of two values together.
static uint32_t join_blocks(uint32_t a, uint32_t b, uint8_t phase) {
  if (a == b || b == EG_BLOCK_OUTSIDE) return a;
  if (a == EG_BLOCK_OUTSIDE) return b;
  if (a == EG_BLOCK_SEVERAL || b == EG_BLOCK_SEVERAL) return EG_BLOCK_SEVERAL;
  uint32_t low = a < b ? a : b, high = a < b ? b : a;
  if (high - low != 1) return EG_BLOCK_SEVERAL;
  return phase == EG_PHASE_BACKWARD ? low : high;
}

/// Phase that a node's operands allow; UNKNOWN when one of them is.
static uint8_t phase_of_operands(const phases *p, eg_term term) {
  uint8_t phase = EG_PHASE_FORWARD;
  for (uint32_t k = 0; k < term.arity; k++) {
    uint8_t operand = p->phase[p->space->value_of[term.children[k].id]];
    if (operand > phase) phase = operand;
  }
  return phase;
}

static uint32_t block_of_operands(const phases *p, eg_term term, uint8_t phase) {
  uint32_t block = EG_BLOCK_OUTSIDE;
  for (uint32_t k = 0; k < term.arity; k++) {
    uint32_t operand = p->space->value_of[term.children[k].id];
    block = join_blocks(block, p->space->values.data[operand].block, phase);
  }
  return block;
}

static bool improve(phases *p, uint32_t v) {
  eg_space_value *value = &p->space->values.data[v];
  uint32_t count;
  const eg_node *nodes = eg_engine_class_nodes(engine_of(p), value->class, &count);
  bool changed = false;
  for (uint32_t i = 0; i < count; i++) {
    eg_term term = eg_engine_term(engine_of(p), nodes[i]);
    uint8_t phase = phase_of_operands(p, term);
    if (phase >= p->phase[v]) continue;
    bool is_known = value->block != NO_BLOCK && p->phase[v] == UNKNOWN;
    if (!is_known) value->block = block_of_operands(p, term, phase);
    p->phase[v] = phase;
    changed = true;
  }
  return changed;
}

static void spread(phases *p) {
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t v = 0; v < p->space->values.len; v++)
      if (!p->is_seeded[v] && improve(p, v)) changed = true;
  }
}

// ---- the whole ------------------------------------------------------------------------

/// What is carried is in the block of what it becomes.
static void follow_exits(phases *p) {
  const eg_step_info *info = p->space->info;
  const eg_graph *graph = eg_tensor_egraph_graph(p->space->egraph);
  for (uint32_t i = 0; i < info->carried_count; i++) {
    uint32_t entry = value_of(p, info->carried[i].entry);
    uint32_t exit = value_of(p, eg_graph_output(graph, info->carried[i].output, NULL));
    p->space->values.data[entry].block = p->space->values.data[exit].block;
  }
}

static void find_all(phases *p) {
  uint32_t count = (uint32_t)p->space->values.len;
  if (count != 0) memset(p->phase, UNKNOWN, count);
  for (uint32_t v = 0; v < count; v++)
    p->space->values.data[v].block = NO_BLOCK;
  seed_all(p);
  seed_tuples(p);
  spread(p);
  follow_exits(p);
  for (uint32_t v = 0; v < count; v++) {
    eg_space_value *value = &p->space->values.data[v];
    // A class that only has itself as operand is made by nobody, in whatever phase.
    value->phase = p->phase[v] == UNKNOWN ? EG_PHASE_UPDATE : (eg_phase)p->phase[v];
    if (value->block == NO_BLOCK) value->block = EG_BLOCK_OUTSIDE;
    value->times = eg_step_fold_times(&p->space->info->fold, value->block);
  }
}

egraph_status eg_plan_phases_find(eg_plan_space *space) {
  phases p = {.space = space};
  uint32_t count = (uint32_t)space->values.len;
  eg_arena arena;
  eg_arena_init(&arena, space->alloc);
  egraph_status status = eg_arena_alloc(&arena, count, sizeof *p.phase, &p.phase);
  if (status == EGRAPH_OK)
    status = eg_arena_alloc(&arena, count, sizeof *p.is_seeded, &p.is_seeded);
  if (status == EGRAPH_OK) find_all(&p);
  eg_arena_deinit(&arena);
  return status;
}
