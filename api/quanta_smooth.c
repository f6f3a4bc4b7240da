// Copies values in order. `is_smooth` marks values that were quanta and are float32 in
// the copy; operators that move, compare, add or multiply values accept both.
// SPDX-License-Identifier: Apache-2.0
#include "api/quanta_smooth.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "ops/quantized.h"
#include "pcg/graph/graph_copy.h"
#include "pcg/graph/node_cons.h"

enum { AXIS, BLOCK_SIZE }; // slots of QuantizeLinear and DequantizeLinear

typedef struct smoother {
  const eg_graph *from;
  eg_graph *to;
  eg_node_cons cons;
  eg_builder b;
  eg_value *map;   // [values of from]
  bool *is_smooth; // [values of from]
  uint64_t noise;
  eg_rng rng;
  bool is_declined;
} smoother;

static bool is_product(eg_op op) {
  return op == EG_OP_QLINEAR_CONV || op == EG_OP_QLINEAR_MATMUL ||
         op == EG_OP_CONV_INTEGER || op == EG_OP_MATMUL_INTEGER;
}

bool eg_smooth_has_blocks(const eg_graph_node_info *node) {
  return node->attrs->slots[BLOCK_SIZE].i != 0;
}

eg_type eg_smooth_axis_view(const eg_graph *graph, const eg_graph_node_info *node) {
  const eg_type *x = &eg_graph_value(graph, node->inputs[0])->type;
  const eg_type *scale = &eg_graph_value(graph, node->inputs[1])->type;
  int64_t axis = node->attrs->slots[AXIS].i;
  eg_type view = {.rank = 0};
  if (scale->rank == 0 || scale->dims[0] == 1) return view;
  view.rank = x->rank;
  for (uint32_t i = 0; i < x->rank; i++)
    view.dims[i] = i == (axis < 0 ? axis + x->rank : axis) ? scale->dims[0] : 1;
  return view;
}

// ---- numbers ------------------------------------------------------------------------

static const eg_type *type_of(const smoother *s, eg_value value) {
  return &eg_graph_value(s->from, value)->type;
}

static eg_ref as_float(smoother *s, eg_value value) {
  return eg_build_cast(&s->b, eg_ref_of(s->map[value.id]), EGRAPH_FLOAT32);
}

/// Builds a scale or zero point in the shape in which it broadcasts.
static eg_ref spread(smoother *s, eg_value value, eg_type view) {
  return eg_build_reshape(&s->b, as_float(s, value), view.rank, view.dims);
}

static eg_ref number(smoother *s, double value) {
  const eg_type scalar = eg_type_of(EGRAPH_FLOAT32, 0, NULL);
  return eg_build_fill(&s->b, &scalar, value);
}

/// Multiplies a value, before it is quantized, by a drawn factor near 1.
static eg_ref with_noise(smoother *s, eg_ref quantum) {
  if (s->noise == 0) return quantum;
  bool is_up = eg_rng_unit(&s->rng) < 0.5;
  double factor = is_up ? 1 + EG_QUANTA_ROUNDING : 1 - EG_QUANTA_ROUNDING;
  return EG_BUILD(&s->b, EG_OP_MUL, quantum, number(s, factor));
}

/// Limits a quantum to the range of an integer type of up to 32 bits.
static eg_ref saturated(smoother *s, eg_ref quantum, egraph_dtype dtype) {
  const int bits = (int)(8 * eg_dtype_bytes(dtype));
  const bool is_signed =
      dtype == EGRAPH_INT8 || dtype == EGRAPH_INT16 || dtype == EGRAPH_INT32;
  const double most = ldexp(1, is_signed ? bits - 1 : bits) - 1;
  const double least = is_signed ? -ldexp(1, bits - 1) : 0;
  quantum = EG_BUILD(&s->b, EG_OP_MIN, quantum, number(s, most));
  return EG_BUILD(&s->b, EG_OP_MAX, quantum, number(s, least));
}

static void set_result(smoother *s, const eg_graph_node_info *node, eg_ref ref,
                       bool is_smooth) {
  s->map[node->results[0].id] = eg_value_of(ref);
  s->is_smooth[node->results[0].id] = is_smooth;
}

// ---- operators of quanta ------------------------------------------------------------

static void smooth_quantize(smoother *s, const eg_graph_node_info *node) {
  const eg_type view = eg_smooth_axis_view(s->from, node);
  eg_ref t = EG_BUILD(&s->b, EG_OP_DIV, as_float(s, node->inputs[0]),
                      spread(s, node->inputs[1], view));
  if (eg_graph_value(s->from, node->inputs[0])->kind == EG_VALUE_COMPUTED)
    t = with_noise(s, t);
  t = EG_BUILD(&s->b, EG_OP_ADD, t, spread(s, node->inputs[2], view));
  set_result(s, node, saturated(s, t, type_of(s, node->results[0])->dtype), true);
}

static void smooth_dequantize(smoother *s, const eg_graph_node_info *node) {
  const eg_type view = eg_smooth_axis_view(s->from, node);
  eg_ref x = EG_BUILD(&s->b, EG_OP_SUB, as_float(s, node->inputs[0]),
                      spread(s, node->inputs[2], view));
  x = EG_BUILD(&s->b, EG_OP_MUL, x, spread(s, node->inputs[1], view));
  x = eg_build_cast(&s->b, x, type_of(s, node->results[0])->dtype);
  set_result(s, node, x, false);
}

/// Builds an operand of a quantized product, less its zero point.
static eg_ref factor_of(smoother *s, const eg_graph_node_info *node, int operand,
                        int zero, bool is_weight) {
  eg_ref x = as_float(s, node->inputs[operand]);
  if (zero == EG_NO_OPERAND) return x;
  const eg_type view = eg_quantized_view(node->attrs, type_of(s, node->inputs[zero]),
                                         type_of(s, node->inputs[operand]), is_weight);
  return EG_BUILD(&s->b, EG_OP_SUB, x, spread(s, node->inputs[zero], view));
}

static eg_ref spread_result(smoother *s, const eg_graph_node_info *node, int operand,
                            bool is_weight) {
  const eg_type view =
      eg_quantized_result_view(node->attrs, type_of(s, node->inputs[operand]),
                               type_of(s, node->results[0]), is_weight);
  return spread(s, node->inputs[operand], view);
}

static void smooth_product(smoother *s, const eg_graph_node_info *node) {
  const eg_quantized_operands at =
      eg_quantized_operands_of(node->attrs, node->input_count);
  eg_attr slots[EG_QUANTIZED_SLOTS];
  const eg_attrs plain = eg_quantized_product(node->attrs, slots);
  eg_ref y = eg_build_node(&s->b, (eg_op)plain.op, plain.slots,
                           (const eg_ref[]){factor_of(s, node, at.x, at.x_zero, false),
                                            factor_of(s, node, at.w, at.w_zero, true)},
                           2);
  if (at.bias != EG_NO_OPERAND)
    y = EG_BUILD(&s->b, EG_OP_ADD, y, spread_result(s, node, at.bias, false));
  if (at.y_scale != EG_NO_OPERAND) {
    eg_ref scale = EG_BUILD(&s->b, EG_OP_MUL, spread_result(s, node, at.x_scale, false),
                            spread_result(s, node, at.w_scale, true));
    scale = EG_BUILD(&s->b, EG_OP_DIV, scale, spread_result(s, node, at.y_scale, false));
    y = with_noise(s, EG_BUILD(&s->b, EG_OP_MUL, y, scale));
    y = EG_BUILD(&s->b, EG_OP_ADD, y, spread_result(s, node, at.y_zero, false));
    y = saturated(s, y, type_of(s, node->results[0])->dtype);
  }
  set_result(s, node, y, true);
}

/// Copies a cast of quanta to floats, or to int32 or int64, which hold the same numbers;
/// declines other types.
static void smooth_cast(smoother *s, const eg_graph_node_info *node) {
  const egraph_dtype dtype = type_of(s, node->results[0])->dtype;
  eg_ref x = eg_ref_of(s->map[node->inputs[0].id]);
  if (eg_dtype_is_float(dtype))
    set_result(s, node, eg_build_cast(&s->b, x, dtype), false);
  else if (dtype == EGRAPH_INT32 || dtype == EGRAPH_INT64)
    set_result(s, node, x, true);
  else
    s->is_declined = true;
}

// ---- all operators ------------------------------------------------------------------

/// True for operators that do the same with floats as with quanta: they move, compare,
/// add or multiply values.
static bool takes_smooth(eg_op op) {
  static const eg_op all[] = {
      EG_OP_RESHAPE,   EG_OP_SQUEEZE, EG_OP_UNSQUEEZE, EG_OP_FLATTEN, EG_OP_IDENTITY,
      EG_OP_TRANSPOSE, EG_OP_CONCAT,  EG_OP_SPLIT,     EG_OP_SLICE,   EG_OP_PAD,
      EG_OP_EXPAND,    EG_OP_GATHER,  EG_OP_MAX_POOL,  EG_OP_RELU,    EG_OP_CLIP,
      EG_OP_MAX,       EG_OP_MIN,     EG_OP_ADD,       EG_OP_SUB,     EG_OP_MUL};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i] == op) return true;
  return false;
}

static bool reads_smooth(const smoother *s, const eg_graph_node_info *node) {
  for (uint32_t i = 0; i < node->input_count; i++)
    if (s->is_smooth[node->inputs[i].id]) return true;
  return false;
}

/// Copies a node unchanged. If one operand is smooth (float32 in place of quanta), the
/// other operands of its element type become float32 too.
static egraph_status copy_node(smoother *s, const eg_graph_node_info *node) {
  EG_LOCAL(eg_arena, arena, eg_graph_allocator(s->from));
  const bool is_smooth = reads_smooth(s, node);
  eg_value *values;
  EG_NEW(&arena, (size_t)node->input_count + node->result_count, values);
  for (uint32_t i = 0; i < node->input_count; i++) {
    bool is_other =
        is_smooth && !s->is_smooth[node->inputs[i].id] &&
        type_of(s, node->inputs[i])->dtype == type_of(s, node->results[0])->dtype;
    values[i] =
        is_other ? eg_value_of(as_float(s, node->inputs[i])) : s->map[node->inputs[i].id];
  }
  EG_TRY(s->b.status);
  EG_TRY(eg_graph_add_node(s->to, NULL, node->attrs, values, node->input_count, NULL,
                           values + node->input_count));
  for (uint32_t i = 0; i < node->result_count; i++) {
    s->map[node->results[i].id] = values[node->input_count + i];
    s->is_smooth[node->results[i].id] = is_smooth;
  }
  return EGRAPH_OK;
}

static egraph_status smooth_node(smoother *s, const eg_graph_node_info *node) {
  const eg_op op = (eg_op)node->attrs->op;
  const bool reads = reads_smooth(s, node);
  if (op == EG_OP_QUANTIZE_LINEAR && !eg_smooth_has_blocks(node))
    smooth_quantize(s, node);
  else if (op == EG_OP_DEQUANTIZE_LINEAR && reads && !eg_smooth_has_blocks(node))
    smooth_dequantize(s, node);
  else if (is_product(op))
    smooth_product(s, node);
  else if (op == EG_OP_CAST && reads)
    smooth_cast(s, node);
  else if (!reads || takes_smooth(op))
    return copy_node(s, node);
  else
    s->is_declined = true;
  return s->b.status;
}

egraph_status eg_smooth_copy_leaf(const eg_graph *from, eg_value value, eg_graph *to,
                                  eg_value *out) {
  const eg_value_info *info = eg_graph_value(from, value);
  if (info->kind == EG_VALUE_INPUT)
    return eg_graph_add_input(to, info->name, &info->type, out);
  if (info->kind == EG_VALUE_WEIGHT)
    return eg_graph_add_weight(to, info->name, &info->type, info->data, out);
  return EGRAPH_OK;
}

static egraph_status fill(smoother *s) {
  for (uint32_t v = 0; v < eg_graph_value_count(s->from); v++)
    EG_TRY(eg_smooth_copy_leaf(s->from, (eg_value){v}, s->to, &s->map[v]));
  EG_TRY(eg_node_cons_init(&s->cons, s->to));
  s->b = eg_node_cons_builder(&s->cons);
  for (uint32_t n = 0; n < eg_graph_node_count(s->from) && !s->is_declined; n++) {
    const eg_graph_node_info node = eg_graph_node_at(s->from, (eg_graph_node){n});
    EG_TRY(smooth_node(s, &node));
  }
  for (uint32_t o = 0; o < eg_graph_output_count(s->from) && !s->is_declined; o++) {
    const char *name;
    eg_value value = eg_graph_output(s->from, o, &name);
    EG_TRY(eg_graph_add_output(s->to, name, s->map[value.id]));
  }
  return EGRAPH_OK;
}

egraph_status eg_smooth_run(const eg_graph *graph, const eg_session_options *options,
                            const eg_tensors *inputs, uint64_t noise, eg_tensors *out,
                            bool *out_done) {
  const egraph_allocator alloc = eg_graph_allocator(graph);
  const uint32_t values = eg_graph_value_count(graph);
  smoother s = {.from = graph, .noise = noise, .rng = {noise}};
  EG_LOCAL(eg_arena, arena, alloc);
  *out_done = false;
  EG_NEW(&arena, values, s.map);
  EG_NEW(&arena, values, s.is_smooth);
  eg_flatmap_init(&s.cons.nodes, alloc);
  egraph_status status = eg_graph_create(&alloc, &s.to);
  if (status == EGRAPH_OK) status = fill(&s);
  if (status == EGRAPH_OK && !s.is_declined)
    status = eg_tensors_run(s.to, options, inputs, out);
  *out_done = status == EGRAPH_OK && !s.is_declined;
  eg_node_cons_deinit(&s.cons);
  eg_graph_destroy(s.to);
  // A graph with an element type or operator that floats lack is no failure.
  return status == EGRAPH_E_TYPE || status == EGRAPH_E_UNSUPPORTED ? EGRAPH_OK : status;
}

// ---- the quantizers of two graphs ---------------------------------------------------

/// Finds scale and zero point of a node that quantizes; false when it does not quantize.
static bool quantizer_of(const eg_graph *graph, uint32_t n, eg_value out[2],
                         egraph_dtype *out_dtype) {
  const eg_graph_node_info node = eg_graph_node_at(graph, (eg_graph_node){n});
  const eg_op op = (eg_op)node.attrs->op;
  int scale = 1, zero = 2;
  if (is_product(op)) {
    const eg_quantized_operands at =
        eg_quantized_operands_of(node.attrs, node.input_count);
    scale = at.y_scale, zero = at.y_zero;
  }
  if ((op != EG_OP_QUANTIZE_LINEAR && !is_product(op)) || scale == EG_NO_OPERAND)
    return false;
  out[0] = node.inputs[scale];
  out[1] = node.inputs[zero];
  *out_dtype = eg_graph_value(graph, node.results[0])->type.dtype;
  return true;
}

static bool is_same_data(const eg_graph *a, eg_value x, const eg_graph *b, eg_value y) {
  const eg_value_info *first = eg_graph_value(a, x), *second = eg_graph_value(b, y);
  return first->data != NULL && second->data != NULL &&
         first->type.dtype == second->type.dtype &&
         eg_buffer_size(first->data) == eg_buffer_size(second->data) &&
         memcmp(eg_buffer_data(first->data), eg_buffer_data(second->data),
                eg_buffer_size(first->data)) == 0;
}

static bool is_same_quantizer(const eg_graph *a, uint32_t n, const eg_graph *b,
                              uint32_t m) {
  eg_value x[2], y[2];
  egraph_dtype first, second;
  return quantizer_of(a, n, x, &first) && quantizer_of(b, m, y, &second) &&
         first == second && is_same_data(a, x[0], b, y[0]) &&
         is_same_data(a, x[1], b, y[1]);
}

static egraph_status match_quantizers(const eg_graph *a, const eg_graph *b, bool *out) {
  EG_LOCAL(eg_arena, arena, eg_graph_allocator(a));
  const uint32_t nodes_a = eg_graph_node_count(a), nodes_b = eg_graph_node_count(b);
  uint32_t left = 0;
  bool *is_taken; // [nodes of b]
  eg_value ignored[2];
  egraph_dtype dtype;
  EG_NEW(&arena, nodes_b, is_taken);
  for (uint32_t m = 0; m < nodes_b; m++)
    left += quantizer_of(b, m, ignored, &dtype);
  *out = true;
  for (uint32_t n = 0; n < nodes_a && *out; n++) {
    if (!quantizer_of(a, n, ignored, &dtype)) continue;
    uint32_t m = 0;
    while (m < nodes_b && (is_taken[m] || !is_same_quantizer(a, n, b, m)))
      m++;
    *out = m < nodes_b;
    if (!*out) break;
    is_taken[m] = true;
    left--;
  }
  *out = *out && left == 0;
  return EGRAPH_OK;
}

egraph_status eg_smooth_same_quantizers(const eg_graph *a, const eg_graph *b, bool *out) {
  eg_graph *first, *second; // copies without nodes that no output needs
  EG_TRY(eg_graph_pruned(a, &first));
  egraph_status status = eg_graph_pruned(b, &second);
  if (status == EGRAPH_OK) {
    status = match_quantizers(first, second, out);
    eg_graph_destroy(second);
  }
  eg_graph_destroy(first);
  return status;
}
