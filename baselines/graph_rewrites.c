// A rewrite is resolved place by place, operands first, by an explicit stack:
//
//   [0, n)           the classes of the current graph after the rewrite: a root of
//                    the rewrite becomes its right side, a class above is made anew, all
//                    other classes stay
//   [n, n + t)       the terms of the rule's right side
//   [n + t, n + t + r)  the roots before the rewrite, for a rule that names its own root
//
// With several roots, the right side of one may read a term above another. The graph
// would then have a cycle, which is found as a place that is open below itself.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/graph_rewrites.h"

#include "base/owner.h"

#define MEMBERS                                                                          \
  (eg_u32s, live, made, stack, operands, root_of, roots), (eg_chars, is_open)

enum { // steps of work, fitted to a core's time like those of saturation
  CANDIDATE_STEPS = 40,
  MATCH_STEPS = 200,
  PLACE_STEPS = 20,
  TERM_STEPS = 500 // for each term that is made anew
};

egraph_status eg_graph_rewrites_init(eg_graph_rewrites *rewrites, eg_term_store *store,
                                     const eg_rules *rules, egraph_math math,
                                     uint32_t root_count) {
  *rewrites = (eg_graph_rewrites){.store = store,
                                  .rule_count = eg_rules_count(rules),
                                  .root_count = root_count,
                                  .work.limit = EG_WORK_UNLIMITED};
  EG_INIT_MEMBERS(rewrites, store->alloc, MEMBERS)
  EG_TRY(eg_alloc(store->alloc, rewrites->rule_count, sizeof *rewrites->stats,
                  &rewrites->stats));
  return eg_rewriter_create(store->alloc, rules, math, &rewrites->rewriter);
}

void eg_graph_rewrites_deinit(eg_graph_rewrites *rewrites) {
  eg_rewriter_destroy(rewrites->rewriter);
  if (rewrites->store == NULL) return;
  eg_free(rewrites->store->alloc, rewrites->stats, rewrites->rule_count,
          sizeof *rewrites->stats);
  EG_DEINIT_MEMBERS(rewrites, MEMBERS)
  *rewrites = (eg_graph_rewrites){.store = NULL};
}

// ---- places -----------------------------------------------------------------------

typedef struct resolution {
  eg_graph_rewrites *of;
  const eg_rewrite *rewrite;
  uint32_t classes, terms; // n and t
  bool is_cyclic;
} resolution;

static uint32_t root_count_of(const resolution *s) {
  return s->rewrite->rule->root_count;
}

/// Returns the place (index of a class, term or root) of a variable of the right side.
static uint32_t place_of_variable(const resolution *s, uint32_t var) {
  const eg_rule *rule = s->rewrite->rule;
  if (rule->vars[var].origin == EG_RULE_VAR_LET_TERM)
    return s->classes + s->rewrite->alias[var];
  uint32_t class = s->rewrite->vars[var].tensor.id;
  bool is_own_root = rule->root_count == 1 && s->of->root_of.data[class] == 0;
  return is_own_root ? s->classes + s->terms : class;
}

/// Returns the class of the term that a place repeats with new operands; EG_TERM_NONE:
/// the place is of another kind.
static uint32_t class_of_place(const resolution *s, uint32_t place) {
  if (place >= s->classes + s->terms)
    return s->rewrite->roots[place - s->classes - s->terms].id;
  if (place < s->classes && s->of->root_of.data[place] == EG_TERM_NONE) return place;
  return EG_TERM_NONE;
}

/// Returns the place whose value a place repeats; EG_TERM_NONE: the place is an operator.
static uint32_t alias_of_place(const resolution *s, uint32_t place) {
  const eg_rule *rule = s->rewrite->rule;
  if (class_of_place(s, place) != EG_TERM_NONE) return EG_TERM_NONE;
  if (place < s->classes) return s->classes + rule->rhs[s->of->root_of.data[place]].term;
  const eg_rule_term *term = &rule->terms[place - s->classes];
  return term->is_var ? place_of_variable(s, term->var) : EG_TERM_NONE;
}

/// Lists the operands of the term at a place, as places. Class numbers of `own` equal
/// indexes in `live`; therefore its children are places.
static egraph_status list_operands(const resolution *s, uint32_t place) {
  eg_u32s *out = &s->of->operands;
  uint32_t class = class_of_place(s, place), alias = alias_of_place(s, place);
  out->len = 0;
  if (alias != EG_TERM_NONE) return eg_u32s_push(out, alias);
  if (class == EG_TERM_NONE) {
    const eg_rule_term *term = &s->rewrite->rule->terms[place - s->classes];
    for (uint32_t i = 0; i < term->child_count; i++)
      EG_TRY(eg_u32s_push(out, s->classes + term->children[i]));
    return EGRAPH_OK;
  }
  const eg_engine *engine = eg_tensor_egraph_engine_of(s->of->own);
  uint32_t count;
  const eg_node *nodes = eg_engine_class_nodes(engine, (eg_class){class}, &count);
  assert(count == 1);
  eg_term term = eg_engine_term(engine, nodes[0]);
  for (uint32_t i = 0; i < term.arity; i++)
    EG_TRY(eg_u32s_push(out, term.children[i].id));
  return EGRAPH_OK;
}

/// Begins a term of the rewritten graph: pushes operands to be made first on the stack.
static egraph_status open_place(resolution *s, uint32_t place) {
  eg_graph_rewrites *of = s->of;
  of->is_open.data[place] = 1;
  EG_TRY(list_operands(s, place));
  for (size_t i = of->operands.len; i-- > 0;) {
    uint32_t operand = of->operands.data[i];
    if (of->made.data[operand] != EG_TERM_NONE) continue;
    s->is_cyclic = s->is_cyclic || of->is_open.data[operand] != 0;
    EG_TRY(eg_u32s_push(&of->stack, operand));
  }
  return EGRAPH_OK;
}

/// Makes a term of the rewritten graph, whose operands exist.
static egraph_status make_place(resolution *s, uint32_t place) {
  eg_graph_rewrites *of = s->of;
  EG_TRY(list_operands(s, place));
  for (size_t i = 0; i < of->operands.len; i++)
    of->operands.data[i] = of->made.data[of->operands.data[i]];
  uint32_t class = class_of_place(s, place), *out = &of->made.data[place];
  if (alias_of_place(s, place) != EG_TERM_NONE) {
    *out = of->operands.data[0];
    return EGRAPH_OK;
  }
  if (class == EG_TERM_NONE) {
    uint32_t payload = s->rewrite->terms[place - s->classes].payload;
    eg_work_add(&of->work, TERM_STEPS);
    return eg_term_store_add(of->store, eg_tensor_egraph_attrs_at(of->own, payload),
                             of->operands.data, (uint32_t)of->operands.len,
                             s->rewrite->number, out);
  }
  uint32_t term = of->live.data[class];
  eg_term before = eg_term_store_at(s->of->store, term);
  bool is_same = true;
  for (uint32_t i = 0; i < before.arity; i++)
    is_same = is_same && before.children[i].id == of->operands.data[i];
  *out = term;
  if (is_same) return EGRAPH_OK;
  eg_work_add(&of->work, TERM_STEPS);
  return eg_term_store_add_like(of->store, term, of->operands.data, out);
}

static egraph_status resolve_roots(resolution *s, uint32_t root) {
  eg_graph_rewrites *of = s->of;
  of->stack.len = 0;
  EG_TRY(eg_u32s_push(&of->stack, root));
  while (of->stack.len != 0 && !s->is_cyclic) {
    uint32_t place = of->stack.data[of->stack.len - 1];
    eg_work_add(&of->work, PLACE_STEPS);
    if (of->made.data[place] == EG_TERM_NONE && !of->is_open.data[place]) {
      EG_TRY(open_place(s, place));
      continue;
    }
    if (of->made.data[place] == EG_TERM_NONE) EG_TRY(make_place(s, place));
    of->stack.len--;
  }
  return EGRAPH_OK;
}

// ---- rewrites ---------------------------------------------------------------------

static egraph_status begin_walk(const resolution *s) {
  eg_graph_rewrites *of = s->of;
  size_t places = (size_t)s->classes + s->terms + root_count_of(s);
  EG_TRY(eg_u32s_resize(&of->made, places));
  EG_TRY(eg_chars_resize(&of->is_open, places));
  memset(of->made.data, 0xff, places * sizeof *of->made.data);
  memset(of->is_open.data, 0, places);
  for (uint32_t i = 0; i < root_count_of(s); i++)
    of->root_of.data[s->rewrite->roots[i].id] = i;
  return EGRAPH_OK;
}

/// Replaces `roots` of the current graph, as places, by the roots of the rewritten graph.
static egraph_status apply_rewrite(resolution *s, const uint32_t *places) {
  eg_graph_rewrites *of = s->of;
  of->roots.len = 0;
  for (uint32_t i = 0; i < of->root_count && !s->is_cyclic; i++) {
    EG_TRY(resolve_roots(s, places[i]));
    EG_TRY(eg_u32s_push(&of->roots, of->made.data[places[i]]));
  }
  return EGRAPH_OK;
}

typedef struct visit_call {
  eg_graph_rewrites *of;
  eg_u32s places; // of the outputs
  bool is_stopped;
} visit_call;

/// True when a rewrite changes only values computed from weights. Such rewrites change no
/// cost, and there are very many of them.
static bool is_of_weights(const eg_graph_rewrites *of, const eg_rewrite *rewrite) {
  for (uint32_t i = 0; i < rewrite->rule->root_count; i++)
    if (!eg_tensor_egraph_fact(of->own, rewrite->roots[i])->weight_only) return false;
  return true;
}

static egraph_status on_rewrite(void *user, const eg_rewrite *rewrite, bool *out_stop) {
  visit_call *call = user;
  eg_graph_rewrites *of = call->of;
  resolution s = {.of = of,
                  .rewrite = rewrite,
                  .classes = (uint32_t)of->live.len,
                  .terms = rewrite->rule->term_count};
  if (is_of_weights(of, rewrite)) return EGRAPH_OK;
  of->tried++;
  eg_work_add(&of->work, MATCH_STEPS);
  EG_TRY(begin_walk(&s));
  egraph_status status = apply_rewrite(&s, call->places.data);
  for (uint32_t i = 0; i < root_count_of(&s); i++)
    of->root_of.data[rewrite->roots[i].id] = EG_TERM_NONE;
  if (status == EGRAPH_E_TYPE || (status == EGRAPH_OK && s.is_cyclic)) {
    of->stats[rewrite->number].rejected++;
    return EGRAPH_OK;
  }
  EG_TRY(status);
  EG_TRY(of->visit(of->user, of->roots.data, out_stop));
  call->is_stopped = *out_stop;
  return EGRAPH_OK;
}

// ---- a graph ----------------------------------------------------------------------

/// Makes an e-graph of the current graph alone; its classes have the numbers of
/// its terms.
static egraph_status enter_graph(visit_call *call, const uint32_t *roots) {
  eg_graph_rewrites *of = call->of;
  eg_term_store *store = of->store;
  EG_TRY(eg_term_store_collect(store, roots, of->root_count, &of->live));
  EG_TRY(eg_tensor_egraph_create_empty(&store->alloc, store->given, &of->own));
  EG_TRY(eg_u32s_resize(&of->made, store->node.len));
  EG_TRY(eg_u32s_resize(&of->root_of, of->live.len));
  memset(of->root_of.data, 0xff, of->live.len * sizeof *of->root_of.data);
  for (uint32_t i = 0; i < of->live.len; i++) {
    uint32_t term = of->live.data[i];
    eg_term view = eg_term_store_at(store, term);
    eg_class class;
    of->operands.len = 0;
    for (uint32_t k = 0; k < view.arity; k++)
      EG_TRY(eg_u32s_push(&of->operands, of->made.data[view.children[k].id]));
    EG_TRY(eg_tensor_egraph_add(of->own, eg_term_store_attrs(store, term),
                                (const eg_class *)(const void *)of->operands.data,
                                view.arity, eg_term_store_reason(store, term), &class));
    assert(class.id == i);
    of->made.data[term] = class.id;
  }
  for (uint32_t i = 0; i < of->root_count; i++)
    EG_TRY(eg_u32s_push(&call->places, of->made.data[roots[i]]));
  return eg_engine_rebuild(eg_tensor_egraph_engine(of->own));
}

static egraph_status visit_rules(visit_call *call) {
  eg_graph_rewrites *of = call->of;
  for (uint32_t rule = 0; rule < of->rule_count && !call->is_stopped; rule++) {
    uint64_t looked_at = 0;
    const eg_rewrite_visitor visitor = {
        .visit = on_rewrite, .user = call, .stats = of->stats, .looked_at = &looked_at};
    EG_TRY(eg_rewriter_visit(of->rewriter, of->own, rule, &visitor));
    eg_work_add(&of->work, looked_at * CANDIDATE_STEPS);
  }
  return EGRAPH_OK;
}

egraph_status eg_graph_rewrites_visit(eg_graph_rewrites *rewrites, const uint32_t *roots,
                                      egraph_status (*visit)(void *user,
                                                             const uint32_t *roots,
                                                             bool *out_stop),
                                      void *user) {
  visit_call call = {.of = rewrites};
  rewrites->visit = visit;
  rewrites->user = user;
  eg_u32s_init(&call.places, rewrites->store->alloc);
  egraph_status status = enter_graph(&call, roots);
  if (status == EGRAPH_OK) status = visit_rules(&call);
  eg_u32s_deinit(&call.places);
  eg_tensor_egraph_destroy(rewrites->own);
  rewrites->own = NULL;
  return status;
}
