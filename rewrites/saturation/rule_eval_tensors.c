// What is known of matched tensors: shapes, element types, constants.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "rewrites/saturation/rule_eval.h"

#define EVALUATOR(name)                                                                  \
  bool eg_rule_eval_##name(eg_rule_env *env, const eg_rule_value *args, uint32_t count,  \
                           eg_rule_value *out)

static bool dims_of(eg_rule_env *env, const eg_rule_value *value, eg_ints *out) {
  const eg_tensor_fact *fact = eg_rule_tensor(env, value);
  if (fact == NULL) return false;
  *out = (eg_ints){.data = fact->type.dims, .len = fact->type.rank};
  return true;
}

EVALUATOR(dim) {
  (void)count;
  eg_ints dims;
  uint32_t index;
  if (!dims_of(env, &args[0], &dims) || !eg_rule_index(args[1].i, dims.len, &index))
    return false;
  *out = eg_rule_int(dims.data[index]);
  return true;
}

EVALUATOR(rank) {
  (void)count;
  eg_ints dims;
  if (!dims_of(env, &args[0], &dims)) return false;
  *out = eg_rule_int(dims.len);
  return true;
}

EVALUATOR(axis) {
  (void)count;
  eg_ints dims;
  uint32_t index;
  if (!dims_of(env, &args[0], &dims) || !eg_rule_index(args[1].i, dims.len, &index))
    return false;
  *out = eg_rule_int(index);
  return true;
}

EVALUATOR(elements) {
  (void)count;
  const eg_tensor_fact *fact = eg_rule_tensor(env, &args[0]);
  if (fact == NULL) return false;
  *out = eg_rule_int(eg_type_elements(&fact->type));
  return out->i != INT64_MAX;
}

// A copy, because facts move when the e-graph grows.
static bool copy_list(eg_rule_env *env, eg_ints list, eg_rule_value *out) {
  int64_t *data = eg_rule_ints(env, list.len);
  if (data == NULL) return false;
  if (list.len != 0) memcpy(data, list.data, list.len * sizeof *data);
  *out = (eg_rule_value){.kind = EG_RULE_INTS, .ints = {.data = data, .len = list.len}};
  return true;
}

EVALUATOR(shape) {
  (void)count;
  eg_ints dims;
  return dims_of(env, &args[0], &dims) && copy_list(env, dims, out);
}

EVALUATOR(dtype) {
  (void)count;
  const eg_tensor_fact *fact = eg_rule_tensor(env, &args[0]);
  if (fact == NULL) return false;
  *out = (eg_rule_value){.kind = EG_RULE_DTYPE, .i = (int64_t)fact->type.dtype};
  return true;
}

// ---- broadcasting ---------------------------------------------------------------

// Dimension i of `dims` counted from the last one, as if there were ones in front.
static int64_t from_end(eg_ints dims, uint32_t i) {
  return i < dims.len ? dims.data[dims.len - 1 - i] : 1;
}

static bool broadcast(eg_ints a, eg_ints b, int64_t out[EGRAPH_MAX_RANK],
                      eg_ints *shape) {
  uint32_t rank = a.len > b.len ? a.len : b.len;
  if (rank > EGRAPH_MAX_RANK) return false;
  for (uint32_t i = 0; i < rank; i++) {
    int64_t x = from_end(a, i), y = from_end(b, i);
    if (!eg_size_broadcast(x, y, &out[rank - 1 - i])) return false;
  }
  *shape = (eg_ints){.data = out, .len = rank};
  return true;
}

EVALUATOR(broadcast_shape) {
  (void)count;
  eg_ints a, b, shape;
  int64_t dims[EGRAPH_MAX_RANK];
  return dims_of(env, &args[0], &a) && dims_of(env, &args[1], &b) &&
         broadcast(a, b, dims, &shape) && copy_list(env, shape, out);
}

/// No value where some sizes of open dimensions broadcast and others do not.
static bool broadcasts_to(eg_ints from, eg_ints to, eg_rule_value *out) {
  bool holds = from.len <= to.len, fails = from.len > to.len;
  for (uint32_t i = 0; !fails && i < from.len; i++) {
    int64_t x = from_end(from, i), y = from_end(to, i);
    holds = holds && eg_size_stretches_to(x, y);
    fails = eg_size_differs(x, y) && eg_size_differs(x, 1);
  }
  *out = eg_rule_bool(holds && !fails);
  return holds || fails;
}

EVALUATOR(broadcasts_to) {
  (void)count;
  eg_ints from, to;
  return dims_of(env, &args[0], &from) && dims_of(env, &args[1], &to) &&
         broadcasts_to(from, to, out);
}

EVALUATOR(broadcasts_to_shape) {
  (void)count;
  eg_ints from;
  return dims_of(env, &args[0], &from) && broadcasts_to(from, args[1].ints, out);
}

// ---- conditions -----------------------------------------------------------------

static bool dtype_test(eg_rule_env *env, const eg_rule_value *value,
                       bool (*test)(egraph_dtype), eg_rule_value *out) {
  const eg_tensor_fact *fact = eg_rule_tensor(env, value);
  if (fact == NULL) return false;
  *out = eg_rule_bool(test(fact->type.dtype));
  return true;
}

static bool is_bool(egraph_dtype dtype) { return dtype == EGRAPH_BOOL; }
static bool is_int(egraph_dtype dtype) {
  return !is_bool(dtype) && !eg_dtype_is_float(dtype);
}

EVALUATOR(is_float) {
  (void)count;
  return dtype_test(env, &args[0], eg_dtype_is_float, out);
}
EVALUATOR(is_int) {
  (void)count;
  return dtype_test(env, &args[0], is_int, out);
}
EVALUATOR(is_bool) {
  (void)count;
  return dtype_test(env, &args[0], is_bool, out);
}

static bool decide_same_shape(const eg_type *a, const eg_type *b, eg_rule_value *out) {
  // Only read through.
  return eg_rule_decide_same((eg_ints){(int64_t *)(uintptr_t)a->dims, a->rank},
                             (eg_ints){(int64_t *)(uintptr_t)b->dims, b->rank}, out);
}

EVALUATOR(same_shape) {
  (void)count;
  const eg_tensor_fact *a = eg_rule_tensor(env, &args[0]);
  const eg_tensor_fact *b = eg_rule_tensor(env, &args[1]);
  if (a == NULL || b == NULL) return false;
  return decide_same_shape(&a->type, &b->type, out);
}

EVALUATOR(same_type) {
  (void)count;
  const eg_tensor_fact *a = eg_rule_tensor(env, &args[0]);
  const eg_tensor_fact *b = eg_rule_tensor(env, &args[1]);
  if (a == NULL || b == NULL) return false;
  *out = eg_rule_bool(false);
  return a->type.dtype != b->type.dtype || decide_same_shape(&a->type, &b->type, out);
}

EVALUATOR(same_dtype) {
  (void)count;
  const eg_tensor_fact *a = eg_rule_tensor(env, &args[0]);
  const eg_tensor_fact *b = eg_rule_tensor(env, &args[1]);
  if (a == NULL || b == NULL) return false;
  *out = eg_rule_bool(a->type.dtype == b->type.dtype);
  return true;
}

EVALUATOR(weight_only) {
  (void)count;
  *out = eg_rule_bool(eg_rule_fact(env, args[0].tensor)->weight_only);
  return true;
}

EVALUATOR(is_splat) {
  (void)count;
  *out = eg_rule_bool(eg_rule_fact(env, args[0].tensor)->splat);
  return true;
}

EVALUATOR(splat) {
  (void)count;
  const eg_tensor_fact *fact = eg_rule_fact(env, args[0].tensor);
  *out = eg_rule_float(fact->splat_value);
  return fact->splat && !isnan(fact->splat_value);
}

EVALUATOR(splat_is) {
  (void)count;
  const eg_tensor_fact *fact = eg_rule_fact(env, args[0].tensor);
  *out = eg_rule_bool(
      fact->splat &&
      eg_rule_close(fact->splat_value, eg_rule_number(&args[1]), fact->type.dtype));
  return true;
}

// ---- the e-graph itself ---------------------------------------------------------

// Whether a class held a node of an operator at the last rebuild.
static bool holds(eg_rule_env *env, const eg_rule_value *value, eg_op op,
                  eg_rule_value *out) {
  if (env->tensors != NULL) {
    *out = eg_rule_bool(env->tensors->is_made_by(env->tensors->self, value->tensor, op));
    return true;
  }
  const eg_engine *engine = eg_tensor_egraph_engine_of(env->egraph);
  uint32_t nodes;
  const eg_node *node = eg_engine_class_nodes(engine, value->tensor, &nodes);
  bool found = false;
  for (uint32_t i = 0; i < nodes && !found; i++)
    found = eg_engine_term(engine, node[i]).op == op;
  *out = eg_rule_bool(found);
  return true;
}

EVALUATOR(is_concat) {
  (void)count;
  return holds(env, &args[0], EG_OP_CONCAT, out);
}
EVALUATOR(is_conv) {
  (void)count;
  return holds(env, &args[0], EG_OP_CONV, out);
}

// An order of classes: symmetric rules match once instead of once per order. Matched
// classes are canonical as of the last rebuild.
EVALUATOR(before) {
  (void)count;
  eg_class a = args[0].tensor, b = args[1].tensor;
  *out = eg_rule_bool(env->tensors != NULL
                          ? env->tensors->is_before(env->tensors->self, a, b)
                          : a.id < b.id);
  return true;
}
