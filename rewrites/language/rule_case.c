// A case is the form with the values written in the place of the parameters, read like
// any other form.
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/number.h"
#include "rewrites/language/rule_reader.h"
#include "rewrites/language/rule_schema_internal.h"

// ---- which there are ----------------------------------------------------------------

uint32_t eg_rule_sum_of(const eg_rule_sum *sum, uint32_t parameter_count,
                        const uint32_t *values) {
  uint32_t total = sum->fixed;
  for (uint32_t i = 0; i < parameter_count; i++)
    if (sum->times[i] != 0) total += sum->times[i] * values[i];
  return total;
}

uint32_t eg_rule_length_count(const eg_rule_schema *schema) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < schema->parameter_count; i++)
    count += schema->parameters[i].operators == NULL;
  return count;
}

eg_op eg_rule_spot_op(const eg_rule_spot *spot, const uint32_t *values) {
  return spot->parameter == EG_RULE_NONE ? spot->op : (eg_op)values[spot->parameter];
}

/// Whether a spot can have so many operands.
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

/// The first operator that a parameter can be, with the lengths that `values` has.
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
  const uint32_t *counts = eg_rule_length_count(schema) > 1 ? several : one;
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
  uint32_t element; // of the `each` at hand, from 1; 0: outside
} writing;

static uint32_t length_written(const writing *w, const eg_sexpr *expr) {
  const eg_rule_schema *schema = w->schema;
  if (eg_rule_is_sequence(expr))
    return w->values[schema->lengths[eg_rule_find_sequence(
        schema->sequences, schema->sequence_count, expr->text)]];
  for (uint32_t i = 0; i < expr->count; i++)
    if (eg_rule_has_sequence(&expr->children[i]))
      return length_written(w, &expr->children[i]);
  return 0;
}

/// The text of `out` becomes two texts, joined.
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

/// At most four digits.
static const char *digits_of(uint32_t number, char digits[5]) {
  char *at = digits + 4;
  *at = '\0';
  do
    *--at = (char)('0' + number % 10);
  while ((number /= 10) != 0 && at != digits);
  return at;
}

/// ?x... is ?x.1 ?x.2 and so on, in `each` the one of them.
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

static bool gives(const eg_sexpr *term, const char *attribute) {
  for (uint32_t i = 1; i < term->count; i++)
    if (term->children[i].kind == EG_SEXPR_ATOM && term->children[i].text[0] == ':' &&
        strcmp(term->children[i].text + 1, attribute) == 0)
      return true;
  return false;
}

/// (?f ...) is (gelu :approximate ?f.approximate ...).
static egraph_status write_operator(const writing *w, const eg_sexpr *term,
                                    uint32_t parameter, expressions *out) {
  const eg_op_info *info = eg_op_info_of((eg_op)w->values[parameter]);
  eg_sexpr head = term->children[0], key = head, value = head;
  head.text = info->name;
  EG_TRY(expressions_push(out, head));
  for (uint16_t i = 0; i < info->attr_count; i++) {
    if (gives(term, info->attrs[i].name)) continue;
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
  expressions children;
  expressions_init(&children, w->from->scratch);
  uint32_t first = 0;
  egraph_status status = EGRAPH_OK;
  if (from->kind == EG_SEXPR_LIST && from->count != 0) {
    uint32_t parameter = operator_written(w, &from->children[0]);
    if (parameter != EG_RULE_NONE) {
      status = write_operator(w, from, parameter, &children);
      first = 1;
    }
  }
  for (uint32_t i = first; i < from->count && status == EGRAPH_OK; i++)
    if (!eg_rule_is_parameter_clause(&from->children[i]))
      status = write_form(w, &from->children[i], &children);
  out->count = (uint32_t)children.len;
  if (status == EGRAPH_OK)
    status = eg_rule_keep_bytes(w->from->arena, children.data, children.len,
                                sizeof *children.data, &out->children);
  expressions_deinit(&children);
  return status;
}

/// (count ?x...) and (index ?x...), also with what is added: (index ?x... 1).
static bool is_number(const writing *w, const eg_sexpr *from, uint32_t *out) {
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
    egraph_status status = EGRAPH_OK;
    for (w->element = 1; w->element <= length && status == EGRAPH_OK; w->element++)
      status = write_form(w, &from->children[1], out);
    w->element = 0;
    return status;
  }
  if (is_number(w, from, &number)) {
    made = (eg_sexpr){.kind = EG_SEXPR_ATOM, .line = from->line, .column = from->column};
    char digits[5];
    EG_TRY(write_joined(w, &made, "", 0, digits_of(number, digits)));
  } else {
    EG_TRY(write_children(w, from, &made));
  }
  return expressions_push(out, made);
}

static bool is_same(const eg_sexpr *a, const eg_sexpr *b) {
  if (a->kind != b->kind || a->count != b->count) return false;
  if (a->text != NULL) return strcmp(a->text, b->text) == 0;
  for (uint32_t i = 0; i < a->count; i++)
    if (!is_same(&a->children[i], &b->children[i])) return false;
  return true;
}

/// What an element says of the first one is true of the first one itself.
static bool says_nothing(const eg_sexpr *condition) {
  bool is_likeness = eg_sexpr_is_form(condition, "=") ||
                     eg_sexpr_is_form(condition, "same-shape") ||
                     eg_sexpr_is_form(condition, "same-dtype") ||
                     eg_sexpr_is_form(condition, "same-type");
  return is_likeness && condition->count == 3 &&
         is_same(&condition->children[1], &condition->children[2]);
}

/// Conditions that say nothing are left out, and the clause if there are no others.
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
  writing w = {.from = from, .schema = schema, .values = values};
  eg_sexpr form = *schema->form;
  uint32_t *kept;
  EG_TRY(write_children(&w, schema->form, &form));
  clear_conditions(&form);
  EG_TRY(eg_rule_read(from, &form, reversed, out));
  EG_TRY(eg_rule_keep_bytes(from->arena, values, schema->parameter_count, sizeof *values,
                            &kept));
  out->schema = schema;
  out->values = kept;
  return EGRAPH_OK;
}
