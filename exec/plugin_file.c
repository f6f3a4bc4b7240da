// Nothing is remembered here: dlopen counts, and finds a library that is loaded already
// by its file.
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // dladdr
#include "exec/plugin_file.h"

#include <dlfcn.h>
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
      "%s '%s': its plugin cannot be loaded: %s; install the libraries that are "
      "missing, or build it where nvcc is found, put it beside the library, or ask for "
      "'%s:FILE'",
      name->what, name->name, why != NULL ? why : path, name->name);
}

/// The file behind the name; NULL: none is asked for.
static const char *file_asked_for(const eg_plugin_name *name, const char *asked) {
  const char *rest = asked + strlen(name->name);
  return rest[0] == ':' && rest[1] != '\0' ? rest + 1 : NULL;
}

bool eg_plugin_is_asked(const eg_plugin_name *name, const char *asked) {
  size_t length = strlen(name->name);
  return strncmp(asked, name->name, length) == 0 &&
         (asked[length] == '\0' || asked[length] == ':');
}

static egraph_status open_library(const eg_plugin_name *name, const char *asked,
                                  void **out) {
  static const char *const tails[] = {"", "../lib/"};
  const char *file = file_asked_for(name, asked);
  if (file != NULL) return open_file(name, file, out);
  for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
    char path[PATH_BYTES];
    if (path_beside(tails[i], name->file, path) && access(path, R_OK) == 0)
      return open_file(name, path, out);
  }
  return open_file(name, name->file, out);
}

egraph_status eg_plugin_load(const eg_plugin_name *name, const char *asked,
                             const eg_plugin_entry **out) {
  void *library = NULL;
  EG_TRY(open_library(name, asked, &library));
  const eg_plugin_entry *entry = dlsym(library, name->symbol);
  if (entry == NULL)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "%s '%s': the file loaded is no plugin of egraph for it; ask for "
                   "another one, '%s:FILE'",
                   name->what, name->name, name->name);
  if (entry->abi != EG_PLUGIN_ABI)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "%s '%s': the plugin belongs to another version of the library; use "
                   "the one built with it",
                   name->what, name->name);
  EG_TRY(entry->open(&host));
  *out = entry;
  return EGRAPH_OK;
}
