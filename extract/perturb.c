// A greedy walk over- or under-estimates sharing. Three bends of the costs, in turn:
// divide the cost of a node by the number of users its class has in the best solution
// (what a user would pay if they shared evenly); make the nodes of the best solution
// cheap, so that others join them; and random noise on top of both.
// SPDX-License-Identifier: Apache-2.0
#include "extract/perturb.h"

#include <math.h>

#include "base/owner.h"

// Above this size one round takes as long as a sweep of local search (recover.h), which
// gains a hundred times more there.
enum { MAX_NODES = 100000 };

typedef struct bend {
  const eg_greedy *greedy;
  eg_incumbent *incumbent;
  eg_rng rng;
  eg_u32s uses;    // [class] in the best solution
  eg_doubles cost; // [node]
  eg_u32s choice;  // [class]
} bend;
EG_OWNER_DEFINE_STATIC(bend, (eg_u32s, uses, choice), (eg_doubles, cost))

static void count_uses(bend *b) {
  const eg_extract_problem *problem = b->greedy->problem;
  if (b->uses.len != 0) memset(b->uses.data, 0, b->uses.len * sizeof(uint32_t));
  for (uint32_t class = 0; class < problem->class_count; class ++) {
    uint32_t node = b->incumbent->choice.data[class];
    if (node == EG_EXTRACT_NONE) continue;
    EG_EACH_CHILD(problem, node, child) { b->uses.data[child]++; }
  }
}

static void bend_costs(bend *b, uint32_t round) {
  const eg_extract_problem *problem = b->greedy->problem;
  double noise = round < 3 ? 0.0 : 0.05 * (double)(1 + round % 8);
  for (uint32_t n = 0; n < problem->node_class.len; n++) {
    uint32_t class = problem->node_class.data[n];
    double cost = problem->cost.data[n];
    if (round % 3 != 1 && b->uses.data[class] > 1) cost /= (double)b->uses.data[class];
    if (round % 3 != 0 && b->incumbent->choice.data[class] == n) cost *= 0.25;
    b->cost.data[n] = cost * (1 + noise * (eg_rng_unit(&b->rng) - 0.5));
  }
}

static egraph_status bend_all(bend *b, uint32_t rounds) {
  const eg_extract_problem *problem = b->greedy->problem;
  if (problem->node_class.len > MAX_NODES) return EGRAPH_OK;
  EG_TRY(eg_u32s_resize(&b->uses, problem->class_count));
  EG_TRY(eg_doubles_resize(&b->cost, problem->node_class.len));
  EG_TRY(eg_u32s_resize(&b->choice, problem->class_count));
  for (uint32_t round = 0; round < rounds; round++) {
    if (!isfinite(b->incumbent->cost) || eg_incumbent_stop(b->incumbent)) break;
    count_uses(b);
    bend_costs(b, round);
    eg_incumbent_count(b->incumbent, 32 * (uint64_t)problem->node_class.len);
    EG_TRY(eg_greedy_run(b->greedy, EG_GREEDY_TREE, b->cost.data, b->choice.data));
    double cost;
    EG_TRY(eg_incumbent_offer(b->incumbent, b->choice.data, &cost));
  }
  return EGRAPH_OK;
}

egraph_status eg_perturb_run(const eg_greedy *greedy, eg_incumbent *incumbent,
                             uint32_t rounds, uint64_t seed) {
  bend b;
  bend_init(&b, greedy->alloc);
  b.greedy = greedy;
  b.incumbent = incumbent;
  b.rng = (eg_rng){seed};
  egraph_status status = bend_all(&b, rounds);
  bend_deinit(&b);
  return status;
}
