// Rows of a relation in the order of their costs.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_SORT_H
#define EG_EXTRACT_LAYOUT_LAYOUT_SORT_H

#include "extract/layout/layout_relation.h"

/// Puts the rows in the order of their costs, equal ones as they stood, and keeps the
/// first `keep`. O(rows) when there are many. Fails with EGRAPH_E_MEMORY; the relation is
/// then as before, or without rows.
egraph_status eg_relation_sort(eg_relation *relation, size_t keep);

#endif
