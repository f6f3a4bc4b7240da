// Patterns that come again and again in a list are found where they are worth a remark.
// SPDX-License-Identifier: Apache-2.0
#include "pcg/plan/plan_words.h"
#include "tests/testing.h"

static bool alike(const void *user, uint32_t a, uint32_t b) {
  const char *text = user;
  return text[a] == text[b];
}

static void expect(const char *text, uint32_t first, uint32_t period, uint32_t count) {
  eg_repeat found = eg_repeat_at(first, (uint32_t)strlen(text), alike, text);
  assert_int_equal(found.period, period);
  assert_int_equal(found.count, count);
}

static void long_repetitions_are_found(void **state) {
  (void)state;
  expect("abcdefgabcdefgabcdefgabcdefg", 0, 7, 4);
  expect("xxabcdefgabcdefgabcdefgabcdefgabcd", 2, 7, 4);
  expect("aaaaaaaaaaaaaaaaaaaaaaaa", 0, 1, 24);
  // The one that covers most.
  expect("ababababababababababababc", 0, 2, 12);
}

static void short_ones_are_not(void **state) {
  (void)state;
  expect("", 0, 1, 1);
  expect("abcdefgabcdefgabcdefg", 0, 1, 1);         // three times
  expect("abababababababab", 0, 1, 1);              // fourteen items beside the first two
  expect("aaaaaaaaaaaaaaaa", 0, 1, 1);              // fifteen
  expect("yabcdefgabcdefgabcdefgabcdefg", 0, 1, 1); // not from here on
}

/// Against looking at every period in turn.
static void random_lists_agree_with_a_plain_search(void **state) {
  (void)state;
  eg_rng rng = {test_seed(4)};
  for (size_t round = 0; round < test_rounds(300); round++) {
    char text[97] = {0};
    uint32_t period = 1 + (uint32_t)eg_rng_below(&rng, 12), best = 0;
    for (uint32_t i = 0; i < 96; i++) {
      bool breaks = i < period || eg_rng_below(&rng, 60) == 0;
      text[i] = breaks ? (char)('a' + eg_rng_below(&rng, 3)) : text[i - period];
    }
    for (uint32_t p = 1; p <= 24; p++) {
      uint32_t count = 1;
      while ((count + 1) * p <= 96 && memcmp(text, text + count * p, p) == 0)
        count++;
      if (count >= 4 && (count - 1) * p >= 16 && count * p > best) best = count * p;
    }
    eg_repeat found = eg_repeat_at(0, 96, alike, text);
    assert_int_equal(found.count == 1 ? 0 : found.count * found.period, best);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(long_repetitions_are_found),
      cmocka_unit_test(short_ones_are_not),
      cmocka_unit_test(random_lists_agree_with_a_plain_search),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
