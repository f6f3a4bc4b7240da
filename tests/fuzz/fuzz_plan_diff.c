// Two plans, one behind the other with a line of --- between them: what differs is told
// the same way in both directions, and the first one is priced anew.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "optimize/price/plan_price.h"
#include "pcg/plan/plan.h"
#include "pcg/plan/plan_diff.h"
#include "pcg/plan/plan_json.h"
#include "tests/fuzz/fuzz.h"

static uint64_t digest_of(const eg_plan *plan) {
  uint64_t digest;
  FUZZ_CHECK(eg_plan_digest(plan, eg_allocator_heap(), &digest) == EGRAPH_OK);
  return digest;
}

static void check_diff(const eg_plan *a, const eg_plan *b) {
  eg_plan_diff there, back;
  eg_text text;
  eg_text_init(&text, eg_allocator_heap());
  FUZZ_CHECK(eg_plan_diff_make(a, b, eg_allocator_heap(), &there) == EGRAPH_OK);
  FUZZ_CHECK(eg_plan_diff_make(b, a, eg_allocator_heap(), &back) == EGRAPH_OK);
  FUZZ_CHECK(there.layouts.len == back.layouts.len && there.moves.len == back.moves.len);
  FUZZ_CHECK(eg_plan_diff_print(&text, &there) == EGRAPH_OK);
  if (digest_of(a) == digest_of(b))
    FUZZ_CHECK(there.layouts.len == 0 && there.moves.len == 0);
  eg_plan_diff_deinit(&there);
  eg_plan_diff_deinit(&back);
  eg_text_deinit(&text);
}

// ---- prices -----------------------------------------------------------------------

static egraph_status price_node(void *self, const eg_node_spec *local,
                                eg_node_price *out) {
  (void)self;
  out->seconds = 1 + local->input_count;
  return EGRAPH_OK;
}

static double price_move(void *self, const eg_transition *transition, double bytes) {
  (void)self;
  return transition->axis + bytes;
}

static double price_halo(void *self, const eg_halo *halo, const eg_type *local) {
  (void)self;
  return (double)(halo->before + halo->after) + (double)eg_type_bytes(local);
}

static void check_price(eg_plan *plan) {
  const eg_plan_costs costs = {
      .node = price_node, .transition = price_move, .halo = price_halo};
  uint64_t before = digest_of(plan);
  FUZZ_CHECK(eg_plan_price(plan, eg_allocator_heap(), &costs) == EGRAPH_OK);
  for (size_t i = 0; i < plan->steps.len; i++)
    FUZZ_CHECK(plan->steps.data[i].seconds >= 0 && isfinite(plan->steps.data[i].seconds));
  FUZZ_CHECK(digest_of(plan) == before);
}

static bool parse(const char *text, size_t size, eg_loaded_plan *out) {
  egraph_status status = eg_plan_parse_json(eg_allocator_heap(), "f", text, size, out);
  if (status != EGRAPH_OK) fuzz_check_failure(status);
  return status == EGRAPH_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char line[] = "\n---\n";
  const char *text = (const char *)data;
  size_t at = 0, length = sizeof line - 1;
  while (at + length <= size && memcmp(text + at, line, length) != 0)
    at++;
  if (at + length > size) return 0;
  eg_loaded_plan a, b;
  if (!parse(text, at, &a)) return 0;
  if (parse(text + at + length, size - at - length, &b)) {
    check_diff(&a.plan, &b.plan);
    eg_loaded_plan_deinit(&b);
  }
  check_price(&a.plan);
  eg_loaded_plan_deinit(&a);
  return 0;
}
