// Random rules and terms: equal terms are explained by steps that replay, as texts by a
// checker that shares nothing with the library; others are refused. And random ground
// equations, against a closure by fixpoint; the closure of replays against the same.
// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "egraph/explain_check.h"
#include "rewrites/replay/replay_closure.h"
#include "rewrites/terms/symbolic_explain.h"
#include "tests/explain_classes.h"
#include "tests/text_replay.h"

static uint32_t below(eg_rng *rng, uint32_t bound) {
  return (uint32_t)eg_rng_below(rng, bound);
}

// ---- ground equations ------------------------------------------------------------

enum { GROUND_TERMS = 40, EQUATIONS = 12 };

typedef struct ground_problem {
  eg_explainer *explainer;
  uint32_t count; // of terms
  bool equal[GROUND_TERMS][GROUND_TERMS];
  uint32_t sides[EQUATIONS][2], equations;
} ground_problem;

static void add_ground(ground_problem *p, eg_rng *rng) {
  uint32_t children[2], term;
  uint32_t arity = p->count < 4 ? 0 : below(rng, 3);
  for (uint32_t i = 0; i < arity; i++)
    children[i] = below(rng, p->count);
  eg_ground ground = {.op = arity == 0 ? 10 + p->count % 5 : below(rng, 2),
                      .payload = below(rng, 2) * (arity == 1),
                      .arity = arity,
                      .children = children};
  assert_ok(eg_explainer_add(p->explainer, &ground, &term));
  if (term == p->count) p->count++;
}

static bool are_congruent(const ground_problem *p, uint32_t a, uint32_t b) {
  const eg_ground_terms *terms = eg_explainer_terms(p->explainer);
  eg_ground x = eg_ground_at(terms, a), y = eg_ground_at(terms, b);
  if (x.op != y.op || x.payload != y.payload || x.arity != y.arity) return false;
  for (uint32_t i = 0; i < x.arity; i++)
    if (!p->equal[x.children[i]][y.children[i]]) return false;
  return true;
}

static void close_naively(ground_problem *p) {
  memset(p->equal, 0, sizeof p->equal);
  for (uint32_t i = 0; i < p->equations; i++)
    p->equal[p->sides[i][0]][p->sides[i][1]] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t a = 0; a < p->count; a++)
      for (uint32_t b = 0; b < p->count; b++) {
        bool equal = a == b || p->equal[b][a] || are_congruent(p, a, b);
        for (uint32_t c = 0; c < p->count && !equal; c++)
          equal = p->equal[a][c] && p->equal[c][b];
        if (!equal || p->equal[a][b]) continue;
        p->equal[a][b] = changed = true;
      }
  }
}

static bool no_equation(void *user, uint32_t reason, eg_equation *out) {
  (void)user;
  (void)reason;
  (void)out;
  return false;
}

static bool same_ground(const eg_ground_terms *a, uint32_t x, const eg_ground_terms *b,
                        uint32_t y) {
  eg_ground left = eg_ground_at(a, x), right = eg_ground_at(b, y);
  if (left.op != right.op || left.payload != right.payload || left.arity != right.arity)
    return false;
  for (uint32_t i = 0; i < left.arity; i++)
    if (!same_ground(a, left.children[i], b, right.children[i])) return false;
  return true;
}

static bool is_side_pair(void *user, const eg_ground_terms *terms, uint32_t left,
                         uint32_t right) {
  const ground_problem *p = user;
  const eg_ground_terms *own = eg_explainer_terms(p->explainer);
  for (uint32_t i = 0; i < p->equations; i++)
    if (same_ground(terms, left, own, p->sides[i][0]) &&
        same_ground(terms, right, own, p->sides[i][1]))
      return true;
  return false;
}

/// The closure of replays, which shares nothing with the explainer.
static void check_closure(const ground_problem *p) {
  eg_replay_closure closure;
  eg_replay_closure_init(&closure, eg_allocator_heap());
  assert_ok(eg_replay_closure_start(&closure, eg_explainer_terms(p->explainer)));
  for (uint32_t i = 0; i < p->equations; i++)
    assert_ok(eg_replay_closure_unite(&closure, p->sides[i][0], p->sides[i][1]));
  for (uint32_t a = 0; a < p->count; a++)
    for (uint32_t b = 0; b < p->count; b++)
      assert_int_equal(eg_replay_closure_are_equal(&closure, a, b), p->equal[a][b]);
  eg_replay_closure_deinit(&closure);
}

/// The equations that are collected for two terms make them equal, without the others.
static void check_reasons(ground_problem *p, uint32_t a, uint32_t b) {
  eg_reasons reasons;
  eg_reasons_init(&reasons, eg_allocator_heap());
  if (p->equal[a][b]) {
    ground_problem less = {.explainer = p->explainer, .count = p->count};
    assert_ok(eg_explainer_collect(p->explainer, a, b, &reasons));
    assert_true(reasons.reasons.len <= p->equations);
    for (size_t i = 0; i < reasons.reasons.len; i++)
      memcpy(less.sides[less.equations++], p->sides[reasons.reasons.data[i]],
             sizeof *less.sides);
    close_naively(&less);
    assert_true(less.equal[a][b]);
  } else {
    assert_fails(eg_explainer_collect(p->explainer, a, b, &reasons), EGRAPH_E_ARGUMENT,
                 "are not known to be equal");
  }
  eg_reasons_deinit(&reasons);
}

static void ask(ground_problem *p, uint32_t a, uint32_t b) {
  eg_explanation explanation;
  eg_explanation_init(&explanation, eg_allocator_heap());
  assert_int_equal(eg_explainer_are_equal(p->explainer, a, b), p->equal[a][b]);
  if (p->equal[a][b]) {
    eg_check_rules rules = {.user = p, .equation = no_equation, .is_given = is_side_pair};
    assert_ok(
        eg_explainer_explain(p->explainer, a, b, EG_EXPLAIN_MAX_WORDS, &explanation));
    assert_ok(eg_explanation_check(&explanation, &rules));
    const eg_ground_terms *own = eg_explainer_terms(p->explainer);
    assert_true(same_ground(&explanation.terms, explanation.from, own, a));
    assert_true(same_ground(&explanation.terms, explanation.to, own, b));
  } else {
    assert_fails(
        eg_explainer_explain(p->explainer, a, b, EG_EXPLAIN_MAX_WORDS, &explanation),
        EGRAPH_E_ARGUMENT, "not known to be equal");
  }
  eg_explanation_deinit(&explanation);
}

static void run_ground_round(eg_rng *rng) {
  ground_problem p = {.count = 0};
  assert_ok(eg_explainer_create(NULL, &p.explainer));
  uint32_t wanted = 6 + below(rng, GROUND_TERMS - 6);
  for (uint32_t i = 0; i < 2 * wanted && p.count < wanted; i++)
    add_ground(&p, rng);
  while (p.equations < EQUATIONS) {
    uint32_t *sides = p.sides[p.equations];
    sides[0] = below(rng, p.count);
    sides[1] = below(rng, p.count);
    assert_ok(eg_explainer_state(p.explainer, sides[0], sides[1], p.equations++));
    if (p.count < GROUND_TERMS) add_ground(&p, rng);
    if (below(rng, 4) != 0) continue;
    close_naively(&p);
    check_closure(&p);
    for (uint32_t a = 0; a < p.count; a++)
      for (uint32_t b = 0; b < p.count; b++) {
        ask(&p, a, b);
        if (below(rng, 8) == 0) check_reasons(&p, a, b);
      }
  }
  eg_explainer_destroy(p.explainer);
}

static void ground_equations_are_closed_and_explained(void **state) {
  (void)state;
  eg_rng rng = {test_seed(20261123)};
  size_t rounds = test_rounds(40);
  for (size_t round = 0; round < rounds; round++)
    run_ground_round(&rng);
}

// ---- random rules ----------------------------------------------------------------

enum { RULES = 7, START_TERMS = 4, MAX_TERM = 512, MAX_TEXT = 1 << 15, MAX_GIVEN = 8 };

typedef struct rule_text {
  char lhs[2][MAX_TERM], rhs[2][MAX_TERM]; // the second ones: of a multi-pattern
  bool is_multi;
} rule_text;

typedef struct problem {
  rule_text rules[RULES];
  uint32_t rule_count;
  char terms[START_TERMS][MAX_TERM];
  bool naive, unites;
  uint32_t seed;
} problem;

static const char *const HEADS[] = {"f", "+", "*", "g"};
static const uint32_t ARITIES[] = {1, 2, 2, 3};

/// A term over the leaves; `depth` bounds it.
static size_t write_term(eg_rng *rng, char *out, const char *const *leaves,
                         uint32_t leaf_count, uint32_t depth) {
  if (depth == 0 || below(rng, 4) == 0)
    return (size_t)sprintf(out, "%s", leaves[below(rng, leaf_count)]);
  uint32_t head = below(rng, 4);
  size_t n = (size_t)sprintf(out, "(%s", HEADS[head]);
  for (uint32_t i = 0; i < ARITIES[head]; i++) {
    out[n++] = ' ';
    n += write_term(rng, out + n, leaves, leaf_count, depth - 1);
  }
  return n + (size_t)sprintf(out + n, ")");
}

static void write_rule(eg_rng *rng, rule_text *rule) {
  static const char *const variables[] = {"?x", "?y", "a"};
  const char *first = HEADS[1 + below(rng, 2)], *second = HEADS[1 + below(rng, 2)];
  *rule = (rule_text){.is_multi = false};
  switch (below(rng, 5)) {
  case 0: (void)snprintf(rule->lhs[0], MAX_TERM, "(%s ?x ?y)", first); break;
  case 1:
    (void)snprintf(rule->lhs[0], MAX_TERM, "(%s ?x (%s ?y ?x))", first, second);
    break;
  case 2:
    (void)snprintf(rule->lhs[0], MAX_TERM, "(%s (%s ?x ?y) 0)", first, second);
    break;
  case 3: (void)snprintf(rule->lhs[0], MAX_TERM, "(%s ?x (f ?y))", first); break;
  default:
    (void)snprintf(rule->lhs[0], MAX_TERM, "(%s ?x ?y)", first);
    (void)snprintf(rule->lhs[1], MAX_TERM, "(%s ?y ?x)", second);
    (void)write_term(rng, rule->rhs[1], variables, 3, 1);
    rule->is_multi = true;
  }
  (void)write_term(rng, rule->rhs[0], variables, 3, 2);
}

static void make_problem(eg_rng *rng, problem *p) {
  static const char *const constants[] = {"a", "b", "0"};
  p->rule_count = 3 + below(rng, RULES - 4);
  for (uint32_t i = 0; i < p->rule_count; i++)
    write_rule(rng, &p->rules[i]);
  if (below(rng, 4) == 0) {
    rule_text *any = &p->rules[p->rule_count++];
    *any = (rule_text){.is_multi = false};
    strcpy(any->lhs[0], "?x");
    strcpy(any->rhs[0], "(+ ?x 0)");
  }
  for (uint32_t i = 0; i < START_TERMS; i++)
    (void)write_term(rng, p->terms[i], constants, 3, 4);
  p->naive = below(rng, 4) == 0;
  p->unites = below(rng, 2) == 0;
  p->seed = below(rng, UINT32_MAX);
}

static void add_rules(eg_symbolic *symbolic, const problem *p) {
  static char text[RULES * 5 * MAX_TERM];
  size_t n = (size_t)sprintf(text, "(egraph-rules 1 symbolic)\n");
  for (uint32_t i = 0; i < p->rule_count; i++) {
    const rule_text *rule = &p->rules[i];
    n += (size_t)sprintf(text + n, "(rule r%u (lhs %s %s) (rhs %s %s))\n", i,
                         rule->lhs[0], rule->lhs[1], rule->rhs[0], rule->rhs[1]);
  }
  assert_ok(eg_symbolic_add_rules(symbolic, "rules", text, n));
}

typedef struct given {
  eg_class a, b;
} given;

typedef struct run {
  const problem *problem;
  eg_symbolic *symbolic;
  eg_symbolic_explainer *explainer;
  eg_class starts[START_TERMS];
  given given[MAX_GIVEN];
  uint32_t given_count;
  bool is_done; // not stopped by a limit
  size_t steps, asked, given_steps;
  uint64_t digest; // of all steps
  forest *forest;
} run;

static void saturate(run *r, uint32_t threads, uint32_t iterations) {
  eg_saturation_options options = EG_SATURATION_OPTIONS_DEFAULT;
  eg_saturation_report report;
  options.scheduler = EG_SCHEDULER_SIMPLE;
  options.iteration_limit = iterations;
  options.node_limit = 600;
  options.time_limit_seconds = 1e9;
  options.naive = r->problem->naive;
  options.threads = threads;
  assert_ok(eg_symbolic_saturate(r->symbolic, &options, &report));
  eg_saturation_report_deinit(&report);
}

static void unite_some(run *r, eg_rng *rng) {
  eg_engine *engine = eg_symbolic_engine(r->symbolic);
  for (uint32_t i = 0; i < MAX_GIVEN; i++) {
    eg_class a = {below(rng, eg_engine_class_limit(engine))};
    eg_class b = {below(rng, eg_engine_class_limit(engine))};
    bool changed;
    assert_ok(eg_engine_unite(engine, a, b, EG_REASON_SEED, &changed));
    if (changed) r->given[r->given_count++] = (given){a, b};
  }
  assert_ok(eg_engine_rebuild(engine));
}

static void start_run(run *r, const problem *p, forest *f, uint32_t threads) {
  eg_rng rng = {p->seed};
  *r = (run){.problem = p, .forest = f};
  assert_ok(eg_symbolic_create(NULL, &r->symbolic));
  assert_ok(eg_symbolic_keep_explanations(r->symbolic));
  add_rules(r->symbolic, p);
  for (uint32_t i = 0; i < START_TERMS; i++)
    assert_ok(eg_symbolic_add_term(r->symbolic, "term", p->terms[i], strlen(p->terms[i]),
                                   &r->starts[i]));
  saturate(r, threads, 2);
  if (p->unites) unite_some(r, &rng);
  saturate(r, threads, 2);
  assert_ok(eg_symbolic_explainer_create(NULL, r->symbolic, &r->explainer));
}

static void end_run(run *r) {
  eg_symbolic_explainer_destroy(r->explainer);
  eg_symbolic_destroy(r->symbolic);
}

// ---- replaying -------------------------------------------------------------------

/// The text of a term, or false when it is large.
static bool spell(const run *r, const eg_ground_terms *terms, uint32_t term, char *out) {
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  bool fits = eg_symbolic_print_ground(r->symbolic, terms, term, &text) == EGRAPH_OK &&
              text.chars.len < MAX_TEXT;
  if (fits) strcpy(out, eg_text_of(&text));
  eg_text_deinit(&text);
  return fits;
}

static bool is_united(const run *r, const tree *left, const tree *right) {
  static char text[MAX_TEXT];
  for (uint32_t i = 0; i < r->given_count; i++) {
    uint32_t term;
    eg_explanation made; // its terms: those of the two classes
    eg_explanation_init(&made, eg_allocator_heap());
    assert_ok(explain_classes(eg_symbolic_engine_of(r->symbolic), r->given[i].a,
                              r->given[i].a, &made));
    bool same = spell(r, &made.terms, made.from, text) &&
                tree_same(tree_of(r->forest, text), left);
    assert_ok(explain_classes(eg_symbolic_engine_of(r->symbolic), r->given[i].b,
                              r->given[i].b, &made));
    same = same && spell(r, &made.terms, made.from, text) &&
           tree_same(tree_of(r->forest, text), right);
    eg_explanation_deinit(&made);
    (void)term;
    if (same) return true;
  }
  return false;
}

static void replay_step(run *r, const eg_explanation *e, const eg_step *step,
                        const tree *before, const tree *after) {
  uint32_t index, root;
  tree_go_down(&before, &after, e->positions.data + step->position, step->depth);
  const tree *left = step->backward ? after : before;
  const tree *right = step->backward ? before : after;
  if (!eg_symbolic_reason_of(step->reason, &index, &root)) {
    assert_true(is_united(r, left, right));
    r->given_steps++;
    return;
  }
  assert_true(index < r->problem->rule_count);
  const rule_text *rule = &r->problem->rules[index];
  assert_true(root <= (uint32_t)rule->is_multi);
  assert_true(tree_is_instance(tree_of(r->forest, rule->lhs[root]),
                               tree_of(r->forest, rule->rhs[root]), left, right));
}

/// The steps as texts; returns early when a term is large.
static void replay(run *r, const eg_explanation *e) {
  static char before[MAX_TEXT], after[MAX_TEXT], to[MAX_TEXT];
  if (!spell(r, &e->terms, e->from, before) || !spell(r, &e->terms, e->to, to)) return;
  for (size_t i = 0; i < e->steps.len; i++) {
    const eg_step *step = &e->steps.data[i];
    r->forest->used = 0;
    if (!spell(r, &e->terms, step->after, after)) return;
    replay_step(r, e, step, tree_of(r->forest, before), tree_of(r->forest, after));
    r->digest = eg_hash_bytes(r->digest, after, strlen(after));
    r->digest = eg_hash_combine(r->digest, step->reason + step->backward);
    strcpy(before, after);
    r->steps++;
  }
  assert_string_equal(before, to);
}

static void explain_pair(run *r, eg_class a, eg_class b) {
  const eg_engine *engine = eg_symbolic_engine_of(r->symbolic);
  bool equal = eg_class_same(eg_engine_find(engine, a), eg_engine_find(engine, b));
  uint32_t from, to;
  eg_explanation e;
  eg_explanation_init(&e, eg_allocator_heap());
  assert_ok(eg_symbolic_explainer_class(r->explainer, a, &from));
  assert_ok(eg_symbolic_explainer_class(r->explainer, b, &to));
  egraph_status status =
      eg_symbolic_explainer_explain(r->explainer, from, to, EG_EXPLAIN_MAX_WORDS, &e);
  if (equal) {
    assert_ok(status);
    assert_ok(eg_symbolic_check_explanation(NULL, r->symbolic, &e));
    replay(r, &e);
    r->asked++;
  } else {
    assert_int_equal(status, EGRAPH_E_ARGUMENT);
  }
  eg_explanation_deinit(&e);
}

/// Another class of the same root, when there is one near.
static eg_class equal_to(const eg_engine *engine, eg_rng *rng, eg_class a) {
  uint32_t limit = eg_engine_class_limit(engine), start = below(rng, limit);
  for (uint32_t i = 0; i < limit; i++) {
    eg_class b = {(start + i) % limit};
    if (b.id != a.id &&
        eg_class_same(eg_engine_find(engine, a), eg_engine_find(engine, b)))
      return b;
  }
  return a;
}

static void ask_all(run *r) {
  const eg_engine *engine = eg_symbolic_engine_of(r->symbolic);
  eg_rng rng = {r->problem->seed + 1};
  for (uint32_t i = 0; i < START_TERMS; i++)
    for (uint32_t k = 0; k < START_TERMS; k++)
      explain_pair(r, r->starts[i], r->starts[k]);
  for (uint32_t i = 0; i < 30; i++) {
    eg_class a = {below(&rng, eg_engine_class_limit(engine))};
    explain_pair(r, a, equal_to(engine, &rng, a));
    explain_pair(r, a, (eg_class){below(&rng, eg_engine_class_limit(engine))});
  }
}

static void equal_terms_are_explained_and_others_refused(void **state) {
  (void)state;
  eg_rng rng = {test_seed(20261124)};
  size_t rounds = test_rounds(150), steps = 0, asked = 0, given_steps = 0;
  forest *f = malloc(sizeof *f);
  assert_non_null(f);
  for (size_t round = 0; round < rounds; round++) {
    problem p;
    run r, other;
    make_problem(&rng, &p);
    start_run(&r, &p, f, 1);
    ask_all(&r);
    if (round % 4 == 0) { // no thread changes a step
      start_run(&other, &p, f, 3);
      ask_all(&other);
      assert_int_equal(other.digest, r.digest);
      end_run(&other);
    }
    steps += r.steps;
    asked += r.asked;
    given_steps += r.given_steps;
    end_run(&r);
  }
  free(f);
  print_message("%zu explanations, %zu steps, %zu of them unions\n", asked, steps,
                given_steps);
  assert_true(steps > 10 * rounds && given_steps > rounds / 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ground_equations_are_closed_and_explained),
      cmocka_unit_test(equal_terms_are_explained_and_others_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
