// SPDX-License-Identifier: Apache-2.0
#include "pcg/spec_copy.h"

#include <string.h>

static egraph_status copy_ints(eg_arena *arena, eg_ints ints, eg_ints *out) {
  int64_t *data = NULL;
  if (ints.len != 0) {
    EG_TRY(eg_arena_alloc(arena, ints.len, sizeof *data, &data));
    memcpy(data, ints.data, ints.len * sizeof *data);
  }
  *out = (eg_ints){.data = data, .len = ints.len};
  return EGRAPH_OK;
}

static egraph_status copy_attr(eg_arena *arena, const eg_attr *from, eg_attr *out) {
  *out = *from;
  switch (from->kind) {
  case EG_ATTR_INTS: return copy_ints(arena, from->ints, &out->ints);
  case EG_ATTR_STRING:
    return eg_arena_string(arena, from->text, strlen(from->text), &out->text);
  case EG_ATTR_INT:
  case EG_ATTR_FLOAT:
  case EG_ATTR_SYMBOL:
  case EG_ATTR_DTYPE: break;
  }
  return EGRAPH_OK;
}

static egraph_status copy_attrs(eg_arena *arena, const eg_attrs *from,
                                const eg_attrs **out) {
  eg_attrs *attrs;
  eg_attr *slots = NULL;
  EG_TRY(eg_arena_alloc(arena, 1, sizeof *attrs, &attrs));
  if (from->count != 0) EG_TRY(eg_arena_alloc(arena, from->count, sizeof *slots, &slots));
  for (uint16_t i = 0; i < from->count; i++)
    EG_TRY(copy_attr(arena, &from->slots[i], &slots[i]));
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
