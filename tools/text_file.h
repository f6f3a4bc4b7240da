// Whole text files.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TOOLS_TEXT_FILE_H
#define EG_TOOLS_TEXT_FILE_H

#include <stdbool.h>

/// The text of a file; free() it. NULL, with errno set, when it cannot be read.
char *text_file_read(const char *path);
/// Writes a file. False, with a message on standard error, when that fails.
bool text_file_write(const char *path, const char *text);

#endif
