// Builds the plan space of an e-graph: the classes that the roots reach, their formats
// and phases, and the values that exist from the start; then operators with their
// strategies (plan_operators.c), seams, and the useful partial sums.
// SPDX-License-Identifier: Apache-2.0
#include "base/owner.h"
#include "extract/search/extract.h"
#include "ops/typing.h"
#include "optimize/space/format_region.h"
#include "optimize/space/plan_space.h"

// ---- values -----------------------------------------------------------------------

static egraph_status reach_class(eg_plan_space *space, eg_class class, eg_u32s *stack) {
  class = eg_engine_find(eg_plan_space_engine(space), class);
  if (space->value_of[class.id] != EG_SPACE_NONE) return EGRAPH_OK;
  space->value_of[class.id] = 0; // numbered below
  return eg_u32s_push(stack, class.id);
}

static egraph_status reach_all(eg_plan_space *space, eg_u32s *stack) {
  const eg_engine *engine = eg_plan_space_engine(space);
  const eg_graph *graph = eg_tensor_egraph_graph(space->egraph);
  for (uint32_t i = 0; i < eg_graph_output_count(graph); i++)
    EG_TRY(reach_class(space, eg_tensor_egraph_root(space->egraph, i), stack));
  for (uint32_t i = 0; i < space->info->carried_count; i++)
    EG_TRY(reach_class(
        space, eg_tensor_egraph_value_class(space->egraph, space->info->carried[i].entry),
        stack));
  while (stack->len != 0) {
    uint32_t count;
    const eg_node *nodes =
        eg_engine_class_nodes(engine, (eg_class){eg_u32s_pop(stack)}, &count);
    for (uint32_t i = 0; i < count; i++) {
      eg_term term = eg_engine_term(engine, nodes[i]);
      for (uint32_t k = 0; k < term.arity; k++)
        EG_TRY(reach_class(space, term.children[k], stack));
    }
  }
  return EGRAPH_OK;
}

static egraph_status find_layout_graph(eg_plan_space *space, const eg_type *type,
                                       uint32_t formats, const eg_plan_costs *costs,
                                       uint32_t *out) {
  for (uint32_t i = 0; i < space->graphs.len; i++)
    if (eg_type_same(&space->graphs.data[i].type, type) &&
        space->graphs.data[i].formats == formats) {
      *out = i;
      return EGRAPH_OK;
    }
  eg_layout_graph graph;
  eg_layout_graph_init(&graph, space->alloc);
  *out = (uint32_t)space->graphs.len;
  EG_TRY(eg_layout_graphs_push(&space->graphs, graph));
  return eg_layout_graph_build(&space->graphs.data[*out], &space->mesh, type, formats,
                               costs);
}

/// Finds the type whose layouts a value has; for a tuple, its first element's. A value of
/// unknown type keeps the layout in which it is made, like a scalar.
static egraph_status layout_type(const eg_plan_space *space, const eg_tensor_fact *fact,
                                 eg_type *out) {
  *out = eg_type_at(fact->part_count != 0 ? &fact->parts[0] : &fact->type, NULL);
  if (fact->typed && (fact->part_count == 0 || !eg_tensor_part_is_unknown(fact->parts)))
    return EGRAPH_OK;
  *out = (eg_type){.rank = 0};
  if (space->mesh.axis_count != 0)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "a value of unknown type (of an unknown operator) cannot be planned");
  return EGRAPH_OK;
}

static egraph_status add_space_value(eg_plan_space *space, eg_class class,
                                     bool may_have_formats, const eg_plan_costs *costs) {
  const eg_tensor_fact *fact = eg_tensor_egraph_fact(space->egraph, class);
  eg_type type;
  EG_TRY(layout_type(space, fact, &type));
  eg_space_value value = {.class = class,
                          .phase = EG_PHASE_FORWARD,
                          .times = 1,
                          .ahead = EG_NODE_NONE,
                          .is_tuple = fact->part_count != 0};
  EG_TRY(find_layout_graph(space, &type, may_have_formats ? costs->formats : 0, costs,
                           &value.graph));
  space->value_of[class.id] = (uint32_t)space->values.len;
  return eg_space_values_push(&space->values, value);
}

/// Lets both an input and the value that becomes it in the next step have memory formats,
/// if one of them may. True: a flag has changed.
static bool join_carried(const eg_plan_space *space, bool *inout) {
  const eg_step_info *info = space->info;
  bool is_news = false;
  for (uint32_t i = 0; i < info->carried_count; i++) {
    const eg_carried_value *carried = &info->carried[i];
    bool *entry = &inout[eg_tensor_egraph_value_class(space->egraph, carried->entry).id];
    bool *exit = &inout[eg_tensor_egraph_root(space->egraph, carried->output).id];
    is_news = is_news || *entry != *exit;
    *entry = *exit = *entry || *exit;
  }
  return is_news;
}

/// Values that blocks of a folded step pass on need the same layouts, but these values
/// are not known yet. Therefore, if there are convolutions, all values that fit may have
/// memory formats.
static void join_seams(const eg_plan_space *space, bool *inout) {
  const eg_engine *engine = eg_plan_space_engine(space);
  bool is_any = false;
  for (uint32_t i = 0; i < space->class_limit; i++)
    is_any = is_any || inout[i];
  if (space->info->fold.block == NULL || !is_any) return;
  for (eg_class c = eg_engine_first(engine); c.id != EG_CLASS_NONE.id;
       c = eg_engine_next(engine, c))
    inout[c.id] =
        eg_format_fits_fact(eg_tensor_egraph_fact(space->egraph, c), EG_FORMAT_NHWC);
}

static egraph_status number_values(eg_plan_space *space, const eg_plan_costs *costs) {
  const eg_engine *engine = eg_plan_space_engine(space);
  EG_LOCAL(eg_arena, arena, space->alloc);
  bool *may_have; // [classes] formats
  EG_NEW(&arena, space->class_limit, may_have);
  if (costs->formats != 0) {
    EG_TRY(eg_format_region_find(space->egraph, space->alloc, may_have));
    join_seams(space, may_have);
    while (join_carried(space, may_have))
      continue;
  }
  for (eg_class c = eg_engine_first(engine); c.id != EG_CLASS_NONE.id;
       c = eg_engine_next(engine, c))
    if (space->value_of[c.id] != EG_SPACE_NONE)
      EG_TRY(add_space_value(space, c, may_have[c.id], costs));
  return EGRAPH_OK;
}

// ---- what weights alone make --------------------------------------------------------

/// Returns the work to derive a weight: the bytes written, so that leaves are free.
static double derivation_cost(const eg_tensor_fact *fact, const eg_term *term) {
  if (eg_op_info_of((eg_op)term->op)->flags & EG_OPF_LEAF) return 0.0;
  return 1.0 + (fact->part_count == 0 ? (double)eg_type_bytes(&fact->type) : 0.0);
}

static egraph_status add_class(const eg_tensor_egraph *egraph, eg_class class,
                               eg_extract_problem *problem, eg_u32s *nodes) {
  const eg_engine *engine = eg_tensor_egraph_engine_of(egraph);
  const eg_tensor_fact *fact = eg_tensor_egraph_fact(egraph, class);
  if (!fact->weight_only) return EGRAPH_OK;
  EG_TRY(eg_extract_problem_add_root(problem, class.id));
  uint32_t count;
  const eg_node *members = eg_engine_class_nodes(engine, class, &count);
  for (uint32_t i = 0; i < count; i++) {
    eg_term term = eg_engine_term(engine, members[i]);
    uint32_t number;
    EG_TRY(eg_extract_problem_add_node(problem, class.id, derivation_cost(fact, &term),
                                       (const uint32_t *)(const void *)term.children,
                                       term.arity, &number));
    EG_TRY(eg_u32s_push(nodes, members[i].id));
  }
  return EGRAPH_OK;
}

static egraph_status solve_derivations(egraph_allocator alloc,
                                       const eg_extract_problem *problem,
                                       const eg_u32s *nodes, eg_node *out) {
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  options.method = EG_EXTRACT_TREE;
  EG_LOCAL(eg_extract_result, result, alloc);
  EG_TRY(eg_extract_solve(alloc, problem, &options, &result));
  if (result.status == EG_EXTRACT_INFEASIBLE)
    EG_TRY(EG_FAIL(EGRAPH_E_INTERNAL,
                   "a weight has no derivation from the model's weights"));
  for (uint32_t c = 0; c < problem->class_count; c++) {
    uint32_t chosen = result.choice.data[c];
    out[c] = chosen == EG_EXTRACT_NONE ? EG_NODE_NONE : (eg_node){nodes->data[chosen]};
  }
  return EGRAPH_OK;
}

/// Fills `out`, [class limit of the engine]: for each class of weights alone, the e-node
/// of its derivation with the fewest bytes written, otherwise EG_NODE_NONE. The operands
/// of a chosen node have derivations, and there are no cycles.
static egraph_status find_derivations(egraph_allocator alloc,
                                      const eg_tensor_egraph *egraph, eg_node *out) {
  _Static_assert(sizeof(eg_class) == sizeof(uint32_t), "children are class numbers");
  const eg_engine *engine = eg_tensor_egraph_engine_of(egraph);
  EG_OWNED(eg_extract_problem, problem);
  EG_LOCAL(eg_u32s, nodes, alloc);
  EG_TRY(eg_extract_problem_init(&problem, alloc));
  for (uint32_t c = 0, number; c < eg_engine_class_limit(engine); c++)
    EG_TRY(eg_extract_problem_add_class(&problem, &number));
  for (eg_class c = eg_engine_first(engine); c.id != EG_CLASS_NONE.id;
       c = eg_engine_next(engine, c))
    EG_TRY(add_class(egraph, c, &problem, &nodes));
  return solve_derivations(alloc, &problem, &nodes, out);
}

// ---- phases and blocks of values -----------------------------------------------------

// Every value of the seed graph has a phase: the earliest phase of its nodes, or for an
// input the earliest phase of its users. Values that rules have added are made as soon as
// their operands exist.
//
// Blocks of a folded step are found in the same way. A value that is in several blocks
// (equal nodes on values outside) belongs to none. A value that rules have made from
// values of two neighbours belongs to the block that comes later in its phase. A node
// with several results is in the block of its results.

enum { UNKNOWN = EG_PHASE_COUNT };
#define NO_BLOCK (UINT32_MAX - 2) // not known yet

typedef struct timing {
  uint8_t phase;
  bool is_seeded; // known from the graph
} timing;

typedef struct phases {
  eg_plan_space *space;
  timing *of; // [values]
} phases;

/// Returns the space value of a value of the graph; EG_SPACE_NONE: no root reaches it.
static uint32_t phase_value(const phases *p, eg_value value) {
  return eg_plan_space_value(p->space,
                             eg_tensor_egraph_value_class(p->space->egraph, value));
}

static void seed_value(phases *p, eg_value value, eg_phase phase) {
  const uint32_t *block = p->space->info->fold.block;
  uint32_t v = phase_value(p, value);
  if (v == EG_SPACE_NONE) return;
  eg_space_value *mine = &p->space->values.data[v];
  p->of[v].is_seeded = true;
  if (phase < p->of[v].phase) p->of[v].phase = (uint8_t)phase;
  if (block == NULL) return;
  if (mine->block == NO_BLOCK) mine->block = block[value.id];
  if (mine->block != block[value.id]) mine->block = EG_BLOCK_OUTSIDE;
}

static void seed_all(phases *p) {
  const eg_step_info *info = p->space->info;
  const eg_graph *graph = eg_tensor_egraph_graph(p->space->egraph);
  for (uint32_t n = 0; n < eg_graph_node_count(graph); n++) {
    eg_graph_node_info node = eg_graph_node_at(graph, (eg_graph_node){n});
    eg_phase phase = info->phases == NULL ? EG_PHASE_FORWARD : info->phases[n];
    for (uint32_t r = 0; r < node.result_count; r++)
      seed_value(p, node.results[r], phase);
    for (uint32_t i = 0; i < node.input_count; i++)
      if (eg_graph_value(graph, node.inputs[i])->kind != EG_VALUE_COMPUTED)
        seed_value(p, node.inputs[i], phase);
  }
}

/// Returns the tuple of which an e-node takes an element; EG_SPACE_NONE: it takes none.
static uint32_t tuple_of(const phases *p, eg_node node) {
  eg_term term = eg_engine_term(eg_plan_space_engine(p->space), node);
  return term.op == EG_OP_PART ? p->space->value_of[term.children[0].id] : EG_SPACE_NONE;
}

/// Puts a tuple into the block of its elements, if they are values of the graph.
static void seed_tuples(phases *p) {
  eg_space_value *values = p->space->values.data;
  for (uint32_t v = 0; v < p->space->values.len; v++) {
    uint32_t count;
    const eg_node *nodes =
        eg_engine_class_nodes(eg_plan_space_engine(p->space), values[v].class, &count);
    for (uint32_t i = 0; p->of[v].is_seeded && i < count; i++) {
      uint32_t tuple = tuple_of(p, nodes[i]);
      if (tuple != EG_SPACE_NONE && !p->of[tuple].is_seeded)
        values[tuple].block = values[v].block;
    }
  }
}

/// Returns the block of a node whose operands are in two blocks.
static uint32_t join_blocks(uint32_t a, uint32_t b, uint8_t phase) {
  if (a == b || b == EG_BLOCK_OUTSIDE) return a;
  if (a == EG_BLOCK_OUTSIDE) return b;
  if (a == EG_BLOCK_SEVERAL || b == EG_BLOCK_SEVERAL) return EG_BLOCK_SEVERAL;
  uint32_t low = a < b ? a : b, high = a < b ? b : a;
  if (high - low != 1) return EG_BLOCK_SEVERAL;
  return phase == EG_PHASE_BACKWARD ? low : high;
}

/// Lowers the phase and sets the block of a value to what its e-nodes' operands allow.
static bool improve_phase(phases *p, uint32_t v) {
  eg_space_value *values = p->space->values.data, *value = &values[v];
  uint32_t count;
  const eg_node *nodes =
      eg_engine_class_nodes(eg_plan_space_engine(p->space), value->class, &count);
  bool changed = false;
  for (uint32_t i = 0; i < count; i++) {
    eg_term term = eg_engine_term(eg_plan_space_engine(p->space), nodes[i]);
    uint8_t phase = EG_PHASE_FORWARD; // UNKNOWN if an operand's phase is
    for (uint32_t k = 0; k < term.arity; k++) {
      uint8_t operand = p->of[p->space->value_of[term.children[k].id]].phase;
      if (operand > phase) phase = operand;
    }
    if (phase >= p->of[v].phase) continue;
    bool is_known = value->block != NO_BLOCK && p->of[v].phase == UNKNOWN;
    if (!is_known) value->block = EG_BLOCK_OUTSIDE;
    for (uint32_t k = 0; !is_known && k < term.arity; k++)
      value->block = join_blocks(
          value->block, values[p->space->value_of[term.children[k].id]].block, phase);
    p->of[v].phase = phase;
    changed = true;
  }
  return changed;
}

static egraph_status find_phases(eg_plan_space *space) {
  phases own = {.space = space}, *p = &own;
  EG_TRY(eg_alloc(space->alloc, space->values.len, sizeof *p->of, &p->of));
  uint32_t count = (uint32_t)p->space->values.len;
  for (uint32_t v = 0; v < count; v++) {
    p->of[v].phase = UNKNOWN;
    p->space->values.data[v].block = NO_BLOCK;
  }
  seed_all(p);
  seed_tuples(p);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t v = 0; v < count; v++)
      if (!p->of[v].is_seeded && improve_phase(p, v)) changed = true;
  }
  // An input that gets its value from the step before is in the block of that value.
  const eg_step_info *info = p->space->info;
  const eg_graph *graph = eg_tensor_egraph_graph(p->space->egraph);
  for (uint32_t i = 0; i < info->carried_count; i++) {
    uint32_t entry = phase_value(p, info->carried[i].entry);
    uint32_t exit = phase_value(p, eg_graph_output(graph, info->carried[i].output, NULL));
    p->space->values.data[entry].block = p->space->values.data[exit].block;
  }
  for (uint32_t v = 0; v < count; v++) {
    eg_space_value *value = &p->space->values.data[v];
    // A class that only has itself as operand is never made; any phase will do.
    value->phase = p->of[v].phase == UNKNOWN ? EG_PHASE_UPDATE : (eg_phase)p->of[v].phase;
    if (value->block == NO_BLOCK) value->block = EG_BLOCK_OUTSIDE;
    value->times = eg_step_fold_times(&p->space->info->fold, value->block);
  }
  eg_free(space->alloc, p->of, space->values.len, sizeof *p->of);
  return EGRAPH_OK;
}

// ---- partial sums that are of use ---------------------------------------------------

static void note_partials(const eg_mesh *mesh, const eg_layout *layout, uint8_t *sum,
                          uint8_t *max) {
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    if (layout->sharding[a] == EG_SHARD_P_SUM) *sum |= (uint8_t)(1u << a);
    if (layout->sharding[a] == EG_SHARD_P_MAX) *max |= (uint8_t)(1u << a);
  }
}

static void find_partials(eg_plan_space *space) {
  for (uint32_t o = 0; o < space->operators.len; o++) {
    const eg_space_operator *op = &space->operators.data[o];
    eg_space_value *made = &space->values.data[op->value];
    for (uint32_t s = 0; s < op->strategy_count; s++) {
      const eg_space_strategy *strategy = &space->strategies.data[op->strategies + s];
      note_partials(
          &space->mesh,
          &eg_plan_space_layouts(space, op->value)->layouts.data[strategy->output],
          &made->makes_sum, &made->makes_max);
      for (uint32_t i = 0; i < op->input_count; i++) {
        uint32_t v = space->inputs.data[op->inputs + i];
        uint32_t need = space->needs.data[strategy->needs + i];
        eg_space_value *used = &space->values.data[v];
        note_partials(&space->mesh, &eg_plan_space_layouts(space, v)->layouts.data[need],
                      &used->wants_sum, &used->wants_max);
      }
    }
  }
}

/// Lets both values that a link passes between blocks have the same partial sums.
static void share_partials(eg_plan_space *space) {
  for (size_t i = 0; i < space->seams.len; i++) {
    const eg_seam_link *link = &space->seams.data[i];
    eg_space_value *a = &space->values.data[link->value[0]],
                   *b = &space->values.data[link->value[1]];
    a->makes_sum = b->makes_sum |= a->makes_sum;
    a->makes_max = b->makes_max |= a->makes_max;
    a->wants_sum = b->wants_sum |= a->wants_sum;
    a->wants_max = b->wants_max |= a->wants_max;
  }
}

bool eg_plan_space_is_useful(const eg_plan_space *space, uint32_t value,
                             uint32_t layout) {
  const eg_space_value *v = &space->values.data[value];
  uint8_t sum = 0, max = 0;
  note_partials(&space->mesh, &eg_plan_space_layouts(space, value)->layouts.data[layout],
                &sum, &max);
  return (sum & ~(v->makes_sum | v->wants_sum)) == 0 &&
         (max & ~(v->makes_max | v->wants_max)) == 0;
}

// ---- entry points -------------------------------------------------------------------

/// Checks that a value for the next step has the type of the input that it becomes.
static egraph_status check_carried(const eg_plan_space *space) {
  const eg_graph *graph = eg_tensor_egraph_graph(space->egraph);
  for (uint32_t i = 0; i < space->info->carried_count; i++) {
    const eg_carried_value *carried = &space->info->carried[i];
    const char *name;
    eg_value left = eg_graph_output(graph, carried->output, &name);
    const eg_value_info *entry = eg_graph_value(graph, carried->entry),
                        *exit = eg_graph_value(graph, left);
    if (!entry->typed || !exit->typed || !eg_type_same(&entry->type, &exit->type))
      return EG_FAIL(EGRAPH_E_TYPE,
                     "output '%.200s' (%s) cannot enter the next step as '%.200s' (%s); "
                     "what is carried must keep its type and shape",
                     name, eg_type_text_of(&exit->type).text, entry->name,
                     eg_type_text_of(&entry->type).text);
  }
  return EGRAPH_OK;
}

static void mark_carried(eg_plan_space *space) {
  const eg_step_info *info = space->info;
  for (uint32_t i = 0; i < info->carried_count; i++) {
    const eg_carried_value *carried = &info->carried[i];
    eg_class ends[] = {eg_tensor_egraph_value_class(space->egraph, carried->entry),
                       eg_tensor_egraph_root(space->egraph, carried->output)};
    space->values.data[eg_plan_space_value(space, ends[0])].is_carried = true;
    for (int e = 0; carried->is_sum && e < 2; e++)
      space->values.data[eg_plan_space_value(space, ends[e])].is_sum = true;
  }
}

/// Marks weights that no step changes for the next one.
static void mark_constants(eg_plan_space *space) {
  const eg_graph *graph = eg_tensor_egraph_graph(space->egraph);
  const eg_step_info *info = space->info;
  for (uint32_t i = 0; i < eg_graph_value_count(graph); i++) {
    const eg_value value = {i};
    bool is_weight = eg_graph_value(graph, value)->kind == EG_VALUE_WEIGHT;
    uint32_t v = is_weight ? eg_plan_space_value(space, eg_tensor_egraph_value_class(
                                                            space->egraph, value))
                           : EG_SPACE_NONE;
    if (v != EG_SPACE_NONE) space->values.data[v].is_constant = true;
  }
  for (uint32_t i = 0; i < info->carried_count; i++)
    space->values
        .data[eg_plan_space_value(
            space, eg_tensor_egraph_value_class(space->egraph, info->carried[i].entry))]
        .is_constant = false;
}

/// Marks values of weights alone, which are computed before the first step unless steps
/// pass values on: then they are computed in every step.
static egraph_status mark_ahead(eg_plan_space *space) {
  EG_LOCAL(eg_arena, arena, space->alloc);
  eg_node *derivation; // [classes]
  if (space->info->carried_count != 0) return EGRAPH_OK;
  EG_NEW(&arena, space->class_limit, derivation);
  EG_TRY(find_derivations(space->alloc, space->egraph, derivation));
  for (uint32_t v = 0; v < space->values.len; v++) {
    eg_space_value *value = &space->values.data[v];
    value->ahead = derivation[value->class.id];
    if (value->ahead.id != EG_NODE_NONE.id) value->is_constant = value->is_entry = true;
  }
  return EGRAPH_OK;
}

static egraph_status build_space(eg_plan_space *space, const eg_plan_costs *costs) {
  EG_TRY(check_carried(space));
  EG_TRY(eg_alloc(space->alloc, space->class_limit, sizeof *space->value_of,
                  &space->value_of));
  for (uint32_t c = 0; c < space->class_limit; c++)
    space->value_of[c] = EG_SPACE_NONE;
  EG_LOCAL(eg_u32s, stack, space->alloc);
  EG_TRY(reach_all(space, &stack));
  EG_TRY(number_values(space, costs));
  mark_carried(space);
  mark_constants(space);
  EG_TRY(mark_ahead(space));
  EG_TRY(find_phases(space));
  EG_TRY(eg_plan_operators_add(space, costs));
  EG_TRY(eg_plan_seams_find(space));
  find_partials(space);
  share_partials(space);
  return EGRAPH_OK;
}

egraph_status eg_plan_space_init(eg_plan_space *space, egraph_allocator alloc,
                                 eg_tensor_egraph *egraph, const eg_step_info *info,
                                 const eg_mesh *mesh, const eg_plan_costs *costs) {
  *space = (eg_plan_space){.alloc = alloc,
                           .egraph = egraph,
                           .info = info,
                           .mesh = *mesh,
                           .weights = costs->weights,
                           .class_limit =
                               eg_engine_class_limit(eg_tensor_egraph_engine(egraph))};
  EG_INIT_MEMBERS(space, alloc, EG_PLAN_SPACE_MEMBERS)
  EG_RETURN_FILLED(build_space(space, costs), eg_plan_space, space);
}
