// Whole files.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_FILE_H
#define EG_BASE_FILE_H

#include "base/memory.h"

/// Reads a file into *out, terminated by a NUL that *out_size does not count; the file
/// may contain more NULs. Free it with eg_free(alloc, *out, *out_size + 1, 1). Fails with
/// EGRAPH_E_IO (absent, unreadable, not a regular file, larger than max_size)
/// or EGRAPH_E_MEMORY.
egraph_status eg_file_read(egraph_allocator alloc, const char *path, size_t max_size,
                           char **out, size_t *out_size);
/// Writes to a temporary file next to `path` and renames it: an interrupted write never
/// leaves half a file. Symbolic links and permissions are kept. Devices and pipes
/// (/dev/stdout) are written directly. Fails with EGRAPH_E_IO; `path` is then unchanged.
egraph_status eg_file_write(const char *path, const void *data, size_t size);
/// Removes a regular file; an absent file is no error, and devices and pipes stay. Fails
/// with EGRAPH_E_IO.
egraph_status eg_file_remove(const char *path);
/// Returns the folder of a path, "." without a folder; free it with eg_string_free.
egraph_status eg_file_folder(egraph_allocator alloc, const char *path, char **out);

#endif
