// Kernels of operators that only pick elements. All but the copies of whole blocks
// (reshape, concat, split) are separable: the input offset is a sum of one table entry
// per result dimension (eg_move). Also kernels of leaves with a formula, and of operators
// that read only types.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "ops/kernels.h"

// ---- separable operators: each fills the maps -------------------------------

typedef egraph_status (*eg_map_filler)(const eg_kernel_call *call, eg_move *move,
                                       const int64_t *strides);

static egraph_status move_with(const eg_kernel_call *call, eg_map_filler fill) {
  int64_t strides[EGRAPH_MAX_RANK] = {0};
  const eg_type *type = &call->inputs[0].type;
  eg_dims_strides(type->rank, type->dims, strides);
  eg_move move;
  EG_TRY(eg_move_init(&move, call->scratch, &call->outputs[0].type));
  EG_TRY(fill(call, &move, strides));
  eg_move_run(&move, call->inputs[0].data, call->outputs[0].data);
  return EGRAPH_OK;
}

static egraph_status fill_transpose(const eg_kernel_call *call, eg_move *move,
                                    const int64_t *strides) {
  const eg_ints perm = eg_attr_at(call->attrs, EG_A_TRANSPOSE_PERM)->ints;
  for (uint32_t d = 0; d < move->rank; d++)
    for (int64_t i = 0; i < move->dims[d]; i++)
      move->map[d][i] = i * strides[perm.data[d]];
  return EGRAPH_OK;
}

egraph_status eg_kernel_transpose(const eg_kernel_call *call) {
  return move_with(call, fill_transpose);
}

static egraph_status fill_slice(const eg_kernel_call *call, eg_move *move,
                                const int64_t *strides) {
  const int64_t *starts = eg_attr_at(call->attrs, EG_A_SLICE_STARTS)->ints.data;
  const int64_t *steps = eg_attr_at(call->attrs, EG_A_SLICE_STEPS)->ints.data;
  for (uint32_t d = 0; d < move->rank; d++)
    for (int64_t i = 0; i < move->dims[d]; i++)
      move->map[d][i] = (starts[d] + i * steps[d]) * strides[d];
  return EGRAPH_OK;
}

egraph_status eg_kernel_slice(const eg_kernel_call *call) {
  return move_with(call, fill_slice);
}

// Fills the maps of expand, which repeats dimensions of size 1, and tile, which repeats
// whole dimensions: both read element i modulo the size.
static egraph_status fill_expand(const eg_kernel_call *call, eg_move *move,
                                 const int64_t *strides) {
  const eg_type *type = &call->inputs[0].type;
  assert(type->rank <= move->rank);
  uint32_t lead = move->rank - type->rank;
  for (uint32_t d = lead; d < move->rank; d++)
    for (int64_t i = 0; i < move->dims[d]; i++)
      move->map[d][i] = i % type->dims[d - lead] * strides[d - lead];
  return EGRAPH_OK;
}

egraph_status eg_kernel_expand(const eg_kernel_call *call) {
  return move_with(call, fill_expand);
}

// Returns the index that a padded position copies, with numpy's modes: reflect bounces
// between the ends without repeating them, edge repeats the end element.
enum { CONSTANT, REFLECT, EDGE };
static int64_t padded_index(int64_t at, int64_t size, int64_t mode) {
  if (at >= 0 && at < size) return at;
  if (mode == CONSTANT) return EG_MOVE_FILL;
  if (mode == EDGE) return at < 0 ? 0 : size - 1;
  if (size == 1) return 0;
  int64_t period = 2 * (size - 1);
  int64_t phase = (at % period + period) % period;
  return phase < size ? phase : period - phase;
}

/// Maps dimension d of the result to an input dimension of `size` elements, which begins
/// at position `lead`.
static void map_padded(eg_move *move, uint32_t d, int64_t lead, int64_t size,
                       int64_t stride, int64_t mode) {
  for (int64_t i = 0; i < move->dims[d]; i++) {
    int64_t at = padded_index(i - lead, size, mode);
    move->map[d][i] = at < 0 ? EG_MOVE_FILL : at * stride;
  }
}

static egraph_status fill_pad(const eg_kernel_call *call, eg_move *move,
                              const int64_t *strides) {
  const eg_type *type = &call->inputs[0].type;
  const int64_t *pads = eg_attr_at(call->attrs, EG_A_PAD_PADS)->ints.data;
  int64_t mode = eg_attr_at(call->attrs, EG_A_PAD_MODE)->i;
  uint64_t element = 0;
  eg_tensor fill = {.type = eg_type_of(type->dtype, 0, NULL), .data = &element};
  eg_tensor_fill(&fill, eg_attr_at(call->attrs, EG_A_PAD_VALUE)->f);
  memcpy(move->fill, &element, sizeof element);
  for (uint32_t d = 0; d < move->rank; d++) {
    if (type->dims[d] == 0 && mode != 0)
      return EG_FAIL(EGRAPH_E_ARGUMENT,
                     "pad: dimension %u is empty, there is nothing to repeat; use mode "
                     "constant",
                     (unsigned)d);
    map_padded(move, d, pads[d], type->dims[d], strides[d], mode);
  }
  return EGRAPH_OK;
}

egraph_status eg_kernel_pad(const eg_kernel_call *call) {
  return move_with(call, fill_pad);
}

// Puts a kernel into the middle of zeros.
static egraph_status fill_enlarge(const eg_kernel_call *call, eg_move *move,
                                  const int64_t *strides) {
  const eg_type *type = &call->inputs[0].type;
  for (uint32_t d = 0; d < move->rank; d++)
    map_padded(move, d, (move->dims[d] - type->dims[d]) / 2, type->dims[d], strides[d],
               CONSTANT);
  return EGRAPH_OK;
}

egraph_status eg_kernel_enlarge(const eg_kernel_call *call) {
  return move_with(call, fill_enlarge);
}

// ---- gather: [outer, indices, inner] ----------------------------------------

eg_gather_axis eg_gather_axis_of(const eg_attrs *attrs, eg_attr_slot whole,
                                 int64_t size) {
  int64_t all = eg_attr_at(attrs, whole)->i;
  return (eg_gather_axis){.size = size,
                          .whole = all != 0 ? all : size,
                          .first = eg_attr_at(attrs, whole + 1)->i};
}

egraph_status eg_gather_index(const eg_tensor *indices, int64_t at,
                              const eg_gather_axis *axis, int64_t *out) {
  int64_t index = eg_tensor_get_int(indices, at);
  if (index < -axis->whole || index >= axis->whole)
    return EG_FAIL(
        EGRAPH_E_ARGUMENT,
        "gather: index %lld at position %lld is outside of the %lld entries of "
        "the axis",
        (long long)index, (long long)at, (long long)axis->whole);
  index += (index < 0 ? axis->whole : 0) - axis->first;
  *out = index >= 0 && index < axis->size ? index : -1;
  return EGRAPH_OK;
}

egraph_status eg_kernel_gather(const eg_kernel_call *call) {
  eg_axis_view view = eg_axis_view_of(&call->inputs[0].type,
                                      eg_attr_at(call->attrs, EG_A_GATHER_AXIS)->i);
  const eg_tensor *indices = &call->inputs[1];
  const int64_t dims[3] = {view.outer, eg_type_elements(&indices->type), view.inner};
  eg_type type = eg_type_of(call->outputs[0].type.dtype, 3, dims);
  eg_move move;
  EG_TRY(eg_move_init(&move, call->scratch, &type));
  for (int64_t i = 0; i < dims[0]; i++)
    move.map[0][i] = i * view.size * view.inner;
  eg_gather_axis axis = eg_gather_axis_of(call->attrs, EG_A_GATHER_WHOLE, view.size);
  for (int64_t i = 0; i < dims[1]; i++) {
    int64_t index = 0;
    EG_TRY(eg_gather_index(indices, i, &axis, &index));
    move.map[1][i] = index < 0 ? -1 : index * view.inner; // -1: the result is zero there
  }
  for (int64_t i = 0; i < dims[2]; i++)
    move.map[2][i] = i;
  eg_move_run(&move, call->inputs[0].data, call->outputs[0].data);
  return EGRAPH_OK;
}

// ---- whole blocks -----------------------------------------------------------

egraph_status eg_kernel_reshape(const eg_kernel_call *call) {
  eg_tensor to = call->outputs[0];
  eg_tensor_convert(&call->inputs[0], &to);
  return EGRAPH_OK;
}

// Returns the bytes of one outer step of a tensor around an axis.
static size_t step_bytes(const eg_type *type, int64_t axis) {
  eg_axis_view view = eg_axis_view_of(type, axis);
  return (size_t)(view.size * view.inner) * eg_dtype_bytes(type->dtype);
}

// Copies `part` into or out of `whole` at byte `at` of every outer step.
static size_t copy_part(const eg_tensor *whole, const eg_tensor *part, int64_t axis,
                        size_t at, bool is_split) {
  size_t whole_step = step_bytes(&whole->type, axis);
  size_t part_step = step_bytes(&part->type, axis);
  int64_t outer = eg_axis_view_of(&part->type, axis).outer;
  if (part_step == 0) return 0;
  for (int64_t o = 0; o < outer; o++) {
    unsigned char *big = (unsigned char *)whole->data + (size_t)o * whole_step + at;
    unsigned char *small = (unsigned char *)part->data + (size_t)o * part_step;
    memcpy(is_split ? small : big, is_split ? big : small, part_step);
  }
  return part_step;
}

egraph_status eg_kernel_concat(const eg_kernel_call *call) {
  int64_t axis = eg_attr_at(call->attrs, EG_A_CONCAT_AXIS)->i;
  size_t at = 0;
  for (uint32_t i = 0; i < call->input_count; i++)
    at += copy_part(&call->outputs[0], &call->inputs[i], axis, at, false);
  return EGRAPH_OK;
}

egraph_status eg_kernel_split(const eg_kernel_call *call) {
  int64_t axis = eg_attr_at(call->attrs, EG_A_SPLIT_AXIS)->i;
  size_t at = 0;
  for (uint32_t i = 0; i < call->output_count; i++)
    at += copy_part(&call->inputs[0], &call->outputs[i], axis, at, true);
  return EGRAPH_OK;
}

// Merges each `count` groups of a weight into one: the input channels of group g are at
// position g modulo `count` of the merged group, with zeros at all other positions.
egraph_status eg_kernel_merge_gconv(const eg_kernel_call *call) {
  const eg_type *type = &call->inputs[0].type;
  int64_t group = eg_attr_at(call->attrs, EG_A_MERGE_GCONV_GROUP)->i;
  int64_t count = eg_attr_at(call->attrs, EG_A_MERGE_GCONV_COUNT)->i;
  size_t row =
      (size_t)eg_dims_product(type->dims, 1, type->rank) * eg_dtype_bytes(type->dtype);
  const unsigned char *from = call->inputs[0].data;
  unsigned char *to = call->outputs[0].data;
  memset(to, 0, row * (size_t)count * (size_t)type->dims[0]);
  if (row == 0) return EGRAPH_OK;
  for (int64_t o = 0; o < type->dims[0]; o++) {
    int64_t place = o / (type->dims[0] / group) % count;
    memcpy(to + (size_t)(o * count + place) * row, from + (size_t)o * row, row);
  }
  return EGRAPH_OK;
}

// ---- fills --------------------------------------------------------------------------

// Fills a weight [c, c / group, kernel] with which output channel o copies input channel
// o, number o mod (c / group) of its group: 1 in the middle of the kernel.
static void fill_conv_identity(const eg_tensor *to) {
  const eg_type *type = &to->type;
  int64_t window = eg_dims_product(type->dims, 2, type->rank), inputs = type->dims[1];
  eg_tensor_fill(to, 0.0);
  for (int64_t o = 0; o < type->dims[0]; o++)
    eg_tensor_set_double(to, (o * inputs + o % inputs) * window + window / 2, 1.0);
}

egraph_status eg_kernel_fill(const eg_kernel_call *call) {
  const eg_tensor *to = &call->outputs[0];
  eg_op op = eg_kernel_op(call);
  if (op == EG_OP_FILL) {
    eg_tensor_fill(to, eg_attr_at(call->attrs, EG_A_FILL_VALUE)->f);
  } else if (op == EG_OP_EYE) {
    int64_t n = to->type.dims[0];
    eg_tensor_fill(to, 0.0);
    for (int64_t i = 0; i < n; i++)
      eg_tensor_set_double(to, i * n + i, 1.0);
  } else if (op == EG_OP_CONV_IDENTITY) {
    fill_conv_identity(to);
  } else {
    int64_t window = eg_dims_product(to->type.dims, 2, to->type.rank);
    eg_tensor_fill(to, 1.0 / (double)window);
  }
  return EGRAPH_OK;
}

egraph_status eg_kernel_shape_of(const eg_kernel_call *call) {
  const eg_type *type = &call->inputs[0].type;
  const eg_tensor *to = &call->outputs[0];
  if (eg_kernel_op(call) == EG_OP_SIZE) {
    eg_tensor_set_int(to, 0, eg_type_elements(type));
    return EGRAPH_OK;
  }
  int64_t start = eg_attr_at(call->attrs, EG_A_SHAPE_START)->i;
  if (start < 0) start += (int64_t)type->rank;
  if (start < 0) start = 0;
  for (int64_t i = 0; i < to->type.dims[0]; i++)
    eg_tensor_set_int(to, i, type->dims[start + i]);
  return EGRAPH_OK;
}

// ---- running a move -------------------------------------------------------------------

// The longest run of last dimensions that is contiguous on both sides is copied with
// memcpy. The two dimensions before it are visited in tiles, so that a transposition
// stays within the cache.

enum { TILE = 32 };

egraph_status eg_move_init(eg_move *move, eg_arena *arena, const eg_type *result) {
  assert(result->rank <= EGRAPH_MAX_RANK);
  *move = (eg_move){.rank = result->rank, .element = eg_dtype_bytes(result->dtype)};
  for (uint32_t d = 0; d < result->rank; d++) {
    move->dims[d] = result->dims[d];
    EG_TRY(
        eg_arena_alloc(arena, (size_t)result->dims[d], sizeof(int64_t), &move->map[d]));
  }
  return EGRAPH_OK;
}

// The loops of a move around its contiguous tail: copies blocks of `block` bytes at outer
// x rows x columns positions. Unused dimensions have size 1.
typedef struct walk {
  const eg_move *move;
  uint32_t outer; // number of dimensions outside of rows and columns
  int64_t rows, columns;
  const int64_t *row_map, *column_map;
  int64_t base; // offset of the contiguous tail
  size_t block;
} walk;

static bool is_run(const int64_t *map, int64_t count, int64_t step) {
  if (map[0] < 0) return false;
  for (int64_t i = 1; i < count; i++)
    if (map[i] - map[0] != i * step || map[i] < 0) return false;
  return true;
}

static walk walk_of(const eg_move *move) {
  static const int64_t here[1] = {0};
  walk w = {.move = move, .rows = 1, .columns = 1, .row_map = here, .column_map = here};
  uint32_t left = move->rank;
  int64_t run = 1;
  while (left != 0 && is_run(move->map[left - 1], move->dims[left - 1], run)) {
    left--;
    w.base += move->map[left][0];
    run *= move->dims[left];
  }
  w.block = (size_t)run * move->element;
  if (left != 0) {
    left--;
    w.columns = move->dims[left];
    w.column_map = move->map[left];
  }
  if (left != 0) {
    left--;
    w.rows = move->dims[left];
    w.row_map = move->map[left];
  }
  w.outer = left;
  return w;
}

static void fill_bytes(unsigned char *to, size_t bytes, const eg_move *move) {
  if (move->element == 1) {
    memset(to, move->fill[0], bytes);
    return;
  }
  for (size_t i = 0; i < bytes; i += move->element)
    memcpy(to + i, move->fill, move->element);
}

// Copies one tile of elements, whose size the compiler knows, through a buffer: column by
// column in, row by row out. A transposition then accesses both sides along their cache
// lines, which matters when lines are a power of two apart and share a cache set.
#define TILE_OF(name, size)                                                              \
  static void name(const walk *w, const unsigned char *from, unsigned char *to,          \
                   int64_t row, int64_t column, int64_t row_end, int64_t column_end) {   \
    unsigned char buffer[TILE * TILE * (size)];                                          \
    const int64_t *rows = w->row_map + row;                                              \
    const int64_t height = row_end - row, width = column_end - column;                   \
    for (int64_t c = 0; c < width; c++) {                                                \
      const unsigned char *in = from + w->column_map[column + c] * (size);               \
      for (int64_t r = 0; r < height; r++)                                               \
        memcpy(buffer + (r * TILE + c) * (size), in + rows[r] * (size), (size));         \
    }                                                                                    \
    for (int64_t r = 0; r < height; r++)                                                 \
      memcpy(to + ((row + r) * w->columns + column) * (size),                            \
             buffer + r * TILE * (size), (size_t)width * (size));                        \
  }
TILE_OF(tile_1, 1)
TILE_OF(tile_2, 2)
TILE_OF(tile_4, 4)
TILE_OF(tile_8, 8)

typedef void (*tile_copy)(const walk *, const unsigned char *, unsigned char *, int64_t,
                          int64_t, int64_t, int64_t);

static const tile_copy tile_copies[] = {
    [1] = tile_1, [2] = tile_2, [4] = tile_4, [8] = tile_8};

static void copy_tiles(const walk *w, const unsigned char *from, unsigned char *to) {
  tile_copy copy = tile_copies[w->block];
  for (int64_t row = 0; row < w->rows; row += TILE) {
    int64_t row_end = row + TILE < w->rows ? row + TILE : w->rows;
    for (int64_t column = 0; column < w->columns; column += TILE) {
      int64_t end = column + TILE < w->columns ? column + TILE : w->columns;
      copy(w, from, to, row, column, row_end, end);
    }
  }
}

// Returns how many result columns from `c` on can be copied at once: all are fill, or
// contiguous blocks of the input.
static int64_t piece_of(const walk *w, int64_t c) {
  const int64_t *map = w->column_map;
  int64_t step = (int64_t)(w->block / w->move->element), count = 1;
  while (c + count < w->columns &&
         (map[c] < 0 ? map[c + count] < 0 : map[c + count] == map[c] + count * step))
    count++;
  return count;
}

static void copy_row(const walk *w, const unsigned char *from, unsigned char *to) {
  int64_t element = (int64_t)w->move->element;
  for (int64_t c = 0, count = 0; c < w->columns; c += count) {
    count = piece_of(w, c);
    size_t bytes = (size_t)count * w->block;
    if (w->column_map[c] < 0)
      fill_bytes(to, bytes, w->move);
    else
      memcpy(to, from + w->column_map[c] * element, bytes);
    to += bytes;
  }
}

static void copy_blocks(const walk *w, const unsigned char *from, unsigned char *to) {
  size_t bytes = (size_t)w->columns * w->block;
  for (int64_t r = 0; r < w->rows; r++, to += bytes) {
    if (w->row_map[r] < 0)
      fill_bytes(to, bytes, w->move);
    else
      copy_row(w, from + w->row_map[r] * (int64_t)w->move->element, to);
  }
}

static bool has_fill(const int64_t *map, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (map[i] < 0) return true;
  return false;
}

void eg_move_run(const eg_move *move, const void *from, void *to) {
  assert(move->element >= 1 && move->element <= 8);
  const walk w = walk_of(move);
  int64_t index[EGRAPH_MAX_RANK] = {0};
  bool is_single = w.block == move->element && !has_fill(w.row_map, w.rows) &&
                   !has_fill(w.column_map, w.columns);
  size_t bytes = (size_t)(w.rows * w.columns) * w.block;
  unsigned char *out = to;
  do {
    int64_t offset = w.base;
    bool is_fill = false;
    for (uint32_t d = 0; d < w.outer; d++) {
      is_fill = is_fill || move->map[d][index[d]] < 0;
      offset += move->map[d][index[d]];
    }
    if (is_fill) {
      fill_bytes(out, bytes, move);
    } else {
      const unsigned char *in =
          (const unsigned char *)from + offset * (int64_t)move->element;
      if (is_single)
        copy_tiles(&w, in, out);
      else
        copy_blocks(&w, in, out);
    }
    out += bytes;
  } while (eg_index_next(w.outer, move->dims, index));
}
