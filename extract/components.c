// Tarjan's algorithm with its stack in vectors: graphs are thousands of classes deep.
// SPDX-License-Identifier: Apache-2.0
#include "extract/components.h"

enum { UNSEEN = 0 };

typedef struct frame {
  uint32_t class, member, child; // member: position in members; child: in children
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

static egraph_status enter(tarjan *t, uint32_t class) {
  t->number.data[class] = t->low.data[class] = ++t->seen;
  EG_TRY(eg_u32s_push(&t->open, class));
  uint32_t member = t->index->member_begin.data[class];
  return frames_push(&t->stack, (frame){class, member, UINT32_MAX});
}

// Next child of the frame's class, or NONE at the end.
static uint32_t advance(const tarjan *t, frame *f) {
  for (; f->member < t->index->member_begin.data[f->class + 1]; f->member++) {
    uint32_t node = t->index->members.data[f->member];
    if (f->child == UINT32_MAX) f->child = t->problem->child_begin.data[node];
    if (f->child < t->problem->child_begin.data[node + 1])
      return t->problem->children.data[f->child++];
    f->child = UINT32_MAX;
  }
  return EG_EXTRACT_NONE;
}

static egraph_status leave(tarjan *t, uint32_t class) {
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

static egraph_status explore(tarjan *t, uint32_t start) {
  EG_TRY(enter(t, start));
  while (t->stack.len != 0) {
    frame *top = &t->stack.data[t->stack.len - 1];
    uint32_t class = top->class, child = advance(t, top);
    if (child == EG_EXTRACT_NONE) {
      EG_TRY(leave(t, class));
      t->stack.len--;
      if (t->stack.len == 0) break;
      uint32_t below = t->stack.data[t->stack.len - 1].class;
      if (t->low.data[class] < t->low.data[below])
        t->low.data[below] = t->low.data[class];
    } else if (t->number.data[child] == UNSEEN) {
      EG_TRY(enter(t, child));
    } else if (t->component->data[child] == EG_EXTRACT_NONE &&
               t->number.data[child] < t->low.data[class]) {
      t->low.data[class] = t->number.data[child];
    }
  }
  return EGRAPH_OK;
}

static egraph_status explore_all(tarjan *t) {
  uint32_t classes = t->problem->class_count;
  t->component->len = t->order->len = 0;
  EG_TRY(eg_u32s_resize(t->component, classes));
  EG_TRY(eg_u32s_resize(&t->number, classes));
  EG_TRY(eg_u32s_resize(&t->low, classes));
  for (uint32_t class = 0; class < classes; class ++)
    t->component->data[class] = EG_EXTRACT_NONE;
  for (uint32_t class = 0; class < classes; class ++)
    if (t->number.data[class] == UNSEEN) EG_TRY(explore(t, class));
  return EGRAPH_OK;
}

egraph_status eg_components_find(const eg_extract_problem *problem,
                                 const eg_class_index *index, eg_u32s *component,
                                 eg_u32s *order) {
  tarjan t = {problem, index, component, order, .seen = 0};
  egraph_allocator alloc = component->alloc;
  eg_u32s_init(&t.number, alloc);
  eg_u32s_init(&t.low, alloc);
  eg_u32s_init(&t.open, alloc);
  frames_init(&t.stack, alloc);
  egraph_status status = explore_all(&t);
  frames_deinit(&t.stack);
  eg_u32s_deinit(&t.open);
  eg_u32s_deinit(&t.low);
  eg_u32s_deinit(&t.number);
  return status;
}
