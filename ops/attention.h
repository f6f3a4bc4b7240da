// Attention (FlashAttention, section 2): softmax(scale q k^T + mask) v without a stored
// table of scores. Sizes and loops of `attention` and `attention-grad`, and the keys that
// a query sees. Letters of dimensions:
//
//   queries [.., H, S, D]   keys [.., G, T, D]   values [.., G, T, E]
//   result  [.., H, S, E]   logarithms of the sums of exponentials [.., H, S]
//
// With rows_first, rows come before heads, as a projection computes them: queries and
// result [.., S, H, D], keys and values [.., T, G, D]; a mask and the logarithms do not.
// H is a multiple of G: head h reads the keys and values of group h / (H / G).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPS_ATTENTION_H
#define EG_OPS_ATTENTION_H

#include "ops/ops.h"

/// Positions of queries and widths of windows are at most this.
#define EG_ATTENTION_MAX_POSITION (INT64_C(1) << 40)

/// The operands of attention; attention-grad has them after the cotangent.
enum { EG_ATTENTION_Q, EG_ATTENTION_K, EG_ATTENTION_V, EG_ATTENTION_MASK };

/// Sizes and attributes of an attention. Query `row` has position offset + row; a key's
/// position is its number.
typedef struct eg_attention {
  int64_t batch, heads, groups; // batch: product of the leading dimensions of known size
  int64_t rows, keys, depth, columns;
  double scale, softcap; // softcap 0: none
  bool is_safe;          // weights that are NaN become 0
  bool is_rows_first;    // [.., rows, heads, depth]
  bool is_causal;        // a query sees no key after its position
  int64_t window;        // it sees keys less than this away; 0: at any distance
  int64_t offset;
} eg_attention;

/// Returns sizes and attributes of a node that inference accepted; `inputs` are types of
/// queries, keys and values. Attributes may be those of attention or of attention-grad.
eg_attention eg_attention_of(const eg_attrs *attrs, const eg_type *inputs);

/// Returns the dimension of heads, or of rows, of queries, keys, values and results.
static inline uint32_t eg_attention_head_dim(const eg_attention *a, uint32_t rank) {
  return a->is_rows_first ? rank - 2 : rank - 3;
}
static inline uint32_t eg_attention_row_dim(const eg_attention *a, uint32_t rank) {
  return a->is_rows_first ? rank - 3 : rank - 2;
}
/// Returns the type of the scores [.., H, S, T] of queries `q`.
eg_type eg_attention_scores(const eg_attention *a, const eg_type *q);

/// A tensor of `heads` heads (of each batch), `rows` rows and `width` columns.
typedef struct eg_attention_rows {
  int64_t heads, rows, width;
  bool is_rows_first;
} eg_attention_rows;
static inline eg_attention_rows eg_attention_queries(const eg_attention *a) {
  return (eg_attention_rows){a->heads, a->rows, a->depth, a->is_rows_first};
}
static inline eg_attention_rows eg_attention_keys(const eg_attention *a) {
  return (eg_attention_rows){a->groups, a->keys, a->depth, a->is_rows_first};
}
static inline eg_attention_rows eg_attention_values(const eg_attention *a) {
  return (eg_attention_rows){a->groups, a->keys, a->columns, a->is_rows_first};
}
static inline eg_attention_rows eg_attention_results(const eg_attention *a) {
  return (eg_attention_rows){a->heads, a->rows, a->columns, a->is_rows_first};
}
/// Returns the elements from a row of a head to its next row.
static inline int64_t eg_attention_row_step(const eg_attention_rows *x) {
  return x->is_rows_first ? x->heads * x->width : x->width;
}
/// Returns the place of a row of a head, where heads are numbered through all batches.
static inline int64_t eg_attention_place(const eg_attention_rows *x, int64_t head,
                                         int64_t row) {
  if (!x->is_rows_first) return (head * x->rows + row) * x->width;
  return ((head / x->heads * x->rows + row) * x->heads + head % x->heads) * x->width;
}

/// The keys [from, to) that a query sees, apart from a mask.
typedef struct eg_attention_span {
  int64_t from, to;
} eg_attention_span;
static inline eg_attention_span eg_attention_sees(const eg_attention *a, int64_t row) {
  int64_t at = a->offset + row, from = 0, to = a->keys;
  if (a->window > 0 && at - a->window + 1 > from) from = at - a->window + 1;
  if (a->is_causal && at + 1 < to) to = at + 1;
  if (a->window > 0 && at + a->window < to) to = at + a->window;
  if (to < 0) to = 0;
  return (eg_attention_span){.from = from < to ? from : to, .to = to};
}
/// Returns the share of pairs of a query and a key that are seen; 1 if there is no pair,
/// or if sizes are open.
double eg_attention_seen(const eg_attention *a);

#endif
