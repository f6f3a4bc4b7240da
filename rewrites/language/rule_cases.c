// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/owner.h"
#include "rewrites/language/rule_cases.h"
#include "rewrites/language/rule_schema_internal.h"

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

/// With the first legal number of elements from `count` on.
static egraph_status add_with_count(const eg_rule *rule, uint32_t count, uint32_t *values,
                                    eg_u32s *out) {
  for (uint32_t tries = 0; tries <= EG_RULE_SAMPLE_COUNT; tries++) {
    set_counts(rule->schema, count, values);
    if (eg_rule_case_is_legal(rule->schema, values)) break;
    count = (count + 1) % (EG_RULE_SAMPLE_COUNT + 1);
  }
  return add_sample(rule, values, out);
}

/// Every choice of operators, with a number of elements that differs from one to the
/// next.
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

/// All numbers up to two.
static egraph_status sample_counts(const eg_rule *rule, uint32_t parameter,
                                   uint32_t *values, eg_u32s *out) {
  const eg_rule_schema *schema = rule->schema;
  if (parameter == schema->parameter_count || parameter == EG_RULE_MAX_PARAMETERS)
    return add_sample(rule, values, out);
  if (schema->parameters[parameter].operators != NULL)
    return sample_counts(rule, parameter + 1, values, out);
  for (uint32_t count = 0; count <= 2; count++) {
    values[parameter] = count;
    EG_TRY(sample_counts(rule, parameter + 1, values, out));
  }
  return EGRAPH_OK;
}

/// How many operands the operators that a spot can be have at most; UINT32_MAX: any
/// number.
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

/// How many elements a sequence has at most, by the operators that have it as operands.
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

static egraph_status add_all(const eg_rule *rule, uint32_t parameter, uint32_t *values,
                             eg_u32s *out) {
  const eg_rule_schema *schema = rule->schema;
  if (parameter == schema->parameter_count || parameter == EG_RULE_MAX_PARAMETERS)
    return add_sample(rule, values, out);
  const eg_rule_parameter *p = &schema->parameters[parameter];
  uint32_t count =
      p->operators != NULL ? p->operator_count : most_elements(schema, parameter) + 1;
  for (uint32_t i = 0; i < count; i++) {
    values[parameter] = p->operators != NULL ? p->operators[i] : i;
    EG_TRY(add_all(rule, parameter + 1, values, out));
  }
  return EGRAPH_OK;
}

/// Nothing is appended, and *out_all is false, where they are too many.
static egraph_status list_all(const eg_rule *rule, eg_u32s *out, bool *out_all) {
  const eg_rule_schema *schema = rule->schema;
  uint32_t values[EG_RULE_MAX_PARAMETERS] = {0};
  uint64_t choices = 1;
  for (uint32_t i = 0; i < schema->parameter_count && choices <= EG_RULE_MAX_CASES; i++)
    choices *= schema->parameters[i].operators != NULL
                   ? schema->parameters[i].operator_count
                   : (uint64_t)most_elements(schema, i) + 1;
  *out_all = choices <= EG_RULE_MAX_CASES;
  return *out_all ? add_all(rule, 0, values, out) : EGRAPH_OK;
}

egraph_status eg_rule_cases_sample(const eg_rule *rule, eg_u32s *out, bool *out_all) {
  const eg_rule_schema *schema = rule->schema;
  uint32_t values[EG_RULE_MAX_PARAMETERS];
  EG_TRY(list_all(rule, out, out_all));
  if (*out_all) return EGRAPH_OK;
  memcpy(values, rule->values, schema->parameter_count * sizeof *values);
  EG_TRY(sample_counts(rule, 0, values, out));
  for (uint32_t i = 0; i < schema->parameter_count; i++) {
    if (schema->parameters[i].operators != NULL) continue;
    set_counts(schema, 1, values);
    for (values[i] = 3; values[i] <= EG_RULE_SAMPLE_COUNT; values[i]++)
      EG_TRY(add_sample(rule, values, out));
  }
  return sample_operators(rule, 0, 0, values, out);
}

/// Numbers of elements beyond the usual ones: some, and those beside numbers of the rule.
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

/// How many choices of operators there are, at most one more than EG_RULE_MAX_CASES.
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
  eg_arena arena;
  eg_u32s values;
  eg_arena_init(&arena, alloc);
  eg_u32s_init(&values, alloc);
  const eg_rule_source_text from = {
      .arena = &arena, .scratch = alloc, .file = rule->file, .is_of_case = true};
  bool is_all;
  egraph_status status = eg_rule_cases_sample(rule, &values, &is_all);
  if (status == EGRAPH_OK) status = check_cases(&from, rule, &values);
  eg_u32s_deinit(&values);
  eg_arena_deinit(&arena);
  return status;
}

// ---- of which rule another one is a case ---------------------------------------------

typedef struct likeness {
  const eg_rule *whole, *rule;
  egraph_allocator alloc;
  uint64_t operands[EG_OP_COUNT]; // bit n: one of the left side has n operands
  uint32_t most;
  uint32_t values[EG_RULE_MAX_PARAMETERS];
  bool found;
} likeness;

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
  eg_arena arena;
  eg_rule made;
  if (!is_like(l)) return EGRAPH_OK;
  eg_arena_init(&arena, l->alloc);
  const eg_rule_source_text from = {
      .arena = &arena, .scratch = l->alloc, .file = l->whole->file};
  egraph_status status =
      eg_rule_case_read(&from, l->whole->schema, l->values, l->whole->reversed, &made);
  l->found = status == EGRAPH_OK && strcmp(made.key, l->rule->key) == 0;
  eg_arena_deinit(&arena);
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

// ---- cases that were asked for ------------------------------------------------------

EG_VEC_DEFINE(case_list, const eg_rule *);

struct eg_rule_cases {
  egraph_allocator alloc;
  const eg_rules *rules;
  eg_arena arena;
  eg_u32s numbers; // of the rules, by case
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
  eg_text name;
  eg_text_init(&name, cases->alloc);
  egraph_status status = eg_text_append(&name, rule->name);
  for (uint32_t i = 0; i < rule->schema->parameter_count && status == EGRAPH_OK; i++)
    status =
        rule->schema->parameters[i].operators != NULL
            ? eg_text_printf(&name, ":%s", eg_op_info_of((eg_op)rule->values[i])->name)
            : eg_text_printf(&name, ":%" PRIu32, rule->values[i]);
  if (status == EGRAPH_OK)
    status =
        eg_arena_string(&cases->arena, eg_text_of(&name), name.chars.len, &rule->name);
  eg_text_deinit(&name);
  return status;
}

egraph_status eg_rule_cases_get(eg_rule_cases *cases, uint32_t rule,
                                const uint32_t *values, const eg_rule **out) {
  const eg_rule *whole = eg_rules_at(cases->rules, rule);
  *out = whole;
  if (whole->schema == NULL) return EGRAPH_OK;
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

/// The values in "relu:3". False when they are none of the rule.
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
