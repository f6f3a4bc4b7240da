// An axis is plain when no operator names it: every operator does the same for it alone
// (PROOFS.md, "Ranks"). The bound is the number of named axes plus the number of plain
// axes that a counterexample may need.
// SPDX-License-Identifier: Apache-2.0
#include "ops/meaning.h"
#include "rewrites/lab/prove/proof_case.h"

enum { MOST_PATHS = 64, MOST_VISITS = 1024, LARGEST_LITERAL = EGRAPH_MAX_RANK };

static const uint32_t AXES[EG_OP_COUNT] = {
#define EG_MEANING(ID, name, axes) [EG_OP_##ID] = (axes),
#include "rewrites/lab/prove/meaning.def"
#undef EG_MEANING
};

static uint32_t axes_of(eg_op op) {
  bool is_pointwise = (eg_op_info_of(op)->flags & EG_OPF_POINTWISE) != 0;
  return AXES[is_pointwise ? EG_OP_IDENTITY : op];
}

typedef struct axes_count {
  const eg_rule *rule;
  bool is_plain;
  uint32_t paths, pads; // paths that differ in places; paths through pads
  uint64_t unmoved;     // bits of variables with a path on which no plain axis moves
  uint32_t visits;
  uint32_t products;    // number of matrix products
  uint32_t nested;      // largest number of them on a path
  uint32_t named;       // number of axes that a term or a list names
  uint32_t front, back; // number of axes named by place, from each end
  uint32_t free_axes;   // number of lists of axes of any length
  bool only_pointwise;  // every operator but reductions and transposes is pointwise
  bool is_aligned;      // no operator moves axes when they are counted from the last one
  bool has_windows;
} axes_count;

// ---- terms ------------------------------------------------------------------------

static void end_path(axes_count *n, uint32_t var, bool moved) {
  if (eg_has_rank_zero(n->rule, var)) moved = false;
  uint64_t bit = !moved && var < 64 ? UINT64_C(1) << var : 0;
  if ((n->unmoved & bit) == 0) n->paths++;
  n->unmoved |= bit;
}

static void count_paths(axes_count *n, uint32_t term, uint32_t depth, uint32_t products,
                        bool moved) {
  const eg_rule_term *t = &n->rule->terms[eg_term_meant(n->rule, term)];
  if (depth > MOST_PATHS || n->visits++ > MOST_VISITS) {
    n->is_plain = false;
    return;
  }
  if (products > n->nested) n->nested = products;
  if (t->is_var) {
    end_path(n, t->var, moved);
    return;
  }
  // On a plain axis most operators read their operand at the index of the result, or at 0
  // where its size is 1: the same for every path. Products do not: if one operand is a
  // vector, axes of the other operand shift.
  bool is_product = (axes_of(t->op) & EG_AXES_PRODUCT) != 0;
  bool is_still = (axes_of(t->op) & EG_AXES_STILL) != 0;
  n->pads += t->op == EG_OP_PAD;
  products += is_product;
  for (uint32_t i = 0; i < t->child_count; i++)
    count_paths(n, t->children[i], depth + 1, products,
                moved || !(is_still || (is_product && i >= 2)));
}

/// Records that the rule names the axis at position `places`, counted from the last
/// axis (1).
static void note_back(axes_count *n, int64_t places) {
  if (places > (int64_t)n->back) n->back = (uint32_t)places;
}

static void note_literal(axes_count *n, int64_t value) {
  if (value >= LARGEST_LITERAL || value <= -LARGEST_LITERAL) {
    n->is_plain = false;
    return;
  }
  if (value < 0) {
    note_back(n, -value);
    return;
  }
  uint32_t place = (uint32_t)value + 1;
  if (place > n->front) n->front = place;
}

static void count_term_axes(axes_count *n, const eg_rule_term *t) {
  if (t->is_var) return;
  const uint32_t no_axes = EG_AXES_COUNTED | EG_AXES_PRODUCT | EG_AXES_WINDOWS;
  uint32_t axes = axes_of(t->op);
  for (uint16_t i = 0; i < eg_op_info_of(t->op)->attr_count; i++) {
    const eg_rule_slot *slot = &t->slots[i];
    if (slot->form != EG_RULE_SLOT_LITERAL) continue;
    if (slot->literal.kind == EG_ATTR_INT && (axes & no_axes) == 0)
      note_literal(n, slot->literal.i);
    if (slot->literal.kind != EG_ATTR_INTS) continue;
    n->named += slot->literal.ints.len; // the number of axes that it names, or has
    for (uint32_t k = 0; k < slot->literal.ints.len && (axes & EG_AXES_LISTED) == 0; k++)
      note_literal(n, slot->literal.ints.data[k]);
  }
  if ((eg_op_info_of(t->op)->flags & EG_OPF_POINTWISE) != 0) return;
  bool is_shifted = (axes & EG_AXES_SHIFTED) != 0;
  if ((axes & EG_AXES_PLAIN) == 0) n->is_plain = false;
  if ((axes & EG_AXES_WINDOWS) != 0) n->has_windows = true;
  if ((axes & EG_AXES_PRODUCT) != 0) n->products++;
  if ((axes & EG_AXES_NAMED) != 0) n->named++;
  if ((axes & EG_AXES_REDUCED) != 0) {
    uint32_t length = eg_known_length(n->rule, &t->slots[0]);
    if (length != EG_RULE_NONE)
      n->named += length;
    else
      n->free_axes++;
  }
  n->only_pointwise = n->only_pointwise && is_shifted;
  n->is_aligned = n->is_aligned && !is_shifted;
}

// ---- expressions ------------------------------------------------------------------

// True for functions that commute with the removal of a plain axis: they work axis by
// axis, or on named axes.
static bool is_per_axis(eg_rule_function f) {
  switch ((int)f) {
  case EG_RULE_FN_ELEMENTS:
  case EG_RULE_FN_PRODUCT:
  case EG_RULE_FN_SUM:
  case EG_RULE_FN_RANGE:
  case EG_RULE_FN_REPEAT:
  case EG_RULE_FN_REMOVE_AT:
  case EG_RULE_FN_INSERT_AT:
  case EG_RULE_FN_REVERSE:
  case EG_RULE_FN_INDEX_OF:
  case EG_RULE_FN_MOD:
  case EG_RULE_FN_FLOOR_DIV:
  case EG_RULE_FN_DIVIDES:
  case EG_RULE_FN_ODD:
  case EG_RULE_FN_EVEN: return false;
  default: return true;
  }
}

// True for an expression that is a number of axes, plus or minus a constant: a list of
// that length loses one entry when an axis is removed.
static bool is_of_rank(const eg_rule *rule, const eg_rule_expr *e) {
  if (e->form == EG_RULE_EXPR_VAR) {
    uint32_t let = eg_rule_let_expr(rule, e->var);
    return let != EG_RULE_NONE && is_of_rank(rule, &rule->exprs[let]);
  }
  if (e->form != EG_RULE_EXPR_CALL) return false;
  if (e->function == EG_RULE_FN_RANK || e->function == EG_RULE_FN_LEN) return true;
  return e->function == EG_RULE_FN_SUB && e->arg_count == 2 &&
         is_of_rank(rule, &rule->exprs[e->args[0]]) &&
         rule->exprs[e->args[1]].form == EG_RULE_EXPR_CONSTANT;
}

/// True when an expression is used, and every use, as operand k of e, passes the test.
typedef bool use_test(const eg_rule *rule, const eg_rule_expr *e, uint32_t k);
static bool is_used_as(const eg_rule *rule, const eg_rule_expr *of, use_test *test) {
  bool found = false;
  for (uint32_t i = 0; i < rule->expr_count; i++)
    for (uint32_t k = 0; k < rule->exprs[i].arg_count; k++) {
      if (&rule->exprs[rule->exprs[i].args[k]] != of) continue;
      if (!test(rule, &rule->exprs[i], k)) return false;
      found = true;
    }
  return found;
}

// True for a number of elements that is compared with 0, which says that no size is 0.
static bool is_of_no_size(const eg_rule *rule, const eg_rule_expr *e, uint32_t k) {
  if (k != 0 || e->function != EG_RULE_FN_GT) return false;
  const eg_rule_expr *number = &rule->exprs[e->args[1]];
  return number->form == EG_RULE_EXPR_CONSTANT && number->constant.i == 0;
}

// True for an operand of a comparison with a rank.
static bool is_rank(const eg_rule *rule, const eg_rule_expr *e, uint32_t k) {
  bool compares = e->function == EG_RULE_FN_EQ || e->function == EG_RULE_FN_GE;
  return compares && k == 1 && eg_rule_call_of(rule, e->args[0], EG_RULE_FN_RANK) != NULL;
}

static bool has_lists(const eg_rule *rule, const eg_rule_expr *e) {
  for (uint32_t i = 0; i < e->arg_count; i++)
    if (rule->exprs[e->args[i]].kind == EG_RULE_INTS ||
        rule->exprs[e->args[i]].kind == EG_RULE_TENSOR)
      return true;
  return false;
}

static bool is_of_egraph(eg_rule_function f) { // these give no facts
  return f == EG_RULE_FN_WEIGHT_ONLY || f == EG_RULE_FN_IS_CONCAT ||
         f == EG_RULE_FN_IS_CONV || f == EG_RULE_FN_BEFORE || f == EG_RULE_FN_IS_SPLAT ||
         f == EG_RULE_FN_SPLAT_IS;
}

static bool says_nothing(const eg_rule *rule, const eg_rule_expr *e) {
  if (e->form != EG_RULE_EXPR_CALL) return false;
  if (e->function != EG_RULE_FN_AND && e->function != EG_RULE_FN_OR)
    return is_of_egraph(e->function);
  bool nothing = true;
  for (uint32_t i = 0; i < e->arg_count; i++)
    nothing = nothing && says_nothing(rule, &rule->exprs[e->args[i]]);
  return nothing;
}

// True when a list's numbers are axes that other lists contain, where they are counted.
static bool lists_axes(const eg_rule *rule, const eg_rule_expr *e) {
  for (uint32_t i = 0; i < e->arg_count; i++)
    if (eg_rule_call_of(rule, e->args[i], EG_RULE_FN_AT) == NULL) return false;
  return true;
}

// True for an index into a list of axes; the index itself is no axis.
static bool is_place_in_axes(const eg_rule *rule, const eg_rule_expr *e, uint32_t k) {
  const eg_rule_expr *list = &rule->exprs[e->args[0]];
  if (k != 1 || e->function != EG_RULE_FN_AT || list->form != EG_RULE_EXPR_VAR)
    return false;
  eg_rule_slot slot = {.form = EG_RULE_SLOT_VAR, .index = list->var};
  return eg_known_length(rule, &slot) != EG_RULE_NONE;
}

static bool is_sizes_of_parts(const eg_rule *rule, const eg_rule_expr *list) {
  for (uint32_t i = 0; i < rule->term_count; i++) {
    const eg_rule_term *t = &rule->terms[i];
    if (t->is_var || t->op != EG_OP_SPLIT) continue;
    const eg_rule_slot *slot = &t->slots[EG_SLOT(SPLIT, SIZES)];
    if (slot->form == EG_RULE_SLOT_EXPR && &rule->exprs[slot->index] == list) return true;
  }
  return false;
}

static void count_expr_axes(axes_count *n, const eg_rule_expr *e) {
  if (e->form == EG_RULE_EXPR_CONSTANT) {
    if (e->kind != EG_RULE_INT || is_used_as(n->rule, e, is_place_in_axes)) {
    } else if (is_used_as(n->rule, e, is_rank) &&
               e->constant.i >= 0) { // that many axes stay
      if (e->constant.i == 0) return;
      if (n->is_aligned && !n->has_windows)
        note_back(n, e->constant.i);
      else
        note_literal(n, e->constant.i - 1);
    } else {
      note_literal(n, e->constant.i);
    }
    if (e->kind == EG_RULE_INTS) {
      n->named += e->constant.ints.len;
      for (uint32_t i = 0; i < e->constant.ints.len; i++)
        note_literal(n, e->constant.ints.data[i]);
    }
    return;
  }
  if (e->form != EG_RULE_EXPR_CALL) return;
  bool is_of_every_axis = e->function == EG_RULE_FN_REPEAT &&
                          is_of_rank(n->rule, &n->rule->exprs[e->args[1]]);
  if (!is_per_axis(e->function) && !is_of_every_axis &&
      !(e->function == EG_RULE_FN_ELEMENTS && is_used_as(n->rule, e, is_of_no_size)))
    n->is_plain = false;
  if (e->function == EG_RULE_FN_LIST && !lists_axes(n->rule, e) &&
      !is_sizes_of_parts(n->rule, e))
    n->named += e->arg_count;
  // Two lists may differ in the removed axis only.
  if ((e->function == EG_RULE_FN_NE && has_lists(n->rule, e)) ||
      (e->function == EG_RULE_FN_NOT &&
       !says_nothing(n->rule, &n->rule->exprs[e->args[0]])))
    n->is_plain = false;
}

// ---- windows --------------------------------------------------------------------

// Rules with convolutions and pooling. Each axis over which a window slides has its own
// entries of strides, pads, kernels and places. An element is therefore a sum of terms,
// and each term is a product over these axes of vectors: the taps on the axis, with the
// places that they read. Terms that read different variables are independent. Take the
// difference of both sides, T terms with the same variables, with values a_tj of the
// vectors under any functionals, and a smallest set S of axes on which it is not 0 (at
// least one axis: every window has one). On every smaller set the difference is 0, so for
// an axis s in S and any numbers c
//
//   sum_t a_ts prod_{j in S - s} (a_tj - c_j) = sum_t prod_{j in S} a_tj != 0,
//
// and with |S| > T numbers c can be chosen that make every term 0. T axes are therefore
// enough. (T - 1 axes are not: a factor 0.5 in place of a mean of two is right on one
// axis.) For a maximum the terms are sets of places, products of sets over the axes: a
// place of one set is missing in each other set on some axis, and an empty set is empty
// on some axis. In class exact no terms are added: if each side is one fold, the places
// that both read at a tap differ on some axis. A function of one argument at the roots
// makes no difference: the functions of the list map different numbers above 0 (or within
// the bounds of clip) to different results.

enum { MOST_KINDS = 24, MOST_TERMS = 64, DEEPEST = 32 };

typedef struct expansion {
  const eg_rule *rule;
  bool is_known, has_sums, has_maxima, has_pointwise;
} expansion;

/// The product terms of a sum (see above), counted by the set of variables they read.
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

static void count_terms(expansion *e, terms *to, uint64_t vars, uint32_t count) {
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
    count_terms(e, &a, b.vars[i], b.count[i]);
  return a;
}

// Multiplies two sums of terms. Fails for a variable that occurs twice in one product:
// its reads change places on all axes at once, which the argument above does not cover.
static terms multiply_terms(expansion *e, terms a, terms b) {
  terms all = {.kinds = 0};
  for (uint32_t i = 0; i < a.kinds && e->is_known; i++)
    for (uint32_t k = 0; k < b.kinds; k++) {
      if ((a.vars[i] & b.vars[k]) != 0) return give_up(e);
      count_terms(e, &all, a.vars[i] | b.vars[k], a.count[i] * b.count[k]);
    }
  e->has_sums = true;
  return all;
}

static bool is_literal(const eg_rule_slot *slot, int64_t value) {
  return slot->form == EG_RULE_SLOT_LITERAL &&
         (slot->literal.kind == EG_ATTR_FLOAT ? slot->literal.f == (double)value
                                              : slot->literal.i == value);
}

static terms expand_term(expansion *e, uint32_t term, uint32_t depth);

// True for EXP and for operators of fused activations.
static bool is_activation(eg_op op) {
  bool found = op == EG_OP_EXP;
  for (int act = 0; act < EG_ACT_COUNT && !found; act++)
    found = eg_act_operator((eg_act)act) == op;
  return found;
}

static terms expand_all(expansion *e, const eg_rule_term *t, uint32_t depth) {
  terms all = expand_term(e, t->children[0], depth);
  for (uint32_t i = 1; i < t->child_count; i++)
    all = plus(e, all, expand_term(e, t->children[i], depth));
  return all;
}

static terms expand_conv(expansion *e, const eg_rule_term *t, uint32_t depth) {
  e->has_sums = true;
  terms all = multiply_terms(e, expand_term(e, t->children[0], depth),
                             expand_term(e, t->children[1], depth));
  for (uint32_t i = 2; i < t->child_count; i++)
    all = plus(e, all, expand_term(e, t->children[i], depth));
  return all;
}

// Expands (x - mean) scale / sqrt(variance + epsilon) + bias: the quotient is read
// by channel.
static terms expand_batch_norm(expansion *e, const eg_rule_term *t, uint32_t depth) {
  terms x = expand_term(e, t->children[0], depth),
        scale = expand_term(e, t->children[1], depth);
  terms bias = expand_term(e, t->children[2], depth),
        mean = expand_term(e, t->children[3], depth);
  terms variance = expand_term(e, t->children[4], depth);
  if (variance.kinds != 1 || variance.count[0] != 1) return give_up(e);
  return plus(e, multiply_terms(e, multiply_terms(e, plus(e, x, mean), scale), variance),
              bias);
}

static terms expand_term(expansion *e, uint32_t term, uint32_t depth) {
  const eg_rule_term *t = &e->rule->terms[eg_term_meant(e->rule, term)];
  if (depth > DEEPEST) return give_up(e);
  if (t->is_var) return t->var < 64 ? read_of(UINT64_C(1) << t->var) : give_up(e);
  depth++;
  if (t->child_count == 0) return read_of(0);
  switch ((int)t->op) {
  case EG_OP_ADD:
  case EG_OP_SUB: e->has_sums = e->has_pointwise = true; return expand_all(e, t, depth);
  case EG_OP_MUL:
    e->has_pointwise = true;
    return multiply_terms(e, expand_term(e, t->children[0], depth),
                          expand_term(e, t->children[1], depth));
  case EG_OP_BATCH_NORM: e->has_pointwise = true; return expand_batch_norm(e, t, depth);
  case EG_OP_CONV:
    if (!is_literal(&t->slots[EG_SLOT(CONV, ACT)], EG_ACT_NONE)) return give_up(e);
    return expand_conv(e, t, depth);
  case EG_OP_AVERAGE_POOL:
  case EG_OP_GLOBAL_AVERAGE_POOL:
  case EG_OP_NEG: e->has_sums = true; return expand_all(e, t, depth);
  case EG_OP_MAX_POOL:
  case EG_OP_GLOBAL_MAX_POOL:
  case EG_OP_MAX: e->has_maxima = true; return expand_all(e, t, depth);
  case EG_OP_PAD: { // contributes to x + (1 - in) v
    terms x = expand_all(e, t, depth);
    if (!is_literal(&t->slots[EG_SLOT(PAD, MODE)], 0)) return give_up(e);
    if (!is_literal(&t->slots[EG_SLOT(PAD, VALUE)], 0)) count_terms(e, &x, 0, 2);
    return x;
  }
  default: break;
  }
  bool is_picked = t->op == EG_OP_IDENTITY || (axes_of(t->op) & EG_AXES_PICKED) != 0;
  bool grows = (eg_op_info_of(t->op)->flags & EG_OPF_GROWS) != 0;
  if (!is_picked && !(grows && is_activation(t->op))) return give_up(e);
  e->has_maxima = e->has_maxima || !is_picked;
  return expand_all(e, t, depth);
}

// Expands a result of the rule after removing a function of one argument; for a
// concatenation, expands one of its operands.
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
    return expand_term(e, term, 0);
  return expand_term(e, t->children[0], 1);
}

static uint32_t window_bound(const eg_rule *rule, uint32_t paths, uint32_t pads) {
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

// ---- the bound --------------------------------------------------------------------

// Returns how many different axes the reduced axes of a rule represent. Axes that are
// reduced by the same lists and have the same sizes in all variables act as one axis,
// whose size is the product of their sizes.
static uint32_t kinds_of_reduced(const axes_count *n, uint32_t tensors) {
  if (n->free_axes > 3) return EGRAPH_MAX_RANK;
  uint32_t kinds = (UINT32_C(1) << n->free_axes) - 1;
  for (uint32_t i = 1; i < tensors && kinds < EGRAPH_MAX_RANK; i++)
    kinds *= 3;
  return kinds;
}

uint32_t eg_rank_bound(const eg_rule *rule) {
  axes_count n = {
      .rule = rule, .is_plain = true, .only_pointwise = true, .is_aligned = true};
  uint32_t vars = 0, tensors = 0;
  for (uint32_t i = 0; i < rule->var_count; i++) {
    bool tensor = rule->vars[i].kind == EG_RULE_TENSOR &&
                  rule->vars[i].origin == EG_RULE_VAR_MATCHED;
    vars += tensor;
    tensors += tensor && !eg_has_rank_zero(rule, i);
  }
  for (uint32_t i = 0; i < rule->term_count; i++)
    count_term_axes(&n, &rule->terms[i]);
  for (uint32_t i = 0; i < rule->expr_count; i++)
    count_expr_axes(&n, &rule->exprs[i]);
  for (uint32_t i = 0; i < rule->root_count; i++) { // a root has each variable
    count_paths(&n, rule->lhs[i].term, 0, 0, false);
    count_paths(&n, rule->rhs[i].term, 0, 0, false);
  }
  if (!n.is_plain || !eg_perms_are_plain(rule)) return EGRAPH_MAX_RANK;
  if (n.has_windows) {
    uint32_t windows = window_bound(rule, n.paths, n.pads);
    uint32_t front = n.front > 2 ? n.front : 2; // 2: batch and channels
    if (windows >= EGRAPH_MAX_RANK || n.products != 0 || n.free_axes != 0)
      return EGRAPH_MAX_RANK;
    windows += front + n.back + n.named;
    return windows < EGRAPH_MAX_RANK ? windows : EGRAPH_MAX_RANK;
  }
  // A product names the last two axes of its operands. If one operand is a vector, the
  // last axis of the result is the last but one of the other operand.
  if (n.is_aligned && n.nested != 0)
    note_back(&n, 1 + n.nested);
  else
    n.named += 2 * n.products;
  if (n.free_axes != 0) {
    if (!n.only_pointwise) return EGRAPH_MAX_RANK;
    n.named += kinds_of_reduced(&n, tensors);
  }
  uint32_t plain = (n.paths > vars ? n.paths - vars : 0) + n.pads + 1;
  uint32_t bound = n.named + n.front + n.back + plain;
  return bound < EGRAPH_MAX_RANK ? bound : EGRAPH_MAX_RANK;
}
