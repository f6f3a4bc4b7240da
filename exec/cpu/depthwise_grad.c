// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "exec/cpu/image_conv.h"
#include "exec/cpu/kernel_threads.h"
#include "exec/cpu/tiles.h"

enum { X, COTANGENT };        // operands
enum { ROWS, COLUMNS, AXES }; // axes of an image; a line has one row

enum {
  CACHED = 1 << 16, // elements of a band of x, which stay in the second cache
  UNITS = 32        // chunks for which there may be threads
};

/// How an operand is stored: the steps between images, groups of `block` channels,
/// channels within a group, and pixels.
typedef struct storage {
  int64_t image, group, channel, pixel, block;
} storage;

typedef struct depthwise_plan {
  const eg_tile_set *set;
  storage x, d;
  int64_t images, channels;
  int64_t size[AXES], results[AXES]; // of x, of the cotangent
  int64_t kernel[AXES], strides[AXES], dilations[AXES], padding[AXES];
  int64_t taps;
  int64_t vectors;     // vectors of channels
  int64_t band, bands; // rows of the cotangent in a band; bands of an image
  int64_t chunks;      // of the bands of all images
  int64_t pixels;      // of a padded row of x
  int64_t x_floats, d_floats, turned_floats; // scratch for a band
  int64_t floats;                            // scratch of a thread
  uint32_t threads;
} depthwise_plan;

// ---- the plan -------------------------------------------------------------------------

static bool is_vector_of(const eg_tile_set *set, const eg_type *type) {
  uint32_t block = eg_format_block((eg_format)type->layout.format);
  return block == 1 || block % set->vector == 0;
}

/// Returns the tiles with the widest vectors that divide the blocks of channels.
static const eg_tile_set *find_tiles(const eg_node_spec *spec) {
  const eg_tile_set *set;
  for (uint32_t i = 0; (set = eg_tile_set_at(i)) != NULL; i++)
    if (is_vector_of(set, &spec->inputs[X]) &&
        is_vector_of(set, &spec->inputs[COTANGENT]))
      return set;
  return NULL;
}

bool eg_depthwise_grad_fits(const eg_node_spec *spec) {
  const eg_type *x = &spec->inputs[X], *d = &spec->inputs[COTANGENT];
  int64_t channels = x->dims[1];
  return x->dtype == EGRAPH_FLOAT32 && (x->rank == 3 || x->rank == 4) && channels > 1 &&
         eg_attr_at(spec->attrs, EG_A_CONV_GRAD_WEIGHT_GROUP)->i == channels &&
         d->dims[1] == channels && eg_type_elements(d) > 0 && find_tiles(spec) != NULL;
}

static storage storage_of(const eg_type *type, int64_t pixels) {
  int64_t channels = type->dims[1];
  int64_t block = eg_format_block((eg_format)type->layout.format);
  if (type->layout.format == EG_FORMAT_NHWC)
    return (storage){pixels * channels, channels, 1, channels, channels};
  if (block == 1) return (storage){pixels * channels, pixels, 0, 1, 1};
  return (storage){(channels + block - 1) / block * block * pixels, block * pixels, 1,
                   block, block};
}

/// Returns how many elements of x along an axis `results` neighbouring results read.
static int64_t extent_of(const depthwise_plan *p, int axis, int64_t results) {
  return (results - 1) * p->strides[axis] + (p->kernel[axis] - 1) * p->dilations[axis] +
         1;
}

static void read_axes(const eg_node_spec *spec, depthwise_plan *p) {
  const eg_attrs *attrs = spec->attrs;
  uint32_t spatial = spec->inputs[X].rank - 2;
  for (int axis = 0; axis < AXES; axis++)
    p->size[axis] = p->results[axis] = p->kernel[axis] = p->strides[axis] =
        p->dilations[axis] = 1;
  for (uint32_t i = 0; i < spatial; i++) {
    uint32_t axis = i + AXES - spatial;
    p->size[axis] = spec->inputs[X].dims[i + 2];
    p->results[axis] = spec->inputs[COTANGENT].dims[i + 2];
    p->kernel[axis] = eg_attr_at(attrs, EG_A_CONV_GRAD_WEIGHT_KERNEL_SHAPE)->ints.data[i];
    p->strides[axis] = eg_attr_at(attrs, EG_A_CONV_GRAD_WEIGHT_STRIDES)->ints.data[i];
    p->dilations[axis] = eg_attr_at(attrs, EG_A_CONV_GRAD_WEIGHT_DILATIONS)->ints.data[i];
    p->padding[axis] = eg_attr_at(attrs, EG_A_CONV_GRAD_WEIGHT_PADS)->ints.data[i];
  }
}

/// Cuts the images into bands whose rows of x stay in the cache, and bands into chunks.
static void cut_bands(depthwise_plan *p) {
  int64_t rows = CACHED / (p->pixels * p->set->vector),
          spare = rows - extent_of(p, ROWS, 1);
  p->band = spare < 0 ? 1 : eg_lesser(p->results[ROWS], 1 + spare / p->strides[ROWS]);
  p->bands = eg_quotient_up(p->results[ROWS], p->band);
  p->band = eg_quotient_up(p->results[ROWS], p->bands);
  p->bands = eg_quotient_up(p->results[ROWS], p->band);
  p->chunks = eg_lesser(p->images * p->bands, eg_quotient_up(UNITS, p->vectors));
}

static depthwise_plan plan_depthwise(const eg_node_spec *spec) {
  depthwise_plan p = {.set = find_tiles(spec),
                      .images = spec->inputs[X].dims[0],
                      .channels = spec->inputs[X].dims[1],
                      .threads = eg_omp_threads()};
  int64_t vector = p.set->vector;
  read_axes(spec, &p);
  p.x = storage_of(&spec->inputs[X], p.size[ROWS] * p.size[COLUMNS]);
  p.d = storage_of(&spec->inputs[COTANGENT], p.results[ROWS] * p.results[COLUMNS]);
  p.taps = p.kernel[ROWS] * p.kernel[COLUMNS];
  p.vectors = eg_quotient_up(p.channels, vector);
  p.pixels = extent_of(&p, COLUMNS, p.results[COLUMNS]);
  cut_bands(&p);
  int64_t rows = extent_of(&p, ROWS, p.band);
  p.x_floats = rows * p.pixels * vector;
  p.d_floats = p.band * p.results[COLUMNS] * vector;
  p.turned_floats =
      p.x.pixel == 1 ? eg_lesser(rows, p.size[ROWS]) * p.size[COLUMNS] * vector : 0;
  p.floats = p.taps * vector + p.x_floats + p.d_floats + p.turned_floats;
  int64_t most = eg_lesser(p.vectors * p.chunks, EG_MAX_SHARES); // each has its scratch
  p.threads = (uint32_t)eg_greater(1, eg_lesser(most, p.threads));
  return p;
}

// ---- a band ---------------------------------------------------------------------------

// Addresses: result, x, cotangent, scratch of threads, sums of chunks.
typedef struct depthwise_run {
  const depthwise_plan *plan;
  const float *x, *d;
  float *chunks, *w;
} depthwise_run;

/// Rows [row, end) of the cotangent of one image, for a vector of channels.
typedef struct depthwise_band {
  int64_t image, channel;
  int64_t row, end;
  float *sums, *x, *d, *turned; // scratch
} depthwise_band;

/// Returns the row of x that the first tap of a row of the cotangent reads.
static int64_t first_row(const depthwise_plan *p, int64_t row) {
  return row * p->strides[ROWS] - p->padding[ROWS];
}

/// Copies pixels [begin, begin + count) of a vector of channels.
static void copy_pixels(const depthwise_plan *p, const storage *s, const float *from,
                        const depthwise_band *band, int64_t begin, int64_t count,
                        float *to) {
  int64_t vector = p->set->vector, width = eg_lesser(vector, p->channels - band->channel);
  from += band->image * s->image + band->channel / s->block * s->group +
          band->channel % s->block * s->channel + begin * s->pixel;
  if (s->pixel > 1 || s->block > 1) {
    p->set->gather(from, s->pixel, width, count, to);
    return;
  }
  if (width < vector) memset(to, 0, (size_t)(count * vector) * sizeof *to);
  p->set->turn(from, width, count, s->group, to, vector);
}

static void set_zeros(float *to, int64_t count) {
  memset(to, 0, (size_t)count * sizeof *to);
}

/// Fills a padded row of x; `row` is the row of x. Pixels that no tap reads are left out.
static void pad_row(const depthwise_run *run, const depthwise_band *band, int64_t row,
                    const float *turned, float *to) {
  const depthwise_plan *p = run->plan;
  int64_t vector = p->set->vector, width = p->size[COLUMNS];
  int64_t begin = eg_lesser(p->padding[COLUMNS], p->pixels);
  int64_t end = eg_lesser(begin + width, p->pixels), count = end - begin;
  set_zeros(to, begin * vector);
  if (turned != NULL)
    memcpy(to + begin * vector, turned, (size_t)(count * vector) * sizeof *to);
  else
    copy_pixels(p, &p->x, run->x, band, row * width, count, to + begin * vector);
  set_zeros(to + end * vector, (p->pixels - end) * vector);
}

/// Copies the rows of x that a band reads. Rows of the padding are skipped, never read.
static void pad_band(const depthwise_run *run, const depthwise_band *band) {
  const depthwise_plan *p = run->plan;
  int64_t vector = p->set->vector, width = p->size[COLUMNS];
  int64_t first = first_row(p, band->row);
  int64_t begin = eg_greater(first, 0);
  int64_t end =
      eg_lesser(first + extent_of(p, ROWS, band->end - band->row), p->size[ROWS]);
  if (begin >= end) return;
  bool turns = p->turned_floats > 0;
  if (turns)
    copy_pixels(p, &p->x, run->x, band, begin * width, (end - begin) * width,
                band->turned);
  for (int64_t row = begin; row < end; row++)
    pad_row(run, band, row, turns ? band->turned + (row - begin) * width * vector : NULL,
            band->x + (row - first) * p->pixels * vector);
}

/// Returns the first result of an axis, from `least` on, at which a tap reads no padding
/// in front of x.
static int64_t first_inside(const depthwise_plan *p, int axis, int64_t tap,
                            int64_t least) {
  int64_t missing = p->padding[axis] - tap * p->dilations[axis];
  return missing <= 0 ? least
                      : eg_greater(least, eg_quotient_up(missing, p->strides[axis]));
}

/// Returns the end of the results of an axis, at most `most`, at which a tap reads no
/// padding behind x.
static int64_t end_inside(const depthwise_plan *p, int axis, int64_t tap, int64_t most) {
  int64_t left = p->size[axis] + p->padding[axis] - tap * p->dilations[axis];
  return left <= 0 ? 0 : eg_lesser(most, eg_quotient_up(left, p->strides[axis]));
}

/// Adds the products of one line of the kernel. Padding is multiplied by the cotangent
/// only where that is finite: 0 times infinity would be NaN.
static void add_line(const depthwise_plan *p, const depthwise_band *band, int64_t line,
                     bool is_finite) {
  int64_t vector = p->set->vector, columns = p->results[COLUMNS];
  int64_t taps = p->kernel[COLUMNS], most = is_finite ? EG_MOST_TAPS : 1;
  int64_t row = first_inside(p, ROWS, line, band->row);
  int64_t end = end_inside(p, ROWS, line, band->end);
  int64_t parts = eg_quotient_up(taps, most);
  int64_t above = (row - band->row) * p->strides[ROWS] + line * p->dilations[ROWS];
  eg_taps t = {.rows = end - row,
               .x_row = p->strides[ROWS] * p->pixels * vector,
               .x_pixel = p->strides[COLUMNS] * vector,
               .x_tap = p->dilations[COLUMNS] * vector,
               .d_row = columns * vector};
  for (int64_t part = 0; part < parts && row < end; part++) {
    int64_t tap = taps * part / parts, next = taps * (part + 1) / parts;
    int64_t from = is_finite ? 0 : first_inside(p, COLUMNS, tap, 0);
    int64_t to = is_finite ? columns : end_inside(p, COLUMNS, tap, columns);
    t.pixels = to - from;
    t.x = band->x + above * p->pixels * vector + from * t.x_pixel + tap * t.x_tap;
    t.d = band->d + ((row - band->row) * columns + from) * vector;
    t.sums = band->sums + (line * taps + tap) * vector;
    p->set->taps[next - tap - 1](&t);
  }
}

static void run_band(const depthwise_run *run, const depthwise_band *band) {
  const depthwise_plan *p = run->plan;
  int64_t columns = p->results[COLUMNS], count = (band->end - band->row) * columns;
  pad_band(run, band);
  copy_pixels(p, &p->d, run->d, band, band->row * columns, count, band->d);
  bool is_finite = p->set->row_is_finite(band->d, count * p->set->vector);
  for (int64_t line = 0; line < p->kernel[ROWS]; line++)
    add_line(p, band, line, is_finite);
}

// ---- chunks ---------------------------------------------------------------------------

/// Computes the sums of chunk number unit % chunks of a vector of channels.
static void run_chunk(const void *user, int64_t unit, float *scratch) {
  const depthwise_run *run = user;
  const depthwise_plan *p = run->plan;
  int64_t sums = p->taps * p->set->vector, bands = p->images * p->bands;
  int64_t chunk = unit % p->chunks;
  depthwise_band band = {.channel = unit / p->chunks * p->set->vector,
                         .sums = run->chunks + unit * sums,
                         .x = scratch,
                         .d = scratch + p->x_floats,
                         .turned = scratch + p->x_floats + p->d_floats};
  set_zeros(band.sums, sums);
  for (int64_t i = bands * chunk / p->chunks; i < bands * (chunk + 1) / p->chunks; i++) {
    band.image = i / p->bands;
    band.row = i % p->bands * p->band;
    band.end = eg_lesser(band.row + p->band, p->results[ROWS]);
    run_band(run, &band);
  }
}

/// Adds the sums of chunks for vectors [begin, end) of channels, and stores the result.
static void store_vectors(const void *user, int64_t begin, int64_t end) {
  const depthwise_run *run = user;
  const depthwise_plan *p = run->plan;
  int64_t vector = p->set->vector, sums = p->taps * vector;
  for (int64_t v = begin; v < end; v++) {
    float *total = run->chunks + v * p->chunks * sums;
    for (int64_t chunk = 1; chunk < p->chunks; chunk++)
      for (int64_t i = 0; i < sums; i++)
        total[i] += total[chunk * sums + i];
    p->set->turn(total, p->taps, eg_lesser(vector, p->channels - v * vector), vector,
                 run->w + v * sums, p->taps);
  }
}

static egraph_status run_depthwise(const void *payload, void *const *addresses) {
  const depthwise_plan *p = payload;
  const depthwise_run run = {.plan = p,
                             .w = addresses[0],
                             .x = addresses[1],
                             .d = addresses[2],
                             .chunks = addresses[4]};
  eg_parts_with_scratch(p->vectors * p->chunks, p->threads, addresses[3], p->floats,
                        run_chunk, &run);
  eg_parts_each(p->vectors, 1, p->threads, store_vectors, &run);
  return EGRAPH_OK;
}

egraph_status eg_cpu_add_depthwise_grad(eg_cpu_builder *builder) {
  assert(eg_depthwise_grad_fits(builder->spec));
  depthwise_plan *p;
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof *p, &p));
  *p = plan_depthwise(builder->spec);
  int64_t sums = p->vectors * p->chunks * p->taps * p->set->vector;
  eg_place places[] = {
      eg_place_result(0), eg_cpu_read(builder, X), eg_cpu_read(builder, COTANGENT),
      eg_cpu_scratch(builder, (size_t)(p->threads * p->floats) * sizeof(float)),
      eg_cpu_scratch(builder, (size_t)sums * sizeof(float))};
  builder->kernel = "depthwise on tiles";
  return eg_cpu_add_function(builder, &builder->run, run_depthwise, p, places, 5);
}
