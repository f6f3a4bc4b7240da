// Nothing is remembered here: dlopen counts, and finds a library that is loaded already
// by its file.
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // dladdr
#include "exec/cuda_plugin.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec/cuda/plugin_abi.h"
#include "exec/reference_backend.h"

#define PLUGIN_FILE "libegraph_cuda.so"
#define REMEDY                                                                           \
  "build it where nvcc is found (see exec/cuda/README.md), put it beside the library, "  \
  "or name it in EGRAPH_CUDA_PLUGIN"

enum { PATH_BYTES = 4096 };

static const eg_plugin_host host = {.fail = eg_fail,
                                    .fail_context = eg_fail_context,
                                    .reference_compile = eg_reference_compile};

/// Writes "<folder of this code><tail>"; false when that is unknown or too long.
static bool path_beside(const char *tail, char out[PATH_BYTES]) {
  Dl_info info;
  if (dladdr(&host, &info) == 0 || info.dli_fname == NULL) return false;
  const char *slash = strrchr(info.dli_fname, '/');
  int folder = slash == NULL ? 0 : (int)(slash - info.dli_fname + 1);
  int length = snprintf(out, PATH_BYTES, "%.*s%s", folder, info.dli_fname, tail);
  return length > 0 && length < PATH_BYTES;
}

static egraph_status open_file(const char *path, void **out) {
  *out = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (*out != NULL) return EGRAPH_OK;
  const char *why = dlerror();
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "back-end 'cuda': its plugin cannot be loaded: %s; install the "
                 "libraries that are missing, or %s",
                 why != NULL ? why : path, REMEDY);
}

static egraph_status open_library(void **out) {
  static const char *const tails[] = {PLUGIN_FILE, "../lib/" PLUGIN_FILE};
  const char *named = getenv("EGRAPH_CUDA_PLUGIN");
  if (named != NULL && *named != '\0') return open_file(named, out);
  for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
    char path[PATH_BYTES];
    if (path_beside(tails[i], path) && access(path, R_OK) == 0)
      return open_file(path, out);
  }
  return open_file(PLUGIN_FILE, out);
}

egraph_status eg_cuda_plugin_open(const eg_backend_vtable **out) {
  void *library = NULL;
  EG_TRY(open_library(&library));
  const eg_plugin_entry *entry = dlsym(library, EG_PLUGIN_SYMBOL);
  if (entry == NULL)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "back-end 'cuda': the file loaded is no plugin of egraph; %s", REMEDY);
  if (entry->abi != EG_PLUGIN_ABI)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "back-end 'cuda': the plugin belongs to another version of the "
                   "library; use the one built with it");
  EG_TRY(entry->open(&host));
  *out = entry->backend;
  return EGRAPH_OK;
}
