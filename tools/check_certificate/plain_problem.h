// The problem of a plain certificate: an e-graph in egraph-serialize JSON. Nodes count
// from 0 in the order of the file, classes in the order in which nodes first name them.
// SPDX-License-Identifier: Apache-2.0
#ifndef CHECK_PLAIN_PROBLEM_H
#define CHECK_PLAIN_PROBLEM_H

#include "tools/check_certificate/input.h"

/// The problem. The children of node n are child[child_begin[n] .. child_begin[n + 1]);
/// the arrays of a class's members and users have the same form. A node that contains a
/// class twice among its children is twice in the users of that class.
typedef struct plain_problem {
  uint32_t nodes, classes, roots, roots_left_out;
  double *cost;
  uint32_t *class_of, *child_begin, *child;
  uint32_t *member_begin, *member, *user_begin, *user;
  uint32_t *root; // distinct
} plain_problem;

/// Reads the text of `in`, which is changed; arrays live until `in` is closed. Roots
/// whose class has no node are skipped and counted. False: a reason was noted.
bool plain_problem_read(input *in, plain_problem *out);

#endif
