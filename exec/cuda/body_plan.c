// The loops of a kernel for a fused node: the dimensions of its space in the order in
// which the result lies in memory, neighbours merged where all tensors allow it.
// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/body_plan.h"

#include <assert.h>
#include <string.h>

#include "exec/cuda/strided.h"

enum {
  FLAT_THREADS = 256,                     // of a block, without rows
  LEAST_THREADS = 32,                     // of a row
  MOST_THREADS = 1024,                    // of a row
  MOST_KEPT = 8,                          // elements that a thread keeps
  LONG_ROW_THREADS = 512,                 // where none are kept
  NARROW_ELEMENTS = INT32_MAX - (1 << 26) // a grid's threads can step past the last one
};
_Static_assert((int)EG_BODY_TENSORS == (int)EG_BODY_OPERANDS + 1, "result and operands");

// ---- loops ----------------------------------------------------------------------------

/// The loops before neighbours are merged.
typedef struct dims_order {
  uint32_t rank;
  uint32_t dims[EGRAPH_MAX_RANK]; // numbers of dimensions of the space
} dims_order;

/// Sorts the dimensions by their strides in the space, the largest first.
static dims_order sort_dims(const eg_type *space) {
  dims_order order = {.rank = space->rank};
  int64_t strides[EGRAPH_MAX_RANK] = {0};
  eg_type_strides(space, strides);
  for (uint32_t d = 0; d < space->rank; d++) {
    uint32_t at = d;
    for (; at > 0 && strides[order.dims[at - 1]] < strides[d]; at--)
      order.dims[at] = order.dims[at - 1];
    order.dims[at] = d;
  }
  return order;
}

static bool continues(const eg_body_plan *plan, uint32_t first, uint32_t d, int64_t dim,
                      int64_t strides[][EGRAPH_MAX_RANK]) {
  if (plan->rank == first) return false;
  for (uint32_t t = 0; t < plan->tensors; t++)
    if (plan->strides[t][plan->rank - 1] != strides[t][d] * dim) return false;
  return true;
}

/// Adds loops over the dimensions [from, to) of the order.
static bool add_loops(eg_body_plan *plan, const eg_type *space, const dims_order *order,
                      uint32_t from, uint32_t to, int64_t strides[][EGRAPH_MAX_RANK]) {
  uint32_t first = plan->rank;
  for (uint32_t i = from; i < to; i++) {
    uint32_t d = order->dims[i];
    int64_t dim = space->dims[d];
    if (dim == 1) continue;
    bool merges = continues(plan, first, d, dim, strides);
    if (!merges && plan->rank == EG_BODY_LOOPS) return false;
    uint32_t at = merges ? plan->rank - 1 : plan->rank++;
    plan->dims[at] = merges ? plan->dims[at] * dim : dim;
    for (uint32_t t = 0; t < plan->tensors; t++)
      plan->strides[t][at] = strides[t][d];
  }
  return true;
}

/// Returns the first coupled dimension; the rank where the dimensions behind it are not
/// all coupled.
static uint32_t first_coupled(const eg_body *body) {
  uint32_t first = 0;
  while ((body->coupled >> first & 1) == 0)
    first++;
  for (uint32_t d = first; d < body->space.rank; d++)
    if ((body->coupled >> d & 1) == 0 && body->space.dims[d] != 1)
      return body->space.rank;
  return first;
}

static const char *find_loops(eg_body_plan *plan, const eg_node_spec *spec,
                              const eg_body *body) {
  int64_t strides[EG_BODY_TENSORS][EGRAPH_MAX_RANK];
  eg_type space = body->space;
  space.layout = spec->results[0].layout;
  eg_spread_strides(&space, &spec->results[0], strides[0]);
  for (uint32_t i = 0; i < spec->input_count; i++)
    eg_spread_strides(&space, &spec->inputs[i], strides[1 + i]);
  dims_order order = sort_dims(&space);
  uint32_t inner = 0;
  if (plan->has_rows) {
    if (!eg_node_spec_is_plain(spec)) return "rows in this memory format";
    inner = first_coupled(body);
    if (inner == space.rank) return "it mixes dimensions that are not the last ones";
    for (uint32_t d = 0; d < space.rank; d++) // ones may be out of order
      order.dims[d] = d;
  }
  if (!add_loops(plan, &space, &order, 0, inner, strides)) return "too many dimensions";
  plan->outer = plan->rank;
  if (!add_loops(plan, &space, &order, inner, space.rank, strides))
    return "too many dimensions";
  plan->rows = plan->count = 1;
  for (uint32_t d = 0; d < plan->rank; d++)
    *(d < plan->outer ? &plan->rows : &plan->count) *= plan->dims[d];
  return NULL;
}

// ---- sizes ----------------------------------------------------------------------------

static bool needs_wide_indices(const eg_body_plan *plan, const eg_node_spec *spec) {
  if (plan->rows * plan->count > NARROW_ELEMENTS) return true;
  for (uint32_t i = 0; i < spec->input_count; i++)
    if (eg_type_elements(&spec->inputs[i]) > NARROW_ELEMENTS) return true;
  return false;
}

/// Packs are along the last loop, in which every tensor has its elements next to each
/// other or repeats one; the packs of all loops begin at multiples of their size.
static uint32_t pack_of(const eg_body_plan *plan) {
  size_t largest = 1;
  for (uint32_t t = 0; t < plan->tensors; t++) {
    size_t bytes = eg_dtype_bytes(plan->dtypes[t]);
    if (bytes > largest) largest = bytes;
  }
  int64_t pack = largest <= 2 ? 8 : 4;
  uint32_t last = plan->rank - 1;
  if (plan->rank == 0 || (plan->rank > 1 && plan->dims[last] % pack != 0)) return 0;
  for (uint32_t t = 0; t < plan->tensors; t++) {
    int64_t step = plan->strides[t][last];
    if (step != 0 && step != 1) return 0;
    for (uint32_t d = 0; step == 1 && d < last; d++)
      if (plan->strides[t][d] % pack != 0) return 0;
  }
  return (uint32_t)pack;
}

/// A row has as few threads as can keep its elements, at least a warp.
static void set_threads(eg_body_plan *plan) {
  uint32_t threads = LEAST_THREADS, kept = 1;
  while (threads < MOST_THREADS && (int64_t)threads * MOST_KEPT < plan->count)
    threads *= 2;
  while (kept < MOST_KEPT && (int64_t)threads * kept < plan->count)
    kept *= 2;
  bool fits = (int64_t)threads * kept >= plan->count;
  plan->threads = fits ? threads : LONG_ROW_THREADS;
  plan->kept = fits ? kept : 0;
}

// ---- plans ----------------------------------------------------------------------------

bool eg_body_type_names(egraph_dtype dtype, const char **out_memory,
                        const char **out_value) {
  static const struct {
    egraph_dtype dtype;
    const char *memory, *value;
  } rows[] = {{EGRAPH_FLOAT32, "float", "float"},
              {EGRAPH_FLOAT64, "double", "double"},
              {EGRAPH_FLOAT16, "eg_half", "float"},
              {EGRAPH_BFLOAT16, "eg_brain", "float"},
              {EGRAPH_BOOL, "eg_flag", "bool"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].dtype != dtype) continue;
    *out_memory = rows[i].memory;
    *out_value = rows[i].value;
    return true;
  }
  return false;
}

static const char *make_plan(eg_body_plan *plan, const eg_node_spec *spec,
                             const eg_body *body) {
  const char *memory, *value;
  plan->has_rows = body->coupled != 0;
  plan->tensors = 1 + spec->input_count;
  for (uint32_t t = 0; t < plan->tensors; t++) {
    plan->dtypes[t] = t == 0 ? spec->results[0].dtype : spec->inputs[t - 1].dtype;
    if (!eg_body_type_names(plan->dtypes[t], &memory, &value)) return "its element types";
  }
  const char *why = find_loops(plan, spec, body);
  if (why != NULL) return why;
  plan->is_wide = needs_wide_indices(plan, spec);
  plan->threads = FLAT_THREADS;
  if (plan->has_rows)
    set_threads(plan);
  else
    plan->pack = pack_of(plan);
  return eg_body_lines_add(plan, body) ? NULL : "an operator of its body";
}

egraph_status eg_body_plan_init(eg_body_plan *plan, egraph_allocator alloc,
                                const eg_node_spec *spec, const eg_body *body,
                                const char **out_why) {
  *plan = (eg_body_plan){.rank = 0};
  eg_text_init(&plan->texts, alloc);
  *out_why = make_plan(plan, spec, body);
  EG_TRY(eg_text_status(&plan->texts));
  return *out_why == NULL
             ? EGRAPH_OK
             : EG_FAIL(EGRAPH_E_UNSUPPORTED, "no kernel for a fused node: %s", *out_why);
}

void eg_body_plan_deinit(eg_body_plan *plan) { eg_text_deinit(&plan->texts); }

void eg_body_work_fill(const eg_body_plan *plan, eg_body_work *out) {
  *out = (eg_body_work){.rows = plan->rows, .count = plan->count};
  if (plan->pack != 0) out->packs = plan->count / plan->pack;
  for (uint32_t d = 0; d < plan->rank; d++) {
    out->dims[d] = plan->dims[d];
    for (uint32_t t = 0; t < plan->tensors; t++)
      out->strides[t][d] = plan->strides[t][d];
  }
}
