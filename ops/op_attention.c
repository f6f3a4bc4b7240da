// Types, loops and work of attention and its gradient. Key positions are whole on every
// device, because each row is normalized over all keys.
// SPDX-License-Identifier: Apache-2.0
#include "ops/attention.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/typing.h"

// Attributes have the same slots in both operators.
enum { SCALE, CAUSAL, WINDOW, OFFSET, SOFTCAP, SAFE, ROWS_FIRST };

eg_attention eg_attention_of(const eg_attrs *attrs, const eg_type *inputs) {
  const eg_type *q = &inputs[EG_ATTENTION_Q], *k = &inputs[EG_ATTENTION_K];
  const eg_type *v = &inputs[EG_ATTENTION_V];
  bool is_rows_first = attrs->slots[ROWS_FIRST].i != 0;
  uint32_t head = q->rank - 3 + is_rows_first, row = q->rank - 2 - is_rows_first;
  eg_attention a = {.batch = 1,
                    .heads = q->dims[head],
                    .groups = k->dims[head],
                    .rows = q->dims[row],
                    .keys = k->dims[row],
                    .depth = q->dims[q->rank - 1],
                    .columns = v->dims[v->rank - 1],
                    .scale = attrs->slots[SCALE].f,
                    .softcap = attrs->slots[SOFTCAP].f,
                    .is_safe = attrs->slots[SAFE].i != 0,
                    .is_rows_first = is_rows_first,
                    .is_causal = attrs->slots[CAUSAL].i != 0,
                    .window = attrs->slots[WINDOW].i,
                    .offset = attrs->slots[OFFSET].i};
  for (uint32_t dim = 0; dim + 3 < q->rank; dim++)
    a.batch = eg_size_is_open(q->dims[dim]) ? a.batch : a.batch * q->dims[dim];
  return a;
}

eg_type eg_attention_scores(const eg_attention *a, const eg_type *q) {
  eg_type scores = eg_type_of(q->dtype, q->rank, q->dims);
  scores.dims[q->rank - 3] = a->heads;
  scores.dims[q->rank - 2] = a->rows;
  scores.dims[q->rank - 1] = a->keys;
  return scores;
}

// ---- types ----------------------------------------------------------------------

static egraph_status check_attributes(const eg_typing *node) {
  const eg_attr *slots = node->attrs->slots;
  int64_t window = slots[WINDOW].i, offset = slots[OFFSET].i;
  double scale = slots[SCALE].f, softcap = slots[SOFTCAP].f;
  if (window < 0 || window > EG_ATTENTION_MAX_POSITION)
    return eg_typing_fail(node,
                          "attribute window is %" PRId64
                          "; it is a number of keys up to 2^40, or 0 for all keys",
                          window);
  if (offset < -EG_ATTENTION_MAX_POSITION || offset > EG_ATTENTION_MAX_POSITION)
    return eg_typing_fail(node, "attribute offset is %" PRId64 "; positions end at 2^40",
                          offset);
  if (!isfinite(scale))
    return eg_typing_fail(node, "attribute scale is %g; it must be finite", scale);
  if (!isfinite(softcap) || softcap < 0)
    return eg_typing_fail(
        node, "attribute softcap is %g; it must be positive, or 0 for none", softcap);
  return EGRAPH_OK;
}

// Checks that no query has a position beyond the last, also in a part of the queries.
static egraph_status check_positions(const eg_typing *node, uint32_t at) {
  int64_t offset = node->attrs->slots[OFFSET].i;
  int64_t rows = eg_attention_of(node->attrs, &node->inputs[at]).rows;
  if (eg_size_is_open(rows) || offset + rows <= EG_ATTENTION_MAX_POSITION)
    return EGRAPH_OK;
  return eg_typing_fail(node,
                        "attribute offset is %" PRId64 ": the last of %" PRId64
                        " queries is beyond position 2^40",
                        offset, rows);
}

// True when all dimensions agree, apart from those of a set of bits.
static bool agrees_except(const eg_type *a, const eg_type *b, uint32_t except) {
  if (a->dtype != b->dtype || a->rank != b->rank) return false;
  for (uint32_t dim = 0; dim < a->rank; dim++)
    if ((except >> dim & 1) == 0 && !eg_size_agree(a->dims[dim], b->dims[dim]))
      return false;
  return true;
}

// Checks queries, keys and values, which begin at operand `at`.
static egraph_status check_heads(const eg_typing *node, uint32_t at) {
  const eg_type *q = &node->inputs[at + EG_ATTENTION_Q];
  const eg_type *k = &node->inputs[at + EG_ATTENTION_K];
  const eg_type *v = &node->inputs[at + EG_ATTENTION_V];
  bool is_rows_first = node->attrs->slots[ROWS_FIRST].i != 0;
  if (q->rank < 3)
    return eg_typing_fail(node, "operand %u (queries) is %s; it must be [.., %s, depth]",
                          at + EG_ATTENTION_Q, eg_type_text_of(q).text,
                          is_rows_first ? "rows, heads" : "heads, rows");
  uint32_t depth = UINT32_C(1) << (q->rank - 1);
  if (!agrees_except(k, q, depth >> 1 | depth >> 2))
    return eg_typing_fail(node,
                          "operand %u (keys) is %s; queries %s need [.., %s, depth] of "
                          "the same dtype, leading dimensions and depth",
                          at + EG_ATTENTION_K, eg_type_text_of(k).text,
                          eg_type_text_of(q).text,
                          is_rows_first ? "keys, heads" : "heads, keys");
  if (!agrees_except(v, k, depth))
    return eg_typing_fail(node,
                          "operand %u (values) is %s; keys %s need the same dtype and "
                          "dimensions, except the last",
                          at + EG_ATTENTION_V, eg_type_text_of(v).text,
                          eg_type_text_of(k).text);
  eg_attention a = eg_attention_of(node->attrs, q);
  int64_t heads = a.heads, groups = a.groups;
  bool divides = eg_size_is_open(heads) || eg_size_is_open(groups)
                     ? heads == groups
                     : groups == heads || (groups > 0 && heads % groups == 0);
  if (!divides)
    return eg_typing_fail(node,
                          "operand %u (keys) is %s; the heads of the queries %s must be "
                          "a multiple of its heads",
                          at + EG_ATTENTION_K, eg_type_text_of(k).text,
                          eg_type_text_of(q).text);
  return EGRAPH_OK;
}

static egraph_status check_mask(const eg_typing *node, uint32_t at) {
  const eg_type *q = &node->inputs[at + EG_ATTENTION_Q];
  const eg_attention a = eg_attention_of(node->attrs, q);
  const eg_type scores = eg_attention_scores(&a, q);
  uint32_t place = node->count - 1;
  const eg_type *mask = &node->inputs[place];
  bool is_mask = mask->dtype == EGRAPH_BOOL || mask->dtype == q->dtype;
  if (is_mask && eg_broadcasts_to(mask, &scores)) return EGRAPH_OK;
  return eg_typing_fail(node,
                        "operand %u (mask) is %s; it must be bool or %s, and broadcast "
                        "to %s",
                        place, eg_type_text_of(mask).text, eg_dtype_name(q->dtype),
                        eg_type_text_of(&scores).text);
}

// Makes the types of both results for queries, keys and values from operand `at` on.
static void make_results(const eg_typing *node, uint32_t at, eg_type out[2]) {
  const eg_type *q = &node->inputs[at + EG_ATTENTION_Q];
  const eg_type *v = &node->inputs[at + EG_ATTENTION_V];
  out[0] = eg_type_of(q->dtype, q->rank, q->dims);
  out[0].dims[q->rank - 1] = v->dims[v->rank - 1];
  egraph_dtype dtype = q->dtype == EGRAPH_FLOAT64 ? EGRAPH_FLOAT64 : EGRAPH_FLOAT32;
  const eg_attention a = eg_attention_of(node->attrs, q);
  const eg_type scores = eg_attention_scores(&a, q);
  out[1] = eg_type_of(dtype, q->rank - 1, scores.dims);
}

egraph_status eg_infer_attention(const eg_typing *node, eg_type *out) {
  EG_TRY(check_attributes(node));
  EG_TRY(check_heads(node, 0));
  EG_TRY(check_positions(node, 0));
  if (node->count > EG_ATTENTION_MASK) EG_TRY(check_mask(node, 0));
  make_results(node, 0, out);
  return EGRAPH_OK;
}

enum { GRAD_OUT = 4, GRAD_SUMS, GRAD_MASK };

egraph_status eg_infer_attention_grad(const eg_typing *node, eg_type *out) {
  static const struct {
    uint32_t operand, result;
    const char *name;
  } made[] = {{0, 0, "cotangent"}, {GRAD_OUT, 0, "output"}, {GRAD_SUMS, 1, "sums"}};
  EG_TRY(check_attributes(node));
  EG_TRY(check_heads(node, 1));
  EG_TRY(check_positions(node, 1));
  if (node->count > GRAD_MASK) EG_TRY(check_mask(node, 1));
  eg_type results[2];
  make_results(node, 1, results);
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
    const eg_type *have = &node->inputs[made[i].operand],
                  *want = &results[made[i].result];
    if (have->dtype != want->dtype || !eg_type_agrees(have, want))
      return eg_typing_fail(node, "operand %u (%s) is %s; it must be %s", made[i].operand,
                            made[i].name, eg_type_text_of(have).text,
                            eg_type_text_of(want).text);
  }
  for (uint32_t i = 0; i < 3; i++)
    out[i] = eg_type_like(&node->inputs[1 + i]);
  return EGRAPH_OK;
}

// ---- loops ----------------------------------------------------------------------

static const char MASK[] = "hst"; // the only tensor that may lack or repeat dimensions

// The last dimensions of each operand and result, by loop; 'h' is indexed by the loops of
// groups 'g' and of the members 'm' of a group. Leading dimensions are the batch. There
// is a row for each value of rows_first.
typedef struct loops {
  const char *inputs[GRAD_MASK + 1], *results[3];
  int64_t depths, columns; // products of length D and E for each query and key
} loops;
static const loops forward[] = {{{"hsd", "gtd", "gte", MASK}, {"hse", "hs"}, 1, 1},
                                {{"shd", "tgd", "tge", MASK}, {"she", "hs"}, 1, 1}};
static const loops backward[] = {
    {{"hse", "hsd", "gtd", "gte", "hse", "hs", MASK}, {"hsd", "gtd", "gte"}, 3, 2},
    {{"she", "shd", "tgd", "tge", "she", "hs", MASK}, {"shd", "tgd", "tge"}, 3, 2}};

// Returns the dimension of a tensor that a loop indexes, or EG_NO_DIM. `whole`: the size
// of the scores' dimension.
static int8_t dim_of(const eg_type *type, const char *dims, char loop, int64_t whole) {
  const char *at = strchr(dims, loop);
  if (at == NULL && (loop == 'g' || loop == 'm')) at = strchr(dims, 'h');
  if (at == NULL) return EG_NO_DIM;
  int dim = (int)type->rank - (int)strlen(dims) + (int)(at - dims);
  bool is_repeated = dim >= 0 && dims == MASK && type->dims[dim] == 1 && whole != 1;
  return dim < 0 || is_repeated ? EG_NO_DIM : (int8_t)dim;
}

static eg_factor *add_loop(const eg_typing *node, const loops *of, char loop,
                           eg_factor_kind kind, int64_t size, int64_t whole,
                           eg_factors *out) {
  eg_factor *factor = eg_factors_add(out, kind, size);
  for (uint32_t i = 0; i < node->count; i++)
    factor->input_dim[i] = dim_of(&node->inputs[i], of->inputs[i], loop, whole);
  for (uint32_t r = 0; r < node->result_count; r++)
    factor->output_dim[r] = dim_of(&node->results[r], of->results[r], loop, whole);
  return factor;
}

// Adds the loop of a leading dimension, which a mask may lack or repeat.
static void add_batch(const eg_typing *node, const loops *of, uint32_t dim,
                      const eg_type *q, eg_factors *out) {
  eg_factor *factor = eg_factors_add(out, EG_FACTOR_PARALLEL, q->dims[dim]);
  for (uint32_t i = 0; i < node->count; i++) {
    int at =
        of->inputs[i] == MASK ? eg_broadcast_dim(&node->inputs[i], q, dim) : (int)dim;
    factor->input_dim[i] = (int8_t)at;
  }
  for (uint32_t r = 0; r < node->result_count; r++)
    factor->output_dim[r] = (int8_t)dim;
}

// Splitting the queries, or the heads of a group, leaves partial sums of the gradients of
// keys and values. Splitting the columns of values repeats the scores.
static void add_loops(const eg_typing *node, bool is_forward, eg_factors *out) {
  const eg_type *q = &node->inputs[is_forward ? 0 : 1];
  const eg_attention a = eg_attention_of(node->attrs, q);
  const loops *of = &(is_forward ? forward : backward)[a.is_rows_first];
  int64_t groups = a.groups == 0 ? 1 : a.groups;
  for (uint32_t dim = 0; dim + 3 < q->rank; dim++)
    add_batch(node, of, dim, q, out);
  add_loop(node, of, 'g', EG_FACTOR_PARALLEL, a.groups, a.heads, out);
  add_loop(node, of, 'm', EG_FACTOR_PARALLEL, a.heads / groups, a.heads, out)->absent =
      is_forward ? EG_ABSENT_COPY : EG_ABSENT_SUM;
  add_loop(node, of, 's', EG_FACTOR_PARALLEL, a.rows, a.rows, out)->absent =
      EG_ABSENT_SUM;
  add_loop(node, of, 't', EG_FACTOR_BLOCKED, a.keys, a.keys, out);
  add_loop(node, of, 'd', EG_FACTOR_BLOCKED, a.depth, a.depth, out)->is_no_loop = true;
  eg_factor *column =
      add_loop(node, of, 'e', EG_FACTOR_PARALLEL, a.columns, a.columns, out);
  column->is_no_loop = true;
  column->absent = EG_ABSENT_COPY;
  if (!is_forward) column->kind = EG_FACTOR_BLOCKED;
  eg_factors_add(out, EG_FACTOR_BLOCKED, of->depths * a.depth + of->columns * a.columns);
  out->skipped = 1 - eg_attention_seen(&a);
}

void eg_factors_attention(const eg_typing *node, eg_factors *out) {
  add_loops(node, true, out);
}

void eg_factors_attention_grad(const eg_typing *node, eg_factors *out) {
  add_loops(node, false, out);
  out->linear = eg_operand_bits(1);
}

// ---- pairs of a query and a key ----------------------------------------------------

// Returns the sum of x over [from, from + count), where every x is clamped to [0, limit].
static double clamped_sum(int64_t from, int64_t count, int64_t limit) {
  int64_t end = from + count, low = from < 0 ? 0 : from, high = end > limit ? limit : end;
  double sum =
      low < high ? ((double)low + (double)high - 1) * (double)(high - low) / 2 : 0;
  int64_t above = end - (from > limit ? from : limit);
  return above > 0 ? sum + (double)above * (double)limit : sum;
}

double eg_attention_seen(const eg_attention *a) {
  double pairs = (double)a->rows * (double)a->keys;
  if (eg_size_is_open(a->rows) || eg_size_is_open(a->keys) || pairs == 0) return 1;
  int64_t ahead = a->is_causal ? 1 : a->window;
  double ends = ahead > 0 ? clamped_sum(a->offset + ahead, a->rows, a->keys) : pairs;
  double begins =
      a->window > 0 ? clamped_sum(a->offset - a->window + 1, a->rows, a->keys) : 0;
  return (ends - begins) / pairs;
}
