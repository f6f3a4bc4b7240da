// Strided copies, and the operators that consist of them.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/families.h"

#include <assert.h>

#include "exec/cpu/kernel_threads.h"

// Rows are cut into pieces of at most PIECE bytes; threads take parts of at least PART
// bytes while there are enough.
enum { PIECE = 1 << 14, PART = 1 << 15, WORD = 64 };

typedef struct copy_payload {
  eg_loop_nest outer;                     // strides in bytes
  int64_t length, to_stride, from_stride; // innermost loop; strides in bytes
  size_t element;
  int64_t piece, per_row; // elements of a piece; number of pieces of a row
  int64_t pieces, step;   // number of pieces of all rows; of a part
  uint32_t threads;
} copy_payload;

// Copies bytes. Half of a transformer's copies have short rows of 64 bytes, for which a
// loop over words is fast.
static void copy_bytes(char *to, const char *from, size_t bytes) {
  enum { SHORT = 8 * WORD };
  if (bytes > SHORT || bytes % WORD != 0) {
    memcpy(to, from, bytes);
    return;
  }
  for (size_t at = 0; at < bytes; at += WORD)
    memcpy(to + at, from + at, WORD);
}

/// Repeats an element of 4 bytes.
static void repeat_word(char *to, const char *from, int64_t count) {
  uint32_t word;
  memcpy(&word, from, sizeof word);
  for (int64_t i = 0; i < count; i++)
    memcpy(to + i * (int64_t)sizeof word, &word, sizeof word);
}

static void copy_elements(const copy_payload *p, char *to, const char *from,
                          int64_t count) {
  size_t element = p->element;
  if (p->to_stride == (int64_t)element && p->from_stride == (int64_t)element) {
    copy_bytes(to, from, (size_t)count * element);
    return;
  }
  if (element == sizeof(uint32_t) && p->to_stride == (int64_t)element &&
      p->from_stride == 0) {
    repeat_word(to, from, count);
    return;
  }
  if (element == sizeof(uint32_t)) { // the common case, with a size the compiler knows
    for (int64_t i = 0; i < count; i++)
      memcpy(to + i * p->to_stride, from + i * p->from_stride, sizeof(uint32_t));
    return;
  }
  for (int64_t i = 0; i < count; i++)
    memcpy(to + i * p->to_stride, from + i * p->from_stride, element);
}

// A position in the loop nest over the rows of a copy.
typedef struct copy_cursor {
  int64_t index[EG_MAX_LOOPS];
  char *to;
  const char *from;
} copy_cursor;

static void enter_row(const copy_payload *p, int64_t row, void *const *addresses,
                      copy_cursor *out) {
  const eg_loop_nest *nest = &p->outer;
  out->to = addresses[0];
  out->from = addresses[1];
  for (uint32_t d = nest->rank; d-- > 0;) {
    out->index[d] = row % nest->dims[d];
    row /= nest->dims[d];
    out->to += out->index[d] * nest->strides[0][d];
    out->from += out->index[d] * nest->strides[1][d];
  }
}

/// Advances to the next row of the copy, if there is one.
static void advance_cursor(const eg_loop_nest *nest, copy_cursor *inout) {
  for (uint32_t d = nest->rank; d-- > 0;) {
    inout->to += nest->strides[0][d];
    inout->from += nest->strides[1][d];
    if (++inout->index[d] < nest->dims[d]) return;
    inout->to -= nest->strides[0][d] * nest->dims[d];
    inout->from -= nest->strides[1][d] * nest->dims[d];
    inout->index[d] = 0;
  }
}

typedef struct copy_work {
  const copy_payload *payload;
  void *const *addresses;
} copy_work;

/// Copies pieces of rows number [begin, end), counted over all rows.
static void copy_pieces(const void *user, int64_t begin, int64_t end) {
  const copy_work *work = user;
  const copy_payload *p = work->payload;
  copy_cursor cursor;
  int64_t piece = begin % p->per_row;
  enter_row(p, begin / p->per_row, work->addresses, &cursor);
  for (int64_t i = begin; i < end; i++) {
    int64_t at = piece * p->piece, left = p->length - at;
    copy_elements(p, cursor.to + at * p->to_stride, cursor.from + at * p->from_stride,
                  left < p->piece ? left : p->piece);
    if (++piece < p->per_row) continue;
    piece = 0;
    advance_cursor(&p->outer, &cursor);
  }
}

// Runs a copy; addresses: to, from.
static egraph_status copy_run(const void *payload, void *const *addresses) {
  const copy_payload *p = payload;
  const copy_work work = {.payload = p, .addresses = addresses};
  eg_parts_each(p->pieces, p->step, p->threads, copy_pieces, &work);
  return EGRAPH_OK;
}

/// Cuts the rows of a copy into pieces, and divides the pieces into parts for threads.
static void cut_copy(copy_payload *p) {
  int64_t bytes = (int64_t)p->element, rows = 1;
  for (uint32_t d = 0; d < p->outer.rank; d++)
    rows *= p->outer.dims[d];
  p->piece = p->length < PIECE / bytes ? p->length : PIECE / bytes;
  p->per_row = (p->length + p->piece - 1) / p->piece;
  p->pieces = rows * p->per_row;
  p->step = p->piece * bytes < PART ? PART / (p->piece * bytes) : 1;
  p->threads = eg_omp_threads();
}

static egraph_status add_function(eg_cpu_builder *builder, const eg_loop_nest *nest,
                                  size_t element, eg_place from, eg_place to) {
  assert(nest->rank != 0);
  copy_payload *payload;
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof *payload, &payload));
  uint32_t last = nest->rank - 1;
  int64_t bytes = (int64_t)element;
  *payload = (copy_payload){.outer = *nest,
                            .length = nest->dims[last],
                            .to_stride = nest->strides[0][last] * bytes,
                            .from_stride = nest->strides[1][last] * bytes,
                            .element = element};
  payload->outer.rank = last;
  for (uint32_t d = 0; d < last; d++) {
    payload->outer.strides[0][d] *= bytes;
    payload->outer.strides[1][d] *= bytes;
  }
  cut_copy(payload);
  if (builder->kernel == NULL) builder->kernel = "copy";
  return eg_cpu_add_function(builder, &builder->run, copy_run, payload,
                             (eg_place[]){to, from}, 2);
}

// True when a reorder of oneDNN is faster than copying rows. Measured on [1,128,12,64] ->
// [1,12,64,128]: the reorder moves 33 GB/s, a loop over elements 2 GB/s; for rows of 256
// bytes memcpy and reorder are equally fast (94 GB/s).
static bool suits_reorder(const eg_loop_nest *nest, egraph_dtype dtype) {
  enum { SHORT_ROW = 16 };
  uint32_t last = nest->rank - 1;
  if (dtype != EGRAPH_FLOAT32) return false;
  for (uint32_t d = 0; d < nest->rank; d++)
    if (nest->strides[1][d] <= 0 || nest->strides[0][d] <= 0) return false;
  bool rows = nest->strides[0][last] == 1 && nest->strides[1][last] == 1;
  return !rows || nest->dims[last] < SHORT_ROW;
}

egraph_status eg_cpu_add_copy(eg_cpu_builder *builder, const eg_loop_nest *nest,
                              egraph_dtype dtype, eg_place from, eg_place to) {
  eg_loop_nest merged = *nest;
  eg_loop_nest_merge(&merged, 2);
  if (dtype == EGRAPH_FLOAT32 && eg_turn_fits(&merged))
    return eg_cpu_add_turn(builder, &merged, from, to);
  if (suits_reorder(&merged, dtype)) {
    const_dnnl_memory_desc_t to_desc, from_desc;
    EG_TRY(eg_dnnl_desc_strided(&builder->descs, merged.rank, merged.dims,
                                merged.strides[0], &to_desc));
    EG_TRY(eg_dnnl_desc_strided(&builder->descs, merged.rank, merged.dims,
                                merged.strides[1], &from_desc));
    return eg_cpu_add_reorder(builder, &builder->run, from, from_desc, to, to_desc);
  }
  return add_function(builder, &merged, eg_dtype_bytes(dtype), from, to);
}

typedef struct fill_payload {
  size_t count;
  double value;
} fill_payload;

static egraph_status fill_run(const void *payload, void *const *addresses) {
  const fill_payload *p = payload;
  return eg_backend_fill(NULL, addresses[0], EGRAPH_FLOAT32, p->value, p->count);
}

static egraph_status fill_result(eg_cpu_builder *builder, double value) {
  fill_payload *payload;
  EG_TRY(eg_arena_alloc(builder->arena, 1, sizeof *payload, &payload));
  payload->count = (size_t)eg_type_elements(&builder->spec->results[0]);
  payload->value = value;
  return eg_cpu_add_function(builder, &builder->run, fill_run, payload,
                             (eg_place[]){eg_place_result(0)}, 1);
}

// ---- concatenation, split, slice, padding, expansion --------------------------------

// Finds the loop of a stored tensor that runs over a logical axis, and the elements that
// one step of the axis has in this loop; false when steps of the axis are not uniform
// (blocked channels that do not fill their blocks).
static bool axis_loop(const eg_type *type, uint32_t axis, uint32_t *out_loop,
                      int64_t *out_step) {
  static const uint32_t nhwc[] = {0, 3, 1, 2};
  uint32_t block = eg_format_block((eg_format)type->layout.format);
  *out_step = 1;
  *out_loop = type->layout.format == EG_FORMAT_NHWC ? nhwc[axis] : axis;
  if (block == 1 || axis != 1) return true;
  *out_step = block; // the loop runs over blocks
  return type->dims[1] % block == 0;
}

// Copies between `part` (dense) and the elements of `whole` that begin at `start` on the
// axis of a concatenation or split.
static egraph_status add_part(eg_cpu_builder *builder, const eg_type *whole,
                              eg_place whole_place, const eg_type *part,
                              eg_place part_place, uint32_t axis, int64_t start,
                              bool to_whole) {
  assert(axis < whole->rank && start >= 0);
  uint32_t loop;
  int64_t step;
  if (!axis_loop(whole, axis, &loop, &step) || !axis_loop(part, axis, &loop, &step) ||
      start % step != 0)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "parts of whole channel blocks only");
  eg_loop_nest nest, outer;
  eg_loop_nest_init(&nest, part);
  eg_loop_nest_init(&outer, whole);
  uint32_t whole_side = to_whole ? 0 : 1, part_side = to_whole ? 1 : 0;
  int64_t part_strides[EG_MAX_LOOPS];
  memcpy(part_strides, nest.strides[0], sizeof part_strides);
  memcpy(nest.strides[whole_side], outer.strides[0], sizeof part_strides);
  memcpy(nest.strides[part_side], part_strides, sizeof part_strides);
  whole_place.offset +=
      (size_t)(start / step * outer.strides[0][loop]) * eg_dtype_bytes(whole->dtype);
  return eg_cpu_add_copy(builder, &nest, whole->dtype,
                         to_whole ? part_place : whole_place,
                         to_whole ? whole_place : part_place);
}

static bool same_storage(const eg_type *a, const eg_type *b) {
  return a->dtype == b->dtype && a->layout.format == b->layout.format;
}

/// Copies parts along the node's axis into its result (concat) or out of it (split).
static egraph_status add_parts(eg_cpu_builder *builder, bool to_whole) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *whole = to_whole ? &spec->results[0] : &spec->inputs[0];
  const eg_type *parts = to_whole ? spec->inputs : spec->results;
  uint32_t count = to_whole ? spec->input_count : spec->result_count;
  uint32_t axis = eg_axis_of(whole, eg_attr_of_role(spec->attrs, EG_AR_AXIS)->i);
  int64_t start = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!same_storage(whole, &parts[i]))
      return eg_cpu_refuse(builder, "operands and results need one format");
    EG_TRY(add_part(builder, whole,
                    to_whole ? eg_place_result(0) : eg_cpu_read(builder, 0), &parts[i],
                    to_whole ? eg_cpu_read(builder, i) : eg_place_result(i), axis, start,
                    to_whole));
    start += parts[i].dims[axis];
  }
  return EGRAPH_OK;
}

egraph_status eg_cpu_concat(eg_cpu_builder *builder) { return add_parts(builder, true); }

egraph_status eg_cpu_split(eg_cpu_builder *builder) { return add_parts(builder, false); }

egraph_status eg_cpu_slice(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *from = &spec->inputs[0], *to = &spec->results[0];
  if (!same_storage(from, to) || from->layout.format != EG_FORMAT_PLAIN)
    return eg_cpu_refuse(builder, "operands and results need one format");
  const int64_t *starts = eg_attr_at(spec->attrs, EG_A_SLICE_STARTS)->ints.data;
  const int64_t *steps = eg_attr_at(spec->attrs, EG_A_SLICE_STEPS)->ints.data;
  eg_loop_nest nest, source;
  eg_loop_nest_init(&nest, to);
  eg_loop_nest_init(&source, from);
  int64_t offset = 0;
  for (uint32_t d = 0; d < from->rank; d++) {
    offset += starts[d] * source.strides[0][d];
    nest.strides[1][d] = steps[d] * source.strides[0][d];
  }
  eg_place place = eg_cpu_read(builder, 0);
  place.offset = (size_t)offset * eg_dtype_bytes(from->dtype);
  return eg_cpu_add_copy(builder, &nest, from->dtype, place, eg_place_result(0));
}

egraph_status eg_cpu_expand(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *from = &spec->inputs[0], *to = &spec->results[0];
  eg_loop_nest nest;
  eg_loop_nest_init(&nest, to);
  if (spec->attrs->op != EG_OP_EXPAND || from->rank > to->rank ||
      !same_storage(from, to) || !eg_loop_nest_add(&nest, to, 1, from))
    return eg_cpu_refuse(builder, "operands and results need one format");
  return eg_cpu_add_copy(builder, &nest, to->dtype, eg_cpu_read(builder, 0),
                         eg_place_result(0));
}

egraph_status eg_cpu_pad(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_type *from = &spec->inputs[0], *to = &spec->results[0];
  enum { CONSTANT };
  if (eg_attr_at(spec->attrs, EG_A_PAD_MODE)->i != CONSTANT ||
      from->dtype != EGRAPH_FLOAT32)
    return eg_cpu_refuse(builder, "no kernel for this mode or type");
  const int64_t *pads = eg_attr_at(spec->attrs, EG_A_PAD_PADS)->ints.data;
  eg_loop_nest nest, whole;
  eg_loop_nest_init(&nest, from);
  eg_loop_nest_init(&whole, to);
  memcpy(nest.strides[1], nest.strides[0], sizeof nest.strides[0]);
  memcpy(nest.strides[0], whole.strides[0], sizeof nest.strides[0]);
  int64_t offset = 0;
  for (uint32_t d = 0; d < from->rank; d++)
    offset += pads[d] * whole.strides[0][d];
  EG_TRY(fill_result(builder, eg_attr_at(spec->attrs, EG_A_PAD_VALUE)->f));
  eg_place inside = eg_place_result(0);
  inside.offset = (size_t)offset * sizeof(float);
  return eg_cpu_add_copy(builder, &nest, from->dtype, eg_cpu_read(builder, 0), inside);
}

// ---- changes of memory format, transpositions ---------------------------------------

/// Sets up the loops of a copy between plain images and nhwc, in the order of the result;
/// false for other formats: oneDNN's reorders to and from blocks are as fast as egraph's
/// copies, or faster.
static bool find_channel_loops(const eg_type *from, const eg_type *to,
                               eg_loop_nest *out) {
  bool to_plain = to->layout.format == EG_FORMAT_PLAIN;
  if (to->rank != 4 || from->dtype != to->dtype ||
      from->layout.format != (to_plain ? EG_FORMAT_NHWC : EG_FORMAT_PLAIN) ||
      to->layout.format != (to_plain ? EG_FORMAT_PLAIN : EG_FORMAT_NHWC))
    return false;
  int64_t channels = to->dims[1], pixels = to->dims[2] * to->dims[3];
  int64_t rows = to_plain ? channels : pixels, columns = to_plain ? pixels : channels;
  *out = (eg_loop_nest){
      .rank = 3,
      .dims = {to->dims[0], rows, columns},
      .strides = {{channels * pixels, columns, 1}, {channels * pixels, 1, rows}}};
  return true;
}

egraph_status eg_cpu_identity(eg_cpu_builder *builder) {
  const eg_type *from = &builder->spec->inputs[0], *to = &builder->spec->results[0];
  if (from->layout.format == to->layout.format) {
    eg_loop_nest nest;
    eg_loop_nest_init(&nest, to);
    if (!eg_loop_nest_add(&nest, to, 1, from))
      return eg_cpu_refuse(builder, "operand and result differ");
    return eg_cpu_add_copy(builder, &nest, to->dtype, eg_cpu_read(builder, 0),
                           eg_place_result(0));
  }
  eg_loop_nest channels;
  if (find_channel_loops(from, to, &channels))
    return eg_cpu_add_copy(builder, &channels, to->dtype, eg_cpu_read(builder, 0),
                           eg_place_result(0));
  const_dnnl_memory_desc_t from_desc, to_desc;
  EG_TRY(eg_dnnl_desc(&builder->descs, from, &from_desc));
  EG_TRY(eg_dnnl_desc(&builder->descs, to, &to_desc));
  return eg_cpu_add_reorder(builder, &builder->run, eg_cpu_read(builder, 0), from_desc,
                            eg_place_result(0), to_desc);
}

egraph_status eg_cpu_transpose(eg_cpu_builder *builder) {
  const eg_type *from = &builder->spec->inputs[0], *to = &builder->spec->results[0];
  const int64_t *perm = eg_attr_at(builder->spec->attrs, EG_A_TRANSPOSE_PERM)->ints.data;
  int64_t strides[EGRAPH_MAX_RANK];
  eg_loop_nest nest = {.rank = to->rank};
  if (eg_type_is_blocked(from) || eg_type_is_blocked(to))
    return eg_cpu_refuse(builder, "no kernel for blocked formats");
  eg_type_strides(from, strides);
  eg_type_strides(to, nest.strides[0]);
  for (uint32_t d = 0; d < to->rank; d++) {
    nest.dims[d] = to->dims[d];
    nest.strides[1][d] = strides[perm[d]];
  }
  return eg_cpu_add_copy(builder, &nest, to->dtype, eg_cpu_read(builder, 0),
                         eg_place_result(0));
}
