// The values as a plain extraction problem, whose landmarks (extract/landmarks.h) say
// what each derivation of a value needs. Only what is flagged by them leaves, so that the
// derivations of all other values, and with them the landmarks, stay what they are.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/space/plan_loops.h"

#include <math.h>

#include "extract/landmarks.h"

typedef struct finder {
  const eg_plan_space *space;
  const eg_engine *engine;
  eg_extract_problem problem; // a class per value
  eg_u32s node;               // [nodes of the problem] e-node
  eg_u32s children;
  eg_class_index index;
  eg_landmarks landmarks;
  eg_bytes is_fixed; // [values] rules leave it as it is
  eg_bytes *out;
} finder;

/// An operator runs when its value is made; an operand of a later phase comes too late.
static bool is_timely(const finder *f, uint32_t value) {
  const eg_space_value *values = f->space->values.data;
  for (size_t k = 0; k < f->children.len; k++)
    if (values[f->children.data[k]].phase > values[value].phase) return false;
  return true;
}

static egraph_status add_node(finder *f, uint32_t value, eg_node node) {
  eg_term term = eg_engine_term(f->engine, node);
  uint32_t number;
  f->children.len = 0;
  for (uint32_t k = 0; k < term.arity; k++)
    EG_TRY(eg_u32s_push(&f->children, f->space->value_of[term.children[k].id]));
  bool is_made = eg_engine_node_reason(f->engine, node) != EG_REASON_SEED;
  if (!is_timely(f, value) || (is_made && f->is_fixed.data[value] != 0)) {
    f->out->data[node.id] = 1;
    return EGRAPH_OK;
  }
  EG_TRY(eg_extract_problem_add_node(&f->problem, value, 0, f->children.data, term.arity,
                                     &number));
  return eg_u32s_push(&f->node, node.id);
}

static egraph_status add_nodes(finder *f) {
  const eg_space_values *values = &f->space->values;
  f->problem.class_count = (uint32_t)values->len;
  for (uint32_t v = 0; v < values->len; v++) {
    uint32_t count;
    const eg_node *nodes =
        eg_engine_class_nodes(f->engine, values->data[v].class, &count);
    for (uint32_t i = 0; i < count; i++)
      EG_TRY(add_node(f, v, nodes[i]));
  }
  return EGRAPH_OK;
}

static egraph_status flag_loops(finder *f) {
  const eg_patience patience = {.deadline = INFINITY};
  bool done;
  EG_TRY(eg_class_index_build(&f->index, &f->problem));
  EG_TRY(eg_landmarks_find(&f->landmarks, &f->problem, &f->index, patience, &done));
  for (uint32_t n = 0; done && n < eg_extract_node_count(&f->problem); n++)
    if (eg_landmarks_node_has(&f->landmarks, &f->problem, n,
                              f->problem.node_class.data[n]))
      f->out->data[f->node.data[n]] = 1;
  return EGRAPH_OK;
}

static void find_fixed(finder *f) {
  const eg_step_info *info = f->space->info;
  for (uint32_t i = 0; i < info->fixed_count; i++) {
    uint32_t v = eg_plan_space_value(
        f->space,
        eg_tensor_egraph_value_class(f->space->egraph, (eg_value){info->fixed[i]}));
    if (v != EG_SPACE_NONE) f->is_fixed.data[v] = 1;
  }
}

static egraph_status find(finder *f) {
  EG_TRY(eg_bytes_resize(&f->is_fixed, f->space->values.len));
  find_fixed(f);
  uint32_t limit = eg_engine_node_limit(f->engine);
  EG_TRY(eg_bytes_resize(f->out, limit));
  for (uint32_t i = 0; i < limit; i++)
    f->out->data[i] = 0;
  EG_TRY(add_nodes(f));
  return flag_loops(f);
}

egraph_status eg_plan_loops_find(const eg_plan_space *space, eg_bytes *out) {
  finder f = {
      .space = space, .engine = eg_tensor_egraph_engine_of(space->egraph), .out = out};
  EG_TRY(eg_extract_problem_init(&f.problem, space->alloc));
  eg_u32s_init(&f.node, space->alloc);
  eg_u32s_init(&f.children, space->alloc);
  eg_bytes_init(&f.is_fixed, space->alloc);
  eg_class_index_init(&f.index, space->alloc);
  eg_landmarks_init(&f.landmarks, space->alloc);
  egraph_status status = find(&f);
  eg_landmarks_deinit(&f.landmarks);
  eg_class_index_deinit(&f.index);
  eg_u32s_deinit(&f.children);
  eg_bytes_deinit(&f.is_fixed);
  eg_u32s_deinit(&f.node);
  eg_extract_problem_deinit(&f.problem);
  return status;
}
