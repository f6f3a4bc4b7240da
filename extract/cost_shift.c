// Classes that only one class uses form a forest whose trees hang on the others, so costs
// move up a tree and never come back. Nodes that no choice can contain are left out of
// the count of users, and cost nothing afterwards.
// SPDX-License-Identifier: Apache-2.0
#include "extract/cost_shift.h"

#include <math.h>

#include "base/owner.h"
#include "extract/exact.h"
#include "extract/landmarks.h"
#include "extract/plain_model.h"

typedef struct shift {
  eg_plain_model model;
  eg_bytes forced; // [class] every choice needs it
  eg_u32s queue;   // classes that may have become negative
  double offset;
} shift;
EG_OWNER_DEFINE_STATIC(shift, (eg_bytes, forced), (eg_u32s, queue))

static egraph_status find_forced(shift *s, egraph_allocator alloc, eg_patience patience) {
  const eg_extract_problem *problem = &s->model.reduced.problem;
  EG_TRY(eg_bytes_append(&s->forced, s->model.index.is_root.data,
                         s->model.index.is_root.len));
  eg_landmarks landmarks;
  bool valid = false;
  eg_landmarks_init(&landmarks, alloc);
  egraph_status status =
      eg_landmarks_find(&landmarks, problem, &s->model.index, patience, &valid);
  for (size_t i = 0; status == EGRAPH_OK && valid && i < problem->roots.len; i++)
    for (uint32_t class = 0; class < problem->class_count; class ++)
      if (eg_landmarks_has(&landmarks, problem->roots.data[i], class))
        s->forced.data[class] = 1;
  eg_landmarks_deinit(&landmarks);
  return status;
}

// The only class that uses `class`; EG_EXTRACT_NONE when there are several.
static uint32_t only_user(const shift *s, uint32_t class) {
  const eg_class_index *index = &s->model.index;
  const uint32_t *class_of = s->model.reduced.problem.node_class.data;
  uint32_t found = EG_EXTRACT_NONE;
  EG_EACH_USER(index, class, node) {
    uint32_t user = class_of[node];
    if (found != EG_EXTRACT_NONE && user != found) return EG_EXTRACT_NONE;
    found = user;
  }
  return found;
}

static egraph_status shift_class(shift *s, uint32_t class) {
  const eg_class_index *index = &s->model.index;
  double *cost = s->model.reduced.problem.cost.data, least = 0;
  EG_EACH_MEMBER(index, class, member) { least = fmin(least, cost[member]); }
  uint32_t user = s->forced.data[class] ? EG_EXTRACT_NONE : only_user(s, class);
  if (least == 0 || (!s->forced.data[class] && user == EG_EXTRACT_NONE)) return EGRAPH_OK;
  EG_EACH_MEMBER(index, class, member) { cost[member] -= least; }
  if (s->forced.data[class]) {
    s->offset += least;
    return EGRAPH_OK;
  }
  EG_EACH_USER(index, class, node) { cost[node] += least; }
  return eg_u32s_push(&s->queue, user);
}

static egraph_status shift_all(shift *s, egraph_allocator alloc,
                               const eg_extract_problem *problem, eg_patience patience,
                               eg_doubles *cost) {
  EG_TRY(eg_plain_model_build(&s->model, problem));
  EG_TRY(find_forced(s, alloc, patience));
  const eg_reduced *reduced = &s->model.reduced;
  for (uint32_t class = 0; class < problem->class_count; class ++)
    EG_TRY(eg_u32s_push(&s->queue, class));
  for (size_t done = 0; done < s->queue.len; done++)
    EG_TRY(shift_class(s, s->queue.data[done]));
  cost->len = 0;
  EG_TRY(eg_doubles_resize(cost, eg_extract_node_count(problem)));
  for (uint32_t n = 0; n < eg_extract_node_count(&reduced->problem); n++)
    cost->data[reduced->part.data[n]] = reduced->problem.cost.data[n];
  return EGRAPH_OK;
}

egraph_status eg_cost_shift_find(egraph_allocator alloc,
                                 const eg_extract_problem *problem, eg_patience patience,
                                 eg_doubles *cost, double *out_offset, bool *out_done) {
  shift s;
  shift_init(&s, alloc);
  EG_TRY(eg_plain_model_init(&s.model, alloc));
  egraph_status status = shift_all(&s, alloc, problem, patience, cost);
  *out_offset = s.offset;
  *out_done = status == EGRAPH_OK;
  for (size_t n = 0; status == EGRAPH_OK && n < cost->len; n++)
    *out_done = *out_done && cost->data[n] >= 0;
  shift_deinit(&s);
  eg_plain_model_deinit(&s.model);
  return status;
}

// ---- solving ---------------------------------------------------------------------

typedef struct link {
  eg_incumbent *outer, *inner;
} link;

static egraph_status adopt(void *user) {
  const link *l = user;
  double cost;
  return eg_incumbent_offer(l->outer, l->inner->choice.data, &cost);
}

static egraph_status solve_shifted(egraph_allocator alloc, eg_incumbent *outer,
                                   const eg_extract_problem *shifted, double offset,
                                   eg_extract_result *result) {
  eg_incumbent inner;
  double cost;
  EG_TRY(eg_incumbent_init(&inner, alloc, shifted, outer->options));
  link l = {outer, &inner};
  inner.outer = outer;
  inner.outer_rest = offset;
  inner.rest_cost = INFINITY;
  inner.clock = outer->clock;
  inner.bound = 0;
  egraph_status status = eg_incumbent_offer(&inner, outer->choice.data, &cost);
  inner.on_better = adopt;
  inner.on_better_user = &l;
  if (status == EGRAPH_OK) status = eg_exact_run(alloc, &inner, result);
  if (status == EGRAPH_OK)
    eg_incumbent_raise(outer,
                       inner.bound >= inner.cost ? outer->cost : offset + inner.bound);
  eg_incumbent_deinit(&inner);
  return status;
}

egraph_status eg_cost_shift_run(egraph_allocator alloc, eg_incumbent *incumbent,
                                eg_extract_result *result, bool *out_done) {
  eg_doubles cost;
  double offset = 0;
  eg_doubles_init(&cost, alloc);
  egraph_status status = eg_cost_shift_find(
      alloc, incumbent->problem, eg_patience_of(incumbent), &cost, &offset, out_done);
  if (status == EGRAPH_OK && *out_done) {
    eg_extract_problem shifted = *incumbent->problem; // borrows all rows but the costs
    shifted.cost = cost;
    status = solve_shifted(alloc, incumbent, &shifted, offset, result);
  }
  eg_doubles_deinit(&cost);
  return status;
}
