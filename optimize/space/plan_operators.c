// Turns e-nodes into operators: prices the strategies on the mesh and keeps, among
// strategies with the same layouts, the cheapest.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/space/groups.h"
#include "optimize/space/plan_space.h"

#include <math.h>

#include "base/hash.h"
#include "base/owner.h"
#include "extract/containers.h"
#include "extract/presolve/landmarks.h"
#include "optimize/price/plan_price.h"
#include "optimize/price/predict.h"
#include "pcg/graph/node_spec.h"
#include "pcg/plan/step_scratch.h"
#include "sim/device_cost.h"

typedef struct adder {
  eg_plan_space *space;
  const eg_plan_costs *costs;
  eg_arena arena;           // of one operator
  eg_strategies strategies; // of one operator
  eg_u32s layouts;          // needs, then the output, of one strategy
  eg_flatmap known;         // layouts -> strategy of the space
  eg_bytes useless;         // by node: no plan needs it
} adder;
EG_OWNER_DEFINE_STATIC(adder, (eg_arena, arena), (eg_strategies, strategies),
                       (eg_u32s, layouts), (eg_flatmap, known), (eg_bytes, useless))

// ---- operands -----------------------------------------------------------------------

static egraph_status spec_of(adder *a, eg_class class, const eg_term *term,
                             eg_node_spec *out) {
  const eg_tensor_fact *fact = eg_tensor_egraph_fact(a->space->egraph, class);
  uint32_t results = fact->part_count == 0 ? 1 : fact->part_count;
  eg_type *types;
  EG_NEW(&a->arena, (size_t)term->arity + results, types);
  for (uint32_t k = 0; k < term->arity;
       k++) // of a tuple, which only a part reads: type 0
    types[k] = eg_tensor_egraph_fact(a->space->egraph, term->children[k])->type;
  types[term->arity] = fact->type;
  for (uint32_t i = 0; i < fact->part_count; i++)
    types[term->arity + i] = fact->parts[i];
  uint64_t constants = 0;
  for (uint32_t k = 0; k < term->arity; k++)
    if (a->space->values.data[a->space->value_of[term->children[k].id]].is_constant)
      constants |= eg_operand_bit(k);
  *out =
      (eg_node_spec){.attrs = eg_tensor_egraph_attrs_at(a->space->egraph, term->payload),
                     .weight_mask = eg_constant_operands(constants, term->arity),
                     .inputs = types,
                     .input_count = term->arity,
                     .results = types + term->arity,
                     .result_count = results};
  return EGRAPH_OK;
}

// ---- strategies ---------------------------------------------------------------------

/// True when strategy `id` has the layouts in `layouts`: operands, then result.
static bool has_layouts(const void *user, uint32_t id, const void *key) {
  const adder *a = user;
  const eg_space_operator *op = key;
  const eg_space_strategy *strategy = &a->space->strategies.data[id];
  for (uint32_t i = 0; i < op->input_count; i++)
    if (a->space->needs.data[strategy->needs + i] != a->layouts.data[i]) return false;
  return strategy->output == a->layouts.data[op->input_count];
}

/// Adds a strategy with the layouts in `layouts` unless a cheaper strategy has them.
static egraph_status keep_strategy(adder *a, eg_space_operator *op, const uint8_t *action,
                                   eg_node_price price, double scratch) {
  eg_plan_space *space = a->space;
  uint64_t hash = eg_hash_bytes(0, a->layouts.data, a->layouts.len * sizeof(uint32_t));
  uint32_t known;
  if (eg_flatmap_find(&a->known, hash, op, has_layouts, a, &known)) {
    eg_space_strategy *other = &space->strategies.data[known];
    if (price.seconds >= other->seconds) return EGRAPH_OK;
    other->seconds = price.seconds;
    other->basis = price.basis;
    other->scratch = scratch;
    memcpy(other->action, action, sizeof other->action);
    return EGRAPH_OK;
  }
  eg_space_strategy strategy = {.needs = (uint32_t)space->needs.len,
                                .output = a->layouts.data[op->input_count],
                                .seconds = price.seconds,
                                .basis = price.basis,
                                .scratch = scratch};
  memcpy(strategy.action, action, sizeof strategy.action);
  EG_TRY(eg_u32s_append(&space->needs, a->layouts.data, op->input_count));
  EG_TRY(eg_space_strategies_push(&space->strategies, strategy));
  op->strategy_count++;
  return eg_flatmap_insert(&a->known, hash, (uint32_t)space->strategies.len - 1);
}

/// Finds the numbers of the layouts of a strategy; *out_legal is false when a value
/// cannot have its layout.
static egraph_status number_layouts(adder *a, const eg_space_operator *op,
                                    const eg_strategy *strategy, bool *out_legal) {
  a->layouts.len = 0;
  *out_legal = true;
  for (uint32_t i = 0; i <= op->input_count; i++) {
    bool is_output = i == op->input_count;
    uint32_t value = is_output ? op->value : a->space->inputs.data[op->inputs + i];
    const eg_layout *layout =
        is_output ? &strategy->result : eg_strategy_input(strategy, i);
    uint32_t number =
        eg_layout_graph_find(eg_plan_space_layouts(a->space, value), layout);
    *out_legal = *out_legal && number != UINT32_MAX;
    EG_TRY(eg_u32s_push(&a->layouts, number));
  }
  return EGRAPH_OK;
}

static egraph_status add_strategy(adder *a, eg_space_operator *op,
                                  const eg_spread *spread, const eg_strategy *strategy) {
  bool legal;
  eg_node_price price = {.basis = 0};
  EG_TRY(number_layouts(a, op, strategy, &legal));
  if (!legal) return EGRAPH_OK;
  EG_TRY(
      eg_strategy_price(a->costs, spread, &a->space->mesh, strategy, &a->arena, &price));
  if (isinf(price.seconds)) return EGRAPH_OK; // the device cannot run it
  size_t scratch = eg_strategy_scratch(&a->space->mesh, spread, strategy);
  return keep_strategy(a, op, strategy->action, price, (double)scratch);
}

/// Adds a strategy in all memory formats.
static egraph_status add_formats(adder *a, eg_space_operator *op, const eg_spread *spread,
                                 const eg_strategy *strategy, uint32_t formats) {
  eg_format_choice choices[EG_MAX_FORMAT_CHOICES];
  uint32_t count;
  EG_TRY(eg_spread_formats(spread, &a->space->mesh, strategy, formats, &a->arena, choices,
                           &count));
  for (uint32_t i = 0; i < count; i++) {
    eg_strategy mine = *strategy;
    eg_strategy_set_formats(&mine, &choices[i]);
    EG_TRY(add_strategy(a, op, spread, &mine));
  }
  return EGRAPH_OK;
}

static egraph_status add_strategies(adder *a, eg_space_operator *op,
                                    const eg_spread *spread, bool may_repeat) {
  const eg_plan_space *space = a->space;
  double devices = eg_mesh_devices(&space->mesh);
  uint32_t formats = eg_plan_space_layouts(space, op->value)->formats;
  for (uint32_t i = 0; i < op->input_count; i++)
    formats |= eg_plan_space_layouts(space, space->inputs.data[op->inputs + i])->formats;
  for (size_t s = 0; s < a->strategies.len; s++) {
    const eg_strategy *strategy = &a->strategies.data[s];
    // Excludes strategies in which devices repeat the work of an operator that
    // multiplies.
    bool repeats =
        eg_device_cost_is_heavy(&spread->spec) && strategy->share * devices > 1.5;
    if (!may_repeat && repeats) continue;
    EG_TRY(formats == 0 ? add_strategy(a, op, spread, strategy)
                        : add_formats(a, op, spread, strategy, formats));
  }
  return EGRAPH_OK;
}

// ---- e-nodes that no plan uses --------------------------------------------------------

// Useless e-nodes are found before their strategies are enumerated: nodes that run before
// their operands exist, nodes that rules have made from values they must leave unchanged
// (step_info.h), and nodes that only lead back to their source, such as y = reshape(z)
// where z is a reshape of y. Bounds by dual ascent see no cycles: a loop of nodes that
// cost nothing would hide the cost of everything behind it.
//
// The values are a plain extraction problem, whose landmarks
// (extract/presolve/landmarks.h) list what every derivation of a value needs. Only nodes
// flagged by landmarks are removed; therefore the derivations of all other values, and
// the landmarks, stay unchanged.

typedef struct loop_finder {
  const eg_plan_space *space;
  const eg_engine *engine;
  eg_extract_problem problem; // a class per value
  eg_u32s node;               // [nodes of the problem] e-node
  eg_u32s children;
  eg_class_index index;
  eg_landmarks landmarks;
  eg_bytes is_fixed; // [values] rules leave it as it is
  eg_bytes *out;
} loop_finder;
EG_OWNER_DEFINE_STATIC(loop_finder, (eg_u32s, node, children), (eg_class_index, index),
                       (eg_landmarks, landmarks), (eg_bytes, is_fixed))

/// True when no operand is made in a later phase than the value: an operator runs in the
/// phase of its value.
static bool is_timely(const loop_finder *f, uint32_t value) {
  const eg_space_value *values = f->space->values.data;
  for (size_t k = 0; k < f->children.len; k++)
    if (values[f->children.data[k]].phase > values[value].phase) return false;
  return true;
}

/// Adds an e-node to the extraction problem, or flags it as useless.
static egraph_status add_loop_node(loop_finder *f, uint32_t value, eg_node node) {
  eg_term term = eg_engine_term(f->engine, node);
  uint32_t number;
  f->children.len = 0;
  for (uint32_t k = 0; k < term.arity; k++)
    EG_TRY(eg_u32s_push(&f->children, f->space->value_of[term.children[k].id]));
  uint32_t reason = eg_engine_node_reason(f->engine, node);
  bool is_made = reason != EG_REASON_SEED && reason != EG_GROUP_REASON;
  if (!is_timely(f, value) || (is_made && f->is_fixed.data[value] != 0)) {
    f->out->data[node.id] = 1;
    return EGRAPH_OK;
  }
  EG_TRY(eg_extract_problem_add_node(&f->problem, value, 0, f->children.data, term.arity,
                                     &number));
  return eg_u32s_push(&f->node, node.id);
}

static egraph_status flag_useless(loop_finder *f) {
  const eg_plan_space *space = f->space;
  const eg_step_info *info = space->info;
  const eg_patience patience = {.deadline = INFINITY};
  uint32_t count;
  bool done;
  EG_TRY(eg_bytes_resize(&f->is_fixed, space->values.len));
  for (uint32_t i = 0; i < info->fixed_count; i++) {
    uint32_t v = eg_plan_space_value(
        space, eg_tensor_egraph_value_class(space->egraph, (eg_value){info->fixed[i]}));
    if (v != EG_SPACE_NONE) f->is_fixed.data[v] = 1;
  }
  f->problem.class_count = (uint32_t)space->values.len;
  for (uint32_t v = 0; v < space->values.len; v++) {
    const eg_node *nodes =
        eg_engine_class_nodes(f->engine, space->values.data[v].class, &count);
    for (uint32_t i = 0; i < count; i++)
      EG_TRY(add_loop_node(f, v, nodes[i]));
  }
  EG_TRY(eg_class_index_build(&f->index, &f->problem));
  EG_TRY(eg_landmarks_find(&f->landmarks, &f->problem, &f->index, patience, &done));
  for (uint32_t n = 0; done && n < eg_extract_node_count(&f->problem); n++)
    if (eg_landmarks_node_has(&f->landmarks, &f->problem, n,
                              f->problem.node_class.data[n]))
      f->out->data[f->node.data[n]] = 1;
  return EGRAPH_OK;
}

/// Flags the nodes (all flags are 0 before) with an operand made in a later phase than
/// their value, or with an operand whose every derivation needs the value; no plan is
/// lost. Phases of values are known; operators do not exist yet.
static egraph_status find_useless(const eg_plan_space *space, eg_bytes *inout) {
  EG_LOCAL_WITH(loop_finder, f, space->alloc, .space = space,
                .engine = eg_plan_space_engine(space), .out = inout);
  EG_TRY(eg_extract_problem_init(&f.problem, space->alloc));
  egraph_status status = flag_useless(&f);
  eg_extract_problem_deinit(&f.problem);
  return status;
}

// ---- operators ----------------------------------------------------------------------

/// True when an input can enter the step in a layout: in a memory format only from the
/// step before, as the caller's inputs have none; as a partial sum only if it is a sum
/// over micro-batches, which begins as zero.
static bool can_enter(const adder *a, const eg_space_value *value,
                      const eg_layout *layout) {
  if (layout->format != EG_FORMAT_PLAIN && !value->is_carried) return false;
  for (uint32_t x = 0; x < a->space->mesh.axis_count; x++) {
    uint8_t digit = layout->sharding[x];
    if (digit == EG_SHARD_P_MAX || (digit == EG_SHARD_P_SUM && !value->is_sum))
      return false;
  }
  return true;
}

static const uint8_t nothing[EG_MAX_MESH_AXES] = {0};
static const eg_node_price free_of_cost = {.seconds = 0};

/// Adds inputs and weights in every layout in which they can enter, at no cost.
static egraph_status add_leaf(adder *a, eg_space_operator *op) {
  const eg_layout_graph *graph = eg_plan_space_layouts(a->space, op->value);
  for (uint32_t l = 0; l < graph->layouts.len; l++) {
    a->layouts.len = 0;
    if (!can_enter(a, &a->space->values.data[op->value], &graph->layouts.data[l]))
      continue;
    EG_TRY(eg_u32s_push(&a->layouts, l));
    EG_TRY(keep_strategy(a, op, nothing, free_of_cost, 0));
  }
  return EGRAPH_OK;
}

/// Finds the factors (loop indexes) of the operator that makes a tuple. The first e-node
/// of its class stands for all: they give their results the same layouts (attention with
/// shared keys and with repeated ones indexes both results by the same heads).
static egraph_status tuple_factors(adder *a, uint32_t tuple, eg_factors *out) {
  eg_class class = a->space->values.data[tuple].class;
  const eg_engine *engine = eg_plan_space_engine(a->space);
  uint32_t count;
  eg_term term = eg_engine_term(engine, *eg_engine_class_nodes(engine, class, &count));
  eg_node_spec spec;
  eg_spread spread;
  EG_TRY(spec_of(a, class, &term, &spec));
  EG_TRY(eg_spec_at_example(&a->arena, &spec, &spec));
  EG_TRY(eg_spread_init(&spec, &spread));
  *out = spread.factors;
  return EGRAPH_OK;
}

/// Adds an element of a tuple, at no cost, in the layout that follows from each layout of
/// the tuple.
static egraph_status add_element(adder *a, eg_space_operator *op, uint32_t index) {
  uint32_t tuple = a->space->inputs.data[op->inputs];
  const eg_layout_graph *from = eg_plan_space_layouts(a->space, tuple);
  const eg_layout_graph *to = eg_plan_space_layouts(a->space, op->value);
  eg_factors factors = {.count = 0};
  if (a->space->mesh.axis_count != 0) EG_TRY(tuple_factors(a, tuple, &factors));
  for (uint32_t l = 0; l < from->layouts.len; l++) {
    eg_layout layout = eg_factors_result_layout(&factors, &a->space->mesh,
                                                &from->layouts.data[l], index);
    uint32_t number = eg_layout_graph_find(to, &layout);
    if (number == UINT32_MAX) continue;
    a->layouts.len = 0;
    EG_TRY(eg_u32s_push(&a->layouts, l));
    EG_TRY(eg_u32s_push(&a->layouts, number));
    EG_TRY(keep_strategy(a, op, nothing, free_of_cost, 0));
  }
  return EGRAPH_OK;
}

/// Adds the strategy of an operator that reads and makes row-major tensors.
static egraph_status add_plain(adder *a, eg_space_operator *op, eg_node_price price) {
  a->layouts.len = 0;
  for (uint32_t i = 0; i <= op->input_count; i++)
    EG_TRY(eg_u32s_push(&a->layouts, 0)); // without axes the first layout is plain
  return keep_strategy(a, op, nothing, price, 0);
}

/// Adds an unknown operator, which reads and makes row-major tensors. Its cost is
/// unknown, but every plan pays it.
static egraph_status add_unknown(adder *a, eg_space_operator *op, const eg_attrs *attrs) {
  if (a->space->mesh.axis_count != 0)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "an operator that is not known ('%.200s') cannot be planned",
                   eg_attr_at(attrs, EG_A_OPAQUE_KEY)->text);
  const eg_graph *graph = eg_tensor_egraph_graph(a->space->egraph);
  eg_graph_node node;
  if (!eg_graph_find_opaque(graph, eg_attr_at(attrs, EG_A_OPAQUE_KEY)->text, &node))
    return EG_FAIL(EGRAPH_E_INTERNAL, "an operator that is not known has no record");
  const eg_node_spec spec = eg_graph_opaque_spec(graph, node);
  eg_node_price price = {.basis = 0};
  EG_TRY(a->costs->node(a->costs->self, &spec, &price));
  return add_plain(a, op, price);
}

static egraph_status add_spread(adder *a, eg_space_operator *op, eg_class class,
                                const eg_term *term) {
  eg_node_spec spec;
  eg_spread spread;
  a->strategies.len = 0;
  EG_TRY(spec_of(a, class, term, &spec));
  EG_TRY(eg_spec_at_example(&a->arena, &spec, &spec));
  EG_TRY(eg_spread_init(&spec, &spread));
  EG_TRY(eg_spread_strategies(&spread, &a->space->mesh, &a->arena, &a->strategies));
  EG_TRY(add_strategies(a, op, &spread, !a->costs->compute_is_free));
  // If no axis divides the sizes, the devices repeat the work, because there must be a
  // strategy.
  return op->strategy_count != 0 ? EGRAPH_OK : add_strategies(a, op, &spread, true);
}

static eg_space_operator open_operator(const eg_plan_space *space, uint32_t value,
                                       eg_node node) {
  return (eg_space_operator){.node = node,
                             .value = value,
                             .inputs = (uint32_t)space->inputs.len,
                             .strategies = (uint32_t)space->strategies.len};
}

static egraph_status add_space_operator(adder *a, uint32_t value, eg_node node) {
  eg_plan_space *space = a->space;
  eg_term term = eg_engine_term(eg_plan_space_engine(a->space), node);
  if (a->useless.data[node.id] != 0) return EGRAPH_OK;
  eg_space_operator op = open_operator(space, value, node);
  op.input_count = term.arity;
  for (uint32_t k = 0; k < term.arity; k++)
    EG_TRY(eg_u32s_push(&space->inputs, space->value_of[term.children[k].id]));
  eg_flatmap_clear(&a->known);
  bool is_leaf = term.op == EG_OP_INPUT || term.op == EG_OP_WEIGHT;
  if (is_leaf) space->values.data[value].is_entry = true;
  if (term.op == EG_OP_OPAQUE)
    EG_TRY(add_unknown(a, &op, eg_tensor_egraph_attrs_at(space->egraph, term.payload)));
  else if (is_leaf)
    EG_TRY(add_leaf(a, &op));
  else if (term.op == EG_OP_PART)
    EG_TRY(add_element(
        a, &op,
        (uint32_t)eg_attr_at(eg_tensor_egraph_attrs_at(space->egraph, term.payload),
                             EG_A_PART_INDEX)
            ->i));
  else
    EG_TRY(add_spread(a, &op, space->values.data[value].class, &term));
  eg_arena_deinit(&a->arena);
  return eg_space_operators_push(&space->operators, op);
}

static egraph_status add_operators(adder *a, uint32_t value) {
  const eg_space_value *mine = &a->space->values.data[value];
  uint32_t count;
  if (mine->ahead.id != EG_NODE_NONE.id) { // it enters like a weight
    eg_space_operator op = open_operator(a->space, value, mine->ahead);
    eg_flatmap_clear(&a->known);
    EG_TRY(add_leaf(a, &op));
    return eg_space_operators_push(&a->space->operators, op);
  }
  const eg_node *nodes =
      eg_engine_class_nodes(eg_plan_space_engine(a->space), mine->class, &count);
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(add_space_operator(a, value, nodes[i]));
  return EGRAPH_OK;
}

static egraph_status add_all(adder *a) {
  eg_plan_space *space = a->space;
  EG_TRY(eg_u32s_push(&space->first_operator, 0));
  for (uint32_t v = 0; v < space->values.len; v++) {
    EG_TRY(add_operators(a, v));
    EG_TRY(eg_u32s_push(&space->first_operator, (uint32_t)space->operators.len));
  }
  return EGRAPH_OK;
}

egraph_status eg_plan_operators_add(eg_plan_space *space, const eg_plan_costs *costs) {
  EG_LOCAL_WITH(adder, a, space->alloc, .space = space, .costs = costs);
  EG_TRY(
      eg_bytes_resize(&a.useless, eg_engine_node_limit(eg_plan_space_engine(a.space))));
  if (!space->info->may_make_twice) EG_TRY(find_useless(space, &a.useless));
  return add_all(&a);
}
