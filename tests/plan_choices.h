// What planning chooses from, found a second time for the tests: the classes that the
// outputs lead to, their phases, all legal shardings with the distances between them, and
// the strategies of every member with their seconds. Everything is small, so it recurses
// and uses fixed arrays.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_PLAN_CHOICES_H
#define EG_TESTS_PLAN_CHOICES_H

#include <math.h>
#include <stdlib.h>

#include "optimize/price/plan_price.h"
#include "optimize/space/step_info.h"
#include "rewrites/saturation/tensor_egraph.h"

enum {
  PLAN_VALUES = 32,
  PLAN_LAYOUTS = 64,
  PLAN_TYPES = 24,
  PLAN_INPUTS = 4,
  PLAN_STRATEGIES = 1 << 14,
  PLAN_PHASES = EG_PHASE_UPDATE + 1
};

typedef struct plan_type {
  eg_type type;
  uint32_t formats; // bit per memory format beside plain
  uint32_t count;
  eg_layout layout[PLAN_LAYOUTS];
  double distance[PLAN_LAYOUTS][PLAN_LAYOUTS]; // cheapest path of transitions
  double bytes[PLAN_LAYOUTS];
  bool is_partial[PLAN_LAYOUTS];
} plan_type;

typedef struct plan_strategy {
  uint32_t input_count, input[PLAN_INPUTS], need[PLAN_INPUTS], output;
  double seconds;
} plan_strategy;

typedef struct plan_value {
  eg_class class;
  uint32_t type, phase, uses; // uses: bit per phase that has a copy
  bool is_entry;
  bool may_have_formats; // joined to a convolution by operators that handle formats
  bool leaves;           // for the next step, as what enters it
  bool is_view;          // another value that views lead to counts the bytes
  uint32_t strategy_begin, strategy_end;
} plan_value;

typedef struct plan_choices {
  eg_tensor_egraph *egraph;
  const eg_engine *engine;
  const eg_step_info *info;
  const eg_mesh *mesh;
  const eg_plan_costs *costs;
  plan_type types[PLAN_TYPES];
  plan_value values[PLAN_VALUES]; // ascending classes
  plan_strategy strategies[PLAN_STRATEGIES];
  uint32_t type_count, value_count, strategy_count;
} plan_choices;

static inline uint32_t plan_value_of(const plan_choices *c, eg_class class) {
  for (uint32_t v = 0; v < c->value_count; v++)
    if (c->values[v].class.id == eg_engine_find(c->engine, class).id) return v;
  return UINT32_MAX;
}

// ---- layouts ------------------------------------------------------------------------

static inline double plan_move_seconds(const plan_choices *c, const plan_type *t,
                                       uint32_t from, uint32_t to,
                                       const eg_transition *move) {
  static const eg_attrs identity = {.op = EG_OP_IDENTITY};
  eg_node_price price;
  if (move->kind == EG_TRANSITION_SLICE || move->kind == EG_TRANSITION_MASK) return 0;
  if (move->kind != EG_TRANSITION_REORDER)
    return c->costs->transition(
        c->costs->self, move,
        eg_transition_bytes(c->mesh, &t->type, &t->layout[from], move));
  eg_type before = eg_sharding_local(c->mesh, &t->type, &t->layout[from]);
  eg_type after = eg_sharding_local(c->mesh, &t->type, &t->layout[to]);
  const eg_node_spec spec = {.attrs = &identity,
                             .inputs = &before,
                             .input_count = 1,
                             .results = &after,
                             .result_count = 1};
  if (c->costs->node(c->costs->self, &spec, &price) != EGRAPH_OK) abort();
  return price.seconds;
}

static inline void plan_distances(const plan_choices *c, plan_type *t) {
  for (uint32_t i = 0; i < t->count; i++)
    for (uint32_t k = 0; k < t->count; k++) {
      eg_transition move;
      t->distance[i][k] = i == k ? 0 : (double)INFINITY;
      if (eg_transition_between(c->mesh, &t->type, &t->layout[i], &t->layout[k], &move))
        t->distance[i][k] = plan_move_seconds(c, t, i, k, &move);
    }
  for (uint32_t m = 0; m < t->count; m++)
    for (uint32_t i = 0; i < t->count; i++)
      for (uint32_t k = 0; k < t->count; k++)
        t->distance[i][k] =
            fmin(t->distance[i][k], t->distance[i][m] + t->distance[m][k]);
}

static inline void plan_layouts(const plan_choices *c, plan_type *t) {
  uint32_t digits = EG_SHARD_S0 + t->type.rank, all = 1;
  for (uint32_t a = 0; a < c->mesh->axis_count; a++)
    all *= digits;
  for (uint32_t number = 0; number < all; number++) {
    eg_layout layout = {.format = EG_FORMAT_PLAIN};
    bool is_partial = false;
    for (uint32_t a = 0, rest = number; a < c->mesh->axis_count; a++, rest /= digits) {
      layout.sharding[a] = (uint8_t)(rest % digits);
      is_partial = is_partial || eg_digit_is_partial(layout.sharding[a]);
    }
    if (eg_sharding_check(c->mesh, &t->type, &layout) != EG_SHARDING_LEGAL) continue;
    for (unsigned f = EG_FORMAT_PLAIN; f < EG_FORMAT_COUNT; f++) {
      layout.format = EG_FORMAT_PLAIN;
      eg_type local = eg_sharding_local(c->mesh, &t->type, &layout);
      if (f != EG_FORMAT_PLAIN &&
          ((t->formats >> f & 1) == 0 || !eg_format_fits(&local, (eg_format)f)))
        continue;
      if (t->count == PLAN_LAYOUTS) abort();
      layout.format = local.layout.format = (uint8_t)f;
      t->bytes[t->count] = (double)eg_type_bytes(&local);
      t->is_partial[t->count] = is_partial;
      t->layout[t->count++] = layout;
    }
  }
  plan_distances(c, t);
}

/// PLAN_LAYOUTS: it is not legal.
static inline uint32_t plan_find_layout(const plan_choices *c, uint32_t type,
                                        const eg_layout *layout) {
  const plan_type *t = &c->types[type];
  for (uint32_t i = 0; i < t->count; i++)
    if (eg_layout_same(c->mesh, &t->layout[i], layout)) return i;
  return PLAN_LAYOUTS;
}

static inline uint32_t plan_type_of(plan_choices *c, const eg_type *type,
                                    uint32_t formats) {
  for (uint32_t i = 0; i < c->type_count; i++)
    if (eg_type_same(&c->types[i].type, type) && c->types[i].formats == formats) return i;
  if (c->type_count == PLAN_TYPES) abort();
  plan_type *t = &c->types[c->type_count];
  t->type = *type;
  t->formats = formats;
  t->count = 0;
  plan_layouts(c, t);
  return c->type_count++;
}

// ---- what there is to choose from -----------------------------------------------------

static inline void plan_reach_classes(plan_choices *c, eg_class class) {
  class = eg_engine_find(c->engine, class);
  if (plan_value_of(c, class) != UINT32_MAX) return;
  if (c->value_count == PLAN_VALUES) abort();
  uint32_t at = c->value_count++, count;
  for (; at > 0 && c->values[at - 1].class.id > class.id; at--)
    c->values[at] = c->values[at - 1];
  c->values[at] = (plan_value){.class = class};
  const eg_node *nodes = eg_engine_class_nodes(c->engine, class, &count);
  for (uint32_t i = 0; i < count; i++) {
    eg_term term = eg_engine_term(c->engine, nodes[i]);
    for (uint32_t k = 0; k < term.arity; k++)
      plan_reach_classes(c, term.children[k]);
  }
}

static inline uint32_t plan_latest(const plan_choices *c, const eg_term *term) {
  uint32_t latest = EG_PHASE_FORWARD;
  for (uint32_t k = 0; k < term->arity; k++) {
    uint32_t phase = c->values[plan_value_of(c, term->children[k])].phase;
    if (phase > latest) latest = phase;
  }
  return latest;
}

/// Of the graph's values the phase is given; others are made as early as they can be.
static inline void plan_phases(plan_choices *c) {
  const eg_graph *graph = eg_tensor_egraph_graph(c->egraph);
  bool is_given[PLAN_VALUES] = {false};
  for (uint32_t v = 0; v < c->value_count; v++)
    c->values[v].phase = PLAN_PHASES;
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++) {
    eg_graph_node_info node = eg_graph_node_at(graph, (eg_graph_node){n});
    for (uint32_t i = 0; i <= node.input_count; i++) {
      eg_value value = i == node.input_count ? node.results[0] : node.inputs[i];
      uint32_t v = plan_value_of(c, eg_tensor_egraph_value_class(c->egraph, value));
      if (v == UINT32_MAX || (i < node.input_count &&
                              eg_graph_value(graph, value)->kind == EG_VALUE_COMPUTED))
        continue;
      is_given[v] = true;
      if (c->info->phases[n] < c->values[v].phase)
        c->values[v].phase = c->info->phases[n];
    }
  }
  for (uint32_t round = 0; round < 3 * PLAN_VALUES; round++)
    for (uint32_t v = 0; v < c->value_count; v++) {
      uint32_t count;
      const eg_node *nodes = eg_engine_class_nodes(c->engine, c->values[v].class, &count);
      for (uint32_t i = 0; i < count && !is_given[v]; i++) {
        eg_term term = eg_engine_term(c->engine, nodes[i]);
        uint32_t latest = plan_latest(c, &term);
        if (latest < c->values[v].phase) c->values[v].phase = latest;
      }
    }
}

// ---- memory formats -------------------------------------------------------------------

/// Whether an end of an operator has a format in some choice: operand `end`, or the
/// results where end is the arity.
static inline bool plan_end_has_formats(const plan_choices *c, const eg_term *term,
                                        eg_class class, uint32_t end) {
  eg_type types[PLAN_VALUES];
  eg_format_choice choices[EG_MAX_FORMAT_CHOICES];
  for (uint32_t k = 0; k <= term->arity; k++)
    types[k] =
        eg_tensor_egraph_fact(c->egraph, k == term->arity ? class : term->children[k])
            ->type;
  uint32_t count =
      eg_op_formats(eg_tensor_egraph_attrs_at(c->egraph, term->payload), types,
                    term->arity, &types[term->arity], 1, UINT32_MAX, choices);
  for (uint32_t i = 0; i < count; i++)
    if ((end == term->arity ? choices[i].output : choices[i].input[end]) !=
        EG_FORMAT_PLAIN)
      return true;
  return false;
}

/// Marks what an operator reads and makes in formats, where it is a convolution or
/// something of that is marked; returns whether that is news.
static inline bool plan_spread_formats(plan_choices *c, uint32_t v, const eg_term *term) {
  bool touches = term->op == EG_OP_CONV || c->values[v].may_have_formats;
  for (uint32_t k = 0; k < term->arity; k++)
    touches = touches || c->values[plan_value_of(c, term->children[k])].may_have_formats;
  bool is_news = false;
  for (uint32_t k = 0; k <= term->arity && touches; k++) {
    plan_value *value =
        &c->values[k == term->arity ? v : plan_value_of(c, term->children[k])];
    const eg_tensor_fact *fact = eg_tensor_egraph_fact(c->egraph, value->class);
    bool may = eg_format_fits(&fact->type, EG_FORMAT_NHWC) && !fact->weight_only &&
               plan_end_has_formats(c, term, c->values[v].class, k);
    is_news = is_news || (may && !value->may_have_formats);
    value->may_have_formats = value->may_have_formats || may;
  }
  return is_news;
}

static inline void plan_find_formats(plan_choices *c) {
  for (bool is_news = true; is_news;) {
    is_news = false;
    for (uint32_t v = 0; v < c->value_count; v++) {
      uint32_t count;
      const eg_node *nodes = eg_engine_class_nodes(c->engine, c->values[v].class, &count);
      for (uint32_t i = 0; i < count; i++) {
        eg_term term = eg_engine_term(c->engine, nodes[i]);
        is_news = plan_spread_formats(c, v, &term) || is_news;
      }
    }
  }
  for (uint32_t round = 0; round < c->info->carried_count; round++)
    for (uint32_t i = 0; i < c->info->carried_count; i++) {
      const eg_carried_value *carried = &c->info->carried[i];
      plan_value *ends[] = {&c->values[plan_value_of(c, eg_tensor_egraph_value_class(
                                                            c->egraph, carried->entry))],
                            &c->values[plan_value_of(
                                c, eg_tensor_egraph_root(c->egraph, carried->output))]};
      bool may = ends[0]->may_have_formats || ends[1]->may_have_formats;
      ends[0]->may_have_formats = ends[1]->may_have_formats = may;
    }
}

// ---- strategies -----------------------------------------------------------------------

/// Seconds of a strategy on one device.
static inline double plan_seconds(const plan_choices *c, const eg_spread *spread,
                                  const eg_strategy *strategy, eg_arena *arena) {
  eg_node_spec local;
  eg_halo halos[EG_MAX_MESH_AXES];
  eg_node_price price;
  if (eg_spread_local(spread, c->mesh, strategy, 0, arena, &local) != EGRAPH_OK ||
      c->costs->node(c->costs->self, &local, &price) != EGRAPH_OK)
    abort();
  double seconds = price.seconds;
  uint32_t count = eg_spread_halos(spread, c->mesh, strategy, halos);
  for (uint32_t i = 0; i < count; i++) {
    eg_type operand =
        eg_sharding_local(c->mesh, &spread->spec.inputs[0], &strategy->inputs[0]);
    seconds += c->costs->halo(c->costs->self, &halos[i], &operand);
  }
  return seconds;
}

static inline bool plan_splits_everywhere(const plan_choices *c, const eg_strategy *s) {
  for (uint32_t a = 0; a < c->mesh->axis_count; a++)
    if (s->action[a] < EG_ACTION_SPLIT) return false;
  return true;
}

static inline void plan_add_strategy(plan_choices *c, uint32_t v, const eg_term *term,
                                     const eg_spread *spread, const eg_strategy *strategy,
                                     eg_arena *arena) {
  if (c->strategy_count == PLAN_STRATEGIES || term->arity > PLAN_INPUTS) abort();
  plan_strategy *mine = &c->strategies[c->strategy_count];
  *mine = (plan_strategy){.input_count = term->arity,
                          .seconds = plan_seconds(c, spread, strategy, arena)};
  mine->output = plan_find_layout(c, c->values[v].type, &strategy->result);
  bool is_legal = mine->output != PLAN_LAYOUTS && isfinite(mine->seconds);
  for (uint32_t k = 0; k < term->arity; k++) {
    mine->input[k] = plan_value_of(c, term->children[k]);
    mine->need[k] =
        plan_find_layout(c, c->values[mine->input[k]].type, &strategy->inputs[k]);
    is_legal = is_legal && mine->need[k] != PLAN_LAYOUTS;
  }
  c->strategy_count += is_legal;
}

static inline void plan_add_strategies(plan_choices *c, uint32_t v, const eg_term *term,
                                       const eg_spread *spread, const eg_strategies *all,
                                       eg_arena *arena) {
  bool multiplies = (eg_op_info_of((eg_op)term->op)->flags & EG_OPF_MULTIPLY_ADD) != 0;
  bool is_strict = false; // only strategies that split along every axis
  for (size_t i = 0; i < all->len; i++)
    is_strict = is_strict || (c->costs->compute_is_free && multiplies &&
                              plan_splits_everywhere(c, &all->data[i]));
  for (size_t i = 0; i < all->len; i++) {
    const eg_strategy *strategy = &all->data[i];
    if (is_strict && !plan_splits_everywhere(c, strategy)) continue;
    eg_format_choice choices[EG_MAX_FORMAT_CHOICES];
    uint32_t count;
    if (eg_spread_formats(spread, c->mesh, strategy, c->costs->formats, arena, choices,
                          &count) != EGRAPH_OK)
      abort();
    for (uint32_t f = 0; f < count; f++) {
      eg_strategy formatted = *strategy;
      eg_strategy_set_formats(&formatted, &choices[f]);
      plan_add_strategy(c, v, term, spread, &formatted, arena);
    }
  }
}

static inline void plan_add_member(plan_choices *c, uint32_t v, const eg_term *term) {
  eg_arena arena;
  eg_strategies all;
  eg_spread spread;
  eg_type types[PLAN_INPUTS + 1];
  eg_arena_init(&arena, eg_allocator_heap());
  eg_strategies_init(&all, eg_allocator_heap());
  for (uint32_t k = 0; k < term->arity; k++)
    types[k] = c->types[c->values[plan_value_of(c, term->children[k])].type].type;
  types[term->arity] = c->types[c->values[v].type].type;
  eg_node_spec spec = {.attrs = eg_tensor_egraph_attrs_at(c->egraph, term->payload),
                       .inputs = types,
                       .input_count = term->arity,
                       .results = types + term->arity,
                       .result_count = 1};
  if (eg_spread_init(&spec, &spread) != EGRAPH_OK ||
      eg_spread_strategies(&spread, c->mesh, &arena, &all) != EGRAPH_OK)
    abort();
  plan_add_strategies(c, v, term, &spread, &all, &arena);
  eg_strategies_deinit(&all);
  eg_arena_deinit(&arena);
}

/// What weights alone make is there from the start, in a step that carries nothing.
static inline bool plan_is_ahead(const plan_choices *c, uint32_t v) {
  return c->info->carried_count == 0 &&
         eg_tensor_egraph_fact(c->egraph, c->values[v].class)->weight_only;
}

static inline void plan_add_members(plan_choices *c, uint32_t v) {
  plan_value *value = &c->values[v];
  uint32_t count;
  const eg_node *nodes = eg_engine_class_nodes(c->engine, value->class, &count);
  value->strategy_begin = c->strategy_count;
  value->uses |= 1u << value->phase;
  bool is_ahead = plan_is_ahead(c, v);
  value->is_entry = is_ahead;
  for (uint32_t i = 0; !is_ahead && i < count; i++) {
    eg_term term = eg_engine_term(c->engine, nodes[i]);
    bool is_leaf = term.op == EG_OP_INPUT || term.op == EG_OP_WEIGHT;
    value->is_entry = value->is_entry || is_leaf;
    if (is_leaf || plan_latest(c, &term) > value->phase) continue;
    for (uint32_t k = 0; k < term.arity; k++)
      c->values[plan_value_of(c, term.children[k])].uses |= 1u << value->phase;
    plan_add_member(c, v, &term);
  }
  value->strategy_end = c->strategy_count;
}

// ---- views --------------------------------------------------------------------------

/// 2: has the storage of an entry; 1: a later phase uses it.
static inline int plan_claim(const plan_value *value) {
  if (value->is_entry || value->leaves) return 2;
  return value->uses >> (value->phase + 1) != 0 ? 1 : 0;
}

/// Spreads to values that reshapes connect which of them counts the bytes of all: the one
/// with the greatest claim, and of these the lowest class.
static inline void plan_find_views(plan_choices *c) {
  uint32_t counts[PLAN_VALUES];
  for (uint32_t v = 0; v < c->value_count; v++)
    counts[v] = v;
  for (bool moves = true; moves;) {
    moves = false;
    for (uint32_t v = 0; v < c->value_count; v++) {
      uint32_t count;
      const eg_node *nodes = eg_engine_class_nodes(c->engine, c->values[v].class, &count);
      for (uint32_t i = 0; i < count; i++) {
        eg_term term = eg_engine_term(c->engine, nodes[i]);
        if (term.arity != 1 || !eg_op_keeps_order((eg_op)term.op)) continue;
        uint32_t *a = &counts[v], *b = &counts[plan_value_of(c, term.children[0])];
        if (*a == *b) continue;
        int mine = plan_claim(&c->values[*a]), other = plan_claim(&c->values[*b]);
        if (mine > other || (mine == other && *a < *b))
          *b = *a;
        else
          *a = *b;
        moves = true;
      }
    }
  }
  for (uint32_t v = 0; v < c->value_count; v++)
    c->values[v].is_view = counts[v] != v;
}

// ---- entry points -------------------------------------------------------------------

/// The e-graph is clean, its values have one result each; info->phases are given.
static inline void plan_choices_init(plan_choices *c, eg_tensor_egraph *egraph,
                                     const eg_step_info *info, const eg_mesh *mesh,
                                     const eg_plan_costs *costs) {
  memset(c, 0, sizeof *c);
  c->egraph = egraph;
  c->engine = eg_tensor_egraph_engine(egraph);
  c->info = info;
  c->mesh = mesh;
  c->costs = costs;
  const eg_graph *graph = eg_tensor_egraph_graph(egraph);
  for (uint32_t i = 0; i < eg_graph_output_count(graph); i++)
    plan_reach_classes(c, eg_tensor_egraph_root(egraph, i));
  for (uint32_t i = 0; i < info->carried_count; i++)
    plan_reach_classes(c, eg_tensor_egraph_value_class(egraph, info->carried[i].entry));
  if (costs->formats != 0) plan_find_formats(c);
  for (uint32_t v = 0; v < c->value_count; v++)
    c->values[v].type =
        plan_type_of(c, &eg_tensor_egraph_fact(egraph, c->values[v].class)->type,
                     c->values[v].may_have_formats ? costs->formats : 0);
  for (uint32_t i = 0; i < info->carried_count; i++)
    c->values[plan_value_of(c, eg_tensor_egraph_root(egraph, info->carried[i].output))]
        .leaves = true;
  plan_phases(c);
  for (uint32_t v = 0; v < c->value_count; v++)
    plan_add_members(c, v);
  plan_find_views(c);
}

#endif
