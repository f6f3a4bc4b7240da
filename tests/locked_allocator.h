// An allocator that several threads may call at once, over one that only one may.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_LOCKED_ALLOCATOR_H
#define EG_TESTS_LOCKED_ALLOCATOR_H

#include <pthread.h>

#include "tests/testing.h"

typedef struct locked_allocator {
  egraph_allocator inner;
  pthread_mutex_t lock;
} locked_allocator;

static inline void *locked_resize(void *self, void *pointer, size_t old_size,
                                  size_t new_size) {
  locked_allocator *locked = self;
  (void)pthread_mutex_lock(&locked->lock);
  void *fresh = locked->inner.resize(locked->inner.self, pointer, old_size, new_size);
  (void)pthread_mutex_unlock(&locked->lock);
  return fresh;
}

/// `locked` must outlive what it allocates; nothing needs to be freed.
static inline egraph_allocator locked_allocator_over(locked_allocator *locked,
                                                     egraph_allocator inner) {
  locked->inner = inner;
  (void)pthread_mutex_init(&locked->lock, NULL);
  return (egraph_allocator){.self = locked, .resize = locked_resize};
}

#endif
