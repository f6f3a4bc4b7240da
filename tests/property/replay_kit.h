// Random graphs for replays, as text: matrices of 4 x 4 and images, constants that rules
// ask for, operators with several results, an operator that nobody knows.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_REPLAY_KIT_H
#define EG_TESTS_REPLAY_KIT_H

#include "base/hash.h"
#include "base/text.h"
#include "include/egraph.h"
#include "pcg/graph/graph.h"
#include "tests/testing.h"

typedef struct replay_maker {
  eg_rng rng;
  eg_text text;
  unsigned values, weights; // values v0 .. are matrices
} replay_maker;

#define PUT(...) assert_ok(eg_text_printf(&m->text, __VA_ARGS__))

static inline unsigned replay_pick(replay_maker *m, unsigned bound) {
  return (unsigned)eg_rng_below(&m->rng, bound);
}

/// A weight with data, which is one number one time in three.
static inline unsigned replay_weight(replay_maker *m, const char *type, unsigned count) {
  static const char *const constants[] = {"0.0", "1.0", "2.0", "0.5", "-1.0"};
  bool is_splat = replay_pick(m, 3) == 0;
  const char *constant = constants[replay_pick(m, 5)];
  PUT("(weight w%u \"%s\" [", m->weights, type);
  for (unsigned i = 0; i < count; i++)
    if (is_splat)
      PUT(" %s", constant);
    else
      PUT(" %.3f", (double)replay_pick(m, 2000) / 1000.0 - 1.0 + 0.0005);
  PUT("])\n");
  return m->weights++;
}

static inline unsigned replay_operand(replay_maker *m) {
  unsigned recent = m->values < 4 ? m->values : 4;
  return replay_pick(m, 3) == 0 ? replay_pick(m, m->values)
                                : m->values - 1 - replay_pick(m, recent);
}

static inline void replay_unary(replay_maker *m) {
  static const char *const terms[] = {"(relu v%u)",
                                      "(tanh v%u)",
                                      "(neg v%u)",
                                      "(sigmoid v%u)",
                                      "(identity v%u)",
                                      "(transpose :perm [1 0] v%u)",
                                      "(transpose :perm [1 0] v%u)",
                                      "(softmax :axis 1 v%u)",
                                      "(reshape :shape [4 4] v%u)",
                                      "(clip :min -0.5 :max 0.5 v%u)"};
  unsigned x = replay_operand(m);
  PUT("(let v%u ", m->values++);
  PUT(terms[replay_pick(m, sizeof terms / sizeof *terms)], x);
  PUT(")\n");
}

static inline void replay_binary(replay_maker *m) {
  static const char *const ops[] = {"add", "sub",    "mul",   "add",
                                    "mul", "matmul", "matmul"};
  unsigned x = replay_operand(m), y = replay_operand(m);
  PUT("(let v%u (%s v%u v%u))\n", m->values++, ops[replay_pick(m, 7)], x, y);
}

static inline void replay_with_weight(replay_maker *m) {
  static const char *const ops[] = {"add", "mul", "sub", "div", "mul"};
  static const char *const types[] = {"float32[4]", "float32[1]", "float32[]",
                                      "float32[4,4]"};
  static const unsigned counts[] = {4, 1, 1, 16};
  unsigned shape = replay_pick(m, 4), x = replay_operand(m);
  unsigned w = replay_weight(m, types[shape], counts[shape]);
  PUT("(let v%u (%s v%u w%u))\n", m->values++, ops[replay_pick(m, 5)], x, w);
}

/// Products that share an operand, as towers have them.
static inline void replay_towers(replay_maker *m) {
  unsigned x = replay_operand(m), count = 1 + replay_pick(m, 3);
  for (unsigned i = 0; i < count; i++) {
    unsigned w = replay_weight(m, "float32[4,4]", 16);
    PUT("(let v%u (matmul v%u w%u))\n", m->values++, x, w);
  }
}

static inline void replay_split(replay_maker *m) {
  unsigned x = replay_operand(m), axis = replay_pick(m, 2), y = m->values++;
  bool turned = replay_pick(m, 2) == 0;
  PUT("(let [s%ua s%ub] (split :axis %u :sizes [2 2] v%u))\n", y, y, axis, x);
  PUT("(let v%u (concat :axis %u s%u%c s%u%c))\n", y, axis, y, turned ? 'b' : 'a', y,
      turned ? 'a' : 'b');
}

static inline void replay_unknown(replay_maker *m) {
  unsigned x = replay_operand(m), y = replay_operand(m), first = m->values;
  m->values += 1;
  PUT("(let [v%u u%u] (opaque \"Mystery\" v%u v%u) :types [\"float32[4,4]\" none])\n",
      first, first, x, y);
}

static inline void replay_image(replay_maker *m) {
  unsigned w = replay_weight(m, "float32[4,1,3,3]", 36);
  unsigned k = replay_weight(m, "float32[4,4,1,1]", 16);
  unsigned s = replay_weight(m, "float32[4]", 4), t = replay_weight(m, "float32[4]", 4);
  PUT("(weight mean \"float32[4]\" [0.1 0.2 0.3 0.4])"
      "(weight var \"float32[4]\" [1.1 1.2 1.3 1.4])\n"
      "(let c0 (conv :strides [1 1] :pads [1 1 1 1] :dilations [1 1] :group 4 image "
      "w%u))\n"
      "(let c1 (batch-normalization c0 w%u w%u mean var)) (let c2 (relu c1))\n"
      "(let c3 (conv :strides [1 1] :pads [0 0 0 0] :dilations [1 1] image w%u))\n"
      "(let c4 (add c3 c2)) (let c5 (%s c4)) (output c5)\n",
      w, s, t, k, replay_pick(m, 2) == 0 ? "relu" : "tanh");
}

/// `is_known`: without operators that cannot run.
static inline egraph_graph *replay_graph(uint64_t seed, bool is_known) {
  static void (*const steps[])(replay_maker *) = {
      replay_unary,       replay_unary,  replay_binary, replay_binary, replay_with_weight,
      replay_with_weight, replay_towers, replay_split,  replay_unknown};
  replay_maker maker = {.rng = {seed}}, *m = &maker;
  eg_text_init(&m->text, eg_allocator_heap());
  PUT("(egraph-graph 1)\n(input v0 \"float32[4,4]\") (input v1 \"float32[4,4]\")\n"
      "(input image \"float32[1,4,5,5]\")\n");
  m->values = 2;
  unsigned count = 4 + replay_pick(m, 10);
  for (unsigned i = 0; i < count; i++)
    steps[replay_pick(m, is_known ? 8 : 9)](m);
  PUT("(output v%u)\n", m->values - 1);
  if (replay_pick(m, 2) == 0) PUT("(output more v%u)\n", replay_pick(m, m->values));
  if (replay_pick(m, 3) == 0) replay_image(m);
  egraph_graph *graph;
  assert_ok(
      eg_graph_parse(NULL, "random", eg_text_of(&m->text), m->text.chars.len, &graph));
  eg_text_deinit(&m->text);
  return graph;
}

static inline bool replay_cost(void *user, const egraph_cost_query *query,
                               double *out_seconds) {
  uint64_t hash = eg_hash_bytes(*(uint64_t *)user, query->text, strlen(query->text));
  *out_seconds = 1e-6 * (1.0 + (double)(hash % 1000));
  return true;
}

/// As the graph has it in text, with one word changed, so that it computes something
/// else on random inputs; NULL where that was not found in some tries.
static inline egraph_graph *replay_changed(const egraph_graph *graph, uint64_t seed) {
  static const char *const words[][2] = {{"(relu ", "(tanh "},
                                         {"(tanh ", "(relu "},
                                         {"(add ", "(sub "},
                                         {"(sub ", "(add "},
                                         {"(mul ", "(add "},
                                         {"(neg ", "(relu "},
                                         {"(sigmoid ", "(tanh "},
                                         {"[1 0]", "[0 1]"},
                                         {"0.5", "0.75"},
                                         {" v0", " v1"},
                                         {" v1", " v0"},
                                         {":axis 1", ":axis 0"},
                                         {"[2 2]", "[1 3]"},
                                         {":act relu", ":act tanh"},
                                         {"(softmax", "(log-softmax"},
                                         {"[1.0]", "[1.5]"},
                                         {":max 0.5", ":max 0.25"},
                                         {"(matmul", "(matmul :transB 1"}};
  enum { COUNT = sizeof words / sizeof *words, TRIES = 60 };
  eg_rng rng = {seed};
  char *text;
  assert_ok(egraph_graph_text(NULL, graph, &text));
  egraph_graph *out = NULL;
  for (int i = 0; i < TRIES && out == NULL; i++) {
    const char *const *word = words[eg_rng_below(&rng, COUNT)];
    const char *begin = strstr(text, "(let "), *place = NULL;
    if (begin == NULL) break;
    unsigned seen = 0; // a random occurrence
    for (const char *at = strstr(begin, word[0]); at != NULL;
         at = strstr(at + 1, word[0]))
      if (eg_rng_below(&rng, ++seen) == 0) place = at;
    if (place == NULL) continue;
    eg_text changed;
    eg_text_init(&changed, eg_allocator_heap());
    assert_ok(eg_text_append_bytes(&changed, text, (size_t)(place - text)));
    assert_ok(eg_text_append(&changed, word[1]));
    assert_ok(eg_text_append(&changed, place + strlen(word[0])));
    egraph_compare_options compare = {.size = sizeof compare, .repeats = 1, .seed = seed};
    egraph_comparison found = {.max_error = 0};
    if (eg_graph_parse(NULL, "changed", eg_text_of(&changed), changed.chars.len, &out) ==
            EGRAPH_OK &&
        (egraph_compare(NULL, graph, out, &compare, &found) != EGRAPH_OK ||
         !(found.max_error > 1e-2))) {
      egraph_graph_destroy(out);
      out = NULL;
    }
    eg_text_deinit(&changed);
  }
  egraph_string_free(NULL, text);
  return out;
}

/// Optimized with an explanation, under costs that lead everywhere.
static inline egraph_result *replay_optimize(const egraph_graph *graph,
                                             const egraph_rules *rules, uint64_t seed) {
  egraph_costs_options options = {
      .size = sizeof options, .override_cost = replay_cost, .user = &seed};
  egraph_search search = egraph_search_default();
  const egraph_options limits = {.size = sizeof limits, .search = &search};
  search.node_limit = 1500;
  search.time_limit = 20;
  search.explain = true;
  if (seed % 3 == 0) search.math = EGRAPH_MATH_FAST;
  egraph_costs *costs;
  egraph_result *result;
  assert_ok(egraph_costs_create(NULL, &options, &costs));
  assert_ok(egraph_optimize(NULL, graph, rules, costs, &limits, &result));
  egraph_costs_destroy(costs);
  return result;
}

/// The shipped rules, those that only make variants too.
static inline egraph_rules *replay_rules(bool explores) {
  static const char *const files[] = {"explore-algebra", "explore-matmul",
                                      "explore-conv"};
  egraph_rules *rules;
  assert_ok(egraph_rules_create(NULL, &rules));
  assert_ok(egraph_rules_add_builtin(rules));
  for (size_t i = 0; explores && i < sizeof files / sizeof *files; i++)
    assert_ok(egraph_rules_enable(rules, files[i], true));
  return rules;
}

#undef PUT

#endif
