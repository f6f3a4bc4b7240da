// Attention (FlashAttention, section 2): softmax(scale q k^T + mask) v without a stored
// table of scores. Sizes and loops of `attention` and `attention-grad`, and the keys that
// a query sees. Letters of dimensions:
//
//   queries [.., H, S, D]   keys [.., G, T, D]   values [.., G, T, E]
//   result  [.., H, S, E]   logarithms of the sums of exponentials [.., H, S]
//
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
  bool is_causal;        // a query sees no key after its position
  int64_t window;        // it sees keys less than this away; 0: at any distance
  int64_t offset;
} eg_attention;

/// Returns sizes and attributes of a node that inference accepted; `inputs` are types of
/// queries, keys and values. Attributes may be those of attention or of attention-grad.
eg_attention eg_attention_of(const eg_attrs *attrs, const eg_type *inputs);

/// The keys [from, to) that a query sees, apart from a mask.
typedef struct eg_attention_keys {
  int64_t from, to;
} eg_attention_keys;
static inline eg_attention_keys eg_attention_sees(const eg_attention *a, int64_t row) {
  int64_t at = a->offset + row, from = 0, to = a->keys;
  if (a->window > 0 && at - a->window + 1 > from) from = at - a->window + 1;
  if (a->is_causal && at + 1 < to) to = at + 1;
  if (a->window > 0 && at + a->window < to) to = at + a->window;
  if (to < 0) to = 0;
  return (eg_attention_keys){.from = from < to ? from : to, .to = to};
}
/// Returns the share of pairs of a query and a key that are seen; 1 if there is no pair,
/// or if sizes are open.
double eg_attention_seen(const eg_attention *a);

#endif
