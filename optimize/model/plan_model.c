// SPDX-License-Identifier: Apache-2.0
#include "optimize/model/plan_model.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/owner.h"

typedef struct builder {
  eg_plan_model *model;
  const eg_plan_space *space;
  const eg_plan_limits *limits; // NULL: none
  bool is_open;
  eg_bytes uses;  // [values] bit per phase that needs a copy; LEAVES
  eg_bytes again; // [values] flag: BACKWARD may make it again
  eg_bytes costs; // [values] flag: a view of it, or it as a view, costs seconds
  // For each layout of a value of the plan space, its number in the layout problem; NONE:
  // the layout is useless.
  eg_u32s number, first_number; // [layouts], [values]
  eg_u32s needs, inputs;        // of one strategy, of one operator
} builder;
EG_OWNER_DEFINE_STATIC(builder, (eg_bytes, uses, again, costs),
                       (eg_u32s, number, first_number, needs, inputs))

#define MEMBERS                                                                          \
  (eg_model_values, values),                                                             \
      (eg_u32s, layouts, operators, strategies, moves, copies, entries, views, handed),  \
      (eg_layout_seam_list, seams), (eg_doubles, unpriced, unpriced_arcs)

/// Flag next to the phase bits: the value must leave the step in the layout it
/// entered in.
enum { LEAVES = 1 << EG_PHASE_COUNT };

static const eg_space_value *model_space_value(const builder *b, uint32_t v) {
  return &b->space->values.data[v];
}

static uint32_t layout_count(const builder *b, uint32_t v) {
  return (uint32_t)eg_plan_space_layouts(b->space, v)->layouts.len;
}

/// Returns the number in the layout problem for a layout of the plan space;
/// EG_SPACE_NONE: the layout is useless.
static uint32_t layout_number(const builder *b, uint32_t v, uint32_t layout) {
  return b->number.data[b->first_number.data[v] + layout];
}

static uint32_t *copy_of(const builder *b, uint32_t v, eg_phase phase) {
  return &b->model->copies.data[(size_t)v * EG_PHASE_COUNT + phase];
}

/// True when BACKWARD reads a value that it may make again.
static bool is_made_again(const builder *b, uint32_t v) {
  return b->again.data[v] != 0 && (b->uses.data[v] >> EG_PHASE_BACKWARD & 1) != 0;
}

// ---- values -----------------------------------------------------------------------

static uint32_t output_value(const builder *b, uint32_t output) {
  return eg_plan_space_value(b->space, eg_tensor_egraph_root(b->space->egraph, output));
}

static bool is_output(const builder *b, uint32_t v) {
  uint32_t count = eg_graph_output_count(eg_tensor_egraph_graph(b->space->egraph));
  for (uint32_t i = 0; i < count; i++)
    if (output_value(b, i) == v) return true;
  return false;
}

static egraph_status number_layouts(builder *b) {
  for (uint32_t v = 0; v < b->space->values.len; v++) {
    bool has_all = b->limits == NULL || is_output(b, v); // outputs have their own limits
    EG_TRY(eg_u32s_push(&b->first_number, (uint32_t)b->number.len));
    for (uint32_t l = 0, kept = 0; l < layout_count(b, v); l++) {
      bool is_in = has_all; // or the limits allow it in some place
      for (uint32_t place = 0; !is_in && place < EG_LIMIT_PLACES; place++)
        is_in = eg_plan_limits_allow_place(b->limits, v, place, l);
      is_in = is_in && eg_plan_space_is_useful(b->space, v, l);
      EG_TRY(eg_u32s_push(&b->number, is_in ? kept++ : EG_SPACE_NONE));
    }
  }
  return EGRAPH_OK;
}

static egraph_status find_uses(builder *b) {
  const eg_plan_space *space = b->space;
  EG_TRY(eg_bytes_resize(&b->uses, space->values.len));
  for (uint32_t o = 0; o < space->operators.len; o++) {
    const eg_space_operator *op = &space->operators.data[o];
    for (uint32_t i = 0; i < op->input_count; i++)
      b->uses.data[space->inputs.data[op->inputs + i]] |=
          (uint8_t)(1u << model_space_value(b, op->value)->phase);
  }
  for (uint32_t v = 0; v < space->values.len; v++)
    b->uses.data[v] |= (uint8_t)(1u << model_space_value(b, v)->phase);
  for (uint32_t i = 0; i < space->info->carried_count; i++)
    b->uses.data[eg_plan_space_value(
        space, eg_tensor_egraph_root(space->egraph, space->info->carried[i].output))] |=
        LEAVES;
  return EGRAPH_OK;
}

/// Takes out the values that go from block to block.
static void keep_seams(builder *b) {
  const eg_plan_space *space = b->space;
  for (size_t i = 0; i < space->seams.len; i++)
    for (uint32_t e = 0; e < EG_SEAMS; e++)
      b->again.data[space->seams.data[i].value[e]] = 0;
  for (uint32_t i = 0; i < space->info->seam_count; i++) {
    eg_value seam = {space->info->seams[i]};
    uint32_t v =
        eg_plan_space_value(space, eg_tensor_egraph_value_class(space->egraph, seam));
    if (v != EG_SPACE_NONE) b->again.data[v] = 0;
  }
}

/// Finds the values that BACKWARD may make again; it needs copies of their operands.
static egraph_status find_again(builder *b) {
  const eg_plan_space *space = b->space;
  EG_TRY(eg_bytes_resize(&b->again, space->values.len));
  if (!space->info->makes_again) return EGRAPH_OK;
  for (uint32_t v = 0; v < space->values.len; v++) {
    const eg_space_value *value = model_space_value(b, v);
    b->again.data[v] =
        value->phase == EG_PHASE_FORWARD && !value->is_entry && !value->is_sum;
  }
  keep_seams(b);
  for (bool grows = true; grows;) {
    grows = false;
    for (uint32_t o = (uint32_t)space->operators.len; o-- > 0;) {
      const eg_space_operator *op = &space->operators.data[o];
      if (!is_made_again(b, op->value)) continue;
      for (uint32_t i = 0; i < op->input_count; i++) {
        uint8_t *uses = &b->uses.data[space->inputs.data[op->inputs + i]];
        grows = grows || (*uses >> EG_PHASE_BACKWARD & 1) == 0;
        *uses |= 1u << EG_PHASE_BACKWARD;
      }
    }
  }
  return EGRAPH_OK;
}

/// Adds a value to the layout problem, with the useful layouts of space value `like`.
static egraph_status add_model_value(builder *b, eg_model_role role, uint32_t v,
                                     uint32_t like, eg_phase phase, uint32_t *out) {
  const eg_space_value *value = model_space_value(b, v);
  eg_model_value mine = {.role = role,
                         .value = v,
                         .phase = phase,
                         .layouts = (uint32_t)b->model->layouts.len};
  uint32_t count = 0;
  for (uint32_t l = 0; l < layout_count(b, like); l++) {
    if (layout_number(b, like, l) == EG_SPACE_NONE) continue;
    EG_TRY(eg_u32s_push(&b->model->layouts, l));
    count++;
  }
  EG_TRY(eg_model_values_push(&b->model->values, mine));
  double runs = phase == EG_PHASE_UPDATE ? 1 : b->space->info->micro_batches;
  return eg_layout_problem_add_value(&b->model->problem, count, runs * value->times,
                                     value->times, out);
}

static egraph_status add_moves(builder *b, uint32_t v, eg_phase phase, uint32_t copy) {
  const eg_layout_graph *graph = eg_plan_space_layouts(b->space, v);
  const eg_space_value *value = model_space_value(b, v);
  if (value->is_tuple) return EGRAPH_OK;
  for (uint32_t m = 0; m < graph->moves.len; m++) {
    const eg_layout_move *move = &graph->moves.data[m];
    double weight = eg_transition_weight(b->space->weights, &move->transition, phase,
                                         eg_space_value_made(value));
    eg_layout_arc arc = {.value = copy,
                         .from = layout_number(b, v, move->from),
                         .to = layout_number(b, v, move->to),
                         .cost = move->seconds * weight};
    if (arc.from == EG_SPACE_NONE || arc.to == EG_SPACE_NONE) continue;
    bool masks = move->transition.kind == EG_TRANSITION_MASK;
    if (masks && (value->wants_sum >> move->transition.axis & 1) == 0) continue;
    if (b->limits != NULL &&
        !eg_plan_limits_allow_move(b->limits, v, phase, &move->transition))
      continue;
    EG_TRY(eg_layout_problem_add_arc(&b->model->problem, &arc));
    EG_TRY(eg_u32s_push(&b->model->moves, m));
  }
  return EGRAPH_OK;
}

static egraph_status add_values(builder *b) {
  for (uint32_t v = 0; v < b->space->values.len; v++) {
    uint32_t entry = EG_SPACE_NONE;
    if (model_space_value(b, v)->is_entry)
      EG_TRY(add_model_value(b, EG_MODEL_ENTRY, v, v, EG_PHASE_UPDATE, &entry));
    EG_TRY(eg_u32s_push(&b->model->entries, entry));
    for (uint32_t q = 0; q < EG_PHASE_COUNT; q++) {
      uint32_t copy = EG_SPACE_NONE;
      if ((b->uses.data[v] >> q & 1) != 0) {
        EG_TRY(add_model_value(b, EG_MODEL_COPY, v, v, (eg_phase)q, &copy));
        EG_TRY(add_moves(b, v, (eg_phase)q, copy));
      }
      EG_TRY(eg_u32s_push(&b->model->copies, copy));
    }
  }
  return EGRAPH_OK;
}

/// Adds a problem value for one end of a link between blocks, if the two ends are
/// independent. Its layouts are all layouts of the value, under their own numbers, and
/// "absent". It costs a potential, which is shared by all copies of the block.
static egraph_status add_end(builder *b, uint32_t v, eg_phase phase) {
  eg_model_value mine = {.role = EG_MODEL_HANDED,
                         .value = v,
                         .phase = phase,
                         .layouts = (uint32_t)b->model->layouts.len};
  uint32_t end;
  for (uint32_t l = 0; l < layout_count(b, v); l++)
    EG_TRY(eg_u32s_push(&b->model->layouts, l));
  EG_TRY(eg_u32s_push(&b->model->layouts, EG_SPACE_NONE));
  EG_TRY(eg_model_values_push(&b->model->values, mine));
  EG_TRY(eg_layout_problem_add_value(&b->model->problem, layout_count(b, v) + 1, 1, 0,
                                     &end));
  return eg_u32s_push(&b->model->handed, end);
}

/// Returns the number of links of the model: links of the space, and once more for users
/// that are made again.
static uint32_t link_count(const builder *b) {
  return (uint32_t)b->space->seams.len * (b->space->info->makes_again ? 2 : 1);
}

static const eg_seam_link *link_at(const builder *b, uint32_t link) {
  return &b->space->seams.data[link % b->space->seams.len];
}

/// True when a link of the model exists: its users may be made again, at both seams.
static bool has_link(const builder *b, uint32_t link) {
  const eg_seam_link *at = link_at(b, link);
  if (link < b->space->seams.len) return true;
  for (uint32_t e = 0; e < EG_SEAMS; e++)
    if (!is_made_again(b, at->user[e])) return false;
  return true;
}

static egraph_status add_link(builder *b, uint32_t link, uint32_t seam) {
  uint32_t v = link_at(b, link)->value[seam], handed = EG_SPACE_NONE;
  uint32_t ends = b->is_open ? EG_LINK_ENDS : 1;
  bool is_again = link >= b->space->seams.len;
  eg_phase phase = is_again ? EG_PHASE_BACKWARD
                            : model_space_value(b, link_at(b, link)->user[seam])->phase;
  if (has_link(b, link)) {
    for (uint32_t end = 0; b->is_open && end < ends; end++)
      EG_TRY(add_end(b, v, phase));
    if (b->is_open) return EGRAPH_OK;
    EG_TRY(add_model_value(b, EG_MODEL_HANDED, v, v, phase, &handed));
    return eg_u32s_push(&b->model->handed, handed);
  }
  for (uint32_t end = 0; end < ends; end++)
    EG_TRY(eg_u32s_push(&b->model->handed, EG_SPACE_NONE));
  return EGRAPH_OK;
}

static egraph_status add_handed(builder *b) {
  for (uint32_t i = 0; i < link_count(b); i++)
    for (uint32_t e = 0; e < EG_SEAMS; e++)
      EG_TRY(add_link(b, i, e));
  return EGRAPH_OK;
}

// ---- operators ----------------------------------------------------------------------

static egraph_status open_operator(builder *b, uint32_t value, const uint32_t *inputs,
                                   uint32_t count, uint32_t operator_of_space) {
  uint32_t number;
  EG_TRY(
      eg_layout_problem_add_operator(&b->model->problem, value, inputs, count, &number));
  return eg_u32s_push(&b->model->operators, operator_of_space);
}

// Memory rows (sums with a limit): the bytes held at the end of FORWARD, and at the end
// of BACKWARD. Inputs and weights count in both rows; a value that one phase stores for a
// later one counts in the rows between their ends. With several micro-batches the next
// FORWARD begins after BACKWARD: values for UPDATE are held all the time, and the second
// row is redundant.
enum { FORWARD_END, BACKWARD_END, ROWS };
enum { WHOLE_STEP = (1u << ROWS) - 1 };

static uint32_t row_count(const builder *b) {
  return b->space->info->micro_batches > 1 ? 1 : ROWS;
}

/// Returns the memory rows that count a value which phase p stores for phase q.
static uint32_t rows_between(const builder *b, eg_phase p, eg_phase q) {
  if (b->space->info->micro_batches > 1) return WHOLE_STEP;
  uint32_t rows = 0;
  if (p == EG_PHASE_FORWARD) rows |= 1u << FORWARD_END;
  if (q == EG_PHASE_UPDATE) rows |= 1u << BACKWARD_END;
  return rows;
}

static void take_memory(const builder *b, double bytes, uint32_t rows, double *memory) {
  for (uint32_t r = 0; r < row_count(b); r++)
    memory[r] = (rows >> r & 1) != 0 ? bytes : 0;
}

/// Adds the operator that stores value `from` as `to` in the same layout; both have the
/// layouts of space value v. Storing adds the value's bytes to the memory rows `rows`.
static egraph_status add_kept(builder *b, uint32_t v, uint32_t from, uint32_t to,
                              uint32_t rows) {
  EG_TRY(open_operator(b, to, &from, 1, EG_SPACE_NONE));
  for (uint32_t l = 0; l < layout_count(b, v); l++) {
    uint32_t number = layout_number(b, v, l);
    if (number == EG_SPACE_NONE) continue;
    eg_layout_strategy strategy = {.needs = &number, .output = number};
    take_memory(b, eg_plan_space_bytes(b->space, v, l), rows, strategy.memory);
    EG_TRY(eg_layout_problem_add_strategy(&b->model->problem, &strategy));
    EG_TRY(eg_u32s_push(&b->model->strategies, EG_SPACE_NONE));
  }
  return EGRAPH_OK;
}

// A device may keep one storage for all values that views connect. The value that counts
// for all of them is one that reuses another storage, if there is one: an entry, or what
// becomes an entry; otherwise one that a later phase uses, first one that is not made
// again. Among several it is the one with the lowest class. Where the views cost nothing,
// a value that may be made again counts its own bytes where it is kept instead.

static uint32_t counted_value(builder *b, uint32_t v) {
  uint32_t *of = b->model->views.data;
  for (; of[v] != v; v = of[v])
    of[v] = of[of[v]];
  return v;
}

static uint32_t claim_of(const builder *b, uint32_t v) {
  const eg_space_value *value = model_space_value(b, v);
  uint32_t phases = b->uses.data[v] & ((1u << EG_PHASE_COUNT) - 1);
  if (value->is_entry || value->is_sum || (b->uses.data[v] & LEAVES) != 0) return 3;
  if (phases >> (value->phase + 1) == 0) return 0;
  return b->again.data[v] == 0 ? 2 : 1;
}

/// True when value v counts for value w.
static bool counts_for(const builder *b, uint32_t v, uint32_t w) {
  uint32_t mine = claim_of(b, v), other = claim_of(b, w);
  if (mine != other) return mine > other;
  return model_space_value(b, v)->class.id < model_space_value(b, w)->class.id;
}

static egraph_status find_views(builder *b) {
  const eg_plan_space *space = b->space;
  EG_TRY(eg_bytes_resize(&b->costs, space->values.len));
  for (uint32_t v = 0; v < space->values.len; v++)
    EG_TRY(eg_u32s_push(&b->model->views, v));
  for (uint32_t o = 0; o < space->operators.len; o++) {
    const eg_space_operator *op = &space->operators.data[o];
    eg_term term = eg_engine_term(eg_plan_space_engine(space), op->node);
    if (op->input_count != 1 || !eg_op_keeps_order((eg_op)term.op)) continue;
    uint32_t made = counted_value(b, op->value);
    uint32_t of = counted_value(b, space->inputs.data[op->inputs]);
    bool is_made = counts_for(b, made, of);
    b->model->views.data[is_made ? of : made] = is_made ? made : of;
    for (uint32_t s = op->strategies; s < op->strategies + op->strategy_count; s++)
      b->costs.data[made] |= space->strategies.data[s].seconds > 0;
  }
  for (uint32_t v = 0; v < space->values.len; v++)
    b->model->views.data[v] = counted_value(b, v);
  for (uint32_t v = 0; v < space->values.len; v++)
    b->costs.data[b->model->views.data[v]] |= b->costs.data[v];
  return EGRAPH_OK;
}

/// Returns the memory rows that count a value. A sum over micro-batches, and a value for
/// the next step, may reuse the storage of the step's input, which counts already; a view
/// that of its operand.
static uint32_t memory_rows(builder *b, uint32_t v, eg_phase p, eg_phase q) {
  uint32_t of = counted_value(b, v);
  bool has_storage = model_space_value(b, v)->is_sum || (b->uses.data[v] & LEAVES) != 0 ||
                     (of != v && (b->again.data[v] == 0 || b->costs.data[of] != 0));
  return has_storage ? 0 : rows_between(b, p, q);
}

/// Adds the value that FORWARD stores for both later phases: its bytes count once.
static egraph_status add_shared(builder *b, uint32_t v) {
  uint32_t kept, forward = *copy_of(b, v, EG_PHASE_FORWARD);
  EG_TRY(add_model_value(b, EG_MODEL_KEPT, v, v, EG_PHASE_BACKWARD, &kept));
  uint32_t first = memory_rows(b, v, EG_PHASE_FORWARD, EG_PHASE_BACKWARD);
  uint32_t more = memory_rows(b, v, EG_PHASE_FORWARD, EG_PHASE_UPDATE) & ~first;
  EG_TRY(add_kept(b, v, forward, kept, first));
  EG_TRY(add_kept(b, v, kept, *copy_of(b, v, EG_PHASE_BACKWARD), 0));
  return add_kept(b, v, kept, *copy_of(b, v, EG_PHASE_UPDATE), more);
}

/// Lets a value start in each phase from the step's input or from any earlier phase.
static egraph_status add_kept_copies(builder *b, uint32_t v) {
  const uint8_t every = (1u << EG_PHASE_COUNT) - 1;
  uint32_t entry = b->model->entries.data[v];
  bool is_shared = (b->uses.data[v] & every) == every && !model_space_value(b, v)->is_sum;
  if (is_shared) EG_TRY(add_shared(b, v));
  for (uint32_t q = 0; q < EG_PHASE_COUNT; q++) {
    uint32_t copy = *copy_of(b, v, (eg_phase)q);
    if (copy == EG_SPACE_NONE) continue;
    if (entry != EG_SPACE_NONE) EG_TRY(add_kept(b, v, entry, copy, 0));
    for (uint32_t p = 0; p < q; p++) {
      uint32_t before = *copy_of(b, v, (eg_phase)p);
      bool is_there = is_shared && p == EG_PHASE_FORWARD && q == EG_PHASE_BACKWARD;
      uint32_t rows = memory_rows(b, v, (eg_phase)p, (eg_phase)q);
      if (b->again.data[v] != 0 && model_space_value(b, v)->is_tuple) continue;
      if (before != EG_SPACE_NONE && !is_there)
        EG_TRY(add_kept(b, v, before, copy, rows));
    }
  }
  return EGRAPH_OK;
}

/// Returns link * EG_SEAMS + seam of the space, where `user` reads value v across a seam
/// between blocks, or EG_SPACE_NONE.
static uint32_t link_of(const builder *b, uint32_t v, uint32_t user) {
  const eg_seam_links *seams = &b->space->seams;
  for (uint32_t i = 0; i < seams->len; i++)
    for (uint32_t e = 0; e < EG_SEAMS; e++)
      if (seams->data[i].value[e] == v && seams->data[i].user[e] == user)
        return i * EG_SEAMS + e;
  return EG_SPACE_NONE;
}

/// Finds the problem's numbers of a strategy's layouts; *out_is_in: all are useful.
static egraph_status number_strategy(builder *b, const eg_space_operator *op,
                                     const eg_space_strategy *strategy, uint32_t *out,
                                     bool *out_is_in) {
  const eg_plan_space *space = b->space;
  b->needs.len = 0;
  *out = layout_number(b, op->value, strategy->output);
  *out_is_in = *out != EG_SPACE_NONE;
  for (uint32_t i = 0; i < op->input_count; i++) {
    uint32_t input = space->inputs.data[op->inputs + i];
    uint32_t layout = space->needs.data[strategy->needs + i];
    uint32_t need = layout_number(b, input, layout);
    *out_is_in = *out_is_in && need != EG_SPACE_NONE;
    bool is_end = b->is_open && link_of(b, input, op->value) != EG_SPACE_NONE;
    if (is_end && need != EG_SPACE_NONE) need = layout; // ends have them all
    EG_TRY(eg_u32s_push(&b->needs, need));
  }
  return EGRAPH_OK;
}

static egraph_status add_strategies(builder *b, const eg_space_operator *op,
                                    eg_phase phase, bool takes_memory) {
  double weight = eg_node_weight(b->space->weights, phase);
  eg_phase own = model_space_value(b, op->value)->phase;
  for (uint32_t s = 0; s < op->strategy_count; s++) {
    const eg_space_strategy *strategy = &b->space->strategies.data[op->strategies + s];
    uint32_t output;
    bool is_in;
    EG_TRY(number_strategy(b, op, strategy, &output, &is_in));
    if (!is_in) continue;
    if (phase != own) EG_TRY(eg_u32s_push(&b->needs, output)); // as FORWARD has it
    eg_layout_strategy mine = {
        .needs = b->needs.data, .output = output, .cost = strategy->seconds * weight};
    if (takes_memory)
      take_memory(b, eg_plan_space_bytes(b->space, op->value, strategy->output),
                  WHOLE_STEP, mine.memory);
    EG_TRY(eg_layout_problem_add_strategy(&b->model->problem, &mine));
    EG_TRY(eg_u32s_push(&b->model->strategies, op->strategies + s));
  }
  return EGRAPH_OK;
}

/// Adds the operator that makes its value in a phase: the value's own, or BACKWARD, where
/// the value is made again.
static egraph_status add_operator_in(builder *b, uint32_t number, eg_phase phase) {
  const eg_space_operator *op = &b->space->operators.data[number];
  const eg_space_value *value = model_space_value(b, op->value);
  uint32_t target =
      value->is_entry ? b->model->entries.data[op->value] : *copy_of(b, op->value, phase);
  bool is_again = phase != value->phase;
  b->inputs.len = 0;
  for (uint32_t i = 0; i < op->input_count; i++) { // copies, or values of seams
    uint32_t v = b->space->inputs.data[op->inputs + i], link = link_of(b, v, op->value);
    uint32_t input = *copy_of(b, v, phase);
    if (link != EG_SPACE_NONE) {
      if (is_again) link += (uint32_t)b->space->seams.len * EG_SEAMS;
      input = b->model->handed
                  .data[b->is_open ? link * EG_LINK_ENDS + EG_LINK_READ_END : link];
    }
    if (input == EG_SPACE_NONE) return EGRAPH_OK; // not handed over for this phase
    EG_TRY(eg_u32s_push(&b->inputs, input));
  }
  if (is_again) EG_TRY(eg_u32s_push(&b->inputs, *copy_of(b, op->value, value->phase)));
  EG_TRY(open_operator(b, target, b->inputs.data, (uint32_t)b->inputs.len, number));
  return add_strategies(b, op, phase, value->is_entry);
}

static egraph_status add_model_operator(builder *b, uint32_t number) {
  const eg_space_operator *op = &b->space->operators.data[number];
  const eg_space_value *value = model_space_value(b, op->value);
  if (value->is_entry && op->input_count != 0) return EGRAPH_OK; // it is there already
  EG_TRY(add_operator_in(b, number, value->phase));
  return is_made_again(b, op->value) ? add_operator_in(b, number, EG_PHASE_BACKWARD)
                                     : EGRAPH_OK;
}

/// True when several operators may make some value: then a value may have no reader.
static bool has_alternatives(const builder *b) {
  for (uint32_t o = 1; o < b->space->operators.len; o++)
    if (b->space->operators.data[o].value == b->space->operators.data[o - 1].value)
      return true;
  return false;
}

/// Adds the operators that make the end `end` of a link between blocks: one for each
/// layout of its value, from `from` or without operands, and one for the layout "absent".
static egraph_status make_end(builder *b, uint32_t end, const uint32_t *from) {
  eg_layout_problem *problem = &b->model->problem;
  uint32_t v = b->model->values.data[end].value;
  EG_TRY(open_operator(b, end, from, from != NULL, EG_SPACE_NONE));
  for (uint32_t l = 0; l < layout_count(b, v); l++) {
    uint32_t number = layout_number(b, v, l);
    eg_layout_strategy strategy = {.needs = &number, .output = l};
    if (number == EG_SPACE_NONE) continue;
    EG_TRY(eg_layout_problem_add_strategy(problem, &strategy));
    EG_TRY(eg_u32s_push(&b->model->strategies, EG_SPACE_NONE));
  }
  if (has_alternatives(b)) {
    eg_layout_strategy absent = {.output = layout_count(b, v)};
    EG_TRY(open_operator(b, end, NULL, 0, EG_SPACE_NONE));
    EG_TRY(eg_layout_problem_add_strategy(problem, &absent));
    EG_TRY(eg_u32s_push(&b->model->strategies, EG_SPACE_NONE));
  }
  return eg_layout_problem_add_root(problem, end, NULL, 0);
}

/// Finds the end of a link inside the block that represents many, and the other end.
static void sort_ends(const builder *b, uint32_t link, uint32_t seam, uint32_t *out_inner,
                      uint32_t *out_outer) {
  const uint32_t *ends =
      b->model->handed.data + ((size_t)link * EG_SEAMS + seam) * EG_LINK_ENDS;
  uint32_t made = link_at(b, link)->value[seam];
  bool is_made_inside = model_space_value(b, made)->block == b->space->info->fold.middle;
  *out_inner = ends[is_made_inside ? EG_LINK_MADE_END : EG_LINK_READ_END];
  *out_outer = ends[is_made_inside ? EG_LINK_READ_END : EG_LINK_MADE_END];
}

static egraph_status add_ends(builder *b) {
  for (uint32_t i = 0; i < link_count(b); i++) {
    eg_layout_seam seam = {.times = b->space->info->fold.times};
    if (!has_link(b, i)) continue;
    for (uint32_t e = 0; e < EG_SEAMS; e++) {
      const uint32_t *ends =
          b->model->handed.data + ((size_t)i * EG_SEAMS + e) * EG_LINK_ENDS;
      const eg_model_value *made = &b->model->values.data[ends[EG_LINK_MADE_END]];
      EG_TRY(make_end(b, ends[EG_LINK_MADE_END], copy_of(b, made->value, made->phase)));
      EG_TRY(make_end(b, ends[EG_LINK_READ_END], NULL));
    }
    sort_ends(b, i, 0, &seam.first, &seam.before);
    sort_ends(b, i, 1, &seam.last, &seam.after);
    EG_TRY(eg_layout_seam_list_push(&b->model->seams, seam));
  }
  return EGRAPH_OK;
}

static egraph_status add_operators(builder *b) {
  for (uint32_t o = 0; o < b->space->operators.len; o++)
    EG_TRY(add_model_operator(b, o));
  for (uint32_t v = 0; v < b->space->values.len; v++)
    EG_TRY(add_kept_copies(b, v));
  if (b->is_open) return add_ends(b);
  for (size_t i = 0; i < b->model->handed.len; i++) {
    uint32_t handed = b->model->handed.data[i];
    if (handed == EG_SPACE_NONE) continue;
    const eg_model_value *mine = &b->model->values.data[handed];
    uint32_t copy = *copy_of(b, mine->value, mine->phase);
    EG_TRY(add_kept(b, mine->value, copy, handed, 0));
  }
  return EGRAPH_OK;
}

// ---- roots --------------------------------------------------------------------------

/// Adds a root (required value): an output that is delivered in an allowed layout;
/// without limits whole on every device (layout 0, all R).
static egraph_status add_plain_root(builder *b, uint32_t output) {
  uint32_t v = output_value(b, output);
  b->needs.len = 0;
  for (uint32_t l = 0; l < layout_count(b, v); l++) {
    uint32_t number = layout_number(b, v, l);
    bool is_in =
        b->limits == NULL ? l == 0 : eg_plan_limits_allow_output(b->limits, output, l);
    if (is_in && number != EG_SPACE_NONE) EG_TRY(eg_u32s_push(&b->needs, number));
  }
  if (b->needs.len == 0) // an empty row would mean any layout
    return EG_FAIL(EGRAPH_E_INTERNAL, "no layout is left in which to deliver an output");
  return eg_layout_problem_add_root(&b->model->problem,
                                    *copy_of(b, v, model_space_value(b, v)->phase),
                                    b->needs.data, (uint32_t)b->needs.len);
}

/// True when a value may leave the step in a layout. No value enters as a partial sum;
/// therefore none leaves as one, even if the step does not use the input that it becomes.
/// Exception: a sum over micro-batches begins as zero on every device.
static bool may_leave(const builder *b, uint32_t v, uint32_t layout, bool is_sum) {
  const eg_layout *l = &eg_plan_space_layouts(b->space, v)->layouts.data[layout];
  for (uint32_t a = 0; a < b->space->mesh.axis_count; a++)
    if (eg_digit_is_partial(l->sharding[a]) &&
        !(is_sum && l->sharding[a] == EG_SHARD_P_SUM))
      return false;
  return true;
}

static egraph_status add_exit(builder *b, const eg_carried_value *carried) {
  eg_plan_model *model = b->model;
  uint32_t v = output_value(b, carried->output);
  uint32_t entry_value = eg_plan_space_value(
      b->space, eg_tensor_egraph_value_class(b->space->egraph, carried->entry));
  uint32_t entry = model->entries.data[entry_value], exit;
  uint32_t from = *copy_of(b, v, model_space_value(b, v)->phase);
  EG_TRY(add_model_value(b, EG_MODEL_EXIT, v, entry_value, EG_PHASE_UPDATE, &exit));
  EG_TRY(open_operator(b, exit, &from, 1, EG_SPACE_NONE));
  for (uint32_t l = 0; l < layout_count(b, v); l++) {
    uint32_t need = layout_number(b, v, l), output = layout_number(b, entry_value, l);
    if (need == EG_SPACE_NONE || output == EG_SPACE_NONE ||
        !may_leave(b, v, l, carried->is_sum) ||
        (b->limits != NULL &&
         !eg_plan_limits_allow_output(b->limits, carried->output, l)))
      continue;
    eg_layout_strategy strategy = {.needs = &need, .output = output};
    EG_TRY(eg_layout_problem_add_strategy(&model->problem, &strategy));
    EG_TRY(eg_u32s_push(&model->strategies, EG_SPACE_NONE));
  }
  EG_TRY(eg_layout_problem_add_root(&model->problem, exit, NULL, 0));
  return eg_layout_problem_tie(&model->problem, (uint32_t[]){entry, exit}, 2);
}

static egraph_status add_roots(builder *b) {
  const eg_step_info *info = b->space->info;
  const eg_graph *graph = eg_tensor_egraph_graph(b->space->egraph);
  for (uint32_t o = 0; o < eg_graph_output_count(graph); o++) {
    uint32_t c = 0;
    while (c < info->carried_count && info->carried[c].output != o)
      c++;
    EG_TRY(c == info->carried_count ? add_plain_root(b, o)
                                    : add_exit(b, &info->carried[c]));
  }
  return EGRAPH_OK;
}

// ---- limits -------------------------------------------------------------------------

static egraph_status forbid_places(builder *b, uint32_t value) {
  const eg_model_value *mine = &b->model->values.data[value];
  uint32_t place = mine->role == EG_MODEL_ENTRY ? EG_LIMIT_ENTRY : mine->phase;
  uint32_t count = eg_layout_layout_count(&b->model->problem, value);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t layout = eg_plan_model_layout(b->model, value, i);
    if (!eg_plan_limits_allow_place(b->limits, mine->value, place, layout))
      EG_TRY(eg_layout_problem_forbid_layout(&b->model->problem, value, i));
  }
  return EGRAPH_OK;
}

/// True when other values limit the layouts of a problem value: a value for the next step
/// has the layout of its input, a value handed to another block that of a copy.
static bool is_unlimited(const builder *b, uint32_t value) {
  eg_model_role role = b->model->values.data[value].role;
  return role == EG_MODEL_EXIT || role == EG_MODEL_HANDED;
}

static egraph_status forbid_sources(builder *b, uint32_t op) {
  eg_layout_problem *problem = &b->model->problem;
  uint32_t value = problem->operator_value.data[op];
  uint32_t begin = problem->strategy_begin.data[op];
  if (is_unlimited(b, value)) return EGRAPH_OK;
  for (uint32_t s = begin; s < problem->strategy_begin.data[op + 1]; s++) {
    uint32_t number = problem->output.data[s] - problem->place_begin.data[value];
    if (!eg_plan_limits_allow_source(b->limits, b->model->values.data[value].value,
                                     eg_plan_model_layout(b->model, value, number)))
      EG_TRY(eg_layout_problem_forbid_strategy(problem, op, s - begin));
  }
  return EGRAPH_OK;
}

// ---- entry points -------------------------------------------------------------------

void eg_plan_model_limit_memory(eg_plan_model *model, double bytes) {
  for (uint32_t r = 0; r < model->problem.memory_rows; r++)
    model->problem.memory_limit[r] = bytes;
}

static egraph_status note_costs(eg_plan_model *model) {
  const eg_layout_problem *p = &model->problem;
  if (model->unpriced.len != 0) return EGRAPH_OK;
  EG_TRY(eg_doubles_append(&model->unpriced, p->cost.data, p->cost.len));
  return eg_doubles_append(&model->unpriced_arcs, p->arc_cost.data, p->arc_cost.len);
}

static void restore_costs(eg_plan_model *model) {
  for (size_t s = 0; s < model->unpriced.len; s++)
    model->problem.cost.data[s] = model->unpriced.data[s];
  for (size_t a = 0; a < model->unpriced_arcs.len; a++)
    model->problem.arc_cost.data[a] = model->unpriced_arcs.data[a];
}

void eg_plan_model_drop_prices(eg_plan_model *model) {
  restore_costs(model);
  model->unpriced.len = model->unpriced_arcs.len = 0;
}

/// Returns the seconds that item `item` of memory rows costs at these prices.
static double price_of(const eg_layout_problem *p, const eg_doubles *rows, uint32_t item,
                       const double *price) {
  double seconds = 0;
  for (uint32_t r = 0; r < p->memory_rows; r++)
    seconds += price[r] * rows[r].data[item];
  return seconds;
}

egraph_status eg_plan_model_price_memory(eg_plan_model *model, const double *price) {
  eg_layout_problem *p = &model->problem;
  EG_TRY(note_costs(model));
  restore_costs(model);
  // Adds the seconds of one of the equal blocks: the problem multiplies costs
  // by cost_times.
  for (uint32_t o = 0; o < eg_layout_operator_count(p); o++) {
    uint32_t value = p->operator_value.data[o];
    double times = p->memory_times.data[value] / p->cost_times.data[value];
    for (uint32_t s = p->strategy_begin.data[o]; s < p->strategy_begin.data[o + 1]; s++)
      p->cost.data[s] += times * price_of(p, p->memory, s, price);
  }
  uint32_t value = 0; // arcs are in the order of values
  for (uint32_t a = 0; a < eg_layout_arc_count(p); a++) {
    while (p->arc_to.data[a] >= p->place_begin.data[value + 1])
      value++;
    assert(p->arc_to.data[a] >= p->place_begin.data[value]);
    double times = p->memory_times.data[value] / p->cost_times.data[value];
    p->arc_cost.data[a] += times * price_of(p, p->arc_memory, a, price);
  }
  eg_plan_model_limit_memory(model, INFINITY);
  return EGRAPH_OK;
}

static egraph_status build_model(builder *b) {
  EG_TRY(eg_layout_problem_init(&b->model->problem, b->model->values.alloc));
  EG_TRY(number_layouts(b));
  EG_TRY(find_uses(b));
  EG_TRY(find_again(b));
  EG_TRY(find_views(b));
  EG_TRY(add_values(b));
  EG_TRY(add_handed(b));
  EG_TRY(add_operators(b));
  EG_TRY(add_roots(b));
  for (uint32_t i = 0; !b->is_open && i < link_count(b); i++)
    if (has_link(b, i))
      EG_TRY(eg_layout_problem_tie(
          &b->model->problem, b->model->handed.data + (size_t)i * EG_SEAMS, EG_SEAMS));
  for (uint32_t v = 0; b->limits != NULL && v < b->model->values.len; v++)
    if (!is_unlimited(b, v)) EG_TRY(forbid_places(b, v));
  uint32_t operators = eg_layout_operator_count(&b->model->problem);
  for (uint32_t o = 0; b->limits != NULL && o < operators; o++)
    EG_TRY(forbid_sources(b, o));
  b->model->problem.memory_rows = row_count(b);
  eg_plan_model_limit_memory(b->model,
                             b->is_open ? INFINITY : b->space->info->memory_limit);
  return EGRAPH_OK;
}

static egraph_status init(eg_plan_model *model, egraph_allocator alloc,
                          const eg_plan_space *space, const eg_plan_limits *limits,
                          bool is_open) {
  EG_LOCAL_WITH(builder, b, alloc, .model = model, .space = space, .limits = limits,
                .is_open = is_open);
  *model = (eg_plan_model){.space = space};
  EG_INIT_MEMBERS(model, alloc, MEMBERS)
  EG_RETURN_FILLED(build_model(&b), eg_plan_model, model);
}

egraph_status eg_plan_model_init(eg_plan_model *model, egraph_allocator alloc,
                                 const eg_plan_space *space) {
  return init(model, alloc, space, NULL, false);
}

egraph_status eg_plan_model_init_within(eg_plan_model *model, egraph_allocator alloc,
                                        const eg_plan_space *space,
                                        const eg_plan_limits *limits) {
  return init(model, alloc, space, limits, false);
}

egraph_status eg_plan_model_init_open(eg_plan_model *model, egraph_allocator alloc,
                                      const eg_plan_space *space,
                                      const eg_plan_limits *limits) {
  assert(space->can_be_cut);
  return init(model, alloc, space, limits, true);
}

void eg_plan_model_deinit(eg_plan_model *model) {
  eg_layout_problem_deinit(&model->problem);
  EG_DEINIT_MEMBERS(model, MEMBERS)
}
