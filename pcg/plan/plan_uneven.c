// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_uneven.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
    eg_place place = eg_plan_factor_place(f->plan, step, factor);
    row.tensor = place.value;
    row.dim = place.dim;
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

/// The same operator along the same axis, with a dimension of the same number and size:
/// those of repeated blocks.
static bool alike(const eg_plan *plan, const eg_plan_uneven *a, const eg_plan_uneven *b) {
  return a->axis == b->axis && a->dim == b->dim && a->size == b->size &&
         strcmp(words_of(plan, a).op, words_of(plan, b).op) == 0;
}

/// One line for row `first` and all that are alike.
static egraph_status print_rows(eg_text *text, const eg_plan *plan,
                                const eg_plan_unevens *unevens, size_t first) {
  const eg_plan_uneven *row = &unevens->data[first];
  uneven_words w = words_of(plan, row);
  uint32_t more = 0;
  double seconds = row->seconds, saved = row->saved;
  for (size_t i = first + 1; i < unevens->len; i++) {
    if (!alike(plan, row, &unevens->data[i])) continue;
    seconds += unevens->data[i].seconds;
    saved += unevens->data[i].saved;
    more++;
  }
  EG_TRY(eg_text_print_names(text, "uneven      %s (%s)", w.value, w.op));
  if (more != 0) EG_TRY(eg_text_printf(text, " and %" PRIu32 " alike", more));
  EG_TRY(eg_text_print_names(text,
                             ": dimension %" PRIu32 " of %s is %" PRId64
                             ", which %s=%" PRIu32
                             " does not divide; every device repeats ",
                             row->dim, w.tensor, row->size, w.axis->name, w.axis->size));
  EG_TRY(eg_text_seconds(text, seconds));
  EG_TRY(eg_text_append(text, " of computing, "));
  EG_TRY(eg_text_seconds(text, saved));
  return eg_text_append(text, " more than if split\n");
}

egraph_status eg_plan_unevens_print(eg_text *text, const eg_plan *plan,
                                    const eg_plan_unevens *unevens) {
  totals all = sum_up(unevens);
  uint32_t lines = 0;
  if (all.operators == 0) return EGRAPH_OK;
  for (size_t i = 0; i < unevens->len && lines < MOST_LINES; i++) {
    bool is_new = unevens->data[i].saved > 0;
    for (size_t j = 0; j < i && is_new; j++)
      is_new = !alike(plan, &unevens->data[j], &unevens->data[i]);
    if (is_new) EG_TRY(print_rows(text, plan, unevens, i));
    lines += is_new;
  }
  return eg_text_printf(text,
                        "uneven      %" PRIu64 " splits of %" PRIu64
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
