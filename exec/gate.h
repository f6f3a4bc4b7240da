// A number that threads wait for: when it changes, all waiting threads go on. A waiting
// thread first spins for a short while, because waking up takes long. Then it sleeps: a
// thread that spins longer may take the processor from the thread for which it waits.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_GATE_H
#define EG_EXEC_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/// A zeroed gate is ready. It fills a cache line, so that threads that spin at one gate
/// do not disturb the next gate.
typedef struct eg_gate {
  atomic_uint value, sleepers;
  char apart[56];
} eg_gate;

/// Waits until the value differs from `old`, and returns the value. Memory that another
/// thread wrote before it changed the value is then visible.
uint32_t eg_gate_wait(eg_gate *gate, uint32_t old);
/// The time for which a thread spins before it sleeps. The time adapts: it becomes
/// shorter where waits are long because other threads have the processor. In a zeroed
/// eg_spin it is 0: the thread never spins.
typedef struct eg_spin {
  int64_t ns, most; // current time, and its maximum
} eg_spin;
/// The default spin time, for threads with a processor each.
extern const eg_spin eg_spin_default;

/// Waits like eg_gate_wait, but at most until a time of the monotonic clock (NULL: for
/// ever); then returns `old`.
uint32_t eg_gate_wait_until(eg_gate *gate, uint32_t old, eg_spin *spin,
                            const struct timespec *until);
/// Sets a gate's value and wakes at most `count` sleepers; for one thread at a time.
void eg_gate_move(eg_gate *gate, uint32_t value, uint32_t count);
/// Wakes at most `count` threads asleep at a gate, whose value the caller has changed.
void eg_gate_wake(eg_gate *gate, uint32_t count);

#endif
