// Draws instances of a rule as the verifier does, with random axis sizes and random
// values for the rule's layout variables. Most instances decide nothing, because a size
// does not divide. A few on which the layouts agree are enough, because layouts depend on
// operators and their attributes, seldom on sizes.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/claims/layout_check.h"

#include <stdio.h>

#include "base/hash.h"
#include "rewrites/lab/claims/layout_claim.h"
#include "rewrites/lab/claims/rank_run.h"
#include "rewrites/lab/instances/instance_draw.h"

// LEAST_DEGREE: the first size tried for a mesh axis whose size the rule leaves open.
// READ_DEGREES: how many sizes are tried when a rule is read.
enum {
  ENOUGH = 4,
  MOST_RUNS = 64,
  MOST_DRAWS = 2000,
  LEAST_DEGREE = 2,
  READ_DEGREES = 2
};

typedef struct check {
  const eg_rule *rule;
  eg_verify_draws_own draws;
  eg_arena arena; // memory of one instance
  eg_rng rng;
  uint32_t drawn, degree_index;
  uint32_t holds[EG_LAYOUT_DEGREES], runs[EG_LAYOUT_DEGREES];
  eg_rank_evidence *ranks; // NULL: the ranks are not simulated
  eg_text reason;          // why the first instance without layouts has no layouts
  eg_text *text;
  uint32_t move;        // the parallel operator that `reason` is about
  bool has_good_reason; // the reason is not only a size that does not divide
  bool is_refuted;
} check;

EG_OWNER_DEFINE_STATIC(check, (eg_arena, arena), (eg_text, reason),
                       (eg_verify_draws_own, draws))

// ---- one instance ----------------------------------------------------------------

/// Creates the environment of the instance; layout variables get random dimensions.
static egraph_status set_layout_vars(check *c, const eg_claim_case *of,
                                     const eg_verify_instance *instance,
                                     eg_rule_env *out) {
  const eg_rule *rule = c->rule;
  uint32_t most = 1;
  for (uint32_t t = 0; t < rule->term_count; t++)
    if (of->terms[t].types[0].rank > most) most = of->terms[t].types[0].rank;
  *out = *instance->env;
  EG_NEW(&c->arena, rule->var_count, out->vars);
  for (uint32_t v = 0; v < rule->var_count; v++)
    out->vars[v] = rule->vars[v].origin != EG_RULE_VAR_LAYOUT
                       ? instance->env->vars[v]
                       : eg_rule_int((int64_t)eg_rng_below(&c->rng, most));
  return EGRAPH_OK;
}

static void note_missing_dimension(check *c, const eg_claim_case *of, uint32_t move) {
  const eg_rule_move *at = &c->rule->moves[move];
  if (c->reason.chars.len != 0) return;
  c->move = move;
  eg_text_printf(&c->reason, "%s names a dimension that a ", eg_parallel_name(at->kind));
  eg_type_print(&c->reason, &of->terms[at->term].types[0]);
  eg_text_append(&c->reason, " has not; dimensions count from 0, or from the end "
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

/// Fills in the mesh and the parallel operators of the rule's instance; *out_ok is false
/// when an operator's dimension does not exist.
static egraph_status set_moves(check *c, eg_rule_env *env, eg_claim_case *out,
                               bool *out_ok) {
  const eg_rule *rule = c->rule;
  eg_parallel_op *moves;
  EG_NEW(&c->arena, rule->move_count, moves);
  *out_ok = true;
  out->moves = moves;
  set_mesh(c, &out->mesh);
  for (uint32_t i = 0; i < rule->move_count; i++) {
    const eg_rule_move *move = &rule->moves[i];
    int64_t rank = out->terms[move->term].types[0].rank;
    eg_rule_value value = eg_rule_int(0);
    *out_ok = move->dim == EG_RULE_NONE || eg_rule_eval(env, move->dim, &value);
    int64_t dim = value.i < 0 ? value.i + rank : value.i;
    *out_ok = *out_ok && dim >= 0 && (move->dim == EG_RULE_NONE || dim < rank);
    if (!*out_ok) {
      note_missing_dimension(c, out, i);
      return EGRAPH_OK;
    }
    moves[i] = (eg_parallel_op){.kind = move->kind,
                                .axis = move->axis,
                                .dim = (uint32_t)dim,
                                .keeps_one = move->keeps_one};
  }
  return EGRAPH_OK;
}

// ---- judging ---------------------------------------------------------------------

static egraph_status keep_reason(check *c, const eg_claim_case *of) {
  EG_LOCAL(eg_text, text, c->text->chars.alloc);
  uint32_t move;
  bool is_size;
  EG_TRY(eg_claim_explain(of, &c->arena, &text, &move, &is_size));
  if (is_size && c->reason.chars.len != 0) return EGRAPH_OK;
  eg_text_clear(&c->reason);
  c->move = move;
  c->has_good_reason = !is_size;
  return eg_text_append(&c->reason, eg_text_of(&text));
}

/// True when instances with axis size number `i` must still be run on simulated ranks:
/// too few agree forward or backward, and fewer than MOST_RUNS have been run.
static bool needs_run(const check *c, uint32_t i) {
  const eg_rank_evidence *ranks = c->ranks;
  if (ranks == NULL || c->runs[i] == MOST_RUNS) return false;
  bool has_backward = ranks->backward[i] >= ENOUGH || ranks->no_backward.chars.len != 0;
  return ranks->forward[i] < ENOUGH || !has_backward;
}

/// Runs the instance on simulated ranks; c->reason then says how the sides differ.
static egraph_status run_ranks(check *c, const eg_claim_case *of,
                               const eg_verify_instance *instance,
                               const eg_claim_way *way, eg_rank_verdict *out) {
  EG_LOCAL(eg_text, text, c->text->chars.alloc);
  eg_rank_evidence *ranks = c->ranks;
  EG_TRY(eg_rank_check(of, instance, way, eg_rng_next(&c->rng), &c->arena, &text, out));
  ranks->forward[c->degree_index] += *out == EG_RANK_FORWARD || *out == EG_RANK_BOTH;
  ranks->backward[c->degree_index] += *out == EG_RANK_BOTH;
  if (*out == EG_RANK_DIFFERENT)
    return eg_text_printf(&c->reason, "%s%s", c->reason.chars.len != 0 ? "; " : "",
                          eg_text_of(&text));
  if (*out != EG_RANK_FORWARD || ranks->no_backward.chars.len != 0) return EGRAPH_OK;
  return eg_text_append(&ranks->no_backward, eg_text_of(&text));
}

static egraph_status judge_holding(check *c, const eg_claim_case *of,
                                   const eg_verify_instance *instance,
                                   const eg_claim_way *way) {
  eg_rank_verdict verdict;
  c->holds[c->degree_index]++;
  if (!needs_run(c, c->degree_index)) return EGRAPH_OK;
  c->runs[c->degree_index]++;
  eg_text_clear(&c->reason);
  EG_TRY(run_ranks(c, of, instance, way, &verdict));
  c->is_refuted = verdict == EG_RANK_DIFFERENT;
  c->move = EG_RULE_NONE;
  return EGRAPH_OK;
}

static egraph_status judge_claim(check *c, const eg_claim_case *of,
                                 const eg_verify_instance *instance) {
  eg_claim_verdict verdict;
  eg_claim_way way = {.number = eg_rng_next(&c->rng)};
  eg_rank_verdict ranks;
  uint32_t terms = c->rule->term_count;
  EG_NEW(&c->arena, terms, way.layouts);
  EG_NEW(&c->arena, terms, way.strategies);
  EG_TRY(eg_claim_run(of, &c->arena, &way, &verdict));
  switch (verdict) {
  case EG_CLAIM_HOLDS: return judge_holding(c, of, instance, &way);
  case EG_CLAIM_EMPTY: return c->has_good_reason ? EGRAPH_OK : keep_reason(c, of);
  case EG_CLAIM_BROKEN:
    c->is_refuted = true;
    c->has_good_reason = false;
    eg_text_clear(&c->reason);
    EG_TRY(keep_reason(c, of));
    return c->ranks == NULL ? EGRAPH_OK : run_ranks(c, of, instance, &way, &ranks);
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
  eg_claim_term *terms;
  EG_TRY(eg_rank_terms(instance, &c->arena, &terms));
  of.terms = terms;
  if (c->ranks != NULL) EG_TRY(eg_rank_widen(c->rule, &c->arena, terms));
  EG_TRY(set_layout_vars(c, &of, instance, &env));
  EG_TRY(set_moves(c, &env, &of, &ok));
  return ok ? judge_claim(c, &of, instance) : EGRAPH_OK;
}

/// Returns the number of axis sizes to try: several when the rule leaves one open.
static uint32_t degrees_of(const check *c) {
  for (uint32_t a = 0; a < c->rule->axis_count; a++)
    if (c->rule->axes[a].degree == 0)
      return c->ranks != NULL ? EG_LAYOUT_DEGREES : READ_DEGREES;
  return 1;
}

static bool is_done(const check *c) {
  if (c->is_refuted || c->drawn == MOST_DRAWS) return true;
  for (uint32_t i = 0; i < degrees_of(c); i++)
    if (c->holds[i] < ENOUGH || needs_run(c, i)) return false;
  return true;
}

static void set_degrees(check *c) {
  eg_mesh mesh;
  if (c->ranks == NULL) return;
  c->ranks->count = degrees_of(c);
  for (c->degree_index = 0; c->degree_index < c->ranks->count; c->degree_index++) {
    set_mesh(c, &mesh);
    c->ranks->degree[c->degree_index] = mesh.axes[0].size;
  }
}

static egraph_status draw_layout_instances(check *c) {
  uint32_t degrees = degrees_of(c);
  while (!is_done(c)) {
    bool found, typed;
    eg_verify_instance instance;
    c->degree_index = c->drawn++ % degrees;
    if (c->ranks != NULL)
      eg_verify_prefer_dim(c->draws, c->ranks->degree[c->degree_index]);
    EG_TRY(eg_verify_draw(c->draws, &found, &typed, &instance));
    if (!found || !typed) continue;
    egraph_status status = judge_instance(c, &instance);
    eg_arena_deinit(&c->arena);
    EG_TRY(status);
  }
  return EGRAPH_OK;
}

/// Appends "run on 2, 3, 4 ranks: 4, 4, 4 forward, 4, 4, 4 backward"; "ranks an axis" for
/// several axes.
static void print_evidence(check *c) {
  const eg_rank_evidence *ranks = c->ranks;
  const char *ends[] = {c->rule->axis_count == 1 ? " ranks: " : " ranks an axis: ",
                        " forward, ", " backward"};
  const uint32_t *const rows[] = {ranks->degree, ranks->forward, ranks->backward};
  eg_text_append(c->text, ", run on ");
  for (int k = 0; k < 3; k++) {
    for (uint32_t i = 0; i < ranks->count; i++)
      eg_text_printf(c->text, "%s%u", i == 0 ? "" : ", ", rows[k][i]);
    eg_text_append(c->text, ends[k]);
  }
  if (ranks->no_backward.chars.len != 0)
    eg_text_printf(c->text, " (%s)", eg_text_of(&ranks->no_backward));
}

static egraph_status print_finding(check *c, eg_layout_finding *out) {
  uint32_t holds = 0;
  for (uint32_t i = 0; i < EG_LAYOUT_DEGREES; i++)
    holds += c->holds[i];
  out->holds = !c->is_refuted && holds != 0;
  if (out->holds) {
    eg_text_printf(c->text, "layouts of %u instances", holds);
    if (c->ranks != NULL) print_evidence(c);
    return eg_text_status(c->text);
  }
  if (c->move != EG_RULE_NONE) {
    out->line = c->rule->moves[c->move].line;
    out->column = c->rule->moves[c->move].column;
  }
  EG_TRY(eg_text_status(&c->reason));
  if (c->reason.chars.len != 0) return eg_text_append(c->text, eg_text_of(&c->reason));
  return eg_text_append(c->text,
                        "no tensors were found for which both sides are defined; leave "
                        "degrees out, or check dimensions and conditions");
}

// ---- the whole -------------------------------------------------------------------

egraph_status eg_layout_verify(const egraph_allocator *alloc, const eg_rule *rule,
                               uint64_t seed, eg_text *text, eg_rank_evidence *ranks,
                               eg_layout_finding *out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  EG_LOCAL(check, c, heap);
  c.rule = rule;
  c.rng.state = seed;
  c.text = text;
  c.ranks = ranks;
  c.move = EG_RULE_NONE;
  *out = (eg_layout_finding){.line = rule->line, .column = 1};
  egraph_status status = eg_verify_draws_create(&heap, rule, seed, &c.draws);
  if (status == EGRAPH_E_UNSUPPORTED) return eg_text_append(text, egraph_last_error());
  EG_TRY(status);
  set_degrees(&c);
  EG_TRY(draw_layout_instances(&c));
  return print_finding(&c, out);
}

egraph_status eg_layout_check(const egraph_allocator *alloc, const eg_rule *rule) {
  EG_LOCAL(eg_text, text, eg_allocator_or_heap(alloc));
  eg_layout_finding finding;
  EG_TRY(eg_layout_verify(alloc, rule, 1, &text, NULL, &finding));
  if (finding.holds) return EGRAPH_OK;
  eg_sexpr at = {.line = finding.line, .column = finding.column};
  return eg_sexpr_fail(rule->file, &at, "layouts of rule %s: %s", rule->name,
                       eg_text_of(&text));
}
