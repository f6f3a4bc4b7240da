// The rows, what they test, and how an attribute gets into a class. A test and its
// counterpart stand side by side, so that a class that can be tested can be drawn.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/instances/instance_classes.h"

#include <math.h>
#include <string.h>

#include "rewrites/lab/instances/instance_axes.h"
#include "rewrites/lab/instances/instance_named.h"
#include "rewrites/lab/instances/instance_operands.h"
#include "rewrites/lab/instances/instance_special.h"
#include "rewrites/lab/instances/instance_tests.h"
#include "rewrites/lab/instances/instance_texts.h"
#include "rewrites/lab/instances/instance_ways.h"

// ---- numbers ----------------------------------------------------------------------

bool eg_is_between(const eg_instance_class *row, double value) {
  return value >= row->low && value <= row->high;
}

int64_t eg_whole_between(const eg_instance_class *row, eg_verify_choice *choice) {
  return (int64_t)row->low +
         eg_verify_below(choice, (uint32_t)(row->high - row->low) + 1);
}

static bool holds_number(const eg_instance_class *row, const eg_instance_node *node,
                         const eg_attr *attr) {
  (void)node;
  return eg_is_between(row, attr->kind == EG_ATTR_FLOAT ? attr->f : (double)attr->i);
}

/// An axis stays within the rank.
static void put_number(const eg_instance_class *row, eg_verify_choice *choice,
                       eg_attr *attr) {
  uint32_t rank = choice->count > 0 ? choice->types[0].rank : 0;
  if (attr->kind == EG_ATTR_FLOAT) {
    bool is_point = !isfinite(row->low) || row->low == row->high;
    attr->f = is_point ? row->low
                       : row->low + (row->high - row->low) * eg_rng_unit(choice->rng);
    if (!is_point) attr->f = (double)(float)attr->f;
  } else if (strcmp(row->attr, "axis") != 0) {
    attr->i = eg_whole_between(row, choice);
  } else if (rank > 0) {
    attr->i = eg_verify_below(choice, rank) - (row->low < 0 ? (int64_t)rank : 0);
  }
}

// ---- lists ------------------------------------------------------------------------

static bool holds_all(const eg_instance_class *row, const eg_instance_node *node,
                      const eg_attr *attr) {
  (void)node;
  for (uint32_t i = 0; i < attr->ints.len; i++)
    if (!eg_is_between(row, (double)attr->ints.data[i])) return false;
  return attr->ints.len > 0;
}

static bool holds_some(const eg_instance_class *row, const eg_instance_node *node,
                       const eg_attr *attr) {
  (void)node;
  for (uint32_t i = 0; i < attr->ints.len; i++)
    if (eg_is_between(row, (double)attr->ints.data[i])) return true;
  return false;
}

int64_t *eg_own_list(eg_verify_choice *choice, eg_attr *attr) {
  int64_t *list = eg_verify_list(choice, attr->ints.len);
  for (uint32_t i = 0; i < attr->ints.len; i++)
    list[i] = attr->ints.data[i];
  attr->ints.data = list;
  return list;
}

static void put_all(const eg_instance_class *row, eg_verify_choice *choice,
                    eg_attr *attr) {
  int64_t *list = eg_own_list(choice, attr), value = eg_whole_between(row, choice);
  for (uint32_t i = 0; i < attr->ints.len; i++)
    list[i] = value;
}

/// Where one number of a list is changed. Images are padded in their spatial dimensions.
static uint32_t place_in(eg_verify_choice *choice, const eg_attr *attr) {
  uint32_t half = attr->ints.len / 2;
  if (choice->op != EG_OP_PAD || half < 3 || eg_verify_chance(choice, 20))
    return eg_verify_below(choice, attr->ints.len);
  uint32_t side = eg_verify_below(choice, 2);
  return side * half + 2 + eg_verify_below(choice, half - 2);
}

/// Often everywhere, because rules ask for equal numbers.
static void put_some(const eg_instance_class *row, eg_verify_choice *choice,
                     eg_attr *attr) {
  if (attr->ints.len == 0) return;
  if (eg_verify_chance(choice, choice->op == EG_OP_PAD ? 10 : 40)) {
    put_all(row, choice, attr);
    return;
  }
  int64_t *list = eg_own_list(choice, attr);
  uint32_t at = place_in(choice, attr);
  list[at] = eg_whole_between(row, choice);
}

static bool holds_length(const eg_instance_class *row, const eg_instance_node *node,
                         const eg_attr *attr) {
  (void)node;
  return eg_is_between(row, attr->ints.len);
}

/// Ascending axes, or the first parts with the rest in the last one.
static void put_length(const eg_instance_class *row, eg_verify_choice *choice,
                       eg_attr *attr) {
  uint32_t rank = choice->types[0].rank, len = (uint32_t)row->low;
  bool is_axes = strcmp(row->attr, "axes") == 0;
  if (is_axes && choice->op != EG_OP_UNSQUEEZE && len > rank) return;
  if (row->high > row->low && len < rank) len += eg_verify_below(choice, rank - len + 1);
  int64_t *list = eg_verify_list(choice, len + 1);
  uint32_t used = 0, all = choice->op == EG_OP_UNSQUEEZE ? rank + len : rank;
  int64_t left = attr->ints.len;
  for (uint32_t i = 0; is_axes && i < all && used < len; i++)
    if (eg_verify_below(choice, all - i) < len - used) list[used++] = i;
  if (!is_axes) {
    left = 0;
    for (uint32_t i = 0; i < attr->ints.len; i++)
      left += attr->ints.data[i];
    while (used < len) {
      int64_t part = used + 1 == len ? left : eg_verify_below(choice, (uint32_t)left + 1);
      list[used++] = part;
      left -= part;
    }
  }
  attr->ints = (eg_ints){.data = list, .len = used};
}

// ---- windows ----------------------------------------------------------------------

static bool is_of_convolution(eg_op op) {
  return op == EG_OP_CONV || op == EG_OP_CONV_TRANSPOSE || op == EG_OP_CONV_INTEGER;
}

/// Window along spatial dimension i; 0: not known.
static int64_t kernel_at(const eg_instance_node *node, uint32_t i) {
  uint16_t slot;
  if (eg_op_find_attr(node->op, "kernel_shape", &slot)) {
    eg_ints kernel = node->slots[slot].ints;
    return i < kernel.len ? kernel.data[i] : 0;
  }
  bool has_weight = is_of_convolution(node->op) && node->count > 1;
  return has_weight && node->types[1].rank > i + 2 ? node->types[1].dims[i + 2] : 0;
}

/// Numbers of one end: pads have two for each dimension.
static uint32_t dims_of_list(const eg_instance_class *row, const eg_attr *attr) {
  return strcmp(row->attr, "pads") == 0 ? attr->ints.len / 2 : attr->ints.len;
}

static bool holds_beside_kernel(const eg_instance_class *row,
                                const eg_instance_node *node, const eg_attr *attr) {
  uint32_t half = dims_of_list(row, attr);
  for (uint32_t i = 0; i < attr->ints.len; i++) {
    int64_t kernel = kernel_at(node, i % half), pad = attr->ints.data[i];
    if (kernel > 0 && pad > 0 && eg_is_between(row, (double)(pad - kernel))) return true;
  }
  return false;
}

static void put_beside_kernel(const eg_instance_class *row, eg_verify_choice *choice,
                              eg_attr *attr) {
  if (attr->ints.len == 0) return;
  eg_verify_choose_slot(choice, "kernel_shape");
  eg_instance_node node = {choice->op, choice->slots, choice->types,
                           choice->type_set[1] ? choice->count : 1};
  int64_t *list = eg_own_list(choice, attr);
  uint32_t half = dims_of_list(row, attr), at = eg_verify_below(choice, attr->ints.len);
  int64_t kernel = kernel_at(&node, at % half);
  if (kernel == 0) kernel = choice->kernel[at % half] = 1 + eg_verify_below(choice, 3);
  int64_t high = row->high < 0 ? kernel - 1 : kernel + (int64_t)row->high;
  int64_t low = row->low < 0 ? 1 : kernel + (int64_t)row->low;
  if (high >= low) list[at] = low + eg_verify_below(choice, (uint32_t)(high - low) + 1);
}

/// A dilated window may reach across what is between two borders.
static bool holds_beside_image(const eg_instance_class *row, const eg_instance_node *node,
                               const eg_attr *attr) {
  (void)row;
  for (uint32_t i = 0; i < attr->ints.len && i + 2 < node->types[0].rank; i++)
    if (2 * attr->ints.data[i] > node->types[0].dims[i + 2] && attr->ints.data[i] > 1 &&
        kernel_at(node, i) > 1)
      return true;
  return false;
}

/// Two elements of a window that are so far apart that the image just holds it.
static void put_beside_image(const eg_instance_class *row, eg_verify_choice *choice,
                             eg_attr *attr) {
  (void)row;
  const eg_type *x = &choice->types[0];
  uint16_t slot;
  if (attr->ints.len == 0 || attr->ints.len + 2 != x->rank) return;
  uint32_t at = eg_verify_below(choice, attr->ints.len);
  int64_t size = x->dims[at + 2], least = size / 2 + 1;
  bool has_kernel = eg_op_find_attr(choice->op, "kernel_shape", &slot);
  if (has_kernel && !choice->slot_set[slot]) {
    eg_verify_choose_slot(choice, "kernel_shape");
    eg_own_list(choice, &choice->slots[slot])[at] = 2;
  }
  if (!has_kernel && !choice->type_set[1]) choice->kernel[at] = 2;
  eg_own_list(choice, attr)[at] =
      size > least ? least + eg_verify_below(choice, (uint32_t)(size - least)) : least;
}

static bool holds_uneven(const eg_instance_class *row, const eg_instance_node *node,
                         const eg_attr *attr) {
  (void)row, (void)node;
  uint32_t half = attr->ints.len / 2;
  for (uint32_t i = 0; i < half; i++)
    if (attr->ints.data[i] != attr->ints.data[i + half]) return true;
  return false;
}

static void put_uneven(const eg_instance_class *row, eg_verify_choice *choice,
                       eg_attr *attr) {
  (void)row;
  if (attr->ints.len == 0) return;
  int64_t *list = eg_own_list(choice, attr);
  uint32_t at = place_in(choice, attr);
  uint32_t half = attr->ints.len / 2;
  list[at] = list[(at + half) % attr->ints.len] + 1;
}

enum { GROUP_ONE, GROUP_BETWEEN, GROUP_CHANNEL };

static bool holds_group(const eg_instance_class *row, const eg_instance_node *node,
                        const eg_attr *attr) {
  int64_t channels =
      node->count > 0 && node->types[0].rank > 1 ? node->types[0].dims[1] : 1;
  int kind = attr->i <= 1          ? GROUP_ONE
             : attr->i >= channels ? GROUP_CHANNEL
                                   : GROUP_BETWEEN;
  return kind == (int)row->low;
}

static void put_group(const eg_instance_class *row, eg_verify_choice *choice,
                      eg_attr *attr) {
  eg_type *x = &choice->types[0];
  int64_t channels = choice->count > 0 && x->rank > 1 ? x->dims[1] : 1;
  attr->i = (int)row->low == GROUP_ONE ? 1 : channels;
  for (int64_t g = 2; (int)row->low == GROUP_BETWEEN && g < channels; g++)
    if (channels % g == 0) attr->i = g;
}

// ---- operands that broadcast --------------------------------------------------------

static bool holds_one_shape(const eg_instance_class *row, const eg_instance_node *node,
                            const eg_attr *attr) {
  (void)row, (void)attr;
  return eg_type_same_shape(&node->types[0], &node->types[1]);
}

static bool holds_stretched(const eg_instance_class *row, const eg_instance_node *node,
                            const eg_attr *attr) {
  (void)attr;
  return eg_operands_are_stretched(node->types, (uint32_t)row->low, row->high > 0);
}

static bool holds_stretched_batch(const eg_instance_class *row,
                                  const eg_instance_node *node, const eg_attr *attr) {
  (void)attr;
  const eg_type batches[2] = {eg_operand_batch(&node->types[0]),
                              eg_operand_batch(&node->types[1])};
  return eg_operands_are_stretched(batches, (uint32_t)row->low, false);
}

/// Every result is a sum of nothing.
static bool holds_no_sum(const eg_instance_class *row, const eg_instance_node *node,
                         const eg_attr *attr) {
  (void)row, (void)attr;
  bool is_empty = false;
  eg_type result;
  for (uint32_t i = 0; i < node->count; i++)
    is_empty = is_empty || eg_type_elements(&node->types[i]) == 0;
  eg_attrs attrs = {.op = (uint16_t)node->op,
                    .count = eg_op_info_of(node->op)->attr_count,
                    .slots = node->slots};
  return is_empty &&
         eg_op_infer(&attrs, node->types, node->count, &result) == EGRAPH_OK &&
         eg_type_elements(&result) > 0;
}

static const eg_class_test eg_test_NUMBER = {holds_number, put_number};
static const eg_class_test eg_test_ALL = {holds_all, put_all};
static const eg_class_test eg_test_SOME = {holds_some, put_some};
static const eg_class_test eg_test_LENGTH = {holds_length, put_length};
static const eg_class_test eg_test_BESIDE_KERNEL = {holds_beside_kernel,
                                                    put_beside_kernel};
static const eg_class_test eg_test_BESIDE_IMAGE = {holds_beside_image, put_beside_image};
static const eg_class_test eg_test_UNEVEN = {holds_uneven, put_uneven};
static const eg_class_test eg_test_GROUP = {holds_group, put_group};
static const eg_class_test eg_test_ONE_SHAPE = {holds_one_shape, NULL};
static const eg_class_test eg_test_STRETCHED = {holds_stretched, NULL};
static const eg_class_test eg_test_STRETCHED_BATCH = {holds_stretched_batch, NULL};
static const eg_class_test eg_test_NO_SUM = {holds_no_sum, NULL};

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

// ---- the classes of a rule ----------------------------------------------------------

/// Numbers that are small by their nature have classes of their own.
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

/// A slot that is a literal, computed, or bound before has no classes of its own.
static bool is_open(const eg_rule *rule, uint32_t term, uint16_t slot) {
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
    EG_TRY(eg_instance_aims_push(
        out, (eg_instance_aim){
                 .subject = EG_INSTANCE_VALUE, .term = term, .slot = slot, .value = i}));
  return EGRAPH_OK;
}

bool eg_instance_is_flag(const char *name) {
  for (size_t i = 0; i < CLASSES; i++)
    if (classes[i].is_flag && strcmp(classes[i].attr, name) == 0) return true;
  return false;
}

/// NAMED: beside each number that the rule compares the attribute with.
static egraph_status add_named(const eg_rule *rule, uint32_t term, uint16_t slot,
                               eg_instance_aims *out) {
  const eg_rule_slot *at = &rule->terms[term].slots[slot];
  const eg_attr_info *info = &eg_op_info_of(rule->terms[term].op)->attrs[slot];
  double numbers[EG_NAMED_NUMBERS];
  if (at->form != EG_RULE_SLOT_VAR || eg_instance_is_flag(info->name)) return EGRAPH_OK;
  uint32_t count = eg_named_numbers(rule, at->index, info, numbers);
  for (uint32_t i = 0; i < count; i++)
    for (int64_t side = -1; side <= 1; side++)
      EG_TRY(eg_instance_aims_push(out, (eg_instance_aim){.subject = EG_INSTANCE_NAMED,
                                                          .term = term,
                                                          .slot = slot,
                                                          .value = side,
                                                          .number = numbers[i]}));
  return EGRAPH_OK;
}

/// Equations of one operand have no products.
static bool has_operands_for(const eg_instance_class *row, const eg_rule_term *term) {
  return row->test != &eg_test_EQUATION || term->child_count >= row->high;
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
    if (is_of_slot(&classes[i], at->op, info) && has_operands_for(&classes[i], at))
      EG_TRY(eg_instance_aims_push(out, (eg_instance_aim){.subject = EG_INSTANCE_ATTR,
                                                          .row = &classes[i],
                                                          .term = term,
                                                          .slot = slot}));
  return EGRAPH_OK;
}

/// Two operands that are one variable have one shape.
static bool does_broadcast(const eg_rule *rule, const eg_rule_term *term,
                           const eg_instance_class *row) {
  bool is_pointwise = (eg_op_info_of(term->op)->flags & EG_OPF_POINTWISE) != 0;
  bool is_of_row = row->op == (eg_op)EG_OP_ANY ? is_pointwise : row->op == term->op;
  if (!is_of_row || term->child_count < 2) return false;
  const eg_rule_term *a = &rule->terms[term->children[0]];
  const eg_rule_term *b = &rule->terms[term->children[1]];
  return !a->is_var || !b->is_var || a->var != b->var;
}

static egraph_status add_term(const eg_rule *rule, uint32_t index,
                              eg_instance_aims *out) {
  const eg_rule_term *term = &rule->terms[index];
  for (uint16_t i = 0; i < eg_op_info_of(term->op)->attr_count; i++)
    if (is_open(rule, index, i)) {
      EG_TRY(add_slot(rule, index, i, out));
      EG_TRY(add_named(rule, index, i, out));
    }
  bool has_kernel = is_of_convolution(term->op);
  for (size_t i = 0; i < CLASSES; i++) {
    eg_instance_subject subject = classes[i].subject;
    if ((subject == EG_INSTANCE_KERNEL && has_kernel) ||
        (subject == EG_INSTANCE_OPERANDS && does_broadcast(rule, term, &classes[i])))
      EG_TRY(eg_instance_aims_push(
          out, (eg_instance_aim){.subject = subject, .row = &classes[i], .term = index}));
  }
  return EGRAPH_OK;
}

static egraph_status add_var(uint32_t var, eg_instance_aims *out) {
  for (size_t i = 0; i < CLASSES; i++)
    if (classes[i].subject == EG_INSTANCE_DIMS || classes[i].subject == EG_INSTANCE_RANK)
      EG_TRY(eg_instance_aims_push(out, (eg_instance_aim){.subject = classes[i].subject,
                                                          .row = &classes[i],
                                                          .var = var}));
  return EGRAPH_OK;
}

static bool is_leaf(const eg_rule_var *var) {
  return var->kind == EG_RULE_TENSOR && var->origin == EG_RULE_VAR_MATCHED;
}

bool eg_instance_is_open_number(const eg_rule *rule, uint32_t term, uint16_t slot) {
  return is_any_number(&eg_op_info_of(rule->terms[term].op)->attrs[slot]) &&
         is_open(rule, term, slot);
}

/// Numbers that stand beside each other: bounds, slopes, factors.
uint32_t eg_instance_open_numbers(const eg_rule *rule) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < rule->pattern_term_count; i++) {
    if (rule->terms[i].is_var) continue;
    const eg_op_info *op = eg_op_info_of(rule->terms[i].op);
    for (uint16_t k = 0; k < op->attr_count; k++)
      count += eg_instance_is_open_number(rule, i, k);
  }
  return count;
}

/// Whether a condition or an attribute of the left side binds a number.
static bool binds_numbers(const eg_rule *rule) {
  for (uint32_t i = 0; i < rule->var_count; i++)
    if (is_leaf(&rule->vars[i]) && eg_special_is_constant(rule, i)) return true;
  return eg_instance_open_numbers(rule) > 0;
}

egraph_status eg_instance_aims_of(const eg_rule *rule, eg_instance_aims *out) {
  bool has_leaf = false;
  for (uint32_t i = 0; i < rule->var_count; i++)
    has_leaf = has_leaf || is_leaf(&rule->vars[i]);
  for (int64_t i = 0; has_leaf && i < EGRAPH_DTYPE_COUNT; i++)
    EG_TRY(eg_instance_aims_push(
        out, (eg_instance_aim){.subject = EG_INSTANCE_DTYPE, .value = i}));
  for (uint32_t i = 0; i < rule->pattern_term_count; i++)
    if (!rule->terms[i].is_var) EG_TRY(add_term(rule, i, out));
  for (uint32_t i = 0; i < rule->var_count; i++)
    if (is_leaf(&rule->vars[i])) EG_TRY(add_var(i, out));
  for (int64_t i = 0; eg_instance_open_numbers(rule) > 1 && i < 2; i++)
    EG_TRY(eg_instance_aims_push(
        out, (eg_instance_aim){.subject = EG_INSTANCE_BETWEEN, .value = i}));
  bool has_constants = binds_numbers(rule);
  for (int64_t i = EG_SPECIAL_NOT_FINITE; has_constants && i <= EG_SPECIAL_EXTREME; i++)
    EG_TRY(eg_instance_aims_push(
        out, (eg_instance_aim){.subject = EG_INSTANCE_SPECIAL, .value = i}));
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

/// One number of a list is enough.
static bool is_beside(const eg_instance_aim *aim, const eg_attr *attr) {
  eg_instance_class row = {.low = aim->number, .high = aim->number};
  if (aim->value < 0) row.low = -INFINITY, row.high = nextafter(aim->number, -INFINITY);
  if (aim->value > 0) row.low = nextafter(aim->number, INFINITY), row.high = INFINITY;
  return attr->kind == EG_ATTR_INTS ? holds_some(&row, NULL, attr)
                                    : holds_number(&row, NULL, attr);
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
  if (aim->subject == EG_INSTANCE_RANK) return eg_is_between(aim->row, type->rank);
  eg_attr dims = {.kind = EG_ATTR_INTS, .ints = {type->dims, type->rank}};
  return aim->row->test->holds(aim->row, NULL, &dims);
}

uint32_t eg_instance_least_rank(const eg_instance_aim *aim) {
  return (uint32_t)aim->row->low;
}

uint32_t eg_instance_most_rank(const eg_instance_aim *aim) {
  return (uint32_t)aim->row->high;
}

uint32_t eg_instance_rank(const eg_instance_aim *aim, eg_verify_choice *choice) {
  return (uint32_t)eg_whole_between(aim->row, choice);
}

static bool is_of_many_dims(const eg_instance_aim *aim) {
  return aim->subject == EG_INSTANCE_ATTR &&
         (aim->row->test == &eg_test_PERMUTATION || aim->row->test == &eg_test_AXES) &&
         aim->row->high > 0;
}

bool eg_instance_is_fine(const eg_instance_aim *aim) { return is_of_many_dims(aim); }

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

static void prepare_dims(const eg_instance_class *row, eg_verify_choice *choice) {
  static const int64_t primes[] = {5, 7, 11, 13}, few[] = {2, 3, 4, 5, 6};
  uint32_t count = 0;
  if (row->test == &eg_test_PRIME)
    for (; count < 4; count++)
      choice->dims[count] = primes[count];
  else if (row->test == &eg_test_DIFFERENT)
    for (; count < 5; count++)
      choice->dims[count] = few[count];
  else if (row->test == &eg_test_EQUAL)
    choice->dims[count++] = 2 + eg_verify_below(choice, 4);
  else
    for (; count < 4; count++) // one of them is enough where it is large
      choice->dims[count] =
          row->low > 100 && count > 0 ? count : eg_whole_between(row, choice);
  choice->dim_count = count;
}

/// Room to stretch, and nothing in it where that is asked for.
static void prepare_operands(const eg_instance_class *row, eg_verify_choice *choice) {
  if (row->test == &eg_test_ONE_SHAPE) return;
  if (row->test == &eg_test_NO_SUM) {
    choice->dims[choice->dim_count++] = 0;
    choice->dims[choice->dim_count++] = 2;
    return;
  }
  choice->dims[choice->dim_count++] = 1;
  if (row->high > 0) choice->dims[choice->dim_count++] = 0;
}

/// Equal dimensions half of the time, so that data alone tell which one is where.
static void prepare_many_dims(uint32_t least, eg_verify_choice *choice) {
  choice->rank = least + eg_verify_below(choice, 3);
  if (eg_verify_chance(choice, 50)) choice->same_dim = 2;
}

void eg_instance_prepare(const eg_instance_aim *aim, eg_verify_choice *choice) {
  if (is_of_many_dims(aim)) prepare_many_dims((uint32_t)aim->row->high, choice);
  if (aim->subject == EG_INSTANCE_WAY && aim->rank > 0 && eg_verify_chance(choice, 75))
    choice->rank = eg_rank_beside(aim->rank, choice);
  if (aim->subject == EG_INSTANCE_NAMED) eg_named_prepare(aim->number, choice);
  if (aim->subject == EG_INSTANCE_ATTR && aim->row->test == &eg_test_EMPTY_AXES) {
    choice->dims[choice->dim_count++] = 0;
    choice->dims[choice->dim_count++] = 2;
  }
  if (aim->subject == EG_INSTANCE_ATTR && aim->row->test == &eg_test_ROUNDED_SIZE)
    eg_prepare_rounded_size(choice);
  if (aim->subject == EG_INSTANCE_DIMS) prepare_dims(aim->row, choice);
  if (aim->subject == EG_INSTANCE_OPERANDS) prepare_operands(aim->row, choice);
  bool is_window = aim->subject == EG_INSTANCE_KERNEL;
  static const char *const windows[] = {"strides", "dilations", "kernel_shape", "pads",
                                        "steps"};
  for (size_t i = 0; i < 5 && aim->subject == EG_INSTANCE_ATTR; i++)
    is_window = is_window || strcmp(aim->row->attr, windows[i]) == 0;
  choice->is_window = is_window;
  if (is_window) choice->is_roomy = eg_verify_chance(choice, 50);
  bool is_group = aim->subject == EG_INSTANCE_ATTR && aim->row->test == &eg_test_GROUP;
  choice->is_grouped = is_group && (int)aim->row->low == GROUP_BETWEEN;
}

/// Operands of which the other one has its type.
static void fit_operand(const eg_instance_class *row, eg_verify_choice *choice,
                        uint32_t operand) {
  if (row->test == &eg_test_NO_SUM && choice->op != EG_OP_EINSUM && operand < 2)
    eg_operand_empty_sum(choice, operand);
  if (row->test == &eg_test_NO_SUM || operand > 1 ||
      (operand == 0 && !choice->type_set[1]))
    return;
  eg_operand_fit how = row->test == &eg_test_ONE_SHAPE   ? EG_OPERANDS_EQUAL
                       : row->test == &eg_test_STRETCHED ? EG_OPERANDS_STRETCHED
                                                         : EG_OPERANDS_STRETCHED_BATCH;
  eg_operands_fit(how, (uint32_t)row->low, choice, operand);
}

void eg_instance_fit(const eg_instance_aim *aim, eg_verify_choice *choice,
                     uint32_t operand) {
  eg_type *type = &choice->types[operand];
  bool is_rank = aim->subject == EG_INSTANCE_RANK;
  if (aim->subject == EG_INSTANCE_OPERANDS) {
    if (eg_verify_chance(choice, 80)) fit_operand(aim->row, choice, operand);
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

/// Factors are chosen for how they are transposed.
static bool is_before_operands(const char *name) {
  return strncmp(name, "trans", 5) == 0;
}

static void put_beside(const eg_instance_aim *aim, eg_verify_choice *choice) {
  const char *name = choice->info->attrs[aim->slot].name;
  eg_attr_kind kind = choice->info->attrs[aim->slot].kind;
  double number = eg_named_draw(aim->number, aim->value, kind != EG_ATTR_FLOAT, choice);
  const eg_instance_class row = {.attr = "", .low = number, .high = number};
  if (choice->slot_set[aim->slot]) return;
  if (choice->op == EG_OP_SLICE) choice->step = (int64_t)number;
  eg_verify_choose_slot(choice, name);
  eg_attr *attr = &choice->slots[aim->slot];
  if (kind != EG_ATTR_INTS)
    put_number(&row, choice, attr);
  else if (choice->op != EG_OP_SLICE)
    put_some(&row, choice, attr);
}

void eg_instance_put(const eg_instance_aim *aim, eg_verify_choice *choice) {
  if (aim->subject == EG_INSTANCE_OPERANDS) return; // they are fitted
  bool has_operand = choice->count == 0 || choice->type_set[0];
  if (!has_operand && (aim->subject == EG_INSTANCE_KERNEL ||
                       !is_before_operands(choice->info->attrs[aim->slot].name)))
    return;
  if (aim->subject == EG_INSTANCE_NAMED) {
    if (has_operand) put_beside(aim, choice);
    return;
  }
  if (aim->subject == EG_INSTANCE_KERNEL) {
    put_kernel(aim->row, choice);
    return;
  }
  const char *name = choice->info->attrs[aim->slot].name;
  if (choice->slot_set[aim->slot]) return;
  bool is_step = aim->subject == EG_INSTANCE_ATTR && choice->op == EG_OP_SLICE;
  if (is_step && strcmp(name, "steps") == 0) // starts and ends go with it
    choice->step = eg_whole_between(aim->row, choice);
  if (is_step && strcmp(name, "starts") == 0) choice->start = aim->row->low > 0 ? 1 : -1;
  eg_verify_choose_slot(choice, name);
  eg_attr *attr = &choice->slots[aim->slot];
  if (aim->subject == EG_INSTANCE_VALUE)
    attr->i = aim->value;
  else if (!is_step)
    aim->row->test->put(aim->row, choice, attr);
}
