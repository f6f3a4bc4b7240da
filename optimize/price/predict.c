// SPDX-License-Identifier: Apache-2.0
#include "optimize/price/predict.h"

#include <math.h>

#include "base/owner.h"
#include "pcg/graph/graph_copy.h"
#include "pcg/graph/node_spec.h"

typedef struct spec_walk {
  const eg_graph *graph;
  bool *weight_only;
  eg_types inputs, results;
  eg_arena arena; // of one node
  eg_arena rows;
} spec_walk;
EG_OWNER_DEFINE_STATIC(spec_walk, (eg_types, inputs, results), (eg_arena, arena, rows))

static egraph_status visit_node(spec_walk *w, uint32_t node,
                                egraph_status (*visit)(void *, eg_graph_node,
                                                       const eg_node_spec *),
                                void *user) {
  eg_graph_node_info info = eg_graph_node_at(w->graph, (eg_graph_node){node});
  if (info.attrs->op == EG_OP_OPAQUE) {
    const eg_node_spec unknown = eg_graph_opaque_spec(w->graph, (eg_graph_node){node});
    return visit(user, (eg_graph_node){node}, &unknown);
  }
  if (info.result_count != 0 && w->weight_only[info.results[0].id]) return EGRAPH_OK;
  eg_node_spec spec = {.attrs = info.attrs,
                       .input_count = info.input_count,
                       .result_count = info.result_count};
  w->inputs.len = w->results.len = 0;
  for (uint32_t i = 0; i < info.input_count; i++) {
    EG_TRY(eg_types_push(&w->inputs, eg_graph_value(w->graph, info.inputs[i])->type));
    if (w->weight_only[info.inputs[i].id]) spec.weight_mask |= eg_operand_bit(i);
  }
  for (uint32_t i = 0; i < info.result_count; i++)
    EG_TRY(eg_types_push(&w->results, eg_graph_value(w->graph, info.results[i])->type));
  spec.inputs = w->inputs.data;
  spec.results = w->results.data;
  eg_node_spec at;
  EG_TRY(eg_spec_at_example(&w->arena, &spec, &at));
  egraph_status status = visit(user, (eg_graph_node){node}, &at);
  eg_arena_clear(&w->arena);
  return status;
}

eg_node_spec eg_graph_opaque_spec(const eg_graph *graph, eg_graph_node node) {
  return (eg_node_spec){.attrs = eg_graph_node_at(graph, node).attrs,
                        .opaque_bytes = eg_graph_opaque_estimate(graph, node).bytes};
}

egraph_status eg_graph_visit_specs(const eg_graph *graph, egraph_allocator alloc,
                                   egraph_status (*visit)(void *user, eg_graph_node node,
                                                          const eg_node_spec *spec),
                                   void *user) {
  EG_LOCAL(spec_walk, w, alloc);
  w.graph = graph;
  EG_NEW(&w.rows, eg_graph_value_count(graph), w.weight_only);
  EG_TRY(eg_graph_weight_only(graph, w.weight_only));
  for (uint32_t i = 0; i < eg_graph_node_count(graph); i++)
    EG_TRY(visit_node(&w, i, visit, user));
  return EGRAPH_OK;
}

static egraph_status request(void *user, eg_graph_node node, const eg_node_spec *spec) {
  (void)node;
  return eg_cost_request(user, spec);
}

egraph_status eg_graph_request_costs(const eg_graph *graph, egraph_allocator alloc,
                                     eg_cost_model *costs) {
  return eg_graph_visit_specs(graph, alloc, request, costs);
}

typedef struct prediction {
  eg_cost_model *costs;
  double seconds;
} prediction;

static egraph_status add_cost(void *user, eg_graph_node node, const eg_node_spec *spec) {
  (void)node;
  prediction *p = user;
  double seconds;
  eg_cost_source source;
  EG_TRY(eg_cost_seconds(p->costs, spec, &seconds, &source));
  p->seconds += isfinite(seconds) ? seconds : EG_UNPRICED_SECONDS;
  return EGRAPH_OK;
}

egraph_status eg_graph_predict(const eg_graph *graph, egraph_allocator alloc,
                               eg_cost_model *costs, double *out_seconds) {
  prediction p = {.costs = costs};
  EG_TRY(eg_graph_visit_specs(graph, alloc, add_cost, &p));
  *out_seconds = p.seconds;
  return EGRAPH_OK;
}
