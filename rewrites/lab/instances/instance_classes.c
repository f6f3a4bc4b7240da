// Lists the classes of instances that a rule has, and steers random draws to a class.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/instances/instance_aims.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "rewrites/lab/instances/instance_numbers.h"
#include "rewrites/lab/instances/instance_tests.h"
#include "rewrites/lab/instances/instance_ways.h"

enum { EG_OP_ANY = EG_OP_COUNT };

static const eg_instance_class classes[] = {
#define EG_INSTANCE_CLASS(WORDS, SUBJECT, NAME, OP, TEST, LOW, HIGH)                     \
  {WORDS, EG_INSTANCE_##SUBJECT, NAME, (eg_op)EG_OP_##OP, &eg_test_##TEST, LOW, HIGH, 0},
#define EG_INSTANCE_FLAG(NAME)                                                           \
  {NAME " 0", EG_INSTANCE_ATTR, NAME, (eg_op)EG_OP_ANY, &eg_test_NUMBER, 0, 0, true},    \
      {NAME " 1", EG_INSTANCE_ATTR, NAME, (eg_op)EG_OP_ANY, &eg_test_NUMBER, 1, 1, true},
#include "rewrites/lab/instances/instance_classes.def"
};
enum { CLASSES = sizeof classes / sizeof *classes };

#define ADD_AIM(aims, ...)                                                               \
  EG_TRY(eg_instance_aims_push(aims, (eg_instance_aim){__VA_ARGS__}))

// ---- the classes of a rule ----------------------------------------------------------

/// True for numeric attributes of any size; those that are small by nature have classes
/// of their own.
static bool is_any_number(const eg_attr_info *info) {
  return info->kind == EG_ATTR_FLOAT && strcmp(info->name, "epsilon") != 0;
}

static bool has_own_rows(eg_op op, const char *name) {
  for (size_t i = 0; i < CLASSES; i++)
    if (classes[i].op == op && strcmp(classes[i].attr, name) == 0) return true;
  return false;
}

static bool is_of_slot(const eg_instance_class *row, eg_op op, const eg_attr_info *info) {
  if (row->subject != EG_INSTANCE_ATTR) return false;
  if (strcmp(row->attr, "*") == 0) return is_any_number(info);
  if (strcmp(row->attr, info->name) != 0) return false;
  return row->op == op || (row->op == (eg_op)EG_OP_ANY && !has_own_rows(op, info->name));
}

/// True when the rule leaves an attribute open: an attribute that is a literal, computed,
/// or bound before has no classes of its own.
static bool is_open_slot(const eg_rule *rule, uint32_t term, uint16_t slot) {
  const eg_rule_slot *at = &rule->terms[term].slots[slot];
  if (at->form != EG_RULE_SLOT_VAR) return at->form == EG_RULE_SLOT_ANY;
  for (uint32_t i = 0; i <= term; i++) {
    if (rule->terms[i].is_var) continue;
    uint16_t count = i < term ? eg_op_info_of(rule->terms[i].op)->attr_count : slot;
    for (uint16_t k = 0; k < count; k++)
      if (rule->terms[i].slots[k].form == EG_RULE_SLOT_VAR &&
          rule->terms[i].slots[k].index == at->index)
        return false;
  }
  return true;
}

static egraph_status add_values(uint32_t term, uint16_t slot, int64_t count,
                                eg_instance_aims *out) {
  for (int64_t i = 0; i < count; i++)
    ADD_AIM(out, .subject = EG_INSTANCE_VALUE, .term = term, .slot = slot, .value = i);
  return EGRAPH_OK;
}

bool eg_instance_is_flag(const char *name) {
  for (size_t i = 0; i < CLASSES; i++)
    if (classes[i].is_flag && strcmp(classes[i].attr, name) == 0) return true;
  return false;
}

/// Adds classes of instances with the attribute at, below and above each number with
/// which the rule compares it.
static egraph_status add_named(const eg_rule *rule, uint32_t term, uint16_t slot,
                               eg_instance_aims *out) {
  const eg_rule_slot *at = &rule->terms[term].slots[slot];
  const eg_attr_info *info = &eg_op_info_of(rule->terms[term].op)->attrs[slot];
  double numbers[EG_NAMED_NUMBERS];
  if (at->form != EG_RULE_SLOT_VAR || eg_instance_is_flag(info->name)) return EGRAPH_OK;
  uint32_t count = eg_named_numbers(rule, at->index, info, numbers);
  for (uint32_t i = 0; i < count; i++)
    for (int64_t side = -1; side <= 1; side++)
      ADD_AIM(out, .subject = EG_INSTANCE_NAMED, .term = term, .slot = slot,
              .value = side, .number = numbers[i]);
  return EGRAPH_OK;
}

static egraph_status add_slot(const eg_rule *rule, uint32_t term, uint16_t slot,
                              eg_instance_aims *out) {
  const eg_rule_term *at = &rule->terms[term];
  const eg_attr_info *info = &eg_op_info_of(at->op)->attrs[slot];
  if (info->kind == EG_ATTR_DTYPE) return add_values(term, slot, EGRAPH_DTYPE_COUNT, out);
  if (info->kind == EG_ATTR_SYMBOL) {
    int64_t count = 0;
    while (info->symbols[count] != NULL)
      count++;
    return add_values(term, slot, count, out);
  }
  for (size_t i = 0; i < CLASSES; i++)
    if (is_of_slot(&classes[i], at->op, info) &&
        (classes[i].test != &eg_test_EQUATION || at->child_count >= classes[i].high))
      ADD_AIM(out, .subject = EG_INSTANCE_ATTR, .row = &classes[i], .term = term,
              .slot = slot);
  return EGRAPH_OK;
}

/// True when the operands of a term can have different shapes; two operands that are one
/// variable cannot.
static bool does_broadcast(const eg_rule *rule, const eg_rule_term *term,
                           const eg_instance_class *row) {
  bool is_pointwise = (eg_op_info_of(term->op)->flags & EG_OPF_POINTWISE) != 0;
  bool is_of_row = row->op == (eg_op)EG_OP_ANY ? is_pointwise : row->op == term->op;
  if (!is_of_row || term->child_count < 2) return false;
  const eg_rule_term *a = &rule->terms[term->children[0]];
  const eg_rule_term *b = &rule->terms[term->children[1]];
  return !a->is_var || !b->is_var || a->var != b->var;
}

static egraph_status add_term_aims(const eg_rule *rule, uint32_t index,
                                   eg_instance_aims *out) {
  const eg_rule_term *term = &rule->terms[index];
  for (uint16_t i = 0; i < eg_op_info_of(term->op)->attr_count; i++)
    if (is_open_slot(rule, index, i)) {
      EG_TRY(add_slot(rule, index, i, out));
      EG_TRY(add_named(rule, index, i, out));
    }
  bool has_kernel = eg_has_weight_window(term->op);
  for (size_t i = 0; i < CLASSES; i++) {
    eg_instance_subject subject = classes[i].subject;
    if ((subject == EG_INSTANCE_KERNEL && has_kernel) ||
        (subject == EG_INSTANCE_OPERANDS && does_broadcast(rule, term, &classes[i])))
      ADD_AIM(out, .subject = subject, .row = &classes[i], .term = index);
  }
  return EGRAPH_OK;
}

static egraph_status add_var(uint32_t var, eg_instance_aims *out) {
  for (size_t i = 0; i < CLASSES; i++)
    if (classes[i].subject == EG_INSTANCE_DIMS || classes[i].subject == EG_INSTANCE_RANK)
      ADD_AIM(out, .subject = classes[i].subject, .row = &classes[i], .var = var);
  return EGRAPH_OK;
}

bool eg_instance_is_open_number(const eg_rule *rule, uint32_t term, uint16_t slot) {
  return is_any_number(&eg_op_info_of(rule->terms[term].op)->attrs[slot]) &&
         is_open_slot(rule, term, slot);
}

/// Counts the numbers (bounds, slopes, factors) that the left side leaves open: several
/// numbers may depend on each other.
static uint32_t count_open_numbers(const eg_rule *rule) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++) {
    if (rule->terms[i].is_var) continue;
    const eg_op_info *op = eg_op_info_of(rule->terms[i].op);
    for (uint16_t k = 0; k < op->attr_count; k++)
      count += eg_instance_is_open_number(rule, i, k);
  }
  return count;
}

egraph_status eg_instance_aims_of(const eg_rule *rule, eg_instance_aims *out) {
  bool has_leaf = false;
  for (uint32_t i = 0; i < rule->var_count; i++)
    has_leaf = has_leaf || eg_verify_is_leaf(rule, i);
  for (int64_t i = 0; has_leaf && i < EGRAPH_DTYPE_COUNT; i++)
    ADD_AIM(out, .subject = EG_INSTANCE_DTYPE, .value = i);
  for (uint32_t i = 0; i < rule->pattern_term_count; i++)
    if (!rule->terms[i].is_var) EG_TRY(add_term_aims(rule, i, out));
  for (uint32_t i = 0; i < rule->var_count; i++)
    if (eg_verify_is_leaf(rule, i)) EG_TRY(add_var(i, out));
  uint32_t open_numbers = count_open_numbers(rule);
  for (int64_t i = 0; open_numbers > 1 && i < 2; i++)
    ADD_AIM(out, .subject = EG_INSTANCE_BETWEEN, .value = i);
  bool has_constants = open_numbers > 0;
  for (uint32_t i = 0; i < rule->var_count; i++)
    has_constants =
        has_constants || (eg_verify_is_leaf(rule, i) && eg_special_is_constant(rule, i));
  for (int64_t i = EG_SPECIAL_NOT_FINITE; has_constants && i <= EG_SPECIAL_EXTREME; i++)
    ADD_AIM(out, .subject = EG_INSTANCE_SPECIAL, .value = i);
  return eg_instance_ways_of(rule, out);
}

bool eg_instance_are_between(const eg_rule *rule, const eg_attrs *const *attrs) {
  double first = NAN;
  uint32_t count = 0;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++) {
    if (rule->terms[i].is_var) continue;
    const eg_op_info *op = eg_op_info_of(rule->terms[i].op);
    for (uint16_t k = 0; k < op->attr_count; k++) {
      double number = attrs[i]->slots[k].f;
      if (!eg_instance_is_open_number(rule, i, k)) continue;
      if (count++ == 0) first = floor(number);
      if (floor(number) != first || number == first) return false;
    }
  }
  return count > 1;
}

/// True when the attribute is on the class's side of its number (below, at, above); one
/// number of a list is enough.
static bool is_beside(const eg_instance_aim *aim, const eg_attr *attr) {
  eg_instance_class row = {.low = aim->number, .high = aim->number};
  if (aim->value < 0) row.low = -INFINITY, row.high = nextafter(aim->number, -INFINITY);
  if (aim->value > 0) row.low = nextafter(aim->number, INFINITY), row.high = INFINITY;
  const eg_class_test *test =
      attr->kind == EG_ATTR_INTS ? &eg_test_SOME : &eg_test_NUMBER;
  return test->holds(&row, NULL, attr);
}

bool eg_instance_node_is_in(const eg_instance_aim *aim, const eg_instance_node *node) {
  if (aim->subject == EG_INSTANCE_NAMED) return is_beside(aim, &node->slots[aim->slot]);
  if (aim->subject == EG_INSTANCE_VALUE) return node->slots[aim->slot].i == aim->value;
  if (aim->subject == EG_INSTANCE_ATTR)
    return aim->row->test->holds(aim->row, node, &node->slots[aim->slot]);
  if (aim->subject == EG_INSTANCE_OPERANDS)
    return node->count > 1 && aim->row->test->holds(aim->row, node, NULL);
  const eg_type *weight = &node->types[1];
  if (node->count < 2 || weight->rank < 3) return false;
  eg_attr kernel = {.kind = EG_ATTR_INTS, .ints = {weight->dims + 2, weight->rank - 2}};
  return aim->row->test->holds(aim->row, node, &kernel);
}

bool eg_instance_type_is_in(const eg_instance_aim *aim, const eg_type *type) {
  assert(aim->subject == EG_INSTANCE_RANK || aim->subject == EG_INSTANCE_DIMS);
  if (aim->subject == EG_INSTANCE_RANK) return eg_is_between(aim->row, type->rank);
  eg_attr dims = {.kind = EG_ATTR_INTS, .ints = {type->dims, type->rank}};
  return aim->row->test->holds(aim->row, NULL, &dims);
}

uint32_t eg_instance_least_rank(const eg_instance_aim *aim) {
  assert(aim->subject == EG_INSTANCE_RANK);
  return (uint32_t)aim->row->low;
}

uint32_t eg_instance_most_rank(const eg_instance_aim *aim) {
  assert(aim->subject == EG_INSTANCE_RANK);
  return (uint32_t)aim->row->high;
}

uint32_t eg_instance_rank(const eg_instance_aim *aim, eg_verify_choice *choice) {
  assert(aim->subject == EG_INSTANCE_RANK);
  return (uint32_t)eg_whole_between(aim->row, choice);
}

bool eg_instance_is_fine(const eg_instance_aim *aim) {
  return aim->subject == EG_INSTANCE_ATTR &&
         (aim->row->test == &eg_test_PERMUTATION || aim->row->test == &eg_test_AXES) &&
         aim->row->high > 0;
}

bool eg_instance_is_empty(const eg_instance_aim *aim) {
  if (aim->row == NULL) return false;
  return aim->row->test == &eg_test_EMPTY_AXES ||
         (aim->subject == EG_INSTANCE_DIMS && aim->row->high < 1) ||
         (aim->subject == EG_INSTANCE_OPERANDS && aim->row->high > 0);
}

bool eg_instance_is_large(const eg_instance_aim *aim) {
  return (aim->subject == EG_INSTANCE_DIMS && aim->row->low > 100) ||
         (aim->subject == EG_INSTANCE_RANK && aim->row->low > 6);
}

egraph_status eg_instance_aim_print(eg_text *text, const eg_rule *rule,
                                    const eg_instance_aim *aim) {
  if (aim->subject == EG_INSTANCE_DTYPE)
    return eg_text_append(text, eg_dtype_name((egraph_dtype)aim->value));
  if (aim->subject == EG_INSTANCE_DIMS || aim->subject == EG_INSTANCE_RANK)
    return eg_text_printf(text, "%s of %s", aim->row->words, rule->vars[aim->var].name);
  if (aim->subject == EG_INSTANCE_WAY) return eg_way_print(text, rule, aim);
  if (aim->subject == EG_INSTANCE_BETWEEN)
    return eg_text_printf(text, "numbers between two whole ones%s",
                          aim->value != 0 ? ", of integers" : "");
  if (aim->subject == EG_INSTANCE_SPECIAL)
    return eg_text_append(text, aim->value == EG_SPECIAL_NOT_FINITE
                                    ? "constants that are not finite"
                                    : "constants at the ends of their range");
  static const char *const sides[] = {"below", "at", "above"};
  if (aim->subject == EG_INSTANCE_NAMED)
    return eg_text_printf(text, "%s %s %g",
                          rule->vars[rule->terms[aim->term].slots[aim->slot].index].name,
                          sides[aim->value + 1], aim->number);
  const eg_op_info *op = eg_op_info_of(rule->terms[aim->term].op);
  bool has_slot = aim->subject == EG_INSTANCE_ATTR || aim->subject == EG_INSTANCE_VALUE;
  const eg_attr_info *attr = has_slot ? &op->attrs[aim->slot] : NULL;
  if (aim->subject == EG_INSTANCE_VALUE)
    return eg_text_printf(text, "%s %s of %s", attr->name,
                          attr->kind == EG_ATTR_DTYPE
                              ? eg_dtype_name((egraph_dtype)aim->value)
                              : attr->symbols[aim->value],
                          op->name);
  if (attr != NULL && attr->kind == EG_ATTR_FLOAT)
    return eg_text_printf(text, "%s as %s of %s", aim->row->words, attr->name, op->name);
  return eg_text_printf(text, "%s of %s", aim->row->words, op->name);
}

// ---- steering -------------------------------------------------------------------------

/// Makes a random choice prefer dimensions of the class of instances; only one of these
/// dimensions if they are large.
static void prepare_dims(const eg_instance_class *row, eg_verify_choice *choice) {
  for (uint32_t i = 0; i < 4; i++)
    choice->dims[i] = row->low > 100 && i > 0 ? i : eg_whole_between(row, choice);
  choice->dim_count = 4;
}

void eg_instance_prepare(const eg_instance_aim *aim, eg_verify_choice *choice) {
  static const char *const windows[] = {"strides", "dilations", "kernel_shape", "pads",
                                        "steps"};
  bool has_prepare = aim->row != NULL && aim->row->test->prepare != NULL;
  if (has_prepare) aim->row->test->prepare(aim->row, choice);
  if (aim->subject == EG_INSTANCE_DIMS && !has_prepare) prepare_dims(aim->row, choice);
  if (aim->subject == EG_INSTANCE_WAY && aim->rank > 0 && eg_verify_chance(choice, 75))
    choice->rank = eg_rank_beside(aim->rank, choice);
  if (aim->subject == EG_INSTANCE_NAMED) eg_named_prepare(aim->number, choice);
  choice->is_window = aim->subject == EG_INSTANCE_KERNEL;
  for (size_t i = 0; i < 5 && aim->subject == EG_INSTANCE_ATTR; i++)
    choice->is_window = choice->is_window || strcmp(aim->row->attr, windows[i]) == 0;
  if (choice->is_window) choice->is_roomy = eg_verify_chance(choice, 50);
}

void eg_instance_fit(const eg_instance_aim *aim, eg_verify_choice *choice,
                     uint32_t operand) {
  eg_type *type = &choice->types[operand];
  bool is_rank = aim->subject == EG_INSTANCE_RANK;
  if (aim->subject == EG_INSTANCE_OPERANDS) {
    if (eg_verify_chance(choice, 80)) aim->row->test->fit(aim->row, choice, operand);
    return;
  }
  if (eg_instance_type_is_in(aim, type) || (!is_rank && eg_verify_chance(choice, 50)))
    return;
  uint32_t least =
      aim->row->test == &eg_test_EQUAL || aim->row->test == &eg_test_DIFFERENT;
  uint32_t rank = is_rank ? eg_instance_rank(aim, choice) : least + 1;
  while (type->rank < rank)
    type->dims[type->rank++] = eg_verify_dim(choice);
  if (is_rank) type->rank = rank;
  if (is_rank || choice->dim_count == 0) return;
  uint32_t at = eg_verify_below(choice, type->rank);
  bool is_first = aim->row->test == &eg_test_SOME;
  type->dims[at] =
      choice->dims[is_first ? 0 : eg_verify_below(choice, choice->dim_count)];
  if (least == 1 && type->rank > 1)
    type->dims[(at + 1) % type->rank] =
        choice->dims[eg_verify_below(choice, choice->dim_count)];
}

static void put_kernel(const eg_instance_class *row, eg_verify_choice *choice) {
  eg_attr kernel = {.kind = EG_ATTR_INTS, .ints = {choice->kernel, EGRAPH_MAX_RANK}};
  for (uint32_t i = 0; i < EGRAPH_MAX_RANK; i++)
    choice->kernel[i] = 1 + eg_verify_below(choice, 3);
  uint32_t rank = choice->types[0].rank;
  if (rank > 2) kernel.ints.len = rank - 2;
  row->test->put(row, choice, &kernel);
  for (uint32_t i = 0; i < kernel.ints.len; i++)
    choice->kernel[i] = kernel.ints.data[i];
}

/// True for slices, whose starts, ends and steps are drawn together.
static bool has_steps(eg_op op) {
  uint16_t slot;
  return eg_op_find_role(op, EG_AR_STEPS, &slot);
}

static void put_beside(const eg_instance_aim *aim, eg_verify_choice *choice) {
  const char *name = choice->info->attrs[aim->slot].name;
  eg_attr_kind kind = choice->info->attrs[aim->slot].kind;
  double number = eg_named_draw(aim->number, aim->value, kind != EG_ATTR_FLOAT, choice);
  const eg_instance_class row = {.attr = "", .low = number, .high = number};
  if (choice->slot_set[aim->slot]) return;
  bool is_slice = has_steps(choice->op);
  if (is_slice) choice->step = (int64_t)number;
  eg_verify_choose_slot(choice, name);
  eg_attr *attr = &choice->slots[aim->slot];
  if (kind != EG_ATTR_INTS)
    eg_test_NUMBER.put(&row, choice, attr);
  else if (!is_slice)
    eg_test_SOME.put(&row, choice, attr);
}

void eg_instance_put(const eg_instance_aim *aim, eg_verify_choice *choice) {
  if (aim->subject == EG_INSTANCE_OPERANDS) return; // operands are fitted instead
  bool has_operand = choice->count == 0 || choice->type_set[0];
  bool is_kernel = aim->subject == EG_INSTANCE_KERNEL;
  const char *name = is_kernel ? "" : choice->info->attrs[aim->slot].name;
  // Operands of products fit how they are transposed, so this attribute is set first.
  if (!has_operand && strncmp(name, "trans", 5) != 0) return;
  if (aim->subject == EG_INSTANCE_NAMED) {
    if (has_operand) put_beside(aim, choice);
    return;
  }
  if (is_kernel) {
    put_kernel(aim->row, choice);
    return;
  }
  if (choice->slot_set[aim->slot]) return;
  bool is_step = aim->subject == EG_INSTANCE_ATTR && has_steps(choice->op);
  if (is_step && strcmp(name, "steps") == 0) // starts and ends must fit the steps
    choice->step = eg_whole_between(aim->row, choice);
  if (is_step && strcmp(name, "starts") == 0) choice->start = aim->row->low > 0 ? 1 : -1;
  eg_verify_choose_slot(choice, name);
  eg_attr *attr = &choice->slots[aim->slot];
  if (aim->subject == EG_INSTANCE_VALUE)
    attr->i = aim->value;
  else if (!is_step)
    aim->row->test->put(aim->row, choice, attr);
}
