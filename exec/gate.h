// A number that threads wait for: it changes, and all who wait for that go on. Waiting
// spins for a short while, since a sleeper wakes up late; then it sleeps, since a spinner
// takes the processor from whom it waits for, and its own share of time runs out.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_GATE_H
#define EG_EXEC_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/// Zeroed, it is ready. As large as a line of the cache: who spins at one gate does not
/// disturb the next.
typedef struct eg_gate {
  atomic_uint value, sleepers;
  char apart[56];
} eg_gate;

/// Waits until the value is another one than `old`; returns it. All that a thread did
/// before it moved the gate is seen.
uint32_t eg_gate_wait(eg_gate *gate, uint32_t old);
/// Gives the value and wakes at most `count` sleepers. One thread at a time.
void eg_gate_move(eg_gate *gate, uint32_t value, uint32_t count);

#endif
