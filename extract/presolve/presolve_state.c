// The state of a presolve and the functions that all passes call: loading, filtering,
// landmarks, and checks if it is time to end.
// SPDX-License-Identifier: Apache-2.0
#include "extract/presolve/presolve.h"

#include <math.h>

egraph_status eg_presolve_init(eg_presolve *presolve, egraph_allocator alloc,
                               eg_parts *parts) {
  assert(parts != NULL);
  *presolve = (eg_presolve){.alloc = alloc,
                            .parts = parts,
                            .cutoff = INFINITY,
                            .bound = -INFINITY,
                            .deadline = INFINITY};
  eg_class_index_init(&presolve->index, alloc);
  eg_landmarks_init(&presolve->landmarks, alloc);
  egraph_status status = eg_reduced_init(&presolve->model, alloc);
  if (status == EGRAPH_OK) status = eg_reduced_init(&presolve->spare, alloc);
  EG_RETURN_FILLED(status, eg_presolve, presolve);
}

void eg_presolve_deinit(eg_presolve *presolve) {
  eg_reduced_deinit(&presolve->spare);
  eg_reduced_deinit(&presolve->model);
  eg_landmarks_deinit(&presolve->landmarks);
  eg_class_index_deinit(&presolve->index);
}

eg_patience eg_presolve_patience(const eg_presolve *presolve) {
  return (eg_patience){presolve->deadline, presolve->incumbent};
}

bool eg_presolve_late(eg_presolve *presolve) {
  enum { ASK_EVERY = 64 };
  if (presolve->late || presolve->polls++ % ASK_EVERY != 0) return presolve->late;
  eg_patience patience = eg_presolve_patience(presolve);
  presolve->late = eg_patience_ended(&patience);
  return presolve->late;
}

bool eg_presolve_late_now(eg_presolve *presolve) {
  presolve->polls = 0;
  return eg_presolve_late(presolve);
}

void eg_presolve_serve(eg_presolve *presolve, eg_incumbent *incumbent) {
  presolve->incumbent = incumbent;
  presolve->deadline = eg_incumbent_deadline(incumbent);
  presolve->disabled = incumbent->options->disabled_passes;
}

egraph_status eg_presolve_load(eg_presolve *presolve, const eg_reduced *model) {
  assert(model != &presolve->model);
  presolve->has_landmarks = presolve->closed = false;
  presolve->bound = model->offset;
  EG_TRY(eg_reduced_copy(&presolve->model, model));
  return eg_class_index_build(&presolve->index, &presolve->model.problem);
}

egraph_status eg_presolve_swap(eg_presolve *presolve) {
  assert(presolve->spare.part.len == eg_extract_node_count(&presolve->spare.problem));
  eg_reduced filled = presolve->spare;
  eg_u32s none = filled.cuts;
  filled.cuts = presolve->model.cuts; // cuts stay valid after every pass
  presolve->model.cuts = none;
  presolve->spare = presolve->model;
  presolve->model = filled;
  return eg_class_index_build(&presolve->index, &presolve->model.problem);
}

static egraph_status copy_kept(eg_presolve *presolve, uint32_t node,
                               const uint8_t *drop_edge, eg_u32s *row) {
  assert(node < eg_extract_node_count(&presolve->model.problem));
  const eg_reduced *model = &presolve->model;
  if (drop_edge == NULL)
    return eg_reduced_copy_node(&presolve->spare, &model->problem, node,
                                model->part.data[node]);
  row->len = 0;
  for (uint32_t i = model->problem.child_begin.data[node];
       i < model->problem.child_begin.data[node + 1]; i++)
    if (!drop_edge[i]) EG_TRY(eg_u32s_push(row, model->problem.children.data[i]));
  return eg_reduced_add_node(&presolve->spare, model->problem.node_class.data[node],
                             model->problem.cost.data[node], model->part.data[node],
                             row->data, (uint32_t)row->len);
}

egraph_status eg_presolve_filter(eg_presolve *presolve, const uint8_t *drop_node,
                                 const uint8_t *drop_edge) {
  const eg_reduced *model = &presolve->model;
  eg_reduced *next = &presolve->spare;
  if (eg_presolve_late_now(presolve)) return EGRAPH_OK; // the model is valid unchanged
  eg_reduced_start(next, model, model->problem.class_count);
  EG_TRY(eg_u32s_append(&next->problem.roots, model->problem.roots.data,
                        model->problem.roots.len));
  EG_LOCAL(eg_u32s, row, presolve->alloc);
  for (uint32_t n = 0; n < eg_extract_node_count(&model->problem); n++)
    if (drop_node == NULL || !drop_node[n])
      EG_TRY(copy_kept(presolve, n, drop_edge, &row));
  return eg_presolve_swap(presolve);
}

egraph_status eg_presolve_need_landmarks(eg_presolve *presolve) {
  if (presolve->has_landmarks) return EGRAPH_OK;
  const eg_extract_problem *problem = &presolve->model.problem;
  EG_TRY_IN_PART(eg_presolve_clock(presolve), EGRAPH_PART_LANDMARKS,
                 eg_landmarks_find(&presolve->landmarks, problem, &presolve->index,
                                   eg_presolve_patience(presolve),
                                   &presolve->has_landmarks));
  uint64_t words = presolve->landmarks.dense ? presolve->landmarks.words : 32;
  eg_incumbent_count(presolve->incumbent, 8 * (1 + words) * problem->children.len);
  return EGRAPH_OK;
}
