// Searches for plans that use the product's own parts.
// SPDX-License-Identifier: Apache-2.0
#include "baselines/plan_algorithm.h"

#include <math.h>

#include "base/clock.h"
#include "base/owner.h"
#include "optimize/search/plan_fit.h"
#include "optimize/search/plan_walk.h"
#include "optimize/soap/soap_walk.h"
#include "sim/plan/plan_simulation.h"

// ---- exact layouts ----------------------------------------------------------------

// Finds the cheapest layouts of one graph within the memory limit, without overlap. The
// graph is the given one, as in Alpa within a stage, or the cheapest graph on one device.
// If nothing fits, finds the cheapest layouts with unlimited memory.
//
// Alpa solves a linear program over the same choice: a strategy of each operator, with a
// price for each pair of strategies of neighbours. In this search the readers of a value
// share transitions, and the product's own exact search solves the problem.

static egraph_status take(const eg_plan_question *q, const eg_fitted_plan *found,
                          eg_plan_answer *out) {
  out->stop = found->status == EG_LAYOUT_OPTIMAL ? EG_PLAN_STOP_EXHAUSTED
                                                 : EG_PLAN_STOP_WORK_LIMIT;
  out->work += found->work;
  if (!found->has_plan) return EGRAPH_OK;
  out->proposals++;
  return eg_plan_choices_find(&found->choices, q->model, &out->strategy);
}

/// Chooses the cheapest layouts that fit; if none do, the cheapest with unlimited memory.
static egraph_status choose_layouts(const void *self, const eg_plan_question *q,
                                    eg_plan_answer *out) {
  (void)self;
  EG_LOCAL(eg_fitted_plan, found, q->alloc);
  EG_LOCAL(eg_fitted_plan, larger, q->alloc);
  EG_TRY(eg_plan_fit(q->model, q->alloc, &q->layout, false, &found));
  EG_TRY(take(q, &found, out));
  if (found.has_plan || !(found.least_memory > 0)) return EGRAPH_OK;
  eg_plan_model_limit_memory(q->model, INFINITY);
  EG_TRY(eg_plan_fit(q->model, q->alloc, &q->layout, true, &larger));
  return take(q, &larger, out);
}

const eg_plan_searcher eg_algebra_first = {.run = choose_layouts,
                                           .graphs = EG_PLAN_CHEAPEST_GRAPH};
const eg_plan_searcher eg_alpa_intra = {.run = choose_layouts,
                                        .graphs = EG_PLAN_GIVEN_GRAPH};

// ---- a random walk ----------------------------------------------------------------

// FlexFlow's search (MLSys'19, sections 5 and 6): a Metropolis-Hastings walk over the
// configurations of operators (soap.h). A proposal gives a random operator a random
// configuration. If this makes the simulated step longer by d, the walk accepts the
// proposal with probability exp(-beta d). One walk starts from data parallelism, one from
// random configurations. Each walk has half of the work, and ends once half of its own
// work has found nothing better. There is no limit of memory.

static const double STEPS_PER_SECOND = 1e9;
enum { STARTS = 2 };

static egraph_status walk_all(eg_soap_walk *walk, eg_plan_answer *out) {
  const eg_layout_options *layout = &walk->question->layout;
  double steps = layout->work_limit != 0 ? (double)layout->work_limit
                                         : STEPS_PER_SECOND * layout->time_limit_seconds;
  EG_TRY(eg_soap_start(walk->soap, &walk->choice));
  for (int start = 0; start < STARTS && !walk->is_over; start++) {
    for (uint32_t l = 0; start != 0 && l < walk->choice.len; l++)
      walk->choice.data[l] = eg_soap_walk_draw(walk, l);
    EG_TRY(eg_soap_walk_on(walk, (uint64_t)fmax(steps / STARTS, 1)));
  }
  return eg_soap_walk_answer(walk, out);
}

static egraph_status walk_configurations(const void *self,
                                         const eg_plan_question *question,
                                         eg_plan_answer *out) {
  (void)self;
  EG_OWNED(eg_soap, soap);
  EG_OWNED(eg_soap_walk, walk);
  EG_TRY(eg_soap_init(&soap, question, NULL));
  if (soap.leads.len == 0) return EGRAPH_OK;
  EG_TRY(eg_soap_walk_init(&walk, &soap, question, false));
  return walk_all(&walk, out);
}

const eg_plan_searcher eg_mcmc = {
    .run = walk_configurations, .graphs = EG_PLAN_GIVEN_GRAPH, .is_whole = true};

// ---- all plans --------------------------------------------------------------------

// Simulates all plans of a tiny step on a small mesh that fit in memory, as a reference
// for other searches; the search refuses larger steps.
//
// A step takes at least as long as any stream is busy, therefore at least (its seconds
// without overlap) / (the number of streams). Plans for which this bound exceeds the best
// step are not visited.

enum { VISIT_STEPS = 20000 }; // of work, to emit and simulate a plan
static const double ROUNDING = 1e-9;

typedef struct visitor {
  const eg_plan_question *question;
  eg_plan_answer *out;
  eg_plan_walk *walk;
  eg_layout_completer *completer;
  uint32_t streams;
  double shortest;
} visitor;

/// Computes the seconds of a plan in the shortest order of issue that fits in memory;
/// INFINITY: no order fits.
static egraph_status simulate_plan(const visitor *v, const eg_plan *plan, double *out) {
  EG_LOCAL(eg_plan_simulation, s, v->question->alloc);
  EG_TRY(
      eg_plan_simulate_shortest(plan, v->question->mesh, v->question->memory_limit, &s));
  *out = s.peak_bytes <= v->question->memory_limit ? s.seconds : INFINITY;
  return EGRAPH_OK;
}

/// Simulates the plan of these strategies with their cheapest arcs. INFINITY: the visited
/// arcs are not the cheapest; another visit has the cheapest.
static egraph_status measure_strategies(visitor *v, const eg_layout_solution *visited,
                                        double *out) {
  EG_OWNED(eg_layout_solution, solution);
  EG_OWNED(eg_emitted_plan, emitted);
  bool is_solution;
  *out = INFINITY;
  EG_TRY(
      eg_layout_complete(v->completer, visited->strategy.data, &solution, &is_solution));
  if (!is_solution || !(visited->cost <= solution.cost * (1 + ROUNDING)))
    return EGRAPH_OK;
  EG_TRY(eg_plan_emit(v->question->model, v->question->alloc, &solution, &emitted));
  return simulate_plan(v, &emitted.plan, out);
}

static egraph_status visit_solution(void *user, const eg_layout_solution *solution) {
  visitor *v = user;
  double seconds;
  EG_TRY(measure_strategies(v, solution, &seconds));
  v->out->proposals += isfinite(seconds) ? 1 : 0;
  if (!(seconds < v->shortest)) return EGRAPH_OK;
  v->shortest = seconds;
  v->walk->most_cost = fmin(v->walk->most_cost, v->streams * seconds * (1 + ROUNDING));
  v->out->strategy.len = 0;
  return eg_u32s_append(&v->out->strategy, solution->strategy.data,
                        solution->strategy.len);
}

static uint32_t count_streams(const eg_machine_mesh *mesh) {
  uint32_t streams = 1;
  for (uint32_t a = 0; a < mesh->mesh.axis_count; a++) {
    uint32_t b = 0;
    while (b < a && mesh->links[b].link != mesh->links[a].link)
      b++;
    streams += a == b;
  }
  return streams;
}

static egraph_status search_all_plans(const void *self, const eg_plan_question *q,
                                      eg_plan_answer *out) {
  (void)self;
  const eg_layout_options *layout = &q->layout;
  double steps = layout->work_limit != 0 ? (double)layout->work_limit
                                         : STEPS_PER_SECOND * layout->time_limit_seconds;
  uint32_t streams = count_streams(q->mesh);
  double cheapest = INFINITY; // seconds of the cheapest plan without overlap
  {
    EG_OWNED(eg_fitted_plan, found);
    EG_TRY(eg_plan_fit(q->model, q->alloc, &q->layout, true, &found));
    if (found.has_plan) cheapest = found.cost;
  }
  eg_plan_walk walk = {.most_cost = streams * cheapest * (1 + ROUNDING),
                       .most_steps = (uint64_t)steps,
                       .visit_steps = VISIT_STEPS,
                       .deadline = eg_clock_seconds() + layout->time_limit_seconds,
                       .visit = visit_solution};
  visitor v = {
      .question = q, .out = out, .walk = &walk, .streams = streams, .shortest = INFINITY};
  walk.user = &v;
  EG_TRY(eg_layout_completer_create(q->alloc, &q->model->problem, &v.completer));
  egraph_status status = eg_plan_walk_run(&walk, q->alloc, &q->model->problem);
  eg_layout_completer_destroy(v.completer);
  EG_TRY(status);
  out->work = walk.steps;
  out->stop = EG_PLAN_STOP_EXHAUSTED;
  if (walk.is_complete) return EGRAPH_OK;
  return EG_FAIL(
      EGRAPH_E_UNSUPPORTED,
      "search exhaustive looks at all plans of a tiny step, of at most %d values "
      "in all phases, and this one is larger or takes more work; raise the limit "
      "of work, or take another search",
      EG_WALK_VALUES);
}

const eg_plan_searcher eg_exhaustive = {
    .run = search_all_plans, .graphs = EG_PLAN_GIVEN_GRAPH, .is_whole = true};
