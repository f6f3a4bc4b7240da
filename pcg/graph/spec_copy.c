// SPDX-License-Identifier: Apache-2.0
#include "pcg/graph/spec_copy.h"

#include <string.h>

static egraph_status copy_attrs(eg_arena *arena, const eg_attrs *from,
                                const eg_attrs **out) {
  eg_attrs *attrs;
  eg_attr *slots = NULL;
  EG_TRY(eg_arena_alloc(arena, 1, sizeof *attrs, &attrs));
  if (from->count != 0) EG_TRY(eg_arena_alloc(arena, from->count, sizeof *slots, &slots));
  for (uint16_t i = 0; i < from->count; i++)
    EG_TRY(eg_attr_copy(arena, &from->slots[i], &slots[i]));
  *attrs = (eg_attrs){.op = from->op, .count = from->count, .slots = slots};
  *out = attrs;
  return EGRAPH_OK;
}

static egraph_status copy_types(eg_arena *arena, const eg_type *from, uint32_t count,
                                const eg_type **out) {
  eg_type *types = NULL;
  if (count != 0) {
    EG_TRY(eg_arena_alloc(arena, count, sizeof *types, &types));
    memcpy(types, from, count * sizeof *types);
  }
  *out = types;
  return EGRAPH_OK;
}

egraph_status eg_spec_copy(eg_arena *arena, const eg_node_spec *spec, eg_node_spec *out) {
  eg_node_spec copy = *spec;
  EG_TRY(copy_attrs(arena, spec->attrs, &copy.attrs));
  EG_TRY(copy_types(arena, spec->inputs, spec->input_count, &copy.inputs));
  EG_TRY(copy_types(arena, spec->results, spec->result_count, &copy.results));
  *out = copy;
  return EGRAPH_OK;
}

eg_type eg_type_plain(const eg_type *type) {
  eg_type plain = *type;
  plain.layout.format = EG_FORMAT_PLAIN;
  return plain;
}
