// Prints rules and tests: attributes in table order, without defaults, one clause per
// line. The same printer, with variables renamed in order of appearance, gives the key
// that shows duplicates.
//
// Recursion follows the nesting of the rule, which its reader limits.
// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "rewrites/language/rule_forms.h"
#include "rewrites/language/rule_schema.h"

typedef struct printer {
  eg_text *text;
  const eg_rule *rule;
  // For keys: the number of each variable, EG_RULE_NONE before the variable appears;
  // else NULL.
  uint32_t *numbers;
  uint32_t next;
  bool parallel; // with parallel operators
} printer;

static void print_var(printer *p, uint32_t var) {
  assert(var < p->rule->var_count);
  if (p->numbers == NULL) {
    eg_text_append(p->text, p->rule->vars[var].name);
    return;
  }
  if (p->numbers[var] == EG_RULE_NONE) p->numbers[var] = p->next++;
  eg_text_printf(p->text, "?%u", p->numbers[var]);
}

/// Prints a constant. The reader makes constants of these kinds only.
static void print_constant(eg_text *text, const eg_rule_value *value) {
  switch (value->kind) {
  case EG_RULE_INT: eg_text_printf(text, "%" PRId64, value->i); return;
  case EG_RULE_FLOAT: eg_text_double(text, value->f); return;
  case EG_RULE_SYMBOL: eg_text_append(text, value->text); return;
  case EG_RULE_DTYPE: eg_text_append(text, eg_dtype_name((egraph_dtype)value->i)); return;
  case EG_RULE_STRING: eg_text_quoted(text, value->text); return;
  case EG_RULE_INTS:
  case EG_RULE_FLOATS:
  case EG_RULE_BOOL:
  case EG_RULE_TENSOR: break;
  }
  assert(false && "a constant of this kind is not written");
}

static void print_expr(printer *p, uint32_t index) {
  assert(index < p->rule->expr_count);
  const eg_rule_expr *expr = &p->rule->exprs[index];
  switch (expr->form) {
  case EG_RULE_EXPR_CONSTANT: print_constant(p->text, &expr->constant); return;
  case EG_RULE_EXPR_VAR: print_var(p, expr->var); return;
  case EG_RULE_EXPR_CALL: break;
  }
  eg_text_printf(p->text, "(%s", eg_rule_function_info_of(expr->function)->name);
  for (uint32_t i = 0; i < expr->arg_count; i++) {
    eg_text_append(p->text, " ");
    print_expr(p, expr->args[i]);
  }
  eg_text_append(p->text, ")");
}

egraph_status eg_rule_print_expr(eg_text *text, const eg_rule *rule, uint32_t expr) {
  printer p = {.text = text, .rule = rule};
  print_expr(&p, expr);
  return eg_text_status(text);
}

static void print_slot(printer *p, eg_op op, uint16_t attr, const eg_rule_slot *slot) {
  const eg_attr_info *info = &eg_op_info_of(op)->attrs[attr];
  if (slot->form == EG_RULE_SLOT_LITERAL && info->default_text[0] != '\0') {
    eg_attr usual = eg_attr_default(op, attr);
    if (eg_attr_same(&usual, &slot->literal)) return;
  }
  eg_text_printf(p->text, " :%s ", info->name);
  switch (slot->form) {
  case EG_RULE_SLOT_LITERAL: eg_attr_print(p->text, op, attr, &slot->literal); return;
  case EG_RULE_SLOT_VAR: print_var(p, slot->index); return;
  case EG_RULE_SLOT_EXPR: print_expr(p, slot->index); return;
  case EG_RULE_SLOT_ANY: eg_text_append(p->text, "_"); return;
  }
}

static void print_term(printer *p, uint32_t index);

static void print_bare_term(printer *p, uint32_t index) {
  const eg_rule_term *term = &p->rule->terms[index];
  if (term->is_var) {
    print_var(p, term->var);
    return;
  }
  if (term->var != EG_RULE_NONE) {
    eg_text_append(p->text, "(as ");
    print_var(p, term->var);
    eg_text_append(p->text, " ");
  }
  const eg_op_info *info = eg_op_info_of(term->op);
  eg_text_printf(p->text, "(%s", info->name);
  for (uint16_t i = 0; i < info->attr_count; i++)
    print_slot(p, term->op, i, &term->slots[i]);
  for (uint32_t i = 0; i < term->child_count; i++) {
    eg_text_append(p->text, " ");
    print_term(p, term->children[i]);
  }
  eg_text_append(p->text, term->var != EG_RULE_NONE ? "))" : ")");
}

static void print_move(printer *p, const eg_rule_move *move) {
  assert(move->axis < p->rule->axis_count);
  eg_text_printf(p->text, "(%s", eg_parallel_name(move->kind));
  if (move->dim != EG_RULE_NONE) {
    eg_text_append(p->text, " :dim ");
    print_expr(p, move->dim);
  }
  if (move->degree != 0) eg_text_printf(p->text, " :degree %" PRIu32, move->degree);
  const char *axis = p->rule->axes[move->axis].name;
  if (axis[0] != '\0') eg_text_printf(p->text, " :axis %s", axis);
  eg_text_append(p->text, move->keeps_one ? " :others zero " : " ");
}

static void print_term(printer *p, uint32_t index) {
  assert(index < p->rule->term_count);
  uint32_t begin, end = eg_rule_moves_of(p->rule, index, &begin);
  if (!p->parallel) end = begin;
  for (uint32_t i = end; i > begin; i--)
    print_move(p, &p->rule->moves[i - 1]);
  print_bare_term(p, index);
  for (uint32_t i = begin; i < end; i++)
    eg_text_append(p->text, ")");
}

static void print_roots(printer *p, const char *clause, const eg_rule_root *roots,
                        uint32_t count) {
  eg_text_printf(p->text, "\n  (%s", clause);
  for (uint32_t i = 0; i < count; i++) {
    eg_text_append(p->text, " ");
    print_term(p, roots[i].term);
  }
  eg_text_append(p->text, ")");
}

static void print_let(printer *p, const eg_rule_let *let) {
  eg_text_append(p->text, "\n  (let ");
  print_var(p, let->var);
  eg_text_append(p->text, " ");
  if (let->is_term)
    print_term(p, let->term);
  else
    print_expr(p, let->expr);
  eg_text_append(p->text, ")");
}

static void print_body(printer *p) {
  const eg_rule *rule = p->rule;
  print_roots(p, "lhs", rule->lhs, rule->root_count);
  for (uint32_t i = 0; i < rule->let_count; i++)
    print_let(p, &rule->lets[i]);
  print_roots(p, "rhs", rule->rhs, rule->root_count);
  if (rule->condition_count == 0) return;
  eg_text_append(p->text, "\n  (when");
  for (uint32_t i = 0; i < rule->condition_count; i++) {
    eg_text_append(p->text, " ");
    print_expr(p, rule->conditions[i]);
  }
  eg_text_append(p->text, ")");
}

egraph_status eg_rule_print(eg_text *text, const eg_rule *rule) {
  bool is_case = rule->schema != NULL && strchr(rule->name, ':') != NULL;
  if (rule->schema != NULL && !is_case) {
    eg_sexpr_print(text, rule->schema->form);
    return eg_text_append(text, "\n");
  }
  printer p = {.text = text, .rule = rule, .parallel = true};
  eg_text_printf(text, "(rule %s\n  (source ", rule->name);
  eg_text_quoted(text, rule->source);
  eg_text_append(text, ")");
  if (rule->math != EGRAPH_MATH_ASSOCIATIVE || rule->spreads)
    eg_text_printf(text, "\n  (class %s%s)", eg_rule_class_name(rule->math),
                   rule->spreads ? " spreads" : "");
  print_body(&p);
  return eg_text_append(text, rule->both_ways ? "\n  both-ways)\n" : ")\n");
}

egraph_status eg_rule_same_sides(eg_text *scratch, const eg_rule *rule, bool *out) {
  printer p = {.text = scratch, .rule = rule};
  eg_text_clear(scratch);
  print_roots(&p, "", rule->lhs, rule->root_count);
  size_t half = scratch->chars.len;
  print_roots(&p, "", rule->rhs, rule->root_count);
  EG_TRY(eg_text_status(scratch));
  const char *sides = eg_text_of(scratch);
  *out = scratch->chars.len == 2 * half && memcmp(sides, sides + half, half) == 0;
  return EGRAPH_OK;
}

egraph_status eg_rule_print_key(eg_text *text, const eg_rule *rule, bool parallel) {
  EG_LOCAL(eg_u32s, numbers, text->chars.alloc);
  EG_TRY(eg_u32s_resize(&numbers, rule->var_count));
  for (uint32_t i = 0; i < rule->var_count; i++)
    numbers.data[i] = EG_RULE_NONE;
  printer p = {.text = text, .rule = rule, .parallel = parallel, .numbers = numbers.data};
  print_body(&p);
  return eg_text_status(text);
}

// ---- tests ----------------------------------------------------------------------

static void print_given(eg_text *text, const eg_rule_given *given) {
  eg_text_printf(text, " (%s%s ", given->name, given->weight ? " weight" : "");
  eg_text_quoted(text, given->type_text);
  if (given->filled) {
    eg_text_append(text, " ");
    eg_text_double(text, given->value);
  }
  eg_text_append(text, ")");
}

egraph_status eg_rule_test_print(eg_text *text, const eg_rule_test *test) {
  printer p = {.text = text, .rule = &test->body};
  uint32_t roots = test->body.root_count;
  eg_text_printf(text, "(test %s", test->name);
  if (test->given_count != 0) eg_text_append(text, "\n  (given");
  for (uint32_t i = 0; i < test->given_count; i++)
    print_given(text, &test->given[i]);
  if (test->given_count != 0) eg_text_append(text, ")");
  if (test->rule_count != 0) eg_text_append(text, "\n  (rules");
  for (uint32_t i = 0; i < test->rule_count; i++)
    eg_text_printf(text, " %s", test->rules[i]);
  if (test->rule_count != 0) eg_text_append(text, ")");
  eg_text_printf(text, "\n  (iterations %u)", test->iterations);
  print_roots(&p, "term", test->body.rhs, roots);
  for (uint32_t i = 0; i < test->claim_count; i++)
    print_roots(&p, test->claims[i].equal ? "equals" : "differs", test->claims[i].roots,
                roots);
  return eg_text_append(text, ")\n");
}
