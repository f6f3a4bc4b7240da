// Equal terms for the random planning problems: classes with several members, some of
// which need themselves. What is united need not be equal: planning looks at types alone.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_PLAN_EQUAL_TERMS_H
#define EG_TESTS_PLAN_EQUAL_TERMS_H

#include "pcg/graph/attr_list.h"
#include "tests/plan_cases.h"

static inline eg_class case_class(plan_case *c) {
  return eg_tensor_egraph_value_class(
      c->egraph, (eg_value){case_below(c, eg_graph_value_count(c->graph))});
}

static inline void case_unite(plan_case *c, eg_class a, eg_class b) {
  eg_engine *engine = eg_tensor_egraph_engine(c->egraph);
  const eg_tensor_fact *x = eg_tensor_egraph_fact(c->egraph, a),
                       *y = eg_tensor_egraph_fact(c->egraph, b);
  bool changed;
  if (eg_tensor_fact_same_type(x, y))
    assert_ok(eg_engine_unite(engine, a, b, 0, &changed));
}

static inline bool case_add(plan_case *c, const eg_attr_list *list,
                            const eg_class *children, uint32_t count, eg_class *out) {
  eg_attrs attrs = eg_attr_list_attrs(list);
  return eg_tensor_egraph_add(c->egraph, &attrs, children, count, 0, out) == EGRAPH_OK;
}

static inline bool case_is_leaf(plan_case *c, eg_class class) {
  const eg_engine *engine = eg_tensor_egraph_engine(c->egraph);
  uint32_t count;
  const eg_node *nodes = eg_engine_class_nodes(engine, class, &count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t op = eg_engine_term(engine, nodes[i]).op;
    if (op == EG_OP_INPUT || op == EG_OP_WEIGHT) return true;
  }
  return false;
}

/// Two values that are there, whatever they mean.
static inline void case_unite_any(plan_case *c) {
  eg_class a = case_class(c), b = case_class(c);
  if (!case_is_leaf(c, a) && !case_is_leaf(c, b)) case_unite(c, a, b);
}

/// x = x + 0, x = identity x: classes that need themselves.
static inline void case_unite_self(plan_case *c) {
  eg_class x = case_class(c), zero, sum;
  const eg_type type = eg_tensor_egraph_fact(c->egraph, x)->type;
  eg_attr_list list;
  if (case_below(c, 2) == 0) {
    eg_attr_list_init(&list, EG_OP_IDENTITY);
    if (case_add(c, &list, &x, 1, &sum)) case_unite(c, x, sum);
    return;
  }
  eg_attr_list_init(&list, EG_OP_FILL);
  eg_attr_list_set_ints(&list, EG_A_FILL_SHAPE, type.dims, type.rank);
  assert_true(case_add(c, &list, NULL, 0, &zero));
  eg_attr_list_init(&list, EG_OP_ADD);
  if (case_add(c, &list, (eg_class[]){x, zero}, 2, &sum)) case_unite(c, x, sum);
}

/// A new node on values that are there, equal to one of them.
static inline void case_unite_new(plan_case *c) {
  static const eg_op ops[] = {EG_OP_ADD, EG_OP_MUL, EG_OP_MATMUL, EG_OP_RELU};
  eg_attr_list list;
  eg_op op = ops[case_below(c, 4)];
  eg_class of[2] = {case_class(c), case_class(c)}, made, equal = case_class(c);
  eg_attr_list_init(&list, op);
  if (case_add(c, &list, of, op == EG_OP_RELU ? 1 : 2, &made) && !case_is_leaf(c, equal))
    case_unite(c, equal, made);
}

/// The first member of a class that is such a node; false: none.
static inline bool case_member(plan_case *c, eg_class class, const eg_attrs *attrs,
                               eg_class out[2]) {
  const eg_engine *engine = eg_tensor_egraph_engine(c->egraph);
  uint32_t count;
  const eg_node *nodes = eg_engine_class_nodes(engine, class, &count);
  for (uint32_t i = 0; i < count; i++) {
    eg_term term = eg_engine_term(engine, nodes[i]);
    if (term.arity != 2 || term.op != attrs->op ||
        !eg_attrs_same(eg_tensor_egraph_attrs_at(c->egraph, term.payload), attrs))
      continue;
    out[0] = term.children[0];
    out[1] = term.children[1];
    return true;
  }
  return false;
}

/// (a b) c = a (b c).
static inline void case_associate_class(plan_case *c, eg_class class) {
  eg_attr_list list;
  eg_attr_list_init(&list, EG_OP_MATMUL);
  eg_attrs matmul = eg_attr_list_attrs(&list);
  eg_class outer[2], inner[2], right, whole;
  if (case_member(c, class, &matmul, outer) && case_member(c, outer[0], &matmul, inner) &&
      case_add(c, &list, (eg_class[]){inner[1], outer[1]}, 2, &right) &&
      case_add(c, &list, (eg_class[]){inner[0], right}, 2, &whole))
    case_unite(c, class, whole);
}

static inline void case_associate(plan_case *c) {
  case_associate_class(c, case_class(c));
}

/// a (b + c) = a b + a c.
static inline void case_distribute(plan_case *c) {
  eg_attr_list multiply, plus;
  eg_attr_list_init(&multiply, EG_OP_MATMUL);
  eg_attr_list_init(&plus, EG_OP_ADD);
  eg_attrs matmul = eg_attr_list_attrs(&multiply), add = eg_attr_list_attrs(&plus);
  eg_class product[2], sum[2], left, right, whole, class = case_class(c);
  if (case_member(c, class, &matmul, product) && case_member(c, product[1], &add, sum) &&
      case_add(c, &multiply, (eg_class[]){product[0], sum[0]}, 2, &left) &&
      case_add(c, &multiply, (eg_class[]){product[0], sum[1]}, 2, &right) &&
      case_add(c, &plus, (eg_class[]){left, right}, 2, &whole))
    case_unite(c, class, whole);
}

static inline void case_draw_equal(plan_case *c) {
  static void (*const draw[])(plan_case *) = {case_unite_any,  case_unite_self,
                                              case_unite_new,  case_associate,
                                              case_distribute, case_unite_new};
  uint32_t count = 1 + case_below(c, 6);
  for (uint32_t i = 0; i < count; i++) {
    draw[case_below(c, sizeof draw / sizeof *draw)](c);
    assert_ok(eg_engine_rebuild(eg_tensor_egraph_engine(c->egraph)));
  }
}

#endif
