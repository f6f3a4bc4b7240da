// Makes cases of rules with parameters. A case is the form of the rule with values in
// place of the parameters, read like any other form. This file writes cases, lists all or
// sample cases, and compares them with other rules.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/language/rule_schema.h"

#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "rewrites/language/rule_reader.h"

// ---- spelling -------------------------------------------------------------------

bool eg_rule_is_sequence(const eg_sexpr *expr) { // ?x...
  if (expr->kind != EG_SEXPR_ATOM || expr->text[0] != '?') return false;
  size_t length = strlen(expr->text);
  return length > 4 && strcmp(expr->text + length - 3, "...") == 0;
}

bool eg_rule_has_sequence(const eg_sexpr *expr) {
  if (expr->text != NULL) return eg_rule_is_sequence(expr);
  bool has = eg_rule_is_each(expr);
  for (uint32_t i = 0; i < expr->count && !has; i++)
    has = eg_rule_has_sequence(&expr->children[i]);
  return has;
}

/// True for the clauses (operators ...) and (least ...), which cases do not contain.
static bool is_parameter_clause(const eg_sexpr *clause) {
  return eg_sexpr_is_form(clause, "operators") || eg_sexpr_is_form(clause, "least");
}

uint32_t eg_rule_find_sequence(const char *const *sequences, uint32_t count,
                               const char *name) {
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(sequences[i], name) == 0) return i;
  return EG_RULE_NONE;
}

bool eg_rule_is_each(const eg_sexpr *expr) { return eg_sexpr_is_form(expr, "each"); }

bool eg_rule_form_is_schema(const eg_sexpr *form) {
  bool is_schema = eg_rule_has_sequence(form);
  for (uint32_t i = 0; i < form->count && !is_schema; i++)
    is_schema = is_parameter_clause(&form->children[i]);
  return is_schema;
}

// ---- which there are ----------------------------------------------------------------

uint32_t eg_rule_sum_of(const eg_rule_sum *sum, uint32_t parameter_count,
                        const uint32_t *values) {
  uint32_t total = sum->fixed;
  assert(parameter_count <= EG_RULE_MAX_PARAMETERS);
  for (uint32_t i = 0; i < parameter_count; i++)
    if (sum->times[i] != 0) total += sum->times[i] * values[i];
  return total;
}

eg_op eg_rule_spot_op(const eg_rule_spot *spot, const uint32_t *values) {
  assert(spot->parameter == EG_RULE_NONE || values[spot->parameter] < EG_OP_COUNT);
  return spot->parameter == EG_RULE_NONE ? spot->op : (eg_op)values[spot->parameter];
}

/// True when an operator of a rule can have the number of operands that `values` gives.
static bool is_spot_legal(const eg_rule_schema *schema, const eg_rule_spot *spot,
                          const uint32_t *values) {
  const eg_op_info *info = eg_op_info_of(eg_rule_spot_op(spot, values));
  int operands = (int)eg_rule_sum_of(&spot->operands, schema->parameter_count, values);
  return operands >= info->min_inputs &&
         (info->max_inputs < 0 || operands <= info->max_inputs);
}

bool eg_rule_case_is_legal(const eg_rule_schema *schema, const uint32_t *values) {
  if (schema->sides != EG_RULE_NONE && values[schema->sides] == 0) return false;
  for (uint32_t i = 0; i < schema->parameter_count; i++)
    if (schema->parameters[i].operators == NULL &&
        (values[i] < schema->parameters[i].least || values[i] > EG_RULE_MAX_COUNT))
      return false;
  for (uint32_t i = 0; i < schema->spot_count; i++)
    if (!is_spot_legal(schema, &schema->spots[i], values)) return false;
  return true;
}

/// Chooses the first operator that a parameter can be with the lengths of sequences
/// in `values`.
static bool choose_operator(const eg_rule_schema *schema, uint32_t parameter,
                            uint32_t *values) {
  const eg_rule_parameter *p = &schema->parameters[parameter];
  for (uint32_t i = 0; i < p->operator_count; i++) {
    bool is_legal = true;
    values[parameter] = p->operators[i];
    for (uint32_t k = 0; k < schema->spot_count && is_legal; k++)
      if (schema->spots[k].parameter == parameter)
        is_legal = is_spot_legal(schema, &schema->spots[k], values);
    if (is_legal) return true;
  }
  return false;
}

bool eg_rule_case_choose(const eg_rule_schema *schema, uint32_t *out) {
  static const uint32_t one[] = {2, 1, 3, 0, 4, 5}, several[] = {1, 2, 3, 0, 4, 5};
  uint32_t lengths = 0; // parameters that are lengths of sequences
  for (uint32_t i = 0; i < schema->parameter_count; i++)
    lengths += schema->parameters[i].operators == NULL;
  const uint32_t *counts = lengths > 1 ? several : one;
  for (size_t k = 0; k < sizeof one / sizeof *one; k++) {
    bool is_legal = true;
    for (uint32_t i = 0; i < schema->parameter_count; i++)
      out[i] = counts[k];
    for (uint32_t i = 0; i < schema->parameter_count && is_legal; i++)
      if (schema->parameters[i].operators != NULL)
        is_legal = choose_operator(schema, i, out);
    if (is_legal && eg_rule_case_is_legal(schema, out)) return true;
  }
  return false;
}

// ---- writing ------------------------------------------------------------------------

EG_VEC_DEFINE(expressions, eg_sexpr);

typedef struct writing {
  const eg_rule_source_text *from;
  const eg_rule_schema *schema;
  const uint32_t *values;
  uint32_t element; // element of the current `each`, from 1; 0: outside
} writing;

static uint32_t length_written(const writing *w, const eg_sexpr *expr) {
  const eg_rule_schema *schema = w->schema;
  if (eg_rule_is_sequence(expr)) {
    uint32_t sequence =
        eg_rule_find_sequence(schema->sequences, schema->sequence_count, expr->text);
    assert(sequence < schema->sequence_count && "the schema has all of its form");
    return w->values[schema->lengths[sequence]];
  }
  for (uint32_t i = 0; i < expr->count; i++)
    if (eg_rule_has_sequence(&expr->children[i]))
      return length_written(w, &expr->children[i]);
  return 0;
}

/// Sets the text of `out` to the texts `first` and `second`, joined.
static egraph_status write_joined(const writing *w, eg_sexpr *out, const char *first,
                                  size_t first_length, const char *second) {
  char text[512];
  size_t second_length = strlen(second);
  if (first_length + second_length >= sizeof text)
    return eg_sexpr_fail(w->from->file, out, "this name is too long; write a short one");
  memcpy(text, first, first_length);
  memcpy(text + first_length, second, second_length);
  return eg_arena_string(w->from->arena, text, first_length + second_length, &out->text);
}

/// Writes the last four decimal digits of a number, or fewer, to `digits`; returns the
/// first.
static const char *digits_of(uint32_t number, char digits[5]) {
  char *at = digits + 4;
  *at = '\0';
  do
    *--at = (char)('0' + number % 10);
  while ((number /= 10) != 0 && at != digits);
  return at;
}

/// Writes ?x.1 ?x.2 and so on for ?x...; within `each` only the current element.
static egraph_status write_elements(const writing *w, const eg_sexpr *from,
                                    expressions *out) {
  uint32_t first = w->element != 0 ? w->element : 1;
  uint32_t last = w->element != 0 ? w->element : length_written(w, from);
  size_t plain = strlen(from->text) - 2; // with a dot
  char digits[5];
  for (uint32_t i = first; i <= last; i++) {
    eg_sexpr made = *from;
    EG_TRY(write_joined(w, &made, from->text, plain, digits_of(i, digits)));
    EG_TRY(expressions_push(out, made));
  }
  return EGRAPH_OK;
}

static egraph_status write_form(writing *w, const eg_sexpr *from, expressions *out);

static bool has_attribute(const eg_sexpr *term, const char *attribute) {
  for (uint32_t i = 1; i < term->count; i++)
    if (term->children[i].kind == EG_SEXPR_ATOM && term->children[i].text[0] == ':' &&
        strcmp(term->children[i].text + 1, attribute) == 0)
      return true;
  return false;
}

/// Writes (gelu :approximate ?f.approximate ...) for (?f ...).
static egraph_status write_operator(const writing *w, const eg_sexpr *term,
                                    uint32_t parameter, expressions *out) {
  assert(w->schema->parameters[parameter].operators != NULL);
  const eg_op_info *info = eg_op_info_of((eg_op)w->values[parameter]);
  eg_sexpr head = term->children[0], key = head, value = head;
  head.text = info->name;
  EG_TRY(expressions_push(out, head));
  for (uint16_t i = 0; i < info->attr_count; i++) {
    if (has_attribute(term, info->attrs[i].name)) continue;
    const char *name = w->schema->parameters[parameter].name;
    EG_TRY(write_joined(w, &key, ":", 1, info->attrs[i].name));
    EG_TRY(write_joined(w, &value, name, strlen(name), "."));
    EG_TRY(write_joined(w, &value, value.text, strlen(value.text), info->attrs[i].name));
    EG_TRY(expressions_push(out, key));
    EG_TRY(expressions_push(out, value));
  }
  return EGRAPH_OK;
}

static uint32_t operator_written(const writing *w, const eg_sexpr *head) {
  for (uint32_t i = 0; i < w->schema->parameter_count; i++)
    if (w->schema->parameters[i].operators != NULL &&
        eg_sexpr_is_atom(head, w->schema->parameters[i].name))
      return i;
  return EG_RULE_NONE;
}

static egraph_status write_children(writing *w, const eg_sexpr *from, eg_sexpr *out) {
  EG_LOCAL(expressions, children, w->from->scratch);
  uint32_t first = 0, parameter = EG_RULE_NONE;
  if (from->kind == EG_SEXPR_LIST && from->count != 0)
    parameter = operator_written(w, &from->children[0]);
  if (parameter != EG_RULE_NONE) {
    EG_TRY(write_operator(w, from, parameter, &children));
    first = 1;
  }
  for (uint32_t i = first; i < from->count; i++)
    if (!is_parameter_clause(&from->children[i]))
      EG_TRY(write_form(w, &from->children[i], &children));
  out->count = (uint32_t)children.len;
  return EG_RULE_KEEP(w->from->arena, children, &out->children);
}

/// Finds the number that (count ?x...) or (index ?x...) means; a third word is added
/// to it.
static bool find_number(const writing *w, const eg_sexpr *from, uint32_t *out) {
  bool is_count = eg_sexpr_is_form(from, "count");
  if (from->count < 2 || from->count > 3 || !eg_rule_is_sequence(&from->children[1]))
    return false;
  if (!is_count && !(eg_sexpr_is_form(from, "index") && w->element != 0)) return false;
  int64_t added = 0;
  if (from->count == 3 &&
      (from->children[2].kind != EG_SEXPR_ATOM ||
       !eg_parse_int64(from->children[2].text, &added) || added < 0 || added > 1000))
    return false;
  *out = (is_count ? length_written(w, &from->children[1]) : w->element - 1) +
         (uint32_t)added;
  return true;
}

/// Appends a form with the values in place of the parameters.
static egraph_status write_form(writing *w, const eg_sexpr *from, expressions *out) {
  eg_sexpr made = *from;
  uint32_t number;
  if (eg_rule_is_sequence(from)) return write_elements(w, from, out);
  if (from->text != NULL) return expressions_push(out, made);
  if (eg_rule_is_each(from)) {
    uint32_t length = length_written(w, from);
    for (w->element = 1; w->element <= length; w->element++)
      EG_TRY(write_form(w, &from->children[1], out));
    w->element = 0;
    return EGRAPH_OK;
  }
  if (find_number(w, from, &number)) {
    made = (eg_sexpr){.kind = EG_SEXPR_ATOM, .line = from->line, .column = from->column};
    char digits[5];
    EG_TRY(write_joined(w, &made, "", 0, digits_of(number, digits)));
  } else {
    EG_TRY(write_children(w, from, &made));
  }
  return expressions_push(out, made);
}

static bool is_same_form(const eg_sexpr *a, const eg_sexpr *b) {
  if (a->kind != b->kind || a->count != b->count) return false;
  if (a->text != NULL) return strcmp(a->text, b->text) == 0;
  for (uint32_t i = 0; i < a->count; i++)
    if (!is_same_form(&a->children[i], &b->children[i])) return false;
  return true;
}

/// True for a condition that compares an expression with itself. A condition on the
/// elements of a sequence does so when it is written for the first element.
static bool says_nothing(const eg_sexpr *condition) {
  bool is_likeness = eg_sexpr_is_form(condition, "=") ||
                     eg_sexpr_is_form(condition, "same-shape") ||
                     eg_sexpr_is_form(condition, "same-dtype") ||
                     eg_sexpr_is_form(condition, "same-type");
  return is_likeness && condition->count == 3 &&
         is_same_form(&condition->children[1], &condition->children[2]);
}

/// Removes conditions that say nothing, and the clause if no condition is left.
static void clear_conditions(eg_sexpr *form) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < form->count; i++) {
    eg_sexpr clause = form->children[i];
    if (eg_sexpr_is_form(&clause, "when")) {
      uint32_t conditions = 0;
      for (uint32_t k = 0; k < clause.count; k++)
        if (!says_nothing(&clause.children[k]))
          clause.children[conditions++] = clause.children[k];
      clause.count = conditions;
      if (conditions == 1) continue;
    }
    form->children[kept++] = clause;
  }
  form->count = kept;
}

egraph_status eg_rule_case_read(const eg_rule_source_text *from,
                                const eg_rule_schema *schema, const uint32_t *values,
                                bool reversed, eg_rule *out) {
  assert(schema->parameter_count <= EG_RULE_MAX_PARAMETERS);
  writing w = {.from = from, .schema = schema, .values = values};
  eg_sexpr form = *schema->form;
  uint32_t *kept;
  EG_TRY(write_children(&w, schema->form, &form));
  clear_conditions(&form);
  assert(!eg_rule_form_is_schema(&form));
  EG_TRY(eg_rule_read_plain(from, &form, reversed, out));
  EG_TRY(eg_rule_keep_bytes(from->arena, values, schema->parameter_count, sizeof *values,
                            &kept));
  out->schema = schema;
  out->values = kept;
  return EGRAPH_OK;
}

// ---- cases that stand for all ---------------------------------------------------------

static egraph_status add_sample(const eg_rule *rule, const uint32_t *values,
                                eg_u32s *out) {
  uint32_t count = rule->schema->parameter_count;
  size_t bytes = count * sizeof *values;
  bool is_new = eg_rule_case_is_legal(rule->schema, values) &&
                memcmp(values, rule->values, bytes) != 0;
  for (size_t i = 0; i < out->len && is_new; i += count)
    is_new = memcmp(out->data + i, values, bytes) != 0;
  return is_new ? eg_u32s_append(out, values, count) : EGRAPH_OK;
}

static void set_counts(const eg_rule_schema *schema, uint32_t count, uint32_t *values) {
  for (uint32_t i = 0; i < schema->parameter_count; i++)
    if (schema->parameters[i].operators == NULL) values[i] = count;
}

/// Adds a case of the rule with the first legal number of elements from `count` on.
static egraph_status add_with_count(const eg_rule *rule, uint32_t count, uint32_t *values,
                                    eg_u32s *out) {
  for (uint32_t tries = 0; tries <= EG_RULE_SAMPLE_COUNT; tries++) {
    set_counts(rule->schema, count, values);
    if (eg_rule_case_is_legal(rule->schema, values)) break;
    count = (count + 1) % (EG_RULE_SAMPLE_COUNT + 1);
  }
  return add_sample(rule, values, out);
}

/// Adds a case for every choice of operators; the number of elements changes from one
/// case to the next.
static egraph_status sample_operators(const eg_rule *rule, uint32_t parameter,
                                      uint32_t chosen, uint32_t *values, eg_u32s *out) {
  const eg_rule_schema *schema = rule->schema;
  if (parameter == schema->parameter_count || parameter == EG_RULE_MAX_PARAMETERS)
    return add_with_count(rule, 1 + chosen % EG_RULE_SAMPLE_COUNT, values, out);
  const eg_rule_parameter *p = &schema->parameters[parameter];
  if (p->operators == NULL)
    return sample_operators(rule, parameter + 1, chosen, values, out);
  for (uint32_t k = 0; k < p->operator_count; k++) {
    values[parameter] = p->operators[k];
    EG_TRY(sample_operators(rule, parameter + 1, chosen + k, values, out));
  }
  return EGRAPH_OK;
}

/// Adds the cases in which each parameter from `parameter` on takes its first choices; a
/// parameter with 0 choices keeps its value.
static egraph_status add_case_product(const eg_rule *rule, const uint32_t *choices,
                                      uint32_t parameter, uint32_t *values,
                                      eg_u32s *out) {
  const eg_rule_schema *schema = rule->schema;
  if (parameter == schema->parameter_count || parameter == EG_RULE_MAX_PARAMETERS)
    return add_sample(rule, values, out);
  if (choices[parameter] == 0)
    return add_case_product(rule, choices, parameter + 1, values, out);
  const eg_op *operators = schema->parameters[parameter].operators;
  for (uint32_t i = 0; i < choices[parameter]; i++) {
    values[parameter] = operators != NULL ? (uint32_t)operators[i] : i;
    EG_TRY(add_case_product(rule, choices, parameter + 1, values, out));
  }
  return EGRAPH_OK;
}

/// Returns the most operands of an operator (spot) in a rule with parameters, over all
/// that a parameter can be; UINT32_MAX: any number.
static uint32_t most_operands(const eg_rule_schema *schema, const eg_rule_spot *spot) {
  if (spot->parameter == EG_RULE_NONE)
    return (uint32_t)eg_op_info_of(spot->op)->max_inputs;
  const eg_rule_parameter *p = &schema->parameters[spot->parameter];
  uint32_t most = 0;
  for (uint32_t i = 0; i < p->operator_count; i++) {
    uint32_t one = (uint32_t)eg_op_info_of(p->operators[i])->max_inputs;
    if (one > most) most = one;
  }
  return most;
}

/// Returns the most elements that a sequence can have as operands of its operators.
static uint32_t most_elements(const eg_rule_schema *schema, uint32_t parameter) {
  uint32_t most = UINT32_MAX;
  for (uint32_t i = 0; i < schema->spot_count && parameter != schema->sides; i++) {
    const eg_rule_spot *spot = &schema->spots[i];
    if (spot->each != EG_RULE_NONE || spot->operands.times[parameter] == 0) continue;
    uint32_t operands = most_operands(schema, spot);
    if (operands < most) most = operands;
  }
  return most;
}

/// Sets the number of choices of each parameter (for a sequence, of its lengths). Returns
/// their product, or more than EG_RULE_MAX_CASES.
static uint64_t count_choices(const eg_rule_schema *schema, uint32_t *out) {
  uint64_t product = 1;
  for (uint32_t i = 0; i < schema->parameter_count && product <= EG_RULE_MAX_CASES; i++) {
    uint64_t own = schema->parameters[i].operators != NULL
                       ? schema->parameters[i].operator_count
                       : (uint64_t)most_elements(schema, i) + 1;
    product *= own;
    out[i] = (uint32_t)own;
  }
  return product;
}

egraph_status eg_rule_cases_sample(const eg_rule *rule, eg_u32s *out, bool *out_all) {
  assert(rule->schema != NULL && rule->values != NULL);
  const eg_rule_schema *schema = rule->schema;
  uint32_t values[EG_RULE_MAX_PARAMETERS], choices[EG_RULE_MAX_PARAMETERS] = {0};
  memcpy(values, rule->values, schema->parameter_count * sizeof *values);
  *out_all = count_choices(schema, choices) <= EG_RULE_MAX_CASES;
  if (*out_all) return add_case_product(rule, choices, 0, values, out);
  for (uint32_t i = 0; i < schema->parameter_count; i++)
    choices[i] = schema->parameters[i].operators != NULL ? 0 : 3;
  EG_TRY(add_case_product(rule, choices, 0, values, out));
  for (uint32_t i = 0; i < schema->parameter_count; i++) {
    if (schema->parameters[i].operators != NULL) continue;
    set_counts(schema, 1, values);
    for (values[i] = 3; values[i] <= EG_RULE_SAMPLE_COUNT; values[i]++)
      EG_TRY(add_sample(rule, values, out));
  }
  return sample_operators(rule, 0, 0, values, out);
}

/// Lists large numbers of elements: 9, 17, the numbers in the rule, and each of these
/// numbers plus one.
static uint32_t large_counts(const eg_rule *rule, uint32_t *out) {
  uint32_t count = 0;
  out[count++] = 9;
  out[count++] = 17;
  for (uint32_t i = 0; i < rule->expr_count && count + 2 < EG_RULE_LARGE_COUNTS; i++) {
    const eg_rule_expr *at = &rule->exprs[i];
    bool is_count = at->form == EG_RULE_EXPR_CONSTANT && at->kind == EG_RULE_INT &&
                    at->constant.i >= EG_RULE_SAMPLE_COUNT && at->constant.i < 60;
    if (!is_count || at->constant.i == 9 || at->constant.i == 17) continue;
    out[count++] = (uint32_t)at->constant.i;
    out[count++] = (uint32_t)at->constant.i + 1;
  }
  return count;
}

egraph_status eg_rule_cases_sample_large(const eg_rule *rule, eg_u32s *out) {
  const eg_rule_schema *schema = rule->schema;
  uint32_t values[EG_RULE_MAX_PARAMETERS], counts[EG_RULE_LARGE_COUNTS];
  uint32_t count = large_counts(rule, counts);
  memcpy(values, rule->values, schema->parameter_count * sizeof *values);
  for (uint32_t i = 0; i < schema->parameter_count; i++) {
    if (schema->parameters[i].operators != NULL) continue;
    for (uint32_t k = 0; k < count; k++) {
      set_counts(schema, 1, values);
      values[i] = counts[k];
      if (counts[k] <= most_elements(schema, i)) EG_TRY(add_sample(rule, values, out));
    }
  }
  return EGRAPH_OK;
}

static egraph_status check_cases(const eg_rule_source_text *from, const eg_rule *rule,
                                 const eg_u32s *values) {
  uint32_t count = rule->schema->parameter_count;
  eg_rule ignored;
  for (size_t i = 0; i < values->len; i += count) {
    egraph_status status =
        eg_rule_case_read(from, rule->schema, values->data + i, rule->reversed, &ignored);
    if (status == EGRAPH_E_PARSE)
      return eg_fail_context(status, "a case of rule %s", rule->name);
    EG_TRY(status);
  }
  return EGRAPH_OK;
}

/// Counts combinations of the operators of parameters, up to EG_RULE_MAX_CASES + 1.
static uint32_t operator_choices(const eg_rule_schema *schema) {
  uint64_t choices = 1;
  for (uint32_t i = 0; i < schema->parameter_count && choices <= EG_RULE_MAX_CASES; i++)
    if (schema->parameters[i].operators != NULL)
      choices *= schema->parameters[i].operator_count;
  return choices <= EG_RULE_MAX_CASES ? (uint32_t)choices : EG_RULE_MAX_CASES + 1;
}

egraph_status eg_rule_cases_check(const eg_rule *rule, egraph_allocator alloc) {
  eg_sexpr at = {.line = rule->line, .column = 1};
  if (operator_choices(rule->schema) > EG_RULE_MAX_CASES)
    return eg_sexpr_fail(
        rule->file, &at,
        "rule %s has more than %d choices of operators; split it, or use "
        "smaller sets",
        rule->name, EG_RULE_MAX_CASES);
  EG_LOCAL(eg_arena, arena, alloc);
  EG_LOCAL(eg_u32s, values, alloc);
  const eg_rule_source_text from = {
      .arena = &arena, .scratch = alloc, .file = rule->file, .is_of_case = true};
  bool is_all;
  EG_TRY(eg_rule_cases_sample(rule, &values, &is_all));
  return check_cases(&from, rule, &values);
}

// ---- comparing a rule with cases ---------------------------------------------

typedef struct likeness {
  const eg_rule *whole, *rule;
  egraph_allocator alloc;
  uint64_t operands[EG_OP_COUNT]; // bit n: a term of the left side has n operands
  uint32_t most;
  uint32_t values[EG_RULE_MAX_PARAMETERS];
  bool found;
} likeness;

/// False when the case with these values cannot be the rule, because the case has
/// other operators.
static bool is_like(const likeness *l) {
  const eg_rule_schema *schema = l->whole->schema;
  uint32_t sides = schema->sides;
  if (sides != EG_RULE_NONE && l->values[sides] != l->rule->root_count) return false;
  for (uint32_t i = 0; i < schema->spot_count; i++) {
    const eg_rule_spot *spot = &schema->spots[i];
    uint32_t operands =
        eg_rule_sum_of(&spot->operands, schema->parameter_count, l->values);
    bool is_there = operands < 64 &&
                    (l->operands[eg_rule_spot_op(spot, l->values)] >> operands & 1) != 0;
    bool is_asked =
        spot->is_left && (spot->each == EG_RULE_NONE || l->values[spot->each] != 0);
    if (is_asked && !is_there) return false;
  }
  return eg_rule_case_is_legal(schema, l->values);
}

static egraph_status compare_case(likeness *l) {
  if (!is_like(l)) return EGRAPH_OK;
  EG_LOCAL(eg_arena, arena, l->alloc);
  eg_rule rule;
  const eg_rule_source_text from = {
      .arena = &arena, .scratch = l->alloc, .file = l->whole->file};
  egraph_status status =
      eg_rule_case_read(&from, l->whole->schema, l->values, l->whole->reversed, &rule);
  l->found = status == EGRAPH_OK && strcmp(rule.key, l->rule->key) == 0;
  return status == EGRAPH_E_PARSE ? EGRAPH_OK : status;
}

static egraph_status compare_cases(likeness *l, uint32_t parameter) {
  const eg_rule_schema *schema = l->whole->schema;
  if (parameter == schema->parameter_count || parameter == EG_RULE_MAX_PARAMETERS)
    return compare_case(l);
  const eg_rule_parameter *p = &schema->parameters[parameter];
  uint32_t count = p->operators != NULL ? p->operator_count : l->most + 1;
  for (uint32_t i = 0; i < count && !l->found; i++) {
    l->values[parameter] = p->operators != NULL ? (uint32_t)p->operators[i] : i;
    if (p->operators == NULL || l->operands[p->operators[i]] != 0)
      EG_TRY(compare_cases(l, parameter + 1));
  }
  return EGRAPH_OK;
}

egraph_status eg_rule_cases_have(const eg_rule *with_parameters, const eg_rule *rule,
                                 egraph_allocator alloc, bool *out) {
  assert(with_parameters->schema != NULL && rule->schema == NULL);
  likeness l = {.whole = with_parameters, .rule = rule, .alloc = alloc};
  for (uint32_t i = 0; i < rule->pattern_term_count; i++) {
    const eg_rule_term *term = &rule->terms[i];
    if (term->is_var || term->child_count >= 64) continue;
    l.operands[term->op] |= UINT64_C(1) << term->child_count;
    if (term->child_count > l.most) l.most = term->child_count;
  }
  if (rule->root_count > l.most) l.most = rule->root_count;
  egraph_status status = compare_cases(&l, 0);
  *out = l.found;
  return status;
}
