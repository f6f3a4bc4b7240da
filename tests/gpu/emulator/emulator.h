// An emulator of CUDA devices in host memory: the stand-in for the runtime (runtime.c)
// and for cuBLASLt (products.c) put work on streams, blocks of threads run kernels as
// they are written (block.c, device_code.h), and every load and store of a kernel is
// checked (access.c). One mutex stands for the device: work of one stream runs at a time.
//
// Three variables of the environment, read at every launch, change how kernels run:
//   EG_EMULATED_THREADS  most threads of a block (the kernel asks for at least as many)
//   EG_EMULATED_BLOCKS   most blocks of a grid
//   EG_EMULATED_SEED     of the order of threads between barriers
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_EMULATOR_H
#define EG_TESTS_EMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { EG_WARP = 32, EG_MOST_THREADS = 1024, EG_SHARED_BYTES = 48 << 10 };

/// Findings, by name, in the text of cudaGetErrorString after the wait that met one.
#define EG_RACE_SHARED "race on shared memory"
#define EG_RACE_GLOBAL "race on global memory"
#define EG_BOUNDS_SHARED "access out of bounds of shared memory"
#define EG_BOUNDS_GLOBAL "access out of bounds of device memory"
#define EG_UNWRITTEN "read of shared memory that no thread has written"
#define EG_MISALIGNED "misaligned access"
#define EG_DIVERGENT "divergent barrier"
#define EG_MASK "mask of threads that do not take part"

// ---- launches (block.c) -----------------------------------------------------------

/// A kernel and its arguments; `run` is one thread.
typedef struct eg_launch_request {
  const char *name;
  uint32_t blocks, threads, shared_bytes; // shared_bytes: of `dynamic_shared`
  bool keeps_threads;                     // its text depends on the size of a block
  void (*run)(const void *closure);
  void (*release)(void *closure);
  void *closure;
  size_t closure_bytes; // kernels may read it
} eg_launch_request;

/// Puts the launch on the stream, which takes the closure over, also when this fails.
cudaError_t eg_emulator_launch(const eg_launch_request *request, cudaStream_t stream);
/// Runs all blocks in the calling thread, which has the mutex of the device; false: a
/// finding, which eg_emulator_finding tells.
bool eg_emulator_run(const eg_launch_request *request);
/// The text of the last finding of this thread.
const char *eg_emulator_finding(void);

// ---- what kernels call (device_code.h) --------------------------------------------

/// Of the thread that runs: its number, its block's, and how many there are.
uint32_t eg_emulator_thread(void) __attribute__((const));
uint32_t eg_emulator_block(void) __attribute__((const));
uint32_t eg_emulator_threads(void) __attribute__((const));
uint32_t eg_emulator_blocks(void) __attribute__((const));
/// Waits for all threads of the block at `site`.
void eg_emulator_barrier(const char *site);
/// Waits for the lanes of `mask` at `site`; the result is what lane `source` gave as
/// `value`. With `orders`, memory is ordered among them, too.
uint64_t eg_emulator_exchange(const char *site, uint32_t mask, uint64_t value,
                              uint32_t source, bool orders);
/// Waits likewise; a bit for each lane that gave true.
uint32_t eg_emulator_ballot(const char *site, uint32_t mask, bool is_true);
/// Before an atomic operation.
void eg_emulator_atomic(void *address, size_t bytes);

// ---- streams (runtime.c) ----------------------------------------------------------

/// Work on a stream. It may run several times, as part of graphs.
typedef struct eg_work {
  cudaError_t (*run)(const struct eg_work *work); // the device's mutex is held
  void (*release)(struct eg_work *work);          // frees it
  uint32_t holders;                               // streams and graphs
} eg_work;

/// Takes the work over, also when this fails.
cudaError_t eg_emulator_put(cudaStream_t stream, eg_work *work);

// ---- memory (access.c), with the device's mutex held -------------------------------

void eg_emulator_add_memory(void *start, size_t bytes);
void eg_emulator_remove_memory(void *start);
/// Whether the bytes lie in one piece of device memory.
bool eg_emulator_has_memory(const void *start, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
