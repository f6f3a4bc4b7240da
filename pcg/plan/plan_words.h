// How phases, actions and transitions are spelled in the files and reports of plans.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_PLAN_WORDS_H
#define EG_PCG_PLAN_WORDS_H

#include "pcg/plan/plan.h"

const char *eg_phase_name(eg_phase phase); // "forward", "backward", "update"
bool eg_phase_find(const char *name, eg_phase *out);
/// The kind with this eg_transition_name.
bool eg_transition_find(const char *name, eg_transition_kind *out);
/// "replicate"; "split 2": factor 2; "pass 1": partial sums of operand 1; "pass joint".
egraph_status eg_action_print(eg_text *text, uint8_t action);
bool eg_action_find(const char *name, uint8_t *out);
/// For people: "columns (dimension 1) over gpu, the same along node", "whole on every
/// device", "partial sums over gpu, in nhwc". `rank` is the tensor's.
egraph_status eg_layout_words(eg_text *text, const eg_mesh *mesh, uint32_t rank,
                              const eg_layout *layout);
/// A dimension that a factor of a node indexes: of a result, or of the first operand that
/// has it where no result does.
typedef struct eg_place {
  eg_value value;
  uint32_t dim;
  bool is_result;
} eg_place;
eg_place eg_plan_factor_place(const eg_plan *plan, const eg_plan_step *step,
                              const eg_factor *factor);
/// For people: what a node step divides along an axis: "columns (dimension 1) of y", "the
/// summed dimension 2 of x", "partial results of x", "repeated".
egraph_status eg_plan_action_words(eg_text *text, const eg_plan *plan,
                                   const eg_plan_step *step, const eg_factors *factors,
                                   uint32_t axis);
/// For people, three digits at most: "4.25 MB", "13 us".
egraph_status eg_text_bytes(eg_text *text, double bytes);
egraph_status eg_text_seconds(eg_text *text, double seconds);
egraph_status eg_text_digits(eg_text *text, double value);  // "?": below 0, NaN
egraph_status eg_text_percent(eg_text *text, double share); // of 1: "12.5 %"

/// Blocks that a step stands for; 1 in plans of graphs that are not folded.
double eg_plan_step_blocks(const eg_plan_step *step);
/// How often a step with phase `phase` is run in a step of training.
uint32_t eg_phase_runs(const eg_plan *plan, eg_phase phase);
/// Bytes that one device holds of a state.
double eg_plan_state_bytes(const eg_plan *plan, uint32_t state);
/// Bytes that a move is about (see eg_transition_bytes).
double eg_plan_move_bytes(const eg_plan *plan, const eg_plan_step *step);

#endif
