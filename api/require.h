// Checks of arguments at the public door: what must not be NULL is named, with the
// function, instead of read.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_REQUIRE_H
#define EG_API_REQUIRE_H

#include "base/status.h"

/// Fails with ARGUMENT when one of `count` pointers is NULL: "<function>: <name> is
/// NULL". `names` are their names, separated by commas.
egraph_status eg_require(const char *function, const char *names,
                         const void *const *pointers, size_t count);

/// Returns from the enclosing function when one of its arguments is NULL.
#define EG_REQUIRE(...)                                                                  \
  EG_TRY(eg_require(__func__, #__VA_ARGS__, (const void *const[]){__VA_ARGS__},          \
                    sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *)))
/// As EG_REQUIRE, of a callback.
#define EG_REQUIRE_CALL(callback)                                                        \
  EG_TRY(eg_require(__func__, #callback,                                                 \
                    (const void *const[]){(callback) != NULL ? __func__ : NULL}, 1))
/// As EG_REQUIRE, of an array: one without elements may be NULL.
#define EG_REQUIRE_ARRAY(array, count)                                                   \
  EG_TRY(eg_require(__func__, #array,                                                    \
                    (const void *const[]){(count) != 0 ? (array) : (void *)__func__},    \
                    1))

#endif
