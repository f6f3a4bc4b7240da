// The interface between the core and its plugins. A plugin is its own shared object, so
// that one library serves machines with and without a vendor's libraries. A plugin uses
// no symbol of the library. When it is opened, it gets a table of the functions that it
// must share with the core (the message of the last error, the reference kernels).
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_PLUGIN_ABI_H
#define EG_EXEC_PLUGIN_ABI_H

#include "exec/device_channel.h"

/// Identifies the interface between core and plugin: a number counted by hand, and the
/// sizes of shared tables and structs.
#define EG_PLUGIN_ABI                                                                    \
  (UINT64_C(6) << 56 | (uint64_t)EG_OP_COUNT << 40 | (uint64_t)EG_A_COUNT << 24 |        \
   (uint64_t)(sizeof(eg_backend_vtable) + sizeof(eg_program_info) + sizeof(eg_type) +    \
              sizeof(eg_transport_vtable) + sizeof(eg_channel_vtable) +                  \
              sizeof(eg_channel) + sizeof(eg_collective)))

typedef struct eg_plugin_host {
  egraph_status (*fail)(egraph_status code, const char *format, ...) EG_PRINTF(2, 3);
  egraph_status (*fail_context)(egraph_status code, const char *format, ...)
      EG_PRINTF(2, 3);
  const char *(*last_error)(void);
  egraph_status (*reference_compile)(egraph_allocator alloc, const eg_node_spec *spec,
                                     eg_program **out);
} eg_plugin_host;

/// The symbol that a plugin exports, under one of the names below: its back-end,
/// transport or channel between processes.
typedef struct eg_plugin_entry {
  uint64_t abi; // EG_PLUGIN_ABI when the plugin was built
  /// Checks that the machine can run the plugin, and keeps `host`, which lives as long as
  /// the process. Fails with EGRAPH_E_UNSUPPORTED: no driver, no device.
  egraph_status (*open)(const eg_plugin_host *host);
  const eg_backend_vtable *backend;
  const eg_transport_vtable *transport;
  eg_channel_create *channel;
} eg_plugin_entry;

#define EG_CUDA_PLUGIN_SYMBOL "eg_cuda_plugin"
#define EG_NCCL_PLUGIN_SYMBOL "eg_nccl_plugin"
#define EG_MPI_PLUGIN_SYMBOL "eg_mpi_plugin"

// ---- for the files of plugins only --------------------------------------------------

/// Returns the table given when the plugin was opened.
const eg_plugin_host *eg_plugin_host_get(void);
void eg_plugin_host_set(const eg_plugin_host *host);

#endif
