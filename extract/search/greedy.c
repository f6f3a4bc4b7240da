// Both kinds of greedy extraction settle classes cheapest first. A node becomes a
// candidate when its last child settles, and a candidate never costs less than its
// children. Therefore the first candidate of a class that leaves the heap is the best
// one: no fixpoint iteration is needed, and a chosen node only has children that settled
// earlier.
//
// DAG cost is summed over the union of the children's closures, kept as bit rows. The
// usual fixpoint version (extraction-gym's faster-greedy-dag) can return a cyclic choice,
// because a class may change its choice after a user has copied its closure; this order
// cannot.
// SPDX-License-Identifier: Apache-2.0
#include "extract/search/greedy.h"

#include <math.h>

#include "base/clock.h"
#include "base/owner.h"
#include "extract/containers.h"

typedef struct run {
  const eg_greedy *greedy;
  eg_greedy_kind kind;
  const double *cost;
  uint32_t *choice;
  eg_u32s waiting;   // [node] children that have not settled
  eg_doubles best;   // [class] cost of the best candidate so far
  eg_bytes settled;  // [class]
  eg_cost_heap heap; // candidates (nodes)
  eg_words closure;  // [class][words], DAG only
  eg_words scratch;  // [words]
  size_t words;
  double deadline;
  bool late;
} run;
EG_OWNER_DEFINE_STATIC(run, (eg_u32s, waiting), (eg_doubles, best), (eg_bytes, settled),
                       (eg_cost_heap, heap), (eg_words, closure, scratch))

static double cost_of(const run *r, uint32_t node) {
  double cost = r->cost[node];
  return cost > 0 ? cost : 0;
}

static uint64_t *closure_of(const run *r, uint32_t class) {
  return r->closure.data + (size_t) class * r->words;
}

/// Adds the bits of `from` to `to`; returns the cost of the bits that were missing.
static double unite_closures(const run *r, uint64_t *to, const uint64_t *from) {
  double added = 0;
  for (size_t w = 0; w < r->words; w++) {
    uint64_t fresh = from[w] & ~to[w];
    to[w] |= fresh;
    for (; fresh != 0; fresh &= fresh - 1) {
      uint32_t class = (uint32_t)(w * 64) + eg_bits_lowest(fresh);
      added += cost_of(r, r->choice[class]);
    }
  }
  return added;
}

/// Returns the cost of `node` with the closures of its settled children; leaves their
/// union in scratch.
static double dag_cost(run *r, uint32_t node) {
  const eg_extract_problem *problem = r->greedy->problem;
  uint32_t first = problem->child_begin.data[node];
  uint32_t last = problem->child_begin.data[node + 1];
  double sum = cost_of(r, node);
  if (first == last) {
    memset(r->scratch.data, 0, r->words * sizeof(uint64_t));
    return sum;
  }
  uint32_t start = problem->children.data[first];
  for (uint32_t i = first + 1; i < last; i++)
    if (r->best.data[problem->children.data[i]] > r->best.data[start])
      start = problem->children.data[i];
  memcpy(r->scratch.data, closure_of(r, start), r->words * sizeof(uint64_t));
  sum += r->best.data[start];
  for (uint32_t i = first; i < last; i++)
    if (problem->children.data[i] != start)
      sum += unite_closures(r, r->scratch.data, closure_of(r, problem->children.data[i]));
  return sum;
}

static double tree_cost(const run *r, uint32_t node) {
  const eg_extract_problem *problem = r->greedy->problem;
  double sum = cost_of(r, node);
  EG_EACH_CHILD(problem, node, child) { sum += r->best.data[child]; }
  return sum;
}

static egraph_status consider(run *r, uint32_t node) {
  assert(r->waiting.data[node] == 0);
  uint32_t class = r->greedy->problem->node_class.data[node];
  if (r->settled.data[class]) return EGRAPH_OK;
  double cost = r->kind == EG_GREEDY_TREE ? tree_cost(r, node) : dag_cost(r, node);
  bool first = r->choice[class] == EG_EXTRACT_NONE;
  if (!first && !(cost < r->best.data[class])) return EGRAPH_OK;
  r->best.data[class] = cost;
  r->choice[class] = node;
  return eg_cost_heap_add(&r->heap, cost, node);
}

static egraph_status settle_class(run *r, uint32_t node) {
  assert(r->choice[r->greedy->problem->node_class.data[node]] == node);
  const eg_class_index *index = r->greedy->index;
  uint32_t class = r->greedy->problem->node_class.data[node];
  if (r->settled.data[class]) return EGRAPH_OK;
  r->settled.data[class] = 1;
  if (r->kind == EG_GREEDY_DAG) {
    (void)dag_cost(r, node);
    memcpy(closure_of(r, class), r->scratch.data, r->words * sizeof(uint64_t));
    eg_bits_put(closure_of(r, class), class);
  }
  EG_EACH_USER(index, class, user) {
    if (--r->waiting.data[user] == 0) EG_TRY(consider(r, user));
  }
  return EGRAPH_OK;
}

bool eg_greedy_fits(const eg_greedy *greedy) {
  size_t words = eg_bits_words(greedy->problem->class_count);
  size_t limit = greedy->dag_memory_bytes / sizeof(uint64_t);
  return words == 0 || greedy->problem->class_count <= limit / words;
}

static egraph_status prepare_run(run *r) {
  assert(r->greedy->index->is_root.len == r->greedy->problem->class_count);
  const eg_extract_problem *problem = r->greedy->problem;
  uint32_t nodes = eg_extract_node_count(problem);
  r->words = eg_bits_words(problem->class_count);
  if (!eg_greedy_fits(r->greedy)) r->kind = EG_GREEDY_TREE;
  EG_TRY(eg_u32s_resize(&r->waiting, nodes));
  EG_TRY(eg_doubles_resize(&r->best, problem->class_count));
  EG_TRY(eg_bytes_resize(&r->settled, problem->class_count));
  if (r->kind == EG_GREEDY_DAG) {
    EG_TRY(eg_words_resize(&r->scratch, r->words));
    EG_TRY(eg_words_resize(&r->closure, r->words * problem->class_count));
  }
  for (uint32_t class = 0; class < problem->class_count; class ++)
    r->choice[class] = EG_EXTRACT_NONE;
  for (uint32_t n = 0; n < nodes; n++)
    r->waiting.data[n] = problem->child_begin.data[n + 1] - problem->child_begin.data[n];
  return EGRAPH_OK;
}

/// True when the deadline has passed; reads the clock only sometimes.
static bool run_is_late(run *r, uint32_t step) {
  uint32_t ask_every = r->kind == EG_GREEDY_DAG ? 64 : 4096;
  if (step % ask_every == 0 && isfinite(r->deadline))
    r->late = eg_clock_seconds() > r->deadline;
  return r->late;
}

static egraph_status run_one_kind(const eg_greedy *greedy, eg_greedy_kind kind,
                                  const double *cost, double deadline, uint32_t *choice,
                                  bool *out_late) {
  EG_LOCAL_WITH(run, r, greedy->alloc, .greedy = greedy, .kind = kind, .cost = cost,
                .choice = choice, .deadline = deadline);
  EG_TRY(prepare_run(&r));
  for (uint32_t n = 0; n < r.waiting.len; n++)
    if (r.waiting.data[n] == 0) EG_TRY(consider(&r, n));
  for (uint32_t step = 0; r.heap.len != 0 && !run_is_late(&r, step); step++) {
    uint32_t node = eg_cost_heap_take(&r.heap).item;
    if (choice[greedy->problem->node_class.data[node]] == node)
      EG_TRY(settle_class(&r, node));
  }
  *out_late = r.late;
  return EGRAPH_OK;
}

egraph_status eg_greedy_run_until(const eg_greedy *greedy, eg_greedy_kind kind,
                                  const double *cost, double deadline, uint32_t *choice) {
  bool late;
  if (kind == EG_GREEDY_TREE || !eg_greedy_fits(greedy)) deadline = INFINITY;
  EG_TRY(run_one_kind(greedy, kind, cost, deadline, choice, &late));
  if (!late) return EGRAPH_OK;
  return run_one_kind(greedy, EG_GREEDY_TREE, cost, INFINITY, choice, &late);
}

egraph_status eg_greedy_run_some(const eg_greedy *greedy, const double *cost,
                                 double deadline, uint32_t *choice) {
  bool late;
  return run_one_kind(greedy, EG_GREEDY_TREE, cost, deadline, choice, &late);
}

egraph_status eg_greedy_run(const eg_greedy *greedy, eg_greedy_kind kind,
                            const double *cost, uint32_t *choice) {
  return eg_greedy_run_until(greedy, kind, cost, INFINITY, choice);
}

uint64_t eg_greedy_steps(const eg_greedy *greedy) {
  uint64_t edges = greedy->problem->children.len, nodes = greedy->problem->node_class.len;
  uint64_t words =
      eg_greedy_fits(greedy) ? eg_bits_words(greedy->problem->class_count) : 0;
  return 32 * (nodes + edges) + edges * words;
}
