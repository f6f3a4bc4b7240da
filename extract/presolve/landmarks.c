// Finds landmarks in two representations. On small problems rows are bits: all start full
// and shrink; a class is visited again when a child's row shrank. The first sweep goes
// children first, so that acyclic parts are final after one visit. On large problems rows
// are sets with shared structure.
// SPDX-License-Identifier: Apache-2.0
#include "extract/presolve/landmarks.h"

// ---- sets -------------------------------------------------------------------------

// Strongly connected parts of the class graph are visited children first; rows of
// finished parts are final. Classes are numbered in that order, so that neighbours in the
// graph share words.
//
// Within a part rows start at "everything" and only shrink. A class is visited when all
// children of one of its nodes have rows, so that the first rows belong to shallow
// derivations and are small. Rows of an unfinished part can be far larger than the final
// rows. When they take too many steps or too much memory, the part starts again from rows
// {c}, which grow in two sweeps. In both cases every entry of a row is, for every node of
// the class, an entry of some child's row; therefore the rows are true (the greatest such
// rows contain all landmarks).

enum { SWEEPS = 2 };

EG_OWNER_DEFINE_STATIC(eg_landmark_sets, (eg_sets, sets), (eg_u32s, row, order, position))

typedef struct finder {
  eg_landmark_sets *to;
  const eg_extract_problem *problem;
  const eg_class_index *index;
  eg_landmark_limits limits;
  eg_u32s component; // [class]
  eg_u32s queue;     // circular: classes of a part to visit, each once
  eg_bytes queued;   // [class]
  size_t head, waiting;
  uint32_t first, last; // the part: positions
  uint64_t asked;       // steps at the last check of patience
  bool late, full;
} finder;
EG_OWNER_DEFINE_STATIC(finder, (eg_u32s, component, queue), (eg_bytes, queued))

static bool finder_is_late(finder *f) {
  enum { ASK_EVERY = 1 << 15 };
  if (f->to->sets.steps - f->asked < ASK_EVERY && f->asked != 0) return f->late;
  f->asked = f->to->sets.steps + 1;
  f->late = eg_patience_ended(&f->limits.patience);
  return f->late;
}

/// Returns the set of all classes, which is stored behind the rows.
static uint32_t everything(const finder *f) {
  return f->to->row.data[f->problem->class_count];
}

/// Removes from *meet the classes that no child of `node` needs; removes none if the
/// landmarks of a child are not known yet.
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

/// Shrinks *row to the classes that all nodes of `class` need.
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

static bool is_same_part(const finder *f, uint32_t class, uint32_t other) {
  return f->component.data[class] == f->component.data[other];
}

static bool leaves_part(const finder *f, uint32_t node) {
  uint32_t class = f->problem->node_class.data[node];
  EG_EACH_CHILD(f->problem, node, child) {
    if (is_same_part(f, class, child)) return false;
  }
  return true;
}

/// Enqueues the classes where derivations of a strongly connected part begin; returns the
/// number of its edges.
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

/// Drops sets that are no class's landmarks now; sets `full` when too little is freed.
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
    if (finder_is_late(f)) return EGRAPH_OK;
    uint32_t class = dequeue(f), row = f->to->row.data[class];
    if (*out_done) EG_TRY(meet_class(f, class, &row));
    if (f->to->sets.steps > stop || f->full) *out_done = false;
    if (!*out_done || row == f->to->row.data[class]) continue;
    f->to->row.data[class] = row;
    EG_EACH_USER(f->index, class, node) {
      uint32_t user = f->problem->node_class.data[node];
      if (is_same_part(f, class, user)) enqueue(f, user);
    }
    EG_TRY(make_room(f));
  }
  return EGRAPH_OK;
}

static egraph_status grow_part(finder *f) {
  EG_TRY(reset_part(f, false));
  f->full = false;
  for (int sweep = 0; sweep < SWEEPS; sweep++)
    for (uint32_t at = f->first; at < f->last && !f->full && !finder_is_late(f); at++) {
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

/// Finds landmarks of one strongly connected part; {c} for class c once memory is full.
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

/// Finds the landmarks of all classes. *out_done: false when patience ended first; they
/// are then undefined.
static egraph_status find_sets(eg_landmark_sets *landmarks,
                               const eg_extract_problem *problem,
                               const eg_class_index *index, eg_landmark_limits limits,
                               bool *out_done) {
  EG_LOCAL_WITH(finder, f, landmarks->row.alloc, .to = landmarks, .problem = problem,
                .index = index, .limits = limits);
  EG_TRY(prepare_finder(&f));
  uint32_t classes = problem->class_count;
  const uint32_t *order = landmarks->order.data;
  while (f.last < classes && !finder_is_late(&f)) {
    f.first = f.last++;
    while (f.last < classes && is_same_part(&f, order[f.first], order[f.last]))
      f.last++;
    EG_TRY(find_part(&f));
  }
  if (!f.late)
    EG_TRY(eg_sets_compact(&landmarks->sets, landmarks->row.data, landmarks->row.len));
  eg_sets_finish(&landmarks->sets);
  *out_done = !f.late;
  return EGRAPH_OK;
}

// ---- rows of bits, and the choice between the two -------------------------------------

// Limits. 2 MiB of bit rows suffice for 4,096 classes; for more classes sets were
// measured to be faster. No e-graph of extraction-gym needs more than 8 steps per edge.
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

egraph_status eg_landmarks_list(const eg_landmarks *landmarks, uint32_t class,
                                eg_u32s *out) {
  if (landmarks->dense) {
    const uint64_t *row = eg_landmarks_of(landmarks, class);
    EG_EACH_BIT(row, landmarks->words, needed) { EG_TRY(eg_u32s_push(out, needed)); }
    return EGRAPH_OK;
  }
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
  assert(landmarks->dense);
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
} fixpoint;
EG_OWNER_DEFINE_STATIC(fixpoint, (eg_u32s, component, queue), (eg_bytes, queued),
                       (eg_words, node_row, class_row))

/// Shrinks the landmarks of `class` to those that all its nodes need; true if changed.
static bool shrink_row(fixpoint *f, uint32_t class) {
  assert(class < f->problem->class_count);
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

static egraph_status find_dense(eg_landmarks *landmarks,
                                const eg_extract_problem *problem,
                                const eg_class_index *index, eg_patience patience,
                                bool *out_done) {
  EG_LOCAL_WITH(fixpoint, f, landmarks->rows.alloc, .landmarks = landmarks,
                .problem = problem, .index = index);
  EG_TRY(prepare_fixpoint(&f));
  size_t classes = problem->class_count, waiting = classes, head = 0;
  bool late = false;
  if (classes != 0) memset(f.queued.data, 1, classes);
  for (size_t step = 0; waiting != 0 && !late; step++) {
    if (step % 64 == 0) late = eg_patience_ended(&patience);
    uint32_t class = f.queue.data[head];
    size_t tail = (head + waiting) % classes;
    head = (head + 1) % classes;
    waiting--;
    f.queued.data[class] = 0;
    if (!shrink_row(&f, class)) continue;
    EG_EACH_USER(index, class, node) {
      uint32_t user = problem->node_class.data[node];
      if (f.queued.data[user]) continue;
      f.queued.data[user] = 1;
      f.queue.data[tail] = user;
      tail = (tail + 1) % classes;
      waiting++;
    }
  }
  *out_done = !late;
  return EGRAPH_OK;
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
  EG_TRY(find_sets(&landmarks->shared, problem, index, landmarks->limits, out_done));
  if (landmarks->shared.gave_up) landmarks->limits.steps_per_edge /= 8;
  return EGRAPH_OK;
}

// ---- sums over landmarks ----------------------------------------------------------

// Sums over landmarks. Rows of bits are united, and the union is summed up. For shared
// sets the sum of every part of a set is computed first; then only the common parts of
// the children's rows are walked.

enum { MAX_CHILDREN = 8 };

static double sum_leaf(const eg_landmark_sums *sums, const eg_set_node *leaf) {
  uint32_t first = (leaf->code >> 1) * 64;
  double sum = 0;
  for (uint64_t word = eg_sets_word(leaf); word != 0; word &= word - 1) {
    uint32_t class = sums->landmarks->shared.order.data[first + eg_bits_lowest(word)];
    if (!eg_bits_has(sums->paid, class)) sum += sums->weight[class];
  }
  return sum;
}

static egraph_status sum_parts(eg_landmark_sums *sums) {
  const eg_set_nodes *nodes = &sums->landmarks->shared.sets.nodes;
  EG_TRY(eg_doubles_resize(&sums->sum, nodes->len));
  sums->sum.data[0] = 0;
  for (size_t id = 1; id < nodes->len; id++) {
    const eg_set_node *node = &nodes->data[id];
    sums->sum.data[id] = eg_sets_is_leaf(node)
                             ? sum_leaf(sums, node)
                             : sums->sum.data[node->left] + sums->sum.data[node->right];
  }
  return EGRAPH_OK;
}

egraph_status eg_landmark_sums_start(eg_landmark_sums *sums,
                                     const eg_landmarks *landmarks,
                                     const eg_extract_problem *problem,
                                     const double *weight, const uint64_t *paid) {
  sums->landmarks = landmarks;
  sums->problem = problem;
  sums->weight = weight;
  sums->paid = paid;
  if (landmarks->dense) return eg_words_resize(&sums->row, landmarks->words);
  return sum_parts(sums);
}

static double sum_dense(eg_landmark_sums *sums, uint32_t node) {
  assert(sums->landmarks->dense);
  uint64_t *row = sums->row.data;
  eg_landmarks_closure(sums->landmarks, sums->problem, node, row);
  eg_bits_clear(row, sums->problem->node_class.data[node]);
  double sum = 0;
  for (size_t w = 0; w < sums->row.len; w++)
    row[w] &= ~sums->paid[w];
  EG_EACH_BIT(row, sums->row.len, class) { sum += sums->weight[class]; }
  return sum;
}

/// Sums the weights of the members of `set` that are in none of the `count` sets of
/// `others`, each of which may extend beyond `set`.
static double sum_rest(const eg_landmark_sums *sums, uint32_t set, const uint32_t *others,
                       uint32_t count) {
  const eg_sets *sets = &sums->landmarks->shared.sets;
  if (!(sums->sum.data[set] > 0)) return 0;
  const eg_set_node *node = &sets->nodes.data[set];
  uint32_t near[MAX_CHILDREN], left = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t other = eg_sets_narrow(sets, others[i], node->code);
    if (other == set) return 0;
    if (other != 0) near[left++] = other;
  }
  if (left == 0) return sums->sum.data[set];
  if (!eg_sets_is_leaf(node))
    return sum_rest(sums, node->left, near, left) +
           sum_rest(sums, node->right, near, left);
  uint64_t word = eg_sets_word(node);
  for (uint32_t i = 0; i < left; i++)
    word &= ~eg_sets_word(&sets->nodes.data[near[i]]);
  return sum_leaf(sums,
                  &(eg_set_node){node->code, (uint32_t)word, (uint32_t)(word >> 32)});
}

/// Sums the weights of a node's landmarks. Its own class counts, too, which is harmless:
/// a node that needs its own class is in no solution.
static double sum_shared(const eg_landmark_sums *sums, uint32_t node) {
  assert(!sums->landmarks->dense);
  uint32_t rows[MAX_CHILDREN], count = 0;
  double sum = 0;
  for (uint32_t i = sums->problem->child_begin.data[node];
       i < sums->problem->child_begin.data[node + 1] && count < MAX_CHILDREN; i++) {
    uint32_t row = sums->landmarks->shared.row.data[sums->problem->children.data[i]];
    sum += sum_rest(sums, row, rows, count);
    rows[count++] = row;
  }
  return sum;
}

double eg_landmark_sums_of(eg_landmark_sums *sums, uint32_t node) {
  assert(node < eg_extract_node_count(sums->problem));
  return sums->landmarks->dense ? sum_dense(sums, node) : sum_shared(sums, node);
}
