// Instances are those of the verifier, with degrees for the axes, and dimensions drawn
// for the layout variables. Most say nothing, because a size does not divide; a few that
// hold are enough, because layouts depend on operators and their attributes, hardly on
// sizes. A claim that fails is explained by a walk from the variables, in the layouts
// that the parallel operators around them ask for, to the results: the first term without
// a layout is the reason.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/claims/layout_check.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "rewrites/lab/claims/layout_claim.h"
#include "rewrites/lab/claims/rank_run.h"
#include "rewrites/lab/instances/instance_draw.h"

EG_VEC_DEFINE(layout_list, eg_layout);

/// The layouts that terms can have, parallel operators around them included.
typedef struct walk {
  const eg_claim_case *of;
  eg_arena *arena;
  layout_list layouts;
  uint32_t *begin; // by term; one more
  eg_text *text;
  uint32_t move;
  bool is_stuck, is_size;
} walk;

// ---- words ----------------------------------------------------------------------------

static egraph_status print_digit(eg_text *text, uint8_t digit) {
  if (eg_digit_is_shard(digit))
    return eg_text_printf(text, "split along dimension %" PRIu32, eg_digit_dim(digit));
  return eg_text_append(text, digit == EG_SHARD_R       ? "whole on every device"
                              : digit == EG_SHARD_P_SUM ? "partial sums"
                                                        : "partial maxima");
}

static egraph_status print_axis(const walk *w, uint32_t axis) {
  const char *name = w->of->rule->axes[axis].name;
  return name[0] == '\0' ? EGRAPH_OK : eg_text_printf(w->text, " on axis %s", name);
}

/// "(matmul ...)" or "?x".
static egraph_status print_head(const walk *w, uint32_t term) {
  const eg_rule_term *node = &w->of->rule->terms[term];
  if (node->is_var) return eg_text_append(w->text, w->of->rule->vars[node->var].name);
  return eg_text_printf(w->text, "(%s ...)", eg_op_info_of(node->op)->name);
}

static egraph_status print_operand(const walk *w, eg_parallel_kind kind, uint32_t dim) {
  EG_TRY(eg_text_printf(w->text, "(%s", eg_parallel_name(kind)));
  if (eg_parallel_has_dim(kind)) EG_TRY(eg_text_printf(w->text, " :dim %" PRIu32, dim));
  return eg_text_append(w->text, " ...)");
}

/// What turns a digit into R.
static egraph_status print_undo(const walk *w, uint8_t digit) {
  if (eg_digit_is_shard(digit))
    return print_operand(w, EG_PARALLEL_COMBINE, eg_digit_dim(digit));
  return print_operand(w, EG_PARALLEL_REDUCE, 0);
}

// ---- parallel operators ---------------------------------------------------------------

static egraph_status print_remedy(const walk *w, const eg_parallel_op *op,
                                  uint8_t digit) {
  if (eg_digit_is_partial(digit)) {
    EG_TRY(eg_text_append(w->text, "; the sum of partial values is missing: add "));
    return print_undo(w, digit);
  }
  if (op->kind == EG_PARALLEL_REDUCE && digit == EG_SHARD_R)
    return eg_text_append(
        w->text, ", and adding the copies would multiply it by the degree; leave "
                 "reduce out, or make partial sums by splitting what is summed");
  if (digit == (op->kind == EG_PARALLEL_COMBINE ? eg_digit_shard(op->dim) : EG_SHARD_R))
    return eg_text_append(w->text,
                          ", but an axis that comes later cuts the same dimension; "
                          "partition along it afterwards, and combine it before");
  if (op->kind == EG_PARALLEL_COMBINE && digit == EG_SHARD_R)
    return eg_text_append(w->text, ", so there are no blocks to combine; leave it out");
  EG_TRY(eg_text_append(w->text, "; put "));
  EG_TRY(print_undo(w, digit));
  return eg_text_append(w->text, " there");
}

static egraph_status explain_move(walk *w, uint32_t term, const eg_layout *found) {
  const eg_parallel_op *op = &w->of->moves[w->move];
  uint8_t digit = found->sharding[op->axis];
  eg_layout to = *found;
  w->is_stuck = true;
  w->is_size = eg_parallel_apply(&w->of->mesh, op, &to);
  EG_TRY(eg_text_printf(w->text, "%s does not apply: ", eg_parallel_name(op->kind)));
  EG_TRY(print_head(w, term));
  if (w->is_size) {
    EG_TRY(eg_text_append(w->text, ", a "));
    EG_TRY(eg_type_print(w->text, &w->of->terms[term].types[0]));
    return eg_text_printf(w->text,
                          ", has no dimension %" PRIu32 " that divides by %" PRIu32,
                          op->dim, w->of->mesh.axes[op->axis].size);
  }
  EG_TRY(eg_text_append(w->text, " is "));
  EG_TRY(print_digit(w->text, digit));
  EG_TRY(print_axis(w, op->axis));
  EG_TRY(eg_text_append(w->text, " there"));
  return print_remedy(w, op, digit);
}

/// Keeps a layout if the parallel operators around the term take it.
static egraph_status keep(walk *w, uint32_t term, eg_layout layout, bool *inout_any,
                          eg_layout *out_refused) {
  uint32_t move;
  if (!eg_claim_move(w->of, term, &layout, &move)) {
    if (!*inout_any) w->move = move;
    *out_refused = layout;
    return EGRAPH_OK;
  }
  *inout_any = true;
  for (size_t i = w->begin[term]; i < w->layouts.len; i++)
    if (eg_layout_same(&w->of->mesh, &w->layouts.data[i], &layout)) return EGRAPH_OK;
  return layout_list_push(&w->layouts, layout);
}

// ---- terms ----------------------------------------------------------------------------

/// What the innermost parallel operator of an axis around the variable asks for.
static eg_layout likely_layout(const eg_claim_case *of, uint32_t var) {
  eg_layout layout = {.format = EG_FORMAT_PLAIN};
  bool is_known[EG_MAX_MESH_AXES] = {false};
  for (uint32_t i = 0; i < of->rule->move_count; i++) {
    const eg_rule_term *term = &of->rule->terms[of->rule->moves[i].term];
    const eg_parallel_op *op = &of->moves[i];
    if (!term->is_var || term->var != var || is_known[op->axis]) continue;
    is_known[op->axis] = true;
    if (op->kind == EG_PARALLEL_COMBINE)
      layout.sharding[op->axis] = eg_digit_shard(op->dim);
    if (op->kind == EG_PARALLEL_REDUCE) layout.sharding[op->axis] = EG_SHARD_P_SUM;
  }
  return layout;
}

static bool is_among(const walk *w, uint32_t term, const eg_layout *layout) {
  for (uint32_t i = w->begin[term]; i < w->begin[term + 1]; i++)
    if (eg_layout_same(&w->of->mesh, &w->layouts.data[i], layout)) return true;
  return false;
}

static egraph_status explain_node(walk *w, uint32_t term) {
  const eg_rule_term *node = &w->of->rule->terms[term];
  w->is_stuck = true;
  w->move = EG_RULE_NONE;
  EG_TRY(eg_text_printf(w->text, "%s cannot be computed from operands that are ",
                        eg_op_info_of(node->op)->name));
  for (uint32_t i = 0; i < node->child_count; i++) {
    const eg_layout *layout = &w->layouts.data[w->begin[node->children[i]]];
    EG_TRY(eg_text_append(w->text, i == 0 ? "" : ", "));
    for (uint32_t a = 0; a < w->of->mesh.axis_count; a++) {
      EG_TRY(eg_text_append(w->text, a == 0 ? "" : " and "));
      EG_TRY(print_digit(w->text, layout->sharding[a]));
      EG_TRY(print_axis(w, a));
    }
  }
  return eg_text_append(w->text, "; change the parallel operators around them");
}

static egraph_status walk_strategies(walk *w, uint32_t term,
                                     const eg_strategies *strategies) {
  const eg_rule_term *node = &w->of->rule->terms[term];
  bool any = false, is_possible = false;
  eg_layout refused = {.format = EG_FORMAT_PLAIN};
  for (size_t s = 0; s < strategies->len; s++) {
    bool fits = true;
    for (uint32_t i = 0; fits && i < node->child_count; i++)
      fits = is_among(w, node->children[i], eg_strategy_input(&strategies->data[s], i));
    if (!fits) continue;
    is_possible = true;
    EG_TRY(keep(w, term, strategies->data[s].result, &any, &refused));
  }
  if (any) return EGRAPH_OK;
  return is_possible ? explain_move(w, term, &refused) : explain_node(w, term);
}

static egraph_status walk_operands(walk *w, uint32_t term, uint32_t first, uint32_t end) {
  bool any = false;
  eg_layout refused = {.format = EG_FORMAT_PLAIN};
  for (uint32_t i = first; i < end; i++)
    EG_TRY(keep(w, term, w->layouts.data[i], &any, &refused));
  return any ? EGRAPH_OK : explain_move(w, term, &refused);
}

/// The term that a let variable stands for, or EG_RULE_NONE.
static uint32_t meaning_of(const eg_rule *rule, uint32_t var) {
  for (uint32_t i = 0; i < rule->let_count; i++)
    if (rule->lets[i].is_term && rule->lets[i].var == var) return rule->lets[i].term;
  return EG_RULE_NONE;
}

static egraph_status walk_term(walk *w, uint32_t term) {
  const eg_rule_term *node = &w->of->rule->terms[term];
  w->begin[term] = (uint32_t)w->layouts.len;
  if (node->is_var) {
    uint32_t meaning = meaning_of(w->of->rule, node->var);
    if (meaning != EG_RULE_NONE)
      return walk_operands(w, term, w->begin[meaning], w->begin[meaning + 1]);
    bool any = false;
    eg_layout likely = likely_layout(w->of, node->var), refused = likely;
    EG_TRY(keep(w, term, likely, &any, &refused));
    return any ? EGRAPH_OK : explain_move(w, term, &refused);
  }
  if (node->op == EG_OP_PART)
    return walk_operands(w, term, w->begin[node->children[0]],
                         w->begin[node->children[0] + 1]);
  eg_strategies strategies;
  eg_strategies_init(&strategies, w->arena->alloc);
  egraph_status status = eg_claim_strategies(w->of, term, w->arena, &strategies);
  if (status == EGRAPH_OK) status = walk_strategies(w, term, &strategies);
  eg_strategies_deinit(&strategies);
  return status;
}

// ---- results --------------------------------------------------------------------------

static egraph_status print_result_remedy(walk *w, uint8_t left, uint8_t right) {
  bool is_left = left != EG_SHARD_R;
  uint8_t digit = is_left ? left : right;
  if (left != EG_SHARD_R && right != EG_SHARD_R)
    return eg_text_append(w->text, "; make both whole, or both lie alike");
  EG_TRY(eg_text_append(w->text, eg_digit_is_partial(digit)
                                     ? "; the sum of partial values is missing: add "
                                     : "; add "));
  EG_TRY(print_undo(w, digit));
  return eg_text_printf(w->text, " around the %s side", is_left ? "left" : "right");
}

static egraph_status explain_results(walk *w) {
  const eg_rule *rule = w->of->rule;
  for (uint32_t i = 0; i < rule->root_count; i++) {
    uint32_t left = rule->lhs[i].term, right = rule->rhs[i].term;
    const eg_layout *a = &w->layouts.data[w->begin[left]];
    const eg_layout *b = &w->layouts.data[w->begin[right]];
    if (is_among(w, right, a) || is_among(w, left, b)) continue;
    uint32_t axis = 0;
    while (a->sharding[axis] == b->sharding[axis])
      axis++;
    EG_TRY(eg_text_append(w->text, "the left side is "));
    EG_TRY(print_digit(w->text, a->sharding[axis]));
    EG_TRY(eg_text_append(w->text, ", the right side "));
    EG_TRY(print_digit(w->text, b->sharding[axis]));
    EG_TRY(print_axis(w, axis));
    return print_result_remedy(w, a->sharding[axis], b->sharding[axis]);
  }
  return eg_text_append(w->text, "its sides lie alike for some layouts of the variables "
                                 "and differ for others; say how they lie by parallel "
                                 "operators on both sides");
}

egraph_status eg_claim_explain(const eg_claim_case *of, eg_arena *scratch, eg_text *text,
                               uint32_t *out_move, bool *out_is_size) {
  walk w = {.of = of, .arena = scratch, .text = text, .move = EG_RULE_NONE};
  uint32_t terms = of->rule->term_count;
  EG_TRY(eg_arena_alloc(scratch, (size_t)terms + 1, sizeof *w.begin, &w.begin));
  layout_list_init(&w.layouts, scratch->alloc);
  egraph_status status = EGRAPH_OK;
  for (uint32_t t = 0; status == EGRAPH_OK && t < terms && !w.is_stuck; t++) {
    status = walk_term(&w, t);
    w.begin[t + 1] = (uint32_t)w.layouts.len;
  }
  if (status == EGRAPH_OK && !w.is_stuck) {
    w.move = EG_RULE_NONE;
    status = explain_results(&w);
  }
  layout_list_deinit(&w.layouts);
  *out_move = w.move;
  *out_is_size = w.is_size;
  return status;
}

// Open degrees are tried as LEAST_DEGREE and the next ones: when a rule is read, one.
enum {
  ENOUGH = 4,
  MOST_RUNS = 64,
  MOST_DRAWS = 2000,
  LEAST_DEGREE = 2,
  READ_DEGREES = 2
};

typedef struct check {
  const eg_rule *rule;
  eg_verify_draws *draws;
  eg_arena arena; // of one instance
  eg_rng rng;
  uint32_t drawn, degree_index;
  uint32_t holds[EG_LAYOUT_DEGREES], runs[EG_LAYOUT_DEGREES];
  eg_rank_evidence *ranks; // NULL: nothing is run
  eg_text reason;          // of the first instance without layouts
  eg_text *text;
  uint32_t move;        // that `reason` is about
  bool has_good_reason; // not only that a size does not divide
  bool is_refuted;
} check;

// ---- one instance ----------------------------------------------------------------

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

// ---- judging ---------------------------------------------------------------------

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

/// Whether there are too few instances, of those that can be run.
static bool wants_run(const check *c, uint32_t i) {
  const eg_rank_evidence *ranks = c->ranks;
  if (ranks == NULL || c->runs[i] == MOST_RUNS) return false;
  bool has_backward = ranks->backward[i] >= ENOUGH || ranks->no_backward.chars.len != 0;
  return ranks->forward[i] < ENOUGH || !has_backward;
}

/// The instance on simulated ranks; the reason says how the sides differ there.
static egraph_status run_ranks(check *c, const eg_claim_case *of,
                               const eg_verify_instance *instance,
                               const eg_claim_way *way, eg_rank_verdict *out) {
  eg_text text;
  eg_text_init(&text, c->text->chars.alloc);
  egraph_status status =
      eg_rank_check(of, instance, way, eg_rng_next(&c->rng), &c->arena, &text, out);
  c->ranks->forward[c->degree_index] += *out == EG_RANK_FORWARD || *out == EG_RANK_BOTH;
  c->ranks->backward[c->degree_index] += *out == EG_RANK_BOTH;
  if (status == EGRAPH_OK && *out == EG_RANK_DIFFERENT) {
    if (c->reason.chars.len != 0) status = eg_text_append(&c->reason, "; ");
    if (status == EGRAPH_OK) status = eg_text_append(&c->reason, eg_text_of(&text));
  }
  if (status == EGRAPH_OK && *out == EG_RANK_FORWARD &&
      c->ranks->no_backward.chars.len == 0)
    status = eg_text_append(&c->ranks->no_backward, eg_text_of(&text));
  eg_text_deinit(&text);
  return status;
}

static egraph_status judge_holding(check *c, const eg_claim_case *of,
                                   const eg_verify_instance *instance,
                                   const eg_claim_way *way) {
  eg_rank_verdict verdict;
  c->holds[c->degree_index]++;
  if (!wants_run(c, c->degree_index)) return EGRAPH_OK;
  c->runs[c->degree_index]++;
  eg_text_clear(&c->reason);
  EG_TRY(run_ranks(c, of, instance, way, &verdict));
  c->is_refuted = verdict == EG_RANK_DIFFERENT;
  c->move = EG_RULE_NONE;
  return EGRAPH_OK;
}

static egraph_status judge(check *c, const eg_claim_case *of,
                           const eg_verify_instance *instance) {
  eg_claim_verdict verdict;
  eg_claim_way way = {.number = eg_rng_next(&c->rng)};
  eg_rank_verdict ranks;
  uint32_t terms = c->rule->term_count;
  EG_TRY(eg_arena_alloc(&c->arena, terms, sizeof *way.layouts, &way.layouts));
  EG_TRY(eg_arena_alloc(&c->arena, terms, sizeof *way.strategies, &way.strategies));
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
  return ok ? judge(c, &of, instance) : EGRAPH_OK;
}

static uint32_t degrees_of(const check *c) {
  if (!has_open_degree(c->rule)) return 1;
  return c->ranks != NULL ? EG_LAYOUT_DEGREES : READ_DEGREES;
}

static bool is_done(const check *c) {
  if (c->is_refuted || c->drawn == MOST_DRAWS) return true;
  for (uint32_t i = 0; i < degrees_of(c); i++)
    if (c->holds[i] < ENOUGH || wants_run(c, i)) return false;
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

static egraph_status draw(check *c) {
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

/// "run on 2, 3, 4 ranks: 4, 4, 4 forward, 4, 4, 4 backward"; "ranks an axis" of several.
static egraph_status tell_ranks(check *c) {
  const eg_rank_evidence *ranks = c->ranks;
  bool is_one = c->rule->axis_count == 1;
  const char *kinds[] = {"", "forward", "backward"};
  const uint32_t *const rows[] = {ranks->degree, ranks->forward, ranks->backward};
  EG_TRY(eg_text_append(c->text, ", run on "));
  for (int k = 0; k < 3; k++) {
    for (uint32_t i = 0; i < ranks->count; i++)
      EG_TRY(eg_text_printf(c->text, "%s%u", i == 0 ? "" : ", ", rows[k][i]));
    EG_TRY(eg_text_printf(c->text, "%s%s",
                          k != 0   ? " "
                          : is_one ? " ranks: "
                                   : " ranks an axis: ",
                          kinds[k]));
    if (k == 1) EG_TRY(eg_text_append(c->text, ", "));
  }
  if (ranks->no_backward.chars.len == 0) return EGRAPH_OK;
  return eg_text_printf(c->text, " (%s)", eg_text_of(&ranks->no_backward));
}

static egraph_status tell(check *c, eg_layout_finding *out) {
  uint32_t holds = 0;
  for (uint32_t i = 0; i < EG_LAYOUT_DEGREES; i++)
    holds += c->holds[i];
  out->holds = !c->is_refuted && holds != 0;
  out->line = c->rule->line;
  out->column = 1;
  if (out->holds) {
    EG_TRY(eg_text_printf(c->text, "layouts of %u instances", holds));
    return c->ranks == NULL ? EGRAPH_OK : tell_ranks(c);
  }
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

// ---- the whole -------------------------------------------------------------------

egraph_status eg_layout_verify(const egraph_allocator *alloc, const eg_rule *rule,
                               uint64_t seed, eg_text *text, eg_rank_evidence *ranks,
                               eg_layout_finding *out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  check c = {.rule = rule,
             .rng.state = seed,
             .text = text,
             .ranks = ranks,
             .move = EG_RULE_NONE};
  *out = (eg_layout_finding){.line = rule->line, .column = 1};
  egraph_status status = eg_verify_draws_create(&heap, rule, seed, &c.draws);
  if (status == EGRAPH_E_UNSUPPORTED) return eg_text_append(text, egraph_last_error());
  EG_TRY(status);
  eg_arena_init(&c.arena, heap);
  eg_text_init(&c.reason, heap);
  set_degrees(&c);
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
  egraph_status status = eg_layout_verify(alloc, rule, 1, &text, NULL, &finding);
  if (status == EGRAPH_OK && !finding.holds) {
    eg_sexpr at = {.line = finding.line, .column = finding.column};
    status = eg_sexpr_fail(rule->file, &at, "layouts of rule %s: %s", rule->name,
                           eg_text_of(&text));
  }
  eg_text_deinit(&text);
  return status;
}
