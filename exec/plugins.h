// The plugins (exec/plugin/plugin_abi.h): a back-end on CUDA devices, and what
// eg_transport_find and eg_channel_open load. A plugin is asked for by its name, "cuda",
// or with its file, "cuda:FILE". Without a file it is looked for in the folder of this
// library or program, in the folder of libraries beside it, in the folder above, and
// where the system looks. It stays loaded.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_PLUGINS_H
#define EG_EXEC_PLUGINS_H

#include "exec/backend.h"

#define EG_CUDA_BACKEND_NAME "cuda"

/// Whether `name` is that of the CUDA back-end, with or without a file.
bool eg_cuda_plugin_is_asked(const char *name);
/// Loads the CUDA back-end and checks that there is a device. Fails with
/// EGRAPH_E_UNSUPPORTED, saying what is missing and what to do.
egraph_status eg_cuda_plugin_open(const char *name, const eg_backend_vtable **out);

#endif
