// Tests of shapes, sizes and dimensions.
// SPDX-License-Identifier: Apache-2.0
#include "rewrites/lab/instances/instance_tests.h"

static bool holds_same_sizes(const eg_instance_class *row, const eg_instance_node *node,
                             const eg_attr *attr) {
  (void)row;
  const eg_type *x = &node->types[0];
  bool same = attr->ints.len == x->rank;
  for (uint32_t i = 0; same && i < x->rank; i++)
    same = attr->ints.data[i] == x->dims[i];
  return same;
}

static void put_same_sizes(const eg_instance_class *row, eg_verify_choice *choice,
                           eg_attr *attr) {
  (void)row;
  attr->ints = (eg_ints){.data = choice->types[0].dims, .len = choice->types[0].rank};
  (void)eg_own_list(choice, attr);
}

/// Some dimension is larger than the operand's (low > 0), or smaller. The last dimensions
/// stand against each other.
static bool holds_sizes(const eg_instance_class *row, const eg_instance_node *node,
                        const eg_attr *attr) {
  const eg_type *x = &node->types[0];
  if (attr->ints.len < x->rank) return false;
  uint32_t shift = attr->ints.len - x->rank;
  for (uint32_t i = 0; i < x->rank; i++) {
    int64_t to = attr->ints.data[i + shift];
    if (row->low > 0 ? to > x->dims[i] : to < x->dims[i]) return true;
  }
  return false;
}

static void put_sizes(const eg_instance_class *row, eg_verify_choice *choice,
                      eg_attr *attr) {
  put_same_sizes(row, choice, attr);
  const eg_type *x = &choice->types[0];
  int64_t *list = eg_own_list(choice, attr);
  uint32_t first = choice->op == EG_OP_RESIZE && x->rank > 2 ? 2 : 0;
  for (uint32_t i = first; i < x->rank; i++) {
    if (choice->op == EG_OP_EXPAND && x->dims[i] != 1) continue;
    if (i > first && eg_verify_chance(choice, 40)) continue;
    if (row->low > 0)
      list[i] = x->dims[i] + 1 + eg_verify_below(choice, (uint32_t)x->dims[i] + 2);
    else if (x->dims[i] > 1)
      list[i] = 1 + eg_verify_below(choice, (uint32_t)x->dims[i] - 1);
  }
}

static bool holds_more_dims(const eg_instance_class *row, const eg_instance_node *node,
                            const eg_attr *attr) {
  return eg_is_between(row, (double)attr->ints.len - (double)node->types[0].rank);
}

static void put_more_dims(const eg_instance_class *row, eg_verify_choice *choice,
                          eg_attr *attr) {
  const eg_type *x = &choice->types[0];
  int64_t *list = eg_verify_list(choice, x->rank + 1);
  uint32_t len = 0;
  if (row->low > 0) list[len++] = choice->op == EG_OP_EXPAND ? eg_verify_dim(choice) : 1;
  uint32_t merged = row->low < 0 && x->rank > 1 ? eg_verify_below(choice, x->rank - 1)
                                                : EGRAPH_MAX_RANK;
  for (uint32_t i = 0; i < x->rank; i++)
    if (i == merged + 1)
      list[len - 1] *= x->dims[i];
    else
      list[len++] = x->dims[i];
  attr->ints = (eg_ints){.data = list, .len = len};
}

// ---- resized images -------------------------------------------------------------------

enum { SCALES_NONE, SCALES_EXACT, SCALES_BESIDE };

/// Whether some scale makes another size than the one that is asked for.
static bool is_beside_size(const eg_instance_node *node, eg_floats scales) {
  uint16_t slot;
  if (!eg_op_find_attr(node->op, "shape", &slot)) return false;
  const eg_attr *shape = &node->slots[slot];
  const eg_type *x = &node->types[0];
  for (uint32_t i = 0; i < scales.len && i < shape->ints.len && i < x->rank; i++)
    if ((float)scales.data[i] * (float)x->dims[i] != (float)shape->ints.data[i])
      return true;
  return false;
}

static bool holds_scales(const eg_instance_class *row, const eg_instance_node *node,
                         const eg_attr *attr) {
  int kind = attr->floats.len == 0                ? SCALES_NONE
             : is_beside_size(node, attr->floats) ? SCALES_BESIDE
                                                  : SCALES_EXACT;
  return kind == (int)row->low;
}

/// What is cut off may be up to one element.
static void put_scales(const eg_instance_class *row, eg_verify_choice *choice,
                       eg_attr *attr) {
  static const double beside[] = {0.25, 0.5, 0.75, -0.25};
  const eg_type *x = &choice->types[0];
  eg_verify_choose_slot(choice, "shape");
  const eg_attr *shape = eg_verify_known(choice, "shape");
  attr->floats = (eg_floats){0};
  if ((int)row->low == SCALES_NONE || shape->ints.len != x->rank) return;
  double *scales = eg_verify_floats(choice, x->rank);
  for (uint32_t i = 0; i < x->rank; i++) {
    bool is_off = (int)row->low == SCALES_BESIDE && (i > 1 || x->rank < 3);
    double size = (double)shape->ints.data[i];
    if (is_off) size += beside[eg_verify_below(choice, size > 1 ? 4 : 3)];
    scales[i] = x->dims[i] > 0 ? (double)(float)(size / (double)x->dims[i]) : 1.0;
  }
  attr->floats = (eg_floats){.data = scales, .len = x->rank};
}

/// Sizes whose quotient is rounded so that it does not give the second one back. Some of
/// their positions lie in the middle between two elements, others on one.
static const struct {
  int64_t from, to;
} rounded_sizes[] = {{22, 13}, {14, 31}, {22, 29}, {11, 13}, {13, 7}};
enum { ROUNDED_SIZES = sizeof rounded_sizes / sizeof *rounded_sizes };

static bool holds_rounded_size(const eg_instance_class *row, const eg_instance_node *node,
                               const eg_attr *attr) {
  (void)row;
  const eg_type *x = &node->types[0];
  for (uint32_t i = 0; i < x->rank && i < attr->ints.len; i++) {
    volatile float scale = (float)attr->ints.data[i] / (float)x->dims[i];
    if (x->dims[i] > 0 && scale * (float)x->dims[i] != (float)attr->ints.data[i])
      return true;
  }
  return false;
}

static void put_rounded_size(const eg_instance_class *row, eg_verify_choice *choice,
                             eg_attr *attr) {
  put_same_sizes(row, choice, attr);
  const eg_type *x = &choice->types[0];
  int64_t *list = eg_own_list(choice, attr);
  uint32_t first = eg_verify_below(choice, ROUNDED_SIZES);
  for (uint32_t i = 0; i < x->rank; i++)
    for (uint32_t k = 0; k < ROUNDED_SIZES; k++) {
      uint32_t at = (first + k) % ROUNDED_SIZES;
      if (x->dims[i] == rounded_sizes[at].from) list[i] = rounded_sizes[at].to;
    }
}

void eg_prepare_rounded_size(eg_verify_choice *choice) {
  uint32_t at = eg_verify_below(choice, ROUNDED_SIZES);
  choice->dims[choice->dim_count++] = rounded_sizes[at].from;
  choice->dims[choice->dim_count++] = 1;
  choice->rank = 1 + eg_verify_below(choice, 4);
}

// ---- dimensions of a class variable: a list, too -------------------------------------

static bool holds_equal(const eg_instance_class *row, const eg_instance_node *node,
                        const eg_attr *attr) {
  (void)node;
  for (uint32_t i = 0; i < attr->ints.len; i++)
    for (uint32_t k = 0; k < i; k++)
      if (attr->ints.data[i] == attr->ints.data[k] &&
          eg_is_between(row, (double)attr->ints.data[i]))
        return true;
  return false;
}

static bool holds_different(const eg_instance_class *row, const eg_instance_node *node,
                            const eg_attr *attr) {
  (void)node;
  for (uint32_t i = 0; i < attr->ints.len; i++)
    for (uint32_t k = 0; k < i; k++)
      if (attr->ints.data[i] == attr->ints.data[k]) return false;
  return attr->ints.len > 1 && eg_is_between(row, (double)attr->ints.data[0]);
}

static bool is_prime(int64_t n) {
  for (int64_t i = 2; i * i <= n; i++)
    if (n % i == 0) return false;
  return n > 1;
}

static bool holds_prime(const eg_instance_class *row, const eg_instance_node *node,
                        const eg_attr *attr) {
  (void)node;
  for (uint32_t i = 0; i < attr->ints.len; i++)
    if (eg_is_between(row, (double)attr->ints.data[i]) && is_prime(attr->ints.data[i]))
      return true;
  return false;
}

const eg_class_test eg_test_SAME_SIZES = {holds_same_sizes, put_same_sizes};
const eg_class_test eg_test_SIZES = {holds_sizes, put_sizes};
const eg_class_test eg_test_MORE_DIMS = {holds_more_dims, put_more_dims};
const eg_class_test eg_test_EQUAL = {holds_equal, NULL};
const eg_class_test eg_test_DIFFERENT = {holds_different, NULL};
const eg_class_test eg_test_PRIME = {holds_prime, NULL};
const eg_class_test eg_test_SCALES = {holds_scales, put_scales};
const eg_class_test eg_test_ROUNDED_SIZE = {holds_rounded_size, put_rounded_size};
