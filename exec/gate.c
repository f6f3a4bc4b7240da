// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // syscall
#include "exec/gate.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Long enough for the next region of most networks, short beside the share of time that a
// busy machine gives a thread (bench/busy.py). A spin that something interrupted for more
// than LOST_NS had lost its processor: others want it.
enum { SPIN_NS = 100000, LOST_NS = 20000, LOOKS = 8 };

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

/// False when it is still `old` after a while.
static bool spin(const eg_gate *gate, uint32_t old) {
  int64_t begin = now_ns(), before = begin, now = begin;
  while (now - begin <= SPIN_NS && now - before <= LOST_NS) {
    for (int i = 0; i < LOOKS; i++) {
      if (atomic_load(&gate->value) != old) return true;
      pause_briefly();
    }
    before = now;
    now = now_ns();
  }
  return false;
}

static void sleep_while(eg_gate *gate, uint32_t old) {
  (void)syscall(SYS_futex, &gate->value, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
}

// A sleeper counts itself before it looks again, and who moves the gate looks for
// sleepers afterwards: one of the two sees the other. The system looks once more.
uint32_t eg_gate_wait(eg_gate *gate, uint32_t old) {
  if (!spin(gate, old)) {
    atomic_fetch_add(&gate->sleepers, 1);
    while (atomic_load(&gate->value) == old)
      sleep_while(gate, old);
    atomic_fetch_sub(&gate->sleepers, 1);
  }
  return atomic_load(&gate->value);
}

void eg_gate_move(eg_gate *gate, uint32_t value, uint32_t count) {
  atomic_store(&gate->value, value);
  if (count != 0 && atomic_load(&gate->sleepers) != 0)
    (void)syscall(SYS_futex, &gate->value, FUTEX_WAKE_PRIVATE,
                  count < INT_MAX ? (int)count : INT_MAX, NULL, NULL, 0);
}
