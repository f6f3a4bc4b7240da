// Copies blocks element by element: instances are small, and one loop serves
// all transfers.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/claims/rank_parts.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "pcg/training/gradient.h"
#include "rewrites/lab/basis/tensors.h"

// ---- blocks -------------------------------------------------------------------------

typedef enum transfer {
  TRANSFER_TAKE,     // block = part of the whole
  TRANSFER_TAKE_ADD, // block += part of the whole
  TRANSFER_PUT,      // part of the whole = block
  TRANSFER_PUT_ADD,  // part of the whole += block
  TRANSFER_PUT_MOST  // part of the whole = maximum of it and the block
} transfer;

static void add_element(const eg_tensor *to, int64_t i, const eg_tensor *of, int64_t k) {
  if (eg_dtype_is_float(to->type.dtype))
    eg_tensor_set_double(to, i,
                         eg_tensor_get_double(to, i) + eg_tensor_get_double(of, k));
  else
    eg_tensor_set_int(to, i,
                      (int64_t)((uint64_t)eg_tensor_get_int(to, i) +
                                (uint64_t)eg_tensor_get_int(of, k)));
}

static void raise_element(const eg_tensor *to, int64_t i, const eg_tensor *of,
                          int64_t k) {
  if (!eg_dtype_is_float(to->type.dtype)) {
    int64_t a = eg_tensor_get_int(to, i), b = eg_tensor_get_int(of, k);
    bool is_more =
        eg_dtype_is_unsigned(to->type.dtype) ? (uint64_t)b > (uint64_t)a : b > a;
    if (is_more) eg_tensor_set_int(to, i, b);
    return;
  }
  double a = eg_tensor_get_double(to, i), b = eg_tensor_get_double(of, k);
  if (b > a || isnan(b)) eg_tensor_set_double(to, i, b);
}

static void set_element(const eg_tensor *to, int64_t i, const eg_tensor *of, int64_t k) {
  size_t bytes = eg_dtype_bytes(to->type.dtype);
  memcpy((char *)to->data + (size_t)i * bytes, (const char *)of->data + (size_t)k * bytes,
         bytes);
}

/// Transfers a block between a whole tensor and a part. offset[d]: where the block begins
/// in the whole tensor along dimension d.
static void move_block(transfer how, const eg_tensor *whole, const int64_t *offset,
                       const eg_tensor *block) {
  int64_t strides[EGRAPH_MAX_RANK], at[EGRAPH_MAX_RANK] = {0};
  uint32_t rank = block->type.rank;
  assert(whole->type.rank == rank);
  int64_t count = eg_type_elements(&block->type);
  eg_type_strides(&whole->type, strides);
  for (int64_t k = 0; k < count; k++) {
    int64_t i = 0;
    for (uint32_t d = 0; d < rank; d++)
      i += (offset[d] + at[d]) * strides[d];
    if (how == TRANSFER_TAKE) set_element(block, k, whole, i);
    if (how == TRANSFER_TAKE_ADD) add_element(block, k, whole, i);
    if (how == TRANSFER_PUT) set_element(whole, i, block, k);
    if (how == TRANSFER_PUT_ADD) add_element(whole, i, block, k);
    if (how == TRANSFER_PUT_MOST) raise_element(whole, i, block, k);
    for (uint32_t d = rank; d-- > 0 && ++at[d] == block->type.dims[d];)
      at[d] = 0;
  }
}

static const int64_t nowhere[EGRAPH_MAX_RANK] = {0};

void eg_rank_add(const eg_tensor *of, const eg_tensor *inout) {
  move_block(TRANSFER_PUT_ADD, inout, nowhere, of);
}

egraph_status eg_rank_tensor(eg_arena *arena, eg_type type, eg_tensor *out) {
  type.layout = (eg_layout){.format = EG_FORMAT_PLAIN};
  return eg_arena_tensor(arena, &type, out);
}

egraph_status eg_rank_zeros(eg_arena *arena, const eg_mesh *mesh, const eg_type *type,
                            const eg_layout *layout, eg_rank_value *out) {
  *out = (eg_rank_value){.layout = *layout, .type = *type};
  eg_type local = eg_sharding_local(mesh, type, layout);
  EG_NEW(arena, eg_mesh_devices(mesh), out->parts);
  for (uint32_t r = 0; r < eg_mesh_devices(mesh); r++)
    EG_TRY(eg_rank_tensor(arena, local, &out->parts[r]));
  return EGRAPH_OK;
}

/// Computes where the part of a rank begins in the whole tensor, by dimension.
static void block_offset(const eg_mesh *mesh, const eg_layout *layout, uint32_t rank,
                         const eg_type *local, int64_t out[EGRAPH_MAX_RANK]) {
  memset(out, 0, EGRAPH_MAX_RANK * sizeof *out);
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    if (!eg_digit_is_shard(layout->sharding[a])) continue;
    int64_t *at = &out[eg_digit_dim(layout->sharding[a])];
    *at = *at * mesh->axes[a].size + eg_mesh_coordinate(mesh, rank, a);
  }
  for (uint32_t d = 0; d < local->rank; d++)
    out[d] *= local->dims[d];
}

// ---- wholes and parts -----------------------------------------------------------------

/// Numbers the ranks by their coordinates on the mesh axes whose digit in the layout
/// satisfies `is_one`; returns the number of `rank`.
static uint32_t number_along(const eg_mesh *mesh, const eg_layout *layout, uint32_t rank,
                             bool (*is_one)(uint8_t digit)) {
  uint32_t number = 0;
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    if (is_one(layout->sharding[a]))
      number = number * mesh->axes[a].size + eg_mesh_coordinate(mesh, rank, a);
  return number;
}

static uint32_t count_along(const eg_mesh *mesh, const eg_layout *layout,
                            bool (*is_one)(uint8_t digit)) {
  uint32_t count = 1;
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    if (is_one(layout->sharding[a])) count *= mesh->axes[a].size;
  return count;
}

static bool is_copied(uint8_t digit) { return digit == EG_SHARD_R; }
static bool is_summed(uint8_t digit) { return digit == EG_SHARD_P_SUM; }
static bool is_copied_or_most(uint8_t digit) {
  return digit == EG_SHARD_R || digit == EG_SHARD_P_MAX;
}

static bool has(const eg_mesh *mesh, const eg_layout *layout, uint8_t digit) {
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    if (layout->sharding[a] == digit) return true;
  return false;
}

uint32_t eg_rank_copies(const eg_mesh *mesh, const eg_layout *layout, bool is_cotangent) {
  return count_along(mesh, layout, is_cotangent ? is_summed : is_copied);
}

/// Draws parts, partial sums or partial maxima, that combine to the whole tensor: for
/// each element all are random except one, which makes the result right.
static void draw_shares(eg_rng *rng, const eg_layout *layout, const eg_mesh *mesh,
                        bool is_plain, const eg_tensor *whole, eg_tensor *shares,
                        uint32_t count) {
  bool is_most = has(mesh, layout, EG_SHARD_P_MAX);
  bool is_float = eg_dtype_is_float(whole->type.dtype);
  int64_t elements = eg_type_elements(&whole->type);
  for (uint32_t s = 0; s < count && (is_plain || is_most); s++)
    if (is_most || s == 0) move_block(TRANSFER_PUT, &shares[s], nowhere, whole);
  if (is_plain || count == 1) return;
  for (int64_t i = 0; i < elements; i++) {
    uint32_t owner = (uint32_t)eg_rng_below(rng, count);
    double sum = 0;
    for (uint32_t s = 0; s < count; s++) {
      double share = (double)eg_rng_below(rng, 9) - 4;
      if (s == owner) continue;
      if (is_most && is_float)
        eg_tensor_set_double(&shares[s], i, eg_tensor_get_double(whole, i) - 5 + share);
      else if (!is_most && is_float)
        eg_tensor_set_double(&shares[s], i, share);
      else if (!is_most)
        eg_tensor_set_int(&shares[s], i, (int64_t)share);
      sum += share;
    }
    if (!is_most && is_float)
      eg_tensor_set_double(&shares[owner], i, eg_tensor_get_double(whole, i) - sum);
    else if (!is_most)
      eg_tensor_set_int(&shares[owner], i, eg_tensor_get_int(whole, i) - (int64_t)sum);
  }
}

static bool is_partial(uint8_t digit) { return eg_digit_is_partial(digit); }

egraph_status eg_rank_spread(eg_arena *arena, const eg_mesh *mesh, eg_rng *rng,
                             bool is_plain, const eg_tensor *whole,
                             const eg_layout *layout, eg_rank_value *out) {
  EG_TRY(eg_rank_zeros(arena, mesh, &whole->type, layout, out));
  uint32_t count = count_along(mesh, layout, is_partial);
  eg_tensor shares[EG_RANKS_MOST] = {*whole};
  for (uint32_t s = 0; s < count && count > 1; s++)
    EG_TRY(eg_rank_tensor(arena, whole->type, &shares[s]));
  draw_shares(rng, layout, mesh, is_plain, whole, shares, count);
  for (uint32_t r = 0; r < eg_mesh_devices(mesh); r++) {
    int64_t offset[EGRAPH_MAX_RANK];
    block_offset(mesh, layout, r, &out->parts[r].type, offset);
    move_block(TRANSFER_TAKE, &shares[number_along(mesh, layout, r, is_partial)], offset,
               &out->parts[r]);
  }
  return EGRAPH_OK;
}

egraph_status eg_rank_spread_cotangent(eg_arena *arena, const eg_mesh *mesh, eg_rng *rng,
                                       const eg_tensor *whole, const eg_layout *layout,
                                       eg_rank_value *out) {
  EG_TRY(eg_rank_zeros(arena, mesh, &whole->type, layout, out));
  uint32_t owner =
      (uint32_t)eg_rng_below(rng, count_along(mesh, layout, is_copied_or_most));
  for (uint32_t r = 0; r < eg_mesh_devices(mesh); r++) {
    int64_t offset[EGRAPH_MAX_RANK];
    if (number_along(mesh, layout, r, is_copied_or_most) != owner) continue;
    block_offset(mesh, layout, r, &out->parts[r].type, offset);
    move_block(TRANSFER_TAKE, whole, offset, &out->parts[r]);
  }
  return EGRAPH_OK;
}

bool eg_rank_join(const eg_mesh *mesh, const eg_rank_value *value,
                  const eg_layout *layout, uint32_t copy, const eg_tensor *out_whole) {
  assert(copy < eg_rank_copies(mesh, layout, false));
  eg_type local = eg_sharding_local(mesh, &out_whole->type, layout);
  bool is_most = has(mesh, layout, EG_SHARD_P_MAX);
  memset(out_whole->data, 0, eg_type_bytes(&out_whole->type));
  for (uint32_t r = 0; r < eg_mesh_devices(mesh); r++) {
    int64_t offset[EGRAPH_MAX_RANK];
    if (!eg_type_same_shape(&value->parts[r].type, &local)) return false;
    if (number_along(mesh, layout, r, is_copied) != copy) continue;
    block_offset(mesh, layout, r, &local, offset);
    bool is_first = number_along(mesh, layout, r, is_partial) == 0;
    move_block(is_first  ? TRANSFER_PUT
               : is_most ? TRANSFER_PUT_MOST
                         : TRANSFER_PUT_ADD,
               out_whole, offset, &value->parts[r]);
  }
  return true;
}

void eg_rank_join_cotangent(const eg_mesh *mesh, const eg_rank_value *value,
                            uint32_t copy, const eg_tensor *out_whole) {
  assert(copy < eg_rank_copies(mesh, &value->layout, true));
  memset(out_whole->data, 0, eg_type_bytes(&out_whole->type));
  for (uint32_t r = 0; r < eg_mesh_devices(mesh); r++) {
    int64_t offset[EGRAPH_MAX_RANK];
    if (number_along(mesh, &value->layout, r, is_summed) != copy) continue;
    block_offset(mesh, &value->layout, r, &value->parts[r].type, offset);
    move_block(TRANSFER_PUT_ADD, out_whole, offset, &value->parts[r]);
  }
}

// ---- parallel operators ---------------------------------------------------------------

/// The ranks that differ from a rank on one mesh axis only; rank k is first + k * stride.
typedef struct peers {
  uint32_t first, stride, count, own; // own: the position of the rank
} peers;

static peers peers_of(const eg_mesh *mesh, uint32_t rank, uint32_t axis) {
  uint32_t stride = eg_mesh_stride(mesh, axis);
  uint32_t own = eg_mesh_coordinate(mesh, rank, axis);
  return (peers){rank - own * stride, stride, mesh->axes[axis].size, own};
}

static uint32_t peer(const peers *p, uint32_t k) { return p->first + k * p->stride; }

egraph_status eg_rank_move(eg_arena *arena, const eg_mesh *mesh, const eg_parallel_op *op,
                           const eg_rank_value *from, eg_rank_value *out) {
  eg_layout layout = from->layout;
  bool is_most = layout.sharding[op->axis] == EG_SHARD_P_MAX;
  if (!eg_parallel_apply(mesh, op, &layout))
    return eg_fail(EGRAPH_E_TYPE, "%s does not apply", eg_parallel_name(op->kind));
  EG_TRY(eg_rank_zeros(arena, mesh, &from->type, &layout, out));
  for (uint32_t r = 0; r < eg_mesh_devices(mesh); r++) {
    peers p = peers_of(mesh, r, op->axis);
    int64_t offset[EGRAPH_MAX_RANK] = {0};
    const eg_tensor *own = &out->parts[r];
    if (op->kind == EG_PARALLEL_PARTITION) {
      offset[op->dim] = p.own * own->type.dims[op->dim];
      move_block(TRANSFER_TAKE, &from->parts[r], offset, own);
    }
    if (op->kind == EG_PARALLEL_REPLICATE && (!op->keeps_one || p.own == 0))
      move_block(TRANSFER_PUT, own, nowhere, &from->parts[r]);
    for (uint32_t k = 0; k < p.count; k++) {
      const eg_tensor *part = &from->parts[peer(&p, k)];
      offset[op->dim] = k * part->type.dims[op->dim];
      if (op->kind == EG_PARALLEL_COMBINE) move_block(TRANSFER_PUT, own, offset, part);
      if (op->kind == EG_PARALLEL_REDUCE)
        move_block(k == 0    ? TRANSFER_PUT
                   : is_most ? TRANSFER_PUT_MOST
                             : TRANSFER_PUT_ADD,
                   own, nowhere, part);
    }
  }
  return EGRAPH_OK;
}

/// Adds a rank's part of the cotangent of a maximum over ranks: ranks that have the
/// maximum get equal parts.
static void share_most(const eg_rank_value *from, const peers *p, const eg_tensor *most,
                       const eg_tensor *of, const eg_tensor *own,
                       const eg_tensor *inout) {
  int64_t elements = eg_type_elements(&own->type);
  for (int64_t i = 0; i < elements; i++) {
    double largest = eg_tensor_get_double(most, i);
    uint32_t holders = 0;
    for (uint32_t k = 0; k < p->count; k++)
      holders += eg_tensor_get_double(&from->parts[peer(p, k)], i) == largest;
    if (eg_tensor_get_double(own, i) != largest) continue;
    eg_tensor_set_double(
        inout, i, eg_tensor_get_double(inout, i) + eg_tensor_get_double(of, i) / holders);
  }
}

void eg_rank_move_back(const eg_mesh *mesh, const eg_parallel_op *op,
                       const eg_rank_value *from, const eg_rank_value *to,
                       const eg_rank_value *to_cotangent,
                       const eg_rank_value *inout_cotangent) {
  bool is_most = from->layout.sharding[op->axis] == EG_SHARD_P_MAX;
  for (uint32_t r = 0; r < eg_mesh_devices(mesh); r++) {
    peers p = peers_of(mesh, r, op->axis);
    int64_t offset[EGRAPH_MAX_RANK] = {0};
    const eg_tensor *own = &inout_cotangent->parts[r], *of = to_cotangent->parts;
    if (op->kind == EG_PARALLEL_PARTITION) {
      offset[op->dim] = p.own * of[r].type.dims[op->dim];
      move_block(TRANSFER_PUT_ADD, own, offset, &of[r]);
    }
    if (op->kind == EG_PARALLEL_REPLICATE && (!op->keeps_one || p.own == 0))
      eg_rank_add(&of[r], own);
    offset[op->dim] = p.own * own->type.dims[op->dim];
    for (uint32_t k = 0; k < p.count; k++) {
      uint32_t other = peer(&p, k);
      if (op->kind == EG_PARALLEL_COMBINE)
        move_block(TRANSFER_TAKE_ADD, &of[other], offset, own);
      if (op->kind == EG_PARALLEL_REDUCE && is_most)
        share_most(from, &p, &to->parts[r], &of[other], &from->parts[r], own);
      if (op->kind == EG_PARALLEL_REDUCE && !is_most) eg_rank_add(&of[other], own);
    }
  }
}

// ---- halos --------------------------------------------------------------------------

/// Creates a tensor like `of`, with `count` rows along dimension `dim`.
static egraph_status new_rows(eg_arena *arena, const eg_tensor *of, uint32_t dim,
                              int64_t count, eg_tensor *out) {
  eg_type type = of->type;
  type.dims[dim] = count;
  return eg_rank_tensor(arena, type, out);
}

/// Extends each rank's part by the rows that a window reads from neighbour ranks, and by
/// the fill value at the borders.
static egraph_status add_halo(eg_arena *arena, const eg_mesh *mesh, const eg_halo *halo,
                              const eg_tensor *parts, eg_tensor **out) {
  uint32_t ranks = eg_mesh_devices(mesh), d = halo->dim;
  EG_NEW(arena, ranks, *out);
  for (uint32_t r = 0; r < ranks; r++) {
    peers p = peers_of(mesh, r, halo->axis);
    int64_t own = parts[r].type.dims[d], place[EGRAPH_MAX_RANK] = {0},
            row[EGRAPH_MAX_RANK] = {0};
    eg_tensor rows, *all = &(*out)[r];
    EG_TRY(new_rows(arena, &parts[r], d, halo->before + own + halo->after, all));
    int64_t elements = eg_type_elements(&all->type);
    for (int64_t i = 0; i < elements; i++)
      eg_tensor_set_fill(all, i, halo->fill);
    place[d] = halo->before;
    move_block(TRANSFER_PUT, all, place, &parts[r]);
    for (int side = 0; side < 2; side++) {
      bool is_after = side == 1;
      if (is_after ? p.own + 1 == p.count : p.own == 0) continue;
      const eg_tensor *other = &parts[peer(&p, is_after ? p.own + 1 : p.own - 1)];
      int64_t count = is_after ? halo->after : halo->before;
      EG_TRY(new_rows(arena, other, d, count, &rows));
      row[d] = is_after ? 0 : other->type.dims[d] - count;
      place[d] = is_after ? halo->before + own : 0;
      move_block(TRANSFER_TAKE, other, row, &rows);
      move_block(TRANSFER_PUT, all, place, &rows);
    }
  }
  return EGRAPH_OK;
}

/// Applies the adjoint of add_halo: returns cotangents without the rows of neighbour
/// ranks, and adds the cotangents of these rows to the ranks that own them.
static egraph_status add_halo_back(eg_arena *arena, const eg_mesh *mesh,
                                   const eg_halo *halo, const eg_tensor *cotangents,
                                   eg_tensor **out) {
  uint32_t ranks = eg_mesh_devices(mesh), d = halo->dim;
  EG_NEW(arena, ranks, *out);
  for (uint32_t r = 0; r < ranks; r++) {
    int64_t place[EGRAPH_MAX_RANK] = {0};
    int64_t own = cotangents[r].type.dims[d] - halo->before - halo->after;
    EG_TRY(new_rows(arena, &cotangents[r], d, own, &(*out)[r]));
    place[d] = halo->before;
    move_block(TRANSFER_TAKE, &cotangents[r], place, &(*out)[r]);
  }
  for (uint32_t r = 0; r < ranks; r++) {
    peers p = peers_of(mesh, r, halo->axis);
    int64_t own = (*out)[r].type.dims[d];
    for (int side = 0; side < 2; side++) {
      bool is_after = side == 1;
      int64_t place[EGRAPH_MAX_RANK] = {0}, row[EGRAPH_MAX_RANK] = {0};
      int64_t count = is_after ? halo->after : halo->before;
      eg_tensor rows;
      if (is_after ? p.own + 1 == p.count : p.own == 0) continue;
      EG_TRY(new_rows(arena, &cotangents[r], d, count, &rows));
      row[d] = is_after ? halo->before + own : 0;
      place[d] = is_after ? 0 : own - count;
      move_block(TRANSFER_TAKE, &cotangents[r], row, &rows);
      move_block(TRANSFER_PUT_ADD, &(*out)[peer(&p, is_after ? p.own + 1 : p.own - 1)],
                 place, &rows);
    }
  }
  return EGRAPH_OK;
}

// ---- operators ------------------------------------------------------------------

// Fetches rows of neighbour ranks one axis after the other: corners then arrive via the
// neighbour on the first axis. The adjoint takes the axes in reverse order.

/// A node as all ranks run it; operand 0 includes the rows of neighbour ranks.
typedef struct local_run {
  const eg_rank_node *of;
  eg_arena *arena;
  eg_spread spread;
  eg_halo halos[EG_MAX_MESH_AXES];
  uint32_t halo_count;
  const eg_tensor *first; // parts of operand 0, by rank
} local_run;

static egraph_status begin_local_run(eg_arena *arena, const eg_rank_node *node,
                                     const eg_rank_value *const *inputs, local_run *out) {
  *out = (local_run){.of = node, .arena = arena};
  EG_TRY(eg_spread_init(&node->spec, &out->spread));
  if (node->spec.input_count == 0) return EGRAPH_OK;
  out->first = inputs[0]->parts;
  out->halo_count = eg_spread_halos(&out->spread, node->mesh, node->strategy, out->halos);
  for (uint32_t h = 0; h < out->halo_count; h++) {
    eg_tensor *wider;
    EG_TRY(add_halo(arena, node->mesh, &out->halos[h], out->first, &wider));
    out->first = wider;
  }
  return EGRAPH_OK;
}

/// Lists the operands of the node on one rank, and the node that this rank runs.
static egraph_status rank_operands(const local_run *run,
                                   const eg_rank_value *const *inputs, uint32_t rank,
                                   eg_node_spec *out_spec, eg_tensor **out) {
  uint32_t count = run->of->spec.input_count;
  EG_TRY(eg_spread_local(&run->spread, run->of->mesh, run->of->strategy, rank, run->arena,
                         out_spec));
  EG_NEW(run->arena, (size_t)count + 1, *out);
  for (uint32_t i = 0; i < count; i++) {
    (*out)[i] = i == 0 ? run->first[rank] : inputs[i]->parts[rank];
    if (!eg_type_same_shape(&(*out)[i].type, &out_spec->inputs[i]))
      return eg_fail(EGRAPH_E_TYPE,
                     "%s: the part of operand %u is not what a rank runs on",
                     eg_op_info_of((eg_op)out_spec->attrs->op)->name, i);
  }
  return EGRAPH_OK;
}

egraph_status eg_rank_node_run(eg_arena *arena, const eg_rank_node *node,
                               const eg_rank_value *const *inputs, eg_rank_value *out) {
  local_run run;
  EG_TRY(begin_local_run(arena, node, inputs, &run));
  uint32_t results = node->spec.result_count;
  eg_tensor *outputs;
  EG_NEW(arena, results, outputs);
  for (uint32_t i = 0; i < results; i++) {
    eg_layout layout = eg_factors_result_layout(&run.spread.factors, node->mesh,
                                                &node->strategy->result, i);
    EG_TRY(eg_rank_zeros(arena, node->mesh, &node->spec.results[i], &layout, &out[i]));
  }
  for (uint32_t r = 0; r < eg_mesh_devices(node->mesh); r++) {
    eg_node_spec spec;
    eg_tensor *operands;
    EG_TRY(rank_operands(&run, inputs, r, &spec, &operands));
    for (uint32_t i = 0; i < results; i++)
      outputs[i] = out[i].parts[r];
    EG_TRY(
        eg_kernel_run(arena, spec.attrs, operands, spec.input_count, outputs, results));
  }
  return EGRAPH_OK;
}

// ---- backwards ------------------------------------------------------------------------

/// The gradient of the node that one rank runs, as a graph.
typedef struct part_gradient {
  const eg_node_spec *spec;
  const eg_tensor *operands, *result_cotangents;
  eg_arena *arena;
  eg_graph *graph;
  eg_value *inputs, *results, *wanted; // wanted: cotangents of the inputs
  eg_tensor *values;                   // by value of the graph
} part_gradient;

static egraph_status declare(part_gradient *g, const eg_tensor *data, eg_value *out) {
  return eg_graph_add_input(g->graph, NULL, &data->type, out);
}

static egraph_status write_gradient(part_gradient *g, eg_node_cons *cons) {
  const eg_node_spec *spec = g->spec;
  eg_gradient_seed *seeds;
  uint32_t seed_count = 0;
  EG_NEW(g->arena, spec->result_count, seeds);
  for (uint32_t i = 0; i < spec->input_count; i++)
    EG_TRY(declare(g, &g->operands[i], &g->inputs[i]));
  EG_TRY(eg_graph_add_node(g->graph, NULL, spec->attrs, g->inputs, spec->input_count,
                           NULL, g->results));
  for (uint32_t i = 0; i < spec->result_count; i++) {
    if (!eg_dtype_is_float(g->result_cotangents[i].type.dtype)) continue;
    seeds[seed_count].value = g->results[i];
    EG_TRY(declare(g, &g->result_cotangents[i], &seeds[seed_count++].cotangent));
  }
  EG_TRY(eg_node_cons_init(cons, g->graph));
  return eg_graph_gradient(cons, seeds, seed_count, g->inputs, spec->input_count,
                           g->wanted);
}

static egraph_status run_graph_node(part_gradient *g, eg_graph_node_info node) {
  eg_tensor *inputs, *outputs;
  EG_NEW(g->arena, (size_t)node.input_count + 1, inputs);
  EG_NEW(g->arena, node.result_count, outputs);
  for (uint32_t i = 0; i < node.input_count; i++)
    inputs[i] = g->values[node.inputs[i].id];
  for (uint32_t i = 0; i < node.result_count; i++) {
    const eg_value_info *result = eg_graph_value(g->graph, node.results[i]);
    EG_TRY(eg_rank_tensor(g->arena, result->type, &outputs[i]));
    g->values[node.results[i].id] = outputs[i];
  }
  return eg_kernel_run(g->arena, node.attrs, inputs, node.input_count, outputs,
                       node.result_count);
}

/// Runs the gradient graph. Its inputs are the operands, then the cotangents of
/// floating-point results.
static egraph_status run_graph(part_gradient *g) {
  uint32_t values = eg_graph_value_count(g->graph), next = 0;
  EG_NEW(g->arena, values, g->values);
  for (uint32_t i = 0; i < g->spec->input_count; i++)
    g->values[eg_graph_input(g->graph, next++).id] = g->operands[i];
  for (uint32_t i = 0; i < g->spec->result_count; i++)
    if (eg_dtype_is_float(g->result_cotangents[i].type.dtype))
      g->values[eg_graph_input(g->graph, next++).id] = g->result_cotangents[i];
  for (uint32_t v = 0; v < values; v++) {
    const eg_value_info *info = eg_graph_value(g->graph, (eg_value){v});
    if (info->kind != EG_VALUE_WEIGHT) continue;
    EG_TRY(eg_rank_tensor(g->arena, info->type, &g->values[v]));
    memcpy(g->values[v].data, eg_buffer_data(info->data), eg_buffer_size(info->data));
  }
  for (uint32_t n = 0; n < eg_graph_node_count(g->graph); n++)
    EG_TRY(run_graph_node(g, eg_graph_node_at(g->graph, (eg_graph_node){n})));
  return EGRAPH_OK;
}

/// Builds the gradient graph. An id of UINT32_MAX in `wanted` means that the cotangent of
/// that operand is zero.
static egraph_status differentiate(part_gradient *g) {
  eg_node_cons cons = {.graph = NULL};
  EG_NEW(g->arena, (size_t)g->spec->input_count + 1, g->inputs);
  EG_NEW(g->arena, (size_t)g->spec->input_count + 1, g->wanted);
  EG_NEW(g->arena, g->spec->result_count, g->results);
  egraph_status status = write_gradient(g, &cons);
  if (cons.graph != NULL) eg_node_cons_deinit(&cons);
  return status == EGRAPH_OK ? run_graph(g) : status;
}

static egraph_status rank_back(const local_run *run, const eg_rank_value *const *inputs,
                               const eg_rank_value *result_cotangents, uint32_t rank,
                               const eg_tensor *first_cotangents,
                               const eg_rank_value *const *inout_cotangents) {
  eg_node_spec spec;
  eg_tensor *operands, *cotangents;
  EG_TRY(rank_operands(run, inputs, rank, &spec, &operands));
  EG_NEW(run->arena, spec.result_count, cotangents);
  for (uint32_t i = 0; i < spec.result_count; i++)
    cotangents[i] = result_cotangents[i].parts[rank];
  part_gradient g = {.spec = &spec,
                     .operands = operands,
                     .result_cotangents = cotangents,
                     .arena = run->arena};
  EG_TRY(eg_graph_create(&run->arena->alloc, &g.graph));
  egraph_status status = differentiate(&g);
  for (uint32_t i = 0; i < spec.input_count && status == EGRAPH_OK; i++) {
    if (g.wanted[i].id == UINT32_MAX || inout_cotangents[i] == NULL) continue;
    const eg_tensor *to =
        i == 0 ? &first_cotangents[rank] : &inout_cotangents[i]->parts[rank];
    eg_rank_add(&g.values[g.wanted[i].id], to);
  }
  eg_graph_destroy(g.graph);
  return status;
}

egraph_status eg_rank_node_back(eg_arena *arena, const eg_rank_node *node,
                                const eg_rank_value *const *inputs,
                                const eg_rank_value *result_cotangents,
                                const eg_rank_value *const *inout_cotangents) {
  local_run run;
  eg_tensor *first;
  uint32_t ranks = eg_mesh_devices(node->mesh);
  if (node->spec.input_count == 0) return EGRAPH_OK;
  EG_TRY(begin_local_run(arena, node, inputs, &run));
  EG_NEW(arena, ranks, first);
  for (uint32_t r = 0; r < ranks; r++)
    EG_TRY(eg_rank_tensor(arena, run.first[r].type, &first[r]));
  for (uint32_t r = 0; r < ranks; r++)
    EG_TRY(rank_back(&run, inputs, result_cotangents, r, first, inout_cotangents));
  for (uint32_t h = run.halo_count; h-- > 0;)
    EG_TRY(add_halo_back(arena, node->mesh, &run.halos[h], first, &first));
  for (uint32_t r = 0; r < ranks && inout_cotangents[0] != NULL; r++)
    eg_rank_add(&first[r], &inout_cotangents[0]->parts[r]);
  return EGRAPH_OK;
}
