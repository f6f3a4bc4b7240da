// What enters and leaves a rank: blocks of global tensors.
// SPDX-License-Identifier: Apache-2.0
#include "exec/rank_values.h"

#include "pcg/weights.h"

static eg_type global_type(const eg_rank_program *p, uint32_t state) {
  eg_type type = eg_rank_value(p, state)->type;
  type.layout = (eg_layout){0};
  return type;
}

static const eg_layout *layout_of(const eg_rank_program *p, uint32_t state) {
  return &p->plan->states.data[state].layout;
}

static egraph_status check_tensor(const eg_rank_program *p, uint32_t state,
                                  const eg_tensor *tensor, bool may_be_local,
                                  bool *out_is_local) {
  const eg_value_info *info = eg_rank_value(p, state);
  const eg_type *have = &tensor->type;
  bool is_global = eg_type_same_shape(have, &info->type);
  *out_is_local =
      !is_global && may_be_local && eg_type_same_shape(have, &p->states[state].type);
  if (have->dtype != info->type.dtype || (!is_global && !*out_is_local))
    return EG_FAIL(EGRAPH_E_TYPE,
                   "'%s': the tensor given is neither of the graph's type nor the rank's "
                   "block of it",
                   info->name);
  if (have->layout.format != EG_FORMAT_PLAIN)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "'%s': give a row-major tensor", info->name);
  if (tensor->data == NULL && eg_type_elements(have) != 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "'%s': no data", info->name);
  return EGRAPH_OK;
}

/// Copies a tensor, global or local, to where the state lies.
static egraph_status take(eg_rank_program *p, uint32_t state, const eg_tensor *tensor,
                          bool may_be_local, void *to) {
  bool is_local;
  EG_TRY(check_tensor(p, state, tensor, may_be_local, &is_local));
  size_t bytes = eg_type_bytes(&p->states[state].type);
  eg_type type = global_type(p, state);
  if (is_local) return eg_backend_upload(p->backend, to, tensor->data, bytes);
  void *block = p->backend->vtable->host_memory ? to : p->host;
  eg_block_read(&p->plan->mesh, p->channel->rank, &type, layout_of(p, state),
                tensor->data, block);
  return block == to ? EGRAPH_OK : eg_backend_upload(p->backend, to, block, bytes);
}

// ---- inputs -----------------------------------------------------------------------

egraph_status eg_rank_read_inputs(eg_rank_program *p, const eg_tensor *inputs) {
  const eg_graph *graph = p->plan->graph;
  for (uint32_t s = 0; s < p->plan->states.len; s++) {
    const eg_plan_state *state = &p->plan->states.data[s];
    if (state->step != EG_PLAN_NONE || p->states[s].is_carried ||
        eg_rank_value(p, s)->kind != EG_VALUE_INPUT)
      continue;
    uint32_t index = 0;
    while (eg_graph_input(graph, index).id != state->value.id)
      index++;
    EG_TRY(take(p, s, &inputs[index], true, p->states[s].address));
  }
  return EGRAPH_OK;
}

egraph_status eg_rank_put_value(eg_rank_program *p, eg_value value,
                                const eg_tensor *tensor) {
  for (uint32_t s = 0; s < p->plan->states.len; s++)
    if (p->plan->states.data[s].value.id == value.id && p->states[s].is_carried)
      return take(p, s, tensor, false, p->states[s].address);
  return EG_FAIL(EGRAPH_E_ARGUMENT, "only a value that is carried can be put");
}

// ---- weights ----------------------------------------------------------------------

/// The global tensor of a weight: the graph's data, or drawn into `drawn`.
static egraph_status weight_of(const eg_rank_program *p, uint32_t state, void **out_drawn,
                               eg_tensor *out) {
  const eg_value_info *info = eg_rank_value(p, state);
  *out = (eg_tensor){.type = global_type(p, state)};
  if (info->data != NULL) {
    const void *data = eg_buffer_data(info->data);
    memcpy(&out->data, &data, sizeof data); // it is only read
    return EGRAPH_OK;
  }
  EG_TRY(eg_alloc(p->alloc, eg_type_bytes(&out->type), 1, out_drawn));
  out->data = *out_drawn;
  eg_weight_draw(info->name, p->options.seed, out);
  return EGRAPH_OK;
}

static egraph_status load_weight(eg_rank_program *p, uint32_t state, void *to) {
  eg_tensor tensor = {.data = NULL};
  void *drawn = NULL;
  egraph_status status = weight_of(p, state, &drawn, &tensor);
  if (status == EGRAPH_OK) status = take(p, state, &tensor, false, to);
  eg_free(p->alloc, drawn, eg_type_bytes(&tensor.type), 1);
  return status;
}

static bool is_weight(const eg_rank_program *p, uint32_t state) {
  return eg_rank_value(p, state)->kind == EG_VALUE_WEIGHT &&
         p->plan->states.data[state].step == EG_PLAN_NONE;
}

/// Places of the constants that are only packed, in memory that goes afterwards.
static size_t place_packed(const eg_rank_program *p, size_t *offsets) {
  size_t bytes = 0;
  for (uint32_t s = 0; s < p->plan->states.len; s++) {
    offsets[s] = bytes;
    if (is_weight(p, s) && p->states[s].region == EG_REGION_NONE && !p->states[s].is_kept)
      bytes += eg_rank_aligned(eg_type_bytes(&p->states[s].type));
  }
  return bytes;
}

static egraph_status prepare(eg_rank_program *p, uint32_t index, char *packed,
                             const size_t *offsets) {
  eg_rank_step *step = &p->steps.data[index];
  const eg_plan_step *from = &p->plan->steps.data[index];
  if (step->program == NULL || step->program->info.constant_count == 0) return EGRAPH_OK;
  uint32_t count = eg_graph_node_at(p->plan->graph, from->node).input_count;
  const uint32_t *states = p->plan->operands.data + from->operands;
  for (uint32_t i = step->halo_count != 0; i < count; i++) {
    const eg_rank_state *state = &p->states[states[i]];
    step->operands[i] = state->region != EG_REGION_NONE ? NULL
                        : state->is_kept                ? state->address
                                         : (void *)(packed + offsets[states[i]]);
  }
  return step->program->vtable->prepare(step->program, step->operands, step->constants);
}

static egraph_status prepare_all(eg_rank_program *p, char *packed,
                                 const size_t *offsets) {
  EG_TRY(eg_backend_begin(p->backend));
  egraph_status status = EGRAPH_OK;
  for (uint32_t i = 0; status == EGRAPH_OK && i < p->steps.len; i++)
    status = prepare(p, i, packed, offsets);
  egraph_status end = eg_backend_end(p->backend);
  return status == EGRAPH_OK ? end : status;
}

static egraph_status load_into(eg_rank_program *p, char *packed, const size_t *offsets) {
  for (uint32_t s = 0; s < p->plan->states.len; s++) {
    if (!is_weight(p, s)) continue;
    bool is_packed = p->states[s].region == EG_REGION_NONE && !p->states[s].is_kept;
    EG_TRY(load_weight(p, s,
                       is_packed ? (void *)(packed + offsets[s]) : p->states[s].address));
  }
  return prepare_all(p, packed, offsets);
}

egraph_status eg_rank_load_weights(eg_rank_program *p) {
  size_t *offsets = NULL, count = p->plan->states.len;
  eg_device_memory packed = {0};
  EG_TRY(eg_alloc(p->alloc, count, sizeof *offsets, &offsets));
  egraph_status status =
      p->backend->vtable->memory_create(p->backend, place_packed(p, offsets), &packed);
  if (status == EGRAPH_OK) status = load_into(p, packed.address, offsets);
  eg_device_memory_destroy(p->backend, &packed);
  eg_free(p->alloc, offsets, count, sizeof *offsets);
  return status;
}

// ---- outputs ----------------------------------------------------------------------

/// A move to the next layout on the way to R on every axis; the finest axis goes first.
static bool next_move(const eg_mesh *mesh, eg_layout *inout, eg_transition *out) {
  for (uint32_t a = mesh->axis_count; a-- > 0;) {
    if (inout->sharding[a] == EG_SHARD_R) continue;
    eg_layout to = *inout;
    to.sharding[a] = EG_SHARD_R;
    bool is_move = eg_transition_between(mesh, NULL, inout, &to, out);
    assert(is_move); // no finer axis is sharded any more
    (void)is_move;
    return true;
  }
  return false;
}

/// Runs a move into fresh memory, which takes the place of the former.
static egraph_status move_on(eg_rank_program *p, const eg_relayout *move,
                             const void *from, eg_device_memory *inout) {
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

egraph_status eg_rank_gather(eg_rank_program *p, uint32_t output, const eg_tensor *out) {
  uint32_t state = p->plan->output_states.data[output];
  eg_type type = global_type(p, state);
  eg_layout layout = *layout_of(p, state);
  eg_transition transition;
  eg_device_memory moved = {0}; // until the first move the state's own memory counts
  const void *data = p->states[state].address;
  egraph_status status = EGRAPH_OK;
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
