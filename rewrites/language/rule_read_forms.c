// Reads (rule ...): clauses may come in any order; the left side is read first, then
// lets, right side and conditions. The second direction of a both-ways rule is read from
// the same text with the sides exchanged.
//
// Reads (test ...): given tensors, terms, and claims of terms that must or must not be
// found equal to these.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/language/rule_forms.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/owner.h"
#include "base/spelling.h"
#include "rewrites/language/rule_reader.h"

typedef struct clauses {
  const eg_sexpr *source, *lhs, *rhs, *when, *math, *both_ways, *first_let;
} clauses;

static egraph_status unknown_clause(const char *file, const eg_sexpr *at) {
  static const char *const names[] = {"source", "class", "operators", "least",    "lhs",
                                      "let",    "rhs",   "when",      "both-ways"};
  const eg_sexpr *head = at;
  if (at->kind == EG_SEXPR_LIST && at->count > 0) head = &at->children[0];
  const char *spelt = head->kind == EG_SEXPR_ATOM ? head->text : "...";
  eg_spelling spelling = eg_spelling_start(spelt);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    eg_spelling_offer(&spelling, names[i]);
  if (spelling.best != NULL)
    return eg_sexpr_fail(file, at, "unknown clause '%s'; did you mean '%s'?", spelt,
                         spelling.best);
  return eg_sexpr_fail(
      file, at,
      "unknown clause '%s'; a rule has source, class, operators, least, lhs, let, rhs, "
      "when, both-ways",
      spelt);
}

static egraph_status take_clause(const char *file, const eg_sexpr *clause,
                                 clauses *inout) {
  const struct {
    const char *name;
    const eg_sexpr **place;
  } known[] = {{"source", &inout->source},
               {"lhs", &inout->lhs},
               {"rhs", &inout->rhs},
               {"when", &inout->when},
               {"class", &inout->math}};
  if (eg_sexpr_is_form(clause, "let")) {
    if (inout->first_let == NULL) inout->first_let = clause;
    return EGRAPH_OK;
  }
  if (eg_sexpr_is_atom(clause, "both-ways")) {
    inout->both_ways = clause;
    return EGRAPH_OK;
  }
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (!eg_sexpr_is_form(clause, known[i].name)) continue;
    if (*known[i].place != NULL)
      return eg_sexpr_fail(file, clause, "(%s ...) is given twice; remove one",
                           known[i].name);
    if (clause->count < 2)
      return eg_sexpr_fail(file, clause, "(%s) is empty; write what belongs there",
                           known[i].name);
    *known[i].place = clause;
    return EGRAPH_OK;
  }
  return unknown_clause(file, clause);
}

static egraph_status gather_clauses(const char *file, const eg_sexpr *form,
                                    clauses *out) {
  EG_TRY(eg_rule_check_name(file, form, "rule"));
  for (uint32_t i = 2; i < form->count; i++)
    EG_TRY(take_clause(file, &form->children[i], out));
  const char *name = form->children[1].text;
  if (out->source == NULL || out->source->count != 2 ||
      out->source->children[1].kind != EG_SEXPR_STRING)
    return eg_sexpr_fail(file, out->source != NULL ? out->source : form,
                         "rule %s does not say where it comes from; write (source "
                         "\"...\")",
                         name);
  if (out->lhs == NULL)
    return eg_sexpr_fail(file, form, "rule %s has no left side; write (lhs pattern ...)",
                         name);
  if (out->rhs == NULL)
    return eg_sexpr_fail(file, form, "rule %s has no right side; write (rhs term ...)",
                         name);
  if (out->lhs->count != out->rhs->count)
    return eg_sexpr_fail(
        file, out->rhs,
        "rule %s has %u left side%s but %u right side%s; they are united "
        "in pairs",
        name, out->lhs->count - 1, out->lhs->count == 2 ? "" : "s", out->rhs->count - 1,
        out->rhs->count == 2 ? "" : "s");
  if (out->both_ways != NULL && out->first_let != NULL)
    return eg_sexpr_fail(file, out->first_let,
                         "a both-ways rule cannot have lets; write two rules");
  return EGRAPH_OK;
}

static egraph_status read_let(eg_rule_reader *reader, const eg_sexpr *form) {
  if (form->count != 3 || !eg_rule_is_variable(&form->children[1]))
    return eg_sexpr_fail(reader->file, form,
                         "malformed; write (let ?name term-or-expression)");
  const eg_sexpr *name = &form->children[1], *what = &form->children[2];
  if (eg_rule_reader_find(reader, name->text) != EG_RULE_NONE)
    return eg_sexpr_fail(reader->file, name, "%s is already bound; use another name",
                         name->text);
  eg_rule_let let = {.is_term = eg_rule_reads_as_term(reader, what)};
  if (let.is_term) {
    let.first_term = (uint32_t)reader->terms.len;
    EG_TRY(eg_rule_read_term(reader, what, &let.term));
    EG_TRY(eg_rule_reader_declare(reader, name->text, EG_RULE_TENSOR,
                                  EG_RULE_VAR_LET_TERM, &let.var));
  } else {
    EG_TRY(eg_rule_read_expr(reader, what, &let.expr));
    EG_TRY(eg_rule_reader_declare(reader, name->text, reader->exprs.data[let.expr].kind,
                                  EG_RULE_VAR_LET_VALUE, &let.var));
  }
  return eg_rule_lets_push(&reader->lets, let);
}

static egraph_status read_conditions(eg_rule_reader *reader, const eg_sexpr *when) {
  for (uint32_t i = 1; when != NULL && i < when->count; i++) {
    uint32_t expr;
    EG_TRY(eg_rule_read_expr(reader, &when->children[i], &expr));
    EG_TRY(eg_rule_want_kind(reader, &when->children[i], expr, EG_RULE_BOOL));
    EG_TRY(eg_u32s_push(&reader->conditions, expr));
  }
  return EGRAPH_OK;
}

static egraph_status keep_keys(eg_rule_reader *reader, eg_rule *rule) {
  const char **const keys[] = {&rule->key, &rule->parallel_key};
  for (int parallel = 0; parallel < 2; parallel++) {
    eg_text_clear(&reader->scratch);
    EG_TRY(eg_rule_print_key(&reader->scratch, rule, parallel != 0));
    EG_TRY(eg_arena_string(reader->arena, eg_text_of(&reader->scratch),
                           reader->scratch.chars.len, keys[parallel]));
  }
  return EGRAPH_OK;
}

/// Refuses a left side that is a variable within parallel operators: it would
/// match everything.
static egraph_status check_patterns(const eg_rule_reader *reader, const eg_sexpr *side,
                                    const eg_rule *rule) {
  for (uint32_t i = 0; i < rule->root_count && !rule->implied; i++)
    if (rule->terms[rule->lhs[i].term].is_var)
      return eg_sexpr_fail(
          reader->file, &side->children[i + 1],
          "without its parallel operators this is a bare variable, which "
          "matches everything; write an operator");
  return EGRAPH_OK;
}

static egraph_status read_direction(eg_rule_reader *reader, const eg_sexpr *form,
                                    const clauses *parts, eg_rule *rule) {
  const eg_sexpr *left = rule->reversed ? parts->rhs : parts->lhs;
  assert(reader->terms.len == 0 && parts->lhs != NULL && parts->rhs != NULL);
  reader->in_pattern = true;
  EG_TRY(eg_rule_read_roots(reader, left));
  EG_TRY(eg_rule_read_late(reader));
  rule->pattern_term_count = (uint32_t)reader->terms.len;
  rule->root_count = (uint32_t)reader->roots.len;
  reader->in_pattern = false;
  for (uint32_t i = 2; i < form->count; i++)
    if (eg_sexpr_is_form(&form->children[i], "let"))
      EG_TRY(read_let(reader, &form->children[i]));
  EG_TRY(eg_rule_read_roots(reader, rule->reversed ? parts->lhs : parts->rhs));
  EG_TRY(read_conditions(reader, parts->when));
  EG_TRY(eg_rule_read_moves(reader, rule));
  EG_TRY(eg_rule_keep(reader, rule));
  if (rule->move_count != 0)
    EG_TRY(eg_rule_same_sides(&reader->scratch, rule, &rule->implied));
  return check_patterns(reader, left, rule);
}

/// Reads the clause (class NAME), or (class associative spreads), of a rule.
static egraph_status read_rule_class(const char *file, const eg_sexpr *clause,
                                     eg_rule *rule) {
  rule->math = EGRAPH_MATH_ASSOCIATIVE;
  if (clause == NULL) return EGRAPH_OK;
  bool is_named = clause->children[1].kind == EG_SEXPR_ATOM &&
                  eg_rule_class_find(clause->children[1].text, &rule->math);
  rule->spreads = clause->count == 3 && eg_sexpr_is_atom(&clause->children[2], "spreads");
  bool is_whole =
      clause->count == 2 || (rule->spreads && rule->math == EGRAPH_MATH_ASSOCIATIVE);
  if (is_named && is_whole) return EGRAPH_OK;
  return eg_sexpr_fail(file, clause,
                       "unknown class; write (class exact), (class associative), (class "
                       "associative spreads) or (class fast)");
}

egraph_status eg_rule_read_plain(const eg_rule_source_text *from, const eg_sexpr *form,
                                 bool reversed, eg_rule *out) {
  clauses parts = {.source = NULL};
  EG_TRY(gather_clauses(from->file, form, &parts));
  eg_rule rule = {.name = form->children[1].text,
                  .source = parts.source->children[1].text,
                  .file = from->file,
                  .line = form->line,
                  .both_ways = parts.both_ways != NULL,
                  .reversed = reversed,
                  .enabled = true};
  EG_TRY(read_rule_class(from->file, parts.math, &rule));
  if (reversed) EG_TRY(eg_rule_reversed_name(from->arena, rule.name, &rule.name));
  EG_LOCAL(eg_rule_reader, reader, from->scratch);
  reader.arena = from->arena;
  reader.file = from->file;
  egraph_status status = read_direction(&reader, form, &parts, &rule);
  if (status == EGRAPH_OK && !from->is_of_case) status = keep_keys(&reader, &rule);
  if (status == EGRAPH_E_PARSE && reversed)
    return eg_sexpr_fail(
        from->file, parts.both_ways,
        "the rule does not work both ways; remove both-ways, or mend the "
        "reversed rule: %s",
        egraph_last_error());
  EG_TRY(status);
  *out = rule;
  return EGRAPH_OK;
}

// ---- tests -----------------------------------------------------------------------

enum { MAX_FILLED = 1000000 };

EG_VEC_DEFINE(givens, eg_rule_given);
EG_VEC_DEFINE(claims, eg_rule_claim);
EG_VEC_DEFINE(name_list, const char *);

typedef struct test_reader {
  eg_rule_reader rule;
  givens given;
  claims claims;
  name_list rules;
  eg_rule_test *test;
} test_reader;
EG_OWNER_DEFINE_STATIC(test_reader, (eg_rule_reader, rule), (givens, given),
                       (claims, claims), (name_list, rules))

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
    EG_TRY(name_list_push(&reader->rules, clause->children[i].text));
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
  assert(reader->rule.roots.len == root_count);
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
  EG_LOCAL(test_reader, reader, from->scratch);
  reader.test = &test;
  reader.rule.arena = from->arena;
  reader.rule.file = from->file;
  EG_TRY(read_test(&reader, form));
  *out = test;
  return EGRAPH_OK;
}
