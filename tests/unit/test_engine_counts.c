// The published benchmarks: e-nodes, e-classes and matches after each iteration are
// properties of the mathematics, so a correct engine prints exactly these integers.
// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"
#include "tests/unit/test_engine_symbolic.h"

typedef struct counts {
  uint32_t nodes, classes;
  size_t matches;
} counts;

static void assert_counts(sym_world *w, const counts *expected, size_t iterations) {
  for (size_t i = 0; i < iterations; i++) {
    sym_iterate(w);
    counts got = {eg_engine_node_count(w->engine), eg_engine_class_count(w->engine),
                  w->matches};
    if (got.nodes != expected[i].nodes || got.classes != expected[i].classes ||
        got.matches != expected[i].matches)
      fail_msg("iteration %zu: %u/%u/%zu instead of %u/%u/%zu", i, got.nodes, got.classes,
               got.matches, expected[i].nodes, expected[i].classes, expected[i].matches);
  }
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void ac7_has_the_published_counts(void **state) {
  static const counts expected[] = {
      {29, 18, 11},      {79, 38, 47},      {276, 108, 229},    {803, 210, 897},
      {1652, 273, 3187}, {1943, 176, 8259}, {1939, 127, 11682}, {1939, 127, 12138}};
  (void)state;
  test_heap heap = {0};
  sym_world w;
  sym_init(&w, test_heap_allocator(&heap));
  sym_load_ac(&w, 7);
  assert_counts(&w, expected, COUNT(expected));
  sym_deinit(&w);
  assert_int_equal(heap.live_bytes, 0);
}

static void ac8_has_the_published_counts(void **state) {
  static const counts expected[] = {
      {34, 21, 13},       {96, 46, 57},       {382, 153, 313},
      {1434, 419, 1505},  {3929, 738, 6683},  {5871, 579, 23492},
      {6090, 272, 45072}, {6058, 255, 52666}, {6058, 255, 52670}};
  (void)state;
  test_heap heap = {0};
  sym_world w;
  sym_init(&w, test_heap_allocator(&heap));
  sym_load_ac(&w, 8);
  assert_counts(&w, expected, COUNT(expected));
  sym_deinit(&w);
  assert_int_equal(heap.live_bytes, 0);
}

static void math24_has_the_published_counts(void **state) {
  static const counts expected[] = {
      {69, 50, 20},    {118, 71, 64},     {208, 116, 129},    {389, 197, 268},
      {784, 361, 627}, {1576, 666, 1495}, {3160, 1347, 3453}, {8113, 3576, 7797}};
  (void)state;
  test_heap heap = {0};
  sym_world w;
  sym_init(&w, test_heap_allocator(&heap));
  sym_add(&w, SYM_MATH_TERMS);
  assert_int_equal(eg_engine_node_count(w.engine), 35);
  sym_rules(&w, SYM_MATH24);
  assert_counts(&w, expected, COUNT(expected));
  sym_deinit(&w);
  assert_int_equal(heap.live_bytes, 0);
}

static void math26_has_the_published_counts(void **state) {
  static const counts expected[] = {
      {140, 51, 90}, {426, 137, 440}, {911, 256, 2017}, {9242, 4165, 11469}};
  (void)state;
  test_heap heap = {0};
  sym_world w;
  sym_init(&w, test_heap_allocator(&heap));
  sym_add(&w, SYM_MATH_TERMS);
  sym_rules(&w, SYM_MATH26);
  assert_counts(&w, expected, COUNT(expected));
  sym_deinit(&w);
  assert_int_equal(heap.live_bytes, 0);
}

// ---- NASRNN ---------------------------------------------------------------------------

typedef struct rnn {
  sym_world *w;
  unsigned weights;
} rnn;

static eg_class weight(rnn *r) {
  char name[32];
  snprintf(name, sizeof name, "w%u", ++r->weights);
  return sym_add_node(r->w, name, 0, NULL);
}

static eg_class binary(rnn *r, const char *op, eg_class a, eg_class b) {
  return sym_add_node(r->w, op, 2, (eg_class[]){a, b});
}

static eg_class unary(rnn *r, const char *op, eg_class a) {
  return sym_add_node(r->w, op, 1, &a);
}

static eg_class matmul(rnn *r, eg_class a, eg_class b) {
  eg_class zero = sym_add_node(r->w, "0", 0, NULL);
  return sym_add_node(r->w, "matmul", 3, (eg_class[]){zero, a, b});
}

static eg_class combine(rnn *r, eg_class x, eg_class h) {
  eg_class left = matmul(r, x, weight(r));
  return binary(r, "ewadd", left, matmul(r, h, weight(r)));
}

static eg_class cell(rnn *r, eg_class x, eg_class h) {
  eg_class t[8], m[6];
  for (unsigned i = 0; i < 8; i++)
    t[i] = combine(r, x, h);
  m[0] = binary(r, "ewadd", unary(r, "relu", t[0]), unary(r, "sigmoid", t[3]));
  m[1] = binary(r, "ewadd", unary(r, "sigmoid", t[1]), unary(r, "tanh", t[2]));
  m[2] = binary(r, "ewmul", unary(r, "sigmoid", t[4]), unary(r, "tanh", t[5]));
  m[3] = binary(r, "ewmul", unary(r, "sigmoid", t[6]), unary(r, "relu", t[7]));
  m[4] = binary(r, "ewadd", unary(r, "sigmoid", m[1]), unary(r, "tanh", m[2]));
  m[5] = binary(r, "ewmul", unary(r, "tanh", m[0]), unary(r, "tanh", m[3]));
  return unary(r, "tanh",
               binary(r, "ewmul", unary(r, "tanh", m[4]), unary(r, "tanh", m[5])));
}

static void add_nasrnn(sym_world *w, unsigned cells) {
  rnn r = {.w = w};
  eg_class h = weight(&r);
  for (unsigned i = 0; i < cells; i++) {
    char name[32];
    snprintf(name, sizeof name, "x%u", i);
    h = cell(&r, sym_add_node(w, name, 0, NULL), h);
  }
  assert_ok(eg_engine_rebuild(w->engine));
}

/// One rule `lhs=>rhs` per line.
static void load_taso_rules(sym_world *w, char *text) {
  unsigned count = 0;
  for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    char *arrow = strstr(line, "=>");
    assert_non_null(arrow);
    char spaced[4096];
    snprintf(spaced, sizeof spaced, "%.*s => %s", (int)(arrow - line), line, arrow + 2);
    eg_sexpr sides = sym_parse(w, spaced);
    sym_rule_of(w, "taso", sides.children, sides.count);
    count++;
  }
  assert_int_equal(count, 120);
}

static void nasrnn2_has_the_published_counts(void **state) {
  static const counts expected[] = {{1576, 984, 320}, {106870, 63814, 21552}};
  (void)state;
  const char *path = EG_DATA_DIR "/rules/tensat_converted.txt";
  char *text;
  size_t size;
  test_heap heap = {0};
  if (eg_file_read(test_heap_allocator(&heap), path, 1 << 20, &text, &size) !=
      EGRAPH_OK) {
    print_message("%s is absent\n", path);
    skip();
  }
  sym_world w;
  sym_init(&w, test_heap_allocator(&heap));
  add_nasrnn(&w, 2);
  assert_int_equal(eg_engine_node_count(w.engine), 128);
  load_taso_rules(&w, text);
  sym_rules(&w, "(share-left (matmul 0 ?x ?y) (matmul 0 ?x ?z) =>"
                " (split_0 (split 1 (matmul 0 ?x (concat 1 2 ?y ?z))))"
                " (split_1 (split 1 (matmul 0 ?x (concat 1 2 ?y ?z)))))"
                "(share-right (matmul 0 ?x ?z) (matmul 0 ?y ?z) =>"
                " (split_0 (split 0 (matmul 0 (concat 0 2 ?x ?y) ?z)))"
                " (split_1 (split 0 (matmul 0 (concat 0 2 ?x ?y) ?z))))");
  assert_counts(&w, expected, COUNT(expected));
  sym_deinit(&w);
  eg_free(test_heap_allocator(&heap), text, size + 1, 1);
  assert_int_equal(heap.live_bytes, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ac7_has_the_published_counts),
      cmocka_unit_test(ac8_has_the_published_counts),
      cmocka_unit_test(math24_has_the_published_counts),
      cmocka_unit_test(math26_has_the_published_counts),
      cmocka_unit_test(nasrnn2_has_the_published_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
