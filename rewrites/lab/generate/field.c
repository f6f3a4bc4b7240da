// Odd and even functions use keyed permutations of the field; exp and log are powers of a
// primitive root. A function defined by other functions is computed from them.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/generate/field.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"

enum { MAX_DENOMINATOR = 1 << 24, INTEGER_BITS = 20 };

uint64_t eg_field_pow(uint64_t a, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = eg_field_mul(result, a);
    a = eg_field_mul(a, a);
  }
  return result;
}

int64_t eg_field_euclid(uint64_t a, int64_t least, int64_t *out_factor) {
  int64_t r0 = (int64_t)EG_FIELD_P, r1 = (int64_t)a, t0 = 0, t1 = 1;
  while (r1 >= least) {
    int64_t q = r0 / r1, r = r0 - q * r1, t = t0 - q * t1;
    r0 = r1;
    r1 = r;
    t0 = t1;
    t1 = t;
  }
  *out_factor = t1;
  return r1;
}

// Uses Euclid's algorithm, which takes half the time of a power.
uint64_t eg_field_inverse(uint64_t a) {
  int64_t factor;
  return eg_field_euclid(a, 2, &factor) == 1 ? eg_field_of_int(factor) : 0;
}

// Returns x^((p + 1) / 4): because p = 3 mod 4, this is a root of a square, and the root
// of a product is the product of the roots of its factors.
uint64_t eg_field_sqrt(uint64_t x) { return eg_field_pow(x, (EG_FIELD_P + 1) / 4); }

// ---- constants ------------------------------------------------------------------

/// Approximates a number in [0, 2^31) by a quotient, using its continued fraction.
static bool to_quotient(double value, double tolerance, int64_t *out_n, int64_t *out_d) {
  double rest = value;
  int64_t n0 = 0, n1 = 1, d0 = 1, d1 = 0;
  for (int step = 0; step < 40; step++) {
    double whole = floor(rest);
    if (whole > 0x1p31) return false;
    int64_t n = (int64_t)whole * n1 + n0, d = (int64_t)whole * d1 + d0;
    if (d > MAX_DENOMINATOR || n > (INT64_C(1) << 50)) return false;
    n0 = n1;
    n1 = n;
    d0 = d1;
    d1 = d;
    if (fabs((double)n / (double)d - value) <= tolerance * value) {
      *out_n = n;
      *out_d = d;
      return true;
    }
    if (rest - whole == 0) return false;
    rest = 1 / (rest - whole);
  }
  return false;
}

bool eg_field_of_double(double value, bool is_single, uint64_t *out) {
  int64_t n, d;
  double size = fabs(value);
  if (!isfinite(value) || size >= 0x1p31) return false;
  if (!to_quotient(size, is_single ? 0x1p-22 : 0x1p-51, &n, &d)) return false;
  uint64_t quotient =
      eg_field_mul(eg_field_of_int(n), eg_field_inverse(eg_field_of_int(d)));
  *out = value < 0 ? eg_field_neg(quotient) : quotient;
  return true;
}

// ---- keyed functions ------------------------------------------------------------

// Multipliers mod 2^61.
#define MULTIPLIER_1 UINT64_C(0x1f58476d1ce4e5b9)
#define MULTIPLIER_2 UINT64_C(0x14d049bb133111eb)
static uint64_t turn(uint64_t x) { return x ^ (x >> 31); } // its own inverse on 61 bits

static uint64_t permute(uint64_t key, uint64_t x) {
  x = (x ^ key) & EG_FIELD_P;
  x = turn(turn(x) * MULTIPLIER_1 & EG_FIELD_P);
  return turn(x * MULTIPLIER_2 & EG_FIELD_P);
}
// Permutes the field by a key. 2^61 - 1 is no element of the field: permute again until
// the result is one.
static uint64_t any(uint64_t key, uint64_t x) {
  do
    x = permute(key, x);
  while (x == EG_FIELD_P);
  return x;
}

// ---- powers of 37, of which every number but 0 is one ----------------------------

static const uint64_t ROOT = 37, ORDER = EG_FIELD_P - 1;

uint64_t eg_field_exp(uint64_t x) {
  int64_t exponent = eg_field_signed(x);
  return eg_field_pow(ROOT,
                      exponent < 0 ? (uint64_t)exponent + ORDER : (uint64_t)exponent);
}

/// Uses the method of Pohlig and Hellman: logarithms modulo each coprime factor of the
/// order, combined.
uint64_t eg_field_log(uint64_t x) {
  static const uint64_t FACTORS[] = {2, 9, 25, 7, 11, 13, 31, 41, 61, 151, 331, 1321};
  const uint64_t no_value = UINT64_C(0x1b873593cc9e2d);
  uint64_t log = 0;
  if (x == 0) return any(no_value, 0);
  for (size_t i = 0; i < sizeof FACTORS / sizeof *FACTORS; i++) {
    uint64_t factor = FACTORS[i], rest = ORDER / factor, inverse = 1, digit = 0;
    uint64_t root = eg_field_pow(ROOT, rest), power = eg_field_pow(x, rest);
    while (rest % factor * inverse % factor != 1)
      inverse++;
    for (uint64_t at = 1; at != power; at = eg_field_mul(at, root))
      digit++;
    log = (log + digit * inverse % factor * rest) % ORDER;
  }
  return log > ORDER / 2 ? log + 1 : log; // as an exponent: both ORDER and P are 0
}

/// Returns a / b. For b = 0, returns a number that depends on a and satisfies no
/// identity; otherwise wrong rules would follow.
static uint64_t divide(uint64_t a, uint64_t b) {
  const uint64_t no_value = UINT64_C(0x5bd1e995c0ffee);
  return b == 0 ? any(no_value, a) : eg_field_mul(a, eg_field_inverse(b));
}

uint64_t eg_field_power(uint64_t a, uint64_t b) {
  const uint64_t no_value = UINT64_C(0x2545f4914f6cdd), one_half = (EG_FIELD_P + 1) / 2;
  int64_t whole = eg_field_signed(b);
  if (whole >= 0 && whole <= 8) return eg_field_pow(a, (uint64_t)whole);
  if (whole < 0 && whole >= -8) return divide(1, eg_field_pow(a, (uint64_t)-whole));
  if (b == one_half) return eg_field_sqrt(a);
  if (b == eg_field_neg(one_half)) return divide(1, eg_field_sqrt(a));
  return any(eg_hash_combine(no_value, b), a);
}

// ---- functions ------------------------------------------------------------------

/// Rounds down to a whole number; whole numbers of the order are multiples of 2^20.
static uint64_t floor_of(uint64_t x) {
  int64_t unit = INT64_C(1) << INTEGER_BITS, value = eg_field_signed(x);
  int64_t rest = ((value % unit) + unit) % unit;
  return eg_field_of_int(value - rest);
}

static uint64_t round_of(uint64_t x) {
  int64_t unit = INT64_C(1) << INTEGER_BITS, value = eg_field_signed(x);
  int64_t size = value < 0 ? -value : value, whole = (size + unit / 2) / unit * unit;
  return eg_field_of_int(value < 0 ? -whole : whole);
}

/// Evaluates an odd or even function that is built from a keyed permutation.
static uint64_t keyed(uint64_t key, eg_op op, uint64_t x) {
  uint64_t k = eg_hash_combine(key, (uint64_t)op + 1);
  uint64_t plus = any(k, x), minus = any(k, eg_field_neg(x));
  bool is_odd = (eg_op_info_of(op)->flags & EG_OPF_ODD) != 0;
  return is_odd ? eg_field_sub(plus, minus) : eg_field_add(plus, minus);
}

// The operators of the field. Truth values are 0 and 1.
#define EG_FIELD_OPERATORS(X)                                                            \
  X(ADD, eg_field_add(x, y))                                                             \
  X(MUL, eg_field_mul(x, y))                                                             \
  X(DIV, divide(x, y))                                                                   \
  X(POW, eg_field_power(x, y))                                                           \
  X(MAX, eg_field_signed(x) >= eg_field_signed(y) ? x : y)                               \
  X(MIN, eg_field_signed(x) <= eg_field_signed(y) ? x : y)                               \
  X(NEG, eg_field_neg(x))                                                                \
  X(EXP, eg_field_exp(x))                                                                \
  X(LOG, eg_field_log(x))                                                                \
  X(SQRT, eg_field_sqrt(x))                                                              \
  X(FLOOR, floor_of(x))                                                                  \
  X(ROUND, round_of(x))                                                                  \
  X(EQUAL, x == y)                                                                       \
  X(LESS, eg_field_signed(x) < eg_field_signed(y))                                       \
  X(LESS_OR_EQUAL, eg_field_signed(x) <= eg_field_signed(y))                             \
  X(NOT, eg_field_sub(1, x))                                                             \
  X(AND, eg_field_mul(x, y))                                                             \
  X(OR, eg_field_sub(eg_field_add(x, y), eg_field_mul(x, y)))                            \
  X(WHERE, x != 0 ? y : z)

static uint64_t step_value(uint64_t key, eg_op op, uint64_t x, uint64_t y, uint64_t z) {
  switch ((int)op) {
#define EG_FIELD_CASE(OP, value)                                                         \
  case EG_OP_##OP: return value;
    EG_FIELD_OPERATORS(EG_FIELD_CASE)
#undef EG_FIELD_CASE
  default: return keyed(key, op, x);
  }
}

static bool is_known(eg_op op) {
#define EG_FIELD_SET(OP, value) [EG_OP_##OP] = true,
  static const bool KNOWN[EG_OP_COUNT] = {EG_FIELD_OPERATORS(EG_FIELD_SET)};
#undef EG_FIELD_SET
  return KNOWN[op] || (eg_op_info_of(op)->flags & (EG_OPF_ODD | EG_OPF_EVEN)) != 0;
}

uint64_t eg_field_apply(const eg_field_function *f, const uint64_t *operands) {
  uint64_t values[EG_FIELD_STEPS];
  assert(f->count != 0 && f->count <= EG_FIELD_STEPS);
  for (uint32_t i = 0; i < f->count; i++) {
    const eg_field_step *s = &f->steps[i];
    if (s->kind == EG_FORMULA_CALL)
      values[i] = step_value(f->key, s->op, values[s->kids[0]], values[s->kids[1]],
                             values[s->kids[2]]);
    else
      values[i] = s->kind == EG_FORMULA_OPERAND ? operands[s->which] : s->number;
  }
  return values[f->count - 1];
}

// ---- operators as steps ---------------------------------------------------------

/// The function that is built for an operator: its steps so far, and the attributes.
typedef struct builder {
  const eg_attrs *attrs;
  uint64_t key;
  eg_field_step steps[EG_FIELD_STEPS];
  uint32_t count;
  bool holds; // the field can express the whole operator
} builder;
/// An operand of a step: another step, or an infinity, which the field does not have.
typedef struct operand {
  uint32_t step;
  int infinite; // sign of the infinity, or 0
} operand;

static operand push_step(builder *b, eg_field_step step) {
  if (b->count == EG_FIELD_STEPS) b->holds = false;
  if (!b->holds) return (operand){.step = 0};
  b->steps[b->count] = step;
  return (operand){.step = b->count++};
}

/// Adds a step for a number: the number of the field that equals it, or else the root of
/// such a number, or else a number derived from the value.
static operand push_number(builder *b, double value, bool is_attribute, bool is_rounded) {
  eg_field_step step = {.kind = EG_FORMULA_NUMBER};
  if (isinf(value)) return (operand){.infinite = value > 0 ? 1 : -1};
  if (!eg_field_of_double(value, is_attribute, &step.number)) {
    if (!is_rounded)
      b->holds = false;
    else if (eg_field_of_double(value * value, false, &step.number))
      step.number = eg_field_sqrt(step.number);
    else
      step.number = any(b->key, eg_hash_bytes(0, &value, sizeof value) & EG_FIELD_P);
  }
  return push_step(b, step);
}

static operand push_attribute(builder *b, uint8_t slot) {
  const eg_attr *attr = &b->attrs->slots[slot];
  double value = attr->kind == EG_ATTR_FLOAT ? attr->f : (double)attr->i;
  return push_number(b, value, true, false);
}

static operand push_call(builder *b, eg_op op, const operand *kids, uint32_t count);

/// Adds the steps of a formula's term. The recursion is at most EG_FORMULA_TERMS deep.
static operand push_term(builder *b, const eg_formula *formula, uint32_t at,
                         const operand *given) {
  const eg_formula_term *t = &formula->terms[at];
  operand kids[EG_FORMULA_OPERANDS] = {{.step = 0}};
  if (t->kind == EG_FORMULA_NUMBER)
    return push_number(b, t->number, false, t->is_rounded);
  if (t->kind == EG_FORMULA_OPERAND) return given[t->which];
  if (t->kind == EG_FORMULA_ATTR) return push_attribute(b, t->which);
  const eg_formula_term *condition = &formula->terms[t->kids[0]];
  if (t->op == EG_OP_WHERE && condition->kind == EG_FORMULA_ATTR) {
    bool is_first = b->attrs->slots[condition->which].i != 0;
    return push_term(b, formula, t->kids[is_first ? 1 : 2], given);
  }
  for (uint32_t i = 0; i < t->count && b->holds; i++)
    kids[i] = push_term(b, formula, t->kids[i], given);
  return push_call(b, t->op, kids, t->count);
}

/// Adds the steps of an operator call; its formula is at most four operators deep.
static operand push_call(builder *b, eg_op op, const operand *kids, uint32_t count) {
  eg_formula formula;
  if (!b->holds) return (operand){.step = 0};
  if (op == EG_OP_MAX || op == EG_OP_MIN)
    for (uint32_t i = 0; i < count; i++) // an infinite bound has no effect
      if (kids[i].infinite == (op == EG_OP_MAX ? -1 : 1) && count == 2)
        return kids[1 - i];
  for (uint32_t i = 0; i < count; i++)
    b->holds = b->holds && kids[i].infinite == 0;
  bool has_formula = eg_formula_of(op, &formula);
  if (has_formula) return push_term(b, &formula, formula.count - 1, kids);
  b->holds = b->holds && is_known(op) && count <= EG_FORMULA_OPERANDS;
  eg_field_step step = {.kind = EG_FORMULA_CALL, .op = op};
  for (uint32_t i = 0; i < count && b->holds; i++)
    step.kids[i] = (uint8_t)kids[i].step;
  return push_step(b, step);
}

/// Sets the numeric attributes as doubles; hard-swish has fixed numbers instead.
static void set_attributes(eg_field_function *f, const eg_attrs *attrs) {
  double values[2] = {1.0 / 6, 0.5};
  for (uint16_t i = 0; i < attrs->count && i < 2; i++) {
    const eg_attr *attr = &attrs->slots[i];
    values[i] = attr->kind == EG_ATTR_FLOAT ? attr->f : (double)attr->i;
  }
  f->real_a = values[0];
  f->real_b = values[1];
  bool is_off =
      attrs->count > 0 && attrs->slots[0].kind != EG_ATTR_FLOAT && values[0] == 0;
  f->has_a = attrs->count > 0 && isfinite(values[0]) && !is_off;
  f->has_b = attrs->count > 1 && isfinite(values[1]);
}

egraph_status eg_field_function_of(eg_arena *arena, const eg_attrs *attrs, uint64_t key,
                                   eg_field_function *out, bool *out_known) {
  const eg_op_info *info = eg_op_info_of((eg_op)attrs->op);
  uint32_t least = (uint32_t)info->min_inputs;
  uint32_t count = least > 2 ? least : info->max_inputs == 1 ? 1 : 2;
  bool is_test = count == 1 && (info->flags & EG_OPF_PREDICATE) != 0;
  operand operands[EG_FORMULA_OPERANDS];
  *out = (eg_field_function){.op = (eg_op)attrs->op, .key = key};
  *out_known = false;
  if ((info->flags & EG_OPF_POINTWISE) == 0 || is_test) return EGRAPH_OK;
  builder b = {.attrs = attrs, .key = key, .holds = count <= EG_FORMULA_OPERANDS};
  for (uint32_t i = 0; i < count && b.holds; i++)
    operands[i] =
        push_step(&b, (eg_field_step){.kind = EG_FORMULA_OPERAND, .which = (uint8_t)i});
  operand value = push_call(&b, out->op, operands, count);
  if (value.step + 1 != b.count) (void)push_step(&b, b.steps[value.step]);
  if (!b.holds || value.infinite != 0) return EGRAPH_OK;
  eg_field_step *steps;
  EG_NEW(arena, b.count, steps);
  memcpy(steps, b.steps, b.count * sizeof *steps);
  out->steps = steps;
  out->count = b.count;
  set_attributes(out, attrs);
  *out_known = true;
  return EGRAPH_OK;
}
