// Values of expressions: working memory, comparing, and values of attributes.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/saturation/rule_eval.h"

#include <assert.h>
#include <math.h>
#include <string.h>

eg_rule_value eg_rule_bool(bool value) {
  return (eg_rule_value){.kind = EG_RULE_BOOL, .i = value};
}
eg_rule_value eg_rule_int(int64_t value) {
  return (eg_rule_value){.kind = EG_RULE_INT, .i = value};
}
eg_rule_value eg_rule_float(double value) {
  return (eg_rule_value){.kind = EG_RULE_FLOAT, .f = value};
}

double eg_rule_number(const eg_rule_value *value) {
  return value->kind == EG_RULE_FLOAT ? value->f : (double)value->i;
}

int64_t *eg_rule_ints(eg_rule_env *env, uint32_t count) {
  eg_rule_scratch *scratch = env->scratch;
  assert(scratch->int_count <= EG_RULE_SCRATCH_INTS);
  if (count > EG_RULE_SCRATCH_INTS - scratch->int_count) return NULL;
  int64_t *ints = scratch->ints + scratch->int_count;
  scratch->int_count += count;
  return ints;
}

bool eg_rule_index(int64_t index, uint32_t len, uint32_t *out) {
  if (index < 0) index += (int64_t)len;
  if (index < 0 || index >= (int64_t)len) return false;
  *out = (uint32_t)index;
  return true;
}

const eg_tensor_fact *eg_rule_fact(const eg_rule_env *env, eg_class tensor) {
  return env->tensors != NULL ? env->tensors->fact(env->tensors->self, tensor)
                              : eg_tensor_egraph_fact(env->egraph, tensor);
}

const eg_tensor_fact *eg_rule_tensor(const eg_rule_env *env, const eg_rule_value *value) {
  const eg_tensor_fact *fact = eg_rule_fact(env, value->tensor);
  return fact->typed && fact->part_count == 0 ? fact : NULL;
}

/// True for whole numbers and fractions of at most eight binary digits, which no
/// floating-point type rounds.
static bool is_simple(double number) {
  enum { DIGITS = 8 };
  int exponent;
  double digits = ldexp(frexp(number, &exponent), DIGITS);
  return digits == floor(digits) || number == floor(number);
}

bool eg_rule_close(double a, double b, egraph_dtype dtype) {
  if (a == b || (isnan(a) && isnan(b))) return true;
  bool is_wide =
      eg_dtype_bytes(dtype) >= 4; // narrower types have few numbers that are not simple
  if (isinf(a) || isinf(b) || is_simple(b) || (is_wide && is_simple(a))) return false;
  return fabs(a - b) <= eg_dtype_unit(dtype, fmax(fabs(a), fabs(b)));
}

static bool same_ints(eg_ints a, eg_ints b) {
  if (a.len != b.len) return false;
  for (uint32_t i = 0; i < a.len; i++)
    if (!eg_size_same(a.data[i], b.data[i])) return false;
  return true;
}

bool eg_rule_literal_fits(const eg_attr *literal, const eg_attr *found) {
  return literal->kind == EG_ATTR_FLOAT
             ? eg_rule_close(literal->f, found->f, EG_RULE_NUMBERS)
             : eg_attr_same(literal, found);
}

bool eg_rule_values_identical(const eg_rule_value *a, const eg_rule_value *b) {
  if (a->kind == EG_RULE_FLOAT) return a->f == b->f || (isnan(a->f) && isnan(b->f));
  return eg_rule_values_equal(NULL, a, b);
}

bool eg_rule_values_equal(const eg_rule_env *env, const eg_rule_value *a,
                          const eg_rule_value *b) {
  if (a->kind == EG_RULE_FLOAT || b->kind == EG_RULE_FLOAT)
    return eg_rule_close(eg_rule_number(a), eg_rule_number(b), EG_RULE_NUMBERS);
  switch (a->kind) {
  case EG_RULE_INT: return eg_size_same(a->i, b->i);
  case EG_RULE_DTYPE:
  case EG_RULE_BOOL: return a->i == b->i;
  case EG_RULE_INTS: return same_ints(a->ints, b->ints);
  case EG_RULE_FLOATS:
    return a->floats.len == b->floats.len &&
           (a->floats.len == 0 || memcmp(a->floats.data, b->floats.data,
                                         a->floats.len * sizeof *a->floats.data) == 0);
  case EG_RULE_SYMBOL:
  case EG_RULE_STRING: return strcmp(a->text, b->text) == 0;
  case EG_RULE_TENSOR: {
    if (env->tensors != NULL) return eg_class_same(a->tensor, b->tensor);
    const eg_engine *engine = eg_tensor_egraph_engine_of(env->egraph);
    return eg_class_same(eg_engine_find(engine, a->tensor),
                         eg_engine_find(engine, b->tensor));
  }
  case EG_RULE_FLOAT: break;
  }
  return false;
}

// ---- attributes -----------------------------------------------------------------

eg_rule_value eg_rule_value_of_attr(eg_op op, uint16_t slot, const eg_attr *attr) {
  assert(slot < eg_op_info_of(op)->attr_count);
  eg_rule_value value = {.kind = (eg_rule_kind)attr->kind};
  switch (attr->kind) {
  case EG_ATTR_INT:
  case EG_ATTR_DTYPE: value.i = attr->i; break;
  case EG_ATTR_FLOAT: value.f = attr->f; break;
  case EG_ATTR_INTS: value.ints = attr->ints; break;
  case EG_ATTR_FLOATS: value.floats = attr->floats; break;
  case EG_ATTR_STRING: value.text = attr->text; break;
  case EG_ATTR_SYMBOL:
    value.text = eg_op_info_of(op)->attrs[slot].symbols[attr->i];
    break;
  }
  return value;
}

static bool symbol_index(const char *const *symbols, const char *text, int64_t *out) {
  for (int64_t i = 0; symbols[i] != NULL; i++) {
    if (strcmp(symbols[i], text) != 0) continue;
    *out = i;
    return true;
  }
  return false;
}

bool eg_rule_attr_of_value(eg_op op, uint16_t slot, const eg_rule_value *value,
                           eg_attr *out) {
  assert(slot < eg_op_info_of(op)->attr_count);
  const eg_attr_info *info = &eg_op_info_of(op)->attrs[slot];
  *out = (eg_attr){.kind = info->kind};
  switch (info->kind) {
  case EG_ATTR_INT:
  case EG_ATTR_DTYPE: out->i = value->i; return true;
  case EG_ATTR_FLOAT: out->f = eg_rule_number(value); return true;
  case EG_ATTR_INTS: out->ints = value->ints; return true;
  case EG_ATTR_FLOATS: out->floats = value->floats; return true;
  case EG_ATTR_STRING: out->text = value->text; return true;
  case EG_ATTR_SYMBOL: return symbol_index(info->symbols, value->text, &out->i);
  }
  return false;
}
