// Applies tensor rules in the saturation loop. Left sides become patterns of the engine,
// which matches modulo equality; attributes, types and conditions are checked here.
//
// A match is the number of its left side, its depth, and its words by rule_match.h.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/saturate.h"

#include <assert.h>

#include "base/owner.h"
#include "egraph/pattern.h"
#include "rewrites/language/rule_schema.h"
#include "rewrites/saturation/driver.h"
#include "rewrites/saturation/rule_build.h"
#include "rewrites/saturation/rule_join.h"
#include "rewrites/saturation/rule_match.h"
#include "rewrites/saturation/rule_sides.h"
#include "rewrites/saturation/tensor_explain.h"

// ---- state -----------------------------------------------------------------------

/// Memory of one search for matches, or of applying matches; large enough for every rule.
typedef struct context {
  eg_rule_value *vars;
  uint32_t *marks;
  eg_rule_scratch *scratch;
  // Members that are set anew for each rule:
  const struct tensor_rules *all;
  const eg_rule *rule;
  const eg_rule_steps *checks;
  uint32_t side;       // number of the left side
  uint32_t ways;       // ways tried from its first node
  eg_lane *lane;       // NULL: any depth, for look_deeper
  bool is_depth_bound; // a node was skipped for its depth
  void *user;          // user data of searches without a lane
} context;

typedef struct tensor_rules {
  egraph_allocator alloc;
  eg_tensor_egraph *egraph;
  const eg_rules *rules;
  const eg_saturation_options *options;
  eg_arena arena;
  eg_rule_cases *cases;
  eg_rule_census census; // operators in the e-graph, for rules with parameters
  eg_rule_sides *sides;  // [count], empty for rules that are off
  bool *is_on;           // [count]
  eg_rule_join join;     // matches of the current rule whose left side is (each ...)
  uint32_t count;
  context lanes[EG_DRIVER_LANES], applying;
  uint32_t var_cap, step_cap; // most of any rule
  eg_rule_builder builder;
  // [nodes] depth of each node: how many rules with several left sides led to it.
  eg_u32s depths;
  eg_u32s note; // note of the current match, in an explained e-graph
} tensor_rules;

#define OWNED                                                                            \
  (eg_arena, arena), (eg_rule_builder, builder), (eg_u32s, depths, note),                \
      (eg_rule_census, census), (eg_rule_join, join)

static bool keeps_all(const tensor_rules *all) {
  return eg_tensor_egraph_is_explained(all->egraph);
}

static bool is_joined(const eg_rule *rule) {
  return rule->schema != NULL && rule->schema->sides != EG_RULE_NONE;
}

/// True when a rule has several left sides.
static bool is_multiple(const eg_rule *rule) {
  return rule->root_count > 1 || is_joined(rule);
}

enum { MATCH_SIDE, MATCH_DEPTH, MATCH_WORDS }; // first words of a match

static uint32_t match_words(void *self, uint32_t rule) {
  const tensor_rules *all = self;
  return MATCH_WORDS + all->sides[rule].match_words;
}

/// True when the rule's conditions read the nodes of a class: then a new node of an
/// operand makes no match fresh.
static bool needs_all(void *self, uint32_t index) {
  const tensor_rules *all = self;
  const eg_rule *rule = eg_rules_at(all->rules, index);
  if (is_joined(rule)) return true;
  for (uint32_t i = 0; i < rule->expr_count; i++)
    if (rule->exprs[i].form == EG_RULE_EXPR_CALL &&
        (rule->exprs[i].function == EG_RULE_FN_IS_CONCAT ||
         rule->exprs[i].function == EG_RULE_FN_IS_CONV))
      return true;
  return false;
}

static uint32_t count_operators(const eg_rule *rule, uint32_t first, uint32_t end) {
  uint32_t count = 0;
  for (uint32_t i = first; i < end; i++)
    count += !rule->terms[i].is_var;
  return count;
}

/// False for rules that join matches: they join in several ways, and some joins do not
/// shrink terms.
static bool shrinks(void *self, uint32_t index) {
  const tensor_rules *all = self;
  const eg_rule_sides *sides = &all->sides[index];
  for (uint32_t i = 0; i < sides->list.len; i++) {
    const eg_rule *rule = sides->list.data[i].rule;
    uint32_t left = count_operators(rule, 0, rule->pattern_term_count);
    uint32_t right = count_operators(rule, rule->pattern_term_count, rule->term_count);
    if (is_multiple(rule) || right >= left) return false;
  }
  return true;
}

static size_t bytes_held(void *self) {
  const tensor_rules *all = self;
  return eg_tensor_egraph_bytes(all->egraph) + all->arena.bytes +
         (EG_DRIVER_LANES + 1) * sizeof(eg_rule_scratch) +
         eg_rule_cases_bytes(all->cases) + eg_rule_join_bytes(&all->join) +
         all->depths.cap * sizeof *all->depths.data;
}

static eg_rule_env env_of(const tensor_rules *all, const eg_rule *rule,
                          const context *c) {
  return (eg_rule_env){
      .egraph = all->egraph, .rule = rule, .vars = c->vars, .scratch = c->scratch};
}

// ---- room for rules ---------------------------------------------------------------

static egraph_status prepare_context(tensor_rules *all, context *c) {
  eg_arena *arena = &all->arena;
  EG_TRY(eg_arena_alloc(arena, all->var_cap, sizeof *c->vars, &c->vars));
  EG_TRY(eg_arena_alloc(arena, all->step_cap, sizeof *c->marks, &c->marks));
  if (c->scratch != NULL) return EGRAPH_OK;
  // The scratch is large, and most contexts hardly use it, so it is not cleared.
  EG_TRY(eg_resize(all->alloc, 0, 1, sizeof *c->scratch, &c->scratch));
  c->scratch->int_count = c->scratch->value_count = 0;
  return EGRAPH_OK;
}

/// Makes the working memory of all searches large enough for every rule.
static egraph_status grow_contexts(tensor_rules *all) {
  for (uint32_t i = 0; i < EG_DRIVER_LANES; i++)
    EG_TRY(prepare_context(all, &all->lanes[i]));
  return prepare_context(all, &all->applying);
}

/// Reserves working memory for building the right side of a rule.
static egraph_status reserve_case(tensor_rules *all, const eg_rule *rule) {
  EG_TRY(eg_rule_builder_reserve(&all->builder, rule));
  if (rule->var_count <= all->var_cap) return EGRAPH_OK;
  all->var_cap = 2 * rule->var_count;
  return grow_contexts(all);
}

/// Reserves working memory for searching a left side; call grow_contexts afterwards.
static egraph_status reserve_side(tensor_rules *all, const eg_rule_side *side) {
  uint32_t steps = side->checks.step_count + 1;
  if (steps > all->step_cap) all->step_cap = steps;
  if (side->rule->var_count > all->var_cap) all->var_cap = side->rule->var_count;
  return eg_rule_builder_reserve(&all->builder, side->rule);
}

static egraph_status matchers_of(void *self, uint32_t rule,
                                 const eg_matcher *const **out_matchers,
                                 uint32_t *out_count) {
  tensor_rules *all = self;
  eg_rule_sides *sides = &all->sides[rule];
  const eg_rule_schema *schema = eg_rules_at(all->rules, rule)->schema;
  if (schema != NULL && all->is_on[rule]) {
    size_t before = sides->list.len;
    EG_TRY(eg_rule_sides_extend(sides, all->cases, schema, rule, &all->census,
                                all->egraph, &all->arena));
    uint32_t vars = all->var_cap, steps = all->step_cap;
    for (size_t i = before; i < sides->list.len; i++)
      EG_TRY(reserve_side(all, &sides->list.data[i]));
    if (vars != all->var_cap || steps != all->step_cap) EG_TRY(grow_contexts(all));
  }
  *out_matchers = sides->matchers.data;
  *out_count = (uint32_t)sides->matchers.len;
  return EGRAPH_OK;
}

// ---- search ---------------------------------------------------------------------

/// Decides a guard of the pattern: literal attributes of one term.
static bool accept_guard(void *user, uint32_t guard, uint32_t op, uint32_t payload) {
  const context *c = user;
  const eg_rule_slot *slots = c->rule->terms[guard].slots;
  const eg_attrs *attrs = eg_tensor_egraph_attrs_at(c->all->egraph, payload);
  (void)op;
  for (uint16_t i = 0; i < attrs->count; i++)
    if (slots[i].form == EG_RULE_SLOT_LITERAL &&
        !eg_rule_literal_fits(&slots[i].literal, &attrs->slots[i]))
      return false;
  return true;
}

static uint32_t depth_of_node(const tensor_rules *all, uint32_t node) {
  return node < all->depths.len ? all->depths.data[node] : 0;
}

static uint32_t depth_of(const context *c, const eg_match *match) {
  uint32_t depth = 0;
  for (uint32_t i = 0; i < c->rule->pattern_term_count; i++) {
    uint32_t own = depth_of_node(c->all, match->nodes[i].id); // 0 for variables
    if (own > depth) depth = own;
  }
  return depth;
}

/// True when the left side has the term of this step as an operand of another term, and
/// `node`, which matches the term, is in a sealed class: rules may match a sealed class
/// only as a root (eg_tensor_egraph_seal).
static bool is_hidden(const context *c, uint32_t step, uint32_t node) {
  const eg_tensor_egraph *egraph = c->all->egraph;
  if (!c->checks->steps[step].is_below) return false;
  eg_class class =
      eg_engine_class_of(eg_tensor_egraph_engine_of(egraph), (eg_node){.id = node});
  return eg_tensor_egraph_fact(egraph, class)->is_sealed;
}

/// When the operands of a sequence have several matching nodes each, the number of
/// matches is the product of their numbers: at most this many are tried from each
/// first node.
enum { MOST_WAYS = 256 };

static bool is_candidate_possible(void *user, uint32_t step, const eg_match *so_far) {
  context *c = user;
  if (step == 0) c->ways = 0;
  bool has_sequence = c->rule->schema != NULL && c->rule->schema->sequence_count != 0;
  if (has_sequence && ++c->ways > MOST_WAYS) return false;
  eg_rule_env env = env_of(c->all, c->rule, c);
  uint32_t node = so_far->nodes[c->checks->steps[step].term].id;
  if (is_hidden(c, step, node)) return false;
  bool is_deep = c->lane != NULL && is_multiple(c->rule) &&
                 depth_of_node(c->all, node) >= c->all->options->multi_depth;
  if (is_deep)
    c->is_depth_bound = true;
  else if (eg_rule_steps_pass(c->checks, &env, c->marks, step, so_far))
    return true;
  if (c->lane != NULL) eg_lane_reject(c->lane);
  return false;
}

static egraph_status on_match(void *user, const eg_match *match, bool *out_pause) {
  const context *c = user;
  uint32_t *words;
  EG_TRY(eg_lane_take(c->lane, match, &words, out_pause));
  words[MATCH_SIDE] = c->side;
  words[MATCH_DEPTH] = depth_of(c, match) + is_multiple(c->rule);
  eg_rule_match_pack(c->rule, match, keeps_all(c->all), words + MATCH_WORDS);
  return EGRAPH_OK;
}

/// Prepares working memory (a context) to search a left side.
static void start_context(tensor_rules *all, uint32_t rule, uint32_t side, eg_lane *lane,
                          context *c) {
  assert(rule < all->count && side < all->sides[rule].list.len);
  const eg_rule_side *searched = &all->sides[rule].list.data[side];
  c->all = all;
  c->rule = searched->rule;
  c->checks = &searched->checks;
  c->side = side;
  c->lane = lane;
  c->marks[0] = 0;
}

static void start_search(void *self, uint32_t rule, uint32_t side, uint32_t number,
                         eg_lane *lane, eg_search *out) {
  tensor_rules *all = self;
  context *c = &all->lanes[number];
  start_context(all, rule, side, lane, c);
  out->accept = accept_guard;
  out->on_match = on_match;
  out->is_possible = is_candidate_possible;
  out->user = c;
}

// ---- apply ----------------------------------------------------------------------

static egraph_status unsound(const tensor_rules *all, const eg_rule *rule,
                             const eg_tensor_fact *left, const eg_tensor_fact *right) {
  EG_LOCAL(eg_text, text, all->alloc);
  eg_tensor_fact_print(&text, left);
  eg_text_append(&text, " with ");
  EG_TRY(eg_tensor_fact_print(&text, right));
  return EG_FAIL(EGRAPH_E_TYPE,
                 "%s:%u: rule %s is unsound: it would unite %s; add a condition that "
                 "excludes this",
                 rule->file, rule->line, rule->name, eg_text_of(&text));
}

static bool is_open_fact(const eg_tensor_fact *fact) {
  return fact->part_count == 0 && eg_type_is_open(&fact->type);
}

/// Checks that matched classes and right sides have one type. *out_ok is false when open
/// sizes differ as expressions: they may be equal at all sizes, but no proof was found.
static egraph_status check_root_types(const tensor_rules *all, const eg_rule *rule,
                                      const uint32_t *match, bool *out_ok) {
  for (uint32_t i = 0; i < rule->root_count; i++) {
    const eg_tensor_fact *left =
        eg_tensor_egraph_fact(all->egraph, eg_rule_match_root(rule, match, i));
    const eg_tensor_fact *right = all->builder.terms[rule->rhs[i].term].fact;
    if (eg_tensor_fact_same_type(left, right)) continue;
    if (!is_open_fact(left) && !is_open_fact(right))
      return unsound(all, rule, left, right);
    *out_ok = false;
  }
  return EGRAPH_OK;
}

static egraph_status unite_roots(tensor_rules *all, const eg_rule *rule, uint32_t index,
                                 const uint32_t *match, uint32_t *out_unions) {
  eg_engine *engine = eg_tensor_egraph_engine(all->egraph);
  for (uint32_t i = 0; i < rule->root_count; i++) {
    bool changed;
    egraph_status status =
        eg_engine_unite(engine, eg_rule_match_root(rule, match, i),
                        all->builder.terms[rule->rhs[i].term].class, index, &changed);
    if (status == EGRAPH_E_TYPE)
      return eg_fail_context(status, "%s:%u: rule %s", rule->file, rule->line,
                             rule->name);
    EG_TRY(status);
    *out_unions += changed;
  }
  return EGRAPH_OK;
}

/// Unites matched classes with right sides; notes the rewrite unless nothing changed.
static egraph_status unite_noted(tensor_rules *all, const eg_rule *rule, uint32_t index,
                                 const uint32_t *match, uint32_t *inout_unions) {
  eg_engine *engine = eg_tensor_egraph_engine(all->egraph);
  const uint32_t *nodes = match + rule->pattern_var_count + rule->root_count;
  uint32_t unions = *inout_unions;
  eg_tensor_rewrite rewrite = {.rule = index, .classes = match};
  EG_TRY(eg_u32s_resize(&all->note, rule->term_count));
  rewrite.payloads = all->note.data;
  for (uint32_t i = 0; i < rule->term_count; i++) {
    if (rule->terms[i].is_var) continue;
    all->note.data[i] = i < rule->pattern_term_count
                            ? eg_engine_term(engine, (eg_node){*nodes++}).payload
                            : all->builder.terms[i].payload;
  }
  size_t words;
  EG_TRY(eg_tensor_rewrite_note(all->egraph, rule, &rewrite, &words));
  EG_TRY(unite_roots(all, rule, index, match, inout_unions));
  if (*inout_unions == unions) eg_engine_forget_notes(engine, words);
  return EGRAPH_OK;
}

// Gives nodes from `first` on the depth of the match that added them. Nodes past the end
// of the list have depth 0.
static egraph_status note_depths(tensor_rules *all, uint32_t first, uint32_t depth) {
  uint32_t limit = eg_engine_node_limit(eg_tensor_egraph_engine(all->egraph));
  if (depth == 0 || first == limit) return EGRAPH_OK;
  EG_TRY(eg_u32s_resize(&all->depths, limit));
  for (uint32_t i = first; i < limit; i++)
    all->depths.data[i] = depth;
  return EGRAPH_OK;
}

typedef enum apply_outcome {
  APPLIED, // or there was nothing to do
  REJECTED,
  NO_ROOM // the match would exceed max_new_nodes; nothing was added
} apply_outcome;

/// Plans the right side of a match. *out_ok is false when the match no longer fits.
static egraph_status plan_match(tensor_rules *all, const eg_rule *rule,
                                const uint32_t *match, bool *out_ok,
                                uint32_t *out_missing) {
  eg_rule_env env = env_of(all, rule, &all->applying);
  *out_missing = 0;
  *out_ok = eg_rule_match_bind(&env, match);
  if (*out_ok)
    EG_TRY(eg_rule_plan(&all->builder, &env, all->egraph, rule->pattern_term_count,
                        rule->term_count, out_ok, out_missing));
  return *out_ok ? check_root_types(all, rule, match, out_ok) : EGRAPH_OK;
}

/// Applies a match of `rule`, which is rule number `index` or its case.
static egraph_status apply_match(tensor_rules *all, uint32_t index, const eg_rule *rule,
                                 uint32_t depth, const uint32_t *match,
                                 uint32_t max_new_nodes, uint32_t *inout_unions,
                                 apply_outcome *out) {
  bool ok;
  uint32_t missing;
  EG_TRY(plan_match(all, rule, match, &ok, &missing));
  *out = ok ? NO_ROOM : REJECTED;
  if (!ok || missing > max_new_nodes) return EGRAPH_OK;
  *out = APPLIED;
  uint32_t first_new = eg_engine_node_limit(eg_tensor_egraph_engine(all->egraph));
  EG_TRY(eg_rule_commit(&all->builder, rule, all->egraph, rule->pattern_term_count,
                        rule->term_count, index));
  EG_TRY(note_depths(all, first_new, depth));
  if (!keeps_all(all)) return unite_roots(all, rule, index, match, inout_unions);
  return unite_noted(all, rule, index, match, inout_unions);
}

static egraph_status apply_matches(void *self, uint32_t rule, const uint32_t *matches,
                                   uint32_t count, uint32_t max_new_nodes,
                                   eg_apply_result *out) {
  tensor_rules *all = self;
  const eg_engine *engine = eg_tensor_egraph_engine(all->egraph);
  uint32_t before = eg_engine_node_count(engine), words = match_words(self, rule);
  for (; out->applied < count; out->applied++) {
    uint32_t added = eg_engine_node_count(engine) - before;
    const uint32_t *match = matches + (size_t)out->applied * words;
    assert(match[MATCH_SIDE] < all->sides[rule].list.len);
    const eg_rule *side = all->sides[rule].list.data[match[MATCH_SIDE]].rule;
    if (is_joined(side)) {
      EG_TRY(eg_rule_join_add(&all->join, side, match[MATCH_DEPTH], match + MATCH_WORDS,
                              eg_rule_match_words(side, keeps_all(all))));
      out->held++;
      continue;
    }
    apply_outcome outcome;
    EG_TRY(apply_match(all, rule, side, match[MATCH_DEPTH], match + MATCH_WORDS,
                       max_new_nodes - added, &out->unions, &outcome));
    out->rejected += outcome == REJECTED;
    if (outcome == NO_ROOM) return EGRAPH_OK;
  }
  return EGRAPH_OK;
}

// ---- left sides that are joined ----------------------------------------------------

/// The state of applying joined matches of a rule.
typedef struct joining {
  tensor_rules *all;
  uint32_t rule, first_count, max_new_nodes;
  eg_apply_result *result;
  bool fits;
} joining;

static egraph_status apply_joined(void *user, const eg_rule *rule, uint32_t depth,
                                  const uint32_t *match, bool *out_stop) {
  joining *j = user;
  const eg_engine *engine = eg_tensor_egraph_engine(j->all->egraph);
  uint32_t added = eg_engine_node_count(engine) - j->first_count;
  apply_outcome outcome;
  EG_TRY(reserve_case(j->all, rule));
  EG_TRY(apply_match(j->all, j->rule, rule, depth, match, j->max_new_nodes - added,
                     &j->result->unions, &outcome));
  j->result->applied++;
  j->result->rejected += outcome == REJECTED;
  j->fits = outcome != NO_ROOM;
  *out_stop = !j->fits;
  return EGRAPH_OK;
}

/// Calls `take` for each set of matches of a rule that can be joined.
static egraph_status join_all(tensor_rules *all, uint32_t rule, eg_rule_joined *take,
                              void *user) {
  const eg_rule_joining how = {.egraph = all->egraph,
                               .cases = all->cases,
                               .rule = rule,
                               .scratch = all->applying.scratch,
                               .take = take,
                               .user = user};
  return eg_rule_join_all(&all->join, &how);
}

static egraph_status finish_joins(void *self, uint32_t rule, uint32_t max_new_nodes,
                                  eg_apply_result *out, bool *out_fits) {
  tensor_rules *all = self;
  joining j = {.all = all,
               .rule = rule,
               .first_count = eg_engine_node_count(eg_tensor_egraph_engine(all->egraph)),
               .max_new_nodes = max_new_nodes,
               .result = out,
               .fits = true};
  *out_fits = true;
  if (!is_joined(eg_rules_at(all->rules, rule))) return EGRAPH_OK;
  EG_TRY(join_all(all, rule, apply_joined, &j));
  out->looked_at = all->join.looked_at;
  *out_fits = j.fits;
  return EGRAPH_OK;
}

// ---- matches beyond the depth limit ----------------------------------------------

enum { DEEP_MATCHES = 1 << 16 }; // most matches tried

/// A search for a match that would change the e-graph if the depth had no limit.
typedef struct deep_search {
  context *context;
  tensor_rules *all;
  eg_u32s packed; // the current match
  uint32_t tried;
  bool found;
} deep_search;
EG_OWNER_DEFINE_STATIC(deep_search, (eg_u32s, packed))

/// Packs a match into *out; for a rule that joins its matches, also adds it to these.
static egraph_status take_match(tensor_rules *all, const eg_rule *rule, uint32_t depth,
                                const eg_match *match, eg_u32s *out) {
  EG_TRY(eg_u32s_resize(out, eg_rule_match_words(rule, keeps_all(all))));
  eg_rule_match_pack(rule, match, keeps_all(all), out->data);
  if (!is_joined(rule)) return EGRAPH_OK;
  return eg_rule_join_add(&all->join, rule, depth, out->data, (uint32_t)out->len);
}

static bool adds_nothing(tensor_rules *all, const eg_rule *rule, const uint32_t *match) {
  const eg_engine *engine = eg_tensor_egraph_engine(all->egraph);
  for (uint32_t i = 0; i < rule->root_count; i++) {
    eg_class right = all->builder.terms[rule->rhs[i].term].class;
    eg_class left = eg_rule_match_root(rule, match, i);
    if (eg_engine_find(engine, left).id != eg_engine_find(engine, right).id) return false;
  }
  return true;
}

/// Checks if a match would change the e-graph; too many tries count as a change.
static egraph_status try_match(deep_search *s, const eg_rule *rule,
                               const uint32_t *match) {
  bool ok;
  uint32_t missing;
  EG_TRY(plan_match(s->all, rule, match, &ok, &missing));
  s->found = (ok && (missing != 0 || !adds_nothing(s->all, rule, match))) ||
             ++s->tried == DEEP_MATCHES;
  return EGRAPH_OK;
}

static egraph_status on_deep_joined(void *user, const eg_rule *rule, uint32_t depth,
                                    const uint32_t *match, bool *out_stop) {
  deep_search *s = user;
  if (depth < s->all->options->multi_depth) return EGRAPH_OK;
  EG_TRY(reserve_case(s->all, rule));
  EG_TRY(try_match(s, rule, match));
  *out_stop = s->found;
  return EGRAPH_OK;
}

static egraph_status on_deep_match(void *user, const eg_match *match, bool *out_pause) {
  const context *c = user;
  deep_search *s = c->user;
  uint32_t depth = depth_of(c, match);
  if (!is_joined(c->rule) && depth < s->all->options->multi_depth) return EGRAPH_OK;
  EG_TRY(take_match(s->all, c->rule, depth, match, &s->packed));
  if (is_joined(c->rule)) return EGRAPH_OK;
  EG_TRY(try_match(s, c->rule, s->packed.data));
  *out_pause = s->found;
  return EGRAPH_OK;
}

static bool is_depth_bound(const tensor_rules *all) {
  for (uint32_t i = 0; i < EG_DRIVER_LANES; i++)
    if (all->lanes[i].is_depth_bound) return true;
  return false;
}

static egraph_status look_deeper_by(deep_search *s, uint32_t rule,
                                    const eg_search *search) {
  tensor_rules *all = s->all;
  const eg_rule_sides *sides = &all->sides[rule];
  for (uint32_t side = 0; side < sides->list.len && !s->found; side++) {
    start_context(all, rule, side, NULL, s->context);
    EG_TRY(eg_matcher_search(sides->matchers.data[side],
                             eg_tensor_egraph_engine(all->egraph), search));
  }
  if (!is_joined(eg_rules_at(all->rules, rule))) return EGRAPH_OK;
  return join_all(all, rule, on_deep_joined, s);
}

/// Checks if rules with several left sides would change the saturated e-graph without the
/// limit of depth. *out_found is also true when there are too many matches to try.
static egraph_status look_deeper(tensor_rules *all, bool *out_found) {
  EG_LOCAL_WITH(deep_search, s, all->alloc, .context = &all->lanes[0], .all = all);
  s.context->user = &s;
  const eg_search search = {.accept = accept_guard,
                            .on_match = on_deep_match,
                            .is_possible = is_candidate_possible,
                            .user = s.context};
  for (uint32_t i = 0; i < all->count && !s.found; i++)
    if (all->is_on[i] && is_multiple(eg_rules_at(all->rules, i)))
      EG_TRY(look_deeper_by(&s, i, &search));
  *out_found = s.found;
  return EGRAPH_OK;
}

// ---- set-up ---------------------------------------------------------------------

static egraph_status prepare_rules(tensor_rules *all) {
  const eg_saturation_options *options = all->options;
  bool keeps = all->egraph != NULL && keeps_all(all); // a rewriter packs without a driver
  all->cases = options->cases;
  if (all->cases == NULL)
    EG_TRY(eg_rule_cases_create(all->alloc, all->rules, &all->cases));
  EG_TRY(eg_alloc(all->alloc, all->count, sizeof *all->sides, &all->sides));
  for (uint32_t i = 0; i < all->count; i++)
    eg_rule_sides_init(&all->sides[i], all->alloc);
  EG_TRY(eg_arena_alloc(&all->arena, all->count, sizeof *all->is_on, &all->is_on));
  for (uint32_t i = 0; i < all->count; i++) {
    const eg_rule *rule = eg_rules_at(all->rules, i);
    all->is_on[i] =
        rule->enabled && rule->math <= options->math &&
        (options->use_rule == NULL || options->use_rule(options->use_rule_user, i));
    if (!all->is_on[i] || rule->schema != NULL) continue;
    EG_TRY(eg_rule_sides_add(&all->sides[i], rule, keeps, &all->arena));
    EG_TRY(reserve_side(all, &all->sides[i].list.data[0]));
  }
  EG_TRY(grow_contexts(all));
  return EGRAPH_OK;
}

static void tensor_rules_deinit(tensor_rules *all) {
  for (uint32_t i = 0; i < EG_DRIVER_LANES; i++)
    eg_free(all->alloc, all->lanes[i].scratch, 1, sizeof *all->lanes[i].scratch);
  eg_free(all->alloc, all->applying.scratch, 1, sizeof *all->applying.scratch);
  for (uint32_t i = 0; all->sides != NULL && i < all->count; i++)
    eg_rule_sides_deinit(&all->sides[i]);
  eg_free(all->alloc, all->sides, all->count, sizeof *all->sides);
  if (all->options->cases == NULL) eg_rule_cases_destroy(all->cases);
  EG_DEINIT_MEMBERS(all, OWNED);
}

egraph_status eg_saturate(eg_tensor_egraph *egraph, const eg_rules *rules,
                          const eg_saturation_options *options,
                          eg_saturation_report *out_report) {
  egraph_allocator heap = eg_tensor_egraph_allocator(egraph);
  *out_report = (eg_saturation_report){.alloc = heap};
  EG_OWNED(tensor_rules, all);
  all = (tensor_rules){.alloc = heap,
                       .egraph = egraph,
                       .rules = rules,
                       .options = options,
                       .count = eg_rules_count(rules)};
  EG_INIT_MEMBERS(&all, heap, OWNED);
  eg_driver_rules driver_rules = {.self = &all,
                                  .count = all.count,
                                  .matchers = matchers_of,
                                  .match_words = match_words,
                                  .needs_all = needs_all,
                                  .shrinks = shrinks,
                                  .search = start_search,
                                  .apply = apply_matches,
                                  .finish = finish_joins,
                                  .bytes = bytes_held};
  EG_TRY(prepare_rules(&all));
  EG_TRY(eg_driver_run(&heap, eg_tensor_egraph_engine(egraph), &driver_rules, options,
                       out_report));
  bool is_deeper = false;
  if (out_report->stop == EG_STOP_SATURATED && is_depth_bound(&all))
    EG_TRY(look_deeper(&all, &is_deeper));
  if (is_deeper) out_report->stop = EG_STOP_DEPTH_LIMIT;
  return EGRAPH_OK;
}

// ---- one rewrite at a time --------------------------------------------------------

struct eg_rewriter {
  tensor_rules all;
  eg_saturation_options options;
  eg_u32s packed;   // the current match
  eg_classes roots; // its classes
  uint32_t rule;    // number of the current rule
  bool is_stopped;  // the visitor has stopped
  eg_rewrite_visitor visitor;
};

egraph_status eg_rewriter_create(egraph_allocator alloc, const eg_rules *rules,
                                 egraph_math math, eg_rewriter **out) {
  EG_HELD(eg_rewriter, r);
  EG_TRY(eg_alloc(alloc, 1, sizeof *r, &r));
  r->options = (eg_saturation_options)EG_SATURATION_OPTIONS_DEFAULT;
  r->options.math = math;
  r->all = (tensor_rules){.alloc = alloc,
                          .rules = rules,
                          .options = &r->options,
                          .count = eg_rules_count(rules)};
  EG_INIT_MEMBERS(&r->all, alloc, OWNED);
  eg_u32s_init(&r->packed, alloc);
  eg_classes_init(&r->roots, alloc);
  EG_HAND_OVER(prepare_rules(&r->all), r, out);
}

void eg_rewriter_destroy(eg_rewriter *rewriter) {
  if (rewriter == NULL) return;
  egraph_allocator alloc = rewriter->all.alloc;
  eg_u32s_deinit(&rewriter->packed);
  eg_classes_deinit(&rewriter->roots);
  tensor_rules_deinit(&rewriter->all);
  eg_free(alloc, rewriter, 1, sizeof *rewriter);
}

static bool is_rewrite_possible(void *user, uint32_t step, const eg_match *so_far) {
  const context *c = user;
  eg_rewriter *r = c->user;
  bool is_possible = is_candidate_possible(user, step, so_far);
  if (r->visitor.stats != NULL) r->visitor.stats[r->rule].rejected += !is_possible;
  *r->visitor.looked_at += 1;
  return is_possible;
}

static egraph_status visit_rewrite(eg_rewriter *r, const eg_rule *rule,
                                   const uint32_t *match, bool *out_pause) {
  tensor_rules *all = &r->all;
  bool ok;
  uint32_t missing;
  EG_TRY(plan_match(all, rule, match, &ok, &missing));
  if (r->visitor.stats != NULL) {
    r->visitor.stats[r->rule].matches++;
    r->visitor.stats[r->rule].rejected += !ok;
  }
  if (!ok) return EGRAPH_OK;
  EG_TRY(eg_classes_resize(&r->roots, rule->root_count));
  for (uint32_t i = 0; i < rule->root_count; i++)
    r->roots.data[i] = eg_rule_match_root(rule, match, i);
  const eg_rewrite rewrite = {.number = r->rule,
                              .rule = rule,
                              .roots = r->roots.data,
                              .vars = all->applying.vars,
                              .terms = all->builder.terms,
                              .alias = all->builder.alias};
  return r->visitor.visit(r->visitor.user, &rewrite, out_pause);
}

static egraph_status on_joined_rewrite(void *user, const eg_rule *rule, uint32_t depth,
                                       const uint32_t *match, bool *out_stop) {
  eg_rewriter *r = user;
  (void)depth;
  EG_TRY(reserve_case(&r->all, rule));
  return visit_rewrite(r, rule, match, out_stop);
}

static egraph_status on_rewrite(void *user, const eg_match *match, bool *out_pause) {
  const context *c = user;
  eg_rewriter *r = c->user;
  EG_TRY(take_match(&r->all, c->rule, 0, match, &r->packed));
  if (is_joined(c->rule)) return EGRAPH_OK;
  EG_TRY(visit_rewrite(r, c->rule, r->packed.data, out_pause));
  r->is_stopped = *out_pause;
  return EGRAPH_OK;
}

egraph_status eg_rewriter_visit(eg_rewriter *rewriter, eg_tensor_egraph *egraph,
                                uint32_t rule, const eg_rewrite_visitor *visitor) {
  tensor_rules *all = &rewriter->all;
  const eg_matcher *const *matchers;
  uint32_t count;
  assert(rule < all->count);
  assert(eg_engine_is_clean(eg_tensor_egraph_engine(egraph)));
  all->egraph = egraph;
  eg_rule_census_forget(&all->census); // the next e-graph may be another one
  rewriter->rule = rule;
  rewriter->visitor = *visitor;
  rewriter->is_stopped = false;
  EG_TRY(matchers_of(all, rule, &matchers, &count));
  all->lanes[0].user = rewriter;
  const eg_search search = {.accept = accept_guard,
                            .on_match = on_rewrite,
                            .is_possible = is_rewrite_possible,
                            .user = &all->lanes[0]};
  for (uint32_t side = 0; side < count && !rewriter->is_stopped; side++) {
    start_context(all, rule, side, NULL, &all->lanes[0]);
    EG_TRY(eg_matcher_search(matchers[side], eg_tensor_egraph_engine(egraph), &search));
  }
  if (count == 0 || !is_joined(eg_rules_at(all->rules, rule))) return EGRAPH_OK;
  return join_all(all, rule, on_joined_rewrite, rewriter);
}
