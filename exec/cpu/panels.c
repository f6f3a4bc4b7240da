// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/panels.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "exec/cpu/kernel_threads.h"

enum {
  FEWEST_ROWS = 24,       // rows of c for each thread
  SMALL_WEIGHTS = 1 << 17 // elements of b; every thread may read all of a smaller b
};

/// Returns where share i begins, when `whole` elements are divided into `count` shares
/// whose sizes differ by at most one; for i = `count`, the end.
static int64_t share_begin(int64_t whole, int64_t count, int64_t i) {
  assert(count > 0 && i >= 0 && i <= count);
  int64_t each = whole / count, more = whole % count;
  return each * i + (i < more ? i : more);
}

/// Returns the share that contains element `at`.
static int64_t share_of(int64_t whole, int64_t count, int64_t at) {
  int64_t each = whole / count, more = whole % count, longer = more * (each + 1);
  return at < longer ? at / (each + 1) : more + (at - longer) / each;
}

// ---- panels -------------------------------------------------------------------------

bool eg_panels_work(void) { return eg_tile_set_at(0) != NULL; }

eg_panels eg_panels_of_rows(int64_t depth, int64_t columns, int64_t rows) {
  const eg_tile_set *set = eg_tile_set_at(0);
  eg_panels p = {.set = set,
                 .depth = depth,
                 .columns = columns,
                 .vectors = eg_quotient_up(columns, set->vector)};
  int64_t widest = set->widest;
  while (widest < EG_TILE_WIDEST && rows <= set->heights[widest])
    widest++;
  p.count = eg_quotient_up(p.vectors, widest);
  p.block = eg_quotient_up(depth, eg_quotient_up(depth, set->depth));
  p.block = eg_quotient_up(p.block, set->vector) * set->vector;
  return p;
}

eg_panels eg_panels_of(int64_t depth, int64_t columns) {
  return eg_panels_of_rows(depth, columns, INT64_MAX);
}

static int64_t first_vector(const eg_panels *p, int64_t panel) {
  return share_begin(p->vectors, p->count, panel);
}

static int64_t depth_at(const eg_panels *p, int64_t from) {
  return eg_lesser(p->depth - from, p->block);
}

/// Returns the packed index at which a panel begins, in the rows of b from `from` on.
static int64_t packed_at(const eg_panels *p, int64_t from, int64_t panel) {
  return p->set->vector *
         (from * p->vectors + depth_at(p, from) * first_vector(p, panel));
}

int64_t eg_panels_elements(const eg_panels *p) {
  return p->depth * p->vectors * p->set->vector;
}

int64_t eg_panels_place(const eg_panels *p, int64_t row, int64_t column) {
  assert(row < p->depth && column < p->columns);
  int64_t from = row / p->block * p->block;
  int64_t panel = share_of(p->vectors, p->count, column / p->set->vector);
  int64_t first = first_vector(p, panel), width = first_vector(p, panel + 1) - first;
  return packed_at(p, from, panel) + ((row - from) * width - first) * p->set->vector +
         column;
}

/// Packs a panel of b, in the rows of b from `from` on. Columns that fill the last vector
/// are zeros.
static void pack_panel(const eg_panels *p, const float *b, int64_t b_row,
                       int64_t b_column, int64_t from, int64_t panel, float *to) {
  int64_t first = first_vector(p, panel) * p->set->vector;
  int64_t width = first_vector(p, panel + 1) * p->set->vector - first;
  int64_t columns = eg_lesser(p->columns - first, width), depth = depth_at(p, from);
  b += from * b_row + first * b_column;
  if (b_row == 1) p->set->turn(b, columns, depth, b_column, to, width);
  for (int64_t k = 0; k < depth; k++, to += width) {
    if (b_column == 1 && b_row != 1)
      memcpy(to, b + k * b_row, (size_t)columns * sizeof *to);
    for (int64_t n = 0; b_row != 1 && b_column != 1 && n < columns; n++)
      to[n] = b[k * b_row + n * b_column];
    for (int64_t n = columns; n < width; n++)
      to[n] = 0;
  }
}

void eg_panels_pack(const eg_panels *p, const float *b, int64_t b_row, int64_t b_column,
                    float *packed) {
  for (int64_t from = 0; from < p->depth; from += p->block)
    for (int64_t panel = 0; panel < p->count; panel++)
      pack_panel(p, b, b_row, b_column, from, panel, packed + packed_at(p, from, panel));
}

bool eg_panels_are_rows(const eg_panels *p) {
  return p->count == 1 && p->columns % p->set->vector == 0;
}

// ---- the product --------------------------------------------------------------------

/// Multiplies rows [begin, end) of a by a panel of b, for the rows of b from `from` on.
static void run_panel(const eg_panels *p, const eg_panel_operands *o, int64_t begin,
                      int64_t end, int64_t from, int64_t panel) {
  int64_t first = first_vector(p, panel), width = first_vector(p, panel + 1) - first;
  int64_t depth = depth_at(p, from), column = first * p->set->vector;
  int64_t tiles = eg_quotient_up(end - begin, p->set->heights[width - 1]);
  // cache lines of the next panel of b that each tile prefetches in four steps
  enum { CACHE_LINE = 64, MOST_LINES = 4 };
  int64_t bytes = 4 * width * p->set->vector * (int64_t)sizeof(float);
  const float *b = o->packed + packed_at(p, from, panel);
  const float *next = b + depth * width * p->set->vector;
  eg_tile t = {.b = b,
               .bias = o->bias != NULL ? o->bias + column : NULL,
               .a_row = o->a_row,
               .c_row = o->c_row,
               .depth = depth,
               .is_first = from == 0,
               .is_last = from + depth == p->depth,
               .low = o->low,
               .high = o->high,
               .last = eg_lesser(p->columns - column - (width - 1) * p->set->vector,
                                 p->set->vector),
               .ahead = (const char *)next,
               .each = CACHE_LINE *
                       eg_lesser(eg_quotient_up(bytes, CACHE_LINE * tiles), MOST_LINES)};
  const char *asked = (const char *)(next + (next - b));
  for (int64_t i = 0; i < tiles; i++) {
    int64_t row = begin + share_begin(end - begin, tiles, i);
    int64_t rows = begin + share_begin(end - begin, tiles, i + 1) - row;
    t.a = o->a + row * o->a_row + from;
    t.c = o->c + row * o->c_row + column;
    t.z = o->z != NULL ? o->z + row * o->c_row + column : NULL;
    p->set->tiles[width - 1][rows - 1](&t);
    t.ahead += depth / 4 * t.each;
    if (t.ahead >= asked) t.each = 0;
  }
}

void eg_panels_multiply(const eg_panels *p, const eg_panel_operands *operands,
                        int64_t begin, int64_t end, int64_t first, int64_t last) {
  assert(begin <= end && first <= last && last <= p->count);
  for (int64_t from = 0; from < p->depth; from += p->block)
    for (int64_t panel = first; panel < last; panel++)
      run_panel(p, operands, begin, end, from, panel);
}

// ---- as an operator -----------------------------------------------------------------

typedef struct panel_plan {
  eg_panel_product product;
  eg_panels panels;
  int64_t chunks, groups; // chunks of rows; groups of panels
  uint32_t threads;
} panel_plan;

// Packs a constant matrix. The addresses are: packed, b.
static egraph_status pack_panels(const void *payload, void *const *addresses) {
  const panel_plan *p = payload;
  eg_panels_pack(&p->panels, addresses[1], p->product.b_row, p->product.b_column,
                 addresses[0]);
  return EGRAPH_OK;
}

static size_t bias_bytes(const panel_plan *p) {
  return (size_t)(p->panels.vectors * p->panels.set->vector) * sizeof(float);
}

// Fills the bias up to whole vectors with zeros; addresses: padded, bias.
static egraph_status pad_bias(const void *payload, void *const *addresses) {
  const panel_plan *p = payload;
  memset(addresses[0], 0, bias_bytes(p));
  memcpy(addresses[0], addresses[1], (size_t)p->product.columns * sizeof(float));
  return EGRAPH_OK;
}

// A matrix product. The addresses are: c, a, packed b; then padded bias and z, if any.
typedef struct panel_work {
  const panel_plan *plan;
  eg_panel_operands operands;
} panel_work;

/// Computes parts [begin, end) of a product: a chunk of rows times a group of panels.
static void run_panel_parts(const void *user, int64_t begin, int64_t end) {
  const panel_work *work = user;
  const panel_plan *p = work->plan;
  for (int64_t part = begin; part < end; part++) {
    int64_t group = part % p->groups, chunk = part / p->groups;
    eg_panels_multiply(&p->panels, &work->operands,
                       share_begin(p->product.rows, p->chunks, chunk),
                       share_begin(p->product.rows, p->chunks, chunk + 1),
                       share_begin(p->panels.count, p->groups, group),
                       share_begin(p->panels.count, p->groups, group + 1));
  }
}

static egraph_status run_panels(const void *payload, void *const *addresses) {
  const panel_plan *p = payload;
  const eg_panel_product *product = &p->product;
  const panel_work work = {
      .plan = p,
      .operands = {.c = addresses[0],
                   .a = addresses[1],
                   .packed = addresses[2],
                   .bias = product->has_bias ? addresses[3] : NULL,
                   .z = product->has_z ? addresses[3 + product->has_bias] : NULL,
                   .a_row = product->depth,
                   .c_row = product->columns,
                   .low = product->low,
                   .high = product->high}};
  eg_parts_each(p->chunks * p->groups, 1, p->threads, run_panel_parts, &work);
  return EGRAPH_OK;
}

/// Divides a product among threads: they get rows of c where b is small, otherwise
/// columns of c, so that only one thread reads each number of b.
static void divide(panel_plan *p) {
  const eg_panel_product *product = &p->product;
  int64_t wanted = p->threads <= 1 ? 1 : 2 * (int64_t)p->threads;
  int64_t highest = eg_greater(eg_quotient_up(product->rows, FEWEST_ROWS), 1);
  bool is_small = eg_panels_elements(&p->panels) <= SMALL_WEIGHTS;
  int64_t of_row = p->panels.block + (is_small ? product->columns : 0);
  p->chunks = eg_quotient_up(product->rows,
                             eg_greater(p->panels.set->cached / of_row, FEWEST_ROWS));
  p->groups = 1;
  if (p->chunks >= wanted) return;
  if (is_small) p->chunks = eg_greater(p->chunks, eg_lesser(wanted, highest));
  if (p->chunks >= wanted) return;
  p->groups = eg_lesser(p->panels.count, eg_quotient_up(wanted, p->chunks));
  p->chunks =
      eg_greater(p->chunks, eg_lesser(eg_quotient_up(wanted, p->groups), highest));
}

static panel_plan plan_product(const eg_panel_product *product) {
  panel_plan p = {.product = *product,
                  .panels = eg_panels_of(product->depth, product->columns),
                  .threads = eg_omp_threads()};
  divide(&p);
  return p;
}

egraph_status eg_cpu_add_panels(eg_cpu_builder *builder, const eg_panel_product *product,
                                const uint32_t operands[4]) {
  panel_plan *p;
  eg_place places[5] = {eg_place_result(0), eg_cpu_read(builder, operands[0])};
  uint32_t count = 3;
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof *p, &p));
  *p = plan_product(product);
  eg_place b[] = {{0}, eg_place_operand(operands[1])};
  eg_place bias[] = {{0}, eg_place_operand(operands[2])};
  EG_TRY(eg_cpu_constant(builder, (size_t)eg_panels_elements(&p->panels) * sizeof(float),
                         &b[0]));
  EG_TRY(eg_cpu_add_function(builder, &builder->prepare, pack_panels, p, b, 2));
  places[2] = b[0];
  if (product->has_bias) {
    EG_TRY(eg_cpu_constant(builder, bias_bytes(p), &bias[0]));
    EG_TRY(eg_cpu_add_function(builder, &builder->prepare, pad_bias, p, bias, 2));
    places[count++] = bias[0];
  }
  if (product->has_z) places[count++] = eg_cpu_read(builder, operands[3]);
  builder->kernel = "panels";
  return eg_cpu_add_function(builder, &builder->run, run_panels, p, places, count);
}
