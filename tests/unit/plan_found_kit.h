// Planning in tests: a model, a machine, and the collectives of the plan.
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_TESTS_UNIT_PLAN_FOUND_KIT_H
#define EG_TESTS_UNIT_PLAN_FOUND_KIT_H

#include <math.h>

#include "optimize/search/planner.h"
#include "tests/testing.h"

/// Something to plan for, and the last plan of it.
typedef struct planned {
  eg_graph *forward;
  bool is_training;
  eg_training step; // is_training
  eg_training_info training;
  eg_step_info info;
  eg_machine machine;
  eg_machine_mesh mesh;
  const eg_rules *rules; // NULL: none
  bool algebra_first;
  eg_layout_options layout;
  const eg_plan_constraints *constraints; // NULL: none
  bool compares;
  eg_planning planning;
} planned;

static inline void planned_machine(const char *machine, eg_machine *out) {
  if (machine[0] == '(')
    assert_ok(eg_machine_parse(NULL, "machine", machine, strlen(machine), 0, out));
  else
    assert_ok(eg_machine_load(NULL, machine, out));
}

/// `machine` is the text of one, or the name of a shipped one; `options` NULL: the
/// forward graph alone.
static inline void planned_init(planned *p, const eg_text *model, const char *machine,
                                const char *mesh, const eg_training_options *options) {
  const char *text = eg_text_of(model);
  eg_mesh axes;
  *p = (planned){.is_training = options != NULL,
                 .info = {.micro_batches = 1, .memory_limit = INFINITY},
                 .layout = EG_LAYOUT_OPTIONS_DEFAULT};
  p->layout.time_limit_seconds = 250;
  assert_ok(eg_graph_parse(NULL, "model", text, strlen(text), &p->forward));
  planned_machine(machine, &p->machine);
  assert_ok(eg_mesh_parse(mesh, &axes));
  assert_ok(eg_machine_mesh_of(&p->machine, &axes, NULL, &p->mesh));
  if (!p->is_training) return;
  assert_ok(eg_training_step(p->forward, options, &p->step));
  assert_ok(eg_training_info_init(&p->training, eg_allocator_heap(), &p->step, NULL));
  p->info = p->training.info;
}

static inline void planned_deinit(planned *p) {
  eg_planning_deinit(&p->planning);
  if (p->is_training) {
    eg_training_info_deinit(&p->training);
    eg_training_deinit(&p->step);
  }
  eg_machine_deinit(&p->machine);
  eg_graph_destroy(p->forward);
}

/// Seconds of all steps of a plan, as often as they run.
static inline double planned_seconds(const planned *p) {
  const eg_plan *plan = &p->planning.emitted.plan;
  double seconds = 0;
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    seconds += step->seconds * (step->phase == EG_PHASE_UPDATE ? 1 : plan->micro_batches);
  }
  return seconds;
}

static inline egraph_status planned_try(planned *p, double memory_limit) {
  p->info.memory_limit = memory_limit;
  const eg_plan_context context = {.machine = &p->machine, .rules = p->rules};
  const eg_planner_input input = {.context = &context,
                                  .graph = p->is_training ? p->step.graph : p->forward,
                                  .info = &p->info,
                                  .mesh = &p->mesh,
                                  .algebra_first = p->algebra_first,
                                  .budget = p->layout,
                                  .constraints = p->constraints,
                                  .compares = p->compares};
  eg_planning_deinit(&p->planning);
  return eg_planner_run(eg_allocator_heap(), &input, &p->planning);
}

/// Plans within a memory limit. The plan, if there is one, is checked, and costs what its
/// steps do.
static inline void planned_run(planned *p, double memory_limit) {
  assert_ok(planned_try(p, memory_limit));
  if (!p->planning.has_plan) return;
  assert_ok(eg_plan_check(&p->planning.emitted.plan, eg_allocator_heap()));
  assert_true(fabs(planned_seconds(p) - p->planning.cost) <= 1e-9 * p->planning.cost);
}

// ---- collectives ----------------------------------------------------------------------

/// So many collectives of a phase, each of so many bytes (eg_transition_bytes).
typedef struct collectives {
  int phase; // eg_phase
  uint32_t count;
  int kind; // eg_transition_kind
  uint32_t axis;
  double bytes;
} collectives;

static inline double planned_bytes(const planned *p, const eg_plan_step *step) {
  const eg_plan *plan = &p->planning.emitted.plan;
  const eg_plan_state *from = &plan->states.data[step->from];
  return eg_transition_bytes(&plan->mesh, &eg_graph_value(plan->graph, from->value)->type,
                             &from->layout, &step->transition);
}

static inline bool planned_is_collective(const eg_plan_step *step) {
  return step->is_move && step->transition.kind != EG_TRANSITION_SLICE &&
         step->transition.kind != EG_TRANSITION_MASK;
}

/// Collectives that are as `like` says.
static inline uint32_t planned_count(const planned *p, const collectives *like) {
  const eg_plan *plan = &p->planning.emitted.plan;
  uint32_t count = 0;
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    count += planned_is_collective(step) && (int)step->phase == like->phase &&
             (int)step->transition.kind == like->kind &&
             step->transition.axis == like->axis && planned_bytes(p, step) == like->bytes;
  }
  return count;
}

static inline void planned_print(const planned *p, double small) {
  static const char *const phases[] = {"FORWARD", "BACKWARD", "UPDATE"};
  const eg_plan *plan = &p->planning.emitted.plan;
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    if (!planned_is_collective(step) || planned_bytes(p, step) <= small) continue;
    const eg_plan_state *from = &plan->states.data[step->from];
    print_message("%s: %s of %s along %s, %.0f bytes, %g s\n", phases[step->phase],
                  eg_transition_name(step->transition.kind),
                  eg_graph_value(plan->graph, from->value)->name,
                  plan->mesh.axes[step->transition.axis].name, planned_bytes(p, step),
                  step->seconds);
  }
}

/// The plan's collectives of more than `small` bytes are these and no others.
static inline void planned_expect(const planned *p, double small,
                                  const collectives *expected, size_t count) {
  const eg_plan *plan = &p->planning.emitted.plan;
  assert_true(p->planning.has_plan);
  uint32_t all = 0, wanted = 0;
  for (size_t i = 0; i < plan->steps.len; i++)
    all += planned_is_collective(&plan->steps.data[i]) &&
           planned_bytes(p, &plan->steps.data[i]) > small;
  for (size_t i = 0; i < count; i++) {
    uint32_t found = planned_count(p, &expected[i]);
    wanted += expected[i].count;
    if (found != expected[i].count) planned_print(p, small);
    assert_int_equal(found, expected[i].count);
  }
  if (all != wanted) planned_print(p, small);
  assert_int_equal(all, wanted);
}
/// EXPECT(p, small, {phase, count, kind, axis, bytes}, ...)
#define EXPECT(p, small, ...)                                                            \
  planned_expect(p, small, (const collectives[]){__VA_ARGS__},                           \
                 sizeof((const collectives[]){__VA_ARGS__}) / sizeof(collectives))

// ---- layouts --------------------------------------------------------------------------

/// How the value of that name is made (of an input or weight: enters) along an axis.
static inline uint8_t planned_digit(const planned *p, const char *name, uint32_t axis) {
  const eg_plan *plan = &p->planning.emitted.plan;
  for (size_t i = 0; i < plan->states.len; i++) {
    const eg_plan_state *state = &plan->states.data[i];
    bool made = state->step == EG_PLAN_NONE || !plan->steps.data[state->step].is_move;
    if (made && strcmp(eg_graph_value(plan->graph, state->value)->name, name) == 0)
      return state->layout.sharding[axis];
  }
  fail_msg("the plan has no value '%s'", name);
  return EG_SHARD_R;
}

/// Bytes that the collectives of more than `small` bytes are about, all micro-batches
/// together.
static inline double planned_volume(const planned *p, double small) {
  const eg_plan *plan = &p->planning.emitted.plan;
  double volume = 0;
  for (size_t i = 0; i < plan->steps.len; i++) {
    const eg_plan_step *step = &plan->steps.data[i];
    double runs = step->phase == EG_PHASE_UPDATE ? 1 : plan->micro_batches;
    if (planned_is_collective(step) && planned_bytes(p, step) > small)
      volume += runs * planned_bytes(p, step);
  }
  return volume;
}

enum {
  F = EG_PHASE_FORWARD,
  B = EG_PHASE_BACKWARD,
  U = EG_PHASE_UPDATE,
  ALL_GATHER = EG_TRANSITION_ALL_GATHER,
  REDUCE_SCATTER = EG_TRANSITION_REDUCE_SCATTER,
  ALL_REDUCE = EG_TRANSITION_ALL_REDUCE,
  ALL_TO_ALL = EG_TRANSITION_ALL_TO_ALL,
  R = EG_SHARD_R,
  P = EG_SHARD_P_SUM,
  S0 = EG_SHARD_S0,
  S1,
  S2
};

/// Two axes of two devices, over links of random speeds.
static inline void plan_draw_machine(eg_rng *rng, eg_text *out) {
  static const char *const rates[] = {"1e9", "1e10", "1e11"};
  assert_ok(eg_text_printf(
      out,
      "(egraph-machine 1)(name small)(nodes 2)(device (memory 1e12)(bandwidth 1e12)"
      "(overhead 1e-6)(peak (float32 1e13)))(link near (latency 1e-6)(bandwidth %s))"
      "(link far (latency 5e-6)(bandwidth %s))(axis node nodes far)(axis gpu 2 near)",
      rates[eg_rng_below(rng, 3)], rates[eg_rng_below(rng, 3)]));
}

#endif
