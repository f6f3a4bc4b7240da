// To copy a graph, its values are walked in their order (which is topological) and mapped
// to values of the copy.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/graph/graph_copy.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/owner.h"
#include "pcg/graph/graph_internal.h"

static const eg_graph_node_info *node_of(const eg_graph *graph, uint32_t id) {
  return &graph->nodes.data[id]->info;
}

void eg_graph_flag_needed(const eg_graph *graph, eg_buffer *const *data,
                          bool *inout_flags) {
  for (size_t i = 0; i < graph->outputs.len; i++)
    inout_flags[graph->outputs.data[i].value.id] = true;
  for (size_t n = graph->nodes.len; n-- > 0;) {
    const eg_graph_node_info *node = node_of(graph, (uint32_t)n);
    bool is_computed = false;
    for (uint32_t i = 0; i < node->result_count; i++) {
      uint32_t result = node->results[i].id;
      is_computed =
          is_computed || (inout_flags[result] && (data == NULL || data[result] == NULL));
    }
    for (uint32_t i = 0; is_computed && i < node->input_count; i++)
      inout_flags[node->inputs[i].id] = true;
  }
}

void eg_graph_flag_computed(const eg_graph *graph, bool *inout_flags) {
  for (uint32_t n = 0; n < graph->nodes.len; n++) {
    const eg_graph_node_info *node = node_of(graph, n);
    bool all = node->attrs->op != EG_OP_OPAQUE;
    for (uint32_t i = 0; all && i < node->input_count; i++)
      all = inout_flags[node->inputs[i].id];
    for (uint32_t i = 0; i < node->result_count; i++)
      inout_flags[node->results[i].id] = all;
  }
}

egraph_status eg_graph_weight_only(const eg_graph *graph, bool *out_flags) {
  for (size_t i = 0; i < graph->values.len; i++)
    out_flags[i] = graph->values.data[i]->kind == EG_VALUE_WEIGHT;
  eg_graph_flag_computed(graph, out_flags);
  return EGRAPH_OK;
}

egraph_status eg_graph_running_nodes(const eg_graph *graph, uint32_t *out) {
  bool *weight_only;
  EG_LOCAL(eg_arena, scratch, graph->alloc);
  EG_NEW(&scratch, graph->values.len, weight_only);
  EG_TRY(eg_graph_weight_only(graph, weight_only));
  *out = 0;
  for (uint32_t n = 0; n < graph->nodes.len; n++) {
    const eg_graph_node_info *node = node_of(graph, n);
    *out += node->result_count == 0 || !weight_only[node->results[0].id];
  }
  return EGRAPH_OK;
}

// ---- copying ------------------------------------------------------------------------

typedef struct copier {
  const eg_graph *from;
  eg_graph *to;
  const bool *keep;       // [values] a node is copied if a result is; inputs always are
  eg_buffer *const *data; // [values] data of computed values that become weights, or NULL
  eg_value *map;          // [values]
  eg_arena arena;
  eg_values operands, results;
} copier;
EG_OWNER_DEFINE_STATIC(copier, (eg_arena, arena), (eg_values, operands, results))

static bool becomes_weight(const copier *c, uint32_t value) {
  return c->data != NULL && c->data[value] != NULL;
}

/// Copies an input or weight, or adds a weight in place of a computed value; its layout
/// is row-major again.
static egraph_status add_leaf_copy(copier *c, uint32_t id) {
  const eg_value_info *info = c->from->values.data[id];
  if (info->kind == EG_VALUE_INPUT) {
    EG_TRY(eg_graph_add_input(c->to, info->name, &info->type, &c->map[id]));
    return eg_graph_set_default(c->to, c->map[id], info->data);
  }
  if (info->kind == EG_VALUE_WEIGHT)
    return eg_graph_add_weight(c->to, info->name, &info->type, info->data, &c->map[id]);
  eg_type type = info->type;
  type.layout.format = EG_FORMAT_PLAIN;
  return eg_graph_add_weight(c->to, info->name, &type, c->data[id], &c->map[id]);
}

static egraph_status add_node_copy(copier *c, uint32_t id) {
  const eg_graph_node_info *node = node_of(c->from, id);
  c->operands.len = 0;
  for (uint32_t i = 0; i < node->input_count; i++)
    EG_TRY(eg_values_push(&c->operands, c->map[node->inputs[i].id]));
  EG_TRY(eg_values_resize(&c->results, node->result_count));
  EG_TRY(eg_graph_add_named_copy(c->to, c->from, (eg_graph_node){id}, c->operands.data,
                                 c->results.data));
  for (uint32_t i = 0; i < node->result_count; i++)
    c->map[node->results[i].id] = c->results.data[i];
  return EGRAPH_OK;
}

static egraph_status copy_values(copier *c) {
  const eg_graph *from = c->from;
  for (uint32_t v = 0; v < from->values.len; v++) {
    const eg_value_info *info = from->values.data[v];
    if (info->kind == EG_VALUE_INPUT || (c->keep[v] && info->kind == EG_VALUE_WEIGHT) ||
        (c->keep[v] && becomes_weight(c, v))) {
      EG_TRY(add_leaf_copy(c, v));
      continue;
    }
    // Results of a node are consecutive values; the node is copied with the first result.
    if (info->kind != EG_VALUE_COMPUTED || info->result != 0) continue;
    const eg_graph_node_info *node = node_of(from, info->node.id);
    bool wanted = false;
    for (uint32_t i = 0; i < node->result_count; i++)
      wanted = wanted ||
               (c->keep[node->results[i].id] && !becomes_weight(c, node->results[i].id));
    if (wanted) EG_TRY(add_node_copy(c, info->node.id));
  }
  for (size_t i = 0; i < from->outputs.len; i++)
    EG_TRY(eg_graph_add_output(c->to, from->outputs.data[i].name,
                               c->map[from->outputs.data[i].value.id]));
  return EGRAPH_OK;
}

static egraph_status copy_needed(const eg_graph *graph, eg_buffer *const *data,
                                 eg_graph **out) {
  EG_LOCAL(copier, c, graph->alloc);
  bool *needed;
  EG_NEW(&c.arena, graph->values.len, needed);
  EG_NEW(&c.arena, graph->values.len, c.map);
  eg_graph_flag_needed(graph, data, needed);
  c.from = graph;
  c.keep = needed;
  c.data = data;
  EG_HELD(eg_graph, copy);
  EG_TRY(eg_graph_create(&graph->alloc, &copy));
  eg_graph_set_header(copy, graph->header);
  c.to = copy;
  EG_HAND_OVER(copy_values(&c), copy, out);
}

egraph_status eg_graph_pruned(const eg_graph *graph, eg_graph **out) {
  return copy_needed(graph, NULL, out);
}

// ---- folding ------------------------------------------------------------------------

typedef struct folder {
  const eg_graph *graph;
  const bool *kept; // [values] weights that count as unknown; NULL: none
  size_t max_bytes;
  eg_buffer **data; // [values] known bytes of weights (retained) and folded values
  uint32_t *users;  // [values] foldable users that have not run yet
  bool *frontier;   // [values] outputs, and operands of nodes that are not folded
  bool *foldable;   // [nodes]
  uint32_t lost;    // computed results with NaN or infinity, or without a normal number
  eg_arena arena;
} folder;

/// True when the node is the same at all sizes of open dimensions.
static bool has_fixed_sizes(const folder *f, const eg_graph_node_info *node) {
  bool is_open = eg_attrs_any_open(node->attrs);
  for (uint32_t i = 0; i < node->result_count; i++)
    is_open =
        is_open || eg_type_is_open(&f->graph->values.data[node->results[i].id]->type);
  return !is_open;
}

/// True when a node is computed ahead: it is not opaque, all operands have data, every
/// result is small enough, and no size is open.
static bool node_folds(const folder *f, uint32_t id, const bool *known) {
  const eg_graph_node_info *node = node_of(f->graph, id);
  if (node->attrs->op == EG_OP_OPAQUE) return false;
  for (uint32_t i = 0; i < node->input_count; i++)
    if (!known[node->inputs[i].id]) return false;
  for (uint32_t i = 0; i < node->result_count; i++) {
    const eg_type *type = &f->graph->values.data[node->results[i].id]->type;
    if (type->layout.format != EG_FORMAT_PLAIN || eg_type_bytes(type) > f->max_bytes)
      return false;
  }
  return has_fixed_sizes(f, node);
}

/// Finds the nodes to compute ahead, the users of their operands, and the values that
/// must exist afterwards. `known`: [values] scratch.
static void plan_fold(folder *f, bool *known) {
  const eg_graph *graph = f->graph;
  for (size_t v = 0; v < graph->values.len; v++) {
    const eg_value_info *info = graph->values.data[v];
    known[v] = info->kind == EG_VALUE_WEIGHT && info->data != NULL &&
               (f->kept == NULL || !f->kept[v]);
  }
  for (uint32_t n = 0; n < graph->nodes.len; n++) {
    const eg_graph_node_info *node = node_of(graph, n);
    f->foldable[n] = node_folds(f, n, known);
    for (uint32_t i = 0; f->foldable[n] && i < node->result_count; i++)
      known[node->results[i].id] = true;
    for (uint32_t i = 0; i < node->input_count; i++) {
      if (f->foldable[n])
        f->users[node->inputs[i].id]++;
      else
        f->frontier[node->inputs[i].id] = true;
    }
  }
  for (size_t i = 0; i < graph->outputs.len; i++)
    f->frontier[graph->outputs.data[i].value.id] = true;
}

// A number is not finite when all bits of its exponent are set.
#define ALL_FINITE(suffix, type)                                                         \
  static bool all_finite_##suffix(const type *x, int64_t count, type exponent) {         \
    bool found = false;                                                                  \
    for (int64_t i = 0; i < count; i++)                                                  \
      found |= (x[i] & exponent) == exponent;                                            \
    return !found;                                                                       \
  }
ALL_FINITE(16, uint16_t)
ALL_FINITE(32, uint32_t)
ALL_FINITE(64, uint64_t)

static bool is_finite(const eg_tensor *tensor) {
  int64_t count = eg_type_elements(&tensor->type);
  egraph_dtype dtype = tensor->type.dtype;
  if (dtype == EGRAPH_FLOAT16) return all_finite_16(tensor->data, count, 0x7c00);
  if (dtype == EGRAPH_BFLOAT16) return all_finite_16(tensor->data, count, 0x7f80);
  if (dtype == EGRAPH_FLOAT32) return all_finite_32(tensor->data, count, 0x7f800000);
  return dtype != EGRAPH_FLOAT64 ||
         all_finite_64(tensor->data, count, UINT64_C(0x7ff) << 52);
}

/// True when no element of a tensor is a normal number.
static bool has_no_normal(const eg_tensor *tensor) {
  int64_t count = eg_type_elements(&tensor->type), i = 0;
  double least = eg_dtype_normal(tensor->type.dtype);
  while (i < count && fabs(eg_tensor_get_double(tensor, i)) < least)
    i++;
  return i == count;
}

static bool has_zero(const eg_tensor *tensor) {
  int64_t count = eg_type_elements(&tensor->type), i = 0;
  while (i < count && eg_tensor_get_double(tensor, i) != 0)
    i++;
  return i < count;
}

/// True when a kernel's products are all too small for their type. It is no fault if only
/// some are, such as products of dead channels.
static bool has_underflowed(const eg_kernel_call *call) {
  const eg_tensor *made = &call->outputs[0];
  if (!eg_op_makes_products((eg_op)call->attrs->op) ||
      !eg_dtype_is_float(made->type.dtype) || eg_type_elements(&made->type) == 0 ||
      !has_no_normal(made))
    return false;
  for (uint32_t i = 0; i < call->input_count; i++)
    if (has_zero(&call->inputs[i]) || !is_finite(&call->inputs[i])) return false;
  return true;
}

static egraph_status run_kernel(folder *f, const eg_graph_node_info *node,
                                eg_tensor *tensors) {
  const eg_graph *graph = f->graph;
  for (uint32_t i = 0; i < node->input_count; i++) {
    uint32_t operand = node->inputs[i].id;
    // Kernels only read their operands, so that shared and mapped bytes are safe here.
    tensors[i] = (eg_tensor){.type = graph->values.data[operand]->type,
                             .data = (void *)(uintptr_t)eg_buffer_data(f->data[operand])};
  }
  eg_tensor *outputs = tensors + node->input_count;
  for (uint32_t i = 0; i < node->result_count; i++) {
    uint32_t result = node->results[i].id;
    const eg_type *type = &graph->values.data[result]->type;
    EG_TRY(eg_buffer_create(&graph->alloc, eg_type_bytes(type), &f->data[result]));
    outputs[i] = (eg_tensor){.type = *type, .data = eg_buffer_writable(f->data[result])};
  }
  eg_kernel_call call = {.attrs = node->attrs,
                         .inputs = tensors,
                         .input_count = node->input_count,
                         .outputs = outputs,
                         .output_count = node->result_count,
                         .alloc = graph->alloc};
  EG_TRY(eg_op_run(&call));
  bool is_moved = (eg_op_info_of((eg_op)node->attrs->op)->flags & EG_OPF_MOVES) != 0;
  for (uint32_t i = 0; !is_moved && i < node->result_count; i++)
    f->lost += !is_finite(&outputs[i]);
  f->lost += has_underflowed(&call);
  return EGRAPH_OK;
}

static void forget_data(folder *f, uint32_t value) {
  eg_buffer_release(f->data[value]);
  f->data[value] = NULL;
}

/// Computes a node ahead if it can. A node whose kernel does not know the element types
/// stays, and so do its users.
static egraph_status fold_node(folder *f, uint32_t id) {
  const eg_graph_node_info *node = node_of(f->graph, id);
  bool known = f->foldable[id];
  for (uint32_t i = 0; known && i < node->input_count; i++)
    known = f->data[node->inputs[i].id] != NULL;
  egraph_status status = EGRAPH_E_UNSUPPORTED;
  if (known) {
    EG_LOCAL(eg_arena, arena, f->graph->alloc);
    eg_tensor *tensors;
    size_t count = (size_t)node->input_count + node->result_count;
    EG_NEW(&arena, count, tensors);
    status = run_kernel(f, node, tensors);
  }
  if (status != EGRAPH_OK && status != EGRAPH_E_UNSUPPORTED) return status;
  for (uint32_t i = 0; status != EGRAPH_OK && i < node->result_count; i++)
    forget_data(f, node->results[i].id);
  for (uint32_t i = 0; f->foldable[id] && i < node->input_count; i++) {
    uint32_t operand = node->inputs[i].id;
    if (status != EGRAPH_OK) f->frontier[operand] = true;
    if (--f->users[operand] == 0 && !f->frontier[operand]) forget_data(f, operand);
  }
  return EGRAPH_OK;
}

static void folder_deinit(folder *f) {
  for (size_t v = 0; f->data != NULL && v < f->graph->values.len; v++)
    eg_buffer_release(f->data[v]);
  eg_arena_deinit(&f->arena);
}

egraph_status eg_graph_folded(const eg_graph *graph, const eg_fold_options *options,
                              eg_graph **out) {
  size_t values = graph->values.len;
  bool *known;
  EG_OWNED(folder, f);
  f = (folder){.graph = graph, .kept = options->kept, .max_bytes = options->max_bytes};
  eg_arena_init(&f.arena, graph->alloc);
  EG_NEW(&f.arena, values, f.data);
  EG_NEW(&f.arena, values, f.users);
  EG_NEW(&f.arena, values, f.frontier);
  EG_NEW(&f.arena, values, known);
  EG_NEW(&f.arena, graph->nodes.len, f.foldable);
  plan_fold(&f, known);
  for (size_t v = 0; v < values; v++)
    f.data[v] = eg_buffer_retain(graph->values.data[v]->data);
  for (uint32_t n = 0; n < graph->nodes.len; n++)
    EG_TRY(fold_node(&f, n));
  // A fill takes less memory as a node than as the bytes of a weight.
  for (uint32_t n = 0; n < graph->nodes.len; n++)
    if (node_of(graph, n)->attrs->op == EG_OP_FILL)
      forget_data(&f, node_of(graph, n)->results[0].id);
  EG_TRY(copy_needed(graph, f.data, out));
  if (options->out_lost != NULL) *options->out_lost = f.lost;
  return EGRAPH_OK;
}
