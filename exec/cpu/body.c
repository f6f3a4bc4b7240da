// Runs fused nodes (ops/body.h) row by row. A row is a run of elements along which every
// operand either lies without gaps or repeats one element; if the body mixes elements of
// some dimensions, a row is all of them. A step of the body is a loop over a row, or over
// a block of it, which stays in the cache until the next step reads it.
//
//   (mul a (sub b (reduce-sum :axes [1] :keepdims 1 (mul a b))))     a row of [128,512]
//   block 0 = a b   512 elements        one 0 = sum of block 0
//   block 0 = b - one 0                 result = a block 0
//
// SPDX-License-Identifier: Apache-2.0
#include "ops/body.h"

#include <assert.h>

#include "exec/cpu/families.h"
#include "exec/cpu/kernel_threads.h"
#include "exec/cpu/pointwise.h"

enum {
  BLOCK = 1024,      // elements of a block where no elements are mixed
  PART = 8192,       // elements that a thread takes at once, at least
  LONGEST = 1 << 16, // most elements of a row whose elements are mixed
  TENSORS = 2 + EG_BODY_OPERANDS,
  VALUES = EG_BODY_OPERANDS + EG_BODY_STEPS
};
enum { SPACE, RESULT, OPERANDS }; // tensors of the loop nest
_Static_assert((int)TENSORS <= (int)EG_MAX_LOOP_TENSORS, "all operands have strides");

/// A value of the body, for one row.
typedef struct row_value {
  bool is_one;   // one element for the whole row
  uint8_t block; // of a step's elements, if it is not the result: number of its memory
  float number;  // of a step without operands
} row_value;

typedef struct body_step {
  eg_op op;
  uint8_t count;
  uint8_t operands[EG_BODY_STEP_OPERANDS];
  uint8_t place;             // of two operands: which is x of `row`
  eg_row row;                // of one or two operands
  eg_choose_function choose; // of three operands
} body_step;

typedef struct body_loops {
  body_step steps[EG_BODY_STEPS];
  row_value values[VALUES];
  uint32_t operand_count, count, blocks;
  eg_loop_nest nest;
  uint32_t outer;      // the loops of a row are those from here on
  int64_t inner, rows; // elements of a row; number of rows
  int64_t block;       // elements that all steps run on before the next ones
  uint32_t threads;
} body_loops;

// ---- rows -----------------------------------------------------------------------------

/// True when a tensor lies without gaps in the loops from number `outer` on, or repeats
/// one element there.
static bool is_regular(const eg_loop_nest *nest, uint32_t tensor, uint32_t outer,
                       bool *out_is_one) {
  bool is_dense = true, is_one = true;
  for (uint32_t d = outer; d < nest->rank; d++) {
    if (nest->dims[d] == 1) continue;
    is_dense = is_dense && nest->strides[tensor][d] == nest->strides[SPACE][d];
    is_one = is_one && nest->strides[tensor][d] == 0;
  }
  *out_is_one = is_one;
  return is_dense || is_one;
}

static bool set_row(body_loops *l, uint32_t outer) {
  for (uint32_t t = RESULT; t < OPERANDS + l->operand_count; t++) {
    bool is_one;
    if (!is_regular(&l->nest, t, outer, &is_one)) return false;
    if (t >= OPERANDS) l->values[t - OPERANDS].is_one = is_one;
  }
  l->outer = outer;
  l->inner = l->rows = 1;
  for (uint32_t d = 0; d < l->nest.rank; d++)
    *(d < outer ? &l->rows : &l->inner) *= l->nest.dims[d];
  return true;
}

/// Finds the rows of a body that mixes elements: all coupled dimensions, which must be
/// the last ones.
static bool find_mixed_rows(body_loops *l, const eg_body *body) {
  uint32_t first = 0;
  while ((body->coupled >> first & 1) == 0)
    first++;
  for (uint32_t d = first; d < body->space.rank; d++)
    if ((body->coupled >> d & 1) == 0 && body->space.dims[d] != 1) return false;
  if (!set_row(l, first)) return false;
  l->block = l->inner;
  return l->inner <= LONGEST;
}

static bool find_rows(body_loops *l, const eg_node_spec *spec, const eg_body *body) {
  eg_type space = body->space;
  space.layout = spec->results[0].layout;
  eg_loop_nest_init(&l->nest, &space);
  if (!eg_loop_nest_add(&l->nest, &space, RESULT, &spec->results[0])) return false;
  for (uint32_t i = 0; i < spec->input_count; i++)
    if (!eg_loop_nest_add(&l->nest, &space, OPERANDS + i, &spec->inputs[i])) return false;
  if (body->coupled != 0)
    return space.layout.format == EG_FORMAT_PLAIN && find_mixed_rows(l, body);
  eg_loop_nest_merge(&l->nest, OPERANDS + spec->input_count);
  uint32_t outer = 0;
  while (!set_row(l, outer))
    outer++;
  l->block = l->inner < BLOCK ? l->inner : BLOCK;
  return true;
}

// ---- steps ----------------------------------------------------------------------------

static bool is_float(const eg_type *type) { return type->dtype == EGRAPH_FLOAT32; }

/// Finds the loop of a step. False when there is none, or the values are not float32; the
/// results of comparisons are kept as 0 and 1 in float32.
static bool find_loop(const body_loops *l, const eg_body_step *from, bool is_one_value,
                      body_step *step) {
  const row_value *x = &l->values[step->operands[0]];
  bool x_is_one = step->count > 0 && x->is_one;
  if (!is_float(&from->type) && from->type.dtype != EGRAPH_BOOL) return false;
  if (step->count == 1 && step->op == EG_OP_CAST) {
    if (!is_float(&from->type)) return false;
    step->row.function = eg_row_function_of(EG_OP_IDENTITY);
  } else if (step->count == 1 && step->op == EG_OP_SOFTMAX) {
    step->row = eg_softmax_row_of(l->inner);
  } else if (step->count == 1) {
    step->row = eg_reduction_row_of(step->op, l->inner);
    if (step->row.function == NULL) step->row = eg_row_of(&from->attrs);
  } else if (step->count == 2) {
    bool second_is_one = l->values[step->operands[1]].is_one;
    step->place = x_is_one && !second_is_one;
    bool is_one = step->place == 1 ? x_is_one : second_is_one;
    step->row.function = step->op != EG_OP_POW
                             ? eg_binary_row_of(step->op, step->place, is_one)
                         : step->place == 0 ? eg_pow_row_of(is_one)
                                            : NULL;
  } else if (step->op == EG_OP_WHERE && (!x_is_one || is_one_value)) {
    step->choose = eg_choose_row_of(l->values[step->operands[1]].is_one,
                                    l->values[step->operands[2]].is_one);
    return true;
  }
  return step->row.function != NULL;
}

static bool reduces(eg_op op) { return eg_reduction_row_of(op, 1).function != NULL; }

/// True when a step that mixes these dimensions mixes the whole row.
static bool mixes_row(const body_loops *l, uint32_t mixed) {
  for (uint32_t d = l->outer; d < l->nest.rank; d++)
    if ((mixed >> d & 1) == 0 && l->nest.dims[d] != 1) return false;
  return true;
}

static bool set_step(body_loops *l, const eg_body_step *from, uint32_t index) {
  body_step *step = &l->steps[index];
  row_value *value = &l->values[l->operand_count + index];
  *step = (body_step){.op = (eg_op)from->attrs.op, .count = (uint8_t)from->count};
  value->is_one = true;
  for (uint32_t k = 0; k < from->count; k++) {
    step->operands[k] = from->operands[k];
    value->is_one = value->is_one && l->values[from->operands[k]].is_one;
  }
  if (from->count == 0) {
    value->number = (float)eg_attr_at(&from->attrs, EG_A_FILL_VALUE)->f;
    return is_float(&from->type);
  }
  // One element for the whole row would have to be counted once for each.
  if (from->mixed != 0 && (value->is_one || !mixes_row(l, from->mixed))) return false;
  value->is_one = value->is_one || reduces(step->op);
  return find_loop(l, from, value->is_one, step);
}

/// Gives each step the memory of a value that no later step reads, or new memory.
static void set_blocks(body_loops *l) {
  uint32_t last[VALUES] = {0};
  bool is_used[VALUES] = {false};
  for (uint32_t s = 0; s < l->count; s++)
    for (uint32_t k = 0; k < l->steps[s].count; k++)
      last[l->steps[s].operands[k]] = s;
  for (uint32_t s = 0; s + 1 < l->count; s++) {
    row_value *value = &l->values[l->operand_count + s];
    if (value->is_one) continue;
    for (uint32_t v = 0; v < s; v++) {
      const row_value *old = &l->values[l->operand_count + v];
      if (!old->is_one && last[l->operand_count + v] == s) is_used[old->block] = false;
    }
    while (is_used[value->block])
      value->block++;
    is_used[value->block] = true;
    if (l->blocks <= value->block) l->blocks = value->block + UINT32_C(1);
  }
}

static bool make_loops(const eg_node_spec *spec, const eg_body *body, body_loops *out) {
  *out = (body_loops){.operand_count = spec->input_count, .count = body->count};
  for (uint32_t i = 0; i < spec->input_count; i++)
    if (!is_float(&spec->inputs[i])) return false;
  if (!is_float(&spec->results[0]) || !find_rows(out, spec, body)) return false;
  for (uint32_t s = 0; s < body->count; s++)
    if (!set_step(out, &body->steps[s], s)) return false;
  set_blocks(out);
  return true;
}

// ---- the pass -------------------------------------------------------------------------

typedef struct body_run {
  const body_loops *loops;
  void *const *addresses;  // of the result, then of the operands
  int64_t units, per_unit; // units of work; rows of a unit, or blocks of one row
} body_run;

/// Where a thread reads and writes for the row that it works on.
typedef struct row_place {
  float *result;
  const float *operands[EG_BODY_OPERANDS];
  float ones[VALUES];
  float *scratch;
} row_place;

static void enter_row(const body_run *run, int64_t index, row_place *at) {
  const body_loops *l = run->loops;
  int64_t places[TENSORS] = {0};
  for (uint32_t d = l->outer; d-- > 0;) {
    int64_t i = index % l->nest.dims[d];
    index /= l->nest.dims[d];
    for (uint32_t t = RESULT; t < OPERANDS + l->operand_count; t++)
      places[t] += i * l->nest.strides[t][d];
  }
  at->result = (float *)run->addresses[0] + places[RESULT];
  for (uint32_t i = 0; i < l->operand_count; i++)
    at->operands[i] = (const float *)run->addresses[1 + i] + places[OPERANDS + i];
}

/// Returns the elements of a value for the block that begins at element `from` of the
/// row.
static const float *read_value(const body_loops *l, const row_place *at, uint32_t value,
                               int64_t from) {
  const row_value *v = &l->values[value];
  if (value < l->operand_count) return at->operands[value] + (v->is_one ? 0 : from);
  return v->is_one ? &at->ones[value] : at->scratch + v->block * l->block;
}

static void run_step(const body_loops *l, row_place *at, uint32_t index, int64_t from,
                     int64_t count) {
  const body_step *step = &l->steps[index];
  uint32_t value = l->operand_count + index;
  const float *operands[EG_BODY_STEP_OPERANDS];
  bool is_one = l->values[value].is_one, is_last = index + 1 == l->count;
  for (uint32_t k = 0; k < step->count; k++)
    operands[k] = read_value(l, at, step->operands[k], from);
  float *to = is_one    ? &at->ones[value]
              : is_last ? at->result + from
                        : at->scratch + l->values[value].block * l->block;
  if (is_one && !reduces(step->op)) count = 1;
  if (step->count == 0)
    *to = l->values[value].number;
  else if (step->count == 3)
    step->choose(operands[0], operands[1], operands[2], to, count);
  else
    step->row.function(
        operands[step->place],
        step->count == 1 ? step->row.parameters : operands[1 - step->place], to, count);
}

static void run_row(const body_loops *l, row_place *at, int64_t begin, int64_t end) {
  bool is_one = l->values[l->operand_count + l->count - 1].is_one;
  for (int64_t from = begin; from < end; from += l->block) {
    int64_t count = end - from < l->block ? end - from : l->block;
    for (uint32_t s = 0; s < l->count; s++)
      run_step(l, at, s, from, count);
  }
  if (is_one) *at->result = at->ones[l->operand_count + l->count - 1];
}

/// Runs a unit: several rows, or a part of one row.
static void run_unit(const void *user, int64_t unit, float *scratch) {
  const body_run *run = user;
  const body_loops *l = run->loops;
  row_place at = {.scratch = scratch};
  int64_t blocks = (l->inner + l->block - 1) / l->block;
  int64_t end = (unit + 1) * run->per_unit;
  if (end > l->rows * blocks) end = l->rows * blocks;
  for (int64_t b = unit * run->per_unit, until; b < end; b = until) {
    int64_t row = b / blocks, first = b % blocks;
    until = (row + 1) * blocks < end ? (row + 1) * blocks : end;
    int64_t stop = (first + until - b) * l->block;
    enter_row(run, row, &at);
    run_row(l, &at, first * l->block, stop < l->inner ? stop : l->inner);
  }
}

// Addresses: the result, the operands, the scratch memory.
static egraph_status run_body(const void *payload, void *const *addresses) {
  const body_loops *l = payload;
  int64_t blocks = (l->inner + l->block - 1) / l->block * l->rows;
  int64_t most = l->block < PART ? PART / l->block : 1;
  body_run run = {.loops = l, .addresses = addresses};
  run.per_unit = eg_parts_size(blocks, most, l->threads);
  run.units = (blocks + run.per_unit - 1) / run.per_unit;
  eg_parts_with_scratch(run.units, l->threads, addresses[1 + l->operand_count],
                        l->blocks * l->block, run_unit, &run);
  return EGRAPH_OK;
}

egraph_status eg_cpu_body(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  eg_body body;
  body_loops *l;
  eg_place places[2 + EG_BODY_OPERANDS] = {eg_place_result(0)};
  EG_TRY(eg_body_read(&body, spec->attrs, spec->inputs, spec->input_count));
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof *l, &l));
  if (!make_loops(spec, &body, l))
    return eg_cpu_refuse(builder, "no loops for this body");
  l->threads = eg_omp_threads();
  for (uint32_t i = 0; i < spec->input_count; i++) {
    places[1 + i] = eg_cpu_read(builder, i);
    if (!l->values[i].is_one && eg_cpu_may_overlay(builder, i) &&
        eg_type_same(&spec->inputs[i], &spec->results[0]))
      builder->overlay = (int32_t)i;
  }
  uint32_t threads = l->threads < EG_MAX_SHARES ? l->threads : EG_MAX_SHARES;
  size_t floats = (size_t)l->blocks * (size_t)l->block * (threads != 0 ? threads : 1);
  places[1 + spec->input_count] = eg_cpu_scratch(builder, floats * sizeof(float));
  builder->kernel = "vector loops";
  return eg_cpu_add_function(builder, &builder->run, run_body, l, places,
                             2 + spec->input_count);
}
