// Whole text files.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_TEXT_FILE_H
#define EG_TOOLS_TEXT_FILE_H

#include <stdbool.h>

/// The text of a file; free() it. NULL, with errno set, when it cannot be read.
char *text_file_read(const char *path);
/// Writes a file, all or nothing of it. False, with a message on standard error, when
/// that fails.
bool text_file_write(const char *path, const char *text);
/// True when two names (NULL: none) are of one file that exists, or will.
bool files_are_same(const char *a, const char *b);
/// True when a file can be written there, before the work; otherwise prints why not.
bool file_can_be_written(const char *path);
/// Says that a file to be written is `what` ("the model itself"). Returns false.
bool say_overwritten(const char *path, const char *what);

#endif
