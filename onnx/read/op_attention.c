// Import of attention and related operators of language models: causal convolution with a
// state, linear attention. Attention becomes the operator `attention`, or products and
// softmax where its scores are a result or where the softmax has a precision below that
// of the operands. Known positions become constants.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "onnx/read/attention.h"
#include "ops/attention.h"

eg_ref eg_onnx_split_heads(eg_onnx_builder *write, eg_ref x, int64_t heads) {
  static const int64_t perm[4] = {0, 2, 1, 3};
  const eg_type *type = eg_build_type(&write->b, x);
  if (type->rank == 4) return x;
  x = EG_ONNX_RESHAPE(write, x, type->dims[0], type->dims[1], heads,
                      type->dims[2] / heads);
  return eg_build_transpose(&write->b, x, perm);
}

eg_ref eg_onnx_join_heads(eg_onnx_builder *write, eg_ref x) {
  static const int64_t perm[4] = {0, 2, 1, 3};
  const eg_type type = *eg_build_type(&write->b, x);
  x = eg_build_transpose(&write->b, x, perm);
  return EG_ONNX_RESHAPE(write, x, type.dims[0], type.dims[2],
                         type.dims[1] * type.dims[3]);
}

eg_ref eg_onnx_part_heads(eg_onnx_builder *write, eg_ref x, int64_t heads) {
  const eg_type *type = eg_build_type(&write->b, x);
  return EG_ONNX_RESHAPE(write, x, type->dims[0], type->dims[1], heads,
                         type->dims[2] / heads);
}

// Repeats every head `times` times.
static eg_ref repeat_heads(eg_onnx_builder *write, eg_ref x, int64_t times) {
  eg_type type = *eg_build_type(&write->b, x), wide = type;
  if (times == 1) return x;
  for (uint32_t i = type.rank; i > 2; i--)
    wide.dims[i] = type.dims[i - 1];
  wide.rank++;
  wide.dims[2] = 1;
  x = eg_build_reshape(&write->b, x, wide.rank, wide.dims);
  wide.dims[2] = times;
  x = eg_build_expand(&write->b, x, &wide);
  type.dims[1] *= times;
  return eg_build_reshape(&write->b, x, type.rank, type.dims);
}

// ---- attention ----------------------------------------------------------------------

enum { AFTER_PRODUCT, AFTER_SOFTCAP, AFTER_MASK, AFTER_SOFTMAX };

static egraph_status read_attention(const eg_onnx_call *call, eg_onnx_attention *a) {
  EG_TRY(eg_onnx_attr_int(call, "is_causal", 0, &a->causal));
  EG_TRY(eg_onnx_attr_int(call, "q_num_heads", 0, &a->heads));
  EG_TRY(eg_onnx_attr_int(call, "kv_num_heads", 0, &a->key_heads));
  EG_TRY(eg_onnx_attr_int(call, "left_window_size", -1, &a->left));
  EG_TRY(eg_onnx_attr_int(call, "right_window_size", -1, &a->right));
  EG_TRY(eg_onnx_attr_int(call, "qk_matmul_output_mode", 0, &a->mode));
  EG_TRY(eg_onnx_attr_int(call, "softmax_precision", 0, &a->precision));
  EG_TRY(eg_onnx_attr_float(call, "softcap", 0, &a->softcap));
  return eg_onnx_attr_float(call, "scale", 0, &a->scale);
}

// Checks the shapes of query, key and value, whose heads may be joined in one dimension.
static egraph_status check_heads(const eg_onnx_call *call, eg_onnx_attention *a) {
  eg_type type[3];
  for (uint32_t i = 0; i < 3; i++) {
    EG_TRY(eg_onnx_input_type(call, i, &type[i]));
    int64_t heads = i == 0 ? a->heads : a->key_heads;
    if (type[i].rank != type[0].rank || (type[i].rank != 3 && type[i].rank != 4))
      return EG_FAIL(EGRAPH_E_PARSE, "query, key and value must all have rank 3, or 4");
    if (eg_size_is_open(type[i].dims[type[i].rank - 1]) ||
        (type[i].rank == 4 && eg_size_is_open(type[i].dims[1])))
      return eg_onnx_decline("heads or their sizes are not known");
    if (type[i].rank == 3 && (heads < 1 || type[i].dims[2] % heads != 0))
      return EG_FAIL(EGRAPH_E_PARSE, "operand %" PRIu32 " cannot form %" PRId64 " heads",
                     i, heads);
  }
  bool is_flat = type[0].rank == 3;
  if (!is_flat) a->heads = type[0].dims[1];
  if (!is_flat) a->key_heads = type[1].dims[1];
  a->length = type[0].dims[is_flat ? 1 : 2];
  int64_t size = is_flat ? type[0].dims[2] / a->heads : type[0].dims[3];
  if (a->key_heads < 1 || a->heads % a->key_heads != 0)
    return EG_FAIL(EGRAPH_E_PARSE, "%" PRId64 " heads cannot share %" PRId64, a->heads,
                   a->key_heads);
  if (type[1].dtype != type[0].dtype || type[2].dtype != type[0].dtype)
    return eg_onnx_decline("queries, keys and values differ in element type");
  if (eg_onnx_attr(call, "scale") == NULL) a->scale = 1 / sqrt((double)size);
  return EGRAPH_OK;
}

// Emits the scores to add, in the dtype of the queries: 0 where allowed, else
// minus infinity.
static eg_ref bias_of(eg_onnx_builder *write, eg_ref allowed) {
  eg_ref never = eg_build_number(&write->b, -INFINITY);
  return EG_FORMULA(&write->b, "(where a 0 n)", "an", allowed, never);
}

// Gives a mask for the first keys a mark for the keys beyond it.
static eg_ref whole_mask(eg_onnx_builder *write, const eg_onnx_attention *a, eg_ref mask,
                         double mark) {
  eg_type rest = *eg_build_type(&write->b, mask);
  if (rest.rank == 0 || rest.dims[rest.rank - 1] >= a->keys) return mask;
  rest.dims[rest.rank - 1] = a->keys - rest.dims[rest.rank - 1];
  eg_ref marks = eg_build_fill(&write->b, &rest, mark);
  return eg_onnx_concat(write, mask, marks, (int64_t)rest.rank - 1);
}

// Emits the mask as scores to add for all keys: keys beyond the mask get minus infinity.
static eg_ref mask_scores(eg_onnx_builder *write, const eg_onnx_attention *a) {
  bool is_bool = eg_build_type(&write->b, a->mask)->dtype == EGRAPH_BOOL;
  eg_ref mask = is_bool ? bias_of(write, a->mask)
                        : eg_build_cast(&write->b, a->mask, write->b.dtype);
  return whole_mask(write, a, mask, -INFINITY);
}

static eg_ref both(eg_builder *b, eg_ref x, eg_ref y) {
  if (!eg_ref_exists(x)) return y;
  return EG_BUILD(b, EG_OP_AND, x, y);
}

// Emits, by position, which keys [.., length, keys] a query may see; EG_REF_NONE: all.
static eg_ref allowed_keys(eg_onnx_builder *write, const eg_onnx_attention *a) {
  eg_builder *b = &write->b;
  eg_ref allowed = EG_REF_NONE, valid = EG_REF_NONE;
  if (a->causal == 0 && a->left < 0 && a->right < 0 && !eg_ref_exists(a->valid))
    return EG_REF_NONE;
  uint32_t rank = eg_ref_exists(a->valid) ? 4 : 2;
  eg_ref key = eg_onnx_count_along(write, rank, rank - 1, 0, a->keys);
  eg_ref query = eg_onnx_count_along(write, rank, rank - 2, a->past, a->length);
  if (eg_ref_exists(a->valid)) {
    int64_t batch = eg_build_type(b, a->valid)->dims[0];
    valid = EG_ONNX_RESHAPE(write, a->valid, batch, 1, 1, 1);
    eg_ref length = eg_onnx_whole(write, a->length);
    eg_ref first = EG_BUILD(b, EG_OP_SUB, valid, length);
    query = EG_BUILD(b, EG_OP_ADD, query, first);
  }
  eg_ref behind = EG_BUILD(b, EG_OP_SUB, query, key);
  if (a->causal != 0 || a->right >= 0) {
    eg_ref least = eg_onnx_whole(write, a->causal != 0 ? 0 : -a->right);
    allowed = EG_BUILD(b, EG_OP_GREATER_OR_EQUAL, behind, least);
  }
  if (a->left >= 0) {
    eg_ref most = eg_onnx_whole(write, a->left);
    most = EG_BUILD(b, EG_OP_LESS_OR_EQUAL, behind, most);
    allowed = both(b, allowed, most);
  }
  if (eg_ref_exists(valid)) {
    eg_ref inside = EG_BUILD(b, EG_OP_LESS, key, valid);
    allowed = both(b, allowed, inside);
  }
  return allowed;
}

// Emits the scores to add: the mask, and minus infinity by position; EG_REF_NONE: none.
static eg_ref bias_of_all(eg_onnx_builder *write, const eg_onnx_attention *a) {
  eg_ref bias = eg_ref_exists(a->mask) ? mask_scores(write, a) : EG_REF_NONE;
  eg_ref allowed = allowed_keys(write, a);
  if (!eg_ref_exists(allowed)) return bias;
  allowed = bias_of(write, allowed);
  return eg_ref_exists(bias) ? EG_BUILD(&write->b, EG_OP_ADD, bias, allowed) : allowed;
}

// Emits which queries may see no key [.., 1].
static eg_ref blind_queries(eg_onnx_builder *write, eg_ref bias) {
  eg_builder *b = &write->b;
  uint32_t keys = UINT32_C(1) << (eg_build_type(b, bias)->rank - 1);
  eg_ref best = eg_build_reduce(b, EG_OP_REDUCE_MAX, bias, keys, true);
  eg_ref never = eg_build_number(b, -INFINITY);
  return EG_BUILD(b, EG_OP_EQUAL, best, never);
}

// Emits the softmax of the scores; a query that may see no key gets zeros.
static eg_ref probabilities(eg_onnx_builder *write, const eg_onnx_attention *a,
                            eg_ref scores, eg_ref bias) {
  eg_builder *b = &write->b;
  egraph_dtype dtype = b->dtype, precision = dtype;
  if (a->precision != 0) (void)eg_onnx_find_dtype(a->precision, &precision);
  const int64_t axis = (int64_t)eg_build_type(b, scores)->rank - 1;
  scores = eg_build_cast(b, scores, precision);
  scores = eg_onnx_write(write, EG_LIST(SOFTMAX, EG_INT(SOFTMAX_AXIS, axis)), &scores, 1);
  scores = eg_build_cast(b, scores, dtype);
  if (!eg_ref_exists(bias) || eg_build_type(b, bias)->rank == 0) return scores;
  eg_ref blind = blind_queries(write, bias);
  return EG_FORMULA(b, "(where m 0 s)", "ms", blind, scores);
}

// Emits, as products and softmax, attention of queries [batch, heads, length, size] to
// keys and values [batch, heads, keys, ..].
static void emit_parts(eg_onnx_builder *write, const eg_onnx_attention *a, eg_ref query,
                       eg_ref key, eg_ref value, eg_ref *out_y, eg_ref *out_scores) {
  static const int64_t swapped[4] = {0, 1, 3, 2};
  eg_builder *b = &write->b;
  eg_ref root = eg_build_number(b, sqrt(a->scale));
  key = repeat_heads(write, key, a->heads / a->key_heads);
  value = repeat_heads(write, value, a->heads / a->key_heads);
  key = eg_build_transpose(b, key, swapped);
  query = EG_BUILD(b, EG_OP_MUL, query, root);
  key = EG_BUILD(b, EG_OP_MUL, key, root);
  eg_ref scores = EG_BUILD(b, EG_OP_MATMUL, query, key);
  *out_scores = scores;
  if (a->softcap > 0) {
    eg_ref cap = eg_build_number(b, a->softcap);
    scores = EG_FORMULA(b, "(mul c (tanh (div s c)))", "cs", cap, scores);
    if (a->mode == AFTER_SOFTCAP) *out_scores = scores;
  }
  eg_ref bias = bias_of_all(write, a);
  if (eg_ref_exists(bias)) scores = EG_BUILD(b, EG_OP_ADD, scores, bias);
  if (a->mode == AFTER_MASK) *out_scores = scores;
  eg_ref share = probabilities(write, a, scores, bias);
  if (a->mode == AFTER_SOFTMAX) *out_scores = share;
  *out_y = EG_BUILD(b, EG_OP_MATMUL, share, value);
}

// ---- as an operator -----------------------------------------------------------------

// Expresses the positions that a query sees by attributes of the operator, if it can.
static void find_window(eg_onnx_attention *a) {
  int64_t farthest = a->past + a->length + a->keys;
  if (a->left >= farthest) a->left = -1;
  if (a->right >= farthest) a->right = -1;
  bool is_causal = a->causal != 0 || a->right == 0;
  a->has_window = !eg_ref_exists(a->valid) &&
                  (is_causal || (a->left < 0 ? a->right < 0 : a->left == a->right));
  if (!a->has_window) return;
  a->causal = is_causal;
  a->window = a->left < 0 ? 0 : a->left + 1;
}

// True when the operator sums in the precision of the softmax, or in a higher one.
static bool is_precise(const eg_onnx_attention *a, egraph_dtype dtype) {
  egraph_dtype wanted = dtype;
  if (a->precision != 0 && !eg_onnx_find_dtype(a->precision, &wanted)) return false;
  return wanted == dtype || (wanted == EGRAPH_FLOAT32 && dtype != EGRAPH_FLOAT64);
}

// Emits the operator's mask; EG_REF_NONE: none.
static eg_ref operator_mask(eg_onnx_builder *write, const eg_onnx_attention *a) {
  eg_builder *b = &write->b;
  bool is_bool =
      eg_ref_exists(a->mask) && eg_build_type(b, a->mask)->dtype == EGRAPH_BOOL;
  eg_ref mask = a->mask;
  if (is_bool)
    mask = whole_mask(write, a, mask, 0);
  else if (eg_ref_exists(mask))
    mask = mask_scores(write, a);
  if (a->has_window) return mask;
  eg_ref allowed = allowed_keys(write, a);
  if (!eg_ref_exists(mask) || is_bool) return both(b, mask, allowed);
  allowed = bias_of(write, allowed);
  return EG_BUILD(b, EG_OP_ADD, mask, allowed);
}

// True unless every query sees a key by its position: the last one sees the fewest.
static bool may_be_blind(const eg_onnx_attention *a) {
  if (eg_ref_exists(a->mask) || !a->has_window) return true;
  if (a->window == 0) return false;
  const eg_attention seen = {.rows = a->length,
                             .keys = a->keys,
                             .is_causal = a->causal != 0,
                             .window = a->window,
                             .offset = a->past};
  eg_attention_span last = eg_attention_sees(&seen, a->length - 1);
  return last.from >= last.to;
}

// Gives queries that see no key the result 0.
static eg_ref without_blind(eg_onnx_builder *write, const eg_onnx_attention *a, eg_ref y,
                            bool is_rows_first) {
  static const int64_t perm[4] = {0, 2, 1, 3};
  eg_builder *b = &write->b;
  eg_ref bias = bias_of_all(write, a);
  if (!eg_ref_exists(bias) || eg_build_type(b, bias)->rank == 0) return y;
  eg_ref blind = blind_queries(write, bias);
  const eg_type type = *eg_build_type(b, blind);
  eg_type wide = {.rank = 4, .dims = {1, 1, 1, 1}};
  if (b->status != EGRAPH_OK) return EG_REF_NONE;
  memcpy(wide.dims + (4 - type.rank), type.dims, type.rank * sizeof *type.dims);
  blind = eg_build_reshape(b, blind, wide.rank, wide.dims);
  if (is_rows_first) blind = eg_build_transpose(b, blind, perm);
  return EG_FORMULA(b, "(where m 0 y)", "my", blind, y);
}

// Emits the output of a softmax that has one more score, whose value is 0: the share of
// the other scores, of which `sums` are the logarithms of the sums of exponentials.
static eg_ref share_of_rows(eg_onnx_builder *write, const eg_onnx_attention *a, eg_ref y,
                            eg_ref sums, bool is_rows_first) {
  static const int64_t perm[4] = {0, 2, 1, 3};
  eg_builder *b = &write->b;
  const eg_type rows = *eg_build_type(b, sums);
  eg_ref share = sums;
  if (eg_ref_exists(a->sink)) {
    eg_ref sink = eg_build_cast(b, a->sink, rows.dtype);
    sink = EG_ONNX_RESHAPE(write, sink, 1, a->heads, 1);
    share = EG_BUILD(b, EG_OP_SUB, sums, sink);
  }
  share = EG_BUILD(b, EG_OP_SIGMOID, share);
  share = eg_build_cast(b, share, eg_build_type(b, y)->dtype);
  share = EG_ONNX_RESHAPE(write, share, rows.dims[0], rows.dims[1], rows.dims[2], 1);
  if (is_rows_first) share = eg_build_transpose(b, share, perm);
  return EG_BUILD(b, EG_OP_MUL, y, share);
}

eg_ref eg_onnx_emit_attention(eg_onnx_builder *write, eg_onnx_attention *a, eg_ref query,
                              eg_ref key, eg_ref value, bool is_rows_first) {
  find_window(a);
  eg_ref mask = operator_mask(write, a), results[2];
  const eg_ref operands[] = {query, key, value, mask};
  const eg_attr_list list =
      EG_LIST(ATTENTION, EG_FLOAT(ATTENTION_SCALE, a->scale),
              EG_INT(ATTENTION_CAUSAL, a->has_window && a->causal != 0),
              EG_INT(ATTENTION_WINDOW, a->window),
              EG_INT(ATTENTION_OFFSET,
                     a->has_window && (a->causal != 0 || a->window != 0) ? a->past : 0),
              EG_FLOAT(ATTENTION_SOFTCAP, a->softcap > 0 ? a->softcap : 0),
              EG_INT(ATTENTION_ROWS_FIRST, is_rows_first));
  eg_build_results(&write->b, list.op, list.slots, operands, eg_ref_exists(mask) ? 4 : 3,
                   results);
  eg_ref y = results[0];
  if (a->has_sink) y = share_of_rows(write, a, y, results[1], is_rows_first);
  return a->is_guarded && may_be_blind(a) ? without_blind(write, a, y, is_rows_first) : y;
}

// ---- the node -----------------------------------------------------------------------

// Emits attention of operands with joined heads and without a past, which stay where a
// projection leaves them.
static eg_ref attend_rows(eg_onnx_builder *write, eg_onnx_attention *a,
                          const eg_onnx_attended *x) {
  eg_ref query = eg_onnx_part_heads(write, x->query, a->heads);
  eg_ref key = eg_onnx_part_heads(write, x->key, a->key_heads);
  eg_ref value = eg_onnx_part_heads(write, x->value, a->key_heads);
  a->keys = eg_build_type(&write->b, key)->dims[1];
  eg_ref y = eg_onnx_emit_attention(write, a, query, key, value, true);
  const eg_type type = *eg_build_type(&write->b, y);
  return EG_ONNX_RESHAPE(write, y, type.dims[0], type.dims[1],
                         type.dims[2] * type.dims[3]);
}

static egraph_status import_rows(eg_onnx_builder *write, eg_onnx_attention *a,
                                 const eg_onnx_attended *x) {
  const eg_ref now[] = {x->key, x->value};
  eg_ref y = attend_rows(write, a, x);
  EG_TRY(eg_onnx_finish(write, 0, y));
  for (uint32_t i = 0; i < 2; i++)
    if (eg_onnx_has_result(write->call, i + 1))
      EG_TRY(
          eg_onnx_finish(write, i + 1, eg_onnx_split_heads(write, now[i], a->key_heads)));
  return EGRAPH_OK;
}

static egraph_status import_heads(eg_onnx_builder *write, eg_onnx_attention *a,
                                  const eg_onnx_attended *x, bool is_operator) {
  bool is_flat = eg_build_type(&write->b, x->query)->rank == 3;
  eg_ref query = eg_onnx_split_heads(write, x->query, a->heads);
  eg_ref key = eg_onnx_split_heads(write, x->key, a->key_heads);
  eg_ref value = eg_onnx_split_heads(write, x->value, a->key_heads), y,
         scores = EG_REF_NONE;
  if (eg_ref_exists(x->past_key)) {
    a->past = eg_build_type(&write->b, x->past_key)->dims[2];
    key = eg_onnx_concat(write, x->past_key, key, 2);
    value = eg_onnx_concat(write, x->past_value, value, 2);
  }
  a->keys = eg_build_type(&write->b, key)->dims[2];
  if (is_operator)
    y = eg_onnx_emit_attention(write, a, query, key, value, false);
  else
    emit_parts(write, a, query, key, value, &y, &scores);
  if (is_flat) y = eg_onnx_join_heads(write, y);
  EG_TRY(write->b.status);
  EG_TRY(eg_onnx_finish(write, 0, y));
  EG_TRY(eg_onnx_finish(write, 1, key));
  EG_TRY(eg_onnx_finish(write, 2, value));
  return is_operator ? EGRAPH_OK : eg_onnx_finish(write, 3, scores);
}

// Declines open sizes where positions are data: a window, a past, or a mask besides a
// causal one.
static egraph_status check_open(eg_onnx_builder *write, const eg_onnx_attention *a,
                                const eg_onnx_attended *x, bool is_operator) {
  if (!eg_onnx_reads_open(write->call)) return EGRAPH_OK;
  const eg_type *key = eg_build_type(&write->b, x->key);
  int64_t keys = key->dims[key->rank - 2];
  bool is_known = is_operator && a->left < 0 && a->right < 0 &&
                  !eg_ref_exists(a->valid) && !eg_ref_exists(x->past_key);
  if (is_known && eg_ref_exists(a->mask)) {
    const eg_type *mask = eg_build_type(&write->b, a->mask);
    is_known = a->causal == 0 && (mask->rank == 0 || mask->dims[mask->rank - 1] == keys);
  }
  return is_known ? EGRAPH_OK : eg_onnx_decline("it needs the sizes of all dimensions");
}

egraph_status eg_onnx_attend(eg_onnx_builder *write, eg_onnx_attention *a,
                             const eg_onnx_attended *x) {
  if (eg_ref_exists(x->past_key) != eg_ref_exists(x->past_value))
    return EG_FAIL(EGRAPH_E_PARSE, "past keys and past values come together");
  const eg_type type = *eg_build_type(&write->b, x->query);
  bool is_operator = !eg_onnx_has_result(write->call, 3) && is_precise(a, type.dtype);
  EG_TRY(check_open(write, a, x, is_operator));
  if (type.rank == 3 && is_operator && !eg_ref_exists(x->past_key))
    return import_rows(write, a, x);
  return import_heads(write, a, x, is_operator);
}

egraph_status eg_onnx_import_attention(const eg_onnx_call *call) {
  eg_onnx_attention a = {.is_guarded = true};
  egraph_dtype ignored;
  EG_TRY(read_attention(call, &a));
  EG_TRY(check_heads(call, &a));
  if (a.scale < 0 || a.left < -1 || a.right < -1 || a.mode < 0 || a.mode > AFTER_SOFTMAX)
    return EG_FAIL(EGRAPH_E_PARSE, "an attribute is out of its range");
  if (a.precision != 0 && !eg_onnx_find_dtype(a.precision, &ignored))
    return eg_onnx_decline("the precision of the softmax is not supported");
  EG_ONNX_BUILDER(write, call);
  const eg_onnx_attended x = {eg_onnx_operand(&write, 0), eg_onnx_operand(&write, 1),
                              eg_onnx_operand(&write, 2), eg_onnx_operand(&write, 4),
                              eg_onnx_operand(&write, 5)};
  a.mask = eg_onnx_operand(&write, 3);
  a.valid = eg_onnx_operand(&write, 6);
  return eg_onnx_attend(&write, &a, &x);
}

// ---- causal convolution -------------------------------------------------------------

egraph_status eg_onnx_import_causal_conv(const eg_onnx_call *call) {
  static const int64_t one = 1, none[2] = {0, 0};
  EG_ONNX_TYPE(x, call, 0);
  EG_ONNX_TYPE(w, call, 1);
  EG_ONNX_STRING(activation, call, "activation", "none");
  bool gated = strcmp(activation, "silu") == 0 || strcmp(activation, "swish") == 0;
  if (x.rank != 3 || w.rank != 3 || w.dims[2] < 1 ||
      (!gated && strcmp(activation, "none") != 0))
    return EG_FAIL(EGRAPH_E_PARSE, "operands [batch, channels, length] and an activation "
                                   "'none', 'silu' or 'swish' are needed");
  EG_ONNX_BUILDER(write, call);
  eg_builder *b = &write.b;
  eg_ref input = eg_onnx_operand(&write, 0), bias = eg_onnx_operand(&write, 2);
  eg_ref state = eg_onnx_operand(&write, 3), past;
  const eg_type before = {
      .dtype = x.dtype, .rank = 3, .dims = {x.dims[0], x.dims[1], w.dims[2] - 1}};
  past = eg_ref_exists(state) ? state : eg_build_fill(b, &before, 0);
  input = eg_onnx_concat(&write, past, input, 2);
  eg_ref y = eg_onnx_write(
      &write,
      EG_LIST(CONV, EG_INTS(CONV_STRIDES, &one, 1), EG_INTS(CONV_PADS, none, 2),
              EG_INTS(CONV_DILATIONS, &one, 1), EG_INT(CONV_GROUP, x.dims[1])),
      (const eg_ref[]){input, eg_onnx_operand(&write, 1), bias},
      eg_ref_exists(bias) ? 3 : 2);
  if (gated) y = EG_BUILD(b, EG_OP_SILU, y);
  EG_TRY(b->status);
  int64_t all = eg_build_type(b, input)->dims[2];
  eg_ref kept = eg_onnx_range_of(&write, input, 2, all - (w.dims[2] - 1), all, 1);
  EG_TRY(b->status);
  EG_TRY(eg_onnx_finish(&write, 0, y));
  return eg_onnx_finish(&write, 1, kept);
}

// ---- linear attention ---------------------------------------------------------------

enum { MOST_STEPS = 64 }; // longer sequences would make graphs too large

typedef struct linear {
  int64_t heads, key_heads, steps;
  double scale;
  bool has_decay, has_beta;
  eg_ref query, key, value, decay, beta; // [batch, heads, steps, ..] in float32
} linear;

// Converts an operand [batch, steps, n] to [batch, heads, steps, n / heads], in float32.
static eg_ref unpacked(eg_onnx_builder *write, uint32_t operand, int64_t heads) {
  eg_ref x = eg_onnx_split_heads(write, eg_onnx_operand(write, operand), heads);
  return eg_build_cast(&write->b, x, EGRAPH_FLOAT32);
}

// Takes step `at` of x, as a column [.., n, 1] or a row [.., 1, n].
static eg_ref step_of(eg_onnx_builder *write, eg_ref x, int64_t at, bool is_column) {
  static const int64_t swapped[4] = {0, 1, 3, 2};
  x = eg_onnx_range_of(write, x, 2, at, at + 1, 1);
  return is_column ? eg_build_transpose(&write->b, x, swapped) : x;
}

// Emits the state [batch, heads, key, value] after a step.
static eg_ref next_state(eg_onnx_builder *write, const linear *a, eg_ref state,
                         int64_t at) {
  eg_builder *b = &write->b;
  eg_ref column = step_of(write, a->key, at, true);
  eg_ref value = step_of(write, a->value, at, false);
  if (a->has_decay) {
    eg_ref decay = step_of(write, a->decay, at, true);
    state = EG_FORMULA(b, "(mul s (exp d))", "sd", state, decay);
  }
  if (a->has_beta) {
    eg_ref row = step_of(write, a->key, at, false);
    eg_ref beta = step_of(write, a->beta, at, false);
    value =
        EG_FORMULA(b, "(mul b (sub v (matmul k s)))", "bvks", beta, value, row, state);
  }
  return EG_FORMULA(b, "(add s (mul k v))", "skv", state, column, value);
}

static egraph_status read_linear(const eg_onnx_call *call, linear *a) {
  EG_ONNX_TYPE(query, call, 0);
  EG_ONNX_TYPE(key, call, 1);
  EG_ONNX_TYPE(value, call, 2);
  EG_TRY(eg_onnx_attr_int(call, "q_num_heads", 0, &a->heads));
  EG_TRY(eg_onnx_attr_int(call, "kv_num_heads", 0, &a->key_heads));
  EG_TRY(eg_onnx_attr_float(call, "scale", 0, &a->scale));
  EG_ONNX_STRING(rule, call, "update_rule", "gated_delta");
  a->has_decay = strcmp(rule, "gated") == 0 || strcmp(rule, "gated_delta") == 0;
  a->has_beta = strcmp(rule, "delta") == 0 || strcmp(rule, "gated_delta") == 0;
  if (query.rank != 3 || key.rank != 3 || value.rank != 3 || a->heads < 1 ||
      a->key_heads < 1 || a->heads % a->key_heads != 0 || query.dims[2] % a->heads != 0 ||
      key.dims[2] % a->key_heads != 0 || value.dims[2] % a->key_heads != 0)
    return EG_FAIL(EGRAPH_E_PARSE, "query, key and value cannot form these heads");
  if ((a->has_decay && eg_onnx_input(call, 4).id == EG_ONNX_NONE.id) ||
      (a->has_beta && eg_onnx_input(call, 5).id == EG_ONNX_NONE.id))
    return EG_FAIL(EGRAPH_E_PARSE, "the rule '%.40s' needs another operand", rule);
  a->steps = query.dims[1];
  if (a->steps < 1 || a->steps > MOST_STEPS)
    return eg_onnx_decline("the sequence is too long to write its steps down");
  if (a->scale == 0) a->scale = 1 / sqrt((double)(query.dims[2] / a->heads));
  return EGRAPH_OK;
}

static void load_linear(eg_onnx_builder *write, linear *a) {
  a->query = unpacked(write, 0, a->heads);
  a->key = unpacked(write, 1, a->key_heads);
  a->value = unpacked(write, 2, a->key_heads);
  if (a->has_decay) a->decay = unpacked(write, 4, a->key_heads);
  if (a->has_beta) {
    int64_t last = eg_build_type(&write->b, eg_onnx_operand(write, 5))->dims[2];
    a->beta = unpacked(write, 5, last == 1 ? 1 : a->key_heads);
  }
}

egraph_status eg_onnx_import_linear_attention(const eg_onnx_call *call) {
  linear a = {0};
  EG_TRY(read_linear(call, &a));
  EG_ONNX_BUILDER(write, call);
  eg_builder *b = &write.b;
  egraph_dtype dtype = b->dtype, state_dtype = dtype;
  b->dtype = EGRAPH_FLOAT32;
  load_linear(&write, &a);
  EG_TRY(b->status);
  eg_ref state = eg_onnx_operand(&write, 3), y = EG_REF_NONE;
  if (eg_ref_exists(state)) {
    state_dtype = eg_build_type(b, state)->dtype;
    state = eg_build_cast(b, state, EGRAPH_FLOAT32);
  } else {
    const eg_type *k = eg_build_type(b, a.key), *v = eg_build_type(b, a.value);
    const eg_type zeros = {.dtype = EGRAPH_FLOAT32,
                           .rank = 4,
                           .dims = {k->dims[0], k->dims[1], k->dims[3], v->dims[3]}};
    state = eg_build_fill(b, &zeros, 0);
  }
  eg_ref scale = eg_build_number(b, a.scale);
  for (int64_t at = 0; at < a.steps; at++) {
    state = next_state(&write, &a, state, at);
    eg_ref query = step_of(&write, a.query, at, false);
    eg_ref read = repeat_heads(&write, state, a.heads / a.key_heads);
    eg_ref row = EG_FORMULA(b, "(mul c (matmul q s))", "cqs", scale, query, read);
    y = at == 0 ? row : eg_onnx_concat(&write, y, row, 2);
  }
  y = eg_build_cast(b, eg_onnx_join_heads(&write, y), dtype);
  state = eg_build_cast(b, state, state_dtype);
  EG_TRY(b->status);
  EG_TRY(eg_onnx_finish(&write, 0, y));
  return eg_onnx_finish(&write, 1, state);
}
