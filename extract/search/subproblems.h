// The connected pieces of a presolved model. Nothing ties them together but the sum of
// their costs, so each is a problem of its own, with its own best solution and bound.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_SEARCH_SUBPROBLEMS_H
#define EG_EXTRACT_SEARCH_SUBPROBLEMS_H

#include "extract/class_graph.h"
#include "extract/incumbent.h"

typedef struct eg_piece {
  eg_extract_problem problem;
  eg_class_index index;
  eg_u32s class_of, node_of; // in the model
  eg_cuts cuts;              // rows of its nodes
  eg_incumbent incumbent;    // of problem; its bound is the piece's
  bool has_incumbent;
  bool solved;         // nothing below its cutoff is left
  bool hopeless;       // and nothing was: the whole has no better solution
  double outer_cutoff; // that the others leave it: solutions from here on are of no use
  eg_part_clock clock; // of the thread that works on it
} eg_piece;

EG_VEC_DEFINE(eg_pieces, eg_piece);

/// Splits a model into its pieces, small ones first; `pieces` is initialized and empty.
/// Rows of `cuts` within a piece become cuts of it; those across pieces are lost.
/// Incumbents report to `whole` and start from bound 0. O(nodes + edges).
egraph_status eg_pieces_split(eg_pieces *pieces, const eg_extract_problem *model,
                              const eg_cuts *cuts, eg_incumbent *whole);
/// Deinits every piece and the vector.
void eg_pieces_destroy(eg_pieces *pieces);
/// Sum of the bounds of all pieces but one (NULL: of all).
double eg_pieces_bound(const eg_pieces *pieces, const eg_piece *without);
/// Offers the piece its share of a choice of the model.
egraph_status eg_piece_seed(eg_piece *piece, const eg_extract_problem *model,
                            const uint32_t *choice);
/// A first bound, by dual ascent.
egraph_status eg_piece_bound(eg_piece *piece);
/// Writes the best choice of the piece into a choice of the model.
void eg_piece_adopt(const eg_piece *piece, uint32_t *choice);

// ---- side by side -----------------------------------------------------------------

// Pieces solved side by side, with the same result for any number of threads.
//
// Pieces go in waves of a fixed size. What a piece needs to know of the others (a cutoff,
// the sum of their bounds) is written down before the wave, and what it has found is told
// to the whole after it, so no piece sees how far another has come. A wave of one piece
// has nobody to wait for and tells the whole at once.

typedef struct eg_waves {
  egraph_allocator alloc;
  eg_pieces *pieces;
  eg_incumbent *whole;
  double offset; // of the whole, beside the pieces
  void *user;
  /// Takes better choices of pieces over into the whole.
  egraph_status (*adopt)(void *user);
  bool hopeless; // result: some piece has nothing below its cutoff
} eg_waves;

/// Writes nothing but the piece, and reads of the others only what never changes. May run
/// in any thread.
typedef egraph_status (*eg_wave_step)(void *user, eg_piece *piece);

/// Runs `step` on every piece that is not solved, until the whole stops or one piece
/// proves hopeless, and raises the bound of the whole. Fails as the first failing piece
/// does.
egraph_status eg_waves_run(eg_waves *waves, eg_wave_step step);

#endif
