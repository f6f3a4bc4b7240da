// Places memory, loads constants and binds launches. For each step, in order, the
// constants that it reads are loaded and packed, and its launch is bound to its memory. A
// constant is freed after its last reader, so that packed weights are never in memory
// twice. Nodes that read only constants are computed in the order of the graph, as far as
// the current step needs them.
//
//   value of the graph, whole  --all of it, or a part in the graph's data-->  state
//                              --copied, in its memory format------------->  state
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>

#include "exec/rank_program_internal.h"
#include "pcg/graph/weights.h"

/// A whole constant value, with the type that it has in the graph.
typedef struct constant {
  const void *host;        // NULL: not in host memory
  void *address;           // on the device; NULL: not there
  eg_device_memory memory; // memory of `address`; owner NULL: it is in the graph's data
  void *own_host;          // copy on the host, made only for the device
  uint32_t readers;        // nodes and states that still need the value
  bool is_kept;            // a kept state is in the memory of this constant
} constant;

/// A state of the plan (a constant value in one layout), as this rank's block.
typedef struct block {
  uint32_t readers; // steps that are not bound yet, and outputs
  bool is_there, is_in_value;
  eg_device_memory memory; // its own memory
} block;

typedef struct loader {
  eg_rank_program *p;
  const eg_graph *graph;
  constant *constants; // [values]
  block *blocks;       // [states]
  uint32_t next_node;  // first node that was not considered yet
  eg_arena scratch;    // for one node at a time
} loader;

// ---- memory -------------------------------------------------------------------------

static void *region_address(eg_rank_program *p, uint32_t region) {
  eg_region_place place = eg_regions_find(&p->regions, region);
  char *base = p->memory.address;
  return base == NULL ? NULL : base + p->regions.data[place.root].offset + place.offset;
}

/// Allocates host memory for the largest block of an input or output that is stored or
/// fetched, because a run allocates nothing.
static egraph_status create_room(eg_rank_program *p) {
  size_t most = 0, bytes;
  for (uint32_t i = 0; i < eg_graph_input_count(p->plan->graph); i++) {
    if (p->inputs[i] == EG_PLAN_NONE) continue;
    EG_TRY(eg_rank_room_in(p, p->inputs[i], &bytes));
    if (bytes > most) most = bytes;
  }
  for (size_t i = 0; i < p->plan->output_states.len; i++) {
    EG_TRY(eg_rank_room_out(p, p->plan->output_states.data[i], &bytes));
    if (bytes > most) most = bytes;
  }
  EG_TRY(eg_alloc(p->alloc, most, 1, &p->room));
  p->room_bytes = most;
  return EGRAPH_OK;
}

egraph_status eg_rank_place(eg_rank_program *p) {
  EG_TRY(p->backend->vtable->memory_create(p->backend, p->arena_bytes, &p->memory));
  for (uint32_t s = 0; s < p->plan->states.len; s++)
    if (p->states[s].region != EG_REGION_NONE)
      p->states[s].address = region_address(p, p->states[s].region);
  for (uint32_t i = 0; i < p->steps.len; i++)
    if (p->steps.data[i].scratch_region != EG_REGION_NONE)
      p->steps.data[i].scratch = region_address(p, p->steps.data[i].scratch_region);
  return create_room(p);
}

static egraph_status create_memory(loader *l, size_t bytes, eg_device_memory *out) {
  return l->p->backend->vtable->memory_create(l->p->backend, bytes, out);
}

static void destroy_memory(loader *l, eg_device_memory *memory) {
  eg_device_memory_destroy(l->p->backend, memory);
}

/// Gives the memory to the program, which frees it when the program is destroyed.
static egraph_status keep_memory(loader *l, eg_device_memory *inout) {
  if (inout->owner == NULL) return EGRAPH_OK;
  EG_TRY(eg_memory_list_push(&l->p->constants, *inout));
  *inout = (eg_device_memory){0};
  return EGRAPH_OK;
}

// ---- whole constants ----------------------------------------------------------------

static bool has_host_memory(const loader *l) {
  return l->p->backend->vtable->host_memory;
}

static const eg_value_info *value_info(const loader *l, uint32_t value) {
  return eg_graph_value(l->graph, (eg_value){value});
}

/// True when the elements lie at multiples of their size, as kernels need: a file may
/// hold a tensor at any offset.
static bool is_aligned(const void *data, const eg_type *type) {
  return (uintptr_t)data % eg_dtype_bytes(type->dtype) == 0;
}

/// Draws a weight, directly into device memory where that is host memory.
static egraph_status draw_weight(loader *l, uint32_t value) {
  const eg_value_info *info = value_info(l, value);
  constant *c = &l->constants[value];
  eg_tensor tensor = {.type = info->type};
  size_t bytes = eg_type_bytes(&info->type);
  if (has_host_memory(l)) {
    EG_TRY(create_memory(l, bytes, &c->memory));
    tensor.data = c->address = c->memory.address;
  } else {
    EG_TRY(eg_alloc(l->p->alloc, bytes, 1, &c->own_host));
    tensor.data = c->own_host;
  }
  eg_weight_draw(info->name, l->p->options.seed, &tensor);
  c->host = tensor.data;
  return EGRAPH_OK;
}

static egraph_status download(loader *l, uint32_t value) {
  constant *c = &l->constants[value];
  size_t bytes = eg_type_bytes(&value_info(l, value)->type);
  EG_TRY(eg_alloc(l->p->alloc, bytes, 1, &c->own_host));
  c->host = c->own_host;
  return eg_backend_download(l->p->backend, c->own_host, c->address, bytes);
}

static egraph_status put_on_host(loader *l, uint32_t value) {
  assert(value < eg_graph_value_count(l->graph));
  const eg_value_info *info = value_info(l, value);
  constant *c = &l->constants[value];
  if (c->host != NULL) return EGRAPH_OK;
  if (info->kind != EG_VALUE_WEIGHT) return download(l, value);
  if (info->data == NULL) return draw_weight(l, value);
  c->host = eg_buffer_data(info->data);
  return EGRAPH_OK;
}

/// Puts a constant on the device. Reads the graph's data in place where possible.
static egraph_status put_on_device(loader *l, uint32_t value) {
  const eg_type *type = &value_info(l, value)->type;
  constant *c = &l->constants[value];
  if (c->address != NULL) return EGRAPH_OK;
  EG_TRY(put_on_host(l, value));
  if (has_host_memory(l) && is_aligned(c->host, type)) {
    // Back-ends never write to an operand; the addresses are not const only because
    // results are among them.
    memcpy(&c->address, &c->host, sizeof c->host);
    return EGRAPH_OK;
  }
  EG_TRY(create_memory(l, eg_type_bytes(type), &c->memory));
  c->address = c->memory.address;
  return eg_backend_upload(l->p->backend, c->address, c->host, eg_type_bytes(type));
}

static void forget_constant(loader *l, constant *c, const eg_type *type) {
  destroy_memory(l, &c->memory);
  eg_free(l->p->alloc, c->own_host, eg_type_bytes(type), 1);
  c->own_host = c->address = NULL;
  c->host = NULL;
}

/// Counts down the readers of a constant; after the last one frees its memory, or gives
/// it to the program if kernels read it unpacked.
static egraph_status release_constant(loader *l, uint32_t value) {
  assert(l->constants[value].readers != 0);
  constant *c = &l->constants[value];
  if (--c->readers != 0) return EGRAPH_OK;
  if (c->is_kept) EG_TRY(keep_memory(l, &c->memory));
  forget_constant(l, c, &value_info(l, value)->type);
  return EGRAPH_OK;
}

// ---- programs and their memory ------------------------------------------------------

typedef struct addresses {
  void **operands, **results, **constants;
} addresses;

static egraph_status list_addresses(loader *l, uint32_t operands, uint32_t results,
                                    const eg_program *program, addresses *out) {
  uint32_t constants = program->info.constant_count;
  eg_arena_deinit(&l->scratch);
  EG_TRY(eg_arena_alloc(&l->scratch, operands, sizeof(void *), &out->operands));
  EG_TRY(eg_arena_alloc(&l->scratch, results, sizeof(void *), &out->results));
  return eg_arena_alloc(&l->scratch, constants, sizeof(void *), &out->constants);
}

/// Allocates memory for the program's constants, owned by `owner`; prepare fills it.
static egraph_status pack_constants(loader *l, const eg_program *program,
                                    eg_memory_list *owner, addresses *where) {
  const eg_program_info *info = &program->info;
  for (uint32_t i = 0; i < info->constant_count; i++) {
    EG_TRY(eg_memory_list_reserve(owner, owner->len + 1));
    eg_device_memory *memory = &owner->data[owner->len];
    EG_TRY(create_memory(l, info->constant_bytes[i], memory));
    owner->len++;
    where->constants[i] = memory->address;
  }
  return eg_program_prepare(program, where->operands, where->constants);
}

static egraph_status run_once(loader *l, const eg_program *program, addresses *where) {
  assert(program->info.constant_count == 0 || where->constants != NULL);
  eg_memory_list packed;
  eg_memory_list_init(&packed, l->p->alloc);
  eg_device_memory scratch = {0};
  eg_launch *launch = NULL;
  egraph_status status = EGRAPH_OK;
  EG_TRY_GOTO(status, pack_constants(l, program, &packed, where), done);
  EG_TRY_GOTO(status, create_memory(l, program->info.scratch_bytes, &scratch), done);
  eg_bindings bindings = {where->operands, where->results, where->constants,
                          scratch.address};
  EG_TRY_GOTO(status, program->vtable->bind(program, &bindings, &launch), done);
  EG_TRY_GOTO(status, launch->vtable->run(launch), done);
done:
  eg_launch_destroy(launch);
  destroy_memory(l, &scratch);
  for (size_t i = 0; i < packed.len; i++)
    destroy_memory(l, &packed.data[i]);
  eg_memory_list_deinit(&packed);
  return status;
}

// ---- nodes that only constants feed -------------------------------------------------

static egraph_status spec_of(loader *l, const eg_graph_node_info *info,
                             eg_node_spec *out) {
  eg_type *types;
  uint32_t count = info->input_count + info->result_count;
  EG_TRY(eg_arena_alloc(&l->scratch, count, sizeof *types, &types));
  *out = (eg_node_spec){.attrs = info->attrs,
                        .inputs = types,
                        .input_count = info->input_count,
                        .results = types + info->input_count,
                        .result_count = info->result_count};
  for (uint32_t i = 0; i < info->input_count; i++) {
    types[i] = value_info(l, info->inputs[i].id)->type;
    out->weight_mask |= eg_operand_bit(i);
  }
  for (uint32_t r = 0; r < info->result_count; r++)
    types[info->input_count + r] = value_info(l, info->results[r].id)->type;
  return EGRAPH_OK;
}

static egraph_status create_result(loader *l, uint32_t value) {
  constant *c = &l->constants[value];
  EG_TRY(create_memory(l, eg_type_bytes(&value_info(l, value)->type), &c->memory));
  c->address = c->memory.address;
  if (has_host_memory(l)) c->host = c->address;
  return EGRAPH_OK;
}

static egraph_status compute_results(loader *l, const eg_graph_node_info *info) {
  eg_node_spec spec;
  eg_program *program = NULL;
  addresses where;
  EG_TRY(spec_of(l, info, &spec));
  EG_TRY(eg_program_cache_find(&l->p->programs, l->p->backend,
                               &(eg_compile_request){.spec = &spec}, &program));
  EG_TRY(list_addresses(l, info->input_count, info->result_count, program, &where));
  for (uint32_t i = 0; i < info->input_count; i++) {
    EG_TRY(put_on_device(l, info->inputs[i].id));
    where.operands[i] = l->constants[info->inputs[i].id].address;
  }
  for (uint32_t r = 0; r < info->result_count; r++) {
    EG_TRY(create_result(l, info->results[r].id));
    where.results[r] = l->constants[info->results[r].id].address;
  }
  return run_once(l, program, &where);
}

static egraph_status fold_node(loader *l, const eg_graph_node_info *info) {
  egraph_status status = compute_results(l, info);
  const char *op = eg_op_info_of((eg_op)info->attrs->op)->name;
  if (status != EGRAPH_OK)
    return eg_fail_context(status, "%s '%s'", op,
                           value_info(l, info->results[0].id)->name);
  for (uint32_t r = 0; r < info->result_count; r++) {
    uint32_t value = info->results[r].id;
    if (l->constants[value].readers == 0)
      forget_constant(l, &l->constants[value], &value_info(l, value)->type);
  }
  for (uint32_t i = 0; i < info->input_count; i++)
    EG_TRY(release_constant(l, info->inputs[i].id));
  return EGRAPH_OK;
}

/// True when a constant is computed from a result of the node.
static bool is_folded(const loader *l, const eg_graph_node_info *info) {
  for (uint32_t r = 0; r < info->result_count; r++)
    if (l->constants[info->results[r].id].readers != 0) return true;
  return false;
}

static egraph_status compute_value(loader *l, uint32_t value) {
  const eg_value_info *info = value_info(l, value);
  if (info->kind != EG_VALUE_COMPUTED) return EGRAPH_OK;
  while (l->next_node <= info->node.id) {
    eg_graph_node_info node = eg_graph_node_at(l->graph, (eg_graph_node){l->next_node++});
    if (is_folded(l, &node)) EG_TRY(fold_node(l, &node));
  }
  return EGRAPH_OK;
}

// ---- constant states ----------------------------------------------------------------

/// True when a state (a constant in one layout) needs no memory of its own: it is all of
/// its value, or a contiguous part of the graph's data.
static bool lies_in_value(const loader *l, uint32_t state, size_t *out_offset) {
  const eg_rank_program *p = l->p;
  const eg_plan_state *s = &p->plan->states.data[state];
  const eg_value_info *info = value_info(l, s->value.id);
  const eg_type *local = &p->states[state].type;
  if (local->layout.format != info->type.layout.format ||
      !eg_block_find(&p->plan->mesh, eg_rank_number(p), &info->type, &s->layout,
                     out_offset))
    return false;
  if (eg_type_same_shape(local, &info->type)) return true;
  return has_host_memory(l) && info->data != NULL &&
         local->layout.format == EG_FORMAT_PLAIN &&
         is_aligned(eg_buffer_data(info->data), &info->type);
}

/// Copies the rank's block of a constant, through row-major, to its format in a plan.
static egraph_status copy_from_value(loader *l, uint32_t state, void *to) {
  uint32_t value = l->p->plan->states.data[state].value.id;
  const eg_type *type = &value_info(l, value)->type;
  EG_TRY(put_on_host(l, value));
  eg_tensor stored = {.type = *type}, plain = {.type = *type};
  plain.type.layout.format = EG_FORMAT_PLAIN;
  memcpy(&stored.data, &l->constants[value].host, sizeof stored.data); // only read
  if (type->layout.format == EG_FORMAT_PLAIN)
    return eg_rank_store(l->p, state, &stored, to);
  size_t bytes = eg_type_bytes(&plain.type);
  EG_TRY(eg_alloc(l->p->alloc, bytes, 1, &plain.data));
  egraph_status status = eg_tensor_reorder(&stored, &plain);
  if (status == EGRAPH_OK) status = eg_rank_store(l->p, state, &plain, to);
  eg_free(l->p->alloc, plain.data, bytes, 1);
  return status;
}

static egraph_status load_state(loader *l, uint32_t state) {
  assert(state < l->p->plan->states.len);
  eg_rank_state *s = &l->p->states[state];
  uint32_t value = l->p->plan->states.data[state].value.id;
  block *b = &l->blocks[state];
  size_t offset;
  if (s->region != EG_REGION_NONE || b->is_there) return EGRAPH_OK;
  EG_TRY(compute_value(l, value));
  b->is_in_value = lies_in_value(l, state, &offset);
  if (b->is_in_value) {
    constant *c = &l->constants[value];
    EG_TRY(put_on_device(l, value));
    s->address = c->address == NULL ? NULL : (char *)c->address + offset;
    c->is_kept = c->is_kept || s->is_kept;
  } else {
    EG_TRY(create_memory(l, eg_type_bytes(&s->type), &b->memory));
    s->address = b->memory.address;
    EG_TRY(copy_from_value(l, state, s->address));
    EG_TRY(release_constant(l, value));
  }
  b->is_there = true;
  return EGRAPH_OK;
}

/// Counts down the readers of a rank's block of a constant; frees it after the last one.
static egraph_status release_state(loader *l, uint32_t state) {
  eg_rank_state *s = &l->p->states[state];
  block *b = &l->blocks[state];
  if (s->region != EG_REGION_NONE || --b->readers != 0) return EGRAPH_OK;
  if (s->is_kept)
    EG_TRY(keep_memory(l, &b->memory));
  else
    s->address = NULL;
  destroy_memory(l, &b->memory);
  return b->is_in_value ? release_constant(l, l->p->plan->states.data[state].value.id)
                        : EGRAPH_OK;
}

// ---- launches -----------------------------------------------------------------------

/// Returns the address of the operand with all neighbours' rows (halos): after the
/// program's scratch memory and the tensors with fewer of them.
static void *halo_address(const eg_rank_step *step) {
  size_t at = eg_device_aligned(step->program->info.scratch_bytes);
  for (uint32_t h = 0; h + 1 < step->halo_count; h++)
    at += eg_device_aligned(eg_type_bytes(&step->halos[h].to));
  return eg_rank_scratch(step, at);
}

/// Binds a program to the values of a step; `operand` and `result`, where given, replace
/// operand 0 and result 0.
static egraph_status bind_launch(loader *l, const eg_rank_step *step,
                                 const eg_program *program, void *operand, void *result,
                                 eg_launch **out) {
  assert(step->result_count != 0);
  eg_rank_program *p = l->p;
  addresses where;
  EG_TRY(list_addresses(l, step->operand_count, step->result_count, program, &where));
  for (uint32_t i = 0; i < step->operand_count; i++)
    where.operands[i] = p->states[step->operands[i]].address;
  for (uint32_t r = 0; r < step->result_count; r++)
    where.results[r] = p->states[step->results[r]].address;
  if (operand != NULL) where.operands[0] = operand;
  if (result != NULL) where.results[0] = result;
  EG_TRY(pack_constants(l, program, &p->constants, &where));
  eg_bindings bindings = {where.operands, where.results, where.constants, step->scratch};
  return program->vtable->bind(program, &bindings, out);
}

static egraph_status bind_step(loader *l, eg_rank_step *step) {
  for (uint32_t i = 0; i < step->operand_count; i++)
    EG_TRY(load_state(l, step->operands[i]));
  if (step->program != NULL) {
    bool has_halos = step->halo_count != 0;
    if (has_halos) step->halo_from = l->p->states[step->operands[0]].address;
    EG_TRY(bind_launch(l, step, step->program,
                       has_halos && !step->has_strips ? halo_address(step) : NULL, NULL,
                       &step->launch));
  }
  for (uint32_t i = 0; i < step->strip_count; i++) {
    eg_rank_strip *strip = &step->strips[i];
    EG_TRY(bind_launch(l, step, strip->program, eg_rank_scratch(step, strip->operand),
                       eg_rank_scratch(step, strip->result), &strip->launch));
  }
  for (uint32_t i = 0; i < step->operand_count; i++)
    EG_TRY(release_state(l, step->operands[i]));
  return EGRAPH_OK;
}

static egraph_status bind_all(loader *l) {
  eg_rank_program *p = l->p;
  for (uint32_t i = 0; i < p->steps.len; i++) {
    egraph_status status = bind_step(l, &p->steps.data[i]);
    if (status != EGRAPH_OK) return eg_rank_blame(p, i, status);
  }
  for (size_t i = 0; i < p->plan->output_states.len; i++) {
    EG_TRY(load_state(l, p->plan->output_states.data[i]));
    EG_TRY(release_state(l, p->plan->output_states.data[i]));
  }
  return EGRAPH_OK;
}

// ---- all ----------------------------------------------------------------------------

/// Counts the readers of states (values in one layout), then the readers of the constants
/// from which states are made.
static void count_readers(loader *l) {
  const eg_rank_program *p = l->p;
  for (uint32_t i = 0; i < p->steps.len; i++)
    for (uint32_t k = 0; k < p->steps.data[i].operand_count; k++)
      l->blocks[p->steps.data[i].operands[k]].readers++;
  for (size_t i = 0; i < p->plan->output_states.len; i++)
    l->blocks[p->plan->output_states.data[i]].readers++;
  for (uint32_t s = 0; s < p->plan->states.len; s++)
    if (p->states[s].region == EG_REGION_NONE && l->blocks[s].readers != 0)
      l->constants[p->plan->states.data[s].value.id].readers++;
  for (uint32_t n = eg_graph_node_count(l->graph); n-- > 0;) {
    eg_graph_node_info info = eg_graph_node_at(l->graph, (eg_graph_node){n});
    for (uint32_t i = 0; is_folded(l, &info) && i < info.input_count; i++)
      l->constants[info.inputs[i].id].readers++;
  }
}

static egraph_status load_all(loader *l) {
  eg_rank_program *p = l->p;
  size_t values = eg_graph_value_count(l->graph);
  EG_TRY(eg_alloc(p->alloc, values, sizeof *l->constants, &l->constants));
  EG_TRY(eg_alloc(p->alloc, p->plan->states.len, sizeof *l->blocks, &l->blocks));
  count_readers(l);
  EG_TRY(eg_backend_begin(p->backend));
  egraph_status status = bind_all(l);
  egraph_status end = eg_backend_end(p->backend);
  return status == EGRAPH_OK ? end : status;
}

static void close_loader(loader *l) {
  eg_rank_program *p = l->p;
  size_t values = eg_graph_value_count(l->graph), states = p->plan->states.len;
  for (uint32_t v = 0; l->constants != NULL && v < values; v++)
    forget_constant(l, &l->constants[v], &value_info(l, v)->type);
  for (uint32_t s = 0; l->blocks != NULL && s < states; s++)
    destroy_memory(l, &l->blocks[s].memory);
  eg_free(p->alloc, l->constants, values, sizeof *l->constants);
  eg_free(p->alloc, l->blocks, states, sizeof *l->blocks);
  eg_arena_deinit(&l->scratch);
}

egraph_status eg_rank_bind(eg_rank_program *p) {
  assert(!p->is_bound);
  loader l = {.p = p, .graph = p->plan->graph};
  eg_arena_init(&l.scratch, p->alloc);
  egraph_status status = load_all(&l);
  close_loader(&l);
  p->is_bound = status == EGRAPH_OK;
  if (status != EGRAPH_OK) eg_rank_unbind(p);
  return status;
}

void eg_rank_unbind(eg_rank_program *p) {
  for (size_t i = 0; i < p->steps.len; i++) {
    eg_rank_step *step = &p->steps.data[i];
    eg_launch_destroy(step->launch);
    step->launch = NULL;
    for (uint32_t s = 0; s < step->strip_count; s++) {
      eg_launch_destroy(step->strips[s].launch);
      step->strips[s].launch = NULL;
    }
  }
  for (size_t i = 0; i < p->constants.len; i++)
    eg_device_memory_destroy(p->backend, &p->constants.data[i]);
  p->constants.len = 0;
}
