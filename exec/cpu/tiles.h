// The innermost loops of products and of convolutions, once for each width of vectors:
// tiles.inc is compiled for AVX2 and for AVX-512, and the processor's version is used.
//
// A tile of a product is a few rows of c times a few vectors, computed in registers; c =
// clip(a b + bias + z). A tile adds the products of a row in the order of depth, so the
// bits do not depend on how rows are divided into tiles.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_TILES_H
#define EG_EXEC_CPU_TILES_H

#include <stdbool.h>
#include <stdint.h>

static inline int64_t eg_lesser(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t eg_greater(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t eg_quotient_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

enum { EG_TILE_MOST_ROWS = 12, EG_TILE_WIDEST = 4 };

typedef struct eg_tile {
  const float *a, *b, *bias, *z; // bias or z NULL: none
  float *c;
  int64_t a_row, c_row, depth;
  bool is_first, is_last; // first or last of the blocks of depth
  float low, high;
  int64_t last;      // elements of the last vector
  const char *ahead; // memory to prefetch
  int64_t each;      // bytes to prefetch in four steps
} eg_tile;

typedef void (*eg_tile_function)(const eg_tile *t);

/// The points of Winograd's algorithm besides 0 and infinity: +-A and +-B.
#define EG_WINOGRAD_A 0.625f
#define EG_WINOGRAD_B 1.5f

/// 6x6 pixels, or 4x4 results, of an image. Pixels from `top` and `left` up to before
/// `bottom` and `right` lie in the image.
typedef struct eg_patch {
  int64_t top, left, bottom, right;
  int64_t origin;     // place of the first pixel, also when it is outside of the image
  int64_t row, block; // steps between rows, and between blocks of a vector of channels
  int64_t channels;
} eg_patch;

/// Transforms a patch; element (i, j) of the result is a row of matrix number 6 i + j.
/// `matrix` is the step from one matrix to the next.
typedef void (*eg_patch_in)(const eg_patch *patch, const float *x, float *row,
                            int64_t matrix);

/// What follows the sums of a convolution: bias and z are added (NULL: none), then the
/// result is clipped.
typedef struct eg_patch_rest {
  const float *bias, *z;
  float low, high;
} eg_patch_rest;

/// Computes 4x4 results from 36 sums, one row of each of 36 matrices.
typedef void (*eg_patch_out)(const eg_patch *patch, const float *row, int64_t matrix,
                             const eg_patch_rest *rest, float *y);

enum { EG_MOST_PIXELS = 14, EG_MOST_STRIDE = 2 };

/// A few neighbouring pixels of a vector of channels, the results of a convolution: c =
/// clip(sum of a b over blocks, lines and taps of the kernel + bias + z). b is [block,
/// line, tap, channel, vector]; lines at its ends may be left out.
typedef struct eg_pixels {
  const float *a, *b, *bias, *z; // bias or z NULL: none
  float *c;
  int64_t blocks, lines, taps;    // blocks of a vector of channels
  int64_t a_block, a_line, a_tap; // steps from one to the next
  int64_t b_block, b_line;
  float low, high;
} eg_pixels;

typedef void (*eg_pixels_function)(const eg_pixels *t);

enum { EG_MOST_TAPS = 8 };

/// A line of neighbouring taps in the gradient of a depthwise convolution's weights, for
/// a vector of channels: sums[tap] += x[pixel, tap] d[pixel], over rows of pixels. Sums
/// and pixels of d are contiguous vectors.
typedef struct eg_taps {
  const float *x, *d;
  float *sums;
  int64_t rows, pixels;
  int64_t x_row, x_pixel, x_tap, d_row; // steps from one to the next
} eg_taps;

typedef void (*eg_taps_function)(const eg_taps *t);

/// Copies `count` vectors, `step` apart, of which only the first `width` elements are
/// read; the others become 0.
typedef void (*eg_gather)(const float *from, int64_t step, int64_t width, int64_t count,
                          float *to);

enum { EG_TURNED = 16 }; // rows of a matrix that are transposed together

/// Copies the transpose of a matrix; `from_row` and `to_row` are steps between rows.
typedef void (*eg_turn)(const float *from, int64_t rows, int64_t columns,
                        int64_t from_row, float *to, int64_t to_row);
/// Returns the largest of `count` numbers, which may lie at any address; NaN is ignored.
typedef float (*eg_row_most)(const float *x, int64_t count);
/// Replaces `count` numbers, whole vectors, by exp(scale x - shift); returns their sum.
/// scale x - shift must be at most 88; far below -87 the result is 0.
typedef float (*eg_row_exp)(float *x, int64_t count, float scale, float shift);
typedef void (*eg_row_scale)(float *x, int64_t count, float factor);
typedef bool (*eg_row_is_finite)(const float *x, int64_t count);
typedef float (*eg_row_dot)(const float *a, const float *b, int64_t count);

/// `count` scores x, whole vectors, become weights w = exp(scale x - shift), and the
/// weights' cotangents y become those of the scores, factor w (y - level). Bounds as of
/// eg_row_exp.
typedef struct eg_row_gradient {
  float *x, *y;
  const float *shift, *level; // one for each score
  int64_t count;
  float scale, factor;
} eg_row_gradient;
typedef void (*eg_row_weigh)(const eg_row_gradient *row);

typedef struct eg_tile_set {
  int64_t vector;                  // elements of a vector
  int64_t widest;                  // most vectors of a tile with many rows
  int64_t depth;                   // depth at which a panel stays in the cache
  int64_t cached;                  // elements of a that stay in the cache
  int64_t heights[EG_TILE_WIDEST]; // [w - 1]: rows of the highest tile of w vectors
  eg_tile_function tiles[EG_TILE_WIDEST][EG_TILE_MOST_ROWS];
  eg_turn turn;
  eg_turn turn_past_caches; // writes to memory without reading it into caches first
  eg_row_most row_most;
  eg_row_exp row_exp;
  eg_row_scale row_scale;
  eg_row_is_finite row_is_finite;
  eg_row_dot row_dot;
  eg_row_weigh row_weigh;
  eg_patch_in patch_in;
  eg_patch_out patch_out;
  eg_gather gather;
  eg_taps_function taps[EG_MOST_TAPS];                       // [taps - 1]
  eg_pixels_function pixels[EG_MOST_STRIDE][EG_MOST_PIXELS]; // [stride - 1][pixels - 1]
} eg_tile_set;

extern const eg_tile_set eg_tiles_avx2, eg_tiles_avx512;
/// Returns the loops for one width of vectors, the widest first; NULL: no more.
const eg_tile_set *eg_tile_set_at(uint32_t index);

#endif
