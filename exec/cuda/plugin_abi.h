// What the core and the plugin with the CUDA back-end know of each other. The plugin is a
// shared object of its own, so that one library serves machines with and without CUDA; it
// uses none of the library's symbols. What it must share with the core (the message of
// the last error, the reference kernels) it gets as a table when it is opened.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_PLUGIN_ABI_H
#define EG_EXEC_PLUGIN_ABI_H

#include "exec/backend.h"

/// Changes whenever an interface that crosses the border does: counted up by hand, and
/// with the tables and structs that do.
#define EG_PLUGIN_ABI                                                                    \
  (UINT64_C(1) << 56 | (uint64_t)EG_OP_COUNT << 40 | (uint64_t)EG_A_COUNT << 24 |        \
   (uint64_t)(sizeof(eg_backend_vtable) + sizeof(eg_program_info) + sizeof(eg_type)))

typedef struct eg_plugin_host {
  egraph_status (*fail)(egraph_status code, const char *format, ...) EG_PRINTF(2, 3);
  egraph_status (*fail_context)(egraph_status code, const char *format, ...)
      EG_PRINTF(2, 3);
  egraph_status (*reference_compile)(egraph_allocator alloc, const eg_node_spec *spec,
                                     eg_program **out);
} eg_plugin_host;

typedef struct eg_plugin_entry {
  uint64_t abi; // EG_PLUGIN_ABI of its build
  /// Tells whether the machine can run it, and keeps `host`, which lives as long as the
  /// process. Fails with EGRAPH_E_UNSUPPORTED: no driver, no device.
  egraph_status (*open)(const eg_plugin_host *host);
  const eg_backend_vtable *backend;
} eg_plugin_entry;

/// The one symbol of a plugin, of type eg_plugin_entry.
#define EG_PLUGIN_SYMBOL "eg_cuda_plugin"

#endif
