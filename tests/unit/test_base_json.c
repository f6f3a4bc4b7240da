// Unit tests of base/json: plain and gzip files, damaged ones, printing.
// SPDX-License-Identifier: Apache-2.0
#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/json.h"
#include "tests/testing.h"

static char folder[] = "/tmp/egraph-json-XXXXXX";
static char path[200];

static int make_folder(void **state) {
  (void)state;
  if (mkdtemp(folder) == NULL) return -1;
  (void)snprintf(path, sizeof path, "%s/x.json", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  (void)unlink(path);
  return rmdir(folder);
}

static void write_text(const char *text) {
  assert_ok(eg_file_write(path, text, strlen(text)));
}

static void write_gzip(const char *text) {
  gzFile file = gzopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(gzwrite(file, text, (unsigned)strlen(text)), strlen(text));
  assert_int_equal(gzclose(file), Z_OK);
}

static void assert_reads_answer(void) {
  json_t *value;
  assert_ok(eg_json_read(path, 1 << 20, &value));
  assert_int_equal(json_integer_value(json_object_get(value, "answer")), 42);
  json_decref(value);
}

static void plain_and_gzip_files_are_read(void **state) {
  (void)state;
  write_text("{\"answer\": 42}");
  assert_reads_answer();
  write_gzip("{\"answer\": 42}");
  assert_reads_answer();
}

static void mistakes_are_named_with_their_place(void **state) {
  (void)state;
  json_t *value = NULL;
  assert_fails(eg_json_read("/nowhere/x.json", 100, &value), EGRAPH_E_IO,
               "/nowhere/x.json: No such file");
  assert_fails(eg_json_read(folder, 100, &value), EGRAPH_E_IO, "not a regular file");
  write_text("{\"a\": 1,\n \"b\" 2}");
  assert_fails(eg_json_read(path, 100, &value), EGRAPH_E_PARSE, "x.json:2:");
  write_text("");
  assert_fails(eg_json_read(path, 100, &value), EGRAPH_E_PARSE, "x.json:1:0");
  write_text("{\"a\": 1, \"a\": 2}");
  assert_fails(eg_json_read(path, 100, &value), EGRAPH_E_PARSE, "duplicate");
  write_text("[1, 2, 3, 4, 5]");
  assert_fails(eg_json_read(path, 10, &value), EGRAPH_E_IO, "limit of 10 bytes");
  assert_null(value);
}

static void a_pipe_is_refused_without_waiting(void **state) {
  (void)state;
  json_t *value;
  (void)unlink(path);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_fails(eg_json_read(path, 100, &value), EGRAPH_E_IO, "not a regular file");
  assert_int_equal(unlink(path), 0);
}

static void hostile_nesting_is_refused(void **state) {
  (void)state;
  static char deep[100001];
  memset(deep, '[', sizeof deep - 1);
  write_text(deep);
  json_t *value;
  assert_fails(eg_json_read(path, sizeof deep, &value), EGRAPH_E_PARSE, "depth");
}

static void damaged_gzip_is_an_error_at_any_length(void **state) {
  (void)state;
  write_gzip("{\"answer\": 42, \"more\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}");
  char *whole;
  size_t size;
  assert_ok(eg_file_read(eg_allocator_heap(), path, 1000, &whole, &size));
  json_t *value;
  for (size_t cut = 0; cut < size; cut++) {
    assert_ok(eg_file_write(path, whole, cut));
    assert_int_not_equal(eg_json_read(path, 1000, &value), EGRAPH_OK);
  }
  whole[size - 6] ^= 1; // the checksum
  assert_ok(eg_file_write(path, whole, size));
  assert_fails(eg_json_read(path, 1000, &value), EGRAPH_E_IO, "damaged gzip data");
  eg_free(eg_allocator_heap(), whole, size + 1, 1);
}

static void values_print_on_one_line_in_insertion_order(void **state) {
  (void)state;
  json_t *value = json_pack("{s:i, s:[f, s, b, n]}", "z", 1, "a", 0.5, "q\"", 1);
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  assert_ok(eg_json_print(&text, value));
  assert_string_equal(eg_text_of(&text), "{\"z\":1,\"a\":[0.5,\"q\\\"\",true,null]}");
  eg_text_deinit(&text);
  json_decref(value);
}

static void printing_survives_a_failed_allocation(void **state) {
  (void)state;
  test_heap heap = {.fail_at = 1};
  eg_text text;
  eg_text_init(&text, test_heap_allocator(&heap));
  json_t *value = json_pack("[i]", 1);
  assert_fails(eg_json_print(&text, value), EGRAPH_E_MEMORY, "out of memory");
  json_decref(value);
  eg_text_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plain_and_gzip_files_are_read),
      cmocka_unit_test(mistakes_are_named_with_their_place),
      cmocka_unit_test(a_pipe_is_refused_without_waiting),
      cmocka_unit_test(hostile_nesting_is_refused),
      cmocka_unit_test(damaged_gzip_is_an_error_at_any_length),
      cmocka_unit_test(values_print_on_one_line_in_insertion_order),
      cmocka_unit_test(printing_survives_a_failed_allocation),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
