// Public functions on the weights of models that are planned and trained.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "api/arguments.h"
#include "api/objects.h"
#include "api/tensors.h"
#include "ops/ops.h"
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

/// Reads from the caller's options which weights to train.
static egraph_status take_wish(const egraph_training *given, eg_parameter_wish *out) {
  egraph_training own;
  EG_TRY(eg_options_take(EGRAPH_TRAINING, given, &own));
  EG_TRY(eg_training_patterns_check(&own));
  *out = (eg_parameter_wish){own.freeze, own.train_only, own.freeze_count,
                             own.train_only_count, NULL};
  return EGRAPH_OK;
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
  eg_parameter_wish wish;
  EG_TRY(take_wish(training, &wish));
  weight_report r = {.report = report, .user = user};
  return eg_model_visit_weights(graph, &wish, report_weight, &r);
}

// ---- ties ---------------------------------------------------------------------------

typedef struct tie_names {
  const char **ops, **nodes; // [uses]
} tie_names;

static void name_uses(const egraph_graph *graph, const eg_tie_uses *uses,
                      const tie_names *names) {
  for (size_t i = 0; i < uses->len; i++) {
    eg_graph_node_info node = eg_graph_node_at(graph, uses->data[i].node);
    bool is_known = node.attrs->op != EG_OP_OPAQUE;
    names->ops[i] = is_known ? eg_op_info_of((eg_op)node.attrs->op)->name
                             : eg_graph_opaque_type(graph, uses->data[i].node);
    names->nodes[i] = eg_graph_value(graph, node.results[0])->name;
  }
}

static void report_ties(const egraph_graph *graph, const eg_tie_uses *uses,
                        const tie_names *names,
                        void (*report)(void *user, const egraph_tied_weight *weight),
                        void *user) {
  for (size_t i = 0, end; i < uses->len; i = end) {
    for (end = i;
         end < uses->len && uses->data[end].weight.id == uses->data[i].weight.id;)
      end++;
    const eg_value_info *info = eg_graph_value(graph, uses->data[i].weight);
    const egraph_tied_weight weight = {.name = info->name,
                                       .elements = eg_type_elements(&info->type),
                                       .use_count = (uint32_t)(end - i),
                                       .ops = names->ops + i,
                                       .nodes = names->nodes + i};
    report(user, &weight);
  }
}

egraph_status
egraph_training_ties(const egraph_graph *graph, const egraph_training *training,
                     void (*report)(void *user, const egraph_tied_weight *weight),
                     void *user) {
  EG_REQUIRE(graph);
  EG_REQUIRE_CALL(report);
  eg_parameter_wish wish;
  EG_TRY(take_wish(training, &wish));
  egraph_allocator alloc = eg_graph_allocator(graph);
  EG_LOCAL(eg_tie_uses, uses, alloc);
  EG_LOCAL(eg_arena, arena, alloc);
  tie_names names;
  EG_TRY(eg_model_find_ties(graph, &wish, &uses));
  EG_NEW(&arena, uses.len, names.ops);
  EG_NEW(&arena, uses.len, names.nodes);
  name_uses(graph, &uses, &names);
  report_ties(graph, &uses, &names, report, user);
  return EGRAPH_OK;
}

egraph_status egraph_training_untie(const egraph_graph *graph,
                                    const egraph_training *training,
                                    const char *const *patterns, uint32_t count,
                                    egraph_graph **out) {
  EG_REQUIRE(graph, out);
  EG_REQUIRE_ARRAY(patterns, count);
  eg_parameter_wish wish;
  EG_TRY(take_wish(training, &wish));
  EG_TRY(eg_graph_check_fixed(graph, "a training step"));
  for (uint32_t i = 0; i < count; i++)
    if (patterns[i] == NULL)
      return EG_FAIL(EGRAPH_E_ARGUMENT, "patterns has NULL at %" PRIu32, i);
  return eg_model_untie(graph, &wish, patterns, count, out);
}

// ---- data of weights ----------------------------------------------------------------

egraph_status egraph_graph_weight(const egraph_graph *graph, uint32_t index,
                                  const char **out_name, egraph_tensor *out) {
  EG_REQUIRE(graph, out_name, out);
  uint32_t count = 0;
  for (uint32_t v = 0; v < eg_graph_value_count(graph); v++) {
    const eg_value_info *info = eg_graph_value(graph, (eg_value){v});
    if (info->kind != EG_VALUE_WEIGHT || count++ != index) continue;
    *out_name = info->name;
    *out = eg_tensor_from_value(info);
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
  *out = eg_tensor_from_value(eg_graph_value(graph, value));
  return EGRAPH_OK;
}

egraph_status egraph_plan_take_weights(egraph_plan *plan, const egraph_graph *model) {
  EG_REQUIRE(plan, model);
  return eg_model_give_weights(model, plan->planned.graph);
}
