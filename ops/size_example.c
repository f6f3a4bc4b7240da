// Sizes of the example: those that the caller proposes, moved until all facts hold. An
// equation is solved for a variable that is a term of it; else sizes are drawn.
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "ops/size_internal.h"

enum { ATTEMPTS = 400, PASSES = 8 };

/// Multiples of what images and windows are divided by, and small sizes.
static const int64_t usual[] = {16, 32, 64, 96, 128, 192, 224, 256, 1, 2, 4, 8, 12, 48};

typedef struct chooser {
  eg_open_sizes *sizes;
  const bool *given; // [dims]
} chooser;

/// The example of a variable that may change, or NULL.
static int64_t *example_of(const chooser *c, uint16_t id) {
  eg_size_atom *atom = &c->sizes->atoms.data[id];
  if (atom->kind == EG_SIZE_UNKNOWN) return &atom->example;
  if (atom->kind != EG_SIZE_DIM || c->given[atom->index]) return NULL;
  return &c->sizes->dims.data[atom->index].example;
}

/// At sizes of open dimensions, or (NULL) at the example.
static bool holds(const eg_size_fact *fact, const int64_t *dims) {
  int64_t value = eg_size_at(fact->size, dims);
  if (fact->kind == EG_SIZE_IS_ZERO) return value == 0;
  if (fact->kind == EG_SIZE_IS_NONNEGATIVE) return value >= 0;
  eg_size_term term;
  eg_size_term_at(fact->size, 0, &term);
  int64_t a = eg_size_at(term.atoms[0].a, dims), b = eg_size_at(term.atoms[0].b, dims);
  return a == b || a == 1 || b == 1;
}

bool eg_open_sizes_admit(const eg_open_sizes *sizes, const int64_t *dims) {
  for (size_t i = 0; i < sizes->facts.len; i++)
    if (!holds(&sizes->facts.data[i], dims)) return false;
  return true;
}

/// Moves one variable so that an equation holds.
static bool solve(const chooser *c, const eg_size_fact *fact) {
  eg_size_poly p;
  eg_size_load(c->sizes, fact->size, &p);
  for (uint32_t i = 0; i < p.count; i++) {
    int64_t *example = eg_size_monomial_degree(&p.term[i]) == 1
                           ? example_of(c, p.term[i].atom[0])
                           : NULL;
    int64_t value = eg_size_example(fact->size), coef = p.term[i].coef;
    if (example == NULL || value % coef != 0 || *example - value / coef < 1) continue;
    int64_t before = *example;
    *example -= value / coef;
    if (eg_size_example(fact->size) == 0) return true;
    *example = before;
  }
  return false;
}

static bool meet(const chooser *c, const eg_size_fact *fact) {
  eg_size_term term;
  eg_size_term_at(fact->size, 0, &term);
  eg_size_fact equal = {.kind = EG_SIZE_IS_ZERO};
  return eg_size_sub(term.atoms[0].a, term.atoms[0].b, &equal.size) && solve(c, &equal);
}

static bool settle(const chooser *c) {
  bool all = false;
  for (uint32_t pass = 0; !all && pass < PASSES; pass++) {
    all = true;
    for (size_t i = 0; i < c->sizes->facts.len; i++) {
      const eg_size_fact fact = c->sizes->facts.data[i];
      if (holds(&fact, NULL)) continue;
      all = false;
      if (fact.kind == EG_SIZE_IS_ZERO) (void)solve(c, &fact);
      if (fact.kind == EG_SIZE_IS_MEETING) (void)meet(c, &fact);
    }
  }
  return all;
}

static void draw(const chooser *c, eg_rng *rng) {
  uint32_t i = (uint32_t)eg_rng_below(rng, c->sizes->dims.len);
  int64_t size = usual[eg_rng_below(rng, sizeof usual / sizeof *usual)];
  if (!c->given[i]) c->sizes->dims.data[i].example = size;
}

bool eg_open_sizes_choose_examples(eg_open_sizes *sizes, const bool *given) {
  const chooser c = {.sizes = sizes, .given = given};
  eg_rng rng = {.state = 1};
  for (uint32_t i = 0; i < ATTEMPTS && sizes->dims.len != 0; i++) {
    if (settle(&c)) return true;
    draw(&c, &rng);
  }
  return settle(&c);
}

void eg_open_sizes_set_example(eg_open_sizes *sizes, uint32_t dim, int64_t example) {
  eg_open_dims_at(&sizes->dims, dim)->example = example;
}
