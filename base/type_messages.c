// This file is separate from status.c because a plugin links this file, but defines the
// functions of status.c itself (exec/plugin/host_calls.c).
// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

static _Thread_local bool is_off;

bool eg_type_messages_enable(bool on) {
  bool before = !is_off;
  is_off = !on;
  return before;
}

bool eg_type_messages_are_on(void) { return !is_off; }
