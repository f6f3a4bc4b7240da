// Calls that one shared object makes of functions of another go through a table of
// addresses of its own. Changing an entry changes the calls of that object alone, where a
// function of the same name in front would take the calls of the whole process.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXEC_CPU_IMPORT_TABLE_H
#define EG_EXEC_CPU_IMPORT_TABLE_H

#include <stdbool.h>

typedef struct eg_import {
  const char *name;
  void (*function)(void); // what the object shall call instead
} eg_import;

/// Changes the imports of the object that the function `inside` belongs to, until the
/// process ends; the object of `imports`' functions stays loaded as long. False, with
/// nothing changed, when the object does not import the first one, or the system does
/// not let its table be changed. Names that are not imported are left out. Calls under
/// way in other threads go one way or the other. From one thread at a time.
bool eg_imports_replace(void *inside, const eg_import *imports, unsigned count);

#endif
