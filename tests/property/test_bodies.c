// Fused nodes with random bodies: loops over rows compute what the reference kernels
// compute, with the same bits on several threads, in every format; a fused node has the
// bits of its operators as nodes of their own.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/random_bodies.h"
#include "tests/unit/session_kit.h"

static void bodies_are_those_of_the_reference(void **unused) {
  (void)unused;
  uint64_t seed = test_seed(1);
  size_t rounds = test_rounds(400);
  for (size_t i = 0; i < rounds; i++) {
    random_node r = {.rng = {seed + i}};
    eg_text_init(&r.text, eg_allocator_heap());
    if (i % 4 == 0)
      put_body_images(&r);
    else
      put_body_graph(&r);
    kit_check_cpu(eg_text_of(&r.text), 2 + (uint32_t)(i % 3), 2e-5);
    eg_text_deinit(&r.text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bodies_are_those_of_the_reference)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
