// SPDX-License-Identifier: Apache-2.0
#include "tools/trained_weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_WEIGHTS = 4, MOST_USES = 3 }; // numbers that the warning names

static const char *const EVERYTHING[] = {"*"};

static egraph_training training_of(const training_flags *flags) {
  egraph_training training = egraph_training_default();
  training_flags_give(flags, &training);
  return training;
}

static egraph_status replace_by_untied(const egraph_training *training,
                                       const char *const *patterns, uint32_t count,
                                       egraph_graph **inout) {
  egraph_graph *untied;
  EG_TRY(egraph_training_untie(*inout, training, patterns, count, &untied));
  egraph_graph_destroy(*inout);
  *inout = untied;
  return EGRAPH_OK;
}

egraph_status untie_model(const training_flags *flags, egraph_graph **inout) {
  // The patterns of frozen weights may match names from before weights are separated.
  egraph_training training = training_of(flags);
  if (flags->untie) return replace_by_untied(&training, EVERYTHING, 1, inout);
  if (flags->untie_only.count == 0) return EGRAPH_OK;
  return replace_by_untied(&training, flags->untie_only.items,
                           (uint32_t)flags->untie_only.count, inout);
}

// ---- the warning --------------------------------------------------------------------

static void count_tie(void *user, const egraph_tied_weight *weight) {
  uint32_t *count = user;
  (void)weight;
  (*count)++;
}

static void show_tie(void *user, const egraph_tied_weight *weight) {
  uint32_t *shown = user;
  if ((*shown)++ >= MOST_WEIGHTS) return;
  show(stderr, "%s '%s' of", *shown == 1 ? "" : ";", weight->name);
  for (uint32_t i = 0; i < weight->use_count && i < MOST_USES; i++)
    show(stderr, "%s %s '%s'", i == 0 ? "" : ",", weight->ops[i], weight->nodes[i]);
  if (weight->use_count > MOST_USES)
    fprintf(stderr, ", %" PRIu32 " more", weight->use_count - MOST_USES);
}

egraph_status warn_of_ties(const training_flags *flags, const egraph_graph *model) {
  const egraph_training training = training_of(flags);
  uint32_t count = 0, shown = 0;
  if (egraph_graph_info_of(model).outputs == 0) return EGRAPH_OK;
  egraph_status status = egraph_training_ties(model, &training, count_tie, &count);
  if (status != EGRAPH_OK || count == 0) return status;
  fprintf(stderr,
          "egraph: warning: %" PRIu32
          " trained %s the parameter of several operators, and trained as one:",
          count, count == 1 ? "weight is" : "weights are each");
  status = egraph_training_ties(model, &training, show_tie, &shown);
  if (count > MOST_WEIGHTS) fprintf(stderr, "; %" PRIu32 " more", count - MOST_WEIGHTS);
  fprintf(stderr, ". Exporters merge weights of equal initial values; --untie (or "
                  "--untie-only NAME) gives each operator its own\n");
  return status;
}

// ---- JSON ---------------------------------------------------------------------------

static void write_tie(void *user, const egraph_tied_weight *weight) {
  (void)user;
  json_open(NULL, '{');
  JSON_MEMBERS(JSON("name", weight->name), JSON("elements", (uint64_t)weight->elements));
  JSON_EACH("uses", i, weight->use_count)
    JSON_OBJECT(NULL, JSON("op", weight->ops[i]), JSON("node", weight->nodes[i]));
  json_close('}');
}

egraph_status json_ties(const egraph_training *training, const egraph_graph *model) {
  egraph_status status = EGRAPH_OK;
  json_open("tied", '[');
  if (egraph_graph_info_of(model).outputs != 0)
    status = egraph_training_ties(model, training, write_tie, NULL);
  json_close(']');
  return status;
}

// ---- plans that were untied ---------------------------------------------------------

static bool has_input(const egraph_graph *step, const char *name) {
  egraph_value value;
  return egraph_graph_find_value(step, name, &value) &&
         egraph_value_kind_of(step, value) == EGRAPH_VALUE_INPUT;
}

/// True when a training step has a weight that only the model without shared weights has.
static bool needs_untied(const egraph_graph *step, const egraph_graph *model,
                         const egraph_graph *untied) {
  for (uint32_t i = 0; i < egraph_graph_info_of(untied).weights; i++) {
    const char *name;
    egraph_tensor weight;
    if (egraph_graph_weight(untied, i, &name, &weight) == EGRAPH_OK &&
        egraph_graph_find_weight(model, name, &weight) != EGRAPH_OK &&
        has_input(step, name))
      return true;
  }
  return false;
}

egraph_status untie_as_plan(const egraph_plan *plan, egraph_graph **inout,
                            bool *out_untied) {
  egraph_graph *untied;
  *out_untied = false;
  if (egraph_graph_open_dims(*inout) != 0) return EGRAPH_OK;
  EG_TRY(egraph_training_untie(*inout, NULL, EVERYTHING, 1, &untied));
  *out_untied = needs_untied(egraph_plan_graph(plan), *inout, untied);
  egraph_graph_destroy(*out_untied ? *inout : untied);
  if (*out_untied) *inout = untied;
  return EGRAPH_OK;
}
