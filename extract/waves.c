// A hopeless piece proves that the solution at the start of its wave is optimal. So what
// the others of the wave find is of no interest, and those after it need not run.
// SPDX-License-Identifier: Apache-2.0
#include "extract/waves.h"

#include <math.h>

#include "base/parallel.h"

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
