// Writes and reads e-graphs of plain terms as binary files with the chunks of the engine
// (egraph/engine_file.h), and
//
//   ATOM  symbols by number, each with a NUL      RULE  the rules as text
//
// and as egraph-serialize JSON, the format of extraction-gym, in which children are named
// by any node of their class (ours by its first):
//
//   {"nodes": {"3.0": {"op": "+", "children": ["1.0", "2.0"], "eclass": "3",
//                      "cost": 1.0}, ...},
//    "root_eclasses": ["3"]}
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_SYMBOLIC_FILE_H
#define EG_REWRITES_SYMBOLIC_FILE_H

#include "base/chunks.h"
#include "rewrites/terms/symbolic.h"

#define EG_SYMBOLIC_FILE_KIND "terms"

/// Appends the rules as the text that eg_symbolic_add_rules reads; rules both ways become
/// two, and variables get new names.
egraph_status eg_symbolic_print_rules(const eg_symbolic *symbolic, eg_text *out);

/// Writes a clean e-graph. Fails as eg_engine_put.
egraph_status eg_symbolic_save(const eg_symbolic *symbolic, const char *path);
/// Reads an e-graph without its rules; appends their text to `rules`, and the caller adds
/// them, so that it can keep their names. Symbols and classes keep their numbers. Fails
/// as eg_engine_get.
egraph_status eg_symbolic_load(const egraph_allocator *alloc, const char *path,
                               eg_text *rules, eg_symbolic **out);
/// Does the same as eg_symbolic_load for a file in memory; `name` names the file
/// in messages.
egraph_status eg_symbolic_parse(const egraph_allocator *alloc, const char *name,
                                const void *bytes, size_t size, eg_text *rules,
                                eg_symbolic **out);
/// Packs the whole file of an e-graph in memory, in a writer that the caller
/// deinitializes either way.
egraph_status eg_symbolic_pack(const eg_symbolic *symbolic, egraph_allocator alloc,
                               eg_chunk_writer *writer);
/// Reads the e-graph from the chunks of an open file.
egraph_status eg_symbolic_get(const eg_chunk_reader *reader, egraph_allocator alloc,
                              eg_text *rules, eg_symbolic **out);

/// Appends a clean e-graph as JSON. The roots are any of its classes.
egraph_status eg_symbolic_print_json(const eg_symbolic *symbolic, const eg_class *roots,
                                     uint32_t root_count, eg_text *out);
/// Reads a JSON file, plain or gzip, into a new, clean e-graph: numbers classes in the
/// order of the file, and unites classes where congruence requires it. Drops costs.
/// `roots`, initialized and empty, gets the roots in order. Fails with EGRAPH_E_IO,
/// EGRAPH_E_PARSE ("file:line:col: ..."; names a child or root that is absent, or an op
/// that is no symbol), EGRAPH_E_MEMORY.
egraph_status eg_symbolic_read_json(const egraph_allocator *alloc, const char *path,
                                    eg_classes *roots, eg_symbolic **out);
/// Does the same as eg_symbolic_read_json for a text in memory; `path` names the text
/// in messages.
egraph_status eg_symbolic_parse_json(const egraph_allocator *alloc, const char *path,
                                     const char *text, size_t size, eg_classes *roots,
                                     eg_symbolic **out);

#endif
