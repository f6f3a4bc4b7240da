// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/rule_sides.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/owner.h"
#include "rewrites/saturation/rule_match.h"

// ---- patterns -------------------------------------------------------------------

static bool has_guard(const eg_rule_term *term) {
  uint16_t count = eg_op_info_of(term->op)->attr_count;
  for (uint16_t i = 0; i < count; i++)
    if (term->slots[i].form == EG_RULE_SLOT_LITERAL) return true;
  return false;
}

// Finds the term to which a name refers: where the name of a sub-pattern occurs again,
// the pattern shares the sub-pattern.
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
    // The name of a sub-pattern is no variable of the pattern: its own term is shared,
    // and the search does not reach this one.
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

// Makes the pattern of a left side; its arrays come from the arena. Guards are
// term indices.
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

// ---- sides ----------------------------------------------------------------------

void eg_rule_sides_init(eg_rule_sides *sides, egraph_allocator alloc) {
  *sides = (eg_rule_sides){.known = 0};
  eg_rule_side_list_init(&sides->list, alloc);
  eg_matcher_list_init(&sides->matchers, alloc);
}

void eg_rule_sides_deinit(eg_rule_sides *sides) {
  for (size_t i = 0; i < sides->list.len; i++)
    eg_matcher_destroy(sides->list.data[i].matcher);
  eg_rule_side_list_deinit(&sides->list);
  eg_matcher_list_deinit(&sides->matchers);
}

egraph_status eg_rule_sides_add(eg_rule_sides *sides, const eg_rule *rule, bool keeps_all,
                                eg_arena *arena) {
  assert(sides->list.len == sides->matchers.len);
  egraph_allocator alloc = sides->list.alloc;
  eg_pattern pattern;
  eg_rule_side side = {.rule = rule};
  EG_TRY(eg_rule_side_list_reserve(&sides->list, sides->list.len + 1));
  EG_TRY(eg_matcher_list_reserve(&sides->matchers, sides->matchers.len + 1));
  EG_TRY(pattern_of_rule(rule, arena, &pattern));
  EG_TRY(eg_matcher_create(&alloc, &pattern, &side.matcher));
  egraph_status status = eg_rule_steps_plan(rule, side.matcher, arena, &side.checks);
  if (status != EGRAPH_OK) {
    eg_matcher_destroy(side.matcher);
    return status;
  }
  uint32_t words = eg_rule_match_words(rule, keeps_all);
  if (words > sides->match_words) sides->match_words = words;
  EG_TRY(eg_rule_side_list_push(&sides->list, side));
  return eg_matcher_list_push(&sides->matchers, side.matcher);
}

// ---- the census -------------------------------------------------------------------

enum { EDGE_WORDS = 5 };

EG_OWNER_DEFINE(eg_rule_census, (eg_u32s, edges), (eg_flatmap, edge_table))

void eg_rule_census_forget(eg_rule_census *census) {
  census->heads_seen = 0;
  memset(census->looked_in, 0, sizeof census->looked_in);
}

static bool same_edge(const void *user, uint32_t id, const void *key) {
  const eg_rule_census *census = user;
  return memcmp(census->edges.data + (size_t)id * EDGE_WORDS, key,
                EDGE_WORDS * sizeof(uint32_t)) == 0;
}

static uint64_t hash_edge(const uint32_t *edge) {
  return eg_hash_bytes(0, edge, EDGE_WORDS * sizeof *edge);
}

static bool has_edge(const eg_rule_census *census, const uint32_t *edge) {
  uint32_t id;
  return eg_flatmap_find(&census->edge_table, hash_edge(edge), edge, same_edge, census,
                         &id);
}

static egraph_status add_edge(eg_rule_census *census, const uint32_t *edge) {
  if (has_edge(census, edge)) return EGRAPH_OK;
  EG_TRY(eg_flatmap_reserve_one(&census->edge_table));
  EG_TRY(eg_u32s_append(&census->edges, edge, EDGE_WORDS));
  (void)eg_flatmap_insert(&census->edge_table, hash_edge(edge),
                          (uint32_t)(census->edges.len / EDGE_WORDS) - 1);
  return EGRAPH_OK;
}

static egraph_status note_operand(eg_rule_census *census, const eg_engine *engine,
                                  const eg_term *above, uint32_t place) {
  uint32_t count;
  const eg_node *nodes = eg_engine_class_nodes(
      engine, eg_engine_find(engine, above->children[place]), &count);
  for (uint32_t i = 0; i < count; i++) {
    eg_term operand = eg_engine_term(engine, nodes[i]);
    const uint32_t edge[EDGE_WORDS] = {above->op, above->arity, place, operand.op,
                                       operand.arity};
    EG_TRY(add_edge(census, edge));
  }
  return EGRAPH_OK;
}

/// Records the operands of all nodes of an operator, once per epoch, because indexes do
/// not change within an epoch.
static egraph_status note_operands(eg_rule_census *census, const eg_engine *engine,
                                   uint32_t above) {
  uint32_t count, epoch = eg_engine_epochs(engine) + 1;
  if (census->looked_in[above] == epoch) return EGRAPH_OK;
  census->looked_in[above] = epoch;
  const uint32_t *list = eg_engine_op_nodes(engine, above, &count);
  for (uint32_t i = 0; i < count; i++) {
    eg_term term = eg_engine_term(engine, (eg_node){list[i]});
    for (uint32_t place = 0; place < term.arity; place++)
      EG_TRY(note_operand(census, engine, &term, place));
  }
  return EGRAPH_OK;
}

static bool has_pair(const eg_rule_census *census, uint32_t op, uint32_t operands) {
  return operands < 64 && (census->operands[op] >> operands & 1) != 0;
}

/// Adds to the census the operators that the e-graph has got since the last call.
static void note_heads(eg_rule_census *census, const eg_engine *engine) {
  uint32_t count = eg_engine_head_count(engine), op, operands;
  for (; census->heads_seen < count; census->heads_seen++) {
    eg_engine_head_at(engine, census->heads_seen, &op, &operands);
    if (op >= EG_OP_COUNT || operands >= 64 || has_pair(census, op, operands)) continue;
    census->operands[op] |= UINT64_C(1) << operands;
    census->pair_count++;
  }
}

// ---- cases ----------------------------------------------------------------------

typedef struct listing {
  eg_rule_sides *sides;
  eg_rule_cases *cases;
  const eg_rule_schema *schema;
  uint32_t rule;
  const eg_rule_census *census;
  eg_arena *arena;
  bool keeps_all;
  uint32_t most; // operands of a node
  uint32_t values[EG_RULE_MAX_PARAMETERS];
} listing;

static uint32_t sum_in_case(const listing *l, const eg_rule_sum *sum) {
  return eg_rule_sum_of(sum, l->schema->parameter_count, l->values);
}

/// True when the census has the operators that occur at this operand of an operator: the
/// operator above must not be a parameter.
static bool has_place(const eg_rule_schema *schema, const eg_rule_spot *spot) {
  return spot->is_left && spot->above != EG_RULE_NONE &&
         schema->spots[spot->above].parameter == EG_RULE_NONE &&
         schema->sides == EG_RULE_NONE;
}

static bool is_found(const listing *l, const eg_rule_spot *spot) {
  uint32_t op = eg_rule_spot_op(spot, l->values),
           operands = sum_in_case(l, &spot->operands);
  if (spot->each != EG_RULE_NONE && l->values[spot->each] == 0) return true;
  if (!has_pair(l->census, op, operands)) return false;
  if (!has_place(l->schema, spot)) return true;
  const eg_rule_spot *above = &l->schema->spots[spot->above];
  const uint32_t edge[EDGE_WORDS] = {eg_rule_spot_op(above, l->values),
                                     sum_in_case(l, &above->operands),
                                     sum_in_case(l, &spot->place), op, operands};
  return has_edge(l->census, edge);
}

/// True when the e-graph has every operator of the left side of the case.
static bool can_match(const listing *l) {
  for (uint32_t i = 0; i < l->schema->spot_count; i++)
    if (l->schema->spots[i].is_left && !is_found(l, &l->schema->spots[i])) return false;
  return eg_rule_case_is_legal(l->schema, l->values);
}

static egraph_status add_case(listing *l) {
  const eg_rule *rule;
  if (!can_match(l)) return EGRAPH_OK;
  EG_TRY(eg_rule_cases_get(l->cases, l->rule, l->values, &rule));
  if (rule == NULL) return EGRAPH_OK;
  for (size_t i = 0; i < l->sides->list.len; i++)
    if (l->sides->list.data[i].rule == rule) return EGRAPH_OK;
  return eg_rule_sides_add(l->sides, rule, l->keeps_all, l->arena);
}

/// True when no node of the e-graph has as many operands as some operator of the case.
static bool is_too_many(const listing *l) {
  for (uint32_t i = 0; i < l->schema->spot_count; i++)
    if (l->schema->spots[i].is_left &&
        sum_in_case(l, &l->schema->spots[i].operands) > l->most)
      return true;
  return false;
}

/// Adds the rule's cases with all values of parameters from `parameter` on; there are
/// few. The values are 0 before and after the call.
static egraph_status add_cases(listing *l, uint32_t parameter) {
  bool is_last = parameter == l->schema->parameter_count;
  if (is_last || parameter == EG_RULE_MAX_PARAMETERS) return add_case(l);
  const eg_rule_parameter *p = &l->schema->parameters[parameter];
  uint32_t *value = &l->values[parameter];
  for (uint32_t i = 0; i < p->operator_count; i++) {
    *value = p->operators[i];
    if (l->census->operands[*value] != 0) EG_TRY(add_cases(l, parameter + 1));
  }
  *value = 0;
  if (p->operators != NULL) return EGRAPH_OK;
  bool is_sides = parameter == l->schema->sides;
  uint32_t most = l->most < EG_RULE_MAX_COUNT ? l->most : EG_RULE_MAX_COUNT;
  for (*value = is_sides; *value <= (is_sides ? 1 : most) && !is_too_many(l); ++*value)
    EG_TRY(add_cases(l, parameter + 1));
  *value = 0;
  return EGRAPH_OK;
}

/// Updates the census with the operators of the left side. *out_asks: cases also depend
/// on the operators of operands.
static egraph_status take_census(const eg_rule_schema *schema, eg_rule_census *census,
                                 const eg_engine *engine, bool *out_asks) {
  *out_asks = false;
  note_heads(census, engine);
  for (uint32_t i = 0; i < schema->spot_count; i++) {
    const eg_rule_spot *spot = &schema->spots[i];
    if (!has_place(schema, spot)) continue;
    *out_asks = true;
    EG_TRY(note_operands(census, engine, schema->spots[spot->above].op));
  }
  return EGRAPH_OK;
}

egraph_status eg_rule_sides_extend(eg_rule_sides *sides, eg_rule_cases *cases,
                                   const eg_rule_schema *schema, uint32_t rule,
                                   eg_rule_census *census, const eg_tensor_egraph *egraph,
                                   eg_arena *arena) {
  const eg_engine *engine = eg_tensor_egraph_engine_of(egraph);
  bool asks;
  EG_TRY(take_census(schema, census, engine, &asks));
  size_t known = census->pair_count + (asks ? census->edges.len : 0);
  if (sides->known == known) return EGRAPH_OK;
  listing l = {.sides = sides,
               .cases = cases,
               .schema = schema,
               .rule = rule,
               .census = census,
               .arena = arena,
               .keeps_all = eg_tensor_egraph_is_explained(egraph)};
  for (uint32_t op = 0; op < EG_OP_COUNT; op++)
    while (census->operands[op] >> l.most > 1)
      l.most++;
  EG_TRY(add_cases(&l, 0));
  sides->known = known;
  return EGRAPH_OK;
}
