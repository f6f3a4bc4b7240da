// The columns of ops/op_table.def against what they are about: element formulas and flags
// against the reference kernels on drawn and special values, roles of operands and
// attributes against the type functions. A wrong column fails, and so does a missing one
// where that can be seen.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "base/hash.h"
#include "ops/meaning.h"
#include "tests/unit/ops_fixture.h"

// SPECIALS: the first values; then eighths, then a range that overflows formulas.
enum { VALUES = 96, SPECIALS = 12, SETTINGS = 6, MOST_TENSORS = 64 };

/// Rows of VALUES elements in one element type, which kernels compute with.
typedef struct bench {
  egraph_allocator alloc;
  egraph_dtype dtype;
  eg_rng rng;
  void *blocks[MOST_TENSORS];
  uint32_t used;
} bench;

static eg_tensor new_row(bench *b, egraph_dtype dtype) {
  eg_tensor row = {.type = eg_type_of(dtype, 1, (int64_t[]){VALUES})};
  assert_true(b->used < MOST_TENSORS);
  assert_ok(eg_alloc(b->alloc, 8, VALUES, &row.data));
  b->blocks[b->used++] = row.data;
  return row;
}

static void free_rows(bench *b) {
  while (b->used > 0)
    eg_free(b->alloc, b->blocks[--b->used], 8, VALUES);
}

static eg_tensor row_of_number(bench *b, double value) {
  eg_tensor row = new_row(b, b->dtype);
  for (int64_t i = 0; i < VALUES; i++)
    eg_tensor_set_double(&row, i, value);
  return row;
}

/// Operand `which`; a finite one has no special values, a moderate one none that leave
/// the range on the way.
static eg_tensor draw_row(bench *b, uint32_t which, bool is_finite, bool is_moderate) {
  static const double specials[SPECIALS] = {
      0.0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, INFINITY, NAN, 1e-30, -1e30, 1e30};
  eg_tensor row = new_row(b, b->dtype);
  for (int64_t i = 0; i < VALUES; i++) {
    double value = ((double)eg_rng_below(&b->rng, 321) - 160) / 8;
    if (!is_moderate && i % 8 == 7) value *= 40;
    if (is_moderate && b->dtype == EGRAPH_FLOAT16) value /= 2;
    if (!is_finite && i < SPECIALS) value = specials[(i + 5 * which) % SPECIALS];
    if (!eg_dtype_is_float(b->dtype)) value = isfinite(value) ? floor(value) : 0;
    eg_tensor_set_double(&row, i, value);
  }
  return row;
}

/// Runs an operator on rows; false where its types are refused.
static bool run_rows(bench *b, const eg_attrs *attrs, const eg_tensor *inputs,
                     uint32_t count, eg_tensor *out) {
  eg_type types[4], result;
  for (uint32_t i = 0; i < count; i++)
    types[i] = inputs[i].type;
  if (eg_op_infer(attrs, types, count, &result) != EGRAPH_OK) return false;
  *out = new_row(b, result.dtype);
  out->type = result;
  eg_kernel_call call = {.attrs = attrs,
                         .inputs = inputs,
                         .input_count = count,
                         .outputs = out,
                         .output_count = 1,
                         .alloc = b->alloc};
  return eg_op_run(&call) == EGRAPH_OK;
}

static eg_tensor as_bool(bench *b, const eg_tensor *from) {
  eg_tensor to = new_row(b, EGRAPH_BOOL);
  for (int64_t i = 0; i < VALUES; i++)
    eg_tensor_set_double(&to, i, eg_tensor_get_double(from, i) != 0);
  return to;
}

/// Computes a formula by the kernels of its operators.
static bool run_formula(bench *b, const eg_formula *f, const eg_attrs *attrs,
                        const eg_tensor *operands, eg_tensor *out) {
  eg_tensor rows[EG_FORMULA_TERMS];
  for (uint32_t i = 0; i < f->count; i++) {
    const eg_formula_term *t = &f->terms[i];
    if (t->kind == EG_FORMULA_NUMBER) rows[i] = row_of_number(b, t->number);
    if (t->kind == EG_FORMULA_OPERAND) rows[i] = operands[t->which];
    if (t->kind == EG_FORMULA_ATTR) {
      const eg_attr *attr = &attrs->slots[t->which];
      rows[i] = row_of_number(b, attr->kind == EG_ATTR_FLOAT ? attr->f : (double)attr->i);
    }
    if (t->kind != EG_FORMULA_CALL) continue;
    eg_tensor inputs[EG_FORMULA_OPERANDS];
    for (uint32_t k = 0; k < t->count; k++) {
      bool is_truth = (eg_op_info_of(t->op)->flags & EG_OPF_BOOL) != 0 ||
                      eg_op_role(t->op, k) == EG_ROLE_MASK;
      inputs[k] = rows[t->kids[k]];
      if (is_truth && inputs[k].type.dtype != EGRAPH_BOOL)
        inputs[k] = as_bool(b, &inputs[k]);
    }
    eg_attr slots[4];
    eg_attrs call = {
        .op = (uint16_t)t->op, .count = eg_op_info_of(t->op)->attr_count, .slots = slots};
    eg_attrs_defaults(t->op, slots);
    if (!run_rows(b, &call, inputs, t->count, &rows[i])) return false;
  }
  *out = rows[f->count - 1];
  return true;
}

static bool is_same(double a, double b, egraph_math math, egraph_dtype dtype) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  if (math == EGRAPH_MATH_EXACT || isinf(a) || isinf(b))
    return a == b && (signbit(a) == signbit(b) || math != EGRAPH_MATH_EXACT);
  double tolerance = dtype == EGRAPH_FLOAT64   ? 1e-12
                     : dtype == EGRAPH_FLOAT32 ? 1e-4
                                               : 0.05;
  return a == b || fabs(a - b) <= tolerance * fmax(1, fmax(fabs(a), fabs(b)));
}

static void draw_attrs(bench *b, eg_op op, eg_attr *slots) {
  static const double numbers[] = {0.25, 1, 3, -0.5, -2, 0};
  const eg_op_info *info = eg_op_info_of(op);
  eg_attrs_defaults(op, slots);
  // Celu divides by its attribute; below 0 its exponentials leave the range.
  uint32_t count = op == EG_OP_CELU ? 3 : 6;
  for (uint16_t i = 0; i < info->attr_count; i++) {
    if (slots[i].kind == EG_ATTR_FLOAT)
      slots[i].f = numbers[eg_rng_below(&b->rng, count)];
    if (slots[i].kind == EG_ATTR_INT || slots[i].kind == EG_ATTR_SYMBOL)
      slots[i].i = (int64_t)eg_rng_below(&b->rng, 2);
  }
}

/// True when the types are taken: the formula and the kernel were compared.
static bool compare_formula(bench *b, eg_op op, bool has_defaults) {
  const eg_op_info *info = eg_op_info_of(op);
  eg_formula f;
  eg_attr slots[4];
  eg_tensor operands[3], made, wanted;
  assert_true(eg_formula_of(op, &f));
  const eg_attrs attrs = {.op = (uint16_t)op, .count = info->attr_count, .slots = slots};
  if (has_defaults)
    eg_attrs_defaults(op, slots);
  else
    draw_attrs(b, op, slots);
  bool is_moderate = info->formula_math == EGRAPH_MATH_FAST || b->dtype == EGRAPH_FLOAT16;
  for (int i = 0; i < info->min_inputs; i++)
    operands[i] = draw_row(b, (uint32_t)i,
                           is_moderate || eg_op_role(op, (uint32_t)i) == EG_ROLE_SLOPE,
                           is_moderate);
  bool runs = run_rows(b, &attrs, operands, (uint32_t)info->min_inputs, &wanted) &&
              run_formula(b, &f, &attrs, operands, &made);
  for (int64_t i = 0; runs && i < VALUES; i++) {
    double a = eg_tensor_get_double(&made, i), k = eg_tensor_get_double(&wanted, i);
    if (!is_same(a, k, info->formula_math, b->dtype))
      fail_msg("%s of %.9g in %s: the formula %s gives %.9g, the kernel %.9g", info->name,
               eg_tensor_get_double(&operands[0], i), eg_dtype_name(b->dtype),
               info->formula, a, k);
  }
  free_rows(b);
  return runs;
}

static void every_formula_equals_its_kernel(void **state) {
  (void)state;
  for (int op = 0; op < EG_OP_COUNT; op++) {
    const eg_op_info *info = eg_op_info_of((eg_op)op);
    if (info->formula == NULL) continue;
    assert_true((info->flags & EG_OPF_POINTWISE) != 0);
    uint32_t compared = 0;
    for (int dtype = 0; dtype < EGRAPH_DTYPE_COUNT; dtype++) {
      bench b = {.alloc = eg_allocator_heap(),
                 .dtype = (egraph_dtype)dtype,
                 .rng = {.state = (uint64_t)op * 31 + (uint64_t)dtype}};
      // Formulas up to rounding are of real numbers.
      if (info->formula_math != EGRAPH_MATH_EXACT && !eg_dtype_is_float(b.dtype))
        continue;
      for (int i = 0; i < SETTINGS; i++)
        compared += compare_formula(&b, (eg_op)op, i == 0);
    }
    if (compared == 0) fail_msg("no type runs the formula of %s", info->name);
  }
}

// ---- flags of functions of one number -------------------------------------------------

static bool has_one_number(const eg_op_info *info) {
  unsigned flags = info->flags;
  return (flags & EG_OPF_POINTWISE) != 0 && info->max_inputs == 1 &&
         (flags & (EG_OPF_BOOL | EG_OPF_INTEGER | EG_OPF_PREDICATE)) == 0 &&
         !(info->attr_count > 0 && info->attrs[0].role == EG_AR_DTYPE);
}

typedef struct shape {
  bool is_odd, is_even, grows;
} shape;

static shape shape_of_kernel(bench *b, eg_op op) {
  shape found = {.is_odd = true, .is_even = true, .grows = true};
  eg_attr slots[4];
  const eg_attrs attrs = {
      .op = (uint16_t)op, .count = eg_op_info_of(op)->attr_count, .slots = slots};
  eg_tensor x = new_row(b, b->dtype), minus = new_row(b, b->dtype), y, other;
  eg_attrs_defaults(op, slots);
  for (int64_t i = 0; i < VALUES; i++) {
    double value = ((double)i - VALUES / 2) / 12; // rises
    eg_tensor_set_double(&x, i, value);
    eg_tensor_set_double(&minus, i, -value);
  }
  assert_true(run_rows(b, &attrs, &x, 1, &y) && run_rows(b, &attrs, &minus, 1, &other));
  double before = -INFINITY;
  for (int64_t i = 0; i < VALUES; i++) {
    double at = eg_tensor_get_double(&y, i), of_minus = eg_tensor_get_double(&other, i);
    found.is_odd = found.is_odd && is_same(of_minus, -at, EGRAPH_MATH_FAST, b->dtype);
    found.is_even = found.is_even && is_same(of_minus, at, EGRAPH_MATH_FAST, b->dtype);
    if (isnan(at)) continue;
    found.grows = found.grows && at >= before;
    before = at;
  }
  free_rows(b);
  return found;
}

// An operator with attributes may have a flag only where all of them keep to it, so
// defaults cannot show that one is missing.
static void check_flag(const eg_op_info *info, unsigned flag, bool is_found,
                       const char *what) {
  bool is_said = (info->flags & flag) != 0;
  if (is_said && !is_found) fail_msg("%s is not %s", info->name, what);
  if (!is_said && is_found && info->attr_count == 0)
    fail_msg("%s lacks the flag of what is %s", info->name, what);
}

static void odd_even_and_growing_functions_are_marked(void **state) {
  (void)state;
  for (int op = 0; op < EG_OP_COUNT; op++) {
    const eg_op_info *info = eg_op_info_of((eg_op)op);
    unsigned flags = EG_OPF_ODD | EG_OPF_EVEN | EG_OPF_GROWS;
    if (!has_one_number(info)) {
      assert_true((info->flags & flags) == 0);
      continue;
    }
    bench b = {.alloc = eg_allocator_heap(), .dtype = EGRAPH_FLOAT64};
    shape found = shape_of_kernel(&b, (eg_op)op);
    check_flag(info, EG_OPF_ODD, found.is_odd, "odd");
    check_flag(info, EG_OPF_EVEN, found.is_even, "even");
    check_flag(info, EG_OPF_GROWS, found.grows, "growing");
  }
}

// ---- what moves ---------------------------------------------------------------------

// Operands of a case: whole numbers that differ, 0 where they are places.
static void fill_operands(const fixture *f, eg_tensor *operands) {
  for (uint32_t i = 0; i < f->count; i++) {
    eg_role role = eg_op_role((eg_op)f->attrs.op, i);
    bool is_place = role == EG_ROLE_INDICES || role == EG_ROLE_LENGTHS;
    operands[i] = (eg_tensor){.type = f->inputs[i]};
    assert_ok(eg_alloc(eg_allocator_heap(), eg_type_bytes(&f->inputs[i]) + 1, 1,
                       &operands[i].data));
    for (int64_t k = 0; k < eg_type_elements(&f->inputs[i]); k++)
      eg_tensor_set_double(&operands[i], k, is_place ? 0 : (double)(k % 40 + 40 * i + 1));
  }
}

static bool has_element(const eg_tensor *tensor, double value) {
  for (int64_t i = 0; i < eg_type_elements(&tensor->type); i++)
    if (eg_tensor_get_double(tensor, i) == value) return true;
  return false;
}

static void check_moves(const fixture *f) {
  enum { MOST_RESULTS = 16 };
  eg_op op = (eg_op)f->attrs.op;
  egraph_allocator alloc = eg_allocator_heap();
  eg_tensor operands[FIXTURE_MAX_TYPES], results[MOST_RESULTS];
  eg_type types[MOST_RESULTS];
  uint32_t count = eg_op_results(&f->attrs);
  if (count > MOST_RESULTS) return;
  assert_ok(eg_op_infer(&f->attrs, f->inputs, f->count, types));
  fill_operands(f, operands);
  for (uint32_t i = 0; i < count; i++) {
    results[i] = (eg_tensor){.type = types[i]};
    assert_ok(eg_alloc(alloc, eg_type_bytes(&types[i]) + 1, 1, &results[i].data));
  }
  const eg_kernel_call call = {.attrs = &f->attrs,
                               .inputs = operands,
                               .input_count = f->count,
                               .outputs = results,
                               .output_count = count,
                               .alloc = alloc};
  assert_ok(eg_op_run(&call));
  for (uint32_t i = 0; i < count; i++)
    for (int64_t k = 0; k < eg_type_elements(&types[i]); k++) {
      double value = eg_tensor_get_double(&results[i], k);
      if (!has_element(&operands[0], value))
        fail_msg("%s makes elements that operand 0 lacks", eg_op_info_of(op)->name);
      if (eg_op_keeps_order(op))
        assert_true(value == eg_tensor_get_double(&operands[0], k));
    }
  for (uint32_t i = 0; i < f->count; i++)
    eg_free(alloc, operands[i].data, eg_type_bytes(&operands[i].type) + 1, 1);
  for (uint32_t i = 0; i < count; i++)
    eg_free(alloc, results[i].data, eg_type_bytes(&types[i]) + 1, 1);
}

static void operators_that_pick_make_nothing(void **state) {
  (void)state;
  for (uint32_t i = 0; i < OPS_CASES; i++) {
    fixture f;
    fixture_init(&f, &ops_cases[i]);
    eg_op op = ops_cases[i].op;
    unsigned flags = eg_op_info_of(op)->flags;
    bool is_part = op == EG_OP_GATHER && eg_attr_at(&f.attrs, EG_A_GATHER_WHOLE)->i != 0;
    if (eg_op_keeps_order(op)) assert_true((flags & EG_OPF_PICKS) != 0);
    if ((flags & EG_OPF_PICKS) != 0 && op != EG_OP_PART && !is_part) check_moves(&f);
    fixture_deinit(&f);
  }
}

// ---- roles of operands --------------------------------------------------------------

/// What the types of a role's operands are bound to.
typedef enum role_types { ANY_TYPE, INTEGERS, TRUTHS, LIKE_OTHERS } role_types;

static role_types types_of_role(eg_role role) {
  switch ((int)role) {
  case EG_ROLE_INDICES:
  case EG_ROLE_PLACES:
  case EG_ROLE_LENGTHS: return INTEGERS;
  case EG_ROLE_MASK: return TRUTHS;
  case EG_ROLE_FACTOR:
  case EG_ROLE_WEIGHT:
  case EG_ROLE_BIAS:
  case EG_ROLE_TERM:
  case EG_ROLE_SCALE:
  case EG_ROLE_MEAN:
  case EG_ROLE_VARIANCE:
  case EG_ROLE_SLOPE:
  case EG_ROLE_PART:
  case EG_ROLE_UPDATES:
  case EG_ROLE_STATE:
  case EG_ROLE_PEEPHOLE:
  case EG_ROLE_COTANGENT:
  case EG_ROLE_MOMENT: return LIKE_OTHERS;
  default: return ANY_TYPE;
  }
}

/// True when the case is typed with another type of one operand.
static bool takes_dtype(const fixture *f, uint32_t operand, egraph_dtype dtype) {
  eg_type inputs[FIXTURE_MAX_TYPES], results[FIXTURE_MAX_TYPES];
  memcpy(inputs, f->inputs, sizeof inputs);
  inputs[operand].dtype = dtype;
  return eg_op_infer(&f->attrs, inputs, f->count, results) == EGRAPH_OK;
}

/// True when another operand has a type that this one's can be like.
static bool has_others(const fixture *f, uint32_t operand) {
  for (uint32_t i = 0; i < f->count; i++)
    if (i != operand && types_of_role(eg_op_role((eg_op)f->attrs.op, i)) != INTEGERS)
      return true;
  return false;
}

static void check_operand(const fixture *f, uint32_t operand) {
  eg_op op = (eg_op)f->attrs.op;
  const char *name = eg_op_info_of(op)->name;
  egraph_dtype own = f->inputs[operand].dtype;
  egraph_dtype other = own == EGRAPH_FLOAT64 ? EGRAPH_FLOAT32 : EGRAPH_FLOAT64;
  role_types types = types_of_role(eg_op_role(op, operand));
  bool takes_float = takes_dtype(f, operand, EGRAPH_FLOAT32);
  bool takes_bool = takes_dtype(f, operand, EGRAPH_BOOL);
  bool takes_int =
      takes_dtype(f, operand, EGRAPH_INT64) || takes_dtype(f, operand, EGRAPH_INT32);
  bool is_integer = !takes_float && !takes_bool && takes_int;
  bool is_truth = !takes_float && !takes_int;
  if (types == INTEGERS && !is_integer)
    fail_msg("%s: operand %u is not of integers alone", name, operand);
  if (types == TRUTHS && !is_truth)
    fail_msg("%s: operand %u is not of bool alone", name, operand);
  if (types == LIKE_OTHERS && has_others(f, operand) && takes_dtype(f, operand, other))
    fail_msg("%s: operand %u has a type of its own", name, operand);
  // Integers next to floating point are indices, lengths or numbers of quanta.
  bool is_bound = is_integer && operand > 0 && eg_dtype_is_float(f->inputs[0].dtype);
  if (is_bound && types != INTEGERS)
    fail_msg("%s: operand %u is of integers, which its role does not say", name, operand);
}

static void roles_of_operands_fit_their_types(void **state) {
  (void)state;
  for (uint32_t i = 0; i < OPS_CASES; i++) {
    fixture f;
    fixture_init(&f, &ops_cases[i]);
    for (uint32_t k = 0; k < f.count && ops_cases[i].op != EG_OP_OPAQUE; k++)
      check_operand(&f, k);
    fixture_deinit(&f);
  }
}

static void rows_name_no_more_roles_than_operands(void **state) {
  (void)state;
  for (int op = 0; op < EG_OP_COUNT; op++) {
    const eg_op_info *info = eg_op_info_of((eg_op)op);
    if (info->max_inputs >= 0 && (int)info->role_count > info->max_inputs)
      fail_msg("%s has %u roles for %d operands", info->name, info->role_count,
               info->max_inputs);
  }
}

// ---- roles of attributes ------------------------------------------------------------

static eg_attr_kind kind_of_role(eg_attr_role role) {
  switch (role) {
  case EG_AR_NAME:
  case EG_AR_WORDS:
  case EG_AR_EQUATION:
  case EG_AR_BODY: return EG_ATTR_STRING;
  case EG_AR_DTYPE: return EG_ATTR_DTYPE;
  case EG_AR_CHOICE:
  case EG_AR_ACT:
  case EG_AR_ALGORITHM: return EG_ATTR_SYMBOL;
  case EG_AR_NUMBER:
  case EG_AR_ACT_NUMBER:
  case EG_AR_EPSILON: return EG_ATTR_FLOAT;
  case EG_AR_NUMBERS: return EG_ATTR_FLOATS;
  case EG_AR_SWITCH:
  case EG_AR_AXIS:
  case EG_AR_GROUPS:
  case EG_AR_EXTENT:
  case EG_AR_PLACE:
  case EG_AR_ORDER: return EG_ATTR_INT;
  case EG_AR_AXES:
  case EG_AR_PERM:
  case EG_AR_SHAPE:
  case EG_AR_SIZES:
  case EG_AR_REPEATS:
  case EG_AR_STARTS:
  case EG_AR_ENDS:
  case EG_AR_STEPS:
  case EG_AR_MARGINS:
  case EG_AR_KERNEL:
  case EG_AR_STRIDES:
  case EG_AR_PADS:
  case EG_AR_DILATIONS:
  case EG_AR_OUTPUT_PADDING: break;
  }
  return EG_ATTR_INTS;
}

/// True when the case is typed with another value of one slot.
static bool takes_value(fixture *f, uint16_t slot, eg_attr value) {
  eg_type results[FIXTURE_MAX_TYPES];
  eg_attr before = f->slots[slot];
  f->slots[slot] = value;
  bool taken = eg_op_infer(&f->attrs, f->inputs, f->count, results) == EGRAPH_OK;
  f->slots[slot] = before;
  return taken;
}

static eg_attr ints_of(const int64_t *data, uint32_t len) {
  return (eg_attr){.kind = EG_ATTR_INTS, .ints = {.data = data, .len = len}};
}

static void check_list(fixture *f, uint16_t slot, const eg_attr_info *info) {
  int64_t list[EGRAPH_MAX_RANK * 2 + 1] = {0};
  if (f->count == 0) return; // leaves have as many dimensions as their lists say
  const eg_ints own = f->slots[slot].ints;
  bool refuses = true;
  if (own.len > 0) memcpy(list, own.data, own.len * sizeof *list);
  switch ((int)info->role) {
  case EG_AR_KERNEL:
  case EG_AR_STRIDES:
  case EG_AR_DILATIONS:
  case EG_AR_PADS:
  case EG_AR_MARGINS:
  case EG_AR_REPEATS:
  case EG_AR_PERM:
  case EG_AR_STARTS:
  case EG_AR_ENDS:
  case EG_AR_STEPS:
  case EG_AR_OUTPUT_PADDING: list[own.len] = 1; // one entry too many
  }
  refuses = list[own.len] == 0 || !takes_value(f, slot, ints_of(list, own.len + 1));
  bool is_step = info->role == EG_AR_STRIDES || info->role == EG_AR_DILATIONS ||
                 info->role == EG_AR_STEPS;
  bool is_pad = info->role == EG_AR_PADS || info->role == EG_AR_MARGINS;
  if (own.len > 0) list[0] = is_step ? 0 : is_pad ? -1 : list[0];
  if (own.len > 0 && (is_step || is_pad))
    refuses = refuses && !takes_value(f, slot, ints_of(list, own.len));
  const int64_t far = 100;
  if (info->role == EG_AR_AXES)
    refuses = refuses && !takes_value(f, slot, ints_of(&far, 1));
  if (!refuses)
    fail_msg("%s: %s is no list of its role", eg_op_info_of((eg_op)f->attrs.op)->name,
             info->name);
}

static void roles_of_attributes_fit_what_is_refused(void **state) {
  (void)state;
  // A scalar scale, for one, has no axis: some case refuses one that is too large.
  bool is_axis[EG_A_COUNT] = {0};
  for (uint32_t i = 0; i < OPS_CASES; i++) {
    fixture f;
    fixture_init(&f, &ops_cases[i]);
    const eg_op_info *info = eg_op_info_of(ops_cases[i].op);
    for (uint16_t k = 0; k < info->attr_count; k++) {
      const eg_attr_info *attr = &info->attrs[k];
      const eg_attr far = {.kind = EG_ATTR_INT, .i = 100};
      if (attr->kind != kind_of_role(attr->role))
        fail_msg("%s: %s has a role of another kind", info->name, attr->name);
      if (attr->role == EG_AR_AXIS && !takes_value(&f, k, far))
        is_axis[attr - eg_op_info_of((eg_op)0)->attrs] = true;
      if (attr->kind == EG_ATTR_INTS) check_list(&f, k, attr);
    }
    fixture_deinit(&f);
  }
  for (int op = 0; op < EG_OP_COUNT; op++)
    for (uint16_t k = 0; k < eg_op_info_of((eg_op)op)->attr_count; k++) {
      const eg_attr_info *attr = &eg_op_info_of((eg_op)op)->attrs[k];
      if (attr->role == EG_AR_AXIS && !is_axis[attr - eg_op_info_of((eg_op)0)->attrs])
        fail_msg("%s: %s is no axis", eg_op_info_of((eg_op)op)->name, attr->name);
    }
}

// The pads of a pad are of every dimension; the k of a trilu is a diagonal.
static bool has_two_roles(const char *name) {
  return strcmp(name, "pads") == 0 || strcmp(name, "k") == 0;
}

static void attributes_with_one_name_have_one_role(void **state) {
  (void)state;
  const eg_attr_info *all = eg_op_info_of((eg_op)0)->attrs;
  for (int i = 0; i < EG_A_COUNT; i++)
    for (int k = 0; k < i; k++)
      if (strcmp(all[i].name, all[k].name) == 0 && !has_two_roles(all[i].name) &&
          all[i].role != all[k].role)
        fail_msg("%s has two roles", all[i].name);
}

static void windows_are_read_from_attributes_or_weights(void **state) {
  (void)state;
  for (uint32_t i = 0; i < OPS_CASES; i++) {
    fixture f;
    eg_windows windows;
    uint16_t slot;
    fixture_init(&f, &ops_cases[i]);
    bool has_strides = eg_op_find_role(ops_cases[i].op, EG_AR_STRIDES, &slot);
    bool found = eg_op_windows(&f.attrs, f.inputs, f.count, &windows);
    assert_true(has_strides || !found);
    if (found) {
      assert_int_equal(windows.kernel.len, windows.strides.len);
      assert_int_equal(windows.pads.len, 2 * windows.strides.len);
    }
    fixture_deinit(&f);
  }
}

// ---- activations --------------------------------------------------------------------

static void activations_have_the_attributes_of_their_operators(void **state) {
  (void)state;
  eg_attr slots[2];
  eg_attrs clip = eg_act_attrs(EG_ACT_CLIP, -1, 6, slots);
  assert_true(clip.op == EG_OP_CLIP && slots[0].f == -1 && slots[1].f == 6);
  eg_attrs gelu = eg_act_attrs(EG_ACT_GELU_TANH, 0, 0, slots);
  assert_true(gelu.op == EG_OP_GELU && slots[0].i == 1);
  assert_true(eg_act_operator(EG_ACT_NONE) == EG_OP_IDENTITY);
  for (int op = 0; op < EG_OP_COUNT; op++) { // eg_fused_act_of reads three slots in order
    uint16_t slot;
    const eg_attr_info *attrs = eg_op_info_of((eg_op)op)->attrs;
    if (!eg_op_find_role((eg_op)op, EG_AR_ACT, &slot)) continue;
    assert_string_equal(attrs[slot + 1].name, "act_alpha");
    assert_string_equal(attrs[slot + 2].name, "act_beta");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_formula_equals_its_kernel),
      cmocka_unit_test(odd_even_and_growing_functions_are_marked),
      cmocka_unit_test(operators_that_pick_make_nothing),
      cmocka_unit_test(roles_of_operands_fit_their_types),
      cmocka_unit_test(rows_name_no_more_roles_than_operands),
      cmocka_unit_test(roles_of_attributes_fit_what_is_refused),
      cmocka_unit_test(attributes_with_one_name_have_one_role),
      cmocka_unit_test(windows_are_read_from_attributes_or_weights),
      cmocka_unit_test(activations_have_the_attributes_of_their_operators),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
