// SPDX-License-Identifier: Apache-2.0
#include "optimize/single/cost_basis.h"

#include <math.h>

#include "optimize/price/predict.h"

void eg_cost_basis_count(egraph_cost_basis *inout, eg_cost_source source, bool is_guess) {
  switch (source) {
  case EG_COST_USER: inout->given++; break;
  case EG_COST_MEASURED: *(is_guess ? &inout->guessed : &inout->measured) += 1; break;
  case EG_COST_ESTIMATED: *(is_guess ? &inout->guessed : &inout->estimated) += 1; break;
  case EG_COST_UNPRICED: inout->unpriced++; break;
  case EG_COST_FREE: break;
  }
}

bool eg_cost_basis_has_prices(const egraph_cost_basis *basis) {
  return basis->given + basis->measured + basis->estimated + basis->guessed != 0;
}

typedef struct counter {
  const eg_graph *graph;
  eg_cost_model *costs;
  egraph_report *report;
} counter;

static void count_unknown(const counter *c, eg_graph_node node) {
  const eg_opaque_estimate estimate = eg_graph_opaque_estimate(c->graph, node);
  if (c->report->unsized_values == 0) c->report->unsized_value = estimate.unsized_value;
  c->report->unsized_values += estimate.unsized;
  c->report->unknown_trips += estimate.unknown_trips;
}

static egraph_status count_operator(void *user, eg_graph_node node,
                                    const eg_node_spec *spec) {
  const counter *c = user;
  double seconds;
  eg_cost_source source;
  if (spec->attrs->op == EG_OP_OPAQUE) count_unknown(c, node);
  EG_TRY(eg_cost_seconds(c->costs, spec, &seconds, &source));
  bool is_guess = !isfinite(seconds) ||
                  (source == EG_COST_ESTIMATED && !eg_cost_is_calibrated(c->costs, spec));
  if (source == EG_COST_UNPRICED) c->report->unpriced_seconds += seconds;
  eg_cost_basis_count(&c->report->basis, source, is_guess);
  return EGRAPH_OK;
}

egraph_status eg_cost_basis_report(const eg_graph *graph, egraph_allocator alloc,
                                   eg_cost_model *costs, egraph_report *inout) {
  counter c = {.graph = graph, .costs = costs, .report = inout};
  return eg_graph_visit_specs(graph, alloc, count_operator, &c);
}
