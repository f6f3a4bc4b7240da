// Public function that replays explanations of graphs.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "api/arguments.h"
#include "base/clock.h"
#include "base/owner.h"
#include "include/egraph.h"
#include "onnx/onnx.h"
#include "rewrites/replay/replay.h"

static const size_t MAX_BYTES = (size_t)4 << 30; // default fold_bytes of searches

egraph_status egraph_replay(const egraph_allocator *alloc, const egraph_graph *given,
                            const egraph_graph *result, const egraph_rules *rules,
                            const char *file, const char *explanation,
                            egraph_replay_report *out) {
  EG_REQUIRE(given, result, rules, file, explanation, out);
  EG_OWNED(eg_explained, explained);
  eg_replay_report report;
  double start = eg_clock_seconds();
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  const eg_replay_input input = {.given = given,
                                 .result = result,
                                 .rules = rules,
                                 .explained = &explained,
                                 .max_bytes = MAX_BYTES,
                                 .is_same_record = eg_onnx_is_same_record};
  EG_TRY(eg_explained_init(&explained, heap));
  EG_TRY(eg_explained_parse(&explained, file, explanation, strlen(explanation)));
  EG_TRY(eg_replay(heap, &input, &report));
  *out = (egraph_replay_report){.steps = report.steps,
                                .rules = report.rules,
                                .constants = report.constants,
                                .math = report.math,
                                .seconds = eg_clock_seconds() - start};
  return EGRAPH_OK;
}
