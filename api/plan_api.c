// Public functions that plan for several devices: the step is made once, then planned on
// every mesh.
// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "api/machine_profile.h"
#include "api/option_structs.h"
#include "api/plan_rivals.h"
#include "api/require.h"
#include "api/trained.h"
#include "base/proof.h"
#include "optimize/plan/whole_step.h"
#include "pcg/open_sizes.h"
#include "pcg/training_options.h"

// The default limit is work, so that the same plan is found on a busy machine too; the
// clock ends what takes six times as long. A time limit of the user's alone is work too,
// a billion steps a second.
static const double DEFAULT_STEPS = 60e9, DEFAULT_SECONDS = 360.0, LEAST_SECONDS = 0.01;
static const double STEPS_PER_SECOND = 1e9;
static const double NO_TIME_LIMIT = 1e9; // seconds: work decides
static const double STEPS_OF_WORK = 1e6; // in a unit of work_limit
// What will do once a search has spent a few seconds' work.
static const double LATE_GAP = 1e-3;
static const uint64_t LATE_WORK = UINT64_C(3000000000);
static const double PROVEN_GAP = 1e-9, MEASURING_SHARE = 0.5;
static const double CERTIFICATE_SHARE = 0.25; // of the time, kept back
static const double ROUNDING = 3e-9;          // of a certificate's sums

typedef struct plan_job {
  const egraph_plan_options *options;
  const eg_graph *graph;
  eg_training_options training;
  eg_saturation_options saturation;
  double time_limit, start;
  double work; // steps, of all meshes together
  egraph_plan *plan;
  eg_whole_step *step;
  eg_machine machine;
  eg_cost_model *costs;  // profile of the machine's device, or NULL
  eg_measured_host host; // whom the profile is taken of, with options.measure
  eg_text mesh_name;     // of the mesh at work
  double bound, least_memory;
  eg_machine_mesh best_mesh; // of the plan
  double best_bound;         // of all plans on it
  bool is_cancelled;
  bool is_infeasible; // on all meshes up to now
  bool is_of_reached; // bounds are of variants that some search has reached
  eg_plan_constraints constraints;
  eg_text ruled_out; // why the constraints leave no plan on the first such mesh
  uint32_t ruled_out_meshes;
  eg_rival_list rivals;
} plan_job;

static double elapsed(const plan_job *job) { return eg_clock_seconds() - job->start; }

static bool on_progress(void *user, double cost, double bound, double seconds) {
  (void)seconds;
  plan_job *job = user;
  const egraph_plan_options *o = job->options;
  if (o->progress != NULL && !job->is_cancelled &&
      o->progress(o->user, eg_text_of(&job->mesh_name), cost, bound, elapsed(job)))
    job->is_cancelled = true;
  return job->is_cancelled;
}

// ---- options --------------------------------------------------------------------

static egraph_status check_amount(const char *name, double value) {
  if (value >= 0 && !isinf(value)) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT, "%s is %g; it must be 0 or more, and finite", name,
                 value);
}

static egraph_status read_training(const egraph_plan_options *o,
                                   eg_training_options *out) {
  *out = (eg_training_options)EG_TRAINING_OPTIONS_DEFAULT;
  if (o->optimizer == NULL) return EGRAPH_OK;
  if (!eg_optimizer_find(o->optimizer, &out->optimizer))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "there is no optimizer '%.64s'; choose sgd, momentum, adam or adamw",
                   o->optimizer);
  if (o->loss != NULL && !eg_loss_find(o->loss, &out->loss))
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "there is no loss '%.64s'; choose softmax-cross-entropy, "
                   "softmax-cross-entropy-of-probabilities or mean-squared-error",
                   o->loss);
  if (o->micro_batches != 0) out->micro_batches = o->micro_batches;
  out->clip_norm = o->clip_norm;
  out->mixed_precision = o->mixed_precision;
  out->weight_decay = o->weight_decay;
  out->parameters = (eg_parameter_wish){o->freeze, o->train_only, o->freeze_count,
                                        o->train_only_count, NULL};
  return EGRAPH_OK;
}

static egraph_status read_limit(const char *name, uint64_t value, uint32_t initial,
                                uint32_t *out) {
  *out = value == 0 ? initial : (uint32_t)value;
  if (value <= UINT32_MAX) return EGRAPH_OK;
  return EG_FAIL(EGRAPH_E_ARGUMENT, "%s must be at most %u", name, UINT32_MAX);
}

static bool on_saturate(void *user, uint32_t iteration, uint32_t nodes,
                        uint32_t classes) {
  (void)iteration, (void)nodes, (void)classes;
  return on_progress(user, INFINITY, 0, 0);
}

/// Where nothing is said, the defaults of egraph_optimize.
static egraph_status read_saturation(plan_job *job) {
  const egraph_plan_options *o = job->options;
  const egraph_options initial = egraph_options_default();
  eg_saturation_options *out = &job->saturation;
  *out = (eg_saturation_options)EG_SATURATION_OPTIONS_DEFAULT;
  EG_TRY(check_amount("saturate_time_limit", o->saturate_time_limit));
  EG_TRY(read_limit("node_limit", o->node_limit, (uint32_t)initial.node_limit,
                    &out->node_limit));
  EG_TRY(read_limit("iteration_limit", o->iteration_limit,
                    (uint32_t)initial.iteration_limit, &out->iteration_limit));
  out->time_limit_seconds = o->saturate_time_limit == 0 ? 15.0 : o->saturate_time_limit;
  out->byte_limit = (size_t)initial.byte_limit;
  out->math = o->math;
  out->progress = on_saturate;
  out->user = job;
  return EGRAPH_OK;
}

static egraph_status read_options(plan_job *job) {
  const egraph_plan_options *o = job->options;
  EG_TRY(check_amount("clip_norm", o->clip_norm));
  EG_TRY(check_amount("weight_decay", o->weight_decay));
  EG_TRY(check_amount("memory_limit", o->memory_limit));
  EG_TRY(check_amount("time_limit", o->time_limit));
  if (o->relative_gap > 0) EG_TRY(check_amount("relative_gap", o->relative_gap));
  if (isnan(o->relative_gap))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "relative_gap is not a number");
  job->time_limit = o->time_limit;
  job->work = (double)o->work_limit * STEPS_OF_WORK;
  if (o->work_limit == 0)
    job->work = o->time_limit != 0 ? STEPS_PER_SECOND * o->time_limit : DEFAULT_STEPS;
  if (o->time_limit == 0)
    job->time_limit = o->work_limit != 0 ? NO_TIME_LIMIT : DEFAULT_SECONDS;
  EG_TRY(read_saturation(job));
  return read_training(o, &job->training);
}

// ---- meshes ---------------------------------------------------------------------

/// Takes a plan over that is cheaper than what there is, and joins the bounds.
static void keep_best(plan_job *job, const eg_machine_mesh *mesh, eg_planning *planning) {
  egraph_plan *plan = job->plan;
  bool is_impossible =
      planning->status == EG_LAYOUT_NO_MEMORY || planning->status == EG_LAYOUT_INFEASIBLE;
  plan->report.meshes++;
  plan->report.space_seconds += planning->saturate_seconds + planning->space_seconds;
  plan->report.solve_seconds += planning->solve_seconds;
  plan->report.egraph_nodes = planning->nodes; // the same on every mesh
  plan->report.egraph_classes = planning->classes;
  plan->report.iterations = planning->iterations;
  plan->report.stop = eg_stop_name(planning->stop);
  plan->report.untried += planning->untried;
  job->is_of_reached = job->is_of_reached || planning->is_of_reached;
  if (!is_impossible) job->bound = fmin(job->bound, planning->bound);
  if (!is_impossible) job->is_infeasible = false;
  if (planning->least_memory > 0)
    job->least_memory = fmin(job->least_memory, planning->least_memory);
  if (!planning->has_plan || planning->cost >= plan->report.cost) return;
  if (plan->is_there) eg_loaded_plan_deinit(&plan->planned);
  plan->planned = (eg_loaded_plan){planning->emitted.graph, planning->emitted.plan};
  eg_u32s_deinit(&planning->emitted.value_of);
  plan->is_there = true;
  job->best_mesh = *mesh;
  job->best_bound = planning->bound;
  plan->report.cost = planning->cost;
  plan->report.memory = planning->memory;
  memcpy(plan->seed, planning->seed, sizeof plan->seed);
  plan->report.seed = plan->seed[0] != '\0' ? plan->seed : NULL;
  planning->has_plan = false;
}

/// One mesh without a plan leaves the others; the first says why, should there be none.
static egraph_status rule_out(plan_job *job) {
  job->plan->report.meshes++;
  if (job->ruled_out_meshes++ != 0) return EGRAPH_OK;
  return eg_text_append(&job->ruled_out, egraph_last_error());
}

/// NULL: none.
static const eg_rules *rules_of(const plan_job *job) {
  const eg_rules *rules = job->options->rules;
  return rules != NULL && eg_rules_count(rules) != 0 ? rules : NULL;
}

static eg_planner_input input_on_mesh(plan_job *job, const eg_machine_mesh *mesh,
                                      double seconds, double steps) {
  eg_planner_input input = {.machine = &job->machine,
                            .mesh = mesh,
                            .layout = EG_LAYOUT_OPTIONS_DEFAULT,
                            .compares = job->options->baselines,
                            .baseline = job->options->baseline,
                            .costs = job->costs,
                            .rules = rules_of(job),
                            .saturation = &job->saturation,
                            .algebra_first = job->options->algebra_first};
  input.layout.time_limit_seconds = fmax(seconds, LEAST_SECONDS);
  input.layout.work_limit = (uint64_t)fmin(fmax(steps, 1), 1e18);
  input.layout.relative_gap = fmax(job->options->relative_gap, 0);
  if (job->options->relative_gap == 0) {
    input.layout.late_gap = LATE_GAP;
    input.layout.late_work = LATE_WORK;
  }
  input.layout.progress = on_progress;
  input.layout.user = job;
  return input;
}

static egraph_status plan_on_mesh(plan_job *job, const eg_machine_mesh *mesh,
                                  double seconds, double steps) {
  const eg_planner_input input = input_on_mesh(job, mesh, seconds, steps);
  eg_text_clear(&job->mesh_name);
  EG_TRY(eg_mesh_print(&job->mesh_name, &mesh->mesh));
  eg_planning planning;
  egraph_status status = eg_whole_step_plan(job->step, &input, &planning);
  bool is_demanded = job->constraints.rows.len != 0 || job->options->baseline != NULL;
  if (status == EGRAPH_E_ARGUMENT && is_demanded) return rule_out(job);
  EG_TRY(status);
  eg_rival_list_join(&job->rivals, &planning, &mesh->mesh);
  keep_best(job, mesh, &planning);
  on_progress(job, planning.cost, planning.bound, 0);
  eg_planning_deinit(&planning);
  return EGRAPH_OK;
}

static egraph_status find_mesh(const plan_job *job, eg_machine_mesh *out) {
  eg_mesh mesh;
  EG_TRY(eg_mesh_parse(job->options->mesh, &mesh));
  return eg_machine_find_mesh(&job->machine, &mesh, out);
}

static void judge(const plan_job *job) {
  egraph_plan_report *report = &job->plan->report;
  bool is_all =
      !job->is_of_reached && strcmp(report->stop, eg_stop_name(EG_STOP_SATURATED)) == 0;
  report->gap =
      report->cost > 0 ? fmax(report->cost - report->bound, 0) / report->cost : 0;
  report->proven_over = is_all ? "all variants" : "variants reached";
  if (report->gap > PROVEN_GAP)
    report->status = "feasible";
  else
    report->status = is_all ? "optimal" : "optimal of the variants reached";
}

static void conclude(plan_job *job, uint32_t meshes) {
  egraph_plan_report *report = &job->plan->report;
  bool is_whole = report->meshes == meshes;
  report->bound = is_whole && isfinite(job->bound) ? job->bound : 0;
  if (job->plan->is_there) {
    judge(job);
  } else {
    report->gap = INFINITY;
    report->proven_over = "all variants";
    report->status = is_whole && job->is_infeasible ? "infeasible" : "unknown";
    if (is_whole && !isinf(job->least_memory)) report->least_memory = job->least_memory;
  }
}

/// Time that the search leaves for a certificate.
static double kept_seconds(const plan_job *job) {
  return job->options->certificate != NULL ? CERTIFICATE_SHARE * job->time_limit : 0;
}

static egraph_status explain_uncertified(plan_job *job, eg_plan_certified outcome) {
  if (outcome == EG_PLAN_LOST)
    return eg_text_append(
        &job->plan->uncertified,
        "no certificate: the plan has operators that rules made in the search and not "
        "again for the whole step, because a limit cut them off; raise the limits of "
        "nodes, iterations and time of saturation, or leave rules out");
  return eg_text_append(
      &job->plan->uncertified,
      "no certificate: the plan's choices for folded blocks are no solution of the "
      "whole step at the same cost; plan without folding");
}

/// The certificate may prove more than the search did.
static egraph_status raise_bound(const plan_job *job, double checked) {
  egraph_plan_report *report = &job->plan->report;
  EG_TRY(eg_proof_check_bound("certificate of a plan", checked, report->cost));
  report->bound = fmin(fmax(report->bound, checked), report->cost); // but for rounding
  judge(job);
  return EGRAPH_OK;
}

static egraph_status write_certificate(plan_job *job, const eg_plan_certificate *made) {
  egraph_plan_report *report = &job->plan->report;
  const eg_chars *text = &made->text.chars;
  if (made->outcome != EG_PLAN_CERTIFIED) {
    EG_TRY(explain_uncertified(job, made->outcome));
    report->uncertified = eg_text_of(&job->plan->uncertified);
    return EGRAPH_OK;
  }
  EG_TRY(eg_file_write(job->options->certificate, text->data, text->len));
  if (report->meshes == 1 && made->is_all) EG_TRY(raise_bound(job, made->checked));
  report->checked = fmin(made->checked, report->bound);
  bool is_rounding = report->checked >= report->bound - ROUNDING * fabs(report->bound);
  if (is_rounding) report->checked = report->bound;
  return EGRAPH_OK;
}

static egraph_status certify(plan_job *job) {
  double left = job->time_limit - elapsed(job);
  const eg_planner_input input =
      input_on_mesh(job, &job->best_mesh,
                    job->is_cancelled ? LEAST_SECONDS : fmax(left, kept_seconds(job)),
                    CERTIFICATE_SHARE * job->work);
  const eg_plan_claim claim = {.plan = &job->plan->planned.plan,
                               .cost = job->plan->report.cost,
                               .bound = job->best_bound};
  eg_plan_certificate certificate;
  double start = elapsed(job);
  eg_plan_certificate_init(&certificate, job->plan->alloc);
  egraph_status status = eg_whole_step_certify(job->step, &input, &claim, &certificate);
  if (status == EGRAPH_OK) status = write_certificate(job, &certificate);
  eg_plan_certificate_deinit(&certificate);
  job->plan->report.certify_seconds = elapsed(job) - start;
  return status;
}

static egraph_status plan_on_meshes(plan_job *job) {
  eg_machine_mesh named;
  const eg_machine_mesh *meshes = job->machine.meshes;
  uint32_t count = job->machine.mesh_count;
  if (job->options->mesh != NULL) {
    EG_TRY(find_mesh(job, &named));
    meshes = &named;
    count = 1;
  }
  egraph_plan_report *report = &job->plan->report;
  report->devices = eg_mesh_devices(&meshes[0].mesh);
  report->micro_batches =
      job->options->optimizer != NULL ? job->training.micro_batches : 1;
  report->nodes = eg_graph_node_count(eg_whole_step_graph(job->step));
  report->blocks = eg_whole_step_blocks(job->step);
  report->prepare_seconds = elapsed(job);
  double end = job->time_limit - kept_seconds(job);
  for (uint32_t i = 0; i < count && !job->is_cancelled; i++)
    EG_TRY(plan_on_mesh(job, &meshes[i], (end - elapsed(job)) / (count - i),
                        job->work / count));
  if (job->ruled_out_meshes == count)
    return EG_FAIL(EGRAPH_E_ARGUMENT, "%s", eg_text_of(&job->ruled_out));
  conclude(job, count);
  bool is_certified = job->options->certificate != NULL && job->plan->is_there;
  return is_certified ? certify(job) : EGRAPH_OK;
}

// ---- the whole ------------------------------------------------------------------

static egraph_status plan_forward(plan_job *job, const eg_graph *forward) {
  const egraph_plan_options *o = job->options;
  eg_whole_input input = {.forward = forward,
                          .training = o->optimizer != NULL ? &job->training : NULL,
                          .folds = !o->no_fold,
                          .constraints =
                              job->constraints.rows.len != 0 ? &job->constraints : NULL,
                          .memory_limit = job->plan->report.memory_limit};
  EG_TRY(
      eg_whole_step_create(job->plan->alloc, &input, rules_of(job) != NULL, &job->step));
  egraph_status status = plan_on_meshes(job);
  eg_whole_step_destroy(job->step);
  return status;
}

/// Constants are computed before anything is planned; what is trained is known by name
/// from here on.
static egraph_status plan_graph(plan_job *job) {
  bool trains = job->options->optimizer != NULL;
  eg_strmap trained;
  eg_graph *forward = NULL;
  eg_strmap_init(&trained, job->plan->alloc);
  if (trains) EG_TRY(eg_training_options_check(job->graph, &job->training));
  egraph_status status = eg_trained_prepare(
      job->graph, trains ? &job->training.parameters : NULL, &trained, &forward);
  job->training.parameters.chosen = &trained;
  if (status == EGRAPH_OK) status = plan_forward(job, forward);
  eg_graph_destroy(forward);
  eg_strmap_deinit(&trained);
  return status;
}

static egraph_status read_constraints(plan_job *job) {
  const char *file = job->options->constraints_file, *text = job->options->constraints;
  if (file != NULL) EG_TRY(eg_plan_constraints_read(&job->constraints, file));
  if (text == NULL) return EGRAPH_OK;
  return eg_plan_constraints_parse(&job->constraints, "constraints", text, strlen(text),
                                   false);
}

static egraph_status describe(plan_job *job) {
  EG_TRY(eg_rival_list_finish(&job->rivals, job->plan->report.memory_limit,
                              &job->plan->planned.plan, job->plan->alloc));
  return eg_planned_describe(job->plan);
}

/// Measuring leaves time for planning.
static bool stops_measuring(void *user) {
  plan_job *job = user;
  return elapsed(job) > MEASURING_SHARE * job->time_limit ||
         on_progress(job, INFINITY, 0, 0);
}

static egraph_status plan_for_machine(plan_job *job) {
  const egraph_plan_options *o = job->options;
  EG_TRY(read_constraints(job));
  job->host.stop = stops_measuring;
  job->host.user = job;
  egraph_status status = eg_planning_machine_open(&job->plan->alloc, o, &job->host,
                                                  &job->machine, &job->costs);
  job->plan->report.memory_limit =
      o->memory_limit != 0 ? o->memory_limit : job->machine.memory_bytes;
  if (status == EGRAPH_OK) status = plan_graph(job);
  job->plan->report.measured = job->host.measured;
  eg_cost_model_destroy(job->costs);
  eg_measured_host_close(&job->host);
  eg_machine_deinit(&job->machine);
  if (status == EGRAPH_OK && job->plan->is_there) status = describe(job);
  job->plan->report.total_seconds = elapsed(job);
  return status;
}

egraph_status egraph_plan_create(const egraph_allocator *alloc, const egraph_graph *graph,
                                 const egraph_plan_options *options, egraph_plan **out) {
  EG_REQUIRE(graph, out);
  egraph_plan_options own;
  EG_TRY(eg_options_take(EGRAPH_PLAN_OPTIONS, options, &own));
  plan_job job = {.options = &own,
                  .graph = graph,
                  .start = eg_clock_seconds(),
                  .rivals = {.is_wanted = own.baselines},
                  .bound = INFINITY,
                  .least_memory = INFINITY,
                  .is_infeasible = true};
  EG_TRY(eg_graph_check_fixed(graph, "a plan"));
  EG_TRY(eg_graph_check_known(graph, "planned"));
  EG_TRY(read_options(&job));
  if (job.options->certificate != NULL) EG_TRY(eg_file_remove(job.options->certificate));
  EG_TRY(eg_planned_create(alloc, &job.plan));
  eg_text_init(&job.mesh_name, job.plan->alloc);
  eg_text_init(&job.ruled_out, job.plan->alloc);
  eg_plan_constraints_init(&job.constraints, job.plan->alloc);
  egraph_status status = plan_for_machine(&job);
  eg_text_deinit(&job.mesh_name);
  eg_text_deinit(&job.ruled_out);
  eg_plan_constraints_deinit(&job.constraints);
  if (status == EGRAPH_OK)
    *out = job.plan;
  else
    egraph_plan_destroy(job.plan);
  return status;
}
