// Reads start terms from files, one term per line; skips blank lines and lines that begin
// with ;.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_TERM_LINES_H
#define EG_TOOLS_TERM_LINES_H

#include "include/egraph.h"

/// Adds the terms of a text and calls `added` (may be NULL) for each; `file` names the
/// text in messages.
egraph_status term_lines_add(egraph_terms *terms, const char *file, const char *text,
                             void (*added)(void *user, const char *term,
                                           egraph_class root),
                             void *user);

#endif
