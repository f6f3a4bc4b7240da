// Rules with convolutions and pooling. On an axis that a window slides over, strides,
// pads, kernels and places are entries of their own, so that an element is a sum of
// terms, each a product over these axes of vectors: the taps on the axis, with the places
// that they read. Terms that read different variables say nothing of each other. Take the
// difference of both sides, T terms with the same variables, with values a_tj of the
// vectors under any functionals, and a smallest set S of axes on which it is not 0 (one
// axis at least: no window is without). On every smaller set it is, so for an axis s in S
// and any numbers c
//
//   sum_t a_ts prod_{j in S - s} (a_tj - c_j) = sum_t prod_{j in S} a_tj != 0,
//
// and with |S| > T numbers c can be chosen that make every term 0. So T axes are enough.
// (One axis less is not: a factor 0.5 in place of a mean of two is right on one axis.)
// Of a maximum the terms are sets of places, products of sets over the axes: what
// is in one set and in none of the others is so on one axis for each of these, and that a
// set is empty shows on one axis, too. In class exact nothing is added up: where each
// side is one fold, what both read at a tap differs on one axis. A function of one
// argument at the roots changes nothing: the listed ones tell numbers above 0 (or between
// the bounds of clip) apart.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/prove/rank_bound.h"

enum { MOST_KINDS = 24, MOST_TERMS = 64, DEEPEST = 32 };

typedef struct expansion {
  const eg_rule *rule;
  bool is_known, has_sums, has_maxima, has_pointwise;
} expansion;

/// Terms of a sum, by the variables that they read.
typedef struct terms {
  uint32_t kinds;
  uint64_t vars[MOST_KINDS];
  uint32_t count[MOST_KINDS];
} terms;

static terms read_of(uint64_t vars) {
  return (terms){.kinds = 1, .vars = {vars}, .count = {1}};
}

static terms give_up(expansion *e) {
  e->is_known = false;
  return read_of(0);
}

static void add_terms(expansion *e, terms *to, uint64_t vars, uint32_t count) {
  uint32_t at = 0;
  while (at < to->kinds && to->vars[at] != vars)
    at++;
  if (at == MOST_KINDS) {
    e->is_known = false;
    return;
  }
  to->kinds += at == to->kinds;
  to->vars[at] = vars;
  to->count[at] += count;
  if (to->count[at] > MOST_TERMS) e->is_known = false;
}

static terms plus(expansion *e, terms a, terms b) {
  for (uint32_t i = 0; i < b.kinds; i++)
    add_terms(e, &a, b.vars[i], b.count[i]);
  return a;
}

// A variable that is read twice in one product: the reads change places on all axes at
// once, which the argument above does not cover.
static terms times(expansion *e, terms a, terms b) {
  terms all = {.kinds = 0};
  for (uint32_t i = 0; i < a.kinds && e->is_known; i++)
    for (uint32_t k = 0; k < b.kinds; k++) {
      if ((a.vars[i] & b.vars[k]) != 0) return give_up(e);
      add_terms(e, &all, a.vars[i] | b.vars[k], a.count[i] * b.count[k]);
    }
  e->has_sums = true;
  return all;
}

static bool is_literal(const eg_rule_slot *slot, int64_t value) {
  return slot->form == EG_RULE_SLOT_LITERAL &&
         (slot->literal.kind == EG_ATTR_FLOAT ? slot->literal.f == (double)value
                                              : slot->literal.i == value);
}

#define SLOT(ID, NAME) ((int)EG_A_##ID##_##NAME - (int)EG_A_BASE_##ID)

// They grow with their operand.
static bool is_monotone(eg_op op) {
  switch ((int)op) {
  case EG_OP_IDENTITY:
  case EG_OP_RELU:
  case EG_OP_CLIP:
  case EG_OP_SIGMOID:
  case EG_OP_TANH:
  case EG_OP_EXP: return true;
  default: return false;
  }
}

static bool is_activation(eg_op op) {
  switch ((int)op) {
  case EG_OP_SILU:
  case EG_OP_GELU:
  case EG_OP_HARD_SWISH:
  case EG_OP_LEAKY_RELU:
  case EG_OP_ELU: return true;
  default: return is_monotone(op);
  }
}

static terms expand(expansion *e, uint32_t term, uint32_t depth);

static terms expand_all(expansion *e, const eg_rule_term *t, uint32_t depth) {
  terms all = expand(e, t->children[0], depth);
  for (uint32_t i = 1; i < t->child_count; i++)
    all = plus(e, all, expand(e, t->children[i], depth));
  return all;
}

static terms expand_conv(expansion *e, const eg_rule_term *t, uint32_t depth) {
  e->has_sums = true;
  terms all =
      times(e, expand(e, t->children[0], depth), expand(e, t->children[1], depth));
  for (uint32_t i = 2; i < t->child_count; i++)
    all = plus(e, all, expand(e, t->children[i], depth));
  return all;
}

// (x - mean) scale / sqrt(variance + epsilon) + bias: the quotient is read by channel.
static terms expand_batch_norm(expansion *e, const eg_rule_term *t, uint32_t depth) {
  terms x = expand(e, t->children[0], depth), scale = expand(e, t->children[1], depth);
  terms bias = expand(e, t->children[2], depth), mean = expand(e, t->children[3], depth);
  terms variance = expand(e, t->children[4], depth);
  if (variance.kinds != 1 || variance.count[0] != 1) return give_up(e);
  return plus(e, times(e, times(e, plus(e, x, mean), scale), variance), bias);
}

static terms expand(expansion *e, uint32_t term, uint32_t depth) {
  const eg_rule_term *t = &e->rule->terms[eg_term_meant(e->rule, term)];
  if (depth > DEEPEST) return give_up(e);
  if (t->is_var) return t->var < 64 ? read_of(UINT64_C(1) << t->var) : give_up(e);
  depth++;
  switch ((int)t->op) {
  case EG_OP_FILL:
  case EG_OP_POOL_KERNEL:
  case EG_OP_CONV_IDENTITY: return read_of(0);
  case EG_OP_ADD:
  case EG_OP_SUB: e->has_sums = e->has_pointwise = true; return expand_all(e, t, depth);
  case EG_OP_MUL:
    e->has_pointwise = true;
    return times(e, expand(e, t->children[0], depth), expand(e, t->children[1], depth));
  case EG_OP_BATCH_NORM: e->has_pointwise = true; return expand_batch_norm(e, t, depth);
  case EG_OP_CONV:
    if (!is_literal(&t->slots[SLOT(CONV, ACT)], EG_ACT_NONE)) return give_up(e);
    return expand_conv(e, t, depth);
  case EG_OP_AVERAGE_POOL:
  case EG_OP_GLOBAL_AVERAGE_POOL:
  case EG_OP_NEG: e->has_sums = true; return expand_all(e, t, depth);
  case EG_OP_MAX_POOL:
  case EG_OP_GLOBAL_MAX_POOL: e->has_maxima = true; return expand_all(e, t, depth);
  case EG_OP_PAD: { // in x + (1 - in) v
    terms x = expand_all(e, t, depth);
    if (!is_literal(&t->slots[SLOT(PAD, MODE)], 0)) return give_up(e);
    if (!is_literal(&t->slots[SLOT(PAD, VALUE)], 0)) add_terms(e, &x, 0, 2);
    return x;
  }
  case EG_OP_IDENTITY:
  case EG_OP_CONCAT:
  case EG_OP_SPLIT:
  case EG_OP_PART:
  case EG_OP_SLICE:
  case EG_OP_TRANSPOSE:
  case EG_OP_EXPAND:
  case EG_OP_ENLARGE: return expand_all(e, t, depth);
  case EG_OP_MAX: e->has_maxima = true; return expand_all(e, t, depth);
  default: break;
  }
  if (!is_monotone(t->op)) return give_up(e);
  e->has_maxima = true;
  return expand_all(e, t, depth);
}

// The root without a function of one argument; a concatenation is one of its operands.
static terms expand_root(expansion *e, uint32_t term, uint32_t depth) {
  const eg_rule_term *t = &e->rule->terms[eg_term_meant(e->rule, term)];
  bool picks = !t->is_var &&
               (t->op == EG_OP_CONCAT || t->op == EG_OP_SPLIT || t->op == EG_OP_PART);
  if (depth > DEEPEST) return give_up(e);
  if (picks) {
    terms all = expand_root(e, t->children[0], depth + 1);
    for (uint32_t i = 1; i < t->child_count; i++)
      all = plus(e, all, expand_root(e, t->children[i], depth + 1));
    return all;
  }
  if (!t->is_var && t->op == EG_OP_CONV) return expand_conv(e, t, 1);
  if (t->is_var || t->child_count != 1 || !is_activation(t->op))
    return expand(e, term, 0);
  return expand(e, t->children[0], 1);
}

uint32_t eg_window_bound(const eg_rule *rule, uint32_t paths, uint32_t pads) {
  expansion e = {.rule = rule, .is_known = true};
  uint32_t most = 2;
  for (uint32_t i = 0; i < rule->root_count; i++) {
    terms both = plus(&e, expand_root(&e, rule->lhs[i].term, 0),
                      expand_root(&e, rule->rhs[i].term, 0));
    for (uint32_t k = 0; k < both.kinds; k++)
      if (both.count[k] > most) most = both.count[k];
  }
  if (!e.is_known || (e.has_sums && e.has_maxima)) return EGRAPH_MAX_RANK;
  if (e.has_maxima) return most + pads;
  if (rule->math != EGRAPH_MATH_EXACT) return most;
  return (e.has_pointwise ? paths : 2) + pads;
}
