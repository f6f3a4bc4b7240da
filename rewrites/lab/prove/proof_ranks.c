// Terms whose ranks are the same wherever the rule applies: typing asks it, or a
// condition. Ranks are chosen once for all of them; a case with other ranks could not
// occur.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/prove/proof_case.h"

static uint32_t root_of(const eg_case *c, uint32_t term) {
  while (c->ranks[term] != term)
    term = c->ranks[term];
  return term;
}

static void join(eg_case *c, uint32_t a, uint32_t b) {
  a = root_of(c, a);
  b = root_of(c, b);
  if (a == b) return;
  c->ranks[b] = a;
  if (c->rank_of[a] < 0) c->rank_of[a] = c->rank_of[b];
}

static void fix(eg_case *c, uint32_t term, int64_t rank) {
  c->rank_of[root_of(c, term)] = rank;
}

// Operand 0 has the rank of the result.
static bool keeps_rank(const eg_rule_term *t) {
  if ((eg_op_info_of(t->op)->flags & EG_OPF_POINTWISE) != 0)
    return t->child_count == 1 || t->op == EG_OP_PRELU;
  switch ((int)t->op) {
  case EG_OP_TRANSPOSE:
  case EG_OP_CONCAT:
  case EG_OP_SPLIT:
  case EG_OP_PART:
  case EG_OP_SLICE:
  case EG_OP_PAD:
  case EG_OP_TILE:
  case EG_OP_SOFTMAX:
  case EG_OP_LOG_SOFTMAX:
  case EG_OP_CONV:
  case EG_OP_MAX_POOL:
  case EG_OP_AVERAGE_POOL:
  case EG_OP_GLOBAL_MAX_POOL:
  case EG_OP_GLOBAL_AVERAGE_POOL:
  case EG_OP_BATCH_NORM:
  case EG_OP_LAYER_NORM:
  case EG_OP_RMS_NORM:
  case EG_OP_ENLARGE:
  case EG_OP_TRILU: return true;
  default: return false;
  }
}

static void by_operator(eg_case *c, uint32_t term) {
  const eg_rule_term *t = eg_case_term(c, term);
  if (t->is_var) return;
  if (keeps_rank(t)) join(c, term, t->children[0]);
  switch ((int)t->op) {
  case EG_OP_CONCAT:
    for (uint32_t i = 1; i < t->child_count; i++)
      join(c, term, t->children[i]);
    break;
  case EG_OP_CONV:
    join(c, term, t->children[1]);
    if (t->child_count > 2) fix(c, t->children[2], 1);
    if (t->child_count > 3) join(c, term, t->children[3]);
    break;
  case EG_OP_MATMUL:
    if (t->child_count > 3) join(c, term, t->children[3]);
    break;
  case EG_OP_BATCH_NORM:
    for (uint32_t i = 1; i < t->child_count; i++)
      fix(c, t->children[i], 1);
    break;
  default: break;
  }
}

// The term of a variable, or EG_RULE_NONE: an expression ?x, or (rank ?x) and the like.
static uint32_t term_of(const eg_case *c, const eg_rule_expr *e) {
  if (e->form != EG_RULE_EXPR_VAR || e->kind != EG_RULE_TENSOR) return EG_RULE_NONE;
  for (uint32_t i = 0; i < c->rule->term_count; i++)
    if (eg_case_term(c, i)->var == e->var) return i;
  return EG_RULE_NONE;
}

static void by_condition(eg_case *c, const eg_rule_expr *e) {
  if (e->form != EG_RULE_EXPR_CALL || e->arg_count != 2) return;
  const eg_rule_expr *a = &c->rule->exprs[e->args[0]], *b = &c->rule->exprs[e->args[1]];
  if (e->function == EG_RULE_FN_SAME_SHAPE || e->function == EG_RULE_FN_SAME_TYPE) {
    uint32_t x = term_of(c, a), y = term_of(c, b);
    if (x != EG_RULE_NONE && y != EG_RULE_NONE) join(c, x, y);
  }
  if (e->function != EG_RULE_FN_EQ || a->form != EG_RULE_EXPR_CALL) return;
  if (a->function != EG_RULE_FN_RANK && a->function != EG_RULE_FN_SHAPE) return;
  uint32_t x = term_of(c, &c->rule->exprs[a->args[0]]);
  if (x == EG_RULE_NONE) return;
  if (b->form == EG_RULE_EXPR_CALL && b->function == a->function) {
    uint32_t y = term_of(c, &c->rule->exprs[b->args[0]]);
    if (y != EG_RULE_NONE) join(c, x, y);
  } else if (b->form == EG_RULE_EXPR_CALL && b->function == EG_RULE_FN_LIST) {
    fix(c, x, b->arg_count);
  } else if (b->form == EG_RULE_EXPR_CONSTANT && b->kind == EG_RULE_INT) {
    fix(c, x, b->constant.i);
  }
}

void eg_case_find_ranks(eg_case *c) {
  const eg_rule *rule = c->rule;
  c->ranks = eg_proof_memory(c->p, rule->term_count, sizeof *c->ranks);
  c->rank_of = eg_proof_memory(c->p, rule->term_count, sizeof *c->rank_of);
  for (uint32_t i = 0; i < rule->term_count; i++) {
    c->ranks[i] = i;
    c->rank_of[i] = -1;
  }
  for (uint32_t i = 0; i < rule->term_count; i++) {
    uint32_t var = eg_case_term(c, i)->var; // of a variable, or of `as`
    for (uint32_t k = 0; k < i && var != EG_RULE_NONE; k++)
      if (eg_case_term(c, k)->var == var) join(c, i, k);
  }
  for (uint32_t i = 0; i < rule->term_count; i++)
    by_operator(c, i);
  for (uint32_t i = 0; i < rule->condition_count; i++)
    by_condition(c, &rule->exprs[rule->conditions[i]]);
}

uint32_t eg_case_rank(eg_case *c, uint32_t term) {
  int64_t *known = &c->rank_of[root_of(c, term)];
  if (*known < 0) *known = eg_proof_choose(c->p, c->max_rank + 1);
  if (*known > EGRAPH_MAX_RANK) eg_case_vacuous(c);
  return (uint32_t)*known;
}
