// Attention in tiles (FlashAttention-2). A block of threads computes a tile of rows of
// the result; it meets one tile of keys after the other:
//
//   scores [rows, keys] = q k^T             registers; q and k come in steps of the depth
//   weights = exp(scores - the row's maximum so far)             to shared memory
//   sums [rows, columns] += weights v       registers; v comes in steps of the keys
//
// Tiles of keys that no query of the tile sees are left out, unless a value in them is
// not finite: NaN times a weight of 0 is NaN. Reference: ops/kernel_attention.c.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/attention_tiles.cuh"

/// The rows of a thread. Sums are relative to the largest score so far.
template <typename T, int QUADS> struct row_sums {
  T most[QUAD];              // the largest score so far
  T total[QUAD];             // this thread's share of the sum of exponentials
  T out[QUAD][QUAD * QUADS]; // its columns of the sum of weighted values
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
__device__ static inline void
end_row(const eg_device_attention &work, const thread_place &at, const rows_of<E> &values,
        int64_t column, int i, row_sums<T, QUADS> &sums, E *out, T *logarithm) {
  const T total = fold_across(at, sums.total[i], sum_of());
  const T lowest = static_cast<T>(-HUGE_VAL);
  const bool is_zero = work.is_safe && !(total > T(0));
#pragma unroll
  for (int n = 0; n < QUAD * QUADS; n++) {
    const int64_t c = column_at(at, column, n);
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

template <typename T, typename E, int QUADS>
__global__ void __launch_bounds__(EG_BLOCK, blocks_at_once<T>)
    attention_kernel(const eg_device_attention work, E *out, T *logarithms, const E *q,
                     const E *k, const E *v, const int32_t *flags, const void *mask) {
  __shared__ attention_tiles<T, QUADS> shared;
  const thread_place at;
  const int64_t tile_rows = QUAD * at.down, tile_keys = QUAD * at.across;
  const int64_t flags_each = quotient_up(work.keys, EG_ATTENTION_FLAG_KEYS);
  const block_shares shares(work.batch * work.heads, work.rows, tile_rows, work.columns,
                            QUADS * tile_keys);
  for (int64_t share = blockIdx.x; share < shares.count; share += gridDim.x) {
    const int64_t column = shares.column(share), row = shares.row_from_end(share);
    const int64_t number = shares.head(share), head = number % work.heads;
    const int64_t batch = number / work.heads;
    const int64_t group = head / (work.heads / work.groups);
    const int32_t *are_finite = flags + (batch * work.groups + group) * flags_each;
    const int64_t mask_place = place_of_mask(work, number);
    row_sums<T, QUADS> sums = {};
#pragma unroll
    for (int i = 0; i < QUAD; i++)
      sums.most[i] = static_cast<T>(-HUGE_VAL);
    for (int64_t key = 0; key < work.keys; key += tile_keys) {
      if (!may_see(work, row, tile_rows, key, tile_keys) &&
          are_finite[key / EG_ATTENTION_FLAG_KEYS])
        continue;
      T scores[QUAD][QUAD];
      multiply_rows(shared, at,
                    rows_at(q, work.query, batch, head, row, work.rows, tile_rows),
                    rows_at(k, work.key, batch, group, key, work.keys, tile_keys),
                    work.depth, scores);
      weigh<T, E, QUADS>(work, at, mask, mask_place, row, key, scores, sums);
      store_factors(shared, at, scores);
      add_rows<false>(shared, at,
                      rows_at(v, work.value, batch, group, key, work.keys, tile_keys),
                      column, work.columns, sums.out);
    }
    const rows_of<E> values =
        rows_at(v, work.value, batch, group, 0, work.keys, work.keys);
#pragma unroll
    for (int i = 0; i < QUAD; i++) {
      const int64_t r = row + QUAD * at.y + i;
      const bool is_row = r < work.rows, is_first = is_row && column == 0 && at.x == 0;
      end_row<T, E, QUADS>(work, at, values, column, i, sums,
                           is_row ? out + place_in(work.result, batch, head, r) : nullptr,
                           is_first ? logarithms + number * work.rows + r : nullptr);
    }
  }
}

template <typename T, typename E, int QUADS>
static cudaError_t launch_tiles(const eg_device_attention *work, void *const *at,
                                cudaStream_t stream) {
  return EG_LAUNCH((attention_kernel<T, E, QUADS>),
                   blocks_of(work->batch * work->heads, work->rows, work->columns, QUADS),
                   threads_for(work->rows), stream, *work, static_cast<E *>(at[0]),
                   static_cast<T *>(at[1]), static_cast<const E *>(at[2]),
                   static_cast<const E *>(at[3]), static_cast<const E *>(at[4]),
                   static_cast<const int32_t *>(at[5]),
                   work->mask_kind == EG_MASK_NONE ? nullptr : at[6]);
}

template <typename T, typename E> struct attention_of {
  static cudaError_t launch(const eg_device_attention *work, void *const *at,
                            cudaStream_t stream) {
    const cudaError_t code =
        find_finite<T>(work, work->value, work->columns, static_cast<int32_t *>(at[5]),
                       static_cast<const E *>(at[4]), stream);
    if (code != cudaSuccess) return code;
    return work->columns <= QUAD * MOST_ACROSS ? launch_tiles<T, E, 1>(work, at, stream)
                                               : launch_tiles<T, E, 2>(work, at, stream);
  }
};

extern "C" cudaError_t eg_launch_attention(const eg_device_attention *work,
                                           void *const *addresses, cudaStream_t stream) {
  return launch<attention_of>(work, addresses, stream);
}
