// SPDX-License-Identifier: Apache-2.0
#include "optimize/plan/plan_baselines.h"

#include <string.h>

// Statements about one axis; $ is its name.

// Batches are split and stay so: no activation is put together again.
#define SPLIT_BATCHES                                                                    \
  "(pin (all batches) $=S0)\n"                                                           \
  "(forbid (all batches) all-gather all-to-all (axis $))\n"                              \
  "(forbid (all activations) all-gather all-to-all reduce-scatter (axis $))\n"
#define WHOLE_WEIGHTS "(pin (all weights) $=R)\n"
#define SPLIT_STATES "(forbid (all states) R (axis $))\n"
#define SPLIT_GRADIENTS                                                                  \
  "(forbid (all gradients) R P (axis $) (phase update))\n"                               \
  "(forbid (all sums) R P (axis $))\n"

static const char EVERYTHING_EVERYWHERE[] = "(forbid (all values) S P M (axis $))\n";
static const char DATA_PARALLEL[] =
    SPLIT_BATCHES WHOLE_WEIGHTS "(forbid (all states) S (axis $))\n"
                                "(forbid (all gradients) S (axis $))\n"
                                "(forbid (all sums) S (axis $))\n";
static const char ZERO_1[] = SPLIT_BATCHES WHOLE_WEIGHTS SPLIT_STATES
    "(forbid (all gradients) S (axis $) (phase backward))\n"
    "(forbid (all sums) S (axis $) (phase backward))\n";
static const char ZERO_2[] = SPLIT_BATCHES WHOLE_WEIGHTS SPLIT_STATES SPLIT_GRADIENTS;
static const char ZERO_3[] =
    SPLIT_BATCHES "(pin (all weights) $=S)\n" SPLIT_STATES SPLIT_GRADIENTS;
// Weights are split as the solver likes, batches and what is added up are whole.
static const char TENSOR_PARALLEL[] =
    "(forbid (all inputs) S P (axis $))\n"
    "(forbid (all activations) slice all-gather all-to-all reduce-scatter (axis $))\n"
    "(forbid (all weights) all-gather all-to-all (axis $))\n";

typedef struct baseline_row {
  const char *outer, *last; // axes; there is no outer one where the mesh has one axis
} baseline_row;

#define NAME(id, name) [id] = name,
static const char *const NAMES[] = {EG_BASELINE_LIST(NAME)};
#undef NAME
static const baseline_row ROWS[EG_BASELINES] = {
    [EG_BASELINE_SINGLE] = {EVERYTHING_EVERYWHERE, EVERYTHING_EVERYWHERE},
    [EG_BASELINE_DATA] = {DATA_PARALLEL, DATA_PARALLEL},
    [EG_BASELINE_ZERO_1] = {ZERO_1, ZERO_1},
    [EG_BASELINE_ZERO_2] = {ZERO_2, ZERO_2},
    [EG_BASELINE_ZERO_3] = {ZERO_3, ZERO_3},
    [EG_BASELINE_MEGATRON] = {DATA_PARALLEL, TENSOR_PARALLEL},
};

const char *eg_baseline_name(eg_baseline baseline) { return NAMES[baseline]; }

bool eg_baseline_find(const char *name, eg_baseline *out) {
  for (int b = 0; b < EG_BASELINES; b++)
    if (strcmp(NAMES[b], name) == 0) {
      *out = (eg_baseline)b;
      return true;
    }
  return false;
}

static egraph_status print_for(eg_text *text, const char *statements, const char *axis) {
  for (const char *c = statements; *c != '\0';) {
    size_t plain = strcspn(c, "$");
    EG_TRY(eg_text_append_bytes(text, c, plain));
    c += plain;
    if (*c == '\0') break;
    EG_TRY(eg_text_append(text, axis));
    c++;
  }
  return EGRAPH_OK;
}

egraph_status eg_baseline_print(eg_text *text, eg_baseline baseline,
                                const eg_mesh *mesh) {
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    bool is_last = a + 1 == mesh->axis_count;
    EG_TRY(print_for(text, is_last ? ROWS[baseline].last : ROWS[baseline].outer,
                     mesh->axes[a].name));
  }
  return EGRAPH_OK;
}

egraph_status eg_baseline_constraints(eg_plan_constraints *constraints,
                                      eg_baseline baseline, const eg_mesh *mesh) {
  eg_text text;
  eg_text_init(&text, constraints->rows.alloc);
  egraph_status status = eg_baseline_print(&text, baseline, mesh);
  if (status == EGRAPH_OK)
    status = eg_plan_constraints_parse(constraints, eg_baseline_name(baseline),
                                       eg_text_of(&text), text.chars.len, false);
  eg_text_deinit(&text);
  return status;
}
