// The back-end under test: the plugin that EGRAPH_CUDA_PLUGIN names, as on a machine with
// a device, or the one that was built for the emulator.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_GPU_DEVICE_NAME_H
#define EG_TESTS_GPU_DEVICE_NAME_H

#include <stdio.h>
#include <stdlib.h>

/// "cuda:FILE".
static inline const char *device_name(void) {
  static char name[4200];
  const char *file = getenv("EGRAPH_CUDA_PLUGIN");
  (void)snprintf(name, sizeof name, "cuda:%s", file != NULL ? file : EG_CUDA_PLUGIN_FILE);
  return name;
}

#endif
