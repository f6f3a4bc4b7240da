// Recurrent layers with constant weights, on panels (panels.h). One product with x serves
// many steps. A step adds the product of R with the previous state to its rows, and a
// loop over the units computes the next state (pointwise.h).
//
//   sums, of a block of steps     row of a step and sequence
//   | x W + bias |                | i o f c of slice 0 | i o f c of slice 1 |
//   | x W + bias | += h R
//   | x W + bias |
//
// Directions and sequences are independent, so threads divide them. Where they are too
// few, the units of a layer are divided into slices, and a step begins when all slices
// have finished the previous step. Each thread then reads a part of R, which stays in its
// cache. The previous state is read from the result.
// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "exec/cpu/families.h"
#include "exec/cpu/kernel_threads.h"
#include "exec/cpu/panels.h"
#include "exec/cpu/pointwise.h"
#include "exec/gate.h"

enum {
  OPERAND_X,
  OPERAND_W,
  OPERAND_R,
  CACHED = 1 << 17,       // elements of the sums in a block of steps
  FEWEST_ROWS = 24,       // least number of rows of a block of steps
  ROWS_OF_A_CHUNK = 4,    // with fewer sequences for each thread, slices are used
  WORTH_WAITING = 1 << 16 // least elements of R in a slice: waits take microseconds
};

/// The offsets of the packed weights of a slice (some units of a recurrent layer).
typedef struct slice_parts {
  int64_t w, r, last, bias, last_bias, all;
} slice_parts;

typedef struct recurrent_plan {
  eg_recurrent layer;
  bool reverses;             // the first direction runs backwards
  bool is_linear, has_reset; // gru: reset multiplies R h, or h
  int64_t slices, units;     // number of slices; units of a slice
  int64_t row;               // sums of a sequence in a step
  int64_t chunks;            // number of chunks into which the sequences are divided
  int64_t steps, groups;     // steps of a block; groups of panels of w
  eg_panels w, r, last; // panels of a slice; `last`: a last gate computed later (gru)
  slice_parts parts;
  eg_cell_function cell, reset;
  uint32_t threads;
} recurrent_plan;

/// Returns the number of gates to whose sums the first product of a step adds R h
/// (recurrent weights times state).
static int64_t first_gates(const recurrent_plan *p) {
  return p->is_linear || p->has_reset ? 2 : p->layer.gates;
}
static bool has_last(const recurrent_plan *p) { return p->is_linear || p->has_reset; }

// ---- the plan -----------------------------------------------------------------------

static bool has_default_gates(const eg_recurrent *layer, eg_op op) {
  const eg_gate_info *sigmoid = eg_gate_find("Sigmoid", 7),
                     *tanh = eg_gate_find("Tanh", 4);
  for (uint32_t i = 0; i < layer->directions * layer->activations; i++) {
    bool is_first = i % layer->activations == 0 && op != EG_OP_RNN;
    if (layer->gate[i].info != (is_first ? sigmoid : tanh)) return false;
  }
  return true;
}

static bool has_kernel(const eg_node_spec *spec, const eg_recurrent *layer) {
  return eg_panels_work() && spec->inputs[OPERAND_X].dtype == EGRAPH_FLOAT32 &&
         layer->peepholes == EG_ABSENT && layer->lengths == EG_ABSENT &&
         isinf(spec->attrs->slots[EG_A_RNN_CLIP - EG_A_BASE_RNN].f) &&
         has_default_gates(layer, (eg_op)spec->attrs->op) &&
         eg_spec_is_weight(spec, OPERAND_W) && eg_spec_is_weight(spec, OPERAND_R) &&
         (layer->bias == EG_ABSENT || eg_spec_is_weight(spec, (uint32_t)layer->bias));
}

static void choose_cell(recurrent_plan *p, const eg_attrs *attrs) {
  eg_cell_kind kind = EG_CELL_RNN;
  if (attrs->op == EG_OP_LSTM) {
    bool is_coupled = eg_attr_at(attrs, EG_A_LSTM_INPUT_FORGET)->i != 0;
    kind = is_coupled ? EG_CELL_LSTM_COUPLED : EG_CELL_LSTM;
  } else if (attrs->op == EG_OP_GRU) {
    p->is_linear = eg_attr_at(attrs, EG_A_GRU_LINEAR_BEFORE_RESET)->i != 0;
    p->has_reset = !p->is_linear;
    kind = p->is_linear ? EG_CELL_GRU_LINEAR : EG_CELL_GRU;
  }
  p->cell = eg_cell_function_of(kind);
  p->reset = eg_cell_function_of(EG_CELL_GRU_RESET);
}

/// Divides the sequences into chunks, or the units of a layer into slices, for threads.
static void divide(recurrent_plan *p) {
  enum { LINE = 16 };
  const eg_recurrent *layer = &p->layer;
  int64_t wanted = p->threads / layer->directions;
  p->slices = p->chunks = 1;
  if (layer->batch < ROWS_OF_A_CHUNK * wanted)
    for (int64_t i = wanted; i > 1 && p->slices == 1; i--)
      if (layer->hidden % (i * LINE) == 0 &&
          layer->gates * layer->hidden / i * layer->hidden >= WORTH_WAITING)
        p->slices = i;
  if (p->slices == 1) p->chunks = eg_greater(1, eg_lesser(layer->batch, wanted));
  p->units = layer->hidden / p->slices;
  p->row = layer->gates * layer->hidden;
  int64_t of_a_step = layer->batch * p->row * layer->directions;
  p->steps = eg_greater(CACHED / of_a_step, eg_quotient_up(FEWEST_ROWS, layer->batch));
  p->steps = eg_quotient_up(layer->steps, eg_quotient_up(layer->steps, p->steps));
}

/// Returns the elements of a row of packed columns, filled up to whole vectors.
static int64_t padded(const eg_panels *panels) {
  return panels->vectors * panels->set->vector;
}

static void lay_out(recurrent_plan *p) {
  assert(p->slices * p->units == p->layer.hidden);
  slice_parts *parts = &p->parts;
  p->w = eg_panels_of(p->layer.inputs, p->layer.gates * p->units);
  int64_t rows = eg_quotient_up(p->layer.batch, p->chunks);
  p->r = eg_panels_of_rows(p->layer.hidden, first_gates(p) * p->units, rows);
  p->last = eg_panels_of_rows(p->layer.hidden, p->units, rows);
  parts->r = parts->w + eg_panels_elements(&p->w);
  parts->last = parts->r + eg_panels_elements(&p->r);
  parts->bias = parts->last + (has_last(p) ? eg_panels_elements(&p->last) : 0);
  parts->last_bias = parts->bias + padded(&p->w);
  parts->all = parts->last_bias + (has_last(p) ? padded(&p->last) : 0);
  int64_t slices = p->layer.directions * p->slices;
  p->groups =
      p->threads == 1 ? 1 : eg_lesser(p->w.count, eg_quotient_up(2 * p->threads, slices));
}

static recurrent_plan plan_layer(const eg_attrs *attrs, const eg_recurrent *layer) {
  recurrent_plan p = {.layer = *layer, .threads = eg_omp_threads()};
  if (p.threads == 0) p.threads = 1;
  if (p.threads > EG_MAX_SHARES) p.threads = EG_MAX_SHARES;
  p.reverses = attrs->slots[EG_A_RNN_DIRECTION - EG_A_BASE_RNN].i == 1;
  choose_cell(&p, attrs);
  divide(&p);
  lay_out(&p);
  return p;
}

// ---- weights ------------------------------------------------------------------------

/// Packs the weights of gates [gate, gate + count) for a slice of the units.
static void pack_gates(const recurrent_plan *p, const eg_panels *panels, int64_t slice,
                       int64_t gate, int64_t count, const float *matrix, float *to) {
  for (int64_t g = 0; g < count; g++)
    for (int64_t i = 0; i < p->units; i++) {
      int64_t unit = (gate + g) * p->layer.hidden + slice * p->units + i;
      const float *from = matrix + unit * panels->depth;
      for (int64_t k = 0; k < panels->depth; k++)
        to[eg_panels_place(panels, k, g * p->units + i)] = from[k];
    }
}

/// Packs the sum of the biases of W and R. Where the reset gate of a GRU multiplies the
/// bias of R (linear_before_reset), that bias goes to `last_bias` instead.
static void pack_bias(const recurrent_plan *p, int64_t slice, const float *bias,
                      float *to) {
  int64_t hidden = p->layer.hidden, gates = p->layer.gates;
  for (int64_t g = 0; g < gates; g++)
    for (int64_t i = 0; i < p->units; i++) {
      int64_t unit = g * hidden + slice * p->units + i;
      float of_r = bias[gates * hidden + unit];
      bool waits = p->is_linear && g == 2;
      to[p->parts.bias + g * p->units + i] = bias[unit] + (waits ? 0 : of_r);
      if (waits) to[p->parts.last_bias + i] = of_r;
    }
}

// Packs the weights of a layer; addresses: packed, w, r; then the bias, if any.
static egraph_status pack_layer(const void *payload, void *const *addresses) {
  const recurrent_plan *p = payload;
  const float *w = addresses[1], *r = addresses[2];
  const float *bias = p->layer.bias != EG_ABSENT ? addresses[3] : NULL;
  float *to = addresses[0];
  int64_t hidden = p->layer.hidden, gates = p->layer.gates, first = first_gates(p);
  memset(to, 0, (size_t)(p->layer.directions * p->slices * p->parts.all) * sizeof *to);
  for (int64_t d = 0; d < p->layer.directions; d++) {
    for (int64_t s = 0; s < p->slices; s++, to += p->parts.all) {
      pack_gates(p, &p->w, s, 0, gates, w, to + p->parts.w);
      pack_gates(p, &p->r, s, 0, first, r, to + p->parts.r);
      if (has_last(p)) pack_gates(p, &p->last, s, 2, 1, r, to + p->parts.last);
      if (bias != NULL) pack_bias(p, s, bias, to);
    }
    w += gates * hidden * p->layer.inputs;
    r += gates * hidden * hidden;
    if (bias != NULL) bias += 2 * gates * hidden;
  }
  return EGRAPH_OK;
}

// ---- a block of steps ---------------------------------------------------------------

typedef struct recurrent_run {
  const recurrent_plan *plan;
  const float *x, *packed, *h, *c; // initial states h and c; NULL: zeros
  float *y, *last_h, *last_c;
  float *sums;          // [direction, row of the block, row]
  float *from_h;        // gru: [direction, sequence, hidden]
  const float *zeros;   // a state of zeros
  int64_t first, count; // first step of the block, and number of steps
  eg_parts parts;
  eg_gate phase;                    // number of phases that all slices have ended
  atomic_uint begun[EG_MAX_SHARES]; // number of phases that each slice has begun
  atomic_uint ended;                // number of slices that have ended the phase
} recurrent_run;

/// The sequences, or the slice of units, that a thread computes step by step.
typedef struct recurrent_part {
  int64_t direction, slice;
  int64_t begin, end; // sequences
} recurrent_part;

/// Where the rows of several sequences are: the first row, and the distance to the next.
typedef struct rows_at {
  int64_t begin, stride;
} rows_at;

static rows_at state_rows(const recurrent_plan *p, int64_t direction, int64_t sequence) {
  const eg_recurrent *l = &p->layer;
  if (l->is_batch_first)
    return (rows_at){(sequence * l->directions + direction) * l->hidden,
                     l->directions * l->hidden};
  return (rows_at){(direction * l->batch + sequence) * l->hidden, l->hidden};
}

static rows_at result_rows(const recurrent_plan *p, int64_t t, int64_t direction,
                           int64_t sequence) {
  const eg_recurrent *l = &p->layer;
  if (l->is_batch_first)
    return (rows_at){((sequence * l->steps + t) * l->directions + direction) * l->hidden,
                     l->steps * l->directions * l->hidden};
  return (rows_at){((t * l->directions + direction) * l->batch + sequence) * l->hidden,
                   l->hidden};
}

/// Returns the time index of step `step` in a direction.
static int64_t time_of(const recurrent_plan *p, int64_t direction, int64_t step) {
  return p->reverses || direction == 1 ? p->layer.steps - 1 - step : step;
}

/// Returns the lowest time index of the current block of steps.
static int64_t block_time(const recurrent_run *run, int64_t direction) {
  int64_t begin = time_of(run->plan, direction, run->first);
  return eg_lesser(begin, time_of(run->plan, direction, run->first + run->count - 1));
}

/// Returns the rows of gate sums at a time index; they are in the order of the rows of x.
static rows_at sum_rows(const recurrent_run *run, int64_t t, int64_t direction,
                        int64_t sequence) {
  const recurrent_plan *p = run->plan;
  const eg_recurrent *l = &p->layer;
  int64_t at = t - block_time(run, direction), row = at * l->batch + sequence;
  if (l->is_batch_first) row = sequence * run->count + at;
  return (rows_at){(direction * p->steps * l->batch + row) * p->row,
                   l->is_batch_first ? run->count * p->row : p->row};
}

/// Computes the products of x and W, for a group of panels of columns of a slice.
static void project(const recurrent_run *run, int64_t part) {
  const recurrent_plan *p = run->plan;
  const eg_recurrent *l = &p->layer;
  int64_t group = part % p->groups, slice = part / p->groups % p->slices;
  int64_t direction = part / p->groups / p->slices, t = block_time(run, direction);
  bool is_apart = l->is_batch_first && run->count != l->steps;
  int64_t rows = run->count * (is_apart ? 1 : l->batch);
  const float *packed = run->packed + (direction * p->slices + slice) * p->parts.all;
  for (int64_t b = 0; b < (is_apart ? l->batch : 1); b++) {
    int64_t row = l->is_batch_first ? b * l->steps + t : t * l->batch;
    eg_panel_operands operands = {.a = run->x + row * l->inputs,
                                  .packed = packed + p->parts.w,
                                  .bias = packed + p->parts.bias,
                                  .c = run->sums + sum_rows(run, t, direction, b).begin +
                                       slice * l->gates * p->units,
                                  .a_row = l->inputs,
                                  .c_row = p->row,
                                  .low = -INFINITY,
                                  .high = INFINITY};
    eg_panels_multiply(&p->w, &operands, 0, rows, p->w.count * group / p->groups,
                       p->w.count * (group + 1) / p->groups);
  }
}

static void run_projections(const void *user, int64_t begin, int64_t end) {
  for (int64_t part = begin; part < end; part++)
    project(user, part);
}

// ---- a step -------------------------------------------------------------------------

typedef struct recurrent_step {
  const recurrent_part *part;
  const float *packed, *h; // weights of the slice, and the previous state
  float *sums, *from_h;    // sums of the slice, and its part of from_h (eg_cell)
  float *whole_from_h;
  rows_at h_rows, sum_rows, y_rows;
} recurrent_step;

static recurrent_step step_at(const recurrent_run *run, const recurrent_part *part,
                              int64_t step) {
  const recurrent_plan *p = run->plan;
  int64_t d = part->direction, t = time_of(p, d, step), unit = part->slice * p->units;
  recurrent_step s = {.part = part,
                      .packed =
                          run->packed + (d * p->slices + part->slice) * p->parts.all,
                      .sum_rows = sum_rows(run, t, d, part->begin),
                      .y_rows = result_rows(p, t, d, part->begin)};
  if (step > 0) {
    s.h_rows = result_rows(p, time_of(p, d, step - 1), d, part->begin);
    s.h = run->y + s.h_rows.begin;
  } else if (run->h != NULL) {
    s.h_rows = state_rows(p, d, part->begin);
    s.h = run->h + s.h_rows.begin;
  } else {
    s.h = run->zeros;
  }
  s.sums = run->sums + s.sum_rows.begin + unit * p->layer.gates;
  s.whole_from_h = run->from_h;
  if (has_last(p)) s.whole_from_h += (d * p->layer.batch + part->begin) * p->layer.hidden;
  s.from_h = s.whole_from_h + (has_last(p) ? unit : 0);
  return s;
}

/// Adds R h (recurrent weights times state) to the sums of the gates.
static void add_recurrent_sums(const recurrent_plan *p, const recurrent_step *s) {
  eg_panel_operands operands = {.a = s->h,
                                .packed = s->packed + p->parts.r,
                                .z = s->sums,
                                .c = s->sums,
                                .a_row = s->h_rows.stride,
                                .c_row = s->sum_rows.stride,
                                .low = -INFINITY,
                                .high = INFINITY};
  eg_panels_multiply(&p->r, &operands, 0, s->part->end - s->part->begin, 0, p->r.count);
}

/// Computes the last gate of a GRU: R h alone, or R (reset h) added to the sums.
static void add_last(const recurrent_plan *p, const recurrent_step *s) {
  eg_panel_operands operands = {.a = s->h,
                                .packed = s->packed + p->parts.last,
                                .bias = s->packed + p->parts.last_bias,
                                .c = s->from_h,
                                .a_row = s->h_rows.stride,
                                .c_row = p->layer.hidden,
                                .low = -INFINITY,
                                .high = INFINITY};
  if (p->has_reset) {
    operands.a = s->whole_from_h;
    operands.a_row = p->layer.hidden;
    operands.bias = NULL;
    operands.z = operands.c = s->sums + 2 * p->units;
    operands.c_row = s->sum_rows.stride;
  }
  eg_panels_multiply(&p->last, &operands, 0, s->part->end - s->part->begin, 0,
                     p->last.count);
}

static void run_cells(const recurrent_run *run, const recurrent_step *s,
                      eg_cell_function function) {
  const recurrent_plan *p = run->plan;
  const recurrent_part *part = s->part;
  int64_t unit = part->slice * p->units;
  for (int64_t b = part->begin; b < part->end; b++) {
    int64_t row = b - part->begin;
    eg_cell cell = {.sums = s->sums + row * s->sum_rows.stride,
                    .h = s->h + row * s->h_rows.stride + unit,
                    .next = run->y + s->y_rows.begin + row * s->y_rows.stride + unit,
                    .units = p->units};
    if (has_last(p)) cell.from_h = s->from_h + row * p->layer.hidden;
    if (p->layer.is_lstm)
      cell.c = run->last_c + state_rows(p, part->direction, b).begin + unit;
    function(&cell);
  }
}

/// Returns the phases of a time step; slices of units wait between phases.
static uint32_t phases_of(const recurrent_plan *p) { return p->has_reset ? 2 : 1; }

static void run_phase(const recurrent_run *run, const recurrent_part *part, int64_t step,
                      uint32_t phase) {
  assert(phase < phases_of(run->plan));
  const recurrent_plan *p = run->plan;
  recurrent_step s = step_at(run, part, step);
  if (phase == 0) {
    add_recurrent_sums(p, &s);
    if (p->has_reset) {
      run_cells(run, &s, p->reset);
      return;
    }
  }
  if (has_last(p)) add_last(p, &s);
  run_cells(run, &s, p->cell);
}

// ---- the layer ----------------------------------------------------------------------

static recurrent_part part_at(const recurrent_plan *p, int64_t index) {
  int64_t chunk = index / p->slices % p->chunks, batch = p->layer.batch;
  return (recurrent_part){.direction = index / p->slices / p->chunks,
                          .slice = index % p->slices,
                          .begin = batch * chunk / p->chunks,
                          .end = batch * (chunk + 1) / p->chunks};
}

/// Runs chunks of sequences, which do not wait for each other, in any order.
static void run_apart(const void *user, int64_t begin, int64_t end) {
  const recurrent_run *run = user;
  for (int64_t index = begin; index < end; index++) {
    recurrent_part part = part_at(run->plan, index);
    for (int64_t i = 0; i < run->count; i++)
      for (uint32_t phase = 0; phase < phases_of(run->plan); phase++)
        run_phase(run, &part, run->first + i, phase);
  }
}

/// Runs slices of units phase by phase. A thread takes its own slice first, then slices
/// that no thread has begun, so no thread waits for a thread without a processor.
static void run_together(void *shared) {
  recurrent_run *run = shared;
  const recurrent_plan *p = run->plan;
  uint32_t slices = (uint32_t)(p->layer.directions * p->slices);
  uint32_t home = eg_parts_enter(&run->parts), of_step = phases_of(p);
  uint32_t phases = (uint32_t)run->count * of_step, phase = 0;
  while (phase < phases) {
    for (uint32_t i = 0; i < slices; i++) {
      uint32_t index = (home + i) % slices, begun = phase;
      if (!atomic_compare_exchange_strong(&run->begun[index], &begun, phase + 1))
        continue;
      recurrent_part part = part_at(p, index);
      run_phase(run, &part, run->first + phase / of_step, phase % of_step);
      if (atomic_fetch_add(&run->ended, 1) + 1 != slices) continue;
      atomic_store(&run->ended, 0);
      eg_gate_move(&run->phase, phase + 1, slices);
    }
    phase = eg_gate_wait(&run->phase, phase);
  }
}

static void run_slices(recurrent_run *run) {
  const recurrent_plan *p = run->plan;
  int64_t slices = p->layer.directions * p->slices;
  atomic_init(&run->phase.value, 0);
  atomic_init(&run->ended, 0);
  for (int64_t i = 0; i < slices; i++)
    atomic_init(&run->begun[i], 0);
  eg_parts_run(&run->parts, slices, run_together, run, p->threads);
}

static void run_block(recurrent_run *run) {
  const recurrent_plan *p = run->plan;
  int64_t slices = p->layer.directions * p->slices;
  eg_parts_each(slices * p->groups, 1, p->threads, run_projections, run);
  if (p->slices != 1)
    run_slices(run);
  else
    eg_parts_each(p->layer.directions * p->chunks, 1, p->threads, run_apart, run);
}

static void begin_states(const recurrent_run *run) {
  const eg_recurrent *l = &run->plan->layer;
  size_t bytes = (size_t)(l->directions * l->batch * l->hidden) * sizeof(float);
  if (!l->is_lstm) return;
  if (run->c != NULL)
    memcpy(run->last_c, run->c, bytes);
  else
    memset(run->last_c, 0, bytes);
}

static void end_states(const recurrent_run *run) {
  const recurrent_plan *p = run->plan;
  const eg_recurrent *l = &p->layer;
  for (int64_t d = 0; d < l->directions; d++)
    for (int64_t b = 0; b < l->batch; b++)
      memcpy(run->last_h + state_rows(p, d, b).begin,
             run->y + result_rows(p, time_of(p, d, l->steps - 1), d, b).begin,
             (size_t)l->hidden * sizeof(float));
}

// Addresses: y, last h, x, packed, sums, from_h; then, if present, last c and
// first states.
enum { ADDRESSES = 6, MOST_ADDRESSES = 9 };

static egraph_status run_layer(const void *payload, void *const *addresses) {
  const recurrent_plan *p = payload;
  const eg_recurrent *l = &p->layer;
  void *const *next = addresses + ADDRESSES;
  recurrent_run run = {.plan = p,
                       .y = addresses[0],
                       .last_h = addresses[1],
                       .x = addresses[2],
                       .packed = addresses[3],
                       .sums = addresses[4],
                       .from_h = addresses[5]};
  if (l->is_lstm) run.last_c = *next++;
  if (l->h != EG_ABSENT) run.h = *next++;
  if (l->c != EG_ABSENT) run.c = *next++;
  if (l->h == EG_ABSENT) {
    float *zeros = run.last_h; // overwritten at the end
    memset(zeros, 0, (size_t)l->hidden * sizeof *zeros);
    run.zeros = zeros;
  }
  begin_states(&run);
  for (; run.first < l->steps; run.first += p->steps) {
    run.count = eg_lesser(p->steps, l->steps - run.first);
    run_block(&run);
  }
  end_states(&run);
  return EGRAPH_OK;
}

static egraph_status add_pack(eg_cpu_builder *builder, const recurrent_plan *p,
                              eg_place *out) {
  const eg_recurrent *l = &p->layer;
  int64_t elements = l->directions * p->slices * p->parts.all;
  eg_place places[4] = {{0}, eg_place_operand(OPERAND_W), eg_place_operand(OPERAND_R)};
  uint32_t count = 3;
  EG_TRY(eg_cpu_constant(builder, (size_t)elements * sizeof(float), &places[0]));
  *out = places[0];
  if (l->bias != EG_ABSENT) places[count++] = eg_place_operand((uint32_t)l->bias);
  return eg_cpu_add_function(builder, &builder->prepare, pack_layer, p, places, count);
}

egraph_status eg_cpu_recurrent(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  eg_recurrent layer = eg_recurrent_of(spec->attrs, &spec->inputs[OPERAND_X],
                                       &spec->inputs[OPERAND_W], spec->input_count);
  if (!has_kernel(spec, &layer))
    return eg_cpu_refuse(builder, "no kernel for this layer");
  recurrent_plan *p;
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof *p, &p));
  *p = plan_layer(spec->attrs, &layer);
  size_t state = (size_t)(layer.directions * layer.batch * layer.hidden) * sizeof(float);
  size_t sums = (size_t)(layer.directions * p->steps * layer.batch * p->row);
  eg_place packed;
  EG_TRY(add_pack(builder, p, &packed));
  eg_place places[MOST_ADDRESSES] = {eg_place_result(0),
                                     eg_place_result(1),
                                     eg_cpu_read(builder, OPERAND_X),
                                     packed,
                                     eg_cpu_scratch(builder, sums * sizeof(float)),
                                     eg_cpu_scratch(builder, has_last(p) ? state : 0)};
  uint32_t count = ADDRESSES;
  if (layer.is_lstm) places[count++] = eg_place_result(2);
  if (layer.h != EG_ABSENT) places[count++] = eg_cpu_read(builder, (uint32_t)layer.h);
  if (layer.c != EG_ABSENT) places[count++] = eg_cpu_read(builder, (uint32_t)layer.c);
  builder->kernel = "recurrent on panels";
  return eg_cpu_add_function(builder, &builder->run, run_layer, p, places, count);
}
