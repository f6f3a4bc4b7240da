// A certificate of a plan, for tools/check_certificate: the layout problem of its step,
// the plan as a solution of that problem, and prices that prove a lower bound.
//
// A search proves by means that leave no certificate, too: branching, deletions because
// something else costs less, folded steps cut open. So the prices are found anew, on the
// problem as it stands. They may prove less than the search did; the certificate then
// says how much of the bound is unchecked.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLAN_CERTIFICATE_H
#define EG_OPTIMIZE_SEARCH_PLAN_CERTIFICATE_H

#include "base/text.h"
#include "optimize/model/plan_model.h"

/// What the search says of a plan.
typedef struct eg_plan_claim {
  const eg_plan *plan; // of the whole step
  double cost, bound;  // seconds of a step
} eg_plan_claim;

typedef enum eg_plan_certified {
  EG_PLAN_CERTIFIED,
  EG_PLAN_LOST,     // rules have not made again what the plan uses
  EG_PLAN_DIFFERENT // its choices are no solution of the problem at its cost
} eg_plan_certified;

typedef struct eg_plan_certificate {
  eg_plan_certified outcome;
  eg_text text;   // CERTIFIED: the certificate
  double checked; // CERTIFIED: the lower bound that it proves
  bool is_all;    // the problem has all variants that rules make
} eg_plan_certificate;

typedef struct eg_certify_options {
  uint64_t work_limit;       // of the prices, in steps (base/work.h); 0: none
  double time_limit_seconds; // > 0
} eg_certify_options;

void eg_plan_certificate_init(eg_plan_certificate *certificate, egraph_allocator alloc);
void eg_plan_certificate_deinit(eg_plan_certificate *certificate);
/// Fills an empty certificate. Fails with EGRAPH_E_MEMORY, and with EGRAPH_E_INTERNAL
/// where the prices contradict the plan.
egraph_status eg_plan_certify(const eg_plan_model *model, egraph_allocator alloc,
                              const eg_plan_claim *claim,
                              const eg_certify_options *options,
                              eg_plan_certificate *out);

#endif
