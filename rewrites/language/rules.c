// SPDX-License-Identifier: Apache-2.0
#include "rewrites/language/rules.h"

#include <string.h>

#include "base/flatmap.h"
#include "base/hash.h"
#include "base/owner.h"
#include "base/spelling.h"
#include "rewrites/language/rule_forms.h"
#include "rewrites/language/rule_schema.h"
#include "rewrites/language/rules_internal.h"

// ---- the index ---------------------------------------------------------------

EG_OWNER_DEFINE_STATIC(eg_rule_index, (eg_rule_list, list), (eg_flatmap, names, keys))

static uint64_t hash_text(const char *text) {
  return eg_hash_bytes(0, text, strlen(text));
}

static const char *key_of(const eg_rule_index *index, const eg_rule *rule) {
  return index->parallel ? rule->parallel_key : rule->key;
}

static bool same_name(const void *user, uint32_t id, const void *key) {
  const eg_rule_index *index = user;
  return strcmp(index->list.data[id]->name, key) == 0;
}

static bool same_key(const void *user, uint32_t id, const void *key) {
  const eg_rule_index *index = user;
  return strcmp(key_of(index, index->list.data[id]), key) == 0;
}

static bool find_name(const eg_rule_index *index, const char *name, uint32_t *out) {
  return eg_flatmap_find(&index->names, hash_text(name), name, same_name, index, out);
}

// The rule that says the same up to names of variables.
static bool find_equal(const eg_rule_index *index, const eg_rule *rule, uint32_t *out) {
  const char *key = key_of(index, rule);
  return eg_flatmap_find(&index->keys, hash_text(key), key, same_key, index, out);
}

// Adds a copy, which lies in the arena. Neither name nor key may be in use.
static egraph_status add_to_index(eg_rule_index *index, eg_arena *arena,
                                  const eg_rule *rule) {
  eg_rule *kept;
  EG_TRY(eg_arena_alloc(arena, 1, sizeof *kept, &kept));
  *kept = *rule;
  EG_TRY(eg_flatmap_reserve_one(&index->names));
  EG_TRY(eg_flatmap_reserve_one(&index->keys));
  uint32_t id = (uint32_t)index->list.len;
  EG_TRY(eg_rule_list_push(&index->list, kept));
  (void)eg_flatmap_insert(&index->names, hash_text(kept->name), id);
  (void)eg_flatmap_insert(&index->keys, hash_text(key_of(index, kept)), id);
  return EGRAPH_OK;
}

// Takes the rules from `count` on out again.
static void shrink_index(eg_rule_index *index, size_t count) {
  while (index->list.len > count) {
    eg_rule *last = eg_rule_list_pop(&index->list);
    uint32_t id = (uint32_t)index->list.len;
    eg_flatmap_remove(&index->names, hash_text(last->name), id);
    eg_flatmap_remove(&index->keys, hash_text(key_of(index, last)), id);
  }
}

egraph_status eg_rules_create(const egraph_allocator *alloc, eg_rules **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_rules *rules;
  EG_TRY(eg_alloc(heap, 1, sizeof *rules, &rules));
  rules->alloc = heap;
  eg_arena_init(&rules->arena, heap);
  eg_rule_index_init(&rules->rules, heap);
  eg_rule_index_init(&rules->implied, heap);
  rules->implied.parallel = true;
  eg_rule_tests_init(&rules->tests, heap);
  eg_flatmap_init(&rules->test_names, heap);
  eg_u32s_init(&rules->switched, heap);
  *out = rules;
  return EGRAPH_OK;
}

void eg_rules_destroy(eg_rules *rules) {
  if (rules == NULL) return;
  EG_DEINIT_MEMBERS(rules, (eg_arena, arena), (eg_rule_index, rules, implied),
                    (eg_rule_tests, tests), (eg_flatmap, test_names),
                    (eg_u32s, switched));
  eg_free(rules->alloc, rules, 1, sizeof *rules);
}

egraph_allocator eg_rules_allocator(const eg_rules *rules) { return rules->alloc; }

// ---- look-up --------------------------------------------------------------------

static bool same_test_name(const void *user, uint32_t id, const void *key) {
  const eg_rules *rules = user;
  return strcmp(rules->tests.data[id]->name, key) == 0;
}

bool eg_rules_find(const eg_rules *rules, const char *name, uint32_t *out_rule) {
  return find_name(&rules->rules, name, out_rule);
}

const eg_rule *eg_rules_at(const eg_rules *rules, uint32_t rule) {
  return *eg_rule_list_at(&rules->rules.list, rule);
}
uint32_t eg_rules_count(const eg_rules *rules) { return (uint32_t)rules->rules.list.len; }
const eg_rule *eg_rules_implied_at(const eg_rules *rules, uint32_t rule) {
  return *eg_rule_list_at(&rules->implied.list, rule);
}
uint32_t eg_rules_implied_count(const eg_rules *rules) {
  return (uint32_t)rules->implied.list.len;
}
uint32_t eg_rules_test_count(const eg_rules *rules) { return (uint32_t)rules->tests.len; }
const eg_rule_test *eg_rules_test_at(const eg_rules *rules, uint32_t test) {
  return *eg_rule_tests_at(&rules->tests, test);
}
const char *eg_rule_name(const eg_rules *rules, uint32_t rule) {
  return eg_rules_at(rules, rule)->name;
}
const char *eg_rule_file(const eg_rules *rules, uint32_t rule) {
  return eg_rules_at(rules, rule)->file;
}
uint32_t eg_rule_line(const eg_rules *rules, uint32_t rule) {
  return eg_rules_at(rules, rule)->line;
}

// ---- adding ---------------------------------------------------------------------

static egraph_status check_name(const eg_rules *rules, const eg_rule *rule,
                                const eg_sexpr *form) {
  const eg_rule *first = NULL;
  uint32_t other;
  if (find_name(&rules->rules, rule->name, &other))
    first = rules->rules.list.data[other];
  else if (find_name(&rules->implied, rule->name, &other))
    first = rules->implied.list.data[other];
  if (first == NULL) return EGRAPH_OK;
  return eg_sexpr_fail(rule->file, form,
                       "a rule named %s already stands at %s:%u; use another name",
                       rule->name, first->file, first->line);
}

static egraph_status already_there(const eg_rule *rule, const eg_rule *first,
                                   const eg_sexpr *form) {
  if (rule->reversed && first->line == form->line && first->both_ways &&
      strcmp(first->file, rule->file) == 0)
    return eg_sexpr_fail(rule->file, form, "rule %s is its own reverse; remove both-ways",
                         first->name);
  return eg_sexpr_fail(rule->file, form,
                       "rule %s is rule %s (%s:%u) with other variable names; remove one",
                       rule->name, first->name, first->file, first->line);
}

/// A user's rule that is shipped: a file of rules survives a release that ships the same.
/// The shipped one is on then; the other is kept to be told, unless it has its name.
static egraph_status note_shipped(eg_rules *rules, const eg_rule *rule, uint32_t shipped,
                                  const eg_sexpr *form) {
  eg_rule *first = rules->rules.list.data[shipped];
  uint32_t ignored;
  if (!first->enabled) EG_TRY(eg_u32s_push(&rules->switched, shipped));
  first->enabled = true;
  if (strcmp(rule->name, first->name) == 0 || find_equal(&rules->implied, rule, &ignored))
    return EGRAPH_OK;
  EG_TRY(check_name(rules, rule, form));
  eg_rule known = *rule;
  known.known_as = first->name;
  return add_to_index(&rules->implied, &rules->arena, &known);
}

/// The rule that says the same, or, with parameters, also that; EG_RULE_NONE: there is
/// none.
static egraph_status find_saying(const eg_rules *rules, const eg_rule *rule,
                                 uint32_t *out) {
  bool is_there = find_equal(&rules->rules, rule, out);
  for (uint32_t i = 0; i < rules->rules.list.len && !is_there; i++) {
    const eg_rule *other = rules->rules.list.data[i];
    if (rule->schema != NULL || other->schema == NULL) continue;
    EG_TRY(eg_rule_cases_have(other, rule, rules->alloc, &is_there));
    *out = i;
  }
  if (!is_there) *out = EG_RULE_NONE;
  return EGRAPH_OK;
}

egraph_status eg_rules_add(eg_rules *rules, const eg_rule *rule, const eg_sexpr *form) {
  uint32_t other;
  bool is_there = find_equal(&rules->rules, rule, &other);
  if (!is_there && !rules->is_builtin) {
    EG_TRY(find_saying(rules, rule, &other));
    is_there = other != EG_RULE_NONE && rules->rules.list.data[other]->is_shipped;
  }
  if (is_there && !rules->is_builtin && rules->rules.list.data[other]->is_shipped)
    return note_shipped(rules, rule, other, form);
  EG_TRY(check_name(rules, rule, form));
  if (is_there) return already_there(rule, rules->rules.list.data[other], form);
  eg_rule added = *rule;
  added.is_shipped = rules->is_builtin;
  return add_to_index(&rules->rules, &rules->arena, &added);
}

egraph_status eg_rules_add_implied(eg_rules *rules, const eg_rule *rule,
                                   const eg_sexpr *form) {
  uint32_t other;
  EG_TRY(check_name(rules, rule, form));
  if (find_equal(&rules->implied, rule, &other))
    return already_there(rule, rules->implied.list.data[other], form);
  return add_to_index(&rules->implied, &rules->arena, rule);
}

egraph_status eg_rules_is_known(const eg_rules *rules, const eg_rule *rule,
                                const char **out_name) {
  uint32_t other = EG_RULE_NONE;
  if (rule->move_count != 0) EG_TRY(find_saying(rules, rule, &other));
  *out_name = other != EG_RULE_NONE ? rules->rules.list.data[other]->name : NULL;
  return EGRAPH_OK;
}

egraph_status eg_rules_add_test(eg_rules *rules, const eg_rule_test *test,
                                const eg_sexpr *form) {
  eg_rule_test *kept;
  uint32_t other;
  uint64_t hash = hash_text(test->name);
  if (eg_flatmap_find(&rules->test_names, hash, test->name, same_test_name, rules,
                      &other))
    return eg_sexpr_fail(
        test->file, form, "a test named %s already stands at %s:%u; use another name",
        test->name, rules->tests.data[other]->file, rules->tests.data[other]->line);
  EG_TRY(eg_arena_alloc(&rules->arena, 1, sizeof *kept, &kept));
  *kept = *test;
  EG_TRY(eg_flatmap_reserve_one(&rules->test_names));
  EG_TRY(eg_rule_tests_push(&rules->tests, kept));
  (void)eg_flatmap_insert(&rules->test_names, hash, (uint32_t)rules->tests.len - 1);
  return EGRAPH_OK;
}

eg_rules_mark eg_rules_mark_of(const eg_rules *rules) {
  return (eg_rules_mark){.rules = rules->rules.list.len,
                         .implied = rules->implied.list.len,
                         .tests = rules->tests.len};
}

void eg_rules_shrink(eg_rules *rules, eg_rules_mark to) {
  for (size_t i = 0; i < rules->switched.len; i++)
    rules->rules.list.data[rules->switched.data[i]]->enabled = false;
  shrink_index(&rules->rules, to.rules);
  shrink_index(&rules->implied, to.implied);
  while (rules->tests.len > to.tests) {
    eg_rule_test *last = eg_rule_tests_pop(&rules->tests);
    eg_flatmap_remove(&rules->test_names, hash_text(last->name),
                      (uint32_t)rules->tests.len);
  }
}

// ---- switching on and off -------------------------------------------------------

static bool is_stem_of(const char *file, const char *name) {
  const char *slash = strrchr(file, '/');
  const char *base = slash != NULL ? slash + 1 : file;
  const char *dot = strrchr(base, '.');
  size_t len = dot != NULL ? (size_t)(dot - base) : strlen(base);
  return strlen(name) == len && memcmp(base, name, len) == 0;
}

bool eg_rule_answers_to(const eg_rule *rule, const char *name) {
  if (strcmp(rule->name, name) == 0 || is_stem_of(rule->file, name)) return true;
  size_t len = strlen(name);
  return rule->reversed && strncmp(rule->name, name, len) == 0 &&
         strcmp(rule->name + len, "-reversed") == 0;
}

static egraph_status fail_to_find(const eg_rules *rules, const char *name) {
  eg_spelling spelling = eg_spelling_start(name);
  for (size_t i = 0; i < rules->rules.list.len; i++)
    eg_spelling_offer(&spelling, rules->rules.list.data[i]->name);
  if (spelling.best != NULL)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "no rule and no rule file is called '%s'; did you mean '%s'?", name,
                   spelling.best);
  return EG_FAIL(EGRAPH_E_ARGUMENT, "no rule and no rule file is called '%s'", name);
}

egraph_status eg_rules_enable(eg_rules *rules, const char *name, bool on) {
  bool found = false;
  for (size_t i = 0; i < rules->rules.list.len; i++) {
    eg_rule *rule = rules->rules.list.data[i];
    if (!eg_rule_answers_to(rule, name)) continue;
    rule->enabled = on;
    found = true;
  }
  for (size_t i = 0; i < rules->implied.list.len; i++) // nothing to switch
    found = found || eg_rule_answers_to(rules->implied.list.data[i], name);
  return found ? EGRAPH_OK : fail_to_find(rules, name);
}

egraph_status eg_rules_print(const eg_rules *rules, eg_text *out) {
  EG_TRY(eg_text_append(out, "(egraph-rules 1)\n"));
  for (size_t i = 0; i < rules->rules.list.len; i++) {
    if (rules->rules.list.data[i]->reversed) continue;
    EG_TRY(eg_text_append(out, "\n"));
    EG_TRY(eg_rule_print(out, rules->rules.list.data[i]));
  }
  for (size_t i = 0; i < rules->implied.list.len; i++) {
    EG_TRY(eg_text_append(out, "\n"));
    EG_TRY(eg_rule_print(out, rules->implied.list.data[i]));
  }
  for (size_t i = 0; i < rules->tests.len; i++) {
    EG_TRY(eg_text_append(out, "\n"));
    EG_TRY(eg_rule_test_print(out, rules->tests.data[i]));
  }
  return EGRAPH_OK;
}

// ---- classes ------------------------------------------------------------------------

static const struct {
  egraph_math math;
  const char *name;
} classes[] = {{EGRAPH_MATH_EXACT, "exact"},
               {EGRAPH_MATH_ASSOCIATIVE, "associative"},
               {EGRAPH_MATH_FAST, "fast"}};
enum { CLASSES = sizeof classes / sizeof *classes };

const char *eg_rule_class_name(egraph_math math) {
  for (int i = 0; i < CLASSES; i++)
    if (classes[i].math == math) return classes[i].name;
  return NULL;
}

bool eg_rule_class_find(const char *name, egraph_math *out) {
  for (int i = 0; i < CLASSES; i++) {
    if (strcmp(classes[i].name, name) != 0) continue;
    *out = classes[i].math;
    return true;
  }
  return false;
}
