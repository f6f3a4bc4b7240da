// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/invalid_flag.h"

#include <fenv.h>
#include <stdatomic.h>
#include <stddef.h>

#include "exec/cpu/omp_runtime.h"

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
