// SPDX-License-Identifier: Apache-2.0
#include "optimize/model_weights.h"

#include <assert.h>

#include "ops/typing.h"
#include "pcg/graph/graph_copy.h"

// Most elements of a value computed ahead: a mask of a long sequence fits, a table not.
enum { MOST_FOLDED = 1 << 26 };

static egraph_status fold_weights(const eg_graph *model, const bool *kept,
                                  eg_graph **out) {
  const eg_fold_options options = {.max_bytes = MOST_FOLDED, .kept = kept};
  return eg_graph_folded(model, &options, out);
}

// ---- what is trained ----------------------------------------------------------------

/// The values of a model that are trained, needed, and not computed before planning.
typedef struct fates {
  uint32_t count; // values
  eg_weight_fate *of;
  bool *needed, *kept;
  eg_arena arena; // of the rows
} fates;
EG_OWNER_DEFINE_STATIC(fates, (eg_arena, arena))

static egraph_status size_fates(fates *f, const eg_graph *model) {
  f->count = eg_graph_value_count(model);
  EG_NEW(&f->arena, f->count, f->of);
  EG_NEW(&f->arena, f->count, f->needed);
  return eg_arena_alloc(&f->arena, f->count, sizeof *f->kept, &f->kept);
}

static egraph_status find_fates(const fates *f, const eg_graph *model, uint32_t output,
                                const eg_parameter_wish *wish) {
  eg_value value = eg_graph_output(model, output, NULL);
  return eg_parameters_find(model, value, wish, f->of, f->needed);
}

/// Marks parameters that must not be computed ahead: those of all outputs; in training,
/// the trained ones of the first output.
static egraph_status keep_parameters(const fates *f, const eg_graph *model,
                                     const eg_parameter_wish *wish) {
  const eg_parameter_wish all = {.freeze = NULL};
  uint32_t outputs = eg_graph_output_count(model);
  for (uint32_t o = 0; o < (wish != NULL && outputs != 0 ? 1 : outputs); o++) {
    EG_TRY(find_fates(f, model, o, wish != NULL ? wish : &all));
    for (uint32_t v = 0; v < f->count; v++)
      f->kept[v] = f->kept[v] || f->of[v] == EG_FATE_TRAINED;
  }
  return EGRAPH_OK;
}

egraph_status eg_model_prepare(const eg_graph *model, const eg_parameter_wish *wish,
                               const eg_rules *rules, egraph_math math, eg_strmap *names,
                               eg_graph **out, bool *out_recognized) {
  assert(model != NULL && (wish == NULL || names != NULL));
  EG_HELD(eg_graph, found);
  EG_LOCAL(fates, f, eg_graph_allocator(model));
  EG_LOCAL(fates, of_found, eg_graph_allocator(model));
  EG_TRY(size_fates(&f, model));
  EG_TRY(keep_parameters(&f, model, wish));
  if (wish != NULL) {
    EG_TRY(eg_parameters_names(model, f.of, names));
    EG_TRY(eg_recognize(model, rules, math, f.kept, &found));
  }
  *out_recognized = found != NULL;
  if (found == NULL) return fold_weights(model, f.kept, out);
  // The patterns of the wish may name weights that only the replaced parts read.
  const eg_parameter_wish chosen = {.chosen = names};
  EG_TRY(size_fates(&of_found, found));
  EG_TRY(keep_parameters(&of_found, found, &chosen));
  return fold_weights(found, of_found.kept, out);
}

static egraph_status check_output(const eg_graph *model) {
  if (eg_graph_output_count(model) != 0) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT, "the graph has no output to take a loss of");
}

egraph_status eg_model_visit_weights(const eg_graph *model, const eg_parameter_wish *wish,
                                     void (*visit)(void *user,
                                                   const eg_value_info *weight,
                                                   eg_weight_fate fate),
                                     void *user) {
  EG_LOCAL(fates, f, eg_graph_allocator(model));
  EG_TRY(check_output(model));
  EG_TRY(size_fates(&f, model));
  EG_TRY(find_fates(&f, model, 0, wish));
  for (uint32_t v = 0; v < f.count; v++)
    if (f.of[v] != EG_FATE_NONE)
      visit(user, eg_graph_value(model, (eg_value){v}), f.of[v]);
  return EGRAPH_OK;
}

egraph_status eg_model_find_ties(const eg_graph *model, const eg_parameter_wish *wish,
                                 eg_tie_uses *out) {
  EG_TRY(check_output(model));
  return eg_ties_find(model, eg_graph_output(model, 0, NULL), wish, out);
}

egraph_status eg_model_untie(const eg_graph *model, const eg_parameter_wish *wish,
                             const char *const *patterns, uint32_t count,
                             eg_graph **out) {
  EG_TRY(check_output(model));
  return eg_ties_untie(model, eg_graph_output(model, 0, NULL), wish, patterns, count,
                       out);
}

// ---- data of weights ----------------------------------------------------------------

/// Marks trained weights, which the step reads under their own names: they must not be
/// merged into other weights.
static void keep_named(const eg_graph *model, const eg_graph *step, bool *kept) {
  eg_value there;
  for (uint32_t v = 0; v < eg_graph_value_count(model); v++) {
    const eg_value_info *info = eg_graph_value(model, (eg_value){v});
    kept[v] = info->kind == EG_VALUE_WEIGHT &&
              eg_graph_find_value(step, info->name, &there) &&
              eg_graph_value(step, there)->kind == EG_VALUE_INPUT;
  }
}

/// Gives a weight of the step the data of the model's weight with the same name.
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

/// Fails for a weight that the model lacks: optimizing made it from other weights.
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

egraph_status eg_model_give_weights(const eg_graph *model, eg_graph *step) {
  EG_LOCAL(eg_arena, arena, eg_graph_allocator(model));
  EG_HELD(eg_graph, folded);
  bool *kept;
  EG_TRY(check_known(model, step));
  EG_NEW(&arena, eg_graph_value_count(model), kept);
  keep_named(model, step, kept);
  EG_TRY(fold_weights(model, kept, &folded));
  for (uint32_t v = 0; v < eg_graph_value_count(step); v++) {
    EG_TRY(take_weight(model, step, (eg_value){v})); // as in the model
    EG_TRY(take_weight(folded, step, (eg_value){v}));
  }
  return EGRAPH_OK;
}
