// Finds rules of a set that the others imply, and rules that other sets imply.
//
// Minimizing is greedy: the largest rule left is dropped if the rest implies it. An early
// dropped rule may have been implied via a rule dropped later, and the longer way may
// exceed the limits. All dropped rules are therefore tried once more at the end.
// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "rewrites/lab/import/implied.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/language/rule_forms.h"
#include "rewrites/language/rules.h"

// ---- the smallest set -----------------------------------------------------------------

/// A rule of the set with its one or two directions, stored one after the other.
typedef struct form {
  uint32_t first, count;
  uint32_t size; // number of terms
  bool is_dropped;
  const char *by; // names of rules that imply it
} form;

typedef struct minimizer {
  eg_arena arena;
  eg_implied_checker checker; // checks a copy in which all rules are enabled
  form *forms;
  uint32_t count;
} minimizer;

EG_OWNER_DEFINE_STATIC(minimizer, (eg_implied_checker, checker), (eg_arena, arena))

static egraph_status find_forms(minimizer *m) {
  const eg_rules *rules = m->checker.rules;
  uint32_t all = eg_rules_count(rules);
  EG_NEW(&m->arena, (size_t)all + 1, m->forms);
  for (uint32_t i = 0; i < all; i++) {
    const eg_rule *rule = eg_rules_at(rules, i);
    if (rule->reversed && m->count > 0) {
      m->forms[m->count - 1].count++;
      continue;
    }
    m->forms[m->count++] =
        (form){.first = i, .count = 1, .size = rule->term_count, .by = ""};
  }
  return EGRAPH_OK;
}

static void use(minimizer *m, const form *f, bool is_used) {
  for (uint32_t i = 0; i < f->count; i++)
    m->checker.is_default[f->first + i] = is_used;
}

/// Drops a rule from the set if the remaining rules imply each of its directions.
static egraph_status try_drop(minimizer *m, form *f) {
  EG_LOCAL(eg_text, names, m->arena.alloc);
  use(m, f, false);
  f->by = "";
  f->is_dropped = true;
  for (uint32_t i = 0; f->is_dropped && i < f->count; i++) {
    const eg_rule *rule = eg_rules_at(m->checker.rules, f->first + i);
    eg_implied how = EG_IMPLIED_NOT;
    if (rule->move_count == 0) EG_TRY(eg_implied_check(&m->checker, rule, &how, &names));
    f->is_dropped = how != EG_IMPLIED_NOT;
    if (f->is_dropped && i == 0)
      EG_TRY(eg_arena_string(&m->arena, eg_text_of(&names), names.chars.len, &f->by));
  }
  use(m, f, !f->is_dropped);
  return EGRAPH_OK;
}

/// Orders large rules first; among rules of equal size, the later rule first.
static int compare_sizes(const void *a, const void *b) {
  const form *x = *(form *const *)a, *y = *(form *const *)b;
  if (x->size != y->size) return x->size < y->size ? 1 : -1;
  return (x->first < y->first) - (x->first > y->first);
}

static egraph_status drop_all(minimizer *m) {
  form **order;
  EG_NEW(&m->arena, (size_t)m->count + 1, order);
  for (uint32_t i = 0; i < m->count; i++)
    order[i] = &m->forms[i];
  qsort(order, m->count, sizeof(form *), compare_sizes);
  for (uint32_t i = 0; i < m->count; i++)
    EG_TRY(try_drop(m, order[i]));
  for (uint32_t i = 0; i < m->count; i++)
    if (order[i]->is_dropped) EG_TRY(try_drop(m, order[i]));
  return EGRAPH_OK;
}

egraph_status eg_rules_minimize(egraph_allocator alloc, const eg_rules *rules,
                                void (*report)(void *user, const egraph_rule_need *need),
                                void *user, eg_text *out) {
  EG_LOCAL(minimizer, m, alloc);
  EG_TRY(eg_implied_checker_copy(&m.checker, rules));
  EG_TRY(find_forms(&m));
  EG_TRY(drop_all(&m));
  eg_text_append(out, "(egraph-rules 1)\n");
  for (uint32_t i = 0; i < m.count; i++) {
    const form *f = &m.forms[i];
    const eg_rule *rule = eg_rules_at(m.checker.rules, f->first);
    const egraph_rule_need need = {
        .rule = rule->name, .is_kept = !f->is_dropped, .by = f->by};
    if (report != NULL) report(user, &need);
    if (f->is_dropped) continue;
    eg_text_append(out, "\n");
    EG_TRY(eg_rule_print(out, rule));
    eg_text_append(out, "\n");
  }
  return eg_text_status(out);
}

// ---- rules that are found again -------------------------------------------------------

typedef struct finder {
  egraph_allocator alloc;
  eg_rules_own rules; // rules of all sets, each once
  eg_implied_checker checker;
  bool has_op[EG_OP_COUNT]; // operators of these rules
} finder;

EG_OWNER_DEFINE_STATIC(finder, (eg_implied_checker, checker), (eg_rules_own, rules))

static bool has_key(const eg_rules *rules, const char *key) {
  for (uint32_t i = 0; i < eg_rules_count(rules); i++)
    if (strcmp(eg_rules_at(rules, i)->key, key) == 0) return true;
  return false;
}

/// Adds a rule under another name, because files of different families may use the
/// same name.
static egraph_status add_rule(finder *f, const eg_rule *rule, uint32_t number) {
  eg_rule renamed = *rule;
  char name[64];
  EG_LOCAL(eg_text, text, f->alloc);
  (void)snprintf(name, sizeof name, "%.40s-%u", rule->name, (unsigned)number);
  renamed.name = name;
  eg_text_append(&text, "(egraph-rules 1)\n");
  EG_TRY(eg_rule_print(&text, &renamed));
  return eg_rules_parse(f->rules, rule->file, eg_text_of(&text), text.chars.len);
}

static egraph_status add_set(finder *f, const eg_rules *from) {
  for (uint32_t i = 0; i < eg_rules_count(from); i++) {
    const eg_rule *rule = eg_rules_at(from, i);
    bool has_other = i + 1 < eg_rules_count(from) && eg_rules_at(from, i + 1)->reversed;
    if (rule->reversed || has_key(f->rules, rule->key)) continue;
    if (has_other && has_key(f->rules, eg_rules_at(from, i + 1)->key)) continue;
    EG_TRY(add_rule(f, rule, eg_rules_count(f->rules)));
  }
  return EGRAPH_OK;
}

static void note_operators(finder *f) {
  for (uint32_t i = 0; i < eg_rules_count(f->rules); i++) {
    const eg_rule *rule = eg_rules_at(f->rules, i);
    for (uint32_t k = 0; k < rule->term_count; k++)
      if (!rule->terms[k].is_var) f->has_op[rule->terms[k].op] = true;
  }
}

/// True when the rule reads the number that fills a constant tensor (splat).
static bool has_constants(const eg_rule *rule) {
  for (uint32_t i = 0; i < rule->expr_count; i++)
    if (rule->exprs[i].form == EG_RULE_EXPR_CALL &&
        (rule->exprs[i].function == EG_RULE_FN_SPLAT ||
         rule->exprs[i].function == EG_RULE_FN_IS_SPLAT ||
         rule->exprs[i].function == EG_RULE_FN_SPLAT_IS))
      return true;
  return false;
}

/// True when the right side has attributes that are not simply values of the left side.
static bool computes_attributes(const eg_rule *rule) {
  for (uint32_t i = rule->pattern_term_count; i < rule->term_count; i++) {
    const eg_rule_term *term = &rule->terms[i];
    uint32_t count = term->is_var ? 0 : eg_op_info_of(term->op)->attr_count;
    for (uint32_t slot = 0; slot < count; slot++)
      if (term->slots[slot].form == EG_RULE_SLOT_EXPR) return true;
  }
  return false;
}

/// Returns the first reason why a rule may not be implied by the other sets.
static const char *reason_of(const finder *f, const eg_rule *rule) {
  if (rule->move_count != 0) return "parallel operators";
  for (uint32_t i = 0; i < rule->term_count; i++)
    if (!rule->terms[i].is_var && !f->has_op[rule->terms[i].op])
      return "an operator that no other rule has";
  if (rule->root_count > 1) return "several outputs";
  if (rule->schema != NULL) return "parameters";
  if (has_constants(rule)) return "constants";
  if (computes_attributes(rule)) return "computed attributes";
  return rule->condition_count != 0 ? "conditions" : "not implied";
}

static egraph_status find_rule(const finder *f, const eg_rule *rule, eg_text *names,
                               egraph_rule_found *out) {
  uint32_t operators[2] = {0, 0};
  eg_implied how = EG_IMPLIED_NOT;
  eg_text_clear(names);
  if (rule->move_count == 0) EG_TRY(eg_implied_check(&f->checker, rule, &how, names));
  for (uint32_t i = 0; i < rule->term_count; i++)
    operators[i < rule->pattern_term_count] += !rule->terms[i].is_var;
  bool is_found = how != EG_IMPLIED_NOT;
  *out = (egraph_rule_found){.rule = rule->name,
                             .file = rule->file,
                             .operators = operators[0] > operators[1] ? operators[0]
                                                                      : operators[1],
                             .is_found = is_found,
                             .by = eg_text_of(names),
                             .reason = is_found ? "" : reason_of(f, rule)};
  return EGRAPH_OK;
}

egraph_status eg_rules_found(egraph_allocator alloc, const eg_rules *of,
                             const eg_rules *const *by, size_t by_count,
                             void (*report)(void *user, const egraph_rule_found *found),
                             void *user) {
  EG_LOCAL(finder, f, alloc);
  f.alloc = alloc;
  EG_LOCAL(eg_text, names, alloc);
  EG_TRY(eg_rules_create_checked(&alloc, &f.rules));
  EG_TRY(eg_rules_add_commutativity(f.rules, "axioms"));
  for (size_t i = 0; i < by_count; i++)
    EG_TRY(add_set(&f, by[i]));
  EG_TRY(eg_implied_checker_copy(&f.checker, f.rules));
  note_operators(&f);
  for (uint32_t i = 0; i < eg_rules_count(of); i++) {
    egraph_rule_found found;
    if (eg_rules_at(of, i)->reversed) continue;
    EG_TRY(find_rule(&f, eg_rules_at(of, i), &names, &found));
    if (report != NULL) report(user, &found);
  }
  return EGRAPH_OK;
}
