// Public functions on the weights of models that are planned and trained.
// SPDX-License-Identifier: Apache-2.0
#include "api/option_structs.h"
#include "api/require.h"
#include "api/trained.h"

#include <inttypes.h>
#include <string.h>

#include "api/convert.h"
#include "api/planned.h"
#include "ops/typing.h"

// What is folded may be this large: a mask of a long sequence, not a table.
enum { MOST_FOLDED = 1 << 26 };

typedef struct chooser {
  eg_weight_fate *fates;
  bool *needed, *kept; // [values]
} chooser;

static egraph_status chooser_init(chooser *c, const eg_graph *graph) {
  egraph_allocator alloc = eg_graph_allocator(graph);
  uint32_t values = eg_graph_value_count(graph);
  *c = (chooser){.fates = NULL};
  EG_TRY(eg_alloc(alloc, values, sizeof *c->fates, &c->fates));
  EG_TRY(eg_alloc(alloc, values, sizeof *c->needed, &c->needed));
  return eg_alloc(alloc, values, sizeof *c->kept, &c->kept);
}

static void chooser_deinit(chooser *c, const eg_graph *graph) {
  egraph_allocator alloc = eg_graph_allocator(graph);
  uint32_t values = eg_graph_value_count(graph);
  eg_free(alloc, c->kept, values, sizeof *c->kept);
  eg_free(alloc, c->needed, values, sizeof *c->needed);
  eg_free(alloc, c->fates, values, sizeof *c->fates);
}

/// Parameters of any output; of a training step those of the first one that are trained.
static egraph_status keep_parameters(const chooser *c, const eg_graph *model,
                                     const eg_parameter_wish *wish) {
  const eg_parameter_wish all = {.freeze = NULL};
  uint32_t outputs = eg_graph_output_count(model);
  for (uint32_t o = 0; o < (wish != NULL && outputs != 0 ? 1 : outputs); o++) {
    eg_value output = eg_graph_output(model, o, NULL);
    EG_TRY(eg_parameters_find(model, output, wish != NULL ? wish : &all, c->fates,
                              c->needed));
    for (uint32_t v = 0; v < eg_graph_value_count(model); v++)
      c->kept[v] = c->kept[v] || c->fates[v] == EG_FATE_TRAINED;
  }
  return EGRAPH_OK;
}

egraph_status eg_trained_prepare(const eg_graph *model, const eg_parameter_wish *wish,
                                 eg_strmap *names, eg_graph **out) {
  chooser c;
  egraph_status status = chooser_init(&c, model);
  if (status == EGRAPH_OK) status = keep_parameters(&c, model, wish);
  if (status == EGRAPH_OK && wish != NULL)
    status = eg_parameters_names(model, c.fates, names);
  if (status == EGRAPH_OK)
    status = eg_graph_folded(
        model, &(eg_fold_options){.max_bytes = MOST_FOLDED, .kept = c.kept}, out);
  chooser_deinit(&c, model);
  return status;
}

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

static egraph_status report_all(const eg_graph *graph, const chooser *c,
                                void (*report)(void *, const egraph_model_weight *),
                                void *user) {
  for (uint32_t v = 0; v < eg_graph_value_count(graph); v++) {
    const eg_value_info *info = eg_graph_value(graph, (eg_value){v});
    if (c->fates[v] == EG_FATE_NONE) continue;
    const egraph_model_weight weight = {.name = info->name,
                                        .why = eg_weight_fate_why(c->fates[v]),
                                        .elements = eg_type_elements(&info->type),
                                        .is_trained = c->fates[v] == EG_FATE_TRAINED,
                                        .is_absent = info->data == NULL};
    report(user, &weight);
  }
  return EGRAPH_OK;
}

egraph_status
egraph_training_weights(const egraph_graph *graph, const egraph_training *training,
                        void (*report)(void *user, const egraph_model_weight *weight),
                        void *user) {
  EG_REQUIRE(graph);
  EG_REQUIRE_CALL(report);
  chooser c;
  egraph_training own;
  EG_TRY(eg_options_take(EGRAPH_TRAINING, training, &own));
  EG_TRY(eg_training_patterns_check(&own));
  const eg_parameter_wish wish = {own.freeze, own.train_only, own.freeze_count,
                                  own.train_only_count, NULL};
  if (eg_graph_output_count(graph) == 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "the graph has no output to take a loss of");
  egraph_status status = chooser_init(&c, graph);
  if (status == EGRAPH_OK)
    status = eg_parameters_find(graph, eg_graph_output(graph, 0, NULL), &wish, c.fates,
                                c.needed);
  if (status == EGRAPH_OK) status = report_all(graph, &c, report, user);
  chooser_deinit(&c, graph);
  return status;
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

/// Weights that the step reads under their own names, trained ones among them, are not
/// folded into others.
static void keep_named(const eg_graph *model, const eg_graph *step, bool *kept) {
  eg_value there;
  for (uint32_t v = 0; v < eg_graph_value_count(model); v++) {
    const eg_value_info *info = eg_graph_value(model, (eg_value){v});
    kept[v] = info->kind == EG_VALUE_WEIGHT &&
              eg_graph_find_value(step, info->name, &there) &&
              eg_graph_value(step, there)->kind == EG_VALUE_INPUT;
  }
}

/// A weight of the step gets the data of the value of its name; what is trained, an input
/// of the step, is only compared.
static egraph_status take_weight(const eg_graph *model, eg_graph *step, eg_value value) {
  const eg_value_info *info = eg_graph_value(step, value);
  eg_value named;
  if (info->kind == EG_VALUE_COMPUTED ||
      !eg_graph_find_value(model, info->name, &named) ||
      eg_graph_value(model, named)->kind != EG_VALUE_WEIGHT)
    return EGRAPH_OK;
  const eg_value_info *from = eg_graph_value(model, named);
  if (!eg_type_same_shape(&from->type, &info->type) ||
      from->type.dtype != info->type.dtype)
    return EG_FAIL(
        EGRAPH_E_TYPE,
        "weight '%.200s' is %s in the model and %s in the plan; give the model "
        "that the plan was made of",
        info->name, eg_type_text_of(&from->type).text, eg_type_text_of(&info->type).text);
  if (info->kind == EG_VALUE_WEIGHT && info->data == NULL && from->data != NULL)
    eg_graph_set_data(step, value, from->data);
  return EGRAPH_OK;
}

/// A weight that optimizing has made of others has a name that the model does not know.
static egraph_status check_known(const eg_graph *model, const eg_graph *step) {
  eg_value there;
  for (uint32_t v = 0; v < eg_graph_value_count(step); v++) {
    const eg_value_info *info = eg_graph_value(step, (eg_value){v});
    if (info->kind == EG_VALUE_WEIGHT && info->data == NULL &&
        !eg_graph_find_value(model, info->name, &there))
      return EG_FAIL(
          EGRAPH_E_ARGUMENT,
          "weight '%.200s' of the plan is not in the model: optimizing for one "
          "device made it of others, and plans in files leave its data out; "
          "write the optimized graph as .onnx, which keeps it",
          info->name);
  }
  return EGRAPH_OK;
}

egraph_status egraph_plan_take_weights(egraph_plan *plan, const egraph_graph *model) {
  EG_REQUIRE(plan, model);
  eg_graph *step = plan->planned.graph, *folded = NULL;
  egraph_allocator alloc = eg_graph_allocator(model);
  uint32_t values = eg_graph_value_count(model);
  bool *kept;
  EG_TRY(check_known(model, step));
  EG_TRY(eg_alloc(alloc, values, sizeof *kept, &kept));
  keep_named(model, step, kept);
  egraph_status status = eg_graph_folded(
      model, &(eg_fold_options){.max_bytes = MOST_FOLDED, .kept = kept}, &folded);
  eg_free(alloc, kept, values, sizeof *kept);
  for (uint32_t v = 0; status == EGRAPH_OK && v < eg_graph_value_count(step); v++) {
    status = take_weight(model, step, (eg_value){v}); // as it stands in the model
    if (status == EGRAPH_OK) status = take_weight(folded, step, (eg_value){v});
  }
  eg_graph_destroy(folded);
  return status;
}
