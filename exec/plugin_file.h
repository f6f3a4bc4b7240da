// Finds and loads plugins (exec/plugin/plugin_abi.h).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_PLUGIN_FILE_H
#define EG_EXEC_PLUGIN_FILE_H

#include "exec/plugin/plugin_abi.h"

typedef struct eg_plugin_name {
  const char *what;     // "back-end 'cuda'", for messages
  const char *file;     // "libegraph_cuda.so"
  const char *variable; // of the environment: a file to load and nothing else
  const char *symbol;
} eg_plugin_name;

/// Loads a plugin once, and opens it. Looked for: the file that the variable names, or
/// the file beside this library or executable, in ../lib of that, and where the system
/// looks. It stays loaded. Fails with EGRAPH_E_UNSUPPORTED, saying what is missing and
/// what to do.
egraph_status eg_plugin_load(const eg_plugin_name *name, const eg_plugin_entry **out);

#endif
