// Zip archives in memory: reads stored and deflated entries, writes stored entries. The
// reader does not trust an archive: it compares every number with its bounds.
//
//   [local header, name, data] ...  central directory  (zip64 end)  end
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_ZIP_H
#define EG_BASE_ZIP_H

#include <stdbool.h>

#include "base/vec.h"

/// An archive that is read; the bytes are borrowed.
typedef struct eg_zip {
  const char *file; // for messages
  const unsigned char *data;
  uint64_t size, at, end; // the rest of the directory
  uint64_t entries;       // entries in that rest
} eg_zip;

typedef struct eg_zip_entry {
  const char *name; // not terminated
  size_t name_length;
  const unsigned char *data; // the packed bytes
  uint64_t packed, size;
  uint32_t method, checksum;
} eg_zip_entry;

/// Opens an archive. Fails with EGRAPH_E_PARSE for bytes that are no archive.
egraph_status eg_zip_open(const char *file, const void *data, size_t size, eg_zip *out);
/// Reads the next entry; *out_any is false after the last entry. Fails with
/// EGRAPH_E_PARSE (damaged, encrypted, a size that no data of that length can unpack to).
egraph_status eg_zip_next(eg_zip *zip, eg_zip_entry *out, bool *out_any);
/// Unpacks entry->size bytes and compares their checksum. Fails with EGRAPH_E_PARSE
/// (damaged, or a method other than stored and deflated).
egraph_status eg_zip_unpack(const eg_zip *zip, const eg_zip_entry *entry, void *to);

/// An archive that is written: `file` grows, `directory` is appended at the end.
typedef struct eg_zip_writer {
  eg_chars file, directory;
  uint64_t entries;
} eg_zip_writer;

void eg_zip_writer_init(eg_zip_writer *writer, egraph_allocator alloc);
void eg_zip_writer_deinit(eg_zip_writer *writer);
/// Stores an entry that consists of two pieces, one after the other.
egraph_status eg_zip_writer_add(eg_zip_writer *writer, const char *name, const void *head,
                                size_t head_size, const void *data, size_t size);
/// Completes writer->file.
egraph_status eg_zip_writer_finish(eg_zip_writer *writer);

#endif
