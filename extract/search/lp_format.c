// SPDX-License-Identifier: Apache-2.0
#include "extract/search/lp_format.h"

#include <math.h>

#include "base/owner.h"
#include "extract/class_graph.h"
#include "extract/presolve/presolve.h"
#include "extract/search/formulation.h"

enum { TERMS_PER_LINE = 8 };
// The cutoff of presolve is above the best cost by this relative amount, so that
// optima stay.
static const double MARGIN = 1e-6;

typedef struct printer {
  eg_text *text;
  const eg_extract_problem *problem;
  eg_class_index index;
  eg_u32s component, order; // strongly connected components
  eg_u32s size;             // [component] classes
  eg_user_groups groups;
  bool any_sign;  // some cost is negative
  uint32_t terms; // terms of the current row
} printer;
EG_OWNER_DEFINE_STATIC(printer, (eg_class_index, index),
                       (eg_u32s, component, order, size), (eg_user_groups, groups))

static const char HEAD[] =
    "\\ Minimum cost acyclic choice of nodes, written by egraph.\n"
    "\\ x<n>: node n is chosen. t<c>: level of class c, above its children's.\n"
    "\\ fixed_cost is 1: it carries the cost of what presolve has decided.\n";

static void print_term(printer *p, double factor, char letter, uint32_t number) {
  if (p->terms % TERMS_PER_LINE == 0 && p->terms != 0) eg_text_append(p->text, "\n ");
  p->terms++;
  eg_text_append(p->text, factor < 0 ? " - " : " + ");
  if (fabs(factor) != 1) {
    eg_text_double(p->text, fabs(factor));
    eg_text_append(p->text, " ");
  }
  eg_text_printf(p->text, "%c%u", letter, number);
}

/// Starts a row named by `kind` and one number, or two (b EG_EXTRACT_NONE: one).
static void start_row(printer *p, const char *kind, uint32_t a, uint32_t b) {
  p->terms = 0;
  eg_text_printf(p->text, " %s_%u", kind, a);
  if (b != EG_EXTRACT_NONE) eg_text_printf(p->text, "_%u", b);
  eg_text_append(p->text, ":");
}

static void print_members(printer *p, double factor, uint32_t class) {
  EG_EACH_MEMBER(&p->index, class, member) { print_term(p, factor, 'x', member); }
}

static void print_objective(printer *p, double offset) {
  eg_text_append(p->text, HEAD);
  eg_text_append(p->text, "Minimize\n cost: ");
  eg_text_double(p->text, offset);
  eg_text_append(p->text, " fixed_cost");
  p->terms = 1;
  for (uint32_t n = 0; n < eg_extract_node_count(p->problem); n++)
    if (p->problem->cost.data[n] != 0) print_term(p, p->problem->cost.data[n], 'x', n);
  eg_text_append(p->text, "\nSubject To\n fixed: fixed_cost = 1\n");
}

/// Prints the rows of a class. A root without nodes correctly makes the
/// program infeasible.
static void print_class_rows(printer *p, uint32_t class) {
  uint32_t count = eg_class_index_member_count(&p->index, class);
  bool is_root = p->index.is_root.data[class] != 0;
  if (!is_root && count < 2) return;
  start_row(p, is_root ? "root" : "one", class, EG_EXTRACT_NONE);
  if (count == 0) eg_text_append(p->text, " 0 fixed_cost");
  print_members(p, 1, class);
  eg_text_append(p->text, is_root ? " = 1\n" : " <= 1\n");
}

static void print_reach_row(printer *p, uint32_t class) {
  if (p->index.is_root.data[class] || eg_class_index_member_count(&p->index, class) == 0)
    return;
  start_row(p, "reach", class, EG_EXTRACT_NONE);
  print_members(p, 1, class);
  EG_EACH_USER(&p->index, class, user) { print_term(p, -1, 'x', user); }
  eg_text_append(p->text, " <= 0\n");
}

static void print_group(printer *p, double factor, size_t which) {
  for (uint32_t i = p->groups.begin.data[which]; i < p->groups.begin.data[which + 1]; i++)
    print_term(p, factor, 'x', p->groups.nodes.data[i]);
}

static void print_edge_rows(printer *p, uint32_t child, size_t which) {
  assert(which < p->groups.classes.len);
  uint32_t class = p->groups.classes.data[which];
  if (!p->index.is_root.data[child]) {
    start_row(p, "need", class, child);
    print_group(p, 1, which);
    print_members(p, -1, child);
    eg_text_append(p->text, " <= 0\n");
  }
  if (p->component.data[class] != p->component.data[child]) return;
  uint32_t size = p->size.data[p->component.data[class]];
  start_row(p, "level", class, child);
  print_term(p, 1, 't', child);
  print_term(p, -1, 't', class);
  print_group(p, size, which);
  eg_text_printf(p->text, " <= %u\n", size - 1);
}

static void print_domains(printer *p) {
  eg_text_append(p->text, "Bounds\n");
  for (uint32_t class = 0; class < p->problem->class_count; class ++) {
    uint32_t size = p->size.data[p->component.data[class]];
    if (size > 1) eg_text_printf(p->text, " 0 <= t%u <= %u\n", class, size - 1);
  }
  eg_text_append(p->text, "Binaries\n");
  for (uint32_t n = 0; n < eg_extract_node_count(p->problem); n++)
    eg_text_printf(p->text, " x%u\n", n);
  eg_text_append(p->text, "End\n");
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

egraph_status eg_lp_format_print(eg_text *text, const eg_extract_problem *problem,
                                 double offset) {
  EG_LOCAL_WITH(printer, p, text->chars.alloc, .text = text, .problem = problem);
  EG_TRY(prepare_printer(&p));
  print_objective(&p, offset);
  for (uint32_t class = 0; class < problem->class_count; class ++) {
    print_class_rows(&p, class);
    EG_TRY(eg_user_groups_find(&p.groups, problem, &p.index, class));
    for (size_t which = 0; which < p.groups.classes.len; which++)
      print_edge_rows(&p, class, which);
    if (p.any_sign) print_reach_row(&p, class);
  }
  print_domains(&p);
  return eg_text_status(text);
}

// ---- after presolve --------------------------------------------------------------

static egraph_status print_plain(egraph_allocator alloc,
                                 const eg_extract_problem *problem, eg_text *text) {
  EG_OWNED(eg_formulation, model);
  EG_TRY(eg_formulation_init(&model, alloc));
  EG_TRY(eg_formulation_build(&model, problem));
  return eg_lp_format_print(text, &model.reduced.problem, 0);
}

egraph_status eg_lp_format_reduced(egraph_allocator alloc,
                                   const eg_extract_problem *problem,
                                   const eg_extract_options *options, double best_cost,
                                   eg_text *text) {
  if (eg_extract_has_negative_cost(problem)) return print_plain(alloc, problem, text);
  EG_OWNED(eg_parts, parts);
  EG_OWNED(eg_presolve, presolve);
  eg_parts_init(&parts, alloc, eg_extract_node_count(problem));
  EG_TRY(eg_presolve_init(&presolve, alloc, &parts));
  EG_TRY(eg_reduced_from(&presolve.spare, problem));
  EG_TRY(eg_presolve_load(&presolve, &presolve.spare));
  presolve.disabled = options->disabled_passes;
  presolve.deadline = eg_clock_seconds() + options->time_limit_seconds;
  // If the optimum is 0, a relative margin would be empty: presolve gets no cutoff.
  presolve.cutoff = best_cost > 0 ? best_cost * (1 + MARGIN) : INFINITY;
  EG_TRY(eg_presolve_run(&presolve));
  // If presolve is closed, some root cannot be derived; prints the problem itself, which
  // shows this.
  if (presolve.closed) return print_plain(alloc, problem, text);
  return eg_lp_format_print(text, &presolve.model.problem, presolve.model.offset);
}
