// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdlib.h>

#include "api/arguments.h"
#include "api/objects.h"
#include "base/owner.h"
#include "pcg/plan/plan_words.h"
#include "sim/plan/plan_simulation.h"

EG_HOLDER_DEFINE(egraph_simulation)

EG_VEC_DEFINE(simulation_waits, egraph_simulation_wait);

struct egraph_simulation {
  egraph_allocator alloc;
  const eg_plan *plan;
  eg_plan_labels labels;
  eg_machine machine; // zeroed when no machine was named
  eg_machine_mesh links;
  eg_plan_simulation result;
  double in_order, closed_form;
  double beside; // slowdown of computing; 0: not known
  simulation_waits waits;
  uint8_t *is_critical; // [tasks]
};

static int by_seconds(const void *a, const void *b) {
  const egraph_simulation_wait *x = a, *y = b;
  return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

static egraph_status list_waits(egraph_simulation *s) {
  const eg_mesh *mesh = &s->plan->mesh;
  for (int p = 0; p < EG_PHASE_COUNT; p++)
    for (uint32_t a = 0; a < mesh->axis_count; a++)
      for (int k = 0; k < EG_TRANSITION_KINDS; k++) {
        const eg_plan_wait *wait = &s->result.wait[p][a][k];
        if (wait->count == 0) continue;
        EG_TRY(simulation_waits_push(
            &s->waits,
            (egraph_simulation_wait){eg_phase_name((eg_phase)p),
                                     eg_transition_name((eg_transition_kind)k),
                                     mesh->axes[a].name, wait->seconds, wait->count}));
      }
  if (s->waits.len != 0)
    qsort(s->waits.data, s->waits.len, sizeof *s->waits.data, by_seconds);
  return EGRAPH_OK;
}

// The algorithm of an exchange for each kind of rounds; AUTO takes the algorithm that
// the closed form assumes.
static const eg_collective_algorithm algorithms[] = {
    [EGRAPH_ROUNDS_NONE] = EG_ALGORITHM_NONE,
    [EGRAPH_ROUNDS_AUTO] = EG_ALGORITHM_NONE,
    [EGRAPH_ROUNDS_RING] = EG_ALGORITHM_RING,
    [EGRAPH_ROUNDS_HALVING] = EG_ALGORITHM_HALVING,
    [EGRAPH_ROUNDS_DOUBLING] = EG_ALGORITHM_DOUBLING,
    [EGRAPH_ROUNDS_TREE] = EG_ALGORITHM_TREE,
    [EGRAPH_ROUNDS_LEVELS] = EG_ALGORITHM_HIERARCHICAL};
enum { ROUNDS = sizeof algorithms / sizeof *algorithms };

static egraph_status simulate_seconds(const egraph_simulation *s,
                                      const eg_simulation_setup *setup,
                                      double *out_seconds) {
  EG_LOCAL(eg_plan_simulation, other, s->alloc);
  EG_TRY(eg_plan_simulate_as(s->plan, setup, &other));
  *out_seconds = other.seconds;
  return EGRAPH_OK;
}

/// Computes the seconds without overlap, and the seconds with all exchanges in closed
/// form. Without a machine, the sum of the tasks' times is the time without overlap.
static egraph_status compare(egraph_simulation *s, const eg_simulation_setup *setup) {
  eg_simulation_setup other = *setup;
  s->closed_form = s->result.seconds;
  for (uint32_t t = 0; t < s->result.tasks.tasks.len; t++)
    s->in_order += s->plan->steps.data[s->result.tasks.tasks.data[t].step].seconds;
  if (setup->machine == NULL) return EGRAPH_OK;
  other.issue = EG_ISSUE_IN_ORDER;
  EG_TRY(simulate_seconds(s, &other, &s->in_order));
  other = *setup;
  other.machine = NULL;
  return simulate_seconds(s, &other, &s->closed_form);
}

static egraph_status simulate(egraph_simulation *s,
                              const egraph_simulate_options *options) {
  if (options->machine != NULL) {
    EG_TRY(eg_machine_load(&s->alloc, options->machine, &s->machine));
    EG_TRY(eg_machine_find_mesh(&s->machine, &s->plan->mesh, &s->links));
  }
  s->beside = options->beside > 0 ? options->beside : s->machine.beside;
  bool in_rounds = options->rounds != EGRAPH_ROUNDS_NONE;
  double limit = s->plan->memory_limit > 0 ? s->plan->memory_limit : INFINITY;
  eg_simulation_setup setup = {.links = options->machine != NULL ? &s->links : NULL,
                               .issue = (eg_issue)options->issue,
                               .machine = in_rounds ? &s->machine : NULL,
                               .algorithm = algorithms[options->rounds],
                               .beside = s->beside};
  EG_TRY(options->issue == EGRAPH_ISSUE_SHORTEST
             ? eg_plan_simulate_shortest_as(s->plan, &setup, limit, &s->result)
             : eg_plan_simulate_as(s->plan, &setup, &s->result));
  setup.issue = s->result.tasks.issue;
  EG_TRY(eg_plan_labels_find(s->plan, &s->labels));
  EG_TRY(compare(s, &setup));
  EG_TRY(list_waits(s));
  EG_TRY(eg_alloc(s->alloc, s->result.tasks.tasks.len, 1, &s->is_critical));
  for (size_t i = 0; i < s->result.critical.len; i++)
    s->is_critical[s->result.critical.data[i]] = 1;
  return EGRAPH_OK;
}

static egraph_status check_options(const egraph_simulate_options *options) {
  if ((unsigned)options->issue > EGRAPH_ISSUE_SHORTEST)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "there is no order of issue %d; see egraph_issue",
                   (int)options->issue);
  if ((unsigned)options->rounds >= ROUNDS)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "there are no rounds %d; see egraph_rounds",
                   (int)options->rounds);
  if (options->rounds != EGRAPH_ROUNDS_NONE && options->machine == NULL)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "rounds of messages go over the links of a machine; name one");
  if (!(options->beside == 0 || (options->beside >= 1 && options->beside <= 1e9)))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "computing takes %g times as long beside an exchange; that is 1 or "
                   "more, or 0: not known",
                   options->beside);
  return EGRAPH_OK;
}

egraph_status egraph_simulate(const egraph_allocator *alloc, const egraph_plan *plan,
                              const egraph_simulate_options *options,
                              egraph_simulation **out) {
  EG_REQUIRE(plan, out);
  egraph_allocator own = eg_allocator_or_heap(alloc);
  egraph_simulate_options taken;
  EG_HELD(egraph_simulation, s);
  EG_TRY(eg_options_take(EGRAPH_SIMULATE_OPTIONS, options, &taken));
  EG_TRY(check_options(&taken));
  EG_TRY(eg_alloc(own, 1, sizeof *s, &s));
  *s = (egraph_simulation){.alloc = own, .plan = &plan->planned.plan};
  eg_arena_init(&s->labels.arena, own);
  eg_arena_init(&s->machine.memory, own);
  eg_plan_simulation_init(&s->result, own);
  simulation_waits_init(&s->waits, own);
  EG_HAND_OVER(simulate(s, &taken), s, out);
}

void egraph_simulation_destroy(egraph_simulation *s) {
  if (s == NULL) return;
  eg_plan_labels_deinit(&s->labels);
  eg_machine_deinit(&s->machine);
  eg_free(s->alloc, s->is_critical, s->result.tasks.tasks.len, 1);
  eg_plan_simulation_deinit(&s->result);
  simulation_waits_deinit(&s->waits);
  eg_free(s->alloc, s, 1, sizeof *s);
}

// ---- figures ----------------------------------------------------------------------

egraph_simulation_info egraph_simulation_info_of(const egraph_simulation *s) {
  if (s == NULL) return (egraph_simulation_info){.seconds = 0};
  const eg_plan_simulation *r = &s->result;
  return (egraph_simulation_info){.issue = (egraph_issue)r->tasks.issue,
                                  .seconds = r->seconds,
                                  .in_order = s->in_order,
                                  .closed_form = s->closed_form,
                                  .messages = r->tasks.flow_count,
                                  .beside = s->beside,
                                  .kinds = r->tasks.class_count,
                                  .closed = r->tasks.closed_exchanges,
                                  .most_busy = r->most_busy,
                                  .peak_bytes = r->peak_bytes,
                                  .peak_seconds = r->peak_seconds,
                                  .streams = r->tasks.stream_count,
                                  .tasks = (uint32_t)r->tasks.tasks.len,
                                  .waits = (uint32_t)s->waits.len,
                                  .memory_points = (uint32_t)r->memory.len,
                                  .alive = (uint32_t)r->alive.len};
}

/// Returns the class of links of a stream of exchanges; with rounds, its axis.
static const char *link_name(const egraph_simulation *s, uint32_t stream) {
  const eg_mesh *mesh = &s->plan->mesh;
  for (uint32_t a = 0; a < mesh->axis_count && s->result.tasks.is_in_rounds; a++)
    if (s->result.tasks.stream_of_axis[a] == stream) return mesh->axes[a].name;
  for (uint32_t a = 0; a < mesh->axis_count && s->machine.name != NULL; a++) {
    uint32_t link = s->links.links[a].link;
    if (s->result.tasks.stream_of_axis[a] == stream && link != EG_LINK_AUTO)
      return s->machine.links[link].name;
  }
  return "exchanges";
}

egraph_simulation_stream egraph_simulation_stream_at(const egraph_simulation *s,
                                                     uint32_t index) {
  if (s == NULL || index >= s->result.tasks.stream_count)
    return (egraph_simulation_stream){.name = NULL};
  double busy = s->result.busy[index];
  return (egraph_simulation_stream){.name = index == 0 ? "compute" : link_name(s, index),
                                    .busy = busy,
                                    .idle = s->result.seconds - busy};
}

static const char *value_name(const egraph_simulation *s, eg_value value) {
  const char *label = s->labels.words[value.id];
  return label != NULL ? label : eg_graph_value(s->plan->graph, value)->name;
}

egraph_simulation_task egraph_simulation_task_at(const egraph_simulation *s,
                                                 uint32_t index) {
  if (s == NULL || index >= s->result.tasks.tasks.len)
    return (egraph_simulation_task){.stream = EGRAPH_NONE};
  const eg_plan_task *task = &s->result.tasks.tasks.data[index];
  const eg_plan_step *step = &s->plan->steps.data[task->step];
  eg_task_times times = eg_plan_task_times(&s->result.tasks, index);
  egraph_simulation_task out = {.axis = "",
                                .phase = eg_phase_name(step->phase),
                                .micro_batch = task->micro_batch,
                                .stream = task->stream,
                                .start = times.start,
                                .end = times.end,
                                .is_critical = s->is_critical[index] != 0};
  if (step->is_move) {
    out.name = value_name(s, s->plan->states.data[step->from].value);
    out.what = eg_transition_name(step->transition.kind);
    if (eg_plan_step_is_exchange(step)) {
      out.axis = s->plan->mesh.axes[step->transition.axis].name;
      out.bytes = eg_plan_move_bytes(s->plan, step);
    }
    return out;
  }
  eg_graph_node_info info = eg_graph_node_at(s->plan->graph, step->node);
  out.name = value_name(s, info.results[0]);
  out.what = eg_op_info_of((eg_op)info.attrs->op)->name;
  return out;
}

egraph_simulation_wait egraph_simulation_wait_at(const egraph_simulation *s,
                                                 uint32_t index) {
  if (s == NULL || index >= s->waits.len) return (egraph_simulation_wait){.phase = NULL};
  return s->waits.data[index];
}

egraph_simulation_memory egraph_simulation_memory_at(const egraph_simulation *s,
                                                     uint32_t index) {
  if (s == NULL || index >= s->result.memory.len)
    return (egraph_simulation_memory){.seconds = 0};
  const eg_memory_point *point = &s->result.memory.data[index];
  return (egraph_simulation_memory){point->seconds, point->bytes};
}

egraph_simulation_alive egraph_simulation_alive_at(const egraph_simulation *s,
                                                   uint32_t index) {
  if (s == NULL || index >= s->result.alive.len)
    return (egraph_simulation_alive){.name = NULL};
  const eg_life *life = &s->result.alive.data[index];
  const char *name = life->state == EG_PLAN_NONE
                         ? ""
                         : value_name(s, s->plan->states.data[life->state].value);
  return (egraph_simulation_alive){name, eg_store_name(life->store), life->bytes};
}
