// A graph at sizes of its open dimensions: the same nodes, with numbers.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "pcg/graph/graph_internal.h"

typedef struct fixer {
  const eg_graph *from;
  const int64_t *dims;
  eg_graph *to;
  eg_value *map; // [values]
  eg_arena arena;
} fixer;

static egraph_status fix_leaf(fixer *f, uint32_t id) {
  const eg_value_info *info = f->from->values.data[id];
  eg_type type = eg_type_at(&info->type, f->dims);
  if (info->kind == EG_VALUE_WEIGHT)
    return eg_graph_add_weight(f->to, info->name, &type, info->data, &f->map[id]);
  EG_TRY(eg_graph_add_input(f->to, info->name, &type, &f->map[id]));
  return eg_graph_set_default(f->to, f->map[id], info->data);
}

static egraph_status fix_opaque(fixer *f, eg_graph_node id, const eg_value *operands,
                                const char *const *names, eg_value *results) {
  eg_graph_node_info node = eg_graph_node_at(f->from, id);
  const eg_type **types;
  eg_type *fixed;
  size_t size;
  const void *record = eg_graph_opaque_record(f->from, id, &size);
  EG_TRY(eg_arena_alloc(&f->arena, node.result_count, sizeof *types, &types));
  EG_TRY(eg_arena_alloc(&f->arena, node.result_count, sizeof *fixed, &fixed));
  for (uint32_t i = 0; i < node.result_count; i++) {
    const eg_value_info *info = eg_graph_value(f->from, node.results[i]);
    fixed[i] = eg_type_at(&info->type, f->dims);
    types[i] = info->typed ? &fixed[i] : NULL;
  }
  EG_TRY(eg_graph_add_opaque(f->to, node.name, eg_graph_opaque_type(f->from, id), record,
                             size, operands, node.input_count, types, names,
                             node.result_count, results));
  return eg_graph_copy_opaque_work(f->to, f->from, id);
}

static egraph_status fix_node(fixer *f, eg_graph_node id) {
  eg_graph_node_info node = eg_graph_node_at(f->from, id);
  eg_value *operands, *results;
  const char **names;
  eg_attrs attrs;
  EG_TRY(eg_arena_alloc(&f->arena, node.input_count, sizeof *operands, &operands));
  EG_TRY(eg_arena_alloc(&f->arena, node.result_count, sizeof *results, &results));
  EG_TRY(eg_arena_alloc(&f->arena, node.result_count, sizeof *names, &names));
  for (uint32_t i = 0; i < node.input_count; i++)
    operands[i] = f->map[node.inputs[i].id];
  for (uint32_t i = 0; i < node.result_count; i++)
    names[i] = eg_graph_value(f->from, node.results[i])->name;
  if (node.attrs->op == EG_OP_OPAQUE) {
    EG_TRY(fix_opaque(f, id, operands, names, results));
  } else {
    EG_TRY(eg_attrs_at_sizes(&f->arena, node.attrs, f->dims, &attrs));
    EG_TRY(eg_graph_add_node(f->to, node.name, &attrs, operands, node.input_count, names,
                             results));
  }
  for (uint32_t i = 0; i < node.result_count; i++)
    f->map[node.results[i].id] = results[i];
  return EGRAPH_OK;
}

static egraph_status fix_values(fixer *f) {
  const eg_graph *from = f->from;
  EG_TRY(eg_graph_create(&from->alloc, &f->to));
  eg_graph_set_header(f->to, from->header);
  EG_TRY(eg_arena_alloc(&f->arena, from->values.len, sizeof *f->map, &f->map));
  for (uint32_t v = 0; v < from->values.len; v++) {
    const eg_value_info *info = from->values.data[v];
    if (info->kind != EG_VALUE_COMPUTED)
      EG_TRY(fix_leaf(f, v));
    else if (info->result == 0)
      EG_TRY(fix_node(f, info->node));
    bool is_plain = info->kind != EG_VALUE_COMPUTED || !info->typed ||
                    info->type.layout.format == EG_FORMAT_PLAIN;
    if (!is_plain)
      EG_TRY(eg_graph_set_format(f->to, f->map[v], (eg_format)info->type.layout.format));
  }
  for (size_t i = 0; i < from->outputs.len; i++)
    EG_TRY(eg_graph_add_output(f->to, from->outputs.data[i].name,
                               f->map[from->outputs.data[i].value.id]));
  return EGRAPH_OK;
}

egraph_status eg_graph_at_sizes(const eg_graph *graph, const int64_t *dims,
                                eg_graph **out) {
  fixer f = {.from = graph, .dims = dims};
  eg_arena_init(&f.arena, graph->alloc);
  egraph_status status = fix_values(&f);
  eg_arena_deinit(&f.arena);
  if (status == EGRAPH_OK)
    *out = f.to;
  else
    eg_graph_destroy(f.to);
  return status;
}
