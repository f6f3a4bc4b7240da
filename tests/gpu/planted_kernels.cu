// Kernels with a fault each, and the same without: what the emulator has to tell apart.
// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/planted_kernels.h"

enum { THREADS = PLANTED_ELEMENTS };

__global__ static void barrier_kernel(bool has_fault, int *out) {
  __shared__ int shared[THREADS];
  shared[threadIdx.x] = 0;
  __syncthreads();
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (!has_fault) __syncthreads();
  out[threadIdx.x] = shared[(threadIdx.x + 1) % THREADS];
}

__global__ static void warp_kernel(bool has_fault, int *out) {
  __shared__ int shared[THREADS];
  const unsigned warp = threadIdx.x / 32 * 32, lane = threadIdx.x % 32;
  shared[threadIdx.x] = 0;
  __syncthreads();
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (!has_fault) __syncwarp();
  out[threadIdx.x] = shared[warp + (lane + 1) % 32];
}

__global__ static void mask_kernel(bool has_fault, int *out) {
  const unsigned lane = threadIdx.x % 32, half = 0xffffu;
  int value = static_cast<int>(lane);
  if (lane < 16)
    value = __shfl_xor_sync(has_fault ? 0xffffffffu : half, value, 1);
  out[threadIdx.x] = value;
}

__global__ static void source_kernel(bool has_fault, int *out) {
  const unsigned lane = threadIdx.x % 32;
  int value = static_cast<int>(lane);
  if (lane < 16) value = __shfl_sync(0xffffu, value, has_fault ? 16 : 15);
  out[threadIdx.x] = value;
}

__global__ static void shared_bounds_kernel(bool has_fault, int *out) {
  __shared__ int shared[THREADS];
  shared[threadIdx.x + (has_fault ? 1 : 0)] = static_cast<int>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = shared[has_fault ? 1 : 0];
}

__global__ static void dynamic_bounds_kernel(bool has_fault, int *out) {
  extern __shared__ unsigned char dynamic_shared[];
  int *shared = reinterpret_cast<int *>(dynamic_shared);
  shared[threadIdx.x + (has_fault ? 1 : 0)] = static_cast<int>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = shared[THREADS - 1];
}

__global__ static void global_bounds_kernel(bool has_fault, int *out) {
  out[threadIdx.x + (has_fault ? 1 : 0)] = 1;
}

__global__ static void divergent_kernel(bool has_fault, int *out) {
  if (!has_fault || threadIdx.x < THREADS / 2) __syncthreads();
  out[threadIdx.x] = 1;
}

__global__ static void global_race_kernel(bool has_fault, int *out) {
  if (has_fault)
    out[0] = out[0] + 1;
  else
    atomicAdd(&out[0], 1);
}

__global__ static void block_race_kernel(bool has_fault, int *out) {
  if (threadIdx.x == 0) out[has_fault ? 0 : blockIdx.x] = static_cast<int>(blockIdx.x);
}

__global__ static void unwritten_kernel(bool has_fault, int *out) {
  __shared__ int shared[THREADS];
  if (!has_fault || threadIdx.x != 0) shared[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = shared[threadIdx.x];
}

__global__ static void alignment_kernel(bool has_fault, int *out) {
  char *bytes = reinterpret_cast<char *>(out) + (has_fault ? 2 : 4);
  if (threadIdx.x == 0) *reinterpret_cast<int *>(bytes) = 1;
}

__global__ static void vote_kernel(bool has_fault, int *out) {
  const unsigned lane = threadIdx.x % 32, all = 0xffffffffu;
  const unsigned odd = __ballot_sync(all, lane % 2);
  if (has_fault && lane == 3) return;
  out[threadIdx.x] = odd == 0xaaaaaaaau && __any_sync(all, lane == 7) &&
                     !__all_sync(all, lane == 7) &&
                     __shfl_down_sync(all, lane, 1, 8) ==
                         (lane % 8 == 7 ? lane : lane + 1);
}

const planted planted_kernels[] = {
    {"barrier", EG_RACE_SHARED, 1, barrier_kernel},
    {"warp", EG_RACE_SHARED, 1, warp_kernel},
    {"mask", EG_MASK, 1, mask_kernel},
    {"source", EG_MASK, 1, source_kernel},
    {"shared bounds", EG_BOUNDS_SHARED, 1, shared_bounds_kernel},
    {"dynamic bounds", EG_BOUNDS_SHARED, 1, dynamic_bounds_kernel},
    {"global bounds", EG_BOUNDS_GLOBAL, 1, global_bounds_kernel},
    {"divergent", EG_DIVERGENT, 1, divergent_kernel},
    {"global race", EG_RACE_GLOBAL, 1, global_race_kernel},
    {"race of blocks", EG_RACE_GLOBAL, 2, block_race_kernel},
    {"unwritten", EG_UNWRITTEN, 1, unwritten_kernel},
    {"alignment", EG_MISALIGNED, 1, alignment_kernel},
    {"vote", EG_MASK, 1, vote_kernel},
};
const size_t planted_count = sizeof planted_kernels / sizeof *planted_kernels;

cudaError_t planted_launch(const planted *p, bool has_fault, int *out,
                           cudaStream_t stream) {
  return eg_emulate(p->name, p->blocks, THREADS, THREADS * sizeof(int), stream,
                    p->kernel, has_fault, out);
}
