// Bit rows; sets are found in landmark_sets.c. Rows start full and only shrink; a class
// is looked at again when a child's row shrank. The first sweep goes children first, so
// that acyclic parts are final after one look.
// SPDX-License-Identifier: Apache-2.0
#include "extract/landmarks.h"

#include "base/owner.h"
#include "extract/components.h"

// 2 MiB are 4,096 classes, from where on sets were measured faster. Of the e-graphs of
// extraction-gym none needs more than 8 steps per edge.
enum { DENSE_BYTES = 2 << 20, SET_NODES = 11 << 18, STEPS_PER_EDGE = 32 };

void eg_landmarks_init(eg_landmarks *landmarks, egraph_allocator alloc) {
  *landmarks = (eg_landmarks){
      .dense_bytes = DENSE_BYTES,
      .limits = {.set_nodes = SET_NODES, .steps_per_edge = STEPS_PER_EDGE}};
  eg_words_init(&landmarks->rows, alloc);
  eg_landmark_sets_init(&landmarks->shared, alloc);
}

void eg_landmarks_deinit(eg_landmarks *landmarks) {
  eg_landmark_sets_deinit(&landmarks->shared);
  eg_words_deinit(&landmarks->rows);
  landmarks->words = 0;
}

static egraph_status list_bits(const uint64_t *row, size_t words, eg_u32s *out) {
  for (size_t w = 0; w < words; w++)
    for (uint64_t bits = row[w]; bits != 0; bits &= bits - 1)
      EG_TRY(eg_u32s_push(out, (uint32_t)(w * 64) + eg_bits_lowest(bits)));
  return EGRAPH_OK;
}

egraph_status eg_landmarks_list(const eg_landmarks *landmarks, uint32_t class,
                                eg_u32s *out) {
  if (landmarks->dense)
    return list_bits(eg_landmarks_of(landmarks, class), landmarks->words, out);
  const eg_landmark_sets *shared = &landmarks->shared;
  size_t from = out->len;
  EG_TRY(eg_sets_list(&shared->sets, shared->row.data[class], out));
  for (size_t i = from; i < out->len; i++)
    out->data[i] = shared->order.data[out->data[i]];
  return EGRAPH_OK;
}

void eg_landmarks_closure(const eg_landmarks *landmarks,
                          const eg_extract_problem *problem, uint32_t node,
                          uint64_t *out) {
  memset(out, 0, landmarks->words * sizeof(uint64_t));
  EG_EACH_CHILD(problem, node, child) {
    const uint64_t *row = eg_landmarks_of(landmarks, child);
    for (size_t w = 0; w < landmarks->words; w++)
      out[w] |= row[w];
  }
}

typedef struct fixpoint {
  eg_landmarks *landmarks;
  const eg_extract_problem *problem;
  const eg_class_index *index;
  eg_u32s component, queue; // queue: circular, holds each class at most once
  eg_bytes queued;
  eg_words node_row, class_row;
  eg_patience patience;
  bool late;
} fixpoint;
EG_OWNER_DEFINE_STATIC(fixpoint, (eg_u32s, component, queue), (eg_bytes, queued),
                       (eg_words, node_row, class_row))

// Shrinks the row of `class` to what its nodes agree on; true when it changed.
static bool shrink(fixpoint *f, uint32_t class) {
  size_t words = f->landmarks->words;
  uint64_t *row = f->landmarks->rows.data + (size_t) class * words;
  uint64_t *meet = f->class_row.data;
  memcpy(meet, row, words * sizeof(uint64_t));
  EG_EACH_MEMBER(f->index, class, member) {
    eg_landmarks_closure(f->landmarks, f->problem, member, f->node_row.data);
    for (size_t w = 0; w < words; w++)
      meet[w] &= f->node_row.data[w];
    eg_bits_put(meet, class);
  }
  if (memcmp(meet, row, words * sizeof(uint64_t)) == 0) return false;
  memcpy(row, meet, words * sizeof(uint64_t));
  return true;
}

static egraph_status prepare_fixpoint(fixpoint *f) {
  uint32_t classes = f->problem->class_count;
  f->landmarks->words = eg_bits_words(classes);
  size_t words = f->landmarks->words;
  f->landmarks->rows.len = 0;
  EG_TRY(eg_words_resize(&f->landmarks->rows, words * classes));
  EG_TRY(eg_words_resize(&f->node_row, words));
  EG_TRY(eg_words_resize(&f->class_row, words));
  EG_TRY(eg_bytes_resize(&f->queued, classes));
  for (uint32_t bit = 0; bit < classes; bit++)
    eg_bits_put(f->landmarks->rows.data, bit);
  for (uint32_t class = 1; class < classes; class ++)
    memcpy(f->landmarks->rows.data + class * words, f->landmarks->rows.data,
           words * sizeof(uint64_t));
  return eg_components_find(f->problem, f->index, &f->component, &f->queue);
}

static egraph_status iterate(fixpoint *f) {
  EG_TRY(prepare_fixpoint(f));
  size_t classes = f->problem->class_count, waiting = classes, head = 0;
  if (classes != 0) memset(f->queued.data, 1, classes);
  for (size_t step = 0; waiting != 0 && !f->late; step++) {
    if (step % 64 == 0) f->late = eg_patience_ended(&f->patience);
    uint32_t class = f->queue.data[head];
    size_t tail = (head + waiting) % classes;
    head = (head + 1) % classes;
    waiting--;
    f->queued.data[class] = 0;
    if (!shrink(f, class)) continue;
    EG_EACH_USER(f->index, class, node) {
      uint32_t user = f->problem->node_class.data[node];
      if (f->queued.data[user]) continue;
      f->queued.data[user] = 1;
      f->queue.data[tail] = user;
      tail = (tail + 1) % classes;
      waiting++;
    }
  }
  return EGRAPH_OK;
}

static egraph_status find_dense(eg_landmarks *landmarks,
                                const eg_extract_problem *problem,
                                const eg_class_index *index, eg_patience patience,
                                bool *out_done) {
  egraph_allocator alloc = landmarks->rows.alloc;
  fixpoint f;
  fixpoint_init(&f, alloc);
  f.landmarks = landmarks;
  f.problem = problem;
  f.index = index;
  f.patience = patience;
  egraph_status status = iterate(&f);
  *out_done = !f.late;
  fixpoint_deinit(&f);
  return status;
}

egraph_status eg_landmarks_find(eg_landmarks *landmarks,
                                const eg_extract_problem *problem,
                                const eg_class_index *index, eg_patience patience,
                                bool *out_done) {
  size_t classes = problem->class_count;
  landmarks->dense =
      classes == 0 || eg_bits_words(classes) * 8 <= landmarks->dense_bytes / classes;
  if (landmarks->dense) return find_dense(landmarks, problem, index, patience, out_done);
  eg_words_deinit(&landmarks->rows);
  landmarks->limits.patience = patience;
  EG_TRY(eg_landmark_sets_find(&landmarks->shared, problem, index, landmarks->limits,
                               out_done));
  if (landmarks->shared.gave_up) landmarks->limits.steps_per_edge /= 8;
  return EGRAPH_OK;
}
