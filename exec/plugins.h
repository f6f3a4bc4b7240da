// The plugins there are: a back-end (exec/cuda/README.md) and a transport (exec/nccl).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_PLUGINS_H
#define EG_EXEC_PLUGINS_H

#include "exec/transport.h"

#define EG_CUDA_BACKEND_NAME "cuda"

/// Whether `name` is that of the back-end: "cuda", or "cuda:FILE", the plugin in FILE.
bool eg_cuda_plugin_is_asked(const char *name);
/// Loads the plugin with the CUDA back-end and checks that there is a device. Fails as
/// eg_plugin_load does. (The transport: eg_transport_find.)
egraph_status eg_cuda_plugin_open(const char *name, const eg_backend_vtable **out);

#endif
