// SPDX-License-Identifier: Apache-2.0
#include "exec/relayout.h"

#include <assert.h>
#include <string.h>

#include "pcg/plan/step_scratch.h"

// ---- blocks in memory -------------------------------------------------------------

/// Reorders [outer][parts][bytes] -> [parts][outer][bytes] or, with `unpacks`, back.
static egraph_status reorder_parts(eg_backend *memory, const eg_cut *c, bool unpacks,
                                   const void *from, void *to) {
  size_t part = c->outer * c->bytes, row = c->parts * c->bytes;
  for (size_t p = 0; p < c->parts; p++)
    EG_TRY(eg_backend_copy_rows(memory, (char *)to + p * (unpacks ? c->bytes : part),
                                unpacks ? row : c->bytes,
                                (const char *)from + p * (unpacks ? part : c->bytes),
                                unpacks ? c->bytes : row, c->bytes, c->outer));
  return EGRAPH_OK;
}

// ---- transitions ------------------------------------------------------------------

eg_relayout eg_relayout_of(const eg_mesh *mesh, const eg_type *type,
                           const eg_layout *layout, const eg_transition *transition) {
  assert(transition->kind != EG_TRANSITION_REORDER &&
         transition->axis < mesh->axis_count);
  eg_layout after = *layout;
  after.sharding[transition->axis] = transition->to;
  eg_relayout move = {.transition = *transition,
                      .from = eg_sharding_local(mesh, type, layout),
                      .to = eg_sharding_local(mesh, type, &after)};
  move.scratch_bytes = eg_move_scratch(mesh, transition, &move.from, &move.to);
  return move;
}

typedef struct moving {
  const eg_relayout *move;
  eg_channel *channel;
  eg_move_cuts cuts;
  const void *from;
  void *to;
  char *scratch;
} moving;

static uint32_t own_place(const moving *m) {
  return eg_mesh_coordinate(&m->channel->mesh, m->channel->rank,
                            m->move->transition.axis);
}

static egraph_status slice(const moving *m) {
  const eg_cut *c = &m->cuts.packed; // [outer][parts][bytes] -> [outer][bytes]
  return eg_backend_copy_rows(m->channel->backend, m->to, c->bytes,
                              (const char *)m->from + own_place(m) * c->bytes,
                              c->parts * c->bytes, c->bytes, c->outer);
}

static egraph_status mask(const moving *m) {
  size_t bytes = eg_type_bytes(&m->move->to);
  return own_place(m) == 0
             ? eg_backend_copy_rows(m->channel->backend, m->to, bytes, m->from, bytes,
                                    bytes, 1)
             : eg_backend_fill(m->channel->backend, m->to, EGRAPH_UINT8, 0, bytes);
}

/// Counts the stored elements, including channels that fill a block.
static size_t count_stored(const eg_type *type) {
  return eg_type_bytes(type) / eg_dtype_bytes(type->dtype);
}

/// Sends and receives blocks; reorders parts before or after that where necessary.
static egraph_status communicate(const moving *m) {
  static const eg_collective_kind kinds[EG_TRANSITION_KINDS] = {
      [EG_TRANSITION_ALL_GATHER] = EG_COLLECTIVE_ALL_GATHER,
      [EG_TRANSITION_REDUCE_SCATTER] = EG_COLLECTIVE_REDUCE_SCATTER,
      [EG_TRANSITION_ALL_REDUCE] = EG_COLLECTIVE_ALL_REDUCE,
      [EG_TRANSITION_ALL_TO_ALL] = EG_COLLECTIVE_ALL_TO_ALL};
  const eg_relayout *move = m->move;
  eg_transition_kind kind = move->transition.kind;
  eg_collective what = {
      .kind = kinds[kind],
      .combining =
          move->transition.from == EG_SHARD_P_MAX ? EG_COMBINE_MAX : EG_COMBINE_SUM,
      .axis = move->transition.axis,
      .dtype = move->from.dtype,
      .count =
          count_stored(kind == EG_TRANSITION_REDUCE_SCATTER ? &move->to : &move->from),
      .send = m->from,
      .recv = m->to,
      .lends = move->lends};
  char *scratch = m->scratch;
  if (kind == EG_TRANSITION_ALL_TO_ALL) what.count /= m->cuts.packed.parts;
  if (!eg_cut_is_packed(&m->cuts.packed)) {
    EG_TRY(reorder_parts(m->channel->backend, &m->cuts.packed, false, m->from, scratch));
    what.send = scratch;
    scratch += eg_type_bytes(&move->from);
  }
  if (!eg_cut_is_packed(&m->cuts.unpacked)) what.recv = scratch;
  EG_TRY(eg_channel_run(m->channel, &what));
  return what.recv == m->to ? EGRAPH_OK
                            : reorder_parts(m->channel->backend, &m->cuts.unpacked, true,
                                            what.recv, m->to);
}

egraph_status eg_relayout_run(const eg_relayout *move, eg_channel *channel,
                              const void *from, void *to, void *scratch) {
  assert(move->transition.kind < EG_TRANSITION_KINDS);
  moving m = {
      .move = move,
      .channel = channel,
      .cuts = eg_move_cuts_of(&channel->mesh, &move->transition, &move->from, &move->to),
      .from = from,
      .to = to,
      .scratch = scratch};
  // A change of formats is no relayout: it runs as a program (rank_program.h).
  return move->transition.kind == EG_TRANSITION_SLICE  ? slice(&m)
         : move->transition.kind == EG_TRANSITION_MASK ? mask(&m)
                                                       : communicate(&m);
}

// ---- halos ------------------------------------------------------------------------

/// Cuts a tensor into rows: [outer][rows][bytes of a row].
static eg_cut cut_into_rows(const eg_type *type, uint32_t dim) {
  eg_cut c = eg_cut_of(type, dim, 1);
  c.parts = (size_t)type->dims[dim]; // windows do not slide over channels
  if (c.parts != 0) c.bytes /= c.parts;
  return c;
}

egraph_status eg_rows_copy(eg_backend *memory, uint32_t dim, int64_t count,
                           const eg_rows *to, int64_t to_row, const eg_rows *from,
                           int64_t from_row) {
  assert(to->type.dtype == from->type.dtype && dim < to->type.rank);
  if (count == 0) return EGRAPH_OK;
  eg_cut source = cut_into_rows(&from->type, dim), target = cut_into_rows(&to->type, dim);
  return eg_backend_copy_rows(
      memory, (char *)to->data + (size_t)to_row * target.bytes,
      target.parts * target.bytes, (char *)from->data + (size_t)from_row * source.bytes,
      source.parts * source.bytes, (size_t)count * source.bytes, source.outer);
}

eg_halo_move eg_halo_move_of(const eg_type *local, const eg_halo *halo) {
  assert(halo->before <= local->dims[halo->dim] && halo->after <= local->dims[halo->dim]);
  eg_halo_move move = {.halo = *halo, .from = *local, .to = *local};
  move.to.dims[halo->dim] += halo->before + halo->after;
  move.scratch_bytes = eg_halo_scratch(local, halo);
  return move;
}

static eg_rows rows_at(const eg_halo_move *move, int64_t count, void *data) {
  eg_rows rows = {.type = move->from, .data = data};
  rows.type.dims[move->halo.dim] = count;
  return rows;
}

static size_t count_rows(const eg_rows *rows) {
  return eg_type_bytes(&rows->type) / eg_dtype_bytes(rows->type.dtype);
}

egraph_status eg_halo_exchange(const eg_halo_move *move, eg_channel *channel,
                               const void *from, void *scratch, eg_halo_rows *out) {
  assert(move->halo.axis < channel->mesh.axis_count);
  const eg_halo *halo = &move->halo;
  eg_rows held = {.type = move->from};
  memcpy(&held.data, &from, sizeof from); // only read
  eg_rows last = rows_at(move, halo->before, scratch);
  eg_rows first = rows_at(move, halo->after, (char *)scratch + eg_type_bytes(&last.type));
  char *recv = (char *)first.data + eg_type_bytes(&first.type);
  out->before = rows_at(move, halo->before, recv);
  out->after = rows_at(move, halo->after, recv + eg_type_bytes(&last.type));
  EG_TRY(eg_rows_copy(channel->backend, halo->dim, halo->before, &last, 0, &held,
                      held.type.dims[halo->dim] - halo->before));
  EG_TRY(eg_rows_copy(channel->backend, halo->dim, halo->after, &first, 0, &held, 0));
  return eg_channel_run(channel, &(eg_collective){.kind = EG_COLLECTIVE_NEIGHBOURS,
                                                  .axis = halo->axis,
                                                  .dtype = held.type.dtype,
                                                  .count = count_rows(&last),
                                                  .count_back = count_rows(&first),
                                                  .send = scratch,
                                                  .recv = recv,
                                                  .lends = move->lends});
}

/// Fills the rows around a block for which there is no neighbour rank.
static egraph_status fill_borders(const eg_halo_move *move, const eg_channel *channel,
                                  const eg_halo_rows *rows) {
  uint32_t axis = move->halo.axis;
  uint32_t place = eg_mesh_coordinate(&channel->mesh, channel->rank, axis);
  egraph_dtype dtype = move->from.dtype;
  if (place == 0)
    EG_TRY(eg_backend_fill(channel->backend, rows->before.data, dtype, move->halo.fill,
                           count_rows(&rows->before)));
  if (place + 1 != channel->mesh.axes[axis].size) return EGRAPH_OK;
  return eg_backend_fill(channel->backend, rows->after.data, dtype, move->halo.fill,
                         count_rows(&rows->after));
}

egraph_status eg_halo_move_run(const eg_halo_move *move, eg_channel *channel,
                               const void *from, void *to, void *scratch) {
  const eg_halo *halo = &move->halo;
  int64_t held = move->from.dims[halo->dim];
  eg_rows own = {.type = move->from}, all = {.type = move->to, .data = to};
  eg_halo_rows rows;
  memcpy(&own.data, &from, sizeof from); // only read
  EG_TRY(eg_halo_exchange(move, channel, from, scratch, &rows));
  EG_TRY(fill_borders(move, channel, &rows));
  eg_backend *memory = channel->backend;
  EG_TRY(eg_rows_copy(memory, halo->dim, halo->before, &all, 0, &rows.before, 0));
  EG_TRY(eg_rows_copy(memory, halo->dim, held, &all, halo->before, &own, 0));
  return eg_rows_copy(memory, halo->dim, halo->after, &all, halo->before + held,
                      &rows.after, 0);
}

// ---- blocks of global tensors -----------------------------------------------------

/// Finds where the rank's block begins, in elements of each dimension; false when the
/// rank's block is zeros.
static bool find_block(const eg_mesh *mesh, uint32_t rank, const eg_layout *layout,
                       const eg_type *local, int64_t out_begin[EGRAPH_MAX_RANK]) {
  assert(rank < eg_mesh_devices(mesh));
  int64_t block[EGRAPH_MAX_RANK] = {0};
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    uint8_t digit = layout->sharding[a];
    uint32_t place = eg_mesh_coordinate(mesh, rank, a);
    if (digit == EG_SHARD_P_SUM && place != 0) return false;
    if (!eg_digit_is_shard(digit)) continue;
    int64_t *number = &block[eg_digit_dim(digit)];
    *number = *number * mesh->axes[a].size + place;
  }
  for (uint32_t d = 0; d < local->rank; d++)
    out_begin[d] = block[d] * local->dims[d];
  return true;
}

static eg_type plain_part(const eg_mesh *mesh, const eg_type *type,
                          const eg_layout *layout) {
  eg_type part = eg_sharding_local(mesh, type, layout);
  part.layout.format = EG_FORMAT_PLAIN;
  return part;
}

/// Returns the contiguous bytes of a block: the product of the innermost dimensions that
/// the block has completely, and of the next outer one. *out_outer: number of dimensions
/// outside of these.
static size_t run_of(const eg_type *part, const eg_type *type, uint32_t *out_outer) {
  size_t run = eg_dtype_bytes(type->dtype);
  uint32_t outer = part->rank;
  while (outer > 0) {
    outer--;
    run *= (size_t)part->dims[outer];
    if (part->dims[outer] != type->dims[outer]) break;
  }
  *out_outer = outer;
  return run;
}

/// Returns the offset of an element in a global tensor, in bytes.
static size_t place_of_element(const eg_type *type, const int64_t *begin,
                               const int64_t *index, uint32_t outer) {
  size_t at = 0;
  for (uint32_t d = 0; d < type->rank; d++)
    at = at * (size_t)type->dims[d] + (size_t)(begin[d] + (d < outer ? index[d] : 0));
  return at * eg_dtype_bytes(type->dtype);
}

bool eg_block_find(const eg_mesh *mesh, uint32_t rank, const eg_type *type,
                   const eg_layout *layout, size_t *out_offset) {
  eg_type part = plain_part(mesh, type, layout);
  int64_t begin[EGRAPH_MAX_RANK];
  uint32_t outer;
  *out_offset = 0;
  if (eg_type_bytes(&part) == 0) return true;
  if (!find_block(mesh, rank, layout, &part, begin) ||
      run_of(&part, type, &outer) != eg_type_bytes(&part))
    return false;
  *out_offset = place_of_element(type, begin, begin, 0);
  return true;
}

void eg_block_read(const eg_mesh *mesh, uint32_t rank, const eg_type *type,
                   const eg_layout *layout, const void *global, void *local) {
  eg_type part = plain_part(mesh, type, layout);
  size_t bytes = eg_type_bytes(&part);
  int64_t begin[EGRAPH_MAX_RANK], index[EGRAPH_MAX_RANK] = {0};
  if (bytes == 0) return;
  if (!find_block(mesh, rank, layout, &part, begin)) {
    memset(local, 0, bytes);
    return;
  }
  uint32_t outer;
  size_t run = run_of(&part, type, &outer);
  for (size_t done = 0; done < bytes; done += run) {
    size_t at = place_of_element(type, begin, index, outer);
    memcpy((char *)local + done, (const char *)global + at, run);
    for (uint32_t d = outer; d-- > 0 && ++index[d] == part.dims[d];)
      index[d] = 0;
  }
}
