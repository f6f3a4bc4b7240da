// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_whole.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "pcg/plan/plan_words.h"

enum { MOST_LINES = 5 };

typedef struct finder {
  const eg_plan *plan;
  eg_arena arena;           // of one step
  eg_strategies strategies; // of one step, along one axis
  eg_unevens unevens;       // likewise
} finder;

// ---- finding --------------------------------------------------------------------------

/// Whether there is something to divide at all.
static bool has_parts(const eg_spread *spread) {
  if (spread->spec.attrs->op == EG_OP_OPAQUE) return true;
  for (uint32_t f = 0; f < spread->factors.count; f++)
    if (spread->factors.factor[f].size > 1) return true;
  return false;
}

static bool repeats(const finder *f, const eg_plan_step *step) {
  for (uint32_t a = 0; a < f->plan->mesh.axis_count; a++)
    if (step->action[a] != EG_ACTION_REPLICATE) return false;
  return !step->is_move && eg_mesh_devices(&f->plan->mesh) > 1;
}

/// Whether some factor is split along an axis alone, or would be if its size divided.
static egraph_status find_split(finder *f, const eg_spread *spread, uint32_t axis,
                                bool *out) {
  eg_mesh alone = {.axis_count = 1, .axes = {f->plan->mesh.axes[axis]}};
  f->strategies.len = f->unevens.len = 0;
  EG_TRY(eg_spread_unevens(spread, &alone, &f->unevens));
  EG_TRY(eg_spread_strategies(spread, &alone, &f->arena, &f->strategies));
  *out = f->unevens.len != 0;
  for (size_t s = 0; s < f->strategies.len; s++)
    *out = *out || f->strategies.data[s].action[0] >= EG_ACTION_SPLIT;
  return EGRAPH_OK;
}

static egraph_status add_step(finder *f, uint32_t number, eg_plan_wholes *inout) {
  const eg_plan_step *step = &f->plan->steps.data[number];
  eg_node_spec spec;
  eg_spread spread;
  bool is_split = false;
  if (!repeats(f, step)) return EGRAPH_OK;
  EG_TRY(eg_plan_spec(f->plan, step, &f->arena, &spec));
  EG_TRY(eg_spread_init(&spec, &spread));
  for (uint32_t a = 0; !is_split && a < f->plan->mesh.axis_count; a++)
    if (f->plan->mesh.axes[a].size > 1) EG_TRY(find_split(f, &spread, a, &is_split));
  eg_plan_whole row = {.step = number,
                       .seconds = eg_phase_runs(f->plan, step->phase) *
                                  eg_plan_step_blocks(step) * step->seconds};
  if (!is_split && has_parts(&spread)) EG_TRY(eg_plan_wholes_push(inout, row));
  eg_arena_deinit(&f->arena);
  return EGRAPH_OK;
}

static int by_seconds(const void *a, const void *b) {
  const eg_plan_whole *x = a, *y = b;
  if (x->seconds < y->seconds || x->seconds > y->seconds)
    return x->seconds > y->seconds ? -1 : 1;
  return x->step < y->step ? -1 : x->step > y->step;
}

egraph_status eg_plan_wholes_find(const eg_plan *plan, egraph_allocator alloc,
                                  eg_plan_wholes *inout) {
  finder f = {.plan = plan};
  eg_arena_init(&f.arena, alloc);
  eg_strategies_init(&f.strategies, alloc);
  eg_unevens_init(&f.unevens, alloc);
  egraph_status status = EGRAPH_OK;
  for (uint32_t i = 0; status == EGRAPH_OK && i < plan->steps.len; i++)
    status = add_step(&f, i, inout);
  if (inout->len > 1) qsort(inout->data, inout->len, sizeof *inout->data, by_seconds);
  eg_arena_deinit(&f.arena);
  eg_strategies_deinit(&f.strategies);
  eg_unevens_deinit(&f.unevens);
  return status;
}

// ---- what is said of them -------------------------------------------------------------

typedef struct whole_words {
  const char *value, *op, *why; // the operator's first result, what it is
} whole_words;

static whole_words words_of(const eg_plan *plan, const eg_plan_whole *row) {
  eg_graph_node_info info =
      eg_graph_node_at(plan->graph, plan->steps.data[row->step].node);
  eg_op op = (eg_op)info.attrs->op;
  const char *why =
      op == EG_OP_OPAQUE ? "the operator is not known" : eg_op_why_whole(op);
  return (whole_words){.value = eg_graph_value(plan->graph, info.results[0])->name,
                       .op = eg_op_info_of(op)->name,
                       .why = why[0] != '\0' ? why : "its parts would need each other"};
}

static size_t worst(const eg_plan_wholes *wholes) {
  return wholes->len < MOST_LINES ? wholes->len : MOST_LINES;
}

/// The same operator, for the same reason: those of repeated blocks.
static bool alike(const eg_plan *plan, const eg_plan_whole *a, const eg_plan_whole *b) {
  return strcmp(words_of(plan, a).op, words_of(plan, b).op) == 0;
}

/// One line for row `first` and all that are alike.
static egraph_status print_rows(eg_text *text, const eg_plan *plan,
                                const eg_plan_wholes *wholes, size_t first) {
  whole_words w = words_of(plan, &wholes->data[first]);
  double seconds = wholes->data[first].seconds;
  uint32_t more = 0;
  for (size_t i = first + 1; i < wholes->len; i++) {
    if (!alike(plan, &wholes->data[first], &wholes->data[i])) continue;
    seconds += wholes->data[i].seconds;
    more++;
  }
  EG_TRY(eg_text_print_names(text, "repeated    %s (%s)", w.value, w.op));
  if (more != 0) EG_TRY(eg_text_printf(text, " and %" PRIu32 " alike", more));
  EG_TRY(eg_text_printf(text, " cannot be split: %s; every device repeats ", w.why));
  EG_TRY(eg_text_seconds(text, seconds));
  return eg_text_append(text, " of computing\n");
}

egraph_status eg_plan_wholes_print(eg_text *text, const eg_plan *plan,
                                   const eg_plan_wholes *wholes) {
  uint32_t lines = 0;
  if (wholes->len == 0) return EGRAPH_OK;
  for (size_t i = 0; i < wholes->len && lines < MOST_LINES; i++) {
    bool is_new = true;
    for (size_t j = 0; j < i && is_new; j++)
      is_new = !alike(plan, &wholes->data[j], &wholes->data[i]);
    if (is_new) EG_TRY(print_rows(text, plan, wholes, i));
    lines += is_new;
  }
  return eg_text_printf(text, "repeated    %zu operators in all cannot be split\n",
                        wholes->len);
}

static egraph_status write_text(eg_text *text, const char *key, const char *value) {
  EG_TRY(eg_text_printf(text, "\"%s\": ", key));
  EG_TRY(eg_text_json_string(text, value));
  return eg_text_append(text, ", ");
}

egraph_status eg_plan_wholes_write_json(eg_text *text, const eg_plan *plan,
                                        const eg_plan_wholes *wholes) {
  EG_TRY(eg_text_printf(text, "{\"operators\": %zu, \"worst\": [", wholes->len));
  for (size_t i = 0; i < worst(wholes); i++) {
    whole_words w = words_of(plan, &wholes->data[i]);
    EG_TRY(eg_text_append(text, i == 0 ? "{" : ", {"));
    EG_TRY(write_text(text, "value", w.value));
    EG_TRY(write_text(text, "operator", w.op));
    EG_TRY(write_text(text, "why", w.why));
    EG_TRY(eg_text_append(text, "\"seconds\": "));
    EG_TRY(eg_text_json_double(text, wholes->data[i].seconds));
    EG_TRY(eg_text_append(text, "}"));
  }
  return eg_text_append(text, "]}");
}
