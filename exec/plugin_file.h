// Finds and loads plugins (exec/plugin/plugin_abi.h).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_PLUGIN_FILE_H
#define EG_EXEC_PLUGIN_FILE_H

#include "exec/plugin/plugin_abi.h"

typedef struct eg_plugin_name {
  const char *what; // "back-end", for messages
  const char *name; // "cuda", as callers ask for it: also "cuda:FILE", that file
  const char *file; // "libegraph_cuda.so"
  const char *symbol;
} eg_plugin_name;

/// Whether a caller asks for the plugin, with or without a file.
bool eg_plugin_is_asked(const eg_plugin_name *name, const char *asked);
/// Loads a plugin once, and opens it. Looked for: the file that `asked` names, or else
/// the plugin's own beside this library or executable, in ../lib of that, and where the
/// system looks. It stays loaded. Fails with EGRAPH_E_UNSUPPORTED, saying what is missing
/// and what to do.
egraph_status eg_plugin_load(const eg_plugin_name *name, const char *asked,
                             const eg_plugin_entry **out);

#endif
