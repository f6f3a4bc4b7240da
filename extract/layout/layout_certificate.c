// SPDX-License-Identifier: Apache-2.0
#include "extract/layout/layout_certificate.h"

#include <math.h>

static egraph_status put(eg_text *text, double value) {
  EG_TRY(eg_text_append(text, " "));
  return isinf(value) ? eg_text_append(text, "none") : eg_text_double(text, value);
}

static egraph_status put_rows(eg_text *text, const eg_layout_problem *p,
                              const eg_doubles *rows, uint32_t at) {
  for (uint32_t r = 0; r < p->memory_rows; r++)
    EG_TRY(put(text, rows[r].data[at]));
  return EGRAPH_OK;
}

static egraph_status put_list(eg_text *text, const uint32_t *items, uint32_t count) {
  EG_TRY(eg_text_printf(text, " %u", count));
  for (uint32_t i = 0; i < count; i++)
    EG_TRY(eg_text_printf(text, " %u", items[i]));
  return eg_text_append(text, "\n");
}

static egraph_status write_values(const eg_layout_problem *p, eg_text *text) {
  for (uint32_t v = 0; v < eg_layout_value_count(p); v++) {
    EG_TRY(eg_text_printf(text, "value %u", eg_layout_layout_count(p, v)));
    EG_TRY(put(text, p->cost_times.data[v]));
    EG_TRY(put(text, p->memory_times.data[v]));
    EG_TRY(eg_text_append(text, "\n"));
  }
  for (uint32_t a = 0; a < eg_layout_arc_count(p); a++) {
    EG_TRY(eg_text_printf(text, "arc %u %u", p->arc_from.data[a], p->arc_to.data[a]));
    EG_TRY(put(text, p->arc_cost.data[a]));
    EG_TRY(put_rows(text, p, p->arc_memory, a));
    EG_TRY(eg_text_append(text, "\n"));
  }
  return EGRAPH_OK;
}

static egraph_status write_operators(const eg_layout_problem *p, eg_text *text) {
  for (uint32_t op = 0; op < eg_layout_operator_count(p); op++) {
    uint32_t begin = p->input_begin.data[op];
    EG_TRY(eg_text_printf(text, "operator %u %u", p->operator_value.data[op],
                          p->strategy_begin.data[op + 1] - p->strategy_begin.data[op]));
    EG_TRY(put_list(text, p->inputs.data + begin, p->input_begin.data[op + 1] - begin));
    for (uint32_t s = p->strategy_begin.data[op]; s < p->strategy_begin.data[op + 1];
         s++) {
      EG_TRY(eg_text_printf(text, "strategy %u", p->output.data[s]));
      for (uint32_t i = p->need_begin.data[s]; i < p->need_begin.data[s + 1]; i++)
        EG_TRY(eg_text_printf(text, " %u", p->needs.data[i]));
      EG_TRY(put(text, p->cost.data[s]));
      EG_TRY(put_rows(text, p, p->memory, s));
      EG_TRY(eg_text_append(text, "\n"));
    }
  }
  return EGRAPH_OK;
}

static egraph_status write_demands(const eg_layout_problem *p, eg_text *text) {
  for (uint32_t r = 0; r < p->root_value.len; r++) {
    uint32_t begin = p->root_begin.data[r];
    EG_TRY(eg_text_printf(text, "root %u", p->root_value.data[r]));
    EG_TRY(
        put_list(text, p->root_places.data + begin, p->root_begin.data[r + 1] - begin));
  }
  for (uint32_t t = 0; t < eg_layout_tie_count(p); t++) {
    uint32_t begin = p->tie_begin.data[t];
    EG_TRY(eg_text_append(text, "tie sources"));
    EG_TRY(put_list(text, p->tie_members.data + begin, p->tie_begin.data[t + 1] - begin));
  }
  for (uint32_t v = 0; v < eg_layout_value_count(p); v++)
    if (p->source_layout.data[v] != EG_LAYOUT_NONE)
      EG_TRY(eg_text_printf(text, "fixed %u %u\n", v, p->source_layout.data[v]));
  for (uint32_t i = 0; i < eg_layout_place_count(p); i++)
    if (p->place_forbidden.data[i]) EG_TRY(eg_text_printf(text, "no-place %u\n", i));
  for (uint32_t s = 0; s < eg_layout_strategy_count(p); s++)
    if (p->forbidden.data[s]) EG_TRY(eg_text_printf(text, "no-strategy %u\n", s));
  return EGRAPH_OK;
}

static egraph_status write_problem(const eg_layout_problem *p, eg_text *text) {
  // The last but one: strategies that are forced.
  EG_TRY(eg_text_printf(text, "sizes %u %u %u %u %zu %u %zu %zu %zu %u %zu 0 %u\n",
                        eg_layout_value_count(p), eg_layout_place_count(p),
                        eg_layout_arc_count(p), eg_layout_operator_count(p),
                        p->inputs.len, eg_layout_strategy_count(p), p->needs.len,
                        p->root_value.len, p->root_places.len, eg_layout_tie_count(p),
                        p->tie_members.len, p->memory_rows));
  EG_TRY(eg_text_append(text, "limits"));
  for (uint32_t r = 0; r < p->memory_rows; r++)
    EG_TRY(put(text, p->memory_limit[r]));
  EG_TRY(eg_text_append(text, "\n"));
  EG_TRY(write_values(p, text));
  EG_TRY(write_operators(p, text));
  return write_demands(p, text);
}

static egraph_status write_solution(const eg_layout_solution *solution, eg_text *text) {
  for (uint32_t v = 0; v < solution->strategy.len; v++)
    if (solution->strategy.data[v] != EG_LAYOUT_NONE)
      EG_TRY(eg_text_printf(text, "choose %u %u\n", v, solution->strategy.data[v]));
  for (uint32_t a = 0; a < solution->arc_used.len; a++)
    if (solution->arc_used.data[a]) EG_TRY(eg_text_printf(text, "use %u\n", a));
  EG_TRY(eg_text_append(text, "cost"));
  EG_TRY(put(text, solution->cost));
  return eg_text_append(text, "\n");
}

// ---- dual ---------------------------------------------------------------------------

/// Which of an operator's inputs that are the same value a USE link stands for, and the
/// number of the root of a ROOT link.
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
  uint32_t root = 0; // their links are made in their order
  for (uint32_t i = 0; i < f->links.len; i++)
    if (f->links.data[i].kind == EG_LINK_ROOT) nth->data[i] = root++;
  return EGRAPH_OK;
}

static egraph_status write_link(const eg_layout_factors *f, const eg_link *link,
                                uint32_t nth, eg_text *text) {
  switch (link->kind) {
  case EG_LINK_SOURCE: EG_TRY(eg_text_printf(text, "made %u", link->far)); break;
  case EG_LINK_USE:
    EG_TRY(eg_text_printf(text, "used %u %u %u", link->far, link->producers, nth));
    break;
  case EG_LINK_ROOT: return eg_text_printf(text, "asked %u %u\n", link->far, nth);
  case EG_LINK_TIE:
    EG_TRY(eg_text_printf(text, "tied %u %u", link->far, link->value));
    break;
  case EG_LINK_SEAM:
    return EG_FAIL(EGRAPH_E_INTERNAL, "a dual of an open problem is not written");
  case EG_LINK_CUT:
    EG_TRY(eg_text_printf(text, "in-cut %u %u", link->far, link->value));
    break;
  }
  for (uint32_t l = 0; l < eg_link_labels(f, link); l++) {
    double price = f->dead.data[link->price + l] ? 0 : f->price.data[link->price + l];
    if (!(price < 0) && !(price > 0)) continue;
    EG_TRY(eg_text_printf(text, " %u", l));
    EG_TRY(put(text, price));
  }
  return eg_text_append(text, "\n");
}

static egraph_status write_links(const eg_layout_factors *f, eg_text *text) {
  eg_u32s nth;
  eg_u32s_init(&nth, f->price.alloc);
  egraph_status status = number_uses(f, &nth);
  for (size_t i = 0; status == EGRAPH_OK && i < f->links.len; i++)
    status = write_link(f, &f->links.data[i], nth.data[i], text);
  eg_u32s_deinit(&nth);
  return status;
}

egraph_status eg_layout_dual_write(const eg_layout_factors *f, const double *price,
                                   eg_text *text) {
  const eg_layout_landmarks *l = f->landmarks;
  uint32_t cuts = eg_layout_cut_count(l);
  EG_TRY(eg_text_printf(text, "dual %zu %zu %u %zu\n", f->trees.len, f->links.len, cuts,
                        l->cut_ops.len));
  EG_TRY(eg_text_append(text, "prices"));
  for (uint32_t r = 0; r < f->view->problem->memory_rows; r++)
    EG_TRY(put(text, price[r]));
  EG_TRY(eg_text_append(text, "\n"));
  for (uint32_t v = 0; v < f->active->required.len; v++)
    if (f->active->required.data[v]) EG_TRY(eg_text_printf(text, "required %u\n", v));
  for (size_t t = 0; t < f->trees.len; t++)
    EG_TRY(eg_text_printf(text, "tree %u\n", f->trees.data[t].value));
  for (uint32_t c = 0; c < cuts; c++) {
    uint32_t begin = l->cut_begin.data[c];
    EG_TRY(eg_text_append(text, "cut"));
    EG_TRY(put_list(text, l->cut_ops.data + begin, l->cut_begin.data[c + 1] - begin));
  }
  return write_links(f, text);
}

egraph_status eg_layout_certificate_write(const eg_layout_problem *problem,
                                          const eg_layout_solution *solution,
                                          const eg_layout_dual *dual, double unchecked,
                                          eg_text *text) {
  EG_TRY(eg_text_append(text, "egraph-certificate 1 layout\n"));
  EG_TRY(write_problem(problem, text));
  EG_TRY(write_solution(solution, text));
  EG_TRY(eg_text_append(text, eg_text_of(&dual->text)));
  EG_TRY(eg_text_append(text, "bound"));
  EG_TRY(put(text, dual->bound));
  EG_TRY(eg_text_append(text, "\n"));
  if (unchecked > dual->bound + 1e-9 * fabs(dual->bound)) { // not by rounding alone
    EG_TRY(eg_text_append(text, "unchecked"));
    EG_TRY(put(text, unchecked));
    EG_TRY(eg_text_append(text, "\n"));
  }
  return EGRAPH_OK;
}
