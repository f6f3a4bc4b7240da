// Cost-based backtracking search: MetaFlow (MLSys'19) algorithm 1, TASO (SOSP'19)
// algorithm 2. With alpha = 1 only graphs cheaper than all before are expanded; a larger
// alpha also expands slightly dearer graphs, which may lead to a cheaper one.
//
//   queue := { given }, by cost; best := given
//   while the queue is not empty:
//     graph := the cheapest of the queue, the oldest among equals
//     for every graph that one rewrite makes from it and that was not queued before:
//       if its cost < alpha * cost(best): into the queue
//       if its cost < cost(best): best := it
//
// The bound is the current one: as in the papers, a queued graph is visited even if,
// because of a cheaper `best`, it would not be queued any more.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/graph_search.h"

#include <assert.h>

#include "base/owner.h"

typedef struct backtracking {
  eg_graph_search *search;
  double alpha;
  eg_u32s queue; // binary heap of graphs
} backtracking;
EG_OWNER_DEFINE_STATIC(backtracking, (eg_u32s, queue))

// ---- the queue ----------------------------------------------------------------------

static bool comes_before(const backtracking *b, uint32_t x, uint32_t y) {
  const eg_found_graph *graphs = b->search->graphs.data;
  if (graphs[x].seconds != graphs[y].seconds)
    return graphs[x].seconds < graphs[y].seconds;
  return x < y;
}

static void swap(eg_u32s *queue, size_t i, size_t j) {
  uint32_t kept = queue->data[i];
  queue->data[i] = queue->data[j];
  queue->data[j] = kept;
}

static egraph_status enqueue(backtracking *b, uint32_t graph) {
  eg_u32s *queue = &b->queue;
  EG_TRY(eg_u32s_push(queue, graph));
  b->search->queued++;
  for (size_t at = queue->len - 1; at != 0; at = (at - 1) / 2) {
    size_t above = (at - 1) / 2;
    if (!comes_before(b, queue->data[at], queue->data[above])) break;
    swap(queue, at, above);
  }
  return EGRAPH_OK;
}

static uint32_t dequeue(backtracking *b) {
  assert(b->queue.len != 0);
  eg_u32s *queue = &b->queue;
  swap(queue, 0, queue->len - 1);
  uint32_t first = eg_u32s_pop(queue);
  for (size_t at = 0, next; (next = 2 * at + 1) < queue->len; at = next) {
    bool is_right = next + 1 < queue->len &&
                    comes_before(b, queue->data[next + 1], queue->data[next]);
    next += is_right;
    if (!comes_before(b, queue->data[next], queue->data[at])) break;
    swap(queue, at, next);
  }
  return first;
}

// ---- the search -----------------------------------------------------------------------

static egraph_status queue_found(void *user, const uint32_t *roots, double seconds) {
  backtracking *b = user;
  eg_graph_search *search = b->search;
  double best = search->graphs.data[search->best].seconds;
  uint32_t graph;
  bool is_new;
  if (!eg_graph_cheaper(seconds, b->alpha * best)) return EGRAPH_OK;
  EG_TRY(eg_graph_search_keep(search, roots, seconds, &graph, &is_new));
  if (!is_new) return EGRAPH_OK;
  if (eg_graph_cheaper(seconds, best)) search->best = graph;
  return enqueue(b, graph);
}

egraph_status eg_backtracking_search(eg_graph_search *search) {
  EG_LOCAL_WITH(backtracking, b, search->alloc, .search = search,
                .alpha = search->input->search->alpha);
  EG_TRY(enqueue(&b, 0));
  while (b.queue.len != 0 && !eg_graph_search_is_over(search))
    EG_TRY(eg_graph_search_visit(search, dequeue(&b), queue_found, &b));
  eg_graph_search_end(search, EG_GRAPH_STOP_EXHAUSTED);
  return EGRAPH_OK;
}

// ---- greedy descent ---------------------------------------------------------------

// Greedy descent applies the rewrite that lowers the cost most, until none lowers it. It
// is not from a paper: MetaFlow (MLSys'19, section 5) and TASO (SOSP'19, section 5)
// improve on it by also expanding dearer graphs.

/// Keeps a graph that is cheaper than the best; among equally cheap graphs the
/// first stays.
static egraph_status note_cheaper(void *user, const uint32_t *roots, double seconds) {
  eg_graph_search *search = user;
  bool is_new;
  if (!eg_graph_cheaper(seconds, search->graphs.data[search->best].seconds))
    return EGRAPH_OK;
  return eg_graph_search_keep(search, roots, seconds, &search->best, &is_new);
}

egraph_status eg_greedy_search(eg_graph_search *search) {
  uint32_t graph;
  do {
    graph = search->best;
    search->queued++;
    EG_TRY(eg_graph_search_visit(search, graph, note_cheaper, search));
  } while (search->best != graph && !eg_graph_search_is_over(search));
  eg_graph_search_end(search, EG_GRAPH_STOP_NO_GAIN);
  return EGRAPH_OK;
}
