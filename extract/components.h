// Strongly connected components of the class graph (class -> children of its nodes).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_COMPONENTS_H
#define EG_EXTRACT_COMPONENTS_H

#include "extract/class_index.h"

/// component[class], numbered so that edges never lead to a higher number; order lists
/// the classes by component, children first. O(nodes + edges), iterative.
egraph_status eg_components_find(const eg_extract_problem *problem,
                                 const eg_class_index *index, eg_u32s *component,
                                 eg_u32s *order);

#endif
