// Chooses what is missing in a node of a random instance: attributes and operand types
// that probably fit each other and those already chosen. They may still not fit; type
// inference decides.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_VERIFY_CHOOSE_H
#define EG_REWRITES_VERIFY_CHOOSE_H

#include "base/hash.h"
#include "rewrites/saturation/rule_build.h"

enum { EG_VERIFY_INTS = 1 << 12, EG_VERIFY_FLOATS = 1 << 9, EG_VERIFY_MAX_OPERANDS = 64 };

/// Memory for the attribute lists of one random instance.
typedef struct eg_verify_lists {
  int64_t ints[EG_VERIFY_INTS];
  double floats[EG_VERIFY_FLOATS];
  uint32_t used, used_floats;
} eg_verify_lists;

/// Kinds of constants that get tests of their own: infinities and NaN; the largest and
/// smallest numbers of a type.
typedef enum eg_special {
  EG_SPECIAL_NONE,
  EG_SPECIAL_NOT_FINITE,
  EG_SPECIAL_EXTREME
} eg_special;

/// A node whose attributes and types are being chosen. The caller gives the members whose
/// `*_set` flag is true; eg_verify_choose fills in the others.
typedef struct eg_verify_choice {
  eg_rng *rng;
  eg_verify_lists *lists;
  eg_op op;
  const eg_op_info *info;
  egraph_dtype dtype;   // element type of fresh operands
  const eg_type *model; // a fresh operand 0 may look like this one; may be NULL
  eg_attr slots[EG_RULE_MAX_ATTRS];
  bool slot_set[EG_RULE_MAX_ATTRS];
  uint32_t count; // number of operands, at most EG_VERIFY_MAX_OPERANDS
  eg_type types[EG_VERIFY_MAX_OPERANDS];
  bool type_set[EG_VERIFY_MAX_OPERANDS];
  uint32_t min_rank[EG_VERIFY_MAX_OPERANDS],
      max_rank[EG_VERIFY_MAX_OPERANDS]; // largest rank of fresh operands
  // `like`: for a fresh operand of a concatenation, another operand of it (or NULL).
  // These operands may differ in one common dimension, counted from the last.
  const eg_type *like[EG_VERIFY_MAX_OPERANDS];
  const eg_type *wanted[EG_VERIFY_MAX_OPERANDS]; // type of a fresh operand, or NULL: any
  uint32_t part_axis;
  int64_t part_size;    // 0: the same
  bool are_parts_alike; // operands of a concatenation have one size
  // The class of instances that this node should be in; zeros mean no class.
  const struct eg_instance_aim *aim; // aim for this term, or NULL
  // Sets an attribute to a value of the class `aim`; called before and after operand 0
  // is chosen.
  void (*put)(const struct eg_instance_aim *aim, struct eg_verify_choice *choice);
  // Changes a chosen operand so that it is in the class fit_aim[operand].
  void (*fit)(const struct eg_instance_aim *aim, struct eg_verify_choice *choice,
              uint32_t operand);
  const struct eg_instance_aim *fit_aim[EG_VERIFY_MAX_OPERANDS];
  bool is_dtype_aimed; // operands have `dtype`, whatever types the operator takes
  bool is_roomy;       // images have room for wide windows
  bool is_window;      // other attributes of windows seldom have plain values
  bool is_grouped;     // channels have divisors
  bool is_between;     // numbers lie between `whole` and the next whole number
  eg_special special;  // kind of constants that half of the numbers have
  double whole;
  int64_t dims[8]; // half of the dimensions are taken from these
  uint32_t dim_count;
  uint32_t rank;    // rank of fresh operands, when they may have it; 0: any
  int64_t same_dim; // size of all dimensions of a fresh operand 0; 0: any
  int64_t channels; // channels of an image; 0: any
  int64_t few;      // number of filters and indices, which is small; 0: any small number
  int64_t kernel[EGRAPH_MAX_RANK]; // kernel sizes of a fresh weight; 0: any
  const char *equation;            // equation of einsum operands that are drawn together
  int64_t step, start; // 0: any step. start < 0: from 0 on, start > 0: after 0
} eg_verify_choice;

/// Chooses every attribute (slot) and operand type of the node that is not set.
void eg_verify_choose(eg_verify_choice *choice);

// ---- a choice under way (instance_choice.c) -------------------------------------------

uint32_t eg_verify_below(eg_verify_choice *choice, uint32_t bound);
bool eg_verify_chance(eg_verify_choice *choice, uint32_t percent);
/// Draws a dimension from 1 to 6, small dimensions more often, unless the choice prefers
/// other dimensions.
int64_t eg_verify_dim(eg_verify_choice *choice);
/// Returns memory for a list attribute. When the memory is used up, returns the memory of
/// the last list again; type inference then rejects the node.
int64_t *eg_verify_list(eg_verify_choice *choice, uint32_t count);
double *eg_verify_floats(eg_verify_choice *choice, uint32_t count);
/// Returns the attribute (slot) with this name. eg_verify_known returns NULL when the
/// operator has no such attribute, eg_verify_missing also when it is set.
const eg_attr *eg_verify_known(const eg_verify_choice *choice, const char *name);
eg_attr *eg_verify_missing(eg_verify_choice *choice, const char *name);

// ---- attributes (instance_choose_attrs.c) ---------------------------------------------

/// Chooses the attributes of the node that are not set; operand 0 has a type.
void eg_verify_choose_attrs(eg_verify_choice *choice);
/// Returns the number of elements that an index of the node may select: elements of a
/// table along its axis, along each of its axes when tuples index it, or elements of the
/// result of a gradient.
int64_t eg_verify_entries(const eg_verify_choice *choice);
/// Chooses a value for the attribute (slot) called `name` if it exists and is not set.
void eg_verify_choose_slot(eg_verify_choice *choice, const char *name);
const char *eg_default_activations(eg_op op);
/// Returns activations of a recurrent layer: the default activations, or others.
const char *eg_activations_draw(eg_verify_choice *choice, bool is_default);
/// Draws a parameter for each activation, or no parameters; first draws the activations
/// when they are not set.
void eg_activation_numbers_draw(eg_verify_choice *choice, bool is_default, eg_attr *attr);

// ---- equations (instance_equations.c) -------------------------------------------------

enum { EG_EQUATION_BYTES = 96 };

typedef enum eg_equation_kind {
  EG_EQUATION_IN_ORDER, // the result has its letters in the order of the operands
  EG_EQUATION_SWAP,     // the result has them in an order that is its own inverse
  EG_EQUATION_CYCLE,    // the result has them in an order that is not its own inverse
  EG_EQUATION_SUM,      // sums over a letter of one operand
  EG_EQUATION_DIAGONAL, // has a letter twice in an operand
  EG_EQUATION_DOTS,
  EG_EQUATION_PRODUCTS_SUMMED, // sums over a letter of several operands
  EG_EQUATION_BATCH,           // has a letter of several operands in the result
  EG_EQUATION_OUTER // has letters that each belong to one operand in the result
} eg_equation_kind;

/// True when a well-formed einsum equation with "->" is of the kind.
bool eg_equation_is(eg_equation_kind kind, const char *equation);
/// Draws an einsum equation of `operands` operands, the first like `first` (NULL: any).
void eg_equation_draw(eg_verify_choice *choice, uint32_t operands, const eg_type *first,
                      char out[EG_EQUATION_BYTES]);

#endif
