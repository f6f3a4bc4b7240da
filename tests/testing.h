// The test kit: cmocka, a counting allocator that can fail the n-th request, seeds, and
// checks that print our own message.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_TESTING_H
#define EG_TESTS_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/status.h"

/// Counts live bytes; fails request number `fail_at` (1-based) and all later ones until
/// reset when fail_at > 0.
typedef struct test_heap {
  size_t live_bytes, live_blocks, requests, fail_at;
  struct test_places *places; // NULL, or where requests come from (testing.c)
} test_heap;

egraph_allocator test_heap_allocator(test_heap *heap);

/// Asserts EGRAPH_OK and prints egraph_last_error() otherwise.
#define assert_ok(call) test_assert_ok((call), #call, __FILE__, __LINE__)
void test_assert_ok(egraph_status status, const char *call, const char *file, int line);
/// Asserts that `call` fails with `code` and that its message contains `part`.
#define assert_fails(call, code, part)                                                   \
  test_assert_fails((call), (code), (part), #call, __FILE__, __LINE__)
void test_assert_fails(egraph_status status, egraph_status code, const char *part,
                       const char *call, const char *file, int line);

/// Runs body(alloc, user) with an allocation failing: the first one of each place, told
/// by its innermost calls (of the places that come up late a share), and none; every
/// failure must be EGRAPH_E_MEMORY and leave no live byte. body cleans up after itself.
void test_every_allocation_failing(egraph_status (*body)(egraph_allocator, void *),
                                   void *user);

/// Seed of the random tests: EG_TEST_SEED from the environment or `fallback`; printed.
uint64_t test_seed(uint64_t fallback);
/// Under sanitizers code runs many times slower, and few instances show an error of
/// memory as well as many: random tests take a part of theirs.
bool test_is_sanitized(void);
/// Rounds of a random test: `usual`, a quarter of it under sanitizers (six at least),
/// times EG_TEST_SCALE from the environment when set.
size_t test_rounds(size_t usual);

/// Sets a variable of the environment; no thread may read it meanwhile.
void test_set_variable(const char *name, const char *value);

/// Fails unless the file has this text, and tells the first difference. EG_TEST_UPDATE=1
/// writes the file anew.
void test_golden(const char *path, const char *text);

#endif
