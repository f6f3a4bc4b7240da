// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE
#include "pcg/parallel/machine_host.h"

#include <inttypes.h>
#include <unistd.h>

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

typedef struct figure_row {
  const char *before;
  double value;
} figure_row;

egraph_status eg_machine_host_print(eg_text *text, uint32_t ranks,
                                    const eg_host_figures *figures) {
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  uint32_t processors = online > 0 ? (uint32_t)online : 1;
  uint32_t count = ranks != 0 ? ranks : processors;
  double cores = count > processors ? (double)processors / count : 1;
  const figure_row rows[] = {
      {"(egraph-machine 1)\n(name host)\n"
       "(device (kind \"a processor of this host\") (profile \"host\")\n  (overhead ",
       figures->overhead_seconds},
      {") (slowdown ", 1 / cores},
      {") (memory ", host_memory_bytes() / count},
      {") (bandwidth ", figures->bandwidth_bytes * cores},
      {") (peak (float32 ", figures->peak_flops * cores},
      {")))\n(link memory (latency ", figures->latency_seconds},
      {") (bandwidth ", figures->link_bytes}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
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
