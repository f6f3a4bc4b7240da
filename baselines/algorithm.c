// SPDX-License-Identifier: Apache-2.0
#include "baselines/algorithm.h"

#include <assert.h>

#include "base/text.h"

#define EGRAPH_ALGORITHM(name, kind, row, what, paper) {name, what, paper, .kind = row},
static const eg_algorithm ROWS[] = {
#include "include/egraph_algorithms.def"
};
enum { COUNT = sizeof ROWS / sizeof *ROWS };

// ---- what searches take -----------------------------------------------------------

#define PLAN_PART(id, bit, name, is_of_plan) | ((is_of_plan) ? (id) : 0)
#define ANY_PART(id, bit, name, is_of_plan) | (id)
static const uint32_t PLAN_PARTS = 0 EG_REQUEST_PART_LIST(PLAN_PART);
static const uint32_t ALL_PARTS = 0 EG_REQUEST_PART_LIST(ANY_PART);

/// The functions that make the result of one kind of search, and the parts of a request
/// that all its searches accept or need.
typedef struct search_kind {
  const char *finds;
  uint32_t takes;
  uint32_t needs;     // at least one of these parts is needed; 0: none
  const char *remedy; // printed when such a part is missing
} search_kind;

/// Returns the kind of a search; for the product's own search, it depends on the parts of
/// the request.
static search_kind search_kind_of(const eg_algorithm *algorithm, uint32_t parts) {
  if (algorithm == NULL && eg_parts_need_plan(parts))
    return (search_kind){"a plan", ALL_PARTS & ~(uint32_t)EG_PART_EXPLANATION, 0, ""};
  if (algorithm == NULL)
    return (search_kind){"a graph for one device", ALL_PARTS & ~PLAN_PARTS, 0, ""};
  if (algorithm->graphs != NULL)
    return (search_kind){"a graph for one device, no plan", EG_PART_ALGEBRA_FIRST, 0, ""};
  if (algorithm->plans != NULL)
    return (search_kind){"a plan, no graph for one device",
                         EG_PART_TARGET | EG_PART_MESH | EG_PART_TRAINING |
                             EG_PART_CONSTRAINTS | EG_PART_OVERLAP,
                         PLAN_PARTS, "name a target"};
  assert(algorithm->stages != NULL);
  return (search_kind){"stages of a training step", EG_PART_TARGET | EG_PART_TRAINING,
                       EG_PART_TRAINING,
                       "give training options with several micro-batches, and a target"};
}

bool eg_parts_need_plan(uint32_t parts) { return (parts & PLAN_PARTS) != 0; }

static const char *first_part(uint32_t parts) {
#define PART_NAME(id, bit, name, is_of_plan)                                             \
  if ((parts & (uint32_t)(id)) != 0) return name;
  EG_REQUEST_PART_LIST(PART_NAME)
#undef PART_NAME
  return "";
}

egraph_status eg_algorithm_check(const eg_algorithm *algorithm, uint32_t parts) {
  const search_kind kind = search_kind_of(algorithm, parts);
  uint32_t strange = parts & ~kind.takes;
  if (algorithm == NULL && strange != 0)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "this search finds %s: it takes no %s; leave that out", kind.finds,
                   first_part(strange));
  if (algorithm == NULL) return EGRAPH_OK;
  if (kind.needs != 0 && (parts & kind.needs) == 0)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "search algorithm '%s' finds %s; %s, or leave the algorithm out",
                   algorithm->name, kind.finds, kind.remedy);
  if (strange != 0)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "search algorithm '%s' finds %s: it takes no %s; leave that out, or "
                   "the algorithm",
                   algorithm->name, kind.finds, first_part(strange));
  return EGRAPH_OK;
}

// ---- names --------------------------------------------------------------------------

egraph_status eg_algorithm_find(const char *name, const eg_algorithm **out) {
  EG_LOCAL(eg_text, names, eg_allocator_heap());
  for (size_t i = 0; i < COUNT; i++) {
    if (strcmp(ROWS[i].name, name) == 0) {
      *out = &ROWS[i];
      return EGRAPH_OK;
    }
    eg_text_printf(&names, "%s%s", i == 0 ? "" : ", ", ROWS[i].name);
  }
  EG_TRY(eg_text_status(&names));
  return EG_FAIL(EGRAPH_E_ARGUMENT,
                 "there is no search algorithm '%.64s'; leave it out, or choose one "
                 "of: %s",
                 name, eg_text_of(&names));
}

egraph_status eg_algorithm_optimize(const void *algorithm, egraph_allocator alloc,
                                    const eg_optimizer_input *input,
                                    eg_optimization **out) {
  assert(((const eg_algorithm *)algorithm)->graphs != NULL);
  const eg_algorithm *row = algorithm;
  return eg_graph_search_run(row->name, row->graphs, alloc, input, out);
}
