// Passes this plugin's failures to the core's message: defines eg_fail, eg_fail_context
// and egraph_last_error in place of base/status.c, and calls the table of the core.
// SPDX-License-Identifier: Apache-2.0
#include "exec/plugin/plugin_abi.h"

#include <stdarg.h>
#include <stdatomic.h>

static _Atomic(const eg_plugin_host *) plugin_host;

const eg_plugin_host *eg_plugin_host_get(void) { return atomic_load(&plugin_host); }
void eg_plugin_host_set(const eg_plugin_host *host) { atomic_store(&plugin_host, host); }

egraph_status eg_fail(egraph_status code, const char *format, ...) {
  char message[EG_MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return eg_plugin_host_get()->fail(code, "%s", message);
}

egraph_status eg_fail_context(egraph_status code, const char *format, ...) {
  char message[EG_MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return eg_plugin_host_get()->fail_context(code, "%s", message);
}

const char *egraph_last_error(void) { return eg_plugin_host_get()->last_error(); }
