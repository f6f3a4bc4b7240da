// SPDX-License-Identifier: Apache-2.0
#include "optimize/search/plan_searcher.h"

const char *eg_plan_stop_name(eg_plan_stop stop) {
#define EG_PLAN_STOP_NAME(id, name) name,
  static const char *const names[] = {EG_PLAN_STOP_LIST(EG_PLAN_STOP_NAME)};
#undef EG_PLAN_STOP_NAME
  return names[stop];
}
