// Attention as importers describe it: of the standard's operator and of ONNX Runtime's.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_ONNX_READ_ATTENTION_H
#define EG_ONNX_READ_ATTENTION_H

#include "onnx/read/build.h"

typedef struct eg_onnx_attention {
  int64_t causal, heads, key_heads, left, right, mode, precision;
  double scale, softcap;
  int64_t length, keys, past; // numbers of positions: queries, all keys, past keys
  eg_ref mask, valid;         // operands: added scores or bool; number of valid keys
  bool is_guarded;            // a query that sees no key gets zeros
  bool has_sink;              // a softmax has one more score, whose value is 0:
  eg_ref sink;                // [heads], or EG_REF_NONE: 0
  bool has_window;            // positions are attributes of the operator: `window`
  int64_t window;
} eg_onnx_attention;

/// The operands of attention: queries, keys and values of rank 3, with joined heads, or
/// 4; the past keys and values, or EG_REF_NONE.
typedef struct eg_onnx_attended {
  eg_ref query, key, value, past_key, past_value;
} eg_onnx_attended;

/// Reshapes [batch, length, heads * size] to [batch, heads, length, size], and back.
/// Splitting returns a tensor with four dimensions as it is.
eg_ref eg_onnx_split_heads(eg_onnx_builder *write, eg_ref x, int64_t heads);
eg_ref eg_onnx_join_heads(eg_onnx_builder *write, eg_ref x);
/// Reshapes [batch, length, heads * size] to [batch, length, heads, size].
eg_ref eg_onnx_part_heads(eg_onnx_builder *write, eg_ref x, int64_t heads);
/// Emits attention as the operator, on operands with heads or with rows first. Numbers of
/// positions are set; finds out whether the operator can express them.
eg_ref eg_onnx_emit_attention(eg_onnx_builder *write, eg_onnx_attention *a, eg_ref query,
                              eg_ref key, eg_ref value, bool is_rows_first);
/// Emits attention as the operator or as its parts, and the results of the node: output,
/// present keys and values, scores.
egraph_status eg_onnx_attend(eg_onnx_builder *write, eg_onnx_attention *a,
                             const eg_onnx_attended *x);

#endif
