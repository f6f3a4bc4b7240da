// SPDX-License-Identifier: Apache-2.0
#include "exec/relayout.h"

#include <assert.h>
#include <string.h>

#include "pcg/step_scratch.h"

// ---- blocks in memory -------------------------------------------------------------

/// [outer][parts][bytes] -> [parts][outer][bytes]
static egraph_status pack(eg_backend *memory, const eg_cut *c, const void *from,
                          void *to) {
  for (size_t p = 0; p < c->parts; p++)
    EG_TRY(eg_backend_copy_rows(memory, (char *)to + p * c->outer * c->bytes, c->bytes,
                                (const char *)from + p * c->bytes, c->parts * c->bytes,
                                c->bytes, c->outer));
  return EGRAPH_OK;
}

static egraph_status unpack(eg_backend *memory, const eg_cut *c, const void *from,
                            void *to) {
  for (size_t p = 0; p < c->parts; p++)
    EG_TRY(eg_backend_copy_rows(memory, (char *)to + p * c->bytes, c->parts * c->bytes,
                                (const char *)from + p * c->outer * c->bytes, c->bytes,
                                c->bytes, c->outer));
  return EGRAPH_OK;
}

/// One part: [outer][bytes]
static egraph_status take(eg_backend *memory, const eg_cut *c, size_t part,
                          const void *from, void *to) {
  return eg_backend_copy_rows(memory, to, c->bytes, (const char *)from + part * c->bytes,
                              c->parts * c->bytes, c->bytes, c->outer);
}

// ---- transitions ------------------------------------------------------------------

eg_relayout eg_relayout_of(const eg_mesh *mesh, const eg_type *type,
                           const eg_layout *layout, const eg_transition *transition) {
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

/// Sends, receives, and between them changes the order of the parts where it must.
static egraph_status communicate(const moving *m, eg_collective what) {
  const void *send = m->from;
  void *recv = m->to;
  char *scratch = m->scratch;
  if (!eg_cut_is_packed(&m->cuts.packed)) {
    EG_TRY(pack(m->channel->backend, &m->cuts.packed, m->from, scratch));
    send = scratch;
    scratch += eg_type_bytes(&m->move->from);
  }
  if (!eg_cut_is_packed(&m->cuts.unpacked)) recv = scratch;
  what.axis = m->move->transition.axis;
  what.dtype = m->move->from.dtype;
  what.combining =
      m->move->transition.from == EG_SHARD_P_MAX ? EG_COMBINE_MAX : EG_COMBINE_SUM;
  what.send = send;
  what.recv = recv;
  what.lends = m->move->lends;
  EG_TRY(eg_channel_run(m->channel, &what));
  return recv == m->to ? EGRAPH_OK
                       : unpack(m->channel->backend, &m->cuts.unpacked, recv, m->to);
}

static uint32_t place_of(const moving *m) {
  return eg_mesh_coordinate(&m->channel->mesh, m->channel->rank,
                            m->move->transition.axis);
}

static egraph_status slice(const moving *m) {
  return take(m->channel->backend, &m->cuts.packed, place_of(m), m->from, m->to);
}

static egraph_status mask(const moving *m) {
  size_t bytes = eg_type_bytes(&m->move->to);
  return place_of(m) == 0
             ? eg_backend_copy_rows(m->channel->backend, m->to, bytes, m->from, bytes,
                                    bytes, 1)
             : eg_backend_fill(m->channel->backend, m->to, EGRAPH_UINT8, 0, bytes);
}

/// Elements in memory: with the channels that fill a block.
static size_t count_of(const eg_type *type) {
  return eg_type_bytes(type) / eg_dtype_bytes(type->dtype);
}

static egraph_status all_gather(const moving *m) {
  size_t count = count_of(&m->move->from);
  return communicate(m,
                     (eg_collective){.kind = EG_COLLECTIVE_ALL_GATHER, .count = count});
}

static egraph_status reduce_scatter(const moving *m) {
  size_t count = count_of(&m->move->to);
  return communicate(
      m, (eg_collective){.kind = EG_COLLECTIVE_REDUCE_SCATTER, .count = count});
}

static egraph_status all_reduce(const moving *m) {
  size_t count = count_of(&m->move->to);
  return communicate(m,
                     (eg_collective){.kind = EG_COLLECTIVE_ALL_REDUCE, .count = count});
}

static egraph_status all_to_all(const moving *m) {
  size_t count = count_of(&m->move->from) / m->cuts.packed.parts;
  return communicate(m,
                     (eg_collective){.kind = EG_COLLECTIVE_ALL_TO_ALL, .count = count});
}

/// A change of formats has no entry: it is a program (rank_program.h).
static egraph_status (*const runs[EG_TRANSITION_KINDS])(const moving *) = {
    [EG_TRANSITION_SLICE] = slice,
    [EG_TRANSITION_MASK] = mask,
    [EG_TRANSITION_ALL_GATHER] = all_gather,
    [EG_TRANSITION_REDUCE_SCATTER] = reduce_scatter,
    [EG_TRANSITION_ALL_REDUCE] = all_reduce,
    [EG_TRANSITION_ALL_TO_ALL] = all_to_all,
};

egraph_status eg_relayout_run(const eg_relayout *move, eg_channel *channel,
                              const void *from, void *to, void *scratch) {
  moving m = {
      .move = move,
      .channel = channel,
      .cuts = eg_move_cuts_of(&channel->mesh, &move->transition, &move->from, &move->to),
      .from = from,
      .to = to,
      .scratch = scratch};
  return runs[move->transition.kind](&m);
}

// ---- halos ------------------------------------------------------------------------

/// Bytes of a row, and how often rows come.
static eg_cut rows_of(const eg_type *type, uint32_t dim) {
  eg_cut c = eg_cut_of(type, dim, 1);
  c.parts = (size_t)type->dims[dim]; // of a window: none are channels
  if (c.parts != 0) c.bytes /= c.parts;
  return c;
}

eg_halo_move eg_halo_move_of(const eg_type *local, const eg_halo *halo) {
  assert(halo->before <= local->dims[halo->dim] && halo->after <= local->dims[halo->dim]);
  eg_halo_move move = {.halo = *halo, .from = *local, .to = *local};
  move.to.dims[halo->dim] += halo->before + halo->after;
  move.scratch_bytes = eg_halo_scratch(local, halo);
  return move;
}

egraph_status eg_halo_move_run(const eg_halo_move *move, eg_channel *channel,
                               const void *from, void *to, void *scratch) {
  const eg_halo *halo = &move->halo;
  eg_backend *memory = channel->backend;
  egraph_dtype dtype = move->from.dtype;
  eg_cut rows = rows_of(&move->from, halo->dim);
  size_t held = rows.parts * rows.bytes, before = (size_t)halo->before * rows.bytes,
         after = (size_t)halo->after * rows.bytes, step = before + held + after;
  size_t outer = rows.outer, size = eg_dtype_bytes(dtype);
  char *send = scratch, *recv = send + outer * (before + after), *target = to;
  char *send_back = send + outer * before, *recv_back = recv + outer * before;
  const char *last = (const char *)from + (held - before);
  EG_TRY(eg_backend_copy_rows(memory, send, before, last, held, before, outer));
  EG_TRY(eg_backend_copy_rows(memory, send_back, after, from, held, after, outer));
  EG_TRY(
      eg_backend_fill(memory, recv, dtype, halo->fill, outer * (before + after) / size));
  EG_TRY(eg_channel_run(channel, &(eg_collective){.kind = EG_COLLECTIVE_NEIGHBOURS,
                                                  .axis = halo->axis,
                                                  .dtype = dtype,
                                                  .count = outer * before / size,
                                                  .count_back = outer * after / size,
                                                  .send = send,
                                                  .recv = recv,
                                                  .lends = move->lends}));
  EG_TRY(eg_backend_copy_rows(memory, target, step, recv, before, before, outer));
  EG_TRY(eg_backend_copy_rows(memory, target + before, step, from, held, held, outer));
  return eg_backend_copy_rows(memory, target + before + held, step, recv_back, after,
                              after, outer);
}

// ---- blocks of global tensors -----------------------------------------------------

/// Where the rank's block begins, in elements of each dimension; false when the rank
/// holds zeros.
static bool find_block(const eg_mesh *mesh, uint32_t rank, const eg_layout *layout,
                       const eg_type *local, int64_t out_begin[EGRAPH_MAX_RANK]) {
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

/// Bytes of a block that lie together: the innermost dimensions that are whole, and the
/// one before them. *out_outer: dimensions outside of these.
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

/// Where an element lies in a global tensor, in bytes.
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
