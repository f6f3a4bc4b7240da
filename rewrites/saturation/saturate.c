// Tensor rules under the saturation loop. Left sides become patterns of the engine, which
// matches modulo equality; attributes, types and conditions are checked here.
//
// A match is kept as a few words: the classes of the class variables, the classes of the
// roots, and the nodes whose attributes or class the rule names. Values are read again
// from the nodes when the match is applied.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/saturate.h"

#include "egraph/pattern.h"
#include "rewrites/saturation/driver.h"
#include "rewrites/saturation/rule_build.h"
#include "rewrites/saturation/rule_checks.h"
#include "rewrites/saturation/rule_eval.h"
#include "rewrites/saturation/tensor_explain.h"

// ---- left sides --------------------------------------------------------------

static bool has_guard(const eg_rule_term *term) {
  uint16_t count = eg_op_info_of(term->op)->attr_count;
  for (uint16_t i = 0; i < count; i++)
    if (term->slots[i].form == EG_RULE_SLOT_LITERAL) return true;
  return false;
}

// True when a kept match must say which node this term matched; of explained e-graphs
// all nodes are kept, because a node's attributes need not be those of the pattern.
static bool is_kept(const eg_rule_term *term, bool keeps_all) {
  if (term->is_var) return false;
  if (keeps_all) return true;
  if (term->var != EG_RULE_NONE) return true;
  uint16_t count = eg_op_info_of(term->op)->attr_count;
  for (uint16_t i = 0; i < count; i++)
    if (term->slots[i].form == EG_RULE_SLOT_VAR ||
        term->slots[i].form == EG_RULE_SLOT_EXPR)
      return true;
  return false;
}

// ---- patterns -------------------------------------------------------------------

// Where the name of a sub-pattern occurs again, the pattern shares that sub-pattern.
static uint32_t named_term(const eg_rule *rule, uint32_t index) {
  const eg_rule_term *term = &rule->terms[index];
  if (!term->is_var || rule->vars[term->var].origin != EG_RULE_VAR_AS) return index;
  for (uint32_t i = 0; i < index; i++)
    if (!rule->terms[i].is_var && rule->terms[i].var == term->var) return i;
  return index;
}

static void lower_term(const eg_rule *rule, uint32_t index, eg_pattern_term *out,
                       uint32_t *children, uint32_t *inout_child_count) {
  const eg_rule_term *term = &rule->terms[index];
  if (term->is_var) {
    // A name has no variable; its own term is shared instead, and this
    // one is not reached.
    uint32_t var = rule->vars[term->var].pattern_var;
    *out =
        (eg_pattern_term){.kind = EG_PATTERN_VAR, .var = var == EG_RULE_NONE ? 0 : var};
    return;
  }
  *out = (eg_pattern_term){.kind = EG_PATTERN_NODE,
                           .op = term->op,
                           .guard = has_guard(term) ? index : EG_PATTERN_ANY_PAYLOAD,
                           .arity = term->child_count,
                           .children = *inout_child_count};
  for (uint32_t i = 0; i < term->child_count; i++)
    children[(*inout_child_count)++] = named_term(rule, term->children[i]);
}

// The pattern of a left side; its arrays come from the arena. Guards are term indices.
static egraph_status pattern_of_rule(const eg_rule *rule, eg_arena *arena,
                                     eg_pattern *out) {
  uint32_t child_count = 0, count = rule->pattern_term_count;
  for (uint32_t i = 0; i < count; i++)
    child_count += rule->terms[i].child_count;
  eg_pattern_term *terms;
  uint32_t *children, *roots, filled = 0;
  EG_TRY(eg_arena_alloc(arena, count, sizeof *terms, &terms));
  EG_TRY(eg_arena_alloc(arena, child_count, sizeof *children, &children));
  EG_TRY(eg_arena_alloc(arena, rule->root_count, sizeof *roots, &roots));
  for (uint32_t i = 0; i < count; i++)
    lower_term(rule, i, &terms[i], children, &filled);
  for (uint32_t i = 0; i < rule->root_count; i++)
    roots[i] = rule->lhs[i].term;
  *out = (eg_pattern){.terms = terms,
                      .term_count = count,
                      .children = children,
                      .child_count = child_count,
                      .roots = roots,
                      .root_count = rule->root_count,
                      .var_count = rule->pattern_var_count};
  return EGRAPH_OK;
}

static bool literal_fits(const eg_attr *wanted, const eg_attr *found) {
  if (wanted->kind == EG_ATTR_FLOAT)
    return eg_rule_close(wanted->f, found->f, EG_RULE_NUMBERS);
  return eg_attr_same(wanted, found);
}

// Decides a guard: literal attributes of one term.
static bool accepts_match(const eg_rule *rule, uint32_t guard, const eg_attrs *attrs) {
  const eg_rule_slot *slots = rule->terms[guard].slots;
  for (uint16_t i = 0; i < attrs->count; i++)
    if (slots[i].form == EG_RULE_SLOT_LITERAL &&
        !literal_fits(&slots[i].literal, &attrs->slots[i]))
      return false;
  return true;
}

// ---- kept matches ---------------------------------------------------------------

// Words of a kept match, at most pattern_var_count + root_count + pattern_term_count.
static uint32_t match_words_of(const eg_rule *rule, bool keeps_all) {
  uint32_t words = rule->pattern_var_count + rule->root_count;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++)
    words += is_kept(&rule->terms[i], keeps_all);
  return words;
}

static void pack_match(const eg_rule *rule, const eg_match *match, bool keeps_all,
                       uint32_t *out_words) {
  for (uint32_t i = 0; i < rule->pattern_var_count; i++)
    *out_words++ = match->vars[i].id;
  for (uint32_t i = 0; i < rule->root_count; i++)
    *out_words++ = match->roots[i].id;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++)
    if (is_kept(&rule->terms[i], keeps_all)) *out_words++ = match->nodes[i].id;
}

// The class that root i matched.
static eg_class packed_root(const eg_rule *rule, const uint32_t *words, uint32_t root) {
  return (eg_class){.id = words[rule->pattern_var_count + root]};
}

// ---- binding --------------------------------------------------------------------

// A value variable is bound by the first term that has it; kind TENSOR means that it is
static bool bind_slots(eg_rule_env *env, const eg_rule_term *term,
                       const eg_attrs *attrs) {
  for (uint16_t i = 0; i < attrs->count; i++) {
    const eg_rule_slot *slot = &term->slots[i];
    if (slot->form != EG_RULE_SLOT_VAR) continue;
    eg_rule_value value = eg_rule_value_of_attr(term->op, i, &attrs->slots[i]);
    eg_rule_value *place = &env->vars[slot->index];
    if (place->kind == EG_RULE_TENSOR)
      *place = value;
    else if (!eg_rule_values_identical(place, &value))
      return false;
  }
  return true;
}

static const eg_attrs *attrs_of_node(const eg_rule_env *env, uint32_t node) {
  const eg_engine *engine = eg_tensor_egraph_engine_of(env->egraph);
  eg_term term = eg_engine_term(engine, (eg_node){.id = node});
  return eg_tensor_egraph_attrs_at(env->egraph, term.payload);
}

static bool bind_nodes(eg_rule_env *env, const uint32_t *words) {
  const eg_engine *engine = eg_tensor_egraph_engine_of(env->egraph);
  const eg_rule *rule = env->rule;
  bool keeps_all = eg_tensor_egraph_is_explained(env->egraph);
  for (uint32_t i = 0; i < rule->pattern_term_count; i++) {
    const eg_rule_term *term = &rule->terms[i];
    if (!is_kept(term, keeps_all)) continue;
    uint32_t node = *words++;
    if (term->var != EG_RULE_NONE)
      env->vars[term->var].tensor = eg_engine_class_of(engine, (eg_node){.id = node});
    if (!bind_slots(env, term, attrs_of_node(env, node))) return false;
  }
  return true;
}

// Binds env->vars from a packed match, then the lets that are values. False when the
// match does not fit after all.
static bool bind_match(eg_rule_env *env, const uint32_t *words) {
  const eg_engine *engine = eg_tensor_egraph_engine_of(env->egraph);
  const eg_rule *rule = env->rule;
  env->scratch->int_count = 0;
  env->scratch->value_count = 0;
  for (uint32_t i = 0; i < rule->var_count; i++) {
    env->vars[i] = (eg_rule_value){.kind = EG_RULE_TENSOR};
    env->vars[i].tensor = EG_CLASS_NONE;
    uint32_t place = rule->vars[i].pattern_var;
    if (place != EG_RULE_NONE)
      env->vars[i].tensor = eg_engine_find(engine, (eg_class){.id = words[place]});
  }
  if (!bind_nodes(env, words + rule->pattern_var_count + rule->root_count)) return false;
  for (uint32_t i = 0; i < env->rule->let_count; i++) {
    const eg_rule_let *let = &env->rule->lets[i];
    if (!let->is_term && !eg_rule_eval(env, let->expr, &env->vars[let->var]))
      return false;
  }
  return true;
}

/// What one search works with; applying has its own. Sized for any rule.
typedef struct context {
  eg_rule_value *vars;
  uint32_t *marks;
  eg_rule_scratch *scratch;
  // of the rule that is searched
  const struct tensor_rules *all;
  const eg_rule *rule;
  const eg_rule_checks *checks;
  eg_lane *lane;       // NULL: any depth, for look_deeper
  bool is_depth_bound; // a node was passed over for its depth
} context;

typedef struct tensor_rules {
  egraph_allocator alloc;
  eg_tensor_egraph *egraph;
  const eg_rules *rules;
  const eg_saturation_options *options;
  eg_arena arena;
  eg_matcher **matchers;  // [count], NULL for rules that are off
  eg_rule_checks *checks; // [count]
  uint32_t count;
  context lanes[EG_DRIVER_LANES], applying;
  uint32_t var_cap, step_cap; // most of any rule
  eg_rule_builder builder;
  eg_u32s depths; // of nodes: rules with several left sides that stand behind them
  eg_u32s note;   // of the match at hand, of an explained e-graph
} tensor_rules;

static bool keeps_all(const tensor_rules *all) {
  return eg_tensor_egraph_is_explained(all->egraph);
}

static const eg_matcher *matcher_of(void *self, uint32_t rule) {
  const tensor_rules *all = self;
  return all->matchers[rule];
}

static uint32_t words_of(void *self, uint32_t rule) {
  const tensor_rules *all = self;
  // The first: depth.
  return 1 + match_words_of(eg_rules_at(all->rules, rule), keeps_all(all));
}

// These look at the nodes of a class: a match is not fresh when its operand gains one.
static bool needs_all(void *self, uint32_t index) {
  const tensor_rules *all = self;
  const eg_rule *rule = eg_rules_at(all->rules, index);
  for (uint32_t i = 0; i < rule->expr_count; i++)
    if (rule->exprs[i].form == EG_RULE_EXPR_CALL &&
        (rule->exprs[i].function == EG_RULE_FN_IS_CONCAT ||
         rule->exprs[i].function == EG_RULE_FN_IS_CONV))
      return true;
  return false;
}

static size_t bytes_of(void *self) {
  const tensor_rules *all = self;
  return eg_tensor_egraph_bytes(all->egraph) + all->arena.bytes +
         all->depths.cap * sizeof *all->depths.data;
}

static eg_rule_env env_of(const tensor_rules *all, const eg_rule *rule,
                          const context *c) {
  return (eg_rule_env){
      .egraph = all->egraph, .rule = rule, .vars = c->vars, .scratch = c->scratch};
}

// ---- search ---------------------------------------------------------------------

static bool accept(void *user, uint32_t guard, uint32_t op, uint32_t payload) {
  (void)op;
  const context *c = user;
  return accepts_match(c->rule, guard,
                       eg_tensor_egraph_attrs_at(c->all->egraph, payload));
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

/// Whether a node that stands below a root is of a class that is sealed.
static bool is_hidden(const context *c, uint32_t step, uint32_t node) {
  const eg_tensor_egraph *egraph = c->all->egraph;
  if (!c->checks->steps[step].is_below) return false;
  eg_class class =
      eg_engine_class_of(eg_tensor_egraph_engine_of(egraph), (eg_node){.id = node});
  return eg_tensor_egraph_fact(egraph, class)->is_sealed;
}

static bool is_possible(void *user, uint32_t step, const eg_match *so_far) {
  const context *c = user;
  eg_rule_env env = env_of(c->all, c->rule, c);
  uint32_t node = so_far->nodes[c->checks->steps[step].term].id;
  if (is_hidden(c, step, node)) return false;
  bool is_deep = c->lane != NULL && c->rule->root_count > 1 &&
                 depth_of_node(c->all, node) >= c->all->options->multi_depth;
  if (is_deep)
    ((context *)user)->is_depth_bound = true;
  else if (eg_rule_checks_pass(c->checks, &env, c->marks, step, so_far))
    return true;
  if (c->lane != NULL) eg_lane_reject(c->lane);
  return false;
}

static egraph_status on_match(void *user, const eg_match *match, bool *out_pause) {
  const context *c = user;
  uint32_t *words;
  EG_TRY(eg_lane_take(c->lane, match, &words, out_pause));
  words[0] = depth_of(c, match) + (c->rule->root_count > 1);
  pack_match(c->rule, match, keeps_all(c->all), words + 1);
  return EGRAPH_OK;
}

static void search(void *self, uint32_t rule, uint32_t number, eg_lane *lane,
                   eg_search *out) {
  tensor_rules *all = self;
  context *c = &all->lanes[number];
  c->all = all;
  c->rule = eg_rules_at(all->rules, rule);
  c->checks = &all->checks[rule];
  c->lane = lane;
  c->marks[0] = 0;
  out->accept = accept;
  out->on_match = on_match;
  out->is_possible = is_possible;
  out->user = c;
}

// ---- apply ----------------------------------------------------------------------

static egraph_status unsound(const tensor_rules *all, const eg_rule *rule,
                             const eg_tensor_fact *left, const eg_tensor_fact *right) {
  eg_text text;
  eg_text_init(&text, all->alloc);
  egraph_status status = eg_tensor_fact_print(&text, left);
  if (status == EGRAPH_OK) status = eg_text_append(&text, " with ");
  if (status == EGRAPH_OK) status = eg_tensor_fact_print(&text, right);
  if (status == EGRAPH_OK)
    status = EG_FAIL(EGRAPH_E_TYPE,
                     "%s:%u: rule %s is unsound: it would unite %s; add a condition that "
                     "excludes this",
                     rule->file, rule->line, rule->name, eg_text_of(&text));
  eg_text_deinit(&text);
  return status;
}

static egraph_status check_types(const tensor_rules *all, const eg_rule *rule,
                                 const uint32_t *match) {
  for (uint32_t i = 0; i < rule->root_count; i++) {
    const eg_tensor_fact *left =
        eg_tensor_egraph_fact(all->egraph, packed_root(rule, match, i));
    const eg_tensor_fact *right = all->builder.terms[rule->rhs[i].term].fact;
    if (!eg_tensor_fact_same_type(left, right)) return unsound(all, rule, left, right);
  }
  return EGRAPH_OK;
}

static egraph_status unite_roots(tensor_rules *all, const eg_rule *rule, uint32_t index,
                                 const uint32_t *match, uint32_t *out_unions) {
  eg_engine *engine = eg_tensor_egraph_engine(all->egraph);
  for (uint32_t i = 0; i < rule->root_count; i++) {
    bool changed;
    egraph_status status =
        eg_engine_unite(engine, packed_root(rule, match, i),
                        all->builder.terms[rule->rhs[i].term].class, index, &changed);
    if (status == EGRAPH_E_TYPE)
      return eg_fail_context(status, "%s:%u: rule %s", rule->file, rule->line,
                             rule->name);
    EG_TRY(status);
    *out_unions += changed;
  }
  return EGRAPH_OK;
}

/// What explains the unions of a match (tensor_explain.h), forgotten if there are none.
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

// Nodes from `first` on get the depth of the match that made them. What is past the end
// of the list has depth 0.
static egraph_status note_depths(tensor_rules *all, uint32_t first, uint32_t depth) {
  uint32_t limit = eg_engine_node_limit(eg_tensor_egraph_engine(all->egraph));
  if (depth == 0 || first == limit) return EGRAPH_OK;
  EG_TRY(eg_u32s_resize(&all->depths, limit));
  for (uint32_t i = first; i < limit; i++)
    all->depths.data[i] = depth;
  return EGRAPH_OK;
}

typedef enum apply_outcome {
  APPLIED, // or nothing was to be done
  REJECTED,
  NO_ROOM // it would exceed max_new_nodes; nothing was added
} apply_outcome;

static egraph_status apply_match(tensor_rules *all, uint32_t index,
                                 const uint32_t *packed, uint32_t max_new_nodes,
                                 uint32_t *inout_unions, apply_outcome *out) {
  const eg_rule *rule = eg_rules_at(all->rules, index);
  const uint32_t *match = packed + 1;
  eg_rule_env env = env_of(all, rule, &all->applying);
  bool ok = bind_match(&env, match);
  uint32_t missing = 0, first = rule->pattern_term_count, end = rule->term_count;
  if (ok)
    EG_TRY(eg_rule_plan(&all->builder, &env, all->egraph, first, end, &ok, &missing));
  *out = ok ? NO_ROOM : REJECTED;
  if (!ok || missing > max_new_nodes) return EGRAPH_OK;
  *out = APPLIED;
  EG_TRY(check_types(all, rule, match));
  uint32_t first_new = eg_engine_node_limit(eg_tensor_egraph_engine(all->egraph));
  EG_TRY(eg_rule_commit(&all->builder, rule, all->egraph, first, end, index));
  EG_TRY(note_depths(all, first_new, packed[0]));
  if (!keeps_all(all)) return unite_roots(all, rule, index, match, inout_unions);
  return unite_noted(all, rule, index, match, inout_unions);
}

static egraph_status apply(void *self, uint32_t rule, const uint32_t *matches,
                           uint32_t count, uint32_t max_new_nodes, eg_apply_result *out) {
  tensor_rules *all = self;
  const eg_engine *engine = eg_tensor_egraph_engine(all->egraph);
  uint32_t before = eg_engine_node_count(engine), words = words_of(self, rule);
  for (; out->applied < count; out->applied++) {
    uint32_t added = eg_engine_node_count(engine) - before;
    apply_outcome outcome;
    EG_TRY(apply_match(all, rule, matches + (size_t)out->applied * words,
                       max_new_nodes - added, &out->unions, &outcome));
    out->rejected += outcome == REJECTED;
    if (outcome == NO_ROOM) return EGRAPH_OK;
  }
  return EGRAPH_OK;
}

// ---- what the depth limit left out ----------------------------------------------

enum { DEEP_MATCHES = 1 << 16 }; // are looked at, at most

/// The search for a match that only the depth limit kept from changing the e-graph.
typedef struct deep_search {
  context *context;
  tensor_rules *all;
  eg_u32s packed; // the match at hand
  uint32_t looked_at;
  bool found;
} deep_search;

static bool deep_accept(void *user, uint32_t guard, uint32_t op, uint32_t payload) {
  const deep_search *s = user;
  return accept(s->context, guard, op, payload);
}

static bool deep_is_possible(void *user, uint32_t step, const eg_match *so_far) {
  const deep_search *s = user;
  return is_possible(s->context, step, so_far);
}

static bool adds_nothing(tensor_rules *all, const eg_rule *rule, const uint32_t *match) {
  const eg_engine *engine = eg_tensor_egraph_engine(all->egraph);
  for (uint32_t i = 0; i < rule->root_count; i++) {
    eg_class right = all->builder.terms[rule->rhs[i].term].class;
    eg_class left = packed_root(rule, match, i);
    if (eg_engine_find(engine, left).id != eg_engine_find(engine, right).id) return false;
  }
  return true;
}

static egraph_status on_deep_match(void *user, const eg_match *match, bool *out_pause) {
  deep_search *s = user;
  tensor_rules *all = s->all;
  const eg_rule *rule = s->context->rule;
  if (depth_of(s->context, match) < all->options->multi_depth) return EGRAPH_OK;
  EG_TRY(eg_u32s_resize(&s->packed, match_words_of(rule, keeps_all(all))));
  pack_match(rule, match, keeps_all(all), s->packed.data);
  eg_rule_env env = env_of(all, rule, &all->applying);
  bool ok = bind_match(&env, s->packed.data);
  uint32_t missing = 0;
  if (ok)
    EG_TRY(eg_rule_plan(&all->builder, &env, all->egraph, rule->pattern_term_count,
                        rule->term_count, &ok, &missing));
  s->found = (ok && (missing != 0 || !adds_nothing(all, rule, s->packed.data))) ||
             ++s->looked_at == DEEP_MATCHES;
  *out_pause = s->found;
  return EGRAPH_OK;
}

static bool is_depth_bound(const tensor_rules *all) {
  for (uint32_t i = 0; i < EG_DRIVER_LANES; i++)
    if (all->lanes[i].is_depth_bound) return true;
  return false;
}

/// Whether rules with several left sides would change the saturated e-graph if nothing
/// limited their depth. Taken for true when there is too much to look at.
static egraph_status look_deeper(tensor_rules *all, bool *out_found) {
  deep_search s = {.context = &all->lanes[0], .all = all};
  eg_u32s_init(&s.packed, all->alloc);
  eg_search search = {.accept = deep_accept,
                      .on_match = on_deep_match,
                      .is_possible = deep_is_possible,
                      .user = &s};
  egraph_status status = EGRAPH_OK;
  for (uint32_t i = 0; i < all->count && !s.found && status == EGRAPH_OK; i++) {
    const eg_rule *rule = eg_rules_at(all->rules, i);
    if (all->matchers[i] == NULL || rule->root_count < 2) continue;
    *s.context = (context){.vars = s.context->vars,
                           .marks = s.context->marks,
                           .scratch = s.context->scratch,
                           .all = all,
                           .rule = rule,
                           .checks = &all->checks[i]};
    s.context->marks[0] = 0;
    status = eg_matcher_search(all->matchers[i], eg_tensor_egraph_engine(all->egraph),
                               &search);
  }
  eg_u32s_deinit(&s.packed);
  *out_found = s.found;
  return status;
}

// ---- set-up ---------------------------------------------------------------------

static egraph_status prepare_rule(tensor_rules *all, uint32_t index,
                                  const eg_rule *rule) {
  eg_pattern pattern;
  EG_TRY(pattern_of_rule(rule, &all->arena, &pattern));
  EG_TRY(eg_matcher_create(&all->alloc, &pattern, &all->matchers[index]));
  EG_TRY(
      eg_rule_checks_plan(rule, all->matchers[index], &all->arena, &all->checks[index]));
  uint32_t steps = all->checks[index].step_count;
  if (steps + 1 > all->step_cap) all->step_cap = steps + 1;
  if (rule->var_count > all->var_cap) all->var_cap = rule->var_count;
  return eg_rule_builder_reserve(&all->builder, rule);
}

static egraph_status prepare_context(tensor_rules *all, context *c) {
  eg_arena *arena = &all->arena;
  EG_TRY(eg_arena_alloc(arena, all->var_cap, sizeof *c->vars, &c->vars));
  EG_TRY(eg_arena_alloc(arena, all->step_cap, sizeof *c->marks, &c->marks));
  return eg_arena_alloc(arena, 1, sizeof *c->scratch, &c->scratch);
}

static egraph_status prepare_rules(tensor_rules *all) {
  const eg_saturation_options *options = all->options;
  EG_TRY(eg_alloc(all->alloc, all->count, sizeof(eg_matcher *), &all->matchers));
  EG_TRY(eg_arena_alloc(&all->arena, all->count, sizeof *all->checks, &all->checks));
  for (uint32_t i = 0; i < all->count; i++) {
    const eg_rule *rule = eg_rules_at(all->rules, i);
    if (!rule->enabled || rule->math > options->math) continue;
    if (options->use_rule != NULL && !options->use_rule(options->use_rule_user, i))
      continue;
    EG_TRY(prepare_rule(all, i, rule));
  }
  for (uint32_t i = 0; i < EG_DRIVER_LANES; i++)
    EG_TRY(prepare_context(all, &all->lanes[i]));
  return prepare_context(all, &all->applying);
}

static void release(tensor_rules *all) {
  for (uint32_t i = 0; all->matchers != NULL && i < all->count; i++)
    eg_matcher_destroy(all->matchers[i]);
  eg_free(all->alloc, all->matchers, all->count, sizeof(eg_matcher *));
  eg_rule_builder_deinit(&all->builder);
  eg_u32s_deinit(&all->depths);
  eg_u32s_deinit(&all->note);
  eg_arena_deinit(&all->arena);
}

egraph_status eg_saturate(eg_tensor_egraph *egraph, const eg_rules *rules,
                          const eg_saturation_options *options,
                          eg_saturation_report *out_report) {
  egraph_allocator heap = eg_tensor_egraph_allocator(egraph);
  *out_report = (eg_saturation_report){.alloc = heap};
  tensor_rules all = {.alloc = heap,
                      .egraph = egraph,
                      .rules = rules,
                      .options = options,
                      .count = eg_rules_count(rules)};
  eg_arena_init(&all.arena, heap);
  eg_rule_builder_init(&all.builder, heap);
  eg_u32s_init(&all.depths, heap);
  eg_u32s_init(&all.note, heap);
  eg_driver_rules driver_rules = {.self = &all,
                                  .count = all.count,
                                  .matcher = matcher_of,
                                  .match_words = words_of,
                                  .needs_all = needs_all,
                                  .search = search,
                                  .apply = apply,
                                  .bytes = bytes_of};
  egraph_status status = prepare_rules(&all);
  if (status == EGRAPH_OK)
    status = eg_driver_run(&heap, eg_tensor_egraph_engine(egraph), &driver_rules, options,
                           out_report);
  bool is_deeper = false;
  if (status == EGRAPH_OK && out_report->stop == EG_STOP_SATURATED &&
      is_depth_bound(&all))
    status = look_deeper(&all, &is_deeper);
  if (is_deeper) out_report->stop = EG_STOP_DEPTH_LIMIT;
  release(&all);
  return status;
}

// ---- one rewrite at a time --------------------------------------------------------

struct eg_rewriter {
  tensor_rules all;
  eg_saturation_options options;
  eg_u32s packed;   // the match at hand
  eg_classes roots; // of it
  uint32_t rule;    // that is searched
  eg_rewrite_visitor visitor;
};

egraph_status eg_rewriter_create(egraph_allocator alloc, const eg_rules *rules,
                                 egraph_math math, eg_rewriter **out) {
  eg_rewriter *r;
  EG_TRY(eg_alloc(alloc, 1, sizeof *r, &r));
  r->options = (eg_saturation_options)EG_SATURATION_OPTIONS_DEFAULT;
  r->options.math = math;
  r->all = (tensor_rules){.alloc = alloc,
                          .rules = rules,
                          .options = &r->options,
                          .count = eg_rules_count(rules)};
  eg_arena_init(&r->all.arena, alloc);
  eg_rule_builder_init(&r->all.builder, alloc);
  eg_u32s_init(&r->all.depths, alloc);
  eg_u32s_init(&r->all.note, alloc);
  eg_u32s_init(&r->packed, alloc);
  eg_classes_init(&r->roots, alloc);
  egraph_status status = prepare_rules(&r->all);
  if (status != EGRAPH_OK)
    eg_rewriter_destroy(r);
  else
    *out = r;
  return status;
}

void eg_rewriter_destroy(eg_rewriter *rewriter) {
  if (rewriter == NULL) return;
  egraph_allocator alloc = rewriter->all.alloc;
  eg_u32s_deinit(&rewriter->packed);
  eg_classes_deinit(&rewriter->roots);
  release(&rewriter->all);
  eg_free(alloc, rewriter, 1, sizeof *rewriter);
}

static bool rewriter_accept(void *user, uint32_t guard, uint32_t op, uint32_t payload) {
  eg_rewriter *r = user;
  return accept(&r->all.lanes[0], guard, op, payload);
}

static bool rewriter_is_possible(void *user, uint32_t step, const eg_match *so_far) {
  eg_rewriter *r = user;
  bool is_possible_so_far = is_possible(&r->all.lanes[0], step, so_far);
  if (r->visitor.stats != NULL) r->visitor.stats[r->rule].rejected += !is_possible_so_far;
  *r->visitor.looked_at += 1;
  return is_possible_so_far;
}

static egraph_status on_rewrite(void *user, const eg_match *match, bool *out_pause) {
  eg_rewriter *r = user;
  tensor_rules *all = &r->all;
  const eg_rule *rule = eg_rules_at(all->rules, r->rule);
  EG_TRY(eg_u32s_resize(&r->packed, match_words_of(rule, keeps_all(all))));
  pack_match(rule, match, keeps_all(all), r->packed.data);
  eg_rule_env env = env_of(all, rule, &all->applying);
  bool ok = bind_match(&env, r->packed.data);
  uint32_t missing = 0;
  if (ok)
    EG_TRY(eg_rule_plan(&all->builder, &env, all->egraph, rule->pattern_term_count,
                        rule->term_count, &ok, &missing));
  if (r->visitor.stats != NULL) r->visitor.stats[r->rule].matches++;
  if (!ok && r->visitor.stats != NULL) r->visitor.stats[r->rule].rejected++;
  if (!ok) return EGRAPH_OK;
  EG_TRY(check_types(all, rule, r->packed.data));
  EG_TRY(eg_classes_resize(&r->roots, rule->root_count));
  for (uint32_t i = 0; i < rule->root_count; i++)
    r->roots.data[i] = packed_root(rule, r->packed.data, i);
  const eg_rewrite rewrite = {.number = r->rule,
                              .rule = rule,
                              .roots = r->roots.data,
                              .vars = env.vars,
                              .terms = all->builder.terms,
                              .alias = all->builder.alias};
  return r->visitor.visit(r->visitor.user, &rewrite, out_pause);
}

egraph_status eg_rewriter_visit(eg_rewriter *rewriter, eg_tensor_egraph *egraph,
                                uint32_t rule, const eg_rewrite_visitor *visitor) {
  tensor_rules *all = &rewriter->all;
  context *c = &all->lanes[0];
  if (all->matchers[rule] == NULL) return EGRAPH_OK;
  all->egraph = egraph;
  rewriter->rule = rule;
  rewriter->visitor = *visitor;
  *c = (context){.vars = c->vars,
                 .marks = c->marks,
                 .scratch = c->scratch,
                 .all = all,
                 .rule = eg_rules_at(all->rules, rule),
                 .checks = &all->checks[rule]};
  c->marks[0] = 0;
  const eg_search search = {.accept = rewriter_accept,
                            .on_match = on_rewrite,
                            .is_possible = rewriter_is_possible,
                            .user = rewriter};
  return eg_matcher_search(all->matchers[rule], eg_tensor_egraph_engine(egraph), &search);
}
