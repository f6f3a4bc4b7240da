// Functions of matched tensors: shapes, element types, constants.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "rewrites/saturation/rule_eval.h"

static const eg_type *type_of_operand(const eg_rule_env *env,
                                      const eg_rule_value *operand) {
  const eg_tensor_fact *fact = eg_rule_tensor(env, operand);
  return fact != NULL ? &fact->type : NULL;
}

// Define functions of one tensor's known type, `type`; of two tensors' types, `a` and
// `b`; and of the facts of a class, `fact`. There is no value for a tensor without one
// known type.
#define OF_TYPE(name, result)                                                            \
  EG_RULE_EVALUATOR(name) {                                                              \
    const eg_type *type = type_of_operand(env, &args[0]);                                \
    return type != NULL && (result);                                                     \
  }
#define OF_TYPES(name, result)                                                           \
  EG_RULE_EVALUATOR(name) {                                                              \
    const eg_type *a = type_of_operand(env, &args[0]);                                   \
    const eg_type *b = type_of_operand(env, &args[1]);                                   \
    return a != NULL && b != NULL && (result);                                           \
  }
#define OF_FACT(name, result)                                                            \
  EG_RULE_EVALUATOR(name) {                                                              \
    const eg_tensor_fact *fact = eg_rule_fact(env, args[0].tensor);                      \
    return result;                                                                       \
  }

static bool give_bool(bool value, eg_rule_value *out) {
  return eg_rule_give(eg_rule_bool(value), out);
}

// ---- shapes and element types ---------------------------------------------------

static eg_ints dims_of_type(const eg_type *type) {
  return (eg_ints){.data = type->dims, .len = type->rank};
}

static bool give_dim(const eg_type *type, int64_t axis, eg_rule_value *out) {
  uint32_t index;
  return eg_rule_index(axis, type->rank, &index) &&
         eg_rule_give(eg_rule_int(type->dims[index]), out);
}

static bool give_axis(const eg_type *type, int64_t axis, eg_rule_value *out) {
  uint32_t index;
  return eg_rule_index(axis, type->rank, &index) && eg_rule_give(eg_rule_int(index), out);
}

/// Returns a copy of a list in a fact, because facts move when the e-graph grows.
static bool give_list(eg_rule_env *env, eg_ints list, eg_rule_value *out) {
  int64_t *data = eg_rule_ints(env, list.len);
  if (data == NULL) return false;
  if (list.len != 0) memcpy(data, list.data, list.len * sizeof *data);
  *out = (eg_rule_value){.kind = EG_RULE_INTS, .ints = {.data = data, .len = list.len}};
  return true;
}

static bool decide_same_shape(const eg_type *a, const eg_type *b, eg_rule_value *out) {
  return eg_rule_decide_same(dims_of_type(a), dims_of_type(b), out);
}

OF_TYPE(dim, give_dim(type, args[1].i, out))
OF_TYPE(axis, give_axis(type, args[1].i, out))
OF_TYPE(rank, eg_rule_give(eg_rule_int(type->rank), out))
OF_TYPE(elements, eg_rule_give(eg_rule_int(eg_type_elements(type)), out) &&
                      out->i != INT64_MAX) // INT64_MAX: too many to count
OF_TYPE(shape, give_list(env, dims_of_type(type), out))
OF_TYPE(dtype,
        eg_rule_give((eg_rule_value){.kind = EG_RULE_DTYPE, .i = (int64_t)type->dtype},
                     out))
OF_TYPE(is_float, give_bool(eg_dtype_is_float(type->dtype), out))
OF_TYPE(is_int,
        give_bool(type->dtype != EGRAPH_BOOL && !eg_dtype_is_float(type->dtype), out))
OF_TYPE(is_bool, give_bool(type->dtype == EGRAPH_BOOL, out))
OF_TYPES(same_shape, decide_same_shape(a, b, out))
OF_TYPES(same_type,
         a->dtype == b->dtype ? decide_same_shape(a, b, out) : give_bool(false, out))
OF_TYPES(same_dtype, give_bool(a->dtype == b->dtype, out))

// ---- broadcasting ---------------------------------------------------------------

// Returns dimension i of `dims`, counted from the last one, as if ones preceded `dims`.
static int64_t dim_from_end(eg_ints dims, uint32_t i) {
  return i < dims.len ? dims.data[dims.len - 1 - i] : 1;
}

static bool give_broadcast(eg_rule_env *env, eg_ints a, eg_ints b, eg_rule_value *out) {
  int64_t dims[EGRAPH_MAX_RANK];
  uint32_t rank = a.len > b.len ? a.len : b.len;
  if (rank > EGRAPH_MAX_RANK) return false;
  for (uint32_t i = 0; i < rank; i++)
    if (!eg_size_broadcast(dim_from_end(a, i), dim_from_end(b, i), &dims[rank - 1 - i]))
      return false;
  return give_list(env, (eg_ints){.data = dims, .len = rank}, out);
}

/// Sets *out to whether shape `from` broadcasts to `to`; gives no value when it does at
/// some sizes of open dimensions only.
static bool decide_broadcasts_to(eg_ints from, eg_ints to, eg_rule_value *out) {
  bool holds = from.len <= to.len, fails = from.len > to.len;
  for (uint32_t i = 0; !fails && i < from.len; i++) {
    int64_t x = dim_from_end(from, i), y = dim_from_end(to, i);
    holds = holds && eg_size_stretches_to(x, y);
    fails = eg_size_differs(x, y) && eg_size_differs(x, 1);
  }
  return give_bool(holds && !fails, out) && (holds || fails);
}

OF_TYPES(broadcast_shape, give_broadcast(env, dims_of_type(a), dims_of_type(b), out))
OF_TYPES(broadcasts_to, decide_broadcasts_to(dims_of_type(a), dims_of_type(b), out))
OF_TYPE(broadcasts_to_shape, decide_broadcasts_to(dims_of_type(type), args[1].ints, out))

// ---- constants ------------------------------------------------------------------

OF_FACT(weight_only, give_bool(fact->weight_only, out))
OF_FACT(is_splat, give_bool(fact->splat, out))
OF_FACT(splat, eg_rule_give(eg_rule_float(fact->splat_value), out) && fact->splat &&
                   !isnan(fact->splat_value))
OF_FACT(splat_is,
        give_bool(fact->splat &&eg_rule_close(fact->splat_value, eg_rule_number(&args[1]),
                                              fact->type.dtype),
                  out))

// ---- the e-graph itself ---------------------------------------------------------

/// True when a class contained a node of an operator at the last rebuild.
static bool has_node_of(const eg_rule_env *env, eg_class class, eg_op op) {
  if (env->tensors != NULL)
    return env->tensors->is_made_by(env->tensors->self, class, op);
  const eg_engine *engine = eg_tensor_egraph_engine_of(env->egraph);
  uint32_t count;
  const eg_node *nodes = eg_engine_class_nodes(engine, class, &count);
  for (uint32_t i = 0; i < count; i++)
    if (eg_engine_term(engine, nodes[i]).op == op) return true;
  return false;
}

/// Orders classes: symmetric rules match once instead of once per order. Matched classes
/// are canonical as of the last rebuild.
static bool comes_before(const eg_rule_env *env, eg_class a, eg_class b) {
  return env->tensors != NULL ? env->tensors->is_before(env->tensors->self, a, b)
                              : a.id < b.id;
}

EG_RULE_ROW(is_concat, give_bool(has_node_of(env, args[0].tensor, EG_OP_CONCAT), out))
EG_RULE_ROW(is_conv, give_bool(has_node_of(env, args[0].tensor, EG_OP_CONV), out))
EG_RULE_ROW(before, give_bool(comes_before(env, args[0].tensor, args[1].tensor), out))
