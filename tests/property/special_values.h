// Rules over numbers, evaluated by the reference kernels on every choice of special
// values for their variables: infinities, NaN, zeros of both signs, the largest and
// smallest numbers, the ends of integers.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_SPECIAL_VALUES_H
#define EG_TESTS_SPECIAL_VALUES_H

#include <math.h>
#include <stdlib.h>

#include "rewrites/language/rule_ast.h"
#include "rewrites/language/rules.h"
#include "tests/testing.h"

enum { SPECIAL_MOST = 24, SPECIAL_TERMS = 64 };

/// What a rule says of one element type.
typedef enum special_verdict {
  SPECIAL_UNTYPED, // nothing
  SPECIAL_HOLDS,
  SPECIAL_FAILS,
  SPECIAL_UNKNOWN // an attribute or operator that is not of numbers
} special_verdict;

typedef struct special {
  const eg_rule *rule;
  egraph_dtype dtype;
  egraph_math math;
  int64_t count;    // elements: every choice of values
  eg_tensor *terms; // [rule->term_count]
  bool *is_excused; // [count]: a number left the range on the way
  double *largest;  // [count]: number on the way
  bool is_unknown, is_untyped;
  char where[200]; // it fails
} special;

static inline uint32_t special_values(egraph_dtype dtype, eg_tensor *out) {
  static const double floats[] = {0.0, -0.0, 1,  -1,  0.5, 2,        -3,        5,
                                  0.1, 7.25, 30, -40, 900, INFINITY, -INFINITY, NAN};
  static const int64_t ints[] = {0, 1, 2, 3, 5, 7, 100, 127, -1, -3, -128};
  uint32_t count = 0;
  if (dtype == EGRAPH_BOOL) {
    for (int64_t i = 0; i < 2; i++)
      eg_tensor_set_int(out, count++, i);
  } else if (eg_dtype_is_float(dtype)) {
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
      eg_tensor_set_double(out, count++, floats[i]);
    double top = eg_dtype_largest(dtype), low = eg_dtype_normal(dtype);
    const double ends[] = {top, -top, low, low / 4, -low / 4};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
      eg_tensor_set_double(out, count++, ends[i]);
  } else {
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++)
      eg_tensor_set_int(out, count++, ints[i]);
    int64_t bits = 8 * (int64_t)eg_dtype_bytes(dtype);
    uint64_t half = UINT64_C(1) << (bits - 1);
    const uint64_t ends[] = {half, half - 1, 2 * half - 1, (UINT64_C(1) << 53) + 1};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
      eg_tensor_set_int(out, count++, (int64_t)ends[i]);
  }
  return count;
}

static inline eg_tensor special_tensor(egraph_dtype dtype, int64_t count) {
  eg_tensor made = {.type = eg_type_of(dtype, 1, &count)};
  made.data = calloc((size_t)count, eg_dtype_bytes(dtype));
  assert_non_null(made.data);
  return made;
}

// ---- variables ----------------------------------------------------------------------

/// Conditions of where, operands of not, and, or.
static inline bool special_is_truth(const eg_rule *rule, uint32_t var) {
  for (uint32_t t = 0; t < rule->term_count; t++) {
    const eg_rule_term *term = &rule->terms[t];
    for (uint32_t i = 0; !term->is_var && i < term->child_count; i++) {
      const eg_rule_term *kid = &rule->terms[term->children[i]];
      bool is_truth = (eg_op_info_of(term->op)->flags & EG_OPF_BOOL) != 0 ||
                      (term->op == EG_OP_WHERE && i == 0);
      if (kid->is_var && kid->var == var && is_truth) return true;
    }
  }
  return false;
}

static inline void special_variables(special *s, eg_tensor *vars) {
  const eg_rule *rule = s->rule;
  eg_tensor values[SPECIAL_TERMS];
  uint32_t counts[SPECIAL_TERMS];
  s->count = 1;
  for (uint32_t v = 0; v < rule->var_count; v++) {
    counts[v] = 0;
    if (rule->vars[v].kind != EG_RULE_TENSOR) continue;
    egraph_dtype dtype = special_is_truth(rule, v) ? EGRAPH_BOOL : s->dtype;
    values[v] = special_tensor(dtype, SPECIAL_MOST);
    counts[v] = special_values(dtype, &values[v]);
    s->count *= counts[v];
  }
  int64_t stride = 1;
  for (uint32_t v = 0; v < rule->var_count; v++) {
    if (counts[v] == 0) continue;
    egraph_dtype dtype = values[v].type.dtype;
    size_t bytes = eg_dtype_bytes(dtype);
    vars[v] = special_tensor(dtype, s->count);
    for (int64_t i = 0; i < s->count; i++)
      memcpy((char *)vars[v].data + (size_t)i * bytes,
             (char *)values[v].data + (size_t)(i / stride % counts[v]) * bytes, bytes);
    stride *= counts[v];
    free(values[v].data);
  }
}

// ---- terms --------------------------------------------------------------------------

/// A number that is infinite, subnormal or 0 though no operand is: it left the range.
static inline bool special_left_range(eg_op op, double made, egraph_dtype dtype,
                                      const double *from, uint32_t count) {
  bool any_zero = false;
  for (uint32_t i = 0; i < count; i++) {
    if (!isfinite(from[i])) return false;
    any_zero = any_zero || from[i] == 0;
  }
  bool adds = op == EG_OP_ADD || op == EG_OP_SUB || op == EG_OP_NEG || op == EG_OP_ABS ||
              op == EG_OP_MAX || op == EG_OP_MIN || op == EG_OP_RELU || op == EG_OP_CLIP;
  if (isinf(made)) return !any_zero || adds || op == EG_OP_MUL || op == EG_OP_EXP;
  if (made != 0) return fabs(made) < eg_dtype_normal(dtype);
  return op == EG_OP_EXP || (!any_zero && !adds && op != EG_OP_WHERE && op != EG_OP_LOG);
}

static inline void special_watch(special *s, eg_op op, const eg_tensor *made,
                                 const eg_tensor *inputs, uint32_t count) {
  if (!eg_dtype_is_float(made->type.dtype)) return;
  for (int64_t i = 0; i < s->count; i++) {
    double value = eg_tensor_get_double(made, i), from[4] = {1};
    for (uint32_t k = 0; k < count && k < 4; k++)
      from[k] = eg_tensor_get_double(&inputs[k], i);
    if (isfinite(value)) s->largest[i] = fmax(s->largest[i], fabs(value));
    if (count != 0 && special_left_range(op, value, made->type.dtype, from, count))
      s->is_excused[i] = true;
  }
}

/// Of an attribute that says the type at hand where it is no literal.
static inline egraph_dtype special_dtype(const special *s, const eg_rule_slot *slot) {
  return slot->form == EG_RULE_SLOT_LITERAL ? (egraph_dtype)slot->literal.i : s->dtype;
}

static inline void special_fill(special *s, uint32_t at) {
  const eg_rule_term *term = &s->rule->terms[at];
  const eg_rule_slot *slots = term->slots;
  const eg_rule_slot *value = &slots[EG_A_FILL_VALUE - EG_A_BASE_FILL];
  s->terms[at] = special_tensor(
      special_dtype(s, &slots[EG_A_FILL_DTYPE - EG_A_BASE_FILL]), s->count);
  if (value->form != EG_RULE_SLOT_LITERAL) {
    s->is_unknown = true;
    return;
  }
  for (int64_t i = 0; i < s->count; i++) {
    eg_tensor_set_fill(&s->terms[at], i, value->literal.f);
    if (isfinite(value->literal.f) && eg_dtype_is_float(s->terms[at].type.dtype) &&
        !isfinite(eg_tensor_get_double(&s->terms[at], i)))
      s->is_excused[i] = true;
  }
}

static inline void special_term(special *s, uint32_t at, const eg_tensor *vars) {
  const eg_rule_term *term = &s->rule->terms[at];
  if (term->is_var) {
    s->terms[at] = special_tensor(vars[term->var].type.dtype, s->count);
    memcpy(s->terms[at].data, vars[term->var].data,
           (size_t)s->count * eg_dtype_bytes(vars[term->var].type.dtype));
    special_watch(s, EG_OP_IDENTITY, &s->terms[at], NULL, 0);
    return;
  }
  if (term->op == EG_OP_FILL) {
    special_fill(s, at);
    return;
  }
  const eg_op_info *info = eg_op_info_of(term->op);
  eg_attr slots[8];
  eg_tensor inputs[4];
  eg_type types[4], made;
  s->is_unknown = s->is_unknown || info->attr_count > 8 || term->child_count > 4 ||
                  (info->flags & EG_OPF_POINTWISE) == 0;
  for (uint16_t i = 0; i < info->attr_count && !s->is_unknown; i++) {
    slots[i] = term->slots[i].literal;
    if (info->attrs[i].kind == EG_ATTR_DTYPE) {
      slots[i].kind = EG_ATTR_DTYPE;
      slots[i].i = special_dtype(s, &term->slots[i]);
    } else if (term->slots[i].form != EG_RULE_SLOT_LITERAL) {
      s->is_unknown = true;
    }
  }
  if (s->is_unknown) return;
  for (uint32_t i = 0; i < term->child_count; i++) {
    inputs[i] = s->terms[term->children[i]];
    types[i] = inputs[i].type;
  }
  const eg_attrs attrs = {
      .op = (uint16_t)term->op, .count = info->attr_count, .slots = slots};
  if (eg_op_infer(&attrs, types, term->child_count, &made) != EGRAPH_OK) {
    s->is_untyped = true;
    return;
  }
  s->terms[at] = special_tensor(made.dtype, s->count);
  const eg_kernel_call call = {.attrs = &attrs,
                               .inputs = inputs,
                               .input_count = term->child_count,
                               .outputs = &s->terms[at],
                               .output_count = 1,
                               .alloc = eg_allocator_heap()};
  assert_ok(eg_op_run(&call));
  special_watch(s, term->op, &s->terms[at], inputs, term->child_count);
}

// ---- both sides ---------------------------------------------------------------------

/// Whether element i of the right side may stand for that of the left one.
static inline bool special_may_stand(const special *s, const eg_tensor *left,
                                     const eg_tensor *right, int64_t i, bool is_finite) {
  egraph_dtype dtype = left->type.dtype;
  if (!eg_dtype_is_float(dtype))
    return eg_tensor_get_int(left, i) == eg_tensor_get_int(right, i) ||
           (s->is_excused[i] && s->math != EGRAPH_MATH_EXACT);
  double l = eg_tensor_get_double(left, i), r = eg_tensor_get_double(right, i);
  if (isnan(l) && isnan(r)) return true;
  if (s->math == EGRAPH_MATH_EXACT) return l == r && signbit(l) == signbit(r);
  if (s->is_excused[i] || l == r) return true;
  if (s->math == EGRAPH_MATH_FAST && (!is_finite || !isfinite(l))) return true;
  if (isnan(l)) return false;
  if (isinf(l)) return isnan(r);
  double units = eg_dtype_bytes(dtype) >= 4 ? 256 : 64;
  return isfinite(r) && fabs(l - r) <= units * eg_dtype_unit(dtype, s->largest[i]);
}

static inline bool special_is_finite(const special *s, const eg_tensor *vars, int64_t i) {
  for (uint32_t v = 0; v < s->rule->var_count; v++)
    if (vars[v].data != NULL && eg_dtype_is_float(vars[v].type.dtype) &&
        !isfinite(eg_tensor_get_double(&vars[v], i)))
      return false;
  return true;
}

static inline bool special_compare(special *s, const eg_tensor *vars) {
  const eg_tensor *left = &s->terms[s->rule->lhs[0].term],
                  *right = &s->terms[s->rule->rhs[0].term];
  if (left->type.dtype != right->type.dtype) return false;
  for (int64_t i = 0; i < s->count; i++) {
    if (special_may_stand(s, left, right, i, special_is_finite(s, vars, i))) continue;
    int at = snprintf(s->where, sizeof s->where, "%s, %s: %g, not %g at", s->rule->name,
                      eg_dtype_name(s->dtype), eg_tensor_get_double(right, i),
                      eg_tensor_get_double(left, i));
    for (uint32_t v = 0; v < s->rule->var_count && at < 150; v++)
      if (vars[v].data != NULL)
        at += snprintf(s->where + at, sizeof s->where - (size_t)at, " %s = %g",
                       s->rule->vars[v].name, eg_tensor_get_double(&vars[v], i));
    return false;
  }
  return true;
}

/// Conditions on types are looked at, all others are not understood.
static inline void special_conditions(special *s) {
  for (uint32_t i = 0; i < s->rule->condition_count; i++) {
    const eg_rule_expr *e = &s->rule->exprs[s->rule->conditions[i]];
    bool is_float = eg_dtype_is_float(s->dtype), is_bool = s->dtype == EGRAPH_BOOL;
    switch ((int)e->function) {
    case EG_RULE_FN_IS_FLOAT: s->is_untyped = s->is_untyped || !is_float; break;
    case EG_RULE_FN_IS_INT: s->is_untyped = s->is_untyped || is_float || is_bool; break;
    case EG_RULE_FN_SAME_TYPE:
    case EG_RULE_FN_SAME_DTYPE:
    case EG_RULE_FN_SAME_SHAPE:
    case EG_RULE_FN_BROADCASTS_TO: break;
    default: s->is_unknown = true;
    }
  }
}

/// The rule as one of this class, on numbers of this type. `where` may be NULL.
static inline special_verdict special_evaluate(const eg_rule *rule, egraph_math math,
                                               egraph_dtype dtype, char *where) {
  special s = {.rule = rule, .dtype = dtype, .math = math};
  eg_tensor vars[SPECIAL_TERMS] = {{.data = NULL}};
  s.is_unknown = rule->let_count != 0 || rule->root_count != 1 ||
                 rule->term_count > SPECIAL_TERMS || rule->var_count > SPECIAL_TERMS;
  special_conditions(&s);
  if (s.is_unknown) return SPECIAL_UNKNOWN;
  if (s.is_untyped) return SPECIAL_UNTYPED;
  special_variables(&s, vars);
  s.terms = calloc(rule->term_count, sizeof *s.terms);
  s.is_excused = calloc((size_t)s.count, sizeof *s.is_excused);
  s.largest = calloc((size_t)s.count, sizeof *s.largest);
  assert_true(s.terms != NULL && s.is_excused != NULL && s.largest != NULL);
  for (uint32_t t = 0; t < rule->term_count && !s.is_unknown && !s.is_untyped; t++)
    special_term(&s, t, vars);
  special_verdict verdict = s.is_unknown   ? SPECIAL_UNKNOWN
                            : s.is_untyped ? SPECIAL_UNTYPED
                                           : SPECIAL_HOLDS;
  if (verdict == SPECIAL_HOLDS && !special_compare(&s, vars)) verdict = SPECIAL_FAILS;
  if (where != NULL) (void)snprintf(where, sizeof s.where, "%s", s.where);
  for (uint32_t t = 0; t < rule->term_count; t++)
    free(s.terms[t].data);
  for (uint32_t v = 0; v < rule->var_count; v++)
    free(vars[v].data);
  free(s.terms);
  free(s.is_excused);
  free(s.largest);
  return verdict;
}

#endif
