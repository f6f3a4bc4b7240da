// Attention in tiles that stay in shared memory and registers (FlashAttention-2). A block
// of threads computes a tile of rows of the result; it meets one tile of keys after the
// other:
//
//   scores [rows, keys] = q k^T             registers; q and k come in steps of the depth
//   weights = exp(scores - the row's maximum so far)             to shared memory
//   sums [rows, columns] += weights v       registers; v comes in steps of the keys
//
// The threads of a block are a grid of `down` x `across`. A thread computes QUAD x QUAD
// scores, and QUAD x (QUAD * QUADS) sums; so a tile has QUAD * down rows and QUAD *
// across keys. More columns than these are a loop of blocks, which make the scores again.
// Reference: ops/kernel_attention.c.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernel_common.cuh"

enum { QUAD = 4, MOST_ACROSS = 16, MOST_DOWN = EG_BLOCK / MOST_ACROSS };

/// Blocks that have room for their registers and shared memory on a multiprocessor.
template <typename T> constexpr int blocks_at_once = sizeof(T) == 4 ? 2 : 1;

/// Neighbouring elements, which one instruction loads.
template <typename T> struct alignas(QUAD * sizeof(T)) quad {
  T at[QUAD];
};

/// The shared memory of a block, within 48 KiB. Rows have a quad more than they use, so
/// that threads which store a column use different banks.
template <typename T, int QUADS> struct attention_tiles {
  static constexpr int STEP = sizeof(T) == 4 ? 16 : 8;
  quad<T> left[STEP][MOST_DOWN + 1];            // a step of the first factor, transposed
  quad<T> right[STEP][QUADS * MOST_ACROSS + 1]; // a step of the second factor
  quad<T> factors[QUAD * MOST_ACROSS][MOST_DOWN + 1]; // a tile of weights, transposed
};

/// The place of a thread in its block.
struct thread_place {
  int across, down, x, y;
  __device__ thread_place() {
    const int threads = static_cast<int>(blockDim.x);
    across = threads < MOST_ACROSS ? threads : MOST_ACROSS;
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

__device__ static inline int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }
__device__ static inline int64_t greater(int64_t a, int64_t b) { return a > b ? a : b; }
__host__ __device__ static inline int64_t quotient_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

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

/// Returns the rows from `row` on of a head, at most `most` of the `count` that it has.
template <typename E>
__device__ static inline rows_of<E> rows_at(const E *x, const eg_head_steps &steps,
                                            int64_t batch, int64_t head, int64_t row,
                                            int64_t count, int64_t most) {
  return {x + batch * steps.batch + head * steps.head + row * steps.row, steps.row,
          lesser(count - row, most)};
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
  to = greater(to, 0);
  return {lesser(from, to), to};
}

/// True when one of `rows` queries from `row` on may see one of `keys` keys from `key` on.
__device__ static inline bool may_see(const eg_device_attention &work, int64_t row,
                                      int64_t rows, int64_t key, int64_t keys) {
  const int64_t last = lesser(row + rows, work.rows) - 1;
  return seen_by(work, row).from < key + keys && seen_by(work, last).to > key;
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
  return {static_cast<int>(lesser(greater(seen.from - key, 0), most)),
          static_cast<int>(lesser(greater(seen.to - key, 0), most)),
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
  const int threads = static_cast<int>(blockDim.x), lanes = threads < 8 ? threads : 8;
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
  const int threads = static_cast<int>(blockDim.x), lanes = threads < 32 ? threads : 32;
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
    const int steps = static_cast<int>(lesser(STEP, count - from));
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

/// Adds to `sums` the rows of x from `column` on, times the tile of factors: sums[i] +=
/// factors[r][QUAD y + i] x[r].
template <typename T, int QUADS, typename E>
__device__ static inline void add_rows(attention_tiles<T, QUADS> &shared,
                                       const thread_place &at, const rows_of<E> &x,
                                       int64_t column, int64_t columns,
                                       T (&sums)[QUAD][QUAD * QUADS]) {
  constexpr int STEP = attention_tiles<T, QUADS>::STEP;
  for (int64_t from = 0; from < x.count; from += STEP) {
    const int steps = static_cast<int>(lesser(STEP, x.count - from));
    __syncthreads();
    stage_rows(shared.right, x, from, steps, column, columns, QUADS * QUAD * at.across);
    __syncthreads();
    for (int k = 0; k < steps; k++) {
      const quad<T> factors = shared.factors[from + k][at.y];
#pragma unroll
      for (int part = 0; part < QUADS; part++) {
        const quad<T> right = shared.right[k][part * at.across + at.x];
#pragma unroll
        for (int i = 0; i < QUAD; i++)
#pragma unroll
          for (int j = 0; j < QUAD; j++)
            sums[i][part * QUAD + j] += factors.at[i] * right.at[j];
      }
    }
  }
}

/// Stores what a thread computed of a tile [QUAD y + i][QUAD x + j], transposed.
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

/// Returns the column of sums[..][part * QUAD + j] of this thread.
template <int QUADS>
__device__ static inline int64_t column_at(const thread_place &at, int64_t first, int n) {
  return first + (n / QUAD * at.across + at.x) * QUAD + n % QUAD;
}

// ---- attention ------------------------------------------------------------------------

/// Finds the keys whose values are all finite: NaN and infinity times 0 are NaN.
template <typename E>
__global__ void finite_values_kernel(const eg_device_attention work, int32_t *flags,
                                     const E *v) {
  __shared__ double shared[EG_BLOCK];
  const int64_t tiles = quotient_up(work.keys, EG_ATTENTION_FLAG_KEYS);
  for (int64_t i = blockIdx.x; i < work.batch * work.groups * tiles; i += gridDim.x) {
    const int64_t group = i / tiles;
    const rows_of<E> values =
        rows_at(v, work.value, group / work.groups, group % work.groups,
                i % tiles * EG_ATTENTION_FLAG_KEYS, work.keys, EG_ATTENTION_FLAG_KEYS);
    double zeros = 0.0;
    for (int64_t n = threadIdx.x; n < values.count * work.columns; n += blockDim.x)
      zeros += 0.0 * widen<double>(values.first[n / work.columns * values.step +
                                                n % work.columns]);
    zeros = fold_block(zeros, shared, sum_of());
    if (threadIdx.x == 0) flags[i] = zeros == 0.0;
  }
}

/// What a thread has of its rows: the maximum of the scores so far; its share of the sum
/// of exponentials, and of the weighted values, both relative to the maximum.
template <typename T, int QUADS> struct row_sums {
  T most[QUAD], total[QUAD], out[QUAD][QUAD * QUADS];
};

/// Turns products into weights, relative to the largest score so far of each row, and
/// scales the row's sums to it. A row that has seen no key has sums of 0, or NaN.
template <typename T, typename E, int QUADS>
__device__ static inline void weigh(const eg_device_attention &work,
                                    const thread_place &at, const void *mask,
                                    int64_t mask_place, int64_t row, int64_t key,
                                    T (&scores)[QUAD][QUAD], row_sums<T, QUADS> &sums) {
  const T lowest = static_cast<T>(-HUGE_VAL);
#pragma unroll
  for (int i = 0; i < QUAD; i++) {
    const sight seen = look(work, mask_place, row + QUAD * at.y + i, key);
    T most = sums.most[i], slope;
#pragma unroll
    for (int j = 0; j < QUAD; j++) {
      const int n = QUAD * at.x + j;
      scores[i][j] = is_hidden(work, mask, seen, n)
                         ? lowest
                         : score_of<T, E>(work, mask, seen, n, scores[i][j], &slope);
      most = larger_of()(most, scores[i][j]);
    }
    most = fold_across(at, most, larger_of());
    const T shift = most == lowest ? T(0) : most;
    const T kept = exp_of(sums.most[i] - shift);
    sums.most[i] = most;
    sums.total[i] *= kept;
#pragma unroll
    for (int j = 0; j < QUAD; j++)
      sums.total[i] += scores[i][j] = exp_of(scores[i][j] - shift);
#pragma unroll
    for (int n = 0; n < QUAD * QUADS; n++)
      sums.out[i][n] *= kept;
  }
}

/// Writes a row. With `safe`, a row whose weights are NaN has weights of 0.
template <typename T, typename E, int QUADS>
__device__ static inline void end_row(const eg_device_attention &work,
                                      const thread_place &at, const rows_of<E> &values,
                                      int64_t column, int i, row_sums<T, QUADS> &sums,
                                      E *out, T *logarithm) {
  const T total = fold_across(at, sums.total[i], sum_of());
  const T lowest = static_cast<T>(-HUGE_VAL);
  const bool is_zero = work.is_safe && !(total > T(0));
#pragma unroll
  for (int n = 0; n < QUAD * QUADS; n++) {
    const int64_t c = column_at<QUADS>(at, column, n);
    T sum = sums.out[i][n];
    if (out == nullptr || c >= work.columns) continue;
    if (is_zero && sum != T(0)) {
      sum = T(0);
      for (int64_t key = 0; key < work.keys; key++)
        sum += T(0) * widen<T>(values.first[key * values.step + c]);
    }
    put(&out[c], is_zero ? sum : sum / total);
  }
  if (logarithm == nullptr) return;
  const T shift = sums.most[i] == lowest ? T(0) : sums.most[i];
  *logarithm = is_zero ? lowest : shift + log_of(total);
}

/// Computes tile after tile of rows. Later tiles come first: they see the most keys where
/// attention is causal.
template <typename T, typename E, int QUADS>
__global__ void __launch_bounds__(EG_BLOCK, blocks_at_once<T>)
    attention_kernel(const eg_device_attention work, E *out, T *logarithms, const E *q,
                     const E *k, const E *v, const int32_t *flags, const void *mask) {
  __shared__ attention_tiles<T, QUADS> shared;
  const thread_place at;
  const int64_t tile_rows = QUAD * at.down, tile_keys = QUAD * at.across;
  const int64_t width = QUADS * tile_keys, chunks = quotient_up(work.columns, width);
  const int64_t tiles = quotient_up(work.rows, tile_rows);
  const int64_t flags_each = quotient_up(work.keys, EG_ATTENTION_FLAG_KEYS);
  const int64_t count = work.batch * work.heads * tiles * chunks;
  for (int64_t item = blockIdx.x; item < count; item += gridDim.x) {
    const int64_t column = item % chunks * width;
    const int64_t row = (tiles - 1 - item / chunks % tiles) * tile_rows;
    const int64_t number = item / chunks / tiles; // of the head, through all batches
    const int64_t batch = number / work.heads, head = number % work.heads;
    const int64_t group = head / (work.heads / work.groups);
    const int32_t *are_finite = flags + (batch * work.groups + group) * flags_each;
    const rows_of<E> queries =
        rows_at(q, work.query, batch, head, row, work.rows, tile_rows);
    row_sums<T, QUADS> sums = {};
    int64_t place[2];
    locate<2>(work.mask, number, place);
#pragma unroll
    for (int i = 0; i < QUAD; i++)
      sums.most[i] = static_cast<T>(-HUGE_VAL);
    for (int64_t key = 0; key < work.keys; key += tile_keys) {
      if (!may_see(work, row, tile_rows, key, tile_keys) &&
          are_finite[key / EG_ATTENTION_FLAG_KEYS])
        continue;
      T scores[QUAD][QUAD];
      multiply_rows(shared, at, queries,
                    rows_at(k, work.key, batch, group, key, work.keys, tile_keys),
                    work.depth, scores);
      weigh<T, E, QUADS>(work, at, mask, place[1], row, key, scores, sums);
      store_factors(shared, at, scores);
      add_rows(shared, at,
               rows_at(v, work.value, batch, group, key, work.keys, tile_keys), column,
               work.columns, sums.out);
    }
    const rows_of<E> values =
        rows_at(v, work.value, batch, group, 0, work.keys, work.keys);
#pragma unroll
    for (int i = 0; i < QUAD; i++) {
      const int64_t r = row + QUAD * at.y + i;
      const bool is_row = r < work.rows, is_first = is_row && column == 0 && at.x == 0;
      end_row<T, E, QUADS>(work, at, values, column, i, sums,
                           is_row ? out + batch * work.result.batch +
                                        head * work.result.head + r * work.result.row
                                  : nullptr,
                           is_first ? logarithms + number * work.rows + r : nullptr);
    }
  }
}

template <typename T, typename E, int QUADS>
static cudaError_t launch_tiles(const eg_device_attention *work, void *const *at,
                                cudaStream_t stream) {
  const int64_t tiles = quotient_up(work->rows, QUAD * MOST_DOWN);
  const int64_t chunks = quotient_up(work->columns, QUADS * QUAD * MOST_ACROSS);
  return EG_LAUNCH((attention_kernel<T, E, QUADS>),
                   blocks_for(work->batch * work->heads * tiles * chunks, 1), EG_BLOCK,
                   stream, *work, static_cast<E *>(at[0]), static_cast<T *>(at[1]),
                   static_cast<const E *>(at[2]), static_cast<const E *>(at[3]),
                   static_cast<const E *>(at[4]), static_cast<const int32_t *>(at[5]),
                   work->mask_kind == EG_MASK_NONE ? nullptr : at[6]);
}

/// Launches attention; flags are read only where a query does not see all keys.
template <typename T, typename E>
static cudaError_t launch(const eg_device_attention *work, void *const *at,
                          cudaStream_t stream) {
  const int64_t flags =
      work->batch * work->groups * quotient_up(work->keys, EG_ATTENTION_FLAG_KEYS);
  cudaError_t code = cudaSuccess;
  if (work->is_causal || work->window > 0)
    code = EG_LAUNCH(finite_values_kernel<E>, blocks_for(flags, 1), EG_BLOCK, stream,
                     *work, static_cast<int32_t *>(at[5]), static_cast<const E *>(at[4]));
  if (code != cudaSuccess) return code;
  return work->columns <= QUAD * MOST_ACROSS ? launch_tiles<T, E, 1>(work, at, stream)
                                             : launch_tiles<T, E, 2>(work, at, stream);
}

extern "C" cudaError_t eg_launch_attention(const eg_device_attention *work,
                                           void *const *addresses, cudaStream_t stream) {
  switch (work->dtype) {
  case EGRAPH_FLOAT32: return launch<float, float>(work, addresses, stream);
  case EGRAPH_FLOAT64: return launch<double, double>(work, addresses, stream);
  case EGRAPH_FLOAT16: return launch<float, __half>(work, addresses, stream);
  case EGRAPH_BFLOAT16: return launch<float, __nv_bfloat16>(work, addresses, stream);
  }
  return cudaErrorInvalidValue;
}
