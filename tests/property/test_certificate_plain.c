// Certificates of small random e-graphs: the checker, which shares no code with the
// solver, derives the optimum that exhaustive search finds; and what is changed in a
// certificate or in its problem is refused unless what it claims is still true.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "extract/problem.h"
#include "extract/search/extract.h"
#include "tests/extract_brute.h"
#include "tests/testing.h"
#include "tools/check_certificate/certificate.h"

#ifdef NDEBUG
enum { PROBLEMS = 3000 };
#else
enum { PROBLEMS = 400 };
#endif
enum { MAX_CLASSES = 12 };

typedef enum drawing { CYCLIC, ACYCLIC, COVERS, SIGNED, DRAWINGS } drawing;

static double draw_cost(eg_rng *rng, drawing kind, bool integers) {
  if (eg_rng_below(rng, 5) == 0) return 0;
  double cost = integers ? (double)(2 * eg_rng_below(rng, 5)) : eg_rng_unit(rng) * 1e-3;
  return kind == SIGNED && eg_rng_below(rng, 4) == 0 ? -cost : cost;
}

// Children are named by the first node of their class.
static void draw_node(eg_text *json, eg_rng *rng, uint32_t class, uint32_t member,
                      uint32_t classes, drawing kind, bool integers) {
  bool first = class == 0 && member == 0;
  assert_ok(eg_text_printf(json, "%s\"n%u.%u\": {\"eclass\": \"c%u\", \"cost\": ",
                           first ? "" : ", ", class, member, class));
  assert_ok(eg_text_double(json, draw_cost(rng, kind, integers)));
  assert_ok(eg_text_append(json, ", \"children\": ["));
  uint32_t count = (uint32_t)eg_rng_below(rng, member == 0 ? 3 : 5);
  if (kind == COVERS) count = class == 0 ? classes / 2 : class <= classes / 2 ? 1 : 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t child = (uint32_t)eg_rng_below(rng, classes);
    if (kind == COVERS)
      child = class == 0 ? 1 + i
                         : classes / 2 + 1 +
                               (uint32_t)eg_rng_below(rng, classes - classes / 2 - 1);
    if (kind == ACYCLIC && child <= class) continue;
    assert_ok(eg_text_printf(json, "%s\"n%u.0\"",
                             json->chars.data[json->chars.len - 1] == '[' ? "" : ", ",
                             child));
  }
  assert_ok(eg_text_append(json, "]}"));
}

static void draw_problem(eg_text *json, eg_rng *rng, drawing kind, bool integers) {
  uint32_t classes = 4 + (uint32_t)eg_rng_below(rng, MAX_CLASSES - 3);
  assert_ok(eg_text_append(json, "{\"nodes\": {"));
  for (uint32_t class = 0; class < classes; class ++) {
    uint32_t members = 1 + (uint32_t)eg_rng_below(rng, 3);
    if (kind == COVERS) members = class >= 1 && class <= classes / 2 ? 3 : 1;
    for (uint32_t m = 0; m < members; m++)
      draw_node(json, rng, class, m, classes, kind, integers);
  }
  assert_ok(eg_text_append(json, "}, \"root_eclasses\": [\"c0\""));
  if (eg_rng_below(rng, 2) == 0)
    assert_ok(eg_text_printf(json, ", \"c%u\"", (uint32_t)eg_rng_below(rng, classes)));
  assert_ok(eg_text_append(json, "]}"));
}

typedef struct solved {
  double optimum; // by exhaustive search, INFINITY: there is no solution
  eg_extract_result result;
  eg_text file;
  const char *certificate; // the text of file
  size_t size;
} solved;

static void solve(const eg_text *json, solved *out) {
  eg_extract_problem problem;
  assert_ok(eg_extract_problem_init(&problem, eg_allocator_heap()));
  assert_ok(eg_gym_json_parse("p", eg_text_of(json), json->chars.len, &problem, NULL));
  out->optimum = brute_force(&problem);
  eg_extract_options options = EG_EXTRACT_OPTIONS_DEFAULT;
  eg_extract_result_init(&out->result, eg_allocator_heap());
  assert_ok(eg_extract_solve(eg_allocator_heap(), &problem, &options, &out->result));
  eg_text_init(&out->file, eg_allocator_heap());
  assert_ok(eg_plain_certificate_make(eg_allocator_heap(), &problem, &options,
                                      &out->result, &out->file));
  out->size = out->file.chars.len;
  out->certificate = out->file.chars.data;
  eg_extract_problem_deinit(&problem);
}

static void solved_deinit(solved *s) {
  eg_text_deinit(&s->file);
  eg_extract_result_deinit(&s->result);
}

static bool accepts(const char *json, size_t json_size, const char *text, size_t size,
                    verdict *found, refusal *why) {
  input problem, in;
  why->text[0] = '\0';
  assert_true(input_open_bytes(&problem, "problem", json, json_size, why));
  assert_true(input_open_bytes(&in, "certificate", text, size, why));
  bool accepted = certificate_run_on(&in, &problem, found);
  assert_true(accepted == (why->text[0] == '\0'));
  input_close(&in);
  input_close(&problem);
  return accepted;
}

static void every_optimum_is_derived_again(void **state) {
  (void)state;
  uint64_t seed = test_seed(20261123);
  size_t rounds = test_rounds(PROBLEMS), whole = 0;
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    drawing kind = (drawing)(round % DRAWINGS);
    eg_text json;
    solved s;
    verdict found;
    refusal why;
    eg_text_init(&json, eg_allocator_heap());
    draw_problem(&json, &rng, kind, round / DRAWINGS % 2 == 0);
    solve(&json, &s);
    if (!accepts(eg_text_of(&json), json.chars.len, s.certificate, s.size, &found, &why))
      fail_msg("round %zu: %s\n%s\n%s", round, why.text, eg_text_of(&json),
               s.certificate);
    double cost = strtod(found.cost, NULL), bound = strtod(found.bound, NULL);
    if (isinf(s.optimum)) {
      assert_string_equal(found.cost, "none");
    } else {
      double slack = 3e-9 * fabs(s.optimum) + 1e-15;
      assert_true(fabs(cost - s.optimum) <= slack);
      assert_true(bound <= s.optimum + 1e-15);
      assert_true(fabs(bound - s.result.certified) <= 1e-15);
      whole += bound >= s.optimum - slack;
      if (kind != SIGNED && bound < s.optimum - slack)
        fail_msg("round %zu: the certificate proves only %s of %.17g", round, found.bound,
                 s.optimum);
    }
    solved_deinit(&s);
    eg_text_deinit(&json);
  }
  assert_true(whole > rounds / 2);
}

// ---- tampering ----------------------------------------------------------------------

typedef enum tamper {
  LOWER_COST,
  RAISE_BOUND,
  SCALE_WEIGHT,
  DROP_LINE,
  SWAP_NUMBER,
  CUT_NUMBER,
  CHANGE_PROBLEM,
  TAMPERS
} tamper;

// The line that begins with `word`, after the offset; or NULL.
static const char *find_line(const char *text, const char *word) {
  size_t length = strlen(word);
  for (const char *at = text; at != NULL; at = strchr(at, '\n')) {
    at += *at == '\n';
    if (strncmp(at, word, length) == 0 && at[length] == ' ') return at;
  }
  return NULL;
}

static void replace(eg_text *out, const char *text, const char *at, size_t length,
                    const char *by) {
  assert_ok(eg_text_append_bytes(out, text, (size_t)(at - text)));
  assert_ok(eg_text_append(out, by));
  assert_ok(eg_text_append(out, at + length));
}

// Replaces the number behind `word` by factor times itself; false where there is none.
static bool scale_number(eg_text *out, const char *text, const char *word,
                         double factor) {
  const char *line = find_line(text, word);
  if (line == NULL) return false;
  const char *number = line + strlen(word) + 1;
  char *end, by[48];
  double value = strtod(number, &end);
  if (value == 0) return false;
  (void)snprintf(by, sizeof by, "%a", value * factor);
  replace(out, text, number, (size_t)(end - number), by);
  return true;
}

static const char *random_line(const char *text, eg_rng *rng) {
  const char *body = find_line(text, "choice");
  body = body == NULL ? text : body;
  const char *at = body + eg_rng_below(rng, strlen(body));
  while (at > body && at[-1] != '\n')
    at--;
  return at;
}

static bool change_number(eg_text *out, const char *text, eg_rng *rng, bool cut) {
  const char *line = random_line(text, rng), *end = line + strcspn(line, "\n");
  const char *at = line + eg_rng_below(rng, (uint64_t)(end - line) + 1);
  while (at > line && at[-1] != ' ')
    at--;
  size_t length = strcspn(at, " \n");
  if (length == 0 || at == line) return false;
  char by[24];
  (void)snprintf(by, sizeof by, "%u", (uint32_t)eg_rng_below(rng, 12));
  replace(out, text, at, length, cut ? "" : by);
  return true;
}

// Every other sign of a cost in the problem.
static bool change_problem(eg_text *out, const char *json, eg_rng *rng) {
  const char *at = json;
  for (uint64_t skip = eg_rng_below(rng, 12) + 1; skip > 0; skip--) {
    const char *next = strstr(at + 1, "\"cost\": ");
    if (next == NULL) break;
    at = next;
  }
  if (at == json) return false;
  at += strlen("\"cost\": ");
  char by[48];
  double value = strtod(at, NULL);
  (void)snprintf(by, sizeof by, "%.17g", value == 0 ? 1 : value * 0.9);
  replace(out, json, at, strcspn(at, ","), by);
  return true;
}

static bool tamper_with(eg_text *out, tamper how, const char *json, const char *text,
                        eg_rng *rng) {
  switch (how) {
  case LOWER_COST: return scale_number(out, text, "cost", 0.999);
  case RAISE_BOUND: return scale_number(out, text, "bound", 1.001);
  case SCALE_WEIGHT:
    return scale_number(out, text, eg_rng_below(rng, 2) == 0 ? "cut" : "row",
                        eg_rng_below(rng, 2) == 0 ? 1.1 : 0.9);
  case DROP_LINE: {
    const char *line = random_line(text, rng);
    replace(out, text, line, strcspn(line, "\n"), "");
    return true;
  }
  case SWAP_NUMBER: return change_number(out, text, rng, false);
  case CUT_NUMBER: return change_number(out, text, rng, true);
  case CHANGE_PROBLEM: return change_problem(out, json, rng);
  case TAMPERS: break;
  }
  return false;
}

// What is accepted nevertheless must be true.
static void expect_truth(const char *json, size_t size, const verdict *found) {
  eg_extract_problem problem;
  assert_ok(eg_extract_problem_init(&problem, eg_allocator_heap()));
  assert_ok(eg_gym_json_parse("p", json, size, &problem, NULL));
  double optimum = brute_force(&problem), slack = 1e-12 * fabs(optimum);
  if (isinf(optimum)) {
    assert_string_equal(found->cost, "none");
  } else {
    assert_true(strtod(found->cost, NULL) >= optimum - slack);
    assert_true(strtod(found->bound, NULL) <= optimum + slack);
  }
  eg_extract_problem_deinit(&problem);
}

static void what_was_tampered_with_is_refused_or_true(void **state) {
  (void)state;
  uint64_t seed = test_seed(20261124);
  size_t rounds = test_rounds(400), refused[TAMPERS] = {0}, accepted[TAMPERS] = {0};
  for (size_t round = 0; round < rounds; round++) {
    eg_rng rng = {eg_hash_combine(seed, round)};
    eg_text json;
    solved s;
    eg_text_init(&json, eg_allocator_heap());
    draw_problem(&json, &rng, (drawing)(round % DRAWINGS), round / DRAWINGS % 2 == 0);
    solve(&json, &s);
    for (int how = 0; how < TAMPERS; how++) {
      verdict found;
      refusal why;
      eg_text changed;
      eg_text_init(&changed, eg_allocator_heap());
      if (tamper_with(&changed, (tamper)how, eg_text_of(&json), s.certificate, &rng)) {
        const eg_text *problem = how == CHANGE_PROBLEM ? &changed : &json;
        bool good =
            accepts(eg_text_of(problem), problem->chars.len,
                    how == CHANGE_PROBLEM ? s.certificate : eg_text_of(&changed),
                    how == CHANGE_PROBLEM ? s.size : changed.chars.len, &found, &why);
        if (good) expect_truth(eg_text_of(problem), problem->chars.len, &found);
        (good ? accepted : refused)[how]++;
      }
      eg_text_deinit(&changed);
    }
    solved_deinit(&s);
    eg_text_deinit(&json);
  }
  assert_int_equal(accepted[LOWER_COST], 0);
  assert_true(refused[LOWER_COST] > rounds / 2);
  assert_true(refused[RAISE_BOUND] > rounds / 3);
  for (int how = 0; how < TAMPERS; how++)
    print_message("tampering %d: %zu refused, %zu still true\n", how, refused[how],
                  accepted[how]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_optimum_is_derived_again),
      cmocka_unit_test(what_was_tampered_with_is_refused_or_true)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
