// SPDX-License-Identifier: Apache-2.0
#include "extract/exact.h"

#include "extract/presolve.h"

static egraph_status run(eg_presolve *ps, eg_incumbent *incumbent,
                         eg_extract_result *result) {
  eg_reduced all;
  EG_TRY(eg_reduced_init(&all, ps->alloc));
  EG_TRY(eg_reduced_from(&all, incumbent->problem));
  EG_TRY(eg_presolve_load(ps, &all));
  eg_reduced_deinit(&all);
  ps->cutoff = eg_incumbent_cutoff(incumbent);
  ps->disabled = incumbent->options->disabled_passes;
  EG_TRY(eg_presolve_run(ps));
  eg_incumbent_raise(incumbent, ps->closed ? incumbent->cost : ps->bound);
  result->reduced_nodes = ps->closed ? 0 : eg_extract_node_count(&ps->model.problem);
  result->reduced_classes = ps->closed ? 0 : ps->model.problem.class_count;
  return EGRAPH_OK;
}
egraph_status eg_exact_run(egraph_allocator alloc, eg_incumbent *incumbent,
                           eg_extract_result *result) {
  eg_parts parts;
  eg_parts_init(&parts, alloc, eg_extract_node_count(incumbent->problem));
  eg_presolve ps;
  EG_TRY(eg_presolve_init(&ps, alloc, &parts));
  egraph_status status = run(&ps, incumbent, result);
  eg_presolve_deinit(&ps);
  eg_parts_deinit(&parts);
  return status;
}
