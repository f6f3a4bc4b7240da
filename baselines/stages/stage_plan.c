// SPDX-License-Identifier: Apache-2.0
#include "baselines/stages/stage_plan.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/owner.h"
#include "optimize/fold/whole_step.h"

// The share of all work for each stage and, if the caller limits time, the share of the
// remaining time. About a hundred stages are planned, and the last stages need a plan
// too.
static const double STAGE_SHARE = 0.01, TIME_SHARE = 0.05;
static const double NO_TIME_LIMIT = 1e9; // seconds: work decides
static const double LEAST_WORK = 1e6, LEAST_SECONDS = 0.05;
static const double DEFAULT_GAP = 1e-3; // gain of a longer search
// A stage may deliver its outputs in any layout.
static const char DELIVERED[] = "(deliver (all outputs) *=?)";

egraph_status eg_machine_shape_of(const eg_machine *machine, eg_machine_shape *out) {
  if (machine->axis_count > 2)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED,
                   "machine '%s' has %" PRIu32
                   " axes; stages are placed on nodes and the devices of each: take a "
                   "machine of one or two axes",
                   machine->name, machine->axis_count);
  bool has_nodes = machine->axis_count == 2;
  out->nodes = has_nodes ? machine->axes[0].size : 1;
  out->width = machine->axis_count == 0 ? 1 : machine->axes[has_nodes ? 1 : 0].size;
  return EGRAPH_OK;
}

egraph_status eg_stage_planner_init(eg_stage_planner *planner, const eg_plan_call *call,
                                    const eg_layered *layered) {
  const eg_request *request = call->request;
  *planner = (eg_stage_planner){.call = call, .layered = layered, .most_bytes = INFINITY};
  EG_TRY(eg_machine_shape_of(call->context.machine, &planner->shape));
  // Uses the clock only if the user set a time limit: on a busy machine a clock would
  // change entries of the table of stages, and one changed entry leads to other stages.
  planner->by_work = request->search->time_limit < 0;
  planner->work = fmax(call->budget.steps * STAGE_SHARE, LEAST_WORK);
  planner->deadline =
      eg_clock_seconds() + (planner->by_work ? NO_TIME_LIMIT : call->budget.seconds);
  eg_strmap_init(&planner->known, request->alloc);
  eg_stage_plans_init(&planner->plans, request->alloc);
  return EGRAPH_OK;
}

void eg_stage_planner_deinit(eg_stage_planner *planner) {
  eg_strmap_deinit(&planner->known);
  eg_stage_plans_deinit(&planner->plans);
}

// ---- a part of the machine ------------------------------------------------------------

typedef struct part {
  eg_machine machine; // borrows the data of the whole machine
  eg_machine_mesh mesh;
} part;

static void add_axis(eg_mesh *mesh, const char *name, uint32_t size) {
  if (size == 1) return;
  eg_mesh_axis *axis = &mesh->axes[mesh->axis_count++];
  (void)snprintf(axis->name, sizeof axis->name, "%s", name);
  axis->size = size;
}

static egraph_status take_part(const eg_machine *machine, const eg_stage_place *place,
                               part *out) {
  eg_mesh mesh = {.axis_count = 0};
  out->machine = *machine;
  bool has_nodes = machine->axis_count == 2;
  if (has_nodes) out->machine.axes[0].size = place->nodes;
  if (machine->axis_count != 0)
    out->machine.axes[has_nodes ? 1 : 0].size = place->outer * place->inner;
  add_axis(&mesh, "node", place->nodes);
  add_axis(&mesh, "outer", place->outer);
  add_axis(&mesh, "inner", place->inner);
  return eg_machine_mesh_of(&out->machine, &mesh, NULL, &out->mesh);
}

/// Writes the roles of the axes (plan_baselines.h) into a text of `size`; "": a
/// free search.
static void write_roles(const eg_stage_place *place, char *out, size_t size) {
  static const char *const others[] = {
      [EG_STAGE_DATA] = "data-parallel", [EG_STAGE_ZERO_1] = "zero-1"};
  size_t used = 0;
  out[0] = '\0';
  if (place->roles == EG_STAGE_FREE) return;
  const struct {
    const char *name, *role;
    uint32_t size;
  } axes[] = {{"node", others[place->roles], place->nodes},
              {"outer", others[place->roles], place->outer},
              {"inner", "tensor", place->inner}};
  for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
    if (axes[i].size == 1 || used >= size) continue;
    int wrote = snprintf(out + used, size - used, "%s%s=%s", used == 0 ? "" : ",",
                         axes[i].name, axes[i].role);
    used += wrote > 0 ? (size_t)wrote : 0;
  }
}

// ---- figures of a plan ----------------------------------------------------------------

static double local_bytes(const eg_plan *plan, uint32_t state) {
  const eg_plan_state *s = &plan->states.data[state];
  const eg_type *type = &eg_graph_value(plan->graph, s->value)->type;
  eg_type local = eg_sharding_local(&plan->mesh, type, &s->layout);
  return (double)eg_type_bytes(&local);
}

static double arriving_bytes(const eg_plan *plan, const eg_slice *slice) {
  double bytes = 0;
  for (uint32_t s = 0; s < plan->states.len; s++) {
    const eg_plan_state *state = &plan->states.data[s];
    if (state->step != EG_PLAN_NONE) continue;
    const char *name = eg_graph_value(plan->graph, state->value)->name;
    for (uint32_t i = 0; i < slice->sent_back_count; i++)
      if (strcmp(name, slice->sent_back[i]) == 0) bytes += local_bytes(plan, s);
  }
  return bytes;
}

static bool is_output_of(const eg_graph *graph, const char *name) {
  for (uint32_t o = 0; o < eg_graph_output_count(graph); o++) {
    const char *made;
    (void)eg_graph_output(graph, o, &made);
    if (strcmp(made, name) == 0) return true;
  }
  return false;
}

/// Sums the bytes of outputs for other stages (pcg/training/training.h). A cotangent is
/// sent in the element type in which the step computes.
static void read_leaving(const eg_plan *plan, const eg_slice *slice, eg_stage_plan *out) {
  for (uint32_t o = 0; o < eg_graph_output_count(plan->graph); o++) {
    const char *name, *dot;
    eg_value value = eg_graph_output(plan->graph, o, &name);
    const eg_type *type = &eg_graph_value(plan->graph, value)->type;
    bool is_half =
        slice->training.precision != EG_PRECISION_MODEL && type->dtype == EGRAPH_FLOAT32;
    double size = is_half ? 0.5 : 1, whole = size * (double)eg_type_bytes(type),
           local = size * local_bytes(plan, plan->output_states.data[o]);
    dot = strrchr(name, '.');
    if (dot != NULL && strcmp(dot, ".cotangent") == 0) {
      out->returned_bytes += local;
      out->returned_whole += whole;
    } else if (slice->training.is_inner && is_output_of(slice->graph, name)) {
      out->sent_bytes += local;
      out->sent_whole += whole;
    }
  }
}

static egraph_status read_plan(const eg_stage_planner *planner, const eg_slice *slice,
                               const eg_plan *plan, eg_stage_plan *out) {
  eg_plan_summary summary;
  EG_TRY(eg_plan_summary_make(plan, planner->call->request->alloc, &summary));
  double seconds[EG_PHASE_COUNT];
  for (uint32_t p = 0; p < EG_PHASE_COUNT; p++)
    seconds[p] = summary.node_seconds[p] + summary.move_seconds[p];
  out->has_plan = true;
  out->forward = seconds[EG_PHASE_FORWARD] / plan->micro_batches;
  out->backward = seconds[EG_PHASE_BACKWARD] / plan->micro_batches;
  out->update = seconds[EG_PHASE_UPDATE];
  out->flight_bytes = summary.most[EG_STORE_STASH] + arriving_bytes(plan, slice);
  out->fixed_bytes = summary.peak - out->flight_bytes;
  read_leaving(plan, slice, out);
  return EGRAPH_OK;
}

// ---- planning -------------------------------------------------------------------------

static bool report_stage_progress(void *user, double cost, double bound, double seconds) {
  eg_stage_planner *planner = user;
  const eg_budget *budget = &planner->call->budget;
  char line[120];
  (void)cost, (void)bound, (void)seconds;
  if (budget->progress == NULL || planner->is_cancelled) return planner->is_cancelled;
  (void)snprintf(line, sizeof line, "%" PRIu32 " stages wanted, %zu planned",
                 planner->asked, planner->plans.len);
  planner->is_cancelled = budget->progress(budget->user, "plan", line);
  return planner->is_cancelled;
}

static egraph_status plan_step(eg_stage_planner *planner, eg_whole_step *step,
                               const eg_slice *slice, const part *on, const char *roles,
                               eg_stage_plan *out) {
  const egraph_search *search = planner->call->request->search;
  eg_plan_context context = planner->call->context;
  EG_OWNED(eg_planning, planning);
  context.machine = &on->machine;
  eg_planner_input input = {.context = &context,
                            .as_given = true,
                            .mesh = &on->mesh,
                            .baseline = roles[0] != '\0' ? roles : NULL,
                            .budget = EG_LAYOUT_OPTIONS_DEFAULT};
  input.budget.time_limit_seconds =
      fmax(TIME_SHARE * (planner->deadline - eg_clock_seconds()), LEAST_SECONDS);
  input.budget.work_limit = (uint64_t)fmin(planner->work, 1e18);
  input.budget.by_work = planner->by_work;
  input.budget.relative_gap =
      search->relative_gap >= 0 ? search->relative_gap : DEFAULT_GAP;
  input.budget.progress = report_stage_progress;
  input.budget.user = planner;
  egraph_status status = eg_whole_step_plan(step, &input, &planning);
  if (status == EGRAPH_E_ARGUMENT) { // these roles split no operator
    *out = (eg_stage_plan){.is_proven = true};
    return EGRAPH_OK;
  }
  EG_TRY(status);
  *out = (eg_stage_plan){.is_proven = planning.status == EG_LAYOUT_INFEASIBLE ||
                                      planning.status == EG_LAYOUT_NO_MEMORY,
                         .least_bytes = planning.least_memory};
  return planning.has_plan ? read_plan(planner, slice, &planning.emitted.plan, out)
                           : EGRAPH_OK;
}

static egraph_status plan_slice(eg_stage_planner *planner, const eg_slice *slice,
                                const eg_stage_place *place, eg_stage_plan *out) {
  const eg_request *request = planner->call->request;
  part on;
  char roles[160];
  EG_LOCAL(eg_plan_constraints, constraints, request->alloc);
  EG_HELD(eg_whole_step, step);
  EG_TRY(take_part(planner->call->context.machine, place, &on));
  write_roles(place, roles, sizeof roles);
  // Roles apply to weights. Therefore a stage without trained weights gets a free search.
  if (eg_strmap_len(&slice->trained) == 0) roles[0] = '\0';
  EG_TRY(eg_plan_constraints_parse(&constraints, "stages", DELIVERED, strlen(DELIVERED),
                                   false));
  const eg_whole_input input = {.forward = slice->graph,
                                .training = &slice->training,
                                .folds = !request->search->no_fold,
                                .constraints = &constraints,
                                .memory_limit = planner->most_bytes};
  EG_TRY(eg_whole_step_create(request->alloc, &input, false, &step));
  return plan_step(planner, step, slice, &on, roles, out);
}

static egraph_status plan_once(eg_stage_planner *planner, eg_slice *slice,
                               const eg_stage_place *place, eg_stage_plan *out) {
  uint32_t number;
  EG_TRY(eg_text_printf(&slice->key, " %u %u %u %d %a", place->nodes, place->outer,
                        place->inner, (int)place->roles, planner->most_bytes));
  if (eg_strmap_find(&planner->known, eg_text_of(&slice->key), &number)) {
    *out = planner->plans.data[number];
    return EGRAPH_OK;
  }
  EG_TRY(plan_slice(planner, slice, place, out));
  EG_TRY(eg_strmap_put(&planner->known, eg_text_of(&slice->key),
                       (uint32_t)planner->plans.len));
  return eg_stage_plans_push(&planner->plans, *out);
}

egraph_status eg_stage_planner_plan(eg_stage_planner *planner, uint32_t first,
                                    uint32_t last, const eg_stage_place *place,
                                    eg_stage_plan *out) {
  assert(first <= last && last < eg_layered_count(planner->layered));
  EG_OWNED(eg_slice, slice);
  *out = (eg_stage_plan){.has_plan = false};
  planner->asked++;
  if (report_stage_progress(planner, 0, 0, 0)) return EGRAPH_OK;
  EG_TRY(eg_slice_init(&slice, planner->layered, planner->call->training, first, last));
  return plan_once(planner, &slice, place, out);
}
