// Patterns over plain symbols that are searched for without a rule.
//
//   (* ?x ?y) (* ?x ?z)      both at once, with one ?x: a multi-pattern
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_SYMBOLIC_PATTERN_H
#define EG_REWRITES_SYMBOLIC_PATTERN_H

#include "egraph/pattern.h"
#include "rewrites/terms/symbolic.h"

typedef struct eg_symbolic_pattern {
  eg_arena arena;
  eg_matcher *matcher;
  const char *const *names; // [var_count], in order of first occurrence
  uint32_t var_count, root_count;
} eg_symbolic_pattern;

/// Reads one pattern or several. Deinit follows whatever it returns. Fails with
/// EGRAPH_E_PARSE "file:line:col: what; remedy".
egraph_status eg_symbolic_pattern_init(eg_symbolic_pattern *pattern,
                                       eg_symbolic *symbolic, egraph_allocator alloc,
                                       const char *file, const char *text, size_t size);
void eg_symbolic_pattern_deinit(eg_symbolic_pattern *pattern);

#endif
