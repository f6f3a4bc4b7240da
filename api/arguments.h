// Arguments of public functions. Messages name a NULL pointer and the function. Structs
// of options may be of an older version; members that they lack have their defaults.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_API_ARGUMENTS_H
#define EG_API_ARGUMENTS_H

#include "base/status.h"

/// Fails with ARGUMENT when one of `count` pointers is NULL: "<function>: <name> is
/// NULL". `names` are the names of the pointers, separated by commas.
egraph_status eg_require(const char *function, const char *names,
                         const void *const *pointers, size_t count);

/// Returns from the enclosing function when one of its arguments is NULL.
#define EG_REQUIRE(...)                                                                  \
  EG_TRY(eg_require(__func__, #__VA_ARGS__, (const void *const[]){__VA_ARGS__},          \
                    sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *)))
/// Like EG_REQUIRE, for a callback.
#define EG_REQUIRE_CALL(callback)                                                        \
  EG_TRY(eg_require(__func__, #callback,                                                 \
                    (const void *const[]){(callback) != NULL ? __func__ : NULL}, 1))
/// Like EG_REQUIRE, for an array, which may be NULL when it has no elements.
#define EG_REQUIRE_ARRAY(array, count)                                                   \
  EG_TRY(eg_require(__func__, #array,                                                    \
                    (const void *const[]){(count) != 0 ? (array) : (void *)__func__},    \
                    1))

/// Fills *out, the whole struct of this library, from the caller's struct (NULL: the
/// defaults). Fails with EGRAPH_E_ARGUMENT for a size that no version of the struct has.
egraph_status eg_options_take(egraph_options_kind kind, const void *given, void *out);
/// Checks the lists of patterns. Fails with EGRAPH_E_ARGUMENT when a list is NULL or
/// contains NULL.
egraph_status eg_training_patterns_check(const egraph_training *training);

#endif
