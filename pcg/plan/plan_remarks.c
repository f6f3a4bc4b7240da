// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_remarks.h"

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

typedef egraph_status (*write_wholes)(eg_text *text, const eg_plan *plan,
                                      const eg_plan_wholes *wholes);

static egraph_status with_wholes(eg_text *text, const eg_plan *plan, write_wholes write) {
  eg_plan_wholes wholes;
  eg_plan_wholes_init(&wholes, text->chars.alloc);
  egraph_status status = eg_plan_wholes_find(plan, text->chars.alloc, &wholes);
  if (status == EGRAPH_OK) status = write(text, plan, &wholes);
  eg_plan_wholes_deinit(&wholes);
  return status;
}

static egraph_status print_all(eg_text *text, const eg_plan *plan,
                               const eg_plan_summary *summary) {
  EG_TRY(eg_plan_rivals_print(text, plan, summary));
  EG_TRY(eg_plan_delivered_print(text, plan));
  EG_TRY(with_unevens(text, plan, eg_plan_unevens_print));
  return with_wholes(text, plan, eg_plan_wholes_print);
}

egraph_status eg_plan_remarks_print(eg_text *text, const eg_plan *plan,
                                    const eg_plan_summary *summary) {
  eg_text remarks;
  eg_text_init(&remarks, text->chars.alloc);
  egraph_status status = print_all(&remarks, plan, summary);
  if (status == EGRAPH_OK && remarks.chars.len != 0)
    status = eg_text_printf(text, "\n%s", eg_text_of(&remarks));
  eg_text_deinit(&remarks);
  return status;
}

egraph_status eg_plan_remarks_write_members(eg_text *text, const eg_plan *plan) {
  EG_TRY(eg_text_append(text, "\"baselines\": "));
  EG_TRY(eg_plan_rivals_write_json(text, &plan->rivals));
  EG_TRY(eg_text_append(text, ", \"uneven\": "));
  EG_TRY(with_unevens(text, plan, eg_plan_unevens_write_json));
  EG_TRY(eg_text_append(text, ", \"repeated\": "));
  EG_TRY(with_wholes(text, plan, eg_plan_wholes_write_json));
  EG_TRY(eg_text_append(text, ", \"delivered\": "));
  EG_TRY(eg_plan_delivered_write_json(text, plan));
  return eg_plan_worth_write_members(text, plan);
}
