// Fills rows by counting sort. Finds components by Tarjan's algorithm with its stack in
// vectors, because graphs are thousands of classes deep.
// SPDX-License-Identifier: Apache-2.0
#include "extract/class_graph.h"

static egraph_status size_rows(eg_u32s *begin, eg_u32s *items, size_t rows,
                               size_t count) {
  begin->len = 0;
  items->len = 0;
  EG_TRY(eg_u32s_resize(begin, rows + 2));
  return eg_u32s_resize(items, count);
}

/// Turns lengths into offsets: begin[row + 2] holds the row's length on entry;
/// afterwards begin[row + 1] is the place to fill next in the row, and after filling it
/// is the final offset.
static void offsets(eg_u32s *begin) {
  for (size_t i = 1; i < begin->len; i++)
    begin->data[i] += begin->data[i - 1];
}

egraph_status eg_class_index_build(eg_class_index *index,
                                   const eg_extract_problem *problem) {
  assert(problem->child_begin.len == problem->node_class.len + (size_t)1);
  assert(problem->cost.len == problem->node_class.len);
  uint32_t nodes = eg_extract_node_count(problem);
  size_t edges = problem->children.len;
  EG_TRY(size_rows(&index->member_begin, &index->members, problem->class_count, nodes));
  EG_TRY(size_rows(&index->user_begin, &index->users, problem->class_count, edges));
  index->is_root.len = 0;
  EG_TRY(eg_bytes_resize(&index->is_root, problem->class_count));
  for (size_t i = 0; i < problem->roots.len; i++)
    index->is_root.data[problem->roots.data[i]] = 1;
  for (uint32_t n = 0; n < nodes; n++)
    index->member_begin.data[problem->node_class.data[n] + 2]++;
  for (size_t i = 0; i < edges; i++)
    index->user_begin.data[problem->children.data[i] + 2]++;
  offsets(&index->member_begin);
  offsets(&index->user_begin);
  for (uint32_t n = 0; n < nodes; n++) {
    uint32_t *slot = &index->member_begin.data[problem->node_class.data[n] + 1];
    index->members.data[(*slot)++] = n;
    EG_EACH_CHILD(problem, n, child) {
      index->users.data[index->user_begin.data[child + 1]++] = n;
    }
  }
  return EGRAPH_OK;
}

// ---- strongly connected components ------------------------------------------------

enum { UNSEEN = 0 };

typedef struct frame {
  uint32_t class, member, child; // positions in members and children
} frame;
EG_VEC_DEFINE(frames, frame);

typedef struct tarjan {
  const eg_extract_problem *problem;
  const eg_class_index *index;
  eg_u32s *component, *order;
  eg_u32s number, low; // [class], 1-based discovery
  eg_u32s open;        // classes whose component is not known yet
  frames stack;
  uint32_t seen, components;
} tarjan;
EG_OWNER_DEFINE_STATIC(tarjan, (eg_u32s, number, low, open), (frames, stack))

static egraph_status enter_class(tarjan *t, uint32_t class) {
  assert(t->number.data[class] == UNSEEN);
  t->number.data[class] = t->low.data[class] = ++t->seen;
  EG_TRY(eg_u32s_push(&t->open, class));
  uint32_t member = t->index->member_begin.data[class];
  return frames_push(&t->stack, (frame){class, member, UINT32_MAX});
}

/// Returns the next child of the frame's class, or EG_EXTRACT_NONE at the end.
static uint32_t next_child(const tarjan *t, frame *f) {
  for (; f->member < t->index->member_begin.data[f->class + 1]; f->member++) {
    uint32_t node = t->index->members.data[f->member];
    if (f->child == UINT32_MAX) f->child = t->problem->child_begin.data[node];
    if (f->child < t->problem->child_begin.data[node + 1])
      return t->problem->children.data[f->child++];
    f->child = UINT32_MAX;
  }
  return EG_EXTRACT_NONE;
}

static egraph_status leave_class(tarjan *t, uint32_t class) {
  if (t->low.data[class] != t->number.data[class]) return EGRAPH_OK;
  for (;;) {
    uint32_t top = eg_u32s_pop(&t->open);
    t->component->data[top] = t->components;
    EG_TRY(eg_u32s_push(t->order, top));
    if (top == class) break;
  }
  t->components++;
  return EGRAPH_OK;
}

static egraph_status explore_from(tarjan *t, uint32_t start) {
  EG_TRY(enter_class(t, start));
  while (t->stack.len != 0) {
    frame *top = &t->stack.data[t->stack.len - 1];
    uint32_t class = top->class, child = next_child(t, top);
    if (child == EG_EXTRACT_NONE) {
      EG_TRY(leave_class(t, class));
      t->stack.len--;
      if (t->stack.len == 0) break;
      uint32_t below = t->stack.data[t->stack.len - 1].class;
      if (t->low.data[class] < t->low.data[below])
        t->low.data[below] = t->low.data[class];
    } else if (t->number.data[child] == UNSEEN) {
      EG_TRY(enter_class(t, child));
    } else if (t->component->data[child] == EG_EXTRACT_NONE &&
               t->number.data[child] < t->low.data[class]) {
      t->low.data[class] = t->number.data[child];
    }
  }
  return EGRAPH_OK;
}

egraph_status eg_components_find(const eg_extract_problem *problem,
                                 const eg_class_index *index, eg_u32s *component,
                                 eg_u32s *order) {
  uint32_t classes = problem->class_count;
  EG_LOCAL_WITH(tarjan, t, component->alloc, .problem = problem, .index = index,
                .component = component, .order = order);
  order->len = 0;
  EG_TRY(eg_fill_none(component, classes));
  EG_TRY(eg_u32s_resize(&t.number, classes));
  EG_TRY(eg_u32s_resize(&t.low, classes));
  for (uint32_t class = 0; class < classes; class ++)
    if (t.number.data[class] == UNSEEN) EG_TRY(explore_from(&t, class));
  assert(order->len == classes && t.open.len == 0);
  return EGRAPH_OK;
}

// ---- users by their class ---------------------------------------------------------

// While groups are filled, begin[g + 2] is first the size of group g, then the place to
// fill next in group g + 1, and finally the end of group g + 1.
egraph_status eg_user_groups_find(eg_user_groups *groups,
                                  const eg_extract_problem *problem,
                                  const eg_class_index *index, uint32_t child) {
  assert(child < problem->class_count);
  const uint32_t *users = index->users.data, *class_of = problem->node_class.data;
  uint32_t first = index->user_begin.data[child],
           last = index->user_begin.data[child + 1];
  EG_TRY(eg_u32s_resize(&groups->group_of, problem->class_count));
  EG_TRY(eg_u32s_reserve(&groups->classes, last - first));
  EG_TRY(eg_u32s_reserve(&groups->begin, last - first + 2));
  EG_TRY(eg_u32s_reserve(&groups->nodes, last - first));
  groups->classes.len = 0;
  groups->begin.len = 2;
  groups->begin.data[0] = groups->begin.data[1] = 0;
  for (uint32_t u = first; u < last; u++) {
    uint32_t *group = &groups->group_of.data[class_of[users[u]]];
    if (*group == 0) {
      groups->classes.data[groups->classes.len++] = class_of[users[u]];
      groups->begin.data[groups->begin.len++] = 0;
      *group = (uint32_t)groups->classes.len;
    }
    groups->begin.data[*group + 1]++;
  }
  for (size_t g = 2; g < groups->begin.len; g++)
    groups->begin.data[g] += groups->begin.data[g - 1];
  groups->nodes.len = last - first;
  for (uint32_t u = first; u < last; u++)
    groups->nodes.data[groups->begin.data[groups->group_of.data[class_of[users[u]]]]++] =
        users[u];
  groups->begin.len--;
  for (size_t g = 0; g < groups->classes.len; g++)
    groups->group_of.data[groups->classes.data[g]] = 0;
  return EGRAPH_OK;
}

// ---- derivations ------------------------------------------------------------------

egraph_status eg_derivable_find(const eg_extract_problem *problem,
                                const eg_class_index *index, const double *x,
                                double threshold, eg_bytes *derivable, eg_u32s *waiting,
                                eg_u32s *queue) {
  assert(index->is_root.len == problem->class_count); // built for this problem
  uint32_t nodes = eg_extract_node_count(problem);
  derivable->len = waiting->len = queue->len = 0;
  EG_TRY(eg_bytes_resize(derivable, problem->class_count));
  EG_TRY(eg_u32s_resize(waiting, nodes));
  EG_TRY(eg_u32s_reserve(queue, problem->class_count));
  for (uint32_t n = 0; n < nodes; n++) {
    uint32_t class = problem->node_class.data[n];
    waiting->data[n] = problem->child_begin.data[n + 1] - problem->child_begin.data[n];
    if (waiting->data[n] != 0 || derivable->data[class]) continue;
    if (x != NULL && !(x[n] > threshold)) continue;
    derivable->data[class] = 1;
    queue->data[queue->len++] = class;
  }
  for (size_t done = 0; done < queue->len; done++)
    EG_EACH_USER(index, queue->data[done], n) {
      uint32_t class = problem->node_class.data[n];
      if (--waiting->data[n] != 0 || derivable->data[class]) continue;
      if (x != NULL && !(x[n] > threshold)) continue;
      derivable->data[class] = 1;
      queue->data[queue->len++] = class;
    }
  return EGRAPH_OK;
}
