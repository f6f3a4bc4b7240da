// Greedy: the largest rule that is left is dropped if the rest implies it. A rule that
// was dropped early may have been implied by way of one that was dropped later, within
// limits that the longer way exceeds: so all that were dropped are asked for once more at
// the end.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/import/minimize.h"

#include <stdlib.h>

#include "rewrites/lab/import/implied.h"
#include "rewrites/language/rule_forms.h"
#include "rewrites/language/rules.h"

/// A rule form: one or two directions, which follow each other.
typedef struct form {
  uint32_t first, count;
  uint32_t size; // terms
  bool is_dropped;
  eg_text by; // names of rules that imply it
} form;

typedef struct minimizer {
  egraph_allocator alloc;
  eg_implied_checker checker; // over a copy in which all rules are switched on
  form *forms;
  uint32_t count;
} minimizer;

static egraph_status find_forms(minimizer *m) {
  const eg_rules *rules = m->checker.rules;
  uint32_t all = eg_rules_count(rules);
  EG_TRY(eg_alloc(m->alloc, (size_t)all + 1, sizeof *m->forms, &m->forms));
  for (uint32_t i = 0; i < all; i++) {
    const eg_rule *rule = eg_rules_at(rules, i);
    if (rule->reversed && m->count > 0) {
      m->forms[m->count - 1].count++;
      continue;
    }
    m->forms[m->count] = (form){.first = i, .count = 1, .size = rule->term_count};
    eg_text_init(&m->forms[m->count++].by, m->alloc);
  }
  return EGRAPH_OK;
}

static void use(minimizer *m, const form *f, bool is_used) {
  for (uint32_t i = 0; i < f->count; i++)
    m->checker.is_default[f->first + i] = is_used;
}

/// Drops the form if the rules in use, without it, imply each of its directions.
static egraph_status try_drop(minimizer *m, form *f) {
  eg_text names;
  eg_text_init(&names, m->alloc);
  egraph_status status = EGRAPH_OK;
  use(m, f, false);
  eg_text_clear(&f->by);
  f->is_dropped = true;
  for (uint32_t i = 0; status == EGRAPH_OK && f->is_dropped && i < f->count; i++) {
    const eg_rule *rule = eg_rules_at(m->checker.rules, f->first + i);
    eg_implied how = EG_IMPLIED_NOT;
    if (rule->move_count == 0) status = eg_implied_check(&m->checker, rule, &how, &names);
    f->is_dropped = how != EG_IMPLIED_NOT;
    if (status == EGRAPH_OK && f->is_dropped && i == 0)
      status = eg_text_append(&f->by, eg_text_of(&names));
  }
  use(m, f, !f->is_dropped);
  eg_text_deinit(&names);
  return status;
}

/// Large ones first; of equal ones the later.
static int by_size(const void *a, const void *b) {
  const form *x = *(form *const *)a, *y = *(form *const *)b;
  if (x->size != y->size) return x->size < y->size ? 1 : -1;
  return (x->first < y->first) - (x->first > y->first);
}

static egraph_status drop_all(minimizer *m) {
  form **order;
  EG_TRY(eg_alloc(m->alloc, (size_t)m->count + 1, sizeof(form *), &order));
  for (uint32_t i = 0; i < m->count; i++)
    order[i] = &m->forms[i];
  qsort(order, m->count, sizeof(form *), by_size);
  egraph_status status = EGRAPH_OK;
  for (uint32_t i = 0; status == EGRAPH_OK && i < m->count; i++)
    status = try_drop(m, order[i]);
  for (uint32_t i = 0; status == EGRAPH_OK && i < m->count; i++)
    if (order[i]->is_dropped) status = try_drop(m, order[i]);
  eg_free(m->alloc, order, (size_t)m->count + 1, sizeof(form *));
  return status;
}

static egraph_status report_all(const minimizer *m,
                                void (*report)(void *user, const egraph_rule_need *need),
                                void *user, eg_text *out) {
  EG_TRY(eg_text_append(out, "(egraph-rules 1)\n"));
  for (uint32_t i = 0; i < m->count; i++) {
    const form *f = &m->forms[i];
    const eg_rule *rule = eg_rules_at(m->checker.rules, f->first);
    const egraph_rule_need need = {
        .rule = rule->name, .is_kept = !f->is_dropped, .by = eg_text_of(&f->by)};
    if (report != NULL) report(user, &need);
    if (f->is_dropped) continue;
    EG_TRY(eg_text_append(out, "\n"));
    EG_TRY(eg_rule_print(out, rule));
    EG_TRY(eg_text_append(out, "\n"));
  }
  return EGRAPH_OK;
}

egraph_status eg_rules_minimize(egraph_allocator alloc, const eg_rules *rules,
                                void (*report)(void *user, const egraph_rule_need *need),
                                void *user, eg_text *out) {
  minimizer m = {.alloc = alloc};
  EG_TRY(eg_implied_checker_init_of(&m.checker, alloc, rules));
  uint32_t all = eg_rules_count(m.checker.rules);
  egraph_status status = find_forms(&m);
  if (status == EGRAPH_OK) status = drop_all(&m);
  if (status == EGRAPH_OK) status = report_all(&m, report, user, out);
  for (uint32_t i = 0; i < m.count; i++)
    eg_text_deinit(&m.forms[i].by);
  eg_free(alloc, m.forms, (size_t)all + 1, sizeof *m.forms);
  eg_implied_checker_deinit(&m.checker);
  return status;
}
