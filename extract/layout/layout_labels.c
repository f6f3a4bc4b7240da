// From the labels of variables to strategies.
// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_states.h"

#include <math.h>

#define NONE EG_LAYOUT_NONE

static const eg_layout_problem *problem_of(const eg_layout_factors *f) {
  return f->view->problem;
}

/// How many inputs of a value's operators ask for a layout: those of the chosen one.
static uint32_t count_needs(const eg_layout_states *states, uint32_t value,
                            const uint16_t *label_of) {
  const eg_layout_factors *f = states->factors;
  uint32_t count = 0;
  for (uint32_t i = f->links_of.begin.data[value]; i < f->links_of.begin.data[value + 1];
       i++) {
    uint32_t link = f->links_of.items.data[i];
    const eg_link *l = &f->links.data[link];
    if (l->kind == EG_LINK_USE)
      count += label_of[states->need.data[link]] != eg_link_labels(f, l) - 1;
  }
  return count;
}

/// Whether an operator is in the cuts that the labels say.
static bool is_cut_so(const eg_layout_states *states, uint32_t op,
                      const uint16_t *label_of) {
  const eg_layout_factors *f = states->factors;
  uint32_t value = problem_of(f)->operator_value.data[op];
  for (uint32_t i = f->links_of.begin.data[value]; i < f->links_of.begin.data[value + 1];
       i++) {
    const eg_link *link = &f->links.data[f->links_of.items.data[i]];
    if (link->kind != EG_LINK_CUT) continue;
    bool is_chosen =
        label_of[states->need.data[f->links_of.items.data[i]]] == EG_CUT_CHOSEN;
    if (is_chosen != eg_link_cuts(f, link, op)) return false;
  }
  return true;
}

/// Whether what strategy s needs is what the inputs of its operator ask for.
static bool is_asked(const eg_layout_states *states, uint32_t s,
                     const uint16_t *label_of) {
  const eg_layout_factors *f = states->factors;
  const eg_layout_problem *p = problem_of(f);
  uint32_t op = f->view->op_of.data[s];
  for (uint32_t i = p->input_begin.data[op], n = p->need_begin.data[s];
       i < p->input_begin.data[op + 1]; i++, n++)
    if (label_of[states->need.data[f->use.data[i]]] !=
        p->needs.data[n] - p->place_begin.data[p->inputs.data[i]])
      return false;
  return true;
}

uint32_t eg_layout_states_strategy(const eg_layout_states *states, uint32_t value,
                                   const uint16_t *label_of) {
  const eg_layout_factors *f = states->factors;
  const eg_layout_problem *p = problem_of(f);
  const eg_layout_rows *strategies = &f->view->strategies;
  uint32_t best = NONE, made = states->made.data[value];
  double least = INFINITY;
  if (made == NONE) return NONE;
  uint32_t needs = count_needs(states, value, label_of);
  for (uint32_t i = strategies->begin.data[value]; i < strategies->begin.data[value + 1];
       i++) {
    uint32_t s = strategies->items.data[i], op = f->view->op_of.data[s];
    if (!f->active->strategy.data[s] ||
        p->output.data[s] - p->place_begin.data[value] != label_of[made] ||
        p->input_begin.data[op + 1] - p->input_begin.data[op] != needs ||
        !is_asked(states, s, label_of) || !is_cut_so(states, op, label_of))
      continue;
    double cost = eg_factor_strategy(f, s);
    if (!(cost < least)) continue;
    least = cost;
    best = s;
  }
  return best;
}
