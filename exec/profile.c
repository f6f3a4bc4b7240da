// Outline: the node is compiled exactly as a session does, with operands that die there.
// Weights rotate over enough copies to leave the caches between two runs, as in a network
// whose other weights come in between; data operands stay where they are, as if the node
// before had just written them. The median of the runs counts.
// SPDX-License-Identifier: Apache-2.0
#include "exec/profile.h"

#include <math.h>
#include <stdlib.h>

#include "exec/backend.h"
#include "exec/views.h"
#include "pcg/spec_copy.h"
#include "pcg/weights.h"

enum { ROTATION_BYTES = 48 << 20, MAX_COPIES = 16 };
// Runs shorter than this are timed in batches, so that reading the clock does not count.
static const double batch_seconds = 20e-6;

struct eg_profiler {
  egraph_allocator alloc;
  eg_backend *backend;
  eg_profiler_options options;
};

EG_VEC_DEFINE(memory_blocks, eg_device_memory);

// One copy of the weights: addresses and the launch bound to them.
typedef struct rig_copy {
  void **operands, **constants;
  eg_launch *launch;
} rig_copy;

// A node set up for measurement.
typedef struct rig {
  eg_profiler *profiler;
  const eg_node_spec *spec;
  eg_program *program;
  eg_arena arena;
  memory_blocks blocks; // everything allocated on the device
  void **operands, **results;
  void *scratch;
  rig_copy *copies;
  uint32_t copy_count, turn;
  void *original; // host: what the overlaid operand held
  size_t original_bytes;
} rig;

egraph_status eg_profiler_create(const egraph_allocator *alloc,
                                 const eg_profiler_options *options, eg_profiler **out) {
  egraph_allocator own = eg_allocator_or_heap(alloc);
  eg_profiler *profiler;
  EG_TRY(eg_alloc(own, 1, sizeof *profiler, &profiler));
  profiler->alloc = own;
  profiler->options = *options;
  egraph_status status = eg_backend_create(
      &own, options->backend, &(eg_backend_options){.threads = options->threads},
      &profiler->backend);
  if (status != EGRAPH_OK) {
    eg_profiler_destroy(profiler);
    return status;
  }
  profiler->options.backend = profiler->backend->vtable->name;
  *out = profiler;
  return EGRAPH_OK;
}

void eg_profiler_destroy(eg_profiler *profiler) {
  if (profiler == NULL) return;
  eg_backend_destroy(profiler->backend);
  eg_free(profiler->alloc, profiler, 1, sizeof *profiler);
}

egraph_status eg_profiler_machine(const eg_profiler *profiler, eg_text *out) {
  return profiler->backend->vtable->describe(profiler->backend, out);
}

uint32_t eg_profiler_formats(const eg_profiler *profiler) {
  return profiler->backend->vtable->formats(profiler->backend);
}

// ---- setting up
// ----------------------------------------------------------------------------------

static egraph_status new_block(rig *r, size_t bytes, void **out) {
  eg_backend *backend = r->profiler->backend;
  EG_TRY(memory_blocks_reserve(&r->blocks, r->blocks.len + 1));
  eg_device_memory *block = &r->blocks.data[r->blocks.len];
  EG_TRY(backend->vtable->memory_create(backend, bytes, block));
  r->blocks.len++;
  *out = block->address;
  return EGRAPH_OK;
}

// Draws a tensor and writes it to the device in the format of its type.
static egraph_status draw_operand(rig *r, uint32_t index, void *address) {
  egraph_allocator alloc = r->profiler->alloc;
  const eg_type *type = &r->spec->inputs[index];
  size_t bytes = eg_type_bytes(type);
  eg_tensor plain = {.type = eg_type_plain(type)}, stored = {.type = *type};
  size_t plain_bytes = eg_type_bytes(&plain.type);
  bool is_stored_plain = type->layout.format == EG_FORMAT_PLAIN;
  egraph_status status = EGRAPH_OK;
  EG_TRY_GOTO(status, eg_alloc(alloc, plain_bytes, 1, &plain.data), done);
  EG_TRY_GOTO(status, eg_alloc(alloc, bytes, 1, &stored.data), done);
  if (eg_spec_is_weight(r->spec, index))
    eg_weight_draw("weight", index, &plain);
  else
    eg_input_draw("operand", index, &plain);
  if (type->layout.format == EG_FORMAT_PLAIN)
    memcpy(stored.data, plain.data, bytes);
  else if (!is_stored_plain)
    EG_TRY_GOTO(status, eg_tensor_reorder(&plain, &stored), done);
  status = eg_backend_upload(r->profiler->backend, address,
                             is_stored_plain ? plain.data : stored.data, bytes);
done:
  eg_free(alloc, stored.data, bytes, 1);
  eg_free(alloc, plain.data, plain_bytes, 1);
  return status;
}

static egraph_status place_operands(rig *r) {
  const eg_node_spec *spec = r->spec;
  EG_TRY(eg_arena_alloc(&r->arena, spec->input_count + 1u, sizeof(void *), &r->operands));
  EG_TRY(eg_arena_alloc(&r->arena, spec->result_count + 1u, sizeof(void *), &r->results));
  for (uint32_t i = 0; i < spec->input_count; i++) {
    EG_TRY(new_block(r, eg_type_bytes(&spec->inputs[i]), &r->operands[i]));
    EG_TRY(draw_operand(r, i, r->operands[i]));
  }
  for (uint32_t i = 0; i < spec->result_count; i++) {
    if (i == 0 && r->program->info.overlay >= 0)
      r->results[0] = r->operands[r->program->info.overlay];
    else
      EG_TRY(new_block(r, eg_type_bytes(&spec->results[i]), &r->results[i]));
  }
  return new_block(r, r->program->info.scratch_bytes, &r->scratch);
}

// The overlaid operand is restored before each run: repeated in place, values would run
// away.
static egraph_status keep_original(rig *r) {
  if (r->program->info.overlay < 0) return EGRAPH_OK;
  uint32_t index = (uint32_t)r->program->info.overlay;
  size_t bytes = eg_type_bytes(&r->spec->inputs[index]);
  EG_TRY(eg_alloc(r->profiler->alloc, bytes, 1, &r->original));
  r->original_bytes = bytes;
  return eg_backend_download(r->profiler->backend, r->original, r->operands[index],
                             bytes);
}

static bool is_kept(const rig *r, uint32_t operand) {
  return (r->program->info.kept & eg_operand_bit(operand)) != 0;
}

static uint32_t choose_copies(const rig *r) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < r->program->info.constant_count; i++)
    bytes += r->program->info.constant_bytes[i];
  for (uint32_t i = 0; i < r->spec->input_count; i++)
    if (is_kept(r, i)) bytes += eg_type_bytes(&r->spec->inputs[i]);
  if (bytes == 0) return 1;
  size_t copies = ROTATION_BYTES / bytes;
  return copies < 1 ? 1 : copies > MAX_COPIES ? MAX_COPIES : (uint32_t)copies;
}

static egraph_status place_copy(rig *r, rig_copy *copy, bool first) {
  const eg_program_info *info = &r->program->info;
  uint32_t count = r->spec->input_count;
  EG_TRY(eg_arena_alloc(&r->arena, count + 1u, sizeof(void *), &copy->operands));
  EG_TRY(eg_arena_alloc(&r->arena, info->constant_count + 1u, sizeof(void *),
                        &copy->constants));
  for (uint32_t i = 0; i < count; i++) {
    copy->operands[i] = r->operands[i];
    if (first || !is_kept(r, i)) continue;
    EG_TRY(new_block(r, eg_type_bytes(&r->spec->inputs[i]), &copy->operands[i]));
    EG_TRY(draw_operand(r, i, copy->operands[i]));
  }
  for (uint32_t i = 0; i < info->constant_count; i++)
    EG_TRY(new_block(r, info->constant_bytes[i], &copy->constants[i]));
  EG_TRY(r->program->vtable->prepare(r->program, copy->operands, copy->constants));
  eg_bindings bindings = {copy->operands, r->results, copy->constants, r->scratch};
  return r->program->vtable->bind(r->program, &bindings, &copy->launch);
}

static egraph_status rig_init(rig *r, eg_profiler *profiler, const eg_node_spec *spec,
                              eg_program *program) {
  *r = (rig){.profiler = profiler, .spec = spec, .program = program};
  eg_arena_init(&r->arena, profiler->alloc);
  memory_blocks_init(&r->blocks, profiler->alloc);
  EG_TRY(place_operands(r));
  EG_TRY(keep_original(r));
  uint32_t count = choose_copies(r);
  EG_TRY(eg_arena_alloc(&r->arena, count, sizeof *r->copies, &r->copies));
  r->copy_count = count;
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(place_copy(r, &r->copies[i], i == 0));
  return EGRAPH_OK;
}

static void rig_deinit(rig *r) {
  for (uint32_t i = 0; i < r->copy_count; i++)
    eg_launch_destroy(r->copies[i].launch);
  for (size_t i = 0; i < r->blocks.len; i++)
    eg_device_memory_destroy(r->profiler->backend, &r->blocks.data[i]);
  memory_blocks_deinit(&r->blocks);
  eg_free(r->profiler->alloc, r->original, r->original_bytes, 1);
  eg_arena_deinit(&r->arena);
}

// ---- measuring
// -----------------------------------------------------------------------------------

// With one thread, time taken away by other processes is not the node's: the smaller of
// both clocks counts.
typedef struct stopwatch {
  double wall, cpu;
} stopwatch;

static stopwatch start_watch(void) {
  return (stopwatch){.wall = eg_clock_seconds(), .cpu = eg_clock_cpu_seconds()};
}

static double read_watch(const rig *r, stopwatch start) {
  double cpu = eg_clock_cpu_seconds() - start.cpu;
  double wall = eg_clock_seconds() - start.wall;
  bool single =
      r->profiler->backend->threads == 1 && r->profiler->backend->vtable->host_memory;
  return single ? fmin(wall, cpu) : wall;
}

static egraph_status run_batch(rig *r, uint32_t batch, double *out_seconds) {
  eg_backend *backend = r->profiler->backend;
  if (r->original != NULL)
    EG_TRY(eg_backend_upload(backend, r->operands[r->program->info.overlay], r->original,
                             r->original_bytes));
  stopwatch start = start_watch();
  for (uint32_t i = 0; i < batch; i++) {
    eg_launch *launch = r->copies[r->turn].launch;
    r->turn = (r->turn + 1) % r->copy_count;
    EG_TRY(launch->vtable->run(launch));
  }
  if (backend->vtable->wait != NULL) EG_TRY(backend->vtable->wait(backend));
  *out_seconds = read_watch(r, start) / batch;
  return EGRAPH_OK;
}

static int compare_doubles(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

static double median(eg_doubles *samples) {
  qsort(samples->data, samples->len, sizeof(double), compare_doubles);
  return samples->data[samples->len / 2];
}

static uint32_t batch_for(const rig *r, double seconds) {
  if (r->original != NULL || seconds >= batch_seconds) return 1;
  double batch = batch_seconds / fmax(seconds, 1e-7);
  return batch < 2 ? 1 : (uint32_t)batch;
}

// Runs until both the repeats and the time are enough. `samples` never stays empty.
static egraph_status sample(rig *r, eg_doubles *samples) {
  const eg_profiler_options *options = &r->profiler->options;
  double total = 0, seconds = 0;
  uint32_t batch = 1;
  for (uint32_t i = 0; i < options->warmup; i++) {
    EG_TRY(run_batch(r, 1, &seconds));
    total += seconds;
    if (total > options->max_seconds) return eg_doubles_push(samples, seconds);
    batch = batch_for(r, seconds);
  }
  double spent = 0;
  while (samples->len < options->repeats || spent < options->min_seconds) {
    EG_TRY(run_batch(r, batch, &seconds));
    EG_TRY(eg_doubles_push(samples, seconds));
    spent += seconds * batch;
    if (total + spent > options->max_seconds) break;
  }
  return EGRAPH_OK;
}

static egraph_status measure_rig(rig *r, double *out_seconds) {
  eg_doubles samples;
  eg_doubles_init(&samples, r->profiler->alloc);
  egraph_status status = eg_backend_begin(r->profiler->backend);
  if (status == EGRAPH_OK) {
    status = sample(r, &samples);
    egraph_status end = eg_backend_end(r->profiler->backend);
    if (status == EGRAPH_OK) status = end;
  }
  if (status == EGRAPH_OK) *out_seconds = median(&samples);
  eg_doubles_deinit(&samples);
  return status;
}

static bool is_plain(const eg_node_spec *spec) {
  for (uint32_t i = 0; i < spec->input_count; i++)
    if (spec->inputs[i].layout.format != EG_FORMAT_PLAIN) return false;
  for (uint32_t i = 0; i < spec->result_count; i++)
    if (spec->results[i].layout.format != EG_FORMAT_PLAIN) return false;
  return true;
}

static egraph_status measure_program(eg_profiler *profiler, const eg_node_spec *spec,
                                     eg_program *program, double *out_seconds,
                                     bool *out_supported) {
  // A format is only worth naming where the device has a kernel for it.
  if (!program->info.native && !is_plain(spec)) {
    *out_supported = false;
    return EGRAPH_OK;
  }
  rig r;
  egraph_status status = rig_init(&r, profiler, spec, program);
  double seconds = 0;
  if (status == EGRAPH_OK) status = measure_rig(&r, &seconds);
  rig_deinit(&r);
  if (status != EGRAPH_OK) return status;
  *out_seconds = seconds;
  *out_supported = true;
  return EGRAPH_OK;
}

egraph_status eg_profiler_measure(void *self, const eg_node_spec *spec,
                                  double *out_seconds, bool *out_supported) {
  eg_profiler *profiler = self;
  if (eg_node_is_view(spec) || eg_concat_is_region(spec)) {
    *out_seconds = 0;
    *out_supported = true;
    return EGRAPH_OK;
  }
  eg_program *program = NULL;
  eg_compile_request request = {.spec = spec, .dying = ~spec->weight_mask};
  egraph_status status =
      profiler->backend->vtable->compile(profiler->backend, &request, &program);
  if (status == EGRAPH_E_UNSUPPORTED) {
    *out_supported = false;
    return EGRAPH_OK;
  }
  EG_TRY(status);
  status = measure_program(profiler, spec, program, out_seconds, out_supported);
  eg_program_destroy(program);
  return status;
}
