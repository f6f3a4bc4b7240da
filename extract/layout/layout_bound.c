// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_bound.h"

#include <float.h>
#include <math.h>

#include "base/clock.h"
#include "base/owner.h"
#include "extract/layout/layout_ascent.h"

static void write_amount(eg_text *text, double value) {
  eg_text_append(text, " ");
  if (isinf(value))
    eg_text_append(text, "none");
  else
    eg_text_double(text, value);
}

static void write_amounts(eg_text *text, const eg_layout_problem *p,
                          const eg_doubles *rows, uint32_t at) {
  for (uint32_t r = 0; r < p->memory_rows; r++)
    write_amount(text, rows[r].data[at]);
}

static void write_list(eg_text *text, const uint32_t *items, uint32_t count) {
  eg_text_printf(text, " %u", count);
  for (uint32_t i = 0; i < count; i++)
    eg_text_printf(text, " %u", items[i]);
  eg_text_append(text, "\n");
}

static void write_values(const eg_layout_problem *p, eg_text *text) {
  for (uint32_t v = 0; v < eg_layout_value_count(p); v++) {
    eg_text_printf(text, "value %u", eg_layout_layout_count(p, v));
    write_amount(text, p->cost_times.data[v]);
    write_amount(text, p->memory_times.data[v]);
    eg_text_append(text, "\n");
  }
  for (uint32_t a = 0; a < eg_layout_arc_count(p); a++) {
    eg_text_printf(text, "arc %u %u", p->arc_from.data[a], p->arc_to.data[a]);
    write_amount(text, p->arc_cost.data[a]);
    write_amounts(text, p, p->arc_memory, a);
    eg_text_append(text, "\n");
  }
}

static void write_operators(const eg_layout_problem *p, eg_text *text) {
  for (uint32_t op = 0; op < eg_layout_operator_count(p); op++) {
    uint32_t begin = p->input_begin.data[op];
    eg_text_printf(text, "operator %u %u", p->operator_value.data[op],
                   p->strategy_begin.data[op + 1] - p->strategy_begin.data[op]);
    write_list(text, p->inputs.data + begin, p->input_begin.data[op + 1] - begin);
    for (uint32_t s = p->strategy_begin.data[op]; s < p->strategy_begin.data[op + 1];
         s++) {
      eg_text_printf(text, "strategy %u", p->output.data[s]);
      for (uint32_t i = p->need_begin.data[s]; i < p->need_begin.data[s + 1]; i++)
        eg_text_printf(text, " %u", p->needs.data[i]);
      write_amount(text, p->cost.data[s]);
      write_amounts(text, p, p->memory, s);
      eg_text_append(text, "\n");
    }
  }
}

static void write_demands(const eg_layout_problem *p, eg_text *text) {
  for (uint32_t r = 0; r < p->root_value.len; r++) {
    uint32_t begin = p->root_begin.data[r];
    eg_text_printf(text, "root %u", p->root_value.data[r]);
    write_list(text, p->root_places.data + begin, p->root_begin.data[r + 1] - begin);
  }
  for (uint32_t t = 0; t < eg_layout_tie_count(p); t++) {
    uint32_t begin = p->tie_begin.data[t];
    eg_text_append(text, "tie sources");
    write_list(text, p->tie_members.data + begin, p->tie_begin.data[t + 1] - begin);
  }
  for (uint32_t v = 0; v < eg_layout_value_count(p); v++)
    if (p->source_layout.data[v] != EG_LAYOUT_NONE)
      eg_text_printf(text, "fixed %u %u\n", v, p->source_layout.data[v]);
  for (uint32_t i = 0; i < eg_layout_place_count(p); i++)
    if (p->place_forbidden.data[i]) eg_text_printf(text, "no-place %u\n", i);
  for (uint32_t s = 0; s < eg_layout_strategy_count(p); s++)
    if (p->forbidden.data[s]) eg_text_printf(text, "no-strategy %u\n", s);
}

static void write_problem(const eg_layout_problem *p, eg_text *text) {
  // The second-last size is the number of forced strategies, 0 here.
  eg_text_printf(text, "sizes %u %u %u %u %zu %u %zu %zu %zu %u %zu 0 %u\n",
                 eg_layout_value_count(p), eg_layout_place_count(p),
                 eg_layout_arc_count(p), eg_layout_operator_count(p), p->inputs.len,
                 eg_layout_strategy_count(p), p->needs.len, p->root_value.len,
                 p->root_places.len, eg_layout_tie_count(p), p->tie_members.len,
                 p->memory_rows);
  eg_text_append(text, "limits");
  for (uint32_t r = 0; r < p->memory_rows; r++)
    write_amount(text, p->memory_limit[r]);
  eg_text_append(text, "\n");
  write_values(p, text);
  write_operators(p, text);
  write_demands(p, text);
}

static void write_solution(const eg_layout_solution *solution, eg_text *text) {
  for (uint32_t v = 0; v < solution->strategy.len; v++)
    if (solution->strategy.data[v] != EG_LAYOUT_NONE)
      eg_text_printf(text, "choose %u %u\n", v, solution->strategy.data[v]);
  for (uint32_t a = 0; a < solution->arc_used.len; a++)
    if (solution->arc_used.data[a]) eg_text_printf(text, "use %u\n", a);
  eg_text_append(text, "cost");
  write_amount(text, solution->cost);
  eg_text_append(text, "\n");
}

// ---- dual ---------------------------------------------------------------------------

/// Fills the number of each link in a certificate: a USE link gets its position among the
/// inputs of its operator with the same value, a ROOT link its root.
static egraph_status number_uses(const eg_layout_factors *f, eg_u32s *nth) {
  const eg_layout_problem *p = f->view->problem;
  EG_TRY(eg_u32s_resize(nth, f->links.len));
  for (uint32_t op = 0; op < eg_layout_operator_count(p); op++)
    for (uint32_t i = p->input_begin.data[op]; i < p->input_begin.data[op + 1]; i++) {
      uint32_t before = 0;
      if (f->use.data[i] == EG_LAYOUT_NONE) continue;
      for (uint32_t k = p->input_begin.data[op]; k < i; k++)
        before += p->inputs.data[k] == p->inputs.data[i];
      nth->data[f->use.data[i]] = before;
    }
  uint32_t root = 0; // links of roots are in the order of the roots
  for (uint32_t i = 0; i < f->links.len; i++)
    if (f->links.data[i].kind == EG_LINK_ROOT) nth->data[i] = root++;
  return EGRAPH_OK;
}

static egraph_status write_link(const eg_layout_factors *f, const eg_link *link,
                                uint32_t nth, eg_text *text) {
  assert(link->kind == EG_LINK_ROOT || link->producers != EG_LAYOUT_NONE);
  switch (link->kind) {
  case EG_LINK_SOURCE: eg_text_printf(text, "made %u", link->far); break;
  case EG_LINK_USE:
    eg_text_printf(text, "used %u %u %u", link->far, link->producers, nth);
    break;
  case EG_LINK_ROOT: return eg_text_printf(text, "asked %u %u\n", link->far, nth);
  case EG_LINK_TIE: eg_text_printf(text, "tied %u %u", link->far, link->value); break;
  case EG_LINK_SEAM:
    return EG_FAIL(EGRAPH_E_INTERNAL, "a dual of an open problem is not written");
  case EG_LINK_CUT: eg_text_printf(text, "in-cut %u %u", link->far, link->value); break;
  }
  for (uint32_t l = 0; l < eg_link_labels(f, link); l++) {
    double price = f->dead.data[link->price + l] ? 0 : f->price.data[link->price + l];
    if (!(price < 0) && !(price > 0)) continue;
    eg_text_printf(text, " %u", l);
    write_amount(text, price);
  }
  return eg_text_append(text, "\n");
}

egraph_status eg_layout_dual_write(const eg_layout_factors *f, const double *price,
                                   eg_text *text) {
  assert(f->use.len == f->view->problem->inputs.len);
  const eg_layout_landmarks *l = f->landmarks;
  uint32_t cuts = eg_layout_cut_count(l);
  EG_LOCAL(eg_u32s, nth, f->price.alloc);
  EG_TRY(number_uses(f, &nth));
  eg_text_printf(text, "dual %zu %zu %u %zu\n", f->trees.len, f->links.len, cuts,
                 l->cut_ops.len);
  eg_text_append(text, "prices");
  for (uint32_t r = 0; r < f->view->problem->memory_rows; r++)
    write_amount(text, price[r]);
  eg_text_append(text, "\n");
  for (uint32_t v = 0; v < f->active->required.len; v++)
    if (f->active->required.data[v]) eg_text_printf(text, "required %u\n", v);
  for (size_t t = 0; t < f->trees.len; t++)
    eg_text_printf(text, "tree %u\n", f->trees.data[t].value);
  for (uint32_t c = 0; c < cuts; c++) {
    uint32_t begin = l->cut_begin.data[c];
    eg_text_append(text, "cut");
    write_list(text, l->cut_ops.data + begin, l->cut_begin.data[c + 1] - begin);
  }
  for (size_t i = 0; i < f->links.len; i++)
    EG_TRY(write_link(f, &f->links.data[i], nth.data[i], text));
  return eg_text_status(text);
}

egraph_status eg_layout_certificate_write(const eg_layout_problem *problem,
                                          const eg_layout_solution *solution,
                                          const eg_layout_dual *dual, double unchecked,
                                          eg_text *text) {
  EG_TRY(eg_text_status(&dual->text));
  eg_text_append(text, "egraph-certificate 1 layout\n");
  write_problem(problem, text);
  write_solution(solution, text);
  eg_text_append(text, eg_text_of(&dual->text));
  eg_text_append(text, "bound");
  write_amount(text, dual->bound);
  eg_text_append(text, "\n");
  if (unchecked > dual->bound + 1e-9 * fabs(dual->bound)) { // not by rounding alone
    eg_text_append(text, "unchecked");
    write_amount(text, unchecked);
    eg_text_append(text, "\n");
  }
  return eg_text_status(text);
}

// ---- bounds -------------------------------------------------------------------------

typedef struct bounder {
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

static void bounder_deinit(bounder *b) {
  eg_layout_active_deinit(&b->active);
  eg_layout_search_deinit(&b->search);
  eg_layout_excess_deinit(&b->excess);
  eg_layout_view_deinit(&b->view);
}

/// Sets the prices of the ascent's limited measures to the prices of memory rows.
static void set_prices(const bounder *b, eg_layout_ascent *ascent) {
  const eg_layout_weights *weights = eg_layout_ascent_weights(ascent);
  double price[EG_LAYOUT_MEMORY_ROWS] = {0};
  for (uint32_t i = 0; i < weights->limits; i++)
    price[i] = fmax(b->options->price[weights->limited[i] - EG_LAYOUT_ROW], 0);
  eg_layout_ascent_set_prices(ascent, price);
}

static egraph_status climb_bound(bounder *b, eg_layout_ascent *ascent) {
  assert(b->out != NULL);
  const eg_layout_weights *weights = eg_layout_ascent_weights(ascent);
  bool any;
  eg_layout_ascent_keep_all(ascent);
  if (b->options->target != NULL) {
    eg_layout_search_take(&b->search, b->options->target);
    EG_TRY(eg_layout_search_offer(&b->search, &any));
  }
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
  if (!any || b->dual == NULL) return EGRAPH_OK;
  // Subtracts the largest rounding error, because another program adds up the terms.
  double constant = eg_layout_weights_constant(weights, &b->task);
  b->dual->bound = b->excess.bound - 1e-10 * (fabs(b->excess.bound) + fabs(constant)) -
                   10 * b->search.rounding;
  return eg_layout_dual_write(eg_layout_ascent_factors(ascent), b->out->price,
                              &b->dual->text);
}

static egraph_status run_bounder(bounder *b) {
  EG_HELD(eg_layout_ascent, ascent);
  // Each copy of a row solves the open problem, so reductions that keep solutions of the
  // open problem are valid. Ends of seams have no arcs, so none of their layouts
  // dominates another.
  EG_TRY(b->options->potentials != NULL ? eg_layout_presolve(&b->active, &b->task)
                                        : eg_layout_presolve_apart(&b->active));
  if (b->active.infeasible) {
    b->out->bound = INFINITY;
    return EGRAPH_OK;
  }
  EG_TRY(eg_layout_ascent_create(&b->search, &b->active, &ascent));
  return climb_bound(b, ascent);
}

egraph_status eg_layout_bound(egraph_allocator alloc, const eg_layout_problem *problem,
                              const eg_layout_bound_options *options,
                              eg_layout_bounded *out, eg_layout_dual *dual) {
  if (!(options->time_limit_seconds > 0))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "layout bound: the time limit must be > 0");
  double now = eg_clock_seconds();
  *out = (eg_layout_bounded){.bound = 0};
  EG_OWNED(bounder, b);
  b.options = options;
  b.task = eg_layout_task_of(EG_LAYOUT_COST);
  b.clock = (eg_layout_clock){.start_seconds = now,
                              .deadline = now + options->time_limit_seconds,
                              .asked_seconds = now,
                              .work.limit = options->work_limit};
  b.out = out;
  b.dual = dual;
  for (uint32_t r = 0; r < problem->memory_rows; r++)
    b.task.limit[EG_LAYOUT_ROW + r] = problem->memory_limit[r];
  eg_layout_excess_init(&b.excess, alloc);
  EG_TRY(eg_layout_view_init(&b.view, alloc, problem));
  if (options->potentials != NULL) b.view.seams = options->potentials->seams;
  EG_TRY(eg_layout_search_init(&b.search, alloc, &b.view, &b.task, &b.clock));
  EG_TRY(eg_layout_active_init(&b.active, alloc, &b.view));
  egraph_status status = run_bounder(&b);
  out->work = b.clock.work.done;
  if (options->done != NULL) *options->done += out->work;
  return status;
}

// ---- open problems ------------------------------------------------------------------

static const double ROUNDING = 1e-12; // share of the largest cost by potentials

static bool is_seam(const eg_layout_problem *p, const eg_layout_seam *s) {
  uint32_t count = eg_layout_value_count(p);
  if (s->before >= count || s->first >= count || s->last >= count || s->after >= count)
    return false;
  uint32_t layouts = eg_layout_layout_count(p, s->before);
  return s->times >= 1 && eg_layout_layout_count(p, s->first) == layouts &&
         eg_layout_layout_count(p, s->last) == layouts &&
         eg_layout_layout_count(p, s->after) == layouts;
}

static egraph_status check_seams(const eg_layout_problem *problem,
                                 const eg_layout_seam_list *seams) {
  for (uint32_t i = 0; i < seams->len; i++)
    if (!is_seam(problem, &seams->data[i]))
      return EG_FAIL(EGRAPH_E_ARGUMENT,
                     "open layout problem: seam %u is not of four values with the same "
                     "number of layouts",
                     i);
  return EGRAPH_OK;
}

egraph_status eg_layout_open_climb(egraph_allocator alloc,
                                   const eg_layout_problem *problem,
                                   const eg_open_options *options,
                                   eg_layout_potentials *potentials, double *out_bound,
                                   uint64_t *out_work) {
  const eg_layout_bound_options bound_options = {.work_limit = options->work_limit,
                                                 .time_limit_seconds =
                                                     options->time_limit_seconds,
                                                 .potentials = potentials,
                                                 .done = options->done};
  eg_layout_bounded bounded;
  EG_TRY(check_seams(problem, potentials->seams));
  EG_TRY(eg_layout_bound(alloc, problem, &bound_options, &bounded, NULL));
  *out_bound = bounded.bound;
  *out_work = bounded.work;
  return EGRAPH_OK;
}

typedef struct opener {
  eg_layout_problem *problem;
  const eg_open_options *options;
  double constant; // part of the potentials to be added to a bound
  double rounding;
} opener;

static bool produces(const eg_layout_problem *p, uint32_t strategy, uint32_t value) {
  uint32_t place = p->output.data[strategy];
  return place >= p->place_begin.data[value] && place < p->place_begin.data[value + 1];
}

/// Multipliers, by layout, of one of the four values where copies of a block meet.
typedef struct end {
  uint32_t value;
  double times;
  const double *potential;
  const uint8_t *impossible;
} end;

/// Adds the multipliers (potentials) of an end of a seam to the costs of strategies that
/// produce its value, less the least: costs stay >= 0, and one of these strategies is
/// always chosen.
static void add_end(opener *o, const end *e) {
  assert(e->times != 0);
  eg_layout_problem *p = o->problem;
  uint32_t first = p->place_begin.data[e->value], count = eg_layout_strategy_count(p);
  double least = INFINITY, most = 0;
  for (uint32_t s = 0; s < count; s++) {
    if (!produces(p, s, e->value)) continue;
    uint32_t layout = p->output.data[s] - first;
    if (e->impossible[layout]) p->forbidden.data[s] = 1;
    least = fmin(least, e->times * e->potential[layout]);
    most = fmax(most, fabs(e->times * e->potential[layout]));
  }
  if (isinf(least)) return; // no strategy produces the value
  for (uint32_t s = 0; s < count; s++)
    if (produces(p, s, e->value))
      p->cost.data[s] += (e->times * e->potential[p->output.data[s] - first] - least) /
                         p->cost_times.data[e->value];
  o->constant += least;
  o->rounding += ROUNDING * most;
}

static void add_potentials(opener *o, const eg_layout_potentials *potentials) {
  const double *p = potentials->front.data, *q = potentials->back.data;
  const uint8_t *impossible = potentials->impossible.data;
  for (size_t i = 0; i < potentials->seams->len; i++) {
    const eg_layout_seam *s = &potentials->seams->data[i];
    uint32_t layouts = eg_layout_layout_count(o->problem, s->before);
    const end ends[EG_SEAM_ENDS] = {{s->before, 1, p, impossible},
                                    {s->first, -s->times, p, impossible + layouts},
                                    {s->last, s->times, q, impossible + 2 * layouts},
                                    {s->after, -1, q, impossible + 3 * layouts}};
    for (int e = 0; e < EG_SEAM_ENDS; e++)
      add_end(o, &ends[e]);
    p += layouts;
    q += layouts;
    impossible += EG_SEAM_ENDS * layouts;
  }
}

/// Reports progress without a cost: a solution of an open problem is no row of copies.
static bool on_open_progress(void *user, double cost, double bound, double seconds) {
  const opener *o = user;
  (void)cost;
  return o->options->progress != NULL &&
         o->options->progress(o->options->user, INFINITY, bound + o->constant, seconds);
}

egraph_status eg_layout_open_search(egraph_allocator alloc, eg_layout_problem *problem,
                                    const eg_open_options *options,
                                    const eg_layout_potentials *potentials,
                                    double *out_bound) {
  opener o = {.problem = problem, .options = options};
  eg_layout_options layout = EG_LAYOUT_OPTIONS_DEFAULT;
  if (!(options->ceiling > 0))
    return EG_FAIL(EGRAPH_E_ARGUMENT, "open layout problem: the ceiling must be > 0");
  EG_TRY(check_seams(problem, potentials->seams));
  add_potentials(&o, potentials);
  layout.work_limit = options->work_limit;
  layout.time_limit_seconds = options->time_limit_seconds;
  layout.ceiling = fmax(options->ceiling - o.constant + o.rounding, DBL_MIN);
  layout.progress = on_open_progress;
  layout.user = &o;
  layout.done = options->done;
  EG_LOCAL(eg_layout_result, result, alloc);
  egraph_status status = eg_layout_solve(alloc, problem, &layout, &result);
  *out_bound = result.bound + o.constant - o.rounding;
  return status;
}
