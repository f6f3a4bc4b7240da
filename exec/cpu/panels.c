// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/panels.h"

#include <math.h>
#include <string.h>

#include "exec/cpu/omp_runtime.h"
#include "exec/cpu/parts.h"

enum {
  VECTOR = EG_PANEL_VECTOR,
  WIDEST = 4,             // vectors of a panel
  MOST_ROWS = 12,         // of a tile
  DEPTH = 768,            // of a panel: 192 kB, a tenth of the cache
  CACHED = 1 << 18,       // elements of a that stay in the cache while panels pass
  FEWEST_ROWS = 24,       // that a thread takes
  SMALL_WEIGHTS = 1 << 17 // elements of b that each thread may read
};

typedef struct panel_plan {
  eg_panel_product product;
  int64_t depth;           // of a block of panels; the last one has what is left
  int64_t vectors, panels; // of b
  int64_t chunks, groups;  // of rows; of panels
  uint32_t threads;
} panel_plan;

// ---- tiles --------------------------------------------------------------------------

typedef struct tile {
  const float *a, *b, *bias, *z; // z: NULL, none
  float *c;
  int64_t a_row, a_block, c_row, c_block, depth;
  bool is_first, is_last; // of the blocks of depth
  float low, high;
  uint32_t mask;     // of the last vector
  const char *ahead; // what to ask for,
  int64_t each;      // bytes in four steps
} tile;

typedef void (*tile_function)(const tile *t);

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define EG_TARGET __attribute__((target("avx512f")))
#define EG_TILE static inline __attribute__((always_inline)) EG_TARGET

bool eg_panels_work(void) { return __builtin_cpu_supports("avx512f") != 0; }

enum { LINE = 64, STEPS_AHEAD = 16 };

EG_TILE __mmask16 mask_of(const tile *t, int vector, int width) {
  return (__mmask16)(vector + 1 == width ? t->mask : 0xffff);
}

#define EG_EACH_SUM(rows, width)                                                         \
  _Pragma("GCC unroll 12") for (int r = 0; r < (rows); r++)                              \
      _Pragma("GCC unroll 4") for (int v = 0; v < (width); v++)

EG_TILE void begin_tile(const tile *t, int rows, int width,
                        __m512 sums[MOST_ROWS][WIDEST]) {
  if (!t->is_first) {
    EG_EACH_SUM(rows, width)
    sums[r][v] =
        _mm512_maskz_loadu_ps(mask_of(t, v, width), t->c + r * t->c_row + v * t->c_block);
    return;
  }
  EG_EACH_SUM(rows, width)
  sums[r][v] = _mm512_loadu_ps(t->bias + v * VECTOR);
  if (t->z == NULL) return;
  EG_EACH_SUM(rows, width)
  sums[r][v] = _mm512_add_ps(
      sums[r][v],
      _mm512_maskz_loadu_ps(mask_of(t, v, width), t->z + r * t->c_row + v * t->c_block));
}

/// Of two equal numbers, and of NaN, maximum and minimum are their second operand.
EG_TILE void end_tile(const tile *t, int rows, int width,
                      __m512 sums[MOST_ROWS][WIDEST]) {
  __m512 low = _mm512_set1_ps(t->is_last ? t->low : -INFINITY);
  __m512 high = _mm512_set1_ps(t->is_last ? t->high : INFINITY);
  EG_EACH_SUM(rows, width)
  _mm512_mask_storeu_ps(t->c + r * t->c_row + v * t->c_block, mask_of(t, v, width),
                        _mm512_min_ps(high, _mm512_max_ps(low, sums[r][v])));
}

EG_TILE void add_step(const tile *t, int rows, int width, const float *a, const float *b,
                      __m512 sums[MOST_ROWS][WIDEST]) {
  __m512 column[WIDEST];
#pragma GCC unroll 4
  for (int v = 0; v < width; v++) {
    _mm_prefetch((const char *)(b + (STEPS_AHEAD * width + v) * VECTOR), _MM_HINT_T0);
    column[v] = _mm512_loadu_ps(b + v * VECTOR);
  }
#pragma GCC unroll 12
  for (int r = 0; r < rows; r++) {
    __m512 x = _mm512_set1_ps(a[r * t->a_row]);
#pragma GCC unroll 4
    for (int v = 0; v < width; v++)
      sums[r][v] = _mm512_fmadd_ps(x, column[v], sums[r][v]);
  }
}

EG_TILE void run_tile(const tile *t, int rows, int width) {
  enum { TOGETHER = 4 };
  __m512 sums[MOST_ROWS][WIDEST];
  const float *a = t->a, *b = t->b;
  const char *ahead = t->ahead;
  int64_t blocks = t->depth / VECTOR;
  begin_tile(t, rows, width, sums);
  for (int64_t i = 0; i < blocks; i++, a += t->a_block)
    for (int k = 0; k < VECTOR; k += TOGETHER) {
      for (const char *end = ahead + t->each; ahead < end; ahead += LINE)
        _mm_prefetch(ahead, _MM_HINT_T1);
#pragma GCC unroll 4
      for (int j = 0; j < TOGETHER; j++, b += width * VECTOR)
        add_step(t, rows, width, a + k + j, b, sums);
    }
  for (int64_t k = 0; k < t->depth % VECTOR; k++, b += width * VECTOR)
    add_step(t, rows, width, a + k, b, sums);
  end_tile(t, rows, width, sums);
}

// Rows and vectors of a tile: sums, a column of b and an element of a are 32 registers.
#define EG_TILES(X)                                                                      \
  X(1, 1)                                                                                \
  X(2, 1)                                                                                \
  X(3, 1)                                                                                \
  X(4, 1)                                                                                \
  X(5, 1)                                                                                \
  X(6, 1)                                                                                \
  X(7, 1)                                                                                \
  X(8, 1)                                                                                \
  X(9, 1)                                                                                \
  X(10, 1)                                                                               \
  X(11, 1)                                                                               \
  X(12, 1)                                                                               \
  X(1, 2)                                                                                \
  X(2, 2)                                                                                \
  X(3, 2)                                                                                \
  X(4, 2)                                                                                \
  X(5, 2)                                                                                \
  X(6, 2)                                                                                \
  X(7, 2)                                                                                \
  X(8, 2)                                                                                \
  X(9, 2)                                                                                \
  X(10, 2)                                                                               \
  X(11, 2)                                                                               \
  X(12, 2)                                                                               \
  X(1, 3)                                                                                \
  X(2, 3)                                                                                \
  X(3, 3)                                                                                \
  X(4, 3) X(5, 3) X(6, 3) X(7, 3) X(8, 3) X(1, 4) X(2, 4) X(3, 4) X(4, 4) X(5, 4) X(6, 4)
#define EG_TILE_FUNCTION(rows, width)                                                    \
  EG_TARGET static void run_tile_##rows##_##width(const tile *t) {                       \
    run_tile(t, rows, width);                                                            \
  }
EG_TILES(EG_TILE_FUNCTION)
#define EG_TILE_ENTRY(rows, width) [width - 1][rows - 1] = run_tile_##rows##_##width,
static const tile_function tiles[WIDEST][MOST_ROWS] = {EG_TILES(EG_TILE_ENTRY)};

#else

bool eg_panels_work(void) { return false; }
static const tile_function tiles[WIDEST][MOST_ROWS] = {{NULL}};

#endif

/// Rows of the highest tile of a width.
static int64_t height_of(int64_t width) {
  static const int64_t heights[WIDEST] = {12, 12, 8, 6};
  return heights[width - 1];
}

// ---- panels -------------------------------------------------------------------------

/// The i-th of `count` shares of a whole, which differ by one at most.
static int64_t share_begin(int64_t whole, int64_t count, int64_t i) {
  int64_t each = whole / count, more = whole % count;
  return each * i + (i < more ? i : more);
}

static int64_t first_vector(const panel_plan *p, int64_t panel) {
  return share_begin(p->vectors, p->panels, panel);
}

static int64_t depth_at(const panel_plan *p, int64_t from) {
  int64_t left = p->product.depth - from;
  return left < p->depth ? left : p->depth;
}

/// Where a panel of the block of rows from `from` on begins.
static int64_t packed_at(const panel_plan *p, int64_t from, int64_t panel) {
  return VECTOR * (from * p->vectors + depth_at(p, from) * first_vector(p, panel));
}

static size_t packed_bytes(const panel_plan *p) {
  return (size_t)(p->product.depth * p->vectors * VECTOR) * sizeof(float);
}

static void pack_panel(const panel_plan *p, int64_t from, int64_t panel, const float *b,
                       float *out) {
  const eg_panel_product *product = &p->product;
  int64_t first = first_vector(p, panel) * VECTOR;
  int64_t end = first_vector(p, panel + 1) * VECTOR;
  for (int64_t k = from; k < from + depth_at(p, from); k++)
    for (int64_t n = first; n < end; n++)
      *out++ = k < product->b_depth && n < product->b_columns
                   ? b[k * product->b_row + n * product->b_column]
                   : 0;
}

// addresses: packed, b.
static egraph_status pack(const void *payload, void *const *addresses) {
  const panel_plan *p = payload;
  for (int64_t from = 0; from < p->product.depth; from += p->depth)
    for (int64_t panel = 0; panel < p->panels; panel++)
      pack_panel(p, from, panel, addresses[1],
                 (float *)addresses[0] + packed_at(p, from, panel));
  return EGRAPH_OK;
}

// addresses: padded, bias (if any).
static egraph_status pad_bias(const void *payload, void *const *addresses) {
  const panel_plan *p = payload;
  float *padded = addresses[0];
  memset(padded, 0, (size_t)(p->vectors * VECTOR) * sizeof *padded);
  if (p->product.has_bias)
    memcpy(padded, addresses[1], (size_t)p->product.b_columns * sizeof *padded);
  return EGRAPH_OK;
}

// ---- the product --------------------------------------------------------------------

// addresses: c, a, packed b, padded bias, z (if any).
typedef struct panel_work {
  const panel_plan *plan;
  void *const *addresses;
  eg_parts parts;
} panel_work;

/// Lines of the next panel that each tile asks for in four steps, in bytes.
static int64_t bytes_ahead(int64_t width, int64_t count) {
  enum { MOST = 4 };
  int64_t lines = (4 * width + count - 1) / count;
  return VECTOR * (int64_t)sizeof(float) * (lines < MOST ? lines : MOST);
}

/// Rows [begin, end) of an image times a panel of the block of depth from `from` on.
static void run_panel(const panel_work *work, int64_t image, int64_t begin, int64_t end,
                      int64_t from, int64_t panel) {
  const panel_plan *p = work->plan;
  const eg_panel_product *product = &p->product;
  int64_t first = first_vector(p, panel), width = first_vector(p, panel + 1) - first;
  int64_t depth = depth_at(p, from), place = image * product->c_image;
  int64_t count = (end - begin + height_of(width) - 1) / height_of(width);
  int64_t left = product->columns - (first + width - 1) * VECTOR;
  const float *a = (const float *)work->addresses[1] + image * product->a_image +
                   from / VECTOR * product->a_block;
  const float *b = (const float *)work->addresses[2] + packed_at(p, from, panel);
  tile t = {.b = b,
            .bias = (const float *)work->addresses[3] + first * VECTOR,
            .a_row = product->a_row,
            .a_block = product->a_block,
            .c_row = product->c_row,
            .c_block = product->c_block,
            .depth = depth,
            .is_first = from == 0,
            .is_last = from + depth == product->depth,
            .low = product->low,
            .high = product->high,
            .mask = left < VECTOR ? (1u << left) - 1 : 0xffffu,
            .ahead = (const char *)(b + depth * width * VECTOR),
            .each = bytes_ahead(width, count)};
  const char *asked = t.ahead + depth * width * VECTOR * (int64_t)sizeof(float);
  place += first * product->c_block;
  for (int64_t i = 0; i < count; i++) {
    int64_t row = begin + share_begin(end - begin, count, i);
    int64_t next = begin + share_begin(end - begin, count, i + 1);
    t.a = a + row * t.a_row;
    t.c = (float *)work->addresses[0] + place + row * t.c_row;
    t.z =
        product->has_z ? (const float *)work->addresses[4] + place + row * t.c_row : NULL;
    tiles[width - 1][next - row - 1](&t);
    t.ahead += depth / 4 * t.each;
    if (t.ahead >= asked) t.each = 0;
  }
}

/// A chunk of rows times a group of panels.
static void run_part(const panel_work *work, int64_t part) {
  const panel_plan *p = work->plan;
  int64_t group = part % p->groups, chunk = part / p->groups % p->chunks;
  int64_t image = part / p->groups / p->chunks;
  int64_t begin = share_begin(p->product.rows, p->chunks, chunk);
  int64_t end = share_begin(p->product.rows, p->chunks, chunk + 1);
  for (int64_t from = 0; from < p->product.depth; from += p->depth)
    for (int64_t panel = share_begin(p->panels, p->groups, group);
         panel < share_begin(p->panels, p->groups, group + 1); panel++)
      run_panel(work, image, begin, end, from, panel);
}

static void run_parts(void *shared) {
  panel_work *work = shared;
  uint32_t share = eg_parts_enter(&work->parts);
  int64_t part;
  while (eg_parts_take(&work->parts, &share, &part))
    run_part(work, part);
}

static egraph_status run_panels(const void *payload, void *const *addresses) {
  const panel_plan *p = payload;
  panel_work work = {.plan = p, .addresses = addresses};
  eg_parts_run(&work.parts, p->product.images * p->chunks * p->groups, run_parts, &work,
               p->threads);
  return EGRAPH_OK;
}

// ---- the plan -----------------------------------------------------------------------

static int64_t quotient_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/// Threads take rows where b is small, otherwise columns, so that each number of b is
/// read by one of them.
static void divide(panel_plan *p) {
  const eg_panel_product *product = &p->product;
  int64_t wanted = p->threads <= 1 ? 1 : 2 * (int64_t)p->threads;
  int64_t highest = most(quotient_up(product->rows, FEWEST_ROWS), 1);
  bool is_small = product->depth * p->vectors * VECTOR <= SMALL_WEIGHTS;
  p->chunks = quotient_up(product->rows, most(CACHED / p->depth, FEWEST_ROWS));
  p->groups = 1;
  if (product->images * p->chunks >= wanted) return;
  if (is_small) p->chunks = most(p->chunks, least(wanted, highest));
  if (product->images * p->chunks >= wanted) return;
  p->groups = least(p->panels, quotient_up(wanted, product->images * p->chunks));
  p->chunks = most(p->chunks, least(quotient_up(wanted, p->groups), highest));
}

static panel_plan plan_of(const eg_panel_product *product) {
  panel_plan p = {.product = *product,
                  .vectors = quotient_up(product->columns, VECTOR),
                  .threads = eg_omp_threads()};
  p.panels = quotient_up(p.vectors, WIDEST);
  p.depth = quotient_up(product->depth, quotient_up(product->depth, DEPTH));
  p.depth = quotient_up(p.depth, VECTOR) * VECTOR;
  divide(&p);
  return p;
}

static egraph_status add_constants(eg_cpu_builder *builder, const panel_plan *p,
                                   const uint32_t operands[4], eg_place *out_b,
                                   eg_place *out_bias) {
  eg_place b[] = {{0}, eg_place_operand(operands[1])};
  eg_place bias[] = {{0}, eg_place_operand(operands[2])};
  EG_TRY(eg_cpu_constant(builder, packed_bytes(p), &b[0]));
  EG_TRY(
      eg_cpu_constant(builder, (size_t)(p->vectors * VECTOR) * sizeof(float), &bias[0]));
  EG_TRY(eg_cpu_add_function(builder, &builder->prepare, pack, p, b, 2));
  *out_b = b[0];
  *out_bias = bias[0];
  return eg_cpu_add_function(builder, &builder->prepare, pad_bias, p, bias,
                             p->product.has_bias ? 2 : 1);
}

egraph_status eg_cpu_add_panels(eg_cpu_builder *builder, const eg_panel_product *product,
                                const uint32_t operands[4]) {
  panel_plan *p;
  eg_place places[5] = {eg_place_result(0), eg_cpu_read(builder, operands[0])};
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof *p, &p));
  *p = plan_of(product);
  EG_TRY(add_constants(builder, p, operands, &places[2], &places[3]));
  if (product->has_z) places[4] = eg_cpu_read(builder, operands[3]);
  builder->kernel = "panels";
  return eg_cpu_add_function(builder, &builder->run, run_panels, p, places,
                             product->has_z ? 5 : 4);
}
