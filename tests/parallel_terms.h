// Random terms over square matrices with parallel operators around them, most of which
// fit each other.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_PARALLEL_TERMS_H
#define EG_TESTS_PARALLEL_TERMS_H

#include "base/hash.h"
#include "pcg/parallel/mesh.h"

enum { NODES = 24, MOVES = 4, VARS = 3 };

typedef enum node_kind {
  VAR,
  RELU,
  NEG,
  TRANSPOSE,
  TOTAL,
  ADD,
  MUL,
  MATMUL,
  KINDS
} node_kind;

static const char *const spelt[KINDS] = {
    "",      "(relu ", "(neg ",   "(transpose :perm [1 0] ", "(reduce-sum :axes [0] ",
    "(add ", "(mul ",  "(matmul "};

static inline int operands_of(node_kind k) { return k == VAR ? 0 : k < ADD ? 1 : 2; }

typedef struct node {
  node_kind kind;
  int var, child[2];
  eg_parallel_op move[MOVES]; // innermost first
  int move_count;
} node;

typedef struct side {
  node nodes[NODES]; // children first; the last one is the result
  int count;
} side;

static inline int draw_term(side *s, eg_rng *rng, int depth) {
  node made = {.kind = VAR, .var = (int)eg_rng_below(rng, VARS)};
  if (depth > 0 && (depth == 3 || eg_rng_below(rng, 4) != 0)) {
    made.kind = (node_kind)(1 + eg_rng_below(rng, KINDS - 1));
    if (made.kind == TOTAL && depth != 3) made.kind = NEG; // all others are square
    for (int i = 0; i < operands_of(made.kind); i++)
      made.child[i] = draw_term(s, rng, depth - 1);
  }
  s->nodes[s->count] = made;
  return s->count++;
}

static inline void add_move(node *n, eg_parallel_kind kind, int dim) {
  if (n->move_count < MOVES)
    n->move[n->move_count++] = (eg_parallel_op){.kind = kind, .dim = (uint32_t)dim};
}

/// Splits an operator and joins its result, as its meaning allows.
static inline void split_node(side *s, int at, eg_rng *rng) {
  node *n = &s->nodes[at], *a = &s->nodes[n->child[0]], *b = &s->nodes[n->child[1]];
  int dim = (int)eg_rng_below(rng, 2);
  switch (n->kind) {
  case RELU:
  case NEG:
    add_move(a, EG_PARALLEL_PARTITION, dim);
    add_move(n, EG_PARALLEL_COMBINE, dim);
    break;
  case TRANSPOSE:
    add_move(a, EG_PARALLEL_PARTITION, dim);
    add_move(n, EG_PARALLEL_COMBINE, 1 - dim);
    break;
  case TOTAL:
    add_move(a, EG_PARALLEL_PARTITION, dim);
    add_move(n, dim == 0 ? EG_PARALLEL_REDUCE : EG_PARALLEL_COMBINE, dim);
    break;
  case ADD:
  case MUL:
    add_move(a, EG_PARALLEL_PARTITION, dim);
    add_move(b, EG_PARALLEL_PARTITION, dim);
    add_move(n, EG_PARALLEL_COMBINE, dim);
    break;
  case MATMUL:
    if (eg_rng_below(rng, 2) == 0) {
      add_move(a, EG_PARALLEL_PARTITION, 1);
      add_move(b, EG_PARALLEL_PARTITION, 0);
      add_move(n, EG_PARALLEL_REDUCE, 0);
    } else {
      add_move(dim == 0 ? a : b, EG_PARALLEL_PARTITION, dim);
      add_move(n, EG_PARALLEL_COMBINE, dim);
    }
    break;
  case VAR:
  case KINDS: break;
  }
}

/// Lets partial sums or blocks of a variable in, on both sides alike.
static inline void wrap_variable(side *s, int var, bool by_sum, int dim) {
  for (int i = 0; i < s->count; i++)
    if (s->nodes[i].kind == VAR && s->nodes[i].var == var)
      add_move(&s->nodes[i], by_sum ? EG_PARALLEL_REDUCE : EG_PARALLEL_COMBINE, dim);
}

static inline void spoil(side *s, eg_rng *rng) {
  node *n = &s->nodes[eg_rng_below(rng, (uint64_t)s->count)];
  uint64_t what = eg_rng_below(rng, 4);
  if (what < 2 && n->move_count > 0) {
    n->move_count--; // forgotten
    return;
  }
  add_move(n, (eg_parallel_kind)eg_rng_below(rng, EG_PARALLEL_KINDS),
           (int)eg_rng_below(rng, 2));
  if (n->move_count > 0)
    n->move[n->move_count - 1].keeps_one =
        n->move[n->move_count - 1].kind == EG_PARALLEL_REPLICATE && what == 3;
}

static inline void draw_sides(side sides[2], eg_rng *rng) {
  sides[0].count = 0;
  (void)draw_term(&sides[0], rng, 3);
  sides[1] = sides[0];
  bool wraps = eg_rng_below(rng, 2) == 0, by_sum = eg_rng_below(rng, 2) == 0;
  int var = (int)eg_rng_below(rng, VARS), dim = (int)eg_rng_below(rng, 2);
  for (int k = 0; k < 2; k++) {
    if (wraps) wrap_variable(&sides[k], var, by_sum, dim);
    for (int i = 0; i < sides[k].count; i++)
      if (eg_rng_below(rng, 3) == 0) split_node(&sides[k], i, rng);
    if (eg_rng_below(rng, 4) == 0) spoil(&sides[k], rng);
  }
}

#endif
