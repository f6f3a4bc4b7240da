// Redirects oneDNN's calls of the OpenMP runtime: its parallel regions run on teams.
//
// Calls from one shared object to functions of another go through the calling object's
// table of addresses. Changing an entry changes the calls of that object alone, whereas a
// preloaded function of the same name would take the calls of the whole process. The
// relocation tables say which entry belongs to which name. The linker protects the
// entries after filling them (RELRO); they are writable only during the change.
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // RTLD_DEFAULT, dladdr1
#include <assert.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exec/backend.h"
#include "exec/cpu/kernel_threads.h"

typedef struct import {
  const char *name;
  void (*function)(void); // the function that the object shall call instead
} import;

// The parts of an object's dynamic section that are used here.
typedef struct object {
  const ElfW(Sym) * symbols;
  const char *strings;
  const ElfW(Rela) * tables[2]; // relocations of calls, and all others
  size_t bytes[2];
  ElfW(Addr) base;
} object;

static struct link_map *map_of(void *address) {
  Dl_info info;
  void *map = NULL;
  return dladdr1(address, &info, &map, RTLD_DL_LINKMAP) != 0 ? map : NULL;
}

// Returns an absolute address: some systems store addresses relative to the object.
static const void *absolute(const struct link_map *map, ElfW(Addr) address) {
  if (address < map->l_addr) address += map->l_addr;
  const void *out;
  memcpy(&out, &address, sizeof out);
  return out;
}

static bool read_object(const struct link_map *map, object *out) {
  *out = (object){.base = map->l_addr};
  bool has_addends = true;
  for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
    const void *address = absolute(map, entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) out->symbols = address;
    if (entry->d_tag == DT_STRTAB) out->strings = address;
    if (entry->d_tag == DT_JMPREL) out->tables[0] = address;
    if (entry->d_tag == DT_PLTRELSZ) out->bytes[0] = entry->d_un.d_val;
    if (entry->d_tag == DT_RELA) out->tables[1] = address;
    if (entry->d_tag == DT_RELASZ) out->bytes[1] = entry->d_un.d_val;
    if (entry->d_tag == DT_PLTREL) has_addends = entry->d_un.d_val == DT_RELA;
  }
  return out->symbols != NULL && out->strings != NULL && has_addends;
}

static uint32_t symbol_index(const ElfW(Rela) * relocation) {
#if UINTPTR_MAX > 0xffffffffu
  return (uint32_t)ELF64_R_SYM(relocation->r_info);
#else
  return (uint32_t)ELF32_R_SYM(relocation->r_info);
#endif
}

/// Finds a function in the object's table of addresses; NULL: it is not imported.
static void *find_entry(const object *o, const char *name) {
  for (unsigned t = 0; t < 2; t++)
    for (size_t i = 0; i < o->bytes[t] / sizeof **o->tables; i++) {
      const ElfW(Rela) *relocation = &o->tables[t][i];
      const ElfW(Sym) *symbol = &o->symbols[symbol_index(relocation)];
      if (symbol_index(relocation) == 0 || relocation->r_addend != 0 ||
          strcmp(o->strings + symbol->st_name, name) != 0)
        continue;
      void *entry;
      ElfW(Addr) address = o->base + relocation->r_offset;
      memcpy(&entry, &address, sizeof entry);
      return entry;
    }
  return NULL;
}

typedef struct protection {
  const void *entry;
  bool is_fixed; // the linker protects the entry after filling it
} protection;

static int look_up_protection(struct dl_phdr_info *info, size_t size, void *user) {
  protection *p = user;
  (void)size;
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_GNU_RELRO && (uintptr_t)p->entry >= begin &&
        (uintptr_t)p->entry < begin + segment->p_memsz)
      p->is_fixed = true;
  }
  return p->is_fixed;
}

static bool write_entry(void *entry, void (*function)(void)) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *begin = (char *)entry - (uintptr_t)entry % page;
  protection p = {.entry = entry};
  (void)dl_iterate_phdr(look_up_protection, &p);
  if (mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return false;
  atomic_store((_Atomic uintptr_t *)entry, (uintptr_t)function);
  return !p.is_fixed || mprotect(begin, page, PROT_READ) == 0;
}

/// Keeps the object that contains a function loaded; the main program stays anyway.
static bool stay_loaded(void (*function)(void)) {
  void *address;
  memcpy(&address, &function, sizeof address);
  struct link_map *map = map_of(address);
  return map != NULL && dlopen(map->l_name[0] != '\0' ? map->l_name : NULL,
                               RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != NULL;
}

/// Replaces imports of the object that contains `inside`, until the process ends; the
/// object with the new functions stays loaded until then. Returns false and changes
/// nothing when the object does not import the first function, or the system does not let
/// its table be changed. Functions that are not imported are skipped. Concurrent calls of
/// other threads may go to either function. Call it from one thread at a time.
static bool replace_imports(void *inside, const import *imports, unsigned count) {
  assert(count != 0);
  object o;
  struct link_map *map = map_of(inside);
  if (map == NULL || !read_object(map, &o)) return false;
  if (find_entry(&o, imports[0].name) == NULL || !stay_loaded(imports[0].function))
    return false;
  // The first function comes last: replacing it decides whether the others are replaced.
  for (unsigned i = count; i-- > 0;) {
    void *entry = find_entry(&o, imports[i].name);
    if (entry != NULL && !write_entry(entry, imports[i].function)) return false;
  }
  return true;
}

// ---- in the runtime's place -------------------------------------------------------

// The functions of the runtime that oneDNN calls.
typedef struct omp_calls {
  void (*parallel)(void (*)(void *), void *, unsigned, unsigned);
  void (*barrier)(void);
  int (*max_threads)(void), (*threads)(void), (*thread)(void), (*in_parallel)(void);
} omp_calls;

/// Returns the OpenMP runtime's functions; filled before oneDNN calls egraph's.
static omp_calls *runtime_calls(void) {
  static omp_calls calls;
  return &calls;
}

static void parallel(void (*body)(void *), void *argument, unsigned threads,
                     unsigned flags) {
  eg_team_piece piece;
  eg_team *team = eg_team_piece_of_caller(&piece) ? piece.team : eg_omp_lent();
  if (threads == 0 && team != NULL) threads = eg_team_size(team);
  if (team != NULL && threads <= eg_team_size(team))
    eg_team_run(team, body, argument, threads);
  else
    runtime_calls()->parallel(body, argument, threads, flags);
}

static void barrier(void) {
  eg_team_piece piece;
  if (eg_team_piece_of_caller(&piece))
    eg_team_barrier();
  else
    runtime_calls()->barrier();
}

static int max_threads(void) {
  eg_team_piece piece;
  if (eg_team_piece_of_caller(&piece)) return 1;
  const eg_team *lent = eg_omp_lent();
  return lent != NULL ? (int)eg_team_size(lent) : runtime_calls()->max_threads();
}

static int threads_of_region(void) {
  eg_team_piece piece;
  return eg_team_piece_of_caller(&piece) ? (int)piece.count : runtime_calls()->threads();
}

static int thread_of_region(void) {
  eg_team_piece piece;
  return eg_team_piece_of_caller(&piece) ? (int)piece.index : runtime_calls()->thread();
}

static int in_parallel(void) {
  eg_team_piece piece;
  return eg_team_piece_of_caller(&piece) ? piece.count > 1
                                         : runtime_calls()->in_parallel();
}

static bool take_place(void) {
  static const import imports[] = {
      {"GOMP_parallel", (void (*)(void))parallel},
      {"GOMP_barrier", (void (*)(void))barrier},
      {"omp_get_max_threads", (void (*)(void))max_threads},
      {"omp_get_num_threads", (void (*)(void))threads_of_region},
      {"omp_get_thread_num", (void (*)(void))thread_of_region},
      {"omp_in_parallel", (void (*)(void))in_parallel},
  };
  omp_calls *calls = runtime_calls();
  void *inside = dlsym(RTLD_DEFAULT, "dnnl_primitive_execute");
  return inside != NULL && eg_function_find("GOMP_parallel", &calls->parallel) &&
         eg_function_find("GOMP_barrier", &calls->barrier) &&
         eg_function_find("omp_get_max_threads", &calls->max_threads) &&
         eg_function_find("omp_get_num_threads", &calls->threads) &&
         eg_function_find("omp_get_thread_num", &calls->thread) &&
         eg_function_find("omp_in_parallel", &calls->in_parallel) &&
         replace_imports(inside, imports, sizeof imports / sizeof *imports);
}

static atomic_bool *takes_teams(void) {
  static atomic_bool takes;
  return &takes;
}

bool eg_omp_takes_teams(void) { return atomic_load(takes_teams()); }

bool eg_cpu_use_own_threads(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static bool is_tried;
  (void)pthread_mutex_lock(&lock);
  if (!is_tried) atomic_store(takes_teams(), take_place());
  is_tried = true;
  (void)pthread_mutex_unlock(&lock);
  return eg_omp_takes_teams();
}
