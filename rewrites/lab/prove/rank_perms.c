// Decides whether permutations carry each axis to one axis of every term. The axes of
// a term form a space; a permutation maps the space of its operand to the space of its
// result, and operators that move no axis have operands and results in one space. If a
// chain of permutations closes, as in (transpose ?p (transpose ?p ?x)) = ?x, an axis
// is tied to other axes of the same term: the order of ?p matters, and all ranks must
// be checked.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/prove/proof_case.h"

// ---- what a rule says of its tensors and lists ----------------------------------

uint32_t eg_term_meant(const eg_rule *rule, uint32_t term) {
  const eg_rule_term *t = &rule->terms[term];
  if (!t->is_var) return term;
  uint32_t let = eg_rule_let_term(rule, t->var);
  if (let != EG_RULE_NONE) return let;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++)
    if (!rule->terms[i].is_var && rule->terms[i].var == t->var) return i;
  return term;
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
    const eg_rule_expr *e = eg_rule_call_of(rule, rule->conditions[i], EG_RULE_FN_EQ);
    if (e == NULL) continue;
    const eg_rule_expr *list = eg_rule_call_of(rule, e->args[1], EG_RULE_FN_LIST);
    if (eg_rule_var_of(rule, e->args[0]) == slot->index && list != NULL)
      return list->arg_count;
    const eg_rule_expr *a = eg_rule_call_of(rule, e->args[0], EG_RULE_FN_LEN);
    const eg_rule_expr *b = &rule->exprs[e->args[1]];
    if (a != NULL && eg_rule_var_of(rule, a->args[0]) == slot->index &&
        b->form == EG_RULE_EXPR_CONSTANT && b->kind == EG_RULE_INT)
      return (uint32_t)b->constant.i;
  }
  return EG_RULE_NONE;
}

bool eg_has_rank_zero(const eg_rule *rule, uint32_t var) {
  for (uint32_t i = 0; i < rule->condition_count; i++) {
    const eg_rule_expr *e = eg_rule_call_of(rule, rule->conditions[i], EG_RULE_FN_EQ);
    const eg_rule_expr *a =
        e != NULL ? eg_rule_call_of(rule, e->args[0], EG_RULE_FN_RANK) : NULL;
    if (a == NULL || eg_rule_var_of(rule, a->args[0]) != var) continue;
    const eg_rule_expr *b = &rule->exprs[e->args[1]];
    if (b->form == EG_RULE_EXPR_CONSTANT && b->kind == EG_RULE_INT && b->constant.i == 0)
      return true;
  }
  return false;
}

// ---- spaces ---------------------------------------------------------------------

enum { SPACES = 1024 };

/// The spaces of axes (see above): of terms, then of expressions, then of variables, then
/// between two composed permutations.
typedef struct spaces {
  const eg_rule *rule;
  uint32_t same[SPACES];             // union-find of equal spaces
  uint32_t linked[SPACES];           // union-find of spaces connected by permutations
  uint32_t from[SPACES], to[SPACES]; // spaces of a permutation variable
  bool is_perm[SPACES];              // by variable
  uint32_t count;
  bool is_plain;
} spaces;

static uint32_t space_root(const uint32_t *sets, uint32_t at) {
  while (sets[at] != at)
    at = sets[at];
  return at;
}

static void unite_spaces(uint32_t *sets, uint32_t a, uint32_t b) {
  sets[space_root(sets, a)] = space_root(sets, b);
}

static uint32_t space_of_expr(const spaces *s, uint32_t expr) {
  return s->rule->term_count + expr;
}
static uint32_t space_of_var(const spaces *s, uint32_t var) {
  return s->rule->term_count + s->rule->expr_count + var;
}

static uint32_t new_space(spaces *s) {
  if (s->count == SPACES) {
    s->is_plain = false;
    return 0;
  }
  s->same[s->count] = s->linked[s->count] = s->count;
  return s->count++;
}

// ---- permutations -------------------------------------------------------------------

static bool is_identity(const eg_rule *rule, uint32_t var) {
  for (uint32_t i = 0; i < rule->condition_count; i++) {
    const eg_rule_expr *e =
        eg_rule_call_of(rule, rule->conditions[i], EG_RULE_FN_PERM_IDENTITY);
    if (e != NULL && eg_rule_var_of(rule, e->args[0]) == var) return true;
  }
  return false;
}

static void lead(spaces *s, uint32_t expr, uint32_t from, uint32_t to);

static void lead_by_variable(spaces *s, uint32_t var, uint32_t from, uint32_t to) {
  uint32_t let = eg_rule_let_expr(s->rule, var);
  if (let != EG_RULE_NONE) {
    s->is_perm[var] = true;
    lead(s, let, from, to);
    return;
  }
  if (s->is_perm[var]) {
    unite_spaces(s->same, s->from[var], from);
    unite_spaces(s->same, s->to[var], to);
    return;
  }
  s->is_perm[var] = true;
  s->from[var] = from;
  s->to[var] = to;
}

// Records that a permutation maps one space of axes to another. Functions that move named
// axes leave the other axes in their space.
static void lead(spaces *s, uint32_t expr, uint32_t from, uint32_t to) {
  const eg_rule_expr *e = &s->rule->exprs[expr];
  if (e->form == EG_RULE_EXPR_VAR) {
    lead_by_variable(s, e->var, from, to);
  } else if (e->form == EG_RULE_EXPR_CONSTANT || e->function == EG_RULE_FN_PERM_SWAP ||
             e->function == EG_RULE_FN_LIST) {
    unite_spaces(s->same, from, to);
  } else if (e->function == EG_RULE_FN_PERM_INVERSE) {
    lead(s, e->args[0], to, from);
  } else if (e->function == EG_RULE_FN_PERM_COMPOSE) {
    uint32_t between = new_space(s);
    lead(s, e->args[1], from, between);
    lead(s, e->args[0], between, to);
  } else {
    s->is_plain = false;
  }
}

static void note_transpose(spaces *s, uint32_t term) {
  const eg_rule_term *t = &s->rule->terms[term];
  const eg_rule_slot *perm = &t->slots[0]; // the operator's only attribute
  uint32_t from = t->children[0];
  switch (perm->form) {
  case EG_RULE_SLOT_LITERAL: unite_spaces(s->same, from, term); break;
  case EG_RULE_SLOT_VAR: lead_by_variable(s, perm->index, from, term); break;
  case EG_RULE_SLOT_EXPR: lead(s, perm->index, from, term); break;
  case EG_RULE_SLOT_ANY: s->is_plain = false; break;
  }
}

// ---- one space ----------------------------------------------------------------------

static void note_term_spaces(spaces *s, uint32_t term) {
  const eg_rule_term *t = &s->rule->terms[term];
  if (t->is_var && eg_has_rank_zero(s->rule, t->var)) return;
  if (t->var != EG_RULE_NONE) unite_spaces(s->same, term, space_of_var(s, t->var));
  if (t->is_var) return;
  if (t->op == EG_OP_TRANSPOSE) {
    note_transpose(s, term);
    return;
  }
  for (uint32_t i = 0; i < t->child_count; i++) {
    const eg_rule_term *kid = &s->rule->terms[t->children[i]];
    if (!kid->is_var || !eg_has_rank_zero(s->rule, kid->var))
      unite_spaces(s->same, term, t->children[i]);
  }
  for (uint16_t i = 0; i < eg_op_info_of(t->op)->attr_count; i++) {
    const eg_rule_slot *slot = &t->slots[i];
    if (slot->form == EG_RULE_SLOT_VAR && s->rule->vars[slot->index].kind == EG_RULE_INTS)
      unite_spaces(s->same, term, space_of_var(s, slot->index));
    if (slot->form == EG_RULE_SLOT_EXPR &&
        s->rule->exprs[slot->index].kind == EG_RULE_INTS)
      unite_spaces(s->same, term, space_of_expr(s, slot->index));
  }
}

static bool has_axes(eg_rule_kind kind) {
  return kind == EG_RULE_INTS || kind == EG_RULE_TENSOR;
}

static bool takes_permutations(eg_rule_function f) {
  return f == EG_RULE_FN_AT || f == EG_RULE_FN_LEN || f == EG_RULE_FN_PERM_INVERSE ||
         f == EG_RULE_FN_PERM_COMPOSE || f == EG_RULE_FN_PERM_IDENTITY;
}

// Unites the spaces of axes of the lists and tensors in one call.
static void note_expr_spaces(spaces *s, uint32_t expr) {
  const eg_rule_expr *e = &s->rule->exprs[expr];
  if (e->form == EG_RULE_EXPR_VAR && has_axes(e->kind))
    unite_spaces(s->same, space_of_expr(s, expr), space_of_var(s, e->var));
  if (e->form != EG_RULE_EXPR_CALL || takes_permutations(e->function)) return;
  if (e->function == EG_RULE_FN_PERM_APPLY) {
    lead(s, e->args[0], space_of_expr(s, e->args[1]), space_of_expr(s, expr));
    return;
  }
  for (uint32_t i = 0; i < e->arg_count; i++)
    if (has_axes(s->rule->exprs[e->args[i]].kind))
      unite_spaces(s->same, space_of_expr(s, expr), space_of_expr(s, e->args[i]));
}

// Rejects permutations that are operands of other functions, which use them as lists
// of numbers.
static void check_uses(spaces *s) {
  const eg_rule *rule = s->rule;
  for (uint32_t i = 0; i < rule->expr_count; i++) {
    const eg_rule_expr *e = &rule->exprs[i];
    if (e->form != EG_RULE_EXPR_CALL || takes_permutations(e->function)) continue;
    for (uint32_t k = e->function == EG_RULE_FN_PERM_APPLY; k < e->arg_count; k++) {
      const eg_rule_expr *arg = &rule->exprs[e->args[k]];
      bool is_perm = arg->form == EG_RULE_EXPR_VAR
                         ? s->is_perm[arg->var]
                         : arg->form == EG_RULE_EXPR_CALL &&
                               (arg->function == EG_RULE_FN_PERM_INVERSE ||
                                arg->function == EG_RULE_FN_PERM_COMPOSE);
      if (is_perm) s->is_plain = false;
    }
  }
}

/// True when no chain of different permutations leads back to the space where it begins.
static bool is_forest(spaces *s) {
  for (uint32_t i = 0; i < s->rule->var_count; i++)
    if (s->is_perm[i] && s->from[i] != s->to[i] && is_identity(s->rule, i))
      unite_spaces(s->same, s->from[i], s->to[i]);
  for (uint32_t i = 0; i < s->rule->var_count; i++) {
    if (!s->is_perm[i] || s->from[i] == s->to[i] || is_identity(s->rule, i)) continue;
    uint32_t from = space_root(s->linked, space_root(s->same, s->from[i]));
    uint32_t to = space_root(s->linked, space_root(s->same, s->to[i]));
    if (from == to) return false;
    s->linked[from] = to;
  }
  return true;
}

bool eg_perms_are_plain(const eg_rule *rule) {
  spaces s = {.rule = rule, .is_plain = true};
  uint32_t known = rule->term_count + rule->expr_count + rule->var_count;
  if (known > SPACES / 2) return false;
  while (s.count < known)
    (void)new_space(&s);
  for (uint32_t i = 0; i < rule->term_count; i++)
    note_term_spaces(&s, i);
  for (uint32_t i = 0; i < rule->expr_count; i++)
    note_expr_spaces(&s, i);
  for (uint32_t i = 0; i < rule->let_count; i++)
    unite_spaces(s.same, space_of_var(&s, rule->lets[i].var),
                 rule->lets[i].is_term ? rule->lets[i].term
                                       : space_of_expr(&s, rule->lets[i].expr));
  for (uint32_t i = 0; i < rule->root_count; i++)
    unite_spaces(s.same, rule->lhs[i].term, rule->rhs[i].term);
  check_uses(&s);
  return s.is_plain && is_forest(&s);
}
