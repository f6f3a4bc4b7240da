// Loads and stores of kernels, seen through the calls that -fsanitize=thread compiles in;
// the functions behind them are these, not those of the compiler's library.
//
// A region is a piece of device memory, or a shared variable of the thread that emulates
// the block. Every byte of it has a cell that remembers who used it last:
//
//   writes, then reads or writes   a race, unless something orders the two
//   reads, then writes             the same
//
// Two accesses are ordered when they are of one thread, of two launches, of one block
// with a barrier between them, or of one warp with __syncwarp of all of it between them.
// Shared variables are found in the symbol table of the file that holds the kernel, with
// their exact sizes.
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/gpu/emulator/running.h"

/// Times, as eg_running has them; 0: never.
typedef struct cell {
  uint32_t write, read; // the last ones
  uint32_t others;  // the last read of another thread than `reader`, unordered with it
  uint32_t foreign; // the last read of a block before that of `reader`
  uint16_t writer, reader, other;
  bool is_atomic; // the write
} cell;

typedef struct region {
  const char *start;
  size_t bytes;
  cell *cells;     // NULL: not used yet
  bool is_dynamic; // shared memory, of which a kernel has what its launch asks for
  char name[64];
} region;

typedef struct regions {
  region *items; // by address
  uint32_t count, capacity;
} regions;

typedef enum access_kind { READ, WRITE, ATOMIC } access_kind;

static regions memory;               // of the device; under its mutex
static _Thread_local regions shared; // of kernels that ran in this thread
static _Thread_local const void **scanned;
static _Thread_local uint32_t scanned_count;

// ---- regions ----------------------------------------------------------------------

/// The first region that ends behind the address.
static uint32_t find_place(const regions *in, const char *address) {
  uint32_t low = 0, high = in->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const region *r = &in->items[middle];
    if (r->start + r->bytes <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static region *find_region(const regions *in, const char *address) {
  uint32_t at = find_place(in, address);
  return at < in->count && in->items[at].start <= address ? &in->items[at] : NULL;
}

static void add_region(regions *to, const char *start, size_t bytes, const char *name) {
  uint32_t at = find_place(to, start);
  if (to->count == to->capacity) {
    to->capacity = to->capacity * 2 + 16;
    to->items = realloc(to->items, to->capacity * sizeof *to->items);
  }
  memmove(&to->items[at + 1], &to->items[at], (to->count - at) * sizeof *to->items);
  to->count++;
  to->items[at] = (region){.start = start, .bytes = bytes};
  to->items[at].is_dynamic = strcmp(name, "dynamic_shared") == 0;
  snprintf(to->items[at].name, sizeof to->items[at].name, "%s", name);
}

/// Cells are pages that come when they are touched.
static size_t bytes_of_cells(const region *r) { return r->bytes * sizeof *r->cells; }

static void need_cells(region *r) {
  if (r->cells != NULL) return;
  r->cells = mmap(NULL, bytes_of_cells(r), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (r->cells == MAP_FAILED) abort();
}

void eg_emulator_add_memory(void *start, size_t bytes) {
  add_region(&memory, start, bytes, "");
}

void eg_emulator_remove_memory(void *start) {
  region *r = find_region(&memory, start);
  if (r == NULL) return;
  if (r->cells != NULL) (void)munmap(r->cells, bytes_of_cells(r));
  size_t behind = (size_t)(memory.items + memory.count - (r + 1));
  memmove(r, r + 1, behind * sizeof *r);
  memory.count--;
}

bool eg_emulator_has_memory(const void *start, size_t bytes) {
  const region *r = find_region(&memory, start);
  return bytes == 0 || (r != NULL && (const char *)start + bytes <= r->start + r->bytes);
}

// ---- shared variables -------------------------------------------------------------

typedef struct module {
  const void *code; // in it
  const char *variables, *file;
  const void *base;
} module;

static int is_module(struct dl_phdr_info *info, size_t bytes, void *data) {
  module *m = data;
  bool has_code = false, has_variables = false;
  (void)bytes;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    uintptr_t at = (uintptr_t)m->code - info->dlpi_addr - p->p_vaddr;
    has_code = has_code || (p->p_type == PT_LOAD && at < p->p_memsz);
    has_variables = has_variables || p->p_type == PT_TLS;
  }
  if (!has_code || !has_variables || info->dlpi_tls_data == NULL) return 0;
  m->variables = info->dlpi_tls_data;
  m->file = info->dlpi_name[0] != '\0' ? info->dlpi_name : "/proc/self/exe";
  return 1;
}

static void read_symbols(const char *file, const char *variables) {
  const ElfW(Ehdr) *head = (const void *)file;
  const ElfW(Shdr) *sections = (const void *)(file + head->e_shoff);
  for (int s = 0; s < head->e_shnum; s++) {
    if (sections[s].sh_type != SHT_SYMTAB) continue;
    const ElfW(Sym) *symbols = (const void *)(file + sections[s].sh_offset);
    const char *names = file + sections[sections[s].sh_link].sh_offset;
    for (size_t i = 0; i < sections[s].sh_size / sizeof *symbols; i++)
      if (ELF64_ST_TYPE(symbols[i].st_info) == STT_TLS &&
          symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_size != 0)
        add_region(&shared, variables + symbols[i].st_value, symbols[i].st_size,
                   names + symbols[i].st_name);
  }
}

/// Adds the shared variables of the file that holds the kernel, once it has some in this
/// thread; false: there are no new ones.
static bool find_shared(const void *code) {
  module m = {.code = code};
  struct stat status;
  if (dl_iterate_phdr(is_module, &m) == 0) return false;
  for (uint32_t i = 0; i < scanned_count; i++)
    if (scanned[i] == m.variables) return false;
  scanned = realloc(scanned, (scanned_count + 1) * sizeof *scanned);
  scanned[scanned_count++] = m.variables;
  int descriptor = open(m.file, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 || fstat(descriptor, &status) != 0) abort();
  char *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (file == MAP_FAILED) abort();
  read_symbols(file, m.variables);
  (void)munmap(file, (size_t)status.st_size);
  (void)close(descriptor);
  return true;
}

// ---- races ------------------------------------------------------------------------

/// An access: of which kind, to what; nothing before `since` matters to it.
typedef struct use {
  access_kind kind;
  const region *in;
  bool is_shared;
  uint32_t since;
} use;

/// Whether an access of thread `other` at that time is before all that this thread does.
static bool is_ordered(const use *a, uint32_t time, uint32_t other) {
  const eg_running *r = &eg_running_thread;
  if (time < a->since) return true;
  if (time < r->block_start) return false;
  if (time < r->barrier || other == r->thread) return true;
  return other / EG_WARP == r->thread / EG_WARP && time < r->warps[other / EG_WARP];
}

enum { MIXED = UINT16_MAX }; // of several warps

static void note_read(const use *a, cell *c) {
  const eg_running *r = &eg_running_thread;
  if (!is_ordered(a, c->read, c->reader)) {
    if (c->read < r->block_start) {
      c->foreign = c->read;
    } else {
      bool is_alone = is_ordered(a, c->others, c->other);
      bool is_same = c->other / EG_WARP == c->reader / EG_WARP;
      c->other = is_alone || is_same ? c->reader : MIXED;
      c->others = c->read;
    }
  }
  c->read = r->now;
  c->reader = (uint16_t)r->thread;
}

static void fail_race(const use *a, size_t at, const char *before, uint32_t thread,
                      uint32_t time) {
  bool is_foreign = time < eg_running_thread.block_start;
  eg_emulator_fail("%s: byte %zu%s%s is %s without order after it was %s by thread %u%s",
                   a->is_shared ? EG_RACE_SHARED : EG_RACE_GLOBAL, at,
                   a->is_shared ? " of " : "", a->in->name,
                   a->kind == READ ? "read" : "written", before, thread,
                   is_foreign ? " of another block" : "");
}

static void check_race(const use *a, const cell *c, size_t at) {
  bool spares = a->kind == ATOMIC && c->is_atomic;
  if (!spares && !is_ordered(a, c->write, c->writer))
    fail_race(a, at, "written", c->writer, c->write);
  if (a->kind == READ) return;
  if (!is_ordered(a, c->read, c->reader)) fail_race(a, at, "read", c->reader, c->read);
  if (!is_ordered(a, c->others, c->other)) fail_race(a, at, "read", c->other, c->others);
  if (c->foreign >= a->since) fail_race(a, at, "read", c->other, c->foreign);
}

static void use_cell(const use *a, cell *c, size_t at) {
  const eg_running *r = &eg_running_thread;
  check_race(a, c, at);
  if (a->is_shared && a->kind == READ && c->write < r->block_start)
    eg_emulator_fail(EG_UNWRITTEN ": byte %zu of %s", at, a->in->name);
  if (a->kind == READ) {
    note_read(a, c);
  } else {
    c->write = r->now;
    c->writer = (uint16_t)r->thread;
    c->is_atomic = a->kind == ATOMIC;
  }
}

// ---- accesses ---------------------------------------------------------------------

static region *find_shared_region(const eg_running *r, const char *address) {
  region *in = find_region(&shared, address);
  if (in != NULL || !find_shared((const void *)(uintptr_t)r->request->run)) return in;
  return find_region(&shared, address);
}

/// Whether the address is near a shared variable, within what keeps them apart.
static bool is_near_shared(const char *address) {
  for (uint32_t i = 0; i < shared.count; i++)
    if (address + 4096 >= shared.items[i].start &&
        address < shared.items[i].start + shared.items[i].bytes + 4096)
      return true;
  return false;
}

static bool is_within(const void *start, size_t bytes, const char *address) {
  return (uintptr_t)address - (uintptr_t)start < bytes;
}

/// The region of the address; NULL: none.
static region *find_any(const eg_running *r, const char *address, bool *out_is_shared) {
  region *in = find_region(&memory, address);
  *out_is_shared = in == NULL;
  return in != NULL ? in : find_shared_region(r, address);
}

static void fail_bounds(const char *address, size_t bytes, access_kind kind,
                        bool is_shared) {
  eg_emulator_fail("%s: %s of %zu bytes at %p",
                   is_shared || is_near_shared(address) ? EG_BOUNDS_SHARED
                                                        : EG_BOUNDS_GLOBAL,
                   kind == READ ? "read" : "write", bytes, (const void *)address);
}

static size_t bytes_of(const eg_running *r, const region *in) {
  return in->is_dynamic ? r->request->shared_bytes : in->bytes;
}

/// Stacks and arguments are of one thread alone.
static bool is_own(const eg_running *r, const char *address, access_kind kind) {
  return is_within(r->stack, (size_t)(r->stack_end - r->stack), address) ||
         (kind == READ &&
          is_within(r->request->closure, r->request->closure_bytes, address));
}

static void check(const char *address, size_t bytes, access_kind kind) {
  const eg_running *r = &eg_running_thread;
  bool is_shared;
  if (r->request == NULL || is_own(r, address, kind)) return;
  region *in = find_any(r, address, &is_shared);
  if (in == NULL || address + bytes > in->start + bytes_of(r, in))
    fail_bounds(address, bytes, kind, in != NULL && is_shared);
  if ((uintptr_t)address % (bytes < 8 ? bytes : 8) != 0)
    eg_emulator_fail(EG_MISALIGNED ": %zu bytes at %p", bytes, (const void *)address);
  need_cells(in);
  const use a = {kind, in, is_shared, is_shared ? r->block_start : r->launch_start};
  size_t at = (size_t)(address - in->start);
  for (size_t i = 0; i < bytes; i++)
    use_cell(&a, &in->cells[at + i], at + i);
}

void eg_emulator_atomic(void *address, size_t bytes) { check(address, bytes, ATOMIC); }

// ---- what the compiler calls ------------------------------------------------------

#define EG_HOOK(name, bytes, kind)                                                       \
  void name(void *address);                                                              \
  void name(void *address) { check(address, bytes, kind); }
#define EG_HOOKS(bytes)                                                                  \
  EG_HOOK(__tsan_read##bytes, bytes, READ)                                               \
  EG_HOOK(__tsan_write##bytes, bytes, WRITE)                                             \
  EG_HOOK(__tsan_unaligned_read##bytes, bytes, READ)                                     \
  EG_HOOK(__tsan_unaligned_write##bytes, bytes, WRITE)
EG_HOOKS(1)
EG_HOOKS(2)
EG_HOOKS(4)
EG_HOOKS(8)
EG_HOOKS(16)

static void check_range(char *address, size_t bytes, access_kind kind) {
  for (size_t i = 0; i < bytes; i++)
    check(address + i, 1, kind);
}
void __tsan_read_range(char *address, size_t bytes);
void __tsan_read_range(char *address, size_t bytes) { check_range(address, bytes, READ); }
void __tsan_write_range(char *address, size_t bytes);
void __tsan_write_range(char *address, size_t bytes) {
  check_range(address, bytes, WRITE);
}
void __tsan_init(void);
void __tsan_init(void) {}
void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void);
void __tsan_func_exit(void) {}
void __tsan_vptr_update(void **at, void *value);
void __tsan_vptr_update(void **at, void *value) { (void)at, (void)value; }
