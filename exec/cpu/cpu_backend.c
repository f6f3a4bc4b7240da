// The CPU back-end: programs and launches of stages (cpu_builder.h) that the operator's
// family lists; also sets up threads, signals and floating-point flags while stages run.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L // pthread_sigmask
#include "exec/backend.h"

#include <assert.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>

#include "base/owner.h"
#include "base/parallel.h"
#include "exec/cpu/chain.h"
#include "exec/cpu/families.h"
#include "exec/cpu/kernel_threads.h"

typedef struct cpu_program {
  eg_program base;
  egraph_allocator alloc;
  eg_arena arena;
  eg_descs descs;
  dnnl_engine_t engine; // engine of the back-end, which outlives its programs
  dnnl_stream_t stream;
  eg_stage_list prepare, run, again;
  eg_sizes constant_bytes;
  uint32_t threads; // threads for which kernels are generated
} cpu_program;

// A stage of a launch (a primitive or function), with the addresses of its memory.
typedef struct bound_stage {
  const eg_stage *stage;
  void **addresses;
  dnnl_exec_arg_t *args;
  eg_launch *reference;
} bound_stage;

typedef struct cpu_launch {
  eg_launch base;
  egraph_allocator alloc;
  eg_arena arena;
  dnnl_stream_t stream;
  bound_stage *stages; // stages of `run`, then of `again`
  uint32_t count, run_count;
  uint32_t threads;
} cpu_launch;

// ---- binding --------------------------------------------------------------------

static void *address_of_place(eg_place place, const eg_bindings *bindings) {
  char *base = NULL;
  switch (place.kind) {
  case EG_PLACE_OPERAND: base = bindings->operands[place.index]; break;
  case EG_PLACE_RESULT:
    assert(bindings->results != NULL); // prepare has no results
    base = bindings->results[place.index];
    break;
  case EG_PLACE_CONSTANT: base = bindings->constants[place.index]; break;
  case EG_PLACE_SCRATCH: base = bindings->scratch; break;
  }
  return base == NULL ? NULL : base + place.offset;
}

static egraph_status bind_stage(cpu_launch *launch, dnnl_engine_t engine,
                                const eg_stage *stage, const eg_bindings *bindings,
                                bound_stage *out) {
  out->stage = stage;
  if (stage->count == 0) return EGRAPH_OK;
  if (stage->reference != NULL) {
    eg_bindings own = *bindings;
    own.scratch = address_of_place(stage->operands[0].place, bindings);
    return stage->reference->vtable->bind(stage->reference, &own, &out->reference);
  }
  EG_TRY(eg_arena_alloc(&launch->arena, stage->count, sizeof *out->addresses,
                        &out->addresses));
  if (stage->primitive != NULL)
    EG_TRY(eg_arena_alloc(&launch->arena, stage->count, sizeof *out->args, &out->args));
  for (uint32_t i = 0; i < stage->count; i++) {
    const eg_stage_arg *operand = &stage->operands[i];
    out->addresses[i] = address_of_place(operand->place, bindings);
    if (stage->primitive == NULL) continue;
    EG_TRY(eg_dnnl_check(dnnl_memory_create(&out->args[i].memory, operand->desc, engine,
                                            out->addresses[i]),
                         "memory"));
    out->args[i].arg = operand->name;
  }
  return EGRAPH_OK;
}

static void launch_destroy(eg_launch *base) {
  cpu_launch *launch = (cpu_launch *)base;
  for (uint32_t s = 0; s < launch->count; s++) {
    const bound_stage *bound = &launch->stages[s];
    eg_launch_destroy(bound->reference);
    if (bound->args == NULL) continue;
    for (uint32_t i = 0; i < bound->stage->count; i++)
      if (bound->args[i].memory != NULL) dnnl_memory_destroy(bound->args[i].memory);
  }
  eg_arena_deinit(&launch->arena);
  eg_free(launch->alloc, launch, 1, sizeof *launch);
}

static egraph_status run_stage(const bound_stage *bound, dnnl_stream_t stream) {
  const eg_stage *stage = bound->stage;
  if (bound->reference != NULL) return bound->reference->vtable->run(bound->reference);
  if (stage->primitive == NULL) return stage->function(stage->payload, bound->addresses);
  dnnl_status_t status =
      dnnl_primitive_execute(stage->primitive, stream, (int)stage->count, bound->args);
  return status == dnnl_success ? EGRAPH_OK
                                : eg_dnnl_check(status, "primitive execution");
}

static egraph_status run_stages(const cpu_launch *launch, uint32_t from, uint32_t to) {
  assert(from <= to && to <= launch->count);
  for (uint32_t s = from; s < to; s++)
    EG_TRY(run_stage(&launch->stages[s], launch->stream));
  return EGRAPH_OK;
}

static egraph_status launch_run(eg_launch *base) {
  const cpu_launch *launch = (const cpu_launch *)base;
  bool may_lose_nan = launch->run_count != launch->count;
  if (may_lose_nan) eg_invalid_flag_clear(launch->threads);
  EG_TRY(run_stages(launch, 0, launch->run_count));
  if (!may_lose_nan || !eg_invalid_flag_is_up(launch->threads)) return EGRAPH_OK;
  return run_stages(launch, launch->run_count, launch->count);
}

static const eg_launch_vtable launch_vtable = {.destroy = launch_destroy,
                                               .run = launch_run};

static egraph_status bind_list(cpu_launch *launch, dnnl_engine_t engine,
                               const eg_stage_list *list, const eg_bindings *bindings) {
  for (const eg_stage *stage = list->first; stage != NULL; stage = stage->next)
    EG_TRY(bind_stage(launch, engine, stage, bindings, &launch->stages[launch->count++]));
  return EGRAPH_OK;
}

static egraph_status bind_lists(const cpu_program *program, const eg_stage_list *run,
                                const eg_stage_list *again, const eg_bindings *bindings,
                                eg_launch **out) {
  assert(run->count != 0 || again->count == 0);
  cpu_launch *launch;
  EG_TRY(eg_alloc(program->alloc, 1, sizeof *launch, &launch));
  launch->base.vtable = &launch_vtable;
  launch->alloc = program->alloc;
  launch->stream = program->stream;
  launch->threads = program->threads;
  launch->run_count = run->count;
  eg_arena_init(&launch->arena, program->alloc);
  egraph_status status = EGRAPH_OK;
  if (run->count + again->count != 0)
    EG_TRY_GOTO(status,
                eg_arena_alloc(&launch->arena, run->count + again->count,
                               sizeof *launch->stages, &launch->stages),
                failed);
  EG_TRY_GOTO(status, bind_list(launch, program->engine, run, bindings), failed);
  EG_TRY_GOTO(status, bind_list(launch, program->engine, again, bindings), failed);
  *out = &launch->base;
  return EGRAPH_OK;
failed:
  launch_destroy(&launch->base);
  return status;
}

static egraph_status program_bind(const eg_program *base, const eg_bindings *bindings,
                                  eg_launch **out) {
  const cpu_program *program = (const cpu_program *)base;
  return bind_lists(program, &program->run, &program->again, bindings, out);
}

// ---- program --------------------------------------------------------------------

static egraph_status program_prepare(const eg_program *base, void *const *operands,
                                     void *const *constants) {
  const cpu_program *program = (const cpu_program *)base;
  if (program->prepare.count == 0) return EGRAPH_OK;
  char *scratch = NULL;
  size_t scratch_bytes = program->base.info.scratch_bytes;
  if (scratch_bytes != 0) EG_TRY(eg_alloc(program->alloc, scratch_bytes, 1, &scratch));
  eg_bindings bindings = {
      .operands = operands, .constants = constants, .scratch = scratch};
  eg_launch *launch = NULL;
  const eg_stage_list none = {0};
  egraph_status status =
      bind_lists(program, &program->prepare, &none, &bindings, &launch);
  if (status == EGRAPH_OK) status = launch_run(launch);
  eg_launch_destroy(launch);
  eg_free(program->alloc, scratch, scratch_bytes, 1);
  return status;
}

static void destroy_stages(const eg_stage_list *list) {
  for (const eg_stage *stage = list->first; stage != NULL; stage = stage->next) {
    if (stage->primitive != NULL) dnnl_primitive_destroy(stage->primitive);
    eg_program_destroy(stage->reference);
  }
}

static void program_destroy(eg_program *base) {
  cpu_program *program = (cpu_program *)base;
  destroy_stages(&program->prepare);
  destroy_stages(&program->run);
  destroy_stages(&program->again);
  eg_sizes_deinit(&program->constant_bytes);
  eg_descs_deinit(&program->descs);
  eg_arena_deinit(&program->arena);
  eg_free(program->alloc, program, 1, sizeof *program);
}

static const eg_program_vtable program_vtable = {
    .destroy = program_destroy, .prepare = program_prepare, .bind = program_bind};

static bool is_empty(const eg_type *types, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (eg_type_elements(&types[i]) == 0) return true;
  return false;
}

static egraph_status compile_chain(eg_cpu_builder *builder,
                                   const eg_compile_request *request) {
  eg_node_spec spec;
  EG_TRY(eg_cpu_chain_spec(builder->arena, request, &spec));
  builder->spec = &spec;
  egraph_status status = eg_cpu_chain(builder, request);
  builder->spec = request->spec;
  return status;
}

#define FAMILY_ROW(id, family) [EG_OP_##id] = eg_cpu_##family,
static egraph_status (*const families[EG_OP_COUNT])(eg_cpu_builder *builder) = {
    EG_CPU_FAMILY_LIST(FAMILY_ROW)};

static egraph_status compile_node(eg_cpu_builder *builder) {
  const eg_node_spec *spec = builder->spec;
  const eg_op_info *info = eg_op_info_of((eg_op)spec->attrs->op);
  bool is_unary = (info->flags & EG_OPF_POINTWISE) != 0 && info->max_inputs == 1;
  egraph_status (*family)(eg_cpu_builder *) = families[spec->attrs->op];
  if (family == NULL && is_unary) family = eg_cpu_eltwise;
  if (family == NULL || is_empty(spec->inputs, spec->input_count) ||
      is_empty(spec->results, spec->result_count))
    return eg_cpu_refuse(builder, "no kernel on this back-end");
  if (!eg_op_allows_formats(spec->attrs, spec->inputs, spec->input_count, spec->results,
                            spec->result_count))
    return eg_cpu_refuse(builder, "no kernel in these memory formats");
  return family(builder);
}

static void take_builder(cpu_program *program, const eg_cpu_builder *builder) {
  program->prepare = builder->prepare;
  program->run = builder->run;
  program->again = builder->again;
  program->constant_bytes = builder->constant_bytes;
  program->base.info = (eg_program_info){
      .kernel = builder->kernel != NULL ? builder->kernel : "native",
      .native = true,
      .overlay = builder->overlay,
      .kept = builder->kept,
      .constant_bytes = builder->constant_bytes.data,
      .constant_count = (uint32_t)builder->constant_bytes.len,
      .scratch_bytes = builder->scratch_bytes > builder->other_scratch_bytes
                           ? builder->scratch_bytes
                           : builder->other_scratch_bytes};
}

/// Compiles a request by the function for its operator. Fails with EGRAPH_E_UNSUPPORTED
/// when this has no kernel.
static egraph_status create_program(egraph_allocator alloc, dnnl_engine_t engine,
                                    dnnl_stream_t stream,
                                    const eg_compile_request *request, eg_program **out) {
  cpu_program *program;
  EG_TRY(eg_alloc(alloc, 1, sizeof *program, &program));
  program->base.vtable = &program_vtable;
  program->alloc = alloc;
  program->engine = engine;
  program->stream = stream;
  program->threads = eg_omp_threads();
  eg_arena_init(&program->arena, alloc);
  program->descs.arena = &program->arena;
  eg_arena temporary;
  eg_arena_init(&temporary, alloc);
  eg_cpu_builder builder = {.spec = request->spec,
                            .dying = request->dying,
                            .engine = engine,
                            .alloc = alloc,
                            .arena = &program->arena,
                            .descs.arena = &temporary,
                            .stage_descs = &program->descs,
                            .overlay = -1};
  eg_sizes_init(&builder.constant_bytes, alloc);
  egraph_status status = eg_cpu_attr_create(&builder.plain);
  if (status == EGRAPH_OK) {
    status = request->link_count != 0 ? compile_chain(&builder, request)
                                      : compile_node(&builder);
    dnnl_primitive_attr_destroy(builder.plain);
  }
  eg_descs_deinit(&builder.descs);
  eg_arena_deinit(&temporary);
  take_builder(program, &builder);
  EG_HAND_OVER_OR_DESTROY(status, &program->base, program_destroy, out);
}

// ---- back-end -----------------------------------------------------------------------

// Settings of the calling thread (team, signals, floating-point environment) before
// kernels were generated or run on it.
typedef struct kernel_scope {
  eg_team *team;      // team for parallel regions; NULL: the OpenMP runtime's threads
  uint32_t threads;   // number of the OpenMP runtime's threads; 0: unknown
  sigset_t signals;   // signals that were blocked
  fenv_t environment; // meanwhile flags are cleared (kernel_threads.h) and traps are off
} kernel_scope;

typedef struct cpu_backend {
  eg_backend base;
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  eg_team *team;      // NULL: kernels use the OpenMP runtime's threads
  kernel_scope scope; // valid between begin and end
} cpu_backend;

static void cpu_destroy(eg_backend *base) {
  cpu_backend *backend = (cpu_backend *)base;
  if (backend->stream != NULL) dnnl_stream_destroy(backend->stream);
  if (backend->engine != NULL) dnnl_engine_destroy(backend->engine);
  eg_team_destroy(backend->team);
  eg_free(base->alloc, backend, 1, sizeof *backend);
}

static egraph_status open_engine(cpu_backend *backend) {
  EG_TRY(eg_dnnl_check(dnnl_engine_create(&backend->engine, dnnl_cpu, 0), "engine"));
  return eg_dnnl_check(
      dnnl_stream_create(&backend->stream, backend->engine, dnnl_stream_default_flags),
      "stream");
}

static egraph_status cpu_create(egraph_allocator alloc, const eg_backend_options *options,
                                eg_backend **out) {
  cpu_backend *backend;
  EG_TRY(eg_alloc(alloc, 1, sizeof *backend, &backend));
  backend->base = (eg_backend){.vtable = &eg_cpu_backend,
                               .alloc = alloc,
                               .threads = options->threads != 0 ? options->threads
                                                                : eg_host_processors()};
  egraph_status status = open_engine(backend);
  if (status == EGRAPH_OK && eg_omp_takes_teams())
    status = eg_team_create(alloc, backend->base.threads, &backend->team);
  EG_HAND_OVER_OR_DESTROY(status, &backend->base, cpu_destroy, out);
}

/// Raise this number when a change of egraph's kernels changes the costs of nodes. The
/// number is part of the machine's name in the profile database, so that costs of older
/// kernels are measured anew.
enum { KERNELS_REVISION = 9 };

static egraph_status cpu_describe(const eg_backend *base, eg_text *out) {
  const cpu_backend *backend = (const cpu_backend *)base;
  const dnnl_version_t *version = dnnl_version();
  uint32_t threads = base->threads;
  const char *runtime = threads != 1 && backend->team == NULL ? " of OpenMP" : "";
  EG_TRY(eg_host_describe(out));
  return eg_text_printf(
      out, "; oneDNN %d.%d.%d isa %d, NaN kept, kernels %d; %u thread%s%s",
      version->major, version->minor, version->patch, (int)dnnl_get_effective_cpu_isa(),
      KERNELS_REVISION, threads, threads == 1 ? "" : "s", runtime);
}

// Returns the memory formats that are worth considering. Measured (exec/cpu/MEASURED.md):
// on convolutions nhwc and the block of the vector width are equally fast, the other
// block is slower everywhere, row-major is half as fast.
static uint32_t cpu_formats(const eg_backend *backend) {
  (void)backend;
  bool wide = ((unsigned)dnnl_get_effective_cpu_isa() &
               (unsigned)dnnl_cpu_isa_avx512_core) == (unsigned)dnnl_cpu_isa_avx512_core;
  return 1u << EG_FORMAT_PLAIN | 1u << EG_FORMAT_NHWC |
         1u << (wide ? EG_FORMAT_NCHW16C : EG_FORMAT_NCHW8C);
}

// ---- threads and signals --------------------------------------------------------

static void block_signals(void *set) { (void)pthread_sigmask(SIG_BLOCK, set, NULL); }

// Runs regions of kernels on the back-end's team, or on as many of the OpenMP runtime's
// threads.
static void lend_threads(const cpu_backend *backend, const sigset_t *held,
                         kernel_scope *former) {
  uint32_t threads = backend->base.threads;
  eg_omp_runtime runtime;
  former->threads = 0;
  former->team = eg_omp_lend(backend->team);
  if (backend->team != NULL || !eg_omp_find(&runtime)) return;
  former->threads = (uint32_t)runtime.max_threads();
  runtime.set_threads((int)threads);
  if (threads > 1) runtime.parallel(block_signals, (void *)held, threads, 0);
}

// Blocks signals, too: oneDNN's gemm kernels point the stack pointer into the heap (its
// issue 4845; every 2.x), and the frame of a signal handler would overwrite data there.
// Signals stay blocked until the series of runs is over, also for workers, which run the
// same kernels: a team's workers get no signals, new threads of the OpenMP runtime
// inherit the mask, and threads of earlier parallel regions are asked to block signals.
// These threads keep the mask; other threads serve signals.
static void enter_kernels(const cpu_backend *backend, kernel_scope *former) {
  sigset_t held;
  eg_signals_asynchronous(&held);
  (void)pthread_sigmask(SIG_BLOCK, &held, &former->signals);
  (void)feholdexcept(&former->environment);
  lend_threads(backend, &held, former);
}

static void leave_kernels(const kernel_scope *former) {
  eg_omp_runtime runtime;
  (void)eg_omp_lend(former->team);
  if (former->threads != 0 && eg_omp_find(&runtime))
    runtime.set_threads((int)former->threads);
  (void)fesetenv(&former->environment);
  (void)pthread_sigmask(SIG_SETMASK, &former->signals, NULL);
}

static egraph_status cpu_begin(eg_backend *base) {
  cpu_backend *backend = (cpu_backend *)base;
  enter_kernels(backend, &backend->scope);
  return EGRAPH_OK;
}

static egraph_status cpu_end(eg_backend *base) {
  cpu_backend *backend = (cpu_backend *)base;
  egraph_status status = eg_dnnl_check(dnnl_stream_wait(backend->stream), "stream");
  leave_kernels(&backend->scope);
  return status;
}

// Compiles a request. Kernels are generated for a thread count, so it must be set.
static egraph_status cpu_compile(eg_backend *base, const eg_compile_request *request,
                                 eg_program **out) {
  cpu_backend *backend = (cpu_backend *)base;
  kernel_scope scope;
  enter_kernels(backend, &scope);
  egraph_status status =
      create_program(base->alloc, backend->engine, backend->stream, request, out);
  leave_kernels(&scope);
  if (status != EGRAPH_E_UNSUPPORTED || request->link_count != 0) return status;
  return eg_reference_compile(base->alloc, request->spec, out);
}

static bool cpu_fuses(const eg_backend *backend, const eg_compile_request *request) {
  (void)backend;
  return eg_cpu_chain_fits(request);
}

const eg_backend_vtable eg_cpu_backend = {
    .name = "cpu",
    .host_memory = true,
    .create = cpu_create,
    .destroy = cpu_destroy,
    .describe = cpu_describe,
    .formats = cpu_formats,
    .memory_create = eg_host_memory_create,
    .memory_destroy = eg_host_memory_destroy,
    .compile = cpu_compile,
    .fuses = cpu_fuses,
    .begin = cpu_begin,
    .end = cpu_end,
};
