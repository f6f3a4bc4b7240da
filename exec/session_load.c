// Constants and launches. Nodes are taken in order: a weight-only node runs at once and
// leaves a constant; any other node packs the constants it needs and is bound to its
// memory. A constant goes as soon as its last reader is done, so that packed weights are
// never kept twice.
// SPDX-License-Identifier: Apache-2.0
#include "exec/session_build.h"
#include "pcg/spec_copy.h"
#include "pcg/weights.h"

static eg_value_plan *plan_of(eg_session_builder *b, eg_value value) {
  return &b->values[value.id];
}

static void *arena_address(eg_session_builder *b, uint32_t region) {
  eg_region_place place = eg_regions_find(&b->regions, region);
  char *base = b->session->activations.address;
  if (base == NULL) return NULL;
  return base + b->regions.data[place.root].offset + place.offset;
}

// ---- constants ------------------------------------------------------------------

static void count_uses(eg_session_builder *b) {
  for (uint32_t n = 0; n < b->node_count; n++) {
    if (!b->nodes[n].is_needed) continue;
    eg_graph_node_info info = eg_graph_node_at(b->graph, (eg_graph_node){n});
    for (uint32_t i = 0; i < info.input_count; i++)
      plan_of(b, info.inputs[i])->pending++;
  }
  uint32_t outputs = eg_graph_output_count(b->graph);
  for (uint32_t i = 0; i < outputs; i++) {
    eg_value_plan *plan = plan_of(b, eg_graph_output(b->graph, i, NULL));
    plan->pending++;
    plan->is_kept = true;
  }
}

static egraph_status new_constant(eg_session_builder *b, eg_value_plan *plan,
                                  size_t bytes) {
  eg_backend *backend = b->session->backend;
  EG_TRY(backend->vtable->memory_create(backend, bytes, &plan->owned));
  plan->address = plan->owned.address;
  return EGRAPH_OK;
}

static egraph_status draw_weight(eg_session_builder *b, const eg_value_info *info,
                                 eg_value_plan *plan) {
  eg_backend *backend = b->session->backend;
  size_t bytes = eg_type_bytes(&info->type);
  EG_TRY(new_constant(b, plan, bytes));
  eg_tensor tensor = {.type = info->type, .data = plan->address};
  if (backend->vtable->host_memory) {
    eg_weight_draw(info->name, b->options->seed, &tensor);
    return EGRAPH_OK;
  }
  EG_TRY(eg_alloc(b->session->alloc, bytes, 1, &tensor.data));
  eg_weight_draw(info->name, b->options->seed, &tensor);
  egraph_status status = eg_backend_upload(backend, plan->address, tensor.data, bytes);
  eg_free(b->session->alloc, tensor.data, bytes, 1);
  return status;
}

// A file may hold a tensor at any offset; kernels want elements at
// multiples of their size.
static bool is_aligned(const void *data, const eg_type *type) {
  return (uintptr_t)data % eg_dtype_bytes(type->dtype) == 0;
}

// Host memory back-ends read a weight where the graph has it.
static egraph_status load_weight(eg_session_builder *b, eg_value value) {
  const eg_value_info *info = eg_graph_value(b->graph, value);
  eg_value_plan *plan = plan_of(b, value);
  eg_backend *backend = b->session->backend;
  if (info->data == NULL) return draw_weight(b, info, plan);
  const void *data = eg_buffer_data(info->data);
  if (backend->vtable->host_memory && is_aligned(data, &info->type)) {
    plan->borrowed = eg_buffer_retain(info->data);
    // The back-end never writes to an operand; the addresses it takes are not const
    // because results are among them.
    memcpy(&plan->address, &data, sizeof data);
    return EGRAPH_OK;
  }
  EG_TRY(new_constant(b, plan, eg_buffer_size(info->data)));
  return eg_backend_upload(backend, plan->address, data, eg_buffer_size(info->data));
}

static egraph_status ensure_constant(eg_session_builder *b, eg_value value) {
  const eg_value_plan *plan = plan_of(b, value);
  bool is_there = plan->owned.owner != NULL || plan->borrowed != NULL;
  if (is_there || eg_graph_value(b->graph, value)->kind != EG_VALUE_WEIGHT)
    return EGRAPH_OK;
  return load_weight(b, value);
}

static void forget_constant(eg_session_builder *b, eg_value_plan *plan) {
  eg_device_memory_destroy(b->session->backend, &plan->owned);
  eg_buffer_release(plan->borrowed);
  plan->borrowed = NULL;
  plan->address = NULL;
}

// One reader less. What is kept moves to the session when nobody waits for it.
static egraph_status done_reading(eg_session_builder *b, eg_value value) {
  eg_value_plan *plan = plan_of(b, value);
  if (!plan->is_constant || --plan->pending != 0) return EGRAPH_OK;
  if (!plan->is_kept) {
    forget_constant(b, plan);
    return EGRAPH_OK;
  }
  eg_session *session = b->session;
  if (plan->owned.owner != NULL) {
    EG_TRY(eg_memory_blocks_push(&session->constants, plan->owned));
    session->weight_bytes += plan->owned.bytes;
    plan->owned = (eg_device_memory){0};
  } else if (plan->borrowed != NULL) {
    EG_TRY(eg_buffer_refs_push(&session->buffers, plan->borrowed));
    session->weight_bytes += eg_buffer_size(plan->borrowed);
    plan->borrowed = NULL;
  }
  return EGRAPH_OK;
}

static egraph_status done_with_operands(eg_session_builder *b,
                                        const eg_graph_node_info *info) {
  for (uint32_t i = 0; i < info->input_count; i++)
    EG_TRY(done_reading(b, info->inputs[i]));
  return EGRAPH_OK;
}

// ---- programs and their memory --------------------------------------------------

typedef struct addresses {
  void **operands, **results, **constants;
} addresses;

static egraph_status find_addresses(eg_session_builder *b, const eg_graph_node_info *info,
                                    const eg_program *program, addresses *out) {
  *out = (addresses){0};
  EG_TRY(eg_arena_alloc(&b->scratch, info->input_count + 1u, sizeof(void *),
                        &out->operands));
  EG_TRY(eg_arena_alloc(&b->scratch, info->result_count + 1u, sizeof(void *),
                        &out->results));
  EG_TRY(eg_arena_alloc(&b->scratch, program->info.constant_count + 1u, sizeof(void *),
                        &out->constants));
  for (uint32_t i = 0; i < info->input_count; i++) {
    const eg_value_plan *plan = plan_of(b, info->inputs[i]);
    if (plan->is_constant) EG_TRY(ensure_constant(b, info->inputs[i]));
    out->operands[i] = plan->is_constant ? plan->address : arena_address(b, plan->region);
  }
  for (uint32_t i = 0; i < info->result_count; i++) {
    const eg_value_plan *plan = plan_of(b, info->results[i]);
    out->results[i] = plan->is_constant ? plan->address : arena_address(b, plan->region);
  }
  return EGRAPH_OK;
}

// Memory for the program's constants, owned by the list given, filled by prepare.
static egraph_status pack_constants(eg_session_builder *b, const eg_program *program,
                                    eg_memory_blocks *owner, addresses *where) {
  eg_backend *backend = b->session->backend;
  const eg_program_info *info = &program->info;
  for (uint32_t i = 0; i < info->constant_count; i++) {
    EG_TRY(eg_memory_blocks_reserve(owner, owner->len + 1));
    eg_device_memory *block = &owner->data[owner->len];
    EG_TRY(backend->vtable->memory_create(backend, info->constant_bytes[i], block));
    owner->len++;
    where->constants[i] = block->address;
  }
  return program->vtable->prepare(program, where->operands, where->constants);
}

static void free_blocks(eg_session_builder *b, eg_memory_blocks *blocks) {
  for (size_t i = 0; i < blocks->len; i++)
    eg_device_memory_destroy(b->session->backend, &blocks->data[i]);
  eg_memory_blocks_deinit(blocks);
}

static egraph_status run_once(eg_session_builder *b, const eg_program *program,
                              addresses *where) {
  eg_backend *backend = b->session->backend;
  eg_memory_blocks blocks;
  eg_memory_blocks_init(&blocks, b->session->alloc);
  eg_device_memory scratch = {0};
  eg_launch *launch = NULL;
  egraph_status status = EGRAPH_OK;
  EG_TRY_GOTO(status, pack_constants(b, program, &blocks, where), done);
  EG_TRY_GOTO(
      status,
      backend->vtable->memory_create(backend, program->info.scratch_bytes, &scratch),
      done);
  eg_bindings bindings = {where->operands, where->results, where->constants,
                          scratch.address};
  EG_TRY_GOTO(status, program->vtable->bind(program, &bindings, &launch), done);
  EG_TRY_GOTO(status, launch->vtable->run(launch), done);
done:
  eg_launch_destroy(launch);
  eg_device_memory_destroy(backend, &scratch);
  free_blocks(b, &blocks);
  return status;
}

// A weight-only node: runs now. Its results wait for their readers.
static egraph_status fold_node(eg_session_builder *b, uint32_t n) {
  eg_graph_node_info info = eg_graph_node_at(b->graph, (eg_graph_node){n});
  eg_node_spec spec;
  eg_program *program = NULL;
  addresses where;
  EG_TRY(eg_session_spec(b, n, &spec));
  EG_TRY(eg_session_program(b, &spec, 0, &program));
  for (uint32_t i = 0; i < info.result_count; i++)
    EG_TRY(new_constant(b, plan_of(b, info.results[i]), eg_type_bytes(&spec.results[i])));
  EG_TRY(find_addresses(b, &info, program, &where));
  EG_TRY(run_once(b, program, &where));
  for (uint32_t i = 0; i < info.result_count; i++) {
    eg_value_plan *plan = plan_of(b, info.results[i]);
    if (plan->pending == 0) forget_constant(b, plan);
  }
  return done_with_operands(b, &info);
}

static egraph_status add_step(eg_session_builder *b, uint32_t n, const eg_node_spec *spec,
                              const char *kernel, eg_launch *launch) {
  bool is_view = launch == NULL;
  eg_bound_step step = {.info = {.kernel = kernel,
                                 .node = {n},
                                 .flops = is_view ? 0 : eg_node_spec_flops(spec),
                                 .bytes = is_view ? 0 : eg_node_spec_bytes(spec)},
                        .launch = launch};
  return eg_bound_steps_push(&b->session->steps, step);
}

static egraph_status bind_node(eg_session_builder *b, uint32_t n) {
  eg_session *session = b->session;
  eg_graph_node_info info = eg_graph_node_at(b->graph, (eg_graph_node){n});
  const eg_program *program = b->nodes[n].program;
  eg_node_spec spec;
  addresses where;
  EG_TRY(eg_session_spec(b, n, &spec));
  if (b->nodes[n].is_view) {
    EG_TRY(done_with_operands(b, &info));
    return add_step(b, n, &spec, "view", NULL);
  }
  EG_TRY(find_addresses(b, &info, program, &where));
  size_t before = session->constants.len;
  EG_TRY(pack_constants(b, program, &session->constants, &where));
  for (size_t i = before; i < session->constants.len; i++)
    session->weight_bytes += session->constants.data[i].bytes;
  for (uint32_t i = 0; i < info.input_count; i++)
    if ((program->info.kept & eg_operand_bit(i)) != 0 || i >= 64)
      plan_of(b, info.inputs[i])->is_kept = true;
  char *base = session->activations.address;
  eg_bindings bindings = {where.operands, where.results, where.constants,
                          base == NULL ? NULL : base + session->arena_bytes};
  eg_launch *launch = NULL;
  EG_TRY(program->vtable->bind(program, &bindings, &launch));
  egraph_status status = add_step(b, n, &spec, program->info.kernel, launch);
  if (status != EGRAPH_OK) {
    eg_launch_destroy(launch);
    return status;
  }
  return done_with_operands(b, &info);
}

// ---- ports ----------------------------------------------------------------------

static egraph_status add_port(eg_session_builder *b, eg_ports *ports, eg_value value,
                              const char *name) {
  const eg_value_info *info = eg_graph_value(b->graph, value);
  const eg_value_plan *plan = plan_of(b, value);
  if (plan->is_constant) EG_TRY(ensure_constant(b, value));
  eg_port port = {.stored = info->type,
                  .address =
                      plan->is_constant ? plan->address : arena_address(b, plan->region)};
  EG_TRY(eg_arena_string(&b->session->arena, name, strlen(name), &port.name));
  size_t bytes = 0;
  if (info->type.layout.format != EG_FORMAT_PLAIN) bytes = eg_type_bytes(&info->type);
  if (bytes > b->session->staging_bytes) b->session->staging_bytes = bytes;
  return eg_ports_push(ports, port);
}

static egraph_status add_ports(eg_session_builder *b) {
  uint32_t inputs = eg_graph_input_count(b->graph);
  for (uint32_t i = 0; i < inputs; i++) {
    eg_value value = eg_graph_input(b->graph, i);
    EG_TRY(
        add_port(b, &b->session->inputs, value, eg_graph_value(b->graph, value)->name));
  }
  uint32_t outputs = eg_graph_output_count(b->graph);
  for (uint32_t i = 0; i < outputs; i++) {
    const char *name;
    eg_value value = eg_graph_output(b->graph, i, &name);
    EG_TRY(add_port(b, &b->session->outputs, value, name));
    EG_TRY(done_reading(b, value));
  }
  return EGRAPH_OK;
}

static egraph_status load_nodes(eg_session_builder *b) {
  for (uint32_t n = 0; n < b->node_count; n++) {
    if (!b->nodes[n].is_needed) continue;
    eg_arena_deinit(&b->scratch);
    egraph_status status = b->nodes[n].is_constant ? fold_node(b, n) : bind_node(b, n);
    if (status != EGRAPH_OK) return eg_session_blame(b, n, status);
  }
  return EGRAPH_OK;
}

static egraph_status finish(eg_session_builder *b) {
  eg_session *session = b->session;
  EG_TRY(add_ports(b));
  if (session->staging_bytes != 0)
    EG_TRY(eg_alloc(session->alloc, session->staging_bytes, 1, &session->staging));
  return EGRAPH_OK;
}

egraph_status eg_session_load(eg_session_builder *b) {
  eg_session *session = b->session;
  EG_TRY(session->backend->vtable->memory_create(
      session->backend, session->arena_bytes + b->scratch_bytes, &session->activations));
  count_uses(b);
  EG_TRY(eg_backend_begin(session->backend));
  egraph_status status = load_nodes(b);
  egraph_status end = eg_backend_end(session->backend);
  if (status == EGRAPH_OK) status = end;
  return status == EGRAPH_OK ? finish(b) : status;
}
