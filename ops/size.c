// The arithmetic of sizes.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <string.h>

#include "ops/size_internal.h"

// ---- arithmetic ----------------------------------------------------------------------

/// A function that computes a polynomial in working memory; on_expressions stores
/// the result.
typedef bool compute(eg_open_sizes *sizes, const eg_size_poly *a, const eg_size_poly *b,
                     eg_size_poly *out);

static bool on_expressions(int64_t a, int64_t b, compute *f, int64_t *out) {
  eg_open_sizes *sizes = eg_open_sizes_of(a, b);
  eg_size_poly x, y, result;
  (void)pthread_mutex_lock(&sizes->lock);
  eg_size_load(sizes, a, &x);
  eg_size_load(sizes, b, &y);
  bool done = f(sizes, &x, &y, &result) && eg_size_store(sizes, &result, out);
  (void)pthread_mutex_unlock(&sizes->lock);
  return done;
}

static bool are_numbers(int64_t a, int64_t b) {
  return !eg_size_is_open(a) && !eg_size_is_open(b);
}

static bool add_polys(eg_open_sizes *sizes, const eg_size_poly *a, const eg_size_poly *b,
                      eg_size_poly *out) {
  (void)sizes;
  return eg_size_poly_add(a, b, 1, out);
}
static bool subtract_polys(eg_open_sizes *sizes, const eg_size_poly *a,
                           const eg_size_poly *b, eg_size_poly *out) {
  (void)sizes;
  return eg_size_poly_add(a, b, -1, out);
}
static bool multiply_polys(eg_open_sizes *sizes, const eg_size_poly *a,
                           const eg_size_poly *b, eg_size_poly *out) {
  (void)sizes;
  return eg_size_poly_mul(a, b, out);
}

bool eg_size_add(int64_t a, int64_t b, int64_t *out) {
  if (are_numbers(a, b)) return !__builtin_add_overflow(a, b, out);
  return on_expressions(a, b, add_polys, out);
}
bool eg_size_sub(int64_t a, int64_t b, int64_t *out) {
  if (are_numbers(a, b)) return !__builtin_sub_overflow(a, b, out);
  return on_expressions(a, b, subtract_polys, out);
}
bool eg_size_mul(int64_t a, int64_t b, int64_t *out) {
  if (are_numbers(a, b)) return !__builtin_mul_overflow(a, b, out);
  return on_expressions(a, b, multiply_polys, out);
}

// ---- quotients -----------------------------------------------------------------------

/// Makes the expression of an atom, such as floor(a / b), of a and (unless NULL) b.
static bool put_atom(eg_open_sizes *sizes, eg_size_atom atom, const eg_size_poly *a,
                     const eg_size_poly *b, eg_size_poly *out) {
  uint16_t id;
  if (!eg_size_store(sizes, a, &atom.a) ||
      (b != NULL && !eg_size_store(sizes, b, &atom.b)) ||
      !eg_size_find_atom(sizes, &atom, true, &id))
    return false;
  eg_size_poly_atom(id, out);
  return true;
}

/// Splits p = b * quotient + rest, with coefficients of the rest in [0, b).
static void divide_coefficients(const eg_size_poly *p, int64_t b, eg_size_poly *quotient,
                                eg_size_poly *rest) {
  assert(b > 0);
  quotient->count = rest->count = 0;
  for (uint32_t i = 0; i < p->count; i++) {
    eg_size_monomial part = p->term[i], left = p->term[i];
    part.coef = eg_size_floor(p->term[i].coef, b);
    left.coef = p->term[i].coef - part.coef * b;
    if (part.coef != 0) quotient->term[quotient->count++] = part;
    if (left.coef != 0) rest->term[rest->count++] = left;
  }
}

/// Returns the atom when a division's rest is such an atom plus a constant, else NULL.
static const eg_size_atom *atom_of(const eg_open_sizes *sizes, const eg_size_poly *rest,
                                   eg_size_atom_kind kind, int64_t *out_constant) {
  const eg_size_monomial *first = &rest->term[0];
  bool has_constant = rest->count == 2 && eg_size_monomial_degree(&rest->term[1]) == 0;
  if (rest->count == 0 || rest->count > 2 || first->coef != 1 ||
      eg_size_monomial_degree(first) != 1 || (rest->count == 2 && !has_constant))
    return NULL;
  const eg_size_atom *atom = &sizes->atoms.data[first->atom[0]];
  *out_constant = has_constant ? rest->term[1].coef : 0;
  return atom->kind == kind ? atom : NULL;
}

/// True when the rest of a division is floor(a / c) + constant: then floor(rest / b) is
/// the floor of *out = a + constant * c over *out_b = b * c.
static bool is_nested(const eg_open_sizes *sizes, const eg_size_poly *rest, int64_t b,
                      int64_t *out_b, eg_size_poly *out) {
  int64_t number;
  const eg_size_atom *atom = atom_of(sizes, rest, EG_SIZE_FLOOR, &number);
  if (atom == NULL || eg_size_is_open(atom->b)) return false;
  eg_size_poly constant;
  eg_size_poly_constant(number, &constant);
  eg_size_load(sizes, atom->a, out);
  return !__builtin_mul_overflow(b, atom->b, out_b) &&
         eg_size_poly_add(out, &constant, atom->b, out);
}

/// True when a division's rest is max(a, 0) + constant, as divide_maximum needs.
static bool is_maximum(const eg_open_sizes *sizes, const eg_size_poly *rest,
                       int64_t *out_constant, eg_size_poly *out) {
  const eg_size_atom *atom = atom_of(sizes, rest, EG_SIZE_POSITIVE, out_constant);
  if (atom != NULL) eg_size_load(sizes, atom->a, out);
  return atom != NULL;
}

/// Computes floor((max(a, 0) + c) / b), as max(floor((a + c) / b) - floor(c / b), 0) +
/// floor(c / b).
static bool divide_maximum(eg_open_sizes *sizes, const eg_size_poly *a, int64_t c,
                           int64_t b, eg_size_poly *out) {
  eg_size_poly sum, quotient, least;
  eg_size_poly_constant(c, &least);
  if (!eg_size_poly_add(a, &least, 1, &sum) ||
      !eg_size_poly_floor_div(sizes, &sum, b, &quotient))
    return false;
  eg_size_poly_constant(eg_size_floor(c, b), &least);
  return eg_size_poly_add(&quotient, &least, -1, &quotient) &&
         eg_size_poly_positive(sizes, &quotient, out) &&
         eg_size_poly_add(out, &least, 1, out);
}

/// Divides the rest of a division and its divisor by their common factor and returns
/// the new divisor. The constant is rounded down, which does not change the floor of
/// the quotient.
static int64_t shorten(eg_size_poly *rest, int64_t b) {
  int64_t common = b;
  uint32_t kept = 0;
  for (int64_t x = eg_size_poly_content(rest, false); x != 0;) {
    int64_t next = common % x;
    common = x;
    x = next;
  }
  for (uint32_t i = 0; i < rest->count; i++) {
    rest->term[i].coef = eg_size_floor(rest->term[i].coef, common);
    if (rest->term[i].coef != 0) rest->term[kept++] = rest->term[i];
  }
  rest->count = kept;
  return b / common;
}

/// True when 0 <= p < b at all sizes.
static bool is_below(const eg_open_sizes *sizes, const eg_size_poly *p, int64_t b) {
  eg_size_poly limit;
  eg_size_poly_constant(b - 1, &limit);
  return eg_size_poly_is_nonnegative(sizes, p) &&
         eg_size_poly_add(&limit, p, -1, &limit) &&
         eg_size_poly_is_nonnegative(sizes, &limit);
}

bool eg_size_poly_floor_div(eg_open_sizes *sizes, const eg_size_poly *p, int64_t b,
                            eg_size_poly *out) {
  assert(b > 0 && p != out);
  eg_size_poly rest, inner;
  int64_t inner_b, number;
  if (b < 1) return false;
  divide_coefficients(p, b, out, &rest);
  if (eg_size_poly_is_constant(&rest, &number)) return true; // it is below b
  b = shorten(&rest, b);
  if (b == 1) return eg_size_poly_add(out, &rest, 1, out);
  if (is_below(sizes, &rest, b)) return true;
  if (is_nested(sizes, &rest, b, &inner_b, &inner))
    return eg_size_poly_floor_div(sizes, &inner, inner_b, &rest) &&
           eg_size_poly_add(out, &rest, 1, out);
  if (is_maximum(sizes, &rest, &number, &inner))
    return divide_maximum(sizes, &inner, number, b, &rest) &&
           eg_size_poly_add(out, &rest, 1, out);
  const eg_size_atom atom = {.kind = EG_SIZE_FLOOR, .b = b};
  return put_atom(sizes, atom, &rest, NULL, &rest) &&
         eg_size_poly_add(out, &rest, 1, out);
}

static bool floor_div(eg_open_sizes *sizes, const eg_size_poly *a, const eg_size_poly *b,
                      eg_size_poly *out) {
  int64_t number;
  eg_size_poly less, one;
  if (eg_size_poly_is_constant(b, &number))
    return eg_size_poly_floor_div(sizes, a, number, out);
  eg_size_poly_constant(1, &one);
  if (!eg_size_poly_add(b, &one, -1, &less) || !eg_size_poly_is_nonnegative(sizes, &less))
    return false;
  return eg_size_poly_divide(a, b, out) ||
         put_atom(sizes, (eg_size_atom){.kind = EG_SIZE_FLOOR}, a, b, out);
}

bool eg_size_floor_div(int64_t a, int64_t b, int64_t *out) {
  if (!are_numbers(a, b)) return on_expressions(a, b, floor_div, out);
  if (b < 1) return false;
  *out = eg_size_floor(a, b);
  return true;
}

bool eg_size_ceil_div(int64_t a, int64_t b, int64_t *out) {
  int64_t more;
  return eg_size_sub(b, 1, &more) && eg_size_add(a, more, &more) &&
         eg_size_floor_div(more, b, out);
}

bool eg_size_exact_div(int64_t a, int64_t b, int64_t *out) {
  int64_t again;
  return eg_size_floor_div(a, b, out) && eg_size_mul(*out, b, &again) &&
         eg_size_agree(again, a);
}

// ---- the larger one ------------------------------------------------------------------

static void multiply_by(eg_size_poly *p, int64_t factor) {
  for (uint32_t i = 0; i < p->count; i++)
    p->term[i].coef *= factor; // gives the coefficient before it was divided
}

static void divide_by(eg_size_poly *p, int64_t divisor) {
  for (uint32_t i = 0; i < p->count; i++)
    p->term[i].coef /= divisor;
}

/// Computes max(p, 0), which equals max(-p, 0) + p: the atom is the maximum whose first
/// coefficient is positive.
bool eg_size_poly_positive(eg_open_sizes *sizes, const eg_size_poly *p,
                           eg_size_poly *out) {
  assert(p != out);
  eg_size_poly zero, minus, inner;
  zero.count = 0;
  if (!eg_size_poly_add(&zero, p, -1, &minus)) return false;
  if (eg_size_poly_is_nonnegative(sizes, p)) {
    *out = *p;
    return true;
  }
  *out = zero;
  if (eg_size_poly_is_nonnegative(sizes, &minus)) return true;
  bool turns = p->term[0].coef < 0;
  inner = turns ? minus : *p;
  int64_t content = eg_size_poly_content(&inner, true);
  divide_by(&inner, content);
  if (!put_atom(sizes, (eg_size_atom){.kind = EG_SIZE_POSITIVE}, &inner, NULL, out))
    return false;
  multiply_by(out, content);
  return !turns || eg_size_poly_add(out, p, 1, out);
}

static bool max(eg_open_sizes *sizes, const eg_size_poly *a, const eg_size_poly *b,
                eg_size_poly *out) {
  eg_size_poly more;
  return eg_size_poly_add(a, b, -1, &more) && eg_size_poly_positive(sizes, &more, out) &&
         eg_size_poly_add(out, b, 1, out);
}
static bool min(eg_open_sizes *sizes, const eg_size_poly *a, const eg_size_poly *b,
                eg_size_poly *out) {
  eg_size_poly more;
  return eg_size_poly_add(a, b, -1, &more) && eg_size_poly_positive(sizes, &more, out) &&
         eg_size_poly_add(a, out, -1, out);
}

bool eg_size_max(int64_t a, int64_t b, int64_t *out) {
  if (!are_numbers(a, b)) return on_expressions(a, b, max, out);
  *out = a > b ? a : b;
  return true;
}
bool eg_size_min(int64_t a, int64_t b, int64_t *out) {
  if (!are_numbers(a, b)) return on_expressions(a, b, min, out);
  *out = a < b ? a : b;
  return true;
}

// ---- dimensions that meet ------------------------------------------------------------

/// True when a size is above 1 at all values of open dimensions. Ignores conditions
/// of the model, so that the size of a broadcast is the same before and after they
/// are noted.
static bool is_above_one(int64_t size) {
  eg_open_sizes *sizes = eg_size_owner(size);
  eg_size_poly p, two;
  if (sizes == NULL) return size > 1;
  (void)pthread_mutex_lock(&sizes->lock);
  eg_size_load(sizes, size, &p);
  eg_size_poly_constant(2, &two);
  bool holds =
      eg_size_poly_add(&p, &two, -1, &p) && eg_size_poly_is_nonnegative(sizes, &p);
  (void)pthread_mutex_unlock(&sizes->lock);
  return holds;
}

/// Finds the size that two dimensions have after broadcasting, if they can be broadcast;
/// in a model that was read they can.
static bool find_meeting(int64_t a, int64_t b, int64_t *out) {
  eg_open_sizes *sizes = eg_open_sizes_of(a, b);
  bool is_first = a < b;
  eg_size_atom atom = {
      .kind = EG_SIZE_STRETCH, .a = is_first ? a : b, .b = is_first ? b : a};
  uint16_t id;
  eg_size_poly p;
  (void)pthread_mutex_lock(&sizes->lock);
  bool found = eg_size_find_atom(sizes, &atom, !sizes->is_closed, &id);
  if (found) {
    eg_size_poly_atom(id, &p);
    found =
        eg_size_store(sizes, &p, out) && eg_size_admits(sizes, EG_SIZE_IS_MEETING, *out);
  }
  (void)pthread_mutex_unlock(&sizes->lock);
  return found;
}

/// True when `to` is the size that `size` and another size have after broadcasting.
static bool is_meeting_of(int64_t size, int64_t to) {
  eg_size_term term;
  if (!eg_size_is_open(to) || eg_size_term_count(to) != 1) return false;
  eg_size_term_at(to, 0, &term);
  return term.coefficient == 1 && term.count == 1 &&
         term.atoms[0].kind == EG_SIZE_STRETCH &&
         (term.atoms[0].a == size || term.atoms[0].b == size);
}

bool eg_size_broadcast(int64_t a, int64_t b, int64_t *out) {
  *out = b == 1 ? a : b;
  if (a == 1 || b == 1 || a == b) return true;
  if (are_numbers(a, b)) return false;
  if (is_meeting_of(a, b) || is_meeting_of(b, a)) {
    if (is_meeting_of(b, a)) *out = a;
    return true;
  }
  if (is_above_one(a) && is_above_one(b)) {
    *out = a < b ? a : b; // gives the same size for both orders of a and b
    return eg_size_agree(a, b);
  }
  // A size that is above 1 at all sizes is the result.
  bool is_a = is_above_one(a), is_b = is_above_one(b);
  if (!find_meeting(a, b, out)) return false;
  if (is_a || is_b) *out = is_a ? a : b;
  return true;
}

bool eg_size_stretches_to(int64_t size, int64_t to) {
  int64_t meeting;
  if (size == 1 || eg_size_same(size, to)) return true;
  if (are_numbers(size, to)) return false;
  return is_meeting_of(size, to) ||
         (eg_size_broadcast(size, to, &meeting) && eg_size_same(meeting, to));
}
