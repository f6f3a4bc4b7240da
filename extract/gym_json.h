// Reader of egraph-serialize JSON, the format of extraction-gym.
//
//   {"nodes": {"<id>": {"op": "+", "children": ["<id>", ...], "eclass": "<class>",
//              "cost": 1.0}, ...}, "root_eclasses": ["<class>", ...]}
//
// Children are named by any node of the child class. An absent cost is 1.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_GYM_JSON_H
#define EG_EXTRACT_GYM_JSON_H

#include "extract/problem.h"

/// Reads a file, plain or gzip, into an initialized, empty problem; classes and nodes are
/// numbered in the order of the file. Fails with EGRAPH_E_IO, or with EGRAPH_E_PARSE
/// naming file and node (missing child, absent or unknown root, cost that is not a finite
/// number, duplicate id); the problem then needs only its deinit.
egraph_status eg_gym_json_read(const char *path, eg_extract_problem *problem);

#endif
