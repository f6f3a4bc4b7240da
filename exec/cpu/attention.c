// Attention in blocks that stay in the cache (FlashAttention, algorithm 1): blocks of
// queries meet blocks of keys, whose scores exist only until they are weighed.
//
//   for each block of keys        packed once
//     for each block of queries   scores = q k^T; row by row: the maximum and the sum so
//                                 far, weights = exp(score - maximum); result += weights
//                                 v
//
// A row's result does not depend on which thread computes it. Float32; other types run
// on the reference kernel.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/attention.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "exec/cpu/families.h"
#include "exec/cpu/kernel_threads.h"
#include "exec/cpu/panels.h"
#include "ops/kernel_math.h"
#include "ops/kernels.h"

enum {
  ROW_BLOCK = 48,            // queries whose scores are computed together
  KEY_BLOCK = 256,           // keys of a block
  MOST_ROWS = 64 * ROW_BLOCK // queries of a unit of work
};

typedef struct attention_plan {
  eg_attention size;
  eg_attention_rows queries, keys, values, results;
  eg_mask_steps mask;
  int64_t members, group_rows; // heads, and queries of them, that share keys
  int64_t chunk, chunks;       // queries of a unit of work; units of a group
  int64_t stride;              // elements of a row of scores
  int64_t key_floats, value_floats, scratch; // packed blocks; all scratch of a thread
  uint32_t threads;
} attention_plan;

/// A run. Addresses: result, sums, scratch, queries, keys, values; then the mask, if any.
typedef struct attention_run {
  const attention_plan *plan;
  float *out, *sums;
  const float *q, *k, *v;
  const void *mask;
} attention_run;

/// One unit: queries [first, last) of a group, and its scratch memory.
typedef struct unit {
  const attention_run *run;
  int64_t group, first, last;
  float *packed_keys, *packed_values, *scores;
  float *most, *sum;      // [chunk] of each query so far
  bool is_met[MOST_ROWS]; // a query's row of the result has been written
  bool is_finite;         // all values are
} unit;

/// A block of keys, packed.
typedef struct key_block {
  int64_t from, to;
  eg_panels keys, values;
  const float *packed_values;
  bool is_finite; // all values are; then hidden keys have no effect
} key_block;

// ---- what the gradient shares -------------------------------------------------------

eg_mask_steps eg_mask_steps_of(const eg_node_spec *spec, uint32_t operand,
                               const eg_attention *size, const eg_type *q) {
  eg_mask_steps steps = {.is_given = spec->input_count > operand};
  if (!steps.is_given) return steps;
  const eg_type *mask = &spec->inputs[operand];
  const eg_type scores = eg_attention_scores(size, q);
  steps.is_bool = mask->dtype == EGRAPH_BOOL;
  steps.rank = scores.rank;
  memcpy(steps.dims, scores.dims, sizeof steps.dims);
  eg_broadcast_strides(&scores, mask, steps.strides);
  return steps;
}

int64_t eg_mask_place(const eg_mask_steps *mask, int64_t query) {
  int64_t place = 0;
  for (uint32_t dim = mask->rank - 1; dim-- > 0;) {
    place += query % mask->dims[dim] * mask->strides[dim];
    query /= mask->dims[dim];
  }
  return place;
}

bool eg_attention_is_plain(const eg_attention *size, const eg_mask_steps *mask) {
  return !mask->is_given && size->softcap == 0 && (float)size->scale >= FLT_MIN &&
         isfinite((float)size->scale);
}

egraph_status eg_cpu_check_attention(eg_cpu_builder *builder, const eg_attention *size) {
  const eg_node_spec *spec = builder->spec;
  for (uint32_t i = 0; i < spec->input_count; i++)
    if (spec->inputs[i].dtype != EGRAPH_FLOAT32 && spec->inputs[i].dtype != EGRAPH_BOOL)
      return eg_cpu_refuse(builder, "not float32");
  if (!eg_panels_work()) return eg_cpu_refuse(builder, "no vectors");
  bool is_empty = size->batch * size->heads * size->rows == 0 || size->keys == 0 ||
                  size->depth == 0 || size->columns == 0;
  return is_empty ? eg_cpu_refuse(builder, "no queries or keys") : EGRAPH_OK;
}

// ---- one row ------------------------------------------------------------------------

/// Returns the place of a row of a group among queries or results.
static int64_t place_of(const attention_plan *p, const eg_attention_rows *x,
                        int64_t group, int64_t row) {
  return eg_attention_place(x, group * p->members + row / p->size.rows,
                            row % p->size.rows);
}

/// Scales scores, and bounds them by softcap.
EG_KERNEL_CLONES static void scale_row(const eg_attention *size, float *scores,
                                       int64_t count) {
  const double scale = size->scale, cap = size->softcap;
  if (cap == 0) {
    for (int64_t i = 0; i < count; i++)
      scores[i] = (float)(scores[i] * scale);
    return;
  }
  for (int64_t i = 0; i < count; i++)
    scores[i] = (float)(cap * eg_math_tanh(scores[i] * scale / cap));
}

static void mask_row(const attention_run *run, int64_t place, const key_block *block,
                     float *scores) {
  const eg_mask_steps *mask = &run->plan->mask;
  int64_t step = mask->strides[mask->rank - 1];
  place += block->from * step;
  for (int64_t i = 0; i < block->to - block->from; i++, place += step)
    if (!mask->is_bool)
      scores[i] += ((const float *)run->mask)[place];
    else if (((const unsigned char *)run->mask)[place] == 0)
      scores[i] = -INFINITY;
}

static void hide(float *scores, int64_t from, int64_t to) {
  for (int64_t i = from; i < to; i++)
    scores[i] = -INFINITY;
}

/// Turns the scores of a query with a block of keys into weights, relative to the largest
/// score so far; scales the query's sum and result to it.
static void weigh_row(const unit *u, const key_block *block, int64_t row, float *scores) {
  const attention_plan *p = u->run->plan;
  const eg_attention *size = &p->size;
  int64_t count = block->to - block->from, at = row - u->first;
  bool is_plain = eg_attention_is_plain(size, &p->mask);
  float scale = is_plain ? (float)size->scale : 1.0f;
  if (!is_plain) scale_row(size, scores, count);
  if (p->mask.is_given)
    mask_row(u->run, eg_mask_place(&p->mask, u->group * p->group_rows + row), block,
             scores);
  eg_attention_span seen = eg_attention_sees(size, row % size->rows);
  hide(scores, 0, eg_lesser(seen.from - block->from, count));
  hide(scores, eg_greater(seen.to - block->from, 0), p->stride);
  hide(scores, count, p->stride);
  const eg_tile_set *set = block->keys.set;
  float most = scale * set->row_most(scores, count), before = u->most[at];
  if (before > most) most = before;
  float shift = most == -INFINITY ? 0 : most;
  float kept = before == -INFINITY ? 0 : expf(before - shift);
  int64_t vectors = eg_quotient_up(count, set->vector) * set->vector;
  u->most[at] = most;
  u->sum[at] = u->sum[at] * kept + set->row_exp(scores, vectors, scale, shift);
  float *out = u->run->out + place_of(p, &p->results, u->group, row);
  if (kept != 1 && before != -INFINITY) set->row_scale(out, size->columns, kept);
}

// ---- blocks -------------------------------------------------------------------------

static key_block describe_block(const unit *u, int64_t from) {
  const eg_attention *size = &u->run->plan->size;
  int64_t to = eg_lesser(from + KEY_BLOCK, size->keys);
  key_block block = {.from = from,
                     .to = to,
                     .keys = eg_panels_of(size->depth, to - from),
                     .values = eg_panels_of(to - from, size->columns),
                     .is_finite = true};
  for (int64_t key = from; key < to && block.is_finite; key++)
    block.is_finite = block.keys.set->row_is_finite(
        u->run->v + eg_attention_place(&u->run->plan->values, u->group, key),
        size->columns);
  return block;
}

static void pack_block(const unit *u, key_block *block) {
  const attention_plan *p = u->run->plan;
  const float *k = u->run->k + eg_attention_place(&p->keys, u->group, block->from);
  const float *v = u->run->v + eg_attention_place(&p->values, u->group, block->from);
  int64_t step = eg_attention_row_step(&p->values);
  eg_panels_pack(&block->keys, k, 1, eg_attention_row_step(&p->keys), u->packed_keys);
  block->packed_values = v;
  if (eg_panels_are_rows(&block->values) && step == p->size.columns) return;
  eg_panels_pack(&block->values, v, step, 1, u->packed_values);
  block->packed_values = u->packed_values;
}

/// True when a query in [first, last) sees a key of the block.
static bool is_seen(const eg_attention *size, const key_block *block, int64_t first,
                    int64_t last) {
  for (int64_t row = first; row < last; row++) {
    eg_attention_span seen = eg_attention_sees(size, row % size->rows);
    if (seen.from < block->to && seen.to > block->from) return true;
  }
  return false;
}

/// Adds what a block of keys contributes to queries [first, last).
static void meet(unit *u, const key_block *block, int64_t first, int64_t last) {
  const attention_plan *p = u->run->plan;
  const eg_attention *size = &p->size;
  if (block->is_finite && !is_seen(size, block, first, last)) return;
  float *out = u->run->out + place_of(p, &p->results, u->group, first);
  const float *q = u->run->q + place_of(p, &p->queries, u->group, first);
  const eg_panel_operands scores = {.a = q,
                                    .packed = u->packed_keys,
                                    .c = u->scores,
                                    .a_row = eg_attention_row_step(&p->queries),
                                    .c_row = p->stride,
                                    .low = -INFINITY,
                                    .high = INFINITY};
  eg_panels_multiply(&block->keys, &scores, 0, last - first, 0, block->keys.count);
  for (int64_t i = 0; i < last - first; i++)
    weigh_row(u, block, first + i, u->scores + i * p->stride);
  bool *is_met = &u->is_met[first - u->first];
  const eg_panel_operands sums = {.a = u->scores,
                                  .packed = block->packed_values,
                                  .z = *is_met ? out : NULL,
                                  .c = out,
                                  .a_row = p->stride,
                                  .c_row = eg_attention_row_step(&p->results),
                                  .low = -INFINITY,
                                  .high = INFINITY};
  eg_panels_multiply(&block->values, &sums, 0, last - first, 0, block->values.count);
  memset(is_met, true, (size_t)(last - first));
}

/// Returns where the block of queries from `row` on ends; their rows are equally far
/// apart.
static int64_t block_end(const unit *u, int64_t row) {
  const eg_attention *size = &u->run->plan->size;
  int64_t end = eg_lesser(row + ROW_BLOCK, u->last);
  return size->is_rows_first ? eg_lesser(end, (row / size->rows + 1) * size->rows) : end;
}

// ---- units of work --------------------------------------------------------------------

/// Gives a query whose weights are 0 its result: 0, or NaN in columns where a value is
/// not finite.
static void write_zeros(const unit *u, float *out) {
  const attention_plan *p = u->run->plan;
  memset(out, 0, (size_t)p->size.columns * sizeof *out);
  for (int64_t key = 0; !u->is_finite && key < p->size.keys; key++) {
    const float *v = u->run->v + eg_attention_place(&p->values, u->group, key);
    for (int64_t e = 0; e < p->size.columns; e++)
      out[e] += v[e] * 0.0f;
  }
}

static void end_row(const unit *u, int64_t row) {
  const attention_plan *p = u->run->plan;
  int64_t columns = p->size.columns, at = u->group * p->group_rows + row;
  float sum = u->sum[row - u->first], most = u->most[row - u->first];
  bool is_zero = p->size.is_safe && !(sum > 0);
  float *out = u->run->out + place_of(p, &p->results, u->group, row);
  if (is_zero || !u->is_met[row - u->first]) write_zeros(u, out);
  if (!is_zero) eg_tile_set_at(0)->row_scale(out, columns, 1 / sum);
  u->run->sums[at] = is_zero ? -INFINITY : (most == -INFINITY ? 0 : most) + logf(sum);
}

static void run_unit(const void *user, int64_t number, float *scratch) {
  const attention_run *run = user;
  const attention_plan *p = run->plan;
  int64_t chunk = number % p->chunks;
  unit u = {.run = run,
            .group = number / p->chunks,
            .first = chunk * p->chunk,
            .last = eg_lesser((chunk + 1) * p->chunk, p->group_rows),
            .packed_keys = scratch,
            .packed_values = scratch + p->key_floats,
            .is_finite = true};
  u.scores = u.packed_values + p->value_floats;
  u.most = u.scores + ROW_BLOCK * p->stride;
  u.sum = u.most + p->chunk;
  for (int64_t i = 0; i < u.last - u.first; i++) {
    u.most[i] = -INFINITY;
    u.sum[i] = 0;
  }
  for (int64_t from = 0; from < p->size.keys; from += KEY_BLOCK) {
    key_block block = describe_block(&u, from);
    u.is_finite = u.is_finite && block.is_finite;
    if (block.is_finite && !is_seen(&p->size, &block, u.first, u.last)) continue;
    pack_block(&u, &block);
    for (int64_t row = u.first, end; row < u.last; row = end) {
      end = block_end(&u, row);
      meet(&u, &block, row, end);
    }
  }
  for (int64_t row = u.first; row < u.last; row++)
    end_row(&u, row);
}

static egraph_status run_attention(const void *payload, void *const *addresses) {
  const attention_plan *p = payload;
  attention_run run = {.plan = p,
                       .out = addresses[0],
                       .sums = addresses[1],
                       .q = addresses[3],
                       .k = addresses[4],
                       .v = addresses[5],
                       .mask = p->mask.is_given ? addresses[6] : NULL};
  int64_t units = p->size.batch * p->size.groups * p->chunks;
  eg_parts_with_scratch(units, p->threads, addresses[2], p->scratch, run_unit, &run);
  return EGRAPH_OK;
}

// ---- the plan -----------------------------------------------------------------------

static attention_plan plan_attention(const eg_node_spec *spec) {
  attention_plan p = {.size = eg_attention_of(spec->attrs, spec->inputs),
                      .threads = eg_omp_threads()};
  const eg_attention *size = &p.size;
  p.queries = eg_attention_queries(size);
  p.keys = eg_attention_keys(size);
  p.values = eg_attention_values(size);
  p.results = eg_attention_results(size);
  p.mask = eg_mask_steps_of(spec, EG_ATTENTION_MASK, size, spec->inputs);
  p.members = size->heads / size->groups;
  p.group_rows = p.members * size->rows;
  if (p.threads > EG_MAX_SHARES) p.threads = EG_MAX_SHARES;
  if (p.threads < 1) p.threads = 1;
  int64_t wanted = eg_quotient_up(2 * (int64_t)p.threads, size->batch * size->groups);
  p.chunk = eg_quotient_up(p.group_rows, p.threads == 1 ? 1 : wanted);
  p.chunk = eg_quotient_up(p.chunk, ROW_BLOCK) * ROW_BLOCK;
  p.chunk = eg_lesser(eg_lesser(p.chunk, MOST_ROWS), p.group_rows);
  p.chunks = eg_quotient_up(p.group_rows, p.chunk);
  int64_t keys = eg_lesser(KEY_BLOCK, size->keys);
  eg_panels scores = eg_panels_of(size->depth, keys);
  eg_panels values = eg_panels_of(keys, size->columns);
  p.stride = scores.vectors * scores.set->vector;
  p.key_floats = eg_panels_elements(&scores);
  p.value_floats = eg_panels_elements(&values);
  p.scratch = p.key_floats + p.value_floats + ROW_BLOCK * p.stride + 2 * p.chunk;
  p.scratch = eg_quotient_up(p.scratch, 16) * 16; // a cache line
  return p;
}

egraph_status eg_cpu_attention(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_attention size = eg_attention_of(spec->attrs, spec->inputs);
  EG_TRY(eg_cpu_check_attention(builder, &size));
  attention_plan *p;
  EG_NEW(builder->arena, 1, p);
  *p = plan_attention(spec);
  eg_place places[7] = {eg_place_result(0), eg_place_result(1)};
  places[2] = eg_cpu_scratch(builder, (size_t)(p->scratch * p->threads) * sizeof(float));
  for (uint32_t i = 0; i < spec->input_count; i++)
    places[3 + i] = eg_cpu_read(builder, i);
  builder->kernel = "attention";
  return eg_cpu_add_function(builder, &builder->run, run_attention, p, places,
                             3 + spec->input_count);
}
