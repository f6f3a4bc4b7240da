// Reads files piece by piece, plain or gzip, and unpacks deflated pieces of other files.
// This is the only user of zlib.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_GZIP_H
#define EG_BASE_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/// An open file; `path` is borrowed. Threads may use different files at the same time.
typedef struct eg_gzip {
  const char *path;
  void *stream;
} eg_gzip;

/// Opens a regular file; refuses a FIFO or a device, for which it would have to wait.
/// Fails with EGRAPH_E_IO or EGRAPH_E_MEMORY; there is then nothing to close.
egraph_status eg_gzip_open(const char *path, eg_gzip *out);
/// Reads up to `size` bytes; *out_got is 0 at the end only. Fails with EGRAPH_E_IO
/// (damaged or truncated data).
egraph_status eg_gzip_read(eg_gzip *file, char *buffer, size_t size, size_t *out_got);
void eg_gzip_close(eg_gzip *file);

/// Unpacks deflated bytes without a header; false unless they give exactly `size` bytes.
bool eg_inflate(const void *packed, size_t packed_size, void *out, size_t size);
/// Extends the checksum `before` of earlier bytes (0: there are none) by `size`
/// more bytes.
uint32_t eg_crc32(uint32_t before, const void *data, size_t size);

#endif
