// Tiles of attention and of its gradient, in shared memory and registers.
//
// The threads of a block are a grid of `down` x `across`. A thread computes QUAD x QUAD
// products of a tile, and QUAD x (QUAD * QUADS) sums; so a tile has QUAD * down rows and
// QUAD * across columns. More columns of a result than a block computes at once are the
// work of other blocks, which make the scores again. Products are plain multiplications
// and additions in float32 (float64: in float64), without tensor cores.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_ATTENTION_TILES_CUH
#define EG_EXEC_ATTENTION_TILES_CUH

#include "exec/cuda/kernel_common.cuh"

enum {
  QUAD = EG_ATTENTION_FLAG_ROWS,
  WARP = 32,
  MOST_ACROSS = 16,
  MOST_DOWN = EG_BLOCK / MOST_ACROSS
};

/// Blocks that have room for their registers and shared memory on a multiprocessor.
template <typename T> constexpr int blocks_at_once = sizeof(T) == 4 ? 2 : 1;

/// Neighbouring elements, which one instruction loads.
template <typename T> struct alignas(QUAD * sizeof(T)) quad { T at[QUAD]; };

/// The shared memory of a block, within 48 KiB. Rows have a quad more than they use, so
/// that threads which store a column use different banks.
template <typename T, int QUADS> struct attention_tiles {
  static constexpr int STEP = sizeof(T) == 4 ? 16 : 8;
  quad<T> left[STEP][MOST_DOWN + 1];            // a step of the first factor, transposed
  quad<T> right[STEP][QUADS * MOST_ACROSS + 1]; // a step of the second factor
  quad<T> factors[QUAD * MOST_ACROSS][MOST_DOWN + 1]; // a tile of weights, transposed
};

template <typename T> __device__ static inline T lesser(T a, T b) {
  return a < b ? a : b;
}
template <typename T> __device__ static inline T greater(T a, T b) {
  return a > b ? a : b;
}
__host__ __device__ static inline int64_t quotient_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/// The place of a thread in its block.
struct thread_place {
  int across, down, x, y;
  __device__ thread_place() {
    const int threads = static_cast<int>(blockDim.x);
    across = lesser<int>(threads, MOST_ACROSS);
    down = threads / across;
    x = static_cast<int>(threadIdx.x) % across;
    y = static_cast<int>(threadIdx.x) / across;
  }
};

// ---- elements ---------------------------------------------------------------------

template <typename T> __device__ static inline T widen(float x) { return T(x); }
template <typename T> __device__ static inline T widen(double x) { return T(x); }
template <typename T> __device__ static inline T widen(__half x) {
  return T(__half2float(x));
}
template <typename T> __device__ static inline T widen(__nv_bfloat16 x) {
  return T(__bfloat162float(x));
}
__device__ static inline void put(float *to, float x) { *to = x; }
__device__ static inline void put(double *to, double x) { *to = x; }
__device__ static inline void put(__half *to, float x) { *to = half_of(x); }
__device__ static inline void put(__nv_bfloat16 *to, float x) { *to = brain_of(x); }

__device__ static inline float exp_of(float x) { return expf(x); }
__device__ static inline double exp_of(double x) { return exp(x); }
__device__ static inline float log_of(float x) { return logf(x); }
__device__ static inline double log_of(double x) { return log(x); }
__device__ static inline float tanh_of(float x) { return tanhf(x); }
__device__ static inline double tanh_of(double x) { return tanh(x); }

/// Combines the values of the threads with the same y; all of them get the result.
template <typename T, typename Combine>
__device__ static inline T fold_across(const thread_place &at, T value, Combine combine) {
  for (int by = at.across / 2; by != 0; by /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, by));
  return value;
}

/// Rows of a matrix in global memory: `count` of them, `step` elements apart.
template <typename E> struct rows_of {
  const E *first;
  int64_t step, count;
};

__device__ static inline int64_t place_in(const eg_head_steps &steps, int64_t batch,
                                          int64_t head, int64_t row) {
  return batch * steps.batch + head * steps.head + row * steps.row;
}

/// Returns the rows from `row` on of a head, at most `most` of the `count` that it has.
template <typename E>
__device__ static inline rows_of<E> rows_at(const E *x, const eg_head_steps &steps,
                                            int64_t batch, int64_t head, int64_t row,
                                            int64_t count, int64_t most) {
  return {x + place_in(steps, batch, head, row), steps.row, lesser(count - row, most)};
}

// ---- pairs of a query and a key ---------------------------------------------------

struct key_span {
  int64_t from, to;
};

/// Finds the keys that a query sees, apart from a mask, as eg_attention_sees does.
__device__ static inline key_span seen_by(const eg_device_attention &work, int64_t row) {
  const int64_t at = work.offset + row;
  int64_t from = 0, to = work.keys;
  if (work.window > 0) from = greater(from, at - work.window + 1);
  if (work.is_causal) to = lesser(to, at + 1);
  if (work.window > 0) to = lesser(to, at + work.window);
  to = greater<int64_t>(to, 0);
  return {lesser(from, to), to};
}

/// True when one of `rows` queries from `row` on may see one of `keys` keys from `key`
/// on.
__device__ static inline bool may_see(const eg_device_attention &work, int64_t row,
                                      int64_t rows, int64_t key, int64_t keys) {
  const int64_t last = lesser(row + rows, work.rows) - 1;
  return seen_by(work, row).from < key + keys && seen_by(work, last).to > key;
}

/// Returns the place of a head's first element of the mask.
__device__ static inline int64_t place_of_mask(const eg_device_attention &work,
                                               int64_t number) {
  int64_t place[2];
  locate<2>(work.mask, number, place);
  return place[1];
}

/// A query before a tile of keys: those that it sees, counted from the tile's first key,
/// and the place of the mask's element for the first key.
struct sight {
  int from, to;
  int64_t mask;
};

__device__ static inline sight look(const eg_device_attention &work, int64_t mask,
                                    int64_t row, int64_t key) {
  if (row >= work.rows) return {0, 0, 0};
  const key_span seen = seen_by(work, row);
  const int64_t most = EG_ATTENTION_FLAG_KEYS; // keys of a tile, at most
  return {static_cast<int>(lesser(greater<int64_t>(seen.from - key, 0), most)),
          static_cast<int>(lesser(greater<int64_t>(seen.to - key, 0), most)),
          mask + row * work.mask_row + key * work.mask_key};
}

__device__ static inline bool is_hidden(const eg_device_attention &work, const void *mask,
                                        const sight &seen, int key) {
  if (key < seen.from || key >= seen.to) return true;
  return work.mask_kind == EG_MASK_HIDES &&
         static_cast<const uint8_t *>(mask)[seen.mask + key * work.mask_key] == 0;
}

/// Returns the score of a key that is not hidden from its product with the query; `slope`
/// gets the derivative by scale q k.
template <typename T, typename E>
__device__ static inline T score_of(const eg_device_attention &work, const void *mask,
                                    const sight &seen, int key, T product, T *slope) {
  const T cap = static_cast<T>(work.softcap);
  T score = product * static_cast<T>(work.scale);
  *slope = T(1);
  if (work.softcap != 0) {
    const T t = tanh_of(score / cap);
    score = cap * t;
    *slope = T(1) - t * t;
  }
  if (work.mask_kind == EG_MASK_ADDS)
    score += widen<T>(static_cast<const E *>(mask)[seen.mask + key * work.mask_key]);
  return score;
}

// ---- products of tiles --------------------------------------------------------------

/// Copies `steps` columns of rows, from column `from` on, as rows; absent rows are 0.
template <typename T, int SIZE, typename E>
__device__ static inline void stage_columns(quad<T> (*to)[SIZE], const rows_of<E> &x,
                                            int rows, int64_t from, int steps) {
  const int threads = static_cast<int>(blockDim.x), lanes = lesser(threads, 8);
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  for (int row = static_cast<int>(threadIdx.x) / lanes; row < rows;
       row += threads / lanes)
    for (int k = lane; k < steps; k += lanes)
      to[k][row / QUAD].at[row % QUAD] =
          row < x.count ? widen<T>(x.first[row * x.step + from + k]) : T(0);
}

/// Copies `steps` rows from row `from` on, `width` columns of them; absent columns are 0.
template <typename T, int SIZE, typename E>
__device__ static inline void stage_rows(quad<T> (*to)[SIZE], const rows_of<E> &x,
                                         int64_t from, int steps, int64_t column,
                                         int64_t columns, int width) {
  const int threads = static_cast<int>(blockDim.x), lanes = lesser<int>(threads, WARP);
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  for (int k = static_cast<int>(threadIdx.x) / lanes; k < steps; k += threads / lanes)
    for (int c = lane; c < width; c += lanes)
      to[k][c / QUAD].at[c % QUAD] =
          column + c < columns ? widen<T>(x.first[(from + k) * x.step + column + c])
                               : T(0);
}

/// Computes products of rows: out[i][j] = row QUAD y + i of a, times row QUAD x + j of b.
template <typename T, int QUADS, typename E>
__device__ static inline void multiply_rows(attention_tiles<T, QUADS> &shared,
                                            const thread_place &at, const rows_of<E> &a,
                                            const rows_of<E> &b, int64_t count,
                                            T (&out)[QUAD][QUAD]) {
  constexpr int STEP = attention_tiles<T, QUADS>::STEP;
#pragma unroll
  for (int i = 0; i < QUAD; i++)
#pragma unroll
    for (int j = 0; j < QUAD; j++)
      out[i][j] = T(0);
  for (int64_t from = 0; from < count; from += STEP) {
    const int steps = static_cast<int>(lesser<int64_t>(STEP, count - from));
    __syncthreads();
    stage_columns(shared.left, a, QUAD * at.down, from, steps);
    stage_columns(shared.right, b, QUAD * at.across, from, steps);
    __syncthreads();
    for (int k = 0; k < steps; k++) {
      const quad<T> left = shared.left[k][at.y], right = shared.right[k][at.x];
#pragma unroll
      for (int i = 0; i < QUAD; i++)
#pragma unroll
        for (int j = 0; j < QUAD; j++)
          out[i][j] += left.at[i] * right.at[j];
    }
  }
}

/// The factor of a query that contributes nothing, not even NaN: -0, which no other
/// factor is.
template <typename T> __device__ static inline T no_factor() { return T(-0.0); }
__device__ static inline bool is_no_factor(float x) {
  return x == 0.0f && copysignf(1.0f, x) < 0.0f;
}
__device__ static inline bool is_no_factor(double x) {
  return x == 0.0 && copysign(1.0, x) < 0.0;
}

/// Adds to `sums` the rows of x from `column` on, times the tile of factors: sums[i] +=
/// factors[r][QUAD y + i] x[r]. SKIPS: rows without a factor are left out.
template <bool SKIPS, typename T, int QUADS, typename E>
__device__ static inline void
add_rows(attention_tiles<T, QUADS> &shared, const thread_place &at, const rows_of<E> &x,
         int64_t column, int64_t columns, T (&sums)[QUAD][QUAD * QUADS]) {
  constexpr int STEP = attention_tiles<T, QUADS>::STEP;
  for (int64_t from = 0; from < x.count; from += STEP) {
    const int steps = static_cast<int>(lesser<int64_t>(STEP, x.count - from));
    __syncthreads();
    stage_rows(shared.right, x, from, steps, column, columns, QUADS * QUAD * at.across);
    __syncthreads();
    for (int k = 0; k < steps; k++) {
      const quad<T> factors = shared.factors[from + k][at.y];
      quad<T> right[QUADS];
#pragma unroll
      for (int part = 0; part < QUADS; part++)
        right[part] = shared.right[k][part * at.across + at.x];
#pragma unroll
      for (int i = 0; i < QUAD; i++) {
        if (SKIPS && is_no_factor(factors.at[i])) continue;
#pragma unroll
        for (int n = 0; n < QUAD * QUADS; n++)
          sums[i][n] += factors.at[i] * right[n / QUAD].at[n % QUAD];
      }
    }
  }
}

/// Stores a thread's elements [QUAD y + i][QUAD x + j] of a tile, transposed.
template <typename T, int QUADS>
__device__ static inline void store_factors(attention_tiles<T, QUADS> &shared,
                                            const thread_place &at,
                                            const T (&factors)[QUAD][QUAD]) {
#pragma unroll
  for (int j = 0; j < QUAD; j++) {
    quad<T> column;
#pragma unroll
    for (int i = 0; i < QUAD; i++)
      column.at[i] = factors[i][j];
    shared.factors[at.x * QUAD + j][at.y] = column;
  }
}

/// Returns the column of element n of a row of this thread's sums.
__device__ static inline int64_t column_at(const thread_place &at, int64_t first, int n) {
  return first + (n / QUAD * at.across + at.x) * QUAD + n % QUAD;
}

// ---- blocks -------------------------------------------------------------------------

/// The shares of blocks: `count` of them, each a tile of rows of a head, and as many
/// columns as a block computes at once.
struct block_shares {
  int64_t columns, column_parts, rows, row_parts, count;
  __device__ block_shares(int64_t heads, int64_t all_rows, int64_t tile_rows,
                          int64_t all_columns, int64_t tile_columns)
      : columns(tile_columns), column_parts(quotient_up(all_columns, tile_columns)),
        rows(tile_rows), row_parts(quotient_up(all_rows, tile_rows)),
        count(heads * row_parts * column_parts) {}
  __device__ int64_t column(int64_t share) const {
    return share % column_parts * columns;
  }
  __device__ int64_t row(int64_t share) const {
    return share / column_parts % row_parts * rows;
  }
  /// Returns the last row first: it sees the most keys where attention is causal.
  __device__ int64_t row_from_end(int64_t share) const {
    return (row_parts - 1 - share / column_parts % row_parts) * rows;
  }
  /// Returns the number of the head, through all batches.
  __device__ int64_t head(int64_t share) const {
    return share / column_parts / row_parts;
  }
};

/// Returns the threads for a tile of at most `rows` rows: a full block, or fewer warps.
static inline int threads_for(int64_t rows) {
  int threads = WARP;
  while (threads < EG_BLOCK && threads / MOST_ACROSS * QUAD < rows)
    threads *= 2;
  return threads;
}

/// Returns the blocks for tiles of `rows`, and QUADS quads of columns a thread.
static inline int64_t blocks_of(int64_t heads, int64_t rows, int64_t columns, int quads) {
  return blocks_for(heads * quotient_up(rows, QUAD * MOST_DOWN) *
                        quotient_up(columns, quads * QUAD * MOST_ACROSS),
                    1);
}

// ---- values that are not finite ------------------------------------------------------

/// Finds the tiles of keys, or of values, all of whose elements are finite: a tile that
/// no query sees has no effect then, but NaN and infinity times 0 are NaN.
template <typename T, typename E>
__global__ void finite_kernel(const eg_device_attention work, const eg_head_steps steps,
                              int64_t width, int32_t *flags, const E *x) {
  __shared__ T shared[EG_BLOCK];
  const int threads = static_cast<int>(blockDim.x), lanes = lesser<int>(threads, WARP);
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const int64_t tiles = quotient_up(work.keys, EG_ATTENTION_FLAG_KEYS);
  for (int64_t i = blockIdx.x; i < work.batch * work.groups * tiles; i += gridDim.x) {
    const int64_t group = i / tiles;
    const rows_of<E> rows =
        rows_at(x, steps, group / work.groups, group % work.groups,
                i % tiles * EG_ATTENTION_FLAG_KEYS, work.keys, EG_ATTENTION_FLAG_KEYS);
    T zeros = T(0);
    for (int row = static_cast<int>(threadIdx.x) / lanes; row < rows.count;
         row += threads / lanes)
      for (int64_t c = lane; c < width; c += lanes)
        zeros += T(0) * widen<T>(rows.first[row * rows.step + c]);
    zeros = fold_block(zeros, shared, sum_of());
    if (threadIdx.x == 0) flags[i] = zeros == T(0);
  }
}

/// Fills the flags, where a query may not see all keys; others do not read them.
template <typename T, typename E>
static cudaError_t find_finite(const eg_device_attention *work,
                               const eg_head_steps &steps, int64_t width, int32_t *flags,
                               const E *x, cudaStream_t stream) {
  if (!work->is_causal && work->window == 0) return cudaSuccess;
  const int64_t count =
      work->batch * work->groups * quotient_up(work->keys, EG_ATTENTION_FLAG_KEYS);
  return EG_LAUNCH((finite_kernel<T, E>), blocks_for(count, 1), EG_BLOCK, stream, *work,
                   steps, width, flags, x);
}

// ---- by element type ----------------------------------------------------------------

template <template <typename, typename> class Of>
static cudaError_t launch(const eg_device_attention *work, void *const *addresses,
                          cudaStream_t stream) {
  switch (work->dtype) {
  case EGRAPH_FLOAT32: return Of<float, float>::launch(work, addresses, stream);
  case EGRAPH_FLOAT64: return Of<double, double>::launch(work, addresses, stream);
  case EGRAPH_FLOAT16: return Of<float, __half>::launch(work, addresses, stream);
  case EGRAPH_BFLOAT16: return Of<float, __nv_bfloat16>::launch(work, addresses, stream);
  }
  return cudaErrorInvalidValue;
}

#endif
