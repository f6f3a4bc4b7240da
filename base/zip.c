// Zip64 fields are read if an entry has them, and always written: one form for all sizes.
// SPDX-License-Identifier: Apache-2.0
#include "base/zip.h"

#include <string.h>

#include "base/gzip.h"
#include "base/owner.h"

enum {
  LOCAL_SIZE = 30,
  ENTRY_SIZE = 46,
  END_SIZE = 22,
  END64_SIZE = 56,
  LOCATOR_SIZE = 20,
  ZIP64_TAG = 1,
  MOST_COMMENT = 0xffff,
  VERSION = 45, // of zip64
  DATE = 33,    // 1 January 1980: the same archive every time
  STORED = 0,
  DEFLATED = 8,
  MOST_RATIO = 1040 // the most that deflate reaches
};
static const uint32_t LOCAL_MAGIC = 0x04034b50, ENTRY_MAGIC = 0x02014b50;
static const uint32_t END_MAGIC = 0x06054b50, END64_MAGIC = 0x06064b50;
static const uint32_t LOCATOR_MAGIC = 0x07064b50;
#define IN_ZIP64 UINT32_MAX

static uint64_t number_at(const unsigned char *from, int bytes) {
  uint64_t number = 0;
  for (int i = bytes; i-- > 0;)
    number = number << 8 | from[i];
  return number;
}

static uint32_t word_at(const unsigned char *from) {
  return (uint32_t)number_at(from, 4);
}

static egraph_status damaged(const eg_zip *zip, const char *what) {
  return EG_FAIL(EGRAPH_E_PARSE, "%s: %s; write or fetch the archive again", zip->file,
                 what);
}

/// True when [at, at + size) is in the archive.
static bool is_inside(const eg_zip *zip, uint64_t at, uint64_t size) {
  return at <= zip->size && size <= zip->size - at;
}

// ---- reading ------------------------------------------------------------------------

/// Finds the last end record of the archive whose comment reaches the end of the file.
static bool find_end(const eg_zip *zip, uint64_t *out) {
  for (uint64_t comment = 0; comment <= MOST_COMMENT; comment++) {
    if (zip->size < END_SIZE + comment) return false;
    uint64_t at = zip->size - END_SIZE - comment;
    if (word_at(zip->data + at) != END_MAGIC ||
        number_at(zip->data + at + 20, 2) != comment)
      continue;
    *out = at;
    return true;
  }
  return false;
}

/// Reads the position of the directory from the zip64 end record before the end record,
/// if the archive has one.
static egraph_status read_end64(eg_zip *zip, uint64_t end) {
  if (end < LOCATOR_SIZE || word_at(zip->data + end - LOCATOR_SIZE) != LOCATOR_MAGIC)
    return EGRAPH_OK;
  uint64_t at = number_at(zip->data + end - LOCATOR_SIZE + 8, 8);
  if (!is_inside(zip, at, END64_SIZE) || word_at(zip->data + at) != END64_MAGIC)
    return damaged(zip, "the zip64 end of the archive is damaged");
  zip->entries = number_at(zip->data + at + 32, 8);
  zip->end = number_at(zip->data + at + 40, 8);
  zip->at = number_at(zip->data + at + 48, 8);
  return EGRAPH_OK;
}

egraph_status eg_zip_open(const char *file, const void *data, size_t size, eg_zip *out) {
  eg_zip zip = {.file = file, .data = data, .size = size};
  uint64_t end;
  if (!find_end(&zip, &end))
    return EG_FAIL(EGRAPH_E_PARSE, "%s: is no zip archive; write it with numpy.savez",
                   file);
  zip.entries = number_at(zip.data + end + 10, 2);
  zip.end = word_at(zip.data + end + 12);
  zip.at = word_at(zip.data + end + 16);
  EG_TRY(read_end64(&zip, end));
  if (!is_inside(&zip, zip.at, zip.end))
    return damaged(&zip, "the directory of the archive is outside of it");
  zip.end += zip.at;
  *out = zip;
  return EGRAPH_OK;
}

/// Reads sizes and offset from the zip64 field, for the fields that are IN_ZIP64 in the
/// entry itself.
static bool read_zip64(const unsigned char *extra, size_t length, uint64_t *const *fields,
                       size_t count) {
  for (size_t at = 0; at + 4 <= length;) {
    size_t size = (size_t)number_at(extra + at + 2, 2);
    if (size > length - at - 4) return false;
    size_t read = 0;
    if (number_at(extra + at, 2) == ZIP64_TAG) {
      for (size_t i = 0; i < count; i++) {
        if (*fields[i] != IN_ZIP64) continue;
        if (read + 8 > size) return false;
        *fields[i] = number_at(extra + at + 4 + read, 8);
        read += 8;
      }
      return true;
    }
    at += 4 + size;
  }
  return true;
}

/// Finds where the data of an archive entry begins: behind its local header.
static egraph_status find_data(const eg_zip *zip, uint64_t local, eg_zip_entry *entry) {
  if (!is_inside(zip, local, LOCAL_SIZE) || word_at(zip->data + local) != LOCAL_MAGIC)
    return damaged(zip, "an entry is outside of the archive");
  uint64_t at = local + LOCAL_SIZE + number_at(zip->data + local + 26, 2) +
                number_at(zip->data + local + 28, 2);
  if (!is_inside(zip, at, entry->packed))
    return damaged(zip, "the data of an entry is outside of the archive");
  entry->data = zip->data + at;
  return EGRAPH_OK;
}

egraph_status eg_zip_next(eg_zip *zip, eg_zip_entry *out, bool *out_any) {
  const unsigned char *head = zip->data + zip->at;
  *out_any = zip->entries != 0;
  if (zip->entries == 0) return EGRAPH_OK;
  if (zip->end - zip->at < ENTRY_SIZE || word_at(head) != ENTRY_MAGIC)
    return damaged(zip, "the directory of the archive is damaged");
  size_t name = (size_t)number_at(head + 28, 2), extra = (size_t)number_at(head + 30, 2);
  size_t whole = ENTRY_SIZE + name + extra + (size_t)number_at(head + 32, 2);
  if (whole > zip->end - zip->at)
    return damaged(zip, "the directory of the archive is cut off");
  eg_zip_entry entry = {.name = (const char *)head + ENTRY_SIZE,
                        .name_length = name,
                        .method = (uint32_t)number_at(head + 10, 2),
                        .checksum = word_at(head + 16),
                        .packed = word_at(head + 20),
                        .size = word_at(head + 24)};
  uint64_t local = word_at(head + 42);
  uint64_t *const fields[] = {&entry.size, &entry.packed, &local};
  if (!read_zip64(head + ENTRY_SIZE + name, extra, fields, 3))
    return damaged(zip, "an entry of the directory is damaged");
  if ((head[8] & 1) != 0) return damaged(zip, "an entry is encrypted");
  if (entry.size / MOST_RATIO > entry.packed)
    return damaged(zip, "an entry claims to be larger than its data can be");
  EG_TRY(find_data(zip, local, &entry));
  zip->at += whole;
  zip->entries--;
  *out = entry;
  return EGRAPH_OK;
}

egraph_status eg_zip_unpack(const eg_zip *zip, const eg_zip_entry *entry, void *to) {
  bool fits = false;
  if (entry->method == STORED) {
    fits = entry->packed == entry->size;
    if (fits && entry->size != 0) memcpy(to, entry->data, (size_t)entry->size);
  } else if (entry->method == DEFLATED) {
    fits = eg_inflate(entry->data, (size_t)entry->packed, to, (size_t)entry->size);
  } else {
    return EG_FAIL(EGRAPH_E_PARSE,
                   "%s: '%.*s' is packed by method %u; write it with numpy.savez or "
                   "numpy.savez_compressed",
                   zip->file, (int)entry->name_length, entry->name,
                   (unsigned)entry->method);
  }
  if (fits && eg_crc32(0, to, (size_t)entry->size) == entry->checksum) return EGRAPH_OK;
  return damaged(zip, "the data of an entry is damaged");
}

// ---- writing ------------------------------------------------------------------------

EG_OWNER_DEFINE(eg_zip_writer, (eg_chars, file, directory))

static void put(unsigned char **at, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; i++)
    *(*at)++ = (unsigned char)(number >> 8 * i);
}

/// Writes the part that the local header and the directory of an archive have in common:
/// from the version to the length of the zip64 field.
static void put_common(unsigned char **at, uint32_t checksum, size_t name, int fields) {
  put(at, VERSION, 2);
  put(at, 0, 2); // flags
  put(at, STORED, 2);
  put(at, 0, 2); // time
  put(at, DATE, 2);
  put(at, checksum, 4);
  put(at, IN_ZIP64, 4);
  put(at, IN_ZIP64, 4);
  put(at, name, 2);
  put(at, 4 + 8 * (uint64_t)fields, 2);
}

static void put_zip64(unsigned char **at, uint64_t size, int fields) {
  put(at, ZIP64_TAG, 2);
  put(at, 8 * (uint64_t)fields, 2);
  put(at, size, 8);
  put(at, size, 8);
}

static egraph_status append(eg_chars *to, const void *bytes, size_t size) {
  return size != 0 ? eg_chars_append(to, bytes, size) : EGRAPH_OK;
}

egraph_status eg_zip_writer_add(eg_zip_writer *writer, const char *name, const void *head,
                                size_t head_size, const void *data, size_t size) {
  unsigned char local[LOCAL_SIZE], entry[ENTRY_SIZE], extra[28], *at = local;
  uint64_t offset = writer->file.len, whole = head_size + size;
  size_t length = strlen(name);
  uint32_t checksum = eg_crc32(eg_crc32(0, head, head_size), data, size);
  if (length > UINT16_MAX)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "a name of %zu bytes is too long for an archive",
                   length);
  put(&at, LOCAL_MAGIC, 4);
  put_common(&at, checksum, length, 2);
  EG_TRY(append(&writer->file, local, sizeof local));
  EG_TRY(append(&writer->file, name, length));
  put_zip64(&(unsigned char *){extra}, whole, 2);
  EG_TRY(append(&writer->file, extra, 20));
  EG_TRY(append(&writer->file, head, head_size));
  EG_TRY(append(&writer->file, data, size));
  at = entry;
  put(&at, ENTRY_MAGIC, 4);
  put(&at, VERSION, 2);
  put_common(&at, checksum, length, 3);
  put(&at, 0, 2); // comment
  put(&at, 0, 2); // disk
  put(&at, 0, 6); // attributes
  put(&at, IN_ZIP64, 4);
  EG_TRY(append(&writer->directory, entry, sizeof entry));
  EG_TRY(append(&writer->directory, name, length));
  at = extra;
  put_zip64(&at, whole, 3);
  put(&at, offset, 8);
  EG_TRY(append(&writer->directory, extra, sizeof extra));
  writer->entries++;
  return EGRAPH_OK;
}

egraph_status eg_zip_writer_finish(eg_zip_writer *writer) {
  unsigned char end[END64_SIZE + LOCATOR_SIZE + END_SIZE], *at = end;
  uint64_t start = writer->file.len, size = writer->directory.len;
  EG_TRY(append(&writer->file, writer->directory.data, writer->directory.len));
  put(&at, END64_MAGIC, 4);
  put(&at, END64_SIZE - 12, 8); // size of the record after this field
  put(&at, VERSION, 2);
  put(&at, VERSION, 2);
  put(&at, 0, 8); // disks
  put(&at, writer->entries, 8);
  put(&at, writer->entries, 8);
  put(&at, size, 8);
  put(&at, start, 8);
  put(&at, LOCATOR_MAGIC, 4);
  put(&at, 0, 4);
  put(&at, start + size, 8);
  put(&at, 1, 4);
  put(&at, END_MAGIC, 4);
  put(&at, 0, 4);
  put(&at, UINT16_MAX, 2);
  put(&at, UINT16_MAX, 2);
  put(&at, IN_ZIP64, 4);
  put(&at, IN_ZIP64, 4);
  put(&at, 0, 2);
  return append(&writer->file, end, sizeof end);
}
