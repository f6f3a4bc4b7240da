// Runs a copy of the graph with three more outputs for each quantized output: the quantum
// before rounding (t in quanta.h), the step in the unit of the output, and the quantum.
// SPDX-License-Identifier: Apache-2.0
#include "api/quanta.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/quanta_smooth.h"
#include "base/hash.h"
#include "base/owner.h"
#include "ops/quantized.h"
#include "pcg/graph/node_cons.h"

enum { TRIALS = 3, EXTRAS = 3 }; // EXTRAS: additional outputs for each quantized output
static const double ROUNDING = EG_QUANTA_ROUNDING;
static const double FEW_STEPS = 3; // steps that chance may add
// Steps of a mean element; above, noise hides errors that rounding does not make.
static const double MOST_NOISE = 0x1p-6;
static const double MOST_SMOOTH_NOISE = 0x1p-4; // steps; above, nothing is known

// ---- the last quantization ----------------------------------------------------------

typedef struct last_quantum {
  bool is_there;
  eg_graph_node quantize, dequantize; // dequantize: UINT32_MAX: none
} last_quantum;

static bool is_requantizing(eg_op op) {
  return op == EG_OP_QLINEAR_CONV || op == EG_OP_QLINEAR_MATMUL;
}

/// True when a quantization has no scales for blocks, which have another rank, and its
/// result has no memory format, which orders elements in another way.
static bool is_plain(const eg_graph *graph, const eg_graph_node_info *node) {
  bool is_whole = is_requantizing((eg_op)node->attrs->op) || !eg_smooth_has_blocks(node);
  return is_whole &&
         eg_graph_value(graph, node->results[0])->type.layout.format == EG_FORMAT_PLAIN;
}

static last_quantum find_last(const eg_graph *graph, eg_value value) {
  last_quantum last = {.dequantize = {UINT32_MAX}};
  while (eg_graph_value(graph, value)->kind == EG_VALUE_COMPUTED) {
    eg_graph_node id = eg_graph_value(graph, value)->node;
    eg_graph_node_info node = eg_graph_node_at(graph, id);
    eg_op op = (eg_op)node.attrs->op;
    if (op == EG_OP_QUANTIZE_LINEAR || is_requantizing(op)) {
      last.is_there = is_plain(graph, &node);
      last.quantize = id;
      return last;
    }
    bool is_step = op == EG_OP_DEQUANTIZE_LINEAR && last.dequantize.id == UINT32_MAX &&
                   is_plain(graph, &node);
    if (is_step)
      last.dequantize = id;
    else if (!eg_op_keeps_order(op))
      return last;
    value = node.inputs[0];
  }
  return last;
}

// ---- the copy -----------------------------------------------------------------------

typedef struct probe {
  const eg_graph *from;
  const last_quantum *lasts; // [outputs]
  bool is_moved;             // scales are changed
  uint64_t random;
  uint32_t moved; // scales, in this copy
  eg_graph *to;
  eg_value *map; // [values of from]
} probe;

/// Copies a scale, multiplied by 1 + ROUNDING or 1 - ROUNDING.
static egraph_status move_scale(probe *p, eg_value scale, eg_value *out) {
  const eg_type *type = &eg_graph_value(p->to, scale)->type;
  eg_rng rng = {p->random++};
  eg_type scalar = eg_type_of(type->dtype, 0, NULL);
  eg_attrs mul = {.op = EG_OP_MUL};
  eg_buffer *data;
  eg_value factor;
  egraph_allocator alloc = eg_graph_allocator(p->from);
  EG_TRY(eg_buffer_create(&alloc, eg_type_bytes(&scalar), &data));
  eg_tensor number = {.type = scalar, .data = eg_buffer_writable(data)};
  eg_tensor_set_double(&number, 0, eg_rng_unit(&rng) < 0.5 ? 1 - ROUNDING : 1 + ROUNDING);
  char factor_name[48], moved_name[48];
  (void)snprintf(factor_name, sizeof factor_name, "scale factor %u", p->moved);
  (void)snprintf(moved_name, sizeof moved_name, "moved scale %u", p->moved++);
  const char *names[] = {moved_name};
  egraph_status status = eg_graph_add_weight(p->to, factor_name, &scalar, data, &factor);
  eg_buffer_release(data);
  if (status != EGRAPH_OK) return status;
  return eg_graph_add_node(p->to, NULL, &mul, (eg_value[]){scale, factor}, 2, names, out);
}

/// Returns the operand of a node of `from` that is the scale of its result; -1: there is
/// none. A node that quantizes an input has no noise.
static int scale_operand(const eg_graph *from, const eg_graph_node_info *node) {
  eg_op op = (eg_op)node->attrs->op;
  if (is_requantizing(op))
    return eg_quantized_operands_of(node->attrs, node->input_count).y_scale;
  bool is_computed = eg_graph_value(from, node->inputs[0])->kind == EG_VALUE_COMPUTED;
  return op == EG_OP_QUANTIZE_LINEAR && is_computed ? 1 : -1;
}

static egraph_status copy_node(probe *p, eg_graph_node id, eg_value *operands,
                               eg_value *results, const char **names) {
  eg_graph_node_info node = eg_graph_node_at(p->from, id);
  int scale = p->is_moved ? scale_operand(p->from, &node) : -1;
  for (uint32_t i = 0; i < node.input_count; i++)
    operands[i] = p->map[node.inputs[i].id];
  if (scale >= 0) EG_TRY(move_scale(p, operands[scale], &operands[scale]));
  for (uint32_t i = 0; i < node.result_count; i++)
    names[i] = eg_graph_value(p->from, node.results[i])->name;
  EG_TRY(eg_graph_add_copy(p->to, p->from, id, operands, names, results));
  for (uint32_t i = 0; i < node.result_count; i++)
    p->map[node.results[i].id] = results[i];
  return EGRAPH_OK;
}

static egraph_status copy_any(probe *p, uint32_t v) {
  const eg_value_info *info = eg_graph_value(p->from, (eg_value){v});
  if (info->kind != EG_VALUE_COMPUTED)
    return eg_smooth_copy_leaf(p->from, (eg_value){v}, p->to, &p->map[v]);
  if (info->result != 0) return EGRAPH_OK;
  eg_graph_node_info node = eg_graph_node_at(p->from, info->node);
  EG_LOCAL(eg_arena, arena, eg_graph_allocator(p->from));
  eg_value *operands, *results;
  const char **names;
  EG_NEW(&arena, node.input_count, operands);
  EG_NEW(&arena, node.result_count, results);
  EG_NEW(&arena, node.result_count, names);
  return copy_node(p, info->node, operands, results, names);
}

// ---- what it hands out --------------------------------------------------------------

/// Builds a scale or zero point as float32, in the shape in which it broadcasts.
static eg_ref spread(eg_builder *b, eg_ref vector, const eg_type *view) {
  eg_ref number = eg_build_cast(b, vector, EGRAPH_FLOAT32);
  return eg_build_reshape(b, number, view->rank, view->dims);
}

static eg_ref operand_of(const probe *p, const eg_graph_node_info *node, int operand) {
  return eg_ref_of(p->map[node->inputs[operand].id]);
}

static eg_ref quantum_of_linear(const probe *p, eg_builder *b,
                                const eg_graph_node_info *node) {
  eg_type view = eg_smooth_axis_view(p->from, node);
  eg_ref x = eg_build_cast(b, operand_of(p, node, 0), EGRAPH_FLOAT32);
  eg_ref t = EG_BUILD(b, EG_OP_DIV, x, spread(b, operand_of(p, node, 1), &view));
  return EG_BUILD(b, EG_OP_ADD, t, spread(b, operand_of(p, node, 2), &view));
}

static eg_ref spread_result(const probe *p, eg_builder *b, const eg_graph_node_info *node,
                            int operand, bool is_weight) {
  const eg_type *vector = &eg_graph_value(p->from, node->inputs[operand])->type;
  const eg_type *result = &eg_graph_value(p->from, node->results[0])->type;
  eg_type view = eg_quantized_result_view(node->attrs, vector, result, is_weight);
  return spread(b, operand_of(p, node, operand), &view);
}

static eg_ref quantum_of_product(const probe *p, eg_builder *b,
                                 const eg_graph_node_info *node) {
  eg_quantized_operands at = eg_quantized_operands_of(node->attrs, node->input_count);
  bool is_conv = node->attrs->op == EG_OP_QLINEAR_CONV;
  eg_ref sum = eg_build_node(
      b, is_conv ? EG_OP_CONV_INTEGER : EG_OP_MATMUL_INTEGER, node->attrs->slots,
      (const eg_ref[]){operand_of(p, node, at.x), operand_of(p, node, at.w),
                       operand_of(p, node, at.x_zero), operand_of(p, node, at.w_zero)},
      4);
  sum = eg_build_cast(b, sum, EGRAPH_FLOAT32);
  if (at.bias != EG_NO_OPERAND)
    sum = EG_BUILD(b, EG_OP_ADD, sum, spread_result(p, b, node, at.bias, false));
  eg_ref scale = EG_BUILD(b, EG_OP_MUL, spread_result(p, b, node, at.x_scale, false),
                          spread_result(p, b, node, at.w_scale, true));
  scale = EG_BUILD(b, EG_OP_DIV, scale, spread_result(p, b, node, at.y_scale, false));
  return EG_BUILD(b, EG_OP_ADD, EG_BUILD(b, EG_OP_MUL, sum, scale),
                  spread_result(p, b, node, at.y_zero, false));
}

/// Builds one quantization step per element, as DequantizeLinear scales it, or 1.
static eg_ref step_of(const probe *p, eg_builder *b, const last_quantum *last,
                      eg_value quantum) {
  bool is_back = last->dequantize.id != UINT32_MAX;
  eg_type type = eg_graph_value(p->to, quantum)->type;
  if (is_back) {
    eg_graph_node_info node = eg_graph_node_at(p->from, last->dequantize);
    type = eg_graph_value(p->from, node.results[0])->type;
    type.dtype = EGRAPH_FLOAT32;
    eg_type view = eg_smooth_axis_view(p->from, &node);
    return eg_build_expand(b, spread(b, operand_of(p, &node, 1), &view), &type);
  }
  type.dtype = EGRAPH_FLOAT32;
  return eg_build_fill(b, &type, 1);
}

static egraph_status hand_out(probe *p, eg_builder *b, const last_quantum *last) {
  eg_graph_node_info node = eg_graph_node_at(p->from, last->quantize);
  eg_value quantum = p->map[node.results[0].id];
  eg_ref t = is_requantizing((eg_op)node.attrs->op) ? quantum_of_product(p, b, &node)
                                                    : quantum_of_linear(p, b, &node);
  eg_ref step = step_of(p, b, last, quantum);
  eg_ref whole = eg_build_cast(b, eg_ref_of(quantum), EGRAPH_FLOAT32);
  EG_TRY(b->status);
  const eg_value extras[EXTRAS] = {eg_value_of(t), eg_value_of(step), eg_value_of(whole)};
  for (uint32_t i = 0; i < EXTRAS; i++) {
    char name[48];
    (void)snprintf(name, sizeof name, "extra %u", (unsigned)eg_graph_output_count(p->to));
    EG_TRY(eg_graph_add_output(p->to, name, extras[i]));
  }
  return EGRAPH_OK;
}

static egraph_status fill_probe(probe *p, eg_node_cons *cons) {
  for (uint32_t v = 0; v < eg_graph_value_count(p->from); v++)
    EG_TRY(copy_any(p, v));
  EG_TRY(eg_node_cons_init(cons, p->to));
  eg_builder b = eg_node_cons_builder(cons);
  for (uint32_t o = 0; o < eg_graph_output_count(p->from); o++)
    if (p->lasts[o].is_there) EG_TRY(hand_out(p, &b, &p->lasts[o]));
  return EGRAPH_OK;
}

/// Runs the copy of the graph that has additional outputs; `out` receives the outputs.
static egraph_status run_probe(probe *p, const eg_session_options *options,
                               const eg_tensors *inputs, eg_tensors *out) {
  egraph_allocator alloc = eg_graph_allocator(p->from);
  uint32_t values = eg_graph_value_count(p->from);
  eg_node_cons cons = {.graph = NULL};
  EG_LOCAL(eg_arena, arena, alloc);
  p->moved = 0;
  EG_NEW(&arena, values, p->map);
  eg_flatmap_init(&cons.nodes, alloc);
  egraph_status status = eg_graph_create(&alloc, &p->to);
  if (status == EGRAPH_OK) status = fill_probe(p, &cons);
  if (status == EGRAPH_OK) status = eg_tensors_run(p->to, options, inputs, out);
  eg_node_cons_deinit(&cons);
  eg_graph_destroy(p->to);
  p->to = NULL;
  return status;
}

// ---- noise --------------------------------------------------------------------------

typedef struct noise {
  double largest, sum; // the largest over all trials; the sum over elements of the mean
                       // over trials
} noise;

static void add_noise(const eg_tensor *t, const eg_tensor *moved, noise *inout) {
  for (int64_t i = 0; i < eg_type_elements(&t->type); i++) {
    double d = fabs(eg_tensor_get_double(t, i) - eg_tensor_get_double(moved, i));
    if (!isfinite(d)) continue;
    inout->largest = fmax(inout->largest, d);
    inout->sum += d / TRIALS;
  }
}

static egraph_status try_moved(probe *p, const eg_session_options *options,
                               const eg_tensors *inputs, const eg_tensors *extras,
                               noise *out) {
  p->is_moved = true;
  for (uint32_t trial = 0; trial < TRIALS; trial++) {
    EG_LOCAL(eg_owned_tensors, moved, eg_graph_allocator(p->from));
    EG_TRY(run_probe(p, options, inputs, &moved));
    for (size_t i = 0; i < moved.len; i += EXTRAS)
      add_noise(&extras->data[i], &moved.data[i], &out[i / EXTRAS]);
  }
  return EGRAPH_OK;
}

// ---- without rounding ---------------------------------------------------------------

/// The verdict on an output of two graphs in which nothing is rounded.
typedef enum verdict { SMOOTH_UNKNOWN, SMOOTH_AGREES, SMOOTH_DIFFERS } verdict;

/// Returns the largest difference of two outputs, in steps.
static double largest_steps(const eg_tensor *a, const eg_tensor *b,
                            const eg_tensor *step) {
  double largest = 0;
  for (int64_t i = 0; i < eg_type_elements(&a->type); i++) {
    double x = eg_tensor_get_double(a, i), y = eg_tensor_get_double(b, i);
    if (x != y && !(isnan(x) && isnan(y)))
      largest = fmax(largest, fabs(x - y) / eg_tensor_get_double(step, i));
  }
  return largest;
}

/// Results of both graphs without rounding, and of the first graph with changed scales.
typedef struct smooth_runs {
  bool is_there, has_same_quantizers;
  eg_owned_tensors a, b, moved[TRIALS];
} smooth_runs;

static egraph_status run_smooth(smooth_runs *runs, const eg_graph *a, const eg_graph *b,
                                const eg_session_options *options,
                                const eg_tensors *inputs) {
  bool is_done;
  EG_TRY(eg_smooth_same_quantizers(a, b, &runs->has_same_quantizers));
  EG_TRY(eg_smooth_run(a, options, inputs, 0, &runs->a, &is_done));
  if (!is_done) return EGRAPH_OK;
  EG_TRY(eg_smooth_run(b, options, inputs, 0, &runs->b, &is_done));
  for (uint64_t i = 0; is_done && i < TRIALS; i++)
    EG_TRY(eg_smooth_run(a, options, inputs, i + 1, &runs->moved[i], &is_done));
  runs->is_there = is_done;
  return EGRAPH_OK;
}

static verdict judge_smooth(const smooth_runs *runs, uint32_t output,
                            const eg_tensor *step, double range) {
  double most = ROUNDING * range;
  if (!runs->is_there) return SMOOTH_UNKNOWN;
  const eg_tensor *a = &runs->a.data[output], *b = &runs->b.data[output];
  for (int i = 0; i < TRIALS; i++)
    most = fmax(most, largest_steps(a, &runs->moved[i].data[output], step));
  if (!(most <= MOST_SMOOTH_NOISE)) return SMOOTH_UNKNOWN;
  return largest_steps(a, b, step) <= most ? SMOOTH_AGREES : SMOOTH_DIFFERS;
}

// ---- comparing ----------------------------------------------------------------------

/// The elements of an output in both graphs, and of the first graph's additional outputs.
typedef struct quantum_rows {
  const eg_tensor *a, *b, *extras;
  double range; // quanta of the type
  noise noise;
  verdict smooth;
  bool has_same_quantizers;
} quantum_rows;

typedef struct tally {
  double steps;   // sum over elements that earlier quantizations explain
  uint64_t moved; // number of these elements
} tally;

/// True when noise of earlier quantizations can explain a difference of `steps` steps.
static bool is_noise(const quantum_rows *rows, double steps, double excess) {
  if (rows->smooth == SMOOTH_UNKNOWN) return excess <= rows->noise.largest;
  return rows->smooth == SMOOTH_AGREES && steps <= 2 * rows->noise.largest + 1;
}

static void judge(const quantum_rows *rows, int64_t i, eg_quanta *out, tally *inout) {
  double a = eg_tensor_get_double(rows->a, i), b = eg_tensor_get_double(rows->b, i);
  if (a == b || (isnan(a) && isnan(b))) return;
  double t = eg_tensor_get_double(&rows->extras[0], i);
  double steps = (b - a) / eg_tensor_get_double(&rows->extras[1], i);
  double quantum = eg_tensor_get_double(&rows->extras[2], i) + round(steps);
  double excess = fabs(quantum - t) - 0.5;
  // Dequantized in float32, a difference of quanta is whole up to its rounding.
  bool is_whole = fabs(steps - round(steps)) <= 1e-6 * (rows->range + fabs(steps));
  if (round(steps) == 0 && is_whole) return;
  out->differ++;
  if (is_whole) steps = round(steps);
  out->steps = isfinite(steps) ? fmax(out->steps, fabs(steps)) : INFINITY;
  if (is_whole && excess <= ROUNDING * rows->range) return;
  if (is_whole && is_noise(rows, fabs(steps), excess)) {
    inout->steps += fabs(steps);
    inout->moved++;
  } else {
    out->unexplained++;
  }
}

static void judge_all(const quantum_rows *rows, eg_quanta *out) {
  tally all = {.steps = 0};
  for (int64_t i = 0; i < eg_type_elements(&rows->a->type); i++)
    judge(rows, i, out, &all);
  const double most = MOST_NOISE * (double)eg_type_elements(&rows->a->type);
  bool is_much = all.steps > 2 * rows->noise.sum + FEW_STEPS;
  bool is_hidden = rows->noise.sum > most &&
                   (rows->smooth != SMOOTH_AGREES || !rows->has_same_quantizers);
  if (is_much || is_hidden) out->unexplained += all.moved;
}

static double range_of(const eg_graph *graph, const last_quantum *last) {
  eg_graph_node_info node = eg_graph_node_at(graph, last->quantize);
  eg_type one = eg_type_of(eg_graph_value(graph, node.results[0])->type.dtype, 0, NULL);
  return ldexp(1, (int)(8 * eg_type_bytes(&one)));
}

static bool differ(const eg_tensor *a, const eg_tensor *b) {
  return memcmp(a->data, b->data, eg_type_bytes(&a->type)) != 0;
}

typedef struct quanta_run {
  const eg_tensors *inputs, *a, *b;
  last_quantum *lasts; // [outputs]
  noise *noise;        // [quantized outputs]
  eg_owned_tensors extras;
  smooth_runs smooth;
} quanta_run;

EG_OWNER_DEFINE_STATIC(quanta_run, (eg_owned_tensors, extras, smooth.a, smooth.b,
                                    smooth.moved[0], smooth.moved[1], smooth.moved[2]))
static_assert(TRIALS == 3, "all trials are freed");

static egraph_status compare_all(quanta_run *run, const eg_graph *graph,
                                 const eg_graph *other, const eg_session_options *options,
                                 eg_quanta *out) {
  bool is_wanted = false;
  for (uint32_t o = 0; o < eg_graph_output_count(graph); o++) {
    run->lasts[o] = find_last(graph, eg_graph_output(graph, o, NULL));
    out[o] = (eg_quanta){.is_quantized = run->lasts[o].is_there};
    is_wanted = is_wanted ||
                (run->lasts[o].is_there && differ(&run->a->data[o], &run->b->data[o]));
  }
  if (!is_wanted) return EGRAPH_OK;
  probe p = {.from = graph, .lasts = run->lasts, .random = 1};
  EG_TRY(run_probe(&p, options, run->inputs, &run->extras));
  EG_TRY(try_moved(&p, options, run->inputs, &run->extras, run->noise));
  EG_TRY(run_smooth(&run->smooth, graph, other, options, run->inputs));
  for (uint32_t o = 0, at = 0; o < eg_graph_output_count(graph); o++) {
    if (!run->lasts[o].is_there) continue;
    quantum_rows rows = {.a = &run->a->data[o],
                         .b = &run->b->data[o],
                         .extras = &run->extras.data[EXTRAS * at],
                         .range = range_of(graph, &run->lasts[o]),
                         .noise = run->noise[at],
                         .has_same_quantizers = run->smooth.has_same_quantizers};
    rows.smooth = judge_smooth(&run->smooth, o, &rows.extras[1], rows.range);
    judge_all(&rows, &out[o]);
    at++;
  }
  return EGRAPH_OK;
}

egraph_status eg_quanta_compare(const eg_graph *a, const eg_graph *b,
                                const eg_session_options *options,
                                const eg_tensors *inputs, const eg_tensors *outputs_a,
                                const eg_tensors *outputs_b, eg_quanta *out) {
  egraph_allocator alloc = eg_graph_allocator(a);
  uint32_t outputs = eg_graph_output_count(a);
  EG_LOCAL(eg_arena, arena, alloc);
  EG_LOCAL(quanta_run, run, alloc);
  run.inputs = inputs;
  run.a = outputs_a;
  run.b = outputs_b;
  EG_NEW(&arena, outputs, run.lasts);
  EG_NEW(&arena, outputs, run.noise);
  return compare_all(&run, a, b, options, out);
}
