// (test ...): given tensors, terms, and what must or must not be found equal to them.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "base/owner.h"
#include "rewrites/language/rule_forms.h"
#include "rewrites/language/rule_reader.h"

enum { MAX_FILLED = 1000000 };

EG_VEC_DEFINE(givens, eg_rule_given);
EG_VEC_DEFINE(claims, eg_rule_claim);
EG_VEC_DEFINE(names, const char *);

typedef struct test_reader {
  eg_rule_reader rule;
  givens given;
  claims claims;
  names rules;
  eg_rule_test *test;
} test_reader;

static egraph_status read_given(test_reader *reader, const eg_sexpr *form) {
  const char *file = reader->rule.file;
  if (form->kind != EG_SEXPR_LIST || form->count < 2 ||
      !eg_rule_is_variable(&form->children[0]))
    return eg_sexpr_fail(file, form,
                         "malformed; write (?name \"float32[2,3]\") or (?name weight "
                         "\"float32[2,3]\" 1.0)");
  eg_rule_given given = {.name = form->children[0].text};
  uint32_t at = 1;
  if (eg_sexpr_is_atom(&form->children[at], "weight")) {
    given.weight = true;
    at++;
  }
  if (at >= form->count || form->children[at].kind != EG_SEXPR_STRING)
    return eg_sexpr_fail(file, form, "the type is missing; write (%s \"float32[2,3]\")",
                         given.name);
  const eg_sexpr *type = &form->children[at++];
  char where[160];
  (void)snprintf(where, sizeof where, "%s:%u:%u", file, type->line, type->column);
  given.type_text = type->text;
  EG_TRY(eg_type_parse(where, type->text, &given.type));
  if (at < form->count) {
    given.filled = given.weight && form->children[at].kind == EG_SEXPR_ATOM &&
                   eg_parse_double(form->children[at].text, &given.value);
    if (!given.filled || at + 1 != form->count)
      return eg_sexpr_fail(file, &form->children[at],
                           "only one number may follow the type, and only of a weight");
    if (eg_type_elements(&given.type) > MAX_FILLED)
      return eg_sexpr_fail(file, type, "a filled weight has at most %d elements",
                           MAX_FILLED);
  }
  if (eg_rule_reader_find(&reader->rule, given.name) != EG_RULE_NONE)
    return eg_sexpr_fail(file, form, "%s is given twice; remove one", given.name);
  uint32_t var;
  EG_TRY(eg_rule_reader_declare(&reader->rule, given.name, EG_RULE_TENSOR,
                                EG_RULE_VAR_MATCHED, &var));
  return givens_push(&reader->given, given);
}

static egraph_status read_test_roots(test_reader *reader, const eg_sexpr *clause) {
  const char *file = reader->rule.file;
  bool is_term = eg_sexpr_is_form(clause, "term");
  uint32_t count = clause->count - 1;
  if (is_term && reader->test->body.root_count != 0)
    return eg_sexpr_fail(file, clause, "(term ...) is given twice; remove one");
  if (!is_term &&
      (reader->test->body.root_count == 0 || count != reader->test->body.root_count))
    return eg_sexpr_fail(file, clause,
                         "(term ...) before this has %u terms, but here are %u; they are "
                         "compared in pairs",
                         reader->test->body.root_count, count);
  if (count == 0) return eg_sexpr_fail(file, clause, "(term) is empty; write a term");
  size_t first = reader->rule.roots.len;
  EG_TRY(eg_rule_read_roots(&reader->rule, clause));
  if (is_term) {
    reader->test->body.root_count = count;
    return EGRAPH_OK;
  }
  eg_rule_claim claim = {.equal = eg_sexpr_is_form(clause, "equals"),
                         .line = clause->line};
  EG_TRY(eg_rule_keep_bytes(reader->rule.arena, reader->rule.roots.data + first, count,
                            sizeof *claim.roots, &claim.roots));
  reader->rule.roots.len = first;
  return claims_push(&reader->claims, claim);
}

static egraph_status read_rule_names(test_reader *reader, const eg_sexpr *clause) {
  for (uint32_t i = 1; i < clause->count; i++) {
    if (!eg_rule_is_name(&clause->children[i]))
      return eg_sexpr_fail(reader->rule.file, &clause->children[i],
                           "a rule name is wanted");
    EG_TRY(names_push(&reader->rules, clause->children[i].text));
  }
  return EGRAPH_OK;
}

static egraph_status read_iterations(test_reader *reader, const eg_sexpr *clause) {
  int64_t count;
  if (clause->count != 2 || clause->children[1].kind != EG_SEXPR_ATOM ||
      !eg_parse_int64(clause->children[1].text, &count) || count < 1 || count > 1000)
    return eg_sexpr_fail(reader->rule.file, clause,
                         "malformed; write (iterations N) with N from 1 to 1000");
  reader->test->iterations = (uint32_t)count;
  return EGRAPH_OK;
}

static egraph_status read_test_clause(test_reader *reader, const eg_sexpr *clause) {
  if (eg_sexpr_is_form(clause, "given")) {
    for (uint32_t i = 1; i < clause->count; i++)
      EG_TRY(read_given(reader, &clause->children[i]));
    return EGRAPH_OK;
  }
  if (eg_sexpr_is_form(clause, "rules")) return read_rule_names(reader, clause);
  if (eg_sexpr_is_form(clause, "iterations")) return read_iterations(reader, clause);
  if (eg_sexpr_is_form(clause, "term") || eg_sexpr_is_form(clause, "equals") ||
      eg_sexpr_is_form(clause, "differs"))
    return read_test_roots(reader, clause);
  return eg_sexpr_fail(
      reader->rule.file, clause,
      "unknown clause; a test has given, rules, iterations, term, equals, differs");
}

static egraph_status read_test(test_reader *reader, const eg_sexpr *form) {
  eg_rule_test *test = reader->test;
  for (uint32_t i = 2; i < form->count; i++)
    EG_TRY(read_test_clause(reader, &form->children[i]));
  if (reader->rule.moves.len != 0)
    return eg_sexpr_fail(
        reader->rule.file, reader->rule.moves.data[0].at,
        "tests are about values, which parallel operators do not change; "
        "leave it out");
  if (reader->claims.len == 0)
    return eg_sexpr_fail(reader->rule.file, form,
                         "test %s claims nothing; write (equals term) or (differs term)",
                         test->name);
  eg_arena *arena = reader->rule.arena;
  uint32_t root_count = test->body.root_count;
  test->body.root_count = 0; // a test has no left side: every root is a right side
  EG_TRY(eg_rule_keep(&reader->rule, &test->body));
  test->body.root_count = root_count;
  EG_TRY(EG_RULE_KEEP(arena, reader->given, &test->given));
  EG_TRY(EG_RULE_KEEP(arena, reader->claims, &test->claims));
  EG_TRY(EG_RULE_KEEP(arena, reader->rules, &test->rules));
  test->given_count = (uint32_t)reader->given.len;
  test->claim_count = (uint32_t)reader->claims.len;
  test->rule_count = (uint32_t)reader->rules.len;
  return EGRAPH_OK;
}

egraph_status eg_rule_test_read(const eg_rule_source_text *from, const eg_sexpr *form,
                                eg_rule_test *out) {
  EG_TRY(eg_rule_check_name(from->file, form, "test"));
  eg_rule_test test = {.name = form->children[1].text,
                       .file = from->file,
                       .line = form->line,
                       .iterations = 6,
                       .body = {.name = form->children[1].text, .file = from->file}};
  test_reader reader = {.test = &test};
  eg_rule_reader_init(&reader.rule, from->arena, from->scratch, from->file);
  reader.rule.in_pattern = false;
  givens_init(&reader.given, from->scratch);
  claims_init(&reader.claims, from->scratch);
  names_init(&reader.rules, from->scratch);
  egraph_status status = read_test(&reader, form);
  EG_DEINIT_MEMBERS(&reader, (eg_rule_reader, rule), (givens, given), (claims, claims),
                    (names, rules));
  EG_TRY(status);
  *out = test;
  return EGRAPH_OK;
}
