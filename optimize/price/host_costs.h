// The known costs of this host, and how it is measured.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PRICE_HOST_COSTS_H
#define EG_OPTIMIZE_PRICE_HOST_COSTS_H

#include "base/owner.h"
#include "sim/cost.h"
#include "sim/link_fit.h"

/// How this host is measured.
typedef struct eg_host_meter {
  eg_measurer operators;
  /// Measures the seconds of a collective's round, and of each byte that passes a device.
  egraph_status (*messages)(const egraph_allocator *alloc, uint32_t ranks,
                            double *out_latency, double *out_per_byte);
  uint32_t processors;
  bool has_device;     // a device is measured, not a processor of the host
  double device_bytes; // memory of the device; 0: not known
} eg_host_meter;

/// The known costs of this host, or of others in the same database.
typedef struct eg_host_costs {
  eg_cost_model *model;
  eg_host_meter meter;
  bool may_measure;     // measure operators and messages that the database lacks
  uint32_t formats;     // memory formats worth considering, a bit per eg_format
  const char *database; // NULL: none
  const char *profile;  // this host in it
  bool read_only;
  bool (*override_cost)(void *user, const eg_node_spec *spec, double *out); // or NULL
  void *user;
  bool (*progress)(void *user, uint32_t done, uint32_t total); // of measuring; or NULL
  void *progress_user;
} eg_host_costs;

// Measured exchanges between ranks of this host, from the profile database: seconds by
// kind, number of devices and bytes, for one channel and one number of ranks, fitted to
// curves. The database stores them as entries of "message", which cost models skip.

/// A curve, and its errors against the measurements.
typedef struct eg_fitted_exchange {
  eg_link_curve curve;
  eg_fit_error errors[EG_SIZE_CLASSES];
} eg_fitted_exchange;
EG_VEC_DEFINE(eg_fitted_exchanges, eg_fitted_exchange);

typedef struct eg_host_exchanges {
  eg_fitted_exchanges curves; // by devices and kind; none: nothing was measured
  int64_t oldest;             // measurement, seconds since 1970; 0: none
  double beside;              // of computing next to an exchange; 0: not measured
} eg_host_exchanges;
EG_OWNER_DEFINE_STATIC(eg_host_exchanges, (eg_fitted_exchanges, curves))

/// Reads measured exchanges from the database and fits curves; a missing database
/// has none.
egraph_status eg_host_exchanges_load(eg_host_exchanges *out, egraph_allocator alloc,
                                     const eg_host_costs *host, const char *channel,
                                     uint32_t ranks);
/// Replaces the measurements of these points in the database, and the factor by which
/// exchanges slow computing (0: keeps the factor). Fails with EGRAPH_E_ARGUMENT without a
/// database that can be written.
egraph_status eg_host_exchanges_store(egraph_allocator alloc, const eg_host_costs *host,
                                      const char *channel, uint32_t ranks,
                                      const eg_exchange_points *points, double beside);
/// Appends the measured exchanges as clauses of a link in a machine file.
egraph_status eg_host_exchanges_print(const eg_host_exchanges *exchanges,
                                      const char *link, eg_text *text);

#endif
