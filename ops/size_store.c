// Handles of sizes, their expressions and atoms.
//
//   bit 62   52          28                 0
//        1 │ owner (10) │ expression (24) │ check (28)
//
// The check is a hash of the other bits, so that a handle plus 1, or twice a handle, is
// not a handle.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/hash.h"
#include "base/owner.h"
#include "ops/size_internal.h"

enum { OWNER_BITS = 10, ROW_BITS = 24, CHECK_BITS = 28 };
enum { MOST_OWNERS = (1 << OWNER_BITS) - 1, MOST_ROWS = 1 << ROW_BITS };
enum { MOST_ATOMS = EG_SIZE_POLY_NO_ATOM };

/// Numbers above this one are not sizes.
static const int64_t LARGEST_SIZE = INT64_C(1) << 48;

static _Atomic(eg_open_sizes *) owners[MOST_OWNERS];

// ---- handles -------------------------------------------------------------------------

static uint64_t check_of(uint64_t place) {
  return eg_hash_mix(place + 1) >> (64 - CHECK_BITS);
}

static int64_t handle_of(uint32_t slot, uint32_t row) {
  assert(slot < MOST_OWNERS && row < MOST_ROWS);
  uint64_t place = ((uint64_t)slot << ROW_BITS) | row;
  return (int64_t)((UINT64_C(1) << 62) | place << CHECK_BITS | check_of(place));
}

static uint64_t row_of_handle(int64_t handle) {
  return ((uint64_t)handle & ~(UINT64_C(1) << 62)) >> CHECK_BITS;
}

bool eg_size_is_open(int64_t size) {
  if ((uint64_t)size >> 62 != 1) return false;
  uint64_t place = row_of_handle(size);
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
  return atomic_load(&owners[row_of_handle(open) >> ROW_BITS]);
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
  (void)pthread_mutex_init(&sizes->lock, NULL); // cannot fail for the default kind
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
  assert(count <= sizes->facts.len);
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
  assert(index < sizes->dims.len);
  return eg_open_dims_at(&sizes->dims, index);
}

// ---- at points ------------------------------------------------------------------------

int64_t eg_size_poly_at_point(const eg_open_sizes *sizes, const eg_size_poly *p,
                              uint32_t point) {
  assert(point < EG_SIZE_POINTS);
  int64_t sum = 0;
  for (uint32_t i = 0; i < p->count; i++) {
    int64_t product = p->term[i].coef;
    for (uint32_t k = 0; k < eg_size_monomial_degree(&p->term[i]); k++) {
      int64_t value = sizes->points.data[p->term[i].atom[k]].at[point];
      if (value == INT64_MAX || __builtin_mul_overflow(product, value, &product))
        return INT64_MAX;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return INT64_MAX;
  }
  return sum;
}

/// Returns the size of open dimension number `index` at a sampled point: small sizes,
/// odd ones, a large one; at the last two points neighbouring dimensions have very
/// different sizes.
static int64_t dim_at_point(uint32_t index, uint32_t point) {
  static const int64_t usual[EG_SIZE_POINTS] = {1, 2, 3, 7, 997, 1, 40};
  bool is_other = index % 2 != 0;
  if (point == EG_SIZE_POINTS - 2) return is_other ? 60 : 1;
  if (point == EG_SIZE_POINTS - 1) return is_other ? 1 : 40;
  return usual[point];
}

eg_size_points eg_size_atom_points(const eg_open_sizes *sizes, const eg_size_atom *atom) {
  eg_size_points points;
  eg_size_poly a, b;
  eg_size_load(sizes, atom->a, &a);
  eg_size_load(sizes, atom->b, &b);
  for (uint32_t i = 0; i < EG_SIZE_POINTS; i++) {
    int64_t x = eg_size_poly_at_point(sizes, &a, i);
    int64_t y = eg_size_poly_at_point(sizes, &b, i);
    bool is_large = x == INT64_MAX || y == INT64_MAX;
    switch (atom->kind) {
    case EG_SIZE_DIM: points.at[i] = dim_at_point(atom->index, i); break;
    case EG_SIZE_UNKNOWN: points.at[i] = i % 3 == 0 ? 0 : dim_at_point(1, i); break;
    case EG_SIZE_FLOOR: points.at[i] = eg_size_floor(x, y); break;
    case EG_SIZE_POSITIVE: points.at[i] = x > 0 ? x : 0; break;
    case EG_SIZE_STRETCH: points.at[i] = x == 1 ? y : x; break;
    }
    if (is_large) points.at[i] = INT64_MAX;
  }
  return points;
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
  const eg_size_row *row = &sizes->rows.data[row_of_handle(size) & (MOST_ROWS - 1)];
  out->count = row->count;
  memcpy(out->term, row->terms, row->count * sizeof *row->terms);
}

static egraph_status add_expression(eg_open_sizes *sizes, const eg_size_poly *p,
                                    uint64_t hash) {
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
    sizes->has_failed = sizes->has_failed || add_expression(sizes, p, hash) != EGRAPH_OK;
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
  assert(sizes->points.len == sizes->atoms.len);
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

/// Makes a size whose expression is one atom (an open dimension, a floor, ...).
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
