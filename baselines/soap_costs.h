// The cost of configurations as a sum over leads and pairs of leads. A lead is an
// operator that has a configuration of its own; other operators follow it (soap.h).
// OptCNN and Unity use this sum in place of a simulation.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_SOAP_COSTS_H
#define EG_BASELINES_SOAP_COSTS_H

#include "base/owner.h"
#include "optimize/soap/soap.h"

/// A pair of operators with configurations of their own (leads) that exchange a value.
typedef struct eg_soap_pair {
  uint32_t first, second; // leads, first < second
} eg_soap_pair;
EG_VEC_DEFINE(eg_soap_pairs, eg_soap_pair);

/// A read of a value: one operator (member) leaves the value, and another needs it.
typedef struct eg_soap_read {
  uint32_t first, second;      // leads, first <= second
  uint32_t value;              // of the problem, in which phase
  uint32_t from, from_operand; // a member and its operand; EG_SOAP_NONE: its result
  uint32_t to, to_operand;     // likewise
} eg_soap_read;
EG_VEC_DEFINE(eg_soap_reads, eg_soap_read);

typedef struct eg_soap_costs {
  eg_soap *soap;       // borrowed
  eg_soap_pairs pairs; // by first, then second
  eg_soap_reads reads; // reads between the leads of a pair, by pair
  eg_u32s read_begin;  // [pairs + 1] of `reads`
  eg_doubles own;      // [options] seconds of a lead with its followers
  eg_u32s own_begin;   // [leads + 1] of `own`
} eg_soap_costs;
EG_OWNER_DEFINE_STATIC(eg_soap_costs, (eg_soap_pairs, pairs), (eg_soap_reads, reads),
                       (eg_doubles, own), (eg_u32s, own_begin, read_begin))

/// Fills the costs of an initialized `soap`; every reader of a value counts its own
/// exchange. Fails with EGRAPH_E_MEMORY.
egraph_status eg_soap_costs_fill(eg_soap_costs *costs, eg_soap *soap);
/// Computes the seconds of the exchanges between two operators under a configuration
/// (option) of each. Fails with EGRAPH_E_MEMORY.
egraph_status eg_soap_costs_pair(eg_soap_costs *costs, uint32_t pair, uint32_t first,
                                 uint32_t second, double *out);

#endif
