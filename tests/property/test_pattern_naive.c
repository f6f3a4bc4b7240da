// The matcher against plain enumeration: random small e-graphs, random patterns (one root
// or several, repeated variables, shared terms, guards, exact payloads), every choice of
// nodes tried.
// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "tests/testing.h"

#include "base/vec.h"
#include "egraph/pattern.h"

enum { MAX_TERMS = 6, MAX_NODES = 4, MAX_VARS = 3, MAX_ROOTS = 3, OPS = 3 };

typedef struct random_pattern {
  eg_pattern_term terms[MAX_TERMS];
  uint32_t children[MAX_TERMS * 2], roots[MAX_ROOTS];
  bool is_reachable[MAX_TERMS];
  eg_pattern pattern;
} random_pattern;

typedef struct matches {
  eg_u32s words; // per match: classes of the variables and roots, then the nodes
  size_t stride;
} matches;

// ---- random inputs --------------------------------------------------------------------

static eg_engine *random_engine(eg_rng *rng) {
  eg_engine *e;
  eg_class ids[24];
  bool changed;
  assert_ok(eg_engine_create(NULL, NULL, &e));
  uint32_t count = 4 + (uint32_t)eg_rng_below(rng, 20);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t op = i == 0 ? 0 : (uint32_t)eg_rng_below(rng, OPS);
    eg_class children[2] = {{0}, {0}};
    for (uint32_t k = 0; k < op; k++)
      children[k] = ids[eg_rng_below(rng, i)];
    eg_term term = {.op = op,
                    .payload = (uint32_t)eg_rng_below(rng, op == 0 ? 4 : 2),
                    .arity = op,
                    .children = children};
    assert_ok(eg_engine_add(e, &term, 0, &ids[i]));
  }
  for (uint64_t i = eg_rng_below(rng, 6); i != 0; i--)
    assert_ok(eg_engine_unite(e, ids[eg_rng_below(rng, count)],
                              ids[eg_rng_below(rng, count)], 0, &changed));
  assert_ok(eg_engine_rebuild(e));
  return e;
}

static void random_term(random_pattern *p, uint32_t index, eg_rng *rng) {
  eg_pattern_term *term = &p->terms[index];
  uint32_t op = index == 0 ? 0 : (uint32_t)eg_rng_below(rng, OPS);
  uint32_t nodes = 0;
  for (uint32_t i = 0; i < index; i++)
    nodes += p->terms[i].kind == EG_PATTERN_NODE;
  if (nodes == MAX_NODES || (index < 2 && eg_rng_below(rng, 4) != 0)) {
    *term = (eg_pattern_term){.kind = EG_PATTERN_VAR,
                              .var = (uint32_t)eg_rng_below(rng, MAX_VARS)};
    return;
  }
  *term = (eg_pattern_term){.kind = EG_PATTERN_NODE,
                            .op = op,
                            .guard = EG_PATTERN_ANY_PAYLOAD,
                            .exact = eg_rng_below(rng, 3) == 0,
                            .payload = (uint32_t)eg_rng_below(rng, 2),
                            .arity = op,
                            .children = p->pattern.child_count};
  if (eg_rng_below(rng, 4) == 0) term->guard = (uint32_t)eg_rng_below(rng, 2);
  for (uint32_t i = 0; i < op; i++)
    p->children[p->pattern.child_count++] = (uint32_t)eg_rng_below(rng, index);
}

static void mark_reachable(random_pattern *p) {
  memset(p->is_reachable, 0, sizeof p->is_reachable);
  for (uint32_t i = 0; i < p->pattern.root_count; i++)
    p->is_reachable[p->roots[i]] = true;
  for (uint32_t t = p->pattern.term_count; t-- > 0;) // children have lower indices
    if (p->is_reachable[t] && p->terms[t].kind == EG_PATTERN_NODE)
      for (uint32_t i = 0; i < p->terms[t].arity; i++)
        p->is_reachable[p->children[p->terms[t].children + i]] = true;
}

static void make_pattern(random_pattern *p, eg_rng *rng) {
  uint32_t count = 1 + (uint32_t)eg_rng_below(rng, MAX_TERMS);
  p->pattern = (eg_pattern){.terms = p->terms,
                            .term_count = count,
                            .children = p->children,
                            .roots = p->roots,
                            .root_count = 1 + (uint32_t)eg_rng_below(rng, MAX_ROOTS),
                            .var_count = MAX_VARS};
  for (uint32_t i = 0; i < count; i++)
    random_term(p, i, rng);
  p->roots[0] = count - 1;
  for (uint32_t i = 1; i < p->pattern.root_count; i++)
    p->roots[i] = (uint32_t)eg_rng_below(rng, count);
  mark_reachable(p);
}

static bool accept(void *user, uint32_t guard, uint32_t op, uint32_t payload) {
  (void)user;
  return (payload + op) % 2 == guard;
}

// ---- collecting -----------------------------------------------------------------------

static void push_match(matches *m, const random_pattern *p, const eg_match *match) {
  for (uint32_t i = 0; i < p->pattern.var_count; i++)
    assert_ok(eg_u32s_push(&m->words, match->vars[i].id));
  for (uint32_t i = 0; i < p->pattern.root_count; i++)
    assert_ok(eg_u32s_push(&m->words, match->roots[i].id));
  for (uint32_t i = 0; i < p->pattern.term_count; i++)
    assert_ok(eg_u32s_push(&m->words, match->nodes[i].id));
}

typedef struct collecting {
  matches *into;
  const random_pattern *pattern;
} collecting;

static egraph_status on_match(void *user, const eg_match *match, bool *stop) {
  collecting *c = user;
  (void)stop;
  push_match(c->into, c->pattern, match);
  return EGRAPH_OK;
}

static size_t sort_stride; // of compare_matches

static int compare_matches(const void *a, const void *b) {
  const uint32_t *x = a, *y = b;
  for (size_t i = 0; i < sort_stride; i++)
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  return 0;
}

static void sort_matches(matches *m) {
  sort_stride = m->stride;
  if (m->words.len != 0)
    qsort(m->words.data, m->words.len / m->stride, m->stride * sizeof(uint32_t),
          compare_matches);
}

// ---- plain enumeration ----------------------------------------------------------------

typedef struct choice {
  const eg_engine *engine;
  const random_pattern *pattern;
  eg_node nodes[MAX_TERMS];
  eg_class vars[MAX_VARS];
  eg_class roots[MAX_ROOTS];
  matches *out;
} choice;

/// Binds a variable or compares with its value.
static bool bind(choice *c, uint32_t var, eg_class class) {
  if (c->vars[var].id == EG_CLASS_NONE.id) c->vars[var] = class;
  return eg_class_same(c->vars[var], class);
}

/// Do the chosen nodes fit together? Sets the variables below them.
static bool is_consistent(choice *c) {
  const random_pattern *p = c->pattern;
  for (uint32_t v = 0; v < MAX_VARS; v++)
    c->vars[v] = EG_CLASS_NONE;
  for (uint32_t t = 0; t < p->pattern.term_count; t++) {
    if (c->nodes[t].id == EG_NODE_NONE.id) continue;
    const eg_pattern_term *term = &p->terms[t];
    eg_term node = eg_engine_term(c->engine, c->nodes[t]);
    if (node.op != term->op || node.arity != term->arity) return false;
    if (term->exact && node.payload != term->payload) return false;
    if (term->guard != EG_PATTERN_ANY_PAYLOAD &&
        !accept(NULL, term->guard, node.op, node.payload))
      return false;
    for (uint32_t i = 0; i < term->arity; i++) {
      uint32_t child = p->children[term->children + i];
      if (p->terms[child].kind == EG_PATTERN_VAR) {
        if (!bind(c, p->terms[child].var, node.children[i])) return false;
      } else if (eg_engine_class_of(c->engine, c->nodes[child]).id != node.children[i].id)
        return false;
    }
  }
  return true;
}

/// Reports the choice once for every value of the variable roots that are still free.
static void report(choice *c, uint32_t root) {
  const random_pattern *p = c->pattern;
  for (; root < p->pattern.root_count; root++) {
    uint32_t term = p->roots[root], var = p->terms[term].var;
    if (p->terms[term].kind == EG_PATTERN_NODE)
      c->roots[root] = eg_engine_class_of(c->engine, c->nodes[term]);
    else if (c->vars[var].id != EG_CLASS_NONE.id)
      c->roots[root] = c->vars[var];
    else {
      for (eg_class k = eg_engine_first(c->engine); k.id != EG_CLASS_NONE.id;
           k = eg_engine_next(c->engine, k)) {
        c->vars[var] = k;
        report(c, root);
      }
      c->vars[var] = EG_CLASS_NONE;
      return;
    }
  }
  eg_match match = {.vars = c->vars, .roots = c->roots, .nodes = c->nodes};
  push_match(c->out, p, &match);
}

static void enumerate(choice *c, uint32_t term) {
  const random_pattern *p = c->pattern;
  if (term == p->pattern.term_count) {
    if (is_consistent(c)) report(c, 0);
    return;
  }
  c->nodes[term] = EG_NODE_NONE;
  if (!p->is_reachable[term] || p->terms[term].kind == EG_PATTERN_VAR) {
    enumerate(c, term + 1);
    return;
  }
  for (eg_node node = eg_engine_first_node(c->engine); node.id != EG_NODE_NONE.id;
       node = eg_engine_next_node(c->engine, node)) {
    c->nodes[term] = node;
    if (eg_engine_term(c->engine, node).op == p->terms[term].op) enumerate(c, term + 1);
  }
}

// ---- comparing ------------------------------------------------------------------------

static size_t compare(const eg_engine *e, const random_pattern *p) {
  size_t stride = MAX_VARS + p->pattern.root_count + p->pattern.term_count;
  matches got = {.stride = stride}, expected = {.stride = stride};
  eg_u32s_init(&got.words, eg_allocator_heap());
  eg_u32s_init(&expected.words, eg_allocator_heap());
  eg_matcher *program;
  collecting user = {.into = &got, .pattern = p};
  eg_search search = {.accept = accept, .on_match = on_match, .user = &user};
  assert_ok(eg_matcher_create(NULL, &p->pattern, &program));
  assert_ok(eg_matcher_search(program, e, &search));
  choice c = {.engine = e, .pattern = p, .out = &expected};
  enumerate(&c, 0);
  sort_matches(&got);
  sort_matches(&expected);
  size_t count = expected.words.len / stride;
  assert_int_equal(got.words.len / stride, count);
  if (count != 0)
    assert_memory_equal(got.words.data, expected.words.data,
                        got.words.len * sizeof(uint32_t));
  eg_matcher_destroy(program);
  eg_u32s_deinit(&got.words);
  eg_u32s_deinit(&expected.words);
  return count;
}

static void matches_are_those_of_plain_enumeration(void **state) {
  (void)state;
  uint64_t seed = test_seed(1);
  size_t total = 0, rounds = test_rounds(150), searches = 0, fruitful = 0;
  for (size_t i = 0; i < rounds; i++) {
    eg_rng rng = {seed + i};
    eg_engine *e = random_engine(&rng);
    for (int k = 0; k < 20; k++) {
      random_pattern p;
      make_pattern(&p, &rng);
      size_t count = compare(e, &p);
      total += count;
      searches++;
      fruitful += count != 0;
    }
    eg_engine_destroy(e);
  }
  print_message("%zu matches in %zu of %zu searches\n", total, fruitful, searches);
  assert_true(fruitful * 4 > searches); // the test would be empty otherwise
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(matches_are_those_of_plain_enumeration),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
