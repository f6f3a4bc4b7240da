// Random additions, unions and rebuilds against a naive congruence closure: every term
// ever added is kept with the ids it was given, and the closure is the fixpoint over all
// pairs of terms. The analysis is the size of the smallest term. In a share of the rounds
// allocations fail now and then: the call is then made again.
// SPDX-License-Identifier: Apache-2.0
#include "tests/testing.h"

#include "egraph/engine.h"

enum { MAX_TERMS = 160, MAX_ARITY = 3 };
#ifdef NDEBUG
enum { ROUNDS = 10000 };
#else
enum { ROUNDS = 1000 }; // checks after every rebuild make them slow
#endif

typedef struct naive_term {
  uint32_t op, payload, arity, children[MAX_ARITY]; // children: indices of terms
  eg_class class;                                   // as given by eg_engine_add
} naive_term;

typedef struct naive {
  naive_term terms[MAX_TERMS];
  uint32_t count;
  uint32_t up[MAX_TERMS]; // equivalence, flat: the smallest equal term
} naive;

// ---- allocations that fail ------------------------------------------------------

typedef struct failing {
  test_heap heap;
  bool often;
} failing;

static failing memory;

/// Before a call: perhaps one of its first allocations will fail.
static void maybe_fail(eg_rng *rng) {
  if (memory.often && eg_rng_below(rng, 4) == 0)
    memory.heap.fail_at = memory.heap.requests + 1 + eg_rng_below(rng, 4);
}

/// Whether a call is to be made again.
static bool has_failed(egraph_status status) {
  memory.heap.fail_at = 0;
  if (status == EGRAPH_E_MEMORY && memory.often) return true;
  assert_ok(status);
  return false;
}

static void naive_unite(naive *n, uint32_t a, uint32_t b) {
  uint32_t keep = n->up[a], drop = n->up[b];
  if (keep > drop) {
    keep = n->up[b];
    drop = n->up[a];
  }
  for (uint32_t i = 0; i < n->count; i++)
    if (n->up[i] == drop) n->up[i] = keep;
}

static bool are_congruent(const naive *n, const naive_term *a, const naive_term *b) {
  if (a->op != b->op || a->payload != b->payload || a->arity != b->arity) return false;
  for (uint32_t i = 0; i < a->arity; i++)
    if (n->up[a->children[i]] != n->up[b->children[i]]) return false;
  return true;
}

static void naive_close(naive *n) {
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 0; i < n->count; i++)
      for (uint32_t j = i + 1; j < n->count; j++)
        if (n->up[i] != n->up[j] && are_congruent(n, &n->terms[i], &n->terms[j])) {
          naive_unite(n, i, j);
          changed = true;
        }
  }
}

static void naive_counts(const naive *n, uint32_t *nodes, uint32_t *classes) {
  *nodes = *classes = 0;
  for (uint32_t i = 0; i < n->count; i++) {
    bool is_first = true;
    for (uint32_t j = 0; j < i && is_first; j++)
      is_first = !are_congruent(n, &n->terms[i], &n->terms[j]);
    *nodes += is_first;
    *classes += n->up[i] == i;
  }
}

static void add_random(naive *n, eg_engine *e, eg_rng *rng) {
  if (n->count == MAX_TERMS) return;
  naive_term *term = &n->terms[n->count];
  eg_class children[MAX_ARITY];
  term->arity = n->count == 0 ? 0 : (uint32_t)eg_rng_below(rng, MAX_ARITY + 1);
  term->op = (uint32_t)eg_rng_below(rng, 2);
  term->payload = (uint32_t)eg_rng_below(rng, term->arity == 0 ? 6 : 2);
  for (uint32_t i = 0; i < term->arity; i++) {
    term->children[i] = (uint32_t)eg_rng_below(rng, n->count);
    children[i] = n->terms[term->children[i]].class;
  }
  eg_term added = {.op = term->op,
                   .payload = term->payload,
                   .arity = term->arity,
                   .children = children};
  maybe_fail(rng);
  while (has_failed(eg_engine_add(e, &added, 0, &term->class)))
    assert_ok(eg_engine_check(e));
  assert_int_equal(term->class.id, eg_engine_find(e, term->class).id);
  n->up[n->count] = n->count;
  n->count++;
}

static void unite_random(naive *n, eg_engine *e, eg_rng *rng) {
  if (n->count == 0) return;
  uint32_t a = (uint32_t)eg_rng_below(rng, n->count);
  uint32_t b = (uint32_t)eg_rng_below(rng, n->count);
  bool changed;
  maybe_fail(rng);
  while (
      has_failed(eg_engine_unite(e, n->terms[a].class, n->terms[b].class, 0, &changed)))
    assert_ok(eg_engine_check(e));
  naive_unite(n, a, b);
}

// ---- analysis: the size of the smallest term ------------------------------------

static egraph_status make_size(void *self, const eg_engine *engine, const eg_term *term,
                               void *out_data) {
  uint32_t size = 1;
  (void)self;
  for (uint32_t i = 0; i < term->arity; i++)
    size += *(const uint32_t *)eg_engine_data(engine, term->children[i]);
  *(uint32_t *)out_data = size;
  return EGRAPH_OK;
}

static egraph_status join_sizes(void *self, void *into, const void *from,
                                bool *out_changed) {
  uint32_t *size = into;
  (void)self;
  *out_changed = *(const uint32_t *)from < *size;
  if (*out_changed) *size = *(const uint32_t *)from;
  return EGRAPH_OK;
}

static const eg_analysis smallest = {
    .data_size = sizeof(uint32_t), .make = make_size, .join = join_sizes};

/// The same by relaxation over all terms, until nothing changes.
static void compare_sizes(const naive *n, const eg_engine *e) {
  uint32_t best[MAX_TERMS];
  for (uint32_t i = 0; i < n->count; i++)
    best[i] = UINT32_MAX;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 0; i < n->count; i++) {
      uint64_t size = 1;
      for (uint32_t k = 0; k < n->terms[i].arity; k++)
        size += best[n->up[n->terms[i].children[k]]];
      if (size >= best[n->up[i]]) continue;
      best[n->up[i]] = (uint32_t)size;
      changed = true;
    }
  }
  for (uint32_t i = 0; i < n->count; i++)
    assert_int_equal(*(const uint32_t *)eg_engine_data(e, n->terms[i].class),
                     best[n->up[i]]);
}

// ---- rounds ---------------------------------------------------------------------

static void compare(naive *n, eg_engine *e, eg_rng *rng) {
  uint32_t nodes, classes;
  maybe_fail(rng);
  while (has_failed(eg_engine_rebuild(e)))
    assert_ok(eg_engine_check(e));
  assert_ok(eg_engine_check(e));
  naive_close(n);
  naive_counts(n, &nodes, &classes);
  assert_int_equal(eg_engine_node_count(e), nodes);
  assert_int_equal(eg_engine_class_count(e), classes);
  for (uint32_t i = 0; i < n->count; i++)
    for (uint32_t j = i + 1; j < n->count; j++)
      if (eg_class_same(eg_engine_find(e, n->terms[i].class),
                        eg_engine_find(e, n->terms[j].class)) != (n->up[i] == n->up[j]))
        fail_msg("terms %u and %u: %s by the closure", i, j,
                 n->up[i] == n->up[j] ? "equal" : "unequal");
  if (n->count != 0 && eg_engine_data(e, n->terms[0].class) != NULL) compare_sizes(n, e);
}

static void run_round(uint64_t seed, egraph_allocator alloc) {
  static naive n;
  eg_rng rng = {seed};
  eg_engine *e;
  n.count = 0;
  // Rounds differ in having an analysis, how much they unite and how often they rebuild.
  bool has_analysis = eg_rng_below(&rng, 2) == 0;
  eg_engine_options options = {.analysis = has_analysis ? &smallest : NULL,
                               .record = eg_rng_below(&rng, 2) == 0};
  assert_ok(eg_engine_create(&alloc, &options, &e));
  memory.often = eg_rng_below(&rng, 3) == 0;
  uint64_t unions = 1 + eg_rng_below(&rng, 5), rebuilds = 1 + eg_rng_below(&rng, 4);
  uint64_t steps = 20 + eg_rng_below(&rng, 180);
  for (uint64_t i = 0; i < steps; i++) {
    uint64_t kind = eg_rng_below(&rng, 20);
    if (kind < unions)
      unite_random(&n, e, &rng);
    else if (kind < unions + rebuilds)
      compare(&n, e, &rng);
    else
      add_random(&n, e, &rng);
  }
  compare(&n, e, &rng);
  eg_engine_destroy(e);
}

static void random_operations_agree_with_the_naive_closure(void **state) {
  (void)state;
  uint64_t seed = test_seed(1);
  for (size_t i = 0; i < test_rounds(ROUNDS); i++) {
    run_round(seed + i, test_heap_allocator(&memory.heap));
    assert_int_equal(memory.heap.live_bytes, 0);
  }
}

/// The same calls give the same ids, whatever happened to the memory.
static void the_same_operations_give_the_same_engine(void **state) {
  (void)state;
  memory.often = false;
  static naive n[2];
  uint64_t seed = test_seed(2);
  eg_engine *e[2];
  for (int k = 0; k < 2; k++) {
    eg_rng rng = {seed};
    n[k].count = 0;
    assert_ok(eg_engine_create(NULL, NULL, &e[k]));
    for (int i = 0; i < 150; i++)
      add_random(&n[k], e[k], &rng);
    for (int i = 0; i < 30; i++)
      unite_random(&n[k], e[k], &rng);
    assert_ok(eg_engine_rebuild(e[k]));
  }
  for (eg_class c = eg_engine_first(e[0]); c.id != EG_CLASS_NONE.id;
       c = eg_engine_next(e[0], c)) {
    uint32_t count[2];
    const eg_node *nodes[2];
    for (int k = 0; k < 2; k++)
      nodes[k] = eg_engine_class_nodes(e[k], c, &count[k]);
    assert_int_equal(eg_engine_find(e[1], c).id, c.id);
    assert_int_equal(count[0], count[1]);
    assert_memory_equal(nodes[0], nodes[1], count[0] * sizeof **nodes);
  }
  for (int k = 0; k < 2; k++)
    eg_engine_destroy(e[k]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_operations_agree_with_the_naive_closure),
      cmocka_unit_test(the_same_operations_give_the_same_engine),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
