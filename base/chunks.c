// Each step of the checksum takes eight bytes and is a bijection of the state; it
// therefore always finds a change within one step.
// SPDX-License-Identifier: Apache-2.0
#include "base/chunks.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"

static const char magic[8] = {'\x89', 'E', 'G', 'R', 'A', 'P', 'H', '\n'};
static const uint32_t byte_order = 0x01020304;

typedef struct file_header {
  char magic[8], kind[8];
  uint32_t byte_order, version;
} file_header;

typedef struct chunk_header {
  char tag[4];
  uint32_t zero;
  uint64_t size;
} chunk_header;

enum { CHECKSUM_BYTES = 8 };

uint64_t eg_chunks_checksum(const char *bytes, size_t size) {
  uint64_t sum = size;
  for (size_t i = 0; i < size - CHECKSUM_BYTES; i += sizeof sum) {
    size_t rest = size - CHECKSUM_BYTES - i;
    uint64_t word = 0;
    memcpy(&word, bytes + i, rest < sizeof word ? rest : sizeof word);
    sum = eg_hash_mix(sum ^ word) + UINT64_C(0x9e3779b97f4a7c15);
  }
  return sum;
}

// ---- writing --------------------------------------------------------------------------

egraph_status eg_chunks_start(eg_chunk_writer *writer, egraph_allocator alloc,
                              const char *kind) {
  *writer = (eg_chunk_writer){.begin = 0};
  eg_chars_init(&writer->bytes, alloc);
  file_header header = {.byte_order = byte_order, .version = EG_CHUNKS_VERSION};
  memcpy(header.magic, magic, sizeof magic);
  memcpy(header.kind, kind, strlen(kind));
  return eg_chunks_put(writer, &header, sizeof header);
}

void eg_chunk_writer_deinit(eg_chunk_writer *writer) { eg_chars_deinit(&writer->bytes); }

egraph_status eg_chunks_reserve(eg_chunk_writer *writer, size_t bytes) {
  return eg_chars_reserve(&writer->bytes, writer->bytes.len + bytes);
}

egraph_status eg_chunks_begin(eg_chunk_writer *writer, const char *tag) {
  chunk_header header = {.zero = 0};
  memcpy(header.tag, tag, sizeof header.tag);
  writer->begin = writer->bytes.len;
  return eg_chunks_put(writer, &header, sizeof header);
}

egraph_status eg_chunks_put(eg_chunk_writer *writer, const void *data, size_t size) {
  return eg_chars_append(&writer->bytes, data, size);
}

egraph_status eg_chunks_end(eg_chunk_writer *writer) {
  static const char zeros[8] = {0};
  chunk_header header;
  char *begin = writer->bytes.data + writer->begin;
  memcpy(&header, begin, sizeof header);
  header.size = writer->bytes.len - writer->begin - sizeof header;
  memcpy(begin, &header, sizeof header);
  return eg_chunks_put(writer, zeros, (8 - header.size % 8) % 8);
}

egraph_status eg_chunks_finish(eg_chunk_writer *writer) {
  EG_TRY(eg_chars_resize(&writer->bytes, writer->bytes.len + CHECKSUM_BYTES));
  char *bytes = writer->bytes.data;
  size_t size = writer->bytes.len;
  uint64_t sum = eg_chunks_checksum(bytes, size);
  memcpy(bytes + size - CHECKSUM_BYTES, &sum, CHECKSUM_BYTES);
  return EGRAPH_OK;
}

egraph_status eg_chunks_save(eg_chunk_writer *writer, const char *path) {
  EG_TRY(eg_chunks_finish(writer));
  return eg_file_write(path, writer->bytes.data, writer->bytes.len);
}

// ---- reading --------------------------------------------------------------------------

static egraph_status check_header(const eg_chunk_reader *reader, const char *kind) {
  file_header header;
  if (reader->size < sizeof header + CHECKSUM_BYTES)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: %zu bytes are no saved e-graph; name another",
                   reader->path, reader->size);
  memcpy(&header, reader->bytes, sizeof header);
  if (memcmp(header.magic, magic, sizeof magic) != 0)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: this is no saved e-graph; name another",
                   reader->path);
  if (header.byte_order != byte_order)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "%s: saved on a machine of another byte order; save it on one like "
                   "this",
                   reader->path);
  if (header.version != EG_CHUNKS_VERSION)
    return EG_FAIL(EGRAPH_E_PARSE,
                   "%s: version %u of the format, but this program reads %d; save it "
                   "again with this one",
                   reader->path, header.version, EG_CHUNKS_VERSION);
  char wanted[sizeof header.kind] = {0};
  memcpy(wanted, kind, strlen(kind));
  if (memcmp(wanted, header.kind, sizeof wanted) != 0)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: holds another kind of data than '%s'",
                   reader->path, kind);
  return EGRAPH_OK;
}

/// Finds the chunk that begins at byte *inout_at; false at the end of the file, or when
/// the chunk goes beyond the end.
static bool next_chunk(const eg_chunk_reader *reader, size_t *inout_at,
                       chunk_header *out) {
  size_t rest = reader->size - CHECKSUM_BYTES - *inout_at;
  if (rest < sizeof *out) return false;
  memcpy(out, reader->bytes + *inout_at, sizeof *out);
  rest -= sizeof *out;
  if (out->size > rest) return false;
  uint64_t padded = out->size + (8 - out->size % 8) % 8;
  if (padded > rest) return false;
  *inout_at += sizeof *out + (size_t)padded;
  return true;
}

static egraph_status verify(const eg_chunk_reader *reader, const char *kind) {
  EG_TRY(check_header(reader, kind));
  uint64_t stored;
  memcpy(&stored, reader->bytes + reader->size - CHECKSUM_BYTES, CHECKSUM_BYTES);
  if (stored != eg_chunks_checksum(reader->bytes, reader->size))
    return EG_FAIL(EGRAPH_E_PARSE,
                   "%s: the checksum is wrong: the file is damaged or cut short; save it "
                   "again",
                   reader->path);
  size_t at = sizeof(file_header);
  chunk_header chunk;
  while (next_chunk(reader, &at, &chunk))
    ;
  if (at != reader->size - CHECKSUM_BYTES)
    return EG_FAIL(EGRAPH_E_PARSE, "%s: a chunk goes beyond the end; save it again",
                   reader->path);
  return EGRAPH_OK;
}

egraph_status eg_chunks_open_bytes(eg_chunk_reader *reader, const char *path,
                                   const char *bytes, size_t size, const char *kind) {
  *reader = (eg_chunk_reader){.path = path, .bytes = bytes, .size = size};
  return verify(reader, kind);
}

egraph_status eg_chunks_open(eg_chunk_reader *reader, egraph_allocator alloc,
                             const char *path, const char *kind) {
  char *bytes;
  size_t size;
  EG_TRY(eg_file_read(alloc, path, EG_CHUNKS_MAX_BYTES, &bytes, &size));
  *reader = (eg_chunk_reader){
      .path = path, .bytes = bytes, .size = size, .owned = bytes, .alloc = alloc};
  egraph_status status = verify(reader, kind);
  if (status != EGRAPH_OK) eg_chunks_close(reader);
  return status;
}

void eg_chunks_close(eg_chunk_reader *reader) {
  if (reader->owned != NULL) eg_free(reader->alloc, reader->owned, reader->size + 1, 1);
  reader->owned = NULL;
}

static bool find(const eg_chunk_reader *reader, const char *tag, const char **out,
                 uint64_t *out_size) {
  size_t at = sizeof(file_header), begin = at;
  chunk_header chunk;
  for (; next_chunk(reader, &at, &chunk); begin = at) {
    if (memcmp(chunk.tag, tag, sizeof chunk.tag) != 0) continue;
    *out = reader->bytes + begin + sizeof chunk;
    *out_size = chunk.size;
    return true;
  }
  return false;
}

egraph_status eg_chunks_find(const eg_chunk_reader *reader, const char *tag, size_t unit,
                             const char **out, size_t *out_count) {
  uint64_t size;
  if (!find(reader, tag, out, &size)) return eg_chunks_fail(reader, tag, "is absent");
  if (size % unit != 0)
    return eg_chunks_fail(reader, tag, "has %llu bytes, no multiple of %zu",
                          (unsigned long long)size, unit);
  *out_count = (size_t)(size / unit);
  return EGRAPH_OK;
}

egraph_status eg_chunks_fail(const eg_chunk_reader *reader, const char *tag,
                             const char *format, ...) {
  char reason[512];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  return EG_FAIL(EGRAPH_E_PARSE, "%s: section %.4s: %s; save the e-graph again",
                 reader->path, tag, reason);
}
