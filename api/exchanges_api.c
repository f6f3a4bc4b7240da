// Public functions of exchanges between ranks of this host, and of the errors
// of estimates.
// SPDX-License-Identifier: Apache-2.0
#include "api/arguments.h"
#include "api/objects.h"
#include "exec/backend.h"
#include "exec/exchange_probe.h"
#include "optimize/price/host_costs.h"

enum { MAX_PROBED_RANKS = 256 };

egraph_status egraph_costs_measure_exchanges(egraph_costs *costs, const char *channel,
                                             uint32_t ranks, uint32_t *out_rank) {
  EG_REQUIRE(costs, out_rank);
  const char *name = channel != NULL ? channel : "local";
  double beside;
  if (ranks < 2 || ranks > MAX_PROBED_RANKS)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "%u ranks have no exchanges that could be measured; take 2 to %d",
                   (unsigned)ranks, MAX_PROBED_RANKS);
  EG_LOCAL(eg_exchange_points, points, costs->alloc);
  const eg_host_costs host = eg_costs_of_host(costs);
  EG_TRY(eg_exchange_probe(costs->alloc, name, ranks, &points, &beside, out_rank));
  if (*out_rank != 0) return EGRAPH_OK;
  return eg_host_exchanges_store(costs->alloc, &host, name, ranks, &points, beside);
}

egraph_status egraph_costs_estimate_errors(
    const egraph_costs *costs,
    egraph_status (*each)(void *user, const egraph_estimate_error *error), void *user) {
  EG_REQUIRE(costs);
  EG_REQUIRE_CALL(each);
  eg_estimate_error errors[EG_OP_COUNT];
  eg_cost_estimate_errors(costs->model, errors);
  for (int op = 0; op < EG_OP_COUNT; op++) {
    const egraph_estimate_error error = {.op = eg_op_info_of((eg_op)op)->name,
                                         .count = errors[op].count,
                                         .mean = errors[op].mean,
                                         .worst = errors[op].worst};
    if (error.count != 0) EG_TRY(each(user, &error));
  }
  return EGRAPH_OK;
}

static egraph_status visit_classes(const eg_fitted_exchange *fitted,
                                   egraph_status (*each)(void *user,
                                                         const egraph_exchange_class *c),
                                   void *user) {
  for (uint32_t i = 0; i < fitted->curve.class_count; i++) {
    const eg_size_class *size = &fitted->curve.classes[i];
    const eg_fit_error *error = &fitted->errors[i];
    const egraph_exchange_class c = {.exchange = eg_exchange_name(fitted->curve.exchange),
                                     .devices = fitted->curve.devices,
                                     .size = eg_size_class_name(i),
                                     .most_bytes = size->most_bytes,
                                     .latency_seconds = size->latency_seconds,
                                     .seconds_per_byte = size->seconds_per_byte,
                                     .points = error->points,
                                     .mean_error = error->mean,
                                     .worst_error = error->worst};
    EG_TRY(each(user, &c));
  }
  return EGRAPH_OK;
}

egraph_status
egraph_costs_exchanges(egraph_costs *costs, const char *channel, uint32_t ranks,
                       egraph_status (*each)(void *user, const egraph_exchange_class *c),
                       void *user, egraph_exchange_basis *out) {
  EG_REQUIRE(costs, out);
  const eg_host_costs host = eg_costs_of_host(costs);
  EG_LOCAL(eg_host_exchanges, exchanges, costs->alloc);
  egraph_status status = eg_host_exchanges_load(
      &exchanges, costs->alloc, &host, channel != NULL ? channel : "local",
      ranks != 0 ? ranks : host.meter.processors);
  *out = (egraph_exchange_basis){.date = exchanges.oldest,
                                 .beside = exchanges.beside,
                                 .stood_still = exchanges.beside >= EG_MOST_BESIDE};
  EG_TRY(status);
  for (size_t i = 0; each != NULL && i < exchanges.curves.len; i++)
    EG_TRY(visit_classes(&exchanges.curves.data[i], each, user));
  return EGRAPH_OK;
}
