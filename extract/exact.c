// Presolve of the whole problem, then each connected piece of what is left for itself.
//
// A piece is a problem of its own, with its own incumbent, solved against the cutoff that
// the bounds of the other pieces leave it. Small pieces come first: their optima sharpen
// that cutoff. Either all pieces are solved, and their optima add up to the optimum; or
// one has nothing below its cutoff, and the solution at hand is optimal.
// SPDX-License-Identifier: Apache-2.0
#include "extract/exact.h"

#include <math.h>
#include <stdlib.h>

#include "extract/branch.h"
#include "extract/components.h"
#include "extract/dual_ascent.h"
#include "extract/lns.h"
#include "extract/perturb.h"
#include "extract/presolve.h"
#include "extract/search.h"

enum {
  LNS_WINDOW = 60,
  WINDOW_NODES = 900,
  LNS_FAILURES = 40,
  LNS_LEAST_NODES = 400,
  LNS_ROOT_FIRST = 2500,
  PIECE_PERTURB_ROUNDS = 8,
  ASCENT_CUTS = 20000,
  DAG_MEMORY_BYTES = 64 << 20
};

typedef struct piece {
  eg_extract_problem problem;
  eg_u32s class_of, node_of; // in the model
  double bound;
} piece;
EG_VEC_DEFINE(pieces, piece);

typedef struct exact {
  eg_search search; // of the whole problem
  eg_presolve presolve;
  pieces pieces;
  eg_u32s piece_of; // [model class]
  eg_u32s choice;   // [model class], best known
} exact;

static uint32_t find(uint32_t *parent, uint32_t class) {
  while (parent[class] != class) {
    parent[class] = parent[parent[class]];
    class = parent[class];
  }
  return class;
}

// piece_of becomes the number of the piece; returns how many there are.
static egraph_status label_pieces(exact *e, uint32_t *out_count) {
  const eg_extract_problem *problem = &e->presolve.model.problem;
  EG_TRY(eg_u32s_resize(&e->piece_of, problem->class_count));
  uint32_t *parent = e->piece_of.data;
  for (uint32_t class = 0; class < problem->class_count; class ++)
    parent[class] = class;
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++)
    for (uint32_t i = problem->child_begin.data[n]; i < problem->child_begin.data[n + 1];
         i++) {
      uint32_t a = find(parent, problem->node_class.data[n]);
      uint32_t b = find(parent, problem->children.data[i]);
      if (a < b) parent[b] = a;
      if (b < a) parent[a] = b;
    }
  // Representatives are the smallest of their piece, so they come first.
  uint32_t count = 0;
  for (uint32_t class = 0; class < problem->class_count; class ++)
    parent[class] = find(parent, class);
  for (uint32_t class = 0; class < problem->class_count; class ++)
    parent[class] = parent[class] == class ? count++ : parent[parent[class]];
  *out_count = count;
  return EGRAPH_OK;
}

static egraph_status start_pieces(exact *e, uint32_t count) {
  egraph_allocator alloc = e->search.alloc;
  EG_TRY(pieces_reserve(&e->pieces, count));
  for (uint32_t i = 0; i < count; i++) {
    piece p = {.bound = 0};
    eg_u32s_init(&p.class_of, alloc);
    eg_u32s_init(&p.node_of, alloc);
    EG_TRY(eg_extract_problem_init(&p.problem, alloc));
    EG_TRY(pieces_push(&e->pieces, p));
  }
  return EGRAPH_OK;
}

static egraph_status fill_pieces(exact *e, eg_u32s *number, eg_u32s *row) {
  const eg_extract_problem *problem = &e->presolve.model.problem;
  EG_TRY(eg_u32s_resize(number, problem->class_count));
  for (uint32_t class = 0; class < problem->class_count; class ++) {
    piece *p = &e->pieces.data[e->piece_of.data[class]];
    EG_TRY(eg_extract_problem_add_class(&p->problem, &number->data[class]));
    EG_TRY(eg_u32s_push(&p->class_of, class));
  }
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++) {
    uint32_t class = problem->node_class.data[n];
    piece *p = &e->pieces.data[e->piece_of.data[class]];
    row->len = 0;
    for (uint32_t i = problem->child_begin.data[n]; i < problem->child_begin.data[n + 1];
         i++)
      EG_TRY(eg_u32s_push(row, number->data[problem->children.data[i]]));
    EG_TRY(eg_extract_problem_add_node(&p->problem, number->data[class],
                                       problem->cost.data[n], row->data,
                                       (uint32_t)row->len, NULL));
    EG_TRY(eg_u32s_push(&p->node_of, n));
  }
  for (size_t i = 0; i < problem->roots.len; i++) {
    uint32_t root = problem->roots.data[i];
    piece *p = &e->pieces.data[e->piece_of.data[root]];
    EG_TRY(eg_extract_problem_add_root(&p->problem, number->data[root]));
  }
  return EGRAPH_OK;
}

static int smaller(const void *a, const void *b) {
  const piece *p = a, *q = b;
  size_t x = p->node_of.len, y = q->node_of.len;
  if (x != y) return x < y ? -1 : 1;
  return p->class_of.data[0] < q->class_of.data[0] ? -1 : 1;
}

static egraph_status split(exact *e) {
  uint32_t count;
  EG_TRY(label_pieces(e, &count));
  EG_TRY(start_pieces(e, count));
  eg_u32s number, row;
  eg_u32s_init(&number, e->search.alloc);
  eg_u32s_init(&row, e->search.alloc);
  egraph_status status = fill_pieces(e, &number, &row);
  eg_u32s_deinit(&row);
  eg_u32s_deinit(&number);
  if (status == EGRAPH_OK && count > 1)
    qsort(e->pieces.data, count, sizeof(piece), smaller);
  return status;
}

// A first bound of the piece, without a linear program.
static egraph_status bound_piece(exact *e, piece *p) {
  egraph_allocator alloc = e->search.alloc;
  eg_class_index index;
  eg_doubles price;
  eg_class_index_init(&index, alloc);
  eg_doubles_init(&price, alloc);
  egraph_status status;
  EG_TRY_GOTO(status, eg_class_index_build(&index, &p->problem), done);
  EG_TRY_GOTO(status,
              eg_doubles_append(&price, p->problem.cost.data, p->problem.cost.len), done);
  EG_TRY_GOTO(status,
              eg_dual_ascent_run(&p->problem, &index, &p->problem.roots, ASCENT_CUTS,
                                 price.data, &p->bound, NULL),
              done);
done:
  eg_doubles_deinit(&price);
  eg_class_index_deinit(&index);
  return status;
}

// Offset and bounds of all pieces but one.
static double rest_of(const exact *e, const piece *without) {
  double sum = e->presolve.model.offset;
  for (size_t i = 0; i < e->pieces.len; i++)
    if (&e->pieces.data[i] != without) sum += e->pieces.data[i].bound;
  return sum;
}

static egraph_status seed_piece(exact *e, const piece *p, eg_incumbent *incumbent) {
  for (size_t i = 0; i < p->class_of.len; i++)
    incumbent->trial.data[i] = EG_EXTRACT_NONE;
  for (uint32_t n = 0; n < p->node_of.len; n++)
    if (e->choice.data[e->presolve.model.problem.node_class.data[p->node_of.data[n]]] ==
        p->node_of.data[n])
      incumbent->trial.data[p->problem.node_class.data[n]] = n;
  eg_u32s copy;
  eg_u32s_init(&copy, e->search.alloc);
  double cost;
  egraph_status status =
      eg_u32s_append(&copy, incumbent->trial.data, incumbent->trial.len);
  if (status == EGRAPH_OK) status = eg_incumbent_offer(incumbent, copy.data, &cost);
  eg_u32s_deinit(&copy);
  return status;
}

static egraph_status solve_window(egraph_allocator alloc, eg_incumbent *window,
                                  uint32_t *out_nodes) {
  eg_extract_result result = {.reduced_nodes = 0};
  egraph_status status = eg_exact_run(alloc, window, &result);
  *out_nodes = result.reduced_nodes;
  return status;
}

static egraph_status perturb_piece(exact *e, const piece *p, eg_incumbent *incumbent) {
  eg_class_index index;
  eg_class_index_init(&index, e->search.alloc);
  eg_greedy greedy = {e->search.alloc, &p->problem, &index, DAG_MEMORY_BYTES};
  egraph_status status = eg_class_index_build(&index, &p->problem);
  if (status == EGRAPH_OK)
    status = eg_perturb_run(&greedy, incumbent, PIECE_PERTURB_ROUNDS,
                            incumbent->options->seed);
  eg_class_index_deinit(&index);
  return status;
}

static egraph_status slide_windows(exact *e, const piece *p, eg_incumbent *incumbent) {
  eg_class_index index;
  eg_class_index_init(&index, e->search.alloc);
  eg_lns_options options = {.seed = incumbent->options->seed,
                            .window_classes = LNS_WINDOW,
                            .max_failures =
                                LNS_FAILURES + p->problem.class_count / LNS_WINDOW,
                            .solve = solve_window};
  egraph_status status = eg_class_index_build(&index, &p->problem);
  if (status == EGRAPH_OK)
    status = eg_lns_run(e->search.alloc, incumbent, &index, &options);
  eg_class_index_deinit(&index);
  return status;
}

// A better choice in a piece is a better choice of the whole.
typedef struct adoption {
  exact *exact;
  const piece *piece;
  const eg_incumbent *incumbent;
} adoption;

static egraph_status adopt(void *user) {
  const adoption *a = user;
  exact *e = a->exact;
  for (uint32_t class = 0; class < a->piece->class_of.len; class ++) {
    uint32_t node = a->incumbent->choice.data[class];
    e->choice.data[a->piece->class_of.data[class]] =
        node == EG_EXTRACT_NONE ? EG_EXTRACT_NONE : a->piece->node_of.data[node];
  }
  return eg_search_offer(&e->search, &e->presolve.model, e->choice.data);
}

static egraph_status branch(exact *e, eg_incumbent *incumbent, double outer,
                            bool *out_solved) {
  eg_search search;
  egraph_status status = eg_search_init(&search, e->search.alloc, incumbent, outer);
  if (status == EGRAPH_OK) status = eg_branch_run(&search, out_solved);
  eg_search_deinit(&search);
  return status;
}

// Windows when the piece is large, or when a first look at the root of the tree was not
// enough. They are themselves solved by eg_exact_run; their tree limit keeps that from
// going deeper.
static egraph_status run_phases(exact *e, const piece *p, eg_incumbent *incumbent,
                                double outer, bool *out_solved) {
  if (incumbent->tree_limit != 0) return branch(e, incumbent, outer, out_solved);
  if (p->node_of.len <= LNS_ROOT_FIRST) {
    incumbent->tree_limit = 1;
    EG_TRY(branch(e, incumbent, outer, out_solved));
    incumbent->tree_limit = 0;
    if (*out_solved) return EGRAPH_OK;
  }
  if (p->node_of.len > LNS_LEAST_NODES) EG_TRY(slide_windows(e, p, incumbent));
  return branch(e, incumbent, outer, out_solved);
}

// *out_hopeless: solved, and nothing below the cutoff was in it.
static egraph_status search_piece(exact *e, piece *p, eg_incumbent *incumbent,
                                  bool *out_solved, bool *out_hopeless) {
  double outer = eg_incumbent_cutoff(e->search.incumbent) - rest_of(e, p);
  EG_TRY(seed_piece(e, p, incumbent));
  adoption link = {e, p, incumbent};
  incumbent->on_better = adopt;
  incumbent->on_better_user = &link;
  EG_TRY(perturb_piece(e, p, incumbent));
  EG_TRY(run_phases(e, p, incumbent, outer, out_solved));
  *out_hopeless = *out_solved && !(incumbent->cost < outer);
  if (*out_solved && !*out_hopeless) eg_incumbent_raise(incumbent, incumbent->cost);
  if (incumbent->bound > p->bound) p->bound = incumbent->bound;
  return EGRAPH_OK;
}

static egraph_status solve_piece(exact *e, piece *p, bool *out_solved,
                                 bool *out_hopeless) {
  eg_incumbent incumbent;
  EG_TRY(eg_incumbent_init(&incumbent, e->search.alloc, &p->problem,
                           e->search.incumbent->options));
  incumbent.bound = p->bound;
  incumbent.outer = e->search.incumbent;
  incumbent.outer_rest = rest_of(e, p);
  incumbent.tree_limit = e->search.incumbent->tree_limit;
  egraph_status status = search_piece(e, p, &incumbent, out_solved, out_hopeless);
  eg_incumbent_deinit(&incumbent);
  return status;
}

static egraph_status solve_pieces(exact *e) {
  eg_incumbent *whole = e->search.incumbent;
  if (e->pieces.len == 1)
    e->pieces.data[0].bound = e->presolve.bound - e->presolve.model.offset;
  for (size_t i = 0; i < e->pieces.len && e->pieces.len > 1; i++)
    EG_TRY(bound_piece(e, &e->pieces.data[i]));
  bool all = true;
  for (size_t i = 0; i < e->pieces.len; i++) {
    eg_incumbent_raise(whole, rest_of(e, NULL));
    if (eg_incumbent_stop(whole)) return EGRAPH_OK;
    bool solved = false, hopeless = false;
    EG_TRY(solve_piece(e, &e->pieces.data[i], &solved, &hopeless));
    if (hopeless) {
      eg_incumbent_raise(whole, whole->cost);
      return EGRAPH_OK;
    }
    all = all && solved;
  }
  eg_incumbent_raise(whole, all ? whole->cost : rest_of(e, NULL));
  return EGRAPH_OK;
}

static egraph_status presolve_whole(exact *e, eg_extract_result *result) {
  eg_presolve *presolve = &e->presolve;
  eg_incumbent *whole = e->search.incumbent;
  EG_TRY(eg_reduced_from(&presolve->spare, whole->problem));
  EG_TRY(eg_presolve_load(presolve, &presolve->spare));
  presolve->disabled = whole->options->disabled_passes;
  presolve->cutoff = eg_incumbent_cutoff(whole);
  presolve->deadline = eg_incumbent_deadline(whole);
  for (int round = 0; round < 3 && !presolve->closed; round++) {
    EG_TRY(eg_presolve_run(presolve));
    if (presolve->closed) break;
    eg_incumbent_raise(whole, presolve->bound);
    EG_TRY(eg_search_ascend(&e->search, presolve, 4));
    EG_TRY(eg_search_greedy(&e->search, presolve, presolve->model.problem.cost.data));
    double cutoff = eg_incumbent_cutoff(whole);
    if (!(cutoff < presolve->cutoff)) break;
    presolve->cutoff = cutoff;
  }
  result->reduced_nodes =
      presolve->closed ? 0 : eg_extract_node_count(&presolve->model.problem);
  result->reduced_classes = presolve->closed ? 0 : presolve->model.problem.class_count;
  return EGRAPH_OK;
}

static egraph_status run(exact *e, eg_extract_result *result) {
  EG_TRY(presolve_whole(e, result));
  if (e->search.incumbent->tree_limit != 0 && result->reduced_nodes > WINDOW_NODES)
    return EGRAPH_OK; // a window that presolve leaves large is not worth a program
  if (e->presolve.closed) {
    eg_incumbent_raise(e->search.incumbent, e->search.incumbent->cost);
    return EGRAPH_OK;
  }
  // The last greedy run of the presolve is the choice that pieces start from.
  EG_TRY(eg_u32s_append(&e->choice, e->search.reduced_choice.data,
                        e->presolve.model.problem.class_count));
  EG_TRY(split(e));
  return solve_pieces(e);
}

static void deinit_pieces(exact *e) {
  for (size_t i = 0; i < e->pieces.len; i++) {
    eg_extract_problem_deinit(&e->pieces.data[i].problem);
    eg_u32s_deinit(&e->pieces.data[i].class_of);
    eg_u32s_deinit(&e->pieces.data[i].node_of);
  }
  pieces_deinit(&e->pieces);
}

egraph_status eg_exact_run(egraph_allocator alloc, eg_incumbent *incumbent,
                           eg_extract_result *result) {
  exact e = {.choice = {.len = 0}};
  eg_u32s_init(&e.piece_of, alloc);
  eg_u32s_init(&e.choice, alloc);
  pieces_init(&e.pieces, alloc);
  egraph_status status = eg_search_init(&e.search, alloc, incumbent, INFINITY);
  if (status != EGRAPH_OK) goto search;
  EG_TRY_GOTO(status, eg_presolve_init(&e.presolve, alloc, &e.search.parts), search);
  status = run(&e, result);
  eg_presolve_deinit(&e.presolve);
search:
  eg_search_deinit(&e.search);
  deinit_pieces(&e);
  eg_u32s_deinit(&e.choice);
  eg_u32s_deinit(&e.piece_of);
  return status;
}
