// Saves engines in files and reads them (base/chunks.h).
//
//   HEAD  heads: operator, payload, arity      UP    root of each class
//   OPS   live nodes of each operator          NODE  per node: head and bits, class,
//   INFO  sizes                                      children, (reason)
//   DATA  analysis data, if any                UNIO  the log of unions, if kept
//
// Indexes and the hash-cons are not stored; reading builds them again. Ids of classes and
// nodes, reasons, the log, and the freshness of nodes are kept. The order of parents
// lists is not kept, so later classes may be numbered differently than without saving.
// Pushed states and the log of explanations (explain_log.h) are not saved.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EGRAPH_ENGINE_FILE_H
#define EG_EGRAPH_ENGINE_FILE_H

#include "base/chunks.h"
#include "egraph/engine.h"

/// Writes a clean engine to the writer. Analysis data are written as bytes: they must be
/// plain values, without pointers. Fails with EGRAPH_E_ARGUMENT (a dirty engine),
/// EGRAPH_E_IO, EGRAPH_E_MEMORY.
egraph_status eg_engine_put(const eg_engine *engine, eg_chunk_writer *writer);
/// Reads an engine. `analysis`: the analysis of the saved engine, or NULL. Verifies
/// everything, eg_engine_check included, and takes at most a small multiple of the file's
/// size; but an analysis must accept any bytes as data. Fails with EGRAPH_E_IO,
/// EGRAPH_E_PARSE ("path: section: what; remedy"), EGRAPH_E_MEMORY.
egraph_status eg_engine_get(const eg_chunk_reader *reader, egraph_allocator alloc,
                            const eg_analysis *analysis, eg_engine **out);
#define EG_ENGINE_FILE_KIND "engine"

#endif
