// SPDX-License-Identifier: Apache-2.0
#include "exec/profile_rig.h"

#include "pcg/graph/spec_copy.h"
#include "pcg/graph/weights.h"

enum { ROTATION_BYTES = 48 << 20, MAX_COPIES = 16, SMALL_BYTES = 64 << 10 };
enum { SETS_BYTES = 16 << 20, MAX_SETS = 8 };
enum { DRAWN_ELEMENTS = 1 << 16 };

static egraph_status new_block(eg_rig *rig, size_t bytes, void **out) {
  EG_TRY(eg_rig_blocks_reserve(&rig->blocks, rig->blocks.len + 1));
  eg_device_memory *block = &rig->blocks.data[rig->blocks.len];
  EG_TRY(rig->backend->vtable->memory_create(rig->backend, bytes, block));
  rig->blocks.len++;
  *out = block->address;
  return EGRAPH_OK;
}

// Memory that rotates: from the lent block while that lasts, which saves touching fresh
// pages for every node.
static egraph_status rotating_block(eg_rig *rig, size_t bytes, void **out) {
  size_t mask = EG_DEVICE_ALIGNMENT - 1;
  if (bytes < SMALL_BYTES || bytes > ROTATION_BYTES - rig->rotation_used)
    return new_block(rig, bytes, out);
  if (rig->rotation->owner == NULL)
    EG_TRY(
        rig->backend->vtable->memory_create(rig->backend, ROTATION_BYTES, rig->rotation));
  *out = (char *)rig->rotation->address + rig->rotation_used;
  rig->rotation_used += (bytes + mask) & ~mask;
  if (rig->rotation_used > ROTATION_BYTES) rig->rotation_used = ROTATION_BYTES;
  return EGRAPH_OK;
}

// ---- operands -------------------------------------------------------------------

static void fill_tensor(const eg_tensor *tensor, double value) {
  int64_t elements = eg_type_elements(&tensor->type);
  for (int64_t i = 0; i < elements; i++)
    eg_tensor_set_double(tensor, i, value);
}

// Values for the first elements, repeated over the rest: kernels do not care, and drawing
// takes longer than running.
static void draw_plain(const eg_rig *rig, uint32_t index, const eg_tensor *tensor) {
  int64_t elements = eg_type_elements(&tensor->type);
  int64_t drawn = elements < DRAWN_ELEMENTS ? elements : DRAWN_ELEMENTS;
  eg_tensor head = *tensor;
  if (elements > DRAWN_ELEMENTS) head.type = eg_type_of(tensor->type.dtype, 1, &drawn);
  if (rig->spec->attrs->op == EG_OP_POW && index == 1)
    fill_tensor(&head,
                2); // the exponent graphs are full of; others cost more than a product
  else if (eg_spec_is_weight(rig->spec, index))
    eg_weight_draw("weight", index, &head);
  else
    eg_input_draw("operand", index, &head);
  size_t size = eg_dtype_bytes(tensor->type.dtype), total = (size_t)elements * size;
  size_t period = (size_t)drawn * size;
  char *bytes = tensor->data;
  for (size_t done = period; done < total; done += period)
    memcpy(bytes + done, bytes, total - done < period ? total - done : period);
}

// Draws operand `index` in the format of its type, on the device.
static egraph_status draw_operand(eg_rig *rig, uint32_t index, void *address) {
  const eg_type *type = &rig->spec->inputs[index];
  bool is_plain = type->layout.format == EG_FORMAT_PLAIN;
  eg_tensor plain = {.type = eg_type_plain(type)}, stored = {.type = *type};
  size_t bytes = eg_type_bytes(type), plain_bytes = eg_type_bytes(&plain.type);
  egraph_status status = EGRAPH_OK;
  EG_TRY_GOTO(status, eg_alloc(rig->alloc, plain_bytes, 1, &plain.data), done);
  draw_plain(rig, index, &plain);
  if (!is_plain) {
    EG_TRY_GOTO(status, eg_alloc(rig->alloc, bytes, 1, &stored.data), done);
    EG_TRY_GOTO(status, eg_tensor_reorder(&plain, &stored), done);
  }
  status = eg_backend_upload(rig->backend, address, is_plain ? plain.data : stored.data,
                             bytes);
done:
  eg_free(rig->alloc, stored.data, bytes, 1);
  eg_free(rig->alloc, plain.data, plain_bytes, 1);
  return status;
}

// ---- sets of data operands and results ------------------------------------------

static egraph_status place_set(eg_rig *rig, eg_rig_set *set) {
  const eg_node_spec *spec = rig->spec;
  bool is_first = set == rig->sets;
  bool updates = (eg_op_info_of((eg_op)spec->attrs->op)->flags & EG_OPF_UPDATES) != 0;
  EG_TRY(eg_arena_alloc(&rig->arena, spec->input_count + 1u, sizeof(void *),
                        &set->operands));
  EG_TRY(eg_arena_alloc(&rig->arena, spec->result_count + 1u, sizeof(void *),
                        &set->results));
  for (uint32_t i = 0; i < spec->input_count; i++) {
    set->operands[i] = rig->sets[0].operands[i];
    if (!is_first && eg_spec_is_weight(spec, i)) continue;
    EG_TRY(new_block(rig, eg_type_bytes(&spec->inputs[i]), &set->operands[i]));
    EG_TRY(draw_operand(rig, i, set->operands[i]));
  }
  for (uint32_t i = 0; i < spec->result_count; i++) {
    if (i == 0 && rig->program->info.overlay >= 0)
      set->results[0] = set->operands[rig->program->info.overlay];
    else if (updates && (rig->program->info.in_place >> i & 1) != 0)
      set->results[i] = set->operands[i];
    else
      EG_TRY(new_block(rig, eg_type_bytes(&spec->results[i]), &set->results[i]));
  }
  return EGRAPH_OK;
}

static uint32_t choose_sets(const eg_node_spec *spec) {
  double bytes = 1; // hypothetical tensors may be larger than any memory
  for (uint32_t i = 0; i < spec->input_count; i++)
    if (!eg_spec_is_weight(spec, i)) bytes += (double)eg_type_bytes(&spec->inputs[i]);
  for (uint32_t i = 0; i < spec->result_count; i++)
    bytes += (double)eg_type_bytes(&spec->results[i]);
  double sets = SETS_BYTES / bytes;
  return sets < 1 ? 1 : sets > MAX_SETS ? MAX_SETS : (uint32_t)sets;
}

static egraph_status place_sets(eg_rig *rig) {
  uint32_t count = choose_sets(rig->spec);
  EG_TRY(eg_arena_alloc(&rig->arena, count, sizeof *rig->sets, &rig->sets));
  rig->set_count = count;
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(place_set(rig, &rig->sets[i]));
  return new_block(rig, rig->program->info.scratch_bytes, &rig->scratch);
}

static egraph_status keep_original(eg_rig *rig) {
  if (rig->program->info.overlay < 0) return EGRAPH_OK;
  uint32_t index = (uint32_t)rig->program->info.overlay;
  size_t bytes = eg_type_bytes(&rig->spec->inputs[index]);
  EG_TRY(eg_alloc(rig->alloc, bytes, 1, &rig->original));
  rig->original_bytes = bytes;
  return eg_backend_download(rig->backend, rig->original, rig->sets[0].operands[index],
                             bytes);
}

// ---- copies of the weights ------------------------------------------------------

static bool is_kept(const eg_rig *rig, uint32_t operand) {
  return (rig->program->info.kept & eg_operand_bit(operand)) != 0;
}

static uint32_t choose_copies(const eg_rig *rig) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < rig->program->info.constant_count; i++)
    bytes += rig->program->info.constant_bytes[i];
  for (uint32_t i = 0; i < rig->spec->input_count; i++)
    if (is_kept(rig, i)) bytes += eg_type_bytes(&rig->spec->inputs[i]);
  if (bytes == 0) return rig->set_count;
  size_t copies = ROTATION_BYTES / bytes;
  return copies < 1 ? 1 : copies > MAX_COPIES ? MAX_COPIES : (uint32_t)copies;
}

static egraph_status place_copy(eg_rig *rig, eg_rig_copy *copy, bool is_first) {
  const eg_program_info *info = &rig->program->info;
  uint32_t count = rig->spec->input_count;
  EG_TRY(eg_arena_alloc(&rig->arena, count + 1u, sizeof(void *), &copy->operands));
  EG_TRY(eg_arena_alloc(&rig->arena, info->constant_count + 1u, sizeof(void *),
                        &copy->constants));
  for (uint32_t i = 0; i < count; i++) {
    copy->operands[i] = copy->set->operands[i];
    if (!is_first && is_kept(rig, i))
      EG_TRY(
          rotating_block(rig, eg_type_bytes(&rig->spec->inputs[i]), &copy->operands[i]));
  }
  for (uint32_t i = 0; i < info->constant_count; i++)
    EG_TRY(rotating_block(rig, info->constant_bytes[i], &copy->constants[i]));
  return EGRAPH_OK;
}

// Fills a copy from the first one; packing again would take longer.
static egraph_status repeat_copy(eg_rig *rig, const eg_rig_copy *copy) {
  const eg_program_info *info = &rig->program->info;
  for (uint32_t i = 0; i < rig->spec->input_count; i++)
    if (is_kept(rig, i)) EG_TRY(draw_operand(rig, i, copy->operands[i]));
  if (!rig->backend->vtable->host_memory)
    return rig->program->vtable->prepare(rig->program, copy->operands, copy->constants);
  for (uint32_t i = 0; i < info->constant_count; i++)
    memcpy(copy->constants[i], rig->copies[0].constants[i], info->constant_bytes[i]);
  return EGRAPH_OK;
}

static egraph_status add_copy(eg_rig *rig, uint32_t index) {
  eg_rig_copy *copy = &rig->copies[index];
  const eg_program_vtable *vtable = rig->program->vtable;
  copy->set = &rig->sets[index % rig->set_count];
  EG_TRY(place_copy(rig, copy, index == 0));
  if (index == 0)
    EG_TRY(vtable->prepare(rig->program, copy->operands, copy->constants));
  else
    EG_TRY(repeat_copy(rig, copy));
  eg_bindings bindings = {copy->operands, copy->set->results, copy->constants,
                          rig->scratch};
  return vtable->bind(rig->program, &bindings, &copy->launch);
}

// ---- the rig --------------------------------------------------------------------

egraph_status eg_rig_init(eg_rig *rig, eg_backend *backend, eg_device_memory *rotation,
                          const eg_node_spec *spec, eg_program *program) {
  *rig = (eg_rig){.alloc = backend->alloc,
                  .backend = backend,
                  .rotation = rotation,
                  .spec = spec,
                  .program = program};
  eg_arena_init(&rig->arena, rig->alloc);
  eg_rig_blocks_init(&rig->blocks, rig->alloc);
  EG_TRY(place_sets(rig));
  EG_TRY(keep_original(rig));
  uint32_t count = choose_copies(rig);
  EG_TRY(eg_arena_alloc(&rig->arena, count, sizeof *rig->copies, &rig->copies));
  rig->copy_count = count;
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(add_copy(rig, i));
  return EGRAPH_OK;
}

void eg_rig_deinit(eg_rig *rig) {
  for (uint32_t i = 0; i < rig->copy_count; i++)
    eg_launch_destroy(rig->copies[i].launch);
  for (size_t i = 0; i < rig->blocks.len; i++)
    eg_device_memory_destroy(rig->backend, &rig->blocks.data[i]);
  eg_rig_blocks_deinit(&rig->blocks);
  eg_free(rig->alloc, rig->original, rig->original_bytes, 1);
  eg_arena_deinit(&rig->arena);
}

egraph_status eg_rig_restore(eg_rig *rig) {
  if (rig->original == NULL) return EGRAPH_OK;
  const eg_rig_set *set = rig->copies[rig->turn].set;
  return eg_backend_upload(rig->backend, set->operands[rig->program->info.overlay],
                           rig->original, rig->original_bytes);
}

egraph_status eg_rig_run(eg_rig *rig) {
  eg_launch *launch = rig->copies[rig->turn].launch;
  rig->turn = (rig->turn + 1) % rig->copy_count;
  return launch->vtable->run(launch);
}
