// Unity's search (OSDI'22, sections 5 and 6) over the configurations of operators
// (soap.h): parallel operators between two operators are the exchange between their
// configurations, and a substitution that inserts, moves or removes them is another
// configuration of one operator.
//
//   cuts       operators that no exchange passes by: the graph falls into a sequence
//   backtrack  between two cuts, under each pair of their configurations: the cheapest
//              known graph is expanded first, graphs of at least alpha times the best
//              cost are left out
//   sequence   dynamic programming over the configurations at the cuts
//
// The graph is the one that is cheapest on one device: algebra is not searched together
// with parallelization, as Unity does, but before. An axis of the mesh takes the place of
// a machine view; no part of a graph runs on part of the devices. There is no limit of
// memory.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_BASELINES_UNITY_H
#define EG_BASELINES_UNITY_H

#include "baselines/plan_algorithm.h"

extern const eg_plan_algorithm eg_unity;

#endif
