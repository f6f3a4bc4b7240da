// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "base/gzip.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

egraph_status eg_gzip_open(const char *path, eg_gzip *out) {
  int handle = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (handle < 0) return EG_FAIL(EGRAPH_E_IO, "%s: %s", path, strerror(errno));
  struct stat info;
  gzFile file = NULL;
  egraph_status status = EGRAPH_OK;
  if (fstat(handle, &info) != 0 || !S_ISREG(info.st_mode))
    status = EG_FAIL(EGRAPH_E_IO, "%s: not a regular file", path);
  else if ((file = gzdopen(handle, "rb")) == NULL)
    status = EG_FAIL(EGRAPH_E_MEMORY, "out of memory while opening %s", path);
  if (status != EGRAPH_OK)
    (void)close(handle);
  else
    *out = (eg_gzip){.path = path, .stream = file};
  return status;
}

// gzread passes plain files through unchanged. For a stream that ends too early it
// reports only a short read; gzerror reports the error.
egraph_status eg_gzip_read(eg_gzip *file, char *buffer, size_t size, size_t *out_got) {
  unsigned wanted = size < INT_MAX ? (unsigned)size : INT_MAX;
  int got = gzread(file->stream, buffer, wanted), code = Z_OK;
  if (got < 0)
    return EG_FAIL(EGRAPH_E_IO, "%s: damaged gzip data; fetch the file again",
                   file->path);
  if ((unsigned)got < wanted && gzerror(file->stream, &code) != NULL &&
      code == Z_BUF_ERROR)
    return EG_FAIL(EGRAPH_E_IO, "%s: the gzip data is truncated; fetch the file again",
                   file->path);
  *out_got = (size_t)got;
  return EGRAPH_OK;
}

void eg_gzip_close(eg_gzip *file) {
  (void)gzclose(file->stream);
  file->stream = NULL;
}

// ---- pieces of other files ------------------------------------------------------------

static unsigned chunk_of(size_t left) {
  return left < INT_MAX ? (unsigned)left : (unsigned)INT_MAX;
}

bool eg_inflate(const void *packed, size_t packed_size, void *out, size_t size) {
  unsigned char none; // inflate needs an address even when no bytes are asked for
  z_stream stream = {.next_in = (Bytef *)(uintptr_t)packed,
                     .next_out = size != 0 ? out : &none};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  int code = Z_OK;
  while (code == Z_OK) {
    size_t read = (size_t)(stream.next_in - (const Bytef *)packed);
    size_t made = size != 0 ? (size_t)(stream.next_out - (Bytef *)out) : 0;
    stream.avail_in = chunk_of(packed_size - read);
    stream.avail_out = chunk_of(size - made);
    code = inflate(&stream, Z_NO_FLUSH);
  }
  bool is_whole = code == Z_STREAM_END && stream.total_out == size;
  (void)inflateEnd(&stream);
  return is_whole;
}

uint32_t eg_crc32(uint32_t before, const void *data, size_t size) {
  const Bytef *at = data;
  uLong sum = before;
  for (size_t left = size; left != 0;) {
    unsigned chunk = chunk_of(left);
    sum = crc32(sum, at, chunk);
    at += chunk;
    left -= chunk;
  }
  return (uint32_t)sum;
}
