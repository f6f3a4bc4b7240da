// What planning must know of a step beyond its graph.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PLAN_STEP_INFO_H
#define EG_OPTIMIZE_PLAN_STEP_INFO_H

#include "pcg/plan.h"

/// A value that leaves the step and enters the next one: parameters, optimizer states. A
/// sum over the micro-batches leaves one and enters the next; it is zero at first.
typedef struct eg_carried_value {
  eg_value entry;  // input or weight
  uint32_t output; // index of the graph output
  bool is_sum;
} eg_carried_value;

/// Two values that are made in one layout: where a block that stands for many begins and
/// where it ends. What crosses from block to block counts where it is used: its moves and
/// what is kept of it count for so many blocks, whatever the node that makes it stands
/// for.
typedef struct eg_tied_values {
  eg_value value[2];
  uint32_t times[2];
} eg_tied_values;

typedef struct eg_step_info {
  uint32_t micro_batches; // >= 1
  const eg_phase *phases; // [graph nodes], or NULL: all forward
  const uint32_t *times;  // [graph nodes] equal blocks that a node stands for, or NULL
  const eg_carried_value *carried;
  uint32_t carried_count;
  const eg_value *gradients; // of what is trained, of one micro-batch
  uint32_t gradient_count;
  const eg_tied_values *tied;
  uint32_t tied_count;
  // Of a step with a block that stands for many, beside what is tied: what rules do not
  // look through (it is used as often as there are blocks), and what they leave as it is.
  const eg_value *sealed;
  uint32_t sealed_count;
  const eg_value *fixed;
  uint32_t fixed_count;
  double memory_limit; // bytes of a device; INFINITY: none
} eg_step_info;

#endif
