// Random calls on an engine, and whether two engines are in the same state: for the tests
// of what saves, copies and restores.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_ENGINE_STEPS_H
#define EG_TESTS_ENGINE_STEPS_H

#include "tests/testing.h"

#include "egraph/engine_internal.h"

enum { STEP_OPS = 4 };

/// States that are saved.
static inline uint32_t pushed_states(const eg_engine *engine) {
  uint32_t count = 0;
  for (; engine->saved != NULL; engine = engine->saved)
    count++;
  return count;
}

/// A term over what is there; *children has room for two.
static inline eg_term step_term(const eg_engine *e, eg_rng *rng, eg_class *children) {
  uint32_t classes = eg_engine_class_limit(e);
  eg_term term = {.op = (uint32_t)eg_rng_below(rng, STEP_OPS), .children = children};
  term.arity = classes == 0 ? 0 : (uint32_t)eg_rng_below(rng, 3);
  term.payload = (uint32_t)eg_rng_below(rng, term.arity == 0 ? 8 : 2);
  for (uint32_t i = 0; i < term.arity; i++)
    children[i].id = (uint32_t)eg_rng_below(rng, classes);
  return term;
}

/// One call: mostly additions, some unions, rebuilds and epochs.
static inline egraph_status step_random(eg_engine *e, eg_rng *rng) {
  uint64_t kind = eg_rng_below(rng, 20);
  uint32_t classes = eg_engine_class_limit(e);
  eg_class children[2], class;
  bool changed;
  if (kind == 0) return eg_engine_rebuild(e);
  if (kind == 1) {
    eg_engine_start_epoch(e);
    return EGRAPH_OK;
  }
  if (kind < 5 && classes != 0) {
    eg_class a = {(uint32_t)eg_rng_below(rng, classes)};
    eg_class b = {(uint32_t)eg_rng_below(rng, classes)};
    return eg_engine_unite(e, a, b, 3, &changed);
  }
  eg_term term = step_term(e, rng, children);
  if (kind < 8 && classes != 0) {
    eg_class into = {(uint32_t)eg_rng_below(rng, classes)};
    return eg_engine_add_to(e, &term, into, 5, &changed);
  }
  return eg_engine_add(e, &term, 4, &class);
}

static inline void steps_random(eg_engine *e, eg_rng *rng, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    assert_ok(step_random(e, rng));
}

// ---- analysis: the size of the smallest term ------------------------------------

static inline egraph_status step_make(void *self, const eg_engine *engine,
                                      const eg_term *term, void *out_data) {
  uint32_t size = 1;
  (void)self;
  for (uint32_t i = 0; i < term->arity; i++) {
    uint32_t more = *(const uint32_t *)eg_engine_data(engine, term->children[i]);
    size = more > UINT32_MAX - size ? UINT32_MAX : size + more;
  }
  memcpy(out_data, &size, sizeof size);
  return EGRAPH_OK;
}

static inline egraph_status step_join(void *self, void *into, const void *from,
                                      bool *out_changed) {
  (void)self;
  *out_changed = *(const uint32_t *)from < *(uint32_t *)into;
  if (*out_changed) memcpy(into, from, sizeof(uint32_t));
  return EGRAPH_OK;
}

static const eg_analysis step_sizes = {
    .data_size = sizeof(uint32_t), .make = step_make, .join = step_join};

// ---- comparing ------------------------------------------------------------------

static inline void same_list(const eg_node_list *a, const eg_node_list *b) {
  assert_int_equal(a->len, b->len);
  if (a->len != 0)
    assert_memory_equal(eg_node_list_data(a), eg_node_list_data(b),
                        a->len * sizeof(uint32_t));
}

/// What lies behind the end of a segment of members means nothing.
static inline void same_members(const eg_engine *a, const eg_engine *b) {
  for (uint32_t i = 0; i < a->classes.len; i++) {
    uint32_t count[2];
    const uint32_t *members[2] = {eg_members_of(a, i, &count[0]),
                                  eg_members_of(b, i, &count[1])};
    assert_int_equal(count[0], count[1]);
    if (count[0] != 0)
      assert_memory_equal(members[0], members[1], count[0] * sizeof(uint32_t));
  }
}

#define SAME_ARRAY(member, type)                                                         \
  assert_int_equal(a->member.len, b->member.len);                                        \
  if (a->member.len != 0 && (void *)a->member.data != (void *)a->members.data)           \
    assert_memory_equal(a->member.data, b->member.data,                                  \
                        a->member.len * sizeof *a->member.data);

/// Every array and list, byte by byte. So they behave the same from now on.
static inline void assert_same_state(const eg_engine *a, const eg_engine *b) {
  EG_ENGINE_STATE_ARRAYS(SAME_ARRAY)
  same_members(a, b);
  assert_int_equal(a->ops.len, b->ops.len);
  for (size_t i = 0; i < a->ops.len; i++) {
    same_list(&a->ops.data[i].nodes, &b->ops.data[i].nodes);
    same_list(&a->ops.data[i].changed, &b->ops.data[i].changed);
    assert_int_equal(a->ops.data[i].fresh_from, b->ops.data[i].fresh_from);
    assert_int_equal(a->ops.data[i].first_dead, b->ops.data[i].first_dead);
  }
  assert_memory_equal(a->free_segments, b->free_segments, sizeof a->free_segments);
  assert_int_equal(a->table.len, b->table.len);
  assert_int_equal(a->indexed, b->indexed);
  assert_int_equal(a->indexed_classes, b->indexed_classes);
  assert_int_equal(a->epoch_class, b->epoch_class);
  assert_int_equal(a->class_count, b->class_count);
  assert_int_equal(a->child_words, b->child_words);
  assert_int_equal(a->dead_words, b->dead_words);
  assert_int_equal(a->swept_words, b->swept_words);
  assert_int_equal(a->stale.next, b->stale.next);
  assert_int_equal(a->modify.next, b->modify.next);
  size_t data = a->up.len * a->analysis.data_size;
  if (data != 0) assert_memory_equal(a->data, b->data, data);
}

/// Rounds with seeds of their own; nothing of one is left after it.
static inline void run_rounds(void (*round)(uint64_t seed, egraph_allocator alloc)) {
  uint64_t seed = test_seed(1);
  test_heap heap = {0};
  for (size_t i = 0; i < test_rounds(300); i++) {
    round(seed + i, test_heap_allocator(&heap));
    assert_int_equal(heap.live_bytes, 0);
  }
}

#endif
