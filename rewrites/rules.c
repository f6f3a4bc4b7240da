// The container of rules. A text is read completely before any of its rules is added, so
// a failure adds none.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/spelling.h"
#include "rewrites/builtin_rules.h"
#include "rewrites/layout_check.h"
#include "rewrites/rule_forms.h"
#include "rewrites/rule_index.h"
#include "rewrites/rule_tests.h"
#include "rewrites/verify.h"

enum { MAX_FILE_BYTES = 16 << 20 };

EG_VEC_DEFINE(test_list, eg_rule_test *);

struct eg_rules {
  egraph_allocator alloc;
  eg_arena arena;
  eg_rule_index rules;
  eg_rule_index implied; // kept for what they say of layouts
  test_list tests;
  eg_flatmap test_names;
  bool is_builtin;  // what is read now: tests have verified it
  bool is_verified; // what is read of others
  eg_u32s switched; // shipped rules that the text that is read has switched on
};

/// How far a text has been read.
typedef struct mark {
  size_t rules, implied, tests;
} mark;

egraph_status eg_rules_create(const egraph_allocator *alloc, eg_rules **out) {
  egraph_allocator heap = eg_allocator_or_heap(alloc);
  eg_rules *rules;
  EG_TRY(eg_alloc(heap, 1, sizeof *rules, &rules));
  rules->alloc = heap;
  eg_arena_init(&rules->arena, heap);
  eg_rule_index_init(&rules->rules, heap, false);
  eg_rule_index_init(&rules->implied, heap, true);
  test_list_init(&rules->tests, heap);
  eg_flatmap_init(&rules->test_names, heap);
  eg_u32s_init(&rules->switched, heap);
  *out = rules;
  return EGRAPH_OK;
}

void eg_rules_destroy(eg_rules *rules) {
  if (rules == NULL) return;
  eg_arena_deinit(&rules->arena);
  eg_rule_index_deinit(&rules->rules);
  eg_rule_index_deinit(&rules->implied);
  test_list_deinit(&rules->tests);
  eg_flatmap_deinit(&rules->test_names);
  eg_u32s_deinit(&rules->switched);
  eg_free(rules->alloc, rules, 1, sizeof *rules);
}

bool eg_rules_set_verified(eg_rules *rules, bool verified) {
  bool before = rules->is_verified;
  rules->is_verified = verified;
  return before;
}

egraph_allocator eg_rules_allocator(const eg_rules *rules) { return rules->alloc; }

// ---- look-up --------------------------------------------------------------------

static uint64_t hash_text(const char *text) {
  return eg_hash_bytes(0, text, strlen(text));
}

static bool same_test_name(const void *user, uint32_t id, const void *key) {
  const eg_rules *rules = user;
  return strcmp(rules->tests.data[id]->name, key) == 0;
}

bool eg_rules_find(const eg_rules *rules, const char *name, uint32_t *out_rule) {
  return eg_rule_index_find(&rules->rules, name, out_rule);
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
  return *test_list_at(&rules->tests, test);
}
const char *eg_rule_name(const eg_rules *rules, uint32_t rule) {
  return eg_rules_at(rules, rule)->name;
}
const char *eg_rule_source(const eg_rules *rules, uint32_t rule) {
  return eg_rules_at(rules, rule)->source;
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
  if (eg_rule_index_find(&rules->rules, rule->name, &other))
    first = rules->rules.list.data[other];
  else if (eg_rule_index_find(&rules->implied, rule->name, &other))
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
  if (strcmp(rule->name, first->name) == 0 ||
      eg_rule_index_find_equal(&rules->implied, rule, &ignored))
    return EGRAPH_OK;
  EG_TRY(check_name(rules, rule, form));
  eg_rule known = *rule;
  known.known_as = first->name;
  return eg_rule_index_add(&rules->implied, &rules->arena, &known);
}

static egraph_status add_direction(eg_rules *rules, const eg_rule *rule,
                                   const eg_sexpr *form) {
  uint32_t other;
  bool is_there = eg_rule_index_find_equal(&rules->rules, rule, &other);
  if (is_there && !rules->is_builtin && rules->rules.list.data[other]->is_shipped)
    return note_shipped(rules, rule, other, form);
  EG_TRY(check_name(rules, rule, form));
  if (is_there) return already_there(rule, rules->rules.list.data[other], form);
  eg_rule added = *rule;
  added.is_shipped = rules->is_builtin;
  return eg_rule_index_add(&rules->rules, &rules->arena, &added);
}

static egraph_status add_implied(eg_rules *rules, const eg_rule *rule,
                                 const eg_sexpr *form) {
  uint32_t other;
  EG_TRY(check_name(rules, rule, form));
  if (eg_rule_index_find_equal(&rules->implied, rule, &other))
    return already_there(rule, rules->implied.list.data[other], form);
  return eg_rule_index_add(&rules->implied, &rules->arena, rule);
}

/// Whether parallel operators are all that a direction adds to a rule that is there.
static bool is_known(const eg_rules *rules, const eg_rule *rule, const char **out_name) {
  uint32_t other;
  if (rule->move_count == 0 || !eg_rule_index_find_equal(&rules->rules, rule, &other))
    return false;
  *out_name = rules->rules.list.data[other]->name;
  return true;
}

static egraph_status read_rule(eg_rules *rules, const eg_rule_source_text *from,
                               const eg_sexpr *form) {
  eg_rule rule, reverse;
  EG_TRY(eg_rule_read(from, form, false, &rule));
  if (rule.move_count != 0 && !rules->is_builtin)
    EG_TRY(eg_layout_check(&rules->alloc, &rule));
  if (rule.implied) return add_implied(rules, &rule, form);
  if (rule.both_ways) EG_TRY(eg_rule_read(from, form, true, &reverse));
  const char *name;
  if (is_known(rules, &rule, &rule.known_as) &&
      (!rule.both_ways || is_known(rules, &reverse, &name)))
    return add_implied(rules, &rule, form);
  rule.known_as = NULL;
  EG_TRY(add_direction(rules, &rule, form));
  return rule.both_ways ? add_direction(rules, &reverse, form) : EGRAPH_OK;
}

static egraph_status read_test(eg_rules *rules, const eg_rule_source_text *from,
                               const eg_sexpr *form) {
  eg_rule_test test, *kept;
  uint32_t other;
  EG_TRY(eg_rule_test_read(from, form, &test));
  uint64_t hash = hash_text(test.name);
  if (eg_flatmap_find(&rules->test_names, hash, test.name, same_test_name, rules, &other))
    return eg_sexpr_fail(
        from->file, form, "a test named %s already stands at %s:%u; use another name",
        test.name, rules->tests.data[other]->file, rules->tests.data[other]->line);
  EG_TRY(eg_arena_alloc(&rules->arena, 1, sizeof *kept, &kept));
  *kept = test;
  EG_TRY(eg_flatmap_reserve_one(&rules->test_names));
  EG_TRY(test_list_push(&rules->tests, kept));
  (void)eg_flatmap_insert(&rules->test_names, hash, (uint32_t)rules->tests.len - 1);
  return EGRAPH_OK;
}

static mark mark_of(const eg_rules *rules) {
  return (mark){.rules = rules->rules.list.len,
                .implied = rules->implied.list.len,
                .tests = rules->tests.len};
}

// Takes back what a failed text had added.
static void shrink(eg_rules *rules, mark to) {
  for (size_t i = 0; i < rules->switched.len; i++)
    rules->rules.list.data[rules->switched.data[i]]->enabled = false;
  eg_rule_index_shrink(&rules->rules, to.rules);
  eg_rule_index_shrink(&rules->implied, to.implied);
  while (rules->tests.len > to.tests) {
    eg_rule_test *last = test_list_pop(&rules->tests);
    eg_flatmap_remove(&rules->test_names, hash_text(last->name),
                      (uint32_t)rules->tests.len);
  }
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
  EG_TRY(check_header(from->file, text));
  for (uint32_t i = 1; i < text->count; i++) {
    const eg_sexpr *form = &text->children[i];
    if (eg_sexpr_is_form(form, "rule"))
      EG_TRY(read_rule(rules, from, form));
    else if (eg_sexpr_is_form(form, "test"))
      EG_TRY(read_test(rules, from, form));
    else
      return eg_sexpr_fail(from->file, form,
                           "unknown form; write (rule name ...) or (test name ...)");
  }
  return EGRAPH_OK;
}

// ---- verifying what was read ----------------------------------------------------------

typedef struct rejection {
  const eg_rules *rules;
  char message[EG_MESSAGE_BYTES]; // of the first one
} rejection;

static void note_rejection(void *user, const char *name, bool accepted,
                           const char *detail) {
  rejection *found = user;
  uint32_t rule;
  if (accepted || found->message[0] != '\0' || !eg_rules_find(found->rules, name, &rule))
    return;
  (void)snprintf(found->message, sizeof found->message,
                 "%s:%" PRIu32 ": rule %s does not hold: %s; correct it, or trust it",
                 eg_rule_file(found->rules, rule), eg_rule_line(found->rules, rule), name,
                 detail);
}

static egraph_status run_tests(const eg_rules *rules, uint32_t first) {
  eg_text failures;
  eg_rule_test_summary summary;
  eg_text_init(&failures, rules->alloc);
  egraph_status status =
      eg_rules_run_tests(rules, first, &rules->alloc, &failures, &summary);
  if (status == EGRAPH_OK && summary.failed != 0)
    status = EG_FAIL(EGRAPH_E_PARSE, "%.*s", (int)strcspn(eg_text_of(&failures), "\n"),
                     eg_text_of(&failures));
  eg_text_deinit(&failures);
  return status;
}

static egraph_status verify_read(const eg_rules *rules, mark from) {
  const eg_verify_options options = {.seed = 1,
                                     .instances = EG_VERIFY_LOAD_INSTANCES,
                                     .first = (uint32_t)from.rules,
                                     .is_loading = true};
  rejection found = {.rules = rules};
  EG_TRY(eg_rules_verify(rules, &options, note_rejection, &found, NULL));
  if (found.message[0] != '\0') return EG_FAIL(EGRAPH_E_PARSE, "%s", found.message);
  return run_tests(rules, (uint32_t)from.tests);
}

egraph_status eg_rules_parse(eg_rules *rules, const char *file, const char *text,
                             size_t size) {
  eg_rule_source_text from = {.arena = &rules->arena, .scratch = rules->alloc};
  EG_TRY(eg_arena_string(&rules->arena, file, strlen(file), &from.file));
  eg_sexpr forms;
  EG_TRY(eg_sexpr_parse(&rules->arena, from.file, text, size, &forms));
  mark before = mark_of(rules);
  rules->switched.len = 0;
  egraph_status status = read_forms(rules, &from, &forms);
  if (status == EGRAPH_OK && rules->is_verified && !rules->is_builtin)
    status = verify_read(rules, before);
  if (status != EGRAPH_OK) shrink(rules, before);
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

// Rules that only make variants, without a chance of gain by themselves.
static bool is_exploring(const eg_rule *rule) {
  return strncmp(rule->file, "explore-", strlen("explore-")) == 0;
}

static egraph_status parse_builtin(eg_rules *rules) {
  for (size_t i = 0; i < eg_builtin_rule_file_count; i++) {
    const eg_builtin_rule_file *file = &eg_builtin_rule_files[i];
    EG_TRY(eg_rules_parse(rules, file->name, (const char *)file->text, file->size));
  }
  return EGRAPH_OK;
}

egraph_status eg_rules_add_builtin(eg_rules *rules) {
  mark before = mark_of(rules);
  rules->is_builtin = true;
  egraph_status status = parse_builtin(rules);
  rules->is_builtin = false;
  if (status != EGRAPH_OK) {
    shrink(rules, before);
    return status;
  }
  for (size_t i = before.rules; i < rules->rules.list.len; i++)
    if (is_exploring(rules->rules.list.data[i]))
      rules->rules.list.data[i]->enabled = false;
  return EGRAPH_OK;
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

egraph_status eg_rules_enable(eg_rules *rules, const char *name, bool on) {
  bool found = false;
  eg_spelling spelling = eg_spelling_start(name);
  for (size_t i = 0; i < rules->rules.list.len; i++) {
    eg_rule *rule = rules->rules.list.data[i];
    eg_spelling_offer(&spelling, rule->name);
    if (!eg_rule_answers_to(rule, name)) continue;
    rule->enabled = on;
    found = true;
  }
  for (size_t i = 0; i < rules->implied.list.len; i++) // nothing to switch
    found = found || eg_rule_answers_to(rules->implied.list.data[i], name);
  if (found) return EGRAPH_OK;
  if (spelling.best != NULL)
    return EG_FAIL(EGRAPH_E_ARGUMENT,
                   "no rule and no rule file is called '%s'; did you mean '%s'?", name,
                   spelling.best);
  return EG_FAIL(EGRAPH_E_ARGUMENT, "no rule and no rule file is called '%s'", name);
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
