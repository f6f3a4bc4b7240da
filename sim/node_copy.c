// SPDX-License-Identifier: Apache-2.0
#include "sim/node_copy.h"

#include <string.h>

static egraph_status copy_attr(eg_arena *arena, const eg_attr *from, eg_attr *out) {
  *out = *from;
  switch (from->kind) {
  case EG_ATTR_INT:
  case EG_ATTR_FLOAT:
  case EG_ATTR_SYMBOL:
  case EG_ATTR_DTYPE: return EGRAPH_OK;
  case EG_ATTR_STRING:
    return eg_arena_string(arena, from->text, strlen(from->text), &out->text);
  case EG_ATTR_INTS: {
    int64_t *data;
    EG_TRY(eg_arena_alloc(arena, from->ints.len, sizeof *data, &data));
    if (from->ints.len != 0) memcpy(data, from->ints.data, from->ints.len * sizeof *data);
    out->ints.data = data;
    return EGRAPH_OK;
  }
  }
  return EGRAPH_OK;
}

static egraph_status copy_attrs(eg_arena *arena, const eg_attrs *from,
                                const eg_attrs **out) {
  eg_attrs *attrs;
  eg_attr *slots;
  EG_TRY(eg_arena_alloc(arena, 1, sizeof *attrs, &attrs));
  EG_TRY(eg_arena_alloc(arena, from->count, sizeof *slots, &slots));
  for (uint16_t i = 0; i < from->count; i++)
    EG_TRY(copy_attr(arena, &from->slots[i], &slots[i]));
  *attrs = (eg_attrs){.op = from->op, .count = from->count, .slots = slots};
  *out = attrs;
  return EGRAPH_OK;
}

static egraph_status copy_types(eg_arena *arena, const eg_type *from, uint32_t count,
                                const eg_type **out) {
  eg_type *types;
  EG_TRY(eg_arena_alloc(arena, count, sizeof *types, &types));
  if (count != 0) memcpy(types, from, count * sizeof *types);
  *out = types;
  return EGRAPH_OK;
}

egraph_status eg_node_spec_copy(eg_arena *arena, const eg_node_spec *spec,
                                eg_node_spec *out) {
  eg_node_spec copy = *spec;
  EG_TRY(copy_attrs(arena, spec->attrs, &copy.attrs));
  EG_TRY(copy_types(arena, spec->inputs, spec->input_count, &copy.inputs));
  EG_TRY(copy_types(arena, spec->results, spec->result_count, &copy.results));
  *out = copy;
  return EGRAPH_OK;
}
