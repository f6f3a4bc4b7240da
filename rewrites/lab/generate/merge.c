// Merges rules as texts: `(rule NAME`, then (source ...), (class ...), (lhs ...), (rhs
// ...), and further clauses. With "?f" in place of one of its operators everywhere, the
// text after the class is the key of a rule; rules with equal keys are merged.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/generate/generate_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/owner.h"
#include "ops/ops.h"
#include "rewrites/lab/rule_checks.h"
#include "rewrites/lab/verify/verify.h"

enum { SEEDS = 3 };

/// An operator in the text of a rule that may become an operator variable.
typedef struct occurrence {
  uint32_t rule;
  eg_op op;
  const char *key;
} occurrence;
EG_VEC_DEFINE(occurrence_vec, occurrence);

typedef struct merger {
  eg_arena *arena;
  const eg_kept_rules *rules;
  uint64_t seed;
  occurrence_vec all; // by key
  const char **texts; // [rules] texts of merged rules, at the first rule of each
  uint32_t *counts;   // [rules] number of rules in the text; 0: merged into another rule
} merger;
EG_OWNER_DEFINE_STATIC(merger, (occurrence_vec, all))

/// Reads the operator whose name begins after a parenthesis; returns the length of the
/// name, or 0 when there is no operator.
static size_t read_operator(const char *at, eg_op *out) {
  size_t length = strcspn(at, " ()\n");
  char name[32];
  if (length == 0 || length >= sizeof name) return 0;
  memcpy(name, at, length);
  name[length] = '\0';
  return eg_op_find(name, out) ? length : 0;
}

// ---- keys -------------------------------------------------------------------------

static const char *sides_of(const char *text) {
  const char *at = strstr(text, "\n  (lhs ");
  return at == NULL ? "" : at;
}

static void print_key(const char *sides, eg_op op, eg_text *out) {
  for (const char *at = sides; *at != '\0'; at++) {
    eg_op found;
    eg_text_append_bytes(out, at, 1);
    size_t length = *at == '(' ? read_operator(at + 1, &found) : 0;
    if (length == 0 || found != op) continue;
    eg_text_append(out, "?f");
    at += length;
  }
}

static egraph_status add_occurrence(merger *m, uint32_t rule, eg_op op) {
  for (size_t i = m->all.len; i-- > 0 && m->all.data[i].rule == rule;)
    if (m->all.data[i].op == op) return EGRAPH_OK;
  occurrence made = {.rule = rule, .op = op};
  EG_LOCAL(eg_text, key, m->arena->alloc);
  print_key(sides_of(m->rules->data[rule].text), op, &key);
  EG_TRY(eg_text_status(&key));
  EG_TRY(eg_arena_string(m->arena, eg_text_of(&key), key.chars.len, &made.key));
  return occurrence_vec_push(&m->all, made);
}

static egraph_status list_occurrences(merger *m) {
  for (uint32_t rule = 0; rule < m->rules->len; rule++)
    for (const char *at = sides_of(m->rules->data[rule].text); *at != '\0'; at++) {
      eg_op op;
      if (*at != '(' || read_operator(at + 1, &op) == 0) continue;
      // An operator variable cannot have attributes.
      const eg_op_info *info = eg_op_info_of(op);
      if ((info->flags & EG_OPF_POINTWISE) != 0 && info->attr_count == 0 &&
          info->max_inputs <= 2 && op != EG_OP_IDENTITY)
        EG_TRY(add_occurrence(m, rule, op));
    }
  return EGRAPH_OK;
}

static int by_key(const void *a, const void *b) {
  const occurrence *x = a, *y = b;
  int order = strcmp(x->key, y->key);
  if (order != 0) return order;
  if (x->rule != y->rule) return x->rule < y->rule ? -1 : 1;
  return (x->op > y->op) - (x->op < y->op);
}

// ---- a merged rule ----------------------------------------------------------------

/// The rules [first, end) that are equal but for one operator (have one key).
typedef struct group {
  size_t first, end;
  uint32_t count; // number of them whose rule is not merged yet
} group;

static bool is_unmerged(const merger *m, const occurrence *o) {
  return m->texts[o->rule] == NULL && m->counts[o->rule] == 1;
}

/// Finds the untried group of equal keys with most rules, at least two; the first
/// of equals.
static bool find_largest(const merger *m, const bool *is_tried, group *out) {
  *out = (group){.count = 1};
  for (size_t first = 0, end; first < m->all.len; first = end) {
    uint32_t count = 0;
    for (end = first;
         end < m->all.len && strcmp(m->all.data[end].key, m->all.data[first].key) == 0;
         end++)
      count += is_unmerged(m, &m->all.data[end]);
    if (count > out->count && !is_tried[first])
      *out = (group){.first = first, .end = end, .count = count};
  }
  return out->count > 1;
}

/// Returns the weakest class (exact, associative, ...) of the rules in a group.
static const char *weakest_class(const merger *m, const group *g) {
  static const char *const CLASSES[] = {"exact", "associative", "associative spreads",
                                        "fast"};
  enum { COUNT = sizeof CLASSES / sizeof *CLASSES };
  int weakest = 0;
  for (size_t i = g->first; i < g->end; i++) {
    const char *text = m->rules->data[m->all.data[i].rule].text;
    for (int k = weakest + 1; k < COUNT && is_unmerged(m, &m->all.data[i]); k++) {
      char form[40];
      (void)snprintf(form, sizeof form, "\n  (class %s)", CLASSES[k]);
      if (strstr(text, form) != NULL) weakest = k;
    }
  }
  return CLASSES[weakest];
}

static egraph_status print_merged(const merger *m, const group *g, uint32_t head,
                                  eg_text *out) {
  const char *text = m->rules->data[head].text;
  const char *class_at = strstr(text, "\n  (class ");
  if (class_at == NULL) return EGRAPH_OK;
  eg_text_append_bytes(out, text, (size_t)(class_at - text));
  eg_text_printf(out, "\n  (class %s)\n  (operators ?f", weakest_class(m, g));
  for (size_t i = g->first; i < g->end; i++)
    if (is_unmerged(m, &m->all.data[i]))
      eg_text_printf(out, " %s", eg_op_info_of(m->all.data[i].op)->name);
  return eg_text_printf(out, ")%s", m->all.data[g->first].key);
}

/// Verifies a merged rule: the rule must hold for every choice of its operator.
static egraph_status is_accepted(const merger *m, const eg_text *text, bool *out) {
  EG_LOCAL(eg_text, file, m->arena->alloc);
  EG_LOCAL(eg_rules_own, rules, m->arena->alloc);
  eg_text_printf(&file, "(egraph-rules 1)\n%s", eg_text_of(text));
  EG_TRY(eg_rules_try_text(m->arena->alloc, "merged.rules", &file, &rules));
  *out = rules != NULL;
  for (uint64_t i = 0; i < SEEDS && *out; i++) {
    const eg_verify_options verify = {.seed = m->seed + i,
                                      .instances = EG_VERIFY_INSTANCES};
    uint32_t rejected = 0;
    EG_TRY(eg_rules_verify(rules, &verify, NULL, NULL, &rejected));
    *out = rejected == 0;
  }
  return EGRAPH_OK;
}

static egraph_status merge_group(merger *m, const group *g) {
  size_t head = g->first;
  while (!is_unmerged(m, &m->all.data[head]))
    head++;
  uint32_t rule = m->all.data[head].rule;
  EG_LOCAL(eg_text, text, m->arena->alloc);
  bool accepted;
  EG_TRY(print_merged(m, g, rule, &text));
  EG_TRY(is_accepted(m, &text, &accepted));
  if (!accepted) return EGRAPH_OK;
  const char *merged;
  EG_TRY(eg_arena_string(m->arena, eg_text_of(&text), text.chars.len, &merged));
  uint32_t count = 0;
  for (size_t i = head; i < g->end; i++) {
    if (!is_unmerged(m, &m->all.data[i])) continue;
    m->counts[m->all.data[i].rule] = 0;
    count++;
  }
  m->texts[rule] = merged;
  m->counts[rule] = count;
  return EGRAPH_OK;
}

egraph_status eg_rules_merge(eg_arena *arena, const eg_kept_rules *rules, uint64_t seed,
                             eg_merged_rules *out) {
  EG_LOCAL(merger, m, arena->alloc);
  m.arena = arena;
  m.rules = rules;
  m.seed = seed;
  bool *is_tried;
  group found;
  EG_NEW(arena, rules->len, m.texts);
  EG_NEW(arena, rules->len, m.counts);
  for (size_t i = 0; i < rules->len; i++)
    m.counts[i] = 1;
  EG_TRY(list_occurrences(&m));
  if (m.all.len != 0) qsort(m.all.data, m.all.len, sizeof *m.all.data, by_key);
  EG_NEW(arena, m.all.len, is_tried);
  while (find_largest(&m, is_tried, &found)) {
    is_tried[found.first] = true;
    EG_TRY(merge_group(&m, &found));
  }
  for (size_t i = 0; i < rules->len; i++) {
    const eg_kept_rule *rule = &rules->data[i];
    if (m.counts[i] == 0) continue;
    EG_TRY(eg_merged_rules_push(
        out, (eg_merged_rule){.text = m.texts[i] != NULL ? m.texts[i] : rule->text,
                              .both_ways = rule->both_ways,
                              .count = m.counts[i]}));
  }
  return EGRAPH_OK;
}
