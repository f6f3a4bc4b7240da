// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_uneven.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/json_text.h"
#include "pcg/plan/plan_words.h"

enum { MOST_LINES = 5 };

typedef struct finder {
  const eg_plan *plan;
  eg_arena arena;     // of one step
  eg_unevens unevens; // of one step
  eg_plan_unevens *out;
  size_t first; // row of one step
} finder;

// ---- finding --------------------------------------------------------------------------

static int64_t parts_left(int64_t size, uint32_t devices) {
  return size / devices + (size % devices != 0);
}

/// Part of the work that a split of so many as evenly as possible takes off a device.
static double part_saved(int64_t size, uint32_t devices) {
  return 1 - (double)parts_left(size, devices) / (double)size;
}

/// The tensor and dimension that a factor indexes.
static void place(const finder *f, const eg_plan_step *step, const eg_factor *factor,
                  eg_plan_uneven *inout) {
  eg_graph_node_info info = eg_graph_node_at(f->plan->graph, step->node);
  inout->tensor = info.results[0];
  if (factor->output_dim[0] != EG_NO_DIM) {
    inout->dim = (uint32_t)factor->output_dim[0];
    return;
  }
  for (uint32_t i = info.input_count; i-- > 0;)
    if (factor->input_dim[eg_factor_row(i)] != EG_NO_DIM) {
      inout->tensor = info.inputs[i];
      inout->dim = (uint32_t)factor->input_dim[eg_factor_row(i)];
    }
}

/// Joins the unevens of a step along one axis.
static egraph_status add_axis(finder *f, uint32_t number, const eg_spread *spread,
                              uint32_t axis) {
  const eg_plan_step *step = &f->plan->steps.data[number];
  uint32_t devices = f->plan->mesh.axes[axis].size;
  double runs = eg_phase_runs(f->plan, step->phase) * eg_plan_step_blocks(step);
  eg_plan_uneven row = {.step = number,
                        .axis = axis,
                        .is_first = f->out->len == f->first,
                        .seconds = runs * step->seconds};
  double best = -1;
  for (size_t i = 0; i < f->unevens.len; i++) {
    const eg_factor *factor = &spread->factors.factor[f->unevens.data[i].factor];
    if (f->unevens.data[i].axis != axis) continue;
    row.splits++;
    if (part_saved(factor->size, devices) <= best) continue;
    best = part_saved(factor->size, devices);
    row.size = factor->size;
    place(f, step, factor, &row);
  }
  if (row.splits == 0) return EGRAPH_OK;
  if (step->action[axis] == EG_ACTION_REPLICATE) row.saved = row.seconds * best;
  return eg_plan_unevens_push(f->out, row);
}

static egraph_status add_step(finder *f, uint32_t number) {
  eg_node_spec spec;
  eg_spread spread;
  f->unevens.len = 0;
  f->first = f->out->len;
  EG_TRY(eg_plan_spec(f->plan, &f->plan->steps.data[number], &f->arena, &spec));
  EG_TRY(eg_spread_init(&spec, &spread));
  EG_TRY(eg_spread_unevens(&spread, &f->plan->mesh, &f->unevens));
  for (uint32_t a = 0; a < f->plan->mesh.axis_count; a++)
    EG_TRY(add_axis(f, number, &spread, a));
  eg_arena_deinit(&f->arena);
  return EGRAPH_OK;
}

static int by_saving(const void *a, const void *b) {
  const eg_plan_uneven *x = a, *y = b;
  if (x->saved < y->saved || x->saved > y->saved) return x->saved > y->saved ? -1 : 1;
  if (x->step != y->step) return x->step < y->step ? -1 : 1;
  return x->axis < y->axis ? -1 : x->axis > y->axis;
}

egraph_status eg_plan_unevens_find(const eg_plan *plan, egraph_allocator alloc,
                                   eg_plan_unevens *inout) {
  finder f = {.plan = plan, .out = inout};
  eg_arena_init(&f.arena, alloc);
  eg_unevens_init(&f.unevens, alloc);
  egraph_status status = EGRAPH_OK;
  for (uint32_t i = 0; status == EGRAPH_OK && i < plan->steps.len; i++)
    if (!plan->steps.data[i].is_move) status = add_step(&f, i);
  if (inout->len > 1) qsort(inout->data, inout->len, sizeof *inout->data, by_saving);
  eg_arena_deinit(&f.arena);
  eg_unevens_deinit(&f.unevens);
  return status;
}

uint32_t eg_plan_unevens_worth(const eg_plan_unevens *unevens) {
  uint32_t count = 0;
  while (count < MOST_LINES && count < unevens->len && unevens->data[count].saved > 0)
    count++;
  return count;
}

// ---- what is said of them -------------------------------------------------------------

typedef struct uneven_words {
  const char *value, *op, *tensor; // the operator's first result, what it is, where
  const eg_mesh_axis *axis;
} uneven_words;

static uneven_words words_of(const eg_plan *plan, const eg_plan_uneven *row) {
  eg_graph_node_info info =
      eg_graph_node_at(plan->graph, plan->steps.data[row->step].node);
  return (uneven_words){.value = eg_graph_value(plan->graph, info.results[0])->name,
                        .op = eg_op_info_of(info.attrs->op)->name,
                        .tensor = eg_graph_value(plan->graph, row->tensor)->name,
                        .axis = &plan->mesh.axes[row->axis]};
}

typedef struct totals {
  uint64_t operators, splits;
} totals;

static totals sum_up(const eg_plan_unevens *unevens) {
  totals all = {0};
  for (size_t i = 0; i < unevens->len; i++) {
    all.operators += unevens->data[i].is_first;
    all.splits += unevens->data[i].splits;
  }
  return all;
}

static egraph_status print_row(eg_text *text, const eg_plan *plan,
                               const eg_plan_uneven *row) {
  uneven_words w = words_of(plan, row);
  EG_TRY(eg_text_printf(text,
                        "uneven    %s = %s: dimension %" PRIu32 " of %s is %" PRId64
                        ", which %s=%" PRIu32 " does not divide; all repeat ",
                        w.value, w.op, row->dim, w.tensor, row->size, w.axis->name,
                        w.axis->size));
  EG_TRY(eg_text_seconds(text, row->seconds));
  EG_TRY(eg_text_append(text, " of work, "));
  EG_TRY(eg_text_seconds(text, row->saved));
  return eg_text_append(text, " more than if split\n");
}

egraph_status eg_plan_unevens_print(eg_text *text, const eg_plan *plan,
                                    const eg_plan_unevens *unevens) {
  totals all = sum_up(unevens);
  if (all.operators == 0) return EGRAPH_OK;
  for (uint32_t i = 0; i < eg_plan_unevens_worth(unevens); i++)
    EG_TRY(print_row(text, plan, &unevens->data[i]));
  return eg_text_printf(text,
                        "uneven    %" PRIu64 " splits of %" PRIu64
                        " operators in all do not divide\n",
                        all.splits, all.operators);
}

static egraph_status write_text(eg_text *text, const char *key, const char *value) {
  EG_TRY(eg_text_printf(text, "\"%s\": ", key));
  EG_TRY(eg_text_json_string(text, value));
  return eg_text_append(text, ", ");
}

static egraph_status write_row(eg_text *text, const eg_plan *plan,
                               const eg_plan_uneven *row) {
  uneven_words w = words_of(plan, row);
  EG_TRY(eg_text_append(text, "{"));
  EG_TRY(write_text(text, "value", w.value));
  EG_TRY(write_text(text, "operator", w.op));
  EG_TRY(write_text(text, "tensor", w.tensor));
  EG_TRY(eg_text_printf(text,
                        "\"dimension\": %" PRIu32 ", \"size\": %" PRId64
                        ", \"axis\": \"%s\", \"devices\": %" PRIu32
                        ", \"splits\": %" PRIu32 ", \"seconds\": ",
                        row->dim, row->size, w.axis->name, w.axis->size, row->splits));
  EG_TRY(eg_text_json_double(text, row->seconds));
  EG_TRY(eg_text_append(text, ", \"saved_seconds\": "));
  EG_TRY(eg_text_json_double(text, row->saved));
  return eg_text_append(text, "}");
}

egraph_status eg_plan_unevens_write_json(eg_text *text, const eg_plan *plan,
                                         const eg_plan_unevens *unevens) {
  totals all = sum_up(unevens);
  EG_TRY(eg_text_printf(
      text, "{\"operators\": %" PRIu64 ", \"splits\": %" PRIu64 ", \"worst\": [",
      all.operators, all.splits));
  for (uint32_t i = 0; i < eg_plan_unevens_worth(unevens); i++) {
    if (i != 0) EG_TRY(eg_text_append(text, ", "));
    EG_TRY(write_row(text, plan, &unevens->data[i]));
  }
  return eg_text_append(text, "]}");
}
