// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/import/found.h"

#include <string.h>

#include "rewrites/lab/import/implied.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/language/rule_forms.h"

typedef struct finder {
  egraph_allocator alloc;
  eg_rules *rules; // of all sets, once each
  eg_implied_checker checker;
  bool has_op[EG_OP_COUNT]; // operators of these rules
} finder;

// ---- the rules that may imply ---------------------------------------------------------

static bool has_key(const eg_rules *rules, const char *key) {
  for (uint32_t i = 0; i < eg_rules_count(rules); i++)
    if (strcmp(eg_rules_at(rules, i)->key, key) == 0) return true;
  return false;
}

/// Under a name of its own: files of different families may use one name.
static egraph_status add_rule(finder *f, const eg_rule *rule, uint32_t number) {
  eg_rule renamed = *rule;
  char name[64];
  eg_text text;
  eg_text_init(&text, f->alloc);
  (void)snprintf(name, sizeof name, "%.40s-%u", rule->name, (unsigned)number);
  renamed.name = name;
  egraph_status status = eg_text_append(&text, "(egraph-rules 1)\n");
  if (status == EGRAPH_OK) status = eg_rule_print(&text, &renamed);
  if (status == EGRAPH_OK)
    status = eg_rules_parse(f->rules, rule->file, eg_text_of(&text), text.chars.len);
  eg_text_deinit(&text);
  return status;
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

/// Terms of rules that were made are unordered, so that operands commute is an axiom.
static egraph_status add_axioms(finder *f) {
  for (int op = 0; op < EG_OP_COUNT; op++) {
    const eg_op_info *info = eg_op_info_of((eg_op)op);
    char text[256];
    if ((info->flags & EG_OPF_COMMUTES) == 0) continue;
    (void)snprintf(text, sizeof text,
                   "(egraph-rules 1) (rule %s-commutes (source \"operator table\") "
                   "(lhs (%s ?x ?y)) (rhs (%s ?y ?x)))",
                   info->name, info->name, info->name);
    EG_TRY(eg_rules_parse(f->rules, "axioms", text, strlen(text)));
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

// ---- why a rule is not found ----------------------------------------------------------

static bool calls(const eg_rule *rule, const eg_rule_function *functions,
                  uint32_t count) {
  for (uint32_t i = 0; i < rule->expr_count; i++)
    for (uint32_t k = 0; k < count; k++)
      if (rule->exprs[i].form == EG_RULE_EXPR_CALL &&
          rule->exprs[i].function == functions[k])
        return true;
  return false;
}

static bool has_moves(const finder *f, const eg_rule *rule) {
  (void)f;
  return rule->move_count != 0;
}
static bool lacks_operator(const finder *f, const eg_rule *rule) {
  for (uint32_t i = 0; i < rule->term_count; i++)
    if (!rule->terms[i].is_var && !f->has_op[rule->terms[i].op]) return true;
  return false;
}
static bool has_outputs(const finder *f, const eg_rule *rule) {
  (void)f;
  return rule->root_count > 1;
}
static bool has_parameters(const finder *f, const eg_rule *rule) {
  (void)f;
  return rule->schema != NULL;
}
static bool has_constants(const finder *f, const eg_rule *rule) {
  (void)f;
  static const eg_rule_function OF_SPLATS[] = {EG_RULE_FN_SPLAT, EG_RULE_FN_IS_SPLAT,
                                               EG_RULE_FN_SPLAT_IS};
  return calls(rule, OF_SPLATS, sizeof OF_SPLATS / sizeof *OF_SPLATS);
}
/// Attributes of the right side that are no values of the left one.
static bool computes_attributes(const finder *f, const eg_rule *rule) {
  (void)f;
  for (uint32_t i = rule->pattern_term_count; i < rule->term_count; i++) {
    const eg_rule_term *term = &rule->terms[i];
    uint32_t count = term->is_var ? 0 : eg_op_info_of(term->op)->attr_count;
    for (uint32_t slot = 0; slot < count; slot++)
      if (term->slots[slot].form == EG_RULE_SLOT_EXPR) return true;
  }
  return false;
}
static bool has_conditions(const finder *f, const eg_rule *rule) {
  (void)f;
  return rule->condition_count != 0;
}
static bool is_any(const finder *f, const eg_rule *rule) {
  (void)f;
  (void)rule;
  return true;
}

/// The first one that fits is said.
static const struct {
  bool (*fits)(const finder *f, const eg_rule *rule);
  const char *words;
} REASONS[] = {{has_moves, "parallel operators"},
               {lacks_operator, "an operator that no other rule has"},
               {has_outputs, "several outputs"},
               {has_parameters, "parameters"},
               {has_constants, "constants"},
               {computes_attributes, "computed attributes"},
               {has_conditions, "conditions"},
               {is_any, "not implied"}};

static const char *reason_of(const finder *f, const eg_rule *rule) {
  uint32_t i = 0;
  while (!REASONS[i].fits(f, rule))
    i++;
  return REASONS[i].words;
}

// ---- looking --------------------------------------------------------------------------

static uint32_t count_operators(const eg_rule *rule, uint32_t first, uint32_t end) {
  uint32_t count = 0;
  for (uint32_t i = first; i < end; i++)
    count += !rule->terms[i].is_var;
  return count;
}

static uint32_t larger_side(const eg_rule *rule) {
  uint32_t left = count_operators(rule, 0, rule->pattern_term_count);
  uint32_t right = count_operators(rule, rule->pattern_term_count, rule->term_count);
  return left > right ? left : right;
}

static egraph_status look_for(const finder *f, const eg_rule *rule, eg_text *names,
                              egraph_rule_found *out) {
  eg_implied how = EG_IMPLIED_NOT;
  eg_text_clear(names);
  if (rule->move_count == 0) EG_TRY(eg_implied_check(&f->checker, rule, &how, names));
  *out = (egraph_rule_found){.rule = rule->name,
                             .file = rule->file,
                             .operators = larger_side(rule),
                             .is_found = how != EG_IMPLIED_NOT,
                             .by = eg_text_of(names)};
  out->reason = out->is_found ? "" : reason_of(f, rule);
  return EGRAPH_OK;
}

static egraph_status
look_for_all(finder *f, const eg_rules *of,
             void (*report)(void *user, const egraph_rule_found *found), void *user) {
  eg_text names;
  eg_text_init(&names, f->alloc);
  egraph_status status = EGRAPH_OK;
  for (uint32_t i = 0; status == EGRAPH_OK && i < eg_rules_count(of); i++) {
    egraph_rule_found found;
    if (eg_rules_at(of, i)->reversed) continue;
    status = look_for(f, eg_rules_at(of, i), &names, &found);
    if (status == EGRAPH_OK && report != NULL) report(user, &found);
  }
  eg_text_deinit(&names);
  return status;
}

egraph_status eg_rules_found(egraph_allocator alloc, const eg_rules *of,
                             const eg_rules *const *by, size_t by_count,
                             void (*report)(void *user, const egraph_rule_found *found),
                             void *user) {
  finder f = {.alloc = alloc};
  EG_TRY(eg_rules_create_checked(&alloc, &f.rules));
  egraph_status status = add_axioms(&f);
  for (size_t i = 0; status == EGRAPH_OK && i < by_count; i++)
    status = add_set(&f, by[i]);
  if (status == EGRAPH_OK)
    status = eg_implied_checker_init_of(&f.checker, alloc, f.rules);
  if (status == EGRAPH_OK) {
    note_operators(&f);
    status = look_for_all(&f, of, report, user);
    eg_implied_checker_deinit(&f.checker);
  }
  eg_rules_destroy(f.rules);
  return status;
}
