// Draws the numbers with which the leaves (tensor variables) of an instance are filled.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/verify/compare.h"

#include <assert.h>
#include <math.h>

/// Returns a limit of LARGE data: sums of products of four such numbers stay in range.
static double large(egraph_dtype dtype) { return dtype == EGRAPH_FLOAT16 ? 4 : 1000; }

// ---- the numbers of an instance -------------------------------------------------------

static void add_near(eg_verify_source *source, double number) {
  number = fabs(number);
  if (!isfinite(number) || number == 0) return;
  source->largest = fmax(source->largest, number);
  if (source->near_count == EG_VERIFY_NUMBERS) return;
  for (uint32_t i = 0; i < source->near_count; i++)
    if (source->near[i] == number) return;
  source->near[source->near_count++] = number;
}

static void add_numbers(eg_verify_source *source, const eg_verify_instance *instance) {
  const eg_rule *rule = instance->rule;
  for (uint32_t i = 0; i < rule->var_count; i++)
    if (eg_verify_is_leaf(rule, i) && instance->leaves[i].splat)
      add_near(source, instance->leaves[i].splat_value);
  for (uint32_t i = 0; i < rule->term_count; i++) {
    if (rule->terms[i].is_var) continue;
    const eg_attrs *attrs = eg_verify_attrs_of(instance, i);
    for (uint16_t k = 0; k < attrs->count; k++)
      if (attrs->slots[k].kind == EG_ATTR_FLOAT) add_near(source, attrs->slots[k].f);
  }
  for (uint32_t i = 0; i < rule->expr_count; i++)
    if (rule->exprs[i].form == EG_RULE_EXPR_CONSTANT &&
        rule->exprs[i].kind == EG_RULE_FLOAT)
      add_near(source, rule->exprs[i].constant.f);
}

double eg_verify_largest_number(const eg_verify_instance *instance) {
  eg_verify_source source = {.largest = 0};
  add_numbers(&source, instance);
  return source.largest;
}

eg_verify_source eg_verify_source_of(const eg_verify_instance *instance,
                                     eg_verify_data data, uint64_t seed, uint32_t turn) {
  static const uint32_t shares[] = {5, 20, 50};
  assert(data < EG_VERIFY_DATA_COUNT);
  eg_verify_source source = {.rng = {.state = seed}, .data = data, .turn = turn};
  source.kind = (uint32_t)eg_rng_below(&source.rng, 10);
  source.wanted = 1 + (uint32_t)eg_rng_below(&source.rng, 7);
  source.percent = shares[eg_rng_below(&source.rng, 3)];
  if (data == EG_VERIFY_NEAR) add_numbers(&source, instance);
  return source;
}

// ---- floating-point numbers -----------------------------------------------------------

static double ordinary(eg_verify_source *source, bool is_whole, bool is_positive) {
  double unit = eg_rng_unit(&source->rng);
  if (is_whole) return is_positive ? 1 + floor(3 * unit) : floor(7 * unit) - 3;
  return is_positive ? 0.25 + 2 * unit : 4 * unit - 2;
}

static double not_finite(eg_verify_source *source) {
  static const double values[] = {NAN, INFINITY, -INFINITY};
  uint64_t which = eg_rng_below(&source->rng, 3);
  while ((source->wanted >> which & 1) == 0)
    which = (which + 1) % 3;
  return values[which];
}

static double extreme(eg_verify_source *source, egraph_dtype dtype) {
  double largest = eg_dtype_largest(dtype), normal = eg_dtype_normal(dtype);
  const double values[] = {
      0, largest, largest / 2, 0.75 * largest, normal, 1, eg_dtype_unit(dtype, 0), 3};
  double value = values[eg_rng_below(&source->rng, sizeof values / sizeof *values)];
  return eg_rng_below(&source->rng, 2) == 0 ? value : -value;
}

#define WIDE_LOG 12.434 // log of 10^5.4

/// Draws a number of either sign and any size from 1e-3 to beyond bounds such as 50
/// and 100.
static double wide(eg_verify_source *source, bool is_positive) {
  double size = 1e-3 * exp(WIDE_LOG * eg_rng_unit(&source->rng));
  bool is_whole = source->kind < 5, is_negative = eg_rng_below(&source->rng, 2) == 0;
  if (is_whole) size = floor(size);
  return is_negative && !is_positive ? -size : size;
}

/// Draws a number as small as an epsilon that is added to avoid a division by zero. Its
/// square is normal.
static double tiny(eg_verify_source *source, egraph_dtype dtype, bool is_positive) {
  double unit = dtype == EGRAPH_FLOAT16 ? 1e-2 : 1e-5;
  double size = unit * (0.5 + 2 * eg_rng_unit(&source->rng));
  return is_positive || eg_rng_below(&source->rng, 2) == 0 ? size : -size;
}

/// Draws a number of TIES data: whole, or between two whole numbers. Zeros have either
/// sign; often no number is above 0, or no number is below 0.
static double tied(eg_verify_source *source, bool is_positive) {
  uint64_t count = source->kind < 3 ? 3 : source->kind < 5 ? 8 : 4;
  double number = (double)eg_rng_below(&source->rng, count);
  if (source->kind < 5)
    number = (source->kind < 3 ? 1 : 0.5) * (number - !is_positive);
  else
    number = number != 0 ? 0 : is_positive ? 1 : -1;
  return number == 0 && eg_rng_below(&source->rng, 2) == 0 ? -0.0 : number;
}

#define LARGEST_POWER 20.0 // the exponent of e

static double near_one(eg_verify_source *source) {
  return source->near[eg_rng_below(&source->rng, source->near_count)];
}

/// Returns which of `count` choices leaf number `leaf` takes in a turn: first all leaves
/// take the same choice, then pairs of leaves take every pair of choices.
static uint32_t taken(uint32_t turn, uint32_t leaf, uint32_t count) {
  return (turn + leaf * (turn / count)) % count;
}

/// The kinds of numbers near which the numbers of a leaf are drawn.
typedef enum around_kind {
  AROUND_NUMBER,     // a number of the instance
  AROUND_RECIPROCAL, // a number whose product with it is 1
  AROUND_ROOT,       // a number whose square is it
  AROUND_PRODUCT,    // product of two
  AROUND_QUOTIENT,
  AROUND_POWER, // power of e
  AROUND_ONE,
  AROUND_EACH // another one for each element
} around_kind;

static double around_of(eg_verify_source *source, around_kind kind, double number) {
  switch (kind) {
  case AROUND_NUMBER: return number;
  case AROUND_RECIPROCAL: return 1 / number;
  case AROUND_ROOT: return sqrt(number);
  case AROUND_PRODUCT: return number * near_one(source);
  case AROUND_QUOTIENT: return number / near_one(source);
  case AROUND_POWER: return exp(fmin(number, LARGEST_POWER));
  case AROUND_ONE: return 1;
  case AROUND_EACH: return 0;
  }
  return number;
}

/// Chooses the number near which a leaf's data are drawn, mostly one number of the
/// instance, so that no large number hides a difference. Leaves may have different ones.
static void begin_near(eg_verify_source *source) {
  static const around_kind kinds[] = {AROUND_NUMBER,  AROUND_ROOT,       AROUND_NUMBER,
                                      AROUND_EACH,    AROUND_RECIPROCAL, AROUND_NUMBER,
                                      AROUND_POWER,   AROUND_QUOTIENT,   AROUND_NUMBER,
                                      AROUND_PRODUCT, AROUND_ONE};
  static const int signs[] = {0, 1, -1};
  const uint32_t kind_count = sizeof kinds / sizeof *kinds;
  uint32_t leaf = source->leaf++, turn = source->turn;
  double number = source->near[(turn / kind_count + leaf) % source->near_count];
  source->around = around_of(source, kinds[taken(turn, leaf, kind_count)], number);
  source->sign = signs[taken(turn, leaf, 3)];
}

/// Draws a number near the number chosen for the leaf: some are that number itself,
/// others lie between 0 and twice the number, half of them whole.
static double near_number(eg_verify_source *source, egraph_dtype dtype,
                          bool is_variance) {
  if (source->near_count == 0) return wide(source, is_variance);
  double around = source->around;
  if (around == 0) around = near_one(source);
  double most = 2 * around, size = most * eg_rng_unit(&source->rng);
  bool is_negative =
      source->sign < 0 || (source->sign == 0 && eg_rng_below(&source->rng, 3) == 0);
  if (most >= 1000 || (source->kind < 5 && most >= 8)) size = floor(size); // exact
  if (eg_rng_below(&source->rng, 6) == 0) size = around;
  if (size > eg_dtype_largest(dtype)) return ordinary(source, true, is_variance);
  return is_negative && !is_variance ? -size : size;
}

/// Draws a number of LARGE data. A quarter of all are zero, or so large that exponentials
/// leave the range: above the largest number or below the smallest.
static double large_number(eg_verify_source *source, egraph_dtype dtype) {
  double unit = eg_rng_unit(&source->rng), most = large(dtype);
  double border = floor(log(eg_dtype_largest(dtype)) * (1 + 0.05 * unit));
  bool is_negative = eg_rng_below(&source->rng, 2) == 0;
  switch (eg_rng_below(&source->rng, 8)) {
  case 0: return is_negative ? -0.0 : 0;
  case 1: return is_negative ? -border : border;
  default: return floor((2 * unit - 1) * most);
  }
}

static double float_number(eg_verify_source *source, const eg_verify_leaf *leaf,
                           bool is_positive) {
  egraph_dtype dtype = leaf->type.dtype;
  switch (source->data) {
  case EG_VERIFY_NOT_FINITE:
    if (!leaf->constant && eg_rng_below(&source->rng, 100) < source->percent)
      return not_finite(source);
    return ordinary(source, true, is_positive);
  case EG_VERIFY_LARGE: return large_number(source, dtype);
  case EG_VERIFY_EXTREME: return extreme(source, dtype);
  case EG_VERIFY_WIDE: return wide(source, is_positive);
  case EG_VERIFY_TINY: return tiny(source, dtype, is_positive);
  case EG_VERIFY_TIES: return tied(source, is_positive);
  case EG_VERIFY_NEAR: return near_number(source, dtype, leaf->variance);
  case EG_VERIFY_ORDINARY:
  case EG_VERIFY_DATA_COUNT: break;
  }
  return ordinary(source, source->kind < 5, is_positive);
}

// ---- integers -------------------------------------------------------------------------

/// Draws the bits of an integer: at or near an end of its range, near 0, at or near a
/// power of two, or any bits.
static int64_t extreme_int(eg_verify_source *source, egraph_dtype dtype) {
  uint32_t bits = 8 * (uint32_t)eg_dtype_bytes(dtype);
  uint64_t way = eg_rng_below(&source->rng, 4), some = eg_rng_below(&source->rng, bits);
  if (way == 0)
    return (int64_t)((UINT64_C(1) << some) + eg_rng_below(&source->rng, 3) - 1);
  if (way == 1) return (int64_t)(eg_rng_next(&source->rng) >> (63 - some));
  uint64_t most = UINT64_MAX >> (64 - bits + !eg_dtype_is_unsigned(dtype));
  const uint64_t values[] = {most, most - 1, most / 2, most + 1,   most + 2,
                             0,    1,        2,        UINT64_MAX, 100};
  return (int64_t)values[eg_rng_below(&source->rng, sizeof values / sizeof *values)];
}

/// Draws a whole number of any size up to 120; half of them are negative if the type
/// is signed.
static double whole_number(eg_verify_source *source, egraph_dtype dtype) {
  double size = floor(pow(120, eg_rng_unit(&source->rng)));
  bool may = !eg_dtype_is_unsigned(dtype);
  return may && eg_rng_below(&source->rng, 2) == 0 ? -size : size;
}

/// Draws a whole number from 0 to twice one of the instance's numbers, within the type
/// and the exact range of float64.
static double near_whole(eg_verify_source *source, egraph_dtype dtype) {
  uint32_t bits = 8 * (uint32_t)eg_dtype_bytes(dtype);
  double most = 2 * near_one(source);
  if (eg_rng_below(&source->rng, 4) == 0) most *= near_one(source);
  most = fmin(most + 1, ldexp(1, bits > 50 ? 50 : (int)bits - 1) - 1);
  double size = floor(most * eg_rng_unit(&source->rng));
  bool is_negative =
      source->sign < 0 || (source->sign == 0 && eg_rng_below(&source->rng, 3) == 0);
  return is_negative && !eg_dtype_is_unsigned(dtype) ? -size : size;
}

// ---- leaves ---------------------------------------------------------------------------

static double leaf_number(eg_verify_source *source, const eg_verify_leaf *leaf) {
  bool is_positive = source->kind % 2 == 1 || leaf->variance;
  if (leaf->splat) return leaf->splat_value;
  if (leaf->index_bound > 0) // negative indices count from the end
    return (double)eg_rng_below(&source->rng, 2 * (uint64_t)leaf->index_bound) -
           (double)leaf->index_bound;
  if (leaf->type.dtype == EGRAPH_BOOL) return (double)eg_rng_below(&source->rng, 2);
  bool is_float = eg_dtype_is_float(leaf->type.dtype);
  if (!is_float && source->data == EG_VERIFY_WIDE)
    return whole_number(source, leaf->type.dtype);
  bool is_near = source->data == EG_VERIFY_NEAR && source->near_count > 0;
  if (!is_float && is_near) return near_whole(source, leaf->type.dtype);
  bool has_sign = !eg_dtype_is_unsigned(leaf->type.dtype);
  if (!is_float) return ordinary(source, true, is_positive) + (has_sign ? 0 : 3);
  double value = float_number(source, leaf, is_positive);
  return leaf->variance ? fabs(value) : value;
}

void eg_verify_fill(eg_verify_source *source, const eg_verify_leaf *leaf,
                    const eg_tensor *tensor) {
  egraph_dtype dtype = leaf->type.dtype;
  bool at_ends = !eg_verify_is_plain(source->data) && !eg_dtype_is_float(dtype) &&
                 dtype != EGRAPH_BOOL && leaf->index_bound == 0 && !leaf->splat;
  int64_t count = eg_type_elements(&leaf->type);
  double *numbers = dtype == EGRAPH_FLOAT64 ? tensor->data : NULL;
  if (source->near_count > 0) begin_near(source);
  for (int64_t i = 0; i < count; i++)
    if (at_ends)
      eg_tensor_set_int(tensor, i, extreme_int(source, dtype));
    else if (numbers != NULL)
      numbers[i] = leaf_number(source, leaf);
    else
      eg_tensor_set_double(tensor, i, leaf_number(source, leaf));
}
