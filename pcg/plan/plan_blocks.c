// Prints the blocks of the model in a plan: nodes of the forward phase are cut into
// parts, values and later nodes are assigned to these parts, and neighbouring blocks with
// the same layouts are printed as one row.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "base/owner.h"
#include "pcg/plan/plan_report.h"
#include "pcg/plan/plan_words.h"

enum { MOST_NAMES = 6 }; // of one layout
#define NO_PART UINT32_MAX

typedef struct part {
  uint32_t first, count; // nodes of the forward phase
  uint32_t block;        // number among the repeated blocks, from 1; 0: no repeated block
  double seconds;        // of a step of training
} part;
EG_VEC_DEFINE(parts, part);

typedef struct finder {
  const eg_plan *plan;
  eg_u32s nodes;         // steps of the forward phase that run a node
  parts parts;           // the last part is for other steps: clipping, shared constants
  uint32_t blocks;       // number of repeated blocks
  uint32_t *part_of;     // [values]: part that makes the value, or is the first to use it
  uint32_t *first_state; // [values]: first in the list of its states
  uint32_t *next_state;  // [states]: next state of the same value
  bool *is_carried;      // [values]: comes from the step before
  eg_arena arena;
} finder;
EG_OWNER_DEFINE_STATIC(finder, (eg_u32s, nodes), (parts, parts), (eg_arena, arena))

// ---- parts of the forward phase -------------------------------------------------------

typedef enum role {
  ROLE_WEIGHT,
  ROLE_INPUT,
  ROLE_ACTIVATION,
  ROLE_UNNAMED, // an activation without a name of the model
} role;

static role role_of(const finder *f, eg_value value) {
  const eg_value_info *info = eg_graph_value(f->plan->graph, value);
  if (info->kind == EG_VALUE_WEIGHT || f->is_carried[value.id]) return ROLE_WEIGHT;
  if (info->kind == EG_VALUE_INPUT) return ROLE_INPUT;
  return eg_name_is_made_up(info->name) ? ROLE_UNNAMED : ROLE_ACTIVATION;
}

static eg_graph_node_info node_of_step(const finder *f, uint32_t index) {
  return eg_graph_node_at(f->plan->graph, f->plan->steps.data[f->nodes.data[index]].node);
}

static bool are_like_values(const finder *f, eg_value a, eg_value b) {
  const eg_type *x = &eg_graph_value(f->plan->graph, a)->type;
  const eg_type *y = &eg_graph_value(f->plan->graph, b)->type;
  return x->dtype == y->dtype && eg_type_same_shape(x, y) &&
         (role_of(f, a) == ROLE_WEIGHT) == (role_of(f, b) == ROLE_WEIGHT);
}

/// True when two nodes are one operator on values of the same types, in any layouts.
static bool are_like_nodes(const void *user, uint32_t a, uint32_t b) {
  const finder *f = user;
  eg_graph_node_info x = node_of_step(f, a), y = node_of_step(f, b);
  bool same = x.attrs == y.attrs && x.input_count == y.input_count;
  for (uint32_t i = 0; same && i < x.result_count; i++)
    same = are_like_values(f, x.results[i], y.results[i]);
  for (uint32_t i = 0; same && i < x.input_count; i++)
    same = are_like_values(f, x.inputs[i], y.inputs[i]);
  return same;
}

static egraph_status add_part(finder *f, uint32_t first, uint32_t count, uint32_t block) {
  if (count == 0) return EGRAPH_OK;
  return parts_push(&f->parts, (part){.first = first, .count = count, .block = block});
}

static egraph_status find_parts(finder *f) {
  uint32_t len = (uint32_t)f->nodes.len, pending = 0;
  for (uint32_t i = 0; i < len;) {
    eg_repeat repeat = eg_repeat_at(i, len, are_like_nodes, f);
    if (repeat.count == 1) {
      i++;
      continue;
    }
    EG_TRY(add_part(f, pending, i - pending, 0));
    for (uint32_t k = 0; k < repeat.count; k++, i += repeat.period)
      EG_TRY(add_part(f, i, repeat.period, ++f->blocks));
    pending = i;
  }
  EG_TRY(add_part(f, pending, len - pending, 0));
  return parts_push(&f->parts, (part){.first = len});
}

// ---- parts of values and steps --------------------------------------------------------

static void place_value(finder *f, eg_value value, uint32_t number) {
  if (f->part_of[value.id] == NO_PART) f->part_of[value.id] = number;
}

static void place_forward(finder *f) {
  for (uint32_t p = 0; p + 1 < f->parts.len; p++) {
    const part *at = &f->parts.data[p];
    for (uint32_t i = at->first; i < at->first + at->count; i++) {
      eg_graph_node_info info = node_of_step(f, i);
      for (uint32_t k = 0; k < info.input_count; k++)
        place_value(f, info.inputs[k], p);
      for (uint32_t k = 0; k < info.result_count; k++)
        place_value(f, info.results[k], p);
    }
  }
}

/// Returns the part of the model (a block or the nodes between blocks) of a node of a
/// later phase: the part of the weight or last activation that it reads; if it reads only
/// gradients, the part that backward reached last.
static uint32_t part_of_node(const finder *f, const eg_graph_node_info *info) {
  uint32_t activation = NO_PART, gradient = NO_PART;
  for (uint32_t i = 0; i < info->input_count; i++) {
    uint32_t number = f->part_of[info->inputs[i].id];
    if (number == NO_PART || number + 1 == f->parts.len) continue;
    if (role_of(f, info->inputs[i]) == ROLE_WEIGHT) return number;
    uint32_t step = f->plan->states.data[f->first_state[info->inputs[i].id]].step;
    bool is_forward =
        step == EG_PLAN_NONE || f->plan->steps.data[step].phase == EG_PHASE_FORWARD;
    if (is_forward && (activation == NO_PART || number > activation)) activation = number;
    if (!is_forward && number < gradient) gradient = number;
  }
  if (activation != NO_PART) return activation;
  return gradient != NO_PART ? gradient : (uint32_t)f->parts.len - 1;
}

/// Assigns the values of later phases to parts of the model. States of the optimizer
/// belong to the part of the node that reads them together with the weight.
static void place_later(finder *f) {
  for (size_t i = 0; i < f->plan->steps.len; i++) {
    const eg_plan_step *step = &f->plan->steps.data[i];
    if (step->is_move || step->phase == EG_PHASE_FORWARD) continue;
    eg_graph_node_info info = eg_graph_node_at(f->plan->graph, step->node);
    uint32_t number = part_of_node(f, &info);
    for (uint32_t k = 0; k < info.result_count; k++)
      place_value(f, info.results[k], number);
    for (uint32_t k = 0; k < info.input_count; k++)
      if (f->is_carried[info.inputs[k].id]) place_value(f, info.inputs[k], number);
  }
}

static void add_seconds(finder *f) {
  for (size_t i = 0; i < f->plan->steps.len; i++) {
    const eg_plan_step *step = &f->plan->steps.data[i];
    eg_value value = step->is_move
                         ? f->plan->states.data[step->from].value
                         : eg_graph_node_at(f->plan->graph, step->node).results[0];
    uint32_t number = f->part_of[value.id];
    part *at = &f->parts.data[number != NO_PART ? number : f->parts.len - 1];
    at->seconds += eg_plan_step_seconds(f->plan, step);
  }
}

static egraph_status list_states_and_nodes(finder *f) {
  const eg_plan *plan = f->plan;
  uint32_t values = eg_graph_value_count(plan->graph);
  EG_NEW(&f->arena, values, f->part_of);
  EG_NEW(&f->arena, values, f->first_state);
  EG_NEW(&f->arena, values, f->is_carried);
  EG_NEW(&f->arena, plan->states.len, f->next_state);
  for (uint32_t v = 0; v < values; v++)
    f->part_of[v] = f->first_state[v] = EG_PLAN_NONE;
  for (uint32_t s = (uint32_t)plan->states.len; s-- > 0;) {
    uint32_t value = plan->states.data[s].value.id;
    f->next_state[s] = f->first_state[value];
    f->first_state[value] = s;
  }
  for (size_t i = 1; i < plan->carried.len; i += 2)
    f->is_carried[plan->carried.data[i]] = true;
  for (uint32_t i = 0; i < plan->steps.len; i++)
    if (!plan->steps.data[i].is_move && plan->steps.data[i].phase == EG_PHASE_FORWARD)
      EG_TRY(eg_u32s_push(&f->nodes, i));
  return EGRAPH_OK;
}

// ---- rows -----------------------------------------------------------------------------

/// Prints all layouts of a value, in the order in which they are made.
static egraph_status print_layouts(const finder *f, eg_value value, eg_text *text) {
  const eg_plan *plan = f->plan;
  const eg_type *type = &eg_graph_value(plan->graph, value)->type;
  for (uint32_t s = f->first_state[value.id]; s != EG_PLAN_NONE; s = f->next_state[s]) {
    bool is_new = true;
    for (uint32_t t = f->first_state[value.id]; t != s && is_new; t = f->next_state[t])
      is_new = !eg_layout_same(&plan->mesh, &plan->states.data[s].layout,
                               &plan->states.data[t].layout);
    if (!is_new) continue;
    if (s != f->first_state[value.id]) eg_text_append(text, "; then ");
    eg_layout_words(text, &plan->mesh, type->rank, &plan->states.data[s].layout);
  }
  return eg_text_status(text);
}

typedef struct row_value {
  eg_value value;
  role role;
  const char *layouts;
} row_value;
EG_VEC_DEFINE(row_values, row_value);

/// Fills in the texts of the layouts of values. If some activations have names, the
/// layouts of unnamed activations are left out.
static egraph_status fill_layouts(finder *f, row_values *inout) {
  bool has_names = false;
  EG_LOCAL(eg_text, text, f->arena.alloc);
  for (size_t i = 0; i < inout->len; i++)
    has_names = has_names || inout->data[i].role == ROLE_ACTIVATION;
  for (size_t i = 0; i < inout->len; i++) {
    row_value *row = &inout->data[i];
    row->layouts = "--text tells their layouts";
    if (row->role == ROLE_UNNAMED && has_names) continue;
    eg_text_clear(&text);
    EG_TRY(print_layouts(f, row->value, &text));
    EG_TRY(eg_arena_string(&f->arena, eg_text_of(&text), text.chars.len, &row->layouts));
  }
  return EGRAPH_OK;
}

/// Lists the values with a layout that a part of the model makes or is the first to use.
static egraph_status list_values(finder *f, uint32_t number, row_values *out) {
  const part *at = &f->parts.data[number];
  out->len = 0;
  for (uint32_t i = at->first; i < at->first + at->count; i++) {
    eg_graph_node_info info = node_of_step(f, i);
    for (uint32_t k = 0; k < info.input_count + info.result_count; k++) {
      bool is_input = k < info.input_count;
      eg_value value = is_input ? info.inputs[k] : info.results[k - info.input_count];
      role r = role_of(f, value);
      if (f->part_of[value.id] != number || is_input == (r >= ROLE_ACTIVATION) ||
          f->first_state[value.id] == EG_PLAN_NONE)
        continue;
      bool is_new = true;
      for (size_t j = 0; is_input && j < out->len && is_new; j++)
        is_new = out->data[j].value.id != value.id;
      if (is_new) EG_TRY(row_values_push(out, (row_value){.value = value, .role = r}));
    }
  }
  return fill_layouts(f, out);
}

static bool is_in_group(const row_value *group, const row_value *value) {
  return value->role == group->role && strcmp(value->layouts, group->layouts) == 0;
}

static bool have_same_layouts(const row_values *a, const row_values *b) {
  bool same = a->len == b->len;
  for (size_t i = 0; same && i < a->len; i++)
    same = is_in_group(&a->data[i], &b->data[i]);
  return same;
}

/// Prints in one line the values with the role (weight, ...) and layouts of `first`.
static void print_group(eg_text *text, const finder *f, const row_values *values,
                        size_t first) {
  const row_value *group = &values->data[first];
  bool is_named = group->role != ROLE_UNNAMED;
  uint32_t count = 0;
  for (size_t i = first; i < values->len; i++)
    if (is_in_group(group, &values->data[i]) && count++ < MOST_NAMES && is_named)
      eg_text_print_names(text, "%s%s", count == 1 ? "" : ", ",
                          eg_graph_value(f->plan->graph, values->data[i].value)->name);
  if (!is_named)
    eg_text_printf(text, "%" PRIu32 " activations", count);
  else if (count > MOST_NAMES)
    eg_text_printf(text, " and %" PRIu32 " more", count - MOST_NAMES);
  eg_text_printf(text, ": %s\n", group->layouts);
}

static void print_values(eg_text *text, const finder *f, const row_values *values) {
  static const char *const NAMES[] = {"weights", "inputs", "activations", "unnamed"};
  for (int r = 0; r <= ROLE_UNNAMED; r++) {
    const char *name = NAMES[r];
    for (size_t i = 0; i < values->len; i++) {
      bool is_new = values->data[i].role == (role)r;
      for (size_t j = 0; j < i && is_new; j++)
        is_new = !is_in_group(&values->data[i], &values->data[j]);
      if (!is_new) continue;
      eg_text_printf(text, "  %-12s ", name);
      print_group(text, f, values, i);
      name = "";
    }
  }
}

/// Prints "blocks 2 to 11 (10 times)" for parts `first` up to `end`.
static void print_title(eg_text *text, const finder *f, uint32_t first, uint32_t end) {
  const part *at = &f->parts.data[first];
  if (at->block == 0)
    eg_text_append(text, f->blocks == 0              ? "the whole model"
                         : first == 0                ? "before the blocks"
                         : first + 2 == f->parts.len ? "behind the blocks"
                                                     : "between the blocks");
  else if (end == first + 1)
    eg_text_printf(text, "block %" PRIu32, at->block);
  else
    eg_text_printf(text, "blocks %" PRIu32 " to %" PRIu32 " (%" PRIu32 " times)",
                   at->block, at->block + (end - first) - 1, end - first);
}

static void print_parts_as_row(eg_text *text, const finder *f, uint32_t first,
                               uint32_t end, const row_values *values) {
  double seconds = 0;
  for (uint32_t p = first; p < end; p++)
    seconds += f->parts.data[p].seconds;
  print_title(text, f, first, end);
  eg_text_append(text, ": ");
  eg_text_seconds(text, seconds);
  if (end > first + 1) {
    eg_text_append(text, ", ");
    eg_text_seconds(text, seconds / (end - first));
    eg_text_printf(text, " each; names are those of block %" PRIu32,
                   f->parts.data[first].block);
  }
  eg_text_append(text, "\n");
  if (f->plan->mesh.axis_count != 0) print_values(text, f, values);
}

static egraph_status print_rows(eg_text *text, finder *f) {
  uint32_t last = (uint32_t)f->parts.len - 1;
  EG_LOCAL(row_values, values, f->arena.alloc);
  EG_LOCAL(row_values, next, f->arena.alloc);
  for (uint32_t p = 0; p < last;) {
    uint32_t end = p + 1;
    EG_TRY(list_values(f, p, &values));
    for (; f->parts.data[p].block != 0 && end < last && f->parts.data[end].block != 0 &&
           f->parts.data[end].count == f->parts.data[p].count;
         end++) {
      EG_TRY(list_values(f, end, &next));
      if (!have_same_layouts(&values, &next)) break;
    }
    print_parts_as_row(text, f, p, end, &values);
    p = end;
  }
  if (f->parts.data[last].seconds > 0) {
    eg_text_append(text, "in no block: ");
    eg_text_seconds(text, f->parts.data[last].seconds);
    eg_text_append(text, "\n");
  }
  return eg_text_status(text);
}

egraph_status eg_plan_blocks_print(eg_text *text, const eg_plan *plan) {
  EG_LOCAL(finder, f, text->chars.alloc);
  f.plan = plan;
  EG_TRY(list_states_and_nodes(&f));
  EG_TRY(find_parts(&f));
  if (f.parts.len == 1 || (plan->mesh.axis_count == 0 && f.blocks == 0)) return EGRAPH_OK;
  place_forward(&f);
  place_later(&f);
  add_seconds(&f);
  eg_text_append(text, "\nBLOCKS, seconds of all phases together\n");
  return print_rows(text, &f);
}
