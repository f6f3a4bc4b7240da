// Recurrent layers, sequence by sequence: the gates of a step are W x + R h + biases,
// clipped; then one of three cells computes the next state. All is computed in float64.
// Formulas and the order of gates are those of ONNX (RNN, GRU, LSTM).
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "ops/kernel_math.h"
#include "ops/kernels.h"
#include "ops/recurrent.h"

/// A sequence in one direction. Rows are [gates hidden]; NULL where an operand is absent.
typedef struct sequence {
  const eg_recurrent *r;
  const eg_activation *gate; // activations of this direction
  double clip;
  bool is_coupled, is_linear_before_reset;
  const double *w, *recurrence, *bias, *peepholes;
  double *h, *c; // the state; c only for lstm
  double *row;   // [gates hidden] W x + bias, then the gates
  double *other; // [gates hidden] R h + bias
} sequence;

static double dot(const double *a, const double *b, int64_t count) {
  double total = 0.0;
  EG_MATH_FOLD(double, total, count, EG_MATH_LANES, a[i] * b[i], EG_MATH_ADD);
  return total;
}

/// Computes out = matrix v (+ bias).
static void multiply_row(const double *matrix, const double *v, const double *bias,
                         int64_t rows, int64_t columns, double *out) {
  for (int64_t i = 0; i < rows; i++)
    out[i] = dot(matrix + i * columns, v, columns) + (bias != NULL ? bias[i] : 0.0);
}

static double gate_at(const sequence *s, uint32_t activation, double x) {
  const eg_activation *gate = &s->gate[activation];
  if (x > s->clip) x = s->clip;
  if (x < -s->clip) x = -s->clip;
  return gate->info->at(x, gate->alpha, gate->beta);
}

static void rnn_cell(sequence *s) {
  for (int64_t i = 0; i < s->r->hidden; i++)
    s->h[i] = gate_at(s, 0, s->row[i] + s->other[i]);
}

// Computes the next state of a GRU: gates z, r, h. linear_before_reset: r multiplies R h
// + bias.
static void gru_cell(sequence *s) {
  int64_t n = s->r->hidden;
  double *z = s->row, *reset = s->row + n, *next = s->row + 2 * n;
  for (int64_t i = 0; i < n; i++) {
    z[i] = gate_at(s, 0, z[i] + s->other[i]);
    reset[i] = gate_at(s, 0, reset[i] + s->other[n + i]);
  }
  if (!s->is_linear_before_reset) {
    for (int64_t i = 0; i < n; i++)
      s->other[i] = reset[i] * s->h[i];
    const double *bias = s->bias != NULL ? s->bias + 5 * n : NULL;
    multiply_row(s->recurrence + 2 * n * n, s->other, bias, n, n, s->other + 2 * n);
  }
  for (int64_t i = 0; i < n; i++) {
    double from_h = s->other[2 * n + i] * (s->is_linear_before_reset ? reset[i] : 1.0);
    double new = gate_at(s, 1, next[i] + from_h);
    s->h[i] = (1.0 - z[i]) * new + z[i] * s->h[i];
  }
}

// Computes the next state of an LSTM: gates i, o, f, c; peepholes i, o, f. Coupled: f = 1
// - i.
static void lstm_cell(sequence *s) {
  int64_t n = s->r->hidden;
  const double *p = s->peepholes;
  for (int64_t k = 0; k < n; k++) {
    double sum[4], c = s->c[k];
    for (int64_t g = 0; g < 4; g++)
      sum[g] = s->row[g * n + k] + s->other[g * n + k];
    double in = gate_at(s, 0, sum[0] + (p != NULL ? p[k] * c : 0.0));
    double forget = s->is_coupled
                        ? 1.0 - in
                        : gate_at(s, 0, sum[2] + (p != NULL ? p[2 * n + k] * c : 0.0));
    c = forget * c + in * gate_at(s, 1, sum[3]);
    double out = gate_at(s, 0, sum[1] + (p != NULL ? p[n + k] * c : 0.0));
    const eg_activation *last = &s->gate[2];
    s->c[k] = c;
    s->h[k] = out * last->info->at(c, last->alpha, last->beta);
  }
}

static void run_one_step(sequence *s, eg_op op, const double *x) {
  int64_t n = s->r->hidden, rows = (int64_t)s->r->gates * n;
  const double *bias = s->bias;
  multiply_row(s->w, x, bias, rows, s->r->inputs, s->row);
  multiply_row(s->recurrence, s->h, bias != NULL ? bias + rows : NULL, rows, n, s->other);
  if (op == EG_OP_LSTM)
    lstm_cell(s);
  else if (op == EG_OP_GRU)
    gru_cell(s);
  else
    rnn_cell(s);
}

// ---- the layer ----------------------------------------------------------------------

/// A recurrent layer that is being computed: operands and results in float64.
typedef struct layer {
  const eg_kernel_call *call;
  eg_recurrent r;
  const double *x, *w, *recurrence, *bias, *h, *c, *peepholes;
  double *y, *last_h, *last_c;
} layer;

static egraph_status load_operand(eg_arena *arena, const eg_kernel_call *call,
                                  int operand, const double **out) {
  *out = NULL;
  return operand == EG_ABSENT
             ? EGRAPH_OK
             : eg_kernel_load_doubles(arena, &call->inputs[operand], out);
}

static egraph_status load_all(layer *l, eg_arena *arena) {
  const eg_recurrent *r = &l->r;
  size_t states = (size_t)eg_type_elements(&l->call->outputs[1].type);
  size_t results = (size_t)eg_type_elements(&l->call->outputs[0].type);
  EG_TRY(load_operand(arena, l->call, 0, &l->x));
  EG_TRY(load_operand(arena, l->call, 1, &l->w));
  EG_TRY(load_operand(arena, l->call, 2, &l->recurrence));
  EG_TRY(load_operand(arena, l->call, r->bias, &l->bias));
  EG_TRY(load_operand(arena, l->call, r->h, &l->h));
  EG_TRY(load_operand(arena, l->call, r->c, &l->c));
  EG_TRY(load_operand(arena, l->call, r->peepholes, &l->peepholes));
  EG_TRY(eg_arena_alloc(arena, results, sizeof(double), &l->y));
  EG_TRY(eg_arena_alloc(arena, states, sizeof(double), &l->last_h));
  return eg_arena_alloc(arena, states, sizeof(double), &l->last_c);
}

static sequence sequence_of(const layer *l, int64_t direction, double *scratch) {
  const eg_recurrent *r = &l->r;
  const eg_attrs *attrs = l->call->attrs;
  int64_t n = r->hidden, rows = (int64_t)r->gates * n;
  bool last =
      attrs->op == EG_OP_RNN ? false : eg_kernel_slot(l->call, attrs->count - 1U)->i != 0;
  return (sequence){.r = r,
                    .gate = &r->gate[direction * r->activations],
                    .clip = attrs->slots[EG_A_RNN_CLIP - EG_A_BASE_RNN].f,
                    .is_coupled = last,
                    .is_linear_before_reset = last,
                    .w = l->w + direction * rows * r->inputs,
                    .recurrence = l->recurrence + direction * rows * n,
                    .bias = l->bias != NULL ? l->bias + direction * 2 * rows : NULL,
                    .peepholes =
                        l->peepholes != NULL ? l->peepholes + direction * 3 * n : NULL,
                    .row = scratch,
                    .other = scratch + rows};
}

// Returns the index of element [direction, batch, 0] of a state tensor.
static int64_t state_at(const eg_recurrent *r, int64_t direction, int64_t b) {
  return (r->is_batch_first ? b * r->directions + direction : direction * r->batch + b) *
         r->hidden;
}

static int64_t length_of(const layer *l, int64_t b) {
  if (l->r.lengths == EG_ABSENT) return l->r.steps;
  int64_t length = eg_tensor_get_int(&l->call->inputs[l->r.lengths], b);
  return length < 0 ? 0 : length > l->r.steps ? l->r.steps : length;
}

static void run_sequence(layer *l, sequence *s, int64_t direction, int64_t b) {
  const eg_recurrent *r = &l->r;
  size_t bytes = (size_t)r->hidden * sizeof(double);
  int64_t state = state_at(r, direction, b), length = length_of(l, b);
  bool reverse =
      l->call->attrs->slots[EG_A_RNN_DIRECTION - EG_A_BASE_RNN].i == 1 || direction == 1;
  s->h = l->last_h + state; // last_h is zero before the call
  s->c = l->last_c + state;
  if (l->h != NULL) memcpy(s->h, l->h + state, bytes);
  if (l->c != NULL) memcpy(s->c, l->c + state, bytes);
  for (int64_t i = 0; i < length; i++) {
    int64_t t = reverse ? length - 1 - i : i;
    int64_t row = r->is_batch_first ? b * r->steps + t : t * r->batch + b;
    int64_t place = r->is_batch_first ? (row * r->directions + direction)
                                      : (t * r->directions + direction) * r->batch + b;
    run_one_step(s, eg_kernel_op(l->call), l->x + row * r->inputs);
    memcpy(l->y + place * r->hidden, s->h, bytes);
  }
}

static egraph_status run_layer(layer *l, eg_arena *arena) {
  double *scratch;
  EG_TRY(load_all(l, arena));
  EG_TRY(eg_arena_alloc(arena, (size_t)(2 * (int64_t)l->r.gates * l->r.hidden),
                        sizeof *scratch, &scratch));
  for (int64_t d = 0; d < l->r.directions; d++) {
    sequence s = sequence_of(l, d, scratch);
    for (int64_t b = 0; b < l->r.batch; b++)
      run_sequence(l, &s, d, b);
  }
  eg_kernel_store_doubles(l->y, &l->call->outputs[0]);
  eg_kernel_store_doubles(l->last_h, &l->call->outputs[1]);
  if (l->r.is_lstm) eg_kernel_store_doubles(l->last_c, &l->call->outputs[2]);
  return EGRAPH_OK;
}

egraph_status eg_kernel_recurrent(const eg_kernel_call *call) {
  layer l = {.call = call,
             .r = eg_recurrent_of(call->attrs, &call->inputs[0].type,
                                  &call->inputs[1].type, call->input_count)};
  return run_layer(&l, call->scratch);
}
