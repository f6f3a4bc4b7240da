// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_bound.h"

#include "base/clock.h"
#include "extract/layout/layout_ascent.h"

typedef struct bounder {
  egraph_allocator alloc;
  const eg_layout_bound_options *options;
  eg_layout_view view;
  eg_layout_task task;
  eg_layout_clock clock;
  eg_layout_search search;
  eg_layout_active active;
  eg_layout_excess excess;
  eg_layout_bounded *out;
  eg_layout_dual *dual; // or NULL
} bounder;

static egraph_status offer_target(bounder *b) {
  bool ignored;
  if (b->options->target == NULL) return EGRAPH_OK;
  eg_layout_search_take(&b->search, b->options->target);
  return eg_layout_search_offer(&b->search, &ignored);
}

/// Prices of memory rows as those of the ascent's limited measures.
static void set_prices(const bounder *b, eg_layout_ascent *ascent) {
  const eg_layout_weights *weights = eg_layout_ascent_weights(ascent);
  double price[EG_LAYOUT_MEMORY_ROWS] = {0};
  for (uint32_t i = 0; i < weights->limits; i++)
    price[i] = fmax(b->options->price[weights->limited[i] - EG_LAYOUT_ROW], 0);
  eg_layout_ascent_set_prices(ascent, price);
}

/// What rounding may take from the last bound when others add it up.
static double rounding_of(const bounder *b, const eg_layout_ascent *ascent) {
  double constant =
      eg_layout_weights_constant(eg_layout_ascent_weights(ascent), &b->task);
  return 1e-10 * (fabs(b->excess.bound) + fabs(constant)) + 10 * b->search.rounding;
}

static egraph_status fill_dual(bounder *b, const eg_layout_ascent *ascent) {
  memcpy(b->dual->price, b->out->price, sizeof b->dual->price);
  b->dual->bound = b->excess.bound - rounding_of(b, ascent);
  return eg_layout_dual_fill(b->dual, eg_layout_ascent_factors(ascent));
}

static egraph_status climb(bounder *b, eg_layout_ascent *ascent) {
  const eg_layout_weights *weights = eg_layout_ascent_weights(ascent);
  bool any;
  eg_layout_ascent_keep_all(ascent);
  EG_TRY(offer_target(b));
  if (b->options->price != NULL) set_prices(b, ascent);
  EG_TRY(eg_layout_ascent_climb(ascent, EG_LAYOUT_MOST_PASSES, &b->excess, &any));
  if (any && b->options->price == NULL && weights->limits != 0) {
    EG_TRY(eg_layout_ascent_find_prices(ascent));
    EG_TRY(eg_layout_ascent_climb(ascent, EG_LAYOUT_MOST_PASSES, &b->excess, &any));
  }
  b->out->bound = any ? eg_layout_ascent_best(ascent) : INFINITY;
  for (uint32_t i = 0; any && i < weights->limits; i++)
    b->out->price[weights->limited[i] - EG_LAYOUT_ROW] = weights->price[i];
  if (any && b->options->potentials != NULL)
    EG_TRY(eg_layout_ascent_potentials(ascent, b->options->potentials));
  return any && b->dual != NULL ? fill_dual(b, ascent) : EGRAPH_OK;
}

static egraph_status run_bounder(bounder *b) {
  eg_layout_ascent *ascent = NULL;
  // Each copy of a row solves the open problem, so what holds for its solutions may be
  // used; ends of links have no arcs, so that none of their layouts dominates another.
  EG_TRY(b->options->potentials != NULL ? eg_layout_presolve(&b->active, &b->task)
                                        : eg_layout_presolve_apart(&b->active));
  if (b->active.infeasible) {
    b->out->bound = INFINITY;
    return EGRAPH_OK;
  }
  egraph_status status = eg_layout_ascent_create(&b->search, &b->active, &ascent);
  if (status == EGRAPH_OK) status = climb(b, ascent);
  eg_layout_ascent_destroy(ascent);
  return status;
}

static egraph_status run_search(bounder *b) {
  EG_TRY(eg_layout_search_init(&b->search, b->alloc, &b->view, &b->task, &b->clock));
  egraph_status status = eg_layout_active_init(&b->active, b->alloc, &b->view);
  if (status == EGRAPH_OK) {
    eg_layout_excess_init(&b->excess, b->alloc);
    status = run_bounder(b);
    eg_layout_excess_deinit(&b->excess);
    eg_layout_active_deinit(&b->active);
  }
  eg_layout_search_deinit(&b->search);
  return status;
}

egraph_status eg_layout_bound(egraph_allocator alloc, const eg_layout_problem *problem,
                              const eg_layout_bound_options *options,
                              eg_layout_bounded *out, eg_layout_dual *dual) {
  if (!(options->time_limit_seconds > 0))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "layout bound: the time limit must be > 0");
  double now = eg_clock_seconds();
  *out = (eg_layout_bounded){.bound = 0};
  bounder b = {.alloc = alloc,
               .options = options,
               .task = eg_layout_task_of(EG_LAYOUT_COST),
               .clock = {.start_seconds = now,
                         .deadline = now + options->time_limit_seconds,
                         .asked_seconds = now,
                         .work.limit = options->work_limit},
               .out = out,
               .dual = dual};
  for (uint32_t r = 0; r < problem->memory_rows; r++)
    b.task.limit[EG_LAYOUT_ROW + r] = problem->memory_limit[r];
  EG_TRY(eg_layout_view_init(&b.view, alloc, problem));
  if (options->potentials != NULL) b.view.seams = options->potentials->seams;
  egraph_status status = run_search(&b);
  eg_layout_view_deinit(&b.view);
  out->work = b.clock.work.done;
  return status;
}
