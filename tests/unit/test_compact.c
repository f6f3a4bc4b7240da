// Compaction of the node pool, through rebuild: names of nodes change, nothing else.
// SPDX-License-Identifier: Apache-2.0
#include "tests/testing.h"

#include "egraph/engine_internal.h"

static eg_class add(eg_engine *e, uint32_t op, uint32_t payload, uint32_t arity,
                    const eg_class *children) {
  eg_term term = {.op = op, .payload = payload, .arity = arity, .children = children};
  eg_class class = EG_CLASS_NONE;
  assert_ok(eg_engine_add(e, &term, 0, &class));
  return class;
}

enum { LEAVES = 50, LAYERS = 4 };

/// Towers over many leaves, which become equal when the leaves do.
static void build(eg_engine *e, eg_class *leaves, eg_class *tops) {
  for (uint32_t i = 0; i < LEAVES; i++) {
    leaves[i] = tops[i] = add(e, 0, i, 0, NULL);
    for (uint32_t k = 0; k < LAYERS; k++)
      tops[i] = add(e, 1, 0, 2, (eg_class[]){tops[i], leaves[i]});
  }
  assert_ok(eg_engine_rebuild(e));
}

static void unite_leaves(eg_engine *e, const eg_class *leaves, uint32_t from,
                         uint32_t to) {
  bool changed;
  for (uint32_t i = from; i < to; i++)
    assert_ok(eg_engine_unite(e, leaves[i], leaves[0], 0, &changed));
  eg_engine_start_epoch(e);
  assert_ok(eg_engine_rebuild(e));
  assert_ok(eg_engine_check(e));
}

static void dead_words_are_given_back(void **state) {
  (void)state;
  eg_engine *e;
  eg_class leaves[LEAVES], tops[LEAVES];
  assert_ok(eg_engine_create(NULL, NULL, &e));
  build(e, leaves, tops);
  size_t before = e->nodes.len;
  unite_leaves(e, leaves, 1, LEAVES * 3 / 4);
  assert_true(e->nodes.len < before);
  unite_leaves(e, leaves, LEAVES * 3 / 4, LEAVES);
  for (uint32_t i = 1; i < LEAVES; i++)
    assert_int_equal(eg_engine_find(e, tops[i]).id, eg_engine_find(e, tops[0]).id);
  assert_int_equal(eg_engine_node_count(e), LEAVES + LAYERS);
  size_t words = 0;
  for (eg_node n = eg_engine_first_node(e); n.id != EG_NODE_NONE.id;
       n = eg_engine_next_node(e, n))
    words += eg_engine_node_words(e, eg_engine_term(e, n).arity);
  assert_true(e->nodes.len < 2 * words);
  // What is added afterwards finds what is there.
  eg_class again = add(e, 1, 0, 2, (eg_class[]){leaves[7], leaves[9]});
  assert_int_equal(eg_engine_node_count(e), LEAVES + LAYERS);
  assert_int_equal(again.id, eg_engine_find(e, again).id);
  eg_engine_destroy(e);
}

static void recorded_nodes_keep_their_names(void **state) {
  (void)state;
  eg_engine *e;
  eg_class leaves[LEAVES], tops[LEAVES];
  eg_engine_options options = {.record = true};
  assert_ok(eg_engine_create(NULL, &options, &e));
  build(e, leaves, tops);
  size_t before = e->nodes.len;
  unite_leaves(e, leaves, 1, LEAVES);
  assert_int_equal(e->nodes.len, before);
  eg_engine_destroy(e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dead_words_are_given_back),
      cmocka_unit_test(recorded_nodes_keep_their_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
