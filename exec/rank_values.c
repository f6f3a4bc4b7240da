// Moves blocks of global tensors into and out of a rank.
// SPDX-License-Identifier: Apache-2.0
#include "exec/rank_program_internal.h"

#include <assert.h>

#include "pcg/graph/weights.h"

static bool has_host_memory(const eg_rank_program *p) {
  return p->backend->vtable->host_memory;
}

static eg_type plain_of(const eg_type *type) {
  eg_type plain = *type;
  plain.layout = (eg_layout){.format = EG_FORMAT_PLAIN};
  return plain;
}

static bool is_row_major(const eg_type *type) {
  return type->layout.format == EG_FORMAT_PLAIN;
}

static const eg_layout *state_layout(const eg_rank_program *p, uint32_t state) {
  return &p->plan->states.data[state].layout;
}

// ---- tensors of the caller ------------------------------------------------------------

static const char *const whats[] = {
    [EG_VALUE_INPUT] = "input", [EG_VALUE_WEIGHT] = "weight"};

static egraph_status check_tensor(const eg_tensor *tensor, const char *what,
                                  const char *name, const eg_type *type,
                                  const eg_type *part) {
  assert(tensor != NULL && name != NULL);
  const eg_type *have = &tensor->type;
  bool is_whole = eg_type_same_shape(have, type);
  bool is_part = part != NULL && eg_type_same_shape(have, part);
  if (have->dtype != type->dtype || (!is_whole && !is_part))
    return EG_FAIL(EGRAPH_E_TYPE,
                   "%s '%s': the tensor given is not of the graph's type%s", what, name,
                   part != NULL ? ", and no rank's block of it" : "");
  if (!is_row_major(have))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "%s '%s': give a row-major tensor", what, name);
  if (tensor->data == NULL && eg_type_elements(have) != 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "%s '%s': no data", what, name);
  return EGRAPH_OK;
}

// ---- the way in -----------------------------------------------------------------------

/// True when the rank's block is not contiguous in the global tensor and needs a copy.
static bool is_cut_out(const eg_rank_program *p, uint32_t state) {
  size_t offset;
  return !eg_block_find(&p->plan->mesh, eg_rank_number(p), &eg_rank_value(p, state)->type,
                        state_layout(p, state), &offset);
}

egraph_status eg_rank_room_in(const eg_rank_program *p, uint32_t state, size_t *out) {
  assert(state < p->plan->states.len);
  const eg_type *stored = &p->states[state].type;
  eg_type plain = plain_of(stored);
  *out = 0;
  if (is_cut_out(p, state) && !(has_host_memory(p) && is_row_major(stored)))
    EG_TRY(eg_rank_room_add(out, eg_type_bytes(&plain)));
  return has_host_memory(p) || is_row_major(stored)
             ? EGRAPH_OK
             : eg_rank_room_add(out, eg_type_bytes(stored));
}

/// Stores a global tensor as a state (value and layout): cuts out the rank's block,
/// reorders and uploads it, each only where needed; the last of these operations writes
/// to `to`.
static egraph_status take_tensor(eg_rank_program *p, uint32_t state,
                                 const eg_tensor *tensor, char *room, void *to) {
  const eg_type *stored = &p->states[state].type;
  eg_type plain = plain_of(stored), whole = plain_of(&eg_rank_value(p, state)->type);
  eg_tensor part = {.type = plain, .data = tensor->data};
  size_t offset = 0;
  bool is_whole = eg_type_same_shape(&tensor->type, &whole);
  if (is_whole && is_cut_out(p, state)) {
    part.data = has_host_memory(p) && is_row_major(stored) ? to : (void *)room;
    if (part.data == room) room += eg_device_aligned(eg_type_bytes(&plain));
    eg_block_read(&p->plan->mesh, eg_rank_number(p), &whole, state_layout(p, state),
                  tensor->data, part.data);
  } else if (is_whole && tensor->data != NULL) {
    (void)eg_block_find(&p->plan->mesh, eg_rank_number(p), &whole, state_layout(p, state),
                        &offset);
    part.data = (char *)tensor->data + offset;
  }
  if (!is_row_major(stored)) {
    eg_tensor reordered = {.type = *stored,
                           .data = has_host_memory(p) ? to : (void *)room};
    EG_TRY(eg_tensor_reorder(&part, &reordered));
    part = reordered;
  }
  return part.data == to
             ? EGRAPH_OK
             : eg_backend_upload(p->backend, to, part.data, eg_type_bytes(stored));
}

egraph_status eg_rank_store(eg_rank_program *p, uint32_t state, const eg_tensor *tensor,
                            void *to) {
  size_t bytes;
  char *room;
  EG_TRY(eg_rank_room_in(p, state, &bytes));
  EG_TRY(eg_alloc(p->alloc, bytes, 1, &room));
  egraph_status status = take_tensor(p, state, tensor, room, to);
  eg_free(p->alloc, room, bytes, 1);
  return status;
}

egraph_status eg_rank_read_inputs(eg_rank_program *p, const eg_tensor *inputs) {
  for (uint32_t i = 0; i < eg_graph_input_count(p->plan->graph); i++) {
    uint32_t state = p->inputs[i];
    if (state == EG_PLAN_NONE) continue;
    const eg_value_info *info = eg_rank_value(p, state);
    const eg_type *part = eg_type_same_shape(&info->type, &p->states[state].type)
                              ? NULL
                              : &p->states[state].type;
    EG_TRY(check_tensor(&inputs[i], "input", info->name, &info->type, part));
    EG_TRY(take_tensor(p, state, &inputs[i], p->room, p->states[state].address));
  }
  return EGRAPH_OK;
}

// ---- carried values -------------------------------------------------------------------

egraph_status eg_rank_put_value(eg_rank_program *p, eg_value value,
                                const eg_tensor *tensor) {
  const eg_value_info *info = eg_graph_value(p->plan->graph, value);
  for (uint32_t s = 0; s < p->plan->states.len; s++) {
    if (p->plan->states.data[s].value.id != value.id || !p->states[s].is_carried)
      continue;
    EG_TRY(check_tensor(tensor, whats[info->kind], info->name, &info->type, NULL));
    return eg_rank_store(p, s, tensor, p->states[s].address);
  }
  return EG_FAIL(EGRAPH_E_ARGUMENT, "only a value that is carried can be put");
}

static egraph_status load_weight(eg_rank_program *p, uint32_t state) {
  const eg_value_info *info = eg_rank_value(p, state);
  eg_tensor tensor = {.type = info->type};
  size_t bytes = eg_type_bytes(&info->type);
  if (info->data != NULL) {
    const void *data = eg_buffer_data(info->data);
    memcpy(&tensor.data, &data, sizeof data); // it is only read
    return eg_rank_store(p, state, &tensor, p->states[state].address);
  }
  EG_TRY(eg_alloc(p->alloc, bytes, 1, &tensor.data));
  eg_weight_draw(info->name, p->options.seed, &tensor);
  egraph_status status = eg_rank_store(p, state, &tensor, p->states[state].address);
  eg_free(p->alloc, tensor.data, bytes, 1);
  return status;
}

egraph_status eg_rank_load_carried(eg_rank_program *p) {
  for (uint32_t s = 0; s < p->plan->states.len; s++)
    if (p->states[s].is_carried && eg_rank_value(p, s)->kind == EG_VALUE_WEIGHT)
      EG_TRY(load_weight(p, s));
  return EGRAPH_OK;
}

// ---- outputs ----------------------------------------------------------------------

/// Finds the next exchange that makes a value whole on a mesh axis, the finest first.
static bool next_move(const eg_mesh *mesh, eg_layout *inout, eg_transition *out) {
  for (uint32_t a = mesh->axis_count; a-- > 0;) {
    if (inout->sharding[a] == EG_SHARD_R) continue;
    eg_layout to = *inout;
    to.sharding[a] = EG_SHARD_R;
    bool is_move = eg_transition_between(mesh, NULL, inout, &to, out);
    assert(is_move); // all finer axes have sharding R already
    (void)is_move;
    return true;
  }
  return false;
}

static bool is_everywhere(const eg_rank_program *p, uint32_t state) {
  eg_layout layout = *state_layout(p, state);
  eg_transition move;
  layout.format = EG_FORMAT_PLAIN;
  return !next_move(&p->plan->mesh, &layout, &move);
}

egraph_status eg_rank_room_out(const eg_rank_program *p, uint32_t state, size_t *out) {
  const eg_type *stored = &p->states[state].type;
  eg_type plain = plain_of(stored);
  *out = 0;
  if (has_host_memory(p) || is_row_major(stored)) return EGRAPH_OK;
  EG_TRY(eg_rank_room_add(out, eg_type_bytes(stored)));
  return is_everywhere(p, state) ? EGRAPH_OK
                                 : eg_rank_room_add(out, eg_type_bytes(&plain));
}

/// Copies a state (a value in one layout) to host memory, row-major.
static egraph_status reorder_out(eg_rank_program *p, uint32_t state, void *to) {
  eg_tensor from = {.type = p->states[state].type, .data = p->states[state].address};
  eg_tensor plain = {.type = plain_of(&from.type), .data = to};
  if (!has_host_memory(p)) {
    EG_TRY(
        eg_backend_download(p->backend, p->room, from.data, eg_type_bytes(&from.type)));
    from.data = p->room;
  }
  return eg_tensor_reorder(&from, &plain);
}

/// Copies a state (a value in one layout) to fresh memory of the device, row-major.
static egraph_status plain_copy(eg_rank_program *p, uint32_t state,
                                eg_device_memory *out) {
  const eg_type *stored = &p->states[state].type;
  eg_type plain = plain_of(stored);
  size_t bytes = eg_type_bytes(&plain);
  EG_TRY(p->backend->vtable->memory_create(p->backend, bytes, out));
  if (has_host_memory(p)) return reorder_out(p, state, out->address);
  char *room = p->room + eg_device_aligned(eg_type_bytes(stored));
  EG_TRY(reorder_out(p, state, room));
  return eg_backend_upload(p->backend, out->address, room, bytes);
}

/// Changes the sharding of a value into fresh memory, which replaces the previous memory.
static egraph_status move_on(eg_rank_program *p, const eg_relayout *move,
                             const void *from, eg_device_memory *inout) {
  assert(move->transition.kind != EG_TRANSITION_REORDER);
  eg_device_memory to = {0}, scratch = {0};
  eg_backend *backend = p->backend;
  EG_TRY(backend->vtable->memory_create(backend, eg_type_bytes(&move->to), &to));
  egraph_status status =
      backend->vtable->memory_create(backend, move->scratch_bytes, &scratch);
  if (status == EGRAPH_OK)
    status = eg_relayout_run(move, p->channel, from, to.address, scratch.address);
  eg_device_memory_destroy(backend, &scratch);
  eg_device_memory_destroy(backend, inout);
  *inout = to;
  return status;
}

static egraph_status gather_parts(eg_rank_program *p, uint32_t state,
                                  const eg_tensor *out) {
  eg_type type = plain_of(&eg_rank_value(p, state)->type);
  eg_layout layout = *state_layout(p, state);
  eg_transition transition;
  eg_device_memory moved = {
      0}; // empty before the first move, which reads the state itself
  egraph_status status = EGRAPH_OK;
  if (layout.format != EG_FORMAT_PLAIN) status = plain_copy(p, state, &moved);
  const void *data = moved.address != NULL ? moved.address : p->states[state].address;
  layout.format = EG_FORMAT_PLAIN;
  while (status == EGRAPH_OK && next_move(&p->plan->mesh, &layout, &transition)) {
    eg_relayout move = eg_relayout_of(&p->plan->mesh, &type, &layout, &transition);
    status = move_on(p, &move, data, &moved);
    data = moved.address;
    layout.sharding[transition.axis] = EG_SHARD_R;
  }
  if (status == EGRAPH_OK && out->data != NULL)
    status = eg_backend_download(p->backend, out->data, data, eg_type_bytes(&type));
  eg_device_memory_destroy(p->backend, &moved);
  return status;
}

egraph_status eg_rank_check_output(const eg_rank_program *p, uint32_t output,
                                   const eg_tensor *tensor) {
  const char *name;
  eg_value value = eg_graph_output(p->plan->graph, output, &name);
  const eg_type *type = &eg_graph_value(p->plan->graph, value)->type;
  return check_tensor(tensor, "output", name, type, NULL);
}

egraph_status eg_rank_gather(eg_rank_program *p, uint32_t output, const eg_tensor *out) {
  assert(output < p->plan->output_states.len);
  uint32_t state = p->plan->output_states.data[output];
  const eg_rank_state *s = &p->states[state];
  if (out->data != NULL) EG_TRY(eg_rank_check_output(p, output, out));
  if (!is_everywhere(p, state)) return gather_parts(p, state, out);
  if (out->data == NULL) return EGRAPH_OK;
  return is_row_major(&s->type) ? eg_backend_download(p->backend, out->data, s->address,
                                                      eg_type_bytes(&s->type))
                                : reorder_out(p, state, out->data);
}
