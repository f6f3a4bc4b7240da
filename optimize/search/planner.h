// Finds the cheapest plan of a step's graph on a mesh of devices.
//
//   graph -> e-graph -> saturate -> plan space -> layout problem -> solve -> plan
//
// The variants that rules make and their layouts are chosen together. Rules do not match
// across sums over micro-batches, nor from block to block of a folded step: values that
// are equal in one micro-batch need not be equal in the step, and a block that represents
// many is rewritten alone.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef EG_OPTIMIZE_SEARCH_PLANNER_H
#define EG_OPTIMIZE_SEARCH_PLANNER_H

#include "optimize/price/plan_price.h"
#include "optimize/search/budget.h"
#include "optimize/search/plan_compete.h"
#include "optimize/search/plan_folded.h"
#include "optimize/space/step_info.h"
#include "pcg/plan/plan_cost.h"
#include "rewrites/saturation/saturate.h"

/// The machine, its costs and the rules: the same for all searches of a call.
typedef struct eg_plan_context {
  const eg_machine *machine;
  eg_cost_model *costs;  // profile of the machine's device, or NULL
  bool plain_only;       // no memory formats except plain
  bool has_groups;       // operators as one kernel are choices
  bool makes_again;      // where the limit of memory binds, values may be made again
  const eg_rules *rules; // NULL: the graph as it is
  const eg_saturation_options *saturation; // NULL: defaults
} eg_plan_context;

/// A search for a plan of a step on a mesh.
typedef struct eg_planner_input {
  const eg_plan_context *context;
  bool as_given; // the graph as it is, though the context has rules or groups

  // The training step or model to plan:
  const eg_graph *graph;
  const eg_step_info *info;
  const eg_plan_constraints *constraints; // NULL: none

  // The mesh and its prices:
  const eg_machine_mesh *mesh;    // of the machine
  const eg_cost_weights *weights; // of all seconds; NULL: 1

  // Options of the search:
  bool algebra_first;   // cheapest graph first, then layouts (plan_algebra.h)
  bool compares;        // plan every baseline, for comparison
  bool is_alone;        // no baselines, neither to begin with nor afterwards
  const char *baseline; // plan this baseline instead (eg_axis_roles_parse); NULL: search
  const eg_plan_searcher *searcher; // runs instead of the product's search; NULL: none
  uint64_t seed;                    // for the searcher's random choices

  // Limits:
  eg_layout_options budget; // time and work of all stages, gap, progress
  double cut_seconds;       // folded step: time for its cut_bound and mates; 0: none
  uint64_t cut_work;        // likewise, steps; 0: no limit
  bool cut_only;            // folded step: finds only its cut_bound and mates

  // Known results:
  const eg_plan *known; // of this step, to begin the search with; NULL: none
  double known_cost;    // seconds of the known plan
  // Seconds of the cheapest plan so far, of any mesh; 0: there is none. The bound of a
  // folded step need not exceed it, and proves that plan, too
  double at_hand;
  eg_memory_hint hint; // of another mesh
  // Seconds: plans that take as long are useless, and nothing is searched if a bound
  // shows that all plans take as long; 0: no ceiling
  double ceiling;
  bool binds;           // the limit of memory is known to bind: no search without it
  const eg_plan *loose; // binds: cheapest plan above the limit, or NULL
  double floor;         // binds: a bound of all plans with unlimited memory; 0: none
  double cut_floor;     // a cut_bound that is known, for the first fold; 0: none
  // Bytes, for a search without the limit of memory: a plan above them is useless, and if
  // the folded step's plan (one block for many) is above, the whole step is not searched.
  // 0: none
  double answer_limit;
} eg_planner_input;

/// Returns the gap that suffices after the work so far, and `more` steps.
static inline double eg_planner_gap(const eg_planner_input *input, uint64_t more) {
  uint64_t done = input->budget.done != NULL ? *input->budget.done : 0;
  return fmax(eg_layout_gap_after(&input->budget, done + more), EG_PROVEN_GAP);
}
/// Returns the bound that proves the plan at hand after the work so far, and `more`
/// steps; INFINITY: there is no plan at hand.
static inline double eg_planner_enough(const eg_planner_input *input, uint64_t more) {
  double gap = eg_planner_gap(input, more);
  return input->at_hand > 0 ? input->at_hand * (1 - gap) : INFINITY;
}
/// Returns the rewrite rules of a search; NULL: none.
static inline const eg_rules *eg_planner_rules(const eg_planner_input *input) {
  return input->as_given ? NULL : input->context->rules;
}
/// True when groups of operators are choices of a search.
static inline bool eg_planner_has_groups(const eg_planner_input *input) {
  return !input->as_given && input->context->has_groups;
}
/// Fills the price callbacks of a search on a mesh. Fails as eg_device_cost_init.
egraph_status eg_planner_costs(const eg_planner_input *input, const eg_machine_mesh *mesh,
                               eg_machine_costs *out);

/// The plan of a baseline (data parallel, ...) or the reason why it has none.
typedef struct eg_baseline_outcome {
  bool is_tried;
  char name[EG_RIVAL_NAME_SIZE];
  eg_baseline_obstacle obstacle;
  eg_layout_status status;
  double cost, memory, least_memory; // as in eg_fitted_plan
  bool has_summary;
  eg_plan_summary summary; // of its plan
} eg_baseline_outcome;

/// Indexes of baseline results: the baselines with a name, then the cheapest baseline
/// without a name (eg_baselines_of_mesh).
enum { EG_BASELINE_OTHER = EG_BASELINES, EG_BASELINE_OUTCOMES };

typedef struct eg_planning {
  eg_layout_status status; // this and the next figures as in eg_fitted_plan
  double cost, bound, gap; // seconds of a step; gap = (cost - bound) / cost
  double memory, kept;     // bytes of a device
  double least_memory;
  bool exceeds;  // the plan exceeds the limit of memory, which its search ignored
  bool is_exact; // eg_plan_space
  // The bound covers only the variants that a search reached, although rules came to an
  // end: a folded step lacks some variants of the whole step
  bool is_of_reached;
  bool makes_again;    // values may be made again: the limit of memory binds
  bool is_beaten;      // not searched, because the bound is above the input's ceiling
  bool is_skipped;     // without rules: its bound is far above the ceiling
  bool is_as_given;    // rules came to an end without a new variant; there are no groups
  double cut_bound;    // folded step: bound of the whole step; 0: not known
  eg_memory_hint hint; // of the cut
  bool is_cancelled;
  uint32_t nodes, classes, iterations; // of the e-graph
  uint32_t compared[EG_PRICE_BASES];   // strategies by source of their price
  uint32_t places, arcs; // of the layout problem: values in their layouts, transitions
  eg_stop stop;          // of saturation
  double saturate_seconds, space_seconds, solve_seconds; // the last with the cut
  bool has_plan;
  eg_emitted_plan emitted;
  // For a folded step whose memory limit may bind; plan_folded.h mixes them.
  eg_mates mates;
  char seed[EG_RIVAL_NAME_SIZE]; // baseline whose plan this is; "": the search's
  uint32_t untried; // baselines that may be cheaper but were not planned for lack of time
  eg_baseline_outcome baseline[EG_BASELINE_OUTCOMES];
  double single_seconds;     // of a step on one device of unlimited memory; 0: not known
  eg_plan_searched searched; // of another search
} eg_planning;

/// Plans a step. The search begins with the cheapest baseline of the given graph or, if
/// rules have made variants, with the cheapest plan found without rules. After a search
/// without a proof, the baselines that may be cheaper are planned while time is left; the
/// cheapest plan wins, so that no tried baseline is cheaper than the result. With a
/// search by another algorithm, its plan is the result, without a bound, even if it does
/// not fit. Limits and "does not fit" are results. Fails with EGRAPH_E_UNSUPPORTED
/// (operators of unknown type, too many layouts), EGRAPH_E_TYPE (an unsound rule),
/// EGRAPH_E_ARGUMENT (constraints that leave no plan on this mesh), EGRAPH_E_MEMORY.
egraph_status eg_planner_run(egraph_allocator alloc, const eg_planner_input *input,
                             eg_planning *out);
/// Finds, without a search, the best mixture of the plans `kind`: each equal block of the
/// step takes its choices from one plan (plan_folded.h). Fails like eg_planner_run.
egraph_status eg_planner_mix(egraph_allocator alloc, const eg_planner_input *input,
                             const eg_plan *const *kind, uint32_t kinds,
                             eg_planning *out);
/// Makes a certificate (plan_compete.h) of a plan of the input's step in an initialized
/// *out, within the input's time and work, without a search. Fails like eg_planner_run.
egraph_status eg_planner_certify(egraph_allocator alloc, const eg_planner_input *input,
                                 const eg_plan_claim *claim, eg_plan_certificate *out);
/// Runs eg_saturate, after it has sealed the values through which rules must not match;
/// `info` describes the graph from which `egraph` was made.
egraph_status eg_plan_apply_rules(eg_tensor_egraph *egraph, const eg_step_info *info,
                                  const eg_rules *rules,
                                  const eg_saturation_options *options,
                                  eg_saturation_report *out_report);
/// Creates the e-graph of the input's step, applies the rules, and fills the figures of
/// saturation; the caller owns the e-graph, also after a failure. `*out_given_nodes`:
/// nodes before groups and rules. Fails like eg_planner_run.
egraph_status eg_planning_saturate(eg_planning *out, egraph_allocator alloc,
                                   const eg_planner_input *input,
                                   const eg_step_info *info,
                                   eg_tensor_egraph **out_egraph,
                                   uint32_t *out_given_nodes);
/// Sets the gap and the status from cost and bound, if there is a plan.
void eg_planning_judge(eg_planning *planning);
/// Fills in the result of a baseline plan. Fails with EGRAPH_E_MEMORY.
egraph_status eg_baseline_outcome_note(eg_baseline_outcome *outcome,
                                       egraph_allocator alloc, const char *name,
                                       const eg_baseline_obstacle *obstacle,
                                       const eg_fitted_plan *plan);
/// Plans equal blocks by several plans, as `input` says; fills the model of `input`.
/// Fails like eg_plan_mix.
egraph_status eg_planning_mix(eg_planning *out, egraph_allocator alloc,
                              const eg_plan_space *space, eg_mix_input *input,
                              const eg_mesh *mesh);
void eg_planning_deinit(eg_planning *planning);

#endif
