// Strings and numbers as JSON; objects with known keys.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "base/json_fields.h"
#include "base/json_text.h"
#include "tests/testing.h"

static void strings_are_read_back_as_they_were(void **state) {
  (void)state;
  static const char *const STRINGS[] = {"", "a b", "\"\\/", "\x01\n\t\x1f",
                                        "\xc3\xa9\xf0\x9f\x98\x80"};
  for (size_t i = 0; i < sizeof STRINGS / sizeof *STRINGS; i++) {
    eg_text text;
    eg_json_scan scan;
    eg_chars back;
    eg_text_init(&text, eg_allocator_heap());
    eg_chars_init(&back, eg_allocator_heap());
    assert_ok(eg_text_json_string(&text, STRINGS[i]));
    assert_ok(eg_json_scan_open_bytes(&scan, eg_allocator_heap(), "f", eg_text_of(&text),
                                      text.chars.len));
    assert_ok(eg_json_scan_text(&scan, &back));
    assert_string_equal(back.data, STRINGS[i]);
    eg_json_scan_close(&scan);
    eg_chars_deinit(&back);
    eg_text_deinit(&text);
  }
}

static void bytes_that_are_no_characters_are_refused(void **state) {
  (void)state;
  static const char *const STRINGS[] = {"\xff", "a\xc3", "\xed\xa0\x80", "\xc0\x80"};
  for (size_t i = 0; i < sizeof STRINGS / sizeof *STRINGS; i++) {
    eg_text text;
    eg_text_init(&text, eg_allocator_heap());
    assert_fails(eg_text_json_string(&text, STRINGS[i]), EGRAPH_E_ARGUMENT, "UTF-8");
    eg_text_deinit(&text);
  }
}

static void numbers_are_read_back_as_they_were(void **state) {
  (void)state;
  static const struct {
    double number;
    const char *text;
  } ROWS[] = {{0, "0"},        {520, "520"},
              {-3, "-3"},      {0.5, "0.5"},
              {1e-6, "1e-06"}, {1e300, "1e+300"},
              {0.1, "0.1"},    {9007199254740991.0, "9007199254740991"}};
  for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
    eg_text text;
    double back;
    eg_text_init(&text, eg_allocator_heap());
    assert_ok(eg_text_json_double(&text, ROWS[i].number));
    assert_string_equal(eg_text_of(&text), ROWS[i].text);
    assert_true(eg_parse_double(eg_text_of(&text), &back) && back == ROWS[i].number);
    assert_fails(eg_text_json_double(&text, (double)NAN), EGRAPH_E_ARGUMENT, "finite");
    assert_fails(eg_text_json_double(&text, (double)INFINITY), EGRAPH_E_ARGUMENT,
                 "finite");
    eg_text_deinit(&text);
  }
}

// ---- fields ---------------------------------------------------------------------------

typedef struct point {
  uint32_t x;
  double weight;
  const char *name;
} point;

typedef struct points {
  point last;
  size_t count;
} points;

static egraph_status read_x(eg_json_fields_reader *r, void *record) {
  return eg_json_fields_u32(r, 1, &((point *)record)->x);
}

static egraph_status read_weight(eg_json_fields_reader *r, void *record) {
  return eg_json_fields_amount(r, &((point *)record)->weight);
}

static egraph_status read_name(eg_json_fields_reader *r, void *record) {
  return eg_json_fields_text(r, &((point *)record)->name);
}

static egraph_status read_point(eg_json_fields_reader *r, void *record) {
  static const eg_json_field fields[] = {
      {"x", true, read_x}, {"weight", false, read_weight}, {"name", false, read_name}};
  points *all = record;
  all->last = (point){.weight = 1};
  all->count++;
  return eg_json_fields_object(r, fields, 3, &all->last);
}

static egraph_status read_points(eg_json_fields_reader *r, void *record) {
  return eg_json_fields_array(r, read_point, record);
}

/// Reads {"points": [...]}; the last name is copied.
static egraph_status read_all(egraph_allocator alloc, const char *text, points *out,
                              char name[16]) {
  static const eg_json_field fields[] = {{"points", true, read_points}};
  eg_json_scan scan;
  eg_arena arena;
  eg_json_fields_reader reader;
  *out = (points){.count = 0};
  EG_TRY(eg_json_scan_open_bytes(&scan, alloc, "f", text, strlen(text)));
  eg_arena_init(&arena, alloc);
  eg_json_fields_init(&reader, alloc, &scan, &arena);
  egraph_status status =
      eg_json_fields_tell(&reader, eg_json_fields_object(&reader, fields, 1, out));
  if (out->last.name != NULL) (void)snprintf(name, 16, "%s", out->last.name);
  eg_json_fields_deinit(&reader);
  eg_arena_deinit(&arena);
  eg_json_scan_close(&scan);
  return status;
}

static const char FINE[] =
    "{\"points\": [{\"x\": 1}, {\"weight\": 0.5, \"name\": \"a\\u0041\", \"x\": 7}]}";

static void keys_are_read_in_any_order(void **state) {
  (void)state;
  points all;
  char name[16];
  assert_ok(read_all(eg_allocator_heap(), FINE, &all, name));
  assert_int_equal(all.count, 2);
  assert_int_equal(all.last.x, 7);
  assert_true(all.last.weight == 0.5);
  assert_string_equal(name, "aA");
}

static void failures_name_their_path(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } ROWS[] = {
      {"[]", "f:1:1: '[' where an object is expected; at $"},
      {"{}", "no key \"points\"; add it; at $"},
      {"{\"points\": 3}", "; at $.points"},
      {"{\"points\": [{\"x\": 1}, {\"x\": 0}]}",
       "0 is not from 1 to 4294967294; at $.points[1].x"},
      {"{\"points\": [{\"x\": 4294967295}]}", "; at $.points[0].x"},
      {"{\"points\": [{\"x\": 1.5}]}", "; at $.points[0].x"},
      {"{\"points\": [{\"weight\": 1}]}", "no key \"x\"; add it; at $.points[0]"},
      {"{\"points\": [{\"x\": 1, \"y\": 1}]}",
       "unknown key \"y\"; take it out; at $.points[0]"},
      {"{\"points\": [{\"x\": 1, \"x\": 1}]}",
       "a second \"x\"; leave one; at $.points[0]"},
      {"{\"points\": [{\"x\": 1, \"weight\": -1}]}", "below zero; at $.points[0].weight"},
      {"{\"points\": [{\"x\": 1, \"name\": 1}]}", "; at $.points[0].name"},
      {"{\"points\": [", "; at $.points"}};
  points all;
  char name[16];
  for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
    assert_fails(read_all(eg_allocator_heap(), ROWS[i].text, &all, name), EGRAPH_E_PARSE,
                 ROWS[i].message);
}

static egraph_status read_fine(egraph_allocator alloc, void *user) {
  (void)user;
  points all;
  char name[16];
  return read_all(alloc, FINE, &all, name);
}

static void failing_allocations_are_survived(void **state) {
  (void)state;
  test_every_allocation_failing(read_fine, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strings_are_read_back_as_they_were),
      cmocka_unit_test(bytes_that_are_no_characters_are_refused),
      cmocka_unit_test(numbers_are_read_back_as_they_were),
      cmocka_unit_test(keys_are_read_in_any_order),
      cmocka_unit_test(failures_name_their_path),
      cmocka_unit_test(failing_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
