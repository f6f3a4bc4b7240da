// Cost-based backtracking search: MetaFlow (MLSys'19) algorithm 1, TASO (SOSP'19)
// algorithm 2. With alpha = 1 only graphs that are cheaper than all before are followed;
// a larger alpha also follows graphs that are a little dearer, from which a cheaper one
// may be reached.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_BACKTRACKING_H
#define EG_BASELINES_BACKTRACKING_H

#include "baselines/graph_search.h"

egraph_status eg_backtracking_search(eg_graph_search *search);

#endif
