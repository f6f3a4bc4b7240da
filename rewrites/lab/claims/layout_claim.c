// A term has ways: how it can lie, and how its operands lie then. The search takes a way
// per term, users before what they use, so that what a user wants rules out most ways;
// what is bound to a variable rules out others.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/claims/layout_claim.h"

#include "base/owner.h"

enum { MOST_STEPS = 1 << 18 };

/// `core` without, `outer` with the parallel operators around the term.
typedef struct way {
  eg_layout core, outer;
  uint32_t inputs;   // of `layouts`: one per operand
  uint32_t strategy; // of `strategies`, or EG_RULE_NONE
} way;
EG_VEC_DEFINE(way_list, way);
EG_VEC_DEFINE(layout_list, eg_layout);

/// The layouts of the variables are those of `assigned` from `begin` on.
typedef struct assignment {
  uint32_t begin;
  uint32_t picks; // the first ways taken, of those where the sides lie alike if any do
  bool agrees;    // the sides lie alike in one way at least
} assignment;
EG_VEC_DEFINE(assignment_list, assignment);

typedef struct binding {
  eg_layout layout;
  uint32_t term; // that bound it, or EG_RULE_NONE
} binding;

typedef struct search {
  const eg_claim_case *of;
  way_list ways;
  layout_list layouts, assigned;
  assignment_list assignments;
  eg_strategies strategies;
  eg_u32s picks;
  uint32_t *begin; // ways of a term, by term; one more
  uint32_t *pick;  // the way taken, by term
  uint32_t *let;   // by term: the variable that stands for all of it, or EG_RULE_NONE
  eg_layout *want; // by term: what its user wants, if it is `wanted`
  bool *wanted;
  binding *bound; // by variable
  uint32_t steps;
} search;

// ---- ways ---------------------------------------------------------------------------

/// Whether every result of the term can lie so.
static bool is_legal(const eg_claim_case *of, uint32_t term, const eg_layout *layout) {
  for (uint32_t i = 0; i < of->terms[term].type_count; i++)
    if (eg_sharding_check(&of->mesh, &of->terms[term].types[i], layout) !=
        EG_SHARDING_LEGAL)
      return false;
  return true;
}

bool eg_claim_move(const eg_claim_case *of, uint32_t term, eg_layout *inout,
                   uint32_t *out_move) {
  uint32_t begin, end = eg_rule_moves_of(of->rule, term, &begin);
  for (*out_move = begin; *out_move < end; ++*out_move) {
    eg_layout to = *inout;
    if (!eg_parallel_apply(&of->mesh, &of->moves[*out_move], &to) ||
        !is_legal(of, term, &to))
      return false;
    *inout = to;
  }
  return true;
}

egraph_status eg_claim_strategies(const eg_claim_case *of, uint32_t term,
                                  eg_arena *scratch, eg_strategies *inout) {
  const eg_rule_term *node = &of->rule->terms[term];
  eg_type *inputs;
  EG_TRY(eg_arena_alloc(scratch, node->child_count, sizeof *inputs, &inputs));
  for (uint32_t i = 0; i < node->child_count; i++)
    inputs[i] = of->terms[node->children[i]].types[0];
  eg_node_spec spec = {.attrs = of->terms[term].attrs,
                       .inputs = inputs,
                       .input_count = node->child_count,
                       .results = of->terms[term].types,
                       .result_count = of->terms[term].type_count};
  eg_spread spread;
  EG_TRY(eg_spread_init(&spec, &spread));
  return eg_spread_strategies(&spread, &of->mesh, scratch, inout);
}

/// Leaves a way out whose parallel operators do not fit. `inputs` by row of factors.
static egraph_status push_way(search *s, uint32_t term, const eg_layout *core,
                              const eg_layout *inputs, const eg_strategy *strategy) {
  uint32_t move, count = s->of->rule->terms[term].child_count;
  way made = {.core = *core,
              .outer = *core,
              .inputs = (uint32_t)s->layouts.len,
              .strategy = EG_RULE_NONE};
  if (!eg_claim_move(s->of, term, &made.outer, &move)) return EGRAPH_OK;
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(layout_list_push(&s->layouts, inputs[eg_factor_row(i)]));
  if (strategy != NULL) {
    made.strategy = (uint32_t)s->strategies.len;
    EG_TRY(eg_strategies_push(&s->strategies, *strategy));
  }
  return way_list_push(&s->ways, made);
}

/// The next layout of a tensor of that rank; false after the last.
static bool next_layout(const eg_mesh *mesh, uint32_t rank, eg_layout *inout) {
  for (uint32_t a = mesh->axis_count; a-- > 0;) {
    if (++inout->sharding[a] < EG_SHARD_S0 + rank) return true;
    inout->sharding[a] = EG_SHARD_R;
  }
  return false;
}

/// Of what lies as it likes: variables, and parts, which lie as the whole does.
static egraph_status push_free_ways(search *s, uint32_t term) {
  eg_layout layout = {.format = EG_FORMAT_PLAIN};
  uint32_t rank = s->of->terms[term].types[0].rank;
  do {
    if (is_legal(s->of, term, &layout)) EG_TRY(push_way(s, term, &layout, &layout, NULL));
  } while (next_layout(&s->of->mesh, rank, &layout));
  return EGRAPH_OK;
}

static egraph_status push_node_ways(search *s, uint32_t term, eg_arena *scratch) {
  eg_strategies strategies;
  eg_strategies_init(&strategies, scratch->alloc);
  egraph_status status = eg_claim_strategies(s->of, term, scratch, &strategies);
  for (size_t i = 0; status == EGRAPH_OK && i < strategies.len; i++) {
    const eg_strategy *one = &strategies.data[i];
    status = push_way(s, term, &one->result, one->inputs, one);
  }
  eg_strategies_deinit(&strategies);
  return status;
}

static egraph_status gather_ways(search *s, eg_arena *scratch) {
  const eg_rule *rule = s->of->rule;
  for (uint32_t t = 0; t < rule->term_count; t++) {
    const eg_rule_term *term = &rule->terms[t];
    s->begin[t] = (uint32_t)s->ways.len;
    if (term->is_var || term->op == EG_OP_PART)
      EG_TRY(push_free_ways(s, t));
    else
      EG_TRY(push_node_ways(s, t, scratch));
  }
  s->begin[rule->term_count] = (uint32_t)s->ways.len;
  return EGRAPH_OK;
}

// ---- taking ways ----------------------------------------------------------------------

static bool same(const search *s, const eg_layout *a, const eg_layout *b) {
  return eg_layout_same(&s->of->mesh, a, b);
}

static bool may_name(const search *s, uint32_t var, const eg_layout *layout) {
  return var == EG_RULE_NONE || s->bound[var].term == EG_RULE_NONE ||
         same(s, &s->bound[var].layout, layout);
}

static bool fits(const search *s, uint32_t term, const way *of) {
  return (!s->wanted[term] || same(s, &s->want[term], &of->outer)) &&
         may_name(s, s->of->rule->terms[term].var, &of->core) &&
         may_name(s, s->let[term], &of->outer);
}

static void name(search *s, uint32_t var, uint32_t term, const eg_layout *layout) {
  if (var != EG_RULE_NONE && s->bound[var].term == EG_RULE_NONE)
    s->bound[var] = (binding){.layout = *layout, .term = term};
}

static void take_way(search *s, uint32_t term, const way *of) {
  const eg_rule_term *node = &s->of->rule->terms[term];
  for (uint32_t i = 0; i < node->child_count; i++) {
    s->want[node->children[i]] = s->layouts.data[of->inputs + i];
    s->wanted[node->children[i]] = true;
  }
  name(s, node->var, term, &of->core);
  name(s, s->let[term], term, &of->outer);
}

static void put_back(search *s, uint32_t term) {
  uint32_t vars[] = {s->of->rule->terms[term].var, s->let[term]};
  for (int i = 0; i < 2; i++)
    if (vars[i] != EG_RULE_NONE && s->bound[vars[i]].term == term)
      s->bound[vars[i]].term = EG_RULE_NONE;
}

// ---- what was found -------------------------------------------------------------------

static bool sides_agree(const search *s) {
  const eg_rule *rule = s->of->rule;
  for (uint32_t i = 0; i < rule->root_count; i++) {
    const way *left = &s->ways.data[s->pick[rule->lhs[i].term]];
    const way *right = &s->ways.data[s->pick[rule->rhs[i].term]];
    if (!same(s, &left->outer, &right->outer)) return false;
  }
  return true;
}

static bool is_assignment(const search *s, const assignment *known) {
  uint32_t at = known->begin;
  for (uint32_t v = 0; v < s->of->rule->var_count; v++)
    if (s->of->rule->vars[v].pattern_var != EG_RULE_NONE &&
        !same(s, &s->assigned.data[at++], &s->bound[v].layout))
      return false;
  return true;
}

static egraph_status find_assignment(search *s, assignment **out) {
  for (size_t i = 0; i < s->assignments.len; i++) {
    *out = &s->assignments.data[i];
    if (is_assignment(s, *out)) return EGRAPH_OK;
  }
  assignment made = {.begin = (uint32_t)s->assigned.len, .picks = (uint32_t)s->picks.len};
  for (uint32_t v = 0; v < s->of->rule->var_count; v++)
    if (s->of->rule->vars[v].pattern_var != EG_RULE_NONE)
      EG_TRY(layout_list_push(&s->assigned, s->bound[v].layout));
  for (uint32_t t = 0; t < s->of->rule->term_count; t++)
    EG_TRY(eg_u32s_push(&s->picks, s->pick[t]));
  EG_TRY(assignment_list_push(&s->assignments, made));
  *out = &s->assignments.data[s->assignments.len - 1];
  return EGRAPH_OK;
}

static egraph_status note_assignment(search *s) {
  assignment *at;
  EG_TRY(find_assignment(s, &at));
  if (at->agrees || !sides_agree(s)) return EGRAPH_OK;
  at->agrees = true;
  for (uint32_t t = 0; t < s->of->rule->term_count; t++)
    s->picks.data[at->picks + t] = s->pick[t];
  return EGRAPH_OK;
}

/// Takes every combination of ways.
static egraph_status walk(search *s, bool *out_all) {
  uint32_t count = s->of->rule->term_count, term = count - 1;
  s->pick[term] = s->begin[term];
  for (;;) {
    if (++s->steps > MOST_STEPS) {
      *out_all = false;
      return EGRAPH_OK;
    }
    while (s->pick[term] < s->begin[term + 1] &&
           !fits(s, term, &s->ways.data[s->pick[term]]))
      s->pick[term]++;
    if (s->pick[term] == s->begin[term + 1]) {
      if (++term == count) return EGRAPH_OK;
      put_back(s, term);
      s->pick[term]++;
      continue;
    }
    take_way(s, term, &s->ways.data[s->pick[term]]);
    if (term != 0) {
      term--;
      s->pick[term] = s->begin[term];
      continue;
    }
    EG_TRY(note_assignment(s));
    put_back(s, term);
    s->pick[term]++;
  }
}

// ---- the whole -------------------------------------------------------------------

static void name_terms(search *s) {
  const eg_rule *rule = s->of->rule;
  for (uint32_t t = 0; t < rule->term_count; t++)
    s->let[t] = EG_RULE_NONE;
  for (uint32_t i = 0; i < rule->let_count; i++)
    if (rule->lets[i].is_term) s->let[rule->lets[i].term] = rule->lets[i].var;
  for (uint32_t v = 0; v < rule->var_count; v++)
    s->bound[v].term = EG_RULE_NONE;
}

static egraph_status reserve(search *s, eg_arena *arena) {
  size_t terms = s->of->rule->term_count;
  EG_TRY(eg_arena_alloc(arena, terms + 1, sizeof *s->begin, &s->begin));
  EG_TRY(eg_arena_alloc(arena, terms, sizeof *s->pick, &s->pick));
  EG_TRY(eg_arena_alloc(arena, terms, sizeof *s->let, &s->let));
  EG_TRY(eg_arena_alloc(arena, terms, sizeof *s->want, &s->want));
  EG_TRY(eg_arena_alloc(arena, terms, sizeof *s->wanted, &s->wanted));
  return eg_arena_alloc(arena, s->of->rule->var_count, sizeof *s->bound, &s->bound);
}

/// The assignment of that number, of those that (do not) agree.
static void tell_way(const search *s, bool agrees, eg_claim_way *out) {
  uint32_t count = 0;
  for (size_t i = 0; i < s->assignments.len; i++)
    count += s->assignments.data[i].agrees == agrees;
  uint64_t left = out->number % count;
  size_t at = 0;
  while (s->assignments.data[at].agrees != agrees || left-- != 0)
    at++;
  for (uint32_t t = 0; t < s->of->rule->term_count; t++) {
    const way *taken = &s->ways.data[s->picks.data[s->assignments.data[at].picks + t]];
    out->layouts[t] = taken->core;
    if (out->strategies != NULL && taken->strategy != EG_RULE_NONE)
      out->strategies[t] = s->strategies.data[taken->strategy];
  }
}

static egraph_status run_search(search *s, eg_arena *scratch, eg_claim_way *inout_way,
                                eg_claim_verdict *out) {
  bool all = true;
  EG_TRY(reserve(s, scratch));
  name_terms(s);
  EG_TRY(gather_ways(s, scratch));
  EG_TRY(walk(s, &all));
  *out = s->assignments.len == 0 ? EG_CLAIM_EMPTY : EG_CLAIM_HOLDS;
  for (size_t i = 0; i < s->assignments.len; i++)
    if (!s->assignments.data[i].agrees) *out = EG_CLAIM_BROKEN;
  if (!all) *out = EG_CLAIM_LARGE;
  if (inout_way != NULL && (*out == EG_CLAIM_HOLDS || *out == EG_CLAIM_BROKEN))
    tell_way(s, *out == EG_CLAIM_HOLDS, inout_way);
  return EGRAPH_OK;
}

#define OWNED                                                                            \
  (way_list, ways), (layout_list, layouts, assigned), (assignment_list, assignments),    \
      (eg_strategies, strategies), (eg_u32s, picks)

egraph_status eg_claim_run(const eg_claim_case *of, eg_arena *scratch,
                           eg_claim_way *inout_way, eg_claim_verdict *out) {
  search s = {.of = of};
  EG_INIT_MEMBERS(&s, scratch->alloc, OWNED);
  egraph_status status = run_search(&s, scratch, inout_way, out);
  EG_DEINIT_MEMBERS(&s, OWNED);
  return status;
}
