// Adds the rules of a text one by one, and removes them again when one of them fails.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/language/rules.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/flatmap.h"
#include "base/hash.h"
#include "base/owner.h"
#include "base/spelling.h"
#include "rewrites/language/builtin_rules.h"
#include "rewrites/language/rule_forms.h"
#include "rewrites/language/rule_schema.h"

EG_VEC_DEFINE(eg_rule_tests, eg_rule_test *);
EG_VEC_DEFINE(eg_rule_list, eg_rule *);

/// Rules in order, with look-ups by name and by key.
typedef struct rule_index {
  eg_rule_list list;
  eg_flatmap names, keys;
  bool parallel; // equal rules have equal parallel_key, instead of equal key
} rule_index;

struct eg_rules {
  egraph_allocator alloc;
  eg_arena arena;
  rule_index rules;
  rule_index implied; // see eg_rules_implied_count
  eg_rule_tests tests;
  eg_flatmap test_names;
  const eg_rule_checks *checks; // borrowed; NULL: none
  bool is_builtin;              // the current text is shipped: tests have verified it
  bool is_verified;             // other texts are verified
  eg_u32s switched;             // shipped rules that the current text has switched on
};

// ---- the index ---------------------------------------------------------------

EG_OWNER_DEFINE_STATIC(rule_index, (eg_rule_list, list), (eg_flatmap, names, keys))

static uint64_t hash_text(const char *text) {
  return eg_hash_bytes(0, text, strlen(text));
}

static const char *key_in_index(const rule_index *index, const eg_rule *rule) {
  return index->parallel ? rule->parallel_key : rule->key;
}

static bool same_name(const void *user, uint32_t id, const void *key) {
  const rule_index *index = user;
  return strcmp(index->list.data[id]->name, key) == 0;
}

static bool same_key(const void *user, uint32_t id, const void *key) {
  const rule_index *index = user;
  return strcmp(key_in_index(index, index->list.data[id]), key) == 0;
}

static bool find_name(const rule_index *index, const char *name, uint32_t *out) {
  return eg_flatmap_find(&index->names, hash_text(name), name, same_name, index, out);
}

// Finds the rule with the same key (its text with variables renamed).
static bool find_equal(const rule_index *index, const eg_rule *rule, uint32_t *out) {
  const char *key = key_in_index(index, rule);
  return eg_flatmap_find(&index->keys, hash_text(key), key, same_key, index, out);
}

// Adds a copy of a rule, in the arena. Neither its name nor its key may be in use.
static egraph_status add_to_index(rule_index *index, eg_arena *arena,
                                  const eg_rule *rule) {
  eg_rule *kept;
  uint32_t known;
  assert(!find_name(index, rule->name, &known) && !find_equal(index, rule, &known));
  (void)known;
  EG_TRY(eg_arena_alloc(arena, 1, sizeof *kept, &kept));
  *kept = *rule;
  EG_TRY(eg_flatmap_reserve_one(&index->names));
  EG_TRY(eg_flatmap_reserve_one(&index->keys));
  uint32_t id = (uint32_t)index->list.len;
  EG_TRY(eg_rule_list_push(&index->list, kept));
  (void)eg_flatmap_insert(&index->names, hash_text(kept->name), id);
  (void)eg_flatmap_insert(&index->keys, hash_text(key_in_index(index, kept)), id);
  return EGRAPH_OK;
}

// Removes the rules from number `count` on.
static void shrink_index(rule_index *index, size_t count) {
  while (index->list.len > count) {
    eg_rule *last = eg_rule_list_pop(&index->list);
    uint32_t id = (uint32_t)index->list.len;
    eg_flatmap_remove(&index->names, hash_text(last->name), id);
    eg_flatmap_remove(&index->keys, hash_text(key_in_index(index, last)), id);
  }
}

egraph_status eg_rules_create(const egraph_allocator *alloc, eg_rules **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_rules *rules;
  EG_TRY(eg_alloc(heap, 1, sizeof *rules, &rules));
  rules->alloc = heap;
  eg_arena_init(&rules->arena, heap);
  rule_index_init(&rules->rules, heap);
  rule_index_init(&rules->implied, heap);
  rules->implied.parallel = true;
  eg_rule_tests_init(&rules->tests, heap);
  eg_flatmap_init(&rules->test_names, heap);
  eg_u32s_init(&rules->switched, heap);
  *out = rules;
  return EGRAPH_OK;
}

void eg_rules_destroy(eg_rules *rules) {
  if (rules == NULL) return;
  EG_DEINIT_MEMBERS(rules, (eg_arena, arena), (rule_index, rules, implied),
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

/// Accepts a user's rule that equals a shipped rule, so that a file of rules remains
/// valid when a later release ships one of them: switches the shipped rule on, and keeps
/// the user's rule for printing, unless both have the same name.
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

/// Finds the rule of the set that equals `rule`, or has a case that does; EG_RULE_NONE:
/// there is none.
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

/// Adds a direction of a rule. `form` is for messages; names and left sides must be new.
static egraph_status add_rule(eg_rules *rules, const eg_rule *rule,
                              const eg_sexpr *form) {
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

static egraph_status add_implied(eg_rules *rules, const eg_rule *rule,
                                 const eg_sexpr *form) {
  uint32_t other;
  EG_TRY(check_name(rules, rule, form));
  if (find_equal(&rules->implied, rule, &other))
    return already_there(rule, rules->implied.list.data[other], form);
  return add_to_index(&rules->implied, &rules->arena, rule);
}

/// Finds the name of the rule that equals `rule` without parallel operators, or NULL.
/// Fails with EGRAPH_E_MEMORY.
static egraph_status find_known(const eg_rules *rules, const eg_rule *rule,
                                const char **out_name) {
  uint32_t other = EG_RULE_NONE;
  if (rule->move_count != 0) EG_TRY(find_saying(rules, rule, &other));
  *out_name = other != EG_RULE_NONE ? rules->rules.list.data[other]->name : NULL;
  return EGRAPH_OK;
}

static egraph_status add_test(eg_rules *rules, const eg_rule_test *test,
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

/// Numbers of rules and tests before a text is read.
typedef struct rules_mark {
  size_t rules, implied, tests;
} rules_mark;

static rules_mark mark_rules(const eg_rules *rules) {
  return (rules_mark){.rules = rules->rules.list.len,
                      .implied = rules->implied.list.len,
                      .tests = rules->tests.len};
}

/// Removes all rules and tests that a text has added before reading it failed.
static void shrink_rules(eg_rules *rules, rules_mark to) {
  assert(to.rules <= rules->rules.list.len && to.implied <= rules->implied.list.len);
  assert(to.tests <= rules->tests.len);
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
  eg_text_append(out, "(egraph-rules 1)\n");
  for (size_t i = 0; i < rules->rules.list.len; i++) {
    if (rules->rules.list.data[i]->reversed) continue;
    eg_text_append(out, "\n");
    eg_rule_print(out, rules->rules.list.data[i]);
  }
  for (size_t i = 0; i < rules->implied.list.len; i++) {
    eg_text_append(out, "\n");
    eg_rule_print(out, rules->implied.list.data[i]);
  }
  for (size_t i = 0; i < rules->tests.len; i++) {
    eg_text_append(out, "\n");
    eg_rule_test_print(out, rules->tests.data[i]);
  }
  return eg_text_status(out);
}

// ---- reading ---------------------------------------------------------------------

enum { MAX_FILE_BYTES = 16 << 20 };

void eg_rules_set_checks(eg_rules *rules, const eg_rule_checks *checks) {
  rules->checks = checks;
}

bool eg_rules_set_verified(eg_rules *rules, bool verified) {
  assert(!verified || rules->checks != NULL);
  bool before = rules->is_verified;
  rules->is_verified = verified;
  return before;
}

static egraph_status check_layouts(const eg_rules *rules, const eg_rule *rule,
                                   const eg_sexpr *form) {
  if (rule->move_count == 0 || rules->is_builtin) return EGRAPH_OK;
  if (rules->checks != NULL) return rules->checks->layouts(&rules->alloc, rule);
  return eg_sexpr_fail(
      rule->file, form,
      "nothing here checks what a rule with parallel operators claims of "
      "layouts; link the rule laboratory, or leave the rule out");
}

static egraph_status read_rule_form(eg_rules *rules, const eg_rule_source_text *from,
                                    const eg_sexpr *form) {
  eg_rule rule, reverse;
  EG_TRY(eg_rule_read(from, form, false, &rule));
  EG_TRY(check_layouts(rules, &rule, form));
  if (rule.implied) return add_implied(rules, &rule, form);
  if (rule.schema != NULL && !rules->is_builtin)
    EG_TRY(eg_rule_cases_check(&rule, rules->alloc));
  if (rule.both_ways) EG_TRY(eg_rule_read(from, form, true, &reverse));
  const char *name;
  EG_TRY(find_known(rules, &rule, &rule.known_as));
  name = rule.known_as;
  if (name != NULL && rule.both_ways) EG_TRY(find_known(rules, &reverse, &name));
  if (name != NULL) return add_implied(rules, &rule, form);
  rule.known_as = NULL;
  EG_TRY(add_rule(rules, &rule, form));
  return rule.both_ways ? add_rule(rules, &reverse, form) : EGRAPH_OK;
}

static egraph_status check_header(const char *file, const eg_sexpr *text) {
  eg_sexpr start = {.line = 1, .column = 1};
  const eg_sexpr *header = text->count > 0 ? &text->children[0] : &start;
  if (text->count == 0 || !eg_sexpr_is_form(header, "egraph-rules"))
    return eg_sexpr_fail(file, header,
                         "a rule file begins with (egraph-rules 1); put that first");
  if (header->count == 3 && eg_sexpr_is_atom(&header->children[2], "symbolic"))
    return eg_sexpr_fail(file, header,
                         "these are rules over plain symbols, not over tensor operators");
  if (header->count == 2 && eg_sexpr_is_atom(&header->children[1], "1")) return EGRAPH_OK;
  return eg_sexpr_fail(file, header,
                       "this version of rule files is unknown; only (egraph-rules 1) is");
}

static egraph_status read_forms(eg_rules *rules, const eg_rule_source_text *from,
                                const eg_sexpr *text) {
  eg_sexpr forms;
  EG_TRY(check_header(from->file, text));
  EG_TRY(eg_rule_expand(from->arena, from->file, text, &forms));
  for (uint32_t i = 1; i < forms.count; i++) {
    const eg_sexpr *form = &forms.children[i];
    if (eg_sexpr_is_form(form, "rule"))
      EG_TRY(read_rule_form(rules, from, form));
    else if (eg_sexpr_is_form(form, "test")) {
      eg_rule_test test;
      EG_TRY(eg_rule_test_read(from, form, &test));
      EG_TRY(add_test(rules, &test, form));
    } else
      return eg_sexpr_fail(
          from->file, form,
          "unknown form; write (rule name ...), (test name ...) or (for $name "
          "(value ...) form ...)");
  }
  return EGRAPH_OK;
}

egraph_status eg_rules_parse(eg_rules *rules, const char *file, const char *text,
                             size_t size) {
  eg_rule_source_text from = {.arena = &rules->arena, .scratch = rules->alloc};
  EG_TRY(eg_arena_string(&rules->arena, file, strlen(file), &from.file));
  eg_sexpr forms;
  EG_TRY(eg_sexpr_parse(&rules->arena, from.file, text, size, &forms));
  rules_mark before = mark_rules(rules);
  rules->switched.len = 0;
  egraph_status status = read_forms(rules, &from, &forms);
  if (status == EGRAPH_OK && rules->is_verified && !rules->is_builtin)
    status = rules->checks->hold(rules, (uint32_t)before.rules, (uint32_t)before.tests);
  if (status != EGRAPH_OK) shrink_rules(rules, before);
  return status;
}

egraph_status eg_rules_load(eg_rules *rules, const char *path) {
  char *text;
  size_t size;
  EG_TRY(eg_file_read(rules->alloc, path, MAX_FILE_BYTES, &text, &size));
  egraph_status status = eg_rules_parse(rules, path, text, size);
  eg_free(rules->alloc, text, size + 1, 1);
  return status;
}

static egraph_status parse_builtin(eg_rules *rules) {
  for (size_t i = 0; i < eg_builtin_rule_file_count; i++) {
    const eg_builtin_rule_file *file = &eg_builtin_rule_files[i];
    EG_TRY(eg_rules_parse(rules, file->name, (const char *)file->text, file->size));
  }
  return EGRAPH_OK;
}

egraph_status eg_rules_add_builtin(eg_rules *rules) {
  rules_mark before = mark_rules(rules);
  rules->is_builtin = true;
  egraph_status status = parse_builtin(rules);
  rules->is_builtin = false;
  if (status != EGRAPH_OK) {
    shrink_rules(rules, before);
    return status;
  }
  for (size_t i = before.rules; i < rules->rules.list.len; i++)
    if (strncmp(rules->rules.list.data[i]->file, "explore-", strlen("explore-")) == 0)
      rules->rules.list.data[i]->enabled = false;
  return EGRAPH_OK;
}

// ---- cases ------------------------------------------------------

EG_VEC_DEFINE(case_list, const eg_rule *);

struct eg_rule_cases {
  egraph_allocator alloc;
  const eg_rules *rules;
  eg_arena arena;
  eg_u32s numbers; // numbers of the rules, by case
  case_list list;
};

egraph_status eg_rule_cases_create(egraph_allocator alloc, const eg_rules *rules,
                                   eg_rule_cases **out) {
  eg_rule_cases *cases;
  EG_TRY(eg_alloc(alloc, 1, sizeof *cases, &cases));
  *cases = (eg_rule_cases){.alloc = alloc, .rules = rules};
  eg_arena_init(&cases->arena, alloc);
  eg_u32s_init(&cases->numbers, alloc);
  case_list_init(&cases->list, alloc);
  *out = cases;
  return EGRAPH_OK;
}

void eg_rule_cases_destroy(eg_rule_cases *cases) {
  if (cases == NULL) return;
  EG_DEINIT_MEMBERS(cases, (eg_arena, arena), (eg_u32s, numbers), (case_list, list));
  eg_free(cases->alloc, cases, 1, sizeof *cases);
}

size_t eg_rule_cases_bytes(const eg_rule_cases *cases) { return cases->arena.bytes; }

static egraph_status name_case(eg_rule_cases *cases, eg_rule *rule) {
  EG_LOCAL(eg_text, name, cases->alloc);
  eg_text_append(&name, rule->name);
  for (uint32_t i = 0; i < rule->schema->parameter_count; i++)
    if (rule->schema->parameters[i].operators != NULL)
      eg_text_printf(&name, ":%s", eg_op_info_of((eg_op)rule->values[i])->name);
    else
      eg_text_printf(&name, ":%" PRIu32, rule->values[i]);
  EG_TRY(eg_text_status(&name));
  return eg_arena_string(&cases->arena, eg_text_of(&name), name.chars.len, &rule->name);
}

egraph_status eg_rule_cases_get(eg_rule_cases *cases, uint32_t rule,
                                const uint32_t *values, const eg_rule **out) {
  const eg_rule *whole = eg_rules_at(cases->rules, rule);
  *out = whole;
  if (whole->schema == NULL) return EGRAPH_OK;
  assert(values != NULL && cases->list.len == cases->numbers.len);
  size_t bytes = whole->schema->parameter_count * sizeof *values;
  for (size_t i = 0; i < cases->list.len; i++)
    if (cases->numbers.data[i] == rule &&
        memcmp(cases->list.data[i]->values, values, bytes) == 0) {
      *out = cases->list.data[i];
      return EGRAPH_OK;
    }
  const eg_rule_source_text from = {.arena = &cases->arena,
                                    .scratch = cases->alloc,
                                    .file = whole->file,
                                    .is_of_case = true};
  eg_rule *made;
  EG_TRY(eg_arena_alloc(&cases->arena, 1, sizeof *made, &made));
  egraph_status status =
      eg_rule_case_read(&from, whole->schema, values, whole->reversed, made);
  *out = NULL;
  if (status == EGRAPH_E_PARSE) return EGRAPH_OK; // there is no such case
  EG_TRY(status);
  EG_TRY(name_case(cases, made));
  made->key = made->parallel_key = made->name;
  made->enabled = whole->enabled;
  made->is_shipped = whole->is_shipped;
  EG_TRY(case_list_reserve(&cases->list, cases->list.len + 1));
  EG_TRY(eg_u32s_push(&cases->numbers, rule));
  *out = made;
  return case_list_push(&cases->list, made);
}

/// Reads a case's parameter values, such as "relu:3". False when the rule has no
/// such case.
static bool parse_values(const eg_rule_schema *schema, const char *text, uint32_t *out) {
  for (uint32_t i = 0; i < schema->parameter_count; i++) {
    char word[64];
    size_t length = strcspn(text, ":");
    if (length == 0 || length >= sizeof word) return false;
    memcpy(word, text, length);
    word[length] = '\0';
    text += length;
    const eg_rule_parameter *p = &schema->parameters[i];
    eg_op op;
    char *end = word;
    bool is_known = false;
    if (p->operators == NULL) {
      out[i] = (uint32_t)strtoul(word, &end, 10);
      is_known = *end == '\0' && word[0] >= '0' && word[0] <= '9' && length <= 3;
    } else if (eg_op_find(word, &op)) {
      out[i] = op;
      for (uint32_t k = 0; k < p->operator_count; k++)
        is_known = is_known || p->operators[k] == op;
    }
    if (!is_known || (*text == ':') != (i + 1 < schema->parameter_count)) return false;
    text += *text == ':';
  }
  return eg_rule_case_is_legal(schema, out);
}

egraph_status eg_rule_cases_find(eg_rule_cases *cases, const char *name,
                                 uint32_t *out_rule, const eg_rule **out) {
  char word[256];
  size_t length = strcspn(name, ":");
  *out = NULL;
  if (length >= sizeof word) return EGRAPH_OK;
  memcpy(word, name, length);
  word[length] = '\0';
  if (!eg_rules_find(cases->rules, word, out_rule)) return EGRAPH_OK;
  const eg_rule *rule = eg_rules_at(cases->rules, *out_rule);
  uint32_t values[EG_RULE_MAX_PARAMETERS];
  bool is_whole = name[length] == '\0';
  if (is_whole != (rule->schema == NULL)) return EGRAPH_OK;
  if (!is_whole && !parse_values(rule->schema, name + length + 1, values))
    return EGRAPH_OK;
  return eg_rule_cases_get(cases, *out_rule, values, out);
}
