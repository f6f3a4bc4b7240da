// Certificates as text: numbers come back exactly; what the checker's reader refuses.
// SPDX-License-Identifier: Apache-2.0
#include <float.h>
#include <math.h>
#include <string.h>

#include "extract/plain_proof.h"
#include "tests/testing.h"
#include "tools/check_certificate/certificate.h"

static void open_text(certificate *c, const char *text, refusal *why) {
  why->text[0] = '\0';
  *c = (certificate){.line = 0};
  assert_true(input_open_bytes(&c->in, "c", text, strlen(text), why));
  c->next_line = c->in.text;
}

static void test_every_number_is_read_back_exactly(void **state) {
  (void)state;
  static const double FIXED[] = {
      0,       -0.0,   1,       0.1,       -1e300,       DBL_MAX,
      DBL_MIN, 0x1p53, -0x1p60, 0x1p-1074, -0x1.8p-1060, 1e22};
  enum { COUNT = 2000 };
  eg_text file;
  eg_text_init(&file, eg_allocator_heap());
  double value[COUNT];
  uint64_t seed = 1;
  for (int i = 0; i < COUNT; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    value[i] = ldexp((double)(int64_t)seed, (int)(seed >> 20 & 1023) - 600);
    if (i < (int)(sizeof FIXED / sizeof *FIXED)) value[i] = FIXED[i];
    assert_int_equal(eg_certificate_double(&file, value[i]), EGRAPH_OK);
    if (i % 7 == 6) assert_int_equal(eg_text_append(&file, "\n"), EGRAPH_OK);
  }
  refusal why;
  certificate c;
  open_text(&c, file.chars.data, &why);
  for (int i = 0; i < COUNT; i++) {
    double back;
    if (i % 7 == 0) assert_true(certificate_next(&c));
    assert_true(certificate_double(&c, "a number", &back));
    assert_true(back == value[i]);
    if (i % 7 == 6) assert_true(certificate_line_ends(&c));
  }
  input_close(&c.in);
  eg_text_deinit(&file);
}

static void test_a_word_that_is_no_number_is_refused_with_its_line(void **state) {
  (void)state;
  static const char *const TEXTS[] = {"nan", "inf", "0x", "1.5.2", "", "1e999", "x 1"};
  for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
    char text[64];
    (void)snprintf(text, sizeof text, "\n\nhead %s", TEXTS[i]);
    refusal why;
    certificate c;
    double number;
    const char *word;
    open_text(&c, text, &why);
    assert_true(certificate_next(&c));
    assert_true(certificate_name(&c, "a head", &word));
    assert_false(certificate_double(&c, "a number", &number));
    assert_memory_equal(why.text, "c:3: a number", 13);
    input_close(&c.in);
  }
}

static void test_an_index_lies_below_its_limit(void **state) {
  (void)state;
  static const char *const TEXTS[] = {"7", "-1", "99999999999999999999", "3x", "+3"};
  for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
    refusal why;
    certificate c;
    uint32_t index = 1;
    open_text(&c, TEXTS[i], &why);
    assert_true(certificate_next(&c));
    assert_false(certificate_index(&c, "a node", 7, &index));
    assert_true(why.text[0] != '\0');
    input_close(&c.in);
  }
}

static void test_a_file_that_is_no_certificate_is_refused(void **state) {
  (void)state;
  static const char *const TEXTS[] = {"",
                                      "\n",
                                      "egraph-certificate",
                                      "egraph-certificate 1",
                                      "egraph-certificate 2 plain",
                                      "{}",
                                      "egraph-certificate 1 poem"};
  for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
    refusal why = {.text = ""};
    input in;
    verdict found;
    assert_true(input_open_bytes(&in, "c", TEXTS[i], strlen(TEXTS[i]), &why));
    assert_false(certificate_run(&in, NULL, &found));
    assert_true(why.text[0] != '\0');
    input_close(&in);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_number_is_read_back_exactly),
      cmocka_unit_test(test_a_word_that_is_no_number_is_refused_with_its_line),
      cmocka_unit_test(test_an_index_lies_below_its_limit),
      cmocka_unit_test(test_a_file_that_is_no_certificate_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
