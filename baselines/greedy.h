// Greedy descent: the rewrite that lowers the cost most, until none lowers it. Not of a
// paper: the search that MetaFlow (MLSys'19, section 5) and TASO (SOSP'19, section 5)
// leave behind by following dearer graphs, too.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_GREEDY_H
#define EG_BASELINES_GREEDY_H

#include "baselines/graph_search.h"

eg_graph_algorithm eg_greedy_search;

#endif
