// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L // sigfillset
#include "base/signals.h"

#include <signal.h>
#include <stddef.h>

void eg_signals_asynchronous(sigset_t *out) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
  (void)sigfillset(out);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    (void)sigdelset(out, own[i]);
}
