// A way of a term is a layout of the term together with the layouts of its operands. The
// search chooses a way for each term, users before their operands: the layout that a user
// needs excludes most ways, and so does a layout already bound to a variable.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/claims/layout_claim.h"

#include <assert.h>
#include <inttypes.h>

#include "base/owner.h"

enum { MOST_STEPS = 1 << 18 };

/// A layout of a term with the layouts of its operands. `core` is the layout before the
/// parallel operators around the term, `outer` after them.
typedef struct way {
  eg_layout core, outer;
  uint32_t inputs;   // begin in `layouts`: one per operand
  uint32_t strategy; // index in `strategies`, or EG_RULE_NONE
} way;
EG_VEC_DEFINE(way_list, way);
EG_VEC_DEFINE(layout_list, eg_layout);

/// One assignment of layouts to the rule's variables: the entries of search.assigned from
/// `begin` on.
typedef struct assignment {
  uint32_t begin;
  uint32_t picks; // the first ways taken, preferring ways with equal layouts of the sides
  bool agrees;    // the sides have equal layouts in at least one combination of ways
} assignment;
EG_VEC_DEFINE(assignment_list, assignment);

typedef struct binding {
  eg_layout layout;
  uint32_t term; // the term that bound it, or EG_RULE_NONE
} binding;

typedef struct search {
  const eg_claim_case *of;
  way_list ways;
  layout_list layouts, assigned;
  assignment_list assignments;
  eg_strategies strategies;
  eg_u32s picks;
  uint32_t *begin;   // by term: its first way; one entry more
  uint32_t *pick;    // by term: the way taken
  uint32_t *let;     // by term: the let variable that names it, or EG_RULE_NONE
  eg_layout *needed; // by term: the layout that its user needs, if it `is_needed`
  bool *is_needed;
  binding *bound; // by variable
  uint32_t steps;
} search;
EG_OWNER_DEFINE_STATIC(search, (way_list, ways), (layout_list, layouts, assigned),
                       (assignment_list, assignments), (eg_strategies, strategies),
                       (eg_u32s, picks))

// ---- ways ---------------------------------------------------------------------------

/// True when a tensor layout is possible for every result of the term (sizes divide).
static bool is_legal(const eg_claim_case *of, uint32_t term, const eg_layout *layout) {
  for (uint32_t i = 0; i < of->terms[term].type_count; i++)
    if (eg_sharding_check(&of->mesh, &of->terms[term].types[i], layout) !=
        EG_SHARDING_LEGAL)
      return false;
  return true;
}

/// Applies the parallel operators around a term to a layout. Returns false when one of
/// them, *out_move, does not apply; *inout is then the layout before that operator.
static bool apply_moves(const eg_claim_case *of, uint32_t term, eg_layout *inout,
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

/// True when all results of a node have the layout of result 0.
static bool is_uniform(const eg_claim_case *of, const eg_spread *spread,
                       const eg_strategy *strategy) {
  for (uint32_t r = 1; r < spread->spec.result_count; r++) {
    eg_layout layout =
        eg_factors_result_layout(&spread->factors, &of->mesh, &strategy->result, r);
    if (!eg_layout_same(&of->mesh, &layout, &strategy->result)) return false;
  }
  return true;
}

/// Appends the strategies of an operator: layouts of its operands and result. A tuple has
/// one layout in a claim, so strategies that give its elements different layouts are left
/// out.
static egraph_status append_strategies(const eg_claim_case *of, uint32_t term,
                                       eg_arena *scratch, eg_strategies *inout) {
  const eg_rule_term *node = &of->rule->terms[term];
  eg_type *inputs;
  EG_NEW(scratch, node->child_count, inputs);
  for (uint32_t i = 0; i < node->child_count; i++)
    inputs[i] = of->terms[node->children[i]].types[0];
  eg_node_spec spec = {.attrs = of->terms[term].attrs,
                       .inputs = inputs,
                       .input_count = node->child_count,
                       .results = of->terms[term].types,
                       .result_count = of->terms[term].type_count};
  eg_spread spread;
  EG_LOCAL(eg_strategies, all, scratch->alloc);
  EG_TRY(eg_spread_init(&spec, &spread));
  EG_TRY(eg_spread_strategies(&spread, &of->mesh, scratch, &all));
  for (size_t i = 0; i < all.len; i++)
    if (is_uniform(of, &spread, &all.data[i]))
      EG_TRY(eg_strategies_push(inout, all.data[i]));
  return EGRAPH_OK;
}

/// Adds a way (a layout of a term and its operands), unless a parallel operator around
/// the term does not apply. The layout of operand i is inputs[eg_factor_row(i)].
static egraph_status push_way(search *s, uint32_t term, const eg_layout *core,
                              const eg_layout *inputs, const eg_strategy *strategy) {
  uint32_t move, count = s->of->rule->terms[term].child_count;
  way made = {.core = *core,
              .outer = *core,
              .inputs = (uint32_t)s->layouts.len,
              .strategy = EG_RULE_NONE};
  if (!apply_moves(s->of, term, &made.outer, &move)) return EGRAPH_OK;
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(layout_list_push(&s->layouts, inputs[eg_factor_row(i)]));
  if (strategy != NULL) {
    made.strategy = (uint32_t)s->strategies.len;
    EG_TRY(eg_strategies_push(&s->strategies, *strategy));
  }
  return way_list_push(&s->ways, made);
}

/// Moves to the next layout of a tensor of rank `rank`; returns false after the last.
static bool next_layout(const eg_mesh *mesh, uint32_t rank, eg_layout *inout) {
  for (uint32_t a = mesh->axis_count; a-- > 0;) {
    if (++inout->sharding[a] < EG_SHARD_S0 + rank) return true;
    inout->sharding[a] = EG_SHARD_R;
  }
  return false;
}

/// Adds each legal layout of a term without a strategy: a variable, or a part of a tuple,
/// which demands the same layout of the tuple.
static egraph_status push_free_ways(search *s, uint32_t term) {
  eg_layout layout = {.format = EG_FORMAT_PLAIN};
  uint32_t rank = s->of->terms[term].types[0].rank;
  do {
    if (is_legal(s->of, term, &layout)) EG_TRY(push_way(s, term, &layout, &layout, NULL));
  } while (next_layout(&s->of->mesh, rank, &layout));
  return EGRAPH_OK;
}

static egraph_status push_node_ways(search *s, uint32_t term, eg_arena *scratch) {
  EG_LOCAL(eg_strategies, strategies, scratch->alloc);
  EG_TRY(append_strategies(s->of, term, scratch, &strategies));
  for (size_t i = 0; i < strategies.len; i++) {
    const eg_strategy *one = &strategies.data[i];
    EG_TRY(push_way(s, term, &one->result, one->inputs, one));
  }
  return EGRAPH_OK;
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

static bool may_take(const search *s, uint32_t term, const way *of) {
  return (!s->is_needed[term] || same(s, &s->needed[term], &of->outer)) &&
         may_name(s, s->of->rule->terms[term].var, &of->core) &&
         may_name(s, s->let[term], &of->outer);
}

static void bind(search *s, uint32_t var, uint32_t term, const eg_layout *layout) {
  if (var != EG_RULE_NONE && s->bound[var].term == EG_RULE_NONE)
    s->bound[var] = (binding){.layout = *layout, .term = term};
}

static void take_way(search *s, uint32_t term, const way *of) {
  const eg_rule_term *node = &s->of->rule->terms[term];
  for (uint32_t i = 0; i < node->child_count; i++) {
    s->needed[node->children[i]] = s->layouts.data[of->inputs + i];
    s->is_needed[node->children[i]] = true;
  }
  bind(s, node->var, term, &of->core);
  bind(s, s->let[term], term, &of->outer);
}

static void unbind(search *s, uint32_t term) {
  uint32_t vars[] = {s->of->rule->terms[term].var, s->let[term]};
  for (int i = 0; i < 2; i++)
    if (vars[i] != EG_RULE_NONE && s->bound[vars[i]].term == term)
      s->bound[vars[i]].term = EG_RULE_NONE;
}

// ---- assignments ---------------------------------------------------------------------

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

/// Visits every combination of ways, one layout with operand layouts for each term.
static egraph_status take_all_ways(search *s, bool *out_all) {
  uint32_t count = s->of->rule->term_count, term = count - 1;
  s->pick[term] = s->begin[term];
  for (;;) {
    if (++s->steps > MOST_STEPS) {
      *out_all = false;
      return EGRAPH_OK;
    }
    while (s->pick[term] < s->begin[term + 1] &&
           !may_take(s, term, &s->ways.data[s->pick[term]]))
      s->pick[term]++;
    if (s->pick[term] == s->begin[term + 1]) {
      if (++term == count) return EGRAPH_OK;
      unbind(s, term);
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
    unbind(s, term);
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
  EG_NEW(arena, terms + 1, s->begin);
  EG_NEW(arena, terms, s->pick);
  EG_NEW(arena, terms, s->let);
  EG_NEW(arena, terms, s->needed);
  EG_NEW(arena, terms, s->is_needed);
  return eg_arena_alloc(arena, s->of->rule->var_count, sizeof *s->bound, &s->bound);
}

/// Fills `out` with an assignment of layouts in which the sides agree or, unless
/// `agrees`, differ: number out->number of these assignments, modulo their count.
static void set_way(const search *s, bool agrees, eg_claim_way *out) {
  uint32_t count = 0;
  for (size_t i = 0; i < s->assignments.len; i++)
    count += s->assignments.data[i].agrees == agrees;
  assert(count != 0);
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

egraph_status eg_claim_run(const eg_claim_case *of, eg_arena *scratch,
                           eg_claim_way *inout_way, eg_claim_verdict *out) {
  EG_LOCAL(search, s, scratch->alloc);
  bool all = true;
  s.of = of;
  assert(of->mesh.axis_count >= of->rule->axis_count);
  EG_TRY(reserve(&s, scratch));
  name_terms(&s);
  EG_TRY(gather_ways(&s, scratch));
  EG_TRY(take_all_ways(&s, &all));
  *out = s.assignments.len == 0 ? EG_CLAIM_EMPTY : EG_CLAIM_HOLDS;
  for (size_t i = 0; i < s.assignments.len; i++)
    if (!s.assignments.data[i].agrees) *out = EG_CLAIM_BROKEN;
  if (!all) *out = EG_CLAIM_LARGE;
  if (inout_way != NULL && (*out == EG_CLAIM_HOLDS || *out == EG_CLAIM_BROKEN))
    set_way(&s, *out == EG_CLAIM_HOLDS, inout_way);
  return EGRAPH_OK;
}

// ---- explaining ---------------------------------------------------------------------
// Explains why layouts of a rule's sides do not fit, by a walk from the variables, in the
// layouts that the parallel operators around them require, to the results: the first term
// without a layout is the reason.

/// The layouts that terms can have after the parallel operators around them.
typedef struct explanation {
  const eg_claim_case *of;
  eg_arena *arena;
  layout_list *layouts;
  uint32_t *begin; // by term: its first layout; one entry more
  eg_text *text;
  uint32_t move;
  bool is_stuck, is_size;
} explanation;

static void print_digit(eg_text *text, uint8_t digit) {
  if (eg_digit_is_shard(digit))
    eg_text_printf(text, "split along dimension %" PRIu32, eg_digit_dim(digit));
  else
    eg_text_append(text, digit == EG_SHARD_R       ? "whole on every device"
                         : digit == EG_SHARD_P_SUM ? "partial sums"
                                                   : "partial maxima");
}

static void print_axis(const explanation *e, uint32_t axis) {
  const char *name = e->of->rule->axes[axis].name;
  if (name[0] != '\0') eg_text_printf(e->text, " on axis %s", name);
}

/// Appends the parallel operator that makes a value whole along an axis with this digit.
static void print_undo(eg_text *text, uint8_t digit) {
  if (eg_digit_is_shard(digit))
    eg_text_printf(text, "(%s :dim %" PRIu32 " ...)",
                   eg_parallel_name(EG_PARALLEL_COMBINE), eg_digit_dim(digit));
  else
    eg_text_printf(text, "(%s ...)", eg_parallel_name(EG_PARALLEL_REDUCE));
}

static void print_move_remedy(eg_text *text, const eg_parallel_op *op, uint8_t digit) {
  bool is_combine = op->kind == EG_PARALLEL_COMBINE;
  if (eg_digit_is_partial(digit)) {
    eg_text_append(text, "; the sum of partial values is missing: add ");
    print_undo(text, digit);
  } else if (op->kind == EG_PARALLEL_REDUCE && digit == EG_SHARD_R) {
    eg_text_append(text, ", and adding the copies would multiply it by the degree; leave "
                         "reduce out, or make partial sums by splitting what is summed");
  } else if (digit == (is_combine ? eg_digit_shard(op->dim) : EG_SHARD_R)) {
    eg_text_append(text, ", but an axis that comes later cuts the same dimension; "
                         "partition along it afterwards, and combine it before");
  } else if (is_combine && digit == EG_SHARD_R) {
    eg_text_append(text, ", so there are no blocks to combine; leave it out");
  } else {
    eg_text_append(text, "; put ");
    print_undo(text, digit);
    eg_text_append(text, " there");
  }
}

/// Appends why a parallel operator around the term does not apply to the layout `found`.
static void explain_move(explanation *e, uint32_t term, const eg_layout *found) {
  const eg_rule_term *node = &e->of->rule->terms[term];
  const eg_parallel_op *op = &e->of->moves[e->move];
  uint8_t digit = found->sharding[op->axis];
  eg_layout to = *found;
  e->is_stuck = true;
  e->is_size = eg_parallel_apply(&e->of->mesh, op, &to);
  eg_text_printf(e->text, "%s does not apply: ", eg_parallel_name(op->kind));
  if (node->is_var)
    eg_text_append(e->text, e->of->rule->vars[node->var].name);
  else
    eg_text_printf(e->text, "(%s ...)", eg_op_info_of(node->op)->name);
  if (e->is_size) {
    eg_text_append(e->text, ", a ");
    eg_type_print(e->text, &e->of->terms[term].types[0]);
    eg_text_printf(e->text, ", has no dimension %" PRIu32 " that divides by %" PRIu32,
                   op->dim, e->of->mesh.axes[op->axis].size);
    return;
  }
  eg_text_append(e->text, " is ");
  print_digit(e->text, digit);
  print_axis(e, op->axis);
  eg_text_append(e->text, " there");
  print_move_remedy(e->text, op, digit);
}

/// Adds a layout of a term if the parallel operators around the term apply to it.
static egraph_status keep_layout(explanation *e, uint32_t term, eg_layout layout,
                                 bool *inout_any, eg_layout *out_refused) {
  uint32_t move;
  if (!apply_moves(e->of, term, &layout, &move)) {
    if (!*inout_any) e->move = move;
    *out_refused = layout;
    return EGRAPH_OK;
  }
  *inout_any = true;
  for (size_t i = e->begin[term]; i < e->layouts->len; i++)
    if (eg_layout_same(&e->of->mesh, &e->layouts->data[i], &layout)) return EGRAPH_OK;
  return layout_list_push(e->layouts, layout);
}

/// Returns the layout that the innermost parallel operators around a variable require,
/// by axis.
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

static bool is_among(const explanation *e, uint32_t term, const eg_layout *layout) {
  for (uint32_t i = e->begin[term]; i < e->begin[term + 1]; i++)
    if (eg_layout_same(&e->of->mesh, &e->layouts->data[i], layout)) return true;
  return false;
}

/// Explains that no strategy of the operator accepts the layouts of its operands.
static void explain_node(explanation *e, uint32_t term) {
  const eg_rule_term *node = &e->of->rule->terms[term];
  e->is_stuck = true;
  e->move = EG_RULE_NONE;
  eg_text_printf(e->text, "%s cannot be computed from operands that are ",
                 eg_op_info_of(node->op)->name);
  for (uint32_t i = 0; i < node->child_count; i++) {
    const eg_layout *layout = &e->layouts->data[e->begin[node->children[i]]];
    eg_text_append(e->text, i == 0 ? "" : ", ");
    for (uint32_t a = 0; a < e->of->mesh.axis_count; a++) {
      eg_text_append(e->text, a == 0 ? "" : " and ");
      print_digit(e->text, layout->sharding[a]);
      print_axis(e, a);
    }
  }
  eg_text_append(e->text, "; change the parallel operators around them");
}

static egraph_status walk_node(explanation *e, uint32_t term) {
  const eg_rule_term *node = &e->of->rule->terms[term];
  bool any = false, is_possible = false;
  eg_layout refused = {.format = EG_FORMAT_PLAIN};
  EG_LOCAL(eg_strategies, strategies, e->arena->alloc);
  EG_TRY(append_strategies(e->of, term, e->arena, &strategies));
  for (size_t s = 0; s < strategies.len; s++) {
    bool fits = true;
    for (uint32_t i = 0; fits && i < node->child_count; i++)
      fits = is_among(e, node->children[i], eg_strategy_input(&strategies.data[s], i));
    if (!fits) continue;
    is_possible = true;
    EG_TRY(keep_layout(e, term, strategies.data[s].result, &any, &refused));
  }
  if (!any && is_possible) explain_move(e, term, &refused);
  if (!any && !is_possible) explain_node(e, term);
  return EGRAPH_OK;
}

/// Gives a term all layouts of the earlier term `of`, which it equals.
static egraph_status walk_alias(explanation *e, uint32_t term, uint32_t of) {
  bool any = false;
  eg_layout refused = {.format = EG_FORMAT_PLAIN};
  for (uint32_t i = e->begin[of]; i < e->begin[of + 1]; i++)
    EG_TRY(keep_layout(e, term, e->layouts->data[i], &any, &refused));
  if (!any) explain_move(e, term, &refused);
  return EGRAPH_OK;
}

static egraph_status walk_term(explanation *e, uint32_t term) {
  const eg_rule *rule = e->of->rule;
  const eg_rule_term *node = &rule->terms[term];
  e->begin[term] = (uint32_t)e->layouts->len;
  if (!node->is_var)
    return node->op == EG_OP_PART ? walk_alias(e, term, node->children[0])
                                  : walk_node(e, term);
  uint32_t let = eg_rule_let_term(rule, node->var);
  if (let != EG_RULE_NONE) return walk_alias(e, term, let);
  bool any = false;
  eg_layout likely = likely_layout(e->of, node->var), refused = likely;
  EG_TRY(keep_layout(e, term, likely, &any, &refused));
  if (!any) explain_move(e, term, &refused);
  return EGRAPH_OK;
}

static void print_result_remedy(eg_text *text, uint8_t left, uint8_t right) {
  uint8_t digit = left != EG_SHARD_R ? left : right;
  if (left != EG_SHARD_R && right != EG_SHARD_R) {
    eg_text_append(text, "; make both whole, or both lie alike");
    return;
  }
  eg_text_append(text, eg_digit_is_partial(digit)
                           ? "; the sum of partial values is missing: add "
                           : "; add ");
  print_undo(text, digit);
  eg_text_printf(text, " around the %s side", left != EG_SHARD_R ? "left" : "right");
}

static void explain_results(explanation *e) {
  const eg_rule *rule = e->of->rule;
  for (uint32_t i = 0; i < rule->root_count; i++) {
    uint32_t left = rule->lhs[i].term, right = rule->rhs[i].term;
    const eg_layout *a = &e->layouts->data[e->begin[left]];
    const eg_layout *b = &e->layouts->data[e->begin[right]];
    if (is_among(e, right, a) || is_among(e, left, b)) continue;
    uint32_t axis = 0;
    while (a->sharding[axis] == b->sharding[axis])
      axis++;
    assert(axis < e->of->mesh.axis_count);
    eg_text_append(e->text, "the left side is ");
    print_digit(e->text, a->sharding[axis]);
    eg_text_append(e->text, ", the right side ");
    print_digit(e->text, b->sharding[axis]);
    print_axis(e, axis);
    print_result_remedy(e->text, a->sharding[axis], b->sharding[axis]);
    return;
  }
  eg_text_append(e->text, "its sides lie alike for some layouts of the variables "
                          "and differ for others; say how they lie by parallel "
                          "operators on both sides");
}

egraph_status eg_claim_explain(const eg_claim_case *of, eg_arena *scratch, eg_text *text,
                               uint32_t *out_move, bool *out_is_size) {
  uint32_t terms = of->rule->term_count;
  EG_LOCAL(layout_list, layouts, scratch->alloc);
  explanation e = {.of = of,
                   .arena = scratch,
                   .layouts = &layouts,
                   .text = text,
                   .move = EG_RULE_NONE};
  EG_NEW(scratch, (size_t)terms + 1, e.begin);
  for (uint32_t t = 0; t < terms && !e.is_stuck; t++) {
    EG_TRY(walk_term(&e, t));
    e.begin[t + 1] = (uint32_t)layouts.len;
  }
  if (!e.is_stuck) {
    e.move = EG_RULE_NONE;
    explain_results(&e);
  }
  *out_move = e.move;
  *out_is_size = e.is_size;
  return eg_text_status(text);
}
