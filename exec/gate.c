// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // syscall
#include "exec/gate.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

// Spinning lasts long enough to reach the next region of most networks, and is short
// compared with the time slice of a thread on a busy machine (bench/busy.py). A spin
// that was interrupted for more than LOST_NS had lost its processor to other threads, so
// it ends.
enum { SPIN_NS = 100000, LOST_NS = 20000, LOOKS = 8 };
// A wait longer than LONG_NS waits for a processor, not for work. When all waits are that
// long, the spin time falls to LEAST_NS.
enum { LONG_NS = 200000, LEAST_NS = 2000 };
const eg_spin eg_spin_default = {SPIN_NS, SPIN_NS};

static int64_t now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/// Spins; returns false when the value is still `old` at the end.
static bool spin_for(int64_t ns, const eg_gate *gate, uint32_t old) {
  int64_t begin = now_ns(), before = begin, now = begin;
  while (now - begin <= ns && now - before <= LOST_NS) {
    for (int i = 0; i < LOOKS; i++) {
      if (atomic_load(&gate->value) != old) return true;
      pause_briefly();
    }
    before = now;
    now = now_ns();
  }
  return false;
}

// Sleeps until the value changes, or until a time. A sleeper adds itself to the count of
// sleepers, then reads the value again; a thread that moves the gate changes the value,
// then reads the count. Therefore one of the two threads notices the other. The system
// checks the value once more.
static void sleep_until(eg_gate *gate, uint32_t old, const struct timespec *until) {
  bool is_early = true; // NULL: always true
  atomic_fetch_add(&gate->sleepers, 1);
  while (is_early && atomic_load(&gate->value) == old)
    is_early = syscall(SYS_futex, &gate->value, FUTEX_WAIT_BITSET_PRIVATE, old, until,
                       NULL, FUTEX_BITSET_MATCH_ANY) == 0 ||
               errno != ETIMEDOUT;
  atomic_fetch_sub(&gate->sleepers, 1);
}

uint32_t eg_gate_wait(eg_gate *gate, uint32_t old) {
  if (!spin_for(SPIN_NS, gate, old)) sleep_until(gate, old, NULL);
  return atomic_load(&gate->value);
}

uint32_t eg_gate_wait_until(eg_gate *gate, uint32_t old, eg_spin *spin,
                            const struct timespec *until) {
  int64_t begin = now_ns();
  if (spin->most == 0 || !spin_for(spin->ns, gate, old)) sleep_until(gate, old, until);
  spin->ns = now_ns() - begin > LONG_NS ? spin->ns / 2 : 2 * spin->ns;
  if (spin->ns < LEAST_NS) spin->ns = LEAST_NS;
  if (spin->ns > spin->most) spin->ns = spin->most;
  return atomic_load(&gate->value);
}

void eg_gate_wake(eg_gate *gate, uint32_t count) {
  if (count != 0 && atomic_load(&gate->sleepers) != 0)
    (void)syscall(SYS_futex, &gate->value, FUTEX_WAKE_PRIVATE,
                  count < INT_MAX ? (int)count : INT_MAX, NULL, NULL, 0);
}

void eg_gate_move(eg_gate *gate, uint32_t value, uint32_t count) {
  atomic_store(&gate->value, value);
  eg_gate_wake(gate, count);
}
