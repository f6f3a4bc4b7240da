// Asked for by name in what is loaded, instead of linking a second runtime.
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // RTLD_DEFAULT
#include "exec/cpu/omp_runtime.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

bool eg_omp_find(eg_omp_runtime *out) {
  void *set = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
  void *get = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
  void *parallel = dlsym(RTLD_DEFAULT, "GOMP_parallel"); // LLVM's has it too
  if (set == NULL || get == NULL || parallel == NULL) return false;
  // ISO C has no cast from object to function pointers.
  memcpy(&out->set_threads, &set, sizeof out->set_threads);
  memcpy(&out->max_threads, &get, sizeof out->max_threads);
  memcpy(&out->parallel, &parallel, sizeof out->parallel);
  return true;
}

void eg_omp_run(void (*body)(void *), void *argument, uint32_t threads) {
  eg_omp_runtime runtime;
  if (threads > 1 && eg_omp_find(&runtime))
    runtime.parallel(body, argument, threads, 0);
  else
    body(argument);
}

uint32_t eg_omp_threads(void) {
  eg_omp_runtime runtime;
  return eg_omp_find(&runtime) ? (uint32_t)runtime.max_threads() : 0;
}
