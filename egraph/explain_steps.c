// From ways to steps. A way between two terms is a row of edges; a congruence among them
// asks for the ways between the children, by older edges. Each way is found once and kept
// with its pair of terms, read in either direction. The steps are written by one walk
// through the ways, with a stack: going down into child i at a congruence, and at an
// equation writing the whole term anew along the position. At last, where a term occurs
// twice, what lies between is cut out.
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "egraph/explain_internal.h"

/// A way from the lower to the higher term number.
typedef struct way {
  uint32_t ends[2], bound, begin, count;
} way;
EG_VEC_DEFINE(way_vec, way);

/// Where the walk is in a way.
typedef struct frame {
  uint32_t way, done; // items gone
  uint32_t child;     // of the congruence at hand
  bool reversed;
} frame;
EG_VEC_DEFINE(frame_vec, frame);

typedef struct writer {
  eg_explainer *explainer;
  size_t max_words;
  way_vec ways;
  eg_flatmap map; // pair of terms -> way
  eg_u32s items;  // of all ways
  frame_vec stack;
  eg_u32s position; // child numbers down to the top frame
  eg_u32s levels;   // terms of `out` at each level of the position, the whole one first
  eg_ground_copier copier;
  eg_u32s scratch;
  eg_explanation *out;
} writer;

void eg_explanation_init(eg_explanation *explanation, egraph_allocator alloc) {
  *explanation = (eg_explanation){.from = 0};
  eg_ground_init(&explanation->terms, alloc);
  eg_steps_init(&explanation->steps, alloc);
  eg_u32s_init(&explanation->positions, alloc);
}

void eg_explanation_deinit(eg_explanation *explanation) {
  eg_ground_deinit(&explanation->terms);
  eg_steps_deinit(&explanation->steps);
  eg_u32s_deinit(&explanation->positions);
}

// ---- ways ------------------------------------------------------------------------

static bool is_way_of(const void *user, uint32_t index, const void *key) {
  const writer *w = user;
  return memcmp(w->ways.data[index].ends, key, sizeof w->ways.data[index].ends) == 0;
}

static egraph_status fill_way(writer *w, way *out) {
  out->begin = (uint32_t)w->items.len;
  EG_TRY(eg_explainer_find_way(w->explainer, out->ends[0], out->ends[1], out->bound,
                               &w->items));
  if (w->items.len > UINT32_MAX / 2)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "the explanation has too many parts");
  out->count = (uint32_t)w->items.len - out->begin;
  return EGRAPH_OK;
}

/// The way between two terms over edges below `bound`. One that was found for a larger
/// bound may use edges beyond this one; then another is found, and both are right.
static egraph_status way_between(writer *w, uint32_t a, uint32_t b, uint32_t bound,
                                 uint32_t *out) {
  way wanted = {.ends = {a < b ? a : b, a < b ? b : a}, .bound = bound};
  uint64_t hash = eg_hash_combine(wanted.ends[0], wanted.ends[1]);
  bool known = eg_flatmap_find(&w->map, hash, wanted.ends, is_way_of, w, out);
  if (known && w->ways.data[*out].bound <= bound) return EGRAPH_OK;
  EG_TRY(fill_way(w, &wanted));
  EG_TRY(way_vec_reserve(&w->ways, w->ways.len + 1));
  uint32_t index = (uint32_t)w->ways.len;
  if (known)
    eg_flatmap_replace(&w->map, hash, *out, index);
  else
    EG_TRY(eg_flatmap_insert(&w->map, hash, index));
  w->ways.data[w->ways.len++] = wanted;
  *out = index;
  return EGRAPH_OK;
}

/// Enters the way from a to b; the way's term is a now.
static egraph_status push_frame(writer *w, uint32_t a, uint32_t b, uint32_t bound) {
  frame top = {.reversed = a > b};
  uint32_t term;
  EG_TRY(way_between(w, a, b, bound, &top.way));
  EG_TRY(eg_ground_copy(&w->copier, a, &term));
  EG_TRY(eg_u32s_push(&w->levels, term));
  return frame_vec_push(&w->stack, top);
}

// ---- steps -----------------------------------------------------------------------

static egraph_status check_room(const writer *w) {
  const eg_explanation *out = w->out;
  size_t words = out->terms.words.len + out->positions.len +
                 out->steps.len * (sizeof(eg_step) / sizeof(uint32_t));
  if (words <= w->max_words) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                 "the explanation has more than %zu steps, and takes more than %zu words",
                 out->steps.len, w->max_words);
}

/// The whole term, once that at the position has become `term`.
static egraph_status rewrite(writer *w, uint32_t term) {
  size_t level = w->levels.len - 1;
  w->levels.data[level] = term;
  for (; level-- > 0;)
    EG_TRY(eg_ground_replace(&w->out->terms, w->levels.data[level],
                             w->position.data[level], w->levels.data[level + 1],
                             &w->scratch, &w->levels.data[level]));
  return EGRAPH_OK;
}

static egraph_status write_step(writer *w, const eg_edge *edge, bool backward) {
  uint32_t term;
  eg_step step = {.before = w->levels.data[0],
                  .reason = edge->reason,
                  .backward = backward,
                  .position = (uint32_t)w->out->positions.len,
                  .depth = (uint32_t)w->position.len};
  EG_TRY(eg_ground_copy(&w->copier, edge->ends[!backward], &term));
  EG_TRY(rewrite(w, term));
  step.after = w->levels.data[0];
  EG_TRY(eg_u32s_append(&w->out->positions, w->position.data, w->position.len));
  EG_TRY(eg_steps_push(&w->out->steps, step));
  return check_room(w);
}

static void pop_frame(writer *w) {
  w->stack.len--;
  w->levels.len--;
  if (w->stack.len != 0) w->position.len--;
}

/// Goes into the next child that a congruence changes, or past the congruence.
static egraph_status enter_child(writer *w, uint32_t edge, bool backward) {
  const eg_edge *e = &w->explainer->edges.data[edge];
  eg_ground before = eg_ground_at(&w->explainer->terms, e->ends[backward]);
  eg_ground after = eg_ground_at(&w->explainer->terms, e->ends[!backward]);
  frame *top = &w->stack.data[w->stack.len - 1];
  while (top->child < before.arity &&
         before.children[top->child] == after.children[top->child])
    top->child++;
  if (top->child == before.arity) {
    top->child = 0;
    top->done++;
    return EGRAPH_OK;
  }
  uint32_t child = top->child++;
  EG_TRY(eg_u32s_push(&w->position, child));
  return push_frame(w, before.children[child], after.children[child], edge);
}

static egraph_status advance(writer *w) {
  frame *top = &w->stack.data[w->stack.len - 1];
  const way *current = &w->ways.data[top->way];
  if (top->done == current->count) {
    pop_frame(w);
    return EGRAPH_OK;
  }
  uint32_t index = top->reversed ? current->count - 1 - top->done : top->done;
  uint32_t item = w->items.data[current->begin + index] ^ top->reversed;
  const eg_edge *edge = &w->explainer->edges.data[item / 2];
  if (edge->reason == EG_EDGE_CONGRUENCE) return enter_child(w, item / 2, item & 1);
  top->done++;
  return write_step(w, edge, item & 1);
}

static egraph_status write_steps(writer *w, uint32_t from, uint32_t to) {
  EG_TRY(eg_ground_copy(&w->copier, from, &w->out->from));
  EG_TRY(eg_ground_copy(&w->copier, to, &w->out->to));
  if (from == to) return EGRAPH_OK;
  EG_TRY(push_frame(w, from, to, UINT32_MAX));
  while (w->stack.len != 0)
    EG_TRY(advance(w));
  return EGRAPH_OK;
}

// ---- cutting ---------------------------------------------------------------------

/// Goes on from the last step that leaves the same term, each time.
static egraph_status cut_cycles(eg_explanation *e, eg_u32s *last) {
  EG_TRY(eg_u32s_resize(last, eg_ground_count(&e->terms)));
  for (size_t i = 0; i < e->steps.len; i++)
    last->data[e->steps.data[i].before] = (uint32_t)i;
  size_t kept = 0;
  for (uint32_t term = e->from; term != e->to;) {
    eg_step step = e->steps.data[last->data[term]];
    e->steps.data[kept++] = step;
    term = step.after;
  }
  e->steps.len = kept;
  return EGRAPH_OK;
}

/// Moves the positions of the steps that are left together.
static void compact_positions(eg_explanation *e) {
  uint32_t kept = 0;
  for (size_t i = 0; i < e->steps.len; i++) {
    eg_step *step = &e->steps.data[i];
    if (step->depth != 0)
      memmove(e->positions.data + kept, e->positions.data + step->position,
              step->depth * sizeof *e->positions.data);
    step->position = kept;
    kept += step->depth;
  }
  e->positions.len = kept;
}

// ---- the question ----------------------------------------------------------------

static egraph_status explain_into(writer *w, uint32_t from, uint32_t to) {
  EG_TRY(write_steps(w, from, to));
  w->scratch.len = 0;
  EG_TRY(cut_cycles(w->out, &w->scratch));
  compact_positions(w->out);
  return EGRAPH_OK;
}

static void writer_init(writer *w, egraph_allocator alloc) {
  way_vec_init(&w->ways, alloc);
  eg_flatmap_init(&w->map, alloc);
  eg_u32s_init(&w->items, alloc);
  frame_vec_init(&w->stack, alloc);
  eg_u32s_init(&w->position, alloc);
  eg_u32s_init(&w->levels, alloc);
  eg_u32s_init(&w->scratch, alloc);
  eg_ground_copier_init(&w->copier, &w->explainer->terms, &w->out->terms, alloc);
}

static void writer_deinit(writer *w) {
  way_vec_deinit(&w->ways);
  eg_flatmap_deinit(&w->map);
  eg_u32s_deinit(&w->items);
  frame_vec_deinit(&w->stack);
  eg_u32s_deinit(&w->position);
  eg_u32s_deinit(&w->levels);
  eg_u32s_deinit(&w->scratch);
  eg_ground_copier_deinit(&w->copier);
}

egraph_status eg_explainer_explain(eg_explainer *explainer, uint32_t from, uint32_t to,
                                   size_t max_words, eg_explanation *out) {
  size_t count = explainer->vertices.len;
  if (from >= count || to >= count)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "there are %zu terms, but no term %u", count,
                   from >= count ? from : to);
  if (!eg_explainer_are_equal(explainer, from, to))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "the two terms are not known to be equal");
  writer w = {.explainer = explainer, .max_words = max_words, .out = out};
  writer_init(&w, explainer->alloc);
  egraph_status status = explain_into(&w, from, to);
  writer_deinit(&w);
  return status;
}
