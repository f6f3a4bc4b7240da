// Evaluates both sides with the reference kernels and compares them.
//
// Half of the data are small whole numbers: as long as every intermediate number is whole
// and below 2^53 (2^24 for float32), or a simple fraction, floating-point arithmetic is
// exact and the sides must be equal bit for bit. Otherwise float64 results may differ by
// some of their own units in the last place. When they differ by more, rounding is
// measured: both sides are computed again with every number, given or computed, moved by
// one unit in its last place at random; an element may then differ by some times its
// movement. A difference therefore shows however small it is compared with other numbers,
// even of other elements, while errors that grow in differences of nearly equal numbers
// are allowed. Types with fewer digits get a bound relative to the largest number of the
// evaluation, and the same numbers are also evaluated in float64.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/verify/compare.h"

#include <assert.h>
#include <fenv.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/kernels.h"
#include "ops/meaning.h"
#include "rewrites/lab/basis/tensors.h"

// The largest numbers that are compared: with float64, rounding is measured (MEASURED);
// with other types, it is estimated.
#define LARGEST_SCALE 1e5
#define LARGEST_MEASURED_SCALE 1e300

enum {
  MAX_ELEMENTS = 1 << 18, // largest size of a tensor; rules may require any shape
  MAX_PRODUCTS = 1 << 26, // largest product of the elements of a result and an operand
  MAX_PLACES = 1 << 21,   // largest total number of window places of a result
  BLOCK = 256             // numbers that are read together
};

// NUDGES: to measure rounding, all numbers are moved at most so many times. NUDGE_SLACK:
// an element of the two sides may differ by so many times its movement. UNITS: float64
// elements may also differ by so many units in the last place, plus the length of the
// longest sum: when equal numbers are summed, all roundings can go the same way, and
// their errors add up. FEW_PARTS: an attribute that is a multiple of 1 / FEW_PARTS keeps
// results exact.
enum { NUDGES = 16, NUDGE_SLACK = 16, UNITS = 64, FEW_PARTS = 2 };

/// The tensors that a term of the rule computes, one for each of its results.
typedef struct term_value {
  eg_tensor *parts;
  uint32_t count;
} term_value;

typedef struct evaluation {
  const eg_verify_instance *instance;
  const eg_rule *rule;
  egraph_allocator alloc;
  eg_arena *arena;
  eg_verify_source source;
  term_value *terms; // by term index
  term_value *vars;  // leaves, by variable
  double scale;      // largest finite absolute value so far
  bool exact;        // no number was rounded so far
  // is_broken: some number of the evaluation was not whole. is_large: some number was too
  // large for exact sums and products of such numbers.
  bool is_broken, is_large;
  bool is_subnormal; // some number was subnormal in its type
  bool is_narrow;    // some number has a floating-point type other than float64
  bool is_short;     // some number has a 16-bit floating-point type
  int raised;        // floating-point exceptions that either side raised
  bool is_beyond;    // some node would take the kernels too long
  int64_t longest;   // largest count of numbers that a kernel sums
  bool is_widened;   // floating-point numbers are computed in float64, whatever type
  eg_rng *nudge;     // moves all numbers by some units, up or down; NULL: no movement
  const term_value *moved[NUDGES]; // values of all terms with moved numbers
  uint32_t moved_count;
} evaluation;

/// Limits of a floating-point type. `bound`: allowed difference of values, relative to
/// the largest number on either side (every node rounds, and constants of rules are
/// matched within one unit in the last place); 0: rounding is measured. `whole`: whole
/// numbers below it are exact. Arithmetic on other numbers is exact as long as all are
/// multiples of 1 / parts and below `broken`, because the product of two then fits.
typedef struct precision {
  double bound, whole, parts, broken;
} precision;

static const precision precisions[EGRAPH_DTYPE_COUNT] = {
    [EGRAPH_FLOAT64] = {0, 0x1p53, 0x1p12, 0x1p29},
    [EGRAPH_FLOAT32] = {1e-4, 0x1p24, 0x1p4, 0x1p16},
    [EGRAPH_FLOAT16] = {2e-2, 0x1p11, 0x1p1, 0x1p9},
    [EGRAPH_BFLOAT16] = {1e-1, 0x1p8, 0x1p1, 0x1p6}};

// ---- what was computed ----------------------------------------------------------

/// A summary of the numbers in a tensor. Positive numbers have the order of their bits,
/// with infinity and NaN at the end.
typedef struct seen_numbers {
  uint64_t largest; // bits of the largest finite absolute value
  // Bits of the smallest nonzero absolute value, less 1: this makes 0 larger than
  // all others.
  uint64_t smallest_less_1;
  bool is_broken; // some number is not whole
  bool is_fine;   // all are whole after multiplication by `parts`
} seen_numbers;

/// True for whole numbers, infinities and NaN.
static inline bool is_whole(double value) {
  return floor(value) == value || value != value;
}

static inline uint64_t bits_of_size(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits & INT64_MAX;
}

static double number_of_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

EG_KERNEL_CLONES
static void see_sizes(const double *values, int64_t count, seen_numbers *seen) {
  const uint64_t infinity = UINT64_C(0x7ff) << 52;
  uint64_t largest = seen->largest, smallest = seen->smallest_less_1;
  for (int64_t i = 0; i < count; i++) {
    uint64_t bits = bits_of_size(values[i]), finite = bits < infinity ? bits : 0;
    largest = finite > largest ? finite : largest;
    smallest = bits - 1 < smallest ? bits - 1 : smallest;
  }
  seen->largest = largest;
  seen->smallest_less_1 = smallest;
}

EG_KERNEL_CLONES
static void see_fractions(const double *values, int64_t count, double parts,
                          seen_numbers *seen) {
  uint64_t broken = 0, finer = 0;
  for (int64_t i = 0; i < count; i++) {
    broken += !is_whole(values[i]);
    finer += !is_whole(values[i] * parts);
  }
  seen->is_broken = seen->is_broken || broken > 0;
  seen->is_fine = seen->is_fine && finer == 0;
}

/// Returns the tensor's numbers from `first` on, at most `BLOCK`, as float64.
static const double *as_doubles(const eg_tensor *tensor, int64_t first, int64_t count,
                                double *block) {
  if (tensor->type.dtype == EGRAPH_FLOAT64) return (const double *)tensor->data + first;
  for (int64_t i = 0; i < count; i++)
    block[i] = eg_tensor_get_double(tensor, first + i);
  return block;
}

/// Records whether numbers of a tensor are whole, large or subnormal, which decides
/// whether arithmetic is exact; the numbers are rounded as numbers of type `like`.
static void note_numbers(evaluation *run, const eg_tensor *tensor, egraph_dtype like) {
  if (!eg_dtype_is_float(tensor->type.dtype)) return; // integers wrap exactly
  const precision *p = &precisions[like];
  seen_numbers seen = {.smallest_less_1 = (UINT64_C(0x7ff) << 52) - 1, .is_fine = true};
  int64_t count = eg_type_elements(&tensor->type);
  for (int64_t first = 0; first < count; first += BLOCK) {
    double block[BLOCK];
    int64_t some = count - first < BLOCK ? count - first : BLOCK;
    const double *values = as_doubles(tensor, first, some, block);
    see_sizes(values, some, &seen);
    if (run->exact) see_fractions(values, some, p->parts, &seen);
  }
  double largest = number_of_bits(seen.largest),
         smallest = number_of_bits(seen.smallest_less_1 + 1);
  if (smallest < eg_dtype_normal(tensor->type.dtype)) run->is_subnormal = true;
  if (largest > run->scale) run->scale = largest;
  if (tensor->type.dtype != EGRAPH_FLOAT64) run->is_narrow = true;
  if (eg_dtype_bytes(tensor->type.dtype) == 2) run->is_short = true;
  if (!run->exact) return;
  if (largest >= p->broken) run->is_large = true;
  if (seen.is_broken) run->is_broken = true;
  run->exact = largest < p->whole && seen.is_fine && !(run->is_broken && run->is_large);
}

/// Records numeric attributes that are not whole: they can round results to whole
/// numbers. Halves cannot.
static void note_attrs(evaluation *run, const eg_attrs *attrs) {
  for (uint16_t i = 0; i < attrs->count; i++)
    if (attrs->slots[i].kind == EG_ATTR_FLOAT && isfinite(attrs->slots[i].f) &&
        attrs->slots[i].f * FEW_PARTS != floor(attrs->slots[i].f * FEW_PARTS))
      run->exact = false;
}

static egraph_status alloc_tensor(evaluation *run, const eg_type *type, eg_tensor *out) {
  eg_type kept = *type;
  if (run->is_widened) kept.dtype = eg_widened(type->dtype);
  run->is_beyond = eg_type_elements(type) > MAX_ELEMENTS;
  if (run->is_beyond)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "a tensor is too large to verify a rule with");
  return eg_arena_tensor(run->arena, &kept, out);
}

static egraph_status new_value(evaluation *run, const eg_tensor_fact *fact,
                               term_value *out) {
  out->count = fact->part_count > 0 ? fact->part_count : 1;
  EG_NEW(run->arena, out->count, out->parts);
  for (uint32_t i = 0; i < out->count; i++)
    EG_TRY(alloc_tensor(run, fact->part_count > 0 ? &fact->parts[i] : &fact->type,
                        &out->parts[i]));
  return EGRAPH_OK;
}

// ---- data -----------------------------------------------------------------------

/// Moves every number of a tensor by one or two units in its last place in `dtype`, or by
/// units of `least` when that is larger. There are two sizes because movements of one
/// size often cancel.
static void nudge(eg_rng *rng, const eg_tensor *tensor, egraph_dtype dtype,
                  double least) {
  if (!eg_dtype_is_float(tensor->type.dtype)) return;
  int64_t count = eg_type_elements(&tensor->type);
  double least_unit = least > 0 ? eg_dtype_unit(dtype, least) : 0;
  for (int64_t i = 0; i < count; i++) {
    static const double units[] = {1, 2, -1, -2};
    double value = eg_tensor_get_double(tensor, i), unit = eg_dtype_unit(dtype, value);
    double by = fmax(unit, least_unit) * units[eg_rng_below(rng, 4)];
    if (value != 0 || least > 0) eg_tensor_set_double(tensor, i, value + by);
  }
}

/// Returns the number that a constant becomes when it is stored in this type.
static double held_by(egraph_dtype dtype, double meant) {
  double storage = 0;
  const eg_tensor scalar = {.type = {.dtype = dtype}, .data = &storage};
  eg_tensor_set_double(&scalar, 0, meant);
  return eg_tensor_get_double(&scalar, 0);
}

/// Moves a tensor's constant by one or two units of its type: conditions and attributes
/// compute exactly, either with the number that its type represents or with the intended
/// number. In float64 the movement is divided by the slack. A number that becomes
/// infinite or zero in its type is lost, not rounded.
static void note_constant(evaluation *run, const eg_tensor *tensor, egraph_dtype dtype,
                          double meant) {
  static const double units[] = {1, 2, -1, -2};
  double held = held_by(dtype, meant);
  int64_t count = eg_type_elements(&tensor->type);
  if (held == meant || count == 0) return;
  run->exact = false;
  if (run->nudge == NULL || !eg_dtype_is_float(dtype) || !eg_dtype_holds(dtype, meant))
    return;
  double by = units[eg_rng_below(run->nudge, 4)] * eg_dtype_unit(dtype, held);
  if (run->is_widened) by /= NUDGE_SLACK;
  for (int64_t i = 0; i < count; i++)
    eg_tensor_set_double(tensor, i, eg_tensor_get_double(tensor, i) + by);
}

static egraph_status fill_leaf(evaluation *run, uint32_t var) {
  const eg_verify_leaf *leaf = &run->instance->leaves[var];
  term_value *value = &run->vars[var];
  value->count = 1;
  EG_NEW(run->arena, 1, value->parts);
  EG_TRY(alloc_tensor(run, &leaf->type, value->parts));
  eg_tensor drawn = *value->parts;
  int64_t count = eg_type_elements(&leaf->type);
  if (drawn.type.dtype != leaf->type.dtype) // the numbers, rounded to the leaf's type
    EG_TRY(eg_arena_tensor(run->arena, &leaf->type, &drawn));
  eg_verify_fill(&run->source, leaf, &drawn);
  for (int64_t i = 0; i < count && drawn.data != value->parts->data; i++)
    eg_tensor_set_double(value->parts, i, eg_tensor_get_double(&drawn, i));
  if (leaf->splat) note_constant(run, value->parts, leaf->type.dtype, leaf->splat_value);
  if (run->nudge != NULL && !leaf->constant)
    nudge(run->nudge, value->parts, value->parts->type.dtype, 0);
  note_numbers(run, value->parts, value->parts->type.dtype);
  return EGRAPH_OK;
}

// ---- evaluation -----------------------------------------------------------------

/// True for kernels that may sum elements of operands.
static bool sums_operands(const eg_kernel_call *call) {
  unsigned flags = eg_op_info_of((eg_op)call->attrs->op)->flags;
  return (flags & (EG_OPF_POINTWISE | EG_OPF_MOVES)) == 0;
}

/// Marks an evaluation as too long (is_beyond) by a kernel's number of products. Kernels
/// that sum products read an operand at most once for each element of the result. Windows
/// can have too many positions, both inside and outside of the operand.
static egraph_status check_work(evaluation *run, const eg_kernel_call *call) {
  int64_t elements = eg_type_elements(&call->outputs[0].type);
  double places = (double)elements;
  uint16_t slot;
  bool has_kernel = eg_op_find_attr((eg_op)call->attrs->op, "kernel_shape", &slot);
  for (uint32_t i = 0; has_kernel && i < call->attrs->slots[slot].ints.len; i++)
    places *= (double)call->attrs->slots[slot].ints.data[i];
  run->is_beyond = run->is_beyond || (has_kernel && places > MAX_PLACES);
  if (!sums_operands(call)) return EGRAPH_OK;
  for (uint32_t i = 0; i < call->input_count; i++)
    run->is_beyond = run->is_beyond ||
                     elements * eg_type_elements(&call->inputs[i].type) > MAX_PRODUCTS;
  return run->is_beyond
             ? EG_FAIL(EGRAPH_E_UNSUPPORTED, "a node is too large to verify a rule with")
             : EGRAPH_OK;
}

/// Records how many numbers a kernel sums for one result element: at most the elements of
/// the smallest operand.
static void note_sums(evaluation *run, const eg_kernel_call *call) {
  int64_t least = INT64_MAX;
  if (!sums_operands(call) || call->input_count == 0) return;
  for (uint32_t i = 0; i < call->input_count; i++) {
    int64_t elements = eg_type_elements(&call->inputs[i].type);
    if (elements < least) least = elements;
  }
  if (least > run->longest) run->longest = least;
}

/// True when the operator or its activation rounds intermediate numbers that are larger
/// than its results, such as differences of nearly equal numbers.
static bool rounds_inside(const eg_attrs *attrs) {
  const eg_attr *act = eg_attr_of_role(attrs, EG_AR_ACT);
  unsigned flags = eg_op_info_of((eg_op)attrs->op)->flags;
  if (act != NULL) flags |= eg_op_info_of(eg_act_operator((eg_act)act->i))->flags;
  return (flags & EG_OPF_CANCELS) != 0;
}

static bool computes_in_float32(eg_op op) {
  return (eg_op_info_of(op)->flags & EG_OPF_SINGLE) != 0;
}

static egraph_status run_node(evaluation *run, uint32_t index, const eg_attrs *attrs,
                              const eg_tensor_fact *fact) {
  const eg_rule_term *term = &run->rule->terms[index];
  term_value *out = &run->terms[index];
  if (term->op == EG_OP_PART) {
    const term_value *tuple = &run->terms[term->children[0]];
    *out = (term_value){.parts = &tuple->parts[attrs->slots[0].i], .count = 1};
    return EGRAPH_OK;
  }
  EG_TRY(new_value(run, fact, out));
  note_attrs(run, attrs);
  const eg_attrs *named = attrs;
  if (run->is_widened) EG_TRY(eg_attrs_widen(run->arena, attrs, &attrs));
  eg_tensor *inputs;
  EG_NEW(run->arena, (size_t)term->child_count + 1, inputs);
  for (uint32_t i = 0; i < term->child_count; i++)
    inputs[i] = run->terms[term->children[i]].parts[0];
  eg_kernel_call call = {.attrs = attrs,
                         .inputs = inputs,
                         .input_count = term->child_count,
                         .outputs = out->parts,
                         .output_count = out->count,
                         .alloc = run->alloc};
  EG_TRY(check_work(run, &call));
  note_sums(run, &call);
  EG_TRY(eg_op_run(&call));
  if (term->op == EG_OP_FILL && run->is_widened)
    note_constant(run, out->parts, (egraph_dtype)eg_attr_at(named, EG_A_FILL_DTYPE)->i,
                  eg_attr_at(named, EG_A_FILL_VALUE)->f);
  bool is_moved =
      run->nudge != NULL && (eg_op_info_of(term->op)->flags & EG_OPF_MOVES) == 0;
  double least = is_moved && rounds_inside(attrs) ? run->scale : 0;
  for (uint32_t i = 0; i < out->count; i++) {
    egraph_dtype like = out->parts[i].type.dtype;
    if (like == EGRAPH_FLOAT64 && computes_in_float32(term->op)) like = EGRAPH_FLOAT32;
    if (is_moved) nudge(run->nudge, &out->parts[i], like, least);
    note_numbers(run, &out->parts[i], like);
  }
  return EGRAPH_OK;
}

static egraph_status run_left(evaluation *run) {
  const eg_verify_instance *instance = run->instance;
  for (uint32_t i = 0; i < run->rule->pattern_term_count; i++) {
    const eg_rule_term *term = &run->rule->terms[i];
    if (term->is_var) {
      if (run->vars[term->var].count == 0) EG_TRY(fill_leaf(run, term->var));
      run->terms[i] = run->vars[term->var];
      continue;
    }
    EG_TRY(run_node(run, i, instance->attrs[i],
                    eg_tensor_egraph_fact(instance->egraph, instance->classes[i])));
    if (term->var != EG_RULE_NONE) run->vars[term->var] = run->terms[i];
  }
  return EGRAPH_OK;
}

static egraph_status run_right(evaluation *run) {
  const eg_verify_instance *instance = run->instance;
  for (uint32_t i = run->rule->pattern_term_count; i < run->rule->term_count; i++) {
    const eg_rule_term *term = &run->rule->terms[i];
    const eg_built_term *built = &instance->builder->terms[i];
    if (term->is_var) {
      bool is_let = run->rule->vars[term->var].origin == EG_RULE_VAR_LET_TERM;
      run->terms[i] =
          is_let ? run->terms[instance->builder->alias[term->var]] : run->vars[term->var];
      continue;
    }
    EG_TRY(run_node(run, i, eg_verify_attrs_of(instance, i), built->fact));
  }
  return EGRAPH_OK;
}

// ---- comparison -----------------------------------------------------------------

/// The element in which the results of both sides differ.
typedef struct disagreement {
  uint32_t root;
  int64_t element;
  double left, right, bound;
} disagreement;

typedef struct comparison {
  const evaluation *run;
  // Whether there are zeros or infinities in any node (limit); infinities in computed
  // values, and in leaves (infinity).
  enum { NOT_LOOKED_FOR, FOUND, MISSING } limit, infinity[2];
  uint32_t terms[2], part; // terms of both sides, and part
  eg_verify_data data;
  bool spreads; // the rule declares it
  double bound; // absolute bound of every element
  double units; // bound relative to the element
  bool finite;  // some finite number was compared
  int64_t elements;
  bool differ;
  egraph_math math; // class of the current element
  disagreement worst;
} comparison;

static double element(const eg_tensor *tensor, int64_t i) {
  return tensor->type.dtype == EGRAPH_FLOAT64 ? ((const double *)tensor->data)[i]
                                              : eg_tensor_get_double(tensor, i);
}

/// Returns the largest distance of element i of a side from x when numbers were moved.
static double movement(const comparison *state, uint32_t side, int64_t i, double x) {
  double most = 0;
  for (uint32_t n = 0; n < state->run->moved_count; n++) {
    const term_value *value = &state->run->moved[n][state->terms[side]];
    double far = fabs(element(&value->parts[state->part], i) - x);
    if (far > most && isfinite(far)) most = far;
  }
  return most;
}

static double finite_size(double value) { return isfinite(value) ? fabs(value) : 0; }

static double bound_at(const comparison *state, double x, double y) {
  return fmax(state->bound, state->units * fmax(finite_size(x), finite_size(y)));
}

static bool is_rounding(const comparison *state, int64_t i, double x, double y) {
  double far = fabs(x - y), bound = bound_at(state, x, y);
  return far <= bound || far <= bound + NUDGE_SLACK * fmax(movement(state, 0, i, x),
                                                           movement(state, 1, i, y));
}

/// True when the tensor has a zero or an infinity.
static bool has_limit(const eg_tensor *tensor) {
  int64_t count = eg_type_elements(&tensor->type), i = 0;
  bool is_float = eg_dtype_is_float(tensor->type.dtype);
  while (i < count && is_float && element(tensor, i) != 0 && !isinf(element(tensor, i)))
    i++;
  return is_float && i < count;
}

/// Sets how far results may differ; both bounds 0: they must be equal bit for bit.
static void set_bounds(comparison *state, egraph_dtype dtype) {
  const evaluation *run = state->run;
  state->bound = state->units = 0;
  if (run->exact || !eg_dtype_is_float(dtype)) return;
  double least = run->source.data == EG_VERIFY_TINY ? 0.0 : 1.0;
  state->bound = precisions[dtype].bound * fmax(least, run->scale);
  if (dtype == EGRAPH_FLOAT64)
    state->units = (UNITS + (double)run->longest) * DBL_EPSILON;
}

/// True when the sides must have equal numbers on this data. Results of an infinite or
/// NaN constant only decide the class, as other data that are not plain do.
static bool has_plain_data(const evaluation *run) {
  return eg_verify_is_plain(run->source.data) &&
         run->instance->special != EG_SPECIAL_NOT_FINITE;
}

/// True for plain data on which intermediate results may overflow or lose digits.
static bool is_sized(const evaluation *run) {
  return has_plain_data(run) && (run->source.data != EG_VERIFY_ORDINARY ||
                                 run->instance->special == EG_SPECIAL_EXTREME);
}

/// True when leaves and constants (`of_leaves`), or computed values, have an infinity.
static bool find_infinity(const evaluation *run, bool of_leaves) {
  for (uint32_t i = 0; i < run->rule->term_count; i++) {
    const eg_rule_term *term = &run->rule->terms[i];
    bool is_leaf = term->is_var || (eg_op_info_of(term->op)->flags & EG_OPF_LEAF) != 0;
    for (uint32_t k = 0; is_leaf == of_leaves && k < run->terms[i].count; k++) {
      const eg_tensor *part = &run->terms[i].parts[k];
      int64_t count = eg_type_elements(&part->type);
      for (int64_t e = 0; eg_dtype_is_float(part->type.dtype) && e < count; e++)
        if (isinf(element(part, e))) return true;
    }
  }
  return false;
}

static bool has_infinity(comparison *state, bool of_leaves) {
  if (state->infinity[of_leaves] == NOT_LOOKED_FOR)
    state->infinity[of_leaves] = find_infinity(state->run, of_leaves) ? FOUND : MISSING;
  return state->infinity[of_leaves] == FOUND;
}

/// True when 16-bit floating-point numbers overflowed, such as integers cast to them.
static bool has_short_overflow(comparison *state) {
  return state->run->is_short && has_infinity(state, false) && !has_infinity(state, true);
}

/// Returns the strictest class (exact, ...) of a rule that changes element i from x to y.
static egraph_math class_of_change(comparison *state, int64_t i, double x, double y) {
  if ((isnan(x) && isnan(y)) || (x == y && signbit(x) == signbit(y)))
    return EGRAPH_MATH_EXACT;
  if (is_sized(state->run)) // after an overflow it is no number and gives no class
    return isfinite(x) && isfinite(y) ? EGRAPH_MATH_ASSOCIATIVE : EGRAPH_MATH_EXACT;
  if (state->data == EG_VERIFY_EXTREME) return EGRAPH_MATH_ASSOCIATIVE;
  if (isfinite(x) && !isfinite(y) && state->spreads) return EGRAPH_MATH_ASSOCIATIVE;
  if (isfinite(x) != isfinite(y))
    return has_short_overflow(state) ? EGRAPH_MATH_ASSOCIATIVE : EGRAPH_MATH_FAST;
  if (!isfinite(x)) return isnan(y) ? EGRAPH_MATH_ASSOCIATIVE : EGRAPH_MATH_FAST;
  if (state->data == EG_VERIFY_LARGE) return EGRAPH_MATH_ASSOCIATIVE;
  return is_rounding(state, i, x, y) ? EGRAPH_MATH_ASSOCIATIVE : EGRAPH_MATH_FAST;
}

/// True when numbers of the evaluation may have left the range of their type: an infinity
/// may then stand for a number that is too large, a zero for one that is too small, and
/// NaN for a result of both.
static bool may_have_left_range(comparison *state) {
  const evaluation *run = state->run;
  if (has_plain_data(run) && !is_sized(run)) return false;
  for (uint32_t i = 0; state->limit == NOT_LOOKED_FOR && i < run->rule->term_count; i++)
    for (uint32_t k = 0; !run->rule->terms[i].is_var && k < run->terms[i].count; k++)
      if (has_limit(&run->terms[i].parts[k])) state->limit = FOUND;
  if (state->limit == NOT_LOOKED_FOR) state->limit = MISSING;
  return state->limit == FOUND;
}

/// True when an element may differ between the two sides because an intermediate number
/// left the range of its type. This is so in two cases. (1) The instance has extreme
/// constants, and an overflow or underflow was raised, or a number has a 16-bit type, or
/// a computed value is infinite. (2) The data are plain but not ORDINARY, a number has a
/// 16-bit type, and a computed value is infinite: 16-bit numbers soon overflow, and raise
/// no exception. In case (2) comparisons in float64 decide whether the rule holds.
static bool may_differ(comparison *state) {
  const evaluation *run = state->run;
  bool is_extreme = run->instance->special == EG_SPECIAL_EXTREME;
  if (is_extreme && (run->raised != 0 || run->is_short)) return true;
  return (is_extreme || (is_sized(run) && run->is_short)) && has_infinity(state, false);
}

/// Compares one element of both sides. When one side has no number there (division by
/// zero, the root of a negative number), the other must have none either; a change
/// between infinity and NaN decides the class.
static bool elements_agree(const eg_tensor *a, const eg_tensor *b, int64_t i,
                           comparison *state) {
  if (!eg_dtype_is_float(a->type.dtype)) {
    state->finite = true;
    return eg_tensor_get_int(a, i) == eg_tensor_get_int(b, i);
  }
  double x = element(a, i), y = element(b, i);
  state->math = class_of_change(state, i, x, y);
  if (!has_plain_data(state->run)) return true;
  if (!isfinite(x) || !isfinite(y))
    return (!isfinite(x) && !isfinite(y)) || may_have_left_range(state) ||
           may_differ(state) || has_short_overflow(state);
  state->finite = true;
  return is_rounding(state, i, x, y) || may_differ(state);
}

/// True when some element is finite; integers are finite.
static bool has_finite(const eg_tensor *tensor) {
  int64_t count = eg_type_elements(&tensor->type), i = 0;
  bool is_float = eg_dtype_is_float(tensor->type.dtype);
  while (i < count && is_float && !isfinite(element(tensor, i)))
    i++;
  return i < count;
}

/// Compares results of both sides until an element differs. Keeps the worst of the
/// changes that only lower the class of the rule.
static void compare_tensors(const eg_tensor *left, const eg_tensor *right, uint32_t root,
                            comparison *state, eg_verify_comparison *out) {
  int64_t count = eg_type_elements(&left->type);
  assert(count == eg_type_elements(&right->type));
  state->elements += count;
  if (memcmp(left->data, right->data, eg_type_bytes(&left->type)) == 0) {
    state->finite = state->finite || has_finite(left);
    return;
  }
  set_bounds(state, left->type.dtype);
  for (int64_t i = 0; i < count && !state->differ; i++) {
    state->math = EGRAPH_MATH_EXACT;
    state->differ = !elements_agree(left, right, i, state);
    if (!state->differ && state->math <= out->math) continue;
    if (state->math > out->math) out->math = state->math;
    double x = eg_tensor_get_double(left, i), y = eg_tensor_get_double(right, i);
    state->worst = (disagreement){root, i, x, y, bound_at(state, x, y)};
  }
}

/// True when numbers are so large that rounding leaves little to compare. A rule that
/// names a larger number is still compared.
static bool is_beyond_scale(const evaluation *run) {
  double most = run->is_narrow ? LARGEST_SCALE : LARGEST_MEASURED_SCALE;
  if (run->exact || run->scale <= most) return false;
  double named = eg_verify_largest_number(run->instance);
  return named <= LARGEST_SCALE || run->scale > named * named;
}

static egraph_status compare_roots(evaluation *run, eg_verify_comparison *out,
                                   eg_text *text) {
  comparison state = {
      .run = run, .data = run->source.data, .spreads = run->rule->spreads};
  for (uint32_t i = 0; i < run->rule->root_count && !state.differ; i++) {
    const term_value *left = &run->terms[run->rule->lhs[i].term];
    const term_value *right = &run->terms[run->rule->rhs[i].term];
    state.terms[0] = run->rule->lhs[i].term;
    state.terms[1] = run->rule->rhs[i].term;
    for (uint32_t k = 0; k < left->count && !state.differ; k++) {
      state.part = k;
      compare_tensors(&left->parts[k], &right->parts[k], i, &state, out);
    }
  }
  out->dtype = run->terms[run->rule->lhs[0].term].parts[0].type.dtype;
  bool is_special = !has_plain_data(run);
  out->is_empty = !is_special && state.elements == 0;
  bool vacuous =
      ((is_sized(run) || !run->is_narrow) && run->is_subnormal) ||
      (!is_special && ((!state.finite && !state.differ) || is_beyond_scale(run)));
  out->verdict = vacuous        ? EG_VERIFY_VACUOUS
                 : state.differ ? EG_VERIFY_DIFFERENT
                 : run->exact   ? EG_VERIFY_EXACT
                                : EG_VERIFY_EQUAL;
  if (vacuous) out->math = EGRAPH_MATH_EXACT;
  if (out->verdict != EG_VERIFY_DIFFERENT && out->math <= run->rule->math)
    return EGRAPH_OK;
  const disagreement *d = &state.worst;
  eg_text_clear(text);
  return eg_text_printf(
      text, "result %u, element %" PRId64 ": left %.17g, right %.17g (bound %g)", d->root,
      d->element, d->left, d->right, d->bound);
}

static egraph_status alloc_values(evaluation *run) {
  const eg_rule *rule = run->rule;
  EG_NEW(run->arena, rule->term_count, run->terms);
  return eg_arena_alloc(run->arena, rule->var_count, sizeof *run->vars, &run->vars);
}

/// Evaluates both sides again on the same data, with every number moved by about a unit.
static egraph_status move_numbers(evaluation *run, eg_verify_source source, eg_rng *rng) {
  evaluation again = *run;
  again.source = source;
  again.nudge = rng;
  EG_TRY(alloc_values(&again));
  EG_TRY(run_left(&again));
  EG_TRY(run_right(&again));
  assert(run->moved_count < NUDGES);
  run->moved[run->moved_count++] = again.terms;
  return EGRAPH_OK;
}

static egraph_status evaluate(evaluation *run, eg_verify_comparison *out, eg_text *text) {
  const eg_verify_source source = run->source;
  EG_TRY(alloc_values(run));
  (void)feclearexcept(FE_OVERFLOW | FE_UNDERFLOW);
  egraph_status status = run_left(run);
  bool is_defined = status == EGRAPH_OK;
  if (is_defined) status = run_right(run);
  run->raised = fetestexcept(FE_OVERFLOW | FE_UNDERFLOW);
  *out = (eg_verify_comparison){.verdict = EG_VERIFY_VACUOUS, .math = EGRAPH_MATH_EXACT};
  out->is_large = run->is_beyond;
  if (is_defined && status == EGRAPH_E_ARGUMENT) { // a difference for all data
    out->verdict = EG_VERIFY_DIFFERENT;
    eg_text_clear(text);
    return eg_text_printf(text, "the right side fails where the left side does not: %s",
                          egraph_last_error());
  }
  // The kernel lacks support for this type, or an operand that must have elements
  // is empty.
  if (status == EGRAPH_E_UNSUPPORTED || status == EGRAPH_E_ARGUMENT) return EGRAPH_OK;
  EG_TRY(status);
  EG_TRY(compare_roots(run, out, text));
  eg_rng rng = source.rng;
  while ((out->verdict == EG_VERIFY_DIFFERENT || out->math > run->rule->math) &&
         !run->exact && run->moved_count < NUDGES) {
    EG_TRY(move_numbers(run, source, &rng));
    *out =
        (eg_verify_comparison){.verdict = EG_VERIFY_VACUOUS, .math = EGRAPH_MATH_EXACT};
    EG_TRY(compare_roots(run, out, text));
  }
  return EGRAPH_OK;
}

/// True when the rule depends on the element type. Otherwise its float64 instances show
/// the same differences.
static bool decides_by_dtype(const eg_rule *rule) {
  for (uint32_t i = 0; i < rule->expr_count; i++)
    if (rule->exprs[i].kind == EG_RULE_DTYPE) return true;
  for (uint32_t i = 0; i < rule->term_count; i++) {
    if (rule->terms[i].is_var) continue;
    const eg_op_info *op = eg_op_info_of(rule->terms[i].op);
    for (uint16_t k = 0; k < op->attr_count; k++)
      if (op->attrs[k].kind == EG_ATTR_DTYPE) return true;
  }
  return false;
}

/// True when the rule's terms compute the same in a wider type, and do not round.
static bool may_widen(const eg_verify_instance *instance) {
  if (!decides_by_dtype(instance->rule)) return false;
  for (uint32_t i = 0; i < instance->rule->term_count; i++) {
    const eg_rule_term *term = &instance->rule->terms[i];
    if (!term->is_var && (term->op == EG_OP_BIT_CAST || computes_in_float32(term->op)))
      return false;
  }
  return true;
}

static egraph_status evaluate_with(eg_arena *arena, const eg_verify_instance *instance,
                                   const eg_verify_source *source, bool is_widened,
                                   eg_verify_comparison *out, eg_text *text) {
  evaluation run = {.instance = instance,
                    .rule = instance->rule,
                    .alloc = arena->alloc,
                    .arena = arena,
                    .source = *source,
                    .exact = true,
                    .is_widened = is_widened};
  eg_arena_clear(arena);
  return evaluate(&run, out, text);
}

egraph_status eg_verify_compare(eg_arena *arena, const eg_verify_instance *instance,
                                const eg_verify_source *source, eg_verify_comparison *out,
                                eg_text *text) {
  EG_TRY(evaluate_with(arena, instance, source, false, out, text));
  bool is_coarse = eg_verify_is_plain(source->data) && out->verdict == EG_VERIFY_EQUAL &&
                   eg_dtype_is_float(out->dtype) && out->dtype != EGRAPH_FLOAT64;
  if (!is_coarse || instance->special != EG_SPECIAL_NONE || !may_widen(instance))
    return EGRAPH_OK;
  eg_verify_comparison wide;
  EG_TRY(evaluate_with(arena, instance, source, true, &wide, text));
  if (wide.verdict == EG_VERIFY_DIFFERENT) out->verdict = EG_VERIFY_DIFFERENT;
  return EGRAPH_OK;
}
