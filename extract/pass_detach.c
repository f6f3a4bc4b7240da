// A root is derived in any case. An edge to it matters only where it could be part of a
// cycle, that is inside a strongly connected component; elsewhere it goes.
// SPDX-License-Identifier: Apache-2.0
#include "extract/components.h"
#include "extract/presolve.h"

static egraph_status detach(eg_presolve *presolve, eg_u32s *component, eg_u32s *order,
                            eg_bytes *drop, bool *changed) {
  const eg_extract_problem *problem = &presolve->model.problem;
  EG_TRY(eg_components_find(problem, &presolve->index, component, order));
  if (eg_presolve_late_now(presolve)) return EGRAPH_OK;
  EG_TRY(eg_bytes_resize(drop, problem->children.len));
  bool any = false;
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++)
    for (uint32_t i = problem->child_begin.data[n]; i < problem->child_begin.data[n + 1];
         i++) {
      uint32_t child = problem->children.data[i];
      uint32_t class = problem->node_class.data[n];
      if (!presolve->index.is_root.data[child] ||
          component->data[child] == component->data[class])
        continue;
      drop->data[i] = 1;
      any = true;
    }
  if (!any) return EGRAPH_OK;
  *changed = true;
  return eg_presolve_filter(presolve, NULL, drop->data);
}

egraph_status eg_pass_detach(eg_presolve *presolve, bool *changed) {
  eg_u32s component, order;
  eg_bytes drop;
  eg_u32s_init(&component, presolve->alloc);
  eg_u32s_init(&order, presolve->alloc);
  eg_bytes_init(&drop, presolve->alloc);
  egraph_status status = detach(presolve, &component, &order, &drop, changed);
  eg_bytes_deinit(&drop);
  eg_u32s_deinit(&order);
  eg_u32s_deinit(&component);
  return status;
}
