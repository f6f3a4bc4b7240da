// SPDX-License-Identifier: Apache-2.0
#include "optimize/space/graph_writer.h"

#include <stdio.h>
#include <string.h>

#include "base/owner.h"

#define NONE EG_SPACE_NONE

// ---- names ------------------------------------------------------------------------

static uint32_t written_value(const eg_graph_writer *w, eg_value value) {
  return eg_plan_space_value(w->space,
                             eg_tensor_egraph_value_class(w->space->egraph, value));
}

static void note_name(eg_graph_writer *w, eg_value value) {
  const eg_value_info *info = eg_graph_value(w->original, value);
  uint32_t v = written_value(w, value);
  if (info->kind == EG_VALUE_COMPUTED && v != NONE) w->names[v] = info->name;
}

/// Makes a name that no value of the original has, not even one that is written later.
static egraph_status make_fresh_name(eg_graph_writer *w, const char **out) {
  char name[32];
  eg_value taken;
  do
    (void)snprintf(name, sizeof name, "opt_%u", w->next_name++);
  while (eg_graph_find_value(w->original, name, &taken));
  return eg_arena_string(&w->scratch, name, strlen(name), out);
}

// ---- nodes ------------------------------------------------------------------------

/// Writes an unknown operator unchanged.
static egraph_status write_unknown(eg_graph_writer *w, const eg_attrs *attrs,
                                   const eg_value *operands, eg_value *out_first) {
  const char *key = eg_attr_at(attrs, EG_A_OPAQUE_KEY)->text;
  eg_graph_node node;
  if (!eg_graph_find_opaque(w->original, key, &node))
    return EG_FAIL(EGRAPH_E_INTERNAL, "opaque operator '%s' is not in the original graph",
                   key);
  eg_graph_node_info info = eg_graph_node_at(w->original, node);
  const char **names;
  eg_value *made;
  EG_NEW(&w->scratch, info.result_count, names);
  EG_NEW(&w->scratch, info.result_count, made);
  for (uint32_t r = 0; r < info.result_count; r++) {
    uint32_t v = written_value(w, info.results[r]);
    names[r] = eg_graph_value(w->original, info.results[r])->name;
    if (v != NONE) w->names[v] = NULL;
  }
  EG_TRY(eg_graph_add_copy(w->graph, w->original, node, operands, names, made));
  if (info.result_count != 0) *out_first = made[0];
  return EGRAPH_OK;
}

const eg_attrs *eg_graph_writer_attrs(const eg_graph_writer *writer, eg_node node) {
  static const eg_attrs identity = {.op = EG_OP_IDENTITY};
  if (node.id == EG_NODE_NONE.id) return &identity;
  const eg_tensor_egraph *egraph = writer->space->egraph;
  return eg_tensor_egraph_attrs_at(
      egraph, eg_engine_term(eg_tensor_egraph_engine_of(egraph), node).payload);
}

static egraph_status write_graph_node(eg_graph_writer *w, uint32_t value, eg_node node,
                                      const eg_value *operands, uint32_t count,
                                      eg_value *out_first) {
  const eg_attrs *attrs = eg_graph_writer_attrs(w, node);
  EG_TRY(eg_u32s_push(&w->enode, node.id));
  if (attrs->op == EG_OP_OPAQUE) return write_unknown(w, attrs, operands, out_first);
  uint32_t results = eg_op_results(attrs);
  const char **names;
  eg_value *made;
  EG_NEW(&w->scratch, results, names);
  EG_NEW(&w->scratch, results, made);
  if (results == 1) {
    names[0] = w->names[value];
    w->names[value] = NULL;
  }
  for (uint32_t r = 0; r < results; r++)
    if (names[r] == NULL) EG_TRY(make_fresh_name(w, &names[r]));
  EG_TRY(eg_graph_add_node(w->graph, w->names_nodes ? names[0] : "", attrs, operands,
                           count, names, made));
  *out_first = made[0];
  return EGRAPH_OK;
}

egraph_status eg_graph_writer_node(eg_graph_writer *writer, uint32_t value, eg_node node,
                                   const eg_value *operands, uint32_t count,
                                   eg_value *out_first) {
  egraph_status status =
      write_graph_node(writer, value, node, operands, count, out_first);
  eg_arena_deinit(&writer->scratch);
  return status;
}

// ---- entries ----------------------------------------------------------------------

static egraph_status write_input(eg_graph_writer *w, uint32_t v, const eg_attrs *attrs) {
  const char *name = eg_attr_at(attrs, EG_A_INPUT_NAME)->text;
  eg_value value;
  if (!eg_graph_find_value(w->graph, name, &value))
    return EG_FAIL(EGRAPH_E_INTERNAL, "input '%s' is not in the original graph", name);
  w->made.data[v] = value.id;
  return EGRAPH_OK;
}

static egraph_status write_weight(eg_graph_writer *w, uint32_t v, const eg_attrs *attrs) {
  const char *name = eg_attr_at(attrs, EG_A_WEIGHT_NAME)->text;
  eg_value old, value;
  if (!eg_graph_find_value(w->original, name, &old))
    return EG_FAIL(EGRAPH_E_INTERNAL, "weight '%s' is not in the original graph", name);
  const eg_value_info *info = eg_graph_value(w->original, old);
  EG_TRY(eg_graph_add_weight(w->graph, name, &info->type, info->data, &value));
  w->made.data[v] = value.id;
  return EGRAPH_OK;
}

/// Writes the value that an e-node makes from written operands.
static egraph_status write_made(eg_graph_writer *w, uint32_t v, eg_node node,
                                const eg_attrs *attrs) {
  eg_term term = eg_engine_term(eg_plan_space_engine(w->space), node);
  eg_value *operands, first;
  EG_NEW(&w->scratch, term.arity, operands);
  for (uint32_t k = 0; k < term.arity; k++)
    operands[k] =
        (eg_value){w->made.data[eg_plan_space_value(w->space, term.children[k])]};
  if (attrs->op == EG_OP_PART)
    first.id = operands[0].id + (uint32_t)eg_attr_at(attrs, EG_A_PART_INDEX)->i;
  else
    EG_TRY(write_graph_node(w, v, node, operands, term.arity, &first));
  w->made.data[v] = first.id;
  return EGRAPH_OK;
}

egraph_status eg_graph_writer_entry(eg_graph_writer *writer, uint32_t value,
                                    eg_node leaf) {
  eg_graph_writer *w = writer;
  const eg_engine *engine = eg_plan_space_engine(w->space);
  w->stack.len = 0;
  EG_TRY(eg_u32s_push(&w->stack, value));
  while (w->stack.len != 0) {
    uint32_t top = w->stack.data[w->stack.len - 1];
    size_t waiting = w->stack.len;
    eg_node node = w->space->values.data[top].ahead;
    if (node.id == EG_NODE_NONE.id) node = leaf;
    eg_term term = eg_engine_term(engine, node);
    for (uint32_t k = term.arity; w->made.data[top] == NONE && k-- > 0;) {
      uint32_t operand = eg_plan_space_value(w->space, term.children[k]);
      if (w->made.data[operand] == NONE) EG_TRY(eg_u32s_push(&w->stack, operand));
    }
    if (w->stack.len != waiting) continue;
    w->stack.len--;
    if (w->made.data[top] != NONE) continue;
    const eg_attrs *attrs = eg_graph_writer_attrs(w, node);
    egraph_status status = attrs->op == EG_OP_INPUT    ? write_input(w, top, attrs)
                           : attrs->op == EG_OP_WEIGHT ? write_weight(w, top, attrs)
                                                       : write_made(w, top, node, attrs);
    eg_arena_deinit(&w->scratch);
    EG_TRY(status);
  }
  return EGRAPH_OK;
}

// ---- the whole --------------------------------------------------------------------

static egraph_status begin_graph(eg_graph_writer *w) {
  EG_TRY(eg_alloc(w->space->alloc, w->space->values.len, sizeof *w->names, &w->names));
  EG_TRY(eg_graph_create(&w->space->alloc, &w->graph));
  for (size_t v = 0; v < w->space->values.len; v++)
    EG_TRY(eg_u32s_push(&w->made, NONE));
  // Outputs come last, so that the value behind an output keeps its name.
  for (uint32_t i = eg_graph_value_count(w->original); i-- > 0;)
    note_name(w, (eg_value){i});
  for (uint32_t i = 0; i < eg_graph_output_count(w->original); i++)
    note_name(w, eg_graph_output(w->original, i, NULL));
  eg_graph_set_header(w->graph, eg_graph_header(w->original));
  for (uint32_t i = 0; i < eg_graph_input_count(w->original); i++) {
    const eg_value_info *info =
        eg_graph_value(w->original, eg_graph_input(w->original, i));
    eg_value value;
    EG_TRY(eg_graph_add_input(w->graph, info->name, &info->type, &value));
    EG_TRY(eg_graph_set_default(w->graph, value, info->data));
  }
  return EGRAPH_OK;
}

egraph_status eg_graph_writer_init(eg_graph_writer *writer, const eg_plan_space *space) {
  *writer = (eg_graph_writer){.space = space,
                              .original = eg_tensor_egraph_graph(space->egraph)};
  EG_INIT_MEMBERS(writer, space->alloc, (eg_u32s, made, enode, stack),
                  (eg_arena, scratch))
  egraph_status status = begin_graph(writer);
  if (status != EGRAPH_OK) {
    eg_graph_destroy(writer->graph);
    eg_graph_writer_deinit(writer);
  }
  return status;
}

void eg_graph_writer_deinit(eg_graph_writer *writer) {
  EG_DEINIT_MEMBERS(writer, (eg_u32s, made, enode, stack), (eg_arena, scratch))
  eg_free(writer->space->alloc, writer->names, writer->space->values.len,
          sizeof *writer->names);
  writer->names = NULL;
}
