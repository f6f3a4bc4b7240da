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

// gzread passes plain files through unchanged. It calls a stream that ends too early a
// short read; gzerror knows better.
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
