// An axis is plain when no operator names it: every operator does the same for it alone
// (README.md, "Ranks"). The bound counts the axes that are named, and the plain ones that
// a counterexample may need.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/prove/rank_bound.h"

enum { MOST_PATHS = 64, MOST_VISITS = 1024, LARGEST_LITERAL = EGRAPH_MAX_RANK };

typedef struct count {
  const eg_rule *rule;
  bool is_plain;
  uint32_t paths, pads; // from the roots to variables, as places differ; through pads
  uint64_t unmoved;     // variables with a path on which no plain axis moves
  uint32_t visits;
  uint32_t products;    // matrix products
  uint32_t nested;      // of them on a path
  uint32_t named;       // axes that a term or a list names
  uint32_t front, back; // axes that are named by their place
  uint32_t free_axes;   // lists of axes of any length
  bool only_pointwise;  // beside reductions and transposes
  bool is_aligned;      // no operator moves axes, counted from the last one
  bool has_windows;
} count;

// ---- terms ------------------------------------------------------------------------

// The term that a variable stands for (by let or as), or the term itself.
uint32_t eg_term_meant(const eg_rule *rule, uint32_t term) {
  const eg_rule_term *t = &rule->terms[term];
  if (!t->is_var) return term;
  for (uint32_t i = 0; i < rule->let_count; i++)
    if (rule->lets[i].is_term && rule->lets[i].var == t->var) return rule->lets[i].term;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++)
    if (!rule->terms[i].is_var && rule->terms[i].var == t->var) return i;
  return term;
}

// On a plain axis most operators read their operand at the index of the result, or at 0
// where its size is 1: whatever the path, at one place. Products are not counted on:
// where an operand is a vector, axes of the other one shift.
static bool moves_plain_axes(const eg_rule_term *t, uint32_t operand) {
  switch ((int)t->op) {
  case EG_OP_TRANSPOSE:
  case EG_OP_CONCAT:
  case EG_OP_SPLIT:
  case EG_OP_PART:
  case EG_OP_EXPAND:
  case EG_OP_SOFTMAX:
  case EG_OP_LOG_SOFTMAX:
  case EG_OP_REDUCE_SUM:
  case EG_OP_REDUCE_MEAN:
  case EG_OP_REDUCE_MAX:
  case EG_OP_REDUCE_MIN:
  case EG_OP_REDUCE_PROD: return false;
  case EG_OP_MATMUL: return operand < 2;
  default: return (eg_op_info_of(t->op)->flags & EG_OPF_POINTWISE) == 0;
  }
}

static void end_path(count *n, uint32_t var, bool moved) {
  if (eg_has_rank_zero(n->rule, var)) moved = false;
  uint64_t bit = !moved && var < 64 ? UINT64_C(1) << var : 0;
  if ((n->unmoved & bit) == 0) n->paths++;
  n->unmoved |= bit;
}

static void count_paths(count *n, uint32_t term, uint32_t depth, uint32_t products,
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
  n->pads += t->op == EG_OP_PAD;
  products += t->op == EG_OP_MATMUL;
  for (uint32_t i = 0; i < t->child_count; i++)
    count_paths(n, t->children[i], depth + 1, products, moved || moves_plain_axes(t, i));
}

uint32_t eg_known_length(const eg_rule *rule, const eg_rule_slot *slot) {
  if (slot->form == EG_RULE_SLOT_LITERAL) return slot->literal.ints.len;
  if (slot->form == EG_RULE_SLOT_EXPR) {
    const eg_rule_expr *e = &rule->exprs[slot->index];
    while (e->form == EG_RULE_EXPR_CALL && e->function == EG_RULE_FN_SORT)
      e = &rule->exprs[e->args[0]];
    bool is_list = e->form == EG_RULE_EXPR_CALL && e->function == EG_RULE_FN_LIST;
    return is_list ? e->arg_count : EG_RULE_NONE;
  }
  if (slot->form != EG_RULE_SLOT_VAR) return EG_RULE_NONE;
  for (uint32_t i = 0; i < rule->condition_count; i++) {
    const eg_rule_expr *e = &rule->exprs[rule->conditions[i]];
    if (e->form != EG_RULE_EXPR_CALL || e->function != EG_RULE_FN_EQ) continue;
    const eg_rule_expr *a = &rule->exprs[e->args[0]], *b = &rule->exprs[e->args[1]];
    if (a->form == EG_RULE_EXPR_VAR && a->var == slot->index &&
        b->form == EG_RULE_EXPR_CALL && b->function == EG_RULE_FN_LIST)
      return b->arg_count;
    if (a->form != EG_RULE_EXPR_CALL || a->function != EG_RULE_FN_LEN) continue;
    const eg_rule_expr *of = &rule->exprs[a->args[0]];
    if (of->form == EG_RULE_EXPR_VAR && of->var == slot->index &&
        b->form == EG_RULE_EXPR_CONSTANT && b->kind == EG_RULE_INT)
      return (uint32_t)b->constant.i;
  }
  return EG_RULE_NONE;
}

/// Places from the last one: -1 is the first of them.
static void note_back(count *n, int64_t places) {
  if (places > (int64_t)n->back) n->back = (uint32_t)places;
}

static void note_literal(count *n, int64_t value) {
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

static bool is_window(eg_op op) {
  switch ((int)op) {
  case EG_OP_CONV:
  case EG_OP_MAX_POOL:
  case EG_OP_AVERAGE_POOL:
  case EG_OP_GLOBAL_MAX_POOL:
  case EG_OP_GLOBAL_AVERAGE_POOL:
  case EG_OP_POOL_KERNEL:
  case EG_OP_CONV_IDENTITY:
  case EG_OP_BATCH_NORM:
  case EG_OP_ENLARGE: return true;
  default: return false;
  }
}

static void note_axes(count *n, const eg_rule_slot *slot) {
  uint32_t length = eg_known_length(n->rule, slot);
  if (length != EG_RULE_NONE)
    n->named += length;
  else
    n->free_axes++;
}

// Integers among the attributes are flags, or numbers of groups and parts.
static bool has_only_flags(eg_op op) {
  return op == EG_OP_MATMUL || op == EG_OP_PART || is_window(op);
}

static void note_term(count *n, const eg_rule_term *t) {
  if (t->is_var) return;
  bool pointwise = (eg_op_info_of(t->op)->flags & EG_OPF_POINTWISE) != 0;
  uint16_t slots = eg_op_info_of(t->op)->attr_count;
  for (uint16_t i = 0; i < slots; i++) {
    const eg_rule_slot *slot = &t->slots[i];
    if (slot->form != EG_RULE_SLOT_LITERAL) continue;
    if (slot->literal.kind == EG_ATTR_INT && !has_only_flags(t->op))
      note_literal(n, slot->literal.i);
    if (slot->literal.kind != EG_ATTR_INTS) continue;
    n->named += slot->literal.ints.len; // as many axes as it names, or has
    for (uint32_t k = 0; k < slot->literal.ints.len; k++)
      if (t->op != EG_OP_SLICE && t->op != EG_OP_PAD)
        note_literal(n, slot->literal.ints.data[k]);
  }
  if (pointwise) return;
  bool moves = t->op == EG_OP_TRANSPOSE, shifts = moves;
  switch ((int)t->op) {
  case EG_OP_CONCAT:
  case EG_OP_SPLIT:
  case EG_OP_SOFTMAX:
  case EG_OP_LOG_SOFTMAX: n->named++; break;
  case EG_OP_PART: break; // of the axis that its split names
  case EG_OP_MATMUL: n->products++; break;
  case EG_OP_REDUCE_SUM:
  case EG_OP_REDUCE_MEAN:
  case EG_OP_REDUCE_MAX:
  case EG_OP_REDUCE_MIN:
  case EG_OP_REDUCE_PROD: // axes are the first slot of the family
    note_axes(n, &t->slots[0]);
    moves = shifts = true;
    break;
  case EG_OP_TRANSPOSE:
  case EG_OP_SLICE:
  case EG_OP_PAD:
  case EG_OP_EXPAND:
  case EG_OP_TILE:
  case EG_OP_FILL: break;
  default:
    if (!is_window(t->op)) n->is_plain = false;
    n->has_windows = true;
    break;
  }
  if (!moves) n->only_pointwise = false;
  if (shifts) n->is_aligned = false;
}

// ---- expressions ------------------------------------------------------------------

// Functions that commute with the removal of a plain axis: per axis, or of named ones.
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

// The number of axes, more or less a constant: a list of that length loses the entry of
// an axis that is removed.
static bool is_of_rank(const eg_rule *rule, const eg_rule_expr *e) {
  if (e->form == EG_RULE_EXPR_VAR) {
    for (uint32_t i = 0; i < rule->let_count; i++)
      if (rule->lets[i].var == e->var && !rule->lets[i].is_term)
        return is_of_rank(rule, &rule->exprs[rule->lets[i].expr]);
    return false;
  }
  if (e->form != EG_RULE_EXPR_CALL) return false;
  if (e->function == EG_RULE_FN_RANK || e->function == EG_RULE_FN_LEN) return true;
  return e->function == EG_RULE_FN_SUB && e->arg_count == 2 &&
         is_of_rank(rule, &rule->exprs[e->args[0]]) &&
         rule->exprs[e->args[1]].form == EG_RULE_EXPR_CONSTANT;
}

static bool is_of_every_axis(const eg_rule *rule, const eg_rule_expr *e) {
  return e->function == EG_RULE_FN_REPEAT && is_of_rank(rule, &rule->exprs[e->args[1]]);
}

// The number of elements is only compared with 0: no size is 0.
static bool is_of_no_size(const eg_rule *rule, const eg_rule_expr *elements) {
  bool found = false;
  for (uint32_t i = 0; i < rule->expr_count; i++) {
    const eg_rule_expr *e = &rule->exprs[i];
    for (uint32_t k = 0; k < e->arg_count; k++) {
      if (&rule->exprs[e->args[k]] != elements) continue;
      if (k != 0 || e->function != EG_RULE_FN_GT) return false;
      const eg_rule_expr *number = &rule->exprs[e->args[1]];
      if (number->form != EG_RULE_EXPR_CONSTANT || number->constant.i != 0) return false;
      found = true;
    }
  }
  return found;
}

// A number that ranks are compared with, and nothing else is.
static bool is_rank(const eg_rule *rule, const eg_rule_expr *number) {
  bool found = false;
  for (uint32_t i = 0; i < rule->expr_count; i++) {
    const eg_rule_expr *e = &rule->exprs[i];
    for (uint32_t k = 0; k < e->arg_count; k++) {
      if (&rule->exprs[e->args[k]] != number) continue;
      bool compares = e->function == EG_RULE_FN_EQ || e->function == EG_RULE_FN_GE;
      if (!compares || k != 1) return false;
      const eg_rule_expr *of = &rule->exprs[e->args[0]];
      if (of->form != EG_RULE_EXPR_CALL || of->function != EG_RULE_FN_RANK) return false;
      found = true;
    }
  }
  return found;
}

static bool has_lists(const eg_rule *rule, const eg_rule_expr *e) {
  for (uint32_t i = 0; i < e->arg_count; i++)
    if (rule->exprs[e->args[i]].kind == EG_RULE_INTS ||
        rule->exprs[e->args[i]].kind == EG_RULE_TENSOR)
      return true;
  return false;
}

static bool is_of_egraph(eg_rule_function f) { // nothing is assumed of these
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

// Axes of other lists: they are counted where these stand.
static bool lists_axes(const eg_rule *rule, const eg_rule_expr *e) {
  for (uint32_t i = 0; i < e->arg_count; i++) {
    const eg_rule_expr *item = &rule->exprs[e->args[i]];
    if (item->form != EG_RULE_EXPR_CALL || item->function != EG_RULE_FN_AT) return false;
  }
  return true;
}

// A place in a list of axes, which is no axis.
static bool is_place_in_axes(const eg_rule *rule, const eg_rule_expr *number) {
  bool found = false;
  for (uint32_t i = 0; i < rule->expr_count; i++) {
    const eg_rule_expr *e = &rule->exprs[i];
    for (uint32_t k = 0; k < e->arg_count; k++) {
      if (&rule->exprs[e->args[k]] != number) continue;
      const eg_rule_expr *list = &rule->exprs[e->args[0]];
      if (e->function == EG_RULE_FN_LEN || k != 1) return false;
      if (e->function != EG_RULE_FN_AT || list->form != EG_RULE_EXPR_VAR) return false;
      eg_rule_slot slot = {.form = EG_RULE_SLOT_VAR, .index = list->var};
      if (eg_known_length(rule, &slot) == EG_RULE_NONE) return false;
      found = true;
    }
  }
  return found;
}

static bool is_sizes_of_parts(const eg_rule *rule, const eg_rule_expr *list) {
  uint16_t sizes = (uint16_t)((int)EG_A_SPLIT_SIZES - (int)EG_A_BASE_SPLIT);
  for (uint32_t i = 0; i < rule->term_count; i++) {
    const eg_rule_term *t = &rule->terms[i];
    if (t->is_var || t->op != EG_OP_SPLIT) continue;
    const eg_rule_slot *slot = &t->slots[sizes];
    if (slot->form == EG_RULE_SLOT_EXPR && &rule->exprs[slot->index] == list) return true;
  }
  return false;
}

static void note_expr(count *n, const eg_rule_expr *e) {
  if (e->form == EG_RULE_EXPR_CONSTANT) {
    if (e->kind != EG_RULE_INT || is_place_in_axes(n->rule, e)) {
    } else if (is_rank(n->rule, e) && e->constant.i >= 0) { // so many axes stay
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
  if (!is_per_axis(e->function) && !is_of_every_axis(n->rule, e) &&
      !(e->function == EG_RULE_FN_ELEMENTS && is_of_no_size(n->rule, e)))
    n->is_plain = false;
  if (e->function == EG_RULE_FN_LIST && !lists_axes(n->rule, e) &&
      !is_sizes_of_parts(n->rule, e))
    n->named += e->arg_count;
  // That lists differ may be true of the removed axis alone.
  bool negative = e->function == EG_RULE_FN_NE;
  if (negative && has_lists(n->rule, e)) n->is_plain = false;
  if (e->function == EG_RULE_FN_NOT) {
    if (!says_nothing(n->rule, &n->rule->exprs[e->args[0]])) n->is_plain = false;
  }
}

// ---- the bound --------------------------------------------------------------------

bool eg_has_rank_zero(const eg_rule *rule, uint32_t var) {
  for (uint32_t i = 0; i < rule->condition_count; i++) {
    const eg_rule_expr *e = &rule->exprs[rule->conditions[i]];
    if (e->form != EG_RULE_EXPR_CALL || e->function != EG_RULE_FN_EQ) continue;
    const eg_rule_expr *a = &rule->exprs[e->args[0]], *b = &rule->exprs[e->args[1]];
    if (a->form != EG_RULE_EXPR_CALL || a->function != EG_RULE_FN_RANK) continue;
    const eg_rule_expr *of = &rule->exprs[a->args[0]];
    if (of->form == EG_RULE_EXPR_VAR && of->var == var &&
        b->form == EG_RULE_EXPR_CONSTANT && b->kind == EG_RULE_INT && b->constant.i == 0)
      return true;
  }
  return false;
}

// Axes that are reduced by the same lists and have the same sizes in all variables are
// one axis of the product of their sizes; there are this many kinds of them.
static uint32_t kinds_of_reduced(const count *n, uint32_t tensors) {
  uint32_t kinds = 1;
  if (n->free_axes > 3) return EGRAPH_MAX_RANK;
  kinds = (UINT32_C(1) << n->free_axes) - 1;
  for (uint32_t i = 1; i < tensors && kinds < EGRAPH_MAX_RANK; i++)
    kinds *= 3;
  return kinds;
}

uint32_t eg_rank_bound(const eg_rule *rule) {
  count n = {.rule = rule, .is_plain = true, .only_pointwise = true, .is_aligned = true};
  uint32_t vars = 0, tensors = 0;
  for (uint32_t i = 0; i < rule->var_count; i++) {
    bool tensor = rule->vars[i].kind == EG_RULE_TENSOR &&
                  rule->vars[i].origin == EG_RULE_VAR_MATCHED;
    vars += tensor;
    tensors += tensor && !eg_has_rank_zero(rule, i);
  }
  for (uint32_t i = 0; i < rule->term_count; i++)
    note_term(&n, &rule->terms[i]);
  for (uint32_t i = 0; i < rule->expr_count; i++)
    note_expr(&n, &rule->exprs[i]);
  for (uint32_t i = 0; i < rule->root_count; i++) { // every variable is in one at least
    count_paths(&n, rule->lhs[i].term, 0, 0, false);
    count_paths(&n, rule->rhs[i].term, 0, 0, false);
  }
  if (!n.is_plain || !eg_perms_are_plain(rule)) return EGRAPH_MAX_RANK;
  if (n.has_windows) {
    uint32_t windows = eg_window_bound(rule, n.paths, n.pads);
    uint32_t front = n.front > 2 ? n.front : 2; // batch and channels
    if (windows >= EGRAPH_MAX_RANK || n.products != 0 || n.free_axes != 0)
      return EGRAPH_MAX_RANK;
    windows += front + n.back + n.named;
    return windows < EGRAPH_MAX_RANK ? windows : EGRAPH_MAX_RANK;
  }
  // A product names the last two axes of its operands; where one is a vector, the last
  // one of the result stands where the other operand has the last but one.
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
