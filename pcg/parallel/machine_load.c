// Loads machines by name: files, shipped machines, and this host.
// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "pcg/parallel/builtin_machines.h"
#include "pcg/parallel/machine.h"

enum { MAX_FILE_BYTES = 1 << 20 };

static const char suffix[] = ".machine", reached[] = ":reached";

static bool ends_with(const char *name, const char *end) {
  size_t len = strlen(name), end_len = strlen(end);
  return len > end_len && strcmp(name + len - end_len, end) == 0;
}

bool eg_machine_asks_reached(const char *name) { return ends_with(name, reached); }

static bool is_file_name(const char *name) {
  return strchr(name, '/') != NULL || ends_with(name, suffix);
}

static egraph_status load_machine_file(egraph_allocator alloc, const char *path,
                                       uint32_t nodes, eg_machine *out) {
  char *text;
  size_t size;
  EG_TRY(eg_file_read(alloc, path, MAX_FILE_BYTES, &text, &size));
  egraph_status status = eg_machine_parse(&alloc, path, text, size, nodes, out);
  eg_free(alloc, text, size + 1, 1);
  return status;
}

static egraph_status load_host(egraph_allocator alloc, uint32_t ranks, eg_machine *out) {
  EG_LOCAL(eg_text, text, alloc);
  EG_TRY(eg_machine_host_print(&text, ranks, &eg_host_figures_assumed));
  return eg_machine_parse(&alloc, "host", eg_text_of(&text), text.chars.len, 0, out);
}

static egraph_status fail_unknown_machine(egraph_allocator alloc, const char *name) {
  EG_LOCAL(eg_text, list, alloc);
  eg_text_append(&list, "host");
  for (size_t i = 0; i < eg_builtin_machine_file_count; i++) {
    const char *file = eg_builtin_machine_files[i].name;
    eg_text_printf(&list, ", %.*s", (int)(strlen(file) - strlen(suffix)), file);
  }
  EG_TRY(eg_text_status(&list));
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "there is no machine '%.64s'; there are %s, and files *.machine", name,
                 eg_text_of(&list));
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
  return fail_unknown_machine(alloc, name);
}

/// Reads the number of nodes after '*' in a name, 0 without a '*'; false if it is absent.
static bool read_node_count(const char *star, int64_t *out) {
  *out = 0;
  return star == NULL ||
         (eg_parse_int64(star + 1, out) && *out >= 1 && *out <= EG_MACHINE_MAX_DEVICES);
}

/// Names of this host, and the channel between its ranks.
static const struct {
  const char *name, *channel;
} hosts[] = {{"host", "local"}, {"host-mpi", "mpi"}};
enum { HOSTS = sizeof hosts / sizeof *hosts };

/// Returns the index of a name in `hosts`; HOSTS: it is no name of this host.
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
  if (find_host(name, len) == HOSTS || !read_node_count(star, &ranks)) return false;
  *out_ranks = (uint32_t)ranks;
  return true;
}

const char *eg_machine_host_channel(const char *name) {
  return hosts[find_host(name, strcspn(name, "*"))].channel;
}

/// Loads a machine by a name without ":reached", which it changes.
static egraph_status load_stem(egraph_allocator heap, char *stem, eg_machine *out) {
  char *star = strrchr(stem, '*');
  int64_t nodes;
  if (!read_node_count(star, &nodes))
    return EG_FAIL(
        EGRAPH_E_ARGUMENT,
        "'%.64s' is no machine; the number of its nodes, from 1 to %d, follows the '*'",
        stem, EG_MACHINE_MAX_DEVICES);
  if (star != NULL) *star = '\0';
  return find_host(stem, strlen(stem)) != HOSTS ? load_host(heap, (uint32_t)nodes, out)
         : is_file_name(stem) ? load_machine_file(heap, stem, (uint32_t)nodes, out)
                              : load_builtin(heap, stem, (uint32_t)nodes, out);
}

static egraph_status use_reached(eg_machine *machine) {
  egraph_status status = eg_machine_use_reached(machine);
  if (status != EGRAPH_OK) eg_machine_deinit(machine);
  return status;
}

egraph_status eg_machine_load(const egraph_allocator *alloc, const char *name,
                              eg_machine *out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  char *stem;
  EG_TRY(eg_string_copy(heap, name, &stem));
  size_t len = strlen(stem),
         end = len - (eg_machine_asks_reached(name) ? strlen(reached) : 0);
  stem[end] = '\0';
  egraph_status status = load_stem(heap, stem, out);
  if (status == EGRAPH_OK && end != len) status = use_reached(out);
  eg_free(heap, stem, len + 1, 1);
  return status;
}

// ---- this host --------------------------------------------------------------------

// These are the figures of the core that sim/roofline.c assumes before any measurement. A
// message is a copy (half of the bandwidth of memory) and a hand-over between threads.
const eg_host_figures eg_host_figures_assumed = {.peak_flops = 4e10,
                                                 .bandwidth_bytes = 1e10,
                                                 .overhead_seconds = 1e-6,
                                                 .latency_seconds = 2e-6,
                                                 .link_bytes = 5e9};

/// Returns the memory of a rank in bytes: that of its device (INFINITY: not known), or
/// without a device its part of the main memory (1 GiB if the system does not report it).
static double memory_of_rank(const eg_host_figures *figures, uint32_t count) {
  if (figures->has_device)
    return figures->device_bytes > 0 ? figures->device_bytes : INFINITY;
  long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  return (pages > 0 && bytes > 0 ? (double)pages * (double)bytes : 1073741824.0) / count;
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
    if (isinf(rows[i].value)) continue; // memory that is not known
    eg_text_append(text, rows[i].before);
    eg_text_double(text, rows[i].value);
  }
  eg_text_printf(text, "))\n(axis cpu %" PRIu32 " memory)\n(mesh (cpu %" PRIu32 "))\n",
                 count, count);
  if (count % 2 == 0 && count > 2) eg_text_append(text, "(mesh (outer 2) (inner *))\n");
  return eg_text_status(text);
}
