// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L // setenv
#include "tests/testing.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <execinfo.h>
#endif

#include "base/file.h"
#include "base/memory.h"

static void note_place(struct test_places *places, size_t request);

static void *counting_resize(void *self, void *pointer, size_t old_size,
                             size_t new_size) {
  test_heap *heap = self;
  if (new_size != 0) {
    heap->requests++;
    if (heap->places != NULL) note_place(heap->places, heap->requests);
    if (heap->fail_at != 0 && heap->requests >= heap->fail_at) return NULL;
  }
  if (pointer != NULL) {
    heap->live_bytes -= old_size;
    heap->live_blocks--;
  }
  if (new_size == 0) {
    free(pointer);
    return NULL;
  }
  heap->live_bytes += new_size;
  heap->live_blocks++;
  // A fresh block each time, so that sanitizers see every use of a stale pointer.
  void *fresh = malloc(new_size);
  if (fresh == NULL) abort();
  if (pointer != NULL) {
    memcpy(fresh, pointer, old_size < new_size ? old_size : new_size);
    free(pointer);
  }
  return fresh;
}

egraph_allocator test_heap_allocator(test_heap *heap) {
  return (egraph_allocator){.self = heap, .resize = counting_resize};
}

void test_assert_ok(egraph_status status, const char *call, const char *file, int line) {
  if (status == EGRAPH_OK) return;
  print_error("%s:\n  %s: %s\n", call, egraph_status_name(status), egraph_last_error());
  _fail(file, line);
}

void test_assert_fails(egraph_status status, egraph_status code, const char *part,
                       const char *call, const char *file, int line) {
  if (status == code && strstr(egraph_last_error(), part) != NULL) return;
  print_error("%s:\n  expected %s with '%s'\n  got %s: %s\n", call,
              egraph_status_name(code), part, egraph_status_name(status),
              status == EGRAPH_OK ? "" : egraph_last_error());
  _fail(file, line);
}

// ---- failing allocations --------------------------------------------------------------

enum { INNERMOST = 6, SEEN = 1 << 16, EACH_PLACE = 2000 };

/// The requests of a run that come from a place of their own: by the innermost calls.
struct test_places {
  uint64_t *seen;   // [SEEN], 0: free
  size_t *requests; // [SEEN / 2], numbers that ascend
  size_t len;
};

static void note_place(struct test_places *places, size_t request) {
  uint64_t place = request;
#ifdef __GLIBC__
  void *calls[INNERMOST];
  int count = backtrace(calls, INNERMOST);
  place = 1;
  for (int i = 0; i < count; i++)
    place = eg_hash_combine(place, (uint64_t)(uintptr_t)calls[i]);
#endif
  size_t slot = place % SEEN;
  while (places->seen[slot] != 0 && places->seen[slot] != place)
    slot = (slot + 1) % SEEN;
  if (places->seen[slot] == place || places->len == SEEN / 2) return;
  places->seen[slot] = place;
  places->requests[places->len++] = request;
}

/// The next request to fail: of the first 2000 every one from a new place; of the new
/// ones beyond a share.
static size_t next_request(const struct test_places *places, size_t *inout_place,
                           size_t n) {
  size_t least = n + (n <= EACH_PLACE ? 1 : 1 + n / 64);
  while (*inout_place < places->len && places->requests[*inout_place] < least)
    ++*inout_place;
  return *inout_place < places->len ? places->requests[*inout_place] : n + 1;
}

static size_t note_places(egraph_status (*body)(egraph_allocator, void *), void *user,
                          struct test_places *out) {
  test_heap heap = {.places = out};
  assert_ok(body(test_heap_allocator(&heap), user));
  return heap.requests;
}

void test_every_allocation_failing(egraph_status (*body)(egraph_allocator, void *),
                                   void *user) {
  struct test_places places = {.seen = test_calloc(SEEN, sizeof *places.seen),
                               .requests =
                                   test_calloc(SEEN / 2, sizeof *places.requests)};
  size_t place = 0, all = note_places(body, user, &places);
  for (size_t n = 1;; n = next_request(&places, &place, n)) {
    if (place == places.len && n <= all) n = all + 1; // the rest comes from known places
    test_heap heap = {.fail_at = n};
    egraph_status status = body(test_heap_allocator(&heap), user);
    if (heap.live_bytes != 0 || heap.live_blocks != 0)
      fail_msg("allocation %zu failing: %zu bytes in %zu blocks leaked", n,
               heap.live_bytes, heap.live_blocks);
    if (heap.requests < n) {
      assert_ok(status);
      break;
    }
    if (status != EGRAPH_E_MEMORY)
      fail_msg("allocation %zu failing: got '%s' instead of out of memory", n,
               egraph_status_name(status));
  }
  test_free(places.seen);
  test_free(places.requests);
}

static uint64_t environment_number(const char *name, uint64_t fallback) {
  const char *text = getenv(name);
  return text != NULL ? strtoull(text, NULL, 10) : fallback;
}

/// EG_TEST_CASES=PATTERN runs only the cases of a test whose names match, with * and ?.
__attribute__((constructor)) static void choose_cases(void) {
  const char *pattern = getenv("EG_TEST_CASES");
  if (pattern != NULL) cmocka_set_test_filter(pattern);
}

uint64_t test_seed(uint64_t fallback) {
  uint64_t seed = environment_number("EG_TEST_SEED", fallback);
  print_message("seed %" PRIu64 " (EG_TEST_SEED)\n", seed);
  return seed;
}

bool test_is_sanitized(void) {
#ifdef EG_SANITIZED
  return true;
#else
  return false;
#endif
}

size_t test_rounds(size_t usual) {
  if (test_is_sanitized() && usual > 6) usual = usual > 24 ? usual / 4 : 6;
  const char *scale = getenv("EG_TEST_SCALE");
  return scale == NULL ? usual : (size_t)ceil((double)usual * strtod(scale, NULL));
}

void test_set_variable(const char *name, const char *value) {
  assert_int_equal(setenv(name, value, 1), 0);
}

// ---- golden files ---------------------------------------------------------------------

static void fail_at_first_difference(const char *path, const char *expected,
                                     const char *found) {
  size_t line = 1, start = 0, i = 0;
  for (; expected[i] == found[i] && expected[i] != '\0'; i++)
    if (expected[i] == '\n') {
      line++;
      start = i + 1;
    }
  fail_msg("%s:%zu: expected '%.60s', found '%.60s'; EG_TEST_UPDATE=1 writes it anew",
           path, line, expected + start, found + start);
}

void test_golden(const char *path, const char *text) {
  const char *update = getenv("EG_TEST_UPDATE");
  if (update != NULL && strcmp(update, "1") == 0)
    assert_ok(eg_file_write(path, text, strlen(text)));
  char *expected;
  size_t size;
  assert_ok(eg_file_read(eg_allocator_heap(), path, (size_t)1 << 20, &expected, &size));
  if (strcmp(expected, text) != 0) fail_at_first_difference(path, expected, text);
  eg_free(eg_allocator_heap(), expected, size + 1, 1);
}
