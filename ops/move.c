// The longest trailing run that is contiguous on both sides is copied with memcpy; the
// two dimensions before it are walked in tiles, so that a transposition stays within the
// cache.
// SPDX-License-Identifier: Apache-2.0
#include "ops/move.h"

#include <assert.h>
#include <string.h>

#include "ops/kernels.h"

enum { TILE = 32 };

egraph_status eg_move_init(eg_move *move, eg_arena *arena, const eg_type *result) {
  *move = (eg_move){.rank = result->rank, .element = eg_dtype_bytes(result->dtype)};
  for (uint32_t d = 0; d < result->rank; d++) {
    move->dims[d] = result->dims[d];
    EG_TRY(
        eg_arena_alloc(arena, (size_t)result->dims[d], sizeof(int64_t), &move->map[d]));
  }
  return EGRAPH_OK;
}

// What is left of a move after its contiguous tail: blocks of `block` bytes at outer x
// rows x columns places. Unused dimensions are of size 1.
typedef struct walk {
  const eg_move *move;
  uint32_t outer; // dimensions walked by the odometer
  int64_t rows, columns;
  const int64_t *row_map, *column_map;
  int64_t base; // offset of the tail
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

// One tile of elements of a size the compiler knows, through a buffer: column by column
// in, row by row out. In a transposition both sides are then read and written along
// their lines, which matters when the distance of lines is a power of two and they
// share a cache set.
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

static tile_copy tile_copy_of(size_t element) {
  switch (element) {
  case 1: return tile_1;
  case 2: return tile_2;
  case 4: return tile_4;
  default: return tile_8;
  }
}

static void copy_tiles(const walk *w, const unsigned char *from, unsigned char *to) {
  tile_copy copy = tile_copy_of(w->block);
  for (int64_t row = 0; row < w->rows; row += TILE) {
    int64_t row_end = row + TILE < w->rows ? row + TILE : w->rows;
    for (int64_t column = 0; column < w->columns; column += TILE) {
      int64_t end = column + TILE < w->columns ? column + TILE : w->columns;
      copy(w, from, to, row, column, row_end, end);
    }
  }
}

// Columns from `c` on that are one piece: all fill, or one block after the
// other in the input.
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
