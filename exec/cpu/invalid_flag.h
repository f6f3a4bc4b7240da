// The floating-point flag "invalid operation". On x86 every minimum, maximum and ordered
// comparison with a NaN raises it, and so does every operation that makes a NaN of
// numbers: a kernel that left it down met no NaN, and thus lost none. Reading it costs
// nothing, where a look at the operands would be one more pass over memory.
//
// Each thread has a flag of its own. A team hands it to the thread that called; threads
// of an OpenMP runtime are asked.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_INVALID_FLAG_H
#define EG_EXEC_CPU_INVALID_FLAG_H

#include <stdbool.h>
#include <stdint.h>

/// True where kernels on `threads` threads (0: unknown) leave flags that can be read.
bool eg_invalid_flag_works(uint32_t threads);
/// Takes the flag down on the threads of the calling thread's parallel regions.
void eg_invalid_flag_clear(uint32_t threads);
/// True when one of these threads has raised it since, and where that cannot be known.
bool eg_invalid_flag_is_up(uint32_t threads);

#endif
