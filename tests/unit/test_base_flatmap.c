// Unit tests of base/flatmap: random operations against a plain list, with hashes that
// collide on purpose.
// SPDX-License-Identifier: Apache-2.0
#include "base/flatmap.h"
#include "base/vec.h"
#include "tests/testing.h"

enum { KEYS = 400, IDS = 1000 };

// The oracle: key_of[id] is the key of a present id, or NONE.
typedef struct model {
  uint32_t key_of[IDS];
  uint32_t id_of[KEYS];
} model;
#define NONE UINT32_MAX

// Only 23 different hashes: long probe runs that wrap around, equal tags of unequal keys.
static uint64_t hash_of_key(uint32_t key) {
  return (uint64_t)(key % 23) * UINT64_C(0xfffffff900000000);
}

static bool same_key(const void *user, uint32_t id, const void *key) {
  const model *m = user;
  return m->key_of[id] == *(const uint32_t *)key;
}

static void check_all(const eg_flatmap *map, const model *m) {
  uint32_t present = 0;
  for (uint32_t key = 0; key < KEYS; key++) {
    uint32_t id = NONE;
    bool found = eg_flatmap_find(map, hash_of_key(key), &key, same_key, m, &id);
    assert_int_equal(found, m->id_of[key] != NONE);
    assert_int_equal(id, m->id_of[key]);
    present += found;
  }
  assert_int_equal(map->len, present);
}

static uint32_t unused_id(const model *m, eg_rng *rng) {
  uint32_t id = (uint32_t)eg_rng_below(rng, IDS);
  while (m->key_of[id] != NONE)
    id = (id + 1) % IDS;
  return id;
}

static void change_once(eg_flatmap *map, model *m, eg_rng *rng) {
  uint32_t key = (uint32_t)eg_rng_below(rng, KEYS), old = m->id_of[key];
  uint32_t id = unused_id(m, rng);
  uint64_t hash = hash_of_key(key);
  if (old == NONE) {
    assert_ok(eg_flatmap_insert(map, hash, id));
  } else if (eg_rng_below(rng, 3) == 0) {
    eg_flatmap_replace(map, hash, old, id);
  } else {
    eg_flatmap_remove(map, hash, old);
    id = NONE;
  }
  if (old != NONE) m->key_of[old] = NONE;
  if (id != NONE) m->key_of[id] = key;
  m->id_of[key] = id;
}

static void random_changes_agree_with_a_list(void **state) {
  (void)state;
  eg_rng rng = {test_seed(3)};
  test_heap heap = {0};
  eg_flatmap map;
  eg_flatmap_init(&map, test_heap_allocator(&heap));
  model m;
  memset(&m, 0xff, sizeof m);
  size_t rounds = test_rounds(3000);
  for (size_t round = 0; round < rounds; round++) {
    change_once(&map, &m, &rng);
    if (round % 50 == 0) check_all(&map, &m);
  }
  check_all(&map, &m);
  eg_flatmap_clear(&map);
  memset(&m, 0xff, sizeof m);
  check_all(&map, &m);
  assert_ok(eg_flatmap_insert(&map, 5, 0));
  assert_int_equal(map.len, 1);
  eg_flatmap_deinit(&map);
  assert_int_equal(heap.live_bytes, 0);
}

static void nothing_is_found_in_an_empty_map(void **state) {
  (void)state;
  eg_flatmap map;
  eg_flatmap_init(&map, eg_allocator_heap());
  uint32_t key = 3, id = 77;
  assert_false(eg_flatmap_find(&map, 9, &key, same_key, NULL, &id));
  assert_int_equal(id, 77);
  eg_flatmap_clear(&map);
  eg_flatmap_deinit(&map);
}

static void a_reserved_map_does_not_allocate(void **state) {
  (void)state;
  test_heap heap = {0};
  eg_flatmap map;
  eg_flatmap_init(&map, test_heap_allocator(&heap));
  assert_ok(eg_flatmap_reserve(&map, 1000));
  size_t requests = heap.requests;
  for (uint32_t id = 0; id < 1000; id++)
    assert_ok(eg_flatmap_insert(&map, eg_hash_mix(id + 1), id));
  assert_int_equal(heap.requests, requests);
  eg_flatmap_deinit(&map);
}

static void a_failed_growth_keeps_every_entry(void **state) {
  (void)state;
  test_heap heap = {0};
  eg_flatmap map;
  eg_flatmap_init(&map, test_heap_allocator(&heap));
  model m;
  memset(&m, 0xff, sizeof m);
  egraph_status status = EGRAPH_OK;
  heap.fail_at = heap.requests + 3;
  for (uint32_t key = 0; key < KEYS && status == EGRAPH_OK; key++) {
    status = eg_flatmap_insert(&map, hash_of_key(key), key);
    if (status == EGRAPH_OK) m.key_of[key] = m.id_of[key] = key;
  }
  assert_int_equal(status, EGRAPH_E_MEMORY);
  check_all(&map, &m);
  heap.fail_at = 0;
  uint32_t key = map.len;
  assert_ok(eg_flatmap_insert(&map, hash_of_key(key), key));
  m.key_of[key] = m.id_of[key] = key;
  check_all(&map, &m);
  eg_flatmap_deinit(&map);
  assert_int_equal(heap.live_bytes, 0);
}

static void an_impossible_size_is_refused(void **state) {
  (void)state;
  eg_flatmap map;
  eg_flatmap_init(&map, eg_allocator_heap());
  assert_fails(eg_flatmap_reserve(&map, UINT32_MAX), EGRAPH_E_MEMORY, "too large");
  eg_flatmap_deinit(&map);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_changes_agree_with_a_list),
      cmocka_unit_test(nothing_is_found_in_an_empty_map),
      cmocka_unit_test(a_reserved_map_does_not_allocate),
      cmocka_unit_test(a_failed_growth_keeps_every_entry),
      cmocka_unit_test(an_impossible_size_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
