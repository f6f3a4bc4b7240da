// Import of ONNX Runtime's GroupQueryAttention: rotation, attention, and the keys and
// values [batch, heads, positions, size] that it keeps for the next call.
//
// A call has `length` new positions of each sequence. With `total` equal to `length` it
// is a prompt, which uses no past; otherwise the new positions follow those of the past.
// The operand seqlens_k says how many positions each sequence has after the call. If it
// is known and every sequence has `total`, positions are numbers. Otherwise the sequences
// are padded at the end: results beyond a sequence's own positions are unspecified, and
// past and new positions are joined, and keys hidden, by comparing positions.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "onnx/read/attention.h"
#include "ops/typing.h"

enum {
  QUERY,
  KEY,
  VALUE,
  PAST_KEY,
  PAST_VALUE,
  LENGTHS,
  TOTAL,
  COSINES,
  SINES,
  POSITIONS,
  BIAS,
  SINK,
  FIRST_DECLINED // scales of a quantized past, weights of norms, lengths of queries
};
enum { OUTPUT, PRESENT_KEY, PRESENT_VALUE, SCORES };

typedef struct grouped {
  eg_onnx_builder *write;
  eg_onnx_attention a;
  int64_t rotary, interleaved;
  int64_t batch, size;      // of a head
  int64_t total, capacity;  // positions in all, and of the past's storage
  eg_ref query, key, value; // [batch, length, heads, size]
  eg_ref valid; // int64 [batch]: positions of each sequence; EG_REF_NONE: `total` of all
  eg_ref is_past, row; // place_rows
} grouped;

static bool has_operand(const grouped *g, uint32_t index) {
  return eg_ref_exists(eg_onnx_operand(g->write, index));
}

static bool is_prompt(const grouped *g) { return g->total == g->a.length; }

// ---- attributes and operands --------------------------------------------------------

static egraph_status read_attributes(const eg_onnx_call *call, grouped *g) {
  eg_onnx_attention *a = &g->a;
  int64_t window, smooth;
  EG_TRY(eg_onnx_attr_int(call, "num_heads", 0, &a->heads));
  EG_TRY(eg_onnx_attr_int(call, "kv_num_heads", 0, &a->key_heads));
  EG_TRY(eg_onnx_attr_int(call, "causal", 1, &a->causal));
  EG_TRY(eg_onnx_attr_float(call, "scale", 0, &a->scale));
  EG_TRY(eg_onnx_attr_float(call, "softcap", 0, &a->softcap));
  EG_TRY(eg_onnx_attr_int(call, "local_window_size", -1, &window));
  EG_TRY(eg_onnx_attr_int(call, "smooth_softmax", 0, &smooth));
  EG_TRY(eg_onnx_attr_int(call, "do_rotary", 0, &g->rotary));
  EG_TRY(eg_onnx_attr_int(call, "rotary_interleaved", 0, &g->interleaved));
  if (a->heads < 1 || a->key_heads < 1 || a->heads % a->key_heads != 0)
    return EG_FAIL(EGRAPH_E_PARSE, "%" PRId64 " heads cannot share %" PRId64, a->heads,
                   a->key_heads);
  if (window == 0 || window < -1 || (window > 0 && a->causal == 0))
    return eg_onnx_decline("the window is not one of a causal attention");
  if ((a->causal | smooth | g->rotary | g->interleaved) & ~INT64_C(1))
    return eg_onnx_decline("a switch is neither 0 nor 1");
  a->left = window > 0 ? window - 1 : -1;
  a->has_sink = smooth != 0;
  return EGRAPH_OK;
}

// Declines what is not expressed: scores as a result, a quantized past, a past in which a
// window moves, norms of queries and keys, queries of several lengths.
static egraph_status check_supported(const grouped *g) {
  const eg_onnx_call *call = g->write->call;
  EG_ONNX_INT(scores, call, "qk_output", 0);
  EG_ONNX_INT(moves, call, "sliding_window_cache", 0);
  EG_ONNX_STRING(key_type, call, "k_quant_type", "NONE");
  EG_ONNX_STRING(value_type, call, "v_quant_type", "NONE");
  if (scores != 0 || eg_onnx_has_result(call, SCORES))
    return eg_onnx_decline("scores as a result are not supported");
  if (moves != 0 || strcmp(key_type, "NONE") != 0 || strcmp(value_type, "NONE") != 0)
    return eg_onnx_decline("a quantized past and a moving one are not supported");
  for (uint32_t i = FIRST_DECLINED; i < call->input_count; i++)
    if (has_operand(g, i)) return eg_onnx_decline("an operand is not supported");
  return EGRAPH_OK;
}

// Takes `heads` heads of x [batch, length, heads * size] from column `from` on.
static eg_ref heads_of(const grouped *g, eg_ref x, int64_t from, int64_t heads) {
  const eg_type *type = eg_build_type(&g->write->b, x);
  int64_t width = heads * g->size;
  if (type->rank != 3) return EG_REF_NONE;
  if (type->dims[2] != width) x = eg_onnx_range_of(g->write, x, 2, from, from + width, 1);
  return eg_onnx_part_heads(g->write, x, heads);
}

static egraph_status load_packed(grouped *g, const eg_type *query) {
  int64_t heads = g->a.heads, shared = g->a.key_heads, width = query->dims[2];
  eg_ref all = eg_onnx_operand(g->write, QUERY);
  if (heads > width || shared > (width - heads) / 2 || width % (heads + 2 * shared) != 0)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "packed rows of %" PRId64 " cannot form %" PRId64 " heads and twice "
                   "%" PRId64,
                   width, heads, shared);
  g->size = width / (heads + 2 * shared);
  g->query = heads_of(g, all, 0, heads);
  g->key = heads_of(g, all, heads * g->size, shared);
  g->value = heads_of(g, all, (heads + shared) * g->size, shared);
  return g->write->b.status;
}

static egraph_status load_apart(grouped *g, const eg_type *query) {
  int64_t heads = g->a.heads, width = query->dims[2];
  if (heads > width || width % heads != 0)
    return EG_FAIL(EGRAPH_E_PARSE, "operand 0 cannot form %" PRId64 " heads", heads);
  g->size = width / heads;
  for (uint32_t i = KEY; i <= VALUE; i++) {
    EG_ONNX_TYPE(type, g->write->call, i);
    if (type.rank != 3 || type.dims[0] != query->dims[0] ||
        type.dims[1] != query->dims[1] || type.dims[2] != g->size * g->a.key_heads)
      return EG_FAIL(EGRAPH_E_PARSE, "operand %" PRIu32 " is %s, beside queries %s", i,
                     eg_type_text_of(&type).text, eg_type_text_of(query).text);
    if (type.dtype != query->dtype)
      return eg_onnx_decline("queries, keys and values differ in element type");
  }
  g->query = heads_of(g, eg_onnx_operand(g->write, QUERY), 0, heads);
  g->key = heads_of(g, eg_onnx_operand(g->write, KEY), 0, g->a.key_heads);
  g->value = heads_of(g, eg_onnx_operand(g->write, VALUE), 0, g->a.key_heads);
  return g->write->b.status;
}

static egraph_status load_rows(grouped *g) {
  EG_ONNX_TYPE(query, g->write->call, QUERY);
  if (query.rank != 3 || query.dims[0] < 1 || query.dims[1] < 1)
    return EG_FAIL(EGRAPH_E_PARSE, "queries are %s; they must be [batch, length, width]",
                   eg_type_text_of(&query).text);
  if (has_operand(g, KEY) != has_operand(g, VALUE))
    return EG_FAIL(EGRAPH_E_PARSE, "keys and values come together");
  g->batch = query.dims[0];
  g->a.length = query.dims[1];
  EG_TRY(has_operand(g, KEY) ? load_apart(g, &query) : load_packed(g, &query));
  if (g->a.scale == 0) g->a.scale = 1 / sqrt((double)g->size);
  return EGRAPH_OK;
}

// ---- lengths ------------------------------------------------------------------------

static egraph_status read_past(grouped *g) {
  const eg_type query = *eg_build_type(&g->write->b, g->query);
  eg_type type[2];
  if (has_operand(g, PAST_KEY) != has_operand(g, PAST_VALUE))
    return EG_FAIL(EGRAPH_E_PARSE, "past keys and past values come together");
  if (!has_operand(g, PAST_KEY)) return EGRAPH_OK;
  for (uint32_t i = 0; i < 2; i++) {
    EG_TRY(eg_onnx_input_type(g->write->call, PAST_KEY + i, &type[i]));
    if (type[i].rank != 4 || type[i].dims[0] != g->batch ||
        type[i].dims[1] != g->a.key_heads || type[i].dims[2] != type[0].dims[2] ||
        type[i].dims[3] != g->size)
      return EG_FAIL(EGRAPH_E_PARSE,
                     "the past is %s; it must be [%" PRId64 ",%" PRId64
                     ",positions,%" PRId64 "]",
                     eg_type_text_of(&type[i]).text, g->batch, g->a.key_heads, g->size);
    if (type[i].dtype != query.dtype)
      return eg_onnx_decline("the past has another element type");
  }
  g->capacity = type[0].dims[2];
  return EGRAPH_OK;
}

// Notes the lengths of the sequences if they are not all `total`.
static egraph_status read_lengths(grouped *g) {
  const eg_onnx_call *call = g->write->call;
  eg_builder *b = &g->write->b;
  EG_ONNX_TYPE(type, call, LENGTHS);
  if (type.rank < 1 || eg_type_elements(&type) != g->batch)
    return EG_FAIL(EGRAPH_E_PARSE, "seqlens_k is %s, not one number for each sequence",
                   eg_type_text_of(&type).text);
  if (type.dtype != EGRAPH_INT32) return eg_onnx_decline("seqlens_k is not int32");
  const eg_onnx_tensor *tensor =
      eg_onnx_tensor_at(call->reader, eg_onnx_input(call, LENGTHS));
  bool is_known = tensor->data != NULL, is_equal = is_known;
  for (int64_t i = 0; is_known && i < g->batch; i++) {
    const eg_tensor lengths = eg_onnx_view(tensor);
    int64_t last = eg_tensor_get_int(&lengths, i);
    int64_t least = is_prompt(g) ? 0 : g->a.length - 1;
    if (last < least || last >= g->total)
      return EG_FAIL(EGRAPH_E_PARSE,
                     "seqlens_k has %" PRId64 ", outside of %" PRId64 " to %" PRId64,
                     last, least, g->total - 1);
    is_equal = is_equal && last == g->total - 1;
  }
  if (is_equal) return EGRAPH_OK;
  eg_ref last = EG_ONNX_RESHAPE(g->write, eg_onnx_operand(g->write, LENGTHS), g->batch);
  eg_ref one = eg_onnx_whole(g->write, 1);
  last = eg_build_cast(b, last, EGRAPH_INT64);
  g->valid = EG_BUILD(b, EG_OP_ADD, last, one);
  return b->status;
}

static egraph_status check_lengths(grouped *g) {
  int64_t past = g->capacity;
  EG_TRY(eg_onnx_const_int(g->write->call, TOTAL, "total_sequence_length", false,
                           &g->total));
  bool fits =
      g->total >= g->a.length && (g->total <= past || g->total - g->a.length == past);
  if (!fits) return eg_onnx_decline("the total length is not that of past and new rows");
  if (!is_prompt(g) && g->a.length > 1 && g->batch > 1)
    return eg_onnx_decline("several rows of several sequences follow a past");
  return read_lengths(g);
}

// ---- rotation -----------------------------------------------------------------------

// Emits the positions of the new rows [batch or 1, length]; EG_REF_NONE: they are the
// last ones of `total`. A prompt reads the first of given positions only.
static eg_ref positions_of(const grouped *g) {
  eg_onnx_builder *write = g->write;
  eg_ref given = eg_onnx_operand(write, POSITIONS), first = EG_REF_NONE;
  if (eg_ref_exists(given) && !is_prompt(g)) return given;
  if (eg_ref_exists(given)) {
    first = eg_onnx_range_of(write, given, 0, 0, 1, 1);
    first = eg_onnx_range_of(write, first, 1, 0, 1, 1);
  } else if (eg_ref_exists(g->valid) && !is_prompt(g)) {
    eg_ref length = eg_onnx_whole(write, g->a.length);
    first = EG_BUILD(&write->b, EG_OP_SUB, g->valid, length);
    first = EG_ONNX_RESHAPE(write, first, g->batch, 1);
  }
  if (!eg_ref_exists(first)) return EG_REF_NONE;
  eg_ref count = eg_onnx_count_along(write, 2, 1, 0, g->a.length);
  return EG_BUILD(&write->b, EG_OP_ADD, first, count);
}

static eg_ref rows_of_table(const grouped *g, uint32_t operand, eg_ref positions) {
  eg_ref table = eg_onnx_operand(g->write, operand);
  if (eg_ref_exists(positions))
    return EG_BUILD(&g->write->b, EG_OP_GATHER, table, positions);
  return eg_onnx_range_of(g->write, table, 0, g->total - g->a.length, g->total, 1);
}

static egraph_status check_tables(const grouped *g) {
  const eg_onnx_call *call = g->write->call;
  EG_ONNX_TYPE(cosines, call, COSINES);
  EG_ONNX_TYPE(sines, call, SINES);
  if (!eg_type_same(&cosines, &sines) || cosines.rank != 2 ||
      cosines.dims[0] < g->total || cosines.dims[1] > g->size / 2)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "tables %s and %s do not rotate %" PRId64 " positions of %" PRId64,
                   eg_type_text_of(&cosines).text, eg_type_text_of(&sines).text, g->total,
                   g->size);
  if (!has_operand(g, POSITIONS)) return EGRAPH_OK;
  EG_ONNX_TYPE(at, call, POSITIONS);
  if (at.rank != 2 || at.dims[0] != g->batch || at.dims[1] != g->a.length)
    return EG_FAIL(EGRAPH_E_PARSE, "positions are %s, not [%" PRId64 ",%" PRId64 "]",
                   eg_type_text_of(&at).text, g->batch, g->a.length);
  return EGRAPH_OK;
}

static egraph_status rotate_rows(grouped *g) {
  if (g->rotary == 0) return EGRAPH_OK;
  EG_TRY(check_tables(g));
  eg_ref positions = positions_of(g);
  eg_ref cosines = rows_of_table(g, COSINES, positions);
  eg_ref sines = rows_of_table(g, SINES, positions);
  const eg_attr_list list =
      EG_LIST(ROPE, EG_INT(ROPE_INTERLEAVED, g->interleaved), EG_INT(ROPE_ROWS_FIRST, 1));
  g->query = eg_onnx_write(g->write, list, (const eg_ref[]){g->query, cosines, sines}, 3);
  g->key = eg_onnx_write(g->write, list, (const eg_ref[]){g->key, cosines, sines}, 3);
  return g->write->b.status;
}

// ---- past and present ---------------------------------------------------------------

static eg_ref swap_heads(const grouped *g, eg_ref x) {
  static const int64_t perm[4] = {0, 2, 1, 3};
  return eg_build_transpose(&g->write->b, x, perm);
}

// Adds zeros at the end of positions, up to `count`, or takes the first `count`.
static eg_ref resize(const grouped *g, eg_ref x, int64_t count) {
  const int64_t begins[4] = {0};
  int64_t ends[4] = {0};
  int64_t have = eg_build_type(&g->write->b, x)->dims[2];
  if (have > count) return eg_onnx_range_of(g->write, x, 2, 0, count, 1);
  ends[2] = count - have;
  return have == count ? x : eg_build_pad(&g->write->b, x, begins, ends);
}

// Where each sequence has its own number of positions: emits which positions are past
// [batch, 1, total, 1], and of one sequence the new row that each position behind the
// past has, or the nearest one [total].
static egraph_status place_rows(grouped *g) {
  eg_onnx_builder *write = g->write;
  eg_builder *b = &write->b;
  if (!eg_ref_exists(g->valid) || is_prompt(g)) return EGRAPH_OK;
  eg_ref at = eg_onnx_count_along(write, 4, 2, 0, g->total);
  eg_ref length = eg_onnx_whole(write, g->a.length);
  eg_ref first = EG_BUILD(b, EG_OP_SUB, g->valid, length);
  first = EG_ONNX_RESHAPE(write, first, g->batch, 1, 1, 1);
  g->is_past = EG_BUILD(b, EG_OP_LESS, at, first);
  if (g->a.length == 1) return b->status;
  eg_ref least = eg_onnx_whole(write, 0), most = eg_onnx_whole(write, g->a.length - 1);
  eg_ref row = EG_BUILD(b, EG_OP_SUB, at, first);
  row = EG_BUILD(b, EG_OP_MAX, row, least);
  row = EG_BUILD(b, EG_OP_MIN, row, most);
  g->row = EG_ONNX_RESHAPE(write, row, g->total);
  return b->status;
}

static eg_ref join_by_position(const grouped *g, eg_ref past, eg_ref now) {
  if (g->a.length > 1)
    now = eg_onnx_write(g->write, EG_LIST(GATHER, EG_INT(GATHER_AXIS, 2)),
                        (const eg_ref[]){now, g->row}, 2);
  past = resize(g, past, g->total);
  return EG_BUILD(&g->write->b, EG_OP_WHERE, g->is_past, past, now);
}

// Emits keys or values [batch, heads, total, size] from the past and new rows.
static eg_ref join_past(const grouped *g, uint32_t operand, eg_ref rows) {
  eg_ref now = swap_heads(g, rows), past = eg_onnx_operand(g->write, operand);
  if (is_prompt(g)) return now;
  if (eg_ref_exists(g->valid)) return join_by_position(g, past, now);
  past = resize(g, past, g->total - g->a.length);
  return eg_onnx_concat(g->write, past, now, 2);
}

// ---- the node -----------------------------------------------------------------------

static egraph_status note_scores(grouped *g) {
  eg_onnx_attention *a = &g->a;
  a->mask = eg_onnx_operand(g->write, BIAS);
  a->sink = eg_onnx_operand(g->write, SINK);
  a->has_sink = a->has_sink || eg_ref_exists(a->sink);
  a->is_guarded = a->has_sink && eg_ref_exists(a->mask);
  if (eg_ref_exists(a->mask)) {
    const eg_type *type = eg_build_type(&g->write->b, a->mask);
    if (type->rank != 4 || type->dims[3] != g->total)
      return EG_FAIL(EGRAPH_E_PARSE, "the bias is %s; its rows must have %" PRId64,
                     eg_type_text_of(type).text, g->total);
  }
  if (!eg_ref_exists(a->sink)) return EGRAPH_OK;
  const eg_type *type = eg_build_type(&g->write->b, a->sink);
  if (type->rank != 1 || type->dims[0] != a->heads)
    return EG_FAIL(EGRAPH_E_PARSE, "head_sink is %s, not a number for each head",
                   eg_type_text_of(type).text);
  return EGRAPH_OK;
}

// A prompt reads its own rows, in place. Rows of padding come after all rows of their
// sequence, which do not see them if attention is causal.
static eg_ref attend_prompt(grouped *g) {
  if (g->a.causal == 0) g->a.valid = g->valid;
  g->a.keys = g->a.length;
  return eg_onnx_emit_attention(g->write, &g->a, g->query, g->key, g->value, true);
}

static eg_ref attend_past(grouped *g, eg_ref key, eg_ref value) {
  eg_ref query = swap_heads(g, g->query);
  g->a.valid = g->valid;
  g->a.keys = g->total;
  g->a.past = eg_ref_exists(g->valid) ? 0 : g->total - g->a.length;
  return swap_heads(g, eg_onnx_emit_attention(g->write, &g->a, query, key, value, false));
}

static egraph_status emit_results(grouped *g) {
  eg_onnx_builder *write = g->write;
  const eg_ref rows[2] = {g->key, g->value};
  eg_ref present[2] = {EG_REF_NONE, EG_REF_NONE}, y;
  bool is_wanted[2];
  for (uint32_t i = 0; i < 2; i++) {
    is_wanted[i] = eg_onnx_has_result(write->call, PRESENT_KEY + i);
    if (!is_prompt(g) || is_wanted[i]) present[i] = join_past(g, PAST_KEY + i, rows[i]);
  }
  y = is_prompt(g) ? attend_prompt(g) : attend_past(g, present[0], present[1]);
  y = EG_ONNX_RESHAPE(write, y, g->batch, g->a.length, g->a.heads * g->size);
  int64_t kept = g->total > g->capacity ? g->total : g->capacity;
  for (uint32_t i = 0; i < 2; i++)
    if (is_wanted[i]) present[i] = resize(g, present[i], kept);
  EG_TRY(write->b.status);
  EG_TRY(eg_onnx_finish(write, OUTPUT, y));
  for (uint32_t i = 0; i < 2; i++)
    if (is_wanted[i]) EG_TRY(eg_onnx_finish(write, PRESENT_KEY + i, present[i]));
  return EGRAPH_OK;
}

egraph_status eg_onnx_import_group_query(const eg_onnx_call *call) {
  EG_ONNX_BUILDER(write, call);
  grouped g = {.write = &write,
               .a = {.right = -1, .mask = EG_REF_NONE, .valid = EG_REF_NONE},
               .valid = EG_REF_NONE};
  EG_TRY(read_attributes(call, &g));
  EG_TRY(check_supported(&g));
  EG_TRY(load_rows(&g));
  EG_TRY(read_past(&g));
  EG_TRY(check_lengths(&g));
  EG_TRY(note_scores(&g));
  EG_TRY(rotate_rows(&g));
  EG_TRY(place_rows(&g));
  return emit_results(&g);
}
