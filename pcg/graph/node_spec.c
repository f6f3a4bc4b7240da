// SPDX-License-Identifier: Apache-2.0
#include "pcg/graph/node_spec.h"

#include <string.h>

egraph_status eg_node_spec_print(eg_text *text, const eg_node_spec *spec) {
  eg_text_append(text, eg_op_info_of((eg_op)spec->attrs->op)->name);
  eg_attrs_print(text, spec->attrs);
  eg_text_append(text, " (");
  for (uint32_t i = 0; i < spec->input_count; i++) {
    if (i != 0) eg_text_append(text, " ");
    if (eg_spec_is_weight(spec, i)) eg_text_append(text, "weight:");
    eg_type_print(text, &spec->inputs[i]);
  }
  eg_text_append(text, ") ->");
  for (uint32_t i = 0; i < spec->result_count; i++) {
    eg_text_append(text, " ");
    eg_type_print(text, &spec->results[i]);
  }
  return eg_text_status(text);
}

double eg_node_spec_flops(const eg_node_spec *spec) {
  return eg_op_flops(spec->attrs, spec->inputs, spec->input_count);
}

bool eg_node_spec_is_reorder(const eg_node_spec *spec) {
  return spec->attrs->op == EG_OP_IDENTITY && spec->input_count == 1 &&
         spec->result_count == 1 &&
         spec->inputs[0].layout.format != spec->results[0].layout.format;
}

bool eg_node_spec_is_plain(const eg_node_spec *spec) {
  bool plain = true;
  for (uint32_t i = 0; i < spec->input_count; i++)
    plain = plain && spec->inputs[i].layout.format == EG_FORMAT_PLAIN;
  for (uint32_t r = 0; r < spec->result_count; r++)
    plain = plain && spec->results[r].layout.format == EG_FORMAT_PLAIN;
  return plain;
}

// A change of memory format moves its data, although an identity is a view.
double eg_node_spec_bytes(const eg_node_spec *spec) {
  if (spec->attrs->op == EG_OP_OPAQUE) return spec->opaque_bytes;
  if (eg_node_spec_is_reorder(spec))
    return (double)eg_type_bytes(&spec->inputs[0]) +
           (double)eg_type_bytes(&spec->results[0]);
  return eg_op_bytes(spec->attrs, spec->inputs, spec->input_count, spec->results,
                     spec->result_count);
}

static egraph_status copy_attrs(eg_arena *arena, const eg_attrs *from,
                                const eg_attrs **out) {
  eg_attrs *attrs;
  eg_attr *slots = NULL;
  EG_NEW(arena, 1, attrs);
  if (from->count != 0) EG_NEW(arena, from->count, slots);
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
    EG_NEW(arena, count, types);
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

static bool any_open(const eg_type *types, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (eg_type_is_open(&types[i])) return true;
  return false;
}

static egraph_status types_at_example(eg_arena *arena, const eg_type *from,
                                      uint32_t count, eg_type **out) {
  EG_NEW(arena, count, *out);
  for (uint32_t i = 0; i < count; i++)
    (*out)[i] = eg_type_at(&from[i], NULL);
  return EGRAPH_OK;
}

egraph_status eg_spec_at_example(eg_arena *arena, const eg_node_spec *spec,
                                 eg_node_spec *out) {
  eg_type *inputs, *results, *inferred;
  eg_attrs *attrs;
  *out = *spec;
  if (!any_open(spec->inputs, spec->input_count) &&
      !any_open(spec->results, spec->result_count) && !eg_attrs_any_open(spec->attrs))
    return EGRAPH_OK;
  EG_TRY(types_at_example(arena, spec->inputs, spec->input_count, &inputs));
  EG_TRY(types_at_example(arena, spec->results, spec->result_count, &results));
  EG_NEW(arena, spec->result_count, inferred);
  EG_NEW(arena, 1, attrs);
  EG_TRY(eg_attrs_at_sizes(arena, spec->attrs, NULL, attrs));
  out->inputs = inputs;
  out->results = results;
  out->attrs = attrs;
  bool holds = eg_op_infer(attrs, inputs, spec->input_count, inferred) == EGRAPH_OK;
  for (uint32_t i = 0; holds && i < spec->result_count; i++)
    holds = eg_type_same_shape(&inferred[i], &results[i]);
  if (holds) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "no sizes of open dimensions are found at which a node '%s' can be "
                 "priced; give the sizes (--dim NAME=N)",
                 eg_op_info_of(spec->attrs->op)->name);
}
