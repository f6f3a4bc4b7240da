// One rule after the other: draw, type, evaluate with the reference kernels, compare,
// until enough instances agree or one does not.
//
// Data are small whole numbers half of the time: as long as every number on the way stays
// whole and below 2^53 (2^24 for float32), floating-point arithmetic is exact and the
// sides must be equal bit for bit. Otherwise a bound relative to the largest number of
// the evaluation applies, because rounding errors scale with it. Where that is too
// little, because differences of nearly equal numbers make errors grow, the verifier asks
// how far the left side moves when its data move by one unit in the last place.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/verify/verify.h"

#include <inttypes.h>
#include <math.h>

#include "base/hash.h"
#include "rewrites/claims/layout_check.h"
#include "rewrites/instances/instance_draw.h"
#include "rewrites/language/rules.h"

typedef enum compare_verdict {
  EG_VERIFY_EQUAL,    // within the bound
  EG_VERIFY_EXACT,    // equal, and nothing was rounded on the way
  EG_VERIFY_VACUOUS,  // nothing finite to compare, no kernel for it, or numbers too large
  EG_VERIFY_DIFFERENT // `text` says where
} compare_verdict;

/// One comparison: whether the sides are equal, and the class that a rule is in at best
/// that has such an instance. `text` says what keeps it out of the class before.
typedef struct compare_result {
  compare_verdict verdict;
  egraph_math math;
  egraph_dtype dtype; // of the first result
} compare_result;

/// ORDINARY: small numbers, whole ones half of the time. NOT_FINITE: NaN and infinities
/// among small whole numbers, of which no sum or product overflows. LARGE: numbers whose
/// sums and products stay in range, and whose exponentials do not. EXTREME: the largest
/// and smallest numbers, zeros of both signs. Integers and bool are ORDINARY, or else at
/// the ends of their range.
typedef enum data_kind {
  EG_VERIFY_ORDINARY,
  EG_VERIFY_NOT_FINITE,
  EG_VERIFY_LARGE,
  EG_VERIFY_EXTREME,
  EG_VERIFY_DATA_COUNT
} data_kind;

/// How the numbers of one evaluation are drawn.
typedef struct data_source {
  eg_rng rng;
  data_kind data;
  uint32_t kind;    // ORDINARY: from 0 to 9
  uint32_t wanted;  // NOT_FINITE: bits of NaN, infinity, -infinity
  uint32_t percent; // and how many elements are one of them
} data_source;

/// A number of which sums of products of four stay in range.
static double large(egraph_dtype dtype) { return dtype == EGRAPH_FLOAT16 ? 4 : 1000; }

static data_source source_of_data(data_kind data, uint64_t seed) {
  static const uint32_t shares[] = {5, 20, 50};
  data_source source = {.rng = {.state = seed}, .data = data};
  source.kind = (uint32_t)eg_rng_below(&source.rng, 10);
  source.wanted = 1 + (uint32_t)eg_rng_below(&source.rng, 7);
  source.percent = shares[eg_rng_below(&source.rng, 3)];
  return source;
}

// ---- floating-point numbers -----------------------------------------------------------

static double ordinary(data_source *source, bool is_whole, bool is_positive) {
  double unit = eg_rng_unit(&source->rng);
  if (is_whole) return is_positive ? 1 + floor(3 * unit) : floor(7 * unit) - 3;
  return is_positive ? 0.25 + 2 * unit : 4 * unit - 2;
}

static double not_finite(data_source *source) {
  static const double values[] = {NAN, INFINITY, -INFINITY};
  uint64_t which = eg_rng_below(&source->rng, 3);
  while ((source->wanted >> which & 1) == 0)
    which = (which + 1) % 3;
  return values[which];
}

static double extreme(data_source *source, egraph_dtype dtype) {
  double largest = eg_dtype_largest(dtype), normal = eg_dtype_normal(dtype);
  const double values[] = {0, largest, largest / 2, normal, eg_dtype_unit(dtype, 0),
                           1, 3};
  double value = values[eg_rng_below(&source->rng, sizeof values / sizeof *values)];
  return eg_rng_below(&source->rng, 2) == 0 ? value : -value;
}

static double float_number(data_source *source, const eg_verify_leaf *leaf,
                           bool is_positive) {
  egraph_dtype dtype = leaf->type.dtype;
  switch (source->data) {
  case EG_VERIFY_NOT_FINITE:
    if (!leaf->constant && eg_rng_below(&source->rng, 100) < source->percent)
      return not_finite(source);
    return ordinary(source, true, is_positive);
  case EG_VERIFY_LARGE: return floor((2 * eg_rng_unit(&source->rng) - 1) * large(dtype));
  case EG_VERIFY_EXTREME: return extreme(source, dtype);
  case EG_VERIFY_ORDINARY:
  case EG_VERIFY_DATA_COUNT: break;
  }
  return ordinary(source, source->kind < 5, is_positive);
}

// ---- integers -------------------------------------------------------------------------

/// The bits of an integer at an end of its range, or near one, or near 0.
static int64_t extreme_int(data_source *source, egraph_dtype dtype) {
  uint32_t bits = 8 * (uint32_t)eg_dtype_bytes(dtype);
  uint64_t most = UINT64_MAX >> (64 - bits + !eg_dtype_is_unsigned(dtype));
  const uint64_t values[] = {most, most - 1, most / 2, most + 1,   most + 2,
                             0,    1,        2,        UINT64_MAX, 100};
  return (int64_t)values[eg_rng_below(&source->rng, sizeof values / sizeof *values)];
}

// ---- leaves ---------------------------------------------------------------------------

static double leaf_number(data_source *source, const eg_verify_leaf *leaf) {
  bool is_positive = source->kind % 2 == 1 || leaf->variance;
  if (leaf->splat) return leaf->splat_value;
  if (leaf->index_bound > 0)
    return (double)eg_rng_below(&source->rng, (uint64_t)leaf->index_bound);
  if (leaf->type.dtype == EGRAPH_BOOL) return (double)eg_rng_below(&source->rng, 2);
  if (!eg_dtype_is_float(leaf->type.dtype)) return ordinary(source, true, is_positive);
  double value = float_number(source, leaf, is_positive);
  return leaf->variance ? fabs(value) : value;
}

// Fills a tensor for a leaf: index, truth value and constant stay what they must be.
static void fill_data(data_source *source, const eg_verify_leaf *leaf,
                      const eg_tensor *tensor) {
  egraph_dtype dtype = leaf->type.dtype;
  bool at_ends = source->data != EG_VERIFY_ORDINARY && !eg_dtype_is_float(dtype) &&
                 dtype != EGRAPH_BOOL && leaf->index_bound == 0 && !leaf->splat;
  for (int64_t i = 0; i < eg_type_elements(&leaf->type); i++)
    if (at_ends)
      eg_tensor_set_int(tensor, i, extreme_int(source, dtype));
    else
      eg_tensor_set_double(tensor, i, leaf_number(source, leaf));
}

#define LARGEST_SCALE 1e5

enum { MAX_ELEMENTS = 1 << 18 }; // of a tensor; rules may ask for any shape

// How often the data move, and how many times their movement the sides may be apart: a
// node rounds its result once, as the data were, and a side has some nodes.
enum { NUDGES = 8, NUDGE_SLACK = 32 };

/// Results of one term.
typedef struct term_value {
  eg_tensor *parts;
  uint32_t count;
} term_value;

typedef struct evaluation {
  const eg_verify_instance *instance;
  const eg_rule *rule;
  egraph_allocator alloc;
  eg_arena arena;
  data_source source;
  term_value *terms; // by term index
  term_value *vars;  // leaves, by variable
  double scale;      // largest finite absolute value
  bool exact;        // so far
  eg_rng *nudge;     // moves the data by one unit, up or down; NULL: as drawn
  const term_value *moved[NUDGES]; // of the left side, when the data had moved
  uint32_t moved_count;
} evaluation;

/// Of a floating-point type: how far values may be apart, relative to the largest number
/// that occurs on either side (every node rounds, and constants of rules are matched up
/// to one unit in the last place); below which whole numbers are exact.
typedef struct precision {
  double bound, whole;
} precision;

static const precision precisions[EGRAPH_DTYPE_COUNT] = {
    [EGRAPH_FLOAT64] = {1e-9, 0x1p53},
    [EGRAPH_FLOAT32] = {1e-4, 0x1p24},
    [EGRAPH_FLOAT16] = {2e-2, 0x1p11},
    [EGRAPH_BFLOAT16] = {1e-1, 0x1p8}};

// ---- what was computed ----------------------------------------------------------

static void note_numbers(evaluation *run, const eg_tensor *tensor) {
  egraph_dtype dtype = tensor->type.dtype;
  if (!eg_dtype_is_float(dtype)) return; // exact, wrapping included
  double most = precisions[dtype].whole;
  for (int64_t i = 0; i < eg_type_elements(&tensor->type); i++) {
    double value = eg_tensor_get_double(tensor, i);
    if (!isfinite(value)) continue;
    if (value != floor(value) || fabs(value) >= most) run->exact = false;
    if (fabs(value) > run->scale) run->scale = fabs(value);
  }
}

static egraph_status new_tensor(evaluation *run, const eg_type *type, eg_tensor *out) {
  *out = (eg_tensor){.type = *type};
  if (eg_type_elements(type) > MAX_ELEMENTS)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "a tensor is too large to verify a rule with");
  size_t bytes = eg_type_bytes(type);
  return eg_arena_alloc(&run->arena, bytes > 0 ? bytes : 1, 1, &out->data);
}

static egraph_status new_value(evaluation *run, const eg_tensor_fact *fact,
                               term_value *out) {
  out->count = fact->part_count > 0 ? fact->part_count : 1;
  EG_TRY(eg_arena_alloc(&run->arena, out->count, sizeof *out->parts, &out->parts));
  for (uint32_t i = 0; i < out->count; i++)
    EG_TRY(new_tensor(run, fact->part_count > 0 ? &fact->parts[i] : &fact->type,
                      &out->parts[i]));
  return EGRAPH_OK;
}

// ---- data -----------------------------------------------------------------------

static void nudge(eg_rng *rng, const eg_tensor *tensor) {
  egraph_dtype dtype = tensor->type.dtype;
  if (!eg_dtype_is_float(dtype)) return;
  for (int64_t i = 0; i < eg_type_elements(&tensor->type); i++) {
    double value = eg_tensor_get_double(tensor, i), unit = eg_dtype_unit(dtype, value);
    bool is_up = eg_rng_below(rng, 2) == 0;
    if (value != 0) eg_tensor_set_double(tensor, i, is_up ? value + unit : value - unit);
  }
}

static egraph_status fill_leaf(evaluation *run, uint32_t var) {
  const eg_verify_leaf *leaf = &run->instance->leaves[var];
  term_value *value = &run->vars[var];
  value->count = 1;
  EG_TRY(eg_arena_alloc(&run->arena, 1, sizeof *value->parts, &value->parts));
  EG_TRY(new_tensor(run, &leaf->type, value->parts));
  fill_data(&run->source, leaf, value->parts);
  if (run->nudge != NULL && !leaf->constant) nudge(run->nudge, value->parts);
  note_numbers(run, value->parts);
  return EGRAPH_OK;
}

// ---- evaluation -----------------------------------------------------------------

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
  eg_tensor *inputs;
  EG_TRY(eg_arena_alloc(&run->arena, (size_t)term->child_count + 1, sizeof *inputs,
                        &inputs));
  for (uint32_t i = 0; i < term->child_count; i++)
    inputs[i] = run->terms[term->children[i]].parts[0];
  eg_kernel_call call = {.attrs = attrs,
                         .inputs = inputs,
                         .input_count = term->child_count,
                         .outputs = out->parts,
                         .output_count = out->count,
                         .alloc = run->alloc};
  EG_TRY(eg_op_run(&call));
  for (uint32_t i = 0; i < out->count; i++)
    note_numbers(run, &out->parts[i]);
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
    EG_TRY(run_node(run, i, eg_tensor_egraph_attrs_at(instance->egraph, built->payload),
                    built->fact));
  }
  return EGRAPH_OK;
}

// ---- comparison -----------------------------------------------------------------

typedef struct comparison {
  const evaluation *run;
  uint32_t term, part; // of the left side
  data_kind data;
  bool spreads; // the rule says so
  double bound; // absolute
  bool finite;  // something finite was compared
  bool differ;
  egraph_math math;
} comparison;

static bool same_bits(double x, double y) {
  return (isnan(x) && isnan(y)) || (x == y && signbit(x) == signbit(y));
}

/// How far a result of the left side moved with its data, at most.
static double movement(const comparison *state, int64_t i, double x) {
  double most = 0;
  for (uint32_t n = 0; n < state->run->moved_count; n++) {
    const term_value *value = &state->run->moved[n][state->term];
    most = fmax(most, fabs(eg_tensor_get_double(&value->parts[state->part], i) - x));
  }
  return isfinite(most) ? most : 0;
}

static bool is_rounding(const comparison *state, int64_t i, double x, double y) {
  return fabs(x - y) <= state->bound + NUDGE_SLACK * movement(state, i, x);
}

/// The class that a rule is in at best which makes y of x, element i.
static egraph_math class_of_change(const comparison *state, int64_t i, double x,
                                   double y) {
  if (same_bits(x, y)) return EGRAPH_MATH_EXACT;
  if (state->data == EG_VERIFY_EXTREME) return EGRAPH_MATH_ASSOCIATIVE;
  if (isfinite(x) && !isfinite(y) && state->spreads) return EGRAPH_MATH_ASSOCIATIVE;
  if (isfinite(x) != isfinite(y)) return EGRAPH_MATH_FAST;
  if (!isfinite(x)) return isnan(y) ? EGRAPH_MATH_ASSOCIATIVE : EGRAPH_MATH_FAST;
  if (state->data == EG_VERIFY_LARGE) return EGRAPH_MATH_ASSOCIATIVE;
  return is_rounding(state, i, x, y) ? EGRAPH_MATH_ASSOCIATIVE : EGRAPH_MATH_FAST;
}

/// Where one side has no number (division by zero, the root of a negative number), the
/// other must have none either; which of infinity and NaN it is decides the class.
static bool elements_agree(const eg_tensor *a, const eg_tensor *b, int64_t i,
                           comparison *state) {
  if (!eg_dtype_is_float(a->type.dtype)) {
    state->finite = true;
    return eg_tensor_get_int(a, i) == eg_tensor_get_int(b, i);
  }
  double x = eg_tensor_get_double(a, i), y = eg_tensor_get_double(b, i);
  state->math = class_of_change(state, i, x, y);
  if (state->data != EG_VERIFY_ORDINARY) return true;
  if (!isfinite(x) || !isfinite(y)) return !isfinite(x) && !isfinite(y);
  state->finite = true;
  return is_rounding(state, i, x, y);
}

/// Compares until something differs; of what only moves the rule to a lower class the
/// worst is kept.
static egraph_status compare_tensors(const eg_tensor *left, const eg_tensor *right,
                                     uint32_t root, comparison *state,
                                     compare_result *out, eg_text *text) {
  int64_t count = eg_type_elements(&left->type);
  for (int64_t i = 0; i < count && !state->differ; i++) {
    state->math = EGRAPH_MATH_EXACT;
    state->differ = !elements_agree(left, right, i, state);
    if (!state->differ && state->math <= out->math) continue;
    if (state->math > out->math) out->math = state->math;
    eg_text_clear(text);
    EG_TRY(eg_text_printf(
        text, "result %u, element %" PRId64 ": left %.17g, right %.17g (bound %g)", root,
        i, eg_tensor_get_double(left, i), eg_tensor_get_double(right, i), state->bound));
  }
  return EGRAPH_OK;
}

static double bound_of(const evaluation *run, egraph_dtype dtype) {
  if (run->exact) return 0;
  return precisions[dtype].bound * fmax(1.0, run->scale);
}

static egraph_status compare_roots(evaluation *run, compare_result *out, eg_text *text) {
  comparison state = {
      .run = run, .data = run->source.data, .spreads = run->rule->spreads};
  for (uint32_t i = 0; i < run->rule->root_count && !state.differ; i++) {
    const term_value *left = &run->terms[run->rule->lhs[i].term];
    const term_value *right = &run->terms[run->rule->rhs[i].term];
    state.term = run->rule->lhs[i].term;
    for (uint32_t k = 0; k < left->count && !state.differ; k++) {
      state.part = k;
      state.bound = bound_of(run, left->parts[k].type.dtype);
      EG_TRY(compare_tensors(&left->parts[k], &right->parts[k], i, &state, out, text));
    }
  }
  out->dtype = run->terms[run->rule->lhs[0].term].parts[0].type.dtype;
  bool is_special = state.data != EG_VERIFY_ORDINARY;
  bool vacuous =
      !is_special && (!state.finite || (!run->exact && run->scale > LARGEST_SCALE));
  out->verdict = vacuous        ? EG_VERIFY_VACUOUS
                 : state.differ ? EG_VERIFY_DIFFERENT
                 : run->exact   ? EG_VERIFY_EXACT
                                : EG_VERIFY_EQUAL;
  if (vacuous) out->math = EGRAPH_MATH_EXACT;
  return EGRAPH_OK;
}

static egraph_status begin(evaluation *run) {
  const eg_rule *rule = run->rule;
  EG_TRY(eg_arena_alloc(&run->arena, rule->term_count, sizeof *run->terms, &run->terms));
  return eg_arena_alloc(&run->arena, rule->var_count, sizeof *run->vars, &run->vars);
}

/// Evaluates the left side again with data that have moved by one unit. The same draws.
static egraph_status move_data(evaluation *run, data_source source) {
  eg_rng rng = source.rng;
  while (run->moved_count < NUDGES) {
    evaluation again = *run;
    again.source = source;
    again.nudge = &rng;
    egraph_status status = begin(&again);
    if (status == EGRAPH_OK) status = run_left(&again);
    run->arena = again.arena;
    EG_TRY(status);
    run->moved[run->moved_count++] = again.terms;
  }
  return EGRAPH_OK;
}

static egraph_status evaluate(evaluation *run, compare_result *out, eg_text *text) {
  const data_source source = run->source;
  EG_TRY(begin(run));
  egraph_status status = run_left(run);
  if (status == EGRAPH_OK) status = run_right(run);
  *out = (compare_result){.verdict = EG_VERIFY_VACUOUS, .math = EGRAPH_MATH_EXACT};
  // The kernel does not have this dtype, or an operand is empty that must not be.
  if (status == EGRAPH_E_UNSUPPORTED || status == EGRAPH_E_ARGUMENT) return EGRAPH_OK;
  EG_TRY(status);
  EG_TRY(compare_roots(run, out, text));
  if (out->verdict != EG_VERIFY_DIFFERENT || run->exact) return EGRAPH_OK;
  EG_TRY(move_data(run, source));
  *out = (compare_result){.verdict = EG_VERIFY_VACUOUS, .math = EGRAPH_MATH_EXACT};
  return compare_roots(run, out, text);
}

// Data are drawn from `seed`. On DIFFERENT, and where `math` is not EXACT, appends the
// element and both values to `text`. Special data (all but ORDINARY) decide of
// floating-point results the class alone.
static egraph_status compare_sides(const egraph_allocator *alloc,
                                   const eg_verify_instance *instance, data_kind data,
                                   uint64_t seed, compare_result *out, eg_text *text) {
  evaluation run = {.instance = instance,
                    .rule = instance->rule,
                    .alloc = eg_allocator_or_heap(alloc),
                    .source = source_of_data(data, seed),
                    .exact = true};
  eg_arena_init(&run.arena, run.alloc);
  egraph_status status = evaluate(&run, out, text);
  eg_arena_deinit(&run.arena);
  return status;
}

// Of the instances that are wanted: how many are enough to judge, and draws for each.
enum { LEAST_SHARE = 12, DRAWS_PER_INSTANCE = 160 };

typedef struct verification {
  const eg_rule *rule;
  eg_verify_draws *draws;
  eg_verify_options options;
  uint32_t drawn, found, ill_typed, vacuous, equal, exact;
  uint32_t dtypes[EGRAPH_DTYPE_COUNT]; // instances
  egraph_math math;                    // found so far
  bool rejected;
  eg_text text; // the detail
} verification;

// ---- counterexamples ------------------------------------------------------------

static egraph_status print_value(eg_text *text, const eg_rule_value *value) {
  switch (value->kind) {
  case EG_RULE_INT:
  case EG_RULE_BOOL: return eg_text_printf(text, "%lld", (long long)value->i);
  case EG_RULE_FLOAT: return eg_text_double(text, value->f);
  case EG_RULE_SYMBOL:
  case EG_RULE_STRING: return eg_text_append(text, value->text);
  case EG_RULE_DTYPE: return eg_text_append(text, eg_dtype_name((egraph_dtype)value->i));
  case EG_RULE_INTS: break;
  case EG_RULE_FLOATS:
  case EG_RULE_TENSOR: return EGRAPH_OK;
  }
  EG_TRY(eg_text_append(text, "["));
  for (uint32_t i = 0; i < value->ints.len; i++)
    EG_TRY(eg_text_printf(text, "%s%lld", i == 0 ? "" : " ",
                          (long long)value->ints.data[i]));
  return eg_text_append(text, "]");
}

static egraph_status print_leaf(eg_text *text, const eg_verify_leaf *leaf) {
  EG_TRY(eg_type_print(text, &leaf->type));
  if (leaf->splat) {
    EG_TRY(eg_text_append(text, " all "));
    return eg_text_double(text, leaf->splat_value);
  }
  return eg_text_append(text, leaf->weight ? " weight" : "");
}

static egraph_status print_instance(eg_text *text, const eg_verify_instance *instance) {
  const eg_rule *rule = instance->rule;
  for (uint32_t i = 0; i < rule->var_count; i++) {
    if (rule->vars[i].origin != EG_RULE_VAR_MATCHED) continue;
    EG_TRY(eg_text_printf(text, "; %s ", rule->vars[i].name));
    if (rule->vars[i].kind == EG_RULE_TENSOR)
      EG_TRY(print_leaf(text, &instance->leaves[i]));
    else
      EG_TRY(print_value(text, &instance->env->vars[i]));
  }
  return EGRAPH_OK;
}

// ---- one instance ---------------------------------------------------------------

static egraph_status check_types(verification *run, const eg_verify_instance *instance) {
  const eg_rule *rule = run->rule;
  for (uint32_t i = 0; i < rule->root_count; i++) {
    const eg_tensor_fact *left =
        eg_tensor_egraph_fact(instance->egraph, instance->classes[rule->lhs[i].term]);
    const eg_tensor_fact *right = instance->builder->terms[rule->rhs[i].term].fact;
    if (eg_tensor_fact_same_type(left, right)) continue;
    run->rejected = true;
    EG_TRY(eg_text_printf(&run->text, "result %u: the left side is ", i));
    EG_TRY(eg_tensor_fact_print(&run->text, left));
    EG_TRY(eg_text_append(&run->text, ", the right side "));
    return eg_tensor_fact_print(&run->text, right);
  }
  return EGRAPH_OK;
}

static void count(verification *run, const compare_result *result) {
  run->vacuous += result->verdict == EG_VERIFY_VACUOUS;
  run->equal += result->verdict == EG_VERIFY_EQUAL;
  run->exact += result->verdict == EG_VERIFY_EXACT;
  run->dtypes[result->dtype] += result->verdict != EG_VERIFY_VACUOUS;
}

/// The text says what is different; a class that the rule does not declare is no mistake.
static egraph_status check_data(verification *run, const eg_verify_instance *instance,
                                data_kind data) {
  static const char *const names[EG_VERIFY_DATA_COUNT] = {
      [EG_VERIFY_ORDINARY] = "on ordinary data: ",
      [EG_VERIFY_NOT_FINITE] = "on data with NaN or infinities: ",
      [EG_VERIFY_LARGE] = "on large data: ",
      [EG_VERIFY_EXTREME] = "at the ends of the range: "};
  compare_result result;
  uint64_t seed = run->options.seed + UINT64_C(0x9e3779b9) * run->drawn;
  EG_TRY(
      compare_sides(&run->text.chars.alloc, instance, data, seed, &result, &run->text));
  if (data == EG_VERIFY_ORDINARY) count(run, &result);
  if (result.math > run->math) run->math = result.math;
  bool is_out = result.math > run->rule->math;
  run->rejected = is_out || result.verdict == EG_VERIFY_DIFFERENT;
  if (!run->rejected) {
    eg_text_clear(&run->text);
    return EGRAPH_OK;
  }
  eg_text where;
  eg_text_init(&where, run->text.chars.alloc);
  egraph_status status = eg_text_append(&where, eg_text_of(&run->text));
  eg_text_clear(&run->text);
  if (status == EGRAPH_OK && result.verdict != EG_VERIFY_DIFFERENT)
    status = eg_text_printf(
        &run->text, "its sides differ as only class %s allows, but it claims class %s, ",
        eg_rule_class_name(result.math), eg_rule_class_name(run->rule->math));
  if (status == EGRAPH_OK && data != EG_VERIFY_ORDINARY)
    status = eg_text_append(&run->text, names[data]);
  if (status == EGRAPH_OK) status = eg_text_append(&run->text, eg_text_of(&where));
  eg_text_deinit(&where);
  return status;
}

/// Ordinary data, and special data of one kind after the other.
static egraph_status check_values(verification *run, const eg_verify_instance *instance) {
  static const data_kind special[] = {EG_VERIFY_NOT_FINITE, EG_VERIFY_EXTREME,
                                      EG_VERIFY_NOT_FINITE, EG_VERIFY_LARGE};
  EG_TRY(check_data(run, instance, EG_VERIFY_ORDINARY));
  if (run->rejected) return EGRAPH_OK;
  return check_data(run, instance, special[run->found % 4]);
}

static egraph_status verify_draw(verification *run) {
  bool found, typed;
  eg_verify_instance instance;
  EG_TRY(eg_verify_draw(run->draws, &found, &typed, &instance));
  run->drawn++;
  run->found += found;
  run->ill_typed += found && !typed;
  if (!found || !typed) return EGRAPH_OK;
  EG_TRY(check_types(run, &instance));
  if (!run->rejected) EG_TRY(check_values(run, &instance));
  return run->rejected ? print_instance(&run->text, &instance) : EGRAPH_OK;
}

// ---- one rule -------------------------------------------------------------------

static egraph_status print_acceptance(verification *run) {
  EG_TRY(eg_text_printf(&run->text, "%u instances, %u of them exact (",
                        run->equal + run->exact, run->exact));
  const char *comma = "";
  for (int i = 0; i < EGRAPH_DTYPE_COUNT; i++) {
    if (run->dtypes[i] == 0) continue;
    EG_TRY(eg_text_printf(&run->text, "%s%u %s", comma, run->dtypes[i],
                          eg_dtype_name((egraph_dtype)i)));
    comma = ", ";
  }
  EG_TRY(eg_text_printf(&run->text, "); class %s", eg_rule_class_name(run->rule->math)));
  if (run->math == run->rule->math) return EGRAPH_OK;
  return eg_text_printf(&run->text, ", found %s", eg_rule_class_name(run->math));
}

static egraph_status judge(verification *run) {
  uint32_t accepted = run->equal + run->exact;
  if (run->rejected) return EGRAPH_OK;
  run->rejected = accepted == 0 || accepted < run->options.instances / LEAST_SHARE;
  if (!run->rejected) return print_acceptance(run);
  run->rejected = !run->options.is_loading;
  if (run->found == 0)
    return eg_text_printf(&run->text, "no instance found after %u draws", run->drawn);
  return eg_text_printf(&run->text,
                        "only %u instances found after %u draws (%u ill-typed on the "
                        "right, %u without a finite result)",
                        accepted, run->drawn, run->ill_typed, run->vacuous);
}

static egraph_status verify_rule(verification *run) {
  uint32_t wanted = run->options.instances;
  while (run->drawn < DRAWS_PER_INSTANCE * wanted && run->equal + run->exact < wanted &&
         !run->rejected)
    EG_TRY(verify_draw(run));
  return judge(run);
}

/// An implied rule has no values to compare: its sides are the same, or those of a rule
/// that is verified itself.
static egraph_status verify_layouts(verification *run, egraph_allocator alloc) {
  eg_layout_finding finding;
  EG_TRY(eg_layout_verify(&alloc, run->rule, run->options.seed, &run->text, &finding));
  run->rejected = !finding.holds;
  if (run->rejected || eg_rule_is_implied(run->rule)) return EGRAPH_OK;
  return eg_text_append(&run->text, ", ");
}

static egraph_status verify_values(verification *run, egraph_allocator alloc) {
  egraph_status status =
      eg_verify_draws_create(&alloc, run->rule, run->options.seed, &run->draws);
  if (status == EGRAPH_E_UNSUPPORTED) {
    run->rejected = !run->options.is_loading;
    return eg_text_append(&run->text, egraph_last_error());
  }
  EG_TRY(status);
  status = verify_rule(run);
  eg_verify_draws_destroy(run->draws);
  return status;
}

static egraph_status verify_one(verification *run, egraph_allocator alloc) {
  if (run->rule->move_count != 0) EG_TRY(verify_layouts(run, alloc));
  if (run->rejected || eg_rule_is_implied(run->rule)) return EGRAPH_OK;
  return verify_values(run, alloc);
}

egraph_status eg_rules_verify(const eg_rules *rules, const eg_verify_options *options,
                              eg_verify_report *report, void *user,
                              uint32_t *out_rejected) {
  egraph_allocator alloc = eg_rules_allocator(rules);
  egraph_status status = EGRAPH_OK;
  uint32_t rejected = 0, count = eg_rules_count(rules);
  uint32_t implied = options->is_loading ? 0 : eg_rules_implied_count(rules);
  for (uint32_t i = options->first; i < count + implied && status == EGRAPH_OK; i++) {
    verification run = {.options = *options, .math = EGRAPH_MATH_EXACT};
    run.rule = i < count ? eg_rules_at(rules, i) : eg_rules_implied_at(rules, i - count);
    eg_text_init(&run.text, alloc);
    status = verify_one(&run, alloc);
    if (status == EGRAPH_OK && report != NULL)
      report(user, run.rule->name, !run.rejected, eg_text_of(&run.text));
    rejected += run.rejected;
    eg_text_deinit(&run.text);
  }
  if (status == EGRAPH_OK && out_rejected != NULL) *out_rejected = rejected;
  return status;
}
