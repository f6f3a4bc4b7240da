// Included before every file of kernels that is compiled for the emulator: the parts of
// CUDA's language that kernels use, in C++. Kernels have one dimension. Dynamic shared
// memory is `extern __shared__ unsigned char dynamic_shared[]`.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_DEVICE_CODE_H
#define EG_TESTS_DEVICE_CODE_H

#include <cstring>
#include <tuple>

#include "tests/gpu/emulator/emulator.h"

// A shared variable is one of the thread that runs all fibers of a block. So far from
// each other that what is beside one belongs to none.
#undef __shared__
#define __shared__ __attribute__((aligned(65536))) thread_local

#undef __launch_bounds__
#define __launch_bounds__(...)

inline __shared__ unsigned char dynamic_shared[EG_SHARED_BYTES];

struct eg_emulated_index {
  unsigned x;
};
#define threadIdx (eg_emulated_index{eg_emulator_thread()})
#define blockIdx (eg_emulated_index{eg_emulator_block()})
#define blockDim (eg_emulated_index{eg_emulator_threads()})
#define gridDim (eg_emulated_index{eg_emulator_blocks()})

#define EG_SITE_TEXT(line) #line
#define EG_SITE_LINE(line) EG_SITE_TEXT(line)
#define EG_SITE __FILE__ ":" EG_SITE_LINE(__LINE__)

#define __syncthreads() eg_emulator_barrier(EG_SITE)
#define __syncwarp(...) eg_sync_warp(EG_SITE, ##__VA_ARGS__)
#define __ballot_sync(mask, x) eg_emulator_ballot(EG_SITE, mask, (x) != 0)
#define __any_sync(mask, x) (__ballot_sync(mask, x) != 0)
#define __all_sync(mask, x) (__ballot_sync(mask, (x) == 0) == 0)
#define __shfl_sync(...) eg_shuffle<EG_SHUFFLE>(EG_SITE, __VA_ARGS__)
#define __shfl_up_sync(...) eg_shuffle<EG_SHUFFLE_UP>(EG_SITE, __VA_ARGS__)
#define __shfl_down_sync(...) eg_shuffle<EG_SHUFFLE_DOWN>(EG_SITE, __VA_ARGS__)
#define __shfl_xor_sync(...) eg_shuffle<EG_SHUFFLE_XOR>(EG_SITE, __VA_ARGS__)
#define __threadfence() ((void)0)
#define __threadfence_block() ((void)0)

static inline void eg_sync_warp(const char *site, unsigned mask = 0xffffffffu) {
  (void)eg_emulator_exchange(site, mask, 0, eg_emulator_thread() % EG_WARP, true);
}

enum eg_shuffle_kind { EG_SHUFFLE, EG_SHUFFLE_UP, EG_SHUFFLE_DOWN, EG_SHUFFLE_XOR };

/// The lane to read from, in a segment of `width` lanes; outside of it: the own one.
template <eg_shuffle_kind kind>
static inline unsigned eg_source(unsigned lane, unsigned by, unsigned width) {
  const unsigned first = lane / width * width, at = lane % width;
  switch (kind) {
  case EG_SHUFFLE: return first + by % width;
  case EG_SHUFFLE_UP: return at < by ? lane : lane - by;
  case EG_SHUFFLE_DOWN: return at + by >= width ? lane : lane + by;
  case EG_SHUFFLE_XOR: return (lane ^ by) >= first + width ? lane : lane ^ by;
  }
  return lane;
}

template <eg_shuffle_kind kind, typename T>
static inline T eg_shuffle(const char *site, unsigned mask, T value, unsigned by,
                           unsigned width = EG_WARP) {
  uint64_t bits = 0;
  static_assert(sizeof value <= sizeof bits, "shuffles are of at most 8 bytes");
  std::memcpy(&bits, &value, sizeof value);
  const unsigned lane = eg_emulator_thread() % EG_WARP;
  bits = eg_emulator_exchange(site, mask, bits, eg_source<kind>(lane, by, width), false);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// ---- atomic operations: fibers do not interrupt each other -------------------------

#define EG_UNCHECKED __attribute__((no_sanitize("thread"), noinline))

#define EG_ATOMIC(name, formula)                                                         \
  template <typename T> EG_UNCHECKED T name(T *at, T value) {                            \
    eg_emulator_atomic(at, sizeof *at);                                                  \
    const T old = *at;                                                                   \
    *at = (formula);                                                                     \
    return old;                                                                          \
  }
EG_ATOMIC(atomicAdd, old + value)
EG_ATOMIC(atomicSub, old - value)
EG_ATOMIC(atomicMax, old < value ? value : old)
EG_ATOMIC(atomicMin, value < old ? value : old)
EG_ATOMIC(atomicAnd, old &value)
EG_ATOMIC(atomicOr, old | value)
EG_ATOMIC(atomicXor, old ^ value)
EG_ATOMIC(atomicExch, value)
#undef EG_ATOMIC

template <typename T> EG_UNCHECKED T atomicCAS(T *at, T expected, T value) {
  eg_emulator_atomic(at, sizeof *at);
  const T old = *at;
  if (old == expected) *at = value;
  return old;
}

// ---- launches ---------------------------------------------------------------------

template <typename... Parameters> struct eg_closure {
  void (*kernel)(Parameters...);
  std::tuple<Parameters...> arguments;
};

/// Arguments are copied now; the kernel runs when the stream does.
template <typename... Parameters, typename... Arguments>
static inline cudaError_t eg_emulate(const char *name, unsigned blocks, unsigned threads,
                                     unsigned shared_bytes, cudaStream_t stream,
                                     void (*kernel)(Parameters...),
                                     const Arguments &...arguments) {
  using closure = eg_closure<Parameters...>;
  eg_launch_request request = {};
  request.name = name;
  request.blocks = blocks;
  request.threads = threads;
  request.shared_bytes = shared_bytes;
  request.closure = new closure{kernel, std::tuple<Parameters...>(arguments...)};
  request.closure_bytes = sizeof(closure);
  request.run = [](const void *data) {
    const closure *own = static_cast<const closure *>(data);
    std::apply(own->kernel, own->arguments);
  };
  request.release = [](void *data) { delete static_cast<closure *>(data); };
  return eg_emulator_launch(&request, stream);
}

#define EG_LAUNCH(kernel, blocks, threads, stream, ...)                                  \
  eg_emulate(#kernel, static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0,  \
             stream, kernel, __VA_ARGS__)

#endif
