// Whole text files.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_TEXT_FILE_H
#define EG_TOOLS_TEXT_FILE_H

#include <stdbool.h>
#include <stdio.h>

/// The rest of a stream; free() it. NULL: there is not enough memory.
char *text_stream_read(FILE *file);
/// The text of a file; free() it. NULL, with errno set, when it cannot be read.
char *text_file_read(const char *path);
/// Writes a file, all or nothing of it. False, with a message on standard error, when
/// that fails.
bool text_file_write(const char *path, const char *text);
/// False, with a message, when a file to be written (NULL: none) is another one, which is
/// `what` ("the model itself"), whether they exist or not.
bool file_is_apart(const char *path, const char *other, const char *what);
/// False, with a message, when a file (NULL: none) cannot be written there: for a look
/// before the work.
bool file_can_be_written(const char *path);

#endif
