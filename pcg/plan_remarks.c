// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan_remarks.h"

typedef egraph_status (*write_unevens)(eg_text *text, const eg_plan *plan,
                                       const eg_plan_unevens *unevens);

static egraph_status with_unevens(eg_text *text, const eg_plan *plan,
                                  write_unevens write) {
  eg_plan_unevens unevens;
  eg_plan_unevens_init(&unevens, text->chars.alloc);
  egraph_status status = eg_plan_unevens_find(plan, text->chars.alloc, &unevens);
  if (status == EGRAPH_OK) status = write(text, plan, &unevens);
  eg_plan_unevens_deinit(&unevens);
  return status;
}

egraph_status eg_plan_remarks_print(eg_text *text, const eg_plan *plan,
                                    const eg_plan_summary *summary) {
  EG_TRY(eg_plan_worth_print(text, plan, summary));
  EG_TRY(eg_plan_rivals_print(text, plan, summary));
  return with_unevens(text, plan, eg_plan_unevens_print);
}

egraph_status eg_plan_remarks_write_members(eg_text *text, const eg_plan *plan) {
  EG_TRY(eg_text_append(text, "\"baselines\": "));
  EG_TRY(eg_plan_rivals_write_json(text, &plan->rivals));
  EG_TRY(eg_text_append(text, ", \"uneven\": "));
  EG_TRY(with_unevens(text, plan, eg_plan_unevens_write_json));
  return eg_plan_worth_write_members(text, plan);
}
