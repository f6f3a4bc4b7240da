// One linear program serves the whole tree: a node of the tree sets the ranges of the
// columns on its path, and the dual simplex continues from the current basis. Cuts are
// valid everywhere and stay. Nodes are taken in the order of their bounds, the newest
// first among equal bounds, which makes a dive. Bounds come from the multipliers
// (ilp_glpk.h), so they are valid whatever GLPK's tolerances; solutions are evaluated on
// the original problem.
// SPDX-License-Identifier: Apache-2.0
#include "extract/search/exact.h"

#include <float.h>
#include <math.h>

#include "base/hash.h"
#include "base/owner.h"
#include "extract/class_graph.h"
#include "extract/containers.h"
#include "extract/search/extract_search.h"
#include "extract/search/formulation.h"
#include "extract/search/greedy.h"

// ---- local search -----------------------------------------------------------------

// Iterated local search over choices of any cost. A descent changes the node of one class
// in use at a time and keeps the first improvement; once in a while it also keeps a
// change of equal cost, to cross plateaus. A kick changes a few classes of the best
// choice of this run; a descent follows each kick.

enum {
  MIN_KICK = 2,
  MAX_KICK = 9,
  EDGE_WORK = 4,
  PATIENCE = 20 // kicks in a row without success, for each class that can move
};

typedef struct descent {
  eg_incumbent *incumbent;
  const eg_u32s *candidate_begin; // [class + 1], rows of `candidates`
  const eg_u32s *candidates;      // nodes of the original problem that a class may take
  eg_rng *rng;
  uint64_t budget; // limit of work, in classes and edges walked
  eg_u32s current, best, trial;
  eg_u32s movable; // classes in use with a choice, shuffled
  double cost, best_cost;
  uint64_t work;
} descent;
EG_OWNER_DEFINE_STATIC(descent, (eg_u32s, current, best, trial, movable))

static egraph_status evaluate(descent *d, double *out_cost) {
  size_t classes = d->current.len;
  memcpy(d->trial.data, d->current.data, classes * sizeof(uint32_t));
  d->work += classes * EDGE_WORK;
  return eg_incumbent_evaluate(d->incumbent, d->trial.data, out_cost);
}

static uint32_t candidate_count(const descent *d, uint32_t class) {
  assert(class + 1 < d->candidate_begin->len);
  return d->candidate_begin->data[class + 1] - d->candidate_begin->data[class];
}

/// Collects the classes in use: the last evaluation leaves only these in d->trial.
static egraph_status collect_movable(descent *d) {
  double cost;
  EG_TRY(evaluate(d, &cost));
  d->movable.len = 0;
  for (uint32_t class = 0; class < d->current.len; class ++)
    if (d->trial.data[class] != EG_EXTRACT_NONE && candidate_count(d, class) > 1)
      EG_TRY(eg_u32s_push(&d->movable, class));
  eg_shuffle(d->rng, d->movable.data, d->movable.len);
  return EGRAPH_OK;
}

static bool is_over_budget(const descent *d) {
  return d->work >= d->budget || eg_incumbent_stop(d->incumbent);
}

static egraph_status try_class(descent *d, uint32_t class, bool *improved) {
  assert(class < d->current.len);
  uint32_t *slot = &d->current.data[class];
  for (uint32_t i = d->candidate_begin->data[class];
       i < d->candidate_begin->data[class + 1]; i++) {
    uint32_t before = *slot;
    if (d->candidates->data[i] == before) continue;
    double cost;
    *slot = d->candidates->data[i];
    EG_TRY(evaluate(d, &cost));
    bool better = cost < d->cost - 1e-12 * fabs(d->cost);
    bool level = cost <= d->cost && eg_rng_below(d->rng, 4) == 0;
    if (!better && !level) {
      *slot = before;
      continue;
    }
    d->cost = cost;
    *improved = *improved || better;
  }
  return EGRAPH_OK;
}

static egraph_status keep_best(descent *d) {
  assert(d->best.len == d->current.len);
  if (!(d->cost < d->best_cost)) return EGRAPH_OK;
  double cost;
  d->best_cost = d->cost;
  memcpy(d->best.data, d->current.data, d->current.len * sizeof(uint32_t));
  return eg_incumbent_offer(d->incumbent, d->best.data, &cost);
}

static egraph_status descend(descent *d) {
  for (bool improved = true; improved && !is_over_budget(d);) {
    improved = false;
    EG_TRY(collect_movable(d));
    for (size_t i = 0; i < d->movable.len && !is_over_budget(d); i++)
      EG_TRY(try_class(d, d->movable.data[i], &improved));
    EG_TRY(keep_best(d));
  }
  return EGRAPH_OK;
}

/// Changes the nodes of a few classes at random; takes back changes that close a cycle.
static egraph_status kick_classes(descent *d) {
  memcpy(d->current.data, d->best.data, d->current.len * sizeof(uint32_t));
  EG_TRY(collect_movable(d));
  d->cost = d->best_cost;
  uint64_t count = MIN_KICK + eg_rng_below(d->rng, MAX_KICK - MIN_KICK + 1);
  for (uint64_t i = 0; i < count && i < d->movable.len; i++) {
    uint32_t class = d->movable.data[i], before = d->current.data[class];
    uint32_t pick = (uint32_t)eg_rng_below(d->rng, candidate_count(d, class));
    double cost;
    d->current.data[class] = d->candidates->data[d->candidate_begin->data[class] + pick];
    EG_TRY(evaluate(d, &cost));
    if (isinf(cost))
      d->current.data[class] = before;
    else
      d->cost = cost;
  }
  return EGRAPH_OK;
}

/// Improves `choice` (a node for every class that a change may need) while changing one
/// class helps; then changes a few classes at random and tries again until the budget is
/// used up. Every better choice goes to the incumbent.
static egraph_status search_choices(descent *d, eg_u32s *choice) {
  EG_TRY(eg_u32s_append(&d->current, choice->data, choice->len));
  EG_TRY(eg_u32s_resize(&d->best, choice->len));
  EG_TRY(eg_u32s_resize(&d->trial, choice->len));
  EG_TRY(evaluate(d, &d->cost));
  if (isinf(d->cost)) return EGRAPH_OK;
  EG_TRY(keep_best(d));
  EG_TRY(descend(d));
  for (size_t failed = 0; !is_over_budget(d) && failed < PATIENCE * d->movable.len;
       failed++) {
    double before = d->best_cost;
    EG_TRY(kick_classes(d));
    EG_TRY(descend(d));
    if (d->best_cost < before) failed = 0;
  }
  choice->len = 0;
  return eg_u32s_append(choice, d->best.data, d->best.len);
}

// ---- branch and cut ---------------------------------------------------------------

enum {
  ROOT_ROUNDS = 100,
  NODE_ROUNDS = 10,
  CUTS_PER_ROUND = 50,
  SPARE_ROWS = 2000, // cuts beyond which slack cuts are purged
  ROUNDING_EVERY = 20
};
static const double SCALED_COST = 100, INTEGRAL = 1e-6, ROUNDING = 1e-9;
static const uint64_t FIRST_WORK = 400000000, LATER_WORK = 2000000;

// A node of the tree: it fixes one column more than its parent.
typedef struct tree_node {
  uint32_t parent, column;
  uint8_t value;
} tree_node;
EG_VEC_DEFINE(tree_nodes, tree_node);

typedef struct solver {
  egraph_allocator alloc;
  eg_incumbent *incumbent;
  eg_formulation model;
  eg_u32s candidates; // original node of every member, in the rows of model.index
  eg_lp *lp;
  eg_lp_rows rows;
  uint32_t base_rows;
  double scale;
  double rounding;      // absolute: sums of positive and negative costs may be near 0
  eg_doubles low, high; // [column] ranges at the root
  eg_u32s touched;      // columns whose range the current node has changed
  tree_nodes nodes;
  eg_cost_heap open;
  eg_doubles bent; // costs for the rounding
  eg_u32s choice;
  eg_rng rng;
  double bound; // bound of the current node, INFINITY between nodes
} solver;
#define SOLVER_MEMBERS                                                                   \
  (eg_u32s, candidates, touched, choice), (eg_doubles, low, high, bent),                 \
      (tree_nodes, nodes), (eg_cost_heap, open)

static void solver_deinit(solver *s) {
  eg_lp_destroy(s->lp);
  eg_lp_rows_deinit(&s->rows);
  eg_formulation_deinit(&s->model);
  EG_DEINIT_MEMBERS(s, SOLVER_MEMBERS);
}

/// Returns the cutoff: solutions of this cost or more are ignored.
static double cutoff(const solver *s) {
  return eg_incumbent_cutoff(s->incumbent) - s->rounding;
}

static void update_bound(solver *s) {
  double bound = s->bound;
  if (s->open.len != 0 && s->open.data[0].cost < bound) bound = s->open.data[0].cost;
  eg_incumbent_raise(s->incumbent, bound);
}

// ---- upper bounds ----------------------------------------------------------------

/// Runs local search; classes without a choice take the first candidate, so that a change
/// may need them.
static egraph_status improve_choice(solver *s, uint64_t work) {
  const eg_class_index *index = &s->model.index;
  for (uint32_t class = 0; class < s->choice.len; class ++)
    if (s->choice.data[class] == EG_EXTRACT_NONE &&
        eg_class_index_member_count(index, class) != 0)
      s->choice.data[class] = s->candidates.data[index->member_begin.data[class]];
  EG_LOCAL_WITH(descent, d, s->alloc, .incumbent = s->incumbent,
                .candidate_begin = &index->member_begin, .candidates = &s->candidates,
                .rng = &s->rng, .budget = work, .best_cost = INFINITY);
  EG_TRY_IN_PART(s->incumbent->clock, EGRAPH_PART_GREEDY, search_choices(&d, &s->choice));
  eg_incumbent_count(s->incumbent, work);
  return EGRAPH_OK;
}

/// Offers a choice rounded from x. Derives the classes cheapest first, where a node costs
/// more the smaller its x is; therefore the choice is acyclic for any x.
static egraph_status round_solution(solver *s, const double *x, uint64_t work) {
  const eg_extract_problem *problem = &s->model.reduced.problem;
  uint32_t nodes = eg_extract_node_count(problem);
  s->bent.len = 0;
  for (uint32_t n = 0; n < nodes; n++)
    EG_TRY(eg_doubles_push(&s->bent, x[n] < 1 ? 1.001 - x[n] : 0.001));
  s->choice.len = 0;
  EG_TRY(eg_u32s_resize(&s->choice, problem->class_count));
  eg_greedy greedy = {s->alloc, problem, &s->model.index, 0};
  EG_TRY(eg_greedy_run(&greedy, EG_GREEDY_TREE, s->bent.data, s->choice.data));
  for (uint32_t class = 0; class < problem->class_count; class ++)
    if (s->choice.data[class] != EG_EXTRACT_NONE)
      s->choice.data[class] = s->model.reduced.part.data[s->choice.data[class]];
  return improve_choice(s, work);
}

/// Offers the choice of an integral x.
static egraph_status offer_integral(solver *s, const double *x) {
  assert(x != NULL);
  const eg_extract_problem *problem = &s->model.reduced.problem;
  EG_TRY(eg_fill_none(&s->choice, problem->class_count));
  for (uint32_t n = 0; n < eg_extract_node_count(problem); n++)
    if (x[n] > 0.5)
      s->choice.data[problem->node_class.data[n]] = s->model.reduced.part.data[n];
  double cost;
  return eg_incumbent_offer(s->incumbent, s->choice.data, &cost);
}

// ---- bounds ----------------------------------------------------------------------

static bool is_integral(const double *x, uint32_t count) {
  for (uint32_t n = 0; n < count; n++)
    if (x[n] > INTEGRAL && x[n] < 1 - INTEGRAL) return false;
  return true;
}

typedef enum node_outcome { NODE_CLOSED, NODE_OPEN, NODE_STOPPED } node_outcome;

static egraph_status solve_program(solver *s, double limit, eg_lp_state *out) {
  EG_TRY_IN_PART(s->incumbent->clock, EGRAPH_PART_LP,
                 eg_extract_search_solve_lp(s->incumbent, s->lp, limit, out));
  return EGRAPH_OK;
}

static egraph_status find_cuts(solver *s, const double *x) {
  const eg_extract_problem *problem = &s->model.reduced.problem;
  eg_lp_rows_clear(&s->rows);
  EG_TRY_IN_PART(s->incumbent->clock, EGRAPH_PART_SEPARATION,
                 eg_formulation_cuts(&s->model, x, CUTS_PER_ROUND, &s->rows));
  eg_incumbent_count(s->incumbent, (1 + (uint64_t)eg_lp_rows_count(&s->rows)) *
                                       (problem->node_class.len + problem->children.len));
  return EGRAPH_OK;
}

static egraph_status solve_once(solver *s, node_outcome *out) {
  double limit = cutoff(s) * s->scale;
  eg_lp_state state;
  *out = NODE_STOPPED;
  if (eg_incumbent_stop(s->incumbent)) return EGRAPH_OK;
  EG_TRY(solve_program(s, limit + 1e-6 * fabs(limit) + 1e-6, &state));
  if (state == EG_LP_LIMIT && eg_lp_bound(s->lp) < limit &&
      !eg_incumbent_stop(s->incumbent))
    EG_TRY(solve_program(s, DBL_MAX, &state)); // passed the limit by a hair
  double bound = eg_lp_bound(s->lp) / s->scale;
  if (bound > s->bound) s->bound = bound;
  bool closed = state == EG_LP_INFEASIBLE || s->bound >= cutoff(s);
  *out = closed ? NODE_CLOSED : state == EG_LP_OPTIMAL ? NODE_OPEN : NODE_STOPPED;
  return EGRAPH_OK;
}

/// Solves and adds cuts until none is violated, the bound stalls, or the node is closed.
static egraph_status bound_node(solver *s, int max_rounds, node_outcome *out) {
  uint32_t nodes = eg_extract_node_count(&s->model.reduced.problem);
  for (int round = 0;; round++) {
    double before = s->bound;
    EG_TRY(solve_once(s, out));
    if (*out != NODE_OPEN) return EGRAPH_OK;
    if (eg_incumbent_stop(s->incumbent)) *out = NODE_STOPPED;
    if (*out != NODE_OPEN) return EGRAPH_OK;
    const double *x = eg_lp_values(s->lp);
    bool integral = is_integral(x, nodes);
    double gain = s->bound - before, gap = cutoff(s) - s->bound;
    if (!integral && round >= max_rounds) return EGRAPH_OK;
    if (!integral && round > 2 && gain < 1e-3 * gap) return EGRAPH_OK;
    EG_TRY(find_cuts(s, x));
    if (eg_lp_rows_count(&s->rows) == 0) break;
    EG_TRY(eg_lp_add_rows(s->lp, &s->rows));
  }
  const double *x = eg_lp_values(s->lp);
  if (is_integral(x, nodes)) EG_TRY(offer_integral(s, x));
  if (s->bound >= cutoff(s)) *out = NODE_CLOSED;
  return EGRAPH_OK;
}

/// Fixes a column at its current bound (0 or 1) when its reduced cost raises the lower
/// bound past the cutoff.
static egraph_status fix_by_reduced_costs(solver *s) {
  assert(s->touched.len == 0);
  const double *reduced = eg_lp_reduced_costs(s->lp);
  double slack = (cutoff(s) - eg_lp_bound(s->lp) / s->scale) * s->scale;
  if (slack < 0) return EGRAPH_OK; // negative by rounding alone: the node is open
  slack += 1e-6 * (1 + fabs(slack));
  for (uint32_t j = 0; j < s->low.len; j++) {
    if (s->low.data[j] == s->high.data[j]) continue;
    if (reduced[j] > slack) s->high.data[j] = 0;
    if (reduced[j] < -slack) s->low.data[j] = 1;
    EG_TRY(eg_lp_set_range(s->lp, j, s->low.data[j], s->high.data[j]));
  }
  return EGRAPH_OK;
}

// ---- the tree --------------------------------------------------------------------

static egraph_status enter_tree_node(solver *s, uint32_t at) {
  assert(at == EG_EXTRACT_NONE || at < s->nodes.len);
  for (size_t i = 0; i < s->touched.len; i++) {
    uint32_t j = s->touched.data[i];
    EG_TRY(eg_lp_set_range(s->lp, j, s->low.data[j], s->high.data[j]));
  }
  s->touched.len = 0;
  for (; at != EG_EXTRACT_NONE; at = s->nodes.data[at].parent) {
    const tree_node *node = &s->nodes.data[at];
    EG_TRY(eg_u32s_push(&s->touched, node->column));
    EG_TRY(eg_lp_set_range(s->lp, node->column, node->value, node->value));
  }
  return EGRAPH_OK;
}

static bool is_touched(const solver *s, uint32_t column) {
  for (size_t i = 0; i < s->touched.len; i++)
    if (s->touched.data[i] == column) return true;
  return false;
}

/// Picks the most divided and most connected column; when all are integral, any
/// undecided one.
static uint32_t pick_column(const solver *s, const double *x) {
  const eg_extract_problem *problem = &s->model.reduced.problem;
  uint32_t best = EG_EXTRACT_NONE;
  double score = -1;
  for (uint32_t n = 0; n < s->low.len; n++) {
    if (s->low.data[n] == s->high.data[n]) continue;
    double split = x[n] < 0.5 ? x[n] : 1 - x[n];
    uint32_t links =
        1 + problem->child_begin.data[n + 1] - problem->child_begin.data[n] +
        eg_class_index_user_count(&s->model.index, problem->node_class.data[n]);
    double weight = split < INTEGRAL ? 0 : split * links;
    if (weight <= score || is_touched(s, n)) continue;
    score = weight;
    best = n;
  }
  return best;
}

static egraph_status push_side(solver *s, uint32_t parent, uint32_t column,
                               uint8_t value) {
  assert(column < s->low.len && value <= 1);
  uint32_t at = (uint32_t)s->nodes.len;
  EG_TRY(tree_nodes_push(&s->nodes, (tree_node){parent, column, value}));
  return eg_cost_heap_add(&s->open, s->bound, EG_EXTRACT_NONE - 1 - at);
}

/// Splits a node on a column. A node without a free column has one solution, which
/// is offered.
static egraph_status split_on_column(solver *s, uint32_t at) {
  const double *x = eg_lp_values(s->lp);
  uint32_t column = pick_column(s, x);
  if (column == EG_EXTRACT_NONE) return offer_integral(s, x);
  if (s->nodes.len >= EG_EXTRACT_NONE - 3)
    return EG_FAIL(EGRAPH_E_UNSUPPORTED, "the search tree has outgrown 32 bits");
  bool likely = x[column] >= 0.5;
  EG_TRY(push_side(s, at, column, !likely));
  return push_side(s, at, column, likely);
}

static egraph_status work_on_node(solver *s, uint32_t at, uint32_t count,
                                  bool *out_done) {
  node_outcome outcome;
  *out_done = true;
  EG_TRY(enter_tree_node(s, at));
  EG_TRY(bound_node(s, at == EG_EXTRACT_NONE ? ROOT_ROUNDS : NODE_ROUNDS, &outcome));
  // Rounds the bound up to the costs' unit: nodes with equal bounds are searched like
  // a dive.
  s->bound = eg_round_to_unit(s->bound, s->incumbent->unit);
  update_bound(s);
  if (outcome == NODE_STOPPED) *out_done = false;
  if (outcome != NODE_OPEN) return EGRAPH_OK;
  if (count % ROUNDING_EVERY == 0)
    EG_TRY(round_solution(s, eg_lp_values(s->lp), count == 0 ? FIRST_WORK : LATER_WORK));
  if (s->bound >= cutoff(s)) return EGRAPH_OK; // closed by the rounded solution
  if (at == EG_EXTRACT_NONE) EG_TRY(fix_by_reduced_costs(s));
  EG_TRY(split_on_column(s, at));
  if (eg_lp_row_count(s->lp) < s->base_rows + SPARE_ROWS) return EGRAPH_OK;
  return eg_lp_purge(s->lp, s->base_rows, 1e-3);
}

static egraph_status prepare_solver(solver *s, eg_extract_result *result) {
  const eg_extract_problem *problem = &s->model.reduced.problem;
  EG_TRY(eg_formulation_build(&s->model, s->incumbent->problem));
  uint32_t nodes = eg_extract_node_count(problem);
  result->reduced_nodes = nodes;
  result->reduced_classes = 0;
  for (uint32_t class = 0; class < problem->class_count; class ++)
    result->reduced_classes += eg_class_index_member_count(&s->model.index, class) != 0;
  for (uint32_t m = 0; m < nodes; m++)
    EG_TRY(eg_u32s_push(&s->candidates,
                        s->model.reduced.part.data[s->model.index.members.data[m]]));
  double largest = 0;
  for (uint32_t n = 0; n < nodes; n++)
    if (fabs(problem->cost.data[n]) > largest) largest = fabs(problem->cost.data[n]);
  s->scale = largest > 0 ? SCALED_COST / largest : 1;
  s->rounding = s->incumbent->unit > 0 ? 0 : ROUNDING * largest;
  EG_TRY(eg_doubles_resize(&s->low, nodes));
  EG_TRY(eg_doubles_resize(&s->high, nodes));
  for (uint32_t n = 0; n < nodes; n++) {
    s->high.data[n] = 1;
    EG_TRY(eg_doubles_push(&s->bent, problem->cost.data[n] * s->scale));
  }
  EG_TRY(eg_lp_create(s->alloc, nodes, s->bent.data, &s->lp));
  EG_TRY(eg_formulation_rows(&s->model, &s->rows));
  s->base_rows = eg_lp_rows_count(&s->rows);
  return eg_lp_add_rows(s->lp, &s->rows);
}

egraph_status eg_branch_cut_run(egraph_allocator alloc, eg_incumbent *incumbent,
                                eg_extract_result *result) {
  EG_OWNED(solver, s);
  EG_INIT_MEMBERS(&s, alloc, SOLVER_MEMBERS);
  s.alloc = alloc;
  s.incumbent = incumbent;
  s.bound = -INFINITY;
  s.rng = (eg_rng){incumbent->options->seed};
  EG_TRY(eg_formulation_init(&s.model, alloc));
  EG_TRY(eg_lp_rows_init(&s.rows, alloc));
  EG_TRY(prepare_solver(&s, result));
  EG_TRY(eg_u32s_append(&s.choice, incumbent->choice.data, incumbent->choice.len));
  bool done;
  EG_TRY(work_on_node(&s, EG_EXTRACT_NONE, 0, &done));
  for (uint32_t count = 1; done && s.open.len != 0; count++) {
    if (eg_incumbent_stop(s.incumbent)) return EGRAPH_OK;
    eg_cost_entry entry = eg_cost_heap_take(&s.open);
    s.bound = entry.cost;
    if (s.bound >= cutoff(&s)) break; // all other nodes have at least this bound
    EG_TRY(work_on_node(&s, EG_EXTRACT_NONE - 1 - entry.item, count, &done));
    if (!done) return EGRAPH_OK;
    s.bound = INFINITY;
    update_bound(&s);
  }
  if (done) eg_incumbent_raise(s.incumbent, s.incumbent->cost);
  return EGRAPH_OK;
}
