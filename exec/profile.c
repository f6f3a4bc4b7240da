// A node is compiled exactly as in the executor, where all data operands die. It runs
// until there are enough repeats and enough time has passed; the median time counts.
//
// Each run uses another copy of the weights; there are enough copies that a copy leaves
// the caches before it is used again, as in a network that reads other weights in
// between. Data operands and results rotate over a few sets, which leave the second-level
// cache but not the third, as in a network that runs other nodes after writing a value.
// Without rotation the predicted sum over ResNet-50 is 8 % too low, with rotated weights
// 3 %, with both 2 %.
//
// A device replays a whole series of launches, so there a node is measured within a
// series: a batch of several runs is replayed, with enough copies of the weights to leave
// the device's own cache.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "exec/profile.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/owner.h"
#include "base/quantile.h"
#include "exec/backend.h"
#include "exec/regions.h"
#include "pcg/graph/node_spec.h"
#include "pcg/graph/weights.h"

EG_VEC_DEFINE(rig_blocks, eg_device_memory);

/// Data operands and results of one measured run; all sets use the first set's weights.
typedef struct rig_set {
  void **operands, **results;
} rig_set;

/// A copy of the weights with a set of data, and the launch bound to their addresses.
typedef struct rig_copy {
  void **operands, **constants;
  const rig_set *set;
  eg_launch *launch;
} rig_copy;

typedef struct node_rig {
  egraph_allocator alloc;
  eg_backend *backend;
  const eg_node_spec *spec;
  eg_program *program;
  eg_arena arena;
  rig_blocks blocks;          // allocated for this node
  eg_device_memory *rotation; // borrowed memory for the copies, reused from node to node
  size_t rotation_used;
  size_t rotation_bytes;
  uint32_t most_copies;
  rig_set *sets;
  uint32_t set_count;
  void *scratch;
  rig_copy *copies;
  uint32_t copy_count, turn;
  void *original; // in host memory: initial content of the overlaid operand
  size_t original_bytes;
} node_rig;

// ---- a node set up for measurement ----------------------------------------------------

enum { ROTATION_BYTES = 48 << 20, MAX_COPIES = 16, SMALL_BYTES = 64 << 10 };
enum { DEVICE_MAX_COPIES = 64 };
enum { SETS_BYTES = 16 << 20, MAX_SETS = 8 };
enum { DRAWN_ELEMENTS = 1 << 16 };

static egraph_status new_block(node_rig *rig, size_t bytes, void **out) {
  EG_TRY(rig_blocks_reserve(&rig->blocks, rig->blocks.len + 1));
  eg_device_memory *block = &rig->blocks.data[rig->blocks.len];
  EG_TRY(rig->backend->vtable->memory_create(rig->backend, bytes, block));
  rig->blocks.len++;
  *out = block->address;
  return EGRAPH_OK;
}

// Allocates memory for copies of weights and data from a borrowed block while it lasts,
// so that measured nodes need not touch fresh pages.
static egraph_status rotating_block(node_rig *rig, size_t bytes, void **out) {
  assert(rig->rotation_used <= rig->rotation_bytes);
  if (bytes < SMALL_BYTES || bytes > rig->rotation_bytes - rig->rotation_used)
    return new_block(rig, bytes, out);
  if (rig->rotation->owner == NULL)
    EG_TRY(rig->backend->vtable->memory_create(rig->backend, rig->rotation_bytes,
                                               rig->rotation));
  *out = (char *)rig->rotation->address + rig->rotation_used;
  rig->rotation_used += eg_device_aligned(bytes);
  if (rig->rotation_used > rig->rotation_bytes) rig->rotation_used = rig->rotation_bytes;
  return EGRAPH_OK;
}

// ---- operands -------------------------------------------------------------------

static void set_elements(const eg_tensor *tensor, double value) {
  int64_t elements = eg_type_elements(&tensor->type);
  for (int64_t i = 0; i < elements; i++)
    eg_tensor_set_double(tensor, i, value);
}

/// True for operands that are indices: their elements are 0, a valid index of every
/// tensor with elements.
static bool is_index(eg_role role) {
  return role == EG_ROLE_INDICES || role == EG_ROLE_PLACES;
}

// Draws values for the first elements and repeats them over the rest: the time of kernels
// does not depend on values, and drawing takes longer than running.
static void draw_plain(const node_rig *rig, uint32_t index, const eg_tensor *tensor) {
  int64_t elements = eg_type_elements(&tensor->type);
  int64_t drawn = elements < DRAWN_ELEMENTS ? elements : DRAWN_ELEMENTS;
  eg_tensor head = *tensor;
  if (elements > DRAWN_ELEMENTS) head.type = eg_type_of(tensor->type.dtype, 1, &drawn);
  eg_role role = eg_op_role((eg_op)rig->spec->attrs->op, index);
  if (role == EG_ROLE_EXPONENT) // 2, the most frequent exponent; other exponents cost
                                // more than a product
    set_elements(&head, 2);
  else if (is_index(role))
    set_elements(&head, 0);
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

// Draws operand `index` on the device, in the format of its type.
static egraph_status draw_operand(node_rig *rig, uint32_t index, void *address) {
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

static egraph_status place_set(node_rig *rig, rig_set *set) {
  assert(rig->set_count != 0);
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
  double bytes = 1; // double, as hypothetical tensors may exceed any memory
  for (uint32_t i = 0; i < spec->input_count; i++)
    if (!eg_spec_is_weight(spec, i)) bytes += (double)eg_type_bytes(&spec->inputs[i]);
  for (uint32_t i = 0; i < spec->result_count; i++)
    bytes += (double)eg_type_bytes(&spec->results[i]);
  double sets = SETS_BYTES / bytes;
  return sets < 1 ? 1 : sets > MAX_SETS ? MAX_SETS : (uint32_t)sets;
}

static egraph_status place_sets(node_rig *rig) {
  uint32_t count = choose_sets(rig->spec);
  EG_TRY(eg_arena_alloc(&rig->arena, count, sizeof *rig->sets, &rig->sets));
  rig->set_count = count;
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(place_set(rig, &rig->sets[i]));
  return new_block(rig, rig->program->info.scratch_bytes, &rig->scratch);
}

static egraph_status keep_original(node_rig *rig) {
  if (rig->program->info.overlay < 0) return EGRAPH_OK;
  uint32_t index = (uint32_t)rig->program->info.overlay;
  size_t bytes = eg_type_bytes(&rig->spec->inputs[index]);
  EG_TRY(eg_alloc(rig->alloc, bytes, 1, &rig->original));
  rig->original_bytes = bytes;
  return eg_backend_download(rig->backend, rig->original, rig->sets[0].operands[index],
                             bytes);
}

// ---- copies of the weights ------------------------------------------------------

static bool reads_as_is(const node_rig *rig, uint32_t operand) {
  return (rig->program->info.kept & eg_operand_bit(operand)) != 0;
}

static uint32_t choose_copies(const node_rig *rig) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < rig->program->info.constant_count; i++)
    bytes += rig->program->info.constant_bytes[i];
  for (uint32_t i = 0; i < rig->spec->input_count; i++)
    if (reads_as_is(rig, i)) bytes += eg_type_bytes(&rig->spec->inputs[i]);
  if (bytes == 0) return rig->set_count;
  size_t copies = rig->rotation_bytes / bytes;
  return copies < 1 ? 1 : copies > rig->most_copies ? rig->most_copies : (uint32_t)copies;
}

static egraph_status place_copy(node_rig *rig, rig_copy *copy, bool is_first) {
  const eg_program_info *info = &rig->program->info;
  uint32_t count = rig->spec->input_count;
  EG_TRY(eg_arena_alloc(&rig->arena, count + 1u, sizeof(void *), &copy->operands));
  EG_TRY(eg_arena_alloc(&rig->arena, info->constant_count + 1u, sizeof(void *),
                        &copy->constants));
  for (uint32_t i = 0; i < count; i++) {
    copy->operands[i] = copy->set->operands[i];
    if (!is_first && reads_as_is(rig, i))
      EG_TRY(
          rotating_block(rig, eg_type_bytes(&rig->spec->inputs[i]), &copy->operands[i]));
  }
  for (uint32_t i = 0; i < info->constant_count; i++)
    EG_TRY(rotating_block(rig, info->constant_bytes[i], &copy->constants[i]));
  return EGRAPH_OK;
}

// Fills a copy of packed weights from the first, as packing again takes longer.
static egraph_status repeat_copy(node_rig *rig, const rig_copy *copy) {
  const eg_program_info *info = &rig->program->info;
  for (uint32_t i = 0; i < rig->spec->input_count; i++)
    if (reads_as_is(rig, i)) EG_TRY(draw_operand(rig, i, copy->operands[i]));
  if (!rig->backend->vtable->host_memory)
    return eg_program_prepare(rig->program, copy->operands, copy->constants);
  for (uint32_t i = 0; i < info->constant_count; i++)
    memcpy(copy->constants[i], rig->copies[0].constants[i], info->constant_bytes[i]);
  return EGRAPH_OK;
}

static egraph_status add_copy(node_rig *rig, uint32_t index) {
  rig_copy *copy = &rig->copies[index];
  const eg_program_vtable *vtable = rig->program->vtable;
  copy->set = &rig->sets[index % rig->set_count];
  EG_TRY(place_copy(rig, copy, index == 0));
  if (index == 0)
    EG_TRY(eg_program_prepare(rig->program, copy->operands, copy->constants));
  else
    EG_TRY(repeat_copy(rig, copy));
  eg_bindings bindings = {copy->operands, copy->set->results, copy->constants,
                          rig->scratch};
  return vtable->bind(rig->program, &bindings, &copy->launch);
}

// ---- the rig --------------------------------------------------------------------

// Sets up the measurement of a node; program and rotating memory are borrowed. *rotation
// may be empty: it is allocated when first needed, and the caller destroys it. Call
// deinit in any case.
static egraph_status init_rig(node_rig *rig, eg_backend *backend,
                              eg_device_memory *rotation, const eg_node_spec *spec,
                              eg_program *program) {
  *rig = (node_rig){.alloc = backend->alloc,
                    .backend = backend,
                    .rotation = rotation,
                    .spec = spec,
                    .program = program,
                    .rotation_bytes = ROTATION_BYTES,
                    .most_copies = MAX_COPIES};
  if (backend->cache_bytes != 0) {
    rig->rotation_bytes = 2 * backend->cache_bytes;
    rig->most_copies = DEVICE_MAX_COPIES;
  }
  eg_arena_init(&rig->arena, rig->alloc);
  rig_blocks_init(&rig->blocks, rig->alloc);
  EG_TRY(place_sets(rig));
  EG_TRY(keep_original(rig));
  uint32_t count = choose_copies(rig);
  EG_TRY(eg_arena_alloc(&rig->arena, count, sizeof *rig->copies, &rig->copies));
  rig->copy_count = count;
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(add_copy(rig, i));
  return EGRAPH_OK;
}

static void deinit_rig(node_rig *rig) {
  for (uint32_t i = 0; i < rig->copy_count; i++)
    eg_launch_destroy(rig->copies[i].launch);
  for (size_t i = 0; i < rig->blocks.len; i++)
    eg_device_memory_destroy(rig->backend, &rig->blocks.data[i]);
  rig_blocks_deinit(&rig->blocks);
  eg_free(rig->alloc, rig->original, rig->original_bytes, 1);
  eg_arena_deinit(&rig->arena);
}

// Restores an operand that the last run has overwritten: without this, repeated runs in
// place would let values grow without bound.
static egraph_status restore_operand(node_rig *rig) {
  if (rig->original == NULL) return EGRAPH_OK;
  const rig_set *set = rig->copies[rig->turn].set;
  return eg_backend_upload(rig->backend, set->operands[rig->program->info.overlay],
                           rig->original, rig->original_bytes);
}

// ---- the profiler ---------------------------------------------------------------------

// Runs shorter than these seconds are timed in batches, so that the time for reading the
// clock is negligible; on a device, so that submitting and waiting are.
static const double batch_seconds = 20e-6, device_batch_seconds = 2e-3;
enum { MOST_BATCH = 2000 };

struct eg_profiler {
  egraph_allocator alloc;
  eg_backend *backend;
  eg_profiler_options options;
  eg_device_memory rotation; // lent to one rig after another
};

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
  if (status == EGRAPH_OK) profiler->options.backend = profiler->backend->vtable->name;
  EG_HAND_OVER_OR_DESTROY(status, profiler, eg_profiler_destroy, out);
}

void eg_profiler_destroy(eg_profiler *profiler) {
  if (profiler == NULL) return;
  if (profiler->backend != NULL)
    eg_device_memory_destroy(profiler->backend, &profiler->rotation);
  eg_backend_destroy(profiler->backend);
  eg_free(profiler->alloc, profiler, 1, sizeof *profiler);
}

egraph_status eg_profiler_machine(const eg_profiler *profiler, eg_text *out) {
  return profiler->backend->vtable->describe(profiler->backend, out);
}

uint32_t eg_profiler_formats(const eg_profiler *profiler) {
  return profiler->backend->vtable->formats(profiler->backend);
}

bool eg_profiler_is_device(const eg_profiler *profiler, size_t *out_bytes) {
  *out_bytes = profiler->backend->total_bytes;
  return !profiler->backend->vtable->host_memory;
}

// ---- measuring ------------------------------------------------------------------

// With one thread, the smaller of wall clock and thread clock counts: time taken by other
// processes does not belong to the node.
typedef struct stopwatch {
  double wall, cpu;
} stopwatch;

static double read_watch(const eg_backend *backend, stopwatch start) {
  double cpu = eg_clock_cpu_seconds() - start.cpu;
  double wall = eg_clock_seconds() - start.wall;
  bool is_single = backend->threads == 1 && backend->vtable->host_memory;
  return is_single ? fmin(wall, cpu) : wall;
}

static bool is_device(const node_rig *rig) { return !rig->backend->vtable->host_memory; }

// Runs and times a batch of launches. On a device, equal batches are one series.
static egraph_status run_batch(node_rig *rig, uint32_t batch, double *out_seconds) {
  assert(batch != 0 && rig->turn < rig->copy_count);
  eg_backend *backend = rig->backend;
  EG_TRY(restore_operand(rig));
  if (is_device(rig)) rig->turn = 0;
  stopwatch start = {.wall = eg_clock_seconds(), .cpu = eg_clock_cpu_seconds()};
  for (uint32_t i = 0; i < batch; i++) { // each run uses the next copy of the weights
    eg_launch *launch = rig->copies[rig->turn].launch;
    rig->turn = (rig->turn + 1) % rig->copy_count;
    EG_TRY(launch->vtable->run(launch));
  }
  if (backend->vtable->wait != NULL) EG_TRY(backend->vtable->wait(backend));
  *out_seconds = read_watch(backend, start) / batch;
  return EGRAPH_OK;
}

static uint32_t batch_for(const node_rig *rig, double seconds) {
  if (rig->original != NULL || seconds >= batch_seconds) return 1;
  double batch = batch_seconds / fmax(seconds, 1e-7);
  return batch < 2 ? 1 : (uint32_t)batch;
}

// Chooses the number of launches in a batch on a device, where the time of kernels does
// not depend on values, so an operand that each run overwrites may grow without bound.
static uint32_t device_batch_for(const node_rig *rig, double seconds) {
  double turns = ceil(device_batch_seconds / fmax(seconds, 1e-7) / rig->copy_count);
  double most = fmax(1, MOST_BATCH / rig->copy_count);
  return (uint32_t)(fmax(1, fmin(turns, most)) * rig->copy_count);
}

/// Runs the node before samples are measured; returns the seconds of the last run. On a
/// device the first run loads kernels, however long that takes; then a run of every copy
/// gives the time of one run; then a batch is submitted, and captured as a graph.
static egraph_status warm_up(node_rig *rig, const eg_profiler_options *options,
                             uint32_t *out_batch, double *inout_total,
                             double *out_seconds) {
  const uint32_t runs = is_device(rig) ? 4 : options->warmup;
  for (uint32_t i = 0; i < runs && *inout_total <= options->max_seconds; i++) {
    EG_TRY(run_batch(rig, is_device(rig) ? *out_batch : 1, out_seconds));
    if (!is_device(rig) || i != 0) *inout_total += *out_seconds * *out_batch;
    if (!is_device(rig))
      *out_batch = batch_for(rig, *out_seconds);
    else if (i < 2)
      *out_batch = i == 0 ? rig->copy_count : device_batch_for(rig, *out_seconds);
  }
  return EGRAPH_OK;
}

// Measures samples of the node's seconds; adds at least one to `samples`.
static egraph_status sample(node_rig *rig, const eg_profiler_options *options,
                            eg_doubles *samples) {
  double total = 0, seconds = 0, spent = 0;
  uint32_t batch = 1;
  EG_TRY(warm_up(rig, options, &batch, &total, &seconds));
  if (total > options->max_seconds) return eg_doubles_push(samples, seconds);
  do {
    EG_TRY(run_batch(rig, batch, &seconds));
    EG_TRY(eg_doubles_push(samples, seconds));
    spent += seconds * batch;
    if (total + spent > options->max_seconds) break;
  } while (samples->len < options->repeats || spent < options->min_seconds);
  return EGRAPH_OK;
}

/// Returns the running tasks of other programs on this machine, per core; 0 where the
/// system does not report them.
static double load_of_others(const eg_profiler *profiler) {
  FILE *file = fopen("/proc/loadavg", "r");
  unsigned running = 0;
  if (file == NULL) return 0;
  int found = fscanf(file, "%*s %*s %*s %u", &running);
  (void)fclose(file);
  double others = found == 1 ? (double)running - profiler->options.threads : 0;
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return others > 0 && cores > 0 ? others / (double)cores : 0;
}

static egraph_status measure_rig(const eg_profiler *profiler, node_rig *rig,
                                 double *out_seconds, eg_evidence *out_evidence) {
  assert(rig->copy_count != 0);
  EG_LOCAL(eg_doubles, samples, profiler->alloc);
  double load = load_of_others(profiler);
  EG_TRY(sample(rig, &profiler->options, &samples));
  load = (load + load_of_others(profiler)) / 2;
  double *data = samples.data;
  size_t count = samples.len;
  *out_seconds = eg_median(data, count);
  *out_evidence = (eg_evidence){
      .samples = (uint32_t)count,
      .spread = (eg_quantile(data, count, 0.75) - eg_quantile(data, count, 0.25)) / 2,
      .load = load,
      .date = (int64_t)time(NULL)};
  return EGRAPH_OK;
}

static egraph_status measure_on_rig(eg_profiler *profiler, const eg_node_spec *spec,
                                    eg_program *program, double *out_seconds,
                                    eg_evidence *out_evidence) {
  node_rig rig;
  egraph_status status =
      init_rig(&rig, profiler->backend, &profiler->rotation, spec, program);
  if (status == EGRAPH_OK)
    status = measure_rig(profiler, &rig, out_seconds, out_evidence);
  deinit_rig(&rig);
  return status;
}

static bool has_plain_formats(const eg_node_spec *spec) {
  for (uint32_t i = 0; i < spec->input_count; i++)
    if (spec->inputs[i].layout.format != EG_FORMAT_PLAIN) return false;
  for (uint32_t i = 0; i < spec->result_count; i++)
    if (spec->results[i].layout.format != EG_FORMAT_PLAIN) return false;
  return true;
}

static egraph_status measure_program(eg_profiler *profiler, const eg_node_spec *spec,
                                     eg_program *program, double *out_seconds,
                                     bool *out_supported, eg_evidence *out_evidence) {
  // A format is supported only where the device has a kernel for it.
  if (!program->info.native && !has_plain_formats(spec)) {
    *out_supported = false;
    return EGRAPH_OK;
  }
  double seconds = 0;
  EG_TRY(eg_backend_begin(profiler->backend));
  egraph_status status = measure_on_rig(profiler, spec, program, &seconds, out_evidence);
  egraph_status end = eg_backend_end(profiler->backend);
  EG_TRY(status);
  EG_TRY(end);
  *out_seconds = seconds;
  *out_supported = true;
  return EGRAPH_OK;
}

egraph_status eg_profiler_measure(void *self, const eg_node_spec *spec,
                                  double *out_seconds, bool *out_supported,
                                  eg_evidence *out_evidence) {
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
  status =
      measure_program(profiler, spec, program, out_seconds, out_supported, out_evidence);
  eg_program_destroy(program);
  return status;
}
