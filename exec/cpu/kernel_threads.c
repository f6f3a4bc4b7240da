// Finds the OpenMP runtime by name among the loaded objects instead of linking one more.
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // RTLD_DEFAULT
#include "exec/cpu/kernel_threads.h"

#include <assert.h>
#include <dlfcn.h>
#include <fenv.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

static _Thread_local eg_team *lent;

// Uses memcpy, because ISO C cannot cast an object pointer to a function pointer.
bool eg_function_find(const char *name, void *out) {
  void *found = dlsym(RTLD_DEFAULT, name);
  memcpy(out, &found, sizeof found);
  return found != NULL;
}

bool eg_omp_find(eg_omp_runtime *out) {
  return eg_function_find("omp_set_num_threads", &out->set_threads) &&
         eg_function_find("omp_get_max_threads", &out->max_threads) &&
         eg_function_find("GOMP_parallel", &out->parallel);
}

eg_team *eg_omp_lend(eg_team *team) {
  eg_team *before = lent;
  lent = team;
  return before;
}

eg_team *eg_omp_lent(void) { return lent; }

// ---- regions ----------------------------------------------------------------------

void eg_omp_run(void (*body)(void *), void *argument, uint32_t threads) {
  eg_omp_runtime runtime;
  if (lent != NULL)
    eg_team_run(lent, body, argument, threads);
  else if (threads > 1 && eg_omp_find(&runtime))
    runtime.parallel(body, argument, threads, 0);
  else
    body(argument);
}

void eg_omp_run_on_each(void (*body)(void *), void *argument, uint32_t threads) {
  if (lent != NULL)
    body(argument); // the caller has the flags of all pieces
  else
    eg_omp_run(body, argument, threads);
}

uint32_t eg_omp_threads(void) {
  eg_omp_runtime runtime;
  if (lent != NULL) return eg_team_size(lent);
  return eg_omp_find(&runtime) ? (uint32_t)runtime.max_threads() : 0;
}

// ---- parts of a loop ----------------------------------------------------------------

int64_t eg_parts_size(int64_t whole, int64_t most, uint32_t threads) {
  if (whole <= most) return most;
  int64_t rounds = (whole + most * threads - 1) / (most * threads);
  return (whole + rounds * threads - 1) / (rounds * threads);
}

void eg_parts_run(eg_parts *parts, int64_t count, void (*body)(void *), void *argument,
                  uint32_t threads) {
  assert(count >= 0);
  uint32_t used = count < (int64_t)threads ? (uint32_t)count : threads;
  if (used == 0) used = 1;
  parts->count = count;
  parts->shares = used < EG_MAX_SHARES ? used : EG_MAX_SHARES;
  atomic_init(&parts->entered, 0);
  for (uint32_t i = 0; i < parts->shares; i++)
    atomic_init(&parts->taken[i], 0);
  eg_omp_run(body, argument, used);
}

uint32_t eg_parts_enter(eg_parts *parts) {
  eg_team_piece piece;
  uint32_t number = eg_team_piece_of_caller(&piece) && piece.count != 1
                        ? piece.index
                        : atomic_fetch_add(&parts->entered, 1);
  return number % parts->shares;
}

static int64_t begin_of(const eg_parts *parts, uint32_t share) {
  int64_t each = parts->count / parts->shares, more = parts->count % parts->shares;
  return each * share + (share < more ? share : more);
}

bool eg_parts_take(eg_parts *parts, uint32_t *share, int64_t *out) {
  assert(*share < parts->shares);
  for (uint32_t i = 0; i < parts->shares; i++) {
    int64_t left = begin_of(parts, *share + 1) - begin_of(parts, *share);
    int64_t taken = atomic_fetch_add(&parts->taken[*share], 1);
    if (taken < left) {
      *out = begin_of(parts, *share) + taken;
      return true;
    }
    *share = (*share + 1) % parts->shares;
  }
  return false;
}

typedef struct ranges {
  eg_parts parts;
  int64_t whole, step;
  void (*body)(const void *user, int64_t begin, int64_t end);
  const void *user;
} ranges;

static void run_ranges(void *shared) {
  ranges *r = shared;
  uint32_t share = eg_parts_enter(&r->parts);
  int64_t part;
  while (eg_parts_take(&r->parts, &share, &part)) {
    int64_t begin = part * r->step, left = r->whole - begin;
    r->body(r->user, begin, begin + (left < r->step ? left : r->step));
  }
}

void eg_parts_each(int64_t whole, int64_t step, uint32_t threads,
                   void (*body)(const void *user, int64_t begin, int64_t end),
                   const void *user) {
  ranges r = {.whole = whole, .step = step, .body = body, .user = user};
  assert(step > 0);
  eg_parts_run(&r.parts, (whole + step - 1) / step, run_ranges, &r, threads);
}

typedef struct units {
  eg_parts parts;
  float *scratch;
  int64_t floats;
  void (*body)(const void *user, int64_t unit, float *scratch);
  const void *user;
} units;

static void run_units(void *shared) {
  units *u = shared;
  uint32_t share = eg_parts_enter(&u->parts);
  float *mine = u->scratch + share * u->floats;
  for (int64_t unit; eg_parts_take(&u->parts, &share, &unit);)
    u->body(u->user, unit, mine);
}

void eg_parts_with_scratch(int64_t count, uint32_t threads, float *scratch,
                           int64_t floats,
                           void (*body)(const void *user, int64_t unit, float *scratch),
                           const void *user) {
  units u = {.scratch = scratch, .floats = floats, .body = body, .user = user};
  if (threads > EG_MAX_SHARES) threads = EG_MAX_SHARES; // more would share scratch
  eg_parts_run(&u.parts, count, run_units, &u, threads);
}

// ---- the flag "invalid operation" ---------------------------------------------------

bool eg_invalid_flag_works(uint32_t threads) {
#if defined(__x86_64__)
  return threads != 0;
#else
  (void)threads;
  return false;
#endif
}

static void clear(void *unused) {
  (void)unused;
  (void)feclearexcept(FE_INVALID);
}

void eg_invalid_flag_clear(uint32_t threads) { eg_omp_run_on_each(clear, NULL, threads); }

static void look(void *is_up) {
  if (fetestexcept(FE_INVALID) != 0) atomic_store((atomic_bool *)is_up, true);
}

bool eg_invalid_flag_is_up(uint32_t threads) {
  if (!eg_invalid_flag_works(threads)) return true;
  atomic_bool is_up = false;
  eg_omp_run_on_each(look, &is_up, threads);
  return atomic_load(&is_up);
}
