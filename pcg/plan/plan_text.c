// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_text.h"

#include <inttypes.h>

#include "pcg/graph/repeats.h"
#include "pcg/parallel/parallel_op.h"
#include "pcg/plan/plan_labels.h"
#include "pcg/plan/plan_words.h"

typedef struct printer {
  const eg_plan *plan;
  eg_plan_words words;
  eg_plan_labels names;
  eg_arena arena; // of one step
  eg_text *out;
} printer;

// ---- states ---------------------------------------------------------------------------

static const eg_value_info *value_of(const eg_plan *plan, uint32_t state) {
  return eg_graph_value(plan->graph, plan->states.data[state].value);
}

static egraph_status print_layout(const eg_plan *plan, uint32_t state, eg_text *out) {
  return eg_layout_print(out, &plan->mesh, &plan->states.data[state].layout);
}

/// "x@S0,R", "x@S0,R:nhwc"; on a single device "x", "x@:nhwc".
static egraph_status print_state(const eg_plan *plan, uint32_t state, eg_text *out) {
  EG_TRY(eg_text_print_names(out, "%s", value_of(plan, state)->name));
  if (plan->mesh.axis_count == 0 &&
      plan->states.data[state].layout.format == EG_FORMAT_PLAIN)
    return EGRAPH_OK;
  EG_TRY(eg_text_append(out, "@"));
  return print_layout(plan, state, out);
}

static egraph_status print_entry(const eg_plan *plan, uint32_t state, eg_text *out) {
  const eg_type *type = &value_of(plan, state)->type;
  eg_type local = eg_sharding_local(&plan->mesh, type, &plan->states.data[state].layout);
  EG_TRY(eg_text_append(out, "  "));
  EG_TRY(print_state(plan, state, out));
  EG_TRY(eg_text_append(out, ": "));
  EG_TRY(eg_type_print(out, &local));
  if (!eg_type_same_shape(type, &local)) {
    EG_TRY(eg_text_append(out, " of "));
    EG_TRY(eg_type_print(out, type));
  }
  return eg_text_append(out, "\n");
}

// ---- what is alike --------------------------------------------------------------------

static bool alike_states(const eg_plan *plan, uint32_t a, uint32_t b) {
  const eg_type *x = &value_of(plan, a)->type, *y = &value_of(plan, b)->type;
  return x->dtype == y->dtype && eg_type_same_shape(x, y) &&
         eg_layout_same(&plan->mesh, &plan->states.data[a].layout,
                        &plan->states.data[b].layout);
}

static bool alike_entries(const void *user, uint32_t a, uint32_t b) {
  return alike_states(user, a, b);
}

static bool alike_nodes(const eg_plan *plan, const eg_plan_step *x,
                        const eg_plan_step *y) {
  eg_graph_node_info a = eg_graph_node_at(plan->graph, x->node);
  eg_graph_node_info b = eg_graph_node_at(plan->graph, y->node);
  bool same = a.attrs == b.attrs && a.input_count == b.input_count &&
              memcmp(x->action, y->action, sizeof x->action) == 0;
  for (uint32_t i = 0; same && i < a.input_count + a.result_count; i++)
    same = alike_states(plan, plan->operands.data[x->operands + i],
                        plan->operands.data[y->operands + i]);
  return same;
}

/// The same operator or move, in the same layouts, of values of the same types.
static bool alike_steps(const void *user, uint32_t a, uint32_t b) {
  const eg_plan *plan = user;
  const eg_plan_step *x = &plan->steps.data[a], *y = &plan->steps.data[b];
  if (x->is_move != y->is_move || x->phase != y->phase) return false;
  if (!x->is_move) return alike_nodes(plan, x, y);
  return alike_states(plan, x->from, y->from) && alike_states(plan, x->to, y->to);
}

static bool alike_outputs(const void *user, uint32_t a, uint32_t b) {
  const eg_plan *plan = user;
  return alike_states(plan, plan->output_states.data[a], plan->output_states.data[b]);
}

/// What is hidden behind the lines that were printed last.
static egraph_status print_repeat(eg_repeat repeat, eg_text *out) {
  if (repeat.count == 1) return EGRAPH_OK;
  return eg_text_printf(
      out, "  ... and %" PRIu32 " times more the same as the last %" PRIu32 " lines\n",
      repeat.count - 1, repeat.period);
}

// ---- entries --------------------------------------------------------------------------

static uint32_t entry_count(const eg_plan *plan) {
  uint32_t count = 0;
  while (count < plan->states.len && plan->states.data[count].step == EG_PLAN_NONE)
    count++;
  return count;
}

/// Entries stand first, as planning writes them; some may come later in other plans.
static egraph_status print_entries(const eg_plan *plan, eg_text *out) {
  uint32_t first = entry_count(plan);
  EG_TRY(eg_text_append(out, "inputs, weights and states\n"));
  for (uint32_t i = 0; i < first;) {
    eg_repeat repeat = eg_repeat_at(i, first, alike_entries, plan);
    for (uint32_t k = i; k < i + repeat.period; k++)
      EG_TRY(print_entry(plan, k, out));
    EG_TRY(print_repeat(repeat, out));
    i += repeat.period * repeat.count;
  }
  for (uint32_t i = first; i < plan->states.len; i++)
    if (plan->states.data[i].step == EG_PLAN_NONE) EG_TRY(print_entry(plan, i, out));
  return EGRAPH_OK;
}

// ---- nodes ----------------------------------------------------------------------------

static bool is_repeated(const eg_mesh *mesh, const eg_plan_step *step) {
  for (uint32_t a = 0; a < mesh->axis_count; a++)
    if (step->action[a] != EG_ACTION_REPLICATE) return false;
  return true;
}

/// " [columns (dimension 1) of y over gpu; repeated along node]"
static egraph_status print_actions(printer *p, const eg_plan_step *step) {
  const eg_mesh *mesh = &p->plan->mesh;
  eg_node_spec spec;
  eg_spread spread;
  bool is_first = true;
  if (eg_mesh_devices(mesh) == 1) return EGRAPH_OK;
  if (is_repeated(mesh, step)) return eg_text_append(p->out, " [repeated]");
  EG_TRY(eg_plan_spec(p->plan, step, &p->arena, &spec));
  EG_TRY(eg_spread_init(&spec, &spread));
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    if (mesh->axes[a].size == 1) continue;
    EG_TRY(eg_text_append(p->out, is_first ? " [" : "; "));
    EG_TRY(eg_plan_action_words(p->out, p->plan, step, &spread.factors, a));
    EG_TRY(eg_text_printf(
        p->out, step->action[a] == EG_ACTION_REPLICATE ? " along %s" : " over %s",
        mesh->axes[a].name));
    is_first = false;
  }
  eg_arena_deinit(&p->arena);
  return eg_text_append(p->out, "]");
}

static egraph_status print_node(printer *p, const eg_plan_step *step) {
  eg_graph_node_info info = eg_graph_node_at(p->plan->graph, step->node);
  const uint32_t *operands = p->plan->operands.data + step->operands;
  EG_TRY(eg_text_append(p->out, " "));
  for (uint32_t i = 0; i < info.result_count; i++) {
    const char *words = p->names.words[info.results[i].id];
    EG_TRY(eg_text_append(p->out, " "));
    EG_TRY(print_state(p->plan, operands[info.input_count + i], p->out));
    if (words != NULL) EG_TRY(eg_text_print_names(p->out, " (%s)", words));
  }
  EG_TRY(eg_text_printf(p->out, " = %s", eg_op_info_of((eg_op)info.attrs->op)->name));
  for (uint32_t i = 0; i < info.input_count; i++) {
    EG_TRY(eg_text_append(p->out, " "));
    EG_TRY(print_state(p->plan, operands[i], p->out));
  }
  return print_actions(p, step);
}

// ---- moves ----------------------------------------------------------------------------

/// A move as one or two parallel operators, or as none.
static const eg_parallel_kind UNITY[EG_TRANSITION_KINDS][2] = {
    [EG_TRANSITION_SLICE] = {EG_PARALLEL_PARTITION, EG_PARALLEL_KINDS},
    [EG_TRANSITION_MASK] = {EG_PARALLEL_REPLICATE, EG_PARALLEL_KINDS},
    [EG_TRANSITION_REORDER] = {EG_PARALLEL_KINDS, EG_PARALLEL_KINDS},
    [EG_TRANSITION_ALL_GATHER] = {EG_PARALLEL_COMBINE, EG_PARALLEL_KINDS},
    [EG_TRANSITION_REDUCE_SCATTER] = {EG_PARALLEL_REDUCE, EG_PARALLEL_PARTITION},
    [EG_TRANSITION_ALL_REDUCE] = {EG_PARALLEL_REDUCE, EG_PARALLEL_KINDS},
    [EG_TRANSITION_ALL_TO_ALL] = {EG_PARALLEL_COMBINE, EG_PARALLEL_PARTITION}};

static egraph_status print_parallel_op(const eg_plan *plan,
                                       const eg_transition *transition,
                                       eg_parallel_kind op, eg_text *out) {
  uint32_t degree = plan->mesh.axes[transition->axis].size;
  EG_TRY(eg_text_printf(out, "%s(", eg_parallel_unity(op)));
  if (eg_parallel_has_dim(op))
    EG_TRY(eg_text_printf(
        out, "%" PRIu32 ", ",
        eg_digit_dim(op == EG_PARALLEL_PARTITION ? transition->to : transition->from)));
  return eg_text_printf(out, "%" PRIu32 ")", degree);
}

static egraph_status print_kind(const eg_plan *plan, const eg_transition *transition,
                                eg_plan_words words, eg_text *out) {
  const eg_parallel_kind *ops = UNITY[transition->kind];
  if (words == EG_PLAN_COLLECTIVES || ops[0] == EG_PARALLEL_KINDS)
    return eg_text_append(out, eg_transition_name(transition->kind));
  EG_TRY(print_parallel_op(plan, transition, ops[0], out));
  if (ops[1] == EG_PARALLEL_KINDS) return EGRAPH_OK;
  EG_TRY(eg_text_append(out, ", "));
  return print_parallel_op(plan, transition, ops[1], out);
}

static egraph_status print_move(const eg_plan *plan, const eg_plan_step *step,
                                eg_plan_words words, eg_text *out) {
  double bytes = eg_plan_move_bytes(plan, step);
  EG_TRY(eg_text_append(out, "  "));
  EG_TRY(print_kind(plan, &step->transition, words, out));
  EG_TRY(eg_text_print_names(out, " %s ", value_of(plan, step->from)->name));
  EG_TRY(print_layout(plan, step->from, out));
  EG_TRY(eg_text_append(out, " -> "));
  EG_TRY(print_layout(plan, step->to, out));
  if (step->transition.kind != EG_TRANSITION_REORDER)
    EG_TRY(eg_text_printf(out, " over %s", plan->mesh.axes[step->transition.axis].name));
  if (bytes <= 0) return EGRAPH_OK;
  EG_TRY(eg_text_append(out, ", "));
  return eg_text_bytes(out, bytes);
}

// ---- the whole ------------------------------------------------------------------------

static egraph_status print_step(printer *p, const eg_plan_step *step) {
  EG_TRY(step->is_move ? print_move(p->plan, step, p->words, p->out)
                       : print_node(p, step));
  if (step->seconds > 0) {
    EG_TRY(eg_text_append(p->out, ", "));
    EG_TRY(eg_text_seconds(p->out, step->seconds));
  }
  double blocks = eg_plan_step_blocks(step);
  if (blocks > 1) EG_TRY(eg_text_printf(p->out, ", in %.0f blocks", blocks));
  return eg_text_append(p->out, "\n");
}

static egraph_status print_steps(printer *p) {
  const eg_plan *plan = p->plan;
  uint32_t len = (uint32_t)plan->steps.len;
  for (uint32_t i = 0; i < len;) {
    eg_phase phase = plan->steps.data[i].phase;
    if (i == 0 || phase != plan->steps.data[i - 1].phase)
      EG_TRY(eg_text_printf(p->out, "%s\n", eg_phase_name(phase)));
    eg_repeat repeat = eg_repeat_at(i, len, alike_steps, plan);
    for (uint32_t k = i; k < i + repeat.period; k++)
      EG_TRY(print_step(p, &plan->steps.data[k]));
    EG_TRY(print_repeat(repeat, p->out));
    i += repeat.period * repeat.count;
  }
  return EGRAPH_OK;
}

static egraph_status print_carried(const eg_plan *plan, uint32_t output, eg_text *out) {
  for (size_t i = 0; i + 1 < plan->carried.len; i += 2)
    if (plan->carried.data[i] == output)
      EG_TRY(eg_text_print_names(
          out, ", the next %s",
          eg_graph_value(plan->graph, (eg_value){plan->carried.data[i + 1]})->name));
  return EGRAPH_OK;
}

static egraph_status print_output(const eg_plan *plan, uint32_t output, eg_text *out) {
  uint32_t state = plan->output_states.data[output];
  const char *name;
  (void)eg_graph_output(plan->graph, output, &name);
  EG_TRY(eg_text_append(out, "  "));
  EG_TRY(print_state(plan, state, out));
  if (strcmp(name, value_of(plan, state)->name) != 0)
    EG_TRY(eg_text_print_names(out, " as %s", name));
  EG_TRY(print_carried(plan, output, out));
  return eg_text_append(out, "\n");
}

static egraph_status print_outputs(const eg_plan *plan, eg_text *out) {
  uint32_t len = (uint32_t)plan->output_states.len;
  EG_TRY(eg_text_append(out, "outputs\n"));
  for (uint32_t i = 0; i < len;) {
    eg_repeat repeat = eg_repeat_at(i, len, alike_outputs, plan);
    for (uint32_t k = i; k < i + repeat.period; k++)
      EG_TRY(print_output(plan, k, out));
    EG_TRY(print_repeat(repeat, out));
    i += repeat.period * repeat.count;
  }
  return EGRAPH_OK;
}

static egraph_status print_all(printer *p) {
  const eg_plan *plan = p->plan;
  EG_TRY(eg_plan_labels_make(plan, p->arena.alloc, &p->names));
  EG_TRY(eg_text_append(p->out, "STEPS on "));
  EG_TRY(plan->mesh.axis_count == 0 ? eg_text_append(p->out, "one device")
                                    : eg_mesh_print(p->out, &plan->mesh));
  if (plan->micro_batches > 1)
    EG_TRY(eg_text_printf(p->out, ", %" PRIu32 " micro-batches", plan->micro_batches));
  EG_TRY(eg_text_append(p->out, "\n"));
  EG_TRY(print_entries(plan, p->out));
  EG_TRY(print_steps(p));
  return print_outputs(plan, p->out);
}

egraph_status eg_plan_print(const eg_plan *plan, eg_plan_words words, eg_text *out) {
  printer p = {.plan = plan, .words = words, .out = out};
  eg_arena_init(&p.arena, out->chars.alloc);
  eg_arena_init(&p.names.arena, out->chars.alloc);
  egraph_status status = print_all(&p);
  eg_plan_labels_deinit(&p.names);
  eg_arena_deinit(&p.arena);
  return status;
}
