// One walk that draws an instance, for instance_*.c.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_INSTANCE_DRAW_INTERNAL_H
#define EG_REWRITES_INSTANCE_DRAW_INTERNAL_H

#include <assert.h>

#include "rewrites/lab/instances/instance_draw.h"

// Hints that the conditions of a rule give about its variables, so that draws are likely
// to satisfy them. Only conditions that must all hold are read; alternatives (or) are
// left to chance.

// MAX_VARS: bits of a word. EG_VERIFY_SPLAT_ELEMENTS: their data are written out.
enum { MAX_VARS = 64, MAX_SIZES = 8, EG_VERIFY_SPLAT_ELEMENTS = 1 << 16 };

typedef enum wish_state { WISH_MAYBE, WISH_YES, WISH_NO } wish_state;

typedef struct var_hint {
  wish_state weight, splat;
  uint32_t splat_value;        // expression, or EG_RULE_NONE
  uint32_t equals;             // expression that a value variable must equal, or NONE
  uint32_t min_rank, max_rank; // of a class variable
  uint32_t like; // class variable at the same place of the first part, or NONE
  // The term of an operator whose operands are drawn together, and which operand of it is
  // computed from the variable element by element; or NONE.
  uint32_t layer, layer_operand;
} var_hint;

typedef struct rule_hints {
  var_hint *vars;           // [rule->var_count]
  uint64_t *needs;          // variables that an expression needs, by expression
  uint64_t *bound;          // variables bound once a term is done, by pattern term
  int64_t sizes[MAX_SIZES]; // dimensions that the rule may ask for
  uint32_t size_count;
  double numbers[MAX_SIZES]; // that splats may be compared with
  uint32_t number_count;
  bool has_parts;            // a concatenation of computed operands
  bool has_layers;           // some variable has a `layer`
  uint32_t rank;             // that conditions ask for, where it is seldom; 0: any
  uint32_t dtypes;           // bits of the element types that are left
  uint32_t named_dtypes;     // bits of those that the rule compares with
  uint32_t *condition_terms; // first pattern term after which a condition can be decided
} rule_hints;

/// Memory comes from the arena. Fails with EGRAPH_E_UNSUPPORTED beyond MAX_VARS.
egraph_status eg_verify_read_hints(const eg_rule *rule, eg_arena *arena, rule_hints *out);

struct eg_verify_draws {
  egraph_allocator alloc;
  const eg_rule *rule;
  eg_rng rng;
  eg_arena arena;
  rule_hints hints;
  eg_graph *graph;
  eg_tensor_egraph *egraph;
  uint32_t age; // draws since the e-graph was begun
  eg_rule_env env;
  eg_rule_tensors tensors; // of a walk: numbers of facts, by variable, then by term
  eg_tensor_fact *facts;
  eg_rule_builder builder;
  eg_verify_choice choice;
  eg_verify_lists lists;
  eg_verify_leaf *leaves;
  eg_type *layers; // EG_VERIFY_MAX_OPERANDS for each pattern term
  // Equations of einsums by pattern term, and room for drawn ones.
  const char **equations;
  char (*drawn_equations)[EG_EQUATION_BYTES];
  const eg_attrs **attrs; // by pattern term
  eg_class *classes;      // by pattern term; tensors while the walk lasts
  uint64_t bound;         // variables
  uint64_t repaired; // leaves of the current term whose types conditions have changed
  egraph_dtype dtype;
  int64_t preferred_dim; // or 0
  const eg_instance_aim *aim;
  uint32_t refused; // condition by which the last try failed, or EG_RULE_NONE
  // Tries in the class of the aim that failed: by condition, and by term of ill-typed
  // ones.
  uint32_t *refusals, *ill_typed;
};

// ---- the state of a walk --------------------------------------------------------------

/// Tensors of a walk are numbered: variables, then terms.
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

/// Begins a new e-graph after some draws, which keeps it small.
egraph_status eg_verify_renew_egraph(eg_verify_draws *draws);
/// Adds leaves and nodes of a complete left side to the e-graph; variables and terms then
/// name classes of the e-graph.
egraph_status eg_verify_add_left(eg_verify_draws *draws);
/// Binds the variables of attributes that are not bound yet.
void eg_verify_bind_slots(eg_verify_draws *draws, const eg_rule_term *term,
                          const eg_attr *slots);
/// Evaluates the values that conditions name, as far as variables are bound. False: one
/// has no value, and its value of an earlier try is gone.
bool eg_verify_bind_lets(eg_verify_draws *draws);
/// Binds a variable to its leaf, which has changed.
void eg_verify_bind_leaf(eg_verify_draws *draws, uint32_t var);

// ---- operands that are drawn together (instance_layers.c) -----------------------------

/// True when operands of the term are drawn together: few drawn shapes fit its operator.
bool eg_is_layer(const eg_rule *rule, const eg_rule_term *term);
/// The slot of the equation, of an einsum; what a rule computes has no equation yet.
bool eg_equation_slot(const eg_rule_term *term, uint16_t *out);

/// Operands and equations of all layers, before any of them is chosen.
void eg_verify_draw_layers(eg_verify_draws *draws);
/// Operands that are not chosen yet go with a first one, or an equation, that came out
/// otherwise.
void eg_verify_follow_first(eg_verify_draws *draws, const eg_rule_term *term);
/// Sets the equation that was drawn for an einsum, if the term has one that is open.
void eg_verify_set_equation(eg_verify_draws *draws, const eg_rule_term *term);
/// The type that was drawn for a fresh variable; sometimes NULL, which leaves the operand
/// to chance.
const eg_type *eg_verify_operand_of_layer(eg_verify_draws *draws, uint32_t var);

// ---- instance_steer.c, instance_repair.c ----------------------------------------------

/// The rank of a first operand that has the axis of the class that is aimed at, or 0:
/// any.
uint32_t eg_verify_axis_rank(eg_verify_draws *draws);

/// Prepares the choice of a term for the class that is aimed at; nothing of the last term
/// steers it.
void eg_verify_steer(eg_verify_draws *draws, uint32_t term);
eg_special eg_verify_special_of(const eg_instance_aim *aim);
/// True when some constant that the rule binds is of the kind.
bool eg_verify_has_special(const eg_verify_instance *instance, eg_special kind);
/// A try that failed says something of its class if it was in it.
void eg_verify_note_obstacle(eg_verify_draws *draws, uint32_t term);

/// Changes what this term has chosen until the conditions that can be decided hold, where
/// they can be solved for one attribute or one leaf. What is bound before `bound` stays.
void eg_verify_repair(eg_verify_draws *draws, const eg_rule_term *term, uint64_t bound);

#endif
