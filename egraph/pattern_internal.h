// A compiled pattern: a straight line of steps over registers, run with backtracking.
//
//   (f ?x (g ?y))   SCAN f: r0 <- child 0, r3 <- child 1
//                   BIND g in r3: r1 <- child 0
//
// Registers: one per variable (r0 ?x, r1 ?y), then one per term for its class.
//
// Each step enumerates candidates for one term (or variable). A candidate must have
// the term's operator, arity and payload, and pass the moves: each sets a register or
// compares with it. Only the compiler (pattern.c) and the matcher (matcher.c) use
// this header.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EGRAPH_PATTERN_INTERNAL_H
#define EG_EGRAPH_PATTERN_INTERNAL_H

#include "egraph/pattern.h"

typedef enum eg_step_kind {
  EG_STEP_SCAN, // nodes of the term's operator
  EG_STEP_BIND, // nodes of class `source`
  // Candidates of the step are the nodes that have class `source` as the child at
  // `position`: a join through the parents lists.
  EG_STEP_RISE,
  // The only candidate of the step is the node with this head and these known children: a
  // hash-cons lookup.
  EG_STEP_LOOKUP,
  EG_STEP_CLASSES // every class, into register `source`
} eg_step_kind;

typedef struct eg_step {
  eg_step_kind kind;
  uint32_t term;
  uint32_t source, position;
  bool is_class_known; // the term's register is compared, not set
  // In a search for matches with a fresh node, the candidate must not be fresh: another
  // plan finds those matches.
  bool must_be_old;
  uint32_t first_move, move_count;
  uint32_t order; // among the steps that match a term
} eg_step;

typedef struct eg_move {
  uint32_t position, reg;
  bool is_known; // compare; otherwise set
} eg_move;

/// One order in which the terms of a pattern are matched.
typedef struct eg_match_plan {
  eg_step *steps;
  uint32_t step_count;
  uint32_t entry; // the first step that is no lookup (step_count: there is none)
  eg_move *moves;
  uint32_t move_count;
} eg_match_plan;

/// Plan 0 enters at the best term of the pattern, plan 1 + k at the k-th NODE term. Each
/// plan finds all matches. If each plan 1 + k enters at fresh nodes only and skips
/// matches whose earlier terms are fresh, together they find each fresh match once.
struct eg_matcher {
  egraph_allocator alloc;
  eg_arena arena; // all below
  eg_pattern pattern;
  uint32_t *registers; // [term]
  bool *is_reachable;  // [term]
  bool has_guard;
  uint32_t register_count, max_arity, max_steps;
  eg_match_plan *plans;
  uint32_t plan_count; // 1: the pattern has too many terms for plans 1 + k
  uint32_t *order;     // term of each step of plan 0 that matches one
  uint32_t order_count;
};

#endif
