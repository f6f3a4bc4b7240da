// The plugins there are: a back-end (exec/cuda/README.md) and a transport (exec/nccl).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_PLUGINS_H
#define EG_EXEC_PLUGINS_H

#include "exec/transport.h"

#define EG_CUDA_BACKEND_NAME "cuda"

/// Loads the plugin with the CUDA back-end and checks that there is a device. The
/// variable of the environment that names its file is EGRAPH_CUDA_PLUGIN. Fails as
/// eg_plugin_load does. (The transport: eg_transport_find, EGRAPH_NCCL_PLUGIN.)
egraph_status eg_cuda_plugin_open(const eg_backend_vtable **out);

#endif
