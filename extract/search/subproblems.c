// SPDX-License-Identifier: Apache-2.0
#include "extract/search/subproblems.h"

#include <math.h>
#include <stdlib.h>

#include "base/owner.h"
#include "base/parallel.h"
#include "extract/dual_ascent.h"

enum { ASCENT_CUTS = 20000, ASCENT_WORK = 50000000 };

static uint32_t find_representative(uint32_t *parent, uint32_t class) {
  while (parent[class] != class) {
    parent[class] = parent[parent[class]];
    class = parent[class];
  }
  return class;
}

/// Fills subproblem_of with the number of the subproblem of each class.
static egraph_status label_classes(const eg_extract_problem *model,
                                   eg_u32s *subproblem_of, uint32_t *out_count) {
  EG_TRY(eg_u32s_resize(subproblem_of, model->class_count));
  uint32_t *parent = subproblem_of->data;
  for (uint32_t class = 0; class < model->class_count; class ++)
    parent[class] = class;
  for (uint32_t n = 0; n < eg_extract_node_count(model); n++)
    EG_EACH_CHILD(model, n, child) {
      uint32_t a = find_representative(parent, model->node_class.data[n]);
      uint32_t b = find_representative(parent, child);
      if (a < b) parent[b] = a;
      if (b < a) parent[a] = b;
    }
  for (uint32_t class = 0; class < model->class_count; class ++)
    parent[class] = find_representative(parent, class);
  // A subproblem is represented by its smallest class, which gets its number before the
  // other classes.
  uint32_t count = 0;
  for (uint32_t class = 0; class < model->class_count; class ++)
    parent[class] = parent[class] == class ? count++ : parent[parent[class]];
  *out_count = count;
  return EGRAPH_OK;
}

#define SUBPROBLEM_MEMBERS (eg_class_index, index), (eg_u32s, class_of, node_of)

static egraph_status start_subproblems(eg_subproblems *subproblems, uint32_t count) {
  EG_TRY(eg_subproblems_reserve(subproblems, count));
  for (uint32_t i = 0; i < count; i++) {
    eg_subproblem *subproblem = &subproblems->data[subproblems->len++];
    *subproblem = (eg_subproblem){.state = EG_SUBPROBLEM_OPEN};
    EG_INIT_MEMBERS(subproblem, subproblems->alloc, SUBPROBLEM_MEMBERS);
    EG_TRY(eg_extract_problem_init(&subproblem->problem, subproblems->alloc));
    EG_TRY(eg_cuts_init(&subproblem->cuts, subproblems->alloc));
  }
  return EGRAPH_OK;
}

typedef struct filling {
  const eg_extract_problem *model;
  eg_subproblems *subproblems;
  eg_u32s subproblem_of, number; // [model class]: subproblem, class in the subproblem
  eg_u32s node_number;           // [model node]
  eg_u32s row;
} filling;
EG_OWNER_DEFINE_STATIC(filling, (eg_u32s, subproblem_of, number, node_number, row))

static eg_subproblem *subproblem_of(const filling *f, uint32_t class) {
  return &f->subproblems->data[f->subproblem_of.data[class]];
}

static egraph_status fill_node(filling *f, uint32_t node) {
  assert(node == f->node_number.len);
  const eg_extract_problem *model = f->model;
  uint32_t class = model->node_class.data[node];
  eg_subproblem *subproblem = subproblem_of(f, class);
  f->row.len = 0;
  EG_EACH_CHILD(model, node, child) {
    EG_TRY(eg_u32s_push(&f->row, f->number.data[child]));
  }
  EG_TRY(eg_u32s_push(&f->node_number, (uint32_t)subproblem->node_of.len));
  EG_TRY(eg_u32s_push(&subproblem->node_of, node));
  return eg_extract_problem_add_node(&subproblem->problem, f->number.data[class],
                                     model->cost.data[node], f->row.data,
                                     (uint32_t)f->row.len, NULL);
}

static egraph_status fill_cuts(filling *f, const eg_cuts *cuts) {
  const uint32_t *class_of = f->model->node_class.data;
  for (uint32_t r = 0; r < eg_cuts_count(cuts); r++) {
    uint32_t first = cuts->begin.data[r], last = cuts->begin.data[r + 1];
    if (first == last) continue;
    eg_subproblem *subproblem = subproblem_of(f, class_of[cuts->nodes.data[first]]);
    bool within = true;
    for (uint32_t i = first; i < last && within; i++)
      within = subproblem_of(f, class_of[cuts->nodes.data[i]]) == subproblem;
    for (uint32_t i = first; i < last && within; i++)
      EG_TRY(eg_u32s_push(&subproblem->cuts.nodes,
                          f->node_number.data[cuts->nodes.data[i]]));
    if (within)
      EG_TRY(eg_u32s_push(&subproblem->cuts.begin, (uint32_t)subproblem->cuts.nodes.len));
  }
  return EGRAPH_OK;
}

static egraph_status fill_subproblems(filling *f, const eg_cuts *cuts) {
  const eg_extract_problem *model = f->model;
  uint32_t count;
  EG_TRY(label_classes(model, &f->subproblem_of, &count));
  EG_TRY(start_subproblems(f->subproblems, count));
  EG_TRY(eg_u32s_resize(&f->number, model->class_count));
  for (uint32_t class = 0; class < model->class_count; class ++) {
    eg_subproblem *subproblem = subproblem_of(f, class);
    EG_TRY(eg_extract_problem_add_class(&subproblem->problem, &f->number.data[class]));
    EG_TRY(eg_u32s_push(&subproblem->class_of, class));
  }
  for (uint32_t n = 0; n < eg_extract_node_count(model); n++)
    EG_TRY(fill_node(f, n));
  for (size_t i = 0; i < model->roots.len; i++) {
    uint32_t root = model->roots.data[i];
    EG_TRY(eg_extract_problem_add_root(&subproblem_of(f, root)->problem,
                                       f->number.data[root]));
  }
  return cuts == NULL ? EGRAPH_OK : fill_cuts(f, cuts);
}

static int compare_sizes(const void *a, const void *b) {
  const eg_subproblem *p = a, *q = b;
  size_t x = p->node_of.len, y = q->node_of.len;
  if (x != y) return x < y ? -1 : 1;
  return p->class_of.data[0] < q->class_of.data[0] ? -1 : 1;
}

/// Adds an incumbent to each subproblem. It points to the problem next to it, so this
/// happens after the last move of a subproblem.
static egraph_status add_incumbents(eg_subproblems *subproblems, eg_incumbent *whole) {
  assert(whole->problem != NULL);
  for (size_t i = 0; i < subproblems->len; i++) {
    eg_subproblem *subproblem = &subproblems->data[i];
    EG_TRY(eg_class_index_build(&subproblem->index, &subproblem->problem));
    EG_TRY(eg_incumbent_init(&subproblem->incumbent, subproblems->alloc,
                             &subproblem->problem, whole->options));
    subproblem->incumbent.bound = 0;
    subproblem->incumbent.cuts = &subproblem->cuts;
    subproblem->incumbent.outer = whole;
    subproblem->incumbent.rest_cost = INFINITY;
    subproblem->incumbent.clock = whole->clock;
    subproblem->incumbent.tree_limit = whole->tree_limit;
  }
  return EGRAPH_OK;
}

egraph_status eg_subproblems_split(eg_subproblems *subproblems,
                                   const eg_extract_problem *model, const eg_cuts *cuts,
                                   eg_incumbent *whole) {
  assert(subproblems->len == 0);
  EG_LOCAL_WITH(filling, f, subproblems->alloc, .model = model,
                .subproblems = subproblems);
  EG_TRY(fill_subproblems(&f, cuts));
  if (subproblems->len > 1)
    qsort(subproblems->data, subproblems->len, sizeof(eg_subproblem), compare_sizes);
  return add_incumbents(subproblems, whole);
}

void eg_subproblems_destroy(eg_subproblems *subproblems) {
  for (size_t i = 0; i < subproblems->len; i++) {
    eg_subproblem *subproblem = &subproblems->data[i];
    eg_incumbent_deinit(&subproblem->incumbent);
    eg_cuts_deinit(&subproblem->cuts);
    eg_extract_problem_deinit(&subproblem->problem);
    EG_DEINIT_MEMBERS(subproblem, SUBPROBLEM_MEMBERS);
  }
  eg_subproblems_deinit(subproblems);
}

double eg_subproblems_bound(const eg_subproblems *subproblems,
                            const eg_subproblem *without) {
  double sum = 0;
  for (size_t i = 0; i < subproblems->len; i++)
    if (&subproblems->data[i] != without) sum += subproblems->data[i].incumbent.bound;
  return sum;
}

egraph_status eg_subproblem_seed(eg_subproblem *subproblem,
                                 const eg_extract_problem *model,
                                 const uint32_t *choice) {
  EG_LOCAL(eg_u32s, share, subproblem->node_of.alloc);
  double cost;
  EG_TRY(eg_fill_none(&share, subproblem->problem.class_count));
  for (uint32_t n = 0; n < subproblem->node_of.len; n++) {
    uint32_t node = subproblem->node_of.data[n];
    if (choice[model->node_class.data[node]] == node)
      share.data[subproblem->problem.node_class.data[n]] = n;
  }
  return eg_incumbent_offer(&subproblem->incumbent, share.data, &cost);
}

void eg_subproblem_adopt(const eg_subproblem *subproblem, uint32_t *choice) {
  assert(subproblem->class_of.len == subproblem->problem.class_count);
  if (!isfinite(subproblem->incumbent.cost)) return;
  for (uint32_t class = 0; class < subproblem->class_of.len; class ++) {
    uint32_t node = subproblem->incumbent.choice.data[class];
    choice[subproblem->class_of.data[class]] =
        node == EG_EXTRACT_NONE ? node : subproblem->node_of.data[node];
  }
}

egraph_status eg_subproblem_bound(eg_subproblem *subproblem) {
  const eg_extract_problem *problem = &subproblem->problem;
  eg_incumbent *incumbent = &subproblem->incumbent;
  eg_ascent_limits limits = {
      .max_cuts = ASCENT_CUTS, .max_work = ASCENT_WORK, .incumbent = incumbent};
  EG_LOCAL(eg_doubles, price, subproblem->node_of.alloc);
  double bound = 0;
  EG_TRY(eg_doubles_append(&price, problem->cost.data, problem->cost.len));
  EG_TRY_IN_PART(incumbent->clock, EGRAPH_PART_ASCENT,
                 eg_dual_ascent_run(problem, &subproblem->index, &problem->roots, limits,
                                    price.data, &bound, NULL));
  eg_incumbent_raise(incumbent, bound);
  return EGRAPH_OK;
}

// ---- side by side -----------------------------------------------------------------

// A batch of subproblems is solved by several threads. A subproblem without a better
// solution proves that the solution at the start of its batch is optimal. In this case
// the results of the rest of the batch are ignored, and later batches need not run.

enum { BATCH_SIZE = 16 };

typedef struct batch {
  eg_batches *batches;
  eg_subproblem_step step;
  eg_subproblem *subproblems[BATCH_SIZE];
  size_t count;
  atomic_bool exhausted;
} batch;

/// Collects the next unsolved subproblems from *inout_at on, and moves *inout_at
/// past them.
static void gather_batch(batch *w, size_t *inout_at) {
  eg_subproblems *all = w->batches->subproblems;
  w->count = 0;
  for (; *inout_at < all->len && w->count < BATCH_SIZE; (*inout_at)++)
    if (all->data[*inout_at].state == EG_SUBPROBLEM_OPEN)
      w->subproblems[w->count++] = &all->data[*inout_at];
}

static void brief_subproblem(const batch *w, eg_subproblem *subproblem, double bounds,
                             double costs) {
  assert(subproblem->state == EG_SUBPROBLEM_OPEN);
  const eg_batches *batches = w->batches;
  eg_incumbent *incumbent = &subproblem->incumbent;
  double rest = batches->offset + bounds - incumbent->bound;
  subproblem->outer_cutoff = eg_incumbent_cutoff(batches->whole) - rest;
  incumbent->apart = true;
  incumbent->work = (eg_work){.limit = eg_incumbent_work_left(batches->whole)};
  subproblem->clock = (eg_part_clock){.since = 0};
  incumbent->clock = batches->whole->clock != NULL ? &subproblem->clock : NULL;
  incumbent->outer_rest = w->count == 1 ? rest : -INFINITY;
  incumbent->rest_bound = rest;
  incumbent->rest_cost = batches->offset + costs - incumbent->cost;
  if (!isfinite(incumbent->rest_cost)) incumbent->rest_cost = INFINITY;
  incumbent->on_better = w->count == 1 ? batches->adopt : NULL;
  incumbent->on_better_user = batches->user;
  atomic_store(&incumbent->stopped, false);
}

static egraph_status run_subproblem(void *user, size_t index, uint32_t worker) {
  assert(index < ((batch *)user)->count);
  (void)worker;
  batch *w = user;
  eg_subproblem *subproblem = w->subproblems[index];
  eg_part_clock *clock = subproblem->incumbent.clock;
  if (atomic_load(&w->exhausted) || eg_incumbent_stop(&subproblem->incumbent))
    return EGRAPH_OK;
  if (clock != NULL) eg_part_clock_start(clock, EGRAPH_PART_SEARCH);
  egraph_status status = w->step(w->batches->user, subproblem);
  if (clock != NULL) (void)eg_part_clock_stop(clock);
  if (subproblem->state == EG_SUBPROBLEM_EXHAUSTED) atomic_store(&w->exhausted, true);
  return status;
}

static egraph_status run_batch(batch *w) {
  eg_incumbent *whole = w->batches->whole;
  double bounds = eg_subproblems_bound(w->batches->subproblems, NULL), costs = 0;
  for (size_t i = 0; i < w->batches->subproblems->len; i++)
    costs += w->batches->subproblems->data[i].incumbent.cost;
  for (size_t i = 0; i < w->count; i++)
    brief_subproblem(w, w->subproblems[i], bounds, costs);
  eg_part_clock *clock = whole->clock;
  if (clock != NULL) (void)eg_part_clock_stop(clock); // subproblems count for themselves
  egraph_status status = eg_parallel_for(w->batches->alloc, whole->options->threads,
                                         w->count, run_subproblem, w);
  if (clock != NULL) eg_part_clock_start(clock, clock->part);
  for (size_t i = 0; i < w->count; i++) {
    eg_part_clock_merge(clock, &w->subproblems[i]->clock);
    eg_incumbent_count(whole, w->subproblems[i]->incumbent.work.done);
  }
  return status;
}

egraph_status eg_subproblems_run(eg_batches *batches, eg_subproblem_step step) {
  eg_incumbent *whole = batches->whole;
  batch w = {.batches = batches, .step = step};
  atomic_init(&w.exhausted, false);
  for (size_t at = 0; !batches->exhausted && !eg_incumbent_stop(whole);) {
    gather_batch(&w, &at);
    if (w.count == 0) break;
    EG_TRY(run_batch(&w));
    batches->exhausted = atomic_load(&w.exhausted);
    if (batches->exhausted) break;
    EG_TRY(batches->adopt(batches->user));
    eg_incumbent_raise(whole, batches->offset +
                                  eg_subproblems_bound(batches->subproblems, NULL));
  }
  return EGRAPH_OK;
}
