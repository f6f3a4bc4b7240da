// A stage reads its operand according to the operand's strides along the inner loop:
//
//   nchw [1,64,56,56] + [64,1,1]   64 x 3136          one element for the inner loop
//   nhwc [1,56,56,64] + [64]       200704             a row of 64, repeated
//   nChw16c           + [64,1,1]   4 x (3136 x 16)    a row of 16, repeated
//
// A repeated row is copied until it fills a block, and then read like a tensor.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/chain.h"

#include <assert.h>
#include <math.h>

#include "exec/cpu/kernel_threads.h"
#include "exec/cpu/loop_nest.h"
#include "exec/cpu/pointwise.h"

enum {
  BLOCK = 1024,  // elements of a block: 4 kB for each tensor of a stage
  PART = 8192,   // most elements that a thread takes at once
  SHORTEST = 16, // least elements of an inner loop that is worth a call
  MAX_STAGES = 12,
  MAX_OPERANDS = 6
};
static const uint32_t NO_OPERAND = UINT32_MAX;

typedef enum operand_kind { OPERAND_EACH, OPERAND_ONE, OPERAND_REPEATED } operand_kind;

// Batch normalization uses its statistics as two operands s and t: y = x s + t.
typedef enum operand_source { SOURCE_TENSOR, SOURCE_SCALE, SOURCE_SHIFT } operand_source;

typedef struct chain_operand {
  operand_kind kind;
  operand_source source;
  uint32_t index; // the program's operand; for a batch normalization, its x
  eg_type type;
} chain_operand;

typedef struct chain_stage {
  eg_row row;
  eg_op op;         // selects the loop of two operands, when their kind is known
  uint32_t place;   // which operand of `op` is the value that the chain passes on
  uint32_t operand; // index in the chain's operands; NO_OPERAND: `row` has the parameters
} chain_stage;

// A chain of pointwise operators. Tensor 0 of the loop nest is the result, tensor 1 the
// operand that enters the chain (of the same type), then the other operands. Loops from
// number `outer` on are the inner loop.
typedef struct chain {
  chain_stage stages[MAX_STAGES];
  uint32_t stage_count;
  chain_operand operands[MAX_OPERANDS];
  uint32_t operand_count;
  uint32_t head;  // index of the program's operand that enters the chain
  uint32_t given; // number of the program's operands that belong to the nodes so far
  eg_type type;
  eg_loop_nest nest;
  uint32_t outer;
  int64_t inner, rows; // elements of the inner loop; how often the loop runs
  int64_t period;      // elements of a row that a softmax normalizes; 1: there is none
  int64_t block;       // at most BLOCK; `period` and lengths of repeated rows divide it
  double epsilons[MAX_OPERANDS];
  uint32_t threads;
} chain;

// ---- the parts of the chain ---------------------------------------------------------

static bool is_like(const eg_type *type, const chain *c) {
  return type->dtype == EGRAPH_FLOAT32 && eg_type_same(type, &c->type);
}

static bool add_operand(chain *c, operand_source source, uint32_t index,
                        const eg_type *type) {
  if (c->operand_count == MAX_OPERANDS || type->dtype != EGRAPH_FLOAT32) return false;
  c->operands[c->operand_count++] =
      (chain_operand){.source = source, .index = index, .type = *type};
  return true;
}

static bool add_chain_stage(chain *c, chain_stage stage) {
  if (c->stage_count == MAX_STAGES) return false;
  c->stages[c->stage_count++] = stage;
  return true;
}

static bool add_unary(chain *c, const eg_node_spec *spec) {
  bool is_approximate = spec->attrs->op == EG_OP_GELU &&
                        eg_attr_at(spec->attrs, EG_A_GELU_APPROXIMATE)->i != 0;
  eg_row row = eg_row_of(spec->attrs);
  if (row.function == NULL || is_approximate ||
      (eg_type_has_padding(&c->type) && !eg_row_keeps_zero(&row)))
    return false;
  return add_chain_stage(c, (chain_stage){.row = row, .operand = NO_OPERAND});
}

/// Adds an operator of two operands to the chain. The channels that pad a blocked format
/// must stay zero, so the other operand must have them, and div is refused.
static bool add_binary(chain *c, const eg_node_spec *spec, uint32_t place,
                       uint32_t first) {
  const eg_type *other = &spec->inputs[1 - place];
  eg_op op = (eg_op)spec->attrs->op;
  if (eg_type_has_padding(&c->type) && (op == EG_OP_DIV || !is_like(other, c)))
    return false;
  uint32_t operand = c->operand_count;
  return add_operand(c, SOURCE_TENSOR, first, other) &&
         add_chain_stage(c, (chain_stage){.op = op, .place = place, .operand = operand});
}

static bool has_constant_statistics(const eg_node_spec *spec, int64_t channels) {
  for (uint32_t i = 1; i < spec->input_count; i++)
    if (!eg_spec_is_weight(spec, i) || spec->inputs[i].dtype != EGRAPH_FLOAT32 ||
        eg_type_elements(&spec->inputs[i]) != channels)
      return false;
  return true;
}

static bool add_batch_norm(chain *c, const eg_node_spec *spec, uint32_t index) {
  if (c->type.rank < 2 || eg_type_has_padding(&c->type)) return false;
  int64_t dims[EGRAPH_MAX_RANK] = {c->type.dims[1], 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  eg_type row = eg_type_of(EGRAPH_FLOAT32, c->type.rank - 1, dims);
  uint32_t operand = c->operand_count;
  if (!has_constant_statistics(spec, dims[0]) ||
      !add_operand(c, SOURCE_SCALE, index, &row) ||
      !add_operand(c, SOURCE_SHIFT, index, &row))
    return false;
  c->epsilons[operand] = eg_attr_at(spec->attrs, EG_A_BATCH_NORM_EPSILON)->f;
  return add_chain_stage(c, (chain_stage){.op = EG_OP_MUL, .operand = operand}) &&
         add_chain_stage(c, (chain_stage){.op = EG_OP_ADD, .operand = operand + 1});
}

/// Adds to the chain a softmax of rows (last dimension), which must fit a block.
static bool add_softmax(chain *c, const eg_node_spec *spec) {
  uint32_t axis = eg_axis_of(&c->type, eg_attr_at(spec->attrs, EG_A_SOFTMAX_AXIS)->i);
  if (c->type.layout.format != EG_FORMAT_PLAIN || axis + 1 != c->type.rank ||
      c->type.dims[axis] > BLOCK)
    return false;
  c->period = c->type.dims[axis];
  return add_chain_stage(
      c, (chain_stage){.row = eg_softmax_row_of(c->period), .operand = NO_OPERAND});
}

/// Adds a node to the chain. `place`: the number of the operand whose value comes from
/// the node before; `is_head`: it is the first node.
static bool add_chain_node(chain *c, const eg_node_spec *spec, uint32_t place,
                           bool is_head) {
  eg_op op = (eg_op)spec->attrs->op;
  uint32_t first = c->given; // first of this node's other operands
  bool is_binary = eg_binary_row_of(op, 0, false) != NULL;
  if (spec->result_count != 1 || !is_like(&spec->results[0], c) ||
      place >= spec->input_count || !is_like(&spec->inputs[place], c))
    return false;
  if (is_head) c->head = place;
  c->given += spec->input_count - !is_head;
  if (is_binary) return add_binary(c, spec, place, is_head ? first + 1 - place : first);
  if (place != 0) return false;
  if (op == EG_OP_BATCH_NORM) return add_batch_norm(c, spec, is_head ? first + 1 : first);
  if (op == EG_OP_SOFTMAX) return add_softmax(c, spec);
  return spec->input_count == 1 && add_unary(c, spec);
}

// ---- loops --------------------------------------------------------------------------

/// Finds how an operand varies along the inner loop (the loops from number `outer` on):
/// like the result, as one element, or as a repeated row; false: in another way.
static bool find_kind(const eg_loop_nest *nest, uint32_t tensor, uint32_t outer,
                      operand_kind *out, int64_t *out_period) {
  const int64_t *dense = nest->strides[0], *strides = nest->strides[tensor];
  uint32_t begin = nest->rank; // the first loop along which the operand is dense
  *out_period = 1;
  while (begin > outer && strides[begin - 1] == dense[begin - 1])
    *out_period *= nest->dims[--begin];
  for (uint32_t d = outer; d < begin; d++)
    if (strides[d] != 0) return false;
  *out = begin == outer        ? OPERAND_EACH
         : begin == nest->rank ? OPERAND_ONE
                               : OPERAND_REPEATED;
  return *out != OPERAND_REPEATED || *out_period <= BLOCK;
}

/// Finds for all operands of the chain how they vary along the inner loop, which consists
/// of the loops from number `outer` on. Each length of a repeated row must divide the
/// next longer one, so that blocks of elements fit all.
static bool set_kinds(chain *c, uint32_t outer) {
  assert(outer <= c->nest.rank);
  int64_t period, common = c->period, inner = 1;
  for (uint32_t d = outer; d < c->nest.rank; d++)
    inner *= c->nest.dims[d];
  if (inner % c->period != 0) return false;
  for (uint32_t i = 0; i < c->operand_count; i++) {
    operand_kind *kind = &c->operands[i].kind;
    if (!find_kind(&c->nest, i + 2, outer, kind, &period)) return false;
    if (*kind != OPERAND_REPEATED) continue;
    if (common % period != 0 && period % common != 0) return false;
    if (common < period) common = period;
  }
  c->outer = outer;
  c->block = BLOCK / common * common;
  return true;
}

static bool find_loops(chain *c) {
  eg_loop_nest_init(&c->nest, &c->type);
  memcpy(c->nest.strides[1], c->nest.strides[0], sizeof c->nest.strides[0]);
  for (uint32_t i = 0; i < c->operand_count; i++)
    if (!eg_loop_nest_add(&c->nest, &c->type, i + 2, &c->operands[i].type)) return false;
  eg_loop_nest_merge(&c->nest, c->operand_count + 2);
  uint32_t outer = 0;
  while (outer < c->nest.rank && !set_kinds(c, outer))
    outer++;
  if (outer == c->nest.rank) return false;
  c->inner = c->rows = 1;
  for (uint32_t d = 0; d < c->nest.rank; d++)
    *(d < outer ? &c->rows : &c->inner) *= c->nest.dims[d];
  return true;
}

static void pick_loops(chain *c) {
  for (uint32_t i = 0; i < c->stage_count; i++) {
    chain_stage *stage = &c->stages[i];
    if (stage->operand == NO_OPERAND) continue;
    bool is_one = c->operands[stage->operand].kind == OPERAND_ONE;
    stage->row.function = eg_binary_row_of(stage->op, stage->place, is_one);
  }
}

static bool make_chain(const eg_compile_request *request, chain *out) {
  const eg_node_spec *spec = request->spec;
  if (spec->result_count != 1 || spec->input_count == 0) return false;
  *out = (chain){.type = spec->results[0], .period = 1};
  // Checks that the operand that enters the chain has the type of the result.
  uint32_t head = spec->input_count == 2 && !is_like(&spec->inputs[0], out);
  if (eg_type_elements(&out->type) == 0 || !add_chain_node(out, spec, head, true))
    return false;
  for (uint32_t i = 0; i < request->link_count; i++)
    if (!add_chain_node(out, request->links[i].spec, request->links[i].operand, false))
      return false;
  if (!find_loops(out) || (out->inner < SHORTEST && out->rows != 1)) return false;
  pick_loops(out);
  return true;
}

bool eg_cpu_chain_fits(const eg_compile_request *request) {
  chain c;
  return make_chain(request, &c);
}

// ---- the pass -----------------------------------------------------------------------

typedef struct chain_run {
  const chain *chain;
  void *const *addresses; // of the result, the entering operand, other operands
  eg_parts parts;         // parts of `step` blocks
  int64_t blocks, step;
} chain_run;

// The data of a thread for its current row (run of the inner loop).
typedef struct chain_row {
  int64_t index;
  const float *operands[MAX_OPERANDS]; // elements that belong to the row's first element
  const float *written[MAX_OPERANDS];  // row that `blocks` repeats; NULL: none
  float blocks[MAX_OPERANDS][BLOCK];
  float between[BLOCK]; // values that a stage passes to the next
} chain_row;

static int64_t period_of(const chain *c, uint32_t operand) {
  const eg_loop_nest *nest = &c->nest;
  int64_t period = 1;
  for (uint32_t d = nest->rank;
       d-- > 0 && nest->strides[operand + 2][d] == nest->strides[0][d];)
    period *= nest->dims[d];
  return period;
}

/// Finds the elements of each operand for row number `index` of the inner loop.
static void enter_row(const chain_run *run, int64_t index, chain_row *row) {
  const chain *c = run->chain;
  int64_t places[EG_MAX_LOOPS], rest = index;
  for (uint32_t d = c->outer; d-- > 0;) {
    places[d] = rest % c->nest.dims[d];
    rest /= c->nest.dims[d];
  }
  row->index = index;
  for (uint32_t i = 0; i < c->operand_count; i++) {
    const float *from = run->addresses[i + 2];
    for (uint32_t d = 0; d < c->outer; d++)
      from += places[d] * c->nest.strides[i + 2][d];
    row->operands[i] = from;
    if (c->operands[i].kind != OPERAND_REPEATED || row->written[i] == from) continue;
    int64_t period = period_of(c, i);
    for (int64_t at = 0; at < c->block; at += period)
      memcpy(row->blocks[i] + at, from, (size_t)period * sizeof *from);
    row->written[i] = from;
  }
}

static const float *operand_at(const chain *c, const chain_row *row, uint32_t operand,
                               int64_t at) {
  switch (c->operands[operand].kind) {
  case OPERAND_EACH: return row->operands[operand] + at;
  case OPERAND_REPEATED: return row->blocks[operand];
  case OPERAND_ONE: break;
  }
  return row->operands[operand];
}

/// Runs all stages on one block, which begins at element `at` of the row. Only the last
/// stage writes the result, which may lie over any tensor that the stages read.
static void run_block(const chain *c, chain_row *row, int64_t at, int64_t count,
                      const float *x, float *y) {
  assert(count > 0 && count <= c->block);
  for (uint32_t i = 0; i < c->stage_count; i++) {
    const chain_stage *stage = &c->stages[i];
    const float *operand = stage->operand == NO_OPERAND
                               ? stage->row.parameters
                               : operand_at(c, row, stage->operand, at);
    float *to = i + 1 == c->stage_count ? y : row->between;
    stage->row.function(x, operand, to, count);
    x = to;
  }
}

/// Runs the chain on blocks of elements number [begin, end), counted over all rows.
static void run_blocks(const chain_run *run, int64_t begin, int64_t end, chain_row *row) {
  const chain *c = run->chain;
  const float *x = run->addresses[1];
  float *y = run->addresses[0];
  int64_t per_row = (c->inner + c->block - 1) / c->block;
  for (int64_t b = begin; b < end; b++) {
    int64_t index = b / per_row, at = (b - index * per_row) * c->block;
    int64_t left = c->inner - at, place = index * c->inner + at;
    if (row->index != index) enter_row(run, index, row);
    run_block(c, row, at, left < c->block ? left : c->block, x + place, y + place);
  }
}

static void run_chain_parts(void *shared) {
  chain_run *run = shared;
  uint32_t share = eg_parts_enter(&run->parts);
  int64_t part;
  chain_row row;
  row.index = -1;
  memset(row.written, 0, sizeof row.written);
  while (eg_parts_take(&run->parts, &share, &part)) {
    int64_t begin = part * run->step, left = run->blocks - begin;
    run_blocks(run, begin, begin + (left < run->step ? left : run->step), &row);
  }
}

static egraph_status run_chain(const void *payload, void *const *addresses) {
  assert(((const chain *)payload)->block > 0 &&
         ((const chain *)payload)->stage_count != 0);
  const chain *c = payload;
  int64_t per_row = (c->inner + c->block - 1) / c->block;
  int64_t length = c->inner < c->block ? c->inner : c->block;
  chain_run run = {.chain = c,
                   .addresses = addresses,
                   .blocks = per_row * c->rows,
                   .step = eg_parts_size(per_row * c->rows,
                                         length < PART ? PART / length : 1, c->threads)};
  eg_parts_run(&run.parts, (run.blocks + run.step - 1) / run.step, run_chain_parts, &run,
               c->threads);
  return EGRAPH_OK;
}

// ---- batch normalization ------------------------------------------------------------

typedef struct fold_payload {
  int64_t channels;
  double epsilon;
} fold_payload;

// Computes scale s and shift t of a batch normalization, x s + t; addresses: s, t, scale,
// shift, mean, variance.
static egraph_status fold_statistics(const void *payload, void *const *addresses) {
  const fold_payload *fold = payload;
  float *s = addresses[0], *t = addresses[1];
  const float *scale = addresses[2], *shift = addresses[3], *mean = addresses[4],
              *variance = addresses[5];
  for (int64_t i = 0; i < fold->channels; i++) {
    double factor = (double)scale[i] / sqrt((double)variance[i] + fold->epsilon);
    s[i] = (float)factor;
    t[i] = (float)((double)shift[i] - (double)mean[i] * factor);
  }
  return EGRAPH_OK;
}

static egraph_status add_statistics(eg_cpu_builder *builder, const chain *c,
                                    uint32_t operand, eg_place *out_s, eg_place *out_t) {
  fold_payload *payload;
  size_t bytes = (size_t)c->type.dims[1] * sizeof(float);
  EG_TRY(eg_cpu_constant(builder, bytes, out_s));
  EG_TRY(eg_cpu_constant(builder, bytes, out_t));
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof *payload, &payload));
  *payload = (fold_payload){.channels = c->type.dims[1], .epsilon = c->epsilons[operand]};
  uint32_t scale = c->operands[operand].index;
  eg_place places[] = {*out_s,
                       *out_t,
                       eg_place_operand(scale),
                       eg_place_operand(scale + 1),
                       eg_place_operand(scale + 2),
                       eg_place_operand(scale + 3)};
  return eg_cpu_add_function(builder, &builder->prepare, fold_statistics, payload, places,
                             6);
}

// ---- programs -----------------------------------------------------------------------

egraph_status eg_cpu_chain_spec(eg_arena *arena, const eg_compile_request *request,
                                eg_node_spec *out) {
  const eg_node_spec *last = request->spec;
  uint32_t count = last->input_count;
  for (uint32_t i = 0; i < request->link_count; i++) {
    last = request->links[i].spec;
    count += last->input_count - 1;
  }
  eg_type *types;
  EG_TRY(eg_arena_alloc(arena, count, sizeof *types, &types));
  *out = *request->spec;
  memcpy(types, out->inputs, out->input_count * sizeof *types);
  out->inputs = types;
  out->results = last->results;
  for (uint32_t i = 0; i < request->link_count; i++) {
    const eg_chain_link *link = &request->links[i];
    for (uint32_t k = 0; k < link->spec->input_count; k++) {
      if (k == link->operand) continue;
      if (eg_spec_is_weight(link->spec, k))
        out->weight_mask |= eg_operand_bit(out->input_count);
      types[out->input_count++] = link->spec->inputs[k];
    }
  }
  return EGRAPH_OK;
}

/// Finds an operand that the chain's result may overwrite: any operand of the result's
/// type, because an element is read before it is written.
static void find_overlay(eg_cpu_builder *builder, const chain *c) {
  if (eg_cpu_may_overlay(builder, c->head)) {
    builder->overlay = (int32_t)c->head;
    return;
  }
  for (uint32_t i = 0; i < c->operand_count; i++)
    if (c->operands[i].source == SOURCE_TENSOR && c->operands[i].kind == OPERAND_EACH &&
        eg_cpu_may_overlay(builder, c->operands[i].index)) {
      builder->overlay = (int32_t)c->operands[i].index;
      return;
    }
}

egraph_status eg_cpu_chain(eg_cpu_builder *builder, const eg_compile_request *request) {
  chain *c;
  eg_place places[MAX_OPERANDS + 2];
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof *c, &c));
  if (!make_chain(request, c))
    return eg_cpu_refuse(builder, "no pass for these operands");
  c->threads = eg_omp_threads();
  places[0] = eg_place_result(0);
  places[1] = eg_cpu_read(builder, c->head);
  for (uint32_t i = 0; i < c->operand_count; i++) {
    const chain_operand *operand = &c->operands[i];
    if (operand->source == SOURCE_TENSOR)
      places[i + 2] = eg_cpu_read(builder, operand->index);
    else if (operand->source == SOURCE_SCALE)
      EG_TRY(add_statistics(builder, c, i, &places[i + 2], &places[i + 3]));
  }
  find_overlay(builder, c);
  builder->kernel = c->stage_count == 1 ? "vector loop" : "vector loops";
  return eg_cpu_add_function(builder, &builder->run, run_chain, c, places,
                             c->operand_count + 2);
}
