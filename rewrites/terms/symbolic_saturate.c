// Gives the rules of an eg_symbolic to the driver. A right side is looked up before any
// of its terms is added, so that a budget never leaves half a right side.
// SPDX-License-Identifier: Apache-2.0
#include "egraph/explain_log.h"

#include "base/owner.h"
#include "rewrites/saturation/driver.h"
#include "rewrites/terms/symbolic_internal.h"
#include <assert.h>

/// State of one of the searches that run at the same time (a lane).
typedef struct lane_context {
  const eg_symbolic_rule *rule;
  eg_lane *lane;
} lane_context;

typedef struct saturation {
  egraph_allocator alloc;
  const eg_symbolic *symbolic;
  eg_engine *engine;     // its own
  eg_matcher **matchers; // NULL: off
  lane_context lanes[EG_DRIVER_LANES];
  eg_classes built, operands;
} saturation;

static egraph_status matchers_of(void *self, uint32_t rule,
                                 const eg_matcher *const **out_matchers,
                                 uint32_t *out_count) {
  const saturation *all = self;
  *out_matchers = (const eg_matcher *const *)&all->matchers[rule];
  *out_count = all->matchers[rule] != NULL;
  return EGRAPH_OK;
}

static uint32_t match_words(void *self, uint32_t rule) {
  const saturation *all = self;
  const eg_symbolic_rule *r = eg_symbolic_rule_at(all->symbolic, rule);
  return r->var_count + r->root_count;
}

static size_t bytes_held(void *self) {
  const saturation *all = self;
  return eg_symbolic_bytes(all->symbolic);
}

/// Stores a match: the classes of variables, then of roots.
static egraph_status on_match(void *user, const eg_match *match, bool *out_pause) {
  const lane_context *context = user;
  const eg_symbolic_rule *rule = context->rule;
  uint32_t *words;
  EG_TRY(eg_lane_take(context->lane, match, &words, out_pause));
  for (uint32_t i = 0; i < rule->var_count; i++)
    *words++ = match->vars[i].id;
  for (uint32_t i = 0; i < rule->root_count; i++)
    *words++ = match->roots[i].id;
  return EGRAPH_OK;
}

static void start_search(void *self, uint32_t rule, uint32_t matcher, uint32_t number,
                         eg_lane *lane, eg_search *out) {
  (void)matcher; // a rule has one
  saturation *all = self;
  lane_context *context = &all->lanes[number];
  context->rule = eg_symbolic_rule_at(all->symbolic, rule);
  context->lane = lane;
  out->on_match = on_match;
  out->user = context;
}

// ---- applying --------------------------------------------------------------------
//
// A batch of matches is applied term by term of the right side: row i of `built` has the
// classes of term i, one per match.

static eg_class *built_row(saturation *all, uint32_t term) {
  assert((size_t)term * EG_DRIVER_BATCH < all->built.len);
  return all->built.data + (size_t)term * EG_DRIVER_BATCH;
}

static eg_term_batch batch_of(saturation *all, const eg_symbolic_rule *rule,
                              uint32_t index, uint32_t count) {
  assert(count <= EG_DRIVER_BATCH);
  const eg_pattern_term *term = &rule->terms[index];
  for (uint32_t k = 0; k < term->arity; k++) {
    const eg_class *row = built_row(all, rule->children[term->children + k]);
    for (uint32_t m = 0; m < count; m++)
      all->operands.data[m * term->arity + k] = row[m];
  }
  return (eg_term_batch){.op = term->op,
                         .arity = term->arity,
                         .count = count,
                         .children = all->operands.data};
}

// Adds a right side. A root that is no variable goes straight into the class that it is
// equal to.
static egraph_status apply_root(saturation *all, uint32_t index, uint32_t root,
                                const uint32_t *matches, uint32_t count,
                                uint32_t *inout_unions) {
  const eg_symbolic_rule *rule = eg_symbolic_rule_at(all->symbolic, index);
  uint32_t words = rule->var_count + rule->root_count, term = rule->rhs[root];
  eg_engine *engine = all->engine;
  eg_class targets[EG_DRIVER_BATCH];
  for (uint32_t m = 0; m < count; m++)
    targets[m].id = matches[m * words + rule->var_count + root];
  if (rule->is_root[term]) {
    eg_term_batch batch = batch_of(all, rule, term, count);
    uint32_t changed;
    EG_TRY(eg_engine_add_batch_to(engine, &batch, targets, index, &changed));
    *inout_unions += changed;
    return EGRAPH_OK;
  }
  for (uint32_t m = 0; m < count; m++) {
    bool changed;
    EG_TRY(eg_engine_unite(engine, targets[m], built_row(all, term)[m], index, &changed));
    *inout_unions += changed;
  }
  return EGRAPH_OK;
}

static egraph_status apply_batch(saturation *all, uint32_t index, const uint32_t *matches,
                                 uint32_t count, uint32_t *inout_unions) {
  const eg_symbolic_rule *rule = eg_symbolic_rule_at(all->symbolic, index);
  uint32_t words = rule->var_count + rule->root_count;
  for (uint32_t i = rule->lhs_term_count; i < rule->term_count; i++) {
    bool is_var = rule->terms[i].kind == EG_PATTERN_VAR;
    for (uint32_t m = 0; is_var && m < count; m++) // the classes that matches bind it to
      built_row(all, i)[m].id = matches[m * words + rule->terms[i].var];
    if (is_var || rule->is_root[i]) continue;
    eg_term_batch batch = batch_of(all, rule, i, count);
    EG_TRY(eg_engine_add_batch(all->engine, &batch, index, built_row(all, i)));
  }
  for (uint32_t root = 0; root < rule->root_count; root++)
    EG_TRY(apply_root(all, index, root, matches, count, inout_unions));
  return EGRAPH_OK;
}

// Counts the terms of a right side that the e-graph lacks, so that a right side which
// would exceed the budget adds nothing.
static uint32_t count_missing(saturation *all, const eg_symbolic_rule *rule,
                              const uint32_t *match) {
  uint32_t missing = 0;
  for (uint32_t i = rule->lhs_term_count; i < rule->term_count; i++) {
    const eg_pattern_term *term = &rule->terms[i];
    eg_class *place = built_row(all, i);
    if (term->kind == EG_PATTERN_VAR) {
      place->id = match[term->var];
      continue;
    }
    bool known = true;
    eg_class *operands = all->operands.data;
    for (uint32_t k = 0; k < term->arity; k++) {
      operands[k] = *built_row(all, rule->children[term->children + k]);
      known = known && operands[k].id != EG_CLASS_NONE.id;
    }
    eg_term node = {.op = term->op, .arity = term->arity, .children = operands};
    if (known && eg_engine_find_term(all->engine, &node, place)) continue;
    *place = EG_CLASS_NONE;
    missing++;
  }
  return missing;
}

/// Notes an application of a rule, for explanations, before it changes anything, because
/// a failure may leave half of it.
static egraph_status apply_noted(saturation *all, uint32_t index, const uint32_t *match,
                                 uint32_t *inout_unions) {
  eg_engine *engine = all->engine;
  uint32_t unions = *inout_unions,
           vars = eg_symbolic_rule_at(all->symbolic, index)->var_count;
  EG_TRY(eg_engine_note(engine, &index, 1));
  EG_TRY(eg_engine_note(engine, match, vars));
  EG_TRY(apply_batch(all, index, match, 1, inout_unions));
  if (*inout_unions == unions) eg_engine_forget_notes(engine, 1 + (size_t)vars);
  return EGRAPH_OK;
}

static egraph_status apply_matches(void *self, uint32_t index, const uint32_t *matches,
                                   uint32_t count, uint32_t max_new_nodes,
                                   eg_apply_result *out) {
  saturation *all = self;
  const eg_symbolic_rule *rule = eg_symbolic_rule_at(all->symbolic, index);
  const eg_engine *engine = all->engine;
  uint32_t terms = rule->term_count - rule->lhs_term_count;
  bool notes = eg_engine_has_log(engine);
  if ((uint64_t)terms * count <= max_new_nodes && !notes) {
    out->applied = count;
    return apply_batch(all, index, matches, count, &out->unions);
  }
  // Near the node limit, or with explanations, applies the matches one by one.
  uint32_t limit = eg_engine_node_count(engine) + max_new_nodes;
  for (; out->applied < count; out->applied++) {
    const uint32_t *match = matches + out->applied * match_words(self, index);
    uint32_t left = limit - eg_engine_node_count(engine);
    if (terms > left && count_missing(all, rule, match) > left) return EGRAPH_OK;
    EG_TRY(notes ? apply_noted(all, index, match, &out->unions)
                 : apply_batch(all, index, match, 1, &out->unions));
  }
  return EGRAPH_OK;
}

// ---- the loop --------------------------------------------------------------------

static egraph_status prepare_rule(saturation *all, uint32_t index) {
  const eg_symbolic_rule *rule = eg_symbolic_rule_at(all->symbolic, index);
  size_t built = (size_t)rule->term_count * EG_DRIVER_BATCH;
  size_t operands = (size_t)rule->child_count * EG_DRIVER_BATCH;
  if (all->built.len < built) EG_TRY(eg_classes_resize(&all->built, built));
  if (all->operands.len < operands) EG_TRY(eg_classes_resize(&all->operands, operands));
  eg_pattern pattern = {.terms = rule->terms,
                        .term_count = rule->lhs_term_count,
                        .children = rule->children,
                        .child_count = rule->lhs_child_count,
                        .roots = rule->lhs,
                        .root_count = rule->root_count,
                        .var_count = rule->var_count};
  return eg_matcher_create(&all->alloc, &pattern, &all->matchers[index]);
}

static egraph_status prepare_rules(saturation *all,
                                   const eg_saturation_options *options) {
  uint32_t count = eg_symbolic_rule_count(all->symbolic);
  EG_TRY(eg_alloc(all->alloc, count, sizeof *all->matchers, &all->matchers));
  for (uint32_t i = 0; i < count; i++)
    if (options->use_rule == NULL || options->use_rule(options->use_rule_user, i))
      EG_TRY(prepare_rule(all, i));
  return EGRAPH_OK;
}

static void saturation_deinit(saturation *all) {
  uint32_t count = eg_symbolic_rule_count(all->symbolic);
  for (uint32_t i = 0; all->matchers != NULL && i < count; i++)
    eg_matcher_destroy(all->matchers[i]);
  eg_free(all->alloc, all->matchers, count, sizeof *all->matchers);
  eg_classes_deinit(&all->built);
  eg_classes_deinit(&all->operands);
}

egraph_status eg_symbolic_saturate(eg_symbolic *symbolic,
                                   const eg_saturation_options *options,
                                   eg_saturation_report *out_report) {
  EG_OWNED(saturation, all);
  all = (saturation){.alloc = eg_symbolic_allocator(symbolic),
                     .symbolic = symbolic,
                     .engine = eg_symbolic_engine(symbolic)};
  *out_report = (eg_saturation_report){.alloc = all.alloc};
  eg_classes_init(&all.built, all.alloc);
  eg_classes_init(&all.operands, all.alloc);
  eg_driver_rules rules = {.self = &all,
                           .count = eg_symbolic_rule_count(symbolic),
                           .matchers = matchers_of,
                           .match_words = match_words,
                           .search = start_search,
                           .apply = apply_matches,
                           .bytes = bytes_held};
  EG_TRY(prepare_rules(&all, options));
  return eg_driver_run(&all.alloc, all.engine, &rules, options, out_report);
}
