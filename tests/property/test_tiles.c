// The tiles and patches of every set that the processor has (exec/cpu/tiles.h) beside
// plain loops: all heights and widths, depths, last vectors and blocks of depth; patches
// at the borders of an image.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/tiles.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/hash.h"
#include "tests/testing.h"

enum {
  MOST_DEPTH = 40,
  MOST_COLUMNS = 64,
  ROW = MOST_COLUMNS + 3,
  EDGE = 9,
  CHANNELS = 32
};

static float draw(eg_rng *rng) { return (float)eg_rng_unit(rng) * 2 - 1; }

static void fill(eg_rng *rng, float *to, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    to[i] = draw(rng);
}

// ---- tiles --------------------------------------------------------------------------

typedef struct product {
  float a[EG_TILE_MOST_ROWS * MOST_DEPTH], b[MOST_DEPTH * MOST_COLUMNS];
  float bias[MOST_COLUMNS];
  float z[EG_TILE_MOST_ROWS * ROW], c[EG_TILE_MOST_ROWS * ROW];
  float before[EG_TILE_MOST_ROWS * ROW];
} product;

static double expected(const product *p, const eg_tile *t, int64_t row, int64_t column,
                       int64_t width) {
  double sum = (double)p->before[row * ROW + column];
  if (t->is_first) {
    sum = t->bias != NULL ? (double)t->bias[column] : 0;
    if (t->z != NULL) sum += (double)t->z[row * ROW + column];
  }
  for (int64_t k = 0; k < t->depth; k++)
    sum += (double)p->a[row * MOST_DEPTH + k] * (double)p->b[k * width + column];
  if (!t->is_last) return sum;
  return fmin(fmax(sum, (double)t->low), (double)t->high);
}

/// `width` in elements. What lies beside the tile must stay as it was.
static void compare_tile(const product *p, const eg_tile *t, int64_t rows, int64_t width,
                         int64_t used) {
  for (int64_t r = 0; r < EG_TILE_MOST_ROWS; r++)
    for (int64_t n = 0; n < ROW; n++) {
      double found = (double)p->c[r * ROW + n];
      double wanted = r < rows && n < used ? expected(p, t, r, n, width)
                                           : (double)p->before[r * ROW + n];
      if (fabs(found - wanted) > 1e-5)
        fail_msg("row %d, column %d is %g, not %g", (int)r, (int)n, found, wanted);
    }
}

static void check_tile(eg_rng *rng, const eg_tile_set *set, int64_t rows, int64_t width) {
  static product p;
  fill(rng, (float *)&p, sizeof p / sizeof(float));
  memcpy(p.c, p.before, sizeof p.c);
  eg_tile t = {.a = p.a,
               .b = p.b,
               .bias = eg_rng_below(rng, 2) ? p.bias : NULL,
               .z = eg_rng_below(rng, 2) ? p.z : NULL,
               .c = p.c,
               .a_row = MOST_DEPTH,
               .c_row = ROW,
               .depth = 1 + (int64_t)eg_rng_below(rng, MOST_DEPTH),
               .is_first = eg_rng_below(rng, 2),
               .is_last = eg_rng_below(rng, 2),
               .low = -0.5f,
               .high = 0.75f,
               .last = 1 + (int64_t)eg_rng_below(rng, (uint64_t)set->vector),
               .ahead = (const char *)p.b};
  set->tiles[width - 1][rows - 1](&t);
  compare_tile(&p, &t, rows, width * set->vector, (width - 1) * set->vector + t.last);
}

static void tiles_are_sums_of_products(void **unused) {
  (void)unused;
  eg_rng rng = {test_seed(3)};
  size_t rounds = test_rounds(20);
  const eg_tile_set *set;
  for (uint32_t s = 0; (set = eg_tile_set_at(s)) != NULL; s++)
    for (int64_t width = 1; width <= set->widest; width++)
      for (int64_t rows = 1; rows <= set->heights[width - 1]; rows++)
        for (size_t i = 0; i < rounds; i++)
          check_tile(&rng, set, rows, width);
}

// ---- patches ------------------------------------------------------------------------

/// A kernel's values at the five points, divided by Lagrange's denominators, and at
/// infinity, in both directions.
static void transform_kernel(const double *w, double *out) {
  const double a = (double)EG_WINOGRAD_A, b = (double)EG_WINOGRAD_B;
  const double points[] = {0, a, -a, b, -b};
  double rows[6][3];
  for (int i = 0; i < 5; i++) {
    double below = 1;
    for (int j = 0; j < 5; j++)
      if (j != i) below *= points[i] - points[j];
    for (int k = 0; k < 3; k++)
      rows[i][k] = pow(points[i], k) / below;
  }
  memcpy(rows[5], (double[]){0, 0, 1}, sizeof rows[5]);
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      out[6 * i + j] = 0;
      for (int r = 0; r < 3; r++)
        for (int s = 0; s < 3; s++)
          out[6 * i + j] += rows[i][r] * rows[j][s] * w[3 * r + s];
    }
}

typedef struct picture {
  float x[EDGE * EDGE * CHANNELS], y[EDGE * EDGE * CHANNELS], z[EDGE * EDGE * CHANNELS];
  float bias[CHANNELS], matrices[36 * CHANNELS];
  double w[9];
} picture;

static int64_t place_of(const eg_tile_set *set, int64_t row, int64_t column, int64_t c) {
  return (c / set->vector * EDGE * EDGE + row * EDGE + column) * set->vector +
         c % set->vector;
}

/// A patch of `edge` pixels at (row, column) of the picture.
static eg_patch patch_at(const eg_tile_set *set, int64_t row, int64_t column,
                         int64_t edge) {
  return (eg_patch){.top = row < 0 ? -row : 0,
                    .left = column < 0 ? -column : 0,
                    .bottom = edge < EDGE - row ? edge : EDGE - row,
                    .right = edge < EDGE - column ? edge : EDGE - column,
                    .origin = (row * EDGE + column) * set->vector,
                    .row = EDGE * set->vector,
                    .block = EDGE * EDGE * set->vector,
                    .channels = CHANNELS};
}

/// Each channel by the same kernel, so that a product is a number times a row.
static void run_patch(const eg_tile_set *set, picture *p, int64_t row, int64_t column) {
  double transformed[36];
  eg_patch in = patch_at(set, row - 1, column - 1, 6),
           out = patch_at(set, row, column, 4);
  eg_patch_rest rest = {.bias = p->bias, .z = p->z, .low = -1, .high = 1.5f};
  transform_kernel(p->w, transformed);
  set->patch_in(&in, p->x, p->matrices, CHANNELS);
  for (int i = 0; i < 36 * CHANNELS; i++)
    p->matrices[i] *= (float)transformed[i / CHANNELS];
  set->patch_out(&out, p->matrices, CHANNELS, &rest, p->y);
}

static double filtered(const eg_tile_set *set, const picture *p, int64_t row,
                       int64_t column, int64_t c) {
  double sum = (double)p->bias[c] + (double)p->z[place_of(set, row, column, c)];
  for (int64_t i = 0; i < 9; i++) {
    int64_t r = row + i / 3 - 1, s = column + i % 3 - 1;
    if (r >= 0 && r < EDGE && s >= 0 && s < EDGE)
      sum += p->w[i] * (double)p->x[place_of(set, r, s, c)];
  }
  return fmin(fmax(sum, -1), 1.5);
}

static void check_picture(eg_rng *rng, const eg_tile_set *set) {
  static picture p;
  fill(rng, (float *)&p, offsetof(picture, w) / sizeof(float));
  for (int i = 0; i < 9; i++)
    p.w[i] = (double)draw(rng);
  for (int64_t row = 0; row < EDGE; row += 4)
    for (int64_t column = 0; column < EDGE; column += 4)
      run_patch(set, &p, row, column);
  for (int64_t i = 0; i < EDGE * EDGE; i++)
    for (int64_t c = 0; c < CHANNELS; c++) {
      double found = (double)p.y[place_of(set, i / EDGE, i % EDGE, c)];
      double wanted = filtered(set, &p, i / EDGE, i % EDGE, c);
      if (fabs(found - wanted) > 1e-5)
        fail_msg("pixel %d, channel %d is %g, not %g", (int)i, (int)c, found, wanted);
    }
}

static void patches_are_filtered(void **unused) {
  (void)unused;
  eg_rng rng = {test_seed(4)};
  size_t rounds = test_rounds(30);
  const eg_tile_set *set;
  for (uint32_t s = 0; (set = eg_tile_set_at(s)) != NULL; s++)
    for (size_t i = 0; i < rounds; i++)
      check_picture(&rng, set);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tiles_are_sums_of_products),
                                     cmocka_unit_test(patches_are_filtered)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
