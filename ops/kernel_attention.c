// Reference kernels of attention and its gradient: one query at a time, in float64. A
// hidden key has the score -inf, so that it weighs 0. A query all of whose keys are
// hidden gives NaN; a query without keys gives 0.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "ops/attention.h"
#include "ops/kernels.h"

// The operands, and where the mask of a query begins.
typedef struct attention {
  eg_attention size;
  eg_attention_rows queries, keys, values, outputs;
  const double *q, *k, *v;
  const eg_tensor *mask;            // NULL: none
  bool is_added;                    // the mask has numbers to add; else 0 hides a key
  int64_t strides[EGRAPH_MAX_RANK]; // of the mask, along the scores' dimensions
  eg_type scores;
} attention;

static egraph_status load(const eg_kernel_call *call, uint32_t first, attention *out) {
  const eg_tensor *q = &call->inputs[first];
  bool has_mask = call->input_count == (first == 0 ? 4 : 7);
  const eg_type types[] = {q[EG_ATTENTION_Q].type, q[EG_ATTENTION_K].type,
                           q[EG_ATTENTION_V].type};
  *out = (attention){.size = eg_attention_of(call->attrs, types),
                     .mask = has_mask ? &call->inputs[call->input_count - 1] : NULL};
  out->scores = eg_attention_scores(&out->size, types);
  out->queries = eg_attention_queries(&out->size);
  out->keys = eg_attention_keys(&out->size);
  out->values = eg_attention_values(&out->size);
  out->outputs = eg_attention_results(&out->size);
  out->is_added = has_mask && eg_dtype_is_float(out->mask->type.dtype);
  if (has_mask) eg_broadcast_strides(&out->scores, &out->mask->type, out->strides);
  EG_TRY(eg_kernel_load_doubles(call->scratch, &q[EG_ATTENTION_Q], &out->q));
  EG_TRY(eg_kernel_load_doubles(call->scratch, &q[EG_ATTENTION_K], &out->k));
  return eg_kernel_load_doubles(call->scratch, &q[EG_ATTENTION_V], &out->v);
}

/// One query: its head and group, of all batches; the places of its row among queries and
/// outputs, and of the mask's entry for key 0.
typedef struct query {
  int64_t row, group;
  int64_t place, output, mask;
} query;

// Finds query number n.
static query query_at(const attention *a, int64_t n) {
  const eg_attention *size = &a->size;
  int64_t head = n / size->rows, members = size->heads / size->groups, rest = n;
  query at = {.row = n % size->rows, .group = head / members};
  at.place = eg_attention_place(&a->queries, head, at.row);
  at.output = eg_attention_place(&a->outputs, head, at.row);
  for (uint32_t dim = a->scores.rank - 1; a->mask != NULL && dim-- > 0;) {
    at.mask += rest % a->scores.dims[dim] * a->strides[dim];
    rest /= a->scores.dims[dim];
  }
  return at;
}

static double dot(const double *a, const double *b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++)
    sum += a[i] * b[i];
  return sum;
}

static void add_row(double *to, double factor, const double *row, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    to[i] += factor * row[i];
}

static bool is_hidden(const attention *a, const query *at, int64_t key) {
  eg_attention_span seen = eg_attention_sees(&a->size, at->row);
  if (key < seen.from || key >= seen.to) return true;
  if (a->mask == NULL || a->is_added) return false;
  return eg_tensor_get_double(a->mask, at->mask + key * a->strides[a->scores.rank - 1]) ==
         0;
}

// Computes the scores of a query with all keys; -inf: hidden. `slope`, if not NULL, gets
// the derivative of each score by scale q k.
static void score(const attention *a, const query *at, double *scores, double *slope) {
  const eg_attention *size = &a->size;
  const double *q = a->q + at->place;
  for (int64_t key = 0; key < size->keys; key++) {
    const double *k = a->k + eg_attention_place(&a->keys, at->group, key);
    double s = size->scale * dot(q, k, size->depth);
    double t = size->softcap != 0 ? tanh(s / size->softcap) : 0;
    if (size->softcap != 0) s = size->softcap * t;
    if (slope != NULL) slope[key] = is_hidden(a, at, key) ? 0 : 1 - t * t;
    if (a->is_added)
      s += eg_tensor_get_double(a->mask, at->mask + key * a->strides[a->scores.rank - 1]);
    scores[key] = is_hidden(a, at, key) ? -(double)INFINITY : s;
  }
}

// Turns the scores of a row into its weights; returns the logarithm of the sum of
// exponentials. `is_safe`: weights that are NaN become 0, and the logarithm -inf. Weights
// of float32 tensors are rounded as softmax rounds them: a weight of 0 makes infinite
// values NaN.
static double normalize(double *scores, int64_t count, bool is_safe, bool is_float32) {
  double most = -(double)INFINITY, sum = 0;
  for (int64_t i = 0; i < count; i++)
    if (scores[i] > most || scores[i] != scores[i]) most = scores[i];
  double logarithm = most;
  for (int64_t i = 0; i < count; i++)
    sum += scores[i] = exp(scores[i] - most);
  bool is_zero = is_safe && isnan(sum);
  for (int64_t i = 0; i < count; i++)
    scores[i] = is_zero      ? 0
                : is_float32 ? (double)(float)(scores[i] / sum)
                             : scores[i] / sum;
  if (is_zero) return -(double)INFINITY;
  return logarithm == -(double)INFINITY ? logarithm : logarithm + log(sum);
}

egraph_status eg_kernel_attention(const eg_kernel_call *call) {
  attention a;
  double *scores, *row;
  EG_TRY(load(call, 0, &a));
  const eg_attention *size = &a.size;
  EG_NEW(call->scratch, (size_t)size->keys, scores);
  EG_NEW(call->scratch, (size_t)size->columns, row);
  for (int64_t n = 0; n < size->batch * size->heads * size->rows; n++) {
    query at = query_at(&a, n);
    score(&a, &at, scores, NULL);
    double logarithm = normalize(scores, size->keys, size->is_safe,
                                 call->inputs[0].type.dtype == EGRAPH_FLOAT32);
    for (int64_t e = 0; e < size->columns; e++)
      row[e] = 0;
    for (int64_t key = 0; key < size->keys; key++)
      add_row(row, scores[key], a.v + eg_attention_place(&a.values, at.group, key),
              size->columns);
    for (int64_t e = 0; e < size->columns; e++)
      eg_tensor_set_double(&call->outputs[0], at.output + e, row[e]);
    eg_tensor_set_double(&call->outputs[1], n, logarithm);
  }
  return EGRAPH_OK;
}

// ---- attention-grad ---------------------------------------------------------------

enum { GRAD_D, GRAD_Q, GRAD_OUT = 4, GRAD_SUMS };

/// The cotangents of queries, keys and values; scratch of one query.
typedef struct gradients {
  double *q, *k, *v;
  double *scores, *slope;
} gradients;

// Turns scores into weights, whose sum is 1 although the logarithm is rounded.
static void weigh(double *scores, int64_t count, double logarithm) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++)
    sum += scores[i] = exp(scores[i] - logarithm);
  for (int64_t i = 0; i < count; i++)
    scores[i] /= sum;
}

// Adds what query `at` contributes. With w the weight of a key, its score has the
// cotangent w (d v - d out).
static void add_query(const attention *a, const query *at, const double *d,
                      const double *out, double logarithm, gradients *to) {
  const eg_attention *size = &a->size;
  int64_t depth = size->depth, columns = size->columns;
  double level = dot(d, out, columns);
  if (size->is_safe && logarithm == -(double)INFINITY) return; // all weights are 0
  score(a, at, to->scores, to->slope);
  weigh(to->scores, size->keys, logarithm);
  for (int64_t key = 0; key < size->keys; key++) {
    double weight = to->scores[key];
    int64_t k = eg_attention_place(&a->keys, at->group, key);
    int64_t v = eg_attention_place(&a->values, at->group, key);
    add_row(to->v + v, weight, d, columns);
    double cotangent = weight * (dot(d, a->v + v, columns) - level);
    double slope = is_hidden(a, at, key) ? 0 : cotangent * to->slope[key] * size->scale;
    add_row(to->q + at->place, slope, a->k + k, depth);
    add_row(to->k + k, slope, a->q + at->place, depth);
  }
}

egraph_status eg_kernel_attention_grad(const eg_kernel_call *call) {
  attention a;
  gradients to;
  const double *d, *out, *sums;
  EG_TRY(load(call, GRAD_Q, &a));
  EG_TRY(eg_kernel_load_doubles(call->scratch, &call->inputs[GRAD_D], &d));
  EG_TRY(eg_kernel_load_doubles(call->scratch, &call->inputs[GRAD_OUT], &out));
  EG_TRY(eg_kernel_load_doubles(call->scratch, &call->inputs[GRAD_SUMS], &sums));
  EG_NEW(call->scratch, (size_t)eg_type_elements(&call->outputs[0].type), to.q);
  EG_NEW(call->scratch, (size_t)eg_type_elements(&call->outputs[1].type), to.k);
  EG_NEW(call->scratch, (size_t)eg_type_elements(&call->outputs[2].type), to.v);
  EG_NEW(call->scratch, (size_t)a.size.keys, to.scores);
  EG_NEW(call->scratch, (size_t)a.size.keys, to.slope);
  for (int64_t n = 0; n < a.size.batch * a.size.heads * a.size.rows; n++) {
    query at = query_at(&a, n);
    add_query(&a, &at, d + at.output, out + at.output, sums[n], &to);
  }
  eg_kernel_store_doubles(to.q, &call->outputs[0]);
  eg_kernel_store_doubles(to.k, &call->outputs[1]);
  eg_kernel_store_doubles(to.v, &call->outputs[2]);
  return EGRAPH_OK;
}
