// Unit tests of base/text and base/number: building text, numbers and their round trips.
// SPDX-License-Identifier: Apache-2.0
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/text.h"
#include "tests/testing.h"

static void text_grows_and_stays_terminated(void **state) {
  (void)state;
  test_heap heap = {0};
  eg_text text;
  eg_text_init(&text, test_heap_allocator(&heap));
  assert_string_equal(eg_text_of(&text), "");
  for (int i = 0; i < 1000; i++)
    assert_ok(eg_text_printf(&text, "%03d,", i));
  assert_int_equal(text.chars.len, 4000);
  assert_int_equal(strlen(eg_text_of(&text)), 4000);
  assert_memory_equal(eg_text_of(&text) + 3996, "999,", 5);
  eg_text_clear(&text);
  assert_string_equal(eg_text_of(&text), "");
  assert_ok(eg_text_append(&text, "ab"));
  assert_ok(eg_text_append_bytes(&text, "cde", 2));
  assert_ok(eg_text_append_bytes(&text, NULL, 0));
  assert_string_equal(eg_text_of(&text), "abcd");
  char *taken;
  assert_ok(eg_text_take(&text, &taken));
  assert_string_equal(taken, "abcd");
  assert_int_equal(heap.live_bytes, 5);
  eg_string_free(test_heap_allocator(&heap), taken);
  assert_ok(eg_text_take(&text, &taken));
  assert_string_equal(taken, "");
  eg_string_free(test_heap_allocator(&heap), taken);
  eg_text_deinit(&text);
  assert_int_equal(heap.live_bytes, 0);
}

static egraph_status build_text(egraph_allocator alloc, void *user) {
  (void)user;
  eg_text text;
  eg_text_init(&text, alloc);
  egraph_status status = EGRAPH_OK;
  for (int i = 0; i < 100 && status == EGRAPH_OK; i++)
    status = eg_text_printf(&text, "%d %s;", i, "some text");
  if (status == EGRAPH_OK) status = eg_text_double(&text, 0.1);
  char *taken = NULL;
  if (status == EGRAPH_OK) status = eg_text_take(&text, &taken);
  eg_string_free(alloc, taken);
  eg_text_deinit(&text);
  return status;
}

static void text_survives_each_allocation_failing(void **state) {
  (void)state;
  test_every_allocation_failing(build_text, NULL);
}

static void integers_are_whole_strings_in_range(void **state) {
  (void)state;
  int64_t value = 7;
  const char *const bad[] = {"",
                             "-",
                             "+1",
                             " 1",
                             "1 ",
                             "1x",
                             "0x",
                             "1.0",
                             "--1",
                             "- 1",
                             "9223372036854775808",
                             "-9223372036854775809"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_false(eg_parse_int64(bad[i], &value));
  assert_int_equal(value, 7);
  assert_true(eg_parse_int64("-9223372036854775808", &value));
  assert_true(value == INT64_MIN);
  assert_true(eg_parse_int64("9223372036854775807", &value));
  assert_true(value == INT64_MAX);
  assert_true(eg_parse_int64("-007", &value));
  assert_int_equal(value, -7);
}

static void doubles_are_whole_strings_in_range(void **state) {
  (void)state;
  double value = 7;
  const char *const bad[] = {"",      "-",      ".",        "-.",     "e5",   "1e",
                             "1e+",   "+1",     " 1",       "1 ",     "1,5",  "0x1p3",
                             "1e400", "-1e400", "infinity", "nan(1)", "inf ", "INF",
                             "--1",   "1..2",   "1e5.0"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (eg_parse_double(bad[i], &value)) fail_msg("'%s' was read as a number", bad[i]);
  assert_true(value == 7);
  const struct {
    const char *text;
    double value;
  } good[] = {{"1", 1},
              {"-2.5", -2.5},
              {".5", .5},
              {"5.", 5},
              {"1e3", 1000},
              {"1E-2", .01},
              {"1e-999", 0},
              {"-inf", -(double)INFINITY},
              {"0.1", 0.1},
              {"-0", -0.0},
              {"inf", (double)INFINITY}};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_true(eg_parse_double(good[i].text, &value));
    assert_true(value == good[i].value);
  }
  assert_true(eg_parse_double("nan", &value) && isnan(value));
}

static void numbers_of_absurd_length_are_refused(void **state) {
  (void)state;
  char text[EG_NUMBER_MAX_CHARS + 2];
  memset(text, '1', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  text[1] = '.';
  double value;
  assert_false(eg_parse_double(text, &value));
  text[EG_NUMBER_MAX_CHARS] = '\0';
  assert_true(eg_parse_double(text, &value));
  assert_true(value > 1.11 && value < 1.12);
}

static void check_round_trip(double value) {
  char text[EG_DOUBLE_TEXT_CHARS];
  eg_double_print(value, text);
  double back = 0;
  if (!eg_parse_double(text, &back)) fail_msg("%a printed as '%s'", value, text);
  if (memcmp(&back, &value, sizeof back) != 0 && !(isnan(back) && isnan(value)))
    fail_msg("%a printed as '%s'", value, text);
  if (strpbrk(text, ".enf") == NULL) fail_msg("'%s' looks like an integer", text);
}

static void every_double_reads_back_as_itself(void **state) {
  (void)state;
  const double special[] = {0.0,
                            -0.0,
                            1,
                            1e22,
                            0.1,
                            1.0 / 3,
                            0x1p-1074,
                            0x1.fffffffffffffp1023,
                            -0x1p-1022,
                            (double)INFINITY,
                            -(double)INFINITY,
                            (double)NAN};
  for (size_t i = 0; i < sizeof special / sizeof *special; i++)
    check_round_trip(special[i]);
  eg_rng rng = {test_seed(5)};
  for (size_t i = 0; i < test_rounds(20000); i++) {
    uint64_t bits = eg_rng_next(&rng);
    double value;
    memcpy(&value, &bits, sizeof value);
    check_round_trip(value);
  }
}

// Short decimals are computed from their digits, others are not; none differs from
// strtod, which reads a plain point in the locale of this program.
static void decimals_are_rounded_once(void **state) {
  (void)state;
  eg_rng rng = {test_seed(6)};
  static const char *const edges[] = {"9007199254740992",
                                      "9007199254740993",
                                      "90071992547409921",
                                      "-0",
                                      "1e22",
                                      "1e23",
                                      "3e-22",
                                      "3e-23",
                                      "0.1e+23",
                                      "12345678901234567e-20",
                                      "1e-99999999999999999",
                                      "0e99999999999999999"};
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
    double value, want = strtod(edges[i], NULL);
    assert_true(eg_parse_double(edges[i], &value));
    if (memcmp(&value, &want, sizeof value) != 0) fail_msg("%s: %a", edges[i], value);
  }
  for (size_t i = 0; i < test_rounds(20000); i++) {
    char text[64];
    unsigned long long digits = eg_rng_next(&rng) >> eg_rng_below(&rng, 64);
    unsigned fraction = (unsigned)eg_rng_below(&rng, 1000);
    (void)snprintf(text, sizeof text, "%s%llu.%ue%d", i % 2 ? "-" : "", digits, fraction,
                   i % 3 ? (int)eg_rng_below(&rng, 60) - 30 : 0);
    double value, want = strtod(text, NULL);
    assert_true(eg_parse_double(text, &value));
    if (value != want) fail_msg("%s: %a instead of %a", text, value, want);
  }
}

static void doubles_print_in_their_shortest_form(void **state) {
  (void)state;
  const struct {
    double value;
    const char *text;
  } cases[] = {
      {0.1, "0.1"},    {1, "1.0"},           {-2, "-2.0"},
      {1e22, "1e+22"}, {-0.0, "-0.0"},       {0.30000000000000004, "0.30000000000000004"},
      {1e-5, "1e-05"}, {(double)NAN, "nan"}, {-(double)INFINITY, "-inf"}};
  char text[EG_DOUBLE_TEXT_CHARS];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    eg_double_print(cases[i].value, text);
    assert_string_equal(text, cases[i].text);
  }
}

static void numbers_do_not_depend_on_the_locale(void **state) {
  (void)state;
  const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ps_AF.UTF-8"};
  bool tried = false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (setlocale(LC_NUMERIC, names[i]) == NULL) continue;
    tried = true;
    double value = 0;
    assert_true(eg_parse_double("-12.75e1", &value));
    assert_true(value == -127.5);
    assert_false(eg_parse_double("12,75", &value));
    char text[EG_DOUBLE_TEXT_CHARS];
    eg_double_print(-127.5, text);
    assert_string_equal(text, "-127.5");
    check_round_trip(1.0 / 3);
  }
  (void)setlocale(LC_NUMERIC, "C");
  if (!tried) {
    print_message("no locale with a decimal comma is installed\n");
    skip();
  }
}

static void clocks_run_forward(void **state) {
  (void)state;
  double wall = eg_clock_seconds(), cpu = eg_clock_cpu_seconds();
  while (eg_clock_cpu_seconds() < cpu + 0.002) {
  }
  assert_true(eg_clock_seconds() > wall);
}

static void names_stay_on_their_line(void **state) {
  (void)state;
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_text_append(&text, "values\n"));
  assert_ok(eg_text_print_names(&text, "%s, %s\n", "a\n\nb", "\n"));
  assert_ok(eg_text_print_names(&text, "%d %s", 7, "c\\n"));
  assert_ok(eg_text_print_names(&text, "%s", ""));
  assert_ok(eg_text_print_names(&text, "\n"));
  assert_string_equal(eg_text_of(&text), "values\na\\x0a\\x0ab, \\x0a\n7 c\\n\n");
  eg_text_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_grows_and_stays_terminated),
      cmocka_unit_test(text_survives_each_allocation_failing),
      cmocka_unit_test(integers_are_whole_strings_in_range),
      cmocka_unit_test(doubles_are_whole_strings_in_range),
      cmocka_unit_test(numbers_of_absurd_length_are_refused),
      cmocka_unit_test(every_double_reads_back_as_itself),
      cmocka_unit_test(decimals_are_rounded_once),
      cmocka_unit_test(doubles_print_in_their_shortest_form),
      cmocka_unit_test(numbers_do_not_depend_on_the_locale),
      cmocka_unit_test(clocks_run_forward),
      cmocka_unit_test(names_stay_on_their_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
