// One pass forward marks the values that depend on a value whose cotangent is requested;
// one pass back over the nodes passes cotangents from results to marked operands. It
// visits a node after all its users, which come later in the graph.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/training/gradient.h"

#include <assert.h>

#include "base/hash.h"
#include "base/owner.h"
#include "base/vec.h"
#include "ops/typing.h"
#include "ops/vjp.h"
#include "pcg/graph/graph_internal.h"

EG_VEC_DEFINE(ref_list, eg_ref);
EG_VEC_DEFINE(flag_list, bool);

typedef struct sweep {
  eg_node_cons *cons;
  const eg_graph *graph;
  eg_builder builder;
  bool *active;  // [values] depends on a value whose cotangent is requested
  eg_ref *found; // [values] cotangents so far
  eg_arena arena;
  ref_list refs; // of one node: inputs, results, cotangents of results, of inputs
  flag_list wanted;
} sweep;
EG_OWNER_DEFINE_STATIC(sweep, (eg_arena, arena), (ref_list, refs), (flag_list, wanted))

static bool is_float(const eg_graph *graph, eg_value value) {
  const eg_value_info *info = eg_graph_value(graph, value);
  return info->typed && eg_dtype_is_float(info->type.dtype);
}

static void mark_active(const sweep *s, uint32_t nodes) {
  for (uint32_t n = 0; n < nodes; n++) {
    eg_graph_node_info node = eg_graph_node_at(s->graph, (eg_graph_node){n});
    bool active = false;
    for (uint32_t i = 0; i < node.input_count; i++)
      active = active || s->active[node.inputs[i].id];
    for (uint32_t i = 0; active && i < node.result_count; i++)
      if (is_float(s->graph, node.results[i])) s->active[node.results[i].id] = true;
  }
}

static void add_cotangent(sweep *s, eg_value value, eg_ref cotangent) {
  eg_ref *sum = &s->found[value.id];
  if (!eg_ref_exists(cotangent)) return;
  *sum =
      eg_ref_exists(*sum) ? EG_BUILD(&s->builder, EG_OP_ADD, *sum, cotangent) : cotangent;
}

static void expect_type(const sweep *s, eg_value value, eg_ref cotangent) {
  if (!eg_ref_exists(cotangent)) return;
  const eg_type *type = &eg_graph_value(s->graph, value)->type;
  const eg_type *of = &eg_graph_value(s->graph, eg_value_of(cotangent))->type;
  assert(type->dtype == of->dtype && eg_type_same_shape(type, of) &&
         "a cotangent has its value's type");
  (void)type, (void)of;
}

static egraph_status name_node(const sweep *s, uint32_t id, egraph_status status) {
  char text[256];
  eg_graph_node_info node = eg_graph_node_at(s->graph, (eg_graph_node){id});
  if (status == EGRAPH_OK || status == EGRAPH_E_MEMORY) return status;
  eg_graph_describe_node(node.name, eg_op_info_of((eg_op)node.attrs->op)->name, id, text,
                         sizeof text);
  return eg_fail_context(status, "gradient of %s", text);
}

/// Sets the stamp (source) of the nodes of a gradient. The variant depends on which
/// operands need a cotangent and which results have one.
static void stamp_gradient(const sweep *s, const eg_graph_node_info *node) {
  if (s->cons->stamps == NULL) return;
  const eg_stamp *mine = &s->cons->stamps->data[node->results[0].id];
  uint64_t variant = mine->made;
  for (uint32_t i = 0; i < node->input_count; i++)
    variant = eg_hash_combine(variant, s->active[node->inputs[i].id]);
  for (uint32_t i = 0; i < node->result_count; i++)
    variant = eg_hash_combine(variant, eg_ref_exists(s->found[node->results[i].id]));
  s->cons->stamp = (eg_stamp){mine->of, EG_MADE_GRADIENT, (uint32_t)variant, 0};
}

static void stamp_cotangent(const sweep *s, const eg_graph_node_info *node,
                            uint32_t operand) {
  if (s->cons->stamps == NULL) return;
  const eg_stamp *mine = &s->cons->stamps->data[node->results[0].id];
  s->cons->stamp = (eg_stamp){mine->of, EG_MADE_COTANGENT, mine->made, operand};
}

static egraph_status push_cotangents(sweep *s, uint32_t id) {
  eg_graph_node_info node = eg_graph_node_at(s->graph, (eg_graph_node){id});
  uint32_t ins = node.input_count, outs = node.result_count;
  bool given = false, asked = false;
  for (uint32_t i = 0; i < outs; i++)
    given = given || eg_ref_exists(s->found[node.results[i].id]);
  for (uint32_t i = 0; i < ins; i++)
    asked = asked || s->active[node.inputs[i].id];
  if (!given || !asked) return EGRAPH_OK;
  s->refs.len = s->wanted.len = 0;
  EG_TRY(ref_list_resize(&s->refs, 2 * ((size_t)ins + outs)));
  EG_TRY(flag_list_resize(&s->wanted, ins));
  eg_ref *inputs = s->refs.data, *results = inputs + ins, *given_refs = results + outs,
         *out = given_refs + outs;
  for (uint32_t i = 0; i < ins; i++) {
    inputs[i] = eg_ref_of(node.inputs[i]);
    s->wanted.data[i] = s->active[node.inputs[i].id];
  }
  for (uint32_t i = 0; i < outs; i++) {
    results[i] = eg_ref_of(node.results[i]);
    given_refs[i] = s->found[node.results[i].id];
  }
  const eg_vjp call = {.b = &s->builder,
                       .attrs = node.attrs,
                       .inputs = inputs,
                       .results = results,
                       .input_count = ins,
                       .result_count = outs,
                       .cotangents = given_refs,
                       .wanted = s->wanted.data,
                       .out = out};
  stamp_gradient(s, &node);
  EG_TRY(name_node(s, id, eg_op_vjp(&call)));
  for (uint32_t i = 0; i < ins; i++) {
    if (!s->wanted.data[i]) continue;
    expect_type(s, node.inputs[i], out[i]);
    stamp_cotangent(s, &node, i);
    add_cotangent(s, node.inputs[i], out[i]);
  }
  return s->builder.status;
}

egraph_status eg_graph_gradient(eg_node_cons *cons, const eg_gradient_seed *seeds,
                                uint32_t seed_count, const eg_value *wrt,
                                uint32_t wrt_count, eg_value *out_cotangents) {
  uint32_t values = eg_graph_value_count(cons->graph);
  uint32_t nodes = eg_graph_node_count(cons->graph);
  EG_LOCAL_WITH(sweep, s, eg_graph_allocator(cons->graph), .cons = cons,
                .graph = cons->graph, .builder = eg_node_cons_builder(cons));
  EG_NEW(&s.arena, values, s.active);
  EG_NEW(&s.arena, values, s.found);
  for (uint32_t i = 0; i < wrt_count; i++)
    s.active[wrt[i].id] = is_float(s.graph, wrt[i]);
  mark_active(&s, nodes);
  for (uint32_t v = 0; v < values; v++)
    s.found[v] = EG_REF_NONE;
  for (uint32_t i = 0; i < seed_count; i++)
    add_cotangent(&s, seeds[i].value, eg_ref_of(seeds[i].cotangent));
  for (uint32_t n = nodes; n-- > 0;)
    EG_TRY(push_cotangents(&s, n));
  for (uint32_t i = 0; i < wrt_count; i++)
    out_cotangents[i] = eg_value_of(s.found[wrt[i].id]);
  return s.builder.status;
}

// ---- losses ---------------------------------------------------------------------------

egraph_status eg_loss_target(eg_loss kind, const eg_type *y, eg_type *out) {
  if (!eg_dtype_is_float(y->dtype) || eg_type_elements(y) == 0)
    return EG_FAIL(EGRAPH_E_TYPE,
                   "a loss cannot be taken of %s; choose an output of floating-point "
                   "elements",
                   eg_type_text_of(y).text);
  *out = eg_type_of(y->dtype, y->rank, y->dims);
  if (kind == EG_LOSS_SQUARED_ERROR) return EGRAPH_OK;
  if (y->rank == 0)
    return EG_FAIL(EGRAPH_E_TYPE, "cross entropy needs classes in the last dimension of "
                                  "the output, which is a scalar");
  if (kind == EG_LOSS_CROSS_ENTROPY)
    *out = eg_type_of(EGRAPH_INT64, y->rank - 1, y->dims);
  return EGRAPH_OK;
}

/// Emits labels [..] as a tensor [.., classes] with 1 at each label, otherwise 0.
static eg_ref one_hot(eg_builder *b, eg_ref labels, const eg_type *y) {
  int64_t dims[EGRAPH_MAX_RANK];
  for (uint32_t i = 0; i < y->rank; i++)
    dims[i] = i + 1 < y->rank ? y->dims[i] : 1;
  eg_ref column = eg_build_reshape(b, labels, y->rank, dims);
  eg_ref classes = eg_build_range(b, y->dims[y->rank - 1]);
  eg_ref equal = EG_BUILD(b, EG_OP_EQUAL, column, classes);
  return eg_build_cast(b, equal, y->dtype);
}

static eg_ref total(eg_builder *b, eg_ref x) {
  uint32_t all = eg_operand_bits(eg_build_type(b, x)->rank);
  return eg_build_reduce(b, EG_OP_REDUCE_SUM, x, all, false);
}

static eg_ref cross_entropy(eg_builder *b, eg_ref y, eg_ref target, eg_loss_terms *t) {
  const eg_type *type = eg_build_type(b, y);
  uint32_t last = UINT32_C(1) << (type->rank - 1);
  bool labels = t->kind == EG_LOSS_CROSS_ENTROPY;
  eg_ref m = eg_build_reduce(b, EG_OP_REDUCE_MAX, y, last, true);
  t->exponentials = EG_FORMULA(b, "(exp (sub y m))", "ym", y, m);
  t->sums = eg_build_reduce(b, EG_OP_REDUCE_SUM, t->exponentials, last, true);
  t->target = labels ? one_hot(b, target, type) : target;
  t->weight = EG_REF_NONE;
  if (!labels) t->weight = eg_build_reduce(b, EG_OP_REDUCE_SUM, target, last, true);
  eg_ref products = EG_BUILD(b, EG_OP_MUL, t->target, y);
  eg_ref k = eg_build_reduce(b, EG_OP_REDUCE_SUM, products, last, true);
  eg_ref rows = EG_FORMULA(
      b, labels ? "(sub (add (log s) m) k)" : "(sub (mul w (add (log s) m)) k)", "smkw",
      t->sums, m, k, t->weight);
  return total(b, rows);
}

eg_ref eg_loss_emit(eg_builder *b, eg_loss kind, eg_ref y, eg_ref target,
                    eg_loss_terms *out) {
  const eg_type *type = eg_build_type(b, y);
  int64_t rows = eg_type_elements(type);
  *out = (eg_loss_terms){.kind = kind};
  b->dtype = type->dtype;
  eg_ref sum;
  if (kind == EG_LOSS_SQUARED_ERROR) {
    out->difference = EG_BUILD(b, EG_OP_SUB, y, target);
    eg_ref squares = EG_BUILD(b, EG_OP_SQUARE, out->difference);
    sum = total(b, squares);
  } else {
    rows /= type->dims[type->rank - 1];
    sum = cross_entropy(b, y, target, out);
  }
  out->share = 1.0 / (double)rows;
  eg_ref share = eg_build_number(b, out->share);
  return EG_BUILD(b, EG_OP_MUL, sum, share);
}

eg_ref eg_loss_emit_gradient(eg_builder *b, const eg_loss_terms *t) {
  bool squared = t->kind == EG_LOSS_SQUARED_ERROR;
  eg_ref c = eg_build_number(b, squared ? 2 * t->share : t->share);
  if (squared) return EG_BUILD(b, EG_OP_MUL, t->difference, c);
  return EG_FORMULA(b,
                    eg_ref_exists(t->weight) ? "(mul c (sub (mul w (div e s)) p))"
                                             : "(mul c (sub (div e s) p))",
                    "cespw", c, t->exponentials, t->sums, t->target, t->weight);
}
