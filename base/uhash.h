// The only includer of uthash. Allocation goes through a local variable `uhash_alloc` of
// type egraph_allocator that every function using a HASH_ macro must have in scope; a
// failed insertion is reported by `uhash_failed` (also local), never by exit().
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_UHASH_H
#define EG_BASE_UHASH_H

#include <stddef.h>

#include "base/memory.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) uhash_alloc.resize(uhash_alloc.self, NULL, 0, (size))
#define uthash_free(pointer, size)                                                       \
  ((void)uhash_alloc.resize(uhash_alloc.self, (pointer), (size), 0))
#define uthash_nonfatal_oom(element) ((void)(element), uhash_failed = true)

#include <uthash.h>

#endif
