// Applies operators to numbers, in the normal form that the axioms of the rule's class
// give. An axiom holds for every number (infinities, NaN, integers that wrap) as the
// class requires (tests/data/axioms.rules), and never requires an operand that is not
// zero or not negative.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <math.h>
#include <string.h>

#include "ops/meaning.h"
#include "rewrites/lab/prove/proof_scalar.h"

static bool is_known(const eg_proof *p, eg_scalar s) {
  return eg_scalar_at(p, s)->kind == EG_SCALAR_NUMBER;
}

static double known_value(const eg_proof *p, eg_scalar s) {
  return eg_scalar_at(p, s)->value;
}

static eg_scalar reciprocal(eg_proof *p, eg_scalar x);

bool eg_op_hides_infinity(eg_op op) {
  return (eg_op_info_of(op)->flags & EG_OPF_PREDICATE) != 0 || op == EG_OP_CAST ||
         op == EG_OP_BIT_CAST;
}

eg_scalar eg_scalar_opaque(eg_proof *p, eg_op op, const eg_scalar *kids, uint32_t count) {
  assert(count != 0);
  eg_scalar_node node = {
      .kind = EG_SCALAR_CALL, .which = (uint32_t)op, .count = count, .kids = kids};
  // max(0, -0) is not max(-0, 0), so maxima keep their order in the exact class.
  bool ordered = p->is_exact && (op == EG_OP_MAX || op == EG_OP_MIN);
  const eg_scalar turned[2] = {kids[count - 1], kids[0]};
  bool commutes = (eg_op_info_of(op)->flags & EG_OPF_COMMUTES) != 0;
  if (count == 2 && commutes && !ordered && kids[0] > kids[1]) node.kids = turned;
  return eg_scalar_make(p, node);
}

// ---- activations as formulas ------------------------------------------------------

// True when x has a negative sign; a sum has the sign of its first factor.
static bool leads_minus(const eg_proof *p, eg_scalar x) {
  const eg_scalar_node *n = eg_scalar_at(p, x);
  if (n->kind == EG_SCALAR_NUMBER) return n->value < 0;
  return n->kind == EG_SCALAR_SUM && n->factors[0] < 0;
}

static eg_scalar odd(eg_proof *p, eg_op op, eg_scalar x) {
  bool is_minus = p->is_exact ? eg_scalar_is_call(p, x, EG_OP_NEG) : leads_minus(p, x);
  if (!is_minus) return eg_scalar_opaque(p, op, &x, 1);
  eg_scalar minus = eg_scalar_neg(p, x);
  return eg_scalar_neg(p, eg_scalar_opaque(p, op, &minus, 1));
}

static eg_scalar even(eg_proof *p, eg_op op, eg_scalar x) {
  if (leads_minus(p, x)) x = eg_scalar_neg(p, x);
  return eg_scalar_opaque(p, op, &x, 1);
}

// Applies sigmoid(-x) = 1 - sigmoid(x) in class fast only, because the difference rounds
// small values to 0.
static eg_scalar sigmoid(eg_proof *p, eg_scalar x) {
  if (!p->laws.is_fast || !leads_minus(p, x))
    return eg_scalar_opaque(p, EG_OP_SIGMOID, &x, 1);
  eg_scalar minus = eg_scalar_neg(p, x);
  eg_scalar other = eg_scalar_opaque(p, EG_OP_SIGMOID, &minus, 1);
  return eg_scalar_add(p, eg_scalar_number(p, 1), eg_scalar_neg(p, other));
}

static eg_scalar tangent(eg_proof *p, eg_scalar x) { // tanh x = 2 sigmoid(2 x) - 1
  if (!p->laws.is_fast) return odd(p, EG_OP_TANH, x);
  eg_scalar s = sigmoid(p, eg_scalar_scale(p, x, 2));
  return eg_scalar_add(p, eg_scalar_scale(p, s, 2), eg_scalar_number(p, -1));
}

// True when x is an exponential or a sum of exponentials.
static bool is_positive(const eg_proof *p, eg_scalar x) {
  const eg_scalar_node *n = eg_scalar_at(p, x);
  if (n->kind == EG_SCALAR_TOTAL && n->which == EG_FOLD_SUM)
    return is_positive(p, n->kids[2]);
  return eg_scalar_is_call(p, x, EG_OP_EXP);
}

// Makes a number marked as rounded; returns false when it leaves the range of numbers.
static bool is_folded(eg_proof *p, double value, eg_scalar *out) {
  if (!isfinite(value) || value == 0) return false;
  *out = eg_scalar_rounded(p, value);
  return true;
}

static eg_scalar power_of_term(eg_proof *p, eg_scalar x);

static eg_scalar exponential(eg_proof *p, eg_scalar x) {
  const eg_scalar_node *n = eg_scalar_at(p, x);
  eg_scalar made;
  if (eg_scalar_is_number(p, x, 0)) return eg_scalar_number(p, 1);
  if (n->kind == EG_SCALAR_NUMBER && is_folded(p, exp(n->value), &made)) return made;
  if (eg_scalar_is_call(p, x, EG_OP_LOG_SOFTMAX))
    return eg_scalar_opaque(p, EG_OP_SOFTMAX, n->kids, n->count);
  return p->laws.is_fast ? power_of_term(p, x) : eg_scalar_opaque(p, EG_OP_EXP, &x, 1);
}

static eg_scalar power_of_term(eg_proof *p, eg_scalar x) { // exp(a + b) = exp a exp b
  const eg_scalar_node *n = eg_scalar_at(p, x);
  bool minus =
      n->kind == EG_SCALAR_SUM && n->count == 1 && n->value == 0 && n->factors[0] == -1;
  eg_scalar power = minus ? n->kids[0] : x;
  if (eg_scalar_is_call(p, power, EG_OP_LOG) &&
      is_positive(p, eg_scalar_at(p, power)->kids[0])) {
    eg_scalar base = eg_scalar_at(p, power)->kids[0];
    return minus ? reciprocal(p, base) : base;
  }
  if (n->kind != EG_SCALAR_SUM || (n->count == 1 && n->value == 0) || !n->is_ordinary)
    return eg_scalar_opaque(p, EG_OP_EXP, &x, 1);
  eg_scalar made = exponential(p, eg_scalar_number(p, n->value));
  for (uint32_t i = 0; i < n->count; i++) {
    eg_number factor = {.value = n->factors[i], .marks = n->which};
    made = eg_scalar_mul(p, made, exponential(p, eg_scalar_times(p, n->kids[i], factor)));
  }
  return made;
}

// True when x = exp(*out_power).
static bool is_power(eg_proof *p, eg_scalar x, eg_scalar *out_power) {
  if (eg_scalar_is_call(p, x, EG_OP_EXP)) {
    *out_power = eg_scalar_at(p, x)->kids[0];
    return true;
  }
  if (!eg_scalar_is_call(p, x, EG_OP_RECIPROCAL) ||
      !is_positive(p, eg_scalar_at(p, x)->kids[0]))
    return false;
  *out_power =
      eg_scalar_neg(p, eg_scalar_opaque(p, EG_OP_LOG, eg_scalar_at(p, x)->kids, 1));
  return true;
}

// Splits x into exp(*out_power) times the returned scalar. Powers that do not depend on
// the index of a sum leave the sum.
static eg_scalar without_powers(eg_proof *p, eg_scalar x, eg_scalar *out_power) {
  const eg_scalar_node *n = eg_scalar_at(p, x);
  eg_scalar power;
  if (is_power(p, x, out_power)) return eg_scalar_number(p, 1);
  *out_power = eg_scalar_number(p, 0);
  if (n->kind == EG_SCALAR_PRODUCT) {
    eg_scalar rest = eg_scalar_number(p, 1);
    for (uint32_t i = 0; i < n->count; i++)
      if (is_power(p, n->kids[i], &power))
        *out_power = eg_scalar_add(p, *out_power, power);
      else
        rest = eg_scalar_mul(p, rest, n->kids[i]);
    return rest;
  }
  if (n->kind != EG_SCALAR_TOTAL || n->which != EG_FOLD_SUM) return x;
  uint32_t symbol = n->kids[0];
  eg_poly size = n->kids[1];
  eg_scalar inner, counted = eg_scalar_number(p, 0),
                   body = without_powers(p, n->kids[2], &inner);
  const eg_scalar_node *powers = eg_scalar_at(p, inner);
  if (powers->kind == EG_SCALAR_SUM) {
    for (uint32_t i = 0; i < powers->count; i++) {
      eg_number factor = {.value = powers->factors[i], .marks = powers->which};
      eg_scalar part = eg_scalar_times(p, powers->kids[i], factor);
      eg_scalar *to = eg_scalar_has(p, part, symbol) ? &counted : out_power;
      *to = eg_scalar_add(p, *to, part);
    }
    *out_power = eg_scalar_add(p, *out_power, eg_scalar_number(p, powers->value));
  } else {
    *(eg_scalar_has(p, inner, symbol) ? &counted : out_power) = inner;
  }
  if (eg_scalar_is_number(p, *out_power, 0)) return x;
  *out_power = eg_scalar_simple(p, *out_power); // it now lies outside of this sum
  body = eg_scalar_mul(p, body, exponential(p, counted));
  return eg_scalar_total(p, EG_FOLD_SUM, symbol, size, body);
}

static eg_scalar reciprocal(eg_proof *p, eg_scalar x) {
  eg_scalar power, rest = p->laws.is_fast ? without_powers(p, x, &power) : x;
  if (rest != x && !eg_scalar_is_number(p, rest, 1))
    return eg_scalar_mul(p, exponential(p, eg_scalar_neg(p, power)), reciprocal(p, rest));
  const eg_scalar_node *n = eg_scalar_at(p, x);
  eg_number one = {.value = 1}, own = {.value = n->value, .marks = n->which};
  if (n->kind == EG_SCALAR_NUMBER && n->value != 0)
    return eg_scalar_marked(p, eg_number_over(p, one, own));
  if (eg_scalar_is_call(p, x, EG_OP_RECIPROCAL)) return n->kids[0];
  if (eg_scalar_is_call(p, x, EG_OP_EXP))
    return exponential(p, eg_scalar_neg(p, n->kids[0]));
  if (n->kind == EG_SCALAR_PRODUCT) {
    eg_scalar made = eg_scalar_number(p, 1);
    for (uint32_t i = 0; i < n->count; i++)
      made = eg_scalar_mul(p, made, reciprocal(p, n->kids[i]));
    return made;
  }
  if (n->kind == EG_SCALAR_SUM && n->count == 1 && n->value == 0) {
    own.value = n->factors[0];
    return eg_scalar_times(p, reciprocal(p, n->kids[0]), eg_number_over(p, one, own));
  }
  if (n->kind == EG_SCALAR_SUM && n->count == 1 && n->value == 1 && n->factors[0] == 1 &&
      eg_scalar_is_call(p, n->kids[0], EG_OP_EXP)) // 1 / (1 + exp y)
    return sigmoid(p, eg_scalar_neg(p, eg_scalar_at(p, n->kids[0])->kids[0]));
  return eg_scalar_opaque(p, EG_OP_RECIPROCAL, &x, 1);
}

// Applies log(exp a b) = a + log b and log(1 / x) = -log x.
static eg_scalar logarithm(eg_proof *p, eg_scalar x) {
  eg_scalar powers = eg_scalar_number(p, 0), rest = x;
  if (p->laws.is_fast) rest = without_powers(p, x, &powers);
  // log(1 / x) = -log x: at -inf and -0 only one side is NaN, so this needs class fast.
  if (p->laws.is_fast && eg_scalar_is_call(p, rest, EG_OP_RECIPROCAL))
    rest = eg_scalar_neg(p, logarithm(p, eg_scalar_at(p, rest)->kids[0]));
  else if (!eg_scalar_is_number(p, rest, 1))
    rest = eg_scalar_opaque(p, EG_OP_LOG, &rest, 1);
  else
    rest = eg_scalar_number(p, 0);
  return eg_scalar_add(p, powers, rest);
}

static eg_scalar root(eg_proof *p, eg_scalar x) {
  const eg_scalar_node *n = eg_scalar_at(p, x);
  eg_scalar made;
  if (is_known(p, x) && (n->value == 0 || n->value == 1)) return x;
  if (is_known(p, x) && is_folded(p, sqrt(n->value), &made)) return made;
  if (n->kind == EG_SCALAR_PRODUCT && n->count == 2 && n->kids[0] == n->kids[1])
    return even(p, EG_OP_ABS, n->kids[0]);
  return eg_scalar_opaque(p, EG_OP_SQRT, &x, 1);
}

static eg_scalar power(eg_proof *p, eg_scalar x, eg_scalar y) {
  if (is_known(p, y)) {
    double exponent = known_value(p, y);
    if (exponent == 1) return x;
    if (exponent == 2) return eg_scalar_mul(p, x, x);
    if (exponent == 3 && !p->is_exact) return eg_scalar_mul(p, eg_scalar_mul(p, x, x), x);
    if (exponent == -1 && !p->is_exact && p->domain == EG_DOMAIN_REAL)
      return reciprocal(p, x);
    // At -inf, the power 0.5 is infinite, but the square root is NaN.
    if (exponent == 0.5 && p->laws.distributes) return root(p, x);
    if (exponent == -0.5 && p->laws.is_fast) return reciprocal(p, root(p, x));
  }
  return eg_scalar_opaque(p, EG_OP_POW, (eg_scalar[]){x, y}, 2);
}

// ---- comparisons and choices ------------------------------------------------------

static eg_scalar less(eg_proof *p, eg_scalar a, eg_scalar b);

// Applies a logical operator. Truth values are the numbers 0 and 1; `or` is
// their maximum.
static eg_scalar logical(eg_proof *p, eg_op op, eg_scalar a, eg_scalar b) {
  eg_domain before = p->domain;
  double absorbs = op == EG_OP_OR;
  if (eg_scalar_is_number(p, a, absorbs) || eg_scalar_is_number(p, b, absorbs))
    return eg_scalar_number(p, absorbs);
  if (is_known(p, a)) return b;
  if (is_known(p, b)) return a;
  p->domain = EG_DOMAIN_WHOLE;
  eg_scalar made = eg_scalar_extreme(p, op == EG_OP_OR ? EG_OP_MAX : EG_OP_MIN, a, b);
  p->domain = before;
  return made;
}

/// The operand of a comparison that is a maximum or minimum of two numbers.
typedef struct compared {
  eg_op op;
  bool is_left;
} compared;

static bool is_of_two(const eg_proof *p, eg_scalar a, eg_scalar b, compared *out) {
  for (uint32_t i = 0; i < 4; i++) {
    out->op = i % 2 == 0 ? EG_OP_MAX : EG_OP_MIN;
    out->is_left = i >= 2;
    eg_scalar side = out->is_left ? a : b;
    if (eg_scalar_is_call(p, side, out->op) && eg_scalar_at(p, side)->count == 2)
      return true;
  }
  return false;
}

// Applies a < min(b, c): a < b and a < c. Also a < max(b, c): a < b or a < c, which
// differs when b or c is NaN, unless the NaN is a itself.
static bool less_than_each(eg_proof *p, eg_scalar a, eg_scalar b, eg_scalar *out) {
  compared side;
  if (p->is_exact || !is_of_two(p, a, b, &side)) return false;
  eg_members m = eg_scalar_members(p, side.op, side.is_left ? a : b);
  bool is_and = (side.op == EG_OP_MAX) == side.is_left;
  eg_scalar other = side.is_left ? b : a;
  bool has_other = m.list[0] == other || m.list[1] == other;
  if (!is_and && !has_other && p->domain != EG_DOMAIN_WHOLE) return false;
  eg_scalar made[2];
  for (uint32_t i = 0; i < 2; i++)
    made[i] = side.is_left ? less(p, m.list[i], b) : less(p, a, m.list[i]);
  *out = logical(p, is_and ? EG_OP_AND : EG_OP_OR, made[0], made[1]);
  return true;
}

static eg_scalar less(eg_proof *p, eg_scalar a, eg_scalar b) {
  if (a == b) return eg_scalar_number(p, 0);
  double x, y; // different numbers may become equal in a type with fewer bits
  if (eg_scalar_is_bound(p, a, &x) && eg_scalar_is_bound(p, b, &y) &&
      (!(x < y) || (eg_number_is_plain(x) && eg_number_is_plain(y))))
    return eg_scalar_number(p, x < y);
  eg_scalar made;
  if (less_than_each(p, a, b, &made)) return made;
  return eg_scalar_opaque(p, EG_OP_LESS, (eg_scalar[]){a, b}, 2);
}

static eg_scalar where(eg_proof *p, const eg_scalar *k) {
  if (k[1] == k[2]) return k[1];
  if (is_known(p, k[0])) return k[known_value(p, k[0]) != 0 ? 1 : 2];
  if (eg_scalar_is_number(p, k[1], 1) && eg_scalar_is_number(p, k[2], 0)) return k[0];
  if (eg_scalar_is_call(p, k[0], EG_OP_NOT)) {
    eg_scalar turned[3] = {eg_scalar_at(p, k[0])->kids[0], k[2], k[1]};
    return where(p, turned);
  }
  // x > 0 ? x : 0 is a maximum for real numbers.
  if (!p->is_exact && eg_is_without_nan(p) && eg_scalar_is_call(p, k[0], EG_OP_LESS)) {
    const eg_scalar_node *n = eg_scalar_at(p, k[0]);
    if (n->kids[0] == k[2] && n->kids[1] == k[1])
      return eg_scalar_extreme(p, EG_OP_MAX, k[1], k[2]);
    if (n->kids[0] == k[1] && n->kids[1] == k[2])
      return eg_scalar_extreme(p, EG_OP_MIN, k[1], k[2]);
  }
  return eg_scalar_opaque(p, EG_OP_WHERE, k, 3);
}

// ---- rounding, magnitudes, quotients ------------------------------------------------

static eg_scalar idempotent(eg_proof *p, eg_op op, const eg_scalar *k, uint32_t count) {
  if (eg_scalar_is_call(p, k[0], op)) return k[0];
  return eg_scalar_opaque(p, op, k, count);
}

static eg_scalar whole(eg_proof *p, eg_op op, eg_scalar x) { // floor, ceil, round
  if (eg_scalar_is_call(p, x, EG_OP_FLOOR) || eg_scalar_is_call(p, x, EG_OP_CEIL) ||
      eg_scalar_is_call(p, x, EG_OP_ROUND))
    return x;
  return eg_scalar_opaque(p, op, &x, 1);
}

// True when x is neither negative nor -0: a maximum with 0, or a square of a real number
// (squares of integers wrap).
static bool is_above_zero(const eg_proof *p, eg_scalar x) {
  const eg_scalar_node *n = eg_scalar_at(p, x);
  bool multiplies = n->kind == EG_SCALAR_PRODUCT || eg_scalar_is_call(p, x, EG_OP_MUL);
  bool is_square = multiplies && n->count == 2 && n->kids[0] == n->kids[1];
  bool found = p->domain == EG_DOMAIN_REAL && is_square;
  double bound;
  if (!p->is_exact && eg_scalar_is_call(p, x, EG_OP_MAX))
    for (uint32_t i = 0; i < n->count; i++)
      found = found || (eg_scalar_is_bound(p, n->kids[i], &bound) && bound >= 0);
  return found;
}

static eg_scalar magnitude(eg_proof *p, eg_scalar x) {
  const eg_scalar_node *n = eg_scalar_at(p, x);
  if (eg_scalar_is_call(p, x, EG_OP_ABS) || is_above_zero(p, x)) return x;
  if (p->is_exact)
    return eg_scalar_is_call(p, x, EG_OP_NEG) ? magnitude(p, n->kids[0])
                                              : eg_scalar_opaque(p, EG_OP_ABS, &x, 1);
  // -x| = |x| does not hold for unsigned integers.
  return p->domain == EG_DOMAIN_REAL ? even(p, EG_OP_ABS, x)
                                     : eg_scalar_opaque(p, EG_OP_ABS, &x, 1);
}

// Computes a remainder; a floored remainder may be rounded to the divisor.
static eg_scalar remainder_of(eg_proof *p, const eg_scalar *k, uint32_t count) {
  const eg_scalar_node *n = eg_scalar_at(p, k[0]);
  if (!eg_is_without_nan(p) && !(count == 3 && eg_scalar_is_number(p, k[2], 1)))
    return eg_scalar_opaque(p, EG_OP_MOD, k, count);
  if (eg_scalar_is_call(p, k[0], EG_OP_MOD) && n->count == 3 && count == 3 &&
      n->kids[1] == k[1] && n->kids[2] == k[2])
    return k[0];
  return eg_scalar_opaque(p, EG_OP_MOD, k, count);
}

static eg_scalar quotient(eg_proof *p, const eg_scalar *k) {
  bool is_real = p->domain == EG_DOMAIN_REAL;
  if (eg_scalar_is_number(p, k[1], 1)) return k[0];
  // x / y = x (1 / y) fails for subnormal y: 1 / y is infinite, and 0 times it is NaN.
  const eg_scalar_node *over = eg_scalar_at(p, k[0]);
  bool is_by_reciprocal = p->laws.is_fast || eg_scalar_at(p, k[1])->is_tame ||
                          (over->kind == EG_SCALAR_NUMBER && over->value != 0);
  if (is_real && !p->is_exact && is_by_reciprocal)
    return eg_scalar_mul(p, k[0], reciprocal(p, k[1]));
  if (is_real && eg_scalar_is_number(p, k[0], 1))
    return eg_scalar_opaque(p, EG_OP_RECIPROCAL, &k[1], 1);
  if (is_real && eg_scalar_is_call(p, k[0], EG_OP_NEG)) {
    eg_scalar plus[2] = {eg_scalar_at(p, k[0])->kids[0], k[1]};
    return eg_scalar_neg(p, quotient(p, plus));
  }
  return eg_scalar_opaque(p, EG_OP_DIV, k, 2);
}

// ---- element formulas ---------------------------------------------------------------

static eg_scalar call(eg_proof *p, eg_op op, const eg_scalar *k, uint32_t count);

/// An operator that is computed by its element formula.
typedef struct formula_run {
  eg_formula formula;
  const eg_scalar *operands, *attributes;
  bool holds; // the formula holds in the class of the rule
} formula_run;

// True for a number that every type represents, or for an infinite bound. Other bounds of
// integers are rounded and saturate.
static bool is_whole_constant(const eg_proof *p, eg_scalar s) {
  if (!is_known(p, s)) return false;
  double value = known_value(p, s);
  return isinf(value) || (value == floor(value) && value >= 0 && value <= 127);
}

// False for a factor that may be infinite: it turns a 0 in a formula into NaN, while the
// operator itself returns a number.
static bool is_safe_factor(eg_proof *p, const formula_run *run,
                           const eg_formula_term *product, uint32_t i, eg_scalar value) {
  const eg_formula_term *factor = &run->formula.terms[product->kids[i]];
  bool is_given = factor->kind == EG_FORMULA_ATTR ||
                  (factor->kind == EG_FORMULA_OPERAND && factor->which != 0);
  bool is_computed = run->formula.terms[product->kids[1 - i]].kind == EG_FORMULA_CALL;
  return !is_given || !is_computed || p->laws.is_fast || eg_scalar_is_finite(p, value);
}

// Evaluates a term of a formula. The recursion is at most EG_FORMULA_TERMS deep.
static eg_scalar formula_value(eg_proof *p, formula_run *run, uint32_t at) {
  const eg_formula_term *t = &run->formula.terms[at];
  eg_scalar kids[EG_FORMULA_OPERANDS], value;
  switch (t->kind) {
  case EG_FORMULA_NUMBER:
    return t->is_rounded ? eg_scalar_rounded(p, t->number)
                         : eg_scalar_number(p, t->number);
  case EG_FORMULA_OPERAND: return run->operands[t->which];
  case EG_FORMULA_ATTR:
    value = run->attributes[t->which];
    if (p->domain != EG_DOMAIN_REAL && !is_whole_constant(p, value)) run->holds = false;
    return value;
  case EG_FORMULA_CALL: break;
  }
  if (t->op == EG_OP_WHERE && run->formula.terms[t->kids[0]].kind == EG_FORMULA_ATTR) {
    value = formula_value(p, run, t->kids[0]);
    run->holds = run->holds && is_known(p, value);
    if (!run->holds) return value;
    return formula_value(p, run, t->kids[known_value(p, value) != 0 ? 1 : 2]);
  }
  for (uint32_t i = 0; i < t->count; i++) {
    kids[i] = formula_value(p, run, t->kids[i]);
    if (!run->holds) return kids[i];
  }
  for (uint32_t i = 0; i < 2 && t->op == EG_OP_MUL; i++)
    run->holds = run->holds && is_safe_factor(p, run, t, i, kids[i]);
  return run->holds ? call(p, t->op, kids, t->count) : kids[0];
}

static bool by_formula(eg_proof *p, eg_op op, const eg_scalar *k, uint32_t count,
                       eg_scalar *out) {
  const eg_op_info *info = eg_op_info_of(op);
  egraph_math math = p->is_exact       ? EGRAPH_MATH_EXACT
                     : p->laws.is_fast ? EGRAPH_MATH_FAST
                                       : EGRAPH_MATH_ASSOCIATIVE;
  formula_run run = {
      .operands = k, .attributes = k + (count - info->attr_count), .holds = true};
  if (info->formula == NULL || info->formula_math > math) return false;
  if (!eg_formula_of(op, &run.formula)) return false;
  assert(count >= info->attr_count);
  *out = formula_value(p, &run, run.formula.count - 1);
  return run.holds;
}

// ---- all operators ------------------------------------------------------------------

// Makes a maximum with its operands in order. Maxima associate, but the sign of a zero
// result depends on the order of the operands.
static eg_scalar in_order(eg_proof *p, eg_op op, const eg_scalar *k, uint32_t count) {
  eg_members all = {.count = 0};
  for (uint32_t i = 0; i < count; i++) {
    eg_members more = eg_scalar_members(p, op, k[i]);
    for (uint32_t m = 0; m < more.count; m++) {
      if (all.count != 0 && all.list[all.count - 1] == more.list[m]) continue;
      if (all.count == EG_MOST_MEMBERS)
        eg_proof_leave(p, EG_PROOF_GIVEN_UP, "maxima become too long");
      all.list[all.count++] = more.list[m];
    }
  }
  return eg_scalar_join(p, op, &all);
}

// Applies operators that have their own normal form in every class.
static bool in_every_class(eg_proof *p, eg_op op, const eg_scalar *k, uint32_t count,
                           eg_scalar *out) {
  switch ((int)op) {
  case EG_OP_ADD: *out = eg_scalar_add(p, k[0], k[1]); return true;
  case EG_OP_SUB: // otherwise by its formula
    *out = k[0];
    return p->is_exact && eg_scalar_is_number(p, k[1], 0);
  case EG_OP_MUL: *out = eg_scalar_mul(p, k[0], k[1]); return true;
  case EG_OP_DIV: *out = quotient(p, k); return true;
  case EG_OP_NEG: *out = eg_scalar_neg(p, k[0]); return true;
  case EG_OP_POW: *out = power(p, k[0], k[1]); return true;
  case EG_OP_ABS: *out = magnitude(p, k[0]); return true;
  case EG_OP_FLOOR:
  case EG_OP_CEIL:
  case EG_OP_ROUND: *out = whole(p, op, k[0]); return true;
  case EG_OP_SIGN: *out = idempotent(p, op, k, count); return true;
  case EG_OP_MOD: *out = remainder_of(p, k, count); return true;
  case EG_OP_NOT:
    if (eg_scalar_is_call(p, k[0], EG_OP_NOT))
      *out = eg_scalar_at(p, k[0])->kids[0];
    else if (is_known(p, k[0]))
      *out = eg_scalar_number(p, known_value(p, k[0]) == 0);
    else
      *out = eg_scalar_opaque(p, op, k, 1);
    return true;
  case EG_OP_AND:
  case EG_OP_OR: *out = logical(p, op, k[0], k[1]); return true;
  case EG_OP_WHERE: *out = where(p, k); return true;
  case EG_OP_LESS: *out = less(p, k[0], k[1]); return true;
  default: return false;
  }
}

static bool in_exact(eg_proof *p, eg_op op, const eg_scalar *k, uint32_t count,
                     eg_scalar *out) {
  bool is_magnitude =
      p->domain == EG_DOMAIN_REAL && eg_scalar_is_call(p, k[0], EG_OP_ABS);
  switch ((int)op) {
  case EG_OP_RELU: *out = is_magnitude ? k[0] : idempotent(p, op, k, count); return true;
  case EG_OP_CLIP: {
    bool is_open = eg_scalar_is_number(p, k[1], -(double)INFINITY) &&
                   eg_scalar_is_number(p, k[2], (double)INFINITY);
    *out = is_open ? k[0] : eg_scalar_opaque(p, op, k, count);
    return true;
  }
  case EG_OP_MAX:
  case EG_OP_MIN: *out = in_order(p, op, k, count); return true;
  default: return false;
  }
}

static bool in_algebra(eg_proof *p, eg_op op, const eg_scalar *k, uint32_t count,
                       eg_scalar *out) {
  switch ((int)op) {
  case EG_OP_MAX:
  case EG_OP_MIN: // with any number of operands
    *out = k[0];
    for (uint32_t i = 1; i < count; i++)
      *out = eg_scalar_extreme(p, op, *out, k[i]);
    return true;
  case EG_OP_SIGMOID: *out = sigmoid(p, k[0]); return true;
  case EG_OP_TANH: *out = tangent(p, k[0]); return true;
  case EG_OP_EXP: *out = exponential(p, k[0]); return true;
  case EG_OP_LOG: *out = logarithm(p, k[0]); return true;
  case EG_OP_SQRT: *out = root(p, k[0]); return true;
  case EG_OP_RECIPROCAL: *out = reciprocal(p, k[0]); return true;
  default: return false;
  }
}

static eg_scalar call(eg_proof *p, eg_op op, const eg_scalar *k, uint32_t count) {
  eg_scalar made;
  unsigned flags = eg_op_info_of(op)->flags;
  if (in_every_class(p, op, k, count, &made)) return made;
  if ((p->is_exact ? in_exact : in_algebra)(p, op, k, count, &made)) return made;
  if (by_formula(p, op, k, count, &made)) return made;
  // In class exact, zeros of bfloat16 differ in sign, except for erf.
  bool is_odd = (flags & EG_OPF_ODD) != 0 && (!p->is_exact || op == EG_OP_ERF);
  if (count == 1 && is_odd) return odd(p, op, k[0]);
  if (count == 1 && (flags & EG_OPF_EVEN) != 0 && !p->is_exact) return even(p, op, k[0]);
  return eg_scalar_opaque(p, op, k, count);
}

eg_scalar eg_scalar_call(eg_proof *p, eg_op op, const eg_scalar *k, uint32_t count,
                         eg_domain domain) {
  eg_domain before = p->domain;
  p->domain = domain;
  eg_scalar made = call(p, op, k, count);
  p->domain = before;
  return made;
}
