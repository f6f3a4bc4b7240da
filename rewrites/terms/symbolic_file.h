// E-graphs of plain terms in binary files: the engine (egraph/engine_file.h), and
//
//   ATOM  symbols by number, each with a NUL      RULE  the rules as text
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_SYMBOLIC_FILE_H
#define EG_REWRITES_SYMBOLIC_FILE_H

#include "base/chunks.h"
#include "rewrites/terms/symbolic.h"

#define EG_SYMBOLIC_FILE_KIND "terms"

/// Appends the rules as the text that eg_symbolic_add_rules reads; rules both ways stand
/// there as two, and variables are named anew.
egraph_status eg_symbolic_print_rules(const eg_symbolic *symbolic, eg_text *out);

/// Writes a clean e-graph. Fails as eg_engine_put.
egraph_status eg_symbolic_save(const eg_symbolic *symbolic, const char *path);
/// Reads one without its rules, whose text is appended to `rules`: to be added by whoever
/// keeps their names. Symbols and classes have the numbers that they had. Fails as
/// eg_engine_get.
egraph_status eg_symbolic_load(const egraph_allocator *alloc, const char *path,
                               eg_text *rules, eg_symbolic **out);
/// The same with a file in memory, which `name` stands for.
egraph_status eg_symbolic_parse(const egraph_allocator *alloc, const char *name,
                                const void *bytes, size_t size, eg_text *rules,
                                eg_symbolic **out);
/// The whole file in memory, in a writer that is deinitialized by the caller either way.
egraph_status eg_symbolic_pack(const eg_symbolic *symbolic, egraph_allocator alloc,
                               eg_chunk_writer *writer);
/// The same as chunks.
egraph_status eg_symbolic_put(const eg_symbolic *symbolic, eg_chunk_writer *writer);
egraph_status eg_symbolic_get(const eg_chunk_reader *reader, egraph_allocator alloc,
                              eg_text *rules, eg_symbolic **out);

#endif
