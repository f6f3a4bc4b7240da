// The equations behind an equality: a way is gone edge by edge, and each congruence on it
// sends to the ways between the children, by older edges. An edge is looked at once.
// SPDX-License-Identifier: Apache-2.0
#include "base/owner.h"
#include "egraph/explain_internal.h"

EG_OWNER_DEFINE(eg_reasons, (eg_u32s, reasons, seen, way, stack))

/// Pairs of terms wait on the stack with the bound of their way.
static egraph_status push_pair(eg_reasons *r, uint32_t a, uint32_t b, uint32_t bound) {
  const uint32_t pair[3] = {a, b, bound};
  return a == b ? EGRAPH_OK : eg_u32s_append(&r->stack, pair, 3);
}

static egraph_status look_at(const eg_explainer *explainer, uint32_t index,
                             eg_reasons *r) {
  const eg_edge *edge = &explainer->edges.data[index];
  if (r->seen.data[index] != 0) return EGRAPH_OK;
  r->seen.data[index] = 1;
  if (edge->reason != EG_EDGE_CONGRUENCE) return eg_u32s_push(&r->reasons, edge->reason);
  eg_ground a = eg_ground_at(&explainer->terms, edge->ends[0]);
  eg_ground b = eg_ground_at(&explainer->terms, edge->ends[1]);
  for (uint32_t i = 0; i < a.arity; i++)
    EG_TRY(push_pair(r, a.children[i], b.children[i], index));
  return EGRAPH_OK;
}

egraph_status eg_explainer_collect(eg_explainer *explainer, uint32_t from, uint32_t to,
                                   eg_reasons *inout) {
  eg_reasons *r = inout;
  size_t count = explainer->vertices.len;
  if (from >= count || to >= count || !eg_explainer_are_equal(explainer, from, to))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "terms %u and %u of %zu are not known to be equal",
                   from, to, count);
  EG_TRY(eg_u32s_resize(&r->seen, explainer->edges.len));
  r->stack.len = 0;
  EG_TRY(push_pair(r, from, to, UINT32_MAX));
  while (r->stack.len != 0) {
    r->stack.len -= 3;
    const uint32_t *pair = r->stack.data + r->stack.len;
    r->way.len = 0;
    EG_TRY(eg_explainer_find_way(explainer, pair[0], pair[1], pair[2], &r->way));
    for (size_t i = 0; i < r->way.len; i++)
      EG_TRY(look_at(explainer, r->way.data[i] / 2, r));
  }
  return EGRAPH_OK;
}
