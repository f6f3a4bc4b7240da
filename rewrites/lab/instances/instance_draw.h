// Draws instances of a rule: tensors and attributes for which the left side is well-typed
// and the conditions hold. Draws are random with many small retries, term by term.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_VERIFY_DRAW_H
#define EG_REWRITES_VERIFY_DRAW_H

#include "rewrites/lab/basis/owned.h"
#include "rewrites/lab/instances/instance_aims.h"
#include "rewrites/saturation/rule_build.h"

typedef struct eg_verify_draws eg_verify_draws;

/// The tensor drawn for a tensor variable of a rule: its type, and the data it may have.
typedef struct eg_verify_leaf {
  eg_type type;
  bool weight, splat;
  double splat_value;
  int64_t index_bound; // > 0: an index into this many elements
  bool variance;       // variance of batch normalization: never negative
  bool constant; // the rule requires weights here; they are folded, so always finite
} eg_verify_leaf;

/// The instance that was drawn last, borrowed until the next draw.
typedef struct eg_verify_instance {
  const eg_rule *rule;
  const eg_verify_leaf *leaves;   // by variable; set for class variables of the left side
  const eg_attrs *const *attrs;   // by pattern term
  const eg_class *classes;        // by pattern term
  const eg_rule_env *env;         // every variable is bound
  const eg_rule_builder *builder; // plan of the right side
  eg_tensor_egraph *egraph;       // holds the left side
  eg_special special;             // kind of a constant to which the draw was steered
} eg_verify_instance;

/// Returns the attributes of a term of either side; the term must not be a variable.
const eg_attrs *eg_verify_attrs_of(const eg_verify_instance *instance, uint32_t term);
/// Lists the types of the operands of a left-side term; at most EG_VERIFY_MAX_OPERANDS.
void eg_verify_operand_types(const eg_verify_instance *instance, uint32_t term,
                             eg_type *out);

/// Creates a source of instances. The rule is kept by reference. Equal seeds draw
/// equal instances.
egraph_status eg_verify_draws_create(const egraph_allocator *alloc, const eg_rule *rule,
                                     uint64_t seed, eg_verify_draws **out);
void eg_verify_draws_destroy(eg_verify_draws *draws);
EG_OWNED_POINTER(eg_verify_draws);
/// Draws one instance. *out_found is false when none was found; *out_typed is true when
/// the right side is well-typed, too (the instance has its plan only then).
egraph_status eg_verify_draw(eg_verify_draws *draws, bool *out_found, bool *out_typed,
                             eg_verify_instance *out);

/// Makes draws that are steered to no class prefer a dimension: in half of the terms,
/// half of the dimensions are this number or its double. 0: no preference.
void eg_verify_prefer_dim(eg_verify_draws *draws, int64_t dim);
/// Steers later draws to instances of the class `aim` (kept by reference); NULL: to none.
void eg_verify_aim(eg_verify_draws *draws, const eg_instance_aim *aim);
bool eg_verify_is_in(const eg_verify_instance *instance, const eg_instance_aim *aim);
/// True when the conditions on ranks and element types already exclude every instance of
/// the class `aim`.
bool eg_verify_excludes(const eg_verify_draws *draws, const eg_instance_aim *aim);
/// The condition or term at which most tries to draw an instance of a class failed, among
/// the tries that got farthest.
typedef struct eg_verify_obstacle {
  uint32_t condition; // number of a condition of the rule, or EG_RULE_NONE
  uint32_t term;      // term that was ill-typed, or EG_RULE_NONE
} eg_verify_obstacle;
eg_verify_obstacle eg_verify_obstacle_of(const eg_verify_draws *draws);

#endif
