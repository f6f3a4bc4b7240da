// Finds the plugin with the CUDA back-end (exec/cuda/README.md).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CUDA_PLUGIN_H
#define EG_EXEC_CUDA_PLUGIN_H

#include "exec/backend.h"

#define EG_CUDA_BACKEND_NAME "cuda"

/// Loads the plugin once and checks that there is a device. Looked for: the file that the
/// environment variable EGRAPH_CUDA_PLUGIN names and nothing else, or libegraph_cuda.so
/// beside this library or executable, in ../lib of that, and where the system looks. It
/// stays loaded. Fails with EGRAPH_E_UNSUPPORTED, saying what is missing and what to do.
egraph_status eg_cuda_plugin_open(const eg_backend_vtable **out);

#endif
