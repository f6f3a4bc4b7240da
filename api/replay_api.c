// Public function that replays explanations of graphs.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "api/require.h"
#include "base/clock.h"
#include "include/egraph.h"
#include "onnx/onnx.h"
#include "rewrites/replay/replay.h"

static const size_t MAX_BYTES = (size_t)4 << 30; // as searches compute ahead, by default

egraph_status egraph_replay(const egraph_allocator *alloc, const egraph_graph *given,
                            const egraph_graph *result, const egraph_rules *rules,
                            const char *file, const char *explanation,
                            egraph_replay_report *out) {
  EG_REQUIRE(given, result, rules, file, explanation, out);
  eg_explained explained;
  eg_replay_report report;
  double start = eg_clock_seconds();
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  const eg_replay_input input = {.given = given,
                                 .result = result,
                                 .rules = rules,
                                 .explained = &explained,
                                 .max_bytes = MAX_BYTES,
                                 .is_same_record = eg_onnx_is_same_record};
  egraph_status status = eg_explained_init(&explained, heap);
  if (status == EGRAPH_OK)
    status = eg_explained_parse(&explained, file, explanation, strlen(explanation));
  if (status == EGRAPH_OK) status = eg_replay(heap, &input, &report);
  eg_explained_deinit(&explained);
  EG_TRY(status);
  *out = (egraph_replay_report){.steps = report.steps,
                                .rules = report.rules,
                                .constants = report.constants,
                                .math = report.math,
                                .seconds = eg_clock_seconds() - start};
  return EGRAPH_OK;
}
