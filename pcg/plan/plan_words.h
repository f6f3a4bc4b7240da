// The words of plans: spellings of phases, actions and transitions in files; layouts,
// splits and amounts for people; labels of values; repetitions that are printed once.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_WORDS_H
#define EG_PCG_PLAN_WORDS_H

#include "pcg/plan/plan.h"

// ---- spellings in files ---------------------------------------------------------------

const char *eg_phase_name(eg_phase phase); // "forward", "backward", "update"
bool eg_phase_find(const char *name, eg_phase *out);
/// Finds the kind of transition whose eg_transition_name is `name`.
bool eg_transition_find(const char *name, eg_transition_kind *out);
/// Appends how an operator uses an axis: "replicate"; "split 2": factor 2; "pass 1":
/// partial sums of operand 1; "pass joint".
egraph_status eg_action_print(eg_text *text, uint8_t action);
bool eg_action_find(const char *name, uint8_t *out);

// ---- words for people -----------------------------------------------------------------

/// Appends a layout in words: "columns (dimension 1) over gpu, the same along node",
/// "whole on every device", "partial sums over gpu, in nhwc". `rank`: of the tensor.
egraph_status eg_layout_words(eg_text *text, const eg_mesh *mesh, uint32_t rank,
                              const eg_layout *layout);
/// A dimension of a tensor that a factor (loop index) of a node indexes: of the first
/// result that the factor indexes or, if there is none, of the first operand.
typedef struct eg_place {
  eg_value value;
  uint32_t dim;
  bool is_result;
} eg_place;
eg_place eg_plan_factor_place(const eg_plan *plan, const eg_plan_step *step,
                              const eg_factor *factor);
/// Appends the dimension that a node step divides along an axis: "columns (dimension 1)
/// of y", "the summed dimension 2 of x", "partial results of x", "repeated".
egraph_status eg_plan_action_words(eg_text *text, const eg_plan *plan,
                                   const eg_plan_step *step, const eg_factors *factors,
                                   uint32_t axis);
/// Append a number with at most three digits: "4.25 MB", "13 us".
egraph_status eg_text_bytes(eg_text *text, double bytes);
egraph_status eg_text_seconds(eg_text *text, double seconds);
egraph_status eg_text_digits(eg_text *text, double value);  // "?" for NaN and below 0
egraph_status eg_text_percent(eg_text *text, double share); // of 1: "12.5 %"

// ---- labels of values -----------------------------------------------------------------

/// Labels of the values that training or the rules made; values of the user's model have
/// names of their own.
///
///   v25      gradient of w1      backward computes it, the update of w1 reads it
///   opt_0    new w1              leaves the step as w1
///   v11      loss                an output's name
typedef struct eg_plan_labels {
  const char **words; // [values], NULL: the value has only its name
  eg_arena arena;
} eg_plan_labels;

/// True for a name that the graph made up: "v12", "v12_1", "opt_3".
bool eg_name_is_made_up(const char *name);
void eg_plan_labels_init(eg_plan_labels *labels, egraph_allocator alloc);
void eg_plan_labels_deinit(eg_plan_labels *labels);
/// Finds the labels of a plan's values. `out` is initialized. O(steps + values). Fails
/// with EGRAPH_E_MEMORY.
egraph_status eg_plan_labels_find(const eg_plan *plan, eg_plan_labels *out);

// ---- repetitions ----------------------------------------------------------------------

/// A pattern of items that occurs several times in a row in a list.
typedef struct eg_repeat {
  uint32_t period, count; // number of items in the pattern, number of its occurrences
} eg_repeat;

/// Finds the repetition that begins at item `first` and covers most items. Only a pattern
/// that occurs at least 4 times, with at least 16 items after its first occurrence, is
/// worth printing once; otherwise count is 1. `alike` is true for two items that print
/// alike. Patterns have at most 512 items.
eg_repeat eg_repeat_at(uint32_t first, uint32_t len,
                       bool (*alike)(const void *user, uint32_t a, uint32_t b),
                       const void *user);

#endif
