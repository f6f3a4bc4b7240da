// A node program of the CPU back-end: stages (cpu_builder.h) that the family of the
// operator lists, then bound to memory and run.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_PROGRAM_H
#define EG_EXEC_CPU_PROGRAM_H

#include "exec/backend.h"
#include "exec/cpu/dnnl_support.h"

/// Compiles through the family of the operator. Fails with EGRAPH_E_UNSUPPORTED when that
/// has no kernel.
egraph_status eg_cpu_program_create(egraph_allocator alloc, dnnl_engine_t engine,
                                    dnnl_stream_t stream,
                                    const eg_compile_request *request, eg_program **out);

#endif
