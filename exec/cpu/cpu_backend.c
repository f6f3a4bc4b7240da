// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L // pthread_sigmask
#include "exec/cpu/cpu_backend.h"

#include <fenv.h>
#include <pthread.h>
#include <signal.h>

#include "base/signals.h"
#include "exec/cpu/chain.h"
#include "exec/cpu/cpu_program.h"
#include "exec/cpu/omp_runtime.h"
#include "exec/host_memory.h"
#include "exec/reference_backend.h"

// What the calling thread was like before kernels were generated or run on it.
typedef struct kernel_scope {
  eg_team *team;    // of parallel regions; NULL: the runtime's threads
  uint32_t threads; // of the runtime; 0: unknown
  sigset_t signals; // blocked
  fexcept_t flags;  // of floating-point operations: ours to clear (invalid_flag.h)
} kernel_scope;

typedef struct cpu_backend {
  eg_backend base;
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  eg_team *team;      // NULL: the runtime's threads
  kernel_scope scope; // between begin and end
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
  if (status != EGRAPH_OK) {
    cpu_destroy(&backend->base);
    return status;
  }
  *out = &backend->base;
  return EGRAPH_OK;
}

/// Raised when our kernels change what nodes cost. The revision is part of the machine's
/// name in the profile database, so that costs of older kernels are measured anew.
enum { KERNELS_REVISION = 8 };

static egraph_status cpu_describe(const eg_backend *backend, eg_text *out) {
  const dnnl_version_t *version = dnnl_version();
  EG_TRY(eg_host_describe(out));
  return eg_text_printf(
      out, "; oneDNN %d.%d.%d isa %d, NaN kept, kernels %d; %u thread%s", version->major,
      version->minor, version->patch, (int)dnnl_get_effective_cpu_isa(), KERNELS_REVISION,
      backend->threads, backend->threads == 1 ? "" : "s");
}

// Measured (exec/cpu/README.md): nhwc and the block of the vector width tie for first
// place on convolutions, the other block is behind both everywhere, row-major is half as
// fast.
static uint32_t cpu_formats(const eg_backend *backend) {
  (void)backend;
  bool wide = ((unsigned)dnnl_get_effective_cpu_isa() &
               (unsigned)dnnl_cpu_isa_avx512_core) == (unsigned)dnnl_cpu_isa_avx512_core;
  return 1u << EG_FORMAT_PLAIN | 1u << EG_FORMAT_NHWC |
         1u << (wide ? EG_FORMAT_NCHW16C : EG_FORMAT_NCHW8C);
}

// ---- threads and signals --------------------------------------------------------

static void block_signals(void *set) { (void)pthread_sigmask(SIG_BLOCK, set, NULL); }

// Regions of kernels run on the back-end's team, or on as many of the runtime's threads.
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

// Besides threads, signals: oneDNN's gemm kernels point the stack pointer into the heap
// (its issue 4845; every 2.x), and the frame of a signal handler would overwrite what is
// there. They are held back until the series of runs is over. Workers run the same
// kernels: those of a team get none, the runtime's new ones inherit the mask, those that
// earlier parallel regions left behind are told. There it stays; other threads serve
// signals.
static void enter_kernels(const cpu_backend *backend, kernel_scope *former) {
  sigset_t held;
  eg_signals_asynchronous(&held);
  (void)pthread_sigmask(SIG_BLOCK, &held, &former->signals);
  (void)fegetexceptflag(&former->flags, FE_ALL_EXCEPT);
  lend_threads(backend, &held, former);
}

static void leave_kernels(const kernel_scope *former) {
  eg_omp_runtime runtime;
  (void)eg_omp_lend(former->team);
  if (former->threads != 0 && eg_omp_find(&runtime))
    runtime.set_threads((int)former->threads);
  (void)fesetexceptflag(&former->flags, FE_ALL_EXCEPT);
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

// Kernels are generated for a thread count, so it is set while compiling too.
static egraph_status cpu_compile(eg_backend *base, const eg_compile_request *request,
                                 eg_program **out) {
  cpu_backend *backend = (cpu_backend *)base;
  kernel_scope scope;
  enter_kernels(backend, &scope);
  egraph_status status =
      eg_cpu_program_create(base->alloc, backend->engine, backend->stream, request, out);
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
