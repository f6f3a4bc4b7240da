// What the rows of instance_classes.def test, for instance_classes.c and the files of
// tests.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_INSTANCE_TESTS_H
#define EG_REWRITES_INSTANCE_TESTS_H

#include "rewrites/lab/instances/instance_aims.h"

/// `holds` tells whether a value is in the class; `put` changes one until it is, or
/// leaves it where the operand has no room for that.
typedef struct eg_class_test {
  bool (*holds)(const eg_instance_class *row, const eg_instance_node *node,
                const eg_attr *attr);
  void (*put)(const eg_instance_class *row, eg_verify_choice *choice, eg_attr *attr);
} eg_class_test;

struct eg_instance_class {
  const char *words;
  eg_instance_subject subject;
  const char *attr;
  eg_op op; // EG_OP_COUNT: any
  const eg_class_test *test;
  double low, high;
  bool is_flag; // one of the two numbers of a flag
};

bool eg_is_between(const eg_instance_class *row, double value);
int64_t eg_whole_between(const eg_instance_class *row, eg_verify_choice *choice);
/// A copy of a list that may be changed.
int64_t *eg_own_list(eg_verify_choice *choice, eg_attr *attr);

// ---- instance_shapes.c --------------------------------------------------------------

extern const eg_class_test eg_test_SAME_SIZES, eg_test_SIZES, eg_test_MORE_DIMS,
    eg_test_SCALES, eg_test_ROUNDED_SIZE, eg_test_EQUAL, eg_test_DIFFERENT, eg_test_PRIME;
/// Dimensions that have one of the sizes.
void eg_prepare_rounded_size(eg_verify_choice *choice);

// ---- instance_axes.c ----------------------------------------------------------------

extern const eg_class_test eg_test_PERMUTATION, eg_test_AXES, eg_test_EMPTY_AXES;

// ---- instance_texts.c -----------------------------------------------------------

/// An equation is drawn with the operands of its term, none is changed.
extern const eg_class_test eg_test_EQUATION, eg_test_ACTIVATIONS,
    eg_test_ACTIVATION_NUMBERS;

#endif
