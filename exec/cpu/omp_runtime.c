// The runtime is asked for by name in what is loaded, instead of linking a second one.
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // RTLD_DEFAULT
#include "exec/cpu/omp_runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "exec/cpu/import_table.h"

static _Thread_local eg_team *lent;

// ISO C has no cast from object to function pointers.
static bool find_function(const char *name, void *out) {
  void *found = dlsym(RTLD_DEFAULT, name);
  memcpy(out, &found, sizeof found);
  return found != NULL;
}

bool eg_omp_find(eg_omp_runtime *out) {
  return find_function("omp_set_num_threads", &out->set_threads) &&
         find_function("omp_get_max_threads", &out->max_threads) &&
         find_function("GOMP_parallel", &out->parallel);
}

// ---- in the runtime's place -------------------------------------------------------

// What oneDNN calls.
typedef struct omp_calls {
  void (*parallel)(void (*)(void *), void *, unsigned, unsigned);
  void (*barrier)(void);
  int (*max_threads)(void), (*threads)(void), (*thread)(void), (*in_parallel)(void);
} omp_calls;

/// The runtime's own; filled before oneDNN calls ours.
static omp_calls *runtime_calls(void) {
  static omp_calls calls;
  return &calls;
}

static void parallel(void (*body)(void *), void *argument, unsigned threads,
                     unsigned flags) {
  eg_team_piece piece;
  eg_team *team = eg_team_piece_of_caller(&piece) ? piece.team : lent;
  if (threads == 0 && team != NULL) threads = eg_team_size(team);
  if (team != NULL && threads <= eg_team_size(team))
    eg_team_run(team, body, argument, threads);
  else
    runtime_calls()->parallel(body, argument, threads, flags);
}

static void barrier(void) {
  eg_team_piece piece;
  if (eg_team_piece_of_caller(&piece))
    eg_team_barrier();
  else
    runtime_calls()->barrier();
}

static int max_threads(void) {
  eg_team_piece piece;
  if (eg_team_piece_of_caller(&piece)) return 1;
  return lent != NULL ? (int)eg_team_size(lent) : runtime_calls()->max_threads();
}

static int threads_of_region(void) {
  eg_team_piece piece;
  return eg_team_piece_of_caller(&piece) ? (int)piece.count : runtime_calls()->threads();
}

static int thread_of_region(void) {
  eg_team_piece piece;
  return eg_team_piece_of_caller(&piece) ? (int)piece.index : runtime_calls()->thread();
}

static int in_parallel(void) {
  eg_team_piece piece;
  return eg_team_piece_of_caller(&piece) ? piece.count > 1
                                         : runtime_calls()->in_parallel();
}

static bool take_place(void) {
  static const eg_import imports[] = {
      {"GOMP_parallel", (void (*)(void))parallel},
      {"GOMP_barrier", (void (*)(void))barrier},
      {"omp_get_max_threads", (void (*)(void))max_threads},
      {"omp_get_num_threads", (void (*)(void))threads_of_region},
      {"omp_get_thread_num", (void (*)(void))thread_of_region},
      {"omp_in_parallel", (void (*)(void))in_parallel},
  };
  omp_calls *calls = runtime_calls();
  void *inside = dlsym(RTLD_DEFAULT, "dnnl_primitive_execute");
  return inside != NULL && find_function("GOMP_parallel", &calls->parallel) &&
         find_function("GOMP_barrier", &calls->barrier) &&
         find_function("omp_get_max_threads", &calls->max_threads) &&
         find_function("omp_get_num_threads", &calls->threads) &&
         find_function("omp_get_thread_num", &calls->thread) &&
         find_function("omp_in_parallel", &calls->in_parallel) &&
         eg_imports_replace(inside, imports, sizeof imports / sizeof *imports);
}

bool eg_omp_takes_teams(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static bool is_tried, takes;
  (void)pthread_mutex_lock(&lock);
  if (!is_tried) takes = take_place();
  is_tried = true;
  bool result = takes;
  (void)pthread_mutex_unlock(&lock);
  return result;
}

eg_team *eg_omp_lend(eg_team *team) {
  eg_team *before = lent;
  lent = team;
  return before;
}

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
    body(argument); // has the flags of all pieces
  else
    eg_omp_run(body, argument, threads);
}

uint32_t eg_omp_threads(void) {
  eg_omp_runtime runtime;
  if (lent != NULL) return eg_team_size(lent);
  return eg_omp_find(&runtime) ? (uint32_t)runtime.max_threads() : 0;
}
