// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L // setenv
#include "tests/testing.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/memory.h"

static void *counting_resize(void *self, void *pointer, size_t old_size,
                             size_t new_size) {
  test_heap *heap = self;
  if (new_size != 0) {
    heap->requests++;
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

enum { EACH_ALLOCATION = 2000 };

void test_every_allocation_failing(egraph_status (*body)(egraph_allocator, void *),
                                   void *user) {
  // Each of the first; of many more a share, since they come from the same places.
  for (size_t n = 1;; n += n <= EACH_ALLOCATION ? 1 : 1 + n / 64) {
    test_heap heap = {.fail_at = n};
    egraph_status status = body(test_heap_allocator(&heap), user);
    if (heap.live_bytes != 0 || heap.live_blocks != 0)
      fail_msg("allocation %zu failing: %zu bytes in %zu blocks leaked", n,
               heap.live_bytes, heap.live_blocks);
    if (heap.requests < n) {
      assert_ok(status);
      return;
    }
    if (status != EGRAPH_E_MEMORY)
      fail_msg("allocation %zu failing: got '%s' instead of out of memory", n,
               egraph_status_name(status));
  }
}

static uint64_t environment_number(const char *name, uint64_t fallback) {
  const char *text = getenv(name);
  return text != NULL ? strtoull(text, NULL, 10) : fallback;
}

uint64_t test_seed(uint64_t fallback) {
  uint64_t seed = environment_number("EG_TEST_SEED", fallback);
  print_message("seed %" PRIu64 " (EG_TEST_SEED)\n", seed);
  return seed;
}

size_t test_rounds(size_t usual) {
  return usual * (size_t)environment_number("EG_TEST_SCALE", 1);
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
