// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/image_conv.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "exec/cpu/kernel_threads.h"
#include "exec/cpu/tiles.h"

enum {
  BLOCK = 8,       // contiguous channels of a block
  FEW = 16,        // most channels of a group; with more, oneDNN is as fast or faster
  CACHED = 1 << 12 // elements of a band of x, which fill half of the nearest cache
};

typedef struct grouped_plan {
  eg_image_conv conv;
  const eg_tile_set *set;
  int64_t blocks, made; // number of blocks of x, and of the result, in a group
  int64_t pixels;       // pixels of a padded row
  int64_t band, bands;  // rows of the result in a band, bands of an image
  int64_t line, plane;  // elements of a padded row, and of a block of a band
  int64_t kernel;       // elements of the weights for one block of the result's channels
  int64_t packed;       // elements of all weights; 1 follows them when all are finite
  uint32_t threads;
} grouped_plan;

bool eg_grouped_fits(const eg_image_conv *conv) {
  const eg_tile_set *set = eg_tile_set_at(0);
  return set != NULL && set->vector == BLOCK && conv->groups > 1 &&
         conv->channels % BLOCK == 0 && conv->made % BLOCK == 0 &&
         conv->channels <= FEW && conv->kernel[0] * conv->kernel[1] > 1 &&
         conv->strides[1] <= EG_MOST_STRIDE;
}

/// Returns how many elements of x along an axis `results` neighbouring results read.
static int64_t extent_of(const eg_image_conv *conv, int axis, int64_t results) {
  assert(results > 0);
  return (results - 1) * conv->strides[axis] +
         (conv->kernel[axis] - 1) * conv->dilations[axis] + 1;
}

static grouped_plan plan_groups(const eg_image_conv *conv) {
  grouped_plan p = {.conv = *conv,
                    .set = eg_tile_set_at(0),
                    .blocks = conv->channels / BLOCK,
                    .made = conv->made / BLOCK,
                    .pixels = extent_of(conv, 1, conv->columns),
                    .kernel = conv->kernel[0] * conv->kernel[1] * conv->channels * BLOCK,
                    .threads = eg_omp_threads()};
  p.line = p.pixels * BLOCK;
  p.packed = conv->groups * p.made * p.kernel;
  int64_t spare = CACHED / (p.line * p.blocks) - extent_of(conv, 0, 1);
  p.band = spare < 0 ? 1 : eg_lesser(conv->rows, 1 + spare / conv->strides[0]);
  p.bands = (conv->rows + p.band - 1) / p.band;
  p.band = (conv->rows + p.bands - 1) / p.bands;
  p.plane = extent_of(conv, 0, p.band) * p.line;
  if (p.threads > EG_MAX_SHARES) p.threads = EG_MAX_SHARES; // each share has its own band
  return p;
}

// ---- weights ------------------------------------------------------------------------

/// Packs the weights from a block of input channels to a block of result channels: [tap,
/// channel, result].
static float *pack_block(const grouped_plan *p, const float *w, float *to) {
  int64_t taps = p->conv.kernel[0] * p->conv.kernel[1];
  for (int64_t tap = 0; tap < taps; tap++)
    for (int64_t c = 0; c < BLOCK; c++)
      for (int64_t k = 0; k < BLOCK; k++)
        *to++ = w[(k * p->conv.channels + c) * taps + tap];
  return to;
}

static bool are_finite(const float *values, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (!isfinite(values[i])) return false;
  return true;
}

// Packs the weights; addresses: packed, w.
static egraph_status pack_groups(const void *payload, void *const *addresses) {
  const grouped_plan *p = payload;
  const eg_image_conv *conv = &p->conv;
  const float *w = addresses[1];
  float *to = addresses[0];
  int64_t taps = conv->kernel[0] * conv->kernel[1];
  for (int64_t k = 0; k < conv->groups * conv->made; k += BLOCK)
    for (int64_t c = 0; c < conv->channels; c += BLOCK)
      to = pack_block(p, w + (k * conv->channels + c) * taps, to);
  *to = are_finite(to - p->packed, p->packed) ? 1 : 0;
  return EGRAPH_OK;
}

// ---- a band -------------------------------------------------------------------------

// A run of a grouped convolution. Addresses: result, x, packed weights, bands of threads;
// then bias and z, if any.
typedef struct grouped_run {
  const grouped_plan *plan;
  const float *x, *packed, *bias, *z;
  float *y;
  int64_t widest; // most pixels of a tile
} grouped_run;

typedef struct grouped_band {
  int64_t image, group;
  int64_t row, rows; // rows of the result
  float *padded;
} grouped_band;

/// Returns the row of x at which a band (the rows that a thread copies with padding)
/// begins; it may lie in the padding.
static int64_t first_row(const grouped_plan *p, const grouped_band *band) {
  return band->row * p->conv.strides[0] - p->conv.top;
}

static bool is_inside(const grouped_plan *p, int64_t row) {
  return row >= 0 && row < p->conv.height;
}

static void set_zeros(float *to, int64_t count) {
  memset(to, 0, (size_t)count * sizeof(float));
}

static void pad_row(const grouped_plan *p, const float *from, float *to) {
  int64_t begin = eg_lesser(p->conv.left * BLOCK, p->line);
  int64_t end = eg_lesser(begin + p->conv.width * BLOCK, p->line);
  set_zeros(to, begin);
  memcpy(to + begin, from, (size_t)(end - begin) * sizeof(float));
  set_zeros(to + end, p->line - end);
}

/// Copies a band of rows of x; columns of the padding become zeros, rows of the padding
/// are skipped and never read.
static void pad_band(const grouped_run *run, const grouped_band *band) {
  const grouped_plan *p = run->plan;
  int64_t first = first_row(p, band), rows = extent_of(&p->conv, 0, band->rows);
  int64_t block = (band->image * p->conv.groups + band->group) * p->blocks;
  for (int64_t b = 0; b < p->blocks; b++)
    for (int64_t i = 0; i < rows; i++) {
      int64_t line = (block + b) * p->conv.height + first + i;
      if (is_inside(p, first + i))
        pad_row(p, run->x + line * p->conv.width * BLOCK,
                band->padded + b * p->plane + i * p->line);
    }
}

/// Removes taps of one pixel in the padding: zero times an infinite weight would be NaN.
static void leave_padding_out(const grouped_plan *p, int64_t column, eg_pixels *t) {
  const eg_image_conv *conv = &p->conv;
  int64_t step = conv->dilations[1], first = column * conv->strides[1] - conv->left;
  while (t->taps > 0 && first < 0) {
    t->taps--;
    first += step;
    t->a += t->a_tap;
    t->b += BLOCK * BLOCK;
  }
  while (t->taps > 0 && first + (t->taps - 1) * step >= conv->width)
    t->taps--;
}

/// Computes row `row` of a band of result rows, for the channels of block number `block`.
static void run_row(const grouped_run *run, const grouped_band *band, int64_t row,
                    int64_t block) {
  const grouped_plan *p = run->plan;
  const eg_image_conv *conv = &p->conv;
  int64_t above = row * conv->strides[0], first = first_row(p, band) + above;
  int64_t line = (band->image * conv->groups * p->made + block) * conv->rows;
  int64_t begin = 0, end = conv->kernel[0]; // lines of the kernel that lie in the image
  while (begin < end && !is_inside(p, first + begin * conv->dilations[0]))
    begin++;
  while (begin < end && !is_inside(p, first + (end - 1) * conv->dilations[0]))
    end--;
  eg_pixels t = {.bias = run->bias != NULL ? run->bias + block * BLOCK : NULL,
                 .blocks = p->blocks,
                 .lines = end - begin,
                 .a_block = p->plane,
                 .a_line = conv->dilations[0] * p->line,
                 .a_tap = conv->dilations[1] * BLOCK,
                 .b_block = p->kernel / p->blocks,
                 .b_line = conv->kernel[1] * BLOCK * BLOCK,
                 .low = conv->low,
                 .high = conv->high};
  int64_t tiles = (conv->columns + run->widest - 1) / run->widest;
  for (int64_t i = 0; i < tiles; i++) {
    int64_t from = conv->columns * i / tiles, to = conv->columns * (i + 1) / tiles;
    int64_t place = ((line + band->row + row) * conv->columns + from) * BLOCK;
    t.a = band->padded + above * p->line + begin * t.a_line +
          from * conv->strides[1] * BLOCK;
    t.b = run->packed + block * p->kernel + begin * t.b_line;
    t.z = run->z != NULL ? run->z + place : NULL;
    t.c = run->y + place;
    t.taps = conv->kernel[1];
    if (run->widest == 1) leave_padding_out(p, from, &t);
    p->set->pixels[conv->strides[1] - 1][to - from - 1](&t);
  }
}

static void run_band(const void *user, int64_t part, float *padded) {
  const grouped_run *run = user;
  const grouped_plan *p = run->plan;
  const eg_image_conv *conv = &p->conv;
  int64_t line = part / p->bands, row = part % p->bands * p->band;
  grouped_band band = {.image = line / conv->groups,
                       .group = line % conv->groups,
                       .row = row,
                       .rows = eg_lesser(p->band, conv->rows - row),
                       .padded = padded};
  pad_band(run, &band);
  for (int64_t block = 0; block < p->made; block++)
    for (int64_t i = 0; i < band.rows; i++)
      run_row(run, &band, i, band.group * p->made + block);
}

static egraph_status run_grouped(const void *payload, void *const *addresses) {
  const grouped_plan *p = payload;
  grouped_run run = {.plan = p,
                     .y = addresses[0],
                     .x = addresses[1],
                     .packed = addresses[2],
                     .bias = p->conv.has_bias ? addresses[4] : NULL,
                     .z = p->conv.has_z ? addresses[4 + p->conv.has_bias] : NULL};
  run.widest = run.packed[p->packed] != 0 ? EG_MOST_PIXELS : 1;
  int64_t bands = p->conv.images * p->conv.groups * p->bands;
  eg_parts_with_scratch(bands, p->threads, addresses[3], p->blocks * p->plane, run_band,
                        &run);
  return EGRAPH_OK;
}

egraph_status eg_cpu_add_grouped(eg_cpu_builder *builder, const eg_image_conv *conv,
                                 const uint32_t operands[4]) {
  assert(eg_grouped_fits(conv));
  grouped_plan *p;
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof *p, &p));
  *p = plan_groups(conv);
  int64_t bands = p->threads * p->blocks * p->plane;
  eg_place w[] = {{0}, eg_place_operand(operands[1])};
  EG_TRY(eg_cpu_constant(builder, (size_t)(p->packed + 1) * sizeof(float), &w[0]));
  EG_TRY(eg_cpu_add_function(builder, &builder->prepare, pack_groups, p, w, 2));
  eg_place places[6] = {eg_place_result(0), eg_cpu_read(builder, operands[0]), w[0],
                        eg_cpu_scratch(builder, (size_t)bands * sizeof(float))};
  uint32_t count = 4;
  if (conv->has_bias) places[count++] = eg_cpu_read(builder, operands[2]);
  if (conv->has_z) places[count++] = eg_cpu_read(builder, operands[3]);
  builder->kernel = "groups on tiles";
  return eg_cpu_add_function(builder, &builder->run, run_grouped, p, places, count);
}
