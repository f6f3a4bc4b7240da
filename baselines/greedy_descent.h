// Greedy descent: the rewrite that lowers the cost most, until none lowers it. Not of a
// paper: the search that MetaFlow (MLSys'19, section 5) and TASO (SOSP'19, section 5)
// leave behind by following dearer graphs, too.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_GREEDY_DESCENT_H
#define EG_BASELINES_GREEDY_DESCENT_H

#include "baselines/graph_search.h"

egraph_status eg_greedy_search(eg_graph_search *search);

#endif
