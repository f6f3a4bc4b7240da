// Tests whether numbers, lists, windows and texts are in a class of instances.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/instances/instance_tests.h"

#include <math.h>
#include <string.h>

// ---- numbers ----------------------------------------------------------------------

bool eg_is_between(const eg_instance_class *row, double value) {
  return value >= row->low && value <= row->high;
}

int64_t eg_whole_between(const eg_instance_class *row, eg_verify_choice *choice) {
  return (int64_t)row->low +
         eg_verify_below(choice, (uint32_t)(row->high - row->low) + 1);
}

EG_CLASS_HOLDS(holds_number) {
  return eg_is_between(row, attr->kind == EG_ATTR_FLOAT ? attr->f : (double)attr->i);
}

/// Sets a numeric attribute to a value of the class of instances; an axis stays within
/// the rank.
EG_CLASS_PUT(put_number) {
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

EG_CLASS_HOLDS(holds_all) {
  for (uint32_t i = 0; i < attr->ints.len; i++)
    if (!eg_is_between(row, (double)attr->ints.data[i])) return false;
  return attr->ints.len > 0;
}

EG_CLASS_HOLDS(holds_some) {
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

EG_CLASS_PUT(put_all) {
  int64_t *list = eg_own_list(choice, attr), value = eg_whole_between(row, choice);
  for (uint32_t i = 0; i < attr->ints.len; i++)
    list[i] = value;
}

static bool has_margins(const eg_verify_choice *choice) {
  uint16_t slot;
  return eg_op_find_role(choice->op, EG_AR_MARGINS, &slot);
}

/// Returns the position in a list attribute at which one number is changed. Images are
/// padded in their spatial dimensions.
static uint32_t place_in(eg_verify_choice *choice, const eg_attr *attr) {
  uint32_t half = attr->ints.len / 2;
  if (!has_margins(choice) || half < 3 || eg_verify_chance(choice, 20))
    return eg_verify_below(choice, attr->ints.len);
  uint32_t side = eg_verify_below(choice, 2);
  return side * half + 2 + eg_verify_below(choice, half - 2);
}

/// Sets one number of a list to a value of the class; often all, because rules require
/// equal numbers.
EG_CLASS_PUT(put_some) {
  if (attr->ints.len == 0) return;
  if (eg_verify_chance(choice, has_margins(choice) ? 10 : 40)) {
    put_all(row, choice, attr);
    return;
  }
  int64_t *list = eg_own_list(choice, attr);
  uint32_t at = place_in(choice, attr);
  list[at] = eg_whole_between(row, choice);
}

EG_CLASS_HOLDS(holds_length) { return eg_is_between(row, attr->ints.len); }

/// Changes a list attribute to the length that the class of instances asks for: ascending
/// axes, or random sizes with the sum of the old list.
EG_CLASS_PUT(put_length) {
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

bool eg_has_weight_window(eg_op op) {
  uint16_t slot;
  eg_role role = eg_op_role(op, 1);
  return (role == EG_ROLE_WEIGHT || role == EG_ROLE_QUANTA) &&
         eg_op_find_role(op, EG_AR_STRIDES, &slot);
}

/// Returns the window size along spatial dimension i, or 0 when the node lacks it.
static int64_t kernel_at(const eg_instance_node *node, uint32_t i) {
  uint16_t slot;
  if (eg_op_find_attr(node->op, "kernel_shape", &slot)) {
    eg_ints kernel = node->slots[slot].ints;
    return i < kernel.len ? kernel.data[i] : 0;
  }
  bool has_weight = eg_has_weight_window(node->op) && node->count > 1;
  return has_weight && node->types[1].rank > i + 2 ? node->types[1].dims[i + 2] : 0;
}

/// Returns how many dimensions a list attribute is for: pads have two numbers for each.
static uint32_t dims_of_list(const eg_instance_class *row, const eg_attr *attr) {
  return strcmp(row->attr, "pads") == 0 ? attr->ints.len / 2 : attr->ints.len;
}

EG_CLASS_HOLDS(holds_beside_kernel) {
  uint32_t half = dims_of_list(row, attr);
  for (uint32_t i = 0; i < attr->ints.len; i++) {
    int64_t kernel = kernel_at(node, i % half), pad = attr->ints.data[i];
    if (kernel > 0 && pad > 0 && eg_is_between(row, (double)(pad - kernel))) return true;
  }
  return false;
}

EG_CLASS_PUT(put_beside_kernel) {
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

/// True when two steps of a dilation exceed the image, so that a window can reach across
/// both of its borders.
EG_CLASS_HOLDS(holds_beside_image) {
  for (uint32_t i = 0; i < attr->ints.len && i + 2 < node->types[0].rank; i++)
    if (2 * attr->ints.data[i] > node->types[0].dims[i + 2] && attr->ints.data[i] > 1 &&
        kernel_at(node, i) > 1)
      return true;
  return false;
}

/// Makes the dilation so large that the image just holds two elements of a window.
EG_CLASS_PUT(put_beside_image) {
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

EG_CLASS_HOLDS(holds_uneven) {
  uint32_t half = attr->ints.len / 2;
  for (uint32_t i = 0; i < half; i++)
    if (attr->ints.data[i] != attr->ints.data[i + half]) return true;
  return false;
}

EG_CLASS_PUT(put_uneven) {
  if (attr->ints.len == 0) return;
  int64_t *list = eg_own_list(choice, attr);
  uint32_t at = place_in(choice, attr);
  uint32_t half = attr->ints.len / 2;
  list[at] = list[(at + half) % attr->ints.len] + 1;
}

/// Group counts: one group for all channels, several groups, or one group per channel.
enum { GROUP_ONE, GROUP_BETWEEN, GROUP_CHANNEL };

EG_CLASS_PREPARE(prepare_group) { choice->is_grouped = (int)row->low == GROUP_BETWEEN; }

EG_CLASS_HOLDS(holds_group) {
  int64_t channels =
      node->count > 0 && node->types[0].rank > 1 ? node->types[0].dims[1] : 1;
  int kind = attr->i <= 1          ? GROUP_ONE
             : attr->i >= channels ? GROUP_CHANNEL
                                   : GROUP_BETWEEN;
  return kind == (int)row->low;
}

EG_CLASS_PUT(put_group) {
  eg_type *x = &choice->types[0];
  int64_t channels = choice->count > 0 && x->rank > 1 ? x->dims[1] : 1;
  attr->i = (int)row->low == GROUP_ONE ? 1 : channels;
  for (int64_t g = 2; (int)row->low == GROUP_BETWEEN && g < channels; g++)
    if (channels % g == 0) attr->i = g;
}

// ---- texts ----------------------------------------------------------------------------

EG_CLASS_HOLDS(holds_equation) {
  return eg_equation_is((eg_equation_kind)row->low, attr->text);
}

EG_CLASS_HOLDS(holds_activations) {
  bool is_default = strcmp(attr->text, eg_default_activations(node->op)) == 0;
  return is_default == (row->low == 0);
}

EG_CLASS_PUT(put_activations) { attr->text = eg_activations_draw(choice, row->low == 0); }

EG_CLASS_HOLDS(holds_activation_numbers) {
  return (attr->floats.len == 0) == (row->low == 0);
}

EG_CLASS_PUT(put_activation_numbers) {
  eg_activation_numbers_draw(choice, row->low == 0, attr);
}

const eg_class_test eg_test_NUMBER = {.holds = holds_number, .put = put_number};
const eg_class_test eg_test_ALL = {.holds = holds_all, .put = put_all};
const eg_class_test eg_test_SOME = {.holds = holds_some, .put = put_some};
const eg_class_test eg_test_LENGTH = {.holds = holds_length, .put = put_length};
const eg_class_test eg_test_BESIDE_KERNEL = {.holds = holds_beside_kernel,
                                             .put = put_beside_kernel};
const eg_class_test eg_test_BESIDE_IMAGE = {.holds = holds_beside_image,
                                            .put = put_beside_image};
const eg_class_test eg_test_UNEVEN = {.holds = holds_uneven, .put = put_uneven};
const eg_class_test eg_test_GROUP = {
    .holds = holds_group, .put = put_group, .prepare = prepare_group};
const eg_class_test eg_test_EQUATION = {.holds = holds_equation};
const eg_class_test eg_test_ACTIVATIONS = {.holds = holds_activations,
                                           .put = put_activations};
const eg_class_test eg_test_ACTIVATION_NUMBERS = {.holds = holds_activation_numbers,
                                                  .put = put_activation_numbers};
