// SPDX-License-Identifier: Apache-2.0
#include "pcg/parallel/parallel_op.h"

#include <string.h>

typedef struct parallel_row {
  const char *name, *unity;
  bool has_dim;
} parallel_row;

#define PARALLEL_ROW(id, name, unity, has_dim) [id] = {name, unity, has_dim},
static const parallel_row rows[EG_PARALLEL_KINDS] = {EG_PARALLEL_LIST(PARALLEL_ROW)};
#undef PARALLEL_ROW

const char *eg_parallel_name(eg_parallel_kind kind) { return rows[kind].name; }
const char *eg_parallel_unity(eg_parallel_kind kind) { return rows[kind].unity; }
bool eg_parallel_has_dim(eg_parallel_kind kind) { return rows[kind].has_dim; }

bool eg_parallel_find(const char *name, eg_parallel_kind *out) {
  for (int k = 0; k < EG_PARALLEL_KINDS; k++)
    if (strcmp(rows[k].name, name) == 0) {
      *out = (eg_parallel_kind)k;
      return true;
    }
  return false;
}

/// The digits before and behind the operator.
static bool digits_of(const eg_parallel_op *op, uint8_t from, uint8_t *out) {
  uint8_t shard = eg_digit_shard(op->dim);
  switch (op->kind) {
  case EG_PARALLEL_PARTITION: *out = shard; return from == EG_SHARD_R;
  case EG_PARALLEL_COMBINE: *out = EG_SHARD_R; return from == shard;
  case EG_PARALLEL_REPLICATE:
    *out = op->keeps_one ? EG_SHARD_P_SUM : EG_SHARD_R;
    return from == EG_SHARD_R;
  case EG_PARALLEL_REDUCE: *out = EG_SHARD_R; return eg_digit_is_partial(from);
  case EG_PARALLEL_KINDS: break;
  }
  return false;
}

bool eg_parallel_apply(const eg_mesh *mesh, const eg_parallel_op *op, eg_layout *inout) {
  eg_layout to = *inout;
  eg_transition transition;
  if (!digits_of(op, inout->sharding[op->axis], &to.sharding[op->axis])) return false;
  if (to.sharding[op->axis] != inout->sharding[op->axis] &&
      !eg_transition_between(mesh, NULL, inout, &to, &transition))
    return false;
  *inout = to;
  return true;
}
