// Binary files: named chunks between a header and a checksum.
//
//   "\x89EGRAPH\n" kind[8] byte order, version | tag[4] 0 size[8] bytes, 0 to 7 zeros |
//   ... | checksum[8]
//
// Numbers have the byte order of the machine, which the header contains. A reader trusts
// nothing: it checks that chunks lie within the file. The checksum finds accidental
// damage, not forgery.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_CHUNKS_H
#define EG_BASE_CHUNKS_H

#include <stdbool.h>

#include "base/vec.h"

enum { EG_CHUNKS_VERSION = 1 };
#define EG_CHUNKS_MAX_BYTES ((size_t)1 << 36)

/// A file under construction, in memory.
typedef struct eg_chunk_writer {
  eg_chars bytes;
  size_t begin; // where the open chunk begins
} eg_chunk_writer;

/// Starts a file; `kind` has at most 8 characters. Fails with EGRAPH_E_MEMORY, as do the
/// functions below; call deinit in every case.
egraph_status eg_chunks_start(eg_chunk_writer *writer, egraph_allocator alloc,
                              const char *kind);
void eg_chunk_writer_deinit(eg_chunk_writer *writer);
/// Reserves memory for `bytes` more bytes.
egraph_status eg_chunks_reserve(eg_chunk_writer *writer, size_t bytes);
/// Begins a chunk; `tag` has 4 characters and is unique in the file.
egraph_status eg_chunks_begin(eg_chunk_writer *writer, const char *tag);
egraph_status eg_chunks_put(eg_chunk_writer *writer, const void *data, size_t size);
egraph_status eg_chunks_end(eg_chunk_writer *writer);
/// Appends the checksum; the file is then complete in writer->bytes.
egraph_status eg_chunks_finish(eg_chunk_writer *writer);
/// Finishes the file and writes it atomically (base/file.h). Fails with EGRAPH_E_IO too.
egraph_status eg_chunks_save(eg_chunk_writer *writer, const char *path);

/// A file that is read, in memory.
typedef struct eg_chunk_reader {
  const char *path; // borrowed
  const char *bytes;
  size_t size;
  char *owned; // the same bytes, or NULL: borrowed
  egraph_allocator alloc;
} eg_chunk_reader;

/// Reads a file and verifies its header, chunks and checksum. Fails with EGRAPH_E_IO,
/// EGRAPH_E_MEMORY or EGRAPH_E_PARSE ("path: what; remedy"); there is then nothing
/// to close.
egraph_status eg_chunks_open(eg_chunk_reader *reader, egraph_allocator alloc,
                             const char *path, const char *kind);
/// Verifies header, chunks and checksum of a file in memory. The bytes are borrowed;
/// `path` replaces the file name in messages.
egraph_status eg_chunks_open_bytes(eg_chunk_reader *reader, const char *path,
                                   const char *bytes, size_t size, const char *kind);
void eg_chunks_close(eg_chunk_reader *reader);
/// Finds the bytes of a chunk, borrowed and not aligned. Fails with EGRAPH_E_PARSE when
/// there is no such chunk, or its size is no multiple of `unit`.
egraph_status eg_chunks_find(const eg_chunk_reader *reader, const char *tag, size_t unit,
                             const char **out, size_t *out_count);
/// Reports a damaged chunk: returns EGRAPH_E_PARSE with file, chunk, reason and remedy.
egraph_status eg_chunks_fail(const eg_chunk_reader *reader, const char *tag,
                             const char *format, ...) EG_PRINTF(3, 4);
/// Computes the checksum of all bytes of a file but the last eight; size >= 8.
uint64_t eg_chunks_checksum(const char *bytes, size_t size);

#endif
