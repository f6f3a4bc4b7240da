// Loads plugins (exec/plugin/plugin_abi.h): the CUDA back-end, transports and channels. A
// plugin is requested by its name, "cuda", or with its file, "cuda:FILE". Without a file
// it is searched in the folder of this library or program, in the folder of libraries
// next to that folder, in the folder above, and in the system's folders. It stays loaded.
//
// This file keeps no state: dlopen counts, and recognizes a loaded library by its file.
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // dladdr1, fileno

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec/backend.h"
#include "exec/plugin/plugin_abi.h"

enum { PATH_BYTES = 4096 };

typedef struct plugin {
  const char *what; // "back-end", for messages
  const char *name; // name that callers give, with or without ":FILE"
  const char *file;
  const char *symbol;
  const char *needs; // requirements to build and run it
} plugin;

static const plugin cuda = {.what = "back-end",
                            .name = EG_CUDA_BACKEND_NAME,
                            .file = "libegraph_cuda.so",
                            .symbol = EG_CUDA_PLUGIN_SYMBOL,
                            .needs = "nvcc, cuBLASLt and cuDNN"};
static const plugin nccl = {.what = "transport",
                            .name = "nccl",
                            .file = "libegraph_nccl.so",
                            .symbol = EG_NCCL_PLUGIN_SYMBOL,
                            .needs = "nvcc and NCCL"};
static const plugin mpi = {.what = "channel",
                           .name = "mpi",
                           .file = "libegraph_mpi.so",
                           .symbol = EG_MPI_PLUGIN_SYMBOL,
                           .needs = "MPI (libopenmpi-dev)"};

static const eg_plugin_host host = {.fail = eg_fail,
                                    .fail_context = eg_fail_context,
                                    .last_error = egraph_last_error,
                                    .reference_compile = eg_reference_compile};

// ---- files ------------------------------------------------------------------------

/// Finds the folder of this library or program, with a slash behind it; "": unknown.
static void find_own_folder(char out[PATH_BYTES]) {
  Dl_info info;
  struct link_map *map = NULL;
  out[0] = '\0';
  if (dladdr1(&host, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL) return;
  if (map->l_name[0] != '\0') { // empty: the program, which dladdr names as called
    snprintf(out, PATH_BYTES, "%s", map->l_name);
  } else {
    ssize_t length = readlink("/proc/self/exe", out, PATH_BYTES - 1);
    out[length < 0 ? 0 : length] = '\0';
  }
  char *slash = strrchr(out, '/');
  out[slash == NULL ? 0 : slash + 1 - out] = '\0';
}

/// True when `length` bytes at `offset` lie within the first `size` bytes.
static bool fits_in_file(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;
}

/// True when the end of a library's file is missing, as after an interrupted copy: its
/// tables or a segment reach beyond the file. The loader would map the missing part and
/// crash. False for a file that is no library: the loader reports it.
static bool is_cut_off(FILE *file) {
  ElfW(Ehdr) head;
  ElfW(Phdr) segment;
  struct stat info;
  if (fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  uint64_t size = (uint64_t)info.st_size;
  if (fread(&head, sizeof head, 1, file) != 1)
    return fseek(file, 0, SEEK_SET) == 0 && fread(head.e_ident, SELFMAG, 1, file) == 1 &&
           memcmp(head.e_ident, ELFMAG, SELFMAG) == 0;
  if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (!fits_in_file(head.e_shoff, (uint64_t)head.e_shnum * head.e_shentsize, size) ||
      !fits_in_file(head.e_phoff, (uint64_t)head.e_phnum * sizeof segment, size))
    return true;
  if (fseek(file, (long)head.e_phoff, SEEK_SET) != 0) return true;
  for (uint32_t i = 0; i < head.e_phnum; i++) {
    if (fread(&segment, sizeof segment, 1, file) != 1) return true;
    if (!fits_in_file(segment.p_offset, segment.p_filesz, size)) return true;
  }
  return false;
}

static egraph_status check_whole(const plugin *p, const char *path) {
  FILE *file = fopen(path, "rb");
  bool is_broken = file != NULL && is_cut_off(file);
  if (file != NULL) (void)fclose(file);
  if (!is_broken) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "%s '%s': the end of %s is missing; copy or build it again", p->what,
                 p->name, path);
}

static egraph_status open_file(const plugin *p, const char *path, const char *searched,
                               void **out) {
  EG_TRY(check_whole(p, path));
  *out = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (*out != NULL) return EGRAPH_OK;
  const char *why = dlerror();
  return EG_FAIL(
      EGRAPH_E_UNSUPPORTED,
      "%s '%s': its plugin cannot be loaded: %s%s; install %s, build egraph with "
      "it and put %s beside the library, or ask for '%s:FILE'",
      p->what, p->name, why != NULL ? why : path, searched, p->needs, p->file, p->name);
}

static bool is_asked(const plugin *p, const char *asked) {
  size_t length = strlen(p->name);
  return strncmp(asked, p->name, length) == 0 &&
         (asked[length] == '\0' || asked[length] == ':');
}

static egraph_status open_library(const plugin *p, const char *asked, void **out) {
  static const char *const tails[] = {"", "../" EG_LIBRARY_FOLDER "/", "../"};
  const char *rest = asked + strlen(p->name);
  if (rest[0] == ':' && rest[1] != '\0') return open_file(p, rest + 1, "", out);
  char folder[PATH_BYTES], path[PATH_BYTES + 64];
  find_own_folder(folder);
  for (size_t i = 0; folder[0] != '\0' && i < sizeof tails / sizeof *tails; i++) {
    snprintf(path, sizeof path, "%s%s%s", folder, tails[i], p->file);
    if (access(path, R_OK) == 0) return open_file(p, path, "", out);
  }
  snprintf(path, sizeof path, " (nor is it in %.400s, ../" EG_LIBRARY_FOLDER " or ..)",
           folder[0] != '\0' ? folder : "the folder of the program, which is unknown");
  return open_file(p, p->file, path, out);
}

static egraph_status load_plugin(const plugin *p, const char *asked,
                                 const eg_plugin_entry **out) {
  void *library = NULL;
  EG_TRY(open_library(p, asked, &library));
  const eg_plugin_entry *entry = dlsym(library, p->symbol);
  if (entry == NULL)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "%s '%s': the file loaded is no plugin of egraph for it; ask for "
                   "another one, '%s:FILE'",
                   p->what, p->name, p->name);
  if (entry->abi != EG_PLUGIN_ABI)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "%s '%s': the plugin belongs to another version of the library; use "
                   "the one built with it",
                   p->what, p->name);
  EG_TRY(entry->open(&host));
  *out = entry;
  return EGRAPH_OK;
}

// ---- plugins ----------------------------------------------------------------------

bool eg_cuda_plugin_is_asked(const char *name) { return is_asked(&cuda, name); }

egraph_status eg_cuda_plugin_open(const char *name, const eg_backend_vtable **out) {
  const eg_plugin_entry *entry;
  EG_TRY(load_plugin(&cuda, name, &entry));
  *out = entry->backend;
  return EGRAPH_OK;
}

egraph_status eg_transport_find(const char *name, const eg_transport_vtable **out) {
  const eg_plugin_entry *entry;
  if (!is_asked(&nccl, name))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "no transport '%s' between devices; there is 'nccl', and none, which "
                   "goes through host memory",
                   name);
  EG_TRY(load_plugin(&nccl, name, &entry));
  *out = entry->transport;
  return EGRAPH_OK;
}

egraph_status eg_channel_open(const egraph_allocator *alloc, const char *name,
                              const eg_mesh *mesh, const eg_channel_options *options,
                              eg_channel **out) {
  const eg_plugin_entry *entry;
  if (!is_asked(&mpi, name))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "no channel '%s' between processes; there is 'mpi'",
                   name);
  EG_TRY(load_plugin(&mpi, name, &entry));
  return entry->channel(alloc, mesh, options, out);
}
