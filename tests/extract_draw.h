// Random extraction problems in which few classes are open at a time.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_EXTRACT_DRAW_H
#define EG_TESTS_EXTRACT_DRAW_H

#include "extract/problem.h"
#include "tests/testing.h"

/// Children are of the `reach` classes below; `up` of 16 are any.
static inline void draw_narrow(eg_rng *rng, uint32_t classes, uint32_t reach, uint32_t up,
                               eg_extract_problem *out) {
  assert_ok(eg_extract_problem_init(out, eg_allocator_heap()));
  eg_extract_problem_clear(out, classes);
  for (uint32_t class = 0; class < classes; class ++)
    for (uint64_t m = 1 + eg_rng_below(rng, 3); m > 0; m--) {
      uint32_t children[3], count = class == 0 ? 0 : (uint32_t)eg_rng_below(rng, 4);
      for (uint32_t i = 0; i < count; i++) {
        uint32_t least = class > reach ? class - reach : 0;
        children[i] = least + (uint32_t)eg_rng_below(rng, class - least);
        if (eg_rng_below(rng, 16) < up)
          children[i] = (uint32_t)eg_rng_below(rng, classes);
      }
      assert_ok(eg_extract_problem_add_node(out, class, (double)eg_rng_below(rng, 9),
                                            children, count, NULL));
    }
  for (uint32_t i = 0; i < 2 && i < classes; i++)
    assert_ok(eg_extract_problem_add_root(out, classes - 1 - i));
}

#endif
