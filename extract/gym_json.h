// Extraction problems from egraph-serialize JSON (base/egraph_json.h), the format of
// extraction-gym. An absent cost is 1.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_GYM_JSON_H
#define EG_EXTRACT_GYM_JSON_H

#include "extract/problem.h"

/// What the file calls classes and nodes, by their numbers in the problem.
typedef struct eg_gym_names {
  eg_chars text;           // names, each with its NUL
  eg_sizes class_, node;   // where a name begins in text
  uint32_t roots_left_out; // roots of the file that are the class of no node
} eg_gym_names;

void eg_gym_names_init(eg_gym_names *names, egraph_allocator alloc);
void eg_gym_names_deinit(eg_gym_names *names);
static inline const char *eg_gym_class_name(const eg_gym_names *names, uint32_t class) {
  return names->text.data + names->class_.data[class];
}
static inline const char *eg_gym_node_name(const eg_gym_names *names, uint32_t node) {
  return names->text.data + names->node.data[node];
}

/// Reads a file, plain or gzip, into an initialized, empty problem; classes and nodes are
/// numbered in the order of the file. A root that is the class of no node is left out.
/// `names`, initialized and empty, may be NULL. Fails with EGRAPH_E_IO, or with
/// EGRAPH_E_PARSE naming file, line and node (missing child, no known root, cost that is
/// not a finite number, duplicate node); problem and names then need only their deinit.
/// One pass; the memory is that of the problem and of two copies of the names. At most 16
/// GiB of text.
egraph_status eg_gym_json_read(const char *path, eg_extract_problem *problem,
                               eg_gym_names *names);
/// The same from memory; `path` stands for the file in messages.
egraph_status eg_gym_json_parse(const char *path, const char *text, size_t size,
                                eg_extract_problem *problem, eg_gym_names *names);

#endif
