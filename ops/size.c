// Handles, and the arithmetic of sizes.
//
//   bit 62   52          28                 0
//        1 │ owner (10) │ expression (24) │ check (28)
//
// The check is a hash of the rest, so that a handle plus one, or twice a handle, is none.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/hash.h"
#include "base/owner.h"
#include "ops/size_internal.h"

enum { OWNER_BITS = 10, ROW_BITS = 24, CHECK_BITS = 28 };
enum { MOST_OWNERS = (1 << OWNER_BITS) - 1, MOST_ROWS = 1 << ROW_BITS };
enum { MOST_ATOMS = EG_SIZE_POLY_NO_ATOM };

/// Beyond this, numbers are no sizes.
static const int64_t LARGEST_SIZE = INT64_C(1) << 48;

static _Atomic(eg_open_sizes *) owners[MOST_OWNERS];

// ---- handles -------------------------------------------------------------------------

static uint64_t check_of(uint64_t place) {
  return eg_hash_mix(place + 1) >> (64 - CHECK_BITS);
}

static int64_t handle_of(uint32_t slot, uint32_t row) {
  uint64_t place = ((uint64_t)slot << ROW_BITS) | row;
  return (int64_t)((UINT64_C(1) << 62) | place << CHECK_BITS | check_of(place));
}

static uint64_t place_of(int64_t handle) {
  return ((uint64_t)handle & ~(UINT64_C(1) << 62)) >> CHECK_BITS;
}

bool eg_size_is_open(int64_t size) {
  if ((uint64_t)size >> 62 != 1) return false;
  uint64_t place = place_of(size);
  return place >> ROW_BITS < MOST_OWNERS &&
         ((uint64_t)size & ((UINT64_C(1) << CHECK_BITS) - 1)) == check_of(place);
}

bool eg_size_is_broken(int64_t size) {
  return (size > LARGEST_SIZE || size < -LARGEST_SIZE) && !eg_size_is_open(size);
}

bool eg_size_any_open(const int64_t *sizes, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (eg_size_is_open(sizes[i])) return true;
  return false;
}

eg_open_sizes *eg_open_sizes_of(int64_t a, int64_t b) {
  int64_t open = eg_size_is_open(a) ? a : b;
  if (!eg_size_is_open(open)) return NULL;
  return atomic_load(&owners[place_of(open) >> ROW_BITS]);
}

eg_open_sizes *eg_size_owner(int64_t size) { return eg_open_sizes_of(size, size); }

// ---- the owner -----------------------------------------------------------------------

#define OWNED                                                                            \
  (eg_arena, arena), (eg_open_dims, dims), (eg_size_atoms, atoms), (eg_size_rows, rows), \
      (eg_flatmap, map, answered), (eg_size_facts, facts, wishes),                       \
      (eg_size_answers, answers), (eg_size_points_list, points)

static bool take_slot(eg_open_sizes *sizes) {
  for (uint32_t i = 0; i < MOST_OWNERS; i++) {
    eg_open_sizes *none = NULL;
    sizes->slot = i;
    if (atomic_compare_exchange_strong(&owners[i], &none, sizes)) return true;
  }
  return false;
}

egraph_status eg_open_sizes_create(egraph_allocator alloc, eg_open_sizes **out) {
  eg_open_sizes *sizes;
  EG_TRY(eg_alloc(alloc, 1, sizeof *sizes, &sizes));
  *sizes = (eg_open_sizes){.alloc = alloc, .owners = 1};
  EG_INIT_MEMBERS(sizes, alloc, OWNED);
  if (!take_slot(sizes)) {
    eg_free(alloc, sizes, 1, sizeof *sizes);
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "%d graphs with open dimensions are held at once; free some",
                   MOST_OWNERS);
  }
  (void)pthread_mutex_init(&sizes->lock, NULL); // of the default kind: cannot fail
  *out = sizes;
  return EGRAPH_OK;
}

eg_open_sizes *eg_open_sizes_retain(eg_open_sizes *sizes) {
  if (sizes == NULL) return NULL;
  (void)pthread_mutex_lock(&sizes->lock);
  sizes->owners++;
  (void)pthread_mutex_unlock(&sizes->lock);
  return sizes;
}

void eg_open_sizes_release(eg_open_sizes *sizes) {
  if (sizes == NULL) return;
  (void)pthread_mutex_lock(&sizes->lock);
  bool is_last = --sizes->owners == 0;
  (void)pthread_mutex_unlock(&sizes->lock);
  if (!is_last) return;
  atomic_store(&owners[sizes->slot], NULL);
  (void)pthread_mutex_destroy(&sizes->lock);
  EG_DEINIT_MEMBERS(sizes, OWNED);
  eg_free(sizes->alloc, sizes, 1, sizeof *sizes);
}

void eg_open_sizes_close(eg_open_sizes *sizes) { sizes->is_closed = true; }

uint32_t eg_open_sizes_fact_count(const eg_open_sizes *sizes) {
  return (uint32_t)sizes->facts.len;
}

void eg_open_sizes_forget_facts(eg_open_sizes *sizes, uint32_t count) {
  sizes->facts.len = count;
}

egraph_status eg_open_sizes_status(const eg_open_sizes *sizes) {
  if (sizes == NULL || !sizes->has_failed) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_MEMORY, "out of memory while sizes were computed");
}

uint32_t eg_open_sizes_dim_count(const eg_open_sizes *sizes) {
  return (uint32_t)sizes->dims.len;
}

const eg_open_dim *eg_open_sizes_dim(const eg_open_sizes *sizes, uint32_t index) {
  return eg_open_dims_at(&sizes->dims, index);
}

// ---- expressions ---------------------------------------------------------------------

static bool same_row(const void *user, uint32_t id, const void *key) {
  const eg_size_rows *rows = user;
  const eg_size_poly *p = key;
  const eg_size_row *row = &rows->data[id];
  return row->count == p->count &&
         memcmp(row->terms, p->term, p->count * sizeof *p->term) == 0;
}

void eg_size_load(const eg_open_sizes *sizes, int64_t size, eg_size_poly *out) {
  if (!eg_size_is_open(size)) {
    eg_size_poly_constant(size, out);
    return;
  }
  const eg_size_row *row = &sizes->rows.data[place_of(size) & (MOST_ROWS - 1)];
  out->count = row->count;
  memcpy(out->term, row->terms, row->count * sizeof *row->terms);
}

static egraph_status add_row(eg_open_sizes *sizes, const eg_size_poly *p, uint64_t hash) {
  eg_size_monomial *terms;
  EG_TRY(eg_arena_alloc(&sizes->arena, p->count, sizeof *terms, &terms));
  memcpy(terms, p->term, p->count * sizeof *terms);
  EG_TRY(eg_flatmap_reserve_one(&sizes->map));
  EG_TRY(eg_size_rows_push(&sizes->rows, (eg_size_row){terms, p->count}));
  eg_flatmap_put(&sizes->map, hash, (uint32_t)sizes->rows.len - 1);
  return EGRAPH_OK;
}

bool eg_size_store(eg_open_sizes *sizes, const eg_size_poly *p, int64_t *out) {
  uint32_t row;
  if (eg_size_poly_is_constant(p, out)) return !eg_size_is_broken(*out);
  uint64_t hash = eg_hash_bytes(p->count, p->term, p->count * sizeof *p->term);
  if (!eg_flatmap_find(&sizes->map, hash, p, same_row, &sizes->rows, &row)) {
    row = (uint32_t)sizes->rows.len;
    if (row == MOST_ROWS) return false;
    sizes->has_failed = sizes->has_failed || add_row(sizes, p, hash) != EGRAPH_OK;
    if (sizes->has_failed) return false;
  }
  *out = handle_of(sizes->slot, row);
  return true;
}

static bool same_atom(const eg_size_atom *a, const eg_size_atom *b) {
  return a->kind == b->kind && a->a == b->a && a->b == b->b && a->index == b->index &&
         a->kind != EG_SIZE_UNKNOWN;
}

bool eg_size_find_atom(eg_open_sizes *sizes, const eg_size_atom *atom, bool adds,
                       uint16_t *out) {
  for (size_t i = 0; i < sizes->atoms.len; i++)
    if (same_atom(&sizes->atoms.data[i], atom)) {
      *out = (uint16_t)i;
      return true;
    }
  if (!adds || sizes->atoms.len == MOST_ATOMS) return false;
  *out = (uint16_t)sizes->atoms.len;
  const eg_size_points points = eg_size_atom_points(sizes, atom);
  sizes->has_failed = sizes->has_failed ||
                      eg_size_points_list_push(&sizes->points, points) != EGRAPH_OK ||
                      eg_size_atoms_push(&sizes->atoms, *atom) != EGRAPH_OK;
  return !sizes->has_failed;
}

/// The size that an atom is.
static bool store_atom(eg_open_sizes *sizes, const eg_size_atom *atom, int64_t *out) {
  uint16_t id;
  eg_size_poly p;
  if (!eg_size_find_atom(sizes, atom, true, &id)) return false;
  eg_size_poly_atom(id, &p);
  return eg_size_store(sizes, &p, out);
}

static egraph_status new_leaf(eg_open_sizes *sizes, const eg_size_atom *atom,
                              int64_t *out) {
  if (store_atom(sizes, atom, out)) return EGRAPH_OK;
  EG_TRY(eg_open_sizes_status(sizes));
  return EG_FAIL(EGRAPH_E_UNSUPPORTED, "more than %d sizes are open", MOST_ATOMS);
}

egraph_status eg_open_sizes_add_dim(eg_open_sizes *sizes, const eg_open_dim *dim,
                                    int64_t *out) {
  eg_open_dim copy = *dim;
  EG_TRY(eg_arena_string(&sizes->arena, dim->name, strlen(dim->name), &copy.name));
  EG_TRY(eg_arena_string(&sizes->arena, dim->input, strlen(dim->input), &copy.input));
  EG_TRY(eg_open_dims_push(&sizes->dims, copy));
  eg_size_atom atom = {.kind = EG_SIZE_DIM, .index = (uint32_t)sizes->dims.len - 1};
  return new_leaf(sizes, &atom, out);
}

egraph_status eg_open_sizes_add_unknown(eg_open_sizes *sizes, const char *tensor,
                                        uint32_t axis, int64_t example, int64_t *out) {
  eg_size_atom atom = {.kind = EG_SIZE_UNKNOWN, .index = axis, .example = example};
  EG_TRY(eg_arena_string(&sizes->arena, tensor, strlen(tensor), &atom.tensor));
  return new_leaf(sizes, &atom, out);
}

// ---- arithmetic ----------------------------------------------------------------------

/// Computes in working memory, and keeps the result.
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

static bool add(eg_open_sizes *sizes, const eg_size_poly *a, const eg_size_poly *b,
                eg_size_poly *out) {
  (void)sizes;
  return eg_size_poly_add(a, b, 1, out);
}
static bool sub(eg_open_sizes *sizes, const eg_size_poly *a, const eg_size_poly *b,
                eg_size_poly *out) {
  (void)sizes;
  return eg_size_poly_add(a, b, -1, out);
}
static bool mul(eg_open_sizes *sizes, const eg_size_poly *a, const eg_size_poly *b,
                eg_size_poly *out) {
  (void)sizes;
  return eg_size_poly_mul(a, b, out);
}

bool eg_size_add(int64_t a, int64_t b, int64_t *out) {
  if (are_numbers(a, b)) return !__builtin_add_overflow(a, b, out);
  return on_expressions(a, b, add, out);
}
bool eg_size_sub(int64_t a, int64_t b, int64_t *out) {
  if (are_numbers(a, b)) return !__builtin_sub_overflow(a, b, out);
  return on_expressions(a, b, sub, out);
}
bool eg_size_mul(int64_t a, int64_t b, int64_t *out) {
  if (are_numbers(a, b)) return !__builtin_mul_overflow(a, b, out);
  return on_expressions(a, b, mul, out);
}

// ---- quotients -----------------------------------------------------------------------

static int64_t floor_of(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/// p = b * quotient + rest, coefficients of the rest in [0, b).
static void divide_coefficients(const eg_size_poly *p, int64_t b, eg_size_poly *quotient,
                                eg_size_poly *rest) {
  quotient->count = rest->count = 0;
  for (uint32_t i = 0; i < p->count; i++) {
    eg_size_monomial part = p->term[i], left = p->term[i];
    part.coef = floor_of(p->term[i].coef, b);
    left.coef = p->term[i].coef - part.coef * b;
    if (part.coef != 0) quotient->term[quotient->count++] = part;
    if (left.coef != 0) rest->term[rest->count++] = left;
  }
}

/// Whether a rest is floor(a / c) + constant: then its floor over b is that of
/// (a + constant * c) over b * c.
static bool is_nested(const eg_open_sizes *sizes, const eg_size_poly *rest, int64_t b,
                      int64_t *out_b, eg_size_poly *out) {
  const eg_size_monomial *first = &rest->term[0];
  if (rest->count == 0 || rest->count > 2 || first->coef != 1 ||
      eg_size_monomial_degree(first) != 1 ||
      (rest->count == 2 && eg_size_monomial_degree(&rest->term[1]) != 0))
    return false;
  const eg_size_atom *atom = &sizes->atoms.data[first->atom[0]];
  if (atom->kind != EG_SIZE_FLOOR || eg_size_is_open(atom->b)) return false;
  eg_size_poly constant;
  eg_size_poly_constant(rest->count == 2 ? rest->term[1].coef : 0, &constant);
  eg_size_load(sizes, atom->a, out);
  return !__builtin_mul_overflow(b, atom->b, out_b) &&
         eg_size_poly_add(out, &constant, atom->b, out);
}

/// Whether a rest is max(a, 0) + constant: its floor is the larger one of two floors.
static bool is_maximum(const eg_open_sizes *sizes, const eg_size_poly *rest,
                       int64_t *out_constant, eg_size_poly *out) {
  const eg_size_monomial *first = &rest->term[0];
  bool has_constant = rest->count == 2 && eg_size_monomial_degree(&rest->term[1]) == 0;
  if (rest->count == 0 || rest->count > 2 || first->coef != 1 ||
      eg_size_monomial_degree(first) != 1 || (rest->count == 2 && !has_constant))
    return false;
  const eg_size_atom *atom = &sizes->atoms.data[first->atom[0]];
  if (atom->kind != EG_SIZE_POSITIVE) return false;
  *out_constant = has_constant ? rest->term[1].coef : 0;
  eg_size_load(sizes, atom->a, out);
  return true;
}

/// floor((max(a, 0) + c) / b) = max(floor((a + c) / b) - floor(c / b), 0) + floor(c / b)
static bool divide_maximum(eg_open_sizes *sizes, const eg_size_poly *a, int64_t c,
                           int64_t b, eg_size_poly *out) {
  eg_size_poly sum, quotient, least;
  eg_size_poly_constant(c, &least);
  if (!eg_size_poly_add(a, &least, 1, &sum) ||
      !eg_size_poly_floor_div(sizes, &sum, b, &quotient))
    return false;
  eg_size_poly_constant(floor_of(c, b), &least);
  return eg_size_poly_add(&quotient, &least, -1, &quotient) &&
         eg_size_poly_positive(sizes, &quotient, out) &&
         eg_size_poly_add(out, &least, 1, out);
}

/// Divides a rest and its divisor by what they have in common; the constant is rounded
/// down, which changes nothing.
static int64_t shorten(eg_size_poly *rest, int64_t b) {
  int64_t common = b;
  uint32_t kept = 0;
  for (int64_t x = eg_size_poly_content(rest, false); x != 0;) {
    int64_t next = common % x;
    common = x;
    x = next;
  }
  for (uint32_t i = 0; i < rest->count; i++) {
    rest->term[i].coef = floor_of(rest->term[i].coef, common);
    if (rest->term[i].coef != 0) rest->term[kept++] = rest->term[i];
  }
  rest->count = kept;
  return b / common;
}

/// 0 <= p < b
static bool is_below(const eg_open_sizes *sizes, const eg_size_poly *p, int64_t b) {
  eg_size_poly limit;
  eg_size_poly_constant(b - 1, &limit);
  return eg_size_poly_is_nonnegative(sizes, p) &&
         eg_size_poly_add(&limit, p, -1, &limit) &&
         eg_size_poly_is_nonnegative(sizes, &limit);
}

bool eg_size_poly_floor_div(eg_open_sizes *sizes, const eg_size_poly *p, int64_t b,
                            eg_size_poly *out) {
  eg_size_poly rest, inner;
  int64_t inner_b, number;
  eg_size_atom atom = {.kind = EG_SIZE_FLOOR};
  uint16_t id;
  if (b < 1) return false;
  divide_coefficients(p, b, out, &rest);
  if (eg_size_poly_is_constant(&rest, &number)) return true; // below b
  b = shorten(&rest, b);
  if (b == 1) return eg_size_poly_add(out, &rest, 1, out);
  if (is_below(sizes, &rest, b)) return true;
  if (is_nested(sizes, &rest, b, &inner_b, &inner))
    return eg_size_poly_floor_div(sizes, &inner, inner_b, &rest) &&
           eg_size_poly_add(out, &rest, 1, out);
  if (is_maximum(sizes, &rest, &number, &inner))
    return divide_maximum(sizes, &inner, number, b, &rest) &&
           eg_size_poly_add(out, &rest, 1, out);
  atom.b = b;
  if (!eg_size_store(sizes, &rest, &atom.a) ||
      !eg_size_find_atom(sizes, &atom, true, &id))
    return false;
  eg_size_poly_atom(id, &rest);
  return eg_size_poly_add(out, &rest, 1, out);
}

static bool floor_div(eg_open_sizes *sizes, const eg_size_poly *a, const eg_size_poly *b,
                      eg_size_poly *out) {
  int64_t number;
  eg_size_poly less, one;
  eg_size_atom atom = {.kind = EG_SIZE_FLOOR};
  uint16_t id;
  if (eg_size_poly_is_constant(b, &number))
    return eg_size_poly_floor_div(sizes, a, number, out);
  eg_size_poly_constant(1, &one);
  if (!eg_size_poly_add(b, &one, -1, &less) || !eg_size_poly_is_nonnegative(sizes, &less))
    return false;
  if (eg_size_poly_divide(a, b, out)) return true;
  if (!eg_size_store(sizes, a, &atom.a) || !eg_size_store(sizes, b, &atom.b) ||
      !eg_size_find_atom(sizes, &atom, true, &id))
    return false;
  eg_size_poly_atom(id, out);
  return true;
}

bool eg_size_floor_div(int64_t a, int64_t b, int64_t *out) {
  if (!are_numbers(a, b)) return on_expressions(a, b, floor_div, out);
  if (b < 1) return false;
  *out = floor_of(a, b);
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
    p->term[i].coef *= factor; // a coefficient before it was divided
}

static void divide_by(eg_size_poly *p, int64_t divisor) {
  for (uint32_t i = 0; i < p->count; i++)
    p->term[i].coef /= divisor;
}

/// max(p, 0) = max(-p, 0) + p: of the two, the one whose first coefficient is positive
/// is the atom.
bool eg_size_poly_positive(eg_open_sizes *sizes, const eg_size_poly *p,
                           eg_size_poly *out) {
  eg_size_poly zero, minus, inner;
  eg_size_atom atom = {.kind = EG_SIZE_POSITIVE};
  uint16_t id;
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
  if (!eg_size_store(sizes, &inner, &atom.a) ||
      !eg_size_find_atom(sizes, &atom, true, &id))
    return false;
  eg_size_poly_atom(id, out);
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

/// Asks no facts, so that dimensions meet in the same size before and after these are
/// noted.
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

/// Whether two dimensions may meet: a model that was read has them meet.
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

/// Whether `to` is the size at which `size` and another one meet.
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
    *out = a < b ? a : b; // in whatever order they meet
    return eg_size_agree(a, b);
  }
  // Where one of them is above 1 at all sizes, it is the result.
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
