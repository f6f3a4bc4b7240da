// Signals of threads that the library starts, or borrows.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_SIGNALS_H
#define EG_BASE_SIGNALS_H

#include <sys/select.h> // sigset_t, also where <signal.h> is that of ISO C

/// All signals but those that a thread causes itself: blocking those would kill it.
void eg_signals_asynchronous(sigset_t *out);

#endif
