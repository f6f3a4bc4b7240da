// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_analysis.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "base/owner.h"
#include "pcg/plan/plan_rivals.h"
#include "pcg/plan/plan_words.h"

enum { MOST_LINES = 5 };

// ---- idle axes ------------------------------------------------------------------------

uint32_t eg_plan_idle_axes(const eg_plan *plan) {
  uint32_t idle = 0;
  for (uint32_t a = 0; a < plan->mesh.axis_count; a++)
    if (plan->mesh.axes[a].size > 1) idle |= 1u << a;
  for (size_t i = 0; i < plan->states.len; i++)
    for (uint32_t a = 0; a < plan->mesh.axis_count; a++)
      if (plan->states.data[i].layout.sharding[a] != EG_SHARD_R) idle &= ~(1u << a);
  return idle;
}

uint32_t eg_plan_useful_devices(const eg_plan *plan) {
  uint32_t idle = eg_plan_idle_axes(plan), devices = 1;
  for (uint32_t a = 0; a < plan->mesh.axis_count; a++)
    if ((idle >> a & 1) == 0) devices *= plan->mesh.axes[a].size;
  return devices;
}

static void write_seconds(eg_text *text, const char *key, double seconds) {
  eg_text_append(text, ", ");
  if (seconds > 0)
    eg_text_json_figure(text, key, seconds, "");
  else
    eg_text_json_member(text, key, NULL, "");
}

static void write_devices(eg_text *text, const eg_plan *plan) {
  uint32_t idle = eg_plan_idle_axes(plan);
  const char *separator = "";
  eg_text_printf(text, ", \"useful_devices\": %" PRIu32 ", \"idle_axes\": [",
                 eg_plan_useful_devices(plan));
  for (uint32_t a = 0; a < plan->mesh.axis_count; a++) {
    if ((idle >> a & 1) == 0) continue;
    eg_text_printf(text, "%s\"%s\"", separator, plan->mesh.axes[a].name);
    separator = ", ";
  }
  eg_text_append(text, "]");
  write_seconds(text, "single_device_seconds", plan->single_seconds);
  write_seconds(text, "peak_seconds", plan->peak_seconds);
}

// ---- outputs --------------------------------------------------------------------------

static const eg_layout *layout_of_output(const eg_plan *plan, uint32_t output) {
  return &plan->states.data[plan->output_states.data[output]].layout;
}

/// Prints a line for each output that is not whole and is not passed to the next step.
static void print_delivered(eg_text *text, const eg_plan *plan) {
  static const eg_layout whole = {.format = EG_FORMAT_PLAIN};
  uint32_t count = 0;
  for (uint32_t o = 0; o < plan->output_states.len; o++) {
    const eg_layout *layout = layout_of_output(plan, o);
    const char *name;
    eg_value value = eg_graph_output(plan->graph, o, &name);
    if (eg_layout_same(&plan->mesh, layout, &whole) || eg_plan_is_carried(plan, o) ||
        count++ >= MOST_LINES)
      continue;
    eg_text_print_names(text, "delivered   %s: ", name);
    eg_layout_words(text, &plan->mesh, eg_graph_value(plan->graph, value)->type.rank,
                    layout);
    eg_text_append(text, "\n");
  }
  if (count > MOST_LINES)
    eg_text_printf(text, "delivered   %" PRIu32 " more outputs in parts\n",
                   count - MOST_LINES);
}

static void write_delivered(eg_text *text, const eg_plan *plan) {
  const char *separator = "";
  for (uint32_t o = 0; o < plan->output_states.len; o++) {
    const char *name;
    if (eg_plan_is_carried(plan, o)) continue;
    (void)eg_graph_output(plan->graph, o, &name);
    eg_text_printf(text, "%s{", separator);
    eg_text_json_member(text, "output", name, ", \"layout\": \"");
    eg_layout_print(text, &plan->mesh, layout_of_output(plan, o));
    eg_text_append(text, "\"}");
    separator = ", ";
  }
}

// ---- operators that are not split as they could be ------------------------------------

typedef struct finder {
  const eg_plan *plan;
  eg_arena arena;           // of one step
  eg_unevens factors;       // of one step
  eg_strategies strategies; // of one step, along one axis
} finder;
EG_OWNER_DEFINE_STATIC(finder, (eg_arena, arena), (eg_unevens, factors),
                       (eg_strategies, strategies))

/// Returns the operator that a plan step runs.
static eg_op op_of_step(const eg_plan *plan, uint32_t step) {
  eg_graph_node node = plan->steps.data[step].node;
  return (eg_op)eg_graph_node_at(plan->graph, node).attrs->op;
}

/// Returns the name of a plan step's first result.
static const char *name_of_step(const eg_plan *plan, uint32_t step) {
  eg_graph_node node = plan->steps.data[step].node;
  return eg_graph_value(plan->graph, eg_graph_node_at(plan->graph, node).results[0])
      ->name;
}

/// Prints "uneven h (matmul) and 3 alike", the beginning of the line for a step and
/// `more` steps like it.
static void begin_line(eg_text *text, const eg_plan *plan, const char *what,
                       uint32_t step, uint32_t more) {
  eg_text_print_names(text, "%-11s %s (%s)", what, name_of_step(plan, step),
                      eg_op_info_of(op_of_step(plan, step))->name);
  if (more != 0) eg_text_printf(text, " and %" PRIu32 " alike", more);
}

// ---- uneven splits --------------------------------------------------------------------

/// The splits of one operator along one axis that sizes do not allow. The size, the
/// tensor and its dimension belong to the factor (loop index) whose split would save
/// most. On 4 devices, a factor of 10 leaves 3 for a device, a factor of 2 leaves 1.
typedef struct uneven {
  uint32_t step; // that runs the operator
  uint32_t axis;
  bool is_first;   // of the operator's rows
  int64_t size;    // of the factor
  uint32_t splits; // number of factors that do not divide
  eg_value tensor; // tensor that the factor indexes: the result, or an operand
  uint32_t dim;    // of the tensor
  double seconds;  // seconds of the operator in a step of training
  double saved;    // that the split would save; 0 if devices along the axis differ
} uneven;
EG_VEC_DEFINE(unevens, uneven);

/// Returns the share of its work that a device saves by a split as even as possible.
static double saved_share(int64_t size, uint32_t devices) {
  int64_t left = size / devices + (size % devices != 0);
  return 1 - (double)left / (double)size;
}

/// Joins all factors (loop indexes) of a step that an axis does not divide into one row.
static uneven join_factors(const finder *f, uint32_t number, const eg_spread *spread,
                           uint32_t axis) {
  const eg_plan_step *step = &f->plan->steps.data[number];
  uint32_t devices = f->plan->mesh.axes[axis].size;
  uneven row = {
      .step = number, .axis = axis, .seconds = eg_plan_step_seconds(f->plan, step)};
  double best = -1;
  for (size_t i = 0; i < f->factors.len; i++) {
    const eg_factor *factor = &spread->factors.factor[f->factors.data[i].factor];
    if (f->factors.data[i].axis != axis) continue;
    row.splits++;
    if (saved_share(factor->size, devices) <= best) continue;
    best = saved_share(factor->size, devices);
    row.size = factor->size;
    eg_place place = eg_plan_factor_place(f->plan, step, factor);
    row.tensor = place.value;
    row.dim = place.dim;
  }
  if (step->action[axis] == EG_ACTION_REPLICATE) row.saved = row.seconds * best;
  return row;
}

static egraph_status add_unevens(finder *f, uint32_t number, unevens *inout) {
  eg_node_spec spec;
  eg_spread spread;
  bool is_first = true;
  f->factors.len = 0;
  EG_TRY(eg_plan_spec(f->plan, &f->plan->steps.data[number], &f->arena, &spec));
  EG_TRY(eg_spread_init(&spec, &spread));
  EG_TRY(eg_spread_unevens(&spread, &f->plan->mesh, &f->factors));
  for (uint32_t a = 0; a < f->plan->mesh.axis_count; a++) {
    uneven row = join_factors(f, number, &spread, a);
    row.is_first = is_first;
    if (row.splits == 0) continue;
    EG_TRY(unevens_push(inout, row));
    is_first = false;
  }
  eg_arena_deinit(&f->arena);
  return EGRAPH_OK;
}

static int by_saving(const void *a, const void *b) {
  const uneven *x = a, *y = b;
  if (x->saved < y->saved || x->saved > y->saved) return x->saved > y->saved ? -1 : 1;
  if (x->step != y->step) return x->step < y->step ? -1 : 1;
  return x->axis < y->axis ? -1 : x->axis > y->axis;
}

/// Appends all splits that sizes do not allow: most saved first, then by step.
static egraph_status find_unevens(const eg_plan *plan, unevens *inout) {
  EG_LOCAL(finder, f, inout->alloc);
  f.plan = plan;
  for (uint32_t i = 0; i < plan->steps.len; i++)
    if (!plan->steps.data[i].is_move) EG_TRY(add_unevens(&f, i, inout));
  if (inout->len > 1) qsort(inout->data, inout->len, sizeof *inout->data, by_saving);
  return EGRAPH_OK;
}

typedef struct uneven_totals {
  uint64_t operators, splits;
} uneven_totals;

static uneven_totals sum_unevens(const unevens *rows) {
  uneven_totals all = {0};
  for (size_t i = 0; i < rows->len; i++) {
    all.operators += rows->data[i].is_first;
    all.splits += rows->data[i].splits;
  }
  return all;
}

/// True when two impossible splits have the same operator, axis, number of the dimension
/// and size, as in repeated blocks.
static bool are_like_unevens(const eg_plan *plan, const uneven *a, const uneven *b) {
  return a->axis == b->axis && a->dim == b->dim && a->size == b->size &&
         op_of_step(plan, a->step) == op_of_step(plan, b->step);
}

/// Prints one line for a split that a size does not allow, and all splits like it.
static void print_uneven(eg_text *text, const eg_plan *plan, const unevens *rows,
                         size_t first) {
  const uneven *row = &rows->data[first];
  const eg_mesh_axis *axis = &plan->mesh.axes[row->axis];
  uint32_t more = 0;
  double seconds = row->seconds, saved = row->saved;
  for (size_t i = first + 1; i < rows->len; i++) {
    if (!are_like_unevens(plan, row, &rows->data[i])) continue;
    seconds += rows->data[i].seconds;
    saved += rows->data[i].saved;
    more++;
  }
  begin_line(text, plan, "uneven", row->step, more);
  eg_text_print_names(text,
                      ": dimension %" PRIu32 " of %s is %" PRId64 ", which %s=%" PRIu32
                      " does not divide; every device repeats ",
                      row->dim, eg_graph_value(plan->graph, row->tensor)->name, row->size,
                      axis->name, axis->size);
  eg_text_seconds(text, seconds);
  eg_text_append(text, " of computing, ");
  eg_text_seconds(text, saved);
  eg_text_append(text, " more than if split\n");
}

static egraph_status print_unevens(eg_text *text, const eg_plan *plan) {
  EG_LOCAL(unevens, rows, text->chars.alloc);
  EG_TRY(find_unevens(plan, &rows));
  uneven_totals all = sum_unevens(&rows);
  uint32_t lines = 0;
  if (all.operators == 0) return EGRAPH_OK;
  for (size_t i = 0; i < rows.len && lines < MOST_LINES; i++) {
    bool is_new = rows.data[i].saved > 0;
    for (size_t j = 0; j < i && is_new; j++)
      is_new = !are_like_unevens(plan, &rows.data[j], &rows.data[i]);
    if (is_new) print_uneven(text, plan, &rows, i);
    lines += is_new;
  }
  return eg_text_printf(text,
                        "uneven      %" PRIu64 " splits of %" PRIu64
                        " operators in all do not divide\n",
                        all.splits, all.operators);
}

/// Writes the splits that sizes do not allow and that would save time, at most five.
static egraph_status write_unevens(eg_text *text, const eg_plan *plan) {
  EG_LOCAL(unevens, rows, text->chars.alloc);
  EG_TRY(find_unevens(plan, &rows));
  uneven_totals all = sum_unevens(&rows);
  eg_text_printf(text,
                 "{\"operators\": %" PRIu64 ", \"splits\": %" PRIu64 ", \"worst\": [",
                 all.operators, all.splits);
  for (size_t i = 0; i < rows.len && i < MOST_LINES && rows.data[i].saved > 0; i++) {
    const uneven *row = &rows.data[i];
    const eg_mesh_axis *axis = &plan->mesh.axes[row->axis];
    eg_text_append(text, i == 0 ? "{" : ", {");
    eg_text_json_member(text, "value", name_of_step(plan, row->step), ", ");
    eg_text_json_member(text, "operator",
                        eg_op_info_of(op_of_step(plan, row->step))->name, ", ");
    eg_text_json_member(text, "tensor", eg_graph_value(plan->graph, row->tensor)->name,
                        ", ");
    eg_text_printf(text,
                   "\"dimension\": %" PRIu32 ", \"size\": %" PRId64
                   ", \"axis\": \"%s\", \"devices\": %" PRIu32 ", \"splits\": %" PRIu32
                   ", ",
                   row->dim, row->size, axis->name, axis->size, row->splits);
    eg_text_json_figure(text, "seconds", row->seconds, ", ");
    eg_text_json_figure(text, "saved_seconds", row->saved, "}");
  }
  return eg_text_append(text, "]}");
}

// ---- operators that cannot be split ---------------------------------------------------

/// An operator that no strategy splits along any axis of the plan, whatever its
/// sizes are.
typedef struct unsplit {
  uint32_t step;  // that runs the operator
  double seconds; // seconds of the operator in a step of training
} unsplit;
EG_VEC_DEFINE(unsplits, unsplit);

/// True when some factor (loop index) of an operator has more than one element.
static bool has_parts(const eg_spread *spread) {
  if (spread->spec.attrs->op == EG_OP_OPAQUE) return true;
  for (uint32_t f = 0; f < spread->factors.count; f++)
    if (spread->factors.factor[f].size > 1) return true;
  return false;
}

/// True for a node step that all devices repeat.
static bool is_repeated(const eg_plan *plan, const eg_plan_step *step) {
  for (uint32_t a = 0; a < plan->mesh.axis_count; a++)
    if (step->action[a] != EG_ACTION_REPLICATE) return false;
  return !step->is_move;
}

/// Finds whether some factor (loop index) can be split along this axis alone, or could if
/// its size divided.
static egraph_status find_split(finder *f, const eg_spread *spread, uint32_t axis,
                                bool *out) {
  eg_mesh alone = {.axis_count = 1, .axes = {f->plan->mesh.axes[axis]}};
  f->strategies.len = f->factors.len = 0;
  EG_TRY(eg_spread_unevens(spread, &alone, &f->factors));
  EG_TRY(eg_spread_strategies(spread, &alone, &f->arena, &f->strategies));
  *out = f->factors.len != 0;
  for (size_t s = 0; s < f->strategies.len; s++)
    *out = *out || f->strategies.data[s].action[0] >= EG_ACTION_SPLIT;
  return EGRAPH_OK;
}

static egraph_status add_unsplit(finder *f, uint32_t number, unsplits *inout) {
  const eg_plan_step *step = &f->plan->steps.data[number];
  eg_node_spec spec;
  eg_spread spread;
  bool is_split = false;
  EG_TRY(eg_plan_spec(f->plan, step, &f->arena, &spec));
  EG_TRY(eg_spread_init(&spec, &spread));
  for (uint32_t a = 0; !is_split && a < f->plan->mesh.axis_count; a++)
    if (f->plan->mesh.axes[a].size > 1) EG_TRY(find_split(f, &spread, a, &is_split));
  unsplit row = {.step = number, .seconds = eg_plan_step_seconds(f->plan, step)};
  if (!is_split && has_parts(&spread)) EG_TRY(unsplits_push(inout, row));
  eg_arena_deinit(&f->arena);
  return EGRAPH_OK;
}

static int by_seconds(const void *a, const void *b) {
  const unsplit *x = a, *y = b;
  if (x->seconds < y->seconds || x->seconds > y->seconds)
    return x->seconds > y->seconds ? -1 : 1;
  return x->step < y->step ? -1 : x->step > y->step;
}

/// Appends all operators that cannot be split: the longest first, then in the order of
/// steps. Appends nothing on a single device.
static egraph_status find_unsplits(const eg_plan *plan, unsplits *inout) {
  EG_LOCAL(finder, f, inout->alloc);
  f.plan = plan;
  if (eg_mesh_devices(&plan->mesh) == 1) return EGRAPH_OK;
  for (uint32_t i = 0; i < plan->steps.len; i++)
    if (is_repeated(plan, &plan->steps.data[i])) EG_TRY(add_unsplit(&f, i, inout));
  if (inout->len > 1) qsort(inout->data, inout->len, sizeof *inout->data, by_seconds);
  return EGRAPH_OK;
}

static const char *why_unsplit(eg_op op) {
  const char *why =
      op == EG_OP_OPAQUE ? "the operator is not known" : eg_op_why_whole(op);
  return why[0] != '\0' ? why : "its parts would need each other";
}

/// Prints a line with the reason for the five longest operators that cannot be split;
/// operators of one kind share a line. Then prints the number of all such operators.
static egraph_status print_unsplits(eg_text *text, const eg_plan *plan) {
  EG_LOCAL(unsplits, rows, text->chars.alloc);
  EG_TRY(find_unsplits(plan, &rows));
  uint32_t lines = 0;
  if (rows.len == 0) return EGRAPH_OK;
  for (size_t i = 0; i < rows.len && lines < MOST_LINES; i++) {
    eg_op op = op_of_step(plan, rows.data[i].step);
    bool is_new = true;
    for (size_t j = 0; j < i && is_new; j++)
      is_new = op_of_step(plan, rows.data[j].step) != op;
    if (!is_new) continue;
    double seconds = rows.data[i].seconds;
    uint32_t more = 0;
    for (size_t j = i + 1; j < rows.len; j++) {
      if (op_of_step(plan, rows.data[j].step) != op) continue;
      seconds += rows.data[j].seconds;
      more++;
    }
    begin_line(text, plan, "repeated", rows.data[i].step, more);
    eg_text_printf(text, " cannot be split: %s; every device repeats ", why_unsplit(op));
    eg_text_seconds(text, seconds);
    eg_text_append(text, " of computing\n");
    lines++;
  }
  return eg_text_printf(text, "repeated    %zu operators in all cannot be split\n",
                        rows.len);
}

static egraph_status write_unsplits(eg_text *text, const eg_plan *plan) {
  EG_LOCAL(unsplits, rows, text->chars.alloc);
  EG_TRY(find_unsplits(plan, &rows));
  eg_text_printf(text, "{\"operators\": %zu, \"worst\": [", rows.len);
  for (size_t i = 0; i < rows.len && i < MOST_LINES; i++) {
    eg_op op = op_of_step(plan, rows.data[i].step);
    eg_text_append(text, i == 0 ? "{" : ", {");
    eg_text_json_member(text, "value", name_of_step(plan, rows.data[i].step), ", ");
    eg_text_json_member(text, "operator", eg_op_info_of(op)->name, ", ");
    eg_text_json_member(text, "why", why_unsplit(op), ", ");
    eg_text_json_figure(text, "seconds", rows.data[i].seconds, "}");
  }
  return eg_text_append(text, "]}");
}

// ---- remarks --------------------------------------------------------------------------

egraph_status eg_plan_remarks_print(eg_text *text, const eg_plan *plan,
                                    const eg_plan_summary *summary) {
  EG_LOCAL(eg_text, remarks, text->chars.alloc);
  EG_TRY(eg_plan_rivals_print(&remarks, plan, summary));
  print_delivered(&remarks, plan);
  EG_TRY(print_unevens(&remarks, plan));
  EG_TRY(print_unsplits(&remarks, plan));
  EG_TRY(eg_text_status(&remarks));
  if (remarks.chars.len == 0) return EGRAPH_OK;
  return eg_text_printf(text, "\n%s", eg_text_of(&remarks));
}

egraph_status eg_plan_remarks_write_members(eg_text *text, const eg_plan *plan) {
  eg_text_append(text, "\"baselines\": ");
  eg_plan_rivals_write_json(text, &plan->rivals);
  eg_text_append(text, ", \"uneven\": ");
  EG_TRY(write_unevens(text, plan));
  eg_text_append(text, ", \"repeated\": ");
  EG_TRY(write_unsplits(text, plan));
  eg_text_append(text, ", \"delivered\": [");
  write_delivered(text, plan);
  eg_text_append(text, "]");
  write_devices(text, plan);
  return eg_text_status(text);
}
