// Forward graphs of models, as text: what plans are made for in tests. Every weight is
// trained; values are named after their layer, "h3" of layer 3.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_UNIT_PLAN_MODELS_H
#define EG_TESTS_UNIT_PLAN_MODELS_H

#include "base/text.h"
#include "tests/testing.h"

EG_PRINTF(2, 3) static inline void model_add(eg_text *text, const char *format, ...) {
  char line[512];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  assert_true(length >= 0 && (size_t)length < sizeof line);
  assert_ok(eg_text_append(text, line));
}

static inline void model_begin(eg_text *text) { model_add(text, "(egraph-graph 1)\n"); }

// ---- perceptrons --------------------------------------------------------------------

/// x [batch, width]; `layers` matrices, width to hidden and back in turn, relu between.
typedef struct mlp_model {
  int layers, batch, width, hidden;
  bool biased;
} mlp_model;

static inline void model_mlp(eg_text *text, const mlp_model *m) {
  model_begin(text);
  model_add(text, "(input x0 \"float32[%d,%d]\")\n", m->batch, m->width);
  for (int i = 0; i < m->layers; i++) {
    int from = i % 2 == 0 ? m->width : m->hidden, to = i % 2 == 0 ? m->hidden : m->width;
    bool last = i == m->layers - 1;
    const char *product = m->biased ? "y" : last ? "x" : "h";
    model_add(text, "(weight w%d \"float32[%d,%d]\")\n", i, from, to);
    model_add(text, "(let %s%d (matmul x%d w%d))\n", product,
              last && !m->biased ? i + 1 : i, i, i);
    if (m->biased) {
      model_add(text, "(weight b%d \"float32[%d]\")\n", i, to);
      model_add(text, "(let %s%d (add y%d b%d))\n", last ? "x" : "h", last ? i + 1 : i, i,
                i);
    }
    if (!last) model_add(text, "(let x%d (relu h%d))\n", i + 1, i);
  }
  model_add(text, "(output x%d)\n", m->layers);
}

// ---- transformers -------------------------------------------------------------------

/// x [batch, sequence, hidden] through `layers` blocks of attention and a perceptron of
/// 4 hidden, each behind a layer normalization and added to what it was given.
typedef struct transformer_model {
  int layers, batch, sequence, hidden, heads;
  const char *dtype;
} transformer_model;

static inline void model_projection(eg_text *text, const transformer_model *m, int i,
                                    const char *name) {
  model_add(text, "(weight w%s%d \"%s[%d,%d]\")\n", name, i, m->dtype, m->hidden,
            m->hidden);
  model_add(text, "(let %s%d (matmul n%d w%s%d))\n", name, i, i, name, i);
  model_add(text, "(let %sr%d (reshape :shape [%d %d %d %d] %s%d))\n", name, i, m->batch,
            m->sequence, m->heads, m->hidden / m->heads, name, i);
  model_add(text, "(let %st%d (transpose :perm [0 2 1 3] %sr%d))\n", name, i, name, i);
}

/// From n (normalized) to o: heads, softmax, and the matrix behind them.
static inline void model_attention(eg_text *text, const transformer_model *m, int i) {
  model_projection(text, m, i, "q");
  model_projection(text, m, i, "k");
  model_projection(text, m, i, "v");
  model_add(text, "(let s%d (matmul :transB 1 qt%d kt%d))\n", i, i, i);
  model_add(text, "(let p%d (softmax s%d))\n", i, i);
  model_add(text, "(let a%d (matmul p%d vt%d))\n", i, i, i);
  model_add(text, "(let at%d (transpose :perm [0 2 1 3] a%d))\n", i, i);
  model_add(text, "(let ar%d (reshape :shape [%d %d %d] at%d))\n", i, m->batch,
            m->sequence, m->hidden, i);
  model_add(text, "(weight wo%d \"%s[%d,%d]\")\n", i, m->dtype, m->hidden, m->hidden);
  model_add(text, "(let o%d (matmul ar%d wo%d))\n", i, i, i);
}

static inline void model_normalization(eg_text *text, const transformer_model *m,
                                       const char *out, const char *in, int i) {
  model_add(text, "(weight %ss%d \"%s[%d]\")(weight %sb%d \"%s[%d]\")\n", out, i,
            m->dtype, m->hidden, out, i, m->dtype, m->hidden);
  model_add(text, "(let %s%d (layer-normalization %s%d %ss%d %sb%d))\n", out, i, in, i,
            out, i, out, i);
}

static inline void model_transformer(eg_text *text, const transformer_model *m) {
  model_begin(text);
  model_add(text, "(input x0 \"%s[%d,%d,%d]\")\n", m->dtype, m->batch, m->sequence,
            m->hidden);
  for (int i = 0; i < m->layers; i++) {
    model_normalization(text, m, "n", "x", i);
    model_attention(text, m, i);
    model_add(text, "(let r%d (add x%d o%d))\n", i, i, i);
    model_normalization(text, m, "m", "r", i);
    model_add(text, "(weight w1%d \"%s[%d,%d]\")(weight w2%d \"%s[%d,%d]\")\n", i,
              m->dtype, m->hidden, 4 * m->hidden, i, m->dtype, 4 * m->hidden, m->hidden);
    model_add(text, "(let f%d (matmul m%d w1%d))\n", i, i, i);
    model_add(text, "(let g%d (gelu f%d))\n", i, i);
    model_add(text, "(let u%d (matmul g%d w2%d))\n", i, i, i);
    model_add(text, "(let x%d (add r%d u%d))\n", i + 1, i, i);
  }
  model_add(text, "(output x%d)\n", m->layers);
}

/// The attention alone, of normalized x.
static inline void model_attention_only(eg_text *text, const transformer_model *m) {
  model_begin(text);
  model_add(text, "(input n0 \"%s[%d,%d,%d]\")\n", m->dtype, m->batch, m->sequence,
            m->hidden);
  model_attention(text, m, 0);
  model_add(text, "(output o0)\n");
}

// ---- mixture of experts -------------------------------------------------------------

/// x [groups, tokens, width] through `layers` blocks: normalized, dispatched to experts
/// of two matrices, combined and added (GShard, Lepikhin et al., 2021). The masks
/// [groups, tokens, experts, capacity] that say who goes where, and how much of it comes
/// back, are inputs.
typedef struct moe_model {
  int layers, groups, tokens, width, hidden, experts, capacity;
} moe_model;

static inline void model_moe(eg_text *text, const moe_model *m) {
  model_begin(text);
  model_add(text, "(input x0 \"float32[%d,%d,%d]\")\n", m->groups, m->tokens, m->width);
  for (int i = 0; i < m->layers; i++) {
    for (int k = 0; k < 2; k++)
      model_add(text, "(input %s%d \"float32[%d,%d,%d,%d]\")\n",
                k == 0 ? "dispatch" : "combine", i, m->groups, m->tokens, m->experts,
                m->capacity);
    model_add(text, "(weight ns%d \"float32[%d]\")(weight nb%d \"float32[%d]\")\n", i,
              m->width, i, m->width);
    model_add(text, "(weight w1%d \"float32[%d,%d,%d]\")\n", i, m->experts, m->width,
              m->hidden);
    model_add(text, "(weight w2%d \"float32[%d,%d,%d]\")\n", i, m->experts, m->hidden,
              m->width);
    model_add(text, "(let n%d (layer-normalization x%d ns%d nb%d))\n", i, i, i, i);
    model_add(text, "(let d%d (einsum :equation \"gsec,gsm->egcm\" dispatch%d n%d))\n", i,
              i, i);
    model_add(text, "(let h%d (einsum :equation \"egcm,emh->egch\" d%d w1%d))\n", i, i,
              i);
    model_add(text, "(let r%d (relu h%d))\n", i, i);
    model_add(text, "(let o%d (einsum :equation \"egch,ehm->egcm\" r%d w2%d))\n", i, i,
              i);
    model_add(text, "(let c%d (einsum :equation \"gsec,egcm->gsm\" combine%d o%d))\n", i,
              i, i);
    model_add(text, "(let x%d (add x%d c%d))\n", i + 1, i, i);
  }
  model_add(text, "(output x%d)\n", m->layers);
}

// ---- others -------------------------------------------------------------------------

/// Recommendation (Naumov et al., 2019): rows of `tables` tables, one per sample, beside
/// what a perceptron makes of the dense features; then a perceptron of them all.
typedef struct dlrm_model {
  int batch, dense, tables, rows, width, hidden;
} dlrm_model;

static inline void model_dlrm(eg_text *text, const dlrm_model *m) {
  model_begin(text);
  model_add(text, "(input x \"float32[%d,%d]\")\n", m->batch, m->dense);
  model_add(text, "(weight bottom \"float32[%d,%d]\")\n", m->dense, m->width);
  model_add(text, "(let b (matmul x bottom))(let e (relu b))\n");
  for (int i = 0; i < m->tables; i++) {
    model_add(text, "(input ids%d \"int64[%d]\")\n", i, m->batch);
    model_add(text, "(weight table%d \"float32[%d,%d]\")\n", i, m->rows, m->width);
    model_add(text, "(let e%d (gather table%d ids%d))\n", i, i, i);
  }
  model_add(text, "(let z (concat :axis 1 e");
  for (int i = 0; i < m->tables; i++)
    model_add(text, " e%d", i);
  model_add(text, "))\n(weight w1 \"float32[%d,%d]\")(weight w2 \"float32[%d,1]\")\n",
            (m->tables + 1) * m->width, m->hidden, m->hidden);
  model_add(text,
            "(let h (matmul z w1))(let r (relu h))(let y (matmul r w2))(output y)\n");
}

/// Images [batch, channels, size, size]; `layers` convolutions 3x3 with relu, the mean
/// over all places, and a matrix to `classes`.
typedef struct cnn_model {
  int layers, batch, channels, size, classes;
} cnn_model;

static inline void model_cnn(eg_text *text, const cnn_model *m) {
  model_begin(text);
  model_add(text, "(input x0 \"float32[%d,%d,%d,%d]\")\n", m->batch, m->channels, m->size,
            m->size);
  for (int i = 0; i < m->layers; i++) {
    model_add(text, "(weight w%d \"float32[%d,%d,3,3]\")\n", i, m->channels, m->channels);
    model_add(
        text,
        "(let c%d (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] x%d w%d))\n", i,
        i, i);
    model_add(text, "(let x%d (relu c%d))\n", i + 1, i);
  }
  model_add(text, "(let g (global-average-pool x%d))(let f (flatten g))\n", m->layers);
  model_add(text, "(weight wy \"float32[%d,%d]\")\n", m->channels, m->classes);
  model_add(text, "(let y (matmul f wy))(output y)\n");
}

/// The sum of `terms` products of two matrices each, x [batch, width] to hidden and back.
typedef struct sum_model {
  int terms, batch, width, hidden;
} sum_model;

static inline void model_sum(eg_text *text, const sum_model *m) {
  model_begin(text);
  model_add(text, "(input x \"float32[%d,%d]\")\n", m->batch, m->width);
  for (int i = 0; i < m->terms; i++) {
    model_add(text, "(weight a%d \"float32[%d,%d]\")\n", i, m->width, m->hidden);
    model_add(text, "(weight b%d \"float32[%d,%d]\")\n", i, m->hidden, m->width);
    model_add(text, "(let h%d (matmul x a%d))(let r%d (relu h%d))\n", i, i, i, i);
    model_add(text, "(let y%d (matmul r%d b%d))\n", i, i, i);
    if (i != 0)
      model_add(text, "(let s%d (add %s%d y%d))\n", i, i == 1 ? "y" : "s", i - 1, i);
  }
  model_add(text, "(output s%d)\n", m->terms - 1);
}

#endif
