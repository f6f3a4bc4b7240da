// Small plans are run on threads: any bytes that are a plan give outputs or an error, in
// bounded time, and the bits are the same in a second run.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "exec/rank_program.h"
#include "pcg/plan/plan_json.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_DEVICES = 4, MOST_ROWS = 3, MOST_STEPS = 64, MOST_BYTES = 1 << 14 };

static bool is_small(const eg_plan *plan) {
  if (eg_mesh_devices(&plan->mesh) > MOST_DEVICES || plan->micro_batches > MOST_ROWS ||
      plan->steps.len > MOST_STEPS || eg_plan_is_folded(plan))
    return false;
  for (uint32_t v = 0; v < eg_graph_value_count(plan->graph); v++) {
    const eg_value_info *info = eg_graph_value(plan->graph, (eg_value){v});
    if (info->typed && eg_type_bytes(&info->type) > MOST_BYTES) return false;
  }
  return true;
}

/// Tensors of all inputs, or outputs, of all micro-batches, over one block of zeros.
typedef struct tensors {
  eg_tensor *items;
  char *block;
  size_t count, bytes;
} tensors;

static void add_tensor(tensors *t, const eg_graph *graph, eg_value value) {
  eg_tensor *item = &t->items[t->count++];
  item->type = eg_graph_value(graph, value)->type;
  item->type.layout = (eg_layout){0};
  item->data = t->block + t->bytes;
  t->bytes += (eg_type_bytes(&item->type) + 63) & ~(size_t)63;
}

static tensors tensors_of(const eg_plan *plan, bool inputs) {
  const eg_graph *graph = plan->graph;
  uint32_t count = inputs ? eg_graph_input_count(graph) : eg_graph_output_count(graph);
  size_t all = (size_t)plan->micro_batches * count;
  tensors t = {.items = calloc(all + 1, sizeof *t.items),
               .block = calloc(all * (MOST_BYTES + 64) + 64, 1)};
  FUZZ_CHECK(t.items != NULL && t.block != NULL);
  for (uint32_t m = 0; m < plan->micro_batches; m++)
    for (uint32_t i = 0; i < count; i++)
      add_tensor(&t, graph,
                 inputs ? eg_graph_input(graph, i) : eg_graph_output(graph, i, NULL));
  return t;
}

static void tensors_free(tensors *t) {
  free(t->items);
  free(t->block);
}

static egraph_status run_plan(const eg_plan *plan, tensors *outputs) {
  tensors inputs = tensors_of(plan, true);
  const eg_plan_run options = {.rank = {.backend = "reference", .threads = 1, .seed = 1},
                               .channel = {.deadline_seconds = 5},
                               .steps = 2,
                               .inputs = inputs.items,
                               .outputs = outputs->items};
  egraph_status status = eg_plan_run_local(NULL, plan, &options);
  tensors_free(&inputs);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  eg_loaded_plan loaded;
  if (eg_plan_parse_json(eg_allocator_heap(), "f", (const char *)data, size, &loaded) !=
      EGRAPH_OK)
    return 0;
  if (is_small(&loaded.plan)) {
    tensors first = tensors_of(&loaded.plan, false);
    tensors second = tensors_of(&loaded.plan, false);
    egraph_status status = run_plan(&loaded.plan, &first);
    if (status == EGRAPH_OK) {
      FUZZ_CHECK(run_plan(&loaded.plan, &second) == EGRAPH_OK);
      FUZZ_CHECK(memcmp(first.block, second.block, first.bytes) == 0);
    } else {
      fuzz_check_failure(status);
      FUZZ_CHECK(status != EGRAPH_E_CANCELLED); // nobody was missed
    }
    tensors_free(&first);
    tensors_free(&second);
  }
  eg_loaded_plan_deinit(&loaded);
  return 0;
}
