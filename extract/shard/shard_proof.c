// SPDX-License-Identifier: Apache-2.0
#include "extract/shard/shard_proof.h"

#include <inttypes.h>

#include "extract/shard/shard_model.h"

static uint32_t name_node(const eg_shard_proof *proof, uint32_t n) {
  return proof->whole == NULL ? n : proof->old_node[n];
}

static uint32_t name_value(const eg_shard_proof *proof, const eg_shard_model *model,
                           uint32_t n, uint32_t v) {
  assert(v < model->nodes.data[n].count);
  uint32_t id = model->id.data[model->nodes.data[n].values + v];
  if (proof->whole == NULL) return id;
  return proof->whole->id.data[proof->whole->nodes.data[proof->old_node[n]].values + id];
}

static bool is_too_large(const eg_shard_proof *proof) {
  return proof->text.chars.len > EG_SHARD_PROOF_MOST;
}

egraph_status eg_shard_proof_merge(eg_shard_proof *proof, uint32_t node, uint32_t gone) {
  return eg_text_printf(&proof->text, "merge %u %u\n", name_node(proof, node),
                        name_node(proof, gone));
}

egraph_status eg_shard_proof_memory(eg_shard_proof *proof) {
  return eg_text_append(&proof->text, "memory\n");
}

static void write_messages(eg_shard_proof *proof, const eg_shard_model *model, uint32_t e,
                           uint32_t side, int scale, const int64_t *message) {
  const eg_shard_edge *edge = &model->edges.data[e];
  uint32_t n = edge->ends[side], count = model->nodes.data[n].count;
  eg_text_printf(&proof->text, " %u", count);
  for (uint32_t v = 0; v < count; v++) {
    size_t at = edge->message[side] + v;
    int64_t sum = message[at] + model->moved.data[at] * (INT64_C(1) << scale);
    eg_text_printf(&proof->text, " %u %" PRId64, name_value(proof, model, n, v), sum);
  }
}

egraph_status eg_shard_proof_filter(eg_shard_proof *proof, const eg_shard_model *model,
                                    int scale, int shift, const int64_t *price_sum,
                                    const int64_t *message) {
  eg_text *text = &proof->text;
  if (is_too_large(proof)) return EGRAPH_OK;
  proof->begin = text->chars.len;
  eg_text_printf(text, "filter %d %d\n", scale, shift);
  for (size_t r = 0; r < model->capacity.len; r++)
    if (price_sum[r + 1] != price_sum[r])
      eg_text_printf(text, "price %" PRId64 " %" PRId64 "\n", model->row_time.data[r],
                     price_sum[r + 1] - price_sum[r]);
  for (uint32_t e = 0; e < model->edges.len; e++) {
    const eg_shard_edge *edge = &model->edges.data[e];
    if (eg_shard_is_dead(edge)) continue;
    eg_text_printf(text, "edge %u %u", name_node(proof, edge->ends[0]),
                   name_node(proof, edge->ends[1]));
    for (uint32_t side = 0; side < 2; side++)
      write_messages(proof, model, e, side, scale, message);
    eg_text_append(text, "\n");
  }
  return eg_text_append(text, "end\n");
}

egraph_status eg_shard_proof_filtered(eg_shard_proof *proof, int64_t bound,
                                      bool removed) {
  assert(is_too_large(proof) || proof->begin <= proof->text.chars.len);
  if (is_too_large(proof)) return EGRAPH_OK;
  bool raised = !proof->branched && bound > proof->bound;
  char *chars = proof->text.chars.data;
  size_t size = proof->text.chars.len - proof->begin;
  if (!removed && !raised) {
    proof->text.chars.len = proof->begin;
    return EGRAPH_OK;
  }
  // A better filter replaces the filter before it, if that filter removed no strategy.
  if (raised && proof->loose != proof->loose_end && proof->loose_end == proof->begin) {
    memmove(chars + proof->loose, chars + proof->begin, size);
    proof->begin = proof->loose;
    proof->text.chars.len = proof->begin + size;
  }
  proof->loose = proof->begin;
  proof->loose_end = removed ? proof->begin : proof->text.chars.len;
  if (raised) proof->bound = bound;
  return EGRAPH_OK;
}

egraph_status eg_shard_proof_branch(eg_shard_proof *proof, const eg_shard_model *model,
                                    uint32_t node) {
  uint32_t count = 0;
  if (!proof->branched) proof->root_end = proof->text.chars.len;
  proof->branched = true;
  for (uint32_t v = 0; v < model->nodes.data[node].count; v++)
    count += model->keep.data[v];
  eg_text_printf(&proof->text, "branch %u %u", name_node(proof, node), count);
  for (uint32_t v = 0; v < model->nodes.data[node].count; v++)
    if (model->keep.data[v])
      eg_text_printf(&proof->text, " %u", name_value(proof, model, node, v));
  return eg_text_append(&proof->text, "\n");
}

egraph_status eg_shard_proof_closed(eg_shard_proof *proof) {
  return eg_text_append(&proof->text, "closed\n");
}

/// Adds the largest finite entry to *sum; false when *sum would exceed 2^58.
static bool add_largest(const int64_t *entries, size_t count, int64_t *sum) {
  int64_t largest = 0;
  for (size_t i = 0; i < count; i++)
    if (entries[i] < EG_SHARD_INFINITE && entries[i] > largest) largest = entries[i];
  if (largest > (INT64_C(1) << 58) - *sum) return false;
  *sum += largest;
  return true;
}

int64_t eg_shard_proof_most(const eg_shard_problem *problem) {
  const uint32_t *begin = problem->strategy_begin.data;
  const size_t *table = problem->table_begin.data;
  int64_t sum = 0;
  for (uint32_t n = 0; n < eg_shard_node_count(problem); n++)
    if (!add_largest(problem->cost.data + begin[n], begin[n + 1] - begin[n], &sum))
      return EG_SHARD_INFINITE;
  for (uint32_t e = 0; e < eg_shard_edge_count(problem); e++)
    if (!add_largest(problem->table.data + table[e], table[e + 1] - table[e], &sum))
      return EG_SHARD_INFINITE;
  return sum;
}

static void write_proof_head(const eg_shard_problem *problem, const uint32_t *choice,
                             int64_t cost, int64_t bound, eg_text *head) {
  eg_text_append(head, "egraph-certificate 1 sharding\n");
  if (choice == NULL) {
    eg_text_append(head, "cost none\n");
  } else {
    eg_text_printf(head, "cost %" PRId64 "\nchoice", cost);
    for (uint32_t n = 0; n < eg_shard_node_count(problem); n++)
      eg_text_printf(head, " %u", choice[n]);
    eg_text_append(head, "\n");
  }
  if (bound >= EG_SHARD_INFINITE)
    eg_text_append(head, "bound none\n");
  else
    eg_text_printf(head, "bound %" PRId64 "\n", bound);
}

egraph_status eg_shard_proof_write(const eg_shard_proof *proof,
                                   const eg_shard_problem *problem,
                                   const uint32_t *choice, int64_t cost, const char *path,
                                   int64_t *out_bound) {
  assert(proof->complete || !proof->branched || proof->root_end <= proof->text.chars.len);
  size_t size = proof->text.chars.len;
  *out_bound = proof->complete ? cost : proof->bound;
  if (!proof->complete && proof->branched) size = proof->root_end;
  if (is_too_large(proof)) {
    *out_bound = 0;
    size = 0;
  }
  EG_LOCAL(eg_text, text, proof->text.chars.alloc);
  write_proof_head(problem, choice, cost, *out_bound, &text);
  if (size != 0) eg_text_append_bytes(&text, proof->text.chars.data, size);
  EG_TRY(eg_text_append(&text, "end\n"));
  return eg_file_write(path, text.chars.data, text.chars.len);
}
