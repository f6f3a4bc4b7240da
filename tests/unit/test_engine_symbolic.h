// A language of symbols for the engine's tests: terms and rules as S-expressions,
// operators interned by spelling, no payloads. Rules are run as in the published counts:
// search all, apply all, rebuild.
//
//   (comm-add (+ ?a ?b) => (+ ?b ?a))      several left sides and as many right sides:
//   multi-pattern
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_ENGINE_SYMBOLIC_H
#define EG_TESTS_ENGINE_SYMBOLIC_H

#include "tests/testing.h"

#include "base/sexpr.h"
#include "base/vec.h"
#include "egraph/engine.h"
#include "egraph/pattern.h"

enum { SYM_MAX_SYMBOLS = 4096, SYM_MAX_TERMS = 256, SYM_MAX_ROOTS = 4 };

/// Spellings; the index is the operator number. Strings are borrowed from `arena`.
typedef struct sym_names {
  const char *text[SYM_MAX_SYMBOLS];
  uint32_t count;
} sym_names;

typedef struct sym_rule {
  const char *name;
  eg_pattern_term terms[SYM_MAX_TERMS]; // of both sides
  uint32_t children[SYM_MAX_TERMS], term_count, child_count, var_count;
  const char *vars[SYM_MAX_TERMS];
  uint32_t lhs[SYM_MAX_ROOTS], rhs[SYM_MAX_ROOTS], root_count;
  eg_matcher *program;
  eg_u32s matches; // var_count + root_count classes each
} sym_rule;

typedef struct sym_world {
  egraph_allocator alloc;
  eg_arena arena;
  sym_names names;
  eg_engine *engine;
  sym_rule **rules;
  size_t rule_count, rule_cap;
  size_t matches; // of the last iteration
} sym_world;

static inline uint32_t sym_intern(sym_world *w, const char *text) {
  for (uint32_t i = 0; i < w->names.count; i++)
    if (strcmp(w->names.text[i], text) == 0) return i;
  assert_true(w->names.count < SYM_MAX_SYMBOLS);
  assert_ok(
      eg_arena_string(&w->arena, text, strlen(text), &w->names.text[w->names.count]));
  return w->names.count++;
}

static inline void sym_init(sym_world *w, egraph_allocator alloc) {
  *w = (sym_world){.alloc = alloc};
  eg_arena_init(&w->arena, alloc);
  assert_ok(eg_engine_create(&alloc, NULL, &w->engine));
}

static inline void sym_deinit(sym_world *w) {
  for (size_t i = 0; i < w->rule_count; i++) {
    eg_matcher_destroy(w->rules[i]->program);
    eg_u32s_deinit(&w->rules[i]->matches);
    eg_free(w->alloc, w->rules[i], 1, sizeof(sym_rule));
  }
  eg_free(w->alloc, w->rules, w->rule_cap, sizeof *w->rules);
  eg_engine_destroy(w->engine);
  eg_arena_deinit(&w->arena);
}

static inline eg_class sym_add_node(sym_world *w, const char *op, uint32_t arity,
                                    const eg_class *children) {
  eg_term term = {.op = sym_intern(w, op), .arity = arity, .children = children};
  eg_class class = EG_CLASS_NONE;
  assert_ok(eg_engine_add(w->engine, &term, EG_REASON_SEED, &class));
  return class;
}

/// Terms in tests are shallow; the reader limits their depth.
static inline eg_class sym_add_expr(sym_world *w, const eg_sexpr *expr) {
  if (expr->kind == EG_SEXPR_ATOM) return sym_add_node(w, expr->text, 0, NULL);
  eg_class children[16];
  assert_in_range(expr->count, 1, 16);
  for (uint32_t i = 1; i < expr->count; i++)
    children[i - 1] = sym_add_expr(w, &expr->children[i]);
  return sym_add_node(w, expr->children[0].text, expr->count - 1, children);
}

static inline eg_sexpr sym_parse(sym_world *w, const char *text) {
  eg_sexpr file;
  assert_ok(eg_sexpr_parse(&w->arena, "test", text, strlen(text), &file));
  return file;
}

/// Adds the terms of a text; returns the class of the last one.
static inline eg_class sym_add(sym_world *w, const char *text) {
  eg_sexpr file = sym_parse(w, text);
  eg_class class = EG_CLASS_NONE;
  for (uint32_t i = 0; i < file.count; i++)
    class = sym_add_expr(w, &file.children[i]);
  assert_ok(eg_engine_rebuild(w->engine));
  return class;
}

static inline uint32_t sym_var(sym_rule *rule, const char *name) {
  for (uint32_t i = 0; i < rule->var_count; i++)
    if (strcmp(rule->vars[i], name) == 0) return i;
  rule->vars[rule->var_count] = name;
  return rule->var_count++;
}

static inline uint32_t sym_term(sym_world *w, sym_rule *rule, const eg_sexpr *expr) {
  uint32_t inner[16], count = 0;
  const char *head = expr->kind == EG_SEXPR_ATOM ? expr->text : expr->children[0].text;
  if (expr->kind != EG_SEXPR_ATOM)
    for (uint32_t i = 1; i < expr->count; i++)
      inner[count++] = sym_term(w, rule, &expr->children[i]);
  assert_true(rule->term_count < SYM_MAX_TERMS &&
              rule->child_count + count <= SYM_MAX_TERMS);
  eg_pattern_term *term = &rule->terms[rule->term_count];
  if (head[0] == '?') {
    *term = (eg_pattern_term){.kind = EG_PATTERN_VAR, .var = sym_var(rule, head)};
    return rule->term_count++;
  }
  *term = (eg_pattern_term){.kind = EG_PATTERN_NODE,
                            .op = sym_intern(w, head),
                            .guard = EG_PATTERN_ANY_PAYLOAD,
                            .exact = true,
                            .arity = count,
                            .children = rule->child_count};
  for (uint32_t i = 0; i < count; i++)
    rule->children[rule->child_count++] = inner[i];
  return rule->term_count++;
}

static inline void sym_compile(sym_world *w, sym_rule *rule) {
  eg_pattern pattern = {.terms = rule->terms,
                        .term_count = rule->term_count,
                        .children = rule->children,
                        .child_count = rule->child_count,
                        .roots = rule->lhs,
                        .root_count = rule->root_count,
                        .var_count = rule->var_count};
  assert_ok(eg_matcher_create(&w->alloc, &pattern, &rule->program));
}

/// exprs: lhs... => rhs...; without `=>` only a pattern.
static inline sym_rule *sym_rule_of(sym_world *w, const char *name, const eg_sexpr *exprs,
                                    uint32_t count) {
  sym_rule *rule;
  assert_ok(eg_alloc(w->alloc, 1, sizeof *rule, &rule));
  rule->name = name;
  eg_u32s_init(&rule->matches, w->alloc);
  uint32_t i = 0, right = 0;
  for (; i < count && !eg_sexpr_is_atom(&exprs[i], "=>"); i++)
    rule->lhs[rule->root_count++] = sym_term(w, rule, &exprs[i]);
  for (i++; i < count; i++)
    rule->rhs[right++] = sym_term(w, rule, &exprs[i]);
  assert_true(right == 0 || right == rule->root_count);
  sym_compile(w, rule);
  if (w->rule_count == w->rule_cap) {
    size_t cap = w->rule_cap * 2 + 8;
    assert_ok(eg_resize(w->alloc, w->rule_cap, cap, sizeof *w->rules, &w->rules));
    w->rule_cap = cap;
  }
  w->rules[w->rule_count++] = rule;
  return rule;
}

/// Rules of a text, each (name lhs... => rhs...).
static inline void sym_rules(sym_world *w, const char *text) {
  eg_sexpr file = sym_parse(w, text);
  for (uint32_t i = 0; i < file.count; i++) {
    const eg_sexpr *rule = &file.children[i];
    sym_rule_of(w, rule->children[0].text, rule->children + 1, rule->count - 1);
  }
}

static inline egraph_status sym_on_match(void *user, const eg_match *match, bool *stop) {
  sym_rule *rule = user;
  (void)stop;
  for (uint32_t i = 0; i < rule->var_count; i++)
    EG_TRY(eg_u32s_push(&rule->matches, match->vars[i].id));
  for (uint32_t i = 0; i < rule->root_count; i++)
    EG_TRY(eg_u32s_push(&rule->matches, match->roots[i].id));
  return EGRAPH_OK;
}

/// Searches one pattern; returns the number of matches, which stand in rule->matches.
static inline size_t sym_search(sym_world *w, sym_rule *rule) {
  eg_search search = {.on_match = sym_on_match, .user = rule};
  rule->matches.len = 0;
  assert_ok(eg_matcher_search(rule->program, w->engine, &search));
  return rule->matches.len / (rule->var_count + rule->root_count);
}

/// Adds the right side `root` under a match; terms stand children first.
static inline eg_class sym_instantiate(sym_world *w, const sym_rule *rule, uint32_t root,
                                       const uint32_t *vars) {
  const eg_pattern_term *term = &rule->terms[root];
  if (term->kind == EG_PATTERN_VAR) return (eg_class){vars[term->var]};
  eg_class children[16], class = EG_CLASS_NONE;
  for (uint32_t i = 0; i < term->arity; i++)
    children[i] = sym_instantiate(w, rule, rule->children[term->children + i], vars);
  eg_term added = {.op = term->op, .arity = term->arity, .children = children};
  assert_ok(eg_engine_add(w->engine, &added, 0, &class));
  return class;
}

static inline void sym_apply(sym_world *w, sym_rule *rule) {
  size_t stride = rule->var_count + rule->root_count;
  for (size_t i = 0; i < rule->matches.len; i += stride)
    for (uint32_t k = 0; k < rule->root_count; k++) {
      const uint32_t *vars = rule->matches.data + i;
      bool changed;
      eg_class right = sym_instantiate(w, rule, rule->rhs[k], vars);
      assert_ok(eg_engine_unite(w->engine, (eg_class){vars[rule->var_count + k]}, right,
                                0, &changed));
    }
}

/// One iteration: search all rules, apply all, rebuild.
static inline void sym_iterate(sym_world *w) {
  w->matches = 0;
  for (size_t i = 0; i < w->rule_count; i++)
    w->matches += sym_search(w, w->rules[i]);
  for (size_t i = 0; i < w->rule_count; i++)
    sym_apply(w, w->rules[i]);
  assert_ok(eg_engine_rebuild(w->engine));
}

// ---- the published specifications -----------------------------------------------------

static inline void sym_load_ac(sym_world *w, unsigned leaves) {
  char text[1024];
  int length = 0;
  for (unsigned i = 1; i < leaves; i++)
    length += snprintf(text + length, sizeof text - (size_t)length, "(+ x%u ", i);
  length += snprintf(text + length, sizeof text - (size_t)length, "x%u", leaves);
  for (unsigned i = 1; i < leaves; i++)
    text[length++] = ')';
  text[length] = '\0';
  sym_add(w, text);
  sym_rules(w, "(comm-add (+ ?a ?b) => (+ ?b ?a))"
               "(assoc-add (+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c))");
}

#define SYM_MATH24                                                                       \
  "(comm-add (+ ?a ?b) => (+ ?b ?a))"                                                    \
  "(comm-mul (* ?a ?b) => (* ?b ?a))"                                                    \
  "(assoc-add (+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c))"                                     \
  "(assoc-mul (* ?a (* ?b ?c)) => (* (* ?a ?b) ?c))"                                     \
  "(sub-canon (- ?a ?b) => (+ ?a (* -1 ?b)))"                                            \
  "(zero-add (+ ?a 0) => ?a)"                                                            \
  "(zero-mul (* ?a 0) => 0)"                                                             \
  "(one-mul (* ?a 1) => ?a)"                                                             \
  "(cancel-sub (- ?a ?a) => 0)"                                                          \
  "(distribute (* ?a (+ ?b ?c)) => (+ (* ?a ?b) (* ?a ?c)))"                             \
  "(factor (+ (* ?a ?b) (* ?a ?c)) => (* ?a (+ ?b ?c)))"                                 \
  "(pow-mul (* (pow ?a ?b) (pow ?a ?c)) => (pow ?a (+ ?b ?c)))"                          \
  "(pow1 (pow ?x 1) => ?x)"                                                              \
  "(pow2 (pow ?x 2) => (* ?x ?x))"                                                       \
  "(d-add (d ?x (+ ?a ?b)) => (+ (d ?x ?a) (d ?x ?b)))"                                  \
  "(d-mul (d ?x (* ?a ?b)) => (+ (* ?a (d ?x ?b)) (* ?b (d ?x ?a))))"                    \
  "(d-sin (d ?x (sin ?x)) => (cos ?x))"                                                  \
  "(d-cos (d ?x (cos ?x)) => (* -1 (sin ?x)))"                                           \
  "(i-one (i 1 ?x) => ?x)"                                                               \
  "(i-cos (i (cos ?x) ?x) => (sin ?x))"                                                  \
  "(i-sin (i (sin ?x) ?x) => (* -1 (cos ?x)))"                                           \
  "(i-sum (i (+ ?f ?g) ?x) => (+ (i ?f ?x) (i ?g ?x)))"                                  \
  "(i-dif (i (- ?f ?g) ?x) => (- (i ?f ?x) (i ?g ?x)))"                                  \
  "(i-parts (i (* ?a ?b) ?x) => (- (* ?a (i ?b ?x)) (i (* (d ?x ?a) (i ?b ?x)) ?x)))"
#define SYM_MATH26 SYM_MATH24 "(add-zero ?a => (+ ?a 0))(mul-one ?a => (* ?a 1))"
#define SYM_MATH_TERMS                                                                   \
  "(i (ln x) x)(i (+ x (cos x)) x)(i (* (cos x) x) x)(d x (+ 1 (* 2 x)))"                \
  "(d x (- (pow x 3) (* 7 (pow x 2))))(+ (* y (+ x y)) (- (+ x 2) (+ x x)))"             \
  "(/ 1 (- (/ (+ 1 (sqrt five)) 2) (/ (- 1 (sqrt five)) 2)))"

#endif
