// Computes values of sizes, and reads their terms and text.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <inttypes.h>

#include "ops/size_internal.h"

static int64_t value_at(const eg_open_sizes *sizes, int64_t size, const int64_t *dims);

// Returns the value of an atom (an open dimension, a floor, ...). Operands are older than
// their atom, so that recursion ends; it is as deep as floors and maxima are nested.
static int64_t atom_at(const eg_open_sizes *sizes, const eg_size_atom *atom,
                       const int64_t *dims) {
  if (atom->kind == EG_SIZE_UNKNOWN) return atom->example;
  if (atom->kind == EG_SIZE_DIM)
    return dims != NULL ? dims[atom->index] : sizes->dims.data[atom->index].example;
  int64_t a = value_at(sizes, atom->a, dims), b = value_at(sizes, atom->b, dims);
  if (atom->kind == EG_SIZE_FLOOR) return eg_size_floor(a, b);
  if (atom->kind == EG_SIZE_POSITIVE) return a > 0 ? a : 0;
  return a == 1 ? b : a;
}

static int64_t value_at(const eg_open_sizes *sizes, int64_t size, const int64_t *dims) {
  eg_size_poly p;
  int64_t sum = 0;
  eg_size_load(sizes, size, &p);
  for (uint32_t i = 0; i < p.count; i++) {
    int64_t product = p.term[i].coef;
    for (uint32_t k = 0; k < eg_size_monomial_degree(&p.term[i]); k++)
      if (__builtin_mul_overflow(
              product, atom_at(sizes, &sizes->atoms.data[p.term[i].atom[k]], dims),
              &product))
        return INT64_MAX; // not a size: users of sizes refuse it
    if (__builtin_add_overflow(sum, product, &sum)) return INT64_MAX;
  }
  return sum;
}

int64_t eg_size_at(int64_t size, const int64_t *dims) {
  eg_open_sizes *sizes = eg_open_sizes_of(size, size);
  if (sizes == NULL) return size;
  (void)pthread_mutex_lock(&sizes->lock);
  int64_t value = value_at(sizes, size, dims);
  (void)pthread_mutex_unlock(&sizes->lock);
  return value;
}

int64_t eg_size_example(int64_t size) { return eg_size_at(size, NULL); }

uint32_t eg_size_term_count(int64_t size) {
  assert(eg_size_is_open(size));
  eg_open_sizes *sizes = eg_open_sizes_of(size, size);
  eg_size_poly p;
  (void)pthread_mutex_lock(&sizes->lock);
  eg_size_load(sizes, size, &p);
  (void)pthread_mutex_unlock(&sizes->lock);
  return p.count;
}

void eg_size_term_at(int64_t size, uint32_t index, eg_size_term *out) {
  assert(eg_size_is_open(size));
  eg_open_sizes *sizes = eg_open_sizes_of(size, size);
  eg_size_poly p;
  (void)pthread_mutex_lock(&sizes->lock);
  eg_size_load(sizes, size, &p);
  const eg_size_monomial *m = &p.term[index];
  *out = (eg_size_term){.coefficient = m->coef, .count = eg_size_monomial_degree(m)};
  for (uint32_t i = 0; i < out->count; i++)
    out->atoms[i] = sizes->atoms.data[m->atom[i]];
  (void)pthread_mutex_unlock(&sizes->lock);
}

/// Calls `visit` for a size's unknown (not computable) dimensions until it returns false.
static bool visit_unknown(int64_t size, bool (*visit)(void *, const eg_size_atom *),
                          void *user) {
  uint32_t count = eg_size_is_open(size) ? eg_size_term_count(size) : 0;
  for (uint32_t i = 0; i < count; i++) {
    eg_size_term term;
    eg_size_term_at(size, i, &term);
    for (uint32_t k = 0; k < term.count; k++) {
      const eg_size_atom *atom = &term.atoms[k];
      if (atom->kind == EG_SIZE_UNKNOWN ? !visit(user, atom)
                                        : !visit_unknown(atom->a, visit, user) ||
                                              !visit_unknown(atom->b, visit, user))
        return false;
    }
  }
  return true;
}

static bool stop_at_unknown(void *user, const eg_size_atom *atom) {
  (void)user, (void)atom;
  return false;
}

bool eg_size_is_determined(int64_t size) {
  return visit_unknown(size, stop_at_unknown, NULL);
}

static bool is_other(void *user, const eg_size_atom *atom) {
  const eg_size_atom *wanted = user;
  return atom->tensor != wanted->tensor || atom->index != wanted->index; // true: go on
}

typedef struct size_list {
  const int64_t *at;
  uint32_t count;
} size_list;

static bool is_among(void *user, const eg_size_atom *atom) {
  const size_list *others = user;
  eg_size_atom wanted = *atom;
  for (uint32_t i = 0; i < others->count; i++)
    if (!visit_unknown(others->at[i], is_other, &wanted)) return true;
  return false;
}

bool eg_size_is_told_by(int64_t size, const int64_t *others, uint32_t count) {
  size_list list = {others, count};
  return visit_unknown(size, is_among, &list);
}

// ---- text ----------------------------------------------------------------------------

static egraph_status print_atom(eg_text *text, const eg_open_sizes *sizes,
                                const eg_size_atom *atom) {
  switch (atom->kind) {
  case EG_SIZE_DIM: return eg_text_append(text, sizes->dims.data[atom->index].name);
  case EG_SIZE_UNKNOWN:
    return eg_text_printf(text, "%s.%" PRIu32, atom->tensor, atom->index);
  case EG_SIZE_FLOOR: EG_TRY(eg_text_append(text, "floor((")); break;
  case EG_SIZE_POSITIVE: EG_TRY(eg_text_append(text, "max(0, ")); break;
  case EG_SIZE_STRETCH: EG_TRY(eg_text_append(text, "broadcast(")); break;
  }
  EG_TRY(eg_size_print(text, atom->a));
  if (atom->kind == EG_SIZE_POSITIVE) return eg_text_append(text, ")");
  EG_TRY(eg_text_append(text, atom->kind == EG_SIZE_FLOOR ? ") / " : ", "));
  EG_TRY(eg_size_print(text, atom->b));
  return eg_text_append(text, ")");
}

static egraph_status print_size_term(eg_text *text, const eg_open_sizes *sizes,
                                     const eg_size_term *term, bool is_first) {
  int64_t c = term->coefficient;
  EG_TRY(eg_text_append(text, is_first ? (c < 0 ? "-" : "") : c < 0 ? " - " : " + "));
  bool has_number = (c != 1 && c != -1) || term->count == 0;
  if (has_number) EG_TRY(eg_text_printf(text, "%" PRId64, c < 0 ? -c : c));
  for (uint32_t i = 0; i < term->count; i++) {
    if (has_number || i != 0) EG_TRY(eg_text_append(text, "*"));
    EG_TRY(print_atom(text, sizes, &term->atoms[i]));
  }
  return EGRAPH_OK;
}

egraph_status eg_size_print(eg_text *text, int64_t size) {
  if (!eg_size_is_open(size)) return eg_text_printf(text, "%" PRId64, size);
  const eg_open_sizes *sizes = eg_open_sizes_of(size, size);
  uint32_t count = eg_size_term_count(size);
  for (uint32_t i = 0; i < count; i++) {
    eg_size_term term;
    eg_size_term_at(size, i, &term);
    EG_TRY(print_size_term(text, sizes, &term, i == 0));
  }
  return EGRAPH_OK;
}
