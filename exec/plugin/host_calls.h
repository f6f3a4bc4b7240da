// The core as a plugin sees it. For the files of plugins only.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_HOST_CALLS_H
#define EG_EXEC_HOST_CALLS_H

#include "exec/plugin/plugin_abi.h"

/// The table given when the plugin was opened.
const eg_plugin_host *eg_plugin_host_get(void);
void eg_plugin_host_set(const eg_plugin_host *host);

#endif
