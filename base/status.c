// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_CAPACITY = 1024 };

static _Thread_local char message[MESSAGE_CAPACITY];

const char *egraph_last_error(void) { return message; }

const char *egraph_status_name(egraph_status status) {
  switch (status) {
#define STATUS_NAME(id, text)                                                            \
  case id: return text;
    EGRAPH_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
  }
  return "unknown status";
}

egraph_status eg_fail(egraph_status code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  (void)vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return code;
}

egraph_status eg_fail_context(egraph_status code, const char *format, ...) {
  char inner[MESSAGE_CAPACITY - 2];
  memcpy(inner, message, sizeof inner);
  inner[sizeof inner - 1] = '\0';
  va_list args;
  va_start(args, format);
  int written = vsnprintf(message, sizeof message, format, args);
  va_end(args);
  size_t used = written < 0 ? 0 : (size_t)written;
  if (used < sizeof message)
    (void)snprintf(message + used, sizeof message - used, ": %s", inner);
  return code;
}
