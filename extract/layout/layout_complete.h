// From strategies to a solution: the arcs of least cost that go with them.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_LAYOUT_LAYOUT_COMPLETE_H
#define EG_EXTRACT_LAYOUT_LAYOUT_COMPLETE_H

#include "extract/layout/layout_solve.h"

typedef struct eg_layout_completer eg_layout_completer;

/// For many choices of strategies of one problem, borrowed. O(problem). Fails with
/// EGRAPH_E_MEMORY.
egraph_status eg_layout_completer_create(egraph_allocator alloc,
                                         const eg_layout_problem *problem,
                                         eg_layout_completer **out);
void eg_layout_completer_destroy(eg_layout_completer *completer);
/// `strategy`: [value], EG_LAYOUT_NONE where nothing is known; what is not needed is left
/// out. *out_is_solution: all that is needed can be had, ties and limits of memory hold,
/// nothing forbidden is used; *out is yours then, checked by eg_layout_certify. Fails
/// with EGRAPH_E_MEMORY, EGRAPH_E_INTERNAL.
egraph_status eg_layout_complete(eg_layout_completer *completer, const uint32_t *strategy,
                                 eg_layout_solution *out, bool *out_is_solution);
void eg_layout_solution_deinit(eg_layout_solution *solution);

#endif
