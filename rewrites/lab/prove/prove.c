// Proves a rule: in every case both sides must have the same type, and the same element
// at every index.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/prove/prove.h"

#include <stdio.h>
#include <string.h>

#include "rewrites/lab/prove/proof_case.h"
#include "rewrites/language/rule_schema.h"
#include "rewrites/language/rules.h"
#include "rewrites/saturation/rule_eval.h"

enum { MOST_CASES = 50000, STEPS = 6000000 }; // limits for a rule

static const eg_meaning MEANINGS[EG_OP_COUNT] = {
#define EG_MEANING(ID, name, axes)                                                       \
  [EG_OP_##ID] = {eg_type_##name, eg_element_##name, axes},
#include "rewrites/lab/prove/meaning.def"
#undef EG_MEANING
};

static void init_case(eg_case *c, eg_proof *p, const eg_rule *rule, uint32_t max_rank) {
  memset(c, 0, sizeof *c);
  c->p = p;
  c->rule = rule;
  c->meanings = MEANINGS;
  c->max_rank = max_rank;
  c->vars = eg_proof_memory(p, rule->var_count, sizeof *c->vars);
  c->splats = eg_proof_memory(p, rule->var_count, sizeof *c->splats);
  p->is_weight = c->is_weight = eg_proof_memory(p, rule->var_count, sizeof *c->is_weight);
  c->shapes = eg_proof_memory(p, rule->term_count, sizeof *c->shapes);
  c->typed = eg_proof_memory(p, rule->term_count, sizeof *c->typed);
  c->kinds = eg_proof_memory(p, rule->term_count, sizeof *c->kinds);
  c->extra = eg_proof_memory(p, rule->term_count, sizeof *c->extra);
  c->slots = eg_proof_memory(p, rule->term_count, sizeof *c->slots);
  for (uint32_t i = 0; i < rule->var_count; i++)
    c->splats[i] = EG_PROOF_NONE;
  eg_case_find_ranks(c);
}

// Types the left side, assumes the conditions, and types the right side; leaves a case to
// which the rule does not apply.
static void state_case(eg_case *c) {
  const eg_rule *rule = c->rule;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++)
    eg_case_type(c, i);
  for (uint32_t i = 0; i < c->wanted_count; i++)
    if (c->wanted[i].value.kind != EG_DATUM_OPEN)
      eg_case_equate(c, c->wanted[i].value, eg_case_expr(c, c->wanted[i].expr));
  for (uint32_t i = 0; i < rule->condition_count; i++) {
    eg_case_assume(c, rule->conditions[i], true);
    if (c->p->is_impossible) eg_case_vacuous(c);
  }
  for (uint32_t i = 0; i < rule->let_count; i++)
    if (rule->lets[i].is_term)
      c->vars[rule->lets[i].var] =
          (eg_datum){.kind = EG_DATUM_TENSOR, .which = rule->lets[i].term};
  for (uint32_t i = rule->pattern_term_count; i < rule->term_count; i++)
    eg_case_type(c, i);
}

// Records the sizes of the rule's tensors, from which offsets of elements are computed.
static void note_tensors(eg_case *c) {
  const eg_rule *rule = c->rule;
  for (uint32_t i = 0; i < rule->var_count; i++) {
    eg_tensor_size size = {.rank = 0};
    if (c->vars[i].kind == EG_DATUM_TENSOR) {
      size.rank = c->shapes[c->vars[i].which].rank;
      size.dims = c->shapes[c->vars[i].which].dims;
    }
    eg_proof_need(c->p, eg_tensor_sizes_push(&c->p->tensors, size));
  }
}

// Returns the ranks of the tensor variables in this case, as "?x 2, ?y 1".
static const char *ranks_text(eg_case *c) {
  char *text = eg_proof_memory(c->p, 120, 1);
  size_t len = 0;
  for (uint32_t i = 0; i < c->rule->var_count && len < 90; i++) {
    const eg_rule_var *var = &c->rule->vars[i];
    if (var->kind != EG_RULE_TENSOR || var->origin != EG_RULE_VAR_MATCHED) continue;
    if (c->vars[i].kind != EG_DATUM_TENSOR) continue;
    int wrote = snprintf(text + len, 120 - len, "%s%.20s %u", len == 0 ? "" : ", ",
                         var->name, c->shapes[c->vars[i].which].rank);
    if (wrote > 0) len += (size_t)wrote;
  }
  return text;
}

/// Laws used beyond those that hold in both directions: `distributes` for the left side,
/// `cancels` for the right side.
typedef struct laws_of_sides {
  bool distributes, cancels;
} laws_of_sides;
static const laws_of_sides attempts[] = {
    {false, false}, {true, false}, {false, true}, {true, true}};
enum { ATTEMPTS = sizeof attempts / sizeof *attempts };

static void prove_root(eg_case *c, uint32_t root, const laws_of_sides *laws) {
  eg_proof *p = c->p;
  uint32_t left = c->rule->lhs[root].term, right = c->rule->rhs[root].term;
  const eg_shape *x = &c->shapes[left], *y = &c->shapes[right];
  if (x->rank != y->rank)
    eg_case_give_up(c, "the sides have different ranks with ranks %s", ranks_text(c));
  for (uint32_t i = 0; i < x->rank; i++)
    if (!eg_scalar_equal(p, eg_scalar_size(p, eg_poly_canonical(p, x->dims[i])),
                         eg_scalar_size(p, eg_poly_canonical(p, y->dims[i]))) &&
        !eg_facts_contradict(p))
      eg_case_give_up(c, "no proof that the sides have one shape, with ranks %s",
                      ranks_text(c));
  uint32_t a = eg_kind_root(c, c->kinds[left]), b = eg_kind_root(c, c->kinds[right]);
  if (a != b && (c->numbers[a].dtype < 0 || c->numbers[a].dtype != c->numbers[b].dtype))
    eg_case_give_up(c, "no proof that the sides have one element type%s", "");
  eg_branch branch = eg_branch_open(p);
  eg_poly at[EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) {
    at[i] = eg_poly_symbol(p, true);
    eg_assume_below(p, at[i], x->dims[i]);
  }
  // From left to right, an infinity may become NaN, as it does when a product is
  // distributed; if the rule spreads, terms may cancel on the right.
  const eg_laws all = p->laws;
  eg_laws of_left = all, of_right = all;
  of_left.distributes = all.is_fast || laws->distributes;
  of_right.cancels = all.is_fast || laws->cancels;
  (void)eg_laws_set(p, of_left);
  eg_scalar l = eg_case_element(c, left, at);
  (void)eg_laws_set(p, of_right);
  eg_scalar r = eg_case_element(c, right, at);
  (void)eg_laws_set(p, all);
  if (!eg_scalar_equal(p, l, r) && !eg_facts_contradict(p))
    eg_case_give_up(c, "no proof that elements are equal, with ranks %s", ranks_text(c));
  eg_branch_close(p, branch);
}

// Proves one case of a rule; returns 0 when it is proved, else why the proof was left.
static int prove_case(eg_proof *p, const eg_rule *rule, egraph_math math,
                      uint32_t max_rank, uint32_t at) {
  eg_proof_clear(p);
  int left = setjmp(p->leave);
  if (left != 0) return left;
  (void)eg_poly_const(p, 0); // the zero polynomial gets the number 0
  p->is_exact = math == EGRAPH_MATH_EXACT;
  bool is_fast = math == EGRAPH_MATH_FAST;
  p->laws = (eg_laws){is_fast, is_fast, is_fast};
  eg_case *c = eg_proof_memory(p, 1, sizeof *c);
  init_case(c, p, rule, max_rank);
  state_case(c);
  note_tensors(c);
  for (uint32_t i = 0; i < rule->root_count; i++)
    prove_root(c, i, &attempts[at]);
  return 0;
}

// Tries the laws of each attempt, the attempt that proved the previous case first.
static int attempt_case(eg_proof *p, const eg_rule *rule, egraph_math math,
                        uint32_t max_rank, uint32_t *at) {
  int left = prove_case(p, rule, math, max_rank, *at);
  uint32_t first = *at;
  for (uint32_t i = 0; i < ATTEMPTS && left == EG_PROOF_GIVEN_UP && p->steps > 0; i++) {
    bool is_open =
        rule->math == EGRAPH_MATH_ASSOCIATIVE && (!attempts[i].cancels || rule->spreads);
    if (i == first || (i != 0 && !is_open)) continue;
    *at = i;
    left = prove_case(p, rule, math, max_rank, i);
  }
  return left;
}

static void prove_cases(eg_proof *p, const eg_rule *rule, egraph_math math,
                        eg_proof_verdict *out, int *out_left) {
  p->steps = STEPS;
  uint32_t all = 0, at = 0;
  out->both_ways = true;
  do {
    *out_left = attempt_case(p, rule, math, out->ranks, &at);
    out->both_ways = out->both_ways && at == 0;
    if (*out_left == EG_PROOF_MEMORY) return;
    if (*out_left == 0) out->cases++;
    if (*out_left == EG_PROOF_GIVEN_UP) {
      snprintf(out->reason, sizeof out->reason, "%s", p->reason);
      return;
    }
    if (++all == MOST_CASES) {
      snprintf(out->reason, sizeof out->reason,
               "more than %d cases of ranks, axes and flags", MOST_CASES);
      return;
    }
  } while (eg_proof_next_case(p));
  if (out->cases == 0)
    snprintf(out->reason, sizeof out->reason, "no case in which it applies");
  else
    out->is_proved = true;
}

// Sets the reason if the rule is proved in class fast (finite numbers) but not in
// its own.
static void prove_as_fast(eg_proof *p, const eg_rule *rule, eg_proof_verdict *out,
                          int *out_left) {
  eg_proof_verdict fast = {.ranks = out->ranks};
  p->choices = 0;
  prove_cases(p, rule, EGRAPH_MATH_FAST, &fast, out_left);
  if (!fast.is_proved) return;
  snprintf(
      out->reason, sizeof out->reason,
      "proved for finite numbers, class fast, and not in the class that it declares");
}

egraph_status eg_rule_prove(const eg_rule *rule, egraph_allocator alloc,
                            eg_proof_verdict *out) {
  *out = (eg_proof_verdict){.ranks = eg_rank_bound(rule)};
  if (rule->move_count != 0) {
    snprintf(out->reason, sizeof out->reason, "it has parallel operators");
    return EGRAPH_OK;
  }
  EG_LOCAL(eg_arena, arena, alloc);
  eg_proof *p;
  EG_NEW(&arena, 1, p);
  eg_proof_init(p, alloc);
  EG_NEW(&arena, 1, p->lists);
  int left = 0;
  prove_cases(p, rule, rule->math, out, &left);
  if (!out->is_proved && left == EG_PROOF_GIVEN_UP &&
      rule->math == EGRAPH_MATH_ASSOCIATIVE)
    prove_as_fast(p, rule, out, &left);
  eg_proof_deinit(p);
  return left == EG_PROOF_MEMORY ? eg_fail(EGRAPH_E_MEMORY, "out of memory") : EGRAPH_OK;
}

// ---- rules with parameters ----------------------------------------------------------

/// Adds the verdict of one case of a rule with parameters to the verdict of all cases.
static void join_verdicts(eg_proof_verdict *all, const eg_proof_verdict *one,
                          const char *name) {
  all->cases += one->cases;
  all->both_ways = all->both_ways && one->both_ways;
  if (one->ranks > all->ranks) all->ranks = one->ranks;
  if (one->is_proved || !all->is_proved) return;
  all->is_proved = false;
  snprintf(all->reason, sizeof all->reason, "case %s: %.120s", name, one->reason);
}

egraph_status eg_rules_prove(const eg_rules *rules, uint32_t number,
                             eg_proof_verdict *out) {
  const eg_rule *first = eg_rules_at(rules, number);
  egraph_allocator alloc = eg_rules_allocator(rules);
  EG_TRY(eg_rule_prove(first, alloc, out));
  if (first->schema == NULL || !out->is_proved) return EGRAPH_OK;
  EG_LOCAL(eg_u32s, values, alloc);
  eg_rule_cases *cases;
  bool is_all;
  EG_TRY(eg_rule_cases_sample(first, &values, &is_all));
  EG_TRY(eg_rule_cases_create(alloc, rules, &cases));
  uint32_t count = first->schema->parameter_count;
  egraph_status status = EGRAPH_OK;
  for (size_t i = 0; i < values.len && out->is_proved && status == EGRAPH_OK;
       i += count) {
    const eg_rule *rule;
    eg_proof_verdict one;
    status = eg_rule_cases_get(cases, number, values.data + i, &rule);
    if (status != EGRAPH_OK || rule == NULL) continue;
    status = eg_rule_prove(rule, alloc, &one);
    if (status == EGRAPH_OK) join_verdicts(out, &one, rule->name);
  }
  eg_rule_cases_destroy(cases);
  if (out->is_proved && !is_all) {
    out->is_proved = false;
    snprintf(
        out->reason, sizeof out->reason,
        "any number of operands, or more than %d cases; proved for numbers of up to %d",
        EG_RULE_MAX_CASES, EG_RULE_SAMPLE_COUNT);
  }
  return status;
}
