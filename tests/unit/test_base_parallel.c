// Unit tests of base/parallel: every index once, the lowest failure and its message, from
// one to eight threads.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L // pthread_sigmask
#include "base/parallel.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <threads.h>

#include "tests/locked_allocator.h"

enum { TURNS = 500, MOST_THREADS = 8 };

typedef struct turns {
  uint32_t threads;
  atomic_uint runs[TURNS];
  atomic_uint strangers;   // turns of a worker number out of range
  size_t fails[3];         // indices that fail
  uint32_t spin;           // work of a turn
  egraph_allocator nested; // of inner loops
} turns;

static egraph_status turn(void *user, size_t index, uint32_t worker) {
  turns *t = user;
  if (worker >= t->threads) atomic_fetch_add(&t->strangers, 1);
  atomic_fetch_add(&t->runs[index], 1);
  for (uint32_t i = 0; i < t->spin; i++)
    thrd_yield();
  for (size_t i = 0; i < 3; i++)
    if (t->fails[i] == index) return EG_FAIL(EGRAPH_E_PARSE, "turn %zu", index);
  return EGRAPH_OK;
}

static void clear(turns *t, uint32_t threads) {
  memset(t, 0, sizeof *t);
  t->threads = threads;
  for (size_t i = 0; i < 3; i++)
    t->fails[i] = SIZE_MAX;
}

static void every_index_runs_once(void **state) {
  (void)state;
  static turns t;
  for (uint32_t threads = 0; threads <= MOST_THREADS; threads++)
    for (size_t count = 0; count <= TURNS; count = count * 3 + 1) {
      clear(&t, threads == 0 ? 1 : threads);
      assert_ok(eg_parallel_for(eg_allocator_heap(), threads, count, turn, &t));
      for (size_t i = 0; i < TURNS; i++)
        assert_int_equal(t.runs[i], i < count);
      assert_int_equal(t.strangers, 0);
    }
}

static void the_lowest_failure_comes_back_with_its_message(void **state) {
  (void)state;
  static turns t;
  eg_rng rng = {test_seed(7)};
  for (size_t round = 0; round < test_rounds(300); round++) {
    clear(&t, 1 + (uint32_t)eg_rng_below(&rng, MOST_THREADS));
    t.spin = (uint32_t)eg_rng_below(&rng, 3);
    size_t lowest = SIZE_MAX;
    for (size_t i = 0; i < 3; i++) {
      t.fails[i] = eg_rng_below(&rng, TURNS);
      if (t.fails[i] < lowest) lowest = t.fails[i];
    }
    char message[32];
    (void)snprintf(message, sizeof message, "turn %zu", lowest);
    assert_int_equal(eg_parallel_for(eg_allocator_heap(), t.threads, TURNS, turn, &t),
                     EGRAPH_E_PARSE);
    assert_string_equal(egraph_last_error(), message);
    for (size_t i = 0; i <= lowest; i++)
      assert_int_equal(t.runs[i], 1);
    for (size_t i = lowest; i < TURNS; i++)
      assert_in_range(t.runs[i], 0, 1);
  }
}

static egraph_status inner_loop(void *user, size_t index, uint32_t worker) {
  const turns *t = user;
  (void)index;
  (void)worker;
  static turns inner[MOST_THREADS];
  clear(&inner[index], 2);
  return eg_parallel_for(t->nested, 2, TURNS, turn, &inner[index]);
}

static void loops_may_contain_loops(void **state) {
  (void)state;
  static turns t;
  test_heap heap = {.fail_at = 0};
  locked_allocator locked;
  t.nested = locked_allocator_over(&locked, test_heap_allocator(&heap));
  assert_ok(eg_parallel_for(t.nested, 3, MOST_THREADS, inner_loop, &t));
  assert_int_equal(heap.live_bytes, 0);
}

static egraph_status allocating_loop(egraph_allocator alloc, void *user) {
  turns *t = user;
  clear(t, 4);
  egraph_status status = eg_parallel_for(alloc, 4, TURNS, turn, t);
  for (size_t i = 0; i < TURNS; i++)
    assert_int_equal(t->runs[i], status == EGRAPH_OK);
  return status;
}

static void without_memory_nothing_runs(void **state) {
  (void)state;
  static turns t;
  test_every_allocation_failing(allocating_loop, &t);
}

typedef struct masks {
  atomic_uint open; // other threads that SIGUSR1 could be delivered to
  atomic_uint closed;
} masks;

static egraph_status look_at_mask(void *user, size_t index, uint32_t worker) {
  masks *m = user;
  (void)index;
  sigset_t mask;
  if (worker == 0 || pthread_sigmask(SIG_BLOCK, NULL, &mask) != 0) {
    thrd_yield();
    return EGRAPH_OK;
  }
  atomic_fetch_add(sigismember(&mask, SIGUSR1) == 1 && sigismember(&mask, SIGSEGV) == 0
                       ? &m->closed
                       : &m->open,
                   1);
  return EGRAPH_OK;
}

static void threads_leave_signals_to_the_caller(void **state) {
  (void)state;
  masks m;
  atomic_init(&m.open, 0);
  atomic_init(&m.closed, 0);
  for (int round = 0; round < 50; round++)
    assert_ok(eg_parallel_for(eg_allocator_heap(), 4, TURNS, look_at_mask, &m));
  assert_int_equal(m.open, 0);
  assert_true(m.closed > 0);
  sigset_t mask;
  assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
  assert_int_equal(sigismember(&mask, SIGUSR1), 0);
}

// ---- all at once ------------------------------------------------------------------

typedef struct crowd {
  atomic_uint there;
  uint32_t count;
  size_t fails[2];
} crowd;

// Ends only when all turns have begun.
static egraph_status meet(void *user, size_t index, uint32_t worker) {
  crowd *c = user;
  atomic_fetch_add(&c->there, 1);
  while (atomic_load(&c->there) != c->count)
    thrd_yield();
  if (worker != index)
    return EG_FAIL(EGRAPH_E_INTERNAL, "turn %zu of worker %u", index, worker);
  for (int i = 0; i < 2; i++)
    if (c->fails[i] == index) return EG_FAIL(EGRAPH_E_PARSE, "turn %zu", index);
  return EGRAPH_OK;
}

static void turns_that_wait_for_each_other_run_at_once(void **state) {
  (void)state;
  for (uint32_t count = 0; count <= 20; count++) {
    crowd c = {.count = count, .fails = {SIZE_MAX, SIZE_MAX}};
    assert_ok(eg_parallel_all(eg_allocator_heap(), count, meet, &c));
    assert_int_equal(c.there, count);
  }
}

static void of_all_at_once_the_lowest_failure_comes_back(void **state) {
  (void)state;
  crowd c = {.count = 8, .fails = {6, 3}};
  assert_fails(eg_parallel_all(eg_allocator_heap(), 8, meet, &c), EGRAPH_E_PARSE,
               "turn 3");
}

static egraph_status allocating_crowd(egraph_allocator alloc, void *user) {
  crowd *c = user;
  atomic_store(&c->there, 0);
  return eg_parallel_all(alloc, c->count, meet, c);
}

static void without_memory_no_turn_begins(void **state) {
  (void)state;
  crowd c = {.count = 3, .fails = {SIZE_MAX, SIZE_MAX}};
  test_every_allocation_failing(allocating_crowd, &c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_index_runs_once),
      cmocka_unit_test(the_lowest_failure_comes_back_with_its_message),
      cmocka_unit_test(loops_may_contain_loops),
      cmocka_unit_test(without_memory_nothing_runs),
      cmocka_unit_test(threads_leave_signals_to_the_caller),
      cmocka_unit_test(turns_that_wait_for_each_other_run_at_once),
      cmocka_unit_test(of_all_at_once_the_lowest_failure_comes_back),
      cmocka_unit_test(without_memory_no_turn_begins),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
