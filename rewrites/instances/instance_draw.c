// A draw walks the left side in its order, children first. For every term it chooses what
// is still free (attributes, types of class variables that occur first here), adds leaves
// and node to an e-graph, and decides the conditions that can be decided by then; when
// something does not fit it chooses again, a few times. So the cost is the sum of what
// terms and conditions are hard to meet, not the product.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/instances/instance_draw.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rewrites/instances/instance_choose.h"
#include "rewrites/language/rule_ast.h"

// ---- hints ------------------------------------------------------------------------

// What the conditions of a rule say about its variables, so that draws are likely to
// satisfy them. Only conditions that must all hold are read; alternatives (or) are left
// to chance.

enum { MAX_VARS = 64 }; // bits of a word

typedef enum wish_state { WISH_MAYBE, WISH_YES, WISH_NO } wish_state;

typedef struct var_hint {
  wish_state weight, splat;
  uint32_t splat_value;        // expression, or EG_RULE_NONE
  uint32_t equals;             // expression that a value variable must equal, or NONE
  uint32_t min_rank, max_rank; // of a class variable
} var_hint;

typedef struct rule_hints {
  var_hint *vars;            // [rule->var_count]
  uint64_t *needs;           // variables that an expression needs, by expression
  uint64_t *bound;           // variables bound once a term is done, by pattern term
  uint32_t *condition_terms; // first pattern term after which a condition can be decided
} rule_hints;

static const eg_rule_expr *call_of(const eg_rule *rule, uint32_t expr,
                                   eg_rule_function function) {
  const eg_rule_expr *call = &rule->exprs[expr];
  bool is = call->form == EG_RULE_EXPR_CALL && call->function == function;
  return is ? call : NULL;
}

static uint32_t var_of(const eg_rule *rule, uint32_t expr) {
  const eg_rule_expr *leaf = &rule->exprs[expr];
  return leaf->form == EG_RULE_EXPR_VAR ? leaf->var : EG_RULE_NONE;
}

static void wish_rank(const eg_rule *rule, const eg_rule_expr *call, var_hint *vars) {
  const eg_rule_expr *rank = call_of(rule, call->args[0], EG_RULE_FN_RANK);
  const eg_rule_expr *bound = &rule->exprs[call->args[1]];
  if (rank == NULL || bound->form != EG_RULE_EXPR_CONSTANT || bound->constant.i < 0)
    return;
  uint32_t var = var_of(rule, rank->args[0]), limit = (uint32_t)bound->constant.i;
  if (var == EG_RULE_NONE) return;
  eg_rule_function how = call->function;
  var_hint *hint = &vars[var];
  if (how == EG_RULE_FN_GT) limit++;
  if (how == EG_RULE_FN_LT && limit > 0) limit--;
  bool low = how == EG_RULE_FN_EQ || how == EG_RULE_FN_GE || how == EG_RULE_FN_GT;
  bool high = how == EG_RULE_FN_EQ || how == EG_RULE_FN_LE || how == EG_RULE_FN_LT;
  if (low && hint->min_rank < limit) hint->min_rank = limit;
  if (high && hint->max_rank > limit) hint->max_rank = limit;
}

static void wish_equal(const eg_rule *rule, const eg_rule_expr *call, var_hint *vars) {
  for (uint32_t side = 0; side < 2; side++) {
    uint32_t var = var_of(rule, call->args[side]);
    if (var != EG_RULE_NONE && rule->vars[var].kind != EG_RULE_TENSOR)
      vars[var].equals = call->args[1 - side];
  }
}

static void wish_splat(const eg_rule *rule, const eg_rule_expr *call, wish_state wish,
                       var_hint *vars) {
  uint32_t var = var_of(rule, call->args[0]);
  if (var == EG_RULE_NONE) return;
  if (call->function == EG_RULE_FN_WEIGHT_ONLY) {
    vars[var].weight = wish;
    return;
  }
  if (wish == WISH_NO && call->function == EG_RULE_FN_SPLAT_IS) return;
  vars[var].splat = wish;
  if (call->function == EG_RULE_FN_SPLAT_IS) vars[var].splat_value = call->args[1];
}

// `wish` is NO below a `not`.
static void read_condition(const eg_rule *rule, uint32_t expr, wish_state wish,
                           var_hint *vars) {
  const eg_rule_expr *call = &rule->exprs[expr];
  if (call->form != EG_RULE_EXPR_CALL) return;
  eg_rule_function function = call->function;
  if (function == EG_RULE_FN_NOT) {
    if (wish == WISH_YES) read_condition(rule, call->args[0], WISH_NO, vars);
    return;
  }
  if (function == EG_RULE_FN_AND && wish == WISH_YES)
    for (uint32_t i = 0; i < call->arg_count; i++)
      read_condition(rule, call->args[i], wish, vars);
  if (function == EG_RULE_FN_WEIGHT_ONLY || function == EG_RULE_FN_IS_SPLAT ||
      function == EG_RULE_FN_SPLAT_IS)
    wish_splat(rule, call, wish, vars);
  bool compares = function == EG_RULE_FN_EQ || function == EG_RULE_FN_GE ||
                  function == EG_RULE_FN_LE || function == EG_RULE_FN_GT ||
                  function == EG_RULE_FN_LT;
  if (!compares || wish == WISH_NO) return;
  wish_rank(rule, call, vars);
  if (function == EG_RULE_FN_EQ) wish_equal(rule, call, vars);
}

// ---- what needs what ------------------------------------------------------------

static uint64_t bit(uint32_t var) { return UINT64_C(1) << var; }

// Arguments stand before their calls. A let value needs what its expression needs.
static void read_needs(const eg_rule *rule, uint64_t *needs) {
  for (uint32_t i = 0; i < rule->expr_count; i++) {
    const eg_rule_expr *expr = &rule->exprs[i];
    if (expr->form == EG_RULE_EXPR_VAR) {
      needs[i] = bit(expr->var);
      for (uint32_t k = 0; k < rule->let_count; k++)
        if (rule->lets[k].var == expr->var && !rule->lets[k].is_term)
          needs[i] = needs[rule->lets[k].expr];
    }
    for (uint32_t k = 0; expr->form == EG_RULE_EXPR_CALL && k < expr->arg_count; k++)
      needs[i] |= needs[expr->args[k]];
  }
}

static void read_bound(const eg_rule *rule, uint64_t *bound) {
  uint64_t so_far = 0;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++) {
    const eg_rule_term *term = &rule->terms[i];
    if (!term->is_var) {
      for (uint32_t k = 0; k < term->child_count; k++) {
        const eg_rule_term *child = &rule->terms[term->children[k]];
        if (child->is_var) so_far |= bit(child->var);
      }
      for (uint16_t k = 0; k < eg_op_info_of(term->op)->attr_count; k++)
        if (term->slots[k].form == EG_RULE_SLOT_VAR) so_far |= bit(term->slots[k].index);
      if (term->var != EG_RULE_NONE) so_far |= bit(term->var);
    }
    bound[i] = so_far;
  }
}

static void place_conditions(const eg_rule *rule, rule_hints *hints) {
  uint32_t last = rule->pattern_term_count - 1;
  for (uint32_t i = 0; i < rule->condition_count; i++) {
    uint64_t needs = hints->needs[rule->conditions[i]];
    uint32_t term = 0;
    while (term < last && (needs & ~hints->bound[term]) != 0)
      term++;
    hints->condition_terms[i] = term;
  }
}

// Memory comes from the arena. Fails with EGRAPH_E_UNSUPPORTED beyond
// MAX_VARS.
static egraph_status read_hints(const eg_rule *rule, eg_arena *arena, rule_hints *out) {
  if (rule->var_count > MAX_VARS)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "%s:%u: rule %s has %u variables; at most %d can be verified",
                   rule->file, rule->line, rule->name, rule->var_count, MAX_VARS);
  for (uint32_t i = 0; i < rule->term_count; i++)
    if (rule->terms[i].child_count > EG_VERIFY_MAX_OPERANDS)
      return EG_FAIL(
          EGRAPH_E_UNSUPPORTED,
          "%s:%u: rule %s has a term of %u operands; at most %d can be verified",
          rule->file, rule->line, rule->name, rule->terms[i].child_count,
          EG_VERIFY_MAX_OPERANDS);
  EG_TRY(eg_arena_alloc(arena, rule->var_count, sizeof *out->vars, &out->vars));
  EG_TRY(eg_arena_alloc(arena, rule->expr_count, sizeof *out->needs, &out->needs));
  EG_TRY(
      eg_arena_alloc(arena, rule->pattern_term_count, sizeof *out->bound, &out->bound));
  EG_TRY(eg_arena_alloc(arena, rule->condition_count, sizeof *out->condition_terms,
                        &out->condition_terms));
  for (uint32_t i = 0; i < rule->var_count; i++)
    out->vars[i] = (var_hint){
        .splat_value = EG_RULE_NONE, .equals = EG_RULE_NONE, .max_rank = EGRAPH_MAX_RANK};
  for (uint32_t i = 0; i < rule->condition_count; i++)
    read_condition(rule, rule->conditions[i], WISH_YES, out->vars);
  read_needs(rule, out->needs);
  read_bound(rule, out->bound);
  place_conditions(rule, out);
  return EGRAPH_OK;
}

// MAX_NODES: the e-graph is dropped and a new one begun beyond this, which keeps it
// small.
enum {
  TRIES_PER_TERM = 24,
  MAX_NODES = 3000,
  MAX_SPLAT_ELEMENTS = 1 << 16, // their data are written out
  NAME_BYTES = 320
};

struct eg_verify_draws {
  egraph_allocator alloc;
  const eg_rule *rule;
  eg_rng rng;
  eg_arena arena;
  rule_hints hints;
  eg_graph *graph;
  eg_tensor_egraph *egraph;
  eg_rule_env env;
  eg_rule_builder builder;
  eg_verify_choice choice;
  eg_verify_lists lists;
  eg_verify_leaf *leaves;
  const eg_attrs **attrs; // by pattern term
  eg_class *classes;      // by pattern term
  uint64_t bound;         // variables
  egraph_dtype dtype;
};

// ---- set-up ---------------------------------------------------------------------

static egraph_status set_up(eg_verify_draws *draws) {
  const eg_rule *rule = draws->rule;
  eg_arena *arena = &draws->arena;
  EG_TRY(read_hints(rule, arena, &draws->hints));
  EG_TRY(eg_arena_alloc(arena, rule->var_count, sizeof *draws->leaves, &draws->leaves));
  EG_TRY(
      eg_arena_alloc(arena, rule->var_count, sizeof *draws->env.vars, &draws->env.vars));
  EG_TRY(eg_arena_alloc(arena, 1, sizeof *draws->env.scratch, &draws->env.scratch));
  EG_TRY(eg_arena_alloc(arena, rule->pattern_term_count, sizeof *draws->attrs,
                        &draws->attrs));
  EG_TRY(eg_arena_alloc(arena, rule->pattern_term_count, sizeof *draws->classes,
                        &draws->classes));
  return eg_rule_builder_reserve(&draws->builder, rule);
}

egraph_status eg_verify_draws_create(const egraph_allocator *alloc, const eg_rule *rule,
                                     uint64_t seed, eg_verify_draws **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_verify_draws *draws;
  EG_TRY(eg_alloc(heap, 1, sizeof *draws, &draws));
  draws->alloc = heap;
  draws->rule = rule;
  draws->env.rule = rule;
  // By name, so that adding a rule does not change what others are tested on.
  draws->rng.state = eg_hash_bytes(seed, rule->name, strlen(rule->name));
  eg_arena_init(&draws->arena, heap);
  eg_rule_builder_init(&draws->builder, heap);
  egraph_status status = set_up(draws);
  if (status != EGRAPH_OK) {
    eg_verify_draws_destroy(draws);
    return status;
  }
  *out = draws;
  return EGRAPH_OK;
}

static void drop_egraph(eg_verify_draws *draws) {
  eg_tensor_egraph_destroy(draws->egraph);
  eg_graph_destroy(draws->graph);
  draws->egraph = NULL;
  draws->graph = NULL;
}

void eg_verify_draws_destroy(eg_verify_draws *draws) {
  if (draws == NULL) return;
  drop_egraph(draws);
  eg_rule_builder_deinit(&draws->builder);
  eg_arena_deinit(&draws->arena);
  eg_free(draws->alloc, draws, 1, sizeof *draws);
}

static egraph_status renew_egraph(eg_verify_draws *draws) {
  if (draws->egraph != NULL &&
      eg_engine_node_count(eg_tensor_egraph_engine(draws->egraph)) < MAX_NODES)
    return EGRAPH_OK;
  drop_egraph(draws);
  EG_TRY(eg_graph_create(&draws->alloc, &draws->graph));
  EG_TRY(eg_tensor_egraph_create(&draws->alloc, draws->graph, &draws->egraph));
  draws->env.egraph = draws->egraph;
  return EGRAPH_OK;
}

// ---- leaves ---------------------------------------------------------------------

static egraph_status splat_data(eg_verify_draws *draws, const eg_verify_leaf *leaf,
                                eg_buffer **out) {
  eg_buffer *buffer;
  EG_TRY(eg_buffer_create(&draws->alloc, eg_type_bytes(&leaf->type), &buffer));
  eg_tensor tensor = {.type = leaf->type, .data = eg_buffer_writable(buffer)};
  for (int64_t i = 0; i < eg_type_elements(&leaf->type); i++)
    eg_tensor_set_double(&tensor, i, leaf->splat_value);
  *out = buffer;
  return EGRAPH_OK;
}

// Equal leaves of one variable share a name, so that draws share them.
static egraph_status leaf_name(const eg_verify_leaf *leaf, uint32_t var,
                               char name[NAME_BYTES]) {
  uint64_t bits = 0;
  if (leaf->splat) memcpy(&bits, &leaf->splat_value, sizeof bits);
  int used = snprintf(name, NAME_BYTES, "x%u.%d.%" PRIx64 ".%d", var,
                      leaf->splat ? 2 : leaf->weight, bits, (int)leaf->type.dtype);
  for (uint32_t i = 0; i < leaf->type.rank; i++)
    used += snprintf(name + used, (size_t)(NAME_BYTES - used), ".%" PRId64,
                     leaf->type.dims[i]);
  return EGRAPH_OK;
}

static egraph_status declare_leaf(eg_verify_draws *draws, const eg_verify_leaf *leaf,
                                  const char *name) {
  eg_value value;
  if (eg_graph_find_value(draws->graph, name, &value)) return EGRAPH_OK;
  if (!leaf->weight) return eg_graph_add_input(draws->graph, name, &leaf->type, &value);
  eg_buffer *data = NULL;
  if (leaf->splat) EG_TRY(splat_data(draws, leaf, &data));
  egraph_status status =
      eg_graph_add_weight(draws->graph, name, &leaf->type, data, &value);
  eg_buffer_release(data);
  return status;
}

static egraph_status add_leaf(eg_verify_draws *draws, uint32_t var) {
  const eg_verify_leaf *leaf = &draws->leaves[var];
  char name[NAME_BYTES];
  EG_TRY(leaf_name(leaf, var, name));
  EG_TRY(declare_leaf(draws, leaf, name));
  eg_attr slot = {.kind = EG_ATTR_STRING, .text = name};
  eg_attrs attrs = {
      .op = leaf->weight ? EG_OP_WEIGHT : EG_OP_INPUT, .count = 1, .slots = &slot};
  eg_rule_value *value = &draws->env.vars[var];
  value->kind = EG_RULE_TENSOR;
  return eg_tensor_egraph_add(draws->egraph, &attrs, NULL, 0, EG_REASON_SEED,
                              &value->tensor);
}

// ---- choosing one term ----------------------------------------------------------

static bool is_bound(const eg_verify_draws *draws, uint32_t var) {
  return (draws->bound >> var & 1) != 0;
}

static bool can_eval(const eg_verify_draws *draws, uint32_t expr) {
  return (draws->hints.needs[expr] & ~draws->bound) == 0;
}

static bool eval(eg_verify_draws *draws, uint32_t expr, eg_rule_value *out) {
  return can_eval(draws, expr) && eg_rule_eval(&draws->env, expr, out);
}

// The slots whose values are known before anything is chosen.
static void set_known_slots(eg_verify_draws *draws, const eg_rule_term *term) {
  eg_verify_choice *choice = &draws->choice;
  for (uint16_t i = 0; i < choice->info->attr_count; i++) {
    const eg_rule_slot *slot = &term->slots[i];
    eg_rule_value value;
    choice->slot_set[i] = false;
    if (slot->form == EG_RULE_SLOT_LITERAL) {
      choice->slots[i] = slot->literal;
      choice->slot_set[i] = true;
    } else if (slot->form == EG_RULE_SLOT_VAR && is_bound(draws, slot->index)) {
      choice->slot_set[i] = eg_rule_attr_of_value(
          term->op, i, &draws->env.vars[slot->index], &choice->slots[i]);
    } else if (slot->form == EG_RULE_SLOT_EXPR && eval(draws, slot->index, &value)) {
      choice->slot_set[i] = eg_rule_attr_of_value(term->op, i, &value, &choice->slots[i]);
    }
  }
}

static void set_known_types(eg_verify_draws *draws, const eg_rule_term *term) {
  eg_verify_choice *choice = &draws->choice;
  choice->count = term->child_count;
  for (uint32_t i = 0; i < term->child_count; i++) {
    const eg_rule_term *child = &draws->rule->terms[term->children[i]];
    bool fresh = child->is_var && !is_bound(draws, child->var);
    choice->type_set[i] = !fresh;
    choice->min_rank[i] = fresh ? draws->hints.vars[child->var].min_rank : 0;
    choice->max_rank[i] =
        fresh ? draws->hints.vars[child->var].max_rank : EGRAPH_MAX_RANK;
    if (fresh) continue;
    eg_class class = child->is_var ? draws->env.vars[child->var].tensor
                                   : draws->classes[term->children[i]];
    choice->types[i] = eg_tensor_egraph_fact(draws->egraph, class)->type;
  }
}

static double random_splat(eg_verify_draws *draws) {
  static const double values[] = {-1, -2, -0.5, 0, 1, 2, 0.5, 3, 6, 0.25, 1e-5};
  return values[eg_rng_below(&draws->rng, sizeof values / sizeof *values)];
}

static bool wanted(eg_verify_draws *draws, wish_state wish, uint32_t percent) {
  if (wish != WISH_MAYBE) return wish == WISH_YES;
  return eg_rng_below(&draws->rng, 100) < percent;
}

static void set_role(eg_verify_draws *draws, uint32_t var, eg_verify_leaf *leaf) {
  const var_hint *hint = &draws->hints.vars[var];
  leaf->constant = hint->weight == WISH_YES;
  leaf->weight = wanted(draws, hint->weight, 25);
  leaf->splat = leaf->index_bound == 0 && hint->weight != WISH_NO &&
                eg_type_elements(&leaf->type) <= MAX_SPLAT_ELEMENTS &&
                wanted(draws, hint->splat, 8);
  if (!leaf->splat) return;
  leaf->weight = true;
  leaf->splat_value = random_splat(draws);
  if (leaf->variance) leaf->splat_value = fabs(leaf->splat_value);
  eg_rule_value value;
  if (hint->splat_value != EG_RULE_NONE && eval(draws, hint->splat_value, &value))
    leaf->splat_value = eg_rule_number(&value);
}

// A rule may ask for shapes whose neighbours overflow.
static bool types_fit(const eg_verify_choice *choice) {
  for (uint32_t i = 0; i < choice->count; i++)
    if (choice->types[i].rank > EGRAPH_MAX_RANK ||
        eg_type_check(&choice->types[i]) != EGRAPH_OK)
      return false;
  return true;
}

static egraph_status add_fresh_leaves(eg_verify_draws *draws, const eg_rule_term *term) {
  eg_verify_choice *choice = &draws->choice;
  for (uint32_t i = 0; i < term->child_count; i++) {
    const eg_rule_term *child = &draws->rule->terms[term->children[i]];
    if (!child->is_var || is_bound(draws, child->var)) continue;
    eg_verify_leaf *leaf = &draws->leaves[child->var];
    *leaf = (eg_verify_leaf){.type = choice->types[i]};
    if (term->op == EG_OP_GATHER && i == 1) leaf->index_bound = 1;
    leaf->variance = term->op == EG_OP_BATCH_NORM && i == 4;
    set_role(draws, child->var, leaf);
    EG_TRY(add_leaf(draws, child->var));
    draws->bound |= UINT64_C(1) << child->var;
  }
  return EGRAPH_OK;
}

// One of the leaves so far.
static const eg_type *draw_model(eg_verify_draws *draws) {
  const eg_type *model = NULL;
  uint32_t seen = 0;
  for (uint32_t i = 0; i < draws->rule->var_count; i++)
    if (draws->rule->vars[i].pattern_var != EG_RULE_NONE && is_bound(draws, i) &&
        eg_rng_below(&draws->rng, ++seen) == 0)
      model = &draws->leaves[i].type;
  return model;
}

// The slot before `slot` with the same variable, or `slot`.
static uint16_t first_slot_of(const eg_rule_term *term, uint16_t slot) {
  for (uint16_t i = 0; i < slot; i++)
    if (term->slots[i].form == EG_RULE_SLOT_VAR &&
        term->slots[i].index == term->slots[slot].index)
      return i;
  return slot;
}

// Attributes that must equal something that is known now: computed ones, variables that
// the term has twice, and mostly variables for which a condition says so.
static void settle_slots(eg_verify_draws *draws, const eg_rule_term *term) {
  eg_verify_choice *choice = &draws->choice;
  for (uint16_t i = 0; i < choice->info->attr_count; i++) {
    const eg_rule_slot *slot = &term->slots[i];
    uint32_t expr = EG_RULE_NONE;
    eg_rule_value value;
    if (slot->form == EG_RULE_SLOT_EXPR) expr = slot->index;
    if (slot->form == EG_RULE_SLOT_VAR && !is_bound(draws, slot->index) &&
        eg_rng_below(&draws->rng, 100) < 80)
      expr = draws->hints.vars[slot->index].equals;
    if (slot->form == EG_RULE_SLOT_VAR)
      choice->slots[i] = choice->slots[first_slot_of(term, i)];
    eg_attr attr;
    if (expr != EG_RULE_NONE && eval(draws, expr, &value) &&
        eg_rule_attr_of_value(term->op, i, &value, &attr))
      choice->slots[i] = attr;
  }
}

static void bind_slots(eg_verify_draws *draws, const eg_rule_term *term,
                       const eg_attrs *attrs) {
  for (uint16_t i = 0; i < attrs->count; i++) {
    const eg_rule_slot *slot = &term->slots[i];
    if (slot->form != EG_RULE_SLOT_VAR || is_bound(draws, slot->index)) continue;
    draws->env.vars[slot->index] = eg_rule_value_of_attr(term->op, i, &attrs->slots[i]);
    draws->bound |= UINT64_C(1) << slot->index;
  }
}

static egraph_status add_node(eg_verify_draws *draws, uint32_t index, bool *out_ok) {
  const eg_rule_term *term = &draws->rule->terms[index];
  eg_verify_choice *choice = &draws->choice;
  eg_class children[EG_VERIFY_MAX_OPERANDS];
  for (uint32_t i = 0; i < term->child_count; i++) {
    const eg_rule_term *child = &draws->rule->terms[term->children[i]];
    children[i] = child->is_var ? draws->env.vars[child->var].tensor
                                : draws->classes[term->children[i]];
  }
  eg_attrs attrs = {.op = (uint16_t)term->op,
                    .count = choice->info->attr_count,
                    .slots = choice->slots};
  eg_attrs_id id;
  EG_TRY(eg_attr_pool_add(eg_tensor_egraph_attrs(draws->egraph), &attrs, &id));
  draws->attrs[index] = eg_tensor_egraph_attrs_at(draws->egraph, id.id);
  egraph_status status =
      eg_tensor_egraph_add(draws->egraph, draws->attrs[index], children,
                           term->child_count, EG_REASON_SEED, &draws->classes[index]);
  *out_ok = status == EGRAPH_OK;
  return status == EGRAPH_E_TYPE ? EGRAPH_OK : status;
}

// ---- conditions -----------------------------------------------------------------

static bool bind_lets(eg_verify_draws *draws) {
  for (uint32_t i = 0; i < draws->rule->let_count; i++) {
    const eg_rule_let *let = &draws->rule->lets[i];
    if (let->is_term || !can_eval(draws, let->expr)) continue;
    if (!eg_rule_eval(&draws->env, let->expr, &draws->env.vars[let->var])) return false;
  }
  return true;
}

// The slot must be what its expression says, once that can be known.
static bool slots_agree(eg_verify_draws *draws, uint32_t index) {
  const eg_rule_term *term = &draws->rule->terms[index];
  for (uint16_t i = 0; i < draws->attrs[index]->count; i++) {
    eg_rule_value is, wants;
    if (term->slots[i].form != EG_RULE_SLOT_EXPR ||
        !can_eval(draws, term->slots[i].index))
      continue;
    is = eg_rule_value_of_attr(term->op, i, &draws->attrs[index]->slots[i]);
    if (!eg_rule_eval(&draws->env, term->slots[i].index, &wants) ||
        !eg_rule_values_equal(&draws->env, &is, &wants))
      return false;
  }
  return true;
}

static bool conditions_hold(eg_verify_draws *draws, uint32_t index) {
  if (!bind_lets(draws)) return false;
  for (uint32_t i = 0; i <= index; i++)
    if (!draws->rule->terms[i].is_var && !slots_agree(draws, i)) return false;
  for (uint32_t i = 0; i < draws->rule->condition_count; i++)
    if (draws->hints.condition_terms[i] == index &&
        !eg_rule_holds(&draws->env, draws->rule->conditions[i]))
      return false;
  return true;
}

// ---- the walk -------------------------------------------------------------------

static void bound_index(eg_verify_draws *draws, const eg_rule_term *term) {
  if (term->op != EG_OP_GATHER || !draws->rule->terms[term->children[1]].is_var) return;
  const eg_verify_choice *choice = &draws->choice;
  int64_t axis = choice->slots[0].i;
  if (axis < 0) axis += choice->types[0].rank;
  draws->leaves[draws->rule->terms[term->children[1]].var].index_bound =
      choice->types[0].dims[axis];
}

static egraph_status try_term(eg_verify_draws *draws, uint32_t index, bool *out_ok) {
  const eg_rule_term *term = &draws->rule->terms[index];
  eg_verify_choice *choice = &draws->choice;
  choice->op = term->op;
  choice->info = eg_op_info_of(term->op);
  choice->dtype = draws->dtype;
  choice->model = draw_model(draws);
  draws->env.scratch->int_count = 0;
  draws->env.scratch->value_count = 0;
  set_known_slots(draws, term);
  set_known_types(draws, term);
  eg_verify_choose(choice);
  *out_ok = types_fit(choice);
  if (!*out_ok) return EGRAPH_OK;
  EG_TRY(add_fresh_leaves(draws, term));
  settle_slots(draws, term);
  EG_TRY(add_node(draws, index, out_ok));
  if (!*out_ok) return EGRAPH_OK;
  bound_index(draws, term);
  bind_slots(draws, term, draws->attrs[index]);
  if (term->var != EG_RULE_NONE) {
    draws->env.vars[term->var] =
        (eg_rule_value){.kind = EG_RULE_TENSOR, .tensor = draws->classes[index]};
    draws->bound |= UINT64_C(1) << term->var;
  }
  *out_ok = conditions_hold(draws, index);
  return EGRAPH_OK;
}

static egraph_status draw_term(eg_verify_draws *draws, uint32_t index, bool *out_ok) {
  uint64_t bound = draws->bound;
  uint32_t lists = draws->lists.used;
  *out_ok = false;
  for (uint32_t i = 0; i < TRIES_PER_TERM && !*out_ok; i++) {
    draws->bound = bound;
    draws->lists.used = lists;
    EG_TRY(try_term(draws, index, out_ok));
  }
  return EGRAPH_OK;
}

static bool is_root(const eg_rule *rule, uint32_t index) {
  for (uint32_t i = 0; i < rule->root_count; i++)
    if (rule->lhs[i].term == index) return true;
  return false;
}

// A left side that is a bare variable, as rules about layouts have it: any tensor.
static egraph_status try_variable(eg_verify_draws *draws, uint32_t index, bool *out_ok) {
  eg_verify_choice *choice = &draws->choice;
  uint32_t var = draws->rule->terms[index].var;
  choice->op = EG_OP_IDENTITY;
  choice->info = eg_op_info_of(choice->op);
  choice->dtype = draws->dtype;
  choice->model = draw_model(draws);
  choice->count = 1;
  choice->type_set[0] = false;
  choice->min_rank[0] = draws->hints.vars[var].min_rank;
  choice->max_rank[0] = draws->hints.vars[var].max_rank;
  eg_verify_choose(choice);
  *out_ok = types_fit(choice);
  if (!*out_ok) return EGRAPH_OK;
  draws->leaves[var] = (eg_verify_leaf){.type = choice->types[0]};
  set_role(draws, var, &draws->leaves[var]);
  EG_TRY(add_leaf(draws, var));
  draws->bound |= UINT64_C(1) << var;
  *out_ok = conditions_hold(draws, index);
  return EGRAPH_OK;
}

static egraph_status draw_variable(eg_verify_draws *draws, uint32_t index, bool *out_ok) {
  uint32_t var = draws->rule->terms[index].var;
  *out_ok = true;
  if (!is_root(draws->rule, index)) return EGRAPH_OK;
  *out_ok = is_bound(draws, var) && conditions_hold(draws, index);
  if (is_bound(draws, var)) return EGRAPH_OK;
  for (uint32_t i = 0; i < TRIES_PER_TERM && !*out_ok; i++) {
    draws->bound &= ~(UINT64_C(1) << var);
    EG_TRY(try_variable(draws, index, out_ok));
  }
  return EGRAPH_OK;
}

/// float64 most of all, which tells rounding from mistakes best.
static egraph_dtype draw_dtype(eg_verify_draws *draws) {
  uint32_t kind = (uint32_t)eg_rng_below(&draws->rng, 100);
  if (kind < 50) return EGRAPH_FLOAT64;
  if (kind < 64) return EGRAPH_FLOAT32;
  return (egraph_dtype)eg_rng_below(&draws->rng, EGRAPH_DTYPE_COUNT);
}

static egraph_status draw_left(eg_verify_draws *draws, bool *out_found) {
  draws->choice.rng = &draws->rng;
  draws->choice.lists = &draws->lists;
  draws->lists.used = 0;
  draws->bound = 0;
  draws->dtype = draw_dtype(draws);
  *out_found = true;
  for (uint32_t i = 0; i < draws->rule->pattern_term_count && *out_found; i++)
    if (draws->rule->terms[i].is_var)
      EG_TRY(draw_variable(draws, i, out_found));
    else
      EG_TRY(draw_term(draws, i, out_found));
  return EGRAPH_OK;
}

egraph_status eg_verify_draw(eg_verify_draws *draws, bool *out_found, bool *out_typed,
                             eg_verify_instance *out) {
  const eg_rule *rule = draws->rule;
  *out_typed = false;
  EG_TRY(renew_egraph(draws));
  EG_TRY(draw_left(draws, out_found));
  if (!*out_found) return EGRAPH_OK;
  uint32_t missing;
  EG_TRY(eg_rule_plan(&draws->builder, &draws->env, draws->egraph,
                      rule->pattern_term_count, rule->term_count, out_typed, &missing));
  *out = (eg_verify_instance){.rule = rule,
                              .leaves = draws->leaves,
                              .attrs = draws->attrs,
                              .classes = draws->classes,
                              .env = &draws->env,
                              .builder = &draws->builder,
                              .egraph = draws->egraph};
  return EGRAPH_OK;
}
