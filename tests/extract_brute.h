// Exhaustive search for small extraction problems: classes that are needed and undecided,
// one after the other. State is small enough for plain recursion over a few levels.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_EXTRACT_BRUTE_H
#define EG_TESTS_EXTRACT_BRUTE_H

#include <math.h>
#include <stdbool.h>

#include "extract/problem.h"

enum { BRUTE_CLASSES = 32 };

typedef struct brute {
  const eg_extract_problem *problem;
  uint32_t choice[BRUTE_CLASSES];
  uint32_t needed;   // bit set
  bool has_negative; // costs: then a dear start may still end cheap
  double best;
} brute;

static inline bool brute_is_acyclic(const brute *b) {
  uint32_t done = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t class = 0; class < b->problem->class_count; class ++) {
      if (!((b->needed >> class) & 1) || ((done >> class) & 1)) continue;
      uint32_t node = b->choice[class];
      bool ready = true;
      for (uint32_t i = b->problem->child_begin.data[node];
           i < b->problem->child_begin.data[node + 1]; i++)
        ready = ready && ((done >> b->problem->children.data[i]) & 1);
      if (!ready) continue;
      done |= 1u << class;
      moved = true;
    }
  }
  return done == b->needed;
}

static inline void brute_enumerate(brute *b, uint32_t decided, double cost) {
  if (cost >= b->best && !b->has_negative) return;
  uint32_t open = b->needed & ~decided;
  if (open == 0) {
    if (cost < b->best && brute_is_acyclic(b)) b->best = cost;
    return;
  }
  uint32_t class = 0;
  while (!((open >> class) & 1))
    class ++;
  uint32_t needed = b->needed;
  for (uint32_t n = 0; n < b->problem->node_class.len; n++) {
    if (b->problem->node_class.data[n] != class) continue;
    b->choice[class] = n;
    for (uint32_t i = b->problem->child_begin.data[n];
         i < b->problem->child_begin.data[n + 1]; i++)
      b->needed |= 1u << b->problem->children.data[i];
    brute_enumerate(b, decided | (1u << class), cost + b->problem->cost.data[n]);
    b->needed = needed;
  }
}

/// Cost of the cheapest acyclic choice, INFINITY when there is none. At most
/// BRUTE_CLASSES classes.
static inline double brute_force(const eg_extract_problem *problem) {
  brute b = {.problem = problem, .best = INFINITY};
  for (size_t n = 0; n < problem->cost.len; n++)
    b.has_negative = b.has_negative || problem->cost.data[n] < 0;
  for (size_t i = 0; i < problem->roots.len; i++)
    b.needed |= 1u << problem->roots.data[i];
  brute_enumerate(&b, 0, 0);
  return b.best;
}

#endif
