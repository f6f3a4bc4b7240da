// EG_VEC_DEFINE(name, type) defines a growable array `name` of `type`, and its functions.
//
//   EG_VEC_DEFINE(eg_ids, uint32_t)
//   eg_ids ids; eg_ids_init(&ids, alloc);
//   EG_TRY(eg_ids_push(&ids, 7));  ids.data[0] == 7;  eg_ids_deinit(&ids);
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_VEC_H
#define EG_BASE_VEC_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"

#if defined(__GNUC__)
#define EG_MAYBE_UNUSED __attribute__((unused))
#else
#define EG_MAYBE_UNUSED
#endif

#define EG_VEC_DEFINE(name, type)                                                        \
  typedef struct name {                                                                  \
    type *data;                                                                          \
    size_t len, cap;                                                                     \
    egraph_allocator alloc;                                                              \
  } name;                                                                                \
  EG_MAYBE_UNUSED static inline void name##_init(name *vec, egraph_allocator alloc) {    \
    *vec = (name){.alloc = alloc};                                                       \
  }                                                                                      \
  EG_MAYBE_UNUSED static inline void name##_deinit(name *vec) {                          \
    eg_free(vec->alloc, vec->data, vec->cap, sizeof(type));                              \
    name##_init(vec, vec->alloc);                                                        \
  }                                                                                      \
  /* Makes room for `cap` elements in all. */                                            \
  EG_MAYBE_UNUSED static inline egraph_status name##_reserve(name *vec, size_t cap) {    \
    if (cap <= vec->cap) return EGRAPH_OK;                                               \
    size_t grown = vec->cap + vec->cap / 2 + 8;                                          \
    size_t wanted = cap > grown ? cap : grown;                                           \
    EG_TRY(eg_resize(vec->alloc, vec->cap, wanted, sizeof(type), &vec->data));           \
    vec->cap = wanted;                                                                   \
    return EGRAPH_OK;                                                                    \
  }                                                                                      \
  EG_MAYBE_UNUSED static inline egraph_status name##_push(name *vec, type value) {       \
    EG_TRY(name##_reserve(vec, vec->len + 1));                                           \
    vec->data[vec->len++] = value;                                                       \
    return EGRAPH_OK;                                                                    \
  }                                                                                      \
  EG_MAYBE_UNUSED static inline egraph_status name##_append(                             \
      name *vec, type const *values, size_t count) {                                     \
    EG_TRY(name##_reserve(vec, vec->len + count));                                       \
    if (count != 0) memcpy(vec->data + vec->len, values, count * sizeof(type));          \
    vec->len += count;                                                                   \
    return EGRAPH_OK;                                                                    \
  }                                                                                      \
  /* New elements are zero. */                                                           \
  EG_MAYBE_UNUSED static inline egraph_status name##_resize(name *vec, size_t len) {     \
    EG_TRY(name##_reserve(vec, len));                                                    \
    if (len > vec->len)                                                                  \
      memset(vec->data + vec->len, 0, (len - vec->len) * sizeof(type));                  \
    vec->len = len;                                                                      \
    return EGRAPH_OK;                                                                    \
  }                                                                                      \
  /* Gives the array `len` elements, all equal to `value`. */                            \
  EG_MAYBE_UNUSED static inline egraph_status name##_fill(name *vec, size_t len,         \
                                                          type value) {                  \
    EG_TRY(name##_reserve(vec, len));                                                    \
    for (vec->len = 0; vec->len < len;)                                                  \
      vec->data[vec->len++] = value;                                                     \
    return EGRAPH_OK;                                                                    \
  }                                                                                      \
  EG_MAYBE_UNUSED static inline type *name##_at(const name *vec, size_t index) {         \
    assert(index < vec->len);                                                            \
    return &vec->data[index];                                                            \
  }                                                                                      \
  EG_MAYBE_UNUSED static inline type name##_pop(name *vec) {                             \
    assert(vec->len != 0);                                                               \
    return vec->data[--vec->len];                                                        \
  }                                                                                      \
  typedef name name##_needs_semicolon_

EG_VEC_DEFINE(eg_chars, char);
EG_VEC_DEFINE(eg_u32s, uint32_t);
EG_VEC_DEFINE(eg_sizes, size_t);
EG_VEC_DEFINE(eg_doubles, double);

/// Compares two uint32_t for qsort.
static inline int eg_compare_u32s(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

#endif
