// SPDX-License-Identifier: Apache-2.0
#include "exec/plugins.h"

#include "exec/plugin_file.h"

static const eg_plugin_name cuda = {.what = "back-end",
                                    .name = EG_CUDA_BACKEND_NAME,
                                    .file = "libegraph_cuda.so",
                                    .symbol = EG_CUDA_PLUGIN_SYMBOL};
static const eg_plugin_name nccl = {.what = "transport",
                                    .name = "nccl",
                                    .file = "libegraph_nccl.so",
                                    .symbol = EG_NCCL_PLUGIN_SYMBOL};

bool eg_cuda_plugin_is_asked(const char *name) { return eg_plugin_is_asked(&cuda, name); }

egraph_status eg_cuda_plugin_open(const char *name, const eg_backend_vtable **out) {
  const eg_plugin_entry *entry;
  EG_TRY(eg_plugin_load(&cuda, name, &entry));
  *out = entry->backend;
  return EGRAPH_OK;
}

egraph_status eg_transport_find(const char *name, const eg_transport_vtable **out) {
  const eg_plugin_entry *entry;
  if (!eg_plugin_is_asked(&nccl, name))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "no transport '%s' between devices; there is 'nccl', and none, which "
                   "goes through host memory",
                   name);
  EG_TRY(eg_plugin_load(&nccl, name, &entry));
  *out = entry->transport;
  return EGRAPH_OK;
}
