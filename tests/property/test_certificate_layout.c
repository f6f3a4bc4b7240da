// Certificates of small random layout problems: the checker, which shares no code with
// the solver, accepts them and the bound is no higher than what exhaustive search finds;
// what is changed in one is refused unless what it claims is still true.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "extract/layout/layout_bound.h"
#include "tests/layout_draw.h"
#include "tests/testing.h"
#include "tools/check_certificate/certificate.h"

#ifdef NDEBUG
enum { PROBLEMS = 1200 };
#else
enum { PROBLEMS = 200 };
#endif

/// Solves and writes; false: there is no solution.
static bool write_certificate(const eg_layout_problem *p, eg_text *text,
                              double *out_bound) {
  eg_layout_options options = EG_LAYOUT_OPTIONS_DEFAULT;
  eg_layout_result result;
  eg_layout_dual dual;
  eg_layout_bounded bounded;
  eg_layout_result_init(&result, eg_allocator_heap());
  eg_layout_dual_init(&dual, eg_allocator_heap());
  assert_ok(eg_layout_solve(eg_allocator_heap(), p, &options, &result));
  bool any = result.solutions.len != 0;
  if (any) {
    const eg_layout_bound_options apart = {.time_limit_seconds = 20,
                                           .price = result.price,
                                           .target =
                                               result.solutions.data[0].strategy.data};
    assert_ok(eg_layout_bound(eg_allocator_heap(), p, &apart, &bounded, &dual));
    assert_true(isfinite(bounded.bound) && dual.bound <= bounded.bound);
    assert_ok(eg_layout_certificate_write(p, &result.solutions.data[0], &dual,
                                          result.bound, text));
    *out_bound = dual.bound;
  }
  eg_layout_dual_deinit(&dual);
  eg_layout_result_deinit(&result);
  return any;
}

static bool is_accepted(const char *text, size_t size, verdict *out, refusal *why) {
  input in;
  *why = (refusal){.text = ""};
  assert_true(input_open_bytes(&in, "certificate", text, size, why));
  bool accepted = certificate_run(&in, NULL, out);
  input_close(&in);
  assert_true(accepted == (why->text[0] == '\0'));
  return accepted;
}

static void draw(eg_rng *rng, eg_layout_problem *p, bool integers, brute_result *exact) {
  static brute_result free;
  draw_problem(rng, p, integers, draw_below(rng, 2) != 0);
  draw_rows(rng, p, 1 + draw_below(rng, 3), integers);
  brute_force(p, &free);
  draw_limits(rng, p, &free);
  brute_force(p, exact);
}

static void certificates_are_accepted(void **state) {
  (void)state;
  uint64_t seed = test_seed(20261211);
  size_t rounds = test_rounds(PROBLEMS), written = 0, tight = 0;
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    static brute_result exact;
    eg_layout_problem p;
    eg_text text;
    double bound;
    draw(&rng, &p, round % 2 == 0, &exact);
    eg_text_init(&text, eg_allocator_heap());
    if (write_certificate(&p, &text, &bound)) {
      verdict found;
      refusal why;
      double optimum = exact.best[0].sum[0];
      if (!is_accepted(eg_text_of(&text), text.chars.len, &found, &why))
        fail_msg("round %zu: %s", round, why.text);
      assert_true(strtod(found.bound, NULL) == bound);
      assert_true(fabs(strtod(found.cost, NULL) - optimum) <= 1e-8 * (1 + optimum));
      assert_true(bound <= optimum + 1e-9 * optimum);
      written++;
      tight += bound >= optimum - 1e-8 * (1 + optimum);
    }
    eg_text_deinit(&text);
    eg_layout_problem_deinit(&p);
  }
  print_message("%zu certificates, %zu of which prove the optimum\n", written, tight);
  assert_true(written > rounds / 3 && tight > written / 2);
}

// ---- tampering ----------------------------------------------------------------------

/// Changes a number of a random line that begins with `word`: the one after `skip` words,
/// or any. False: there is no such line.
static bool change_number(eg_rng *rng, const char *text, const char *word, uint32_t skip,
                          double factor, double plus, eg_text *out) {
  size_t lines = 0, length = strlen(word);
  for (const char *at = text; at != NULL; at = strchr(at, '\n'))
    lines += strncmp(at += *at == '\n', word, length) == 0 && at[length] == ' ';
  if (lines == 0) return false;
  size_t wanted = draw_below(rng, (uint32_t)lines);
  const char *line = text;
  for (;; line = strchr(line, '\n') + 1)
    if (strncmp(line, word, length) == 0 && line[length] == ' ' && wanted-- == 0) break;
  const char *end = strchr(line, '\n'), *at = line;
  for (uint32_t i = 0; i <= skip && at != NULL && at < end; i++) {
    at = strchr(at, ' ');
    at = at == NULL || at > end ? NULL : at + 1;
  }
  if (at == NULL) return false;
  char *rest;
  double value = strtod(at, &rest);
  if (rest == at) return false;
  assert_ok(eg_text_append_bytes(out, text, (size_t)(at - text)));
  assert_ok(eg_text_double(out, value * factor + plus));
  return eg_text_append(out, rest) == EGRAPH_OK;
}

static bool drop_line(eg_rng *rng, const char *text, const char *word, eg_text *out) {
  size_t lines = 0, length = strlen(word);
  for (const char *at = text; at != NULL; at = strchr(at, '\n'))
    lines += strncmp(at += *at == '\n', word, length) == 0 && at[length] == ' ';
  if (lines == 0) return false;
  size_t wanted = draw_below(rng, (uint32_t)lines);
  const char *line = text;
  for (;; line = strchr(line, '\n') + 1)
    if (strncmp(line, word, length) == 0 && line[length] == ' ' && wanted-- == 0) break;
  assert_ok(eg_text_append_bytes(out, text, (size_t)(line - text)));
  return eg_text_append(out, strchr(line, '\n') + 1) == EGRAPH_OK;
}

/// What makes a claim false whatever else the certificate says.
static bool tamper(eg_rng *rng, const char *text, uint32_t kind, eg_text *out) {
  switch (kind) {
  case 0: return change_number(rng, text, "bound", 0, 1.001, 1e-3, out);
  case 1: return change_number(rng, text, "cost", 0, 0.999, -1e-3, out);
  case 2: return change_number(rng, text, "cost", 0, 1.001, 1e-3, out);
  case 3: return drop_line(rng, text, "choose", out);
  case 4: return drop_line(rng, text, "value", out);
  case 5: return drop_line(rng, text, "strategy", out);
  case 6: return drop_line(rng, text, "root", out);
  case 7: return drop_line(rng, text, "tree", out);
  case 8: return drop_line(rng, text, "made", out);
  case 9: return drop_line(rng, text, "used", out);
  case 10: return drop_line(rng, text, "bound", out);
  default: return false;
  }
}

static void what_is_changed_is_refused(void **state) {
  (void)state;
  uint64_t seed = test_seed(20261212);
  size_t rounds = test_rounds(PROBLEMS), refused[11] = {0}, all = 0;
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    static brute_result exact;
    eg_layout_problem p;
    eg_text text;
    double bound;
    draw(&rng, &p, round % 2 == 0, &exact);
    eg_text_init(&text, eg_allocator_heap());
    bool any = write_certificate(&p, &text, &bound);
    bool tight = any && bound >= exact.best[0].sum[0] * (1 - 1e-8) - 1e-8;
    for (uint32_t kind = 0; any && kind < 11; kind++) {
      eg_text changed;
      verdict found;
      refusal why;
      eg_text_init(&changed, eg_allocator_heap());
      if ((kind != 0 || tight) && tamper(&rng, eg_text_of(&text), kind, &changed)) {
        if (is_accepted(eg_text_of(&changed), changed.chars.len, &found, &why))
          fail_msg("round %zu, kind %u: accepted\n%s", round, kind, eg_text_of(&changed));
        refused[kind]++;
        all++;
      }
      eg_text_deinit(&changed);
    }
    eg_text_deinit(&text);
    eg_layout_problem_deinit(&p);
  }
  print_message("%zu changed certificates refused\n", all);
  for (uint32_t kind = 0; kind < 11; kind++)
    assert_true(refused[kind] > 0);
  assert_true(all >= 300 || rounds < PROBLEMS);
}

/// A number changed anywhere in the problem, the prices or the claims: refused, or true
/// all the same of the problem that is there then.
static void what_is_still_claimed_is_true(void **state) {
  (void)state;
  enum { CHANGES = 8 }; // of one certificate
  static const char *const WORDS[] = {"arc",    "strategy", "made",  "used",  "tied",
                                      "in-cut", "prices",   "value", "limits"};
  uint64_t seed = test_seed(20261213);
  size_t rounds = test_rounds(PROBLEMS), refused = 0, accepted = 0;
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    static brute_result exact;
    eg_layout_problem p;
    eg_text text, changed;
    double bound;
    draw(&rng, &p, round % 2 == 0, &exact);
    eg_text_init(&text, eg_allocator_heap());
    eg_text_init(&changed, eg_allocator_heap());
    bool is_written = write_certificate(&p, &text, &bound);
    for (int change = 0; change < CHANGES && is_written; change++) {
      verdict found;
      refusal why;
      const char *word = WORDS[draw_below(&rng, 9)];
      bool in_prices = word[0] == 'm' || word[0] == 'u' || word[0] == 't' ||
                       word[0] == 'i' || word[0] == 'p';
      eg_text_clear(&changed);
      if (!change_number(&rng, eg_text_of(&text), word, draw_below(&rng, 8), 1,
                         draw_below(&rng, 2) ? 0.5 : -0.5, &changed))
        continue;
      bool is_still_accepted =
          is_accepted(eg_text_of(&changed), changed.chars.len, &found, &why);
      (*(is_still_accepted ? &accepted : &refused))++;
      // Prices are anybody's: the problem is as it was, and so is the optimum.
      if (is_still_accepted && in_prices)
        assert_true(strtod(found.bound, NULL) <= exact.best[0].sum[0] * (1 + 1e-9));
    }
    eg_text_deinit(&changed);
    eg_text_deinit(&text);
    eg_layout_problem_deinit(&p);
  }
  print_message("%zu refused, %zu accepted\n", refused, accepted);
  assert_true(refused > accepted);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(certificates_are_accepted),
      cmocka_unit_test(what_is_changed_is_refused),
      cmocka_unit_test(what_is_still_claimed_is_true),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
