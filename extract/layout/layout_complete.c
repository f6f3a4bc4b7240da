// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_complete.h"

#include "base/proof.h"
#include "extract/layout/layout_search.h"

struct eg_layout_completer {
  egraph_allocator alloc;
  eg_layout_view view;
  eg_layout_task task;
  eg_layout_clock clock;
  eg_layout_search search; // what is allowed, and the evaluator
};

static egraph_status fill_completer(eg_layout_completer *c, egraph_allocator alloc,
                                    const eg_layout_problem *problem) {
  *c = (eg_layout_completer){.alloc = alloc, .task = eg_layout_task_of(EG_LAYOUT_COST)};
  EG_TRY(eg_layout_view_init(&c->view, alloc, problem));
  egraph_status status =
      eg_layout_search_init(&c->search, alloc, &c->view, &c->task, &c->clock);
  if (status != EGRAPH_OK) eg_layout_view_deinit(&c->view);
  return status;
}

egraph_status eg_layout_completer_create(egraph_allocator alloc,
                                         const eg_layout_problem *problem,
                                         eg_layout_completer **out) {
  eg_layout_completer *c;
  EG_TRY(eg_alloc(alloc, 1, sizeof *c, &c));
  egraph_status status = fill_completer(c, alloc, problem);
  if (status == EGRAPH_OK)
    *out = c;
  else
    eg_free(alloc, c, 1, sizeof *c);
  return status;
}

void eg_layout_completer_destroy(eg_layout_completer *c) {
  if (c == NULL) return;
  eg_layout_search_deinit(&c->search);
  eg_layout_view_deinit(&c->view);
  eg_free(c->alloc, c, 1, sizeof *c);
}

static bool keeps_limits(const eg_layout_completer *c) {
  const eg_layout_problem *p = c->view.problem;
  for (uint32_t r = 0; r < p->memory_rows; r++)
    if (c->search.trial.sum[EG_LAYOUT_ROW + r] > p->memory_limit[r]) return false;
  return true;
}

static egraph_status certify(const eg_layout_completer *c, eg_layout_solution *s) {
  const eg_layout_choice *trial = &c->search.trial;
  EG_TRY(eg_u32s_append(&s->strategy, trial->strategy.data, trial->strategy.len));
  EG_TRY(eg_bytes_append(&s->arc_used, trial->arc_used.data, trial->arc_used.len));
  for (size_t a = 0; a < s->arc_used.len; a++)
    s->transitions += s->arc_used.data[a];
  EG_TRY(eg_layout_certify(c->alloc, c->view.problem, s->strategy.data, s->arc_used.data,
                           &s->cost, s->memory));
  return eg_proof_check_equal("cost of a completed solution", trial->sum[EG_LAYOUT_COST],
                              s->cost);
}

egraph_status eg_layout_complete(eg_layout_completer *c, const uint32_t *strategy,
                                 eg_layout_solution *out, bool *out_is_solution) {
  eg_layout_choice *trial = &c->search.trial;
  for (uint32_t v = 0; v < trial->strategy.len; v++) {
    uint32_t s = strategy[v];
    bool fits = s < c->view.op_of.len && c->view.value_of.data[s] == v &&
                c->search.legal.strategy.data[s];
    trial->strategy.data[v] = fits ? s : EG_LAYOUT_NONE;
  }
  EG_TRY(eg_layout_evaluate(&c->search.evaluator, c->search.arc_weight.data, trial,
                            out_is_solution));
  *out_is_solution = *out_is_solution && keeps_limits(c);
  if (!*out_is_solution) return EGRAPH_OK;
  *out = (eg_layout_solution){.bound = 0};
  eg_u32s_init(&out->strategy, c->alloc);
  eg_bytes_init(&out->arc_used, c->alloc);
  egraph_status status = certify(c, out);
  if (status != EGRAPH_OK) eg_layout_solution_deinit(out);
  return status;
}

void eg_layout_solution_deinit(eg_layout_solution *solution) {
  eg_bytes_deinit(&solution->arc_used);
  eg_u32s_deinit(&solution->strategy);
}
