// Prints the steps of a plan as text for people (plan_report.h).
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "base/owner.h"
#include "pcg/plan/plan_report.h"
#include "pcg/plan/plan_words.h"

typedef struct printer {
  const eg_plan *plan;
  eg_plan_words words;
  eg_plan_labels labels;
  eg_arena arena; // of one step
  eg_text *out;
} printer;
EG_OWNER_DEFINE_STATIC(printer, (eg_plan_labels, labels), (eg_arena, arena))

// ---- states ---------------------------------------------------------------------------

static const eg_value_info *info_of_state(const eg_plan *plan, uint32_t state) {
  return eg_graph_value(plan->graph, eg_plan_states_at(&plan->states, state)->value);
}

static void print_layout(const eg_plan *plan, uint32_t state, eg_text *out) {
  eg_layout_print(out, &plan->mesh, &plan->states.data[state].layout);
}

/// Prints "x@S0,R", "x@S0,R:nhwc"; on a single device "x", "x@:nhwc".
static void print_state(const eg_plan *plan, uint32_t state, eg_text *out) {
  eg_text_print_names(out, "%s", info_of_state(plan, state)->name);
  if (plan->mesh.axis_count == 0 &&
      plan->states.data[state].layout.format == EG_FORMAT_PLAIN)
    return;
  eg_text_append(out, "@");
  print_layout(plan, state, out);
}

static bool are_like_states(const eg_plan *plan, uint32_t a, uint32_t b) {
  const eg_type *x = &info_of_state(plan, a)->type, *y = &info_of_state(plan, b)->type;
  return x->dtype == y->dtype && eg_type_same_shape(x, y) &&
         eg_layout_same(&plan->mesh, &plan->states.data[a].layout,
                        &plan->states.data[b].layout);
}

static egraph_status print_entry(printer *p, uint32_t state) {
  const eg_type *type = &info_of_state(p->plan, state)->type;
  eg_type local =
      eg_sharding_local(&p->plan->mesh, type, &p->plan->states.data[state].layout);
  eg_text_append(p->out, "  ");
  print_state(p->plan, state, p->out);
  eg_text_append(p->out, ": ");
  eg_type_print(p->out, &local);
  if (!eg_type_same_shape(type, &local)) {
    eg_text_append(p->out, " of ");
    eg_type_print(p->out, type);
  }
  return eg_text_append(p->out, "\n");
}

static bool are_like_entries(const void *user, uint32_t a, uint32_t b) {
  return are_like_states(user, a, b);
}

// ---- nodes ----------------------------------------------------------------------------

/// Prints " [columns (dimension 1) of y over gpu; repeated along node]".
static egraph_status print_actions(printer *p, const eg_plan_step *step) {
  const eg_mesh *mesh = &p->plan->mesh;
  eg_node_spec spec;
  eg_spread spread;
  bool is_repeated = true;
  const char *separator = " [";
  if (eg_mesh_devices(mesh) == 1) return EGRAPH_OK;
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    is_repeated = is_repeated && step->action[a] == EG_ACTION_REPLICATE;
  if (is_repeated) return eg_text_append(p->out, " [repeated]");
  EG_TRY(eg_plan_spec(p->plan, step, &p->arena, &spec));
  EG_TRY(eg_spread_init(&spec, &spread));
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    if (mesh->axes[a].size == 1) continue;
    eg_text_append(p->out, separator);
    eg_plan_action_words(p->out, p->plan, step, &spread.factors, a);
    eg_text_printf(p->out,
                   step->action[a] == EG_ACTION_REPLICATE ? " along %s" : " over %s",
                   mesh->axes[a].name);
    separator = "; ";
  }
  eg_arena_deinit(&p->arena);
  return eg_text_append(p->out, "]");
}

static egraph_status print_node_step(printer *p, const eg_plan_step *step) {
  eg_graph_node_info info = eg_graph_node_at(p->plan->graph, step->node);
  const uint32_t *operands = p->plan->operands.data + step->operands;
  eg_text_append(p->out, " ");
  for (uint32_t i = 0; i < info.result_count; i++) {
    const char *label = p->labels.words[info.results[i].id];
    eg_text_append(p->out, " ");
    print_state(p->plan, operands[info.input_count + i], p->out);
    if (label != NULL) eg_text_print_names(p->out, " (%s)", label);
  }
  eg_text_printf(p->out, " = %s", eg_op_info_of((eg_op)info.attrs->op)->name);
  for (uint32_t i = 0; i < info.input_count; i++) {
    eg_text_append(p->out, " ");
    print_state(p->plan, operands[i], p->out);
  }
  return print_actions(p, step);
}

// ---- moves ----------------------------------------------------------------------------

/// The one or two parallel operators by which a move is printed in Unity's words. If the
/// first is EG_PARALLEL_KINDS (none), the name of the transition is printed.
static const eg_parallel_kind UNITY[EG_TRANSITION_KINDS][2] = {
    [EG_TRANSITION_SLICE] = {EG_PARALLEL_PARTITION, EG_PARALLEL_KINDS},
    [EG_TRANSITION_MASK] = {EG_PARALLEL_REPLICATE, EG_PARALLEL_KINDS},
    [EG_TRANSITION_REORDER] = {EG_PARALLEL_KINDS, EG_PARALLEL_KINDS},
    [EG_TRANSITION_ALL_GATHER] = {EG_PARALLEL_COMBINE, EG_PARALLEL_KINDS},
    [EG_TRANSITION_REDUCE_SCATTER] = {EG_PARALLEL_REDUCE, EG_PARALLEL_PARTITION},
    [EG_TRANSITION_ALL_REDUCE] = {EG_PARALLEL_REDUCE, EG_PARALLEL_KINDS},
    [EG_TRANSITION_ALL_TO_ALL] = {EG_PARALLEL_COMBINE, EG_PARALLEL_PARTITION}};

static void print_parallel_op(const printer *p, const eg_transition *transition,
                              eg_parallel_kind op) {
  eg_text_printf(p->out, "%s(", eg_parallel_unity(op));
  if (eg_parallel_has_dim(op))
    eg_text_printf(
        p->out, "%" PRIu32 ", ",
        eg_digit_dim(op == EG_PARALLEL_PARTITION ? transition->to : transition->from));
  eg_text_printf(p->out, "%" PRIu32 ")", p->plan->mesh.axes[transition->axis].size);
}

static void print_move_kind(const printer *p, const eg_transition *transition) {
  const eg_parallel_kind *ops = UNITY[transition->kind];
  if (p->words == EG_PLAN_COLLECTIVES || ops[0] == EG_PARALLEL_KINDS) {
    eg_text_append(p->out, eg_transition_name(transition->kind));
    return;
  }
  print_parallel_op(p, transition, ops[0]);
  if (ops[1] == EG_PARALLEL_KINDS) return;
  eg_text_append(p->out, ", ");
  print_parallel_op(p, transition, ops[1]);
}

static void print_move_step(const printer *p, const eg_plan_step *step) {
  const eg_plan *plan = p->plan;
  double bytes = eg_plan_move_bytes(plan, step);
  eg_text_append(p->out, "  ");
  print_move_kind(p, &step->transition);
  eg_text_print_names(p->out, " %s ", info_of_state(plan, step->from)->name);
  print_layout(plan, step->from, p->out);
  eg_text_append(p->out, " -> ");
  print_layout(plan, step->to, p->out);
  if (step->transition.kind != EG_TRANSITION_REORDER)
    eg_text_printf(p->out, " over %s", plan->mesh.axes[step->transition.axis].name);
  if (bytes <= 0) return;
  eg_text_append(p->out, ", ");
  eg_text_bytes(p->out, bytes);
}

// ---- steps ----------------------------------------------------------------------------

static egraph_status print_plan_step(printer *p, uint32_t number) {
  const eg_plan_step *step = &p->plan->steps.data[number];
  if (number == 0 || step->phase != step[-1].phase)
    eg_text_printf(p->out, "%s\n", eg_phase_name(step->phase));
  if (step->is_move)
    print_move_step(p, step);
  else
    EG_TRY(print_node_step(p, step));
  if (step->seconds > 0) {
    eg_text_append(p->out, ", ");
    eg_text_seconds(p->out, step->seconds);
  }
  double blocks = eg_plan_step_blocks(step);
  if (blocks > 1) eg_text_printf(p->out, ", in %.0f blocks", blocks);
  return eg_text_append(p->out, "\n");
}

static bool are_like_nodes(const eg_plan *plan, const eg_plan_step *x,
                           const eg_plan_step *y) {
  eg_graph_node_info a = eg_graph_node_at(plan->graph, x->node);
  eg_graph_node_info b = eg_graph_node_at(plan->graph, y->node);
  bool same = a.attrs == b.attrs && a.input_count == b.input_count &&
              memcmp(x->action, y->action, sizeof x->action) == 0;
  for (uint32_t i = 0; same && i < a.input_count + a.result_count; i++)
    same = are_like_states(plan, plan->operands.data[x->operands + i],
                           plan->operands.data[y->operands + i]);
  return same;
}

/// True when two steps are the same operator or move, in the same layouts, on values of
/// the same types.
static bool are_like_steps(const void *user, uint32_t a, uint32_t b) {
  const eg_plan *plan = user;
  const eg_plan_step *x = &plan->steps.data[a], *y = &plan->steps.data[b];
  if (x->is_move != y->is_move || x->phase != y->phase) return false;
  if (!x->is_move) return are_like_nodes(plan, x, y);
  return are_like_states(plan, x->from, y->from) && are_like_states(plan, x->to, y->to);
}

static egraph_status print_output(printer *p, uint32_t output) {
  const eg_plan *plan = p->plan;
  uint32_t state = plan->output_states.data[output];
  const char *name;
  (void)eg_graph_output(plan->graph, output, &name);
  eg_text_append(p->out, "  ");
  print_state(plan, state, p->out);
  if (strcmp(name, info_of_state(plan, state)->name) != 0)
    eg_text_print_names(p->out, " as %s", name);
  for (size_t i = 0; i + 1 < plan->carried.len; i += 2)
    if (plan->carried.data[i] == output)
      eg_text_print_names(
          p->out, ", the next %s",
          eg_graph_value(plan->graph, (eg_value){plan->carried.data[i + 1]})->name);
  return eg_text_append(p->out, "\n");
}

static bool are_like_outputs(const void *user, uint32_t a, uint32_t b) {
  const eg_plan *plan = user;
  return are_like_states(plan, plan->output_states.data[a], plan->output_states.data[b]);
}

// ---- sections -------------------------------------------------------------------------

/// Prints items 0 up to `len` of a list; a repetition of like items is printed once.
static egraph_status print_items(printer *p, uint32_t len,
                                 bool (*alike)(const void *plan, uint32_t a, uint32_t b),
                                 egraph_status (*print)(printer *p, uint32_t item)) {
  for (uint32_t i = 0; i < len;) {
    eg_repeat repeat = eg_repeat_at(i, len, alike, p->plan);
    for (uint32_t k = i; k < i + repeat.period; k++)
      EG_TRY(print(p, k));
    if (repeat.count > 1)
      eg_text_printf(p->out,
                     "  ... and %" PRIu32 " times more the same as the last %" PRIu32
                     " lines\n",
                     repeat.count - 1, repeat.period);
    i += repeat.period * repeat.count;
  }
  return eg_text_status(p->out);
}

/// Prints states that no step makes. The planner puts them first; in other plans some may
/// come later.
static egraph_status print_entries(printer *p) {
  const eg_plan *plan = p->plan;
  uint32_t first = 0;
  while (first < plan->states.len && plan->states.data[first].step == EG_PLAN_NONE)
    first++;
  eg_text_append(p->out, "inputs, weights and states\n");
  EG_TRY(print_items(p, first, are_like_entries, print_entry));
  for (uint32_t i = first; i < plan->states.len; i++)
    if (plan->states.data[i].step == EG_PLAN_NONE) EG_TRY(print_entry(p, i));
  return EGRAPH_OK;
}

egraph_status eg_plan_print(const eg_plan *plan, eg_plan_words words, eg_text *out) {
  EG_LOCAL_WITH(printer, p, out->chars.alloc, .plan = plan, .words = words, .out = out);
  EG_TRY(eg_plan_labels_find(plan, &p.labels));
  eg_text_append(out, "STEPS on ");
  if (plan->mesh.axis_count == 0)
    eg_text_append(out, "one device");
  else
    eg_mesh_print(out, &plan->mesh);
  if (plan->micro_batches > 1)
    eg_text_printf(out, ", %" PRIu32 " micro-batches", plan->micro_batches);
  eg_text_append(out, "\n");
  EG_TRY(print_entries(&p));
  EG_TRY(print_items(&p, (uint32_t)plan->steps.len, are_like_steps, print_plan_step));
  eg_text_append(out, "outputs\n");
  return print_items(&p, (uint32_t)plan->output_states.len, are_like_outputs,
                     print_output);
}
