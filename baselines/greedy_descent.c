// SPDX-License-Identifier: Apache-2.0
#include "baselines/greedy_descent.h"

/// Of equally cheap graphs the first one counts.
static egraph_status found(void *user, const uint32_t *roots, double seconds) {
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
    EG_TRY(eg_graph_search_visit(search, graph, found, search));
  } while (search->best != graph && !eg_graph_search_is_over(search));
  eg_graph_search_end(search, EG_GRAPH_STOP_NO_GAIN);
  return EGRAPH_OK;
}
