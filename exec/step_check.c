// SPDX-License-Identifier: Apache-2.0
#include "exec/step_check.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/owner.h"
#include "base/vec.h"
#include "pcg/graph/graph.h"

// ---- the longest sums --------------------------------------------------------

EG_VEC_DEFINE(operand_types, eg_type);

/// Multiplies sizes of loops without a result dimension: the number of terms of a sum.
static double terms_of_factors(const eg_factors *factors) {
  double terms = 1;
  for (uint32_t f = 0; f < factors->count; f++) {
    const eg_factor *factor = &factors->factor[f];
    bool is_summed = factor->output_dim[0] == EG_NO_DIM && !factor->is_no_loop;
    if (is_summed) terms *= (double)factor->size;
  }
  return terms;
}

static egraph_status terms_of_node(const eg_graph *graph, const eg_graph_node_info *node,
                                   operand_types *types, double *out) {
  eg_factors factors;
  bool is_typed = eg_graph_value(graph, node->results[0])->typed;
  types->len = 0;
  *out = 1;
  for (uint32_t i = 0; i < node->input_count; i++)
    EG_TRY(operand_types_push(types, eg_graph_value(graph, node->inputs[i])->type));
  if (is_typed &&
      eg_op_factors(node->attrs, types->data, node->input_count, &factors) == EGRAPH_OK)
    *out = terms_of_factors(&factors);
  return EGRAPH_OK;
}

egraph_status eg_sum_terms(const eg_graph *graph, egraph_allocator alloc, double *out) {
  EG_LOCAL(operand_types, types, alloc);
  for (uint32_t v = 0; v < eg_graph_value_count(graph); v++)
    out[v] = 1;
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++) {
    eg_graph_node_info node = eg_graph_node_at(graph, (eg_graph_node){n});
    double most;
    EG_TRY(terms_of_node(graph, &node, &types, &most));
    for (uint32_t i = 0; i < node.input_count; i++)
      most = fmax(most, out[node.inputs[i].id]);
    for (uint32_t r = 0; r < node.result_count; r++)
      out[node.results[r].id] = most;
  }
  return EGRAPH_OK;
}

enum { PERTURBED = 2, MOST_PERTURBED = 8, NONE = -1 };
static const double AMPLITUDE = 8, ALLOWED = 4, ORDER_RMS = 8, ORDER_MAX = 16;
static const double UPDATE_ROUNDING = 8;

EG_VEC_DEFINE(step_tensors, eg_tensor);

/// The largest distance between results of an output over all runs, and the
/// results' size.
typedef struct spread {
  double rms, most;               // root mean square and largest |p - r|
  double result_rms, result_most; // root mean square and largest |r|
} spread;

struct eg_step_check {
  egraph_allocator alloc;
  eg_arena arena; // memory of all arrays
  const eg_graph *step;
  eg_session *session;
  uint32_t rows, input_count, output_count;
  double unit;    // unit of rounding
  double *order;  // [outputs] sqrt(n), n terms: units of rounding that the order of a sum
                  // may change
  int32_t *entry; // [outputs] input that the output becomes, or NONE
  bool *is_sum;   // [outputs] carried from micro-batch to micro-batch
  bool *is_square;          // [outputs] second moment of Adam
  step_tensors inputs;      // inputs of one run
  step_tensors base, moved; // [rows][outputs] r and p; carried: last row only
  spread *spreads;          // [rows][outputs]
};

// ---- the step -----------------------------------------------------------------------

static int32_t find_input(const eg_graph *step, const char *name) {
  for (uint32_t i = 0; i < eg_graph_input_count(step); i++)
    if (strcmp(eg_graph_value(step, eg_graph_input(step, i))->name, name) == 0)
      return (int32_t)i;
  return NONE;
}

static double unit_of(const eg_graph *step) {
  static const double units[EGRAPH_DTYPE_COUNT] = {[EGRAPH_FLOAT64] = 0x1p-53,
                                                   [EGRAPH_FLOAT32] = 0x1p-24,
                                                   [EGRAPH_FLOAT16] = 0x1p-11,
                                                   [EGRAPH_BFLOAT16] = 0x1p-8};
  double unit = 0x1p-53;
  for (uint32_t v = 0; v < eg_graph_value_count(step); v++) {
    const eg_value_info *info = eg_graph_value(step, (eg_value){v});
    if (info->typed) unit = fmax(unit, units[info->type.dtype]);
  }
  return unit;
}

static egraph_status add_tensor(eg_step_check *c, step_tensors *to,
                                const eg_value_info *info, bool is_wanted) {
  eg_tensor tensor = {.type = info->type};
  tensor.type.layout = (eg_layout){.format = EG_FORMAT_PLAIN};
  if (is_wanted)
    EG_TRY(eg_arena_alloc(&c->arena, eg_type_bytes(&tensor.type), 1, &tensor.data));
  return step_tensors_push(to, tensor);
}

/// Adds tensors for the results of all micro-batches. Results of the update exist only
/// after the last one.
static egraph_status add_results(eg_step_check *c, step_tensors *to) {
  for (uint32_t m = 0; m < c->rows; m++)
    for (uint32_t o = 0; o < c->output_count; o++) {
      const eg_value_info *info =
          eg_graph_value(c->step, eg_graph_output(c->step, o, NULL));
      EG_TRY(add_tensor(c, to, info, c->entry[o] == NONE || m + 1 == c->rows));
    }
  return EGRAPH_OK;
}

static egraph_status find_orders(eg_step_check *c) {
  uint32_t values = eg_graph_value_count(c->step);
  double *terms;
  EG_TRY(eg_arena_alloc(&c->arena, c->output_count, sizeof *c->order, &c->order));
  EG_TRY(eg_arena_alloc(&c->arena, values, sizeof *terms, &terms));
  EG_TRY(eg_sum_terms(c->step, c->alloc, terms));
  for (uint32_t o = 0; o < c->output_count; o++)
    c->order[o] = sqrt(terms[eg_graph_output(c->step, o, NULL).id]);
  return EGRAPH_OK;
}

static egraph_status prepare_check(eg_step_check *c, const eg_session_options *options) {
  size_t results = (size_t)c->rows * c->output_count;
  EG_TRY(eg_arena_alloc(&c->arena, c->output_count, sizeof *c->entry, &c->entry));
  EG_TRY(eg_arena_alloc(&c->arena, c->output_count, sizeof *c->is_sum, &c->is_sum));
  EG_TRY(eg_arena_alloc(&c->arena, c->output_count, sizeof *c->is_square, &c->is_square));
  EG_TRY(eg_arena_alloc(&c->arena, results, sizeof *c->spreads, &c->spreads));
  for (uint32_t o = 0; o < c->output_count; o++) {
    const char *name;
    eg_value value = eg_graph_output(c->step, o, &name);
    const eg_value_info *info = eg_graph_value(c->step, value);
    size_t length = strlen(name);
    c->entry[o] = find_input(c->step, name);
    c->is_square[o] =
        info->kind == EG_VALUE_COMPUTED && info->result == 2 &&
        eg_graph_node_at(c->step, info->node).attrs->op == EG_OP_ADAM_UPDATE;
    // "w.sum": the sum of the gradients of weight "w", carried between micro-batches
    c->is_sum[o] =
        c->entry[o] != NONE && length > 4 && strcmp(name + length - 4, ".sum") == 0;
  }
  for (uint32_t i = 0; i < c->input_count; i++)
    EG_TRY(add_tensor(c, &c->inputs, eg_graph_value(c->step, eg_graph_input(c->step, i)),
                      true));
  EG_TRY(find_orders(c));
  EG_TRY(add_results(c, &c->base));
  EG_TRY(add_results(c, &c->moved));
  return eg_session_create(&c->alloc, c->step, options, &c->session);
}

egraph_status eg_step_check_create(const egraph_allocator *alloc, const eg_graph *step,
                                   const eg_session_options *options,
                                   uint32_t micro_batches, eg_step_check **out) {
  assert(micro_batches != 0);
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_step_check *check;
  EG_TRY(eg_alloc(heap, 1, sizeof *check, &check));
  *check = (eg_step_check){.alloc = heap,
                           .step = step,
                           .rows = micro_batches,
                           .input_count = eg_graph_input_count(step),
                           .output_count = eg_graph_output_count(step),
                           .unit = unit_of(step)};
  eg_arena_init(&check->arena, heap);
  step_tensors_init(&check->inputs, heap);
  step_tensors_init(&check->base, heap);
  step_tensors_init(&check->moved, heap);
  EG_HAND_OVER_OR_DESTROY(prepare_check(check, options), check, eg_step_check_destroy,
                          out);
}

void eg_step_check_destroy(eg_step_check *check) {
  if (check == NULL) return;
  eg_session_destroy(check->session);
  step_tensors_deinit(&check->moved);
  step_tensors_deinit(&check->base);
  step_tensors_deinit(&check->inputs);
  eg_arena_deinit(&check->arena);
  eg_free(check->alloc, check, 1, sizeof *check);
}

/// Reads an element; fast for float32, as nearly all of a step's hundreds of millions of
/// elements are.
static double element(const eg_tensor *tensor, int64_t i) {
  return tensor->type.dtype == EGRAPH_FLOAT32 ? (double)((const float *)tensor->data)[i]
                                              : eg_tensor_get_double(tensor, i);
}

// ---- running it on one device -------------------------------------------------------

/// Moves every element by up to `size` times itself. Learning rate and step number,
/// float64 scalars, stay.
static void move_tensor(const eg_tensor *tensor, double size, eg_rng *rng) {
  int64_t count = eg_type_elements(&tensor->type);
  bool is_setting = tensor->type.dtype == EGRAPH_FLOAT64 && tensor->type.rank == 0;
  if (!eg_dtype_is_float(tensor->type.dtype) || is_setting) return;
  for (int64_t i = 0; i < count; i++) {
    double value = element(tensor, i);
    double moved = value + value * size * (2 * eg_rng_unit(rng) - 1);
    if (tensor->type.dtype == EGRAPH_FLOAT32)
      ((float *)tensor->data)[i] = (float)moved;
    else
      eg_tensor_set_double(tensor, i, moved);
  }
}

static void copy_tensor(const eg_tensor *to, const eg_tensor *from) {
  size_t bytes = eg_type_bytes(&to->type);
  if (bytes != 0 && from->data != NULL) memcpy(to->data, from->data, bytes);
}

static bool is_carried(const eg_step_check *c, uint32_t input) {
  bool carried = false;
  for (uint32_t o = 0; o < c->output_count && !carried; o++)
    carried = c->entry[o] == (int32_t)input;
  return carried;
}

/// Sets a micro-batch's inputs; in the first one also values from the previous step.
static void set_inputs(const eg_step_check *c, const eg_tensor *before, uint32_t row,
                       double size, eg_rng *rng) {
  for (uint32_t i = 0; i < c->input_count; i++) {
    bool carried = is_carried(c, i);
    if (carried && row != 0) continue;
    copy_tensor(&c->inputs.data[i], &before[row * c->input_count + i]);
    if (size > 0) move_tensor(&c->inputs.data[i], size, rng);
  }
  for (uint32_t o = 0; row == 0 && o < c->output_count; o++)
    if (c->is_sum[o]) {
      const eg_tensor *sum = &c->inputs.data[c->entry[o]];
      if (eg_type_bytes(&sum->type) != 0) memset(sum->data, 0, eg_type_bytes(&sum->type));
    }
}

/// Runs the micro-batches of a step one after the other; only sums pass between them.
static egraph_status run_on_one_device(const eg_step_check *c, const eg_tensor *before,
                                       double size, uint64_t seed,
                                       step_tensors *results) {
  assert(results->len == (size_t)c->rows * c->output_count);
  eg_rng rng = {.state = eg_hash_mix(seed)};
  const eg_tensor *last = results->data + (size_t)(c->rows - 1) * c->output_count;
  for (uint32_t m = 0; m < c->rows; m++) {
    eg_tensor *row = results->data + (size_t)m * c->output_count;
    set_inputs(c, before, m, size, &rng);
    for (uint32_t o = 0; o < c->output_count; o++)
      if (c->entry[o] != NONE)
        row[o].data = last[o].data; // micro-batches overwrite one another
    EG_TRY(eg_session_run(c->session, c->inputs.data, row));
    for (uint32_t o = 0; o < c->output_count; o++) {
      if (c->is_sum[o]) copy_tensor(&c->inputs.data[c->entry[o]], &row[o]);
      if (c->entry[o] != NONE && m + 1 != c->rows) row[o].data = NULL;
    }
  }
  return EGRAPH_OK;
}

// ---- comparing ----------------------------------------------------------------------

typedef struct distance {
  double rms, most;
} distance;

/// Returns an element, or (is_square) its root, which has the scale of the gradients.
static double element_of(const eg_tensor *tensor, int64_t i, bool is_square) {
  double value = element(tensor, i);
  return is_square ? sqrt(value) : value;
}

/// Returns the distance of b from a; for b = NULL, the distance of a from zero over its
/// finite elements. Infinite if only one of two elements is finite, or infinities differ.
static distance distance_of(const eg_tensor *a, const eg_tensor *b, bool is_square) {
  double sum = 0, most = 0;
  int64_t count = eg_type_elements(&a->type);
  for (int64_t i = 0; i < count; i++) {
    double x = element_of(a, i, is_square),
           y = b != NULL ? element_of(b, i, is_square) : 0;
    if (b == NULL && !isfinite(x)) continue;
    double off = x == y || (isnan(x) && isnan(y)) ? 0 : fabs(x - y);
    if (isnan(off)) off = INFINITY;
    sum += off * off;
    most = fmax(most, off);
  }
  return (distance){count != 0 ? sqrt(sum / (double)count) : 0, most};
}

/// Updates the largest distance by the distance p - r of one run. A run whose distance is
/// not finite does not count.
static void note_spread(spread *s, const eg_tensor *r, const eg_tensor *p,
                        bool is_square) {
  distance noise = distance_of(r, p, is_square);
  if (!isfinite(noise.most)) return;
  s->rms = fmax(s->rms, noise.rms);
  s->most = fmax(s->most, noise.most);
}

static double ratio(double off, double allowed) {
  if (off == 0) return 0;
  return allowed > 0 ? off / allowed : INFINITY;
}

static void keep_worst(eg_step_verdict *out, const eg_step_verdict *one) {
  if (out->output == NULL || one->excess > out->excess) *out = *one;
}

static void compare_result(const eg_step_check *c, size_t index, const char *name,
                           const eg_tensor *x, eg_step_verdict *out) {
  assert(index < c->base.len);
  const spread *s = &c->spreads[index];
  uint32_t output = (uint32_t)(index % c->output_count);
  distance off = distance_of(&c->base.data[index], x, c->is_square[output]);
  double order = c->unit * c->order[output];
  double rms = ALLOWED * s->rms + ORDER_RMS * order * s->result_rms;
  double most = ALLOWED * s->most + ORDER_MAX * order * s->result_most;
  double scale = s->result_rms > 0 ? s->result_rms : 1;
  keep_worst(out, &(eg_step_verdict){
                      .output = name,
                      .error = off.rms / scale,
                      .noise = rms / scale,
                      .excess = fmax(ratio(off.rms, rms), ratio(off.most, most))});
}

// ---- Adam ---------------------------------------------------------------------------

static uint32_t output_of(const eg_graph *graph, eg_value value) {
  uint32_t output = 0, count = eg_graph_output_count(graph);
  while (output < count && eg_graph_output(graph, output, NULL).id != value.id)
    output++;
  return output;
}

static int32_t input_of(const eg_graph *graph, eg_value value) {
  for (uint32_t i = 0; i < eg_graph_input_count(graph); i++)
    if (eg_graph_input(graph, i).id == value.id) return (int32_t)i;
  return NONE;
}

typedef struct adam_step {
  const eg_tensor *weight;          // before the step
  const eg_tensor *first, *second;  // moments after the step
  const eg_tensor *result;          // weight computed by the plan
  double rate, kept, epsilon;       // kept: factor of the weight
  double first_share, second_share; // 1 - beta^step
} adam_step;

/// Finds the Adam update that computed an output, if the plan's moments are known, so
/// that the update can be repeated.
static bool find_adam(const eg_step_check *c, uint32_t output, const eg_tensor *before,
                      const eg_tensor *last, adam_step *out) {
  const eg_graph *g = c->step;
  eg_value value = eg_graph_output(g, output, NULL);
  const eg_value_info *info = eg_graph_value(g, value);
  if (info->kind != EG_VALUE_COMPUTED || info->result != 0) return false;
  eg_graph_node_info node = eg_graph_node_at(g, info->node);
  if (node.attrs->op != EG_OP_ADAM_UPDATE) return false;
  uint32_t first = output_of(g, node.results[1]), second = output_of(g, node.results[2]);
  int32_t weight = input_of(g, node.inputs[0]), rate = input_of(g, node.inputs[4]),
          step = input_of(g, node.inputs[5]);
  if (first == c->output_count || second == c->output_count || weight == NONE ||
      rate == NONE || step == NONE || last[first].data == NULL ||
      last[second].data == NULL)
    return false;
  double number = eg_tensor_get_double(&before[step], 0);
  double decay = eg_attr_at(node.attrs, EG_A_ADAM_UPDATE_WEIGHT_DECAY)->f;
  bool decoupled = eg_attr_at(node.attrs, EG_A_ADAM_UPDATE_DECOUPLED)->i != 0;
  *out = (adam_step){
      .weight = &before[weight],
      .first = &last[first],
      .second = &last[second],
      .result = &last[output],
      .rate = eg_tensor_get_double(&before[rate], 0),
      .epsilon = eg_attr_at(node.attrs, EG_A_ADAM_UPDATE_EPSILON)->f,
      .first_share = 1 - pow(eg_attr_at(node.attrs, EG_A_ADAM_UPDATE_BETA1)->f, number),
      .second_share = 1 - pow(eg_attr_at(node.attrs, EG_A_ADAM_UPDATE_BETA2)->f, number)};
  out->kept = decoupled ? 1 - out->rate * decay : 1;
  return true;
}

/// Compares a weight with Adam's: w' = kept w - rate m' / (1 - beta1^t) / (sqrt(v' / (1 -
/// beta2^t)) + epsilon).
static void compare_adam(const adam_step *a, const char *name, eg_step_verdict *out) {
  int64_t count = eg_type_elements(&a->weight->type);
  double unit = a->weight->type.dtype == EGRAPH_FLOAT64 ? 0x1p-53 : 0x1p-24;
  eg_step_verdict one = {.output = name};
  double sum = 0, scale = 0;
  for (int64_t i = 0; i < count; i++) {
    double w = element(a->weight, i);
    double m = element(a->first, i) / a->first_share;
    double v = element(a->second, i) / a->second_share;
    double change = a->rate * m / (sqrt(v) + a->epsilon);
    double want = a->kept * w - change, have = element(a->result, i);
    double off = want == have || (isnan(want) && isnan(have)) ? 0 : fabs(want - have);
    if (isnan(off)) off = INFINITY;
    sum += off * off;
    scale += isfinite(want) ? want * want : 0;
    one.excess =
        fmax(one.excess, ratio(off, UPDATE_ROUNDING * unit * (fabs(w) + fabs(change))));
  }
  one.error = scale > 0 ? sqrt(sum / scale) : sqrt(sum);
  one.noise = UPDATE_ROUNDING * unit;
  keep_worst(out, &one);
}

// ---- a step -------------------------------------------------------------------------

static void forget_noise(const eg_step_check *c) {
  for (size_t i = 0; i < (size_t)c->rows * c->output_count; i++) {
    c->spreads[i] = (spread){.rms = 0};
    if (c->base.data[i].data == NULL) continue;
    distance size =
        distance_of(&c->base.data[i], NULL, c->is_square[i % c->output_count]);
    c->spreads[i].result_rms = size.rms;
    c->spreads[i].result_most = size.most;
  }
}

/// Runs the step once more on slightly changed values, to measure rounding noise.
static egraph_status measure_noise(const eg_step_check *c, const eg_tensor *before,
                                   uint64_t seed) {
  step_tensors moved = c->moved;
  EG_TRY(run_on_one_device(c, before, AMPLITUDE * c->unit, seed, &moved));
  for (size_t i = 0; i < (size_t)c->rows * c->output_count; i++)
    if (c->base.data[i].data != NULL)
      note_spread(&c->spreads[i], &c->base.data[i], &c->moved.data[i],
                  c->is_square[i % c->output_count]);
  return EGRAPH_OK;
}

static eg_step_verdict compare_step(const eg_step_check *c, const eg_tensor *before,
                                    const eg_tensor *after) {
  const eg_tensor *last = after + (size_t)(c->rows - 1) * c->output_count;
  eg_step_verdict verdict = {.output = NULL};
  for (uint32_t m = 0; m < c->rows; m++)
    for (uint32_t o = 0; o < c->output_count; o++) {
      const char *name;
      adam_step adam;
      size_t index = (size_t)m * c->output_count + o;
      (void)eg_graph_output(c->step, o, &name);
      if (after[index].data == NULL || c->base.data[index].data == NULL) continue;
      if (m + 1 == c->rows && find_adam(c, o, before, last, &adam))
        compare_adam(&adam, name, &verdict);
      else
        compare_result(c, index, name, &after[index], &verdict);
    }
  return verdict;
}

egraph_status eg_step_check_run(eg_step_check *check, const eg_tensor *before,
                                const eg_tensor *after, eg_step_verdict *out) {
  eg_step_verdict verdict = {.excess = INFINITY};
  double start = eg_clock_seconds();
  EG_TRY(run_on_one_device(check, before, 0, 0, &check->base));
  double seconds = eg_clock_seconds() - start;
  forget_noise(check);
  for (uint64_t n = 1; n <= MOST_PERTURBED && verdict.excess > 1; n++) {
    EG_TRY(measure_noise(check, before, n));
    if (n >= PERTURBED) verdict = compare_step(check, before, after);
  }
  *out = verdict;
  out->seconds = seconds;
  return EGRAPH_OK;
}
