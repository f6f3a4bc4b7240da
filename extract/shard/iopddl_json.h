// Reader of the problems of the IOPDDL contest (ASPLOS/EuroSys 2025).
//
//   {"problem": {"name": "...", "usage_limit": 50,
//     "nodes": {"intervals": [[30, 70], ...], "costs": [[15], ...], "usages": [[10],
//     ...]}, "edges": {"nodes": [[0, 1], ...], "costs": [[30, 40], ...]}}}
//
// Keys come in any order, unknown ones are skipped; without "usage_limit" memory has
// none.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SHARD_IOPDDL_JSON_H
#define EG_EXTRACT_SHARD_IOPDDL_JSON_H

#include "extract/shard/shard_problem.h"

/// Reads a file, plain or gzip, into an initialized, empty problem, which passes
/// eg_shard_problem_check. Numbers must be integers. Fails with EGRAPH_E_IO, or with
/// EGRAPH_E_PARSE naming the file and what is wrong in it; the problem then needs only
/// its deinit. Memory: the problem and 16 bytes per node and edge.
egraph_status eg_iopddl_read(const char *path, eg_shard_problem *problem);
/// The same from `size` bytes of text; `name` stands for the file in messages.
egraph_status eg_iopddl_parse(const char *name, const char *text, size_t size,
                              eg_shard_problem *problem);

#endif
