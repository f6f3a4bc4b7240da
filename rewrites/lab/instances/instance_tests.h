// Tests for the rows of instance_classes.def. Each test recognizes nodes of a class and
// can change a random choice of a node so that it is in the class.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_INSTANCE_TESTS_H
#define EG_REWRITES_INSTANCE_TESTS_H

#include "rewrites/lab/instances/instance_aims.h"

typedef struct eg_class_test {
  /// True when the attribute makes the node a member of the class of instances. For
  /// operands, `attr` is NULL; for a tensor variable, `attr` is its dimensions and `node`
  /// is NULL.
  bool (*holds)(const eg_instance_class *row, const eg_instance_node *node,
                const eg_attr *attr);
  /// Changes an attribute so that the node is in the class of instances; does nothing
  /// when the operand is too small. NULL: attributes are drawn with the operands of
  /// their term.
  void (*put)(const eg_instance_class *row, eg_verify_choice *choice, eg_attr *attr);
  /// Prepares a random choice before operands are drawn. NULL: nothing to prepare.
  void (*prepare)(const eg_instance_class *row, eg_verify_choice *choice);
  /// Changes an operand so that the operands together are in the class. Only for classes
  /// of operands.
  void (*fit)(const eg_instance_class *row, eg_verify_choice *choice, uint32_t operand);
} eg_class_test;

struct eg_instance_class {
  const char *words;
  eg_instance_subject subject;
  const char *attr;
  eg_op op; // EG_OP_COUNT: any
  const eg_class_test *test;
  double low, high;
  bool is_flag; // true for the two numbers of a flag
};

// Heads of the functions of a test; few of these functions read all parameters.
#define EG_CLASS_HOLDS(name)                                                             \
  static bool name(EG_MAYBE_UNUSED const eg_instance_class *row,                         \
                   EG_MAYBE_UNUSED const eg_instance_node *node,                         \
                   EG_MAYBE_UNUSED const eg_attr *attr)
#define EG_CLASS_PUT(name)                                                               \
  static void name(EG_MAYBE_UNUSED const eg_instance_class *row,                         \
                   eg_verify_choice *choice, eg_attr *attr)
#define EG_CLASS_PREPARE(name)                                                           \
  static void name(EG_MAYBE_UNUSED const eg_instance_class *row, eg_verify_choice *choice)
#define EG_CLASS_FIT(name)                                                               \
  static void name(EG_MAYBE_UNUSED const eg_instance_class *row,                         \
                   eg_verify_choice *choice, uint32_t operand)

// ---- numbers, lists, windows and texts (instance_lists.c) ----------------------------

bool eg_is_between(const eg_instance_class *row, double value);
/// Draws a whole number from row->low to row->high.
int64_t eg_whole_between(const eg_instance_class *row, eg_verify_choice *choice);
/// Replaces a list attribute by a copy that may be changed, and returns the copy.
int64_t *eg_own_list(eg_verify_choice *choice, eg_attr *attr);
/// True when the weight of the operator determines its window.
bool eg_has_weight_window(eg_op op);

extern const eg_class_test eg_test_NUMBER, eg_test_ALL, eg_test_SOME, eg_test_LENGTH,
    eg_test_BESIDE_KERNEL, eg_test_BESIDE_IMAGE, eg_test_UNEVEN, eg_test_GROUP,
    eg_test_EQUATION, eg_test_ACTIVATIONS, eg_test_ACTIVATION_NUMBERS;

// ---- shapes and operands that broadcast (instance_shapes.c) ---------------------------

/// Makes a random choice prefer the dimensions 0 and 2.
void eg_prepare_empty(const eg_instance_class *row, eg_verify_choice *choice);

extern const eg_class_test eg_test_SAME_SIZES, eg_test_SIZES, eg_test_MORE_DIMS,
    eg_test_SCALES, eg_test_ROUNDED_SIZE, eg_test_EQUAL, eg_test_DIFFERENT, eg_test_PRIME,
    eg_test_ONE_SHAPE, eg_test_STRETCHED, eg_test_STRETCHED_BATCH, eg_test_NO_SUM;

// ---- permutations and axes (instance_axes.c) ------------------------------------------

// The kinds of permutations. "Cycles" are permutations that differ from their inverses.
typedef enum eg_perm_kind {
  EG_PERM_NONE,
  EG_PERM_SWAP, // is its own inverse
  EG_PERM_CYCLE,
  EG_PERM_ADJACENT, // exchanges two neighbours
  EG_PERM_ROTATION,
  EG_PERM_REVERSAL,
  EG_PERM_SWAPS, // exchanges several pairs
  EG_PERM_FIRST_KEPT,
  EG_PERM_LAST_KEPT,
  EG_PERM_ENDS_KEPT,
  EG_PERM_ALL_MOVED
} eg_perm_kind;

typedef enum eg_axis_kind {
  EG_AXIS_FIRST,
  EG_AXIS_LAST,
  EG_AXIS_BETWEEN,
  EG_AXES_ADJACENT, // several neighbouring axes
  EG_AXES_APART
} eg_axis_kind;

extern const eg_class_test eg_test_PERMUTATION, eg_test_AXES, eg_test_EMPTY_AXES;

#endif
