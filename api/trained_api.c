// Public functions on the weights of models that are planned and trained.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "api/convert.h"
#include "api/option_structs.h"
#include "api/planned.h"
#include "api/require.h"
#include "api/trained.h"
#include "optimize/model_weights.h"

// ---- what is trained ----------------------------------------------------------------

static egraph_status check_patterns(const char *name, const char *const *patterns,
                                    uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (patterns == NULL || patterns[i] == NULL)
      return EG_FAIL(EGRAPH_E_ARGUMENT,
                     "egraph_training.%s is NULL, or has NULL at %" PRIu32
                     ", and its count is %" PRIu32,
                     name, i, count);
  return EGRAPH_OK;
}

egraph_status eg_training_patterns_check(const egraph_training *training) {
  EG_TRY(check_patterns("freeze", training->freeze, training->freeze_count));
  return check_patterns("train_only", training->train_only, training->train_only_count);
}

typedef struct weight_report {
  void (*report)(void *user, const egraph_model_weight *weight);
  void *user;
} weight_report;

static void report_weight(void *user, const eg_value_info *info, eg_weight_fate fate) {
  const weight_report *r = user;
  const egraph_model_weight weight = {.name = info->name,
                                      .why = eg_weight_fate_why(fate),
                                      .elements = eg_type_elements(&info->type),
                                      .is_trained = fate == EG_FATE_TRAINED,
                                      .is_absent = info->data == NULL};
  r->report(r->user, &weight);
}

egraph_status
egraph_training_weights(const egraph_graph *graph, const egraph_training *training,
                        void (*report)(void *user, const egraph_model_weight *weight),
                        void *user) {
  EG_REQUIRE(graph);
  EG_REQUIRE_CALL(report);
  egraph_training own;
  EG_TRY(eg_options_take(EGRAPH_TRAINING, training, &own));
  EG_TRY(eg_training_patterns_check(&own));
  const eg_parameter_wish wish = {own.freeze, own.train_only, own.freeze_count,
                                  own.train_only_count, NULL};
  weight_report r = {.report = report, .user = user};
  return eg_model_visit_weights(graph, &wish, report_weight, &r);
}

// ---- data of weights ----------------------------------------------------------------

static egraph_tensor tensor_of(const eg_value_info *info) {
  egraph_tensor tensor = eg_tensor_from_type(&info->type);
  if (info->data != NULL) tensor.data = (void *)(uintptr_t)eg_buffer_data(info->data);
  return tensor;
}

egraph_status egraph_graph_weight(const egraph_graph *graph, uint32_t index,
                                  const char **out_name, egraph_tensor *out) {
  EG_REQUIRE(graph, out_name, out);
  uint32_t count = 0;
  for (uint32_t v = 0; v < eg_graph_value_count(graph); v++) {
    const eg_value_info *info = eg_graph_value(graph, (eg_value){v});
    if (info->kind != EG_VALUE_WEIGHT || count++ != index) continue;
    *out_name = info->name;
    *out = tensor_of(info);
    return EGRAPH_OK;
  }
  return EG_FAIL(EGRAPH_E_ARGUMENT, "there is no weight %u; the graph has %u", index,
                 count);
}

egraph_status egraph_graph_find_weight(const egraph_graph *graph, const char *name,
                                       egraph_tensor *out) {
  EG_REQUIRE(graph, name, out);
  eg_value value;
  if (!eg_graph_find_value(graph, name, &value) ||
      eg_graph_value(graph, value)->kind != EG_VALUE_WEIGHT)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "the graph has no weight '%.200s'", name);
  *out = tensor_of(eg_graph_value(graph, value));
  return EGRAPH_OK;
}

egraph_status egraph_plan_take_weights(egraph_plan *plan, const egraph_graph *model) {
  EG_REQUIRE(plan, model);
  return eg_model_give_weights(model, plan->planned.graph);
}
