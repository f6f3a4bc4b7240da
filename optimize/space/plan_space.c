// The classes that the roots reach, their phases, and their layouts; operators and their
// strategies are in plan_operators.c.
// SPDX-License-Identifier: Apache-2.0
#include "optimize/space/plan_space.h"

#include <string.h>

#include "ops/typing.h"
#include "optimize/space/derivations.h"
#include "optimize/space/format_region.h"
#include "optimize/space/plan_operators.h"
#include "optimize/space/plan_phases.h"

static const eg_engine *engine_of(const eg_plan_space *space) {
  return eg_tensor_egraph_engine_of(space->egraph);
}

uint32_t eg_plan_space_value(const eg_plan_space *space, eg_class class) {
  return space->value_of[eg_engine_find(engine_of(space), class).id];
}

static egraph_status find_term(const eg_plan_space *space, const eg_attrs *attrs,
                               const uint32_t *operands, uint32_t count, eg_arena *arena,
                               uint32_t *out) {
  eg_attrs_id id;
  eg_class *children, found;
  EG_TRY(eg_arena_alloc(arena, count, sizeof *children, &children));
  for (uint32_t i = 0; i < count; i++)
    children[i] = space->values.data[operands[i]].class;
  EG_TRY(eg_attr_pool_add(eg_tensor_egraph_attrs(space->egraph), attrs, &id));
  eg_term term = {
      .op = attrs->op, .payload = id.id, .arity = count, .children = children};
  if (eg_engine_find_term(engine_of(space), &term, &found))
    *out = eg_plan_space_value(space, found);
  return EGRAPH_OK;
}

egraph_status eg_plan_space_find_term(const eg_plan_space *space, const eg_attrs *attrs,
                                      const uint32_t *operands, uint32_t count,
                                      uint32_t *out) {
  eg_arena arena;
  *out = EG_SPACE_NONE;
  eg_arena_init(&arena, space->alloc);
  egraph_status status = find_term(space, attrs, operands, count, &arena, out);
  eg_arena_deinit(&arena);
  return status;
}

// ---- values -----------------------------------------------------------------------

static egraph_status reach(eg_plan_space *space, eg_class class, eg_u32s *stack) {
  class = eg_engine_find(engine_of(space), class);
  if (space->value_of[class.id] != EG_SPACE_NONE) return EGRAPH_OK;
  space->value_of[class.id] = 0; // numbered below
  return eg_u32s_push(stack, class.id);
}

static egraph_status reach_children(eg_plan_space *space, eg_u32s *stack) {
  const eg_engine *engine = engine_of(space);
  while (stack->len != 0) {
    uint32_t count;
    const eg_node *nodes =
        eg_engine_class_nodes(engine, (eg_class){eg_u32s_pop(stack)}, &count);
    for (uint32_t i = 0; i < count; i++) {
      eg_term term = eg_engine_term(engine, nodes[i]);
      for (uint32_t k = 0; k < term.arity; k++)
        EG_TRY(reach(space, term.children[k], stack));
    }
  }
  return EGRAPH_OK;
}

static egraph_status reach_all(eg_plan_space *space, eg_u32s *stack) {
  const eg_graph *graph = eg_tensor_egraph_graph(space->egraph);
  for (uint32_t i = 0; i < eg_graph_output_count(graph); i++)
    EG_TRY(reach(space, eg_tensor_egraph_root(space->egraph, i), stack));
  for (uint32_t i = 0; i < space->info->carried_count; i++)
    EG_TRY(reach(
        space, eg_tensor_egraph_value_class(space->egraph, space->info->carried[i].entry),
        stack));
  return reach_children(space, stack);
}

static egraph_status graph_of(eg_plan_space *space, const eg_type *type, uint32_t formats,
                              const eg_plan_costs *costs, uint32_t *out) {
  for (uint32_t i = 0; i < space->graphs.len; i++)
    if (eg_type_same(&space->graphs.data[i].type, type) &&
        space->graphs.data[i].formats == formats) {
      *out = i;
      return EGRAPH_OK;
    }
  eg_layout_graph graph;
  eg_layout_graph_init(&graph, space->alloc);
  egraph_status status =
      eg_layout_graph_build(&graph, &space->mesh, type, formats, costs);
  if (status == EGRAPH_OK) status = eg_layout_graphs_push(&space->graphs, graph);
  if (status != EGRAPH_OK) eg_layout_graph_deinit(&graph);
  *out = (uint32_t)space->graphs.len - 1;
  return status;
}

/// The type whose layouts a value has; of a tuple, that of its first part. Where it is
/// not known the value stays as it is made: as a number does.
static egraph_status type_of(const eg_plan_space *space, const eg_tensor_fact *fact,
                             eg_type *out) {
  *out = fact->part_count != 0 ? fact->parts[0] : fact->type;
  if (fact->typed && (fact->part_count == 0 || !eg_tensor_part_is_unknown(fact->parts)))
    return EGRAPH_OK;
  *out = (eg_type){.rank = 0};
  if (space->mesh.axis_count != 0)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "a value of unknown type (of an unknown operator) cannot be planned");
  return EGRAPH_OK;
}

static egraph_status add_value(eg_plan_space *space, eg_class class,
                               bool may_have_formats, const eg_plan_costs *costs) {
  const eg_tensor_fact *fact = eg_tensor_egraph_fact(space->egraph, class);
  eg_type type;
  EG_TRY(type_of(space, fact, &type));
  eg_space_value value = {.class = class,
                          .phase = EG_PHASE_FORWARD,
                          .times = 1,
                          .ahead = EG_NODE_NONE,
                          .is_tuple = fact->part_count != 0};
  EG_TRY(
      graph_of(space, &type, may_have_formats ? costs->formats : 0, costs, &value.graph));
  space->value_of[class.id] = (uint32_t)space->values.len;
  return eg_space_values_push(&space->values, value);
}

static egraph_status add_values(eg_plan_space *space, const bool *may_have_formats,
                                const eg_plan_costs *costs) {
  const eg_engine *engine = engine_of(space);
  for (eg_class c = eg_engine_first(engine); c.id != EG_CLASS_NONE.id;
       c = eg_engine_next(engine, c))
    if (space->value_of[c.id] != EG_SPACE_NONE)
      EG_TRY(add_value(space, c, may_have_formats[c.id], costs));
  return EGRAPH_OK;
}

/// What enters and what leaves as it have the same layouts to choose from.
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

static bool is_any_set(const bool *flags, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (flags[i]) return true;
  return false;
}

/// Which values meet at the seams of a folded step is not known yet, and they have the
/// same layouts, too: where there are convolutions, all that fit have formats.
static void join_seams(const eg_plan_space *space, bool *inout) {
  const eg_engine *engine = engine_of(space);
  if (space->info->fold.block == NULL || !is_any_set(inout, space->class_limit)) return;
  for (eg_class c = eg_engine_first(engine); c.id != EG_CLASS_NONE.id;
       c = eg_engine_next(engine, c))
    inout[c.id] =
        eg_format_fits_fact(eg_tensor_egraph_fact(space->egraph, c), EG_FORMAT_NHWC);
}

static egraph_status find_formats(eg_plan_space *space, bool *out) {
  EG_TRY(eg_format_region_find(space->egraph, space->alloc, out));
  join_seams(space, out);
  while (join_carried(space, out))
    continue;
  return EGRAPH_OK;
}

static egraph_status number_values(eg_plan_space *space, const eg_plan_costs *costs) {
  bool *may_have = NULL;
  EG_TRY(eg_alloc(space->alloc, space->class_limit, sizeof *may_have, &may_have));
  egraph_status status = costs->formats == 0 ? EGRAPH_OK : find_formats(space, may_have);
  if (status == EGRAPH_OK) status = add_values(space, may_have, costs);
  eg_free(space->alloc, may_have, space->class_limit, sizeof *may_have);
  return status;
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

/// What meets at both seams has the same layouts to choose from.
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

double eg_plan_space_bytes(const eg_plan_space *space, uint32_t value, uint32_t layout) {
  const eg_layout_graph *graph = eg_plan_space_layouts(space, value);
  eg_type local =
      eg_sharding_local(&space->mesh, &graph->type, &graph->layouts.data[layout]);
  return (double)eg_type_bytes(&local);
}

// ---- entry points -------------------------------------------------------------------

/// What is carried must fit where it enters, before anything is tied to it.
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

/// Weights that nothing carries from step to step.
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

/// What weights alone make is there from the start, unless some of them change: in a step
/// that carries weights all of it belongs to the step.
static egraph_status mark_ahead(eg_plan_space *space) {
  eg_node *derivation; // [classes]
  if (space->info->carried_count != 0) return EGRAPH_OK;
  EG_TRY(eg_alloc(space->alloc, space->class_limit, sizeof *derivation, &derivation));
  egraph_status status = eg_derivations_find(space->alloc, space->egraph, derivation);
  for (uint32_t v = 0; status == EGRAPH_OK && v < space->values.len; v++) {
    eg_space_value *value = &space->values.data[v];
    value->ahead = derivation[value->class.id];
    if (value->ahead.id != EG_NODE_NONE.id) value->is_constant = value->is_entry = true;
  }
  eg_free(space->alloc, derivation, space->class_limit, sizeof *derivation);
  return status;
}

static egraph_status build(eg_plan_space *space, const eg_plan_costs *costs) {
  EG_TRY(check_carried(space));
  EG_TRY(eg_alloc(space->alloc, space->class_limit, sizeof *space->value_of,
                  &space->value_of));
  for (uint32_t c = 0; c < space->class_limit; c++)
    space->value_of[c] = EG_SPACE_NONE;
  eg_u32s stack;
  eg_u32s_init(&stack, space->alloc);
  egraph_status status = reach_all(space, &stack);
  eg_u32s_deinit(&stack);
  EG_TRY(status);
  EG_TRY(number_values(space, costs));
  mark_carried(space);
  mark_constants(space);
  EG_TRY(mark_ahead(space));
  EG_TRY(eg_plan_phases_find(space));
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
                           .class_limit =
                               eg_engine_class_limit(eg_tensor_egraph_engine(egraph))};
  eg_layout_graphs_init(&space->graphs, alloc);
  eg_space_values_init(&space->values, alloc);
  eg_space_operators_init(&space->operators, alloc);
  eg_u32s_init(&space->first_operator, alloc);
  eg_u32s_init(&space->inputs, alloc);
  eg_u32s_init(&space->needs, alloc);
  eg_space_strategies_init(&space->strategies, alloc);
  eg_seam_links_init(&space->seams, alloc);
  egraph_status status = build(space, costs);
  if (status != EGRAPH_OK) eg_plan_space_deinit(space);
  return status;
}

void eg_plan_space_deinit(eg_plan_space *space) {
  for (size_t i = 0; i < space->graphs.len; i++)
    eg_layout_graph_deinit(&space->graphs.data[i]);
  eg_layout_graphs_deinit(&space->graphs);
  eg_space_values_deinit(&space->values);
  eg_space_operators_deinit(&space->operators);
  eg_u32s_deinit(&space->first_operator);
  eg_u32s_deinit(&space->inputs);
  eg_u32s_deinit(&space->needs);
  eg_space_strategies_deinit(&space->strategies);
  eg_seam_links_deinit(&space->seams);
  eg_free(space->alloc, space->value_of, space->class_limit, sizeof *space->value_of);
  space->value_of = NULL;
}
