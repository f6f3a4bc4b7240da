// Strongly connected parts of the class graph, children first; across parts rows are
// final. Classes are numbered in that order, so that what lies close together in the
// graph shares words.
//
// Within a part rows start at "everything" and only shrink. A class is looked at when a
// node of it has all its children, so that the first rows are those of shallow
// derivations, and small. Rows of a part in progress can be far larger than the final
// ones; when they take too many steps or too much memory, the part starts over from
// below: rows {c} that grow in two sweeps. Both ways every entry of a row is, for every
// node of the class, an entry of some child's row, which is what makes rows true (the
// greatest such rows are all landmarks there are).
// SPDX-License-Identifier: Apache-2.0
#include "extract/landmark_sets.h"

#include "base/owner.h"
#include "extract/components.h"

enum { SWEEPS = 2 };

EG_OWNER_DEFINE(eg_landmark_sets, (eg_sets, sets), (eg_u32s, row, order, position))

typedef struct finder {
  eg_landmark_sets *to;
  const eg_extract_problem *problem;
  const eg_class_index *index;
  eg_landmark_limits limits;
  eg_u32s component; // [class]
  eg_u32s queue;     // of a part: circular, holds each class at most once
  eg_bytes queued;   // [class]
  size_t head, waiting;
  uint32_t first, last; // the part: positions
  uint64_t asked;       // steps when patience was last asked
  bool late, full;
} finder;
EG_OWNER_DEFINE_STATIC(finder, (eg_u32s, component, queue), (eg_bytes, queued))

static bool is_late(finder *f) {
  enum { ASK_EVERY = 1 << 15 };
  if (f->to->sets.steps - f->asked < ASK_EVERY && f->asked != 0) return f->late;
  f->asked = f->to->sets.steps + 1;
  f->late = eg_patience_ended(&f->limits.patience);
  return f->late;
}

// The set of all classes, which is kept behind the rows.
static uint32_t everything(const finder *f) {
  return f->to->row.data[f->problem->class_count];
}

// Takes from *meet what no child of `node` needs; nothing when a child has no row yet.
static egraph_status meet_node(finder *f, uint32_t node, uint32_t *meet) {
  eg_sets *sets = &f->to->sets;
  uint32_t first = f->problem->child_begin.data[node];
  uint32_t last = f->problem->child_begin.data[node + 1], needed = 0;
  for (uint32_t i = first; i < last; i++)
    if (f->to->row.data[f->problem->children.data[i]] == everything(f)) return EGRAPH_OK;
  for (uint32_t i = first; i < last && (i == first || needed != *meet); i++) {
    uint32_t part = f->to->row.data[f->problem->children.data[i]];
    if (*meet != everything(f)) EG_TRY(eg_sets_intersection(sets, *meet, part, &part));
    EG_TRY(eg_sets_union(sets, needed, part, &needed));
  }
  *meet = needed;
  return EGRAPH_OK;
}

// *row shrinks to what the nodes of `class` agree on.
static egraph_status meet_class(finder *f, uint32_t class, uint32_t *row) {
  eg_sets *sets = &f->to->sets;
  uint32_t own;
  f->to->sets.steps++;
  for (uint32_t m = f->index->member_begin.data[class];
       m < f->index->member_begin.data[class + 1] && *row != 0; m++)
    EG_TRY(meet_node(f, f->index->members.data[m], row));
  if (*row == everything(f)) return EGRAPH_OK;
  EG_TRY(eg_sets_single(sets, f->to->position.data[class], &own));
  return eg_sets_union(sets, *row, own, row);
}

static egraph_status reset_part(finder *f, bool to_everything) {
  for (uint32_t at = f->first; at < f->last; at++) {
    uint32_t *row = &f->to->row.data[f->to->order.data[at]];
    *row = everything(f);
    if (!to_everything) EG_TRY(eg_sets_single(&f->to->sets, at, row));
  }
  return EGRAPH_OK;
}

// ---- within a part ---------------------------------------------------------------

static void enqueue(finder *f, uint32_t class) {
  if (f->queued.data[class]) return;
  f->queued.data[class] = 1;
  f->queue.data[(f->head + f->waiting++) % f->queue.len] = class;
}

static uint32_t dequeue(finder *f) {
  uint32_t class = f->queue.data[f->head];
  f->head = (f->head + 1) % f->queue.len;
  f->waiting--;
  f->queued.data[class] = 0;
  return class;
}

static bool is_within(const finder *f, uint32_t class, uint32_t other) {
  return f->component.data[class] == f->component.data[other];
}

static bool leaves_part(const finder *f, uint32_t node) {
  uint32_t class = f->problem->node_class.data[node];
  EG_EACH_CHILD(f->problem, node, child) {
    if (is_within(f, class, child)) return false;
  }
  return true;
}

static void enqueue_users(finder *f, uint32_t class) {
  EG_EACH_USER(f->index, class, node) {
    uint32_t user = f->problem->node_class.data[node];
    if (is_within(f, class, user)) enqueue(f, user);
  }
}

// Where derivations of the part begin.
static uint64_t enqueue_starts(finder *f) {
  uint64_t edges = 0;
  f->head = f->waiting = 0;
  for (uint32_t at = f->first; at < f->last; at++) {
    uint32_t class = f->to->order.data[at];
    EG_EACH_MEMBER(f->index, class, node) {
      edges +=
          1 + f->problem->child_begin.data[node + 1] - f->problem->child_begin.data[node];
      if (leaves_part(f, node)) enqueue(f, class);
    }
  }
  return edges;
}

// Makes room by dropping sets that are no rows any more; sets full when that is no use.
static egraph_status make_room(finder *f) {
  size_t limit = (size_t)f->limits.set_nodes + f->problem->class_count;
  if (f->to->sets.nodes.len <= limit) return EGRAPH_OK;
  EG_TRY(eg_sets_compact(&f->to->sets, f->to->row.data, f->to->row.len));
  f->full = f->to->sets.nodes.len > limit - limit / 4;
  return EGRAPH_OK;
}

static egraph_status shrink_part(finder *f, bool *out_done) {
  EG_TRY(reset_part(f, true));
  uint64_t edges = enqueue_starts(f);
  uint64_t stop = f->to->sets.steps + edges * f->limits.steps_per_edge;
  *out_done = true;
  while (f->waiting != 0) {
    if (is_late(f)) return EGRAPH_OK;
    uint32_t class = dequeue(f), row = f->to->row.data[class];
    if (*out_done) EG_TRY(meet_class(f, class, &row));
    if (f->to->sets.steps > stop || f->full) *out_done = false;
    if (!*out_done || row == f->to->row.data[class]) continue;
    f->to->row.data[class] = row;
    enqueue_users(f, class);
    EG_TRY(make_room(f));
  }
  return EGRAPH_OK;
}

static egraph_status grow_part(finder *f) {
  EG_TRY(reset_part(f, false));
  f->full = false;
  for (int sweep = 0; sweep < SWEEPS; sweep++)
    for (uint32_t at = f->first; at < f->last && !f->full && !is_late(f); at++) {
      uint32_t class = f->to->order.data[at], row = everything(f);
      EG_TRY(meet_class(f, class, &row));
      f->to->row.data[class] = row;
      EG_TRY(make_room(f));
    }
  return EGRAPH_OK;
}

static bool is_cyclic(const finder *f) {
  if (f->last - f->first > 1) return true;
  uint32_t class = f->to->order.data[f->first];
  EG_EACH_USER(f->index, class, user) {
    if (f->problem->node_class.data[user] == class) return true;
  }
  return false;
}

// Once the memory is full, rows are {c}.
static egraph_status find_part(finder *f) {
  if (f->full) return reset_part(f, false);
  if (!is_cyclic(f)) {
    uint32_t class = f->to->order.data[f->first], row = everything(f);
    EG_TRY(meet_class(f, class, &row));
    f->to->row.data[class] = row;
    return make_room(f);
  }
  bool done;
  EG_TRY(shrink_part(f, &done));
  if (done || f->late) return EGRAPH_OK;
  f->to->gave_up = true;
  return grow_part(f);
}

// ---- all -------------------------------------------------------------------------

static egraph_status prepare_finder(finder *f) {
  eg_landmark_sets *to = f->to;
  uint32_t classes = f->problem->class_count;
  EG_TRY(eg_sets_start(&to->sets));
  EG_TRY(eg_components_find(f->problem, f->index, &f->component, &to->order));
  to->gave_up = false;
  to->row.len = to->position.len = 0;
  EG_TRY(eg_u32s_resize(&to->row, (size_t)classes + 1));
  EG_TRY(eg_u32s_resize(&to->position, classes));
  EG_TRY(eg_u32s_resize(&f->queue, classes));
  EG_TRY(eg_bytes_resize(&f->queued, classes));
  for (uint32_t at = 0; at < classes; at++)
    to->position.data[to->order.data[at]] = at;
  return eg_sets_range(&to->sets, classes, &to->row.data[classes]);
}

static egraph_status find_all(finder *f) {
  EG_TRY(prepare_finder(f));
  uint32_t classes = f->problem->class_count;
  const uint32_t *order = f->to->order.data;
  while (f->last < classes && !is_late(f)) {
    f->first = f->last++;
    while (f->last < classes && is_within(f, order[f->first], order[f->last]))
      f->last++;
    EG_TRY(find_part(f));
  }
  if (!f->late) EG_TRY(eg_sets_compact(&f->to->sets, f->to->row.data, f->to->row.len));
  eg_sets_finish(&f->to->sets);
  return EGRAPH_OK;
}

egraph_status eg_landmark_sets_find(eg_landmark_sets *landmarks,
                                    const eg_extract_problem *problem,
                                    const eg_class_index *index,
                                    eg_landmark_limits limits, bool *out_done) {
  egraph_allocator alloc = landmarks->row.alloc;
  finder f;
  finder_init(&f, alloc);
  f.to = landmarks;
  f.problem = problem;
  f.index = index;
  f.limits = limits;
  egraph_status status = find_all(&f);
  *out_done = !f.late;
  finder_deinit(&f);
  return status;
}
