// SPDX-License-Identifier: Apache-2.0
#include "extract/search/subproblems.h"

#include <math.h>
#include <stdlib.h>

#include "base/owner.h"
#include "base/parallel.h"
#include "extract/dual_ascent.h"

enum { ASCENT_CUTS = 20000, ASCENT_WORK = 50000000 };

static uint32_t find(uint32_t *parent, uint32_t class) {
  while (parent[class] != class) {
    parent[class] = parent[parent[class]];
    class = parent[class];
  }
  return class;
}

// piece_of becomes the number of the piece of each class.
static egraph_status label(const eg_extract_problem *model, eg_u32s *piece_of,
                           uint32_t *out_count) {
  EG_TRY(eg_u32s_resize(piece_of, model->class_count));
  uint32_t *parent = piece_of->data;
  for (uint32_t class = 0; class < model->class_count; class ++)
    parent[class] = class;
  for (uint32_t n = 0; n < eg_extract_node_count(model); n++)
    EG_EACH_CHILD(model, n, child) {
      uint32_t a = find(parent, model->node_class.data[n]);
      uint32_t b = find(parent, child);
      if (a < b) parent[b] = a;
      if (b < a) parent[a] = b;
    }
  for (uint32_t class = 0; class < model->class_count; class ++)
    parent[class] = find(parent, class);
  // Representatives are the smallest of their piece, so they are numbered first.
  uint32_t count = 0;
  for (uint32_t class = 0; class < model->class_count; class ++)
    parent[class] = parent[class] == class ? count++ : parent[parent[class]];
  *out_count = count;
  return EGRAPH_OK;
}

#define PIECE_MEMBERS (eg_class_index, index), (eg_u32s, class_of, node_of)

static egraph_status start(eg_pieces *pieces, uint32_t count) {
  EG_TRY(eg_pieces_reserve(pieces, count));
  for (uint32_t i = 0; i < count; i++) {
    eg_piece piece = {.solved = false};
    EG_INIT_MEMBERS(&piece, pieces->alloc, PIECE_MEMBERS);
    EG_TRY(eg_extract_problem_init(&piece.problem, pieces->alloc));
    egraph_status status = eg_cuts_init(&piece.cuts, pieces->alloc);
    if (status != EGRAPH_OK) {
      eg_extract_problem_deinit(&piece.problem);
      return status;
    }
    pieces->data[pieces->len++] = piece;
  }
  return EGRAPH_OK;
}

typedef struct filling {
  const eg_extract_problem *model;
  eg_pieces *pieces;
  eg_u32s piece_of, number; // [model class]: piece, class in the piece
  eg_u32s node_number;      // [model node]
  eg_u32s row;
} filling;
EG_OWNER_DEFINE_STATIC(filling, (eg_u32s, piece_of, number, node_number, row))

static eg_piece *piece_of(const filling *f, uint32_t class) {
  return &f->pieces->data[f->piece_of.data[class]];
}

static egraph_status fill_node(filling *f, uint32_t node) {
  const eg_extract_problem *model = f->model;
  uint32_t class = model->node_class.data[node];
  eg_piece *piece = piece_of(f, class);
  f->row.len = 0;
  EG_EACH_CHILD(model, node, child) {
    EG_TRY(eg_u32s_push(&f->row, f->number.data[child]));
  }
  EG_TRY(eg_u32s_push(&f->node_number, (uint32_t)piece->node_of.len));
  EG_TRY(eg_u32s_push(&piece->node_of, node));
  return eg_extract_problem_add_node(&piece->problem, f->number.data[class],
                                     model->cost.data[node], f->row.data,
                                     (uint32_t)f->row.len, NULL);
}

static egraph_status fill_cuts(filling *f, const eg_cuts *cuts) {
  const uint32_t *class_of = f->model->node_class.data;
  for (uint32_t r = 0; r < eg_cuts_count(cuts); r++) {
    uint32_t first = cuts->begin.data[r], last = cuts->begin.data[r + 1];
    if (first == last) continue;
    eg_piece *piece = piece_of(f, class_of[cuts->nodes.data[first]]);
    bool within = true;
    for (uint32_t i = first; i < last && within; i++)
      within = piece_of(f, class_of[cuts->nodes.data[i]]) == piece;
    for (uint32_t i = first; i < last && within; i++)
      EG_TRY(eg_u32s_push(&piece->cuts.nodes, f->node_number.data[cuts->nodes.data[i]]));
    if (within) EG_TRY(eg_u32s_push(&piece->cuts.begin, (uint32_t)piece->cuts.nodes.len));
  }
  return EGRAPH_OK;
}

static egraph_status fill_pieces(filling *f, const eg_cuts *cuts) {
  const eg_extract_problem *model = f->model;
  uint32_t count;
  EG_TRY(label(model, &f->piece_of, &count));
  EG_TRY(start(f->pieces, count));
  EG_TRY(eg_u32s_resize(&f->number, model->class_count));
  for (uint32_t class = 0; class < model->class_count; class ++) {
    eg_piece *piece = piece_of(f, class);
    EG_TRY(eg_extract_problem_add_class(&piece->problem, &f->number.data[class]));
    EG_TRY(eg_u32s_push(&piece->class_of, class));
  }
  for (uint32_t n = 0; n < eg_extract_node_count(model); n++)
    EG_TRY(fill_node(f, n));
  for (size_t i = 0; i < model->roots.len; i++) {
    uint32_t root = model->roots.data[i];
    EG_TRY(
        eg_extract_problem_add_root(&piece_of(f, root)->problem, f->number.data[root]));
  }
  return cuts == NULL ? EGRAPH_OK : fill_cuts(f, cuts);
}

static int compare(const void *a, const void *b) {
  const eg_piece *p = a, *q = b;
  size_t x = p->node_of.len, y = q->node_of.len;
  if (x != y) return x < y ? -1 : 1;
  return p->class_of.data[0] < q->class_of.data[0] ? -1 : 1;
}

// Incumbents point to the problem beside them, so they come once the pieces lie still.
static egraph_status add_incumbents(eg_pieces *pieces, eg_incumbent *whole) {
  for (size_t i = 0; i < pieces->len; i++) {
    eg_piece *piece = &pieces->data[i];
    EG_TRY(eg_class_index_build(&piece->index, &piece->problem));
    EG_TRY(eg_incumbent_init(&piece->incumbent, pieces->alloc, &piece->problem,
                             whole->options));
    piece->has_incumbent = true;
    piece->incumbent.bound = 0;
    piece->incumbent.cuts = &piece->cuts;
    piece->incumbent.outer = whole;
    piece->incumbent.rest_cost = INFINITY;
    piece->incumbent.clock = whole->clock;
    piece->incumbent.tree_limit = whole->tree_limit;
  }
  return EGRAPH_OK;
}

egraph_status eg_pieces_split(eg_pieces *pieces, const eg_extract_problem *model,
                              const eg_cuts *cuts, eg_incumbent *whole) {
  filling f;
  filling_init(&f, pieces->alloc);
  f.model = model;
  f.pieces = pieces;
  egraph_status status = fill_pieces(&f, cuts);
  filling_deinit(&f);
  if (status != EGRAPH_OK) return status;
  if (pieces->len > 1) qsort(pieces->data, pieces->len, sizeof(eg_piece), compare);
  return add_incumbents(pieces, whole);
}

void eg_pieces_destroy(eg_pieces *pieces) {
  for (size_t i = 0; i < pieces->len; i++) {
    eg_piece *piece = &pieces->data[i];
    if (piece->has_incumbent) eg_incumbent_deinit(&piece->incumbent);
    eg_cuts_deinit(&piece->cuts);
    eg_extract_problem_deinit(&piece->problem);
    EG_DEINIT_MEMBERS(piece, PIECE_MEMBERS);
  }
  eg_pieces_deinit(pieces);
}

double eg_pieces_bound(const eg_pieces *pieces, const eg_piece *without) {
  double sum = 0;
  for (size_t i = 0; i < pieces->len; i++)
    if (&pieces->data[i] != without) sum += pieces->data[i].incumbent.bound;
  return sum;
}

egraph_status eg_piece_seed(eg_piece *piece, const eg_extract_problem *model,
                            const uint32_t *choice) {
  eg_u32s share;
  eg_u32s_init(&share, piece->node_of.alloc);
  double cost;
  egraph_status status = eg_u32s_resize(&share, piece->problem.class_count);
  for (size_t class = 0; status == EGRAPH_OK && class < share.len; class ++)
    share.data[class] = EG_EXTRACT_NONE;
  for (uint32_t n = 0; status == EGRAPH_OK && n < piece->node_of.len; n++) {
    uint32_t node = piece->node_of.data[n];
    if (choice[model->node_class.data[node]] == node)
      share.data[piece->problem.node_class.data[n]] = n;
  }
  if (status == EGRAPH_OK)
    status = eg_incumbent_offer(&piece->incumbent, share.data, &cost);
  eg_u32s_deinit(&share);
  return status;
}

void eg_piece_adopt(const eg_piece *piece, uint32_t *choice) {
  if (!isfinite(piece->incumbent.cost)) return;
  for (uint32_t class = 0; class < piece->class_of.len; class ++) {
    uint32_t node = piece->incumbent.choice.data[class];
    choice[piece->class_of.data[class]] =
        node == EG_EXTRACT_NONE ? node : piece->node_of.data[node];
  }
}

egraph_status eg_piece_bound(eg_piece *piece) {
  const eg_extract_problem *problem = &piece->problem;
  eg_incumbent *incumbent = &piece->incumbent;
  eg_ascent_limits limits = {
      .max_cuts = ASCENT_CUTS, .max_work = ASCENT_WORK, .incumbent = incumbent};
  eg_doubles price;
  eg_doubles_init(&price, piece->node_of.alloc);
  double bound = 0;
  egraph_extract_part before = eg_part_enter(incumbent->clock, EGRAPH_PART_ASCENT);
  egraph_status status = eg_doubles_append(&price, problem->cost.data, problem->cost.len);
  if (status == EGRAPH_OK)
    status = eg_dual_ascent_run(problem, &piece->index, &problem->roots, limits,
                                price.data, &bound, NULL);
  if (status == EGRAPH_OK) eg_incumbent_raise(incumbent, bound);
  eg_doubles_deinit(&price);
  eg_part_back(incumbent->clock, before);
  return status;
}

// ---- side by side -----------------------------------------------------------------

// A hopeless piece proves that the solution at the start of its wave is optimal. So what
// the others of the wave find is of no interest, and those after it need not run.

enum { WAVE_PIECES = 16 };

typedef struct wave {
  eg_waves *waves;
  eg_wave_step step;
  eg_piece *pieces[WAVE_PIECES];
  size_t count;
  atomic_bool hopeless;
} wave;

// The next pieces that are not solved; *inout_at is where to go on.
static void gather(wave *w, size_t *inout_at) {
  eg_pieces *all = w->waves->pieces;
  w->count = 0;
  for (; *inout_at < all->len && w->count < WAVE_PIECES; (*inout_at)++)
    if (!all->data[*inout_at].solved) w->pieces[w->count++] = &all->data[*inout_at];
}

static void brief(const wave *w, eg_piece *piece, double bounds, double costs) {
  const eg_waves *waves = w->waves;
  eg_incumbent *incumbent = &piece->incumbent;
  double rest = waves->offset + bounds - incumbent->bound;
  piece->outer_cutoff = eg_incumbent_cutoff(waves->whole) - rest;
  piece->hopeless = false;
  incumbent->apart = true;
  incumbent->work = (eg_work){.limit = eg_incumbent_work_left(waves->whole)};
  piece->clock = (eg_part_clock){.since = 0};
  incumbent->clock = waves->whole->clock != NULL ? &piece->clock : NULL;
  incumbent->outer_rest = w->count == 1 ? rest : -INFINITY;
  incumbent->rest_bound = rest;
  incumbent->rest_cost = waves->offset + costs - incumbent->cost;
  if (!isfinite(incumbent->rest_cost)) incumbent->rest_cost = INFINITY;
  incumbent->on_better = w->count == 1 ? waves->adopt : NULL;
  incumbent->on_better_user = waves->user;
  atomic_store(&incumbent->stopped, false);
}

static egraph_status run_piece(void *user, size_t index, uint32_t worker) {
  (void)worker;
  wave *w = user;
  eg_piece *piece = w->pieces[index];
  eg_part_clock *clock = piece->incumbent.clock;
  if (atomic_load(&w->hopeless) || eg_incumbent_stop(&piece->incumbent)) return EGRAPH_OK;
  if (clock != NULL) eg_part_clock_start(clock, EGRAPH_PART_SEARCH);
  egraph_status status = w->step(w->waves->user, piece);
  if (clock != NULL) (void)eg_part_clock_stop(clock);
  if (piece->hopeless) atomic_store(&w->hopeless, true);
  return status;
}

static egraph_status run_wave(wave *w) {
  eg_incumbent *whole = w->waves->whole;
  double bounds = eg_pieces_bound(w->waves->pieces, NULL), costs = 0;
  for (size_t i = 0; i < w->waves->pieces->len; i++)
    costs += w->waves->pieces->data[i].incumbent.cost;
  for (size_t i = 0; i < w->count; i++)
    brief(w, w->pieces[i], bounds, costs);
  eg_part_clock *clock = whole->clock;
  if (clock != NULL) (void)eg_part_clock_stop(clock); // pieces count for themselves
  egraph_status status =
      eg_parallel_for(w->waves->alloc, whole->options->threads, w->count, run_piece, w);
  if (clock != NULL) eg_part_clock_start(clock, clock->part);
  for (size_t i = 0; i < w->count; i++) {
    eg_part_clock_merge(clock, &w->pieces[i]->clock);
    eg_incumbent_count(whole, w->pieces[i]->incumbent.work.done);
  }
  return status;
}

egraph_status eg_waves_run(eg_waves *waves, eg_wave_step step) {
  eg_incumbent *whole = waves->whole;
  wave w = {.waves = waves, .step = step};
  atomic_init(&w.hopeless, false);
  for (size_t at = 0; !waves->hopeless && !eg_incumbent_stop(whole);) {
    gather(&w, &at);
    if (w.count == 0) break;
    EG_TRY(run_wave(&w));
    waves->hopeless = atomic_load(&w.hopeless);
    if (waves->hopeless) break;
    EG_TRY(waves->adopt(waves->user));
    eg_incumbent_raise(whole, waves->offset + eg_pieces_bound(waves->pieces, NULL));
  }
  return EGRAPH_OK;
}
