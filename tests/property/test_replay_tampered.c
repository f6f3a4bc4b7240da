// Explanations that were tampered with. Those of another model, of another result and
// with another output are refused. Of those changed in the middle the ones that are
// accepted still say that the two graphs are equal, by other steps or with fewer; so they
// are no explanation of a graph that computes something else.
// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <stdlib.h>

#include "rewrites/replay/explained.h"
#include "tests/property/replay_kit.h"

typedef struct scene {
  egraph_graph *given, *changed; // changed: computes something else; may be NULL
  egraph_result *of_given, *of_changed;
  const char *text, *changed_text;
} scene;

static bool accepts(const egraph_rules *rules, const egraph_graph *given,
                    const egraph_graph *result, const char *text) {
  egraph_replay_report report;
  return egraph_replay(NULL, given, result, rules, "e", text, &report) == EGRAPH_OK;
}

static void open_scene(const egraph_rules *rules, uint64_t seed, scene *s) {
  *s = (scene){.given = replay_graph(seed, true)};
  s->of_given = replay_optimize(s->given, rules, seed);
  assert_ok(egraph_result_explanation(s->of_given, &s->text));
  assert_true(accepts(rules, s->given, egraph_result_graph(s->of_given), s->text));
  s->changed = replay_changed(s->given, seed);
  if (s->changed == NULL) return;
  s->of_changed = replay_optimize(s->changed, rules, seed + 1);
  assert_ok(egraph_result_explanation(s->of_changed, &s->changed_text));
}

static void close_scene(scene *s) {
  egraph_result_destroy(s->of_given);
  egraph_result_destroy(s->of_changed);
  egraph_graph_destroy(s->given);
  egraph_graph_destroy(s->changed);
}

// ---- explanations of something else -----------------------------------------------

static void must_refuse(const egraph_rules *rules, const egraph_graph *given,
                        const egraph_graph *result, const char *text, uint64_t seed) {
  if (!accepts(rules, given, result, text)) return;
  char *before, *after;
  assert_ok(egraph_graph_text(NULL, given, &before));
  assert_ok(egraph_graph_text(NULL, result, &after));
  print_error("seed %llu: accepted\n%s\nas\n%s\nby\n%s\n", (unsigned long long)seed,
              before, after, text);
  fail();
}

static void parse(const char *text, eg_explained *out) {
  assert_ok(eg_explained_init(out, eg_allocator_heap()));
  assert_ok(eg_explained_parse(out, "e", text, strlen(text)));
}

/// The steps of both explanations, with the outputs of the second: it is consistent in
/// itself, and has all that a proof about the first could use.
static void join(const char *first, const char *second, eg_text *out) {
  enum { MOST = 4096 };
  eg_explained a, b;
  uint32_t terms[MOST], operands[MOST];
  parse(first, &a);
  parse(second, &b);
  assert_true(eg_ground_count(&b.terms) <= MOST);
  for (uint32_t t = 0; t < eg_ground_count(&b.terms); t++) {
    eg_ground ground = eg_ground_at(&b.terms, t);
    const eg_attrs *attrs = eg_explained_attrs(&b, t);
    for (uint32_t i = 0; i < ground.arity; i++)
      operands[i] = terms[ground.children[i]];
    assert_ok(attrs == NULL
                  ? eg_explained_add_constant(&a, operands[0], &terms[t])
                  : eg_explained_add(&a, attrs, operands, ground.arity, &terms[t]));
  }
  for (size_t i = 0; i < b.steps.len; i++) {
    const eg_explained_step *step = &b.steps.data[i];
    for (uint32_t r = 0; r < step->count; r++)
      operands[r] = terms[b.roots.data[step->first + r]];
    assert_ok(eg_explained_add_step(&a, step->rule, operands, step->count));
  }
  assert_int_equal(a.outputs.len, b.outputs.len);
  for (size_t i = 0; i < b.outputs.len; i++)
    a.outputs.data[i] = terms[b.outputs.data[i]];
  assert_ok(eg_explained_print(&a, out));
  eg_explained_deinit(&a);
  eg_explained_deinit(&b);
}

static void explanations_of_other_graphs_are_refused(void **state) {
  (void)state;
  uint64_t seed = test_seed(1);
  uint32_t refused = 0, joined = 0;
  egraph_rules *rules = replay_rules(false);
  for (size_t round = 0; round < test_rounds(120); round++) {
    scene s;
    open_scene(rules, seed + round, &s);
    if (s.changed != NULL) {
      const egraph_graph *result = egraph_result_graph(s.of_given);
      const egraph_graph *other = egraph_result_graph(s.of_changed);
      must_refuse(rules, s.given, other, s.changed_text, seed + round);
      must_refuse(rules, s.given, other, s.text, seed + round);
      must_refuse(rules, s.changed, result, s.text, seed + round);
      must_refuse(rules, s.changed, result, s.changed_text, seed + round);
      eg_text both;
      eg_text_init(&both, eg_allocator_heap());
      join(s.text, s.changed_text, &both);
      joined += accepts(rules, s.changed, other, eg_text_of(&both));
      must_refuse(rules, s.given, other, eg_text_of(&both), seed + round);
      eg_text_deinit(&both);
      refused += 5;
    }
    close_scene(&s);
  }
  print_message("%u refused, %u of them with the steps of both\n", refused, joined);
  assert_true(refused >= test_rounds(300) && joined > 10);
  egraph_rules_destroy(rules);
}

// ---- explanations changed in the middle -------------------------------------------

typedef struct lines {
  const char *at[4096];
  size_t length[4096], count, steps, outputs; // first lines of these forms
} lines;

static void split_lines(const char *text, lines *out) {
  out->count = 0;
  for (const char *c = text; *c != '\0' && out->count < 4096; out->count++) {
    size_t length = strcspn(c, "\n");
    if (strncmp(c, "(steps", 6) == 0) out->steps = out->count;
    if (strncmp(c, "(outputs", 8) == 0) out->outputs = out->count;
    out->at[out->count] = c;
    out->length[out->count] = length;
    c += length + (c[length] == '\n');
  }
}

static void put_line(const lines *l, size_t i, eg_text *out) {
  assert_ok(eg_text_append_bytes(out, l->at[i], l->length[i]));
  assert_ok(eg_text_append(out, "\n"));
}

static void put(eg_text *out, const char *begin, const char *end) {
  assert_ok(eg_text_append_bytes(out, begin, (size_t)(end - begin)));
}

/// Names another operator.
static void put_other_word(const lines *l, size_t i, eg_rng *rng, eg_text *out) {
  static const char *const operators[] = {"relu", "tanh", "add",       "mul",
                                          "sub",  "neg",  "transpose", "matmul"};
  const char *line = l->at[i], *end = line + l->length[i];
  const char *begin = line + strcspn(line, "(") + 1;
  put(out, line, begin);
  assert_ok(eg_text_append(out, operators[eg_rng_below(rng, 8)]));
  put(out, begin + strcspn(begin, " )"), end);
  assert_ok(eg_text_append(out, "\n"));
}

/// Changes a number of a line.
static void put_other_number(const lines *l, size_t i, eg_rng *rng, eg_text *out) {
  const char *line = l->at[i], *end = line + l->length[i], *place = end;
  unsigned seen = 0;
  for (const char *c = line + 1; c < end; c++)
    if (isdigit((unsigned char)c[0]) && !isdigit((unsigned char)c[-1]) &&
        eg_rng_below(rng, ++seen) == 0)
      place = c;
  put(out, line, place);
  if (place != end) {
    unsigned long old = strtoul(place, NULL, 10);
    assert_ok(eg_text_printf(
        out, "%lu",
        eg_rng_below(rng, 2) == 0 ? old + 1 : (unsigned long)eg_rng_below(rng, old + 2)));
    put(out, place + strspn(place, "0123456789"), end);
  }
  assert_ok(eg_text_append(out, "\n"));
}

/// The rule of one line with the terms of another.
static void put_other_rule(const lines *l, size_t rule, size_t terms, eg_text *out) {
  const char *first = l->at[rule], *second = l->at[terms];
  put(out, first, first + 1 + strcspn(first + 1, " "));
  put(out, second + 1 + strcspn(second + 1, " "), second + l->length[terms]);
  assert_ok(eg_text_append(out, "\n"));
}

enum {
  DROP_STEP,
  SWAP_LINES,
  CHANGE_TERM,
  CHANGE_STEP,
  CHANGE_OPERATOR,
  SWAP_RULES,
  KINDS
};

static void tamper(const lines *l, unsigned kind, eg_rng *rng, eg_text *out) {
  bool is_of_steps = kind == DROP_STEP || kind == CHANGE_STEP || kind == SWAP_RULES;
  size_t first = is_of_steps ? l->steps + 1 : 2;
  size_t count = is_of_steps ? l->outputs - l->steps - 1 : l->steps - first;
  size_t a = first + eg_rng_below(rng, count), b = first + eg_rng_below(rng, count);
  for (size_t i = 0; i < l->count; i++) {
    bool is_swapped = (kind == SWAP_LINES || kind == SWAP_RULES) && i == b;
    size_t other = i == a ? b : a;
    if (i != a && !is_swapped)
      put_line(l, i, out);
    else if (kind == DROP_STEP) // the last one closes the list
      assert_ok(eg_text_append(out, l->at[i][l->length[i] - 2] == ')' ? ")\n" : ""));
    else if (kind == SWAP_LINES)
      put_line(l, other, out);
    else if (kind == SWAP_RULES)
      put_other_rule(l, other, i, out);
    else if (kind == CHANGE_OPERATOR)
      put_other_word(l, i, rng, out);
    else
      put_other_number(l, i, rng, out);
  }
}

static void changed_explanations_prove_nothing_else(void **state) {
  (void)state;
  uint64_t seed = test_seed(1);
  uint32_t tried[KINDS] = {0}, accepted[KINDS] = {0}, all = 0;
  static lines l;
  egraph_rules *rules = replay_rules(false);
  for (size_t round = 0; all < test_rounds(500); round++) {
    scene s;
    open_scene(rules, seed + 1000 + round, &s);
    split_lines(s.text, &l);
    bool is_tampered = s.changed != NULL && l.outputs > l.steps + 1;
    for (unsigned kind = 0; is_tampered && kind < KINDS; kind++) {
      eg_rng rng = {seed * 7919 + round * KINDS + kind};
      eg_text text;
      eg_text_init(&text, eg_allocator_heap());
      tamper(&l, kind, &rng, &text);
      bool is_same = strncmp(eg_text_of(&text), s.text, text.chars.len - 1) == 0;
      tried[kind] += !is_same;
      all += !is_same;
      accepted[kind] +=
          !is_same &&
          accepts(rules, s.given, egraph_result_graph(s.of_given), eg_text_of(&text));
      must_refuse(rules, s.given, egraph_result_graph(s.of_changed), eg_text_of(&text),
                  seed + round);
      must_refuse(rules, s.changed, egraph_result_graph(s.of_given), eg_text_of(&text),
                  seed + round);
      eg_text_deinit(&text);
    }
    close_scene(&s);
  }
  static const char *const names[] = {"step dropped",   "terms swapped", "number in term",
                                      "number in step", "operator",      "rules swapped"};
  for (unsigned kind = 0; kind < KINDS; kind++)
    print_message("%-16s %4u tampered, %3u still explain the same\n", names[kind],
                  tried[kind], accepted[kind]);
  // Steps are those that an output needs: few can be left out.
  assert_true(accepted[DROP_STEP] * 5 < tried[DROP_STEP]);
  assert_true(accepted[CHANGE_OPERATOR] * 5 < tried[CHANGE_OPERATOR]);
  egraph_rules_destroy(rules);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(explanations_of_other_graphs_are_refused),
      cmocka_unit_test(changed_explanations_prove_nothing_else)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
