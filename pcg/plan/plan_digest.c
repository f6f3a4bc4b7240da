// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_digest.h"

#include <string.h>

#include "base/hash.h"
#include "base/text.h"

static void add(uint64_t *digest, uint64_t value) {
  *digest = eg_hash_combine(*digest, value);
}

static void add_list(uint64_t *digest, const eg_u32s *list) {
  add(digest, list->len);
  for (size_t i = 0; i < list->len; i++)
    add(digest, list->data[i]);
}

static void add_state(uint64_t *digest, uint32_t axes, const eg_plan_state *state) {
  add(digest, state->value.id);
  *digest = eg_hash_bytes(*digest, state->layout.sharding, axes);
  add(digest, state->layout.format);
  add(digest, state->step);
  add(digest, state->more_blocks);
}

static void add_step(uint64_t *digest, uint32_t axes, const eg_plan_step *step) {
  add(digest, step->is_move);
  add(digest, (uint64_t)step->phase);
  if (step->is_move) {
    add(digest, step->from);
    add(digest, step->to);
  } else {
    add(digest, step->node.id);
    *digest = eg_hash_bytes(*digest, step->action, axes);
  }
}

static void add_mesh(uint64_t *digest, const eg_mesh *mesh) {
  add(digest, mesh->axis_count);
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    add(digest, mesh->axes[a].size);
    *digest = eg_hash_bytes(*digest, mesh->axes[a].name, strlen(mesh->axes[a].name));
  }
}

egraph_status eg_plan_digest(const eg_plan *plan, egraph_allocator alloc, uint64_t *out) {
  eg_text text;
  uint64_t digest = plan->micro_batches;
  eg_text_init(&text, alloc);
  egraph_status status = eg_graph_print(plan->graph, &text);
  if (status == EGRAPH_OK)
    digest = eg_hash_bytes(digest, text.chars.data, text.chars.len);
  eg_text_deinit(&text);
  EG_TRY(status);
  add_mesh(&digest, &plan->mesh);
  for (size_t i = 0; i < plan->states.len; i++)
    add_state(&digest, plan->mesh.axis_count, &plan->states.data[i]);
  for (size_t i = 0; i < plan->steps.len; i++)
    add_step(&digest, plan->mesh.axis_count, &plan->steps.data[i]);
  add_list(&digest, &plan->operands);
  add_list(&digest, &plan->output_states);
  add_list(&digest, &plan->carried);
  *out = digest;
  return EGRAPH_OK;
}
