// The rule files shipped with the library; the list is generated at
// build time (cmake/EmbedFiles.cmake).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_REWRITES_BUILTIN_RULES_H
#define EG_REWRITES_BUILTIN_RULES_H

#include <stddef.h>

typedef struct eg_builtin_rule_file {
  const char *name; // "cleanup.rules"
  const unsigned char *text;
  size_t size;
} eg_builtin_rule_file;

extern const eg_builtin_rule_file eg_builtin_rule_files[];
extern const size_t eg_builtin_rule_file_count;

#endif
