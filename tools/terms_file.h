// E-graphs of plain terms from files: binary ones with rules, and egraph-serialize JSON.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_TERMS_FILE_H
#define EG_TOOLS_TERMS_FILE_H

#include "include/egraph.h"

/// Reads a file of either kind, JSON plain or gzip. Hands over each root with its
/// smallest term; a binary file has none. Fails as egraph_terms_load and
/// egraph_terms_load_json.
egraph_status terms_file_load(const char *path,
                              void (*added)(void *user, const char *term,
                                            egraph_class root),
                              void *user, egraph_terms **out);

#endif
