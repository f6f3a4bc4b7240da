// Compiled programs by what they compute: equal specs share one.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_PROGRAM_CACHE_H
#define EG_EXEC_PROGRAM_CACHE_H

#include "base/strmap.h"
#include "exec/backend.h"

EG_VEC_DEFINE(eg_program_refs, eg_program *);

typedef struct eg_program_cache {
  eg_program_refs programs;
  eg_strmap index; // spec text and dying operands -> place in programs
} eg_program_cache;

void eg_program_cache_init(eg_program_cache *cache, egraph_allocator alloc);
/// Destroys the programs; before the back-end goes.
void eg_program_cache_deinit(eg_program_cache *cache);
/// The program of a request, compiled or found. Borrowed from the cache.
egraph_status eg_program_cache_find(eg_program_cache *cache, eg_backend *backend,
                                    const eg_compile_request *request, eg_program **out);

#endif
