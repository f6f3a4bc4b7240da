// SPDX-License-Identifier: Apache-2.0
#include "baselines/algorithm.h"

#include "base/text.h"

#define EGRAPH_ALGORITHM(name, kind, row, what, paper) {name, what, paper, .kind = row},
static const eg_algorithm ROWS[] = {
#include "include/egraph_algorithms.def"
};
enum { COUNT = sizeof ROWS / sizeof *ROWS };

static egraph_status fail_unknown_algorithm(const char *name) {
  eg_text names;
  eg_text_init(&names, eg_allocator_heap());
  egraph_status status = EGRAPH_OK;
  for (size_t i = 0; status == EGRAPH_OK && i < COUNT; i++)
    status = eg_text_printf(&names, "%s%s", i == 0 ? "" : ", ", ROWS[i].name);
  if (status == EGRAPH_OK)
    status = EG_FAIL(EGRAPH_E_ARGUMENT,
                     "there is no search algorithm '%.64s'; leave it out, or choose one "
                     "of: %s",
                     name, eg_text_of(&names));
  eg_text_deinit(&names);
  return status;
}

egraph_status eg_algorithm_find(const char *name, const eg_algorithm **out) {
  for (size_t i = 0; i < COUNT; i++)
    if (strcmp(ROWS[i].name, name) == 0) {
      *out = &ROWS[i];
      return EGRAPH_OK;
    }
  return fail_unknown_algorithm(name);
}

egraph_status eg_algorithm_optimize(const void *algorithm, egraph_allocator alloc,
                                    const eg_optimizer_input *input,
                                    eg_optimization **out) {
  const eg_algorithm *row = algorithm;
  return eg_graph_search_run(row->name, row->graphs, alloc, input, out);
}

static egraph_status search_plan(const void *algorithm, const eg_plan_question *question,
                                 eg_plan_answer *out) {
  const eg_plan_algorithm *plans = algorithm;
  return plans->search(question, out);
}

eg_plan_searcher eg_algorithm_plan_searcher(const eg_algorithm *algorithm) {
  return (eg_plan_searcher){.run = search_plan,
                            .self = algorithm->plans,
                            .graphs = algorithm->plans->graphs,
                            .is_whole = algorithm->plans->is_whole};
}
