// A region is posted as one number, its ticket: which region, how many pieces, how many
// of them have begun. Taking a piece increments the ticket. A worker that comes late
// finds the ticket of another region, or no piece left; it never enters an old region.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L // pthread_sigmask
#include "exec/cpu/team.h"

#include <assert.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>

#include "base/owner.h"
#include "base/parallel.h"
#include "exec/gate.h"

struct eg_team {
  egraph_allocator alloc;
  pthread_t *workers;
  uint32_t size, started; // number of threads with the caller; number of threads that run
  // The following fields are written while there is no region:
  void (*body)(void *);
  void *argument;
  atomic_bool is_over; // the team ends
  atomic_bool raised;  // a worker raised "invalid operation"
  eg_gate begun;       // number of the region that has begun
  atomic_ullong ticket;
  eg_gate ended;       // number of the region that has ended
  atomic_uint left;    // pieces that have not ended
  eg_gate passed;      // number of barriers that all pieces have passed
  atomic_uint arrived; // number of pieces that have arrived at the barrier
};

enum { COUNT_BITS = 16, MAX_THREADS = (1 << COUNT_BITS) - 1 };

static _Thread_local eg_team_piece current; // `count` is 0 outside of pieces

uint32_t eg_team_size(const eg_team *team) { return team->size; }

bool eg_team_piece_of_caller(eg_team_piece *out) {
  *out = current;
  return current.count != 0;
}

// ---- regions ----------------------------------------------------------------------

/// Takes a piece of the region that no thread has begun. False: no piece is left.
static bool take_piece(eg_team *team, eg_team_piece *out) {
  unsigned long long ticket = atomic_load(&team->ticket);
  do {
    *out = (eg_team_piece){.team = team,
                           .index = ticket & MAX_THREADS,
                           .count = ticket >> COUNT_BITS & MAX_THREADS};
    if (out->index == out->count) return false;
  } while (!atomic_compare_exchange_weak(&team->ticket, &ticket, ticket + 1));
  return true;
}

static void run_piece(const eg_team_piece *piece) {
  eg_team *team = piece->team;
  current = *piece;
  team->body(team->argument);
  current = (eg_team_piece){0};
}

// Ends a piece of the region. After the last piece `team` may describe another region.
static void end_piece(eg_team *team) {
  uint32_t region = atomic_load(&team->begun.value);
  if (atomic_fetch_sub(&team->left, 1) == 1) eg_gate_move(&team->ended, region, 1);
}

static void *run_worker(void *argument) {
  eg_team *team = argument;
  (void)feclearexcept(FE_INVALID);
  uint32_t region = 0;
  while (!atomic_load(&team->is_over)) {
    eg_team_piece piece;
    while (take_piece(team, &piece)) {
      run_piece(&piece);
      if (fetestexcept(FE_INVALID) != 0) { // passes the flag to the caller
        atomic_store(&team->raised, true);
        (void)feclearexcept(FE_INVALID);
      }
      end_piece(team);
    }
    region = eg_gate_wait(&team->begun, region);
  }
  return NULL;
}

static void post(eg_team *team, void (*body)(void *), void *argument, uint32_t pieces) {
  assert(pieces > 1 && pieces <= team->size);
  uint32_t region = atomic_load(&team->begun.value) + 1;
  team->body = body;
  team->argument = argument;
  atomic_store(&team->left, pieces);
  atomic_store(&team->ticket,
               (uint64_t)region << 2 * COUNT_BITS | (uint64_t)pieces << COUNT_BITS | 1);
  eg_gate_move(&team->begun, region, pieces - 1);
}

// Copies the floating-point flag to the caller; raising it could trap, where the host
// enables traps.
static void raise_flag(eg_team *team) {
  if (!atomic_exchange(&team->raised, false)) return;
  fexcept_t invalid;
  fenv_t own;
  (void)feholdexcept(&own);
  (void)feraiseexcept(FE_INVALID);
  (void)fegetexceptflag(&invalid, FE_INVALID);
  (void)fesetenv(&own);
  (void)fesetexceptflag(&invalid, FE_INVALID);
}

void eg_team_run(eg_team *team, void (*body)(void *), void *argument, uint32_t pieces) {
  assert(pieces != 0 && pieces <= team->size);
  eg_team_piece outer = current;
  if (pieces == 1 || outer.count != 0) {
    current = (eg_team_piece){.team = team, .count = 1};
    body(argument);
    current = outer;
    return;
  }
  uint32_t before = atomic_load(&team->ended.value);
  post(team, body, argument, pieces);
  eg_team_piece piece = {.team = team, .count = pieces};
  do {
    run_piece(&piece);
    end_piece(team);
  } while (take_piece(team, &piece));
  (void)eg_gate_wait(&team->ended, before);
  raise_flag(team);
}

void eg_team_barrier(void) {
  eg_team *team = current.team;
  if (current.count <= 1) return;
  uint32_t barrier = atomic_load(&team->passed.value);
  if (atomic_fetch_add(&team->arrived, 1) + 1 == current.count) {
    atomic_store(&team->arrived, 0);
    eg_gate_move(&team->passed, barrier + 1, team->size);
  } else {
    (void)eg_gate_wait(&team->passed, barrier);
  }
}

// ---- threads ----------------------------------------------------------------------

static egraph_status start_workers(eg_team *team) {
  sigset_t held, before;
  eg_signals_asynchronous(&held);
  (void)pthread_sigmask(SIG_BLOCK, &held, &before);
  while (team->started < team->size &&
         pthread_create(&team->workers[team->started], NULL, run_worker, team) == 0)
    team->started++;
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (team->started == team->size) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_MEMORY, "the system gives %u of %u threads", team->started,
                 team->size);
}

egraph_status eg_team_create(egraph_allocator alloc, uint32_t threads, eg_team **out) {
  if (threads > MAX_THREADS)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "%u threads; at most %d", threads, MAX_THREADS);
  eg_team *team;
  EG_TRY(eg_alloc(alloc, 1, sizeof *team, &team));
  team->alloc = alloc;
  team->size = threads;
  team->started = 1;
  egraph_status status = eg_alloc(alloc, threads, sizeof *team->workers, &team->workers);
  if (status == EGRAPH_OK) status = start_workers(team);
  EG_HAND_OVER_OR_DESTROY(status, team, eg_team_destroy, out);
}

void eg_team_destroy(eg_team *team) {
  if (team == NULL) return;
  atomic_store(&team->is_over, true);
  eg_gate_move(&team->begun, atomic_load(&team->begun.value) + 1, team->size);
  for (uint32_t i = 1; i < team->started; i++)
    (void)pthread_join(team->workers[i], NULL);
  if (team->workers != NULL)
    eg_free(team->alloc, team->workers, team->size, sizeof *team->workers);
  eg_free(team->alloc, team, 1, sizeof *team);
}
