// Start terms in files: one to a line; blank lines and lines that begin with ; are passed
// over.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_TERM_LINES_H
#define EG_TOOLS_TERM_LINES_H

#include "include/egraph.h"

/// Adds the terms of a text, `file` stands for it in messages, and hands over each.
/// `added` may be NULL.
egraph_status term_lines_add(egraph_terms *terms, const char *file, const char *text,
                             void (*added)(void *user, const char *term,
                                           egraph_class root),
                             void *user);

#endif
