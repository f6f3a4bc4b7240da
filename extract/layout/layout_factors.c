// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_factors.h"

#include <math.h>

#define NONE EG_LAYOUT_NONE

// ---- building -----------------------------------------------------------------------

typedef struct link_pair {
  uint32_t key, link;
} link_pair;
EG_VEC_DEFINE(link_pairs, link_pair);

typedef struct builder {
  eg_layout_factors *f;
  link_pairs of_value, of_tie, of_seam, of_cut; // links
  eg_u32s last_tree;                            // [values] that has room, or NONE
  eg_u32s last_tie; // [values] 1 + the last one that it has joined, or 0
} builder;

static const eg_layout_problem *problem_of(const eg_layout_factors *f) {
  return f->view->problem;
}

static egraph_status add_link(builder *b, eg_link link, uint32_t *out) {
  eg_layout_factors *f = b->f;
  link.price = (uint32_t)f->price.len;
  *out = (uint32_t)f->links.len;
  size_t labels = f->price.len + eg_link_labels(f, &link);
  EG_TRY(eg_doubles_resize(&f->price, labels));
  EG_TRY(eg_doubles_resize(&f->least, labels));
  EG_TRY(eg_bytes_resize(&f->dead, labels));
  if (link.producers != NONE)
    EG_TRY(link_pairs_push(&b->of_value, (link_pair){link.producers, *out}));
  if (link.kind == EG_LINK_TIE)
    EG_TRY(link_pairs_push(&b->of_tie, (link_pair){link.far, *out}));
  if (link.kind == EG_LINK_SEAM)
    EG_TRY(link_pairs_push(&b->of_seam, (link_pair){link.far, *out}));
  if (link.kind == EG_LINK_CUT)
    EG_TRY(link_pairs_push(&b->of_cut, (link_pair){link.far, *out}));
  return eg_links_push(&f->links, link);
}

static egraph_status add_tree(builder *b, uint32_t value) {
  eg_layout_factors *f = b->f;
  uint32_t number = (uint32_t)f->trees.len;
  eg_tree_factor tree = {.value = value};
  EG_TRY(add_link(
      b,
      (eg_link){.kind = EG_LINK_MADE, .value = value, .producers = value, .far = number},
      &tree.made));
  b->last_tree.data[value] = number;
  return eg_tree_factors_push(&f->trees, tree);
}

/// A user of a value joins the newest tree that has room.
static egraph_status add_user(builder *b, eg_link_kind kind, uint32_t value,
                              uint32_t producers, uint32_t *out) {
  eg_layout_factors *f = b->f;
  uint32_t tree = b->last_tree.data[value];
  if (f->trees.data[tree].user_count == EG_STEINER_USERS) {
    EG_TRY(add_tree(b, value));
    tree = b->last_tree.data[value];
  }
  EG_TRY(add_link(
      b, (eg_link){.kind = kind, .value = value, .producers = producers, .far = tree},
      out));
  eg_tree_factor *t = &f->trees.data[tree];
  t->users[t->user_count++] = *out;
  return EGRAPH_OK;
}

static bool is_left(const eg_layout_factors *f, uint32_t op) {
  const eg_layout_problem *p = problem_of(f);
  for (uint32_t s = p->strategy_begin.data[op]; s < p->strategy_begin.data[op + 1]; s++)
    if (f->active->strategy.data[s]) return true;
  return false;
}

/// The link by which producers of `value` use `input`, for the nth input of an operator
/// that is the same value; `first`: the first link that its producers have added.
static egraph_status find_use(builder *b, uint32_t value, uint32_t input, uint32_t nth,
                              size_t first, uint32_t *out) {
  const eg_link *links = b->f->links.data;
  for (size_t i = first; i < b->f->links.len; i++) {
    if (links[i].kind != EG_LINK_USE || links[i].value != input || nth-- != 0) continue;
    *out = (uint32_t)i;
    return EGRAPH_OK;
  }
  return add_user(b, EG_LINK_USE, input, value, out);
}

static egraph_status add_operator_uses(builder *b, uint32_t op, size_t first) {
  const eg_layout_problem *p = problem_of(b->f);
  uint32_t begin = p->input_begin.data[op], end = p->input_begin.data[op + 1];
  for (uint32_t i = begin; i < end; i++) {
    uint32_t nth = 0;
    for (uint32_t k = begin; k < i; k++)
      nth += p->inputs.data[k] == p->inputs.data[i];
    EG_TRY(find_use(b, p->operator_value.data[op], p->inputs.data[i], nth, first,
                    &b->f->use.data[i]));
  }
  return EGRAPH_OK;
}

static egraph_status add_uses(builder *b) {
  eg_layout_factors *f = b->f;
  const eg_layout_rows *strategies = &f->view->strategies;
  EG_TRY(eg_u32s_resize(&f->use, problem_of(f)->inputs.len));
  for (size_t i = 0; i < f->use.len; i++)
    f->use.data[i] = NONE;
  for (uint32_t v = 0; v < eg_layout_value_count(problem_of(f)); v++) {
    size_t first = f->links.len;
    if (!f->active->used.data[v]) continue;
    for (uint32_t i = strategies->begin.data[v], last = NONE;
         i < strategies->begin.data[v + 1]; i++) {
      uint32_t op = f->view->op_of.data[strategies->items.data[i]];
      if (op == last || !is_left(f, op)) continue;
      last = op;
      EG_TRY(add_operator_uses(b, op, first));
    }
  }
  return EGRAPH_OK;
}

static egraph_status add_roots(builder *b) {
  eg_layout_factors *f = b->f;
  const eg_layout_problem *p = problem_of(f);
  for (uint32_t r = 0; r < p->root_value.len; r++) {
    uint32_t value = p->root_value.data[r], link;
    EG_TRY(add_user(b, EG_LINK_ROOT, value, NONE, &link));
    uint8_t *dead = f->dead.data + f->links.data[link].price;
    uint32_t first = p->place_begin.data[value],
             layouts = eg_layout_layout_count(p, value);
    uint32_t begin = p->root_begin.data[r], end = p->root_begin.data[r + 1];
    dead[layouts] = 1;
    for (uint32_t l = 0; begin != end && l < layouts; l++)
      dead[l] = 1;
    for (uint32_t i = begin; i < end; i++)
      dead[p->root_places.data[i] - first] = 0;
  }
  return EGRAPH_OK;
}

static egraph_status add_ties(builder *b) {
  const eg_layout_problem *p = problem_of(b->f);
  for (uint32_t t = 0; t < eg_layout_tie_count(p); t++) {
    for (uint32_t i = p->tie_begin.data[t]; i < p->tie_begin.data[t + 1]; i++) {
      uint32_t value = p->tie_members.data[i], link;
      if (!b->f->active->used.data[value] || b->last_tie.data[value] == t + 1) continue;
      b->last_tie.data[value] = t + 1; // named twice it is a member once
      EG_TRY(add_link(
          b, (eg_link){.kind = EG_LINK_TIE, .value = value, .producers = value, .far = t},
          &link));
    }
  }
  return EGRAPH_OK;
}

static egraph_status add_seams(builder *b) {
  const eg_layout_seam_list *seams = b->f->view->seams;
  for (uint32_t i = 0; seams != NULL && i < seams->len; i++) {
    const eg_layout_seam *s = &seams->data[i];
    const uint32_t values[] = {s->before, s->first, s->last, s->after};
    for (uint32_t k = 0, link; k < 4; k++)
      EG_TRY(add_link(
          b,
          (eg_link){
              .kind = EG_LINK_SEAM, .value = values[k], .producers = values[k], .far = i},
          &link));
    for (uint32_t k = 1; k <= 4; k++) { // each is made
      const eg_link *link = &b->f->links.data[b->f->links.len - k];
      b->f->dead.data[link->price + eg_link_labels(b->f, link) - 1] = 1;
    }
  }
  return EGRAPH_OK;
}

/// A link per value that the cut has operators of.
static egraph_status add_cut(builder *b, uint32_t cut) {
  const eg_layout_landmarks *landmarks = b->f->landmarks;
  const eg_u32s *value_of = &problem_of(b->f)->operator_value;
  uint32_t begin = landmarks->cut_begin.data[cut], link;
  for (uint32_t i = begin; i < landmarks->cut_begin.data[cut + 1]; i++) {
    uint32_t value = value_of->data[landmarks->cut_ops.data[i]];
    bool is_new = true;
    for (uint32_t k = begin; k < i; k++)
      is_new = is_new && value_of->data[landmarks->cut_ops.data[k]] != value;
    if (is_new)
      EG_TRY(add_link(
          b,
          (eg_link){.kind = EG_LINK_CUT, .value = value, .producers = value, .far = cut},
          &link));
  }
  return EGRAPH_OK;
}

static egraph_status add_cuts(builder *b) {
  for (uint32_t c = 0; c < eg_layout_cut_count(b->f->landmarks); c++)
    EG_TRY(add_cut(b, c));
  return EGRAPH_OK;
}

/// Rows from pairs, in the order of the pairs.
static egraph_status to_rows(const link_pairs *pairs, uint32_t count,
                             eg_layout_rows *out) {
  EG_TRY(eg_u32s_resize(&out->begin, (size_t)count + 1));
  EG_TRY(eg_u32s_resize(&out->items, pairs->len));
  for (size_t i = 0; i < pairs->len; i++)
    out->begin.data[pairs->data[i].key + 1]++;
  for (uint32_t i = 0; i < count; i++)
    out->begin.data[i + 1] += out->begin.data[i];
  for (size_t i = 0; i < pairs->len; i++)
    out->items.data[out->begin.data[pairs->data[i].key]++] = pairs->data[i].link;
  for (uint32_t i = count; i > 0; i--)
    out->begin.data[i] = out->begin.data[i - 1];
  out->begin.data[0] = 0;
  return EGRAPH_OK;
}

static egraph_status index_trees(builder *b) {
  eg_layout_factors *f = b->f;
  link_pairs pairs;
  link_pairs_init(&pairs, f->price.alloc);
  egraph_status status = EGRAPH_OK;
  for (uint32_t t = 0; status == EGRAPH_OK && t < f->trees.len; t++)
    status = link_pairs_push(&pairs, (link_pair){f->trees.data[t].value, t});
  if (status == EGRAPH_OK)
    status = to_rows(&pairs, eg_layout_value_count(problem_of(f)), &f->trees_of);
  link_pairs_deinit(&pairs);
  for (uint32_t t = 0; status == EGRAPH_OK && t < f->trees.len; t++) {
    uint32_t value = f->trees.data[t].value;
    f->trees.data[t].share =
        f->trees_of.begin.data[value + 1] - f->trees_of.begin.data[value];
  }
  return status;
}

static egraph_status build(builder *b) {
  eg_layout_factors *f = b->f;
  uint32_t values = eg_layout_value_count(problem_of(f));
  EG_TRY(eg_u32s_resize(&b->last_tree, values));
  EG_TRY(eg_u32s_resize(&b->last_tie, values));
  for (uint32_t v = 0; v < values; v++)
    if (f->active->used.data[v]) EG_TRY(add_tree(b, v));
  EG_TRY(add_uses(b));
  EG_TRY(add_roots(b));
  EG_TRY(add_ties(b));
  EG_TRY(add_seams(b));
  EG_TRY(add_cuts(b));
  EG_TRY(index_trees(b));
  uint32_t seams = f->view->seams != NULL ? (uint32_t)f->view->seams->len : 0;
  EG_TRY(to_rows(&b->of_seam, seams, &f->links_of_seam));
  EG_TRY(eg_doubles_resize(&f->front, seams != 0 ? f->price.len : 0));
  EG_TRY(eg_doubles_resize(&f->back, seams != 0 ? f->price.len : 0));
  EG_TRY(to_rows(&b->of_cut, eg_layout_cut_count(f->landmarks), &f->links_of_cut));
  EG_TRY(to_rows(&b->of_value, values, &f->links_of));
  return to_rows(&b->of_tie, eg_layout_tie_count(problem_of(f)), &f->links_of_tie);
}

#define EACH_U32S(X)                                                                     \
  X(links_of.begin)                                                                      \
  X(links_of.items)                                                                      \
  X(trees_of.begin)                                                                      \
  X(trees_of.items)                                                                      \
  X(links_of_tie.begin)                                                                  \
  X(links_of_seam.begin)                                                                 \
  X(links_of_seam.items)                                                                 \
  X(links_of_tie.items)                                                                  \
  X(links_of_cut.begin)                                                                  \
  X(links_of_cut.items) X(use) X(arc_from) X(arc_to) X(arc_number)
#define EACH_DOUBLES(X)                                                                  \
  X(strategy_cost) X(arc_cost) X(price) X(least) X(front) X(back) X(arc_weight) X(source)

egraph_status eg_layout_factors_init(eg_layout_factors *f, egraph_allocator alloc,
                                     const eg_layout_view *view,
                                     const eg_layout_active *active,
                                     const eg_layout_landmarks *landmarks) {
  *f = (eg_layout_factors){.view = view, .active = active, .landmarks = landmarks};
#define INIT_U32S(field) eg_u32s_init(&f->field, alloc);
#define INIT_DOUBLES(field) eg_doubles_init(&f->field, alloc);
  EACH_U32S(INIT_U32S)
  EACH_DOUBLES(INIT_DOUBLES)
  for (int u = 0; u < EG_STEINER_USERS; u++)
    eg_doubles_init(&f->users[u], alloc);
  eg_links_init(&f->links, alloc);
  eg_tree_factors_init(&f->trees, alloc);
  eg_bytes_init(&f->dead, alloc);
  eg_steiner_init(&f->steiner, alloc);
  builder b = {.f = f};
  link_pairs_init(&b.of_value, alloc);
  link_pairs_init(&b.of_tie, alloc);
  link_pairs_init(&b.of_seam, alloc);
  link_pairs_init(&b.of_cut, alloc);
  eg_u32s_init(&b.last_tree, alloc);
  eg_u32s_init(&b.last_tie, alloc);
  egraph_status status = build(&b);
  link_pairs_deinit(&b.of_value);
  link_pairs_deinit(&b.of_tie);
  link_pairs_deinit(&b.of_seam);
  link_pairs_deinit(&b.of_cut);
  eg_u32s_deinit(&b.last_tree);
  eg_u32s_deinit(&b.last_tie);
  if (status != EGRAPH_OK) eg_layout_factors_deinit(f);
  return status;
}

void eg_layout_factors_deinit(eg_layout_factors *f) {
#define DEINIT_U32S(field) eg_u32s_deinit(&f->field);
#define DEINIT_DOUBLES(field) eg_doubles_deinit(&f->field);
  EACH_U32S(DEINIT_U32S)
  EACH_DOUBLES(DEINIT_DOUBLES)
  for (int u = 0; u < EG_STEINER_USERS; u++)
    eg_doubles_deinit(&f->users[u]);
  eg_links_deinit(&f->links);
  eg_tree_factors_deinit(&f->trees);
  eg_bytes_deinit(&f->dead);
  eg_steiner_deinit(&f->steiner);
}
