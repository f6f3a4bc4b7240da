// SPDX-License-Identifier: Apache-2.0
#include "exec/plugins.h"

#include <string.h>

#include "exec/plugin_file.h"

egraph_status eg_cuda_plugin_open(const eg_backend_vtable **out) {
  static const eg_plugin_name name = {.what = "back-end 'cuda'",
                                      .file = "libegraph_cuda.so",
                                      .variable = "EGRAPH_CUDA_PLUGIN",
                                      .symbol = EG_CUDA_PLUGIN_SYMBOL};
  const eg_plugin_entry *entry;
  EG_TRY(eg_plugin_load(&name, &entry));
  *out = entry->backend;
  return EGRAPH_OK;
}

egraph_status eg_transport_find(const char *name, const eg_transport_vtable **out) {
  static const eg_plugin_name nccl = {.what = "transport 'nccl'",
                                      .file = "libegraph_nccl.so",
                                      .variable = "EGRAPH_NCCL_PLUGIN",
                                      .symbol = EG_NCCL_PLUGIN_SYMBOL};
  const eg_plugin_entry *entry;
  if (strcmp(name, "nccl") != 0)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "no transport '%s' between devices; there is 'nccl', and none, which "
                   "goes through host memory",
                   name);
  EG_TRY(eg_plugin_load(&nccl, &entry));
  *out = entry->transport;
  return EGRAPH_OK;
}
