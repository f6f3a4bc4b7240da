// Chooses the sizes of the example: changes the proposed sizes until all facts hold and
// no tensor is empty, by a random walk. In each step one variable of a goal that fails
// takes the size at which the fewest goals fail, after equations are solved for variables
// that are single terms. Sometimes it takes a random size.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "base/hash.h"
#include "base/owner.h"
#include "ops/size_internal.h"

enum { STEPS = 200, PASSES = 8, MOST_VARIABLES = 32, NOT_GREEDY = 8 };

/// Sizes to try: small ones, and multiples of common divisors of images and windows.
enum { SMALL = 40 };
static const int64_t usual[] = {48, 64, 96, 112, 128, 192, 224, 256, 512, 1024};
enum { CANDIDATES = SMALL + sizeof usual / sizeof *usual };

typedef struct chooser {
  eg_open_sizes *sizes;
  const bool *given;   // [dims]
  eg_size_facts goals; // facts, then wishes, then sizes that should not be 0
  eg_rng rng;
  const int64_t *pinned; // the example that must not change
} chooser;

/// How far the chosen sizes are from meeting all goals (conditions and wishes).
typedef struct distance {
  size_t facts, wishes; // number of facts, and of wishes, that fail
  double lack;          // sum of the binary digits by which facts fail
} distance;

EG_VEC_DEFINE(eg_size_numbers, int64_t);

/// Returns the example size of variable (open dimension) `id` if it may change, or NULL.
static int64_t *example_of(const chooser *c, uint16_t id) {
  eg_size_atom *atom = &c->sizes->atoms.data[id];
  bool is_dim = atom->kind == EG_SIZE_DIM && !c->given[atom->index];
  if (!is_dim && atom->kind != EG_SIZE_UNKNOWN) return NULL;
  int64_t *example = is_dim ? &c->sizes->dims.data[atom->index].example : &atom->example;
  return example != c->pinned ? example : NULL;
}

/// Returns the amount by which a condition fails at sizes `dims` of open dimensions;
/// NULL: at the example sizes.
static int64_t lack_of(const eg_size_fact *fact, const int64_t *dims) {
  int64_t value = eg_size_at(fact->size, dims);
  if (fact->kind == EG_SIZE_IS_ZERO) return value < 0 ? -value : value;
  if (fact->kind == EG_SIZE_IS_NONNEGATIVE) return value < 0 ? -value : 0;
  eg_size_term term;
  eg_size_term_at(fact->size, 0, &term);
  int64_t a = eg_size_at(term.atoms[0].a, dims), b = eg_size_at(term.atoms[0].b, dims);
  if (a == 1 || b == 1) return 0;
  return a < b ? b - a : a - b;
}

static bool holds(const eg_size_fact *fact, const int64_t *dims) {
  return lack_of(fact, dims) == 0;
}

bool eg_open_sizes_admit(const eg_open_sizes *sizes, const int64_t *dims) {
  for (size_t i = 0; i < sizes->facts.len; i++)
    if (!holds(&sizes->facts.data[i], dims)) return false;
  return true;
}

/// Changes the open dimension in a term so that an equation holds.
static bool solve_for(const chooser *c, const eg_size_fact *fact,
                      const eg_size_monomial *term) {
  int64_t *example =
      eg_size_monomial_degree(term) == 1 ? example_of(c, term->atom[0]) : NULL;
  int64_t value = eg_size_example(fact->size), coef = term->coef;
  if (example == NULL || value % coef != 0 || *example - value / coef < 1) return false;
  int64_t before = *example;
  *example -= value / coef;
  if (eg_size_example(fact->size) == 0) return true;
  *example = before;
  return false;
}

/// Changes one open dimension so that an equation holds; first tries a dimension that is
/// alone on one side, such as `all` in all = past + new.
static bool solve_for_atom(const chooser *c, const eg_size_fact *fact) {
  eg_size_poly p;
  uint32_t positive = 0;
  eg_size_load(c->sizes, fact->size, &p);
  for (uint32_t i = 0; i < p.count; i++)
    positive += p.term[i].coef > 0;
  bool is_positive_first = 2 * positive <= p.count;
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t i = 0; i < p.count; i++)
      if ((p.term[i].coef > 0) == (is_positive_first == (pass == 0)) &&
          solve_for(c, fact, &p.term[i]))
        return true;
  return false;
}

static bool meet_example(const chooser *c, const eg_size_fact *fact) {
  eg_size_term term;
  eg_size_term_at(fact->size, 0, &term);
  eg_size_fact equal = {.kind = EG_SIZE_IS_ZERO};
  return eg_size_sub(term.atoms[0].a, term.atoms[0].b, &equal.size) &&
         solve_for_atom(c, &equal);
}

static void settle_example(const chooser *c) {
  bool all = false;
  for (uint32_t pass = 0; !all && pass < PASSES; pass++) {
    all = true;
    for (size_t i = 0; i < c->sizes->facts.len; i++) {
      const eg_size_fact fact = c->sizes->facts.data[i];
      if (holds(&fact, NULL)) continue;
      all = false;
      if (fact.kind == EG_SIZE_IS_ZERO) (void)solve_for_atom(c, &fact);
      if (fact.kind == EG_SIZE_IS_MEETING) (void)meet_example(c, &fact);
    }
  }
}

static distance distance_of(const chooser *c) {
  distance d = {0};
  for (size_t i = 0; i < c->goals.len; i++) {
    int64_t lack = lack_of(&c->goals.data[i], NULL);
    bool is_fact = i < c->sizes->facts.len;
    if (lack == 0) continue;
    ++*(is_fact ? &d.facts : &d.wishes);
    if (is_fact) d.lack += log2(1.0 + (double)lack);
  }
  return d;
}

static bool is_nearer(distance a, distance b) {
  if (a.facts != b.facts) return a.facts < b.facts;
  if (a.lack < b.lack || b.lack < a.lack) return a.lack < b.lack;
  return a.wishes < b.wishes;
}

// ---- all examples, kept and restored --------------------------------------------------

static egraph_status keep_examples(const chooser *c, eg_size_numbers *out) {
  out->len = 0;
  for (size_t i = 0; i < c->sizes->dims.len; i++)
    EG_TRY(eg_size_numbers_push(out, c->sizes->dims.data[i].example));
  for (size_t i = 0; i < c->sizes->atoms.len; i++)
    if (c->sizes->atoms.data[i].kind == EG_SIZE_UNKNOWN)
      EG_TRY(eg_size_numbers_push(out, c->sizes->atoms.data[i].example));
  return EGRAPH_OK;
}

static void restore_examples(const chooser *c, const eg_size_numbers *kept) {
  size_t next = 0;
  for (size_t i = 0; i < c->sizes->dims.len; i++)
    c->sizes->dims.data[i].example = kept->data[next++];
  for (size_t i = 0; i < c->sizes->atoms.len; i++)
    if (c->sizes->atoms.data[i].kind == EG_SIZE_UNKNOWN)
      c->sizes->atoms.data[i].example = kept->data[next++];
}

// ---- the walk -------------------------------------------------------------------------

/// The open dimensions (their example sizes) on which a size depends and that may change.
typedef struct variables {
  int64_t *at[MOST_VARIABLES];
  uint32_t count;
} variables;

/// Adds the variables of a size. Recursion is as deep as floors and maxima are nested.
static void add_variables(const chooser *c, int64_t size, variables *out) {
  if (!eg_size_is_open(size)) return;
  eg_size_poly p;
  eg_size_load(c->sizes, size, &p);
  for (uint32_t i = 0; i < p.count; i++)
    for (uint32_t k = 0; k < eg_size_monomial_degree(&p.term[i]); k++) {
      const eg_size_atom *atom = &c->sizes->atoms.data[p.term[i].atom[k]];
      int64_t *example = example_of(c, p.term[i].atom[k]);
      if (example != NULL && out->count < MOST_VARIABLES) out->at[out->count++] = example;
      if (atom->kind == EG_SIZE_DIM || atom->kind == EG_SIZE_UNKNOWN) continue;
      add_variables(c, atom->a, out);
      add_variables(c, atom->b, out);
    }
}

/// Draws an open dimension of a goal that fails; NULL: no such dimension may change.
static int64_t *draw_variable(chooser *c) {
  size_t start = eg_rng_below(&c->rng, c->goals.len);
  for (size_t i = 0; i < c->goals.len; i++) {
    const eg_size_fact *goal = &c->goals.data[(start + i) % c->goals.len];
    variables v = {.count = 0};
    if (holds(goal, NULL)) continue;
    add_variables(c, goal->size, &v);
    if (v.count != 0) return v.at[eg_rng_below(&c->rng, v.count)];
  }
  return NULL;
}

static int64_t candidate(uint32_t i) { return i < SMALL ? i + 1 : usual[i - SMALL]; }

/// Returns the quotient of the larger and the smaller number.
static double ratio(int64_t a, int64_t b) {
  return a > b ? (double)a / (double)b : (double)b / (double)a;
}

/// Sets the example size of an open dimension; equations then change other dimensions.
/// Returns the distance to all goals.
static distance set(chooser *c, int64_t *variable, int64_t size) {
  *variable = size;
  c->pinned = variable;
  settle_example(c);
  c->pinned = NULL;
  return distance_of(c);
}

/// Finds the example size of an open dimension that gives the least distance to all
/// goals; among equals, the one nearest to the present size.
static int64_t find_best(chooser *c, int64_t *variable, const eg_size_numbers *now) {
  const int64_t old = *variable;
  int64_t best = old;
  distance least = {.facts = SIZE_MAX};
  for (uint32_t i = 0; i < CANDIDATES; i++) {
    int64_t size = candidate(i);
    if (size == old) continue;
    distance d = set(c, variable, size);
    restore_examples(c, now);
    if (is_nearer(least, d)) continue;
    if (is_nearer(d, least) || ratio(size, old) < ratio(best, old)) best = size;
    least = d;
  }
  return best;
}

static egraph_status walk_examples(chooser *c, eg_size_numbers *now,
                                   eg_size_numbers *best) {
  settle_example(c);
  distance d = distance_of(c), least = d;
  EG_TRY(keep_examples(c, best));
  for (uint32_t step = 0; step < STEPS && d.facts + d.wishes != 0; step++) {
    int64_t *variable = draw_variable(c);
    if (variable == NULL) break;
    EG_TRY(keep_examples(c, now));
    int64_t size = eg_rng_below(&c->rng, NOT_GREEDY) != 0
                       ? find_best(c, variable, now)
                       : candidate((uint32_t)eg_rng_below(&c->rng, CANDIDATES));
    d = set(c, variable, size);
    if (!is_nearer(d, least)) continue;
    least = d;
    EG_TRY(keep_examples(c, best));
  }
  restore_examples(c, best);
  return EGRAPH_OK;
}

static egraph_status add_goals(chooser *c, const int64_t *filled, uint32_t count) {
  for (size_t i = 0; i < c->sizes->facts.len; i++)
    EG_TRY(eg_size_facts_push(&c->goals, c->sizes->facts.data[i]));
  for (size_t i = 0; i < c->sizes->wishes.len; i++)
    EG_TRY(eg_size_facts_push(&c->goals, c->sizes->wishes.data[i]));
  for (uint32_t i = 0; i < count; i++) {
    eg_size_fact goal = {.kind = EG_SIZE_IS_NONNEGATIVE};
    if (eg_size_sub(filled[i], 1, &goal.size))
      EG_TRY(eg_size_facts_push(&c->goals, goal));
  }
  return EGRAPH_OK;
}

egraph_status eg_open_sizes_choose_examples(eg_open_sizes *sizes, const bool *given,
                                            const int64_t *filled, uint32_t count,
                                            bool *out_found) {
  chooser c = {.sizes = sizes, .given = given, .rng = {.state = 1}};
  eg_size_numbers now, best;
  EG_INIT_MEMBERS(&c, sizes->alloc, (eg_size_facts, goals));
  eg_size_numbers_init(&now, sizes->alloc);
  eg_size_numbers_init(&best, sizes->alloc);
  egraph_status status = add_goals(&c, filled, count);
  if (status == EGRAPH_OK) status = walk_examples(&c, &now, &best);
  *out_found = status == EGRAPH_OK && distance_of(&c).facts == 0;
  eg_size_numbers_deinit(&now);
  eg_size_numbers_deinit(&best);
  EG_DEINIT_MEMBERS(&c, (eg_size_facts, goals));
  return status;
}

void eg_open_sizes_set_example(eg_open_sizes *sizes, uint32_t dim, int64_t example) {
  eg_open_dims_at(&sizes->dims, dim)->example = example;
}

void eg_open_sizes_tell_readable(eg_open_sizes *sizes, bool is_readable) {
  sizes->is_unreadable = !is_readable;
}

bool eg_open_sizes_is_readable(const eg_open_sizes *sizes) {
  return !sizes->is_unreadable;
}
