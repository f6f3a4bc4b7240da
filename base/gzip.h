// Files read piece by piece, plain or gzip, and pieces of other files that are packed
// alike: this is the only user of zlib.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_GZIP_H
#define EG_BASE_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/// An open file; `path` is borrowed. Thread-compatible.
typedef struct eg_gzip {
  const char *path;
  void *stream;
} eg_gzip;

/// Opens a regular file; a FIFO or a device is refused instead of waited for. Fails with
/// EGRAPH_E_IO or EGRAPH_E_MEMORY; there is then nothing to close.
egraph_status eg_gzip_open(const char *path, eg_gzip *out);
/// Reads up to `size` bytes; *out_got is 0 at the end only. Fails with EGRAPH_E_IO
/// (damaged or truncated data).
egraph_status eg_gzip_read(eg_gzip *file, char *buffer, size_t size, size_t *out_got);
void eg_gzip_close(eg_gzip *file);

/// Unpacks deflated bytes without a head; false unless they are exactly `size` bytes.
bool eg_inflate(const void *packed, size_t packed_size, void *out, size_t size);
/// The checksum of bytes behind others, whose checksum is `before` (0: there are none).
uint32_t eg_crc32(uint32_t before, const void *data, size_t size);

#endif
