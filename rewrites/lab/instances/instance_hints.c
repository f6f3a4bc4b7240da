// Reads conditions before anything is drawn: hints about variables, the variables that
// expressions need, and the term after which a condition is decidable.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "rewrites/lab/instances/instance_draw_internal.h"
#include "rewrites/lab/instances/instance_ways.h"

static void wish_rank(const eg_rule *rule, const eg_rule_expr *call, var_hint *vars) {
  const eg_rule_expr *rank = eg_rule_call_of(rule, call->args[0], EG_RULE_FN_RANK);
  const eg_rule_expr *bound = &rule->exprs[call->args[1]];
  if (rank == NULL || bound->form != EG_RULE_EXPR_CONSTANT || bound->constant.i < 0)
    return;
  uint32_t var = eg_rule_var_of(rule, rank->args[0]), limit = (uint32_t)bound->constant.i;
  if (var == EG_RULE_NONE) return;
  eg_rule_function how = call->function;
  var_hint *hint = &vars[var];
  if (how == EG_RULE_FN_GT) limit++;
  if (how == EG_RULE_FN_LT && limit > 0) limit--;
  bool low = how == EG_RULE_FN_EQ || how == EG_RULE_FN_GE || how == EG_RULE_FN_GT;
  bool high = how == EG_RULE_FN_EQ || how == EG_RULE_FN_LE || how == EG_RULE_FN_LT;
  if (low && hint->min_rank < limit) hint->min_rank = limit;
  if (high && hint->max_rank > limit) hint->max_rank = limit;
}

static void wish_equal(const eg_rule *rule, const eg_rule_expr *call, var_hint *vars) {
  for (uint32_t side = 0; side < 2; side++) {
    uint32_t var = eg_rule_var_of(rule, call->args[side]);
    if (var != EG_RULE_NONE && rule->vars[var].kind != EG_RULE_TENSOR)
      vars[var].equals = call->args[1 - side];
  }
}

static void wish_splat(const eg_rule *rule, const eg_rule_expr *call, wish_state wish,
                       var_hint *vars) {
  uint32_t var = eg_rule_var_of(rule, call->args[0]);
  if (var == EG_RULE_NONE) return;
  if (call->function == EG_RULE_FN_WEIGHT_ONLY) {
    vars[var].weight = wish;
    return;
  }
  if (wish == WISH_NO && call->function == EG_RULE_FN_SPLAT_IS) return;
  vars[var].splat = wish;
  if (call->function == EG_RULE_FN_SPLAT_IS) vars[var].splat_value = call->args[1];
}

// Reads the hints about variables from a condition. `wish` is WISH_NO below a `not`.
static void read_condition(const eg_rule *rule, uint32_t expr, wish_state wish,
                           var_hint *vars) {
  const eg_rule_expr *call = &rule->exprs[expr];
  if (call->form != EG_RULE_EXPR_CALL) return;
  eg_rule_function function = call->function;
  if (function == EG_RULE_FN_NOT) {
    if (wish == WISH_YES) read_condition(rule, call->args[0], WISH_NO, vars);
    return;
  }
  if (function == EG_RULE_FN_AND && wish == WISH_YES)
    for (uint32_t i = 0; i < call->arg_count; i++)
      read_condition(rule, call->args[i], wish, vars);
  if (function == EG_RULE_FN_WEIGHT_ONLY || function == EG_RULE_FN_IS_SPLAT ||
      function == EG_RULE_FN_SPLAT_IS)
    wish_splat(rule, call, wish, vars);
  bool compares = function == EG_RULE_FN_EQ || function == EG_RULE_FN_GE ||
                  function == EG_RULE_FN_LE || function == EG_RULE_FN_GT ||
                  function == EG_RULE_FN_LT;
  if (!compares || wish == WISH_NO) return;
  wish_rank(rule, call, vars);
  if (function == EG_RULE_FN_EQ) wish_equal(rule, call, vars);
}

/// Returns the element types that a condition allows for its variables.
static uint32_t dtypes_left(const eg_rule *rule, uint32_t expr) {
  const eg_rule_expr *call = &rule->exprs[expr];
  uint32_t left = 0, all = (1u << EGRAPH_DTYPE_COUNT) - 1;
  if (call->form != EG_RULE_EXPR_CALL) return all;
  for (uint32_t i = 0; i < EGRAPH_DTYPE_COUNT; i++) {
    egraph_dtype dtype = (egraph_dtype)i;
    bool is_float = eg_dtype_is_float(dtype), is_bool = dtype == EGRAPH_BOOL;
    bool fits = call->function == EG_RULE_FN_IS_FLOAT  ? is_float
                : call->function == EG_RULE_FN_IS_BOOL ? is_bool
                : call->function == EG_RULE_FN_IS_INT  ? !is_float && !is_bool
                                                       : true;
    for (uint32_t side = 0; call->function == EG_RULE_FN_EQ && side < 2; side++) {
      const eg_rule_expr *constant = &rule->exprs[call->args[1 - side]];
      if (eg_rule_call_of(rule, call->args[side], EG_RULE_FN_DTYPE) != NULL &&
          constant->form == EG_RULE_EXPR_CONSTANT && constant->constant.i != dtype)
        fits = false;
    }
    left |= fits ? 1u << i : 0;
  }
  return left;
}

enum { LARGEST_SIZE = 2000 };

/// Collects whole numbers above the usual dimensions, and the numbers after them, as
/// sizes to draw. Also collects fractions, because numbers that fill tensors are compared
/// with them.
static void read_constant(const eg_rule_expr *at, rule_hints *out) {
  if (at->form != EG_RULE_EXPR_CONSTANT) return;
  if (at->kind == EG_RULE_FLOAT && out->number_count < MAX_SIZES)
    out->numbers[out->number_count++] = at->constant.f;
  int64_t size = at->kind == EG_RULE_INT ? at->constant.i : 0;
  if (size < 6 || size > LARGEST_SIZE || out->size_count + 2 > MAX_SIZES) return;
  out->sizes[out->size_count++] = size;
  out->sizes[out->size_count++] = size + 1;
}

/// Returns, as bits, the element types with which a rule compares.
static uint32_t named_dtypes_of(const eg_rule *rule) {
  uint32_t named = 0;
  for (uint32_t i = 0; i < rule->expr_count; i++)
    if (rule->exprs[i].form == EG_RULE_EXPR_CONSTANT &&
        rule->exprs[i].kind == EG_RULE_DTYPE)
      named |= 1u << rule->exprs[i].constant.i;
  return named;
}

/// Returns, as bits, the element types that an operator takes as its first operand.
static uint32_t dtypes_taken(eg_op op) {
  unsigned flags = eg_op_info_of(op)->flags;
  uint32_t taken = 0;
  for (uint32_t i = 0; i < EGRAPH_DTYPE_COUNT; i++) {
    egraph_dtype dtype = (egraph_dtype)i;
    bool is_float = eg_dtype_is_float(dtype), is_bool = dtype == EGRAPH_BOOL;
    bool fits = (flags & (EG_OPF_ANY | EG_OPF_BOOL)) != 0 || !is_bool;
    if ((flags & EG_OPF_FLOAT) != 0) fits = is_float;
    if ((flags & EG_OPF_INTEGER) != 0) fits = !is_float && !is_bool;
    if ((flags & EG_OPF_SIGNED) != 0) fits = fits && !eg_dtype_is_unsigned(dtype);
    taken |= fits ? 1u << i : 0;
  }
  return taken;
}

/// Returns the element types that conditions allow; of these only types that the
/// operators of variables take, if any remains.
static uint32_t dtypes_of(const eg_rule *rule) {
  uint32_t left = (1u << EGRAPH_DTYPE_COUNT) - 1, taken = left;
  for (uint32_t i = 0; i < rule->condition_count; i++)
    left &= dtypes_left(rule, rule->conditions[i]);
  for (uint32_t i = 0; i < rule->pattern_term_count; i++) {
    const eg_rule_term *term = &rule->terms[i];
    if (!term->is_var && term->child_count > 0 && rule->terms[term->children[0]].is_var)
      taken &= dtypes_taken(term->op);
  }
  return (left & taken) != 0 ? left & taken : left;
}

// ---- parts ----------------------------------------------------------------------------

/// Pairs the tensor variables of two operands of a concatenation that are computed alike.
static void pair_leaves(const eg_rule *rule, uint32_t first, uint32_t other,
                        var_hint *vars) {
  const eg_rule_term *a = &rule->terms[first], *b = &rule->terms[other];
  if (a->is_var && b->is_var && a->var != b->var) vars[b->var].like = a->var;
  if (a->is_var || b->is_var || a->op != b->op || a->child_count != b->child_count)
    return;
  for (uint32_t i = 0; i < a->child_count; i++)
    pair_leaves(rule, a->children[i], b->children[i], vars);
}

/// Marks tensor variables that are operands of one concatenation: their types must be
/// alike, so they are drawn together.
static void read_parts(const eg_rule *rule, rule_hints *out) {
  out->has_parts = false;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++) {
    const eg_rule_term *term = &rule->terms[i];
    if (term->is_var || eg_op_role(term->op, 0) != EG_ROLE_PART ||
        rule->terms[term->children[0]].is_var)
      continue;
    out->has_parts = true;
    for (uint32_t k = 1; k < term->child_count; k++)
      pair_leaves(rule, term->children[0], term->children[k], out->vars);
  }
}

// ---- layers ---------------------------------------------------------------------------

static bool keeps_type(eg_op op) {
  const unsigned changes = EG_OPF_ANY | EG_OPF_PREDICATE;
  unsigned flags = eg_op_info_of(op)->flags;
  return (flags & EG_OPF_POINTWISE) != 0 && (flags & changes) == 0;
}

/// Returns the tensor variable from which a term is computed element by element, or NONE.
static uint32_t source_of(const eg_rule *rule, uint32_t term) {
  const eg_rule_term *at = &rule->terms[term];
  while (!at->is_var && at->child_count == 1 && keeps_type(at->op))
    at = &rule->terms[at->children[0]];
  return at->is_var ? at->var : EG_RULE_NONE;
}

static void read_layers(const eg_rule *rule, rule_hints *out) {
  out->has_layers = false;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++) {
    const eg_rule_term *term = &rule->terms[i];
    if (term->is_var || !eg_is_layer(rule, term)) continue;
    uint16_t slot; // an open equation is drawn with the operands
    bool has_equation = eg_equation_slot(term, &slot);
    if (has_equation && term->slots[slot].form != EG_RULE_SLOT_LITERAL)
      out->has_layers = true;
    bool is_product = eg_op_role(term->op, 0) == EG_ROLE_FACTOR;
    for (uint32_t k = 0; k < term->child_count; k++) {
      // The factors of a product determine the shape of its addend (bias).
      if (is_product && eg_op_role(term->op, k) != EG_ROLE_FACTOR) continue;
      uint32_t var = source_of(rule, term->children[k]);
      if (var == EG_RULE_NONE || out->vars[var].layer != EG_RULE_NONE) continue;
      out->vars[var].layer = i;
      out->vars[var].layer_operand = k;
      out->has_layers = true;
    }
  }
}

// ---- what needs what ------------------------------------------------------------

static uint64_t bit(uint32_t var) { return UINT64_C(1) << var; }

// Finds the variables that each expression needs. Arguments precede their calls. A let
// value needs the variables of its expression.
static void read_needs(const eg_rule *rule, uint64_t *needs) {
  for (uint32_t i = 0; i < rule->expr_count; i++) {
    const eg_rule_expr *expr = &rule->exprs[i];
    if (expr->form == EG_RULE_EXPR_VAR) {
      uint32_t let = eg_rule_let_expr(rule, expr->var);
      needs[i] = let != EG_RULE_NONE ? needs[let] : bit(expr->var);
    }
    for (uint32_t k = 0; expr->form == EG_RULE_EXPR_CALL && k < expr->arg_count; k++)
      needs[i] |= needs[expr->args[k]];
  }
}

static void read_bound(const eg_rule *rule, uint64_t *bound) {
  uint64_t so_far = 0;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++) {
    const eg_rule_term *term = &rule->terms[i];
    if (!term->is_var) {
      for (uint32_t k = 0; k < term->child_count; k++) {
        const eg_rule_term *child = &rule->terms[term->children[k]];
        if (child->is_var) so_far |= bit(child->var);
      }
      for (uint16_t k = 0; k < eg_op_info_of(term->op)->attr_count; k++)
        if (term->slots[k].form == EG_RULE_SLOT_VAR) so_far |= bit(term->slots[k].index);
      if (term->var != EG_RULE_NONE) so_far |= bit(term->var);
    }
    bound[i] = so_far;
  }
}

/// True when conditions can be decided after this term is drawn: a variable below an
/// operator is drawn with the operator.
static bool decides(const eg_rule *rule, uint32_t term) {
  for (uint32_t i = 0; i < rule->root_count; i++)
    if (rule->lhs[i].term == term) return true;
  return !rule->terms[term].is_var;
}

static void place_conditions(const eg_rule *rule, rule_hints *hints) {
  uint32_t last = rule->pattern_term_count - 1;
  for (uint32_t i = 0; i < rule->condition_count; i++) {
    uint64_t needs = hints->needs[rule->conditions[i]];
    uint32_t term = 0;
    while (term < last && ((needs & ~hints->bound[term]) != 0 || !decides(rule, term)))
      term++;
    hints->condition_terms[i] = term;
  }
}

egraph_status eg_verify_read_hints(const eg_rule *rule, eg_arena *arena,
                                   rule_hints *out) {
  if (rule->var_count > MAX_VARS)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "%s:%u: rule %s has %u variables; at most %d can be verified",
                   rule->file, rule->line, rule->name, rule->var_count, MAX_VARS);
  for (uint32_t i = 0; i < rule->term_count; i++)
    if (rule->terms[i].child_count > EG_VERIFY_MAX_OPERANDS)
      return EG_FAIL(
          EGRAPH_E_UNSUPPORTED,
          "%s:%u: rule %s has a term of %u operands; at most %d can be verified",
          rule->file, rule->line, rule->name, rule->terms[i].child_count,
          EG_VERIFY_MAX_OPERANDS);
  EG_NEW(arena, rule->var_count, out->vars);
  EG_NEW(arena, rule->expr_count, out->needs);
  EG_NEW(arena, rule->pattern_term_count, out->bound);
  EG_NEW(arena, rule->condition_count, out->condition_terms);
  for (uint32_t i = 0; i < rule->var_count; i++)
    out->vars[i] = (var_hint){.splat_value = EG_RULE_NONE,
                              .equals = EG_RULE_NONE,
                              .max_rank = EGRAPH_MAX_RANK,
                              .like = EG_RULE_NONE,
                              .layer = EG_RULE_NONE};
  for (uint32_t i = 0; i < rule->condition_count; i++)
    read_condition(rule, rule->conditions[i], WISH_YES, out->vars);
  read_parts(rule, out);
  read_layers(rule, out);
  read_needs(rule, out->needs);
  read_bound(rule, out->bound);
  place_conditions(rule, out);
  out->dtypes = dtypes_of(rule);
  out->named_dtypes = named_dtypes_of(rule) & out->dtypes;
  out->rank = eg_rank_of_conditions(rule);
  out->size_count = out->number_count = 0;
  for (uint32_t i = 0; i < rule->expr_count; i++)
    read_constant(&rule->exprs[i], out);
  return EGRAPH_OK;
}
