// The machine files shipped with the library; the list is generated at build time
// (cmake/EmbedFiles.cmake).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_PCG_BUILTIN_MACHINES_H
#define EG_PCG_BUILTIN_MACHINES_H

#include <stddef.h>

typedef struct eg_builtin_machine_file {
  const char *name; // "dgx-h100.machine"
  const unsigned char *text;
  size_t size;
} eg_builtin_machine_file;

extern const eg_builtin_machine_file eg_builtin_machine_files[];
extern const size_t eg_builtin_machine_file_count;

#endif
