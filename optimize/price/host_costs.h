// What is known of the costs of this host, and how it is measured.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PRICE_HOST_COSTS_H
#define EG_OPTIMIZE_PRICE_HOST_COSTS_H

#include "sim/cost.h"

/// How this host is measured.
typedef struct eg_host_meter {
  eg_measurer operators;
  /// Seconds of a round of a collective, and of each byte that passes a device.
  egraph_status (*messages)(const egraph_allocator *alloc, uint32_t ranks,
                            double *out_latency, double *out_per_byte);
  uint32_t processors;
  bool has_device;     // what is measured is a device, not a processor of the host
  double device_bytes; // memory of the device; 0: not known
} eg_host_meter;

/// What is known of the costs of this host, or of others in the same database.
typedef struct eg_host_costs {
  eg_cost_model *model;
  eg_host_meter meter;
  bool may_measure;     // what the database lacks
  uint32_t formats;     // memory formats worth considering, a bit per eg_format
  const char *database; // NULL: none
  const char *profile;  // this host in it
  bool read_only;
  bool (*override_cost)(void *user, const eg_node_spec *spec, double *out); // or NULL
  void *user;
  bool (*progress)(void *user, uint32_t done, uint32_t total); // of measuring; or NULL
  void *progress_user;
} eg_host_costs;

#endif
