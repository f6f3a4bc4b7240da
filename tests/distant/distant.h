// A device that is none: its memory is host memory under addresses that nobody can read,
// so that what touches it without the back-end ends the test. As a plugin it has a
// back-end "cuda" on reference kernels, and a transport "nccl" between the threads of one
// process, which can be told to misbehave.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_DISTANT_H
#define EG_TESTS_DISTANT_H

#include <stddef.h>
#include <stdint.h>

/// No address of a process is this high.
#define DISTANCE ((uintptr_t)1 << 60)

static inline void *distant_address(void *host) {
  return host == NULL ? NULL : (void *)((uintptr_t)host + DISTANCE);
}
static inline void *host_address(const void *distant) {
  return distant == NULL ? NULL : (void *)((uintptr_t)distant - DISTANCE);
}

/// What the transport does wrong, from the variable DISTANT_TROUBLE.
#define DISTANT_HANGS "hangs"     // no collective is ever done
#define DISTANT_BREAKS "breaks"   // collectives fail at the second rank of a group
#define DISTANT_REFUSES "refuses" // joining fails at the second rank of a group
#define DISTANT_WAITS "waits"     // joining is never done

#endif
