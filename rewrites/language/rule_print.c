// Rules and tests as text: attributes in table order, defaults left out, one clause per
// line. The same printer with variables renamed in order of appearance gives the key by
// which duplicates are found.
//
// Recursion follows the nesting of the rule, which its reader limits.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "rewrites/language/rule_forms.h"
#include "rewrites/language/rule_schema.h"

typedef struct printer {
  eg_text *text;
  const eg_rule *rule;
  // For a key the number of each variable, EG_RULE_NONE before it appeared; else NULL.
  uint32_t *numbers;
  uint32_t next;
  bool parallel; // with parallel operators
} printer;

static egraph_status print_var(printer *p, uint32_t var) {
  if (p->numbers == NULL) return eg_text_append(p->text, p->rule->vars[var].name);
  if (p->numbers[var] == EG_RULE_NONE) p->numbers[var] = p->next++;
  return eg_text_printf(p->text, "?%u", p->numbers[var]);
}

static egraph_status print_constant(eg_text *text, const eg_rule_value *value) {
  switch (value->kind) {
  case EG_RULE_INT: return eg_text_printf(text, "%" PRId64, value->i);
  case EG_RULE_FLOAT: return eg_text_double(text, value->f);
  case EG_RULE_SYMBOL: return eg_text_append(text, value->text);
  case EG_RULE_DTYPE: return eg_text_append(text, eg_dtype_name((egraph_dtype)value->i));
  case EG_RULE_STRING: return eg_text_quoted(text, value->text);
  case EG_RULE_INTS:
  case EG_RULE_FLOATS:
  case EG_RULE_BOOL:
  case EG_RULE_TENSOR: break;
  }
  return EG_FAIL(EGRAPH_E_INTERNAL, "a constant of this kind cannot be written");
}

static egraph_status print_expr(printer *p, uint32_t index) {
  const eg_rule_expr *expr = &p->rule->exprs[index];
  switch (expr->form) {
  case EG_RULE_EXPR_CONSTANT: return print_constant(p->text, &expr->constant);
  case EG_RULE_EXPR_VAR: return print_var(p, expr->var);
  case EG_RULE_EXPR_CALL: break;
  }
  EG_TRY(eg_text_printf(p->text, "(%s", eg_rule_function_info_of(expr->function)->name));
  for (uint32_t i = 0; i < expr->arg_count; i++) {
    EG_TRY(eg_text_append(p->text, " "));
    EG_TRY(print_expr(p, expr->args[i]));
  }
  return eg_text_append(p->text, ")");
}

egraph_status eg_rule_print_expr(eg_text *text, const eg_rule *rule, uint32_t expr) {
  printer p = {.text = text, .rule = rule};
  return print_expr(&p, expr);
}

static egraph_status print_slot(printer *p, eg_op op, uint16_t attr,
                                const eg_rule_slot *slot) {
  const eg_attr_info *info = &eg_op_info_of(op)->attrs[attr];
  if (slot->form == EG_RULE_SLOT_LITERAL && info->default_text[0] != '\0') {
    eg_attr usual = eg_attr_default(op, attr);
    if (eg_attr_same(&usual, &slot->literal)) return EGRAPH_OK;
  }
  EG_TRY(eg_text_printf(p->text, " :%s ", info->name));
  switch (slot->form) {
  case EG_RULE_SLOT_LITERAL: return eg_attr_print(p->text, op, attr, &slot->literal);
  case EG_RULE_SLOT_VAR: return print_var(p, slot->index);
  case EG_RULE_SLOT_EXPR: return print_expr(p, slot->index);
  case EG_RULE_SLOT_ANY: return eg_text_append(p->text, "_");
  }
  return EGRAPH_OK;
}

static egraph_status print_term(printer *p, uint32_t index);

static egraph_status print_bare_term(printer *p, uint32_t index) {
  const eg_rule_term *term = &p->rule->terms[index];
  if (term->is_var) return print_var(p, term->var);
  if (term->var != EG_RULE_NONE) {
    EG_TRY(eg_text_append(p->text, "(as "));
    EG_TRY(print_var(p, term->var));
    EG_TRY(eg_text_append(p->text, " "));
  }
  const eg_op_info *info = eg_op_info_of(term->op);
  EG_TRY(eg_text_printf(p->text, "(%s", info->name));
  for (uint16_t i = 0; i < info->attr_count; i++)
    EG_TRY(print_slot(p, term->op, i, &term->slots[i]));
  for (uint32_t i = 0; i < term->child_count; i++) {
    EG_TRY(eg_text_append(p->text, " "));
    EG_TRY(print_term(p, term->children[i]));
  }
  return eg_text_append(p->text, term->var != EG_RULE_NONE ? "))" : ")");
}

static egraph_status print_move(printer *p, const eg_rule_move *move) {
  EG_TRY(eg_text_printf(p->text, "(%s", eg_parallel_name(move->kind)));
  if (move->dim != EG_RULE_NONE) {
    EG_TRY(eg_text_append(p->text, " :dim "));
    EG_TRY(print_expr(p, move->dim));
  }
  if (move->degree != 0)
    EG_TRY(eg_text_printf(p->text, " :degree %" PRIu32, move->degree));
  const char *axis = p->rule->axes[move->axis].name;
  if (axis[0] != '\0') EG_TRY(eg_text_printf(p->text, " :axis %s", axis));
  return eg_text_append(p->text, move->keeps_one ? " :others zero " : " ");
}

static egraph_status print_term(printer *p, uint32_t index) {
  uint32_t begin, end = eg_rule_moves_of(p->rule, index, &begin);
  if (!p->parallel) end = begin;
  for (uint32_t i = end; i > begin; i--)
    EG_TRY(print_move(p, &p->rule->moves[i - 1]));
  EG_TRY(print_bare_term(p, index));
  for (uint32_t i = begin; i < end; i++)
    EG_TRY(eg_text_append(p->text, ")"));
  return EGRAPH_OK;
}

static egraph_status print_roots(printer *p, const char *clause,
                                 const eg_rule_root *roots, uint32_t count) {
  EG_TRY(eg_text_printf(p->text, "\n  (%s", clause));
  for (uint32_t i = 0; i < count; i++) {
    EG_TRY(eg_text_append(p->text, " "));
    EG_TRY(print_term(p, roots[i].term));
  }
  return eg_text_append(p->text, ")");
}

static egraph_status print_let(printer *p, const eg_rule_let *let) {
  EG_TRY(eg_text_append(p->text, "\n  (let "));
  EG_TRY(print_var(p, let->var));
  EG_TRY(eg_text_append(p->text, " "));
  EG_TRY(let->is_term ? print_term(p, let->term) : print_expr(p, let->expr));
  return eg_text_append(p->text, ")");
}

static egraph_status print_body(printer *p) {
  const eg_rule *rule = p->rule;
  EG_TRY(print_roots(p, "lhs", rule->lhs, rule->root_count));
  for (uint32_t i = 0; i < rule->let_count; i++)
    EG_TRY(print_let(p, &rule->lets[i]));
  EG_TRY(print_roots(p, "rhs", rule->rhs, rule->root_count));
  if (rule->condition_count == 0) return EGRAPH_OK;
  EG_TRY(eg_text_append(p->text, "\n  (when"));
  for (uint32_t i = 0; i < rule->condition_count; i++) {
    EG_TRY(eg_text_append(p->text, " "));
    EG_TRY(print_expr(p, rule->conditions[i]));
  }
  return eg_text_append(p->text, ")");
}

egraph_status eg_rule_print(eg_text *text, const eg_rule *rule) {
  if (rule->schema != NULL && strchr(rule->name, ':') == NULL) { // no case of it
    EG_TRY(eg_sexpr_print(text, rule->schema->form));
    return eg_text_append(text, "\n");
  }
  printer p = {.text = text, .rule = rule, .parallel = true};
  EG_TRY(eg_text_printf(text, "(rule %s\n  (source ", rule->name));
  EG_TRY(eg_text_quoted(text, rule->source));
  EG_TRY(eg_text_append(text, ")"));
  if (rule->math != EGRAPH_MATH_ASSOCIATIVE || rule->spreads)
    EG_TRY(eg_text_printf(text, "\n  (class %s%s)", eg_rule_class_name(rule->math),
                          rule->spreads ? " spreads" : ""));
  EG_TRY(print_body(&p));
  return eg_text_append(text, rule->both_ways ? "\n  both-ways)\n" : ")\n");
}

egraph_status eg_rule_same_sides(eg_text *scratch, const eg_rule *rule, bool *out) {
  printer p = {.text = scratch, .rule = rule};
  eg_text_clear(scratch);
  EG_TRY(print_roots(&p, "", rule->lhs, rule->root_count));
  size_t half = scratch->chars.len;
  EG_TRY(print_roots(&p, "", rule->rhs, rule->root_count));
  const char *sides = eg_text_of(scratch);
  *out = scratch->chars.len == 2 * half && memcmp(sides, sides + half, half) == 0;
  return EGRAPH_OK;
}

egraph_status eg_rule_print_key(eg_text *text, const eg_rule *rule, bool parallel) {
  egraph_allocator alloc = text->chars.alloc;
  printer p = {.text = text, .rule = rule, .parallel = parallel};
  EG_TRY(eg_alloc(alloc, rule->var_count, sizeof *p.numbers, &p.numbers));
  for (uint32_t i = 0; i < rule->var_count; i++)
    p.numbers[i] = EG_RULE_NONE;
  egraph_status status = print_body(&p);
  eg_free(alloc, p.numbers, rule->var_count, sizeof *p.numbers);
  return status;
}

static egraph_status print_given(eg_text *text, const eg_rule_given *given) {
  EG_TRY(eg_text_printf(text, " (%s%s ", given->name, given->weight ? " weight" : ""));
  EG_TRY(eg_text_quoted(text, given->type_text));
  if (given->filled) {
    EG_TRY(eg_text_append(text, " "));
    EG_TRY(eg_text_double(text, given->value));
  }
  return eg_text_append(text, ")");
}

static egraph_status print_givens(eg_text *text, const eg_rule_test *test) {
  if (test->given_count == 0) return EGRAPH_OK;
  EG_TRY(eg_text_append(text, "\n  (given"));
  for (uint32_t i = 0; i < test->given_count; i++)
    EG_TRY(print_given(text, &test->given[i]));
  return eg_text_append(text, ")");
}

static egraph_status print_rule_names(eg_text *text, const eg_rule_test *test) {
  if (test->rule_count == 0) return EGRAPH_OK;
  EG_TRY(eg_text_append(text, "\n  (rules"));
  for (uint32_t i = 0; i < test->rule_count; i++)
    EG_TRY(eg_text_printf(text, " %s", test->rules[i]));
  return eg_text_append(text, ")");
}

egraph_status eg_rule_test_print(eg_text *text, const eg_rule_test *test) {
  printer p = {.text = text, .rule = &test->body};
  uint32_t roots = test->body.root_count;
  EG_TRY(eg_text_printf(text, "(test %s", test->name));
  EG_TRY(print_givens(text, test));
  EG_TRY(print_rule_names(text, test));
  EG_TRY(eg_text_printf(text, "\n  (iterations %u)", test->iterations));
  EG_TRY(print_roots(&p, "term", test->body.rhs, roots));
  for (uint32_t i = 0; i < test->claim_count; i++)
    EG_TRY(print_roots(&p, test->claims[i].equal ? "equals" : "differs",
                       test->claims[i].roots, roots));
  return eg_text_append(text, ")\n");
}
