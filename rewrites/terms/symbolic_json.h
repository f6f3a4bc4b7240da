// E-graphs of plain terms as egraph-serialize JSON, the format of extraction-gym:
//
//   {"nodes": {"3.0": {"op": "+", "children": ["1.0", "2.0"], "eclass": "3",
//   "cost": 1.0},
//              ...}, "root_eclasses": ["3"]}
//
// Children are named by any node of the child class; ours by its first.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_SYMBOLIC_JSON_H
#define EG_REWRITES_SYMBOLIC_JSON_H

#include "rewrites/terms/symbolic.h"

/// Appends a clean e-graph. The roots are any of its classes.
egraph_status eg_symbolic_print_json(const eg_symbolic *symbolic, const eg_class *roots,
                                     uint32_t root_count, eg_text *out);
/// Reads a file, plain or gzip, into a new e-graph: classes are numbered in the order of
/// the file and united where congruence asks for it; it is clean. Costs are dropped.
/// `roots`, initialized and empty, gets the roots in order. Fails with EGRAPH_E_IO,
/// EGRAPH_E_PARSE ("file:line:col: ..."; names a child or root that is absent, or an op
/// that is no symbol), EGRAPH_E_MEMORY.
egraph_status eg_symbolic_read_json(const egraph_allocator *alloc, const char *path,
                                    eg_classes *roots, eg_symbolic **out);
/// The same from memory; `path` stands for the file in messages.
egraph_status eg_symbolic_parse_json(const egraph_allocator *alloc, const char *path,
                                     const char *text, size_t size, eg_classes *roots,
                                     eg_symbolic **out);

#endif
