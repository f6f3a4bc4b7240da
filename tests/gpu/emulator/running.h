// The thread of a kernel that runs, as the checks of its accesses see it.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_RUNNING_H
#define EG_TESTS_RUNNING_H

#include "tests/gpu/emulator/emulator.h"

/// Times are counts of synchronizations: what is before `launch_start` was in an earlier
/// launch, before `block_start` in another block; `barrier` and `warps[w]` are when all
/// threads of the block and of warp w last waited for each other.
typedef struct eg_running {
  const eg_launch_request *request; // NULL: no kernel runs
  const char *stack, *stack_end;
  uint32_t thread, block, threads, blocks;
  uint32_t now, launch_start, block_start, barrier;
  uint32_t warps[EG_MOST_THREADS / EG_WARP];
} eg_running;
/// Variables of threads whose address needs no call, as every access looks at them.
#define EG_NEAR __attribute__((tls_model("initial-exec")))
extern EG_NEAR _Thread_local eg_running eg_running_thread;

/// Ends the launch.
__attribute__((noreturn, format(printf, 1, 2))) void eg_emulator_fail(const char *format,
                                                                      ...);

#endif
