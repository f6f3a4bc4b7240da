// Import of rotary position embedding, of the standard and of ONNX Runtime, as rope.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "onnx/read/build.h"

/// Emits the table [batch or 1, length, pairs] of a cache, which positions index if they
/// are given.
static eg_ref table_of(eg_onnx_builder *write, uint32_t operand, eg_ref positions) {
  eg_ref cache = eg_onnx_operand(write, operand);
  return eg_ref_exists(positions) ? EG_BUILD(&write->b, EG_OP_GATHER, cache, positions)
                                  : cache;
}

/// A node that rotates positions.
typedef struct rotary {
  int64_t interleaved, heads;
  int64_t rotated; // elements of a head; 0: all
  eg_ref cosines, sines;
} rotary;

static egraph_status read_rotary(const eg_onnx_call *call, rotary *out) {
  EG_TRY(eg_onnx_attr_int(call, "interleaved", 0, &out->interleaved));
  EG_TRY(eg_onnx_attr_int(call, "num_heads", 0, &out->heads));
  return eg_onnx_attr_int(call, "rotary_embedding_dim", 0, &out->rotated);
}

/// Emits rope of x [batch, heads, length, size], or [batch, length, heads * size] if it
/// has three dimensions.
static egraph_status emit_rope(eg_onnx_builder *write, const rotary *r) {
  eg_ref y = eg_onnx_operand(write, 0);
  const eg_type x = *eg_build_type(&write->b, y);
  const eg_type *table = eg_build_type(&write->b, r->cosines);
  EG_TRY(write->b.status);
  if (eg_size_is_open(x.dims[x.rank - 1]) ||
      eg_size_is_open(table->dims[table->rank - 1]))
    return eg_onnx_decline("the size of a head is not known");
  if (x.rank != 4 && (x.rank != 3 || r->heads < 1 || x.dims[2] % r->heads != 0))
    return EG_FAIL(EGRAPH_E_PARSE, "the operand cannot form %" PRId64 " heads", r->heads);
  int64_t size = x.rank == 4 ? x.dims[3] : x.dims[2] / r->heads;
  int64_t rotated = r->rotated == 0 ? size : r->rotated;
  if (2 * table->dims[table->rank - 1] != rotated)
    return EG_FAIL(EGRAPH_E_PARSE, "the tables do not rotate %" PRId64 " elements",
                   rotated);
  if (x.rank == 3) y = EG_ONNX_RESHAPE(write, y, x.dims[0], x.dims[1], r->heads, size);
  y = eg_onnx_write(write,
                    EG_LIST(ROPE, EG_INT(ROPE_INTERLEAVED, r->interleaved != 0),
                            EG_INT(ROPE_ROWS_FIRST, x.rank == 3)),
                    (const eg_ref[]){y, r->cosines, r->sines}, 3);
  y = eg_build_reshape(&write->b, y, x.rank, x.dims);
  return eg_onnx_finish(write, 0, y);
}

egraph_status eg_onnx_import_rotary_embedding(const eg_onnx_call *call) {
  rotary r;
  EG_ONNX_TYPE(x, call, 0);
  EG_ONNX_TYPE(cache, call, 1);
  if (x.rank < 3 || cache.rank < 2)
    return EG_FAIL(EGRAPH_E_PARSE, "x or a table has too few dimensions");
  EG_TRY(read_rotary(call, &r));
  EG_ONNX_BUILDER(write, call);
  eg_ref positions = eg_onnx_operand(&write, 3);
  r.cosines = table_of(&write, 1, positions);
  r.sines = table_of(&write, 2, positions);
  return emit_rope(&write, &r);
}

/// Emits the positions of all rows [1, length] from the position of the first.
static eg_ref positions_from(eg_onnx_builder *write, eg_ref first, int64_t length) {
  eg_ref count = eg_onnx_count_along(write, 2, 1, 0, length);
  return EG_BUILD(&write->b, EG_OP_ADD, count, first);
}

/// True unless the kernel would have to make longer tables, which nothing but the scale
/// takes part in. Positions of a packed batch, whose sequences stand in one row, are
/// those of the sequences, so that the row may be longer than the tables.
static bool has_all_rows(const eg_type *x, const eg_type *cache, bool is_packed,
                         double scale) {
  int64_t length = x->dims[x->rank - 2], rows = cache->dims[0];
  if (is_packed || scale == 1) return true;
  return !eg_size_is_open(length) && !eg_size_is_open(rows) && length <= rows;
}

/// ONNX Runtime's own operator, whose positions may be that of the first row only.
/// Without a number of heads, the tables give the size of a head.
egraph_status eg_onnx_import_microsoft_rotary(const eg_onnx_call *call) {
  rotary r;
  EG_ONNX_TYPE(x, call, 0);
  EG_ONNX_TYPE(at, call, 1);
  EG_ONNX_TYPE(cache, call, 2);
  EG_ONNX_INT(packed, call, "is_packed_batching", 0);
  EG_ONNX_FLOAT(scale, call, "scale", 1);
  EG_TRY(read_rotary(call, &r));
  if (x.rank < 3 || cache.rank != 2 || cache.dims[1] < 1)
    return EG_FAIL(EGRAPH_E_PARSE, "x or a table has another number of dimensions");
  if (eg_size_is_open(x.dims[x.rank - 1]) || eg_size_is_open(cache.dims[1]))
    return eg_onnx_decline("the size of a head is not known");
  if (!has_all_rows(&x, &cache, packed != 0, scale))
    return eg_onnx_decline("tables would have to be made for more positions");
  if (r.heads == 0 && r.rotated == 0) r.heads = x.dims[x.rank - 1] / (2 * cache.dims[1]);
  EG_ONNX_BUILDER(write, call);
  eg_ref positions = eg_onnx_operand(&write, 1);
  if (at.rank != 2) positions = positions_from(&write, positions, x.dims[x.rank - 2]);
  r.cosines = table_of(&write, 2, positions);
  r.sines = table_of(&write, 3, positions);
  return emit_rope(&write, &r);
}
