// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[EG_MESSAGE_BYTES];

static bool is_silent(egraph_status code) {
  return code == EGRAPH_E_TYPE && !eg_type_messages_are_on();
}

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

/// Replaces the message by a text, followed by ": " and the old message if `keeps_old`.
/// The arguments may point into the old message: the text gets its own buffer.
static void set_message(bool keeps_old, const char *format, va_list args) {
  char fresh[EG_MESSAGE_BYTES];
  int written = vsnprintf(fresh, sizeof fresh, format, args);
  size_t used = written < 0 ? 0 : (size_t)written;
  if (written < 0) fresh[0] = '\0';
  if (keeps_old && used < sizeof fresh)
    (void)snprintf(fresh + used, sizeof fresh - used, ": %.*s",
                   (int)(sizeof fresh - used), message);
  memcpy(message, fresh, strlen(fresh) + 1);
}

egraph_status eg_fail(egraph_status code, const char *format, ...) {
  va_list args;
  if (is_silent(code)) return code;
  va_start(args, format);
  set_message(false, format, args);
  va_end(args);
  return code;
}

egraph_status eg_fail_context(egraph_status code, const char *format, ...) {
  va_list args;
  if (is_silent(code)) return code;
  va_start(args, format);
  set_message(true, format, args);
  va_end(args);
  return code;
}
