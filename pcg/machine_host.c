// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE
#include "pcg/machine_host.h"

#include <inttypes.h>
#include <unistd.h>

/// Bytes of main memory; 1 GiB where the system does not say.
static double host_memory_bytes(void) {
  long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0 ? (double)pages * (double)bytes : 1073741824.0;
}

// A core as sim/roofline.c has it before any measurement. A message is a copy (half of
// the bandwidth of memory) and a hand-over between threads.
static const double core_flops = 4e10, core_bandwidth = 1e10;

static egraph_status print_device(eg_text *text, uint32_t ranks, double cores) {
  EG_TRY(eg_text_append(text, "(device (kind \"a processor of this host\") (profile "
                              "\"host\") (overhead 1e-6)\n  (memory "));
  EG_TRY(eg_text_double(text, host_memory_bytes() / ranks));
  EG_TRY(eg_text_append(text, ") (bandwidth "));
  EG_TRY(eg_text_double(text, core_bandwidth * cores));
  EG_TRY(eg_text_append(text, ") (peak (float32 "));
  EG_TRY(eg_text_double(text, core_flops * cores));
  return eg_text_append(text, ")))\n");
}

egraph_status eg_machine_host_print(eg_text *text, uint32_t ranks) {
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  uint32_t processors = online > 0 ? (uint32_t)online : 1;
  uint32_t count = ranks != 0 ? ranks : processors;
  EG_TRY(eg_text_append(text, "(egraph-machine 1)\n(name host)\n"));
  EG_TRY(print_device(text, count, count > processors ? (double)processors / count : 1));
  EG_TRY(eg_text_printf(text,
                        "(link memory (latency 2e-6) (bandwidth 5e9))\n"
                        "(axis cpu %" PRIu32 " memory)\n(mesh (cpu %" PRIu32 "))\n",
                        count, count));
  if (count % 2 == 0 && count > 2)
    EG_TRY(eg_text_append(text, "(mesh (outer 2) (inner *))\n"));
  return EGRAPH_OK;
}
