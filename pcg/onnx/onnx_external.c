// SPDX-License-Identifier: Apache-2.0
#define _XOPEN_SOURCE 700
#include "pcg/onnx/onnx_external.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// What a path can say without asking the file system: relative, and never upwards.
static bool stays_inside(const char *location) {
  if (location[0] == '\0' || location[0] == '/' || strchr(location, '\\') != NULL)
    return false;
  for (const char *part = location; part != NULL;) {
    size_t length = strcspn(part, "/");
    if (length == 2 && part[0] == '.' && part[1] == '.') return false;
    part = part[length] == '/' ? part + length + 1 : NULL;
  }
  return true;
}

static egraph_status escapes(const char *location) {
  return EG_FAIL(EGRAPH_E_PARSE,
                 "external data at '%.200s' is outside of the model's directory; move it "
                 "beside the model",
                 location);
}

static bool is_below(const char *directory, const char *path) {
  size_t length = strlen(directory);
  if (strncmp(directory, path, length) != 0) return false;
  return path[length] == '/' || (length != 0 && directory[length - 1] == '/');
}

egraph_status eg_onnx_external_map(egraph_allocator alloc, const char *base,
                                   const char *location, uint64_t offset, size_t size,
                                   eg_buffer **out) {
  char joined[PATH_MAX], directory[PATH_MAX], path[PATH_MAX];
  if (!stays_inside(location)) return escapes(location);
  int length = snprintf(joined, sizeof joined, "%s/%s", base, location);
  if (length < 0 || (size_t)length >= sizeof joined)
    return EG_FAIL(EGRAPH_E_PARSE, "the location of external data is too long");
  if (realpath(base, directory) == NULL || realpath(joined, path) == NULL) {
    if (errno == ENOENT || errno == ENOTDIR) return EGRAPH_OK;
    return EG_FAIL(EGRAPH_E_IO, "external data '%.200s': %s", location, strerror(errno));
  }
  if (!is_below(directory, path)) return escapes(location);
  struct stat info;
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
    return EG_FAIL(EGRAPH_E_IO, "external data '%.200s' is not a regular file", location);
  return eg_buffer_map(&alloc, path, offset, size, out);
}
