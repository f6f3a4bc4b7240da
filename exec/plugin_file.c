// Nothing is remembered here: dlopen counts, and finds a library that is loaded already
// by its file.
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // dladdr
#include "exec/plugin_file.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec/reference_backend.h"

enum { PATH_BYTES = 4096 };

static const eg_plugin_host host = {.fail = eg_fail,
                                    .fail_context = eg_fail_context,
                                    .reference_compile = eg_reference_compile};

/// Writes "<folder of this code><tail><file>"; false when that is unknown or too long.
static bool path_beside(const char *tail, const char *file, char out[PATH_BYTES]) {
  Dl_info info;
  if (dladdr(&host, &info) == 0 || info.dli_fname == NULL) return false;
  const char *slash = strrchr(info.dli_fname, '/');
  int folder = slash == NULL ? 0 : (int)(slash - info.dli_fname + 1);
  int length = snprintf(out, PATH_BYTES, "%.*s%s%s", folder, info.dli_fname, tail, file);
  return length > 0 && length < PATH_BYTES;
}

static egraph_status open_file(const eg_plugin_name *name, const char *path, void **out) {
  *out = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (*out != NULL) return EGRAPH_OK;
  const char *why = dlerror();
  return EG_FAIL(
      EGRAPH_E_UNSUPPORTED,
      "%s: its plugin cannot be loaded: %s; install the libraries that are "
      "missing, or build it where nvcc is found (see exec/cuda/README.md), put "
      "it beside the library, or name it in %s",
      name->what, why != NULL ? why : path, name->variable);
}

static egraph_status open_library(const eg_plugin_name *name, void **out) {
  static const char *const tails[] = {"", "../lib/"};
  const char *named = getenv(name->variable);
  if (named != NULL && *named != '\0') return open_file(name, named, out);
  for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
    char path[PATH_BYTES];
    if (path_beside(tails[i], name->file, path) && access(path, R_OK) == 0)
      return open_file(name, path, out);
  }
  return open_file(name, name->file, out);
}

egraph_status eg_plugin_load(const eg_plugin_name *name, const eg_plugin_entry **out) {
  void *library = NULL;
  EG_TRY(open_library(name, &library));
  const eg_plugin_entry *entry = dlsym(library, name->symbol);
  if (entry == NULL)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "%s: the file loaded is no plugin of egraph for it; name another one "
                   "in %s",
                   name->what, name->variable);
  if (entry->abi != EG_PLUGIN_ABI)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "%s: the plugin belongs to another version of the library; use the "
                   "one built with it",
                   name->what);
  EG_TRY(entry->open(&host));
  *out = entry;
  return EGRAPH_OK;
}
