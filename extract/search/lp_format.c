// SPDX-License-Identifier: Apache-2.0
#include "extract/search/lp_format.h"

#include <math.h>

#include "base/owner.h"
#include "extract/class_graph.h"
#include "extract/presolve/presolve.h"
#include "extract/search/formulation.h"

enum { TERMS_PER_LINE = 8 };
// Presolve keeps what costs less than the best by this share, so that optima stay.
static const double MARGIN = 1e-6;

typedef struct printer {
  eg_text *text;
  const eg_extract_problem *problem;
  eg_class_index index;
  eg_u32s component, order; // of the strongly connected components
  eg_u32s size;             // [component] classes
  eg_user_groups groups;
  bool any_sign;  // there are negative costs
  uint32_t terms; // of the row being written
} printer;
EG_OWNER_DEFINE_STATIC(printer, (eg_class_index, index),
                       (eg_u32s, component, order, size), (eg_user_groups, groups))

static const char HEAD[] =
    "\\ Minimum cost acyclic choice of nodes, written by egraph.\n"
    "\\ x<n>: node n is chosen. t<c>: level of class c, above its children's.\n"
    "\\ fixed_cost is 1: it carries the cost of what presolve has decided.\n";

static egraph_status term(printer *p, double factor, char letter, uint32_t number) {
  if (p->terms % TERMS_PER_LINE == 0 && p->terms != 0)
    EG_TRY(eg_text_append(p->text, "\n "));
  p->terms++;
  EG_TRY(eg_text_append(p->text, factor < 0 ? " - " : " + "));
  if (fabs(factor) != 1) {
    EG_TRY(eg_text_double(p->text, fabs(factor)));
    EG_TRY(eg_text_append(p->text, " "));
  }
  return eg_text_printf(p->text, "%c%u", letter, number);
}

static egraph_status row(printer *p, const char *kind, uint32_t number) {
  p->terms = 0;
  return eg_text_printf(p->text, " %s_%u:", kind, number);
}

static egraph_status row_of_two(printer *p, const char *kind, uint32_t a, uint32_t b) {
  p->terms = 0;
  return eg_text_printf(p->text, " %s_%u_%u:", kind, a, b);
}

static egraph_status members(printer *p, double factor, uint32_t class) {
  EG_EACH_MEMBER(&p->index, class, member) { EG_TRY(term(p, factor, 'x', member)); }
  return EGRAPH_OK;
}

static egraph_status objective(printer *p, double offset) {
  EG_TRY(eg_text_append(p->text, HEAD));
  EG_TRY(eg_text_append(p->text, "Minimize\n cost: "));
  EG_TRY(eg_text_double(p->text, offset));
  EG_TRY(eg_text_append(p->text, " fixed_cost"));
  p->terms = 1;
  for (uint32_t n = 0; n < eg_extract_node_count(p->problem); n++)
    if (p->problem->cost.data[n] != 0) EG_TRY(term(p, p->problem->cost.data[n], 'x', n));
  return eg_text_append(p->text, "\nSubject To\n fixed: fixed_cost = 1\n");
}

// A root without nodes makes the program infeasible, as it should.
static egraph_status class_rows(printer *p, uint32_t class) {
  uint32_t count = eg_class_index_member_count(&p->index, class);
  bool is_root = p->index.is_root.data[class] != 0;
  if (!is_root && count < 2) return EGRAPH_OK;
  EG_TRY(row(p, is_root ? "root" : "one", class));
  if (count == 0) EG_TRY(eg_text_append(p->text, " 0 fixed_cost"));
  EG_TRY(members(p, 1, class));
  return eg_text_append(p->text, is_root ? " = 1\n" : " <= 1\n");
}

static egraph_status reach_row(printer *p, uint32_t class) {
  if (p->index.is_root.data[class] || eg_class_index_member_count(&p->index, class) == 0)
    return EGRAPH_OK;
  EG_TRY(row(p, "reach", class));
  EG_TRY(members(p, 1, class));
  EG_EACH_USER(&p->index, class, user) { EG_TRY(term(p, -1, 'x', user)); }
  return eg_text_append(p->text, " <= 0\n");
}

static egraph_status group(printer *p, double factor, size_t which) {
  for (uint32_t i = p->groups.begin.data[which]; i < p->groups.begin.data[which + 1]; i++)
    EG_TRY(term(p, factor, 'x', p->groups.nodes.data[i]));
  return EGRAPH_OK;
}

static egraph_status edge_rows(printer *p, uint32_t child, size_t which) {
  uint32_t class = p->groups.classes.data[which];
  if (!p->index.is_root.data[child]) {
    EG_TRY(row_of_two(p, "need", class, child));
    EG_TRY(group(p, 1, which));
    EG_TRY(members(p, -1, child));
    EG_TRY(eg_text_append(p->text, " <= 0\n"));
  }
  if (p->component.data[class] != p->component.data[child]) return EGRAPH_OK;
  uint32_t size = p->size.data[p->component.data[class]];
  EG_TRY(row_of_two(p, "level", class, child));
  EG_TRY(term(p, 1, 't', child));
  EG_TRY(term(p, -1, 't', class));
  EG_TRY(group(p, size, which));
  return eg_text_printf(p->text, " <= %u\n", size - 1);
}

static egraph_status domains(printer *p) {
  EG_TRY(eg_text_append(p->text, "Bounds\n"));
  for (uint32_t class = 0; class < p->problem->class_count; class ++) {
    uint32_t size = p->size.data[p->component.data[class]];
    if (size > 1) EG_TRY(eg_text_printf(p->text, " 0 <= t%u <= %u\n", class, size - 1));
  }
  EG_TRY(eg_text_append(p->text, "Binaries\n"));
  for (uint32_t n = 0; n < eg_extract_node_count(p->problem); n++)
    EG_TRY(eg_text_printf(p->text, " x%u\n", n));
  return eg_text_append(p->text, "End\n");
}

static egraph_status prepare_printer(printer *p) {
  uint32_t classes = p->problem->class_count;
  EG_TRY(eg_class_index_build(&p->index, p->problem));
  EG_TRY(eg_components_find(p->problem, &p->index, &p->component, &p->order));
  EG_TRY(eg_u32s_resize(&p->size, classes));
  for (uint32_t class = 0; class < classes; class ++)
    p->size.data[p->component.data[class]]++;
  p->any_sign = eg_extract_has_negative_cost(p->problem);
  return EGRAPH_OK;
}

static egraph_status print_problem(printer *p, double offset) {
  EG_TRY(prepare_printer(p));
  EG_TRY(objective(p, offset));
  for (uint32_t class = 0; class < p->problem->class_count; class ++) {
    EG_TRY(class_rows(p, class));
    EG_TRY(eg_user_groups_find(&p->groups, p->problem, &p->index, class));
    for (size_t which = 0; which < p->groups.classes.len; which++)
      EG_TRY(edge_rows(p, class, which));
    if (p->any_sign) EG_TRY(reach_row(p, class));
  }
  return domains(p);
}

egraph_status eg_lp_format_print(eg_text *text, const eg_extract_problem *problem,
                                 double offset) {
  printer p;
  printer_init(&p, text->chars.alloc);
  p.text = text;
  p.problem = problem;
  egraph_status status = print_problem(&p, offset);
  printer_deinit(&p);
  return status;
}

// ---- after presolve --------------------------------------------------------------

static egraph_status print_plain(egraph_allocator alloc,
                                 const eg_extract_problem *problem, eg_text *text) {
  eg_formulation model;
  EG_TRY(eg_formulation_init(&model, alloc));
  egraph_status status = eg_formulation_build(&model, problem);
  if (status == EGRAPH_OK) status = eg_lp_format_print(text, &model.reduced.problem, 0);
  eg_formulation_deinit(&model);
  return status;
}

static egraph_status run_presolve(eg_presolve *presolve,
                                  const eg_extract_problem *problem,
                                  const eg_extract_options *options, double best_cost) {
  EG_TRY(eg_reduced_from(&presolve->spare, problem));
  EG_TRY(eg_presolve_load(presolve, &presolve->spare));
  presolve->disabled = options->disabled_passes;
  presolve->deadline = eg_clock_seconds() + options->time_limit_seconds;
  // An optimum of 0 leaves no room for a share.
  presolve->cutoff = best_cost > 0 ? best_cost * (1 + MARGIN) : INFINITY;
  return eg_presolve_run(presolve);
}

egraph_status eg_lp_format_reduced(egraph_allocator alloc,
                                   const eg_extract_problem *problem,
                                   const eg_extract_options *options, double best_cost,
                                   eg_text *text) {
  if (eg_extract_has_negative_cost(problem)) return print_plain(alloc, problem, text);
  eg_parts parts;
  eg_parts_init(&parts, alloc, eg_extract_node_count(problem));
  eg_presolve presolve;
  egraph_status status = eg_presolve_init(&presolve, alloc, &parts);
  if (status == EGRAPH_OK) {
    status = run_presolve(&presolve, problem, options, best_cost);
    // Closed: some root cannot be derived, and the problem itself says so.
    if (status == EGRAPH_OK && presolve.closed)
      status = print_plain(alloc, problem, text);
    else if (status == EGRAPH_OK)
      status = eg_lp_format_print(text, &presolve.model.problem, presolve.model.offset);
    eg_presolve_deinit(&presolve);
  }
  eg_parts_deinit(&parts);
  return status;
}
