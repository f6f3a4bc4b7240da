// Records the classes of instances on which a rule was compared, and why it was not
// compared on others.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_VERIFY_COVERAGE_H
#define EG_REWRITES_VERIFY_COVERAGE_H

#include "rewrites/lab/instances/instance_draw.h"

/// The outcome of drawing one instance of a rule and comparing it.
typedef enum eg_instance_outcome {
  EG_INSTANCE_COMPARED,
  EG_INSTANCE_UNBUILT, // the right side is ill-typed
  EG_INSTANCE_VACUOUS  // there was nothing to compare
} eg_instance_outcome;

typedef struct eg_coverage_row {
  eg_instance_aim aim;
  uint32_t compared, unbuilt, vacuous; // numbers of instances
  eg_verify_obstacle obstacle;         // obstacle to draws that were steered to the class
} eg_coverage_row;

typedef struct eg_coverage {
  const eg_rule *rule;
  eg_arena arena;
  eg_coverage_row *rows;
  uint32_t count;
} eg_coverage;

/// Starts to count compared instances of a rule, which is kept by reference, by class.
egraph_status eg_coverage_open(eg_coverage *coverage, const eg_rule *rule);
void eg_coverage_init(eg_coverage *coverage, egraph_allocator alloc);
void eg_coverage_deinit(eg_coverage *coverage);
/// Counts an instance of the rule in each class of instances that it is in.
void eg_coverage_note(eg_coverage *coverage, const eg_verify_instance *instance,
                      eg_instance_outcome outcome);
uint32_t eg_coverage_reached(const eg_coverage *coverage);
/// Lists in words the classes of instances on which the rule was compared, or why not;
/// the coverage owns the memory.
egraph_status eg_coverage_classes(eg_coverage *coverage, egraph_rule_class **out);

#endif
