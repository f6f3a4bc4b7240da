// The CPU back-end: oneDNN, with the reference kernels where that has none.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_BACKEND_H
#define EG_EXEC_CPU_BACKEND_H

#include "exec/backend.h"

extern const eg_backend_vtable eg_cpu_backend;

#endif
