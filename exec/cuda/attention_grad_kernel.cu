// The gradient of attention, without a table of scores (FlashAttention-2, algorithm 2).
//
// With w the weight of a key, its score has the cotangent w (d v - level), where the
// level of a query is d out. Weights are made again from the logarithms, and divided by
// their sum, because the logarithms are rounded. A first kernel computes a tile of the
// cotangent of queries in each block, and for each query what the second kernel reads.
// That one computes a tile of the cotangents of keys and values in each block:
//
//   products [keys, queries] = k q^T, v d^T                registers
//   value sums [keys, columns] += weights d
//   key sums [keys, depth] += cotangents of products q
//
// All sums are in a fixed order. Reference: ops/kernel_attention.c.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/attention_tiles.cuh"

/// The operands of attention-grad, and what the first kernel writes for the second.
template <typename T, typename E> struct grad_tensors {
  const E *d, *q, *k, *v, *out;
  const T *logarithms;
  T *levels, *factors; // of each query; factors: 1 / the sum of its weights
  int32_t *are_spread; // of QUAD queries: 1 if one of them makes NaN of the cotangents of
                       // keys or values that it does not see
  int32_t *are_finite; // of EG_ATTENTION_FLAG_KEYS keys: 1 if all their elements are
  const void *mask;
};

/// The queries of a thread. One contributes nothing if it is behind the last, or if its
/// weights are 0 because attention is safe.
template <typename T> struct query_rows {
  T level[QUAD], logarithm[QUAD];
  T total[QUAD];        // this thread's share of the sum of weights
  bool has_none[QUAD];  // it contributes nothing
  bool is_finite[QUAD]; // all elements of its rows of q and d are finite
};

/// Returns the product of two rows, which the threads of a row of the block share.
template <typename T, typename E>
__device__ static inline T product_of(const thread_place &at, const E *a, const E *b,
                                      int64_t width) {
  T sum = T(0);
  for (int64_t c = at.x; c < width; c += at.across)
    sum += widen<T>(a[c]) * widen<T>(b[c]);
  return fold_across(at, sum, sum_of());
}

template <typename T, typename E>
__device__ static inline bool is_finite(const thread_place &at, const E *x,
                                        int64_t width) {
  T zeros = T(0);
  for (int64_t c = at.x; c < width; c += at.across)
    zeros += T(0) * widen<T>(x[c]);
  return fold_across(at, zeros, sum_of()) == T(0);
}

template <typename T>
__device__ static inline bool has_no_weights(const eg_device_attention &work,
                                             T logarithm) {
  return work.is_safe && logarithm == static_cast<T>(-HUGE_VAL);
}

template <typename T, typename E>
__device__ static inline void load_queries(const eg_device_attention &work,
                                           const thread_place &at,
                                           const grad_tensors<T, E> &in, int64_t number,
                                           int64_t row, query_rows<T> &queries) {
  const int64_t batch = number / work.heads, head = number % work.heads;
#pragma unroll
  for (int i = 0; i < QUAD; i++) {
    // All threads of a warp take part in folds.
    const int64_t r = row + QUAD * at.y + i, there = lesser(r, work.rows - 1);
    const int64_t place = place_in(work.result, batch, head, there);
    const E *q = in.q + place_in(work.query, batch, head, there), *d = in.d + place;
    const bool is_q_finite = is_finite<T>(at, q, work.depth);
    queries.is_finite[i] = is_finite<T>(at, d, work.columns) && is_q_finite;
    queries.level[i] = product_of<T>(at, d, in.out + place, work.columns);
    queries.logarithm[i] = in.logarithms[number * work.rows + there];
    queries.has_none[i] = r != there || has_no_weights(work, queries.logarithm[i]);
    queries.total[i] = T(0);
  }
}

/// For a key that a query sees: its weight times `factor`, and the cotangent of q k,
/// where `along` is d v - level.
template <typename T> struct pair_grad { T weight, product; };
template <typename T, typename E>
__device__ static inline pair_grad<T>
grad_of(const eg_device_attention &work, const void *mask, const sight &seen, int key,
        T product, T logarithm, T factor, T along) {
  T slope;
  const T score = score_of<T, E>(work, mask, seen, key, product, &slope);
  const T weight = exp_of(score - logarithm) * factor;
  return {weight, weight * along * slope * static_cast<T>(work.scale) + T(0)}; // not -0
}

/// Writes the cotangents of the thread's queries, and what the second kernel reads. The
/// weights of a query that sees no key have the sum 0; its cotangent is 0, or NaN.
template <typename T, typename E, int QUADS>
__device__ static inline void
end_queries(const eg_device_attention &work, const thread_place &at,
            const grad_tensors<T, E> &in, int64_t number, int64_t row, int64_t column,
            const query_rows<T> &queries, const T (&sums)[QUAD][QUAD * QUADS], E *out) {
  const int64_t batch = number / work.heads, head = number % work.heads;
  bool spreads = false;
#pragma unroll
  for (int i = 0; i < QUAD; i++) {
    const int64_t r = row + QUAD * at.y + i;
    const T total = fold_across(at, queries.total[i], sum_of());
    const bool is_normal = total > T(0) && total < static_cast<T>(HUGE_VAL);
    if (!queries.has_none[i]) spreads |= !is_normal || !queries.is_finite[i];
    if (r >= work.rows) continue;
    E *to = out + place_in(work.query, batch, head, r);
#pragma unroll
    for (int n = 0; n < QUAD * QUADS; n++) {
      const int64_t c = column_at(at, column, n);
      const T sum = queries.has_none[i] ? T(0) : sums[i][n];
      if (c < work.depth) put(&to[c], total == T(0) ? sum : sum / total);
    }
    if (column != 0 || at.x != 0) continue;
    in.levels[number * work.rows + r] = queries.level[i];
    in.factors[number * work.rows + r] = T(1) / total;
  }
  if (column == 0 && at.x == 0 && row + QUAD * at.y < work.rows)
    in.are_spread[number * quotient_up(work.rows, QUAD) + row / QUAD + at.y] = spreads;
}

template <typename T, typename E, int QUADS>
__global__ void __launch_bounds__(EG_BLOCK, blocks_at_once<T>)
    query_grad_kernel(const eg_device_attention work, const grad_tensors<T, E> in,
                      E *out) {
  __shared__ attention_tiles<T, QUADS> shared;
  const thread_place at;
  const int64_t tile_rows = QUAD * at.down, tile_keys = QUAD * at.across;
  const block_shares shares(work.batch * work.heads, work.rows, tile_rows, work.depth,
                            QUADS * tile_keys);
  for (int64_t share = blockIdx.x; share < shares.count; share += gridDim.x) {
    const int64_t column = shares.column(share), row = shares.row_from_end(share);
    const int64_t number = shares.head(share), head = number % work.heads;
    const int64_t batch = number / work.heads;
    const int64_t group = head / (work.heads / work.groups);
    const int64_t mask_place = place_of_mask(work, number);
    const int32_t *are_finite =
        in.are_finite +
        (batch * work.groups + group) * quotient_up(work.keys, EG_ATTENTION_FLAG_KEYS);
    T sums[QUAD][QUAD * QUADS] = {};
    query_rows<T> queries;
    load_queries(work, at, in, number, row, queries);
    for (int64_t key = 0; key < work.keys; key += tile_keys) {
      if (!may_see(work, row, tile_rows, key, tile_keys) &&
          are_finite[key / EG_ATTENTION_FLAG_KEYS])
        continue;
      const rows_of<E> keys =
          rows_at(in.k, work.key, batch, group, key, work.keys, tile_keys);
      T products[QUAD][QUAD], along[QUAD][QUAD];
      multiply_rows(shared, at,
                    rows_at(in.q, work.query, batch, head, row, work.rows, tile_rows),
                    keys, work.depth, products);
      multiply_rows(shared, at,
                    rows_at(in.d, work.result, batch, head, row, work.rows, tile_rows),
                    rows_at(in.v, work.value, batch, group, key, work.keys, tile_keys),
                    work.columns, along);
#pragma unroll
      for (int i = 0; i < QUAD; i++) {
        const sight seen = look(work, mask_place, row + QUAD * at.y + i, key);
#pragma unroll
        for (int j = 0; j < QUAD; j++) {
          const int n = QUAD * at.x + j;
          pair_grad<T> grad = {T(0), T(0)};
          if (!queries.has_none[i] && !is_hidden(work, in.mask, seen, n))
            grad =
                grad_of<T, E>(work, in.mask, seen, n, products[i][j],
                              queries.logarithm[i], T(1), along[i][j] - queries.level[i]);
          queries.total[i] += grad.weight;
          products[i][j] = grad.product;
        }
      }
      store_factors(shared, at, products);
      add_rows<false>(shared, at, keys, column, work.depth, sums);
    }
    end_queries<T, E, QUADS>(work, at, in, number, row, column, queries, sums, out);
  }
}

/// True when one of `rows` queries from `row` on makes NaN of the cotangents of keys or
/// values that it does not see.
template <typename T, typename E>
__device__ static inline bool is_spread(const eg_device_attention &work,
                                        const grad_tensors<T, E> &in, int64_t number,
                                        int64_t row, int64_t rows) {
  const int32_t *flags = in.are_spread + number * quotient_up(work.rows, QUAD);
  const int64_t end = quotient_up(lesser(row + rows, work.rows), QUAD);
  for (int64_t i = row / QUAD; i < end; i++)
    if (flags[i]) return true;
  return false;
}

/// Turns products of keys [QUAD y + i] and queries [QUAD x + j] into their cotangents,
/// and `along`, the products of values and d, into weights.
template <typename T, typename E>
__device__ static inline void
weigh_keys(const eg_device_attention &work, const thread_place &at,
           const grad_tensors<T, E> &in, int64_t number, int64_t row, int64_t key,
           T (&products)[QUAD][QUAD], T (&along)[QUAD][QUAD]) {
  const int64_t mask_place = place_of_mask(work, number);
#pragma unroll
  for (int j = 0; j < QUAD; j++) {
    const int64_t r = row + QUAD * at.x + j, place = number * work.rows + r;
    const sight seen = look(work, mask_place, r, key);
    const bool is_there = r < work.rows;
    const T logarithm = is_there ? in.logarithms[place] : T(0);
    const T level = is_there ? in.levels[place] : T(0);
    const T factor = is_there ? in.factors[place] : T(0);
    const bool has_none = !is_there || has_no_weights(work, logarithm);
    const T unseen = exp_of(static_cast<T>(-HUGE_VAL) - logarithm) * factor; // 0, or NaN
#pragma unroll
    for (int i = 0; i < QUAD; i++) {
      const int n = QUAD * at.y + i;
      pair_grad<T> grad = {has_none ? no_factor<T>() : unseen,
                           has_none ? no_factor<T>() : T(0)};
      if (!has_none && !is_hidden(work, in.mask, seen, n))
        grad = grad_of<T, E>(work, in.mask, seen, n, products[i][j], logarithm, factor,
                             along[i][j] - level);
      products[i][j] = grad.product;
      along[i][j] = grad.weight;
    }
  }
}

/// Writes the thread's rows of the cotangent of keys or of values.
template <typename E, typename T, int COUNT>
__device__ static inline void put_rows(const thread_place &at, E *to, int64_t step,
                                       int64_t rows, int64_t column, int64_t columns,
                                       const T (&sums)[QUAD][COUNT]) {
#pragma unroll
  for (int i = 0; i < QUAD; i++) {
    const int64_t row = QUAD * at.y + i;
#pragma unroll
    for (int n = 0; n < COUNT; n++) {
      const int64_t c = column_at(at, column, n);
      if (row < rows && c < columns) put(&to[row * step + c], sums[i][n]);
    }
  }
}

template <typename T, typename E, int QUADS>
__global__ void __launch_bounds__(EG_BLOCK, QUADS == 1 ? blocks_at_once<T> : 1)
    key_grad_kernel(const eg_device_attention work, const grad_tensors<T, E> in,
                    E *key_out, E *value_out) {
  __shared__ attention_tiles<T, QUADS> shared;
  const thread_place at;
  const int64_t tile_keys = QUAD * at.down, tile_rows = QUAD * at.across;
  const int64_t members = work.heads / work.groups;
  const block_shares shares(work.batch * work.groups, work.keys, tile_keys,
                            greater(work.depth, work.columns), QUADS * tile_rows);
  for (int64_t share = blockIdx.x; share < shares.count; share += gridDim.x) {
    const int64_t column = shares.column(share), key = shares.row(share);
    const int64_t batch = shares.head(share) / work.groups;
    const int64_t group = shares.head(share) % work.groups;
    const rows_of<E> keys =
        rows_at(in.k, work.key, batch, group, key, work.keys, tile_keys);
    const rows_of<E> values =
        rows_at(in.v, work.value, batch, group, key, work.keys, tile_keys);
    T key_sums[QUAD][QUAD * QUADS] = {}, value_sums[QUAD][QUAD * QUADS] = {};
    for (int64_t head = group * members; head < (group + 1) * members; head++)
      for (int64_t row = 0; row < work.rows; row += tile_rows) {
        const int64_t number = batch * work.heads + head;
        if (!may_see(work, row, tile_rows, key, tile_keys) &&
            !is_spread(work, in, number, row, tile_rows))
          continue;
        const rows_of<E> queries =
            rows_at(in.q, work.query, batch, head, row, work.rows, tile_rows);
        const rows_of<E> d =
            rows_at(in.d, work.result, batch, head, row, work.rows, tile_rows);
        T products[QUAD][QUAD], along[QUAD][QUAD];
        multiply_rows(shared, at, keys, queries, work.depth, products);
        multiply_rows(shared, at, values, d, work.columns, along);
        weigh_keys(work, at, in, number, row, key, products, along);
        store_factors(shared, at, along);
        if (column < work.columns)
          add_rows<true>(shared, at, d, column, work.columns, value_sums);
        __syncthreads(); // other threads read the weights
        store_factors(shared, at, products);
        if (column < work.depth)
          add_rows<true>(shared, at, queries, column, work.depth, key_sums);
      }
    put_rows(at, key_out + place_in(work.key, batch, group, key), work.key.row,
             work.keys - key, column, work.depth, key_sums);
    put_rows(at, value_out + place_in(work.value, batch, group, key), work.value.row,
             work.keys - key, column, work.columns, value_sums);
  }
}

template <typename T, typename E, int QUADS>
static cudaError_t launch_grad(const eg_device_attention *work,
                               const grad_tensors<T, E> &in, void *const *at,
                               cudaStream_t stream) {
  const int64_t columns = work->depth > work->columns ? work->depth : work->columns;
  const cudaError_t code =
      EG_LAUNCH((query_grad_kernel<T, E, QUADS>),
                blocks_of(work->batch * work->heads, work->rows, work->depth, QUADS),
                threads_for(work->rows), stream, *work, in, static_cast<E *>(at[0]));
  if (code != cudaSuccess) return code;
  return EG_LAUNCH((key_grad_kernel<T, E, QUADS>),
                   blocks_of(work->batch * work->groups, work->keys, columns, QUADS),
                   threads_for(work->keys), stream, *work, in, static_cast<E *>(at[1]),
                   static_cast<E *>(at[2]));
}

template <typename T, typename E> struct attention_grad_of {
  static cudaError_t launch(const eg_device_attention *work, void *const *at,
                            cudaStream_t stream) {
    const grad_tensors<T, E> in = {
        static_cast<const E *>(at[3]),
        static_cast<const E *>(at[4]),
        static_cast<const E *>(at[5]),
        static_cast<const E *>(at[6]),
        static_cast<const E *>(at[7]),
        static_cast<const T *>(at[8]),
        static_cast<T *>(at[9]),
        static_cast<T *>(at[10]),
        static_cast<int32_t *>(at[11]),
        static_cast<int32_t *>(at[12]),
        work->mask_kind == EG_MASK_NONE ? nullptr : at[13],
    };
    const cudaError_t code =
        find_finite<T>(work, work->key, work->depth, in.are_finite, in.k, stream);
    if (code != cudaSuccess) return code;
    const int64_t width = QUAD * MOST_ACROSS;
    return work->depth <= width && work->columns <= width
               ? launch_grad<T, E, 1>(work, in, at, stream)
               : launch_grad<T, E, 2>(work, in, at, stream);
  }
};

extern "C" cudaError_t eg_launch_attention_grad(const eg_device_attention *work,
                                                void *const *addresses,
                                                cudaStream_t stream) {
  return launch<attention_grad_of>(work, addresses, stream);
}
