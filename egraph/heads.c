// Heads: operator, payload and arity, numbered.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "egraph/hashcons.h"

static bool is_head(const void *user, uint32_t id, const void *key) {
  const eg_engine *engine = user;
  return memcmp(&engine->heads.data[id], key, sizeof(eg_head)) == 0;
}

static egraph_status reserve_op(eg_engine *engine, uint32_t op) {
  if (op < engine->ops.len) return EGRAPH_OK;
  EG_TRY(eg_op_indexes_reserve(&engine->ops, (size_t)op + 1));
  // Every operator can become dirty once, so that marking one never allocates.
  EG_TRY(eg_u32s_reserve(&engine->ops_dirty, (size_t)op + 1));
  while (engine->ops.len <= op)
    engine->ops.data[engine->ops.len++] = (eg_op_index){.first_dead = UINT32_MAX};
  return EGRAPH_OK;
}

static uint64_t hash_of_head(const eg_head *head) {
  return eg_hash_mix(eg_hash_head(head->op, head->payload, head->arity));
}

bool eg_engine_find_head(const eg_engine *engine, eg_head head, uint32_t *out) {
  return eg_flatmap_find(&engine->head_table, hash_of_head(&head), &head, is_head, engine,
                         out);
}

egraph_status eg_engine_add_head(eg_engine *engine, eg_head head, uint32_t *out) {
  if (engine->heads.len > EG_HEAD_MASK)
    return EG_FAIL(EGRAPH_E_MEMORY, "an e-graph holds at most 2^29 different heads");
  EG_TRY(reserve_op(engine, head.op));
  EG_TRY(eg_flatmap_reserve_one(&engine->head_table));
  uint32_t id = (uint32_t)engine->heads.len;
  EG_TRY(eg_heads_push(&engine->heads, head));
  eg_flatmap_put(&engine->head_table, hash_of_head(&head), id);
  *out = id;
  return EGRAPH_OK;
}
