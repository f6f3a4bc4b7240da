// Reads JSON files value by value, plain or gzip: for files whose tree would not fit
// in memory.
//
//   eg_json_scan_enter(scan, open), then eg_json_scan_next before every element
//
// The caller asks for the value that must come next; anything else is an error that names
// file, line and column. No function recurses, and the memory is a buffer of fixed size.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_JSON_SCAN_H
#define EG_BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/gzip.h"
#include "base/vec.h"

enum { EG_JSON_SCAN_BUFFER = 1 << 16, EG_JSON_SCAN_DEPTH = 64 };

typedef struct eg_json_scan {
  eg_gzip file;      // stream NULL: in memory
  const char *bytes; // the bytes in memory that have not been in the buffer yet
  size_t byte_count;
  egraph_allocator alloc;
  char *buffer;        // [EG_JSON_SCAN_BUFFER + 1], a NUL behind the last byte
  size_t at, end;      // next byte in the buffer, end of its bytes
  uint64_t before;     // bytes of the file before the buffer
  uint64_t max_bytes;  // limit of the bytes of text
  uint64_t line_start; // offset of the line in the text
  uint32_t line;       // from 1
  bool ended;          // no byte follows the buffer
} eg_json_scan;

/// Opens a file of at most `max_bytes` of text; `path` is borrowed until close. Fails
/// with EGRAPH_E_IO or EGRAPH_E_MEMORY; there is then nothing to close.
egraph_status eg_json_scan_open(eg_json_scan *scan, egraph_allocator alloc,
                                const char *path, uint64_t max_bytes);
/// Opens `size` bytes of text in memory (borrowed until close); `name` replaces the file
/// name in messages.
egraph_status eg_json_scan_open_bytes(eg_json_scan *scan, egraph_allocator alloc,
                                      const char *name, const char *bytes, size_t size);
void eg_json_scan_close(eg_json_scan *scan);

// The functions below fail with EGRAPH_E_PARSE ("file:line:col: ...") or EGRAPH_E_IO.

/// Reads the bracket `open` ('[' or '{').
egraph_status eg_json_scan_enter(eg_json_scan *scan, char open);
/// Sets *out_more: true when an element (in an object: a key) follows; reads the comma
/// before it, or the bracket `close`. *inout_count counts the elements; 0 before the
/// first call.
egraph_status eg_json_scan_next(eg_json_scan *scan, char close, size_t *inout_count,
                                bool *out_more);
/// Reads a key and its colon. The name is cut to size - 1 bytes; escapes stay as they
/// are.
egraph_status eg_json_scan_key(eg_json_scan *scan, char *name, size_t size);
/// Reads a key of any length and its colon, and decodes escapes: UTF-8 with a NUL that
/// out->len does not count.
egraph_status eg_json_scan_key_text(eg_json_scan *scan, eg_chars *out);
/// Sets *out to the next byte that is no blank, the first byte of a value if one follows;
/// 0 at the end.
egraph_status eg_json_scan_peek(eg_json_scan *scan, char *out);
/// Reads a string, decoded as in eg_json_scan_key_text. A NUL in it is an error.
egraph_status eg_json_scan_text(eg_json_scan *scan, eg_chars *out);
/// Reads a number of at most 255 characters in the range of a double.
egraph_status eg_json_scan_double(eg_json_scan *scan, double *out);
/// Reads an integer; a number with a fraction or an exponent, or beyond 64 bits, is
/// an error.
egraph_status eg_json_scan_int64(eg_json_scan *scan, int64_t *out);
/// Reads any value, nested to at most EG_JSON_SCAN_DEPTH, and drops it.
egraph_status eg_json_scan_skip(eg_json_scan *scan);
/// Fails unless only blanks follow.
egraph_status eg_json_scan_end(eg_json_scan *scan);
/// Reports an error at the current position; returns EGRAPH_E_PARSE.
egraph_status eg_json_scan_fail(const eg_json_scan *scan, const char *format, ...)
    EG_PRINTF(2, 3);

#endif
