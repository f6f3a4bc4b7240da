// SPDX-License-Identifier: Apache-2.0
#include "tools/bench_saturate_start.h"

#include <stdlib.h>

#define TRY(call)                                                                        \
  do {                                                                                   \
    egraph_status status_ = (call);                                                      \
    if (status_ != EGRAPH_OK) return status_;                                            \
  } while (0)

static egraph_status add(egraph_terms *terms, const char *head,
                         const egraph_class *children, uint32_t count,
                         egraph_class *out) {
  egraph_symbol symbol;
  TRY(egraph_terms_symbol(terms, head, &symbol));
  return egraph_terms_add_node(terms, symbol, children, count, out);
}

static egraph_status add_leaf(egraph_terms *terms, const char *prefix, uint32_t number,
                              egraph_class *out) {
  char name[32];
  (void)snprintf(name, sizeof name, "%s%u", prefix, number);
  return add(terms, name, NULL, 0, out);
}

// ---- NASRNN ----------------------------------------------------------------------

typedef struct nasrnn {
  egraph_terms *terms;
  egraph_class zero, state;
  uint32_t weights; // made so far
} nasrnn;

static egraph_status product(nasrnn *n, egraph_class value, egraph_class *out) {
  egraph_class weight;
  TRY(add_leaf(n->terms, "w", ++n->weights, &weight));
  return add(n->terms, "matmul", (egraph_class[]){n->zero, value, weight}, 3, out);
}

static egraph_status combine(nasrnn *n, egraph_class input, egraph_class *out) {
  egraph_class sides[2];
  TRY(product(n, input, &sides[0]));
  TRY(product(n, n->state, &sides[1]));
  return add(n->terms, "ewadd", sides, 2, out);
}

static egraph_status join(nasrnn *n, const char *head, const char *left, egraph_class a,
                          const char *right, egraph_class b, egraph_class *out) {
  egraph_class sides[2];
  TRY(add(n->terms, left, &a, 1, &sides[0]));
  TRY(add(n->terms, right, &b, 1, &sides[1]));
  return add(n->terms, head, sides, 2, out);
}

static egraph_status add_cell(nasrnn *n, uint32_t number) {
  egraph_class x, t[8], m[7];
  TRY(add_leaf(n->terms, "x", number, &x));
  for (uint32_t i = 0; i < 8; i++)
    TRY(combine(n, x, &t[i]));
  TRY(join(n, "ewadd", "relu", t[0], "sigmoid", t[3], &m[0]));
  TRY(join(n, "ewadd", "sigmoid", t[1], "tanh", t[2], &m[1]));
  TRY(join(n, "ewmul", "sigmoid", t[4], "tanh", t[5], &m[2]));
  TRY(join(n, "ewmul", "sigmoid", t[6], "relu", t[7], &m[3]));
  TRY(join(n, "ewadd", "sigmoid", m[1], "tanh", m[2], &m[4]));
  TRY(join(n, "ewmul", "tanh", m[0], "tanh", m[3], &m[5]));
  TRY(join(n, "ewmul", "tanh", m[4], "tanh", m[5], &m[6]));
  return add(n->terms, "tanh", &m[6], 1, &n->state);
}

egraph_status start_nasrnn(egraph_terms *terms, uint32_t cells) {
  nasrnn n = {.terms = terms};
  TRY(add(terms, "0", NULL, 0, &n.zero));
  TRY(add_leaf(terms, "w", ++n.weights, &n.state));
  for (uint32_t i = 0; i < cells; i++)
    TRY(add_cell(&n, i));
  return EGRAPH_OK;
}

// ---- raw structures --------------------------------------------------------------

enum { FIRST_SUMS = 16 };

// ids[k] = ids[k - 1] + an older one of the last sixteen; all are different.
static void sides_of(const egraph_class *ids, uint32_t k, egraph_class sides[2]) {
  sides[0] = ids[k - 1];
  sides[1] = ids[k - FIRST_SUMS + (k * 7) % FIRST_SUMS];
}

static egraph_status add_sums(egraph_terms *terms, raw_bench *raw) {
  for (uint32_t k = FIRST_SUMS; k < raw->size + FIRST_SUMS; k++) {
    egraph_class sides[2];
    sides_of(raw->ids, k, sides);
    TRY(egraph_terms_add_node(terms, raw->plus, sides, 2, &raw->ids[k]));
  }
  return EGRAPH_OK;
}

// The same, when they are there already, many at a time.
static egraph_status find_sums(egraph_terms *terms, raw_bench *raw) {
  enum { MANY = 1024 };
  egraph_class sides[2 * MANY];
  for (uint32_t k = 0; k < raw->size; k += MANY) {
    uint32_t count = raw->size - k < MANY ? raw->size - k : MANY;
    for (uint32_t i = 0; i < count; i++)
      sides_of(raw->ids, k + i + FIRST_SUMS, sides + 2 * i);
    TRY(egraph_terms_add_nodes(terms, raw->plus, 2, sides, count,
                               raw->ids + k + FIRST_SUMS));
  }
  return EGRAPH_OK;
}

static egraph_status build_sums(egraph_terms *terms, raw_bench *raw) {
  for (uint32_t i = 0; i < FIRST_SUMS; i++)
    TRY(add_leaf(terms, "n_", i, &raw->ids[i]));
  return raw->kind == RAW_ADD ? EGRAPH_OK : add_sums(terms, raw);
}

static egraph_status build_chain(egraph_terms *terms, raw_bench *raw, const char *leaf,
                                 egraph_class *out_leaf) {
  egraph_class last;
  TRY(add(terms, leaf, NULL, 0, out_leaf));
  last = *out_leaf;
  for (uint32_t i = 0; i < raw->size; i++)
    TRY(egraph_terms_add_node(terms, raw->f, &last, 1, &last));
  return EGRAPH_OK;
}

static egraph_status build_wide(egraph_terms *terms, raw_bench *raw) {
  egraph_class none;
  for (uint32_t i = 0; i < raw->size; i++)
    TRY(add_leaf(terms, "x_", i, &raw->ids[i]));
  for (uint32_t i = 0; i < raw->size; i++)
    TRY(egraph_terms_add_node(terms, raw->f, &raw->ids[i], 1, &none));
  for (uint32_t i = 0; i < raw->size; i++) {
    egraph_class sides[2] = {raw->ids[i], raw->ids[(i + 1) % raw->size]};
    TRY(egraph_terms_add_node(terms, raw->plus, sides, 2, &none));
  }
  return EGRAPH_OK;
}

static egraph_status build_groups(egraph_terms *terms, raw_bench *raw) {
  egraph_class sides[2], none;
  for (uint32_t g = 0; g < raw->size; g++) {
    TRY(add_leaf(terms, "x_", g, &sides[0]));
    for (uint32_t j = 0; j < 4; j++) {
      TRY(add_leaf(terms, "y_", 4 * g + j, &sides[1]));
      TRY(egraph_terms_add_node(terms, raw->times, sides, 2, &none));
    }
  }
  return EGRAPH_OK;
}

static egraph_status build(egraph_terms *terms, raw_bench *raw) {
  switch (raw->kind) {
  case RAW_ADD:
  case RAW_HIT:
  case RAW_HIT_MANY: return build_sums(terms, raw);
  case RAW_CHAIN:
    TRY(build_chain(terms, raw, "a", &raw->ids[0]));
    return build_chain(terms, raw, "b", &raw->ids[1]);
  case RAW_WIDE:
  case RAW_WIDE_EACH: return build_wide(terms, raw);
  case RAW_MULTI: return build_groups(terms, raw);
  case RAW_NONE: break;
  }
  return EGRAPH_OK;
}

egraph_status raw_bench_build(egraph_terms *terms, raw_kind kind, uint32_t size,
                              raw_bench *out) {
  *out = (raw_bench){.kind = kind, .size = size};
  out->ids = calloc((size_t)size + FIRST_SUMS, sizeof *out->ids);
  if (out->ids == NULL) return EGRAPH_E_MEMORY;
  TRY(egraph_terms_symbol(terms, "+", &out->plus));
  TRY(egraph_terms_symbol(terms, "f", &out->f));
  TRY(egraph_terms_symbol(terms, "*", &out->times));
  TRY(build(terms, out));
  return egraph_terms_rebuild(terms);
}

static egraph_status unite_wide(egraph_terms *terms, const raw_bench *raw) {
  for (uint32_t i = 1; i < raw->size; i++) {
    TRY(egraph_terms_unite(terms, raw->ids[0], raw->ids[i], NULL));
    if (raw->kind == RAW_WIDE_EACH) TRY(egraph_terms_rebuild(terms));
  }
  return EGRAPH_OK;
}

egraph_status raw_bench_run(egraph_terms *terms, raw_bench *raw, uint64_t *out_matches) {
  switch (raw->kind) {
  case RAW_ADD:
  case RAW_HIT: return add_sums(terms, raw);
  case RAW_HIT_MANY: return find_sums(terms, raw);
  case RAW_CHAIN: return egraph_terms_unite(terms, raw->ids[0], raw->ids[1], NULL);
  case RAW_WIDE:
  case RAW_WIDE_EACH: return unite_wide(terms, raw);
  case RAW_MULTI:
    return egraph_terms_search(terms, "(* ?x ?y) (* ?x ?z)", NULL, NULL, out_matches);
  case RAW_NONE: break;
  }
  return EGRAPH_OK;
}

void raw_bench_free(raw_bench *raw) {
  free(raw->ids);
  raw->ids = NULL;
}
