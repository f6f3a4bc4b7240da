// Instances are those of the verifier, with degrees for the axes, and dimensions drawn
// for the layout variables. Most say nothing, because a size does not divide; a few that
// hold are enough, because layouts depend on operators and their attributes, hardly on
// sizes.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/claims/layout_check.h"

#include <stdio.h>

#include "base/hash.h"
#include "rewrites/claims/layout_claim.h"
#include "rewrites/instances/instance_draw.h"

// Open degrees are tried as LEAST_DEGREE and the DEGREES - 1 next ones.
enum { ENOUGH = 4, MOST_DRAWS = 2000, LEAST_DEGREE = 2, DEGREES = 2 };

typedef struct check {
  const eg_rule *rule;
  eg_verify_draws *draws;
  eg_arena arena; // of one instance
  eg_rng rng;
  uint32_t drawn, degree_index;
  uint32_t holds[DEGREES];
  eg_text reason; // of the first instance without layouts
  eg_text *text;
  uint32_t move;        // that `reason` is about
  bool has_good_reason; // not only that a size does not divide
  bool is_refuted;
} check;

// ---- one instance
// -----------------------------------------------------------------------

static bool has_open_degree(const eg_rule *rule) {
  for (uint32_t a = 0; a < rule->axis_count; a++)
    if (rule->axes[a].degree == 0) return true;
  return false;
}

static uint32_t most_rank(const eg_claim_case *of) {
  uint32_t most = 1;
  for (uint32_t t = 0; t < of->rule->term_count; t++)
    if (of->terms[t].types[0].rank > most) most = of->terms[t].types[0].rank;
  return most;
}

/// The environment of the instance with values for the layout variables.
static egraph_status set_layout_vars(check *c, const eg_claim_case *of,
                                     const eg_verify_instance *instance,
                                     eg_rule_env *out) {
  const eg_rule *rule = c->rule;
  *out = *instance->env;
  EG_TRY(eg_arena_alloc(&c->arena, rule->var_count, sizeof *out->vars, &out->vars));
  for (uint32_t v = 0; v < rule->var_count; v++) {
    out->vars[v] = instance->env->vars[v];
    if (rule->vars[v].origin != EG_RULE_VAR_LAYOUT) continue;
    int64_t dim = (int64_t)eg_rng_below(&c->rng, most_rank(of));
    out->vars[v] = (eg_rule_value){.kind = EG_RULE_INT, .i = dim};
  }
  return EGRAPH_OK;
}

static void set_term(const eg_tensor_fact *fact, const eg_attrs *attrs,
                     eg_claim_term *out) {
  *out = (eg_claim_term){.attrs = attrs,
                         .types = fact->part_count != 0 ? fact->parts : &fact->type,
                         .type_count = fact->part_count != 0 ? fact->part_count : 1};
}

static egraph_status set_terms(check *c, const eg_verify_instance *instance,
                               eg_claim_case *out) {
  const eg_rule *rule = c->rule;
  eg_claim_term *terms;
  EG_TRY(eg_arena_alloc(&c->arena, rule->term_count, sizeof *terms, &terms));
  for (uint32_t t = 0; t < rule->term_count; t++) {
    const eg_rule_term *term = &rule->terms[t];
    const eg_built_term *built = &instance->builder->terms[t];
    bool is_left = t < rule->pattern_term_count;
    if (!is_left && !term->is_var)
      set_term(built->fact, eg_tensor_egraph_attrs_at(instance->egraph, built->payload),
               &terms[t]);
    else if (!is_left)
      set_term(built->fact, NULL, &terms[t]);
    else if (term->is_var)
      set_term(
          eg_tensor_egraph_fact(instance->egraph, instance->env->vars[term->var].tensor),
          NULL, &terms[t]);
    else
      set_term(eg_tensor_egraph_fact(instance->egraph, instance->classes[t]),
               instance->attrs[t], &terms[t]);
  }
  out->terms = terms;
  return EGRAPH_OK;
}

static bool eval_int(eg_rule_env *env, uint32_t expr, int64_t *out) {
  eg_rule_value value;
  if (!eg_rule_eval(env, expr, &value)) return false;
  *out = value.i;
  return true;
}

static egraph_status no_dimension(check *c, const eg_claim_case *of, uint32_t move) {
  if (c->reason.chars.len != 0) return EGRAPH_OK;
  c->move = move;
  EG_TRY(eg_text_printf(&c->reason, "%s names a dimension that a ",
                        eg_parallel_name(c->rule->moves[move].kind)));
  EG_TRY(eg_type_print(&c->reason, &of->terms[c->rule->moves[move].term].types[0]));
  return eg_text_append(&c->reason, " has not; dimensions count from 0, or from the end "
                                    "if negative");
}

static void set_mesh(const check *c, eg_mesh *out) {
  out->axis_count = c->rule->axis_count;
  for (uint32_t a = 0; a < out->axis_count; a++) {
    uint32_t degree = c->rule->axes[a].degree;
    out->axes[a].size = degree != 0 ? degree : LEAST_DEGREE + c->degree_index;
    (void)snprintf(out->axes[a].name, sizeof out->axes[a].name, "a%u", a);
  }
}

/// False in *out_ok: a dimension does not exist.
static egraph_status set_moves(check *c, eg_rule_env *env, eg_claim_case *out,
                               bool *out_ok) {
  const eg_rule *rule = c->rule;
  eg_parallel_op *moves;
  EG_TRY(eg_arena_alloc(&c->arena, rule->move_count, sizeof *moves, &moves));
  *out_ok = true;
  out->moves = moves;
  set_mesh(c, &out->mesh);
  for (uint32_t i = 0; i < rule->move_count; i++) {
    const eg_rule_move *move = &rule->moves[i];
    int64_t rank = out->terms[move->term].types[0].rank, dim = 0;
    *out_ok = move->dim == EG_RULE_NONE || eval_int(env, move->dim, &dim);
    if (dim < 0) dim += rank;
    *out_ok = *out_ok && dim >= 0 && (move->dim == EG_RULE_NONE || dim < rank);
    if (!*out_ok) return no_dimension(c, out, i);
    moves[i] = (eg_parallel_op){.kind = move->kind,
                                .axis = move->axis,
                                .dim = (uint32_t)dim,
                                .keeps_one = move->keeps_one};
  }
  return EGRAPH_OK;
}

// ---- judging
// ----------------------------------------------------------------------------

static egraph_status keep_reason(check *c, const eg_claim_case *of) {
  eg_text text;
  eg_text_init(&text, c->text->chars.alloc);
  uint32_t move;
  bool is_size;
  egraph_status status = eg_claim_explain(of, &c->arena, &text, &move, &is_size);
  if (status == EGRAPH_OK && (!is_size || c->reason.chars.len == 0)) {
    eg_text_clear(&c->reason);
    c->move = move;
    c->has_good_reason = !is_size;
    status = eg_text_append(&c->reason, eg_text_of(&text));
  }
  eg_text_deinit(&text);
  return status;
}

static egraph_status judge(check *c, const eg_claim_case *of) {
  eg_claim_verdict verdict;
  EG_TRY(eg_claim_run(of, &c->arena, NULL, &verdict));
  switch (verdict) {
  case EG_CLAIM_HOLDS: c->holds[c->degree_index]++; return EGRAPH_OK;
  case EG_CLAIM_EMPTY: return c->has_good_reason ? EGRAPH_OK : keep_reason(c, of);
  case EG_CLAIM_BROKEN:
    c->is_refuted = true;
    c->has_good_reason = false;
    eg_text_clear(&c->reason);
    return keep_reason(c, of);
  case EG_CLAIM_LARGE:
    c->is_refuted = true;
    c->move = EG_RULE_NONE;
    eg_text_clear(&c->reason);
    return eg_text_append(&c->reason,
                          "it has too many layouts to look at; use fewer axes "
                          "or split the rule into smaller ones");
  }
  return EGRAPH_OK;
}

static egraph_status judge_instance(check *c, const eg_verify_instance *instance) {
  eg_claim_case of = {.rule = c->rule};
  eg_rule_env env;
  bool ok;
  EG_TRY(set_terms(c, instance, &of));
  EG_TRY(set_layout_vars(c, &of, instance, &env));
  EG_TRY(set_moves(c, &env, &of, &ok));
  return ok ? judge(c, &of) : EGRAPH_OK;
}

static bool is_done(const check *c) {
  if (c->is_refuted || c->drawn == MOST_DRAWS) return true;
  uint32_t degrees = has_open_degree(c->rule) ? DEGREES : 1;
  for (uint32_t i = 0; i < degrees; i++)
    if (c->holds[i] < ENOUGH) return false;
  return true;
}

static egraph_status draw(check *c) {
  uint32_t degrees = has_open_degree(c->rule) ? DEGREES : 1;
  while (!is_done(c)) {
    bool found, typed;
    eg_verify_instance instance;
    EG_TRY(eg_verify_draw(c->draws, &found, &typed, &instance));
    c->degree_index = c->drawn++ % degrees;
    if (!found || !typed) continue;
    egraph_status status = judge_instance(c, &instance);
    eg_arena_deinit(&c->arena);
    EG_TRY(status);
  }
  return EGRAPH_OK;
}

static egraph_status tell(check *c, eg_layout_finding *out) {
  uint32_t holds = 0;
  for (uint32_t i = 0; i < DEGREES; i++)
    holds += c->holds[i];
  out->holds = !c->is_refuted && holds != 0;
  out->line = c->rule->line;
  out->column = 1;
  if (out->holds) return eg_text_printf(c->text, "layouts of %u instances", holds);
  if (c->move != EG_RULE_NONE) {
    out->line = c->rule->moves[c->move].line;
    out->column = c->rule->moves[c->move].column;
  }
  const char *reason = eg_text_of(&c->reason);
  if (reason[0] == '\0')
    reason = "no tensors were found for which both sides are defined; leave "
             "degrees out, or check dimensions and conditions";
  return eg_text_append(c->text, reason);
}

// ---- the whole
// --------------------------------------------------------------------------

egraph_status eg_layout_verify(const egraph_allocator *alloc, const eg_rule *rule,
                               uint64_t seed, eg_text *text, eg_layout_finding *out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  check c = {.rule = rule, .rng.state = seed, .text = text, .move = EG_RULE_NONE};
  *out = (eg_layout_finding){.line = rule->line, .column = 1};
  egraph_status status = eg_verify_draws_create(&heap, rule, seed, &c.draws);
  if (status == EGRAPH_E_UNSUPPORTED) return eg_text_append(text, egraph_last_error());
  EG_TRY(status);
  eg_arena_init(&c.arena, heap);
  eg_text_init(&c.reason, heap);
  status = draw(&c);
  if (status == EGRAPH_OK) status = tell(&c, out);
  eg_text_deinit(&c.reason);
  eg_arena_deinit(&c.arena);
  eg_verify_draws_destroy(c.draws);
  return status;
}

egraph_status eg_layout_check(const egraph_allocator *alloc, const eg_rule *rule) {
  eg_text text;
  eg_layout_finding finding;
  eg_text_init(&text, eg_allocator_or_heap(alloc));
  egraph_status status = eg_layout_verify(alloc, rule, 1, &text, &finding);
  if (status == EGRAPH_OK && !finding.holds) {
    eg_sexpr at = {.line = finding.line, .column = finding.column};
    status = eg_sexpr_fail(rule->file, &at, "layouts of rule %s: %s", rule->name,
                           eg_text_of(&text));
  }
  eg_text_deinit(&text);
  return status;
}
