// Builds the plan space once to request the costs it needs, and again when they are
// known; both times it asks for the same costs.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/single/single_problem.h"

#include <math.h>
#include <string.h>

#include "base/owner.h"
#include "optimize/price/predict.h"

#define MEMBERS                                                                          \
  (eg_prices, prices), (eg_single_nodes, nodes),                                         \
      (eg_u32s, value, first_class, first_reorder, node_of)

/// One device; the whole graph is forward.
static const eg_mesh one_device = {.axis_count = 0};
static const eg_step_info forward = {
    .micro_batches = 1, .may_make_twice = true, .memory_limit = INFINITY};

// ---- prices ---------------------------------------------------------------------

typedef struct pricing {
  eg_cost_model *costs;
  const bool *again; // [entries] flags: measure again
  eg_prices *prices;
} pricing;

static egraph_status request(void *self, const eg_node_spec *spec, eg_node_price *out) {
  const pricing *p = self;
  out->seconds = 0;
  return eg_cost_request(p->costs, spec);
}

static egraph_status request_again(void *self, const eg_node_spec *spec,
                                   eg_node_price *out) {
  const pricing *p = self;
  uint32_t entry;
  out->seconds = 0;
  EG_TRY(eg_cost_measured_entry(p->costs, spec, &entry));
  if (entry == EG_COST_NO_ENTRY || !p->again[entry]) return EGRAPH_OK;
  return eg_cost_request_again(p->costs, spec, EG_AGAIN_SMALLER);
}

/// Prices a node. Gives a row-major node that no back-end runs a price, so that the
/// original graph stays feasible.
static egraph_status price_or_free(void *self, const eg_node_spec *spec,
                                   eg_node_price *out) {
  const pricing *p = self;
  eg_price mine;
  EG_TRY(eg_cost_measured_entry(p->costs, spec, &mine.entry));
  EG_TRY(eg_cost_seconds(p->costs, spec, &mine.seconds, &mine.source));
  mine.is_guess =
      mine.source == EG_COST_ESTIMATED && !eg_cost_is_calibrated(p->costs, spec);
  if (!isfinite(mine.seconds) && eg_node_spec_is_plain(spec))
    mine = (eg_price){.seconds = EG_UNPRICED_SECONDS,
                      .source = mine.source,
                      .is_guess = true,
                      .entry = EG_COST_NO_ENTRY};
  *out = (eg_node_price){.seconds = mine.seconds, .basis = (uint32_t)p->prices->len};
  return eg_prices_push(p->prices, mine);
}

static egraph_status
enumerate(eg_plan_space *space, egraph_allocator alloc, const eg_single_source *source,
          egraph_status (*node)(void *, const eg_node_spec *, eg_node_price *),
          pricing *p) {
  const eg_plan_costs costs = {.self = p, .node = node, .formats = source->formats & ~1u};
  return eg_plan_space_init(space, alloc, source->egraph, &forward, &one_device, &costs);
}

egraph_status eg_single_problem_request(egraph_allocator alloc,
                                        const eg_single_source *source) {
  EG_OWNED(eg_plan_space, space);
  pricing p = {.costs = source->costs};
  return enumerate(&space, alloc, source, request, &p);
}

egraph_status eg_single_problem_request_again(egraph_allocator alloc,
                                              const eg_single_source *source,
                                              const bool *again) {
  EG_OWNED(eg_plan_space, space);
  pricing p = {.costs = source->costs, .again = again};
  return enumerate(&space, alloc, source, request_again, &p);
}

void eg_single_problem_reprice(eg_single_problem *single, const eg_cost_model *costs) {
  for (size_t i = 0; i < single->prices.len; i++) {
    eg_price *mine = &single->prices.data[i];
    if (mine->entry != EG_COST_NO_ENTRY)
      mine->seconds = eg_cost_entry_seconds(costs, mine->entry);
  }
  for (uint32_t n = 0; n < single->nodes.len; n++)
    single->problem.cost.data[n] = eg_single_price(single, n)->seconds;
}

// ---- classes and nodes ----------------------------------------------------------

static egraph_status add_classes(eg_single_problem *single) {
  const eg_plan_space *space = &single->space;
  for (uint32_t v = 0; v < space->values.len; v++) {
    bool is_constant = space->values.data[v].is_constant;
    size_t layouts = is_constant ? 0 : eg_plan_space_layouts(space, v)->layouts.len;
    EG_TRY(eg_u32s_push(&single->first_class,
                        is_constant ? EG_EXTRACT_NONE : single->problem.class_count));
    for (size_t l = 0; l < layouts; l++) {
      uint32_t number;
      EG_TRY(eg_extract_problem_add_class(&single->problem, &number));
      EG_TRY(eg_u32s_push(&single->value, v));
    }
  }
  return EGRAPH_OK;
}

static egraph_status add_problem_node(eg_single_problem *single, uint32_t class,
                                      const eg_u32s *children, eg_single_node node) {
  uint32_t number;
  EG_TRY(eg_extract_problem_add_node(&single->problem, class,
                                     single->prices.data[node.basis].seconds,
                                     children->data, (uint32_t)children->len, &number));
  return eg_single_nodes_push(&single->nodes, node);
}

static egraph_status add_problem_operator(eg_single_problem *single, uint32_t o,
                                          eg_u32s *children) {
  const eg_plan_space *space = &single->space;
  const eg_space_operator *op = &space->operators.data[o];
  if (space->values.data[op->value].is_constant) return EGRAPH_OK;
  for (uint32_t s = op->strategies; s < op->strategies + op->strategy_count; s++) {
    const eg_space_strategy *strategy = &space->strategies.data[s];
    children->len = 0;
    for (uint32_t i = 0; i < op->input_count; i++) {
      uint32_t first = single->first_class.data[space->inputs.data[op->inputs + i]];
      if (first != EG_EXTRACT_NONE)
        EG_TRY(eg_u32s_push(children, first + space->needs.data[strategy->needs + i]));
    }
    single->node_of.data[s] = (uint32_t)single->nodes.len;
    EG_TRY(add_problem_node(
        single, single->first_class.data[op->value] + strategy->output, children,
        (eg_single_node){.op = o, .choice = s, .basis = strategy->basis}));
  }
  return EGRAPH_OK;
}

/// Adds the reorders of a value; elements of a tuple have them, the tuple does not.
static egraph_status add_reorders(eg_single_problem *single, uint32_t v,
                                  eg_u32s *children) {
  const eg_plan_space *space = &single->space;
  const eg_space_value *value = &space->values.data[v];
  const eg_layout_moves *moves = &eg_plan_space_layouts(space, v)->moves;
  EG_TRY(eg_u32s_push(&single->first_reorder, (uint32_t)single->nodes.len));
  if (value->is_constant || value->is_tuple) return EGRAPH_OK;
  uint32_t first = single->first_class.data[v];
  for (uint32_t m = 0; m < moves->len; m++) {
    const eg_layout_move *move = &moves->data[m];
    children->len = 0;
    EG_TRY(eg_u32s_push(children, first + move->from));
    EG_TRY(add_problem_node(
        single, first + move->to, children,
        (eg_single_node){.op = EG_SPACE_NONE, .choice = m, .basis = move->basis}));
  }
  return EGRAPH_OK;
}

// ---- entry points ---------------------------------------------------------------

static egraph_status build_problem(eg_single_problem *single,
                                   const eg_single_source *source) {
  static const eg_price nothing = {.source = EG_COST_FREE, .entry = EG_COST_NO_ENTRY};
  const eg_plan_space *space = &single->space;
  const eg_graph *graph = eg_tensor_egraph_graph(source->egraph);
  pricing p = {.costs = source->costs, .prices = &single->prices};
  EG_LOCAL(eg_u32s, children, single->alloc); // scratch
  EG_TRY(eg_prices_push(&single->prices, nothing));
  EG_TRY(eg_extract_problem_init(&single->problem, single->alloc));
  EG_TRY(enumerate(&single->space, single->alloc, source, price_or_free, &p));
  EG_TRY(add_classes(single));
  for (size_t s = 0; s < space->strategies.len; s++)
    EG_TRY(eg_u32s_push(&single->node_of, EG_EXTRACT_NONE));
  for (uint32_t o = 0; o < space->operators.len; o++)
    EG_TRY(add_problem_operator(single, o, &children));
  for (uint32_t v = 0; v < space->values.len; v++)
    EG_TRY(add_reorders(single, v, &children));
  for (uint32_t i = 0; i < eg_graph_output_count(graph); i++) {
    uint32_t v = eg_plan_space_value(space, eg_tensor_egraph_root(space->egraph, i));
    uint32_t class = eg_single_class(single, v, EG_FORMAT_PLAIN);
    if (class != EG_EXTRACT_NONE)
      EG_TRY(eg_extract_problem_add_root(&single->problem, class));
  }
  return EGRAPH_OK;
}

egraph_status eg_single_problem_init(eg_single_problem *single, egraph_allocator alloc,
                                     const eg_single_source *source) {
  *single = (eg_single_problem){.alloc = alloc};
  EG_INIT_MEMBERS(single, alloc, MEMBERS)
  EG_RETURN_FILLED(build_problem(single, source), eg_single_problem, single);
}

void eg_single_problem_deinit(eg_single_problem *single) {
  eg_extract_problem_deinit(&single->problem);
  eg_plan_space_deinit(&single->space);
  EG_DEINIT_MEMBERS(single, MEMBERS)
}

uint32_t eg_single_class(const eg_single_problem *single, uint32_t value,
                         unsigned format) {
  const eg_layout layout = {.format = (uint8_t)format};
  if (value == EG_SPACE_NONE || single->first_class.data[value] == EG_EXTRACT_NONE)
    return EG_EXTRACT_NONE;
  uint32_t number =
      eg_layout_graph_find(eg_plan_space_layouts(&single->space, value), &layout);
  return number == UINT32_MAX ? EG_EXTRACT_NONE
                              : single->first_class.data[value] + number;
}

eg_format eg_single_format(const eg_single_problem *single, uint32_t class) {
  uint32_t v = single->value.data[class];
  const eg_layouts *layouts = &eg_plan_space_layouts(&single->space, v)->layouts;
  return (eg_format)layouts->data[class - single->first_class.data[v]].format;
}

// ---- the graph as a choice --------------------------------------------------------

// Finds the given graph among its variants: visits its nodes from the inputs on, first in
// the memory formats that the graph has, then row-major, and chooses the first node of
// each class. The node's operands were chosen before, so that the choice is acyclic.

#define NONE EG_SPACE_NONE

typedef struct follower {
  const eg_single_problem *single;
  const eg_plan_space *space;
  const eg_engine *engine;
  const eg_graph *graph;
  uint32_t *choice;
  eg_u32s operands; // of the current node: values of the space
  eg_u32s layouts;  // of the operands
  bool in_formats;  // use the graph's formats; false: everything is row-major
  bool fits;        // all nodes were found so far
} follower;

static uint32_t original_value(const follower *f, eg_value value) {
  return eg_plan_space_value(f->space,
                             eg_tensor_egraph_value_class(f->space->egraph, value));
}

/// Returns the layout of space value `v` in which the graph has it, or NONE.
static uint32_t original_layout(const follower *f, uint32_t v, eg_value value) {
  eg_layout layout = {.format = EG_FORMAT_PLAIN};
  if (f->in_formats) layout.format = eg_graph_value(f->graph, value)->type.layout.format;
  return eg_layout_graph_find(eg_plan_space_layouts(f->space, v), &layout);
}

static void choose_original(follower *f, uint32_t node) {
  uint32_t class = f->single->problem.node_class.data[node];
  if (f->choice[class] == EG_EXTRACT_NONE) f->choice[class] = node;
}

// ---- strategies -----------------------------------------------------------------

/// True when an operator of the plan space is a node on the current operands; `payload`
/// is the id of the node's attributes.
static bool is_original_node(const follower *f, const eg_space_operator *op, eg_op kind,
                             uint32_t payload) {
  eg_term term = eg_engine_term(f->engine, op->node);
  return term.op == kind && term.payload == payload &&
         op->input_count == f->operands.len &&
         (op->input_count == 0 ||
          memcmp(f->space->inputs.data + op->inputs, f->operands.data,
                 op->input_count * sizeof(uint32_t)) == 0);
}

static bool has_layouts(const follower *f, const eg_space_operator *op,
                        const eg_space_strategy *strategy, uint32_t output) {
  return strategy->output == output &&
         (op->input_count == 0 ||
          memcmp(f->space->needs.data + strategy->needs, f->layouts.data,
                 op->input_count * sizeof(uint32_t)) == 0);
}

/// Chooses the strategy that makes `v` in a layout from the operands in their layouts.
static egraph_status choose_made(follower *f, uint32_t v, const eg_attrs *attrs,
                                 uint32_t output, bool *out_found) {
  const eg_plan_space *space = f->space;
  eg_attrs_id payload;
  *out_found = false;
  if (v == NONE) return EGRAPH_OK;
  EG_TRY(eg_attr_pool_add(eg_tensor_egraph_attrs(space->egraph), attrs, &payload));
  for (uint32_t o = space->first_operator.data[v]; o < space->first_operator.data[v + 1];
       o++) {
    const eg_space_operator *op = &space->operators.data[o];
    if (!is_original_node(f, op, (eg_op)attrs->op, payload.id)) continue;
    for (uint32_t s = op->strategies; s < op->strategies + op->strategy_count; s++) {
      if (!has_layouts(f, op, &space->strategies.data[s], output)) continue;
      choose_original(f, f->single->node_of.data[s]);
      *out_found = true;
      return EGRAPH_OK;
    }
  }
  return EGRAPH_OK;
}

/// Chooses a reorder for a node that only changes the memory format of a value.
static bool choose_reorder(follower *f, const eg_attrs *attrs, uint32_t v,
                           uint32_t output) {
  if (attrs->op != EG_OP_IDENTITY || f->operands.data[0] != v) return false;
  const eg_layout_moves *moves = &eg_plan_space_layouts(f->space, v)->moves;
  uint32_t from = f->layouts.data[0];
  if (from == output) return true;
  for (uint32_t m = 0; m < moves->len; m++) {
    if (moves->data[m].from != from || moves->data[m].to != output) continue;
    choose_original(f, f->single->first_reorder.data[v] + m);
    return true;
  }
  return false;
}

// ---- nodes ----------------------------------------------------------------------

/// Chooses an e-node for a node with several results: it makes a tuple, which has the
/// layout of its elements.
static egraph_status follow_tuple(follower *f, const eg_graph_node_info *info) {
  uint32_t tuple, layout = NONE;
  EG_TRY(eg_plan_space_find_term(f->space, info->attrs, f->operands.data,
                                 info->input_count, &tuple));
  if (tuple != NONE) layout = original_layout(f, tuple, info->results[0]);
  f->fits = layout != NONE;
  if (!f->fits) return EGRAPH_OK;
  EG_TRY(choose_made(f, tuple, info->attrs, layout, &f->fits));
  f->operands.len = f->layouts.len = 0;
  EG_TRY(eg_u32s_push(&f->operands, tuple));
  EG_TRY(eg_u32s_push(&f->layouts, layout));
  for (uint32_t k = 0; f->fits && k < info->result_count; k++) {
    uint32_t part = original_value(f, info->results[k]);
    eg_attr slot = {.kind = EG_ATTR_INT, .i = k};
    const eg_attrs attrs = {.op = EG_OP_PART, .count = 1, .slots = &slot};
    if (part == NONE) continue; // no output needs it
    EG_TRY(choose_made(f, part, &attrs, original_layout(f, part, info->results[k]),
                       &f->fits));
  }
  return EGRAPH_OK;
}

static egraph_status follow_node(follower *f, eg_graph_node node) {
  eg_graph_node_info info = eg_graph_node_at(f->graph, node);
  uint32_t made = NONE; // the first result that the problem has
  for (uint32_t k = 0; made == NONE && k < info.result_count; k++)
    made = original_value(f, info.results[k]);
  if (made == NONE || f->space->values.data[made].is_constant) return EGRAPH_OK;
  f->operands.len = f->layouts.len = 0;
  for (uint32_t i = 0; i < info.input_count; i++) {
    uint32_t v = original_value(f, info.inputs[i]);
    uint32_t layout = v == NONE ? NONE : original_layout(f, v, info.inputs[i]);
    f->fits = f->fits && layout != NONE;
    EG_TRY(eg_u32s_push(&f->operands, v));
    EG_TRY(eg_u32s_push(&f->layouts, layout));
  }
  if (!f->fits) return EGRAPH_OK;
  if (info.result_count != 1) return follow_tuple(f, &info);
  uint32_t output = original_layout(f, made, info.results[0]);
  EG_TRY(choose_made(f, made, info.attrs, output, &f->fits));
  if (!f->fits) f->fits = output != NONE && choose_reorder(f, info.attrs, made, output);
  return EGRAPH_OK;
}

// ---- the whole ------------------------------------------------------------------

/// Chooses the only strategy of an input of the graph: row-major.
static void follow_input(follower *f, eg_value value) {
  uint32_t v = original_value(f, value);
  if (v == NONE || f->space->values.data[v].is_constant) return;
  f->fits = original_layout(f, v, value) == 0; // without axes the first layout is plain
  for (uint32_t o = f->space->first_operator.data[v];
       o < f->space->first_operator.data[v + 1]; o++) {
    const eg_space_operator *op = &f->space->operators.data[o];
    eg_value seed;
    if (eg_tensor_egraph_seed_value(f->space->egraph, op->node, &seed) &&
        seed.id == value.id)
      choose_original(f, f->single->node_of.data[op->strategies]);
  }
}

static egraph_status follow(follower *f, bool in_formats) {
  f->in_formats = in_formats;
  f->fits = true;
  for (uint32_t c = 0; c < f->single->problem.class_count; c++)
    f->choice[c] = EG_EXTRACT_NONE;
  for (uint32_t i = 0; f->fits && i < eg_graph_value_count(f->graph); i++) {
    const eg_value_info *info = eg_graph_value(f->graph, (eg_value){i});
    if (info->kind != EG_VALUE_COMPUTED)
      follow_input(f, (eg_value){i});
    else if (info->result == 0)
      EG_TRY(follow_node(f, info->node));
  }
  return EGRAPH_OK;
}

egraph_status eg_single_original(const eg_single_problem *single, uint32_t *out_choice,
                                 bool *out_as_given) {
  const eg_plan_space *space = &single->space;
  follower f = {.single = single,
                .space = space,
                .engine = eg_plan_space_engine(space),
                .graph = eg_tensor_egraph_graph(space->egraph),
                .choice = out_choice};
  eg_u32s_init(&f.operands, single->alloc);
  eg_u32s_init(&f.layouts, single->alloc);
  egraph_status status = follow(&f, true);
  *out_as_given = f.fits;
  if (status == EGRAPH_OK && !f.fits) status = follow(&f, false);
  eg_u32s_deinit(&f.operands);
  eg_u32s_deinit(&f.layouts);
  EG_TRY(status);
  if (f.fits) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_INTERNAL, "the original graph is not among its variants");
}

// ---- what costs rest on -----------------------------------------------------------

void eg_cost_basis_count(egraph_cost_basis *inout, eg_cost_source source, bool is_guess) {
  switch (source) {
  case EG_COST_USER: inout->given++; break;
  case EG_COST_MEASURED: *(is_guess ? &inout->guessed : &inout->measured) += 1; break;
  case EG_COST_ESTIMATED: *(is_guess ? &inout->guessed : &inout->estimated) += 1; break;
  case EG_COST_UNPRICED: inout->unpriced++; break;
  case EG_COST_FREE: break;
  }
}

bool eg_cost_basis_has_prices(const egraph_cost_basis *basis) {
  return basis->given + basis->measured + basis->estimated + basis->guessed != 0;
}

typedef struct counter {
  const eg_graph *graph;
  eg_cost_model *costs;
  egraph_report *report;
} counter;

static void count_unknown(const counter *c, eg_graph_node node) {
  const eg_opaque_estimate estimate = eg_graph_opaque_estimate(c->graph, node);
  if (c->report->unsized_values == 0) c->report->unsized_value = estimate.unsized_value;
  c->report->unsized_values += estimate.unsized;
  c->report->unknown_trips += estimate.unknown_trips;
}

static egraph_status count_operator(void *user, eg_graph_node node,
                                    const eg_node_spec *spec) {
  const counter *c = user;
  double seconds;
  eg_cost_source source;
  if (spec->attrs->op == EG_OP_OPAQUE) count_unknown(c, node);
  EG_TRY(eg_cost_seconds(c->costs, spec, &seconds, &source));
  bool is_guess = !isfinite(seconds) ||
                  (source == EG_COST_ESTIMATED && !eg_cost_is_calibrated(c->costs, spec));
  if (source == EG_COST_UNPRICED) c->report->unpriced_seconds += seconds;
  eg_cost_basis_count(&c->report->basis, source, is_guess);
  return EGRAPH_OK;
}

egraph_status eg_cost_basis_report(const eg_graph *graph, egraph_allocator alloc,
                                   eg_cost_model *costs, egraph_report *inout) {
  counter c = {.graph = graph, .costs = costs, .report = inout};
  return eg_graph_visit_specs(graph, alloc, count_operator, &c);
}
