// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_certificate.h"

#include <math.h>

#include "base/proof.h"
#include "extract/layout/layout_bound.h"
#include "extract/layout/layout_complete.h"
#include "optimize/model/plan_recall.h"

void eg_plan_certificate_init(eg_plan_certificate *certificate, egraph_allocator alloc) {
  *certificate = (eg_plan_certificate){.outcome = EG_PLAN_LOST, .checked = -INFINITY};
  eg_text_init(&certificate->text, alloc);
}

void eg_plan_certificate_deinit(eg_plan_certificate *certificate) {
  eg_text_deinit(&certificate->text);
}

/// Prices for a solution, and both as text.
static egraph_status prove(const eg_layout_problem *problem, egraph_allocator alloc,
                           const eg_layout_solution *solution, double claimed,
                           const eg_certify_options *options, eg_plan_certificate *out) {
  const eg_layout_bound_options wanted = {.work_limit = options->work_limit,
                                          .time_limit_seconds =
                                              options->time_limit_seconds,
                                          .target = solution->strategy.data};
  eg_layout_dual dual;
  eg_layout_bounded bounded;
  egraph_status status = eg_layout_dual_init(&dual, alloc);
  if (status == EGRAPH_OK)
    status = eg_layout_bound(alloc, problem, &wanted, &bounded, &dual);
  if (status == EGRAPH_OK)
    status = eg_proof_check_bound("certificate of a plan", bounded.bound, solution->cost);
  if (status == EGRAPH_OK)
    status = eg_layout_certificate_write(problem, solution, &dual, claimed, &out->text);
  out->checked = dual.bound;
  eg_layout_dual_deinit(&dual);
  return status;
}

static bool is_equal(double a, double b) {
  return fabs(a - b) <= EG_PROOF_ROUNDING * fmax(fabs(a), fabs(b));
}

/// From the plan's strategies to its solution, which must cost what the plan does.
static egraph_status
certify_strategies(const eg_layout_problem *problem, egraph_allocator alloc,
                   const eg_plan_claim *claim, const uint32_t *strategy,
                   const eg_certify_options *options, eg_plan_certificate *out) {
  eg_layout_completer *completer;
  eg_layout_solution solution;
  bool is_solution;
  EG_TRY(eg_layout_completer_create(alloc, problem, &completer));
  egraph_status status = eg_layout_complete(completer, strategy, &solution, &is_solution);
  eg_layout_completer_destroy(completer);
  EG_TRY(status);
  out->outcome = EG_PLAN_DIFFERENT;
  if (!is_solution) return EGRAPH_OK;
  if (is_equal(solution.cost, claim->cost)) {
    out->outcome = EG_PLAN_CERTIFIED;
    status = prove(problem, alloc, &solution, claim->bound, options, out);
  }
  eg_layout_solution_deinit(&solution);
  return status;
}

egraph_status eg_plan_certify(const eg_plan_model *model, egraph_allocator alloc,
                              const eg_plan_claim *claim,
                              const eg_certify_options *options,
                              eg_plan_certificate *out) {
  eg_u32s strategy;
  eg_u32s_init(&strategy, alloc);
  egraph_status status = eg_plan_recall(model, claim->plan, &strategy);
  if (status == EGRAPH_OK && strategy.len != 0)
    status =
        certify_strategies(&model->problem, alloc, claim, strategy.data, options, out);
  eg_u32s_deinit(&strategy);
  return status;
}
