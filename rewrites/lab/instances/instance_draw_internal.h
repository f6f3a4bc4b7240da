// The state while an instance of a rule is drawn term by term, for instance_*.c.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_INSTANCE_DRAW_INTERNAL_H
#define EG_REWRITES_INSTANCE_DRAW_INTERNAL_H

#include <assert.h>

#include "rewrites/lab/instances/instance_draw.h"

// Hints about variables that the conditions of a rule give, so that draws are likely
// to satisfy them. Only conditions that must all hold are read; alternatives (or)
// are ignored.

// MAX_VARS: most variables of a rule, the bits of a word. EG_VERIFY_SPLAT_ELEMENTS:
// largest tensor with equal elements whose data are written out.
enum { MAX_VARS = 64, MAX_SIZES = 8, EG_VERIFY_SPLAT_ELEMENTS = 1 << 16 };

typedef enum wish_state { WISH_MAYBE, WISH_YES, WISH_NO } wish_state;

typedef struct var_hint {
  wish_state weight, splat;
  uint32_t splat_value;        // expression, or EG_RULE_NONE
  uint32_t equals;             // expression that a value variable must equal, or NONE
  uint32_t min_rank, max_rank; // ranks of a class variable
  uint32_t like; // class variable at the same place in the first part, or NONE
  // The term whose operands are drawn together, and its operand that is computed from
  // this variable element by element; or EG_RULE_NONE.
  uint32_t layer, layer_operand;
} var_hint;

typedef struct rule_hints {
  var_hint *vars;  // [rule->var_count]
  uint64_t *needs; // by expression: bits of the variables that it needs
  uint64_t *bound; // by pattern term: bits of the variables bound once it is done
  int64_t sizes[MAX_SIZES]; // dimensions that the rule compares with
  uint32_t size_count;
  double numbers[MAX_SIZES]; // numbers with which the rule may compare splats
  uint32_t number_count;
  bool has_parts;  // the rule concatenates computed operands
  bool has_layers; // some variable has a `layer`
  uint32_t rank;   // rank that conditions require, when it is an unusual one; 0: any
  uint32_t dtypes; // bits of the element types that conditions allow
  uint32_t named_dtypes;     // bits of the element types that the rule compares with
  uint32_t *condition_terms; // by condition: first pattern term that decides it
} rule_hints;

/// Reads hints about variables from the conditions of a rule into the arena. Fails with
/// EGRAPH_E_UNSUPPORTED when the rule has more than MAX_VARS variables.
egraph_status eg_verify_read_hints(const eg_rule *rule, eg_arena *arena, rule_hints *out);

struct eg_verify_draws {
  egraph_allocator alloc;
  const eg_rule *rule;
  eg_rng rng;
  eg_arena arena;
  rule_hints hints;
  eg_graph *graph;
  eg_tensor_egraph *egraph;
  uint32_t age; // number of draws since the e-graph was created
  eg_rule_env env;
  eg_rule_tensors tensors; // facts of the tensors of a walk, by variable, then by term
  eg_tensor_fact *facts;
  eg_rule_builder builder;
  eg_verify_choice choice;
  eg_verify_lists lists;
  eg_verify_leaf *leaves;
  eg_type *layers; // EG_VERIFY_MAX_OPERANDS for each pattern term
  // The equations of einsums by left-side term, and memory for drawn equations.
  const char **equations;
  char (*drawn_equations)[EG_EQUATION_BYTES];
  const eg_attrs **attrs; // by pattern term
  eg_class *classes;      // by pattern term; tensor numbers during the walk
  uint64_t bound;         // bits of the bound variables
  uint64_t repaired;      // bits of leaves of the current term that conditions changed
  egraph_dtype dtype;
  int64_t preferred_dim; // 0: none
  const eg_instance_aim *aim;
  uint32_t refused; // condition at which the last try failed, or EG_RULE_NONE
  // Numbers of failed tries to draw an instance of the class `aim`: by condition that was
  // false, and by term that was ill-typed.
  uint32_t *refusals, *ill_typed;
};

// ---- the state of a walk --------------------------------------------------------------

/// Returns the number of a term's tensor during a draw: variables first, then terms.
static inline eg_class eg_verify_tensor_of_term(const eg_verify_draws *draws,
                                                uint32_t term) {
  return (eg_class){draws->rule->var_count + term};
}

static inline eg_class eg_verify_operand_of(const eg_verify_draws *draws,
                                            const eg_rule_term *term, uint32_t operand) {
  const eg_rule_term *child = &draws->rule->terms[term->children[operand]];
  return child->is_var ? draws->env.vars[child->var].tensor
                       : draws->classes[term->children[operand]];
}

static inline bool eg_verify_is_bound(const eg_verify_draws *draws, uint32_t var) {
  assert(var < MAX_VARS);
  return (draws->bound >> var & 1) != 0;
}

/// True when all variables that the expression needs are bound.
static inline bool eg_verify_can_eval(const eg_verify_draws *draws, uint32_t expr) {
  return (draws->hints.needs[expr] & ~draws->bound) == 0;
}

// ---- instance_walk.c ------------------------------------------------------------------

/// Creates a new e-graph after a number of draws, to keep it small.
egraph_status eg_verify_renew_egraph(eg_verify_draws *draws);
/// Adds leaves and nodes of a complete left side to the e-graph; variables and terms then
/// refer to classes of the e-graph.
egraph_status eg_verify_add_left(eg_verify_draws *draws);
/// Binds the rule's unbound variables in attributes of a term to the attributes' values.
void eg_verify_bind_slots(eg_verify_draws *draws, const eg_rule_term *term,
                          const eg_attr *slots);
/// Evaluates the values of `let` as far as their variables are bound. Returns false when
/// one of the expressions has no value; its value from an earlier try is then removed.
bool eg_verify_bind_lets(eg_verify_draws *draws);
/// Binds a tensor variable to its drawn tensor (leaf) again after a change of the leaf.
void eg_verify_bind_leaf(eg_verify_draws *draws, uint32_t var);

// ---- operands that are drawn together (instance_layers.c) -----------------------------

/// True when the operands of the term are drawn together because few random shapes fit
/// its operator (a "layer").
bool eg_is_layer(const eg_rule *rule, const eg_rule_term *term);
/// Finds the attribute slot of the equation when the term is an einsum. Returns false
/// when the rule computes the equation, which then has no value yet.
bool eg_equation_slot(const eg_rule_term *term, uint16_t *out);

/// Draws operands and equations of all terms with eg_is_layer before any is chosen.
void eg_verify_draw_layers(eg_verify_draws *draws);
/// Draws the other operands of a term (eg_is_layer) again when its chosen first operand,
/// or its equation, differs from the drawn one.
void eg_verify_follow_first(eg_verify_draws *draws, const eg_rule_term *term);
/// Sets the equation that was drawn for an einsum, if the rule leaves the equation open.
void eg_verify_set_equation(eg_verify_draws *draws, const eg_rule_term *term);
/// Returns the type that was drawn for a fresh operand; sometimes NULL, and the operand
/// is then chosen at random.
const eg_type *eg_verify_operand_of_layer(eg_verify_draws *draws, uint32_t var);

// ---- instance_steer.c, instance_repair.c ----------------------------------------------

/// Returns a rank of the first operand for which the axis of the class `aim` exists, or 0
/// when any rank will do.
uint32_t eg_verify_axis_rank(eg_verify_draws *draws);

/// Steers the random choice of a term to the class `aim`, and ends the steering of the
/// term before it.
void eg_verify_steer(eg_verify_draws *draws, uint32_t term);
eg_special eg_verify_special_of(const eg_instance_aim *aim);
/// True when the instance's rule binds a constant of the kind (infinite, extreme, ...).
bool eg_verify_has_special(const eg_verify_instance *instance, eg_special kind);
/// Counts a failed try at a term if the try was for an instance of the class `aim`.
void eg_verify_note_obstacle(eg_verify_draws *draws, uint32_t term);

/// Changes attributes and leaves (drawn tensors) of this term until the conditions that
/// can be decided hold, when they can be solved for one attribute or one leaf. Variables
/// in `bound` do not change.
void eg_verify_repair(eg_verify_draws *draws, const eg_rule_term *term, uint64_t bound);

#endif
