// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/image_conv.h"

#include <assert.h>
#include <math.h>

#include "exec/cpu/kernel_threads.h"
#include "exec/cpu/panels.h"

enum {
  BLOCK = 8, // contiguous channels of a block
  EDGE = 6,  // pixels along an edge of a patch of x
  MATRICES = EDGE * EDGE,
  MADE = 4,         // results along an edge of a patch
  CACHED = 1 << 18, // elements of the matrices of a chunk
  FEWEST = 48,      // least number of patches of a chunk
  TOGETHER = 4,     // patches that a thread takes at once
  APART = 16 // elements between matrices, so that not all begin in one set of a cache
};

typedef struct winograd_plan {
  eg_image_conv conv;
  eg_panels panels;
  int64_t patch_rows, patch_columns, patches, chunk;
  int64_t in, out; // elements from one matrix to the next: of patches, and of sums
  uint32_t threads;
} winograd_plan;

bool eg_winograd_fits(const eg_image_conv *conv) {
  const eg_tile_set *set = eg_tile_set_at(0);
  return set != NULL && set->vector == BLOCK && conv->channels % BLOCK == 0 &&
         conv->made % BLOCK == 0;
}

static winograd_plan plan_patches(const eg_image_conv *conv) {
  winograd_plan p = {.conv = *conv,
                     .panels = eg_panels_of(conv->channels, conv->made),
                     .patch_rows = (conv->rows + MADE - 1) / MADE,
                     .patch_columns = (conv->columns + MADE - 1) / MADE,
                     .threads = eg_omp_threads()};
  int64_t each = MATRICES * (conv->channels + conv->made);
  p.patches = conv->images * p.patch_rows * p.patch_columns;
  p.chunk = eg_lesser(p.patches, p.threads * eg_greater(CACHED / each, FEWEST));
  int64_t chunks = (p.patches + p.chunk - 1) / p.chunk;
  p.chunk = (p.patches + chunks - 1) / chunks;
  p.in = p.chunk * conv->channels + APART;
  p.out = p.chunk * conv->made + APART;
  return p;
}

// ---- weights ------------------------------------------------------------------------

/// Transforms three numbers of a kernel, `step` apart, to six, one for each
/// point (tiles.inc).
static void transform(const double *w, int step, double *out, int out_step) {
  const double a = (double)EG_WINOGRAD_A, b = (double)EG_WINOGRAD_B;
  const double points[] = {a, -a, b, -b}, others[] = {b, b, a, a};
  out[0] = w[0] / (a * a * b * b);
  for (int i = 0; i < 4; i++) {
    double p = points[i], q = others[i];
    out[(i + 1) * out_step] =
        (w[0] + p * w[step] + p * p * w[2 * step]) / (2 * p * p * (p * p - q * q));
  }
  out[5 * out_step] = w[2 * step];
}

static void transform_kernel(const float *w, double out[MATRICES]) {
  double kernel[9], between[EDGE * 3];
  for (int i = 0; i < 9; i++)
    kernel[i] = (double)w[i];
  for (int j = 0; j < 3; j++)
    transform(kernel + j, 3, between + j, 3);
  for (int i = 0; i < EDGE; i++)
    transform(between + 3 * i, 1, out + EDGE * i, 1);
}

// Transforms and packs the weights; addresses: packed, w.
static egraph_status pack_transformed(const void *payload, void *const *addresses) {
  const winograd_plan *p = payload;
  const float *w = addresses[1];
  float *packed = addresses[0];
  int64_t channels = p->conv.channels, matrix = eg_panels_elements(&p->panels);
  double transformed[MATRICES];
  for (int64_t c = 0; c < channels; c++)
    for (int64_t k = 0; k < p->conv.made; k++) {
      transform_kernel(w + (k * channels + c) * 9, transformed);
      float *to = packed + eg_panels_place(&p->panels, c, k);
      for (int64_t i = 0; i < MATRICES; i++)
        to[i * matrix] = (float)transformed[i];
    }
  return EGRAPH_OK;
}

// ---- a chunk ------------------------------------------------------------------------

// A run of Winograd's algorithm. Addresses: result, x, packed weights, matrices, sums;
// then bias and z, if any.
typedef struct winograd_run {
  const winograd_plan *plan;
  const float *x, *packed, *bias, *z;
  float *y, *in, *out;
  int64_t first, count; // first patch of the chunk, and number of patches
} winograd_run;

// The image that contains a patch: x, or the result.
typedef struct patch_image {
  int64_t rows, columns, channels;
  int64_t edge, top, left; // edge of a patch; padding before the first patch
} patch_image;

static eg_patch patch_at(const winograd_plan *p, int64_t index,
                         const patch_image *image) {
  int64_t line = index / p->patch_columns, number = line / p->patch_rows;
  int64_t row = line % p->patch_rows * MADE - image->top;
  int64_t column = index % p->patch_columns * MADE - image->left;
  int64_t pixels = image->rows * image->columns;
  return (eg_patch){.top = eg_greater(0, -row),
                    .left = eg_greater(0, -column),
                    .bottom = eg_lesser(image->edge, image->rows - row),
                    .right = eg_lesser(image->edge, image->columns - column),
                    .origin = number * pixels * image->channels +
                              (row * image->columns + column) * BLOCK,
                    .row = image->columns * BLOCK,
                    .block = pixels * BLOCK,
                    .channels = image->channels};
}

static void run_ins(const void *user, int64_t begin, int64_t end) {
  const winograd_run *run = user;
  const winograd_plan *p = run->plan;
  const eg_image_conv *conv = &p->conv;
  const patch_image image = {conv->height, conv->width, conv->channels,
                             EDGE,         conv->top,   conv->left};
  for (int64_t patch = begin; patch < end; patch++) {
    eg_patch at = patch_at(p, run->first + patch, &image);
    p->panels.set->patch_in(&at, run->x, run->in + patch * conv->channels, p->in);
  }
}

static void run_products(const void *user, int64_t begin, int64_t end) {
  const winograd_run *run = user;
  const winograd_plan *p = run->plan;
  for (int64_t i = begin; i < end; i++) {
    eg_panel_operands operands = {.a = run->in + i * p->in,
                                  .packed =
                                      run->packed + i * eg_panels_elements(&p->panels),
                                  .c = run->out + i * p->out,
                                  .a_row = p->conv.channels,
                                  .c_row = p->conv.made,
                                  .low = -INFINITY,
                                  .high = INFINITY};
    eg_panels_multiply(&p->panels, &operands, 0, run->count, 0, p->panels.count);
  }
}

static void run_outs(const void *user, int64_t begin, int64_t end) {
  const winograd_run *run = user;
  const winograd_plan *p = run->plan;
  const eg_image_conv *conv = &p->conv;
  const patch_image image = {conv->rows, conv->columns, conv->made, MADE, 0, 0};
  const eg_patch_rest rest = {
      .bias = run->bias, .z = run->z, .low = conv->low, .high = conv->high};
  for (int64_t patch = begin; patch < end; patch++) {
    eg_patch at = patch_at(p, run->first + patch, &image);
    p->panels.set->patch_out(&at, run->out + patch * conv->made, p->out, &rest, run->y);
  }
}

static egraph_status run_winograd(const void *payload, void *const *addresses) {
  const winograd_plan *p = payload;
  winograd_run run = {.plan = p,
                      .y = addresses[0],
                      .x = addresses[1],
                      .packed = addresses[2],
                      .in = addresses[3],
                      .out = addresses[4],
                      .bias = p->conv.has_bias ? addresses[5] : NULL,
                      .z = p->conv.has_z ? addresses[5 + p->conv.has_bias] : NULL};
  for (; run.first < p->patches; run.first += p->chunk) {
    run.count = eg_lesser(p->chunk, p->patches - run.first);
    eg_parts_each(run.count, TOGETHER, p->threads, run_ins, &run);
    eg_parts_each(MATRICES, 1, p->threads, run_products, &run);
    eg_parts_each(run.count, TOGETHER, p->threads, run_outs, &run);
  }
  return EGRAPH_OK;
}

egraph_status eg_cpu_add_winograd(eg_cpu_builder *builder, const eg_image_conv *conv,
                                  const uint32_t operands[4]) {
  assert(eg_winograd_fits(conv) && conv->groups == 1);
  winograd_plan *p;
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof *p, &p));
  *p = plan_patches(conv);
  eg_place w[] = {{0}, eg_place_operand(operands[1])};
  EG_TRY(eg_cpu_constant(
      builder, (size_t)(MATRICES * eg_panels_elements(&p->panels)) * sizeof(float),
      &w[0]));
  EG_TRY(eg_cpu_add_function(builder, &builder->prepare, pack_transformed, p, w, 2));
  eg_place places[7] = {
      eg_place_result(0), eg_cpu_read(builder, operands[0]), w[0],
      eg_cpu_scratch(builder, (size_t)(MATRICES * p->in) * sizeof(float)),
      eg_cpu_scratch(builder, (size_t)(MATRICES * p->out) * sizeof(float))};
  uint32_t count = 5;
  if (conv->has_bias) places[count++] = eg_cpu_read(builder, operands[2]);
  if (conv->has_z) places[count++] = eg_cpu_read(builder, operands[3]);
  builder->kernel = "winograd on panels";
  return eg_cpu_add_function(builder, &builder->run, run_winograd, p, places, count);
}
