// The space is enumerated once to ask for its costs, and again when they are there; what
// it asks for is the same both times.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/single/single_problem.h"

#include <math.h>

#include "base/owner.h"
#include "optimize/price/predict.h"

#define MEMBERS                                                                          \
  (eg_prices, prices), (eg_single_nodes, nodes),                                         \
      (eg_u32s, value, first_class, first_reorder, node_of)

/// One device, and all of the graph forward.
static const eg_mesh one_device = {.axis_count = 0};
static const eg_step_info forward = {
    .micro_batches = 1, .may_make_twice = true, .memory_limit = INFINITY};

// ---- prices ---------------------------------------------------------------------

typedef struct pricing {
  eg_cost_model *costs;
  const bool *again; // [entries] those to be measured again
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

/// A row-major variant that no back-end runs keeps the original graph feasible.
static egraph_status price(void *self, const eg_node_spec *spec, eg_node_price *out) {
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
  eg_plan_space space;
  pricing p = {.costs = source->costs};
  EG_TRY(enumerate(&space, alloc, source, request, &p));
  eg_plan_space_deinit(&space);
  return EGRAPH_OK;
}

egraph_status eg_single_problem_request_again(egraph_allocator alloc,
                                              const eg_single_source *source,
                                              const bool *again) {
  eg_plan_space space;
  pricing p = {.costs = source->costs, .again = again};
  EG_TRY(enumerate(&space, alloc, source, request_again, &p));
  eg_plan_space_deinit(&space);
  return EGRAPH_OK;
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

static egraph_status add_node(eg_single_problem *single, uint32_t class,
                              const eg_u32s *children, eg_single_node node) {
  uint32_t number;
  EG_TRY(eg_extract_problem_add_node(&single->problem, class,
                                     single->prices.data[node.basis].seconds,
                                     children->data, (uint32_t)children->len, &number));
  return eg_single_nodes_push(&single->nodes, node);
}

static egraph_status add_operator(eg_single_problem *single, uint32_t o,
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
    EG_TRY(add_node(single, single->first_class.data[op->value] + strategy->output,
                    children,
                    (eg_single_node){.op = o, .choice = s, .basis = strategy->basis}));
  }
  return EGRAPH_OK;
}

/// Parts of a tuple have reorders, the tuple has none.
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
    EG_TRY(add_node(
        single, first + move->to, children,
        (eg_single_node){.op = EG_SPACE_NONE, .choice = m, .basis = move->basis}));
  }
  return EGRAPH_OK;
}

// ---- entry points ---------------------------------------------------------------

/// `children` is scratch.
static egraph_status build(eg_single_problem *single, const eg_single_source *source,
                           eg_u32s *children) {
  static const eg_price nothing = {.source = EG_COST_FREE, .entry = EG_COST_NO_ENTRY};
  const eg_plan_space *space = &single->space;
  const eg_graph *graph = eg_tensor_egraph_graph(source->egraph);
  pricing p = {.costs = source->costs, .prices = &single->prices};
  EG_TRY(eg_prices_push(&single->prices, nothing));
  EG_TRY(eg_extract_problem_init(&single->problem, single->alloc));
  EG_TRY(enumerate(&single->space, single->alloc, source, price, &p));
  EG_TRY(add_classes(single));
  for (size_t s = 0; s < space->strategies.len; s++)
    EG_TRY(eg_u32s_push(&single->node_of, EG_EXTRACT_NONE));
  for (uint32_t o = 0; o < space->operators.len; o++)
    EG_TRY(add_operator(single, o, children));
  for (uint32_t v = 0; v < space->values.len; v++)
    EG_TRY(add_reorders(single, v, children));
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
  eg_u32s children;
  eg_u32s_init(&children, alloc);
  egraph_status status = build(single, source, &children);
  eg_u32s_deinit(&children);
  if (status != EGRAPH_OK) eg_single_problem_deinit(single);
  return status;
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
