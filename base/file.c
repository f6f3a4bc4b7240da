// SPDX-License-Identifier: Apache-2.0
#define _XOPEN_SOURCE 700
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"

// Reads to the end of the file and ignores its size: files of /proc report size 0.
static egraph_status read_to_end(int file, const char *path, size_t max_size,
                                 eg_chars *out) {
  for (;;) {
    EG_TRY(eg_chars_reserve(out, out->len + 2));
    size_t room = out->cap - out->len - 1;
    ssize_t got = read(file, out->data + out->len, room);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return EG_FAIL(EGRAPH_E_IO, "%s: %s", path, strerror(errno));
    if (got == 0) return EGRAPH_OK;
    out->len += (size_t)got;
    if (out->len > max_size)
      return EG_FAIL(EGRAPH_E_IO, "%s: more than the limit of %zu bytes", path, max_size);
  }
}

static egraph_status read_regular(int file, const char *path, size_t max_size,
                                  eg_chars *out) {
  struct stat info;
  if (fstat(file, &info) != 0)
    return EG_FAIL(EGRAPH_E_IO, "%s: %s", path, strerror(errno));
  if (!S_ISREG(info.st_mode)) return EG_FAIL(EGRAPH_E_IO, "%s: not a regular file", path);
  if ((uintmax_t)info.st_size > max_size)
    return EG_FAIL(EGRAPH_E_IO, "%s: %jd bytes is more than the limit of %zu", path,
                   (intmax_t)info.st_size, max_size);
  EG_TRY(eg_chars_reserve(out, (size_t)info.st_size + 2));
  EG_TRY(read_to_end(file, path, max_size, out));
  EG_TRY(eg_resize(out->alloc, out->cap, out->len + 1, 1, &out->data));
  out->cap = out->len + 1;
  out->data[out->len] = '\0';
  return EGRAPH_OK;
}

egraph_status eg_file_read(egraph_allocator alloc, const char *path, size_t max_size,
                           char **out, size_t *out_size) {
  // Without O_NONBLOCK, opening a FIFO would wait for its writer.
  int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return EG_FAIL(EGRAPH_E_IO, "%s: %s", path, strerror(errno));
  eg_chars data;
  eg_chars_init(&data, alloc);
  egraph_status status = read_regular(file, path, max_size, &data);
  (void)close(file);
  if (status == EGRAPH_OK) {
    *out = data.data;
    *out_size = data.len;
  } else {
    eg_chars_deinit(&data);
  }
  return status;
}

static bool write_all(int file, const char *data, size_t size) {
  while (size != 0) {
    ssize_t written = write(file, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    data += written;
    size -= (size_t)written;
  }
  return true;
}

static egraph_status cannot_write(const char *path, int error) {
  return EG_FAIL(EGRAPH_E_IO, "%s: cannot be written: %s", path, strerror(error));
}

static egraph_status write_direct(const char *path, const void *data, size_t size) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return cannot_write(path, errno);
  bool written = write_all(file, data, size);
  int error = errno;
  if (close(file) != 0 && written) {
    written = false;
    error = errno;
  }
  return written ? EGRAPH_OK : cannot_write(path, error);
}

// Creates a new file next to `path` and stores its name in `temporary`.
static int create_temporary(const char *path, char temporary[PATH_MAX]) {
  for (int n = 0; n < 1000; n++) {
    int length = snprintf(temporary, PATH_MAX, "%s.%ld-%d.tmp", path, (long)getpid(), n);
    if (length < 0 || length >= PATH_MAX) {
      errno = ENAMETOOLONG;
      return -1;
    }
    int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

// Writes a temporary file and renames it to `path`. `old` is the file that is replaced,
// or NULL.
static egraph_status write_renaming(const char *path, const struct stat *old,
                                    const void *data, size_t size) {
  char temporary[PATH_MAX];
  int file = create_temporary(path, temporary);
  if (file < 0) return cannot_write(path, errno);
  bool written = (old == NULL || fchmod(file, old->st_mode & 0777) == 0) &&
                 write_all(file, data, size) && fsync(file) == 0;
  int error = errno;
  if (close(file) != 0 && written) {
    written = false;
    error = errno;
  }
  if (written && rename(temporary, path) != 0) {
    written = false;
    error = errno;
  }
  if (written) return EGRAPH_OK;
  (void)unlink(temporary);
  return cannot_write(path, error);
}

egraph_status eg_file_write(const char *path, const void *data, size_t size) {
  struct stat info;
  if (stat(path, &info) != 0) return write_renaming(path, NULL, data, size);
  if (S_ISDIR(info.st_mode)) return cannot_write(path, EISDIR);
  if (!S_ISREG(info.st_mode)) return write_direct(path, data, size);
  // Replace the file itself, not a link to it.
  char *target = realpath(path, NULL);
  if (target == NULL) return cannot_write(path, errno);
  egraph_status status = access(target, W_OK) == 0
                             ? write_renaming(target, &info, data, size)
                             : cannot_write(path, errno);
  free(target);
  return status;
}

egraph_status eg_file_remove(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return EGRAPH_OK;
  return unlink(path) == 0 ? EGRAPH_OK : cannot_write(path, errno);
}

egraph_status eg_file_folder(egraph_allocator alloc, const char *path, char **out) {
  const char *slash = strrchr(path, '/');
  if (slash == NULL) return eg_string_copy(alloc, ".", out);
  size_t length = slash == path ? 1 : (size_t)(slash - path);
  EG_TRY(eg_alloc(alloc, length + 1, 1, out));
  memcpy(*out, path, length);
  return EGRAPH_OK;
}
