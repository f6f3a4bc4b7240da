// Engines in files: round trips, damaged files, failures.
// SPDX-License-Identifier: Apache-2.0
#include "tests/testing.h"

#include "egraph/engine_file.h"
#include "tests/unit/engine_steps.h"

static eg_engine *create(egraph_allocator alloc, bool analysis, bool record) {
  eg_engine *e;
  eg_engine_options options = {.analysis = analysis ? &step_sizes : NULL,
                               .record = record};
  assert_ok(eg_engine_create(&alloc, &options, &e));
  return e;
}

static eg_chunk_writer saved(const eg_engine *e) {
  eg_chunk_writer writer;
  assert_ok(eg_chunks_start(&writer, e->alloc, EG_ENGINE_FILE_KIND));
  assert_ok(eg_engine_put(e, &writer));
  assert_ok(eg_chunks_finish(&writer));
  return writer;
}

static egraph_status parse(const char *bytes, size_t size, egraph_allocator alloc,
                           const eg_analysis *analysis, eg_engine **out) {
  eg_chunk_reader reader;
  EG_TRY(eg_chunks_open_bytes(&reader, "f.eg", bytes, size, EG_ENGINE_FILE_KIND));
  egraph_status status = eg_engine_get(&reader, alloc, analysis, out);
  eg_chunks_close(&reader);
  return status;
}

/// The same classes and the same nodes in them, under the same numbers.
static void assert_same_graph(const eg_engine *a, const eg_engine *b) {
  assert_int_equal(eg_engine_class_limit(a), eg_engine_class_limit(b));
  assert_int_equal(eg_engine_class_count(a), eg_engine_class_count(b));
  assert_int_equal(eg_engine_node_count(a), eg_engine_node_count(b));
  for (uint32_t c = 0; c < eg_engine_class_limit(a); c++) {
    uint32_t count[2];
    eg_class class = {c};
    assert_int_equal(eg_engine_find(a, class).id, eg_engine_find(b, class).id);
    const eg_node *nodes[2] = {eg_engine_class_nodes(a, class, &count[0]),
                               eg_engine_class_nodes(b, class, &count[1])};
    assert_int_equal(count[0], count[1]);
    assert_memory_equal(nodes[0], nodes[1], count[0] * sizeof **nodes);
    for (uint32_t i = 0; i < count[0]; i++) {
      eg_node n = nodes[0][i];
      assert_int_equal(eg_engine_is_fresh(a, n.id), eg_engine_is_fresh(b, n.id));
      assert_memory_equal(eg_engine_head(a, n.id), eg_engine_head(b, n.id),
                          sizeof(eg_head));
      assert_memory_equal(eg_engine_children(a, n.id), eg_engine_children(b, n.id),
                          eg_engine_head(a, n.id)->arity * sizeof(uint32_t));
      if (a->record)
        assert_int_equal(eg_engine_node_reason(a, n), eg_engine_node_reason(b, n));
    }
  }
}

/// After the same calls: the numbers may differ, not what is equal.
static void assert_same_equalities(const eg_engine *a, const eg_engine *b) {
  uint32_t limit = eg_engine_class_limit(a);
  assert_int_equal(limit, eg_engine_class_limit(b));
  assert_int_equal(eg_engine_node_count(a), eg_engine_node_count(b));
  assert_int_equal(eg_engine_class_count(a), eg_engine_class_count(b));
  for (uint32_t i = 0; i < limit; i++) {
    eg_class root = eg_engine_find(a, (eg_class){i});
    assert_int_equal(eg_engine_find(b, root).id, eg_engine_find(b, (eg_class){i}).id);
  }
}

static void run_round(uint64_t seed, egraph_allocator alloc) {
  eg_rng rng = {seed};
  bool analysis = eg_rng_below(&rng, 2) == 0, record = eg_rng_below(&rng, 2) == 0;
  eg_engine *e = create(alloc, analysis, record), *copy;
  steps_random(e, &rng, eg_rng_below(&rng, 300));
  assert_ok(eg_engine_rebuild(e));
  eg_chunk_writer file = saved(e);
  assert_ok(parse(file.bytes.data, file.bytes.len, alloc, analysis ? &step_sizes : NULL,
                  &copy));
  assert_same_graph(e, copy);
  assert_int_equal(e->unions.len, copy->unions.len);
  eg_chunk_writer again = saved(copy);
  assert_int_equal(file.bytes.len, again.bytes.len);
  assert_memory_equal(file.bytes.data, again.bytes.data, file.bytes.len);
  eg_rng same = rng;
  steps_random(e, &rng, 100);
  steps_random(copy, &same, 100);
  assert_ok(eg_engine_check(copy));
  assert_ok(eg_engine_rebuild(e));
  assert_ok(eg_engine_rebuild(copy));
  assert_ok(eg_engine_check(copy));
  assert_same_equalities(e, copy);
  eg_chunk_writer_deinit(&file);
  eg_chunk_writer_deinit(&again);
  eg_engine_destroy(e);
  eg_engine_destroy(copy);
}

static void a_loaded_engine_is_the_saved_one(void **state) {
  (void)state;
  run_rounds(run_round);
}

static void a_dirty_engine_is_not_saved(void **state) {
  (void)state;
  eg_engine *e = create(eg_allocator_heap(), false, false);
  eg_class class;
  assert_ok(eg_engine_add(e, &(eg_term){.op = 1}, 0, &class));
  eg_chunk_writer writer;
  assert_ok(eg_chunks_start(&writer, e->alloc, EG_ENGINE_FILE_KIND));
  assert_fails(eg_engine_put(e, &writer), EGRAPH_E_ARGUMENT, "rebuild");
  eg_chunk_writer_deinit(&writer);
  eg_engine_destroy(e);
}

// ---- damage ---------------------------------------------------------------------------

static eg_chunk_writer example(bool analysis) {
  eg_rng rng = {11};
  eg_engine *e = create(eg_allocator_heap(), analysis, true);
  steps_random(e, &rng, 60);
  assert_ok(eg_engine_rebuild(e));
  eg_chunk_writer file = saved(e);
  eg_engine_destroy(e);
  return file;
}

static void sign(char *bytes, size_t size) {
  uint64_t sum = eg_chunks_checksum(bytes, size);
  memcpy(bytes + size - sizeof sum, &sum, sizeof sum);
}

/// Reads what may be damaged. It is refused, or a sound engine.
static bool try_parse(const char *bytes, size_t size, const eg_analysis *analysis) {
  test_heap heap = {0};
  eg_engine *e;
  egraph_status status = parse(bytes, size, test_heap_allocator(&heap), analysis, &e);
  if (status == EGRAPH_OK) {
    assert_ok(eg_engine_check(e));
    eg_engine_destroy(e);
  } else {
    assert_int_equal(status, EGRAPH_E_PARSE);
    assert_non_null(strstr(egraph_last_error(), "f.eg: "));
  }
  assert_int_equal(heap.live_bytes, 0);
  return status == EGRAPH_OK;
}

static void every_damaged_byte_is_noticed(void **state) {
  (void)state;
  eg_chunk_writer file = example(false);
  char *bytes = file.bytes.data;
  assert_true(try_parse(bytes, file.bytes.len, NULL));
  for (size_t i = 0; i < file.bytes.len; i++)
    for (int bit = 0; bit < 8; bit += 3) {
      bytes[i] ^= (char)(1 << bit);
      assert_false(try_parse(bytes, file.bytes.len, NULL));
      bytes[i] ^= (char)(1 << bit);
    }
  for (size_t size = 0; size < file.bytes.len; size++)
    assert_false(try_parse(bytes, size, NULL));
  eg_chunk_writer_deinit(&file);
}

static void forged_files_are_refused_or_sound(void **state) {
  (void)state;
  eg_chunk_writer file = example(true);
  char *bytes = file.bytes.data;
  size_t refused = 0;
  static const char values[] = {0, 1, 2, 5, 16, 127, (char)128, (char)255};
  for (size_t i = 0; i + 8 < file.bytes.len; i++)
    for (size_t k = 0; k < sizeof values; k++) {
      char old = bytes[i];
      bytes[i] = values[k];
      sign(bytes, file.bytes.len);
      refused += !try_parse(bytes, file.bytes.len, &step_sizes);
      bytes[i] = old;
    }
  assert_true(refused > file.bytes.len);
  eg_chunk_writer_deinit(&file);
}

static void assert_refused(eg_chunk_writer *file, size_t at, uint32_t word,
                           const char *why) {
  char *place = file->bytes.data + at, old[4];
  eg_engine *e;
  memcpy(old, place, 4);
  memcpy(place, &word, 4);
  sign(file->bytes.data, file->bytes.len);
  assert_fails(parse(file->bytes.data, file->bytes.len, eg_allocator_heap(), NULL, &e),
               EGRAPH_E_PARSE, why);
  memcpy(place, old, 4);
}

/// Where a chunk's payload begins.
static size_t find_chunk(const eg_chunk_writer *file, const char *tag) {
  eg_chunk_reader reader = {
      .path = "f", .bytes = file->bytes.data, .size = file->bytes.len};
  const char *bytes;
  size_t count;
  assert_ok(eg_chunks_find(&reader, tag, 4, &bytes, &count));
  return (size_t)(bytes - file->bytes.data);
}

static void messages_name_file_section_and_remedy(void **state) {
  (void)state;
  eg_chunk_writer file = example(false);
  size_t nodes = find_chunk(&file, "NODE"), roots = find_chunk(&file, "UP  ");
  assert_refused(&file, 0, 0, "f.eg: this is no saved e-graph; name another");
  assert_refused(&file, 8, 0, "another kind of data than 'engine'");
  assert_refused(&file, 16, 0x04030201, "another byte order");
  assert_refused(&file, 20, 99, "version 99 of the format, but this program reads 1");
  assert_refused(&file, nodes, 0,
                 "f.eg: section NODE: word 0 is no head; save the e-graph "
                 "again");
  assert_refused(&file, nodes + 4, 1u << 30, "names class");
  assert_refused(&file, roots, 1u << 30, "section UP  : class 0 is in");
  assert_refused(&file, find_chunk(&file, "OPS "), 12345, "section OPS ");
  assert_refused(&file, find_chunk(&file, "HEAD"), 12345, "head 0 has operator 12345");
  assert_refused(&file, find_chunk(&file, "UNIO"), UINT32_MAX, "section UNIO");
  assert_refused(&file, nodes - 16, 0, "section NODE: is absent");
  eg_engine *e;
  sign(file.bytes.data, file.bytes.len);
  assert_fails(
      parse(file.bytes.data, file.bytes.len, eg_allocator_heap(), &step_sizes, &e),
      EGRAPH_E_PARSE, "0 bytes of data per class, but 4 are wanted");
  eg_chunk_writer_deinit(&file);
}

// ---- memory ---------------------------------------------------------------------------

static egraph_status load(egraph_allocator alloc, void *user) {
  const eg_chunk_writer *file = user;
  eg_engine *e;
  EG_TRY(parse(file->bytes.data, file->bytes.len, alloc, &step_sizes, &e));
  eg_chunk_writer writer;
  egraph_status status = eg_chunks_start(&writer, alloc, EG_ENGINE_FILE_KIND);
  if (status == EGRAPH_OK) status = eg_engine_put(e, &writer);
  if (status == EGRAPH_OK) status = eg_chunks_finish(&writer);
  eg_chunk_writer_deinit(&writer);
  eg_engine_destroy(e);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  eg_chunk_writer file = example(true);
  test_every_allocation_failing(load, &file);
  eg_chunk_writer_deinit(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_loaded_engine_is_the_saved_one),
      cmocka_unit_test(a_dirty_engine_is_not_saved),
      cmocka_unit_test(every_damaged_byte_is_noticed),
      cmocka_unit_test(forged_files_are_refused_or_sound),
      cmocka_unit_test(messages_name_file_section_and_remedy),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
