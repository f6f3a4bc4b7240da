// Running graphs in tests: inputs drawn, outputs collected, results compared.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_SESSION_KIT_H
#define EG_TESTS_SESSION_KIT_H

#include <math.h>
#include <stdlib.h>

#include "exec/session.h"
#include "pcg/graph/weights.h"
#include "tests/testing.h"

enum { KIT_MAX_TENSORS = 160 };

typedef struct kit_tensors {
  eg_tensor items[KIT_MAX_TENSORS];
  uint32_t count;
} kit_tensors;

static inline eg_graph *kit_parse(const char *name, const char *text) {
  eg_graph *graph;
  egraph_status status = eg_graph_parse(NULL, name, text, strlen(text), &graph);
  if (status != EGRAPH_OK) fail_msg("%s: %s", name, egraph_last_error());
  return graph;
}

static inline void kit_tensors_add(kit_tensors *tensors, const eg_type *type) {
  assert_true(tensors->count < KIT_MAX_TENSORS);
  eg_type plain = *type;
  plain.layout.format = EG_FORMAT_PLAIN;
  size_t bytes = eg_type_bytes(&plain);
  void *data = malloc(bytes + 1);
  assert_non_null(data);
  memset(data, 0xa5, bytes + 1);
  tensors->items[tensors->count++] = (eg_tensor){.type = plain, .data = data};
}

static inline void kit_tensors_deinit(kit_tensors *tensors) {
  for (uint32_t i = 0; i < tensors->count; i++)
    free(tensors->items[i].data);
  tensors->count = 0;
}

static inline void kit_inputs_draw(const eg_graph *graph, kit_tensors *out) {
  out->count = 0;
  for (uint32_t i = 0; i < eg_graph_input_count(graph); i++) {
    const eg_value_info *info = eg_graph_value(graph, eg_graph_input(graph, i));
    kit_tensors_add(out, &info->type);
    eg_input_draw(info->name, 11, &out->items[i]);
  }
}

static inline void kit_outputs_alloc(const eg_graph *graph, kit_tensors *out) {
  out->count = 0;
  for (uint32_t i = 0; i < eg_graph_output_count(graph); i++)
    kit_tensors_add(out, &eg_graph_value(graph, eg_graph_output(graph, i, NULL))->type);
}

/// Runs twice, so that state left behind by a run would show.
static inline void kit_run(const eg_graph *graph, const char *backend, uint32_t threads,
                           const kit_tensors *inputs, kit_tensors *out) {
  eg_session *session;
  eg_session_options options = {.backend = backend, .threads = threads, .seed = 7};
  kit_outputs_alloc(graph, out);
  assert_ok(eg_session_create(NULL, graph, &options, &session));
  for (int i = 0; i < 2; i++)
    assert_ok(eg_session_run(session, inputs->items, out->items));
  eg_session_destroy(session);
}

/// Equal, both NaN, or as near as the kernels' rounding is.
static inline bool kit_is_near(double have, double want, double tolerance) {
  if (isnan(have) || isnan(want)) return isnan(have) && isnan(want);
  if (isinf(have) || isinf(want)) return have == want;
  return fabs(have - want) <= tolerance * (1 + fabs(want));
}

/// Of a graph the first output on a CPU: near that of the reference kernels, with the
/// same bits on several threads.
static inline void kit_check_cpu(const char *text, uint32_t threads, double tolerance) {
  eg_graph *graph = kit_parse("graph", text);
  kit_tensors inputs, one, more, plain;
  kit_inputs_draw(graph, &inputs);
  kit_run(graph, "cpu", 1, &inputs, &one);
  kit_run(graph, "cpu", threads, &inputs, &more);
  kit_run(graph, "reference", 1, &inputs, &plain);
  const eg_tensor *y = &one.items[0];
  for (int64_t i = 0; i < eg_type_elements(&y->type); i++) {
    double a = eg_tensor_get_double(y, i), b = eg_tensor_get_double(&more.items[0], i);
    double c = eg_tensor_get_double(&plain.items[0], i);
    if (memcmp(&a, &b, sizeof a) != 0) fail_msg("%u threads: %s", threads, text);
    if (!kit_is_near(a, c, tolerance))
      fail_msg("element %d is %g, not %g: %s", (int)i, a, c, text);
  }
  kit_tensors_deinit(&inputs);
  kit_tensors_deinit(&one);
  kit_tensors_deinit(&more);
  kit_tensors_deinit(&plain);
  eg_graph_destroy(graph);
}

/// Largest difference over the largest magnitude of `want`, the worst of all tensors; NaN
/// where only one is NaN.
static inline double kit_error(const kit_tensors *want, const kit_tensors *have) {
  double worst = 0;
  assert_int_equal(want->count, have->count);
  for (uint32_t t = 0; t < want->count; t++) {
    double scale = 0, difference = 0;
    int64_t elements = eg_type_elements(&want->items[t].type);
    for (int64_t i = 0; i < elements; i++) {
      double a = eg_tensor_get_double(&want->items[t], i);
      double b = eg_tensor_get_double(&have->items[t], i);
      if (a == b || (isnan(a) && isnan(b))) continue;
      scale = fmax(scale, fabs(a));
      difference = isnan(a) || isnan(b) ? INFINITY : fmax(difference, fabs(a - b));
    }
    for (int64_t i = 0; i < elements; i++)
      if (isfinite(eg_tensor_get_double(&want->items[t], i)))
        scale = fmax(scale, fabs(eg_tensor_get_double(&want->items[t], i)));
    if (difference != 0) worst = fmax(worst, difference / fmax(scale, 1e-30));
  }
  return worst;
}

#endif
