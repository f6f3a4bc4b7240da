// SPDX-License-Identifier: Apache-2.0
#include "pcg/training/training_options.h"

#include <inttypes.h>
#include <string.h>

// ---- names --------------------------------------------------------------------------

#define SECOND(id, name) [id] = name,
static const char *const loss_names[EG_LOSS_COUNT] = {EG_LOSS_LIST(SECOND)};
static const char *const optimizer_names[EG_OPTIMIZER_COUNT] = {
    EG_OPTIMIZER_LIST(SECOND)};
#undef SECOND

static bool find_name(const char *const *names, uint32_t count, const char *name,
                      uint32_t *out) {
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(names[i], name) == 0) {
      *out = i;
      return true;
    }
  return false;
}

const char *eg_loss_name(eg_loss loss) { return loss_names[loss]; }
const char *eg_optimizer_name(eg_optimizer optimizer) {
  return optimizer_names[optimizer];
}
bool eg_loss_find(const char *name, eg_loss *out) {
  uint32_t id;
  if (!find_name(loss_names, EG_LOSS_COUNT, name, &id)) return false;
  *out = (eg_loss)id;
  return true;
}
bool eg_optimizer_find(const char *name, eg_optimizer *out) {
  uint32_t id;
  if (!find_name(optimizer_names, EG_OPTIMIZER_COUNT, name, &id)) return false;
  *out = (eg_optimizer)id;
  return true;
}

// ---- checks -------------------------------------------------------------------------

egraph_status eg_training_options_check(const eg_graph *forward,
                                        const eg_training_options *o) {
  if (o->output >= eg_graph_output_count(forward))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "the loss is to be taken of output %" PRIu32
                   ", but the graph has %" PRIu32 " outputs; count from 0",
                   o->output, eg_graph_output_count(forward));
  if (o->micro_batches == 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "micro_batches is 0; the least is 1");
  if ((unsigned)o->loss >= EG_LOSS_COUNT || (unsigned)o->optimizer >= EG_OPTIMIZER_COUNT)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "there is no loss %d or no optimizer %d",
                   (int)o->loss, (int)o->optimizer);
  return EGRAPH_OK;
}
