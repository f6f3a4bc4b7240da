// Enumerations with names, made from a list macro with a row X(id, "name", ...) for
// each id:
//
//   #define EG_PORTS_LIST(X) X(EG_PORTS_SWITCH, "switch") X(EG_PORTS_TORUS, "torus")
//   typedef enum eg_ports { EG_PORTS_LIST(EG_ENUM_ID) EG_PORTS_COUNT } eg_ports;
//   EG_NAME_DEFINE(eg_ports, eg_ports_name, EG_PORTS_LIST)  const char *eg_ports_name(id)
//   EG_FIND_DEFINE(eg_ports, eg_ports_find, EG_PORTS_LIST)  bool eg_ports_find(name, &id)
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASE_NAMES_H
#define EG_BASE_NAMES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define EG_ENUM_ID(id, ...) id,
#define EG_ENUM_NAME(id, ...) EG_FIRST_(__VA_ARGS__, 0),
#define EG_FIRST_(first, ...) first

/// Defines the function that returns the name of an id.
#define EG_NAME_DEFINE(type, function, LIST)                                             \
  const char *function(type id) {                                                        \
    static const char *const names[] = {LIST(EG_ENUM_NAME)};                             \
    assert((size_t)id < sizeof names / sizeof *names);                                   \
    return names[id];                                                                    \
  }
/// Defines the function that finds the id with a name; false when there is none.
#define EG_FIND_DEFINE(type, function, LIST)                                             \
  bool function(const char *name, type *out) {                                           \
    static const char *const names[] = {LIST(EG_ENUM_NAME)};                             \
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)                            \
      if (strcmp(names[i], name) == 0) {                                                 \
        *out = (type)i;                                                                  \
        return true;                                                                     \
      }                                                                                  \
    return false;                                                                        \
  }

#endif
