// ONNX on disk: external data and its hostile places, absent data, limits, saving.
// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "tests/unit/onnx_kit.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char folder[] = "test_onnx_files.tmp";

static int setup(void **state) {
  (void)state;
  return system("rm -rf test_onnx_files.tmp && mkdir -p test_onnx_files.tmp/sub");
}

static int teardown(void **state) {
  (void)state;
  return system("rm -rf test_onnx_files.tmp");
}

static void write_file(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static void entry(onnx_kit *kit, Onnx__TensorProto *tensor, const char *key,
                  const char *value) {
  Onnx__StringStringEntryProto *made = kit_alloc(kit, 1, sizeof *made);
  *made = (Onnx__StringStringEntryProto)ONNX__STRING_STRING_ENTRY_PROTO__INIT;
  made->key = kit_string_copy(kit, key);
  made->value = kit_string_copy(kit, value);
  tensor->external_data[tensor->n_external_data++] = made;
}

// Saves a model that adds two numbers from a place given by pairs of keys and values, and
// loads it.
static bool draws_weights = false;

static egraph_status load_with(const egraph_allocator *alloc, const char *const *pairs,
                               eg_graph **out) {
  onnx_kit kit;
  kit_begin(&kit, 13);
  kit_input(&kit, "x", "float32[2]");
  kit_output(&kit, "y");
  Onnx__TensorProto *tensor = kit_weight(&kit, "w", "float32[2]", NULL);
  tensor->has_data_location = true;
  tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  tensor->external_data = kit_alloc(&kit, 8, sizeof *tensor->external_data);
  for (; *pairs != NULL; pairs += 2)
    entry(&kit, tensor, pairs[0], pairs[1]);
  (void)kit_node(&kit, "Add", "x,w", "y");
  size_t size;
  const uint8_t *bytes = kit_bytes(&kit, &size);
  char path[128];
  (void)snprintf(path, sizeof path, "%s/m.onnx", folder);
  write_file(path, bytes, size);
  kit_end(&kit);
  eg_onnx_import_options options = EG_ONNX_IMPORT_OPTIONS_DEFAULT;
  options.draws_weights = draws_weights;
  return eg_onnx_load(alloc, path, &options, out);
}

#define PLACE(...) ((const char *const[]){__VA_ARGS__, NULL})

static const float *weight_of(const eg_graph *graph, const char *name) {
  eg_value value;
  assert_true(eg_graph_find_value(graph, name, &value));
  const eg_buffer *data = eg_graph_value(graph, value)->data;
  return data != NULL ? eg_buffer_data(data) : NULL;
}

static void external_data_is_mapped_at_any_offset(void **state) {
  (void)state;
  static const char *const offsets[] = {"0", "4", "5", "4096", "4099"};
  unsigned char bytes[8192] = {0};
  const float values[2] = {1.5F, -2.0F};
  for (size_t i = 0; i < 5; i++) {
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes + strtoul(offsets[i], NULL, 10), values, sizeof values);
    write_file("test_onnx_files.tmp/sub/w.bin", bytes, sizeof bytes);
    test_heap heap = {0};
    egraph_allocator alloc = test_heap_allocator(&heap);
    eg_graph *graph;
    assert_ok(load_with(&alloc,
                        PLACE("location", "sub/w.bin", "offset", offsets[i], "length",
                              "8", "checksum", "unused"),
                        &graph));
    assert_memory_equal(weight_of(graph, "w"), values, sizeof values);
    eg_graph_destroy(graph);
    assert_int_equal(heap.live_bytes, 0);
  }
}

static void absent_data_is_an_error(void **state) {
  (void)state;
  eg_graph *graph;
  assert_fails(load_with(NULL, PLACE("location", "nowhere.bin"), &graph), EGRAPH_E_IO,
               "m.onnx: initializer 'w': its data is in the file 'nowhere.bin', which is "
               "not beside the model; put it there, or ask for random weights");
  assert_fails(load_with(NULL, PLACE("checksum", "1"), &graph), EGRAPH_E_IO,
               "its data is in the file ''");
}

/// Opening a pipe would wait for ever.
static void data_in_a_pipe_is_refused(void **state) {
  (void)state;
  eg_graph *graph;
  (void)unlink("test_onnx_files.tmp/pipe");
  assert_int_equal(mkfifo("test_onnx_files.tmp/pipe", 0600), 0);
  assert_fails(load_with(NULL, PLACE("location", "pipe"), &graph), EGRAPH_E_IO,
               "'pipe' is not a regular file");
  assert_int_equal(unlink("test_onnx_files.tmp/pipe"), 0);
}

static void absent_data_may_make_an_absent_weight(void **state) {
  (void)state;
  eg_graph *graph;
  draws_weights = true;
  assert_ok(load_with(NULL, PLACE("location", "nowhere.bin"), &graph));
  assert_null(weight_of(graph, "w"));
  eg_graph_destroy(graph);
  assert_ok(load_with(NULL, PLACE("checksum", "1"), &graph));
  draws_weights = false;
  assert_null(weight_of(graph, "w"));
  // And stays absent when it is written and read.
  eg_graph *again;
  assert_ok(eg_onnx_save(graph, "test_onnx_files.tmp/again.onnx", NULL));
  assert_ok(eg_onnx_load(NULL, "test_onnx_files.tmp/again.onnx", NULL, &again));
  assert_null(weight_of(again, "w"));
  eg_graph_destroy(again);
  eg_graph_destroy(graph);
}

static void places_outside_of_the_directory_are_refused(void **state) {
  (void)state;
  static const char *const locations[] = {
      "../secret", "/etc/hostname", "sub/../../secret", "", "sub\\..\\secret", ".."};
  eg_graph *graph;
  write_file("test_onnx_files.secret.tmp", "12345678", 8);
  for (size_t i = 0; i < sizeof locations / sizeof locations[0]; i++)
    assert_fails(load_with(NULL, PLACE("location", locations[i]), &graph), EGRAPH_E_PARSE,
                 "initializer 'w': external data at");
  assert_int_equal(symlink("../test_onnx_files.secret.tmp", "test_onnx_files.tmp/link"),
                   0);
  assert_fails(load_with(NULL, PLACE("location", "link"), &graph), EGRAPH_E_PARSE,
               "outside of the model's directory");
  (void)remove("test_onnx_files.secret.tmp");
}

static void wrong_ranges_are_refused(void **state) {
  (void)state;
  eg_graph *graph;
  write_file("test_onnx_files.tmp/w.bin", "12345678", 8);
  assert_fails(load_with(NULL, PLACE("location", "w.bin", "length", "4"), &graph),
               EGRAPH_E_PARSE, "4 bytes but the shape asks for 8");
  assert_fails(load_with(NULL, PLACE("location", "w.bin", "offset", "-1"), &graph),
               EGRAPH_E_PARSE, "the offset '-1'");
  assert_fails(load_with(NULL, PLACE("location", "w.bin", "offset", "x"), &graph),
               EGRAPH_E_PARSE, "the offset 'x'");
  assert_fails(load_with(NULL, PLACE("location", "w.bin", "offset", "1"), &graph),
               EGRAPH_E_IO, "truncated");
  assert_fails(load_with(NULL, PLACE("location", "sub"), &graph), EGRAPH_E_IO,
               "not a regular file");
}

static void files_that_cannot_be_read_are_named(void **state) {
  (void)state;
  eg_graph *graph;
  assert_fails(eg_onnx_load(NULL, "absent.onnx", NULL, &graph), EGRAPH_E_IO,
               "absent.onnx");
  assert_fails(eg_onnx_load(NULL, folder, NULL, &graph), EGRAPH_E_IO, folder);
  write_file("test_onnx_files.tmp/bad.onnx", "this is no model", 16);
  assert_fails(eg_onnx_load(NULL, "test_onnx_files.tmp/bad.onnx", NULL, &graph),
               EGRAPH_E_PARSE, "bad.onnx: this is no ONNX model");
  eg_onnx_import_options options = EG_ONNX_IMPORT_OPTIONS_DEFAULT;
  options.max_bytes = 15;
  assert_fails(eg_onnx_load(NULL, "test_onnx_files.tmp/bad.onnx", &options, &graph),
               EGRAPH_E_IO, "larger than 15 bytes");
  write_file("test_onnx_files.tmp/empty.onnx", "", 0);
  assert_fails(eg_onnx_load(NULL, "test_onnx_files.tmp/empty.onnx", NULL, &graph),
               EGRAPH_E_PARSE, "has no graph");
}

static void weights_may_be_saved_beside_the_model(void **state) {
  (void)state;
  static float values[300], again_values[300];
  onnx_kit kit;
  kit_begin(&kit, 13);
  kit_input(&kit, "x", "float32[3]");
  kit_output(&kit, "y");
  for (int i = 0; i < 300; i++)
    values[i] = (float)i;
  (void)kit_weight(&kit, "big", "float32[100,3]", values);
  (void)kit_weight(&kit, "small", "float32[3]", values + 7);
  (void)kit_weight(&kit, "large", "float32[3,100]", values);
  (void)kit_node(&kit, "Add", "x,small", "s");
  (void)kit_node(&kit, "Add", "s,big", "t");
  (void)kit_node(&kit, "MatMul", "t,large", "y");
  eg_graph *graph, *again;
  assert_ok(kit_import(&kit, NULL, &graph));
  kit_end(&kit);
  eg_onnx_export_options options = {.external = true};
  assert_ok(eg_onnx_save(graph, "test_onnx_files.tmp/e.onnx", &options));
  struct stat info;
  assert_int_equal(stat("test_onnx_files.tmp/e.onnx.data", &info), 0);
  assert_int_equal(info.st_size, 1200 + 16 + 1200); // 1200 is no multiple of a cache line
  assert_ok(eg_onnx_load(NULL, "test_onnx_files.tmp/e.onnx", NULL, &again));
  eg_graph_destroy(graph);
  assert_memory_equal(weight_of(again, "big"), values, sizeof values);
  assert_memory_equal(weight_of(again, "large"), values, sizeof values);
  assert_memory_equal(weight_of(again, "small"), values + 7, 12);
  // Over its own files, which are mapped; the same bytes result.
  assert_ok(eg_onnx_save(again, "test_onnx_files.tmp/e.onnx", &options));
  memcpy(again_values, weight_of(again, "large"), sizeof again_values);
  assert_memory_equal(again_values, values, sizeof values);
  eg_graph_destroy(again);
  assert_ok(eg_onnx_load(NULL, "test_onnx_files.tmp/e.onnx", NULL, &again));
  assert_memory_equal(weight_of(again, "big"), values, sizeof values);
  assert_fails(eg_onnx_save(again, "test_onnx_files.tmp/no/e.onnx", &options),
               EGRAPH_E_IO, "e.onnx.data.new");
  assert_fails(eg_onnx_save(again, "test_onnx_files.tmp/no/e.onnx", NULL), EGRAPH_E_IO,
               "e.onnx");
  eg_graph_destroy(again);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
      CASE(external_data_is_mapped_at_any_offset),
      CASE(absent_data_is_an_error),
      CASE(data_in_a_pipe_is_refused),
      CASE(absent_data_may_make_an_absent_weight),
      CASE(places_outside_of_the_directory_are_refused),
      CASE(wrong_ranges_are_refused),
      CASE(files_that_cannot_be_read_are_named),
      CASE(weights_may_be_saved_beside_the_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
