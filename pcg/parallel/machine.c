// Machines: look-ups, files, the shipped ones, and this host as one.
// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE
#include "pcg/parallel/machine.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "pcg/parallel/builtin_machines.h"

enum { MAX_FILE_BYTES = 1 << 20 };

const char *eg_collectives_name(eg_collectives collectives) {
#define NAME(id, name) name,
  static const char *const names[] = {EG_COLLECTIVES_LIST(NAME)};
#undef NAME
  return names[collectives];
}

const char *eg_ports_name(eg_ports ports) {
#define NAME(id, name) name,
  static const char *const names[] = {EG_PORTS_LIST(NAME)};
#undef NAME
  return names[ports];
}

uint32_t eg_machine_devices(const eg_machine *machine) {
  uint32_t devices = 1;
  for (uint32_t i = 0; i < machine->axis_count; i++)
    devices *= machine->axes[i].size;
  return devices;
}

void eg_machine_deinit(eg_machine *machine) {
  eg_arena_deinit(&machine->memory);
  *machine = (eg_machine){0};
}

// ---- by name ----------------------------------------------------------------------

static const char suffix[] = ".machine";

static bool is_file(const char *name) {
  size_t len = strlen(name), end = strlen(suffix);
  return strchr(name, '/') != NULL ||
         (len > end && strcmp(name + len - end, suffix) == 0);
}

static egraph_status load_file(egraph_allocator alloc, const char *path, uint32_t nodes,
                               eg_machine *out) {
  char *text;
  size_t size;
  EG_TRY(eg_file_read(alloc, path, MAX_FILE_BYTES, &text, &size));
  egraph_status status = eg_machine_parse(&alloc, path, text, size, nodes, out);
  eg_free(alloc, text, size + 1, 1);
  return status;
}

static egraph_status load_host(egraph_allocator alloc, uint32_t ranks, eg_machine *out) {
  eg_text text;
  eg_text_init(&text, alloc);
  egraph_status status = eg_machine_host_print(&text, ranks, &eg_host_figures_assumed);
  if (status == EGRAPH_OK)
    status = eg_machine_parse(&alloc, "host", eg_text_of(&text), text.chars.len, 0, out);
  eg_text_deinit(&text);
  return status;
}

static egraph_status fail_unknown(egraph_allocator alloc, const char *name) {
  eg_text list;
  eg_text_init(&list, alloc);
  egraph_status status = eg_text_append(&list, "host");
  for (size_t i = 0; i < eg_builtin_machine_file_count && status == EGRAPH_OK; i++) {
    const char *file = eg_builtin_machine_files[i].name;
    status = eg_text_printf(&list, ", %.*s", (int)(strlen(file) - strlen(suffix)), file);
  }
  if (status == EGRAPH_OK)
    status = EG_FAIL(EGRAPH_E_ARGUMENT,
                     "there is no machine '%.64s'; there are %s, and files *.machine",
                     name, eg_text_of(&list));
  eg_text_deinit(&list);
  return status;
}

static egraph_status load_builtin(egraph_allocator alloc, const char *name,
                                  uint32_t nodes, eg_machine *out) {
  size_t len = strlen(name);
  for (size_t i = 0; i < eg_builtin_machine_file_count; i++) {
    const eg_builtin_machine_file *file = &eg_builtin_machine_files[i];
    if (strncmp(file->name, name, len) == 0 && strcmp(file->name + len, suffix) == 0)
      return eg_machine_parse(&alloc, file->name, (const char *)file->text, file->size,
                              nodes, out);
  }
  return fail_unknown(alloc, name);
}

/// Reads the number behind a '*', if there is one; false: there is something else.
static bool read_nodes(const char *star, int64_t *out) {
  *out = 0;
  return star == NULL ||
         (eg_parse_int64(star + 1, out) && *out >= 1 && *out <= EG_MACHINE_MAX_DEVICES);
}

/// Names of this host, and what its ranks then talk over.
static const struct {
  const char *name, *channel;
} hosts[] = {{"host", "local"}, {"host-mpi", "mpi"}};
enum { HOSTS = sizeof hosts / sizeof *hosts };

/// HOSTS: it is none.
static size_t find_host(const char *name, size_t len) {
  size_t i = 0;
  while (i < HOSTS &&
         (strlen(hosts[i].name) != len || strncmp(name, hosts[i].name, len) != 0))
    i++;
  return i;
}

bool eg_machine_is_host(const char *name, uint32_t *out_ranks) {
  const char *star = strchr(name, '*');
  size_t len = star != NULL ? (size_t)(star - name) : strlen(name);
  int64_t ranks;
  if (find_host(name, len) == HOSTS || !read_nodes(star, &ranks)) return false;
  *out_ranks = (uint32_t)ranks;
  return true;
}

const char *eg_machine_host_channel(const char *name) {
  return hosts[find_host(name, strcspn(name, "*"))].channel;
}

egraph_status eg_machine_load(const egraph_allocator *alloc, const char *name,
                              eg_machine *out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  const char *star = strrchr(name, '*');
  int64_t nodes;
  if (!read_nodes(star, &nodes))
    return EG_FAIL(
        EGRAPH_E_ARGUMENT,
        "'%.64s' is no machine; behind '*' stands the number of its nodes, from "
        "1 to %d",
        name, EG_MACHINE_MAX_DEVICES);
  char *stem;
  EG_TRY(eg_string_copy(heap, name, &stem));
  size_t len = strlen(stem);
  if (star != NULL) stem[star - name] = '\0';
  egraph_status status = find_host(stem, strlen(stem)) != HOSTS
                             ? load_host(heap, (uint32_t)nodes, out)
                         : is_file(stem) ? load_file(heap, stem, (uint32_t)nodes, out)
                                         : load_builtin(heap, stem, (uint32_t)nodes, out);
  eg_free(heap, stem, len + 1, 1);
  return status;
}

// ---- this host --------------------------------------------------------------------

/// Bytes of main memory; 1 GiB where the system does not say.
static double host_memory_bytes(void) {
  long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0 ? (double)pages * (double)bytes : 1073741824.0;
}

// A core as sim/roofline.c has it before any measurement. A message is a copy (half of
// the bandwidth of memory) and a hand-over between threads.
const eg_host_figures eg_host_figures_assumed = {.peak_flops = 4e10,
                                                 .bandwidth_bytes = 1e10,
                                                 .overhead_seconds = 1e-6,
                                                 .latency_seconds = 2e-6,
                                                 .link_bytes = 5e9};

/// Of a rank: its device's, as far as that is known, or its part of the host's.
static double memory_of_rank(const eg_host_figures *figures, uint32_t count) {
  if (figures->has_device)
    return figures->device_bytes > 0 ? figures->device_bytes : INFINITY;
  return host_memory_bytes() / count;
}

typedef struct figure_row {
  const char *before;
  double value;
} figure_row;

egraph_status eg_machine_host_print(eg_text *text, uint32_t ranks,
                                    const eg_host_figures *figures) {
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  uint32_t processors = online > 0 ? (uint32_t)online : 1;
  uint32_t count = ranks != 0 ? ranks : processors;
  bool is_shared = count > processors && !figures->has_device;
  double cores = is_shared ? (double)processors / count : 1;
  double memory = memory_of_rank(figures, count);
  const figure_row rows[] = {
      {figures->has_device
           ? "(egraph-machine 1)\n(name host)\n"
             "(device (kind \"a device of this host\") (profile \"host\")\n  (overhead "
           : "(egraph-machine 1)\n(name host)\n"
             "(device (kind \"a processor of this host\") (profile \"host\")\n  "
             "(overhead ",
       figures->overhead_seconds},
      {") (slowdown ", 1 / cores},
      {") (memory ", memory},
      {") (bandwidth ", figures->bandwidth_bytes * cores},
      {") (peak (float32 ", figures->peak_flops * cores},
      {")))\n(link memory (latency ", figures->latency_seconds},
      {") (bandwidth ", figures->link_bytes}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (isinf(rows[i].value)) continue; // memory that is not known is not said
    EG_TRY(eg_text_append(text, rows[i].before));
    EG_TRY(eg_text_double(text, rows[i].value));
  }
  EG_TRY(eg_text_printf(text,
                        "))\n(axis cpu %" PRIu32 " memory)\n(mesh (cpu %" PRIu32 "))\n",
                        count, count));
  if (count % 2 == 0 && count > 2)
    EG_TRY(eg_text_append(text, "(mesh (outer 2) (inner *))\n"));
  return EGRAPH_OK;
}
