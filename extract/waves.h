// Pieces solved side by side, with the same result for any number of threads.
//
// Pieces go in waves of a fixed size. What a piece needs to know of the others (a cutoff,
// the sum of their bounds) is written down before the wave, and what it has found is told
// to the whole after it, so no piece sees how far another has come. A wave of one piece
// has nobody to wait for and tells the whole at once.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_EXTRACT_WAVES_H
#define EG_EXTRACT_WAVES_H

#include "extract/pieces.h"

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
