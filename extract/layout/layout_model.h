// The linear relaxation of a presolved layout problem, as rows for GLPK.
//
// Columns, all in [0, 1]: x a strategy; y "the value is needed", for values that are not
// required and have several strategies; t a layout of a tie without a required member; r
// the layout that a root is served in; a an arc; f the flow of one consumer on an arc.
//   required value:        sum x = 1      other value: sum x = y
//   consumer c, place l:   x with output l + f into l - f out of l  >=  x that need l
//   paid arc:              a >= f of each consumer (with one consumer, f itself is a)
//   tie, layout k:         x of layout k <= t_k, or <= x of layout k of a required member
//   limits:                sum of weights <= limit
// A consumer of a value is the set of all operators of one other value (at most one of
// them is chosen), once per mention; a root is a consumer, too. Flows per consumer make
// sharing of arcs exact, and conservation excludes free cycles among layouts.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_MODEL_H
#define EG_EXTRACT_LAYOUT_LAYOUT_MODEL_H

#include "extract/ilp_glpk.h"
#include "extract/layout/layout_presolve.h"

typedef enum eg_layout_column {
  EG_LAYOUT_X,    // id: strategy
  EG_LAYOUT_Y,    // id: value
  EG_LAYOUT_T,    // id: tie
  EG_LAYOUT_ROOT, // id: root
  EG_LAYOUT_A,    // id: arc
  EG_LAYOUT_F     // id: arc
} eg_layout_column;

typedef struct eg_layout_model {
  const eg_layout_view *view;
  const eg_layout_active *active;
  const eg_layout_task *task;
  double scale;    // objective of the program / measure
  eg_bytes kind;   // [column] eg_layout_column
  eg_u32s id;      // [column]
  eg_doubles cost; // [column]
  eg_lp_rows rows;
  eg_u32s x_of, y_of, a_of; // [strategy], [value], [arc]; EG_LAYOUT_NONE: no column
} eg_layout_model;

egraph_status eg_layout_model_init(eg_layout_model *model, egraph_allocator alloc);
void eg_layout_model_deinit(eg_layout_model *model);
/// Fills an initialized model. `typical` is the expected size of the objective, or 0.
/// Fails with EGRAPH_E_MEMORY.
egraph_status eg_layout_model_build(eg_layout_model *model,
                                    const eg_layout_active *active,
                                    const eg_layout_task *task, double typical);

static inline uint32_t eg_layout_model_columns(const eg_layout_model *model) {
  return (uint32_t)model->cost.len;
}
/// True when a layout conversion costs something in the objective or a limited measure.
bool eg_layout_is_paid(const eg_layout_model *model, uint32_t arc);
/// True for columns that are 0 or 1 in a solution; the others may stay fractional.
static inline bool eg_layout_is_integral(const eg_layout_model *model, uint32_t column) {
  return model->kind.data[column] == EG_LAYOUT_X ||
         model->kind.data[column] == EG_LAYOUT_Y ||
         model->kind.data[column] == EG_LAYOUT_A;
}

#endif
