// The families shipped with the library; the list is generated at build time
// (cmake/EmbedFiles.cmake).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_GENERATE_BUILTIN_FAMILIES_H
#define EG_REWRITES_GENERATE_BUILTIN_FAMILIES_H

#include <stddef.h>

typedef struct eg_builtin_family_file {
  const char *name; // "convolution.family"
  const unsigned char *text;
  size_t size;
} eg_builtin_family_file;

extern const eg_builtin_family_file eg_builtin_family_files[];
extern const size_t eg_builtin_family_file_count;

#endif
