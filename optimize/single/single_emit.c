// Classes of the problem are emitted operands first by an explicit stack, each once.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/single/single_emit.h"

#include "base/owner.h"
#include "optimize/space/graph_writer.h"

#define NONE EG_SPACE_NONE

EG_VEC_DEFINE(eg_values, eg_value);

typedef struct emitter {
  const eg_single_problem *single;
  const eg_plan_space *space;
  const uint32_t *choice;
  eg_graph_writer writer;
  eg_u32s made;       // [problem classes] first value of the graph, or NONE
  eg_u32s stack;      // classes that wait
  eg_values operands; // of the current node
  eg_emission *out;
  const eg_emission *before; // where the original's nodes come from; may be NULL
} emitter;
EG_OWNER_DEFINE_STATIC(emitter, (eg_u32s, made, stack), (eg_values, operands))

static const eg_single_node *node_of(const emitter *e, uint32_t class) {
  return &e->single->nodes.data[e->choice[class]];
}

// ---- origins ----------------------------------------------------------------------

/// Returns the number of the rule that made an e-node; for a node of the original graph,
/// the rule that made it in an earlier round.
static uint32_t reason_of(const emitter *e, eg_node node) {
  if (node.id == EG_NODE_NONE.id) return EG_REORDER;
  const eg_tensor_egraph *egraph = e->space->egraph;
  uint32_t index;
  eg_value value;
  uint32_t reason = eg_engine_node_reason(eg_tensor_egraph_engine_of(egraph), node);
  if (reason == EG_REASON_SEED && e->before != NULL &&
      eg_tensor_egraph_seed_value(egraph, node, &value) &&
      eg_strmap_find(&e->before->origin_of,
                     eg_graph_value(e->writer.original, value)->name, &index))
    return e->before->origins.data[index].reason;
  return reason;
}

static egraph_status note_origin(emitter *e, const char *name, eg_node node,
                                 const eg_price *price) {
  EG_TRY(eg_strmap_put(&e->out->origin_of, name, (uint32_t)e->out->origins.len));
  return eg_origins_push(&e->out->origins, (eg_origin){.reason = reason_of(e, node),
                                                       .seconds = price->seconds,
                                                       .source = price->source});
}

// ---- one class --------------------------------------------------------------------

/// Pushes operands that are not yet written on the stack, the first one on top.
static egraph_status push_operands(emitter *e, uint32_t class) {
  const eg_extract_problem *problem = &e->single->problem;
  uint32_t node = e->choice[class];
  for (uint32_t i = problem->child_begin.data[node + 1];
       i-- > problem->child_begin.data[node];)
    if (e->made.data[problem->children.data[i]] == NONE)
      EG_TRY(eg_u32s_push(&e->stack, problem->children.data[i]));
  return EGRAPH_OK;
}

/// Collects the values of the operands of a node, in order; writes constants.
static egraph_status take_operands(emitter *e, uint32_t class) {
  const eg_extract_problem *problem = &e->single->problem;
  const eg_single_node *node = node_of(e, class);
  const eg_space_operator *op =
      node->op == NONE ? NULL : &e->space->operators.data[node->op];
  uint32_t next = problem->child_begin.data[e->choice[class]];
  e->operands.len = 0;
  for (uint32_t i = 0; i < (op == NULL ? 1 : op->input_count); i++) {
    // op NULL: a reorder, whose operand is the same value in another format
    uint32_t v =
        op == NULL ? e->single->value.data[class] : e->space->inputs.data[op->inputs + i];
    if (e->space->values.data[v].is_constant) {
      EG_TRY(eg_graph_writer_entry(&e->writer, v, EG_NODE_NONE));
      EG_TRY(eg_values_push(&e->operands, (eg_value){e->writer.made.data[v]}));
    } else {
      uint32_t child = problem->children.data[next++];
      EG_TRY(eg_values_push(&e->operands, (eg_value){e->made.data[child]}));
    }
  }
  return EGRAPH_OK;
}

static egraph_status write_single_node(emitter *e, uint32_t class, eg_node node) {
  uint32_t v = e->single->value.data[class];
  eg_value first;
  EG_TRY(eg_graph_writer_node(&e->writer, v, node, e->operands.data,
                              (uint32_t)e->operands.len, &first));
  eg_graph *graph = e->writer.graph;
  eg_graph_node_info info = eg_graph_node_at(graph, eg_graph_value(graph, first)->node);
  eg_format format = eg_single_format(e->single, class);
  for (uint32_t r = 0; format != EG_FORMAT_PLAIN && r < info.result_count; r++)
    EG_TRY(eg_graph_set_format(graph, info.results[r], format));
  e->made.data[class] = first.id;
  return note_origin(e, eg_graph_value(e->writer.graph, first)->name, node,
                     eg_single_price(e->single, e->choice[class]));
}

static egraph_status write_class(emitter *e, uint32_t class) {
  EG_TRY(take_operands(e, class));
  const eg_single_node *chosen = node_of(e, class);
  eg_node node =
      chosen->op == NONE ? EG_NODE_NONE : e->space->operators.data[chosen->op].node;
  const eg_attrs *attrs = eg_graph_writer_attrs(&e->writer, node);
  uint32_t v = e->single->value.data[class];
  if (attrs->op == EG_OP_INPUT) {
    EG_TRY(eg_graph_writer_entry(&e->writer, v, node));
    e->made.data[class] = e->writer.made.data[v];
    return EGRAPH_OK;
  }
  if (attrs->op != EG_OP_PART) return write_single_node(e, class, node);
  e->made.data[class] =
      e->operands.data[0].id + (uint32_t)eg_attr_at(attrs, EG_A_PART_INDEX)->i;
  return EGRAPH_OK;
}

// ---- the whole --------------------------------------------------------------------

static egraph_status emit_class(emitter *e, uint32_t root) {
  EG_TRY(eg_u32s_push(&e->stack, root));
  while (e->stack.len != 0) {
    uint32_t class = e->stack.data[e->stack.len - 1];
    size_t waiting = e->stack.len;
    if (e->made.data[class] == NONE) EG_TRY(push_operands(e, class));
    if (e->stack.len != waiting) continue;
    if (e->made.data[class] == NONE) EG_TRY(write_class(e, class));
    e->stack.len--;
  }
  return EGRAPH_OK;
}

static egraph_status emit_outputs(emitter *e) {
  const eg_graph *original = e->writer.original;
  for (uint32_t i = 0; i < eg_graph_output_count(original); i++) {
    uint32_t v =
        eg_plan_space_value(e->space, eg_tensor_egraph_root(e->space->egraph, i));
    uint32_t class = eg_single_class(e->single, v, EG_FORMAT_PLAIN);
    const char *name;
    (void)eg_graph_output(original, i, &name);
    EG_TRY(class == EG_EXTRACT_NONE ? eg_graph_writer_entry(&e->writer, v, EG_NODE_NONE)
                                    : emit_class(e, class));
    uint32_t value =
        class == EG_EXTRACT_NONE ? e->writer.made.data[v] : e->made.data[class];
    EG_TRY(eg_graph_add_output(e->writer.graph, name, (eg_value){value}));
  }
  return EGRAPH_OK;
}

static egraph_status emit_classes(emitter *e) {
  const eg_graph *graph = e->writer.graph;
  for (uint32_t c = 0; c < e->single->problem.class_count; c++)
    EG_TRY(eg_u32s_push(&e->made, NONE));
  EG_TRY(emit_outputs(e));
  // Nodes that make constants were written with their readers, without a class.
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++) {
    eg_graph_node_info info = eg_graph_node_at(graph, (eg_graph_node){n});
    const char *name = eg_graph_value(graph, info.results[0])->name;
    uint32_t known;
    if (!eg_strmap_find(&e->out->origin_of, name, &known))
      EG_TRY(note_origin(e, name, (eg_node){e->writer.enode.data[n]},
                         &e->single->prices.data[0]));
  }
  return EGRAPH_OK;
}

egraph_status eg_emission_init(eg_emission *emission, egraph_allocator alloc,
                               const eg_single_problem *single, const uint32_t *choice,
                               const eg_emission *before) {
  EG_LOCAL_WITH(emitter, e, alloc, .single = single, .space = &single->space,
                .choice = choice, .out = emission, .before = before);
  *emission = (eg_emission){.graph = NULL};
  EG_INIT_MEMBERS(emission, alloc, (eg_strmap, origin_of), (eg_origins, origins))
  EG_TRY(eg_graph_writer_init(&e.writer, e.space));
  emission->graph = e.writer.graph;
  e.writer.names_nodes = true;
  egraph_status status = emit_classes(&e);
  eg_graph_writer_deinit(&e.writer);
  EG_RETURN_FILLED(status, eg_emission, emission);
}

void eg_emission_deinit(eg_emission *emission) {
  eg_graph_destroy(emission->graph);
  emission->graph = NULL;
  EG_DEINIT_MEMBERS(emission, (eg_strmap, origin_of), (eg_origins, origins))
}
