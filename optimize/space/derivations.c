// SPDX-License-Identifier: Apache-2.0
#include "optimize/space/derivations.h"

#include "extract/extract.h"

/// Work to derive a weight: bytes written, so leaves are free.
static double derivation_cost(const eg_tensor_fact *fact, const eg_term *term) {
  if (eg_op_info_of((eg_op)term->op)->flags & EG_OPF_LEAF) return 0.0;
  return 1.0 + (fact->part_count == 0 ? (double)eg_type_bytes(&fact->type) : 0.0);
}

static egraph_status add_class(const eg_tensor_egraph *egraph, eg_class class,
                               eg_extract_problem *problem, eg_u32s *nodes) {
  const eg_engine *engine = eg_tensor_egraph_engine_of(egraph);
  const eg_tensor_fact *fact = eg_tensor_egraph_fact(egraph, class);
  if (!fact->weight_only) return EGRAPH_OK;
  EG_TRY(eg_extract_problem_add_root(problem, class.id));
  uint32_t count;
  const eg_node *members = eg_engine_class_nodes(engine, class, &count);
  for (uint32_t i = 0; i < count; i++) {
    eg_term term = eg_engine_term(engine, members[i]);
    uint32_t number;
    EG_TRY(eg_extract_problem_add_node(problem, class.id, derivation_cost(fact, &term),
                                       (const uint32_t *)(const void *)term.children,
                                       term.arity, &number));
    EG_TRY(eg_u32s_push(nodes, members[i].id));
  }
  return EGRAPH_OK;
}

static egraph_status add_classes(const eg_tensor_egraph *egraph,
                                 eg_extract_problem *problem, eg_u32s *nodes) {
  _Static_assert(sizeof(eg_class) == sizeof(uint32_t), "children are class numbers");
  const eg_engine *engine = eg_tensor_egraph_engine_of(egraph);
  for (uint32_t c = 0; c < eg_engine_class_limit(engine); c++) {
    uint32_t number;
    EG_TRY(eg_extract_problem_add_class(problem, &number));
  }
  for (eg_class c = eg_engine_first(engine); c.id != EG_CLASS_NONE.id;
       c = eg_engine_next(engine, c))
    EG_TRY(add_class(egraph, c, problem, nodes));
  return EGRAPH_OK;
}

static egraph_status solve(egraph_allocator alloc, const eg_extract_problem *problem,
                           const eg_u32s *nodes, eg_node *out) {
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  options.method = EG_EXTRACT_TREE;
  eg_extract_result result;
  eg_extract_result_init(&result, alloc);
  egraph_status status = eg_extract_solve(alloc, problem, &options, &result);
  if (status == EGRAPH_OK && result.status == EG_EXTRACT_INFEASIBLE)
    status =
        EG_FAIL(EGRAPH_E_INTERNAL, "a weight has no derivation from the model's weights");
  for (uint32_t c = 0; status == EGRAPH_OK && c < problem->class_count; c++) {
    uint32_t chosen = result.choice.data[c];
    out[c] = chosen == EG_EXTRACT_NONE ? EG_NODE_NONE : (eg_node){nodes->data[chosen]};
  }
  eg_extract_result_deinit(&result);
  return status;
}

egraph_status eg_derivations_find(egraph_allocator alloc, const eg_tensor_egraph *egraph,
                                  eg_node *out) {
  eg_extract_problem problem;
  EG_TRY(eg_extract_problem_init(&problem, alloc));
  eg_u32s nodes;
  eg_u32s_init(&nodes, alloc);
  egraph_status status = add_classes(egraph, &problem, &nodes);
  if (status == EGRAPH_OK) status = solve(alloc, &problem, &nodes, out);
  eg_u32s_deinit(&nodes);
  eg_extract_problem_deinit(&problem);
  return status;
}
