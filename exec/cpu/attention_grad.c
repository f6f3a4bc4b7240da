// The gradient of attention in blocks that stay in the cache (FlashAttention-2, algorithm
// 2). Scores are made again from the logarithms of their sums, in columns of queries, so
// that four of the five products read them as they lie:
//
//   for each block of queries       q, d packed; level = the row sums of d * out
//     for each block of keys        x = k q^T, y = v d^T
//                                   w = exp(scale x - sum), s = scale w (y - level)
//                                   dv += w d; dk += s q; dq += s^T k
//
// A unit of work is all of a group (heads that share keys). With few groups it is a part
// of the queries, of which it makes dq, or a part of the keys, of which it makes dk and
// dv. The blocks, and the order in which they are added, are the same in both cases and
// on any number of threads. Float32; other types run on the reference kernel.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "exec/cpu/attention.h"
#include "exec/cpu/families.h"
#include "exec/cpu/kernel_threads.h"
#include "exec/cpu/panels.h"
#include "ops/kernel_math.h"
#include "ops/kernels.h"

enum { ROW_BLOCK = 192, KEY_BLOCK = 96 };
enum { GRAD_Q = 1, GRAD_MASK = 6, MOST_OPERANDS };

/// Numbers of floats of the rows of a block of queries, copied and packed twice.
typedef struct row_floats {
  int64_t copy, turned, packed;
} row_floats;

typedef struct gradient_plan {
  eg_attention size;
  eg_attention_rows queries, keys, values, results;
  eg_mask_steps mask;
  int64_t members;             // heads of a group
  int64_t head_blocks;         // blocks of queries of a head
  int64_t row_step, row_parts; // blocks of queries of a unit; units of a group
  int64_t key_step, key_parts; // the same for blocks of keys; 0 parts: whole groups
  int64_t stride;              // elements of a row of scores
  row_floats query_floats, cotangent_floats;
  int64_t key_floats, scratch; // floats of a packed block of keys; all of a thread
  uint32_t threads;
} gradient_plan;

typedef struct gradient_run {
  const gradient_plan *plan;
  float *dq, *dk, *dv;
  const float *d, *q, *k, *v, *out, *sums;
  const void *mask;
} gradient_run;

/// One unit: blocks of queries [first, last) of a group with keys [from, to).
typedef struct unit {
  const gradient_run *run;
  int64_t group, first, last, from, to;
  bool makes_queries, makes_keys;
  bool has_finite_keys;
  float *scratch;
} unit;

/// Rows of a block of queries: of the queries, or of the cotangents.
typedef struct packed_rows {
  float *copy, *turned, *packed; // scratch memory; turned: packed for x or y
  const float *rows;             // packed for dk or dv
} packed_rows;

/// A block of queries of one head, with scratch memory.
typedef struct query_block {
  int64_t head, row, count; // the head is numbered through all batches
  packed_rows q, d;
  float *x, *y;                      // [key][query]
  float *y_turned;                   // [query][key]
  float *packed_keys;                // for dq
  float *slope;                      // of softcap, of each query
  float *shift, *level;              // of each query, filled up to whole vectors
  eg_attention_span seen[ROW_BLOCK]; // keys; none: a row without weights
  eg_attention_span some, all;       // keys that a query sees; that every query sees
  bool is_first;                     // of the unit
  bool is_finite;                    // then hidden keys have no effect
  bool has_unweighed;                // rows without weights
} query_block;

// ---- a block of queries ---------------------------------------------------------------

static float *take(float **scratch, int64_t count) {
  float *taken = *scratch;
  *scratch += count;
  return taken;
}

static packed_rows take_rows(const row_floats *floats, float **scratch) {
  packed_rows rows = {.copy = take(scratch, floats->copy)};
  rows.turned = take(scratch, floats->turned);
  rows.packed = take(scratch, floats->packed);
  return rows;
}

static void take_scratch(const gradient_plan *p, float *scratch, query_block *out) {
  out->q = take_rows(&p->query_floats, &scratch);
  out->d = take_rows(&p->cotangent_floats, &scratch);
  out->x = take(&scratch, KEY_BLOCK * p->stride);
  out->y = take(&scratch, KEY_BLOCK * p->stride);
  out->y_turned = take(&scratch, KEY_BLOCK * p->stride);
  out->packed_keys = take(&scratch, p->key_floats);
  out->slope = take(&scratch, p->stride);
  out->shift = take(&scratch, p->stride);
  out->level = take(&scratch, p->stride);
}

static bool is_unweighed(const gradient_plan *p, float sum) {
  return p->size.is_safe && sum == -INFINITY;
}

/// Reads the sum of query i of a block, and finds its level and which keys it sees.
static void load_query(const unit *u, query_block *b, int64_t i) {
  const gradient_plan *p = u->run->plan;
  const eg_attention *size = &p->size;
  int64_t place = eg_attention_place(&p->results, b->head, b->row + i);
  float sum = u->run->sums[b->head * size->rows + b->row + i];
  bool is_none = is_unweighed(p, sum);
  const float *d = u->run->d + place, *out = u->run->out + place;
  b->shift[i] = is_none ? INFINITY : sum;
  b->level[i] = is_none ? 0 : eg_tile_set_at(0)->row_dot(d, out, size->columns);
  b->has_unweighed = b->has_unweighed || is_none;
  b->is_finite = b->is_finite && (is_none || isfinite(sum));
  eg_attention_span seen = eg_attention_sees(size, b->row + i);
  b->seen[i] = is_none ? (eg_attention_span){0, 0} : seen;
  b->some.from = eg_lesser(b->some.from, seen.from);
  b->some.to = eg_greater(b->some.to, seen.to);
  b->all.from = eg_greater(b->all.from, b->seen[i].from);
  b->all.to = eg_lesser(b->all.to, b->seen[i].to);
}

/// Returns the rows of a block without gaps: where they lie, or copied to `copy`, in
/// which queries without weights are 0.
static const float *gather_rows(const query_block *b, const float *x,
                                const eg_attention_rows *of, float *copy) {
  int64_t step = eg_attention_row_step(of);
  x += eg_attention_place(of, b->head, b->row);
  if (step == of->width && !b->has_unweighed) return x;
  for (int64_t i = 0; i < b->count; i++) {
    float *to = copy + i * of->width;
    if (b->has_unweighed && b->shift[i] == INFINITY)
      memset(to, 0, (size_t)of->width * sizeof *to);
    else
      memcpy(to, x + i * step, (size_t)of->width * sizeof *to);
  }
  return copy;
}

/// Returns a matrix of rows without gaps as packed for the right side of a product.
static const float *pack_rows(const eg_panels *panels, const float *x, int64_t step,
                              float *packed) {
  if (eg_panels_are_rows(panels) && step == panels->columns) return x;
  eg_panels_pack(panels, x, step, 1, packed);
  return packed;
}

/// Gathers rows of a block and packs them, turned and, for gradients of keys, as rows.
static bool pack_block(const unit *u, const query_block *b, const float *x,
                       const eg_attention_rows *of, packed_rows *inout) {
  int64_t width = of->width;
  const float *rows = gather_rows(b, x, of, inout->copy);
  eg_panels turned = eg_panels_of(width, b->count);
  eg_panels_pack(&turned, rows, 1, width, inout->turned);
  eg_panels panels = eg_panels_of(b->count, width);
  if (u->makes_keys) inout->rows = pack_rows(&panels, rows, width, inout->packed);
  return eg_tile_set_at(0)->row_is_finite(rows, b->count * width);
}

/// Loads block `number` of a unit's group.
static void load_block(const unit *u, int64_t number, query_block *b) {
  const gradient_plan *p = u->run->plan;
  const eg_attention *size = &p->size;
  b->head = u->group * p->members + number / p->head_blocks;
  b->row = number % p->head_blocks * ROW_BLOCK;
  b->count = eg_lesser(ROW_BLOCK, size->rows - b->row);
  b->is_finite = u->has_finite_keys;
  b->has_unweighed = false;
  b->is_first = number == u->first;
  b->some = (eg_attention_span){size->keys, 0};
  b->all = (eg_attention_span){0, size->keys};
  for (int64_t i = 0; i < b->count; i++)
    load_query(u, b, i);
  for (int64_t i = b->count; i < p->stride; i++) {
    b->shift[i] = INFINITY;
    b->level[i] = 0;
  }
  bool is_finite = pack_block(u, b, u->run->q, &p->queries, &b->q);
  is_finite = pack_block(u, b, u->run->d, &p->results, &b->d) && is_finite;
  b->is_finite = b->is_finite && is_finite;
}

// ---- one key with a block of queries --------------------------------------------------

/// Scales scores and bounds them by softcap, whose slopes it keeps.
EG_KERNEL_CLONES static void scale_scores(const eg_attention *size, float *x,
                                          float *slope, int64_t count) {
  const double scale = size->scale, cap = size->softcap;
  for (int64_t i = 0; cap == 0 && i < count; i++)
    x[i] = (float)(x[i] * scale);
  for (int64_t i = 0; cap != 0 && i < count; i++) {
    double t = eg_math_tanh(x[i] * scale / cap);
    x[i] = (float)(cap * t);
    slope[i] = (float)(1 - t * t);
  }
}

static void add_mask(const unit *u, const query_block *b, int64_t key, float *x) {
  const eg_mask_steps *mask = &u->run->plan->mask;
  int64_t step = mask->strides[mask->rank - 2];
  const float *at = u->run->mask;
  at += eg_mask_place(mask, b->head * u->run->plan->size.rows + b->row) +
        key * mask->strides[mask->rank - 1];
  for (int64_t i = 0; i < b->count; i++)
    x[i] += at[i * step];
}

/// Gives x a value where queries do not see the key.
static void hide(const unit *u, const query_block *b, int64_t key, float value,
                 float *x) {
  const eg_mask_steps *mask = &u->run->plan->mask;
  for (int64_t i = 0; i < b->count; i++)
    if (key < b->seen[i].from || key >= b->seen[i].to) x[i] = value;
  if (!mask->is_given || !mask->is_bool) return;
  int64_t step = mask->strides[mask->rank - 2];
  const unsigned char *at = u->run->mask;
  at += eg_mask_place(mask, b->head * u->run->plan->size.rows + b->row) +
        key * mask->strides[mask->rank - 1];
  for (int64_t i = 0; i < b->count; i++)
    if (at[i * step] == 0) x[i] = value;
}

/// Turns scores x and the cotangents y of the weights into weights and the cotangents of
/// the products of queries and keys.
static void weigh_key(const unit *u, const query_block *b, int64_t key, float *x,
                      float *y) {
  const gradient_plan *p = u->run->plan;
  const eg_mask_steps *mask = &p->mask;
  bool is_plain = eg_attention_is_plain(&p->size, mask);
  bool is_hidden = key < b->all.from || key >= b->all.to || mask->is_bool;
  if (!is_plain) scale_scores(&p->size, x, b->slope, b->count);
  if (mask->is_given && !mask->is_bool) add_mask(u, b, key, x);
  if (is_hidden) hide(u, b, key, -INFINITY, x);
  const eg_row_gradient row = {.x = x,
                               .y = y,
                               .shift = b->shift,
                               .level = b->level,
                               .count = p->stride,
                               .scale = is_plain ? (float)p->size.scale : 1.0f,
                               .factor = (float)p->size.scale};
  eg_tile_set_at(0)->row_weigh(&row);
  for (int64_t i = 0; p->size.softcap != 0 && i < b->count; i++)
    y[i] *= b->slope[i];
  if (is_hidden) hide(u, b, key, 0, y);
}

// ---- a block of keys with a block of queries
// --------------------------------------------

/// A product of `rows` rows, c = a b, or c += a b.
typedef struct product {
  const float *a, *packed;
  float *c;
  int64_t rows, a_row, c_row;
  bool is_added;
} product;

static void multiply(const eg_panels *panels, const product *t) {
  const eg_panel_operands operands = {.a = t->a,
                                      .packed = t->packed,
                                      .z = t->is_added ? t->c : NULL,
                                      .c = t->c,
                                      .a_row = t->a_row,
                                      .c_row = t->c_row,
                                      .low = -INFINITY,
                                      .high = INFINITY};
  eg_panels_multiply(panels, &operands, 0, t->rows, 0, panels->count);
}

/// Makes scores, or cotangents of weights, of keys [from, to): x times the block's rows.
static void score(const unit *u, const query_block *b, const float *x,
                  const eg_attention_rows *of, const packed_rows *rows, int64_t from,
                  int64_t to, float *out) {
  eg_panels panels = eg_panels_of(of->width, b->count);
  const product t = {.a = x + eg_attention_place(of, u->group, from),
                     .packed = rows->turned,
                     .c = out,
                     .rows = to - from,
                     .a_row = eg_attention_row_step(of),
                     .c_row = u->run->plan->stride};
  multiply(&panels, &t);
}

/// Adds x times the block's rows to the gradient of keys or values [from, to).
static void add_to_keys(const unit *u, const query_block *b, const float *x,
                        const packed_rows *rows, const eg_attention_rows *of,
                        int64_t from, int64_t to, float *out) {
  eg_panels panels = eg_panels_of(b->count, of->width);
  const product t = {.a = x,
                     .packed = rows->rows,
                     .c = out + eg_attention_place(of, u->group, from),
                     .rows = to - from,
                     .a_row = u->run->plan->stride,
                     .c_row = eg_attention_row_step(of),
                     .is_added = !b->is_first};
  multiply(&panels, &t);
}

/// Adds y^T k to the gradient of queries.
static void add_to_queries(const unit *u, const query_block *b, int64_t from,
                           int64_t to) {
  const gradient_plan *p = u->run->plan;
  const float *k = u->run->k + eg_attention_place(&p->keys, u->group, from);
  eg_panels panels = eg_panels_of(to - from, p->size.depth);
  panels.set->turn(b->y, to - from, b->count, p->stride, b->y_turned, KEY_BLOCK);
  const product t = {
      .a = b->y_turned,
      .packed = pack_rows(&panels, k, eg_attention_row_step(&p->keys), b->packed_keys),
      .c = u->run->dq + eg_attention_place(&p->queries, b->head, b->row),
      .rows = b->count,
      .a_row = KEY_BLOCK,
      .c_row = eg_attention_row_step(&p->queries),
      .is_added = from != u->from};
  multiply(&panels, &t);
}

static void clear_rows(float *x, const eg_attention_rows *of, int64_t head, int64_t from,
                       int64_t to) {
  for (int64_t row = from; row < to; row++)
    memset(x + eg_attention_place(of, head, row), 0, (size_t)of->width * sizeof *x);
}

/// Adds 0: what comes first writes results, and what follows adds to them.
static void add_nothing(const unit *u, const query_block *b, int64_t from, int64_t to) {
  const gradient_run *run = u->run;
  const gradient_plan *p = run->plan;
  if (u->makes_keys && b->is_first) {
    clear_rows(run->dk, &p->keys, u->group, from, to);
    clear_rows(run->dv, &p->values, u->group, from, to);
  }
  if (u->makes_queries && from == u->from)
    clear_rows(run->dq, &p->queries, b->head, b->row, b->row + b->count);
}

static void meet(const unit *u, const query_block *b, int64_t from, int64_t to) {
  const gradient_run *run = u->run;
  const gradient_plan *p = run->plan;
  if (b->is_finite && (b->some.from >= to || b->some.to <= from)) {
    add_nothing(u, b, from, to);
    return;
  }
  score(u, b, run->k, &p->keys, &b->q, from, to, b->x);
  score(u, b, run->v, &p->values, &b->d, from, to, b->y);
  for (int64_t key = from; key < to; key++)
    weigh_key(u, b, key, b->x + (key - from) * p->stride,
              b->y + (key - from) * p->stride);
  if (u->makes_keys) {
    add_to_keys(u, b, b->x, &b->d, &p->values, from, to, run->dv);
    add_to_keys(u, b, b->y, &b->q, &p->keys, from, to, run->dk);
  }
  if (u->makes_queries) add_to_queries(u, b, from, to);
}

// ---- units of work --------------------------------------------------------------------

static void run_queries(const unit *u, int64_t number) {
  const gradient_plan *p = u->run->plan;
  query_block b;
  take_scratch(p, u->scratch, &b);
  load_block(u, number, &b);
  for (int64_t from = u->from; from < u->to; from += KEY_BLOCK)
    meet(u, &b, from, eg_lesser(from + KEY_BLOCK, u->to));
  for (int64_t i = 0; u->makes_queries && b.has_unweighed && i < b.count; i++)
    if (b.shift[i] == INFINITY)
      clear_rows(u->run->dq, &p->queries, b.head, b.row + i, b.row + i + 1);
}

static unit unit_at(const gradient_run *run, int64_t number) {
  const gradient_plan *p = run->plan;
  int64_t parts = p->row_parts + p->key_parts, part = number % parts;
  int64_t blocks = p->members * p->head_blocks;
  unit u = {.run = run,
            .group = number / parts,
            .last = blocks,
            .to = p->size.keys,
            .makes_queries = part < p->row_parts,
            .makes_keys = p->key_parts == 0 || part >= p->row_parts};
  if (part < p->row_parts) {
    u.first = part * p->row_step;
    u.last = eg_lesser(u.first + p->row_step, blocks);
  } else {
    u.from = (part - p->row_parts) * p->key_step * KEY_BLOCK;
    u.to = eg_lesser(u.from + p->key_step * KEY_BLOCK, p->size.keys);
  }
  return u;
}

static void run_unit(const void *user, int64_t number, float *scratch) {
  const gradient_run *run = user;
  const gradient_plan *p = run->plan;
  unit u = unit_at(run, number);
  u.scratch = scratch;
  u.has_finite_keys = true;
  for (int64_t key = u.from; key < u.to && u.has_finite_keys; key++)
    u.has_finite_keys = eg_tile_set_at(0)->row_is_finite(
        run->k + eg_attention_place(&p->keys, u.group, key), p->size.depth);
  for (int64_t block = u.first; block < u.last; block++)
    run_queries(&u, block);
}

static egraph_status run_gradient(const void *payload, void *const *addresses) {
  const gradient_plan *p = payload;
  gradient_run run = {.plan = p,
                      .dq = addresses[0],
                      .dk = addresses[1],
                      .dv = addresses[2],
                      .d = addresses[4],
                      .q = addresses[5],
                      .k = addresses[6],
                      .v = addresses[7],
                      .out = addresses[8],
                      .sums = addresses[9],
                      .mask = p->mask.is_given ? addresses[10] : NULL};
  int64_t units = p->size.batch * p->size.groups * (p->row_parts + p->key_parts);
  eg_parts_with_scratch(units, p->threads, addresses[3], p->scratch, run_unit, &run);
  return EGRAPH_OK;
}

// ---- the plan -----------------------------------------------------------------------

/// Chooses the units of work: whole groups if there are two for each thread.
static void plan_units(gradient_plan *p) {
  const eg_attention *size = &p->size;
  int64_t groups = size->batch * size->groups, wanted = 2 * (int64_t)p->threads;
  int64_t row_blocks = p->members * p->head_blocks;
  p->row_step = row_blocks;
  p->row_parts = 1;
  if (p->threads == 1 || groups >= wanted) return;
  int64_t parts = eg_quotient_up(wanted, groups);
  int64_t key_blocks = eg_quotient_up(size->keys, KEY_BLOCK);
  p->row_step = eg_quotient_up(row_blocks, parts);
  p->row_parts = eg_quotient_up(row_blocks, p->row_step);
  p->key_step = eg_quotient_up(key_blocks, parts);
  p->key_parts = eg_quotient_up(key_blocks, p->key_step);
}

static int64_t floats_of(int64_t depth, int64_t columns) {
  eg_panels panels = eg_panels_of(depth, columns);
  return eg_panels_elements(&panels);
}

static row_floats plan_rows(int64_t rows, int64_t width) {
  return (row_floats){rows * width, floats_of(width, rows), floats_of(rows, width)};
}

static int64_t sum_of(const row_floats *x) { return x->copy + x->turned + x->packed; }

static gradient_plan plan_gradient(const eg_node_spec *spec) {
  const eg_type *q = &spec->inputs[GRAD_Q];
  gradient_plan p = {.size = eg_attention_of(spec->attrs, q),
                     .threads = eg_omp_threads()};
  const eg_attention *size = &p.size;
  p.queries = eg_attention_queries(size);
  p.keys = eg_attention_keys(size);
  p.values = eg_attention_values(size);
  p.results = eg_attention_results(size);
  p.mask = eg_mask_steps_of(spec, GRAD_MASK, size, q);
  p.members = size->heads / size->groups;
  p.head_blocks = eg_quotient_up(size->rows, ROW_BLOCK);
  if (p.threads > EG_MAX_SHARES) p.threads = EG_MAX_SHARES;
  if (p.threads < 1) p.threads = 1;
  plan_units(&p);
  int64_t rows = eg_lesser(ROW_BLOCK, size->rows);
  eg_panels scores = eg_panels_of(size->depth, rows);
  p.stride = scores.vectors * scores.set->vector;
  p.query_floats = plan_rows(rows, size->depth);
  p.cotangent_floats = plan_rows(rows, size->columns);
  p.key_floats = floats_of(eg_lesser(KEY_BLOCK, size->keys), size->depth);
  p.scratch = sum_of(&p.query_floats) + sum_of(&p.cotangent_floats) + p.key_floats +
              (3 * KEY_BLOCK + 3) * p.stride;
  p.scratch = eg_quotient_up(p.scratch, 16) * 16; // a cache line
  return p;
}

egraph_status eg_cpu_attention_grad(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_attention size = eg_attention_of(spec->attrs, &spec->inputs[GRAD_Q]);
  EG_TRY(eg_cpu_check_attention(builder, &size));
  gradient_plan *p;
  EG_NEW(builder->arena, 1, p);
  *p = plan_gradient(spec);
  eg_place places[4 + MOST_OPERANDS] = {eg_place_result(0), eg_place_result(1),
                                        eg_place_result(2)};
  places[3] = eg_cpu_scratch(builder, (size_t)(p->scratch * p->threads) * sizeof(float));
  for (uint32_t i = 0; i < spec->input_count; i++)
    places[4 + i] = eg_cpu_read(builder, i);
  builder->kernel = "attention";
  return eg_cpu_add_function(builder, &builder->run, run_gradient, p, places,
                             4 + spec->input_count);
}
