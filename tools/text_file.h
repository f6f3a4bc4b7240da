// Reads and writes whole text files.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_TEXT_FILE_H
#define EG_TOOLS_TEXT_FILE_H

#include <stdbool.h>
#include <stdio.h>

/// Returns the rest of a stream; free() it. NULL when memory is lacking.
char *text_stream_read(FILE *file);
/// Returns the text of a file; free() it. NULL, with errno set, when it cannot be read.
char *text_file_read(const char *path);
/// Writes a file completely or not at all. False, with a message on standard error, when
/// that fails.
bool text_file_write(const char *path, const char *text);
/// False, with a message, when `path`, a file to be written (NULL: none), is the same
/// file as `other`, which is `what` ("the model itself"). The files need not exist.
bool file_is_apart(const char *path, const char *other, const char *what);
/// False, with a message, when a file (NULL: none) cannot be written at its path: for a
/// check before the work.
bool file_can_be_written(const char *path);

#endif
