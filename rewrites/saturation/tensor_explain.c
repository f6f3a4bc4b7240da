// Writes and reads notes. A note is a row of words: the rule; the values of its
// parameters, if there are any; per class variable of the left side a class, or, with the
// highest bit, a term that shows a fact (a witness of the e-graph); per operator of both
// sides, in order, its payload.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/tensor_explain.h"

#include <assert.h>

#include "base/owner.h"
#include "rewrites/language/rule_schema.h"
#include "rewrites/language/rules.h"

#define WITNESS_BIT (UINT32_C(1) << 31)
/// The reason of equations identity(x) = x in explanations, which need no rule.
#define NO_RULE EG_EXPLAIN_MAX_REASON

// ---- noting ----------------------------------------------------------------------

/// True when a condition asks if a variable is weight-only, or (`of_splats`) a splat.
static bool is_fact_asked(const eg_rule *rule, uint32_t var, bool of_splats) {
  for (uint32_t i = 0; i < rule->expr_count; i++) {
    const eg_rule_expr *call = &rule->exprs[i];
    if (call->form != EG_RULE_EXPR_CALL || call->arg_count == 0) continue;
    const eg_rule_expr *first = &rule->exprs[call->args[0]];
    bool is_of = call->function == EG_RULE_FN_WEIGHT_ONLY
                     ? !of_splats
                     : of_splats && (call->function == EG_RULE_FN_SPLAT ||
                                     call->function == EG_RULE_FN_SPLAT_IS ||
                                     call->function == EG_RULE_FN_IS_SPLAT);
    if (is_of && first->form == EG_RULE_EXPR_VAR && first->var == var) return true;
  }
  return false;
}

static uint32_t tensor_word(const eg_tensor_egraph *egraph, const eg_rule *rule,
                            uint32_t var, eg_class class) {
  const eg_tensor_fact *fact = eg_tensor_egraph_fact(egraph, class);
  if (fact->splat && is_fact_asked(rule, var, true))
    return (fact->splat_term - 1) | WITNESS_BIT;
  if (fact->weight_only && is_fact_asked(rule, var, false))
    return (fact->weight_term - 1) | WITNESS_BIT;
  return class.id;
}

egraph_status eg_tensor_rewrite_note(eg_tensor_egraph *egraph, const eg_rule *rule,
                                     const eg_tensor_rewrite *rewrite,
                                     size_t *out_words) {
  assert(eg_tensor_egraph_is_explained(egraph));
  eg_engine *engine = eg_tensor_egraph_engine(egraph);
  size_t before, after;
  (void)eg_engine_notes(engine, &before);
  EG_TRY(eg_engine_note(engine, &rewrite->rule, 1));
  if (rule->schema != NULL)
    EG_TRY(eg_engine_note(engine, rule->values, rule->schema->parameter_count));
  for (uint32_t v = 0; v < rule->var_count; v++) {
    uint32_t place = rule->vars[v].pattern_var;
    if (place == EG_RULE_NONE) continue;
    uint32_t word = tensor_word(egraph, rule, v, (eg_class){rewrite->classes[place]});
    EG_TRY(eg_engine_note(engine, &word, 1));
  }
  for (uint32_t i = 0; i < rule->term_count; i++)
    if (!rule->terms[i].is_var) EG_TRY(eg_engine_note(engine, &rewrite->payloads[i], 1));
  (void)eg_engine_notes(engine, &after);
  *out_words = after - before;
  return EGRAPH_OK;
}

// ---- terms -----------------------------------------------------------------------

struct eg_tensor_explainer {
  egraph_allocator alloc;
  eg_tensor_egraph *egraph;
  const eg_rules *rules;
  eg_rule_cases *cases;
  eg_explainer *closure;
  eg_log_reader log;
  eg_u32s witnesses;             // [witnesses of the e-graph] term + 1, or 0
  eg_u32s notes;                 // first word of each rewrite
  eg_u32s vars, built, operands; // terms of the current rewrite
  eg_u32s stack, marks;
  eg_reasons reasons;
};

#define OWNED                                                                            \
  (eg_u32s, witnesses, notes, vars, built, operands, stack, marks), (eg_reasons, reasons)

const eg_ground_terms *eg_tensor_explainer_terms(const eg_tensor_explainer *explainer) {
  return eg_explainer_terms(explainer->closure);
}

uint32_t eg_tensor_explainer_count(const eg_tensor_explainer *explainer) {
  return (uint32_t)explainer->notes.len;
}

egraph_status eg_tensor_explainer_add(eg_tensor_explainer *explainer,
                                      const eg_attrs *attrs, const uint32_t *operands,
                                      uint32_t count, uint32_t *out) {
  eg_attrs_id payload;
  *out = count == 1 ? operands[0] : 0;
  if (attrs->op == EG_OP_IDENTITY) return EGRAPH_OK;
  EG_TRY(eg_attr_pool_add(eg_tensor_egraph_attrs(explainer->egraph), attrs, &payload));
  const eg_ground ground = {
      .op = attrs->op, .payload = payload.id, .arity = count, .children = operands};
  return eg_explainer_add(explainer->closure, &ground, out);
}

/// Adds a term that proves a fact (witness) if its operands were added; else pushes the
/// missing operands onto the stack.
static egraph_status add_witness(eg_tensor_explainer *e, uint32_t witness) {
  eg_ground ground = eg_ground_at(eg_tensor_egraph_witnesses(e->egraph), witness);
  size_t waiting = e->stack.len;
  uint32_t term;
  if (ground.op == EG_WITNESS_CLASS) {
    EG_TRY(eg_log_reader_term(&e->log, (eg_class){ground.payload}, &term));
  } else {
    EG_TRY(eg_u32s_resize(&e->operands, ground.arity));
    for (uint32_t i = 0; i < ground.arity; i++) {
      uint32_t known = e->witnesses.data[ground.children[i]];
      if (known == 0) EG_TRY(eg_u32s_push(&e->stack, ground.children[i]));
      e->operands.data[i] = known - 1;
    }
    if (e->stack.len != waiting) return EGRAPH_OK;
    ground.children = e->operands.data;
    EG_TRY(eg_explainer_add(e->closure, &ground, &term));
  }
  e->witnesses.data[witness] = term + 1;
  e->stack.len--;
  return EGRAPH_OK;
}

static egraph_status find_tensor(eg_tensor_explainer *e, uint32_t word, uint32_t *out) {
  if ((word & WITNESS_BIT) == 0)
    return eg_log_reader_term(&e->log, (eg_class){word}, out);
  uint32_t witness = word & ~WITNESS_BIT;
  assert(witness < e->witnesses.len);
  e->stack.len = 0;
  if (e->witnesses.data[witness] == 0) EG_TRY(eg_u32s_push(&e->stack, witness));
  while (e->stack.len != 0) {
    uint32_t top = e->stack.data[e->stack.len - 1];
    if (e->witnesses.data[top] != 0)
      e->stack.len--;
    else
      EG_TRY(add_witness(e, top));
  }
  *out = e->witnesses.data[witness] - 1;
  return EGRAPH_OK;
}

// ---- rewrites --------------------------------------------------------------------

/// Returns the term that a name in a rule means: a sub-pattern, or a term behind `let`.
static uint32_t named_term(const eg_rule *rule, uint32_t var) {
  for (uint32_t i = 0; i < rule->let_count; i++)
    if (rule->lets[i].is_term && rule->lets[i].var == var) return rule->lets[i].term;
  uint32_t named = 0;
  while (rule->terms[named].is_var || rule->terms[named].var != var)
    named++;
  assert(named < rule->pattern_term_count && "a name is of a term");
  return named;
}

static egraph_status build_term(eg_tensor_explainer *e, const eg_rule *rule, uint32_t i,
                                uint32_t payload) {
  const eg_rule_term *term = &rule->terms[i];
  EG_TRY(eg_u32s_resize(&e->operands, term->child_count));
  for (uint32_t k = 0; k < term->child_count; k++)
    e->operands.data[k] = e->built.data[term->children[k]];
  const eg_ground ground = {.op = term->op,
                            .payload = payload,
                            .arity = term->child_count,
                            .children = e->operands.data};
  return eg_explainer_add(e->closure, &ground, &e->built.data[i]);
}

/// Finds the rule, or case of a rule, of the rewrite whose note begins at `words`.
static egraph_status rule_of(eg_tensor_explainer *e, const uint32_t *words,
                             const eg_rule **out) {
  EG_TRY(eg_rule_cases_get(e->cases, words[0], words + 1, out));
  assert(*out != NULL && "a case that was applied");
  return EGRAPH_OK;
}

/// Builds the terms of both sides of the rewrite whose note begins at `words`; *out_end:
/// the end of the note.
static egraph_status build_sides(eg_tensor_explainer *e, const eg_rule *rule,
                                 const uint32_t *words, const uint32_t **out_end) {
  words += 1 + (rule->schema != NULL ? rule->schema->parameter_count : 0);
  EG_TRY(eg_u32s_resize(&e->vars, rule->var_count));
  EG_TRY(eg_u32s_resize(&e->built, rule->term_count));
  for (uint32_t v = 0; v < rule->var_count; v++)
    if (rule->vars[v].pattern_var != EG_RULE_NONE)
      EG_TRY(find_tensor(e, *words++, &e->vars.data[v]));
  for (uint32_t i = 0; i < rule->term_count; i++) {
    uint32_t var = rule->terms[i].var;
    if (!rule->terms[i].is_var)
      EG_TRY(build_term(e, rule, i, *words++));
    else if (rule->vars[var].pattern_var != EG_RULE_NONE)
      e->built.data[i] = e->vars.data[var];
    else
      e->built.data[i] = e->built.data[named_term(rule, var)];
  }
  *out_end = words;
  return EGRAPH_OK;
}

static egraph_status state_rewrites(eg_tensor_explainer *e) {
  size_t count;
  const uint32_t *notes = eg_engine_notes(eg_tensor_egraph_engine(e->egraph), &count);
  for (const uint32_t *words = notes; words != notes + count;) {
    const eg_rule *rule;
    uint32_t index = (uint32_t)e->notes.len;
    EG_TRY(rule_of(e, words, &rule));
    EG_TRY(eg_u32s_push(&e->notes, (uint32_t)(words - notes)));
    EG_TRY(build_sides(e, rule, words, &words));
    for (uint32_t r = 0; r < rule->root_count; r++)
      EG_TRY(eg_explainer_state(e->closure, e->built.data[rule->lhs[r].term],
                                e->built.data[rule->rhs[r].term], index));
  }
  return EGRAPH_OK;
}

static egraph_status state_identities(eg_tensor_explainer *e) {
  for (uint32_t t = 0; t < eg_ground_count(eg_explainer_terms(e->closure)); t++) {
    eg_ground ground = eg_ground_at(eg_explainer_terms(e->closure), t);
    if (ground.op == EG_OP_IDENTITY && ground.arity == 1)
      EG_TRY(eg_explainer_state(e->closure, t, ground.children[0], NO_RULE));
  }
  return EGRAPH_OK;
}

static egraph_status state_all(eg_tensor_explainer *e) {
  const eg_engine *engine = eg_tensor_egraph_engine(e->egraph);
  uint32_t classes = eg_engine_class_limit(engine), term;
  EG_TRY(eg_u32s_resize(&e->witnesses,
                        eg_ground_count(eg_tensor_egraph_witnesses(e->egraph))));
  if (classes != 0) EG_TRY(eg_log_reader_term(&e->log, (eg_class){classes - 1}, &term));
  EG_TRY(state_identities(e));
  EG_TRY(state_rewrites(e));
  return state_identities(e);
}

egraph_status eg_tensor_explainer_create(egraph_allocator alloc, eg_tensor_egraph *egraph,
                                         const eg_rules *rules,
                                         eg_tensor_explainer **out) {
  const eg_engine *engine = eg_tensor_egraph_engine(egraph);
  if (!eg_tensor_egraph_is_explained(egraph))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "no explanations are kept of this e-graph");
  EG_HELD(eg_tensor_explainer, e);
  EG_TRY(eg_alloc(alloc, 1, sizeof *e, &e));
  *e = (eg_tensor_explainer){.alloc = alloc, .egraph = egraph, .rules = rules};
  EG_INIT_MEMBERS(e, alloc, OWNED);
  EG_TRY(eg_explainer_create(&alloc, &e->closure));
  EG_TRY(eg_rule_cases_create(alloc, rules, &e->cases));
  eg_log_reader_init(&e->log, engine, e->closure, alloc);
  EG_HAND_OVER(state_all(e), e, out);
}

void eg_tensor_explainer_destroy(eg_tensor_explainer *explainer) {
  if (explainer == NULL) return;
  eg_explainer_destroy(explainer->closure);
  eg_rule_cases_destroy(explainer->cases);
  eg_log_reader_deinit(&explainer->log);
  EG_DEINIT_MEMBERS(explainer, OWNED);
  eg_free(explainer->alloc, explainer, 1, sizeof *explainer);
}

// ---- rewrites behind an equality ------------------------------------------------------

egraph_status eg_tensor_explainer_mark(eg_tensor_explainer *explainer, uint32_t a,
                                       uint32_t b) {
  return eg_explainer_collect(explainer->closure, a, b, &explainer->reasons);
}

static egraph_status visit_one(eg_tensor_explainer *e, uint32_t index,
                               eg_tensor_rewrite_visit *visit, void *user) {
  size_t count;
  const uint32_t *notes = eg_engine_notes(eg_tensor_egraph_engine(e->egraph), &count);
  const uint32_t *words = notes + e->notes.data[index], *end;
  const eg_rule *rule;
  EG_TRY(rule_of(e, words, &rule));
  EG_TRY(build_sides(e, rule, words, &end));
  EG_TRY(eg_u32s_resize(&e->operands, rule->root_count));
  for (uint32_t r = 0; r < rule->root_count; r++)
    e->operands.data[r] = e->built.data[rule->lhs[r].term];
  return visit(user, rule, e->operands.data, rule->root_count);
}

egraph_status eg_tensor_explainer_visit(eg_tensor_explainer *explainer,
                                        eg_tensor_rewrite_visit *visit, void *user) {
  eg_tensor_explainer *e = explainer;
  eg_u32s *marks = &e->marks;
  marks->len = 0;
  EG_TRY(eg_u32s_resize(marks, e->notes.len));
  for (size_t i = 0; i < e->reasons.reasons.len; i++)
    if (e->reasons.reasons.data[i] != NO_RULE)
      marks->data[e->reasons.reasons.data[i]] = 1;
  for (uint32_t i = 0; i < e->notes.len; i++)
    if (marks->data[i] != 0) EG_TRY(visit_one(e, i, visit, user));
  return EGRAPH_OK;
}
