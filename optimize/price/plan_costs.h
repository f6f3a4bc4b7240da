// What planning asks of a machine.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_PRICE_PLAN_COSTS_H
#define EG_OPTIMIZE_PRICE_PLAN_COSTS_H

#include "pcg/parallel/strategy.h"

/// What a node costs on one device.
typedef struct eg_node_price {
  double seconds; // >= 0, and finite where all types are plain. INFINITY: the device has
                  // no kernel for these memory formats
  uint32_t basis; // what the seconds rest on, as the one who answers numbers it; 0: free,
                  // or nobody asks
} eg_node_price;

typedef struct eg_plan_costs {
  void *self;
  /// The price of a node, local types.
  egraph_status (*node)(void *self, const eg_node_spec *local, eg_node_price *out);
  /// Seconds of a collective, bytes as eg_transition_bytes has them; local ones are free
  /// and not asked for.
  double (*transition)(void *self, const eg_transition *transition, double bytes);
  /// Seconds of an exchange of rows of operand 0, whose local type (without them) is
  /// given.
  double (*halo)(void *self, const eg_halo *halo, const eg_type *local);
  /// Compute costs nothing, so that operators with multiplications must be split along
  /// every axis: replicating them everywhere would be free.
  bool compute_is_free;
  uint32_t formats; // memory formats worth considering beside plain, a bit per eg_format
} eg_plan_costs;

#endif
