// Proves orders that hold at all sizes, by lower bounds of polynomials.
//
// An atom that is no variable is eliminated from a polynomial by its bounds, the newest
// atom first (its operands are older):
//
//   floor(a / b)       between (a - b + 1) / b and a / b
//   max(a, 0)          not below 0 and a; it is one of the two
//   b where a is 1     it is one of the two
//
// The remaining polynomial has open dimensions, at least 1, and unknown dimensions, at
// least 0. After n' + 1 replaces every open dimension n, the polynomial is not
// negative if no coefficient is negative, directly or after subtracting a known fact
// over variables. The test is sufficient, not necessary: an order without a proof
// counts as false.
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "ops/size_internal.h"

/// Limits the steps of one proof: nested maxima have exponentially many cases.
enum { MOST_STEPS = 400 };

/// A proof in progress that a polynomial is not negative.
typedef struct proof {
  const eg_open_sizes *sizes;
  uint32_t steps;  // number of steps that the proof may still take
  bool uses_facts; // facts are used after atoms are eliminated
} proof;

static bool is_nonnegative(proof *t, const eg_size_poly *p);

static bool is_variable(const eg_size_atom *atom) {
  return atom->kind == EG_SIZE_DIM || atom->kind == EG_SIZE_UNKNOWN;
}

/// Finds a polynomial's newest atom that is a floor, a maximum or the like, or false.
static bool newest_atom(const eg_open_sizes *sizes, const eg_size_poly *p,
                        uint16_t *out) {
  bool found = false;
  for (uint32_t i = 0; i < p->count; i++)
    for (uint32_t k = 0; k < eg_size_monomial_degree(&p->term[i]); k++) {
      uint16_t atom = p->term[i].atom[k];
      if (is_variable(&sizes->atoms.data[atom]) || (found && atom < *out)) continue;
      *out = atom;
      found = true;
    }
  return found;
}

/// Replaces every open dimension n in p by n + 1.
static bool shift_dims(const eg_open_sizes *sizes, const eg_size_poly *p,
                       eg_size_poly *out) {
  out->count = 0;
  for (uint32_t i = 0; i < p->count; i++) {
    eg_size_poly product, factor, one;
    eg_size_poly_constant(1, &one);
    eg_size_poly_constant(p->term[i].coef, &product);
    for (uint32_t k = 0; k < eg_size_monomial_degree(&p->term[i]); k++) {
      uint16_t atom = p->term[i].atom[k];
      eg_size_poly_atom(atom, &factor);
      bool is_dim = sizes->atoms.data[atom].kind == EG_SIZE_DIM;
      if ((is_dim && !eg_size_poly_add(&factor, &one, 1, &factor)) ||
          !eg_size_poly_mul(&product, &factor, &product))
        return false;
    }
    if (!eg_size_poly_add(out, &product, 1, out)) return false;
  }
  return true;
}

static bool is_variable_sum_nonnegative(const eg_open_sizes *sizes,
                                        const eg_size_poly *p) {
  eg_size_poly shifted;
  if (!shift_dims(sizes, p, &shifted)) return false;
  for (uint32_t i = 0; i < shifted.count; i++)
    if (shifted.term[i].coef < 0) return false;
  return true;
}

/// True when f * p - p' * fact >= 0 for the coefficients f, p' >= 1 of one monomial in
/// `fact` and in p: then p is not negative, because the fact is not.
static bool is_above_fact(const eg_open_sizes *sizes, const eg_size_poly *p,
                          const eg_size_poly *fact) {
  enum { MOST_FACTOR = 1 << 16 };
  for (uint32_t i = 0; i < fact->count; i++)
    for (uint32_t k = 0; k < p->count; k++) {
      int64_t f = fact->term[i].coef, own = p->term[k].coef;
      bool meets = eg_size_monomial_degree(&fact->term[i]) != 0 &&
                   eg_size_monomial_compare(&fact->term[i], &p->term[k]) == 0;
      eg_size_poly scaled = {.count = 0};
      if (meets && f > 0 && own > 0 && f <= MOST_FACTOR && own <= MOST_FACTOR &&
          eg_size_poly_add(&scaled, p, f, &scaled) &&
          eg_size_poly_add(&scaled, fact, -own, &scaled) &&
          is_variable_sum_nonnegative(sizes, &scaled))
        return true;
    }
  return false;
}

static bool is_leaf_nonnegative(const proof *t, const eg_size_poly *p) {
  if (is_variable_sum_nonnegative(t->sizes, p)) return true;
  for (size_t i = 0; t->uses_facts && i < t->sizes->facts.len; i++) {
    eg_size_poly fact;
    uint16_t atom = 0;
    if (t->sizes->facts.data[i].kind != EG_SIZE_IS_NONNEGATIVE) continue;
    eg_size_load(t->sizes, t->sizes->facts.data[i].size, &fact);
    if (!newest_atom(t->sizes, &fact, &atom) && is_above_fact(t->sizes, p, &fact))
      return true;
  }
  return false;
}

/// Computes scale * without + with * value.
static bool replace_atom(const eg_size_poly *with, const eg_size_poly *value,
                         const eg_size_poly *without, int64_t scale, eg_size_poly *out) {
  eg_size_poly product, zero;
  zero.count = 0;
  return eg_size_poly_mul(with, value, &product) &&
         eg_size_poly_add(&zero, without, scale, out) &&
         eg_size_poly_add(out, &product, 1, out);
}

static bool holds_at(proof *t, const eg_size_poly *with, const eg_size_poly *value,
                     const eg_size_poly *without, int64_t scale) {
  eg_size_poly p;
  return replace_atom(with, value, without, scale, &p) && is_nonnegative(t, &p);
}

// ---- atoms at their least -------------------------------------------------------------

/// The range of lower bounds; LEAST: no lower bound is known.
enum { LEAST = INT32_MIN, MOST = INT32_MAX };

static int64_t least_of(const eg_open_sizes *sizes, int64_t size);

static int64_t least_of_atom(const eg_open_sizes *sizes, const eg_size_atom *atom) {
  if (atom->kind == EG_SIZE_DIM) return 1;
  if (atom->kind == EG_SIZE_UNKNOWN) return 0;
  int64_t a = least_of(sizes, atom->a), b = least_of(sizes, atom->b);
  if (atom->kind == EG_SIZE_POSITIVE) return a > 0 ? a : 0;
  if (atom->kind == EG_SIZE_STRETCH || a < 0) return a < b ? a : b;
  return eg_size_is_open(atom->b) ? 0 : a / b;
}

static int64_t least_of(const eg_open_sizes *sizes, int64_t size) {
  eg_size_poly p;
  int64_t sum = 0;
  eg_size_load(sizes, size, &p);
  for (uint32_t i = 0; i < p.count; i++) {
    int64_t product = p.term[i].coef;
    uint32_t degree = eg_size_monomial_degree(&p.term[i]);
    if (product < LEAST || product > MOST || (degree != 0 && product < 0)) return LEAST;
    for (uint32_t k = 0; k < degree; k++) {
      int64_t least = least_of_atom(sizes, &sizes->atoms.data[p.term[i].atom[k]]);
      if (least < 0 || product * least > MOST) return LEAST;
      product *= least;
    }
    sum += product;
  }
  if (sum < LEAST) return LEAST;
  return sum < MOST ? sum : MOST;
}

/// True when with * atom + without is not negative with the atom at its lower bound;
/// `with` is not negative.
static bool holds_at_least(proof *t, const eg_size_atom *atom, const eg_size_poly *with,
                           const eg_size_poly *without) {
  eg_size_poly least;
  int64_t number = least_of_atom(t->sizes, atom);
  if (number < 0) return false;
  eg_size_poly_constant(number, &least);
  return holds_at(t, with, &least, without, 1);
}

// ---- atoms by their operands ----------------------------------------------------------

/// True when factor * floor(a / b) + without is not negative: for factor 1, when a + b *
/// without is not negative, because a whole number is at most a / b if and only if it is
/// at most the floor; for factor -1, when b * without + b - 1 - a is not negative.
static bool is_floor_nonnegative(proof *t, const eg_size_atom *atom,
                                 const eg_size_poly *with, const eg_size_poly *without) {
  eg_size_poly a, constant, minus, zero;
  int64_t factor;
  zero.count = 0;
  eg_size_load(t->sizes, atom->a, &a);
  bool is_number = eg_size_poly_is_constant(with, &factor);
  bool is_unit = is_number && (factor == 1 || factor == -1);
  bool is_rising = is_nonnegative(t, with);
  if (is_rising && holds_at_least(t, atom, with, without)) return true;
  if (eg_size_is_open(atom->b)) return false;
  if (!is_rising &&
      (!eg_size_poly_add(&zero, with, -1, &minus) || !is_nonnegative(t, &minus)))
    return false;
  eg_size_poly_constant(is_rising == is_unit ? 0 : 1 - atom->b, &constant);
  return eg_size_poly_add(&a, &constant, 1, &a) &&
         holds_at(t, with, &a, without, atom->b);
}

static bool is_choice_nonnegative(proof *t, const eg_size_atom *atom,
                                  const eg_size_poly *with, const eg_size_poly *without) {
  eg_size_poly a, b;
  eg_size_load(t->sizes, atom->a, &a);
  b.count = 0;
  if (atom->kind == EG_SIZE_STRETCH) eg_size_load(t->sizes, atom->b, &b);
  bool at_a = holds_at(t, with, &a, without, 1);
  bool at_b = holds_at(t, with, &b, without, 1);
  if (at_a && at_b) return true;
  if (!is_nonnegative(t, with)) return false;
  // The maximum max(a, 0) is at least a, at least 0, and at least its lower bound.
  return (atom->kind == EG_SIZE_POSITIVE && (at_a || at_b)) ||
         holds_at_least(t, atom, with, without);
}

/// True when p is negative at one of the sampled points (choices of the open dimensions).
static bool is_refuted(const eg_open_sizes *sizes, const eg_size_poly *p) {
  for (uint32_t i = 0; i < EG_SIZE_POINTS; i++)
    if (eg_size_poly_at_point(sizes, p, i) < 0) return true;
  return false;
}

static bool is_nonnegative(proof *t, const eg_size_poly *p) {
  uint16_t atom = 0;
  eg_size_poly with, without;
  if (t->steps == 0 || (!t->uses_facts && is_refuted(t->sizes, p))) return false;
  t->steps--;
  if (!newest_atom(t->sizes, p, &atom)) return is_leaf_nonnegative(t, p);
  if (!eg_size_poly_split(p, atom, &with, &without)) return false;
  const eg_size_atom *what = &t->sizes->atoms.data[atom];
  return (what->kind == EG_SIZE_FLOOR ? is_floor_nonnegative
                                      : is_choice_nonnegative)(t, what, &with, &without);
}

bool eg_size_poly_is_nonnegative(const eg_open_sizes *sizes, const eg_size_poly *p) {
  proof t = {.sizes = sizes, .steps = MOST_STEPS};
  return is_nonnegative(&t, p);
}

/// True when p is not negative given the condition f = 0. A whole number p is not
/// negative if k * p + k - 1 is not, to which f may be added: n = 4 * floor(n / 4)
/// implies that floor(n / 4) is not 0.
static bool is_admitted_beside_zero(const eg_open_sizes *sizes, const eg_size_poly *p,
                                    const eg_size_poly *fact) {
  enum { MOST_FACTOR = 1 << 16 };
  for (uint32_t i = 0; i < fact->count; i++) {
    eg_size_poly scaled, more;
    int64_t factor = fact->term[i].coef < 0 ? -fact->term[i].coef : fact->term[i].coef;
    if (factor > MOST_FACTOR) continue;
    eg_size_poly_constant(factor - 1, &scaled);
    if (!eg_size_poly_add(&scaled, p, factor, &scaled)) continue;
    for (int64_t sign = -1; sign <= 1; sign += 2)
      if (eg_size_poly_add(&scaled, fact, sign, &more) &&
          eg_size_poly_is_nonnegative(sizes, &more))
        return true;
  }
  return false;
}

static bool is_admitted_beside(const eg_open_sizes *sizes, const eg_size_poly *p,
                               const eg_size_fact *fact) {
  eg_size_poly f;
  if (fact->kind == EG_SIZE_IS_MEETING) return false;
  eg_size_load(sizes, fact->size, &f);
  if (fact->kind == EG_SIZE_IS_ZERO) return is_admitted_beside_zero(sizes, p, &f);
  return eg_size_poly_add(p, &f, -1, &f) && eg_size_poly_is_nonnegative(sizes, &f);
}

static bool has_bounds(const eg_open_sizes *sizes) {
  for (size_t i = 0; i < sizes->facts.len; i++)
    if (sizes->facts.data[i].kind == EG_SIZE_IS_NONNEGATIVE) return true;
  return false;
}

/// True when p is not negative, without conditions of the model or given one of them.
static bool is_admitted(const eg_open_sizes *sizes, const eg_size_poly *p) {
  proof t = {.sizes = sizes, .steps = MOST_STEPS, .uses_facts = true};
  if (eg_size_poly_is_nonnegative(sizes, p)) return true;
  if (has_bounds(sizes) && is_nonnegative(&t, p)) return true;
  for (size_t i = 0; i < sizes->facts.len; i++)
    if (is_admitted_beside(sizes, p, &sizes->facts.data[i])) return true;
  return false;
}

/// Reduces p by each known zero expression of the model alone, and by all in order.
bool eg_size_poly_is_zero(const eg_open_sizes *sizes, const eg_size_poly *p) {
  eg_size_poly rest = *p, fact, alone;
  for (size_t i = 0; i < sizes->facts.len && rest.count != 0; i++) {
    if (sizes->facts.data[i].kind != EG_SIZE_IS_ZERO) continue;
    eg_size_load(sizes, sizes->facts.data[i].size, &fact);
    if (eg_size_poly_reduce(p, &fact, &alone) && alone.count == 0) return true;
    if (!eg_size_poly_reduce(&rest, &fact, &rest)) return false;
  }
  return rest.count == 0;
}

// ---- pairs of sizes ------------------------------------------------------------------

/// Computes a - b - less.
static bool load_difference(const eg_open_sizes *sizes, int64_t a, int64_t b,
                            int64_t less, eg_size_poly *out) {
  eg_size_poly y, constant;
  eg_size_load(sizes, a, out);
  eg_size_load(sizes, b, &y);
  eg_size_poly_constant(less, &constant);
  return eg_size_poly_add(out, &y, -1, out) && eg_size_poly_add(out, &constant, -1, out);
}

static bool same_question(const void *user, uint32_t id, const void *key) {
  const eg_size_answers *answers = user;
  const eg_size_answer *a = &answers->data[id], *b = key;
  return a->a == b->a && a->b == b->b && a->less == b->less;
}

static egraph_status keep_answer(eg_open_sizes *sizes, uint64_t hash,
                                 const eg_size_answer *answer) {
  EG_TRY(eg_flatmap_reserve_one(&sizes->answered));
  EG_TRY(eg_size_answers_push(&sizes->answers, *answer));
  eg_flatmap_put(&sizes->answered, hash, (uint32_t)sizes->answers.len - 1);
  return EGRAPH_OK;
}

/// True when it finds a proof that a - b - less is never negative. Remembers answers,
/// because rules ask the same question for many classes.
static bool is_at_least(eg_open_sizes *sizes, int64_t a, int64_t b, int64_t less) {
  eg_size_answer answer = {.a = a, .b = b, .less = less};
  uint64_t hash =
      eg_hash_combine(eg_hash_combine((uint64_t)a, (uint64_t)b), (uint64_t)less);
  uint32_t known;
  eg_size_poly p;
  if (eg_flatmap_find(&sizes->answered, hash, &answer, same_question, &sizes->answers,
                      &known))
    return sizes->answers.data[known].holds;
  answer.holds = load_difference(sizes, a, b, less, &p) && is_admitted(sizes, &p);
  if (sizes->is_closed)
    sizes->has_failed =
        sizes->has_failed || keep_answer(sizes, hash, &answer) != EGRAPH_OK;
  return answer.holds;
}

/// A question about two sizes, at least one of which is open.
typedef bool size_question(eg_open_sizes *sizes, int64_t a, int64_t b);

/// Answers a question about two sizes under the lock; `of_numbers`: if both are numbers.
static bool ask(int64_t a, int64_t b, size_question *question, bool of_numbers) {
  eg_open_sizes *sizes = eg_open_sizes_of(a, b);
  if (sizes == NULL) return of_numbers;
  (void)pthread_mutex_lock(&sizes->lock);
  bool holds = question(sizes, a, b);
  (void)pthread_mutex_unlock(&sizes->lock);
  return holds;
}

static bool is_not_less(eg_open_sizes *sizes, int64_t a, int64_t b) {
  return is_at_least(sizes, a, b, 0);
}

bool eg_size_at_least(int64_t a, int64_t b) { return ask(a, b, is_not_less, a >= b); }

static bool is_apart(eg_open_sizes *sizes, int64_t a, int64_t b) {
  return is_at_least(sizes, a, b, 1) || is_at_least(sizes, b, a, 1);
}

bool eg_size_differs(int64_t a, int64_t b) { return a != b && ask(a, b, is_apart, true); }

bool eg_size_note_fact(eg_open_sizes *sizes, eg_size_fact_kind kind, int64_t size) {
  const eg_size_fact fact = {kind, size};
  sizes->has_failed =
      sizes->has_failed || eg_size_facts_push(&sizes->facts, fact) != EGRAPH_OK;
  return !sizes->has_failed;
}

bool eg_size_admits(eg_open_sizes *sizes, eg_size_fact_kind kind, int64_t size) {
  for (size_t i = 0; i < sizes->facts.len; i++)
    if (sizes->facts.data[i].kind == kind && sizes->facts.data[i].size == size)
      return true;
  return !sizes->is_closed && eg_size_note_fact(sizes, kind, size);
}

static bool note_poly(eg_open_sizes *sizes, const eg_size_poly *p,
                      eg_size_fact_kind kind) {
  int64_t size;
  return eg_size_store(sizes, p, &size) && eg_size_note_fact(sizes, kind, size);
}

static bool is_same(eg_open_sizes *sizes, int64_t a, int64_t b) {
  eg_size_poly p;
  return load_difference(sizes, a, b, 0, &p) && eg_size_poly_is_zero(sizes, &p);
}

static bool agree(eg_open_sizes *sizes, int64_t a, int64_t b) {
  eg_size_poly p;
  if (is_same(sizes, a, b)) return true;
  return load_difference(sizes, a, b, 0, &p) && !sizes->is_closed && a != 1 && b != 1 &&
         !is_apart(sizes, a, b) && note_poly(sizes, &p, EG_SIZE_IS_ZERO);
}

static bool reaches(eg_open_sizes *sizes, int64_t a, int64_t b) {
  eg_size_poly p;
  if (is_at_least(sizes, a, b, 0)) return true;
  return !sizes->is_closed && !is_at_least(sizes, b, a, 1) &&
         load_difference(sizes, a, b, 0, &p) &&
         note_poly(sizes, &p, EG_SIZE_IS_NONNEGATIVE);
}

void eg_size_wish(int64_t size) {
  eg_open_sizes *sizes = eg_open_sizes_of(size, size);
  const eg_size_fact wish = {EG_SIZE_IS_NONNEGATIVE, size};
  if (sizes == NULL) return;
  (void)pthread_mutex_lock(&sizes->lock);
  if (!sizes->is_closed)
    sizes->has_failed =
        sizes->has_failed || eg_size_facts_push(&sizes->wishes, wish) != EGRAPH_OK;
  (void)pthread_mutex_unlock(&sizes->lock);
}

bool eg_size_reaches(int64_t a, int64_t b) { return ask(a, b, reaches, a >= b); }
bool eg_size_same(int64_t a, int64_t b) { return a == b || ask(a, b, is_same, false); }
bool eg_size_agree(int64_t a, int64_t b) { return a == b || ask(a, b, agree, false); }
