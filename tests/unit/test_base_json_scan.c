// Unit tests of base/json_scan and base/gzip: values one by one, places of mistakes,
// tokens across the end of the buffer, damaged files.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L

#include "base/json_scan.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/text.h"
#include "tests/testing.h"

static char path[64] = "/tmp/egraph-scan-XXXXXX";

static int make_file(void **state) {
  (void)state;
  int file = mkstemp(path);
  return file < 0 ? -1 : close(file);
}

static int remove_file(void **state) {
  (void)state;
  return unlink(path);
}

static void write_text(const char *text) {
  assert_ok(eg_file_write(path, text, strlen(text)));
}

static void write_gzip(const char *text) {
  gzFile file = gzopen(path, "wb");
  assert_int_equal(gzputs(file, text), (int)strlen(text));
  assert_int_equal(gzclose(file), Z_OK);
}

// Adds up the integers of an array of arrays.
static egraph_status sum_rows(eg_json_scan *scan, int64_t *out) {
  size_t rows = 0;
  bool more = false;
  *out = 0;
  EG_TRY(eg_json_scan_enter(scan, '['));
  for (;;) {
    EG_TRY(eg_json_scan_next(scan, ']', &rows, &more));
    if (!more) return eg_json_scan_end(scan);
    size_t count = 0;
    EG_TRY(eg_json_scan_enter(scan, '['));
    for (;;) {
      int64_t value = 0;
      EG_TRY(eg_json_scan_next(scan, ']', &count, &more));
      if (!more) break;
      EG_TRY(eg_json_scan_int64(scan, &value));
      *out += value;
    }
  }
}

static egraph_status sum_file(egraph_allocator alloc, uint64_t max_bytes, int64_t *out) {
  eg_json_scan scan;
  EG_TRY(eg_json_scan_open(&scan, alloc, path, max_bytes));
  egraph_status status = sum_rows(&scan, out);
  eg_json_scan_close(&scan);
  return status;
}

static void plain_and_gzip_files_are_read(void **state) {
  (void)state;
  int64_t sum;
  write_text(" [[1, 2],\n\t[],\r\n[-40,0]]\n");
  assert_ok(sum_file(eg_allocator_heap(), 100, &sum));
  assert_int_equal(sum, -37);
  write_gzip("[[1,2],[],[-40,0]]");
  assert_ok(sum_file(eg_allocator_heap(), 100, &sum));
  assert_int_equal(sum, -37);
  write_text("[]");
  assert_ok(sum_file(eg_allocator_heap(), 100, &sum));
  assert_int_equal(sum, 0);
}

// Rows of growing numbers of blanks, so that the end of the buffer falls on every byte of
// a token.
static void tokens_across_the_buffer_stay_whole(void **state) {
  (void)state;
  eg_text text;
  int64_t expected = 0, sum;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_text_append(&text, "[[0]"));
  for (int i = 0; text.chars.len < 6 * EG_JSON_SCAN_BUFFER; i++) {
    int64_t value = 1000000000000000 + i;
    assert_ok(eg_text_printf(&text, ",%*s[%lld,%d]", i % 97, "", (long long)value, -i));
    expected += value - i;
  }
  assert_ok(eg_text_append(&text, "]"));
  write_text(eg_text_of(&text));
  assert_ok(sum_file(eg_allocator_heap(), text.chars.len, &sum));
  assert_true(sum == expected);
  write_gzip(eg_text_of(&text));
  assert_ok(sum_file(eg_allocator_heap(), text.chars.len, &sum));
  assert_true(sum == expected);
  assert_fails(sum_file(eg_allocator_heap(), text.chars.len - 1, &sum), EGRAPH_E_IO,
               "more than the limit of");
  eg_text_deinit(&text);
}

static egraph_status sum_text(const char *text, int64_t *out) {
  eg_json_scan scan;
  EG_TRY(
      eg_json_scan_open_bytes(&scan, eg_allocator_heap(), "x.json", text, strlen(text)));
  egraph_status status = sum_rows(&scan, out);
  eg_json_scan_close(&scan);
  return status;
}

static void integers_of_64_bits_are_exact(void **state) {
  (void)state;
  int64_t sum;
  assert_ok(sum_text("[[9223372036854775807]]", &sum));
  assert_true(sum == INT64_MAX);
  assert_ok(sum_text("[[-9223372036854775807]]", &sum));
  assert_true(sum == -INT64_MAX);
  assert_ok(sum_text("[[0, -0]]", &sum));
  assert_true(sum == 0);
}

static void mistakes_are_named_with_their_place(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } CASES[] = {
      {"", "x.json:1:1: the file ends where an array is expected"},
      {"  {}", "x.json:1:3: '{' where an array is expected"},
      {"[\n [1],\n 5]", "x.json:3:2: '5' where an array is expected"},
      {"[[1}", "x.json:1:4: '}' where ',' or ']' is expected"},
      {"[[1 2]]", "x.json:1:5: '2' where ',' or ']' is expected"},
      {"[[1,]]", "x.json:1:5: ']' where an integer is expected"},
      {"[[,1]]", "x.json:1:3: ',' where an integer is expected"},
      {"[[1]", "x.json:1:5: the file ends where ',' or ']' is expected"},
      {"[[1]] 7", "x.json:1:7: '7' where the end of the file is expected"},
      {"[[01]]", "x.json:1:3: a number that begins with 0"},
      {"[[-]]", "x.json:1:3: '-' where an integer is expected"},
      {"[[+1]]", "x.json:1:3: '+' where an integer is expected"},
      {"[[true]]", "x.json:1:3: 't' where an integer is expected"},
      {"[[\"1\"]]", "x.json:1:3: '\"' where an integer is expected"},
      {"[[1.5]]", "x.json:1:3: a number with a fraction"},
      {"[[1e18]]", "x.json:1:3: a number with a fraction or an exponent"},
      {"[[9223372036854775808]]", "x.json:1:3: an integer beyond 64 bits"},
      {"[[18446744073709551617]]", "x.json:1:3: an integer beyond 64 bits"},
      {"[[1234567890123456789012345678901234567890123456789012345678901234567890]]",
       "x.json:1:3: an integer beyond 64 bits"},
      {"[[\xff]]", "x.json:1:3: byte 255 where an integer is expected"},
      {"[[\x01]]", "x.json:1:3: byte 1 where an integer is expected"},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    int64_t sum;
    assert_fails(sum_text(CASES[i].text, &sum), EGRAPH_E_PARSE, CASES[i].message);
  }
}

static void a_nul_byte_is_not_the_end(void **state) {
  (void)state;
  eg_json_scan scan;
  int64_t sum;
  assert_ok(eg_json_scan_open_bytes(&scan, eg_allocator_heap(), "x.json", "[]\0[]", 5));
  assert_fails(sum_rows(&scan, &sum), EGRAPH_E_PARSE,
               "x.json:1:3: byte 0 where the end of the file is expected");
  eg_json_scan_close(&scan);
}

// Skips one value; the rest must be blank.
static egraph_status skip_text(const char *text) {
  eg_json_scan scan;
  EG_TRY(
      eg_json_scan_open_bytes(&scan, eg_allocator_heap(), "x.json", text, strlen(text)));
  egraph_status status = eg_json_scan_skip(&scan);
  if (status == EGRAPH_OK) status = eg_json_scan_end(&scan);
  eg_json_scan_close(&scan);
  return status;
}

static void any_value_can_be_skipped(void **state) {
  (void)state;
  static const char *const GOOD[] = {
      "1",
      "-1.5e+300",
      "true",
      "false",
      " null ",
      "\"a\\\"b\\\\\"",
      "[]",
      "{}",
      "[[[]]]",
      "[{\"a\": [1, {\"b\": null}], \"c\": {}}, []]",
      "{\"a\" : [ ] , \"b\" : \"]}\" }",
  };
  for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++)
    assert_ok(skip_text(GOOD[i]));
  static const struct {
    const char *text, *message;
  } BAD[] = {
      {"", "x.json:1:1: the file ends where a value is expected"},
      {"nul", "x.json:1:1: 'n' where a value is expected"},
      {"[1,]", "x.json:1:4: ']' where a value is expected"},
      {"[1}", "x.json:1:3: '}' where ',' or ']' is expected"},
      {"{1: 2}", "x.json:1:2: '1' where a key in quotes is expected"},
      {"{\"a\" 2}", "x.json:1:6: '2' where ':' is expected"},
      {"{\"a\": 2,}", "x.json:1:9: '}' where a key in quotes is expected"},
      {"\"abc", "x.json:1:5: the file ends where the end of a string is expected"},
      {"\"a\nb\"", "x.json:1:3: byte 10 where the end of a string is expected"},
      {"[\"a\\\"]", "the end of a string is expected"},
      {"1 2", "x.json:1:3: '2' where the end of the file is expected"},
  };
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
    assert_fails(skip_text(BAD[i].text), EGRAPH_E_PARSE, BAD[i].message);
}

static void hostile_nesting_is_refused(void **state) {
  (void)state;
  char deep[2 * EG_JSON_SCAN_DEPTH + 2] = "";
  memset(deep, '[', EG_JSON_SCAN_DEPTH);
  memset(deep + EG_JSON_SCAN_DEPTH, ']', EG_JSON_SCAN_DEPTH);
  assert_ok(skip_text(deep));
  memset(deep, '[', EG_JSON_SCAN_DEPTH + 1);
  assert_fails(skip_text(deep), EGRAPH_E_PARSE, "nested deeper than 64");
}

static void keys_are_cut_and_escapes_kept(void **state) {
  (void)state;
  const char *text = "{\"abcdefgh\": 1, \"\\\"\" : 2}";
  eg_json_scan scan;
  char name[5];
  size_t count = 0;
  bool more;
  int64_t value;
  assert_ok(eg_json_scan_open_bytes(&scan, eg_allocator_heap(), "x", text, strlen(text)));
  assert_ok(eg_json_scan_enter(&scan, '{'));
  assert_ok(eg_json_scan_next(&scan, '}', &count, &more));
  assert_ok(eg_json_scan_key(&scan, name, sizeof name));
  assert_string_equal(name, "abcd");
  assert_ok(eg_json_scan_int64(&scan, &value));
  assert_ok(eg_json_scan_next(&scan, '}', &count, &more));
  assert_ok(eg_json_scan_key(&scan, name, sizeof name));
  assert_string_equal(name, "\\\"");
  assert_ok(eg_json_scan_skip(&scan));
  assert_ok(eg_json_scan_next(&scan, '}', &count, &more));
  assert_false(more);
  assert_int_equal(count, 2);
  eg_json_scan_close(&scan);
}

static void damaged_gzip_is_an_error_at_any_length(void **state) {
  (void)state;
  write_gzip("[[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], [12, 13, 14]]");
  char *whole;
  size_t size;
  int64_t sum;
  assert_ok(eg_file_read(eg_allocator_heap(), path, 1000, &whole, &size));
  for (size_t cut = 3; cut < size; cut++) {
    assert_ok(eg_file_write(path, whole, cut));
    assert_fails(sum_file(eg_allocator_heap(), 1000, &sum), EGRAPH_E_IO, "fetch");
  }
  whole[size - 6] ^= 1; // the checksum
  assert_ok(eg_file_write(path, whole, size));
  assert_fails(sum_file(eg_allocator_heap(), 1000, &sum), EGRAPH_E_IO,
               "damaged gzip data");
  eg_free(eg_allocator_heap(), whole, size + 1, 1);
}

static void what_is_no_file_is_refused(void **state) {
  (void)state;
  eg_json_scan scan;
  egraph_allocator heap = eg_allocator_heap();
  assert_fails(eg_json_scan_open(&scan, heap, "/nonexistent/x", 10), EGRAPH_E_IO,
               "/nonexistent/x: No such file");
  assert_fails(eg_json_scan_open(&scan, heap, "/tmp", 10), EGRAPH_E_IO,
               "/tmp: not a regular file");
  char pipe_path[80];
  (void)snprintf(pipe_path, sizeof pipe_path, "%s.pipe", path);
  assert_int_equal(mkfifo(pipe_path, 0600), 0);
  assert_fails(eg_json_scan_open(&scan, heap, pipe_path, 10), EGRAPH_E_IO,
               "not a regular file");
  assert_int_equal(unlink(pipe_path), 0);
}

static egraph_status sum_with(egraph_allocator alloc, void *out) {
  return sum_file(alloc, 100, out);
}

static void scanning_survives_every_failing_allocation(void **state) {
  (void)state;
  int64_t sum;
  write_text("[[1]]");
  test_every_allocation_failing(sum_with, &sum);
}

// ---- texts and reals -------------------------------------------------------------

static egraph_status read_one_text(const char *json, size_t size, eg_chars *out) {
  eg_json_scan scan;
  assert_ok(eg_json_scan_open_bytes(&scan, eg_allocator_heap(), "t", json, size));
  egraph_status status = eg_json_scan_text(&scan, out);
  if (status == EGRAPH_OK) status = eg_json_scan_end(&scan);
  eg_json_scan_close(&scan);
  return status;
}

static void texts_are_decoded(void **state) {
  (void)state;
  static const char *const CASES[][2] = {
      {"\"\"", ""},
      {" \"plain\" ", "plain"},
      {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
      {"\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"",
       "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
      {"\"\xc3\xa9\xf0\x9f\x98\x80\"", "\xc3\xa9\xf0\x9f\x98\x80"}};
  eg_chars text;
  eg_chars_init(&text, eg_allocator_heap());
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    assert_ok(read_one_text(CASES[i][0], strlen(CASES[i][0]), &text));
    assert_string_equal(text.data, CASES[i][1]);
    assert_int_equal(text.len, strlen(CASES[i][1]));
  }
  static const char *const WRONG[] = {"\"\\u00zz\"",
                                      "\"\\u0000\"",
                                      "\"\\ud83d\"",
                                      "\"\\ud83dx\"",
                                      "\"\\ude00\"",
                                      "\"\\ud83d\\u0041\"",
                                      "\"\\x\"",
                                      "\"\\",
                                      "\"\\u12",
                                      "\"open",
                                      "\"line\nbreak\"",
                                      "\"\xff\"",
                                      "\"\xc3\"",
                                      "\"\xed\xa0\x80\"",
                                      "7",
                                      ""};
  for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++)
    assert_fails(read_one_text(WRONG[i], strlen(WRONG[i]), &text), EGRAPH_E_PARSE,
                 "t:1:");
  eg_chars_deinit(&text);
}

static void long_texts_cross_the_buffer(void **state) {
  (void)state;
  size_t size = 3 * EG_JSON_SCAN_BUFFER;
  char *json = test_malloc(size + 1);
  json[0] = '"';
  for (size_t i = 1; i + 6 < size; i += 6)
    memcpy(json + i, "\\u0041", 6);
  size_t length = 1 + (size - 2) / 6 * 6;
  memset(json + length, 'A', size - length);
  json[size - 1] = '"';
  eg_chars text;
  eg_chars_init(&text, eg_allocator_heap());
  assert_ok(read_one_text(json, size, &text));
  assert_int_equal(text.len, (size - 2) / 6 + (size - 1 - length));
  for (size_t i = 0; i < text.len; i++)
    assert_int_equal(text.data[i], 'A');
  eg_chars_deinit(&text);
  test_free(json);
}

static egraph_status read_one_double(const char *json, double *out) {
  eg_json_scan scan;
  assert_ok(eg_json_scan_open_bytes(&scan, eg_allocator_heap(), "t", json, strlen(json)));
  egraph_status status = eg_json_scan_double(&scan, out);
  if (status == EGRAPH_OK) status = eg_json_scan_end(&scan);
  eg_json_scan_close(&scan);
  return status;
}

static void reals_are_those_of_json(void **state) {
  (void)state;
  static const struct {
    const char *json;
    double value;
  } cases[] = {
      {"0", 0},      {" -0.5 ", -0.5}, {"12345678901234567890", 12345678901234567890.0},
      {"1e3", 1000}, {"1E+3", 1000},   {"2.5e-7", 2.5e-7},
      {"1e-999", 0}};
  double value = 7;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_ok(read_one_double(cases[i].json, &value));
    assert_true(value == cases[i].value);
  }
  static const char *const WRONG[] = {"",    "-",   "+1",   ".5",  "1.",   "01",
                                      "1e",  "1e+", "1.e1", "inf", "nan",  "1e999",
                                      "0x1", "1 2", "--1",  "1-1", "\"1\""};
  for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++)
    assert_fails(read_one_double(WRONG[i], &value), EGRAPH_E_PARSE, "t:1:");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_are_decoded),
      cmocka_unit_test(long_texts_cross_the_buffer),
      cmocka_unit_test(reals_are_those_of_json),
      cmocka_unit_test(plain_and_gzip_files_are_read),
      cmocka_unit_test(tokens_across_the_buffer_stay_whole),
      cmocka_unit_test(integers_of_64_bits_are_exact),
      cmocka_unit_test(mistakes_are_named_with_their_place),
      cmocka_unit_test(a_nul_byte_is_not_the_end),
      cmocka_unit_test(any_value_can_be_skipped),
      cmocka_unit_test(hostile_nesting_is_refused),
      cmocka_unit_test(keys_are_cut_and_escapes_kept),
      cmocka_unit_test(damaged_gzip_is_an_error_at_any_length),
      cmocka_unit_test(what_is_no_file_is_refused),
      cmocka_unit_test(scanning_survives_every_failing_allocation),
  };
  return cmocka_run_group_tests(tests, make_file, remove_file);
}
