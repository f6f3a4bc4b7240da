// A number that threads wait for: it changes, and all who wait for that go on. Waiting
// spins for a short while, since a sleeper wakes up late; then it sleeps, since a spinner
// takes the processor from whom it waits for, and its own share of time runs out.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_GATE_H
#define EG_EXEC_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/// Zeroed, it is ready. As large as a line of the cache: who spins at one gate does not
/// disturb the next.
typedef struct eg_gate {
  atomic_uint value, sleepers;
  char apart[56];
} eg_gate;

/// Waits until the value is another one than `old`; returns it. All that a thread did
/// before it moved the gate is seen.
uint32_t eg_gate_wait(eg_gate *gate, uint32_t old);
/// How long a thread spins before it sleeps. It learns: where waiting takes long, because
/// others have the processor of whom it waits for, it spins less. Zeroed, it never spins.
typedef struct eg_spin {
  int64_t ns, most; // at present, and at most
} eg_spin;
/// Of threads that have a processor each.
extern const eg_spin eg_spin_default;

/// Waits likewise until a time of the monotonic clock (NULL: any), when it returns `old`.
uint32_t eg_gate_wait_until(eg_gate *gate, uint32_t old, eg_spin *spin,
                            const struct timespec *until);
/// Gives the value and wakes at most `count` sleepers. One thread at a time.
void eg_gate_move(eg_gate *gate, uint32_t value, uint32_t count);
/// Wakes at most `count` sleepers, for who has changed the value by itself.
void eg_gate_wake(eg_gate *gate, uint32_t count);

#endif
