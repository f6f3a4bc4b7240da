// Values that rules have found equal share one value of the planned graph. In a row, one
// of them is its image: what comes from outside before what the row makes itself, the
// earlier before the later. Two that other blocks hand in may be equal in one block only.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/fold/unfold_rows.h"

typedef struct filler {
  const eg_graph *whole, *small, *planned;
  const eg_unfold_match *match;
  const eg_u32s *value_of; // [values of the small step] of the planned graph
  uint32_t smalls;         // values of the small step
  eg_u32s twin;            // [row][values of the small step] of the whole step
  eg_unfold_rows *out;
} filler;

uint32_t eg_unfold_row_of(const eg_unfold_rows *rows, uint32_t block) {
  return block < rows->count ? block : 0;
}

static uint32_t block_of(const filler *f, uint32_t value) {
  return f->match->blocks.value.data[value];
}

/// The image of two values that are equal in a row.
static uint32_t choose(const filler *f, uint32_t row, uint32_t a, uint32_t b) {
  bool a_enters = eg_unfold_row_of(f->out, block_of(f, a)) != row;
  bool b_enters = eg_unfold_row_of(f->out, block_of(f, b)) != row;
  if (a_enters != b_enters) return a_enters ? a : b;
  bool are_outside =
      block_of(f, a) == EG_BLOCK_OUTSIDE && block_of(f, b) == EG_BLOCK_OUTSIDE;
  if (a_enters && !are_outside) return EG_ROW_UNCLEAR;
  return a < b ? a : b;
}

/// A value of the small step stands for one value of the whole step in a row, or nobody
/// knows for which.
static void put(filler *f, uint32_t row, eg_value small, eg_value whole) {
  uint32_t *twin = &f->twin.data[(size_t)row * f->smalls + small.id];
  *twin = *twin == EG_ROW_NONE || *twin == whole.id ? whole.id : EG_ROW_UNCLEAR;
}

static void put_node(filler *f, uint32_t n) {
  eg_graph_node_info node = eg_graph_node_at(f->whole, (eg_graph_node){n});
  uint32_t twin = f->match->value.data[node.results[0].id];
  if (twin == EG_ROW_NONE) return;
  eg_graph_node_info like =
      eg_graph_node_at(f->small, eg_graph_value(f->small, (eg_value){twin})->node);
  uint32_t row = eg_unfold_row_of(f->out, block_of(f, node.results[0].id));
  for (uint32_t i = 0; i < node.input_count; i++)
    put(f, row, like.inputs[i], node.inputs[i]);
  for (uint32_t r = 0; r < node.result_count; r++)
    put(f, row, like.results[r], node.results[r]);
}

bool eg_unfold_rows_can_make(const eg_unfold_rows *rows, const eg_graph *planned,
                             uint32_t row, uint32_t value) {
  const eg_value_info *info = eg_graph_value(planned, (eg_value){value});
  if (info->kind != EG_VALUE_COMPUTED) return false;
  eg_graph_node_info node = eg_graph_node_at(planned, info->node);
  for (uint32_t i = 0; i < node.input_count; i++)
    if (rows->can_be.data[eg_unfold_cell(rows, row, node.inputs[i].id)] == 0)
      return false;
  return true;
}

/// Joins what has become one value of the planned graph.
static void join(filler *f, uint32_t row) {
  for (uint32_t s = 0; s < f->smalls; s++) {
    uint32_t twin = f->twin.data[(size_t)row * f->smalls + s];
    uint32_t value = f->value_of->data[s];
    if (twin == EG_ROW_NONE || value == EG_ROW_NONE) continue;
    uint32_t *image = &f->out->image.data[eg_unfold_cell(f->out, row, value)];
    if (*image == EG_ROW_NONE || twin == EG_ROW_UNCLEAR)
      *image = twin;
    else if (*image != EG_ROW_UNCLEAR && *image != twin)
      *image = choose(f, row, *image, twin);
  }
}

/// Operands stand before what is made of them.
static void derive(filler *f, uint32_t row) {
  for (uint32_t v = 0; v < f->out->values; v++) {
    size_t cell = eg_unfold_cell(f->out, row, v);
    uint32_t image = f->out->image.data[cell];
    f->out->can_be.data[cell] = image == EG_ROW_NONE
                                    ? eg_unfold_rows_can_make(f->out, f->planned, row, v)
                                    : image != EG_ROW_UNCLEAR;
  }
}

static egraph_status fill_rows(filler *f) {
  size_t cells = (size_t)f->out->count * f->out->values;
  EG_TRY(eg_u32s_resize(&f->out->image, cells));
  EG_TRY(eg_bytes_resize(&f->out->can_be, cells));
  for (size_t i = 0; i < cells; i++)
    f->out->image.data[i] = EG_ROW_NONE;
  EG_TRY(eg_u32s_resize(&f->twin, (size_t)f->out->count * f->smalls));
  for (size_t i = 0; i < f->twin.len; i++)
    f->twin.data[i] = EG_ROW_NONE;
  for (uint32_t n = 0; n < eg_graph_node_count(f->whole); n++)
    put_node(f, n);
  for (uint32_t row = 0; row < f->out->count; row++) {
    join(f, row);
    derive(f, row);
  }
  return EGRAPH_OK;
}

egraph_status eg_unfold_rows_init(eg_unfold_rows *rows, egraph_allocator alloc,
                                  const eg_unfold_steps *steps,
                                  const eg_unfold_match *match,
                                  const eg_emitted_plan *folded) {
  *rows = (eg_unfold_rows){.count = steps->blocks->count - 1,
                           .values = eg_graph_value_count(folded->graph)};
  filler f = {.whole = eg_unfold_whole(steps),
              .small = eg_unfold_small(steps),
              .planned = folded->graph,
              .match = match,
              .value_of = &folded->value_of,
              .smalls = eg_graph_value_count(eg_unfold_small(steps)),
              .out = rows};
  eg_u32s_init(&rows->image, alloc);
  eg_bytes_init(&rows->can_be, alloc);
  eg_u32s_init(&f.twin, alloc);
  egraph_status status = fill_rows(&f);
  eg_u32s_deinit(&f.twin);
  if (status != EGRAPH_OK) eg_unfold_rows_deinit(rows);
  return status;
}

void eg_unfold_rows_deinit(eg_unfold_rows *rows) {
  eg_u32s_deinit(&rows->image);
  eg_bytes_deinit(&rows->can_be);
}
