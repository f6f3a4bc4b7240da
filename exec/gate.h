// A number that threads wait for: when it changes, all waiting threads go on. A waiting
// thread spins for a short while, because waking up takes long; then it sleeps, because a
// spinning thread takes the processor from the thread it waits for, and uses up its own
// time slice.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_GATE_H
#define EG_EXEC_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/// Zeroed, it is ready. It fills a cache line, so that threads that spin at one gate do
/// not disturb the next.
typedef struct eg_gate {
  atomic_uint value, sleepers;
  char apart[56];
} eg_gate;

/// Waits until the value is another one than `old`; returns it. All that a thread did
/// before it moved the gate is seen.
uint32_t eg_gate_wait(eg_gate *gate, uint32_t old);
/// The time for which a thread spins before it sleeps. It adapts: where waits are long,
/// because other threads have the processor, it becomes shorter. Zeroed, a thread never
/// spins.
typedef struct eg_spin {
  int64_t ns, most; // at present, and at most
} eg_spin;
/// For threads with a processor each.
extern const eg_spin eg_spin_default;

/// Waits likewise until a time of the monotonic clock (NULL: any), when it returns `old`.
uint32_t eg_gate_wait_until(eg_gate *gate, uint32_t old, eg_spin *spin,
                            const struct timespec *until);
/// Gives the value and wakes at most `count` sleepers. One thread at a time.
void eg_gate_move(eg_gate *gate, uint32_t value, uint32_t count);
/// Wakes at most `count` sleepers; the caller has changed the value by itself.
void eg_gate_wake(eg_gate *gate, uint32_t count);

#endif
