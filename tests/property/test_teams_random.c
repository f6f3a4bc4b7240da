// Random regions on teams with more threads than processors: every piece runs once, sees
// its own number, and pieces that wait for each other, by the barrier or by spinning, do
// not wait for ever. Several teams at once do not disturb each other.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L // sched_yield
#include <fenv.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/parallel.h"
#include "exec/cpu/team.h"
#include "exec/gate.h"
#include "tests/testing.h"

enum { MAX_PIECES = 9, REGIONS = 800, BARRIERS = 3 };

typedef enum waiting { WAIT_NOT, WAIT_BARRIER, WAIT_SPINNING, WAITINGS } waiting;

typedef struct region {
  eg_team *team;
  uint32_t pieces, work;
  waiting waiting;
  uint32_t raises; // piece that raises "invalid operation"; none where there is no such
  atomic_uint runs[MAX_PIECES], came[BARRIERS], wrong;
} region;

static void note_wrong(region *r, bool is_wrong) {
  if (is_wrong) atomic_fetch_add(&r->wrong, 1);
}

static uint32_t pass_time(uint32_t turns) {
  volatile uint32_t x = 1;
  for (uint32_t i = 0; i < turns; i++)
    x = x * 1664525u + 1013904223u;
  return x;
}

// All pieces come to each of the barriers before one goes on.
static void meet(region *r, uint32_t barrier) {
  atomic_fetch_add(&r->came[barrier], 1);
  if (r->waiting == WAIT_BARRIER) eg_team_barrier();
  while (r->waiting == WAIT_SPINNING && atomic_load(&r->came[barrier]) != r->pieces)
    (void)sched_yield();
  note_wrong(r, atomic_load(&r->came[barrier]) != r->pieces);
}

static void run_inner(void *argument) {
  region *r = argument;
  eg_team_piece piece;
  note_wrong(r, !eg_team_piece_of_caller(&piece) || piece.index != 0 || piece.count != 1);
  eg_team_barrier();
}

static void run_piece(void *argument) {
  region *r = argument;
  eg_team_piece piece, after;
  note_wrong(r, !eg_team_piece_of_caller(&piece) || piece.team != r->team ||
                    piece.count != r->pieces || piece.index >= r->pieces);
  atomic_fetch_add(&r->runs[piece.index], 1);
  (void)pass_time(r->work * (piece.index + 1));
  for (uint32_t b = 0; b < BARRIERS && r->waiting != WAIT_NOT; b++)
    meet(r, b);
  if (piece.index == r->raises) (void)feraiseexcept(FE_INVALID);
  if (piece.index == 0) eg_team_run(r->team, run_inner, r, r->pieces);
  note_wrong(r, !eg_team_piece_of_caller(&after) || after.index != piece.index);
}

static void draw_region(eg_rng *rng, eg_team *team, region *out) {
  *out = (region){.team = team};
  out->pieces = 1 + (uint32_t)eg_rng_below(rng, eg_team_size(team));
  out->work = eg_rng_below(rng, 20) == 0 ? 20000 : (uint32_t)eg_rng_below(rng, 50);
  out->waiting = (waiting)eg_rng_below(rng, WAITINGS);
  out->raises = (uint32_t)eg_rng_below(rng, 2 * MAX_PIECES);
}

static uint32_t count_faults(const region *r) {
  eg_team_piece piece;
  uint32_t faults = atomic_load(&r->wrong) + eg_team_piece_of_caller(&piece);
  for (uint32_t i = 0; i < MAX_PIECES; i++)
    faults += atomic_load(&r->runs[i]) != (i < r->pieces);
  bool is_up = fetestexcept(FE_INVALID) != 0;
  return faults + (is_up != (r->raises < r->pieces));
}

static egraph_status run_regions(void *seed, size_t index, uint32_t worker) {
  (void)worker;
  eg_rng rng = {*(uint64_t *)seed + index};
  eg_team *team;
  EG_TRY(eg_team_create(eg_allocator_heap(), 1 + (uint32_t)eg_rng_below(&rng, MAX_PIECES),
                        &team));
  uint32_t faults = 0;
  for (uint32_t i = 0; i < REGIONS && faults == 0; i++) {
    region r;
    draw_region(&rng, team, &r);
    (void)feclearexcept(FE_INVALID);
    eg_team_run(team, run_piece, &r, r.pieces);
    faults = count_faults(&r);
  }
  eg_team_destroy(team);
  return faults == 0 ? EGRAPH_OK
                     : EG_FAIL(EGRAPH_E_INTERNAL, "%u faults in a region", faults);
}

static void regions_run_every_piece_once(void **state) {
  (void)state;
  uint64_t seed = test_seed(1);
  for (uint64_t i = 0; i < 4; i++, seed++)
    assert_ok(run_regions(&seed, 0, 0));
}

static void teams_do_not_disturb_each_other(void **state) {
  (void)state;
  uint64_t seed = test_seed(1);
  assert_ok(eg_parallel_all(eg_allocator_heap(), 3, run_regions, &seed));
}

static egraph_status create_team(egraph_allocator alloc, void *user) {
  (void)user;
  eg_team *team;
  EG_TRY(eg_team_create(alloc, 3, &team));
  eg_team_destroy(team);
  return EGRAPH_OK;
}

static void creating_survives_failing_allocations(void **state) {
  (void)state;
  test_every_allocation_failing(create_team, NULL);
}

// ---- gates ------------------------------------------------------------------------

enum { TURNS = 20000 };

// Two threads take turns; a wake-up that is lost leaves both asleep.
static egraph_status take_turns(void *user, size_t index, uint32_t worker) {
  eg_gate *gates = user;
  (void)worker;
  for (uint32_t i = 0; i < TURNS; i++) {
    if (index == 1) (void)eg_gate_wait(&gates[0], i);
    if (i % 64 == 0) (void)pass_time(100000); // longer than the other one spins
    eg_gate_move(&gates[index], i + 1, 1);
    if (index == 0) (void)eg_gate_wait(&gates[1], i);
  }
  return EGRAPH_OK;
}

static void no_wake_up_is_lost(void **state) {
  (void)state;
  eg_gate gates[2] = {0};
  assert_ok(eg_parallel_all(eg_allocator_heap(), 2, take_turns, gates));
  assert_int_equal(gates[0].value, TURNS);
  assert_int_equal(gates[1].value, TURNS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(regions_run_every_piece_once),
      cmocka_unit_test(teams_do_not_disturb_each_other),
      cmocka_unit_test(creating_survives_failing_allocations),
      cmocka_unit_test(no_wake_up_is_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
