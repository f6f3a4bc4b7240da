// Unit tests of base/sexpr: the grammar, every error message, hostile input, round trips.
// SPDX-License-Identifier: Apache-2.0
#include "base/sexpr.h"
#include "tests/testing.h"

static eg_arena arena;

static int setup(void **state) {
  (void)state;
  eg_arena_init(&arena, eg_allocator_heap());
  return 0;
}

static int teardown(void **state) {
  (void)state;
  eg_arena_deinit(&arena);
  return 0;
}

static egraph_status parse(const char *text, size_t size, eg_sexpr *out) {
  // A copy of exactly `size` bytes, so that sanitizers see every read past the end.
  char *copy;
  EG_TRY(eg_alloc(eg_allocator_heap(), size, 1, &copy));
  if (size != 0) memcpy(copy, text, size);
  egraph_status status = eg_sexpr_parse(&arena, "t.rules", copy, size, out);
  eg_free(eg_allocator_heap(), copy, size, 1);
  return status;
}

static void lists_brackets_strings_and_atoms_are_read_with_positions(void **state) {
  (void)state;
  const char *text = "; head\n(rule a-b\n  [1 -2.5] \"x \\\"\\\\\\n\\t\")()atom\"s\"";
  eg_sexpr file;
  assert_ok(parse(text, strlen(text), &file));
  assert_int_equal(file.count, 4);
  const eg_sexpr *rule = &file.children[0];
  assert_true(eg_sexpr_is_form(rule, "rule"));
  assert_false(eg_sexpr_is_form(rule, "rules"));
  assert_int_equal(rule->line, 2);
  assert_int_equal(rule->column, 1);
  assert_int_equal(rule->count, 4);
  assert_true(eg_sexpr_is_atom(&rule->children[1], "a-b"));
  assert_int_equal(rule->children[2].kind, EG_SEXPR_BRACKETS);
  assert_int_equal(rule->children[2].line, 3);
  assert_int_equal(rule->children[2].column, 3);
  assert_string_equal(rule->children[2].children[1].text, "-2.5");
  assert_int_equal(rule->children[3].kind, EG_SEXPR_STRING);
  assert_string_equal(rule->children[3].text, "x \"\\\n\t");
  assert_int_equal(file.children[1].count, 0);
  assert_false(eg_sexpr_is_form(&file.children[1], "rule"));
  assert_true(eg_sexpr_is_atom(&file.children[2], "atom"));
  assert_int_equal(file.children[3].kind, EG_SEXPR_STRING);
  assert_false(eg_sexpr_is_atom(&file.children[3], "s"));
}

static void nothing_is_an_empty_file(void **state) {
  (void)state;
  const char *const texts[] = {"", " \t\r\n", "; only a comment",
                               "; nul \0 in a comment\n"};
  const size_t sizes[] = {0, 4, 16, 21};
  for (size_t i = 0; i < 4; i++) {
    eg_sexpr file;
    assert_ok(parse(texts[i], sizes[i], &file));
    assert_int_equal(file.count, 0);
  }
}

static void every_mistake_is_named_with_its_place(void **state) {
  (void)state;
  const struct {
    const char *text;
    size_t size; // 0: strlen
    const char *message;
  } cases[] = {
      {"(a\n (b", 0,
       "t.rules:2:2: this bracket is never closed; the file may be truncated"},
      {"a)", 0, "t.rules:1:2: this bracket closes nothing; remove it"},
      {"(a]", 0, "t.rules:1:3: this bracket does not match the one opened at 1:1"},
      {"[a)", 0, "t.rules:1:3: this bracket does not match the one opened at 1:1"},
      {" \"abc", 0, "t.rules:1:2: this string is not closed; add a '\"'"},
      {"\"abc\\", 0, "t.rules:1:1: this string is not closed"},
      {"\"abc\\\"", 0, "t.rules:1:1: this string is not closed"},
      {"\"a\\x\"", 0, "t.rules:1:1: unknown escape; use"},
      {"a\0b", 3, "t.rules:1:2: unexpected byte 0x00; the file must be text"},
      {"\"a\0\"", 4, "t.rules:1:1: a string contains a NUL byte"},
      {"\"a\\\0\"", 5, "t.rules:1:1: unknown escape"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    eg_sexpr file = {.line = 99};
    size_t size = cases[i].size != 0 ? cases[i].size : strlen(cases[i].text);
    assert_fails(parse(cases[i].text, size, &file), EGRAPH_E_PARSE, cases[i].message);
    assert_int_equal(file.line, 99);
  }
}

static void nesting_is_limited(void **state) {
  (void)state;
  char text[2 * EG_SEXPR_MAX_DEPTH + 2];
  memset(text, '(', EG_SEXPR_MAX_DEPTH + 1);
  memset(text + EG_SEXPR_MAX_DEPTH + 1, ')', EG_SEXPR_MAX_DEPTH + 1);
  eg_sexpr file;
  assert_ok(parse(text + 1, 2 * EG_SEXPR_MAX_DEPTH, &file));
  assert_fails(parse(text, sizeof text, &file), EGRAPH_E_PARSE,
               "t.rules:1:201: lists are nested deeper than 200");
}

static void assert_same(const eg_sexpr *a, const eg_sexpr *b) {
  assert_int_equal(a->kind, b->kind);
  assert_int_equal(a->count, b->count);
  if (a->text != NULL) assert_string_equal(a->text, b->text);
  for (uint32_t i = 0; i < a->count; i++)
    assert_same(&a->children[i], &b->children[i]);
}

static void check_round_trip(const char *text, size_t size) {
  eg_sexpr first, second;
  if (parse(text, size, &first) != EGRAPH_OK) return;
  eg_text printed, again;
  eg_text_init(&printed, eg_allocator_heap());
  eg_text_init(&again, eg_allocator_heap());
  assert_ok(eg_sexpr_print(&printed, &first));
  assert_ok(parse(eg_text_of(&printed), printed.chars.len, &second));
  assert_int_equal(second.count, 1);
  assert_same(&first, &second.children[0]);
  assert_ok(eg_sexpr_print(&again, &second.children[0]));
  assert_string_equal(eg_text_of(&printed), eg_text_of(&again));
  eg_text_deinit(&printed);
  eg_text_deinit(&again);
}

static void printed_text_reads_back_the_same(void **state) {
  (void)state;
  const char *text = "(rule x [1 2 []] \"q\\\"\\\\\\n\\t\r\" (a (b (c))) ) \xc3\xa9 ()";
  check_round_trip(text, strlen(text));
  // Random bytes of an alphabet rich in structure: either an error or a round trip.
  static const char alphabet[] = "(((()))))[[]]\"\\nt;a1 \n\t\0\xff";
  eg_rng rng = {test_seed(11)};
  for (size_t i = 0; i < test_rounds(3000); i++) {
    char noise[60];
    size_t size = eg_rng_below(&rng, sizeof noise);
    for (size_t k = 0; k < size; k++)
      noise[k] = alphabet[eg_rng_below(&rng, sizeof alphabet - 1)];
    check_round_trip(noise, size);
    eg_arena_deinit(&arena);
  }
}

static void own_messages_carry_the_place_of_an_expression(void **state) {
  (void)state;
  eg_sexpr at = {.line = 12, .column = 7};
  assert_fails(eg_sexpr_fail("core.rules", &at, "unknown operator '%s'", "matmull"),
               EGRAPH_E_PARSE, "core.rules:12:7: unknown operator 'matmull'");
}

static egraph_status parse_and_print(egraph_allocator alloc, void *user) {
  eg_arena memory;
  eg_arena_init(&memory, alloc);
  eg_text text;
  eg_text_init(&text, alloc);
  eg_sexpr file;
  egraph_status status = eg_sexpr_parse(&memory, "f", user, strlen(user), &file);
  if (status == EGRAPH_OK) status = eg_sexpr_print(&text, &file);
  eg_text_deinit(&text);
  eg_arena_deinit(&memory);
  return status;
}

static void parsing_survives_each_allocation_failing(void **state) {
  (void)state;
  static char text[] = "(a b c d e f g h i j (k [l \"m n o p\"])) (q r s t u v w x y z)";
  test_every_allocation_failing(parse_and_print, text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(
          lists_brackets_strings_and_atoms_are_read_with_positions, setup, teardown),
      cmocka_unit_test_setup_teardown(nothing_is_an_empty_file, setup, teardown),
      cmocka_unit_test_setup_teardown(every_mistake_is_named_with_its_place, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(nesting_is_limited, setup, teardown),
      cmocka_unit_test_setup_teardown(printed_text_reads_back_the_same, setup, teardown),
      cmocka_unit_test(own_messages_carry_the_place_of_an_expression),
      cmocka_unit_test(parsing_survives_each_allocation_failing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
